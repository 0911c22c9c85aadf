/* SPDX-License-Identifier: Apache-2.0 */
/* PlanSharedMemory: buffers of shared memory that are not needed at the same time lie in the same place.
 *
 *     A = T.alloc_buffer(256, scope="shared")               A = T.alloc_buffer(256, scope="shared")
 *     B = T.alloc_buffer(128, scope="shared")               for t in threadIdx.x(128):
 *     for t in threadIdx.x(128):                       =>       B = T.decl_buffer(128, data=A.data, scope="shared")
 *         ... A ...; T.tvm_storage_sync("shared"); ... B ...         ... A ...; T.tvm_storage_sync("shared"); ... B ...
 *
 * A buffer may take the place of another if a barrier that all threads meet stands between the last use of the one and the first of
 * the other, and if it is no larger; for buffers that one role of warps uses alone (an `if` that picks whole warps), a barrier that its
 * threads meet (T.ptx_bar_sync). Barriers in shared memory (scope "shared.barrier") keep their place. What is left has to fit into the target's max_shared_memory_per_block; or all of it gets the
 * scope "shared.dyn", and has to fit into max_dynamic_shared_memory_per_block, which a launch gives.
 * Needs: one loop for each thread index (UnifyThreadBinding), flat buffers, barriers (ThreadSync). What it reads first it has
 * written first: shared memory holds nothing when a kernel starts.
 */
#include "lower.h"

enum { MAX_SHARED = 64, APART = 128 }; /* all banks of memory; no vector is longer */

typedef struct shared {
    const tn_node *alloc, *buffer;
    int64_t bytes;
    uint32_t first, last; /* statements of the threads' sequence that use it */
    const tn_node *view;  /* what `buffer` becomes */
    int32_t place;        /* the buffer whose memory it has; itself: own memory */
    bool here;            /* of those that are being placed */
    uint32_t until;       /* of own memory: the last statement that uses it or a guest */
} shared;

typedef struct plan {
    tn_ctx *ctx;
    const char *name;
    const tn_target *target;
    shared at[MAX_SHARED];
    uint32_t n;
    bool failed;
    tnk_warp_roles warps;
    uint32_t threads; /* of the role whose statements are looked at; 0: all of the block */
    bool named;       /* roles of warps may have barriers */
    bool one_dtype;   /* a buffer takes the place of one of its dtype alone */
    int64_t most,
        most_dynamic; /* bytes that a kernel declares, that a launch gives; 0: no limit, none */
    bool dynamic;     /* the launch gives them */
    int64_t wider[3]; /* how often as large elements of 8, 16 and more bits become (WidenStorage) */
} plan;

bool
tnk_is_dynamic_shared(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && !strcmp(scope, "shared.dyn");
}

int64_t
tnk_dynamic_shared_bytes(const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    tnb_dtype d = b->dtype;
    int64_t n, bytes = d.lanes ? d.lanes : 1;
    if (!tnk_is_dynamic_shared(buffer))
        return 0;
    d.lanes = 1;
    bytes *= (int64_t)tnb_dtype_bytes(tnk_storage_dtype(d));
    for (uint32_t i = 0; i < b->shape.n; i++)
        if (!tn_int_value(b->shape.at[i], &n) || n < 0 || !tnb_mul_i64(bytes, n, &bytes))
            return 0; /* the emission refuses it */
    return (bytes + APART - 1) / APART * APART;
}

static bool
is_barrier(const tn_stmt *s)
{
    const tn_evaluate *e = tn_as_evaluate(s);
    const tn_call *c = e ? tn_as_call(e->value) : NULL;
    const tn_string_imm *scope = c && c->args.n ? tn_as_string_imm(c->args.at[0]) : NULL;
    return c && tn_is_intrin(e->value, TN_INTRIN_tvm_storage_sync) &&
           !(scope && !strcmp(scope->value, "warp"));
}

/* A barrier in shared memory, which is nothing else before or after. */
static bool
is_mbarrier(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && !strcmp(scope, "shared.barrier");
}

static bool
add(plan *p, const tn_stmt *s)
{
    const tn_alloc_buffer *a = s->kind == TN_KIND_ALLOC_BUFFER ? tn_as_alloc_buffer(s) : NULL;
    const tn_buffer *b = a ? tn_as_buffer(a->buffer) : NULL;
    int64_t n;
    if (!b || !b->scope || strncmp(b->scope, "shared", 6) || p->n == MAX_SHARED)
        return false;
    if (b->shape.n != 1 || !tn_int_value(b->shape.at[0], &n)) {
        tn_error(p->ctx, a->buffer->loc ? a->buffer->loc : s->loc, TNB_UNSUPPORTED,
                 "'%s': the size of the buffer '%s' in shared memory is not constant: %s", p->name,
                 b->name, b->shape.n ? tn_text(p->ctx, b->shape.at[0]) : "no dimension");
        tnb_diag_hint(tn_diags(p->ctx), "compute it at a place where its extents are constant");
        p->failed = true;
        return false;
    }
    shared x = {.alloc = s, .buffer = a->buffer, .first = UINT32_MAX, .place = (int32_t)p->n};
    x.bytes = n * (int64_t)tnb_dtype_bytes(b->dtype) *
              p->wider[b->dtype.bits <= 8    ? 0
                       : b->dtype.bits == 16 ? 1
                                             : 2];
    p->at[p->n++] = x;
    return true;
}

/* ---- when they live ---- */

static bool
uses(const tn_stmt *s, const tn_node *buffer)
{
    return tn_uses(s, buffer) || tn_uses(s, tn_as_buffer(buffer)->data);
}

static void
find_lifetimes(plan *p, tn_list stmts)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < stmts.n && p->at[i].here; k++)
            if (uses(stmts.at[k], p->at[i].buffer)) {
                p->at[i].first = p->at[i].first == UINT32_MAX ? k : p->at[i].first;
                p->at[i].last = k;
            }
    for (uint32_t i = 0; i < p->n; i++)
        if (p->at[i].here)
            p->at[i].until = p->at[i].last;
}

static bool
barrier_between(const plan *p, tn_list stmts, uint32_t from, uint32_t to)
{
    for (uint32_t k = from + 1; k < to; k++)
        if (p->threads ? tnk_meets_role(stmts.at[k], p->threads) : is_barrier(stmts.at[k]))
            return true;
    return false;
}

/* Without pointers memory has one dtype. */
static bool
fits_dtype(const plan *p, const shared *o, const shared *x)
{
    return !p->one_dtype ||
           tnb_dtype_eq(tn_as_buffer(o->buffer)->dtype, tn_as_buffer(x->buffer)->dtype);
}

/* The smallest buffer that is dead before `x` lives and large enough for it; NULL: none. */
static shared *
place_for(plan *p, tn_list stmts, const shared *x)
{
    shared *best = NULL;
    for (uint32_t k = 0; k < p->n; k++) {
        shared *o = &p->at[k];
        if (o != x && o->here && !is_mbarrier(o->buffer) && !is_mbarrier(x->buffer) &&
            o->place == (int32_t)k && o->first != UINT32_MAX && o->bytes >= x->bytes &&
            fits_dtype(p, o, x) && barrier_between(p, stmts, o->until, x->first) &&
            (!best || o->bytes < best->bytes))
            best = o;
    }
    return best;
}

static void
share(plan *p, tn_list stmts)
{
    for (;;) { /* by first use: an owner's memory is passed on in time */
        shared *next = NULL, *place = NULL;
        for (uint32_t i = 0; i < p->n; i++) {
            shared *x = &p->at[i];
            if (!x->here || x->place != (int32_t)i || x->first == UINT32_MAX ||
                x->until != x->last || (next && x->first >= next->first))
                continue;
            shared *o = place_for(p, stmts, x);
            next = o ? x : next;
            place = o ? o : place;
        }
        if (!next)
            return;
        next->place = (int32_t)(place - p->at);
        place->until = next->last;
    }
}

/* One part of statement k, an `if` for whole warps: the buffers that nothing else uses. */
static void
share_in_role(plan *p, uint32_t k, const tn_stmt *part, const tn_stmt *other, uint32_t role)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n && part; i++) {
        shared *x = &p->at[i];
        x->here = x->first == k && x->until == k && x->place == (int32_t)i &&
                  uses(part, x->buffer) && !(other && uses(other, x->buffer));
        n += x->here;
    }
    if (n < 2 || !role)
        return;
    for (uint32_t i = 0; i < p->n; i++)
        p->at[i].first = p->at[i].here ? UINT32_MAX : p->at[i].first;
    p->threads = tnk_roles_threads(&p->warps, role);
    tn_list stmts = tn_as_seq(part) ? tn_as_seq(part)->stmts : tn_list_of(p->ctx, &part, 1);
    find_lifetimes(p, stmts);
    share(p, stmts);
    p->threads = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->at[i].here)
            p->at[i].first = p->at[i].last = p->at[i].until = k;
}

static void
share_in_roles(plan *p, tn_list stmts)
{
    uint32_t all, role;
    if (!tnk_roles_where(p->ctx, &p->warps, tn_bool(p->ctx, true), 0, &all))
        return;
    for (uint32_t k = 0; k < stmts.n; k++) {
        const tn_if_stmt *s = tn_as_if_stmt(stmts.at[k]);
        if (!s || !tnk_roles_where(p->ctx, &p->warps, s->cond, 0, &role))
            continue;
        share_in_role(p, k, s->then_case, s->else_case, role);
        share_in_role(p, k, s->else_case, s->then_case, all & ~role);
    }
}

/* ---- the result ---- */

static const shared *
planned(const plan *p, const tn_node *alloc)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (alloc == p->at[i].alloc)
            return &p->at[i];
    return NULL;
}

static const tn_node *
use_place(tn_rewriter *r, const tn_node *n)
{
    plan *p = r->user;
    const shared *x = n->kind == TN_KIND_ALLOC_BUFFER ? planned(p, n) : NULL;
    if (!x)
        return NULL;
    if (x->place != (int32_t)(x - p->at))
        return tn_removed();
    return x->view == x->buffer
               ? NULL
               : tn_alloc_buffer_of(r->ctx, x->view, tn_as_alloc_buffer(n)->annotations);
}

/* What the buffer becomes: of memory that the launch gives, in the place of another. */
static void
find_view(plan *p, shared *x, const shared *place)
{
    tn_buffer b = *tn_as_buffer(x->buffer);
    x->view = x->buffer;
    if ((!p->dynamic && x == place) || is_mbarrier(x->buffer))
        return;
    b.scope = p->dynamic ? tn_str(p->ctx, "shared.dyn") : b.scope;
    b.data = x == place ? NULL : tn_as_buffer(p->dynamic ? place->view : place->buffer)->data;
    x->view = tn_buffer_of(p->ctx, &b);
}

static const tn_stmt *
apply(plan *p, const tn_stmt *body)
{
    tn_ctx *ctx = p->ctx;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    TNB_VEC(const tn_stmt *) decls = {0};
    for (uint32_t i = 0; i < p->n; i++) /* owners first */
        if (p->at[i].place == (int32_t)i)
            find_view(p, &p->at[i], &p->at[i]);
    for (uint32_t i = 0; i < p->n; i++) {
        shared *x = &p->at[i];
        if (x->place != (int32_t)i) {
            find_view(p, x, &p->at[x->place]);
            TNB_PUSH(tn_scratch(ctx), decls, tn_decl_buffer_of(ctx, x->view));
        }
        if (x->view == x->buffer)
            continue;
        tnb_ptrmap_set(&map, x->buffer, x->view);
        if (x->place == (int32_t)i) /* for views of it */
            tnb_ptrmap_set(&map, tn_as_buffer(x->buffer)->data, tn_as_buffer(x->view)->data);
    }
    if (!map.n)
        return body;
    body = tn_subst(ctx, body, &map);
    TNB_PUSH(tn_scratch(ctx), decls, body);
    return decls.n > 1 ? tn_seq_of(ctx, tn_list_of(ctx, decls.at, decls.n)) : body;
}

/* Whether all fits, and into what. */
static void
check_size(plan *p)
{
    int64_t total = 0, apart = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->at[i].place == (int32_t)i && p->at[i].first != UINT32_MAX) {
            total += p->at[i].bytes;
            apart += (p->at[i].bytes + APART - 1) / APART * APART;
        }
    if (p->most <= 0 || total <= p->most)
        return;
    p->dynamic = apart <= p->most_dynamic;
    if (p->dynamic)
        return;
    bool launch = p->most_dynamic > p->most;
    tn_error(p->ctx, p->at[0].buffer->loc ? p->at[0].buffer->loc : p->at[0].alloc->loc,
             TNB_UNSUPPORTED,
             "'%s': a block needs %lld bytes of shared memory, target '%s' has %lld", p->name,
             (long long)total, p->target->kind, (long long)(launch ? p->most_dynamic : p->most));
    for (uint32_t i = 0; i < p->n; i++)
        tnb_diag_note(tn_diags(p->ctx), "'%s': %lld bytes%s", tn_as_buffer(p->at[i].buffer)->name,
                      (long long)p->at[i].bytes,
                      p->at[i].place == (int32_t)i ? "" : ", in the place of another");
    tnb_diag_hint(tn_diags(p->ctx),
                  "smaller tiles, or set %s in the target's section to what the device has",
                  launch ? "max_dynamic_shared_memory_per_block" : "max_shared_memory_per_block");
    p->failed = true;
}

/* Down to the sequence that all threads run, with the allocations on the way. */
static const tn_stmt *
walk(plan *p, const tn_stmt *s)
{
    tn_ctx *ctx = p->ctx;
    const tn_for_loop *f = tn_as_for_loop(s);
    if (f && f->for_kind == TN_FOR_THREAD_BINDING) {
        bool innermost =
            !tn_as_for_loop(f->body) || tn_as_for_loop(f->body)->for_kind != TN_FOR_THREAD_BINDING;
        if (innermost && p->n) {
            tn_list stmts =
                tn_as_seq(f->body) ? tn_as_seq(f->body)->stmts : tn_list_of(ctx, &f->body, 1);
            tnk_roles_add(&p->warps, f->var, f->thread_tag, f->extent);
            for (uint32_t i = 0; i < p->n; i++)
                p->at[i].here = true;
            find_lifetimes(p, stmts);
            share(p, stmts);
            if (p->named)
                share_in_roles(p, stmts);
            check_size(p);
            return tnk_for_with(ctx, f, f->min, f->extent, apply(p, f->body));
        }
        tnk_roles_add(&p->warps, f->var, f->thread_tag, f->extent);
        return tnk_for_with(ctx, f, f->min, f->extent, walk(p, f->body));
    }
    const tn_seq *q = tn_as_seq(s);
    if (!q)
        return s;
    TNB_VEC(const tn_stmt *) v = {0};
    for (uint32_t i = 0; i < q->stmts.n && !p->failed; i++) {
        bool alloc = add(p, q->stmts.at[i]);
        TNB_PUSH(tn_scratch(ctx), v, alloc || p->failed ? q->stmts.at[i] : walk(p, q->stmts.at[i]));
    }
    return p->failed ? s : tnk_seq(ctx, v.at, v.n);
}

static const tn_node *
plan_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
          void *user)
{
    (void)m;
    (void)user;
    const tn_prim_func *f = tn_as_prim_func(func);
    plan *p = TNB_NEW(tn_scratch(pc->ctx), plan);
    *p = (plan){.ctx = pc->ctx,
                .name = name,
                .target = pc->target,
                .most = tnk_target_int(pc, "max_shared_memory_per_block", 0),
                .most_dynamic = tnk_target_int(pc, "max_dynamic_shared_memory_per_block", 0),
                .named = tnk_target_int(pc, "named_barriers", 0) > 0 &&
                         tnk_target_int(pc, "thread_warp_size", 1) == 32,
                .one_dtype = tnk_target_lacks(pc, "supports_pointers") ||
                             tnk_target_lacks(pc, "supports_8bit_buffer") ||
                             tnk_target_lacks(pc, "supports_16bit_buffer") ||
                             tnk_target_lacks(pc, "supports_int64"),
                .wider = {tnk_target_lacks(pc, "supports_8bit_buffer") ? 4 : 1,
                          tnk_target_lacks(pc, "supports_16bit_buffer") ? 2 : 1, 1}};
    const tn_stmt *body = walk(p, f->body);
    if (p->failed || tn_is_error(body))
        return NULL;
    bool moved = p->dynamic;
    for (uint32_t i = 0; i < p->n; i++)
        moved |= p->at[i].place != (int32_t)i;
    if (!moved)
        return func;
    tn_rewriter r = {.ctx = pc->ctx, .user = p, .pre = use_place};
    return tnk_func_with_body(pc->ctx, f, tn_rewrite(&r, body));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, plan_func, NULL);
}

const tn_pass tnk_pass_plan_shared_memory = {
    .base.size = sizeof(tn_pass),
    .base.name = "PlanSharedMemory",
    .base.doc = "Lets buffers of shared memory share their place, and checks that all fit.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
