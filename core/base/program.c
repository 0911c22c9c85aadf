/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a VM program once, so that the interpreter needs no structural check: counts that add up
 * to the section's size, texts that end, functions without gaps, jump targets, registers, operands
 * and constants in range, launches that fit their kernels. Works on hostile bytes.
 */
#include <inttypes.h>
#include <string.h>
#include "tenon/base/mem.h"
#include "tenon/base/tno.h"

/* How a field of an instruction is used; see tenon/base/vmcode.h. */
enum use { NO, SD, SS, VD, VS, T, FN, PK, KN, CO, ST, DV, IM, L };

static const struct op_info {
    const char *name;
    uint8_t a, b, c;
} op_infos[] = {
#define X(name, a, b, c) {#name, a, b, c},
    TNB_VM_OPS(X)
#undef X
};

static const uint8_t math_args[] = {
#define X(name, n) n,
    TNB_VM_MATHS(X)
#undef X
};

/* Limits that keep frames small and sums in range. */
enum { MAX_REGISTERS = 1 << 20, MAX_COUNT = 1 << 28 };

static tnb_status
broken(tnb_err *err, const char *fmt, ...) TNB_PRINTF(2, 3);

static tnb_status
broken(tnb_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_status s = tnb_failv(err, TNB_FORMAT, fmt, ap);
    va_end(ap);
    return s;
}

/* ---- arrays ---- */

struct cursor {
    const uint8_t *at;
    uint64_t left;
};

/* The next array: n items, padded to 8 bytes. NULL when it does not fit. */
static const void *
take(struct cursor *c, uint64_t n, size_t item)
{
    static const uint64_t empty[1];
    uint64_t bytes = (n * item + 7) & ~(uint64_t)7; /* n < 2^28, item <= 32: no overflow */
    if (bytes > c->left)
        return NULL;
    const void *p = n ? c->at : (const void *)empty;
    c->at += bytes;
    c->left -= bytes;
    return p;
}

static tnb_status
take_arrays(struct cursor *c, tnb_tno_view *p, tnb_err *err)
{
    const tnb_tno_program *h = &p->head;
    const uint32_t counts[] = {h->n_functions, h->n_insns,   h->n_operands,  h->n_kernels,
                               h->n_params,    h->n_maps,    h->n_constants, h->n_dims,
                               h->n_packed,    h->n_devices, h->n_text};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > MAX_COUNT)
            return broken(err, "count %zu of the program is %" PRIu32 ", more than any program has",
                          i, counts[i]);
    if (h->reserved)
        return broken(err, "a reserved field of the program is not zero");
    p->functions = take(c, h->n_functions, sizeof *p->functions);
    p->insns = p->functions ? take(c, h->n_insns, sizeof *p->insns) : NULL;
    p->operands = p->insns ? take(c, h->n_operands, sizeof *p->operands) : NULL;
    p->kernels = p->operands ? take(c, h->n_kernels, sizeof *p->kernels) : NULL;
    p->params = p->kernels ? take(c, h->n_params, sizeof *p->params) : NULL;
    p->maps = p->params ? take(c, h->n_maps, sizeof *p->maps) : NULL;
    p->constants = p->maps ? take(c, h->n_constants, sizeof *p->constants) : NULL;
    p->dims = p->constants ? take(c, h->n_dims, sizeof *p->dims) : NULL;
    p->packed = p->dims ? take(c, h->n_packed, sizeof *p->packed) : NULL;
    p->devices = p->packed ? take(c, h->n_devices, sizeof *p->devices) : NULL;
    p->text = p->devices ? take(c, h->n_text, 1) : NULL;
    if (!p->text)
        return broken(err, "the program's arrays do not fit its section");
    if (c->left)
        return broken(err, "the program's section has %" PRIu64 " bytes too many", c->left);
    if (h->n_text == 0 || p->text[h->n_text - 1] != '\0')
        return broken(err, "the program's texts do not end");
    return TNB_OK;
}

static tnb_status
check_text(const tnb_tno_view *p, uint64_t offset, const char *what, tnb_err *err)
{
    return offset < p->head.n_text ? TNB_OK
                                   : broken(err, "the name of %s lies outside the texts", what);
}

/* [first, first + n) within [0, total)? */
static bool
within(uint32_t first, uint32_t n, uint32_t total)
{
    return first <= total && n <= total - first;
}

static bool
plain_dtype(tnb_dtype d)
{
    return d.bits != 0 && d.bits <= 128 && d.lanes != 0 && d.lanes <= 1024;
}

/* ---- tables ---- */

static tnb_status
check_constants(const tnb_tno_view *p, uint64_t constants_bytes, tnb_err *err)
{
    for (uint32_t i = 0; i < p->head.n_constants; i++) {
        const tnb_tno_constant *c = &p->constants[i];
        uint64_t elems, bytes;
        if (c->kind < TNB_TNO_TENSOR || c->kind > TNB_TNO_NULL)
            return broken(err, "constant %" PRIu32 " is of unknown kind %d", i, (int)c->kind);
        if (c->device && (c->kind != TNB_TNO_TENSOR || c->device >= p->head.n_devices))
            return broken(err, "constant %" PRIu32 " is for device %d of %" PRIu32, i,
                          (int)c->device, p->head.n_devices);
        if (c->kind == TNB_TNO_TENSOR || c->kind == TNB_TNO_SHAPE) {
            uint32_t most = c->kind == TNB_TNO_SHAPE ? TNB_TNO_MAX_SHAPE : TNB_TNO_MAX_DIMS;
            if (c->n_dims > most || !within(c->first_dim, c->n_dims, p->head.n_dims))
                return broken(err, "the shape of constant %" PRIu32 " lies outside the table", i);
        }
        if (c->kind == TNB_TNO_STRING)
            TNB_TRY(check_text(p, c->data, "a constant", err));
        if (c->kind == TNB_TNO_FUNCTION && c->data >= p->head.n_functions)
            return broken(err, "constant %" PRIu32 " is function %" PRIu64 " of %" PRIu32, i,
                          c->data, p->head.n_functions);
        if (c->kind == TNB_TNO_DTYPE && c->dtype.bits && !plain_dtype(c->dtype))
            return broken(err, "constant %" PRIu32 " is no dtype", i);
        if (c->kind != TNB_TNO_TENSOR)
            continue;
        if (!plain_dtype(c->dtype))
            return broken(err, "constant %" PRIu32 " has no element type", i);
        if (!tnb_shape_count((int32_t)c->n_dims, p->dims + c->first_dim, &elems))
            return broken(err, "the extents of constant %" PRIu32 " are out of range", i);
        tnb_err why;
        if (tnb_dtype_storage(c->dtype, elems, &bytes, &why) != TNB_OK || bytes != c->bytes)
            return broken(err,
                          "constant %" PRIu32 " has %" PRIu64
                          " bytes, which its shape does not give",
                          i, c->bytes);
        if (c->data % TNB_TNO_ALIGN || c->data > constants_bytes ||
            c->bytes > constants_bytes - c->data)
            return broken(err,
                          "constant %" PRIu32 " lies outside the constants of %" PRIu64 " bytes", i,
                          constants_bytes);
    }
    return TNB_OK;
}

static tnb_status
check_map(const tnb_tensor_map *m, uint32_t i, tnb_err *err)
{
    if (!plain_dtype(m->dtype) || m->dtype.lanes != 1)
        return broken(err, "tensor map %" PRIu32 " has no element type", i);
    if (m->rank < 1 || m->rank > TNB_MAP_RANK || m->fill > TNB_MAP_NANS || m->reserved ||
        (m->swizzle && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128))
        return broken(err,
                      "tensor map %" PRIu32 " has a rank, swizzle or fill that there is none of",
                      i);
    for (int k = 0; k < TNB_MAP_RANK; k++)
        if ((m->box[k] == 0) != (k >= m->rank))
            return broken(err,
                          "the tile of tensor map %" PRIu32 " has %" PRIu32 " elements on axis %d",
                          i, m->box[k], k);
    return TNB_OK;
}

static tnb_status
check_param(const tnb_tno_view *p, uint32_t i, tnb_err *err)
{
    const tnb_tno_param *q = &p->params[i];
    bool memory = tnb_param_is_memory(q->kind), map = q->kind == TNB_PARAM_TENSOR_MAP;
    if (q->kind < TNB_PARAM_BUFFER || q->kind >= TNB_PARAM_END)
        return broken(err, "parameter %" PRIu32 " is of unknown kind %d", i, (int)q->kind);
    if (q->flags & ~(memory ? TNB_TNO_WRITTEN : 0) || (!map && q->map) ||
        (!memory && !map && q->ndim))
        return broken(err, "parameter %" PRIu32 " says what its kind has not", i);
    if (q->kind == TNB_PARAM_SCALAR
            ? !plain_dtype(q->dtype) || q->dtype.lanes != 1 || q->dtype.bits > 64
            : !memory && q->dtype.bits)
        return broken(err, "parameter %" PRIu32 " has a type that its kind has not", i);
    if (map && (q->map >= p->head.n_maps || q->ndim != p->maps[q->map].rank))
        return broken(err,
                      "parameter %" PRIu32 " is tensor map %" PRIu32 " of %" PRIu32 ", rank %d", i,
                      q->map, p->head.n_maps, (int)q->ndim);
    return TNB_OK;
}

static tnb_status
check_kernel(const tnb_tno_view *p, uint32_t i, tnb_err *err)
{
    const tnb_tno_kernel *k = &p->kernels[i];
    uint32_t refused = 0, tags = 0;
    TNB_TRY(check_text(p, k->name, "a kernel", err));
    if (k->device >= p->head.n_devices)
        return broken(err, "kernel %" PRIu32 " is for device %" PRIu32 " of %" PRIu32, i, k->device,
                      p->head.n_devices);
    if (k->flags >= TNB_TNO_CHECKED << 1 || k->reserved[0] || k->reserved[1] ||
        (!(k->flags & TNB_TNO_GRID) && k->flags & ~(uint32_t)TNB_TNO_CHECKED))
        return broken(err, "kernel %" PRIu32 " has flags that are not known, or no grid for them",
                      i);
    if (!within(k->first_param, k->n_params, p->head.n_params))
        return broken(err, "the parameters of kernel %" PRIu32 " lie outside the tables", i);
    if (k->n_params > UINT16_MAX)
        return broken(err, "kernel %" PRIu32 " has too many parameters", i);
    for (uint32_t j = 0; j < k->n_params; j++) {
        refused += p->params[k->first_param + j].kind == TNB_PARAM_REFUSED;
        tags += p->params[k->first_param + j].kind == TNB_PARAM_TAG;
    }
    if (refused > 1 || tags > refused || (refused == 1) != ((k->flags & TNB_TNO_CHECKED) != 0))
        return broken(err,
                      "kernel %" PRIu32 " has %" PRIu32 " places for a refused index and %" PRIu32
                      " tags",
                      i, refused, tags);
    return k->flags & TNB_TNO_CHECKED ? check_text(p, k->checks, "the checks of a kernel", err)
                                      : TNB_OK;
}

static tnb_status
check_tables(const tnb_tno_view *p, uint64_t constants_bytes, tnb_err *err)
{
    const tnb_tno_program *h = &p->head;
    for (uint32_t i = 0; i < h->n_packed; i++)
        TNB_TRY(check_text(p, p->packed[i], "a packed function", err));
    for (uint32_t i = 0; i < h->n_devices; i++) {
        TNB_TRY(check_text(p, p->devices[i].driver, "a device", err));
        TNB_TRY(check_text(p, p->devices[i].scope, "a memory scope", err));
        if (p->devices[i].id > 65535)
            return broken(err, "device number %" PRIu32 " is out of range", p->devices[i].id);
    }
    for (uint32_t i = 0; i < h->n_maps; i++)
        TNB_TRY(check_map(&p->maps[i], i, err));
    for (uint32_t i = 0; i < h->n_params; i++)
        TNB_TRY(check_param(p, i, err));
    for (uint32_t i = 0; i < h->n_kernels; i++)
        TNB_TRY(check_kernel(p, i, err));
    return check_constants(p, constants_bytes, err);
}

/* ---- instructions ---- */

struct place {
    const tnb_tno_view *p;
    const tnb_tno_function *f;
    uint32_t index; /* of the function */
    uint32_t at;    /* of the instruction within it */
    const tnb_vm_insn *insn;
};

static tnb_status
bad(const struct place *w, tnb_err *err, const char *what, uint64_t found, uint64_t limit)
{
    return broken(err,
                  "function '%s', instruction %" PRIu32 " (%s): %s %" PRIu64
                  " is out of range (%" PRIu64 ")",
                  w->p->text + w->f->name, w->at,
                  w->insn->op < TNB_VM_N_OPS ? op_infos[w->insn->op].name : "?", what, found,
                  limit);
}

static tnb_status
check_field(const struct place *w, uint8_t use, uint32_t v, tnb_err *err)
{
    const tnb_tno_program *h = &w->p->head;
    switch (use) {
    case NO:
        return v == 0 ? TNB_OK : bad(w, err, "unused field", v, 0);
    case SD:
    case SS:
        return v < w->f->n_scalars ? TNB_OK : bad(w, err, "scalar register", v, w->f->n_scalars);
    case VD:
    case VS:
        return v < w->f->n_values ? TNB_OK : bad(w, err, "value register", v, w->f->n_values);
    case T:
        return v < w->f->n_insns ? TNB_OK : bad(w, err, "jump target", v, w->f->n_insns);
    case FN:
        return v < h->n_functions ? TNB_OK : bad(w, err, "function", v, h->n_functions);
    case PK:
        return v < h->n_packed ? TNB_OK : bad(w, err, "packed function", v, h->n_packed);
    case KN:
        return v < h->n_kernels ? TNB_OK : bad(w, err, "kernel", v, h->n_kernels);
    case CO:
        return v < h->n_constants ? TNB_OK : bad(w, err, "constant", v, h->n_constants);
    case ST:
        return v < h->n_text ? TNB_OK : bad(w, err, "text", v, h->n_text);
    case DV:
        return v < h->n_devices ? TNB_OK : bad(w, err, "device", v, h->n_devices);
    case L:
        return within(v, w->insn->aux, h->n_operands) ? TNB_OK
                                                      : bad(w, err, "operand", v, h->n_operands);
    default:
        return TNB_OK; /* immediate */
    }
}

static tnb_status
check_operands(const struct place *w, tnb_err *err)
{
    for (uint32_t i = 0; i < w->insn->aux; i++) {
        uint32_t o = w->p->operands[w->insn->c + i], index = TNB_VM_OPERAND_INDEX(o);
        switch (TNB_VM_OPERAND_KIND(o)) {
        case TNB_VM_VALUE:
            TNB_TRY(check_field(w, VS, index, err));
            break;
        case TNB_VM_CONST_:
            TNB_TRY(check_field(w, CO, index, err));
            break;
        default:
            TNB_TRY(check_field(w, SS, index, err));
        }
    }
    return TNB_OK;
}

/* Whether operand i of the list is of one of the kinds in `mask` (bits 1 << kind). */
static tnb_status
need_kind(const struct place *w, uint32_t i, unsigned mask, tnb_err *err)
{
    uint32_t kind = TNB_VM_OPERAND_KIND(w->p->operands[w->insn->c + i]);
    return mask >> kind & 1 ? TNB_OK : bad(w, err, "kind of an operand:", kind, i);
}

enum {
    OBJECTS = 1 << TNB_VM_VALUE | 1 << TNB_VM_CONST_,
    INTS = 1 << TNB_VM_INT,
    FLOATS = 1 << TNB_VM_FLOAT
};

static tnb_status
check_launch(const struct place *w, tnb_err *err)
{
    const tnb_tno_kernel *k = &w->p->kernels[w->insn->b];
    uint32_t n = w->insn->aux, at = 0;
    uint64_t want = (k->flags & TNB_TNO_GRID ? 6 : 0) + (k->flags & TNB_TNO_CLUSTER ? 3 : 0) +
                    (k->flags & TNB_TNO_SHARED ? 1 : 0);
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnb_tno_param *q = &w->p->params[k->first_param + i];
        uint32_t own = tnb_tno_operands(q);
        want += own;
        for (uint32_t j = 0; j < own && at < n; j++) {
            unsigned mask = j ? INTS : OBJECTS;
            if (q->kind == TNB_PARAM_SCALAR)
                mask = tnb_dtype_is_float(q->dtype) ? FLOATS : INTS;
            TNB_TRY(need_kind(w, at++, mask, err));
        }
    }
    if (n != want)
        return bad(w, err, "number of arguments", n, want);
    for (; at < n; at++)
        TNB_TRY(need_kind(w, at, INTS, err));
    return TNB_OK;
}

/* What a single opcode demands beyond its fields. */
static tnb_status
check_special(const struct place *w, tnb_err *err)
{
    const tnb_vm_insn *in = w->insn;
    tnb_dtype d = tnb_vm_to_dtype(in->aux | 1u << 16);
    switch (in->op) {
    case TNB_VM_EXT:
        return (in->aux & 255) >= 1 && (in->aux & 255) <= 64 && in->aux < 512
                   ? TNB_OK
                   : bad(w, err, "width", in->aux, 64);
    case TNB_VM_ADDFIT:
    case TNB_VM_SUBFIT:
    case TNB_VM_MULFIT:
        return check_field(w, T, w->at + in->aux, err);
    case TNB_VM_FIT:
        if (in->c)
            TNB_TRY(in->c <= UINT16_MAX ? check_field(w, T, w->at + in->c, err)
                                        : bad(w, err, "distance", in->c, UINT16_MAX));
        return in->aux >= 1 && in->aux <= 64 ? TNB_OK : bad(w, err, "width", in->aux, 64);
    case TNB_VM_FROUND:
        return tnb_dtype_is_float(d) && (d.bits == 16 || d.bits == 32 || d.bits == 64)
                   ? TNB_OK
                   : bad(w, err, "float format", in->aux, 0);
    case TNB_VM_FMATH1:
    case TNB_VM_FMATH2:
        return in->aux < TNB_VM_N_MATHS && math_args[in->aux] == (in->op == TNB_VM_FMATH1 ? 1 : 2)
                   ? TNB_OK
                   : bad(w, err, "mathematical function", in->aux, TNB_VM_N_MATHS);
    case TNB_VM_LOADI:
    case TNB_VM_STOREI:
        return tnb_dtype_is_int(d) || tnb_dtype_is_bool(d) ? TNB_OK
                                                           : bad(w, err, "dtype", in->aux, 0);
    case TNB_VM_LOADF:
    case TNB_VM_STOREF:
        return tnb_dtype_is_float(d) ? TNB_OK : bad(w, err, "dtype", in->aux, 0);
    case TNB_VM_ASSERT:
        for (uint32_t i = 0; i < in->aux; i++)
            TNB_TRY(need_kind(w, i, INTS, err));
        return TNB_OK;
    case TNB_VM_SHAPE:
        for (uint32_t i = 0; i < in->aux; i++)
            TNB_TRY(need_kind(w, i, INTS, err));
        return in->aux <= TNB_TNO_MAX_DIMS ? TNB_OK
                                           : bad(w, err, "rank", in->aux, TNB_TNO_MAX_DIMS);
    case TNB_VM_HOSTT:
        for (uint32_t i = 0; i < in->aux; i++)
            TNB_TRY(need_kind(w, i, INTS, err));
        return in->aux <= TNB_TNO_MAX_DIMS && plain_dtype(tnb_vm_to_dtype(in->b))
                   ? TNB_OK
                   : bad(w, err, "dtype or rank", in->b, in->aux);
    case TNB_VM_ALLOCT:
        if (in->aux < 2 || in->aux > TNB_TNO_MAX_DIMS + 2 || !plain_dtype(tnb_vm_to_dtype(in->b)))
            return bad(w, err, "dtype or rank", in->b, in->aux);
        TNB_TRY(need_kind(w, 0, OBJECTS, err));
        TNB_TRY(need_kind(w, 1, INTS, err));
        for (uint32_t i = 2; i < in->aux; i++)
            TNB_TRY(need_kind(w, i, in->aux == 3 ? INTS | OBJECTS : INTS, err));
        return TNB_OK;
    case TNB_VM_CALL: {
        uint32_t want = w->p->functions[in->b].n_params;
        return in->aux == want ? TNB_OK : bad(w, err, "number of arguments", in->aux, want);
    }
    case TNB_VM_TAIL:
        return in->aux == w->f->n_params
                   ? TNB_OK
                   : bad(w, err, "number of arguments", in->aux, w->f->n_params);
    case TNB_VM_LAUNCH:
        return check_launch(w, err);
    default:
        return TNB_OK;
    }
}

static tnb_status
check_function(const tnb_tno_view *p, uint32_t index, tnb_err *err)
{
    const tnb_tno_function *f = &p->functions[index];
    if (f->n_insns == 0)
        return broken(err, "function '%s' is empty", p->text + f->name);
    if (f->n_params > f->n_values || f->n_values > MAX_REGISTERS || f->n_scalars > MAX_REGISTERS)
        return broken(err,
                      "function '%s' has %" PRIu32 " parameters, %" PRIu32 " value and %" PRIu32
                      " scalar registers",
                      p->text + f->name, f->n_params, f->n_values, f->n_scalars);
    for (uint32_t i = 0; i < f->n_insns; i++) {
        const tnb_vm_insn *in = &p->insns[f->first_insn + i];
        struct place w = {.p = p, .f = f, .index = index, .at = i, .insn = in};
        if (in->op >= TNB_VM_N_OPS)
            return bad(&w, err, "opcode", in->op, TNB_VM_N_OPS);
        const struct op_info *o = &op_infos[in->op];
        TNB_TRY(check_field(&w, o->a, in->a, err));
        TNB_TRY(check_field(&w, o->b, in->b, err));
        TNB_TRY(check_field(&w, o->c, in->c, err));
        if (o->c == L)
            TNB_TRY(check_operands(&w, err));
        TNB_TRY(check_special(&w, err));
    }
    uint16_t last = p->insns[f->first_insn + f->n_insns - 1].op;
    if (last != TNB_VM_RET && last != TNB_VM_JMP && last != TNB_VM_TAIL)
        return broken(err, "function '%s' runs past its end", p->text + f->name);
    return TNB_OK;
}

tnb_status
tnb_tno_verify(const void *bytes, uint64_t n, uint64_t constants_bytes, tnb_tno_view *out,
               tnb_err *err)
{
    tnb_tno_view p = {0};
    struct cursor c = {.at = bytes, .left = n};
    if (n < sizeof p.head)
        return broken(err, "the program's section is too short");
    memcpy(&p.head, bytes, sizeof p.head);
    c.at += sizeof p.head;
    c.left -= sizeof p.head;
    TNB_TRY(take_arrays(&c, &p, err));
    TNB_TRY(check_tables(&p, constants_bytes, err));
    uint32_t next = 0;
    for (uint32_t i = 0; i < p.head.n_functions;
         i++) { /* names and ranges first: calls refer to other functions */
        const tnb_tno_function *f = &p.functions[i];
        TNB_TRY(check_text(&p, f->name, "a function", err));
        if (f->first_insn != next || f->n_insns > p.head.n_insns - next)
            return broken(err, "the instructions of function '%s' do not follow those before",
                          p.text + f->name);
        next += f->n_insns;
    }
    if (next != p.head.n_insns)
        return broken(err, "%" PRIu32 " instructions belong to no function", p.head.n_insns - next);
    for (uint32_t i = 0; i < p.head.n_functions; i++)
        TNB_TRY(check_function(&p, i, err));
    *out = p;
    return TNB_OK;
}
