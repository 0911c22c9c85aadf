/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Pool: reductions other than sums of products whose results lie side by side: pooling windows,
 * sums over leading dimensions. The result's last dimension is computed in vectors, with
 * accumulators in registers. What is put around images is put around one after the other, which is then near.
 */
#include "rules.h"

typedef struct loads {
    tn_ctx *ctx;
    const tn_expr *x;
    const tn_node *out;
    bool bad, any;
} loads;

static tn_walk_step
look(void *user, const tn_node *n)
{
    loads *l = user;
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        l->bad |= !op || (op->flags & TN_OP_LAZY && tn_uses(n, l->x));
    }
    const tn_buffer_load *b = tn_as_buffer_load(n);
    if (b && b->buffer != l->out && cpu_load_uses(b, l->x)) {
        int64_t step = cpu_step_along(l->ctx, b, l->x);
        l->any = true;
        l->bad |= step < 1 || step > 4;
    }
    return TN_WALK_ON;
}

static bool
vectorize(cpu_tile *c, tnk_item *block)
{
    tnk_item *l[CPU_MAX_LOOPS], *part[2];
    uint32_t n = tnk_sch_loops(c->s, block, l, CPU_MAX_LOOPS);
    int64_t e;
    if (n < 2 || n > CPU_MAX_LOOPS || !tnk_loop_extent(l[n - 1], &e) || e < c->lanes)
        return tnk_sch_ok(c->s);
    if (e == c->lanes)
        return tnk_set_kind(c->s, l[n - 1], TN_FOR_VECTORIZED);
    return tnk_split(c->s, l[n - 1], c->lanes, part) &&
           tnk_set_kind(c->s, part[1], TN_FOR_VECTORIZED);
}

/* Pads each image where it is read, if a turn of the outermost loop has whole images: rows of several turns would be
 * padded again and again. */
static bool
pad_near(cpu_tile *c)
{
    const tn_block *b = tnk_item_block(c->block);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    tnk_item *blocks[CPU_MAX_BLOCKS], *l[CPU_MAX_LOOPS];
    uint32_t n = tnk_sch_blocks(c->s, blocks, CPU_MAX_BLOCKS),
             n_loops = tnk_sch_loops(c->s, c->block, l, CPU_MAX_LOOPS);
    int64_t turns, images = 1;
    for (uint32_t i = 0; i + 1 < st->indices.n && i < 2; i++)
        images *= c->ext[i];
    if (n > CPU_MAX_BLOCKS || n_loops == 0 || n_loops > CPU_MAX_LOOPS || st->indices.n < 4 ||
        !tnk_loop_extent(l[0], &turns) || turns > images)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        const tn_node *out = tnk_block_output(blocks[i]);
        if (blocks[i] != c->block && out && tn_uses(st->value, out) &&
            cpu_is_alone(c->s, blocks[i]) && !tnk_sch_is_param(c->s, out))
            return tnk_compute_at(c->s, blocks[i], l[0]) && vectorize(c, blocks[i]);
    }
    return true;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    tnk_sch *s = cpu_may_reduce(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    cpu_tile c;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    int bytes = cpu_vector_bytes(ctx, target);
    cpu_inline_cheap(s, CPU_KEEP_PADDING);
    if (!cpu_find_reduction(ctx, s, &c))
        return NULL;
    const tn_block *b = tnk_item_block(c.block);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    loads l = {.ctx = ctx, .x = st->indices.at[c.x], .out = st->buffer};
    tn_walk(st->value, 0, look, NULL, &l);
    int64_t full = cpu_lanes(bytes, tn_as_buffer(st->buffer)->dtype);
    for (c.lanes = full; c.lanes > c.ext[c.x] && c.lanes > 4;)
        c.lanes /= 2;
    if (l.bad || !l.any || c.lanes < 2 || c.ext[c.x] < c.lanes)
        return NULL;
    c.tw = c.ext[c.x] >= 2 * c.lanes ? 2 : 1;
    if (!cpu_apply_tile(&c) || !pad_near(&c))
        return NULL;
    return cpu_finish_rest(s, bytes);
}

const tnk_rule cpu_rule_pool = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Pool",
    .base.doc = "Pooling and reductions over leading dimensions: vectors along the result's last "
                "dimension.",
    .apply = apply,
};
