/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of more than 64 bits: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry is a bit of each lane. */
#include "config.h"

#include "machine.h"

SIM_FAST_CODE

/* d = a + b + carry, or a + ~b + carry; `with`: takes the carry; `sets`: a carry is left. What the PTX ISA calls the borrow of sub.cc and
 * subc is inverted in the hardware: the carry of a + ~b + 1, 1 where nothing is borrowed. A program sees it where addc follows sub.cc, or
 * subc add.cc. */
#define SUMS(name, T, minus, with, sets)                                                   \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)                   \
    {                                                                                      \
        T *d = sim_at(w, i->ref[0]);                                                       \
        const T *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]);                      \
        uint32_t out = 0;                                                                  \
        for (uint32_t left = mask; left; left &= left - 1) {                               \
            uint32_t l = (uint32_t)__builtin_ctz(left);                                    \
            unsigned __int128 c = with ? w->carry >> l & 1 : minus;                        \
            unsigned __int128 s = (unsigned __int128)a[l] + (T)(minus ? ~b[l] : b[l]) + c; \
            d[l] = (T)s;                                                                   \
            out |= (uint32_t)(s >> (8 * sizeof(T)) & 1) << l;                              \
        }                                                                                  \
        if (sets)                                                                          \
            w->carry = (w->carry & ~mask) | out;                                           \
    }
/* d = the low or high half of a * b, + c + carry */
#define PRODUCTS(name, T, high, with, sets)                                                      \
    static void op_##name(sim_warp *w, const sim_insn *i, uint32_t mask)                         \
    {                                                                                            \
        T *d = sim_at(w, i->ref[0]);                                                             \
        const T *a = sim_at(w, i->ref[1]), *b = sim_at(w, i->ref[2]), *c = sim_at(w, i->ref[3]); \
        uint32_t out = 0;                                                                        \
        for (uint32_t left = mask; left; left &= left - 1) {                                     \
            uint32_t l = (uint32_t)__builtin_ctz(left);                                          \
            unsigned __int128 p = (unsigned __int128)a[l] * b[l];                                \
            unsigned __int128 s = (T)(high ? p >> (8 * sizeof(T)) : p);                          \
            s += c[l];                                                                           \
            s += with ? w->carry >> l & 1 : 0;                                                   \
            d[l] = (T)s;                                                                         \
            out |= (uint32_t)(s >> (8 * sizeof(T)) & 1) << l;                                    \
        }                                                                                        \
        if (sets)                                                                                \
            w->carry = (w->carry & ~mask) | out;                                                 \
    }
#define BOTH(X, name, ...)              \
    X(name##_32, uint32_t, __VA_ARGS__) \
    X(name##_64, uint64_t, __VA_ARGS__)
BOTH(SUMS, add_cc, 0, 0, 1)
BOTH(SUMS, addc, 0, 1, 0)
BOTH(SUMS, addc_cc, 0, 1, 1)
BOTH(SUMS, sub_cc, 1, 0, 1)
BOTH(SUMS, subc, 1, 1, 0)
BOTH(SUMS, subc_cc, 1, 1, 1)
BOTH(PRODUCTS, mad_lo_cc, 0, 0, 1)
BOTH(PRODUCTS, mad_hi_cc, 1, 0, 1)
BOTH(PRODUCTS, madc_lo, 0, 1, 0)
BOTH(PRODUCTS, madc_hi, 1, 1, 0)
BOTH(PRODUCTS, madc_lo_cc, 0, 1, 1)
BOTH(PRODUCTS, madc_hi_cc, 1, 1, 1)

#define ROWS(name, ptx, n)                                     \
    {ptx ".u32", op_##name##_32, n("w"), 0, 0, SIM_PLAIN},     \
        {ptx ".s32", op_##name##_32, n("w"), 0, 0, SIM_PLAIN}, \
        {ptx ".u64", op_##name##_64, n("d"), 0, 0, SIM_PLAIN}, \
        {ptx ".s64", op_##name##_64, n("d"), 0, 0, SIM_PLAIN},
/* the high half of signed products is another one */
#define HIGH_ROWS(name, ptx)                               \
    {ptx ".u32", op_##name##_32, "wwww", 0, 0, SIM_PLAIN}, \
        {ptx ".u64", op_##name##_64, "dddd", 0, 0, SIM_PLAIN},
#define THREE(c) c c c
#define FOUR(c) c c c c

const sim_form sim_carry_forms[] = {
    ROWS(add_cc, "add.cc", THREE) ROWS(addc, "addc", THREE) ROWS(addc_cc, "addc.cc", THREE)
        ROWS(sub_cc, "sub.cc", THREE) ROWS(subc, "subc", THREE) ROWS(subc_cc, "subc.cc", THREE)
            ROWS(mad_lo_cc, "mad.lo.cc", FOUR) ROWS(madc_lo, "madc.lo", FOUR)
                ROWS(madc_lo_cc, "madc.lo.cc", FOUR) HIGH_ROWS(mad_hi_cc, "mad.hi.cc")
                    HIGH_ROWS(madc_hi, "madc.hi") HIGH_ROWS(madc_hi_cc, "madc.hi.cc"){0}};
