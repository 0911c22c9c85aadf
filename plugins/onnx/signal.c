/* SPDX-License-Identifier: Apache-2.0 */
/* Signal processing: windows and filter banks are constants, Fourier transforms are products with
 * constant matrices. */
#include <inttypes.h>
#include <math.h>
#include "import.h"

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
    return (int64_t)floor((double)(length + 1) * hz / (double)rate);
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

/* The first `length` entries of an axis, zeros after its end. */
static const tn_expr *
with_length(onnx_node *n, const tn_expr *x, int64_t axis, int64_t length)
{
    int64_t zeros[ONNX_MAX_DIMS] = {0}, more[ONNX_MAX_DIMS] = {0}, have = onnx_dim(x, axis);
    if (length <= have)
        return onnx_slice_ints(n, x, axis, 0, length);
    more[axis] = length - have;
    return onnx_pad(n, x, zeros, more, (uint32_t)onnx_rank(n, x), 0);
}

/* Real part (0) or imaginary part (1) of [..., samples, parts]. */
static const tn_expr *
part_of(onnx_node *n, const tn_expr *x, int64_t last, int which)
{
    return onnx_squeeze(n, onnx_slice_ints(n, x, last, which, which + 1), &last, 1);
}

static bool
is_signal(onnx_node *n, const tn_expr *x, int64_t last)
{
    int64_t parts = onnx_dim(x, last), samples = onnx_dim(x, last - 1);
    if (n->failed || (parts >= 1 && parts <= 2 && samples >= 1))
        return !n->failed;
    return onnx_fail(n, TNB_SHAPE, "the last extent of the signal is %" PRId64 ", wanted 1 or 2",
                     parts);
}

/* x: the first half of the bins, [..., bins, 1 or 2], to real samples [..., length, 1]. */
static const tn_expr *
real_inverse(onnx_node *n, const tn_expr *x, int64_t length)
{
    int64_t last = onnx_rank(n, x) - 1, dims[2] = {length / 2 + 1, length};
    const double p[1] = {(double)length};
    if (!is_signal(n, x, last))
        return tn_error_node(n->ctx);
    x = with_length(n, x, last - 1, dims[0]);
    const tn_expr *c = numbers(n, onnx_dtype(x), 2, dims, cosine_from_half, p),
                  *y = onnx_bin(n, "matmul", part_of(n, x, last, 0), c);
    if (onnx_dim(x, last) == 2) {
        const tn_expr *s = numbers(n, onnx_dtype(x), 2, dims, minus_sine_from_half, p);
        y = onnx_bin(n, "add", y, onnx_bin(n, "matmul", part_of(n, x, last, 1), s));
    }
    return onnx_unsqueeze(n, y, &last, 1);
}

/* x: [..., samples, 1 or 2] to [..., bins, 2] over `length` samples. */
static const tn_expr *
transform(onnx_node *n, const tn_expr *x, int64_t length, bool inverse, bool onesided)
{
    int64_t last = onnx_rank(n, x) - 1, parts = onnx_dim(x, last);
    const double p[1] = {(double)length};
    if (inverse && onesided)
        return real_inverse(n, x, length);
    if (!is_signal(n, x, last))
        return tn_error_node(n->ctx);
    x = with_length(n, x, last - 1, length);
    int64_t dims[2] = {length, onesided ? length / 2 + 1 : length};
    const tn_expr *c = numbers(n, onnx_dtype(x), 2, dims, cosine, p),
                  *s = numbers(n, onnx_dtype(x), 2, dims, sine, p);
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
            out[i] = onnx_bin_num(n, "divide", out[i], (double)length);
        out[i] = onnx_unsqueeze(n, out[i], &last, 1);
    }
    return onnx_concat(n, out, 2, last);
}

static const tn_expr *
dft_along(onnx_node *n, const char *op, int64_t axis)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t rank = onnx_rank(n, x), length = onnx_dim(x, axis), perm[ONNX_MAX_DIMS];
    bool inverse = onnx_attr_int(n, "inverse", 0) != 0,
         onesided = onnx_attr_int(n, "onesided", 0) != 0;
    (void)op;
    if (inverse && onesided)
        length = 2 * (length - 1);
    if (onnx_has(n, 1) && !onnx_in_int(n, 1, "the DFT's length", &length))
        return tn_error_node(n->ctx);
    if (length < 1 || length > MAX_DFT) {
        onnx_fail(n, TNB_UNSUPPORTED,
                  "a transform of %" PRId64 " samples is not supported (1 to %d are)", length,
                  MAX_DFT);
        return tn_error_node(n->ctx);
    }
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

static bool
import_stft(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t step, length = 0, two = 1, total;
    bool onesided = onnx_attr_int(n, "onesided", 1) != 0;
    if (onnx_rank(n, x) == 2)
        x = onnx_unsqueeze(n, x, (int64_t[]){2}, 1);
    total = onnx_dim(x, 1);
    if (n->failed || !onnx_in_int(n, 1, "the frame step", &step))
        return false;
    if (onnx_has(n, 3) && !onnx_in_int(n, 3, "the frame length", &length))
        return false;
    if (!onnx_has(n, 3) && onnx_has(n, 2))
        length = onnx_dim(onnx_in(n, 2), 0);
    if (total < 1 || step < 1 || length < 1 || length > total || length > MAX_DFT ||
        onnx_rank(n, x) != 3)
        return onnx_fail(n, TNB_INVALID,
                         "frames of %" PRId64 " samples with step %" PRId64
                         " cannot be cut from %" PRId64 " samples",
                         length, step, total);
    int64_t frames = (total - length) / step + 1, dims[2] = {frames, length};
    void *mem;
    if (frames > MAX_WINDOW / length)
        return onnx_fail(n, TNB_UNSUPPORTED,
                         "%" PRId64 " frames of %" PRId64 " samples are not supported", frames,
                         length);
    const tn_data *places = tn_data_new(n->ctx, TNB_I64, 2, dims, &mem);
    if (!places)
        return false;
    for (int64_t i = 0; i < frames * length; i++)
        ((int64_t *)mem)[i] = i / length * step + i % length;
    x = onnx_take(n, x, tn_constant_of(n->ctx, places), 1); /* [batch, frames, length, parts] */
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
