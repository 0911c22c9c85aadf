/* SPDX-License-Identifier: Apache-2.0 */
/* Mathematical functions of emitted source. Scalars call the system's library; vectors of float32
 * have functions of their own for what models spend time in, and call the scalar function lane by
 * lane for the rest.
 *
 * Stated greatest errors of the vector functions (units in the last place of the result, over all
 * float32 arguments): exp 2, log 2, sigmoid 4, tanh 6, erf 8. Results below the normal range may
 * come out as 0.
 */
#include "emit_private.h"

/* $V vector, $I vector of int32, $F text of the function's qualifiers, $N lanes. bc(x): broadcast.
 */
static const char exp_text[] =
    "$F $V tk_exp_$V($V x)\n{\n"
    "    $V c = $min($max(x, $bc(-104.0f)), $bc(89.0f));\n"
    "    $V t = c * 1.44269504f + 12582912.0f; /* round(c / ln 2) in the low bits */\n"
    "    $V n = t - 12582912.0f;\n"
    "    $V r = c - n * 0.693359375f;\n"
    "    r = r + n * 2.12194440e-4f;\n"
    "    $V p = r * (1.0f / 5040.0f) + 1.0f / 720.0f;\n"
    "    p = p * r + 1.0f / 120.0f;\n"
    "    p = p * r + 1.0f / 24.0f;\n"
    "    p = p * r + 1.0f / 6.0f;\n"
    "    p = p * r + 0.5f;\n"
    "    p = p * r * r + r + 1.0f;\n"
    "    $I i = ($I)t - 0x4b400000, h = i >> 1;\n"
    "    p = p * ($V)((h + 127) << 23) * ($V)((i - h + 127) << 23);\n"
    "    return $sel(($I)(x == x), p, x);\n}\n";
static const char log_text[] =
    "$F $V tk_log_$V($V x)\n{\n"
    "    $I tiny = ($I)(x < 1.17549435e-38f);\n"
    "    $V y = $sel(tiny, x * 8388608.0f, x);\n"
    "    $I b = ($I)y - 0x3f3504f3; /* sqrt(1/2) */\n"
    "    $V e = __builtin_convertvector((b >> 23) - (tiny & 23), $V);\n"
    "    $V m = ($V)((b & 0x7fffff) + 0x3f3504f3);\n"
    "    $V s = (m - 1.0f) / (m + 1.0f), q = s * s;\n"
    "    $V p = q * (1.0f / 11.0f) + 1.0f / 9.0f;\n"
    "    p = p * q + 1.0f / 7.0f;\n"
    "    p = p * q + 1.0f / 5.0f;\n"
    "    p = p * q + 1.0f / 3.0f;\n"
    "    p = e * 0.693359375f + (s * 2.0f + (s * 2.0f * q * p - e * 2.12194440e-4f));\n"
    "    p = $sel(($I)(x == __builtin_inff()), x, p);\n"
    "    p = $sel(($I)(x == 0.0f), $bc(-__builtin_inff()), p);\n"
    "    return $sel(($I)(x >= 0.0f), p, $bc(__builtin_nanf(\"\")));\n}\n";
static const char sigmoid_text[] =
    "$F $V tk_sigmoid_$V($V x)\n{\n    return 1.0f / (1.0f + tk_exp_$V(-x));\n}\n";
static const char tanh_text[] = "$F $V tk_tanh_$V($V x)\n{\n"
                                "    $I sign = ($I)x & (int32_t)0x80000000;\n"
                                "    $V a = ($V)(($I)x & 0x7fffffff), q = x * x;\n"
                                "    $V p = q * (-1382.0f / 155925.0f) + 62.0f / 2835.0f;\n"
                                "    p = p * q - 17.0f / 315.0f;\n"
                                "    p = p * q + 2.0f / 15.0f;\n"
                                "    p = p * q - 1.0f / 3.0f;\n"
                                "    p = x + x * q * p;\n"
                                "    $V w = 1.0f - 2.0f / (tk_exp_$V(a + a) + 1.0f);\n"
                                "    w = ($V)(($I)w | sign);\n"
                                "    return $sel(($I)(a < 0.35f), p, w);\n}\n";
static const char erf_text[] = "$F $V tk_erf_$V($V x)\n{\n"
                               "    $I sign = ($I)x & (int32_t)0x80000000;\n"
                               "    $V a = ($V)(($I)x & 0x7fffffff), q = x * x;\n"
                               "    $V p = q * (-1.0f / 75600.0f) + 1.0f / 9360.0f;\n"
                               "    p = p * q - 1.0f / 1320.0f;\n"
                               "    p = p * q + 1.0f / 216.0f;\n"
                               "    p = p * q - 1.0f / 42.0f;\n"
                               "    p = p * q + 0.1f;\n"
                               "    p = p * q - 1.0f / 3.0f;\n"
                               "    p = (p * q + 1.0f) * x * 1.12837917f;\n"
                               "    /* Abramowitz and Stegun 7.1.26 */\n"
                               "    $V t = 1.0f / (1.0f + 0.3275911f * a);\n"
                               "    $V w = t * 1.061405429f - 1.453152027f;\n"
                               "    w = w * t + 1.421413741f;\n"
                               "    w = w * t - 0.284496736f;\n"
                               "    w = w * t + 0.254829592f;\n"
                               "    w = 1.0f - w * t * tk_exp_$V(-q);\n"
                               "    w = ($V)(($I)w | sign);\n"
                               "    w = $sel(($I)(a < 0.7f), p, w);\n"
                               "    return $sel(($I)(x == x), w, x);\n}\n";

typedef struct own_function {
    const char *name, *needs, *text;
} own_function;

static const own_function own[] = {
    {"exp", NULL, exp_text},    {"log", NULL, log_text},  {"sigmoid", "exp", sigmoid_text},
    {"tanh", "exp", tanh_text}, {"erf", "exp", erf_text},
};

static void
instantiate(tnk_emitter *e, const char *text, tnb_dtype d)
{
    tnb_buf *b = &e->src->helpers;
    const struct {
        const char *key, *value;
    } subst[] = {
        {"$min", tnk_help_minmax(e, d, false)},
        {"$max", tnk_help_minmax(e, d, true)},
        {"$sel", tnk_help_select(e, d)},
        {"$bc", tnk_help_broadcast(e, d)},
        {"$V", tnk_c_type(e, d)},
        {"$I", tnk_c_type(e, tnk_mask_dtype(32, d.lanes))},
        {"$F", e->d->inline_},
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
own_vector(tnk_emitter *e, const char *op, tnb_dtype d)
{
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(own[i].name, op))
            continue;
        if (own[i].needs)
            (void)own_vector(e, own[i].needs, d);
        const char *f = tn_strf(e->ctx, "tk_%s_%s", op, tnk_c_type(e, d));
        if (!tnb_strmap_has(&e->src->have, f)) {
            instantiate(e, own[i].text, d);
            (void)tnk_once(e, f);
        }
        return f;
    }
    return NULL;
}

/* Single instructions of x86 where the vector is as wide as a register, lane by lane elsewhere. */
static const char *
machine_vector(tnk_emitter *e, const char *op, tnb_dtype d, const char *scalar)
{
    static const struct {
        const char *op, *builtin, *mode, *feature128;
    } rows[] = {
        {"sqrt", "sqrt", NULL, "__SSE2__"},        {"floor", "round", "9", "__SSE4_1__"},
        {"ceil", "round", "10", "__SSE4_1__"},     {"trunc", "round", "11", "__SSE4_1__"},
        {"nearbyint", "round", "8", "__SSE4_1__"},
    };
    unsigned bits = (unsigned)d.bits * d.lanes;
    if (d.code != TNB_FLOAT || (bits != 128 && bits != 256))
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].op, op))
            continue;
        const char *v = tnk_c_type(e, d), *f = tn_strf(e->ctx, "tk_%s_%s", op, v);
        if (!tnk_once(e, f))
            return f;
        tnb_buf_printf(
            &e->src->helpers,
            "%s %s %s(%s x)\n{\n#if defined(%s) && defined(__GNUC__) && !defined(__clang__)\n"
            "    return __builtin_ia32_%s%s%s(x%s%s);\n#else\n    %s r;\n"
            "    for (int i = 0; i < %d; i++)\n        r[i] = %s(x[i]);\n    return "
            "r;\n#endif\n}\n",
            e->d->inline_, v, f, v, bits == 256 ? "__AVX__" : rows[i].feature128, rows[i].builtin,
            d.bits == 64 ? "pd" : "ps", bits == 256 ? "256" : "", rows[i].mode ? ", " : "",
            rows[i].mode ? rows[i].mode : "", v, d.lanes, scalar);
        return f;
    }
    return NULL;
}

static const char *const plain[] = {
    "exp",   "exp2",  "log",    "log2",     "log10",     "log1p", "expm1", "sqrt",      "tanh",
    "erf",   "sin",   "cos",    "tan",      "asin",      "acos",  "atan",  "sinh",      "cosh",
    "asinh", "acosh", "atanh",  "floor",    "ceil",      "round", "trunc", "nearbyint", "pow",
    "atan2", "fmod",  "hypot",  "copysign", "nextafter", "fabs",  "rint",  "fmax",      "fmin",
    "fma",   "cbrt",  "lgamma", "tgamma",   "erfc",
};

static const char *
scalar_function(tnk_emitter *e, const char *op, tnb_dtype d, const tn_op *desc)
{
    bool f64 = d.bits == 64;
    const char *t = f64 ? "double" : "float", *x = f64 ? "" : "f";
    static const char *const made[] = {"sigmoid", "rsqrt", "exp10"};
    if (e->d->id == TN_DIALECT_OPENCL && !strcmp(op, "nearbyint"))
        return "rint";
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (!strcmp(plain[i], op))
            return tn_strf(e->ctx, "%s%s", op,
                           e->d->id == TN_DIALECT_C || e->d->id == TN_DIALECT_CUDA ? x : "");
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        if (strcmp(made[i], op))
            continue;
        const char *f = tn_strf(e->ctx, "tk_%s_%s", op, tnk_short_name(d));
        if (tnk_once(e, f)) {
            const char *call = e->d->id == TN_DIALECT_OPENCL ? "" : x;
            tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n    return ", e->d->inline_, t, f,
                           t);
            if (i == 0)
                tnb_buf_printf(&e->src->helpers, "1 / (1 + exp%s(-x))", call);
            else if (i == 1)
                tnb_buf_printf(&e->src->helpers, "1 / sqrt%s(x)", call);
            else
                tnb_buf_printf(&e->src->helpers, "exp2%s(x * 3.32192809488736234787%s)", call, x);
            tnb_buf_puts(&e->src->helpers, ";\n}\n");
        }
        return f;
    }
    const char *s = desc && desc->spelling[e->d->id] ? desc->spelling[e->d->id] : NULL;
    if (!s)
        return NULL;
    size_t n = strlen(s);
    return f64 && n > 1 && s[n - 1] == 'f' ? tn_strn(e->ctx, s, n - 1) : s;
}

const char *
tnk_math_function(tnk_emitter *e, const char *op, tnb_dtype d, const tn_op *desc, int n_args)
{
    tnb_dtype s = d;
    s.lanes = 1;
    if (d.code != TNB_FLOAT)
        return NULL;
    const char *scalar = scalar_function(e, op, s, desc);
    if (d.lanes == 1 || !scalar)
        return scalar;
    if (e->d->id == TN_DIALECT_OPENCL) /* its functions take vectors; those made here do not */
        return strncmp(scalar, "tk_", 3) ? scalar : tnk_help_map(e, d, d, scalar, n_args);
    const char *f = n_args == 1 && d.bits == 32 ? own_vector(e, op, d) : NULL;
    if (!f && n_args == 1)
        f = machine_vector(e, op, d, scalar);
    return f ? f : tnk_help_map(e, d, d, scalar, n_args);
}
