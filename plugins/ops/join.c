/* SPDX-License-Identifier: Apache-2.0 */
/* Joining and cutting: concat, stack, split. */
#include "emit.h"

/* The fields' common rank and dtype; -1 ranks and void dtypes are those of unknown fields. False
 * after an error. */
static bool
common_kind(tn_ctx *ctx, const tn_call *call, tn_list fields, int64_t *ndim, tnb_dtype *d)
{
    if (fields.n == 0) {
        infer_fail(ctx, call, TNB_INVALID, "at least one tensor is needed");
        return false;
    }
    *ndim = -1;
    *d = TNB_VOID;
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_ty_tensor *t = tn_as_ty_tensor(fields.at[i]);
        if (t->ndim >= 0 && *ndim >= 0 && t->ndim != *ndim) {
            infer_fail(ctx, call, TNB_SHAPE, "tensor 0 has %lld axes, tensor %u has %lld",
                       (long long)*ndim, i, (long long)t->ndim);
            return false;
        }
        if (!tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_void(*d) && !tnb_dtype_eq(t->dtype, *d)) {
            infer_fail(ctx, call, TNB_TYPE, "tensors have element types %s and %s",
                       tnb_dtype_print(*d).s, tnb_dtype_print(t->dtype).s);
            return false;
        }
        if (t->ndim >= 0)
            *ndim = t->ndim;
        if (!tnb_dtype_is_void(t->dtype))
            *d = t->dtype;
    }
    return true;
}

/* All extents but that of `except` agree; false after an error. `first`: the extents of the first
 * known field, more precise ones put in. */
static bool
merge_extents(tn_ctx *ctx, const tn_call *call, tn_list fields, int64_t except, bool *all_known,
              tn_list *merged)
{
    tn_list dims;
    bool some = false;
    *all_known = true;
    for (uint32_t i = 0; i < fields.n; i++) {
        if (!tn_type_dims(fields.at[i], &dims)) {
            *all_known = false;
            continue;
        }
        if (!some)
            *merged = dims;
        for (uint32_t k = 0; some && k < dims.n; k++) {
            if ((int64_t)k != except &&
                dim_differ(ctx, merged->at[k], dims.at[k],
                           "tensors 0 and %u differ along axis %u: {} and {}", i, k)) {
                infer_fail(ctx, call, TNB_SHAPE, "tensors differ along axis %u: %s and %s", k,
                           tn_text(ctx, tn_shape_expr_of(ctx, *merged)),
                           tn_text(ctx, tn_shape_expr_of(ctx, dims)));
                return false;
            }
            if (tn_is(dims.at[k], TN_KIND_INT_IMM) && !tn_is(merged->at[k], TN_KIND_INT_IMM) &&
                (int64_t)k != except)
                *merged = tn_list_with(ctx, *merged, k, dims.at[k]);
        }
        some = true;
    }
    return true;
}

const tn_type *
infer_concat(tn_ctx *ctx, const tn_call *call)
{
    tn_list fields, dims, merged = {0};
    tnb_dtype d;
    int64_t ndim, axis = 0;
    bool known, flat = !tn_call_attr(call, "axis");
    if (!infer_tensors(ctx, call, 0, &fields))
        return tn_error_node(ctx);
    if (flat) {
        const tn_expr *total = tn_i64(ctx, 0);
        d = TNB_VOID;
        for (uint32_t i = 0; i < fields.n; i++) {
            const tn_ty_tensor *t = tn_as_ty_tensor(fields.at[i]);
            total = total && tn_type_dims(fields.at[i], &dims)
                        ? dim_add(ctx, total, tn_product(ctx, dims))
                        : NULL;
            if (i && !infer_same_dtype(ctx, call, d, t->dtype, &d))
                return tn_error_node(ctx);
            d = i ? d : t->dtype;
        }
        return total ? infer_known(ctx, call, tn_listv(ctx, total, NULL), d)
                     : infer_rank(ctx, call, 1, d);
    }
    if (!common_kind(ctx, call, fields, &ndim, &d))
        return tn_error_node(ctx);
    if (ndim < 0)
        return infer_rank(ctx, call, -1, d);
    if (!infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), ndim, &axis) ||
        !merge_extents(ctx, call, fields, axis, &known, &merged))
        return tn_error_node(ctx);
    if (!known)
        return infer_rank(ctx, call, ndim, d);
    /* written as upstream writes it, without simplifying */
    const tn_expr *total = tn_i64(ctx, 0), *first = NULL;
    bool same = true;
    for (uint32_t i = 0; i < fields.n; i++) {
        tn_type_dims(fields.at[i], &dims);
        first = first ? first : dims.at[axis];
        same &= tn_equal(ctx, first, dims.at[axis], false, NULL);
        total = tn_add(ctx, total, dims.at[axis]);
    }
    if (same)
        total = tn_mul(ctx, first, tn_i64(ctx, fields.n));
    return infer_known(ctx, call, tn_list_with(ctx, merged, (uint32_t)axis, total), d);
}

const tn_type *
infer_stack(tn_ctx *ctx, const tn_call *call)
{
    tn_list fields, merged = {0};
    tnb_dtype d;
    int64_t ndim, axis;
    bool known;
    const tn_node *out[INFER_MAX_DIMS + 1];
    if (!infer_tensors(ctx, call, 0, &fields) || !common_kind(ctx, call, fields, &ndim, &d))
        return tn_error_node(ctx);
    if (ndim < 0)
        return infer_rank(ctx, call, -1, d);
    if (ndim >= INFER_MAX_DIMS)
        return infer_fail(ctx, call, TNB_UNSUPPORTED, "more than %d axes", INFER_MAX_DIMS);
    int64_t wanted = tn_call_attr(call, "axis") ? tn_call_int(call, "axis") : 0;
    if (!infer_axis(ctx, call, "axis", wanted, ndim + 1, &axis) ||
        !merge_extents(ctx, call, fields, -1, &known, &merged))
        return tn_error_node(ctx);
    if (!known)
        return infer_rank(ctx, call, ndim + 1, d);
    for (int64_t i = 0, k = 0; i <= ndim; i++)
        out[i] = i == axis ? tn_i64(ctx, fields.n) : merged.at[k++];
    return infer_known(ctx, call, tn_list_of(ctx, out, (uint32_t)ndim + 1), d);
}

/* Where the parts begin: n + 1 expressions. The number of parts, -1 after an error, 0 when extents
 * are unknown. */
static int
cut_points(tn_ctx *ctx, const tn_call *call, const tn_expr *extent, const tn_expr ***points)
{
    const tn_node *spec = tn_call_attr(call, "indices_or_sections");
    const tn_array *list = tn_as_array(spec);
    int64_t n;
    if (tn_int_value(spec, &n)) {
        if (n < 1 || n > 1 << 16) {
            infer_fail(ctx, call, TNB_INVALID,
                       "attribute 'indices_or_sections' is %lld, expected at least 1",
                       (long long)n);
            return -1;
        }
        const tn_expr **p = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, (size_t)n + 1);
        const tn_expr *part = dim_ceildiv(ctx, extent, n);
        for (int64_t i = 0; i < n; i++) {
            p[i] = dim_muli(ctx, part, i);
            if (tn_is(extent, TN_KIND_INT_IMM))
                p[i] = tn_min(ctx, p[i], extent);
        }
        p[n] = extent;
        *points = p;
        return (int)n;
    }
    if (!list) {
        infer_fail(ctx, call, TNB_TYPE,
                   "attribute 'indices_or_sections' must be an integer or a list of integers");
        return -1;
    }
    const tn_expr **p = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, (size_t)list->items.n + 2);
    p[0] = tn_i64(ctx, 0);
    int64_t all;
    for (uint32_t i = 0; i < list->items.n; i++) {
        int64_t v;
        if (!tn_int_value(list->items.at[i], &v)) {
            infer_fail(ctx, call, TNB_TYPE, "attribute 'indices_or_sections' must hold integers");
            return -1;
        }
        v = v < 0 ? 0 : v; /* outside of the dimension means its nearest end */
        if (tn_int_value(extent, &all) && v > all)
            v = all;
        p[i + 1] = tn_i64(ctx, v);
        dim_exceeds(ctx, p[i + 1], extent, "a cut at {} of an axis of {}");
    }
    p[list->items.n + 1] = extent;
    *points = p;
    return (int)list->items.n + 1;
}

const tn_type *
infer_split(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    int64_t axis;
    const tn_expr **points;
    if (!t)
        return tn_error_node(ctx);
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    bool known = tn_type_dims(TN_NODE(t), &dims);
    int n = cut_points(ctx, call, known ? dims.at[axis] : tn_i64(ctx, 0), &points);
    if (n < 0)
        return tn_error_node(ctx);
    const tn_type **types = TNB_NEW_N(tn_scratch(ctx), const tn_type *, (size_t)n);
    for (int i = 0; i < n; i++) {
        if (!known) {
            types[i] = infer_rank(ctx, call, t->ndim, t->dtype);
            continue;
        }
        const tn_expr *extent = dim_sub(ctx, points[i + 1], points[i]);
        int64_t v;
        if (tn_int_value(extent, &v) && v < 0) /* points need not ascend */
            extent = tn_i64(ctx, 0);
        types[i] =
            infer_known(ctx, call, tn_list_with(ctx, dims, (uint32_t)axis, extent), t->dtype);
    }
    return tn_ty_tuple_of(ctx, tn_list_of(ctx, types, (uint32_t)n));
}

/* ---- legalization ---- */

/* The tensors of a tuple argument: its fields, those of the tuple its variable is bound to, or new
 * tuple-gets. */
static tn_list
tuple_fields(tn_builder *b, const tn_expr *e)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_tuple *t = tn_as_tuple(e);
    if (!t && tn_is_var(e))
        t = tn_as_tuple(tn_builder_find_value(b, e));
    if (t)
        return t->fields;
    uint32_t n = tn_as_ty_tuple(e->type)->fields.n;
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
    for (uint32_t i = 0; i < n; i++)
        at[i] = tn_emit(b, tn_tuple_item(ctx, e, i), "lv");
    return tn_list_of(ctx, at, n);
}

const tn_expr *
legalize_concat(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list fields = tuple_fields(b, call->args.at[0]);
    if (!tn_call_attr(call, "axis")) {
        const tn_node **flat = TNB_NEW_N(tn_scratch(ctx), const tn_node *, fields.n);
        for (uint32_t i = 0; i < fields.n; i++)
            flat[i] = tn_call_opv(ctx, "flatten", NULL, fields.at[i], NULL);
        return tn_call_opv(ctx, "concat", NULL, tn_tuple_of(ctx, tn_list_of(ctx, flat, fields.n)),
                           NULL);
    }
    emit e = emit_begin(b, call);
    int64_t axis = tn_call_int(call, "axis");
    const tn_node **in = TNB_NEW_N(tn_scratch(ctx), const tn_node *, fields.n);
    for (uint32_t i = 0; i < fields.n; i++)
        in[i] = emit_input(&e, fields.at[i]);
    tnk_stage *s = emit_stage(&e, "T_concat");
    if (axis < 0)
        axis += s->n_axes;
    const tn_expr *idx[INFER_MAX_DIMS], *value = NULL, *begin = tn_i64(ctx, 0);
    if (s->n_axes > INFER_MAX_DIMS)
        return NULL;
    memcpy(idx, s->axes, s->n_axes * sizeof *idx);
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_expr *at = s->axes[axis];
        idx[axis] = i ? tn_sub(ctx, at, begin) : at;
        const tn_expr *v = tnk_te_read_at(e.te, in[i], idx, s->n_axes);
        value = value ? tn_if_then_else(ctx, tn_le_of(ctx, begin, at), v, value) : v;
        begin = dim_add(ctx, begin, emit_dim(in[i], (uint32_t)axis));
    }
    return emit_end(&e, "concatenate", tnk_te_define(s, value));
}

const tn_expr *
legalize_stack(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list fields = tuple_fields(b, call->args.at[0]);
    emit e = emit_begin(b, call);
    const tn_node **in = TNB_NEW_N(tn_scratch(ctx), const tn_node *, fields.n);
    for (uint32_t i = 0; i < fields.n; i++)
        in[i] = emit_input(&e, fields.at[i]);
    tnk_stage *s = emit_stage(&e, "T_stack");
    int64_t axis = tn_call_attr(call, "axis") ? tn_call_int(call, "axis") : 0;
    if (axis < 0)
        axis += s->n_axes;
    const tn_expr *idx[INFER_MAX_DIMS], *value = NULL;
    for (uint32_t i = 0, k = 0; i < s->n_axes; i++) {
        if (i != axis)
            idx[k++] = s->axes[i];
    }
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_expr *v = tnk_te_read_at(e.te, in[i], idx, s->n_axes - 1);
        value = value ? tn_if_then_else(ctx, tn_eq_of(ctx, s->axes[axis], tn_i64(ctx, i)), v, value)
                      : v;
    }
    return emit_end(&e, "stack", tnk_te_define(s, value));
}

const tn_expr *
legalize_split(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    tn_list types = tn_as_ty_tuple(call->base.type)->fields;
    int64_t axis = tn_call_int(call, "axis");
    if (axis < 0)
        axis += emit_ndim(x);
    const tn_expr **points;
    int n = cut_points(ctx, call, emit_dim(x, (uint32_t)axis), &points);
    if (n < 0 || emit_ndim(x) > INFER_MAX_DIMS)
        return NULL;
    const tn_node **outs = TNB_NEW_N(tn_scratch(ctx), const tn_node *, (size_t)n);
    for (int i = 0; i < n; i++) {
        tnk_stage *s = emit_stage_of(&e, "T_split_sections", types.at[i], emit_dtype(x));
        const tn_expr *idx[INFER_MAX_DIMS];
        memcpy(idx, s->axes, s->n_axes * sizeof *idx);
        idx[axis] = tn_add(ctx, s->axes[axis], points[i]);
        outs[i] = tnk_te_define(s, tnk_te_read_at(e.te, x, idx, s->n_axes));
    }
    if (n == 1) { /* a tuple all the same */
        const tn_expr *one = tn_emit(b, emit_end_n(&e, "split", outs, 1), "lv");
        return tn_tuple_of(ctx, tn_listv(ctx, one, NULL));
    }
    return emit_end_n(&e, "split", outs, (uint32_t)n);
}
