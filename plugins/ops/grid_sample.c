/* SPDX-License-Identifier: Apache-2.0 */
/* image.grid_sample: an image (NCHW) read at places that a grid gives as x and y between -1 and 1.
 */
#include "emit.h"

static bool
is_one_of(const char *s, const char *a, const char *b, const char *c)
{
    return !strcmp(s, a) || !strcmp(s, b) || !strcmp(s, c);
}

const tn_type *
infer_grid_sample(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *g = infer_tensor(ctx, call, 1);
    tn_list x, grid;
    if (!t || !g)
        return tn_error_node(ctx);
    if (!is_one_of(tn_call_str(call, "method"), "bilinear", "nearest", "bicubic"))
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'method' is \"%s\", wanted bilinear, nearest or bicubic",
                          tn_call_str(call, "method"));
    if (!is_one_of(tn_call_str(call, "padding_mode"), "zeros", "border", "reflection"))
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'padding_mode' is \"%s\", wanted zeros, border or reflection",
                          tn_call_str(call, "padding_mode"));
    if (strcmp(tn_call_str(call, "layout"), "NCHW"))
        return infer_fail(ctx, call, TNB_UNSUPPORTED, "attribute 'layout' is \"%s\", wanted NCHW",
                          tn_call_str(call, "layout"));
    if ((t->ndim >= 0 && t->ndim != 4) || (g->ndim >= 0 && g->ndim != 4))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "data and grid must have 4 axes, but have %lld and %lld",
                          (long long)t->ndim, (long long)g->ndim);
    if (!tn_type_dims(TN_NODE(t), &x) || !tn_type_dims(TN_NODE(g), &grid))
        return infer_rank(ctx, call, 4, t->dtype);
    if (dim_differ(ctx, grid.at[3], tn_i64(ctx, 2)) || dim_differ(ctx, x.at[0], grid.at[0]))
        return infer_fail(ctx, call, TNB_SHAPE, "a grid of %s does not fit data of %s",
                          tn_text(ctx, tn_shape(ctx, grid)), tn_text(ctx, tn_shape(ctx, x)));
    return infer_known(ctx, call, tn_listv(ctx, x.at[0], x.at[1], grid.at[1], grid.at[2], NULL),
                       t->dtype);
}

typedef struct sampler {
    emit *e;
    const tn_node *x;
    tnb_dtype wide;
    bool zeros, reflect, corners;
    const tn_expr *n, *c, *extent[2]; /* of height, width */
} sampler;

/* A coordinate of -1 .. 1 in elements. */
static const tn_expr *
in_elements(const sampler *s, const tn_expr *v, const tn_expr *extent)
{
    tn_ctx *ctx = s->e->ctx;
    tnb_dtype d = s->wide;
    const tn_expr *one = LIT(d, 1), *half = LIT(d, 0.5), *n = CAST(d, extent);
    if (s->corners)
        return MUL(MUL(ADD(v, one), half), SUB(n, one));
    return SUB(MUL(MUL(ADD(v, one), n), half), half);
}

/* Mirrors a coordinate into [low, low + span]. */
static const tn_expr *
mirrored(const sampler *s, const tn_expr *v, const tn_expr *extent)
{
    tn_ctx *ctx = s->e->ctx;
    tnb_dtype d = s->wide;
    const tn_expr *n = CAST(d, extent), *low = LIT(d, s->corners ? 0 : -0.5),
                  *span = s->corners ? SUB(n, LIT(d, 1)) : n;
    span = GREATEST(span, LIT(d, s->corners ? 1e-30 : 1));
    const tn_expr *far = MATH1("fabs", SUB(v, low)), *turns = MATH1("floor", DIVIDE(far, span));
    const tn_expr *rest = SUB(far, MUL(turns, span)),
                  *pairs = MATH1("floor", MUL(turns, LIT(d, 0.5)));
    const tn_expr *even = EQUAL(MUL(pairs, LIT(d, 2)), turns);
    return ADD(SELECT(even, rest, SUB(span, rest)), low);
}

/* An index of a tap brought into the image, by the padding mode. */
static const tn_expr *
tap_index(const sampler *s, const tn_expr *i, const tn_expr *extent)
{
    tn_ctx *ctx = s->e->ctx;
    if (s->reflect)
        i = CAST(TNB_I64, MATH1("nearbyint", mirrored(s, CAST(s->wide, i), extent)));
    return LEAST(GREATEST(i, I64(0)), SUB(extent, I64(1)));
}

static const tn_expr *
pixel(const sampler *s, const tn_expr *row, const tn_expr *column)
{
    tn_ctx *ctx = s->e->ctx;
    const tn_expr *i = tap_index(s, row, s->extent[0]), *j = tap_index(s, column, s->extent[1]);
    const tn_expr *v = CAST(s->wide, tnk_te_read(s->e->te, s->x, s->n, s->c, i, j, NULL));
    return s->zeros ? SELECT(AND(EQUAL(i, row), EQUAL(j, column)), v, LIT(s->wide, 0)) : v;
}

/* Weights of `taps` taps that begin `before` elements before floor(v). */
static void
weights(const sampler *s, bool cubic, const tn_expr *t, const tn_expr **w)
{
    tn_ctx *ctx = s->e->ctx;
    tnb_dtype d = s->wide;
    const tn_expr *one = LIT(d, 1);
    if (!cubic) {
        w[0] = SUB(one, t);
        w[1] = t;
        return;
    }
    const double alpha = -0.75;
    for (int k = 0; k < 4; k++) {
        const tn_expr *x = k == 0   ? ADD(t, one)
                           : k == 1 ? t
                           : k == 2 ? SUB(one, t)
                                    : SUB(LIT(d, 2), t);
        bool outer = k == 0 || k == 3;
        w[k] = outer ? MUL(LIT(d, alpha),
                           SUB(MUL(ADD(MUL(SUB(x, LIT(d, 5)), x), LIT(d, 8)), x), LIT(d, 4)))
                     : ADD(MUL(MUL(SUB(MUL(LIT(d, alpha + 2), x), LIT(d, alpha + 3)), x), x), one);
    }
}

static const tn_expr *
sample(const sampler *s, const tn_call *call, const tn_expr *y, const tn_expr *x)
{
    tn_ctx *ctx = s->e->ctx;
    const char *method = tn_call_str(call, "method");
    if (!strcmp(method, "nearest"))
        return pixel(s, CAST(TNB_I64, MATH1("nearbyint", y)), CAST(TNB_I64, MATH1("nearbyint", x)));
    bool cubic = !strcmp(method, "bicubic");
    int taps = cubic ? 4 : 2, before = cubic ? 1 : 0;
    const tn_expr *fy = MATH1("floor", y), *fx = MATH1("floor", x), *wy[4], *wx[4], *sum = NULL;
    weights(s, cubic, SUB(y, fy), wy);
    weights(s, cubic, SUB(x, fx), wx);
    const tn_expr *i = CAST(TNB_I64, fy), *j = CAST(TNB_I64, fx);
    for (int a = 0; a < taps; a++) {
        for (int k = 0; k < taps; k++) {
            const tn_expr *v =
                MUL(pixel(s, ADD(i, I64(a - before)), ADD(j, I64(k - before))), MUL(wy[a], wx[k]));
            sum = sum ? ADD(sum, v) : v;
        }
    }
    return sum;
}

const tn_expr *
legalize_grid_sample(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *grid = emit_input(&e, call->args.at[1]);
    const char *padding = tn_call_str(call, "padding_mode");
    tnb_dtype wide = tnb_dtype_eq(emit_dtype(x), TNB_F64) ? TNB_F64 : TNB_F32;
    tnk_stage *st = emit_stage(&e, "grid_sample");
    sampler s = {.e = &e,
                 .x = x,
                 .wide = wide,
                 .zeros = !strcmp(padding, "zeros"),
                 .reflect = !strcmp(padding, "reflection"),
                 .corners = tn_call_int(call, "align_corners") != 0,
                 .n = st->axes[0],
                 .c = st->axes[1],
                 .extent = {emit_dim(x, 2), emit_dim(x, 3)}};
    const tn_expr *at[2];
    for (int i = 0; i < 2; i++) { /* y, then x, which comes first in the grid */
        const tn_expr *v =
            tnk_te_read(e.te, grid, st->axes[0], st->axes[2], st->axes[3], I64(1 - i), NULL);
        at[i] = in_elements(&s, CAST(wide, v), s.extent[i]);
        if (!strcmp(padding, "border"))
            at[i] =
                LEAST(GREATEST(at[i], LIT(wide, 0)), SUB(CAST(wide, s.extent[i]), LIT(wide, 1)));
        if (s.reflect && strcmp(tn_call_str(call, "method"), "bicubic"))
            at[i] = mirrored(&s, at[i], s.extent[i]);
    }
    const tn_expr *v = sample(&s, call, at[0], at[1]);
    return emit_end(&e, "grid_sample", tnk_te_define(st, CAST(emit_dtype(x), v)));
}

const tn_type *
infer_affine_grid(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims, size;
    int64_t n;
    int known = t ? infer_shape_arg(ctx, call, 1, &size, &n) : -1;
    if (known < 0)
        return tn_error_node(ctx);
    if (n != 2 && n != 3)
        return infer_fail(ctx, call, TNB_SHAPE, "argument 'size' has %lld entries, wanted 2 or 3",
                          (long long)n);
    if (t->ndim >= 0 && t->ndim != 3)
        return infer_fail(ctx, call, TNB_SHAPE, "the data has %lld axes, wanted 3",
                          (long long)t->ndim);
    bool shape = tn_type_dims(TN_NODE(t), &dims);
    if (shape && (dim_differ(ctx, dims.at[1], tn_i64(ctx, n)) ||
                  dim_differ(ctx, dims.at[2], tn_i64(ctx, n + 1))))
        return infer_fail(ctx, call, TNB_SHAPE, "the data has the shape %s, wanted (N, %lld, %lld)",
                          tn_text(ctx, tn_shape(ctx, dims)), (long long)n, (long long)n + 1);
    if (!shape || !known)
        return infer_rank(ctx, call, n + 2, t->dtype);
    tn_list out = tn_listv(ctx, dims.at[0], tn_i64(ctx, n), NULL);
    for (uint32_t i = 0; i < size.n; i++)
        out = tn_list_append(ctx, out, size.at[i]);
    return infer_known(ctx, call, out, t->dtype);
}

/* The place of element i of an axis in -1 .. 1. */
static const tn_expr *
between_borders(tn_ctx *ctx, tnb_dtype d, const tn_expr *i, const tn_expr *extent, bool corners)
{
    const tn_expr *one = LIT(d, 1), *two = LIT(d, 2), *n = CAST(d, extent);
    if (corners)
        return ADD(LIT(d, -1), MUL(CAST(d, i), DIVIDE(two, SUB(n, one))));
    return SUB(DIVIDE(ADD(MUL(CAST(d, i), two), one), n), one);
}

const tn_expr *
legalize_affine_grid(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *theta = emit_input(&e, call->args.at[0]);
    tnb_dtype d = emit_dtype(theta), wide = emit_wide(d);
    tn_list dims = {0};
    tn_type_dims(call->base.type, &dims);
    tnk_stage *s = emit_stage(&e, "compute");
    uint32_t n = s->n_axes - 2;
    const tn_expr *v = CAST(wide, tnk_te_read(e.te, theta, s->axes[0], s->axes[1], I64(n), NULL));
    for (uint32_t k = n; k-- > 0;) { /* theta's columns are x, y, z: the axes from the last */
        uint32_t axis = 2 + n - 1 - k;
        const tn_expr *at =
            between_borders(ctx, wide, s->axes[axis], tnk_te_expr(e.te, dims.at[axis]),
                            tn_call_int(call, "align_corners") != 0);
        const tn_expr *w =
            CAST(wide, tnk_te_read(e.te, theta, s->axes[0], s->axes[1], I64(k), NULL));
        v = ADD(v, MUL(w, at));
    }
    return emit_end(&e, "affine_grid", tnk_te_define(s, CAST(d, v)));
}
