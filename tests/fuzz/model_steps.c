/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of random graphs: an operator, or what models put together: a convolution with its bias and activation, a gate, a
 * residual, attention. A step that does not fit what is there does nothing.
 */
#include "model_graph.h"

#include <math.h>

#include "tenon/core/arith.h"

#define I(v) tn_i64(g->ctx, (v))
#define F(v) tn_float_imm_of(g->ctx, TNB_F64, (v))
#define CHOOSE(list) (list)[model_below(g, sizeof(list) / sizeof *(list))]

static const tn_node *
ints(model_graph *g, int64_t a, int64_t b)
{
    return tn_int_array(g->ctx, (int64_t[]){a, b}, 2);
}

static const tn_expr *
scalar(model_graph *g, double v)
{
    return tn_scalar_constant(g->ctx, g->d, v);
}

/* ---- activations ---- */

static const tn_expr *
activation(model_graph *g, const tn_expr *x)
{
    static const char *const ops[] = {"nn.relu", "nn.relu", "sigmoid",  "nn.silu",
                                      "nn.gelu", "tanh",    "nn.relu6", "nn.softplus"};
    uint32_t k = model_below(g, 12);
    if (!x)
        return NULL;
    if (k < 8)
        return model_op(g, ops[k], NULL, x, NULL);
    if (k == 8)
        return model_op(g, "nn.leakyrelu", tn_dictv(g->ctx, "alpha", F(0.1), NULL), x, NULL);
    const tn_expr *three = model_op(g, "add", NULL, x, scalar(g, 3), NULL);
    const tn_expr *cut = three ? model_op(g, "clip", NULL, three, F(0), F(6), NULL) : NULL;
    const tn_expr *sixth =
        cut ? model_op(g, "multiply", NULL, cut, scalar(g, 1.0 / 6), NULL) : NULL;
    if (k == 9 || !sixth) /* a hard sigmoid, or swish */
        return sixth;
    return model_op(g, "multiply", NULL, x, sixth, NULL);
}

/* A gate's last step: between 0 and 1. */
static const tn_expr *
squash(model_graph *g, const tn_expr *x)
{
    if (!x || model_chance(g, 70))
        return x ? model_op(g, "sigmoid", NULL, x, NULL) : NULL;
    x = model_op(g, "add", NULL, x, scalar(g, 3), NULL);
    x = x ? model_op(g, "clip", NULL, x, F(0), F(6), NULL) : NULL;
    return x ? model_op(g, "divide", NULL, x, scalar(g, 6), NULL) : NULL;
}

/* ---- convolutions ---- */

typedef struct conv {
    int64_t oc, kh, kw, stride, dilation, groups, pad[4];
} conv;

static const tn_expr *
convolve(model_graph *g, const tn_expr *x, conv c)
{
    int64_t ic = model_extent(x, 1), shape[4] = {c.oc, ic / c.groups, c.kh, c.kw};
    if (ic < 1 || ic % c.groups || c.oc % c.groups)
        return NULL;
    double fan = (double)(shape[1] * c.kh * c.kw);
    const tn_expr *w = model_constant(g, g->d, shape, 4, 1.7 / sqrt(fan), 0);
    return model_op(g, "nn.conv2d",
                    tn_dictv(g->ctx, "strides", ints(g, c.stride, c.stride), "dilation",
                             ints(g, c.dilation, c.dilation), "padding",
                             tn_int_array(g->ctx, c.pad, 4), "groups", I(c.groups), NULL),
                    x, w, NULL);
}

static const tn_expr *
batch_norm(model_graph *g, const tn_expr *x)
{
    int64_t c = x ? model_extent(x, 1) : -1;
    if (c < 1)
        return NULL;
    const tn_expr *p[4];
    for (int i = 0; i < 4; i++)
        p[i] = model_constant(g, g->d, &c, 1, 0.5, i == 0 || i == 3 ? 1 : 0);
    const tn_expr *t =
        model_op(g, "nn.batch_norm",
                 tn_dictv(g->ctx, "axis", I(1), "training", tn_bool(g->ctx, false), NULL), x, p[0],
                 p[1], p[2], p[3], NULL);
    if (!t)
        return NULL;
    g->n -= g->n >= 3 ? 2 : 0; /* the statistics are constants */
    return g->values[g->n - 1];
}

static const tn_expr *
add_bias(model_graph *g, const tn_expr *x)
{
    int64_t shape[4] = {1, x ? model_extent(x, 1) : -1, 1, 1};
    return shape[1] < 1
               ? x
               : model_op(g, "add", NULL, x, model_constant(g, g->d, shape, 4, 0.5, 0), NULL);
}

static const tn_expr *
after_conv(model_graph *g, const tn_expr *y)
{
    if (y && model_chance(g, 25))
        y = batch_norm(g, y);
    else if (y && model_chance(g, 75))
        y = add_bias(g, y);
    return y && model_chance(g, 65) ? activation(g, y) : y;
}

static conv
random_conv(model_graph *g, int64_t ic)
{
    static const int64_t kernels[] = {1, 1, 1, 1, 3, 3, 3, 3, 5, 2, 7};
    conv c = {.oc = model_channels(g), .stride = 1, .dilation = 1, .groups = 1};
    c.kh = c.kw = CHOOSE(kernels);
    if (model_chance(g, 8))
        c.kw = CHOOSE(kernels);
    if (model_chance(g, 22))
        c.stride = model_chance(g, 85) ? 2 : 3;
    if (c.kh > 1 && model_chance(g, 8))
        c.dilation = 2;
    if (model_chance(g, 75)) /* as large as the image */
        for (int i = 0; i < 4; i++)
            c.pad[i] = ((i % 2 ? c.kw : c.kh) - 1) * c.dilation / 2;
    else if (model_chance(g, 50))
        for (int i = 0; i < 4; i++)
            c.pad[i] = model_below(g, 3);
    uint32_t kind = model_below(g, 100);
    if (kind < 25 && ic > 1) { /* depthwise, sometimes with a multiplier */
        c.groups = ic;
        c.oc = ic * (model_chance(g, 85) ? 1 : 2);
    } else if (kind < 35) {
        static const int64_t groups[] = {2, 2, 3, 4, 8};
        c.groups = CHOOSE(groups);
        c.oc = c.groups * (1 + model_below(g, 24));
    }
    return c;
}

static void
step_conv(model_graph *g)
{
    const tn_expr *x = model_value(g, 4);
    if (x)
        (void)after_conv(g, convolve(g, x, random_conv(g, model_extent(x, 1))));
}

static void
step_conv_transpose(model_graph *g)
{
    const tn_expr *x = model_value(g, 4);
    int64_t ic = x ? model_extent(x, 1) : -1, k = 2 + model_below(g, 3), oc = model_channels(g);
    int64_t shape[4] = {ic, oc, k, k}, s = 1 + model_below(g, 2), p = model_below(g, 2);
    if (ic < 1)
        return;
    const tn_expr *w = model_constant(g, g->d, shape, 4, 1.7 / sqrt((double)(ic * k * k)), 0);
    (void)after_conv(g, model_op(g, "nn.conv2d_transpose",
                                 tn_dictv(g->ctx, "strides", ints(g, s, s), "padding",
                                          tn_int_array(g->ctx, (int64_t[]){p, p, p, p}, 4), NULL),
                                 x, w, NULL));
}

/* ---- pools and gates ---- */

static const tn_expr *
reduce(model_graph *g, const char *op, const tn_expr *x, const int64_t *axes, uint32_t n, bool keep)
{
    return x ? model_op(g, op,
                        tn_dictv(g->ctx, "axis", tn_int_array(g->ctx, axes, n), "keepdims",
                                 tn_bool(g->ctx, keep), NULL),
                        x, NULL)
             : NULL;
}

static const tn_expr *
global_pool(model_graph *g, const tn_expr *x)
{
    static const int64_t axes[] = {2, 3};
    if (model_chance(g, 25))
        return model_op(g, "nn.adaptive_avg_pool2d",
                        tn_dictv(g->ctx, "output_size", ints(g, 1, 1), NULL), x, NULL);
    return reduce(g, model_chance(g, 85) ? "mean" : "max", x, axes, 2, true);
}

/* x [m, k] times constants [k, n], with a bias. */
static const tn_expr *
dense(model_graph *g, const tn_expr *x, int64_t n, bool bias)
{
    uint32_t rank = x ? model_dims(x).n : 0;
    int64_t shape[2] = {rank ? model_extent(x, rank - 1) : -1, n};
    if (shape[0] < 1)
        return NULL;
    const tn_expr *w = model_constant(g, g->d, shape, 2, 1.7 / sqrt((double)shape[0]), 0);
    x = model_op(g, "matmul", NULL, x, w, NULL);
    return x && bias ? model_op(g, "add", NULL, x, model_constant(g, g->d, &n, 1, 0.5, 0), NULL)
                     : x;
}

static const tn_expr *
reshape(model_graph *g, const tn_expr *x, tn_list dims)
{
    return x ? model_op(g, "reshape", NULL, x, tn_shape_expr_of(g->ctx, dims), NULL) : NULL;
}

/* Squeeze and excitation: x times what two layers make of its channels' means. */
static void
step_gate(model_graph *g)
{
    const tn_expr *x = model_value(g, 4);
    int64_t c = x ? model_extent(x, 1) : -1,
            mid = c / (model_chance(g, 40) ? 1 : 1 + model_below(g, 6));
    if (c < 1)
        return;
    conv small = {
        .oc = mid < 1 ? 1 : mid, .kh = 1, .kw = 1, .stride = 1, .dilation = 1, .groups = 1};
    conv back = small;
    back.oc = c;
    const tn_expr *s = NULL, *first = model_dims(x).at[0];
    for (uint32_t i = 0; i < g->n && !s && model_chance(g, 70); i++)
        if (model_dims(g->values[i]).n == 4 && model_extent(g->values[i], 1) == c &&
            model_extent(g->values[i], 2) == 1 && model_extent(g->values[i], 3) == 1 &&
            model_dims(g->values[i]).at[0] == first &&
            tnb_dtype_eq(tn_type_dtype(g->values[i]->type), g->d))
            s = g->values[i]; /* given from elsewhere */
    s = s ? s : global_pool(g, x);
    if (s && model_chance(g, 20)) { /* the layers as products of matrices */
        s = reshape(g, s, tn_listv(g->ctx, first, I(c), NULL));
        s = dense(g, s, small.oc, true);
        s = s ? model_op(g, "nn.relu", NULL, s, NULL) : NULL;
        s = squash(g, dense(g, s, c, true));
        s = reshape(g, s, tn_listv(g->ctx, first, I(c), I(1), I(1), NULL));
    } else if (s) {
        if (model_chance(g, 65)) {
            s = add_bias(g, convolve(g, s, small));
            s = s ? activation(g, s) : NULL;
        }
        s = s ? convolve(g, s, back) : NULL;
        s = squash(g, s && model_chance(g, 80) ? add_bias(g, s) : s);
    }
    const tn_expr *y = s ? model_op(g, "multiply", NULL, x, s, NULL) : NULL;
    if (y && model_chance(g, 25))
        (void)activation(g, y);
    else if (y && model_chance(g, 20))
        (void)model_op(g, "add", NULL, y, x, NULL);
}

/* The same over pixels: one channel, or the mean and the maximum over channels, seen through a window. */
static void
step_spatial_gate(model_graph *g)
{
    const tn_expr *x = model_value(g, 4), *s;
    static const int64_t axis[] = {1};
    int64_t k = model_chance(g, 50) ? 1 : model_chance(g, 50) ? 3 : 7, p = k / 2;
    if (!x)
        return;
    if (model_chance(g, 50)) {
        const tn_expr *mean = reduce(g, "mean", x, axis, 1, true),
                      *most = reduce(g, "max", x, axis, 1, true);
        s = mean && most ? model_op(g, "concat", tn_dictv(g->ctx, "axis", I(1), NULL),
                                    tn_tuple_of(g->ctx, tn_listv(g->ctx, mean, most, NULL)), NULL)
                         : NULL;
    } else {
        s = x;
    }
    s = s ? convolve(g, s,
                     (conv){.oc = 1,
                            .kh = k,
                            .kw = k,
                            .stride = 1,
                            .dilation = 1,
                            .groups = 1,
                            .pad = {p, p, p, p}})
          : NULL;
    s = squash(g, s);
    if (s)
        (void)model_op(g, "multiply", NULL, x, s, NULL);
}

static void
step_pool(model_graph *g)
{
    const tn_expr *x = model_value(g, 4);
    int64_t k = 2 + model_below(g, 2), s = 1 + model_below(g, 2), p = model_below(g, 2), out;
    if (!x)
        return;
    bool most = model_chance(g, 50);
    if (model_chance(g, 12)) {
        (void)global_pool(g, x);
    } else if (model_chance(g, 15)) {
        out = 1 + model_below(g, 4);
        (void)model_op(g, most ? "nn.adaptive_max_pool2d" : "nn.adaptive_avg_pool2d",
                       tn_dictv(g->ctx, "output_size", ints(g, out, 1 + model_below(g, 4)), NULL),
                       x, NULL);
    } else {
        const tn_node *a =
            tn_dictv(g->ctx, "pool_size", ints(g, k, k), "strides", ints(g, s, s), "padding",
                     tn_int_array(g->ctx, (int64_t[]){p, p, p, p}, 4), "ceil_mode",
                     tn_bool(g->ctx, model_chance(g, 25)), "count_include_pad",
                     tn_bool(g->ctx, model_chance(g, 40)), NULL);
        (void)model_op(g, most ? "nn.max_pool2d" : "nn.avg_pool2d", a, x, NULL);
    }
}

/* ---- joining and taking apart ---- */

static void
step_residual(model_graph *g)
{
    const tn_expr *x = model_value(g, 4), *y = model_value(g, 4);
    static const char *const ops[] = {"add", "add", "add", "subtract", "maximum", "multiply"};
    if (!x || !y)
        return;
    const tn_expr *r = model_op(g, CHOOSE(ops), NULL, x, y, NULL);
    if (!r) { /* another number of channels: through a convolution */
        conv c = {
            .oc = model_extent(x, 1), .kh = 1, .kw = 1, .stride = 1, .dilation = 1, .groups = 1};
        y = c.oc > 0 ? convolve(g, y, c) : NULL;
        r = y ? model_op(g, "add", NULL, x, y, NULL) : NULL;
    }
    if (r && model_chance(g, 60))
        (void)activation(g, r);
}

static void
step_concat(model_graph *g)
{
    const tn_expr *v[3];
    uint32_t n = 2 + model_below(g, 2), rank = model_chance(g, 75) ? 4 : 0;
    for (uint32_t i = 0; i < n; i++)
        if (!(v[i] = model_value(g, rank)))
            return;
    rank = model_dims(v[0]).n;
    int64_t axis = rank == 4 && model_chance(g, 80) ? 1 : rank ? model_below(g, rank) : 0;
    for (uint32_t i = 1; i < n; i++) { /* no extents that only may be equal */
        if (model_dims(v[i]).n != rank)
            v[i] = v[0];
        for (uint32_t k = 0; k < rank; k++)
            if ((int64_t)k != axis &&
                !tn_prove_equal(g->ctx, model_dims(v[i]).at[k], model_dims(v[0]).at[k]))
                v[i] = v[0];
    }
    (void)model_op(g, "concat", tn_dictv(g->ctx, "axis", I(axis), NULL),
                   tn_tuple_of(g->ctx, tn_list_of(g->ctx, (const tn_node *const *)v, n)), NULL);
}

static void
step_split(model_graph *g)
{
    const tn_expr *x = model_value(g, model_chance(g, 80) ? 4 : 0);
    uint32_t rank = x ? model_dims(x).n : 0, axis = rank > 1 && model_chance(g, 70) ? 1 : 0;
    axis = rank && model_chance(g, 20) ? model_below(g, rank) : axis;
    int64_t v = rank ? model_extent(x, axis) : -1;
    if (v < 2)
        return;
    int64_t at = 1 + model_below(g, (uint32_t)v - 1);
    bool even = v % 2 == 0 && model_chance(g, 60);
    const tn_expr *t = model_op(g, "split",
                                tn_dictv(g->ctx, "axis", I(axis), "indices_or_sections",
                                         even ? I(2) : tn_int_array(g->ctx, &at, 1), NULL),
                                x, NULL);
    if (t && g->n >= 2 && model_chance(g, 40)) { /* a gated linear unit, or what CSP blocks do */
        const tn_expr *a = g->values[g->n - 2], *b = g->values[g->n - 1];
        b = squash(g, b);
        if (b)
            (void)model_op(g, "multiply", NULL, a, b, NULL);
    }
}

/* Channels of groups change places. */
static void
step_shuffle(model_graph *g)
{
    const tn_expr *x = model_value(g, 4);
    int64_t c = x ? model_extent(x, 1) : -1, n = 2 + model_below(g, 3);
    if (c < 2 || c % n)
        return;
    tn_list d = model_dims(x);
    if (model_chance(g, 30) && c % 4 == 0) {
        (void)model_op(g, "nn.pixel_shuffle", tn_dictv(g->ctx, "upscale_factor", I(2), NULL), x,
                       NULL);
        return;
    }
    x = reshape(g, x, tn_listv(g->ctx, d.at[0], I(n), I(c / n), d.at[2], d.at[3], NULL));
    x = x ? model_op(g, "permute_dims",
                     tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, (int64_t[]){0, 2, 1, 3, 4}, 5),
                              NULL),
                     x, NULL)
          : NULL;
    (void)reshape(g, x, d);
}

static void
step_transpose(model_graph *g)
{
    static const int64_t usual[][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}, {0, 2, 1, 3}};
    const tn_expr *x = model_value(g, 0);
    uint32_t rank = x ? model_dims(x).n : 0;
    int64_t axes[6];
    if (rank < 2)
        return;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t k = model_below(g, i + 1);
        axes[i] = axes[k];
        axes[k] = i;
    }
    (void)model_op(g, "permute_dims",
                   tn_dictv(g->ctx, "axes",
                            tn_int_array(g->ctx,
                                         rank == 4 && model_chance(g, 60) ? CHOOSE(usual) : axes,
                                         rank),
                            NULL),
                   x, NULL);
}

static void
step_reshape(model_graph *g)
{
    const tn_expr *x = model_value(g, 0), *out[9];
    tn_list dims = x ? model_dims(x) : (tn_list){0};
    uint32_t n = 0, at = dims.n ? model_below(g, dims.n) : 0;
    for (uint32_t i = 0; i < dims.n; i++) {
        int64_t v = 0;
        bool fixed = tn_int_value(dims.at[i], &v);
        if (i == at && i + 1 < dims.n && model_chance(g, 60)) {
            out[n++] = tn_mul(g->ctx, dims.at[i], dims.at[i + 1]);
            i++;
        } else if (i == at && fixed && v % 2 == 0) {
            out[n++] = I(2);
            out[n++] = I(v / 2);
        } else {
            out[n++] = dims.at[i];
        }
    }
    if (x && n <= 6)
        (void)reshape(g, x, tn_list_of(g->ctx, out, n));
}

static void
step_pad(model_graph *g)
{
    static const char *const modes[] = {"constant", "constant", "reflect", "edge"};
    const tn_expr *x = model_value(g, 0);
    uint32_t rank = x ? model_dims(x).n : 0;
    int64_t width[12] = {0};
    for (uint32_t i = 0; i < 2 * rank; i++)
        width[i] = i >= 2 && model_chance(g, 60) ? model_below(g, 3) : 0;
    for (uint32_t i = 0; i < rank; i++) /* a mirror needs something to show */
        if (model_extent(x, i) >= 0 && model_extent(x, i) < 4)
            width[2 * i] = width[2 * i + 1] = 0;
    const char *mode = CHOOSE(modes);
    if (rank)
        (void)model_op(g, "nn.pad",
                       tn_dictv(g->ctx, "pad_width", tn_int_array(g->ctx, width, 2 * rank),
                                "pad_mode", tn_string(g->ctx, mode), NULL),
                       x, NULL);
}

static void
step_slice(model_graph *g)
{
    const tn_expr *x = model_value(g, 0);
    uint32_t rank = x ? model_dims(x).n : 0, axis = rank ? model_below(g, rank) : 0;
    int64_t v = rank ? model_extent(x, axis) : -1;
    if (v < 2)
        return;
    int64_t begin = model_below(g, (uint32_t)v - 1),
            end = begin + 1 + model_below(g, (uint32_t)(v - begin));
    const tn_node *one[4] = {I(axis), I(begin), I(end), I(1 + (model_chance(g, 30) ? 1 : 0))};
    const tn_expr *t[4];
    for (int i = 0; i < 4; i++)
        t[i] = tn_tuple_of(g->ctx, tn_list_of(g->ctx, &one[i], 1));
    (void)model_op(g, "strided_slice", NULL, x, t[0], t[1], t[2], t[3], NULL);
}

static void
step_resize(model_graph *g)
{
    static const char *const methods[] = {"nearest_neighbor", "nearest_neighbor", "linear",
                                          "linear", "cubic"};
    static const char *const modes[] = {"half_pixel", "asymmetric", "align_corners",
                                        "pytorch_half_pixel"};
    const tn_expr *x = model_value(g, 4);
    int64_t h = x ? model_extent(x, 2) : -1, w = x ? model_extent(x, 3) : -1;
    if (h < 1 || w < 1)
        return;
    bool twice = model_chance(g, 65);
    const tn_expr *nh = I(twice ? 2 * h : 1 + model_below(g, 24)),
                  *nw = I(twice ? 2 * w : 1 + model_below(g, 24));
    const char *method = CHOOSE(methods);
    bool nearest = method == methods[0];
    const tn_node *a =
        tn_dictv(g->ctx, "method", tn_string(g->ctx, method), "coordinate_transformation_mode",
                 tn_string(g->ctx, nearest ? "asymmetric" : CHOOSE(modes)), "rounding_method",
                 tn_string(g->ctx, nearest ? "floor" : "round"), NULL);
    (void)model_op(g, "image.resize2d", a, x,
                   tn_shape_expr_of(g->ctx, tn_listv(g->ctx, nh, nw, NULL)), NULL);
}

/* ---- broadcasts ---- */

/* Beside x, a constant or a reduction of x with any of the extents 1. */
static void
step_broadcast(model_graph *g)
{
    static const char *const ops[] = {"add", "subtract", "multiply", "maximum", "minimum"};
    const tn_expr *x = model_value(g, 0), *y;
    tn_list dims = x ? model_dims(x) : (tn_list){0};
    int64_t shape[8], axes[8];
    uint32_t n = 0;
    if (!dims.n)
        return;
    if (model_chance(g, 45)) {
        for (uint32_t i = 0; i < dims.n; i++)
            if (model_chance(g, 50))
                axes[n++] = i;
        y = n ? reduce(g, model_chance(g, 60) ? "mean" : "max", x, axes, n, true) : NULL;
    } else {
        uint32_t skip = model_chance(g, 40) ? model_below(g, dims.n) : 0;
        for (uint32_t i = skip; i < dims.n; i++, n++)
            if (!tn_int_value(dims.at[i], &shape[n]) || model_chance(g, 45))
                shape[n] = 1;
        y = model_constant(g, g->d, shape, (int32_t)n, 1, 0);
    }
    const char *op = CHOOSE(ops);
    if (y && model_chance(g, 30))
        y = squash(g, y);
    if (y)
        (void)(model_chance(g, 75) ? model_op(g, op, NULL, x, y, NULL)
                                   : model_op(g, op, NULL, y, x, NULL));
}

/* Two values that happen to fit: every pattern of extents that the graph has. */
static void
step_binary(model_graph *g)
{
    static const char *const ops[] = {"add", "subtract", "multiply", "maximum", "minimum"};
    const tn_expr *x = model_value(g, 0), *y = model_value(g, 0);
    const char *op = CHOOSE(ops);
    tn_list a = x ? model_dims(x) : (tn_list){0}, b = y ? model_dims(y) : (tn_list){0};
    for (uint32_t i = 1; i <= a.n && i <= b.n; i++) {
        const tn_expr *p = a.at[a.n - i], *q = b.at[b.n - i];
        if (!tn_prove_equal(g->ctx, p, q) && !tn_is_int_const(p, 1) && !tn_is_int_const(q, 1))
            return;
    }
    if (x && y && op == ops[2])
        y = squash(g, y);
    if (x && y)
        (void)model_op(g, op, NULL, x, y, NULL);
}

static void
step_where(model_graph *g)
{
    const tn_expr *x = model_value(g, 0), *c;
    int64_t shape[1] = {1};
    if (!x)
        return;
    uint32_t rank = model_dims(x).n;
    if (rank && model_extent(x, rank - 1) > 0 && model_chance(g, 60))
        shape[0] = model_extent(x, rank - 1);
    c = tn_call_opv(g->ctx, "greater", NULL, model_constant(g, g->d, shape, 1, 1, 0),
                    scalar(g, 0.1), NULL);
    if (!tn_is_error(c))
        (void)model_op(g, "where", NULL, tn_emit(g->b, c, "lv"), x, scalar(g, -0.5), NULL);
}

static void
step_activation(model_graph *g)
{
    (void)activation(g, model_value(g, 0));
}

static void
step_reduce(model_graph *g)
{
    static const char *const ops[] = {"sum", "mean", "max", "min", "mean", "variance"};
    const tn_expr *x = model_value(g, 0);
    uint32_t rank = x ? model_dims(x).n : 0, n = 0;
    int64_t axes[6];
    const char *op = CHOOSE(ops);
    for (uint32_t i = 0; i < rank; i++)
        if (model_chance(g, 45))
            axes[n++] = i;
    x = n ? reduce(g, op, x, axes, n, model_chance(g, 60)) : NULL;
    if (x && op == ops[0])
        (void)model_op(g, "tanh", NULL, x, NULL);
}

/* ---- normalization ---- */

static void
step_norm(model_graph *g)
{
    const tn_expr *x = model_value(g, 0), *p[2];
    uint32_t rank = x ? model_dims(x).n : 0, kind = model_below(g, 6);
    if (rank < 2)
        return;
    int64_t last = rank - 1, axes[2] = {2, 3}, v = model_extent(x, kind < 3 ? (uint32_t)last : 1);
    if (kind == 0) {
        (void)model_op(g, "nn.softmax", tn_dictv(g->ctx, "axis", I(model_below(g, rank)), NULL), x,
                       NULL);
        return;
    }
    if (v < 1)
        return;
    for (int i = 0; i < 2; i++)
        p[i] = model_constant(g, g->d, &v, 1, 0.5, i == 0);
    const tn_node *eps = F(0.01);
    if (kind == 1)
        (void)model_op(g, "nn.layer_norm",
                       tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, &last, 1), "epsilon", eps,
                                NULL),
                       x, p[0], p[1], NULL);
    else if (kind == 2)
        (void)model_op(g, "nn.rms_norm",
                       tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, &last, 1), "epsilon", eps,
                                NULL),
                       x, p[0], NULL);
    else if (rank == 4 && kind == 3)
        (void)batch_norm(g, x);
    else if (rank == 4 && kind == 4)
        (void)model_op(g, "nn.instance_norm",
                       tn_dictv(g->ctx, "channel_axis", I(1), "axes", tn_int_array(g->ctx, axes, 2),
                                "epsilon", eps, NULL),
                       x, p[0], p[1], NULL);
    else if (rank == 4 && v % 2 == 0)
        (void)model_op(g, "nn.group_norm",
                       tn_dictv(g->ctx, "num_groups", I(2), "channel_axis", I(1), "axes",
                                tn_int_array(g->ctx, axes, 2), "epsilon", eps, NULL),
                       x, p[0], p[1], NULL);
}

/* ---- products ---- */

static void
step_dense(model_graph *g)
{
    const tn_expr *x = model_value(g, 0);
    if (!x || model_dims(x).n < 1)
        return;
    const tn_expr *y = dense(g, x, model_channels(g), model_chance(g, 75));
    if (y && model_chance(g, 60))
        y = activation(g, y);
    if (y && model_chance(g, 25)) { /* a perceptron with a residual */
        y = dense(g, y, model_extent(x, model_dims(x).n - 1), true);
        if (y)
            (void)model_op(g, "add", NULL, x, y, NULL);
    }
}

static void
step_matmul(model_graph *g)
{
    const tn_expr *x = model_value(g, 0), *y = model_value(g, 0);
    tn_list a = x ? model_dims(x) : (tn_list){0}, b = y ? model_dims(y) : (tn_list){0};
    if (a.n < 2 || b.n < 2 || !tn_prove_equal(g->ctx, a.at[a.n - 1], b.at[b.n - 2]))
        return;
    for (uint32_t i = 3; i <= a.n && i <= b.n; i++)
        if (!tn_prove_equal(g->ctx, a.at[a.n - i], b.at[b.n - i]))
            return;
    int64_t k = model_extent(x, a.n - 1);
    x = model_op(g, "multiply", NULL, x, scalar(g, 1 / sqrt(k > 0 ? (double)k : 9)), NULL);
    x = x ? model_op(g, "matmul", NULL, x, y, NULL) : NULL;
    if (x)
        (void)model_op(g, "tanh", NULL, x, NULL);
}

/* An image's pixels as a sequence, or a sequence as an image of one row. */
static void
step_sequence(model_graph *g)
{
    const tn_expr *x = model_value(g, model_chance(g, 60) ? 4 : 3);
    tn_list d = x ? model_dims(x) : (tn_list){0};
    if (d.n == 4) {
        x = reshape(g, x,
                    tn_listv(g->ctx, d.at[0], d.at[1], tn_mul(g->ctx, d.at[2], d.at[3]), NULL));
        if (x && model_chance(g, 80))
            (void)model_op(g, "permute_dims",
                           tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, (int64_t[]){0, 2, 1}, 3),
                                    NULL),
                           x, NULL);
    } else if (d.n == 3) {
        x = model_op(g, "permute_dims",
                     tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, (int64_t[]){0, 2, 1}, 3), NULL),
                     x, NULL);
        if (x)
            (void)reshape(g, x, tn_listv(g->ctx, d.at[0], d.at[2], I(1), d.at[1], NULL));
    }
}

/* Self-attention with heads, written out or as the operator. */
static void
step_attention(model_graph *g)
{
    const tn_expr *x = model_value(g, 3), *p[3];
    tn_list d = x ? model_dims(x) : (tn_list){0};
    int64_t heads = 1 + model_below(g, 3), size = 4 << model_below(g, 3);
    if (d.n != 3 || model_extent(x, 2) < 1)
        return;
    bool op = model_chance(g, 50);
    for (int i = 0; i < 3; i++) {
        p[i] = dense(g, x, heads * size, model_chance(g, 60));
        p[i] = reshape(g, p[i], tn_listv(g->ctx, d.at[0], d.at[1], I(heads), I(size), NULL));
        if (p[i] && !op)
            p[i] = model_op(g, "permute_dims",
                            tn_dictv(g->ctx, "axes",
                                     tn_int_array(g->ctx,
                                                  i == 1 ? (int64_t[]){0, 2, 3, 1}
                                                         : (int64_t[]){0, 2, 1, 3},
                                                  4),
                                     NULL),
                            p[i], NULL);
        if (!p[i])
            return;
    }
    const tn_expr *y;
    if (op) {
        y = model_op(g, "nn.attention",
                     model_chance(g, 30)
                         ? tn_dictv(g->ctx, "causal_mask", tn_string(g->ctx, "TopLeft"), NULL)
                         : NULL,
                     p[0], p[1], p[2], NULL);
    } else {
        y = model_op(g, "matmul", NULL, p[0], p[1], NULL);
        y = y ? model_op(g, "multiply", NULL, y, scalar(g, 1 / sqrt((double)size)), NULL) : NULL;
        y = y ? model_op(g, "nn.softmax", tn_dictv(g->ctx, "axis", I(-1), NULL), y, NULL) : NULL;
        y = y ? model_op(g, "matmul", NULL, y, p[2], NULL) : NULL;
        y = y ? model_op(g, "permute_dims",
                         tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, (int64_t[]){0, 2, 1, 3}, 4),
                                  NULL),
                         y, NULL)
              : NULL;
    }
    y = reshape(g, y, tn_listv(g->ctx, d.at[0], d.at[1], I(heads * size), NULL));
    y = dense(g, y, model_extent(x, 2), true);
    if (y)
        (void)model_op(g, "add", NULL, x, y, NULL);
}

static void
step_conv1d(model_graph *g)
{
    const tn_expr *x = model_value(g, 3);
    int64_t ic = x ? model_extent(x, 1) : -1, k = 1 + model_below(g, 5), oc = model_channels(g);
    bool apart = model_chance(g, 30);
    if (ic < 1)
        return;
    oc = apart ? ic : oc;
    int64_t shape[3] = {oc, apart ? 1 : ic, k}, pad[2] = {k / 2, k / 2}, s = 1 + model_below(g, 2);
    const tn_expr *w = model_constant(g, g->d, shape, 3, 1.7 / sqrt((double)(shape[1] * k)), 0);
    x = model_op(g, "nn.conv1d",
                 tn_dictv(g->ctx, "strides", tn_int_array(g->ctx, &s, 1), "padding",
                          tn_int_array(g->ctx, pad, 2), "groups", I(apart ? ic : 1), NULL),
                 x, w, NULL);
    if (x && model_chance(g, 60))
        (void)activation(g, x);
}

/* ---- bytes ---- */

static const tn_expr *
quantized(model_graph *g, const tn_expr *x, double step, bool sign)
{
    const tn_expr *zero = tn_scalar_constant(g->ctx, sign ? TNB_I8 : TNB_U8, sign ? 0 : 128);
    g->rounds = true;
    return model_op(g, "quantize",
                    tn_dictv(g->ctx, "out_dtype", tn_dtype_imm_of(g->ctx, sign ? TNB_I8 : TNB_U8),
                             NULL),
                    x, tn_scalar_constant(g->ctx, TNB_F32, step), zero, NULL);
}

static const tn_expr *
dequantized(model_graph *g, const tn_expr *q, double step, bool sign)
{
    const tn_expr *zero = tn_scalar_constant(g->ctx, sign ? TNB_I8 : TNB_U8, sign ? 0 : 128);
    return q ? model_op(g, "dequantize", NULL, q, tn_scalar_constant(g->ctx, TNB_F32, step), zero,
                        NULL)
             : NULL;
}

/* A convolution or a product as quantized models have it: between pairs of quantize and dequantize. */
static void
step_quantized(model_graph *g)
{
    const tn_expr *x = model_value(g, model_chance(g, 60) ? 4 : 0);
    bool sign = model_chance(g, 50);
    if (!x || !tnb_dtype_eq(g->d, TNB_F32) || model_dims(x).n < 2)
        return;
    const tn_expr *y = dequantized(g, quantized(g, x, 0.03, sign), 0.03, sign);
    uint32_t rank = model_dims(x).n;
    if (!y)
        return;
    if (rank == 4 && model_extent(y, 1) > 0) {
        conv c = random_conv(g, model_extent(y, 1));
        int64_t ic = model_extent(y, 1), shape[4] = {c.oc, ic / c.groups, c.kh, c.kw};
        if (ic % c.groups || c.oc % c.groups)
            return;
        const tn_expr *w = model_constant(g, TNB_I8, shape, 4, 100, 0);
        w = dequantized(g, w, 0.017 / sqrt((double)(shape[1] * c.kh * c.kw)), true);
        y = w ? model_op(g, "nn.conv2d",
                         tn_dictv(g->ctx, "strides", ints(g, c.stride, c.stride), "dilation",
                                  ints(g, c.dilation, c.dilation), "padding",
                                  tn_int_array(g->ctx, c.pad, 4), "groups", I(c.groups), NULL),
                         y, w, NULL)
              : NULL;
        y = y ? add_bias(g, y) : NULL;
    } else {
        int64_t shape[2] = {model_extent(y, rank - 1), model_channels(g)};
        const tn_expr *w = shape[0] > 0 ? model_constant(g, TNB_I8, shape, 2, 100, 0) : NULL;
        w = w ? dequantized(g, w, 0.017 / sqrt((double)shape[0]), true) : NULL;
        y = w ? model_op(g, "matmul", NULL, y, w, NULL) : NULL;
    }
    if (y && model_chance(g, 50))
        y = model_op(g, "nn.relu", NULL, y, NULL);
    y = y ? quantized(g, y, 0.03, sign) : NULL;
    if (y && model_chance(g, 70))
        (void)dequantized(g, y, 0.03, sign);
}

/* Through another dtype and back. */
static void
step_convert(model_graph *g)
{
    const tn_expr *x = model_value(g, 0);
    tnb_dtype other = tnb_dtype_eq(g->d, TNB_F32) ? TNB_F16 : TNB_F32;
    x = x ? model_op(g, "astype", tn_dictv(g->ctx, "dtype", tn_dtype_imm_of(g->ctx, other), NULL),
                     x, NULL)
          : NULL;
    if (!x)
        return;
    g->d = other; /* what follows goes on in it */
}

static void
step_argmax(model_graph *g)
{
    const tn_expr *x = model_value(g, 0);
    uint32_t rank = x ? model_dims(x).n : 0;
    if (!rank)
        return;
    g->rounds = true;
    (void)model_op(g, "argmax", tn_dictv(g->ctx, "axis", I(model_below(g, rank)), NULL), x, NULL);
}

static void
step_take(model_graph *g)
{
    const tn_expr *x = model_value(g, 0);
    uint32_t rank = x ? model_dims(x).n : 0, axis = rank ? model_below(g, rank) : 0;
    int64_t v = rank ? model_extent(x, axis) : -1, n = 1 + model_below(g, 9);
    if (v < 1)
        return;
    const tn_expr *at = model_constant(g, TNB_I32, &n, 1, (double)v / 2 - 0.01, (double)v / 2);
    (void)model_op(g, "take", tn_dictv(g->ctx, "axis", I(axis), NULL), x, at, NULL);
}

static void (*const steps[])(model_graph *) = {
    step_conv,      step_conv,       step_conv,           step_conv,        step_conv,
    step_conv,      step_gate,       step_gate,           step_gate,        step_residual,
    step_residual,  step_residual,   step_concat,         step_concat,      step_split,
    step_shuffle,   step_transpose,  step_transpose,      step_reshape,     step_pad,
    step_slice,     step_resize,     step_resize,         step_pool,        step_pool,
    step_broadcast, step_broadcast,  step_broadcast,      step_binary,      step_binary,
    step_where,     step_activation, step_activation,     step_reduce,      step_norm,
    step_norm,      step_dense,      step_dense,          step_matmul,      step_sequence,
    step_sequence,  step_attention,  step_conv1d,         step_quantized,   step_convert,
    step_argmax,    step_take,       step_conv_transpose, step_spatial_gate};

void
model_steps(model_graph *g, uint32_t n)
{
    enum { N = sizeof steps / sizeof *steps };
    _Static_assert(N <= 64, "a bit each");
    uint64_t any = g->kinds & (UINT64_MAX >> (64 - N));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = model_below(g, N);
        for (int tries = 0; any && !(any >> k & 1) && tries < 1000; tries++)
            k = model_below(g, N);
        steps[k](g);
    }
}
