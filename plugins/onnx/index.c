/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering, scattering, sorting. */
#include <inttypes.h>
#include "dynamic.h"
#include "fold.h"

/* Entries of input 0 at the indices of input 1; NULL: an error is recorded. */
static const tn_expr *
gather(onnx_node *n, int64_t axis)
{
    const tn_expr *x = onnx_in(n, 0), *idx = onnx_in(n, 1);
    int64_t extent, v;
    tn_list dims;
    if (!onnx_dims(n, x, &dims))
        return NULL;
    /* known indices: negative ones are resolved here. Of an unknown extent the sum could be negative again, and
     * count from the end once more: run time, which looks at the index as it is, resolves it. One that is out of
     * range is an error, and where it may never be used, in a branch or a loop, one of run time. */
    if (onnx_known(n, 1) && tn_int_value(dims.at[axis], &extent)) {
        onnx_value *k = n->in[1];
        const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, k->n_elems + 1);
        bool changed = false, wrong = false;
        for (uint32_t i = 0; i < k->n_elems; i++) {
            bool negative = tn_int_value(k->elems[i], &v) && v < 0;
            e[i] = negative ? onnx_simplify(n, tn_add(n->ctx, dims.at[axis], k->elems[i]))
                            : k->elems[i];
            changed |= negative;
            if (!tn_int_value(e[i], &v) || (v >= 0 && v < extent))
                continue;
            wrong = true;
            if (!onnx_may_not_run(n)) {
                (void)onnx_fail(n, TNB_BOUNDS,
                                "index %" PRId64 " is out of range for an axis of %" PRId64
                                " entries",
                                negative ? v - extent : v, extent);
                return NULL;
            }
        }
        if (changed && !wrong)
            idx = onnx_elems_expr(n, e, k->n_elems, k->dtype, k->ndim, k->dims);
    }
    return idx ? onnx_take(n, x, idx, axis) : NULL;
}

static bool
import_gather(onnx_node *n)
{
    int64_t axis = onnx_attr_int(n, "axis", 0), rank = onnx_rank(n, onnx_in(n, 0));
    if (rank < 0 || !onnx_axis(n, rank, &axis))
        return false;
    const tn_expr *taken = gather(n, axis);
    return taken && onnx_ret(n, taken);
}

/* Of ai.onnx.ml: entries of the last axis. Indices of any rank count as one list, and data of one axis give a row. */
static bool
import_array_feature_extractor(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *total = tn_i64(n->ctx, 1);
    tn_list in, at;
    if (!onnx_dims(n, x, &in) || !onnx_dims(n, onnx_in(n, 1), &at))
        return false;
    if (!in.n)
        return onnx_fail(n, TNB_SHAPE, "the data has no axis, expected one or more");
    const tn_expr *taken = gather(n, (int64_t)in.n - 1);
    if (!taken)
        return false;
    for (uint32_t i = 0; i < at.n; i++)
        total = onnx_simplify(n, tn_mul(n->ctx, total, at.at[i]));
    const tn_expr **dims = TNB_NEW_N(n->imp->arena, const tn_expr *, in.n + 1);
    uint32_t count = 0;
    if (in.n == 1)
        dims[count++] = tn_i64(n->ctx, 1);
    for (uint32_t i = 0; i + 1 < in.n; i++)
        dims[count++] = in.at[i];
    dims[count++] = total;
    return onnx_ret(n, onnx_reshape(n, taken, dims, count));
}

static bool
import_gather_elements(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axis = onnx_attr_int(n, "axis", 0);
    return onnx_axis(n, onnx_rank(n, x), &axis) &&
           onnx_ret(n, onnx_emit(n, "gather_elements",
                                 tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), NULL), x,
                                 onnx_in(n, 1), NULL));
}

static bool
import_gather_nd(onnx_node *n)
{
    int64_t batch = onnx_attr_int(n, "batch_dims", 0);
    const tn_expr *x = onnx_in(n, 0), *at = onnx_in(n, 1);
    tn_list d, k;
    if (!onnx_dims(n, x, &d) || !onnx_dims(n, at, &k))
        return false;
    if (k.n && !tn_is(k.at[k.n - 1], TN_KIND_INT_IMM)) /* the rank of what it gives depends on it */
        return onnx_unknown(n, "the last extent of the indices has");
    for (uint32_t i = 0; (int64_t)i < batch && i < d.n && i < k.n && !n->failed; i++)
        at = onnx_fix_extent(n, at, i, d.at[i], "the batch of the indices");
    return onnx_ret(n, onnx_emit(n, "gather_nd",
                                 tn_dictv(n->ctx, "batch_dims", tn_i64(n->ctx, batch), NULL), x, at,
                                 NULL));
}

static const char *const reductions[] = {"none", "add", "mul", "max", "min", NULL};
static const char *const relax_reductions[] = {"update", "add", "mul", "max", "min"};

static bool
import_scatter_elements(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axis = onnx_attr_int(n, "axis", 0);
    int r = onnx_attr_choice(n, "reduction", "none", reductions);
    if (r < 0 || !onnx_axis(n, onnx_rank(n, x), &axis))
        return false;
    return onnx_ret(n, onnx_emit(n, "scatter_elements",
                                 tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), "reduction",
                                          tn_string(n->ctx, relax_reductions[r]), NULL),
                                 x, onnx_in(n, 1), onnx_in(n, 2), NULL));
}

static bool
import_scatter_nd(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *at = onnx_in(n, 1), *u = onnx_in(n, 2);
    int r = onnx_attr_choice(n, "reduction", "none", reductions);
    int64_t rank = onnx_rank(n, x), places = onnx_rank(n, at), rest = onnx_rank(n, u);
    tn_list dims;
    if (n->failed || r < 0 || !onnx_dims(n, at, &dims))
        return false;
    /* how many axes an index names follows from the ranks where it is no number */
    if (dims.n && !tn_is(dims.at[dims.n - 1], TN_KIND_INT_IMM)) {
        int64_t named = rank + places - 1 - rest;
        if (named < 1 || named > rank)
            return onnx_fail(n, TNB_SHAPE,
                             "data of rank %" PRId64 ", indices of rank %" PRId64
                             " and updates of rank %" PRId64 " do not fit",
                             rank, places, rest);
        at =
            onnx_name_extents(n, at, tn_list_with(n->ctx, dims, dims.n - 1, tn_i64(n->ctx, named)));
    }
    return onnx_ret(n, onnx_emit(n, "scatter_nd",
                                 tn_dictv(n->ctx, "reduction",
                                          tn_string(n->ctx, relax_reductions[r]), NULL),
                                 x, at, u, NULL));
}

static const tn_expr *
emit_topk(onnx_node *n, const tn_expr *x, int64_t k, int64_t axis, bool largest)
{
    return onnx_emit(n, "topk",
                     tn_dictv(n->ctx, "k", tn_i64(n->ctx, k), "axis", tn_i64(n->ctx, axis),
                              "largest", tn_bool(n->ctx, largest), "dtype",
                              tn_dtype_imm_of(n->ctx, TNB_I64), NULL),
                     x, NULL);
}

/* k is a term: all entries are sorted, the first k are kept. */
static bool
topk_at_run_time(onnx_node *n, const tn_expr *x, int64_t axis, bool largest)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *const *e, *k, *zero = tn_i64(ctx, 0), *shown[2];
    uint32_t count;
    tn_list in;
    if (!onnx_elems(n, 1, "k", &e, &count) || !onnx_dims(n, x, &in))
        return false;
    if (count != 1)
        return onnx_fail(n, TNB_SHAPE, "k has %u entries, expected one", count);
    k = shown[0] = onnx_simplify(n, e[0]);
    shown[1] = in.at[axis];
    const tn_expr *fits = onnx_t(n, ONNX_LESS_EQUAL, k, in.at[axis]);
    onnx_demand d = {tn_is_int_const(fits, 1) ? NULL : onnx_truth(n, fits), shown, 2,
                     tn_strf(ctx, "k is {1}, but axis %" PRId64 " has {2} entries", axis)};
    if (!onnx_bind(n, &k, 1, &d))
        return false;
    const tn_expr *all = emit_topk(n, x, 0, axis, largest);
    for (uint32_t i = 0; i < 2 && !n->failed; i++)
        if (i < n->n_out && n->out[i] &&
            !onnx_ret_at(n, i, onnx_slice_inside(n, onnx_tuple_get(n, all, i), axis, zero, k, 1)))
            return false;
    return !n->failed;
}

static bool
import_topk(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axis = onnx_attr_int(n, "axis", -1), k = onnx_attr_int(n, "k", -1), extent;
    bool largest = onnx_attr_int(n, "largest", 1) != 0;
    onnx_attr(n, "sorted");
    if (!onnx_axis(n, onnx_rank(n, x), &axis))
        return false;
    if (n->version >= 10 && !onnx_are_numbers(n, 1))
        return topk_at_run_time(n, x, axis, largest);
    if (n->version >= 10 && !onnx_in_int(n, 1, "k", &k))
        return false;
    extent = onnx_dim(x, axis);
    if (k == 0 && n->version >= 10)
        return topk_at_run_time(n, x, axis, largest);
    if (k < 1 || (extent >= 0 && k > extent))
        return onnx_fail(n, TNB_BOUNDS,
                         "k is %" PRId64 ", but axis %" PRId64 " has %" PRId64 " entries", k, axis,
                         extent);
    return onnx_ret(n, emit_topk(n, x, k, axis, largest));
}

const onnx_op onnx_index_ops[] = {
    {"ArrayFeatureExtractor", 1, 0, 2, 2, 1, 1, import_array_feature_extractor, NULL, 0,
     "ai.onnx.ml"},
    {"Gather", 1, 0, 2, 2, 1, 1, import_gather, onnx_fold_gather, 0, NULL},
    {"GatherElements", 11, 0, 2, 2, 1, 1, import_gather_elements, NULL, 0, NULL},
    {"GatherND", 11, 0, 2, 2, 1, 1, import_gather_nd, NULL, 0, NULL},
    {"Scatter", 9, 0, 3, 3, 1, 1, import_scatter_elements, NULL, 0, NULL},
    {"ScatterElements", 11, 0, 3, 3, 1, 1, import_scatter_elements, NULL, 0, NULL},
    {"ScatterND", 11, 0, 3, 3, 1, 1, import_scatter_nd, NULL, 0, NULL},
    {"TopK", 1, 0, 1, 2, 1, 2, import_topk, NULL, 0, NULL},
    {0},
};
