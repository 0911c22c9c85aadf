/* SPDX-License-Identifier: Apache-2.0 */
/* Known elements: what operators make of them, by the arithmetic of terms.c. */
#include <inttypes.h>
#include "dynamic.h"
#include "fold.h"
#include "terms.h"

/* ---- helpers ---- */

static const tn_expr **
new_elems(onnx_node *n, uint64_t count)
{
    return count > ONNX_MAX_ELEMS ? NULL : TNB_NEW_N(n->imp->arena, const tn_expr *, count + 1);
}

static uint64_t
count_of(const int64_t *dims, int32_t ndim)
{
    uint64_t c;
    return tnb_shape_count(ndim, dims, &c) ? c : UINT64_MAX;
}

/* The shape of two values broadcast together. */
static bool
broadcast_dims(const int64_t *a, int32_t na, const int64_t *b, int32_t nb, int64_t *out,
               int32_t *ndim)
{
    *ndim = na > nb ? na : nb;
    for (int32_t i = 0; i < *ndim; i++) {
        int64_t x = i < *ndim - na ? 1 : a[i - (*ndim - na)],
                y = i < *ndim - nb ? 1 : b[i - (*ndim - nb)];
        if (x != y && x != 1 && y != 1)
            return false;
        out[i] = x == 1 ? y : x;
    }
    return true;
}

/* The element of `v` that index `k` of a broadcast result reads. */
static const tn_expr *
broadcast_at(const onnx_value *v, uint64_t k, const int64_t *dims, int32_t ndim)
{
    uint64_t at = 0, stride = 1;
    for (int32_t i = ndim - 1, j = v->ndim - 1; i >= 0 && j >= 0; i--, j--) {
        uint64_t x = k % (uint64_t)dims[i];
        k /= (uint64_t)dims[i];
        if (v->dims[j] != 1)
            at += x * stride;
        stride *= (uint64_t)v->dims[j];
    }
    return v->elems[at];
}

/* Terms that have grown large are left to run time. */
static bool
ret_terms(onnx_node *n, tnb_dtype d, int32_t ndim, const int64_t *dims, const tn_expr **e,
          uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        if (!e[k] || tn_is_error(e[k]) || !onnx_term_small(e[k]))
            return false;
    return onnx_ret_elems(n, 0, d, ndim, dims, e);
}

/* The same of an operator for which the inputs' numbers count, not only what they are modulo 2^32. */
static bool
ret_of_numbers(onnx_node *n, tnb_dtype d, int32_t ndim, const int64_t *dims, const tn_expr **e,
               uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        if (!e[k] || tn_is_error(e[k]) || !onnx_term_small(e[k]))
            return false;
    for (uint32_t i = 0; i < onnx_folded_inputs(n->row, n->n_in) && count; i++)
        if (n->in[i] && n->in[i]->has_elems && !onnx_demand_fit(n, n->in[i]))
            return false;
    return onnx_ret_elems(n, 0, d, ndim, dims, e);
}

static onnx_arith
arith_of(const onnx_node *n)
{
    return (onnx_arith)(n->row->flags >> ONNX_OP_ARITH_SHIFT);
}

/* a OP b, broadcast; the result's shape and terms. */
static const tn_expr **
combine(onnx_node *n, const onnx_value *a, const onnx_value *b, tnb_dtype d, int64_t *dims,
        int32_t *ndim, uint64_t *count)
{
    bool fmod = onnx_attr_int(n, "fmod", 0) != 0;
    if (!broadcast_dims(a->dims, a->ndim, b->dims, b->ndim, dims, ndim))
        return NULL;
    *count = count_of(dims, *ndim);
    const tn_expr **e = new_elems(n, *count);
    for (uint64_t k = 0; e && k < *count; k++) {
        const tn_expr *x = broadcast_at(a, k, dims, *ndim), *y = broadcast_at(b, k, dims, *ndim);
        e[k] = onnx_term_binary(n->ctx, arith_of(n), d, fmod, x, y);
        if (!e[k] || tn_is_error(e[k]))
            return NULL;
        if (d.bits == 64 && !tnb_dtype_is_float(d) && onnx_term_is_far(e[k]) &&
            !onnx_demand_near(n, arith_of(n), onnx_simplify(n, x), onnx_simplify(n, y)))
            return NULL;
        e[k] = onnx_term_fit(n->ctx, d, e[k]);
    }
    return e;
}

static bool
is_comparison(onnx_arith op)
{
    return op >= ONNX_EQUAL && op <= ONNX_GREATER_EQUAL;
}

/* Whether the result modulo 2^32 follows from the operands modulo 2^32. */
static bool
is_ring(onnx_arith op)
{
    switch (op) {
    case ONNX_ADD:
    case ONNX_SUB:
    case ONNX_MUL:
    case ONNX_POW:
    case ONNX_NEG:
        return true;
    default:
        return false;
    }
}

bool
onnx_fold_binary(onnx_node *n)
{
    if (n->n_in < 1 || !n->in[0] || onnx_attr(n, "axis") || onnx_attr(n, "broadcast"))
        return false;
    onnx_value all = *n->in[0];
    tnb_dtype d = all.dtype;
    uint64_t count = all.n_elems;
    const tn_expr **e = (const tn_expr **)(uintptr_t)all.elems;
    for (uint32_t i = 1; i < n->n_in; i++) {
        int64_t dims[ONNX_MAX_RANK];
        int32_t ndim;
        const onnx_value *b = n->in[i];
        if (!b || (!tnb_dtype_eq(d, b->dtype) && arith_of(n) != ONNX_POW))
            return false;
        e = combine(n, &all, b, d, dims, &ndim, &count);
        if (!e)
            return false;
        all.ndim = ndim;
        memcpy(all.dims, dims, sizeof dims);
        all.elems = e;
        all.n_elems = (uint32_t)count;
    }
    return is_ring(arith_of(n)) ? ret_terms(n, d, all.ndim, all.dims, e, count)
                                : ret_of_numbers(n, is_comparison(arith_of(n)) ? TNB_B8 : d,
                                                 all.ndim, all.dims, e, count);
}

bool
onnx_fold_unary(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    const tn_expr **e = new_elems(n, v->n_elems);
    for (uint32_t k = 0; e && k < v->n_elems; k++) {
        e[k] = onnx_term_unary(n->ctx, arith_of(n), v->dtype, v->elems[k]);
        if (!e[k] || tn_is_error(e[k]))
            return false;
        e[k] = onnx_term_fit(n->ctx, v->dtype, e[k]);
    }
    if (!e)
        return false;
    return is_ring(arith_of(n)) ? ret_terms(n, v->dtype, v->ndim, v->dims, e, v->n_elems)
                                : ret_of_numbers(n, v->dtype, v->ndim, v->dims, e, v->n_elems);
}

bool
onnx_fold_clip(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    const tn_expr **e = new_elems(n, v->n_elems);
    if (n->version < 11)
        return false;
    for (uint32_t k = 0; e && k < v->n_elems; k++) {
        e[k] = v->elems[k];
        for (uint32_t i = 1; i < 3 && e[k]; i++) {
            if (!onnx_has(n, i))
                continue;
            if (n->in[i]->n_elems != 1)
                return false;
            e[k] = onnx_term_binary(n->ctx, i == 1 ? ONNX_MAX : ONNX_MIN, v->dtype, false, e[k],
                                    n->in[i]->elems[0]);
        }
    }
    return e && ret_of_numbers(n, v->dtype, v->ndim, v->dims, e, v->n_elems);
}

bool
onnx_fold_where(onnx_node *n)
{
    int64_t ab[ONNX_MAX_RANK], dims[ONNX_MAX_RANK];
    int32_t n_ab, ndim;
    const onnx_value *cond = n->in[0], *a = n->in[1], *b = n->in[2];
    if (!broadcast_dims(a->dims, a->ndim, b->dims, b->ndim, ab, &n_ab) ||
        !broadcast_dims(cond->dims, cond->ndim, ab, n_ab, dims, &ndim) ||
        !tnb_dtype_eq(a->dtype, b->dtype))
        return false;
    uint64_t count = count_of(dims, ndim);
    const tn_expr **e = new_elems(n, count);
    for (uint64_t k = 0; e && k < count; k++)
        e[k] = onnx_term_where(n->ctx, a->dtype, broadcast_at(cond, k, dims, ndim),
                               broadcast_at(a, k, dims, ndim), broadcast_at(b, k, dims, ndim));
    return e && ret_terms(n, a->dtype, ndim, dims, e, count);
}

static bool
fold_cast(onnx_node *n, tnb_dtype to)
{
    const onnx_value *v = n->in[0];
    const tn_expr **e = new_elems(n, v->n_elems);
    if (!to.bits || (!tnb_dtype_is_float(to) && !tnb_dtype_is_int(to) && to.code != TNB_BOOL) ||
        to.bits < 8 || (to.bits == 8 && tnb_dtype_is_float(to)))
        return false;
    for (uint32_t k = 0; e && k < v->n_elems; k++)
        e[k] = onnx_term_cast(n->ctx, v->dtype, to, v->elems[k]);
    bool narrows = tnb_dtype_is_int(to) && to.bits <= v->dtype.bits;
    if (!e)
        return false;
    return narrows ? ret_terms(n, to, v->ndim, v->dims, e, v->n_elems)
                   : ret_of_numbers(n, to, v->ndim, v->dims, e, v->n_elems);
}

bool
onnx_fold_cast(onnx_node *n)
{
    return fold_cast(n, tnb_onnx_dtype(onnx_attr_int(n, "to", 0)));
}

bool
onnx_fold_cast_like(onnx_node *n)
{
    return fold_cast(n, onnx_in_dtype(n, 1));
}

/* ---- shapes ---- */

/* Extents of an input, also of one that is known by its elements. */
static bool
dims_of(onnx_node *n, onnx_value *v, tn_list *dims)
{
    const tn_node *d[ONNX_MAX_RANK];
    if (v->has_elems && !v->expr) {
        for (int32_t i = 0; i < v->ndim; i++)
            d[i] = tn_i64(n->ctx, v->dims[i]);
        *dims = tn_list_of(n->ctx, d, (uint32_t)v->ndim);
        return true;
    }
    const tn_expr *x = onnx_value_expr(n, v);
    return !tn_is_error(x) && tn_type_dims(x->type, dims);
}

bool
onnx_fold_shape(onnx_node *n)
{
    tn_list dims;
    if (!dims_of(n, n->in[0], &dims))
        return false;
    int64_t start = onnx_attr_int(n, "start", 0), end = onnx_attr_int(n, "end", INT64_MAX),
            rank = dims.n;
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end > rank ? rank : end < start ? start : end;
    int64_t count = end - start;
    const tn_expr **e = new_elems(n, (uint64_t)count);
    for (int64_t i = 0; e && i < count; i++)
        e[i] = dims.at[start + i];
    return e && onnx_ret_elems(n, 0, TNB_I64, 1, &count, e);
}

bool
onnx_fold_size(onnx_node *n)
{
    tn_list dims;
    const tn_expr **e = new_elems(n, 1);
    if (!dims_of(n, n->in[0], &dims))
        return false;
    e[0] = tn_product(n->ctx, dims);
    return onnx_ret_elems(n, 0, TNB_I64, 0, NULL, e);
}

/* What -1 stands for: the elements over those of the other entries. An extent that the result keeps is left out of both: where
 * it is 0 there are no elements, and any number will do. */
static const tn_expr *
rest_of(onnx_node *n, tn_list in, const tn_expr *const *out, uint32_t count, uint32_t hole)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *known = tn_i64(ctx, 1), *one = known;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (i != hole && k < in.n &&
               (tn_is(in.at[k], TN_KIND_INT_IMM) || !tn_prove_equal(ctx, in.at[k], out[i])))
            k++;
        if (i != hole && k < in.n)
            in = tn_list_with(ctx, in, k, one);
        else if (i != hole)
            known = tn_mul(ctx, known, out[i]);
    }
    const tn_expr *all = tn_product(ctx, in);
    known = onnx_simplify(n, known);
    const tn_expr *rest = onnx_simplify(n, tn_floordiv(ctx, all, known));
    if (onnx_term_divides(rest)) /* which may be 0 */
        rest = onnx_simplify(n, tn_floordiv(ctx, all, tn_max(ctx, known, one)));
    return rest;
}

bool
onnx_reshape_target(onnx_node *n, tn_list in, const tn_expr *const *target, uint32_t count,
                    bool zero_copies, const tn_expr **out)
{
    tn_ctx *ctx = n->ctx;
    int64_t v;
    int hole = -1;
    const tn_expr *known = tn_i64(ctx, 1);
    if (count > ONNX_MAX_DIMS)
        return onnx_fail(n, TNB_BOUNDS, "the target shape has %u dimensions", count);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = onnx_simplify(n, target[i]);
        if (tn_int_value(out[i], &v) && v == 0 && zero_copies) {
            if (i >= in.n)
                return onnx_fail(
                    n, TNB_SHAPE,
                    "entry %u of the target shape is 0 (as the input's), but the input has rank %u",
                    i, in.n);
            out[i] = in.at[i];
        } else if (tn_int_value(out[i], &v) && v < -1) {
            return onnx_fail(n, TNB_SHAPE, "entry %u of the target shape is %" PRId64, i, v);
        } else if (tn_int_value(out[i], &v) && v == -1) {
            if (hole >= 0)
                return onnx_fail(n, TNB_SHAPE, "entries %d and %u of the target shape are both -1",
                                 hole, i);
            hole = (int)i;
            continue;
        }
        known = tn_mul(ctx, known, out[i]);
    }
    if (hole < 0)
        return true;
    const tn_expr *all = tn_product(ctx, in);
    known = onnx_simplify(n, known);
    int64_t total, part;
    if (tn_int_value(known, &part) && part == 0)
        return onnx_fail(n, TNB_SHAPE, "the target shape has -1 beside 0");
    if (tn_int_value(all, &total) && tn_int_value(known, &part) && total % part)
        return onnx_fail(n, TNB_SHAPE,
                         "%" PRId64
                         " elements cannot be reshaped: they are not a multiple of %" PRId64,
                         total, part);
    out[hole] = rest_of(n, in, out, count, (uint32_t)hole);
    return true;
}

/* The elements as they are, in another shape. */
static bool
ret_reshaped(onnx_node *n, int32_t ndim, const int64_t *dims)
{
    onnx_value *v = n->in[0];
    return count_of(dims, ndim) == v->n_elems &&
           onnx_ret_elems(n, 0, v->dtype, ndim, dims, v->elems);
}

bool
onnx_fold_identity(onnx_node *n)
{
    return ret_reshaped(n, n->in[0]->ndim, n->in[0]->dims);
}

bool
onnx_fold_reshape(onnx_node *n)
{
    int64_t dims[ONNX_MAX_RANK];
    const tn_expr *out[ONNX_MAX_DIMS];
    tn_list in = {0};
    if (n->n_in < 2 || n->in[1]->n_elems > ONNX_MAX_RANK)
        return false;
    if (!dims_of(n, n->in[0], &in) ||
        !onnx_reshape_target(n, in, n->in[1]->elems, n->in[1]->n_elems,
                             !onnx_attr_int(n, "allowzero", 0), out))
        return false;
    int32_t ndim = (int32_t)n->in[1]->n_elems;
    for (int32_t i = 0; i < ndim; i++)
        if (!tn_int_value(out[i], &dims[i]))
            return false;
    return ret_reshaped(n, ndim, dims);
}

bool
onnx_fold_flatten(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    int64_t axis = onnx_attr_int(n, "axis", 1);
    axis = axis < 0 ? axis + v->ndim : axis;
    if (axis < 0 || axis > v->ndim)
        return false;
    int64_t dims[2] = {(int64_t)count_of(v->dims, (int32_t)axis),
                       (int64_t)count_of(v->dims + axis, v->ndim - (int32_t)axis)};
    return ret_reshaped(n, 2, dims);
}

bool
onnx_fold_unsqueeze(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    int64_t axes[ONNX_MAX_DIMS], dims[ONNX_MAX_RANK];
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    int64_t rank = v->ndim + count;
    if (count < 0 || rank > ONNX_MAX_RANK || !onnx_axes(n, rank, axes, count))
        return false;
    for (int32_t i = 0, j = 0; i < rank; i++) {
        bool added = false;
        for (int k = 0; k < count; k++)
            added |= axes[k] == i;
        dims[i] = added ? 1 : v->dims[j++];
    }
    return ret_reshaped(n, (int32_t)rank, dims);
}

bool
onnx_fold_squeeze(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    int64_t axes[ONNX_MAX_DIMS], dims[ONNX_MAX_RANK];
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    int32_t ndim = 0;
    if (count > 0 && !onnx_axes(n, v->ndim, axes, count))
        return false;
    for (int32_t i = 0; i < v->ndim; i++) {
        bool drop = count < 0 && v->dims[i] == 1;
        for (int k = 0; k < count; k++)
            drop |= axes[k] == i;
        if (drop && v->dims[i] != 1)
            return false;
        if (!drop)
            dims[ndim++] = v->dims[i];
    }
    return ret_reshaped(n, ndim, dims);
}

/* ---- moving elements ---- */

bool
onnx_fold_gather(onnx_node *n)
{
    const onnx_value *v = n->in[0], *idx = n->in[1];
    int64_t axis = onnx_attr_int(n, "axis", 0), dims[2 * ONNX_MAX_RANK];
    if (v->ndim == 0 || !onnx_axis(n, v->ndim, &axis) || v->ndim - 1 + idx->ndim > ONNX_MAX_RANK)
        return false;
    uint64_t before = count_of(v->dims, (int32_t)axis),
             after = count_of(v->dims + axis + 1, v->ndim - (int32_t)axis - 1);
    int32_t ndim = 0;
    for (int32_t i = 0; i < axis; i++)
        dims[ndim++] = v->dims[i];
    for (int32_t i = 0; i < idx->ndim; i++)
        dims[ndim++] = idx->dims[i];
    for (int32_t i = (int32_t)axis + 1; i < v->ndim; i++)
        dims[ndim++] = v->dims[i];
    const tn_expr **e = new_elems(n, before * idx->n_elems * after);
    uint64_t at = 0;
    for (uint64_t b = 0; e && b < before; b++)
        for (uint32_t k = 0; k < idx->n_elems; k++) {
            int64_t i;
            if (!tn_int_value(idx->elems[k], &i))
                return false;
            if (i < -v->dims[axis] || i >= v->dims[axis])
                return !onnx_may_not_run(n) &&
                       onnx_fail(n, TNB_BOUNDS,
                                 "index %" PRId64 " is out of range for an axis of %" PRId64
                                 " entries",
                                 i, v->dims[axis]);
            i = i < 0 ? i + v->dims[axis] : i;
            for (uint64_t a = 0; a < after; a++)
                e[at++] = v->elems[(b * (uint64_t)v->dims[axis] + (uint64_t)i) * after + a];
        }
    return e && onnx_ret_elems(n, 0, v->dtype, ndim, dims, e);
}

bool
onnx_fold_concat(onnx_node *n)
{
    /* rank 0 counts as one element, as some exporters write it */
    int32_t ndim = n->in[0]->ndim ? n->in[0]->ndim : 1;
    int64_t axis = onnx_attr_int(n, "axis", n->version < 4 ? 1 : 0), dims[ONNX_MAX_RANK] = {0};
    if (!onnx_axis(n, ndim, &axis))
        return false;
    uint64_t total = 0, before = 1, at = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const onnx_value *v = n->in[i];
        if (!v || (v->ndim ? v->ndim : 1) != ndim || !tnb_dtype_eq(v->dtype, n->in[0]->dtype))
            return false;
        total += v->n_elems;
        for (int32_t k = 0; k < ndim; k++) {
            int64_t d = v->ndim ? v->dims[k] : 1;
            if (k == axis)
                dims[k] += d;
            else if (i && dims[k] != d)
                return false;
            else
                dims[k] = d;
        }
    }
    for (int32_t k = 0; k < axis; k++)
        before *= (uint64_t)dims[k];
    const tn_expr **e = new_elems(n, total);
    for (uint64_t b = 0; e && b < before && total; b++)
        for (uint32_t i = 0; i < n->n_in; i++) {
            uint64_t part = n->in[i]->n_elems / before;
            for (uint64_t k = 0; k < part; k++)
                e[at++] = n->in[i]->elems[b * part + k];
        }
    return e && onnx_ret_elems(n, 0, n->in[0]->dtype, ndim, dims, e);
}

static bool
list_or_input(onnx_node *n, const char *attr, uint32_t i, const char *what, const tn_expr **out,
              uint32_t *count)
{
    int64_t v[ONNX_MAX_DIMS];
    int have = n->version < 10 && *attr ? onnx_attr_ints(n, attr, v, ONNX_MAX_DIMS) : -1;
    const tn_expr *const *e;
    if (have >= 0) {
        *count = (uint32_t)have;
        for (int k = 0; k < have; k++)
            out[k] = tn_i64(n->ctx, v[k]);
        return true;
    }
    if (!onnx_elems(n, i, what, &e, count))
        return false;
    if (*count > ONNX_MAX_DIMS)
        return onnx_fail(n, TNB_BOUNDS, "%s has %u entries", what, *count);
    for (uint32_t k = 0; k < *count; k++)
        out[k] = e[k];
    return true;
}

bool
onnx_read_slice_terms(onnx_node *n, int64_t rank, onnx_terms *t)
{
    uint32_t n_ends = 0, n_axes = 0, n_steps = 0;
    int64_t axes[ONNX_MAX_DIMS];
    if (!list_or_input(n, "starts", 1, "the starts", t->starts, &t->count) ||
        !list_or_input(n, "ends", 2, "the ends", t->ends, &n_ends))
        return false;
    if (n_ends != t->count)
        return onnx_fail(n, TNB_SHAPE, "there are %u starts, but %u ends", t->count, n_ends);
    for (uint32_t i = 0; i < t->count; i++) {
        t->axes[i] = tn_i64(n->ctx, i);
        t->steps[i] = tn_i64(n->ctx, 1);
    }
    int have = n->version < 10 ? onnx_attr_ints(n, "axes", axes, ONNX_MAX_DIMS) : -1;
    for (int i = 0; i < have; i++)
        t->axes[i] = tn_i64(n->ctx, axes[i]);
    n_axes = have >= 0 ? (uint32_t)have : t->count;
    if (have < 0 && onnx_has(n, 3) && !list_or_input(n, "", 3, "the axes", t->axes, &n_axes))
        return false;
    n_steps = t->count;
    if (onnx_has(n, 4) && !list_or_input(n, "", 4, "the steps", t->steps, &n_steps))
        return false;
    if (n_axes != t->count || n_steps != t->count)
        return onnx_fail(n, TNB_SHAPE, "there are %u starts, but %u axes and %u steps", t->count,
                         n_axes, n_steps);
    if (t->count > rank)
        return onnx_fail(n, TNB_SHAPE, "%u axes are sliced, but the data has rank %" PRId64,
                         t->count, rank);
    for (uint32_t i = 0; i < t->count; i++) {
        t->starts[i] = onnx_simplify(n, t->starts[i]);
        t->ends[i] = onnx_simplify(n, t->ends[i]);
        t->axes[i] = onnx_simplify(n, t->axes[i]);
        t->steps[i] = onnx_simplify(n, t->steps[i]);
    }
    return !n->failed;
}

bool
onnx_read_slices(onnx_node *n, int64_t rank, onnx_slices *s)
{
    uint32_t n_ends = 0, n_axes = 0, n_steps = 0;
    if (!list_or_input(n, "starts", 1, "the starts", s->starts, &s->count) ||
        !list_or_input(n, "ends", 2, "the ends", s->ends, &n_ends))
        return false;
    if (n_ends != s->count)
        return onnx_fail(n, TNB_SHAPE, "there are %u starts, but %u ends", s->count, n_ends);
    for (uint32_t i = 0; i < s->count; i++) {
        s->axes[i] = i;
        s->steps[i] = 1;
    }
    int have = n->version < 10 ? onnx_attr_ints(n, "axes", s->axes, ONNX_MAX_DIMS) : -1;
    n_axes = have >= 0 ? (uint32_t)have : s->count;
    if (have < 0 && onnx_has(n, 3) && !onnx_ints(n, 3, "the axes", s->axes, ONNX_MAX_DIMS, &n_axes))
        return false;
    n_steps = s->count;
    if (onnx_has(n, 4) && !onnx_ints(n, 4, "the steps", s->steps, ONNX_MAX_DIMS, &n_steps))
        return false;
    if (n_axes != s->count || n_steps != s->count)
        return onnx_fail(n, TNB_SHAPE, "there are %u starts, but %u axes and %u steps", s->count,
                         n_axes, n_steps);
    for (uint32_t i = 0; i < s->count; i++)
        if (!s->steps[i])
            return onnx_fail(n, TNB_INVALID, "step %u is 0", i);
    return !n->failed && onnx_axes(n, rank, s->axes, (int)s->count);
}

bool
onnx_fold_slice(onnx_node *n)
{
    onnx_value *v = n->in[0];
    onnx_slices s;
    for (uint32_t i = 3; i < n->n_in; i++)
        if (onnx_has(n, i) && !onnx_are_numbers(n, i))
            return false;
    int64_t begin[ONNX_MAX_RANK], step[ONNX_MAX_RANK], dims[ONNX_MAX_RANK];
    if (!onnx_read_slices(n, v->ndim, &s))
        return false;
    for (int32_t i = 0; i < v->ndim; i++) {
        begin[i] = 0;
        step[i] = 1;
        dims[i] = v->dims[i];
    }
    for (uint32_t i = 0; i < s.count; i++) {
        int64_t b, e, len = 0, x = v->dims[s.axes[i]], st = s.steps[i];
        if (!tn_int_value(onnx_simplify(n, s.starts[i]), &b) ||
            !tn_int_value(onnx_simplify(n, s.ends[i]), &e))
            return false;
        e = st < 0 && (e == INT64_MAX || e == INT32_MAX) ? INT64_MIN : e;
        st = st > x ? x + 1 : st < -x ? -x - 1 : st; /* one entry at most either way */
        b = b < 0 ? (b < -x ? -1 : b + x) : b;
        e = e < 0 ? (e < -x ? -1 : e + x) : e;
        if (st > 0) {
            b = b < 0 ? 0 : b > x ? x : b;
            e = e < 0 ? 0 : e > x ? x : e;
            len = (e - b + st - 1) / st;
        } else if (st < 0) {
            b = b >= x ? x - 1 : b < 0 && x > 0 ? 0 : b;
            e = e >= x ? x - 1 : e;
            len = (b - e - st - 1) / -st;
        }
        begin[s.axes[i]] = b;
        step[s.axes[i]] = st;
        dims[s.axes[i]] = len < 0 ? 0 : len;
    }
    uint64_t count = count_of(dims, v->ndim);
    const tn_expr **out = new_elems(n, count);
    for (uint64_t k = 0; out && k < count; k++) {
        uint64_t rest = k, at = 0, stride = 1;
        for (int32_t i = v->ndim - 1; i >= 0; i--) {
            at += (uint64_t)(begin[i] + (int64_t)(rest % (uint64_t)dims[i]) * step[i]) * stride;
            rest /= (uint64_t)dims[i];
            stride *= (uint64_t)v->dims[i];
        }
        out[k] = v->elems[at];
    }
    return out && onnx_ret_elems(n, 0, v->dtype, v->ndim, dims, out);
}

bool
onnx_split_sizes(onnx_node *n, int64_t extent, int64_t *sizes, uint32_t *count)
{
    uint32_t given = 0;
    int have = onnx_attr_ints(n, "split", sizes, 64);
    if (have >= 0) {
        given = (uint32_t)have;
    } else if (n->failed) {
        return false;
    } else if (onnx_has(n, 1)) {
        if (!onnx_ints(n, 1, "the sizes of the parts", sizes, 64, &given))
            return false;
    } else {
        int64_t parts = onnx_attr_int(n, "num_outputs", (int64_t)n->n_out);
        if (parts < 1 || parts > 64 || extent < 0)
            return onnx_fail(n, TNB_UNSUPPORTED,
                             "an axis of %" PRId64 " entries cannot be split into %" PRId64
                             " parts",
                             extent, parts);
        int64_t each = extent / parts + (extent % parts != 0);
        for (int64_t i = 0; i < parts; i++, given++)
            sizes[i] = i + 1 < parts ? each : extent - each * (parts - 1);
    }
    int64_t sum = 0;
    for (uint32_t i = 0; i < given; i++)
        if (sizes[i] < 0 || !tnb_add_i64(sum, sizes[i], &sum))
            return onnx_fail(n, TNB_SHAPE, "part %u would have %" PRId64 " entries", i, sizes[i]);
    *count = given;
    if (given < n->n_out)
        return onnx_fail(n, TNB_SHAPE, "the node has %u outputs, but %u parts", n->n_out, given);
    if (extent >= 0 && sum != extent)
        return onnx_fail(n, TNB_SHAPE,
                         "the parts have %" PRId64 " entries together, but the axis has %" PRId64,
                         sum, extent);
    return true;
}

bool
onnx_fold_split(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    int64_t axis = onnx_attr_int(n, "axis", 0), sizes[64], dims[ONNX_MAX_RANK], start = 0;
    uint32_t parts;
    if (onnx_has(n, 1) && !onnx_are_numbers(n, 1))
        return false;
    if (!onnx_axis(n, v->ndim, &axis) || !onnx_split_sizes(n, v->dims[axis], sizes, &parts))
        return false;
    uint64_t before = count_of(v->dims, (int32_t)axis),
             after = count_of(v->dims + axis + 1, v->ndim - (int32_t)axis - 1);
    memcpy(dims, v->dims, sizeof dims);
    for (uint32_t p = 0; p < parts; p++) {
        const tn_expr **e = new_elems(n, before * (uint64_t)sizes[p] * after);
        uint64_t at = 0;
        for (uint64_t b = 0; b < before; b++)
            for (int64_t k = 0; k < sizes[p]; k++)
                for (uint64_t a = 0; a < after; a++)
                    e[at++] =
                        v->elems[(b * (uint64_t)v->dims[axis] + (uint64_t)(start + k)) * after + a];
        dims[axis] = sizes[p];
        start += sizes[p];
        onnx_ret_elems(n, p, v->dtype, v->ndim, dims, e);
    }
    return true;
}

bool
onnx_fold_transpose(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    int64_t perm[ONNX_MAX_RANK], dims[ONNX_MAX_RANK];
    uint64_t strides[ONNX_MAX_RANK], stride = 1;
    int count = onnx_attr_ints(n, "perm", perm, ONNX_MAX_RANK);
    for (int32_t i = v->ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= (uint64_t)v->dims[i];
        if (count < 0)
            perm[i] = v->ndim - 1 - i;
    }
    if (n->failed || (count >= 0 && (count != v->ndim || !onnx_axes(n, v->ndim, perm, count))))
        return false;
    for (int32_t i = 0; i < v->ndim; i++)
        dims[i] = v->dims[perm[i]];
    const tn_expr **e = new_elems(n, v->n_elems);
    for (uint64_t k = 0; e && k < v->n_elems; k++) {
        uint64_t rest = k, at = 0;
        for (int32_t i = v->ndim - 1; i >= 0; i--) {
            at += rest % (uint64_t)dims[i] * strides[perm[i]];
            rest /= (uint64_t)dims[i];
        }
        e[k] = v->elems[at];
    }
    return e && onnx_ret_elems(n, 0, v->dtype, v->ndim, dims, e);
}

bool
onnx_fold_expand(onnx_node *n)
{
    const onnx_value *v = n->in[0], *s = n->in[1];
    int64_t want[ONNX_MAX_RANK], dims[ONNX_MAX_RANK];
    int32_t ndim;
    if (s->n_elems > ONNX_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < s->n_elems; i++)
        if (!tn_int_value(onnx_simplify(n, s->elems[i]), &want[i]) || want[i] < 0)
            return false;
    if (!broadcast_dims(v->dims, v->ndim, want, (int32_t)s->n_elems, dims, &ndim))
        return false;
    uint64_t count = count_of(dims, ndim);
    const tn_expr **e = new_elems(n, count);
    for (uint64_t k = 0; e && k < count; k++)
        e[k] = broadcast_at(v, k, dims, ndim);
    return e && onnx_ret_elems(n, 0, v->dtype, ndim, dims, e);
}

bool
onnx_fold_constant_of_shape(onnx_node *n)
{
    const onnx_value *s = n->in[0];
    int64_t dims[ONNX_MAX_RANK];
    const Onnx__AttributeProto *a = onnx_attr(n, "value");
    onnx_value fill = {.dtype = TNB_F32};
    if (s->n_elems > ONNX_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < s->n_elems; i++)
        if (!tn_int_value(onnx_simplify(n, s->elems[i]), &dims[i]) || dims[i] < 0)
            return false;
    uint64_t count = count_of(dims, (int32_t)s->n_elems);
    if (count > 64)
        return false;
    if (a && a->t) {
        fill.expr = onnx_tensor(n, a->t, "attribute 'value'");
        if (!onnx_value_known(n, &fill) || fill.n_elems != 1)
            return false;
    }
    if (tnb_dtype_is_float(fill.dtype))
        return false; /* the handler makes a splat */
    const tn_expr **e = new_elems(n, count);
    for (uint64_t k = 0; e && k < count; k++)
        e[k] = fill.elems[0];
    return e && onnx_ret_elems(n, 0, fill.dtype, (int32_t)s->n_elems, dims, e);
}

bool
onnx_fold_range(onnx_node *n)
{
    int64_t v[3];
    if (tnb_dtype_is_float(n->in[0]->dtype))
        return false;
    for (int i = 0; i < 3; i++)
        if (n->in[i]->n_elems != 1 || !tn_int_value(onnx_simplify(n, n->in[i]->elems[0]), &v[i]))
            return false;
    if (v[2] == 0)
        return onnx_fail(n, TNB_INVALID, "the step is 0");
    /* unsigned: a difference of two numbers may not fit */
    bool up = v[2] > 0;
    uint64_t a = (uint64_t)v[0], b = (uint64_t)v[1],
             step = up ? (uint64_t)v[2] : 0 - (uint64_t)v[2],
             span = (up ? v[0] < v[1] : v[1] < v[0]) ? (up ? b - a : a - b) : 0,
             steps = span / step + (span % step != 0);
    if (steps > ONNX_MAX_ELEMS)
        return false;
    int64_t count = (int64_t)steps;
    const tn_expr **e = new_elems(n, steps);
    for (int64_t k = 0; k < count; k++)
        e[k] = tn_i64(n->ctx, (int64_t)(a + (uint64_t)k * (uint64_t)v[2]));
    return onnx_ret_elems(n, 0, n->in[0]->dtype, 1, &count, e);
}

/* The position that element k, of a tensor with extents `dims`, has when the axes in `gone` count
 * no more. */
static uint64_t
reduced_at(uint64_t k, const int64_t *dims, int32_t ndim, const bool *gone)
{
    uint64_t at = 0, stride = 1;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        uint64_t x = k % (uint64_t)dims[i];
        k /= (uint64_t)dims[i];
        if (gone[i])
            continue;
        at += x * stride;
        stride *= (uint64_t)dims[i];
    }
    return at;
}

bool
onnx_fold_reduce(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    int64_t axes[ONNX_MAX_DIMS], dims[ONNX_MAX_RANK];
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    bool keep = onnx_attr_int(n, "keepdims", 1) != 0, gone[ONNX_MAX_RANK] = {false};
    if (v->n_elems == 0 || (count <= 0 && onnx_attr_int(n, "noop_with_empty_axes", 0)) ||
        (count > 0 && !onnx_axes(n, v->ndim, axes, count)))
        return false;
    int32_t ndim = 0;
    for (int32_t i = 0; i < v->ndim; i++)
        gone[i] = count <= 0;
    for (int i = 0; i < count; i++)
        gone[axes[i]] = true;
    for (int32_t i = 0; i < v->ndim; i++)
        if (!gone[i] || keep)
            dims[ndim++] = gone[i] ? 1 : v->dims[i];
    onnx_arith op = arith_of(n);
    uint64_t total = count_of(dims, ndim);
    const tn_expr **e = new_elems(n, total);
    for (uint32_t k = 0; e && k < v->n_elems; k++) {
        uint64_t at = reduced_at(k, v->dims, v->ndim, gone);
        e[at] =
            e[at] ? onnx_term_binary(n->ctx, op, v->dtype, false, e[at], v->elems[k]) : v->elems[k];
        if (!e[at] || tn_is_error(e[at]) || !onnx_term_small(e[at]))
            return false;
        e[at] = onnx_term_fit(n->ctx, v->dtype, e[at]);
    }
    if (!e)
        return false;
    return is_ring(op) ? ret_terms(n, v->dtype, ndim, dims, e, total)
                       : ret_of_numbers(n, v->dtype, ndim, dims, e, total);
}
