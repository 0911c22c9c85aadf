/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression of every class, with a result of exactly the boxes selected or of an
 * upper bound and a count.
 *
 * One program selects boxes: for each batch entry and class those whose score is above the
 * threshold are gathered, sorted by score, and taken in turn unless they overlap one taken before.
 * A score that is NaN is above no threshold. Others write what was selected in the format wanted.
 */
#include "emit.h"
#include "program.h"

const tn_type *
infer_all_class_nms(tn_ctx *ctx, const tn_call *call)
{
    static const char *const names[] = {"boxes", "scores", "max_output_boxes_per_class",
                                        "iou_threshold", "score_threshold"};
    const char *format = tn_call_str(call, "output_format");
    const tn_ty_tensor *t[5];
    tn_list dims[5];
    bool known[5];
    for (uint32_t i = 0; i < 5; i++) {
        t[i] = infer_tensor(ctx, call, i);
        if (!t[i])
            return tn_error_node(ctx);
        known[i] = tn_type_dims(TN_NODE(t[i]), &dims[i]);
        if (i < 2 && t[i]->ndim >= 0 && t[i]->ndim != 3)
            return infer_fail(ctx, call, TNB_SHAPE, "argument '%s' has %lld axes, expected 3",
                              names[i], (long long)t[i]->ndim);
        if (i > 1 && (t[i]->ndim > 1 ||
                      (known[i] && dims[i].n &&
                       dim_differ(ctx, dims[i].at[0], tn_i64(ctx, 1),
                                  "argument '%s' has {} elements, expected {}", names[i]))))
            return infer_fail(ctx, call, TNB_SHAPE, "argument '%s' must have one element",
                              names[i]);
    }
    if (known[0] &&
        dim_differ(ctx, dims[0].at[2], tn_i64(ctx, 4), "boxes have {} coordinates, expected {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "boxes have %s coordinates, expected 4",
                          tn_text(ctx, dims[0].at[2]));
    if (known[0] && known[1] &&
        (dim_differ(ctx, dims[0].at[0], dims[1].at[0],
                    "'boxes' has {} batch entries, 'scores' {}") ||
         dim_differ(ctx, dims[0].at[1], dims[1].at[2], "{} boxes, but {} scores")))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "'boxes' %s and 'scores' %s differ in batch or boxes",
                          tn_text(ctx, tn_shape_expr_of(ctx, dims[0])),
                          tn_text(ctx, tn_shape_expr_of(ctx, dims[1])));
    const tn_expr *one = tn_i64(ctx, 1);
    bool shapes = known[0] && known[1];
    if (!strcmp(format, "selected"))
        return infer_rank(ctx, call, 2, TNB_I64);
    if (!strcmp(format, "onnx")) {
        const tn_type *rows = infer_rank(ctx, call, 2, TNB_I64);
        if (shapes) {
            const tn_expr *all =
                dim_mul(ctx, dim_mul(ctx, dims[0].at[0], dims[1].at[1]), dims[0].at[1]);
            rows = infer_known(ctx, call, tn_listv(ctx, all, tn_i64(ctx, 3), NULL), TNB_I64);
        }
        const tn_type *count = infer_known(ctx, call, tn_listv(ctx, one, NULL), TNB_I64);
        return tn_ty_tuple_of(ctx, tn_listv(ctx, rows, count, NULL));
    }
    if (strcmp(format, "tensorflow") != 0)
        return infer_fail(
            ctx, call, TNB_INVALID,
            "attribute 'output_format' is \"%s\", expected onnx, tensorflow or selected", format);
    const tn_type *places = infer_rank(ctx, call, 3, TNB_I64),
                  *scores = infer_rank(ctx, call, 2, TNB_F32),
                  *counts = infer_rank(ctx, call, 1, TNB_I64);
    if (shapes) {
        const tn_expr *n = dims[0].at[0], *each = dim_mul(ctx, dims[1].at[1], dims[0].at[1]);
        places = infer_known(ctx, call, tn_listv(ctx, n, each, tn_i64(ctx, 2), NULL), TNB_I64);
        scores = infer_known(ctx, call, tn_listv(ctx, n, each, NULL), TNB_F32);
        counts = infer_known(ctx, call, tn_listv(ctx, n, NULL), TNB_I64);
    }
    return tn_ty_tuple_of(ctx, tn_listv(ctx, places, scores, counts, NULL));
}

static const char select_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def nms_select(var_a: T.handle, var_b: T.handle, var_c: T.handle, var_d: T.handle, var_e: "
    "T.handle, var_f: T.handle, "
    "var_g: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    boxes = T.match_buffer(var_a, ($b$, $n$, T.int64(4)), '$D$')\n"
    "    scores = T.match_buffer(var_b, ($b$, $c$, $n$), '$S$')\n"
    "    most = T.match_buffer(var_c, (T.int64(1),), 'int64')\n"
    "    overlap = T.match_buffer(var_d, (T.int64(1),), '$W$')\n"
    "    least = T.match_buffer(var_e, (T.int64(1),), '$V$')\n"
    "    picked = T.match_buffer(var_f, ($b$, $c$, $n$), 'int64')\n"
    "    found = T.match_buffer(var_g, ($b$, $c$), 'int64')\n"
    "    work = T.sblock_alloc_buffer(($b$, $c$, T.int64(2), $n$), 'int64')\n"
    "    for i, j in T.grid($b$, $c$):\n"
    "        with T.sblock('nms_select'):\n"
    "            vb, vc = T.axis.remap('SS', [i, j])\n"
    "            T.reads(boxes[vb, T.int64(0):$n$, T.int64(0):T.int64(4)], scores[vb, vc, "
    "T.int64(0):$n$], most[T.int64(0)], overlap[T.int64(0)], least[T.int64(0)])\n"
    "            T.writes(picked[vb, vc, T.int64(0):$n$], found[vb, vc], work[vb, vc, "
    "T.int64(0):T.int64(2), T.int64(0):$n$])\n"
    "            state = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            head = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            which = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            kept = T.sblock_alloc_buffer((T.int64(4),), 'int64', scope='local')\n"
    "            kept[0] = T.int64(0)\n" /* candidates */
    "            for k in range($n$):\n"
    "                if T.Cast('$V$', scores[vb, vc, k]) > least[T.int64(0)]:\n"
    "                    work[vb, vc, T.int64(0), kept[0]] = k\n"
    "                    kept[0] = kept[0] + T.int64(1)\n"
    "$SORT$"
    "            kept[1] = T.int64(0)\n" /* taken */
    "            kept[2] = T.int64(0)\n" /* the candidate at hand */
    "            while kept[2] < kept[0] and kept[1] < most[T.int64(0)]:\n"
    "                p: T.let[T.int64] = work[vb, vc, state[1], kept[2]]\n"
    "                top: T.let[T.$W$] = T.min(T.Cast('$W$', boxes[vb, p, 0]), T.Cast('$W$', "
    "boxes[vb, p, 2]))\n"
    "                left: T.let[T.$W$] = T.min(T.Cast('$W$', boxes[vb, p, 1]), T.Cast('$W$', "
    "boxes[vb, p, 3]))\n"
    "                bottom: T.let[T.$W$] = T.max(T.Cast('$W$', boxes[vb, p, 0]), T.Cast('$W$', "
    "boxes[vb, p, 2]))\n"
    "                right: T.let[T.$W$] = T.max(T.Cast('$W$', boxes[vb, p, 1]), T.Cast('$W$', "
    "boxes[vb, p, 3]))\n"
    "                kept[3] = T.int64(0)\n" /* the taken box at hand; below 0: it overlaps */
    "                while kept[3] >= T.int64(0) and kept[3] < kept[1]:\n"
    "                    q: T.let[T.int64] = picked[vb, vc, kept[3]]\n"
    "                    top2: T.let[T.$W$] = T.min(T.Cast('$W$', boxes[vb, q, 0]), T.Cast('$W$', "
    "boxes[vb, q, 2]))\n"
    "                    left2: T.let[T.$W$] = T.min(T.Cast('$W$', boxes[vb, q, 1]), T.Cast('$W$', "
    "boxes[vb, q, 3]))\n"
    "                    bottom2: T.let[T.$W$] = T.max(T.Cast('$W$', boxes[vb, q, 0]), "
    "T.Cast('$W$', boxes[vb, q, 2]))\n"
    "                    right2: T.let[T.$W$] = T.max(T.Cast('$W$', boxes[vb, q, 1]), "
    "T.Cast('$W$', boxes[vb, q, 3]))\n"
    "                    common: T.let[T.$W$] = T.max(T.min(bottom, bottom2) - T.max(top, top2), "
    "T.$W$(0)) * T.max(T.min(right, right2) - T.max(left, left2), T.$W$(0))\n"
    "                    both: T.let[T.$W$] = (bottom - top) * (right - left) + (bottom2 - top2) * "
    "(right2 - left2) - common\n"
    "                    if both > T.$W$(0) and common / both > overlap[T.int64(0)]:\n"
    "                        kept[3] = T.int64(-1)\n"
    "                    else:\n"
    "                        kept[3] = kept[3] + T.int64(1)\n"
    "                if kept[3] >= T.int64(0):\n"
    "                    picked[vb, vc, kept[1]] = p\n"
    "                    kept[1] = kept[1] + T.int64(1)\n"
    "                kept[2] = kept[2] + T.int64(1)\n"
    "            found[vb, vc] = kept[1]\n";

static const char compare_scores[] =
    "                            if scores[vb, vc, work[vb, vc, state[1], head[1]]] > scores[vb, "
    "vc, work[vb, vc, state[1], head[0]]]:\n"
    "                                which[0] = T.int64(1)\n";

static const char count_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def nms_count(var_a: T.handle, var_b: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    found = T.match_buffer(var_a, ($b$, $c$), 'int64')\n"
    "    total = T.match_buffer(var_b, (T.int64(1),), 'int64')\n"
    "    with T.sblock('nms_count'):\n"
    "        v_i = T.axis.spatial(T.int64(1), T.int64(0))\n"
    "        T.reads(found[T.int64(0):$b$, T.int64(0):$c$])\n"
    "        T.writes(total[T.int64(0)])\n"
    "        total[T.int64(0)] = T.int64(0)\n"
    "        for i, j in T.grid($b$, $c$):\n"
    "            total[T.int64(0)] = total[T.int64(0)] + found[i, j]\n";

/* Rows past the last one selected are -1; there are none in a result of exact size. */
static const char collect_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def nms_collect(var_a: T.handle, var_b: T.handle, var_c: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    picked = T.match_buffer(var_a, ($b$, $c$, $n$), 'int64')\n"
    "    found = T.match_buffer(var_b, ($b$, $c$), 'int64')\n"
    "    rows = T.match_buffer(var_c, ($r$, T.int64(3)), 'int64')\n"
    "    with T.sblock('nms_collect'):\n"
    "        v_i = T.axis.spatial(T.int64(1), T.int64(0))\n"
    "        T.reads(picked[T.int64(0):$b$, T.int64(0):$c$, T.int64(0):$n$], found[T.int64(0):$b$, "
    "T.int64(0):$c$])\n"
    "        T.writes(rows[T.int64(0):$r$, T.int64(0):T.int64(3)])\n"
    "        at = T.sblock_alloc_buffer((T.int64(1),), 'int64', scope='local')\n"
    "        at[0] = T.int64(0)\n"
    "        for i, j in T.grid($b$, $c$):\n"
    "            for k in range(found[i, j]):\n"
    "                rows[at[0], 0] = i\n"
    "                rows[at[0], 1] = j\n"
    "                rows[at[0], 2] = picked[i, j, k]\n"
    "                at[0] = at[0] + T.int64(1)\n"
    "        for k in range($r$ - at[0]):\n"
    "            rows[at[0] + k, 0] = T.int64(-1)\n"
    "            rows[at[0] + k, 1] = T.int64(-1)\n"
    "            rows[at[0] + k, 2] = T.int64(-1)\n";

static const char rank_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def nms_by_batch(var_a: T.handle, var_b: T.handle, var_c: T.handle, var_d: T.handle, var_e: "
    "T.handle, var_f: "
    "T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    scores = T.match_buffer(var_a, ($b$, $c$, $n$), '$S$')\n"
    "    picked = T.match_buffer(var_b, ($b$, $c$, $n$), 'int64')\n"
    "    found = T.match_buffer(var_c, ($b$, $c$), 'int64')\n"
    "    places = T.match_buffer(var_d, ($b$, $r$, T.int64(2)), 'int64')\n"
    "    values = T.match_buffer(var_e, ($b$, $r$), 'float32')\n"
    "    counts = T.match_buffer(var_f, ($b$,), 'int64')\n"
    "    for i in range($b$):\n"
    "        with T.sblock('nms_by_batch'):\n"
    "            vb = T.axis.remap('S', [i])\n"
    "            T.reads(scores[vb, T.int64(0):$c$, T.int64(0):$n$], picked[vb, T.int64(0):$c$, "
    "T.int64(0):$n$], found[vb, T.int64(0):$c$])\n"
    "            T.writes(places[vb, T.int64(0):$r$, T.int64(0):T.int64(2)], values[vb, "
    "T.int64(0):$r$], counts[vb])\n"
    "            at = T.sblock_alloc_buffer((T.int64(1),), 'int64', scope='local')\n"
    "            at[0] = T.int64(0)\n"
    "            for j in range($c$):\n"
    "                for k in range(found[vb, j]):\n"
    "                    places[vb, at[0], 0] = j\n"
    "                    places[vb, at[0], 1] = picked[vb, j, k]\n"
    "                    values[vb, at[0]] = T.Cast('float32', scores[vb, j, picked[vb, j, k]])\n"
    "                    at[0] = at[0] + T.int64(1)\n"
    "            counts[vb] = at[0]\n"
    "            for k in range($r$ - at[0]):\n"
    "                places[vb, at[0] + k, 0] = T.int64(0)\n"
    "                places[vb, at[0] + k, 1] = T.int64(0)\n"
    "                values[vb, at[0] + k] = T.float32(0)\n";

typedef struct extents {
    const tn_expr *b, *c, *n;
} extents;

static program
begin(tn_builder *b, const extents *x)
{
    program p = program_begin(b);
    program_extent(&p, "b", x->b);
    program_extent(&p, "c", x->c);
    return p;
}

/* A one-element tensor as a vector of dtype d. */
static const tn_expr *
parameter(tn_builder *b, const tn_expr *x, tnb_dtype d)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    if (tn_type_ndim(x->type) != 1)
        x = tn_emit(b,
                    tn_call_opv(ctx, "reshape", NULL, x,
                                tn_shape_expr_of(ctx, tn_listv(ctx, tn_i64(ctx, 1), NULL)), NULL),
                    "lv");
    if (!tnb_dtype_eq(tn_type_dtype(x->type), d))
        x = tn_emit(b,
                    tn_call_opv(ctx, "astype",
                                tn_dictv(ctx, "dtype", tn_dtype_imm_of(ctx, d), NULL), x, NULL),
                    "lv");
    return x;
}

static const tn_type *
ints(tn_ctx *ctx, tn_list dims)
{
    return tn_ty_tensor_dims(ctx, dims, TNB_I64);
}

/* (picked, found), see select_program. */
static const tn_expr *
selected(tn_builder *b, const tn_call *call, const extents *x)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *boxes = call->args.at[0], *scores = call->args.at[1];
    tnb_dtype d = tn_type_dtype(boxes->type), s = tn_type_dtype(scores->type);
    tnb_dtype w = emit_wide(d), v = emit_wide(s);
    program p = begin(b, x);
    program_extent(&p, "n", x->n);
    program_dtype(&p, "D", d);
    program_dtype(&p, "S", s);
    program_dtype(&p, "W", w);
    program_dtype(&p, "V", v);
    program_text(&p, "SORT", program_merge_sort);
    program_text(&p, "COUNT", "kept[0]");
    program_text(&p, "SLOT", "vb, vc, ");
    program_text(&p, "COMPARE", compare_scores);
    tn_list args =
        tn_listv(ctx, boxes, scores, parameter(b, call->args.at[2], TNB_I64),
                 parameter(b, call->args.at[3], w), parameter(b, call->args.at[4], v), NULL);
    const tn_type *out =
        tn_ty_tuple_of(ctx, tn_listv(ctx, ints(ctx, tn_listv(ctx, x->b, x->c, x->n, NULL)),
                                     ints(ctx, tn_listv(ctx, x->b, x->c, NULL)), NULL));
    return tn_emit(b, program_call(&p, "nms_select", select_program, args, out), "lv");
}

const tn_expr *
legalize_all_class_nms(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const char *format = tn_call_str(call, "output_format");
    tn_list boxes = emit_dims(call->args.at[0]), scores = emit_dims(call->args.at[1]);
    extents x = {boxes.at[0], scores.at[1], boxes.at[1]};
    const tn_expr *both = selected(b, call, &x);
    if (tn_is_error(both))
        return both;
    const tn_expr *picked = tn_emit(b, tn_tuple_item(ctx, both, 0), "lv"),
                  *found = tn_emit(b, tn_tuple_item(ctx, both, 1), "lv");
    const tn_expr *one = tn_i64(ctx, 1), *three = tn_i64(ctx, 3), *rows;
    if (!strcmp(format, "tensorflow")) {
        program p = begin(b, &x);
        program_extent(&p, "n", x.n);
        program_extent(&p, "r", dim_mul(ctx, x.c, x.n));
        program_dtype(&p, "S", tn_type_dtype(call->args.at[1]->type));
        return program_call(&p, "nms_by_batch", rank_program,
                            tn_listv(ctx, call->args.at[1], picked, found, NULL), call->base.type);
    }
    program p = begin(b, &x);
    const tn_expr *total = program_call(&p, "nms_count", count_program, tn_listv(ctx, found, NULL),
                                        ints(ctx, tn_listv(ctx, one, NULL)));
    total = tn_emit(b, total, "lv");
    bool exact = !strcmp(format, "selected");
    if (!exact)
        rows = dim_mul(ctx, dim_mul(ctx, x.b, x.c), x.n);
    else if (!emit_read_extents(b, total, &rows, 1))
        return tn_error_node(ctx);
    p = begin(b, &x);
    program_extent(&p, "n", x.n);
    program_extent(&p, "r", rows);
    const tn_expr *out =
        program_call(&p, "nms_collect", collect_program, tn_listv(ctx, picked, found, NULL),
                     ints(ctx, tn_listv(ctx, rows, three, NULL)));
    if (exact)
        return out;
    return tn_tuple_of(ctx, tn_listv(ctx, tn_emit(b, out, "lv"), total, NULL));
}
