/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of an image brought to one size: roi_align by samples between pixels, roi_pool by the
 * largest pixel of each part. Regions that are not numbers, or of an image that is not there, give
 * 0. */
#include "emit.h"
#include "program.h"

enum { MAX_SAMPLES = 1024 }; /* of a part along one axis: an element costs their square */

const tn_type *
infer_roi(tn_ctx *ctx, const tn_call *call)
{
    static const char *const modes[] = {"avg", "max", "max_corner"};
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *r = t ? infer_tensor(ctx, call, 1) : NULL;
    bool align = infer_op(call)->id == OP_vision_roi_align, found = !align;
    const char *layout = tn_call_str(call, "layout");
    int64_t size[3];
    tn_list x, rois;
    if (!r || (align && !infer_float_data(ctx, call, t)))
        return tn_error_node(ctx);
    if (t->ndim >= 0 && t->ndim != 4)
        return infer_fail(ctx, call, TNB_SHAPE, "the data has %lld axes, expected 4",
                          (long long)t->ndim);
    if (r->ndim >= 0 && r->ndim != 2)
        return infer_fail(ctx, call, TNB_SHAPE, "the regions have %lld axes, expected 2",
                          (long long)r->ndim);
    bool nchw = !strcmp(layout, "NCHW");
    if (!nchw && (!align || strcmp(layout, "NHWC") != 0))
        return infer_fail(ctx, call, TNB_INVALID, "attribute 'layout' is \"%s\", expected %s",
                          layout, align ? "NCHW or NHWC" : "NCHW");
    for (int i = 0; i < 3 && !found; i++)
        found = !strcmp(tn_call_str(call, "mode"), modes[i]);
    if (!found)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'mode' is \"%s\", expected avg, max or max_corner",
                          tn_call_str(call, "mode"));
    int n = tn_call_ints(call, "pooled_size", size, 3);
    if (n == 1)
        size[1] = size[0];
    if (n < 1 || n > 2 || size[0] < 1 || size[1] < 1)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'pooled_size' must be one or two extents above 0");
    if (align && tn_call_int(call, "sample_ratio") > MAX_SAMPLES)
        return infer_fail(ctx, call, TNB_BOUNDS,
                          "attribute 'sample_ratio' is %lld, expected at most %d",
                          (long long)tn_call_int(call, "sample_ratio"), MAX_SAMPLES);
    bool known_rois = tn_type_dims(TN_NODE(r), &rois);
    if (known_rois &&
        dim_differ(ctx, rois.at[1], tn_i64(ctx, 5), "regions have {} elements, expected {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "regions have %s elements, expected 5",
                          tn_text(ctx, rois.at[1]));
    if (!known_rois || !tn_type_dims(TN_NODE(t), &x))
        return infer_rank(ctx, call, 4, t->dtype);
    const tn_expr *h = tn_i64(ctx, size[0]), *w = tn_i64(ctx, size[1]);
    return infer_known(ctx, call,
                       nchw ? tn_listv(ctx, rois.at[0], x.at[1], h, w, NULL)
                            : tn_listv(ctx, rois.at[0], h, w, x.at[3], NULL),
                       t->dtype);
}

/* `box`: 0..1 start along y and x, 2..3 extent of a part. `count`: 0..1 samples of a part along y
 * and x. */
static const char align_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def roi_align(var_a: T.handle, var_b: T.handle, var_c: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    data = T.match_buffer(var_a, ($b$, $DATA$), '$D$')\n"
    "    rois = T.match_buffer(var_b, ($r$, T.int64(5)), '$R$')\n"
    "    out = T.match_buffer(var_c, ($r$, $OUT$), '$D$')\n"
    "    for $LOOPS$ in T.grid($r$, $OUT$):\n"
    "        with T.sblock('roi_align'):\n"
    "            $AXES$ = T.axis.remap('SSSS', [$LOOPS$])\n"
    "            T.reads(data[$ALL$], rois[vr, T.int64(0):T.int64(5)])\n"
    "            T.writes(out[$AXES$])\n"
    "            box = T.sblock_alloc_buffer((T.int64(4),), '$W$', scope='local')\n"
    "            count = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            total = T.sblock_alloc_buffer((T.int64(1),), '$V$', scope='local')\n"
    "            batch: T.let[T.$W$] = T.Cast('$W$', rois[vr, 0])\n"
    "            box[0] = T.Cast('$W$', rois[vr, 2]) * $SCALE$\n"
    "            box[1] = T.Cast('$W$', rois[vr, 1]) * $SCALE$\n"
    "            box[2] = ($LEAST$T.Cast('$W$', rois[vr, 4]) * $SCALE$ - box[0])) / $PH$\n"
    "            box[3] = ($LEAST$T.Cast('$W$', rois[vr, 3]) * $SCALE$ - box[1])) / $PW$\n"
    "            box[0] = box[0] + T.Cast('$W$', vh) * box[2]\n"
    "            box[1] = box[1] + T.Cast('$W$', vw) * box[3]\n"
    "            count[0] = $SAMPLES_H$\n"
    "            count[1] = $SAMPLES_W$\n"
    "            if not (batch >= T.$W$(0) and batch < T.Cast('$W$', $b$)):\n"
    "                count[0] = T.int64(0)\n"
    "            total[0] = T.$V$(0)\n"
    "            for i, j in T.grid(count[0], count[1]):\n"
    "                y: T.let[T.$W$] = box[0] + (T.Cast('$W$', i) + T.$W$(0.5)) * box[2] / "
    "T.Cast('$W$', count[0])\n"
    "                x: T.let[T.$W$] = box[1] + (T.Cast('$W$', j) + T.$W$(0.5)) * box[3] / "
    "T.Cast('$W$', count[1])\n"
    "                if y >= T.$W$(-1) and y <= T.Cast('$W$', $h$) and x >= T.$W$(-1) and x "
    "<= T.Cast('$W$', $w$) and $h$ > T.int64(0) and $w$ > T.int64(0):\n"
    "                    n: T.let[T.int64] = T.Cast('int64', batch)\n"
    "                    yc: T.let[T.$W$] = T.min(T.max(y, T.$W$(0)), T.Cast('$W$', $h$ - "
    "T.int64(1)))\n"
    "                    xc: T.let[T.$W$] = T.min(T.max(x, T.$W$(0)), T.Cast('$W$', $w$ - "
    "T.int64(1)))\n"
    "                    y0: T.let[T.int64] = T.Cast('int64', T.floor(yc))\n"
    "                    x0: T.let[T.int64] = T.Cast('int64', T.floor(xc))\n"
    "                    y1: T.let[T.int64] = T.min(y0 + T.int64(1), $h$ - T.int64(1))\n"
    "                    x1: T.let[T.int64] = T.min(x0 + T.int64(1), $w$ - T.int64(1))\n"
    "                    fy: T.let[T.$V$] = T.Cast('$V$', yc - T.Cast('$W$', y0))\n"
    "                    fx: T.let[T.$V$] = T.Cast('$V$', xc - T.Cast('$W$', x0))\n"
    "                    p: T.let[T.$V$] = (T.$V$(1) - fy) * (T.$V$(1) - fx) * T.Cast('$V$', "
    "data[$Y0X0$])\n"
    "                    q: T.let[T.$V$] = (T.$V$(1) - fy) * fx * T.Cast('$V$', data[$Y0X1$])\n"
    "                    s: T.let[T.$V$] = fy * (T.$V$(1) - fx) * T.Cast('$V$', data[$Y1X0$])\n"
    "                    t: T.let[T.$V$] = fy * fx * T.Cast('$V$', data[$Y1X1$])\n"
    "                    total[0] = $COMBINE$\n"
    "$OUTSIDE$"
    "            out[$AXES$] = T.Cast('$D$', total[0]$DIVIDED$)\n";

/* As many samples as the part has pixels, up to MAX_SAMPLES; none of a part that is no number or absurdly large. */
#define BY_SIZE(extent)                                                \
    "T.Cast('int64', T.if_then_else(" extent " > T.$W$(0) and " extent \
    " < T.$W$(1000000), T.min(T.ceil(" extent "), $MOST$), T.$W$(0)))"

/* A sample outside counts as 0 where the largest is wanted. */
static const char outside[] =
    "                else:\n"
    "                    total[0] = T.if_then_else(i + j == T.int64(0), T.$V$(0), T.max(total[0], "
    "T.$V$(0)))\n";

/* Of a coordinate c, as far as it is a number that an image can have. */
#define ROUNDED(c)                                                                    \
    "T.Cast('int64', T.if_then_else(T.isnan(" c "), T.$W$(0), T.max(T.min(T.floor(" c \
    " + T.$W$(0.5)), T.$W$(1000000000)), T.$W$(-1000000000))))"

/* `first`, `size`: of the region along y and x. */
static const char pool_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def roi_pool(var_a: T.handle, var_b: T.handle, var_c: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    data = T.match_buffer(var_a, ($b$, $DATA$), '$D$')\n"
    "    rois = T.match_buffer(var_b, ($r$, T.int64(5)), '$R$')\n"
    "    out = T.match_buffer(var_c, ($r$, $OUT$), '$D$')\n"
    "    for $LOOPS$ in T.grid($r$, $OUT$):\n"
    "        with T.sblock('roi_pool'):\n"
    "            $AXES$ = T.axis.remap('SSSS', [$LOOPS$])\n"
    "            T.reads(data[$ALL$], rois[vr, T.int64(0):T.int64(5)])\n"
    "            T.writes(out[$AXES$])\n"
    "            batch: T.let[T.$W$] = T.Cast('$W$', rois[vr, 0])\n"
    "            left: T.let[T.$W$] = T.Cast('$W$', rois[vr, 1]) * $SCALE$\n"
    "            top: T.let[T.$W$] = T.Cast('$W$', rois[vr, 2]) * $SCALE$\n"
    "            right: T.let[T.$W$] = T.Cast('$W$', rois[vr, 3]) * $SCALE$\n"
    "            bottom: T.let[T.$W$] = T.Cast('$W$', rois[vr, 4]) * $SCALE$\n"
    "            y0: T.let[T.int64] = " ROUNDED(
        "top") "\n"
               "            x0: T.let[T.int64] = " ROUNDED(
                   "left") "\n"
                           "            height: T.let[T.int64] = T.max(" ROUNDED(
                               "bottom") " - y0 + T.int64(1), "
                                         "T.int64(1))\n"
                                         "            width: T.let[T.int64] = T.max(" ROUNDED(
                                             "right") " - x0 + T.int64(1), T.int64(1))\n"
                                                      "            part_h: T.let[T.$W$] = "
                                                      "T.Cast('$W$', height) / $PH$\n"
                                                      "            part_w: T.let[T.$W$] = "
                                                      "T.Cast('$W$', width) / $PW$\n"
                                                      "            ya: T.let[T.int64] = "
                                                      "T.min(T.max(T.Cast('int64', "
                                                      "T.floor(T.Cast('$W$', vh) * "
                                                      "part_h)) + y0, T.int64(0)), $h$)\n"
                                                      "            yb: T.let[T.int64] = "
                                                      "T.min(T.max(T.Cast('int64', "
                                                      "T.ceil(T.Cast('$W$', vh + "
                                                      "T.int64(1)) * part_h)) + y0, T.int64(0)), "
                                                      "$h$)\n"
                                                      "            xa: T.let[T.int64] = "
                                                      "T.min(T.max(T.Cast('int64', "
                                                      "T.floor(T.Cast('$W$', vw) * "
                                                      "part_w)) + x0, T.int64(0)), $w$)\n"
                                                      "            xb: T.let[T.int64] = "
                                                      "T.min(T.max(T.Cast('int64', "
                                                      "T.ceil(T.Cast('$W$', vw + "
                                                      "T.int64(1)) * part_w)) + x0, T.int64(0)), "
                                                      "$w$)\n"
                                                      "            out[$AXES$] = T.$D$(0)\n"
                                                      "            if batch >= T.$W$(0) and batch "
                                                      "< T.Cast('$W$', $b$) and ya < yb and xa < "
                                                      "xb:\n"
                                                      "                n: T.let[T.int64] = "
                                                      "T.Cast('int64', batch)\n"
                                                      "                out[$AXES$] = data[n, vc, "
                                                      "ya, xa]\n"
                                                      "                for i, j in T.grid(yb - ya, "
                                                      "xb - xa):\n"
                                                      "                    out[$AXES$] = "
                                                      "T.max(out[$AXES$], data[n, vc, ya + i, xa + "
                                                      "j])\n";

/* What both programs have in common. */
static program
begin(tn_builder *b, const tn_call *call, bool nchw)
{
    program p = program_begin(b);
    tn_list x = emit_dims(call->args.at[0]), rois = emit_dims(call->args.at[1]);
    tnb_dtype d = tn_type_dtype(call->args.at[0]->type), r = tn_type_dtype(call->args.at[1]->type),
              w = emit_wide(r);
    int64_t size[2];
    if (tn_call_ints(call, "pooled_size", size, 2) == 1)
        size[1] = size[0];
    program_extent(&p, "b", x.at[0]);
    program_extent(&p, "c", x.at[nchw ? 1 : 3]);
    program_extent(&p, "h", x.at[nchw ? 2 : 1]);
    program_extent(&p, "w", x.at[nchw ? 3 : 2]);
    program_extent(&p, "r", rois.at[0]);
    program_dtype(&p, "D", d);
    program_dtype(&p, "R", r);
    program_dtype(&p, "W", w);
    program_dtype(&p, "V", emit_wide(d));
    program_float(&p, "SCALE", w, tn_call_float(call, "spatial_scale"));
    program_float(&p, "PH", w, (double)size[0]);
    program_float(&p, "PW", w, (double)size[1]);
    program_int(&p, "ph", size[0]);
    program_int(&p, "pw", size[1]);
    program_text(&p, "DATA", nchw ? "$c$, $h$, $w$" : "$h$, $w$, $c$");
    program_text(&p, "OUT", nchw ? "$c$, $ph$, $pw$" : "$ph$, $pw$, $c$");
    program_text(&p, "ALL",
                 nchw ? "T.int64(0):$b$, vc, T.int64(0):$h$, T.int64(0):$w$"
                      : "T.int64(0):$b$, T.int64(0):$h$, T.int64(0):$w$, vc");
    program_text(&p, "LOOPS", nchw ? "lr, lc, lh, lw" : "lr, lh, lw, lc");
    program_text(&p, "AXES", nchw ? "vr, vc, vh, vw" : "vr, vh, vw, vc");
    return p;
}

const tn_expr *
legalize_roi_pool(tn_builder *b, const tn_call *call)
{
    program p = begin(b, call, true);
    return program_call(&p, "roi_pool", pool_program, call->args, call->base.type);
}

const tn_expr *
legalize_roi_align(tn_builder *b, const tn_call *call)
{
    static const char *const corners[] = {"Y0X0", "Y0X1", "Y1X0", "Y1X1"};
    const char *mode = tn_call_str(call, "mode");
    bool nchw = !strcmp(tn_call_str(call, "layout"), "NCHW"), mean = !strcmp(mode, "avg");
    int64_t samples = tn_call_int(call, "sample_ratio");
    program p = begin(b, call, nchw);
    for (int i = 0; i < 4; i++)
        program_text(&p, corners[i],
                     tn_strf(p.ctx, nchw ? "n, vc, y%d, x%d" : "n, y%d, x%d, vc", i / 2, i % 2));
    program_text(&p, "LEAST", tn_call_int(call, "aligned") ? "(" : "T.max(T.$W$(1), ");
    const char *given = tn_strf(p.ctx, "T.int64(%lld)", (long long)samples);
    program_float(&p, "MOST", emit_wide(tn_type_dtype(call->args.at[1]->type)), MAX_SAMPLES);
    program_text(&p, "SAMPLES_H", samples > 0 ? given : BY_SIZE("box[2]"));
    program_text(&p, "SAMPLES_W", samples > 0 ? given : BY_SIZE("box[3]"));
    const char *value = !strcmp(mode, "max") ? "p + q + s + t" : "T.max(T.max(p, q), T.max(s, t))";
    program_text(&p, "COMBINE",
                 mean ? "total[0] + (p + q + s + t)"
                      : tn_strf(p.ctx,
                                "T.if_then_else(i + j == T.int64(0), %s, T.max(total[0], %s))",
                                value, value));
    program_text(&p, "OUTSIDE", mean ? "" : outside);
    program_text(&p, "DIVIDED",
                 mean ? " / T.Cast('$V$', T.max(count[0] * count[1], T.int64(1)))" : "");
    return program_call(&p, "roi_align", align_program, call->args, call->base.type);
}
