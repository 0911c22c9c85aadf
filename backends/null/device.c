/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The null backend, device half: memory of the host, kernels on the stack machine of code.h.
 *
 * What instructions name (locals, buffers, jumps) is checked when a module is loaded; element
 * indices, divisions and the depth of the stack are checked as they run.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/kernel_abi.h"
#include "code.h"
#include "tenon/base/scalar.h"
#include "tenon/rt/plugin.h"

/* ---- the device ---- */

static void
null_describe(void *dev, char *out, size_t n)
{
    (void)dev;
    snprintf(out, n, "a stack machine in this process");
}

/* ---- modules ---- */

static const struct {
    uint8_t takes, gives, arg;
} ops[] = {
#define X(name, takes, gives, arg) {takes, gives, NULL_##arg},
    NULL_OPS(X)
#undef X
};

static bool
insn_ok(const null_kernel *k, const null_insn *in)
{
    if (in->op >= NULL_N_OPS)
        return false;
    switch (ops[in->op].arg) {
    case NULL_LOCAL:
        return in->arg < k->n_locals;
    case NULL_BUFFER:
        return in->arg < k->n_buffers + k->n_allocs &&
               (in->op != NULL_ALLOC || in->arg >= k->n_buffers);
    case NULL_TARGET:
        return in->arg < k->n_insns;
    default:
        return true;
    }
}

/* Whether a kernel lies in n bytes, and is sound. */
static bool
kernel_ok(const null_kernel *k, size_t n)
{
    if (n < sizeof *k || memchr(k->name, '\0', NULL_NAME) == NULL ||
        k->n_insns > (n - sizeof *k) / sizeof *k->insns || k->n_insns == 0 ||
        k->insns[k->n_insns - 1].op != NULL_END || k->n_locals > NULL_MAX_LOCALS ||
        k->n_scalars > k->n_locals || k->n_buffers > NULL_MAX_BUFFERS ||
        k->n_allocs > NULL_MAX_BUFFERS - k->n_buffers)
        return false;
    for (uint32_t i = 0; i < k->n_insns; i++)
        if (!insn_ok(k, &k->insns[i]))
            return false;
    return true;
}

static size_t
kernel_bytes(const null_kernel *k)
{
    return sizeof *k + k->n_insns * sizeof *k->insns;
}

/* A module is a copy of the code, a kernel a place in it. */
static tnb_status
null_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                 tnb_err *err)
{
    size_t at = sizeof(null_file);
    (void)dev;
    if (strcmp(format, "null") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "the null device takes code of format 'null', not '%s'", format);
    if (n < at || memcmp(code, NULL_MAGIC, 8) != 0)
        return tnb_fail(err, TNB_FORMAT, "this is no code of the null device (%zu bytes)", n);
    null_file *m = malloc(n);
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    memcpy(m, code, n);
    for (uint32_t i = 0; i < m->n_kernels; i++) {
        const null_kernel *k = (const null_kernel *)(const void *)((const char *)m + at);
        if (!kernel_ok(k, n - at)) {
            free(m);
            return tnb_fail(err, TNB_FORMAT, "the code of a kernel is broken, at byte %zu of %zu",
                            at, n);
        }
        at += kernel_bytes(k);
    }
    *module = m;
    return TNB_OK;
}

static void
null_module_free(void *dev, void *module)
{
    (void)dev;
    free(module);
}

static tnb_status
null_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    null_file *m = module;
    null_kernel *k = (null_kernel *)(void *)(m + 1);
    (void)dev;
    for (uint32_t i = 0; i < m->n_kernels; i++) {
        if (strcmp(k->name, name) == 0) {
            *kernel = k;
            return TNB_OK;
        }
        k = (null_kernel *)(void *)((char *)k + kernel_bytes(k));
    }
    return tnb_fail(err, TNB_NOT_FOUND, "the code has no kernel '%s'", name);
}

/* ---- arithmetic ---- */

static bool
is_float(tnb_dtype d)
{
    return tnb_dtype_is_float(d);
}

static null_value
fit(tnb_dtype d, null_value v)
{
    if (is_float(d))
        return (null_value){.f = tnb_round_f64(d, v.f)};
    return (null_value){.i = tnb_wrap_i64(d, v.i)};
}

static null_value
real(double f)
{
    return (null_value){.f = f};
}

static null_value
whole(uint64_t u)
{
    return (null_value){.u = u};
}

static null_value
cast(tnb_dtype from, tnb_dtype to, null_value v)
{
    if (tnb_dtype_is_bool(to))
        return (null_value){.i = is_float(from) ? v.f != 0 : v.i != 0};
    if (is_float(from) && !is_float(to))
        return fit(to, whole(to.code == TNB_UINT ? tnb_f64_to_u64(v.f)
                                                 : (uint64_t)tnb_f64_to_i64(v.f)));
    if (!is_float(from) && is_float(to))
        return fit(to, real(from.code == TNB_UINT ? (double)v.u : (double)v.i));
    return fit(to, v);
}

/* An operation on one or two operands; b is not 0 for divisions of integers. */
static null_value
operate(const null_insn *in, tnb_dtype d, null_value a, null_value b)
{
    bool f = is_float(d), u = d.code == TNB_UINT || d.code == TNB_BOOL;
#define OP(name, of_floats, of_unsigned, of_ints) \
    case NULL_##name:                             \
        return fit(d, f ? real(of_floats)         \
                        : whole(u ? (uint64_t)(of_unsigned) : (uint64_t)(of_ints)));
#define COMPARE(name, op) \
    case NULL_##name:     \
        return (null_value){.i = f ? a.f op b.f : u ? a.u op b.u : a.i op b.i};
    switch (in->op) {
        OP(ADD, a.f + b.f, a.u + b.u, a.u + b.u)
        OP(SUB, a.f - b.f, a.u - b.u, a.u - b.u)
        OP(MUL, a.f * b.f, a.u * b.u, a.u * b.u)
        OP(DIV, a.f / b.f, a.u / b.u, tnb_div_i64(a.i, b.i))
        OP(MOD, fmod(a.f, b.f), a.u % b.u, tnb_mod_i64(a.i, b.i))
        OP(FLOOR_DIV, floor(a.f / b.f), a.u / b.u, tnb_floor_div_i64(a.i, b.i))
        OP(FLOOR_MOD, a.f - floor(a.f / b.f) * b.f, a.u % b.u, tnb_floor_mod_i64(a.i, b.i))
        OP(MIN, a.f < b.f || a.f != a.f ? a.f : b.f, a.u < b.u ? a.u : b.u, a.i < b.i ? a.i : b.i)
        OP(MAX, a.f > b.f || a.f != a.f ? a.f : b.f, a.u > b.u ? a.u : b.u, a.i > b.i ? a.i : b.i)
        COMPARE(EQ, ==)
        COMPARE(NE, !=)
        COMPARE(LT, <)
        COMPARE(LE, <=)
        COMPARE(GT, >)
        COMPARE(GE, >=)
        OP(BIT_AND, 0, a.u & b.u, a.u & b.u)
        OP(BIT_OR, 0, a.u | b.u, a.u | b.u)
        OP(BIT_XOR, 0, a.u ^ b.u, a.u ^ b.u)
        OP(BIT_NOT, 0, ~a.u, ~a.u)
        OP(SHL, 0, a.u << (b.u & 63), a.u << (b.u & 63))
        OP(SHR, 0, a.u >> (b.u & 63), a.i >> (b.u & 63))
        OP(ABS, fabs(a.f), a.u, a.i < 0 ? 0 - a.u : a.u)
        OP(MATH1, tnb_math1(in->arg, a.f), 0, 0)
        OP(MATH2, tnb_math2(in->arg, a.f, b.f), 0, 0)
    default: /* NOT */
        return (null_value){.i = a.i == 0};
    }
#undef OP
#undef COMPARE
}

/* ---- running ---- */

enum { NULL_PATIENCE = 4096 }; /* jumps after which it is asked whether to go on */

struct run {
    const null_kernel *k;
    const tnr_launch *launch;
    tnb_kernel_refusal *refused; /* memory of this device is the host's */
    uint32_t tag;
    uint32_t jumps;
    null_value locals[NULL_MAX_LOCALS];
    struct {
        void *data;
        uint64_t bytes;
    } buffers[NULL_MAX_BUFFERS];
};

/* Loads to sp[-1] or stores sp[-2]; the index is on top. */
static tnb_status
access_element(struct run *r, const null_insn *in, tnb_dtype d, null_value *sp, tnb_err *err)
{
    int64_t index = sp[-1].i;
    uint64_t room = d.bits ? r->buffers[in->arg].bytes * 8 / d.bits : 0; /* small ones are packed */
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

/* Temporaries of a kernel, which asks for what it likes. */
static tnb_status
allocate(struct run *r, uint32_t slot, int64_t bytes, tnb_err *err)
{
    const int64_t most = 1 << 30;
    free(r->buffers[slot].data);
    r->buffers[slot].data =
        bytes >= 0 && bytes <= most ? calloc(1, bytes ? (size_t)bytes : 1) : NULL;
    r->buffers[slot].bytes = r->buffers[slot].data ? (uint64_t)bytes : 0;
    return r->buffers[slot].data
               ? TNB_OK
               : tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRId64 " bytes", bytes);
}

/* Every loop jumps, so here it ends when it has to. */
static tnb_status
may_go_on(struct run *r, tnb_err *err)
{
    if (++r->jumps % NULL_PATIENCE != 0 || !r->launch->cancelled ||
        !r->launch->cancelled(r->launch->user))
        return TNB_OK;
    return tnb_fail(err, TNB_CANCELLED, "the kernel was stopped");
}

/* An index that came as data in sp[-2], the extent that it is for in sp[-1]. The machine makes a message of what is noted. */
static tnb_status
check_index(const struct run *r, uint32_t arg, null_value *sp, tnb_err *err)
{
    int64_t i = sp[-2].i, n = sp[-1].i, at = arg & 1 && i < 0 ? i + n : i;
    sp[-2].i = at;
    if (at >= 0 && at < n)
        return TNB_OK;
    if (r->refused)
        *r->refused = (tnb_kernel_refusal){
            .state = 1, .tag = r->tag, .check = arg >> 1, .index = i, .extent = n};
    return tnb_fail(err, TNB_BOUNDS, "index %" PRId64 " is out of range, the extent is %" PRId64, i,
                    n);
}

static tnb_status
execute(struct run *r, tnb_err *err)
{
    null_value stack[NULL_MAX_STACK], *sp = stack; /* sp: behind the top */
    for (const null_insn *in = r->k->insns;; in++) {
        tnb_dtype d = {in->code, in->bits, 1};
        int takes = ops[in->op].takes;
        if (sp - stack < takes || sp - stack - takes + ops[in->op].gives > NULL_MAX_STACK)
            return tnb_fail(err, TNB_FORMAT, "the code of the kernel misuses its stack");
        switch (in->op) {
        case NULL_CONST:
            *sp++ = in->value;
            break;
        case NULL_GET:
            *sp++ = r->locals[in->arg];
            break;
        case NULL_SET:
            r->locals[in->arg] = *--sp;
            break;
        case NULL_LOAD:
            TNB_TRY(access_element(r, in, d, sp, err));
            break;
        case NULL_STORE:
            TNB_TRY(access_element(r, in, d, sp, err));
            sp -= 2;
            break;
        case NULL_ALLOC:
            TNB_TRY(allocate(r, in->arg, (--sp)->i, err));
            break;
        case NULL_JUMP:
            TNB_TRY(may_go_on(r, err));
            in = r->k->insns + in->arg - 1;
            break;
        case NULL_JUMP_IF_NOT:
            TNB_TRY(may_go_on(r, err));
            if ((--sp)->i == 0)
                in = r->k->insns + in->arg - 1;
            break;
        case NULL_ASSERT:
            if ((--sp)->i == 0)
                return tnb_fail(err, TNB_INVALID, "an assertion of the kernel failed");
            break;
        case NULL_INDEX:
            TNB_TRY(check_index(r, in->arg, sp, err));
            sp--;
            break;
        case NULL_END:
            return TNB_OK;
        case NULL_CAST:
            sp[-1] = cast((tnb_dtype){(uint8_t)in->arg, (uint8_t)(in->arg >> 8), 1}, d, sp[-1]);
            break;
        default:
            sp -= takes;
            if (!is_float(d) && in->op >= NULL_DIV && in->op <= NULL_FLOOR_MOD && sp[1].i == 0)
                return tnb_fail(err, TNB_INVALID, "integer division by zero");
            *sp = operate(in, d, sp[0], sp[takes - 1]);
            sp++;
        }
    }
}

static tnb_status
wrong_number(const null_kernel *k, tnb_err *err)
{
    return tnb_fail(err, TNB_INVALID,
                    "the kernel takes %" PRIu32 " buffers and %" PRIu32 " scalars", k->n_buffers,
                    k->n_scalars);
}

static tnb_status
gather(struct run *r, tnb_err *err)
{
    const tnr_launch *l = r->launch;
    uint32_t n_buffers = 0, n_scalars = 0;
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *p = &l->params[i];
        switch (p->kind) {
        case TNB_PARAM_BUFFER:
            if (n_buffers == r->k->n_buffers)
                return wrong_number(r->k, err);
            r->buffers[n_buffers].data = (char *)p->u.memory.mem + p->u.memory.offset;
            r->buffers[n_buffers++].bytes = p->u.memory.bytes;
            break;
        case TNB_PARAM_SCALAR:
            if (n_scalars == r->k->n_scalars)
                return wrong_number(r->k, err);
            r->locals[n_scalars++].i = p->u.scalar.i; /* doubles travel as bits */
            break;
        case TNB_PARAM_REFUSED:
            r->refused = p->u.memory.mem;
            break;
        case TNB_PARAM_TAG:
            r->tag = (uint32_t)p->u.scalar.i;
            break;
        default:
            return tnr_refuse_param(l, i, err);
        }
    }
    return n_buffers == r->k->n_buffers && n_scalars == r->k->n_scalars ? TNB_OK
                                                                        : wrong_number(r->k, err);
}

static tnb_status
null_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    const null_kernel *k = kernel;
    (void)dev, (void)stream;
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a launch");
    r->k = k;
    r->launch = l;
    tnb_status st = gather(r, err);
    if (st == TNB_OK)
        st = execute(r, err);
    for (uint32_t i = 0; i < k->n_allocs; i++)
        free(r->buffers[k->n_buffers + i].data);
    free(r);
    return st;
}

static const char *const null_formats[] = {"null", NULL};

static const tnr_setting null_settings[] = {{0}}; /* [device null] has no keys */

static const tnr_driver null_driver = {
    .base.size = sizeof(tnr_driver),
    .flags = TNR_DRIVER_HOST_MEMORY,
    .base.name = "null",
    .base.doc = "kernels on a little stack machine, for teaching, copying and tests",
    .type = TNB_EXT_DEV,
    .alignment = TNR_HOST_ALIGNMENT,
    .count = tnr_host_count,
    .open = tnr_host_open,
    .close = tnr_host_close,
    .describe = null_describe,
    .check_features = tnr_host_check_features,
    .alloc = tnr_host_alloc,
    .free = tnr_host_free,
    .copy = tnr_host_copy,
    .zero = tnr_host_zero,
    .sync = tnr_host_sync,
    .formats = null_formats,
    .module_load = null_module_load,
    .module_free = null_module_free,
    .module_kernel = null_module_kernel,
    .launch = null_launch,
    .settings = null_settings,
};
static const tnr_driver *const null_drivers[] = {&null_driver};

TNR_PLUGIN(null_rt, "0.1.0", "Apache-2.0 OR MIT-0", "the device of the null backend",
           .drivers = null_drivers, .n_drivers = 1);
