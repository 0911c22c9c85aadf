/* SPDX-License-Identifier: Apache-2.0 */
/* The folding scalar operators: dtype matching, constant folding and unit rules as upstream's
 * operators apply them while a module is written or read; and the same nodes built as they are.
 */
#include "scalar.h"

#include "tenon/base/scalar.h"
#include "tenon/core/expr.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

#include <float.h>
#include <math.h>

/* ---- literals ---- */

int64_t
tn_wrap_int(tnb_dtype d, int64_t v)
{
    return tnb_wrap_i64(d, v);
}

static bool
divide_int(tn_kind kind, bool is_unsigned, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    if (is_unsigned) {
        bool quotient = kind == TN_KIND_DIV || kind == TN_KIND_FLOOR_DIV;
        *out = (int64_t)(quotient ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
        return true;
    }
    *out = kind == TN_KIND_DIV         ? tnb_div_i64(a, b)
           : kind == TN_KIND_MOD       ? tnb_mod_i64(a, b)
           : kind == TN_KIND_FLOOR_DIV ? tnb_floor_div_i64(a, b)
                                       : tnb_floor_mod_i64(a, b);
    return true;
}

bool
tn_fold_int(tn_kind kind, tnb_dtype d, int64_t a, int64_t b, int64_t *out)
{
    bool u = d.code == TNB_UINT || d.code == TNB_BOOL;
    bool less = u ? (uint64_t)a < (uint64_t)b : a < b;
    int64_t r;
    switch (kind) {
    case TN_KIND_ADD:
        r = (int64_t)((uint64_t)a + (uint64_t)b);
        break;
    case TN_KIND_SUB:
        r = (int64_t)((uint64_t)a - (uint64_t)b);
        break;
    case TN_KIND_MUL:
        r = (int64_t)((uint64_t)a * (uint64_t)b);
        break;
    case TN_KIND_DIV:
    case TN_KIND_MOD:
    case TN_KIND_FLOOR_DIV:
    case TN_KIND_FLOOR_MOD:
        if (!divide_int(kind, u, a, b, &r))
            return false;
        break;
    case TN_KIND_MIN:
        r = less ? a : b;
        break;
    case TN_KIND_MAX:
        r = less ? b : a;
        break;
    case TN_KIND_EQ:
        *out = a == b;
        return true;
    case TN_KIND_NE:
        *out = a != b;
        return true;
    case TN_KIND_LT:
        *out = less;
        return true;
    case TN_KIND_LE:
        *out = less || a == b;
        return true;
    case TN_KIND_GT:
        *out = !less && a != b;
        return true;
    case TN_KIND_GE:
        *out = !less;
        return true;
    case TN_KIND_AND:
        *out = a != 0 && b != 0;
        return true;
    case TN_KIND_OR:
        *out = a != 0 || b != 0;
        return true;
    default:
        return false;
    }
    *out = tn_wrap_int(d, r);
    return true;
}

bool
tn_fold_float(tn_kind kind, tnb_dtype d, double a, double b, double *out)
{
    if (d.code != TNB_FLOAT || (d.bits != 32 && d.bits != 64) || d.lanes != 1)
        return false;
    bool single = d.bits == 32;
    switch (kind) {
    case TN_KIND_ADD:
        *out = single ? (double)((float)a + (float)b) : a + b;
        return true;
    case TN_KIND_SUB:
        *out = single ? (double)((float)a - (float)b) : a - b;
        return true;
    case TN_KIND_MUL:
        *out = single ? (double)((float)a * (float)b) : a * b;
        return true;
    case TN_KIND_DIV:
        if (b == 0)
            return false;
        *out = single ? (double)((float)a / (float)b) : a / b;
        return true;
    case TN_KIND_FLOOR_DIV:
        if (b == 0)
            return false;
        *out = single ? (double)floorf((float)a / (float)b) : floor(a / b);
        return true;
    case TN_KIND_MIN:
        if (isnan(a) || isnan(b))
            return false;
        *out = a < b ? a : b;
        return true;
    case TN_KIND_MAX:
        if (isnan(a) || isnan(b))
            return false;
        *out = a > b ? a : b;
        return true;
    case TN_KIND_EQ:
        *out = a == b;
        return true;
    case TN_KIND_NE:
        *out = a != b;
        return true;
    case TN_KIND_LT:
        *out = a < b;
        return true;
    case TN_KIND_LE:
        *out = a <= b;
        return true;
    case TN_KIND_GT:
        *out = a > b;
        return true;
    case TN_KIND_GE:
        *out = a >= b;
        return true;
    default:
        return false;
    }
}

static bool
float_value(const tn_expr *e, double *v)
{
    if (!tn_is(e, TN_KIND_FLOAT_IMM))
        return false;
    *v = ((const tn_float_imm *)e)->value;
    return true;
}

const tn_expr *
tn_literal(tn_ctx *ctx, tnb_dtype d, double v)
{
    if (d.lanes > 1) {
        tnb_dtype elem = {d.code, d.bits, 1};
        return tn_broadcast_of(ctx, tn_literal(ctx, elem, v), d.lanes);
    }
    if (tnb_dtype_is_float(d))
        return tn_float_imm_of(ctx, d, v);
    if (tnb_dtype_is_bool(d))
        return tn_int_imm_of(ctx, d, v != 0);
    if (tnb_dtype_is_int(d))
        return tn_int_imm_of(ctx, d, (int64_t)tnb_f64_to_u64(v));
    return tn_error(ctx, 0, TNB_TYPE, "no literal has dtype %s", tnb_dtype_print(d).s);
}

/* Largest finite value of a float dtype; 0: not one. */
static double
float_max(tnb_dtype d)
{
    switch (d.code) {
    case TNB_FLOAT:
        return d.bits == 16 ? 65504.0 : d.bits == 32 ? (double)FLT_MAX : DBL_MAX;
    case TNB_BFLOAT:
        return 0x1.FEp127;
    case TNB_FLOAT8_E4M3FN:
        return 448.0;
    case TNB_FLOAT8_E4M3FNUZ:
        return 240.0;
    case TNB_FLOAT8_E5M2:
    case TNB_FLOAT8_E5M2FNUZ:
        return 57344.0;
    case TNB_FLOAT4_E2M1FN:
        return 6.0;
    default:
        return 0;
    }
}

static const tn_expr *
limit_value(tn_ctx *ctx, tnb_dtype d, bool least)
{
    tnb_dtype elem = {d.code, d.bits, 1};
    const tn_expr *e;
    if (tnb_dtype_is_float(d)) {
        double m = float_max(d);
        if (m == 0)
            return tn_error(ctx, 0, TNB_TYPE, "dtype %s has no %s value", tnb_dtype_print(d).s,
                            least ? "least" : "largest");
        e = tn_float_imm_of(ctx, elem, least ? -m : m);
    } else if (tnb_dtype_is_bool(d)) {
        e = tn_int_imm_of(ctx, elem, !least);
    } else if (d.code == TNB_UINT && d.bits) {
        e = tn_int_imm_of(ctx, elem, least ? 0 : -1);
    } else if (d.code == TNB_INT && d.bits) {
        int64_t top = (int64_t)(((uint64_t)1 << (d.bits - 1)) - 1);
        e = tn_int_imm_of(ctx, elem, least ? -top - 1 : top);
    } else {
        return tn_error(ctx, 0, TNB_TYPE, "dtype %s has no %s value", tnb_dtype_print(d).s,
                        least ? "least" : "largest");
    }
    return d.lanes > 1 ? tn_broadcast_of(ctx, e, d.lanes) : e;
}

const tn_expr *
tn_min_value(tn_ctx *ctx, tnb_dtype d)
{
    return limit_value(ctx, d, true);
}

const tn_expr *
tn_max_value(tn_ctx *ctx, tnb_dtype d)
{
    return limit_value(ctx, d, false);
}

/* ---- nodes as they are ---- */

tnb_dtype
tn_binary_dtype(tn_kind kind, tnb_dtype d)
{
    if (kind >= TN_KIND_EQ && kind <= TN_KIND_OR)
        return (tnb_dtype){TNB_BOOL, 8, d.lanes};
    return d;
}

static const tn_expr *
make(tn_ctx *ctx, tn_kind kind, const void *fields, tnb_dtype d)
{
    return tn_rebuild(ctx, kind, fields, tn_ty_prim_of(ctx, d));
}

/* Records an error unless `e` is a scalar expression; an error node stays silent. */
static bool
operand_ok(tn_ctx *ctx, const tn_expr *e, const char *what)
{
    if (tn_is_error(e))
        return false;
    if (!e) {
        tn_error(ctx, 0, TNB_INVALID, "an operand of %s is missing", what);
        return false;
    }
    if (!tn_is_scalar(e)) {
        tn_error(ctx, 0, TNB_TYPE, "an operand of %s is not a scalar expression (%s)", what,
                 tn_kinds[e->kind].name);
        return false;
    }
    return true;
}

const tn_expr *
tn_raw_binary(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b)
{
    const char *what = tn_kinds[kind].name;
    if (!operand_ok(ctx, a, what) || !operand_ok(ctx, b, what))
        return tn_error_node(ctx);
    tnb_dtype d = tn_dtype_of(a), e = tn_dtype_of(b);
    if (!tnb_dtype_eq(d, e))
        return tn_error(ctx, 0, TNB_TYPE, "the operands of %s have different dtypes: %s and %s",
                        what, tnb_dtype_print(d).s, tnb_dtype_print(e).s);
    if ((kind == TN_KIND_AND || kind == TN_KIND_OR) && !tnb_dtype_is_bool(d))
        return tn_error(ctx, 0, TNB_TYPE, "the operands of %s must be bool, not %s", what,
                        tnb_dtype_print(d).s);
    if (d.code == TNB_HANDLE && !tn_is_compare(kind))
        return tn_error(ctx, 0, TNB_TYPE, "%s does not take handles", what);
    tn_binary f = {.a = a, .b = b};
    return make(ctx, kind, &f, tn_binary_dtype(kind, d));
}

const tn_expr *
tn_raw_cast(tn_ctx *ctx, tnb_dtype d, const tn_expr *v)
{
    if (!operand_ok(ctx, v, "a cast"))
        return tn_error_node(ctx);
    tnb_dtype from = tn_dtype_of(v);
    if (from.code == TNB_HANDLE || d.code == TNB_HANDLE || tnb_dtype_is_void(d))
        return tn_error(ctx, 0, TNB_TYPE, "cannot cast %s to %s", tnb_dtype_print(from).s,
                        tnb_dtype_print(d).s);
    if (from.lanes != d.lanes)
        return tn_error(ctx, 0, TNB_TYPE, "a cast cannot change the number of lanes: %s to %s",
                        tnb_dtype_print(from).s, tnb_dtype_print(d).s);
    tn_cast f = {.value = v};
    return make(ctx, TN_KIND_CAST, &f, d);
}

const tn_expr *
tn_raw_not(tn_ctx *ctx, const tn_expr *a)
{
    if (!operand_ok(ctx, a, "not"))
        return tn_error_node(ctx);
    tnb_dtype d = tn_dtype_of(a);
    if (!tnb_dtype_is_bool(d))
        return tn_error(ctx, 0, TNB_TYPE, "the operand of not must be bool, not %s",
                        tnb_dtype_print(d).s);
    tn_unary f = {.a = a};
    return make(ctx, TN_KIND_NOT, &f, d);
}

const tn_expr *
tn_select_of(tn_ctx *ctx, const tn_expr *c, const tn_expr *a, const tn_expr *b)
{
    if (!operand_ok(ctx, c, "Select") || !operand_ok(ctx, a, "Select") ||
        !operand_ok(ctx, b, "Select"))
        return tn_error_node(ctx);
    tnb_dtype cd = tn_dtype_of(c), d = tn_dtype_of(a), e = tn_dtype_of(b);
    if (!tnb_dtype_is_bool(cd))
        return tn_error(ctx, 0, TNB_TYPE, "the condition of Select must be bool, not %s",
                        tnb_dtype_print(cd).s);
    if (!tnb_dtype_eq(d, e))
        return tn_error(ctx, 0, TNB_TYPE, "the values of Select have different dtypes: %s and %s",
                        tnb_dtype_print(d).s, tnb_dtype_print(e).s);
    if (cd.lanes != 1 && cd.lanes != d.lanes)
        return tn_error(ctx, 0, TNB_TYPE, "the condition of Select has %u lanes, its values %u",
                        cd.lanes, d.lanes);
    tn_select f = {.cond = c, .a = a, .b = b};
    return make(ctx, TN_KIND_SELECT, &f, d);
}

/* ---- casts ---- */

const tn_expr *
tn_cast_to(tn_ctx *ctx, tnb_dtype d, const tn_expr *v)
{
    if (!operand_ok(ctx, v, "a cast"))
        return tn_error_node(ctx);
    tnb_dtype from = tn_dtype_of(v);
    if (tnb_dtype_eq(from, d))
        return v;
    tnb_dtype elem = {d.code, d.bits, 1};
    if (d.lanes > 1 && from.lanes == 1)
        return tn_broadcast_of(ctx, tn_cast_to(ctx, elem, v), d.lanes);
    if (d.lanes > 1) {
        const tn_broadcast *bc = tn_as_broadcast(v);
        if (bc && bc->lanes == d.lanes)
            return tn_broadcast_of(ctx, tn_cast_to(ctx, elem, bc->value), bc->lanes);
        const tn_ramp *r = tn_as_ramp(v);
        if (r && r->lanes == d.lanes && tnb_dtype_is_int(d))
            return tn_ramp_of(ctx, tn_cast_to(ctx, elem, r->start),
                              tn_cast_to(ctx, elem, r->stride), r->lanes);
        return tn_raw_cast(ctx, d, v);
    }
    int64_t i;
    double f;
    if (tn_int_value(v, &i)) {
        if (tnb_dtype_is_int(d) || tnb_dtype_is_bool(d))
            return tn_int_imm_of(ctx, d, tnb_dtype_is_bool(d) ? i != 0 : i);
        if (tnb_dtype_is_float(d)) {
            bool big = from.code == TNB_UINT && from.bits == 64;
            return tn_float_imm_of(ctx, d, big ? (double)(uint64_t)i : (double)i);
        }
    }
    if (float_value(v, &f) &&
        (tnb_dtype_is_int(d) || tnb_dtype_is_bool(d) || tnb_dtype_is_float(d)))
        return tn_literal(ctx, d, f);
    return tn_raw_cast(ctx, d, v);
}

/* ---- dtype matching ---- */

static bool
plain_float(tnb_dtype d)
{
    return d.code == TNB_FLOAT;
}

/* How strongly a special float format claims the other operand: bfloat16, float8, float4, in this
 * order. */
static int
format_rank(tnb_dtype d)
{
    switch (d.code) {
    case TNB_BFLOAT:
        return 3;
    case TNB_FLOAT8_E4M3FN:
    case TNB_FLOAT8_E5M2:
    case TNB_FLOAT8_E4M3FNUZ:
    case TNB_FLOAT8_E5M2FNUZ:
        return 2;
    case TNB_FLOAT4_E2M1FN:
        return 1;
    default:
        return 0;
    }
}

/* The common element dtype of two different arithmetic dtypes; false if there is none. */
static bool
common_dtype(tnb_dtype a, tnb_dtype b, tnb_dtype *out)
{
    if (plain_float(a) && plain_float(b)) {
        *out = a.bits >= b.bits ? a : b;
        return true;
    }
    if (plain_float(a) || plain_float(b)) {
        *out = plain_float(a) ? a : b;
        return true;
    }
    int ra = format_rank(a), rb = format_rank(b);
    if (ra || rb) {
        if (ra == rb)
            return false; /* two float8 formats */
        *out = ra > rb ? a : b;
        return true;
    }
    if (tnb_dtype_is_bool(a) != tnb_dtype_is_bool(b)) {
        tnb_dtype o = tnb_dtype_is_bool(a) ? b : a;
        *out = o;
        return tnb_dtype_is_int(o);
    }
    if (!tnb_dtype_is_int(a) || !tnb_dtype_is_int(b))
        return false;
    if (a.bits != b.bits)
        *out = a.bits > b.bits ? a : b;
    else
        *out = a.code == TNB_UINT ? a : b;
    return true;
}

bool
tn_match_dtypes(tn_ctx *ctx, const tn_expr **a, const tn_expr **b)
{
    if (!operand_ok(ctx, *a, "an operator") || !operand_ok(ctx, *b, "an operator"))
        return false;
    tnb_dtype x = tn_dtype_of(*a), y = tn_dtype_of(*b);
    if (tnb_dtype_eq(x, y))
        return true;
    if (x.lanes != y.lanes) {
        if (x.lanes == 1) {
            *a = tn_broadcast_of(ctx, *a, y.lanes);
        } else if (y.lanes == 1) {
            *b = tn_broadcast_of(ctx, *b, x.lanes);
        } else {
            tn_error(ctx, 0, TNB_TYPE, "operands of %u and %u lanes do not go together", x.lanes,
                     y.lanes);
            return false;
        }
        x.lanes = y.lanes = x.lanes > y.lanes ? x.lanes : y.lanes;
    }
    tnb_dtype c;
    if (tnb_dtype_eq(x, y))
        return !tn_is_error(*a) && !tn_is_error(*b);
    if (!common_dtype(x, y, &c)) {
        tn_error(ctx, 0, TNB_TYPE, "operands of dtype %s and %s do not go together",
                 tnb_dtype_print(x).s, tnb_dtype_print(y).s);
        return false;
    }
    c.lanes = x.lanes;
    *a = tn_cast_to(ctx, c, *a);
    *b = tn_cast_to(ctx, c, *b);
    return !tn_is_error(*a) && !tn_is_error(*b);
}

/* ---- the folding operators ---- */

static const tn_expr *
bool_imm(tn_ctx *ctx, bool v)
{
    return tn_bool(ctx, v);
}

/* Two literals of one dtype; NULL: not folded. */
static const tn_expr *
fold_literals(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b)
{
    tnb_dtype d = tn_dtype_of(a);
    int64_t x, y, r;
    double f, g, s;
    if (tn_int_value(a, &x) && tn_int_value(b, &y)) {
        if (!tn_fold_int(kind, d, x, y, &r))
            return NULL;
        return kind >= TN_KIND_EQ ? bool_imm(ctx, r != 0) : tn_int_imm_of(ctx, d, r);
    }
    if (float_value(a, &f) && float_value(b, &g) && tn_fold_float(kind, d, f, g, &s))
        return tn_is_compare(kind) ? bool_imm(ctx, s != 0) : tn_float_imm_of(ctx, d, s);
    return NULL;
}

/* x - 0 and its like, exact for every x: 0 * x is NaN where x is NaN or infinite, and x + 0 is 0 where x is -0. */
static const tn_expr *
fold_float_units(tn_kind kind, const tn_expr *a, const tn_expr *b)
{
    double f, g;
    if (!float_value(a, &f))
        f = NAN;
    if (!float_value(b, &g))
        g = NAN;
    switch (kind) {
    case TN_KIND_ADD:
        return f == 0 && signbit(f) ? b : g == 0 && signbit(g) ? a : NULL;
    case TN_KIND_SUB:
        return g == 0 && !signbit(g) ? a : NULL;
    case TN_KIND_MUL:
        return f == 1 ? b : g == 1 ? a : NULL;
    case TN_KIND_DIV:
        return g == 1 ? a : NULL;
    case TN_KIND_MIN:
    case TN_KIND_MAX:
        return a == b ? a : NULL;
    default:
        return NULL;
    }
}

static tn_walk_step
find_check(void *user, const tn_node *n)
{
    (void)user;
    return tn_is_intrin(n, TN_INTRIN_index_in) ? TN_WALK_STOP : TN_WALK_ON;
}

/* Whether the value may be left out: an index in it that came as data is looked at even where it does not matter. */
static bool
may_go(const tn_expr *e)
{
    return tn_is(e, TN_KIND_INT_IMM) || tn_is_var(e) || tn_walk(e, 0, find_check, NULL, NULL);
}

/* x + 0 and its like; NULL: no rule fits. */
static const tn_expr *
fold_units(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b)
{
    if (tnb_dtype_is_float(tn_dtype_of(a)))
        return fold_float_units(kind, a, b);
    switch (kind) {
    case TN_KIND_ADD:
        return tn_is_int_const(a, 0) ? b : tn_is_int_const(b, 0) ? a : NULL;
    case TN_KIND_SUB:
        return tn_is_int_const(b, 0) ? a : NULL;
    case TN_KIND_MUL:
        if (tn_is_int_const(a, 1) || (tn_is_int_const(b, 0) && may_go(a)))
            return b;
        return tn_is_int_const(b, 1) || (tn_is_int_const(a, 0) && may_go(b)) ? a : NULL;
    case TN_KIND_DIV:
    case TN_KIND_FLOOR_DIV:
        return tn_is_int_const(b, 1) || (tn_is_int_const(a, 0) && may_go(b)) ? a : NULL;
    case TN_KIND_MOD:
    case TN_KIND_FLOOR_MOD:
        if (tn_is_int_const(a, 0) && may_go(b))
            return a;
        return tn_is_int_const(b, 1) && may_go(a) ? tn_int_imm_of(ctx, tn_dtype_of(a), 0) : NULL;
    case TN_KIND_MIN:
    case TN_KIND_MAX:
        return a == b ? a : NULL;
    default:
        return NULL;
    }
}

/* Comparisons: a literal takes the dtype of the other side. */
static bool
match_compared(tn_ctx *ctx, const tn_expr **a, const tn_expr **b)
{
    if (!operand_ok(ctx, *a, "a comparison") || !operand_ok(ctx, *b, "a comparison"))
        return false;
    bool la = tn_is(*a, TN_KIND_INT_IMM) || tn_is(*a, TN_KIND_FLOAT_IMM);
    bool lb = tn_is(*b, TN_KIND_INT_IMM) || tn_is(*b, TN_KIND_FLOAT_IMM);
    /* a fraction next to an integer still makes the comparison one of floats */
    bool mixed = tnb_dtype_is_float(tn_dtype_of(*a)) != tnb_dtype_is_float(tn_dtype_of(*b));
    if (la && !lb && !(mixed && tn_is(*a, TN_KIND_FLOAT_IMM)))
        *a = tn_cast_to(ctx, tn_dtype_of(*b), *a);
    else if (lb && !la && !(mixed && tn_is(*b, TN_KIND_FLOAT_IMM)))
        *b = tn_cast_to(ctx, tn_dtype_of(*a), *b);
    return tn_match_dtypes(ctx, a, b);
}

const tn_expr *
tn_bin(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b)
{
    if (tn_is_compare(kind))
        return match_compared(ctx, &a, &b) ? tn_raw_binary(ctx, kind, a, b) : tn_error_node(ctx);
    if (!tn_match_dtypes(ctx, &a, &b))
        return tn_error_node(ctx);
    if (kind == TN_KIND_AND || kind == TN_KIND_OR)
        return tn_raw_binary(ctx, kind, a, b);
    bool divides = kind == TN_KIND_DIV || kind == TN_KIND_MOD || kind == TN_KIND_FLOOR_DIV ||
                   kind == TN_KIND_FLOOR_MOD;
    if (divides && tn_is_int_const(b, 0))
        return tn_error(ctx, 0, TNB_INVALID, "division by the literal zero");
    const tn_expr *r = fold_literals(ctx, kind, a, b);
    if (!r)
        r = fold_units(ctx, kind, a, b);
    return r ? r : tn_raw_binary(ctx, kind, a, b);
}

const tn_expr *
tn_cmp(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b)
{
    if (!match_compared(ctx, &a, &b))
        return tn_error_node(ctx);
    const tn_expr *r = fold_literals(ctx, kind, a, b);
    return r ? r : tn_raw_binary(ctx, kind, a, b);
}

const tn_expr *
tn_and(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    if (!a || tn_is_int_const(a, 1))
        return b;
    if (!b || tn_is_int_const(b, 1) || a == b)
        return a;
    if (tn_is_int_const(a, 0))
        return a;
    return tn_is_int_const(b, 0) ? b : tn_bin(ctx, TN_KIND_AND, a, b);
}

const tn_expr *
tn_or(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    if (!a || tn_is_int_const(a, 0))
        return b;
    if (!b || tn_is_int_const(b, 0) || a == b)
        return a;
    if (tn_is_int_const(a, 1))
        return a;
    return tn_is_int_const(b, 1) ? b : tn_bin(ctx, TN_KIND_OR, a, b);
}

const tn_expr *
tn_add(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_ADD, a, b);
}

const tn_expr *
tn_sub(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_SUB, a, b);
}

const tn_expr *
tn_mul(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_MUL, a, b);
}

const tn_expr *
tn_floordiv(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_FLOOR_DIV, a, b);
}

const tn_expr *
tn_floormod(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_FLOOR_MOD, a, b);
}

const tn_expr *
tn_min(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_MIN, a, b);
}

const tn_expr *
tn_max(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_MAX, a, b);
}

const tn_expr *
tn_ceildiv(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    if (!tn_match_dtypes(ctx, &a, &b))
        return tn_error_node(ctx);
    const tn_expr *one = tn_literal(ctx, tn_dtype_of(a), 1);
    return tn_floordiv(ctx, tn_sub(ctx, tn_add(ctx, a, b), one), b);
}

const tn_expr *
tn_neg(tn_ctx *ctx, const tn_expr *a)
{
    if (!operand_ok(ctx, a, "negation"))
        return tn_error_node(ctx);
    double f;
    if (float_value(a, &f))
        return tn_float_imm_of(ctx, tn_dtype_of(a), -f);
    return tn_mul(ctx, a, tn_literal(ctx, tn_dtype_of(a), -1));
}

const tn_expr *
tn_not(tn_ctx *ctx, const tn_expr *a)
{
    int64_t v;
    if (tn_int_value(a, &v) && tnb_dtype_is_bool(tn_dtype_of(a)))
        return bool_imm(ctx, v == 0);
    return tn_raw_not(ctx, a);
}

const tn_expr *
tn_if_then_else(tn_ctx *ctx, const tn_expr *c, const tn_expr *a, const tn_expr *b)
{
    if (!operand_ok(ctx, c, "if_then_else") || !tn_match_dtypes(ctx, &a, &b))
        return tn_error_node(ctx);
    tnb_dtype cd = tn_dtype_of(c);
    if (!tnb_dtype_is_bool(cd) || cd.lanes != 1)
        return tn_error(ctx, 0, TNB_TYPE, "the condition of if_then_else must be bool, not %s",
                        tnb_dtype_print(cd).s);
    int64_t v;
    if (tn_int_value(c, &v))
        return v ? a : b;
    return tn_intrin(ctx, TN_INTRIN_if_then_else, tn_listv(ctx, c, a, b, NULL));
}

/* ---- bits ---- */

/* Its name in messages, without prefix. */
static const char *
intrin_name(tn_intrin_id id)
{
    return tn_scalar_intrinsics[id - 1].base.name + strlen("tirx.");
}

/* Both operands of an integer or bool dtype, matched. */
static bool
match_bits(tn_ctx *ctx, tn_intrin_id id, const tn_expr **a, const tn_expr **b)
{
    if (!tn_match_dtypes(ctx, a, b))
        return false;
    tnb_dtype d = tn_dtype_of(*a);
    if (tnb_dtype_is_int(d) || tnb_dtype_is_bool(d))
        return true;
    tn_error(ctx, 0, TNB_TYPE, "%s takes integers, not %s", intrin_name(id), tnb_dtype_print(d).s);
    return false;
}

static const tn_expr *
bitwise(tn_ctx *ctx, tn_intrin_id id, const tn_expr *a, const tn_expr *b)
{
    if (!match_bits(ctx, id, &a, &b))
        return tn_error_node(ctx);
    int64_t x, y;
    if (tn_int_value(a, &x) && tn_int_value(b, &y)) {
        int64_t r = id == TN_INTRIN_bitwise_and  ? (x & y)
                    : id == TN_INTRIN_bitwise_or ? (x | y)
                                                 : (x ^ y);
        return tn_int_imm_of(ctx, tn_dtype_of(a), r);
    }
    return tn_intrin2(ctx, id, a, b);
}

const tn_expr *
tn_bitwise_and(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return bitwise(ctx, TN_INTRIN_bitwise_and, a, b);
}

const tn_expr *
tn_bitwise_or(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return bitwise(ctx, TN_INTRIN_bitwise_or, a, b);
}

const tn_expr *
tn_bitwise_xor(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return bitwise(ctx, TN_INTRIN_bitwise_xor, a, b);
}

const tn_expr *
tn_bitwise_not(tn_ctx *ctx, const tn_expr *a)
{
    if (!operand_ok(ctx, a, "bitwise_not"))
        return tn_error_node(ctx);
    tnb_dtype d = tn_dtype_of(a);
    if (!tnb_dtype_is_int(d) && !tnb_dtype_is_bool(d))
        return tn_error(ctx, 0, TNB_TYPE, "bitwise_not takes integers, not %s",
                        tnb_dtype_print(d).s);
    int64_t x;
    if (tn_int_value(a, &x))
        return tn_int_imm_of(ctx, d, tnb_dtype_is_bool(d) ? x == 0 : ~x);
    return tn_intrin1(ctx, TN_INTRIN_bitwise_not, a);
}

static const tn_expr *
shift(tn_ctx *ctx, bool left, const tn_expr *a, const tn_expr *b)
{
    tn_intrin_id id = left ? TN_INTRIN_shift_left : TN_INTRIN_shift_right;
    if (!match_bits(ctx, id, &a, &b))
        return tn_error_node(ctx);
    tnb_dtype d = tn_dtype_of(a);
    int64_t x, n;
    if (!tn_int_value(b, &n))
        return tn_intrin2(ctx, id, a, b);
    if (n < 0 || n >= d.bits)
        return tn_error(ctx, 0, TNB_INVALID, "%s of %s by %lld: the amount must lie in [0, %u)",
                        intrin_name(id), tnb_dtype_print(d).s, (long long)n, d.bits);
    if (n == 0)
        return a;
    if (!tn_int_value(a, &x))
        return tn_intrin2(ctx, id, a, b);
    if (left)
        return tn_int_imm_of(ctx, d, (int64_t)((uint64_t)x << n));
    return tn_int_imm_of(ctx, d, d.code == TNB_UINT ? (int64_t)((uint64_t)x >> n) : x >> n);
}

const tn_expr *
tn_shift_left(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return shift(ctx, true, a, b);
}

const tn_expr *
tn_shift_right(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return shift(ctx, false, a, b);
}
