/* SPDX-License-Identifier: Apache-2.0 */
/* LowerCrossThreadReduction: a reduction over loops that are bound to threads: each thread reduces its share, then all join theirs.
 *
 *     for k in range(4):                               for t in threadIdx.x(64):
 *         for t in threadIdx.x(64):                        own = 0
 *             with T.sblock("C"):                          for k in range(4): own += A[k * 64 + t]      (block C)
 *                 vk = T.axis.reduce(256, k * 64 + t)  =>  red[t] = own; barrier
 *                 with T.init(): C[0] = 0                  if t < 32: red[t] += red[t + 32]; barrier ...
 *                 C[0] = C[0] + A[vk]                      if t == 0: C[0] = red[0]
 *
 * The tree is made of one step for each bit of the number of threads, behind a first step for what is more than a power of two.
 * `red` is shared memory, one row for each thread that has a reduction of its own; it is red[lane, row] where threadIdx.x does not
 * reduce, so that neighbours meet in no bank. A result in scope "local" is given to all threads, another is written by the first. Conditions guard what a thread adds, never the barriers. The result's init is
 * joined in once, so it need not be neutral. Several results together (sum and sum of squares; the largest value and its place)
 * have a `red` each. Where the target's warps can do more (tn_warp), threads join their shares in warps first: warp_reduction.c,
 * chosen by T.warp_size_is as the kernel runs unless that is certain. Needs: blocks with init. A reduction that is no add, mul,
 * min, max, and, or, or several of these, or a choice by comparisons whose order does not matter (see
 * kit/schedule/tuple_reducer.c), and one whose spatial loops lie inside of its own, is an error.
 */
#include "cross_thread.h"

enum { MAX_LOOPS = TNK_MAX_LOOPS };

typedef struct state {
    tn_ctx *ctx;
    const char *func;
    const tn_warp *warp;                 /* NULL: threads meet in shared memory only */
    bool tags[3];                        /* which of threadIdx.x, .y, .z the function has */
    const tn_for_loop *loops[MAX_LOOPS]; /* around the statement at hand */
    uint32_t n;
    bool failed;
} state;

typedef tnk_reduction reduction;

static bool
is_thread(const tn_for_loop *f)
{
    return f->for_kind == TN_FOR_THREAD_BINDING && f->thread_tag &&
           !strncmp(f->thread_tag, "threadIdx", 9);
}

/* Whether a variable decides which part of the reduction an instance of the block is. */
static bool
reduces_over(const tn_block_realize *r, const tn_expr *var)
{
    const tn_block *b = tn_as_block(r->block);
    for (uint32_t i = 0; i < b->iters.n && i < r->values.n; i++)
        if (tn_as_iter_var(b->iters.at[i])->iter_kind == TN_ITER_REDUCE &&
            tn_uses(r->values.at[i], var))
            return true;
    return false;
}

static bool
spans(const tn_block_realize *r, const tn_expr *var)
{
    for (uint32_t i = 0; i < r->values.n; i++)
        if (tn_uses(r->values.at[i], var))
            return true;
    return tn_uses(r->predicate, var);
}

/* ---- finding ---- */

typedef struct search {
    state *st;
    const tn_for_loop *path[MAX_LOOPS];
    uint32_t n;
    reduction *out;
    uint32_t found;
    bool nested; /* another loop than those on the path to the block uses it */
} search;

static bool
is_cross_thread(const state *st, const search *s, const tn_block_realize *r)
{
    const tn_block *b = tn_as_block(r->block);
    if (!b->init)
        return false;
    for (uint32_t i = 0; i < st->n; i++)
        if (is_thread(st->loops[i]) && reduces_over(r, st->loops[i]->var))
            return true;
    for (uint32_t i = 0; i < s->n; i++)
        if (is_thread(s->path[i]) && reduces_over(r, s->path[i]->var))
            return true;
    return false;
}

static void
find(search *s, const tn_stmt *x)
{
    if (!x)
        return;
    switch ((int)x->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < tn_as_seq(x)->stmts.n; i++)
            find(s, tn_as_seq(x)->stmts.at[i]);
        return;
    case TN_KIND_FOR:
        if (s->n == MAX_LOOPS)
            return;
        s->path[s->n++] = tn_as_for_loop(x);
        find(s, tn_as_for_loop(x)->body);
        s->n--;
        return;
    case TN_KIND_IF_STMT:
        find(s, tn_as_if_stmt(x)->then_case);
        find(s, tn_as_if_stmt(x)->else_case);
        return;
    case TN_KIND_ATTR_STMT:
        find(s, tn_as_attr_stmt(x)->body);
        return;
    case TN_KIND_BLOCK_REALIZE: {
        const tn_block_realize *r = tn_as_block_realize(x);
        if (!is_cross_thread(s->st, s, r)) {
            find(s, tn_as_block(r->block)->body);
            return;
        }
        if (s->found++ == 0) {
            s->out->realize = r;
            s->out->block = tn_as_block(r->block);
            memcpy(s->out->inner, s->path, s->n * sizeof *s->path);
            s->out->n_inner = s->n;
        }
        return;
    }
    default:
        return;
    }
}

static bool
is_result(state *st, const tn_expr *e, const tn_buffer_store *s)
{
    const tn_buffer_load *l = tn_as_buffer_load(e);
    if (!l || l->buffer != s->buffer || l->indices.n != s->indices.n)
        return false;
    for (uint32_t i = 0; i < l->indices.n; i++)
        if (!tn_equal(st->ctx, l->indices.at[i], s->indices.at[i], false, NULL))
            return false;
    return true;
}

static bool
match_reducer(state *st, reduction *r)
{
    const tn_buffer_store *s = tn_as_buffer_store(r->block->body),
                          *init = tn_as_buffer_store(r->block->init);
    const tn_binary *b = s ? tn_as_binary(s->value) : NULL;
    static const tn_kind kinds[] = {TN_KIND_ADD, TN_KIND_MUL, TN_KIND_MIN,
                                    TN_KIND_MAX, TN_KIND_AND, TN_KIND_OR};
    bool known = false;
    for (size_t i = 0; b && i < sizeof kinds / sizeof *kinds; i++)
        known |= s->value->kind == kinds[i];
    if (known && init && init->buffer == s->buffer && tn_as_buffer(s->buffer)->dtype.lanes == 1) {
        tnk_tuple_reducer *o = &r->of;
        *o = (tnk_tuple_reducer){.n = 1, .independent = true, .store = {s}, .init = {init->value}};
        o->op[0] = (tn_kind)s->value->kind;
        o->value[0] = is_result(st, b->a, s) ? b->b : is_result(st, b->b, s) ? b->a : NULL;
        if (o->value[0] && !tn_uses(o->value[0], s->buffer))
            return true;
    }
    if (!s && tnk_tuple_reducer_of(st->ctx, r->block, &r->of))
        return true;
    tn_error(st->ctx, TN_NODE(r->block)->loc, TNB_UNSUPPORTED,
             "'%s': block '%s' reduces over threads by something that they cannot join", st->func,
             r->block->name);
    tnb_diag_hint(tn_diags(st->ctx),
                  "add, mul, min, max, and, or can be, and choices by comparisons for which the "
                  "order makes no difference; let one thread reduce the rest");
    return false;
}

/* ---- values ---- */

const tn_expr *
tnk_neutral(tn_ctx *ctx, tn_kind op, tnb_dtype d)
{
    bool f = tnb_dtype_is_float(d);
    switch ((int)op) {
    case TN_KIND_MUL:
        return tn_literal(ctx, d, 1);
    case TN_KIND_MAX:
        return f ? tn_float_imm_of(ctx, d, -__builtin_inf()) : tn_min_value(ctx, d);
    case TN_KIND_MIN:
        return f ? tn_float_imm_of(ctx, d, __builtin_inf()) : tn_max_value(ctx, d);
    case TN_KIND_AND:
        return tn_bool(ctx, true);
    case TN_KIND_OR:
        return tn_bool(ctx, false);
    default:
        return tn_literal(ctx, d, 0);
    }
}

static const tn_expr *
at(tn_ctx *ctx, const tn_node *buffer, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *idx[2] = {i, j};
    return tn_buffer_load_of(ctx, buffer, tn_list_of(ctx, idx, j ? 2 : 1));
}

static const tn_stmt *
put(tn_ctx *ctx, const tn_node *buffer, const tn_expr *i, const tn_expr *j, const tn_expr *v)
{
    const tn_expr *idx[2] = {i, j};
    return tn_buffer_store_of(ctx, buffer, v, tn_list_of(ctx, idx, j ? 2 : 1));
}

const tn_stmt *
tnk_join_shares(tn_ctx *ctx, const reduction *r, const tn_node *const *to, const tn_expr *i,
                const tn_expr *j, const tn_expr *const *lhs, const tn_expr *const *rhs)
{
    const tnk_tuple_reducer *o = &r->of;
    const tn_stmt *out[3 * TNK_MAX_RESULTS];
    tnb_ptrmap map;
    uint32_t n = 0;
    if (o->independent) {
        for (uint32_t k = 0; k < o->n; k++)
            out[n++] = put(ctx, to[k], i, j, tn_bin(ctx, o->op[k], lhs[k], rhs[k]));
        return n == 1 ? out[0] : tn_seq_of(ctx, tn_list_of(ctx, out, n));
    }
    /* all are read before the first is written */
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (int side = 0; side < 2; side++)
        for (uint32_t k = 0; k < o->n; k++) {
            tnb_dtype d = tn_as_buffer(o->store[k]->buffer)->dtype;
            const tn_expr *v =
                tn_var_dtype(ctx, tn_strf(ctx, "%s_%s%u", r->block->name, side ? "y" : "x", k), d);
            out[n++] = tn_bind_of(ctx, v, tn_cast_to(ctx, d, side ? rhs[k] : lhs[k]));
            tnb_ptrmap_set(&map, side ? o->rhs[k] : o->lhs[k], v);
        }
    for (uint32_t k = 0; k < o->n; k++)
        out[n++] = put(ctx, to[k], i, j, tn_subst(ctx, o->joined[k], &map));
    return tn_seq_of(ctx, tn_list_of(ctx, out, n));
}

const tn_stmt *
tnk_barrier(tn_ctx *ctx)
{
    const tn_expr *scope = tn_string(ctx, "shared");
    return tn_evaluate_of(ctx,
                          tn_intrin(ctx, TN_INTRIN_tvm_storage_sync, tn_list_of(ctx, &scope, 1)));
}

/* ---- the tree ---- */

typedef tnk_threads threads;

/* The innermost loops of each thread index: those that reduce make the lanes, the others the rows. */
static bool
number_threads(state *st, const reduction *r, const tn_for_loop *const *loops, uint32_t n,
               threads *t)
{
    tn_ctx *ctx = st->ctx;
    *t = (threads){.row = tn_i32(ctx, 0), .lane = tn_i32(ctx, 0), .rows = 1, .lanes = 1};
    t->extent[0] = t->extent[1] = t->extent[2] = 1;
    for (uint32_t i = 0; i < n; i++) {
        bool shadowed = false;
        int64_t extent;
        for (uint32_t k = i + 1; k < n; k++)
            shadowed |= is_thread(loops[k]) && !strcmp(loops[k]->thread_tag, loops[i]->thread_tag);
        if (!is_thread(loops[i]) || shadowed)
            continue;
        if (!tn_int_value(loops[i]->extent, &extent) || extent > 4096 || extent < 1) {
            tn_error(ctx, TN_NODE(loops[i])->loc, TNB_UNSUPPORTED,
                     "'%s': %s has %s threads; block '%s' reduces over threads, which needs their "
                     "number",
                     st->func, loops[i]->thread_tag, tn_text(ctx, loops[i]->extent),
                     r->block->name);
            return false;
        }
        const tn_expr *var = tn_sub(ctx, tn_cast_to(ctx, TNB_I32, loops[i]->var),
                                    tn_cast_to(ctx, TNB_I32, loops[i]->min)),
                      *size = tn_i32(ctx, (int32_t)extent);
        bool lane = reduces_over(r->realize, loops[i]->var);
        const tn_expr **index = lane ? &t->lane : &t->row;
        *index = tn_add(ctx, tn_mul(ctx, *index, size), var);
        *(lane ? &t->lanes : &t->rows) *= extent;
        bool is_block;
        int dim;
        if (tnk_thread_tag(loops[i]->thread_tag, &is_block, &dim)) {
            t->extent[dim] = extent;
            t->index[dim] = var;
            t->reduces[dim] = lane;
        }
    }
    t->lanes_first = t->extent[0] > 1 && !t->reduces[0];
    return true;
}

static const tn_expr *
share_at(tn_ctx *ctx, const reduction *r, const threads *t, uint32_t k, const tn_expr *lane)
{
    return t->lanes_first ? at(ctx, r->red[k], lane, t->row) : at(ctx, r->red[k], t->row, lane);
}

/* red[row, lane] op= red[row, lane + distance] by the first `below` lanes. */
static const tn_stmt *
step(tn_ctx *ctx, const reduction *r, const threads *t, int64_t below, int64_t distance)
{
    const tn_expr *other = tn_add(ctx, t->lane, tn_i32(ctx, (int32_t)distance));
    const tn_expr *lhs[TNK_MAX_RESULTS], *rhs[TNK_MAX_RESULTS];
    for (uint32_t k = 0; k < r->of.n; k++) {
        lhs[k] = share_at(ctx, r, t, k, t->lane);
        rhs[k] = share_at(ctx, r, t, k, other);
    }
    const tn_expr *i = t->lanes_first ? t->lane : t->row, *j = t->lanes_first ? t->row : t->lane;
    return tn_if_stmt_of(ctx, tn_lt(ctx, t->lane, tn_i32(ctx, (int32_t)below)),
                         tnk_join_shares(ctx, r, r->red, i, j, lhs, rhs), NULL);
}

static tnb_dtype
dtype_of(const reduction *r, uint32_t k)
{
    return tn_as_buffer(r->of.store[k]->buffer)->dtype;
}

/* The buffers `own` and `red` of each result. */
static void
make_buffers(tn_ctx *ctx, reduction *r, const threads *t, int64_t shares)
{
    const tn_expr *one = tn_i32(ctx, 1),
                  *dims[2] = {tn_i32(ctx, (int32_t)(t->lanes_first ? shares : t->rows)),
                              tn_i32(ctx, (int32_t)(t->lanes_first ? t->rows : shares))};
    for (uint32_t k = 0; k < r->of.n; k++) {
        const char *name = r->of.n > 1 ? tn_strf(ctx, "%s_%u", r->block->name, k) : r->block->name;
        r->own[k] = tn_buffer_new(ctx, tn_strf(ctx, "%s_own", name), tn_list_of(ctx, &one, 1),
                                  dtype_of(r, k), "local");
        r->red[k] = tn_buffer_new(ctx, tn_strf(ctx, "%s_red", name), tn_list_of(ctx, dims, 2),
                                  dtype_of(r, k), "shared");
    }
}

/* Conditions under which a result is written: those that no part of the reduction decides. */
static const tn_expr *
result_condition(state *st, const reduction *r, const tn_for_loop *const *loops, uint32_t n,
                 const tn_expr *e)
{
    if (!e || tn_is_int_const(e, 1))
        return NULL;
    if (e->kind == TN_KIND_AND)
        return tn_and(st->ctx, result_condition(st, r, loops, n, tn_as_binary(e)->a),
                      result_condition(st, r, loops, n, tn_as_binary(e)->b));
    for (uint32_t i = 0; i < n; i++)
        if (reduces_over(r->realize, loops[i]->var) && tn_uses(e, loops[i]->var))
            return NULL;
    return e;
}

/* Result k goes from the first share (warps: from the thread's own) to its place, under `cond` (NULL: always). */
static const tn_stmt *
write_one(tn_ctx *ctx, const reduction *r, const threads *t, uint32_t k, bool warps,
          const tn_expr *cond, tnb_ptrmap *map)
{
    const tn_buffer_store *store = r->of.store[k];
    const tn_expr *zero = tn_i32(ctx, 0),
                  *v = warps ? at(ctx, r->own[k], zero, NULL) : share_at(ctx, r, t, k, zero),
                  *start = tn_cast_to(ctx, dtype_of(r, k), r->of.init[k]);
    if (r->of.independent &&
        !tn_equal(ctx, start, tnk_neutral(ctx, r->of.op[k], dtype_of(r, k)), false, NULL))
        v = tn_bin(ctx, r->of.op[k], start, v);
    const tn_stmt *s = tn_buffer_store_of(ctx, store->buffer, v, store->indices);
    s = map->n ? tn_subst(ctx, s, map) : s;
    const char *scope = tn_as_buffer(store->buffer)->scope;
    if (!scope || strncmp(scope, "local", 5))
        cond = tn_and(ctx, cond, tn_eq(ctx, t->lane, tn_i32(ctx, 0)));
    return cond ? tn_if_stmt_of(ctx, cond, s, NULL) : s;
}

static const tn_stmt *
write_results(state *st, const reduction *r, const threads *t, bool warps,
              const tn_for_loop *const *loops, uint32_t n)
{
    tn_ctx *ctx = st->ctx;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    const tn_expr *cond = result_condition(st, r, loops, n, r->realize->predicate);
    tn_arith *arith = tn_arith_new(ctx);
    for (uint32_t i = 0; i < n; i++)
        tn_arith_range(arith, loops[i]->var, loops[i]->min, loops[i]->extent);
    for (uint32_t i = 0; i < r->block->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(r->block->iters.at[i]);
        if (iv->iter_kind == TN_ITER_REDUCE)
            continue;
        const tn_expr *v = tn_cast_to(ctx, tn_dtype_of(iv->var), r->realize->values.at[i]);
        const tn_range *dom = tn_as_range(iv->dom);
        const tn_expr *inside = tn_lt(ctx, v, tn_add(ctx, dom->min, dom->extent));
        tnb_ptrmap_set(&map, iv->var, v);
        if (!tn_prove(arith, inside))
            cond = tn_and(ctx, cond, inside);
    }
    const tn_stmt *out[TNK_MAX_RESULTS];
    for (uint32_t k = 0; k < r->of.n; k++)
        out[k] = write_one(ctx, r, t, k, warps, cond, &map);
    return r->of.n == 1 ? out[0] : tn_seq_of(ctx, tn_list_of(ctx, out, r->of.n));
}

/* ---- putting it together ---- */

static const tn_node *
accumulate(tn_rewriter *rw, const tn_node *n)
{
    reduction *r = rw->user;
    if (n != TN_NODE(r->realize))
        return NULL;
    tn_ctx *ctx = rw->ctx;
    const tn_expr *zero = tn_i32(ctx, 0), *lhs[TNK_MAX_RESULTS];
    const tn_node *own[TNK_MAX_RESULTS];
    tn_block b = *r->block;
    TNB_VEC(const tn_node *) reads = {0};
    for (uint32_t k = 0; k < r->of.n; k++) {
        lhs[k] = at(ctx, r->own[k], zero, NULL);
        own[k] = tn_region_full(ctx, r->own[k]);
        TNB_PUSH(tn_scratch(ctx), reads, own[k]);
    }
    b.init = NULL;
    b.body = tnk_join_shares(ctx, r, r->own, zero, NULL, lhs, r->of.value);
    b.writes = tn_list_of(ctx, own, r->of.n);
    for (uint32_t i = 0; i < b.reads.n; i++) {
        bool result = false;
        for (uint32_t k = 0; k < r->of.n; k++)
            result |= ((const tn_buffer_region *)b.reads.at[i])->buffer == r->of.store[k]->buffer;
        if (!result)
            TNB_PUSH(tn_scratch(ctx), reads, b.reads.at[i]);
    }
    b.reads = tn_list_of(ctx, reads.at, reads.n);
    return tn_block_realize_of(ctx, r->realize->values, r->realize->predicate,
                               tn_block_of(ctx, &b));
}

/* The threads that the block was alone in are around all of it now; its own loops stay (one inside
 * the other, loops of one index stand for the same thread). */
static const tn_stmt *
in_threads(state *st, const reduction *r, const tn_stmt **at, uint32_t n, uint32_t accumulation)
{
    tn_ctx *ctx = st->ctx;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < r->n_inner; i++)
        if (r->inner[i]->for_kind == TN_FOR_THREAD_BINDING)
            tnb_ptrmap_set(&map, r->inner[i]->var,
                           tn_var_new(ctx, tn_var_name(r->inner[i]->var), r->inner[i]->var->type));
    for (uint32_t i = 0; map.n && i < n; i++)
        if (i != accumulation)
            at[i] = tn_subst(ctx, at[i], &map);
    const tn_stmt *all = tn_seq_of(ctx, tn_list_of(ctx, at, n));
    for (uint32_t i = r->n_inner; i-- > 0;) {
        const tn_for_loop *f = r->inner[i];
        if (f->for_kind == TN_FOR_THREAD_BINDING)
            all = tn_for_of(ctx, tnb_ptrmap_get(&map, f->var), f->min, f->extent,
                            TN_FOR_THREAD_BINDING, f->thread_tag, f->annotations, all);
    }
    return all;
}

/* Whether no other threads of the block come here: their numbers would lie between those of these. */
static bool
threads_are_all(const state *st, const threads *t)
{
    for (int i = 0; i < 3; i++)
        if (st->tags[i] && !t->index[i])
            return false;
    return true;
}

/* Whether a turn before may still read what this one writes. */
static bool
in_loop_of_turns(const state *st)
{
    for (uint32_t i = 0; i < st->n; i++)
        if (st->loops[i]->for_kind != TN_FOR_THREAD_BINDING)
            return true;
    return false;
}

/* red[row, 0] is the join of all lanes' shares then. */
static void
join_in_tree(tn_ctx *ctx, const reduction *r, const threads *t, bool again, tnk_stmts *out)
{
    tnb_arena *a = tn_scratch(ctx);
    if (again)
        TNB_PUSH(a, out->v, tnk_barrier(ctx));
    const tn_expr *i = t->lanes_first ? t->lane : t->row, *j = t->lanes_first ? t->row : t->lane;
    for (uint32_t k = 0; k < r->of.n; k++)
        TNB_PUSH(a, out->v, put(ctx, r->red[k], i, j, at(ctx, r->own[k], tn_i32(ctx, 0), NULL)));
    TNB_PUSH(a, out->v, tnk_barrier(ctx));
    int64_t power = 1;
    while (power * 2 <= t->lanes)
        power *= 2;
    if (power < t->lanes) {
        TNB_PUSH(a, out->v, step(ctx, r, t, t->lanes - power, power));
        TNB_PUSH(a, out->v, tnk_barrier(ctx));
    }
    for (int64_t half = power / 2; half > 0; half /= 2) {
        TNB_PUSH(a, out->v, step(ctx, r, t, half, half));
        TNB_PUSH(a, out->v, tnk_barrier(ctx));
    }
}

static const tn_stmt *
lower(state *st, reduction *r, const tn_stmt *s)
{
    tn_ctx *ctx = st->ctx;
    tnb_arena *a = tn_scratch(ctx);
    /* loops inside of the reduction's own that do not reduce have to be threads */
    bool reducing = false;
    for (uint32_t i = 0; i < r->n_inner; i++) {
        bool own = reduces_over(r->realize, r->inner[i]->var);
        reducing |= own && !is_thread(r->inner[i]);
        if (!reducing || own || is_thread(r->inner[i]) || !spans(r->realize, r->inner[i]->var))
            continue;
        tn_error(ctx, TN_NODE(r->block)->loc, TNB_UNSUPPORTED,
                 "'%s': block '%s' reduces over threads around its spatial loop '%s'", st->func,
                 r->block->name, tn_var_name(r->inner[i]->var));
        tnb_diag_hint(tn_diags(ctx), "reorder the loops: spatial ones first");
        return NULL;
    }
    if (!match_reducer(st, r))
        return NULL;
    const tn_for_loop *loops[2 * MAX_LOOPS];
    memcpy(loops, st->loops, st->n * sizeof *loops);
    memcpy(loops + st->n, r->inner, r->n_inner * sizeof *loops);
    uint32_t n = st->n + r->n_inner;
    threads t;
    if (!number_threads(st, r, loops, n, &t))
        return NULL;
    const tn_expr *zero = tn_i32(ctx, 0);
    tnk_warps w;
    bool warps = st->warp && threads_are_all(st, &t) && tnk_in_warps(ctx, st->warp, r, &t, &w),
         certain = warps && w.warp.certain, again = in_loop_of_turns(st);
    make_buffers(ctx, r, &t, certain ? w.shares : t.lanes);
    tnk_stmts out = {0}, tree = {0}, joined = {0};
    for (uint32_t k = 0; k < r->of.n; k++)
        TNB_PUSH(a, out.v, tn_alloc_buffer_of(ctx, r->own[k], NULL));
    for (uint32_t k = 0; k < r->of.n && !(certain && w.shares == 1); k++)
        TNB_PUSH(a, out.v, tn_alloc_buffer_of(ctx, r->red[k], NULL));
    for (uint32_t k = 0; k < r->of.n; k++) {
        tnb_dtype d = dtype_of(r, k);
        const tn_expr *start = r->of.independent ? tnk_neutral(ctx, r->of.op[k], d)
                                                 : tn_cast_to(ctx, d, r->of.init[k]);
        TNB_PUSH(a, out.v, put(ctx, r->own[k], zero, NULL, start));
    }
    tn_rewriter rw = {.ctx = ctx, .user = r, .pre = accumulate};
    uint32_t accumulation = (uint32_t)out.v.n;
    TNB_PUSH(a, out.v, tn_rewrite(&rw, s));
    if (warps)
        tnk_join_in_warps(ctx, &w, r, &t, again, &joined);
    if (!certain)
        join_in_tree(ctx, r, &t, again, &tree);
    if (warps && !certain) {
        const tn_expr *size = tn_i32(ctx, (int32_t)w.warp.size);
        for (uint32_t k = 0; k < r->of.n; k++)
            TNB_PUSH(a, tree.v, put(ctx, r->own[k], zero, NULL, share_at(ctx, r, &t, k, zero)));
        TNB_PUSH(a, out.v,
                 tn_if_stmt_of(ctx, tn_intrin1(ctx, TN_INTRIN_warp_size_is, size),
                               tn_seq_of(ctx, tn_list_of(ctx, joined.v.at, joined.v.n)),
                               tn_seq_of(ctx, tn_list_of(ctx, tree.v.at, tree.v.n))));
    } else {
        const tnk_stmts *form = certain ? &joined : &tree;
        for (uint32_t i = 0; i < form->v.n; i++)
            TNB_PUSH(a, out.v, form->v.at[i]);
    }
    TNB_PUSH(a, out.v, write_results(st, r, &t, warps, loops, n));
    return in_threads(st, r, out.v.at, out.v.n, accumulation);
}

static const tn_stmt *
walk(state *st, const tn_stmt *s);

/* The loop, or block, that a change begins at: the outermost that the reduction runs over. */
static const tn_stmt *
change_here(state *st, const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    reduction *r = TNB_NEW(tn_scratch(st->ctx), reduction);
    search look = {.st = st, .out = r};
    find(&look, s);
    if (!look.found)
        return NULL;
    if (f &&
        (is_thread(f) || f->for_kind == TN_FOR_THREAD_BINDING || !reduces_over(r->realize, f->var)))
        return NULL;
    if (look.found > 1) {
        tn_error(st->ctx, s->loc, TNB_UNSUPPORTED,
                 "'%s': one loop holds %u reductions over threads", st->func, look.found);
        tnb_diag_hint(tn_diags(st->ctx), "give each a loop of its own");
        st->failed = true;
        return s;
    }
    const tn_stmt *n = lower(st, r, s);
    st->failed |= !n;
    return n ? n : s;
}

static const tn_stmt *
in_loop(state *st, const tn_for_loop *f)
{
    if (st->n == MAX_LOOPS)
        return TN_NODE(f);
    st->loops[st->n++] = f;
    const tn_stmt *body = walk(st, f->body);
    st->n--;
    return tnk_for_with(st->ctx, f, f->min, f->extent, body);
}

static const tn_stmt *
walk(state *st, const tn_stmt *s)
{
    tn_ctx *ctx = st->ctx;
    if (!s || st->failed)
        return s;
    switch ((int)s->kind) {
    case TN_KIND_SEQ: {
        TNB_VEC(const tn_stmt *) v = {0};
        bool changed = false;
        for (uint32_t i = 0; i < tn_as_seq(s)->stmts.n; i++) {
            TNB_PUSH(tn_scratch(ctx), v, walk(st, tn_as_seq(s)->stmts.at[i]));
            changed |= v.at[i] != tn_as_seq(s)->stmts.at[i];
        }
        return changed ? tn_seq_of(ctx, tn_list_of(ctx, v.at, v.n)) : s;
    }
    case TN_KIND_FOR: {
        const tn_stmt *n = change_here(st, s);
        return n ? n : in_loop(st, tn_as_for_loop(s));
    }
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = tn_as_if_stmt(s);
        const tn_stmt *a = walk(st, i->then_case), *b = walk(st, i->else_case);
        return a == i->then_case && b == i->else_case ? s : tn_if_stmt_of(ctx, i->cond, a, b);
    }
    case TN_KIND_ATTR_STMT: {
        const tn_attr_stmt *t = tn_as_attr_stmt(s);
        const tn_stmt *body = walk(st, t->body);
        return body == t->body ? s : tn_attr_stmt_of(ctx, t->node, t->key, t->value, body);
    }
    case TN_KIND_BLOCK_REALIZE: {
        const tn_block_realize *r = tn_as_block_realize(s);
        search none = {.st = st};
        if (is_cross_thread(st, &none, r))
            return change_here(st, s);
        tn_block b = *tn_as_block(r->block);
        const tn_stmt *body = walk(st, b.body);
        if (body == b.body)
            return s;
        b.body = body;
        return tn_block_realize_of(ctx, r->values, r->predicate, tn_block_of(ctx, &b));
    }
    default:
        return s;
    }
}

static bool
warp_of(const tn_pass_ctx *pc, tn_warp *out)
{
    const tn_target_kind *k =
        pc->target ? tn_find_target(tn_ctx_registry(pc->ctx), pc->target->kind, NULL) : NULL;
    return k && k->warp &&
           TN_WITHIN(pc->ctx, "target", k, "warp", k->warp(pc->target->attrs, out, k->self));
}

static tn_walk_step
note_tags(void *user, const tn_node *n)
{
    state *st = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_attr_stmt *a = tn_as_attr_stmt(n);
    const tn_iter_var *iv = a && !strcmp(a->key, "thread_extent") ? tn_as_iter_var(a->node) : NULL;
    const char *tag = f && f->for_kind == TN_FOR_THREAD_BINDING ? f->thread_tag
                      : iv                                      ? iv->thread_tag
                                                                : NULL;
    bool is_block;
    int dim;
    if (tag && tnk_thread_tag(tag, &is_block, &dim) && !is_block)
        st->tags[dim] = true;
    return TN_WALK_ON;
}

static const tn_node *
lower_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    (void)user;
    const tn_prim_func *f = tn_as_prim_func(func);
    state *st = TNB_NEW(tn_scratch(pc->ctx), state);
    tn_warp warp = {0};
    *st = (state){.ctx = pc->ctx, .func = name, .warp = warp_of(pc, &warp) ? &warp : NULL};
    tn_walk(f->body, 0, note_tags, NULL, st);
    const tn_stmt *body = walk(st, f->body);
    return st->failed || tn_is_error(body) ? NULL : tnk_func_with_body(pc->ctx, f, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, lower_func, NULL);
}

const tn_pass tnk_pass_cross_thread_reduction = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerCrossThreadReduction",
    .base.doc =
        "Turns reductions over threads into each thread's share and a tree in shared memory.",
    .keeps = TN_KEEPS_TOLERANCE,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
