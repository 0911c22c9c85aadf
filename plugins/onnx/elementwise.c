/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators and activations. */
#include <math.h>
#include "fold.h"

/* ---- two operands ---- */

/* Up to opset 6 the second operand is aligned by the attributes `broadcast` and `axis`. */
static const tn_expr *
align_old(onnx_node *n, const tn_expr *a, const tn_expr *b)
{
    int64_t axes[ONNX_MAX_DIMS];
    if (n->version >= 7 || !onnx_attr_int(n, "broadcast", 0) || !onnx_attr(n, "axis"))
        return b;
    int64_t ra = onnx_rank(n, a), rb = onnx_rank(n, b), axis = onnx_attr_int(n, "axis", 0);
    if (ra < 0 || rb < 0 || !onnx_axis(n, ra, &axis))
        return tn_error_node(n->ctx);
    if (axis + rb > ra) {
        onnx_fail(
            n, TNB_SHAPE,
            "attribute 'axis' is %d, but an operand of rank %d does not fit into rank %d there",
            (int)axis, (int)rb, (int)ra);
        return tn_error_node(n->ctx);
    }
    uint32_t count = (uint32_t)(ra - axis - rb);
    for (uint32_t i = 0; i < count; i++)
        axes[i] = rb + i;
    return onnx_unsqueeze(n, b, axes, count);
}

static bool
binary(onnx_node *n, const char *op)
{
    const tn_expr *a = onnx_in(n, 0), *b = onnx_in(n, 1);
    if (n->failed || tn_is_error(a) || tn_is_error(b))
        return false;
    if (!tnb_dtype_eq(onnx_dtype(a), onnx_dtype(b)))
        return onnx_fail(n, TNB_TYPE, "the operands have dtypes %s and %s, expected the same",
                         tnb_dtype_print(onnx_dtype(a)).s, tnb_dtype_print(onnx_dtype(b)).s);
    return onnx_ret(n, onnx_bin(n, op, a, align_old(n, a, b)));
}

#define BINARY(fn, relax)        \
    static bool fn(onnx_node *n) \
    {                            \
        return binary(n, relax); \
    }
BINARY(import_add, "add")
BINARY(import_sub, "subtract")
BINARY(import_mul, "multiply")
BINARY(import_div, "divide")
BINARY(import_and, "logical_and")
BINARY(import_or, "logical_or")
BINARY(import_xor, "logical_xor")
BINARY(import_equal, "equal")
BINARY(import_less, "less")
BINARY(import_less_equal, "less_equal")
BINARY(import_greater, "greater")
BINARY(import_greater_equal, "greater_equal")
BINARY(import_bitwise_and, "bitwise_and")
BINARY(import_bitwise_or, "bitwise_or")
BINARY(import_bitwise_xor, "bitwise_xor")

/* The remainder with the divisor's sign, also that of a remainder of 0. From the remainder with the
 * dividend's sign, so that infinite divisors and large quotients are right. */
static bool
float_floor_mod(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *y = onnx_in(n, 1), *r = onnx_bin(n, "mod", x, y);
    tnb_dtype d = onnx_dtype(r);
    const tn_expr *negative = onnx_bin_num(n, "less", y, 0),
                  *differs = onnx_bin(n, "not_equal", onnx_bin_num(n, "less", r, 0), negative);
    const tn_expr *zero = onnx_where(n, negative, onnx_scalar(n, d, -0.0), onnx_scalar(n, d, 0));
    const tn_expr *sum = onnx_where(n, differs, onnx_bin(n, "add", r, y), r);
    /* no sign to compare where the remainder is no number */
    sum = onnx_where(n, onnx_bin(n, "equal", r, r), sum, r);
    return onnx_ret(n, onnx_where(n, onnx_bin_num(n, "equal", r, 0), zero, sum));
}

static bool
import_mod(onnx_node *n)
{
    bool fmod_sign = onnx_attr_int(n, "fmod", 0) != 0;
    if (fmod_sign || !tnb_dtype_is_float(onnx_in_dtype(n, 0)))
        return binary(n, fmod_sign ? "mod" : "floor_mod");
    if (n->version < 28)
        return onnx_fail(n, TNB_INVALID, "attribute 'fmod' is 0, but the operands are floats");
    return float_floor_mod(n);
}

static bool
import_bit_shift(onnx_node *n)
{
    static const char *const directions[] = {"LEFT", "RIGHT", NULL};
    int right = onnx_attr_choice(n, "direction", "", directions);
    return right >= 0 && binary(n, right ? "right_shift" : "left_shift");
}

/* The result has the base's type; the exponent may have another one. */
static bool
import_pow(onnx_node *n)
{
    const tn_expr *a = onnx_in(n, 0), *b = onnx_in(n, 1), *r;
    if (tn_is_error(a) || tn_is_error(b))
        return false;
    tnb_dtype da = onnx_dtype(a), db = onnx_dtype(b);
    if (onnx_known(n, 1) && n->in[1]->n_elems == 1 && tnb_dtype_is_float(da) &&
        n->in[1]->ndim <= onnx_rank(n, a)) {
        uint32_t count;
        double e;
        if (onnx_floats(n, 1, "the exponent", &e, 1, &count) && (e == 2.0 || e == 0.5 || e == 1.0))
            return onnx_ret(n, e == 2.0   ? onnx_bin(n, "multiply", a, a)
                               : e == 0.5 ? onnx_un(n, "sqrt", a)
                                          : a);
    }
    if (tnb_dtype_is_float(db) && !tnb_dtype_is_float(da)) {
        r = onnx_bin(n, "power", onnx_astype(n, a, TNB_F64), onnx_astype(n, b, TNB_F64));
        return onnx_ret(n, onnx_astype(n, r, da));
    }
    return onnx_ret(n, onnx_bin(n, "power", a, align_old(n, a, onnx_astype(n, b, da))));
}

/* ---- any number of operands ---- */

static bool
variadic(onnx_node *n, const char *op, bool mean)
{
    const tn_expr *r = onnx_in(n, 0);
    for (uint32_t i = 1; i < n->n_in; i++)
        r = onnx_bin(n, op, r, onnx_in(n, i));
    return onnx_ret(n, mean && n->n_in > 1 ? onnx_bin_num(n, "divide", r, (double)n->n_in) : r);
}

static bool
import_max(onnx_node *n)
{
    return variadic(n, "maximum", false);
}

static bool
import_min(onnx_node *n)
{
    return variadic(n, "minimum", false);
}

static bool
import_sum(onnx_node *n)
{
    return variadic(n, "add", false);
}

static bool
import_mean(onnx_node *n)
{
    return variadic(n, "add", true);
}

/* ---- one operand ---- */

#define IMPORT_UNARY(name, relax)                             \
    static bool import_##name(onnx_node *n)                   \
    {                                                         \
        return onnx_ret(n, onnx_un(n, relax, onnx_in(n, 0))); \
    }
IMPORT_UNARY(abs, "abs")
IMPORT_UNARY(acos, "acos")
IMPORT_UNARY(acosh, "acosh")
IMPORT_UNARY(asin, "asin")
IMPORT_UNARY(asinh, "asinh")
IMPORT_UNARY(atan, "atan")
IMPORT_UNARY(atanh, "atanh")
IMPORT_UNARY(ceil, "ceil")
IMPORT_UNARY(cos, "cos")
IMPORT_UNARY(cosh, "cosh")
IMPORT_UNARY(erf, "erf")
IMPORT_UNARY(exp, "exp")
IMPORT_UNARY(floor, "floor")
IMPORT_UNARY(log, "log")
IMPORT_UNARY(negative, "negative")
IMPORT_UNARY(logical_not, "logical_not")
IMPORT_UNARY(round, "round")
IMPORT_UNARY(sigmoid, "sigmoid")
IMPORT_UNARY(sign, "sign")
IMPORT_UNARY(sin, "sin")
IMPORT_UNARY(sinh, "sinh")
IMPORT_UNARY(sqrt, "sqrt")
IMPORT_UNARY(tan, "tan")
IMPORT_UNARY(tanh, "tanh")
IMPORT_UNARY(isnan, "isnan")
IMPORT_UNARY(bitwise_not, "bitwise_not")
IMPORT_UNARY(relu, "nn.relu")
IMPORT_UNARY(softsign, "nn.softsign")
IMPORT_UNARY(hardswish, "nn.hardswish")
IMPORT_UNARY(mish, "nn.mish")
IMPORT_UNARY(softplus, "nn.softplus")

static bool
import_reciprocal(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    return !tn_is_error(x) &&
           onnx_ret(n, onnx_bin(n, "divide", onnx_scalar(n, onnx_dtype(x), 1), x));
}

static bool
import_isinf(onnx_node *n)
{
    bool neg = onnx_attr_int(n, "detect_negative", 1) != 0,
         pos = onnx_attr_int(n, "detect_positive", 1) != 0;
    const tn_expr *x = onnx_in(n, 0), *r = onnx_un(n, "isinf", x);
    if (!neg || !pos)
        r = onnx_bin(n, "logical_and", r, onnx_bin_num(n, pos ? "greater" : "less", x, 0));
    if (!neg && !pos)
        r = onnx_bin(n, "logical_and", r, onnx_un(n, "logical_not", r));
    return onnx_ret(n, r);
}

/* ---- activations with parameters ---- */

static const tn_node *
float_attr(onnx_node *n, double v)
{
    return tn_float_imm_of(n->ctx, TNB_F64, v);
}

static bool
import_leaky_relu(onnx_node *n)
{
    return onnx_ret(n, onnx_emit(n, "nn.leakyrelu",
                                 tn_dictv(n->ctx, "alpha",
                                          float_attr(n, onnx_attr_float(n, "alpha", (double)0.01f)),
                                          NULL),
                                 onnx_in(n, 0), NULL));
}

static bool
import_elu(onnx_node *n)
{
    return onnx_ret(n, onnx_emit(n, "nn.elu",
                                 tn_dictv(n->ctx, "alpha",
                                          float_attr(n, onnx_attr_float(n, "alpha", 1)), NULL),
                                 onnx_in(n, 0), NULL));
}

static bool
import_hard_sigmoid(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", (double)0.2f),
           beta = onnx_attr_float(n, "beta", 0.5);
    return onnx_ret(n, onnx_emit(n, "nn.hardsigmoid",
                                 tn_dictv(n->ctx, "alpha", float_attr(n, alpha), "beta",
                                          float_attr(n, beta), NULL),
                                 onnx_in(n, 0), NULL));
}

/* alpha * (exp(x) - 1) */
static const tn_expr *
exp_branch(onnx_node *n, const tn_expr *x, double alpha)
{
    return onnx_bin_num(n, "multiply", onnx_bin_num(n, "subtract", onnx_un(n, "exp", x), 1), alpha);
}

static bool
import_selu(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", 1.67326319217681884765625),
           gamma = onnx_attr_float(n, "gamma", 1.05070102214813232421875);
    const tn_expr *x = onnx_in(n, 0);
    const tn_expr *r = onnx_where(n, onnx_bin_num(n, "greater", x, 0), x, exp_branch(n, x, alpha));
    return onnx_ret(n, onnx_bin_num(n, "multiply", r, gamma));
}

static bool
import_celu(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", 1);
    const tn_expr *x = onnx_in(n, 0);
    const tn_expr *below = exp_branch(n, onnx_bin_num(n, "divide", x, alpha), alpha);
    return onnx_ret(n, onnx_bin(n, "add", onnx_bin_num(n, "maximum", x, 0),
                                onnx_bin_num(n, "minimum", below, 0)));
}

static bool
import_thresholded_relu(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", 1);
    const tn_expr *x = onnx_in(n, 0);
    return !tn_is_error(x) && onnx_ret(n, onnx_where(n, onnx_bin_num(n, "greater", x, alpha), x,
                                                     onnx_scalar(n, onnx_dtype(x), 0)));
}

static bool
import_shrink(onnx_node *n)
{
    double lambd = onnx_attr_float(n, "lambd", 0.5), bias = onnx_attr_float(n, "bias", 0);
    const tn_expr *x = onnx_in(n, 0);
    if (tn_is_error(x))
        return false;
    tnb_dtype dtype = onnx_dtype(x);
    /* -lambd is no number of unsigned integers */
    if (dtype.code != TNB_INT || lambd != floor(lambd) || bias != floor(bias) ||
        fabs(lambd) > 100 || fabs(bias) > 100)
        x = onnx_as_scaled(n, x);
    const tn_expr *above =
        onnx_where(n, onnx_bin_num(n, "greater", x, lambd), onnx_bin_num(n, "subtract", x, bias),
                   onnx_scalar_int(n, onnx_dtype(x), 0));
    return onnx_ret(n, onnx_astype(n,
                                   onnx_where(n, onnx_bin_num(n, "less", x, -lambd),
                                              onnx_bin_num(n, "add", x, bias), above),
                                   dtype));
}

static bool
import_gelu(onnx_node *n)
{
    static const char *const kinds[] = {"none", "tanh", NULL};
    int fast = onnx_attr_choice(n, "approximate", "none", kinds);
    return fast >= 0 && onnx_ret(n, onnx_un(n, fast ? "nn.gelu_tanh" : "nn.gelu", onnx_in(n, 0)));
}

static const tn_expr *
swish(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", 1);
    const tn_expr *x = onnx_in(n, 0);
    if (alpha == 1)
        return onnx_un(n, "nn.silu", x);
    return onnx_bin(n, "multiply", x, onnx_un(n, "sigmoid", onnx_bin_num(n, "multiply", x, alpha)));
}

static bool
import_swish(onnx_node *n)
{
    return onnx_ret(n, swish(n));
}

static bool
import_swiglu(onnx_node *n)
{
    return onnx_ret(n, onnx_bin(n, "multiply", swish(n), onnx_in(n, 1)));
}

static bool
import_prelu(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *slope = onnx_in(n, 1);
    int64_t r = onnx_rank(n, x), rs = onnx_rank(n, slope), axes[ONNX_MAX_DIMS];
    if (r < 0 || rs < 0)
        return false;
    if (n->version < 7 && rs == 1 && r > 2 && onnx_dim(slope, 0) != 1) { /* one a channel */
        for (int64_t i = 0; i < r - 2; i++)
            axes[i] = i + 1;
        slope = onnx_unsqueeze(n, slope, axes, (uint32_t)(r - 2));
    }
    return onnx_ret(n, onnx_where(n, onnx_bin_num(n, "less", x, 0),
                                  onnx_bin(n, "multiply", x, onnx_one_way(n, slope, x)), x));
}

static bool
import_clip(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    double lo = 0, hi = 0;
    uint32_t count = 1;
    if (tn_is_error(x))
        return false;
    if (n->version < 11) {
        bool has_lo = onnx_attr(n, "min") != NULL, has_hi = onnx_attr(n, "max") != NULL;
        lo = onnx_attr_float(n, "min", 0);
        hi = onnx_attr_float(n, "max", 0);
        if (has_lo && has_hi)
            return onnx_ret(n, onnx_clip(n, x, lo, hi));
        x = has_lo ? onnx_bin_num(n, "maximum", x, lo) : x;
        return onnx_ret(n, has_hi ? onnx_bin_num(n, "minimum", x, hi) : x);
    }
    if (tnb_dtype_is_float(onnx_dtype(x)) && onnx_known(n, 1) && onnx_known(n, 2)) {
        if (!onnx_floats(n, 1, "the lower bound", &lo, 1, &count) ||
            !onnx_floats(n, 2, "the upper bound", &hi, 1, &count))
            return false;
        return onnx_ret(n, onnx_clip(n, x, lo, hi));
    }
    x = onnx_has(n, 1) ? onnx_bin(n, "maximum", x, onnx_in(n, 1)) : x;
    return onnx_ret(n, onnx_has(n, 2) ? onnx_bin(n, "minimum", x, onnx_in(n, 2)) : x);
}

static bool
import_where(onnx_node *n)
{
    return onnx_ret(n, onnx_where(n, onnx_in(n, 0), onnx_in(n, 1), onnx_in(n, 2)));
}

/* ---- types ---- */

const tn_expr *
onnx_cast_saturated(onnx_node *n, const tn_expr *x, tnb_dtype d)
{
    double most;
    if (tn_is_error(x) || !tnb_dtype_is_float(d) || d.bits != 8 ||
        !onnx_attr_int(n, "saturate", 1) || !tnb_dtype_is_float(onnx_dtype(x)) ||
        onnx_dtype(x).bits < 16 || !tn_as_float_imm(tn_max_value(n->ctx, d)))
        return onnx_astype(n, x, d);
    most = tn_as_float_imm(tn_max_value(n->ctx, d))->value;
    tnb_dtype from = onnx_dtype(x);
    x = onnx_where(n, onnx_bin_num(n, "greater", x, most), onnx_scalar(n, from, most), x);
    x = onnx_where(n, onnx_bin_num(n, "less", x, -most), onnx_scalar(n, from, -most), x);
    return onnx_astype(n, x, d);
}

static bool
import_cast(onnx_node *n)
{
    int64_t to = onnx_attr_int(n, "to", 0);
    tnb_dtype d = tnb_onnx_dtype(to);
    const Onnx__AttributeProto *a = onnx_attr(n, "to");
    if (n->version < 6 && a && a->has_s) /* a name: "FLOAT" */
        for (to = 1; to < 17; to++)
            if (strcmp(tnb_onnx_type_name(to), onnx_attr_str(n, "to", "")) == 0)
                d = tnb_onnx_dtype(to);
    onnx_attr(n, "saturate");
    onnx_attr(n, "round_mode");
    if (!d.bits)
        return onnx_fail(n, TNB_UNSUPPORTED,
                         "attribute 'to' is %d (%s), a type that is not supported", (int)to,
                         tnb_onnx_type_name(to));
    return onnx_ret(n, onnx_cast_saturated(n, onnx_in(n, 0), d));
}

static bool
import_cast_like(onnx_node *n)
{
    onnx_attr(n, "saturate");
    tnb_dtype d = onnx_in_dtype(n, 1);
    if (!d.bits)
        return onnx_fail(n, TNB_TYPE, "the dtype of input 1 is not known");
    return onnx_ret(n, onnx_cast_saturated(n, onnx_in(n, 0), d));
}

static bool
import_dropout(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t training = 0;
    tn_list dims;
    onnx_attr(n, "ratio");
    onnx_attr(n, "seed");
    onnx_attr(n, "is_test");
    onnx_attr(n, "consumed_inputs");
    if (onnx_has(n, 2) && !onnx_in_int(n, 2, "the training mode", &training))
        return false;
    if (training) {
        double ratio = 0.5;
        if (onnx_has(n, 1) && !onnx_in_float(n, 1, "the ratio", &ratio))
            return false;
        if (ratio != 0)
            return onnx_fail(n, TNB_UNSUPPORTED,
                             "training mode is not supported: Tenon compiles for inference");
    }
    if (!onnx_ret_at(n, 0, x))
        return false;
    if (n->n_out > 1 && onnx_dims(n, x, &dims))
        return onnx_ret_at(n, 1,
                           onnx_full(n, dims.at, dims.n, n->version >= 10 ? TNB_B8 : onnx_dtype(x),
                                     1));
    return !n->failed;
}

#define UNARY(name, since, fn)                        \
    {                                                 \
        name, since, 0, 1, 1, 1, 1, fn, NULL, 0, NULL \
    }
#define FOLDED_UNARY(name, since, fn, arith)                                        \
    {                                                                               \
        name, since, 0, 1, 1, 1, 1, fn, onnx_fold_unary, ONNX_OP_ARITH(arith), NULL \
    }
#define ARITH(name, since, fn, arith)                                                \
    {                                                                                \
        name, since, 0, 2, 2, 1, 1, fn, onnx_fold_binary, ONNX_OP_ARITH(arith), NULL \
    }
#define BINARY_ROW(name, since, fn)                   \
    {                                                 \
        name, since, 0, 2, 2, 1, 1, fn, NULL, 0, NULL \
    }

const onnx_op onnx_elementwise_ops[] = {
    ARITH("Add", 1, import_add, ONNX_ADD),
    ARITH("Sub", 1, import_sub, ONNX_SUB),
    ARITH("Mul", 1, import_mul, ONNX_MUL),
    ARITH("Div", 1, import_div, ONNX_DIV),
    ARITH("Mod", 10, import_mod, ONNX_MOD),
    ARITH("Pow", 1, import_pow, ONNX_POW),
    ARITH("And", 1, import_and, ONNX_AND),
    ARITH("Or", 1, import_or, ONNX_OR),
    ARITH("Xor", 1, import_xor, ONNX_XOR),
    ARITH("Equal", 1, import_equal, ONNX_EQUAL),
    ARITH("Less", 1, import_less, ONNX_LESS),
    ARITH("LessOrEqual", 12, import_less_equal, ONNX_LESS_EQUAL),
    ARITH("Greater", 1, import_greater, ONNX_GREATER),
    ARITH("GreaterOrEqual", 12, import_greater_equal, ONNX_GREATER_EQUAL),
    BINARY_ROW("BitShift", 11, import_bit_shift),
    BINARY_ROW("BitwiseAnd", 18, import_bitwise_and),
    BINARY_ROW("BitwiseOr", 18, import_bitwise_or),
    BINARY_ROW("BitwiseXor", 18, import_bitwise_xor),
    {"Max", 1, 0, 1, -1, 1, 1, import_max, onnx_fold_binary, ONNX_OP_ARITH(ONNX_MAX), NULL},
    {"Min", 1, 0, 1, -1, 1, 1, import_min, onnx_fold_binary, ONNX_OP_ARITH(ONNX_MIN), NULL},
    {"Sum", 1, 0, 1, -1, 1, 1, import_sum, onnx_fold_binary, ONNX_OP_ARITH(ONNX_ADD), NULL},
    {"Mean", 1, 0, 1, -1, 1, 1, import_mean, NULL, 0, NULL},
    FOLDED_UNARY("Abs", 1, import_abs, ONNX_ABS),
    UNARY("Acos", 7, import_acos),
    UNARY("Acosh", 9, import_acosh),
    UNARY("Asin", 7, import_asin),
    UNARY("Asinh", 9, import_asinh),
    UNARY("Atan", 7, import_atan),
    UNARY("Atanh", 9, import_atanh),
    FOLDED_UNARY("Ceil", 1, import_ceil, ONNX_CEIL),
    UNARY("Cos", 7, import_cos),
    UNARY("Cosh", 9, import_cosh),
    UNARY("Erf", 9, import_erf),
    UNARY("Exp", 1, import_exp),
    FOLDED_UNARY("Floor", 1, import_floor, ONNX_FLOOR),
    UNARY("Log", 1, import_log),
    FOLDED_UNARY("Neg", 1, import_negative, ONNX_NEG),
    FOLDED_UNARY("Not", 1, import_logical_not, ONNX_NOT),
    FOLDED_UNARY("Round", 11, import_round, ONNX_ROUND),
    UNARY("Sigmoid", 1, import_sigmoid),
    FOLDED_UNARY("Sign", 9, import_sign, ONNX_SIGN),
    UNARY("Sin", 7, import_sin),
    UNARY("Sinh", 9, import_sinh),
    FOLDED_UNARY("Sqrt", 1, import_sqrt, ONNX_SQRT),
    UNARY("Tan", 7, import_tan),
    UNARY("Tanh", 1, import_tanh),
    UNARY("IsNaN", 9, import_isnan),
    UNARY("BitwiseNot", 18, import_bitwise_not),
    FOLDED_UNARY("Relu", 1, import_relu, ONNX_RELU),
    UNARY("Softsign", 1, import_softsign),
    UNARY("Softplus", 1, import_softplus),
    UNARY("HardSwish", 14, import_hardswish),
    UNARY("Mish", 18, import_mish),
    {"Reciprocal", 1, 0, 1, 1, 1, 1, import_reciprocal, onnx_fold_unary,
     ONNX_OP_ARITH(ONNX_RECIPROCAL), NULL},
    {"IsInf", 10, 0, 1, 1, 1, 1, import_isinf, NULL, 0, NULL},
    {"LeakyRelu", 1, 0, 1, 1, 1, 1, import_leaky_relu, NULL, 0, NULL},
    {"Elu", 1, 0, 1, 1, 1, 1, import_elu, NULL, 0, NULL},
    {"HardSigmoid", 1, 0, 1, 1, 1, 1, import_hard_sigmoid, NULL, 0, NULL},
    {"Selu", 1, 0, 1, 1, 1, 1, import_selu, NULL, 0, NULL},
    {"Celu", 12, 0, 1, 1, 1, 1, import_celu, NULL, 0, NULL},
    {"ThresholdedRelu", 1, 0, 1, 1, 1, 1, import_thresholded_relu, NULL, 0, NULL},
    {"Shrink", 9, 0, 1, 1, 1, 1, import_shrink, NULL, 0, NULL},
    {"Gelu", 20, 0, 1, 1, 1, 1, import_gelu, NULL, 0, NULL},
    {"SwiGLU", 28, 0, 2, 2, 1, 1, import_swiglu, NULL, 0, NULL},
    {"Swish", 24, 0, 1, 1, 1, 1, import_swish, NULL, 0, NULL},
    {"PRelu", 1, 0, 2, 2, 1, 1, import_prelu, NULL, 0, NULL},
    {"Clip", 1, 0, 1, 3, 1, 1, import_clip, onnx_fold_clip, 0, NULL},
    {"Where", 9, 0, 3, 3, 1, 1, import_where, onnx_fold_where, 0, NULL},
    {"Cast", 1, 0, 1, 1, 1, 1, import_cast, onnx_fold_cast, 0, NULL},
    {"CastLike", 15, 0, 2, 2, 1, 1, import_cast_like, onnx_fold_cast_like, ONNX_OP_FOLD_FIRST,
     NULL},
    {"Dropout", 1, 0, 1, 3, 1, 2, import_dropout, NULL, 0, NULL},
    {0},
};
