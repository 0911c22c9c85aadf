/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic and bits. Each row of a list makes a handler and its form: C name, PTX name, type of an element, operands, and
 * the value of the result d from a, b, c. */
#include "config.h"

#include "machine.h"

SIM_FAST_CODE

#define UNARY(name, ptx, T, operands, ...)                               \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                    \
        T *d = sim_at(w, i->ref[0]);                                     \
        const T *pa = sim_at(w, i->ref[1]);                              \
        SIM_EACH(mask, l, T a = pa[l]; d[l] = (T)(__VA_ARGS__));         \
    }
#define BINARY(name, ptx, T, operands, ...)                                   \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)      \
    {                                                                         \
        T *d = sim_at(w, i->ref[0]);                                          \
        const T *pa = sim_at(w, i->ref[1]), *pb = sim_at(w, i->ref[2]);       \
        SIM_EACH(mask, l, T a = pa[l]; T b = pb[l]; d[l] = (T)(__VA_ARGS__)); \
    }
#define TERNARY(name, ptx, T, operands, ...)                                               \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)                   \
    {                                                                                      \
        T *d = sim_at(w, i->ref[0]);                                                       \
        const T *pa = sim_at(w, i->ref[1]), *pb = sim_at(w, i->ref[2]),                    \
                *pc = sim_at(w, i->ref[3]);                                                \
        SIM_EACH(mask, l, T a = pa[l]; T b = pb[l]; T c = pc[l]; d[l] = (T)(__VA_ARGS__)); \
    }
/* the result is twice as wide as the factors */
#define WIDE(name, ptx, T, operands, D)                                                       \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)                      \
    {                                                                                         \
        D *d = sim_at(w, i->ref[0]);                                                          \
        const T *pa = sim_at(w, i->ref[1]), *pb = sim_at(w, i->ref[2]);                       \
        if (i->n_ref == 3) {                                                                  \
            SIM_EACH(mask, l, d[l] = (D)((D)pa[l] * (D)pb[l]));                               \
        } else {                                                                              \
            const D *pc = sim_at(w, i->ref[3]);                                               \
            SIM_EACH(mask, l, d[l] = (D)((uint64_t)((D)pa[l] * (D)pb[l]) + (uint64_t)pc[l])); \
        }                                                                                     \
    }
/* the amount of a shift is 32 bits wide, whatever is shifted */
#define SHIFT(name, ptx, T, operands, ...)                                           \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)             \
    {                                                                                \
        T *d = sim_at(w, i->ref[0]);                                                 \
        const T *pa = sim_at(w, i->ref[1]);                                          \
        const uint32_t *pb = sim_at(w, i->ref[2]);                                   \
        SIM_EACH(mask, l, T a = pa[l]; uint32_t b = pb[l]; d[l] = (T)(__VA_ARGS__)); \
    }
/* the result is 32 bits wide, whatever is counted */
#define COUNT(name, ptx, T, operands, ...)                               \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                    \
        uint32_t *d = sim_at(w, i->ref[0]);                              \
        const T *pa = sim_at(w, i->ref[1]);                              \
        SIM_EACH(mask, l, T a = pa[l]; d[l] = (uint32_t)(__VA_ARGS__));  \
    }
#define ROW(name, ptx, T, operands, ...) {ptx, op_##name, operands, 0, 0, SIM_PLAIN},

/* signed and unsigned give the same bits */
#define EITHER(X, n, p, o1, ...)                         \
    X(n##_u16, p ".u16", uint16_t, o1("h"), __VA_ARGS__) \
    X(n##_s16, p ".s16", uint16_t, o1("h"), __VA_ARGS__) \
    X(n##_u32, p ".u32", uint32_t, o1("w"), __VA_ARGS__) \
    X(n##_s32, p ".s32", uint32_t, o1("w"), __VA_ARGS__) \
    X(n##_u64, p ".u64", uint64_t, o1("d"), __VA_ARGS__) \
    X(n##_s64, p ".s64", uint64_t, o1("d"), __VA_ARGS__)
#define UNSIGNED(X, n, p, o1, ...)                       \
    X(n##_u16, p ".u16", uint16_t, o1("h"), __VA_ARGS__) \
    X(n##_u32, p ".u32", uint32_t, o1("w"), __VA_ARGS__) \
    X(n##_u64, p ".u64", uint64_t, o1("d"), __VA_ARGS__)
#define SIGNED(X, n, p, o1, ...)                        \
    X(n##_s16, p ".s16", int16_t, o1("h"), __VA_ARGS__) \
    X(n##_s32, p ".s32", int32_t, o1("w"), __VA_ARGS__) \
    X(n##_s64, p ".s64", int64_t, o1("d"), __VA_ARGS__)
#define BITS(X, n, p, o1, ...)                           \
    X(n##_b16, p ".b16", uint16_t, o1("h"), __VA_ARGS__) \
    X(n##_b32, p ".b32", uint32_t, o1("w"), __VA_ARGS__) \
    X(n##_b64, p ".b64", uint64_t, o1("d"), __VA_ARGS__)
#define TWO(c) c c
#define THREE(c) c c c
#define FOUR(c) c c c c

static inline uint64_t
mul_high_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}
static inline int64_t
mul_high_s64(int64_t a, int64_t b)
{
    return (int64_t)((__int128)a * b >> 64);
}
static inline int32_t
saturate(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

/* Division by zero gives all ones on the hardware; the least number by -1 wraps. */
#define UNARIES(X)                              \
    SIGNED(X, neg, "neg", TWO, 0 - (uint64_t)a) \
    SIGNED(X, abs, "abs", TWO, a < 0 ? (int64_t)(0 - (uint64_t)a) : (int64_t)a)
#define BINARIES(X)                                                                    \
    EITHER(X, add, "add", THREE, a + b)                                                \
    EITHER(X, sub, "sub", THREE, a - b)                                                \
    EITHER(X, mul_lo, "mul.lo", THREE, (uint64_t)a *(uint64_t)b)                       \
    UNSIGNED(X, div, "div", THREE, b ? a / b : UINT64_MAX)                             \
    UNSIGNED(X, rem, "rem", THREE, b ? a % b : a)                                      \
    SIGNED(X, div, "div", THREE,                                                       \
           b == 0    ? (int64_t)-1                                                     \
           : b == -1 ? (int64_t)(0 - (uint64_t)a)                                      \
                     : (int64_t)(a / b))                                               \
    SIGNED(X, rem, "rem", THREE, b == 0 ? (int64_t)a : b == -1 ? 0 : (int64_t)(a % b)) \
    UNSIGNED(X, min, "min", THREE, a < b ? a : b)                                      \
    UNSIGNED(X, max, "max", THREE, a > b ? a : b)                                      \
    SIGNED(X, min, "min", THREE, a < b ? a : b)                                        \
    SIGNED(X, max, "max", THREE, a > b ? a : b)                                        \
    X(mul_hi_u16, "mul.hi.u16", uint16_t, "hhh", (uint32_t)a *b >> 16)                 \
    X(mul_hi_s16, "mul.hi.s16", int16_t, "hhh", (int32_t)a *b >> 16)                   \
    X(mul_hi_u32, "mul.hi.u32", uint32_t, "www", (uint64_t)a *b >> 32)                 \
    X(mul_hi_s32, "mul.hi.s32", int32_t, "www", (int64_t)a *b >> 32)                   \
    X(mul_hi_u64, "mul.hi.u64", uint64_t, "ddd", mul_high_u64(a, b))                   \
    X(mul_hi_s64, "mul.hi.s64", int64_t, "ddd", mul_high_s64(a, b))                    \
    X(mul24_lo_u32, "mul24.lo.u32", uint32_t, "www", (a & 0xffffff) * (b & 0xffffff))  \
    X(mul24_lo_s32, "mul24.lo.s32", int32_t, "www",                                    \
      (uint32_t)((int32_t)((uint32_t)a << 8) >> 8) * (uint32_t)((int32_t)((uint32_t)b << 8) >> 8))
#define TERNARIES(X)                                                                             \
    EITHER(X, mad_lo, "mad.lo", FOUR, (uint64_t)a *(uint64_t)b + (uint64_t)c)                    \
    X(mad_hi_u32, "mad.hi.u32", uint32_t, "wwww", ((uint64_t)a * b >> 32) + c)                   \
    X(mad_hi_s32, "mad.hi.s32", int32_t, "wwww", (uint32_t)((int64_t)a * b >> 32) + (uint32_t)c) \
    X(mad_hi_u64, "mad.hi.u64", uint64_t, "dddd", mul_high_u64(a, b) + c)                        \
    X(mad_hi_s64, "mad.hi.s64", int64_t, "dddd", (uint64_t)mul_high_s64(a, b) + (uint64_t)c)     \
    X(sad_u32, "sad.u32", uint32_t, "wwww", c + (a < b ? b - a : a - b))                         \
    X(sad_s32, "sad.s32", int32_t, "wwww",                                                       \
      (uint32_t)c + (a < b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b))
#define WIDES(X)                                                \
    X(mul_wide_u16, "mul.wide.u16", uint16_t, "whh", uint32_t)  \
    X(mul_wide_s16, "mul.wide.s16", int16_t, "whh", int32_t)    \
    X(mul_wide_u32, "mul.wide.u32", uint32_t, "dww", uint64_t)  \
    X(mul_wide_s32, "mul.wide.s32", int32_t, "dww", int64_t)    \
    X(mad_wide_u16, "mad.wide.u16", uint16_t, "whhw", uint32_t) \
    X(mad_wide_s16, "mad.wide.s16", int16_t, "whhw", int32_t)   \
    X(mad_wide_u32, "mad.wide.u32", uint32_t, "dwwd", uint64_t) \
    X(mad_wide_s32, "mad.wide.s32", int32_t, "dwwd", int64_t)

UNARIES(UNARY)
BINARIES(BINARY)
TERNARIES(TERNARY)
WIDES(WIDE)

#define SATURATED(name, ptx, op)                                                   \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)           \
    {                                                                              \
        int32_t *d = sim_at(w, i->ref[0]);                                         \
        const int32_t *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]);        \
        if (i->flags & SIM_SAT)                                                    \
            SIM_EACH(mask, l, d[l] = saturate((int64_t)a[l] op b[l]));             \
        else                                                                       \
            SIM_EACH(mask, l, d[l] = (int32_t)((uint32_t)a[l] op(uint32_t) b[l])); \
    }
SATURATED(add_sat, "add.s32", +)
SATURATED(sub_sat, "sub.s32", -)

/* dp4a: four products of bytes, added to c */
static void
op_dp4a(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t *d = sim_at(w, i->ref[0]);
    const uint32_t *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]), *c = sim_at(w, i->ref[3]);
    const char *types = strchr(i->ptx->text, '.');
    bool sa = types[1] == 's', sb = types[5] == 's';
    SIM_EACH(
        mask, l, uint32_t sum = c[l]; for (uint32_t k = 0; k < 32; k += 8) {
            uint32_t x = a[l] >> k & 255, y = b[l] >> k & 255;
            sum += (sa ? (uint32_t)(int8_t)x : x) * (sb ? (uint32_t)(int8_t)y : y);
        } d[l] = sum);
}

/* dp2a: two products of a half of a and a byte of b, of its lower or its upper two, added to c */
static void
op_dp2a(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t *d = sim_at(w, i->ref[0]);
    const uint32_t *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]), *c = sim_at(w, i->ref[3]);
    const char *const *part = i->ptx->part;
    uint32_t from = part[1][0] == 'h' ? 16 : 0;
    bool sa = part[2][0] == 's', sb = part[3][0] == 's';
    SIM_EACH(
        mask, l, uint32_t sum = c[l]; for (uint32_t k = 0; k < 2; k++) {
            uint32_t x = a[l] >> 16 * k & 0xffff, y = b[l] >> (from + 8 * k) & 255;
            sum += (sa ? (uint32_t)(int16_t)x : x) * (sb ? (uint32_t)(int8_t)y : y);
        } d[l] = sum);
}
#define DP2A_ROWS(half)                                      \
    {"dp2a." half ".u32.u32", op_dp2a, "wwww", 0, 0, 0},     \
        {"dp2a." half ".s32.s32", op_dp2a, "wwww", 0, 0, 0}, \
        {"dp2a." half ".u32.s32", op_dp2a, "wwww", 0, 0, 0}, \
        {"dp2a." half ".s32.u32", op_dp2a, "wwww", 0, 0, 0},

const sim_form sim_integer_forms[] = {UNARIES(ROW) BINARIES(ROW) TERNARIES(ROW)
                                          WIDES(ROW){"dp4a.u32.u32", op_dp4a, "wwww", 0, 0, 0},
                                      {"dp4a.s32.s32", op_dp4a, "wwww", 0, 0, 0},
                                      {"dp4a.u32.s32", op_dp4a, "wwww", 0, 0, 0},
                                      {"dp4a.s32.u32", op_dp4a, "wwww", 0, 0, 0},
                                      DP2A_ROWS("lo") DP2A_ROWS("hi")
                                      /* these take the place of the rows above that wrap */
                                      {"add.s32", op_add_sat, "www", 0, SIM_SAT, 0},
                                      {"sub.s32", op_sub_sat, "www", 0, SIM_SAT, 0},
                                      {0}};

/* ---- bits ---- */

static inline uint32_t
count_zeros(uint64_t a, uint32_t bits)
{
    return a ? (uint32_t)__builtin_clzll(a) - (64 - bits) : bits;
}
static inline uint64_t
reverse(uint64_t a, uint32_t bits)
{
    uint64_t r = 0;
    for (uint32_t k = 0; k < bits; k++)
        r |= (a >> k & 1) << (bits - 1 - k);
    return r;
}
/* The position of the highest bit that is not the sign's; all ones: none. */
static inline uint32_t
find_highest(uint64_t a)
{
    return a ? 63 - (uint32_t)__builtin_clzll(a) : UINT32_MAX;
}

static inline uint32_t
shift_to_highest(uint64_t a, uint32_t last)
{
    return a ? last - find_highest(a) : UINT32_MAX;
}

#define SHIFTS(X)                                                         \
    X(shl_b16, "shl.b16", uint16_t, "hhw", b > 15 ? 0 : (uint32_t)a << b) \
    X(shl_b32, "shl.b32", uint32_t, "www", b > 31 ? 0 : a << b)           \
    X(shl_b64, "shl.b64", uint64_t, "ddw", b > 63 ? 0 : a << b)           \
    X(shr_u16, "shr.u16", uint16_t, "hhw", b > 15 ? 0 : a >> b)           \
    X(shr_u32, "shr.u32", uint32_t, "www", b > 31 ? 0 : a >> b)           \
    X(shr_u64, "shr.u64", uint64_t, "ddw", b > 63 ? 0 : a >> b)           \
    X(shr_b16, "shr.b16", uint16_t, "hhw", b > 15 ? 0 : a >> b)           \
    X(shr_b32, "shr.b32", uint32_t, "www", b > 31 ? 0 : a >> b)           \
    X(shr_b64, "shr.b64", uint64_t, "ddw", b > 63 ? 0 : a >> b)           \
    X(shr_s16, "shr.s16", int16_t, "hhw", a >> (b > 15 ? 15 : b))         \
    X(shr_s32, "shr.s32", int32_t, "www", a >> (b > 31 ? 31 : b))         \
    X(shr_s64, "shr.s64", int64_t, "ddw", a >> (b > 63 ? 63 : b))         \
    X(bmsk_clamp, "bmsk.clamp.b32", uint32_t, "www",                      \
      a > 31 ? 0 : (b > 31 - a ? UINT32_MAX : (UINT32_C(1) << b) - 1) << a)
#define BIT_UNARIES(X)                                      \
    BITS(X, not, "not", TWO, ~a)                            \
    BITS(X, cnot, "cnot", TWO, a == 0)                      \
    X(brev_b32, "brev.b32", uint32_t, "ww", reverse(a, 32)) \
    X(brev_b64, "brev.b64", uint64_t, "dd", reverse(a, 64))
#define BIT_BINARIES(X)              \
    BITS(X, and, "and", THREE, a &b) \
    BITS(X, or, "or", THREE, a | b)  \
    BITS(X, xor, "xor", THREE, a ^ b)
#define COUNTS(X)                                                                      \
    X(popc_b32, "popc.b32", uint32_t, "ww", __builtin_popcount(a))                     \
    X(popc_b64, "popc.b64", uint64_t, "wd", __builtin_popcountll(a))                   \
    X(clz_b32, "clz.b32", uint32_t, "ww", count_zeros(a, 32))                          \
    X(clz_b64, "clz.b64", uint64_t, "wd", count_zeros(a, 64))                          \
    X(bfind_u32, "bfind.u32", uint32_t, "ww", find_highest(a))                         \
    X(bfind_u64, "bfind.u64", uint64_t, "wd", find_highest(a))                         \
    X(bfind_s32, "bfind.s32", int32_t, "ww", find_highest((uint32_t)(a < 0 ? ~a : a))) \
    X(bfind_s64, "bfind.s64", int64_t, "wd", find_highest((uint64_t)(a < 0 ? ~a : a))) \
    X(bfind_shift_u32, "bfind.shiftamt.u32", uint32_t, "ww", shift_to_highest(a, 31))  \
    X(bfind_shift_u64, "bfind.shiftamt.u64", uint64_t, "wd", shift_to_highest(a, 63))  \
    X(bfind_shift_s32, "bfind.shiftamt.s32", int32_t, "ww",                            \
      shift_to_highest((uint32_t)(a < 0 ? ~a : a), 31))                                \
    X(bfind_shift_s64, "bfind.shiftamt.s64", int64_t, "wd",                            \
      shift_to_highest((uint64_t)(a < 0 ? ~a : a), 63))
#define BIT_TERNARIES(X)                                                                      \
    X(lop3_b32, "lop3.b32", uint32_t, "wwwww", lop3(a, b, c, i, w))                           \
    X(shf_l_wrap, "shf.l.wrap.b32", uint32_t, "wwww", funnel(a, b, 32 - (c & 31)))            \
    X(shf_r_wrap, "shf.r.wrap.b32", uint32_t, "wwww", funnel(a, b, c & 31))                   \
    X(shf_l_clamp, "shf.l.clamp.b32", uint32_t, "wwww", funnel(a, b, 32 - (c > 32 ? 32 : c))) \
    X(shf_r_clamp, "shf.r.clamp.b32", uint32_t, "wwww", funnel(a, b, c > 32 ? 32 : c))        \
    X(prmt_b32, "prmt.b32", uint32_t, "wwww", permute(a, b, c))

/* The 32 bits of b:a from a bit on. */
static inline uint32_t
funnel(uint32_t a, uint32_t b, uint32_t from)
{
    uint64_t both = (uint64_t)b << 32 | a;
    return (uint32_t)(from > 63 ? 0 : both >> from);
}

static inline uint32_t
permute(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t d = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t s = c >> 4 * k & 15, byte = both >> 8 * (s & 7) & 255;
        if (s & 8) /* its sign, in all bits */
            byte = byte & 128 ? 255 : 0;
        d |= byte << 8 * k;
    }
    return d;
}

static inline uint32_t
lop3(uint32_t a, uint32_t b, uint32_t c, const sim_insn *i, const sim_warp *w)
{
    uint32_t table = *(const uint32_t *)sim_at(w, i->ref[4]), d = 0;
    for (uint32_t row = 0; row < 8; row++)
        if (table >> row & 1)
            d |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return d;
}

/* bfe, bfi: position and length are the low 8 bits of 32-bit operands */
#define EXTRACT(name, ptx, T, operands, N, is_signed)                                          \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)                       \
    {                                                                                          \
        T *d = sim_at(w, i->ref[0]);                                                           \
        const T *a = sim_at(w, i->ref[1]);                                                     \
        const uint32_t *pos = sim_at(w, i->ref[2]), *len = sim_at(w, i->ref[3]);               \
        SIM_EACH(mask, l,                                                                      \
                 d[l] = (T)extract((uint64_t)a[l], pos[l] & 255, len[l] & 255, N, is_signed)); \
    }
static inline uint64_t
extract(uint64_t a, uint32_t pos, uint32_t len, uint32_t bits, bool is_signed)
{
    uint32_t sign_at = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
    bool sign = is_signed && len && a >> sign_at & 1;
    uint64_t d = 0;
    for (uint32_t k = 0; k < bits; k++)
        d |= (uint64_t)(k < len && pos + k < bits ? a >> (pos + k) & 1 : sign) << k;
    return d;
}
#define EXTRACTS(X)                                    \
    X(bfe_u32, "bfe.u32", uint32_t, "wwww", 32, false) \
    X(bfe_s32, "bfe.s32", uint32_t, "wwww", 32, true)  \
    X(bfe_u64, "bfe.u64", uint64_t, "ddww", 64, false) \
    X(bfe_s64, "bfe.s64", uint64_t, "ddww", 64, true)
#define INSERT(name, ptx, T, operands, N)                                        \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)         \
    {                                                                            \
        T *d = sim_at(w, i->ref[0]);                                             \
        const T *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]);            \
        const uint32_t *pos = sim_at(w, i->ref[3]), *len = sim_at(w, i->ref[4]); \
        SIM_EACH(mask, l, uint32_t at = pos[l] & 255; uint32_t n = len[l] & 255; \
                 T field = (T)(n >= N ? (T)-1 : ((T)1 << n) - 1);                \
                 field = (T)(at >= N ? 0 : field << at);                         \
                 d[l] = (b[l] & ~field) | ((at >= N ? 0 : a[l] << at) & field)); \
    }
#define INSERTS(X)                               \
    X(bfi_b32, "bfi.b32", uint32_t, "wwwww", 32) \
    X(bfi_b64, "bfi.b64", uint64_t, "dddww", 64)

SHIFTS(SHIFT)
BIT_UNARIES(UNARY)
BIT_BINARIES(BINARY)
COUNTS(COUNT)
BIT_TERNARIES(TERNARY)
EXTRACTS(EXTRACT)
INSERTS(INSERT)

/* Predicates are masks. */
#define PREDICATES(X)        \
    X(and, "and.pred", a &b) \
    X(or, "or.pred", a | b)  \
    X(xor, "xor.pred", a ^ b)
#define PREDICATE(name, ptx, expression)                                        \
    static void op_##name##_pred(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                           \
        uint32_t a = *(const uint32_t *)sim_at(w, i->ref[1]);                   \
        uint32_t b = *(const uint32_t *)sim_at(w, i->ref[2]);                   \
        sim_set_predicate(w, i->ref[0], mask, expression);                      \
    }
#define PREDICATE_ROW(name, ptx, expression) {ptx, op_##name##_pred, "ppp", 0, 0, SIM_PLAIN},
PREDICATES(PREDICATE)
static void
op_not_pred(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    sim_set_predicate(w, i->ref[0], mask, ~*(const uint32_t *)sim_at(w, i->ref[1]));
}

/* selp: d = p ? a : b; slct: d = c >= 0 ? a : b */
#define SELECT(name, T)                                                       \
    static void op_selp_##name(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                         \
        T *d = sim_at(w, i->ref[0]);                                          \
        const T *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]);         \
        uint32_t p = *(const uint32_t *)sim_at(w, i->ref[3]);                 \
        SIM_EACH(mask, l, d[l] = p >> l & 1 ? a[l] : b[l]);                   \
    }                                                                         \
    static void op_slct_##name(sim_warp *w, const sim_insn *i, uint32_t mask) \
    {                                                                         \
        T *d = sim_at(w, i->ref[0]);                                          \
        const T *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]);         \
        const int32_t *c = sim_at(w, i->ref[3]);                              \
        SIM_EACH(mask, l, d[l] = c[l] >= 0 ? a[l] : b[l]);                    \
    }
SELECT(16, uint16_t)
SELECT(32, uint32_t)
SELECT(64, uint64_t)
#define SELECT_ROWS(type, bits, c)                              \
    {"selp." type, op_selp_##bits, c c c "p", 0, 0, SIM_PLAIN}, \
        {"slct." type ".s32", op_slct_##bits, c c c "w", 0, 0, SIM_PLAIN},

const sim_form sim_bit_forms[] = {
    SHIFTS(ROW) BIT_UNARIES(ROW) BIT_BINARIES(ROW) COUNTS(ROW) BIT_TERNARIES(ROW) EXTRACTS(ROW)
        INSERTS(ROW) PREDICATES(PREDICATE_ROW){"not.pred", op_not_pred, "pp", 0, 0, SIM_PLAIN},
    SELECT_ROWS("b16", 16, "h") SELECT_ROWS("u16", 16, "h") SELECT_ROWS("s16", 16, "h")
        SELECT_ROWS("b32", 32, "w") SELECT_ROWS("u32", 32, "w") SELECT_ROWS("s32", 32, "w")
            SELECT_ROWS("f32", 32, "w") SELECT_ROWS("b64", 64, "d") SELECT_ROWS("u64", 64, "d")
                SELECT_ROWS("s64", 64, "d") SELECT_ROWS("f64", 64, "d"){0}};
