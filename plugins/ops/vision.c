/* SPDX-License-Identifier: Apache-2.0 */
/* Detection: types of vision.*. */
#include "infer.h"

static const tn_ty_tensor *
ranked(tn_ctx *ctx, const tn_call *call, uint32_t i, int64_t ndim)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, i);
    if (t && t->ndim >= 0 && t->ndim != ndim) {
        infer_fail(ctx, call, TNB_SHAPE, "argument %u has %lld axes, wanted %lld", i + 1,
                   (long long)t->ndim, (long long)ndim);
        return NULL;
    }
    return t;
}

static const tn_type *
known(tn_ctx *ctx, const tn_call *call, tnb_dtype d, const tn_expr *a, const tn_expr *b,
      const tn_expr *c)
{
    return infer_known(ctx, call, tn_listv(ctx, a, b, c, NULL), d);
}

const tn_type *
infer_all_class_nms(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *boxes = ranked(ctx, call, 0, 3);
    const tn_ty_tensor *scores = boxes ? ranked(ctx, call, 1, 3) : NULL;
    const char *format = tn_call_str(call, "output_format");
    tn_list b, s;
    if (!scores)
        return tn_error_node(ctx);
    bool onnx = !strcmp(format, "onnx");
    if (!onnx && strcmp(format, "tensorflow") != 0)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'output_format' is \"%s\", wanted onnx or tensorflow", format);
    bool shapes = tn_type_dims(TN_NODE(boxes), &b) && tn_type_dims(TN_NODE(scores), &s);
    if (onnx) {
        const tn_expr *all = shapes ? dim_mul(ctx, dim_mul(ctx, b.at[0], s.at[1]), b.at[1]) : NULL;
        return tn_ty_tuple_of(ctx,
                              tn_listv(ctx,
                                       shapes ? known(ctx, call, TNB_I64, all, tn_i64(ctx, 3), NULL)
                                              : infer_rank(ctx, call, 2, TNB_I64),
                                       known(ctx, call, TNB_I64, tn_i64(ctx, 1), NULL, NULL),
                                       NULL));
    }
    if (!shapes)
        return tn_ty_tuple_of(ctx, tn_listv(ctx, infer_rank(ctx, call, 3, TNB_I64),
                                            infer_rank(ctx, call, 2, TNB_F32),
                                            infer_rank(ctx, call, 1, TNB_I64), NULL));
    const tn_expr *each = dim_mul(ctx, s.at[1], b.at[1]);
    return tn_ty_tuple_of(ctx,
                          tn_listv(ctx, known(ctx, call, TNB_I64, b.at[0], each, tn_i64(ctx, 2)),
                                   known(ctx, call, TNB_F32, b.at[0], each, NULL),
                                   known(ctx, call, TNB_I64, b.at[0], NULL, NULL), NULL));
}

/* Attribute `key` names an element of the data's last axis. */
static bool
check_element(tn_ctx *ctx, const tn_call *call, const char *key, int64_t least, int64_t n)
{
    int64_t i = tn_call_int(call, key);
    if (i >= least && i < n)
        return true;
    infer_fail(ctx, call, TNB_INVALID, "attribute '%s' is %lld, wanted %lld to %lld", key,
               (long long)i, (long long)least, (long long)n - 1);
    return false;
}

const tn_type *
infer_valid_counts(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = ranked(ctx, call, 0, 3);
    tn_list d;
    int64_t n;
    if (!t)
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &d))
        return tn_ty_tuple_of(ctx, tn_listv(ctx, infer_rank(ctx, call, 1, TNB_I32),
                                            infer_rank(ctx, call, 3, t->dtype),
                                            infer_rank(ctx, call, 2, TNB_I32), NULL));
    if (tn_int_value(d.at[2], &n) && (!check_element(ctx, call, "score_index", 0, n) ||
                                      !check_element(ctx, call, "id_index", -1, n)))
        return tn_error_node(ctx);
    return tn_ty_tuple_of(ctx, tn_listv(ctx, known(ctx, call, TNB_I32, d.at[0], NULL, NULL),
                                        known(ctx, call, t->dtype, d.at[0], d.at[1], d.at[2]),
                                        known(ctx, call, TNB_I32, d.at[0], d.at[1], NULL), NULL));
}

const tn_type *
infer_nms(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = ranked(ctx, call, 0, 3);
    const tn_ty_tensor *count = t ? ranked(ctx, call, 1, 1) : NULL;
    const tn_ty_tensor *at = count ? ranked(ctx, call, 2, 2) : NULL;
    tn_list d;
    if (!at)
        return tn_error_node(ctx);
    const tn_ty_tensor *ints[] = {count, at};
    for (int i = 0; i < 2; i++)
        if (!tnb_dtype_is_void(ints[i]->dtype) && !tnb_dtype_eq(ints[i]->dtype, TNB_I32))
            return infer_fail(ctx, call, TNB_TYPE, "argument %d must be int32, but is %s", i + 2,
                              tnb_dtype_print(ints[i]->dtype).s);
    if (!tn_call_int(call, "return_indices"))
        return TN_NODE(t);
    bool soft = tn_call_float(call, "soft_nms_sigma") > 0;
    const tn_type *positions, *counts;
    if (tn_type_dims(TN_NODE(t), &d)) {
        positions = known(ctx, call, TNB_I32, d.at[0], d.at[1], NULL);
        counts = known(ctx, call, TNB_I32, d.at[0], tn_i64(ctx, 1), NULL);
    } else {
        positions = infer_rank(ctx, call, 2, TNB_I32);
        counts = infer_rank(ctx, call, 2, TNB_I32);
    }
    return tn_ty_tuple_of(ctx, soft ? tn_listv(ctx, TN_NODE(t), positions, counts, NULL)
                                    : tn_listv(ctx, positions, counts, NULL));
}

const tn_type *
infer_roi(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = ranked(ctx, call, 0, 4);
    const tn_ty_tensor *r = t ? ranked(ctx, call, 1, 2) : NULL;
    const char *layout = tn_call_str(call, "layout"), *mode = tn_call_str(call, "mode");
    int64_t size[2];
    tn_list x, rois;
    if (!r)
        return tn_error_node(ctx);
    bool nchw = !strcmp(layout, "NCHW");
    if (!nchw && strcmp(layout, "NHWC") != 0)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'layout' is \"%s\", wanted NCHW or NHWC", layout);
    if (strcmp(mode, "avg") != 0 && strcmp(mode, "max") != 0)
        return infer_fail(ctx, call, TNB_INVALID, "attribute 'mode' is \"%s\", wanted avg or max",
                          mode);
    int n = tn_call_ints(call, "pooled_size", size, 2);
    if (n == 1)
        size[1] = size[0];
    if (n < 1 || size[0] < 1 || size[1] < 1)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'pooled_size' must be one or two extents above 0");
    bool known_rois = tn_type_dims(TN_NODE(r), &rois);
    if (known_rois && dim_differ(ctx, rois.at[1], tn_i64(ctx, 5)))
        return infer_fail(ctx, call, TNB_SHAPE, "regions have %s elements, wanted 5",
                          tn_text(ctx, rois.at[1]));
    if (!known_rois || !tn_type_dims(TN_NODE(t), &x))
        return infer_rank(ctx, call, 4, t->dtype);
    const tn_expr *h = tn_i64(ctx, size[0]), *w = tn_i64(ctx, size[1]);
    return infer_known(ctx, call,
                       nchw ? tn_listv(ctx, rois.at[0], x.at[1], h, w, NULL)
                            : tn_listv(ctx, rois.at[0], h, w, x.at[3], NULL),
                       t->dtype);
}

const tn_type *
infer_multibox(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *c = ranked(ctx, call, 0, 3);
    const tn_ty_tensor *l = c ? ranked(ctx, call, 1, 2) : NULL;
    const tn_ty_tensor *a = l ? ranked(ctx, call, 2, 3) : NULL;
    tnb_dtype d;
    tn_list cls, loc, anchor;
    if (!a || !infer_same_dtype(ctx, call, c->dtype, l->dtype, &d) ||
        !infer_same_dtype(ctx, call, c->dtype, a->dtype, &d))
        return tn_error_node(ctx);
    const tn_node *variances = tn_call_attr(call, "variances");
    if (((const tn_array *)variances)->items.n != 4)
        return infer_fail(ctx, call, TNB_INVALID, "attribute 'variances' has %u entries, wanted 4",
                          ((const tn_array *)variances)->items.n);
    bool has_cls = tn_type_dims(TN_NODE(c), &cls), has_loc = tn_type_dims(TN_NODE(l), &loc);
    bool has_anchor = tn_type_dims(TN_NODE(a), &anchor);
    int64_t v;
    if (has_loc && tn_int_value(loc.at[1], &v) && v % 4 != 0)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "argument 'loc_pred' has %lld offsets, not a multiple of 4",
                          (long long)v);
    if (has_anchor && (dim_differ(ctx, anchor.at[0], tn_i64(ctx, 1)) ||
                       dim_differ(ctx, anchor.at[2], tn_i64(ctx, 4))))
        return infer_fail(ctx, call, TNB_SHAPE, "anchors have the shape %s, wanted (1, n, 4)",
                          tn_text(ctx, tn_shape(ctx, anchor)));
    if (has_cls && has_loc &&
        (dim_differ(ctx, cls.at[0], loc.at[0]) ||
         dim_differ(ctx, dim_muli(ctx, cls.at[2], 4), loc.at[1])))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "'cls_pred' %s and 'loc_pred' %s differ in batch or anchors",
                          tn_text(ctx, tn_shape(ctx, cls)), tn_text(ctx, tn_shape(ctx, loc)));
    if (has_cls && has_anchor && dim_differ(ctx, cls.at[2], anchor.at[1]))
        return infer_fail(ctx, call, TNB_SHAPE, "'cls_pred' has %s anchors, 'anchor' %s",
                          tn_text(ctx, cls.at[2]), tn_text(ctx, anchor.at[1]));
    if (!has_cls)
        return tn_ty_tuple_of(ctx, tn_listv(ctx, infer_rank(ctx, call, 3, c->dtype),
                                            infer_rank(ctx, call, 3, c->dtype), NULL));
    return tn_ty_tuple_of(
        ctx, tn_listv(ctx, known(ctx, call, c->dtype, cls.at[0], cls.at[2], tn_i64(ctx, 4)),
                      known(ctx, call, c->dtype, cls.at[0], cls.at[1], cls.at[2]), NULL));
}
