/* SPDX-License-Identifier: Apache-2.0 */
/* Which attention becomes the program of attention.c: the operators of that name, and what graphs write instead.
 *
 *     k = R.permute_dims(keys, axes=[0, 2, 3, 1])
 *     s = R.matmul(q, k)
 *     s = R.add(R.divide(s, R.const(8.0)), mask)
 *     p = R.nn.softmax(s, axis=-1)
 *     y = R.matmul(p, v)                              # y, or R.permute_dims(y, axes=[0, 2, 1, 3])
 *  -> y = R.call_tir(cls.attention, (q, keys, v, mask), ...)
 *
 * Permutations, further dimensions of 1 and constant factors of the operands are taken in. Between the products there may be,
 * in any order: products with and quotients by constants, tanh, sums with a tensor, R.where with a constant, and after the
 * softmax R.where(R.equal(R.max(bias, axis=-1), -inf), 0, p), which makes rows of nothing 0. What else reads a value that lies
 * between keeps its own. Everything else becomes what the operators' own rules make of it.
 */
#include "attention.h"

#include <math.h>
#include <string.h>

#include "tenon/core/arith.h"
#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

enum {
    MOST_COLUMNS = 256,
    LEAST_PRODUCTS = 1 << 9, /* of queries and keys, below which it does not matter */
    LEAST_QUERIES = 4,       /* of a graph's: its products of vectors copy nothing */
    MAX_BETWEEN = 12,
    MOST_AROUND = 6 /* changes of an operand that are looked through */
};

/* ---- operands ---- */

/* An operand whose dimensions run along: the batch's, rows and columns in the places of its last two. */
static bool
operand(cpu_attention_operand *o, const tn_expr *x, uint32_t n_batch, bool turned)
{
    tn_list dims;
    if (!tn_is(x->type, TN_KIND_TY_TENSOR) || !tn_type_dims(x->type, &dims) || dims.n < 2 ||
        dims.n > n_batch + 2 || dims.n > CPU_ATTENTION_RANK)
        return false;
    *o = (cpu_attention_operand){.x = x, .n = dims.n};
    for (uint32_t i = 0; i < dims.n; i++) {
        uint32_t to_end = dims.n - 1 - i;
        if (to_end > 1)
            o->along[i] =
                tn_is_int_const(dims.at[i], 1) ? (uint32_t)CPU_ALONG_NOTHING : n_batch + 1 - to_end;
        else
            o->along[i] = (to_end == 0) != turned ? CPU_ALONG_COLUMN : CPU_ALONG_ROW;
    }
    return true;
}

/* The extent of what runs along rows, or columns. */
static const tn_expr *
extent_along(const cpu_attention_operand *o, uint32_t along)
{
    tn_list dims;
    for (uint32_t i = 0; tn_type_dims(o->x->type, &dims) && i < o->n; i++)
        if (o->along[i] == along)
            return dims.at[i];
    return NULL;
}

static const tn_call *
call_of(tn_builder *b, const tn_expr *e)
{
    const tn_expr *value = tn_is_var(e) ? tn_builder_find_value(b, e) : e;
    return value && tn_is(value, TN_KIND_CALL) ? tn_as_call(value) : NULL;
}

static const tn_call *
call_to(tn_builder *b, const tn_expr *e, const char *op)
{
    const tn_call *call = call_of(b, e);
    return call && tn_is_call_to(TN_NODE(call), op) ? call : NULL;
}

/* A constant of one element, as a number. */
static bool
constant(tn_builder *b, const tn_expr *e, double *v)
{
    const tn_call *call = call_of(b, e);
    const tn_constant *c = tn_as_constant(e);
    if (!c && call &&
        (tn_is_call_to(TN_NODE(call), "relax.reshape") ||
         tn_is_call_to(TN_NODE(call), "relax.expand_dims")))
        c = tn_as_constant(call->args.at[0]);
    if (!c || c->data->n_elems != 1 || c->data->kind == TN_DATA_DEFERRED ||
        !tnb_dtype_eq(c->data->dtype, TNB_F32))
        return false;
    const float *p = tn_data_get(tn_builder_ctx(b), c->data);
    *v = p ? (double)*p : 0;
    return p != NULL;
}

/* x * by, of a product with a constant or a quotient by one. */
static const tn_expr *
scaled(tn_builder *b, const tn_call *call, double *by)
{
    bool product = tn_is_call_to(TN_NODE(call), "relax.multiply") != NULL;
    if (!product && !tn_is_call_to(TN_NODE(call), "relax.divide"))
        return NULL;
    for (uint32_t i = 0; i < (product ? 2u : 1u); i++)
        if (constant(b, call->args.at[1 - i], by) &&
            tn_type_equal(tn_builder_ctx(b), call->args.at[i]->type, call->base.type)) {
            *by = product ? *by : 1 / *by;
            return isfinite(*by) ? call->args.at[i] : NULL;
        }
    return NULL;
}

/* Leaves out dimensions of 1 that R.expand_dims puts in. */
static bool
without_expanded(cpu_attention_operand *o, const tn_call *call)
{
    int64_t axes[CPU_ATTENTION_RANK];
    int n = tn_dict_ints(call->attrs, "axis", axes, CPU_ATTENTION_RANK);
    if (n < 1 || n > CPU_ATTENTION_RANK)
        return false;
    bool put_in[CPU_ATTENTION_RANK] = {false};
    for (int i = 0; i < n; i++) {
        int64_t at = axes[i] < 0 ? axes[i] + o->n : axes[i];
        put_in[at] = true;
        if (o->along[at] != CPU_ALONG_NOTHING)
            return false;
    }
    cpu_attention_operand from = {.x = call->args.at[0]};
    for (uint32_t i = 0; i < o->n; i++)
        if (!put_in[i]) {
            from.along[from.n] = o->along[i];
            from.shared[from.n++] = o->shared[i];
        }
    *o = from;
    return true;
}

/* Reads what the operand is a permutation of, or a multiple, or has more dimensions than. */
static void
look_through(tn_builder *b, cpu_attention_operand *o, double *scale)
{
    for (int turn = 0; turn < MOST_AROUND; turn++) {
        const tn_call *call = call_of(b, o->x);
        double by;
        const tn_expr *of = call && scale ? scaled(b, call, &by) : NULL;
        if (of) {
            *scale *= by;
            o->x = of;
            continue;
        }
        int64_t axes[CPU_ATTENTION_RANK];
        if (call && tn_is_call_to(TN_NODE(call), "relax.expand_dims") && without_expanded(o, call))
            continue;
        if (!call || !tn_is_call_to(TN_NODE(call), "relax.permute_dims") ||
            tn_dict_ints(call->attrs, "axes", axes, CPU_ATTENTION_RANK) != (int)o->n)
            return;
        cpu_attention_operand from = *o;
        from.x = call->args.at[0];
        for (uint32_t i = 0; i < o->n; i++) {
            int64_t to = axes[i] < 0 ? axes[i] + o->n : axes[i];
            from.along[to] = o->along[i];
            from.shared[to] = o->shared[i];
        }
        *o = from;
    }
}

/* A tensor that is met by scores, element by element. */
static bool
change(cpu_attention_operand *o, const tn_expr *x, uint32_t n_batch)
{
    tn_list dims;
    *o = (cpu_attention_operand){.x = x};
    if (!tn_is(x->type, TN_KIND_TY_TENSOR) || !tn_type_dims(x->type, &dims) ||
        dims.n > n_batch + 2 || dims.n > CPU_ATTENTION_RANK)
        return false;
    o->n = dims.n;
    for (uint32_t i = 0; i < dims.n; i++) {
        uint32_t to_end = dims.n - 1 - i;
        o->along[i] = tn_is_int_const(dims.at[i], 1) ? CPU_ALONG_NOTHING
                      : to_end == 0                  ? CPU_ALONG_COLUMN
                      : to_end == 1                  ? CPU_ALONG_ROW
                                                     : n_batch + 1 - to_end;
    }
    return true;
}

/* ---- whether it pays ---- */

static bool
is_float(tnb_dtype d)
{
    return tnb_dtype_eq(d, TNB_F32) || tnb_dtype_eq(d, TNB_F16) || tnb_dtype_eq(d, TNB_BF16);
}

static bool
pays(const cpu_attention *a)
{
    int64_t queries, keys;
    if (a->d < 1 || a->dv < 1 || a->d > MOST_COLUMNS || a->dv > MOST_COLUMNS)
        return false;
    for (uint32_t i = 0; i < a->n_batch; i++)
        if (tn_is_int_const(a->batch[i], 0))
            return false;
    return !tn_int_value(a->queries, &queries) || !tn_int_value(a->keys, &keys) ||
           queries * keys >= LEAST_PRODUCTS;
}

/* ---- the operators ---- */

const tn_expr *
cpu_legalize_attention(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)self;
    cpu_attention a = {.ctx = tn_builder_ctx(b), .n_batch = 2, .scale = 1};
    static const uint32_t layout[4] = {0, CPU_ALONG_ROW, 1, CPU_ALONG_COLUMN};
    cpu_attention_operand *o[4] = {&a.q, &a.k, &a.v, &a.out};
    tn_list dims[3];
    int64_t heads, shared;
    bool var_len = call->args.n == 7;
    for (int i = 0; i < 4; i++) {
        const tn_expr *x = i < 3 ? call->args.at[i] : NULL;
        if (x && (!is_float(tn_type_dtype(x->type)) || !tn_type_dims(x->type, &dims[i]) ||
                  dims[i].n != 4))
            return NULL;
        *o[i] = (cpu_attention_operand){.x = x, .n = 4};
        memcpy(o[i]->along, layout, sizeof layout);
    }
    if (!tn_int_value(dims[0].at[3], &a.d) || !tn_int_value(dims[2].at[3], &a.dv))
        return NULL;
    if (!tn_prove_equal(a.ctx, dims[0].at[2], dims[1].at[2])) {
        if (!tn_int_value(dims[0].at[2], &heads) || !tn_int_value(dims[1].at[2], &shared) ||
            shared < 1)
            return NULL;
        a.k.shared[2] = a.v.shared[2] = heads / shared;
    }
    a.batch[0] = dims[0].at[0];
    a.batch[1] = dims[0].at[2];
    a.queries = dims[0].at[1];
    a.keys = dims[1].at[1];
    a.dtype = tn_type_dtype(call->base.type);
    a.scale = tn_call_attr(call, "scale") ? tn_call_float(call, "scale") : 1 / sqrt((double)a.d);
    for (int i = 0; var_len && i < 2; i++)
        a.starts[i] = call->args.at[3 + i];
    a.zero = var_len;
    if (!var_len && call->args.n > 3) {
        a.step[0].kind = CPU_STEP_ADD;
        if (!change(&a.step[0].x, call->args.at[3], 2))
            return NULL;
        a.n_steps = 1;
    }
    const char *mask = tn_call_attr(call, "causal_mask") ? tn_call_str(call, "causal_mask") : NULL;
    a.causal = mask != NULL;
    a.from_end = !mask || strcmp(mask, "BottomRight") == 0;
    a.window = tn_call_attr(call, "window_size") ? tn_call_int(call, "window_size") : 0;
    if (tn_call_attr(call, "window_size") && a.window < 1)
        return NULL;
    if (!pays(&a))
        return NULL;
    return cpu_attention_call(b, &a, call->base.type, target);
}

/* ---- what graphs write instead ---- */

static bool
push(cpu_attention *a, const cpu_attention_step *s)
{
    if (a->n_steps == CPU_ATTENTION_STEPS)
        return false;
    a->step[a->n_steps++] = *s; /* the last one first */
    return true;
}

static bool
is_float32(const tn_expr *e)
{
    return tn_is(e->type, TN_KIND_TY_TENSOR) && tnb_dtype_eq(tn_type_dtype(e->type), TNB_F32);
}

/* The scores before the step that `e` is; NULL: it is none. */
static const tn_expr *
step_before(tn_builder *b, cpu_attention *a, const tn_expr *e)
{
    const tn_call *call = call_of(b, e);
    cpu_attention_step s = {0};
    const tn_expr *x = call ? scaled(b, call, &s.c) : NULL;
    if (!call)
        return NULL;
    if (x)
        return push(a, &s) ? x : NULL;
    if (tn_is_call_to(TN_NODE(call), "relax.tanh")) {
        s.kind = CPU_STEP_TANH;
        return push(a, &s) ? call->args.at[0] : NULL;
    }
    bool where = tn_is_call_to(TN_NODE(call), "relax.where") != NULL;
    if (where) {
        bool keep = constant(b, call->args.at[2], &s.c);
        if (!keep && !constant(b, call->args.at[1], &s.c))
            return NULL;
        s.kind = keep ? CPU_STEP_KEEP : CPU_STEP_REPLACE;
        x = call->args.at[keep ? 1 : 2];
        if (!change(&s.x, call->args.at[0], a->n_batch))
            return NULL;
        return tn_type_equal(a->ctx, x->type, e->type) && push(a, &s) ? x : NULL;
    }
    if (!tn_is_call_to(TN_NODE(call), "relax.add"))
        return NULL;
    /* the side that a product lies behind; the other may have its shape, too */
    for (uint32_t i = 0; i < 2; i++) {
        x = call->args.at[i];
        const tn_expr *other = call->args.at[1 - i];
        if (!tn_type_equal(a->ctx, x->type, e->type) || !is_float32(other) || !call_of(b, x) ||
            (!call_to(b, x, "relax.matmul") && !call_to(b, x, "relax.multiply") &&
             !call_to(b, x, "relax.divide")))
            continue;
        s.kind = CPU_STEP_ADD;
        if (change(&s.x, other, a->n_batch))
            return push(a, &s) ? x : NULL;
    }
    return NULL;
}

/* R.where(R.equal(R.max(bias, axis=-1), -inf), 0, p): p; *bias is what decides. */
static const tn_expr *
zero_where_hidden(tn_builder *b, const tn_expr *e, const tn_expr **bias)
{
    const tn_call *where = call_to(b, e, "relax.where");
    double zero, none;
    if (!where || !constant(b, where->args.at[1], &zero) || zero != 0)
        return NULL;
    const tn_call *equal = call_to(b, where->args.at[0], "relax.equal");
    const tn_call *most = equal ? call_to(b, equal->args.at[0], "relax.max") : NULL;
    int64_t axis[2];
    if (!most || !constant(b, equal->args.at[1], &none) || !(none == -INFINITY) ||
        tn_dict_ints(most->attrs, "axis", axis, 2) != 1 || !tn_call_int(most, "keepdims") ||
        (axis[0] != -1 && axis[0] != tn_type_ndim(most->args.at[0]->type) - 1))
        return NULL;
    *bias = most->args.at[0];
    return where->args.at[2];
}

/* The attention that a product of weights and values is. */
static bool
recognize(tn_builder *b, cpu_attention *a, const tn_call *outer)
{
    tn_list out;
    const tn_expr *bias = NULL;
    if (!tn_is_call_to(TN_NODE(outer), "relax.matmul") || !is_float32(TN_NODE(outer)) ||
        !tn_type_dims(outer->base.type, &out) || out.n < 2 || out.n > CPU_ATTENTION_BATCH + 2)
        return false;
    a->n_batch = out.n - 2;
    for (uint32_t i = 0; i < a->n_batch; i++)
        a->batch[i] = out.at[i];
    const tn_expr *p = outer->args.at[0], *shown = zero_where_hidden(b, p, &bias);
    const tn_call *softmax = call_to(b, shown ? shown : p, "relax.nn.softmax");
    a->zero = shown != NULL;
    if (!softmax || !is_float32(TN_NODE(softmax)))
        return false;
    int64_t axis = tn_call_int(softmax, "axis");
    if (axis != -1 && axis != (int64_t)out.n - 1)
        return false;
    const tn_expr *e = softmax->args.at[0];
    const tn_call *inner = NULL;
    for (int turn = 0; turn < MAX_BETWEEN && e; turn++) {
        inner = call_to(b, e, "relax.matmul");
        if (inner)
            break;
        e = step_before(b, a, e);
    }
    tn_list scores;
    if (!e || !inner || !tn_type_dims(inner->base.type, &scores) || scores.n != out.n ||
        !is_float32(inner->args.at[0]) || !is_float32(inner->args.at[1]) ||
        !is_float32(outer->args.at[1]))
        return false;
    for (uint32_t i = 0; i < a->n_batch; i++)
        if (!tn_prove_equal(a->ctx, scores.at[i], out.at[i]))
            return false;
    /* a row may be made 0 where its last step is the sum that hides all of it */
    if (bias && !(a->n_steps && a->step[0].kind == CPU_STEP_ADD && a->step[0].x.x == bias))
        return false;
    for (uint32_t i = 0; i < a->n_steps / 2; i++) {
        cpu_attention_step t = a->step[i];
        a->step[i] = a->step[a->n_steps - 1 - i];
        a->step[a->n_steps - 1 - i] = t;
    }
    if (!operand(&a->q, inner->args.at[0], a->n_batch, false) ||
        !operand(&a->k, inner->args.at[1], a->n_batch, true) ||
        !operand(&a->v, outer->args.at[1], a->n_batch, false))
        return false;
    a->queries = extent_along(&a->q, CPU_ALONG_ROW);
    a->keys = extent_along(&a->v, CPU_ALONG_ROW);
    if (!tn_prove_equal(a->ctx, a->keys, extent_along(&a->k, CPU_ALONG_ROW)) ||
        !tn_int_value(extent_along(&a->q, CPU_ALONG_COLUMN), &a->d) ||
        !tn_int_value(extent_along(&a->v, CPU_ALONG_COLUMN), &a->dv))
        return false;
    look_through(b, &a->q, &a->scale);
    look_through(b, &a->k, &a->scale);
    look_through(b, &a->v, NULL);
    while (a->n_steps && a->step[0].kind == CPU_STEP_MULTIPLY) {
        a->scale *= a->step[0].c;
        memmove(a->step, a->step + 1, --a->n_steps * sizeof a->step[0]);
    }
    a->dtype = TNB_F32;
    a->out.n = out.n;
    for (uint32_t i = 0; i < out.n; i++)
        a->out.along[i] = i < a->n_batch ? i : i == a->n_batch ? CPU_ALONG_ROW : CPU_ALONG_COLUMN;
    int64_t queries = LEAST_QUERIES;
    return pays(a) && (!tn_int_value(a->queries, &queries) || queries >= LEAST_QUERIES);
}

const tn_expr *
cpu_legalize_products(tn_builder *b, const tn_call *call, const tn_target *target)
{
    cpu_attention a = {.ctx = tn_builder_ctx(b), .scale = 1};
    return recognize(b, &a, call) ? cpu_attention_call(b, &a, call->base.type, target) : NULL;
}

/* A permutation of such a product's result. */
const tn_expr *
cpu_legalize_permuted(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)self;
    cpu_attention a = {.ctx = tn_builder_ctx(b), .scale = 1};
    const tn_call *product = call_to(b, call->args.at[0], "relax.matmul");
    int64_t axes[CPU_ATTENTION_RANK];
    if (!product || !recognize(b, &a, product) ||
        tn_dict_ints(call->attrs, "axes", axes, CPU_ATTENTION_RANK) != (int)a.out.n)
        return NULL;
    cpu_attention_operand from = a.out;
    for (uint32_t i = 0; i < from.n; i++)
        a.out.along[i] = from.along[axes[i] < 0 ? axes[i] + from.n : axes[i]];
    return cpu_attention_call(b, &a, call->base.type, target);
}
