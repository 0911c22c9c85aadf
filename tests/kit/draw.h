/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of a test program: the seed is printed; TENON_SEED sets it, TENON_ROUNDS how many
 * rounds are made. Numbers: xorshift (Marsaglia 2003) with shifts 13, 7, 17. */
#ifndef TESTS_KIT_DRAW_H
#define TESTS_KIT_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t draw_state;

static inline void
draw_seed(uint64_t usual)
{
    const char *seed = getenv("TENON_SEED");
    draw_state = seed ? strtoull(seed, NULL, 10) : usual;
    printf("seed %llu\n", (unsigned long long)draw_state);
    draw_state = draw_state * 0x9E3779B97F4A7C15u + 1;
}

static inline uint64_t
draw_next(void)
{
    draw_state ^= draw_state << 13;
    draw_state ^= draw_state >> 7;
    draw_state ^= draw_state << 17;
    return draw_state;
}

/* From lo to hi, both included. */
static inline int64_t
between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(draw_next() % (uint64_t)(hi - lo + 1));
}

/* The whole test is wanted; the variable is there, empty, in a short run. */
static inline bool
draw_long(void)
{
    const char *l = getenv("TENON_LONG");
    return l && *l;
}

static inline int
draw_rounds(int usual)
{
    const char *r = getenv("TENON_ROUNDS");
    return r ? atoi(r) : usual;
}

#endif
