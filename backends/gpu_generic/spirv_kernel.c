/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in SPIR-V: parameters, values and structured control flow (spirv_kernel.h). What the parameters' block is like
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
        {GPU_GENERIC_MATRIX, SPIRV_MATRIX_CAPABILITY},
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
    if (f == GPU_GENERIC_MATRIX)
        spirv_extension(&k->m, "SPV_KHR_cooperative_matrix");
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

/* ---- parameters ---- */

static bool
has_block(const spirv_kernel *k)
{
    return k->flags & GPU_GENERIC_BLOCK;
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
    if (spirv_is_half(d))
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
        bool given = gpu_generic_is_memory(spirv_kernel_param(p));
        if (given && addresses) {
            /* of words, whatever they are: spirv-val takes a pointer to bytes for bytes in the block */
            if (!words)
                words = SPIRV_TYPE(m, OpTypePointer, SpvStorageClassPhysicalStorageBuffer,
                                   spirv_record(k, word, WORD, true));
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
tnk_id
spirv_parameter(spirv_kernel *k, uint32_t i)
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
    tnk_id id = spirv_parameter(k, (uint32_t)(p - k->kernel->params));
    if (tnb_dtype_is_bool(p->dtype))
        return AT_ENTRY(k, OpINotEqual, spirv_bool(&k->m, 1), id, spirv_const_int(&k->m, 32, 0, 1));
    if (spirv_is_half(p->dtype) && spirv_value_dtype(k, p->dtype).bits == 16)
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
    return spirv_together(k, d, all);
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
    return spirv_together(k, d, lanes);
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
                lanes[i] = spirv_lane(k, of, vectors[j], (uint32_t)at);
            at -= of.lanes;
        }
    }
    return spirv_together(k, d, lanes);
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
void
spirv_part(spirv_kernel *k, tnk_id cond)
{
    spirv *m = &k->m;
    spirv_construct *c = open_construct(k);
    c->label = m->next++, c->other = m->next++, c->merge = m->next++;
    SPIRV(m, &m->body, OpSelectionMerge, c->merge, SpvSelectionControlMaskNone);
    spirv_branch_if(m, cond, c->label, c->other);
    spirv_block(m, c->label);
}

void
spirv_other(spirv_kernel *k)
{
    spirv_construct *c = top(k);
    c->from = k->m.label;
    spirv_branch(&k->m, c->merge);
    spirv_block(&k->m, c->other);
    c->other = 0;
}

spirv_construct
spirv_join(spirv_kernel *k)
{
    if (top(k)->other)
        spirv_other(k);
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
    spirv_part(spirv_kernel_of(v), cond);
}

static void
choice_other(tnk_visitor *v, const tn_expr *x, tnk_id first)
{
    (void)x;
    top(spirv_kernel_of(v))->first = first;
    spirv_other(spirv_kernel_of(v));
}

static tnk_id
choice_end(tnk_visitor *v, const tn_expr *x, tnk_id second)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv_construct c = spirv_join(k);
    uint32_t t = spirv_type(k, tn_dtype_of(x));
    return t ? RESULT(k, OpPhi, t, c.first, c.from, second, c.next) : 0;
}

static void
if_begin(tnk_visitor *v, const tn_stmt *s, tnk_id cond)
{
    (void)s;
    spirv_part(spirv_kernel_of(v), cond);
}

static void
if_else(tnk_visitor *v, const tn_stmt *s)
{
    (void)s;
    spirv_other(spirv_kernel_of(v));
}

static void
if_end(tnk_visitor *v, const tn_stmt *s)
{
    (void)s;
    (void)spirv_join(spirv_kernel_of(v));
}

/* header: var = phi(from, next); merge; test: var < end; body ...; continue: next = var + 1; header */
static tnk_id
loop_begin(tnk_visitor *v, const tn_for_loop *f, tnk_id from, tnk_id end)
{
    spirv_kernel *k = spirv_kernel_of(v);
    spirv *m = &k->m;
    tnb_dtype d = tn_dtype_of(f->var);
    uint32_t t = spirv_type(k, d), test = m->next++, body = m->next++, before, cond;
    if (!t)
        return 0;
    spirv_matrix_loop(k, f);
    before = m->label;
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
    spirv_matrix_loop_end(k, f);
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
    spirv_store_element(k, r, spirv_const_int(&k->m, 32, at, 1), 32, value);
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
             device = spirv_const_int(m, 32, k->matrices ? SpvScopeQueueFamily : SpvScopeDevice, 1),
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
    spirv_part(k, bad);
    spirv_memory *r = &k->memories.at[k->refused - 1];
    tnk_id state = spirv_element(k, r, none, 32),
           was = RESULT(k, OpAtomicCompareExchange, word, state, device, none, none, one, none);
    spirv_part(k, RESULT(k, OpIEqual, b, was, none));
    note_word(k, r, TAG, k->tag ? k->tag : none);
    note_word(k, r, CHECK, spirv_const_int(m, 32, check, 1));
    note_number(k, r, INDEX, bits, i);
    note_number(k, r, EXTENT, bits, n);
    (void)spirv_join(k);
    (void)spirv_join(k);
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
    if (k->matrices)
        meaning |= SpvMemorySemanticsMakeAvailableMask | SpvMemorySemanticsMakeVisibleMask;
    uint32_t group = spirv_const_int(m, 32, warp ? SpvScopeSubgroup : SpvScopeWorkgroup, 1);
    if (warp)
        spirv_capability(m, SpvCapabilityGroupNonUniform);
    const uint32_t operands[] = {group, group, spirv_const_int(m, 32, meaning, 1)};
    if (m->body.n < 4 ||
        m->body.at[m->body.n - 4] != (4u << SpvWordCountShift | SpvOpControlBarrier) ||
        memcmp(m->body.at + m->body.n - 3, operands, sizeof operands) != 0)
        spirv_put(m, &m->body, SpvOpControlBarrier, operands, 3);
}

/* ---- the whole ---- */

static const tnk_visits visits = {
    .size = sizeof(tnk_visits),
    .what = "SPIR-V",
    .memory = spirv_memory_begin,
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
    .atomic = spirv_atomic,
    .load = spirv_load,
    .call = spirv_call,
    .choice_begin = choice_begin,
    .choice_other = choice_other,
    .choice_end = choice_end,
    .store = spirv_store,
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
    .nest = spirv_matrix_nest,
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
            k->tag = spirv_parameter(k, i);
        } else if (p->kind == TNB_PARAM_REFUSED) {
            spirv_memory r = spirv_given_memory(k, i, spirv_int(&k->m, 32, 1), WORD, true);
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
    tn_walk(tn_as_prim_func(k->kernel->func)->body, TN_WALK_ONCE, find_global_barrier, NULL,
            &k->global_barrier);
    if (!note_block(k))
        return false;
    spirv_matrix_begin(k);
    if (!spirv_subgroup_begin(k))
        return false;
    k->flags |= flags_of(k);
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
                  bool parts, spirv_kernel *k, spirv_words *words)
{
    tnk_visitor before = {ctx, kernel, &visits, k, false}; /* of messages, until the visit begins */
    *k = (spirv_kernel){.ctx = ctx,
                        .v = &before,
                        .kernel = kernel,
                        .limits = limits,
                        .flags = parts ? GPU_GENERIC_PARTS : 0};
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
