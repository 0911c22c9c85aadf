/* SPDX-License-Identifier: Apache-2.0 */
/* PlanAndUpdateBufferAllocationLocation: allocations move into the innermost loop that may hold them.
 *
 *     B = T.alloc_buffer((8, 16))               for i in range(8):
 *     for i in range(8):                            B = T.alloc_buffer((8, 16))
 *         for j in range(16): B[i, j] = ...   =>    for j in range(16): B[i, j] = ...
 *         for j in range(16): C[i, j] = B[i, j]     for j in range(16): C[i, j] = B[i, j]
 *
 * A loop may hold the buffer if each turn writes what it reads: the turn's first access is a write that does not depend on a
 * condition of the outside, and its region holds that of every read (proved, or it fills the dimension; else the allocation
 * stays). A condition that is the same in all turns may stand around the only write: without it nothing is ever written. A parallel loop whose turns overlap in what stays outside becomes serial (racing_turns.c). Needs: no blocks.
 */
#include "region.h"

typedef TNB_VEC(const tn_stmt *) statements;

/* Whether the write fills this dimension of the buffer: no read can be elsewhere, whatever is known
 * of its index. */
static bool
fills(tn_ctx *ctx, tn_arith *arith, const tnk_access *w, const tn_node *buffer, uint32_t d)
{
    const tn_expr *n = tn_as_buffer(buffer)->shape.at[d];
    const tn_expr *zero = tn_int_imm_of(ctx, tn_dtype_of(w->lo[d]), 0);
    const tn_expr *end = tn_add(ctx, w->hi[d], tn_int_imm_of(ctx, tn_dtype_of(w->hi[d]), 1));
    return tn_prove(arith, tn_le_of(ctx, w->lo[d], zero)) && tn_prove(arith, tn_ge_of(ctx, end, n));
}

static bool
holds(tn_ctx *ctx, tn_arith *arith, const tnk_access *w, const tnk_access *a, uint32_t d)
{
    return a->lo[d] && tn_prove(arith, tn_ge_of(ctx, a->lo[d], w->lo[d])) &&
           tn_prove(arith, tn_le_of(ctx, a->hi[d], w->hi[d]));
}

/* Whether the conditions around the write at `k`, the only one, are the same in all turns of the loop over `turn`. */
static bool
always_or_never(const tnk_accesses *acc, uint32_t k, const tn_expr *turn)
{
    for (uint32_t i = 0; i < acc->v.n; i++)
        if (i != k && acc->v.at[i].is_store)
            return false;
    tn_list guards = acc->v.at[k].guards;
    for (uint32_t i = 0; i < guards.n; i++)
        if (!guards.at[i] || tn_uses(guards.at[i], turn))
            return false;
    return true;
}

/* Whether each turn of the loop over `turn` that `body` belongs to starts with the buffer's contents of no
 * interest. */
static bool
self_contained(tn_ctx *ctx, tn_arith *arith, const tn_expr *turn, const tn_stmt *body,
               const tn_node *buffer)
{
    tnk_accesses acc;
    tnk_collect_accesses(ctx, arith, body, buffer, &acc);
    if (acc.opaque || acc.v.n == 0 || !acc.v.at[0].is_store ||
        (acc.v.at[0].guarded && !always_or_never(&acc, 0, turn)))
        return false;
    uint32_t rank = tn_as_buffer(buffer)->shape.n;
    const tnk_access *w = &acc.v.at[0];
    for (uint32_t d = 0; d < rank; d++)
        if (!w->lo[d])
            return false;
    for (uint32_t i = 1; i < acc.v.n; i++) {
        const tnk_access *a = &acc.v.at[i];
        if (a->is_store)
            continue;
        for (uint32_t d = 0; d < rank; d++)
            if (!holds(ctx, arith, w, a, d) && !fills(ctx, arith, w, buffer, d))
                return false;
    }
    return true;
}

static bool
uses_buffer(const tn_stmt *s, const tn_node *buffer)
{
    return tn_uses(s, buffer) || tn_uses(s, tn_as_buffer(buffer)->data);
}

static const tn_stmt *
put(tn_ctx *ctx, const tn_stmt *alloc, const tn_stmt *s)
{
    return tn_seqv(ctx, alloc, s, NULL);
}

/* Whether each block, or thread, has such a buffer of its own. */
static bool
is_own_memory(const tn_node *buffer, const char *tag)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    bool shared = scope && !strncmp(scope, "shared", 6),
         local = scope && !strncmp(scope, "local", 5);
    return local || (shared && tag && !strncmp(tag, "blockIdx", 8));
}

/* `s` with the allocation inside, as deep as allowed. */
static const tn_stmt *
sink(tn_ctx *ctx, tn_arith *arith, const tn_stmt *alloc, const tn_node *buffer, const tn_stmt *s)
{
    if (s->kind == TN_KIND_SEQ) {
        const tn_seq *q = (const tn_seq *)s;
        uint32_t first = UINT32_MAX, last = 0;
        for (uint32_t i = 0; i < q->stmts.n; i++)
            if (uses_buffer(q->stmts.at[i], buffer)) {
                first = first == UINT32_MAX ? i : first;
                last = i;
            }
        if (first == UINT32_MAX)
            return s; /* never used: gone */
        TNB_VEC(const tn_stmt *) v = {0};
        for (uint32_t i = 0; i < q->stmts.n; i++) {
            if (i == first && first == last) {
                TNB_PUSH(tn_scratch(ctx), v, sink(ctx, arith, alloc, buffer, q->stmts.at[i]));
                continue;
            }
            if (i == first)
                TNB_PUSH(tn_scratch(ctx), v, alloc);
            TNB_PUSH(tn_scratch(ctx), v, q->stmts.at[i]);
        }
        return tn_seq_of(ctx, (tn_list){v.at, v.n});
    }
    if (s->kind == TN_KIND_FOR) {
        const tn_for_loop *f = (const tn_for_loop *)s;
        /* a block has memory of its own, a thread too unless it is shared */
        if (f->for_kind == TN_FOR_THREAD_BINDING) {
            if (!is_own_memory(buffer, f->thread_tag))
                return put(ctx, alloc, s);
            uint32_t frame = tn_arith_push(arith, NULL);
            tn_arith_range(arith, f->var, f->min, f->extent);
            const tn_stmt *inside = sink(ctx, arith, alloc, buffer, f->body);
            tn_arith_pop(arith, frame);
            return tnk_for_with(ctx, f, f->min, f->extent, inside);
        }
        /* a vectorized loop has no room for an allocation */
        if (f->for_kind == TN_FOR_VECTORIZED || tn_uses(f->min, buffer) ||
            tn_uses(f->extent, buffer))
            return put(ctx, alloc, s);
        uint32_t mark = tn_arith_push(arith, NULL);
        tn_arith_range(arith, f->var, f->min, f->extent);
        const tn_stmt *body = self_contained(ctx, arith, f->var, f->body, buffer)
                                  ? sink(ctx, arith, alloc, buffer, f->body)
                                  : NULL;
        tn_arith_pop(arith, mark);
        return body ? tnk_for_with(ctx, f, f->min, f->extent, body) : put(ctx, alloc, s);
    }
    if (s->kind == TN_KIND_ATTR_STMT) {
        const tn_attr_stmt *a = (const tn_attr_stmt *)s;
        return tn_attr_stmt_of(ctx, a->node, a->key, a->value,
                               sink(ctx, arith, alloc, buffer, a->body));
    }
    return put(ctx, alloc, s);
}

/* A sequence whose allocations move, the last one first. */
typedef struct mover {
    tnk_ranged *r;
    const tn_seq *q;
    tnk_seq_uses uses;
    const tn_stmt **now; /* per statement; NULL: an allocation that has moved */
    statements *front;   /* allocations before it */
    uint32_t n_after;    /* statements behind the one that is looked at */
} mover;

/* Whether an allocation's extents use what the allocation at `i` gives: it stays before them. */
static bool
is_pinned(const mover *m, uint32_t i)
{
    const tnk_seq_user *u = &m->uses.key[i];
    for (uint32_t k = 0; k < u->at.n; k++)
        if (u->at.at[k] != i && m->q->stmts.at[u->at.at[k]]->kind == TN_KIND_ALLOC_BUFFER)
            return true;
    return false;
}

/* Puts the allocation at `i` before the first statement that uses it, or into the only one. */
static void
move(mover *m, uint32_t i)
{
    tn_ctx *ctx = m->r->ctx;
    const tn_stmt *alloc = m->q->stmts.at[i];
    const tnk_seq_user *u = &m->uses.key[i];
    uint32_t first = UINT32_MAX, last = 0;
    for (uint32_t k = 0; k < u->at.n; k++)
        if (u->at.at[k] > i) {
            first = first == UINT32_MAX ? u->at.at[k] : first;
            last = u->at.at[k];
        }
    m->now[i] = NULL;
    if (first == UINT32_MAX && m->n_after > 1)
        return; /* never used: gone */
    if (first == UINT32_MAX)
        first = last = m->q->stmts.n - 1;
    if (first == last) {
        const tn_stmt *s =
            sink(ctx, m->r->arith, alloc, tn_as_alloc_buffer(alloc)->buffer, m->now[first]);
        if (!tn_is(s, TN_KIND_SEQ)) {
            m->now[first] = s;
            return;
        }
    }
    TNB_PUSH(tn_scratch(ctx), m->front[first], alloc);
    m->n_after++;
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    mover m = {.r = r, .q = tn_as_seq(s)};
    tnb_arena *a = tn_scratch(r->ctx);
    if (!m.q || !tnk_seq_uses_of(r->ctx, m.q, &m.uses))
        return NULL;
    uint32_t n = m.q->stmts.n;
    m.now = tnb_dup(a, m.q->stmts.at, n * sizeof *m.now);
    m.front = TNB_NEW_N(a, statements, n);
    for (uint32_t i = n; i-- > 0;)
        if (i + 1 < n && m.now[i]->kind == TN_KIND_ALLOC_BUFFER && !is_pinned(&m, i))
            move(&m, i);
        else
            m.n_after++;
    statements v = {0};
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < m.front[i].n; k++)
            TNB_PUSH(a, v, m.front[i].at[k]);
        if (m.now[i])
            TNB_PUSH(a, v, m.now[i]);
    }
    for (uint32_t i = 0; i < n && same; i++)
        same = i < v.n && v.at[i] == m.q->stmts.at[i];
    return same && v.n == n ? NULL : tnk_seq(r->ctx, v.at, v.n);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tnk_ranged r = {.post = post};
    tnk_ranged_init(&r, ctx, f);
    const tn_stmt *body = tnk_ranged_rewrite(&r, f->body);
    return body && !tn_is_error(body) ? tnk_part_racing_turns(ctx, body) : body;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_plan_location = {
    .base.size = sizeof(tn_pass),
    .base.name = "PlanAndUpdateBufferAllocationLocation",
    .base.doc = "Moves allocations into the innermost loops that may hold them.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
