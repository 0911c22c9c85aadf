/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that another device runs than the variant's own: copies there and back, errors, lack of memory at every place,
 * and artifacts that say of it what is not so. Two devices of the test's own: `far`, whose memory is not the host's, and
 * `near`, whose is.
 */
#include "assemble.h"
#include <sys/stat.h>

/* ---- devices ---- */

struct far_memory {
    void *data; /* handles are no addresses of elements */
};

static struct {
    int calls, fail_at; /* of what may fail: the number that does; 0: none */
    int far_in_use, near_launches, copies;
} world;

static bool
may_fail(void)
{
    return ++world.calls == world.fail_at;
}

static tnb_status
far_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    (void)dev, (void)scope;
    struct far_memory *m = may_fail() ? NULL : malloc(sizeof *m);
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "far has no memory");
    m->data = aligned_alloc(64, (bytes + 64) / 64 * 64);
    *mem = m;
    world.far_in_use++;
    return TNB_OK;
}

static void
far_free(void *dev, void *mem)
{
    struct far_memory *m = mem;
    (void)dev;
    free(m->data);
    free(m);
    world.far_in_use--;
}

static char *
far_at(const void *mem, uint64_t offset)
{
    return (char *)((const struct far_memory *)mem)->data + offset;
}

static tnb_status
far_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    (void)dev, (void)stream;
    world.copies++;
    if (may_fail())
        return tnb_fail(err, TNB_DEVICE, "far cannot copy");
    char *dst = c->kind == TNR_COPY_TO_HOST ? (char *)c->dst + c->dst_offset
                                            : far_at(c->dst, c->dst_offset);
    const char *src = c->kind == TNR_COPY_TO_DEVICE ? (const char *)c->src + c->src_offset
                                                    : far_at(c->src, c->src_offset);
    memmove(dst, src, c->bytes);
    return TNB_OK;
}

static tnb_status
far_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    memset(far_at(mem, offset), 0, bytes);
    return TNB_OK;
}

static tnb_status
near_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    if (may_fail())
        return tnb_fail(err, TNB_NO_MEMORY, "near has no memory");
    return tnr_host_alloc(dev, bytes, scope, mem, err);
}

static tnb_status
load(const char *name, const void *code, size_t n, void **module, tnb_err *err)
{
    *module = (void *)(uintptr_t)1;
    return n == 4 && memcmp(code, name, 4) == 0 ? TNB_OK
                                                : tnb_fail(err, TNB_FORMAT, "no code of %s", name);
}

static tnb_status
far_load(void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *err)
{
    (void)dev, (void)format;
    return load("code", code, n, module, err);
}

static tnb_status
near_load(void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *err)
{
    (void)dev, (void)format;
    return load("near", code, n, module, err);
}

static void
unload(void *dev, void *module)
{
    (void)dev, (void)module;
}

static tnb_status
find_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    (void)dev, (void)module;
    *kernel = (void *)(uintptr_t)name[0];
    return name[0] ? TNB_OK : tnb_fail(err, TNB_NOT_FOUND, "no kernel ''");
}

/* The last buffer becomes a + 2 b, or, by 'f', nothing. */
static tnb_status
compute(char *(*at)(const void *, uint64_t), void *kernel, const tnr_launch *l, tnb_err *err)
{
    if ((uintptr_t)kernel == 'f')
        return tnb_fail(err, TNB_DEVICE, "the kernel failed");
    if (l->n_params != 3)
        return tnb_fail(err, TNB_INVALID, "three buffers");
    const tnr_memory *x = &l->params[0].u.memory, *y = &l->params[1].u.memory,
                     *z = &l->params[2].u.memory;
    uint64_t bytes = z->bytes;
    if (x->bytes < bytes || y->bytes < bytes)
        return tnb_fail(err, TNB_BOUNDS, "buffers differ");
    for (uint64_t i = 0; i < bytes / 4; i++) {
        float a, b;
        memcpy(&a, at(x->mem, x->offset + 4 * i), 4);
        memcpy(&b, at(y->mem, y->offset + 4 * i), 4);
        a += 2 * b;
        memcpy(at(z->mem, z->offset + 4 * i), &a, 4);
    }
    return TNB_OK;
}

static tnb_status
far_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    (void)dev, (void)stream;
    return compute(far_at, kernel, l, err);
}

static char *
near_at(const void *mem, uint64_t offset)
{
    return (char *)(uintptr_t)mem + offset;
}

static tnb_status
near_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    (void)dev, (void)stream;
    world.near_launches++;
    return compute(near_at, kernel, l, err);
}

static void
describe(void *dev, char *out, size_t n)
{
    (void)dev;
    snprintf(out, n, "of a test");
}

static const char *const far_formats[] = {"test", NULL}, *const near_formats[] = {"native", NULL};

static const tnr_driver far_driver = {.base.size = sizeof(tnr_driver),
                                      .base.name = "far",
                                      .base.doc = "for tests",
                                      .type = TNB_EXT_DEV,
                                      .alignment = 64,
                                      .count = tnr_host_count,
                                      .open = tnr_host_open,
                                      .close = tnr_host_close,
                                      .describe = describe,
                                      .check_features = tnr_host_check_features,
                                      .alloc = far_alloc,
                                      .free = far_free,
                                      .copy = far_copy,
                                      .zero = far_zero,
                                      .sync = tnr_host_sync,
                                      .formats = far_formats,
                                      .module_load = far_load,
                                      .module_free = unload,
                                      .module_kernel = find_kernel,
                                      .launch = far_launch};
static const tnr_driver near_driver = {.base.size = sizeof(tnr_driver),
                                       .flags = TNR_DRIVER_HOST_MEMORY | TNR_DRIVER_NATIVE,
                                       .base.name = "near",
                                       .base.doc = "for tests",
                                       .type = TNB_EXT_DEV + 1,
                                       .alignment = 64,
                                       .count = tnr_host_count,
                                       .open = tnr_host_open,
                                       .close = tnr_host_close,
                                       .describe = describe,
                                       .check_features = tnr_host_check_features,
                                       .alloc = near_alloc,
                                       .free = tnr_host_free,
                                       .copy = tnr_host_copy,
                                       .zero = tnr_host_zero,
                                       .sync = tnr_host_sync,
                                       .formats = near_formats,
                                       .module_load = near_load,
                                       .module_free = unload,
                                       .module_kernel = find_kernel,
                                       .launch = near_launch};
static const tnr_driver *const drivers[] = {&far_driver, &near_driver};
static const tnr_plugin_desc plugin = {.head =
                                           TNB_PLUGIN_HEAD(tnr_plugin_desc, TNB_PLUGIN_RUNTIME,
                                                           "test", "1", "Apache-2.0", "for tests"),
                                       .drivers = drivers,
                                       .n_drivers = 2};

/* ---- artifacts ---- */

#define VARIANT                                                                    \
    "{\"functions\": {\"main\": {\"params\": [], \"results\": []}}, \"variants\":" \
    " [{\"name\": \"t\", \"target\": \"{}\", \"device\": \"far\", \"format\": "    \
    "\"test\", \"features\": [], \"packed\": []"
#define FALLBACK \
    VARIANT ", \"fallback\": {\"device\": \"near\", \"format\": \"native\", \"features\": []}}]}"

static const tnb_tno_param three_floats[] = {
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1},
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1},
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1, .flags = TNB_TNO_WRITTEN}};

/* main(x): y = x + 2 c on far; z = y + 2 c on near. `empty`: the launch's bits of buffers that hold nothing yet. */
static tnk_program *
sample_with(tnb_arena *arena, const char *near_kernel, uint32_t empty)
{
    static const int64_t four = 4;
    tnk_program *p = tnk_program_new(arena);
    uint32_t far = tnk_program_device(p, "far", 0, "global");
    uint32_t near = tnk_program_device(p, "near", 0, "global");
    uint32_t k0 = tnk_program_kernel(p, "add", 0, far, three_floats, 3, NULL);
    uint32_t k1 = tnk_program_kernel(p, near_kernel, 0, near, three_floats, 3, NULL);
    uint32_t c = tnk_program_tensor(p, TNB_F32, &four, 1, 0, 16);
    uint32_t on_near = tnk_program_tensor_on(p, c, near);
    uint32_t f = tnk_program_function(p, "main", TNB_TNO_PUBLIC, 1);
    tnk_program_begin(p, f);
    for (int i = 0; i < 5; i++)
        tnk_program_value_reg(p);
    uint32_t n = tnk_program_scalar_reg(p), at = tnk_program_scalar_reg(p);
    load_int(p, n, 256);
    OP(ALLOCS, 0, 1, n, 0);
    load_int(p, at, 0);
    OPL(ALLOCT, 2, TNB_VM_DTYPE(TNB_F32) | 1u << 16, V(1), I(at),
        C(tnk_program_shape(p, &four, 1)));
    load_int(p, at, 64);
    OPL(ALLOCT, 3, TNB_VM_DTYPE(TNB_F32) | 1u << 16, V(1), I(at),
        C(tnk_program_shape(p, &four, 1)));
    OPL(LAUNCH, 0, k0, V(0), C(c), V(2));
    OPL(LAUNCH, empty, k1, V(2), C(on_near), V(3));
    OP(RET, 0, 3, 0, 0);
    tnk_program_end(p);
    return p;
}

static tnk_program *
sample(tnb_arena *arena, const char *near_kernel)
{
    return sample_with(arena, near_kernel, 0);
}

/* `times`: sections of code for the fallback. */
static uint8_t *
file_of(const tnk_program *p, const char *json, const char *code, int times, size_t *n)
{
    static const float constants[] = {10, 20, 30, 40};
    tnb_buf bytes = {0};
    tnk_artifact *a;
    uint64_t offset, total;
    int fd;
    struct stat st;
    OK(tnk_program_write(p, &bytes, &err));
    OK(tnk_artifact_new(NULL, 1, &a, &err));
    OK(tnk_artifact_constant(a, constants, sizeof constants, &offset, &err));
    OK(tnk_artifact_section(a, TNB_TNO_METADATA, 0, json, strlen(json), &err));
    OK(tnk_artifact_section(a, TNB_TNO_PROGRAM, 0, bytes.s, bytes.n, &err));
    if (times < 2)
        OK(tnk_artifact_section(a, TNB_TNO_CODE, 0, "code", 4, &err));
    for (int i = 0; i < times; i++)
        OK(tnk_artifact_section(a, TNB_TNO_FALLBACK_CODE, 0, code, strlen(code), &err));
    OK(tnk_artifact_finish(a, &fd, &total, &err));
    tnb_buf_free(&bytes);
    assert_int_equal(fstat(fd, &st), 0);
    *n = (size_t)st.st_size;
    uint8_t *out = malloc(*n);
    assert_int_equal(pread(fd, out, *n, 0), (ssize_t)*n);
    close(fd);
    return out;
}

/* What becomes of an artifact: opened, chosen, run with (1, 2, 3, 4). */
static tnb_status
outcome_in(tnr_runtime *rt, const uint8_t *bytes, size_t n, float *got, tnb_err *err)
{
    static const float x[] = {1, 2, 3, 4};
    static const int64_t four = 4;
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    tnr_value arg = tnr_null(), ret = tnr_null();
    tnr_device *far;
    uint32_t variant;
    tnb_status st = tnr_artifact_open_memory(bytes, n, "test", &a, err);
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, a, NULL, &variant, NULL, err);
    if (st == TNB_OK)
        st = tnr_vm_new(rt, a, variant, &vm, err);
    if (st == TNB_OK)
        st = tnr_device_open(rt, "far", 0, &far, err);
    if (st == TNB_OK)
        st = tnr_tensor_from(far, x, &four, 1, TNB_F32, &arg, err);
    if (st == TNB_OK)
        st = tnr_vm_call(vm, "main", &arg, 1, &ret, err);
    if (st == TNB_OK && ret.tag == TNR_TENSOR && ret.u.tensor->n_bytes == 16)
        st = tnr_tensor_read(ret.u.tensor, got, 16, err);
    tnr_release(&ret);
    tnr_release(&arg);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    return st;
}

static tnb_status
outcome(const uint8_t *bytes, size_t n, uint64_t limit, bool no_native, float *got, tnb_err *err)
{
    tnr_runtime *rt;
    tnr_runtime_options opt = {.memory_limit = limit, .no_native = no_native};
    world.calls = world.far_in_use = world.near_launches = world.copies = 0;
    tnb_status st = tnr_runtime_new(&opt, &rt, err);
    if (st != TNB_OK)
        return st;
    st = tnr_runtime_add(rt, &plugin, err);
    if (st == TNB_OK)
        st = outcome_in(rt, bytes, n, got, err);
    tnr_device *near;
    tnr_memory_stats memory = {0};
    if (tnr_device_open(rt, "near", 0, &near, NULL) == TNB_OK)
        tnr_device_memory(near, &memory);
    assert_int_equal(memory.in_use, 0);
    tnr_runtime_free(rt);
    assert_int_equal(world.far_in_use, 0);
    return st;
}

static void
assert_right(const float *got)
{
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == (float)(i + 1 + 20 * (i + 1) + 20 * (i + 1)));
}

/* ---- tests ---- */

static tnb_arena *arena;

static void
test_what_is_far_is_copied_and_comes_back(void **state)
{
    size_t n;
    float got[4];
    uint8_t *bytes = file_of(sample(arena, "add"), FALLBACK, "near", 1, &n);
    (void)state;
    OK(outcome(bytes, n, 0, false, got, &err));
    assert_right(got);
    assert_int_equal(world.near_launches, 1);
    free(bytes);
    /* of the result there is nothing to be brought */
    int all = world.copies;
    bytes = file_of(sample_with(arena, "add", 1u << 2), FALLBACK, "near", 1, &n);
    OK(outcome(bytes, n, 0, false, got, &err));
    assert_right(got);
    assert_int_equal(world.copies, all - 1);
    free(bytes);
}

static void
test_errors_name_the_kernel_and_leave_nothing(void **state)
{
    size_t n;
    float got[4];
    uint8_t *bytes = file_of(sample(arena, "fails"), FALLBACK, "near", 1, &n);
    (void)state;
    FAILS(outcome(bytes, n, 0, false, got, &err), TNB_DEVICE, "kernel 'fails': the kernel failed");
    free(bytes);
    bytes = file_of(sample(arena, "add"), FALLBACK, "near", 1, &n);
    FAILS(outcome(bytes, n, 0, true, got, &err), TNB_UNTRUSTED, "machine code");
    free(bytes);
}

/* Each allocation and each copy fails once; and every limit of memory is tried. */
static void
test_lack_of_memory_anywhere(void **state)
{
    size_t n;
    float got[4];
    uint8_t *bytes = file_of(sample(arena, "add"), FALLBACK, "near", 1, &n);
    tnb_status st = TNB_INTERNAL;
    int failures = 0;
    (void)state;
    for (world.fail_at = 1; st != TNB_OK && world.fail_at < 200; world.fail_at++) {
        tnb_err err = {0};
        st = outcome(bytes, n, 0, false, got, &err);
        if (st == TNB_OK) {
            assert_right(got);
        } else {
            failures++;
            assert_true(st == TNB_NO_MEMORY || st == TNB_DEVICE);
            assert_non_null(
                strstr(err.message, st == TNB_DEVICE ? "far cannot copy" : "has no memory"));
        }
    }
    world.fail_at = 0;
    assert_int_equal(st, TNB_OK);
    assert_true(failures > 5);
    failures = 0;
    st = TNB_INTERNAL;
    for (uint64_t limit = 16; limit < 65536; limit += 16) {
        tnb_err err = {0};
        tnb_status was = st;
        st = outcome(bytes, n, limit, false, got, &err);
        assert_true(st == TNB_OK || (st == TNB_NO_MEMORY && err.message[0] && was != TNB_OK));
        if (st == TNB_OK)
            break;
        failures++;
    }
    assert_int_equal(st, TNB_OK);
    assert_right(got);
    assert_true(failures > 3);
    free(bytes);
}

static void
test_what_artifacts_say_of_it_is_checked(void **state)
{
    static const struct {
        const char *json, *code;
        int times;
        const char *message;
    } cases[] = {
        {VARIANT "}]}", "near", 1, ""},
        {FALLBACK, "near", 0, "holds no code"},
        {FALLBACK, "far!", 1, "no code of near"},
        {FALLBACK, "near", 2, "fallback code"},
        {VARIANT ", \"fallback\": 5}]}", "near", 1, "fallback"},
        {VARIANT ", \"fallback\": {}}]}", "near", 1, "device"},
        {VARIANT ", \"fallback\": {\"device\": \"near\"}}]}", "near", 1, "format"},
        {VARIANT ", \"fallback\": {\"device\": \"near\", \"format\": \"native\"}}]}", "near", 1,
         "features"},
        {VARIANT ", \"fallback\": {\"device\": 1, \"format\": \"native\", \"features\": []}}]}",
         "near", 1, "device"},
        {VARIANT
         ", \"fallback\": {\"device\": \"nobody\", \"format\": \"native\", \"features\": []}}]}",
         "near", 1, "nobody"},
        {VARIANT
         ", \"fallback\": {\"device\": \"near\", \"format\": \"other\", \"features\": []}}]}",
         "near", 1, "does not take code of format 'other'"},
        {VARIANT
         ", \"fallback\": {\"device\": \"near\", \"format\": \"native\", \"features\": [\"x\"]}}]}",
         "near", 1, "x"},
        {VARIANT ", \"fallback\": {\"device\": \"far\", \"format\": \"test\", \"features\": []}}]}",
         "near", 1, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        float got[4];
        tnb_err err = {0};
        uint8_t *bytes =
            file_of(sample(arena, "add"), cases[i].json, cases[i].code, cases[i].times, &n);
        tnb_status st = outcome(bytes, n, 0, false, got, &err);
        if (st == TNB_OK || !err.message[0] || !strstr(err.message, cases[i].message))
            fail_msg("case %zu: status %d, '%s' lacks '%s'", i, st, err.message, cases[i].message);
        free(bytes);
    }
}

/* Hashes are right, so that what is behind them is reached. */
static void
test_random_changes_never_harm(void **state)
{
    size_t n;
    float got[4];
    uint8_t *bytes = file_of(sample(arena, "add"), FALLBACK, "near", 1, &n), *mutant = malloc(n);
    uint64_t seed = 88172645463325252u;
    size_t tail = n < 4096 + 64 ? 0 : 4096;
    (void)state;
    for (int turn = 0; turn < 3000; turn++) {
        tnb_err err = {0};
        memcpy(mutant, bytes, n);
        for (uint64_t k = next_random(&seed) % 3 + 1; k; k--) {
            size_t at = next_random(&seed) % 4 ? tail + next_random(&seed) % (n - tail)
                                               : next_random(&seed) % 300;
            mutant[at] = next_random(&seed) % 2
                             ? mutant[at] ^ (uint8_t)(1u << next_random(&seed) % 8)
                             : (uint8_t)next_random(&seed);
        }
        rehash(mutant, n);
        tnb_status st = outcome(mutant, n, 1 << 20, false, got, &err);
        assert_true(st == TNB_OK || (err.message[0] && err.status == st));
    }
    free(mutant);
    free(bytes);
}

static int
setup(void **state)
{
    (void)state;
    arena = tnb_arena_new();
    return !arena;
}

static int
teardown(void **state)
{
    (void)state;
    tnb_arena_free(arena);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_far_is_copied_and_comes_back),
        cmocka_unit_test(test_errors_name_the_kernel_and_leave_nothing),
        cmocka_unit_test(test_lack_of_memory_anywhere),
        cmocka_unit_test(test_what_artifacts_say_of_it_is_checked),
        cmocka_unit_test(test_random_changes_never_harm),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
