/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The null backend, device half: memory of the host, kernels on the stack machine of code.h.
 *
 * A module is checked when it is loaded (every argument, every jump, the depth of the stack at
 * every instruction), so that a launch checks only element indices and divisions.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "code.h"
#include "tenon/rt/plugin.h"

/* ---- device and memory ---- */

static tnb_status
null_count(void *self, int *n, tnb_err *err)
{
    (void)self, (void)err;
    *n = 1;
    return TNB_OK;
}

static tnb_status
null_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    static int the_device;
    (void)self, (void)id, (void)opt, (void)err;
    *dev = &the_device;
    return TNB_OK;
}

static void
null_close(void *dev)
{
    (void)dev;
}

static void
null_describe(void *dev, char *out, size_t n)
{
    (void)dev;
    snprintf(out, n, "a stack machine in this process");
}

static tnb_status
null_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err)
{
    (void)dev;
    return n ? tnb_fail(err, TNB_UNSUPPORTED,
                        "the code needs '%s'; the null device has no features", features[0])
             : TNB_OK;
}

static tnb_status
null_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    (void)dev, (void)scope;
    if (bytes > PTRDIFF_MAX || posix_memalign(mem, 64, bytes ? bytes : 1) != 0)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
    return TNB_OK;
}

static void
null_free(void *dev, void *mem)
{
    (void)dev;
    free(mem);
}

static tnb_status
null_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    if (c->bytes)
        memmove((char *)c->dst + c->dst_offset, (const char *)c->src + c->src_offset, c->bytes);
    return TNB_OK;
}

static tnb_status
null_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    if (bytes)
        memset((char *)mem + offset, 0, bytes);
    return TNB_OK;
}

static tnb_status
null_sync(void *dev, void *stream, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    return TNB_OK;
}

/* ---- modules ---- */

struct kernel {
    null_kernel head;
    const null_insn *insns;
    const null_value *constants;
};
struct module {
    uint8_t *bytes; /* a copy, aligned */
    uint32_t n;
    struct kernel kernels[];
};

static const struct {
    uint8_t takes, gives, arg;
} ops[] = {
#define X(name, takes, gives, arg) {takes, gives, NULL_##arg},
    NULL_OPS(X)
#undef X
};

static bool
argument_ok(const struct kernel *k, const null_insn *in)
{
    static const uint8_t math_args[] = {
#define X(name, n) n,
        TNB_VM_MATHS(X)
#undef X
    };
    switch (ops[in->op].arg) {
    case NULL_CONSTANT:
        return in->arg < k->head.n_constants;
    case NULL_LOCAL:
        return in->arg < k->head.n_locals;
    case NULL_BUFFER:
        return in->arg < k->head.n_buffers + k->head.n_allocs &&
               (in->op != NULL_ALLOC || in->arg >= k->head.n_buffers);
    case NULL_TARGET:
        return in->arg < k->head.n_insns;
    case NULL_DTYPE:
        return in->arg <= UINT16_MAX;
    case NULL_MATH:
        return in->arg < TNB_VM_N_MATHS && math_args[in->arg] == (in->op == NULL_MATH1 ? 1 : 2);
    default:
        return in->arg == 0;
    }
}

/* Follows the depth of the stack: the same by every way, never below 0 or above the limit; the last
 * instruction ends. */
static bool
kernel_ok(const struct kernel *k, int16_t *depth)
{
    const null_kernel *h = &k->head;
    if (h->n_insns == 0 || k->insns[h->n_insns - 1].op != NULL_END || h->n_scalars > h->n_locals)
        return false;
    for (uint32_t i = 0; i < h->n_insns; i++)
        depth[i] = -1;
    depth[0] = 0;
    for (uint32_t i = 0; i < h->n_insns; i++) {
        const null_insn *in = &k->insns[i];
        if (in->op >= NULL_N_OPS || !argument_ok(k, in))
            return false;
        if (depth[i] < 0)
            depth[i] = 0; /* reached by no jump so far: statements begin with an empty stack */
        int after = depth[i] - ops[in->op].takes + ops[in->op].gives;
        if (depth[i] < ops[in->op].takes || after > NULL_MAX_STACK)
            return false;
        if (ops[in->op].arg == NULL_TARGET) {
            if (depth[in->arg] >= 0 && depth[in->arg] != after)
                return false;
            depth[in->arg] = (int16_t)after;
        }
        if (in->op != NULL_JUMP && in->op != NULL_END) {
            if (depth[i + 1] >= 0 && depth[i + 1] != after)
                return false;
            depth[i + 1] = (int16_t)after;
        }
    }
    return true;
}

/* The kernel at *at, which moves behind it; false when it does not fit. */
static bool
read_kernel(const uint8_t *bytes, size_t n, size_t *at, struct kernel *k)
{
    const null_kernel *h = &k->head;
    if (n - *at < sizeof *h)
        return false;
    memcpy(&k->head, bytes + *at, sizeof *h);
    *at += sizeof *h;
    uint64_t code = (uint64_t)h->n_insns * sizeof *k->insns,
             constants = (uint64_t)h->n_constants * sizeof *k->constants;
    if (memchr(h->name, '\0', NULL_NAME) == NULL || code > n - *at || constants > n - *at - code ||
        h->n_locals > NULL_MAX_LOCALS || h->n_buffers > NULL_MAX_BUFFERS ||
        h->n_allocs > NULL_MAX_BUFFERS - h->n_buffers)
        return false;
    k->insns = (const null_insn *)(const void *)(bytes + *at);
    k->constants = (const null_value *)(const void *)(bytes + *at + code);
    *at += code + constants;
    int16_t *depth = malloc((h->n_insns + 1) * sizeof *depth);
    bool ok = depth && kernel_ok(k, depth);
    free(depth);
    return ok;
}

static tnb_status
null_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                 tnb_err *err)
{
    null_file file;
    size_t at = sizeof file;
    (void)dev;
    if (strcmp(format, "null") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "the null device takes code of format 'null', not '%s'", format);
    if (n < sizeof file ||
        (memcpy(&file, code, sizeof file), memcmp(file.magic, NULL_MAGIC, 8) != 0) ||
        file.n_kernels > n / sizeof(null_kernel))
        return tnb_fail(err, TNB_FORMAT, "this is no code of the null device (%zu bytes)", n);
    struct module *m = calloc(1, sizeof *m + file.n_kernels * sizeof *m->kernels);
    if (m)
        m->bytes = malloc(n);
    if (!m || !m->bytes) {
        free(m);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    }
    memcpy(m->bytes, code, n);
    for (m->n = 0; m->n < file.n_kernels; m->n++)
        if (!read_kernel(m->bytes, n, &at, &m->kernels[m->n])) {
            free(m->bytes);
            free(m);
            return tnb_fail(err, TNB_FORMAT, "the code of a kernel is broken, near byte %zu of %zu",
                            at, n);
        }
    *module = m;
    return TNB_OK;
}

static void
null_module_free(void *dev, void *module)
{
    (void)dev;
    free(((struct module *)module)->bytes);
    free(module);
}

static tnb_status
null_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    struct module *m = module;
    (void)dev;
    for (uint32_t i = 0; i < m->n; i++)
        if (strcmp(m->kernels[i].head.name, name) == 0) {
            *kernel = &m->kernels[i];
            return TNB_OK;
        }
    return tnb_fail(err, TNB_NOT_FOUND, "the code has no kernel '%s'", name);
}

/* ---- arithmetic ---- */

static bool
is_float(tnb_dtype d)
{
    return tnb_dtype_is_float(d);
}

/* Rounds or wraps to the dtype, as a store and a load would. */
static null_value
fit(tnb_dtype d, null_value v)
{
    uint64_t raw = 0;
    if (d.bits >= 64 || d.bits == 0)
        return v;
    if (is_float(d)) {
        if (tnb_store_f64(&raw, d, 0, v.f))
            tnb_load_f64(&raw, d, 0, &v.f);
    } else if (tnb_store_i64(&raw, d, 0, v.i)) {
        tnb_load_i64(&raw, d, 0, &v.i);
    }
    return v;
}

static double
math1(uint32_t id, double x)
{
    switch (id) {
#define CASE(f)           \
    case TNB_VM_MATH_##f: \
        return f(x);
        /* clang-format off */
        CASE(exp) CASE(exp2) CASE(log) CASE(log2) CASE(log10) CASE(log1p) CASE(expm1) CASE(sqrt)
        CASE(cbrt) CASE(sin) CASE(cos) CASE(tan) CASE(sinh) CASE(cosh) CASE(tanh) CASE(asin)
        CASE(acos) CASE(atan) CASE(asinh) CASE(acosh) CASE(atanh) CASE(erf) CASE(floor) CASE(ceil)
        CASE(round) CASE(nearbyint) CASE(trunc) CASE(fabs)
        /* clang-format on */
#undef CASE
                        case TNB_VM_MATH_exp10 : return pow(10, x);
    case TNB_VM_MATH_rsqrt:
        return 1 / sqrt(x);
    case TNB_VM_MATH_sigmoid:
        return 1 / (1 + exp(-x));
    case TNB_VM_MATH_isnan:
        return isnan(x) != 0;
    case TNB_VM_MATH_isinf:
        return isinf(x) != 0;
    default:
        return isfinite(x) != 0;
    }
}

static double
math2(uint32_t id, double x, double y)
{
    switch (id) {
    case TNB_VM_MATH_pow:
        return pow(x, y);
    case TNB_VM_MATH_fmod:
        return fmod(x, y);
    case TNB_VM_MATH_atan2:
        return atan2(x, y);
    case TNB_VM_MATH_hypot:
        return hypot(x, y);
    case TNB_VM_MATH_copysign:
        return copysign(x, y);
    case TNB_VM_MATH_nextafter:
        return nextafter(x, y);
    default:
        return ldexp(x, y > 10000 ? 10000 : y < -10000 ? -10000 : (int)y);
    }
}

static null_value
float_op(const null_insn *in, double a, double b)
{
    switch (in->op) {
    case NULL_ADD:
        return (null_value){.f = a + b};
    case NULL_SUB:
        return (null_value){.f = a - b};
    case NULL_MUL:
        return (null_value){.f = a * b};
    case NULL_DIV:
        return (null_value){.f = a / b};
    case NULL_MOD:
        return (null_value){.f = fmod(a, b)};
    case NULL_FLOOR_DIV:
        return (null_value){.f = floor(a / b)};
    case NULL_FLOOR_MOD:
        return (null_value){.f = a - floor(a / b) * b};
    case NULL_MIN:
        return (null_value){.f = a < b ? a : b};
    case NULL_MAX:
        return (null_value){.f = a > b ? a : b};
    case NULL_MATH2:
        return (null_value){.f = math2(in->arg, a, b)};
    case NULL_EQ:
        return (null_value){.i = a == b};
    case NULL_NE:
        return (null_value){.i = a != b};
    case NULL_LT:
        return (null_value){.i = a < b};
    default:
        return (null_value){.i = a <= b};
    }
}

/* b is not 0 for divisions. */
static int64_t
int_op(const null_insn *in, int64_t a, int64_t b)
{
    bool u = in->code == TNB_UINT || in->code == TNB_BOOL;
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    int64_t q = u ? (int64_t)(ub ? ua / ub : 0) : b == -1 ? (int64_t)(0 - ua) : b ? a / b : 0;
    int64_t r = (int64_t)(ua - (uint64_t)q * ub);
    bool down = !u && r != 0 && (r < 0) != (b < 0); /* the quotient was rounded up */
    switch (in->op) {
    case NULL_ADD:
        return (int64_t)(ua + ub);
    case NULL_SUB:
        return (int64_t)(ua - ub);
    case NULL_MUL:
        return (int64_t)(ua * ub);
    case NULL_DIV:
        return q;
    case NULL_MOD:
        return r;
    case NULL_FLOOR_DIV:
        return q - down;
    case NULL_FLOOR_MOD:
        return down ? r + b : r;
    case NULL_MIN:
        return (u ? ua < ub : a < b) ? a : b;
    case NULL_MAX:
        return (u ? ua > ub : a > b) ? a : b;
    case NULL_EQ:
        return a == b;
    case NULL_NE:
        return a != b;
    case NULL_LT:
        return u ? ua < ub : a < b;
    case NULL_LE:
        return u ? ua <= ub : a <= b;
    case NULL_BIT_AND:
        return a & b;
    case NULL_BIT_OR:
        return a | b;
    case NULL_BIT_XOR:
        return a ^ b;
    case NULL_SHL:
        return (int64_t)(ua << (ub & 63));
    default:
        return u ? (int64_t)(ua >> (ub & 63)) : a >> (ub & 63);
    }
}

static null_value
cast(tnb_dtype from, tnb_dtype to, null_value v)
{
    if (tnb_dtype_is_bool(to))
        return (null_value){.i = is_float(from) ? v.f != 0 : v.i != 0};
    if (is_float(from) && !is_float(to)) {
        double f = v.f;
        v.i = isnan(f)      ? 0
              : f >= 0x1p63 ? (f < 0x1p64 ? (int64_t)(uint64_t)f : INT64_MAX)
              : f < -0x1p63 ? INT64_MIN
                            : (int64_t)f;
    } else if (!is_float(from) && is_float(to)) {
        int64_t i = v.i;
        v.f = from.code == TNB_UINT ? (double)(uint64_t)i : (double)i;
    }
    return fit(to, v);
}

/* ---- running ---- */

struct run {
    const struct kernel *k;
    null_value *locals;
    struct {
        void *data;
        uint64_t bytes;
    } buffers[NULL_MAX_BUFFERS];
};

static tnb_status
access_element(struct run *r, const null_insn *in, null_value *sp, tnb_err *err)
{
    tnb_dtype d = {in->code, in->bits, 1};
    int64_t index = sp[-1].i;
    uint64_t size = tnb_dtype_bytes(d), room = size ? r->buffers[in->arg].bytes / size : 0;
    void *data = r->buffers[in->arg].data;
    bool done;
    if (index < 0 || (uint64_t)index >= room)
        return tnb_fail(err, TNB_BOUNDS,
                        "element %" PRId64 " of buffer %" PRIu32 ", which has %" PRIu64, index,
                        in->arg, room);
    if (in->op == NULL_LOAD)
        done = is_float(d) ? tnb_load_f64(data, d, (uint64_t)index, &sp[-1].f)
                           : tnb_load_i64(data, d, (uint64_t)index, &sp[-1].i);
    else
        done = is_float(d) ? tnb_store_f64(data, d, (uint64_t)index, sp[-2].f)
                           : tnb_store_i64(data, d, (uint64_t)index, sp[-2].i);
    return done ? TNB_OK : tnb_fail(err, TNB_UNSUPPORTED, "elements of %s", tnb_dtype_print(d).s);
}

static tnb_status
allocate(struct run *r, uint32_t slot, int64_t bytes, tnb_err *err)
{
    free(r->buffers[slot].data);
    r->buffers[slot].data = bytes >= 0 ? calloc(1, bytes ? (size_t)bytes : 1) : NULL;
    r->buffers[slot].bytes = r->buffers[slot].data ? (uint64_t)bytes : 0;
    return r->buffers[slot].data
               ? TNB_OK
               : tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRId64 " bytes", bytes);
}

static tnb_status
execute(struct run *r, tnb_err *err)
{
    null_value stack[NULL_MAX_STACK + 1], *sp = stack; /* sp: behind the top */
    for (const null_insn *in = r->k->insns;; in++) {
        tnb_dtype d = {in->code, in->bits, 1};
        switch (in->op) {
        case NULL_CONST:
            *sp++ = r->k->constants[in->arg];
            break;
        case NULL_GET:
            *sp++ = r->locals[in->arg];
            break;
        case NULL_SET:
            r->locals[in->arg] = *--sp;
            break;
        case NULL_LOAD:
            TNB_TRY(access_element(r, in, sp, err));
            break;
        case NULL_STORE:
            TNB_TRY(access_element(r, in, sp, err));
            sp -= 2;
            break;
        case NULL_ALLOC:
            TNB_TRY(allocate(r, in->arg, (--sp)->i, err));
            break;
        case NULL_JUMP:
            in = r->k->insns + in->arg - 1;
            break;
        case NULL_JUMP_IF_NOT:
            if ((--sp)->i == 0)
                in = r->k->insns + in->arg - 1;
            break;
        case NULL_ASSERT:
            if ((--sp)->i == 0)
                return tnb_fail(err, TNB_INVALID, "an assertion of the kernel failed");
            break;
        case NULL_DROP:
            sp--;
            break;
        case NULL_END:
            return TNB_OK;
        case NULL_NOT:
            sp[-1].i = sp[-1].i == 0;
            break;
        case NULL_CAST:
            sp[-1] = cast((tnb_dtype){(uint8_t)in->arg, (uint8_t)(in->arg >> 8), 1}, d, sp[-1]);
            break;
        case NULL_MATH1:
            sp[-1] = fit(d, (null_value){.f = math1(in->arg, sp[-1].f)});
            break;
        default: { /* two operands */
            bool compares =
                in->op == NULL_EQ || in->op == NULL_NE || in->op == NULL_LT || in->op == NULL_LE;
            null_value v;
            sp--;
            if (!is_float(d) && in->op >= NULL_DIV && in->op <= NULL_FLOOR_MOD && sp->i == 0)
                return tnb_fail(err, TNB_INVALID, "integer division by zero");
            if (is_float(d))
                v = float_op(in, sp[-1].f, sp->f);
            else
                v.i = int_op(in, sp[-1].i, sp->i);
            sp[-1] = compares ? v : fit(d, v);
        }
        }
    }
}

static tnb_status
null_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    struct run *r = calloc(1, sizeof *r);
    const struct kernel *k = kernel;
    (void)dev, (void)stream;
    if (r)
        r->locals = calloc(k->head.n_locals ? k->head.n_locals : 1, sizeof *r->locals);
    if (!r || !r->locals) {
        free(r);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a launch");
    }
    r->k = k;
    tnb_status st = TNB_OK;
    if (l->n_buffers != k->head.n_buffers || l->n_scalars != k->head.n_scalars)
        st = tnb_fail(err, TNB_INVALID,
                      "the kernel takes %" PRIu32 " buffers and %" PRIu32 " scalars",
                      k->head.n_buffers, k->head.n_scalars);
    for (uint32_t i = 0; st == TNB_OK && i < l->n_buffers; i++) {
        r->buffers[i].data = (char *)l->buffers[i].mem + l->buffers[i].offset;
        r->buffers[i].bytes = l->buffers[i].bytes;
    }
    for (uint32_t i = 0; st == TNB_OK && i < l->n_scalars; i++)
        r->locals[i].i = l->scalars[i].i; /* doubles travel as bits */
    if (st == TNB_OK)
        st = execute(r, err);
    for (uint32_t i = 0; i < k->head.n_allocs; i++)
        free(r->buffers[k->head.n_buffers + i].data);
    free(r->locals);
    free(r);
    return st;
}

static const char *const null_formats[] = {"null", NULL};

static const tnr_driver null_driver = {
    .size = sizeof(tnr_driver),
    .flags = TNR_DRIVER_HOST_MEMORY,
    .name = "null",
    .doc = "kernels on a little stack machine, for teaching, copying and tests",
    .type = TNB_EXT_DEV,
    .alignment = 64,
    .count = null_count,
    .open = null_open,
    .close = null_close,
    .describe = null_describe,
    .check_features = null_check_features,
    .alloc = null_alloc,
    .free = null_free,
    .copy = null_copy,
    .zero = null_zero,
    .sync = null_sync,
    .formats = null_formats,
    .module_load = null_module_load,
    .module_free = null_module_free,
    .module_kernel = null_module_kernel,
    .launch = null_launch,
};
static const tnr_driver *const null_drivers[] = {&null_driver};

TNR_PLUGIN(null_rt, "0.1.0", "Apache-2.0 OR MIT-0", "the device of the null backend",
           .drivers = null_drivers, .n_drivers = 1);
