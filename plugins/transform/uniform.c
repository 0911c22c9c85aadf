/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs whose result is one value, repeated: copies, casts and arithmetic of constants
 * that are themselves one value repeated (what an importer makes of ConstantOfShape, Fill, Zeros).
 *
 *     B[j, i] = T.Cast("float32", A[i, j])       A: 512 MB of float16 ones
 *     B is a splat of float32 1                  nothing of its size is ever in memory
 *
 * A program is taken if every buffer is stored to at one place, and what is stored names variables
 * in indices of loads only. The one value is computed by the evaluator, as the program would.
 */
#include "uniform.h"

#include "tenon/core/op.h"
#include "tenon/core/walk.h"

typedef struct uniform {
    tn_ctx *ctx;
    tnb_ptrmap value; /* Buffer -> the expression that every element is */
    bool fits;
} uniform;

/* The one element of a constant as a literal; NULL if elements differ or are not known yet. */
static const tn_expr *
element_of(tn_ctx *ctx, const tn_data *d)
{
    const void *at = d->kind == TN_DATA_SPLAT ? d->splat : d->n_elems == 1 ? d->bytes : NULL;
    double f;
    int64_t i;
    if (!at || d->dtype.lanes != 1)
        return NULL;
    if (tnb_dtype_is_float(d->dtype))
        return tnb_load_f64(at, d->dtype, 0, &f) ? tn_float_imm_of(ctx, d->dtype, f) : NULL;
    return tnb_load_i64(at, d->dtype, 0, &i) ? tn_int_imm_of(ctx, d->dtype, i) : NULL;
}

static const tn_node *
replace_load(tn_rewriter *r, const tn_node *n)
{
    uniform *u = r->user;
    const tn_call *c = tn_as_call(n);
    if (c) {
        const tn_op *op = tn_call_op_of(c);
        u->fits &=
            op && (op->flags & TN_OP_SCALAR) && !(op->flags & (TN_OP_IMPURE | TN_OP_READS_MEMORY));
    }
    if (tn_is_var(n))
        u->fits = false;
    if (!tn_is(n, TN_KIND_BUFFER_LOAD))
        return u->fits ? NULL : n;
    const tn_expr *v = tnb_ptrmap_get(&u->value, ((const tn_buffer_load *)n)->buffer);
    u->fits &= v != NULL;
    return v ? v : n;
}

static void
visit(uniform *u, const tn_stmt *s)
{
    switch ((int)s->kind) {
    case TN_KIND_SEQ: {
        tn_list l = ((const tn_seq *)s)->stmts;
        for (uint32_t i = 0; i < l.n && u->fits; i++)
            visit(u, l.at[i]);
        return;
    }
    case TN_KIND_FOR:
        visit(u, ((const tn_for_loop *)s)->body);
        return;
    case TN_KIND_BLOCK_REALIZE: {
        const tn_block_realize *br = (const tn_block_realize *)s;
        const tn_block *b = tn_as_block(br->block);
        u->fits &= tn_is_int_const(br->predicate, 1) && !b->init && !b->match_buffers.n;
        for (uint32_t i = 0; i < b->iters.n; i++)
            u->fits &= ((const tn_iter_var *)b->iters.at[i])->iter_kind == TN_ITER_SPATIAL;
        if (u->fits)
            visit(u, b->body);
        return;
    }
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *st = (const tn_buffer_store *)s;
        tn_rewriter r = {.ctx = u->ctx, .user = u, .pre = replace_load};
        u->fits &= !tnb_ptrmap_has(&u->value, st->buffer);
        const tn_expr *v = u->fits ? tn_rewrite(&r, st->value) : NULL;
        if (u->fits)
            tnb_ptrmap_set(&u->value, st->buffer, v);
        return;
    }
    default:
        u->fits = false;
    }
}

/* The bytes of the value, by a program that stores just it. */
static bool
compute(tn_ctx *ctx, const tn_expr *value, tnb_dtype dtype, uint8_t elem[16])
{
    const tn_node *buffer = tn_buffer_new(ctx, "value", (tn_list){0}, dtype, NULL);
    const tn_expr *param = tn_var_dtype(ctx, "p_value", (tnb_dtype){TNB_HANDLE, 64, 1});
    const tn_node *program =
        tn_prim_func_of(ctx, tn_listv(ctx, param, NULL), tn_listv(ctx, buffer, NULL),
                        tn_buffer_store_of(ctx, buffer, value, (tn_list){0}), NULL, NULL);
    const tn_data *d =
        tn_is_error(program) ? NULL : tn_data_deferred(ctx, dtype, 0, NULL, program, NULL, 0, 0);
    const void *bytes = d ? tn_data_get(ctx, d) : NULL;
    if (bytes) {
        memcpy(elem, bytes, tnb_dtype_bytes(dtype));
        tn_data_release(ctx, d);
    }
    return bytes != NULL;
}

const tn_data *
transform_uniform_result(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape,
                         const tn_node *program, const tn_data *const *inputs, uint32_t n_inputs,
                         uint32_t result)
{
    const tn_prim_func *f = tn_as_prim_func(program);
    uniform u = {.ctx = ctx, .fits = f && f->buffers.n > n_inputs + result && dtype.lanes == 1};
    u.fits &= tnb_dtype_bytes(dtype) <= 16 && (dtype.bits % 8 == 0 || tnb_dtype_is_bool(dtype));
    tnb_ptrmap_init(&u.value, tn_scratch(ctx));
    for (uint32_t i = 0; u.fits && i < n_inputs; i++) {
        const tn_expr *e = element_of(ctx, inputs[i]);
        u.fits = e && f->buffers.at[i];
        if (u.fits)
            tnb_ptrmap_set(&u.value, f->buffers.at[i], e);
    }
    if (u.fits)
        visit(&u, f->body);
    const tn_expr *v = u.fits ? tnb_ptrmap_get(&u.value, f->buffers.at[n_inputs + result]) : NULL;
    uint8_t elem[16];
    if (!v || !tnb_dtype_eq(tn_dtype_of(v), dtype) || !compute(ctx, v, dtype, elem))
        return NULL;
    return tn_data_splat(ctx, dtype, ndim, shape, elem);
}
