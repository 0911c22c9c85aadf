/* SPDX-License-Identifier: Apache-2.0 */
/* Every public function of the runtime on each class of wrong argument: NULL where an object, an
 * array or a place for the answer is needed, unknown flags and tags, sizes that overflow or do not
 * match. Functions with a status refuse with a message that names the argument; the others answer
 * NULL, 0 or false, or do nothing.
 */
#include "assemble.h"
#include <string.h>
#include "tenon/base/plugin.h"

static tnb_arena *arena;
static tnr_runtime *rt;
static tnr_device *host;
static tnr_artifact *artifact;
static tnr_vm *vm;
static tnr_value tensor, out;
static const int64_t dims[] = {2, 3};
static const tnb_dtype odd = {9, 77, 3}; /* there is no such dtype */

/* A NULL argument: the message names it, and nothing was put out. */
#define REFUSES(call, argument)                             \
    do {                                                    \
        FAILS(call, TNB_INVALID, "'" argument "' is NULL"); \
        assert_int_equal(out.tag, TNR_NULL);                \
    } while (0)

/* main(): calls the packed function "test.hook" and gives back an integer. */
static tnk_program *
sample(void)
{
    tnk_program *p = tnk_program_new(arena);
    tnk_program_device(p, "host", 0, "global");
    uint32_t one = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 1);
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 1));
    uint32_t v = tnk_program_value_reg(p);
    OPL(CALLP, v, tnk_program_packed(p, "test.hook"), C(one));
    OP(RET, 0, v, 0, 0);
    tnk_program_end(p);
    return p;
}

static int hooks;
static bool cancels; /* the hook asks for the end of the call that it is in */

static tnb_status
hook(tnr_vm *machine, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)n, (void)err;
    hooks++;
    if (cancels)
        tnr_vm_cancel(machine);
    *ret = args[0];
    return TNB_OK;
}

static const tnr_packed hook_entry = {.base.size = sizeof hook_entry,
                                      .base.name = "test.hook",
                                      .call = hook,
                                      .min_args = 1,
                                      .max_args = 1};

static void
test_values(void **state)
{
    (void)state;
    tnr_value items[2] = {tnr_int(1), {.tag = 99}};
    int64_t number;
    REFUSES(tnr_shape_new(NULL, 2, &out, &err), "dims");
    REFUSES(tnr_shape_new(dims, 2, NULL, &err), "out");
    FAILS(tnr_shape_new(dims, 100000, &out, &err), TNB_SHAPE, "100000 dimensions");
    REFUSES(tnr_string_new(NULL, 3, &out, &err), "s");
    REFUSES(tnr_string_new("abc", 3, NULL, &err), "out");
    FAILS(tnr_string_new("abc", SIZE_MAX, &out, &err), TNB_NO_MEMORY, "no memory");
    REFUSES(tnr_tuple_new(items, 1, NULL, &err), "out");
    FAILS(tnr_tuple_new(items, 2, &out, &err), TNB_INVALID,
          "item 1 of a tuple: a value has the tag 99");
    items[1] = (tnr_value){.tag = TNR_TENSOR};
    FAILS(tnr_tuple_new(items, 2, &out, &err), TNB_INVALID, "the tag tensor holds NULL");
    items[1] = (tnr_value){.tag = TNR_DTYPE, .u.dtype = odd};
    FAILS(tnr_tuple_new(items, 2, &out, &err), TNB_INVALID, "the code 9, 77 bits and 3 lanes");
    items[1].u.dtype = TNB_VOID; /* for "any" */
    OK(tnr_tuple_new(items, 2, &out, &err));
    tnr_release(&out);
    REFUSES(tnr_expect(NULL, items, 0, TNR_INT, &err), "function");
    REFUSES(tnr_expect("f", NULL, 0, TNR_INT, &err), "args");
    FAILS(tnr_expect("f", items, -1, TNR_INT, &err), TNB_BOUNDS, "no argument -1");
    REFUSES(tnr_expect_int("f", items, 0, NULL, &err), "out");
    REFUSES(tnr_expect_int("f", NULL, 0, &number, &err), "args");
    tnr_retain(items[1]);
    tnr_release(&items[1]);
    tnr_retain((tnr_value){.tag = 99});
    items[1] = (tnr_value){.tag = 99};
    tnr_release(&items[1]);
    tnr_release(NULL);
    tnr_object_retain(NULL);
    tnr_object_release(NULL);
    char text[40];
    tnr_describe((tnr_value){.tag = TNR_TUPLE}, text, sizeof text);
    assert_string_equal(text, "tuple that is NULL");
    tnr_describe((tnr_value){.tag = 99}, text, sizeof text);
    assert_string_equal(text, "unknown value");
    tnr_describe(tnr_int(1), NULL, 5);
    assert_string_equal(tnr_tag_name(99), "unknown value");
}

static void
test_storage_and_tensors(void **state)
{
    (void)state;
    float data[6] = {0};
    tnr_value s, v;
    REFUSES(tnr_storage_new(NULL, 8, NULL, &out, &err), "dev");
    REFUSES(tnr_storage_new(host, 8, NULL, NULL, &err), "out");
    FAILS(tnr_storage_new(host, UINT64_MAX, NULL, &out, &err), TNB_NO_MEMORY, "too large");
    FAILS(tnr_storage_new(host, 8, "nowhere", &out, &err), TNB_UNSUPPORTED, "'nowhere'");
    REFUSES(tnr_storage_wrap(NULL, data, 8, 0, NULL, NULL, &out, &err), "dev");
    REFUSES(tnr_storage_wrap(host, NULL, 8, 0, NULL, NULL, &out, &err), "mem");
    REFUSES(tnr_storage_wrap(host, data, 8, 0, NULL, NULL, NULL, &err), "out");
    FAILS(tnr_storage_wrap(host, data, 8, 6, NULL, NULL, &out, &err), TNB_INVALID, "no flag 0x6");
    FAILS(tnr_storage_wrap(host, data, UINT64_MAX, 0, NULL, NULL, &out, &err), TNB_BOUNDS,
          "beyond the address space");
    OK(tnr_storage_wrap(host, NULL, 0, 0, NULL, NULL, &s, &err)); /* nothing needs no memory */
    tnr_release(&s);
    OK(tnr_storage_wrap(host, data, sizeof data, 0, NULL, NULL, &s, &err));
    REFUSES(tnr_tensor_view(NULL, 0, dims, 2, TNB_F32, &out, &err), "s");
    REFUSES(tnr_tensor_view(s.u.storage, 0, NULL, 2, TNB_F32, &out, &err), "shape");
    REFUSES(tnr_tensor_view(s.u.storage, 0, dims, 2, TNB_F32, NULL, &err), "out");
    FAILS(tnr_tensor_view(s.u.storage, 4, dims, 2, TNB_F32, &out, &err), TNB_BOUNDS,
          "does not fit");
    FAILS(tnr_tensor_view(s.u.storage, UINT64_MAX, dims, 2, TNB_F32, &out, &err), TNB_BOUNDS,
          "does not fit");
    FAILS(tnr_tensor_view(s.u.storage, 0, dims, 2, TNB_VOID, &out, &err), TNB_TYPE, "element type");
    FAILS(tnr_tensor_view(s.u.storage, 0, dims, 2, TNB_DTYPE(TNB_FLOAT, 0), &out, &err), TNB_TYPE,
          "element type");
    FAILS(tnr_tensor_view(s.u.storage, 0, dims, 2, odd, &out, &err), TNB_TYPE,
          "code 9 with 77 bits and 3 lanes");
    FAILS(tnr_tensor_view(s.u.storage, 0, dims, 2, (tnb_dtype){TNB_FLOAT, 32, 0}, &out, &err),
          TNB_TYPE, "code 2 with 32 bits and 0 lanes");
    FAILS(tnr_tensor_new(host, dims, 2, odd, &out, &err), TNB_TYPE, "code 9");
    FAILS(tnr_tensor_new(host, dims, 2, TNB_DTYPE(TNB_INT, 7), &out, &err), TNB_TYPE, "7 bits");
    FAILS(tnr_tensor_from(host, data, dims, 2, odd, &out, &err), TNB_TYPE, "code 9");
    FAILS(tnr_tensor_view(s.u.storage, 0, (int64_t[]){-1}, 1, TNB_F32, &out, &err), TNB_SHAPE,
          "negative");
    FAILS(tnr_tensor_view(s.u.storage, 0, (int64_t[]){INT64_MAX, 4}, 2, TNB_F32, &out, &err),
          TNB_BOUNDS, "address space");
    FAILS(tnr_tensor_view(s.u.storage, 0, dims, 1000, TNB_F32, &out, &err), TNB_SHAPE,
          "1000 dimensions");
    OK(tnr_tensor_view(s.u.storage, 0, NULL, 0, TNB_F32, &v, &err)); /* a scalar has no shape */
    tnr_release(&v);
    tnr_release(&s);
    REFUSES(tnr_tensor_new(NULL, dims, 2, TNB_F32, &out, &err), "dev");
    REFUSES(tnr_tensor_new(host, NULL, 2, TNB_F32, &out, &err), "shape");
    REFUSES(tnr_tensor_new(host, dims, 2, TNB_F32, NULL, &err), "out");
    REFUSES(tnr_tensor_from(NULL, data, dims, 2, TNB_F32, &out, &err), "dev");
    REFUSES(tnr_tensor_from(host, NULL, dims, 2, TNB_F32, &out, &err), "data");
    REFUSES(tnr_tensor_from(host, data, NULL, 2, TNB_F32, &out, &err), "shape");
    REFUSES(tnr_tensor_from(host, data, dims, 2, TNB_F32, NULL, &err), "out");
    OK(tnr_tensor_from(host, NULL, (int64_t[]){0}, 1, TNB_F32, &v, &err)); /* no elements */
    tnr_release(&v);
    REFUSES(tnr_tensor_reshape(NULL, dims, 2, &out, &err), "t");
    REFUSES(tnr_tensor_reshape(tensor.u.tensor, NULL, 2, &out, &err), "shape");
    REFUSES(tnr_tensor_reshape(tensor.u.tensor, dims, 2, NULL, &err), "out");
    FAILS(tnr_tensor_reshape(tensor.u.tensor, dims, 1, &out, &err), TNB_SHAPE,
          "cannot be reshaped");
}

static void
test_elements(void **state)
{
    (void)state;
    float data[6] = {0};
    tnr_value doubles;
    tnr_tensor *t = tensor.u.tensor;
    REFUSES(tnr_tensor_read(NULL, data, sizeof data, &err), "t");
    REFUSES(tnr_tensor_read(t, NULL, sizeof data, &err), "host");
    FAILS(tnr_tensor_read(t, data, 20, &err), TNB_SHAPE, "holds 24 bytes, 20 were asked for");
    REFUSES(tnr_tensor_write(NULL, data, sizeof data, &err), "t");
    REFUSES(tnr_tensor_write(t, NULL, sizeof data, &err), "host");
    FAILS(tnr_tensor_write(t, data, 28, &err), TNB_SHAPE, "holds 24 bytes, 28 were given");
    REFUSES(tnr_tensor_copy(NULL, t, &err), "from");
    REFUSES(tnr_tensor_copy(t, NULL, &err), "to");
    OK(tnr_tensor_new(host, dims, 2, TNB_F64, &doubles, &err));
    FAILS(tnr_tensor_copy(t, doubles.u.tensor, &err), TNB_SHAPE, "differ");
    tnr_release(&doubles);
    REFUSES(tnr_tensor_to(NULL, host, &out, &err), "t");
    REFUSES(tnr_tensor_to(t, NULL, &out, &err), "dev");
    REFUSES(tnr_tensor_to(t, host, NULL, &err), "out");
    assert_null(tnr_tensor_data(NULL));
    assert_false(tnr_tensor_is_compact(NULL));
}

static void
test_dlpack(void **state)
{
    (void)state;
    float data[6] = {0};
    int64_t shape[] = {2, 3}, strides[] = {INT64_MAX, 1};
    tnr_dlmanaged m = {.dl = {.data = data,
                              .device = tnr_device_dl(host),
                              .ndim = 2,
                              .dtype = TNB_F32,
                              .shape = shape}},
                  *exported;
    REFUSES(tnr_tensor_to_dlpack(NULL, &exported, &err), "t");
    REFUSES(tnr_tensor_to_dlpack(tensor.u.tensor, NULL, &err), "out");
    REFUSES(tnr_tensor_from_dlpack(NULL, &m, &out, &err), "dev");
    REFUSES(tnr_tensor_from_dlpack(host, NULL, &out, &err), "m");
    REFUSES(tnr_tensor_from_dlpack(host, &m, NULL, &err), "out");
    m.dl.byte_offset = UINT64_MAX - 4;
    FAILS(tnr_tensor_from_dlpack(host, &m, &out, &err), TNB_BOUNDS, "beyond the address space");
    m.dl.byte_offset = 0;
    m.dl.dtype = odd;
    FAILS(tnr_tensor_from_dlpack(host, &m, &out, &err), TNB_TYPE, "code 9");
    m.dl.dtype = TNB_F32;
    m.dl.strides = strides;
    FAILS(tnr_tensor_from_dlpack(host, &m, &out, &err), TNB_BOUNDS, "overflow 64 bits");
    m.dl.strides = NULL;
    m.dl.data = NULL;
    FAILS(tnr_tensor_from_dlpack(host, &m, &out, &err), TNB_INVALID, "no data");
    m.dl.data = data;
    m.dl.shape = NULL;
    FAILS(tnr_tensor_from_dlpack(host, &m, &out, &err), TNB_INVALID, "broken");
    m.dl.shape = shape;
    m.dl.device.id = 7;
    FAILS(tnr_tensor_from_dlpack(host, &m, &out, &err), TNB_INVALID, "lies on device");
}

static void
test_devices(void **state)
{
    (void)state;
    tnr_device *dev = NULL;
    tnr_memory_stats stats;
    REFUSES(tnr_device_open(NULL, "host", 0, &dev, &err), "rt");
    REFUSES(tnr_device_open(rt, NULL, 0, &dev, &err), "name");
    REFUSES(tnr_device_open(rt, "host", 0, NULL, &err), "out");
    FAILS(tnr_device_open(rt, "host", 1, &dev, &err), TNB_BOUNDS, "number 1");
    FAILS(tnr_device_open(rt, "nowhere", 0, &dev, &err), TNB_NOT_FOUND, "'nowhere'");
    REFUSES(tnr_device_sync(NULL, &err), "dev");
    assert_null(tnr_device_host(NULL));
    assert_null(tnr_device_driver(NULL));
    assert_null(tnr_device_handle(NULL));
    assert_int_equal(tnr_device_dl(NULL).type, 0);
    assert_int_equal(tnr_device_threads(NULL), 0);
    assert_int_equal(tnr_device_is_host(NULL), 0);
    assert_false(tnr_device_is_native(NULL));
    tnr_device_trim(NULL);
    tnr_device_memory(host, NULL);
    tnr_device_memory(NULL, &stats);
    assert_int_equal(stats.in_use, 0);
}

/* The functions that drivers may take for their own. */
static void
test_host_functions(void **state)
{
    (void)state;
    void *mem;
    char byte = 0;
    tnr_copy c = {.kind = TNR_COPY_TO_HOST, .dst = &byte, .bytes = 1};
    REFUSES(tnr_host_count(NULL, NULL, &err), "n");
    REFUSES(tnr_host_open(NULL, 0, NULL, NULL, &err), "dev");
    REFUSES(tnr_host_check_features(NULL, NULL, 1, &err), "features");
    REFUSES(tnr_host_alloc(NULL, 8, "global", NULL, &err), "mem");
    FAILS(tnr_host_alloc(NULL, UINT64_MAX, NULL, &mem, &err), TNB_NO_MEMORY, "no memory");
    REFUSES(tnr_host_copy(NULL, NULL, NULL, &err), "c");
    REFUSES(tnr_host_copy(NULL, NULL, &c, &err), "c->src");
    REFUSES(tnr_host_zero(NULL, NULL, NULL, 0, 4, &err), "mem");
    tnr_host_free(NULL, NULL);
    OK(tnr_host_sync(NULL, NULL, &err));
}

static void
test_runtimes(void **state)
{
    (void)state;
    tnr_runtime *other = NULL;
    struct {
        tnr_runtime_options opt;
        uint64_t more;
    } wide = {.opt = {.size = sizeof wide}};
    REFUSES(tnr_runtime_new(NULL, NULL, &err), "out");
    FAILS(tnr_runtime_new(&wide.opt, &other, &err), TNB_ABI, "bytes of");
    wide.opt.size = sizeof wide.opt;
    OK(tnr_runtime_new(&wide.opt, &other, &err));
    tnr_runtime_free(other);
    wide.opt.threads = -1;
    FAILS(tnr_runtime_new(&wide.opt, &other, &err), TNB_INVALID, "-1 threads");
    wide.opt = (tnr_runtime_options){.size = 0};
    OK(tnr_runtime_new(&wide.opt, &other, &err));
    assert_true(tnr_runtime_threads(other) > 0);
    tnr_runtime_free(other);
    tnr_runtime_free(NULL);
    assert_int_equal(tnr_runtime_threads(NULL), 0);
    tnr_packed p = hook_entry;
    REFUSES(tnr_runtime_add_packed(NULL, &p, &err), "rt");
    REFUSES(tnr_runtime_add_packed(rt, NULL, &err), "p");
    p.flags = 64;
    FAILS(tnr_runtime_add_packed(rt, &p, &err), TNB_INVALID, "unknown flag 0x40");
    p = hook_entry;
    p.max_args = 0;
    FAILS(tnr_runtime_add_packed(rt, &p, &err), TNB_INVALID, "takes 1 to 0 arguments");
    p = hook_entry;
    p.base.size = 8;
    FAILS(tnr_runtime_add_packed(rt, &p, &err), TNB_ABI, "8 bytes");
    p = hook_entry;
    p.base.name = NULL;
    FAILS(tnr_runtime_add_packed(rt, &p, &err), TNB_INVALID, "a packed function has no name");
    p = hook_entry;
    p.call = NULL;
    FAILS(tnr_runtime_add_packed(rt, &p, &err), TNB_INVALID, "has no `call`");
    tnb_err err;
    assert_null(tnr_find_driver(NULL, "cpu", &err));
    assert_int_equal(err.status, TNB_INVALID);
    assert_null(tnr_find_driver(rt, NULL, NULL));
    assert_null(tnr_find_packed(NULL, "f", NULL));
    assert_null(tnr_find_packed(rt, NULL, &err));
    assert_non_null(strstr(err.message, "'name' is NULL"));
    assert_null(tnr_driver_at(NULL, 0));
    assert_null(tnr_driver_at(rt, UINT32_MAX));
    tnr_load_drivers(NULL);
}

static void
test_descriptors(void **state)
{
    (void)state;
    static const tnr_packed *const none[] = {NULL};
    static const uint32_t no_size = 0;
    const tnr_driver *sizeless[] = {(const tnr_driver *)(const void *)&no_size};
    tnr_plugin_desc d = {.head = TNB_PLUGIN_HEAD(tnr_plugin_desc, TNB_PLUGIN_RUNTIME, "test", "1",
                                                 "Apache-2.0", "for a test")},
                    bad = d;
    REFUSES(tnr_runtime_add(NULL, &d, &err), "rt");
    REFUSES(tnr_runtime_add(rt, NULL, &err), "d");
    bad.head.magic = 0;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_INVALID, "not a descriptor");
    bad = d;
    bad.head.kind = TNB_PLUGIN_COMPILER;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_INVALID, "not a descriptor");
    bad = d;
    bad.head.abi_major = TNB_ABI_MAJOR + 1;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_ABI, "built for ABI");
    bad = d;
    bad.head.abi_minor = TNB_ABI_MINOR + 1;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_ABI, "built for ABI");
    bad = d;
    bad.head.size -= 8;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_ABI, "its descriptor has");
    bad = d;
    bad.n_drivers = 1;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_INVALID, "a table that is NULL");
    bad.drivers = sizeless;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_INVALID, "does not say its size");
    bad = d;
    bad.n_packed = 1;
    bad.packed = none;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_INVALID, "plugin test: a packed function is NULL");
    bad = d;
    bad.n_loaders = 1;
    FAILS(tnr_runtime_add(rt, &bad, &err), TNB_INVALID, "a table that is NULL");
    OK(tnr_runtime_add(rt, &d, &err));
    tnb_plugin plugin = {.name = "p"};
    REFUSES(tnr_load_plugin(NULL, &plugin, &err), "rt");
    REFUSES(tnr_load_plugin(rt, NULL, &err), "p");
    FAILS(tnr_load_plugin(rt, &plugin, &err), TNB_INVALID, "without plugins");
}

static void
test_artifacts(void **state)
{
    (void)state;
    tnr_artifact *a = NULL;
    uint32_t v;
    REFUSES(tnr_artifact_open(NULL, &a, &err), "path");
    REFUSES(tnr_artifact_open("x.tno", NULL, &err), "out");
    FAILS(tnr_artifact_open("/nowhere/x.tno", &a, &err), TNB_IO, "/nowhere/x.tno");
    FAILS(tnr_artifact_open_fd(-1, "x.tno", &a, &err), TNB_IO, "x.tno");
    REFUSES(tnr_artifact_open_fd(0, NULL, &a, &err), "name");
    REFUSES(tnr_artifact_open_fd(0, "x.tno", NULL, &err), "out");
    REFUSES(tnr_artifact_open_memory(NULL, 8, "x.tno", &a, &err), "bytes");
    REFUSES(tnr_artifact_open_memory("x", 1, NULL, &a, &err), "name");
    REFUSES(tnr_artifact_open_memory("x", 1, "x.tno", NULL, &err), "out");
    FAILS(tnr_artifact_open_memory(NULL, 0, "x.tno", &a, &err), TNB_FORMAT, "too short");
    assert_null(a);
    REFUSES(tnr_artifact_check_data(NULL, &err), "a");
    REFUSES(tnr_artifact_pick(NULL, artifact, NULL, &v, NULL, &err), "rt");
    REFUSES(tnr_artifact_pick(rt, NULL, NULL, &v, NULL, &err), "a");
    REFUSES(tnr_artifact_pick(rt, artifact, NULL, NULL, NULL, &err), "variant");
    FAILS(tnr_artifact_pick(rt, artifact, "nowhere", &v, NULL, &err), TNB_NOT_FOUND, "'nowhere'");
    tnr_artifact_close(NULL);
    assert_null(tnr_artifact_metadata(NULL));
    assert_int_equal(tnr_artifact_variants(NULL), 0);
    assert_null(tnr_artifact_variant(NULL, 0));
    assert_null(tnr_artifact_variant(artifact, 1));
    assert_null(tnr_artifact_function(NULL, "main"));
    assert_null(tnr_artifact_function(artifact, NULL));
    assert_null(tnr_artifact_function(artifact, "nothing"));
    assert_null(tnr_artifact_function_at(NULL, 0));
    assert_null(tnr_artifact_function_at(artifact, 1));
}

static void
test_machines(void **state)
{
    (void)state;
    tnr_vm *other = NULL;
    tnr_value arg = tnr_int(1), closure, result;
    uint32_t n = 7;
    REFUSES(tnr_vm_new(NULL, artifact, 0, &other, &err), "rt");
    REFUSES(tnr_vm_new(rt, NULL, 0, &other, &err), "a");
    REFUSES(tnr_vm_new(rt, artifact, 0, NULL, &err), "out");
    FAILS(tnr_vm_new(rt, artifact, 1, &other, &err), TNB_BOUNDS, "variant 1 of 1");
    REFUSES(tnr_vm_call(NULL, "main", &arg, 1, &out, &err), "vm");
    REFUSES(tnr_vm_call(vm, NULL, &arg, 1, &out, &err), "function");
    REFUSES(tnr_vm_call(vm, "main", NULL, 1, &out, &err), "args");
    REFUSES(tnr_vm_call(vm, "main", &arg, 1, NULL, &err), "ret");
    FAILS(tnr_vm_call(vm, "nothing", &arg, 1, &out, &err), TNB_NOT_FOUND, "no function 'nothing'");
    FAILS(tnr_vm_call(vm, "main", &arg, 0, &out, &err), TNB_INVALID, "takes 1 arguments");
    arg = (tnr_value){.tag = 77};
    FAILS(tnr_vm_call(vm, "main", &arg, 1, &out, &err), TNB_INVALID,
          "argument 0: a value has the tag 77");
    arg = (tnr_value){.tag = TNR_DTYPE, .u.dtype = odd};
    FAILS(tnr_vm_call(vm, "main", &arg, 1, &out, &err), TNB_INVALID, "argument 0: ");
    arg = (tnr_value){.tag = TNR_TENSOR};
    FAILS(tnr_vm_call(vm, "main", &arg, 1, &out, &err), TNB_INVALID, "the tag tensor holds NULL");
    REFUSES(tnr_closure_new(NULL, 0, NULL, 0, &out, &err), "vm");
    REFUSES(tnr_closure_new(vm, 0, NULL, 1, &out, &err), "bound");
    REFUSES(tnr_closure_new(vm, 0, NULL, 0, NULL, &err), "out");
    FAILS(tnr_closure_new(vm, 9, NULL, 0, &out, &err), TNB_BOUNDS, "function 9");
    FAILS(tnr_closure_new(vm, 0, &arg, 1, &out, &err), TNB_INVALID, "bound value 0");
    OK(tnr_closure_new(vm, 0, NULL, 0, &closure, &err));
    arg = tnr_int(1);
    REFUSES(tnr_vm_call_closure(NULL, closure.u.closure, &arg, 1, &out, &err), "vm");
    REFUSES(tnr_vm_call_closure(vm, NULL, &arg, 1, &out, &err), "c");
    REFUSES(tnr_vm_call_closure(vm, closure.u.closure, NULL, 1, &out, &err), "args");
    REFUSES(tnr_vm_call_closure(vm, closure.u.closure, &arg, 1, NULL, &err), "ret");
    FAILS(tnr_vm_call_closure(vm, closure.u.closure, &arg, 0, &out, &err), TNB_INVALID, "takes 1");
    OK(tnr_vm_call_closure(vm, closure.u.closure, &arg, 1, &result, &err));
    tnr_release(&closure);
    assert_null(tnr_vm_runtime(NULL));
    assert_null(tnr_vm_device(NULL));
    tnr_vm_cancel(NULL);
    tnr_vm_cancel_clear(NULL);
    tnr_vm_set_profile(NULL, true);
    assert_null(tnr_vm_profile(vm, NULL));
    assert_null(tnr_vm_profile(NULL, &n));
    assert_int_equal(n, 0);
    tnr_vm_free(NULL);
    assert_true(tnr_vm_call(vm, NULL, &arg, 1, &out, NULL) == TNB_INVALID); /* no error to fill */
}

/* A request is not lost between two calls: it ends the call under way or the next one, once. */
static void
test_a_request_to_stop_ends_one_call(void **state)
{
    (void)state;
    tnr_value arg = tnr_int(1), result;
    hooks = 0;
    tnr_vm_cancel(vm);
    FAILS(tnr_vm_call(vm, "main", &arg, 1, &result, &err), TNB_CANCELLED, "stopped on request");
    assert_int_equal(hooks, 0);
    OK(tnr_vm_call(vm, "main", &arg, 1, &result, &err));
    assert_int_equal(hooks, 1);
    /* one that comes behind the last place where a call looks is the next one's */
    cancels = true;
    OK(tnr_vm_call(vm, "main", &arg, 1, &result, &err));
    cancels = false;
    FAILS(tnr_vm_call(vm, "main", &arg, 1, &result, &err), TNB_CANCELLED, "stopped");
    /* unless it is taken back */
    tnr_vm_cancel(vm);
    tnr_vm_cancel_clear(vm);
    OK(tnr_vm_call(vm, "main", &arg, 1, &result, &err));
    assert_int_equal(hooks, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_storage_and_tensors),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_dlpack),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_host_functions),
        cmocka_unit_test(test_runtimes),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_artifacts),
        cmocka_unit_test(test_machines),
        cmocka_unit_test(test_a_request_to_stop_ends_one_call),
    };
    arena = tnb_arena_new();
    OK(tnr_runtime_new(NULL, &rt, &err));
    OK(tnr_runtime_add_packed(rt, &hook_entry, &err));
    host = tnr_device_host(rt);
    artifact = assemble(sample(), "host", NULL, 0);
    OK(tnr_vm_new(rt, artifact, 0, &vm, &err));
    OK(tnr_tensor_new(host, dims, 2, TNB_F32, &tensor, &err));
    out = tnr_null();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tnr_release(&tensor);
    tnr_vm_free(vm);
    tnr_artifact_close(artifact);
    tnr_runtime_free(rt);
    tnb_arena_free(arena);
    return failed;
}
