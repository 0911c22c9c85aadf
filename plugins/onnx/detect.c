/* SPDX-License-Identifier: Apache-2.0 */
/* Detection: NonMaxSuppression, RoiAlign, MaxRoiPool. */
#include <inttypes.h>
#include <math.h>
#include "import.h"

/* Boxes (y1, x1, y2, x2) from (x, y, width, height) of the centre. */
static const tn_expr *
corners(onnx_node *n, const tn_expr *boxes)
{
    const tn_expr *part[4], *out[4];
    for (int64_t i = 0; i < 4; i++)
        part[i] = onnx_slice_ints(n, boxes, 2, i, i + 1);
    for (int i = 0; i < 2; i++) { /* along y, then along x */
        const tn_expr *half = onnx_bin_num(n, "multiply", part[3 - i], 0.5);
        out[i] = onnx_bin(n, "subtract", part[1 - i], half);
        out[2 + i] = onnx_bin(n, "add", part[1 - i], half);
    }
    return onnx_concat(n, out, 4, 2);
}

static bool
import_nms(onnx_node *n)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *boxes = onnx_in(n, 0), *scores = onnx_in(n, 1);
    if (onnx_rank(n, boxes) < 0 || onnx_rank(n, scores) < 0)
        return false;
    if (onnx_rank(n, boxes) == 3)
        boxes = onnx_fix_extent(n, boxes, 2, tn_i64(ctx, 4), "the list of boxes");
    if (onnx_attr_int(n, "center_point_box", 0))
        boxes = corners(n, boxes);
    const tn_expr *most = onnx_has(n, 2) ? onnx_in(n, 2) : onnx_scalar_int(n, TNB_I64, 0);
    const tn_expr *overlap = onnx_has(n, 3) ? onnx_in(n, 3) : onnx_scalar(n, TNB_F32, 0);
    const tn_expr *least = onnx_has(n, 4) ? onnx_in(n, 4) : onnx_scalar(n, TNB_F32, -INFINITY);
    const tn_expr *found =
        onnx_emit(n, "vision.all_class_non_max_suppression",
                  tn_dictv(ctx, "output_format", tn_string(ctx, "selected"), NULL), boxes, scores,
                  most, overlap, least, NULL);
    const tn_expr *dims[2] = {NULL, tn_i64(ctx, 3)};
    return onnx_ret(n, onnx_name_extents(n, found, tn_list_of(ctx, dims, 2)));
}

/* Batch entries that regions name, each of which must be there: an entry of the list of all. As unsigned numbers, which do not
 * count from the end. */
static const tn_expr *
entries(onnx_node *n, const tn_expr *x, const tn_expr *named, tnb_dtype d)
{
    tn_list dims;
    if (n->failed || !onnx_dims(n, x, &dims))
        return tn_error_node(n->ctx);
    const tn_expr *all = onnx_arange(n, tn_i64(n->ctx, 0), dims.at[0], tn_i64(n->ctx, 1), TNB_I64);
    named = onnx_astype(n, onnx_astype(n, named, TNB_I64), (tnb_dtype){TNB_UINT, 64, 1});
    return onnx_astype(n,
                       onnx_emit(n, "take", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, 0), NULL), all,
                                 named, NULL),
                       d);
}

enum { MAX_SAMPLES = 1024 }; /* as vision.roi_align has it */

static bool
import_roi_align(onnx_node *n)
{
    static const char *const modes[] = {"avg", "max", NULL};
    static const char *const shifts[] = {"half_pixel", "output_half_pixel", NULL};
    tn_ctx *ctx = n->ctx;
    const tn_expr *x = onnx_in(n, 0), *rois = onnx_in(n, 1), *batch = onnx_in(n, 2), *row[2];
    double scale = onnx_attr_float(n, "spatial_scale", 1);
    int64_t size[2] = {onnx_attr_int(n, "output_height", 1), onnx_attr_int(n, "output_width", 1)};
    int64_t samples = onnx_attr_int(n, "sampling_ratio", 0), second = 1;
    int mode = onnx_attr_choice(n, "mode", "avg", modes);
    int shift = n->version < 16
                    ? 1
                    : onnx_attr_choice(n, "coordinate_transformation_mode", "half_pixel", shifts);
    if (mode < 0 || shift < 0 || onnx_rank(n, rois) < 0)
        return false;
    if (samples > MAX_SAMPLES) {
        onnx_fail(n, TNB_BOUNDS, "attribute 'sampling_ratio' is %" PRId64 ", expected at most %d",
                  samples, MAX_SAMPLES);
        onnx_hint(n, "leave it out or make it 0: each part is then sampled by its size");
        return false;
    }
    if (shift == 0 && scale != 0)
        rois = onnx_bin_num(n, "subtract", rois, 0.5 / scale);
    row[0] = onnx_unsqueeze(n, entries(n, x, batch, onnx_dtype(rois)), &second, 1);
    row[1] = rois;
    rois = onnx_concat(n, row, 2, 1);
    const tn_node *attrs = tn_dictv(ctx, "pooled_size", tn_int_array(ctx, size, 2), "spatial_scale",
                                    tn_float_imm_of(ctx, TNB_F64, scale), "sample_ratio",
                                    tn_i64(ctx, samples), "aligned", tn_bool(ctx, shift == 0),
                                    "mode", tn_string(ctx, mode ? "max_corner" : "avg"), NULL);
    return onnx_ret(n, onnx_emit(n, "vision.roi_align", attrs, x, rois, NULL));
}

static bool
import_max_roi_pool(onnx_node *n)
{
    int64_t size[2];
    if (onnx_attr_ints(n, "pooled_shape", size, 2) != 2)
        return n->failed
                   ? false
                   : onnx_fail(n, TNB_INVALID, "attribute 'pooled_shape' must have two entries");
    double scale = onnx_attr_float(n, "spatial_scale", 1);
    const tn_expr *x = onnx_in(n, 0), *rois = onnx_in(n, 1), *row[2];
    tn_list dims;
    if (onnx_rank(n, rois) != 2 || onnx_rank(n, x) < 1 ||
        (onnx_dim(rois, 1) >= 0 && onnx_dim(rois, 1) != 5))
        return n->failed ? false
                         : onnx_fail(n, TNB_SHAPE, "the regions have type %s, expected rows of 5",
                                     onnx_type_text(n->imp, rois->type));
    if (!onnx_dims(n, rois, &dims))
        return false;
    if (onnx_dim(rois, 1) < 0) /* the program checks it */
        rois = onnx_match_extents(n, rois, tn_list_with(n->ctx, dims, 1, tn_i64(n->ctx, 5)),
                                  "the list of regions", "rows");
    row[0] = entries(n, x, onnx_slice_ints(n, rois, 1, 0, 1), onnx_dtype(rois));
    row[1] = onnx_slice_ints(n, rois, 1, 1, 5);
    rois = onnx_concat(n, row, 2, 1);
    return onnx_ret(n, onnx_emit(n, "vision.roi_pool",
                                 tn_dictv(n->ctx, "pooled_size", tn_int_array(n->ctx, size, 2),
                                          "spatial_scale", tn_float_imm_of(n->ctx, TNB_F64, scale),
                                          NULL),
                                 x, rois, NULL));
}

const onnx_op onnx_detect_ops[] = {
    {"MaxRoiPool", 1, 0, 2, 2, 1, 1, import_max_roi_pool, NULL, 0, NULL},
    {"NonMaxSuppression", 10, 0, 2, 5, 1, 1, import_nms, NULL, 0, NULL},
    {"RoiAlign", 10, 0, 3, 3, 1, 1, import_roi_align, NULL, 0, NULL},
    {0},
};
