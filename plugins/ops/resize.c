/* SPDX-License-Identifier: Apache-2.0 */
/* image.resize1d, 2d, 3d: one stage for each spatial axis that changes, since all methods are
 * separable.
 *
 * Places in the input are computed in float64, because halves decide what `nearest_neighbor` takes;
 * weights and sums in float32 (float64 for float64 data).
 */
#include "emit.h"
#include "layout.h"

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
    r->n = infer_spatial_axes(call);
    r->axes = layout_data_axes(r->n);
    if (!layout_read(ctx, call, "layout", r->axes, &r->layout))
        return false;
    r->method = find(tn_call_str(call, "method"), method_names);
    r->places = find(tn_call_str(call, "coordinate_transformation_mode"), place_names);
    r->rounding = find(tn_call_str(call, "rounding_method"), rounding_names);
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
    for (int i = 0; i < r->n; i++) {
        if (r->scale[i] < 0 || (tn_call_attr(call, "scales") && r->scale[i] == 0)) {
            infer_fail(ctx, call, TNB_INVALID, "attribute 'scales' holds %g", r->scale[i]);
            return false;
        }
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
    out[0] = layout_extent(ctx, &r.layout, dims, 'N');
    out[1] = layout_extent(ctx, &r.layout, dims, 'C');
    for (int i = 0; i < r.n; i++)
        out[2 + i] = size.at[i];
    return infer_known(ctx, call, layout_dims(ctx, &r.layout, r.axes, out), d);
}

/* ---- places ---- */

typedef struct axis {
    tn_ctx *ctx;
    const resize *r;
    int i;
    const tn_expr *in, *out, *o; /* extents, and the result's index */
} axis;

static const tn_expr *
number(tn_ctx *ctx, const tn_expr *extent)
{
    return CAST(TNB_F64, extent);
}

/* Input elements a result's element: 1 / scale. */
static const tn_expr *
step_of(const axis *a)
{
    tn_ctx *ctx = a->ctx;
    if (a->r->scale[a->i] > 0)
        return LIT(TNB_F64, 1 / a->r->scale[a->i]);
    return DIVIDE(number(ctx, a->in), number(ctx, a->out));
}

/* (o + 1/2) * step - 1/2 */
static const tn_expr *
centre(const axis *a)
{
    tn_ctx *ctx = a->ctx;
    const tn_expr *half = LIT(TNB_F64, 0.5);
    return SUB(MUL(ADD(number(ctx, a->o), half), step_of(a)), half);
}

static const tn_expr *
symmetric(const axis *a)
{
    tn_ctx *ctx = a->ctx;
    const tn_expr *exact = DIVIDE(number(ctx, a->in), step_of(a));
    const tn_expr *share = DIVIDE(number(ctx, a->out), exact);
    const tn_expr *middle = DIVIDE(number(ctx, a->in), LIT(TNB_F64, 2));
    return ADD(MUL(middle, SUB(LIT(TNB_F64, 1), share)), centre(a));
}

/* Where in the input the result's element lies. */
static const tn_expr *
place_of(const axis *a)
{
    tn_ctx *ctx = a->ctx;
    const tn_expr *o = number(ctx, a->o), *zero = LIT(TNB_F64, 0),
                  *last = SUB(number(ctx, a->in), LIT(TNB_F64, 1));
    /* given scales make the result's extent a fraction */
    const tn_expr *length = a->r->scale[a->i] > 0
                                ? MUL(number(ctx, a->in), LIT(TNB_F64, a->r->scale[a->i]))
                                : number(ctx, a->out);
    const tn_expr *several = GREATER(length, LIT(TNB_F64, 1)),
                  *gaps = SELECT(several, SUB(length, LIT(TNB_F64, 1)), LIT(TNB_F64, 1));
    double start = a->r->roi[a->i], end = a->r->roi[a->r->n + a->i];
    switch (a->r->places) {
    case PYTORCH_HALF_PIXEL:
        return SELECT(several, centre(a), zero);
    case ALIGN_CORNERS:
        return SELECT(several, DIVIDE(MUL(o, last), gaps), zero);
    case ASYMMETRIC:
        return MUL(o, step_of(a));
    case TF_HALF_PIXEL:
        return MUL(ADD(o, LIT(TNB_F64, 0.5)), step_of(a));
    case TF_CROP:
        return SELECT(several,
                      ADD(MUL(LIT(TNB_F64, start), last),
                          DIVIDE(MUL(MUL(o, LIT(TNB_F64, end - start)), last), gaps)),
                      MUL(LIT(TNB_F64, 0.5 * (start + end)), last));
    case HALF_SYMMETRIC:
        return symmetric(a);
    default:
        return centre(a);
    }
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
    const tn_expr *x = place_of(a), *half = LIT(TNB_F64, 0.5);
    switch (a->r->rounding) {
    case PREFER_FLOOR:
        x = MATH1("ceil", SUB(x, half));
        break;
    case ROUND_FLOOR:
        x = MATH1("floor", x);
        break;
    case ROUND_CEIL:
        x = MATH1("ceil", x);
        break;
    default:
        x = MATH1("floor", ADD(x, half));
    }
    return clamped(ctx, CAST(TNB_I64, x), a->in);
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

static const tn_expr *
interpolated(const source *s, const axis *a, const tn_call *call)
{
    tn_ctx *ctx = s->e->ctx;
    const tn_expr *x = place_of(a), *low = MATH1("floor", x), *t = CAST(s->wide, SUB(x, low)),
                  *i = CAST(TNB_I64, low);
    if (a->r->method == LINEAR) {
        const tn_expr *left = tap(s, clamped(ctx, i, a->in)),
                      *right = tap(s, clamped(ctx, ADD(i, I64(1)), a->in));
        return ADD(MUL(left, SUB(LIT(s->wide, 1), t)), MUL(right, t));
    }
    const tn_expr *w[4], *sum = NULL, *total = NULL;
    bool exclude = tn_call_int(call, "cubic_exclude") != 0;
    cubic_weights(ctx, t, tn_call_float(call, "cubic_alpha"), s->wide, w);
    for (int k = 0; k < 4; k++) {
        const tn_expr *at = ADD(i, I64(k - 1));
        if (exclude)
            w[k] = SELECT(AND(GREATER_EQ(at, I64(0)), LESS(at, a->in)), w[k], LIT(s->wide, 0));
        const tn_expr *v = MUL(tap(s, clamped(ctx, at, a->in)), w[k]);
        sum = sum ? ADD(sum, v) : v;
        total = total ? ADD(total, w[k]) : w[k];
    }
    return exclude ? DIVIDE(sum, total) : sum;
}

/* How many input elements a result's element stands for, when it is known and above 1; else 0. */
static double
shrinking(const axis *a)
{
    int64_t in, out;
    double step = 0;
    if (a->r->scale[a->i] > 0)
        step = 1 / a->r->scale[a->i];
    else if (tn_int_value(a->in, &in) && tn_int_value(a->out, &out) && out > 0)
        step = (double)in / (double)out;
    return step > 1 ? step : 0;
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
shrink_axis(const source *src, const axis *a, tnk_stage *s, double step)
{
    emit *e = src->e;
    tn_ctx *ctx = e->ctx;
    tnb_dtype d = src->wide, dtypes[2] = {d, d};
    double alpha = tn_call_float(e->call, "cubic_alpha");
    int64_t reach = (int64_t)(a->r->method == LINEAR ? step : 2 * step) + 1;
    const tn_expr *x = place_of(a), *low = MATH1("floor", x);
    const tn_expr *k = tnk_te_reduce_axis(s, "k", I64(2 * reach + 1));
    const tn_expr *at = ADD(CAST(TNB_I64, low), SUB(k, I64(reach)));
    const tn_expr *far =
        MATH1("fabs", CAST(d, MUL(SUB(CAST(TNB_F64, at), x), LIT(TNB_F64, 1 / step))));
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
    axis a = {ctx, r, i, emit_dim(x, (uint32_t)at), out, s->axes[at]};
    source src = {e, x, at, idx, d};
    double step = r->method != NEAREST && tn_call_int(e->call, "antialias") ? shrinking(&a) : 0;
    if (step > 0)
        return shrink_axis(&src, &a, s, step);
    const tn_expr *v =
        r->method == NEAREST ? tap(&src, nearest(&a)) : interpolated(&src, &a, e->call);
    if (r->places == TF_CROP) {
        const tn_expr *p = place_of(&a);
        const tn_expr *inside = AND(GREATER_EQ(p, LIT(TNB_F64, 0)),
                                    LESS_EQ(p, SUB(number(ctx, a.in), LIT(TNB_F64, 1))));
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
    return emit_end(&e, infer_op_name(call) + strlen("image."), from);
}
