/* SPDX-License-Identifier: Apache-2.0 */
/* FlattenBuffer: buffers of any rank become buffers of one dimension; strides and offsets become part of the index.
 *
 *     A: T.Buffer((8, 4))                      A: T.Buffer((32,))
 *     A[i, j] = 1                      =>      A[i * 4 + j] = 1
 *
 * Images ("global.texture...") stay as they are: they have rows, columns and layers. A parameter's elem_offset is dropped: a kernel gets the address of the first element. Symbolic variables that the shapes and
 * strides of parameters defined become scalar parameters at the end. Needs: no blocks.
 */
#include "lower.h"

typedef struct flatten_state {
    tnb_ptrmap flat;   /* Buffer -> flat Buffer */
    tnb_ptrmap params; /* parameter Buffers */
} flatten_state;

static const tn_expr *
product(tn_ctx *ctx, tn_list dims)
{
    const tn_expr *p = tn_i64(ctx, 1);
    for (uint32_t i = 0; i < dims.n; i++)
        p = tn_mul(ctx, p, tn_cast_to(ctx, TNB_I64, dims.at[i]));
    return p;
}

/* The number of elements from the first to the last, in the memory of the buffer. */
static const tn_expr *
span(tn_ctx *ctx, const tn_buffer *b)
{
    if (!b->strides.n)
        return product(ctx, b->shape);
    const tn_expr *last = tn_i64(ctx, 1);
    for (uint32_t i = 0; i < b->shape.n; i++) {
        const tn_expr *extent = tn_cast_to(ctx, TNB_I64, b->shape.at[i]);
        const tn_expr *stride = tn_cast_to(ctx, TNB_I64, b->strides.at[i]);
        last = tn_add(ctx, last, tn_mul(ctx, tn_sub(ctx, extent, tn_i64(ctx, 1)), stride));
    }
    return last;
}

static const tn_node *
flat_of(tn_ctx *ctx, flatten_state *st, const tn_node *buffer)
{
    const tn_node *f = tnb_ptrmap_get(&st->flat, buffer);
    if (f)
        return f;
    const tn_buffer *b = tn_as_buffer(buffer);
    bool image = b->scope && strncmp(b->scope, "global.texture", 14) == 0;
    if (image || (b->shape.n == 1 && !b->strides.n && !b->elem_offset)) {
        tnb_ptrmap_set(&st->flat, buffer, buffer);
        return buffer;
    }
    tn_buffer copy = *b;
    const tn_expr *size = span(ctx, b);
    if (b->elem_offset && !tn_is_var(b->elem_offset) && !tnb_ptrmap_has(&st->params, buffer))
        size =
            tn_add(ctx, size,
                   tn_cast_to(ctx, TNB_I64, b->elem_offset)); /* indices of a view begin with it */
    copy.shape = tn_list_of(ctx, &size, 1);
    copy.strides = (tn_list){0};
    copy.separators = (tn_list){0};
    copy.elem_offset = NULL;
    copy.offset_factor = 0;
    f = tn_buffer_of(ctx, &copy);
    tnb_ptrmap_set(&st->flat, buffer, f);
    return f;
}

/* Lanes of an index; a scalar meets a vector by broadcast. */
static const tn_expr *
mul_stride(tn_ctx *ctx, const tn_expr *idx, const tn_expr *stride)
{
    tnb_dtype d = tn_dtype_of(idx);
    tnb_dtype wide = TNB_I64;
    wide.lanes = d.lanes;
    idx = tn_cast_to(ctx, wide, idx);
    stride = tn_cast_to(ctx, TNB_I64, stride);
    if (d.lanes > 1 && tn_is(idx, TN_KIND_RAMP)) { /* keeps the ramp a ramp */
        const tn_ramp *rp = tn_as_ramp(idx);
        return tn_ramp_of(ctx, tn_mul(ctx, rp->start, stride), tn_mul(ctx, rp->stride, stride),
                          rp->lanes);
    }
    return d.lanes > 1 && !tn_is_int_const(stride, 1)
               ? tn_mul(ctx, idx, tn_broadcast_of(ctx, stride, d.lanes))
               : (d.lanes > 1 ? idx : tn_mul(ctx, idx, stride));
}

static const tn_expr *
sum(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    if (!a)
        return b;
    int64_t la = tn_dtype_of(a).lanes, lb = tn_dtype_of(b).lanes;
    if (la == lb)
        return tn_add(ctx, a, b);
    const tn_expr *v = la > lb ? a : b, *s = la > lb ? b : a;
    if (tn_is(v, TN_KIND_RAMP)) {
        const tn_ramp *rp = tn_as_ramp(v);
        return tn_ramp_of(ctx, tn_add(ctx, rp->start, s), rp->stride, rp->lanes);
    }
    return tn_add(ctx, v, tn_broadcast_of(ctx, s, la > lb ? la : lb));
}

static const tn_expr *
flat_index(tn_ctx *ctx, flatten_state *st, const tn_node *buffer, tn_list idx)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    const tn_expr *at = NULL;
    if (b->elem_offset && !tnb_ptrmap_has(&st->params, buffer))
        at = tn_cast_to(ctx, TNB_I64, b->elem_offset);
    /* from the last dimension, whose stride is 1 */
    const tn_expr *stride = tn_i64(ctx, 1);
    const tn_expr **part = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, idx.n + 1);
    for (uint32_t i = idx.n; i-- > 0;) {
        part[i] = mul_stride(ctx, idx.at[i], b->strides.n ? b->strides.at[i] : stride);
        stride = tn_mul(ctx, stride, tn_cast_to(ctx, TNB_I64, b->shape.at[i]));
    }
    for (uint32_t i = 0; i < idx.n; i++)
        at = sum(ctx, at, part[i]);
    return at ? at : tn_i64(ctx, 0);
}

static const tn_node *
post(tn_rewriter *r, const tn_node *n)
{
    flatten_state *st = r->user;
    tn_ctx *ctx = r->ctx;
    if (n->kind == TN_KIND_BLOCK_REALIZE) { /* what it reads and writes is said of other ranks */
        tn_error(ctx, n->loc, TNB_INVALID, "a block is left where buffers are made flat");
        tnb_diag_hint(tn_diags(ctx), "ConvertBlocksToOpaque removes blocks, and goes before");
        return tn_error_node(ctx);
    }
    if (n->kind == TN_KIND_ALLOC_BUFFER || n->kind == TN_KIND_DECL_BUFFER) {
        const tn_alloc_buffer *a = (const tn_alloc_buffer *)n;
        const tn_node *flat = flat_of(ctx, st, a->buffer);
        if (flat == a->buffer)
            return NULL;
        return n->kind == TN_KIND_ALLOC_BUFFER ? tn_alloc_buffer_of(ctx, flat, a->annotations)
                                               : tn_decl_buffer_of(ctx, flat);
    }
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    if (!buffer)
        return NULL;
    const tn_node *flat = flat_of(ctx, st, buffer);
    if (flat == buffer && idx.n > 1)
        return NULL;
    if (flat == buffer && tnb_dtype_eq(tn_dtype_of(idx.at[0]), TNB_I64))
        return NULL;
    const tn_expr *at = flat_index(ctx, st, buffer, idx);
    tn_list one = tn_list_of(ctx, &at, 1);
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return tn_buffer_load_of(ctx, flat, one);
    return tn_buffer_store_of(ctx, flat, ((const tn_buffer_store *)n)->value, one);
}

static bool
in_list(tn_list l, const tn_node *n)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i] == n)
            return true;
    return false;
}

/* The body with 0 for the element offsets that parameters define. */
static const tn_stmt *
without_offsets(tn_ctx *ctx, const tn_prim_func *f, tnb_ptrmap *offsets)
{
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (b && tn_is_var(b->elem_offset) && !in_list(f->params, b->elem_offset))
            tnb_ptrmap_set(offsets, b->elem_offset,
                           tn_int_imm_of(ctx, tn_dtype_of(b->elem_offset), 0));
    }
    return offsets->n ? tn_subst(ctx, f->body, offsets) : f->body;
}

static const tn_node *
flatten(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
        void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tn_ctx *ctx = pc->ctx;
    const tn_prim_func *f = tn_as_prim_func(func);
    flatten_state st;
    tnb_ptrmap_init(&st.flat, tn_scratch(ctx));
    tnb_ptrmap_init(&st.params, tn_scratch(ctx));
    tn_list buffers = f->buffers;
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i])
            tnb_ptrmap_set(&st.params, f->buffers.at[i], f->buffers.at[i]);
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        if (!f->buffers.at[i])
            continue;
        tn_list_change(ctx, &buffers, f->buffers, i, flat_of(ctx, &st, f->buffers.at[i]));
    }
    tnb_ptrmap offsets;
    tnb_ptrmap_init(&offsets, tn_scratch(ctx));
    const tn_stmt *start = without_offsets(ctx, f, &offsets);
    tn_rewriter r = {.ctx = ctx, .user = &st, .post = post};
    const tn_stmt *body = tn_rewrite(&r, start);
    if (tn_is_error(body))
        return NULL;
    tn_list params = f->params, symbols = tn_defined_symbols(ctx, func);
    bool changed = body != f->body || buffers.at != f->buffers.at;
    for (uint32_t i = 0; i < symbols.n; i++)
        if (!in_list(params, symbols.at[i]) && !tnb_ptrmap_has(&offsets, symbols.at[i])) {
            params = tn_list_append(ctx, params, symbols.at[i]);
            buffers = tn_list_append(ctx, buffers, NULL);
        }
    if (!changed && params.n == f->params.n)
        return func;
    tn_loc was = tn_at(ctx, func->loc);
    const tn_node *n = tn_prim_func_of(ctx, params, buffers, body, f->ret, f->attrs);
    tn_at(ctx, was);
    return tn_is_error(n) ? NULL : n;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, flatten, NULL);
}

const tn_pass tnk_pass_flatten = {
    .base.size = sizeof(tn_pass),
    .base.name = "FlattenBuffer",
    .base.doc = "Turns buffers of any rank into one-dimensional ones.",
    .keeps = TN_KEEPS_SIGNATURES,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
