/* SPDX-License-Identifier: Apache-2.0 */
/* Signal processing: windows and filter banks are constants, Fourier transforms are products with
 * constant matrices. */
#include <inttypes.h>
#include <math.h>
#include "dynamic.h"
#include "tenon/base/scalar.h"
#include "tenon/core/text.h"
#include "tenon/kit/te.h"

enum { MAX_WINDOW = 1 << 24 /* elements of a constant that is made */, MAX_DFT = 8192 };

static const tn_expr *
numbers(onnx_node *n, tnb_dtype d, int32_t ndim, const int64_t *dims,
        double (*value)(const double *, int64_t, int64_t), const double *parameters)
{
    void *mem = NULL;
    const tn_data *data = tn_data_new(n->ctx, d, ndim, dims, &mem);
    if (!data)
        return tn_error_node(n->ctx);
    int64_t cols = ndim > 1 ? dims[1] : dims[0], rows = ndim > 1 ? dims[0] : 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k++)
            if (!tnb_store_f64(mem, d, (uint64_t)(i * cols + k), value(parameters, i, k)))
                return tn_error_node(n->ctx);
    return tn_constant_of(n->ctx, data);
}

/* p: coefficients of 1, cos and cos of the double angle; the period */
static double
window_value(const double *p, int64_t row, int64_t i)
{
    double angle = 2 * M_PI * (double)i / p[3];
    (void)row;
    return p[0] + p[1] * cos(angle) + p[2] * cos(2 * angle);
}

static bool
window(onnx_node *n, double a, double b, double c)
{
    int64_t size, type = onnx_attr_int(n, "output_datatype", 1);
    bool periodic = onnx_attr_int(n, "periodic", 1) != 0;
    tnb_dtype d = tnb_onnx_dtype(type);
    if (!onnx_in_int(n, 0, "the window's size", &size))
        return false;
    if (size < 0 || size > MAX_WINDOW || !tnb_dtype_is_float(d))
        return onnx_fail(n, TNB_UNSUPPORTED,
                         "a window of %" PRId64 " elements of type %s is not supported", size,
                         tnb_onnx_type_name(type));
    const double p[4] = {a, b, c, (double)(periodic || size < 2 ? size : size - 1)};
    return onnx_ret(n, numbers(n, d, 1, &size, window_value, p));
}

static bool
import_hann(onnx_node *n)
{
    return window(n, 0.5, -0.5, 0);
}

static bool
import_hamming(onnx_node *n)
{
    return window(n, 25.0 / 46, -21.0 / 46, 0);
}

static bool
import_blackman(onnx_node *n)
{
    return window(n, 0.42, -0.5, 0.08);
}

/* ---- mel filters ---- */

static int64_t
mel_bin(double low, double step, int64_t i, int64_t length, int64_t rate)
{
    double hz = 700 * (pow(10, ((double)i * step + low) / 2595) - 1);
    return tnb_f64_to_i64(floor((double)(length + 1) * hz / (double)rate));
}

/* The same with edges or rate known at run time: [length / 2 + 1, bins] of places k against the
 * triangle that rises from a to b and falls to c. */
static const tn_expr *
mel_at_run_time(onnx_node *n, int64_t bins, int64_t length, tnb_dtype d)
{
    const tn_expr *edge[2], *e[3], *zero = tn_i64(n->ctx, 0), *one = tn_i64(n->ctx, 1);
    int64_t last = 1;
    for (uint32_t i = 0; i < 2; i++) { /* 2595 log10(1 + hz / 700) */
        const tn_expr *hz = onnx_reshape(n, onnx_astype(n, onnx_in(n, 3 + i), TNB_F64), NULL, 0);
        hz = onnx_bin_num(n, "add", onnx_bin_num(n, "divide", hz, 700), 1);
        edge[i] = onnx_bin_num(n, "multiply", onnx_un(n, "log", hz), 2595 / log(10));
    }
    const tn_expr *rate = onnx_reshape(n, onnx_astype(n, onnx_in(n, 2), TNB_F64), NULL, 0),
                  *step = onnx_bin_num(n, "divide", onnx_bin(n, "subtract", edge[1], edge[0]),
                                       (double)(bins + 2));
    const tn_expr *x =
        onnx_astype(n, onnx_arange(n, zero, tn_i64(n->ctx, bins + 2), one, TNB_I64), TNB_F64);
    x = onnx_bin(n, "add", onnx_bin(n, "multiply", x, step), edge[0]);
    x = onnx_un(n, "exp", onnx_bin_num(n, "multiply", x, log(10) / 2595));
    x = onnx_bin_num(n, "multiply", onnx_bin_num(n, "subtract", x, 1),
                     700.0 * (double)(length + 1));
    x = onnx_un(n, "floor", onnx_bin(n, "divide", x, rate));
    for (int64_t i = 0; i < 3; i++)
        e[i] = onnx_slice_ints(n, x, 0, i, i + bins);
    const tn_expr *k =
        onnx_astype(n, onnx_arange(n, zero, tn_i64(n->ctx, length / 2 + 1), one, TNB_I64), TNB_F64);
    k = onnx_unsqueeze(n, k, &last, 1);
    const tn_expr *up = onnx_bin(n, "divide", onnx_bin(n, "subtract", k, e[0]),
                                 onnx_bin(n, "subtract", e[1], e[0])),
                  *down = onnx_bin(n, "divide", onnx_bin(n, "subtract", e[2], k),
                                   onnx_bin(n, "subtract", e[2], e[1])),
                  *none = onnx_scalar(n, TNB_F64, 0);
    up = onnx_where(n, onnx_bin(n, "equal", k, e[1]), onnx_scalar(n, TNB_F64, 1), up);
    up = onnx_where(n, onnx_bin(n, "less", k, e[0]), none, up);
    down = onnx_where(n, onnx_bin(n, "less", k, e[2]), down, none);
    return onnx_astype(n, onnx_where(n, onnx_bin(n, "greater", k, e[1]), down, up), d);
}

static bool
import_mel(onnx_node *n)
{
    int64_t bins, length, rate, type = onnx_attr_int(n, "output_datatype", 1);
    double lower, upper;
    void *mem;
    tnb_dtype d = tnb_onnx_dtype(type);
    if (!onnx_in_int(n, 0, "the number of bins", &bins) ||
        !onnx_in_int(n, 1, "the DFT's length", &length))
        return false;
    if (bins < 1 || bins > 65536 || length < 1 || length > 1 << 20 ||
        bins * (length / 2 + 1) > MAX_WINDOW || !tnb_dtype_is_float(d))
        return onnx_fail(n, TNB_INVALID,
                         "%" PRId64 " bins of a DFT of length %" PRId64 " make no filter bank",
                         bins, length);
    if (!onnx_known(n, 2) || !onnx_known(n, 3) || !onnx_known(n, 4))
        return onnx_ret(n, mel_at_run_time(n, bins, length, d));
    if (!onnx_in_int(n, 2, "the sample rate", &rate) ||
        !onnx_in_float(n, 3, "the lower edge", &lower) ||
        !onnx_in_float(n, 4, "the upper edge", &upper))
        return false;
    if (rate < 1 || !(lower >= 0 && lower <= upper && upper <= 1e12))
        return onnx_fail(n, TNB_INVALID,
                         "%" PRId64 " bins of a DFT of length %" PRId64 " at rate %" PRId64
                         " make no filter bank",
                         bins, length, rate);
    int64_t dims[2] = {length / 2 + 1, bins};
    double low = 2595 * log10(1 + lower / 700),
           step = (2595 * log10(1 + upper / 700) - low) / (double)(bins + 2);
    const tn_data *data = tn_data_new(n->ctx, d, 2, dims, &mem);
    if (!data)
        return false;
    for (int64_t i = 0; i < bins; i++) {
        int64_t a = mel_bin(low, step, i, length, rate),
                b = mel_bin(low, step, i + 1, length, rate),
                c = mel_bin(low, step, i + 2, length, rate);
        if (a < 0 || c > dims[0])
            return onnx_fail(n, TNB_BOUNDS, "the upper edge %g lies above half the sample rate",
                             upper);
        for (int64_t k = a; k <= b && k < dims[0]; k++)
            if (!tnb_store_f64(mem, d, (uint64_t)(k * bins + i),
                               b == a ? 1 : (double)(k - a) / (double)(b - a)))
                return false;
        for (int64_t k = b; k < c; k++)
            if (c > b &&
                !tnb_store_f64(mem, d, (uint64_t)(k * bins + i), (double)(c - k) / (double)(c - b)))
                return false;
    }
    return onnx_ret(n, tn_constant_of(n->ctx, data));
}

/* ---- Fourier transforms ---- */

static double
cosine(const double *p, int64_t i, int64_t k)
{
    return cos(2 * M_PI * (double)(i * k % (int64_t)p[0]) / p[0]);
}

static double
sine(const double *p, int64_t i, int64_t k)
{
    return sin(2 * M_PI * (double)(i * k % (int64_t)p[0]) / p[0]);
}

/* Row i of the inverse from the first half of the bins: the others mirror all but the first and,
 * of an even length, the middle one. */
static double
mirrored(const double *p, int64_t i)
{
    return (i == 0 || 2 * i == (int64_t)p[0] ? 1 : 2) / p[0];
}

static double
cosine_from_half(const double *p, int64_t i, int64_t k)
{
    return mirrored(p, i) * cosine(p, i, k);
}

static double
minus_sine_from_half(const double *p, int64_t i, int64_t k)
{
    return -mirrored(p, i) * sine(p, i, k);
}

enum { COSINE, SINE, COSINE_FROM_HALF, MINUS_SINE_FROM_HALF };

/* cos(2 pi r / all), or the sine: by the quadrant and the half of it, so that float32 has the zeros,
 * ones and signs exactly. 0 <= r < all */
static const tn_expr *
turn(tn_ctx *ctx, tnb_dtype d, const tn_expr *r, const tn_expr *all, bool sines)
{
    const tn_expr *two = tn_i64(ctx, 2), *four = tn_i64(ctx, 4), *r4 = tn_mul(ctx, r, four),
                  *rest = tn_floormod(ctx, r4, all), *quadrant = tn_floordiv(ctx, r4, all);
    if (sines)
        quadrant = tn_floormod(ctx, tn_add(ctx, quadrant, tn_i64(ctx, 3)), four);
    const tn_expr *far = tn_gt_of(ctx, tn_mul(ctx, rest, two), all),
                  *odd = tn_eq_of(ctx, tn_floormod(ctx, quadrant, two), tn_i64(ctx, 1)),
                  *minus =
                      tn_eq_of(ctx,
                               tn_floordiv(ctx,
                                           tn_floormod(ctx, tn_add(ctx, quadrant, tn_i64(ctx, 1)),
                                                       four),
                                           two),
                               tn_i64(ctx, 1));
    const tn_expr *u = tn_select_of(ctx, far, tn_sub(ctx, all, rest), rest),
                  *angle =
                      tn_div(ctx,
                             tn_mul(ctx, tn_cast_to(ctx, d, u), tn_float_imm_of(ctx, d, M_PI / 2)),
                             tn_cast_to(ctx, d, all));
    const tn_expr *cosines =
                      tn_eq_of(ctx, tn_cast_to(ctx, TNB_I64, far), tn_cast_to(ctx, TNB_I64, odd)),
                  *v = tn_select_of(ctx, cosines, tn_intrin1(ctx, TN_INTRIN_cos, angle),
                                    tn_intrin1(ctx, TN_INTRIN_sin, angle));
    return tn_select_of(ctx, minus, tn_sub(ctx, tn_float_imm_of(ctx, d, 0), v), v);
}

/* A matrix of a transform over a number of samples that run time knows. */
static const tn_expr *
matrix_at_run_time(onnx_node *n, tnb_dtype d, const tn_expr *const *dims, int which,
                   const tn_expr *length)
{
    tn_ctx *ctx = n->ctx;
    tnb_dtype wide = d.bits < 32 ? TNB_F32 : d;
    tnk_te *te = tnk_te_new(ctx);
    tnk_stage *s = tnk_te_stage(te, "matrix", dims, 2, d);
    bool sines = which == SINE || which == MINUS_SINE_FROM_HALF;
    const tn_expr *all = tnk_te_expr(te, length), *i = s->axes[0],
                  *at = tn_floormod(ctx, tn_mul(ctx, i, s->axes[1]), all),
                  *v = turn(ctx, wide, at, all, sines);
    if (which >= COSINE_FROM_HALF) { /* all bins but the first and the middle count twice */
        const tn_expr *once = tn_or(ctx, tn_eq_of(ctx, i, tn_i64(ctx, 0)),
                                    tn_eq_of(ctx, tn_mul(ctx, i, tn_i64(ctx, 2)), all));
        double sign = sines ? -1 : 1;
        v = tn_div(ctx,
                   tn_mul(ctx, v,
                          tn_select_of(ctx, once, tn_float_imm_of(ctx, wide, sign),
                                       tn_float_imm_of(ctx, wide, 2 * sign))),
                   tn_cast_to(ctx, wide, all));
    }
    const tn_node *out = tnk_te_define(s, tn_cast_to(ctx, d, v));
    return onnx_emit_call(n, tnk_te_call(te, n->imp->b, "dft_matrix", NULL, 0, &out, 1));
}

static const tn_expr *
matrix(onnx_node *n, tnb_dtype d, const tn_expr *rows, const tn_expr *columns, int which,
       const tn_expr *length)
{
    static double (*const fns[])(const double *, int64_t,
                                 int64_t) = {cosine, sine, cosine_from_half, minus_sine_from_half};
    const tn_expr *terms[2] = {rows, columns};
    int64_t dims[2], samples;
    if (n->failed)
        return tn_error_node(n->ctx);
    if (!tn_int_value(rows, &dims[0]) || !tn_int_value(columns, &dims[1]) ||
        !tn_int_value(length, &samples))
        return matrix_at_run_time(n, d, terms, which, length);
    const double p[1] = {(double)samples};
    return numbers(n, d, 2, dims, fns[which], p);
}

/* The first `length` entries of an axis, zeros after its end. */
static const tn_expr *
with_length(onnx_node *n, const tn_expr *x, int64_t axis, const tn_expr *length)
{
    int64_t zeros[ONNX_MAX_DIMS] = {0}, more[ONNX_MAX_DIMS] = {0}, have, want;
    const tn_expr *before[ONNX_MAX_DIMS], *after[ONNX_MAX_DIMS];
    tn_list dims;
    if (n->failed || !onnx_dims(n, x, &dims) || tn_prove_equal(n->ctx, dims.at[axis], length))
        return x;
    if (!tn_int_value(dims.at[axis], &have) || !tn_int_value(length, &want)) {
        for (uint32_t i = 0; i < dims.n; i++)
            before[i] = after[i] = tn_i64(n->ctx, 0);
        after[axis] = tn_sub(n->ctx, length, dims.at[axis]);
        /* the extent of what is padded has a name, behind which a number would be lost */
        return onnx_fix_extent(n, onnx_pad_at(n, x, before, after, "constant", NULL), axis, length,
                               "the signal");
    }
    if (want <= have)
        return onnx_slice_ints(n, x, axis, 0, want);
    more[axis] = want - have;
    return onnx_pad(n, x, zeros, more, (uint32_t)onnx_rank(n, x), 0);
}

/* Half of the bins and the middle one. */
static const tn_expr *
half_of(onnx_node *n, const tn_expr *length)
{
    tn_ctx *ctx = n->ctx;
    return onnx_simplify(n, tn_add(ctx, tn_floordiv(ctx, length, tn_i64(ctx, 2)), tn_i64(ctx, 1)));
}

/* Real part (0) or imaginary part (1) of [..., samples, parts]. */
static const tn_expr *
part_of(onnx_node *n, const tn_expr *x, int64_t last, int which)
{
    return onnx_squeeze(n, onnx_slice_ints(n, x, last, which, which + 1), &last, 1);
}

/* x with a last extent that is known: 1 or 2 parts of numbers. One that comes at run time is checked there, and the second part is
 * zero where there is none. NULL after an error. */
static const tn_expr *
as_signal(onnx_node *n, const tn_expr *x)
{
    tn_ctx *ctx = n->ctx;
    int64_t last = onnx_rank(n, x) - 1, parts;
    tn_list dims;
    if (n->failed || !onnx_dims(n, x, &dims))
        return NULL;
    const tn_expr *d = dims.at[last];
    if (tn_is_int_const(dims.at[last - 1], 0)) {
        onnx_fail(n, TNB_SHAPE, "the signal has no samples");
        return NULL;
    }
    if (tn_int_value(d, &parts)) {
        if (parts >= 1 && parts <= 2)
            return x;
        onnx_fail(n, TNB_SHAPE, "the last extent of the signal is %" PRId64 ", expected 1 or 2",
                  parts);
        return NULL;
    }
    onnx_demand demand = {tn_and(ctx, tn_ge(ctx, d, tn_i64(ctx, 1)), tn_le(ctx, d, tn_i64(ctx, 2))),
                          &dims.at[last], 1,
                          "the last extent of the signal is {1}, expected 1 or 2"};
    if (!onnx_bind(n, &d, 1, &demand))
        return NULL;
    x = onnx_name_extents(n, x, tn_list_with(ctx, dims, (uint32_t)last, d));
    return with_length(n, x, last, tn_i64(ctx, 2));
}

/* x: the first half of the bins, [..., bins, 1 or 2], to real samples [..., length, 1]. */
static const tn_expr *
real_inverse(onnx_node *n, const tn_expr *x, const tn_expr *length)
{
    int64_t last = onnx_rank(n, x) - 1;
    const tn_expr *half = half_of(n, length);
    x = with_length(n, x, last - 1, half);
    const tn_expr *c = matrix(n, onnx_dtype(x), half, length, COSINE_FROM_HALF, length),
                  *y = onnx_bin(n, "matmul", part_of(n, x, last, 0), c);
    if (onnx_dim(x, last) == 2) {
        const tn_expr *s = matrix(n, onnx_dtype(x), half, length, MINUS_SINE_FROM_HALF, length);
        y = onnx_bin(n, "add", y, onnx_bin(n, "matmul", part_of(n, x, last, 1), s));
    }
    return onnx_unsqueeze(n, y, &last, 1);
}

/* x / length */
static const tn_expr *
divided_by(onnx_node *n, const tn_expr *x, const tn_expr *length)
{
    int64_t v;
    if (n->failed || tn_is_error(x))
        return tn_error_node(n->ctx);
    if (tn_int_value(length, &v))
        return onnx_bin_num(n, "divide", x, (double)v);
    return onnx_bin(n, "divide", x,
                    onnx_astype(n, onnx_elems_expr(n, &length, 1, TNB_I64, 0, NULL),
                                onnx_dtype(x)));
}

/* x: [..., samples, 1 or 2] to [..., bins, 2] over `length` samples. */
static const tn_expr *
transform(onnx_node *n, const tn_expr *x, const tn_expr *length, bool inverse, bool onesided)
{
    x = as_signal(n, x);
    if (!x)
        return tn_error_node(n->ctx);
    if (inverse && onesided)
        return real_inverse(n, x, length);
    int64_t last = onnx_rank(n, x) - 1, parts = onnx_dim(x, last);
    x = with_length(n, x, last - 1, length);
    const tn_expr *bins = onesided ? half_of(n, length) : length,
                  *c = matrix(n, onnx_dtype(x), length, bins, COSINE, length),
                  *s = matrix(n, onnx_dtype(x), length, bins, SINE, length);
    const tn_expr *re = part_of(n, x, last, 0), *out[2];
    out[0] = onnx_bin(n, "matmul", re, c);
    out[1] = onnx_bin(n, "matmul", re, s);
    if (!inverse)
        out[1] = onnx_un(n, "negative", out[1]);
    if (parts == 2) {
        const tn_expr *im = part_of(n, x, last, 1);
        const tn_expr *im_s = onnx_bin(n, "matmul", im, s);
        out[0] = onnx_bin(n, inverse ? "subtract" : "add", out[0], im_s);
        out[1] = onnx_bin(n, "add", out[1], onnx_bin(n, "matmul", im, c));
    }
    for (int i = 0; i < 2; i++) {
        if (inverse)
            out[i] = divided_by(n, out[i], length);
        out[i] = onnx_unsqueeze(n, out[i], &last, 1);
    }
    return onnx_concat(n, out, 2, last);
}

/* One number of input i as a term. */
static bool
one_term(onnx_node *n, uint32_t i, const char *what, const tn_expr **out)
{
    const tn_expr *const *e;
    uint32_t count;
    if (!onnx_elems(n, i, what, &e, &count))
        return false;
    if (count != 1)
        return onnx_fail(n, TNB_SHAPE, "%s has %u entries, expected one", what, count);
    *out = onnx_simplify(n, e[0]);
    return true;
}

/* A length that a matrix can be made for: known now or checked at run time. */
static bool
bind_length(onnx_node *n, const tn_expr **length)
{
    tn_ctx *ctx = n->ctx;
    int64_t v;
    const tn_expr *shown = *length = onnx_simplify(n, *length);
    const char *text =
        tn_strf(ctx, "a transform of {1} samples is not supported (1 to %d are)", MAX_DFT);
    if (tn_int_value(*length, &v))
        return (v >= 1 && v <= MAX_DFT) ||
               onnx_fail(n, TNB_UNSUPPORTED,
                         "a transform of %" PRId64 " samples is not supported (1 to %d are)", v,
                         MAX_DFT);
    onnx_demand d = {tn_and(ctx, tn_ge(ctx, *length, tn_i64(ctx, 1)),
                            tn_le(ctx, *length, tn_i64(ctx, MAX_DFT))),
                     &shown, 1, text};
    return onnx_bind(n, length, 1, &d);
}

static const tn_expr *
dft_along(onnx_node *n, const char *op, int64_t axis)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *x = onnx_in(n, 0), *length;
    int64_t rank = onnx_rank(n, x), perm[ONNX_MAX_DIMS];
    bool inverse = onnx_attr_int(n, "inverse", 0) != 0,
         onesided = onnx_attr_int(n, "onesided", 0) != 0;
    tn_list dims;
    (void)op;
    if (!onnx_dims(n, x, &dims))
        return tn_error_node(ctx);
    length = dims.at[axis];
    if (inverse && onesided)
        length = tn_mul(ctx, tn_i64(ctx, 2), tn_sub(ctx, length, tn_i64(ctx, 1)));
    if ((onnx_has(n, 1) && !one_term(n, 1, "the DFT's length", &length)) ||
        !bind_length(n, &length))
        return tn_error_node(ctx);
    for (int64_t i = 0; i < rank; i++)
        perm[i] = i == axis ? rank - 2 : i == rank - 2 ? axis : i; /* its own inverse */
    x = transform(n, onnx_permute(n, x, perm, (uint32_t)rank), length, inverse, onesided);
    return onnx_permute(n, x, perm, (uint32_t)rank);
}

static bool
import_dft(onnx_node *n)
{
    int64_t rank = onnx_rank(n, onnx_in(n, 0)),
            axis = n->version < 20 ? onnx_attr_int(n, "axis", 1) : -2;
    if (rank < 0)
        return false;
    /* the axis does not decide the shape when as many bins come out as samples go in */
    if (onnx_has(n, 2) && !onnx_known(n, 2) && !onnx_has(n, 1) && rank >= 2 &&
        !onnx_attr_int(n, "onesided", 0))
        return onnx_ret(n, onnx_along_axis(n, 2, rank - 1, rank, "", dft_along));
    if ((onnx_has(n, 2) && !onnx_in_int(n, 2, "the axis", &axis)) || !onnx_axis(n, rank, &axis))
        return false;
    if (axis == rank - 1 || rank < 2)
        return onnx_fail(n, TNB_INVALID, "axis %" PRId64 " holds the parts of complex numbers",
                         axis);
    return onnx_ret(n, dft_along(n, "", axis));
}

/* Where the samples of each frame are: [frames, length], all checked to lie within the signal. */
static const tn_expr *
frame_places(onnx_node *n, const tn_expr *total, const tn_expr *step, const tn_expr **length)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *one = tn_i64(ctx, 1), *shown[3] = {*length, step, total}, *dims[2], *width,
                  *ok = NULL;
    int64_t v;
    if (!bind_length(n, length))
        return tn_error_node(ctx);
    bool known = tn_int_value(*length, &v) && tn_int_value(step, &v) && tn_int_value(total, &v);
    ok = tn_and(ctx, tn_ge(ctx, step, one), tn_le(ctx, *length, total));
    if (known && !tn_is_int_const(onnx_simplify(n, ok), 1)) {
        onnx_fail(n, TNB_INVALID, "frames of %s samples with step %s cannot be cut from %s samples",
                  tn_text(ctx, *length), tn_text(ctx, step), tn_text(ctx, total));
        return tn_error_node(ctx);
    }
    onnx_demand d = {known ? NULL : ok, shown, 3,
                     "frames of {1} samples with step {2} cannot be cut from {3} samples"};
    width = tn_max(ctx, step, one);
    dims[0] = tn_add(ctx, tn_floordiv(ctx, tn_sub(ctx, total, *length), width), one);
    dims[1] = *length;
    if (!onnx_bind(n, &width, 1, NULL) || !onnx_bind(n, dims, 1, &d))
        return tn_error_node(ctx);
    tnk_te *te = tnk_te_new(ctx);
    tnk_stage *s = tnk_te_stage(te, "places", dims, 2, TNB_I64);
    const tn_expr *at = tn_mul(ctx, s->axes[0], tnk_te_expr(te, width));
    const tn_node *out = tnk_te_define(s, tn_add(ctx, at, s->axes[1]));
    return onnx_emit_call(n, tnk_te_call(te, n->imp->b, "frame_places", NULL, 0, &out, 1));
}

static bool
import_stft(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *step, *length = NULL, *places;
    int64_t two = 1;
    bool onesided = onnx_attr_int(n, "onesided", 1) != 0;
    tn_list dims, window;
    if (onnx_rank(n, x) == 2)
        x = onnx_unsqueeze(n, x, (int64_t[]){2}, 1);
    if (n->failed || !onnx_dims(n, x, &dims) || !one_term(n, 1, "the frame step", &step))
        return false;
    if (dims.n != 3)
        return onnx_fail(n, TNB_SHAPE, "the signal has rank %u, expected 3", dims.n);
    if (onnx_has(n, 3) && !one_term(n, 3, "the frame length", &length))
        return false;
    if (!onnx_has(n, 3) && onnx_has(n, 2) && onnx_dims(n, onnx_in(n, 2), &window) && window.n == 1)
        length = window.at[0];
    if (n->failed || !length)
        return n->failed
                   ? false
                   : onnx_fail(n, TNB_INVALID, "neither a window nor a frame length is given");
    places = frame_places(n, dims.at[1], step, &length);
    x = n->failed ? x : onnx_take(n, x, places, 1); /* [batch, frames, length, parts] */
    if (onnx_has(n, 2))
        x = onnx_bin(n, "multiply", x, onnx_unsqueeze(n, onnx_in(n, 2), &two, 1));
    return onnx_ret(n, transform(n, x, length, false, onesided));
}

const onnx_op onnx_signal_ops[] = {
    {"HannWindow", 17, 0, 1, 1, 1, 1, import_hann, NULL, 0, NULL},
    {"HammingWindow", 17, 0, 1, 1, 1, 1, import_hamming, NULL, 0, NULL},
    {"BlackmanWindow", 17, 0, 1, 1, 1, 1, import_blackman, NULL, 0, NULL},
    {"MelWeightMatrix", 17, 0, 5, 5, 1, 1, import_mel, NULL, 0, NULL},
    {"DFT", 17, 0, 1, 3, 1, 1, import_dft, NULL, 0, NULL},
    {"STFT", 17, 0, 2, 4, 1, 1, import_stft, NULL, 0, NULL},
    {0},
};
