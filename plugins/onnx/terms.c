/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on terms: see terms.h. */
#include "terms.h"

#include <math.h>
#include <string.h>

#include "tenon/base/scalar.h"
#include "tenon/core/walk.h"

/* ---- what is known of a term ---- */

void
onnx_term_bounds(tn_ctx *ctx, const tn_expr *e, int64_t *lo, int64_t *hi)
{
    tn_arith *a = tn_arith_new(ctx);
    tn_list vars = tn_free_vars(ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++)
        tn_arith_shape_var(a, vars.at[i]);
    tn_bounds(a, e, lo, hi);
}

bool
onnx_term_nonneg(tn_ctx *ctx, const tn_expr *e)
{
    int64_t lo, hi;
    if (tn_int_value(e, &lo))
        return lo >= 0;
    onnx_term_bounds(ctx, e, &lo, &hi);
    return lo >= 0;
}

void
onnx_term_split(tn_ctx *ctx, const tn_expr *e, const tn_expr *parts[2])
{
    const tn_expr *is_negative = tn_lt_of(ctx, e, tn_i64(ctx, 0));
    parts[0] = tn_max(ctx, e, tn_sub(ctx, tn_i64(ctx, -1), e));
    parts[1] = tn_cast_to(ctx, TNB_I64, is_negative);
}

const tn_expr *
onnx_term_join(tn_ctx *ctx, const tn_expr *value, const tn_expr *negative)
{
    return tn_select_of(ctx, tn_lt_of(ctx, tn_i64(ctx, 0), negative),
                        tn_sub(ctx, tn_i64(ctx, -1), value), value);
}

bool
onnx_term_is_joined(const tn_expr *e)
{
    const tn_select *s = tn_as_select(e);
    const tn_binary *cond = s ? tn_as_binary(s->cond) : NULL, *a = s ? tn_as_binary(s->a) : NULL;
    int64_t zero, least;
    return cond && a && tn_is(s->cond, TN_KIND_LT) && tn_int_value(cond->a, &zero) && zero == 0 &&
           tn_is_var(cond->b) && tn_is(s->a, TN_KIND_SUB) && tn_int_value(a->a, &least) &&
           least == -1 && a->b == s->b && tn_is_var(s->b);
}

bool
onnx_term_divides(const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    return b && ((tn_is(e, TN_KIND_FLOOR_DIV) && !tn_is(b->b, TN_KIND_INT_IMM)) ||
                 onnx_term_divides(b->a) || onnx_term_divides(b->b));
}

/* Subtracts the nodes of `e`, as a tree, from what is left. */
static bool
has_room(const tn_expr *e, int *left)
{
    const tn_binary *b = tn_as_binary(e);
    const tn_select *s = tn_as_select(e);
    const tn_unary *u = tn_as_unary(e);
    const tn_cast *c = tn_as_cast(e);
    const tn_call *call = tn_as_call(e);
    if (--*left < 0)
        return false;
    if (b)
        return has_room(b->a, left) && has_room(b->b, left);
    if (s)
        return has_room(s->cond, left) && has_room(s->a, left) && has_room(s->b, left);
    if (u)
        return has_room(u->a, left);
    if (c)
        return has_room(c->value, left);
    for (uint32_t i = 0; call && i < call->args.n; i++)
        if (!has_room(call->args.at[i], left))
            return false;
    return true;
}

bool
onnx_term_small(const tn_expr *e)
{
    int left = ONNX_MAX_TERM;
    return has_room(e, &left);
}

const tn_expr *
onnx_term_fit(tn_ctx *ctx, tnb_dtype d, const tn_expr *e)
{
    int64_t v;
    uint8_t mem[16] = {0};
    const tn_float_imm *f = tn_as_float_imm(e);
    double x;
    if (f && tnb_store_f64(mem, d, 0, f->value) && tnb_load_f64(mem, d, 0, &x))
        return tn_float_imm_of(ctx, TNB_F64, x);
    if (tn_int_value(e, &v) && tnb_store_i64(mem, d, 0, v) && tnb_load_i64(mem, d, 0, &v))
        return tn_i64(ctx, v);
    return e;
}

static bool
float_value(const tn_expr *e, double *v)
{
    const tn_float_imm *f = tn_as_float_imm(e);
    if (f)
        *v = f->value;
    return f != NULL;
}

static const tn_expr *
number(tn_ctx *ctx, int64_t v)
{
    return tn_i64(ctx, v);
}

/* Dtypes whose terms that are no literals are followed: others wrap or round too soon. */
static bool
is_wide(tnb_dtype d)
{
    return tnb_dtype_is_float(d) ? d.code == TNB_FLOAT && d.bits >= 32
                                 : d.code == TNB_BOOL || (d.code == TNB_INT && d.bits >= 32);
}

/* Terms are int64: of uint64 the numbers below 2^63 are. */
static bool
is_uint64(tnb_dtype d)
{
    return d.code == TNB_UINT && d.bits == 64;
}

/* How many bits the literal factors of a term have together. */
static int
factor_bits(const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    int64_t v;
    if (tn_int_value(e, &v))
        return v == 0 ? 0 : 64 - __builtin_clzll(v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
    if (!b)
        return 0;
    int x = factor_bits(b->a), y = factor_bits(b->b);
    if (tn_is(e, TN_KIND_MUL))
        return x + y;
    return tn_is(e, TN_KIND_ADD) || tn_is(e, TN_KIND_SUB) ? (x > y ? x : y) : 0;
}

bool
onnx_term_is_far(const tn_expr *e)
{
    enum { MOST_OF_FACTORS = 32, MOST_OF_SUMMANDS = 62 };
    const tn_binary *b = tn_as_binary(e);
    if (tn_is(e, TN_KIND_MUL))
        return factor_bits(e) > MOST_OF_FACTORS || onnx_term_is_far(b->a) || onnx_term_is_far(b->b);
    if (tn_is(e, TN_KIND_ADD) || tn_is(e, TN_KIND_SUB))
        return factor_bits(e) > MOST_OF_SUMMANDS || onnx_term_is_far(b->a) ||
               onnx_term_is_far(b->b);
    return false;
}

/* ---- conditions ---- */

const tn_expr *
onnx_term_truth(tn_ctx *ctx, const tn_expr *e)
{
    int64_t v;
    const tn_cast *c = tn_as_cast(e);
    if (tn_int_value(e, &v))
        return tn_bool(ctx, v != 0);
    if (c && tnb_dtype_is_bool(tn_dtype_of(c->value)))
        return c->value;
    return tn_ne_of(ctx, e, number(ctx, 0));
}

static const tn_expr *
of_truth(tn_ctx *ctx, const tn_expr *cond)
{
    int64_t v;
    if (tn_int_value(cond, &v))
        return number(ctx, v != 0);
    return tn_raw_cast(ctx, TNB_I64, cond);
}

static int
comparison_kind(onnx_arith op)
{
    switch (op) {
    case ONNX_EQUAL:
        return TN_KIND_EQ;
    case ONNX_LESS:
        return TN_KIND_LT;
    case ONNX_LESS_EQUAL:
        return TN_KIND_LE;
    case ONNX_GREATER:
        return TN_KIND_GT;
    case ONNX_GREATER_EQUAL:
        return TN_KIND_GE;
    default:
        return -1;
    }
}

static bool
holds(int kind, int64_t x, int64_t y)
{
    return kind == TN_KIND_EQ   ? x == y
           : kind == TN_KIND_LT ? x < y
           : kind == TN_KIND_LE ? x <= y
           : kind == TN_KIND_GT ? x > y
                                : x >= y;
}

/* A comparison of integers: decided if the dimensions leave no choice. */
static const tn_expr *
compare(tn_ctx *ctx, int kind, const tn_expr *a, const tn_expr *b)
{
    int64_t v, w, lo, hi;
    bool lit_a = tn_int_value(a, &v), lit_b = tn_int_value(b, &w), far;
    if (lit_a && lit_b)
        return number(ctx, holds(kind, v, w));
    far = (lit_a && (v > INT64_MAX / 2 || v < INT64_MIN / 2)) ||
          (lit_b && (w > INT64_MAX / 2 || w < INT64_MIN / 2));
    if (far) /* a difference may not fit */
        return of_truth(ctx, tn_bin(ctx, (tn_kind)kind, a, b));
    const tn_expr *d = tn_simplify_now(ctx, tn_sub(ctx, a, b)), *zero = number(ctx, 0);
    if (!tn_int_value(d, &v)) {
        onnx_term_bounds(ctx, d, &lo, &hi);
        bool never_equal = lo > 0 || hi < 0;
        if (kind == TN_KIND_EQ && never_equal)
            return zero;
        if (kind == TN_KIND_EQ)
            return of_truth(ctx, tn_eq_of(ctx, a, b));
        bool less = kind == TN_KIND_LT || kind == TN_KIND_LE;
        bool strict = kind == TN_KIND_LT || kind == TN_KIND_GT;
        if (less ? (strict ? hi < 0 : hi <= 0) : (strict ? lo > 0 : lo >= 0))
            return number(ctx, 1);
        if (less ? (strict ? lo >= 0 : lo > 0) : (strict ? hi <= 0 : hi < 0))
            return zero;
        return of_truth(ctx, tn_bin(ctx, (tn_kind)kind, a, b));
    }
    return number(ctx, holds(kind, v, 0));
}

static const tn_expr *
logical(tn_ctx *ctx, onnx_arith op, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *x = onnx_term_truth(ctx, a), *y = onnx_term_truth(ctx, b);
    if (op == ONNX_AND)
        return of_truth(ctx, tn_and(ctx, x, y));
    if (op == ONNX_OR)
        return of_truth(ctx, tn_or(ctx, x, y));
    return of_truth(ctx,
                    tn_or(ctx, tn_and(ctx, x, tn_not(ctx, y)), tn_and(ctx, tn_not(ctx, x), y)));
}

/* ---- integers ---- */

/* The same of numbers. By 0 both are 0; the least number over -1 is itself. */
static int64_t
divided(bool quotient, bool floors, int64_t x, int64_t y)
{
    if (y == 0)
        return 0;
    if (quotient)
        return tnb_div_i64(x, y);
    return floors ? tnb_floor_mod_i64(x, y) : tnb_mod_i64(x, y);
}

/* Truncating quotient and remainder, or (floors) the remainder with the divisor's sign. By 0 both are 0. */
static const tn_expr *
divide(tn_ctx *ctx, bool quotient, bool floors, const tn_expr *a, const tn_expr *b)
{
    int64_t x = 0, y = 0, lo = 0, hi = 0;
    const tn_expr *zero = number(ctx, 0), *one = number(ctx, 1), *by = b;
    bool has_y = tn_int_value(b, &y);
    if (has_y && (y == 0 || tn_int_value(a, &x)))
        return number(ctx, divided(quotient, floors, x, y));
    onnx_term_bounds(ctx, b, &lo, &hi);
    bool positive = onnx_term_nonneg(ctx, a) && lo >= 0, floor = positive || (!quotient && floors),
         may_be_zero = lo <= 0 && hi >= 0;
    if (may_be_zero && quotient && positive) { /* n * m over m is n */
        const tn_expr *e = tn_simplify_now(ctx, tn_floordiv(ctx, a, b));
        may_be_zero = onnx_term_divides(e);
    }
    if (may_be_zero)
        by = lo >= 0 ? tn_max(ctx, b, one) : tn_select_of(ctx, tn_eq_of(ctx, b, zero), one, b);
    const tn_expr *e = floor ? quotient ? tn_floordiv(ctx, a, by) : tn_floormod(ctx, a, by)
                             : tn_raw_binary(ctx, quotient ? TN_KIND_DIV : TN_KIND_MOD, a, by);
    return may_be_zero && quotient ? tn_select_of(ctx, tn_ne_of(ctx, b, zero), e, zero)
                                   : e; /* anything modulo 1 is 0 */
}

static const tn_expr *
power(tn_ctx *ctx, tnb_dtype d, const tn_expr *a, const tn_expr *b)
{
    int64_t n;
    double x;
    if (!tn_int_value(b, &n)) {
        if (!float_value(b, &x) || x != floor(x) || fabs(x) > 8)
            return NULL;
        n = (int64_t)x;
    }
    if (n < 1 || n > 4)
        return NULL;
    const tn_expr *r = a;
    for (int64_t i = 1; i < n && r; i++)
        r = onnx_term_fit(ctx, d, onnx_term_binary(ctx, ONNX_MUL, d, false, r, a));
    return r;
}

/* Whether the sum, difference or product of two such numbers of uint64 is one again. */
static bool
stays_below(onnx_arith op, int64_t x, int64_t y)
{
    int64_t r;
    switch (op) {
    case ONNX_ADD:
        return !__builtin_add_overflow(x, y, &r);
    case ONNX_MUL:
        return !__builtin_mul_overflow(x, y, &r);
    case ONNX_SUB:
        return x >= y;
    default:
        return true;
    }
}

static const tn_expr *
int_binary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, bool fmod, const tn_expr *a, const tn_expr *b)
{
    int64_t x, y;
    bool lit = tn_int_value(a, &x) && tn_int_value(b, &y);
    if (!lit && !is_wide(d))
        return NULL;
    if (lit && is_uint64(d) && !stays_below(op, x, y))
        return NULL;
    switch (op) {
    case ONNX_ADD:
        return tn_add(ctx, a, b);
    case ONNX_SUB:
        return tn_sub(ctx, a, b);
    case ONNX_MUL:
        return tn_mul(ctx, a, b);
    case ONNX_MIN:
        return tn_min(ctx, a, b);
    case ONNX_MAX:
        return tn_max(ctx, a, b);
    case ONNX_DIV:
    case ONNX_MOD:
        return divide(ctx, op == ONNX_DIV, !fmod, a, b);
    case ONNX_AND:
    case ONNX_OR:
    case ONNX_XOR:
        return logical(ctx, op, a, b);
    default:
        return comparison_kind(op) < 0 ? NULL : compare(ctx, comparison_kind(op), a, b);
    }
}

/* ---- floats ---- */

/* An exact quotient num / den: den is a power of two unless `whole` wants only its floor or
 * ceiling. Floats compute with it exactly while the numerator is small. */
typedef struct ratio {
    const tn_expr *num;
    int64_t den;
} ratio;

enum { MAX_PART = 64 }; /* of literals: keeps the range in which floats are exact wide */

static bool
literal_ratio(tn_ctx *ctx, double v, ratio *r)
{
    for (int64_t den = 1; den <= MAX_PART; den *= 2)
        if (v * (double)den == floor(v * (double)den)) {
            double num = v * (double)den;
            *r = (ratio){number(ctx, fabs(num) <= 1 << 20 ? (int64_t)num : 0), den};
            return fabs(num) <= (den > 1 ? MAX_PART : 1 << 20);
        }
    return false;
}

static bool
is_power_of_two(int64_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

static bool
as_ratio(tn_ctx *ctx, const tn_expr *e, bool top, ratio *r);

static bool
divided_ratio(tn_ctx *ctx, const tn_binary *b, bool top, ratio *r)
{
    double by;
    if (!float_value(b->b, &by) || by != floor(by) || by < 1 || by > 1 << 20 ||
        !as_ratio(ctx, b->a, false, r))
        return false;
    r->den *= (int64_t)by;
    return r->den <= 1 << 20 && (top || is_power_of_two(r->den));
}

static bool
as_ratio(tn_ctx *ctx, const tn_expr *e, bool top, ratio *r)
{
    const tn_cast *c = tn_as_cast(e);
    const tn_binary *b = tn_as_binary(e);
    double v;
    ratio x, y;
    if (float_value(e, &v))
        return literal_ratio(ctx, v, r);
    if (c && tnb_dtype_is_int(tn_dtype_of(c->value))) {
        *r = (ratio){c->value, 1};
        return true;
    }
    if (tn_is(e, TN_KIND_DIV))
        return divided_ratio(ctx, b, top, r);
    if (!b || !as_ratio(ctx, b->a, false, &x) || !as_ratio(ctx, b->b, false, &y))
        return false;
    if (tn_is(e, TN_KIND_MUL)) {
        *r = (ratio){tn_mul(ctx, x.num, y.num), x.den * y.den};
        return r->den <= MAX_PART * MAX_PART;
    }
    int64_t den = x.den > y.den ? x.den : y.den; /* both powers of two */
    const tn_expr *p = tn_mul(ctx, x.num, number(ctx, den / x.den)),
                  *q = tn_mul(ctx, y.num, number(ctx, den / y.den));
    *r = (ratio){tn_is(e, TN_KIND_ADD)   ? tn_add(ctx, p, q)
                 : tn_is(e, TN_KIND_SUB) ? tn_sub(ctx, p, q)
                 : tn_is(e, TN_KIND_MIN) ? tn_min(ctx, p, q)
                 : tn_is(e, TN_KIND_MAX) ? tn_max(ctx, p, q)
                                         : NULL,
                 den};
    return r->num != NULL;
}

/* A literal takes the dtype of the terms beside it. */
static const tn_expr *
operand(tn_ctx *ctx, tnb_dtype d, const tn_expr *e)
{
    const tn_float_imm *f = tn_as_float_imm(e);
    return f ? tn_float_imm_of(ctx, d, f->value) : e;
}

static const tn_expr *
literal_binary(tn_ctx *ctx, onnx_arith op, double x, double y)
{
    int kind = comparison_kind(op);
    if (kind >= 0)
        return number(ctx, kind == TN_KIND_EQ   ? x == y
                           : kind == TN_KIND_LT ? x < y
                           : kind == TN_KIND_LE ? x <= y
                           : kind == TN_KIND_GT ? x > y
                                                : x >= y);
    double r;
    switch (op) {
    case ONNX_ADD:
        r = x + y;
        break;
    case ONNX_SUB:
        r = x - y;
        break;
    case ONNX_MUL:
        r = x * y;
        break;
    case ONNX_DIV:
        r = x / y;
        break;
    case ONNX_MIN:
        r = isnan(x) || x < y ? x : y;
        break;
    case ONNX_MAX:
        r = isnan(x) || x > y ? x : y;
        break;
    default:
        return NULL;
    }
    return tn_float_imm_of(ctx, TNB_F64, r);
}

static int
float_kind(onnx_arith op)
{
    switch (op) {
    case ONNX_ADD:
        return TN_KIND_ADD;
    case ONNX_SUB:
        return TN_KIND_SUB;
    case ONNX_MUL:
        return TN_KIND_MUL;
    case ONNX_DIV:
        return TN_KIND_DIV;
    case ONNX_MIN:
        return TN_KIND_MIN;
    case ONNX_MAX:
        return TN_KIND_MAX;
    default:
        return -1;
    }
}

static const tn_expr *
float_binary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, const tn_expr *a, const tn_expr *b)
{
    double x = 0, y = 0;
    if (float_value(a, &x) && float_value(b, &y))
        return literal_binary(ctx, op, x, y);
    if (!is_wide(d))
        return NULL;
    ratio p, q;
    bool exact = as_ratio(ctx, a, false, &p) && as_ratio(ctx, b, false, &q);
    int kind = comparison_kind(op);
    if (kind >= 0 && exact)
        return compare(ctx, kind, tn_mul(ctx, p.num, number(ctx, q.den)),
                       tn_mul(ctx, q.num, number(ctx, p.den)));
    if (kind >= 0)
        return of_truth(ctx, tn_bin(ctx, (tn_kind)kind, operand(ctx, d, a), operand(ctx, d, b)));
    if (exact && p.den == 1 && q.den == 1 && op != ONNX_DIV) {
        const tn_expr *whole = int_binary(ctx, op, TNB_I64, false, p.num, q.num);
        return whole ? tn_raw_cast(ctx, d, whole) : NULL;
    }
    kind = float_kind(op);
    return kind < 0 ? NULL
                    : tn_raw_binary(ctx, (tn_kind)kind, operand(ctx, d, a), operand(ctx, d, b));
}

const tn_expr *
onnx_term_binary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, bool fmod, const tn_expr *a,
                 const tn_expr *b)
{
    if (op == ONNX_POW)
        return power(ctx, d, a, b);
    return tnb_dtype_is_float(d) ? float_binary(ctx, op, d, a, b)
                                 : int_binary(ctx, op, d, fmod, a, b);
}

/* ---- unary ---- */

static const tn_expr *
int_unary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, const tn_expr *a)
{
    int64_t v = 0;
    const tn_expr *zero = number(ctx, 0), *one = number(ctx, 1);
    if (op == ONNX_NOT)
        return of_truth(ctx, tn_not(ctx, onnx_term_truth(ctx, a)));
    if (op == ONNX_RELU)
        return tn_max(ctx, a, zero);
    if (!tn_int_value(a, &v) && !is_wide(d))
        return NULL;
    if (op == ONNX_NEG)
        return is_uint64(d) && v ? NULL : tn_sub(ctx, zero, a);
    if (op == ONNX_ABS)
        return onnx_term_nonneg(ctx, a) ? a : tn_max(ctx, a, tn_sub(ctx, zero, a));
    if (op == ONNX_SIGN)
        return tn_max(ctx, number(ctx, -1), tn_min(ctx, one, a));
    return NULL;
}

static const tn_expr *
literal_unary(tn_ctx *ctx, onnx_arith op, double x)
{
    double r;
    switch (op) {
    case ONNX_NEG:
        r = -x;
        break;
    case ONNX_ABS:
        r = fabs(x);
        break;
    case ONNX_SIGN:
        r = (x > 0) - (x < 0);
        break;
    case ONNX_FLOOR:
        r = floor(x);
        break;
    case ONNX_CEIL:
        r = ceil(x);
        break;
    case ONNX_ROUND:
        r = nearbyint(x);
        break;
    case ONNX_SQRT:
        r = sqrt(x);
        break;
    case ONNX_RECIPROCAL:
        r = 1 / x;
        break;
    case ONNX_RELU:
        r = x > 0 ? x : 0;
        break;
    default:
        return NULL;
    }
    return tn_float_imm_of(ctx, TNB_F64, r);
}

static const tn_expr *
rounded(tn_ctx *ctx, onnx_arith op, tnb_dtype d, const tn_expr *a)
{
    ratio r;
    if (as_ratio(ctx, a, true, &r)) {
        const tn_expr *den = number(ctx, r.den);
        if (r.den == 1)
            return tn_raw_cast(ctx, d, r.num);
        if (op == ONNX_FLOOR)
            return tn_raw_cast(ctx, d, tn_floordiv(ctx, r.num, den));
        if (op == ONNX_CEIL)
            return tn_raw_cast(ctx, d, tn_ceildiv(ctx, r.num, den));
    }
    return tn_intrin1(ctx,
                      op == ONNX_FLOOR  ? TN_INTRIN_floor
                      : op == ONNX_CEIL ? TN_INTRIN_ceil
                                        : TN_INTRIN_nearbyint,
                      a);
}

static const tn_expr *
float_unary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, const tn_expr *a)
{
    double x;
    const tn_expr *zero = tn_float_imm_of(ctx, TNB_F64, 0);
    if (float_value(a, &x))
        return literal_unary(ctx, op, x);
    if (!is_wide(d))
        return NULL;
    if (op == ONNX_FLOOR || op == ONNX_CEIL || op == ONNX_ROUND)
        return rounded(ctx, op, d, a);
    if (op == ONNX_NEG)
        return float_binary(ctx, ONNX_SUB, d, zero, a);
    if (op == ONNX_RELU)
        return float_binary(ctx, ONNX_MAX, d, a, zero);
    if (op == ONNX_ABS)
        return float_binary(ctx, ONNX_MAX, d, a, float_binary(ctx, ONNX_SUB, d, zero, a));
    if (op == ONNX_SQRT)
        return tn_intrin1(ctx, TN_INTRIN_sqrt, a);
    if (op == ONNX_RECIPROCAL)
        return float_binary(ctx, ONNX_DIV, d, tn_float_imm_of(ctx, TNB_F64, 1), a);
    return NULL;
}

const tn_expr *
onnx_term_unary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, const tn_expr *a)
{
    return tnb_dtype_is_float(d) ? float_unary(ctx, op, d, a) : int_unary(ctx, op, d, a);
}

/* ---- casts, choices ---- */

static const tn_expr *
from_float(tn_ctx *ctx, tnb_dtype from, tnb_dtype to, const tn_expr *e)
{
    double x;
    ratio r;
    bool lit = float_value(e, &x);
    if (lit && tnb_dtype_is_float(to))
        return onnx_term_fit(ctx, to, e);
    if (lit) {
        if (!(fabs(x) < 9e18))
            return NULL;
        if (to.code == TNB_BOOL)
            return number(ctx, x != 0);
        return is_uint64(to) && x <= -1 ? NULL : onnx_term_fit(ctx, to, number(ctx, (int64_t)x));
    }
    if (!is_wide(to))
        return NULL;
    if (tnb_dtype_is_float(to)) {
        /* a cast of an integer stays one: exact in both as long as the number is small */
        const tn_cast *c = tn_as_cast(e);
        bool whole = c && tnb_dtype_is_int(tn_dtype_of(c->value));
        return tnb_dtype_eq(from, to) ? e : tn_raw_cast(ctx, to, whole ? c->value : e);
    }
    if (to.code == TNB_BOOL)
        return of_truth(ctx, tn_ne_of(ctx, e, tn_float_imm_of(ctx, from, 0)));
    if (as_ratio(ctx, e, true, &r)) {
        if (r.den == 1)
            return r.num;
        if (onnx_term_nonneg(ctx, r.num))
            return tn_floordiv(ctx, r.num, number(ctx, r.den));
    }
    return tn_raw_cast(ctx, TNB_I64, e);
}

const tn_expr *
onnx_term_cast(tn_ctx *ctx, tnb_dtype from, tnb_dtype to, const tn_expr *e)
{
    int64_t v = 0;
    if (tnb_dtype_is_float(from))
        return from_float(ctx, from, to, e);
    bool lit = tn_int_value(e, &v);
    if (to.code == TNB_BOOL)
        return of_truth(ctx, onnx_term_truth(ctx, e));
    if (to.code == TNB_UINT && (lit ? is_uint64(to) && v < 0 : !onnx_term_nonneg(ctx, e)))
        return NULL;
    if (lit)
        return tnb_dtype_is_float(to)
                   ? onnx_term_fit(ctx, to, tn_float_imm_of(ctx, TNB_F64, (double)v))
                   : onnx_term_fit(ctx, to, e);
    if (tnb_dtype_is_float(to))
        return is_wide(to) ? tn_raw_cast(ctx, to, e) : NULL;
    return to.bits >= 32 ? e : NULL;
}

const tn_expr *
onnx_term_where(tn_ctx *ctx, tnb_dtype d, const tn_expr *cond, const tn_expr *a, const tn_expr *b)
{
    int64_t c;
    const tn_expr *test = onnx_term_truth(ctx, cond);
    if (tn_int_value(test, &c))
        return c ? a : b;
    if (a == b || (tnb_dtype_is_int(tn_dtype_of(a)) && tn_prove_equal(ctx, a, b)))
        return a;
    if (!is_wide(d))
        return NULL;
    if (tnb_dtype_is_float(d))
        return tn_select_of(ctx, test, operand(ctx, d, a), operand(ctx, d, b));
    return tn_select_of(ctx, test, a, b);
}
