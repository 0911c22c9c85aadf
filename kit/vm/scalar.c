/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar expressions of host code as VM instructions.
 *
 * Integers live extended to 64 bits; an operation that may leave the range of a narrower dtype is
 * followed by EXT. Floats are doubles, rounded after each operation of a narrower format, which
 * gives that format's results for + - * / and sqrt.
 */
#include "vm_private.h"

#include <stdarg.h>

#include "tenon/core/walk.h"

void
vm_error(struct vm_gen *g, const tn_node *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(tn_diags(g->ctx), TNB_ERROR, TNB_UNSUPPORTED,
                tn_loc_place(g->ctx, at ? at->loc : 0), fmt, ap);
    va_end(ap);
    tnb_diag_note(tn_diags(g->ctx), "in function '%s', on its way to virtual-machine code",
                  g->function ? g->function : "?");
    g->failed = true;
}

static uint32_t
new_reg(struct vm_gen *g)
{
    return tnk_program_scalar_reg(g->p);
}

static uint32_t
emit3(struct vm_gen *g, tnb_vm_op op, uint16_t aux, uint32_t b, uint32_t c)
{
    uint32_t r = new_reg(g);
    tnk_program_emit(g->p, op, aux, r, b, c);
    return r;
}

uint32_t
vm_load_int(struct vm_gen *g, int64_t v)
{
    return emit3(g, TNB_VM_LDI, 0, (uint32_t)(uint64_t)v, (uint32_t)((uint64_t)v >> 32));
}

uint32_t
vm_product(struct vm_gen *g, uint32_t a, uint32_t b)
{
    return emit3(g, TNB_VM_MULFIT, 0, a, b);
}

/* The register; what the instruction just made does where the result does not fit is decided later. */
static uint32_t
noted(struct vm_gen *g, uint32_t r)
{
    TNB_PUSH(g->arena, g->fits, tnk_program_here(g->p) - 1);
    return r;
}

static uint32_t
load_float(struct vm_gen *g, double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return vm_load_int(g, bits);
}

void
vm_define_scalar(struct vm_gen *g, const tn_node *var, uint32_t reg)
{
    tnb_ptrmap_set(&g->scalars, var, (void *)(uintptr_t)(reg + 1));
}

/* The result brought back into its dtype. */
static uint32_t
fit(struct vm_gen *g, tnb_dtype d, uint32_t r)
{
    if (tnb_dtype_is_float(d) && d.bits < 64)
        return emit3(g, TNB_VM_FROUND, TNB_VM_DTYPE(d), r, 0);
    if (tnb_dtype_is_int(d) && d.bits < 64)
        return emit3(g, TNB_VM_EXT, (uint16_t)(d.bits | (d.code == TNB_INT ? 256 : 0)), r, 0);
    return r;
}

static bool
is_unsigned(tnb_dtype d)
{
    return d.code == TNB_UINT || d.code == TNB_BOOL;
}

/* ---- binary operators ---- */

static uint32_t
float_binary(struct vm_gen *g, const tn_expr *e, tnb_dtype d, uint32_t a, uint32_t b)
{
    static const struct {
        tn_kind kind;
        tnb_vm_op op;
        bool swap;
    } table[] = {
        {TN_KIND_ADD, TNB_VM_FADD, false}, {TN_KIND_SUB, TNB_VM_FSUB, false},
        {TN_KIND_MUL, TNB_VM_FMUL, false}, {TN_KIND_DIV, TNB_VM_FDIV, false},
        {TN_KIND_MIN, TNB_VM_FMIN, false}, {TN_KIND_MAX, TNB_VM_FMAX, false},
        {TN_KIND_EQ, TNB_VM_FEQ, false},   {TN_KIND_NE, TNB_VM_FNE, false},
        {TN_KIND_LT, TNB_VM_FLT, false},   {TN_KIND_LE, TNB_VM_FLE, false},
        {TN_KIND_GT, TNB_VM_FLT, true},    {TN_KIND_GE, TNB_VM_FLE, true},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (e->kind == table[i].kind)
            return fit(g, d,
                       emit3(g, table[i].op, 0, table[i].swap ? b : a, table[i].swap ? a : b));
    if (e->kind == TN_KIND_FLOOR_DIV)
        return fit(g, d,
                   emit3(g, TNB_VM_FMATH1, TNB_VM_MATH_floor, emit3(g, TNB_VM_FDIV, 0, a, b), 0));
    if (e->kind == TN_KIND_MOD)
        return fit(g, d, emit3(g, TNB_VM_FMATH2, TNB_VM_MATH_fmod, a, b));
    if (e->kind == TN_KIND_FLOOR_MOD) { /* a - floor(a / b) * b */
        uint32_t q = emit3(g, TNB_VM_FMATH1, TNB_VM_MATH_floor, emit3(g, TNB_VM_FDIV, 0, a, b), 0);
        return fit(g, d, emit3(g, TNB_VM_FSUB, 0, a, emit3(g, TNB_VM_FMUL, 0, q, b)));
    }
    vm_error(g, e, "an operator on floats that host code does not have");
    return a;
}

/* A sum, difference or product. Integers of 32 and 64 bits are extents and indices: the passes take them not to
 * overflow, so that one that does is an error rather than a wrong shape. */
static uint32_t
sum(struct vm_gen *g, tnb_vm_op op, tnb_dtype d, uint32_t a, uint32_t b)
{
    if (d.code != TNB_INT || d.bits < 32 || g->may_wrap)
        return fit(g, d, emit3(g, op, 0, a, b));
    uint32_t r = emit3(g,
                       op == TNB_VM_ADD   ? TNB_VM_ADDFIT
                       : op == TNB_VM_SUB ? TNB_VM_SUBFIT
                                          : TNB_VM_MULFIT,
                       0, a, b);
    noted(g, r);
    return d.bits < 64 ? noted(g, emit3(g, TNB_VM_FIT, d.bits, r, 0)) : r;
}

static uint32_t
int_binary(struct vm_gen *g, const tn_expr *e, tnb_dtype operand, tnb_dtype d, uint32_t a,
           uint32_t b)
{
    bool u = is_unsigned(operand);
    switch ((int)e->kind) {
    case TN_KIND_ADD:
        return sum(g, TNB_VM_ADD, d, a, b);
    case TN_KIND_SUB:
        return sum(g, TNB_VM_SUB, d, a, b);
    case TN_KIND_MUL:
        return sum(g, TNB_VM_MUL, d, a, b);
    case TN_KIND_DIV:
        return fit(g, d, emit3(g, u ? TNB_VM_DIVU : TNB_VM_DIV, 0, a, b));
    case TN_KIND_MOD:
        return emit3(g, u ? TNB_VM_MODU : TNB_VM_MOD, 0, a, b);
    case TN_KIND_FLOOR_DIV:
        return fit(g, d, emit3(g, u ? TNB_VM_DIVU : TNB_VM_FLOORDIV, 0, a, b));
    case TN_KIND_FLOOR_MOD:
        return emit3(g, u ? TNB_VM_MODU : TNB_VM_FLOORMOD, 0, a, b);
    case TN_KIND_MIN:
        return emit3(g, u ? TNB_VM_MINU : TNB_VM_MIN, 0, a, b);
    case TN_KIND_MAX:
        return emit3(g, u ? TNB_VM_MAXU : TNB_VM_MAX, 0, a, b);
    case TN_KIND_EQ:
        return emit3(g, TNB_VM_EQ, 0, a, b);
    case TN_KIND_NE:
        return emit3(g, TNB_VM_NE, 0, a, b);
    case TN_KIND_LT:
        return emit3(g, u ? TNB_VM_LTU : TNB_VM_LT, 0, a, b);
    case TN_KIND_LE:
        return emit3(g, u ? TNB_VM_LEU : TNB_VM_LE, 0, a, b);
    case TN_KIND_GT:
        return emit3(g, u ? TNB_VM_LTU : TNB_VM_LT, 0, b, a);
    case TN_KIND_GE:
        return emit3(g, u ? TNB_VM_LEU : TNB_VM_LE, 0, b, a);
    default:
        vm_error(g, e, "an operator on integers that host code does not have");
        return a;
    }
}

/* and, or: the second operand is evaluated only if it decides. */
static uint32_t
logical(struct vm_gen *g, const tn_binary *e)
{
    uint32_t r = new_reg(g);
    tnk_program_emit(g->p, TNB_VM_MOVS, 0, r, vm_scalar(g, e->a), 0);
    uint32_t skip =
        tnk_program_emit(g->p, e->base.kind == TN_KIND_AND ? TNB_VM_JZ : TNB_VM_JNZ, 0, r, 0, 0);
    tnk_program_emit(g->p, TNB_VM_MOVS, 0, r, vm_scalar(g, e->b), 0);
    tnk_program_patch(g->p, skip, tnk_program_here(g->p));
    return r;
}

/* An operand of == or !=. To be equal to an extent a sum has to fit: one that wraps is negative, and the simplifier
 * moves what is subtracted at one side to the other, where x - y == 2^63 - 1 asks for it. */
static uint32_t
equated(struct vm_gen *g, const tn_expr *e)
{
    const tn_binary *b = tn_is(e, TN_KIND_ADD) ? tn_as_binary(e) : NULL;
    if (!b || !tnb_dtype_eq(tn_dtype_of(e), TNB_I64))
        return vm_scalar(g, e);
    uint32_t x = vm_scalar(g, b->a);
    return emit3(g, TNB_VM_ADD, 0, x, vm_scalar(g, b->b));
}

static uint32_t
binary(struct vm_gen *g, const tn_binary *e)
{
    if (e->base.kind == TN_KIND_AND || e->base.kind == TN_KIND_OR)
        return logical(g, e);
    bool equality = e->base.kind == TN_KIND_EQ || e->base.kind == TN_KIND_NE;
    uint32_t a = equality ? equated(g, e->a) : vm_scalar(g, e->a),
             b = equality ? equated(g, e->b) : vm_scalar(g, e->b);
    tnb_dtype operand = tn_dtype_of(e->a), d = tn_dtype_of(&e->base);
    return tnb_dtype_is_float(operand) ? float_binary(g, &e->base, d, a, b)
                                       : int_binary(g, &e->base, operand, d, a, b);
}

/* ---- other expressions ---- */

static uint32_t
cast(struct vm_gen *g, const tn_cast *e)
{
    uint32_t r = vm_scalar(g, e->value);
    tnb_dtype from = tn_dtype_of(e->value), to = tn_dtype_of(&e->base);
    if (tnb_dtype_is_float(to)) {
        if (!tnb_dtype_is_float(from))
            r = emit3(g, is_unsigned(from) ? TNB_VM_U2F : TNB_VM_I2F, 0, r, 0);
        return fit(g, to, r);
    }
    if (tnb_dtype_is_bool(to)) {
        if (tnb_dtype_is_float(from))
            return emit3(g, TNB_VM_FNE, 0, r, load_float(g, 0));
        return emit3(g, TNB_VM_NE, 0, r, vm_load_int(g, 0));
    }
    if (tnb_dtype_is_float(from))
        r = emit3(g, is_unsigned(to) ? TNB_VM_F2U : TNB_VM_F2I, 0, r, 0);
    return fit(g, to, r);
}

static tn_walk_step
find_sum(void *user, const tn_node *n)
{
    (void)user;
    return n->kind == TN_KIND_ADD || n->kind == TN_KIND_SUB || n->kind == TN_KIND_MUL ? TN_WALK_STOP
                                                                                      : TN_WALK_ON;
}

/* Whether e may end the program by a number that does not fit. */
static bool
may_fail(const tn_expr *e)
{
    return !tn_walk(e, 0, find_sum, NULL, NULL);
}

/* Only the chosen side is evaluated. */
static uint32_t
choice(struct vm_gen *g, const tn_expr *c, const tn_expr *a, const tn_expr *b)
{
    uint32_t r = new_reg(g);
    uint32_t otherwise = tnk_program_emit(g->p, TNB_VM_JZ, 0, vm_scalar(g, c), 0, 0);
    tnk_program_emit(g->p, TNB_VM_MOVS, 0, r, vm_scalar(g, a), 0);
    uint32_t end = tnk_program_emit(g->p, TNB_VM_JMP, 0, 0, 0, 0);
    tnk_program_patch(g->p, otherwise, tnk_program_here(g->p));
    tnk_program_emit(g->p, TNB_VM_MOVS, 0, r, vm_scalar(g, b), 0);
    tnk_program_patch(g->p, end, tnk_program_here(g->p));
    return r;
}

uint32_t
vm_buffer_value(struct vm_gen *g, const tn_node *at, const tn_node *buffer)
{
    uintptr_t known = (uintptr_t)tnb_ptrmap_get(&g->values, buffer);
    if (known)
        return (uint32_t)(known - 1);
    vm_error(g, at, "buffer '%s' is not a parameter or an allocation of this host function",
             tn_as_buffer(buffer) ? tn_as_buffer(buffer)->name : "?");
    return 0;
}

uint32_t
vm_element(struct vm_gen *g, const tn_node *at, const tn_buffer *b, tn_list indices)
{
    uint32_t r = b->elem_offset && !tn_is_int_const(b->elem_offset, 0)
                     ? vm_scalar(g, b->elem_offset)
                     : NO_REG;
    uint32_t sum = NO_REG;
    if (indices.n != b->shape.n)
        vm_error(g, at, "buffer '%s' of %u dimensions is indexed with %u", b->name, b->shape.n,
                 indices.n);
    for (uint32_t i = 0; i < indices.n && i < b->shape.n; i++) {
        uint32_t x = vm_scalar(g, indices.at[i]);
        if (b->strides.n == b->shape.n) {
            x = emit3(g, TNB_VM_MUL, 0, x, vm_scalar(g, b->strides.at[i]));
            sum = sum == NO_REG ? x : emit3(g, TNB_VM_ADD, 0, sum, x);
        } else {
            sum = sum == NO_REG
                      ? x
                      : emit3(g, TNB_VM_ADD, 0,
                              emit3(g, TNB_VM_MUL, 0, sum, vm_scalar(g, b->shape.at[i])), x);
        }
    }
    if (sum == NO_REG)
        return r == NO_REG ? vm_load_int(g, 0) : r;
    return r == NO_REG ? sum : emit3(g, TNB_VM_ADD, 0, sum, r);
}

static uint32_t
load(struct vm_gen *g, const tn_buffer_load *e)
{
    const tn_buffer *b = tn_as_buffer(e->buffer);
    if (!b || b->dtype.lanes != 1) {
        vm_error(g, &e->base, "host code reads single elements of buffers only");
        return 0;
    }
    uint32_t index = vm_element(g, &e->base, b, e->indices),
             v = vm_buffer_value(g, &e->base, e->buffer);
    return emit3(g, tnb_dtype_is_float(b->dtype) ? TNB_VM_LOADF : TNB_VM_LOADI,
                 TNB_VM_DTYPE(b->dtype), v, index);
}

static uint32_t
math_call(struct vm_gen *g, const tn_call *c)
{
    static const struct {
        tnb_vm_math id;
        uint32_t args; /* 0: the machine has no such function */
    } maths[TN_INTRIN_COUNT] = {
#define X(n, k) [TN_INTRIN_##n] = {TNB_VM_MATH_##n, k},
        TNB_VM_MATHS(X)
#undef X
    };
    tnb_dtype d = tn_dtype_of(&c->base);
    tn_intrin_id id = tn_intrin_of(&c->base);
    const char *name = strchr(tn_call_op_of(c)->base.name, '.') + 1;
    if (!maths[id].args || c->args.n != maths[id].args) {
        vm_error(g, &c->base, "host code has no '%s'", name);
        return vm_load_int(g, 0);
    }
    bool one = maths[id].args == 1;
    uint32_t a = vm_scalar(g, c->args.at[0]), b = one ? 0 : vm_scalar(g, c->args.at[1]);
    if (!tnb_dtype_is_float(tn_dtype_of(c->args.at[0]))) { /* floor(int) and the like */
        if (one && !tnb_dtype_is_float(d) && !tnb_dtype_is_bool(d))
            return a;
        vm_error(g, &c->base, "'%s' of an integer in host code", name);
        return a;
    }
    if (!one && !tnb_dtype_is_float(tn_dtype_of(c->args.at[1])))
        b = emit3(g, TNB_VM_I2F, 0, b, 0);
    uint32_t r = emit3(g, one ? TNB_VM_FMATH1 : TNB_VM_FMATH2, (uint16_t)maths[id].id, a, b);
    if (tnb_dtype_is_bool(d))
        return emit3(g, TNB_VM_FNE, 0, r, load_float(g, 0));
    return fit(g, d, r);
}

static uint32_t
absolute(struct vm_gen *g, const tn_call *c)
{
    tnb_dtype d = tn_dtype_of(&c->base);
    uint32_t x = vm_scalar(g, c->args.at[0]);
    if (tnb_dtype_is_float(d))
        return emit3(g, TNB_VM_FMATH1, TNB_VM_MATH_fabs, x, 0);
    uint32_t negated = emit3(g, TNB_VM_SUB, 0, vm_load_int(g, 0), x);
    return is_unsigned(d) ? x : fit(g, d, emit3(g, TNB_VM_MAX, 0, x, negated));
}

static uint32_t
on_bits(struct vm_gen *g, const tn_call *c, tnb_vm_op op)
{
    uint32_t a = vm_scalar(g, c->args.at[0]), b = vm_scalar(g, c->args.at[1]);
    return fit(g, tn_dtype_of(&c->base), emit3(g, op, 0, a, b));
}

static uint32_t
call(struct vm_gen *g, const tn_call *c)
{
    const tn_op *op = tn_call_op_of(c);
    if (!op || !(op->flags & TN_OP_SCALAR)) {
        vm_error(g, &c->base, "host code cannot make this call: %s", tn_text(g->ctx, &c->base));
        return vm_load_int(g, 0);
    }
    tnb_dtype d = tn_dtype_of(&c->base);
    switch ((int)op->intrin) {
    case TN_INTRIN_if_then_else:
        return choice(g, c->args.at[0], c->args.at[1], c->args.at[2]);
    case TN_INTRIN_likely:
    case TN_INTRIN_tvm_thread_invariant:
        return vm_scalar(g, c->args.at[0]);
    case TN_INTRIN_assume:
        return vm_load_int(g, 1);
    case TN_INTRIN_abs:
        return absolute(g, c);
    case TN_INTRIN_bitwise_not:
        return fit(g, d, emit3(g, TNB_VM_XOR, 0, vm_scalar(g, c->args.at[0]), vm_load_int(g, -1)));
    case TN_INTRIN_bitwise_and:
        return on_bits(g, c, TNB_VM_AND);
    case TN_INTRIN_bitwise_or:
        return on_bits(g, c, TNB_VM_OR);
    case TN_INTRIN_bitwise_xor:
        return on_bits(g, c, TNB_VM_XOR);
    case TN_INTRIN_shift_left:
        return on_bits(g, c, TNB_VM_SHL);
    case TN_INTRIN_shift_right:
        return on_bits(g, c, is_unsigned(d) ? TNB_VM_SHRU : TNB_VM_SHR);
    default:
        return math_call(g, c);
    }
}

static uint32_t
variable(struct vm_gen *g, const tn_expr *e)
{
    uintptr_t known = (uintptr_t)tnb_ptrmap_get(&g->scalars, e);
    if (known)
        return (uint32_t)(known - 1);
    /* a graph variable that holds a scalar */
    uintptr_t boxed = (uintptr_t)tnb_ptrmap_get(&g->values, e);
    if (boxed && TNB_VM_OPERAND_KIND((uint32_t)(boxed - 1)) == TNB_VM_VALUE)
        return emit3(g, tnb_dtype_is_float(tn_dtype_of(e)) ? TNB_VM_UNBOXF : TNB_VM_UNBOXI, 0,
                     TNB_VM_OPERAND_INDEX((uint32_t)(boxed - 1)), 0);
    vm_error(g, e, "variable '%s' has no value here", tn_var_name(e));
    return vm_load_int(g, 0);
}

uint32_t
vm_scalar(struct vm_gen *g, const tn_expr *e)
{
    if (tn_is_binary(e))
        return binary(g, tn_as_binary(e));
    switch ((int)e->kind) {
    case TN_KIND_INT_IMM:
        return vm_load_int(g, tn_as_int_imm(e)->value);
    case TN_KIND_FLOAT_IMM:
        return load_float(g, tn_as_float_imm(e)->value);
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
        return variable(g, e);
    case TN_KIND_CAST:
        return cast(g, tn_as_cast(e));
    case TN_KIND_NOT:
        return emit3(g, TNB_VM_NOT, 0, vm_scalar(g, tn_as_unary(e)->a), 0);
    case TN_KIND_SELECT: {
        const tn_select *s = tn_as_select(e);
        if (may_fail(s->a) ||
            may_fail(s->b)) /* n + i < 0 ? 0 : n + i: what is not chosen need not fit */
            return choice(g, s->cond, s->a, s->b);
        uint32_t r = new_reg(g), a = vm_scalar(g, s->a), b = vm_scalar(g, s->b);
        tnk_program_emit(g->p, TNB_VM_MOVS, 0, r, vm_scalar(g, s->cond), 0);
        tnk_program_emit(g->p, TNB_VM_SEL, 0, r, a, b);
        return r;
    }
    case TN_KIND_LET: {
        const tn_let *l = tn_as_let(e);
        vm_define_scalar(g, l->var, vm_scalar(g, l->value));
        return vm_scalar(g, l->body);
    }
    case TN_KIND_BUFFER_LOAD:
        return load(g, tn_as_buffer_load(e));
    case TN_KIND_CALL:
        return call(g, tn_as_call(e));
    default:
        vm_error(g, e, "host code has no expression of kind %s", tn_kinds[e->kind].name);
        return vm_load_int(g, 0);
    }
}
