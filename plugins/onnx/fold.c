/* SPDX-License-Identifier: Apache-2.0 */
/* Known elements: arithmetic.
 *
 * Integers are terms over symbolic dimensions. Floats are literals, the cast of such a term, or its
 * quotient by an integer literal (scale computations: Cast, Div, Floor, Cast): what is more
 * complicated is left to run time, as are comparisons that the symbols do not decide.
 */
#include <inttypes.h>
#include <math.h>
#include "fold.h"
#include "tenon/core/walk.h"

/* ---- helpers ---- */

static const tn_expr **
new_elems(onnx_node *n, uint64_t count)
{
    return count > ONNX_MAX_ELEMS ? NULL : TNB_NEW_N(n->imp->arena, const tn_expr *, count + 1);
}

static uint64_t
count_of(const int64_t *dims, int32_t ndim)
{
    uint64_t c = 1;
    for (int32_t i = 0; i < ndim; i++)
        if (!tnb_mul_u64(c, (uint64_t)dims[i], &c))
            return UINT64_MAX;
    return c;
}

static bool
is_nonneg(tn_ctx *ctx, const tn_expr *e)
{
    int64_t lo, hi;
    if (tn_int_value(e, &lo))
        return lo >= 0;
    tn_arith *a = tn_arith_new(ctx);
    tn_list vars = tn_free_vars(ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++)
        tn_arith_shape_var(a, vars.at[i]);
    tn_bounds(a, e, &lo, &hi);
    return lo >= 0;
}

/* Wraps an integer literal to its dtype, rounds a float one. */
static const tn_expr *
as_dtype(tn_ctx *ctx, tnb_dtype d, const tn_expr *e)
{
    int64_t v;
    uint8_t mem[16] = {0};
    const tn_float_imm *f = tn_as_float_imm(e);
    double x;
    if (f && tnb_store_f64(mem, d, 0, f->value) && tnb_load_f64(mem, d, 0, &x))
        return tn_float_imm_of(ctx, TNB_F64, x);
    if (tn_int_value(e, &v) && tnb_store_i64(mem, d, 0, v) && tnb_load_i64(mem, d, 0, &v))
        return tn_i64(ctx, v);
    return e;
}

static bool
float_value(const tn_expr *e, double *v)
{
    const tn_float_imm *f = tn_as_float_imm(e);
    if (f)
        *v = f->value;
    return f != NULL;
}

/* ---- elementwise ---- */

static const tn_expr *
float_binary(tn_ctx *ctx, const char *op, const tn_expr *a, const tn_expr *b)
{
    double x = 0, y = 0;
    bool lit_x = float_value(a, &x), lit_y = float_value(b, &y);
    if (lit_x && lit_y) {
        double r = !strcmp(op, "Add")   ? x + y
                   : !strcmp(op, "Sub") ? x - y
                   : !strcmp(op, "Mul") ? x * y
                   : !strcmp(op, "Div") ? x / y
                   : !strcmp(op, "Min") ? (isnan(x) || x < y ? x : y)
                   : !strcmp(op, "Max") ? (isnan(x) || x > y ? x : y)
                                        : NAN;
        bool known = strstr("Add Sub Mul Div Min Max", op) != NULL;
        return known ? tn_float_imm_of(ctx, TNB_F64, r) : NULL;
    }
    const tn_cast *ca = tn_as_cast(a), *cb = tn_as_cast(b);
    bool whole_x = lit_x && x == floor(x) && fabs(x) < 1e9,
         whole_y = lit_y && y == floor(y) && fabs(y) < 1e9;
    const tn_expr *ia = ca ? ca->value : whole_x ? tn_i64(ctx, (int64_t)x) : NULL;
    const tn_expr *ib = cb ? cb->value : whole_y ? tn_i64(ctx, (int64_t)y) : NULL;
    if (!ia || !ib)
        return NULL;
    if (!strcmp(op, "Add"))
        return tn_raw_cast(ctx, TNB_F64, tn_add(ctx, ia, ib));
    if (!strcmp(op, "Sub"))
        return tn_raw_cast(ctx, TNB_F64, tn_sub(ctx, ia, ib));
    if (!strcmp(op, "Mul"))
        return tn_raw_cast(ctx, TNB_F64, tn_mul(ctx, ia, ib));
    if (!strcmp(op, "Div") && ca && whole_y && y > 0)
        return tn_raw_binary(ctx, TN_KIND_DIV, a, b);
    return NULL;
}

static const tn_expr *
truth(tn_ctx *ctx, bool v)
{
    return tn_i64(ctx, v);
}

static const tn_expr *
compare_ints(tn_ctx *ctx, const char *op, const tn_expr *a, const tn_expr *b)
{
    int64_t x = 0, y = 0;
    if (tn_int_value(a, &x) && tn_int_value(b, &y))
        return truth(ctx, !strcmp(op, "Equal")         ? x == y
                          : !strcmp(op, "Less")        ? x < y
                          : !strcmp(op, "Greater")     ? x > y
                          : !strcmp(op, "LessOrEqual") ? x <= y
                                                       : x >= y);
    const tn_expr *d = tn_simplify_now(ctx, tn_sub(ctx, a, b));
    if (!strcmp(op, "Equal")) {
        if (tn_is_int_const(d, 0))
            return truth(ctx, true);
        /* an extent is never negative: -1 in a target shape is not one */
        if ((tn_int_value(b, &y) && y < 0 && is_nonneg(ctx, a)) ||
            (tn_int_value(a, &x) && x < 0 && is_nonneg(ctx, b)))
            return truth(ctx, false);
        return tn_int_value(d, &x) ? truth(ctx, x == 0) : NULL;
    }
    if (tn_int_value(d, &x))
        return compare_ints(ctx, op, d, tn_i64(ctx, 0));
    return NULL;
}

static const tn_expr *
int_binary(tn_ctx *ctx, const char *op, const tn_expr *a, const tn_expr *b)
{
    int64_t x = 0, y = 0;
    bool lit = tn_int_value(a, &x) && tn_int_value(b, &y);
    if (!strcmp(op, "Add"))
        return tn_add(ctx, a, b);
    if (!strcmp(op, "Sub"))
        return tn_sub(ctx, a, b);
    if (!strcmp(op, "Mul"))
        return tn_mul(ctx, a, b);
    if (!strcmp(op, "Min"))
        return tn_min(ctx, a, b);
    if (!strcmp(op, "Max"))
        return tn_max(ctx, a, b);
    if (!strcmp(op, "Div") || !strcmp(op, "Mod")) {
        bool div = op[0] == 'D';
        if (tn_int_value(b, &y) && y == 0)
            return NULL;
        if (lit && !(x == INT64_MIN && y == -1))
            return div ? tn_i64(ctx, x / y)
                       : tn_i64(ctx, (x % y != 0 && (x % y < 0) != (y < 0)) ? x % y + y : x % y);
        if (!is_nonneg(ctx, a) || !tn_int_value(b, &y) || y <= 0)
            return NULL;
        return div ? tn_floordiv(ctx, a, b) : tn_floormod(ctx, a, b);
    }
    if (!strcmp(op, "And"))
        return lit ? truth(ctx, x && y) : NULL;
    if (!strcmp(op, "Or"))
        return lit ? truth(ctx, x || y) : NULL;
    return compare_ints(ctx, op, a, b);
}

static bool
is_comparison(const char *op)
{
    return !strcmp(op, "Equal") || !strcmp(op, "Less") || !strcmp(op, "Greater") ||
           !strcmp(op, "LessOrEqual") || !strcmp(op, "GreaterOrEqual");
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

bool
onnx_fold_binary(onnx_node *n)
{
    if (n->n_in < 1 || onnx_attr(n, "axis") || onnx_attr(n, "broadcast"))
        return false;
    if (n->n_in == 1)
        return onnx_ret_elems(n, 0, n->in[0]->dtype, n->in[0]->ndim, n->in[0]->dims,
                              n->in[0]->elems);
    if (n->n_in != 2 || !tnb_dtype_eq(n->in[0]->dtype, n->in[1]->dtype))
        return false;
    const onnx_value *a = n->in[0], *b = n->in[1];
    int64_t dims[ONNX_MAX_RANK];
    int32_t ndim;
    bool floats = tnb_dtype_is_float(a->dtype), compares = is_comparison(n->op);
    if (!broadcast_dims(a->dims, a->ndim, b->dims, b->ndim, dims, &ndim) || (floats && compares) ||
        onnx_attr_int(n, "fmod", 0))
        return false;
    uint64_t count = count_of(dims, ndim);
    const tn_expr **e = new_elems(n, count);
    for (uint64_t k = 0; e && k < count; k++) {
        const tn_expr *x = broadcast_at(a, k, dims, ndim), *y = broadcast_at(b, k, dims, ndim);
        e[k] = floats ? float_binary(n->ctx, n->op, x, y) : int_binary(n->ctx, n->op, x, y);
        if (!e[k] || tn_is_error(e[k]))
            return false;
        if (!compares)
            e[k] = as_dtype(n->ctx, a->dtype, e[k]);
    }
    return e && onnx_ret_elems(n, 0, compares ? TNB_B8 : a->dtype, ndim, dims, e);
}

static const tn_expr *
unary(tn_ctx *ctx, const char *op, const tn_expr *a, bool floats)
{
    double x;
    int64_t v = 0;
    if (!floats) {
        bool lit = tn_int_value(a, &v);
        return !strcmp(op, "Neg")    ? tn_sub(ctx, tn_i64(ctx, 0), a)
               : !strcmp(op, "Abs")  ? (is_nonneg(ctx, a)      ? a
                                        : lit && v > INT64_MIN ? tn_i64(ctx, -v)
                                                               : NULL)
               : !strcmp(op, "Relu") ? tn_max(ctx, a, tn_i64(ctx, 0))
               : !strcmp(op, "Not")  ? (lit ? truth(ctx, !v) : NULL)
                                     : NULL;
    }
    const tn_binary *q = tn_is(a, TN_KIND_DIV) ? tn_as_binary(a) : NULL;
    if (q && (!strcmp(op, "Floor") || !strcmp(op, "Ceil"))) {
        const tn_expr *top = ((const tn_cast *)q->a)->value;
        const tn_expr *by = tn_i64(ctx, (int64_t)((const tn_float_imm *)q->b)->value);
        return tn_raw_cast(ctx, TNB_F64,
                           op[0] == 'F' ? tn_floordiv(ctx, top, by) : tn_ceildiv(ctx, top, by));
    }
    if (tn_is(a, TN_KIND_CAST))
        return !strcmp(op, "Floor") || !strcmp(op, "Ceil") ? a : NULL;
    if (!float_value(a, &x))
        return NULL;
    double r = !strcmp(op, "Neg")     ? -x
               : !strcmp(op, "Abs")   ? fabs(x)
               : !strcmp(op, "Floor") ? floor(x)
               : !strcmp(op, "Ceil")  ? ceil(x)
               : !strcmp(op, "Sqrt")  ? sqrt(x)
               : x > 0                ? x
                                      : 0;
    return strstr("Neg Abs Floor Ceil Sqrt Relu", op) ? tn_float_imm_of(ctx, TNB_F64, r) : NULL;
}

bool
onnx_fold_unary(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    const tn_expr **e = new_elems(n, v->n_elems);
    for (uint32_t k = 0; e && k < v->n_elems; k++) {
        e[k] = unary(n->ctx, n->op, v->elems[k], tnb_dtype_is_float(v->dtype));
        if (!e[k] || tn_is_error(e[k]))
            return false;
        e[k] = as_dtype(n->ctx, v->dtype, e[k]);
    }
    return e && onnx_ret_elems(n, 0, v->dtype, v->ndim, v->dims, e);
}

bool
onnx_fold_where(onnx_node *n)
{
    int64_t ab[ONNX_MAX_RANK], dims[ONNX_MAX_RANK], c;
    int32_t n_ab, ndim;
    const onnx_value *cond = n->in[0], *a = n->in[1], *b = n->in[2];
    if (!broadcast_dims(a->dims, a->ndim, b->dims, b->ndim, ab, &n_ab) ||
        !broadcast_dims(cond->dims, cond->ndim, ab, n_ab, dims, &ndim) ||
        !tnb_dtype_eq(a->dtype, b->dtype))
        return false;
    uint64_t count = count_of(dims, ndim);
    const tn_expr **e = new_elems(n, count);
    for (uint64_t k = 0; e && k < count; k++) {
        if (!tn_int_value(broadcast_at(cond, k, dims, ndim), &c))
            return false;
        e[k] = broadcast_at(c ? a : b, k, dims, ndim);
    }
    return e && onnx_ret_elems(n, 0, a->dtype, ndim, dims, e);
}

static const tn_expr *
cast(tn_ctx *ctx, tnb_dtype to, const tn_expr *e, bool from_float)
{
    double x;
    int64_t v = 0;
    if (from_float) {
        if (tnb_dtype_is_float(to))
            return as_dtype(ctx, to, e);
        if (float_value(e, &x)) {
            if (!(fabs(x) < 9e18))
                return NULL;
            return to.code == TNB_BOOL ? truth(ctx, x != 0)
                                       : as_dtype(ctx, to, tn_i64(ctx, (int64_t)x));
        }
        if (to.code == TNB_BOOL)
            return NULL;
        if (tn_is(e, TN_KIND_CAST))
            return ((const tn_cast *)e)->value;
        const tn_binary *q = tn_as_binary(e);
        if (!q || !is_nonneg(ctx, ((const tn_cast *)q->a)->value))
            return NULL;
        return tn_floordiv(ctx, ((const tn_cast *)q->a)->value,
                           tn_i64(ctx, (int64_t)((const tn_float_imm *)q->b)->value));
    }
    bool lit = tn_int_value(e, &v);
    if (to.code == TNB_BOOL)
        return lit ? truth(ctx, v != 0) : NULL;
    if (tnb_dtype_is_float(to))
        return lit ? as_dtype(ctx, to, tn_float_imm_of(ctx, TNB_F64, (double)v))
                   : tn_raw_cast(ctx, TNB_F64, e);
    return lit ? as_dtype(ctx, to, e) : to.bits >= 32 ? e : NULL;
}

bool
onnx_fold_cast(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    tnb_dtype to =
        !strcmp(n->op, "CastLike") ? n->in[1]->dtype : tnb_onnx_dtype(onnx_attr_int(n, "to", 0));
    const tn_expr **e = new_elems(n, v->n_elems);
    if (!to.bits || (!tnb_dtype_is_float(to) && !tnb_dtype_is_int(to) && to.code != TNB_BOOL) ||
        to.bits < 8 || (to.bits == 8 && tnb_dtype_is_float(to)))
        return false;
    for (uint32_t k = 0; e && k < v->n_elems; k++) {
        e[k] = cast(n->ctx, to, v->elems[k], tnb_dtype_is_float(v->dtype));
        if (!e[k] || tn_is_error(e[k]))
            return false;
    }
    return e && onnx_ret_elems(n, 0, to, v->ndim, v->dims, e);
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
    out[hole] = onnx_simplify(n, tn_floordiv(ctx, all, known));
    return true;
}

static bool
reshape_dims(onnx_node *n, const onnx_value *v, int64_t *dims, int32_t *ndim)
{
    int64_t axes[ONNX_MAX_DIMS];
    int count;
    if (!strcmp(n->op, "Identity")) {
        *ndim = v->ndim;
        memcpy(dims, v->dims, sizeof v->dims);
        return true;
    }
    if (!strcmp(n->op, "Reshape")) {
        const tn_expr *out[ONNX_MAX_DIMS];
        tn_list in = {0};
        if (n->n_in < 2 || n->in[1]->n_elems > ONNX_MAX_RANK)
            return false;
        if (!dims_of(n, n->in[0], &in) ||
            !onnx_reshape_target(n, in, n->in[1]->elems, n->in[1]->n_elems,
                                 !onnx_attr_int(n, "allowzero", 0), out))
            return false;
        *ndim = (int32_t)n->in[1]->n_elems;
        for (int32_t i = 0; i < *ndim; i++)
            if (!tn_int_value(out[i], &dims[i]))
                return false;
        return true;
    }
    count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    if (!strcmp(n->op, "Unsqueeze")) {
        int64_t rank = v->ndim + count;
        if (count < 0 || rank > ONNX_MAX_RANK || !onnx_axes(n, rank, axes, count))
            return false;
        *ndim = (int32_t)rank;
        for (int32_t i = 0, j = 0; i < rank; i++) {
            bool added = false;
            for (int k = 0; k < count; k++)
                added |= axes[k] == i;
            dims[i] = added ? 1 : v->dims[j++];
        }
        return true;
    }
    if (!strcmp(n->op, "Squeeze")) {
        if (count > 0 && !onnx_axes(n, v->ndim, axes, count))
            return false;
        *ndim = 0;
        for (int32_t i = 0; i < v->ndim; i++) {
            bool drop = count < 0 && v->dims[i] == 1;
            for (int k = 0; k < count; k++)
                drop |= axes[k] == i;
            if (drop && v->dims[i] != 1)
                return false;
            if (!drop)
                dims[(*ndim)++] = v->dims[i];
        }
        return true;
    }
    return false;
}

bool
onnx_fold_reshape(onnx_node *n)
{
    int64_t dims[ONNX_MAX_RANK];
    int32_t ndim;
    onnx_value *v = n->in[0];
    return reshape_dims(n, v, dims, &ndim) && count_of(dims, ndim) == v->n_elems &&
           onnx_ret_elems(n, 0, v->dtype, ndim, dims, v->elems);
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
                return onnx_fail(n, TNB_BOUNDS,
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
    int have = n->version < 10 ? onnx_attr_ints(n, attr, v, ONNX_MAX_DIMS) : -1;
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
        st = st > x ? x + 1 : st < -x ? -x - 1 : st; /* one entry at most either way */
        b = b < 0 ? (b < -x ? -1 : b + x) : b;
        e = e < 0 ? (e < -x ? -1 : e + x) : e;
        if (st > 0) {
            b = b < 0 ? 0 : b > x ? x : b;
            e = e < 0 ? 0 : e > x ? x : e;
            len = (e - b + st - 1) / st;
        } else if (st < 0) {
            b = b >= x ? x - 1 : b < -1 ? -1 : b;
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
        int64_t each = (extent + parts - 1) / parts;
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
        e[k] = tn_i64(n->ctx, v[0] + k * v[2]);
    return onnx_ret_elems(n, 0, n->in[0]->dtype, 1, &count, e);
}

bool
onnx_fold_reduce(onnx_node *n)
{
    const onnx_value *v = n->in[0];
    int64_t axes[ONNX_MAX_DIMS], one[1] = {1};
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    bool keep = onnx_attr_int(n, "keepdims", 1) != 0;
    if (v->ndim > 1 || tnb_dtype_is_float(v->dtype) || v->n_elems == 0 ||
        onnx_attr_int(n, "noop_with_empty_axes", 0))
        return false;
    if (count > 0 && !onnx_axes(n, v->ndim, axes, count))
        return false;
    const char *op = !strcmp(n->op, "ReduceProd")  ? "Mul"
                     : !strcmp(n->op, "ReduceSum") ? "Add"
                     : !strcmp(n->op, "ReduceMax") ? "Max"
                                                   : "Min";
    const tn_expr **e = new_elems(n, 1);
    e[0] = v->elems[0];
    for (uint32_t k = 1; k < v->n_elems; k++)
        e[0] = int_binary(n->ctx, op, e[0], v->elems[k]);
    e[0] = as_dtype(n->ctx, v->dtype, e[0]);
    return onnx_ret_elems(n, 0, v->dtype, keep && v->ndim ? 1 : 0, one, e);
}
