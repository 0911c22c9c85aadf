/* SPDX-License-Identifier: Apache-2.0 */
/* The table of scalar intrinsics: arity, type, effect, spelling per source dialect, value on
 * doubles. */
#include "private.h"
#include <math.h>
#include "tenon/base/scalar.h"

/* ---- type rules ---- */
static const tn_type *
like_first(tn_ctx *ctx, const tn_call *c)
{
    if (!c->args.n || !tn_is_scalar(c->args.at[0]))
        return tn_error(ctx, 0, TNB_TYPE, "%s needs scalar arguments", tn_call_op_of(c)->name);
    return c->args.at[0]->type;
}

/* Both operands of one dtype. */
static const tn_type *
like_both(tn_ctx *ctx, const tn_call *c)
{
    const tn_type *t = like_first(ctx, c);
    if (tn_is_error(t))
        return t;
    tnb_dtype a = tn_dtype_of(c->args.at[0]), b = tn_dtype_of(c->args.at[1]);
    if (!tnb_dtype_eq(a, b))
        return tn_error(ctx, 0, TNB_TYPE, "operands of %s have different dtypes: %s and %s",
                        tn_call_op_of(c)->name, tnb_dtype_print(a).s, tnb_dtype_print(b).s);
    return t;
}

static const tn_type *
with_lanes(tn_ctx *ctx, const tn_call *c, tnb_dtype d)
{
    const tn_type *t = like_first(ctx, c);
    if (tn_is_error(t))
        return t;
    d.lanes = tn_dtype_of(c->args.at[0]).lanes;
    return tn_ty_prim_of(ctx, d);
}

static const tn_type *
to_bool(tn_ctx *ctx, const tn_call *c)
{
    return with_lanes(ctx, c, TNB_B8);
}

static const tn_type *
to_i32(tn_ctx *ctx, const tn_call *c)
{
    return with_lanes(ctx, c, TNB_I32);
}

static const tn_type *
just_i32(tn_ctx *ctx, const tn_call *c)
{
    (void)c;
    return tn_ty_prim_of(ctx, TNB_I32);
}

static const tn_type *
just_handle(tn_ctx *ctx, const tn_call *c)
{
    (void)c;
    return tn_ty_prim_of(ctx, TNB_DTYPE(TNB_HANDLE, 64));
}

static const tn_type *
choice(tn_ctx *ctx, const tn_call *c)
{
    tnb_dtype cond = tn_dtype_of(c->args.at[0]), a = tn_dtype_of(c->args.at[1]),
              b = tn_dtype_of(c->args.at[2]);
    if (!tnb_dtype_is_bool(cond))
        return tn_error(ctx, 0, TNB_TYPE, "the condition of if_then_else must be bool, not %s",
                        tnb_dtype_print(cond).s);
    if (!tnb_dtype_eq(a, b))
        return tn_error(ctx, 0, TNB_TYPE,
                        "the choices of if_then_else have different dtypes: %s and %s",
                        tnb_dtype_print(a).s, tnb_dtype_print(b).s);
    return c->args.at[1]->type;
}

/* ---- values ---- */
#define EVAL1(name, expr)                             \
    static double eval_##name(const double *a, int n) \
    {                                                 \
        (void)n;                                      \
        double x = a[0];                              \
        return (expr);                                \
    }
#define EVAL2(name, expr)                             \
    static double eval_##name(const double *a, int n) \
    {                                                 \
        (void)n;                                      \
        double x = a[0], y = a[1];                    \
        return (expr);                                \
    }
EVAL1(exp, exp(x))
EVAL1(exp2, exp2(x))
EVAL1(exp10, pow(10.0, x))
EVAL1(log, log(x))
EVAL1(log2, log2(x))
EVAL1(log10, log10(x))
EVAL1(log1p, log1p(x))
EVAL1(sqrt, sqrt(x))
EVAL1(rsqrt, 1.0 / sqrt(x))
EVAL1(tanh, tanh(x))
EVAL1(sigmoid, 1.0 / (1.0 + exp(-x)))
EVAL1(erf, erf(x))
EVAL1(sin, sin(x))
EVAL1(cos, cos(x))
EVAL1(tan, tan(x))
EVAL1(asin, asin(x))
EVAL1(acos, acos(x))
EVAL1(atan, atan(x))
EVAL1(sinh, sinh(x))
EVAL1(cosh, cosh(x))
EVAL1(asinh, asinh(x))
EVAL1(acosh, acosh(x))
EVAL1(atanh, atanh(x))
EVAL1(floor, floor(x))
EVAL1(ceil, ceil(x))
EVAL1(round, round(x))
EVAL1(trunc, trunc(x))
EVAL1(nearbyint, rint(x)) /* to even: the library never changes the rounding mode */
EVAL1(fabs, fabs(x))
EVAL1(isnan, isnan(x) != 0)
EVAL1(isinf, isinf(x) != 0)
EVAL1(isfinite, isfinite(x) != 0)
EVAL2(pow, pow(x, y))
EVAL2(atan2, atan2(x, y))
EVAL2(fmod, fmod(x, y))
EVAL2(hypot, hypot(x, y))
EVAL2(copysign, copysign(x, y))
EVAL2(ldexp, tnb_math2(TNB_VM_MATH_ldexp, x, y))
EVAL2(nextafter, nextafter(x, y))

/* ---- the table ---- */
static const tn_arg_schema x_arg[] = {{"x", NULL}, {NULL, NULL}};
static const tn_arg_schema xy_args[] = {{"x", NULL}, {"y", NULL}, {NULL, NULL}};
static const tn_arg_schema choice_args[] = {{"cond", "bool"},
                                            {"t", "if true"},
                                            {"f", "if false"},
                                            {NULL, NULL}};
static const tn_arg_schema index_args[] = {
    {"index", "an integer that came as data"},
    {"extent", "of the axis that it is for"},
    {"wraps", "1: a negative index counts from the end"},
    {"site", "what a message calls the place: \"node 'x' (Gather), axis 0\""},
    {NULL, NULL}};
static const tn_arg_schema any_args[] = {{"args", NULL}, {NULL, NULL}};

/* math of one or two operands; the value has the operand's dtype */
#define M1(n, c, cl, cu, d)                                                                        \
    {                                                                                              \
        .size = sizeof(tn_op), .flags = TN_OP_SCALAR, .name = "tirx." #n, .doc = d, .args = x_arg, \
        .min_args = -1, .infer = like_first, .spelling = {c, cl, cu}, .eval = eval_##n             \
    }
#define M2(n, rule, c, cl, cu, d)                                                                 \
    {                                                                                             \
        .size = sizeof(tn_op), .flags = TN_OP_SCALAR, .name = "tirx." #n, .doc = d,               \
        .args = xy_args, .min_args = -1, .infer = rule, .spelling = {c, cl, cu}, .eval = eval_##n \
    }
#define TEST(n, c, cl, cu, d)                                                                      \
    {                                                                                              \
        .size = sizeof(tn_op), .flags = TN_OP_SCALAR, .name = "tirx." #n, .doc = d, .args = x_arg, \
        .min_args = -1, .infer = to_bool, .spelling = {c, cl, cu}, .eval = eval_##n                \
    }
/* operations on bits */
#define BITS1(n, rule, c, cl, cu, d)                                                               \
    {                                                                                              \
        .size = sizeof(tn_op), .flags = TN_OP_SCALAR, .name = "tirx." #n, .doc = d, .args = x_arg, \
        .min_args = -1, .infer = rule, .spelling = {                                               \
            c,                                                                                     \
            cl,                                                                                    \
            cu                                                                                     \
        }                                                                                          \
    }
#define BITS2(n, d)                                                                 \
    {                                                                               \
        .size = sizeof(tn_op), .flags = TN_OP_SCALAR, .name = "tirx." #n, .doc = d, \
        .args = xy_args, .min_args = -1, .infer = like_both                         \
    }
/* any number of arguments, at least `min` */
#define ANY(n, fl, min, rule, d)                                                                 \
    {                                                                                            \
        .size = sizeof(tn_op), .flags = TN_OP_SCALAR | TN_OP_VARIADIC | (fl), .name = "tirx." n, \
        .doc = d, .args = any_args, .min_args = min, .infer = rule                               \
    }
#define EFFECT (TN_OP_IMPURE | TN_OP_READS_MEMORY)
#define READS TN_OP_READS_MEMORY

const tn_op tn_scalar_intrinsics[] = {
    M1(exp, "expf", "exp", "expf", "e to the power x"),
    M1(exp2, "exp2f", "exp2", "exp2f", "2 to the power x"),
    M1(exp10, "exp10f", "exp10", "exp10f", "10 to the power x"),
    M1(log, "logf", "log", "logf", "natural logarithm"),
    M1(log2, "log2f", "log2", "log2f", "logarithm to base 2"),
    M1(log10, "log10f", "log10", "log10f", "logarithm to base 10"),
    M1(log1p, "log1pf", "log1p", "log1pf", "log(1 + x)"),
    M1(sqrt, "sqrtf", "sqrt", "sqrtf", "square root"),
    M1(rsqrt, NULL, "rsqrt", "rsqrtf", "1 / sqrt(x)"),
    M1(tanh, "tanhf", "tanh", "tanhf", "hyperbolic tangent"),
    M1(sigmoid, NULL, NULL, NULL, "1 / (1 + exp(-x))"),
    M1(erf, "erff", "erf", "erff", "error function"),
    M1(sin, "sinf", "sin", "sinf", "sine"),
    M1(cos, "cosf", "cos", "cosf", "cosine"),
    M1(tan, "tanf", "tan", "tanf", "tangent"),
    M1(asin, "asinf", "asin", "asinf", "inverse sine"),
    M1(acos, "acosf", "acos", "acosf", "inverse cosine"),
    M1(atan, "atanf", "atan", "atanf", "inverse tangent"),
    M1(sinh, "sinhf", "sinh", "sinhf", "hyperbolic sine"),
    M1(cosh, "coshf", "cosh", "coshf", "hyperbolic cosine"),
    M1(asinh, "asinhf", "asinh", "asinhf", "inverse hyperbolic sine"),
    M1(acosh, "acoshf", "acosh", "acoshf", "inverse hyperbolic cosine"),
    M1(atanh, "atanhf", "atanh", "atanhf", "inverse hyperbolic tangent"),
    M1(floor, "floorf", "floor", "floorf", "largest integer not above x"),
    M1(ceil, "ceilf", "ceil", "ceilf", "smallest integer not below x"),
    M1(round, "roundf", "round", "roundf", "nearest integer, halves away from zero"),
    M1(trunc, "truncf", "trunc", "truncf", "integer part"),
    M1(nearbyint, "nearbyintf", "rint", "nearbyintf", "nearest integer, halves to even"),
    M1(fabs, "fabsf", "fabs", "fabsf", "absolute value of a float"),
    BITS1(abs, like_first, NULL, NULL, NULL, "absolute value"),
    TEST(isnan, "isnan", "isnan", "isnan", "x is not a number"),
    TEST(isinf, "isinf", "isinf", "isinf", "x is infinite"),
    TEST(isfinite, "isfinite", "isfinite", "isfinite", "x is a finite number"),
    BITS1(popcount, like_first, NULL, "popcount", "__popc", "number of one bits"),
    BITS1(clz, to_i32, NULL, "clz", "__clz", "number of leading zero bits"),
    M2(pow, like_both, "powf", "pow", "powf", "x to the power y"),
    M2(atan2, like_both, "atan2f", "atan2", "atan2f", "angle of the point (y, x)"),
    M2(fmod, like_both, "fmodf", "fmod", "fmodf", "remainder with the sign of x"),
    M2(hypot, like_both, "hypotf", "hypot", "hypotf", "sqrt(x * x + y * y)"),
    M2(copysign, like_both, "copysignf", "copysign", "copysignf", "x with the sign of y"),
    M2(ldexp, like_first, "ldexpf", "ldexp", "ldexpf", "x * 2^y"),
    M2(nextafter, like_both, "nextafterf", "nextafter", "nextafterf",
       "next number after x towards y"),
    BITS2(bitwise_and, "x & y"),
    BITS2(bitwise_or, "x | y"),
    BITS2(bitwise_xor, "x ^ y"),
    BITS1(bitwise_not, like_first, NULL, NULL, NULL, "~x"),
    BITS2(shift_left, "x << y"),
    BITS2(shift_right, "x >> y, arithmetic for signed x"),
    {.size = sizeof(tn_op),
     .flags = TN_OP_SCALAR | TN_OP_LAZY,
     .name = "tirx.if_then_else",
     .doc = "t or f; only the chosen one is evaluated",
     .args = choice_args,
     .min_args = -1,
     .infer = choice},
    {.size = sizeof(tn_op),
     .flags = TN_OP_SCALAR,
     .name = "tirx.index_in",
     .doc = "the index, which is refused, or brought into the range, unless it is in [0, extent)",
     .args = index_args,
     .min_args = -1,
     .infer = like_first},
    BITS1(likely, like_first, NULL, NULL, NULL, "x, which is probably true"),
    {.size = sizeof(tn_op),
     .flags = TN_OP_SCALAR,
     .name = "tirx.reinterpret",
     .doc = "the bits of x as another dtype",
     .args = x_arg,
     .min_args = -1},
    ANY("q_multiply_shift", 0, 4, like_first, "fixed-point x * y with shift s"),
    ANY("large_uint_imm", 0, 2, NULL, "an unsigned literal from its two halves"),
    ANY("undef", 0, 0, NULL, "any value"),
    ANY("vectorlow", 0, 1, NULL, "lower half of a vector"),
    ANY("vectorhigh", 0, 1, NULL, "upper half of a vector"),
    ANY("vectorcombine", 0, 2, NULL, "a vector from its halves"),
    ANY("dp4a", 0, 3, NULL, "dot product of four bytes, added to an integer"),
    ANY("isnullptr", 0, 1, to_bool, "the handle is null"),
    ANY("assume", EFFECT, 1, to_bool, "the condition holds"),
    ANY("tvm_thread_invariant", 0, 1, like_first, "x has the same value in all threads"),
    /* calls of other functions */
    ANY("call_extern", EFFECT, 1, NULL, "call of a C function: name, arguments"),
    ANY("call_pure_extern", 0, 1, NULL, "the same, without effects"),
    ANY("call_llvm_intrin", 0, 1, NULL, "an intrinsic of LLVM"),
    ANY("call_llvm_pure_intrin", 0, 1, NULL, "an intrinsic of LLVM without effects"),
    ANY("tvm_call_packed", EFFECT, 1, just_i32, "call of a packed function: name, arguments"),
    ANY("tvm_call_cpacked", EFFECT, 1, just_i32, "call of a packed function in C form"),
    ANY("tvm_call_packed_lowered", EFFECT, 1, just_i32, "a packed call with its stack arguments"),
    ANY("tvm_throw_last_error", EFFECT, 0, just_i32, "report the last error"),
    ANY("ret", EFFECT, 1, NULL, "the function's result"),
    /* memory */
    {.size = sizeof(tn_op),
     .flags = TN_OP_SCALAR,
     .name = "tirx.address_of",
     .doc = "the address of a buffer's element",
     .args = x_arg,
     .min_args = -1,
     .infer = just_handle},
    ANY("tvm_access_ptr", READS, 5, just_handle,
        "a pointer: type, data, offset, extent, mask (1: read, 2: write)"),
    ANY("type_annotation", 0, 0, NULL, "a dtype as an operand"),
    ANY("handle_add_byte_offset", 0, 2, just_handle, "a pointer moved by bytes"),
    ANY("tvm_stack_alloca", EFFECT, 2, just_handle, "memory on the stack: kind, count"),
    ANY("tvm_stack_make_shape", EFFECT, 0, just_handle, "a shape on the stack"),
    ANY("tvm_stack_make_array", EFFECT, 6, just_handle,
        "a tensor on the stack: data, shape, strides, ndim, dtype, offset"),
    ANY("tvm_struct_get", READS, 3, NULL, "a member of a tensor structure: handle, index, kind"),
    ANY("tvm_struct_set", EFFECT, 4, just_i32, "set a member of a tensor structure"),
    ANY("tvm_tuple", 0, 0, just_handle, "several values as an attribute's node"),
    ANY("prefetch", EFFECT, 1, just_i32, "fetch memory ahead"),
    ANY("tvm_storage_sync", EFFECT, 1, just_i32, "barrier: scope"),
    ANY("tvm_global_barrier_kinit", EFFECT, 0, just_i32, "initialise the barrier of all blocks"),
    ANY("tvm_thread_allreduce", EFFECT, 3, just_handle, "reduction over threads"),
    ANY("tvm_warp_shuffle", EFFECT, 5, NULL,
        "a value of another lane: mask, value, lane, width, warp size"),
    ANY("tvm_warp_shuffle_up", EFFECT, 5, NULL, "a value of a lower lane"),
    ANY("tvm_warp_shuffle_down", EFFECT, 5, NULL, "a value of a higher lane"),
    ANY("tvm_warp_shuffle_xor", EFFECT, 5, NULL, "a value of the lane with flipped bits"),
    ANY("tvm_warp_activemask", EFFECT, 0, NULL, "mask of active lanes"),
    ANY("warp_reduce", EFFECT, 4, like_first,
        "the values of `width` neighbouring lanes joined: value, \"add\", \"min\" or \"max\", "
        "width, "
        "warp size"),
    ANY("warp_size_is", 0, 1, to_bool,
        "warps have that many threads each, neighbours by their number in the block"),
    /* matrix units */
    ANY("tvm_fill_fragment", EFFECT, 6, just_handle, "fill a matrix fragment"),
    ANY("tvm_load_matrix_sync", EFFECT, 8, just_handle, "load a matrix fragment"),
    ANY("tvm_store_matrix_sync", EFFECT, 8, just_handle, "store a matrix fragment"),
    ANY("tvm_mma_sync", EFFECT, 8, just_handle, "multiply and accumulate fragments"),
    ANY("tvm_bmma_sync", EFFECT, 8, just_handle, "multiply and accumulate bit fragments"),
    ANY("ptx_mma", EFFECT, 8, NULL, "mma instruction"),
    ANY("ptx_ldmatrix", EFFECT, 5, NULL, "ldmatrix instruction"),
    ANY("ptx_cp_async", EFFECT, 3, NULL, "asynchronous copy into shared memory"),
    ANY("ptx_commit_group", EFFECT, 0, NULL, "end a group of asynchronous copies"),
    ANY("ptx_wait_group", EFFECT, 1, NULL, "wait for groups of asynchronous copies"),
    ANY("mma_store", EFFECT, 4, NULL, "store an accumulator"),
    ANY("mma_fill", EFFECT, 3, NULL, "fill an accumulator"),
    ANY("make_filled_simdgroup_matrix", EFFECT, 5, just_handle, "fill a Metal matrix"),
    ANY("simdgroup_load", EFFECT, 6, just_handle, "load a Metal matrix"),
    ANY("simdgroup_store", EFFECT, 6, just_handle, "store a Metal matrix"),
    ANY("simdgroup_multiply_accumulate", EFFECT, 8, just_handle,
        "multiply and accumulate Metal matrices"),
};
const uint32_t tn_n_scalar_intrinsics = sizeof tn_scalar_intrinsics / sizeof *tn_scalar_intrinsics;
