/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of 16 bits, and rounding. */
#ifndef CUDASIM_NUMBER_H
#define CUDASIM_NUMBER_H

#include "machine.h"

#include <fenv.h>
#include <math.h>

static inline float
sim_float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline uint32_t
sim_bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static inline float
sim_flush(float f)
{
    return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}
/* A result of the hardware that is no number is always this one. */
static inline float
sim_canonical(float f)
{
    return f != f ? sim_float_of(0x7fffffff) : f;
}

static inline float
sim_from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31)
        return sim_float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) {
        float f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    return sim_float_of(sign | (exponent + 112) << 23 | fraction << 13);
}
static inline float
sim_from_bfloat(uint16_t h)
{
    return sim_float_of((uint32_t)h << 16);
}
/* Rounds a double to a format with so many bits of fraction and exponents from least (of normal numbers) to most; its bits. A
 * double's value is exact for sums and products of such a format, and is rounded once. */
uint32_t
sim_round_bits(double v, sim_round round, int fraction_bits, int least, int most, bool saturate);
static inline uint16_t
sim_to_half(double v, sim_round round, bool saturate)
{
    return (uint16_t)(v != v ? 0x7fff : sim_round_bits(v, round, 10, -14, 15, saturate));
}
static inline uint16_t
sim_to_bfloat(double v, sim_round round, bool saturate)
{
    return (uint16_t)(v != v ? 0x7fff : sim_round_bits(v, round, 7, -126, 127, saturate));
}

/* Of the host's arithmetic; SIM_NEAREST is what it has else. */
static inline void
sim_set_round(sim_round r)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
    fesetround(modes[r]);
}
double
sim_integral(double v, sim_round r);

/* Code for processors with fused multiplication, chosen when the library is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define SIM_CLONES __attribute__((target_clones("default", "arch=haswell")))
#else
#define SIM_CLONES
#endif

#endif
