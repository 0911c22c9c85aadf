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
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' has %d entries, wanted %d", key, count,
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
        return infer_fail(ctx, call, TNB_SHAPE, "argument 'size' has %u entries, wanted %d", size.n,
                          r.n);
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
    a->p = numbers ? I64(p) : a->in;
    a->q = numbers ? I64(q) : a->out;
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
    return SUB(MUL(ADD(MUL(a->o, I64(2)), I64(1)), a->p), a->q);
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
    const tn_expr *last = SUB(a->in, I64(1)), *zero = I64(0), *one = I64(1),
                  *times = scaled ? a->p : one,
                  *gaps = scaled ? SUB(MUL(a->in, a->q), a->p) : SUB(a->out, one),
                  *several = GREATER(gaps, zero);
    a->den = MUL(a->q, I64(2));
    switch (a->r->places) {
    case PYTORCH_HALF_PIXEL:
        a->num = SELECT(several, centre(a), zero);
        break;
    case ALIGN_CORNERS:
        a->num = SELECT(several, MUL(MUL(a->o, last), times), zero);
        a->den = GREATEST(gaps, one);
        break;
    case ASYMMETRIC:
        a->num = MUL(a->o, a->p);
        a->den = a->q;
        break;
    case TF_HALF_PIXEL:
        a->num = ADD(centre(a), a->q);
        break;
    case TF_CROP: {
        const tn_expr *moved = MUL(MUL(a->o, I64(a->end - a->start)), times),
                      *from = ADD(MUL(gaps, I64(a->start)), moved);
        a->num = MUL(SELECT(several, MUL(from, I64(2)), I64(a->start + a->end)), last);
        a->den = MUL(GREATEST(gaps, one), I64(2 * a->unit));
        break;
    }
    case HALF_SYMMETRIC: {
        /* what the result's fraction of an element leaves over, half of it at each end */
        const tn_expr *rest = SUB(MUL(a->in, a->q), MUL(a->out, a->p));
        a->num = scaled ? ADD(rest, centre(a)) : centre(a);
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
    return FLOORDIV(a->num, a->den);
}

static const tn_expr *
rest_of(const axis *a, tnb_dtype d)
{
    tn_ctx *ctx = a->ctx;
    return DIVIDE(CAST(d, FLOORMOD(a->num, a->den)), CAST(d, a->den));
}

static const tn_expr *
clamped(tn_ctx *ctx, const tn_expr *i, const tn_expr *extent)
{
    return LEAST(GREATEST(i, I64(0)), SUB(extent, I64(1)));
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
        return FLOORDIV(a->o, I64(out / in));
    const tn_expr *one = I64(1), *twice = MUL(a->num, I64(2)), *den2 = MUL(a->den, I64(2)), *i;
    switch (a->r->rounding) {
    case PREFER_FLOOR: /* ceil(x - 1/2) */
        i = FLOORDIV(ADD(twice, SUB(a->den, one)), den2);
        break;
    case ROUND_FLOOR:
        i = floor_of(a);
        break;
    case ROUND_CEIL:
        i = FLOORDIV(ADD(a->num, SUB(a->den, one)), a->den);
        break;
    default: /* floor(x + 1/2) */
        i = FLOORDIV(ADD(twice, a->den), den2);
    }
    return clamped(ctx, i, a->in);
}

/* The four weights of cubic convolution at distance t behind the second tap. */
static void
cubic_weights(tn_ctx *ctx, const tn_expr *t, double alpha, tnb_dtype d, const tn_expr **w)
{
    const tn_expr *c = LIT(d, alpha), *one = LIT(d, 1), *u = SUB(one, t),
                  *far[2] = {ADD(t, one), ADD(u, one)}, *near[2] = {t, u};
    const tn_expr *outer[2], *inner[2];
    for (int i = 0; i < 2; i++) {
        const tn_expr *x = far[i], *y = near[i];
        /* ((x - 5) x + 8) x - 4, times alpha; and ((alpha + 2) y - (alpha + 3)) y y + 1 */
        outer[i] = MUL(c, SUB(MUL(ADD(MUL(SUB(x, LIT(d, 5)), x), LIT(d, 8)), x), LIT(d, 4)));
        inner[i] = ADD(MUL(MUL(SUB(MUL(LIT(d, alpha + 2), y), LIT(d, alpha + 3)), y), y), one);
    }
    w[0] = outer[0];
    w[1] = inner[0];
    w[2] = inner[1];
    w[3] = outer[1];
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
    return CAST(s->wide, tnk_te_read_at(s->e->te, s->x, s->idx, emit_ndim(s->x)));
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
                      *right = tap(s, clamped(ctx, ADD(i, I64(1)), a->in));
        return ADD(weighted(ctx, left, SUB(LIT(s->wide, 1), t)), weighted(ctx, right, t));
    }
    const tn_expr *w[4], *sum = NULL, *total = NULL;
    bool exclude = tn_call_int(call, "cubic_exclude") != 0;
    cubic_weights(ctx, t, tn_call_float(call, "cubic_alpha"), s->wide, w);
    for (int k = 0; k < 4; k++) {
        const tn_expr *at = ADD(i, I64(k - 1));
        if (exclude)
            w[k] = SELECT(AND(GREATER_EQ(at, I64(0)), LESS(at, a->in)), w[k], LIT(s->wide, 0));
        const tn_expr *v = weighted(ctx, tap(s, clamped(ctx, at, a->in)), w[k]);
        sum = sum ? ADD(sum, v) : v;
        total = total ? ADD(total, w[k]) : w[k];
    }
    return exclude ? DIVIDE(sum, total) : sum;
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
        const tn_expr *some = tn_max(ctx, a->out, I64(1)), *one = LIT(d, 1);
        f->reach = ADD(tn_max(ctx, FLOORDIV(MUL(a->in, I64(width)), some), I64(width)), I64(1));
        f->inverse = LEAST(DIVIDE(CAST(d, some), CAST(d, a->in)), one);
        return true;
    }
    f->reach = I64(tnb_f64_to_i64((double)width * step) + 1);
    f->inverse = LIT(d, 1 / step);
    return step > 1;
}

/* The filter's weight at distance x (>= 0), in units of the widened taps. */
static const tn_expr *
filter_weight(tn_ctx *ctx, const resize *r, double alpha, const tn_expr *x, tnb_dtype d)
{
    const tn_expr *one = LIT(d, 1), *zero = LIT(d, 0);
    if (r->method == LINEAR)
        return GREATEST(SUB(one, x), zero);
    const tn_expr *near =
        ADD(MUL(MUL(SUB(MUL(LIT(d, alpha + 2), x), LIT(d, alpha + 3)), x), x), one);
    const tn_expr *far =
        MUL(LIT(d, alpha), SUB(MUL(ADD(MUL(SUB(x, LIT(d, 5)), x), LIT(d, 8)), x), LIT(d, 4)));
    return SELECT(LESS_EQ(x, one), near, SELECT(LESS(x, LIT(d, 2)), far, zero));
}

static void
add_both(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
         uint32_t n, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        next[i] = ADD(acc[i], x[i]);
}

/* A weighted mean over as many taps as the widened filter reaches. */
static const tn_node *
shrink_axis(const source *src, const axis *a, tnk_stage *s, const filter *f)
{
    emit *e = src->e;
    tn_ctx *ctx = e->ctx;
    tnb_dtype d = src->wide, dtypes[2] = {d, d};
    double alpha = tn_call_float(e->call, "cubic_alpha");
    const tn_expr *k = tnk_te_reduce_axis(s, "k", ADD(MUL(f->reach, I64(2)), I64(1))),
                  *off = SUB(k, f->reach), *at = ADD(floor_of(a), off);
    const tn_expr *far = MATH1("fabs", MUL(SUB(CAST(d, off), rest_of(a, d)), f->inverse));
    const tn_expr *w = filter_weight(ctx, a->r, alpha, far, d);
    if (tn_call_int(e->call, "cubic_exclude"))
        w = SELECT(AND(GREATER_EQ(at, I64(0)), LESS(at, a->in)), w, LIT(d, 0));
    const tn_expr *values[2] = {MUL(tap(src, clamped(ctx, at, a->in)), w), w},
                  *init[2] = {LIT(d, 0), LIT(d, 0)};
    const tn_node *sums[2];
    tnk_te_reduce_tuple(s, dtypes, values, init, 2, add_both, NULL, sums);
    s = tnk_te_stage_like(e->te, "resize", sums[0], d);
    return tnk_te_define(s, DIVIDE(tnk_te_read_at(e->te, sums[0], s->axes, s->n_axes),
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
            AND(GREATER_EQ(a.num, I64(0)), LESS_EQ(a.num, MUL(SUB(a.in, I64(1)), a.den)));
        v = SELECT(inside, v, LIT(d, tn_call_float(e->call, "extrapolation_value")));
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
        from = tnk_te_define(s, CAST(d, tnk_te_read_at(e.te, from, s->axes, s->n_axes)));
    }
    return emit_end(&e, emit_hint(call), from);
}
