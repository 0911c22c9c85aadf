/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual machine on programs put together by hand: every group of instructions, calls,
 * closures, launches, errors. */
#include "assemble.h"
#include <math.h>

/* ---- a device for the tests: host memory, two kernels ---- */

enum { ADD_KERNEL = 1, SCALE_KERNEL = 2, FAIL_KERNEL = 3 };

static tnb_status
test_count(void *self, int *n, tnb_err *err)
{
    (void)self, (void)err;
    *n = 1;
    return TNB_OK;
}

static tnb_status
test_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    (void)self, (void)id, (void)opt, (void)err;
    *dev = NULL;
    return TNB_OK;
}

static void
test_close(void *dev)
{
    (void)dev;
}

static void
test_describe(void *dev, char *out, size_t n)
{
    (void)dev;
    snprintf(out, n, "test");
}

static tnb_status
test_features(void *dev, const char *const *f, uint32_t n, tnb_err *err)
{
    (void)dev;
    return n ? tnb_fail(err, TNB_UNSUPPORTED, "the test device lacks %s", f[0]) : TNB_OK;
}

static const char *last_scope;

static tnb_status
test_get(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    (void)dev;
    last_scope = scope;
    *mem = bytes < 1u << 30 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    return *mem ? TNB_OK
                : tnb_fail(err, TNB_NO_MEMORY, "no memory for %llu bytes",
                           (unsigned long long)bytes);
}

static int n_scoped; /* allocations in other scopes than the usual one */

static tnb_status
counted_get(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    n_scoped += strcmp(scope, "global") != 0;
    return test_get(dev, bytes, scope, mem, err);
}

static void
test_give_back(void *dev, void *mem)
{
    (void)dev;
    free(mem);
}

static tnb_status
test_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    memmove((char *)c->dst + c->dst_offset, (const char *)c->src + c->src_offset, c->bytes);
    return TNB_OK;
}

static tnb_status
test_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    memset((char *)mem + offset, 0, bytes);
    return TNB_OK;
}

static tnb_status
test_sync(void *dev, void *stream, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    return TNB_OK;
}

static tnb_status
test_load(void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *err)
{
    (void)dev;
    static int loaded;
    *module = &loaded;
    return strcmp(format, "test") == 0 && n == 4 && memcmp(code, "code", 4) == 0
               ? TNB_OK
               : tnb_fail(err, TNB_FORMAT, "no test code");
}

static void
test_unload(void *dev, void *module)
{
    (void)dev, (void)module;
}

static tnb_status
test_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    (void)dev, (void)module;
    intptr_t id = strcmp(name, "add") == 0     ? ADD_KERNEL
                  : strcmp(name, "scale") == 0 ? SCALE_KERNEL
                  : strcmp(name, "fail") == 0  ? FAIL_KERNEL
                                               : 0;
    *kernel = (void *)id;
    return id ? TNB_OK : tnb_fail(err, TNB_NOT_FOUND, "no kernel '%s'", name);
}

static tnb_status
test_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    (void)dev, (void)stream;
    float *buf[3];
    tnr_scalar scalars[2];
    uint32_t nb = 0, ns = 0;
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *q = &l->params[i];
        if (q->kind == TNB_PARAM_SCALAR)
            scalars[ns++] = q->u.scalar;
        else
            buf[nb++] = (float *)(void *)((char *)q->u.memory.mem + q->u.memory.offset);
    }
    uint64_t n = l->params[0].u.memory.bytes / sizeof(float);
    switch ((intptr_t)kernel) {
    case ADD_KERNEL:
        for (uint64_t i = 0; i < n; i++)
            buf[2][i] = buf[0][i] + buf[1][i];
        return TNB_OK;
    case SCALE_KERNEL: /* y = x * f + i, once for each work item of the grid */
        for (uint64_t g = 0; g < (l->flags & TNR_LAUNCH_GRID ? l->grid[0] * l->block[0] : n); g++)
            buf[1][g] = buf[0][g] * (float)scalars[0].f + (float)scalars[1].i;
        return TNB_OK;
    default:
        return tnb_fail(err, TNB_DEVICE, "the device is lost");
    }
}

static const char *const test_formats[] = {"test", NULL};
static const tnr_driver test_driver = {.base.size = sizeof(tnr_driver),
                                       .flags = TNR_DRIVER_HOST_MEMORY,
                                       .takes = TNR_TAKES_SHARED,
                                       .base.name = "test",
                                       .type = TNB_EXT_DEV,
                                       .alignment = 64,
                                       .count = test_count,
                                       .open = test_open,
                                       .close = test_close,
                                       .describe = test_describe,
                                       .check_features = test_features,
                                       .alloc = test_get,
                                       .free = test_give_back,
                                       .copy = test_copy,
                                       .zero = test_zero,
                                       .sync = test_sync,
                                       .formats = test_formats,
                                       .module_load = test_load,
                                       .module_free = test_unload,
                                       .module_kernel = test_kernel,
                                       .launch = test_launch};

static tnb_status
apply_twice(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)n;
    tnr_value once = tnr_null();
    TNB_TRY(tnr_expect("test.apply_twice", args, 0, TNR_CLOSURE, err));
    TNB_TRY(tnr_vm_call_closure(vm, args[0].u.closure, &args[1], 1, &once, err));
    tnb_status st = tnr_vm_call_closure(vm, args[0].u.closure, &once, 1, ret, err);
    tnr_release(&once);
    return st;
}

static const tnr_packed twice = {.base.size = sizeof(tnr_packed),
                                 .flags = TNR_PACKED_VM,
                                 .base.name = "test.apply_twice",
                                 .call = apply_twice,
                                 .min_args = 2,
                                 .max_args = 2};
static const tnr_packed *const test_packed[] = {&twice};
static const tnr_driver *const test_drivers[] = {&test_driver};

static const tnr_plugin_desc test_plugin = {.head = TNB_PLUGIN_HEAD(tnr_plugin_desc,
                                                                    TNB_PLUGIN_RUNTIME, "test", "1",
                                                                    "Apache-2.0", "for tests"),
                                            .drivers = test_drivers,
                                            .n_drivers = 1,
                                            .packed = test_packed,
                                            .n_packed = 1};

/* ---- the machine of one test ---- */

static tnb_arena *arena;
static tnr_runtime *rt;
static tnr_artifact *artifact;
static tnr_vm *vm;
static tnk_program *p;

static int
setup(void **state)
{
    (void)state;
    arena = tnb_arena_new();
    p = tnk_program_new(arena);
    OK(tnr_runtime_new(NULL, &rt, &err));
    OK(tnr_runtime_add(rt, &test_plugin, &err));
    tnk_program_device(p, "test", 0, "global");
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    tnr_vm_free(vm);
    tnr_artifact_close(artifact);
    tnr_runtime_free(rt);
    tnb_arena_free(arena);
    vm = NULL;
    artifact = NULL;
    return 0;
}

static void
begin_main(uint32_t n_params, uint32_t values, uint32_t scalars)
{
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, n_params));
    for (uint32_t i = n_params; i < values; i++)
        tnk_program_value_reg(p);
    for (uint32_t i = 0; i < scalars; i++)
        tnk_program_scalar_reg(p);
}

static void
start(const void *constants, size_t n)
{
    uint32_t variant;
    artifact = assemble(p, "test", constants, n);
    OK(tnr_artifact_pick(rt, artifact, NULL, &variant, NULL, &err));
    OK(tnr_vm_new(rt, artifact, variant, &vm, &err));
}

static int64_t
call_int(const tnr_value *args, uint32_t n)
{
    tnr_value ret;
    OK(tnr_vm_call(vm, "main", args, n, &ret, &err));
    assert_int_equal(ret.tag, TNR_INT);
    return ret.u.i;
}

/* ---- scalars and control ---- */

static void
test_loop_sums_integers(void **state)
{
    (void)state;
    begin_main(1, 2, 4);
    OP(UNBOXI, 0, 0, 0, 0); /* n */
    load_int(p, 1, 0);      /* i */
    load_int(p, 2, 0);      /* sum */
    load_int(p, 3, 1);
    uint32_t exit_jump = OP(JGE, 0, 1, 0, 0);
    uint32_t top = OP(ADD, 0, 2, 2, 1);
    OP(ADD, 0, 1, 1, 3);
    OP(JLT, 0, 1, 0, top);
    tnk_program_patch(p, exit_jump, tnk_program_here(p));
    OP(BOXI, 0, 1, 2, 0);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value n = tnr_int(1000);
    assert_int_equal(call_int(&n, 1), 999 * 1000 / 2);
    n = tnr_int(0);
    assert_int_equal(call_int(&n, 1), 0);
}

/* One binary operation on two integers. */
static int64_t
binary(tnb_vm_op op, int64_t a, int64_t b)
{
    void *s = NULL;
    setup(&s);
    begin_main(0, 1, 3);
    load_int(p, 0, a);
    load_int(p, 1, b);
    tnk_program_emit(p, op, 0, 2, 0, 1);
    OP(BOXI, 0, 0, 2, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    int64_t r = call_int(NULL, 0);
    teardown(&s);
    return r;
}

static void
test_integer_operations(void **state)
{
    (void)state;
    assert_int_equal(binary(TNB_VM_DIV, -7, 2), -3);
    assert_int_equal(binary(TNB_VM_MOD, -7, 2), -1);
    assert_int_equal(binary(TNB_VM_FLOORDIV, -7, 2), -4);
    assert_int_equal(binary(TNB_VM_FLOORMOD, -7, 2), 1);
    assert_int_equal(binary(TNB_VM_FLOORMOD, 7, -2), -1);
    assert_int_equal(binary(TNB_VM_DIV, INT64_MIN, -1), INT64_MIN);
    assert_int_equal(binary(TNB_VM_MOD, INT64_MIN, -1), 0);
    assert_int_equal(binary(TNB_VM_DIVU, -1, 2), INT64_MAX);
    assert_int_equal(binary(TNB_VM_MIN, -1, 1), -1);
    assert_int_equal(binary(TNB_VM_MINU, -1, 1), 1);
    assert_int_equal(binary(TNB_VM_SHR, -8, 1), -4);
    assert_int_equal(binary(TNB_VM_SHL, 1, 65), 2);
    assert_int_equal(binary(TNB_VM_MUL, INT64_MAX, 2), -2);
    assert_int_equal(binary(TNB_VM_LT, -1, 0), 1);
    assert_int_equal(binary(TNB_VM_LTU, -1, 0), 0);
}

/* The same with instructions whose result has to fit, at last `bits`; false: it did not, and the message says so. */
static bool
fitting(tnb_vm_op op, uint16_t bits, int64_t a, int64_t b, int64_t *r, const char *text)
{
    void *s = NULL;
    tnr_value ret;
    setup(&s);
    begin_main(0, 1, 3);
    load_int(p, 0, a);
    load_int(p, 1, b);
    tnk_program_emit(p, op, 0, 2, 0, 1);
    OP(FIT, bits, 2, 2, 0);
    OP(BOXI, 0, 0, 2, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnb_err err = {0};
    tnb_status st = tnr_vm_call(vm, "main", NULL, 0, &ret, &err);
    if (st == TNB_OK)
        *r = ret.u.i;
    else
        assert_non_null(strstr(err.message, text));
    teardown(&s);
    return st == TNB_OK;
}

static void
test_sums_that_do_not_fit_are_errors(void **state)
{
    (void)state;
    int64_t r = 0, big = (int64_t)1 << 32;
    assert_true(fitting(TNB_VM_MULFIT, 64, big, big / 2 - 1, &r, ""));
    assert_int_equal(r, big * (big / 2 - 1));
    assert_true(fitting(TNB_VM_ADDFIT, 32, INT32_MAX, -1, &r, ""));
    assert_int_equal(r, INT32_MAX - 1);
    assert_true(fitting(TNB_VM_SUBFIT, 64, 3, 7, &r, ""));
    assert_int_equal(r, -4);
    assert_false(fitting(TNB_VM_MULFIT, 64, big, big, &r,
                         "4294967296 * 4294967296 does not fit an integer of 64 bits"));
    assert_false(fitting(TNB_VM_ADDFIT, 64, INT64_MAX, 1, &r, "9223372036854775807 + 1"));
    assert_false(fitting(TNB_VM_SUBFIT, 64, INT64_MIN, 1, &r, "-9223372036854775808 - 1"));
    assert_false(fitting(TNB_VM_ADDFIT, 32, INT32_MAX, 1, &r,
                         "2147483648 does not fit an integer of 32 bits"));
}

static void
test_narrow_integers_are_extended(void **state)
{
    (void)state;
    begin_main(0, 1, 2);
    load_int(p, 0, 200);
    OP(EXT, 8 + 256, 1, 0, 0); /* as int8 */
    OP(BOXI, 0, 0, 1, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    assert_int_equal(call_int(NULL, 0), -56);
}

static void
test_floats_round_and_convert(void **state)
{
    (void)state;
    tnr_value ret, x = tnr_float(2.0);
    begin_main(1, 2, 3);
    OP(UNBOXF, 0, 0, 0, 0);
    OP(FMATH1, TNB_VM_MATH_sqrt, 1, 0, 0);
    OP(FROUND, TNB_VM_DTYPE(TNB_F32), 1, 1, 0);
    OP(BOXF, 0, 1, 1, 0);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    OK(tnr_vm_call(vm, "main", &x, 1, &ret, &err));
    assert_true(ret.u.f == (double)sqrtf(2.0f));
}

static void
test_division_by_zero_is_an_error_with_its_place(void **state)
{
    (void)state;
    tnr_value ret;
    begin_main(0, 1, 2);
    OP(DIV, 0, 0, 0, 1);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    FAILS(tnr_vm_call(vm, "main", NULL, 0, &ret, &err), TNB_INVALID,
          "function 'main', instruction 0: integer division");
}

static void
test_assertion_gives_its_text(void **state)
{
    (void)state;
    tnr_value ret;
    begin_main(0, 1, 1);
    OP(ASSERT, 0, 0, tnk_program_text(p, "batch must be even"), 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    FAILS(tnr_vm_call(vm, "main", NULL, 0, &ret, &err), TNB_INVALID, "batch must be even");
}

/* ---- calls ---- */

static void
test_recursion(void **state)
{
    (void)state;
    uint32_t fib = tnk_program_function(p, "fib", 0, 1);
    begin_main(1, 2, 0);
    OPL(CALL, 1, fib, V(0));
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    tnk_program_begin(p, fib);
    uint32_t r = tnk_program_value_reg(p), n = tnk_program_scalar_reg(p),
             two = tnk_program_scalar_reg(p), one = tnk_program_scalar_reg(p),
             sum = tnk_program_scalar_reg(p);
    OP(UNBOXI, 0, n, 0, 0);
    load_int(p, two, 2);
    load_int(p, one, 1);
    uint32_t deep = OP(JGE, 0, n, two, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_patch(p, deep, tnk_program_here(p));
    OP(SUB, 0, sum, n, one);
    OPL(CALL, r, fib, I(sum));
    OP(SUB, 0, two, n, two);
    OP(UNBOXI, 0, one, r, 0);
    OPL(CALL, r, fib, I(two));
    OP(UNBOXI, 0, sum, r, 0);
    OP(ADD, 0, sum, sum, one);
    OP(BOXI, 0, r, sum, 0);
    OP(RET, 0, r, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value arg = tnr_int(15);
    assert_int_equal(call_int(&arg, 1), 610);
}

static void
test_endless_recursion_ends_with_an_error(void **state)
{
    (void)state;
    tnr_value ret;
    uint32_t f = tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0);
    tnk_program_begin(p, f);
    uint32_t r = tnk_program_value_reg(p);
    tnk_program_emit_list(p, TNB_VM_CALL, r, f, NULL, 0);
    OP(RET, 0, r, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    FAILS(tnr_vm_call(vm, "main", NULL, 0, &ret, &err), TNB_BOUNDS, "calls nest too deep");
    FAILS(tnr_vm_call(vm, "main", NULL, 0, &ret, &err), TNB_BOUNDS,
          "calls nest too deep"); /* still usable */
}

/* count(i, n) = i == n ? i : count(i + 1, n), with a storage allocated each turn */
static void
test_tail_calls_reuse_frame_and_storage(void **state)
{
    (void)state;
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 2));
    uint32_t s = tnk_program_value_reg(p), i = tnk_program_scalar_reg(p),
             n = tnk_program_scalar_reg(p), one = tnk_program_scalar_reg(p);
    OP(UNBOXI, 0, i, 0, 0);
    OP(UNBOXI, 0, n, 1, 0);
    uint32_t go = OP(JLT, 0, i, n, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_patch(p, go, tnk_program_here(p));
    load_int(p, one, 1 << 20);
    OP(ALLOCS, 0, s, one, 0);
    load_int(p, one, 1);
    OP(ADD, 0, i, i, one);
    tnk_program_emit_list(p, TNB_VM_TAIL, 0, 0, LIST(I(i), V(1)));
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value args[] = {tnr_int(0), tnr_int(100000)};
    assert_int_equal(call_int(args, 2), 100000);
    tnr_memory_stats m;
    tnr_device_memory(tnr_vm_device(vm), &m);
    assert_int_equal(m.allocs, 1);
    assert_int_equal(m.in_use, 0);
}

static void
test_closures_bind_last_parameters(void **state)
{
    (void)state;
    uint32_t add = tnk_program_function(p, "add", 0, 2);
    tnk_program_begin(p, add);
    uint32_t a = tnk_program_scalar_reg(p), b = tnk_program_scalar_reg(p);
    OP(UNBOXI, 0, a, 0, 0);
    OP(UNBOXI, 0, b, 1, 0);
    OP(ADD, 0, a, a, b);
    OP(BOXI, 0, 0, a, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    begin_main(2, 4, 0);
    uint32_t fn = tnk_program_value(p, TNB_TNO_FUNCTION, TNB_VOID, add);
    OPL(CALLP, 2, tnk_program_packed(p, "vm.builtin.make_closure"), C(fn), V(1));
    OPL(CALLV, 3, 2, V(0));
    OPL(CALLP, 3, tnk_program_packed(p, "test.apply_twice"), V(2), V(3));
    OP(RET, 0, 3, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value args[] = {tnr_int(1), tnr_int(10)};
    assert_int_equal(call_int(args, 2), 31);
}

static void
test_unknown_functions_are_named(void **state)
{
    (void)state;
    tnr_value ret;
    begin_main(0, 1, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    FAILS(tnr_vm_call(vm, "mian", NULL, 0, &ret, &err), TNB_NOT_FOUND, "no function 'mian'");
    tnr_value one = tnr_int(1);
    FAILS(tnr_vm_call(vm, "main", &one, 1, &ret, &err), TNB_INVALID,
          "takes 0 arguments, 1 were given");
}

/* ---- values ---- */

static void
test_tuples_and_items(void **state)
{
    (void)state;
    begin_main(1, 3, 0);
    OPL(TUPLE, 1, 0, V(0), V(0), C(tnk_program_string(p, "text")));
    OP(GET, 0, 2, 1, 2);
    OP(RET, 0, 2, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value x = tnr_int(3), ret;
    OK(tnr_vm_call(vm, "main", &x, 1, &ret, &err));
    assert_int_equal(ret.tag, TNR_STRING);
    assert_string_equal(ret.u.string->s, "text");
    tnr_release(&ret);
}

static void
test_item_out_of_range(void **state)
{
    (void)state;
    tnr_value ret;
    begin_main(0, 2, 0);
    tnk_program_emit_list(p, TNB_VM_TUPLE, 0, 0, NULL, 0);
    OP(GET, 0, 1, 0, 7);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    FAILS(tnr_vm_call(vm, "main", NULL, 0, &ret, &err), TNB_BOUNDS, "item 7 of a tuple of 0");
}

static void
test_host_tensors_are_read_and_written_with_bounds(void **state)
{
    (void)state;
    tnr_value ret, index = tnr_int(2);
    begin_main(1, 3, 4);
    load_int(p, 0, 3);
    OPL(HOSTT, 1, TNB_VM_DTYPE(TNB_I64) | 1u << 16, I(0));
    OP(UNBOXI, 0, 1, 0, 0);
    load_int(p, 2, 77);
    OP(STOREI, TNB_VM_DTYPE(TNB_I64), 2, 1, 1);
    OP(LOADI, TNB_VM_DTYPE(TNB_I64), 3, 1, 1);
    OP(BOXI, 0, 2, 3, 0);
    OP(RET, 0, 2, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    assert_int_equal(call_int(&index, 1), 77);
    index = tnr_int(3);
    FAILS(tnr_vm_call(vm, "main", &index, 1, &ret, &err), TNB_BOUNDS,
          "element 3 of a tensor of 3 elements");
    index = tnr_int(-1);
    FAILS(tnr_vm_call(vm, "main", &index, 1, &ret, &err), TNB_BOUNDS, "element -1");
}

static void
test_shapes_through_the_heap(void **state)
{
    (void)state;
    uint32_t zero = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 0),
             one = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 1),
             two = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 2),
             four = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 4),
             three = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 3),
             text = tnk_program_string(p, "input x");
    begin_main(1, 4, 0);
    OPL(CALLP, 1, tnk_program_packed(p, "vm.builtin.alloc_shape_heap"), C(one));
    /* x: (n, 4, n) */
    OPL(CALLP, 2, tnk_program_packed(p, "vm.builtin.match_shape"), V(0), V(1), C(three), C(one),
        C(zero), C(zero), C(four), C(three), C(zero), C(text));
    OPL(CALLP, 3, tnk_program_packed(p, "vm.builtin.make_shape"), V(1), C(two), C(one), C(zero),
        C(zero), C(four));
    OP(RET, 0, 3, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value x, ret;
    OK(tnr_shape_new((int64_t[]){5, 4, 5}, 3, &x, &err));
    OK(tnr_vm_call(vm, "main", &x, 1, &ret, &err));
    assert_int_equal(ret.tag, TNR_SHAPE);
    assert_int_equal(ret.u.shape->n, 2);
    assert_int_equal(ret.u.shape->dims[0], 5);
    assert_int_equal(ret.u.shape->dims[1], 4);
    tnr_release(&ret);
    tnr_release(&x);
    OK(tnr_shape_new((int64_t[]){5, 4, 6}, 3, &x, &err));
    FAILS(tnr_vm_call(vm, "main", &x, 1, &ret, &err), TNB_SHAPE,
          "input x: extent 2 of shape [5, 4, 6] is 6, expected 5");
    tnr_release(&x);
    OK(tnr_shape_new((int64_t[]){5, 4}, 2, &x, &err));
    FAILS(tnr_vm_call(vm, "main", &x, 1, &ret, &err), TNB_SHAPE, "has 2 dimensions, expected 3");
    tnr_release(&x);
}

static void
test_conditions_take_tensors(void **state)
{
    (void)state;
    begin_main(1, 2, 2);
    OP(TRUTH, 0, 0, 0, 0);
    uint32_t no = OP(JZ, 0, 0, 0, 0);
    load_int(p, 1, 11);
    uint32_t end = OP(JMP, 0, 0, 0, 0);
    tnk_program_patch(p, no, tnk_program_here(p));
    load_int(p, 1, 22);
    tnk_program_patch(p, end, tnk_program_here(p));
    OP(BOXI, 0, 1, 1, 0);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    for (int truth = 0; truth < 2; truth++) {
        tnr_value c;
        OK(tnr_tensor_from(tnr_device_host(rt), &(uint8_t){(uint8_t)truth}, NULL, 0, TNB_B8, &c,
                           &err));
        assert_int_equal(call_int(&c, 1), truth ? 11 : 22);
        tnr_release(&c);
    }
}

/* ---- launches ---- */

static const tnb_tno_param three_floats[] = {
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1},
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1},
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1, .flags = TNB_TNO_WRITTEN}};

/* main(x) = x + constant, in a tensor at an offset of its storage */
static void
build_add(bool write_constant)
{
    static const int64_t four = 4;
    uint32_t k = tnk_program_kernel(p, "add", 0, 0, three_floats, 3, NULL);
    uint32_t c = tnk_program_tensor(p, TNB_F32, &four, 1, 0, 16);
    begin_main(1, 3, 2);
    load_int(p, 0, 16 + 64);
    OP(ALLOCS, 0, 1, 0, 0);
    load_int(p, 1, 64);
    OPL(ALLOCT, 2, TNB_VM_DTYPE(TNB_F32) | 1u << 16, V(1), I(1), C(tnk_program_shape(p, &four, 1)));
    OP(KILL, 0, 1, 0, 0); /* the tensor keeps its storage */
    if (write_constant)
        OPL(LAUNCH, 0, k, V(0), V(2), C(c));
    else
        OPL(LAUNCH, 0, k, V(0), C(c), V(2));
    OP(RET, 0, 2, 0, 0);
    tnk_program_end(p);
    start((const float[]){10, 20, 30, 40}, 16);
}

static tnr_value
floats(const float *x, int64_t n)
{
    tnr_value v;
    OK(tnr_tensor_from(tnr_device_host(rt), x, &n, 1, TNB_F32, &v, &err));
    return v;
}

static void
test_launch_with_constant_and_offset(void **state)
{
    (void)state;
    build_add(false);
    tnr_value x = floats((const float[]){1, 2, 3, 4}, 4), ret;
    tnr_vm_set_profile(vm, true);
    for (int turn = 0; turn < 3; turn++) {
        float got[4];
        OK(tnr_vm_call(vm, "main", &x, 1, &ret, &err));
        assert_int_equal(ret.u.tensor->dl.byte_offset, 64);
        OK(tnr_tensor_read(ret.u.tensor, got, sizeof got, &err));
        for (int i = 0; i < 4; i++)
            assert_true(got[i] == (float)(11 * (i + 1)));
        tnr_release(&ret);
    }
    uint32_t n;
    const tnr_kernel_time *t = tnr_vm_profile(vm, &n);
    assert_int_equal(n, 1);
    assert_string_equal(t->name, "add");
    assert_int_equal(t->calls, 3);
    assert_int_equal(t->bytes, 3 * 48);
    tnr_release(&x);
}

/* A constant for memory of a scope is made there when first used, once for all kernels and calls. */
static void
test_constants_lie_in_the_scope_that_kernels_want(void **state)
{
    (void)state;
    static const int64_t four = 4;
    static const float added[] = {10, 20, 30, 40};
    static tnr_driver apart; /* the host does not see this one's memory */
    static const tnr_driver *const drivers[] = {&apart};
    static tnr_plugin_desc plugin;
    apart = test_driver;
    apart.flags = 0;
    apart.base.name = "apart";
    apart.alloc = counted_get;
    plugin = (tnr_plugin_desc){.head = test_plugin.head, .drivers = drivers, .n_drivers = 1};
    plugin.head.name = "apart";
    OK(tnr_runtime_add(rt, &plugin, &err));
    p = tnk_program_new(arena);
    tnk_program_device(p, "apart", 0, "global");
    uint32_t k = tnk_program_kernel(p, "add", 0, 0, three_floats, 3, NULL),
             usual = tnk_program_tensor(p, TNB_F32, &four, 1, 0, 16),
             image = tnk_program_device(p, "apart", 0, "image:1x1"),
             c = tnk_program_tensor_on(p, usual, image);
    assert_int_not_equal(c, usual);
    assert_int_equal(tnk_program_tensor_on(p, usual, image), c);
    assert_int_equal(tnk_program_tensor_on(p, usual, 0), usual);
    begin_main(1, 3, 2);
    load_int(p, 0, 16);
    load_int(p, 1, 0);
    OP(ALLOCS, 0, 1, 0, 0);
    OPL(ALLOCT, 2, TNB_VM_DTYPE(TNB_F32) | 1u << 16, V(1), I(1), C(tnk_program_shape(p, &four, 1)));
    OPL(LAUNCH, 0, k, V(0), C(c), V(2));
    OPL(LAUNCH, 0, k, V(2), C(c), V(2));
    OP(RET, 0, 2, 0, 0);
    tnk_program_end(p);
    uint32_t variant;
    artifact = assemble(p, "apart", added, sizeof added);
    OK(tnr_artifact_pick(rt, artifact, NULL, &variant, NULL, &err));
    OK(tnr_vm_new(rt, artifact, variant, &vm, &err));
    tnr_value x, ret;
    OK(tnr_tensor_from(tnr_vm_device(vm), (const float[]){1, 2, 3, 4}, &four, 1, TNB_F32, &x,
                       &err));
    n_scoped = 0;
    for (int turn = 0; turn < 3; turn++) {
        float got[4];
        OK(tnr_vm_call(vm, "main", &x, 1, &ret, &err));
        OK(tnr_tensor_read(ret.u.tensor, got, sizeof got, &err));
        for (int i = 0; i < 4; i++)
            assert_true(got[i] == (float)(21 * (i + 1)));
        tnr_release(&ret);
        assert_int_equal(n_scoped, 1);
    }
    tnr_release(&x);
}

static void
test_launch_checks_its_arguments(void **state)
{
    (void)state;
    tnr_value ret, x, i = tnr_int(3);
    build_add(false);
    OK(tnr_tensor_from(tnr_device_host(rt), (const double[]){1, 2, 3, 4}, &(int64_t){4}, 1, TNB_F64,
                       &x, &err));
    FAILS(tnr_vm_call(vm, "main", &x, 1, &ret, &err), TNB_TYPE,
          "kernel 'add': argument 0 is tensor float64[4]");
    FAILS(tnr_vm_call(vm, "main", &i, 1, &ret, &err), TNB_TYPE,
          "found int 3 where a tensor is needed");
    tnr_release(&x);
}

static void
test_kernels_cannot_write_constants(void **state)
{
    (void)state;
    tnr_value ret, x = floats((const float[]){1, 2, 3, 4}, 4);
    build_add(true);
    FAILS(tnr_vm_call(vm, "main", &x, 1, &ret, &err), TNB_INVALID, "is a constant");
    tnr_release(&x);
}

static void
test_scalars_and_grid_reach_the_kernel(void **state)
{
    (void)state;
    const tnb_tno_param params[] = {three_floats[0],
                                    three_floats[2],
                                    {.kind = TNB_PARAM_SCALAR, .dtype = {TNB_FLOAT, 32, 1}},
                                    {.kind = TNB_PARAM_SCALAR, .dtype = {TNB_INT, 64, 1}}};
    uint32_t k = tnk_program_kernel(p, "scale", TNB_TNO_GRID | TNB_TNO_SHARED, 0, params, 4, NULL);
    begin_main(1, 3, 6);
    OP(DIM, 0, 0, 0, 0);
    load_int(p, 1, 4);
    OP(MUL, 0, 2, 0, 1);
    OP(ALLOCS, 0, 1, 2, 0);
    load_int(p, 2, 0);
    OPL(ALLOCT, 2, TNB_VM_DTYPE(TNB_F32) | 1u << 16, V(1), I(2), I(0));
    load_int(p, 3, 1);
    load_int(p, 4, 5);
    uint32_t half = tnk_program_value(p, TNB_TNO_FLOAT, TNB_F64, 0x3fe0000000000000u);
    uint32_t boxed = tnk_program_value_reg(p);
    OP(CONST, 0, boxed, half, 0);
    OP(UNBOXF, 0, 5, boxed, 0);
    OPL(LAUNCH, 0, k, V(0), V(2), F(5), I(4), I(0), I(3), I(3), I(3), I(3), I(3), I(2));
    OP(RET, 0, 2, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value x = floats((const float[]){2, 4, 6}, 3), ret;
    float got[3];
    OK(tnr_vm_call(vm, "main", &x, 1, &ret, &err));
    OK(tnr_tensor_read(ret.u.tensor, got, sizeof got, &err));
    assert_true(got[0] == 6 && got[1] == 7 && got[2] == 8);
    tnr_release(&ret);
    tnr_release(&x);
}

static void
test_device_errors_name_the_kernel(void **state)
{
    (void)state;
    tnr_value ret;
    uint32_t k = tnk_program_kernel(p, "fail", 0, 0, three_floats, 1, NULL);
    begin_main(1, 1, 0);
    OPL(LAUNCH, 0, k, V(0));
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value x = floats((const float[]){1}, 1);
    FAILS(tnr_vm_call(vm, "main", &x, 1, &ret, &err), TNB_DEVICE,
          "kernel 'fail': the device is lost");
    tnr_release(&x);
}

static void
test_missing_kernels_and_functions_are_errors(void **state)
{
    (void)state;
    tnk_program_kernel(p, "nobody", 0, 0, NULL, 0, NULL);
    begin_main(0, 1, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    artifact = assemble(p, "test", NULL, 0);
    FAILS(tnr_vm_new(rt, artifact, 0, &vm, &err), TNB_NOT_FOUND, "no kernel 'nobody'");
    tnk_program_packed(p, "test.missing");
    tnr_artifact_close(artifact);
    artifact = assemble(p, "test", NULL, 0);
    FAILS(tnr_vm_new(rt, artifact, 0, &vm, &err), TNB_NOT_FOUND, "test.missing");
    vm = NULL;
}

static void
test_storage_too_large_is_an_error(void **state)
{
    (void)state;
    tnr_value ret, bytes = tnr_int(INT64_MAX);
    begin_main(1, 2, 1);
    OP(UNBOXI, 0, 0, 0, 0);
    OP(ALLOCS, 0, 1, 0, 0);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    FAILS(tnr_vm_call(vm, "main", &bytes, 1, &ret, &err), TNB_NO_MEMORY, "instruction 1");
    bytes = tnr_int(1ll << 40);
    FAILS(tnr_vm_call(vm, "main", &bytes, 1, &ret, &err), TNB_NO_MEMORY, "no memory");
    bytes = tnr_int(-1);
    FAILS(tnr_vm_call(vm, "main", &bytes, 1, &ret, &err), TNB_BOUNDS, "cannot have -1 bytes");
    bytes = tnr_int(INT64_MIN); /* an overflow */
    FAILS(tnr_vm_call(vm, "main", &bytes, 1, &ret, &err), TNB_BOUNDS,
          "the bytes that a storage takes do not fit an integer of 64 bits");
}

static void
test_values_outlive_machine_and_runtime(void **state)
{
    (void)state;
    tnr_value ret, x = floats((const float[]){1, 2, 3, 4}, 4);
    build_add(false);
    OK(tnr_vm_call(vm, "main", &x, 1, &ret, &err));
    void *s = NULL;
    teardown(&s);
    float got[4];
    OK(tnr_tensor_read(ret.u.tensor, got, sizeof got, &err));
    assert_true(got[3] == 44);
    tnr_release(&ret);
    tnr_release(&x);
    setup(&s);
}

/* ---- tensors ---- */

static void
count_deletions(tnr_dlmanaged *m)
{
    ++*(int *)m->manager_ctx;
}

static void
test_dlpack_goes_in_and_out_without_copies(void **state)
{
    (void)state;
    int deleted = 0;
    float data[12] = {0};
    int64_t shape[] = {2, 3}, strides[] = {6, 2}, compact[] = {3, 1};
    tnr_dlmanaged m = {.dl = {.data = data,
                              .device = {TNB_CPU, 0},
                              .ndim = 2,
                              .dtype = TNB_F32,
                              .shape = shape,
                              .strides = compact,
                              .byte_offset = 8},
                       .manager_ctx = &deleted,
                       .deleter = count_deletions};
    tnr_value v;
    OK(tnr_tensor_from_dlpack(tnr_device_host(rt), &m, &v, &err));
    assert_ptr_equal(tnr_tensor_data(v.u.tensor), (char *)data + 8);
    assert_true(tnr_tensor_is_compact(v.u.tensor));
    tnr_dlmanaged *out;
    OK(tnr_tensor_to_dlpack(v.u.tensor, &out, &err));
    tnr_release(&v);
    assert_int_equal(deleted, 0);
    assert_int_equal(out->dl.byte_offset, 8);
    out->deleter(out);
    assert_int_equal(deleted, 1);
    m.dl.strides = strides;
    OK(tnr_tensor_from_dlpack(tnr_device_host(rt), &m, &v, &err));
    assert_false(tnr_tensor_is_compact(v.u.tensor));
    tnr_release(&v);
    strides[0] = INT64_MAX;
    FAILS(tnr_tensor_from_dlpack(tnr_device_host(rt), &m, &v, &err), TNB_BOUNDS, "overflow");
    m.dl.device.type = TNB_CUDA;
    FAILS(tnr_tensor_from_dlpack(tnr_device_host(rt), &m, &v, &err), TNB_INVALID, "lies on device");
    assert_int_equal(deleted, 2);
}

static int n_released;

static void
count_release(void *owner)
{
    (void)owner;
    n_released++;
}

static void
test_wrapped_memory_stays_its_owners(void **state)
{
    (void)state;
    static _Alignas(64) char own[4096];
    tnr_value s, t, other;
    memset(own, 7, sizeof own);
    for (int with_release = 0; with_release < 2; with_release++) {
        n_released = 0;
        OK(tnr_storage_wrap(tnr_device_host(rt), own, sizeof own, 0, NULL,
                            with_release ? count_release : NULL, &s, &err));
        OK(tnr_tensor_view(s.u.storage, 0, (int64_t[]){1024}, 1, TNB_F32, &t, &err));
        tnr_release(&s);
        tnr_release(&t);
        assert_int_equal(n_released, with_release);
        /* the pool does not have it */
        OK(tnr_storage_new(tnr_device_host(rt), sizeof own, NULL, &other, &err));
        assert_ptr_not_equal(other.u.storage->mem, own);
        tnr_release(&other);
    }
    for (size_t i = 0; i < sizeof own; i++)
        assert_int_equal(own[i], 7);
}

static void
test_views_must_fit_their_storage(void **state)
{
    (void)state;
    tnr_value s, v;
    OK(tnr_storage_new(tnr_device_host(rt), 100, NULL, &s, &err));
    OK(tnr_tensor_view(s.u.storage, 0, (int64_t[]){25}, 1, TNB_F32, &v, &err));
    tnr_release(&v);
    FAILS(tnr_tensor_view(s.u.storage, 4, (int64_t[]){25}, 1, TNB_F32, &v, &err), TNB_BOUNDS,
          "does not fit");
    FAILS(tnr_tensor_view(s.u.storage, UINT64_MAX, (int64_t[]){1}, 1, TNB_F32, &v, &err),
          TNB_BOUNDS, "does not fit");
    FAILS(tnr_tensor_view(s.u.storage, 0, (int64_t[]){INT64_MAX, 8}, 2, TNB_F32, &v, &err),
          TNB_BOUNDS, "does not fit the address space");
    FAILS(tnr_tensor_view(s.u.storage, 0, (int64_t[]){-1}, 1, TNB_F32, &v, &err), TNB_SHAPE,
          "negative");
    FAILS(tnr_tensor_view(s.u.storage, 100, (int64_t[]){0, INT64_MAX}, 2, TNB_F32, &v, &err),
          TNB_BOUNDS, "does not fit the address space");
    OK(tnr_tensor_view(s.u.storage, 100, (int64_t[]){0, 1 << 20}, 2, TNB_F32, &v, &err));
    assert_int_equal(v.u.tensor->n_bytes, 0);
    tnr_release(&v);
    tnr_release(&s);
}

static void
test_a_list_that_is_too_long_is_refused_when_written(void **state)
{
    enum { MANY = 65536 };
    static uint32_t list[MANY];
    (void)state;
    tnb_buf bytes = {0};
    begin_main(0, 1, 0);
    tnk_program_emit_list(p, TNB_VM_TUPLE, 0, 0, list, MANY);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    FAILS(tnk_program_write(p, &bytes, &err), TNB_BOUNDS, "65536 operands; at most 65535");
    tnb_buf_free(&bytes);
}

/* ---- what the runtime holds ---- */

static tnb_status
give_seven(tnr_vm *m, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)m, (void)args, (void)n, (void)err;
    *ret = tnr_int(7);
    return TNB_OK;
}

static tnb_status
give_eight(tnr_vm *m, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)m, (void)args, (void)n, (void)err;
    *ret = tnr_int(8);
    return TNB_OK;
}

static void
test_machines_keep_the_packed_functions_they_found(void **state)
{
    enum { MANY = 300 };
    static char names[MANY][24];
    (void)state;
    tnr_packed f = {.base.size = sizeof f,
                    .base.name = "test.number",
                    .call = give_seven,
                    .max_args = 0};
    OK(tnr_runtime_add_packed(rt, &f, &err));
    begin_main(0, 1, 0);
    tnk_program_emit_list(p, TNB_VM_CALLP, 0, tnk_program_packed(p, "test.number"), NULL, 0);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    f.call = give_eight;
    OK(tnr_runtime_add_packed(rt, &f, &err));
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "test.%d", i);
        f.base.name = names[i];
        OK(tnr_runtime_add_packed(rt, &f, &err));
    }
    assert_int_equal(call_int(NULL, 0), 7);
    tnr_vm_free(vm);
    OK(tnr_vm_new(rt, artifact, 0, &vm, &err));
    assert_int_equal(call_int(NULL, 0), 8);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(tnr_find_packed(rt, names[i], NULL)->base.name, names[i]);
}

static void
test_the_driver_decides_about_memory_scopes(void **state)
{
    (void)state;
    uint32_t own = tnk_program_device(p, "test", 0, "scratchpad");
    begin_main(0, 1, 1);
    load_int(p, 0, 64);
    OP(ALLOCS, 0, 0, 0, own);
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    start(NULL, 0);
    tnr_value s, other;
    OK(tnr_vm_call(vm, "main", NULL, 0, &s, &err));
    assert_string_equal(last_scope, "scratchpad");
    OK(tnr_storage_new(tnr_vm_device(vm), 64, "scratchpad", &other, &err));
    assert_ptr_equal(s.u.storage->scope, other.u.storage->scope);
    tnr_release(&other);
    tnr_release(&s);
    OK(tnr_storage_new(tnr_device_host(rt), 64, NULL, &s, &err));
    tnr_release(&s);
    FAILS(tnr_storage_new(tnr_device_host(rt), 64, "scratchpad", &s, &err), TNB_UNSUPPORTED,
          "no memory of scope 'scratchpad'");
}

static int inits, finis;
static bool init_fails;

static tnb_status
count_init(const tnb_plugin_start *start, tnb_err *err)
{
    assert_null(start->folder);
    assert_null(start->setting(start, "anything"));
    inits++;
    return init_fails ? tnb_fail(err, TNB_DEVICE, "not today") : TNB_OK;
}

static void
count_fini(void)
{
    finis++;
}

static void
test_a_plugin_is_ended_if_it_began(void **state)
{
    (void)state;
    tnr_runtime *other;
    tnr_plugin_desc d = test_plugin;
    d.init = count_init;
    d.fini = count_fini;
    OK(tnr_runtime_new(NULL, &other, &err));
    init_fails = true;
    FAILS(tnr_runtime_add(other, &d, &err), TNB_DEVICE, "not today");
    assert_null(tnr_find_driver(other, "test", NULL));
    assert_null(tnr_find_packed(other, "test.apply_twice", NULL));
    init_fails = false;
    OK(tnr_runtime_add(other, &d, &err));
    assert_non_null(tnr_find_driver(other, "test", NULL));
    assert_int_equal(finis, 0);
    tnr_runtime_free(other);
    assert_int_equal(inits, 2);
    assert_int_equal(finis, 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_loop_sums_integers),
        cmocka_unit_test(test_integer_operations),
        TEST(test_narrow_integers_are_extended),
        TEST(test_floats_round_and_convert),
        cmocka_unit_test(test_sums_that_do_not_fit_are_errors),
        TEST(test_division_by_zero_is_an_error_with_its_place),
        TEST(test_assertion_gives_its_text),
        TEST(test_recursion),
        TEST(test_endless_recursion_ends_with_an_error),
        TEST(test_tail_calls_reuse_frame_and_storage),
        TEST(test_closures_bind_last_parameters),
        TEST(test_unknown_functions_are_named),
        TEST(test_tuples_and_items),
        TEST(test_item_out_of_range),
        TEST(test_host_tensors_are_read_and_written_with_bounds),
        TEST(test_shapes_through_the_heap),
        TEST(test_conditions_take_tensors),
        TEST(test_launch_with_constant_and_offset),
        TEST(test_constants_lie_in_the_scope_that_kernels_want),
        TEST(test_launch_checks_its_arguments),
        TEST(test_kernels_cannot_write_constants),
        TEST(test_scalars_and_grid_reach_the_kernel),
        TEST(test_device_errors_name_the_kernel),
        TEST(test_missing_kernels_and_functions_are_errors),
        TEST(test_storage_too_large_is_an_error),
        TEST(test_values_outlive_machine_and_runtime),
        TEST(test_wrapped_memory_stays_its_owners),
        TEST(test_dlpack_goes_in_and_out_without_copies),
        TEST(test_views_must_fit_their_storage),
        TEST(test_a_list_that_is_too_long_is_refused_when_written),
        TEST(test_machines_keep_the_packed_functions_they_found),
        TEST(test_the_driver_decides_about_memory_scopes),
        TEST(test_a_plugin_is_ended_if_it_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
