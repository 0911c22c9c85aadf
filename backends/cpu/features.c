/* SPDX-License-Identifier: Apache-2.0 */
/* What the processor of this machine can, under the names that C compilers give to it (-mavx2 is
 * "avx2"). */
#include "features.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };
/* What the system has to save for the registers to be usable: bits of XCR0. */
enum { SAVE_NONE = 0, SAVE_AVX = 0x6, SAVE_AVX512 = 0xe6, SAVE_AMX = 0x60000 };

static const struct feature {
    const char *name;
    uint32_t leaf, sub;
    uint8_t reg, bit;
    uint32_t save;
} features[] = {
    {"sse", 1, 0, EDX, 25, SAVE_NONE},
    {"sse2", 1, 0, EDX, 26, SAVE_NONE},
    {"sse3", 1, 0, ECX, 0, SAVE_NONE},
    {"ssse3", 1, 0, ECX, 9, SAVE_NONE},
    {"sse4.1", 1, 0, ECX, 19, SAVE_NONE},
    {"sse4.2", 1, 0, ECX, 20, SAVE_NONE},
    {"pclmul", 1, 0, ECX, 1, SAVE_NONE},
    {"aes", 1, 0, ECX, 25, SAVE_NONE},
    {"cx16", 1, 0, ECX, 13, SAVE_NONE},
    {"movbe", 1, 0, ECX, 22, SAVE_NONE},
    {"popcnt", 1, 0, ECX, 23, SAVE_NONE},
    {"xsave", 1, 0, ECX, 26, SAVE_NONE},
    {"avx", 1, 0, ECX, 28, SAVE_AVX},
    {"f16c", 1, 0, ECX, 29, SAVE_AVX},
    {"fma", 1, 0, ECX, 12, SAVE_AVX},
    {"bmi", 7, 0, EBX, 3, SAVE_NONE},
    {"avx2", 7, 0, EBX, 5, SAVE_AVX},
    {"bmi2", 7, 0, EBX, 8, SAVE_NONE},
    {"avx512f", 7, 0, EBX, 16, SAVE_AVX512},
    {"avx512dq", 7, 0, EBX, 17, SAVE_AVX512},
    {"avx512ifma", 7, 0, EBX, 21, SAVE_AVX512},
    {"avx512cd", 7, 0, EBX, 28, SAVE_AVX512},
    {"avx512bw", 7, 0, EBX, 30, SAVE_AVX512},
    {"avx512vl", 7, 0, EBX, 31, SAVE_AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, SAVE_AVX512},
    {"avx512vbmi2", 7, 0, ECX, 6, SAVE_AVX512},
    {"gfni", 7, 0, ECX, 8, SAVE_NONE},
    {"vaes", 7, 0, ECX, 9, SAVE_AVX},
    {"vpclmulqdq", 7, 0, ECX, 10, SAVE_AVX},
    {"avx512vnni", 7, 0, ECX, 11, SAVE_AVX512},
    {"avx512bitalg", 7, 0, ECX, 12, SAVE_AVX512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, SAVE_AVX512},
    {"avx512fp16", 7, 0, EDX, 23, SAVE_AVX512},
    {"amx-bf16", 7, 0, EDX, 22, SAVE_AMX},
    {"amx-tile", 7, 0, EDX, 24, SAVE_AMX},
    {"amx-int8", 7, 0, EDX, 25, SAVE_AMX},
    {"avxvnni", 7, 1, EAX, 4, SAVE_AVX},
    {"avx512bf16", 7, 1, EAX, 5, SAVE_AVX512},
    {"sahf", 0x80000001, 0, ECX, 0, SAVE_NONE},
    {"lzcnt", 0x80000001, 0, ECX, 5, SAVE_NONE},
    {"abm", 0x80000001, 0, ECX, 5, SAVE_NONE},
};

static uint32_t
saved_by_system(void)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) /* OSXSAVE */
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

static bool
has(const struct feature *f, uint32_t saved)
{
    uint32_t r[4];
    if (!__get_cpuid_count(f->leaf, f->sub, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
        return false;
    return (r[f->reg] >> f->bit & 1) && (saved & f->save) == f->save;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

static const struct feature {
    const char *name;
    uint8_t word, bit; /* of AT_HWCAP (0) or AT_HWCAP2 (1) */
} features[] = {
    {"neon", 0, 1},     {"simd", 0, 1}, {"fp", 0, 0},   {"aes", 0, 3},   {"crc", 0, 7},
    {"lse", 0, 8},      {"fp16", 0, 9}, {"rdm", 0, 12}, {"rdma", 0, 12}, {"rcpc", 0, 15},
    {"dotprod", 0, 20}, {"sve", 0, 22}, {"sve2", 1, 1}, {"i8mm", 1, 13}, {"bf16", 1, 14},
};

static uint32_t
saved_by_system(void)
{
    return 0;
}

static bool
has(const struct feature *f, uint32_t saved)
{
    (void)saved;
    return getauxval(f->word ? AT_HWCAP2 : AT_HWCAP) >> f->bit & 1;
}

#else

static const struct feature {
    const char *name;
} features[] = {{"baseline"}};

static uint32_t
saved_by_system(void)
{
    return 0;
}

static bool
has(const struct feature *f, uint32_t saved)
{
    (void)f, (void)saved;
    return true;
}
#endif

uint32_t
cpu_features(const char **out, uint32_t max)
{
    uint32_t saved = saved_by_system(), n = 0;
    for (size_t i = 0; i < sizeof features / sizeof *features && n < max; i++)
        if (has(&features[i], saved))
            out[n++] = features[i].name;
    return n;
}

bool
cpu_feature_known(const char *name)
{
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (strcmp(features[i].name, name) == 0)
            return true;
    return false;
}

/* As Linux tells, which asks the processor: "32K" of index 0 ... */
int64_t
cpu_host_cache(int level)
{
    enum { MAX_INDEX = 8 };
    for (int i = 0; i < MAX_INDEX; i++) {
        static const char *const what[3] = {"level", "type", "size"};
        char text[3][32] = {"", "", ""}, path[80], unit = 0;
        for (int k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     what[k]);
            FILE *f = fopen(path, "r");
            if (!f)
                return 0;
            if (!fgets(text[k], sizeof text[k], f))
                text[k][0] = 0;
            fclose(f);
        }
        int own = 0;
        long long size = 0;
        if (sscanf(text[0], "%d", &own) == 1 && own == level && text[1][0] != 'I' &&
            sscanf(text[2], "%lld%c", &size, &unit) >= 1 && size > 0 && size < 1LL << 31)
            return size * (unit == 'K' ? 1LL << 10 : unit == 'M' ? 1LL << 20 : 1);
    }
    return 0;
}
