/* SPDX-License-Identifier: Apache-2.0 */
/* Mathematical functions of emitted source. Scalars call the system's library; vectors of float32
 * have functions of their own for what models spend time in, and call the scalar function lane by
 * lane for the rest.
 *
 * Stated greatest errors of the vector functions, in units in the last place of the result, over all float32 arguments
 * (tests/kit/t_math.c tries each): exp 3, log 1.5, log1p 2, log2 and log10 2.5, sigmoid 4, tanh 8, erf 9, sin and cos 3,
 * rsqrt 1.5; over pairs that are drawn: pow 0.6. They hold with and without fused multiply-adds.
 * Results of exp below 1.67e-38 may come out as 0, and others below the normal range. NaN stays NaN. exp, the logarithms,
 * sigmoid, tanh and erf have no branch and no table: 13 to 25 instructions and at most one division; sin and cos branch where
 * an argument is beyond 8192.
 */
#include "emit_private.h"

#include "../polynomials.h"

#define FIRST(p, x, a, b) "    $V " #p " = " #x " * " #a " + " #b ";\n"
#define NEXT(p, x, c) "    " #p " = " #p " * " #x " + " #c ";\n"
#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

/* $V vector, $I vector of int32, $D and $J of double and int64, $F text of the function's qualifiers, $N lanes. $bc(x):
 * broadcast. Vectors of doubles that are wider than a register are not compared: compilers do that lane by lane. */
/* 2^n e^r, |r| <= ln(2) / 2: the low bits of t are n + 126, so that shifted up they are 2^(n - 1); the polynomial is
 * 2 e^r, and its product with the power overflows to infinity by itself. Where n is -126 the power is 0. */
#define EXP_POLYNOMIAL TNK_EXP_P(FIRST, NEXT, p, r)
static const char exp_text[] =
    "$F $V tk_exp_$V($V x)\n{\n"
    "    $V c = $min($max(x, $bc(-87.3365479f)), $bc(88.75f));\n"
    "    $V t = c * 1.44269504f + 12583038.0f; /* 1.5 * 2^23 + 126 */\n"
    "    $V n = t - 12583038.0f;\n"
    "    $V r = c - n * 0.693359375f;\n"
    "    r = r + n * 2.12194440e-4f;\n" EXP_POLYNOMIAL "    return p * ($V)(($I)t << 23);\n}\n";
/* x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f + p, of which f is exact. */
#define LOG_PARTS                                                        \
    "    $I tiny = ($I)(x < 1.17549435e-38f);\n"                         \
    "    $V y = $sel(tiny, x * 8388608.0f, x);\n"                        \
    "    $I b = ($I)y - 0x3f3504f3; /* sqrt(1/2) */\n"                   \
    "    $V e = __builtin_convertvector((b >> 23) - (tiny & 23), $V);\n" \
    "    $V f = ($V)((b & 0x7fffff) + 0x3f3504f3) - 1.0f;\n" LOG_POLYNOMIAL
#define LOG_POLYNOMIAL \
    "    $V z = f * f;\n" TNK_LOG_P(FIRST, NEXT, p, f) "    p = z * f * p - z * 0.5f;\n"
/* Infinity stays, NaN comes of what is below `zero`, and -infinity there. */
#define LOG_ENDS(zero)                                                \
    "    y = $sel(($I)(x == __builtin_inff()), x, y);\n"              \
    "    y = $sel(($I)(x == " zero "), $bc(-__builtin_inff()), y);\n" \
    "    return ($V)(($I)y | ~($I)(x >= " zero "));\n}\n"
static const char log_text[] =
    "$F $V tk_log_$V($V x)\n{\n" LOG_PARTS
    "    y = e * 0.693359375f + (f + (p - e * 2.12194440e-4f));\n" LOG_ENDS("0.0f");
static const char log2_text[] =
    "$F $V tk_log2_$V($V x)\n{\n" LOG_PARTS "    y = e + (f + p) * 1.44269504f;\n" LOG_ENDS("0.0f");
static const char log10_text[] = "$F $V tk_log10_$V($V x)\n{\n" LOG_PARTS
                                 "    y = e * 0.301025391f + ((f + p) * 0.434294492f + e * "
                                 "4.60503907e-6f);\n" LOG_ENDS("0.0f");
/* What 1 + x is rounded by comes to f. */
static const char log1p_text[] =
    "$F $V tk_log1p_$V($V x)\n{\n"
    "    $V y = 1.0f + x, c = $sel(($I)(x < 1.0f), x - (y - 1.0f), 1.0f - (y - x));\n"
    "    $I b = ($I)y - 0x3f3504f3, n = b >> 23, q = 127 - n; /* sqrt(1/2) */\n"
    "    $V e = __builtin_convertvector(n, $V);\n"
    "    $V f = ($V)((b & 0x7fffff) + 0x3f3504f3) - 1.0f;\n"
    "    f = f + c * ($V)((q & ~(q >> 31)) << 23);\n" LOG_POLYNOMIAL
    "    y = e * 0.693359375f + (f + (p - e * 2.12194440e-4f));\n" LOG_ENDS("-1.0f");
/* x = n pi/2 + r, |r| <= pi/4; the first parts of pi/2 have so few bits that their products with n are exact. Larger
 * arguments, of which that would leave nothing, are the library's. */
#define MINUS(part) "    r = r - n * " TEXT(part) ";\n"
#define SINE_REST                                                                    \
    "    $V r = x;\n" MINUS(TNK_HALF_PI_1) MINUS(TNK_HALF_PI_2) MINUS(TNK_HALF_PI_3) \
        MINUS(TNK_HALF_PI_4) "    $V z = r * r;\n"
#define SINE_POLYNOMIALS                                 \
    TNK_SIN_P(FIRST, NEXT, s, z)                         \
    "    s = s * z * r + r;\n" TNK_COS_P(FIRST, NEXT, c, \
                                         z) "    c = c * z * z + (1.0f - z * 0.5f);\n"
#define SINE(name, first)                                                                          \
    "$F $V tk_" name "_$V($V x)\n{\n"                                                              \
    "    $V t = x * 0.636619747f + 12582912.0f, n = t - 12582912.0f; /* 1.5 * 2^23 */\n" SINE_REST \
    "    $I k = ($I)t" first ";\n" SINE_POLYNOMIALS                                                \
    "    s = ($V)(($I)$sel(-(k & 1), c, s) ^ (k & 2) << 30);\n"                                    \
    "    $I far = ~(($I)(x <= 8192.0f) & ($I)(x >= -8192.0f));\n"                                  \
    "    int any = 0;\n"                                                                           \
    "    for (int i = 0; i < $N; i++)\n        any |= far[i];\n"                                   \
    "    for (int i = 0; any && i < $N; i++)\n"                                                    \
    "        s[i] = far[i] ? " name "f(x[i]) : s[i];\n"                                            \
    "    return s;\n}\n"
static const char sin_text[] = SINE("sin", "");
static const char cos_text[] = SINE("cos", " + 1");
static const char sigmoid_text[] =
    "$F $V tk_sigmoid_$V($V x)\n{\n    return 1.0f / (1.0f + tk_exp_$V(-x));\n}\n";
/* Where the greatest relative error of x P(x^2) / Q(x^2) is least, all coefficients are positive, so that nothing cancels.
 * Behind the bounds the quotient is above 1, and the result is 1: infinity times (1 - tanh) has to be NaN. */
#define TANH_QUOTIENT TNK_TANH_P(FIRST, NEXT, p, z) TNK_TANH_Q(FIRST, NEXT, q, z)
static const char tanh_text[] =
    "$F $V tk_tanh_$V($V x)\n{\n"
    "    $V c = $min($max(x, $bc(-9.46f)), $bc(9.46f)), z = c * c;\n" TANH_QUOTIENT
    "    return $min($max(c * p / q, $bc(-1.0f)), $bc(1.0f));\n}\n";
#define ERF_QUOTIENT TNK_ERF_P(FIRST, NEXT, p, z) TNK_ERF_Q(FIRST, NEXT, q, z)
static const char erf_text[] =
    "$F $V tk_erf_$V($V x)\n{\n"
    "    $V c = $min($max(x, $bc(-4.05f)), $bc(4.05f)), z = c * c;\n" ERF_QUOTIENT
    "    return $min($max(c * p / q, $bc(-1.0f)), $bc(1.0f));\n}\n";

/* Through doubles, in which |x| = 2^e m has log2 m = s P(s^2), s = (m - 1) / (m + 1), to 4e-12 of itself, and the fraction
 * of y log2 |x| a power to 2e-9; zeros, infinities and signs are put in behind. An exponent that is no number reaches the
 * result by itself. */
static const char pow_text[] =
    "$F $V tk_pow_$V($V x, $V y)\n{\n"
    "    $V a = ($V)(($I)x & 0x7fffffff);\n"
    "    $I tiny = ($I)(a < 1.17549435e-38f);\n"
    "    $I b = ($I)$sel(tiny, a * 8388608.0f, a) - 0x3f3504f3; /* sqrt(1/2) */\n"
    "    $D f = __builtin_convertvector(($V)((b & 0x7fffff) + 0x3f3504f3) - 1.0f, $D);\n"
    "    $D s = f / (f + 2.0), z = s * s, p = z * 0.34073017685420720 + 0.41167271486031310;\n"
    "    p = p * z + 0.57708358503747190;\n"
    "    p = p * z + 0.96179667334147720;\n"
    "    p = p * z + 2.8853900817900860;\n"
    "    $D e = __builtin_convertvector((b >> 23) - (tiny & 23), $D);\n"
    "    $D t = (s * p + e) * __builtin_convertvector(y, $D);\n"
    "    $D u = t + 6755399441056767.0, r = t - (u - 6755399441056767.0); /* 1.5 * 2^52 + 1023 */\n"
    "    p = r * 1.5345779771295266e-4 + 1.3399929818629383e-3;\n"
    "    p = p * r + 9.6184890609642350e-3;\n"
    "    p = p * r + 5.5503287816624156e-2;\n"
    "    p = p * r + 0.24022646890115523;\n"
    "    p = p * r + 0.69314720573488680;\n"
    "    p = p * r + 1.0000000005541099;\n"
    "    $V w = __builtin_convertvector(p * ($D)(($J)u << 52), $V), v = __builtin_convertvector(t, "
    "$V);\n"
    "    w = $sel(($I)(v > 300.0f), $bc(__builtin_inff()), ($V)(($I)w & ~($I)(v < -300.0f)));\n"
    "    $V c = $min($max(y, $bc(-16777216.0f)), $bc(16777216.0f));\n"
    "    $I n = __builtin_convertvector(c, $I), whole = ($I)(__builtin_convertvector(n, $V) == "
    "c);\n"
    "    $I zero = ($I)(a == 0.0f), above = ($I)(a == __builtin_inff());\n"
    "    $V end = ($V)(~(zero ^ ($I)(y < 0.0f)) & 0x7f800000);\n"
    "    w = $sel((zero | above) & ($I)(y == y), end, w);\n"
    "    w = $sel(($I)(a == 1.0f) & ($I)(y == y), $bc(1.0f), w);\n"
    "    w = ($V)(($I)w | (($I)x & n << 31 & whole));\n"
    "    w = ($V)(($I)w | (($I)(x < 0.0f) & ~whole & ~above));\n"
    "    w = ($V)(($I)w | ($I)(x != x));\n"
    "    return $sel(($I)(x == 1.0f) | ($I)(y == 0.0f), $bc(1.0f), w);\n}\n";

/* The C library's name for doubles, and what helpers of emission's own are called after; NULL: no function of mathematics. */
static const char *
c_name(tn_intrin_id op)
{
    switch ((int)op) {
    case TN_INTRIN_exp:
        return "exp";
    case TN_INTRIN_exp2:
        return "exp2";
    case TN_INTRIN_log:
        return "log";
    case TN_INTRIN_log2:
        return "log2";
    case TN_INTRIN_log10:
        return "log10";
    case TN_INTRIN_log1p:
        return "log1p";
    case TN_INTRIN_sqrt:
        return "sqrt";
    case TN_INTRIN_tanh:
        return "tanh";
    case TN_INTRIN_erf:
        return "erf";
    case TN_INTRIN_sin:
        return "sin";
    case TN_INTRIN_cos:
        return "cos";
    case TN_INTRIN_tan:
        return "tan";
    case TN_INTRIN_asin:
        return "asin";
    case TN_INTRIN_acos:
        return "acos";
    case TN_INTRIN_atan:
        return "atan";
    case TN_INTRIN_sinh:
        return "sinh";
    case TN_INTRIN_cosh:
        return "cosh";
    case TN_INTRIN_asinh:
        return "asinh";
    case TN_INTRIN_acosh:
        return "acosh";
    case TN_INTRIN_atanh:
        return "atanh";
    case TN_INTRIN_floor:
        return "floor";
    case TN_INTRIN_ceil:
        return "ceil";
    case TN_INTRIN_round:
        return "round";
    case TN_INTRIN_trunc:
        return "trunc";
    case TN_INTRIN_nearbyint:
        return "nearbyint";
    case TN_INTRIN_pow:
        return "pow";
    case TN_INTRIN_atan2:
        return "atan2";
    case TN_INTRIN_fmod:
        return "fmod";
    case TN_INTRIN_hypot:
        return "hypot";
    case TN_INTRIN_copysign:
        return "copysign";
    case TN_INTRIN_nextafter:
        return "nextafter";
    case TN_INTRIN_fabs:
        return "fabs";
    case TN_INTRIN_ldexp:
        return "ldexp";
    case TN_INTRIN_sigmoid:
        return "sigmoid";
    case TN_INTRIN_rsqrt:
        return "rsqrt";
    case TN_INTRIN_exp10:
        return "exp10";
    default:
        return NULL;
    }
}

/* Functions of vectors of float32 that are made here; *needs: another one that it calls, or NONE. NULL: there is none. */
static const char *
own_text(tn_intrin_id op, tn_intrin_id *needs)
{
    *needs = op == TN_INTRIN_sigmoid ? TN_INTRIN_exp : TN_INTRIN_NONE;
    switch ((int)op) {
    case TN_INTRIN_exp:
        return exp_text;
    case TN_INTRIN_sigmoid:
        return sigmoid_text;
    case TN_INTRIN_log:
        return log_text;
    case TN_INTRIN_log2:
        return log2_text;
    case TN_INTRIN_log10:
        return log10_text;
    case TN_INTRIN_log1p:
        return log1p_text;
    case TN_INTRIN_tanh:
        return tanh_text;
    case TN_INTRIN_erf:
        return erf_text;
    case TN_INTRIN_sin:
        return sin_text;
    case TN_INTRIN_cos:
        return cos_text;
    case TN_INTRIN_pow:
        return pow_text;
    default:
        return NULL;
    }
}

static void
instantiate(tnk_emitter *e, const char *text, tnb_dtype d)
{
    tnb_buf *b = &e->src->helpers;
    tnb_dtype wide = {TNB_FLOAT, 64, d.lanes};
    bool doubles = strstr(text, "$D") != NULL;
    const struct {
        const char *key, *value;
    } subst[] = {
        {"$D", doubles ? tnk_c_type(e, wide) : ""},
        {"$J", doubles ? tnk_c_type(e, tnk_mask_dtype(64, d.lanes)) : ""},
        {"$min", tnk_help_minmax(e, d, false)},
        {"$max", tnk_help_minmax(e, d, true)},
        {"$sel", tnk_help_select(e, d)},
        {"$bc", tnk_help_broadcast(e, d)},
        {"$V", tnk_c_type(e, d)},
        {"$I", tnk_c_type(e, tnk_mask_dtype(32, d.lanes))},
        {"$F", e->d->inline_},
        {"$N", tn_strf(e->ctx, "%d", (int)d.lanes)},
    };
    for (const char *p = text; *p;) {
        bool hit = false;
        for (size_t i = 0; *p == '$' && i < sizeof subst / sizeof subst[0] && !hit; i++)
            if (!strncmp(p, subst[i].key, strlen(subst[i].key))) {
                tnb_buf_puts(b, subst[i].value);
                p += strlen(subst[i].key);
                hit = true;
            }
        if (!hit)
            tnb_buf_putc(b, *p++);
    }
}

static const char *
own_vector(tnk_emitter *e, tn_intrin_id op, tnb_dtype d)
{
    tn_intrin_id needs;
    const char *text = own_text(op, &needs);
    if (!text)
        return NULL;
    if (needs != TN_INTRIN_NONE)
        (void)own_vector(e, needs, d);
    const char *f = tn_strf(e->ctx, "tk_%s_%s", c_name(op), tnk_c_type(e, d));
    if (!tnb_strmap_has(&e->src->have, f)) {
        instantiate(e, text, d);
        (void)tnk_once(e, f);
    }
    return f;
}

/* What the dialect has a body of its own for; lane by lane elsewhere. NULL: it has none. */
static const char *
machine_vector(tnk_emitter *e, tn_intrin_id op, tnb_dtype d, const char *scalar)
{
    const char *own =
        e->d->body ? TNK_HOOK(e->src, "body", e->d->body(e, TNK_HELPER_FUNCTION, op, d)) : NULL;
    if (!own)
        return NULL;
    const char *v = tnk_c_type(e, d), *f = tn_strf(e->ctx, "tk_%s_%s", c_name(op), v);
    if (tnk_once(e, f))
        tnb_buf_printf(&e->src->helpers,
                       "%s %s %s(%s x)\n{\n%s#else\n    %s r;\n    for (int i = 0; i < %d; i++)\n"
                       "        r[i] = %s(x[i]);\n    return r;\n#endif\n}\n",
                       e->d->inline_, v, f, v, own, v, d.lanes, scalar);
    return f;
}

/* sigmoid, rsqrt, exp10, which no library has. */
static const char *
made_function(tnk_emitter *e, tn_intrin_id op, tnb_dtype d)
{
    bool f64 = d.bits == 64;
    const char *t = f64 ? "double" : "float", *x = f64 ? "" : "f",
               *call = f64 ? "" : tnk_or_none(e->d->float_suffix),
               *f = tn_strf(e->ctx, "tk_%s_%s", c_name(op), tnk_short_name(d));
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s x)\n{\n    return ", e->d->inline_, t, f, t);
    if (op == TN_INTRIN_sigmoid)
        tnb_buf_printf(b, "1 / (1 + exp%s(-x))", call);
    else if (op == TN_INTRIN_rsqrt)
        tnb_buf_printf(b, "1 / sqrt%s(x)", call);
    else
        tnb_buf_printf(b, "exp2%s(x * 3.32192809488736234787%s)", call, x);
    tnb_buf_puts(b, ";\n}\n");
    return f;
}

const char *
tnk_own_name(const tnk_emitter *e, tn_intrin_id op)
{
    for (const tnk_function_name *f = e->d->functions; f && f->intrin != TN_INTRIN_NONE; f++)
        if (f->intrin == op)
            return f->name;
    return NULL;
}

static const char *
scalar_function(tnk_emitter *e, tn_intrin_id op, tnb_dtype d)
{
    const char *own = tnk_own_name(e, op);
    if (own)
        return own;
    if (op == TN_INTRIN_sigmoid || op == TN_INTRIN_rsqrt || op == TN_INTRIN_exp10)
        return made_function(e, op, d);
    const char *name = c_name(op);
    if (!name)
        return NULL;
    return d.bits == 64 ? name : tn_strf(e->ctx, "%s%s", name, tnk_or_none(e->d->float_suffix));
}

static const char *
reciprocal_root(tnk_emitter *e, tnb_dtype d)
{
    const char *root = tnk_math_function(e, TN_INTRIN_sqrt, d, 1), *v = tnk_c_type(e, d),
               *f = tn_strf(e->ctx, "tk_rsqrt_%s", v);
    if (tnk_once(e, f))
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n    return 1 / %s(x);\n}\n",
                       e->d->inline_, v, f, v, root);
    return f;
}

const char *
tnk_math_function(tnk_emitter *e, tn_intrin_id op, tnb_dtype d, int n_args)
{
    tnb_dtype s = d;
    s.lanes = 1;
    if (d.code != TNB_FLOAT)
        return NULL;
    const char *scalar = scalar_function(e, op, s);
    if (d.lanes == 1 || !scalar)
        return scalar;
    if (e->d->vector_functions) /* of the language; those made here take no vectors */
        return strncmp(scalar, "tk_", 3) ? scalar : tnk_help_map(e, d, d, scalar, n_args);
    if (!e->d->gnu_vectors)
        return tnk_help_map(e, d, d, scalar, n_args);
    const char *f = d.bits == 32 ? own_vector(e, op, d) : NULL;
    if (!f && n_args == 1 && d.bits >= 32 && op == TN_INTRIN_rsqrt)
        f = reciprocal_root(e, d);
    if (!f && n_args == 1)
        f = machine_vector(e, op, d, scalar);
    return f ? f : tnk_help_map(e, d, d, scalar, n_args);
}
