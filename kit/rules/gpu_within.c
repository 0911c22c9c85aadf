/* SPDX-License-Identifier: Apache-2.0 */
/* Nests in loops that are bound to thread blocks before any rule comes, but to no threads: a rule schedules what one turn does as
 * if it were a function, and blockIdx.x, or another index that is free, takes what the rule binds to that.
 *
 *     for e in blockIdx.y:                                 for e in blockIdx.y:
 *         with T.sblock("gemv_o"):                             with T.sblock("gemv_o"):
 *             ve = T.axis.spatial(2, e)                            ve = T.axis.spatial(2, e)
 *             for i, k: o[ve, i] += x[k] * w[p[ve], i, k]   =>     for b in blockIdx.x: as gpu.GEMV does o[i] += x[k] * w[i, k]
 *
 * Where there is no block around what a turn does, one is made. If a rule gives several launches, the bound loops stand around each:
 * turns that run side by side do not depend on each other, and what one launch leaves for the next gets a dimension for these loops.
 * Traces (tnk_sch_trace) say nothing of such nests.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum { MOST_BOUND = 3, MOST_YZ = 65535 };

typedef struct within {
    tn_ctx *ctx;
    const tn_prim_func *func;
    const tn_for_loop *chain[MOST_BOUND];
    const char *tags[MOST_BOUND]; /* theirs */
    uint32_t n;
    tn_block block; /* around what a turn does */
    tn_list values;
    tnb_ptrmap loops; /* variable -> loop, of those inside */
    gpu_views views;
    tn_arith *arith;
    bool bad;
} within;

static tn_walk_step
find_threads(void *user, const tn_node *n)
{
    (void)user;
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_attr_stmt *a = tn_as_attr_stmt(n);
    if ((f && f->for_kind == TN_FOR_THREAD_BINDING) || (a && !strcmp(a->key, "thread_extent")))
        return TN_WALK_STOP;
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

bool
gpu_has_threads(const tn_stmt *body)
{
    return !tn_walk(body, 0, find_threads, NULL, NULL);
}

static tn_walk_step
find_name(void *user, const tn_node *n)
{
    const tn_block *b = tn_as_block(n);
    if (b)
        *(const char **)user = b->name;
    return b ? TN_WALK_STOP : TN_WALK_ON;
}

/* The bound loops, and the block within them, if there is one. */
static bool
enter(within *w, const tn_stmt *st)
{
    tn_ctx *ctx = w->ctx;
    const tn_for_loop *f;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (; (f = tn_as_for_loop(st)) && f->for_kind == TN_FOR_THREAD_BINDING; st = f->body) {
        if (strncmp(f->thread_tag, "blockIdx", 8) != 0 || w->n == MOST_BOUND)
            return false;
        w->tags[w->n] = f->thread_tag;
        w->chain[w->n++] = f;
    }
    const tn_block_realize *br = tn_as_block_realize(st);
    const tn_block *b = br ? tn_as_block(br->block) : NULL;
    if (!w->n || gpu_has_threads(st))
        return false;
    if (b && tnk_block_is_nest(b) && !b->init && !b->match_buffers.n &&
        tn_is_int_const(br->predicate, 1)) {
        w->block = *b;
        w->values = br->values;
        for (uint32_t k = 0; k < b->iters.n; k++) {
            const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
            if (tn_is(br->values.at[k], TN_KIND_INT_IMM))
                tnb_ptrmap_set(&map, iv->var,
                               tn_cast_to(ctx, tn_dtype_of(iv->var), br->values.at[k]));
        }
        w->block.body = tn_subst(ctx, b->body, &map);
        return true;
    }
    const char *name = NULL;
    tn_walk(st, 0, find_name, NULL, &name);
    for (uint32_t i = 0; i < w->n; i++) {
        f = w->chain[i];
        const tn_expr *v =
            tn_var_dtype(ctx, tn_strf(ctx, "v_%s", tn_var_name(f->var)), tn_dtype_of(f->var));
        tnb_ptrmap_set(&map, f->var, v);
        w->block.iters = tn_list_append(ctx, w->block.iters,
                                        tn_iter_var_of(ctx, tn_range_of(ctx, f->min, f->extent), v,
                                                       TN_ITER_SPATIAL, NULL));
        w->values = tn_list_append(ctx, w->values, f->var);
    }
    w->block.name = tn_strf(ctx, "%s_o", name ? name : "");
    w->block.body = tn_subst(ctx, st, &map);
    tn_block_regions(ctx, &w->block, &w->block.reads, &w->block.writes);
    return name != NULL;
}

static bool
uses_bound(const within *w, const tn_expr *e)
{
    for (uint32_t i = 0; i < w->views.bound.n; i++)
        if (tn_uses(e, w->views.bound.at[i]))
            return true;
    return false;
}

static tn_walk_step
note_loops(void *user, const tn_node *n)
{
    within *w = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    if (f) {
        tnb_ptrmap_set(&w->loops, f->var, f);
        w->bad |= uses_bound(w, f->min) || uses_bound(w, f->extent);
    }
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

/* The one loop inside that moves a value, by one a turn; NULL: it is not so. *base: the rest of the value. */
static const tn_for_loop *
loop_of(within *w, const tn_expr *value, const tn_expr **base)
{
    tn_list vars = tn_free_vars(w->ctx, value, false);
    const tn_for_loop *l = NULL;
    for (uint32_t i = 0; i < vars.n; i++) {
        const tn_for_loop *f = tnb_ptrmap_get(&w->loops, vars.at[i]);
        if (f && l)
            return NULL;
        l = f ? f : l;
    }
    if (!l || tn_dtype_of(value).bits != tn_dtype_of(l->var).bits)
        return NULL;
    *base = tn_simplify(w->arith, tn_sub(w->ctx, value, l->var));
    return tn_uses(*base, l->var) ? NULL : l;
}

/* A block inside runs over what the loops inside contribute to its iterators alone: rules take it that iterators run through all
 * of their domains. */
static const tn_node *
settle(tn_rewriter *r, const tn_node *n)
{
    within *w = r->user;
    tn_ctx *ctx = w->ctx;
    const tn_block_realize *br = tn_as_block_realize(n);
    if (!br)
        return NULL;
    tn_block b = *tn_as_block(br->block);
    tn_list iters = {0}, values = {0};
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    w->bad |= uses_bound(w, br->predicate);
    for (uint32_t k = 0; k < b.iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b.iters.at[k]);
        const tn_expr *value = br->values.at[k], *base;
        if (!uses_bound(w, value)) {
            iters = tn_list_append(ctx, iters, TN_NODE(iv));
            values = tn_list_append(ctx, values, tn_simplify(w->arith, value));
            continue;
        }
        const tn_for_loop *l = loop_of(w, value, &base);
        tn_list vars = tn_free_vars(ctx, value, false);
        bool inside = false;
        for (uint32_t i = 0; i < vars.n; i++)
            inside |= tnb_ptrmap_has(&w->loops, vars.at[i]);
        w->bad |= iv->iter_kind != TN_ITER_SPATIAL || (inside && !l);
        if (!l) {
            tnb_ptrmap_set(&map, iv->var, tn_cast_to(ctx, tn_dtype_of(iv->var), value));
            continue;
        }
        const tn_expr *own = tn_var_dtype(ctx, tn_var_name(iv->var), tn_dtype_of(iv->var));
        tnb_ptrmap_set(&map, iv->var,
                       tn_add(ctx, tn_cast_to(ctx, tn_dtype_of(iv->var), base), own));
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, l->min, l->extent), own,
                                              TN_ITER_SPATIAL, NULL));
        values = tn_list_append(ctx, values, l->var);
    }
    b.iters = iters;
    const tn_node *renewed = tn_subst(ctx, tn_block_of(ctx, &b), &map);
    return tn_block_realize_of(ctx, values, br->predicate, renewed);
}

/* What a turn does as a function, whose parameters are the views. */
static const tn_node *
outlined(within *w)
{
    tn_ctx *ctx = w->ctx;
    gpu_views *v = &w->views;
    *v = (gpu_views){.ctx = ctx, .inside = w->block.allocs};
    for (uint32_t k = 0; k < w->block.iters.n; k++)
        v->bound = tn_list_append(ctx, v->bound, tn_as_iter_var(w->block.iters.at[k])->var);
    v->known = tn_free_vars(ctx, w->block.body, false);
    w->arith = tn_arith_new(ctx);
    tnb_ptrmap_init(&w->loops, tn_scratch(ctx));
    tn_walk(w->block.body, 0, note_loops, NULL, w);
    tn_rewriter r = {.ctx = ctx, .user = w, .post = settle};
    const tn_stmt *body = tn_rewrite(&r, w->block.body);
    if (w->bad || tn_is_error(body))
        return NULL;
    body = gpu_views_make(v, body);
    tn_list params = w->func->params, buffers = w->func->buffers;
    for (uint32_t i = 0; i < v->n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < buffers.n; k++)
            known |= buffers.at[k] == v->at[i].is;
        if (known)
            continue;
        params = tn_list_append(ctx, params, tn_var_dtype(ctx, "view", TNB_DTYPE(TNB_HANDLE, 64)));
        buffers = tn_list_append(ctx, buffers, v->at[i].is);
    }
    tn_block root = {.name = tn_str(ctx, "root"), .allocs = w->block.allocs, .body = body};
    body = tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &root));
    const tn_node *f = tn_prim_func_of(ctx, params, buffers, body, w->func->ret, w->func->attrs);
    return tn_is_error(f) ? NULL : tn_func_with_attr(ctx, f, TNK_TRACE_ATTR, NULL);
}

/* The statements of a function in block form. */
static tn_list
statements(tn_ctx *ctx, const tn_prim_func *f, const tn_block **root)
{
    const tn_block_realize *br = tn_as_block_realize(f->body);
    const tn_block *b = br ? tn_as_block(br->block) : NULL;
    *root = b && !b->iters.n && !b->init && !b->match_buffers.n ? b : NULL;
    const tn_stmt *body = *root ? b->body : f->body;
    const tn_seq *q = tn_as_seq(body);
    return q ? q->stmts : tn_listv(ctx, body, NULL);
}

static bool
is_few(const tn_expr *turns)
{
    int64_t e;
    return tn_int_value(turns, &e) && e <= MOST_YZ;
}

static bool
is_global(const tn_node *buffer)
{
    return tnk_scope_spans(tn_as_buffer(buffer)->scope, "blockIdx.x");
}

static bool
all_local(tn_list allocs)
{
    for (uint32_t i = 0; i < allocs.n; i++) {
        const char *scope = tn_as_buffer(allocs.at[i])->scope;
        if (!scope || strcmp(scope, "local") != 0)
            return false;
    }
    return true;
}

/* The launch's loop over thread blocks, by an index that the loops outside leave, or by blockIdx.x if one of them may go to such an
 * index instead (tags: of these). Else in turn: for what a thread does by itself. NULL: it is no launch, or cannot stay one. */
static const tn_stmt *
launch(const within *w, const tn_stmt *st, tn_list allocs, const char **tags)
{
    static const char *const all[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
    const tn_for_loop *f = tn_as_for_loop(st);
    if (!f || f->for_kind != TN_FOR_THREAD_BINDING || strcmp(f->thread_tag, all[0]) != 0)
        return NULL;
    const char *own = NULL, *free = NULL;
    uint32_t x = w->n;
    for (uint32_t k = 0; k < w->n; k++)
        x = !strcmp(tags[k], all[0]) ? k : x;
    for (int i = 1; i < 3; i++) {
        bool taken = false;
        for (uint32_t k = 0; k < w->n; k++)
            taken |= !strcmp(tags[k], all[i]);
        free = taken || free ? free : all[i];
    }
    if (x == w->n) {
        own = all[0];
    } else if (free && is_few(f->extent)) {
        own = free;
    } else if (free && is_few(w->chain[x]->extent)) {
        own = all[0];
        tags[x] = free;
    } else if (!all_local(allocs)) {
        return NULL;
    }
    return tn_for_of(w->ctx, f->var, f->min, f->extent, own ? TN_FOR_THREAD_BINDING : TN_FOR_SERIAL,
                     own, f->annotations, f->body);
}

/* A buffer that every turn had for itself and that launches hand on, or a kernel cannot have, gets a dimension for each iterator
 * around. False: these do not begin at 0. */
static bool
hoist(within *w, const tn_node *buffer, tn_list *hoisted)
{
    tn_ctx *ctx = w->ctx;
    const tn_buffer *b = tn_as_buffer(buffer);
    tn_list iters = w->block.iters, shape = {0};
    gpu_view v = {.is = buffer};
    v.index = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, iters.n + b->shape.n + 1);
    for (uint32_t k = 0; k < iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(iters.at[k]);
        if (tn_is(w->values.at[k], TN_KIND_INT_IMM))
            continue;
        if (!tn_is_int_const(tn_as_range(iv->dom)->min, 0))
            return false;
        tnb_dtype d = tn_dtype_of(b->shape.n ? b->shape.at[0] : iv->var);
        v.index[v.rank++] = iv->var;
        shape = tn_list_append(ctx, shape, tn_cast_to(ctx, d, tn_as_range(iv->dom)->extent));
    }
    for (uint32_t i = 0; i < b->shape.n; i++)
        shape = tn_list_append(ctx, shape, b->shape.at[i]);
    v.rank = shape.n;
    v.of = tn_buffer_new(ctx, b->name, shape, b->dtype, b->scope);
    TNB_PUSH(tn_scratch(ctx), w->views, v);
    *hoisted = tn_list_append(ctx, *hoisted, v.of);
    return true;
}

/* What a launch touches of a buffer, without what its conditions keep it from: as much as all launches together. */
static tn_list
as_before(const within *w, tn_list regions)
{
    tn_ctx *ctx = w->ctx;
    for (uint32_t i = 0; i < regions.n; i++) {
        const tn_node *buffer = tn_as_buffer_region(regions.at[i])->buffer, *was = NULL;
        for (int k = 0; k < 2; k++) {
            tn_list l = k ? w->block.reads : w->block.writes;
            for (uint32_t r = 0; r < l.n; r++)
                was = tn_as_buffer_region(l.at[r])->buffer == buffer ? l.at[r] : was;
        }
        for (uint32_t v = 0; v < w->views.n && !was; v++) {
            const gpu_view *g = &w->views.at[v];
            if (g->of != buffer)
                continue;
            tn_list ranges = tn_as_buffer_region(tn_region_full(ctx, buffer))->ranges;
            for (uint32_t d = 0; d < g->rank; d++)
                if (g->index[d])
                    ranges =
                        tn_list_with(ctx, ranges, d,
                                     tn_range_of(ctx, g->index[d],
                                                 tn_int_imm_of(ctx, tn_dtype_of(g->index[d]), 1)));
            was = tn_buffer_region_of(ctx, buffer, ranges);
        }
        regions = was ? tn_list_with(ctx, regions, i, was) : regions;
    }
    return regions;
}

/* The bound loops around one of several launches. What it hands on is hoisted. NULL: it cannot stay a launch. */
static const tn_stmt *
nest_of(within *w, const tn_stmt *st, tn_list allocs, bool alone)
{
    tn_ctx *ctx = w->ctx;
    const char *tags[MOST_BOUND];
    memcpy(tags, w->tags, sizeof tags);
    tn_block b = w->block;
    b.allocs = (tn_list){0};
    for (uint32_t i = 0; i < allocs.n; i++)
        if (!is_global(allocs.at[i]) && tn_uses(st, allocs.at[i]))
            b.allocs = tn_list_append(ctx, b.allocs, allocs.at[i]);
    const tn_stmt *body = launch(w, st, b.allocs, tags);
    if (!body)
        return NULL;
    b.body = gpu_views_undo(&w->views, body);
    if (!alone) {
        tn_block_regions(ctx, &b, &b.reads, &b.writes);
        b.reads = as_before(w, b.reads);
        b.writes = as_before(w, b.writes);
    }
    body = tn_block_realize_of(ctx, w->values, NULL, tn_block_of(ctx, &b));
    for (uint32_t i = w->n; i-- > 0;) {
        const tn_for_loop *l = w->chain[i];
        body = tn_for_of(ctx, l->var, l->min, l->extent, TN_FOR_THREAD_BINDING, tags[i],
                         l->annotations, body);
    }
    return alone ? body : tn_fresh_copy(ctx, body, NULL);
}

/* The bound nest with the schedule that the rule gives, a nest for each launch; NULL: none, or these are no such nests. Adds to
 * `allocs` what the function has to allocate for them. */
static const tn_stmt *
schedule(tn_ctx *ctx, const tn_prim_func *func, const tn_stmt *st, const tn_target *target,
         gpu_apply apply, tn_list *allocs)
{
    within w = {.ctx = ctx, .func = func};
    const tn_node *f = enter(&w, st) ? outlined(&w) : NULL;
    const tn_prim_func *g = f ? tn_as_prim_func(apply(ctx, f, target, NULL)) : NULL;
    const tn_block *root;
    tn_list launches = g ? statements(ctx, g, &root) : (tn_list){0}, nests = {0}, more = *allocs;
    for (uint32_t i = 0; g && root && i < root->allocs.n; i++) {
        uint32_t users = 0;
        for (uint32_t k = 0; k < launches.n; k++)
            users += tn_uses(launches.at[k], root->allocs.at[i]);
        if (is_global(root->allocs.at[i]) ? !hoist(&w, root->allocs.at[i], &more) : users > 1)
            return NULL;
    }
    bool alone = launches.n == 1 && more.n == allocs->n;
    for (uint32_t i = 0; i < launches.n; i++) {
        const tn_stmt *nest =
            nest_of(&w, launches.at[i], root ? root->allocs : (tn_list){0}, alone);
        if (!nest)
            return NULL;
        nests = tn_list_append(ctx, nests, nest);
    }
    *allocs = more;
    return nests.n ? tn_seq_of(ctx, nests) : NULL;
}

/* One thread for each thread block. */
static const tn_stmt *
with_one_thread(tn_ctx *ctx, const tn_stmt *st)
{
    const tn_for_loop *f = tn_as_for_loop(st);
    if (!f || f->for_kind != TN_FOR_THREAD_BINDING)
        return tn_for_of(ctx, tn_var_dtype(ctx, "tx", TNB_I32), tn_int_imm_of(ctx, TNB_I32, 0),
                         tn_int_imm_of(ctx, TNB_I32, 1), TN_FOR_THREAD_BINDING, "threadIdx.x", NULL,
                         st);
    return tn_for_of(ctx, f->var, f->min, f->extent, TN_FOR_THREAD_BINDING, f->thread_tag,
                     f->annotations, with_one_thread(ctx, f->body));
}

/* Whether a statement is a bound nest, of blocks without threads. */
static bool
is_bound_nest(tn_ctx *ctx, const tn_prim_func *func, const tn_stmt *st)
{
    within w = {.ctx = ctx, .func = func};
    return enter(&w, st);
}

/* The function with other statements, and `allocs` added to what it allocates. */
static const tn_node *
with_statements(tn_ctx *ctx, const tn_prim_func *f, const tn_block *root, tn_list stmts,
                tn_list allocs)
{
    const tn_stmt *body = tn_seq_of(ctx, stmts);
    tn_block b = {.name = tn_str(ctx, "root")};
    if (root)
        b = *root;
    for (uint32_t i = 0; i < allocs.n; i++)
        b.allocs = tn_list_append(ctx, b.allocs, allocs.at[i]);
    b.body = body;
    if (root || allocs.n)
        body = tn_block_realize_of(ctx, (tn_list){0}, NULL, tn_block_of(ctx, &b));
    const tn_node *out = tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, f->attrs);
    return tn_is_error(out) ? NULL : out;
}

bool
gpu_within(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, gpu_apply apply,
           const tn_node **out)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    gpu_target t;
    const tn_block *root;
    tn_list l = f && gpu_target_of(ctx, target, &t) ? statements(ctx, f, &root) : (tn_list){0},
            allocs = {0};
    if (l.n != 1 || !is_bound_nest(ctx, f, l.at[0]))
        return false;
    const tn_stmt *st = schedule(ctx, f, l.at[0], target, apply, &allocs);
    *out = st ? with_statements(ctx, f, root, tn_listv(ctx, st, NULL), allocs) : NULL;
    return true;
}

const tn_node *
gpu_within_each(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, gpu_apply apply)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    const tn_block *root;
    tn_list l = statements(ctx, f, &root), was = l, allocs = {0};
    for (uint32_t i = 0; i < l.n; i++)
        if (is_bound_nest(ctx, f, l.at[i])) {
            const tn_stmt *st = schedule(ctx, f, l.at[i], target, apply, &allocs);
            tn_list_change(ctx, &l, was, i, st ? st : with_one_thread(ctx, l.at[i]));
        }
    return l.at == was.at ? prim_func : with_statements(ctx, f, root, l, allocs);
}
