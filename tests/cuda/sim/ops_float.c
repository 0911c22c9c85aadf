/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of f32 and f64. Approximations (.approx) are computed with more precision than the hardware has, and rounded. */
#include "config.h"

#include "number.h"

SIM_FAST_CODE

uint32_t
sim_round_bits(double v, sim_round round, int fraction_bits, int least, int most, bool saturate)
{
    uint32_t sign = signbit(v) ? UINT32_C(1) << 31 : 0;
    uint32_t exponent_bits = most == 15 ? 5 : 8;
    uint32_t infinite = ((UINT32_C(1) << exponent_bits) - 1) << fraction_bits;
    sign >>= 31 - fraction_bits - (int)exponent_bits;
    double a = fabs(v);
    if (isinf(a))
        return sign | (saturate ? infinite - 1 : infinite);
    if (a == 0)
        return sign;
    int e;
    (void)frexp(a, &e); /* a = x 2^e, x in [0.5, 1) */
    e = e - 1 < least ? least : e - 1;
    double scaled = ldexp(a, fraction_bits - e); /* units in the last place: exact */
    double whole = floor(scaled), rest = scaled - whole;
    bool up = round == SIM_ZERO   ? false
              : round == SIM_DOWN ? sign && rest > 0
              : round == SIM_UP   ? !sign && rest > 0
              : round == SIM_AWAY ? rest >= 0.5
                                  : rest > 0.5 || (rest == 0.5 && fmod(whole, 2) != 0);
    uint64_t units = (uint64_t)whole + up;
    if (units >> (fraction_bits + 1)) {
        units >>= 1;
        e++;
    }
    if (e > most) {
        bool to_infinity = round == SIM_NEAREST || round == SIM_AWAY ||
                           (round == SIM_UP && !sign) || (round == SIM_DOWN && sign);
        return sign | (to_infinity && !saturate ? infinite : infinite - 1);
    }
    bool normal = units >> fraction_bits;
    uint32_t fraction = (uint32_t)units & ((UINT32_C(1) << fraction_bits) - 1);
    return sign | (normal ? (uint32_t)(e - least + 1) << fraction_bits : 0) | fraction;
}

double
sim_integral(double v, sim_round r)
{
    return r == SIM_ZERO ? trunc(v) : r == SIM_DOWN ? floor(v) : r == SIM_UP ? ceil(v) : rint(v);
}

/* of rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: no other instruction of f64 has .ftz */
static inline double
flush_f64(double d)
{
    return fabs(d) < 0x1p-1022 ? copysign(0, d) : d;
}
static inline float
finish_f32(float d, uint32_t flags)
{
    d = sim_canonical(d);
    if (flags & SIM_FTZ)
        d = sim_flush(d);
    if (flags & SIM_SAT)
        d = d > 0 ? (d < 1 ? d : 1) : 0; /* no number: 0 */
    return d;
}
static inline double
finish_f64(double d, uint32_t flags)
{
    return flags & SIM_FTZ ? flush_f64(d) : d;
}
static inline float
start_f32(float a, uint32_t flags)
{
    return flags & SIM_FTZ ? sim_flush(a) : a;
}
static inline double
start_f64(double a, uint32_t flags)
{
    return flags & SIM_FTZ ? flush_f64(a) : a;
}

/* The common case, without modifiers, is a loop of its own. */
#define LOOP(type, T, MASK, READ, ...)                                                             \
    if (!(i->flags & (SIM_FTZ | SIM_SAT)) && i->round == SIM_NEAREST) {                            \
        SIM_EACH(MASK, l, READ(T, ) d[l] = (T)sim_plain_##type(__VA_ARGS__));                      \
    } else {                                                                                       \
        if (i->round != SIM_NEAREST)                                                               \
            sim_set_round((sim_round)i->round);                                                    \
        SIM_EACH(MASK, l, READ(T, start_##type) d[l] = finish_##type((T)(__VA_ARGS__), i->flags)); \
        if (i->round != SIM_NEAREST)                                                               \
            sim_set_round(SIM_NEAREST);                                                            \
    }
#define sim_plain_f32(x) sim_canonical(x)
#define sim_plain_f64(x) (x)
#define READ_A(T, start) T a = START(start, pa[l]);
#define READ_AB(T, start) READ_A(T, start) T b = START(start, pb[l]);
#define READ_ABC(T, start) READ_AB(T, start) T c = START(start, pc[l]);
#define START(start, x) START_##start(x)
#define START_(x) (x)
#define START_start_f32(x) start_f32(x, i->flags)
#define START_start_f64(x) start_f64(x, i->flags)

#define UNARY(name, ptx, type, T, operands, allowed, ...)                           \
    static SIM_CLONES void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                               \
        T *d = sim_at(w, i->ref[0]);                                                \
        const T *pa = sim_at(w, i->ref[1]);                                         \
        LOOP(type, T, mask, READ_A, __VA_ARGS__)                                    \
    }
#define BINARY(name, ptx, type, T, operands, allowed, ...)                          \
    static SIM_CLONES void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                               \
        T *d = sim_at(w, i->ref[0]);                                                \
        const T *pa = sim_at(w, i->ref[1]), *pb = sim_at(w, i->ref[2]);             \
        LOOP(type, T, mask, READ_AB, __VA_ARGS__)                                   \
    }
#define TERNARY(name, ptx, type, T, operands, allowed, ...)                         \
    static SIM_CLONES void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                               \
        T *d = sim_at(w, i->ref[0]);                                                \
        const T *pa = sim_at(w, i->ref[1]), *pb = sim_at(w, i->ref[2]),             \
                *pc = sim_at(w, i->ref[3]);                                         \
        LOOP(type, T, mask, READ_ABC, __VA_ARGS__)                                  \
    }
#define ROW(name, ptx, type, T, operands, allowed, ...) \
    {ptx, op_##name, operands, 0, allowed, SIM_PLAIN},

/* Of two numbers the lesser, +0 above -0; if one is none the other, with .NaN none. */
#define MINIMUM(T, is_less)                                             \
    static inline T minimum_##T(T a, T b, bool nan, bool want_less)     \
    {                                                                   \
        if (a != a || b != b)                                           \
            return nan || (a != a && b != b) ? (T)NAN : a != a ? b : a; \
        if (a == b)                                                     \
            return (signbit(a) != 0) == want_less ? a : b;              \
        return (a < b) == want_less ? a : b;                            \
    }
MINIMUM(float, )
MINIMUM(double, )

enum {
    F32 = SIM_FTZ | SIM_SAT | SIM_ROUNDED,
    F64 = SIM_ROUNDED,
    FAST = SIM_FTZ | SIM_APPROX | SIM_ROUNDED,
};

#define UNARIES(X)                                                                  \
    X(neg_f32, "neg.f32", f32, float, "ww", SIM_FTZ, -a)                            \
    X(neg_f64, "neg.f64", f64, double, "dd", 0, -a)                                 \
    X(abs_f32, "abs.f32", f32, float, "ww", SIM_FTZ, fabsf(a))                      \
    X(abs_f64, "abs.f64", f64, double, "dd", 0, fabs(a))                            \
    X(sqrt_f32, "sqrt.f32", f32, float, "ww", FAST, sqrtf(a))                       \
    X(sqrt_f64, "sqrt.f64", f64, double, "dd", F64, sqrt(a))                        \
    X(rcp_f32, "rcp.f32", f32, float, "ww", FAST, 1 / a)                            \
    X(rcp_f64, "rcp.f64", f64, double, "dd", F64 | SIM_APPROX | SIM_FTZ, 1 / a)     \
    X(rsqrt_f32, "rsqrt.f32", f32, float, "ww", FAST, 1 / sqrt((double)a))          \
    X(rsqrt_f64, "rsqrt.f64", f64, double, "dd", SIM_APPROX | SIM_FTZ, 1 / sqrt(a)) \
    X(sin_f32, "sin.f32", f32, float, "ww", FAST, sin((double)a))                   \
    X(cos_f32, "cos.f32", f32, float, "ww", FAST, cos((double)a))                   \
    X(lg2_f32, "lg2.f32", f32, float, "ww", FAST, log2((double)a))                  \
    X(ex2_f32, "ex2.f32", f32, float, "ww", FAST, exp2((double)a))                  \
    X(tanh_f32, "tanh.f32", f32, float, "ww", FAST, tanh((double)a))
#define BINARIES(X)                                                                  \
    X(add_f32, "add.f32", f32, float, "www", F32, a + b)                             \
    X(add_f64, "add.f64", f64, double, "ddd", F64, a + b)                            \
    X(sub_f32, "sub.f32", f32, float, "www", F32, a - b)                             \
    X(sub_f64, "sub.f64", f64, double, "ddd", F64, a - b)                            \
    X(mul_f32, "mul.f32", f32, float, "www", F32, a *b)                              \
    X(mul_f64, "mul.f64", f64, double, "ddd", F64, a *b)                             \
    X(div_f32, "div.f32", f32, float, "www", FAST, a / b)                            \
    X(div_f64, "div.f64", f64, double, "ddd", F64, a / b)                            \
    X(min_f32, "min.f32", f32, float, "www", SIM_FTZ | SIM_NAN,                      \
      minimum_float(a, b, i->flags & SIM_NAN, true))                                 \
    X(max_f32, "max.f32", f32, float, "www", SIM_FTZ | SIM_NAN,                      \
      minimum_float(a, b, i->flags & SIM_NAN, false))                                \
    X(min_f64, "min.f64", f64, double, "ddd", 0, minimum_double(a, b, false, true))  \
    X(max_f64, "max.f64", f64, double, "ddd", 0, minimum_double(a, b, false, false)) \
    X(copysign_f32, "copysign.f32", f32, float, "www", 0, copysignf(b, a))           \
    X(copysign_f64, "copysign.f64", f64, double, "ddd", 0, copysign(b, a))
#define TERNARIES(X)                                                        \
    X(fma_f32, "fma.f32", f32, float, "wwww", F32, __builtin_fmaf(a, b, c)) \
    X(fma_f64, "fma.f64", f64, double, "dddd", F64, __builtin_fma(a, b, c))
#define MADS(X)                                      \
    X(fma_f32, "mad.f32", f32, float, "wwww", F32, ) \
    X(fma_f64, "mad.f64", f64, double, "dddd", F64, )

UNARIES(UNARY)
BINARIES(BINARY)
TERNARIES(TERNARY)

/* testp: p = whether a is of a class; a zero is a normal number */
#define TEST(name, T, nan_class)                                                          \
    static void op_testp_##name(sim_warp *w, const sim_insn *i, uint32_t mask)            \
    {                                                                                     \
        uint32_t found = 0;                                                               \
        const T *a = sim_at(w, i->ref[1]);                                                \
        const char *what = i->ptx->part[1];                                               \
        for (uint32_t l = 0; l < SIM_LANES; l++) {                                        \
            int c = fpclassify(a[l]);                                                     \
            bool is = strcmp(what, "finite") == 0       ? c != FP_NAN && c != FP_INFINITE \
                      : strcmp(what, "infinite") == 0   ? c == FP_INFINITE                \
                      : strcmp(what, "number") == 0     ? c != FP_NAN                     \
                      : strcmp(what, "notanumber") == 0 ? c == FP_NAN                     \
                      : strcmp(what, "normal") == 0     ? c == FP_NORMAL || c == FP_ZERO  \
                                                        : c == FP_SUBNORMAL;                  \
            found |= (uint32_t)is << l;                                                   \
        }                                                                                 \
        sim_set_predicate(w, i->ref[0], mask, found);                                     \
    }
TEST(f32, float, )
TEST(f64, double, )
#define TEST_ROWS(what)                                          \
    {"testp." what ".f32", op_testp_f32, "pw", 0, 0, SIM_PLAIN}, \
        {"testp." what ".f64", op_testp_f64, "pd", 0, 0, SIM_PLAIN},

const sim_form sim_float_forms[] = {
    UNARIES(ROW) BINARIES(ROW) TERNARIES(ROW) MADS(ROW) TEST_ROWS("finite") TEST_ROWS("infinite")
        TEST_ROWS("number") TEST_ROWS("notanumber") TEST_ROWS("normal") TEST_ROWS("subnormal"){0}};
