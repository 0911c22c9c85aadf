/* SPDX-License-Identifier: Apache-2.0 */
/* A binary form from kernels by the visitor (tenon/kit/visit.h), without text: a small client writes SPIR-V of three kernels
 * (element-wise, a loop, a reduction with barriers), and spirv-val accepts them, where it is installed. What the client lacks is
 * refused with a located message.
 *
 * Numbers of the instructions are those of the SPIR-V specification 1.3, section 3.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "krun.h"
#include "tenon/core/build.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/visit.h"

static krun k;

static int
open_all(void **state)
{
    (void)state;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* ---- the client ---- */

enum op {
    OpExtInstImport = 11,
    OpExtInst = 12,
    OpMemoryModel = 14,
    OpEntryPoint = 15,
    OpExecutionMode = 16,
    OpCapability = 17,
    OpTypeVoid = 19,
    OpTypeBool = 20,
    OpTypeInt = 21,
    OpTypeFloat = 22,
    OpTypeVector = 23,
    OpTypeArray = 28,
    OpTypeRuntimeArray = 29,
    OpTypeStruct = 30,
    OpTypePointer = 32,
    OpTypeFunction = 33,
    OpConstantTrue = 41,
    OpConstantFalse = 42,
    OpConstant = 43,
    OpFunction = 54,
    OpFunctionEnd = 56,
    OpVariable = 59,
    OpLoad = 61,
    OpStore = 62,
    OpAccessChain = 65,
    OpDecorate = 71,
    OpMemberDecorate = 72,
    OpCompositeConstruct = 80,
    OpCompositeExtract = 81,
    OpConvertSToF = 111,
    OpSConvert = 114,
    OpFConvert = 115,
    OpBitcast = 124,
    OpIAdd = 128,
    OpFAdd = 129,
    OpISub = 130,
    OpFSub = 131,
    OpIMul = 132,
    OpFMul = 133,
    OpSDiv = 135,
    OpFDiv = 136,
    OpSMod = 139,
    OpLogicalOr = 166,
    OpLogicalAnd = 167,
    OpLogicalNot = 168,
    OpSelect = 169,
    OpIEqual = 170,
    OpINotEqual = 171,
    OpSGreaterThan = 173,
    OpSGreaterThanEqual = 175,
    OpSLessThan = 177,
    OpSLessThanEqual = 179,
    OpFOrdEqual = 180,
    OpFUnordNotEqual = 183,
    OpFOrdLessThan = 184,
    OpFOrdGreaterThan = 186,
    OpFOrdLessThanEqual = 188,
    OpFOrdGreaterThanEqual = 190,
    OpShiftRightLogical = 194,
    OpShiftRightArithmetic = 195,
    OpShiftLeftLogical = 196,
    OpBitwiseOr = 197,
    OpBitwiseXor = 198,
    OpBitwiseAnd = 199,
    OpNot = 200,
    OpControlBarrier = 224,
    OpAtomicAnd = 240,
    OpAtomicOr = 241,
    OpPhi = 245,
    OpLoopMerge = 246,
    OpSelectionMerge = 247,
    OpLabel = 248,
    OpBranch = 249,
    OpBranchConditional = 250,
    OpReturn = 253
};
enum { PUSH_CONSTANT = 9, FUNCTION = 7, STORAGE_BUFFER = 12, WORKGROUP = 4, INPUT = 1 };
enum { MAX_WORDS = 4096, MAX_TYPES = 64, MAX_SCALARS = 8, MAX_DEPTH = 16 };

typedef struct words {
    uint32_t at[MAX_WORDS], n;
} words;

/* A type or constant, which is written once: its words behind the result's id. */
typedef struct known {
    uint32_t op, type, id, operands[4], n;
} known;

typedef struct branch {
    uint32_t label, other, merge, cond, var, next, first, from; /* as the construct needs them */
} branch;

typedef struct spirv {
    uint32_t next, label; /* the block at hand */
    words head, marks, globals, locals, body;
    known known[MAX_TYPES];
    uint32_t n_known, n_buffers;
    tnk_id scalars[MAX_SCALARS]; /* members of the push constants, by their order */
    uint32_t builtin[2];         /* LocalInvocationId, WorkgroupId */
    uint32_t ext, barriers, loops, atomics, vectors;
    branch stack[MAX_DEPTH];
    uint32_t depth;
} spirv;

static void
put(words *w, uint32_t word)
{
    assert_true(w->n < MAX_WORDS);
    w->at[w->n++] = word;
}

static void
op_of(words *w, enum op op, const uint32_t *operands, uint32_t n)
{
    put(w, (n + 1) << 16 | (uint32_t)op);
    for (uint32_t i = 0; i < n; i++)
        put(w, operands[i]);
}
#define OP(w, op, ...) \
    op_of(w, op, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* An instruction with a result. */
#define RESULT(s, w, op, type, ...)          \
    ({                                       \
        uint32_t id_ = (s)->next++;          \
        OP(w, op, (type), id_, __VA_ARGS__); \
        id_;                                 \
    })

/* One of the types and constants; type 0: a type itself. */
static uint32_t
global(spirv *s, enum op op, uint32_t type, const uint32_t *operands, uint32_t n)
{
    for (uint32_t i = 0; i < s->n_known; i++)
        if (s->known[i].op == (uint32_t)op && s->known[i].type == type && s->known[i].n == n &&
            !memcmp(s->known[i].operands, operands, n * sizeof *operands))
            return s->known[i].id;
    assert_true(s->n_known < MAX_TYPES && n <= 4);
    known *made = &s->known[s->n_known++];
    *made = (known){(uint32_t)op, type, s->next++, {0}, n};
    memcpy(made->operands, operands, n * sizeof *operands);
    put(&s->globals, (n + (type ? 3 : 2)) << 16 | (uint32_t)op);
    if (type)
        put(&s->globals, type);
    put(&s->globals, made->id);
    for (uint32_t i = 0; i < n; i++)
        put(&s->globals, operands[i]);
    return made->id;
}
#define TYPE(s, op, ...)                                       \
    global(s, op, 0, (const uint32_t[]){0, ##__VA_ARGS__} + 1, \
           sizeof((const uint32_t[]){0, ##__VA_ARGS__}) / 4 - 1)

static uint32_t
type_of(spirv *s, tnb_dtype d)
{
    if (d.lanes > 1) {
        tnb_dtype one = d;
        one.lanes = 1;
        s->vectors++;
        return TYPE(s, OpTypeVector, type_of(s, one), d.lanes);
    }
    if (tnb_dtype_is_bool(d))
        return TYPE(s, OpTypeBool);
    if (d.code == TNB_UINT && d.bits == 32)
        return TYPE(s, OpTypeInt, 32, 0);
    if (d.code == TNB_FLOAT && d.bits == 32)
        return TYPE(s, OpTypeFloat, 32);
    assert_true(d.code == TNB_INT && (d.bits == 32 || d.bits == 64));
    return TYPE(s, OpTypeInt, d.bits, 1);
}

static uint32_t
u32(spirv *s, uint32_t v)
{
    uint32_t t = TYPE(s, OpTypeInt, 32, 0);
    return global(s, OpConstant, t, &v, 1);
}

static void
begin_block(spirv *s, uint32_t label)
{
    OP(&s->body, OpLabel, label);
    s->label = label;
}

static tnk_id
memory(tnk_visitor *v, const tnk_place *p)
{
    spirv *s = v->user;
    uint32_t elem = type_of(s, tn_as_buffer(p->buffer)->dtype), id = s->next++,
             bytes = 4u * tn_as_buffer(p->buffer)->dtype.lanes;
    if (p->room == TNK_ROOM_PARAM) {
        uint32_t array = s->next++, record = s->next++, pointer = s->next++;
        OP(&s->globals, OpTypeRuntimeArray, array, elem);
        OP(&s->globals, OpTypeStruct, record, array);
        OP(&s->globals, OpTypePointer, pointer, STORAGE_BUFFER, record);
        OP(&s->globals, OpVariable, pointer, id, STORAGE_BUFFER);
        OP(&s->marks, OpDecorate, array, 6 /* ArrayStride */, bytes);
        OP(&s->marks, OpDecorate, record, 2 /* Block */);
        OP(&s->marks, OpMemberDecorate, record, 0, 35 /* Offset */, 0);
        OP(&s->marks, OpDecorate, id, 34 /* DescriptorSet */, 0);
        OP(&s->marks, OpDecorate, id, 33 /* Binding */, s->n_buffers++);
        return id;
    }
    uint32_t room = p->room == TNK_ROOM_SHARED ? WORKGROUP : FUNCTION,
             array = TYPE(s, OpTypeArray, elem, u32(s, (uint32_t)p->elements)),
             pointer = TYPE(s, OpTypePointer, room, array);
    OP(room == FUNCTION ? &s->locals : &s->globals, OpVariable, pointer, id, room);
    return id;
}

static tnk_id
scalar(tnk_visitor *v, const tnk_param *p)
{
    spirv *s = v->user;
    uint32_t t = type_of(s, p->dtype), i = 0;
    while (s->scalars[i])
        i++;
    /* one record a scalar would be refused: kernels of these tests have one */
    assert_int_equal(i, 0);
    uint32_t record = TYPE(s, OpTypeStruct, t),
             pointer = TYPE(s, OpTypePointer, PUSH_CONSTANT, record),
             member = TYPE(s, OpTypePointer, PUSH_CONSTANT, t), var = s->next++;
    OP(&s->marks, OpDecorate, record, 2);
    OP(&s->marks, OpMemberDecorate, record, 0, 35, 0);
    OP(&s->globals, OpVariable, pointer, var, PUSH_CONSTANT);
    uint32_t at = RESULT(s, &s->body, OpAccessChain, member, var, u32(s, 0));
    return s->scalars[i] = RESULT(s, &s->body, OpLoad, t, at);
}

static tnk_id
constant(tnk_visitor *v, const tn_expr *x)
{
    spirv *s = v->user;
    tnb_dtype d = tn_dtype_of(x);
    uint32_t t = type_of(s, d), w[2] = {0};
    if (x->kind == TN_KIND_FLOAT_IMM) {
        float f = (float)tn_as_float_imm(x)->value;
        memcpy(w, &f, sizeof f);
        return global(s, OpConstant, t, w, 1);
    }
    int64_t n = tn_as_int_imm(x)->value;
    if (tnb_dtype_is_bool(d))
        return global(s, n ? OpConstantTrue : OpConstantFalse, t, w, 0);
    memcpy(w, &n, sizeof n);
    return global(s, OpConstant, t, w, d.bits / 32);
}

static tnk_id
thread(tnk_visitor *v, tnb_dtype d, bool is_block, int dim)
{
    spirv *s = v->user;
    uint32_t u = TYPE(s, OpTypeInt, 32, 0), three = TYPE(s, OpTypeVector, u, 3);
    uint32_t all = RESULT(s, &s->body, OpLoad, three, s->builtin[is_block]);
    uint32_t one = RESULT(s, &s->body, OpCompositeExtract, u, all, (uint32_t)dim);
    uint32_t i = RESULT(s, &s->body, OpBitcast, type_of(s, TNB_I32), one);
    return d.bits == 32 ? i : RESULT(s, &s->body, OpSConvert, type_of(s, d), i);
}

static tnk_id
cast(tnk_visitor *v, const tn_expr *x, tnk_id a)
{
    spirv *s = v->user;
    tnb_dtype to = tn_dtype_of(x), from = tn_dtype_of(((const tn_cast *)x)->value);
    if (tnb_dtype_is_bool(from) && tnb_dtype_is_int(to))
        return RESULT(s, &s->body, OpSelect, type_of(s, to), a,
                      constant(v, tn_int_imm_of(v->ctx, to, 1)),
                      constant(v, tn_int_imm_of(v->ctx, to, 0)));
    if (tnb_dtype_is_int(from) && tnb_dtype_is_int(to) && from.bits == to.bits &&
        from.code != to.code)
        return RESULT(s, &s->body, OpBitcast, type_of(s, to), a);
    if (tnb_dtype_is_int(from) && tnb_dtype_is_int(to))
        return from.bits == to.bits ? a : RESULT(s, &s->body, OpSConvert, type_of(s, to), a);
    if (tnb_dtype_is_int(from) && tnb_dtype_is_float(to))
        return RESULT(s, &s->body, OpConvertSToF, type_of(s, to), a);
    return tnk_visit_fail(v, x->loc, "a cast from %s to %s has no form in this client",
                          tnb_dtype_print(from).s, tnb_dtype_print(to).s);
}

static tnk_id
not_(tnk_visitor *v, const tn_expr *x, tnk_id a)
{
    spirv *s = v->user;
    return RESULT(s, &s->body, OpLogicalNot, type_of(s, tn_dtype_of(x)), a);
}

static enum op
operation(unsigned kind, bool is_float)
{
    static const struct {
        tn_kind kind;
        enum op of_ints, of_floats;
    } rows[] = {
        {TN_KIND_ADD, OpIAdd, OpFAdd},
        {TN_KIND_SUB, OpISub, OpFSub},
        {TN_KIND_MUL, OpIMul, OpFMul},
        {TN_KIND_DIV, OpSDiv, OpFDiv},
        {TN_KIND_FLOOR_MOD, OpSMod, OpFAdd},
        {TN_KIND_EQ, OpIEqual, OpFOrdEqual},
        {TN_KIND_NE, OpINotEqual, OpFUnordNotEqual},
        {TN_KIND_LT, OpSLessThan, OpFOrdLessThan},
        {TN_KIND_LE, OpSLessThanEqual, OpFOrdLessThanEqual},
        {TN_KIND_GT, OpSGreaterThan, OpFOrdGreaterThan},
        {TN_KIND_GE, OpSGreaterThanEqual, OpFOrdGreaterThanEqual},
        {TN_KIND_AND, OpLogicalAnd, OpLogicalAnd},
        {TN_KIND_OR, OpLogicalOr, OpLogicalOr},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == kind)
            return is_float ? rows[i].of_floats : rows[i].of_ints;
    return 0;
}

static tnk_id
binary(tnk_visitor *v, const tn_expr *x, tnk_id a, tnk_id b)
{
    spirv *s = v->user;
    enum op op = operation(x->kind, tnb_dtype_is_float(tn_dtype_of(tn_as_binary(x)->a)));
    if (!op)
        return tnk_visit_fail(v, x->loc, "%s has no form in this client", tn_kinds[x->kind].name);
    return RESULT(s, &s->body, op, type_of(s, tn_dtype_of(x)), a, b);
}

static tnk_id
element(spirv *s, const tnk_place *p, tnk_id at)
{
    uint32_t elem = type_of(s, tn_as_buffer(p->buffer)->dtype);
    if (p->room == TNK_ROOM_PARAM)
        return RESULT(s, &s->body, OpAccessChain, TYPE(s, OpTypePointer, STORAGE_BUFFER, elem),
                      p->id, u32(s, 0), at);
    uint32_t room = p->room == TNK_ROOM_SHARED ? WORKGROUP : FUNCTION;
    return RESULT(s, &s->body, OpAccessChain, TYPE(s, OpTypePointer, room, elem), p->id, at);
}

static tnk_id
load(tnk_visitor *v, const tn_expr *x, const tnk_place *p, tnk_id at)
{
    spirv *s = v->user;
    uint32_t e = element(s, p, at);
    return RESULT(s, &s->body, OpLoad, type_of(s, tn_dtype_of(x)), e);
}

static void
store(tnk_visitor *v, const tn_stmt *st, const tnk_place *p, tnk_id at, tnk_id value)
{
    spirv *s = v->user;
    uint32_t e = element(s, p, at);
    (void)st;
    OP(&s->body, OpStore, e, value);
}

static tnk_id
broadcast(tnk_visitor *v, const tn_expr *x, tnk_id a)
{
    spirv *s = v->user;
    uint32_t lanes = tn_dtype_of(x).lanes, type = type_of(s, tn_dtype_of(x));
    uint32_t w[6] = {type, s->next++, a, a, a, a};
    assert_true(lanes <= 4);
    op_of(&s->body, OpCompositeConstruct, w, lanes + 2);
    return w[1];
}

/* A vector of scalars, or a lane of one vector. */
static tnk_id
shuffle(tnk_visitor *v, const tn_expr *x, const tnk_id *vectors, uint32_t n)
{
    spirv *s = v->user;
    const tn_shuffle *f = (const tn_shuffle *)x;
    uint32_t type = type_of(s, tn_dtype_of(x)), w[6] = {type, s->next++};
    int64_t lane = 0;
    if (f->indices.n == 1 && n == 1 && tn_int_value(f->indices.at[0], &lane))
        return RESULT(s, &s->body, OpCompositeExtract, type, vectors[0], (uint32_t)lane);
    if (n != f->indices.n || n > 4)
        return tnk_visit_fail(v, x->loc, "this shuffle has no form in this client");
    for (uint32_t i = 0; i < n; i++)
        w[2 + i] = tn_int_value(f->indices.at[i], &lane) ? vectors[lane] : 0;
    op_of(&s->body, OpCompositeConstruct, w, n + 2);
    return w[1];
}

static tnk_id
select_(tnk_visitor *v, const tn_expr *x, tnk_id cond, tnk_id a, tnk_id b)
{
    spirv *s = v->user;
    return RESULT(s, &s->body, OpSelect, type_of(s, tn_dtype_of(x)), cond, a, b);
}

static tnk_id
atomic(tnk_visitor *v, const tn_call *x, const tnk_place *p, tnk_id at, tnk_id operand)
{
    spirv *s = v->user;
    uint32_t e = element(s, p, at), t = type_of(s, tn_dtype_of(TN_NODE(x)));
    s->atomics++;
    return RESULT(s, &s->body,
                  tn_is_intrin(TN_NODE(x), TN_INTRIN_atomic_or) ? OpAtomicOr : OpAtomicAnd, t, e,
                  u32(s, 1 /* Device */), u32(s, 0), operand);
}

static enum op
bit_operation(tn_intrin_id id, bool is_signed)
{
    switch ((int)id) {
    case TN_INTRIN_bitwise_and:
        return OpBitwiseAnd;
    case TN_INTRIN_bitwise_or:
        return OpBitwiseOr;
    case TN_INTRIN_bitwise_xor:
        return OpBitwiseXor;
    case TN_INTRIN_shift_left:
        return OpShiftLeftLogical;
    case TN_INTRIN_shift_right:
        return is_signed ? OpShiftRightArithmetic : OpShiftRightLogical;
    default:
        return 0;
    }
}

static tnk_id
call(tnk_visitor *v, const tn_call *x, const tnk_id *args, uint32_t n)
{
    spirv *s = v->user;
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    enum op bits = bit_operation(tn_intrin_of(TN_NODE(x)), d.code == TNB_INT);
    if (bits)
        return RESULT(s, &s->body, bits, type_of(s, d), args[0], args[1]);
    if (tn_is_intrin(TN_NODE(x), TN_INTRIN_bitwise_not))
        return RESULT(s, &s->body, OpNot, type_of(s, d), args[0]);
    if (!tn_is_intrin(TN_NODE(x), TN_INTRIN_exp) || n != 1)
        return tnk_visit_fail(v, x->base.loc, "the intrinsic '%s' has no form in this client",
                              tn_call_op_of(x)->base.name);
    return RESULT(s, &s->body, OpExtInst, type_of(s, tn_dtype_of(TN_NODE(x))), s->ext, 27 /* Exp */,
                  args[0]);
}

static branch *
push(spirv *s)
{
    assert_true(s->depth < MAX_DEPTH);
    branch *b = &s->stack[s->depth++];
    *b = (branch){0};
    return b;
}

static branch *
top(spirv *s)
{
    return &s->stack[s->depth - 1];
}

/* Into a branch of two, of which the second may be empty. */
static void
part(spirv *s, tnk_id cond)
{
    branch *b = push(s);
    b->label = s->next++, b->other = s->next++, b->merge = s->next++;
    OP(&s->body, OpSelectionMerge, b->merge, 0);
    OP(&s->body, OpBranchConditional, cond, b->label, b->other);
    begin_block(s, b->label);
}

static void
other(spirv *s)
{
    branch *b = top(s);
    b->from = s->label;
    OP(&s->body, OpBranch, b->merge);
    begin_block(s, b->other);
    b->other = 0;
}

static void
join(spirv *s)
{
    if (top(s)->other)
        other(s);
    branch *b = top(s);
    b->next = s->label;
    OP(&s->body, OpBranch, b->merge);
    begin_block(s, b->merge);
    s->depth--;
}

static void
choice_begin(tnk_visitor *v, const tn_expr *x, tnk_id cond)
{
    (void)x;
    part(v->user, cond);
}

static void
choice_other(tnk_visitor *v, const tn_expr *x, tnk_id first)
{
    (void)x;
    top(v->user)->first = first;
    other(v->user);
}

static tnk_id
choice_end(tnk_visitor *v, const tn_expr *x, tnk_id second)
{
    spirv *s = v->user;
    join(s);
    const branch *b = &s->stack[s->depth];
    return RESULT(s, &s->body, OpPhi, type_of(s, tn_dtype_of(x)), b->first, b->from, second,
                  b->next);
}

static void
if_begin(tnk_visitor *v, const tn_stmt *st, tnk_id cond)
{
    (void)st;
    part(v->user, cond);
}

static void
if_else(tnk_visitor *v, const tn_stmt *st)
{
    (void)st;
    other(v->user);
}

static void
if_end(tnk_visitor *v, const tn_stmt *st)
{
    (void)st;
    join(v->user);
}

/* header: var = phi(from, next); merge; test: var < end; body ...; continue: next = var + 1; header */
static tnk_id
loop_begin(tnk_visitor *v, const tn_for_loop *f, tnk_id from, tnk_id end)
{
    spirv *s = v->user;
    branch *b = push(s);
    uint32_t t = type_of(s, tn_dtype_of(f->var)), before = s->label, test = s->next++,
             body = s->next++, cond;
    b->label = s->next++, b->other = s->next++, b->merge = s->next++, b->next = s->next++;
    b->var = s->next++;
    s->loops++;
    OP(&s->body, OpBranch, b->label);
    begin_block(s, b->label);
    OP(&s->body, OpPhi, t, b->var, from, before, b->next, b->other);
    OP(&s->body, OpLoopMerge, b->merge, b->other, 0);
    OP(&s->body, OpBranch, test);
    begin_block(s, test);
    cond = RESULT(s, &s->body, OpSLessThan, TYPE(s, OpTypeBool), b->var, end);
    OP(&s->body, OpBranchConditional, cond, body, b->merge);
    begin_block(s, body);
    return b->var;
}

static void
loop_end(tnk_visitor *v, const tn_for_loop *f)
{
    spirv *s = v->user;
    branch *b = top(s);
    uint32_t t = type_of(s, tn_dtype_of(f->var)),
             one = constant(v, tn_int_imm_of(v->ctx, tn_dtype_of(f->var), 1));
    OP(&s->body, OpBranch, b->other);
    begin_block(s, b->other);
    OP(&s->body, OpIAdd, t, b->next, b->var, one);
    OP(&s->body, OpBranch, b->label);
    begin_block(s, b->merge);
    s->depth--;
}

static void
barrier(tnk_visitor *v, const char *scope)
{
    spirv *s = v->user;
    assert_string_equal(scope, "shared");
    s->barriers++;
    uint32_t group = u32(s, 2 /* Workgroup */),
             meaning = u32(s, 0x108 /* AcquireRelease, WorkgroupMemory */);
    OP(&s->body, OpControlBarrier, group, group, meaning);
}

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
    .shuffle = shuffle,
    .atomic = atomic,
    .load = load,
    .call = call,
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
};

/* A module with the kernel as "main"; NULL: it has no form. */
static spirv *
module_of(const tnk_kernel *kernel)
{
    spirv *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->next = 1;
    uint32_t u = TYPE(s, OpTypeInt, 32, 0), three = TYPE(s, OpTypeVector, u, 3),
             in = TYPE(s, OpTypePointer, INPUT, three), nothing = TYPE(s, OpTypeVoid),
             function = TYPE(s, OpTypeFunction, nothing), entry = s->next++, first = s->next++;
    for (uint32_t i = 0; i < 2; i++) {
        s->builtin[i] = s->next++;
        OP(&s->globals, OpVariable, in, s->builtin[i], INPUT);
        OP(&s->marks, OpDecorate, s->builtin[i], 11 /* BuiltIn */, i ? 26 : 27);
    }
    s->ext = s->next++;
    s->label = first;
    if (!tnk_visit_kernel(k.ctx, kernel, &visits, s)) {
        free(s);
        return NULL;
    }
    int64_t block[3];
    for (int i = 0; i < 3; i++)
        if (!kernel->block[i] || !tn_int_value(kernel->block[i], &block[i]))
            block[i] = 1;
    OP(&s->head, OpCapability, 1 /* Shader */);
    OP(&s->head, OpCapability, 11 /* Int64 */);
    static const char glsl[] = "GLSL.std.450", name[] = "main";
    uint32_t text[4] = {0}, main_[2] = {0};
    memcpy(text, glsl, sizeof glsl);
    memcpy(main_, name, sizeof name);
    OP(&s->head, OpExtInstImport, s->ext, text[0], text[1], text[2], text[3]);
    OP(&s->head, OpMemoryModel, 0, 1);
    OP(&s->head, OpEntryPoint, 5 /* GLCompute */, entry, main_[0], main_[1], s->builtin[0],
       s->builtin[1]);
    OP(&s->head, OpExecutionMode, entry, 17 /* LocalSize */, (uint32_t)block[0], (uint32_t)block[1],
       (uint32_t)block[2]);
    for (uint32_t i = 0; i < s->marks.n; i++)
        put(&s->head, s->marks.at[i]);
    for (uint32_t i = 0; i < s->globals.n; i++)
        put(&s->head, s->globals.at[i]);
    OP(&s->head, OpFunction, nothing, entry, 0, function);
    OP(&s->head, OpLabel, first);
    for (uint32_t i = 0; i < s->locals.n; i++)
        put(&s->head, s->locals.at[i]);
    for (uint32_t i = 0; i < s->body.n; i++)
        put(&s->head, s->body.at[i]);
    put(&s->head, 1 << 16 | OpReturn);
    put(&s->head, 1 << 16 | OpFunctionEnd);
    return s;
}

static bool validated;

static void
accepted(const spirv *s, const char *name)
{
    const uint32_t front[5] = {0x07230203, 0x00010300, 0, s->next, 0};
    char path[] = "/tmp/tenon-spirv-XXXXXX", command[200];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, front, sizeof front) == (ssize_t)sizeof front &&
                write(fd, s->head.at, s->head.n * 4) == (ssize_t)(s->head.n * 4));
    close(fd);
    if (system("command -v spirv-val >/dev/null") == 0) {
        validated = true;
        snprintf(command, sizeof command, "spirv-val --target-env vulkan1.1 %s", path);
        if (system(command) != 0)
            fail_msg("%s: spirv-val refuses the module %s", name, path);
    } else {
        printf(
            "%s: spirv-val (package spirv-tools) is not installed; the module is not validated\n",
            name);
    }
    unlink(path);
}

/* ---- kernels ---- */

static const char text[] =
    "from tvm.script import ir as I\n"
    "from tvm.script import tirx as T\n"
    "@I.ir_module\n"
    "class Module:\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def each(a: T.handle, b: T.handle):\n"
    "        n = T.int64()\n"
    "        A = T.match_buffer(a, (n,), \"float32\")\n"
    "        B = T.match_buffer(b, (n,), \"float32\")\n"
    "        for i in range(n):\n"
    "            with T.sblock(\"B\"):\n"
    "                vi = T.axis.remap(\"S\", [i])\n"
    "                B[vi] = T.if_then_else(vi % T.int64(2) == T.int64(0), T.exp(A[vi]), A[vi] * "
    "T.float32(2))\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def loop(A: T.Buffer((64, 100), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        for b in T.thread_binding(2, thread=\"blockIdx.x\"):\n"
    "            for t in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
    "                with T.sblock(\"B\"):\n"
    "                    R = T.alloc_buffer((1,), scope=\"local\")\n"
    "                    R[0] = T.float32(0)\n"
    "                    for k in range(100):\n"
    "                        if A[b * 32 + t, k] > T.float32(0):\n"
    "                            R[0] = R[0] + A[b * 32 + t, k]\n"
    "                    B[b * 32 + t] = R[0]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def reduction(A: T.Buffer((64, 4096), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        for i, j in T.grid(64, 4096):\n"
    "            with T.sblock(\"B\"):\n"
    "                vi, vj = T.axis.remap(\"SR\", [i, j])\n"
    "                with T.init():\n"
    "                    B[vi] = T.float32(0)\n"
    "                B[vi] = B[vi] + A[vi, vj]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def bytes(A: T.Buffer((64,), \"uint8\"), B: T.Buffer((64,), \"int8\"), C: T.Buffer((64,), "
    "\"bool\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            B[t] = B[63 - t] + T.Cast(\"int8\", A[t])\n"
    "            C[t] = A[t] == T.uint8(3)\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def wide(A: T.Buffer((512,), \"float32\"), B: T.Buffer((512,), \"float32\"), C: "
    "T.Buffer((513,), \"float32\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            for v in T.vectorized(8):\n"
    "                B[t * 8 + v] = A[t * 8 + v] * C[t * 8 + v + 1]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def some(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        S = T.alloc_buffer((64,), scope=\"shared\")\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            if t < 40:\n"
    "                S[t] = A[t]\n"
    "                T.tvm_storage_sync(\"shared\")\n"
    "                B[t] = S[39 - t]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def tangent(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        for i in range(64):\n"
    "            with T.sblock(\"B\"):\n"
    "                vi = T.axis.remap(\"S\", [i])\n"
    "                B[vi] = T.tan(A[vi])\n";

static const tnk_kernel *
lowered(const char *name, const char *rules)
{
    const tn_target_kind *kind = tn_find_target(k.reg, "vulkan", NULL);
    const tn_module *m = tn_read_module(k.ctx, "kernels.py", text, sizeof text - 1);
    if (!kind || !m)
        krun_print_errors(&k);
    assert_true(kind && m);
    /* what a device of Vulkan 1.1 has at least */
    const tn_node *no = tn_bool(k.ctx, false),
                  *attrs =
                      tn_dictv(k.ctx, "max_vector_lanes", tn_i64(k.ctx, 4), "uniform_barriers",
                               tn_string(k.ctx, "yes"), "supports_pointers", no, "supports_int8",
                               no, "supports_int16", no, "supports_float16", no,
                               "supports_8bit_buffer", no, "supports_16bit_buffer", no, NULL);
    const tn_target *usual = k.target, *t = tn_as_target(tn_target_of(k.ctx, "vulkan", attrs));
    const tn_node *f = tn_module_get(m, name);
    k.target = t;
    f = *rules ? krun_schedule(&k, f, rules) : f;
    k.target = usual;
    const tnk_kernel *kernel = f ? tnk_lower_kernel(k.ctx, t, kind, name, f) : NULL;
    if (!kernel)
        krun_print_errors(&k);
    assert_non_null(kernel);
    return kernel;
}

static spirv *
made(const char *name, const char *rules)
{
    spirv *s = module_of(lowered(name, rules));
    if (!s)
        krun_print_errors(&k);
    assert_non_null(s);
    accepted(s, name);
    return s;
}

static void
element_wise(void **state)
{
    (void)state;
    spirv *s = made("each", "gpu.Fallback");
    assert_int_not_equal(s->scalars[0], 0); /* n */
    free(s);
}

static void
a_loop(void **state)
{
    (void)state;
    spirv *s = made("loop", "");
    assert_int_equal(s->loops, 1);
    free(s);
}

static void
a_reduction_with_barriers(void **state)
{
    (void)state;
    spirv *s = made("reduction", "gpu.Reduction");
    assert_true(s->barriers > 0 && s->loops > 0);
    free(s);
}

/* A device that stores words alone: parts of them by atomic operations. */
static void
bytes_in_words(void **state)
{
    (void)state;
    spirv *s = made("bytes", "");
    assert_int_equal(s->atomics, 4);
    free(s);
}

/* Aligned vectors of four, and of what is not aligned the elements. */
static void
vectors_of_four(void **state)
{
    (void)state;
    spirv *s = made("wide", "");
    assert_true(s->vectors > 0);
    free(s);
}

static void
a_barrier_of_all_threads(void **state)
{
    (void)state;
    spirv *s = made("some", "");
    assert_int_equal(s->barriers, 1);
    assert_int_equal(s->depth, 0);
    free(s);
}

static void
what_has_no_form_is_refused(void **state)
{
    (void)state;
    assert_null(module_of(lowered("tangent", "gpu.Fallback")));
    tnb_buf said = {0};
    tnb_diags_print(tn_diags(k.ctx), &said);
    assert_non_null(said.s);
    assert_non_null(strstr(said.s, "kernels.py:"));
    assert_non_null(
        strstr(said.s, "kernel 'tangent': the intrinsic 'tirx.tan' has no form in this client"));
    tnb_buf_free(&said);
    tnb_diags_clear(tn_diags(k.ctx));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_wise),
        cmocka_unit_test(a_loop),
        cmocka_unit_test(a_reduction_with_barriers),
        cmocka_unit_test(bytes_in_words),
        cmocka_unit_test(vectors_of_four),
        cmocka_unit_test(a_barrier_of_all_threads),
        cmocka_unit_test(what_has_no_form_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, open_all, close_all);
    return failed ? failed : validated ? 0 : 77;
}
