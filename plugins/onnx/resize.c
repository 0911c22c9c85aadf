/* SPDX-License-Identifier: Apache-2.0 */
/* Images of other sizes and sampled images. */
#include <inttypes.h>
#include <math.h>
#include "dynamic.h"
#include "terms.h"

/* Extents may be symbolic; scales are numbers (NaN: not known, the quotient of symbolic extents).
 */
typedef struct resize {
    int rank, n_axes;
    int64_t axes[ONNX_MAX_DIMS];
    const tn_expr *in[ONNX_MAX_DIMS],
        *size[ONNX_MAX_DIMS]; /* size, scale, roi: one an input axis */
    double scale[ONNX_MAX_DIMS], roi[2 * ONNX_MAX_DIMS];
    bool by_scale, has_roi;
    const char *method, *coordinates, *rounding;
} resize;

static bool
begin_resize(onnx_node *n, const tn_expr *x, resize *r)
{
    tn_list dims;
    if (!onnx_dims(n, x, &dims))
        return false;
    if (dims.n > ONNX_MAX_DIMS)
        return onnx_fail(n, TNB_UNSUPPORTED, "the image has rank %u", dims.n);
    r->rank = (int)dims.n;
    for (int i = 0; i < r->rank; i++) {
        r->in[i] = r->size[i] = dims.at[i];
        r->scale[i] = 1;
    }
    return true;
}

/* A size that was computed in floats; an error where no extent can be so large. */
static const tn_expr *
whole_size(onnx_node *n, double size)
{
    if (size >= 0 && size < 0x1p62)
        return tn_i64(n->ctx, (int64_t)size);
    (void)onnx_fail(n, TNB_BOUNDS, "a size of %g is computed", size);
    return tn_error_node(n->ctx);
}

/* floor(extent * scale), computed in float32. */
static const tn_expr *
scaled(onnx_node *n, const tn_expr *extent, double scale)
{
    tn_ctx *ctx = n->ctx;
    int64_t v;
    if (tn_int_value(extent, &v))
        return whole_size(n, floorf((float)v * (float)scale));
    const tn_expr *e = onnx_term_cast(ctx, TNB_I64, TNB_F32, extent);
    e = onnx_term_binary(ctx, ONNX_MUL, TNB_F32, false, e, tn_float_imm_of(ctx, TNB_F64, scale));
    e = onnx_term_cast(ctx, TNB_F32, TNB_I64, onnx_term_unary(ctx, ONNX_FLOOR, TNB_F32, e));
    return onnx_bind(n, &e, 1, NULL) ? e : tn_error_node(ctx);
}

static bool
sizes_with_policy(onnx_node *n, resize *r, uint32_t i_sizes, int policy)
{
    double common = policy == 1 ? INFINITY : 0;
    int64_t v;
    for (int k = 0; k < r->n_axes; k++) {
        if (isnan(r->scale[r->axes[k]])) {
            (void)onnx_fail(n, TNB_UNSUPPORTED,
                            "attribute 'keep_aspect_ratio_policy' wants extents that are known");
            if (!onnx_blame_inputs(n, i_sizes))
                onnx_hint_dims(n);
            return false;
        }
        common =
            policy == 1 ? fmin(common, r->scale[r->axes[k]]) : fmax(common, r->scale[r->axes[k]]);
    }
    for (int k = 0; k < r->n_axes; k++) {
        int64_t a = r->axes[k];
        if (tn_int_value(r->in[a], &v))
            r->size[a] = whole_size(n, floor(common * (double)v + 0.5));
        r->scale[a] = common;
    }
    r->by_scale = true;
    return !n->failed;
}

/* A size that comes at run time is 1 or more. */
static bool
bind_size(onnx_node *n, const tn_expr **size, uint32_t k)
{
    const tn_expr *shown = *size;
    onnx_demand d = {NULL, &shown, 1, tn_strf(n->ctx, "size %u is {1}, expected 1 or more", k)};
    if (onnx_is_plain(n, *size))
        return true;
    d.ok = tn_ge(n->ctx, *size, tn_i64(n->ctx, 1));
    return onnx_bind(n, size, 1, &d);
}

static bool
read_sizes(onnx_node *n, resize *r, uint32_t i_sizes, int policy)
{
    const tn_expr *const *e;
    uint32_t count;
    int64_t v, in;
    if (!onnx_elems(n, i_sizes, "the sizes", &e, &count))
        return false;
    if (count != (uint32_t)r->n_axes)
        return onnx_fail(n, TNB_SHAPE, "there are %u sizes for %d axes", count, r->n_axes);
    for (uint32_t k = 0; k < count; k++) {
        int64_t a = r->axes[k];
        r->size[a] = onnx_simplify(n, e[k]);
        if (!bind_size(n, &r->size[a], k))
            return false;
        bool number = tn_int_value(r->size[a], &v);
        if (number && v < 1)
            return onnx_fail(n, TNB_SHAPE, "size %u is %" PRId64, k, v);
        if (number && tn_int_value(r->in[a], &in) && in > 0)
            r->scale[a] = (double)v / (double)in;
        else
            r->scale[a] = tn_prove_equal(n->ctx, r->size[a], r->in[a]) ? 1 : NAN;
    }
    return !policy || sizes_with_policy(n, r, i_sizes, policy);
}

static bool
take_scales(onnx_node *n, resize *r, const double *s, uint32_t count)
{
    if (count != (uint32_t)r->n_axes)
        return onnx_fail(n, TNB_SHAPE, "there are %u scales for %d axes", count, r->n_axes);
    r->by_scale = true;
    for (uint32_t k = 0; k < count; k++) {
        int64_t a = r->axes[k];
        if (!(s[k] > 0 && s[k] < 1e6))
            return onnx_fail(n, TNB_INVALID, "scale %u is %g, expected a number above 0", k, s[k]);
        r->scale[a] = s[k];
        r->size[a] = scaled(n, r->in[a], s[k]);
    }
    return !n->failed;
}

/* Scales or sizes for `r->axes` to all axes. */
static bool
read_target(onnx_node *n, resize *r, uint32_t i_scales, uint32_t i_sizes)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    uint32_t count = 0;
    double s[ONNX_MAX_DIMS];
    int policy = onnx_attr_choice(n, "keep_aspect_ratio_policy", "stretch", policies);
    if (policy < 0)
        return false;
    if (onnx_has(n, i_sizes))
        return read_sizes(n, r, i_sizes, policy);
    return onnx_floats(n, i_scales, "the scales", s, ONNX_MAX_DIMS, &count) &&
           take_scales(n, r, s, count);
}

static bool
read_roi(onnx_node *n, resize *r, uint32_t i)
{
    double v[2 * ONNX_MAX_DIMS];
    uint32_t count;
    for (int k = 0; k < r->rank; k++) {
        r->roi[k] = 0;
        r->roi[r->rank + k] = 1;
    }
    if (strcmp(r->coordinates, "tf_crop_and_resize") != 0)
        return true;
    if (!onnx_floats(n, i, "the region", v, 2 * ONNX_MAX_DIMS, &count))
        return false;
    if (count != 2 * (uint32_t)r->n_axes)
        return onnx_fail(n, TNB_SHAPE, "the region has %u entries, expected %d", count,
                         2 * r->n_axes);
    r->has_roi = true;
    for (int k = 0; k < r->n_axes; k++) {
        r->roi[r->axes[k]] = v[k];
        r->roi[r->rank + r->axes[k]] = v[r->n_axes + k];
    }
    return true;
}

static const tn_node *
floats(onnx_node *n, const double *v, int count)
{
    const tn_node *e[2 * ONNX_MAX_DIMS];
    for (int i = 0; i < count; i++)
        e[i] = tn_float_imm_of(n->ctx, TNB_F64, v[i]);
    return tn_array_of(n->ctx, tn_list_of(n->ctx, e, (uint32_t)count));
}

static bool
stays(const resize *r, int axis)
{
    bool cropped = r->has_roi && (r->roi[axis] != 0 || r->roi[r->rank + axis] != 1);
    return r->scale[axis] == 1 && !cropped;
}

/* The resized axes go last, up to three of them, the others are batch: [outer, 1, a, b, c]. */
static const tn_expr *
emit_up_to_three(onnx_node *n, const tn_expr *x, const resize *r)
{
    static const char *const names[] = {"image.resize1d", "image.resize2d", "image.resize3d"};
    int64_t order[ONNX_MAX_DIMS], back[ONNX_MAX_DIMS];
    const tn_expr *shape[5], *out[ONNX_MAX_DIMS], *size[3];
    double scales[3], roi[6];
    int kept = 0, at = 0;
    bool known = true;
    for (int i = 0; i < r->rank; i++)
        if (stays(r, i))
            order[kept++] = i;
    int spatial = r->rank - kept;
    for (int i = 0; i < r->rank; i++)
        if (!stays(r, i))
            order[kept + at++] = i;
    if (!spatial)
        return x;
    tnb_dtype d = onnx_dtype(x);
    shape[0] = shape[1] = tn_i64(n->ctx, 1);
    for (int i = 0; i < r->rank; i++) {
        back[order[i]] = i;
        out[i] = r->size[order[i]];
        if (i < kept)
            shape[0] = onnx_simplify(n, tn_mul(n->ctx, shape[0], r->in[order[i]]));
    }
    for (int k = 0; k < spatial; k++) {
        int64_t axis = order[kept + k];
        shape[2 + k] = r->in[axis];
        size[k] = r->size[axis];
        scales[k] = r->scale[axis];
        known &= !isnan(scales[k]);
        roi[k] = r->roi[axis];
        roi[spatial + k] = r->roi[r->rank + axis];
    }
    const tn_node *attrs =
        tn_dictv(n->ctx, "method", tn_string(n->ctx, r->method), "coordinate_transformation_mode",
                 tn_string(n->ctx, r->coordinates), "rounding_method",
                 tn_string(n->ctx, r->rounding), "cubic_alpha",
                 tn_float_imm_of(n->ctx, TNB_F64, onnx_attr_float(n, "cubic_coeff_a", -0.75)),
                 "cubic_exclude", tn_i64(n->ctx, onnx_attr_int(n, "exclude_outside", 0)),
                 "extrapolation_value",
                 tn_float_imm_of(n->ctx, TNB_F64, onnx_attr_float(n, "extrapolation_value", 0)),
                 "antialias", tn_bool(n->ctx, onnx_attr_int(n, "antialias", 0) != 0), "roi",
                 r->has_roi ? floats(n, roi, 2 * spatial) : tn_array_of(n->ctx, (tn_list){0}),
                 NULL);
    if (r->by_scale && known)
        attrs = tn_dict_set(n->ctx, attrs, "scales", floats(n, scales, spatial));
    x = onnx_permute(n, x, order, (uint32_t)r->rank);
    x = onnx_reshape(n, x, shape, 2 + (uint32_t)spatial);
    x = onnx_emit(n, names[spatial - 1], attrs, x,
                  tn_shape_expr_of(n->ctx, tn_list_of(n->ctx, size, (uint32_t)spatial)), NULL);
    x = onnx_permute(n, onnx_reshape(n, x, out, (uint32_t)r->rank), back, (uint32_t)r->rank);
    return onnx_astype(n, x, d);
}

/* All methods go axis by axis, so more than three take several turns, the last axes first. */
static bool
emit_resize(onnx_node *n, const tn_expr *x, const resize *r)
{
    resize left = *r;
    int total = 0, axis = r->rank;
    for (int i = 0; i < r->rank; i++)
        total += !stays(r, i);
    bool many_cropped = total > 3 && strcmp(r->coordinates, "tf_crop_and_resize") == 0;
    if (many_cropped && !r->by_scale) { /* sizes of run time may say that some axes stay */
        int64_t sizes[ONNX_MAX_DIMS];
        uint32_t count;
        if (!onnx_ints(n, onnx_has(n, 3) ? 3 : 1, "the sizes", sizes, ONNX_MAX_DIMS, &count))
            return false;
    }
    if (many_cropped) {
        onnx_fail(n, TNB_UNSUPPORTED, "%d axes are cropped and resized, at most 3 are supported",
                  total);
        onnx_hint_dims(n); /* axes of a known extent may turn out to stay */
        return false;
    }
    while (total > 3 && !n->failed) {
        resize some = left;
        for (int chosen = 0; axis-- > 0;) {
            if (stays(&left, axis))
                continue;
            if (++chosen == 3)
                break;
        }
        for (int i = 0; i < axis; i++) { /* these wait for the next turn */
            some.scale[i] = 1;
            some.size[i] = some.in[i];
        }
        x = emit_up_to_three(n, x, &some);
        for (int i = axis; i < r->rank; i++) {
            left.in[i] = left.size[i];
            left.scale[i] = 1;
        }
        total -= 3;
    }
    return onnx_ret(n, emit_up_to_three(n, x, &left));
}

static const char *
method_of(onnx_node *n, int mode)
{
    static const char *const methods[] = {"nearest_neighbor", "linear", "cubic", "linear"};
    (void)n;
    return methods[mode];
}
static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", NULL};

static bool
import_resize(onnx_node *n)
{
    static const char *const coordinates[] = {"half_pixel",           "pytorch_half_pixel",
                                              "align_corners",        "asymmetric",
                                              "tf_half_pixel_for_nn", "tf_crop_and_resize",
                                              "half_pixel_symmetric", NULL};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil", NULL};
    const tn_expr *x = onnx_in(n, 0);
    resize r = {0};
    int mode = onnx_attr_choice(n, "mode", "nearest", modes);
    int coords = onnx_attr_choice(n, "coordinate_transformation_mode",
                                  n->version < 11 ? "asymmetric" : "half_pixel", coordinates);
    int round = onnx_attr_choice(n, "nearest_mode",
                                 n->version < 11 ? "floor" : "round_prefer_floor", nearest);
    if (mode < 0 || coords < 0 || round < 0 || !begin_resize(n, x, &r))
        return false;
    r.method = method_of(n, mode);
    r.coordinates = coordinates[coords];
    r.rounding = nearest[round];
    r.n_axes = onnx_attr_ints(n, "axes", r.axes, ONNX_MAX_DIMS);
    if (n->failed)
        return false;
    if (r.n_axes < 0)
        for (r.n_axes = 0; r.n_axes < r.rank; r.n_axes++)
            r.axes[r.n_axes] = r.n_axes;
    if (!onnx_axes(n, r.rank, r.axes, r.n_axes))
        return false;
    if (n->version < 11)
        return read_target(n, &r, 1, 99) && read_roi(n, &r, 99) && emit_resize(n, x, &r);
    /* empty scales stand for none */
    bool empty = onnx_has(n, 2) && onnx_known(n, 2) && n->in[2]->n_elems == 0;
    if (!onnx_has(n, 3) && (!onnx_has(n, 2) || empty))
        return onnx_fail(n, TNB_INVALID, "neither scales nor sizes are given");
    return read_target(n, &r, 2, 3) && read_roi(n, &r, 1) && emit_resize(n, x, &r);
}

static bool
import_upsample(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    resize r = {0};
    double s[ONNX_MAX_DIMS];
    int mode = onnx_attr_choice(n, "mode", "nearest", modes);
    if (mode < 0 || !begin_resize(n, x, &r))
        return false;
    r.method = method_of(n, mode);
    r.coordinates = "asymmetric";
    r.rounding = "floor";
    for (r.n_axes = 0; r.n_axes < r.rank; r.n_axes++)
        r.axes[r.n_axes] = r.n_axes;
    if (n->version >= 9)
        return read_target(n, &r, 1, 99) && read_roi(n, &r, 99) && emit_resize(n, x, &r);
    int count = onnx_attr_floats(n, "scales", s, ONNX_MAX_DIMS);
    if (count < 0 && r.rank == 4) {
        s[0] = s[1] = 1;
        s[2] = onnx_attr_float(n, "height_scale", 1);
        s[3] = onnx_attr_float(n, "width_scale", 1);
        count = 4;
    }
    if (count < 0)
        return n->failed ? false : onnx_fail(n, TNB_INVALID, "attribute 'scales' is missing");
    if (!take_scales(n, &r, s, (uint32_t)count))
        return false;
    return read_roi(n, &r, 99) && emit_resize(n, x, &r);
}

static bool
import_grid_sample(onnx_node *n)
{
    static const char *const kinds[] = {"bilinear", "linear", "nearest", "bicubic", "cubic", NULL};
    static const char *const methods[] = {"bilinear", "bilinear", "nearest", "bicubic", "bicubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    const tn_expr *x = onnx_in(n, 0);
    int kind = onnx_attr_choice(n, "mode", n->version < 20 ? "bilinear" : "linear", kinds);
    int padding = onnx_attr_choice(n, "padding_mode", "zeros", paddings);
    bool align = onnx_attr_int(n, "align_corners", 0) != 0;
    if (kind < 0 || padding < 0 || onnx_rank(n, x) < 0)
        return false;
    if (onnx_rank(n, x) != 4 && onnx_rank(n, x) != 5)
        return onnx_fail(n, TNB_UNSUPPORTED, "the image has rank %" PRId64 ", expected 4 or 5",
                         onnx_rank(n, x));
    const char *layout = onnx_rank(n, x) == 4 ? "NCHW" : "NCDHW";
    /* the coordinates, last in ONNX, are on axis 1 for the operator */
    static const int64_t second[2][5] = {{0, 3, 1, 2}, {0, 4, 1, 2, 3}};
    uint32_t rank = onnx_rank(n, x) == 4 ? 4 : 5;
    const tn_expr *grid = onnx_in(n, 1);
    if (onnx_rank(n, grid) < 0)
        return false;
    if (onnx_rank(n, grid) != rank)
        return onnx_fail(n, TNB_SHAPE, "the grid has rank %" PRId64 ", the image %u",
                         onnx_rank(n, grid), rank);
    grid = onnx_permute(n, grid, second[rank - 4], rank);
    return onnx_ret(n, onnx_emit(n, "image.grid_sample",
                                 tn_dictv(n->ctx, "method", tn_string(n->ctx, methods[kind]),
                                          "layout", tn_string(n->ctx, layout), "padding_mode",
                                          tn_string(n->ctx, paddings[padding]), "align_corners",
                                          tn_bool(n->ctx, align), NULL),
                                 x, grid, NULL));
}

static bool
import_affine_grid(onnx_node *n)
{
    const tn_expr *theta = onnx_in(n, 0), *const * e;
    const tn_expr *size[3], *g, *want[3];
    bool align = onnx_attr_int(n, "align_corners", 0) != 0;
    uint32_t count;
    if (tn_is_error(theta) || !onnx_elems(n, 1, "the grid's size", &e, &count))
        return false;
    if (count != 4 && count != 5)
        return onnx_fail(n, TNB_SHAPE, "the grid's size has %u entries, expected 4 or 5", count);
    for (uint32_t i = 2; i < count; i++)
        size[i - 2] = e[i];
    want[0] = e[0];
    want[1] = tn_i64(n->ctx, count - 2);
    want[2] = tn_i64(n->ctx, count - 1);
    if (!onnx_bind(n, size, count - 2, NULL) || !onnx_bind(n, want, 1, NULL))
        return false;
    theta = onnx_fix_extents(n, theta, tn_list_of(n->ctx, want, 3), "theta");
    if (n->failed)
        return false;
    g = onnx_emit(n, "image.affine_grid",
                  tn_dictv(n->ctx, "align_corners", tn_bool(n->ctx, align), NULL), theta,
                  tn_shape_expr_of(n->ctx, tn_list_of(n->ctx, size, count - 2)), NULL);
    static const int64_t last[2][5] = {{0, 2, 3, 1}, {0, 2, 3, 4, 1}}; /* coordinates come last */
    return onnx_ret(n, onnx_permute(n, g, last[count - 4], count));
}

const onnx_op onnx_resize_ops[] = {
    {"AffineGrid", 20, 0, 2, 2, 1, 1, import_affine_grid, NULL, 0, NULL},
    {"Resize", 10, 0, 1, 4, 1, 1, import_resize, NULL, 0, NULL},
    {"Upsample", 1, 9, 1, 2, 1, 1, import_upsample, NULL, 0, NULL},
    {"GridSample", 16, 0, 2, 2, 1, 1, import_grid_sample, NULL, 0, NULL},
    {0},
};
