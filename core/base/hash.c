/* SPDX-License-Identifier: Apache-2.0 */
/* xxHash behind functions of our own, and SHA-256 (FIPS 180-4) for digests that a site pins. */
#include "tenon/base/hash.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

uint64_t
tnb_hash64(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, n, seed);
}

tnb_hash128
tnb_hash_128(const void *p, size_t n)
{
    XXH128_hash_t h = XXH3_128bits(p, n);
    return (tnb_hash128){h.low64, h.high64};
}

/* Larger data are seen in so many blocks of so many bytes. */
enum { SAMPLE = 4096, SAMPLES = 4096 };

static uint64_t
sample_at(uint64_t n, uint64_t i)
{
    return i < SAMPLES - 1 ? i * ((n - SAMPLE) / (SAMPLES - 1)) : n - SAMPLE;
}

static void
mix_sample(XXH128_hash_t *h, const void *sample)
{
    const XXH128_hash_t x = XXH3_128bits(sample, SAMPLE);
    h->low64 = tnb_hash_mix(h->low64, x.low64);
    h->high64 = tnb_hash_mix(h->high64, x.high64);
}

tnb_hash128
tnb_hash_sample(const void *p, size_t n)
{
    if (n <= (size_t)SAMPLE * SAMPLES)
        return tnb_hash_128(p, n);
    XXH128_hash_t h = {0};
    for (uint64_t i = 0; i < SAMPLES; i++)
        mix_sample(&h, (const char *)p + sample_at(n, i));
    return (tnb_hash128){h.low64, h.high64};
}

static bool
read_at(int fd, uint64_t at, char *out, size_t n)
{
    while (n) {
        const ssize_t got = pread(fd, out, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        out += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

bool
tnb_hash_sample_file(int fd, uint64_t n, tnb_hash128 *out)
{
    enum { PIECE = 16 * SAMPLE };
    char piece[PIECE];
    XXH128_hash_t h = {0};
    if (n > INT64_MAX)
        return false;
    if (n <= (uint64_t)SAMPLE * SAMPLES) {
        XXH3_state_t whole;
        XXH3_128bits_reset(&whole);
        for (uint64_t at = 0; at < n; at += PIECE) {
            const size_t size = n - at < PIECE ? (size_t)(n - at) : PIECE;
            if (!read_at(fd, at, piece, size))
                return false;
            XXH3_128bits_update(&whole, piece, size);
        }
        h = XXH3_128bits_digest(&whole);
    } else {
        for (uint64_t i = 0; i < SAMPLES; i++) {
            if (!read_at(fd, sample_at(n, i), piece, SAMPLE))
                return false;
            mix_sample(&h, piece);
        }
    }
    *out = (tnb_hash128){h.low64, h.high64};
    return true;
}

struct tnb_hasher {
    XXH3_state_t state;
};

tnb_hasher *
tnb_hasher_new(void)
{
    tnb_hasher *h = aligned_alloc(64, (sizeof *h + 63) / 64 * 64);
    if (h)
        XXH3_128bits_reset(&h->state);
    return h;
}

void
tnb_hasher_put(tnb_hasher *h, const void *p, size_t n)
{
    XXH3_128bits_update(&h->state, p, n);
}

tnb_hash128
tnb_hasher_get(const tnb_hasher *h)
{
    XXH128_hash_t x = XXH3_128bits_digest(&h->state);
    return (tnb_hash128){x.low64, x.high64};
}

void
tnb_hasher_free(tnb_hasher *h)
{
    free(h);
}

tnb_hash_text
tnb_hash_print(tnb_hash128 h)
{
    tnb_hash_text t;
    snprintf(t.s, sizeof t.s, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
    return t;
}

/* ---- SHA-256 ---- */

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
turn(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void
sha256_block(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] + w[i];
        uint32_t t2 = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

void
tnb_sha256(const void *p, size_t n, char hex[65])
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *b = p;
    size_t left = n;
    for (; left >= 64; left -= 64, b += 64)
        sha256_block(h, b);
    unsigned char last[128] = {0};
    if (left)
        memcpy(last, b, left);
    last[left] = 0x80;
    size_t size = left < 56 ? 64 : 128;
    uint64_t bits = (uint64_t)n * 8;
    for (int i = 0; i < 8; i++)
        last[size - 1 - (size_t)i] = (unsigned char)(bits >> (8 * i));
    for (size_t i = 0; i < size; i += 64)
        sha256_block(h, last + i);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", h[i]);
}
