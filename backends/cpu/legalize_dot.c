/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and matrix products of int16 summed in int32, as quantized models have them, and of
 * bfloat16 summed in float32 where the processor has products of it: the right operand lies in pairs
 * along what is summed, as the processor's instructions take it (dot_intrin.c).
 *
 *     lv = R.nn.conv2d(x, w, ..., out_dtype="int32")      # NCHW8c and OIHW8i8o
 *  -> lv1 = R.call_tir(cls.pairs, (w,), ...)              # [O/8, I/8, KH, KW, 4, 8, 2], folded
 *     lv = R.call_tir(cls.conv2d_pairs, (x, lv1), ...)
 *
 *     lv = R.nn.conv2d(x, w, ..., out_dtype="int32")      # NCHW and OIHW8o: pairs of [N, H, W, C], C even
 *
 *     lv = R.matmul(x, w, out_dtype="int32")              # w (.., K, N), constant or not
 *  -> lv1 = R.call_tir(cls.pairs, (w,), ...)              # [N/8, K/2, 8, 2]
 *     lv = R.call_tir(cls.matmul_pairs, (x, lv1), ...)
 *
 * Where the processor multiplies bytes (VNNI) and the values fit (value_range.c), four of them lie together
 * in place of two: uint8 differences from the left operand's least value, padded with what stands for 0,
 * times int8; the weights' part of that is added, a constant:
 *
 *     sum of x * w  =  sum of (x - least) * w  +  least * (sum of w)
 *
 * Convolutions of channels on their own are summed in float32, as long as that is exact.
 *
 * Everything else becomes what the operator's own rule makes of it.
 */
#include "cpu.h"
#include "tenon/kit/layout.h"
#include "tenon/kit/te.h"

enum { MAX_RANK = 6, LEAST_ROWS = 8 /* that packing while the function runs pays for */ };

/* What a product's operands, its sums and its result are, and how many products lie together. */
typedef struct kind {
    tnb_dtype left, right, sum, result;
    int64_t group;
    int64_t least; /* of the left operand, where that is taken from it; else 0 */
} kind;

/* Whether a product of bytes is made of matrix tiles. */
static bool
fits_tiles(tn_ctx *ctx, const tn_call *call, const tn_target *target)
{
    tn_list x, w;
    int64_t rows, k, columns;
    return tn_is_call_to(TN_NODE(call), "relax.matmul") &&
           tn_type_dims(call->args.at[0]->type, &x) && tn_type_dims(call->args.at[1]->type, &w) &&
           x.n >= 2 && w.n >= 2 && tn_int_value(x.at[x.n - 2], &rows) &&
           tn_int_value(w.at[w.n - 2], &k) && tn_int_value(w.at[w.n - 1], &columns) &&
           cpu_takes_tiles(ctx, target, false, rows, columns, k);
}

/* Differences from zero points that fit into bytes, where the processor multiplies those: the left one
 * becomes the difference from its least value, unless matrix tiles take it as it is. */
static bool
read_bytes(tn_builder *b, const tn_call *call, const tn_target *target, kind *k)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    int bytes = cpu_vector_bytes(ctx, target);
    int64_t lo, hi, wlo, whi;
    bool tiles = fits_tiles(ctx, call, target);
    bool has = tiles || cpu_has_feature(ctx, target, "avx512vnni") ||
               (bytes <= 32 && cpu_has_feature(ctx, target, "avxvnni"));
    if (!has || !cpu_value_range(b, call->args.at[0], &lo, &hi) ||
        !cpu_value_range(b, call->args.at[1], &wlo, &whi) || lo > 0 || hi < 0 || hi - lo > 255 ||
        wlo < -128 || whi > 127)
        return false;
    bool as_it_is = tiles && lo >= -128 && hi <= 127;
    k->left = TNB_DTYPE(as_it_is ? TNB_INT : TNB_UINT, 8);
    k->right = TNB_DTYPE(TNB_INT, 8);
    k->group = 4;
    k->least = as_it_is ? 0 : lo;
    return true;
}

/* int16 in int32; bfloat16 in float32, which the result may be rounded from; float32 rounded to bfloat16
 * if the target asks for that. */
static bool
read_kind(tn_builder *b, const tn_call *call, const tn_target *target, kind *k)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    *k = (kind){.left = tn_type_dtype(call->args.at[0]->type), .group = 2};
    k->right = k->left;
    k->result = tn_type_dtype(call->base.type);
    if (!tnb_dtype_eq(tn_type_dtype(call->args.at[1]->type), k->left))
        return false;
    if (tnb_dtype_eq(k->left, TNB_DTYPE(TNB_INT, 16))) {
        k->sum = TNB_I32;
        if (!tnb_dtype_eq(k->result, TNB_I32))
            return false;
        (void)read_bytes(b, call, target, k);
        return true;
    }
    if (tnb_dtype_eq(k->left, TNB_F32) && target && tn_dict_int(target->attrs, "bfloat16", 0))
        k->left = k->right = TNB_BF16;
    k->sum = TNB_F32;
    return tnb_dtype_eq(k->left, TNB_BF16) &&
           (tnb_dtype_eq(k->result, TNB_F32) || tnb_dtype_eq(k->result, TNB_BF16)) &&
           cpu_has_feature(ctx, target, "avx512bf16");
}

/* The left operand in the products' type. */
static const tn_expr *
left_of(tn_builder *b, const tn_call *call, const kind *k)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0];
    if (tnb_dtype_eq(tn_type_dtype(x->type), k->left))
        return x;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "x", x->type);
    tnk_stage *s = tnk_te_stage_like(te, "narrow", in, k->left);
    const tn_expr *v = tnk_te_read_at(te, in, s->axes, s->n_axes);
    if (k->least)
        v = tn_sub(ctx, v, tn_int_imm_of(ctx, tn_dtype_of(v), k->least));
    const tn_node *out = tnk_te_define(s, tn_cast_to(ctx, k->left, v));
    return tn_emit(b, tnk_te_call(te, b, "narrow", &x, 1, &out, 1), "narrow");
}

static const tn_expr *
product(tn_ctx *ctx, const kind *k, const tn_expr *a, const tn_expr *b)
{
    return tn_mul(ctx, tn_cast_to(ctx, k->sum, a), tn_cast_to(ctx, k->sum, b));
}

/* What stands for 0 in the left operand. */
static const tn_expr *
zero(tn_ctx *ctx, const kind *k)
{
    return tn_cast_to(ctx, k->left, tn_int_imm_of(ctx, TNB_I32, -k->least));
}

/* The part of sums of bytes that the weights alone make: least * the sum of w over all dimensions but
 * `kept`. */
static const tn_expr *
sums_of_weights(tn_builder *b, const tn_expr *w, const kind *k, const uint32_t *kept, uint32_t n)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "w", w->type);
    const tn_list shape = tn_as_buffer(in)->shape;
    const tn_expr *dims[MAX_RANK], *at[MAX_RANK] = {NULL};
    for (uint32_t i = 0; i < n; i++)
        dims[i] = shape.at[kept[i]];
    tnk_stage *s = tnk_te_stage(te, "of_weights", dims, n, TNB_I32);
    for (uint32_t i = 0; i < n; i++)
        at[kept[i]] = s->axes[i];
    for (uint32_t i = 0; i < shape.n; i++)
        if (!at[i])
            at[i] = tnk_te_reduce_axis(s, "r", shape.at[i]);
    const tn_expr *v = tn_cast_to(ctx, TNB_I32, tnk_te_read_at(te, in, at, shape.n));
    const tn_node *out = tnk_te_sum(s, tn_mul(ctx, v, tn_int_imm_of(ctx, TNB_I32, k->least)));
    return tn_emit(b, tnk_te_call(te, b, "of_weights", &w, 1, &out, 1), "of_weights");
}

/* What a function of sums is made of. */
typedef struct parts {
    tnk_te *te;
    const tn_expr *operands[3]; /* the last one: sums_of_weights, NULL: none */
    const tn_node *x, *w, *of_weights;
    uint32_t dims[MAX_RANK], n; /* of the result, for each dimension of of_weights */
} parts;

static void
begin(parts *p, tn_ctx *ctx)
{
    p->te = tnk_te_new(ctx);
    p->x = tnk_te_input(p->te, "x", p->operands[0]->type);
    p->w = tnk_te_input(p->te, "w", p->operands[1]->type);
    p->of_weights = p->operands[2] ? tnk_te_input(p->te, "of_weights", p->operands[2]->type) : NULL;
}

/* The sums, with the weights' part, or rounded if the result is. */
static const tn_expr *
finish(parts *p, tn_builder *b, const kind *k, const char *name, const tn_node *sums)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *at[MAX_RANK];
    if (p->of_weights) {
        tnk_stage *s = tnk_te_stage_like(p->te, "whole", sums, k->result);
        const tn_expr *v = tnk_te_read_at(p->te, sums, s->axes, s->n_axes);
        for (uint32_t i = 0; i < p->n; i++)
            at[i] = tn_is_int_const(tn_as_buffer(p->of_weights)->shape.at[i], 1)
                        ? tn_i64(ctx, 0)
                        : s->axes[p->dims[i]];
        sums = tnk_te_define(s, tn_add(ctx, v, tnk_te_read_at(p->te, p->of_weights, at, p->n)));
    } else if (!tnb_dtype_eq(k->sum, k->result)) {
        tnk_stage *s = tnk_te_stage_like(p->te, "T_cast", sums, k->result);
        const tn_expr *v = tnk_te_read_at(p->te, sums, s->axes, s->n_axes);
        sums = tnk_te_define(s, tn_cast_to(ctx, k->result, v));
    }
    return tnk_te_call(p->te, b, name, p->operands, p->of_weights ? 3 : 2, &sums, 1);
}

/* ---- convolutions ---- */

typedef struct conv {
    kind kind;
    tn_list x, k, out; /* extents, in blocks */
    int64_t in_block, out_block;
    int64_t stride[2], pad[4], dilation[2];
} conv;

/* The attributes and extents. */
static bool
read_window(const tn_call *call, conv *c)
{
    return tn_call_ints(call, "strides", c->stride, 2) == 2 &&
           tn_call_ints(call, "padding", c->pad, 4) == 4 &&
           tn_call_ints(call, "dilation", c->dilation, 2) == 2 &&
           tn_type_dims(call->args.at[0]->type, &c->x) &&
           tn_type_dims(call->args.at[1]->type, &c->k) && tn_type_dims(call->base.type, &c->out);
}

/* Where element o of the result meets element r of the window, in dimension i. */
static const tn_expr *
in_window(tn_ctx *ctx, const conv *c, int i, const tn_expr *o, const tn_expr *r)
{
    return tn_add(ctx, tn_muli(ctx, o, c->stride[i]), tn_muli(ctx, r, c->dilation[i]));
}

/* The places in x, of `shape` with height and width from 2 on, of the padded data's two axes; `inside` and that they are in x. */
static const tn_expr *
unpadded(tn_ctx *ctx, const conv *c, const tn_expr *const *axes, const tn_list shape,
         const tn_expr *inside, const tn_expr **at)
{
    for (int i = 0; i < 2; i++) {
        const tn_expr *before = tn_i64(ctx, c->pad[i]);
        const tn_expr *low = tn_le(ctx, before, axes[i]),
                      *high = tn_lt(ctx, axes[i], tn_add(ctx, shape.at[2 + i], before));
        if (c->pad[i])
            inside = inside ? tn_and(ctx, inside, low) : low;
        if (c->pad[2 + i])
            inside = inside ? tn_and(ctx, inside, high) : high;
        at[i] = c->pad[i] ? tn_sub(ctx, axes[i], before) : axes[i];
    }
    return inside;
}

/* The parts of a function whose weights `pack` lays out; their last dimension and their first are output channels. */
static parts
conv_parts(tn_builder *b, const tn_call *call, const conv *c,
           const tn_expr *(*pack)(tn_builder *, const tn_expr *, const conv *))
{
    const tn_expr *w = call->args.at[1];
    const uint32_t channels[2] = {0, c->k.n - 1};
    parts p = {.operands = {left_of(b, call, &c->kind)}, .dims = {1, 4}, .n = 2};
    p.operands[1] = pack(b, w, c);
    if (c->kind.least)
        p.operands[2] = sums_of_weights(b, w, &c->kind, channels, 2);
    begin(&p, tn_builder_ctx(b));
    return p;
}

/* NCHW[b]c, OIHW[b]i[o]o and NCHW[o]c. */
static bool
read_conv(const tn_call *call, conv *c)
{
    tnk_layout x, k, out;
    if (!tnk_layout_parse(tn_call_str(call, "data_layout"), &x) ||
        !tnk_layout_parse(tn_call_str(call, "kernel_layout"), &k) ||
        !tnk_layout_parse(tn_call_str(call, "out_layout"), &out) || x.n != 5 || k.n != 6 ||
        out.n != 5 || strncmp(x.axis, "NCHWc", 5) || strncmp(k.axis, "OIHWio", 6) ||
        strncmp(out.axis, "NCHWc", 5))
        return false;
    c->in_block = x.factor[4];
    c->out_block = out.factor[4];
    return tn_call_int(call, "groups") == 1 && k.factor[4] == c->in_block &&
           k.factor[5] == c->out_block && c->in_block % c->kind.group == 0 && read_window(call, c);
}

/* OIHW[b]i[o]o to [O, I, H, W, b / 2, o, 2]. */
static const tn_expr *
pack_kernel(tn_builder *b, const tn_expr *w, const conv *c)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "w", w->type);
    const tn_expr *dims[7] = {c->k.at[0],
                              c->k.at[1],
                              c->k.at[2],
                              c->k.at[3],
                              tn_i64(ctx, c->in_block / c->kind.group),
                              c->k.at[5],
                              tn_i64(ctx, c->kind.group)};
    tnk_stage *s = tnk_te_stage(te, "pairs", dims, 7, c->kind.right);
    const tn_expr *at[6] = {s->axes[0],
                            s->axes[1],
                            s->axes[2],
                            s->axes[3],
                            tn_add(ctx, tn_muli(ctx, s->axes[4], c->kind.group), s->axes[6]),
                            s->axes[5]};
    const tn_node *out =
        tnk_te_define(s, tn_cast_to(ctx, c->kind.right, tnk_te_read_at(te, in, at, 6)));
    return tn_emit(b, tnk_te_call(te, b, "pairs", &w, 1, &out, 1), "pairs");
}

/* An element of the data. Of int16 float32 is made by way of int32, as the processor does it. */
static const tn_expr *
to_left(tn_ctx *ctx, const kind *k, const tn_expr *v)
{
    if (tnb_dtype_eq(k->left, TNB_F32))
        v = tn_cast_to(ctx, TNB_I32, v);
    return tn_cast_to(ctx, k->left, v);
}

/* The data with zeros around. */
static const tn_node *
pad(tnk_te *te, const tn_node *x, const conv *c)
{
    tn_ctx *ctx = tnk_te_ctx(te);
    const tn_list shape = tn_as_buffer(x)->shape;
    const tn_expr *dims[5], *at[5];
    if (!c->pad[0] && !c->pad[1] && !c->pad[2] && !c->pad[3])
        return x;
    memcpy(dims, shape.at, sizeof dims);
    for (int i = 0; i < 2; i++)
        dims[2 + i] = tn_addi(ctx, dims[2 + i], c->pad[i] + c->pad[2 + i]);
    tnk_stage *s = tnk_te_stage(te, "pad_temp", dims, 5, c->kind.left);
    memcpy(at, s->axes, sizeof at);
    const tn_expr *inside = unpadded(ctx, c, s->axes + 2, shape, NULL, at + 2);
    const tn_expr *v = to_left(ctx, &c->kind, tnk_te_read_at(te, x, at, 5));
    return tnk_te_define(s, tn_if_then_else(ctx, inside, v, zero(ctx, &c->kind)));
}

static const tn_expr *
legalize_conv(tn_builder *b, const tn_call *call, const tn_target *target)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    conv c;
    if (!read_kind(b, call, target, &c.kind) || !read_conv(call, &c))
        return NULL;
    parts p = conv_parts(b, call, &c, pack_kernel);
    const tn_node *padded = pad(p.te, p.x, &c);
    tnk_stage *s = tnk_te_stage(p.te, "conv2d_pairs", c.out.at, 5, c.kind.sum);
    const tn_expr *const *o = s->axes;
    const tn_expr *rc = tnk_te_reduce_axis(s, "rco", c.k.at[1]),
                  *ry = tnk_te_reduce_axis(s, "ry", c.k.at[2]),
                  *rx = tnk_te_reduce_axis(s, "rx", c.k.at[3]),
                  *ri = tnk_te_reduce_axis(s, "rci", tn_i64(ctx, c.in_block / c.kind.group)),
                  *rp = tnk_te_reduce_axis(s, "rp", tn_i64(ctx, c.kind.group));
    const tn_expr *at[5] = {o[0], rc, in_window(ctx, &c, 0, o[2], ry),
                            in_window(ctx, &c, 1, o[3], rx),
                            tn_add(ctx, tn_muli(ctx, ri, c.kind.group), rp)};
    const tn_expr *wat[7] = {o[1], rc, ry, rx, ri, o[4], rp};
    const tn_node *out = tnk_te_sum(s, product(ctx, &c.kind, tnk_te_read_at(p.te, padded, at, 5),
                                               tnk_te_read_at(p.te, p.w, wat, 7)));
    return finish(&p, b, &c.kind, "conv2d_pairs", out);
}

/* ---- convolutions of few channels, an image's colours ---- */

/* NCHW, OIHW[o]o and NCHW[o]c. */
static bool
read_first(const tn_call *call, conv *c)
{
    tnk_layout k, out;
    int64_t taken;
    if (strcmp(tn_call_str(call, "data_layout"), "NCHW") != 0 ||
        !tnk_layout_parse(tn_call_str(call, "kernel_layout"), &k) ||
        !tnk_layout_parse(tn_call_str(call, "out_layout"), &out) || k.n != 5 || out.n != 5 ||
        strncmp(k.axis, "OIHWo", 5) || strncmp(out.axis, "NCHWc", 5) ||
        k.factor[4] != out.factor[4] || tn_call_int(call, "groups") != 1 || !read_window(call, c) ||
        !tn_int_value(c->k.at[1], &taken))
        return false;
    c->in_block = (taken + c->kind.group - 1) / c->kind.group * c->kind.group;
    c->out_block = out.factor[4];
    return true;
}

/* OIHW[o]o to [O, H, W, pairs of I, o, 2]; what is missing to a pair is zero. */
static const tn_expr *
pack_first_kernel(tn_builder *b, const tn_expr *w, const conv *c)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "w", w->type);
    const tn_expr *dims[6] = {c->k.at[0], c->k.at[2],
                              c->k.at[3], tn_i64(ctx, c->in_block / c->kind.group),
                              c->k.at[4], tn_i64(ctx, c->kind.group)};
    tnk_stage *s = tnk_te_stage(te, "pairs", dims, 6, c->kind.right);
    const tn_expr *i = tn_add(ctx, tn_muli(ctx, s->axes[3], c->kind.group), s->axes[5]);
    const tn_expr *at[5] = {s->axes[0], i, s->axes[1], s->axes[2], s->axes[4]};
    const tn_expr *v =
        tn_if_then_else(ctx, tn_lt(ctx, i, c->k.at[1]),
                        tn_cast_to(ctx, c->kind.right, tnk_te_read_at(te, in, at, 5)),
                        tn_cast_to(ctx, c->kind.right, tn_int_imm_of(ctx, TNB_I32, 0)));
    const tn_node *out = tnk_te_define(s, v);
    return tn_emit(b, tnk_te_call(te, b, "pairs", &w, 1, &out, 1), "pairs");
}

/* NCHW to [N, H, W, C] with zeros around, in space and behind the channels. */
static const tn_node *
pad_first(tnk_te *te, const tn_node *x, const conv *c)
{
    tn_ctx *ctx = tnk_te_ctx(te);
    const tn_list shape = tn_as_buffer(x)->shape;
    const tn_expr *dims[4] = {shape.at[0], tn_addi(ctx, shape.at[2], c->pad[0] + c->pad[2]),
                              tn_addi(ctx, shape.at[3], c->pad[1] + c->pad[3]),
                              tn_i64(ctx, c->in_block)};
    tnk_stage *s = tnk_te_stage(te, "pad_temp", dims, 4, c->kind.left);
    const tn_expr *inside = tn_lt(ctx, s->axes[3], shape.at[1]), *at[4] = {s->axes[0], s->axes[3]};
    inside = unpadded(ctx, c, s->axes + 1, shape, inside, at + 2);
    return tnk_te_define(s, tn_if_then_else(ctx, inside, tnk_te_read_at(te, x, at, 4),
                                            zero(ctx, &c->kind)));
}

static const tn_expr *
legalize_first(tn_builder *b, const tn_call *call, const tn_target *target)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    conv c;
    if (!read_kind(b, call, target, &c.kind) || !read_first(call, &c))
        return NULL;
    parts p = conv_parts(b, call, &c, pack_first_kernel);
    const tn_node *padded = pad_first(p.te, p.x, &c);
    tnk_stage *s = tnk_te_stage(p.te, "conv2d_pairs", c.out.at, 5, c.kind.sum);
    const tn_expr *const *o = s->axes;
    const tn_expr *ry = tnk_te_reduce_axis(s, "ry", c.k.at[2]),
                  *rx = tnk_te_reduce_axis(s, "rx", c.k.at[3]),
                  *ri = tnk_te_reduce_axis(s, "rci", tn_i64(ctx, c.in_block / c.kind.group)),
                  *rp = tnk_te_reduce_axis(s, "rp", tn_i64(ctx, c.kind.group));
    const tn_expr *at[4] = {o[0], in_window(ctx, &c, 0, o[2], ry), in_window(ctx, &c, 1, o[3], rx),
                            tn_add(ctx, tn_muli(ctx, ri, c.kind.group), rp)};
    const tn_expr *wat[6] = {o[1], ry, rx, ri, o[4], rp};
    const tn_node *out = tnk_te_sum(s, product(ctx, &c.kind, tnk_te_read_at(p.te, padded, at, 4),
                                               tnk_te_read_at(p.te, p.w, wat, 6)));
    return finish(&p, b, &c.kind, "conv2d_pairs", out);
}

/* ---- channels on their own ---- */

enum { EXACT = 1 << 22 }; /* float32 has all integers below; so has its sum with three times that */

/* An integer below EXACT as int32: the bits of its sum with a number that leaves it the last ones. A
 * conversion has to mind what does not fit, which takes longer. */
static const tn_expr *
exact_integer(tn_ctx *ctx, const tn_expr *v)
{
    const int32_t bits = 0x4b400000; /* of 3 * EXACT */
    const tn_expr *moved = tn_add(ctx, v, tn_float_imm_of(ctx, TNB_F32, 3.0 * EXACT));
    const tn_expr *whole = tn_scalar_call(ctx, TNB_I32,
                                          tn_op_ref_of(ctx, tn_find_op(tn_ctx_registry(ctx),
                                                                       "tirx.reinterpret", NULL)),
                                          tn_list_of(ctx, &moved, 1), NULL);
    return tn_sub(ctx, whole, tn_int_imm_of(ctx, TNB_I32, bits));
}

/* NCHW[b]c and OIHW[b]o, a kernel a channel; the sums are integers that float32 has exactly. */
static bool
read_depthwise(tn_builder *b, const tn_call *call, conv *c)
{
    tnk_layout x, k, out;
    int64_t groups = tn_call_int(call, "groups"), rows, columns, lo, hi, wlo, whi;
    const tnb_dtype half = TNB_DTYPE(TNB_INT, 16);
    if (groups < 2 || !tnb_dtype_eq(tn_type_dtype(call->args.at[0]->type), half) ||
        !tnb_dtype_eq(tn_type_dtype(call->args.at[1]->type), half) ||
        !tnb_dtype_eq(tn_type_dtype(call->base.type), TNB_I32) ||
        !tnk_layout_parse(tn_call_str(call, "data_layout"), &x) ||
        !tnk_layout_parse(tn_call_str(call, "kernel_layout"), &k) ||
        !tnk_layout_parse(tn_call_str(call, "out_layout"), &out) || x.n != 5 || k.n != 5 ||
        out.n != 5 || strncmp(x.axis, "NCHWc", 5) || strncmp(k.axis, "OIHWo", 5) ||
        strncmp(out.axis, "NCHWc", 5) || x.factor[4] != out.factor[4] ||
        k.factor[4] != out.factor[4] || !read_window(call, c) || !tn_is_int_const(c->k.at[1], 1) ||
        !tn_is_int_const(c->x.at[1], groups / x.factor[4]) ||
        !tn_is_int_const(c->k.at[0], groups / x.factor[4]) || groups % x.factor[4] ||
        !tn_int_value(c->k.at[2], &rows) || !tn_int_value(c->k.at[3], &columns) ||
        !cpu_value_range(b, call->args.at[0], &lo, &hi) ||
        !cpu_value_range(b, call->args.at[1], &wlo, &whi))
        return false;
    int64_t most = -lo > hi ? -lo : hi, heaviest = -wlo > whi ? -wlo : whi;
    c->kind = (kind){TNB_F32, TNB_F32, TNB_F32, TNB_I32, .group = 1};
    return rows < 1 << 10 && columns < 1 << 10 && most * heaviest * rows * columns < EXACT;
}

static const tn_expr *
legalize_depthwise(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    conv c;
    if (!read_depthwise(b, call, &c))
        return NULL;
    tnk_te *kernel = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(kernel, "w", call->args.at[1]->type);
    tnk_stage *f = tnk_te_stage_like(kernel, "floats", in, TNB_F32);
    const tn_node *floats =
        tnk_te_define(f, tn_cast_to(ctx, TNB_F32, tnk_te_read_at(kernel, in, f->axes, 5)));
    parts p = {.operands = {call->args.at[0]}};
    p.operands[1] =
        tn_emit(b, tnk_te_call(kernel, b, "floats", &call->args.at[1], 1, &floats, 1), "floats");
    begin(&p, ctx);
    const tn_node *padded = pad(p.te, p.x, &c);
    tnk_stage *s = tnk_te_stage(p.te, "depthwise_exact", c.out.at, 5, TNB_F32);
    const tn_expr *const *o = s->axes;
    const tn_expr *ry = tnk_te_reduce_axis(s, "ry", c.k.at[2]),
                  *rx = tnk_te_reduce_axis(s, "rx", c.k.at[3]);
    const tn_expr *at[5] = {o[0], o[1], in_window(ctx, &c, 0, o[2], ry),
                            in_window(ctx, &c, 1, o[3], rx), o[4]};
    const tn_expr *wat[5] = {o[1], tn_i64(ctx, 0), ry, rx, o[4]};
    const tn_node *out = tnk_te_sum(s, product(ctx, &c.kind, tnk_te_read_at(p.te, padded, at, 5),
                                               tnk_te_read_at(p.te, p.w, wat, 5)));
    tnk_stage *last = tnk_te_stage_like(p.te, "whole", out, TNB_I32);
    out = tnk_te_define(last,
                        exact_integer(ctx, tnk_te_read_at(p.te, out, last->axes, last->n_axes)));
    return tnk_te_call(p.te, b, "depthwise_exact", p.operands, 2, &out, 1);
}

/* ---- matrix products ---- */

typedef struct matrices {
    kind kind;
    tn_list x, w, out;   /* extents */
    int64_t k, n, lanes; /* of the sum, of the columns, of a vector */
} matrices;

/* The extents, where the right operand can lie in pairs: it is constant, or packed as the function runs,
 * for several rows. */
static bool
read_matrices(tn_builder *b, const tn_call *call, const tn_target *target, matrices *m)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *const *args = call->args.at;
    int64_t rows;
    m->lanes = cpu_vector_bytes(ctx, target) / 4;
    if (!read_kind(b, call, target, &m->kind) || !tn_type_dims(args[0]->type, &m->x) ||
        !tn_type_dims(args[1]->type, &m->w) || !tn_type_dims(call->base.type, &m->out) ||
        m->x.n < 2 || m->w.n < 2 || m->out.n > MAX_RANK ||
        !tn_int_value(m->w.at[m->w.n - 2], &m->k) || !tn_int_value(m->w.at[m->w.n - 1], &m->n) ||
        m->k % m->kind.group || m->k < 4)
        return false;
    while (m->lanes > 4 && m->n % m->lanes)
        m->lanes /= 2;
    if (m->n % m->lanes)
        return false;
    return cpu_is_constant(b, args[1]) ||
           (tn_int_value(m->x.at[m->x.n - 2], &rows) && rows >= LEAST_ROWS);
}

/* (.., K, N) to [.., N / lanes, K / 2, lanes, 2]. */
static const tn_expr *
pack_matrix(tn_builder *b, const tn_expr *w, const matrices *m)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "w", w->type);
    const tn_expr *dims[MAX_RANK + 2], *at[MAX_RANK];
    uint32_t batch = m->w.n - 2;
    memcpy(dims, m->w.at, batch * sizeof *dims);
    dims[batch] = tn_i64(ctx, m->n / m->lanes);
    dims[batch + 1] = tn_i64(ctx, m->k / m->kind.group);
    dims[batch + 2] = tn_i64(ctx, m->lanes);
    dims[batch + 3] = tn_i64(ctx, m->kind.group);
    tnk_stage *s = tnk_te_stage(te, "pairs", dims, batch + 4, m->kind.right);
    const tn_expr *const *a = s->axes + batch;
    memcpy(at, s->axes, batch * sizeof *at);
    at[batch] = tn_add(ctx, tn_muli(ctx, a[1], m->kind.group), a[3]);
    at[batch + 1] = tn_add(ctx, tn_muli(ctx, a[0], m->lanes), a[2]);
    const tn_node *out =
        tnk_te_define(s, tn_cast_to(ctx, m->kind.right, tnk_te_read_at(te, in, at, batch + 2)));
    return tn_emit(b, tnk_te_call(te, b, "pairs", &w, 1, &out, 1), "pairs");
}

/* The indices of an operand's batch for the result's axes. */
static void
batch_of(const tnk_stage *s, const tn_list shape, const tn_expr **at)
{
    for (uint32_t i = 0; i + 2 < shape.n; i++)
        at[i] = tn_is_int_const(shape.at[i], 1) ? tn_int_imm_of(tnk_te_ctx(s->te), TNB_I64, 0)
                                                : s->axes[s->n_axes - shape.n + i];
}

static const tn_expr *
legalize_matmul(tn_builder *b, const tn_call *call, const tn_target *target)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *const *args = call->args.at;
    matrices m;
    if (!read_matrices(b, call, target, &m))
        return NULL;
    parts p = {.operands = {left_of(b, call, &m.kind), pack_matrix(b, args[1], &m)}};
    uint32_t batch = m.w.n - 2, columns[MAX_RANK];
    for (uint32_t i = 0; i <= batch; i++) {
        columns[i] = i < batch ? i : i + 1;
        p.dims[i] = m.out.n - m.w.n + columns[i];
    }
    p.n = batch + 1;
    if (m.kind.least)
        p.operands[2] = sums_of_weights(b, args[1], &m.kind, columns, p.n);
    const tn_expr *at[MAX_RANK], *wat[MAX_RANK + 2];
    begin(&p, ctx);
    tnk_te *te = p.te;
    const tn_node *x = p.x, *w = p.w;
    tnk_stage *s = tnk_te_stage(te, "matmul_pairs", m.out.at, m.out.n, m.kind.sum);
    const tn_expr *r = tnk_te_reduce_axis(s, "rk", tn_i64(ctx, m.k / m.kind.group)),
                  *rp = tnk_te_reduce_axis(s, "rp", tn_i64(ctx, m.kind.group)),
                  *j = s->axes[m.out.n - 1];
    batch_of(s, m.x, at);
    at[m.x.n - 2] = s->axes[m.out.n - 2];
    at[m.x.n - 1] = tn_add(ctx, tn_muli(ctx, r, m.kind.group), rp);
    batch_of(s, m.w, wat);
    wat[batch] = tn_floordivi(ctx, j, m.lanes);
    wat[batch + 1] = r;
    wat[batch + 2] = tn_floormodi(ctx, j, m.lanes);
    wat[batch + 3] = rp;
    const tn_node *out = tnk_te_sum(s, product(ctx, &m.kind, tnk_te_read_at(te, x, at, m.x.n),
                                               tnk_te_read_at(te, w, wat, batch + 4)));
    return finish(&p, b, &m.kind, "matmul_pairs", out);
}

const tn_expr *
cpu_legalize_dot(tn_builder *b, const tn_call *call, const tn_target *target)
{
    if (tn_is_call_to(TN_NODE(call), "relax.matmul"))
        return legalize_matmul(b, call, target);
    const tn_expr *e = legalize_conv(b, call, target);
    e = e ? e : legalize_first(b, call, target);
    return e ? e : legalize_depthwise(b, call);
}
