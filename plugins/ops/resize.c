/* SPDX-License-Identifier: Apache-2.0 */
/* image.resize1d, 2d, 3d: one stage for each spatial axis that changes, since all methods are
 * separable.
 *
 * Places in the input are quotients of integers, because halves decide what `nearest_neighbor` takes and not every device has
 * float64: scales and regions, which are floats, are the simplest fractions that round to them. Weights and sums are float32
 * (float64 for float64 data).
 */
#include <math.h>
#include <stdlib.h>

#include "emit.h"
#include "layout.h"

#include "tenon/base/scalar.h"

enum method { NEAREST, LINEAR, CUBIC, NO_METHOD };

/* ORDER PLACES */
enum places {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL,
    TF_CROP,
    HALF_SYMMETRIC,
    NO_PLACES
};
static const char *const place_names[] = {"half_pixel",           "pytorch_half_pixel",
                                          "align_corners",        "asymmetric",
                                          "tf_half_pixel_for_nn", "tf_crop_and_resize",
                                          "half_pixel_symmetric", NULL};
/* ORDER ROUNDING */
enum rounding { ROUND, PREFER_FLOOR, PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL, NO_ROUNDING };
static const char *const rounding_names[] = {
    "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
static const char *const method_names[] = {"nearest_neighbor", "linear", "cubic", NULL};

typedef struct resize {
    int n;
    const char *axes;
    layout layout;
    int method, places, rounding;
    double roi[6], scale[3]; /* scale 0: quotient of the extents */
} resize;

/* Of scales and of a region's places: what is larger, or 0 or infinite, means no picture. */
#define LARGEST 1e9

static int
find(const char *s, const char *const *names)
{
    int i = 0;
    while (names[i] && strcmp(names[i], s))
        i++;
    return i;
}

/* A list of exactly n numbers (or none, when `empty`); the count, -1 after an error. */
static int
floats(tn_ctx *ctx, const tn_call *call, const char *key, int n, double *out)
{
    const tn_array *a = tn_as_array(tn_call_attr(call, key));
    int count = a ? (int)a->items.n : 0;
    if (count != 0 && count != n) {
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' has %d entries, expected %d", key, count,
                   n);
        return -1;
    }
    for (int i = 0; i < count; i++)
        out[i] = tn_as_float_imm(a->items.at[i])->value;
    return count;
}

static bool
read_resize(tn_ctx *ctx, const tn_call *call, resize *r)
{
    memset(r, 0, sizeof *r);
    r->n = infer_op(call)->spatial;
    r->axes = layout_data_axes(r->n);
    if (!layout_read(ctx, call, "layout", r->axes, &r->layout))
        return false;
    r->method = find(tn_call_str(call, "method"), method_names);
    r->places = find(tn_call_str(call, "coordinate_transformation_mode"), place_names);
    const char *rounding = tn_call_str(call, "rounding_method");
    if (rounding && !*rounding)
        rounding = r->places == ALIGN_CORNERS ? "round" : "floor";
    r->rounding = find(rounding, rounding_names);
    const char *bad = r->method == NO_METHOD       ? "method"
                      : r->places == NO_PLACES     ? "coordinate_transformation_mode"
                      : r->rounding == NO_ROUNDING ? "rounding_method"
                                                   : NULL;
    if (bad) {
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' is \"%s\", which is unknown", bad,
                   tn_call_str(call, bad));
        return false;
    }
    for (int i = 0; i < r->n; i++)
        r->roi[r->n + i] = 1;
    if (floats(ctx, call, "roi", 2 * r->n, r->roi) < 0 ||
        floats(ctx, call, "scales", r->n, r->scale) < 0)
        return false;
    const tn_array *scales = tn_as_array(tn_call_attr(call, "scales"));
    for (int i = 0; scales && i < r->n && scales->items.n; i++)
        if (!(r->scale[i] >= 1 / LARGEST && r->scale[i] <= LARGEST)) {
            infer_fail(ctx, call, TNB_INVALID, "attribute 'scales' holds %g", r->scale[i]);
            return false;
        }
    for (int i = 0; i < 2 * r->n; i++)
        if (!(fabs(r->roi[i]) <= LARGEST)) {
            infer_fail(ctx, call, TNB_INVALID, "attribute 'roi' holds %g", r->roi[i]);
            return false;
        }
    return true;
}

const tn_type *
infer_resize(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    resize r;
    tn_list dims, size;
    int64_t ndim;
    const tn_expr *out[5];
    if (!t || !read_resize(ctx, call, &r))
        return tn_error_node(ctx);
    int known = infer_shape_arg(ctx, call, 1, &size, &ndim);
    if (known < 0)
        return tn_error_node(ctx);
    tnb_dtype d = tn_call_dtype(call, "out_dtype");
    d = tnb_dtype_is_void(d) ? t->dtype : d;
    if (t->ndim >= 0 && t->ndim != r.layout.n)
        return infer_fail(ctx, call, TNB_SHAPE, "the data has %lld axes, its layout %s has %d",
                          (long long)t->ndim, r.layout.text, r.layout.n);
    if (known && size.n != (uint32_t)r.n)
        return infer_fail(ctx, call, TNB_SHAPE, "argument 'size' has %u entries, expected %d",
                          size.n, r.n);
    if (!known || !tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, r.layout.n, d);
    if (!layout_fits(ctx, call, &r.layout, dims, "data"))
        return tn_error_node(ctx);
    out[0] = layout_extent(ctx, &r.layout, dims, 'N');
    out[1] = layout_extent(ctx, &r.layout, dims, 'C');
    for (int i = 0; i < r.n; i++)
        out[2 + i] = size.at[i];
    for (int i = 0; i < r.n; i++)
        if (dim_vacant(ctx, layout_extent(ctx, &r.layout, dims, r.axes[2 + i]),
                       tn_list_of(ctx, out, (uint32_t)r.n + 2),
                       "the data has {} elements along axis %c to resize from", r.axes[2 + i]))
            return infer_fail(ctx, call, TNB_SHAPE,
                              "the data has 0 elements along axis %c to resize from",
                              r.axes[2 + i]);
    return infer_known(ctx, call, layout_dims(ctx, &r.layout, r.axes, out), d);
}

/* ---- places ---- */

/* What an extent that is not known is taken for where the size of a product is estimated. */
enum { SOME_EXTENT = 1 << 20 };

typedef struct axis {
    tn_ctx *ctx;
    const resize *r;
    int i;
    const tn_expr *in, *out, *o; /* extents, and the result's index */
    /* input elements a result's element: p / q */
    const tn_expr *p, *q;
    /* the region, of tf_crop_and_resize: from start / unit to end / unit */
    int64_t start, end, unit;
    const tn_expr *num, *den; /* where in the input the result's element lies: num / den, den > 0 */
} axis;

/* The first convergent of v that rounds to it, or the last with numerator and denominator up to `limit`. */
static void
fraction(double v, int64_t limit, int64_t *num, int64_t *den)
{
    double x = fabs(v);
    int64_t h = 1, h1 = 0, k = 0, k1 = 1;
    for (int n = 0; n < 64; n++) {
        double whole = floor(x), nh = whole * (double)h + (double)h1,
               nk = whole * (double)k + (double)k1;
        if (n > 0 && (nh > (double)limit || nk > (double)limit))
            break;
        h1 = h;
        k1 = k;
        h = (int64_t)nh;
        k = (int64_t)nk;
        if ((double)h / (double)k == fabs(v) || x == whole)
            break;
        x = 1 / (x - whole);
    }
    *num = v < 0 ? -h : h;
    *den = k;
}

static int64_t
gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t c = a % b;
        a = b;
        b = c;
    }
    return a;
}

/* Fractions with at most `limit` for the scale and the region; about the largest number that then appears. */
static double
take_fractions(axis *a, int64_t limit)
{
    tn_ctx *ctx = a->ctx;
    int64_t in = SOME_EXTENT, out = SOME_EXTENT, p = 1, q = 1, other;
    bool known = tn_int_value(a->in, &in) && tn_int_value(a->out, &out);
    (void)tn_int_value(a->out, &out);
    double scale = a->r->scale[a->i], i = (double)in, o = (double)out;
    if (scale > 0) {
        fraction(scale, limit, &q, &p);
        q = q > 0 ? q : 1;
    } else if (known && in > 0 && out > 0) {
        p = in / gcd(in, out);
        q = out / gcd(in, out);
    }
    bool numbers = scale > 0 || (known && in > 0 && out > 0);
    a->p = numbers ? tn_i64(ctx, p) : a->in;
    a->q = numbers ? tn_i64(ctx, q) : a->out;
    double x = numbers ? (double)p : i, y = numbers ? (double)q : o, num, den;
    a->unit = 1;
    switch (a->r->places) {
    case ALIGN_CORNERS:
        num = scale > 0 ? i * o * x : i * o;
        den = scale > 0 ? i * y : o;
        break;
    case TF_CROP:
        fraction(a->r->roi[a->i], limit, &a->start, &a->unit);
        fraction(a->r->roi[a->r->n + a->i], limit, &a->end, &other);
        int64_t common = a->unit / gcd(a->unit, other);
        a->start *= other / gcd(a->unit, other);
        a->end *= common;
        a->unit = common * other;
        num = (double)(llabs(a->start) + llabs(a->end)) * 2 * i * (scale > 0 ? i * y + o * x : o);
        den = 2 * (double)a->unit * (scale > 0 ? i * y : o);
        break;
    default:
        num = i * y + 4 * (o + 1) * x;
        den = 2 * y;
    }
    return 4 * (num + den * (i + 64));
}

/* (2 * o + 1) * p - q, over 2 * q */
static const tn_expr *
centre(const axis *a)
{
    tn_ctx *ctx = a->ctx;
    return tn_sub(ctx, tn_mul(ctx, tn_addi(ctx, tn_muli(ctx, a->o, 2), 1), a->p), a->q);
}

/* Finds where in the input the result's element lies. */
static void
find_place(axis *a)
{
    tn_ctx *ctx = a->ctx;
    int64_t limit = 1 << 27;
    while (take_fractions(a, limit) > 0x1p62 && limit > 16)
        limit /= 2;
    /* given scales make the result's extent a fraction, length / a->p */
    bool scaled = a->r->scale[a->i] > 0;
    const tn_expr *last = tn_subi(ctx, a->in, 1), *zero = tn_i64(ctx, 0), *one = tn_i64(ctx, 1),
                  *times = scaled ? a->p : one,
                  *gaps = scaled ? tn_sub(ctx, tn_mul(ctx, a->in, a->q), a->p)
                                 : tn_sub(ctx, a->out, one),
                  *several = tn_gt_of(ctx, gaps, zero);
    a->den = tn_muli(ctx, a->q, 2);
    switch (a->r->places) {
    case PYTORCH_HALF_PIXEL:
        a->num = tn_select_of(ctx, several, centre(a), zero);
        break;
    case ALIGN_CORNERS:
        a->num = tn_select_of(ctx, several, tn_mul(ctx, tn_mul(ctx, a->o, last), times), zero);
        a->den = tn_max(ctx, gaps, one);
        break;
    case ASYMMETRIC:
        a->num = tn_mul(ctx, a->o, a->p);
        a->den = a->q;
        break;
    case TF_HALF_PIXEL:
        a->num = tn_add(ctx, centre(a), a->q);
        break;
    case TF_CROP: {
        const tn_expr *moved = tn_mul(ctx, tn_muli(ctx, a->o, a->end - a->start), times),
                      *from = tn_add(ctx, tn_muli(ctx, gaps, a->start), moved);
        const tn_expr *twice =
            tn_select_of(ctx, several, tn_muli(ctx, from, 2), tn_i64(ctx, a->start + a->end));
        a->num = tn_mul(ctx, twice, last);
        a->den = tn_muli(ctx, tn_max(ctx, gaps, one), 2 * a->unit);
        break;
    }
    case HALF_SYMMETRIC: {
        /* what the result's fraction of an element leaves over, half of it at each end */
        const tn_expr *rest = tn_sub(ctx, tn_mul(ctx, a->in, a->q), tn_mul(ctx, a->out, a->p));
        a->num = scaled ? tn_add(ctx, rest, centre(a)) : centre(a);
        break;
    }
    default:
        a->num = centre(a);
    }
}

/* The last element in front of the place, and how far behind it the place lies. */
static const tn_expr *
floor_of(const axis *a)
{
    tn_ctx *ctx = a->ctx;
    return emit_floordiv(ctx, a->num, a->den);
}

static const tn_expr *
rest_of(const axis *a, tnb_dtype d)
{
    tn_ctx *ctx = a->ctx;
    return tn_div(ctx, tn_cast_to(ctx, d, emit_floormod(ctx, a->num, a->den)),
                  tn_cast_to(ctx, d, a->den));
}

static const tn_expr *
clamped(tn_ctx *ctx, const tn_expr *i, const tn_expr *extent)
{
    return tn_min(ctx, tn_max(ctx, i, tn_i64(ctx, 0)), tn_subi(ctx, extent, 1));
}

static const tn_expr *
nearest(const axis *a)
{
    tn_ctx *ctx = a->ctx;
    int64_t in, out;
    bool plain = a->r->scale[a->i] == 0 && tn_int_value(a->in, &in) && tn_int_value(a->out, &out) &&
                 in > 0 && out % in == 0;
    bool whole = plain && ((a->r->places == ASYMMETRIC && a->r->rounding == ROUND_FLOOR) ||
                           (a->r->places == HALF_PIXEL && a->r->rounding <= PREFER_CEIL));
    if (whole) /* every element is repeated */
        return emit_floordiv(ctx, a->o, tn_i64(ctx, out / in));
    const tn_expr *one = tn_i64(ctx, 1), *twice = tn_muli(ctx, a->num, 2),
                  *den2 = tn_muli(ctx, a->den, 2), *i;
    switch (a->r->rounding) {
    case PREFER_FLOOR: /* ceil(x - 1/2) */
        i = emit_floordiv(ctx, tn_add(ctx, twice, tn_sub(ctx, a->den, one)), den2);
        break;
    case ROUND_FLOOR:
        i = floor_of(a);
        break;
    case ROUND_CEIL:
        i = emit_floordiv(ctx, tn_add(ctx, a->num, tn_sub(ctx, a->den, one)), a->den);
        break;
    default: /* floor(x + 1/2) */
        i = emit_floordiv(ctx, tn_add(ctx, twice, a->den), den2);
    }
    return clamped(ctx, i, a->in);
}

/* The four weights of cubic convolution at distance t behind the second tap. */
static void
cubic_weights(tn_ctx *ctx, const tn_expr *t, double alpha, tnb_dtype d, const tn_expr **w)
{
    const tn_expr *one = tn_literal(ctx, d, 1), *u = tn_sub(ctx, one, t);
    w[0] = emit_cubic_far(ctx, alpha, tn_add(ctx, t, one));
    w[1] = emit_cubic_near(ctx, alpha, t);
    w[2] = emit_cubic_near(ctx, alpha, u);
    w[3] = emit_cubic_far(ctx, alpha, tn_add(ctx, u, one));
}

/* ---- stages ---- */

typedef struct source {
    emit *e;
    const tn_node *x;
    int at; /* the axis' place in the layout */
    const tn_expr **idx;
    tnb_dtype wide;
} source;

static const tn_expr *
tap(const source *s, const tn_expr *i)
{
    tn_ctx *ctx = s->e->ctx;
    s->idx[s->at] = i;
    return tn_cast_to(ctx, s->wide, tnk_te_read_at(s->e->te, s->x, s->idx, emit_ndim(s->x)));
}

/* A product even if the weight is the literal 0: NaN and infinity times that are NaN. */
static const tn_expr *
weighted(tn_ctx *ctx, const tn_expr *v, const tn_expr *w)
{
    return tn_raw_binary(ctx, TN_KIND_MUL, v, w);
}

static const tn_expr *
interpolated(const source *s, const axis *a, const tn_call *call)
{
    tn_ctx *ctx = s->e->ctx;
    const tn_expr *i = floor_of(a), *t = rest_of(a, s->wide);
    if (a->r->method == LINEAR) {
        const tn_expr *left = tap(s, clamped(ctx, i, a->in)),
                      *right = tap(s, clamped(ctx, tn_addi(ctx, i, 1), a->in));
        return tn_add(ctx, weighted(ctx, left, tn_sub(ctx, tn_literal(ctx, s->wide, 1), t)),
                      weighted(ctx, right, t));
    }
    const tn_expr *w[4], *sum = NULL, *total = NULL;
    bool exclude = tn_call_int(call, "cubic_exclude") != 0;
    cubic_weights(ctx, t, tn_call_float(call, "cubic_alpha"), s->wide, w);
    for (int k = 0; k < 4; k++) {
        const tn_expr *at = tn_addi(ctx, i, k - 1);
        if (exclude)
            w[k] =
                tn_select_of(ctx, emit_inside(ctx, at, a->in), w[k], tn_literal(ctx, s->wide, 0));
        const tn_expr *v = weighted(ctx, tap(s, clamped(ctx, at, a->in)), w[k]);
        sum = sum ? tn_add(ctx, sum, v) : v;
        total = total ? tn_add(ctx, total, w[k]) : w[k];
    }
    return exclude ? tn_div(ctx, sum, total) : sum;
}

/* The filter of a resize that shrinks: it is `step` elements of the input wide, 1 or more. */
typedef struct filter {
    const tn_expr *reach;   /* how many elements it looks to each side */
    const tn_expr *inverse; /* 1 / step */
} filter;

/* False where no filter is needed: the axis is known not to shrink. */
static bool
read_filter(const axis *a, tnb_dtype d, filter *f)
{
    tn_ctx *ctx = a->ctx;
    int64_t in, out, width = a->r->method == LINEAR ? 1 : 2;
    double step;
    if (a->r->scale[a->i] > 0) {
        step = 1 / a->r->scale[a->i];
    } else if (tn_int_value(a->in, &in) && tn_int_value(a->out, &out)) {
        step = out > 0 ? (double)in / (double)out : 0;
    } else {
        const tn_expr *some = tn_max(ctx, a->out, tn_i64(ctx, 1)), *one = tn_literal(ctx, d, 1);
        const tn_expr *wide = emit_floordiv(ctx, tn_muli(ctx, a->in, width), some);
        f->reach = tn_addi(ctx, tn_max(ctx, wide, tn_i64(ctx, width)), 1);
        f->inverse =
            tn_min(ctx, tn_div(ctx, tn_cast_to(ctx, d, some), tn_cast_to(ctx, d, a->in)), one);
        return true;
    }
    f->reach = tn_i64(ctx, tnb_f64_to_i64((double)width * step) + 1);
    f->inverse = tn_literal(ctx, d, 1 / step);
    return step > 1;
}

/* The filter's weight at distance x (>= 0), in units of the widened taps. */
static const tn_expr *
filter_weight(tn_ctx *ctx, const resize *r, double alpha, const tn_expr *x, tnb_dtype d)
{
    const tn_expr *one = tn_literal(ctx, d, 1), *zero = tn_literal(ctx, d, 0);
    if (r->method == LINEAR)
        return tn_max(ctx, tn_sub(ctx, one, x), zero);
    const tn_expr *near = emit_cubic_near(ctx, alpha, x), *far = emit_cubic_far(ctx, alpha, x);
    return tn_select_of(ctx, tn_le_of(ctx, x, one), near,
                        tn_select_of(ctx, tn_lt_of(ctx, x, tn_literal(ctx, d, 2)), far, zero));
}

static void
add_both(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
         uint32_t n, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        next[i] = tn_add(ctx, acc[i], x[i]);
}

/* A weighted mean over as many taps as the widened filter reaches. */
static const tn_node *
shrink_axis(const source *src, const axis *a, tnk_stage *s, const filter *f)
{
    emit *e = src->e;
    tn_ctx *ctx = e->ctx;
    tnb_dtype d = src->wide, dtypes[2] = {d, d};
    double alpha = tn_call_float(e->call, "cubic_alpha");
    const tn_expr *k = tnk_te_reduce_axis(s, "k", tn_addi(ctx, tn_muli(ctx, f->reach, 2), 1)),
                  *off = tn_sub(ctx, k, f->reach), *at = tn_add(ctx, floor_of(a), off);
    const tn_expr *far =
        tn_intrin1(ctx, TN_INTRIN_fabs,
                   tn_mul(ctx, tn_sub(ctx, tn_cast_to(ctx, d, off), rest_of(a, d)), f->inverse));
    const tn_expr *w = filter_weight(ctx, a->r, alpha, far, d);
    if (tn_call_int(e->call, "cubic_exclude"))
        w = tn_select_of(ctx, emit_inside(ctx, at, a->in), w, tn_literal(ctx, d, 0));
    const tn_expr *values[2] = {tn_mul(ctx, tap(src, clamped(ctx, at, a->in)), w), w},
                  *init[2] = {tn_literal(ctx, d, 0), tn_literal(ctx, d, 0)};
    const tn_node *sums[2];
    tnk_te_reduce_tuple(s, dtypes, values, init, 2, add_both, NULL, sums);
    s = tnk_te_stage_like(e->te, "resize", sums[0], d);
    return tnk_te_define(s, tn_div(ctx, tnk_te_read_at(e->te, sums[0], s->axes, s->n_axes),
                                   tnk_te_read_at(e->te, sums[1], s->axes, s->n_axes)));
}

static bool
spatial_blocked(const resize *r)
{
    for (int i = 0; i < r->n; i++) {
        if (layout_find(&r->layout, (char)(LAYOUT_SPATIAL(r->axes)[i] - 'A' + 'a')) >= 0)
            return true;
    }
    return false;
}

/* The data resized along spatial axis i. */
static const tn_node *
resize_axis(emit *e, const resize *r, int i, const tn_node *x, const tn_expr *out, tnb_dtype wide)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *dims[16], *idx[16];
    int at = layout_find(&r->layout, LAYOUT_SPATIAL(r->axes)[i]), n = r->layout.n;
    for (int k = 0; k < n; k++)
        dims[k] = k == at ? out : emit_dim(x, (uint32_t)k);
    tnb_dtype d = r->method == NEAREST && r->places != TF_CROP ? emit_dtype(x) : wide;
    tnk_stage *s = tnk_te_stage(e->te, "resize", dims, (uint32_t)n, d);
    memcpy(idx, s->axes, (size_t)n * sizeof *idx);
    axis a = {
        .ctx = ctx, .r = r, .i = i, .in = emit_dim(x, (uint32_t)at), .out = out, .o = s->axes[at]};
    find_place(&a);
    source src = {e, x, at, idx, d};
    filter f;
    if (r->method != NEAREST && tn_call_int(e->call, "antialias") && read_filter(&a, wide, &f))
        return shrink_axis(&src, &a, s, &f);
    const tn_expr *v =
        r->method == NEAREST ? tap(&src, nearest(&a)) : interpolated(&src, &a, e->call);
    if (r->places == TF_CROP) {
        const tn_expr *inside =
            tn_and_of(ctx, tn_ge_of(ctx, a.num, tn_i64(ctx, 0)),
                      tn_le_of(ctx, a.num, tn_mul(ctx, tn_subi(ctx, a.in, 1), a.den)));
        v = tn_select_of(ctx, inside, v,
                         tn_literal(ctx, d, tn_call_float(e->call, "extrapolation_value")));
    }
    return tnk_te_define(s, v);
}

const tn_expr *
legalize_resize(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    resize r;
    if (!read_resize(ctx, call, &r) || spatial_blocked(&r))
        return NULL;
    const tn_node *x = emit_input(&e, call->args.at[0]), *from = x;
    tnb_dtype d = tn_type_dtype(call->base.type),
              wide = tnb_dtype_eq(emit_dtype(x), TNB_F64) ? TNB_F64 : TNB_F32;
    tn_list out = emit_dims(TN_NODE(call));
    for (int i = 0; i < r.n; i++) {
        int at = layout_find(&r.layout, LAYOUT_SPATIAL(r.axes)[i]);
        const tn_expr *extent = tnk_te_expr(e.te, out.at[at]);
        bool same = dim_equal(ctx, extent, emit_dim(from, (uint32_t)at)) &&
                    (r.scale[i] == 0 || r.scale[i] == 1);
        if (!same || r.places == TF_CROP)
            from = resize_axis(&e, &r, i, from, extent, wide);
    }
    if (from == x || !tnb_dtype_eq(emit_dtype(from), d)) {
        tnk_stage *s = emit_stage(&e, "resize");
        from = tnk_te_define(s, tn_cast_to(ctx, d, tnk_te_read_at(e.te, from, s->axes, s->n_axes)));
    }
    return emit_end(&e, emit_hint(call), from);
}
