/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of gpu_generic: what the reader takes, what it refuses and how it says so, and mutations of a good one, which it must
 * refuse or take without reading beyond them (build with the sanitizers to see that).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backends/gpu_generic/device.h"

/* ---- a payload of two kernels ---- */

enum { MAX_WORDS = 256, N_KERNELS = 3 };
struct payload {
    uint32_t words[MAX_WORDS];
    uint32_t n;
};

static void
put(struct payload *p, const uint32_t *words, size_t n)
{
    assert_true(p->n + n <= MAX_WORDS);
    memcpy(p->words + p->n, words, 4 * n);
    p->n += (uint32_t)n;
}

/* A compute module that does nothing, in groups of 8x2x1, with the threads in a row. */
static const uint32_t module[] = {
    0x07230203,    0x00010300, 0,  6,          0,    /* head */
    2 << 16 | 17,  1,                                /* OpCapability Shader */
    2 << 16 | 17,  11,                               /* OpCapability Int64 */
    3 << 16 | 14,  0,          1,                    /* OpMemoryModel Logical GLSL450 */
    5 << 16 | 15,  5,          1,  0x6e69616d, 0,    /* OpEntryPoint GLCompute %1 "main" */
    6 << 16 | 16,  1,          17, 16,         1, 1, /* OpExecutionMode %1 LocalSize 16 1 1 */
    2 << 16 | 19,  2,                                /* %2 = OpTypeVoid */
    3 << 16 | 33,  3,          2,                    /* %3 = OpTypeFunction %2 */
    5 << 16 | 54,  2,          1,  0,          3,    /* %1 = OpFunction */
    2 << 16 | 248, 4,                                /* OpLabel */
    1 << 16 | 253,                                   /* OpReturn */
    1 << 16 | 56,                                    /* OpFunctionEnd */
};
enum { MODULE = sizeof module / sizeof *module };

/* A thread's loops take (n + 3) / 4 * 5 turns, where n is the first scalar. */
static const uint32_t turns[] = {
    GPU_GENERIC_STEP_PARAM | 2 << 4,
    GPU_GENERIC_STEP_NUMBER | 3 << 4,
    GPU_GENERIC_STEP_ADD,
    GPU_GENERIC_STEP_NUMBER | 4 << 4,
    GPU_GENERIC_STEP_DIV,
    GPU_GENERIC_STEP_NUMBER | 5 << 4,
    GPU_GENERIC_STEP_MUL,
};
enum { TURNS = sizeof turns / sizeof *turns };

static void
put_kernel(struct payload *p, const char *name, uint32_t flags)
{
    const gpu_generic_param params[] = {{TNB_PARAM_BUFFER, false, 4}, {TNB_PARAM_BUFFER, true, 2},
                                        {TNB_PARAM_SCALAR, false, 8}, {TNB_PARAM_SCALAR, false, 1},
                                        {TNB_PARAM_REFUSED, true, 4}, {TNB_PARAM_TAG, false, 4}};
    enum { N = sizeof params / sizeof *params };
    uint32_t end = flags & GPU_GENERIC_BASE && !(flags & GPU_GENERIC_BLOCK) ? 12 : 0, words[N];
    uint32_t text[GPU_GENERIC_MAX_NAME_WORDS] = {0};
    for (int i = 0; i < N; i++) {
        (void)gpu_generic_place(flags, params[i], &end);
        words[i] = gpu_generic_param_word(params[i]);
    }
    const gpu_generic_kernel k = {.flags = flags,
                                  .name_words = (uint32_t)strlen(name) / 4 + 1,
                                  .n_params = N,
                                  .turns_words = TURNS,
                                  .module_words = MODULE,
                                  .local_size = {8, 2, 1},
                                  .block_bytes = end,
                                  .subgroup_size = 8};
    memcpy(text, name, strlen(name));
    put(p, (const uint32_t *)&k, sizeof k / 4);
    put(p, text, k.name_words);
    put(p, words, N);
    put(p, turns, TURNS);
    put(p, module, MODULE);
}

static struct payload
good(void)
{
    struct payload p = {.n = 0};
    const gpu_generic_payload head = {GPU_GENERIC_MAGIC, GPU_GENERIC_VERSION, N_KERNELS, 0};
    put(&p, (const uint32_t *)&head, sizeof head / 4);
    put_kernel(&p, "first", GPU_GENERIC_ADDRESSES);
    put_kernel(&p, "the_second_one", GPU_GENERIC_BASE | GPU_GENERIC_BLOCK);
    put_kernel(&p, "the_second_one", GPU_GENERIC_BASE | GPU_GENERIC_BLOCK | GPU_GENERIC_PARTS);
    return p;
}

static void
sum(void *user, uint32_t capability)
{
    *(uint32_t *)user += capability;
}

/* Reads bytes that end where their memory does, and all that the reader says is there. */
static tnb_status
read_bytes(const void *bytes, size_t n, tnb_err *err)
{
    struct gpu_generic_entry *all = NULL;
    uint32_t count = 0, total = 0;
    unsigned char *own = malloc(n ? n : 1);
    assert_non_null(own);
    memcpy(own, bytes, n);
    *err = (tnb_err){0};
    tnb_status st = gpu_generic_payload_read(own, n, &all, &count, err);
    for (uint32_t i = 0; st == TNB_OK && i < count; i++) {
        total += (uint32_t)strlen(all[i].name);
        for (uint32_t k = 0; k < all[i].head.n_params; k++)
            total += gpu_generic_word(all[i].params, k);
        gpu_generic_capabilities(&all[i], sum, &total);
        tnr_param *given = calloc(all[i].head.n_params + 1u, sizeof *given);
        assert_non_null(given);
        total += gpu_generic_turns(all[i].turns, all[i].head.turns_words, given) > 0;
        free(given);
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
    struct gpu_generic_entry *all;
    uint32_t n, total = 0;
    tnb_err err;
    (void)state;
    if (gpu_generic_payload_read(p.words, 4 * (size_t)p.n, &all, &n, &err) != TNB_OK)
        fail_msg("%s", err.message);
    assert_int_equal(n, N_KERNELS);
    assert_string_equal(all[0].name, "first");
    assert_string_equal(all[1].name, "the_second_one");
    assert_string_equal(all[2].name, all[1].name);
    assert_int_equal(all[0].head.flags, GPU_GENERIC_ADDRESSES);
    assert_int_equal(all[0].head.block_bytes, 44); /* 8 8 8 4 . 8 4 */
    assert_int_equal(all[1].head.block_bytes, 28); /* 4 4 8 4 4 4 */
    assert_int_equal(gpu_generic_param_of(gpu_generic_word(all[1].params, 1)).bytes, 2);
    gpu_generic_capabilities(&all[1], sum, &total);
    assert_int_equal(total, 1 + 11);
    tnr_param given[6] = {[2] = {.kind = TNB_PARAM_SCALAR, .u.scalar.i = 10}};
    assert_true(gpu_generic_turns(all[1].turns, all[1].head.turns_words, given) == 15);
    given[2].u.scalar.i = INT64_MAX;
    assert_true(gpu_generic_turns(all[1].turns, all[1].head.turns_words, given) > 1e18);
    free(all);
}

/* One word is another: what is said. */
static void
wrong_words_are_named(void **state)
{
    const uint32_t first = 4, name = first + 11, params = name + 2, steps = params + 6,
                   code = steps + TURNS, second = code + MODULE,
                   parts = second + 11 + 4 + 6 + TURNS + MODULE;
    const struct {
        uint32_t at, value;
        const char *says;
    } all[] = {
        {0, 1, "no kernels of format"},
        {1, 1, "version 1"},
        {2, 0, "0 kernels"},
        {2, 1, "bytes behind the last of 1 kernels"},
        {2, 2, "bytes behind the last of 2 kernels"},
        {2, 4, "kernel 3 ('?') has a record that reaches beyond the end"},
        {2, 0xffffffff, "4294967295 kernels"},
        {3, 1, "reserved word"},
        {first, 16, "unknown flags"},
        {first, GPU_GENERIC_PARTS, "a block of parameters of another size"},
        {first, GPU_GENERIC_ADDRESSES | GPU_GENERIC_PARTS, "a second form that is not of the"},
        {second, GPU_GENERIC_BASE | GPU_GENERIC_BLOCK | GPU_GENERIC_PARTS, "a second form that is"},
        {parts + 11, 'T' | 0x5f6568 << 8, "a second form that is not of the kernel before it"},
        {parts + 15, TNB_PARAM_BUFFER | 1 << 8 | 4 << 16, "a second form with other parameters"},
        {parts + 16, TNB_PARAM_BUFFER | 1 << 8 | 2 << 16 | 7 << 9, NULL},
        {first + 1, 0, "a name that is empty or too long"},
        {first + 1, 65, "a name that is empty or too long"},
        {first + 2, 4097, "too many parameters"},
        {first + 3, 257, "a number of turns of too many steps"},
        {first + 3, TURNS - 1, "a number of turns that is not one number"},
        {steps, GPU_GENERIC_STEP_END, "an unknown step"},
        {steps, GPU_GENERIC_STEP_ADD, "too many or too few operands"},
        {steps, GPU_GENERIC_STEP_PARAM | 1 << 4, "a parameter that is no scalar"},
        {steps, GPU_GENERIC_STEP_PARAM | 6 << 4, "a parameter that is no scalar"},
        {steps + 2, GPU_GENERIC_STEP_ADD | 1 << 4, "an unknown step"},
        {steps + 2, GPU_GENERIC_STEP_NUMBER, "a number of turns that is not one number"},
        {first + 4, 0xffffffff, "a module that is too large"},
        {first + 4, 4, "does not begin as SPIR-V does"},
        {first + 5, 0, "a group of no or too many threads"},
        {first + 5, 16, "its group's size is not the record's"},
        {first + 9, 39, "a block of parameters of another size"},
        {first + 10, 3, "a sub-group's size"},
        {name, 0, "a name of another length"},
        {name, 0x01010101, "a name that is no text"},
        {params, TNB_PARAM_IMAGE | 4 << 16, "a parameter of a kind"},
        {params, TNB_PARAM_SCALAR | 4 << 16 | 1 << 9, "a parameter in several bindings"},
        {params, TNB_PARAM_BUFFER | 3 << 16, "no power of two"},
        {params, TNB_PARAM_BUFFER | 4 << 16 | 1 << 7, "a parameter of a kind"},
        {code, 0, "does not begin as SPIR-V does"},
        {code + 1, 0x00010700, "unknown version of SPIR-V"},
        {code + 3, 0, "bound"},
        {code + 5, 17, "an instruction reaches beyond its end"},
        {code + 5, 1000 << 16 | 17, "an instruction reaches beyond its end"},
        {code + 13, 0, "not for compute"},
        {code + 15, 0x6e69616e, "another name than 'main'"},
        {code + 20, 9, "its group's size is not the record's"},
        {code + MODULE - 1, 1 << 16 | 1, "a function without an end"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct payload p = good();
        tnb_err err;
        p.words[all[i].at] = all[i].value;
        tnb_status st = read_bytes(p.words, 4 * (size_t)p.n, &err);
        if (all[i].says ? st != TNB_FORMAT || !strstr(err.message, all[i].says) : st != TNB_OK)
            fail_msg("word %u is %u: '%s', not '%s'", (unsigned)all[i].at, (unsigned)all[i].value,
                     err.message, all[i].says ? all[i].says : "taken");
    }
}

static void
cut_payloads_are_refused(void **state)
{
    struct payload p = good();
    tnb_err err;
    (void)state;
    for (size_t n = 0; n < 4 * (size_t)p.n; n++)
        assert_int_equal(read_bytes(p.words, n, &err), TNB_FORMAT);
    assert_int_equal(read_bytes(p.words, 4 * (size_t)p.n, &err), TNB_OK);
}

/* ---- mutations ---- */

static uint32_t
next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static void
mutate(struct payload *p, uint64_t *seed)
{
    static const uint32_t odd[] = {0,          1,          2,          3,         4,    0x7f,
                                   0xff,       0x100,      0xffff,     0x10000,   4096, 0x7fffffff,
                                   0x80000000, 0xfffffffe, 0xffffffff, 0x40000000};
    uint32_t at = next(seed) % p->n;
    switch (next(seed) % 6) {
    case 0:
        p->words[at] = odd[next(seed) % 16];
        break;
    case 1:
        p->words[at] += odd[next(seed) % 16];
        break;
    case 2:
        p->words[at] ^= UINT32_C(1) << next(seed) % 32;
        break;
    case 3: /* a word less */
        memmove(p->words + at, p->words + at + 1, 4 * (size_t)(p->n - at - 1));
        p->n -= p->n > 1;
        break;
    case 4: /* a word twice */
        if (p->n < MAX_WORDS) {
            memmove(p->words + at + 1, p->words + at, 4 * (size_t)(p->n - at));
            p->n++;
        }
        break;
    default: /* a word from elsewhere */
        p->words[at] = p->words[next(seed) % p->n];
    }
}

static void
mutations_are_refused_or_read(void **state)
{
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    int taken = 0, n = 200000;
    tnb_err err;
    (void)state;
    for (int i = 0; i < n; i++) {
        struct payload p = good();
        for (uint32_t k = 1 + next(&seed) % 3; k; k--)
            mutate(&p, &seed);
        taken += read_bytes(p.words, 4 * (size_t)p.n - next(&seed) % 64 / 63, &err) == TNB_OK;
    }
    assert_in_range(taken, n / 1000, n / 2); /* both happen */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_is_read),
        cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(cut_payloads_are_refused),
        cmocka_unit_test(mutations_are_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
