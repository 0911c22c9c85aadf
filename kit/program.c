/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler of VM programs: tables without duplicates, functions filled one after the other, the
 * section's bytes. */
#include "tenon/kit/artifact.h"

#include <inttypes.h>
#include <stdio.h>
#include "tenon/base/hash.h"

struct function {
    tnb_tno_function f;
    TNB_VEC(tnb_vm_insn) insns;
};

struct tnk_program {
    tnb_arena *arena;
    TNB_VEC(struct function) functions;
    uint32_t current; /* the function being filled */
    TNB_VEC(uint32_t) operands;
    TNB_VEC(tnb_tno_kernel) kernels;
    TNB_VEC(tnb_tno_param) params;
    TNB_VEC(tnb_tensor_map) maps;
    TNB_VEC(tnb_tno_constant) constants;
    TNB_VEC(int64_t) dims;
    TNB_VEC(uint32_t) packed;
    TNB_VEC(tnb_tno_device) devices;
    tnb_buf text;
    uint32_t longest;                     /* of the lists of operands */
    tnb_strmap texts, packed_names, keys; /* values: index + 1 */
};

tnk_program *
tnk_program_new(tnb_arena *arena)
{
    tnk_program *p = TNB_NEW(arena, tnk_program);
    p->arena = arena;
    tnb_strmap_init(&p->texts, arena);
    tnb_strmap_init(&p->packed_names, arena);
    tnb_strmap_init(&p->keys, arena);
    return p;
}

/* ---- tables ---- */

/* Texts lie in an arena-backed buffer, because a program has no destructor. */
static uint32_t
append_text(tnk_program *p, const char *s)
{
    size_t n = strlen(s) + 1;
    if (p->text.n + n > p->text.cap) {
        size_t cap = (p->text.n + n) * 2;
        char *grown = tnb_alloc(p->arena, cap);
        if (p->text.n)
            memcpy(grown, p->text.s, p->text.n);
        p->text.s = grown;
        p->text.cap = cap;
    }
    memcpy(p->text.s + p->text.n, s, n);
    p->text.n += n;
    return (uint32_t)(p->text.n - n);
}

static uint32_t
known(const tnb_strmap *m, const char *key)
{
    return (uint32_t)(uintptr_t)tnb_strmap_get(m, key);
}

static void
remember(tnb_strmap *m, const char *key, uint32_t index)
{
    tnb_strmap_set(m, key, (void *)(uintptr_t)(index + 1));
}

uint32_t
tnk_program_text(tnk_program *p, const char *s)
{
    uint32_t i = known(&p->texts, s);
    if (i)
        return i - 1;
    i = append_text(p, s);
    remember(&p->texts, s, i);
    return i;
}

uint32_t
tnk_program_packed(tnk_program *p, const char *name)
{
    uint32_t i = known(&p->packed_names, name);
    if (i)
        return i - 1;
    i = p->packed.n;
    TNB_PUSH(p->arena, p->packed, tnk_program_text(p, name));
    remember(&p->packed_names, name, i);
    return i;
}

uint32_t
tnk_program_packed_count(const tnk_program *p)
{
    return p->packed.n;
}

const char *
tnk_program_packed_name(const tnk_program *p, uint32_t i)
{
    return p->text.s + p->packed.at[i];
}

uint32_t
tnk_program_device(tnk_program *p, const char *driver, uint32_t id, const char *scope)
{
    uint32_t d = tnk_program_text(p, driver), s = tnk_program_text(p, scope);
    for (uint32_t i = 0; i < p->devices.n; i++)
        if (p->devices.at[i].driver == d && p->devices.at[i].id == id &&
            p->devices.at[i].scope == s)
            return i;
    tnb_tno_device dev = {.driver = d, .scope = s, .id = id};
    TNB_PUSH(p->arena, p->devices, dev);
    return p->devices.n - 1;
}

static uint32_t
add_dims(tnk_program *p, const int64_t *dims, uint32_t n)
{
    uint32_t first = p->dims.n;
    for (uint32_t i = 0; i < n; i++)
        TNB_PUSH(p->arena, p->dims, dims[i]);
    return first;
}

/* The constant that the key describes completely, made from `c` and `dims` unless it is there
 * already. */
static uint32_t
constant(tnk_program *p, const char *key, tnb_tno_constant c, const int64_t *dims)
{
    uint32_t i = known(&p->keys, key);
    if (i)
        return i - 1;
    c.first_dim = add_dims(p, dims, c.n_dims);
    i = p->constants.n;
    TNB_PUSH(p->arena, p->constants, c);
    remember(&p->keys, key, i);
    return i;
}

static char *
dims_key(tnk_program *p, const char *prefix, const int64_t *dims, uint32_t n)
{
    enum { MOST = 21 }; /* of a number and the comma */
    const size_t room = strlen(prefix) + (size_t)n * MOST + 1;
    char *key = tnb_alloc(p->arena, room);
    size_t at = (size_t)snprintf(key, room, "%s", prefix);
    for (uint32_t i = 0; i < n; i++)
        at += (size_t)snprintf(key + at, room - at, ",%" PRId64, dims[i]);
    return key;
}

uint32_t
tnk_program_tensor(tnk_program *p, tnb_dtype d, const int64_t *shape, uint32_t ndim,
                   uint64_t offset, uint64_t bytes)
{
    tnb_tno_constant c = {
        .kind = TNB_TNO_TENSOR, .dtype = d, .n_dims = ndim, .data = offset, .bytes = bytes};
    char *key = tnb_printf(p->arena, "t%d.%d.%d@%" PRIu64, d.code, d.bits, d.lanes, offset);
    return constant(p, dims_key(p, key, shape, ndim), c, shape);
}

uint32_t
tnk_program_tensor_on(tnk_program *p, uint32_t index, uint32_t device)
{
    tnb_tno_constant c = p->constants.at[index];
    if (c.kind != TNB_TNO_TENSOR || c.device == device || device > UINT16_MAX)
        return index;
    char *key = tnb_printf(p->arena, "d%" PRIu32 ".%" PRIu32, index, device);
    uint32_t i = known(&p->keys, key);
    if (i)
        return i - 1;
    c.device = (uint16_t)device;
    i = p->constants.n;
    TNB_PUSH(p->arena, p->constants, c);
    remember(&p->keys, key, i);
    return i;
}

uint32_t
tnk_program_shape(tnk_program *p, const int64_t *dims, uint32_t n)
{
    tnb_tno_constant c = {.kind = TNB_TNO_SHAPE, .n_dims = n};
    return constant(p, dims_key(p, "s", dims, n), c, dims);
}

uint32_t
tnk_program_value(tnk_program *p, tnb_tno_constant_kind kind, tnb_dtype d, uint64_t data)
{
    tnb_tno_constant c = {.kind = kind, .dtype = d, .data = data};
    return constant(p,
                    tnb_printf(p->arena, "v%d.%d.%d.%d.%" PRIu64, (int)kind, d.code, d.bits,
                               d.lanes, data),
                    c, NULL);
}

uint32_t
tnk_program_string(tnk_program *p, const char *s)
{
    return tnk_program_value(p, TNB_TNO_STRING, TNB_VOID, tnk_program_text(p, s));
}

uint32_t
tnk_program_map(tnk_program *p, const tnb_tensor_map *map)
{
    for (uint32_t i = 0; i < p->maps.n; i++)
        if (memcmp(&p->maps.at[i], map, sizeof *map) == 0) /* without padding */
            return i;
    TNB_PUSH(p->arena, p->maps, *map);
    return p->maps.n - 1;
}

uint32_t
tnk_program_kernel(tnk_program *p, const char *name, uint32_t flags, uint32_t device,
                   const tnb_tno_param *params, uint32_t n_params, const char *checks)
{
    tnb_tno_kernel k = {.name = tnk_program_text(p, name),
                        .flags = flags | (checks ? TNB_TNO_CHECKED : 0),
                        .device = device,
                        .first_param = p->params.n,
                        .n_params = n_params,
                        .checks = checks ? tnk_program_text(p, checks) : 0};
    for (uint32_t i = 0; i < n_params; i++)
        TNB_PUSH(p->arena, p->params, params[i]);
    TNB_PUSH(p->arena, p->kernels, k);
    return p->kernels.n - 1;
}

/* ---- functions ---- */

uint32_t
tnk_program_function(tnk_program *p, const char *name, uint32_t flags, uint32_t n_params)
{
    struct function fn = {.f = {.name = tnk_program_text(p, name),
                                .flags = flags,
                                .n_params = n_params,
                                .n_values = n_params}};
    TNB_PUSH(p->arena, p->functions, fn);
    return p->functions.n - 1;
}

void
tnk_program_begin(tnk_program *p, uint32_t function)
{
    p->current = function;
}

static struct function *
current(tnk_program *p)
{
    return &p->functions.at[p->current];
}

uint32_t
tnk_program_value_reg(tnk_program *p)
{
    return current(p)->f.n_values++;
}

uint32_t
tnk_program_scalar_reg(tnk_program *p)
{
    return current(p)->f.n_scalars++;
}

uint32_t
tnk_program_emit(tnk_program *p, tnb_vm_op op, uint16_t aux, uint32_t a, uint32_t b, uint32_t c)
{
    struct function *f = current(p);
    tnb_vm_insn in = {.op = (uint16_t)op, .aux = aux, .a = a, .b = b, .c = c};
    TNB_PUSH(p->arena, f->insns, in);
    return f->insns.n - 1;
}

uint32_t
tnk_program_emit_list(tnk_program *p, tnb_vm_op op, uint32_t a, uint32_t b,
                      const uint32_t *operands, uint32_t n)
{
    uint32_t first = p->operands.n;
    p->longest = n > p->longest ? n : p->longest;
    for (uint32_t i = 0; i < n; i++)
        TNB_PUSH(p->arena, p->operands, operands[i]);
    return tnk_program_emit(p, op, (uint16_t)n, a, b, first);
}

uint32_t
tnk_program_here(tnk_program *p)
{
    return current(p)->insns.n;
}

void
tnk_program_patch(tnk_program *p, uint32_t insn, uint32_t target)
{
    tnb_vm_insn *in = &current(p)->insns.at[insn];
    switch (in->op) {
    case TNB_VM_JMP:
        in->a = target;
        break;
    case TNB_VM_JZ:
    case TNB_VM_JNZ:
        in->b = target;
        break;
    case TNB_VM_ADDFIT:
    case TNB_VM_SUBFIT:
    case TNB_VM_MULFIT: /* too far: it stays an error */
        in->aux = target - insn <= UINT16_MAX ? (uint16_t)(target - insn) : 0;
        break;
    case TNB_VM_FIT:
        in->c = target - insn <= UINT16_MAX ? target - insn : 0;
        break;
    default: /* JLT, JGE */
        in->c = target;
    }
}

void
tnk_program_end(tnk_program *p)
{
    struct function *f = current(p);
    f->f.n_insns = f->insns.n;
}

/* ---- the section ---- */

static void
put_array(tnb_buf *out, const void *p, size_t n, size_t item)
{
    static const char zeros[8];
    if (n)
        tnb_buf_put(out, p, n * item);
    tnb_buf_put(out, zeros, -(n * item) & 7);
}

tnb_status
tnk_program_write(const tnk_program *p, tnb_buf *out, tnb_err *err)
{
    TNB_VEC(tnb_tno_function) functions = {0};
    TNB_VEC(tnb_vm_insn) insns = {0};
    for (uint32_t i = 0; i < p->functions.n; i++) {
        tnb_tno_function f = p->functions.at[i].f;
        f.first_insn = insns.n;
        for (uint32_t k = 0; k < f.n_insns; k++)
            TNB_PUSH(p->arena, insns, p->functions.at[i].insns.at[k]);
        TNB_PUSH(p->arena, functions, f);
    }
    bool no_text = p->text.n == 0;
    tnb_tno_program head = {.n_functions = functions.n,
                            .n_insns = insns.n,
                            .n_operands = p->operands.n,
                            .n_kernels = p->kernels.n,
                            .n_params = p->params.n,
                            .n_maps = p->maps.n,
                            .n_constants = p->constants.n,
                            .n_dims = p->dims.n,
                            .n_packed = p->packed.n,
                            .n_devices = p->devices.n,
                            .n_text = no_text ? 1 : (uint32_t)p->text.n};
    if (tnb_arena_failed(p->arena))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a VM program");
    if (p->longest > UINT16_MAX)
        return tnb_fail(err, TNB_BOUNDS,
                        "a VM instruction with %" PRIu32 " operands; at most %d fit (a tuple, or "
                        "the arguments of a call)",
                        p->longest, UINT16_MAX);
    if (p->text.n > UINT32_MAX / 2)
        return tnb_fail(err, TNB_BOUNDS, "the names of a VM program are too long");
    tnb_buf_put(out, &head, sizeof head);
    put_array(out, functions.at, functions.n, sizeof *functions.at);
    put_array(out, insns.at, insns.n, sizeof *insns.at);
    put_array(out, p->operands.at, p->operands.n, sizeof *p->operands.at);
    put_array(out, p->kernels.at, p->kernels.n, sizeof *p->kernels.at);
    put_array(out, p->params.at, p->params.n, sizeof *p->params.at);
    put_array(out, p->maps.at, p->maps.n, sizeof *p->maps.at);
    put_array(out, p->constants.at, p->constants.n, sizeof *p->constants.at);
    put_array(out, p->dims.at, p->dims.n, sizeof *p->dims.at);
    put_array(out, p->packed.at, p->packed.n, sizeof *p->packed.at);
    put_array(out, p->devices.at, p->devices.n, sizeof *p->devices.at);
    put_array(out, no_text ? "" : p->text.s, head.n_text, 1);
    return out->failed ? tnb_fail(err, TNB_NO_MEMORY, "no memory for a VM program") : TNB_OK;
}
