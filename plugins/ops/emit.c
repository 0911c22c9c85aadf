/* SPDX-License-Identifier: Apache-2.0 */
/* What legalizations share. */
#include "emit.h"

emit
emit_begin(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    return (emit){.ctx = ctx, .b = b, .call = call, .te = tnk_te_new(ctx)};
}

const tn_node *
emit_input(emit *e, const tn_expr *tensor)
{
    char name[2] = {(char)('A' + e->args.n % 26), 0};
    TNB_PUSH(tn_scratch(e->ctx), e->args, tensor);
    return tnk_te_input(e->te, tn_str(e->ctx, name), tensor->type);
}

const tn_expr *
emit_scalar(emit *e, const tn_expr *value, tnb_dtype d)
{
    tnb_dtype own = tn_dtype_of(value);
    bool shape_value = tnb_dtype_eq(own, TNB_I64);
    if (tn_is(value, TN_KIND_INT_IMM) || tn_is(value, TN_KIND_FLOAT_IMM) || shape_value)
        return tn_cast_to(e->ctx, d, tnk_te_expr(e->te, value));
    TNB_PUSH(tn_scratch(e->ctx), e->scalars, value);
    return tn_cast_to(e->ctx, d, tnk_te_scalar(e->te, "p", own));
}

const char *
emit_hint(const tn_call *call)
{
    const char *name = infer_op_name(call), *group = strrchr(name, '.');
    return group ? group + 1 : name;
}

const tn_expr *
emit_end_n(emit *e, const char *hint, const tn_node *const *outs, uint32_t n)
{
    for (uint32_t i = 0; i < e->scalars.n; i++)
        TNB_PUSH(tn_scratch(e->ctx), e->args, e->scalars.at[i]);
    return tnk_te_call(e->te, e->b, hint, e->args.at, e->args.n, outs, n);
}

const tn_expr *
emit_end(emit *e, const char *hint, const tn_node *out)
{
    return emit_end_n(e, hint, &out, 1);
}

bool
emit_read_extents(tn_builder *b, const tn_expr *counts, const tn_expr **vars, uint32_t n)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    if (tn_is_error(counts))
        return false;
    counts = tn_emit(b, counts, "gv");
    const tn_expr *shape =
        tn_emit(b, tn_call_opv(ctx, "tensor_to_shape", NULL, counts, NULL), "gv");
    for (uint32_t i = 0; i < n; i++)
        vars[i] = tn_var_dtype(ctx, tn_strf(ctx, "s%u", i), TNB_I64);
    const tn_expr *named =
        tn_emit_match_cast(b, shape, tn_ty_shape_of(ctx, tn_list_of(ctx, vars, n)), "gv");
    return !tn_is_error(named);
}

const tn_expr *
emit_constant(tn_ctx *ctx, const tn_expr *e, tnb_dtype d)
{
    const tn_constant *c = tn_as_constant(e);
    double f;
    int64_t i;
    bool splat = c && c->data->kind == TN_DATA_SPLAT;
    if (!c || c->data->n_elems == 0 || (c->data->n_elems > 1 && !splat) ||
        c->data->kind == TN_DATA_DEFERRED)
        return NULL;
    const void *bytes = splat ? c->data->splat : tn_data_get(ctx, c->data);
    if (!bytes)
        return NULL;
    tnb_dtype own = c->data->dtype;
    if (tnb_dtype_is_float(own))
        return tnb_load_f64(bytes, own, 0, &f) ? tn_cast_to(ctx, d, tn_float_imm_of(ctx, own, f))
                                               : NULL;
    return tnb_load_i64(bytes, own, 0, &i) ? tn_cast_to(ctx, d, tn_int_imm_of(ctx, own, i)) : NULL;
}

tnk_stage *
emit_stage_of(emit *e, const char *name, const tn_type *type, tnb_dtype d)
{
    tn_list dims = {0};
    tn_type_dims(type, &dims);
    return tnk_te_stage(e->te, name, dims.at, dims.n, d);
}

tnk_stage *
emit_stage(emit *e, const char *name)
{
    const tn_type *t = e->call->base.type;
    return emit_stage_of(e, name, t, tn_type_dtype(t));
}

const tn_expr *
emit_dim(const tn_node *buffer, uint32_t i)
{
    return tn_as_buffer(buffer)->shape.at[i];
}

uint32_t
emit_ndim(const tn_node *buffer)
{
    return tn_as_buffer(buffer)->shape.n;
}

tnb_dtype
emit_dtype(const tn_node *buffer)
{
    return tn_as_buffer(buffer)->dtype;
}

tn_list
emit_dims(const tn_expr *tensor)
{
    tn_list dims = {0};
    tn_type_dims(tensor->type, &dims);
    return dims;
}

const tn_expr *
emit_stretched(emit *e, const tn_expr *own, const tn_expr *extent, const tn_expr *idx)
{
    tn_ctx *ctx = e->ctx;
    if (tn_is_int_const(own, 1))
        return tn_is_int_const(extent, 1) ? idx : tn_i64(ctx, 0);
    if (tn_is(own, TN_KIND_INT_IMM) || dim_equal(ctx, own, tnk_te_expr(e->te, extent)))
        return idx;
    return tn_min(ctx, idx,
                  tn_subi(ctx, own, 1)); /* 0 where the extent is 1, else the same place */
}

const tn_expr *
emit_broadcast_at(emit *e, const tn_node *buffer, const tn_expr *const *idx,
                  const tn_expr *const *extents, uint32_t n)
{
    tn_ctx *ctx = e->ctx;
    uint32_t rank = emit_ndim(buffer);
    const tn_expr **at = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, rank);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t k = n - rank + i;
        at[i] = emit_stretched(e, emit_dim(buffer, i), extents[k], idx[k]);
    }
    return tnk_te_read_at(e->te, buffer, at, rank);
}

const tn_expr *
emit_broadcast(emit *e, const tn_node *buffer, const tnk_stage *s)
{
    tn_list dims = {0};
    tn_type_dims(e->call->base.type, &dims);
    return emit_broadcast_at(e, buffer, s->axes, dims.at, s->n_axes);
}

tnb_dtype
emit_wide(tnb_dtype d)
{
    return tnb_dtype_is_float(d) && d.bits < 32 ? TNB_F32 : d;
}

const tn_expr *
emit_index(tn_ctx *ctx, const tn_expr *i, const tn_expr *wrap)
{
    i = tn_cast_to(ctx, TNB_I64, i);
    return wrap ? tn_select_of(ctx, tn_lt_of(ctx, i, tn_i64(ctx, 0)), tn_add(ctx, i, wrap), i) : i;
}

const char *
emit_axis(tn_ctx *ctx, int64_t axis)
{
    return tn_strf(ctx, "axis %lld", (long long)axis);
}

typedef enum indices { UNKNOWN, GOOD, BAD } indices;

/* Looks at the values of a constant; *bad: the first one that is out of range. */
static indices
constant_indices(emit *e, const tn_expr *arg, uint32_t column, uint32_t width, int64_t extent,
                 bool wraps, int64_t *bad)
{
    const tn_constant *c = tn_as_constant(arg);
    if (!c && tn_is_var(arg))
        c = tn_as_constant(tn_builder_find_value(e->b, arg));
    if (!c || c->data->kind == TN_DATA_DEFERRED)
        return UNKNOWN;
    const tn_data *d = c->data;
    bool splat = d->kind == TN_DATA_SPLAT;
    const void *bytes = splat ? d->splat : tn_data_get(e->ctx, d);
    for (uint64_t k = column; bytes && k < d->n_elems; k += splat ? d->n_elems : width) {
        if (!tnb_load_i64(bytes, d->dtype, splat ? 0 : k, bad))
            return UNKNOWN;
        bool high = d->dtype.code == TNB_UINT && *bad < 0; /* beyond int64 */
        if (*bad >= extent || *bad < (wraps ? -extent : 0) || high)
            return BAD;
    }
    return bytes ? GOOD : UNKNOWN;
}

const tn_expr *
emit_data_index_of(emit *e, const tn_expr *arg, uint32_t column, uint32_t width, const tn_expr *i,
                   const tn_expr *extent, bool wraps, const char *what)
{
    tn_ctx *ctx = e->ctx;
    tnb_dtype d = tn_is_scalar(arg) ? tn_dtype_of(arg) : tn_type_dtype(arg->type);
    int64_t n, bad;
    indices known = UNKNOWN;
    wraps &= d.code != TNB_UINT;
    if (tn_int_value(extent, &n)) {
        if (tn_is_scalar(arg) && tn_int_value(arg, &bad))
            known = bad < n && bad >= (wraps ? -n : 0) ? GOOD : BAD;
        else if (!tn_is_scalar(arg))
            known = constant_indices(e, arg, column, width, n, wraps, &bad);
    }
    if (known == GOOD)
        return emit_index(ctx, i, wraps ? extent : NULL);
    if (known == BAD)
        return tn_error(ctx, 0, TNB_BOUNDS, "%s: index %lld is out of range, %s has %lld elements",
                        infer_op_name(e->call), (long long)bad, what, (long long)n);
    return tnk_te_index(ctx, i, extent, wraps, infer_op_name(e->call), what);
}

const tn_expr *
emit_data_index(emit *e, const tn_expr *arg, const tn_expr *i, const tn_expr *extent, bool wraps,
                const char *what)
{
    return emit_data_index_of(e, arg, 0, 1, i, extent, wraps, what);
}

const tn_expr *
emit_divisor(tn_ctx *ctx, const tn_expr *extent)
{
    return tn_is_int_const(extent, 0) ? tn_int_imm_of(ctx, tn_dtype_of(extent), 1) : extent;
}

const tn_expr *
emit_floordiv(tn_ctx *ctx, const tn_expr *pos, const tn_expr *extent)
{
    return tn_floordiv(ctx, pos, emit_divisor(ctx, extent));
}

const tn_expr *
emit_floormod(tn_ctx *ctx, const tn_expr *pos, const tn_expr *extent)
{
    return tn_floormod(ctx, pos, emit_divisor(ctx, extent));
}

const tn_expr *
emit_softplus(tn_ctx *ctx, const tn_expr *z, tnb_dtype d)
{
    const tn_expr *zero = tn_literal(ctx, d, 0), *one = tn_literal(ctx, d, 1);
    const tn_expr *below = tn_sub(ctx, zero, tn_intrin1(ctx, TN_INTRIN_fabs, z)); /* -|z| */
    const tn_expr *sum = tn_add(ctx, one, tn_intrin1(ctx, TN_INTRIN_exp, below));
    return tn_add(ctx, tn_max(ctx, z, zero), tn_intrin1(ctx, TN_INTRIN_log, sum));
}

const tn_expr *
emit_cubic_near(tn_ctx *ctx, double alpha, const tn_expr *x)
{
    /* ((alpha + 2) x - (alpha + 3)) x x + 1 */
    tnb_dtype d = tn_dtype_of(x);
    const tn_expr *v = tn_mul(ctx, tn_literal(ctx, d, alpha + 2), x);
    v = tn_mul(ctx, tn_sub(ctx, v, tn_literal(ctx, d, alpha + 3)), x);
    return tn_add(ctx, tn_mul(ctx, v, x), tn_literal(ctx, d, 1));
}

const tn_expr *
emit_cubic_far(tn_ctx *ctx, double alpha, const tn_expr *x)
{
    /* (((x - 5) x + 8) x - 4) alpha */
    tnb_dtype d = tn_dtype_of(x);
    const tn_expr *v = tn_mul(ctx, tn_sub(ctx, x, tn_literal(ctx, d, 5)), x);
    v = tn_mul(ctx, tn_add(ctx, v, tn_literal(ctx, d, 8)), x);
    return tn_mul(ctx, tn_literal(ctx, d, alpha), tn_sub(ctx, v, tn_literal(ctx, d, 4)));
}

const tn_expr *
emit_inside(tn_ctx *ctx, const tn_expr *i, const tn_expr *extent)
{
    return tn_and_of(ctx, tn_ge_of(ctx, i, tn_i64(ctx, 0)), tn_lt_of(ctx, i, extent));
}

const tn_expr *
emit_flatten(tn_ctx *ctx, const tn_expr *const *idx, const tn_expr *const *extents, uint32_t n)
{
    const tn_expr *pos = tn_i64(ctx, 0);
    for (uint32_t i = 0; i < n; i++)
        pos = tn_add(ctx, tn_mul(ctx, pos, extents[i]), idx[i]);
    return pos;
}

void
emit_unflatten(tn_ctx *ctx, const tn_expr *pos, const tn_expr *const *extents, uint32_t n,
               const tn_expr **idx)
{
    for (uint32_t i = n; i-- > 0;) {
        idx[i] = i ? emit_floormod(ctx, pos, extents[i]) : pos;
        if (i)
            pos = emit_floordiv(ctx, pos, extents[i]);
    }
}

void
emit_simplify(const tnk_stage *s, const tn_expr *const *extents, const tn_expr **idx, uint32_t n)
{
    tn_ctx *ctx = tnk_te_ctx(s->te);
    tn_arith *a = tn_arith_new(ctx);
    for (uint32_t i = 0; i < s->n_axes; i++)
        tn_arith_range(a, s->axes[i], tn_i64(ctx, 0), tnk_te_expr(s->te, extents[i]));
    for (uint32_t i = 0; i < n; i++)
        idx[i] = tn_simplify(a, idx[i]);
}

void
emit_loop_vars(tn_ctx *ctx, const tn_expr **vars, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        vars[i] = tn_var_dtype(ctx, tn_strf(ctx, "i%u", i), TNB_I64);
}

const tn_stmt *
emit_loops(tn_ctx *ctx, const tn_expr *const *vars, const tn_expr *const *extents, uint32_t n,
           const tn_stmt *body)
{
    for (uint32_t i = n; i-- > 0;)
        body = tn_for_of(ctx, vars[i], tn_i64(ctx, 0), extents[i], TN_FOR_SERIAL, NULL, NULL, body);
    return body;
}
