/* SPDX-License-Identifier: Apache-2.0 */
/* Scattering: scatter_elements, scatter_nd, index_put. A copy of the data, then the updates: those that may
 * meet in one element stand in order (iterators of kind scan), the others are independent.
 *
 *     scatter_elements along axis 1 of 2:   for i: for j in order: out[i, indices[i, j]] = updates[i, j]
 *     scatter_nd of slices:                 for i in order: for j: out[indices[i], j] = updates[i, j]
 *
 * For a GPU whose threads would have little to do in that form, each element of a result that is not large looks for its updates,
 * in the same order:
 *
 *     scatter_elements of a vector:         for i: for j in order: if indices[j] == i: out[i] = updates[j]
 */
#include "emit.h"
#include "scatter.h"

static const char *const reductions[] = {"update", "add", "mul", "mean", "max", "min", NULL};

/* Updates of scatter_nd: a slice of the data for each index vector. The ranks tell how long the vectors are. */
static bool
check_slices(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t, const tn_ty_tensor *at,
             const tn_ty_tensor *u)
{
    tn_list dims, places, values;
    if (!tn_type_dims(TN_NODE(t), &dims) || !tn_type_dims(TN_NODE(at), &places) ||
        !tn_type_dims(TN_NODE(u), &values) || !places.n)
        return true;
    int64_t depth = (int64_t)(places.n - 1 + dims.n) - values.n;
    if (depth < 0 || depth > dims.n ||
        dim_differ(ctx, places.at[places.n - 1], tn_i64(ctx, depth),
                   "the index vectors have length {}, the ranks of data and updates want {}")) {
        infer_fail(ctx, call, TNB_SHAPE, "indices of %s do not fit data of %s and updates of %s",
                   tn_text(ctx, tn_shape_expr_of(ctx, places)),
                   tn_text(ctx, tn_shape_expr_of(ctx, dims)),
                   tn_text(ctx, tn_shape_expr_of(ctx, values)));
        return false;
    }
    for (uint32_t i = 0; i < values.n; i++) {
        const tn_expr *want =
            i < places.n - 1 ? places.at[i] : dims.at[i - (places.n - 1) + (uint32_t)depth];
        if (dim_differ(ctx, values.at[i], want,
                       "the updates have extent {} in axis %u, expected {}", i)) {
            infer_fail(ctx, call, TNB_SHAPE, "the updates have extent %s in axis %u, expected %s",
                       tn_text(ctx, values.at[i]), i, tn_text(ctx, want));
            return false;
        }
    }
    return true;
}

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
            "attribute 'reduction' is \"%s\", expected update, add, mul, mean, max or min", how);
    if (infer_op(call)->id == OP_scatter_nd)
        return check_slices(ctx, call, t, at, u) ? infer_same(ctx, call, t, d) : tn_error_node(ctx);
    if (infer_ranks_differ(t, at) || infer_ranks_differ(t, u) || infer_ranks_differ(at, u))
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
    tn_list dims, places, values;
    bool known_at = tn_type_dims(TN_NODE(at), &places);
    if (known_at && tn_type_dims(TN_NODE(u), &values))
        for (uint32_t i = 0; i < places.n; i++)
            dim_differ(ctx, places.at[i], values.at[i],
                       "along axis %u there are {} indices, but {} updates", i);
    if (known_at && tn_type_dims(TN_NODE(t), &dims))
        for (uint32_t i = 0; i < dims.n; i++)
            if (i != axis &&
                dim_exceeds(ctx, places.at[i], dims.at[i],
                            "along axis %u the indices have {} places, the data {}", i))
                return infer_fail(ctx, call, TNB_SHAPE,
                                  "along axis %u the indices have %s places, the data %s", i,
                                  tn_text(ctx, places.at[i]), tn_text(ctx, dims.at[i]));
    return infer_same(ctx, call, t, d);
}

/* Index vectors of one length, and values that fit it and the axes that are not indexed. */
static bool
check_put(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t, const tn_ty_tensor *v,
          tn_list fields)
{
    tn_list dims, first, own, values;
    if (!fields.n || !tn_type_dims(fields.at[0], &first) || first.n != 1)
        return true;
    for (uint32_t i = 1; i < fields.n; i++)
        if (tn_type_dims(fields.at[i], &own) && own.n == 1 &&
            dim_differ(ctx, first.at[0], own.at[0],
                       "index tensor 0 has {} entries, index tensor %u has {}", i)) {
            infer_fail(ctx, call, TNB_SHAPE, "index tensor 0 has %s entries, index tensor %u %s",
                       tn_text(ctx, first.at[0]), i, tn_text(ctx, own.at[0]));
            return false;
        }
    if (!tn_type_dims(TN_NODE(t), &dims) || !tn_type_dims(TN_NODE(v), &values))
        return true;
    uint32_t rank = 1 + dims.n - fields.n;
    for (uint32_t i = 0; values.n <= rank && i < values.n; i++) {
        uint32_t at = rank - values.n + i;
        const tn_expr *want = at ? dims.at[fields.n + at - 1] : first.at[0];
        if (dim_misfit(ctx, values.at[i], want, "the values have extent {} in axis %u, expected {}",
                       i)) {
            infer_fail(ctx, call, TNB_SHAPE, "the values have extent %s in axis %u, expected %s",
                       tn_text(ctx, values.at[i]), i, tn_text(ctx, want));
            return false;
        }
    }
    return true;
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
            return infer_fail(ctx, call, TNB_TYPE, "index tensor %u is of %s, expected integers", i,
                              tnb_dtype_print(at->dtype).s);
    }
    tn_list all = {0}, dims;
    for (uint32_t i = 0; i < fields.n; i++) {
        if (!tn_type_dims(fields.at[i], &dims))
            return infer_same(ctx, call, t, d);
        int known = i ? infer_broadcast(ctx, call, all, dims, &all) : 1;
        if (known < 0)
            return tn_error_node(ctx);
        if (!known)
            return infer_same(ctx, call, t, d);
        all = i ? all : dims;
    }
    if (!check_put(ctx, call, t, v, fields))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, d);
}

static const tn_expr *
combined(tn_ctx *ctx, const char *how, const tn_expr *old, const tn_expr *update)
{
    if (!strcmp(how, "add") || !strcmp(how, "mean"))
        return tn_add(ctx, old, update);
    if (!strcmp(how, "mul"))
        return tn_mul(ctx, old, update);
    if (!strcmp(how, "max"))
        return tn_max(ctx, old, update);
    if (!strcmp(how, "min"))
        return tn_min(ctx, old, update);
    return update;
}

/* ---- blocks ---- */

/* A block in the making, and the loops around it. */
typedef struct nest {
    const char *name;
    uint32_t n;
    const tn_expr *var[2 * INFER_MAX_DIMS], *extent[2 * INFER_MAX_DIMS];
    tn_iter_kind kind[2 * INFER_MAX_DIMS];
} nest;

static void
begin_nest(emit *e, nest *t, const char *name, uint32_t n, const tn_expr *const *extents)
{
    t->name = name;
    t->n = n;
    emit_loop_vars(e->ctx, t->var, n);
    for (uint32_t i = 0; i < n; i++) {
        t->extent[i] = extents[i];
        t->kind[i] = TN_ITER_SPATIAL;
    }
}

/* The block with that body, as a stage of the program. */
static void
end_nest(emit *e, const nest *t, tn_list reads, tn_list writes, const tn_stmt *body)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *loops[2 * INFER_MAX_DIMS];
    tn_list iters = {0};
    emit_loop_vars(ctx, loops, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), t->extent[i]),
                                              t->var[i], t->kind[i], NULL));
    tn_block b = {.name = t->name, .iters = iters, .reads = reads, .writes = writes, .body = body};
    tnk_te_append(e->te, emit_loops(ctx, loops, t->extent, t->n,
                                    tn_block_realize_of(ctx, tn_list_of(ctx, loops, t->n),
                                                        tn_bool(ctx, true), tn_block_of(ctx, &b))));
}

/* to[..] = value, which reads `from` (may be NULL) at the same place */
static void
fill(emit *e, const char *name, const tn_node *to, const tn_node *from, const tn_expr *value)
{
    tn_ctx *ctx = e->ctx;
    nest t;
    uint32_t n = emit_ndim(to);
    begin_nest(e, &t, name, n, (const tn_expr *const *)tn_as_buffer(to)->shape.at);
    tn_list at = tn_list_of(ctx, t.var, n);
    end_nest(e, &t, from ? tn_listv(ctx, tn_region_point(ctx, from, at), NULL) : (tn_list){0},
             tn_listv(ctx, tn_region_point(ctx, to, at), NULL),
             tn_buffer_store_of(ctx, to, from ? tn_buffer_load_of(ctx, from, at) : value, at));
}

/* ---- for GPUs ---- */

enum { FEW_THREADS = 256, MOST_RESULTS = 1 << 17 };

/* Whether the elements of `out` are to look for their updates: `threads` extents are independent in the other form. */
static bool
few_threads(const tn_node *out, const tn_expr *const *extents, uint32_t threads)
{
    int64_t results = 1, given = 1, v;
    for (uint32_t i = 0; i < emit_ndim(out); i++) {
        if (!tn_int_value(emit_dim(out, i), &v) || v > MOST_RESULTS ||
            (results *= v) > MOST_RESULTS)
            return false;
    }
    for (uint32_t i = 0; i < threads; i++) {
        if (!tn_int_value(extents[i], &v) || v >= FEW_THREADS || (given *= v) >= FEW_THREADS)
            return false;
    }
    return given < results;
}

/* Iterators for each element of `out`, and behind them for `n_order` updates. */
static void
begin_search(emit *e, nest *t, const char *name, const tn_node *out, const tn_expr *const *order,
             uint32_t n_order)
{
    const tn_expr *extents[2 * INFER_MAX_DIMS];
    uint32_t n = emit_ndim(out);
    for (uint32_t i = 0; i < n + n_order; i++)
        extents[i] = i < n ? emit_dim(out, i) : order[i - n];
    begin_nest(e, t, name, n + n_order, extents);
    for (uint32_t i = n; i < t->n; i++)
        t->kind[i] = TN_ITER_SCAN;
}

/* if inside: if meant: out[..] = `how` of itself and the value. `inside` may be NULL. */
static void
end_search(emit *e, const nest *t, const tn_node *const *in, uint32_t n_in, const tn_node *out,
           const char *how, const tn_expr *inside, const tn_expr *meant, const tn_expr *value)
{
    tn_ctx *ctx = e->ctx;
    tn_list at = tn_list_of(ctx, t->var, emit_ndim(out)), reads = {0};
    const tn_node *own = tn_region_point(ctx, out, at);
    for (uint32_t i = 0; i < n_in; i++)
        reads = tn_list_append(ctx, reads, tn_region_full(ctx, in[i]));
    const tn_stmt *s =
        tn_buffer_store_of(ctx, out, combined(ctx, how, tn_buffer_load_of(ctx, out, at), value),
                           at);
    s = tn_if_stmt_of(ctx, meant, s, NULL);
    end_nest(e, t, tn_list_append(ctx, reads, own), tn_listv(ctx, own, NULL),
             inside ? tn_if_stmt_of(ctx, inside, s, NULL) : s);
}

static const tn_stmt *
put(emit *e, const tn_node *out, const char *how, const tn_expr *const *place,
    const tn_expr *update)
{
    tn_list at = tn_list_of(e->ctx, place, emit_ndim(out));
    return tn_buffer_store_of(e->ctx, out,
                              combined(e->ctx, how, tn_buffer_load_of(e->ctx, out, at), update),
                              at);
}

/* The whole extent of a dimension, but where the place is an iterator of the nest. */
static const tn_node *
region(emit *e, const nest *t, const tn_node *out, const tn_expr *const *place)
{
    tn_ctx *ctx = e->ctx;
    tn_list ranges = {0};
    for (uint32_t i = 0; i < emit_ndim(out); i++) {
        bool own = false;
        for (uint32_t k = 0; k < t->n; k++)
            own |= t->kind[k] == TN_ITER_SPATIAL && t->var[k] == place[i];
        ranges = tn_list_append(ctx, ranges,
                                own ? tn_range_of(ctx, place[i], tn_i64(ctx, 1))
                                    : tn_range_of(ctx, tn_i64(ctx, 0), emit_dim(out, i)));
    }
    return tn_buffer_region_of(ctx, out, ranges);
}

/* The updates: out[place] becomes `how` of itself and the value, and count[place] (NULL: none) one more. `in` are the n_in
 * buffers that place and value read. */
static void
updates(emit *e, const nest *t, const tn_node *const *in, uint32_t n_in, const tn_node *out,
        const tn_node *count, const char *how, const tn_expr *const *place, const tn_expr *value)
{
    tn_ctx *ctx = e->ctx;
    tn_list reads = {0}, writes = tn_listv(ctx, region(e, t, out, place), NULL);
    const tn_stmt *s = put(e, out, how, place, value);
    if (count) {
        s = tn_seqv(ctx, s, put(e, count, "add", place, tn_literal(ctx, emit_dtype(out), 1)), NULL);
        writes = tn_list_append(ctx, writes, region(e, t, count, place));
    }
    for (uint32_t i = 0; i < n_in; i++)
        reads = tn_list_append(ctx, reads, tn_region_full(ctx, in[i]));
    for (uint32_t i = 0; i < writes.n; i++)
        reads = tn_list_append(ctx, reads, writes.at[i]);
    end_nest(e, t, reads, writes, s);
}

/* out[..] /= count[..] */
static void
divide(emit *e, const tn_node *out, const tn_node *count)
{
    tn_ctx *ctx = e->ctx;
    nest t;
    begin_nest(e, &t, "mean", emit_ndim(out), (const tn_expr *const *)tn_as_buffer(out)->shape.at);
    tn_list at = tn_list_of(ctx, t.var, t.n);
    const tn_expr *old = tn_buffer_load_of(ctx, out, at),
                  *times = tn_buffer_load_of(ctx, count, at);
    const tn_expr *mean = tnb_dtype_is_float(emit_dtype(out)) ? tn_div(ctx, old, times)
                                                              : emit_floordiv(ctx, old, times);
    const tn_node *own = tn_region_point(ctx, out, at);
    end_nest(e, &t, tn_listv(ctx, own, tn_region_point(ctx, count, at), NULL),
             tn_listv(ctx, own, NULL), tn_buffer_store_of(ctx, out, mean, at));
}

/* Elements of a line look for their updates. False after an error. */
static bool
search_elements(emit *e, const tn_node *const *in, const tn_node *out, const char *how,
                uint32_t axis)
{
    tn_ctx *ctx = e->ctx;
    nest t;
    uint32_t n = emit_ndim(out);
    const tn_expr *turns = emit_dim(in[1], axis), *at[INFER_MAX_DIMS], *inside = NULL;
    begin_search(e, &t, "scatter_elements", out, &turns, 1);
    memcpy(at, t.var, n * sizeof *at);
    at[axis] = t.var[n];
    for (uint32_t i = 0; i < n; i++) { /* there may be fewer lines of indices */
        if (i != axis && !dim_equal(ctx, emit_dim(in[1], i), emit_dim(out, i)))
            inside = tn_and(ctx, inside, tn_lt_of(ctx, t.var[i], emit_dim(in[1], i)));
    }
    const tn_expr *to = emit_data_index(e, e->call->args.at[1], tnk_te_read_at(e->te, in[1], at, n),
                                        emit_dim(out, axis), true, emit_axis(ctx, axis));
    if (tn_is_error(to))
        return false;
    end_search(e, &t, in + 1, 2, out, how, inside, tn_eq_of(ctx, to, t.var[axis]),
               tnk_te_read_at(e->te, in[2], at, n));
    return true;
}

static const tn_expr *
scatter_elements(tn_builder *b, const tn_call *call, bool gpu)
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
    if (n > INFER_MAX_DIMS)
        return NULL;
    axis += axis < 0 ? (int64_t)n : 0;
    tnb_dtype d = emit_dtype(x);
    const tn_node *out = tnk_te_buffer(e.te, "out_buf", tn_as_buffer(x)->shape.at, n, d),
                  *count = strcmp(how, "mean")
                               ? NULL
                               : tnk_te_buffer(e.te, "count", tn_as_buffer(x)->shape.at, n, d);
    fill(&e, "copy", out, x, NULL);
    if (count)
        fill(&e, "ones", count, NULL, tn_literal(ctx, d, 1));
    /* the axis last: elements of different lines never meet */
    nest t;
    const tn_expr *extents[INFER_MAX_DIMS] = {0}, *at[INFER_MAX_DIMS] = {0}, *place[INFER_MAX_DIMS];
    for (uint32_t i = 0, k = 0; i < n; i++)
        extents[i == (uint32_t)axis ? n - 1 : k++] = emit_dim(in[1], i);
    if (gpu && !count && few_threads(out, extents, n - 1)) {
        if (!search_elements(&e, in, out, how, (uint32_t)axis))
            return tn_error_node(ctx);
        return emit_end(&e, "scatter_elements", out);
    }
    begin_nest(&e, &t, "scatter_elements", n, extents);
    t.kind[n - 1] = TN_ITER_SCAN;
    for (uint32_t i = 0, k = 0; i < n; i++)
        at[i] = t.var[i == (uint32_t)axis ? n - 1 : k++];
    memcpy(place, at, n * sizeof *place);
    place[axis] = emit_data_index(&e, call->args.at[1], tnk_te_read_at(e.te, in[1], at, n),
                                  emit_dim(x, (uint32_t)axis), true, emit_axis(ctx, axis));
    if (tn_is_error(place[axis]))
        return place[axis];
    updates(&e, &t, in + 1, 2, out, count, how, place, tnk_te_read_at(e.te, in[2], at, n));
    if (count)
        divide(&e, out, count);
    return emit_end(&e, "scatter_elements", out);
}

/* Elements look for the index vectors that address their slice; some element is where each entry of a vector that is in range leads, so
 * that the next one is looked at. False after an error. */
static bool
search_nd(emit *e, const tn_node *const *in, const tn_node *out, const char *how, uint32_t depth)
{
    tn_ctx *ctx = e->ctx;
    nest t;
    uint32_t n = emit_ndim(out), outer = emit_ndim(in[1]) - 1;
    const tn_expr *row[2 * INFER_MAX_DIMS], *meant = tn_bool(ctx, true);
    begin_search(e, &t, "scatter_nd", out, (const tn_expr *const *)tn_as_buffer(in[1])->shape.at,
                 outer);
    memcpy(row, t.var + n, outer * sizeof *row);
    for (uint32_t i = 0; i < depth; i++) {
        row[outer] = tn_i64(ctx, i);
        const tn_expr *to = emit_data_index_of(e, e->call->args.at[1], i, depth,
                                               tnk_te_read_at(e->te, in[1], row, outer + 1),
                                               emit_dim(out, i), true, emit_axis(ctx, i));
        if (tn_is_error(to))
            return false;
        meant = tn_and(ctx, meant, tn_eq_of(ctx, to, t.var[i]));
    }
    memcpy(row + outer, t.var + depth, (n - depth) * sizeof *row);
    end_search(e, &t, in + 1, 2, out, how, NULL, meant,
               tnk_te_read_at(e->te, in[2], row, outer + n - depth));
    return true;
}

static const tn_expr *
scatter_nd(tn_builder *b, const tn_call *call, bool gpu)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = emit_input(&e, call->args.at[i]);
    const tn_node *x = in[0], *at = in[1];
    uint32_t n = emit_ndim(x), m = emit_ndim(at);
    const tn_expr *extents[2 * INFER_MAX_DIMS], *place[INFER_MAX_DIMS], *row[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS || m > INFER_MAX_DIMS || m == 0)
        return NULL;
    int64_t depth = (int64_t)(m - 1 + n) - emit_ndim(in[2]);
    if (depth < 0 || depth > n)
        return NULL;
    /* loops over the index vectors, then over the slice each addresses */
    uint32_t outer = m - 1, inner = n - (uint32_t)depth, total = outer + inner;
    for (uint32_t i = 0; i < total; i++)
        extents[i] = i < outer ? emit_dim(at, i) : emit_dim(x, (uint32_t)depth + i - outer);
    const tn_node *out =
        tnk_te_buffer(e.te, "out_buf", tn_as_buffer(x)->shape.at, n, emit_dtype(x));
    fill(&e, "copy", out, x, NULL);
    if (gpu && depth > 0 && few_threads(out, extents + outer, inner)) {
        if (!search_nd(&e, in, out, tn_call_str(call, "reduction"), (uint32_t)depth))
            return tn_error_node(ctx);
        return emit_end(&e, "scatter_nd", out);
    }
    nest t;
    begin_nest(&e, &t, "scatter_nd", total, extents);
    for (uint32_t i = 0; i < outer; i++)
        t.kind[i] = TN_ITER_SCAN;
    memcpy(row, t.var, outer * sizeof *row);
    for (uint32_t i = 0; i < n; i++) {
        if (i < depth) {
            row[outer] = tn_i64(ctx, i);
            place[i] = emit_data_index_of(&e, call->args.at[1], i, (uint32_t)depth,
                                          tnk_te_read_at(e.te, at, row, m), emit_dim(x, i), true,
                                          emit_axis(ctx, i));
            if (tn_is_error(place[i]))
                return place[i];
        } else {
            place[i] = t.var[outer + i - (uint32_t)depth];
        }
    }
    updates(&e, &t, in + 1, 2, out, NULL, tn_call_str(call, "reduction"), place,
            tnk_te_read_at(e.te, in[2], t.var, total));
    return emit_end(&e, "scatter_nd", out);
}

const tn_expr *
legalize_scatter_elements(tn_builder *b, const tn_call *call)
{
    return scatter_elements(b, call, false);
}

const tn_expr *
legalize_scatter_nd(tn_builder *b, const tn_call *call)
{
    return scatter_nd(b, call, false);
}

static const tn_expr *
elements_for_gpu(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    return scatter_elements(b, call, true);
}

static const tn_expr *
nd_for_gpu(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    return scatter_nd(b, call, true);
}

#define FOR_KIND(op, kind, f)                                                   \
    &(const tn_legalizer)                                                       \
    {                                                                           \
        .base = {sizeof(tn_legalizer), op, NULL}, .target = kind, .legalize = f \
    }

const tn_legalizer *const scatter_legalizers[N_SCATTER_LEGALIZERS] = {
    FOR_KIND("relax.scatter_elements", "opencl", elements_for_gpu),
    FOR_KIND("relax.scatter_elements", "cuda", elements_for_gpu),
    FOR_KIND("relax.scatter_elements", "gpu_generic", elements_for_gpu),
    FOR_KIND("relax.scatter_nd", "opencl", nd_for_gpu),
    FOR_KIND("relax.scatter_nd", "cuda", nd_for_gpu),
    FOR_KIND("relax.scatter_nd", "gpu_generic", nd_for_gpu)};

/* The shape that index tensors have together: how many axes, their extents in `out`. */
static uint32_t
index_shape(const tn_node *const *at, uint32_t k, const tn_expr **out)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < k; i++)
        rank = emit_ndim(at[i]) > rank ? emit_ndim(at[i]) : rank;
    for (uint32_t a = 0; rank <= INFER_MAX_DIMS && a < rank; a++) {
        out[a] = NULL;
        for (uint32_t i = 0; i < k; i++) {
            uint32_t n = emit_ndim(at[i]);
            const tn_expr *d = n + a >= rank ? emit_dim(at[i], n + a - rank) : NULL;
            if (d && (!out[a] || tn_is_int_const(out[a], 1)))
                out[a] = d;
        }
    }
    return rank;
}

const tn_expr *
legalize_index_put(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_tuple *t = tn_as_tuple(call->args.at[1]);
    if (!t && tn_is_var(call->args.at[1]))
        t = tn_as_tuple(tn_builder_find_value(b, call->args.at[1]));
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
    const tn_expr *extents[2 * INFER_MAX_DIMS], *place[INFER_MAX_DIMS];
    uint32_t q = index_shape(in + 1, k, extents), total = q + n - k, rank = emit_ndim(values);
    if (q > INFER_MAX_DIMS || rank > total)
        return NULL;
    for (uint32_t i = k; i < n; i++)
        extents[q + i - k] = emit_dim(x, i);
    const tn_node *out =
        tnk_te_buffer(e.te, "out_buf", tn_as_buffer(x)->shape.at, n, emit_dtype(x));
    fill(&e, "copy", out, x, NULL);
    nest nest_;
    begin_nest(&e, &nest_, "index_put", total, extents);
    for (uint32_t i = 0; i < q; i++)
        nest_.kind[i] = TN_ITER_SCAN;
    for (uint32_t i = 0; i < n; i++) {
        place[i] = i < k ? emit_data_index(&e, t->fields.at[i],
                                           emit_broadcast_at(&e, in[1 + i], nest_.var, extents, q),
                                           emit_dim(x, i), true, emit_axis(ctx, i))
                         : nest_.var[q + i - k];
        if (tn_is_error(place[i]))
            return place[i];
    }
    updates(&e, &nest_, in + 1, k + 1, out, NULL,
            tn_call_int(call, "accumulate") ? "add" : "update", place,
            emit_broadcast_at(&e, values, nest_.var, extents, total));
    return emit_end(&e, "index_put", out);
}
