/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of bytes: xxHash's XXH3, the same on every machine. Not for defence against forgery; for
 * that, tnb_sha256. */
#ifndef TENON_BASE_HASH_H
#define TENON_BASE_HASH_H

#include "tenon/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnb_hash128 {
    uint64_t lo, hi;
} tnb_hash128;

TNB_EXPORT uint64_t
tnb_hash64(const void *p, size_t n, uint64_t seed);
TNB_EXPORT tnb_hash128
tnb_hash_128(const void *p, size_t n);
/* Of all of the data up to 16 MiB, of 4,096 blocks of 4 KiB, from the first to the last, of larger data: tells files that hold other data
 * from each other without reading them whole. */
TNB_EXPORT tnb_hash128
tnb_hash_sample(const void *p, size_t n);
/* The same of the first `n` bytes of a file, which is read instead of being mapped: a page that is mapped for 4 KiB costs more. False: they
 * could not be read. */
TNB_EXPORT bool
tnb_hash_sample_file(int fd, uint64_t n, tnb_hash128 *out);
/* Mixes `b` into the hash `a`; the order matters. */
static inline uint64_t
tnb_hash_mix(uint64_t a, uint64_t b)
{
    a ^= b + 0x9E3779B97F4A7C15u + (a << 12) + (a >> 4);
    a *= 0xBF58476D1CE4E5B9u;
    return a ^ (a >> 29);
}

/* The 128-bit hash of data that comes in pieces. NULL without memory. */
typedef struct tnb_hasher tnb_hasher;
TNB_EXPORT tnb_hasher *
tnb_hasher_new(void);
TNB_EXPORT void
tnb_hasher_put(tnb_hasher *h, const void *p, size_t n);
TNB_EXPORT tnb_hash128
tnb_hasher_get(const tnb_hasher *h);
TNB_EXPORT void
tnb_hasher_free(tnb_hasher *h);

/* 32 hexadecimal digits, the high half first, as xxh128sum prints them. */
typedef struct tnb_hash_text {
    char s[40];
} tnb_hash_text;
TNB_EXPORT tnb_hash_text
tnb_hash_print(tnb_hash128 h);

/* The SHA-256 digest, as 64 hexadecimal digits and a terminator. */
TNB_EXPORT void
tnb_sha256(const void *p, size_t n, char hex[65]);

#ifdef __cplusplus
}
#endif
#endif
