/* SPDX-License-Identifier: Apache-2.0 */
/* How many blocks of a kernel a multiprocessor runs at once, and what limits them: by the resources of each architecture in the
 * CUDA C++ Programming Guide, counted as NVIDIA's occupancy calculator does.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

enum {
    KIB = 1024,
    WARP = 32,
    PARTITIONS = 4,         /* of a multiprocessor, each with a part of the registers */
    REGISTERS = 65536,      /* of a multiprocessor */
    WARP_REGISTERS = 256,   /* a warp takes multiples of so many */
    SHARED_RESERVED = 1024, /* bytes that a block takes for the system, from sm_80 on */
};

typedef struct resources {
    long capability;
    int shared_kib, threads, blocks; /* of a multiprocessor */
} resources;

static const resources known[] = {
    {75, 64, 1024, 16},   {80, 164, 2048, 32},  {86, 100, 1536, 16},  {87, 164, 1536, 16},
    {89, 100, 1536, 24},  {90, 228, 2048, 32},  {100, 228, 2048, 32}, {103, 228, 2048, 32},
    {110, 228, 1536, 24}, {120, 100, 1536, 24}, {121, 100, 1536, 24},
};

static int64_t
up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

const char *
cuda_blocks_at_once(tn_ctx *ctx, const char *arch, int64_t threads, int64_t registers,
                    int64_t shared)
{
    long capability = strncmp(arch, "sm_", 3) ? 0 : strtol(arch + 3, NULL, 10);
    const resources *r = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].capability == capability)
            r = &known[i];
    if (!r || threads < 1 || registers < 1)
        return "";
    int64_t warps = up(threads, WARP) / WARP,
            block_shared = capability < 80 ? up(shared, 256) : up(shared + SHARED_RESERVED, 128),
            partition = REGISTERS / PARTITIONS / up(registers * WARP, WARP_REGISTERS);
    const struct {
        const char *what;
        int64_t blocks;
    } limits[] = {
        {"registers", partition * PARTITIONS / warps},
        {"shared memory", block_shared ? (int64_t)r->shared_kib * KIB / block_shared : INT64_MAX},
        {"threads", r->threads / WARP / warps},
        {"blocks", r->blocks},
    };
    size_t least = 0;
    for (size_t i = 1; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].blocks < limits[least].blocks)
            least = i;
    return tn_strf(ctx, "blocks at once: %lld of a multiprocessor, as its %s allow%s\n",
                   (long long)limits[least].blocks, limits[least].what, least == 1 ? "s" : "");
}
