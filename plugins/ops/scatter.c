/* SPDX-License-Identifier: Apache-2.0 */
/* Scattering: scatter_elements, scatter_nd, index_put. A copy of the data, then one update after
 * the other in row-major order. */
#include "emit.h"

static const char *const reductions[] = {"update", "add", "mul", "mean", "max", "min", NULL};

const tn_type *
infer_scatter(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *at = infer_tensor(ctx, call, 1),
                       *u = infer_tensor(ctx, call, 2);
    tnb_dtype d;
    int64_t axis;
    if (!t || !at || !u || !infer_same_dtype(ctx, call, t->dtype, u->dtype, &d))
        return tn_error_node(ctx);
    if (!tnb_dtype_is_void(at->dtype) && !tnb_dtype_is_int(at->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "indices must be integers, but are of %s",
                          tnb_dtype_print(at->dtype).s);
    const char *how = tn_call_str(call, "reduction");
    bool known = false;
    for (const char *const *r = reductions; *r; r++)
        known |= !strcmp(*r, how);
    if (!known)
        return infer_fail(
            ctx, call, TNB_INVALID,
            "attribute 'reduction' is \"%s\", wanted update, add, mul, mean, max or min", how);
    if (!strcmp(infer_op_name(call), "scatter_nd"))
        return infer_same(ctx, call, t, d);
    if (t->ndim >= 0 && at->ndim >= 0 && u->ndim >= 0 &&
        (t->ndim != at->ndim || at->ndim != u->ndim))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "data, indices and updates have %lld, %lld and %lld axes",
                          (long long)t->ndim, (long long)at->ndim, (long long)u->ndim);
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    if (tn_type_check(ctx,
                      at->shape ? tn_ty_tensor_of(ctx, at->shape, u->dtype, at->ndim, NULL)
                                : TN_NODE(u),
                      TN_NODE(u)) == TN_SUBTYPE_FAIL)
        return infer_fail(ctx, call, TNB_SHAPE, "indices are %s, updates %s",
                          tn_text(ctx, TN_NODE(at)), tn_text(ctx, TN_NODE(u)));
    return infer_same(ctx, call, t, d);
}

const tn_type *
infer_index_put(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *v = infer_tensor(ctx, call, 2);
    tn_list fields;
    tnb_dtype d;
    if (!t || !v || !infer_tensors(ctx, call, 1, &fields) ||
        !infer_same_dtype(ctx, call, t->dtype, v->dtype, &d))
        return tn_error_node(ctx);
    if (t->ndim >= 0 && fields.n > t->ndim)
        return infer_fail(ctx, call, TNB_SHAPE, "%u index tensors for %lld axes", fields.n,
                          (long long)t->ndim);
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_ty_tensor *at = tn_as_ty_tensor(fields.at[i]);
        if (!tnb_dtype_is_void(at->dtype) && !tnb_dtype_is_int(at->dtype))
            return infer_fail(ctx, call, TNB_TYPE, "index tensor %u is of %s, wanted integers", i,
                              tnb_dtype_print(at->dtype).s);
        if (at->ndim > 1)
            return infer_fail(ctx, call, TNB_SHAPE,
                              "index tensor %u has %lld axes, wanted a vector", i,
                              (long long)at->ndim);
    }
    return infer_same(ctx, call, t, d);
}

static const tn_expr *
combined(tn_ctx *ctx, const char *how, const tn_expr *old, const tn_expr *update)
{
    if (!strcmp(how, "add") || !strcmp(how, "mean"))
        return ADD(old, update);
    if (!strcmp(how, "mul"))
        return MUL(old, update);
    if (!strcmp(how, "max"))
        return GREATEST(old, update);
    if (!strcmp(how, "min"))
        return LEAST(old, update);
    return update;
}

static void
extents_of(const tn_node *buffer, const tn_expr **out)
{
    for (uint32_t i = 0; i < emit_ndim(buffer); i++)
        out[i] = emit_dim(buffer, i);
}

/* out[..] = x[..] */
static const tn_stmt *
copy_all(emit *e, const tn_node *x, const tn_node *out)
{
    const tn_expr *vars[INFER_MAX_DIMS], *extents[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(x);
    emit_loop_vars(e->ctx, vars, n);
    extents_of(x, extents);
    const tn_stmt *s =
        tn_store(e->ctx, out, tnk_te_read_at(e->te, x, vars, n), tn_list_of(e->ctx, vars, n));
    return emit_loops(e->ctx, vars, extents, n, s);
}

static const tn_stmt *
put(emit *e, const tn_node *out, const char *how, const tn_expr *const *place,
    const tn_expr *update)
{
    tn_list at = tn_list_of(e->ctx, place, emit_ndim(out));
    return tn_store(e->ctx, out, combined(e->ctx, how, tn_load(e->ctx, out, at), update), at);
}

/* Statements around the updates of a mean: a count for each element, and the division. */
static const tn_stmt *
with_mean(emit *e, const tn_node *out, const tn_node *count, const tn_stmt *copy,
          const tn_stmt *updates)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *vars[INFER_MAX_DIMS], *extents[INFER_MAX_DIMS], *vars2[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(out);
    tnb_dtype d = emit_dtype(out);
    emit_loop_vars(ctx, vars, n);
    emit_loop_vars(ctx, vars2, n);
    extents_of(out, extents);
    tn_list at = tn_list_of(ctx, vars, n), at2 = tn_list_of(ctx, vars2, n);
    const tn_stmt *ones = emit_loops(ctx, vars, extents, n, tn_store(ctx, count, LIT(d, 1), at));
    const tn_expr *old = tn_load(ctx, out, at2), *times = tn_load(ctx, count, at2);
    const tn_expr *mean = tnb_dtype_is_float(d) ? DIVIDE(old, times) : FLOORDIV(old, times);
    return tn_seqv(ctx, copy, ones, updates,
                   emit_loops(ctx, vars2, extents, n, tn_store(ctx, out, mean, at2)), NULL);
}

const tn_expr *
legalize_scatter_elements(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = emit_input(&e, call->args.at[i]);
    const tn_node *x = in[0];
    const char *how = tn_call_str(call, "reduction");
    uint32_t n = emit_ndim(x);
    int64_t axis = tn_call_int(call, "axis");
    const tn_expr *vars[INFER_MAX_DIMS], *extents[INFER_MAX_DIMS], *place[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS)
        return NULL;
    axis += axis < 0 ? (int64_t)n : 0;
    const tn_node *outs[2] = {tnk_te_buffer(e.te, "out_buf", tn_as_buffer(x)->shape.at, n,
                                            emit_dtype(x)),
                              NULL};
    bool mean = !strcmp(how, "mean");
    if (mean)
        outs[1] = tnk_te_buffer(e.te, "count", tn_as_buffer(x)->shape.at, n, emit_dtype(x));
    emit_loop_vars(ctx, vars, n);
    extents_of(in[1], extents);
    memcpy(place, vars, n * sizeof *place);
    place[axis] =
        emit_index(ctx, tnk_te_read_at(e.te, in[1], vars, n), emit_dim(x, (uint32_t)axis));
    const tn_stmt *update = put(&e, outs[0], how, place, tnk_te_read_at(e.te, in[2], vars, n));
    if (mean)
        update = tn_seqv(ctx, update, put(&e, outs[1], "add", place, LIT(emit_dtype(x), 1)), NULL);
    const tn_stmt *updates = emit_loops(ctx, vars, extents, n, update),
                  *copy = copy_all(&e, x, outs[0]);
    const tn_stmt *body =
        mean ? with_mean(&e, outs[0], outs[1], copy, updates) : tn_seqv(ctx, copy, updates, NULL);
    tnk_te_extern(e.te, "scatter_elements", in, 3, outs, mean ? 2 : 1, body);
    return emit_end(&e, "scatter_elements", outs[0]);
}

const tn_expr *
legalize_scatter_nd(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = emit_input(&e, call->args.at[i]);
    const tn_node *x = in[0], *at = in[1];
    uint32_t n = emit_ndim(x), m = emit_ndim(at);
    int64_t depth;
    const tn_expr *vars[2 * INFER_MAX_DIMS], *extents[2 * INFER_MAX_DIMS], *place[INFER_MAX_DIMS],
        *row[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS || m > INFER_MAX_DIMS || m == 0 ||
        !tn_int_value(emit_dim(at, m - 1), &depth) || depth > n)
        return NULL;
    /* loops over the index vectors, then over the slice each addresses */
    uint32_t outer = m - 1, inner = n - (uint32_t)depth, total = outer + inner;
    emit_loop_vars(ctx, vars, total);
    for (uint32_t i = 0; i < total; i++)
        extents[i] = i < outer ? emit_dim(at, i) : emit_dim(x, (uint32_t)depth + i - outer);
    memcpy(row, vars, outer * sizeof *row);
    for (uint32_t i = 0; i < n; i++) {
        if (i < depth) {
            row[outer] = I64(i);
            place[i] = emit_index(ctx, tnk_te_read_at(e.te, at, row, m), emit_dim(x, i));
        } else {
            place[i] = vars[outer + i - (uint32_t)depth];
        }
    }
    const tn_node *out =
        tnk_te_buffer(e.te, "out_buf", tn_as_buffer(x)->shape.at, n, emit_dtype(x));
    const tn_expr *value = tnk_te_read_at(e.te, in[2], vars, total);
    const tn_stmt *update = put(&e, out, tn_call_str(call, "reduction"), place, value);
    tnk_te_extern(e.te, "scatter_nd", in, 3, &out, 1,
                  tn_seqv(ctx, copy_all(&e, x, out), emit_loops(ctx, vars, extents, total, update),
                          NULL));
    return emit_end(&e, "scatter_nd", out);
}

const tn_expr *
legalize_index_put(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_tuple *t = tn_as_tuple(call->args.at[1]);
    if (!t && tn_is_var(call->args.at[1]))
        t = tn_as_tuple(tn_builder_lookup(b, call->args.at[1]));
    if (!t || t->fields.n == 0)
        return NULL;
    emit e = emit_begin(b, call);
    const tn_node *in[INFER_MAX_DIMS + 2];
    uint32_t k = t->fields.n;
    in[0] = emit_input(&e, call->args.at[0]);
    uint32_t n = emit_ndim(in[0]);
    if (n > INFER_MAX_DIMS || k > n)
        return NULL;
    for (uint32_t i = 0; i < k; i++)
        in[1 + i] = emit_input(&e, t->fields.at[i]);
    in[1 + k] = emit_input(&e, call->args.at[2]);
    const tn_node *x = in[0], *values = in[1 + k];
    const tn_expr *vars[INFER_MAX_DIMS], *extents[INFER_MAX_DIMS], *place[INFER_MAX_DIMS];
    uint32_t total = 1 + n - k, rank = emit_ndim(values);
    emit_loop_vars(ctx, vars, total);
    extents[0] = emit_dim(in[1], 0);
    for (uint32_t i = k; i < n; i++) {
        extents[1 + i - k] = emit_dim(x, i);
        place[i] = vars[1 + i - k];
    }
    for (uint32_t i = 0; i < k; i++)
        place[i] = emit_index(ctx, tnk_te_read_at(e.te, in[1 + i], vars, 1), emit_dim(x, i));
    if (rank > total)
        return NULL;
    const tn_expr *value = emit_broadcast_at(&e, values, vars, extents, total);
    const tn_node *out =
        tnk_te_buffer(e.te, "out_buf", tn_as_buffer(x)->shape.at, n, emit_dtype(x));
    const tn_stmt *update =
        put(&e, out, tn_call_int(call, "accumulate") ? "add" : "update", place, value);
    tnk_te_extern(e.te, "index_put", in, k + 2, &out, 1,
                  tn_seqv(ctx, copy_all(&e, x, out), emit_loops(ctx, vars, extents, total, update),
                          NULL));
    return emit_end(&e, "index_put", out);
}
