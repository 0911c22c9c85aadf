/* SPDX-License-Identifier: Apache-2.0 */
/* image.grid_sample: an image (NCHW or NCDHW) read at places that a grid gives as x, y (and z)
 * between -1 and 1, on its axis 1, as upstream's does: (N, 2, H, W) or (N, 3, D, H, W). */
#include "emit.h"

enum { MAX_SPATIAL = 3, MAX_TAPS = 4 };

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
                          "attribute 'method' is \"%s\", expected bilinear, nearest or bicubic",
                          tn_call_str(call, "method"));
    if (!is_one_of(tn_call_str(call, "padding_mode"), "zeros", "border", "reflection"))
        return infer_fail(
            ctx, call, TNB_INVALID,
            "attribute 'padding_mode' is \"%s\", expected zeros, border or reflection",
            tn_call_str(call, "padding_mode"));
    const char *layout = tn_call_str(call, "layout");
    if (strcmp(layout, "NCHW") && strcmp(layout, "NCDHW"))
        return infer_fail(ctx, call, TNB_UNSUPPORTED,
                          "attribute 'layout' is \"%s\", expected NCHW or NCDHW", layout);
    int64_t n = (int64_t)strlen(layout);
    if ((t->ndim >= 0 && t->ndim != n) || (g->ndim >= 0 && g->ndim != n))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "data and grid must have %lld axes, but have %lld and %lld", (long long)n,
                          (long long)t->ndim, (long long)g->ndim);
    if (!tn_type_dims(TN_NODE(t), &x) || !tn_type_dims(TN_NODE(g), &grid))
        return infer_rank(ctx, call, n, t->dtype);
    if (dim_differ(ctx, grid.at[1], tn_i64(ctx, n - 2),
                   "axis 1 of the grid holds {} coordinates, expected {}") ||
        dim_differ(ctx, x.at[0], grid.at[0], "the data has {} batch entries, the grid {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "a grid of %s does not fit data of %s",
                          tn_text(ctx, tn_shape_expr_of(ctx, grid)),
                          tn_text(ctx, tn_shape_expr_of(ctx, x)));
    tn_list out = tn_listv(ctx, x.at[0], x.at[1], NULL);
    for (int64_t i = 2; i < n; i++)
        out = tn_list_append(ctx, out, grid.at[i]);
    for (uint32_t i = 2; i < n; i++)
        if (dim_vacant(ctx, x.at[i], out, "the image has {} pixels along axis %u", i))
            return infer_fail(ctx, call, TNB_SHAPE, "the image has 0 pixels along axis %u", i);
    return infer_known(ctx, call, out, t->dtype);
}

typedef struct sampler {
    emit *e;
    const tn_node *x;
    tnb_dtype wide;
    bool zeros, reflect, corners;
    int axes;                                   /* spatial */
    const tn_expr *n, *c, *extent[MAX_SPATIAL]; /* of depth, height, width */
} sampler;

/* A coordinate of -1 .. 1 in elements. */
static const tn_expr *
in_elements(const sampler *s, const tn_expr *v, const tn_expr *extent)
{
    tn_ctx *ctx = s->e->ctx;
    tnb_dtype d = s->wide;
    const tn_expr *one = tn_literal(ctx, d, 1), *half = tn_literal(ctx, d, 0.5),
                  *n = tn_cast_to(ctx, d, extent);
    if (s->corners)
        return tn_mul(ctx, tn_mul(ctx, tn_add(ctx, v, one), half), tn_sub(ctx, n, one));
    return tn_sub(ctx, tn_mul(ctx, tn_mul(ctx, tn_add(ctx, v, one), n), half), half);
}

/* Mirrors a coordinate into [low, low + span]. */
static const tn_expr *
mirrored(const sampler *s, const tn_expr *v, const tn_expr *extent)
{
    tn_ctx *ctx = s->e->ctx;
    tnb_dtype d = s->wide;
    const tn_expr *n = tn_cast_to(ctx, d, extent), *low = tn_literal(ctx, d, s->corners ? 0 : -0.5),
                  *span = s->corners ? tn_sub(ctx, n, tn_literal(ctx, d, 1)) : n;
    span = tn_max(ctx, span, tn_literal(ctx, d, s->corners ? 1e-30 : 1));
    const tn_expr *far = tn_intrin1(ctx, TN_INTRIN_fabs, tn_sub(ctx, v, low)),
                  *turns = tn_intrin1(ctx, TN_INTRIN_floor, tn_div(ctx, far, span));
    const tn_expr *rest = tn_sub(ctx, far, tn_mul(ctx, turns, span)),
                  *pairs =
                      tn_intrin1(ctx, TN_INTRIN_floor, tn_mul(ctx, turns, tn_literal(ctx, d, 0.5)));
    const tn_expr *even = tn_eq_of(ctx, tn_mul(ctx, pairs, tn_literal(ctx, d, 2)), turns);
    return tn_add(ctx, tn_select_of(ctx, even, rest, tn_sub(ctx, span, rest)), low);
}

/* An index of a tap brought into the image, by the padding mode. */
static const tn_expr *
tap_index(const sampler *s, const tn_expr *i, const tn_expr *extent)
{
    tn_ctx *ctx = s->e->ctx;
    if (s->reflect)
        i = tn_cast_to(ctx, TNB_I64,
                       tn_intrin1(ctx, TN_INTRIN_nearbyint,
                                  mirrored(s, tn_cast_to(ctx, s->wide, i), extent)));
    return tn_min(ctx, tn_max(ctx, i, tn_i64(ctx, 0)), tn_subi(ctx, extent, 1));
}

static const tn_expr *
pixel(const sampler *s, const tn_expr *const *place)
{
    tn_ctx *ctx = s->e->ctx;
    const tn_expr *at[2 + MAX_SPATIAL] = {s->n, s->c}, *inside = NULL;
    for (int i = 0; i < s->axes; i++) {
        at[2 + i] = tap_index(s, place[i], s->extent[i]);
        const tn_expr *same = tn_eq_of(ctx, at[2 + i], place[i]);
        inside = inside ? tn_and_of(ctx, inside, same) : same;
    }
    const tn_expr *v =
        tn_cast_to(ctx, s->wide, tnk_te_read_at(s->e->te, s->x, at, 2 + (uint32_t)s->axes));
    return s->zeros ? tn_select_of(ctx, inside, v, tn_literal(ctx, s->wide, 0)) : v;
}

/* Weights of `taps` taps that begin `before` elements before floor(v). */
static void
weights(const sampler *s, bool cubic, const tn_expr *t, const tn_expr **w)
{
    tn_ctx *ctx = s->e->ctx;
    tnb_dtype d = s->wide;
    const tn_expr *one = tn_literal(ctx, d, 1);
    if (!cubic) {
        w[0] = tn_sub(ctx, one, t);
        w[1] = t;
        return;
    }
    const double alpha = -0.75;
    for (int k = 0; k < 4; k++) {
        const tn_expr *x = k == 0   ? tn_add(ctx, t, one)
                           : k == 1 ? t
                           : k == 2 ? tn_sub(ctx, one, t)
                                    : tn_sub(ctx, tn_literal(ctx, d, 2), t);
        w[k] = k == 0 || k == 3 ? emit_cubic_far(ctx, alpha, x) : emit_cubic_near(ctx, alpha, x);
    }
}

static const tn_expr *
sample(const sampler *s, const tn_call *call, const tn_expr *const *at)
{
    tn_ctx *ctx = s->e->ctx;
    const char *method = tn_call_str(call, "method");
    const tn_expr *place[MAX_SPATIAL], *low[MAX_SPATIAL], *w[MAX_SPATIAL][MAX_TAPS], *sum = NULL;
    bool cubic = !strcmp(method, "bicubic");
    int taps = cubic ? 4 : 2, before = cubic ? 1 : 0, count = 1;
    if (!strcmp(method, "nearest")) {
        for (int i = 0; i < s->axes; i++)
            place[i] = tn_cast_to(ctx, TNB_I64, tn_intrin1(ctx, TN_INTRIN_nearbyint, at[i]));
        return pixel(s, place);
    }
    for (int i = 0; i < s->axes; i++) {
        const tn_expr *floor = tn_intrin1(ctx, TN_INTRIN_floor, at[i]);
        const tn_expr *part = tn_sub(ctx, at[i], floor);
        if (cubic) /* a place far outside, of which a fused operation rounds one use and not the other, has no third power */
            part = tn_min(ctx, tn_max(ctx, part, tn_literal(ctx, s->wide, 0)),
                          tn_literal(ctx, s->wide, 1));
        weights(s, cubic, part, w[i]);
        low[i] = tn_cast_to(ctx, TNB_I64, floor);
        count *= taps;
    }
    for (int k = 0; k < count; k++) {
        const tn_expr *weight = NULL;
        int rest = k;
        for (int i = s->axes - 1; i >= 0; i--) {
            int tap = rest % taps;
            rest /= taps;
            place[i] = tn_addi(ctx, low[i], tap - before);
            weight = weight ? tn_mul(ctx, w[i][tap], weight) : w[i][tap];
        }
        const tn_expr *v = tn_mul(ctx, pixel(s, place), weight);
        sum = sum ? tn_add(ctx, sum, v) : v;
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
    /* of bicubic each tap is brought into the image, not the place */
    bool places = strcmp(tn_call_str(call, "method"), "bicubic") != 0;
    tnb_dtype wide = tnb_dtype_eq(emit_dtype(x), TNB_F64) ? TNB_F64 : TNB_F32;
    tnk_stage *st = emit_stage(&e, "grid_sample");
    sampler s = {.e = &e,
                 .x = x,
                 .wide = wide,
                 .zeros = !strcmp(padding, "zeros"),
                 .reflect = !strcmp(padding, "reflection"),
                 .corners = tn_call_int(call, "align_corners") != 0,
                 .axes = (int)st->n_axes - 2,
                 .n = st->axes[0],
                 .c = st->axes[1]};
    const tn_expr *at[MAX_SPATIAL], *from[2 + MAX_SPATIAL] = {st->axes[0]};
    for (int i = 0; i < s.axes; i++) {
        s.extent[i] = emit_dim(x, 2 + (uint32_t)i);
        from[2 + i] = st->axes[2 + i];
    }
    for (int i = 0; i < s.axes; i++) { /* the last axis, x, comes first in the grid */
        from[1] = tn_i64(ctx, s.axes - 1 - i);
        const tn_expr *v = tnk_te_read_at(e.te, grid, from, 2 + (uint32_t)s.axes);
        at[i] = in_elements(&s, tn_cast_to(ctx, wide, v), s.extent[i]);
        if (!strcmp(padding, "border") && places)
            at[i] =
                tn_min(ctx, tn_max(ctx, at[i], tn_literal(ctx, wide, 0)),
                       tn_sub(ctx, tn_cast_to(ctx, wide, s.extent[i]), tn_literal(ctx, wide, 1)));
        if (s.reflect && places)
            at[i] = mirrored(&s, at[i], s.extent[i]);
    }
    const tn_expr *v = sample(&s, call, at);
    return emit_end(&e, "grid_sample", tnk_te_define(st, tn_cast_to(ctx, emit_dtype(x), v)));
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
        return infer_fail(ctx, call, TNB_SHAPE, "argument 'size' has %lld entries, expected 2 or 3",
                          (long long)n);
    if (t->ndim >= 0 && t->ndim != 3)
        return infer_fail(ctx, call, TNB_SHAPE, "the data has %lld axes, expected 3",
                          (long long)t->ndim);
    bool shape = tn_type_dims(TN_NODE(t), &dims);
    if (shape &&
        (dim_differ(ctx, dims.at[1], tn_i64(ctx, n), "the data has {} rows, expected {}") ||
         dim_differ(ctx, dims.at[2], tn_i64(ctx, n + 1), "the data has {} columns, expected {}")))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "the data has the shape %s, expected (N, %lld, %lld)",
                          tn_text(ctx, tn_shape_expr_of(ctx, dims)), (long long)n,
                          (long long)n + 1);
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
    const tn_expr *one = tn_literal(ctx, d, 1), *two = tn_literal(ctx, d, 2),
                  *n = tn_cast_to(ctx, d, extent);
    if (corners) { /* a lone element stands in the middle */
        const tn_expr *step = tn_div(ctx, two, tn_max(ctx, tn_sub(ctx, n, one), one));
        return tn_select_of(ctx, tn_gt_of(ctx, n, one),
                            tn_add(ctx, tn_literal(ctx, d, -1),
                                   tn_mul(ctx, tn_cast_to(ctx, d, i), step)),
                            tn_literal(ctx, d, 0));
    }
    return tn_sub(ctx, tn_div(ctx, tn_add(ctx, tn_mul(ctx, tn_cast_to(ctx, d, i), two), one), n),
                  one);
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
    const tn_expr *v =
        tn_cast_to(ctx, wide,
                   tnk_te_read(e.te, theta, s->axes[0], s->axes[1], tn_i64(ctx, n), NULL));
    for (uint32_t k = n; k-- > 0;) { /* theta's columns are x, y, z: the axes from the last */
        uint32_t axis = 2 + n - 1 - k;
        const tn_expr *at =
            between_borders(ctx, wide, s->axes[axis], tnk_te_expr(e.te, dims.at[axis]),
                            tn_call_int(call, "align_corners") != 0);
        const tn_expr *w =
            tn_cast_to(ctx, wide,
                       tnk_te_read(e.te, theta, s->axes[0], s->axes[1], tn_i64(ctx, k), NULL));
        v = tn_add(ctx, v, tn_mul(ctx, w, at));
    }
    return emit_end(&e, "affine_grid", tnk_te_define(s, tn_cast_to(ctx, d, v)));
}
