/* SPDX-License-Identifier: Apache-2.0 */
/* LowerMatchBuffer: accesses of a matched sub-region become accesses of the buffer it is a part of.
 *
 *     M = T.match_buffer(A[i*4:i*4+4, 0:4], (4, 4))
 *     M[a, b] = 1                                     =>     A[i*4 + a, 0 + b] = 1
 *
 * The region's leading dimensions that the matched buffer lacks have extent 1. Symbolic shapes, strides and offsets that the match
 * defines are replaced by the region's. Needs: blocks. Leaves: no block with match_buffers.
 */
#include "lower.h"

typedef struct match_state {
    tnb_ptrmap by_buffer; /* matched Buffer -> MatchBuffer node */
    tnb_ptrmap values;    /* variables that a match defines -> expression */
} match_state;

static const tn_expr *
row_major_stride(tn_ctx *ctx, const tn_buffer *b, uint32_t dim)
{
    if (b->strides.n)
        return b->strides.at[dim];
    const tn_expr *s = tn_i64(ctx, 1);
    for (uint32_t i = dim + 1; i < b->shape.n; i++)
        s = tn_mul(ctx, s, b->shape.at[i]);
    return s;
}

/* Binds `pattern` (an expression of the matched buffer's description) if it is a variable; the
 * value becomes one of its dtype. */
static void
define(tn_ctx *ctx, match_state *st, const tn_expr *pattern, const tn_expr *value)
{
    if (!tn_is_var(pattern) || tnb_ptrmap_has(&st->values, pattern))
        return;
    tnb_dtype d = tn_dtype_of(pattern);
    tnb_ptrmap_set(&st->values, pattern, d.code == TNB_INT ? tn_cast_to(ctx, d, value) : value);
}

static bool
enter_block(tn_ctx *ctx, match_state *st, const tn_block *b)
{
    for (uint32_t i = 0; i < b->match_buffers.n; i++) {
        const tn_match_buffer *mb = tn_as_match_buffer(b->match_buffers.at[i]);
        const tn_buffer *to = tn_as_buffer(mb->buffer);
        const tn_buffer_region *src = tn_as_buffer_region(mb->source);
        const tn_buffer *from = tn_as_buffer(src->buffer);
        if (src->ranges.n < to->shape.n || !tnb_dtype_eq(from->dtype, to->dtype)) {
            tn_error(ctx, mb->base.loc, TNB_UNSUPPORTED,
                     "cannot lower the matched buffer '%s': it is another view of '%s' than a part "
                     "of equal dtype",
                     to->name, from->name);
            return false;
        }
        uint32_t lead = src->ranges.n - to->shape.n;
        for (uint32_t k = 0; k < to->shape.n; k++)
            define(ctx, st, to->shape.at[k], tn_as_range(src->ranges.at[lead + k])->extent);
        for (uint32_t k = 0; k < to->strides.n; k++)
            define(ctx, st, to->strides.at[k], row_major_stride(ctx, from, lead + k));
        if (to->elem_offset) {
            const tn_expr *off = from->elem_offset ? from->elem_offset : tn_i64(ctx, 0);
            for (uint32_t k = 0; k < src->ranges.n; k++)
                off = tn_add(ctx, off,
                             tn_mul(ctx, tn_as_range(src->ranges.at[k])->min,
                                    row_major_stride(ctx, from, k)));
            define(ctx, st, to->elem_offset, off);
        }
        define(ctx, st, to->data, from->data);
        tnb_ptrmap_set(&st->by_buffer, mb->buffer, TN_NODE(mb));
    }
    return true;
}

/* Indices into the source buffer for indices into the matched one. */
static tn_list
translate(tn_ctx *ctx, const tn_match_buffer *mb, tn_list idx)
{
    const tn_buffer_region *src = tn_as_buffer_region(mb->source);
    uint32_t lead = src->ranges.n - idx.n;
    TNB_VEC(const tn_node *) out = {0};
    for (uint32_t k = 0; k < src->ranges.n; k++) {
        const tn_expr *at = tn_as_range(src->ranges.at[k])->min;
        TNB_PUSH(tn_scratch(ctx), out, k < lead ? at : tn_add(ctx, at, idx.at[k - lead]));
    }
    return tn_list_of(ctx, out.at, out.n);
}

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    match_state *st = r->user;
    if (n->kind == TN_KIND_BLOCK && !enter_block(r->ctx, st, (const tn_block *)n))
        return tn_error_node(r->ctx);
    if (tn_is_var(n))
        return tnb_ptrmap_get(&st->values, n);
    /* the matches themselves go; meanwhile they keep their identity */
    if (n->kind == TN_KIND_MATCH_BUFFER ||
        (n->kind == TN_KIND_BUFFER && tnb_ptrmap_has(&st->by_buffer, n)))
        return n;
    return NULL;
}

static const tn_node *
post(tn_rewriter *r, const tn_node *n)
{
    match_state *st = r->user;
    if (n->kind == TN_KIND_BLOCK && ((const tn_block *)n)->match_buffers.n) {
        tn_block copy = *(const tn_block *)n;
        copy.match_buffers = (tn_list){0};
        return tn_block_of(r->ctx, &copy);
    }
    tn_list idx = {0};
    const tn_node *buffer = tnk_accessed(n, &idx);
    /* a match of a match is followed to the end */
    const tn_node *m = buffer ? tnb_ptrmap_get(&st->by_buffer, buffer) : NULL;
    if (!m)
        return NULL;
    while (m) {
        const tn_match_buffer *mb = tn_as_match_buffer(m);
        idx = tn_rewrite_list(r, translate(r->ctx, mb, idx));
        buffer = tn_as_buffer_region(mb->source)->buffer;
        m = tnb_ptrmap_get(&st->by_buffer, buffer);
    }
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return tn_buffer_load_of(r->ctx, buffer, idx);
    return tn_buffer_store_of(r->ctx, buffer, ((const tn_buffer_store *)n)->value, idx);
}

static tn_walk_step
has_match(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_BLOCK && ((const tn_block *)n)->match_buffers.n)
        *(bool *)user = true;
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

const tn_stmt *
tnk_lower_matches(tn_ctx *ctx, const tn_stmt *body)
{
    bool any = false;
    tn_walk(body, 0, has_match, NULL, &any);
    if (!any)
        return body;
    match_state st;
    tnb_ptrmap_init(&st.by_buffer, tn_scratch(ctx));
    tnb_ptrmap_init(&st.values, tn_scratch(ctx));
    tn_rewriter r = {.ctx = ctx, .user = &st, .pre = pre, .post = post};
    return tn_rewrite(&r, body);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    return tnk_lower_matches(ctx, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_lower_match_buffer = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerMatchBuffer",
    .base.doc = "Replaces matched sub-regions by the buffers they are parts of.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
