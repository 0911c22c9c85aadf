/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of VM code. The program was verified when the machine was made
 * (core/base/program.c): here only what depends on data is checked.
 *
 * Frames, value registers and scalar registers are three stacks that grow and are reused. A packed
 * function may call back into the machine, which may move the stacks: register pointers are read
 * again after every call.
 */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include "frame.h"
#include "tenon/base/scalar.h"

enum { MAX_FRAMES = 1 << 14, MAX_STACK = 1 << 24, MAX_DEPTH = 200, FEW_ARGS = 24 };

/* ---- frames ---- */

static tnb_status
grow_stacks(tnr_vm *vm, uint32_t values, uint32_t scalars, tnb_err *err)
{
    if (vm->n_frames >= MAX_FRAMES || values > MAX_STACK || scalars > MAX_STACK)
        return tnb_fail(err, TNB_BOUNDS, "calls nest too deep (%" PRIu32 " frames)", vm->n_frames);
    if (vm->n_frames == vm->cap_frames) {
        uint32_t cap = vm->cap_frames ? vm->cap_frames * 2 : 16;
        struct frame *f = realloc(vm->frames, cap * sizeof *f);
        if (!f)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for the stack");
        vm->frames = f;
        vm->cap_frames = cap;
    }
    if (values > vm->cap_values) {
        uint32_t cap = values < 256 ? 512 : values * 2;
        tnr_value *v = realloc(vm->values, cap * sizeof *v);
        if (!v)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for the stack");
        vm->values = v;
        vm->cap_values = cap;
    }
    if (scalars > vm->cap_scalars || !vm->scalars) {
        uint32_t cap = scalars < 256 ? 512 : scalars * 2;
        int64_t *s = realloc(vm->scalars, cap * sizeof *s);
        if (!s)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for the stack");
        vm->scalars = s;
        vm->cap_scalars = cap;
    }
    return TNB_OK;
}

/* A frame with null values and zero scalars on top of the stacks. */
static tnb_status
push_frame(tnr_vm *vm, uint32_t function, uint32_t dst, tnb_err *err)
{
    const tnb_tno_function *f = &vm->p.functions[function];
    TNB_TRY(grow_stacks(vm, vm->n_values + f->n_values, vm->n_scalars + f->n_scalars, err));
    vm->frames[vm->n_frames++] = (struct frame){.function = function,
                                                .values = vm->n_values,
                                                .scalars = vm->n_scalars,
                                                .dst = dst};
    memset(vm->values + vm->n_values, 0, f->n_values * sizeof *vm->values);
    if (f->n_scalars)
        memset(vm->scalars + vm->n_scalars, 0, f->n_scalars * sizeof *vm->scalars);
    vm->n_values += f->n_values;
    vm->n_scalars += f->n_scalars;
    return TNB_OK;
}

static void
pop_frame(tnr_vm *vm)
{
    const struct frame *f = &vm->frames[--vm->n_frames];
    while (vm->n_values > f->values)
        tnr_drop(&vm->values[--vm->n_values]);
    vm->n_scalars = f->scalars;
}

/* ---- operands ---- */

static double
as_double(int64_t bits)
{
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static int64_t
as_bits(double f)
{
    int64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

tnb_status
tnr_vm_scalar_or_constant(tnr_vm *vm, const struct frame *f, uint32_t o, tnr_value *out,
                          tnb_err *err)
{
    uint32_t i = TNB_VM_OPERAND_INDEX(o);
    switch (TNB_VM_OPERAND_KIND(o)) {
    case TNB_VM_INT:
        *out = tnr_int(vm->scalars[f->scalars + i]);
        return TNB_OK;
    case TNB_VM_FLOAT:
        *out = tnr_float(as_double(vm->scalars[f->scalars + i]));
        return TNB_OK;
    default:
        if (vm->constants[i].tag == TNR_NULL)
            return tnr_vm_constant(vm, i, out, err);
        *out = vm->constants[i];
        return TNB_OK;
    }
}

/* The message of an assertion, with the numbers that it names. */
static tnb_status
assertion_failed(const tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    enum { MAX_NUMBERS = 16 };
    char numbers[MAX_NUMBERS][24], text[sizeof err->message];
    const char *values[MAX_NUMBERS];
    const char *format = vm->p.text + in->b;
    uint32_t n = in->aux < MAX_NUMBERS ? in->aux : MAX_NUMBERS;
    if (!n)
        return tnb_fail(err, TNB_INVALID, "%s", format);
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = vm->scalars[vm->frames[vm->n_frames - 1].scalars +
                                TNB_VM_OPERAND_INDEX(vm->p.operands[in->c + i])];
        snprintf(numbers[i], sizeof numbers[i], "%" PRId64, v);
        values[i] = numbers[i];
    }
    tnb_fill_braces(text, sizeof text, format, values, n);
    return tnb_fail(err, TNB_INVALID, "%s", text);
}

/* Puts a value that the caller owns into a register of the top frame. */
static void
set(tnr_vm *vm, uint32_t reg, tnr_value v)
{
    tnr_value *to = &vm->values[top(vm)->values + reg];
    tnr_value old = *to;
    *to = v;
    tnr_drop(&old);
}

/* ---- constants ---- */

static void
release_artifact(void *a)
{
    tnr_artifact_close(a);
}

/* In the device's memory of another scope, written straight from the file. */
static tnb_status
scoped_constant(tnr_device *dev, struct tnr_queue *q, const char *scope, const void *at,
                const int64_t *dims, const tnb_tno_constant *c, tnr_value *out, tnb_err *err)
{
    tnr_value s, v;
    TNB_TRY(tnr_storage_new_on(dev, q, c->bytes, scope, &s, err));
    tnb_status st = tnr_tensor_view(s.u.storage, 0, dims, c->n_dims, c->dtype, &v, err);
    tnr_release(&s);
    TNB_TRY(st);
    st = tnr_tensor_write(v.u.tensor, at, c->bytes, err);
    if (st != TNB_OK) {
        tnb_err_prefix(err, "a constant of scope '%s'", scope ? scope : "global");
        tnr_release(&v);
        return st;
    }
    *out = v;
    return TNB_OK;
}

static tnb_status
tensor_constant(tnr_vm *vm, const tnb_tno_constant *c, tnr_value *out, tnb_err *err)
{
    tnr_device *dev = c->device ? vm->devices[c->device] : vm->device;
    tnr_artifact *a = vm->artifact;
    void *at = a->map + ((const uint8_t *)a->constants.at - a->map) + c->data;
    const int64_t *dims = vm->p.dims + c->first_dim;
    if (!tnr_device_is_host(dev) && c->device)
        return scoped_constant(dev, vm->queues[c->device],
                               vm->p.text + vm->p.devices[c->device].scope, at, dims, c, out, err);
    if (!tnr_device_is_host(dev))
        return scoped_constant(dev, vm->queues[0], NULL, at, dims, c, out, err);
    tnr_value s;
    TNB_TRY(
        tnr_storage_wrap(dev, at, c->bytes, TNR_STORAGE_READ_ONLY, a, release_artifact, &s, err));
    tnr_object_retain(&a->object);
    tnb_status st = tnr_tensor_view(s.u.storage, 0, dims, c->n_dims, c->dtype, out, err);
    tnr_release(&s);
    return st;
}

tnb_status
tnr_vm_constant(tnr_vm *vm, uint32_t index, tnr_value *out, tnb_err *err)
{
    const tnb_tno_constant *c = &vm->p.constants[index];
    tnr_value v = tnr_null();
    switch (c->kind) {
    case TNB_TNO_TENSOR:
        TNB_TRY(tensor_constant(vm, c, &v, err));
        break;
    case TNB_TNO_STRING:
        TNB_TRY(tnr_string_new(vm->p.text + c->data, strlen(vm->p.text + c->data), &v, err));
        break;
    case TNB_TNO_DTYPE:
        v = (tnr_value){.tag = TNR_DTYPE, .u.dtype = c->dtype};
        break;
    case TNB_TNO_SHAPE:
        TNB_TRY(tnr_shape_new(vm->p.dims + c->first_dim, c->n_dims, &v, err));
        break;
    case TNB_TNO_INT:
        v = tnr_int((int64_t)c->data);
        break;
    case TNB_TNO_FLOAT:
        v = tnr_float(as_double((int64_t)c->data));
        break;
    case TNB_TNO_BOOL:
        v = tnr_bool(c->data != 0);
        break;
    case TNB_TNO_FUNCTION:
        TNB_TRY(tnr_closure_new(vm, (uint32_t)c->data, NULL, 0, &v, err));
        break;
    default:
        break;
    }
    if (v.tag == TNR_TENSOR) /* also where it is a copy on a device */
        v.u.tensor->storage->flags |= TNR_STORAGE_READ_ONLY;
    *out = vm->constants[index] = v;
    return TNB_OK;
}

/* ---- scalar operations that can fail or take more than a line ---- */

static tnb_status
does_not_fit(const tnb_vm_insn *in, const int64_t *s, tnb_err *err)
{
    if (in->op == TNB_VM_FIT)
        return tnb_fail(err, TNB_SHAPE, "%" PRId64 " does not fit an integer of %u bits", s[in->b],
                        (unsigned)in->aux);
    char sign = in->op == TNB_VM_ADDFIT ? '+' : in->op == TNB_VM_SUBFIT ? '-' : '*';
    return tnb_fail(err, TNB_SHAPE, "%" PRId64 " %c %" PRId64 " does not fit an integer of 64 bits",
                    s[in->b], sign, s[in->c]);
}

/* One of the four signed divisions; b is not 0. */
static int64_t
divide(uint16_t op, int64_t a, int64_t b)
{
    switch (op) {
    case TNB_VM_DIV:
        return tnb_div_i64(a, b);
    case TNB_VM_MOD:
        return tnb_mod_i64(a, b);
    case TNB_VM_FLOORDIV:
        return tnb_floor_div_i64(a, b);
    default:
        return tnb_floor_mod_i64(a, b);
    }
}

static int64_t
extend(int64_t v, uint16_t aux)
{
    unsigned shift = 64 - (aux & 255u);
    uint64_t u = (uint64_t)v << shift;
    return aux & 256 ? (int64_t)u >> shift : (int64_t)(u >> shift);
}

/* ---- values ---- */

tnb_status
tnr_vm_wrong(tnr_value v, const char *want, tnb_err *err)
{
    char text[160];
    tnr_describe(v, text, sizeof text);
    return tnb_fail(err, TNB_TYPE, "found %s where %s is needed", text, want);
}

static tnb_status
extent(tnr_value v, uint32_t dim, int64_t *out, tnb_err *err)
{
    if (v.tag == TNR_TENSOR && dim < (uint32_t)v.u.tensor->dl.ndim)
        *out = v.u.tensor->dl.shape[dim];
    else if (v.tag == TNR_SHAPE && dim < (uint32_t)v.u.shape->n)
        *out = v.u.shape->dims[dim];
    else if (v.tag == TNR_TENSOR || v.tag == TNR_SHAPE)
        return tnb_fail(err, TNB_SHAPE, "extent %" PRIu32 " of a value of fewer dimensions", dim);
    else
        return tnr_vm_wrong(v, "a tensor or a shape", err);
    return TNB_OK;
}

static tnb_status
stride(tnr_value v, uint32_t dim, int64_t *out, tnb_err *err)
{
    if (v.tag != TNR_TENSOR)
        return tnr_vm_wrong(v, "a tensor", err);
    const tnb_dltensor *t = &v.u.tensor->dl;
    if (dim >= (uint32_t)t->ndim)
        return tnb_fail(err, TNB_SHAPE, "stride %" PRIu32 " of a tensor of %" PRId32 " dimensions",
                        dim, t->ndim);
    uint64_t n = 1; /* wraps for empty tensors of huge extents, where no element is addressed */
    for (int32_t i = t->ndim - 1; i > (int32_t)dim; i--)
        n *= (uint64_t)t->shape[i];
    *out = t->strides ? t->strides[dim] : (int64_t)n;
    return TNB_OK;
}

/* The address and dtype of element `index` of a host tensor of the dtype that the instruction
 * states. */
static tnb_status
element(tnr_value v, int64_t index, uint16_t aux, void **base, tnb_dtype *d, tnb_err *err)
{
    if (v.tag != TNR_TENSOR)
        return tnr_vm_wrong(v, "a tensor", err);
    const tnr_tensor *t = v.u.tensor;
    *d = t->dl.dtype;
    *base = tnr_tensor_data(t);
    if (!*base || t->dl.strides)
        return tnb_fail(err, TNB_DEVICE,
                        "the host reads or writes a tensor that is not in its memory");
    if (TNB_VM_DTYPE(*d) != aux || d->lanes != 1)
        return tnb_fail(err, TNB_TYPE, "a host access to a tensor of %s with another type",
                        tnb_dtype_print(*d).s);
    if (index < 0 || (uint64_t)index >= t->n_elems)
        return tnb_fail(err, TNB_BOUNDS, "element %" PRId64 " of a tensor of %" PRIu64 " elements",
                        index, t->n_elems);
    return TNB_OK;
}

static tnb_status
load(const tnr_vm *vm, const tnb_vm_insn *in, int64_t *s, tnb_err *err)
{
    void *base;
    tnb_dtype d;
    double f = 0;
    bool done;
    TNB_TRY(element(vm->values[top(vm)->values + in->b], s[in->c], in->aux, &base, &d, err));
    if (in->op == TNB_VM_LOADI) {
        done = tnb_load_i64(base, d, (uint64_t)s[in->c], &s[in->a]);
    } else {
        done = tnb_load_f64(base, d, (uint64_t)s[in->c], &f);
        s[in->a] = as_bits(f);
    }
    return done ? TNB_OK
                : tnb_fail(err, TNB_UNSUPPORTED, "the host cannot read elements of %s",
                           tnb_dtype_print(d).s);
}

static tnb_status
store(const tnr_vm *vm, const tnb_vm_insn *in, const int64_t *s, tnb_err *err)
{
    void *base;
    tnb_dtype d;
    tnr_value v = vm->values[top(vm)->values + in->b];
    TNB_TRY(element(v, s[in->c], in->aux, &base, &d, err));
    if (v.u.tensor->storage->flags & TNR_STORAGE_READ_ONLY)
        return tnb_fail(err, TNB_INVALID, "the host writes a constant");
    bool done = in->op == TNB_VM_STOREI
                    ? tnb_store_i64(base, d, (uint64_t)s[in->c], s[in->a])
                    : tnb_store_f64(base, d, (uint64_t)s[in->c], as_double(s[in->a]));
    return done ? TNB_OK
                : tnb_fail(err, TNB_UNSUPPORTED, "the host cannot write elements of %s",
                           tnb_dtype_print(d).s);
}

static tnb_status
make_shape(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    int64_t dims[TNB_TNO_MAX_DIMS];
    for (uint32_t i = 0; i < in->aux; i++)
        dims[i] = int_operand(vm, top(vm), operands(vm, in)[i]);
    tnr_value v;
    TNB_TRY(tnr_shape_new(dims, in->aux, &v, err));
    set(vm, in->a, v);
    return TNB_OK;
}

static tnb_status
make_tuple(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    tnr_value v, item;
    TNB_TRY(tnr_tuple_new(NULL, in->aux, &v, err));
    for (uint32_t i = 0; i < in->aux; i++) {
        tnb_status st = operand(vm, top(vm), operands(vm, in)[i], &item, err);
        if (st != TNB_OK) {
            tnr_release(&v);
            return st;
        }
        tnr_retain(item);
        v.u.tuple->items[i] = item;
    }
    set(vm, in->a, v);
    return TNB_OK;
}

static tnb_status
get_item(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    tnr_value t = vm->values[top(vm)->values + in->b];
    if (t.tag != TNR_TUPLE)
        return tnr_vm_wrong(t, "a tuple", err);
    tnr_value v;
    TNB_TRY(tnr_tuple_item(t.u.tuple, in->c, &v, err));
    tnr_retain(v);
    set(vm, in->a, v);
    return TNB_OK;
}

static tnb_status
alloc_storage(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    int64_t bytes = vm->scalars[top(vm)->scalars + in->b];
    tnr_value v;
    if (bytes < 0) /* the least integer: what a program makes of a size that overflows */
        return bytes == INT64_MIN
                   ? tnb_fail(err, TNB_BOUNDS,
                              "the bytes that a storage takes do not fit an integer of 64 bits: "
                              "the inputs' extents are too large")
                   : tnb_fail(err, TNB_BOUNDS,
                              "a storage cannot have %" PRId64 " bytes: an extent is negative, or "
                              "the inputs' extents are too large",
                              bytes);
    /* What the register held goes first, so that a loop reuses its memory. */
    tnr_drop(&vm->values[top(vm)->values + in->a]);
    TNB_TRY(tnr_storage_new_on(vm->devices[in->c], vm->queues[in->c], (uint64_t)bytes,
                               vm->p.text + vm->p.devices[in->c].scope, &v, err));
    set(vm, in->a, v);
    return TNB_OK;
}

static tnb_status
alloc_tensor(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    const struct frame *f = top(vm);
    const uint32_t *list = operands(vm, in);
    int64_t own[TNB_TNO_MAX_DIMS], offset = int_operand(vm, f, list[1]);
    const int64_t *dims = own;
    uint32_t n = in->aux - 2u;
    tnr_value storage, shape, v;
    TNB_TRY(operand(vm, f, list[0], &storage, err));
    if (storage.tag != TNR_STORAGE)
        return tnr_vm_wrong(storage, "a storage", err);
    if (offset < 0)
        return tnb_fail(err, TNB_BOUNDS, "a tensor at offset %" PRId64, offset);
    if (n == 1 && TNB_VM_OPERAND_KIND(list[2]) != TNB_VM_INT) {
        TNB_TRY(operand(vm, f, list[2], &shape, err));
        if (shape.tag != TNR_SHAPE)
            return tnr_vm_wrong(shape, "a shape", err);
        dims = shape.u.shape->dims;
        n = (uint32_t)shape.u.shape->n;
    } else {
        for (uint32_t i = 0; i < n; i++)
            own[i] = int_operand(vm, f, list[i + 2]);
    }
    TNB_TRY(tnr_tensor_view(storage.u.storage, (uint64_t)offset, dims, n, tnb_vm_to_dtype(in->b),
                            &v, err));
    set(vm, in->a, v);
    return TNB_OK;
}

static tnb_status
host_tensor(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    int64_t dims[TNB_TNO_MAX_DIMS];
    for (uint32_t i = 0; i < in->aux; i++)
        dims[i] = int_operand(vm, top(vm), operands(vm, in)[i]);
    tnr_value v;
    TNB_TRY(
        tnr_tensor_new(tnr_device_host(vm->rt), dims, in->aux, tnb_vm_to_dtype(in->b), &v, err));
    if (v.u.tensor->n_bytes)
        memset(tnr_tensor_data(v.u.tensor), 0, v.u.tensor->n_bytes);
    set(vm, in->a, v);
    return TNB_OK;
}

/* ---- calls ---- */

/* Fills the first values of the frame just pushed from the operands of the instruction in the
 * caller's frame. */
static tnb_status
pass_arguments(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    const struct frame *callee = top(vm), *caller = callee - 1;
    for (uint32_t i = 0; i < in->aux; i++) {
        tnr_value v;
        TNB_TRY(operand(vm, caller, operands(vm, in)[i], &v, err));
        tnr_retain(v);
        vm->values[callee->values + i] = v;
    }
    return TNB_OK;
}

/* New arguments in place of the old ones, everything else null: the function begins again. */
static tnb_status
tail_call(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    const struct frame *f = top(vm);
    const tnb_tno_function *fn = &vm->p.functions[f->function];
    tnr_value few[FEW_ARGS], *args = in->aux <= FEW_ARGS ? few : malloc(in->aux * sizeof *args);
    if (!args)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the arguments of a call");
    tnb_status st = TNB_OK;
    uint32_t n = 0;
    for (; n < in->aux && st == TNB_OK; n++) {
        st = operand(vm, f, operands(vm, in)[n], &args[n], err);
        if (st == TNB_OK)
            tnr_retain(args[n]);
    }
    if (st == TNB_OK) {
        for (uint32_t i = 0; i < fn->n_values; i++)
            tnr_drop(&vm->values[f->values + i]);
        for (uint32_t i = 0; i < n; i++)
            vm->values[f->values + i] = args[i];
        if (fn->n_scalars)
            memset(vm->scalars + f->scalars, 0, fn->n_scalars * sizeof *vm->scalars);
    } else {
        for (uint32_t i = 0; i + 1 < n; i++)
            tnr_drop(&args[i]);
    }
    if (args != few)
        free(args);
    return st;
}

static tnb_status
gather(tnr_vm *vm, const tnb_vm_insn *in, tnr_value *args, tnb_err *err)
{
    for (uint32_t i = 0; i < in->aux; i++)
        TNB_TRY(operand(vm, top(vm), operands(vm, in)[i], &args[i], err));
    return TNB_OK;
}

/* Work on the devices' own streams between two pieces of the machine's: `begin` before it, then behind it. */
static tnb_status
join_own_streams(tnr_vm *vm, bool begin, tnb_err *err)
{
    for (uint32_t i = 0; i < vm->p.head.n_devices; i++) {
        struct tnr_queue *q = vm->queues[i];
        bool shared = false;
        for (uint32_t j = 0; j < i; j++)
            shared |= vm->queues[j] == q;
        if (q && !shared)
            TNB_TRY(begin ? tnr_queue_wait(vm->devices[i], NULL, q, err)
                          : tnr_queue_wait(vm->devices[i], q, NULL, err));
    }
    return TNB_OK;
}

/* What is called: a packed function may say of itself how it works, others may do anything. */
static tnb_status
may_be_captured(const tnr_vm *vm, const tnr_packed *p, const char *name, tnb_err *err)
{
    char what[160];
    if (!vm->capturing ||
        (p && p->flags & TNR_PACKED_CAPTURABLE && !(p->flags & TNR_PACKED_BLOCKING)))
        return TNB_OK;
    snprintf(what, sizeof what,
             "'%s' is called, which may wait for the device or ask for its memory,", name);
    return tnr_capture_forbids(what, err);
}

static __attribute__((noinline)) tnb_status
wrong_number(const tnr_packed *p, uint32_t n, tnb_err *err)
{
    char most[16] = "more";
    if (p->max_args >= 0)
        snprintf(most, sizeof most, "%d", p->max_args);
    (void)tnb_fail(err, TNB_INVALID,
                   p->min_args == p->max_args
                       ? "packed function '%s' was called with %u arguments; it takes %d"
                       : "packed function '%s' was called with %u arguments; it takes %d to %s",
                   p->base.name, n, p->min_args, most);
    tnb_hint(err,
             "correct the call in the module, or min_args and max_args of the function's entry");
    return TNB_INVALID;
}

static tnb_status
invoke(tnr_vm *vm, const tnb_vm_insn *in, tnr_value *args, tnr_value *ret, tnb_err *err)
{
    if (in->op == TNB_VM_CALLV) {
        tnr_value c = vm->values[top(vm)->values + in->b];
        return c.tag == TNR_CLOSURE ? tnr_vm_call_closure(vm, c.u.closure, args, in->aux, ret, err)
                                    : tnr_vm_wrong(c, "a closure", err);
    }
    const tnr_packed *p = vm->packed[in->b];
    const struct external *x = &vm->externals[in->b];
    if (!p) {
        tnb_status st = TNB_CALL(err, x->loader->call(x->module, args, in->aux, err), "loader",
                                 x->loader->base.name, "call");
        if (st != TNB_OK)
            tnb_err_prefix(err, "'%s', which %s runs", vm->p.text + vm->p.packed[in->b],
                           x->loader->base.name);
        return st;
    }
    if (in->aux < p->min_args || (p->max_args >= 0 && in->aux > p->max_args))
        return wrong_number(p, in->aux, err);
    tnb_status st = TNR_HOT_CALL(vm, err, p->call(vm, args, in->aux, ret, err), "packed function",
                                 p->base.name);
    return __builtin_expect(st == TNB_OK, 1)
               ? TNB_OK
               : tnb_err_reason(err, st, "packed function", p->base.name, NULL);
}

/* On a device with streams, whose order the arguments are in before the call and after it, in which they may have gone elsewhere. */
static tnb_status
invoke_in_order(tnr_vm *vm, const tnb_vm_insn *in, tnr_value *args, tnr_value *ret, tnb_err *err)
{
    const tnr_packed *p = vm->packed[in->b];
    bool apart = !p || !(p->flags & TNR_PACKED_STREAM);
    TNB_TRY(may_be_captured(vm, p, vm->p.text + vm->p.packed[in->b], err));
    for (uint32_t i = 0; i < in->aux; i++)
        TNB_TRY(tnr_vm_order(vm, args[i], 0, err));
    if (apart)
        TNB_TRY(join_own_streams(vm, true, err));
    TNB_TRY(invoke(vm, in, args, ret, err));
    if (apart)
        TNB_TRY(join_own_streams(vm, false, err));
    for (uint32_t i = 0; i < in->aux; i++)
        TNB_TRY(tnr_vm_order(vm, args[i], 0, err));
    return TNB_OK;
}

/* Packed functions and closures: they may call back into the machine. Values stay in the caller's
 * registers meanwhile. */
static tnb_status
call_out(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    tnr_value few[FEW_ARGS], *args = in->aux <= FEW_ARGS ? few : malloc(in->aux * sizeof *args);
    tnr_value ret = tnr_null();
    if (!args)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the arguments of a call");
    tnb_status st = gather(vm, in, args, err);
    if (st == TNB_OK)
        st = vm->has_queues && in->op == TNB_VM_CALLP ? invoke_in_order(vm, in, args, &ret, err)
                                                      : invoke(vm, in, args, &ret, err);
    if (args != few)
        free(args);
    if (st == TNB_OK)
        set(vm, in->a, ret);
    else
        tnr_release(&ret);
    return st;
}

/* ---- the loop ---- */

static tnb_status
cancelled(tnr_vm *vm, tnb_err *err)
{
    if (atomic_load_explicit(&vm->cancel, memory_order_relaxed))
        return tnb_fail(err, TNB_CANCELLED, "stopped on request");
    return TNB_OK;
}

static tnb_status
boxed(tnr_vm *vm, const tnb_vm_insn *in, int64_t *s, tnb_err *err)
{
    tnr_value v = vm->values[top(vm)->values + in->b];
    double f = 0;
    bool b = false;
    tnb_status st;
    switch (in->op) {
    case TNB_VM_UNBOXI:
        return tnr_value_int(v, &s[in->a], err);
    case TNB_VM_UNBOXF:
        st = tnr_value_float(v, &f, err);
        s[in->a] = as_bits(f);
        return st;
    default:
        st = tnr_value_truth(v, &b, err);
        s[in->a] = b;
        return st;
    }
}

/* Runs the top frame until the number of frames falls to `base`; the result is the caller's. */
static tnb_status
run(tnr_vm *vm, uint32_t base, tnr_value *ret, tnb_err *err)
{
    static const void *const labels[] = {/* ORDER VM_OP */
#define X(name, a, b, c) &&op_##name,
                                         TNB_VM_OPS(X)
#undef X
    };
    const tnb_vm_insn *code, *in;
    int64_t *s;
    tnr_value v;
    tnb_status st;
#define FRAME()                                                         \
    do {                                                                \
        const struct frame *fr_ = top(vm);                              \
        code = vm->p.insns + vm->p.functions[fr_->function].first_insn; \
        s = vm->scalars + fr_->scalars;                                 \
        in = code + fr_->pc;                                            \
    } while (0)
#define SAVE() (vm->frames[vm->n_frames - 1].pc = (uint32_t)(in - code))
#define GO() goto *labels[in->op]
#define NEXT() \
    do {       \
        in++;  \
        GO();  \
    } while (0)
#define MUST(expr)                             \
    do {                                       \
        st = (expr);                           \
        if (__builtin_expect(st != TNB_OK, 0)) \
            goto fail;                         \
    } while (0)
#define JUMP(target)                              \
    do {                                          \
        const tnb_vm_insn *to_ = code + (target); \
        if (to_ <= in)                            \
            MUST(cancelled(vm, err));             \
        in = to_;                                 \
        GO();                                     \
    } while (0)
#define INT(name, expr)                                          \
    op_##name:                                                   \
    {                                                            \
        uint64_t a = (uint64_t)s[in->b], b = (uint64_t)s[in->c]; \
        int64_t ia = (int64_t)a, ib = (int64_t)b;                \
        (void)ia, (void)ib, (void)a, (void)b;                    \
        s[in->a] = (int64_t)(expr);                              \
        NEXT();                                                  \
    }
#define FITTING(name, compute)                                    \
    op_##name:                                                    \
    {                                                             \
        int64_t r;                                                \
        if (__builtin_expect(compute(s[in->b], s[in->c], &r), 0)) \
            goto overflow;                                        \
        s[in->a] = r;                                             \
        NEXT();                                                   \
    }
#define FLOAT(name, expr)                                        \
    op_##name:                                                   \
    {                                                            \
        double a = as_double(s[in->b]), b = as_double(s[in->c]); \
        s[in->a] = as_bits(expr);                                \
        NEXT();                                                  \
    }
#define FCMP(name, expr)                                         \
    op_##name:                                                   \
    {                                                            \
        double a = as_double(s[in->b]), b = as_double(s[in->c]); \
        s[in->a] = (expr);                                       \
        NEXT();                                                  \
    }
    FRAME();
    GO();
op_NOP:
    NEXT();
op_LDI:
    s[in->a] = (int64_t)((uint64_t)in->c << 32 | in->b);
    NEXT();
op_MOVS:
    s[in->a] = s[in->b];
    NEXT();
    INT(ADD, a + b)
    INT(SUB, a - b)
    INT(MUL, a * b)
    INT(MIN, ia < ib ? ia : ib)
    INT(MAX, ia > ib ? ia : ib)
    INT(MINU, a < b ? a : b)
    INT(MAXU, a > b ? a : b)
    INT(AND, a & b)
    INT(OR, a | b)
    INT(XOR, a ^ b)
    INT(SHL, a << (b & 63))
    INT(SHR, ia >> (b & 63))
    INT(SHRU, a >> (b & 63))
    INT(EQ, a == b)
    INT(NE, a != b)
    INT(LT, ia < ib)
    INT(LE, ia <= ib)
    INT(LTU, a < b)
    INT(LEU, a <= b)
op_DIV:
op_MOD:
op_FLOORDIV:
op_FLOORMOD:
    if (s[in->c] == 0)
        goto division;
    s[in->a] = divide(in->op, s[in->b], s[in->c]);
    NEXT();
op_DIVU:
op_MODU:
    if (s[in->c] == 0)
        goto division;
    s[in->a] = (int64_t)(in->op == TNB_VM_DIVU ? (uint64_t)s[in->b] / (uint64_t)s[in->c]
                                               : (uint64_t)s[in->b] % (uint64_t)s[in->c]);
    NEXT();
op_NOT:
    s[in->a] = s[in->b] == 0;
    NEXT();
op_EXT:
    s[in->a] = extend(s[in->b], in->aux);
    NEXT();
    FLOAT(FADD, a + b)
    FLOAT(FSUB, a - b)
    FLOAT(FMUL, a * b)
    FLOAT(FDIV, a / b)
    FLOAT(FMIN, a < b || isnan(a) ? a : b)
    FLOAT(FMAX, a > b || isnan(a) ? a : b)
    FCMP(FEQ, a == b)
    FCMP(FNE, a != b)
    FCMP(FLT, a < b)
    FCMP(FLE, a <= b)
op_FROUND:
    s[in->a] = as_bits(tnb_round_f64(tnb_vm_to_dtype(in->aux), as_double(s[in->b])));
    NEXT();
op_I2F:
    s[in->a] = as_bits((double)s[in->b]);
    NEXT();
op_U2F:
    s[in->a] = as_bits((double)(uint64_t)s[in->b]);
    NEXT();
op_F2I:
    s[in->a] = tnb_f64_to_i64(as_double(s[in->b]));
    NEXT();
op_F2U:
    s[in->a] = (int64_t)tnb_f64_to_u64(fmax(as_double(s[in->b]), 0));
    NEXT();
op_FMATH1:
    s[in->a] = as_bits(tnb_math1(in->aux, as_double(s[in->b])));
    NEXT();
op_FMATH2:
    s[in->a] = as_bits(tnb_math2(in->aux, as_double(s[in->b]), as_double(s[in->c])));
    NEXT();
op_SEL:
    s[in->a] = s[in->a] ? s[in->b] : s[in->c];
    NEXT();
op_JMP:
    JUMP(in->a);
op_JZ:
    if (s[in->a] == 0)
        JUMP(in->b);
    NEXT();
op_JNZ:
    if (s[in->a] != 0)
        JUMP(in->b);
    NEXT();
op_JLT:
    if (s[in->a] < s[in->b])
        JUMP(in->c);
    NEXT();
op_JGE:
    if (s[in->a] >= s[in->b])
        JUMP(in->c);
    NEXT();
op_ASSERT:
    if (s[in->a] == 0) {
        st = assertion_failed(vm, in, err);
        if (in->aux) /* says where it belongs to */
            goto unwind;
        goto fail;
    }
    NEXT();
op_TAIL:
    MUST(cancelled(vm, err));
    MUST(tail_call(vm, in, err));
    in = code;
    GO();
op_RET : {
    uint32_t dst = top(vm)->dst;
    tnr_value *reg = &vm->values[top(vm)->values + in->a];
    v = *reg;
    *reg = tnr_null();
    pop_frame(vm);
    if (vm->n_frames == base) {
        *ret = v;
        return TNB_OK;
    }
    set(vm, dst, v);
    FRAME();
    NEXT();
}
op_KILL:
    tnr_drop(&vm->values[top(vm)->values + in->a]);
    NEXT();
op_MOVV:
    v = vm->values[top(vm)->values + in->b];
    tnr_retain(v);
    set(vm, in->a, v);
    NEXT();
op_CONST:
    MUST(operand(vm, top(vm), TNB_VM_OPERAND(TNB_VM_CONST_, in->b), &v, err));
    tnr_retain(v);
    set(vm, in->a, v);
    NEXT();
op_BOXI:
    set(vm, in->a, tnr_int(s[in->b]));
    NEXT();
op_BOXF:
    set(vm, in->a, tnr_float(as_double(s[in->b])));
    NEXT();
op_BOXB:
    set(vm, in->a, tnr_bool(s[in->b] != 0));
    NEXT();
op_UNBOXI:
op_UNBOXF:
op_TRUTH:
    MUST(boxed(vm, in, s, err));
    NEXT();
op_SHAPE:
    MUST(make_shape(vm, in, err));
    NEXT();
op_DIM:
    MUST(extent(vm->values[top(vm)->values + in->b], in->c, &s[in->a], err));
    NEXT();
op_STRIDE:
    MUST(stride(vm->values[top(vm)->values + in->b], in->c, &s[in->a], err));
    NEXT();
op_TUPLE:
    MUST(make_tuple(vm, in, err));
    NEXT();
op_GET:
    MUST(get_item(vm, in, err));
    NEXT();
op_LOADI:
op_LOADF:
    MUST(load(vm, in, s, err));
    NEXT();
op_STOREI:
op_STOREF:
    MUST(store(vm, in, s, err));
    NEXT();
op_ALLOCS:
    MUST(alloc_storage(vm, in, err));
    NEXT();
op_ALLOCT:
    MUST(alloc_tensor(vm, in, err));
    NEXT();
op_HOSTT:
    MUST(host_tensor(vm, in, err));
    NEXT();
op_CALL:
    MUST(cancelled(vm, err));
    SAVE();
    MUST(push_frame(vm, in->b, in->a, err));
    st = pass_arguments(vm, in, err);
    if (st != TNB_OK) {
        pop_frame(vm);
        goto fail;
    }
    FRAME();
    GO();
op_CALLV:
op_CALLP:
    MUST(cancelled(vm, err));
    SAVE();
    MUST(call_out(vm, in, err));
    FRAME();
    NEXT();
op_LAUNCH:
    MUST(cancelled(vm, err));
    MUST(tnr_vm_launch(vm, in, err));
    NEXT();
    FITTING(ADDFIT, __builtin_add_overflow)
    FITTING(SUBFIT, __builtin_sub_overflow)
    FITTING(MULFIT, __builtin_mul_overflow)
op_FIT:
    if (extend(s[in->b], in->aux | 256) != s[in->b])
        goto overflow;
    s[in->a] = s[in->b];
    NEXT();
overflow:
    if ((in->op == TNB_VM_FIT ? in->c : in->aux) != 0) {
        in += in->op == TNB_VM_FIT ? in->c : in->aux;
        GO();
    }
    st = does_not_fit(in, s, err);
    goto fail;
division:
    st = tnb_fail(err, TNB_INVALID, "integer division by zero");
fail:
    SAVE();
    tnb_err_prefix(err, "function '%s', instruction %" PRIu32,
                   vm->p.text + vm->p.functions[top(vm)->function].name, top(vm)->pc);
unwind:
    while (vm->n_frames > base)
        pop_frame(vm);
    return st;
}

tnb_status
tnr_vm_call_closure(tnr_vm *vm, tnr_closure *c, const tnr_value *args, uint32_t n, tnr_value *ret,
                    tnb_err *err)
{
    NEED(vm, err);
    NEED(c, err);
    NEED_N(args, n, err);
    NEED(ret, err);
    if (c->vm != vm)
        return tnb_fail(err, TNB_INVALID, "the closure belongs to another machine");
    const tnb_tno_function *f = &vm->p.functions[c->function];
    if (n > f->n_params || n + c->n_bound != f->n_params)
        return tnb_fail(err, TNB_INVALID,
                        "function '%s' takes %" PRIu32 " arguments, %" PRIu32 " were given",
                        vm->p.text + f->name,
                        f->n_params - (c->n_bound < f->n_params ? c->n_bound : f->n_params), n);
    tnb_status st = vm->depth == 0 ? cancelled(vm, err) : TNB_OK;
    if (st != TNB_OK) {
        tnr_vm_cancel_clear(vm);
        return st;
    }
    if (vm->depth >= MAX_DEPTH)
        return tnb_fail(err, TNB_BOUNDS,
                        "calls between packed functions and the machine nest too deep");
    uint32_t base = vm->n_frames;
    TNB_TRY(push_frame(vm, c->function, 0, err));
    tnr_value *to = vm->values + top(vm)->values;
    for (uint32_t i = 0; i < f->n_params; i++) {
        to[i] = i < n ? args[i] : c->bound[i - n];
        tnr_retain(to[i]);
    }
    vm->depth++;
    st = run(vm, base, ret, err);
    vm->depth--;
    if (vm->depth)
        return st;
    if (st == TNB_CANCELLED) /* the request did what it was for */
        tnr_vm_cancel_clear(vm);
    tnb_status checked = tnr_refusal_end(vm, st, err);
    if (checked != TNB_OK && st == TNB_OK)
        tnr_release(ret);
    return checked;
}
