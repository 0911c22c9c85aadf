/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of cuda: what the reader takes, what it refuses and how it says so, and mutations of a good one, which it must refuse or
 * take without reading beyond them (build with the sanitizers to see that).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "backends/cuda/device.h"

enum { N_KERNELS = 2, N_PARAMS = 4 };

/* As codegen.c lays a payload out. */
struct payload {
    cuda_payload head;
    cuda_kernel kernels[N_KERNELS];
    char names[N_KERNELS][8];
    uint32_t params[N_PARAMS];
    char ptx[16];
    char cubin[64];
};

static struct payload
good(void)
{
    struct payload p = {.head = {CUDA_MAGIC, CUDA_VERSION, N_KERNELS, 0, "sm_90a"},
                        .names = {"first", "second"},
                        .ptx = ".version 8.0",
                        .cubin = "\177ELF"};
    p.params[0] = cuda_param_word(TNB_PARAM_BUFFER, 0, 8);
    p.params[1] = cuda_param_word(TNB_PARAM_BUFFER, 1, 8);
    p.params[2] = cuda_param_word(TNB_PARAM_SCALAR, 0, 4);
    p.params[3] = cuda_param_word(TNB_PARAM_TAG, 0, 4);
    for (int i = 0; i < N_KERNELS; i++)
        p.kernels[i] =
            (cuda_kernel){.name = offsetof(struct payload, names) + sizeof p.names[0] * (size_t)i,
                          .params = offsetof(struct payload, params),
                          .ptx = offsetof(struct payload, ptx),
                          .cubin = i ? 0 : offsetof(struct payload, cubin),
                          .n_ptx = strlen(p.ptx) + 1,
                          .n_cubin = i ? 0 : sizeof p.cubin,
                          .n_name = (uint32_t)strlen(p.names[i]) + 1,
                          .n_params = N_PARAMS,
                          .threads = 256};
    return p;
}

/* Reads bytes that end where their memory does, and all that the reader says is there. */
static tnb_status
read_bytes(const void *bytes, size_t n, tnb_err *err)
{
    struct cuda_entry *all = NULL;
    uint32_t count = 0;
    uint64_t total = 0;
    char arch[16];
    unsigned char *own = malloc(n ? n : 1);
    assert_non_null(own);
    memcpy(own, bytes, n);
    *err = (tnb_err){0};
    tnb_status st = cuda_payload_read(own, n, &all, &count, arch, err);
    for (uint32_t i = 0; st == TNB_OK && i < count; i++) {
        total += strlen(all[i].name) + strlen((const char *)all[i].ptx) + strlen(arch);
        for (uint32_t k = 0; k < all[i].head.n_params; k++)
            total += cuda_entry_param(&all[i], k);
        for (uint64_t k = 0; k < all[i].head.n_cubin; k++)
            total += all[i].cubin[k];
    }
    if (st == TNB_OK)
        assert_true(count > 0 && total > 0);
    else if (!err->message[0] || all)
        fail_msg("refused without a message, or with kernels");
    free(all);
    free(own);
    return st;
}

static void
a_payload_is_read(void **state)
{
    struct payload p = good();
    struct cuda_entry *all;
    uint32_t n;
    char arch[16];
    tnb_err err;
    (void)state;
    if (cuda_payload_read(&p, sizeof p, &all, &n, arch, &err) != TNB_OK)
        fail_msg("%s", err.message);
    assert_int_equal(n, N_KERNELS);
    assert_string_equal(arch, "sm_90a");
    assert_string_equal(all[0].name, "first");
    assert_string_equal(all[1].name, "second");
    assert_non_null(all[0].cubin);
    assert_null(all[1].cubin);
    assert_string_equal((const char *)all[1].ptx, ".version 8.0");
    assert_int_equal(cuda_entry_param(&all[0], 1), TNB_PARAM_BUFFER | 1 << 8 | 8 << 16);
    free(all);
}

/* One field is another: what is said. */
static void
wrong_fields_are_named(void **state)
{
#define HEAD(field) offsetof(struct payload, head.field)
#define KERNEL(field) offsetof(struct payload, kernels[1].field)
    const struct {
        size_t at;
        uint64_t value;
        size_t bytes;
        const char *says;
    } all[] = {
        {HEAD(magic), 1, 4, "no kernels of format 'tenon-cuda'"},
        {HEAD(version), 2, 4, "version 2"},
        {HEAD(n_kernels), 0, 4, "0 kernels"},
        {HEAD(n_kernels), 0xffffffff, 4, "4294967295 kernels"},
        {HEAD(n_kernels), 60, 4, "60 kernels"},
        {HEAD(reserved), 1, 4, "reserved word"},
        {HEAD(arch), 'x', 1, "an architecture of no known form"},
        {HEAD(arch) + 3, 1, 1, "an architecture that is no text"},
        {HEAD(arch) + 15, 'x', 1, "an architecture that is no text"},
        {KERNEL(name), sizeof(struct payload), 8, "a name that is empty, too long"},
        {KERNEL(name), 0, 8, "a name that is empty, too long"},
        {KERNEL(name), UINT64_MAX, 8, "a name that is empty, too long"},
        {KERNEL(n_name), 0, 4, "a name that is empty, too long"},
        {KERNEL(n_name), 6, 4, "a name of another length"},
        {offsetof(struct payload, names[1][2]), '\n', 1, "a name that is no text"},
        {offsetof(struct payload, names[1][2]), 0, 1, "a name of another length"},
        {KERNEL(params), UINT64_MAX, 8, "parameters that reach beyond the end"},
        {KERNEL(n_params), CUDA_MAX_PARAMS + 1, 4, "too many parameters"},
        {KERNEL(n_params), CUDA_MAX_PARAMS, 4, "parameters that reach beyond the end"},
        {KERNEL(threads), 1025, 4, "a block of too many threads"},
        {KERNEL(reserved), 1, 4, "a reserved word"},
        {KERNEL(n_ptx), 0, 8, "PTX that is missing"},
        {KERNEL(n_ptx), UINT64_MAX, 8, "PTX that is missing or reaches beyond the end"},
        {KERNEL(n_ptx), 12, 8, "PTX of another length"},
        {KERNEL(n_cubin), 63, 8, "a cubin that is too short"},
        {KERNEL(n_cubin), UINT64_MAX, 8, "a cubin that is too short or reaches beyond the end"},
        {offsetof(struct payload, cubin), 0, 1, "('first') has a cubin that is no ELF file"},
        {offsetof(struct payload, params), cuda_param_word(TNB_PARAM_IMAGE, 0, 8), 4,
         "a parameter of a kind"},
        {offsetof(struct payload, params), cuda_param_word(TNB_PARAM_BUFFER, 2, 8), 4,
         "unknown bits"},
        {offsetof(struct payload, params), cuda_param_word(TNB_PARAM_SCALAR, 1, 8), 4,
         "unknown bits"},
        {offsetof(struct payload, params), cuda_param_word(TNB_PARAM_BUFFER, 0, 4), 4,
         "another size"},
        {offsetof(struct payload, params), cuda_param_word(TNB_PARAM_SCALAR, 0, 3), 4,
         "another size"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct payload p = good();
        tnb_err err;
        memcpy((char *)&p + all[i].at, &all[i].value, all[i].bytes);
        if (read_bytes(&p, sizeof p, &err) != TNB_FORMAT || !strstr(err.message, all[i].says))
            fail_msg("at %zu %llu: '%s', not '%s'", all[i].at, (unsigned long long)all[i].value,
                     err.message, all[i].says);
    }
}

static void
cut_payloads_are_refused(void **state)
{
    struct payload p = good();
    tnb_err err;
    (void)state;
    for (size_t n = 0; n < sizeof p; n++)
        if (read_bytes(&p, n, &err) != TNB_FORMAT)
            fail_msg("%zu of %zu bytes were taken", n, sizeof p);
}

static void
mutations_do_no_harm(void **state)
{
    uint64_t x = 88172645463325252u;
    unsigned taken = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct payload p = good();
        tnb_err err;
        for (int k = 0; k < 3; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            ((unsigned char *)&p)[x % sizeof p] = (unsigned char)(x >> 32);
            if (x >> 40 & 1)
                break;
        }
        taken += read_bytes(&p, sizeof p, &err) == TNB_OK;
    }
    assert_true(taken > 0 && taken < 20000); /* mutations of code and names are taken */
}

/* Which devices run what was compiled for an architecture. */
static void
architectures_are_compared(void **state)
{
    const struct {
        int major, minor;
        const char *arch;
        bool cubin, ptx;
    } all[] = {
        {9, 0, "sm_90", true, true},      {9, 0, "sm_90a", true, true},
        {9, 0, "sm_80", false, true},     {8, 9, "sm_80", true, true},
        {8, 9, "sm_86", true, true},      {8, 0, "sm_86", false, false},
        {8, 6, "sm_90", false, false},    {10, 0, "sm_90a", false, false},
        {10, 0, "sm_90", false, true},    {10, 0, "sm_100a", true, true},
        {10, 3, "sm_100a", false, false}, {10, 3, "sm_100f", true, true},
        {12, 0, "sm_100f", false, false}, {7, 5, "sm_75", true, true},
        {12, 1, "sm_75", false, true},    {9, 0, "sm_", false, false},
        {9, 0, "sm_90b", false, false},   {9, 0, "compute_90", false, false},
        {9, 0, "", false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct cuda_info info = {.major = all[i].major, .minor = all[i].minor};
        if (cuda_runs_cubin(&info, all[i].arch) != all[i].cubin ||
            cuda_runs_ptx(&info, all[i].arch) != all[i].ptx)
            fail_msg("%s on sm_%d%d", all[i].arch, all[i].major, all[i].minor);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_is_read),          cmocka_unit_test(wrong_fields_are_named),
        cmocka_unit_test(cut_payloads_are_refused),   cmocka_unit_test(mutations_do_no_harm),
        cmocka_unit_test(architectures_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
