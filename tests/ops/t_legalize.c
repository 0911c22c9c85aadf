/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator becomes tensor programs that pass the verifier; where the interpreter is at hand
 * they also run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tops.h"

#include "tenon/core/text.h"

#define F32(...) tops_const(t, TNB_F32, NULL, SHAPE(__VA_ARGS__))
#define F16(...) tops_const(t, TNB_F16, NULL, SHAPE(__VA_ARGS__))
#define POS(...) tops_const(t, TNB_F32, positive, SHAPE(__VA_ARGS__))
#define INT64(...) tops_const(t, TNB_I64, zeros_ones, SHAPE(__VA_ARGS__))
#define BOOLS(...) tops_const(t, TNB_B8, zeros_ones, SHAPE(__VA_ARGS__))
#define ATTRS(...) tn_dictv(t->ctx, __VA_ARGS__, NULL)
#define INTS(...) \
    tn_int_array(t->ctx, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)
#define INT(v) tn_i64(t->ctx, v)
#define FLT(v) tn_float_imm_of(t->ctx, TNB_F32, v)
#define STR(v) tn_string(t->ctx, v)
#define TUPLE(...) tn_tuple_of(t->ctx, tn_listv(t->ctx, __VA_ARGS__, NULL))
#define DIMS(...) tn_shape_expr_of(t->ctx, tn_listv(t->ctx, __VA_ARGS__, NULL))
#define CASE(op, attrs, ...)                              \
    check(t, op, attrs, (const tn_expr *[]){__VA_ARGS__}, \
          sizeof((const tn_expr *[]){__VA_ARGS__}) / sizeof(void *))

static double positive[512], zeros_ones[512];
static int failures, symbolic_extents;

/* ---- the same calls, of symbolic shapes ---- */

/* An operand like `arg` with symbols for those of its extents that are chosen: the count-th extent met, counting on
 * over the call's tensors. In `shared`, equal extents have one symbol, else each has its own. */
typedef struct symbols {
    bool chosen[64];
    uint32_t count;
    bool shared;
    const tn_expr *of_extent[64];
} symbols;

static const tn_expr *
symbolic(tops *t, const tn_expr *arg, symbols *s)
{
    const tn_tuple *tuple = tn_as_tuple(arg);
    tn_list fields = {0}, dims;
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        fields = tn_list_append(t->ctx, fields, symbolic(t, tuple->fields.at[i], s));
    if (tuple)
        return tn_tuple_of(t->ctx, fields);
    if (!tn_is(arg->type, TN_KIND_TY_TENSOR) || !tn_type_dims(arg->type, &dims))
        return arg;
    for (uint32_t i = 0; i < dims.n; i++, s->count++) {
        int64_t v = 0;
        assert_true(s->count < 64 && tn_int_value(dims.at[i], &v) && v < 64);
        if (s->chosen[s->count] && (!s->shared || !s->of_extent[v]))
            s->of_extent[v] = tn_var_dtype(t->ctx, "n", TNB_I64);
        if (s->chosen[s->count])
            dims = tn_list_with(t->ctx, dims, i, s->of_extent[v]);
    }
    return tn_var_new(t->ctx, "x", tn_ty_tensor_dims(t->ctx, dims, tn_type_dtype(arg->type)));
}

static bool
is_known(const tn_type *type)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(type);
    tn_list dims;
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        if (!is_known(tuple->fields.at[i]))
            return false;
    return !tn_is(type, TN_KIND_TY_TENSOR) || tn_type_dims(type, &dims);
}

static void
with_symbols(tops *t, const tn_expr *const *args, uint32_t n, symbols *s, const tn_expr **now)
{
    memset(s->of_extent, 0, sizeof s->of_extent);
    s->count = 0;
    for (uint32_t i = 0; i < n; i++)
        now[i] = symbolic(t, args[i], s);
}

/* As many extents as the operator takes and can tell its result from. */
static void
check_symbolic(tops *t, const char *op, const tn_node *attrs, const tn_expr *const *args,
               uint32_t n, bool shared)
{
    symbols s = {.shared = shared};
    const tn_expr *now[16];
    with_symbols(t, args, n, &s, now);
    for (uint32_t i = 0, all = s.count; i < all; i++) {
        s.chosen[i] = true;
        with_symbols(t, args, n, &s, now);
        const tn_expr *call = tn_call_op(t->ctx, op, tn_list_of(t->ctx, now, n), attrs);
        const tn_op *own = tn_is_error(call) ? NULL : tn_call_op_of(tn_as_call(call));
        s.chosen[i] = own && ((own->flags & TN_OP_DATA_DEPENDENT) || is_known(call->type));
        symbolic_extents += s.chosen[i];
        tnb_diags_clear(tn_diags(t->ctx));
    }
    with_symbols(t, args, n, &s, now);
    const tn_module *m = tops_module(t, op, attrs, now, n);
    m = m ? tops_legalize(t, m) : NULL;
    if (m && !tops_has_operator(m))
        return;
    fprintf(stderr, "%s of %s:", op,
            shared ? "symbols for equal extents" : "symbols for each extent");
    for (uint32_t i = 0; i < n; i++)
        fprintf(stderr, " %s", tn_text(t->ctx, now[i]->type));
    fprintf(stderr, "\n");
    tops_print_errors(t);
    tnb_diags_clear(tn_diags(t->ctx));
    failures++;
}

static void
check(tops *t, const char *op, const tn_node *attrs, const tn_expr *const *args, uint32_t n)
{
    const tn_module *m = tops_module(t, op, attrs, args, n);
    bool ok = m && (m = tops_legalize(t, m)) && !tops_has_operator(m);
    if (ok && t->eval)
        ok = tops_run(t, op, attrs, args, n) != NULL;
    if (!ok || tnb_diags_errors(tn_diags(t->ctx))) {
        fprintf(stderr, "%s:\n", op);
        tops_print_errors(t);
        failures++;
    }
    check_symbolic(t, op, attrs, args, n, false);
    check_symbolic(t, op, attrs, args, n, true);
}

static void
elementwise(tops *t)
{
    static const char *const unary[] = {"acos",         "acosh",         "asin",
                                        "asinh",        "atan",          "atanh",
                                        "cos",          "cosh",          "erf",
                                        "exp",          "log",           "rsqrt",
                                        "sigmoid",      "sin",           "sinh",
                                        "sqrt",         "tan",           "tanh",
                                        "abs",          "ceil",          "floor",
                                        "negative",     "round",         "sign",
                                        "square",       "trunc",         "isfinite",
                                        "isinf",        "isnan",         "nn.relu",
                                        "nn.relu6",     "nn.leakyrelu",  "nn.elu",
                                        "nn.gelu",      "nn.gelu_tanh",  "nn.silu",
                                        "nn.selu",      "nn.softplus",   "nn.hardsigmoid",
                                        "nn.hardswish", "nn.mish",       "nn.softsign",
                                        "nn.softmax",   "nn.log_softmax"};
    static const char *const binary[] = {"add",          "subtract",     "multiply", "divide",
                                         "floor_divide", "power",        "mod",      "floor_mod",
                                         "atan2",        "log_add_exp",  "maximum",  "minimum",
                                         "equal",        "not_equal",    "less",     "less_equal",
                                         "greater",      "greater_equal"};
    static const char *const bits[] = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
                                       "right_shift", "floor_mod",  "mod"};
    static const char *const logic[] = {"logical_and", "logical_or", "logical_xor", "bitwise_and"};
    for (unsigned i = 0; i < sizeof unary / sizeof *unary; i++) {
        CASE(unary[i], NULL, POS(2, 3));
        CASE(unary[i], NULL, F16(2, 3));
    }
    for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
        CASE(binary[i], NULL, POS(2, 1, 3), POS(4, 1));
        CASE(binary[i], NULL, POS(2, 3), FLT(2));
    }
    for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++)
        CASE(bits[i], NULL, INT64(2, 3), INT(2));
    for (unsigned i = 0; i < sizeof logic / sizeof *logic; i++)
        CASE(logic[i], NULL, BOOLS(2, 3), BOOLS(3));
    CASE("logical_not", NULL, BOOLS(3));
    CASE("bitwise_not", NULL, INT64(3));
    CASE("clip", NULL, F32(3), FLT(-1), FLT(1));
    CASE("astype", ATTRS("dtype", tn_dtype_imm_of(t->ctx, TNB_I32)), F32(3));
    CASE("ewise_fma", NULL, F32(3), F32(3), F32(3));
    CASE("where", NULL, BOOLS(2, 1), F32(3), F32(2, 3));
    CASE("nn.prelu", ATTRS("axis", INT(1)), F32(2, 3), F32(3));
}

static void
reductions(tops *t)
{
    static const char *const ops[] = {"sum", "prod", "max", "min", "mean", "variance", "std"};
    for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++) {
        CASE(ops[i], NULL, F32(2, 3));
        CASE(ops[i], ATTRS("axis", INTS(-1), "keepdims", tn_bool(t->ctx, true)), F16(2, 3, 4));
    }
    CASE("any", NULL, BOOLS(2, 3));
    CASE("all", ATTRS("axis", INTS(0)), BOOLS(2, 3));
    CASE("argmax", NULL, F32(2, 3));
    CASE("argmin", ATTRS("axis", INT(1), "keepdims", tn_bool(t->ctx, true)), F32(2, 3));
    CASE("matmul", NULL, F32(2, 3), F32(3, 4));
    CASE("matmul", NULL, F32(3), F32(5, 3, 4));
    CASE("matmul", NULL, F32(5, 2, 3), F32(3));
    CASE("matmul", NULL, F16(5, 1, 2, 3), F16(4, 3, 2));
    CASE("linear", NULL, F32(2, 3), F32(4, 3), F32(4));
    CASE("outer", NULL, F32(2), F32(3));
}

static void
neural(tops *t)
{
    CASE("nn.conv1d", ATTRS("padding", INTS(1)), F32(1, 4, 7), F32(6, 4, 3));
    CASE("nn.conv2d", ATTRS("padding", INTS(1, 1, 0, 2), "strides", INTS(2, 1)), F32(1, 4, 7, 6),
         F32(6, 4, 3, 2));
    CASE("nn.conv2d", ATTRS("groups", INT(4)), F16(1, 4, 5, 5), F16(8, 1, 3, 3));
    CASE("nn.conv2d", ATTRS("data_layout", STR("NHWC"), "kernel_layout", STR("HWIO")),
         F32(1, 5, 5, 4), F32(3, 3, 4, 2));
    CASE("nn.conv3d", ATTRS("dilation", INTS(1, 2, 1)), F32(1, 2, 3, 5, 3), F32(2, 2, 2, 2, 2));
    CASE("nn.conv2d",
         ATTRS("data_layout", STR("NCHW4c"), "kernel_layout", STR("OIHW4o"), "out_layout",
               STR("NCHW2c"), "padding", INTS(1)),
         F32(1, 2, 5, 5, 4), F32(2, 8, 3, 3, 4));
    /* blocks of channels on both sides, in the result alone, in the kernel alone, of groups */
    CASE("nn.conv2d",
         ATTRS("data_layout", STR("NCHW2c"), "kernel_layout", STR("OIHW2i3o"), "out_layout",
               STR("NCHW3c"), "strides", INTS(2)),
         F32(1, 2, 5, 5, 2), F32(2, 2, 3, 3, 2, 3));
    CASE("nn.conv2d", ATTRS("kernel_layout", STR("OIHW4o"), "out_layout", STR("NCHW4c")),
         F16(1, 3, 5, 4), F16(2, 3, 3, 3, 4));
    CASE("nn.conv2d", ATTRS("kernel_layout", STR("OIHW2i")), F32(1, 4, 3, 3), F32(3, 2, 2, 2, 2));
    CASE("nn.conv2d",
         ATTRS("data_layout", STR("NCHW2c"), "kernel_layout", STR("OIHW2o"), "groups", INT(4)),
         F32(1, 2, 4, 4, 2), F32(2, 1, 3, 3, 2));
    CASE("nn.conv2d",
         ATTRS("data_layout", STR("NCHW2c"), "kernel_layout", STR("OIHW4o"), "out_layout",
               STR("NCHW4c"), "groups", INT(4)),
         F32(1, 2, 4, 4, 2), F32(2, 1, 3, 3, 4));
    CASE("nn.conv2d",
         ATTRS("data_layout", STR("NCHW2c"), "kernel_layout", STR("OIHW2i2o"), "groups", INT(2)),
         F32(1, 4, 3, 3, 2), F32(4, 2, 2, 2, 2, 2));
    CASE("nn.conv2d",
         ATTRS("data_layout", STR("NCHW3c"), "kernel_layout", STR("OIHW3o"), "out_layout",
               STR("NCHW3c"), "groups", INT(2)),
         F32(1, 2, 3, 3, 3), F32(2, 3, 2, 2, 3));
    CASE("nn.conv1d",
         ATTRS("data_layout", STR("NCW2c"), "kernel_layout", STR("OIW2i2o"), "padding", INTS(1)),
         F32(1, 2, 5, 2), F32(2, 2, 3, 2, 2));
    CASE("nn.conv1d_transpose", NULL, F32(1, 2, 4), F32(2, 3, 3));
    CASE("nn.conv2d_transpose",
         ATTRS("strides", INTS(2), "padding", INTS(1), "output_padding", INTS(1), "groups", INT(2)),
         F32(1, 4, 3, 3), F32(4, 2, 3, 3));
    CASE("nn.conv3d_transpose", NULL, F32(1, 2, 2, 2, 2), F32(2, 1, 2, 2, 2));
    CASE("nn.max_pool1d", ATTRS("pool_size", INTS(2)), F32(1, 2, 5));
    CASE("nn.max_pool2d",
         ATTRS("pool_size", INTS(3), "strides", INTS(2), "padding", INTS(1), "ceil_mode",
               tn_bool(t->ctx, true)),
         F32(1, 2, 6, 6));
    CASE("nn.avg_pool2d", ATTRS("pool_size", INTS(3), "strides", INTS(2), "padding", INTS(1)),
         F16(1, 2, 6, 6));
    CASE("nn.avg_pool3d",
         ATTRS("pool_size", INTS(2), "count_include_pad", tn_bool(t->ctx, true), "padding",
               INTS(1)),
         F32(1, 1, 3, 3, 3));
    CASE("nn.max_pool2d_with_indices",
         ATTRS("pool_size", INTS(2), "padding", INTS(1), "storage_order", INT(1)), F32(1, 2, 4, 4));
    CASE("nn.adaptive_avg_pool2d", ATTRS("output_size", INTS(2, 3)), F32(1, 2, 5, 6));
    CASE("nn.adaptive_max_pool1d", ATTRS("output_size", INTS(1)), F32(1, 2, 5));
    CASE("nn.batch_norm", ATTRS("axis", INT(1), "training", tn_bool(t->ctx, false)), F32(2, 3, 4),
         POS(3), POS(3), POS(3), POS(3));
    CASE("nn.batch_norm", ATTRS("axis", INT(1)), F32(2, 3, 4), POS(3), POS(3), POS(3), POS(3));
    CASE("nn.layer_norm", ATTRS("axes", INTS(-2, -1)), F16(2, 3, 4), F16(3, 4), F16(3, 4));
    CASE("nn.group_norm", ATTRS("num_groups", INT(2), "channel_axis", INT(1), "axes", INTS(2)),
         F32(2, 4, 3), F32(4), F32(4));
    CASE("nn.instance_norm", ATTRS("channel_axis", INT(1), "axes", INTS(2)), F32(2, 4, 3), F32(4),
         F32(4));
    CASE("nn.rms_norm", NULL, F16(2, 4), F16(4));
    CASE("nn.lrn", ATTRS("size", INT(3)), F32(1, 4, 2));
    CASE("nn.lrn", ATTRS("size", INT(INT64_MAX)), F32(1, 4, 2));
    CASE("nn.dropout", NULL, F32(2, 2));
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    for (int i = 0; i < 4; i++)
        CASE("nn.pad", ATTRS("pad_width", INTS(0, 0, 1, 2), "pad_mode", STR(modes[i])), F32(2, 3));
    CASE("nn.pixel_shuffle", ATTRS("upscale_factor", INT(2)), F32(1, 8, 2, 3));
    CASE("nn.attention", ATTRS("causal_mask", STR("BottomRight")), F32(1, 3, 2, 4), F32(1, 5, 2, 4),
         F32(1, 5, 2, 6));
    CASE("nn.attention", NULL, F32(1, 3, 4, 4), F32(1, 5, 2, 4), F32(1, 5, 2, 6), F32(1, 4, 3, 5));
    CASE("nn.nll_loss", NULL, F32(2, 3, 4), INT64(2, 4), POS(3));
    CASE("nn.nll_loss", ATTRS("reduction", STR("none")), F32(2, 3), INT64(2));
    CASE("nn.cross_entropy_with_logits", NULL, F32(2, 3), F32(2, 3));
    CASE("nn.max_pool2d", ATTRS("layout", STR("NCHW4c"), "pool_size", INTS(2), "padding", INTS(1)),
         F32(1, 2, 5, 4, 4));
    CASE("nn.adaptive_avg_pool2d", ATTRS("layout", STR("NCHW4c"), "output_size", INTS(2, 1)),
         F32(1, 2, 5, 4, 4));
    CASE("image.affine_grid", NULL, F32(2, 2, 3), DIMS(INT(3), INT(4)));
    CASE("image.affine_grid", ATTRS("align_corners", tn_bool(t->ctx, false)), F32(1, 3, 4),
         DIMS(INT(2), INT(3), INT(2)));
}

static void
gradients(tops *t)
{
    CASE("grad.max_pool2d_backward",
         ATTRS("pool_size", INTS(3), "strides", INTS(2), "padding", INTS(1)), F32(1, 2, 3, 2),
         F32(1, 2, 5, 4));
    CASE("grad.avg_pool2d_backward",
         ATTRS("pool_size", INTS(3), "strides", INTS(2), "padding", INTS(1)), F32(1, 2, 3, 2),
         F32(1, 2, 5, 4));
    CASE("grad.take_backward", ATTRS("axis", INT(1)), F32(2, 2, 3), F32(2, 4, 3), INT64(2));
    CASE("grad.nll_loss_backward", NULL, tops_const(t, TNB_F32, NULL, (const int64_t[]){-1}),
         F32(2, 3, 4), INT64(2, 4), POS(3));
    CASE("grad.nll_loss_backward", ATTRS("reduction", STR("none")), F32(2), F32(2, 3), INT64(2));
}

static void
shapes(tops *t)
{
    CASE("reshape", NULL, F32(2, 6), DIMS(INT(3), INT(-1)));
    CASE("broadcast_to", NULL, F32(3, 1), DIMS(INT(2), INT(3), INT(4)));
    CASE("expand_dims", ATTRS("axis", INTS(0, -1)), F32(2));
    CASE("squeeze", NULL, F32(1, 2, 1));
    CASE("squeeze", ATTRS("axis", INTS(0)), F32(1, 2, 1));
    CASE("flatten", NULL, F32(2, 3));
    CASE("nn.batch_flatten", NULL, F32(2, 3, 4));
    CASE("permute_dims", ATTRS("axes", INTS(2, 0, 1)), F32(2, 3, 4));
    CASE("concat", ATTRS("axis", INT(-1)), TUPLE(F32(2, 1), F32(2, 3), F32(2, 2)));
    CASE("concat", ATTRS("axis", tn_none_value(t->ctx)), TUPLE(F32(2, 1), F32(3)));
    CASE("stack", NULL, TUPLE(F32(2, 1), F32(2, 1)));
    CASE("split", ATTRS("indices_or_sections", INT(3), "axis", INT(1)), F32(2, 7));
    CASE("split", ATTRS("indices_or_sections", INTS(1, 4), "axis", INT(1)), F32(2, 7));
    CASE("split", ATTRS("indices_or_sections", INT(1)), F32(2, 7));
    CASE("repeat", ATTRS("repeats", INT(2)), F32(2, 3));
    CASE("repeat", ATTRS("repeats", INT(2), "axis", INT(-1)), F32(2, 3));
    CASE("tile", ATTRS("repeats", INTS(2, 1, 3)), F32(2, 3));
    CASE("flip", ATTRS("axis", INT(1)), F32(2, 3));
    CASE("reverse_sequence", NULL, F32(2, 3), INT64(2));
    CASE("meshgrid", NULL, TUPLE(F32(2), F32(3)));
    CASE("collapse_sum_to", NULL, F32(4, 2, 3), DIMS(INT(2), INT(1)));
    CASE("collapse_sum_like", NULL, F32(4, 2, 3), F32(3));
    CASE("strided_slice", NULL, F32(5, 6), TUPLE(INT(0), INT(-1)), TUPLE(INT(-1), INT(1)),
         TUPLE(INT(INT64_MIN), INT(100)), TUPLE(INT(-2), INT(2)));
    CASE("dynamic_strided_slice", NULL, F32(2, 3), INT64(2),
         tops_const(t, TNB_I64, VALUES(2, 3), SHAPE(2)),
         tops_const(t, TNB_I64, VALUES(1, 2), SHAPE(2)));
    CASE("slice_scatter", ATTRS("axis", INT(1)), F32(2, 6), F32(2, 2), INT(1), INT(5), INT(2));
}

static void
indexing(tops *t)
{
    CASE("take", ATTRS("axis", INT(1)), F32(2, 3, 2), INT64(2, 2));
    CASE("take", ATTRS("axis", INT(0)), F32(2, 3), INT(1));
    CASE("gather_elements", ATTRS("axis", INT(1)), F32(2, 3), INT64(2, 2));
    CASE("gather_nd", NULL, F32(2, 3, 2), INT64(4, 2));
    CASE("gather_nd", ATTRS("batch_dims", INT(1)), F32(2, 3, 2), INT64(2, 1));
    CASE("index_tensor", NULL, F32(3, 3, 2), TUPLE(INT64(2, 1), INT64(3)));
    CASE("index_put", NULL, F32(3, 2), TUPLE(INT64(2)), F32(2, 2));
    CASE("scatter_elements", ATTRS("axis", INT(1), "reduction", STR("mean")), F32(2, 3),
         INT64(2, 2), F32(2, 2));
    CASE("scatter_nd", ATTRS("reduction", STR("add")), F32(3, 2), INT64(4, 1), F32(4, 2));
    CASE("one_hot", ATTRS("depth", INT(3)), INT64(2), FLT(1), FLT(0));
    CASE("full", NULL, DIMS(INT(2)), tops_const(t, TNB_F32, NULL, (const int64_t[]){-1}));
    CASE("ones", ATTRS("dtype", STR("float16")), DIMS(INT(2), INT(3)));
    CASE("zeros_like", NULL, F32(2));
    CASE("eye", NULL, INT(3), INT(4), INT(-1));
    CASE("arange", ATTRS("dtype", STR("int64")), INT(3), INT(10), INT(2));
    CASE("hamming_window", NULL, INT(10), tn_bool(t->ctx, true), FLT(0.54), FLT(0.46));
    CASE("cumsum", ATTRS("axis", INT(1), "exclusive", tn_bool(t->ctx, true)), F32(2, 3));
    CASE("cumprod", NULL, F32(2, 3));
    CASE("median", ATTRS("axis", INTS(1)), F32(2, 5));
    CASE("median", NULL, F32(2, 3));
    CASE("sort", ATTRS("descending", tn_bool(t->ctx, true)), F32(2, 5));
    CASE("argsort", ATTRS("axis", INT(0)), F32(5, 2));
    CASE("topk", ATTRS("k", INT(2)), F32(2, 5));
    CASE("topk", ATTRS("k", INT(2), "ret_type", STR("indices"), "largest", tn_bool(t->ctx, false)),
         F32(2, 5));
    CASE("bucketize", NULL, F32(2, 2), POS(4));
    CASE("einsum", ATTRS("subscripts", STR("ij,jk->ik")), TUPLE(F32(2, 3), F32(3, 4)));
    CASE("einsum", ATTRS("subscripts", STR("...ii ->...i")), TUPLE(F16(2, 3, 3)));
    CASE("det", NULL, F32(2, 3, 3));
    CASE("quantize", NULL, F32(2, 3), POS(3), tops_const(t, TNB_I8, NULL, SHAPE(3)));
    CASE("dequantize", ATTRS("out_dtype", STR("float16")), tops_const(t, TNB_I8, NULL, SHAPE(2, 3)),
         POS(3), tops_const(t, TNB_I8, NULL, SHAPE(3)));
    CASE("tril", NULL, F32(2, 3, 3), INT(0));
    CASE("triu", NULL, F32(3, 3), INT(1));
}

static void
every_operator_becomes_programs(void **state)
{
    tops own, *t = &own;
    (void)state;
    for (int i = 0; i < 512; i++) {
        positive[i] = 0.1 + 0.05 * (i % 17);
        zeros_ones[i] = i % 3 != 0;
    }
    assert_true(tops_open(t));
    elementwise(t);
    reductions(t);
    neural(t);
    gradients(t);
    shapes(t);
    indexing(t);
    tops_close(t);
    assert_int_equal(failures, 0);
    assert_true(symbolic_extents > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operator_becomes_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
