/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of f16 and bf16, one value or two in a register. A sum or product is exact as a double, or nearly so, and rounded once. */
#include "config.h"

#include "number.h"

SIM_FAST_CODE

/* .ftz is of the operands, too */
static inline uint16_t
flush_half(uint16_t v, uint32_t flags)
{
    return flags & SIM_FTZ && (v & 0x7c00) == 0 ? v & 0x8000 : v;
}
static inline double
read_half(uint16_t v, uint32_t flags)
{
    return (double)sim_from_half(flush_half(v, flags));
}
static inline double
read_bfloat(uint16_t v, uint32_t flags)
{
    (void)flags; /* ex2.approx.ftz.bf16: the result is 1 */
    return (double)sim_from_bfloat(v);
}
static inline uint16_t
write_half(double v, uint32_t flags)
{
    if (flags & SIM_SAT)
        v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (flags & SIM_RELU && v < 0)
        v = 0;
    return flush_half(sim_to_half(v, SIM_NEAREST, false), flags);
}
static inline uint16_t
write_bfloat(double v, uint32_t flags)
{
    if (flags & SIM_RELU && v < 0)
        v = 0;
    return sim_to_bfloat(v, SIM_NEAREST, false);
}

/* fma of doubles: the product of two halves is exact, and the sum is rounded to odd, so that the second rounding is right. */
static inline double
fma_odd(double a, double b, double c)
{
    double p = a * b, s = p + c, t = s - p, rest = (p - (s - t)) + (c - t);
    if (rest != 0 && isfinite(s)) {
        uint64_t bits;
        memcpy(&bits, &s, sizeof bits);
        if (!(bits & 1)) {
            double toward = (rest > 0) == (s > 0) ? 1 : -1;
            bits = toward > 0 ? bits + 1 : bits - 1;
            memcpy(&s, &bits, sizeof s);
        }
    }
    return s;
}
static inline double
least(double a, double b, uint32_t flags, bool want_less)
{
    if (a != a || b != b)
        return flags & SIM_NAN || (a != a && b != b) ? (double)NAN : a != a ? b : a;
    if (a == b)
        return (signbit(a) != 0) == want_less ? a : b;
    return (a < b) == want_less ? a : b;
}

/* A handler over n values of 16 bits for each lane. */
#define HALF(name, read, write, n, sources, ...)                                                 \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)                         \
    {                                                                                            \
        uint16_t *d = sim_at(w, i->ref[0]);                                                      \
        const uint16_t *pa = sim_at(w, i->ref[1]), *pb = sim_at(w, i->ref[sources > 1 ? 2 : 1]), \
                       *pc = sim_at(w, i->ref[sources > 2 ? 3 : 1]);                             \
        for (uint32_t left = mask; left; left &= left - 1)                                       \
            for (uint32_t k = 0, l = (uint32_t)__builtin_ctz(left) * n; k < n; k++, l++) {       \
                double a = read(pa[l], i->flags), b = read(pb[l], i->flags),                     \
                       c = read(pc[l], i->flags);                                                \
                (void)b;                                                                         \
                (void)c;                                                                         \
                d[l] = write(__VA_ARGS__, i->flags);                                             \
            }                                                                                    \
    }
/* bits are changed: no number stays as it is */
#define SIGN(name, n, ...)                                                               \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)                 \
    {                                                                                    \
        uint16_t *d = sim_at(w, i->ref[0]);                                              \
        const uint16_t *pa = sim_at(w, i->ref[1]);                                       \
        for (uint32_t left = mask; left; left &= left - 1)                               \
            for (uint32_t k = 0, l = (uint32_t)__builtin_ctz(left) * n; k < n; k++, l++) \
                d[l] = flush_half((uint16_t)(pa[l] __VA_ARGS__), i->flags);              \
    }

enum { ALLOWED = SIM_FTZ | SIM_SAT | SIM_ROUNDED | SIM_NAN | SIM_RELU | SIM_APPROX };

#define KINDS(X, name, ptx, sources, ...)                                                \
    X(name##_f16, ptx ".f16", read_half, write_half, 1, sources, "h", __VA_ARGS__)       \
    X(name##_f16x2, ptx ".f16x2", read_half, write_half, 2, sources, "w", __VA_ARGS__)   \
    X(name##_bf16, ptx ".bf16", read_bfloat, write_bfloat, 1, sources, "h", __VA_ARGS__) \
    X(name##_bf16x2, ptx ".bf16x2", read_bfloat, write_bfloat, 2, sources, "w", __VA_ARGS__)
#define OPERATIONS(X)                                     \
    KINDS(X, add, "add", 2, a + b)                        \
    KINDS(X, sub, "sub", 2, a - b)                        \
    KINDS(X, mul, "mul", 2, a *b)                         \
    KINDS(X, fma, "fma", 3, fma_odd(a, b, c))             \
    KINDS(X, min, "min", 2, least(a, b, i->flags, true))  \
    KINDS(X, max, "max", 2, least(a, b, i->flags, false)) \
    KINDS(X, ex2, "ex2", 1, exp2(a))                      \
    KINDS(X, tanh, "tanh", 1, tanh(a))

#define HANDLER(name, ptx, read, write, n, sources, c, ...) \
    HALF(name, read, write, n, sources, __VA_ARGS__)
OPERATIONS(HANDLER)
SIGN(neg_1, 1, ^0x8000)
SIGN(neg_2, 2, ^0x8000)
SIGN(abs_1, 1, &0x7fff)
SIGN(abs_2, 2, &0x7fff)

#define LETTERS_1(c) c c
#define LETTERS_2(c) c c c
#define LETTERS_3(c) c c c c
#define ROW(name, ptx, read, write, n, sources, c, ...) \
    {ptx, op_##name, LETTERS_##sources(c), 0, ALLOWED, SIM_PLAIN},

const sim_form sim_half_forms[] = {OPERATIONS(ROW){"neg.f16", op_neg_1, "hh", 0, SIM_FTZ,
                                                   SIM_PLAIN},
                                   {"neg.f16x2", op_neg_2, "ww", 0, SIM_FTZ, SIM_PLAIN},
                                   {"neg.bf16", op_neg_1, "hh", 0, 0, SIM_PLAIN},
                                   {"neg.bf16x2", op_neg_2, "ww", 0, 0, SIM_PLAIN},
                                   {"abs.f16", op_abs_1, "hh", 0, SIM_FTZ, SIM_PLAIN},
                                   {"abs.f16x2", op_abs_2, "ww", 0, SIM_FTZ, SIM_PLAIN},
                                   {"abs.bf16", op_abs_1, "hh", 0, 0, SIM_PLAIN},
                                   {"abs.bf16x2", op_abs_2, "ww", 0, 0, SIM_PLAIN},
                                   {0}};
