/* SPDX-License-Identifier: Apache-2.0 */
/* Detection: counting valid boxes, suppression within a batch entry, boxes from anchors. */
#include "emit.h"
#include "program.h"

static const tn_ty_tensor *
ranked(tn_ctx *ctx, const tn_call *call, uint32_t i, int64_t ndim)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, i);
    if (t && t->ndim >= 0 && t->ndim != ndim) {
        infer_fail(ctx, call, TNB_SHAPE, "argument %u has %lld axes, expected %lld", i + 1,
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

/* Attribute `key` names the first of `n` elements of the data's last axis, which has `length`. */
static bool
check_element(tn_ctx *ctx, const tn_call *call, const char *key, int64_t least,
              const tn_expr *length, int64_t n)
{
    int64_t i = tn_call_int(call, key), last = 0;
    bool fits =
        !dim_exceeds(ctx, tn_i64(ctx, i + n), length,
                     "attribute '%s' needs {} elements in the last axis, which has {}", key);
    if (i >= least && fits)
        return true;
    if (tn_int_value(length, &last))
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' is %lld, expected %lld to %lld", key,
                   (long long)i, (long long)least, (long long)(last - n));
    else
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' is %lld, expected at least %lld", key,
                   (long long)i, (long long)least);
    return false;
}

const tn_type *
infer_valid_counts(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = ranked(ctx, call, 0, 3);
    tn_list d;
    if (!t)
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &d))
        return tn_ty_tuple_of(ctx, tn_listv(ctx, infer_rank(ctx, call, 1, TNB_I32),
                                            infer_rank(ctx, call, 3, t->dtype),
                                            infer_rank(ctx, call, 2, TNB_I32), NULL));
    if (!check_element(ctx, call, "score_index", 0, d.at[2], 1) ||
        !check_element(ctx, call, "id_index", -1, d.at[2], 1))
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
    tn_list c, p;
    bool known_data = tn_type_dims(TN_NODE(t), &d);
    if (known_data && tn_type_dims(TN_NODE(count), &c) &&
        dim_differ(ctx, c.at[0], d.at[0], "{} counts of valid boxes for {} batch entries"))
        return infer_fail(ctx, call, TNB_SHAPE, "%s counts of valid boxes for %s batch entries",
                          tn_text(ctx, c.at[0]), tn_text(ctx, d.at[0]));
    if (known_data && tn_type_dims(TN_NODE(at), &p) &&
        (dim_differ(ctx, p.at[0], d.at[0], "the indices have {} batch entries, the boxes {}") ||
         dim_differ(ctx, p.at[1], d.at[1], "{} indices for {} boxes")))
        return infer_fail(ctx, call, TNB_SHAPE, "the indices have the shape %s, the boxes %s",
                          tn_text(ctx, tn_shape_expr_of(ctx, p)),
                          tn_text(ctx, tn_shape_expr_of(ctx, d)));
    if (known_data && (!check_element(ctx, call, "score_index", 0, d.at[2], 1) ||
                       !check_element(ctx, call, "id_index", -1, d.at[2], 1) ||
                       !check_element(ctx, call, "coord_start", 0, d.at[2], 4)))
        return tn_error_node(ctx);
    if (!tn_call_int(call, "return_indices"))
        return TN_NODE(t);
    bool soft = tn_call_float(call, "soft_nms_sigma") > 0;
    const tn_type *positions, *counts;
    if (known_data) {
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
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'variances' has %u entries, expected 4",
                          ((const tn_array *)variances)->items.n);
    bool has_cls = tn_type_dims(TN_NODE(c), &cls), has_loc = tn_type_dims(TN_NODE(l), &loc);
    bool has_anchor = tn_type_dims(TN_NODE(a), &anchor);
    int64_t v;
    if (has_loc && tn_int_value(loc.at[1], &v) && v % 4 != 0)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "argument 'loc_pred' has %lld offsets, not a multiple of 4",
                          (long long)v);
    if (has_anchor && (dim_differ(ctx, anchor.at[0], tn_i64(ctx, 1),
                                  "the anchors have {} batch entries, expected {}") ||
                       dim_differ(ctx, anchor.at[2], tn_i64(ctx, 4),
                                  "the anchors have {} coordinates, expected {}")))
        return infer_fail(ctx, call, TNB_SHAPE, "anchors have the shape %s, expected (1, n, 4)",
                          tn_text(ctx, tn_shape_expr_of(ctx, anchor)));
    if (has_cls && has_loc &&
        (dim_differ(ctx, cls.at[0], loc.at[0], "'cls_pred' has {} batch entries, 'loc_pred' {}") ||
         dim_differ(ctx, dim_muli(ctx, cls.at[2], 4), loc.at[1],
                    "the anchors of 'cls_pred' need {} offsets, 'loc_pred' has {}")))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "'cls_pred' %s and 'loc_pred' %s differ in batch or anchors",
                          tn_text(ctx, tn_shape_expr_of(ctx, cls)),
                          tn_text(ctx, tn_shape_expr_of(ctx, loc)));
    if (has_cls && has_anchor &&
        dim_differ(ctx, cls.at[2], anchor.at[1], "'cls_pred' has {} anchors, 'anchor' {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "'cls_pred' has %s anchors, 'anchor' %s",
                          tn_text(ctx, cls.at[2]), tn_text(ctx, anchor.at[1]));
    if (!has_cls)
        return tn_ty_tuple_of(ctx, tn_listv(ctx, infer_rank(ctx, call, 3, c->dtype),
                                            infer_rank(ctx, call, 3, c->dtype), NULL));
    return tn_ty_tuple_of(
        ctx, tn_listv(ctx, known(ctx, call, c->dtype, cls.at[0], cls.at[2], tn_i64(ctx, 4)),
                      known(ctx, call, c->dtype, cls.at[0], cls.at[1], cls.at[2]), NULL));
}

/* ---- programs ---- */

static const char valid_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def get_valid_counts(var_a: T.handle, var_b: T.handle, var_c: T.handle, var_d: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    data = T.match_buffer(var_a, ($b$, $n$, $e$), '$D$')\n"
    "    count = T.match_buffer(var_b, ($b$,), 'int32')\n"
    "    out = T.match_buffer(var_c, ($b$, $n$, $e$), '$D$')\n"
    "    places = T.match_buffer(var_d, ($b$, $n$), 'int32')\n"
    "    for i in range($b$):\n"
    "        with T.sblock('get_valid_counts'):\n"
    "            vb = T.axis.remap('S', [i])\n"
    "            T.reads(data[vb, T.int64(0):$n$, T.int64(0):$e$])\n"
    "            T.writes(count[vb], out[vb, T.int64(0):$n$, T.int64(0):$e$], places[vb, "
    "T.int64(0):$n$])\n"
    "            at = T.sblock_alloc_buffer((T.int64(1),), 'int64', scope='local')\n"
    "            at[0] = T.int64(0)\n"
    "            for j in range($n$):\n"
    "                if data[vb, j, $SCORE$] > $LEAST$$AND_CLASS$:\n"
    "                    for k in range($e$):\n"
    "                        out[vb, at[0], k] = data[vb, j, k]\n"
    "                    places[vb, at[0]] = T.Cast('int32', j)\n"
    "                    at[0] = at[0] + T.int64(1)\n"
    "            count[vb] = T.Cast('int32', at[0])\n"
    "            for j in range($n$ - at[0]):\n"
    "                for k in range($e$):\n"
    "                    out[vb, at[0] + j, k] = T.$D$(-1)\n"
    "                places[vb, at[0] + j] = T.int32(-1)\n";

/* Boxes in the order of their scores, and their places; suppressed ones become -1. `kept`: 0 boxes,
 * 1 of them looked at, 2 selected. */
static const char nms_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def non_max_suppression(var_a: T.handle, var_b: T.handle, var_c: T.handle, var_d: T.handle, "
    "var_e: T.handle, var_f: "
    "T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    data = T.match_buffer(var_a, ($b$, $n$, $e$), '$D$')\n"
    "    valid = T.match_buffer(var_b, ($b$,), 'int32')\n"
    "    index = T.match_buffer(var_c, ($b$, $n$), 'int32')\n"
    "    out = T.match_buffer(var_d, ($b$, $n$, $e$), '$D$')\n"
    "    places = T.match_buffer(var_e, ($b$, $n$), 'int32')\n"
    "    count = T.match_buffer(var_f, ($b$, T.int64(1)), 'int32')\n"
    "    work = T.sblock_alloc_buffer(($b$, T.int64(2), $n$), 'int64')\n"
    "    for i in range($b$):\n"
    "        with T.sblock('non_max_suppression'):\n"
    "            vb = T.axis.remap('S', [i])\n"
    "            T.reads(data[vb, T.int64(0):$n$, T.int64(0):$e$], valid[vb], index[vb, "
    "T.int64(0):$n$])\n"
    "            T.writes(out[vb, T.int64(0):$n$, T.int64(0):$e$], places[vb, T.int64(0):$n$], "
    "count[vb, T.int64(0)], work[vb, T.int64(0):T.int64(2), T.int64(0):$n$])\n"
    "            state = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            head = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            which = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            kept = T.sblock_alloc_buffer((T.int64(4),), 'int64', scope='local')\n"
    "            best = T.sblock_alloc_buffer((T.int64(2),), '$W$', scope='local')\n"
    "            kept[0] = T.min(T.max(T.Cast('int64', valid[vb]), T.int64(0)), $n$)\n"
    "            for k in range(kept[0]):\n"
    "                work[vb, T.int64(0), k] = k\n"
    "$SORT$"
    "            kept[1] = $TOP$\n"
    "            for j in range(kept[1]):\n"
    "                for k in range($e$):\n"
    "                    out[vb, j, k] = data[vb, work[vb, state[1], j], k]\n"
    "                places[vb, j] = T.Cast('int32', work[vb, state[1], j])\n"
    "            for j in range($n$ - kept[1]):\n"
    "                for k in range($e$):\n"
    "                    out[vb, kept[1] + j, k] = T.$D$(-1)\n"
    "                places[vb, kept[1] + j] = T.int32(-1)\n"
    "            kept[2] = T.int64(0)\n"
    "$SUPPRESS$"
    /* the places of the boxes left, in terms of the given indices */
    "            kept[3] = T.int64(0)\n"
    "            for j in range($n$):\n"
    "                if places[vb, j] >= T.int32(0):\n"
    "                    places[vb, kept[3]] = index[vb, places[vb, j]]\n"
    "                    kept[3] = kept[3] + T.int64(1)\n"
    "            count[vb, T.int64(0)] = T.Cast('int32', kept[3])\n"
    "            for j in range($n$ - kept[3]):\n"
    "                places[vb, kept[3] + j] = T.int32(-1)\n"
    "$TO_BOTTOM$";

static const char compare_boxes[] =
    "                            p: T.let[T.$W$] = T.Cast('$W$', data[vb, work[vb, state[1], "
    "head[0]], $SCORE$])\n"
    "                            q: T.let[T.$W$] = T.Cast('$W$', data[vb, work[vb, state[1], "
    "head[1]], $SCORE$])\n"
    "                            if q > p or (T.isnan(p) and not T.isnan(q)):\n"
    "                                which[0] = T.int64(1)\n";

#define EDGE(how, box, a, c)                                        \
    "T." how "(T.Cast('$W$', out[vb, " box ", $COORD$ + T.int64(" a \
    ")]), T.Cast('$W$', out[vb, " box ", $COORD$ + T.int64(" c ")]))"
#define SIDE(axis, next)                                                            \
    "T.max(T.min(" EDGE("max", "s", axis, next) ", " EDGE(                          \
        "max", "t", axis, next) ") - T.max(" EDGE("min", "s", axis,                 \
                                                  next) ", " EDGE("min", "t", axis, \
                                                                  next) "), T.$W$(0))"
#define AREA(box)                                                                 \
    "(" EDGE("max", box, "0", "2") " - " EDGE("min", box, "0", "2") ") * (" EDGE( \
        "max", box, "1", "3") " - " EDGE("min", box, "1", "3") ")"

/* How much the boxes s and t have in common, of what either covers; at the depth of a loop's body
 * within two others. */
static const char overlap_text[] =
    "                        common: T.let[T.$W$] = " SIDE("0", "2") " * " SIDE(
        "1", "3") "\n"
                  "                        both: T.let[T.$W$] = " AREA("s") " + " AREA(
                      "t") " - common\n"
                           "                        overlap: T.let[T.$W$] = T.if_then_else(both > "
                           "T.$W$(0), common / "
                           "both, T.$W$(0))\n";

static const char hard_text[] =
    "            for j in range(kept[1]):\n"
    "                s: T.let[T.int64] = j\n"
    "                if T.Cast('$W$', out[vb, s, $SCORE$]) > T.$W$(0)$AND_ROOM$:\n"
    "                    kept[2] = kept[2] + T.int64(1)\n"
    "                    for k in range(kept[1] - s - T.int64(1)):\n"
    "                        t: T.let[T.int64] = s + T.int64(1) + k\n"
    "$OVERLAP$"
    "                        if T.Cast('$W$', out[vb, t, $SCORE$]) > T.$W$(0) and overlap >= "
    "$MOST$$AND_SAME$:\n"
    "                            out[vb, t, $SCORE$] = T.$D$(-1)\n"
    "                            places[vb, t] = T.int32(-1)\n"
    "                else:\n"
    "                    for k in range($e$):\n"
    "                        out[vb, s, k] = T.$D$(-1)\n"
    "                    places[vb, s] = T.int32(-1)\n";

/* Each round takes the box with the highest score that is left and lowers the scores of those that
 * overlap it. */
static const char soft_text[] =
    "            kept[3] = T.int64(0)\n"
    "            while kept[3] >= T.int64(0) and kept[2] < kept[1]$AND_ROOM$:\n"
    "                kept[3] = T.int64(-1)\n"
    "                best[0] = $LEAST$\n"
    "                for k in range(kept[1] - kept[2]):\n"
    "                    if places[vb, kept[2] + k] >= T.int32(0) and T.Cast('$W$', out[vb, "
    "kept[2] + k, $SCORE$]) > best[0]:\n"
    "                        kept[3] = kept[2] + k\n"
    "                        best[0] = T.Cast('$W$', out[vb, kept[2] + k, $SCORE$])\n"
    "                if kept[3] >= T.int64(0):\n"
    "                    which[0] = T.Cast('int64', places[vb, kept[2]])\n"
    "                    places[vb, kept[2]] = places[vb, kept[3]]\n"
    "                    places[vb, kept[3]] = T.Cast('int32', which[0])\n"
    "                    for k in range($e$):\n"
    "                        best[1] = T.Cast('$W$', out[vb, kept[2], k])\n"
    "                        out[vb, kept[2], k] = out[vb, kept[3], k]\n"
    "                        out[vb, kept[3], k] = T.Cast('$D$', best[1])\n"
    "                    for k in range(kept[1] - kept[2] - T.int64(1)):\n"
    "                        s: T.let[T.int64] = kept[2]\n"
    "                        t: T.let[T.int64] = kept[2] + T.int64(1) + k\n"
    "$OVERLAP$"
    "                        if places[vb, t] >= T.int32(0) and T.Cast('$W$', out[vb, t, "
    "$SCORE$]) > $LEAST$$AND_SAME$:\n"
    "                            if overlap >= $MOST$:\n"
    "                                places[vb, t] = T.int32(-1)\n"
    "                            else:\n"
    "                                out[vb, t, $SCORE$] = T.Cast('$D$', T.Cast('$W$', out[vb, t, "
    "$SCORE$]) * T.exp($DECAY$ * overlap * overlap))\n"
    "                                if T.Cast('$W$', out[vb, t, $SCORE$]) <= $LEAST$:\n"
    "                                    places[vb, t] = T.int32(-1)\n"
    "                    kept[2] = kept[2] + T.int64(1)\n"
    "            for j in range($n$ - kept[2]):\n"
    "                for k in range($e$):\n"
    "                    out[vb, kept[2] + j, k] = T.$D$(-1)\n"
    "                places[vb, kept[2] + j] = T.int32(-1)\n";

static const char to_bottom_text[] =
    "            kept[3] = T.int64(0)\n"
    "            for j in range($n$):\n"
    "                if T.Cast('$W$', out[vb, j, $SCORE$]) >= T.$W$(0):\n"
    "                    for k in range($e$):\n"
    "                        out[vb, kept[3], k] = out[vb, j, k]\n"
    "                    kept[3] = kept[3] + T.int64(1)\n"
    "            for j in range($n$ - kept[3]):\n"
    "                for k in range($e$):\n"
    "                    out[vb, kept[3] + j, k] = T.$D$(-1)\n";

static program
begin(tn_builder *b, const tn_call *call)
{
    program p = program_begin(b);
    tn_list dims = emit_dims(call->args.at[0]);
    tnb_dtype d = tn_type_dtype(call->args.at[0]->type);
    program_extent(&p, "b", dims.at[0]);
    program_extent(&p, "n", dims.at[1]);
    program_extent(&p, "e", dims.at[2]);
    program_dtype(&p, "D", d);
    program_dtype(&p, "W", emit_wide(d));
    program_int(&p, "SCORE", tn_call_int(call, "score_index"));
    program_int(&p, "CLASS", tn_call_int(call, "id_index"));
    return p;
}

const tn_expr *
legalize_valid_counts(tn_builder *b, const tn_call *call)
{
    program p = begin(b, call);
    tnb_dtype d = tn_type_dtype(call->args.at[0]->type);
    if (!tnb_dtype_is_float(d))
        return NULL;
    program_float(&p, "LEAST", d, tn_call_float(call, "score_threshold"));
    program_text(&p, "AND_CLASS",
                 tn_call_int(call, "id_index") < 0 ? "" : " and data[vb, j, $CLASS$] >= T.$D$(0)");
    return program_call(&p, "get_valid_counts", valid_program, call->args, call->base.type);
}

const tn_expr *
legalize_nms(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    program p = begin(b, call);
    const tn_expr *data = call->args.at[0];
    tn_list dims = emit_dims(data);
    tnb_dtype d = tn_type_dtype(data->type), w = emit_wide(d);
    if (!tnb_dtype_is_float(d))
        return NULL;
    double sigma = tn_call_float(call, "soft_nms_sigma");
    int64_t top = tn_call_int(call, "top_k"), most = tn_call_int(call, "max_output_size");
    bool by_class = !tn_call_int(call, "force_suppress") && tn_call_int(call, "id_index") >= 0;
    bool to_bottom = tn_call_int(call, "invalid_to_bottom") != 0;
    program_text(&p, "SORT", program_merge_sort);
    program_text(&p, "COUNT", "kept[0]");
    program_text(&p, "SLOT", "vb, ");
    program_text(&p, "COMPARE", compare_boxes);
    program_text(&p, "TOP",
                 top > 0 ? tn_strf(ctx, "T.min(kept[0], T.int64(%lld))", (long long)top)
                         : "kept[0]");
    program_text(&p, "SUPPRESS", sigma > 0 ? soft_text : hard_text);
    program_text(&p, "OVERLAP", overlap_text);
    program_int(&p, "COORD", tn_call_int(call, "coord_start"));
    program_float(&p, "MOST", w, tn_call_float(call, "iou_threshold"));
    program_float(&p, "LEAST", w, tn_call_float(call, "score_threshold"));
    program_float(&p, "DECAY", w, sigma > 0 ? -0.5 / sigma : 0);
    program_text(&p, "AND_SAME", by_class ? " and out[vb, s, $CLASS$] == out[vb, t, $CLASS$]" : "");
    program_text(&p, "AND_ROOM",
                 most > 0 ? tn_strf(ctx, " and kept[2] < T.int64(%lld)", (long long)most) : "");
    program_text(&p, "TO_BOTTOM", to_bottom ? to_bottom_text : "");
    tn_list one = tn_listv(ctx, dims.at[0], tn_i64(ctx, 1), NULL);
    tn_list each = tn_listv(ctx, dims.at[0], dims.at[1], NULL);
    const tn_type *out = tn_ty_tuple_of(ctx, tn_listv(ctx, tn_ty_tensor_dims(ctx, dims, d),
                                                      tn_ty_tensor_dims(ctx, each, TNB_I32),
                                                      tn_ty_tensor_dims(ctx, one, TNB_I32), NULL));
    const tn_expr *r = program_call(&p, "non_max_suppression", nms_program, call->args, out);
    r = tn_emit(b, r, "lv");
    if (!tn_call_int(call, "return_indices"))
        return tn_tuple_item(ctx, r, 0);
    if (sigma > 0)
        return r;
    const tn_expr *places = tn_emit(b, tn_tuple_item(ctx, r, 1), "lv"),
                  *count = tn_emit(b, tn_tuple_item(ctx, r, 2), "lv");
    return tn_tuple_of(ctx, tn_listv(ctx, places, count, NULL));
}

/* A corner of the box that belongs to an anchor: its centre moved, its extent scaled. along: 0 x, 1
 * y; direction: -1 or 1. */
static const tn_expr *
corner(emit *e, const tnk_stage *s, const tn_node *loc, const tn_node *anchor, int along,
       int direction)
{
    tn_ctx *ctx = e->ctx;
    tnb_dtype d = emit_dtype(loc);
    const tn_array *variances = tn_as_array(tn_call_attr(e->call, "variances"));
    const tn_expr *v[2], *at[2], *offset[2], *i = s->axes[1];
    for (int k = 0; k < 2; k++) { /* of the centre, of the extent */
        const tn_node *value = variances->items.at[along + 2 * k];
        int64_t whole;
        double number = tn_as_float_imm(value)        ? tn_as_float_imm(value)->value
                        : tn_int_value(value, &whole) ? (double)whole
                                                      : 1;
        v[k] = tn_literal(ctx, d, number);
        at[k] = tnk_te_read(e->te, anchor, tn_i64(ctx, 0), i, tn_i64(ctx, along + 2 * k), NULL);
        const tn_expr *column = tn_addi(ctx, tn_muli(ctx, i, 4), along + 2 * k);
        offset[k] = tnk_te_read(e->te, loc, s->axes[0], column, NULL);
    }
    const tn_expr *extent = tn_sub(ctx, at[1], at[0]), *half = tn_literal(ctx, d, 0.5);
    const tn_expr *centre = tn_add(ctx, tn_mul(ctx, tn_mul(ctx, offset[0], v[0]), extent),
                                   tn_mul(ctx, tn_add(ctx, at[0], at[1]), half));
    const tn_expr *reach =
        tn_mul(ctx, tn_mul(ctx, half, tn_intrin1(ctx, TN_INTRIN_exp, tn_mul(ctx, offset[1], v[1]))),
               extent);
    const tn_expr *c = direction < 0 ? tn_sub(ctx, centre, reach) : tn_add(ctx, centre, reach);
    if (tn_call_int(e->call, "clip"))
        c = tn_max(ctx, tn_min(ctx, c, tn_literal(ctx, d, 1)), tn_literal(ctx, d, 0));
    return c;
}

const tn_expr *
legalize_multibox(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tn_list cls = emit_dims(call->args.at[0]);
    tnb_dtype d = tn_type_dtype(call->args.at[0]->type);
    if (!tnb_dtype_is_float(d))
        return NULL;
    const tn_node *loc = emit_input(&e, call->args.at[1]),
                  *anchor = emit_input(&e, call->args.at[2]);
    const tn_expr *dims[3] = {cls.at[0], cls.at[2], tn_i64(ctx, 4)};
    tnk_stage *s = tnk_te_stage(e.te, "multibox_boxes", dims, 3, d);
    const tn_expr *k = s->axes[2], *v = corner(&e, s, loc, anchor, 0, 1);
    v = tn_select_of(ctx, tn_eq_of(ctx, k, tn_i64(ctx, 2)), corner(&e, s, loc, anchor, 1, 1), v);
    v = tn_select_of(ctx, tn_eq_of(ctx, k, tn_i64(ctx, 1)), corner(&e, s, loc, anchor, 0, -1), v);
    v = tn_select_of(ctx, tn_eq_of(ctx, k, tn_i64(ctx, 0)), corner(&e, s, loc, anchor, 1, -1), v);
    const tn_expr *boxes = tn_emit(b, emit_end(&e, "multibox_boxes", tnk_te_define(s, v)), "lv");

    const tn_expr *scores =
        tn_emit(b,
                tn_call_opv(ctx, "nn.softmax", tn_dictv(ctx, "axis", tn_i64(ctx, 1), NULL),
                            call->args.at[0], NULL),
                "lv");
    e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, scores);
    s = tnk_te_stage_like(e.te, "multibox_scores", x, d);
    v = tnk_te_read_at(e.te, x, s->axes, 3);
    v = tn_select_of(ctx, tn_ge_of(ctx, v, tn_literal(ctx, d, tn_call_float(call, "threshold"))), v,
                     tn_literal(ctx, d, 0));
    if (!tn_call_int(call, "keep_background"))
        v = tn_select_of(ctx, tn_eq_of(ctx, s->axes[1], tn_i64(ctx, 0)), tn_literal(ctx, d, 0), v);
    scores = tn_emit(b, emit_end(&e, "multibox_scores", tnk_te_define(s, v)), "lv");
    return tn_tuple_of(ctx, tn_listv(ctx, boxes, scores, NULL));
}
