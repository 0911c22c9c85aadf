/* SPDX-License-Identifier: Apache-2.0 */
/* MD5 (RFC 1321), for the checksums of MLC-LLM's weights: it finds damage, not malice. */
#include <math.h>
#include "md5.h"

enum { BLOCK = 64 };

static uint32_t
rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* The constants of section 3.4: 2^32 times |sin(i + 1)|. */
static void
make_sines(uint32_t sines[BLOCK])
{
    for (int i = 0; i < BLOCK; i++)
        sines[i] = (uint32_t)(int64_t)(fabs(sin(i + 1)) * 4294967296.0);
}

static void
add_block(uint32_t state[4], const uint32_t sines[BLOCK], const unsigned char *p)
{
    static const uint8_t shifts[4][4] = {{7, 12, 17, 22},
                                         {5, 9, 14, 20},
                                         {4, 11, 16, 23},
                                         {6, 10, 15, 21}};
    uint32_t word[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        word[i] = (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 | (uint32_t)p[4 * i + 2] << 16 |
                  (uint32_t)p[4 * i + 3] << 24;
    for (int i = 0; i < BLOCK; i++) {
        const int round = i / 16;
        uint32_t f = round == 0   ? (b & c) | (~b & d)
                     : round == 1 ? (d & b) | (~d & c)
                     : round == 2 ? b ^ c ^ d
                                  : c ^ (b | ~d);
        const int at = round == 0   ? i
                       : round == 1 ? (5 * i + 1) % 16
                       : round == 2 ? (3 * i + 5) % 16
                                    : 7 * i % 16;
        f += a + sines[i] + word[at];
        a = d;
        d = c;
        c = b;
        b += rotate(f, shifts[round][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void
checkpoint_md5(const void *data, uint64_t n, char out[33])
{
    uint32_t sines[BLOCK], state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const unsigned char *p = data;
    unsigned char tail[2 * BLOCK] = {0};
    const uint64_t whole = n / BLOCK * BLOCK, rest = n - whole;
    make_sines(sines);
    for (uint64_t at = 0; at < whole; at += BLOCK)
        add_block(state, sines, p + at);
    if (rest)
        memcpy(tail, p + whole, rest);
    tail[rest] = 0x80;
    const int last = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    for (int i = 0; i < 8; i++)
        tail[last - 8 + i] = (unsigned char)(n << 3 >> 8 * i);
    for (int at = 0; at < last; at += BLOCK)
        add_block(state, sines, tail + at);
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned)(state[i / 4] >> 8 * (i % 4) & 255));
}
