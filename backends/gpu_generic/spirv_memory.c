/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of kernels in SPIR-V: what the host gives, by addresses or descriptors, that of a block and that of a thread; loads, stores and
 * atomic operations on it.
 */
#include "spirv_kernel.h"

#include "tenon/core/text.h"

enum { WORD = 4 };

bool
spirv_is_half(tnb_dtype d)
{
    return d.bits == 16 && (d.code == TNB_FLOAT || d.code == TNB_BFLOAT);
}

/* What an element that the host gives lies in memory as. */
static uint32_t
stored_type(spirv_kernel *k, tnb_dtype d)
{
    spirv *m = &k->m;
    if (d.bits == 8 && (tnb_dtype_is_int(d) || tnb_dtype_is_bool(d)))
        return spirv_need(k, GPU_GENERIC_STORAGE8) ? spirv_int(m, 8, d.lanes) : 0;
    if (d.bits == 16 && (tnb_dtype_is_int(d) || d.code == TNB_BFLOAT))
        return spirv_need(k, GPU_GENERIC_STORAGE16) ? spirv_int(m, 16, d.lanes) : 0;
    if (spirv_is_half(d))
        return spirv_need(k, GPU_GENERIC_STORAGE16) ? spirv_float(m, 16, d.lanes) : 0;
    if (d.bits < 32)
        return tnk_visit_fail(k->v, 0, "memory of %s has no form in SPIR-V", tnb_dtype_print(d).s);
    return spirv_type(k, d);
}

/* The same for memory of a block or of a thread. */
static uint32_t
kept_type(spirv_kernel *k, tnb_dtype d)
{
    bool narrow = tnb_dtype_is_int(d) && ((d.bits == 8 && spirv_has(k, GPU_GENERIC_INT8)) ||
                                          (d.bits == 16 && spirv_has(k, GPU_GENERIC_INT16)));
    return narrow ? spirv_int(&k->m, d.bits, d.lanes) : spirv_type(k, d);
}

/* What a value of the type takes in memory: a bool of a block or thread is counted as a word. */
static uint32_t
bytes_of(spirv_kernel *k, tnb_dtype d, bool given)
{
    bool narrow = tnb_dtype_is_int(d) &&
                  (k->used >> (d.bits == 8 ? GPU_GENERIC_INT8 : GPU_GENERIC_INT16) & 1) &&
                  d.bits < 32;
    if (!given && !narrow)
        d = tnb_dtype_is_bool(d) ? (tnb_dtype){TNB_UINT, 32, d.lanes} : spirv_value_dtype(k, d);
    return d.bits / 8u * (d.lanes == 3 ? 4u : d.lanes);
}

/* A record of an array of elements of unknown number, in memory that the host gives. */
uint32_t
spirv_record(spirv_kernel *k, uint32_t elem, uint32_t bytes, bool written)
{
    spirv *m = &k->m;
    bool fresh;
    uint32_t array = spirv_global(m, SpvOpTypeRuntimeArray, 0, &elem, 1, &fresh),
             record = m->next++;
    if (fresh)
        SPIRV(m, &m->marks, OpDecorate, array, SpvDecorationArrayStride, bytes);
    SPIRV(m, &m->globals, OpTypeStruct, record, array);
    SPIRV(m, &m->marks, OpDecorate, record, SpvDecorationBlock);
    SPIRV(m, &m->marks, OpMemberDecorate, record, 0, SpvDecorationOffset, 0);
    if (!written)
        SPIRV(m, &m->marks, OpMemberDecorate, record, 0, SpvDecorationNonWritable);
    else if (k->global_barrier)
        SPIRV(m, &m->marks, OpMemberDecorate, record, 0, SpvDecorationCoherent);
    return record;
}

/* How many bindings reach all of the memory, wherever it begins behind an aligned base. Where an extent is known at run time only the
 * kernel has two forms. */
uint32_t
spirv_bindings(const tnk_param *p, bool parts)
{
    enum { MOST_BEFORE = 256 }; /* minStorageBufferOffsetAlignment is no more */
    const tn_buffer *b = tnb_param_is_memory(p->kind) ? tn_as_buffer(p->buffer) : NULL;
    uint64_t bytes = b ? (uint64_t)tnb_dtype_bytes(b->dtype) : 0;
    int64_t n;
    for (uint32_t i = 0; b && i < b->shape.n; i++)
        if (!tn_int_value(b->shape.at[i], &n) || n < 0 ||
            __builtin_mul_overflow(bytes, (uint64_t)n, &bytes) || bytes > INT64_MAX)
            return parts ? GPU_GENERIC_MOST_PARTS : 1;
    return (uint32_t)((bytes + MOST_BEFORE - 1) >> GPU_GENERIC_BINDING_BITS) + 1;
}

/* Memory of the parameter of this number. */
spirv_memory
spirv_given_memory(spirv_kernel *k, uint32_t param, uint32_t elem, uint32_t bytes, bool written)
{
    spirv *m = &k->m;
    bool addresses = k->flags & GPU_GENERIC_ADDRESSES;
    spirv_memory r = {.elem = elem, .bytes = bytes};
    if (addresses) {
        r.room = SpvStorageClassPhysicalStorageBuffer;
        uint32_t type = SPIRV_TYPE(m, OpTypePointer, r.room, spirv_record(k, elem, bytes, written));
        r.pointer = AT_ENTRY(k, OpBitcast, type, spirv_parameter(k, param));
        return r;
    }
    bool large = k->flags & GPU_GENERIC_PARTS;
    uint32_t binding = 1, *parts;
    for (uint32_t i = 0; i < param; i++)
        binding += gpu_generic_is_memory(spirv_kernel_param(&k->kernel->params[i]))
                       ? spirv_bindings(&k->kernel->params[i], large)
                       : 0;
    uint32_t record = spirv_record(k, elem, bytes, written),
             pointer = SPIRV_TYPE(m, OpTypePointer, SpvStorageClassStorageBuffer, record);
    r.room = SpvStorageClassStorageBuffer;
    r.n_parts = spirv_bindings(&k->kernel->params[param], large);
    if (r.n_parts > GPU_GENERIC_MAX_BINDINGS) {
        tnk_visit_fail(k->v, 0, "a buffer of more than %u GiB cannot be bound",
                       (unsigned)(GPU_GENERIC_MAX_BINDINGS >> (30 - GPU_GENERIC_BINDING_BITS)));
        r.n_parts = 1;
    }
    r.parts = parts = TNB_NEW_N(m->arena, uint32_t, r.n_parts);
    for (uint32_t i = 0; i < r.n_parts; i++) {
        parts[i] = m->next++;
        SPIRV(m, &m->globals, OpVariable, pointer, parts[i], SpvStorageClassStorageBuffer);
        SPIRV(m, &m->marks, OpDecorate, parts[i], SpvDecorationDescriptorSet, 0);
        SPIRV(m, &m->marks, OpDecorate, parts[i], SpvDecorationBinding, binding + i);
    }
    r.pointer = parts[0];
    r.offset[0] = spirv_parameter(k, param);
    return r;
}

tnk_id
spirv_memory_begin(tnk_visitor *v, const tnk_place *p)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    tnb_dtype d = tn_as_buffer(p->buffer)->dtype;
    bool given = p->room == TNK_ROOM_PARAM;
    uint32_t elem = given ? stored_type(k, d) : kept_type(k, d), bytes = bytes_of(k, d, given);
    spirv_memory r = {.place = p, .elem = elem, .bytes = bytes};
    if (!elem)
        return 0;
    if (given) {
        r = spirv_given_memory(k, (uint32_t)(p->param - k->kernel->params), elem, bytes,
                               p->param->written);
        r.place = p;
    } else {
        bool shared = p->room == TNK_ROOM_SHARED;
        if (p->elements > UINT32_MAX / 16)
            return tnk_visit_fail(v, p->buffer->loc, "the temporary '%s' has %lld elements",
                                  tn_as_buffer(p->buffer)->name, (long long)p->elements);
        uint32_t n = spirv_const_int(m, 32, (uint64_t)(p->elements > 0 ? p->elements : 1), 1),
                 array = SPIRV_TYPE(m, OpTypeArray, elem, n);
        r.room = shared ? SpvStorageClassWorkgroup : SpvStorageClassFunction;
        uint32_t pointer = SPIRV_TYPE(m, OpTypePointer, r.room, array);
        r.pointer = m->next++;
        SPIRV(m, shared ? &m->globals : &m->locals, OpVariable, pointer, r.pointer, r.room);
        if (shared)
            k->shared_bytes += (uint32_t)p->elements * bytes;
    }
    TNB_PUSH(m->arena, k->memories, r);
    return k->memories.n;
}

/* The number of the element in what is bound; `bits` of the index. */
static tnk_id
number_of(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits)
{
    spirv *m = &k->m;
    bool wide = bits == 64;
    if (!p->offset[0])
        return at;
    if (wide && !p->offset[1])
        p->offset[1] = AT_ENTRY(k, OpUConvert, spirv_int(m, 64, 1), p->offset[0]);
    return RESULT(k, OpIAdd, spirv_int(m, bits, 1), at, p->offset[wide]);
}

static tnk_id
pointer_to(spirv_kernel *k, const spirv_memory *p, uint32_t base, tnk_id number)
{
    spirv *m = &k->m;
    uint32_t t = SPIRV_TYPE(m, OpTypePointer, p->room, p->elem);
    bool given = p->place == NULL || p->place->room == TNK_ROOM_PARAM;
    return given ? RESULT(k, OpAccessChain, t, base, spirv_const_int(m, 32, 0, 1), number)
                 : RESULT(k, OpAccessChain, t, base, number);
}

tnk_id
spirv_element(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits)
{
    return pointer_to(k, p, p->pointer, number_of(k, p, at, bits));
}

static bool
is_physical(const spirv_memory *p)
{
    return p->room == SpvStorageClassPhysicalStorageBuffer;
}

uint32_t
spirv_access_mask(const spirv_kernel *k, const spirv_memory *p)
{
    return k->matrices && p->room == SpvStorageClassWorkgroup
               ? (uint32_t)SpvMemoryAccessNonPrivatePointerMask
               : (uint32_t)SpvMemoryAccessMaskNone;
}

static tnk_id
load_from(spirv_kernel *k, const spirv_memory *p, tnk_id from)
{
    uint32_t mask = spirv_access_mask(k, p);
    if (is_physical(p))
        return RESULT(k, OpLoad, p->elem, from, SpvMemoryAccessAlignedMask, p->bytes);
    return mask ? RESULT(k, OpLoad, p->elem, from, mask) : RESULT(k, OpLoad, p->elem, from);
}

void
spirv_store_element(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits, tnk_id value)
{
    spirv *m = &k->m;
    tnk_id to = spirv_element(k, p, at, bits);
    if (is_physical(p))
        SPIRV(m, &m->body, OpStore, to, value, SpvMemoryAccessAlignedMask, p->bytes);
    else if (spirv_access_mask(k, p))
        SPIRV(m, &m->body, OpStore, to, value, spirv_access_mask(k, p));
    else
        SPIRV(m, &m->body, OpStore, to, value);
}

/* ---- memory in several bindings ---- */

/* An element of it: in which binding, and its number there. */
typedef struct part {
    tnk_id binding, number;
    uint32_t bits;
} part;

static part
part_of(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits)
{
    spirv *m = &k->m;
    uint32_t t = spirv_int(m, bits, 1), shift = GPU_GENERIC_BINDING_BITS;
    for (uint32_t b = p->bytes; b > 1; b /= 2)
        shift--;
    at = number_of(k, p, at, bits);
    return (part){RESULT(k, OpShiftRightLogical, t, at, spirv_const_int(m, bits, shift, 1)),
                  RESULT(k, OpBitwiseAnd, t, at,
                         spirv_const_int(m, bits, (UINT64_C(1) << shift) - 1, 1)),
                  bits};
}

static tnk_id
lies_in(spirv_kernel *k, part e, uint32_t binding)
{
    return RESULT(k, OpIEqual, spirv_bool(&k->m, 1), e.binding,
                  spirv_const_int(&k->m, e.bits, binding, 1));
}

/* The value of what lies in memory. */
static tnk_id
loaded(spirv_kernel *k, const spirv_memory *p, tnb_dtype d, tnk_id a)
{
    spirv *m = &k->m;
    uint32_t t = spirv_type(k, d), word = spirv_int(m, 32, d.lanes);
    if (p->elem == t)
        return a;
    if (tnb_dtype_is_bool(d))
        return RESULT(k, OpINotEqual, t, RESULT(k, OpUConvert, word, a),
                      spirv_const_int(m, 32, 0, d.lanes));
    if (d.code == TNB_BFLOAT)
        return spirv_bfloat_value(k, d.lanes, RESULT(k, OpUConvert, word, a));
    if (d.code == TNB_FLOAT)
        return RESULT(k, OpFConvert, t, a);
    return d.code == TNB_INT ? RESULT(k, OpSConvert, t, a) : RESULT(k, OpUConvert, t, a);
}

/* What of the value lies in memory. */
static tnk_id
as_stored(spirv_kernel *k, const spirv_memory *p, tnb_dtype d, tnk_id a)
{
    spirv *m = &k->m;
    uint32_t word = spirv_int(m, 32, d.lanes);
    if (p->elem == spirv_type(k, d))
        return a;
    if (tnb_dtype_is_bool(d))
        a = RESULT(k, OpSelect, word, a, spirv_const_int(m, 32, 1, d.lanes),
                   spirv_const_int(m, 32, 0, d.lanes));
    else if (d.code == TNB_BFLOAT)
        a = spirv_bfloat_bits(k, d.lanes, a);
    if (d.code != TNB_FLOAT)
        return RESULT(k, OpUConvert, p->elem, a);
    a = RESULT(k, OpFConvert, p->elem, a);
    SPIRV(m, &m->marks, OpDecorate, a, SpvDecorationFPRoundingMode, SpvFPRoundingModeRTE);
    return a;
}

/* The value of an element. Of several bindings each is read, at its first element where another one is meant: that needs no branch. */
static tnk_id
value_at(spirv_kernel *k, spirv_memory *p, tnb_dtype d, tnk_id at, uint32_t bits)
{
    spirv *m = &k->m;
    if (p->n_parts <= 1)
        return loaded(k, p, d, load_from(k, p, spirv_element(k, p, at, bits)));
    part e = part_of(k, p, at, bits);
    tnk_id value = 0;
    for (uint32_t i = 0; i < p->n_parts; i++) {
        tnk_id here = lies_in(k, e, i),
               number = RESULT(k, OpSelect, spirv_int(m, bits, 1), here, e.number,
                               spirv_const_int(m, bits, 0, 1)),
               own = loaded(k, p, d, load_from(k, p, pointer_to(k, p, p->parts[i], number)));
        const tnk_id all[4] = {here, here, here, here};
        const tnb_dtype cond = {TNB_BOOL, 8, d.lanes};
        value = i ? spirv_select(k, d, spirv_together(k, cond, all), own, value) : own;
    }
    return value;
}

static void
put_value(spirv_kernel *k, spirv_memory *p, tnb_dtype d, tnk_id at, uint32_t bits, tnk_id value)
{
    value = as_stored(k, p, d, value);
    if (p->n_parts <= 1) {
        spirv_store_element(k, p, at, bits, value);
        return;
    }
    part e = part_of(k, p, at, bits);
    for (uint32_t i = 0; i < p->n_parts; i++) {
        spirv_part(k, lies_in(k, e, i));
        SPIRV(&k->m, &k->m.body, OpStore, pointer_to(k, p, p->parts[i], e.number), value);
        (void)spirv_join(k);
    }
}

static uint32_t
index_bits(tn_list indices)
{
    const tn_ramp *r = tn_as_ramp(indices.at[0]);
    return tn_dtype_of(r ? r->start : indices.at[0]).bits == 64 ? 64 : 32;
}

static tnk_id
moved(spirv_kernel *k, tnk_id at, uint32_t bits, uint32_t by)
{
    return by ? RESULT(k, OpIAdd, spirv_int(&k->m, bits, 1), at,
                       spirv_const_int(&k->m, bits, by, 1))
              : at;
}

tnk_id
spirv_lane(spirv_kernel *k, tnb_dtype d, tnk_id a, uint32_t i)
{
    tnb_dtype one = d;
    one.lanes = 1;
    return d.lanes == 1 ? a : RESULT(k, OpCompositeExtract, spirv_type(k, one), a, i);
}

/* A vector of as many values. */
tnk_id
spirv_together(spirv_kernel *k, tnb_dtype d, const tnk_id *lanes)
{
    uint32_t t = spirv_type(k, d);
    if (!t || d.lanes == 1)
        return t ? lanes[0] : 0;
    return spirv_result(&k->m, &k->m.body, SpvOpCompositeConstruct, t, lanes, d.lanes);
}

tnk_id
spirv_load(tnk_visitor *v, const tn_expr *x, const tnk_place *p, tnk_id at)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_memory *mem = &k->memories.at[p->id - 1];
    tnb_dtype d = tn_dtype_of(x), e = tn_as_buffer(p->buffer)->dtype;
    uint32_t bits = index_bits(((const tn_buffer_load *)x)->indices);
    tnk_id lanes[4];
    if (!spirv_type(k, d))
        return 0;
    if (e.lanes == d.lanes)
        return value_at(k, mem, d, at, bits);
    if (e.lanes != 1)
        return tnk_visit_fail(v, x->loc, "a load of a part of a vector has no form in SPIR-V");
    for (uint32_t i = 0; i < d.lanes; i++)
        lanes[i] = value_at(k, mem, e, moved(k, at, bits, i), bits);
    return spirv_together(k, d, lanes);
}

void
spirv_store(tnk_visitor *v, const tn_stmt *s, const tnk_place *p, tnk_id at, tnk_id value)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_memory *mem = &k->memories.at[p->id - 1];
    const tn_buffer_store *st = (const tn_buffer_store *)s;
    tnb_dtype d = tn_dtype_of(st->value), e = tn_as_buffer(p->buffer)->dtype;
    uint32_t bits = index_bits(st->indices);
    if (e.lanes == d.lanes) {
        put_value(k, mem, d, at, bits, value);
        return;
    }
    if (e.lanes != 1) {
        tnk_visit_fail(v, s->loc, "a store of a part of a vector has no form in SPIR-V");
        return;
    }
    for (uint32_t i = 0; i < d.lanes; i++)
        put_value(k, mem, e, moved(k, at, bits, i), bits, spirv_lane(k, d, value, i));
}

static tnk_id
change(spirv_kernel *k, const tn_call *x, bool shared, tnk_id to, tnk_id operand)
{
    spirv *m = &k->m;
    uint32_t t = spirv_type(k, tn_dtype_of(TN_NODE(x))),
             scope = spirv_const_int(m, 32,
                                     shared        ? SpvScopeWorkgroup
                                     : k->matrices ? SpvScopeQueueFamily
                                                   : SpvScopeDevice,
                                     1),
             none = spirv_const_int(m, 32, SpvMemorySemanticsMaskNone, 1);
    return tn_is_intrin(TN_NODE(x), TN_INTRIN_atomic_and)
               ? RESULT(k, OpAtomicAnd, t, to, scope, none, operand)
               : RESULT(k, OpAtomicOr, t, to, scope, none, operand);
}

tnk_id
spirv_atomic(tnk_visitor *v, const tn_call *x, const tnk_place *p, tnk_id at, tnk_id operand)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_memory *mem = &k->memories.at[p->id - 1];
    uint32_t bits = index_bits(tn_as_buffer_load(x->args.at[0])->indices);
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    if (!tnb_dtype_is_int(d) || d.bits != 32 || d.lanes != 1)
        return tnk_visit_fail(v, x->base.loc, "an atomic operation on %s has no form in SPIR-V",
                              tnb_dtype_print(d).s);
    if (mem->n_parts <= 1)
        return change(k, x, p->room == TNK_ROOM_SHARED, spirv_element(k, mem, at, bits), operand);
    part e = part_of(k, mem, at, bits);
    tnk_id was = spirv_const_int(&k->m, 32, 0, 1);
    for (uint32_t i = 0; i < mem->n_parts; i++) {
        spirv_part(k, lies_in(k, e, i));
        tnk_id own = change(k, x, false, pointer_to(k, mem, mem->parts[i], e.number), operand);
        spirv_construct c = spirv_join(k);
        was = RESULT(k, OpPhi, spirv_type(k, d), own, c.from, was, c.next);
    }
    return was;
}
