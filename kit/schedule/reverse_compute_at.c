/* SPDX-License-Identifier: Apache-2.0 */
/* reverse_compute_at: a consumer moves into a loop of its producers and takes what one turn makes.
 *
 *     for i: for j: B[i, j] = ...               for i:
 *     for i: for j: C[i, j] = B[i, j]     =>        for j: B[i, j] = ...
 *                                                   for j: C[i, j] = B[i, j]
 */
#include "schedule_private.h"
#include "tenon/kit/lower.h"

typedef struct mover {
    tnk_sch *s;
    tn_arith *arith;
    tnk_item *block, *loop;
    tnk_touched made[16]; /* what the loop's turn writes of what the block reads */
    uint32_t n_made;
    const tn_expr **start, **extent; /* of the iterators; NULL: all of the domain */
    const char *why;
} mover;

static bool
in_regions(tn_list regions, const tn_node *buffer)
{
    for (uint32_t i = 0; i < regions.n; i++)
        if (tn_as_buffer_region(regions.at[i])->buffer == buffer)
            return true;
    return false;
}

/* Whether the stores of a block hit every element between the bounds of what they touch: each index
 * counts through its loops without a gap. */
static bool
gapless(mover *m, const tnk_item *writer, const tn_node *buffer)
{
    tn_ctx *ctx = m->s->ctx;
    const tn_buffer_store *all[TNK_MAX_RESULTS], *st = NULL;
    uint32_t stores = tnk_stores_of(ctx, writer->block->body, all);
    const tn_expr *vars[32], *extents[32], *coeffs[32], *rest;
    uint32_t n = 0;
    for (uint32_t i = 0; i < stores; i++)
        st = all[i]->buffer == buffer ? all[i] : st;
    if (!st)
        return false;
    for (const tnk_item *p = writer->parent; p && p != m->loop; p = p->parent) {
        if (n == 32)
            return false;
        vars[n] = p->var;
        extents[n++] = p->extent;
    }
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t k = 0; k < writer->block->iters.n; k++) {
        const tn_expr *v = tn_as_iter_var(writer->block->iters.at[k])->var;
        tnb_ptrmap_set(&map, v, tn_cast_to(ctx, tn_dtype_of(v), writer->values[k]));
    }
    bool used[32] = {false};
    for (uint32_t d = 0; d < st->indices.n; d++) {
        const tn_expr *e = tn_subst(ctx, st->indices.at[d], &map);
        bool mine[32] = {false};
        uint32_t left = 0;
        for (uint32_t k = 0; k < n; k++) {
            mine[k] = tn_uses(e, vars[k]);
            if (mine[k] && used[k])
                return false; /* a diagonal */
            used[k] |= mine[k];
            left += mine[k];
        }
        if (left == 0)
            continue;
        if (!tn_linear(m->arith, e, vars, n, coeffs, &rest))
            return false;
        const tn_expr *step = tn_int_imm_of(ctx, tn_dtype_of(e), 1);
        while (left) {
            uint32_t next = 0;
            while (next < n && !(mine[next] && tn_prove_eq(m->arith, coeffs[next], step)))
                next++;
            if (next == n)
                return false;
            step = tn_mul(ctx, step, extents[next]);
            mine[next] = false;
            left--;
        }
    }
    return true;
}

/* What a turn makes of the buffers that the block reads. */
static bool
collect(mover *m, const tnk_item *nest)
{
    tnk_sch *s = m->s;
    tnk_item *all[256];
    uint32_t n = tnk_sch_blocks(s, all, 256);
    if (n > 256) {
        m->why = "the function has too many blocks";
        return false;
    }
    const tn_block *b = m->block->block;
    bool after = false;
    for (uint32_t i = 0; i < n && all[i] != m->block; i++) {
        const tn_block *x = all[i]->block;
        bool here = tnk_item_contains(nest, all[i]);
        after |= here;
        if (!after)
            continue;
        for (uint32_t w = 0; w < b->writes.n; w++) {
            const tn_node *out = tn_as_buffer_region(b->writes.at[w])->buffer;
            if (in_regions(x->reads, out) || in_regions(x->writes, out)) {
                m->why = tn_strf(s->ctx, "block '%s', which it would come before, uses its result",
                                 x->name);
                return false;
            }
        }
        for (uint32_t w = 0; w < x->writes.n; w++) {
            const tn_node *buffer = tn_as_buffer_region(x->writes.at[w])->buffer;
            if (!in_regions(b->reads, buffer))
                continue;
            if (!tnk_item_contains(m->loop, all[i])) {
                m->why =
                    tn_strf(s->ctx, "block '%s', which makes what it reads, is not in the loop",
                            x->name);
                return false;
            }
            for (const tnk_item *p = m->loop; p && p != nest->parent; p = p->parent)
                if (tnk_loop_reduces(p, all[i])) {
                    m->why =
                        tn_strf(s->ctx,
                                "the result of block '%s' is not complete in an iteration of '%s'",
                                x->name, tnk_item_name(p));
                    return false;
                }
            if (!tnk_block_fills(s, all[i], buffer)) {
                m->why = tn_strf(s->ctx, "block '%s' does not store every element of '%s'", x->name,
                                 tn_as_buffer(buffer)->name);
                return false;
            }
            tnk_touched t = {.buffer = buffer, .loop = m->loop};
            if (!tnk_touch(s, m->arith, &t, all[i], true) || !gapless(m, all[i], buffer)) {
                m->why =
                    tn_strf(s->ctx, "what block '%s' writes in an iteration is not known exactly",
                            x->name);
                return false;
            }
            tnk_touched *old = NULL;
            for (uint32_t k = 0; k < m->n_made; k++)
                old = m->made[k].buffer == buffer ? &m->made[k] : old;
            for (uint32_t d = 0; old && d < t.rank; d++)
                if (!tn_prove_eq(m->arith, t.lo[d], old->lo[d]) ||
                    !tn_prove_eq(m->arith, t.hi[d], old->hi[d])) {
                    m->why = tn_strf(s->ctx, "several blocks write parts of '%s'",
                                     tn_as_buffer(buffer)->name);
                    return false;
                }
            if (!old && m->n_made == 16) {
                m->why = "it reads too many buffers";
                return false;
            }
            if (!old)
                m->made[m->n_made++] = t;
        }
    }
    if (m->n_made == 0)
        m->why = "nothing in the loop makes what it reads";
    return m->n_made != 0;
}

static const tnk_touched *
made_of(const mover *m, const tn_node *buffer)
{
    for (uint32_t k = 0; k < m->n_made; k++)
        if (m->made[k].buffer == buffer)
            return &m->made[k];
    return NULL;
}

/* From an index of a load: the range of the iterator in it for which the index stays in lo .. hi. Only
 * if the index stays in the buffer (`shape`) for all of its domain: else some values of the iterator
 * belong to no turn. */
static void
solve(mover *m, const tn_expr *e, const tn_expr *lo, const tn_expr *hi, const tn_expr *shape)
{
    tn_ctx *ctx = m->s->ctx;
    const tn_block *b = m->block->block;
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_expr *v = tn_as_iter_var(b->iters.at[k])->var, *coeff, *rest;
        if (!tn_uses(e, v) || m->start[k])
            continue;
        bool alone = true;
        for (uint32_t j = 0; j < b->iters.n; j++)
            alone &= j == k || !tn_uses(e, tn_as_iter_var(b->iters.at[j])->var);
        if (!alone)
            return;
        const tn_expr *one = tn_int_imm_of(ctx, tn_dtype_of(e), 1);
        const tn_range *dom = tn_as_range(tn_as_iter_var(b->iters.at[k])->dom);
        const tn_expr *end = tn_sub(ctx, tn_add(ctx, dom->min, dom->extent), one);
        const tn_expr *zero = tn_int_imm_of(ctx, tn_dtype_of(e), 0);
        if (!tn_prove(m->arith, tn_ge_of(ctx, tn_subst1(ctx, e, v, dom->min), zero)) ||
            !tn_prove(m->arith, tn_lt_of(ctx, tn_subst1(ctx, e, v, end), shape)))
            return;
        if (tn_is(e, TN_KIND_FLOOR_DIV) && tn_as_binary(e)->a == v &&
            !tn_uses(tn_as_binary(e)->b, v)) {
            const tn_expr *c = tn_as_binary(e)->b;
            m->start[k] = tn_mul(ctx, lo, c);
            m->extent[k] = tn_mul(ctx, tn_add(ctx, tn_sub(ctx, hi, lo), one), c);
        } else if (tn_linear(m->arith, e, &v, 1, &coeff, &rest) && tn_is_int_const(coeff, 1)) {
            m->start[k] = tn_sub(ctx, lo, rest);
            m->extent[k] = tn_add(ctx, tn_sub(ctx, hi, lo), one);
        }
    }
}

typedef struct loads {
    mover *m;
    tnb_ptrmap *values; /* NULL: ranges are sought; else the new values, to be checked */
    tnk_item *const *loops;
    uint32_t n_loops;
} loads;

/* Whether an index at the new values stays in what was made. */
static bool
covered(loads *l, const tn_expr *e, const tn_expr *lo, const tn_expr *hi)
{
    mover *m = l->m;
    tn_ctx *ctx = m->s->ctx;
    const tn_expr *least = tn_subst(ctx, e, l->values), *most = least, *unused;
    for (uint32_t k = l->n_loops; k-- > 0;) {
        const tnk_item *p = l->loops[k];
        if (tn_uses(least, p->var) &&
            (!tn_interval(m->arith, least, &p->var, &p->min, &p->extent, 1, &least, &unused) ||
             !least))
            return false;
        if (tn_uses(most, p->var) &&
            (!tn_interval(m->arith, most, &p->var, &p->min, &p->extent, 1, &unused, &most) ||
             !most))
            return false;
    }
    return tn_prove(m->arith, tn_ge_of(ctx, least, lo)) &&
           tn_prove(m->arith, tn_le_of(ctx, most, hi));
}

static tn_walk_step
each_load(void *user, const tn_node *n)
{
    loads *l = user;
    mover *m = l->m;
    const tn_buffer_load *load = tn_as_buffer_load(n);
    const tnk_touched *t = load ? made_of(m, load->buffer) : NULL;
    if ((n->kind == TN_KIND_FOR || n->kind == TN_KIND_BLOCK || n->kind == TN_KIND_LET) && !m->why)
        for (uint32_t k = 0; k < m->n_made; k++)
            if (tn_uses(n, m->made[k].buffer))
                m->why = "its body has loops or variables of its own";
    for (uint32_t d = 0; t && d < load->indices.n && !m->why; d++) {
        if (!l->values)
            solve(m, load->indices.at[d], t->lo[d], t->hi[d], tn_as_buffer(t->buffer)->shape.at[d]);
        else if (!covered(l, load->indices.at[d], t->lo[d], t->hi[d]))
            m->why = tn_strf(m->s->ctx, "it reads more of '%s' than an iteration makes",
                             tn_as_buffer(t->buffer)->name);
    }
    return m->why ? TN_WALK_STOP : TN_WALK_ON;
}

bool
tnk_reverse_compute_at(tnk_sch *s, tnk_item *block, tnk_item *loop)
{
    static const char me[] = "reverse_compute_at";
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    if (!tn_is_int_const(block->predicate, 1) || tnk_item_contains(loop, block))
        return tnk_sch_fail(s, block, me, "it is guarded by a predicate or in the loop already");
    tnk_item *nest = loop;
    while (nest->parent && !tnk_item_contains(nest->parent, block))
        nest = nest->parent;
    const tnk_item *mine = block;
    while (mine->parent != nest->parent)
        mine = mine->parent;
    if (tnk_item_index(mine) < tnk_item_index(nest))
        return tnk_sch_fail(s, block, me, "it comes before the loop '%s'", tn_var_name(loop->var));
    for (uint32_t w = 0; w < b->writes.n; w++)
        if (in_regions(b->reads, tn_as_buffer_region(b->writes.at[w])->buffer))
            return tnk_sch_fail(s, block, me, "it reads what it writes");
    mover m = {.s = s, .arith = tnk_sch_arith_in(s, loop), .block = block, .loop = loop};
    m.start = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, b->iters.n + 1);
    m.extent = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, b->iters.n + 1);
    loads find = {.m = &m};
    if (b->match_buffers.n)
        m.why = "it matches parts of buffers";
    else if (collect(&m, nest))
        tn_walk(b->body, 0, each_load, NULL, &find);
    if (m.why)
        return tnk_sch_fail(s, block, me, "%s", m.why);
    tnk_item **loops = TNB_NEW_N(tn_scratch(ctx), tnk_item *, b->iters.n + 1);
    uint32_t n = 0, mark = tn_arith_push(m.arith, NULL);
    tnk_move move;
    tnk_move_begin(&move, s, m.arith, block, true);
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (int reduce = 0; reduce < 2; reduce++)
        for (uint32_t k = 0; k < b->iters.n; k++) {
            const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
            const tn_range *dom = tn_as_range(iv->dom);
            if ((iv->iter_kind != TN_ITER_SPATIAL) != reduce)
                continue;
            tnb_dtype d = tn_dtype_of(iv->var);
            const tn_expr *start = dom->min, *extent = dom->extent;
            if (m.start[k]) {
                start = tn_simplify(m.arith, tn_cast_to(ctx, d, m.start[k]));
                extent = tn_simplify(m.arith, tn_cast_to(ctx, d, m.extent[k]));
            }
            if (reduce && (!tn_prove_eq(m.arith, start, dom->min) ||
                           !tn_prove_eq(m.arith, extent, dom->extent)))
                return tnk_sch_fail(s, block, me,
                                    "an iteration makes a part only of what it reduces over '%s'",
                                    tn_var_name(iv->var));
            loops[n++] = tnk_move_iter(&move, k, start, extent);
            tnb_ptrmap_set(&map, iv->var, move.values[k]);
        }
    loads check = {.m = &m, .values = &map, .loops = loops, .n_loops = n};
    tn_walk(b->body, 0, each_load, NULL, &check);
    tn_arith_pop(m.arith, mark);
    if (m.why)
        return tnk_sch_fail(s, block, me, "%s", m.why);
    uint32_t last = 0;
    for (uint32_t i = 0; i < loop->children.n; i++) {
        tnk_item *all[256];
        uint32_t count = tnk_sch_blocks(s, all, 256);
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t w = 0; w < all[k]->block->writes.n; w++)
                if (tnk_item_contains(loop->children.at[i], all[k]) &&
                    made_of(&m, tn_as_buffer_region(all[k]->block->writes.at[w])->buffer))
                    last = i + 1;
    }
    const char *ref = tnk_ref(s, block), *target = tnk_ref(s, loop);
    tnk_move_end(&move, loop, last);
    tnk_sch_note(s, "reverse_compute_at(%s, %s)", ref, target);
    return true;
}
