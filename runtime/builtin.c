/* SPDX-License-Identifier: Apache-2.0 */
/* The packed functions that finalized modules call: vm.builtin.*, under upstream's names.
 *
 * Shape heap: a host tensor of int64, one slot a symbolic value. match_* and make_* take pairs
 * (code, value): match  0: equal to the value   1: store into slot   2: anything   3: equal to slot
 *   make   0: the value            1: from slot
 * The checks take the text to put in front of their message as their last argument.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define ARGS tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err

static const char *
text_of(tnr_value v)
{
    return v.tag == TNR_STRING ? v.u.string->s : "";
}

/* "CONTEXT: message" or the message alone. */
static tnb_status
mismatch(tnb_err *err, tnb_status st, tnr_value context, const char *fmt, ...) TNB_PRINTF(4, 5);

static tnb_status
mismatch(tnb_err *err, tnb_status st, tnr_value context, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)tnb_failv(err, st, fmt, ap);
    va_end(ap);
    if (text_of(context)[0])
        tnb_err_prefix(err, "%s", text_of(context));
    return st;
}

/* ---- the shape heap ---- */

static tnb_status
alloc_shape_heap(ARGS)
{
    int64_t size;
    (void)n;
    TNB_TRY(tnr_want_int("vm.builtin.alloc_shape_heap", args, 0, &size, err));
    TNB_TRY(tnr_tensor_new(tnr_device_host(tnr_vm_runtime(vm)), &size, 1, TNB_I64, ret, err));
    memset(tnr_tensor_data(ret->u.tensor), 0, ret->u.tensor->n_bytes);
    return TNB_OK;
}

/* The slots of a heap argument; a null argument has none. */
static tnb_status
heap_slots(const char *fn, const tnr_value *args, int i, int64_t **slots, uint64_t *count,
           tnb_err *err)
{
    *slots = NULL;
    *count = 0;
    if (args[i].tag == TNR_NULL)
        return TNB_OK;
    TNB_TRY(tnr_want(fn, args, i, TNR_TENSOR, err));
    const tnr_tensor *t = args[i].u.tensor;
    void *data = tnr_tensor_data(t);
    if (!tnb_dtype_eq(t->dl.dtype, TNB_I64) || !data || t->dl.strides ||
        (uintptr_t)data % sizeof **slots || t->storage->flags & TNR_STORAGE_READ_ONLY)
        return tnb_fail(err, TNB_TYPE, "%s: argument %d is no shape heap", fn, i);
    *slots = data;
    *count = t->n_elems;
    return TNB_OK;
}

/* NULL after an error. */
static int64_t *
slot_at(const char *fn, int64_t *slots, uint64_t count, int64_t i, tnb_err *err)
{
    if (i >= 0 && (uint64_t)i < count)
        return slots + i;
    tnb_fail(err, TNB_BOUNDS, "%s: slot %" PRId64 " of a shape heap of %" PRIu64, fn, i, count);
    return NULL;
}

/* One (code, value) pair of a match against `found`. */
static tnb_status
match_one(const char *fn, const tnr_value *pair, int64_t found, int64_t *slots, uint64_t count,
          bool *equal, int64_t *want, tnb_err *err)
{
    int64_t code, value, *slot;
    TNB_TRY(tnr_want_int(fn, pair, 0, &code, err));
    TNB_TRY(tnr_want_int(fn, pair, 1, &value, err));
    *equal = true;
    *want = value;
    switch (code) {
    case 0:
        *equal = found == value;
        return TNB_OK;
    case 1:
        slot = slot_at(fn, slots, count, value, err);
        if (!slot)
            return TNB_BOUNDS;
        *slot = found;
        return TNB_OK;
    case 2:
        return TNB_OK;
    case 3:
        slot = slot_at(fn, slots, count, value, err);
        if (!slot)
            return TNB_BOUNDS;
        *want = *slot;
        *equal = found == *slot;
        return TNB_OK;
    default:
        return tnb_fail(err, TNB_INVALID, "%s: match code %" PRId64, fn, code);
    }
}

/* (x, heap, n, (code, value) * n, context) */
static tnb_status
match_shape(ARGS)
{
    static const char fn[] = "vm.builtin.match_shape";
    int64_t *slots, rank, want;
    uint64_t count;
    const int64_t *dims;
    int32_t ndim;
    bool equal;
    (void)vm, (void)ret;
    if (args[0].tag == TNR_SHAPE) {
        dims = args[0].u.shape->dims;
        ndim = args[0].u.shape->n;
    } else {
        TNB_TRY(tnr_want(fn, args, 0, TNR_TENSOR, err));
        dims = args[0].u.tensor->dl.shape;
        ndim = args[0].u.tensor->dl.ndim;
    }
    TNB_TRY(heap_slots(fn, args, 1, &slots, &count, err));
    TNB_TRY(tnr_want_int(fn, args, 2, &rank, err));
    if (rank < 0 || rank > TNB_TNO_MAX_DIMS || n < 3 + 2 * rank)
        return tnb_fail(err, TNB_INVALID, "%s: %d arguments for a rank of %" PRId64, fn, n, rank);
    tnr_value context = n > 3 + 2 * rank ? args[3 + 2 * rank] : tnr_null();
    if (ndim != rank) {
        char text[160];
        tnr_describe(args[0], text, sizeof text);
        return mismatch(err, TNB_SHAPE, context, "%s has %" PRId32 " dimensions, expected %" PRId64,
                        text, ndim, rank);
    }
    for (int i = 0; i < rank; i++) {
        TNB_TRY(match_one(fn, args + 3 + 2 * i, dims[i], slots, count, &equal, &want, err));
        if (!equal) {
            char text[160];
            tnr_describe(args[0], text, sizeof text);
            return mismatch(err, TNB_SHAPE, context,
                            "extent %d of %s is %" PRId64 ", expected %" PRId64, i, text, dims[i],
                            want);
        }
    }
    return TNB_OK;
}

/* (x, heap, code, value, context) */
static tnb_status
match_prim_value(ARGS)
{
    static const char fn[] = "vm.builtin.match_prim_value";
    int64_t *slots, found, want;
    uint64_t count;
    bool equal;
    (void)vm, (void)ret;
    TNB_TRY(tnr_want_int(fn, args, 0, &found, err));
    TNB_TRY(heap_slots(fn, args, 1, &slots, &count, err));
    TNB_TRY(match_one(fn, args + 2, found, slots, count, &equal, &want, err));
    if (!equal)
        return mismatch(err, TNB_SHAPE, n > 4 ? args[4] : tnr_null(),
                        "a scalar is %" PRId64 ", expected %" PRId64, found, want);
    return TNB_OK;
}

static tnb_status
make_one(const char *fn, const tnr_value *pair, int64_t *slots, uint64_t count, int64_t *out,
         tnb_err *err)
{
    int64_t code, value, *slot;
    TNB_TRY(tnr_want_int(fn, pair, 0, &code, err));
    TNB_TRY(tnr_want_int(fn, pair, 1, &value, err));
    if (code == 0) {
        *out = value;
        return TNB_OK;
    }
    if (code != 1)
        return tnb_fail(err, TNB_INVALID, "%s: code %" PRId64, fn, code);
    slot = slot_at(fn, slots, count, value, err);
    if (!slot)
        return TNB_BOUNDS;
    *out = *slot;
    return TNB_OK;
}

/* (heap, n, (code, value) * n) */
static tnb_status
make_shape(ARGS)
{
    static const char fn[] = "vm.builtin.make_shape";
    int64_t *slots, rank, dims[TNB_TNO_MAX_DIMS];
    uint64_t count;
    (void)vm;
    TNB_TRY(heap_slots(fn, args, 0, &slots, &count, err));
    TNB_TRY(tnr_want_int(fn, args, 1, &rank, err));
    if (rank < 0 || rank > TNB_TNO_MAX_DIMS || n < 2 + 2 * rank)
        return tnb_fail(err, TNB_INVALID, "%s: %d arguments for a rank of %" PRId64, fn, n, rank);
    for (int i = 0; i < rank; i++)
        TNB_TRY(make_one(fn, args + 2 + 2 * i, slots, count, &dims[i], err));
    return tnr_shape_new(dims, (uint32_t)rank, ret, err);
}

static tnb_status
make_prim_value(ARGS)
{
    static const char fn[] = "vm.builtin.make_prim_value";
    int64_t *slots, value;
    uint64_t count;
    (void)vm, (void)n;
    TNB_TRY(heap_slots(fn, args, 0, &slots, &count, err));
    TNB_TRY(make_one(fn, args + 1, slots, count, &value, err));
    *ret = tnr_int(value);
    return TNB_OK;
}

/* ---- checks of arguments ---- */

static tnb_status
found_instead(const tnr_value *args, tnr_value context, const char *want, tnb_err *err)
{
    char text[160];
    tnr_describe(args[0], text, sizeof text);
    return mismatch(err, TNB_TYPE, context, "found %s, expected %s", text, want);
}

/* The dtype argument: a dtype, its name, or null for any. */
static tnb_status
dtype_arg(const char *fn, const tnr_value *args, int i, tnb_dtype *out, tnb_err *err)
{
    *out = TNB_VOID;
    if (args[i].tag == TNR_NULL)
        return TNB_OK;
    if (args[i].tag == TNR_DTYPE) {
        *out = args[i].u.dtype;
        return TNB_OK;
    }
    TNB_TRY(tnr_want(fn, args, i, TNR_STRING, err));
    if (args[i].u.string->n && !tnb_dtype_parse(args[i].u.string->s, args[i].u.string->n, out))
        return tnb_fail(err, TNB_INVALID, "%s: '%s' is no dtype", fn, args[i].u.string->s);
    return TNB_OK;
}

/* (x, ndim, dtype, context) */
static tnb_status
check_tensor_info(ARGS)
{
    static const char fn[] = "vm.builtin.check_tensor_info";
    int64_t ndim;
    tnb_dtype dtype;
    (void)vm, (void)ret;
    tnr_value context = args[n - 1];
    TNB_TRY(tnr_want_int(fn, args, 1, &ndim, err));
    TNB_TRY(dtype_arg(fn, args, 2, &dtype, err));
    if (args[0].tag != TNR_TENSOR)
        return found_instead(args, context, "a tensor", err);
    const tnb_dltensor *t = &args[0].u.tensor->dl;
    if (ndim >= 0 && t->ndim != ndim) {
        char text[160];
        tnr_describe(args[0], text, sizeof text);
        return mismatch(err, TNB_SHAPE, context, "%s has %" PRId32 " dimensions, expected %" PRId64,
                        text, t->ndim, ndim);
    }
    if (!tnb_dtype_is_void(dtype) && !tnb_dtype_eq(dtype, t->dtype))
        return mismatch(err, TNB_TYPE, context, "a tensor of %s, expected %s",
                        tnb_dtype_print(t->dtype).s, tnb_dtype_print(dtype).s);
    return TNB_OK;
}

/* (x, ndim, context) */
static tnb_status
check_shape_info(ARGS)
{
    int64_t ndim;
    (void)vm, (void)ret;
    TNB_TRY(tnr_want_int("vm.builtin.check_shape_info", args, 1, &ndim, err));
    if (args[0].tag != TNR_SHAPE)
        return found_instead(args, args[n - 1], "a shape", err);
    if (ndim >= 0 && args[0].u.shape->n != ndim)
        return mismatch(err, TNB_SHAPE, args[n - 1],
                        "a shape of rank %" PRId32 ", expected %" PRId64, args[0].u.shape->n, ndim);
    return TNB_OK;
}

/* (x, dtype, context) */
static tnb_status
check_prim_value_info(ARGS)
{
    static const char fn[] = "vm.builtin.check_prim_value_info";
    tnb_dtype dtype;
    (void)vm, (void)ret;
    TNB_TRY(dtype_arg(fn, args, 1, &dtype, err));
    bool is_float = tnb_dtype_is_float(dtype);
    if (is_float ? args[0].tag == TNR_FLOAT : args[0].tag == TNR_INT || args[0].tag == TNR_BOOL)
        return TNB_OK;
    if (tnb_dtype_is_void(dtype) && args[0].tag == TNR_FLOAT)
        return TNB_OK;
    return found_instead(args, args[n - 1], "a scalar", err);
}

/* (x, n, context) */
static tnb_status
check_tuple_info(ARGS)
{
    int64_t want;
    (void)vm, (void)ret;
    TNB_TRY(tnr_want_int("vm.builtin.check_tuple_info", args, 1, &want, err));
    if (args[0].tag != TNR_TUPLE)
        return found_instead(args, args[n - 1], "a tuple", err);
    if (args[0].u.tuple->n != want)
        return mismatch(err, TNB_TYPE, args[n - 1],
                        "a tuple of %" PRIu32 " items, expected %" PRId64, args[0].u.tuple->n,
                        want);
    return TNB_OK;
}

static tnb_status
check_func_info(ARGS)
{
    (void)vm, (void)ret;
    return args[0].tag == TNR_CLOSURE ? TNB_OK
                                      : found_instead(args, args[n - 1], "a function", err);
}

/* ---- tensors and shapes ---- */

static tnb_status
reshape(ARGS)
{
    static const char fn[] = "vm.builtin.reshape";
    (void)vm, (void)n;
    TNB_TRY(tnr_want(fn, args, 0, TNR_TENSOR, err));
    TNB_TRY(tnr_want(fn, args, 1, TNR_SHAPE, err));
    const tnr_shape *s = args[1].u.shape;
    return tnr_tensor_reshape(args[0].u.tensor, s->dims, (uint32_t)s->n, ret, err);
}

static tnb_status
shape_of(ARGS)
{
    (void)vm, (void)n;
    TNB_TRY(tnr_want("vm.builtin.shape_of", args, 0, TNR_TENSOR, err));
    const tnb_dltensor *t = &args[0].u.tensor->dl;
    return tnr_shape_new(t->shape, (uint32_t)t->ndim, ret, err);
}

/* A one-dimensional tensor of integers as a shape. */
static tnb_status
tensor_to_shape(ARGS)
{
    static const char fn[] = "vm.builtin.tensor_to_shape";
    int64_t raw[TNB_TNO_MAX_DIMS], dims[TNB_TNO_MAX_DIMS];
    (void)vm, (void)n;
    TNB_TRY(tnr_want(fn, args, 0, TNR_TENSOR, err));
    const tnr_tensor *t = args[0].u.tensor;
    if (t->dl.ndim != 1 || t->n_elems > TNB_TNO_MAX_DIMS || !tnb_dtype_is_int(t->dl.dtype) ||
        t->n_bytes > sizeof raw) {
        char text[160];
        tnr_describe(args[0], text, sizeof text);
        return tnb_fail(err, TNB_TYPE, "%s: %s cannot be a shape", fn, text);
    }
    TNB_TRY(tnr_tensor_read(t, raw, t->n_bytes, err));
    for (uint64_t i = 0; i < t->n_elems; i++)
        if (!tnb_load_i64(raw, t->dl.dtype, i, &dims[i]))
            return tnb_fail(err, TNB_TYPE, "%s: elements of %s", fn,
                            tnb_dtype_print(t->dl.dtype).s);
    return tnr_shape_new(dims, (uint32_t)t->n_elems, ret, err);
}

/* "{2}" in a text stands for entry 2 of the shape. */
static void
fill_in(const char *text, const tnr_shape *s, char *out, size_t size)
{
    size_t at = 0;
    while (*text && at + 1 < size) {
        char *end = NULL;
        long i = *text == '{' ? strtol(text + 1, &end, 10) : -1;
        if (i < 0 || i >= s->n || end == text + 1 || *end != '}') {
            out[at++] = *text++;
            continue;
        }
        int wrote = snprintf(out + at, size - at, "%" PRId64, s->dims[i]);
        at += (size_t)wrote < size - at ? (size_t)wrote : size - at - 1;
        text = end + 1;
    }
    out[at] = '\0';
}

/* (shape, k, text): the last k entries of the shape, if entry 0 is not 0; else the text is the error. */
static tnb_status
checked_shape(ARGS)
{
    static const char fn[] = "vm.builtin.checked_shape";
    int64_t k;
    (void)vm, (void)n;
    TNB_TRY(tnr_want(fn, args, 0, TNR_SHAPE, err));
    TNB_TRY(tnr_want_int(fn, args, 1, &k, err));
    TNB_TRY(tnr_want(fn, args, 2, TNR_STRING, err));
    const tnr_shape *s = args[0].u.shape;
    if (k < 0 || s->n < 1 || k >= s->n)
        return tnb_fail(err, TNB_INVALID, "%s: %" PRId64 " entries of %" PRId32, fn, k, s->n);
    if (!s->dims[0]) {
        char text[400];
        fill_in(args[2].u.string->s, s, text, sizeof text);
        return tnb_fail(err, TNB_SHAPE, "%s", text);
    }
    return tnr_shape_new(s->dims + (s->n - k), (uint32_t)k, ret, err);
}

/* A tensor of the same elements in storage of its own. */
static tnb_status
copy(ARGS)
{
    (void)n;
    if (args[0].tag != TNR_TENSOR) {
        *ret = args[0];
        tnr_retain(*ret);
        return TNB_OK;
    }
    const tnr_tensor *t = args[0].u.tensor;
    tnr_value v;
    struct tnr_queue *q = tnr_vm_queue(vm, t->storage->device);
    TNB_TRY(tnr_tensor_new_on(t->storage->device, q, t->dl.shape, (uint32_t)t->dl.ndim, t->dl.dtype,
                              &v, err));
    tnb_status st = tnr_tensor_copy(t, v.u.tensor, err);
    if (st != TNB_OK)
        tnr_release(&v);
    else
        *ret = v;
    return st;
}

static tnb_status
ensure_zero_offset(ARGS)
{
    TNB_TRY(tnr_want("vm.builtin.ensure_zero_offset", args, 0, TNR_TENSOR, err));
    if (args[0].u.tensor->dl.byte_offset != 0)
        return copy(vm, args, n, ret, err);
    *ret = args[0];
    tnr_retain(*ret);
    return TNB_OK;
}

/* An optional argument that is not given stands as null or as an empty tuple. */
static bool
given(const tnr_value *args, int n, int i)
{
    return i < n && args[i].tag != TNR_NULL &&
           !(args[i].tag == TNR_TUPLE && args[i].u.tuple->n == 0);
}

/* (x, shape, dtype, relative byte offset): the same memory under another description. */
static tnb_status
create_view(ARGS)
{
    static const char fn[] = "runtime.TVMTensorCreateView";
    int64_t offset = 0;
    (void)vm;
    TNB_TRY(tnr_want(fn, args, 0, TNR_TENSOR, err));
    const tnr_tensor *t = args[0].u.tensor;
    tnb_dtype dtype = t->dl.dtype;
    const int64_t *dims = t->dl.shape;
    int32_t ndim = t->dl.ndim;
    if (given(args, n, 1)) {
        TNB_TRY(tnr_want(fn, args, 1, TNR_SHAPE, err));
        dims = args[1].u.shape->dims;
        ndim = args[1].u.shape->n;
    }
    if (given(args, n, 2))
        TNB_TRY(dtype_arg(fn, args, 2, &dtype, err));
    if (given(args, n, 3))
        TNB_TRY(tnr_want_int(fn, args, 3, &offset, err));
    if (offset < 0 || !tnr_tensor_is_compact(t))
        return tnb_fail(err, TNB_INVALID, "%s: offset %" PRId64 " of a tensor", fn, offset);
    uint64_t start = t->dl.byte_offset - t->storage->offset;
    TNB_TRY(tnr_tensor_view(t->storage, start + (uint64_t)offset, dims, (uint32_t)ndim, dtype, ret,
                            err));
    if (ret->u.tensor->n_bytes > t->n_bytes ||
        (uint64_t)offset > t->n_bytes - ret->u.tensor->n_bytes)
        return tnb_fail(err, TNB_BOUNDS,
                        "%s: the view of %" PRIu64 " bytes does not fit the tensor of %" PRIu64, fn,
                        ret->u.tensor->n_bytes, t->n_bytes);
    return TNB_OK;
}

/* (x, DLPack device type, id, scope) */
static tnb_status
to_device(ARGS)
{
    static const char fn[] = "vm.builtin.to_device";
    int64_t type, id;
    (void)n;
    TNB_TRY(tnr_want(fn, args, 0, TNR_TENSOR, err));
    TNB_TRY(tnr_want_int(fn, args, 1, &type, err));
    TNB_TRY(tnr_want_int(fn, args, 2, &id, err));
    for (uint32_t i = 0; i < vm->p.head.n_devices; i++)
        if (vm->devices[i]->dl.type == type && vm->devices[i]->dl.id == id)
            return tnr_tensor_to_on(args[0].u.tensor, vm->devices[i], vm->queues[i], ret, err);
    if (type == TNB_CPU)
        return tnr_tensor_to(args[0].u.tensor, tnr_device_host(tnr_vm_runtime(vm)), ret, err);
    return tnb_fail(err, TNB_NOT_FOUND, "%s: the program has no device (%" PRId64 ", %" PRId64 ")",
                    fn, type, id);
}

/* ---- values ---- */

static tnb_status
null_value(ARGS)
{
    (void)vm, (void)args, (void)n, (void)err;
    *ret = tnr_null();
    return TNB_OK;
}

static tnb_status
read_if_cond(ARGS)
{
    bool truth;
    (void)vm, (void)n;
    TNB_TRY(tnr_value_truth(args[0], &truth, err));
    *ret = tnr_bool(truth);
    return TNB_OK;
}

/* (condition, text, values...): the text's "{}" stand for the values. */
static tnb_status
assert_op(ARGS)
{
    enum { MAX_VALUES = 16 };
    char described[MAX_VALUES][64], message[sizeof err->message];
    const char *values[MAX_VALUES];
    bool holds;
    (void)vm;
    TNB_TRY(tnr_value_truth(args[0], &holds, err));
    TNB_TRY(tnr_want("relax.run.assert_op", args, 1, TNR_STRING, err));
    *ret = tnr_null();
    if (holds)
        return TNB_OK;
    uint32_t count = n - 2 < MAX_VALUES ? (uint32_t)(n - 2) : MAX_VALUES;
    for (uint32_t i = 0; i < count; i++) {
        if (args[i + 2].tag == TNR_INT)
            snprintf(described[i], sizeof described[i], "%" PRId64, args[i + 2].u.i);
        else
            tnr_describe(args[i + 2], described[i], sizeof described[i]);
        values[i] = described[i];
    }
    tnb_fill_braces(message, sizeof message, args[1].u.string->s, values, count);
    return tnb_fail(err, TNB_INVALID, "%s", *message ? message : "an assertion does not hold");
}

static tnb_status
tuple_getitem(ARGS)
{
    static const char fn[] = "vm.builtin.tuple_getitem";
    int64_t i;
    (void)vm, (void)n;
    TNB_TRY(tnr_want(fn, args, 0, TNR_TUPLE, err));
    TNB_TRY(tnr_want_int(fn, args, 1, &i, err));
    if (i < 0 || i >= args[0].u.tuple->n)
        return tnb_fail(err, TNB_BOUNDS, "%s: item %" PRId64 " of a tuple of %" PRIu32, fn, i,
                        args[0].u.tuple->n);
    TNB_TRY(tnr_tuple_item(args[0].u.tuple, (uint32_t)i, ret, err));
    tnr_retain(*ret);
    return TNB_OK;
}

/* Forgets one item, so that its memory goes when nobody else holds it. */
static tnb_status
tuple_reset_item(ARGS)
{
    static const char fn[] = "vm.builtin.tuple_reset_item";
    int64_t i;
    (void)vm, (void)n, (void)ret;
    TNB_TRY(tnr_want(fn, args, 0, TNR_TUPLE, err));
    TNB_TRY(tnr_want_int(fn, args, 1, &i, err));
    if (i < 0 || i >= args[0].u.tuple->n)
        return tnb_fail(err, TNB_BOUNDS, "%s: item %" PRId64 " of a tuple of %" PRIu32, fn, i,
                        args[0].u.tuple->n);
    tnr_release(&args[0].u.tuple->items[i]);
    return TNB_OK;
}

static tnb_status
make_tuple(ARGS)
{
    (void)vm;
    return tnr_tuple_new(args, (uint32_t)n, ret, err);
}

/* ---- closures ---- */

/* (function, values to bind ...): they become the function's last parameters. */
static tnb_status
make_closure(ARGS)
{
    static const char fn[] = "vm.builtin.make_closure";
    TNB_TRY(tnr_want(fn, args, 0, TNR_CLOSURE, err));
    const tnr_closure *c = args[0].u.closure;
    if (c->n_bound)
        return tnb_fail(err, TNB_UNSUPPORTED, "%s: the function is a closure already", fn);
    return tnr_closure_new(vm, c->function, args + 1, (uint32_t)(n - 1), ret, err);
}

/* (closure, arguments ...), the arguments possibly as one tuple. */
static tnb_status
invoke_closure(ARGS)
{
    TNB_TRY(tnr_want("vm.builtin.invoke_closure", args, 0, TNR_CLOSURE, err));
    tnr_closure *c = args[0].u.closure;
    uint32_t want = vm->p.functions[c->function].n_params - c->n_bound;
    if (n == 2 && args[1].tag == TNR_TUPLE && (want != 1 || args[1].u.tuple->n == 1))
        return tnr_vm_call_closure(vm, c, args[1].u.tuple->items, args[1].u.tuple->n, ret, err);
    return tnr_vm_call_closure(vm, c, args + 1, (uint32_t)(n - 1), ret, err);
}

/* (closure, arguments ..., outputs): as invoke_closure; shapes of scalars are spread out. */
static tnb_status
call_tir_dyn(ARGS)
{
    static const char fn[] = "vm.builtin.call_tir_dyn";
    tnr_value all[TNB_TNO_MAX_DIMS * 4];
    uint32_t k = 0;
    TNB_TRY(tnr_want(fn, args, 0, TNR_CLOSURE, err));
    for (int i = 1; i < n; i++) {
        bool spread = args[i].tag == TNR_SHAPE && i == n - 1;
        uint32_t more = spread ? (uint32_t)args[i].u.shape->n : 1;
        if (k + more > sizeof all / sizeof *all)
            return tnb_fail(err, TNB_BOUNDS, "%s: too many arguments", fn);
        for (uint32_t d = 0; d < more; d++)
            all[k++] = spread ? tnr_int(args[i].u.shape->dims[d]) : args[i];
    }
    return tnr_vm_call_closure(vm, args[0].u.closure, all, k, ret, err);
}

#define BUILTIN(fn, least, most, more)                                                      \
    {                                                                                       \
        .base.size = sizeof(tnr_packed), .flags = TNR_PACKED_STREAM | (more),               \
        .base.name = "vm.builtin." #fn, .call = fn, .min_args = (least), .max_args = (most) \
    }
const tnr_packed tnr_builtins[] = {
    BUILTIN(alloc_shape_heap, 1, 1, TNR_PACKED_VM | TNR_PACKED_CAPTURABLE),
    BUILTIN(match_shape, 3, -1, TNR_PACKED_CAPTURABLE),
    BUILTIN(match_prim_value, 4, 5, TNR_PACKED_CAPTURABLE),
    BUILTIN(make_shape, 2, -1, TNR_PACKED_CAPTURABLE),
    BUILTIN(make_prim_value, 3, 3, TNR_PACKED_CAPTURABLE),
    BUILTIN(check_tensor_info, 4, 4, TNR_PACKED_CAPTURABLE),
    BUILTIN(check_shape_info, 3, 3, TNR_PACKED_CAPTURABLE),
    BUILTIN(check_prim_value_info, 3, 3, TNR_PACKED_CAPTURABLE),
    BUILTIN(check_tuple_info, 3, 3, TNR_PACKED_CAPTURABLE),
    BUILTIN(check_func_info, 2, 2, TNR_PACKED_CAPTURABLE),
    BUILTIN(reshape, 2, 2, TNR_PACKED_CAPTURABLE),
    BUILTIN(shape_of, 1, 1, TNR_PACKED_CAPTURABLE),
    BUILTIN(tensor_to_shape, 1, 1, TNR_PACKED_BLOCKING),
    BUILTIN(checked_shape, 3, 3, TNR_PACKED_CAPTURABLE),
    BUILTIN(copy, 1, 1, 0),
    BUILTIN(ensure_zero_offset, 1, 1, 0),
    BUILTIN(to_device, 3, 4, TNR_PACKED_VM),
    BUILTIN(null_value, 0, -1, TNR_PACKED_CAPTURABLE),
    BUILTIN(read_if_cond, 1, 1, TNR_PACKED_BLOCKING),
    BUILTIN(tuple_getitem, 2, 2, TNR_PACKED_CAPTURABLE),
    BUILTIN(tuple_reset_item, 2, 2, TNR_PACKED_CAPTURABLE),
    BUILTIN(make_tuple, 0, -1, TNR_PACKED_CAPTURABLE),
    BUILTIN(make_closure, 1, -1, TNR_PACKED_VM | TNR_PACKED_CAPTURABLE),
    BUILTIN(invoke_closure, 1, -1, TNR_PACKED_VM | TNR_PACKED_CAPTURABLE),
    BUILTIN(call_tir_dyn, 2, -1, TNR_PACKED_VM | TNR_PACKED_CAPTURABLE),
    {.base.size = sizeof(tnr_packed),
     .flags = TNR_PACKED_BLOCKING | TNR_PACKED_STREAM,
     .base.name = "relax.run.assert_op",
     .call = assert_op,
     .min_args = 2,
     .max_args = -1},
    {.base.size = sizeof(tnr_packed),
     .flags = TNR_PACKED_VM | TNR_PACKED_STREAM,
     .base.name = "vm.builtin.cuda_graph.get_cached_alloc",
     .call = tnr_graph_cached_alloc,
     .min_args = 2,
     .max_args = 2},
    {.base.size = sizeof(tnr_packed),
     .flags = TNR_PACKED_VM | TNR_PACKED_STREAM,
     .base.name = "vm.builtin.cuda_graph.run_or_capture",
     .call = tnr_graph_run,
     .min_args = 3,
     .max_args = 4},
    {.base.size = sizeof(tnr_packed),
     .flags = TNR_PACKED_STREAM | TNR_PACKED_CAPTURABLE,
     .base.name = "runtime.TVMTensorCreateView",
     .call = create_view,
     .min_args = 1,
     .max_args = 4},
};
const uint32_t tnr_n_builtins = sizeof tnr_builtins / sizeof *tnr_builtins;
