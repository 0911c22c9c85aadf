/* SPDX-License-Identifier: Apache-2.0 */
/* CLMLDispatch: gives the operators that Qualcomm's OpenCL ML extension has to it, for targets with
 * `clml` among their keys or libs; others stay as they are.
 *
 *     lv = R.nn.conv2d(x, w)         lv2 = R.call_dps_packed("fused_..._clml", (x, w, b), out_ty=..)
 *     lv1 = R.add(lv, b)        =>   (with the function's meaning beside it, and in the module's
 *     lv2 = R.nn.relu(lv1)           attribute external_mods what clml_rt.c needs to run it)
 *
 * Which operators: the patterns below; of what shapes: their checks. What only looks alike is left to the
 * rest of the pipeline: grouped convolutions that are not depthwise, a clip that is not relu6 behind
 * a convolution (it becomes an operation of its own), operands that have to be broadcast, symbolic
 * shapes. Neighbours that both go become one function, so that nothing leaves the extension's
 * layout between them; what such a function saves has to be worth the copies around it (clml_cost.c).
 *
 * Products with a matrix of 4-bit numbers that a tensor program unpacks (clml_quant.c) go too, each
 * as a function of its own that works in the memory of its arguments, any number of rows: the
 * language models' share. They need version 5 of the extension, and so have a code generator and
 * patterns called clml5, for which option version=4 (or 3) leaves them alone.
 */
#include "clml.h"

#include <string.h>

#include "tenon/core/pass.h"

int
clml_extents(const tn_type *t, int64_t out[4])
{
    tn_list dims;
    if (!tn_type_dims(t, &dims) || dims.n > 4)
        return -1;
    for (uint32_t i = 0; i < 4; i++) {
        out[i] = 1;
        if (i < dims.n && (!tn_int_value(dims.at[i], &out[i]) || out[i] < 1 || out[i] > INT32_MAX))
            return -1;
    }
    return (int)dims.n;
}

bool
clml_number(const tn_node *n, double *out)
{
    int64_t i;
    const tn_float_imm *f = tn_as_float_imm(n);
    if (f)
        *out = f->value;
    else if (n && tn_int_value(n, &i))
        *out = (double)i;
    else
        return false;
    return true;
}

/* ---- checks ---- */

static const tn_call *
called(const tnk_match *m, const char *name)
{
    return tn_as_call(tnk_match_value(m, name));
}

static const tn_type *
type_of(const tnk_match *m, const char *name)
{
    const tn_expr *e = tnk_match_get(m, name);
    return e ? e->type : NULL;
}

static bool
is_float(const tn_type *t)
{
    tnb_dtype d = tn_type_dtype(t);
    return tnb_dtype_eq(d, TNB_F32) || tnb_dtype_eq(d, TNB_F16);
}

/* A constant with one value for each of `channels`, as it stands beside NCHW. */
static bool
is_per_channel(const tnk_match *m, const char *name, int64_t channels, tnb_dtype dtype)
{
    const tn_expr *e = tnk_match_get(m, name);
    int64_t d[4];
    if (!tn_is(e, TN_KIND_CONSTANT) || !tnb_dtype_eq(tn_type_dtype(e->type), dtype))
        return false;
    switch (clml_extents(e->type, d)) {
    case 1:
        return d[0] == channels && strcmp(name, "b") != 0;
    case 3:
        return d[0] == channels && d[1] == 1 && d[2] == 1;
    case 4:
        return d[0] == 1 && d[1] == channels && d[2] == 1 && d[3] == 1;
    default:
        return false;
    }
}

static bool
is_layout(const tn_call *c, const char *key, const char *want)
{
    const char *have = tn_call_str(c, key);
    return have && strcmp(have, want) == 0;
}

/* Zeros around the two last of four dimensions. */
static bool
is_plain_pad(const tn_call *c)
{
    int64_t w[8];
    if (!is_layout(c, "pad_mode", "constant") || tn_call_float(c, "pad_value") != 0 ||
        tn_call_ints(c, "pad_width", w, 8) != 8)
        return false;
    for (int i = 0; i < 8; i++)
        if (w[i] < 0 || (i < 4 && w[i] > 0))
            return false;
    return true;
}

static bool
is_batch_norm(const tnk_match *m, int64_t channels, tnb_dtype dtype)
{
    static const char *const names[] = {"gamma", "beta", "mean", "var"};
    const tn_call *bn = called(m, "bn");
    if (tn_call_int(bn, "axis") != 1 || tn_call_int(bn, "training") || !tn_call_int(bn, "center") ||
        !tn_call_int(bn, "scale"))
        return false;
    for (int i = 0; i < 4; i++)
        if (!is_per_channel(m, names[i], channels, dtype))
            return false;
    return true;
}

static bool
is_relu6(const tn_call *c)
{
    double low, high;
    return clml_number(c->args.at[1], &low) && clml_number(c->args.at[2], &high) && low == 0 &&
           high == 6;
}

static bool
is_clip(const tn_call *c)
{
    return tn_is_call_to(&c->base, "relax.clip");
}

static bool
check_convolution(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    const tn_call *conv = called(m, "conv"), *pad = called(m, "p"), *act = called(m, "act");
    const tn_expr *w = tnk_match_get(m, "w");
    bool transposed = tn_is_call_to(&conv->base, "relax.nn.conv2d_transpose");
    int64_t x[4], k[4], y[4], groups = tn_call_int(conv, "groups");
    tnb_dtype d = tn_type_dtype(conv->base.type);
    if (tnk_match_leaks(m) || !tn_is(w, TN_KIND_CONSTANT) || !is_float(conv->base.type) ||
        clml_extents(type_of(m, "x"), x) != 4 || clml_extents(w->type, k) != 4 ||
        clml_extents(conv->base.type, y) != 4 || !tnb_dtype_eq(tn_type_dtype(w->type), d) ||
        !tnb_dtype_eq(tn_type_dtype(type_of(m, "x")), d) ||
        !is_layout(conv, "data_layout", "NCHW") || !is_layout(conv, "out_layout", "NCHW") ||
        !is_layout(conv, "kernel_layout", transposed ? "IOHW" : "OIHW"))
        return false;
    if (groups != 1 && (transposed || groups != x[1] || groups != y[1] || k[1] != 1))
        return false;
    return (!pad || is_plain_pad(pad)) &&
           (!tnk_match_get(m, "b") || is_per_channel(m, "b", y[1], d)) &&
           (!called(m, "bn") || is_batch_norm(m, y[1], d)) &&
           (!act || !is_clip(act) || is_relu6(act));
}

static bool
check_batch_norm(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4];
    const tn_type *t = type_of(m, "x");
    return !tnk_match_leaks(m) && is_float(t) && clml_extents(t, x) == 4 &&
           is_batch_norm(m, x[1], tn_type_dtype(t));
}

static bool
check_pool(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4], y[4], pads[4], dilation[2];
    const tn_call *c = called(m, "pool");
    if (!is_float(c->base.type) || clml_extents(type_of(m, "x"), x) != 4 ||
        clml_extents(c->base.type, y) != 4 || !is_layout(c, "layout", "NCHW") ||
        !is_layout(c, "out_layout", "NCHW") || tn_call_ints(c, "padding", pads, 4) != 4 ||
        tn_call_ints(c, "dilation", dilation, 2) != 2)
        return false;
    bool padded = pads[0] || pads[1] || pads[2] || pads[3];
    bool average = tn_is_call_to(&c->base, "relax.nn.avg_pool2d");
    return dilation[0] == 1 && dilation[1] == 1 && !tn_call_int(c, "ceil_mode") &&
           !(average && padded && tn_call_int(c, "count_include_pad"));
}

/* A mean over all of H and W. */
static bool
check_global_pool(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4], y[4], axes[4];
    const tn_call *c = called(m, "pool");
    if (!is_float(c->base.type) || clml_extents(type_of(m, "x"), x) != 4 ||
        clml_extents(c->base.type, y) != 4 || y[2] != 1 || y[3] != 1)
        return false;
    if (!tn_is_call_to(&c->base, "relax.mean"))
        return is_layout(c, "layout", "NCHW") && is_layout(c, "out_layout", "NCHW");
    int n = tn_call_ints(c, "axis", axes, 4);
    return n == 2 && (axes[0] + 4) % 4 + (axes[1] + 4) % 4 == 5 && axes[0] % 4 != axes[1] % 4 &&
           (axes[0] + 4) % 4 >= 2 && (axes[1] + 4) % 4 >= 2;
}

/* A matrix times a constant one; a bias only where there is one row, as the extension adds it. */
static bool
check_dense(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4], w[4], b[4];
    const tn_call *c = called(m, "mm");
    const tn_expr *weight = tnk_match_get(m, "w"), *bias = tnk_match_get(m, "b");
    if (tnk_match_leaks(m) || !is_float(c->base.type) || !tn_is(weight, TN_KIND_CONSTANT) ||
        clml_extents(type_of(m, "x"), x) != 2 || clml_extents(weight->type, w) != 2 ||
        !tnb_dtype_eq(tn_type_dtype(weight->type), tn_type_dtype(c->base.type)) ||
        !tnb_dtype_eq(tn_type_dtype(type_of(m, "x")), tn_type_dtype(c->base.type)))
        return false;
    if (!bias)
        return true;
    int rank = clml_extents(bias->type, b);
    return tn_is(bias, TN_KIND_CONSTANT) && x[0] == 1 &&
           tnb_dtype_eq(tn_type_dtype(bias->type), tn_type_dtype(c->base.type)) &&
           ((rank == 1 && b[0] == w[1]) || (rank == 2 && b[0] == 1 && b[1] == w[1]));
}

/* Rows, one batch of any number, times a matrix that a program unpacks for this product alone. */
static bool
check_quantized(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)self;
    const tn_expr *mm = tnk_match_value(m, "mm"), *unpacked = tnk_match_value(m, "dq");
    const tn_prim_func *f = tnk_match_program(m, unpacked);
    const tn_type *x = type_of(m, "x");
    tn_list rows;
    int64_t k, matrix[4];
    return !tnk_match_leaks(m) && f && tnb_dtype_eq(tn_type_dtype(mm->type), TNB_F16) &&
           tnb_dtype_eq(tn_type_dtype(x), TNB_F16) && tn_type_dims(x, &rows) && rows.n == 3 &&
           tn_is_int_const(rows.at[0], 1) && tn_int_value(rows.at[2], &k) &&
           clml_extents(unpacked->type, matrix) == 2 && matrix[0] == k &&
           clml_is_quantized(ctx, f, k, matrix[1]);
}

/* One tensor in, one out, of known shapes. */
static bool
check_unary(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4], y[4];
    double bound;
    const tn_call *c = called(m, "op");
    if (!is_float(c->base.type) || clml_extents(type_of(m, "x"), x) < 1 ||
        clml_extents(c->base.type, y) < 1)
        return false;
    return !is_clip(c) ||
           (clml_number(c->args.at[1], &bound) && clml_number(c->args.at[2], &bound));
}

static bool
check_binary(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4], y[4];
    const tn_call *c = called(m, "op");
    return is_float(c->base.type) && clml_extents(c->args.at[0]->type, x) >= 1 &&
           clml_extents(c->args.at[0]->type, x) == clml_extents(c->args.at[1]->type, y) &&
           memcmp(x, y, sizeof x) == 0;
}

static bool
check_concat(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4];
    const tn_call *c = called(m, "op");
    const tn_tuple *t = tn_as_tuple(tnk_match_value(m, "all"));
    if (!t || !is_float(c->base.type) || !tn_call_attr(c, "axis") ||
        clml_extents(c->base.type, x) < 1)
        return false;
    for (uint32_t i = 0; i < t->fields.n; i++)
        if (clml_extents(t->fields.at[i]->type, x) < 1)
            return false;
    return true;
}

static bool
check_resize(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    int64_t x[4], y[4];
    const tn_call *c = called(m, "op");
    const char *place = tn_call_str(c, "coordinate_transformation_mode");
    return is_float(c->base.type) && clml_extents(type_of(m, "x"), x) == 4 &&
           clml_extents(c->base.type, y) == 4 && is_layout(c, "layout", "NCHW") &&
           is_layout(c, "method", "linear") && place &&
           (!strcmp(place, "half_pixel") || !strcmp(place, "align_corners") ||
            !strcmp(place, "asymmetric"));
}

/* ---- patterns: names in them are what the checks and clml_payload.c look for ---- */

/* Convolution, with padding before it, bias and batch normalization where there are; `last` says
 * what the match ends with. */
enum { PLAIN, BIAS, NORM, ACTIVATION };

static const tnk_pat *
either(tn_ctx *ctx, const tnk_pat *a, const tnk_pat *b)
{
    return tnk_pat_either(ctx, (const tnk_pat *[]){a, b}, 2);
}

static tnk_pat *
named(tn_ctx *ctx, const char *name)
{
    return tnk_pat_called(ctx, tnk_pat_any(ctx), name);
}

static const tnk_pat *
batch_norm_of(tn_ctx *ctx, const tnk_pat *x)
{
    const tnk_pat *args[] = {x, named(ctx, "gamma"), named(ctx, "beta"), named(ctx, "mean"),
                             named(ctx, "var")};
    return tnk_pat_item(ctx,
                        tnk_pat_called(ctx, tnk_pat_op(ctx, "nn.batch_norm", args, 5, false), "bn"),
                        0);
}

static const tnk_pat *
build_convolution(tn_ctx *ctx, void *self)
{
    const int last = *(const int *)self;
    const tnk_pat *x = named(ctx, "x"), *w = named(ctx, "w"), *b = named(ctx, "b"),
                  *pad = tnk_pat_called(ctx, tnk_pat_op(ctx, "nn.pad", &x, 1, false), "p");
    const tnk_pat *kinds[] = {tnk_pat_op(ctx, "nn.conv2d", (const tnk_pat *[]){pad, w}, 2, false),
                              tnk_pat_op(ctx, "nn.conv2d", (const tnk_pat *[]){x, w}, 2, false),
                              tnk_pat_op(ctx, "nn.conv2d_transpose", (const tnk_pat *[]){x, w}, 2,
                                         false)};
    const tnk_pat *conv = tnk_pat_called(ctx, tnk_pat_either(ctx, kinds, 3), "conv");
    if (last == PLAIN)
        return conv;
    const tnk_pat *sum = tnk_pat_op(ctx, "add", (const tnk_pat *[]){conv, b}, 2, false);
    if (last == BIAS)
        return sum;
    const tnk_pat *biased = either(ctx, sum, conv), *norm = batch_norm_of(ctx, biased);
    if (last == NORM)
        return norm;
    const tnk_pat *normed = either(ctx, norm, biased);
    const tnk_pat *clip[] = {normed, tnk_pat_any(ctx), tnk_pat_any(ctx)};
    const tnk_pat *acts[] = {tnk_pat_op(ctx, "nn.relu", &normed, 1, false),
                             tnk_pat_op(ctx, "clip", clip, 3, false)};
    return tnk_pat_called(ctx, tnk_pat_either(ctx, acts, 2), "act");
}

static const int plain = PLAIN, bias = BIAS, norm = NORM, activation = ACTIVATION;

const tnk_pat *
clml_pattern(tn_ctx *ctx, const tnk_fusion_pattern *p)
{
    return p->pattern ? tnk_pat_parse(ctx, p->pattern) : p->build(ctx, p->self);
}

#define CONVOLUTION(id, prio, last_, doc_)       \
    static const tnk_fusion_pattern id = {       \
        .base.size = sizeof(tnk_fusion_pattern), \
        .priority = prio,                        \
        .base.name = "clml." #id,                \
        .base.doc = doc_,                        \
        .build = build_convolution,              \
        .check = check_convolution,              \
        .self = (void *)(uintptr_t)&last_,       \
    };
#define PATTERN_OF(codegen, id, prio, text, check_, doc_) \
    static const tnk_fusion_pattern id = {                \
        .base.size = sizeof(tnk_fusion_pattern),          \
        .priority = prio,                                 \
        .base.name = codegen "." #id,                     \
        .base.doc = doc_,                                 \
        .pattern = text,                                  \
        .check = check_,                                  \
    };
#define PATTERN(id, prio, text, check_, doc_) PATTERN_OF("clml", id, prio, text, check_, doc_)

CONVOLUTION(conv2d_activation, 60, activation,
            "convolution with relu or relu6, bias and batch normalization if any")
CONVOLUTION(conv2d_batch_norm, 50, norm, "convolution with batch normalization, bias if any")
CONVOLUTION(conv2d_bias, 40, bias, "convolution with bias")
CONVOLUTION(conv2d, 30, plain, "convolution: plain, depthwise or transposed")
PATTERN(dense_bias, 40, "add(mm:matmul(x, w), b)", check_dense,
        "a row times a constant matrix, plus bias")
PATTERN(dense, 30, "mm:matmul(x, w)", check_dense, "a matrix times a constant one")
PATTERN(batch_norm, 20, "(bn:nn.batch_norm(x, gamma, beta, mean, var))[0]", check_batch_norm,
        "batch normalization by stored statistics")
PATTERN(pool, 20, "pool:(nn.max_pool2d(x) | nn.avg_pool2d(x))", check_pool,
        "maximum or average over windows")
PATTERN(global_pool, 20, "pool:(mean(x) | nn.adaptive_avg_pool2d(x))", check_global_pool,
        "average over all of H and W")
PATTERN(softmax, 20, "op:nn.softmax(x)", check_unary, "softmax along any axis")
PATTERN(relu, 10, "op:nn.relu(x)", check_unary, "relu")
PATTERN(clip, 10, "op:clip(x, *, *)", check_unary, "values kept within bounds")
PATTERN(reshape, 10, "op:(reshape(x, *) | nn.batch_flatten(x))", check_unary, "another shape")
PATTERN(binary, 10,
        "op:(add(*, *) | subtract(*, *) | multiply(*, *) | divide(*, *) | minimum(*, *) "
        "| maximum(*, *))",
        check_binary, "arithmetic of tensors of one shape")
PATTERN(concat, 10, "op:concat(all:((*, *) | (*, *, *) | (*, *, *, *)))", check_concat,
        "two to four tensors joined along an axis")
PATTERN_OF("clml5", quantized, 30, "mm:matmul(x, dq:call_tir(\"*\", w, s))", check_quantized,
           "a product with a matrix of 4-bit numbers")
PATTERN(resize, 20, "op:image.resize2d(x, *)", check_resize, "bilinear resize")

const tnk_fusion_pattern *const clml_patterns[CLML_N_PATTERNS] = {
    &conv2d_activation,
    &conv2d_batch_norm,
    &conv2d_bias,
    &dense_bias,
    &conv2d,
    &dense,
    &batch_norm,
    &pool,
    &global_pool,
    &softmax,
    &resize,
    &relu,
    &clip,
    &reshape,
    &binary,
    &concat,
    &quantized,
};

/* ---- the pass ---- */

static bool
has_word(const tn_node *list, const char *word)
{
    const tn_array *a = tn_as_array(list);
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        if (s && strcmp(s->value, word) == 0)
            return true;
    }
    return false;
}

static bool
wants_clml(const tn_target *t)
{
    return t && (has_word(tn_dict_get(t->attrs, "keys"), "clml") ||
                 has_word(tn_dict_get(t->attrs, "libs"), "clml"));
}

static const tn_module *
passes(const tn_pass_ctx *pc, const tn_module *m, const char *list)
{
    tn_pass_list l = {0};
    if (!m || !tn_pass_list_parse(pc->ctx, list, "CLMLDispatch", &l))
        return NULL;
    tn_pass_run r = {.target = pc->target, .config = pc->config, .opt_level = pc->opt_level};
    return tn_run_passes(pc->ctx, m, &l, &r);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    if (!wants_clml(pc->target))
        return m;
    bool allowed = tn_option_int(pc, "version") >= 5;
    if (allowed)
        m = passes(pc, m,
                   "FuseOpsByPattern{patterns=[\"clml5.*\"], bind_constants=false, "
                   "annotate_codegen=true}");
    clml_tell_left(pc->ctx, m, allowed);
    m = passes(pc, m,
               "FuseOpsByPattern{patterns=[\"clml.*\"], bind_constants=false}, "
               "MergeCompositeFunctions");
    const tn_module *kept = m ? clml_drop_cheap(pc->ctx, m, tn_option_int(pc, "min_work")) : NULL;
    return passes(pc, kept, kept == m ? "RunCodegen" : "CanonicalizeBindings, RunCodegen");
}

static const tn_attr_schema options[] = {
    {"min_work", TN_ATTR_INT, 0, "4",
     "operations of convolutions, products, pooling, normalization and resizing that a group must "
     "have for each element copied into it or out of it; groups with fewer stay kernels; 0: all "
     "go"},
    {"version", TN_ATTR_INT, 0, "5",
     "the oldest interface of the extension that the result has to run with, 3 to 5; products with "
     "4-bit matrices need 5"},
    {0}};

const tn_pass clml_dispatch = {
    .base.size = sizeof(tn_pass),
    .base.name = "CLMLDispatch",
    .base.doc =
        "give operators to Qualcomm's OpenCL ML extension, for targets with the key or library "
        "clml",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op pattern external pass",
};
