/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering: take, gather_elements, gather_nd, index_tensor, one_hot. */
#include "emit.h"

#include <math.h>

static bool
check_indices(tn_ctx *ctx, const tn_call *call, tnb_dtype d)
{
    if (tnb_dtype_is_void(d) || tnb_dtype_is_int(d))
        return true;
    infer_fail(ctx, call, TNB_TYPE, "indices must be integers, but are of %s",
               tnb_dtype_print(d).s);
    return false;
}

static bool
is_one_of(const char *s, const char *const *allowed)
{
    for (; *allowed; allowed++) {
        if (!strcmp(s, *allowed))
            return true;
    }
    return false;
}

/* ---- take ---- */

const tn_type *
infer_take(tn_ctx *ctx, const tn_call *call)
{
    static const char *const modes[] = {"fast", "wrap", "clip", "nan", NULL};
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *u = NULL;
    const tn_expr *index = infer_arg(call, 1);
    tn_list dims, at = {0};
    int64_t axis = 0;
    bool scalar = index && tn_is(index->type, TN_KIND_TY_PRIM), flat = !tn_call_attr(call, "axis");
    if (!t || (!scalar && !(u = infer_tensor(ctx, call, 1))) ||
        !check_indices(ctx, call, tn_type_dtype(index->type)))
        return tn_error_node(ctx);
    if (!is_one_of(tn_call_str(call, "mode"), modes))
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'mode' is \"%s\", expected fast, wrap, clip or nan",
                          tn_call_str(call, "mode"));
    if (flat && t->ndim >= 0 && t->ndim != 1)
        return infer_fail(ctx, call, TNB_INVALID,
                          "a tensor with %lld axes needs the attribute 'axis'", (long long)t->ndim);
    if (!flat && t->ndim >= 0 &&
        !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    int64_t index_ndim = scalar ? 0 : u->ndim;
    if (!tn_type_dims(TN_NODE(t), &dims) || (!scalar && !tn_type_dims(TN_NODE(u), &at)))
        return infer_rank(ctx, call, t->ndim < 0 || index_ndim < 0 ? -1 : t->ndim - 1 + index_ndim,
                          t->dtype);
    tn_list out = {0};
    for (uint32_t i = 0; i < dims.n; i++) {
        if (i != axis)
            out = tn_list_append(ctx, out, dims.at[i]);
        for (uint32_t k = 0; i == axis && k < at.n; k++)
            out = tn_list_append(ctx, out, at.at[k]);
    }
    return infer_known(ctx, call, out, t->dtype);
}

const tn_expr *
legalize_take(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *at = NULL;
    const tn_expr *index = NULL, *idx[INFER_MAX_DIMS];
    const char *mode = tn_call_str(call, "mode");
    uint32_t n = emit_ndim(x), k = 0;
    int64_t axis = tn_call_attr(call, "axis") ? tn_call_int(call, "axis") : 0;
    if (n > INFER_MAX_DIMS)
        return NULL;
    if (tn_is(call->args.at[1]->type, TN_KIND_TY_PRIM))
        index = emit_scalar(&e, call->args.at[1], TNB_I64);
    else
        at = emit_input(&e, call->args.at[1]);
    axis += axis < 0 ? (int64_t)n : 0;
    const tn_expr *extent = emit_dim(x, (uint32_t)axis), *inside = NULL;
    tnk_stage *s = emit_stage(&e, "T_take");
    uint32_t m = at ? emit_ndim(at) : 0;
    if (at)
        index = tn_cast_to(ctx, TNB_I64, tnk_te_read_at(e.te, at, s->axes + axis, m));
    if (!strcmp(mode, "wrap")) {
        index = emit_floormod(ctx, index, tn_max(ctx, extent, tn_i64(ctx, 1)));
    } else if (!strcmp(mode, "clip")) {
        index = tn_min(ctx, tn_max(ctx, index, tn_i64(ctx, 0)), tn_subi(ctx, extent, 1));
    } else if (!strcmp(mode, "nan")) {
        index = emit_index(ctx, index, extent);
        inside = emit_inside(ctx, index, extent);
    }
    if (!strcmp(mode, "fast"))
        index = emit_data_index(&e, call->args.at[1], index, extent, true, emit_axis(ctx, axis));
    else if (!inside) /* in range, unless there is nothing to take */
        index = tnk_te_index(ctx, index, extent, false, "take", emit_axis(ctx, axis));
    if (tn_is_error(index))
        return index;
    for (uint32_t i = 0; i < n; i++) {
        if (i == axis) {
            idx[i] = index;
            k += m;
        } else {
            idx[i] = s->axes[k++];
        }
    }
    const tn_expr *v = tnk_te_read_at(e.te, x, idx, n);
    tnb_dtype d = emit_dtype(x);
    if (inside)
        v = tn_if_then_else(ctx, inside, v,
                            tn_literal(ctx, d, tnb_dtype_is_float(d) ? (double)NAN : 0));
    return emit_end(&e, "take", tnk_te_define(s, v));
}

/* ---- gather_elements, gather_nd ---- */

const tn_type *
infer_gather_elements(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *u = infer_tensor(ctx, call, 1);
    int64_t axis;
    if (!t || !u || !check_indices(ctx, call, u->dtype))
        return tn_error_node(ctx);
    if (infer_ranks_differ(t, u))
        return infer_fail(ctx, call, TNB_SHAPE, "the data has %lld axes, the indices %lld",
                          (long long)t->ndim, (long long)u->ndim);
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    tn_list dims, at;
    bool known = tn_type_dims(TN_NODE(t), &dims) && tn_type_dims(TN_NODE(u), &at);
    for (uint32_t i = 0; known && i < dims.n; i++)
        if (i != axis && dim_exceeds(ctx, at.at[i], dims.at[i],
                                     "along axis %u the indices have {} places, the data {}", i))
            return infer_fail(ctx, call, TNB_SHAPE,
                              "along axis %u the indices have %s places, the data %s", i,
                              tn_text(ctx, at.at[i]), tn_text(ctx, dims.at[i]));
    return infer_same(ctx, call, u, t->dtype);
}

const tn_expr *
legalize_gather_elements(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]), *at = emit_input(&e, call->args.at[1]);
    int64_t axis = tn_call_int(call, "axis");
    tnk_stage *s = emit_stage(&e, "T_gather");
    const tn_expr *idx[INFER_MAX_DIMS];
    if (s->n_axes > INFER_MAX_DIMS)
        return NULL;
    memcpy(idx, s->axes, s->n_axes * sizeof *idx);
    axis += axis < 0 ? (int64_t)s->n_axes : 0;
    idx[axis] = emit_data_index(&e, call->args.at[1], tnk_te_read_at(e.te, at, s->axes, s->n_axes),
                                emit_dim(x, (uint32_t)axis), true, emit_axis(e.ctx, axis));
    if (tn_is_error(idx[axis]))
        return idx[axis];
    return emit_end(&e, "gather_elements",
                    tnk_te_define(s, tnk_te_read_at(e.te, x, idx, s->n_axes)));
}

const tn_type *
infer_gather_nd(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *u = infer_tensor(ctx, call, 1);
    int64_t batch = tn_call_int(call, "batch_dims"), depth;
    tn_list dims, at;
    if (!t || !u || !check_indices(ctx, call, u->dtype))
        return tn_error_node(ctx);
    if (u->ndim == 0 || batch < 0 || (u->ndim >= 0 && batch >= u->ndim) ||
        (t->ndim >= 0 && batch > t->ndim))
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'batch_dims' is %lld, the indices have %lld axes",
                          (long long)batch, (long long)u->ndim);
    if (!tn_type_dims(TN_NODE(t), &dims) || !tn_type_dims(TN_NODE(u), &at) ||
        !tn_int_value(at.at[at.n - 1], &depth))
        return infer_rank(ctx, call, -1, t->dtype);
    if (depth < 1 || batch + depth > dims.n)
        return infer_fail(
            ctx, call, TNB_SHAPE,
            "index vectors of %lld entries do not fit the data's %u axes (batch_dims %lld)",
            (long long)depth, dims.n, (long long)batch);
    for (uint32_t i = 0; i < batch; i++)
        if (dim_exceeds(ctx, at.at[i], dims.at[i],
                        "batch axis %u has {} entries of indices, {} of data", i))
            return infer_fail(ctx, call, TNB_SHAPE,
                              "batch axis %u has %s entries of indices, %s of data", i,
                              tn_text(ctx, at.at[i]), tn_text(ctx, dims.at[i]));
    tn_list out = tn_list_of(ctx, at.at, at.n - 1);
    for (uint32_t i = (uint32_t)(batch + depth); i < dims.n; i++)
        out = tn_list_append(ctx, out, dims.at[i]);
    return infer_known(ctx, call, out, t->dtype);
}

const tn_expr *
legalize_gather_nd(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *at = emit_input(&e, call->args.at[1]);
    uint32_t n = emit_ndim(x), m = emit_ndim(at), batch = (uint32_t)tn_call_int(call, "batch_dims");
    const tn_expr *idx[INFER_MAX_DIMS], *place[INFER_MAX_DIMS];
    int64_t depth;
    if (n > INFER_MAX_DIMS || m > INFER_MAX_DIMS || !tn_int_value(emit_dim(at, m - 1), &depth))
        return NULL;
    tnk_stage *s = emit_stage(&e, "T_gather_nd");
    memcpy(place, s->axes, (m - 1) * sizeof *place);
    for (uint32_t i = 0; i < n; i++) {
        if (i < batch) {
            idx[i] = s->axes[i];
        } else if (i < batch + depth) {
            place[m - 1] = tn_i64(ctx, i - batch);
            idx[i] = emit_data_index_of(&e, call->args.at[1], i - batch, (uint32_t)depth,
                                        tnk_te_read_at(e.te, at, place, m), emit_dim(x, i), true,
                                        emit_axis(ctx, i));
            if (tn_is_error(idx[i]))
                return idx[i];
        } else {
            idx[i] = s->axes[m - 1 + i - batch - (uint32_t)depth];
        }
    }
    return emit_end(&e, "gather_nd", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, n)));
}

/* ---- index_tensor ---- */

const tn_type *
infer_index_tensor(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list fields, dims, one, all = {0};
    bool known = true;
    if (!t || !infer_tensors(ctx, call, 1, &fields))
        return tn_error_node(ctx);
    if (fields.n == 0 || (t->ndim >= 0 && fields.n > t->ndim))
        return infer_fail(ctx, call, TNB_SHAPE, "%u index tensors for %lld axes", fields.n,
                          (long long)t->ndim);
    for (uint32_t i = 0; i < fields.n; i++) {
        if (!check_indices(ctx, call, tn_type_dtype(fields.at[i])))
            return tn_error_node(ctx);
        if (!tn_type_dims(fields.at[i], &one)) {
            known = false;
        } else if (known) {
            tn_list next;
            int ok = i ? infer_broadcast(ctx, call, all, one, &next) : (next = one, 1);
            if (ok < 0)
                return tn_error_node(ctx);
            known = ok > 0;
            all = next;
        }
    }
    if (!known || !tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, -1, t->dtype);
    for (uint32_t i = fields.n; i < dims.n; i++)
        all = tn_list_append(ctx, all, dims.at[i]);
    return infer_known(ctx, call, all, t->dtype);
}

const tn_expr *
legalize_index_tensor(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_tuple *t = tn_as_tuple(call->args.at[1]);
    if (!t && tn_is_var(call->args.at[1]))
        t = tn_as_tuple(tn_builder_find_value(b, call->args.at[1]));
    if (!t)
        return NULL;
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]), *at[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(x), k = t->fields.n;
    if (n > INFER_MAX_DIMS)
        return NULL;
    for (uint32_t i = 0; i < k; i++)
        at[i] = emit_input(&e, t->fields.at[i]);
    tnk_stage *s = emit_stage(&e, "advanced_index");
    tn_list dims = emit_dims(TN_NODE(call));
    uint32_t shared = s->n_axes - (n - k); /* axes of the broadcast indices */
    const tn_expr *idx[INFER_MAX_DIMS];
    for (uint32_t i = 0; i < n; i++) {
        if (i >= k)
            idx[i] = s->axes[shared + i - k];
        else
            idx[i] = emit_data_index(&e, t->fields.at[i],
                                     emit_broadcast_at(&e, at[i], s->axes, dims.at, shared),
                                     emit_dim(x, i), true, emit_axis(ctx, i));
        if (tn_is_error(idx[i]))
            return idx[i];
    }
    return emit_end(&e, "index_tensor", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, n)));
}

/* ---- one_hot ---- */

const tn_type *
infer_one_hot(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t depth = tn_call_int(call, "depth"), axis;
    tn_list dims, out = {0};
    if (!t || !check_indices(ctx, call, t->dtype) || !infer_scalar(ctx, call, 1) ||
        !infer_scalar(ctx, call, 2))
        return tn_error_node(ctx);
    tnb_dtype d = tn_dtype_of(infer_arg(call, 1));
    if (!tnb_dtype_eq(d, tn_dtype_of(infer_arg(call, 2))))
        return infer_fail(ctx, call, TNB_TYPE, "on_value is of %s, off_value of %s",
                          tnb_dtype_print(d).s, tnb_dtype_print(tn_dtype_of(infer_arg(call, 2))).s);
    if (depth < 0)
        return infer_fail(ctx, call, TNB_INVALID, "attribute 'depth' is %lld, expected at least 0",
                          (long long)depth);
    if (t->ndim < 0)
        return infer_rank(ctx, call, -1, d);
    if (!infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim + 1, &axis))
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, t->ndim + 1, d);
    for (uint32_t i = 0, k = 0; i <= dims.n; i++)
        out = tn_list_append(ctx, out, i == axis ? tn_i64(ctx, depth) : dims.at[k++]);
    return infer_known(ctx, call, out, d);
}

const tn_expr *
legalize_one_hot(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *at = emit_input(&e, call->args.at[0]);
    tnb_dtype d = tn_type_dtype(call->base.type);
    const tn_expr *on = emit_scalar(&e, call->args.at[1], d),
                  *off = emit_scalar(&e, call->args.at[2], d);
    tnk_stage *s = emit_stage(&e, "T_one_hot");
    int64_t axis = tn_call_int(call, "axis");
    const tn_expr *idx[INFER_MAX_DIMS];
    if (s->n_axes > INFER_MAX_DIMS)
        return NULL;
    axis += axis < 0 ? (int64_t)s->n_axes : 0;
    for (uint32_t i = 0, k = 0; i < s->n_axes; i++) {
        if (i != axis)
            idx[k++] = s->axes[i];
    }
    const tn_expr *hot = emit_index(ctx, tnk_te_read_at(e.te, at, idx, s->n_axes - 1),
                                    tn_i64(ctx, tn_call_int(call, "depth")));
    return emit_end(&e, "one_hot",
                    tnk_te_define(s,
                                  tn_select_of(ctx, tn_eq_of(ctx, hot, s->axes[axis]), on, off)));
}
