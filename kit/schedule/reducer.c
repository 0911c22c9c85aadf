/* SPDX-License-Identifier: Apache-2.0 */
/* What a reduction block computes: C = identity; C = C op x, for an op whose order does not matter. */
#include "schedule_private.h"

static bool
reads(const tn_expr *e, const tn_node *buffer)
{
    return tn_uses(e, buffer);
}

/* A load of the element that `st` stores. */
static bool
is_accumulator(tn_ctx *ctx, const tn_expr *e, const tn_buffer_store *st)
{
    const tn_buffer_load *l = tn_as_buffer_load(e);
    if (!l || l->buffer != st->buffer || l->indices.n != st->indices.n)
        return false;
    for (uint32_t i = 0; i < l->indices.n; i++)
        if (!tn_equal(ctx, l->indices.at[i], st->indices.at[i], false, NULL))
            return false;
    return true;
}

bool
tnk_block_reducer(tnk_sch *s, const tnk_item *block, tnk_reducer *out)
{
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    const tn_buffer_store *st = tnk_block_store(b), *init = tn_as_buffer_store(b->init);
    if (!st || !init || init->buffer != st->buffer || b->allocs.n || b->match_buffers.n)
        return false;
    for (uint32_t i = 0; i < st->indices.n; i++)
        if (!tn_equal(ctx, init->indices.at[i], st->indices.at[i], false, NULL))
            return false;
    switch (st->value->kind) {
    case TN_KIND_ADD:
    case TN_KIND_MUL:
    case TN_KIND_MIN:
    case TN_KIND_MAX:
        break;
    default:
        return false;
    }
    const tn_expr *x = tn_as_binary(st->value)->a, *y = tn_as_binary(st->value)->b;
    if (!is_accumulator(ctx, x, st)) {
        const tn_expr *t = x;
        x = y;
        y = t;
    }
    if (!is_accumulator(ctx, x, st) || reads(y, st->buffer) || reads(init->value, st->buffer))
        return false;
    /* the init has to be neutral: it is joined in more than once */
    tnb_dtype d = tn_as_buffer(st->buffer)->dtype;
    const tn_expr *v = init->value;
    bool neutral;
    if (st->value->kind == TN_KIND_ADD || st->value->kind == TN_KIND_MUL) {
        const tn_expr *want = tn_literal(ctx, d, st->value->kind == TN_KIND_MUL);
        neutral = tn_equal(ctx, tn_cast_to(ctx, d, v), want, false, NULL);
    } else {
        neutral = true; /* min and max take a value twice without harm */
    }
    if (!neutral)
        return false;
    if (out)
        *out = (tnk_reducer){st->value->kind, v, y, st};
    return true;
}
