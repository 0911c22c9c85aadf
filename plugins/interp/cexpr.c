/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar expressions to the internal form. A vector is done lane by lane. */
#include "compile.h"

#include <math.h>

/* ---- arithmetic ---- */

/* ORDER KINDS, from ADD to OR: the operation for signed, unsigned, float and double; 0: none. */
#define NONE INTERP_N_OPS
static const uint16_t binary_ops[][4] = {
    [TN_KIND_ADD - TN_KIND_ADD] = {INTERP_ADD, INTERP_ADD, INTERP_ADDF, INTERP_ADDD},
    [TN_KIND_SUB - TN_KIND_ADD] = {INTERP_SUB, INTERP_SUB, INTERP_SUBF, INTERP_SUBD},
    [TN_KIND_MUL - TN_KIND_ADD] = {INTERP_MUL, INTERP_MUL, INTERP_MULF, INTERP_MULD},
    [TN_KIND_DIV - TN_KIND_ADD] = {INTERP_TDIV, INTERP_UDIV, INTERP_DIVF, INTERP_DIVD},
    [TN_KIND_MOD - TN_KIND_ADD] = {INTERP_TMOD, INTERP_UMOD, NONE, NONE},
    [TN_KIND_FLOOR_DIV - TN_KIND_ADD] = {INTERP_FDIV, INTERP_UDIV, INTERP_FDIVF, INTERP_FDIVD},
    [TN_KIND_FLOOR_MOD - TN_KIND_ADD] = {INTERP_FMOD, INTERP_UMOD, INTERP_FMODF, INTERP_FMODD},
    [TN_KIND_MIN - TN_KIND_ADD] = {INTERP_MIN, INTERP_UMIN, INTERP_MINF, INTERP_MIND},
    [TN_KIND_MAX - TN_KIND_ADD] = {INTERP_MAX, INTERP_UMAX, INTERP_MAXF, INTERP_MAXD},
    [TN_KIND_EQ - TN_KIND_ADD] = {INTERP_EQ, INTERP_EQ, INTERP_EQF, INTERP_EQD},
    [TN_KIND_NE - TN_KIND_ADD] = {INTERP_NE, INTERP_NE, INTERP_NEF, INTERP_NED},
    [TN_KIND_LT - TN_KIND_ADD] = {INTERP_LT, INTERP_ULT, INTERP_LTF, INTERP_LTD},
    [TN_KIND_LE - TN_KIND_ADD] = {INTERP_LE, INTERP_ULE, INTERP_LEF, INTERP_LED},
    [TN_KIND_GT -
        TN_KIND_ADD] = {INTERP_LT, INTERP_ULT, INTERP_LTF, INTERP_LTD}, /* operands swapped */
    [TN_KIND_GE - TN_KIND_ADD] = {INTERP_LE, INTERP_ULE, INTERP_LEF, INTERP_LED},
    [TN_KIND_AND - TN_KIND_ADD] = {INTERP_AND, INTERP_AND, NONE, NONE},
    [TN_KIND_OR - TN_KIND_ADD] = {INTERP_OR, INTERP_OR, NONE, NONE},
};

static int32_t
pack(tnb_dtype d)
{
    return (int32_t)(d.code | d.bits << 8);
}

static int
column(tnb_dtype d)
{
    switch (interp_class_of(d)) {
    case INTERP_FLT:
        return 2;
    case INTERP_DBL:
        return 3;
    default:
        return d.code == TNB_UINT ? 1 : 0;
    }
}

/* Brings register a, holding an unwrapped or unrounded result, into the form of d. */
static void
normalise(compiler *c, tnb_dtype d, int32_t a)
{
    if (tnb_dtype_is_bool(d)) {
        compile_emit(c, INTERP_TOBOOL, a, a, 0, 0);
    } else if (interp_class_of(d) == INTERP_INT && d.bits < 64) {
        compile_emit(c, d.code == TNB_INT ? INTERP_WRAPS : INTERP_WRAPU, a, a, 0, d.bits);
    } else if (interp_class_of(d) == INTERP_FLT && !(d.code == TNB_FLOAT && d.bits == 32)) {
        bool half = d.code == TNB_FLOAT && d.bits == 16;
        uint32_t at = compile_emit(c, half ? INTERP_ROUND16 : INTERP_ROUND, a, a, 0, 0);
        c->ins.at[at].x.imm = pack(d);
    }
}

static interp_opd
binary(compiler *c, const tn_expr *e, const tn_binary *b)
{
    tnb_dtype d = tn_dtype_of(b->a);
    interp_opd x = compile_expr(c, b->a), y = compile_expr(c, b->b);
    int col = column(d);
    tn_kind kind = e->kind;
    uint16_t op = binary_ops[kind - TN_KIND_ADD][col];
    bool compares = kind >= TN_KIND_EQ && kind <= TN_KIND_OR;
    bool swap = kind == TN_KIND_GT || kind == TN_KIND_GE;
    if (op == NONE) {
        compile_fail(c, e, "%s of %s cannot be computed", tn_kinds[kind].name,
                     tnb_dtype_print(d).s);
        return x;
    }
    bool i32 = d.code == TNB_INT && d.bits == 32 &&
               (kind == TN_KIND_ADD || kind == TN_KIND_SUB || kind == TN_KIND_MUL);
    if (i32)
        op = kind == TN_KIND_ADD   ? INTERP_ADDI32
             : kind == TN_KIND_SUB ? INTERP_SUBI32
                                   : INTERP_MULI32;
    bool closed = i32 || compares || kind == TN_KIND_MIN || kind == TN_KIND_MAX ||
                  kind == TN_KIND_FLOOR_MOD || kind == TN_KIND_MOD;
    int32_t r = compile_temp(c, d.lanes);
    for (int32_t i = 0; i < d.lanes; i++) {
        int32_t p = compile_lane(x, i), q = compile_lane(y, i);
        compile_emit(c, op, r + i, swap ? q : p, swap ? p : q, 0);
        if (!closed || (col == 2 && kind == TN_KIND_FLOOR_MOD))
            normalise(c, d, r + i);
        c->ops++;
    }
    return (interp_opd){r, 1};
}

/* Whether evaluating e can stop the program, so that it must not run when it is not asked for. */
static tn_walk_step
find_trap(void *user, const tn_node *n)
{
    (void)user;
    if (tn_is(n, TN_KIND_BUFFER))
        return TN_WALK_SKIP;
    bool divides = n->kind >= TN_KIND_DIV && n->kind <= TN_KIND_FLOOR_MOD;
    return divides || n->kind == TN_KIND_BUFFER_LOAD || n->kind == TN_KIND_CALL ? TN_WALK_STOP
                                                                                : TN_WALK_ON;
}

static interp_opd
logic(compiler *c, const tn_expr *e, const tn_binary *b)
{
    if (tn_dtype_of(e).lanes != 1 || tn_walk(b->b, 0, find_trap, NULL, NULL))
        return binary(c, e, b);
    int32_t r = compile_temp(c, 1);
    compile_emit(c, INTERP_MOV, r, compile_scalar(c, b->a), 0, 0);
    uint32_t skip = compile_emit(c, e->kind == TN_KIND_AND ? INTERP_JZ : INTERP_JNZ, r, 0, 0, 0);
    c->guard++;
    compile_emit(c, INTERP_MOV, r, compile_scalar(c, b->b), 0, 0);
    c->guard--;
    c->ins.at[skip].x.imm = c->ins.n;
    c->ops++;
    return (interp_opd){r, 1};
}

static interp_opd
lazy_choice(compiler *c, const tn_expr *e, const tn_call *call)
{
    int32_t lanes = tn_dtype_of(e).lanes, r = compile_temp(c, lanes);
    int32_t cond = compile_scalar(c, call->args.at[0]);
    uint32_t to_else = compile_emit(c, INTERP_JZ, cond, 0, 0, 0), to_end = 0;
    c->guard++;
    for (int side = 1; side <= 2; side++) {
        interp_opd v = compile_expr(c, call->args.at[side]);
        for (int32_t i = 0; i < lanes; i++)
            compile_emit(c, INTERP_MOV, r + i, compile_lane(v, i), 0, 0);
        if (side == 1) {
            to_end = compile_emit(c, INTERP_JMP, 0, 0, 0, 0);
            c->ins.at[to_else].x.imm = c->ins.n;
        }
    }
    c->guard--;
    c->ins.at[to_end].x.imm = c->ins.n;
    c->ops++;
    return (interp_opd){r, 1};
}

static interp_opd
cast(compiler *c, const tn_expr *e)
{
    const tn_expr *v = tn_as_cast(e)->value;
    tnb_dtype from = tn_dtype_of(v), to = tn_dtype_of(e);
    interp_opd x = compile_expr(c, v);
    interp_class cf = interp_class_of(from), ct = interp_class_of(to);
    int32_t r = compile_temp(c, to.lanes);
    bool u64 = from.code == TNB_UINT && from.bits == 64;
    for (int32_t i = 0; i < to.lanes; i++) {
        int32_t s = compile_lane(x, i), d = r + i;
        uint32_t at;
        c->ops++;
        if (cf == INTERP_INT && ct == INTERP_INT) {
            compile_emit(c, INTERP_MOV, d, s, 0, 0);
            normalise(c, to, d);
        } else if (cf == INTERP_INT && ct == INTERP_DBL) {
            compile_emit(c, u64 ? INTERP_U2D : INTERP_I2D, d, s, 0, 0);
        } else if (cf == INTERP_INT && ct == INTERP_FLT && to.code == TNB_FLOAT && to.bits == 32) {
            compile_emit(c, u64 ? INTERP_U2F : INTERP_I2F, d, s, 0, 0);
        } else if (ct == INTERP_FLT && cf != INTERP_PTR && cf != INTERP_NO_CLASS) {
            int32_t wide = s;
            if (cf == INTERP_FLT) {
                compile_emit(c, INTERP_MOV, d, s, 0, 0);
                normalise(c, to, d);
                continue;
            }
            if (cf == INTERP_INT) {
                wide = d;
                compile_emit(c, u64 ? INTERP_U2D : INTERP_I2D, d, s, 0, 0);
            }
            at = compile_emit(c, INTERP_ROUNDD, d, wide, 0, 0);
            c->ins.at[at].x.imm = pack(to);
        } else if (cf == INTERP_FLT && ct == INTERP_DBL) {
            compile_emit(c, INTERP_F2D, d, s, 0, 0);
        } else if (cf == INTERP_DBL && ct == INTERP_DBL) {
            compile_emit(c, INTERP_MOV, d, s, 0, 0);
        } else if (ct == INTERP_INT && (cf == INTERP_FLT || cf == INTERP_DBL)) {
            int32_t zero = compile_const(c, (interp_reg){.i = 0});
            if (tnb_dtype_is_bool(to)) {
                compile_emit(c, cf == INTERP_FLT ? INTERP_NEF : INTERP_NED, d, s, zero, 0);
                continue;
            }
            if (cf == INTERP_FLT)
                compile_emit(c, INTERP_F2D, d, s, 0, 0);
            bool to_u64 = to.code == TNB_UINT && to.bits == 64;
            compile_emit(c, to_u64 ? INTERP_D2U : INTERP_D2I, d, cf == INTERP_FLT ? d : s, 0, 0);
            normalise(c, to, d);
        } else {
            compile_fail(c, e, "a cast from %s to %s cannot be computed", tnb_dtype_print(from).s,
                         tnb_dtype_print(to).s);
            return x;
        }
    }
    return (interp_opd){r, 1};
}

/* ---- memory ---- */

static interp_op
access_op(const interp_bufinfo *b, int dims, bool store)
{
#define M(name, ctype, field, get, put)                  \
    case TNB_DTYPE_KEY_##name:                           \
        return store ? (dims == 1   ? INTERP_ST1_##name  \
                        : dims == 2 ? INTERP_ST2_##name  \
                                    : INTERP_STF_##name) \
                     : (dims == 1   ? INTERP_LD1_##name  \
                        : dims == 2 ? INTERP_LD2_##name  \
                                    : INTERP_LDF_##name);
    enum {
        TNB_DTYPE_KEY_I8 = TNB_INT << 8 | 8,
        TNB_DTYPE_KEY_I16 = TNB_INT << 8 | 16,
        TNB_DTYPE_KEY_I32 = TNB_INT << 8 | 32,
        TNB_DTYPE_KEY_I64 = TNB_INT << 8 | 64,
        TNB_DTYPE_KEY_U8 = TNB_UINT << 8 | 8,
        TNB_DTYPE_KEY_U16 = TNB_UINT << 8 | 16,
        TNB_DTYPE_KEY_U32 = TNB_UINT << 8 | 32,
        TNB_DTYPE_KEY_F16 = TNB_FLOAT << 8 | 16,
        TNB_DTYPE_KEY_F32 = TNB_FLOAT << 8 | 32,
        TNB_DTYPE_KEY_F64 = TNB_FLOAT << 8 | 64,
        KEY_BOOL = TNB_BOOL << 8 | 8,
        KEY_U64 = TNB_UINT << 8 | 64
    };
    int key = b->elem.code << 8 | b->elem.bits;
    if (key == KEY_BOOL)
        key = TNB_DTYPE_KEY_U8;
    if (key == KEY_U64)
        key = TNB_DTYPE_KEY_I64;
    switch (key) {
        INTERP_MEMTYPES(M)
    default:
        return store ? INTERP_STX : INTERP_LDX;
    }
#undef M
}

/* The element number of lane `lane` of the indices, checked, in a new register. */
static int32_t
linear(compiler *c, int32_t buf, const interp_opd *at, uint32_t n, int32_t lane)
{
    if (n == 0)
        return compile_const_int(c, 0);
    int32_t r = compile_temp(c, 1);
    for (uint32_t k = 0; k < n; k++)
        compile_emit(c, k ? INTERP_LIN : INTERP_LIN0, r, buf, compile_lane(at[k], lane),
                     (int32_t)k);
    return r;
}

/* Loads or stores `lanes` lanes; value registers from `v`. */
static void
access(compiler *c, const tn_node *buffer, tn_list indices, interp_opd v, int32_t lanes, bool store)
{
    int32_t buf = compile_buffer(c, buffer);
    if (buf < 0 || c->failed)
        return;
    const interp_bufinfo *info = &c->bufs.at[buf];
    interp_opd at[INTERP_DIMS];
    int32_t width = 1;
    if ((int32_t)indices.n != info->ndim) {
        compile_fail(c, buffer, "buffer '%s' has %d dimensions, but %u indices are given",
                     info->node->name, info->ndim, indices.n);
        return;
    }
    for (uint32_t k = 0; k < indices.n; k++) {
        at[k] = compile_expr(c, indices.at[k]);
        if (tn_dtype_of(indices.at[k]).lanes > width)
            width = tn_dtype_of(indices.at[k]).lanes;
    }
    if (c->failed)
        return;
    info = &c->bufs.at[buf];
    int32_t per = (int32_t)info->lanes;
    if (width * per != lanes) {
        compile_fail(c, buffer, "an access of buffer '%s' has %d lanes, its value %d",
                     info->node->name, width * per, lanes);
        return;
    }
    bool late = store && c->async && info->elem.bits >= 8;
    bool flat = per > 1 || indices.n == 0 || indices.n > 2 || late;
    interp_op op = access_op(info, flat ? 0 : (int)indices.n, store);
    late &= op != INTERP_STX;
    flat |= op == INTERP_LDX || op == INTERP_STX;
    for (int32_t i = 0; i < width; i++) {
        c->ops += (uint32_t)per;
        if (!flat) {
            compile_emit(c, op, compile_lane(v, i), buf, compile_lane(at[0], i),
                         indices.n == 2 ? compile_lane(at[1], i) : 0);
            continue;
        }
        int32_t lin = linear(c, buf, at, indices.n, i);
        for (int32_t k = 0; k < per; k++) {
            int32_t elem = lin;
            if (per > 1) {
                elem = compile_temp(c, 1);
                uint32_t ins = compile_emit(c, INTERP_LANE, elem, lin, k, 0);
                c->ins.at[ins].x.imm = per;
            }
            if (late)
                compile_emit(c, INTERP_LATE_OPEN, 0, buf, elem, 0);
            compile_emit(c, op, compile_lane(v, i * per + k), buf, elem, 0);
            if (late)
                compile_emit(c, INTERP_LATE_CLOSE, c->queue, buf, elem, 0);
        }
    }
}

void
compile_store(compiler *c, const tn_node *buffer, const tn_expr *value, tn_list indices)
{
    interp_opd v = compile_expr(c, value);
    access(c, buffer, indices, v, tn_dtype_of(value).lanes, true);
}

/* ---- calls ---- */

static const char *
help_popcount(interp_reg *r, int32_t a, int32_t b, int64_t bits)
{
    uint64_t v = r[b].u;
    if (bits < 64)
        v &= ((uint64_t)1 << bits) - 1;
    r[a].i = __builtin_popcountll(v);
    return NULL;
}

static const char *
help_clz(interp_reg *r, int32_t a, int32_t b, int64_t bits)
{
    uint64_t v = r[b].u;
    if (bits < 64)
        v &= ((uint64_t)1 << bits) - 1;
    r[a].i = v ? __builtin_clzll(v) - (64 - bits) : bits;
    return NULL;
}

/* x, y in b and b + 1, shifts q and s behind: (x * y * 2) rounded and shifted as in fixed-point
 * arithmetic. */
static const char *
help_q_multiply_shift(interp_reg *r, int32_t a, int32_t b, int64_t bits)
{
    int64_t q = r[b + 2].i, s = r[b + 3].i, left = s > 0 ? s : 0, right = s > 0 ? 0 : -s;
    (void)bits;
    if (left > 31 || right > 31 || q < 0 || q > 31)
        return "q_multiply_shift has shifts outside of [0, 31]";
    int64_t total = right + q;
    int64_t half = total > 0 ? (int64_t)1 << (total - 1) : 0;
    r[a].i = ((r[b].i * ((int64_t)1 << left)) * r[b + 1].i + half) >> total;
    return NULL;
}

/* the products of four bytes in b and on by the four behind them, added to what follows these */
static const char *
help_dp4a(interp_reg *r, int32_t a, int32_t b, int64_t unused)
{
    (void)unused;
    int64_t sum = r[b + 8].i;
    for (int i = 0; i < 4; i++)
        sum += r[b + i].i * r[b + 4 + i].i;
    r[a].i = sum;
    return NULL;
}

static int32_t
emit_helper(compiler *c, const char *(*fn)(interp_reg *, int32_t, int32_t, int64_t), int32_t args,
            int32_t param)
{
    int32_t r = compile_temp(c, 1);
    uint32_t at = compile_emit(c, INTERP_HELPER, r, args, param, 0);
    c->ins.at[at].x.helper = fn;
    c->ops++;
    return r;
}

/* Lane i of all arguments in a row of new registers. */
static int32_t
gather(compiler *c, const interp_opd *args, uint32_t n, int32_t lane)
{
    int32_t r = compile_temp(c, (int32_t)n);
    for (uint32_t k = 0; k < n; k++)
        compile_emit(c, INTERP_MOV, r + (int32_t)k, compile_lane(args[k], lane), 0, 0);
    return r;
}

/* A function of floats through doubles, rounded once to the dtype. */
static interp_opd
math(compiler *c, const tn_expr *e, const tn_op *op, tn_list args)
{
    enum { MAX_ARGS = 4 };
    interp_opd at[MAX_ARGS];
    tnb_dtype in = tn_dtype_of(args.at[0]), out = tn_dtype_of(e);
    if (args.n > MAX_ARGS || interp_class_of(out) == INTERP_NO_CLASS ||
        interp_class_of(in) == INTERP_PTR) {
        compile_fail(c, e, "%s of %s cannot be computed", op->base.name, tnb_dtype_print(in).s);
        return (interp_opd){0, 0};
    }
    for (uint32_t k = 0; k < args.n; k++)
        at[k] = compile_expr(c, args.at[k]);
    int32_t r = compile_temp(c, out.lanes);
    bool direct = interp_class_of(in) == INTERP_FLT && interp_class_of(out) == INTERP_FLT;
    for (uint32_t k = 0; k < args.n; k++)
        direct &= interp_class_of(tn_dtype_of(args.at[k])) == INTERP_FLT;
    for (int32_t i = 0; i < out.lanes && !c->failed; i++) {
        int32_t base = gather(c, at, args.n, i), d = r + i;
        for (uint32_t k = 0; !direct && k < args.n; k++) {
            tnb_dtype ad = tn_dtype_of(args.at[k]);
            int32_t a = base + (int32_t)k;
            if (interp_class_of(ad) == INTERP_FLT)
                compile_emit(c, INTERP_F2D, a, a, 0, 0);
            else if (interp_class_of(ad) == INTERP_INT)
                compile_emit(c, ad.code == TNB_UINT ? INTERP_U2D : INTERP_I2D, a, a, 0, 0);
        }
        uint32_t ins = compile_emit(c, INTERP_MATH, d, base, (int32_t)args.n, !direct);
        c->ins.at[ins].x.math = op->eval;
        c->ops++;
        if (direct) {
            normalise(c, out, d);
        } else if (interp_class_of(out) == INTERP_FLT) {
            ins = compile_emit(c, INTERP_ROUNDD, d, d, 0, 0);
            c->ins.at[ins].x.imm = pack(out);
        } else if (interp_class_of(out) == INTERP_INT) {
            compile_emit(c, INTERP_D2I, d, d, 0, 0);
            normalise(c, out, d);
        }
    }
    return (interp_opd){r, 1};
}

static interp_op
bits_op(tn_intrin_id id, tnb_dtype d)
{
    switch ((int)id) {
    case TN_INTRIN_bitwise_and:
        return INTERP_AND;
    case TN_INTRIN_bitwise_or:
        return INTERP_OR;
    case TN_INTRIN_bitwise_xor:
        return INTERP_XOR;
    case TN_INTRIN_bitwise_not:
        return tnb_dtype_is_bool(d) ? INTERP_NOT : INTERP_BNOT;
    case TN_INTRIN_shift_left:
        return INTERP_SHL;
    default:
        return d.code == TNB_UINT ? INTERP_USHR : INTERP_SHR;
    }
}

static interp_opd
bits(compiler *c, const tn_expr *e, tn_intrin_id id, tn_list args)
{
    tnb_dtype d = tn_dtype_of(e), in = tn_dtype_of(args.at[0]);
    interp_opd x = compile_expr(c, args.at[0]), y = args.n > 1 ? compile_expr(c, args.at[1]) : x;
    int32_t r = compile_temp(c, d.lanes);
    interp_op op = bits_op(id, d);
    for (int32_t i = 0; i < d.lanes; i++) {
        compile_emit(c, op, r + i, compile_lane(x, i), args.n > 1 ? compile_lane(y, i) : 0,
                     in.bits);
        normalise(c, d, r + i);
        c->ops++;
    }
    return (interp_opd){r, 1};
}

static interp_opd
reinterpreted(compiler *c, const tn_expr *e, const tn_expr *v)
{
    tnb_dtype from = tn_dtype_of(v), to = tn_dtype_of(e);
    interp_opd x = compile_expr(c, v);
    if (from.lanes != to.lanes || from.bits != to.bits) {
        compile_fail(c, e, "reinterpret changes the size: %s to %s", tnb_dtype_print(from).s,
                     tnb_dtype_print(to).s);
        return x;
    }
    int32_t r = compile_temp(c, to.lanes);
    for (int32_t i = 0; i < to.lanes; i++) {
        compile_emit(c, INTERP_BITS, r + i, compile_lane(x, i), pack(from), pack(to));
        c->ops++;
    }
    return (interp_opd){r, 1};
}

static interp_opd
address_of(compiler *c, const tn_expr *e, const tn_expr *v)
{
    const tn_buffer_load *l = tn_as_buffer_load(v);
    interp_opd at[INTERP_DIMS];
    int32_t r = compile_temp(c, 1), buf = l ? compile_buffer(c, l->buffer) : -1;
    if (buf < 0) {
        compile_fail(c, e, "address_of takes an element of a buffer");
        return (interp_opd){r, 1};
    }
    for (uint32_t k = 0; k < l->indices.n && k < INTERP_DIMS; k++)
        at[k] = compile_expr(c, l->indices.at[k]);
    int32_t lin = linear(c, buf, at, l->indices.n, 0);
    compile_emit(c, INTERP_ADDR, r, buf, lin, 0);
    return (interp_opd){r, 1};
}

static interp_opd
move_pointer(compiler *c, const tn_expr *ptr, const tn_expr *offset, int64_t bytes)
{
    int32_t p = compile_scalar(c, ptr), o = compile_scalar(c, offset), r = compile_temp(c, 1);
    uint32_t at = compile_emit(c, INTERP_MOVEPTR, r, p, o, 0);
    c->ins.at[at].x.imm = bytes;
    return (interp_opd){r, 1};
}

/* The threads of a block run one after another between barriers. */
static interp_opd
atomic(compiler *c, const tn_expr *e, const tn_expr *element, const tn_expr *value, bool is_or)
{
    const tn_buffer_load *l = tn_as_buffer_load(element);
    interp_opd was = compile_expr(c, element);
    if (!l || tn_dtype_of(e).lanes != 1) {
        compile_fail(c, e, "an atomic operation is on an element of a buffer");
        return was;
    }
    int32_t r = compile_temp(c, 1);
    compile_emit(c, is_or ? INTERP_OR : INTERP_AND, r, was.reg, compile_scalar(c, value),
                 tn_dtype_of(e).bits);
    access(c, l->buffer, l->indices, (interp_opd){r, 1}, 1, true);
    return was;
}

/* A C function by name: the mathematical ones. */
static const tn_op *
find_extern(const char *name)
{
    for (uint32_t i = 0; i < tn_n_scalar_intrinsics; i++) {
        const tn_op *op = &tn_scalar_intrinsics[i];
        const char *plain = strchr(op->base.name, '.') + 1;
        size_t n = strlen(plain);
        if (!op->eval)
            continue;
        if (strcmp(name, plain) == 0 ||
            (strncmp(name, plain, n) == 0 && strcmp(name + n, "f") == 0))
            return op;
    }
    return NULL;
}

static interp_opd
call_extern(compiler *c, const tn_expr *e, const tn_call *call)
{
    const tn_string_imm *name = call->args.n ? tn_as_string_imm(call->args.at[0]) : NULL;
    const tn_op *op = name ? find_extern(name->value) : NULL;
    tn_list args = {call->args.at + 1, call->args.n - 1};
    if (op && args.n)
        return math(c, e, op, args);
    compile_fail(c, e, "the interpreter does not know the external function '%s'",
                 name ? name->value : "?");
    return (interp_opd){0, 0};
}

static interp_opd
call_prim(compiler *c, const tn_expr *e, const tn_call *call)
{
    const tn_global_var *g = tn_as_global_var(call->op);
    const tn_node *f = g ? tn_module_get(c->vm->m, g->name) : NULL;
    const tn_prim_func *p = tn_as_prim_func(f);
    int32_t r = compile_temp(c, 1);
    if (!p || p->params.n != call->args.n) {
        compile_fail(c, e,
                     p ? "call of '%s' with a wrong number of arguments"
                       : "'%s' is no tensor program of the module",
                     g ? g->name : "?");
        return (interp_opd){r, 1};
    }
    int32_t base = compile_temp(c, (int32_t)call->args.n + 1);
    for (uint32_t i = 0; i < call->args.n; i++)
        compile_emit(c, INTERP_MOV, base + (int32_t)i, compile_scalar(c, call->args.at[i]), 0, 0);
    interp_callee *callee = TNB_NEW(c->arena, interp_callee);
    *callee = (interp_callee){f, call->args.n};
    uint32_t at = compile_emit(c, INTERP_CALL, r, base, 0, 0);
    c->ins.at[at].x.ptr = callee;
    c->ops++;
    return (interp_opd){r, 1};
}

/* halves of vectors, and joining them */
static interp_opd
vector_part(compiler *c, const tn_expr *e, tn_intrin_id id, tn_list args)
{
    int32_t lanes = tn_dtype_of(e).lanes, r = compile_temp(c, lanes);
    interp_opd x = compile_expr(c, args.at[0]), y = args.n > 1 ? compile_expr(c, args.at[1]) : x;
    bool joins = id == TN_INTRIN_vectorcombine;
    int32_t shift = id == TN_INTRIN_vectorhigh ? lanes : 0;
    for (int32_t i = 0; i < lanes; i++) {
        int32_t s = !joins          ? compile_lane(x, i + shift)
                    : i < lanes / 2 ? compile_lane(x, i)
                                    : compile_lane(y, i - lanes / 2);
        compile_emit(c, INTERP_MOV, r + i, s, 0, 0);
    }
    return (interp_opd){r, 1};
}

/* index, extent, wraps, site */
static interp_opd
index_in(compiler *c, const tn_expr *e, tn_list args)
{
    const tn_string_imm *site = tn_as_string_imm(args.at[3]);
    interp_opd x = compile_expr(c, args.at[0]), n = compile_expr(c, args.at[1]);
    int32_t lanes = tn_dtype_of(e).lanes, r = compile_temp(c, lanes);
    if (tn_dtype_of(args.at[1]).lanes == 1)
        n.step = 0;
    for (int32_t i = 0; i < lanes; i++) {
        uint32_t at = compile_emit(c, INTERP_INDEX, r + i, compile_lane(x, i), compile_lane(n, i),
                                   !tn_is_int_const(args.at[2], 0));
        c->ins.at[at].x.ptr = site ? site->value : "an index";
    }
    c->ops += (uint32_t)lanes;
    return (interp_opd){r, 1};
}

static interp_opd
absolute(compiler *c, const tn_expr *v, tnb_dtype d)
{
    static const interp_op ops[4] = {INTERP_ABS, INTERP_MOV, INTERP_ABSF, INTERP_ABSD};
    interp_opd x = compile_expr(c, v);
    int32_t r = compile_temp(c, d.lanes);
    for (int32_t i = 0; i < d.lanes; i++) {
        compile_emit(c, ops[column(d)], r + i, compile_lane(x, i), 0, 0);
        if (column(d) == 0)
            normalise(c, d, r + i);
        c->ops++;
    }
    return (interp_opd){r, 1};
}

static interp_opd
count_bits(compiler *c, const tn_expr *v, tnb_dtype d, bool ones)
{
    interp_opd x = compile_expr(c, v);
    int32_t r = compile_temp(c, d.lanes);
    for (int32_t i = 0; i < d.lanes; i++)
        compile_emit(c, INTERP_MOV, r + i,
                     emit_helper(c, ones ? help_popcount : help_clz, compile_lane(x, i),
                                 tn_dtype_of(v).bits),
                     0, 0);
    return (interp_opd){r, 1};
}

static interp_opd
q_multiply_shift(compiler *c, tn_list args, tnb_dtype d)
{
    interp_opd at[4];
    for (uint32_t i = 0; i < args.n; i++)
        at[i] = compile_expr(c, args.at[i]);
    int32_t r = compile_temp(c, d.lanes);
    for (int32_t i = 0; i < d.lanes; i++) {
        int32_t got = emit_helper(c, help_q_multiply_shift, gather(c, at, args.n, i), 0);
        compile_emit(c, INTERP_MOV, r + i, got, 0, 0);
        normalise(c, d, r + i);
    }
    return (interp_opd){r, 1};
}

/* Byte k of the i-th number, in register `to`. */
static void
take_byte(compiler *c, interp_opd x, tnb_dtype d, int32_t i, int32_t k, int32_t to)
{
    const tnb_dtype byte = {d.code, 8, 1};
    if (d.bits == 8)
        compile_emit(c, INTERP_MOV, to, compile_lane(x, 4 * i + k), 0, 0);
    else
        compile_emit(c, INTERP_USHR, to, compile_lane(x, i), compile_const_int(c, 8 * k), d.bits);
    normalise(c, byte, to);
}

static interp_opd
dot(compiler *c, tn_list args, tnb_dtype d)
{
    const interp_opd x = compile_expr(c, args.at[0]), y = compile_expr(c, args.at[1]),
                     sum = compile_expr(c, args.at[2]);
    const int32_t r = compile_temp(c, d.lanes);
    for (int32_t i = 0; i < d.lanes; i++) {
        const int32_t in = compile_temp(c, 9);
        for (int32_t k = 0; k < 4; k++) {
            take_byte(c, x, tn_dtype_of(args.at[0]), i, k, in + k);
            take_byte(c, y, tn_dtype_of(args.at[1]), i, k, in + 4 + k);
        }
        compile_emit(c, INTERP_MOV, in + 8, compile_lane(sum, i), 0, 0);
        compile_emit(c, INTERP_MOV, r + i, emit_helper(c, help_dp4a, in, 0), 0, 0);
        normalise(c, d, r + i);
    }
    return (interp_opd){r, 1};
}

static bool
rounds(tn_intrin_id id)
{
    return id == TN_INTRIN_floor || id == TN_INTRIN_ceil || id == TN_INTRIN_round ||
           id == TN_INTRIN_trunc || id == TN_INTRIN_nearbyint;
}

static interp_opd
call(compiler *c, const tn_expr *e)
{
    const tn_call *k = tn_as_call(e);
    const tn_op *op = tn_call_op_of(k);
    tnb_dtype d = tn_dtype_of(e);
    interp_opd out = {0, 0};
    int64_t v, w;
    if (!op)
        return call_prim(c, e, k);
    if (!(op->flags & TN_OP_SCALAR)) {
        compile_fail(c, e, "graph operator %s inside of a tensor program", op->base.name);
        return out;
    }
    tn_list args = k->args;
    if (args.n && rounds(op->intrin) && interp_class_of(tn_dtype_of(args.at[0])) == INTERP_INT)
        return compile_expr(c, args.at[0]); /* of an integer: itself, also beyond 2^53 */
    if (op->eval && args.n)
        return math(c, e, op, args);
    switch ((int)op->intrin) {
    case TN_INTRIN_if_then_else:
        return lazy_choice(c, e, k);
    case TN_INTRIN_bitwise_and:
    case TN_INTRIN_bitwise_or:
    case TN_INTRIN_bitwise_xor:
    case TN_INTRIN_bitwise_not:
    case TN_INTRIN_shift_left:
    case TN_INTRIN_shift_right:
        return bits(c, e, op->intrin, args);
    case TN_INTRIN_likely:
    case TN_INTRIN_tvm_thread_invariant:
        return compile_expr(c, args.at[0]);
    case TN_INTRIN_reinterpret:
        return reinterpreted(c, e, args.at[0]);
    case TN_INTRIN_abs:
        return absolute(c, args.at[0], d);
    case TN_INTRIN_popcount:
    case TN_INTRIN_clz:
        return count_bits(c, args.at[0], d, op->intrin == TN_INTRIN_popcount);
    case TN_INTRIN_index_in:
        return index_in(c, e, args);
    case TN_INTRIN_atomic_and:
    case TN_INTRIN_atomic_or:
        return atomic(c, e, args.at[0], args.at[1], op->intrin == TN_INTRIN_atomic_or);
    case TN_INTRIN_address_of:
        return address_of(c, e, args.at[0]);
    case TN_INTRIN_tvm_access_ptr:
        return move_pointer(c, args.at[1], args.at[2],
                            (int64_t)tnb_dtype_bytes(tn_dtype_of(args.at[0])));
    case TN_INTRIN_handle_add_byte_offset:
        return move_pointer(c, args.at[0], args.at[1], 1);
    case TN_INTRIN_isnullptr: {
        int32_t r = compile_temp(c, 1);
        compile_emit(c, INTERP_EQ, r, compile_scalar(c, args.at[0]), compile_const_int(c, 0), 0);
        return (interp_opd){r, 1};
    }
    case TN_INTRIN_large_uint_imm:
        if (args.n == 2 && tn_int_value(args.at[0], &v) && tn_int_value(args.at[1], &w))
            return (interp_opd){compile_const_int(c, (int64_t)((uint64_t)w << 32 | (uint64_t)v)),
                                0};
        break;
    case TN_INTRIN_undef:
        return (interp_opd){compile_const_int(c, 0), 0};
    case TN_INTRIN_vectorlow:
    case TN_INTRIN_vectorhigh:
    case TN_INTRIN_vectorcombine:
        return vector_part(c, e, op->intrin, args);
    case TN_INTRIN_dp4a:
        return dot(c, args, d);
    case TN_INTRIN_q_multiply_shift:
        if (args.n == 4)
            return q_multiply_shift(c, args, d);
        break;
    case TN_INTRIN_call_extern:
    case TN_INTRIN_call_pure_extern:
        return call_extern(c, e, k);
    default:
        break;
    }
    if (compile_effect(c, k, op, &out))
        return out;
    compile_fail(c, e, "the interpreter does not run the intrinsic %s", op->base.name);
    return out;
}

/* ---- the rest ---- */

static interp_opd
shuffle(compiler *c, const tn_expr *e, const tn_shuffle *s)
{
    enum { MAX_LANES = 1024 };
    int32_t lanes = tn_dtype_of(e).lanes, all[MAX_LANES], n = 0, r = compile_temp(c, lanes);
    for (uint32_t i = 0; i < s->vectors.n; i++) {
        interp_opd x = compile_expr(c, s->vectors.at[i]);
        for (int32_t k = 0; k < tn_dtype_of(s->vectors.at[i]).lanes && n < MAX_LANES; k++)
            all[n++] = compile_lane(x, k);
    }
    for (int32_t i = 0; i < lanes && (uint32_t)i < s->indices.n; i++) {
        int64_t from;
        if (!tn_int_value(s->indices.at[i], &from)) {
            /* a run-time choice: selects along all lanes */
            int32_t at = compile_scalar(c, s->indices.at[i]), is = compile_temp(c, 1);
            compile_emit(c, INTERP_MOV, r + i, all[0], 0, 0);
            for (int32_t k = 1; k < n; k++) {
                compile_emit(c, INTERP_EQ, is, at, compile_const_int(c, k), 0);
                compile_emit(c, INTERP_SELECT, r + i, is, all[k], r + i);
            }
            continue;
        }
        if (from < 0 || from >= n) {
            compile_fail(c, e, "a shuffle takes lane %lld of %d", (long long)from, n);
            break;
        }
        compile_emit(c, INTERP_MOV, r + i, all[from], 0, 0);
    }
    return (interp_opd){r, 1};
}

static interp_opd
compile_new(compiler *c, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    int32_t r;
    const tn_binary *b = tn_as_binary(e);
    if (b)
        return e->kind == TN_KIND_AND || e->kind == TN_KIND_OR ? logic(c, e, b) : binary(c, e, b);
    switch (e->kind) {
    case TN_KIND_INT_IMM:
        return (interp_opd){compile_const_int(c, tn_as_int_imm(e)->value), 0};
    case TN_KIND_FLOAT_IMM:
        return (interp_opd){compile_const(c, interp_reg_of_double(d, tn_as_float_imm(e)->value)),
                            0};
    case TN_KIND_VAR:
        if (!compile_get_reg(c, e, &r)) {
            compile_fail(c, e, "variable '%s' has no value here", tn_var_name(e));
            r = 0;
        }
        return (interp_opd){r, d.lanes > 1};
    case TN_KIND_CAST:
        return cast(c, e);
    case TN_KIND_NOT: {
        interp_opd x = compile_expr(c, tn_as_unary(e)->a);
        r = compile_temp(c, d.lanes);
        for (int32_t i = 0; i < d.lanes; i++)
            compile_emit(c, INTERP_NOT, r + i, compile_lane(x, i), 0, 0);
        c->ops += d.lanes;
        return (interp_opd){r, 1};
    }
    case TN_KIND_SELECT: {
        const tn_select *s = tn_as_select(e);
        interp_opd p = compile_expr(c, s->cond), x = compile_expr(c, s->a),
                   y = compile_expr(c, s->b);
        if (tn_dtype_of(s->cond).lanes == 1)
            p.step = 0;
        r = compile_temp(c, d.lanes);
        for (int32_t i = 0; i < d.lanes; i++)
            compile_emit(c, INTERP_SELECT, r + i, compile_lane(p, i), compile_lane(x, i),
                         compile_lane(y, i));
        c->ops += d.lanes;
        return (interp_opd){r, 1};
    }
    case TN_KIND_LET: {
        const tn_let *l = tn_as_let(e);
        interp_opd v = compile_expr(c, l->value);
        int32_t lanes = tn_dtype_of(l->value).lanes;
        r = compile_temp(c, lanes);
        for (int32_t i = 0; i < lanes; i++)
            compile_emit(c, INTERP_MOV, r + i, compile_lane(v, i), 0, 0);
        compile_set_reg(c, l->var, r);
        return compile_expr(c, l->body);
    }
    case TN_KIND_RAMP: {
        const tn_ramp *p = tn_as_ramp(e);
        int32_t s = compile_scalar(c, p->start), t = compile_scalar(c, p->stride);
        r = compile_temp(c, d.lanes);
        tnb_dtype elem = {d.code, d.bits, 1};
        for (int32_t i = 0; i < d.lanes; i++) {
            compile_emit(c, i ? INTERP_ADD : INTERP_MOV, r + i, i ? r + i - 1 : s, t, 0);
            normalise(c, elem, r + i);
        }
        c->ops += d.lanes;
        return (interp_opd){r, 1};
    }
    case TN_KIND_BROADCAST: {
        const tn_expr *v = tn_as_broadcast(e)->value;
        interp_opd x = compile_expr(c, v);
        int32_t inner = tn_dtype_of(v).lanes;
        if (inner == 1)
            return (interp_opd){x.reg, 0};
        r = compile_temp(c, d.lanes);
        for (int32_t i = 0; i < d.lanes; i++)
            compile_emit(c, INTERP_MOV, r + i, compile_lane(x, i % inner), 0, 0);
        return (interp_opd){r, 1};
    }
    case TN_KIND_SHUFFLE:
        return shuffle(c, e, tn_as_shuffle(e));
    case TN_KIND_BUFFER_LOAD: {
        const tn_buffer_load *l = tn_as_buffer_load(e);
        r = compile_temp(c, d.lanes);
        access(c, l->buffer, l->indices, (interp_opd){r, 1}, d.lanes, false);
        return (interp_opd){r, 1};
    }
    case TN_KIND_CALL:
        return call(c, e);
    default:
        compile_fail(c, e, "%s is no scalar expression", tn_kinds[e->kind].name);
        return (interp_opd){0, 0};
    }
}

interp_opd
compile_expr(compiler *c, const tn_expr *e)
{
    enum { DEEP = 12 };
    if (c->failed || !e || tn_is_error(e)) {
        c->failed = true;
        return (interp_opd){0, 0};
    }
    bool deep = TN_DEPTH(e) > DEEP && c->guard == 0;
    const interp_opd *known = deep ? tnb_ptrmap_get(&c->memo, e) : NULL;
    if (known)
        return *known;
    tn_loc saved = c->loc;
    if (e->loc)
        c->loc = e->loc;
    interp_opd r = compile_new(c, e);
    c->loc = saved;
    if (deep)
        tnb_ptrmap_set(&c->memo, e, tnb_dup(c->arena, &r, sizeof r));
    return r;
}

int32_t
compile_scalar(compiler *c, const tn_expr *e)
{
    if (e && tn_dtype_of(e).lanes > 1)
        compile_fail(c, e, "expected a scalar, found a vector");
    return compile_expr(c, e).reg;
}
