/* SPDX-License-Identifier: Apache-2.0 */
/* FakeQuantizationToInteger: convolutions and matrix products between dequantize and quantize compute
 * with integers.
 *
 *     lv = R.dequantize(q, sx, zx)                    # q: uint8 or int8
 *     lv1 = R.dequantize(w, sw, zw)                   # w: constant
 *     lv2 = R.nn.conv2d(lv, lv1)                 =>   lv2 = R.nn.conv2d(q - zx, w - zw, out_dtype="int32")
 *     lv3 = R.add(lv2, b)                             lv3 = R.add(lv2, b / (sx * sw))
 *     gv = R.quantize(lv3, sy, zy)                    gv = round(lv3 * (sx * sw / sy)), clipped, + zy
 *
 * Differences from the zero point are int16: products of two are summed exactly in int32. A quantized
 * value that only such operators and dequantize read is one from the start. Matrix products may be of two
 * tensors that the model computes. Everything else between,
 * such as sums of two dequantized values, stays as it is, and reads what was made float again.
 *
 * Scales and zero points are constants: one of the data, one or one a channel of the weights. In
 * dataflow blocks. A result may be one step away from where the float graph has it, if the float sum
 * lies between two steps (docs/numbers.md). What takes a quantized value as it is (maximum over
 * windows, other shapes) does so if it is quantized again as before. Cases:
 * tests/pass/FakeQuantizationToInteger.
 */
#include "transform.h"

#include <math.h>

#include "tenon/core/walk.h"

enum {
    MAX_SUM = 33025, /* products of two differences, (2^31 - 1) / 255^2 */
    MAX_MOVES = 4
};

/* Numbers that stand for the whole tensor or for an entry of one axis each. */
typedef struct numbers {
    double *v;
    int64_t n;
} numbers;

/* R.quantize or R.dequantize with constant parameters. */
typedef struct step {
    const tn_call *call;
    const tn_expr *x;
    numbers scale, zero;
} step;

/* A float32 variable that is an integer one times a scale, cut to [lo, hi]. */
typedef struct scaled {
    const tn_expr *sum;
    numbers scale;
    int64_t axis, rank; /* of the channels */
    double lo, hi;
} scaled;

typedef struct maker {
    tn_ctx *ctx;
    tnb_arena *arena;
    tn_list at;         /* the block's bindings */
    tnb_ptrmap place;   /* variable defined in the block -> its place + 1 */
    tnb_ptrmap uses;    /* variable -> how many bindings read it */
    tnb_ptrmap whole;   /* quantized variable: all read it by dequantize with its zero point */
    tnb_ptrmap wanted;  /* quantized variable that an integer operator will read */
    tnb_ptrmap centred; /* quantized variable -> the difference from its zero point, int16 */
    tnb_ptrmap sums;    /* float variable -> scaled */
    TNB_VEC(const tn_node *) out;
} maker;

/* ---- what the graph has ---- */

static const tn_expr *
value_of(const maker *k, const tn_expr *var)
{
    uint32_t p = (uint32_t)(uintptr_t)tnb_ptrmap_get(&k->place, var);
    const tn_var_binding *b = p ? tn_as_var_binding(k->at.at[p - 1]) : NULL;
    return b ? b->value : NULL;
}

static bool
is_byte(tnb_dtype d)
{
    return tnb_dtype_eq(d, TNB_I8) || tnb_dtype_eq(d, TNB_U8);
}

/* The elements of a constant, which may stand behind a change of shape. */
static bool
read_numbers(const maker *k, const tn_expr *e, numbers *out)
{
    const tn_expr *v;
    for (int i = 0; i < 4 && (v = value_of(k, e)); i++) {
        if (!tn_is_call_to(v, "relax.squeeze") && !tn_is_call_to(v, "relax.reshape") &&
            !tn_is_call_to(v, "relax.expand_dims"))
            return false;
        e = tn_as_call(v)->args.at[0];
    }
    const tn_constant *c = tn_as_constant(e);
    if (!c || c->data->kind == TN_DATA_DEFERRED || c->data->n_elems > 1u << 20)
        return false;
    tnb_dtype d = c->data->dtype;
    const void *from = tn_data_get(k->ctx, c->data);
    if (!from)
        return false;
    out->n = (int64_t)c->data->n_elems;
    out->v = TNB_NEW_N(k->arena, double, out->n + 1);
    for (int64_t i = 0; i < out->n; i++)
        if (tnb_dtype_eq(d, TNB_F32))
            out->v[i] = (double)((const float *)from)[i];
        else if (tnb_dtype_eq(d, TNB_I32))
            out->v[i] = ((const int32_t *)from)[i];
        else if (tnb_dtype_eq(d, TNB_I8))
            out->v[i] = ((const int8_t *)from)[i];
        else if (tnb_dtype_eq(d, TNB_U8))
            out->v[i] = ((const uint8_t *)from)[i];
        else
            return false;
    return out->n > 0;
}

static double
entry(numbers p, int64_t i)
{
    return p.v[p.n == 1 ? 0 : i];
}

static bool
is_step(const maker *k, const tn_expr *value, const char *op, step *out)
{
    out->call = value ? tn_is_call_to(value, op) : NULL;
    if (!out->call || !read_numbers(k, out->call->args.at[1], &out->scale) ||
        !read_numbers(k, out->call->args.at[2], &out->zero))
        return false;
    for (int64_t i = 0; i < out->scale.n; i++)
        if (!(out->scale.v[i] >= 1e-30 && out->scale.v[i] <= 1e30))
            return false;
    out->x = out->call->args.at[0];
    return true;
}

/* Of and to bytes, with one scale and one zero point. */
static bool
is_quantize(const maker *k, const tn_expr *value, step *out)
{
    return is_step(k, value, "relax.quantize", out) && out->scale.n == 1 && out->zero.n == 1 &&
           tnb_dtype_eq(tn_type_dtype(out->x->type), TNB_F32) &&
           is_byte(tn_call_dtype(out->call, "out_dtype"));
}

static bool
is_dequantize(const maker *k, const tn_expr *value, step *out)
{
    return is_step(k, value, "relax.dequantize", out) && out->scale.n == 1 && out->zero.n == 1 &&
           is_byte(tn_type_dtype(out->x->type)) &&
           tnb_dtype_eq(tn_call_dtype(out->call, "out_dtype"), TNB_F32);
}

/* ---- operators that can compute with integers ---- */

/* Gives some of the numbers that it takes. */
static bool
takes_any_numbers(const tn_expr *value)
{
    static const char *const ops[] = {"relax.reshape",       "relax.permute_dims",
                                      "relax.expand_dims",   "relax.squeeze",
                                      "relax.flatten",       "relax.nn.max_pool2d",
                                      "relax.strided_slice", NULL};
    for (int i = 0; ops[i]; i++)
        if (tn_is_call_to(value, ops[i]))
            return true;
    return false;
}

typedef struct product {
    const tn_call *call;
    step x, w;
    const tn_call *moves[MAX_MOVES]; /* between dequantize and the product, the last one first */
    uint32_t n_moves;
    bool turned; /* the right operand of a matrix product is R.permute_dims of the weights */
    bool two;    /* the right operand is no constant; moved as the left one is: */
    const tn_call *w_moves[MAX_MOVES];
    uint32_t n_w_moves;
    int64_t axis, rank; /* of the result's channels */
    int64_t channels;
} product;

/* Weights with one scale or one for each entry of `axis`, which has `n`. */
static bool
is_weights(const maker *k, const tn_expr *e, int64_t axis, int64_t n, step *out)
{
    tn_list dims;
    if (!is_step(k, value_of(k, e), "relax.dequantize", out) || !tn_is(out->x, TN_KIND_CONSTANT) ||
        !is_byte(tn_type_dtype(out->x->type)) || !tnb_dtype_eq(tn_type_dtype(e->type), TNB_F32) ||
        !tn_type_dims(e->type, &dims))
        return false;
    int64_t along = tn_call_int(out->call, "axis");
    along += along < 0 ? dims.n : 0;
    return (out->scale.n == 1 || (along == axis && out->scale.n == n)) &&
           (out->zero.n == 1 || (along == axis && out->zero.n == n));
}

static bool
is_conv(const maker *k, const tn_call *call, product *p)
{
    tn_list d;
    int64_t sum = 1, e;
    if (strcmp(tn_call_str(call, "data_layout"), "NCHW") != 0 ||
        strcmp(tn_call_str(call, "kernel_layout"), "OIHW") != 0 ||
        strcmp(tn_call_str(call, "out_layout"), "NCHW") != 0 ||
        !tn_type_dims(call->args.at[1]->type, &d) || !tn_int_value(d.at[0], &p->channels))
        return false;
    for (uint32_t i = 1; i < d.n; i++)
        sum *= tn_int_value(d.at[i], &e) && e <= MAX_SUM ? e : MAX_SUM + 1;
    p->axis = 1;
    p->rank = 4;
    return sum <= MAX_SUM && is_weights(k, call->args.at[1], 0, p->channels, &p->w);
}

/* What is between a dequantize and a product; the value before it. */
static const tn_expr *
skip_moves(const maker *k, const tn_expr *e, const tn_call **moves, uint32_t *n)
{
    const tn_expr *x = value_of(k, e);
    for (; x && takes_any_numbers(x) && *n < MAX_MOVES; x = value_of(k, moves[(*n)++]->args.at[0]))
        moves[*n] = tn_as_call(x);
    return x;
}

/* The product of two tensors that the model computes, of shapes that processors have instructions for:
 * pairs along the sum, vectors of four columns, rows that are worth packing columns for. */
static bool
is_product_of_two(const maker *k, const tn_call *call, product *p)
{
    enum { PAIR = 2, VECTOR = 4, ROWS = 8 };
    tn_list x, w;
    int64_t rows, sum, columns;
    if (!tn_type_dims(call->args.at[0]->type, &x) || !tn_type_dims(call->args.at[1]->type, &w) ||
        x.n < 2 || w.n < 2 || !tn_int_value(x.at[x.n - 2], &rows) ||
        !tn_int_value(w.at[w.n - 2], &sum) || !tn_int_value(w.at[w.n - 1], &columns) ||
        sum > MAX_SUM || sum % PAIR || columns % VECTOR || rows < ROWS)
        return false;
    p->two = true;
    p->turned = false;
    p->axis = 0;
    p->rank = 1;
    return is_dequantize(k, skip_moves(k, call->args.at[1], p->w_moves, &p->n_w_moves), &p->w) &&
           p->w.x != p->x.x;
}

static bool
is_matmul(const maker *k, const tn_call *call, product *p)
{
    tn_list d;
    int64_t sum, axes[2];
    const tn_expr *w = call->args.at[1], *v = value_of(k, w);
    if (!tn_type_dims(w->type, &d) || d.n != 2 || !tn_int_value(d.at[0], &sum) || sum > MAX_SUM ||
        !tn_int_value(d.at[1], &p->channels))
        return false;
    const tn_call *turn = v ? tn_is_call_to(v, "relax.permute_dims") : NULL;
    if (turn) {
        int n = tn_dict_ints(turn->attrs, "axes", axes, 2);
        if (n == 2 && axes[0] == 0)
            return false;
        w = turn->args.at[0];
        p->turned = true;
    }
    p->axis = 0;
    p->rank = 1;
    return is_weights(k, w, p->turned ? 0 : 1, p->channels, &p->w);
}

static bool
is_product(const maker *k, const tn_expr *value, product *p)
{
    *p = (product){0};
    const tn_call *conv = tn_is_call_to(value, "relax.nn.conv2d");
    p->call = conv ? conv : tn_is_call_to(value, "relax.matmul");
    if (!p->call || !tnb_dtype_eq(tn_type_dtype(value->type), TNB_F32))
        return false;
    const tn_expr *x = skip_moves(k, p->call->args.at[0], p->moves, &p->n_moves);
    if (!is_dequantize(k, x, &p->x))
        return false;
    return conv ? is_conv(k, conv, p)
                : is_matmul(k, p->call, p) || is_product_of_two(k, p->call, p);
}

/* ---- writing ---- */

static void
put(maker *k, const tn_expr *var, const tn_expr *value)
{
    TNB_PUSH(k->arena, k->out, tn_var_binding_of(k->ctx, var, value));
}

static const tn_expr *
bind(maker *k, const tn_expr *value)
{
    if (tn_is_error(value))
        return value;
    const tn_expr *var = tn_dataflow_var_new(k->ctx, "lv", value->type);
    put(k, var, value);
    return var;
}

static const tn_expr *
cast(maker *k, const tn_expr *x, tnb_dtype d)
{
    return bind(k,
                tn_call_opv(k->ctx, "relax.astype",
                            tn_dictv(k->ctx, "dtype", tn_dtype_imm_of(k->ctx, d), NULL), x, NULL));
}

static const tn_expr *
binary(maker *k, const char *op, const tn_expr *a, const tn_expr *b)
{
    return bind(k, tn_call_opv(k->ctx, op, NULL, a, b, NULL));
}

/* One number, or one for each entry of axis `axis` of `rank`. */
static const tn_expr *
constant(maker *k, tnb_dtype d, numbers p, int64_t axis, int64_t rank)
{
    int64_t shape[4] = {1, 1, 1, 1};
    void *bytes;
    if (p.n == 1)
        return tn_scalar_constant(k->ctx, d, p.v[0]);
    shape[axis] = p.n;
    const tn_data *data = tn_data_new(k->ctx, d, (int32_t)rank, shape, &bytes);
    bool ok = data;
    for (int64_t i = 0; ok && i < p.n; i++)
        ok = tnb_store_f64(bytes, d, (uint64_t)i, p.v[i]);
    return ok ? tn_constant_of(k->ctx, data) : tn_error_node(k->ctx);
}

static bool
is_zero(numbers p)
{
    for (int64_t i = 0; i < p.n; i++)
        if (p.v[i] != 0)
            return false;
    return true;
}

/* A quantized tensor's difference from its zero point. */
static const tn_expr *
difference(maker *k, const tn_expr *x, numbers zero, int64_t axis, int64_t rank)
{
    const tn_expr *d = cast(k, x, TNB_DTYPE(TNB_INT, 16));
    return is_zero(zero) ? d
                         : binary(k, "relax.subtract", d,
                                  constant(k, TNB_DTYPE(TNB_INT, 16), zero, axis, rank));
}

static const tn_expr *
centred(maker *k, const step *q)
{
    const tn_expr *c = tnb_ptrmap_get(&k->centred, q->x);
    if (!c) {
        c = difference(k, q->x, q->zero, 0, 0);
        tnb_ptrmap_set(&k->centred, q->x, c);
    }
    return c;
}

/* A float variable that is the integer one, times its scale. */
static const tn_expr *
put_scaled(maker *k, const tn_expr *var, const scaled *s)
{
    const tn_expr *v = cast(k, s->sum, TNB_F32);
    v = tn_call_opv(k->ctx, "relax.multiply", NULL, v,
                    constant(k, TNB_F32, s->scale, s->axis, s->rank), NULL);
    if (tn_is_error(v))
        return v;
    put(k, var, v);
    scaled *kept = TNB_NEW(k->arena, scaled);
    *kept = *s;
    tnb_ptrmap_set(&k->sums, var, kept);
    return var;
}

/* The operator of a call for another tensor. */
static const tn_expr *
taken(maker *k, const tn_call *call, const tn_expr *x)
{
    return tn_call_of(k->ctx, call->op, tn_list_with(k->ctx, call->args, 0, x), call->attrs,
                      call->ty_args, NULL);
}

static bool
put_product(maker *k, const tn_expr *var, const product *p)
{
    const tn_expr *x = centred(k, &p->x);
    for (uint32_t i = p->n_moves; i-- > 0;)
        x = bind(k, taken(k, p->moves[i], x));
    tn_list dims;
    (void)tn_type_dims(p->w.x->type, &dims);
    int64_t axis = p->rank == 1 && !p->turned ? 1 : 0;
    const tn_expr *w = p->two ? centred(k, &p->w) : difference(k, p->w.x, p->w.zero, axis, dims.n);
    for (uint32_t i = p->n_w_moves; i-- > 0;)
        w = bind(k, taken(k, p->w_moves[i], w));
    if (p->turned)
        w = bind(k, tn_call_opv(k->ctx, "relax.permute_dims",
                                tn_as_call(value_of(k, p->call->args.at[1]))->attrs, w, NULL));
    const tn_node *attrs =
        tn_dict_set(k->ctx, p->call->attrs, "out_dtype", tn_dtype_imm_of(k->ctx, TNB_I32));
    const tn_expr *args[2] = {x, w};
    if (tn_is_error(x) || tn_is_error(w))
        return false;
    scaled s = {.axis = p->axis, .rank = p->rank, .lo = -INFINITY, .hi = INFINITY};
    s.sum = bind(k, tn_call_of(k->ctx, p->call->op, tn_list_of(k->ctx, args, 2), attrs,
                               p->call->ty_args, NULL));
    s.scale.n = p->w.scale.n;
    s.scale.v = TNB_NEW_N(k->arena, double, s.scale.n);
    for (int64_t i = 0; i < s.scale.n; i++)
        s.scale.v[i] = p->x.scale.v[0] * p->w.scale.v[i];
    return !tn_is_error(s.sum) && !tn_is_error(put_scaled(k, var, &s));
}

/* A bias in the sum's own steps: R.dequantize of int32 without a zero point. */
static bool
put_bias(maker *k, const tn_expr *var, const tn_call *call)
{
    for (uint32_t i = 0; i < 2; i++) {
        const scaled *s = tnb_ptrmap_get(&k->sums, call->args.at[i]);
        const tn_expr *e = call->args.at[1 - i], *v = value_of(k, e);
        tn_list dims;
        step b;
        numbers own;
        if (!s || s->lo > -INFINITY || s->hi < INFINITY || !tn_type_dims(e->type, &dims) ||
            !tn_type_equal(k->ctx, call->base.type, call->args.at[i]->type))
            continue;
        if (v && (tn_is_call_to(v, "relax.reshape") || tn_is_call_to(v, "relax.expand_dims")))
            v = value_of(k, tn_as_call(v)->args.at[0]);
        if (!is_step(k, v, "relax.dequantize", &b) || !is_zero(b.zero) ||
            !tnb_dtype_eq(tn_type_dtype(b.x->type), TNB_I32) || !read_numbers(k, b.x, &own))
            continue;
        bool fits = dims.n <= s->rank && (b.scale.n == 1 || b.scale.n == own.n);
        for (uint32_t a = 0; a < dims.n; a++) {
            bool channel = a + (uint32_t)s->rank - dims.n == (uint32_t)s->axis;
            fits &= channel ? tn_is_int_const(dims.at[a], own.n) || own.n == 1
                            : tn_is_int_const(dims.at[a], 1);
        }
        int64_t n = own.n > s->scale.n ? own.n : s->scale.n;
        for (int64_t c = 0; c < n && fits; c++)
            fits = fabs(entry(b.scale, c) - entry(s->scale, c)) <= 1e-5 * entry(s->scale, c) &&
                   fabs(entry(own, c)) <= 1 << 30;
        if (!fits)
            continue;
        scaled with = *s;
        with.sum = binary(k, "relax.add", s->sum, constant(k, TNB_I32, own, s->axis, s->rank));
        return !tn_is_error(with.sum) && !tn_is_error(put_scaled(k, var, &with));
    }
    return false;
}

static bool
is_number(const tn_expr *e, double *v)
{
    int64_t i;
    const tn_float_imm *f = tn_as_float_imm(e);
    if (f)
        *v = f->value;
    else if (tn_int_value(e, &i))
        *v = (double)i;
    else
        return false;
    return true;
}

/* R.nn.relu and R.clip: taken over by the quantize that follows. */
static void
note_bounds(maker *k, const tn_expr *var, const tn_expr *value)
{
    const tn_call *call = tn_as_call(value);
    const scaled *s = call && call->args.n ? tnb_ptrmap_get(&k->sums, call->args.at[0]) : NULL;
    double lo = -INFINITY, hi = INFINITY;
    if (!s)
        return;
    if (tn_is_call_to(value, "relax.nn.relu")) {
        lo = 0;
    } else if (tn_is_call_to(value, "relax.nn.relu6")) {
        lo = 0;
        hi = 6;
    } else if (!tn_is_call_to(value, "relax.clip") || !is_number(call->args.at[1], &lo) ||
               !is_number(call->args.at[2], &hi)) {
        return;
    }
    scaled *kept = TNB_NEW(k->arena, scaled);
    *kept = *s;
    kept->lo = s->lo < lo ? lo : s->lo > hi ? hi : s->lo;
    kept->hi = s->hi > hi ? hi : s->hi < lo ? lo : s->hi;
    tnb_ptrmap_set(&k->sums, var, kept);
}

static double
within(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* How steps are counted: bytes with the zero point, differences from it. */
typedef enum counted { AS_BYTES, AS_DIFFERENCES, AS_FLOATS } counted;

/* What is quantized, in steps. */
static const tn_expr *
rounded(maker *k, const step *q, counted as)
{
    bool with_zero = as == AS_BYTES;
    const scaled *s = tnb_ptrmap_get(&k->sums, q->x);
    tnb_dtype d = tn_call_dtype(q->call, "out_dtype");
    double one = (double)(float)q->scale.v[0], zero = q->zero.v[0];
    double least = (d.code == TNB_INT ? -128 : 0) - zero, lo = least, hi = least + 255;
    const tn_expr *v;
    if (s) {
        numbers m = {TNB_NEW_N(k->arena, double, s->scale.n), s->scale.n};
        for (int64_t i = 0; i < m.n; i++)
            m.v[i] = s->scale.v[i] / one;
        v = binary(k, "relax.multiply", cast(k, s->sum, TNB_F32),
                   constant(k, TNB_F32, m, s->axis, s->rank));
        lo = within(rint(s->lo / one), least, least + 255);
        hi = within(rint(s->hi / one), least, least + 255);
    } else {
        v = binary(k, "relax.divide", q->x, tn_scalar_constant(k->ctx, TNB_F32, one));
    }
    v = bind(k, tn_call_opv(k->ctx, "relax.round", NULL, v, NULL));
    if (with_zero && zero != 0)
        v = binary(k, "relax.add", v, tn_scalar_constant(k->ctx, TNB_F32, zero));
    zero = with_zero ? zero : 0;
    v = tn_call_opv(k->ctx, "relax.clip", NULL, v, tn_float_imm_of(k->ctx, TNB_F32, lo + zero),
                    tn_float_imm_of(k->ctx, TNB_F32, hi + zero), NULL);
    if (as == AS_FLOATS)
        return v;
    d = with_zero ? d : TNB_DTYPE(TNB_INT, 16);
    return tn_call_opv(k->ctx, "relax.astype",
                       tn_dictv(k->ctx, "dtype", tn_dtype_imm_of(k->ctx, d), NULL), bind(k, v),
                       NULL);
}

/* ---- what takes quantized values as they are ---- */

/* quantize(op(dequantize(x))) in the same steps: `x`, and the operator's call. */
static const tn_call *
same_steps(const maker *k, const step *q, step *before)
{
    const tn_expr *value = value_of(k, q->x);
    const tn_call *call = value && takes_any_numbers(value) ? tn_as_call(value) : NULL;
    bool same = call && is_dequantize(k, value_of(k, call->args.at[0]), before) &&
                before->scale.v[0] == q->scale.v[0] && before->zero.v[0] == q->zero.v[0] &&
                tnb_dtype_eq(tn_type_dtype(before->x->type), tn_call_dtype(q->call, "out_dtype"));
    return same ? call : NULL;
}

/* ---- the block ---- */

/* Whether a quantized variable becomes the difference from its zero point where it is made. */
static bool
is_made_centred(const maker *k, const tn_expr *var)
{
    return tnb_ptrmap_get(&k->wanted, var) && tnb_ptrmap_get(&k->whole, var);
}

static bool
put_quantize(maker *k, const tn_expr *var, const step *q)
{
    step before;
    const tn_call *call = same_steps(k, q, &before);
    const tn_expr *v;
    bool whole = tnb_ptrmap_get(&k->whole, var) != NULL;
    if (is_made_centred(k, var) || (whole && !call && tnb_ptrmap_get(&k->sums, q->x))) {
        bool floats = !is_made_centred(k, var) && (uintptr_t)tnb_ptrmap_get(&k->uses, var) == 1;
        v = bind(k, call ? taken(k, call, centred(k, &before))
                         : rounded(k, q, floats ? AS_FLOATS : AS_DIFFERENCES));
        tnb_ptrmap_set(&k->centred, var, v);
        return !tn_is_error(v);
    }
    bool gone =
        call && tnb_ptrmap_get(&k->whole, before.x) && tnb_ptrmap_get(&k->centred, before.x);
    if (call && !gone)
        v = taken(k, call, before.x);
    else if (tnb_ptrmap_get(&k->sums, q->x))
        v = rounded(k, q, AS_BYTES);
    else
        return false;
    if (tn_is_error(v))
        return false;
    put(k, var, v);
    return true;
}

/* Whether a binding was written in another form. */
static bool
put_binding(maker *k, const tn_var_binding *b)
{
    step q;
    product p;
    if (is_quantize(k, b->value, &q))
        return put_quantize(k, b->var, &q);
    if (is_dequantize(k, b->value, &q) && tnb_ptrmap_get(&k->whole, q.x) &&
        tnb_ptrmap_get(&k->centred, q.x)) {
        const tn_expr *v = tnb_ptrmap_get(&k->centred, q.x);
        if (!tnb_dtype_eq(tn_type_dtype(v->type), TNB_F32))
            v = cast(k, v, TNB_F32);
        v = tn_call_opv(k->ctx, "relax.multiply", NULL, v, constant(k, TNB_F32, q.scale, 0, 0),
                        NULL);
        put(k, b->var, v);
        return !tn_is_error(v);
    }
    if (is_product(k, b->value, &p))
        return put_product(k, b->var, &p);
    const tn_call *sum = tn_is_call_to(b->value, "relax.add");
    if (sum && put_bias(k, b->var, sum))
        return true;
    note_bounds(k, b->var, b->value);
    return false;
}

/* Fills `wanted` and `whole`, from the last binding; whether there is an integer operator. */
static bool
look_ahead(maker *k)
{
    bool any = false;
    tnb_ptrmap good; /* quantized variable -> how many bindings read the difference */
    tnb_ptrmap_init(&good, k->arena);
    for (uint32_t i = k->at.n; i-- > 0;) {
        const tn_var_binding *b = tn_as_var_binding(k->at.at[i]);
        step q, before;
        product p;
        if (!b)
            continue;
        if (is_product(k, b->value, &p)) {
            any = true;
            tnb_ptrmap_set(&k->wanted, p.x.x, b);
            if (p.two)
                tnb_ptrmap_set(&k->wanted, p.w.x, b);
        } else if (is_dequantize(k, b->value, &q)) {
            step made;
            const tn_expr *v = value_of(k, q.x);
            uintptr_t n = (uintptr_t)tnb_ptrmap_get(&good, q.x);
            if (v && is_quantize(k, v, &made) && made.zero.v[0] == q.zero.v[0])
                tnb_ptrmap_set(&good, q.x, (const void *)(n + 1));
        } else if (is_quantize(k, b->value, &q)) {
            if (tn_is(b->var, TN_KIND_DATAFLOW_VAR) &&
                tnb_ptrmap_get(&good, b->var) == tnb_ptrmap_get(&k->uses, b->var))
                tnb_ptrmap_set(&k->whole, b->var, b);
            if (is_made_centred(k, b->var) && same_steps(k, &q, &before))
                tnb_ptrmap_set(&k->wanted, before.x, b);
        }
    }
    return any;
}

static const tn_node *
each_block(tn_rewriter *r, const tn_node *n)
{
    if (!tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        return NULL;
    maker k = {.ctx = r->ctx, .arena = tn_scratch(r->ctx)};
    tnb_ptrmap *const maps[] = {&k.place, &k.uses, &k.whole, &k.wanted, &k.centred, &k.sums};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        tnb_ptrmap_init(maps[i], k.arena);
    k.at = ((const tn_bindings_block *)n)->bindings;
    for (uint32_t i = 0; i < k.at.n; i++) {
        const tn_var_binding *v = tn_as_var_binding(k.at.at[i]);
        const tn_expr *var = v ? v->var : tn_as_match_cast(k.at.at[i])->var;
        tnb_ptrmap_set(&k.place, var, (const void *)(uintptr_t)(i + 1));
        tn_list read = tn_free_vars(r->ctx, k.at.at[i], false);
        for (uint32_t j = 0; j < read.n; j++) {
            uintptr_t so_far = (uintptr_t)tnb_ptrmap_get(&k.uses, read.at[j]);
            tnb_ptrmap_set(&k.uses, read.at[j], (const void *)(so_far + 1));
        }
    }
    if (!look_ahead(&k))
        return NULL;
    for (uint32_t i = 0; i < k.at.n; i++) {
        const tn_var_binding *b = tn_as_var_binding(k.at.at[i]);
        uint32_t before = k.out.n;
        tn_loc old = tn_at(r->ctx, k.at.at[i]->loc);
        bool done = b && put_binding(&k, b);
        tn_at(r->ctx, old);
        if (!done) {
            k.out.n = before;
            TNB_PUSH(k.arena, k.out, k.at.at[i]);
        }
    }
    return tn_binding_block_of(r->ctx, tn_list_of(r->ctx, k.out.at, k.out.n), true);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)name;
    (void)user;
    tn_rewriter r = {.ctx = pc->ctx, .post = each_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    if (tn_is_error(out) || out == func)
        return tn_is_error(out) ? NULL : out;
    return transform_drop_unused(pc->ctx, m, out);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_fake_quantization_to_integer = {
    .base.size = sizeof(tn_pass),
    .base.name = "FakeQuantizationToInteger",
    .base.doc =
        "convolutions and matrix products between dequantize and quantize compute with integers",
    .keeps = TN_KEEPS_HALF,
    .flags = TN_PASS_PARALLEL,
    .run = run,
    .needs = "op",
};
