/* SPDX-License-Identifier: Apache-2.0 */
/* Binary elementwise operators with broadcasting, where and ewise_fma. */
#include "emit.h"

/* ---- type inference ---- */

/* The operand's dtype: of a tensor, or void for a scalar value, which takes the other's. */
static bool
operand(tn_ctx *ctx, const tn_call *call, uint32_t i, const tn_ty_tensor **t)
{
    const tn_expr *e = infer_arg(call, i);
    *t = NULL;
    if (e && tn_is(e->type, TN_KIND_TY_PRIM))
        return true;
    *t = infer_tensor(ctx, call, i);
    return *t != NULL;
}

/* The dtype in which elements of two dtypes are compared: floats before integers before bool, the
 * wider of one kind, of the same width unsigned. */
static tnb_dtype
common_dtype(tnb_dtype a, tnb_dtype b)
{
    if (tnb_dtype_is_bool(a) || tnb_dtype_is_bool(b))
        return tnb_dtype_is_bool(a) ? b : a;
    if (tnb_dtype_is_float(a) != tnb_dtype_is_float(b))
        return tnb_dtype_is_float(a) ? a : b;
    if (a.bits != b.bits)
        return a.bits > b.bits ? a : b;
    return a.code == TNB_UINT ? a : b;
}

/* Shape and dtype of the result; `to` void: the operands' dtype. */
static const tn_type *
binary_type(tn_ctx *ctx, const tn_call *call, tnb_dtype to, bool (*allowed)(tnb_dtype d),
            const char *wanted)
{
    const tn_ty_tensor *a, *b;
    tnb_dtype d;
    tn_list x, y, dims;
    if (!operand(ctx, call, 0, &a) || !operand(ctx, call, 1, &b))
        return tn_error_node(ctx);
    if (!a && !b)
        return infer_fail(ctx, call, TNB_TYPE, "one operand must be a tensor");
    const tn_ty_tensor *one = a ? a : b;
    bool compares = tnb_dtype_is_bool(to); /* of any two dtypes */
    if (compares)
        d = one->dtype;
    else if (!infer_same_dtype(ctx, call, one->dtype, a && b ? b->dtype : one->dtype, &d))
        return tn_error_node(ctx);
    if (allowed && !tnb_dtype_is_void(d) && !allowed(d))
        return infer_fail(ctx, call, TNB_TYPE, "operands must be %s, but are of %s", wanted,
                          tnb_dtype_print(d).s);
    if (!tnb_dtype_is_void(to))
        d = to;
    if (!a || !b)
        return infer_same(ctx, call, one, d);
    if (tn_type_dims(TN_NODE(a), &x) && tn_type_dims(TN_NODE(b), &y)) {
        int known = infer_broadcast(ctx, call, x, y, &dims);
        if (known < 0)
            return tn_error_node(ctx);
        if (known)
            return infer_known(ctx, call, dims, d);
    } else if (a->shape && a->shape == b->shape) { /* one Shape variable */
        return infer_same(ctx, call, a, d);
    }
    if (a->ndim < 0 || b->ndim < 0)
        return infer_rank(ctx, call, -1, d);
    return infer_rank(ctx, call, a->ndim > b->ndim ? a->ndim : b->ndim, d);
}

static bool
int_or_bool(tnb_dtype d)
{
    return tnb_dtype_is_int(d) || tnb_dtype_is_bool(d);
}

const tn_type *
infer_binary(tn_ctx *ctx, const tn_call *call)
{
    return binary_type(ctx, call, TNB_VOID, NULL, NULL);
}

const tn_type *
infer_binary_int(tn_ctx *ctx, const tn_call *call)
{
    return binary_type(ctx, call, TNB_VOID, int_or_bool, "integer or bool");
}

const tn_type *
infer_binary_bool(tn_ctx *ctx, const tn_call *call)
{
    return binary_type(ctx, call, TNB_VOID, tnb_dtype_is_bool, "bool");
}

const tn_type *
infer_compare(tn_ctx *ctx, const tn_call *call)
{
    return binary_type(ctx, call, TNB_B8, NULL, NULL);
}

const tn_type *
infer_ewise_fma(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    for (uint32_t i = 1; t && i < 3; i++) {
        const tn_ty_tensor *u = infer_tensor(ctx, call, i);
        tnb_dtype d;
        if (!u || !infer_same_dtype(ctx, call, t->dtype, u->dtype, &d))
            return tn_error_node(ctx);
        if (tn_type_check(ctx, TN_NODE(t), TN_NODE(u)) == TN_SUBTYPE_FAIL)
            return infer_fail(ctx, call, TNB_SHAPE, "operands have types %s and %s",
                              tn_text(ctx, TN_NODE(t)), tn_text(ctx, TN_NODE(u)));
        tn_list x, y;
        if (tn_type_dims(TN_NODE(t), &x) && tn_type_dims(TN_NODE(u), &y) && x.n == y.n)
            for (uint32_t k = 0; k < x.n; k++)
                dim_differ(ctx, x.at[k], y.at[k],
                           "operands 0 and %u have extents {} and {} in axis %u", i, k);
    }
    return t ? infer_same(ctx, call, t, t->dtype) : tn_error_node(ctx);
}

const tn_type *
infer_where(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t[3];
    tn_list dims[3], xy, all;
    tnb_dtype d;
    bool known = true;
    int64_t ndim = 0;
    for (uint32_t i = 0; i < 3; i++) {
        t[i] = infer_tensor(ctx, call, i);
        if (!t[i])
            return tn_error_node(ctx);
        known &= tn_type_dims(TN_NODE(t[i]), &dims[i]);
        ndim = t[i]->ndim < 0 || ndim < 0 ? -1 : t[i]->ndim > ndim ? t[i]->ndim : ndim;
    }
    if (!tnb_dtype_is_void(t[0]->dtype) && !tnb_dtype_is_bool(t[0]->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "the condition must be bool, but is of %s",
                          tnb_dtype_print(t[0]->dtype).s);
    if (!infer_same_dtype(ctx, call, t[1]->dtype, t[2]->dtype, &d))
        return tn_error_node(ctx);
    if (!known)
        return infer_rank(ctx, call, ndim, d);
    int ok = infer_broadcast(ctx, call, dims[1], dims[2], &xy);
    if (ok > 0)
        ok = infer_broadcast(ctx, call, dims[0], xy, &all);
    if (ok < 0)
        return tn_error_node(ctx);
    return ok ? infer_known(ctx, call, all, d) : infer_rank(ctx, call, ndim, d);
}

/* ---- values ---- */

static const tn_expr *
power_value(tn_ctx *ctx, const tn_expr *x, const tn_expr *y)
{
    tnb_dtype d = tn_dtype_of(x);
    const tn_float_imm *f = tn_as_float_imm(y);
    int64_t i;
    double p = f ? f->value : tn_int_value(y, &i) ? (double)i : -1;
    if (p == 0)
        return tn_literal(ctx, d, 1);
    if (p == 1)
        return x;
    if (p == 2)
        return tn_mul(ctx, x, x);
    if (p == 3)
        return tn_mul(ctx, tn_mul(ctx, x, x), x);
    if (p == 0.5)
        return tn_cast_to(ctx, d,
                          tn_intrin1(ctx, TN_INTRIN_sqrt, tn_cast_to(ctx, emit_wide(d), x)));
    tnb_dtype wide = tnb_dtype_is_float(d) ? emit_wide(d) : TNB_F64;
    return tn_cast_to(ctx, d,
                      tn_intrin2(ctx, TN_INTRIN_pow, tn_cast_to(ctx, wide, x),
                                 tn_cast_to(ctx, wide, y)));
}

static const tn_expr *
log_add_exp(tn_ctx *ctx, const tn_expr *x, const tn_expr *y)
{
    const tn_expr *most = tn_max(ctx, x, y), *least = tn_min(ctx, x, y);
    const tn_expr *ratio = tn_intrin1(ctx, TN_INTRIN_exp, tn_sub(ctx, least, most));
    const tn_expr *tail =
        tn_intrin1(ctx, TN_INTRIN_log, tn_add(ctx, tn_literal(ctx, tn_dtype_of(x), 1), ratio));
    return tn_select_of(ctx, tn_eq_of(ctx, x, y),
                        tn_add(ctx, x, tn_literal(ctx, tn_dtype_of(x), 0.6931471805599453)),
                        tn_add(ctx, most, tail));
}

/* x - floor(x / y) * y. */
static const tn_expr *
floor_mod(tn_ctx *ctx, const tn_expr *x, const tn_expr *y)
{
    return tn_sub(ctx, x, tn_mul(ctx, tn_intrin1(ctx, TN_INTRIN_floor, tn_div(ctx, x, y)), y));
}

static const tn_expr *
bits(tn_ctx *ctx, tn_intrin_id id, tn_kind of_bools, const tn_expr *x, const tn_expr *y)
{
    bool bools = tnb_dtype_is_bool(tn_dtype_of(x));
    return bools ? tn_bin(ctx, of_bools, x, y) : tn_intrin2(ctx, id, x, y);
}

/* Integers: 0 where the divisor is 0. */
static const tn_expr *
int_division(tn_ctx *ctx, tn_kind kind, const tn_expr *x, const tn_expr *y)
{
    int64_t v;
    if (tn_int_value(y, &v) && v)
        return tn_bin(ctx, kind, x, y);
    tnb_dtype d = tn_dtype_of(y);
    const tn_expr *zero = tn_eq_of(ctx, y, tn_literal(ctx, d, 0));
    return tn_select_of(ctx, zero, tn_literal(ctx, d, 0),
                        tn_bin(ctx, kind, x, tn_select_of(ctx, zero, tn_literal(ctx, d, 1), y)));
}

/* Counts outside of the bits shift everything out. */
static const tn_expr *
shift(tn_ctx *ctx, bool left, const tn_expr *x, const tn_expr *y)
{
    tnb_dtype d = tn_dtype_of(y);
    bool is_signed = d.code == TNB_INT;
    tn_intrin_id id = left ? TN_INTRIN_shift_left : TN_INTRIN_shift_right;
    const tn_expr *inside = tn_lt_of(ctx, y, tn_literal(ctx, d, d.bits));
    int64_t v;
    if (tn_int_value(y, &v) && v >= 0 && v < d.bits)
        return tn_intrin2(ctx, id, x, y);
    if (is_signed)
        inside = tn_and_of(ctx, tn_ge_of(ctx, y, tn_literal(ctx, d, 0)), inside);
    if (!left && is_signed) /* copies of the sign */
        return tn_intrin2(ctx, id, x, tn_select_of(ctx, inside, y, tn_literal(ctx, d, d.bits - 1)));
    const tn_expr *count = tn_select_of(ctx, inside, y, tn_literal(ctx, d, 0));
    return tn_select_of(ctx, inside, tn_intrin2(ctx, id, x, count), tn_literal(ctx, d, 0));
}

/* The node that is the whole of an operator; TN_KIND_NONE: it is more than one. */
static tn_kind
kind_of(op_id id)
{
    switch (id) {
    case OP_add:
        return TN_KIND_ADD;
    case OP_subtract:
        return TN_KIND_SUB;
    case OP_multiply:
        return TN_KIND_MUL;
    case OP_equal:
        return TN_KIND_EQ;
    case OP_not_equal:
    case OP_logical_xor:
        return TN_KIND_NE;
    case OP_less:
        return TN_KIND_LT;
    case OP_less_equal:
        return TN_KIND_LE;
    case OP_greater:
        return TN_KIND_GT;
    case OP_greater_equal:
        return TN_KIND_GE;
    case OP_logical_and:
        return TN_KIND_AND;
    case OP_logical_or:
        return TN_KIND_OR;
    case OP_maximum:
        return TN_KIND_MAX;
    case OP_minimum:
        return TN_KIND_MIN;
    default:
        return TN_KIND_NONE;
    }
}

static const tn_expr *
binary_value(tn_ctx *ctx, op_id id, const tn_expr *x, const tn_expr *y)
{
    bool is_float = tnb_dtype_is_float(tn_dtype_of(x));
    switch (id) {
    case OP_divide:
        return is_float ? tn_div(ctx, x, y) : int_division(ctx, TN_KIND_DIV, x, y);
    case OP_power:
        return power_value(ctx, x, y);
    case OP_floor_divide:
        return is_float ? tn_intrin1(ctx, TN_INTRIN_floor, tn_div(ctx, x, y))
                        : int_division(ctx, TN_KIND_FLOOR_DIV, x, y);
    case OP_mod:
        return is_float ? tn_intrin2(ctx, TN_INTRIN_fmod, x, y)
                        : int_division(ctx, TN_KIND_MOD, x, y);
    case OP_floor_mod:
        return is_float ? floor_mod(ctx, x, y) : int_division(ctx, TN_KIND_FLOOR_MOD, x, y);
    case OP_atan2:
        return tn_intrin2(ctx, TN_INTRIN_atan2, x, y);
    case OP_log_add_exp:
        return log_add_exp(ctx, x, y);
    case OP_left_shift:
    case OP_right_shift:
        return shift(ctx, id == OP_left_shift, x, y);
    case OP_bitwise_and:
        return bits(ctx, TN_INTRIN_bitwise_and, TN_KIND_AND, x, y);
    case OP_bitwise_or:
        return bits(ctx, TN_INTRIN_bitwise_or, TN_KIND_OR, x, y);
    case OP_bitwise_xor:
        return bits(ctx, TN_INTRIN_bitwise_xor, TN_KIND_NE, x, y);
    default:
        return tn_bin(ctx, kind_of(id), x, y);
    }
}

/* ---- legalization ---- */

/* An operand of an elementwise program: a tensor to read, or a literal or parameter. */
typedef struct place {
    const tn_node *buffer;
    const tn_expr *value;
} place;

static place
make_place(emit *e, const tn_expr *arg, tnb_dtype d, bool inline_constant)
{
    place p = {NULL, NULL};
    if (tn_is(arg->type, TN_KIND_TY_PRIM)) {
        p.value = emit_scalar(e, arg, d);
        return p;
    }
    if (inline_constant)
        p.value = emit_constant(e->ctx, arg, d);
    if (!p.value)
        p.buffer = emit_input(e, arg);
    return p;
}

static const tn_expr *
place_value(emit *e, place p, const tnk_stage *s)
{
    return p.value ? p.value : emit_broadcast(e, p.buffer, s);
}

const tn_expr *
legalize_binary(tn_builder *b, const tn_call *call)
{
    const char *op = infer_op_name(call);
    emit e = emit_begin(b, call);
    const tn_expr *x = call->args.at[0], *y = call->args.at[1];
    bool scalar_x = tn_is(x->type, TN_KIND_TY_PRIM), scalar_y = tn_is(y->type, TN_KIND_TY_PRIM);
    tnb_dtype dx = tn_type_dtype(scalar_x ? y->type : x->type);
    tnb_dtype dy = scalar_y ? dx : tn_type_dtype(y->type), d = dx;
    if (!tnb_dtype_eq(dx, dy))
        d = common_dtype(dx, dy);
    /* A constant is written into the program: the second operand if it is one, else the first. */
    bool second = emit_constant(e.ctx, y, dy) != NULL;
    place px = make_place(&e, x, dx, !second), py = make_place(&e, y, dy, second);
    tnk_stage *s = emit_stage(&e, tnb_printf(tn_scratch(e.ctx), "T_%s", op));
    const tn_expr *v =
        binary_value(e.ctx, infer_op(call)->id, tn_cast_to(e.ctx, d, place_value(&e, px, s)),
                     tn_cast_to(e.ctx, d, place_value(&e, py, s)));
    return emit_end(&e, op, tnk_te_define(s, v));
}

const tn_expr *
legalize_ewise_fma(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_expr *v[3];
    const tn_node *in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = emit_input(&e, call->args.at[i]);
    tnk_stage *s = emit_stage(&e, "T_add");
    for (uint32_t i = 0; i < 3; i++)
        v[i] = emit_broadcast(&e, in[i], s);
    return emit_end(&e, "fma", tnk_te_define(s, tn_add(ctx, tn_mul(ctx, v[0], v[1]), v[2])));
}

const tn_expr *
legalize_where(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tnb_dtype d = tn_type_dtype(call->base.type);
    place c = make_place(&e, call->args.at[0], TNB_B8, false);
    place px = make_place(&e, call->args.at[1], d, true),
          py = make_place(&e, call->args.at[2], d, true);
    tnk_stage *s = emit_stage(&e, "T_where");
    const tn_expr *cond = place_value(&e, c, s);
    const tn_expr *v = tn_select_of(ctx, cond, place_value(&e, px, s), place_value(&e, py, s));
    return emit_end(&e, "where", tnk_te_define(s, v));
}
