/* SPDX-License-Identifier: Apache-2.0 */
/* Moves, conversions, comparisons, and what asks the machine. */
#include "config.h"

#include "decode.h"
#include "number.h"

#include <stdio.h>
#include <time.h>

SIM_FAST_CODE

void
sim_op_complement(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    (void)mask;
    *(uint32_t *)sim_at(w, i->ref[0]) = ~*(const uint32_t *)sim_at(w, i->ref[1]);
}

#define MOVE(T)                            \
    {                                      \
        T *d = sim_at(w, i->ref[0]);       \
        const T *a = sim_at(w, i->ref[1]); \
        SIM_EACH(mask, l, d[l] = a[l]);    \
    }
void
sim_op_move(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    switch (i->bytes) {
    case 1:
        sim_set_predicate(w, i->ref[0], mask, *(const uint32_t *)sim_at(w, i->ref[1]));
        break;
    case 2:
        MOVE(uint16_t)
        break;
    case 4:
        MOVE(uint32_t)
        break;
    case 8:
        MOVE(uint64_t)
        break;
    default:
        MOVE(unsigned __int128)
    }
}

/* The whole is the parts in a row, of i->bytes each; registers of bytes have 16 bits. */
void
sim_op_unpack(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    const uint8_t *a = sim_at(w, i->ref[0]);
    for (uint32_t k = 1; k < i->n_ref; k++) {
        uint8_t *d = sim_at(w, i->ref[k]);
        uint32_t stride = i->width[k];
        SIM_EACH(mask, l, if (stride > i->bytes) d[l * stride + 1] = 0;
                 memcpy(d + l * stride, a + l * i->width[0] + (k - 1) * i->bytes, i->bytes));
    }
}

void
sim_op_pack(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint8_t *d = sim_at(w, i->ref[0]);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint8_t whole[16]; /* a part may be the result */
        for (uint32_t k = 1; k < i->n_ref; k++)
            memcpy(whole + (k - 1) * i->bytes,
                   (const uint8_t *)sim_at(w, i->ref[k]) + l * i->width[k], i->bytes);
        memcpy(d + l * i->width[0], whole, i->width[0]);
    }
}

void
sim_op_shift_window(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint64_t *d = sim_at(w, i->ref[0]);
    const uint64_t *a = sim_at(w, i->ref[1]);
    SIM_EACH(mask, l, d[l] = a[l] + (uint64_t)i->offset);
}

void
sim_op_is_space(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t found = 0;
    const uint64_t *a = sim_at(w, i->ref[1]);
    for (uint32_t l = 0; l < SIM_LANES; l++) {
        uint64_t window = a[l] >> 48 << 48;
        bool is = i->space == PTX_SHARED  ? window == SIM_SHARED_BASE
                  : i->space == PTX_LOCAL ? window == SIM_LOCAL_BASE
                  : i->space == PTX_PARAM ? window == SIM_PARAM_BASE
                                          : window <= SIM_GLOBAL_BASE;
        found |= (uint32_t)is << l;
    }
    sim_set_predicate(w, i->ref[0], mask, found);
}

void
sim_op_clock(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint64_t now = w->machine->executed;
    if (i->width[0] == 8)
        SIM_EACH(mask, l, ((uint64_t *)sim_at(w, i->ref[0]))[l] = now);
    else
        SIM_EACH(mask, l, ((uint32_t *)sim_at(w, i->ref[0]))[l] = (uint32_t)now);
}

void
sim_op_active(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t *d = sim_at(w, i->ref[0]);
    SIM_EACH(mask, l, d[l] = mask);
}

void
sim_op_trap(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    sim_fault(w, i, (uint32_t)__builtin_ctz(mask), SIM_ILLEGAL, "%s",
              strncmp(i->ptx->text, "call", 4) == 0 ? "an assertion failed" : "a trap");
}

/* ---- conversions: to int64_t or double, then from it ---- */

typedef union value {
    int64_t n[SIM_LANES];
    double f[SIM_LANES];
} value;

static bool
is_float(sim_type t)
{
    return t >= SIM_F16;
}
static bool
is_signed(sim_type t)
{
    return t >= SIM_S8 && t <= SIM_S64;
}

#define READ(T, field, ...)                    \
    for (uint32_t l = 0; l < SIM_LANES; l++) { \
        T a;                                   \
        memcpy(&a, p + l * stride, sizeof a);  \
        v->field[l] = (__VA_ARGS__);           \
    }                                          \
    break;
static void
read_values(const uint8_t *p, uint32_t stride, sim_type t, value *v)
{
    switch (t) {
    case SIM_U8:
    case SIM_B8:
        READ(uint8_t, n, a)
    case SIM_S8:
        READ(int8_t, n, a)
    case SIM_U16:
    case SIM_B16:
        READ(uint16_t, n, a)
    case SIM_S16:
        READ(int16_t, n, a)
    case SIM_U32:
    case SIM_B32:
        READ(uint32_t, n, a)
    case SIM_S32:
        READ(int32_t, n, a)
    case SIM_F16:
        READ(uint16_t, f, (double)sim_from_half(a))
    case SIM_BF16:
        READ(uint16_t, f, (double)sim_from_bfloat(a))
    case SIM_F32:
        READ(float, f, (double)a)
    case SIM_F64:
        READ(double, f, a)
    default:
        READ(int64_t, n, a)
    }
}

static inline int64_t
clamp(int64_t a, bool from_unsigned64, int64_t low, int64_t high)
{
    if (from_unsigned64 && a < 0)
        return high;
    return a < low ? low : a > high ? high : a;
}

/* An integer of a type from a float of a type: what does not fit is the nearest; no number is 0, but from f64 or to 64 bits it has the
 * highest bit alone (PTX ISA, cvt, "integer notes"). */
static int64_t
to_integer(double v, sim_type from, sim_type t, sim_round round)
{
    uint32_t bits = 8 * sim_type_bytes(t);
    if (v != v)
        return bits == 64 || from == SIM_F64 ? (int64_t)(UINT64_C(1) << (bits - 1)) : 0;
    v = sim_integral(v, round);
    if (is_signed(t)) {
        double high = ldexp(1, (int)bits - 1);
        return v >= high    ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1)
               : v <= -high ? (int64_t)(0 - (UINT64_C(1) << (bits - 1)))
                            : (int64_t)v;
    }
    double high = ldexp(1, (int)bits);
    return v >= high ? (int64_t)(UINT64_MAX >> (64 - bits)) : v <= 0 ? 0 : (int64_t)(uint64_t)v;
}

/* A narrow integer fills its register: with its sign, or zeros. */
static void
write_integers(uint8_t *p, uint32_t width, sim_type t, const value *v, uint32_t mask)
{
    SIM_EACH(
        mask, l, int64_t a = v->n[l]; switch (t) {
            case SIM_U8:
            case SIM_B8:
                a = (uint8_t)a;
                break;
            case SIM_S8:
                a = (int8_t)a;
                break;
            case SIM_U16:
            case SIM_B16:
                a = (uint16_t)a;
                break;
            case SIM_S16:
                a = (int16_t)a;
                break;
            case SIM_U32:
            case SIM_B32:
                a = (uint32_t)a;
                break;
            case SIM_S32:
                a = (int32_t)a;
                break;
            default:
                break;
        } memcpy(p + l * width, &a, width));
}

static double
finish(double v, const sim_insn *i, bool to_float)
{
    if (i->flags & SIM_INTEGRAL && to_float)
        v = sim_integral(v, (sim_round)i->round);
    if (i->flags & SIM_SAT && to_float)
        v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (i->flags & SIM_RELU && !(v > 0))
        v = v != v ? v : 0;
    return v;
}

/* The bits of a float of a type. From integers of 64 bits the host rounds. */
static uint64_t
float_bits(double v, sim_type t, const sim_insn *i)
{
    sim_round r = i->flags & SIM_ROUNDED ? (sim_round)i->round : SIM_NEAREST;
    uint64_t bits = 0;
    if (t == SIM_F16)
        return sim_to_half(v, r, false);
    if (t == SIM_BF16)
        return sim_to_bfloat(v, r, false);
    if (t == SIM_TF32) {
        return v != v ? sim_bits_of((float)v) & 0xffffe000 /* the hardware keeps these bits of it */
                      : sim_round_bits(v, r, 10, -126, 127, false) << 13;
    }
    if (t == SIM_F64) {
        memcpy(&bits, &v, sizeof v);
        return bits;
    }
    sim_set_round(r);
    volatile double wide = v;
    volatile float f = (float)wide;
    sim_set_round(SIM_NEAREST);
    float g = sim_canonical(f);
    if (i->flags & SIM_FTZ)
        g = sim_flush(g);
    return sim_bits_of(g);
}

static void
convert_to_float(const sim_insn *i, value *v, uint8_t *d, uint32_t mask)
{
    sim_type from = (sim_type)i->from, t = (sim_type)i->type;
    bool wide = from == SIM_U64 || from == SIM_S64 || from == SIM_B64;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint64_t bits;
        if (is_float(from)) {
            double a = v->f[l];
            if (i->flags & SIM_FTZ && from == SIM_F32)
                a = (double)sim_flush((float)a);
            bits = float_bits(finish(a, i, true), t, i);
        } else if (wide && (t == SIM_F32 || t == SIM_F64)) { /* one rounding, not two */
            volatile int64_t n = v->n[l];
            sim_set_round((sim_round)i->round);
            volatile float f = from == SIM_U64 ? (float)(uint64_t)n : (float)n;
            volatile double e = from == SIM_U64 ? (double)(uint64_t)n : (double)n;
            sim_set_round(SIM_NEAREST);
            double g = e;
            memcpy(&bits, &g, sizeof bits);
            bits = t == SIM_F32 ? sim_bits_of(f) : bits;
        } else {
            bits = float_bits(from == SIM_U64 ? (double)(uint64_t)v->n[l] : (double)v->n[l], t, i);
        }
        memcpy(d + l * i->width[0], &bits, i->width[0]);
    }
}

void
sim_op_convert(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    sim_type t = (sim_type)i->type, from = (sim_type)i->from;
    uint8_t *d = sim_at(w, i->ref[0]);
    value v;
    if (i->n_ref == 3) { /* two floats into the halves of a register: the first above */
        sim_type part = t == SIM_F16X2 ? SIM_F16 : SIM_BF16;
        const float *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]);
        SIM_EACH(mask, l,
                 uint32_t bits = (uint32_t)float_bits(finish((double)a[l], i, true), part, i)
                                     << 16 |
                                 (uint32_t)float_bits(finish((double)b[l], i, true), part, i);
                 memcpy(d + l * 4, &bits, 4));
        return;
    }
    read_values(sim_at(w, i->ref[1]), i->width[1], from, &v);
    if (is_float(t)) {
        convert_to_float(i, &v, d, mask);
        return;
    }
    if (is_float(from)) {
        for (uint32_t l = 0; l < SIM_LANES; l++) {
            double a = v.f[l];
            if (i->flags & SIM_FTZ && from == SIM_F32)
                a = (double)sim_flush((float)a);
            v.n[l] = to_integer(a, from, t, (sim_round)i->round);
        }
    } else if (i->flags & SIM_SAT) {
        uint32_t bits = 8 * sim_type_bytes(t);
        int64_t low = is_signed(t) ? (int64_t)(0 - (UINT64_C(1) << (bits - 1))) : 0;
        int64_t high = is_signed(t) || bits == 64 ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1)
                                                  : (int64_t)((UINT64_C(1) << bits) - 1);
        for (uint32_t l = 0; l < SIM_LANES; l++)
            v.n[l] = clamp(v.n[l], from == SIM_U64, low, high);
    }
    write_integers(d, i->width[0], t, &v, mask);
}

/* ---- comparisons ---- */

/* ORDER COMPARISON */
enum { EQ, NE, LT, LE, GT, GE, LO, LS, HI, HS, EQU, NEU, LTU, LEU, GTU, GEU, NUM, IS_NAN };

#define CASE(op, ...)                            \
    case op:                                     \
        for (uint32_t l = 0; l < SIM_LANES; l++) \
            r |= (uint32_t)(__VA_ARGS__) << l;   \
        break;
#define INTEGERS(name, T)                                  \
    static uint32_t name(const T *a, const T *b, int what) \
    {                                                      \
        uint32_t r = 0;                                    \
        switch (what) {                                    \
            CASE(EQ, a[l] == b[l])                         \
            CASE(NE, a[l] != b[l])                         \
        case LO:                                           \
            CASE(LT, a[l] < b[l])                          \
        case LS:                                           \
            CASE(LE, a[l] <= b[l])                         \
        case HI:                                           \
            CASE(GT, a[l] > b[l])                          \
        case HS:                                           \
            CASE(GE, a[l] >= b[l])                         \
        default:                                           \
            break;                                         \
        }                                                  \
        return r;                                          \
    }
INTEGERS(compare_u16, uint16_t)
INTEGERS(compare_s16, int16_t)
INTEGERS(compare_u32, uint32_t)
INTEGERS(compare_s32, int32_t)
INTEGERS(compare_u64, uint64_t)
INTEGERS(compare_s64, int64_t)
#define UNORDERED (a[l] != a[l] || b[l] != b[l])
#define FLOATS(name, T)                                    \
    static uint32_t name(const T *a, const T *b, int what) \
    {                                                      \
        uint32_t r = 0;                                    \
        switch (what) {                                    \
            CASE(EQ, a[l] == b[l])                         \
            CASE(NE, a[l]<b[l] || a[l]> b[l])              \
            CASE(LT, a[l] < b[l])                          \
            CASE(LE, a[l] <= b[l])                         \
            CASE(GT, a[l] > b[l])                          \
            CASE(GE, a[l] >= b[l])                         \
            CASE(EQU, a[l] == b[l] || UNORDERED)           \
            CASE(NEU, !(a[l] == b[l]))                     \
            CASE(LTU, !(a[l] >= b[l]))                     \
            CASE(LEU, !(a[l] > b[l]))                      \
            CASE(GTU, !(a[l] <= b[l]))                     \
            CASE(GEU, !(a[l] < b[l]))                      \
            CASE(NUM, !UNORDERED)                          \
            CASE(IS_NAN, UNORDERED)                        \
        default:                                           \
            break;                                         \
        }                                                  \
        return r;                                          \
    }
FLOATS(compare_f32, float)
FLOATS(compare_f64, double)

static uint32_t
compared(const sim_insn *i, const void *a, const void *b)
{
    float fa[SIM_LANES], fb[SIM_LANES];
    bool is_half = i->type == SIM_F16;
    switch (i->type) {
    case SIM_B16:
    case SIM_U16:
        return compare_u16(a, b, i->n_vector);
    case SIM_S16:
        return compare_s16(a, b, i->n_vector);
    case SIM_B32:
    case SIM_U32:
        return compare_u32(a, b, i->n_vector);
    case SIM_S32:
        return compare_s32(a, b, i->n_vector);
    case SIM_S64:
        return compare_s64(a, b, i->n_vector);
    case SIM_F64:
        return compare_f64(a, b, i->n_vector);
    case SIM_F32:
        if (!(i->flags & SIM_FTZ))
            return compare_f32(a, b, i->n_vector);
        for (uint32_t l = 0; l < SIM_LANES; l++) {
            fa[l] = sim_flush(((const float *)a)[l]);
            fb[l] = sim_flush(((const float *)b)[l]);
        }
        return compare_f32(fa, fb, i->n_vector);
    case SIM_F16:
    case SIM_BF16:
        for (uint32_t l = 0; l < SIM_LANES; l++) {
            uint16_t x = ((const uint16_t *)a)[l], y = ((const uint16_t *)b)[l];
            fa[l] = is_half ? sim_from_half(x) : sim_from_bfloat(x);
            fb[l] = is_half ? sim_from_half(y) : sim_from_bfloat(y);
        }
        return compare_f32(fa, fb, i->n_vector);
    default:
        return compare_u64(a, b, i->n_vector);
    }
}

static uint32_t
combined(uint32_t r, uint32_t c, uint8_t how)
{
    return how == 'a' ? r & c : how == 'o' ? r | c : how == 'x' ? r ^ c : r;
}

void
sim_op_compare(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t r = compared(i, sim_at(w, i->ref[2]), sim_at(w, i->ref[3]));
    uint32_t c = i->bytes ? *(const uint32_t *)sim_at(w, i->ref[4]) : 0;
    uint32_t p = combined(r, c, i->bytes), q = combined(~r, c, i->bytes);
    if (i->from == SIM_N_TYPES) {
        sim_set_predicate(w, i->ref[0], mask, p);
        sim_set_predicate(w, i->ref[1], mask, q);
        return;
    }
    uint64_t yes = i->from == SIM_F32 ? 0x3f800000 : UINT64_MAX;
    uint8_t *d = sim_at(w, i->ref[0]);
    SIM_EACH(mask, l, uint64_t v = p >> l & 1 ? yes : 0;
             memcpy(d + l * i->width[0], &v, i->width[0]));
}
