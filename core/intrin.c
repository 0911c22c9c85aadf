/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar intrinsics: types, arguments and values on doubles; the table is tenon/core/intrin.def. */
#include "private.h"
#include <math.h>
#include "tenon/base/scalar.h"

/* ---- type rules ---- */
static const tn_type *
like_first(tn_ctx *ctx, const tn_call *c)
{
    if (!c->args.n || !tn_is_scalar(c->args.at[0]))
        return tn_error(ctx, 0, TNB_TYPE, "%s needs scalar arguments", tn_call_op_of(c)->base.name);
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
                        tn_call_op_of(c)->base.name, tnb_dtype_print(a).s, tnb_dtype_print(b).s);
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

/* Bytes four to a number of 32 bits, or as so many lanes of 8 bits. */
static bool
holds_bytes(tnb_dtype d, uint16_t numbers)
{
    return tnb_dtype_is_int(d) &&
           ((d.bits == 32 && d.lanes == numbers) || (d.bits == 8 && d.lanes == 4 * (int)numbers));
}

static const tn_type *
like_sum(tn_ctx *ctx, const tn_call *c)
{
    const tnb_dtype sum = tn_dtype_of(c->args.at[2]);
    if (!tnb_dtype_is_int(sum) || sum.bits != 32)
        return tn_error(ctx, 0, TNB_TYPE, "the sum of dp4a must be int32 or uint32, not %s",
                        tnb_dtype_print(sum).s);
    for (uint32_t i = 0; i < 2; i++) {
        const tnb_dtype d = tn_dtype_of(c->args.at[i]);
        if (!holds_bytes(d, sum.lanes))
            return tn_error(ctx, 0, TNB_TYPE,
                            "dp4a to a sum of %s takes as many numbers of 32 bits, or four times "
                            "as many of 8 bits, not %s",
                            tnb_dtype_print(sum).s, tnb_dtype_print(d).s);
    }
    return c->args.at[2]->type;
}

static bool
is_integer(const tn_expr *e)
{
    return tn_is_scalar(e) && tnb_dtype_is_int(tn_dtype_of(e)) && tn_dtype_of(e).lanes == 1;
}

/* The address of a barrier, and a number. */
static const tn_type *
on_barrier(tn_ctx *ctx, const tn_call *c)
{
    const tn_expr *at = c->args.at[0];
    if (!tn_is_scalar(at) || tn_dtype_of(at).code != TNB_HANDLE)
        return tn_error(ctx, 0, TNB_TYPE,
                        "%s takes the address of a barrier: T.address_of of an element of a buffer "
                        "in the scope \"shared.barrier\"",
                        tn_call_op_of(c)->base.name);
    if (c->args.n > 1 && !is_integer(c->args.at[1]))
        return tn_error(ctx, 0, TNB_TYPE, "%s takes an integer behind the barrier",
                        tn_call_op_of(c)->base.name);
    return just_i32(ctx, c);
}

static const tn_type *
bulk_copy(tn_ctx *ctx, const tn_call *c)
{
    for (uint32_t i = 0; i < 4; i++) {
        const tn_expr *e = c->args.at[i];
        if (i == 2 ? !is_integer(e) : !tn_is_scalar(e) || tn_dtype_of(e).code != TNB_HANDLE)
            return tn_error(ctx, 0, TNB_TYPE,
                            "ptx_cp_async_bulk takes addresses in shared and in global memory, a "
                            "number of bytes, and the address of a barrier");
    }
    return just_i32(ctx, c);
}

static const tn_type *
named_barrier(tn_ctx *ctx, const tn_call *c)
{
    if (!is_integer(c->args.at[0]) || !is_integer(c->args.at[1]))
        return tn_error(ctx, 0, TNB_TYPE,
                        "%s takes the number of a barrier and a number of threads",
                        tn_call_op_of(c)->base.name);
    return just_i32(ctx, c);
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
static const tn_arg_schema dot_args[] = {{"x", "bytes, four to a number or as many lanes"},
                                         {"y", "likewise"},
                                         {"sum", NULL},
                                         {NULL, NULL}};
static const tn_arg_schema bar_args[] = {{"barrier", "its address in shared memory"}, {NULL, NULL}};
static const tn_arg_schema bar_count_args[] = {{"barrier", "its address in shared memory"},
                                               {"count", "arrivals of a phase"},
                                               {NULL, NULL}};
static const tn_arg_schema bar_bytes_args[] = {{"barrier", "its address in shared memory"},
                                               {"bytes", "that are expected"},
                                               {NULL, NULL}};
static const tn_arg_schema bar_parity_args[] = {{"barrier", "its address in shared memory"},
                                                {"parity", "0 or 1"},
                                                {NULL, NULL}};
static const tn_arg_schema bulk_args[] = {{"to", "address in shared memory, of 16 bytes"},
                                          {"from", "address in global memory, of 16 bytes"},
                                          {"bytes", "a multiple of 16"},
                                          {"barrier", "its address in shared memory"},
                                          {NULL, NULL}};
static const tn_arg_schema named_args[] = {{"number", "1 to 15"},
                                           {"threads", "of whole warps"},
                                           {NULL, NULL}};
static const tn_arg_schema any_args[] = {{"args", NULL}, {NULL, NULL}};

#define EFFECT (TN_OP_IMPURE | TN_OP_READS_MEMORY)
#define READS TN_OP_READS_MEMORY

const tn_op tn_scalar_intrinsics[] = {
#define TN_INTRIN(id, more, takes, fewest, rule, value, what) \
    {.base.size = sizeof(tn_op),                              \
     .flags = TN_OP_SCALAR | (more),                          \
     .base.name = "tirx." #id,                                \
     .base.doc = (what),                                      \
     .args = (takes),                                         \
     .min_args = (fewest),                                    \
     .infer = (rule),                                         \
     .eval = (value),                                         \
     .intrin = TN_INTRIN_##id},
#include "tenon/core/intrin.def"
#undef TN_INTRIN
};
const uint32_t tn_n_scalar_intrinsics = sizeof tn_scalar_intrinsics / sizeof *tn_scalar_intrinsics;
