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
