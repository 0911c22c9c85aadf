/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of kernels of every kind, from the artifact to the driver: what reaches it, what is refused when a machine is
 * made for a driver that does not take it, what a launch refuses, and broken records. */
#include "assemble.h"

/* ---- a device that notes the last launch ---- */

enum { EVERYTHING = 63 };

static struct seen {
    int launches;
    tnr_launch launch;
    tnr_param params[8];
    tnr_tensor_map map;
} seen;

static void
describe(void *dev, char *out, size_t n)
{
    (void)dev;
    snprintf(out, n, "taker");
}

static tnb_status
load(void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *err)
{
    static int loaded;
    (void)dev, (void)format, (void)code, (void)n, (void)err;
    *module = &loaded;
    return TNB_OK;
}

static void
unload(void *dev, void *module)
{
    (void)dev, (void)module;
}

static tnb_status
kernel(void *dev, void *module, const char *name, void **out, tnb_err *err)
{
    (void)dev, (void)name, (void)err;
    *out = module;
    return TNB_OK;
}

static tnb_status
launch(void *dev, void *stream, void *k, const tnr_launch *l, tnb_err *err)
{
    (void)dev, (void)stream, (void)k, (void)err;
    seen.launches++;
    seen.launch = *l;
    for (uint32_t i = 0; i < l->n_params && i < 8; i++) {
        seen.params[i] = l->params[i];
        if (l->params[i].kind == TNB_PARAM_TENSOR_MAP)
            seen.map = *l->params[i].u.map;
    }
    return TNB_OK;
}

static tnb_status
any_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    (void)scope;
    return tnr_host_alloc(dev, bytes, NULL, mem, err);
}

static const char *const formats[] = {"test", NULL};
static const tnr_driver taker = {.base.size = sizeof(tnr_driver),
                                 .base.name = "taker",
                                 .flags = TNR_DRIVER_HOST_MEMORY,
                                 .takes = EVERYTHING,
                                 .type = TNB_EXT_DEV,
                                 .alignment = 64,
                                 .count = tnr_host_count,
                                 .open = tnr_host_open,
                                 .close = tnr_host_close,
                                 .describe = describe,
                                 .check_features = tnr_host_check_features,
                                 .alloc = any_alloc,
                                 .free = tnr_host_free,
                                 .copy = tnr_host_copy,
                                 .zero = tnr_host_zero,
                                 .sync = tnr_host_sync,
                                 .formats = formats,
                                 .module_load = load,
                                 .module_free = unload,
                                 .module_kernel = kernel,
                                 .launch = launch};

/* ---- the program: main(x: a tensor [4, 6] of float32, n) launches with everything ---- */

static tnb_arena *arena;

static const tnb_tensor_map usual_map = {
    .dtype = {TNB_FLOAT, 32, 1}, .rank = 2, .fill = TNB_MAP_NANS, .swizzle = 64, .box = {2, 3}};
static const tnb_tno_param usual[] = {
    {.kind = TNB_PARAM_SCALAR, .dtype = {TNB_FLOAT, 32, 1}},
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 2, .flags = TNB_TNO_WRITTEN},
    {.kind = TNB_PARAM_TENSOR_MAP, .ndim = 2},
    {.kind = TNB_PARAM_IMAGE, .ndim = -1},
    {.kind = TNB_PARAM_SCALAR, .dtype = {TNB_INT, 64, 1}}};
enum {
    N_USUAL = sizeof usual / sizeof *usual,
    FLAGS =
        TNB_TNO_GRID | TNB_TNO_CLUSTER | TNB_TNO_SHARED | TNB_TNO_COOPERATIVE | TNB_TNO_PROGRAMMATIC
};

/* sizes: extents and stride of the map, grid, cluster in x */
static tnk_program *
program(const int64_t sizes[5])
{
    tnk_program *p = tnk_program_new(arena);
    uint32_t dev = tnk_program_device(p, "taker", 0, "global");
    assert_int_equal(tnk_program_map(p, &usual_map), 0);
    assert_int_equal(tnk_program_map(p, &usual_map), 0);
    uint32_t k = tnk_program_kernel(p, "all", FLAGS, dev, usual, N_USUAL, NULL);
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 1));
    for (int i = 0; i < 9; i++)
        tnk_program_scalar_reg(p);
    uint32_t half = tnk_program_value(p, TNB_TNO_FLOAT, TNB_F64, 0x3fe0000000000000u),
             boxed = tnk_program_value_reg(p);
    for (uint32_t i = 0; i < 5; i++)
        load_int(p, i, sizes[i]);
    load_int(p, 5, 1);
    load_int(p, 6, 7);
    load_int(p, 7, 4096);
    OP(CONST, 0, boxed, half, 0);
    OP(UNBOXF, 0, 8, boxed, 0);
    OPL(LAUNCH, 0, k, F(8), V(0), V(0), I(0), I(1), I(2), V(0), I(6), I(3), I(5), I(5), I(6), I(5),
        I(5), I(4), I(5), I(5), I(7));
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    return p;
}

static const int64_t fitting[5] = {4, 6, 6, 8, 2};

static tnb_status
run(tnk_program *p, uint32_t takes, bool only_make, tnb_err *why)
{
    tnr_driver driver = taker;
    driver.takes = takes;
    const tnr_driver *const drivers[] = {&driver};
    tnr_plugin_desc plugin = {.head = TNB_PLUGIN_HEAD(tnr_plugin_desc, TNB_PLUGIN_RUNTIME, "test",
                                                      "1", "Apache-2.0", "for a test"),
                              .drivers = drivers,
                              .n_drivers = 1};
    tnr_runtime *rt = NULL;
    tnr_vm *vm = NULL;
    tnr_value x, ret;
    seen = (struct seen){0};
    OK(tnr_runtime_new(NULL, &rt, &err));
    OK(tnr_runtime_add(rt, &plugin, &err));
    tnr_artifact *a = assemble(p, "taker", NULL, 0);
    tnb_status st = tnr_vm_new(rt, a, 0, &vm, why);
    if (st == TNB_OK && !only_make) {
        OK(tnr_tensor_new(tnr_vm_device(vm), (const int64_t[]){4, 6}, 2, TNB_F32, &x, &err));
        st = tnr_vm_call(vm, "main", &x, 1, &ret, why);
        tnr_release(&ret);
        tnr_release(&x);
    }
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    tnr_runtime_free(rt);
    return st;
}

static int
setup(void **state)
{
    (void)state;
    arena = tnb_arena_new();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    tnb_arena_free(arena);
    return 0;
}

static void
test_every_kind_reaches_the_driver_in_order(void **state)
{
    (void)state;
    OK(run(program(fitting), EVERYTHING, false, &err));
    const tnr_launch *l = &seen.launch;
    const tnr_param *p = seen.params;
    assert_int_equal(seen.launches, 1);
    assert_int_equal(l->n_params, N_USUAL);
    assert_int_equal(p[0].kind, TNB_PARAM_SCALAR);
    assert_true(p[0].u.scalar.f == 0.5 && tnb_dtype_eq(p[0].dtype, TNB_F32));
    assert_true(p[1].kind == TNB_PARAM_BUFFER && p[1].written && p[1].u.memory.bytes == 96);
    assert_true(p[3].kind == TNB_PARAM_IMAGE && !p[3].written && p[3].u.memory.bytes == 96);
    assert_true(p[4].kind == TNB_PARAM_SCALAR && p[4].u.scalar.i == 7);
    const tnr_tensor_map *m = &seen.map;
    assert_true(m->map->rank == 2 && m->map->swizzle == 64 && m->map->fill == TNB_MAP_NANS);
    assert_true(m->map->box[0] == 2 && m->map->box[1] == 3 && tnb_dtype_eq(m->map->dtype, TNB_F32));
    assert_true(m->extents[0] == 4 && m->extents[1] == 6 && m->strides[0] == 6 &&
                m->strides[1] == 1);
    assert_ptr_equal(m->memory.mem, p[1].u.memory.mem);
    assert_int_equal(l->flags, TNR_LAUNCH_GRID | TNR_LAUNCH_CLUSTER | TNR_LAUNCH_COOPERATIVE |
                                   TNR_LAUNCH_PROGRAMMATIC);
    assert_true(l->grid[0] == 8 && l->grid[1] == 1 && l->block[0] == 7 && l->block[1] == 1);
    assert_true(l->cluster[0] == 2 && l->cluster[1] == 1 && l->shared_bytes == 4096);
}

static void
test_what_a_driver_does_not_take_is_refused_when_a_machine_is_made(void **state)
{
    static const struct {
        uint32_t takes;
        const char *text;
    } all[] = {{TNR_TAKES_IMAGES,
                "kernel 'all' needs an image as a parameter, which device 'taker'"},
               {TNR_TAKES_TENSOR_MAPS, "a tensor map as a parameter"},
               {TNR_TAKES_CLUSTERS, "clusters of blocks"},
               {TNR_TAKES_COOPERATIVE, "a cooperative launch"},
               {TNR_TAKES_PROGRAMMATIC, "a programmatic launch"},
               {TNR_TAKES_SHARED, "shared memory whose size a launch says"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        FAILS(run(program(fitting), EVERYTHING & ~all[i].takes, true, &err), TNB_UNSUPPORTED,
              all[i].text);
}

static void
test_launches_are_checked(void **state)
{
    static const struct {
        int64_t sizes[5];
        tnb_status status;
        const char *text;
    } all[] = {{{4, 7, 6, 8, 2}, TNB_BOUNDS, "kernel 'all': tensor map 2 reaches element 24 of 24"},
               {{-1, 6, 6, 8, 2}, TNB_BOUNDS, "axis 0 of tensor map 2 has extent -1"},
               {{4, 6, -6, 8, 2}, TNB_BOUNDS, "stride -6"},
               {{INT64_MAX, 6, INT64_MAX, 8, 2}, TNB_BOUNDS, "axis 0 of tensor map 2"},
               {{4, 6, 6, 9, 2}, TNB_INVALID, "clusters of 2 blocks in dimension 0 of a grid of 9"},
               {{4, 6, 6, 8, 0}, TNB_INVALID, "clusters of 0 blocks"},
               {{4, 6, 6, -1, 2}, TNB_BOUNDS, "a launch of -1"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        FAILS(run(program(all[i].sizes), EVERYTHING, false, &err), all[i].status, all[i].text);
        assert_int_equal(seen.launches, 0);
    }
    const int64_t none[5] = {0, 6, 6, 8, 2}, no_grid[5] = {4, 6, 6, 0, 2};
    OK(run(program(none), EVERYTHING, false, &err)); /* an empty tensor has no last element */
    assert_int_equal(seen.launches, 1);
    OK(run(program(no_grid), EVERYTHING, false, &err));
    assert_int_equal(seen.launches, 0);
}

/* ---- broken records ---- */

/* The kernel with one thing changed; the status of the reader's check. */
static tnb_status
verify(const tnb_tno_param *params, uint32_t n, uint32_t flags, const char *checks,
       const tnb_tensor_map *map, tnb_err *why)
{
    tnk_program *p = tnk_program_new(arena);
    tnb_buf bytes = {0};
    tnb_tno_view view;
    (void)tnk_program_device(p, "taker", 0, "global");
    (void)tnk_program_map(p, map);
    (void)tnk_program_kernel(p, "k", flags, 0, params, n, checks);
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0));
    OP(RET, 0, tnk_program_value_reg(p), 0, 0);
    tnk_program_end(p);
    OK(tnk_program_write(p, &bytes, &err));
    void *aligned = tnb_dup(arena, bytes.s, bytes.n);
    size_t n_bytes = bytes.n;
    tnb_buf_free(&bytes);
    return tnb_tno_verify(aligned, n_bytes, 0, &view, why);
}

static void
test_broken_records_are_refused(void **state)
{
    (void)state;
    const tnb_tno_param refused = {.kind = TNB_PARAM_REFUSED}, tag = {.kind = TNB_PARAM_TAG};
#define WITH(text, field, value)                                                    \
    do {                                                                            \
        tnb_tno_param q[N_USUAL];                                                   \
        memcpy(q, usual, sizeof q);                                                 \
        field = value;                                                              \
        FAILS(verify(q, N_USUAL, FLAGS, NULL, &usual_map, &err), TNB_FORMAT, text); \
    } while (0)
    OK(verify(usual, N_USUAL, FLAGS, NULL, &usual_map, &err));
    WITH("unknown kind 0", q[0].kind, 0);
    WITH("unknown kind 7", q[0].kind, TNB_PARAM_END);
    WITH("what its kind has not", q[0].flags, TNB_TNO_WRITTEN);
    WITH("what its kind has not", q[1].flags, 2);
    WITH("what its kind has not", q[1].map, 1);
    WITH("what its kind has not", q[0].ndim, 1);
    WITH("a type that its kind has not", q[0].dtype.bits, 128);
    WITH("a type that its kind has not", q[0].dtype.lanes, 2);
    WITH("a type that its kind has not", q[2].dtype.bits, 8);
    WITH("tensor map 1 of 1", q[2].map, 1);
    WITH("rank 3", q[2].ndim, 3);
    WITH("places for a refused index", q[3], refused);
    WITH("1 tags", q[3], tag);
#undef WITH
    const tnb_tno_param checked[] = {refused, tag}, twice[] = {refused, refused},
                        tags[] = {refused, tag, tag};
    OK(verify(checked, 2, 0, "axis 0", &usual_map, &err));
    FAILS(verify(checked, 2, 0, NULL, &usual_map, &err), TNB_FORMAT, "refused index");
    FAILS(verify(usual, 1, 0, "axis 0", &usual_map, &err), TNB_FORMAT, "0 places");
    FAILS(verify(twice, 2, 0, "axis 0", &usual_map, &err), TNB_FORMAT, "2 places");
    FAILS(verify(tags, 3, 0, "axis 0", &usual_map, &err), TNB_FORMAT, "2 tags");
    for (uint32_t flag = TNB_TNO_CLUSTER; flag < TNB_TNO_CHECKED; flag <<= 1)
        FAILS(verify(usual, N_USUAL, flag, NULL, &usual_map, &err), TNB_FORMAT, "no grid");
    FAILS(verify(usual, N_USUAL, FLAGS | 64, NULL, &usual_map, &err), TNB_FORMAT, "not known");
#define MAP(text, field, value)                                                   \
    do {                                                                          \
        tnb_tensor_map m = usual_map;                                             \
        m.field = value;                                                          \
        FAILS(verify(usual, N_USUAL, FLAGS, NULL, &m, &err), TNB_FORMAT, (text)); \
    } while (0)
    MAP("no element type", dtype.bits, 0);
    MAP("a rank, swizzle or fill", rank, 0);
    MAP("a rank, swizzle or fill", rank, 6);
    MAP("a rank, swizzle or fill", swizzle, 16);
    MAP("a rank, swizzle or fill", fill, 2);
    MAP("a rank, swizzle or fill", reserved, 1);
    MAP("0 elements on axis 1", box[1], 0);
    MAP("4 elements on axis 4", box[4], 4);
#undef MAP
}

/* Whatever stands in the section, the check ends and reads nothing beyond it. */
static void
test_random_bytes_are_survived(void **state)
{
    tnb_buf bytes = {0};
    uint64_t seed = 88172645463325252u;
    (void)state;
    OK(tnk_program_write(program(fitting), &bytes, &err));
    uint8_t *own = malloc(bytes.n);
    for (int i = 0; i < 20000; i++) {
        tnb_tno_view view;
        tnb_err err;
        memcpy(own, bytes.s, bytes.n);
        for (int k = 0; k < 1 + i % 3; k++)
            own[next_random(&seed) % bytes.n] = (uint8_t)(next_random(&seed) >> 13);
        if (tnb_tno_verify(own, bytes.n, 0, &view, &err) != TNB_OK)
            assert_true(err.message[0]);
    }
    free(own);
    tnb_buf_free(&bytes);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_every_kind_reaches_the_driver_in_order),
        TEST(test_what_a_driver_does_not_take_is_refused_when_a_machine_is_made),
        TEST(test_launches_are_checked),
        TEST(test_broken_records_are_refused),
        TEST(test_random_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
