/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in SPIR-V: parameters, memory, values and structured control flow (spirv_kernel.h). What the parameters' block is like
 * says payload.h; features and limits are those of the target.
 */
#include "spirv_kernel.h"

#include <string.h>

#include "tenon/core/text.h"

enum { WORD = 4 };

bool
spirv_has(spirv_kernel *k, gpu_generic_feature f)
{
    static const struct {
        gpu_generic_feature f;
        SpvCapability c;
    } rows[] = {
        {GPU_GENERIC_INT64, SpvCapabilityInt64},
        {GPU_GENERIC_FLOAT64, SpvCapabilityFloat64},
        {GPU_GENERIC_FLOAT16, SpvCapabilityFloat16},
        {GPU_GENERIC_INT8, SpvCapabilityInt8},
        {GPU_GENERIC_INT16, SpvCapabilityInt16},
        {GPU_GENERIC_STORAGE8, SpvCapabilityStorageBuffer8BitAccess},
        {GPU_GENERIC_STORAGE16, SpvCapabilityStorageBuffer16BitAccess},
        {GPU_GENERIC_POINTERS, SpvCapabilityPhysicalStorageBufferAddresses},
        {GPU_GENERIC_ARITHMETIC, SpvCapabilityGroupNonUniformArithmetic},
        {GPU_GENERIC_CLUSTERED, SpvCapabilityGroupNonUniformClustered},
        {GPU_GENERIC_SHUFFLE, SpvCapabilityGroupNonUniformShuffle},
    };
    if (!(k->limits->has >> f & 1))
        return false;
    if (k->used >> f & 1)
        return true;
    k->used |= 1u << f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].f == f)
            spirv_capability(&k->m, rows[i].c);
    if (f == GPU_GENERIC_STORAGE8)
        spirv_extension(&k->m, "SPV_KHR_8bit_storage");
    if (f == GPU_GENERIC_POINTERS)
        spirv_extension(&k->m, "SPV_KHR_physical_storage_buffer");
    return true;
}

bool
spirv_need(spirv_kernel *k, gpu_generic_feature f)
{
    if (!spirv_has(k, f))
        tnk_visit_fail(k->v, 0, "it needs the feature '%s', which the target does not have",
                       gpu_generic_feature_name(f));
    return !k->v->failed;
}

/* ---- memory ---- */

static bool
is_half(tnb_dtype d)
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
    if (is_half(d))
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

static bool
has_block(const spirv_kernel *k)
{
    return k->flags & GPU_GENERIC_BLOCK;
}

/* A record of an array of elements of unknown number, in memory that the host gives. */
static uint32_t
record_of(spirv_kernel *k, uint32_t elem, uint32_t bytes, bool written)
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

static tnk_id
parameter(spirv_kernel *k, uint32_t i);

/* Memory of the parameter of this number. */
static spirv_memory
given_memory(spirv_kernel *k, uint32_t param, uint32_t elem, uint32_t bytes, bool written)
{
    spirv *m = &k->m;
    bool addresses = k->flags & GPU_GENERIC_ADDRESSES;
    spirv_memory r = {.elem = elem, .bytes = bytes};
    if (addresses) {
        r.room = SpvStorageClassPhysicalStorageBuffer;
        uint32_t type = SPIRV_TYPE(m, OpTypePointer, r.room, record_of(k, elem, bytes, written));
        r.pointer = AT_ENTRY(k, OpBitcast, type, parameter(k, param));
        return r;
    }
    uint32_t binding = 1;
    for (uint32_t i = 0; i < param; i++)
        binding += tnb_param_is_memory(k->kernel->params[i].kind) ||
                   k->kernel->params[i].kind == TNB_PARAM_REFUSED;
    uint32_t record = record_of(k, elem, bytes, written),
             pointer = SPIRV_TYPE(m, OpTypePointer, SpvStorageClassStorageBuffer, record);
    r.room = SpvStorageClassStorageBuffer;
    r.pointer = m->next++;
    SPIRV(m, &m->globals, OpVariable, pointer, r.pointer, SpvStorageClassStorageBuffer);
    SPIRV(m, &m->marks, OpDecorate, r.pointer, SpvDecorationDescriptorSet, 0);
    SPIRV(m, &m->marks, OpDecorate, r.pointer, SpvDecorationBinding, binding);
    r.offset[0] = parameter(k, param);
    return r;
}

static tnk_id
memory(tnk_visitor *v, const tnk_place *p)
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
        r = given_memory(k, (uint32_t)(p->param - k->kernel->params), elem, bytes,
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

/* A pointer to an element; `bits` of the index. */
static tnk_id
element(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits)
{
    spirv *m = &k->m;
    uint32_t t = SPIRV_TYPE(m, OpTypePointer, p->room, p->elem),
             word = spirv_const_int(m, 32, 0, 1);
    if (p->offset[0]) {
        bool wide = bits == 64;
        if (wide && !p->offset[1])
            p->offset[1] = AT_ENTRY(k, OpUConvert, spirv_int(m, 64, 1), p->offset[0]);
        at = RESULT(k, OpIAdd, spirv_int(m, bits, 1), at, p->offset[wide]);
    }
    bool given = p->place == NULL || p->place->room == TNK_ROOM_PARAM;
    return given ? RESULT(k, OpAccessChain, t, p->pointer, word, at)
                 : RESULT(k, OpAccessChain, t, p->pointer, at);
}

static bool
is_physical(const spirv_memory *p)
{
    return p->room == SpvStorageClassPhysicalStorageBuffer;
}

static tnk_id
load_element(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits)
{
    tnk_id from = element(k, p, at, bits);
    return is_physical(p) ? RESULT(k, OpLoad, p->elem, from, SpvMemoryAccessAlignedMask, p->bytes)
                          : RESULT(k, OpLoad, p->elem, from);
}

static void
store_element(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits, tnk_id value)
{
    spirv *m = &k->m;
    tnk_id to = element(k, p, at, bits);
    if (is_physical(p))
        SPIRV(m, &m->body, OpStore, to, value, SpvMemoryAccessAlignedMask, p->bytes);
    else
        SPIRV(m, &m->body, OpStore, to, value);
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

static tnk_id
lane(spirv_kernel *k, tnb_dtype d, tnk_id a, uint32_t i)
{
    tnb_dtype one = d;
    one.lanes = 1;
    return d.lanes == 1 ? a : RESULT(k, OpCompositeExtract, spirv_type(k, one), a, i);
}

/* A vector of as many values. */
static tnk_id
together(spirv_kernel *k, tnb_dtype d, const tnk_id *lanes)
{
    uint32_t t = spirv_type(k, d);
    if (!t || d.lanes == 1)
        return t ? lanes[0] : 0;
    return spirv_result(&k->m, &k->m.body, SpvOpCompositeConstruct, t, lanes, d.lanes);
}

static tnk_id
load(tnk_visitor *v, const tn_expr *x, const tnk_place *p, tnk_id at)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_memory *mem = &k->memories.at[p->id - 1];
    tnb_dtype d = tn_dtype_of(x), e = tn_as_buffer(p->buffer)->dtype;
    uint32_t bits = index_bits(((const tn_buffer_load *)x)->indices);
    tnk_id lanes[4];
    if (!spirv_type(k, d))
        return 0;
    if (e.lanes == d.lanes)
        return loaded(k, mem, d, load_element(k, mem, at, bits));
    if (e.lanes != 1)
        return tnk_visit_fail(v, x->loc, "a load of a part of a vector has no form in SPIR-V");
    for (uint32_t i = 0; i < d.lanes; i++)
        lanes[i] = loaded(k, mem, e, load_element(k, mem, moved(k, at, bits, i), bits));
    return together(k, d, lanes);
}

static void
store(tnk_visitor *v, const tn_stmt *s, const tnk_place *p, tnk_id at, tnk_id value)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_memory *mem = &k->memories.at[p->id - 1];
    const tn_buffer_store *st = (const tn_buffer_store *)s;
    tnb_dtype d = tn_dtype_of(st->value), e = tn_as_buffer(p->buffer)->dtype;
    uint32_t bits = index_bits(st->indices);
    if (e.lanes == d.lanes) {
        store_element(k, mem, at, bits, as_stored(k, mem, d, value));
        return;
    }
    if (e.lanes != 1) {
        tnk_visit_fail(v, s->loc, "a store of a part of a vector has no form in SPIR-V");
        return;
    }
    for (uint32_t i = 0; i < d.lanes; i++)
        store_element(k, mem, moved(k, at, bits, i), bits,
                      as_stored(k, mem, e, lane(k, d, value, i)));
}

static tnk_id
atomic(tnk_visitor *v, const tn_call *x, const tnk_place *p, tnk_id at, tnk_id operand)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    spirv_memory *mem = &k->memories.at[p->id - 1];
    const tn_buffer_load *l = tn_as_buffer_load(x->args.at[0]);
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    if (!tnb_dtype_is_int(d) || d.bits != 32 || d.lanes != 1)
        return tnk_visit_fail(v, x->base.loc, "an atomic operation on %s has no form in SPIR-V",
                              tnb_dtype_print(d).s);
    bool shared = p->room == TNK_ROOM_SHARED;
    uint32_t t = spirv_type(k, d),
             scope = spirv_const_int(m, 32, shared ? SpvScopeWorkgroup : SpvScopeDevice, 1),
             none = spirv_const_int(m, 32, SpvMemorySemanticsMaskNone, 1);
    tnk_id to = element(k, mem, at, index_bits(l->indices));
    return tn_is_intrin(TN_NODE(x), TN_INTRIN_atomic_and)
               ? RESULT(k, OpAtomicAnd, t, to, scope, none, operand)
               : RESULT(k, OpAtomicOr, t, to, scope, none, operand);
}

/* ---- parameters ---- */

static bool
is_given(const tnk_param *p)
{
    return tnb_param_is_memory(p->kind) || p->kind == TNB_PARAM_REFUSED;
}

static uint32_t
scalar_bytes(tnb_dtype d)
{
    return d.bits == 64 ? 8 : 4;
}

gpu_generic_param
spirv_kernel_param(const tnk_param *p)
{
    if (p->kind == TNB_PARAM_REFUSED)
        return (gpu_generic_param){p->kind, true, WORD};
    if (p->kind == TNB_PARAM_TAG)
        return (gpu_generic_param){p->kind, false, WORD};
    if (tnb_param_is_memory(p->kind))
        return (gpu_generic_param){p->kind, p->written, (uint32_t)tnb_dtype_bytes(p->dtype)};
    return (gpu_generic_param){p->kind, false, scalar_bytes(p->dtype)};
}

/* What the scalar lies in the block as. */
static uint32_t
scalar_type(spirv_kernel *k, const tnk_param *p)
{
    tnb_dtype d = p->kind == TNB_PARAM_TAG ? TNB_DTYPE(TNB_UINT, 32) : p->dtype;
    if (tnb_dtype_is_bool(d))
        d = TNB_DTYPE(TNB_UINT, 32);
    if (is_half(d))
        d = TNB_F32;
    return spirv_type(k, d);
}

/* A member of the block. */
typedef struct member {
    uint32_t type, offset;
} member;

static uint32_t
member_pointer(spirv_kernel *k, SpvStorageClass room, uint32_t base, uint32_t number, uint32_t type)
{
    spirv *m = &k->m;
    return AT_ENTRY(k, OpAccessChain, SPIRV_TYPE(m, OpTypePointer, room, type), base,
                    spirv_const_int(m, 32, number, 1));
}

static uint32_t
block_record(spirv_kernel *k, const member *members, uint32_t n)
{
    spirv *m = &k->m;
    uint32_t *types = TNB_NEW_N(m->arena, uint32_t, n + 1), record = m->next++;
    types[0] = record;
    for (uint32_t i = 0; i < n; i++) {
        types[i + 1] = members[i].type;
        SPIRV(m, &m->marks, OpMemberDecorate, record, i, SpvDecorationOffset, members[i].offset);
    }
    SPIRV(m, &m->marks, OpDecorate, record, SpvDecorationBlock);
    spirv_put(m, &m->globals, SpvOpTypeStruct, types, n + 1);
    return record;
}

static uint32_t
global_variable(spirv_kernel *k, SpvStorageClass room, uint32_t record)
{
    spirv *m = &k->m;
    uint32_t pointer = SPIRV_TYPE(m, OpTypePointer, room, record), id = m->next++;
    SPIRV(m, &m->globals, OpVariable, pointer, id, room);
    return id;
}

/* The block of parameters as a record: pointers to its members, and to `base` in the push constants. False after an error. */
static bool
declare_block(spirv_kernel *k, uint32_t base[3])
{
    spirv *m = &k->m;
    const tnk_kernel *kernel = k->kernel;
    uint32_t n = 0, end = 0, word = spirv_int(m, 32, 1), first, words = 0;
    bool addresses = k->flags & GPU_GENERIC_ADDRESSES, has_base = k->flags & GPU_GENERIC_BASE;
    member *members = TNB_NEW_N(m->arena, member, kernel->n_params + 3), push[4];
    uint32_t n_push = 0;
    for (uint32_t i = 0; i < 3 && has_base; i++)
        push[n_push++] = (member){word, i * WORD};
    if (has_base && !has_block(k)) {
        memcpy(members, push, n_push * sizeof *push);
        n = 3, end = 12;
    }
    first = n;
    for (uint32_t i = 0; i < kernel->n_params; i++) {
        const tnk_param *p = &kernel->params[i];
        bool given = is_given(p);
        if (given && addresses) {
            /* of words, whatever they are: spirv-val takes a pointer to bytes for bytes in the block */
            if (!words)
                words = SPIRV_TYPE(m, OpTypePointer, SpvStorageClassPhysicalStorageBuffer,
                                   record_of(k, word, WORD, true));
            k->member_types[i] = words;
        } else {
            k->member_types[i] = given ? word : scalar_type(k, p);
        }
        members[n++] =
            (member){k->member_types[i], gpu_generic_place(k->flags, spirv_kernel_param(p), &end)};
        if (k->v->failed)
            return false;
    }
    k->block_bytes = end;
    uint32_t var = 0, room = SpvStorageClassPushConstant, block = 0;
    if (!has_block(k)) {
        if (n)
            block = var =
                global_variable(k, SpvStorageClassPushConstant, block_record(k, members, n));
    } else {
        uint32_t record = block_record(k, members, n);
        if (addresses) {
            room = SpvStorageClassPhysicalStorageBuffer;
            uint32_t pointer =
                SPIRV_TYPE(m, OpTypePointer, SpvStorageClassPhysicalStorageBuffer, record);
            push[n_push++] = (member){pointer, GPU_GENERIC_BLOCK_ADDRESS};
            var = global_variable(k, SpvStorageClassPushConstant, block_record(k, push, n_push));
            block =
                AT_ENTRY(k, OpLoad, pointer,
                         member_pointer(k, SpvStorageClassPushConstant, var, n_push - 1, pointer));
        } else {
            room = SpvStorageClassStorageBuffer;
            block = global_variable(k, SpvStorageClassStorageBuffer, record);
            SPIRV(m, &m->marks, OpDecorate, block, SpvDecorationDescriptorSet, 0);
            SPIRV(m, &m->marks, OpDecorate, block, SpvDecorationBinding, 0);
            for (uint32_t i = 0; i < n; i++)
                SPIRV(m, &m->marks, OpMemberDecorate, record, i, SpvDecorationNonWritable);
            if (n_push)
                var =
                    global_variable(k, SpvStorageClassPushConstant, block_record(k, push, n_push));
        }
    }
    for (uint32_t i = 0; i < 3 && has_base; i++)
        base[i] =
            AT_ENTRY(k, OpLoad, word, member_pointer(k, SpvStorageClassPushConstant, var, i, word));
    for (uint32_t i = 0; i < kernel->n_params; i++)
        k->members[i] =
            member_pointer(k, (SpvStorageClass)room, block, first + i, k->member_types[i]);
    return true;
}

/* The value of a member of the block. */
static tnk_id
parameter(spirv_kernel *k, uint32_t i)
{
    bool in_memory = has_block(k) && k->flags & GPU_GENERIC_ADDRESSES;
    uint32_t bytes = gpu_generic_is_memory(spirv_kernel_param(&k->kernel->params[i])) ? 8u
                     : spirv_kernel_param(&k->kernel->params[i]).bytes > 4            ? 8u
                                                                                      : 4u;
    return in_memory ? AT_ENTRY(k, OpLoad, k->member_types[i], k->members[i],
                                SpvMemoryAccessAlignedMask, bytes)
                     : AT_ENTRY(k, OpLoad, k->member_types[i], k->members[i]);
}

static tnk_id
scalar(tnk_visitor *v, const tnk_param *p)
{
    spirv_kernel *k = spirv_kernel_of(v);
    tnk_id id = parameter(k, (uint32_t)(p - k->kernel->params));
    if (tnb_dtype_is_bool(p->dtype))
        return AT_ENTRY(k, OpINotEqual, spirv_bool(&k->m, 1), id, spirv_const_int(&k->m, 32, 0, 1));
    if (is_half(p->dtype) && spirv_value_dtype(k, p->dtype).bits == 16)
        return AT_ENTRY(k, OpFConvert, spirv_type(k, p->dtype), id);
    return id;
}

/* ---- values ---- */

static tnk_id
constant(tnk_visitor *v, const tn_expr *x)
{
    spirv_kernel *k = spirv_kernel_of(v);
    tnb_dtype d = tn_dtype_of(x), s = spirv_value_dtype(k, d);
    if (!spirv_type(k, d))
        return 0;
    if (x->kind == TN_KIND_FLOAT_IMM)
        return spirv_const_float(&k->m, s.bits, tn_as_float_imm(x)->value, 1);
    int64_t n = tn_as_int_imm(x)->value;
    return tnb_dtype_is_bool(d) ? spirv_const_bool(&k->m, n != 0, 1)
                                : spirv_const_int(&k->m, s.bits, (uint64_t)n, 1);
}

static tnk_id
thread(tnk_visitor *v, tnb_dtype d, bool is_block, int dim)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    uint32_t *id = &k->threads[is_block][dim], *wide = &k->wide[is_block][dim],
             word = spirv_int(m, 32, 1), three = spirv_int(m, 32, 3);
    if (!*id && !is_block && k->local_size[dim] == 1)
        *id = spirv_const_int(m, 32, 0, 1);
    if (!*id && !is_block)
        *id = spirv_subgroup_thread(k, dim);
    if (!*id) {
        if (!k->builtin[is_block])
            k->builtin[is_block] = AT_ENTRY(k, OpLoad, three,
                                            spirv_builtin(m,
                                                          is_block ? SpvBuiltInWorkgroupId
                                                                   : SpvBuiltInLocalInvocationId,
                                                          three));
        *id = AT_ENTRY(k, OpCompositeExtract, word, k->builtin[is_block], (uint32_t)dim);
    }
    if (d.bits <= 32)
        return *id;
    if (!*wide && spirv_type(k, d))
        *wide = AT_ENTRY(k, OpUConvert, spirv_int(m, 64, 1), *id);
    return *wide;
}

/* max(min(x, high), low) or min(max(x, low), high) within 32 bits. */
static bool
is_bounded(const tn_expr *e)
{
    for (int i = 0; i < 2; i++) {
        const tn_binary *b =
            e->kind == TN_KIND_MIN || e->kind == TN_KIND_MAX ? tn_as_binary(e) : NULL;
        const tn_broadcast *spread = b ? tn_as_broadcast(b->b) : NULL;
        const tn_float_imm *f = b ? tn_as_float_imm(spread ? spread->value : b->b) : NULL;
        if (!f || !(f->value > -2147483648.0 && f->value < 2147483648.0))
            return false;
        if (i == 0 && b->a->kind == e->kind)
            return false;
        e = b->a;
    }
    return true;
}

static tnk_id
cast(tnk_visitor *v, const tn_expr *x, tnk_id a)
{
    const tn_expr *from = ((const tn_cast *)x)->value;
    tnb_dtype to = tn_dtype_of(x);
    if (tnb_dtype_is_float(tn_dtype_of(from)) && tnb_dtype_is_int(to) && to.bits <= 32 &&
        is_bounded(from))
        return spirv_bounded_cast(spirv_kernel_of(v), tn_dtype_of(from), to, a);
    return spirv_cast(spirv_kernel_of(v), tn_dtype_of(((const tn_cast *)x)->value), tn_dtype_of(x),
                      a);
}

static tnk_id
not_(tnk_visitor *v, const tn_expr *x, tnk_id a)
{
    spirv_kernel *k = spirv_kernel_of(v);
    return RESULT(k, OpLogicalNot, spirv_type(k, tn_dtype_of(x)), a);
}

static tnk_id
binary(tnk_visitor *v, const tn_expr *x, tnk_id a, tnk_id b)
{
    return spirv_operation(spirv_kernel_of(v), x, (tn_kind)x->kind, a, b);
}

static tnk_id
spread(spirv_kernel *k, tnb_dtype d, tnk_id a)
{
    const tnk_id all[4] = {a, a, a, a};
    return together(k, d, all);
}

static tnk_id
select_(tnk_visitor *v, const tn_expr *x, tnk_id cond, tnk_id a, tnk_id b)
{
    spirv_kernel *k = spirv_kernel_of(v);
    tnb_dtype d = tn_dtype_of(x), c = tn_dtype_of(((const tn_select *)x)->cond);
    if (c.lanes < d.lanes) {
        c.lanes = d.lanes;
        cond = spread(k, c, cond);
    }
    return spirv_select(k, d, cond, a, b);
}

static tnk_id
broadcast(tnk_visitor *v, const tn_expr *x, tnk_id a)
{
    if (tn_dtype_of(((const tn_broadcast *)x)->value).lanes > 1)
        return tnk_visit_fail(v, x->loc, "a Broadcast of a vector has no form in SPIR-V");
    return spread(spirv_kernel_of(v), tn_dtype_of(x), a);
}

static tnk_id
ramp(tnk_visitor *v, const tn_expr *x, tnk_id start, tnk_id stride)
{
    spirv_kernel *k = spirv_kernel_of(v);
    tnb_dtype d = tn_dtype_of(x), one = d;
    tnk_id lanes[4] = {start};
    one.lanes = 1;
    if (!spirv_type(k, d))
        return 0;
    for (uint32_t i = 1; i < d.lanes; i++)
        lanes[i] =
            spirv_wrapped(k, one, RESULT(k, OpIAdd, spirv_type(k, one), lanes[i - 1], stride));
    return together(k, d, lanes);
}

static tnk_id
shuffle(tnk_visitor *v, const tn_expr *x, const tnk_id *vectors, uint32_t n)
{
    spirv_kernel *k = spirv_kernel_of(v);
    const tn_shuffle *s = (const tn_shuffle *)x;
    tnb_dtype d = tn_dtype_of(x);
    tnk_id lanes[4];
    if (!spirv_type(k, d))
        return 0;
    for (uint32_t i = 0; i < d.lanes; i++) {
        int64_t at = 0;
        if (!tn_int_value(s->indices.at[i], &at))
            return 0;
        for (uint32_t j = 0; j < n; j++) {
            tnb_dtype of = tn_dtype_of(s->vectors.at[j]);
            if (at >= 0 && at < of.lanes)
                lanes[i] = lane(k, of, vectors[j], (uint32_t)at);
            at -= of.lanes;
        }
    }
    return together(k, d, lanes);
}

/* ---- control flow ---- */

static spirv_construct *
open_construct(spirv_kernel *k)
{
    spirv_construct c = {0};
    TNB_PUSH(k->m.arena, k->open, c);
    return &k->open.at[k->open.n - 1];
}

static spirv_construct *
top(spirv_kernel *k)
{
    return &k->open.at[k->open.n - 1];
}

/* Into a branch of two, of which the second may be empty. */
static void
part(spirv_kernel *k, tnk_id cond)
{
    spirv *m = &k->m;
    spirv_construct *c = open_construct(k);
    c->label = m->next++, c->other = m->next++, c->merge = m->next++;
    SPIRV(m, &m->body, OpSelectionMerge, c->merge, SpvSelectionControlMaskNone);
    spirv_branch_if(m, cond, c->label, c->other);
    spirv_block(m, c->label);
}

static void
other(spirv_kernel *k)
{
    spirv_construct *c = top(k);
    c->from = k->m.label;
    spirv_branch(&k->m, c->merge);
    spirv_block(&k->m, c->other);
    c->other = 0;
}

static spirv_construct
join(spirv_kernel *k)
{
    if (top(k)->other)
        other(k);
    spirv_construct c = *top(k);
    c.next = k->m.label;
    spirv_branch(&k->m, c.merge);
    spirv_block(&k->m, c.merge);
    k->open.n--;
    return c;
}

static void
choice_begin(tnk_visitor *v, const tn_expr *x, tnk_id cond)
{
    (void)x;
    part(spirv_kernel_of(v), cond);
}

static void
choice_other(tnk_visitor *v, const tn_expr *x, tnk_id first)
{
    (void)x;
    top(spirv_kernel_of(v))->first = first;
    other(spirv_kernel_of(v));
}

static tnk_id
choice_end(tnk_visitor *v, const tn_expr *x, tnk_id second)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_construct c = join(k);
    uint32_t t = spirv_type(k, tn_dtype_of(x));
    return t ? RESULT(k, OpPhi, t, c.first, c.from, second, c.next) : 0;
}

static void
if_begin(tnk_visitor *v, const tn_stmt *s, tnk_id cond)
{
    (void)s;
    part(spirv_kernel_of(v), cond);
}

static void
if_else(tnk_visitor *v, const tn_stmt *s)
{
    (void)s;
    other(spirv_kernel_of(v));
}

static void
if_end(tnk_visitor *v, const tn_stmt *s)
{
    (void)s;
    (void)join(spirv_kernel_of(v));
}

/* header: var = phi(from, next); merge; test: var < end; body ...; continue: next = var + 1; header */
static tnk_id
loop_begin(tnk_visitor *v, const tn_for_loop *f, tnk_id from, tnk_id end)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    tnb_dtype d = tn_dtype_of(f->var);
    uint32_t t = spirv_type(k, d), before = m->label, test = m->next++, body = m->next++, cond;
    if (!t)
        return 0;
    spirv_construct *c = open_construct(k);
    c->loop = true;
    c->label = m->next++, c->other = m->next++, c->merge = m->next++, c->next = m->next++;
    c->var = m->next++;
    spirv_branch(m, c->label);
    spirv_block(m, c->label);
    SPIRV(m, &m->body, OpPhi, t, c->var, from, before, c->next, c->other);
    SPIRV(m, &m->body, OpLoopMerge, c->merge, c->other, SpvLoopControlMaskNone);
    spirv_branch(m, test);
    spirv_block(m, test);
    cond = d.code == TNB_UINT ? RESULT(k, OpULessThan, spirv_bool(m, 1), c->var, end)
                              : RESULT(k, OpSLessThan, spirv_bool(m, 1), c->var, end);
    spirv_branch_if(m, cond, body, c->merge);
    spirv_block(m, body);
    return c->var;
}

static void
loop_end(tnk_visitor *v, const tn_for_loop *f)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    spirv_construct c = *top(k);
    tnb_dtype d = tn_dtype_of(f->var);
    spirv_branch(m, c.other);
    spirv_block(m, c.other);
    SPIRV(m, &m->body, OpIAdd, spirv_type(k, d), c.next, c.var, spirv_number(k, d, 1));
    spirv_branch(m, c.label);
    spirv_block(m, c.merge);
    k->open.n--;
}

static void
while_begin(tnk_visitor *v, const tn_stmt *s)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    spirv_construct *c = open_construct(k);
    uint32_t test = m->next++;
    (void)s;
    c->loop = true;
    c->label = m->next++, c->other = m->next++, c->merge = m->next++;
    spirv_branch(m, c->label);
    spirv_block(m, c->label);
    SPIRV(m, &m->body, OpLoopMerge, c->merge, c->other, SpvLoopControlMaskNone);
    spirv_branch(m, test);
    spirv_block(m, test);
}

static void
while_test(tnk_visitor *v, const tn_stmt *s, tnk_id cond)
{
    spirv_kernel *k = spirv_kernel_of(v);
    uint32_t body = k->m.next++;
    (void)s;
    spirv_branch_if(&k->m, cond, body, top(k)->merge);
    spirv_block(&k->m, body);
}

static void
while_end(tnk_visitor *v, const tn_stmt *s)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_construct c = *top(k);
    (void)s;
    spirv_branch(&k->m, c.other);
    spirv_block(&k->m, c.other);
    spirv_branch(&k->m, c.label);
    spirv_block(&k->m, c.merge);
    k->open.n--;
}

/* What stands behind it is a block that nothing reaches. */
static void
leave(tnk_visitor *v, const tn_stmt *s)
{
    spirv_kernel *k = spirv_kernel_of(v);
    uint32_t i = k->open.n;
    while (i > 0 && !k->open.at[i - 1].loop)
        i--;
    if (i == 0) {
        tnk_visit_fail(v, s->loc, "a break or continue stands in no loop");
        return;
    }
    spirv_branch(&k->m,
                 s->kind == TN_KIND_BREAK ? k->open.at[i - 1].merge : k->open.at[i - 1].other);
    spirv_block(&k->m, k->m.next++);
}

/* The words of a refusal: tnb_kernel_refusal. */
enum { STATE, TAG, CHECK, RESERVED, INDEX, EXTENT = INDEX + 2 };

static void
note_word(spirv_kernel *k, spirv_memory *r, uint32_t at, tnk_id value)
{
    store_element(k, r, spirv_const_int(&k->m, 32, at, 1), 32, value);
}

/* Two words of a number, the lower first. */
static void
note_number(spirv_kernel *k, spirv_memory *r, uint32_t at, uint32_t bits, tnk_id n)
{
    spirv *m = &k->m;
    uint32_t word = spirv_int(m, 32, 1), two = spirv_int(m, 32, 2);
    if (bits == 64) {
        tnk_id both = RESULT(k, OpBitcast, two, n);
        note_word(k, r, at, RESULT(k, OpCompositeExtract, word, both, 0));
        note_word(k, r, at + 1, RESULT(k, OpCompositeExtract, word, both, 1));
    } else {
        note_word(k, r, at, n);
        note_word(k, r, at + 1,
                  RESULT(k, OpShiftRightArithmetic, word, n, spirv_const_int(m, 32, 31, 1)));
    }
}

tnk_id
spirv_index(spirv_kernel *k, uint32_t bits, bool wraps, uint32_t check, tnk_id i, tnk_id n)
{
    spirv *m = &k->m;
    uint32_t t = spirv_int(m, bits, 1), b = spirv_bool(m, 1), word = spirv_int(m, 32, 1),
             device = spirv_const_int(m, 32, SpvScopeDevice, 1),
             none = spirv_const_int(m, 32, 0, 1), one = spirv_const_int(m, 32, 1, 1),
             zero = spirv_const_int(m, bits, 0, 1);
    tnk_id at = i;
    if (wraps)
        at = RESULT(k, OpSelect, t, RESULT(k, OpSLessThan, b, i, zero), RESULT(k, OpIAdd, t, i, n),
                    i);
    tnk_id bad = RESULT(k, OpUGreaterThanEqual, b, at, n);
    if (!k->refused)
        return tnk_visit_fail(k->v, 0,
                              "the memory in which refused indices are noted is not given");
    part(k, bad);
    spirv_memory *r = &k->memories.at[k->refused - 1];
    tnk_id state = element(k, r, none, 32),
           was = RESULT(k, OpAtomicCompareExchange, word, state, device, none, none, one, none);
    part(k, RESULT(k, OpIEqual, b, was, none));
    note_word(k, r, TAG, k->tag ? k->tag : none);
    note_word(k, r, CHECK, spirv_const_int(m, 32, check, 1));
    note_number(k, r, INDEX, bits, i);
    note_number(k, r, EXTENT, bits, n);
    (void)join(k);
    (void)join(k);
    return RESULT(k, OpSelect, t, bad, zero, at);
}

/* Threads of a block meet; what they wrote to memory of the block, and to other memory where the kernel needs that, is there for
 * all of them. */
static void
barrier(tnk_visitor *v, const char *scope)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    bool warp = !strcmp(scope, "warp");
    uint32_t meaning = SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask;
    if (k->global_barrier)
        meaning |= SpvMemorySemanticsUniformMemoryMask;
    uint32_t group = spirv_const_int(m, 32, warp ? SpvScopeSubgroup : SpvScopeWorkgroup, 1);
    if (warp)
        spirv_capability(m, SpvCapabilityGroupNonUniform);
    SPIRV(m, &m->body, OpControlBarrier, group, group, spirv_const_int(m, 32, meaning, 1));
}

/* ---- the whole ---- */

static const tnk_visits visits = {
    .size = sizeof(tnk_visits),
    .what = "SPIR-V",
    .memory = memory,
    .scalar = scalar,
    .constant = constant,
    .thread = thread,
    .cast = cast,
    .not_ = not_,
    .binary = binary,
    .select = select_,
    .broadcast = broadcast,
    .ramp = ramp,
    .shuffle = shuffle,
    .atomic = atomic,
    .load = load,
    .call = spirv_call,
    .choice_begin = choice_begin,
    .choice_other = choice_other,
    .choice_end = choice_end,
    .store = store,
    .barrier = barrier,
    .if_begin = if_begin,
    .if_else = if_else,
    .if_end = if_end,
    .loop_begin = loop_begin,
    .loop_end = loop_end,
    .while_begin = while_begin,
    .while_test = while_test,
    .while_end = while_end,
    .leave = leave,
};

static tn_walk_step
find_global_barrier(void *user, const tn_node *n)
{
    const tn_call *c = tn_is_intrin(n, TN_INTRIN_tvm_storage_sync) ? tn_as_call(n) : NULL;
    const tn_string_imm *scope = c ? tn_as_string_imm(c->args.at[0]) : NULL;
    *(bool *)user |= scope && !strcmp(scope->value, "global");
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

enum { MOST_BLOCKS = 65535 }; /* of a dispatch: each device of Vulkan has so many */

/* Whether pointers to the elements can be made of addresses: those to narrow ones take the arithmetic on them, which is then said
 * to be used. */
static bool
can_address(spirv_kernel *k)
{
    uint32_t needed = 0;
    for (uint32_t i = 0; i < k->kernel->n_params; i++) {
        const tnk_param *p = &k->kernel->params[i];
        tnb_dtype d = tnb_param_is_memory(p->kind) ? p->dtype : TNB_F32;
        if (d.bits < 32)
            needed |= 1u << (d.bits == 8           ? GPU_GENERIC_INT8
                             : d.code == TNB_FLOAT ? GPU_GENERIC_FLOAT16
                                                   : GPU_GENERIC_INT16);
    }
    if ((k->limits->has & needed) != needed || !spirv_has(k, GPU_GENERIC_POINTERS))
        return false;
    for (int f = 0; f < GPU_GENERIC_N_FEATURES; f++)
        if (needed >> f & 1)
            (void)spirv_has(k, (gpu_generic_feature)f);
    return true;
}

static uint32_t
flags_of(spirv_kernel *k)
{
    uint32_t flags = can_address(k) ? GPU_GENERIC_ADDRESSES : 0, end = 0;
    int64_t n;
    for (int i = 0; i < 3; i++) {
        const tn_expr *g = k->kernel->grid[i];
        if (g && (!tn_int_value(g, &n) || n > MOST_BLOCKS))
            flags |= GPU_GENERIC_BASE;
    }
    end = flags & GPU_GENERIC_BASE ? 12 : 0;
    for (uint32_t i = 0; i < k->kernel->n_params; i++)
        gpu_generic_place(flags, spirv_kernel_param(&k->kernel->params[i]), &end);
    return end > k->limits->push_bytes ? flags | GPU_GENERIC_BLOCK : flags;
}

static bool
note_block(spirv_kernel *k)
{
    int64_t n, threads = 1;
    tn_loc loc = k->kernel->func->loc;
    for (int i = 0; i < 3; i++) {
        const tn_expr *b = k->kernel->block[i];
        k->local_size[i] = 1;
        if (!b)
            continue;
        if (!tn_int_value(b, &n) || n < 1 || n > UINT16_MAX) {
            tnk_visit_fail(k->v, loc,
                           "how many threads a block has is not known: threadIdx.%c is %s",
                           "xyz"[i], tn_text(k->ctx, b));
            return false;
        }
        k->local_size[i] = (uint32_t)n;
        threads *= n;
    }
    if (threads <= k->limits->threads)
        return true;
    tnk_visit_fail(k->v, loc, "its blocks have %lld threads, the target allows %lld",
                   (long long)threads, (long long)k->limits->threads);
    tnb_diag_hint(tn_diags(k->ctx),
                  "another schedule, or set max_threads_per_block in the target's "
                  "section to what the device has");
    return false;
}

/* What the runtime gives for indices that came as data. */
static void
note_checks(spirv_kernel *k)
{
    k->n_checks = tnk_kernel_checks(k->ctx, k->kernel, &k->checks);
    for (uint32_t i = 0; i < k->kernel->n_params; i++) {
        const tnk_param *p = &k->kernel->params[i];
        if (p->kind == TNB_PARAM_TAG) {
            k->tag = parameter(k, i);
        } else if (p->kind == TNB_PARAM_REFUSED) {
            spirv_memory r = given_memory(k, i, spirv_int(&k->m, 32, 1), WORD, true);
            TNB_PUSH(k->m.arena, k->memories, r);
            k->refused = k->memories.n;
        }
    }
}

static bool
begin(spirv_kernel *k)
{
    spirv *m = &k->m;
    uint32_t base[3] = {0}, word = spirv_int(m, 32, 1), three = spirv_int(m, 32, 3);
    for (uint32_t i = 0; i < k->kernel->n_params; i++) {
        tnb_param_kind kind = k->kernel->params[i].kind;
        if (kind == TNB_PARAM_IMAGE || kind == TNB_PARAM_TENSOR_MAP) {
            tnk_visit_fail(k->v, 0, "%s has no form in SPIR-V",
                           kind == TNB_PARAM_IMAGE ? "an image" : "a tensor map");
            return false;
        }
    }
    if (!note_block(k) || !spirv_subgroup_begin(k))
        return false;
    tn_walk(tn_as_prim_func(k->kernel->func)->body, TN_WALK_ONCE, find_global_barrier, NULL,
            &k->global_barrier);
    k->flags = flags_of(k);
    k->members = TNB_NEW_N(m->arena, uint32_t, k->kernel->n_params + 1);
    k->member_types = TNB_NEW_N(m->arena, uint32_t, k->kernel->n_params + 1);
    if (!declare_block(k, base))
        return false;
    note_checks(k);
    if (k->flags & GPU_GENERIC_BASE) {
        k->builtin[1] = AT_ENTRY(k, OpLoad, three, spirv_builtin(m, SpvBuiltInWorkgroupId, three));
        for (uint32_t i = 0; i < 3; i++)
            k->threads[1][i] = AT_ENTRY(k, OpIAdd, word, base[i],
                                        AT_ENTRY(k, OpCompositeExtract, word, k->builtin[1], i));
    }
    return !k->v->failed;
}

/* What the device promises of numbers that it could otherwise do away with. */
static void
note_float_controls(spirv_kernel *k)
{
    static const struct {
        gpu_generic_feature f;
        SpvCapability c;
        SpvExecutionMode mode;
        uint32_t bits;
        int needs; /* feature by which kernels have such numbers; -1: always */
    } rows[] = {
        {GPU_GENERIC_NAN32, SpvCapabilitySignedZeroInfNanPreserve,
         SpvExecutionModeSignedZeroInfNanPreserve, 32, -1},
        {GPU_GENERIC_NAN16, SpvCapabilitySignedZeroInfNanPreserve,
         SpvExecutionModeSignedZeroInfNanPreserve, 16, GPU_GENERIC_FLOAT16},
        {GPU_GENERIC_NAN64, SpvCapabilitySignedZeroInfNanPreserve,
         SpvExecutionModeSignedZeroInfNanPreserve, 64, GPU_GENERIC_FLOAT64},
        {GPU_GENERIC_DENORM32, SpvCapabilityDenormPreserve, SpvExecutionModeDenormPreserve, 32, -1},
        {GPU_GENERIC_ROUND16, SpvCapabilityRoundingModeRTE, SpvExecutionModeRoundingModeRTE, 16,
         GPU_GENERIC_FLOAT16},
    };
    spirv *m = &k->m;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool applies = rows[i].needs < 0 || k->used >> rows[i].needs & 1;
        if (!applies || !spirv_has(k, rows[i].f))
            continue;
        spirv_extension(m, "SPV_KHR_float_controls");
        spirv_capability(m, rows[i].c);
        TNB_PUSH(m->arena, m->modes, (uint32_t)rows[i].mode);
        TNB_PUSH(m->arena, m->modes, rows[i].bits);
    }
}

static bool
fits_shared(spirv_kernel *k)
{
    if (k->shared_bytes <= k->limits->shared_bytes)
        return true;
    tnk_visit_fail(k->v, 0, "it declares %u bytes of shared memory, the target allows %lld",
                   k->shared_bytes, (long long)k->limits->shared_bytes);
    tnb_diag_hint(tn_diags(k->ctx),
                  "smaller tiles, or set max_shared_memory_per_block in the target's "
                  "section to what the device has");
    return false;
}

bool
spirv_kernel_make(tn_ctx *ctx, const gpu_generic_limits *limits, const tnk_kernel *kernel,
                  spirv_kernel *k, spirv_words *words)
{
    tnk_visitor before = {ctx, kernel, &visits, k, false}; /* of messages, until the visit begins */
    *k = (spirv_kernel){.ctx = ctx, .v = &before, .kernel = kernel, .limits = limits};
    spirv_init(&k->m, tn_scratch(ctx));
    if (!begin(k) || !tnk_visit_kernel(ctx, kernel, &visits, k))
        return false;
    k->v = &before;
    note_float_controls(k);
    if (!fits_shared(k))
        return false;
    uint32_t group[3];
    gpu_generic_group(k->local_size, k->subgroup_size, group);
    *words =
        spirv_finish(&k->m, group,
                     k->flags & GPU_GENERIC_ADDRESSES ? SpvAddressingModelPhysicalStorageBuffer64
                                                      : SpvAddressingModelLogical);
    return !before.failed;
}
