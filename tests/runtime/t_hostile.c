/* SPDX-License-Identifier: Apache-2.0 */
/* What artifacts from others may do to a program that runs them: nest values, share them, put the
 * shape heap where no int64 can be, ask for code that runs on the host, and change under its hands.
 */
#include "assemble.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static tnb_arena *arena;
enum { DEEP = 2000000 };

/* main: v0 = wrap(v0), n times, by the instruction that `wrap` emits; then what `end` emits. */
static tnk_program *
nest(int64_t n, void (*wrap)(tnk_program *p), bool give_back)
{
    tnk_program *p = tnk_program_new(arena);
    uint32_t f = tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0);
    tnk_program_begin(p, f);
    uint32_t v = tnk_program_value_reg(p), other = tnk_program_value_reg(p);
    uint32_t i = tnk_program_scalar_reg(p), end = tnk_program_scalar_reg(p),
             one = tnk_program_scalar_reg(p);
    assert_int_equal(v, 0);
    load_int(p, i, 0);
    load_int(p, end, n);
    load_int(p, one, 1);
    uint32_t again = tnk_program_here(p);
    wrap(p);
    OP(ADD, 0, i, i, one);
    uint32_t jump = OP(JLT, 0, i, end, 0);
    tnk_program_patch(p, jump, again);
    if (!give_back)
        OP(KILL, 0, v, 0, 0);
    OP(RET, 0, give_back ? v : other, 0, 0);
    tnk_program_end(p);
    return p;
}

static void
in_tuple(tnk_program *p)
{
    OPL(TUPLE, 0, 0, V(0));
}

static void
twice_in_tuple(tnk_program *p)
{
    OPL(TUPLE, 0, 0, V(0), V(0));
}

static void
in_closure(tnk_program *p)
{
    uint32_t c = tnk_program_value(p, TNB_TNO_FUNCTION, TNB_VOID, 1);
    OP(CONST, 0, 1, c, 0);
    OPL(CALLP, 0, tnk_program_packed(p, "vm.builtin.make_closure"), V(1), V(0));
}

/* Runs main of the program; the result is freed here. */
static tnb_status
run(tnk_program *p, tnr_value *ret, tnb_err *why)
{
    tnr_runtime *rt = NULL;
    tnr_vm *vm = NULL;
    OK(tnr_runtime_new(NULL, &rt, &err));
    tnr_artifact *a = assemble(p, "host", NULL, 0);
    OK(tnr_vm_new(rt, a, 0, &vm, &err));
    tnb_status st = tnr_vm_call(vm, "main", NULL, 0, ret, why);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    tnr_release(ret);
    tnr_runtime_free(rt);
    return st;
}

/* With a stack of the usual size, whatever the shell allows. */
static void
test_deep_values_are_freed(void **state)
{
    tnr_value ret = tnr_null();
    (void)state;
    OK(run(nest(DEEP, in_tuple, false), &ret, &err));
    OK(run(nest(DEEP, in_tuple, true), &ret, &err));
    tnk_program *p = nest(DEEP, in_closure, false);
    tnk_program_begin(p, tnk_program_function(p, "f", 0, 1));
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    OK(run(p, &ret, &err));
}

/* 60 tuples stand for 2^60 items: freed at once, refused as an argument. */
static void
test_shared_values_are_not_multiplied(void **state)
{
    tnr_runtime *rt = NULL;
    tnr_vm *vm = NULL;
    tnr_value ret = tnr_null(), more = tnr_null();
    (void)state;
    OK(tnr_runtime_new(NULL, &rt, &err));
    tnr_artifact *a = assemble(nest(30, twice_in_tuple, true), "host", NULL, 0);
    OK(tnr_vm_new(rt, a, 0, &vm, &err));
    OK(tnr_vm_call(vm, "main", NULL, 0, &ret, &err));
    FAILS(tnr_vm_call(vm, "main", &ret, 1, &more, &err), TNB_BOUNDS, "items in all");
    tnr_release(&ret);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    tnr_runtime_free(rt);
}

static void
test_a_heap_that_is_not_aligned_is_none(void **state)
{
    tnk_program *p = tnk_program_new(arena);
    tnr_value ret = tnr_null();
    (void)state;
    uint32_t dev = tnk_program_device(p, "host", 0, "global");
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0));
    for (int i = 0; i < 3; i++)
        tnk_program_value_reg(p);
    for (int i = 0; i < 4; i++)
        tnk_program_scalar_reg(p);
    load_int(p, 0, 4096);
    load_int(p, 1, 1);
    load_int(p, 2, 100);
    load_int(p, 3, 3);
    OP(ALLOCS, 0, 0, 0, dev);
    OPL(ALLOCT, 1, TNB_VM_DTYPE(TNB_I64) | 1u << 16, V(0), I(1), I(2));
    OPL(CALLP, 2, tnk_program_packed(p, "vm.builtin.match_prim_value"), I(3), V(1), I(1), I(3));
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    FAILS(run(p, &ret, &err), TNB_TYPE, "no shape heap");
}

/* ---- devices that run code on the host ---- */

static bool
always(void *dev)
{
    (void)dev;
    return true;
}

static const char *const formats[] = {"test", NULL};

static tnb_status
load_module(void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *why)
{
    (void)dev, (void)format, (void)code, (void)n, (void)why;
    static int loaded;
    *module = &loaded;
    return TNB_OK;
}

static void
free_module(void *dev, void *module)
{
    (void)dev, (void)module;
}

static tnb_status
get_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *why)
{
    (void)dev, (void)name, (void)why;
    *kernel = module;
    return TNB_OK;
}

static tnb_status
no_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *why)
{
    (void)dev, (void)stream, (void)kernel, (void)l, (void)why;
    return TNB_OK;
}

static void
describe(void *dev, char *out, size_t n)
{
    (void)dev;
    snprintf(out, n, "test");
}

/* A machine of an artifact with a kernel for the device 'test'. */
static tnb_status
machine(bool native, uint32_t flags, bool no_native, tnb_err *why)
{
    tnr_driver driver = {.base.size = sizeof driver,
                         .flags = TNR_DRIVER_HOST_MEMORY | flags,
                         .base.name = "test",
                         .type = TNB_EXT_DEV,
                         .alignment = 64,
                         .count = tnr_host_count,
                         .open = tnr_host_open,
                         .close = tnr_host_close,
                         .describe = describe,
                         .check_features = tnr_host_check_features,
                         .alloc = tnr_host_alloc,
                         .free = tnr_host_free,
                         .copy = tnr_host_copy,
                         .zero = tnr_host_zero,
                         .sync = tnr_host_sync,
                         .formats = formats,
                         .module_load = load_module,
                         .module_free = free_module,
                         .module_kernel = get_kernel,
                         .launch = no_launch,
                         .native = native ? always : NULL};
    const tnr_driver *const drivers[] = {&driver};
    tnr_plugin_desc plugin = {.head = TNB_PLUGIN_HEAD(tnr_plugin_desc, TNB_PLUGIN_RUNTIME, "test",
                                                      "1", "Apache-2.0", "for a test"),
                              .drivers = drivers,
                              .n_drivers = 1};
    tnr_runtime_options opt = {.no_native = no_native};
    tnr_runtime *rt = NULL;
    tnr_vm *vm = NULL;
    uint32_t variant;
    tnk_program *p = tnk_program_new(arena);
    uint32_t dev = tnk_program_device(p, "test", 0, "global");
    (void)tnk_program_kernel(p, "k", dev, 0, NULL, 0, NULL);
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0));
    OP(RET, 0, tnk_program_value_reg(p), 0, 0);
    tnk_program_end(p);
    OK(tnr_runtime_new(&opt, &rt, &err));
    OK(tnr_runtime_add(rt, &plugin, &err));
    tnr_artifact *a = assemble(p, "test", NULL, 0);
    tnb_status picked = tnr_artifact_pick(rt, a, NULL, &variant, NULL, why),
               st = tnr_vm_new(rt, a, 0, &vm, why); /* whoever does not ask first */
    assert_int_equal(picked, st);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    tnr_runtime_free(rt);
    return st;
}

static void
test_native_devices_are_refused_where_native_code_is(void **state)
{
    (void)state;
    OK(machine(false, 0, true, &err));
    OK(machine(true, 0, false, &err));
    OK(machine(false, TNR_DRIVER_NATIVE, false, &err));
    FAILS(machine(true, 0, true, &err), TNB_UNTRUSTED, "device 'test' runs its kernels as machine");
    FAILS(machine(false, TNR_DRIVER_NATIVE, true, &err), TNB_UNTRUSTED, "machine code of the host");
}

/* ---- what the reader refuses is not written ---- */

static void
test_a_program_that_nobody_reads_is_not_written(void **state)
{
    static const int64_t dims[TNB_TNO_MAX_SHAPE + 1];
    tnk_artifact *a = NULL;
    tnb_buf bytes = {0};
    tnk_program *p = tnk_program_new(arena);
    (void)state;
    (void)tnk_program_shape(p, dims, TNB_TNO_MAX_SHAPE + 1);
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0));
    OP(RET, 0, tnk_program_value_reg(p), 0, 0);
    tnk_program_end(p);
    OK(tnk_program_write(p, &bytes, &err));
    OK(tnk_artifact_new(NULL, 1, &a, &err));
    FAILS(tnk_artifact_section(a, TNB_TNO_PROGRAM, 0, bytes.s, bytes.n, &err), TNB_FORMAT,
          "cannot be written");
    tnk_artifact_abandon(a);
    tnb_buf_free(&bytes);
}

/* ---- files that change ---- */

static const char path[] = "t_hostile.tno";
enum { ELEMENTS = (256 << 10) / sizeof(float) }; /* more than a small file has */
static int n_elements = ELEMENTS;

/* A file with a constant, main gives it. */
static void
write_file(void)
{
    static float data[ELEMENTS];
    const int64_t dims[] = {n_elements};
    const size_t bytes = (size_t)n_elements * sizeof *data;
    tnk_program *p = tnk_program_new(arena);
    uint32_t c = tnk_program_tensor(p, TNB_F32, dims, 1, 0, bytes);
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0));
    uint32_t v = tnk_program_value_reg(p);
    OP(CONST, 0, v, c, 0);
    OP(RET, 0, v, 0, 0);
    tnk_program_end(p);
    for (int i = 0; i < n_elements; i++)
        data[i] = 1;
    int from = assemble_fd(p, "host", data, bytes), to = open(path, O_WRONLY | O_CREAT, 0600);
    char block[4096];
    ssize_t n;
    assert_true(to >= 0);
    for (off_t at = 0; (n = pread(from, block, sizeof block, at)) > 0; at += n)
        assert_int_equal(pwrite(to, block, (size_t)n, at), n);
    close(from);
    close(to);
}

struct opened {
    tnr_runtime *rt;
    tnr_artifact *a;
    tnr_vm *vm;
};

static struct opened
open_file(void)
{
    struct opened o = {0};
    OK(tnr_runtime_new(NULL, &o.rt, &err));
    OK(tnr_artifact_open(path, &o.a, &err));
    OK(tnr_vm_new(o.rt, o.a, 0, &o.vm, &err));
    return o;
}

static void
close_file(struct opened *o)
{
    tnr_vm_free(o->vm);
    tnr_artifact_close(o->a);
    tnr_runtime_free(o->rt);
    unlink(path);
}

static float
last_element(struct opened *o, tnb_err *why)
{
    tnr_value ret = tnr_null();
    static float data[ELEMENTS];
    usleep(2000); /* a machine looks at the file once in a millisecond */
    if (tnr_vm_call(o->vm, "main", NULL, 0, &ret, why) != TNB_OK ||
        tnr_tensor_read(ret.u.tensor, data, (size_t)n_elements * sizeof *data, why) != TNB_OK)
        data[n_elements - 1] = -1;
    tnr_release(&ret);
    return data[n_elements - 1];
}

static void
test_a_file_that_shrinks_is_noticed(void **state)
{
    tnb_err why = {0};
    (void)state;
    write_file();
    struct opened o = open_file();
    assert_true(last_element(&o, &why) == 1);
    assert_int_equal(truncate(path, 4096), 0);
    assert_true(last_element(&o, &why) == -1);
    assert_non_null(strstr(why.message, "was changed while it is in use"));
    tnr_vm *vm = NULL;
    FAILS(tnr_vm_new(o.rt, o.a, 0, &vm, &err), TNB_IO, "was changed while it is in use");
    close_file(&o);
}

/* As `cp` over it does: the same size, other contents. */
static void
test_a_file_that_is_written_again_is_noticed(void **state)
{
    tnb_err why = {0};
    (void)state;
    write_file();
    struct opened o = open_file();
    const struct timespec later[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(truncate(path, 0), 0);
    write_file();
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
    assert_true(last_element(&o, &why) == -1);
    assert_non_null(strstr(why.message, "was changed while it is in use"));
    close_file(&o);
}

/* Replaced by a rename, or removed, the file that is mapped is the old one still. */
static void
test_a_file_that_is_replaced_goes_on(void **state)
{
    tnb_err why = {0};
    (void)state;
    write_file();
    struct opened o = open_file();
    unlink(path);
    assert_true(last_element(&o, &why) == 1);
    close_file(&o);
}

/* A small file is read, not mapped. */
static void
test_a_small_file_may_go_away(void **state)
{
    tnb_err why = {0};
    (void)state;
    n_elements = 1000;
    write_file();
    struct opened o = open_file();
    assert_int_equal(truncate(path, 0), 0);
    assert_true(last_element(&o, &why) == 1);
    close_file(&o);
    n_elements = ELEMENTS;
}

/* What others may write is read, not mapped: it cannot change between check and use. */
static void
test_a_file_that_others_may_write_is_copied(void **state)
{
    tnb_err why = {0};
    (void)state;
    write_file();
    assert_int_equal(chmod(path, 0666), 0);
    struct opened o = open_file();
    assert_int_equal(truncate(path, 0), 0);
    assert_true(last_element(&o, &why) == 1);
    close_file(&o);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_values_are_freed),
        cmocka_unit_test(test_shared_values_are_not_multiplied),
        cmocka_unit_test(test_a_heap_that_is_not_aligned_is_none),
        cmocka_unit_test(test_native_devices_are_refused_where_native_code_is),
        cmocka_unit_test(test_a_program_that_nobody_reads_is_not_written),
        cmocka_unit_test(test_a_file_that_shrinks_is_noticed),
        cmocka_unit_test(test_a_file_that_is_written_again_is_noticed),
        cmocka_unit_test(test_a_file_that_is_replaced_goes_on),
        cmocka_unit_test(test_a_small_file_may_go_away),
        cmocka_unit_test(test_a_file_that_others_may_write_is_copied),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
