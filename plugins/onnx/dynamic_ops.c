/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs for operators whose bounds are terms: slices, paddings, repetition. */
#include "dynamic.h"

#include "tenon/kit/te.h"

/* The program's call as a value; the error node after an error. */
static const tn_expr *
finish(onnx_node *n, tnk_te *te, const char *hint, const tn_expr *const *inputs, uint32_t count,
       const tn_node *out)
{
    if (n->failed || !out || tn_is_error(out))
        return tn_error_node(n->ctx);
    return onnx_emit_call(n, tnk_te_call(te, n->imp->b, hint, inputs, count, &out, 1));
}

const tn_expr *
onnx_slice_at(onnx_node *n, const tn_expr *x, const tn_expr *const *begin,
              const tn_expr *const *length, const tn_expr *const *step)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *dims[ONNX_MAX_DIMS], *idx[ONNX_MAX_DIMS];
    tn_list have;
    if (n->failed || !onnx_dims(n, x, &have) || have.n > ONNX_MAX_DIMS)
        return tn_error_node(ctx);
    for (uint32_t i = 0; i < have.n; i++)
        dims[i] = length[i] ? length[i] : have.at[i];
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "x", x->type);
    tnk_stage *s = tnk_te_stage(te, "slice", dims, have.n, onnx_dtype(x));
    for (uint32_t i = 0; i < have.n; i++) {
        idx[i] = s->axes[i];
        if (length[i])
            idx[i] = tn_add(ctx, tnk_te_expr(te, begin[i]),
                            tn_mul(ctx, idx[i], tnk_te_expr(te, step[i])));
    }
    return finish(n, te, "slice_at", &x, 1, tnk_te_define(s, tnk_te_read_at(te, in, idx, have.n)));
}

const tn_expr *
onnx_slice_inside(onnx_node *n, const tn_expr *x, int64_t axis, const tn_expr *begin,
                  const tn_expr *end, int64_t step)
{
    tn_ctx *ctx = n->ctx;
    if (n->failed || tn_is_error(x))
        return tn_error_node(ctx);
    return onnx_emit(n, "strided_slice", tn_dictv(ctx, "assume_inbound", tn_bool(ctx, true), NULL),
                     x, tn_tuple_of(ctx, tn_listv(ctx, tn_i64(ctx, axis), NULL)),
                     tn_tuple_of(ctx, tn_listv(ctx, begin, NULL)),
                     tn_tuple_of(ctx, tn_listv(ctx, end, NULL)),
                     tn_tuple_of(ctx, tn_listv(ctx, tn_i64(ctx, step), NULL)), NULL);
}

/* No sum of an extent and two such amounts leaves int64. */
enum { MOST_PADDING_BITS = 60 };

static const tn_expr *
is_sensible(tn_ctx *ctx, const tn_expr *amount)
{
    const tn_expr *most = tn_i64(ctx, INT64_C(1) << MOST_PADDING_BITS);
    return tn_and(ctx, tn_le(ctx, amount, most),
                  tn_ge(ctx, amount, tn_sub(ctx, tn_i64(ctx, 0), most)));
}

/* The place in an axis of n entries that a padded place i (from -before on) repeats. */
static const tn_expr *
repeated_place(tn_ctx *ctx, const char *mode, const tn_expr *i, const tn_expr *n)
{
    const tn_expr *zero = tn_i64(ctx, 0), *one = tn_i64(ctx, 1), *last = tn_sub(ctx, n, one);
    if (mode[0] == 'e')
        return tn_max(ctx, zero, tn_min(ctx, i, last));
    if (mode[0] == 'w')
        return tn_floormod(ctx, i, tn_max(ctx, n, one));
    /* reflect: there and back again in 2 * (n - 1) steps; one entry repeats itself */
    const tn_expr *period = tn_max(ctx, tn_mul(ctx, last, tn_i64(ctx, 2)), one),
                  *at = tn_floormod(ctx, i, period);
    return tn_min(ctx, at, tn_max(ctx, tn_sub(ctx, period, at), zero));
}

/* What is left of n entries where negative amounts are cut. */
static const tn_expr *
left_of(tn_ctx *ctx, const tn_expr *n, const tn_expr *before, const tn_expr *after)
{
    const tn_expr *zero = tn_i64(ctx, 0);
    return tn_add(ctx, n, tn_add(ctx, tn_min(ctx, before, zero), tn_min(ctx, after, zero)));
}

/* The padded extents and amounts of all axes, checked where run time decides. */
static bool
bind_padding(onnx_node *n, tn_list have, const tn_expr *const *before, const tn_expr *const *after,
             const char *mode, const tn_expr **dims, const tn_expr **from, const tn_expr **upto)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *shown[ONNX_MAX_DIMS * 3], *ok = NULL, *zero = tn_i64(ctx, 0);
    uint32_t n_shown = 0;
    const char *text = "";
    for (uint32_t i = 0; i < have.n; i++) {
        dims[i] = onnx_simplify(n, tn_add(ctx, tn_add(ctx, have.at[i], before[i]), after[i]));
        if (tn_is_int_const(before[i], 0) && tn_is_int_const(after[i], 0))
            continue;
        text = tn_strf(ctx, "%s%saxis %u of {%u} entries cannot be padded by {%u} and {%u}", text,
                       n_shown ? ", " : "", i, n_shown + 1, n_shown + 2, n_shown + 3);
        shown[n_shown++] = have.at[i];
        shown[n_shown++] = before[i];
        shown[n_shown++] = after[i];
        if (!tn_is(before[i], TN_KIND_INT_IMM) || !tn_is(after[i], TN_KIND_INT_IMM))
            ok = tn_and(ctx, ok,
                        tn_and(ctx, is_sensible(ctx, before[i]), is_sensible(ctx, after[i])));
        if (strcmp(mode, "constant") != 0) /* there must be something to repeat */
            ok = tn_and(ctx, ok,
                        tn_or(ctx, tn_gt(ctx, left_of(ctx, have.at[i], before[i], after[i]), zero),
                              tn_le(ctx, dims[i], zero)));
    }
    if (!onnx_bind(n, dims, have.n, &(onnx_demand){ok, shown, n_shown, text}))
        return false;
    for (uint32_t i = 0; i < have.n; i++) {
        from[i] = onnx_bind_signed(n, before[i]);
        upto[i] = onnx_bind_signed(n, after[i]);
    }
    return !n->failed;
}

const tn_expr *
onnx_pad_at(onnx_node *n, const tn_expr *x, const tn_expr *const *before,
            const tn_expr *const *after, const char *mode, const tn_expr *value)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *dims[ONNX_MAX_DIMS], *from[ONNX_MAX_DIMS], *upto[ONNX_MAX_DIMS],
        *idx[ONNX_MAX_DIMS], *inside = NULL, *inputs[2] = {x, value}, *zero = tn_i64(ctx, 0);
    tn_list have;
    if (n->failed || !onnx_dims(n, x, &have) || have.n > ONNX_MAX_DIMS ||
        !bind_padding(n, have, before, after, mode, dims, from, upto))
        return tn_error_node(ctx);
    bool constant = strcmp(mode, "constant") == 0;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "x", x->type),
                  *fill = constant && value ? tnk_te_input(te, "value", value->type) : NULL;
    tnk_stage *s = tnk_te_stage(te, "pad", dims, have.n, onnx_dtype(x));
    for (uint32_t i = 0; i < have.n; i++) {
        const tn_expr *extent = tnk_te_expr(te, have.at[i]);
        idx[i] = s->axes[i];
        if (tn_is_int_const(before[i], 0) && tn_is_int_const(after[i], 0))
            continue;
        idx[i] = tn_sub(ctx, idx[i], tnk_te_expr(te, from[i]));
        if (!constant) { /* what is cut is not repeated */
            const tn_expr *lead = tnk_te_expr(te, from[i]), *end = tnk_te_expr(te, upto[i]),
                          *cut = tn_max(ctx, tn_sub(ctx, zero, lead), zero),
                          *left = left_of(ctx, extent, lead, end);
            idx[i] = tn_add(ctx, cut, repeated_place(ctx, mode, tn_sub(ctx, idx[i], cut), left));
        } else
            inside =
                tn_and(ctx, inside,
                       tn_and(ctx, tn_ge(ctx, idx[i], tn_i64(ctx, 0)), tn_lt(ctx, idx[i], extent)));
    }
    const tn_expr *v = tnk_te_read_at(te, in, idx, have.n);
    if (inside)
        v = tn_if_then_else(ctx, inside, v,
                            fill ? tnk_te_read_at(te, fill, NULL, 0)
                                 : tn_literal(ctx, onnx_dtype(x), 0));
    return finish(n, te, "pad_at", inputs, fill ? 2 : 1, tnk_te_define(s, v));
}

const tn_expr *
onnx_expand_at(onnx_node *n, const tn_expr *x, const tn_expr *const *dims)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *idx[ONNX_MAX_DIMS];
    tn_list have;
    if (n->failed || !onnx_dims(n, x, &have) || have.n > ONNX_MAX_DIMS)
        return tn_error_node(ctx);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "x", x->type);
    tnk_stage *s = tnk_te_stage(te, "expand", dims, have.n, onnx_dtype(x));
    for (uint32_t i = 0; i < have.n; i++) {
        const tn_expr *last = tn_sub(ctx, tnk_te_expr(te, have.at[i]), tn_i64(ctx, 1));
        idx[i] = tn_is_int_const(have.at[i], 1)             ? tn_i64(ctx, 0)
                 : tn_prove_equal(ctx, have.at[i], dims[i]) ? s->axes[i]
                                                            : tn_min(ctx, s->axes[i], last);
    }
    return finish(n, te, "expand_at", &x, 1, tnk_te_define(s, tnk_te_read_at(te, in, idx, have.n)));
}
