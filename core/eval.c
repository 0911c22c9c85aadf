/* SPDX-License-Identifier: Apache-2.0 */
/* Values: made up for a function's parameters, and compared. Running functions is an evaluator's
 * work. */
#include "tenon/core/eval.h"
#include <math.h>
#include "private.h"
#include "tenon/base/num.h"
#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

/* ---- made-up arguments ---- */
struct maker {
    tn_ctx *ctx;
    uint64_t state;
    const tn_node *dims;
    int64_t int_min, int_max; /* of integer elements */
    tnb_ptrmap symbols;       /* variable -> IntImm */
    int64_t unknown;          /* what an unknown extent is: one number for all, so that they fit */
    tn_value_range range;     /* of the parameter's elements */
};

/* splitmix64 */
static uint64_t
next_random(struct maker *k)
{
    uint64_t z = k->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double
next_unit(struct maker *k) /* in [0, 1) */
{
    return (double)(next_random(k) >> 11) * 0x1p-53;
}

/* Between int_min and int_max, as far as the parameter's range has such numbers, which it holds in any case. */
static int64_t
next_int(struct maker *k, tnb_dtype d)
{
    const tn_value_range *r = &k->range;
    int64_t least = k->int_min, most = k->int_max;
    if (tnb_dtype_is_bool(d))
        return (int64_t)(next_random(k) % 2);
    if (r->has_lo && fabs(r->lo) < 1e9 && (double)least < r->lo)
        least = (int64_t)ceil(r->lo);
    if (r->has_hi && fabs(r->hi) < 1e9 && (double)most >= r->hi)
        most = (int64_t)ceil(r->hi) - 1;
    if (most < least)
        most = least;
    return least + (int64_t)(next_random(k) % (uint64_t)(most - least + 1));
}

static double
next_float(struct maker *k)
{
    const tn_value_range *r = &k->range;
    double lo = r->has_lo ? r->lo : r->has_hi && r->hi <= -1 ? r->hi - 2 : -1;
    double hi = r->has_hi ? r->hi : lo < 0 ? 1 : lo + 2;
    return lo + (hi - lo) * next_unit(k);
}

/* The extent that a symbolic variable stands for: as asked for by name, else 2 to 5. */
static const tn_expr *
symbol_value(struct maker *k, const tn_expr *v)
{
    const tn_expr *known = tnb_ptrmap_get(&k->symbols, v);
    if (known)
        return known;
    int64_t n = tn_dict_int(k->dims, tn_var_name(v), tn_dict_int(k->dims, "", -1));
    if (n < 0)
        n = 2 + (int64_t)(next_random(k) % 4);
    known = tn_int_imm_of(k->ctx, tn_dtype_of(v), n);
    tnb_ptrmap_set(&k->symbols, v, known);
    return known;
}

/* A dimension as a number; false after recording an error. */
static bool
dim_value(struct maker *k, const tn_expr *dim, int64_t *out)
{
    tn_list used = tn_free_vars(k->ctx, dim, false);
    for (uint32_t i = 0; i < used.n; i++)
        symbol_value(k, used.at[i]);
    const tn_expr *e = tn_simplify_now(k->ctx, tn_subst(k->ctx, dim, &k->symbols));
    if (tn_int_value(e, out) && *out >= 0)
        return true;
    if (!tn_is_error(e))
        tn_error(k->ctx, 0, TNB_SHAPE, "the extent %s has no value for made-up arguments",
                 tn_brief(k->ctx, dim));
    return false;
}

static const tn_expr *
random_tensor(struct maker *k, tn_list dims, tnb_dtype d)
{
    int64_t shape[64];
    void *bytes;
    if (dims.n > 64)
        return tn_error(k->ctx, 0, TNB_UNSUPPORTED, "a tensor of %u dimensions", dims.n);
    for (uint32_t i = 0; i < dims.n; i++)
        if (!dim_value(k, dims.at[i], &shape[i]))
            return tn_error_node(k->ctx);
    if (tnb_dtype_is_void(d))
        d = TNB_F32;
    const tn_data *data = tn_data_new(k->ctx, d, (int32_t)dims.n, shape, &bytes);
    if (!data)
        return tn_error_node(k->ctx);
    tnb_dtype one = {d.code, d.bits, 1};
    uint64_t n = data->n_elems * d.lanes;
    bool ok = true;
    for (uint64_t i = 0; i < n && ok; i++) {
        if (tnb_dtype_is_float(d))
            ok = tnb_store_f64(bytes, one, i, next_float(k));
        else
            ok = tnb_store_i64(bytes, one, i, next_int(k, d));
    }
    if (!ok)
        return tn_error(k->ctx, 0, TNB_UNSUPPORTED, "no made-up values of dtype %s",
                        tnb_dtype_print(d).s);
    return tn_constant_of(k->ctx, data);
}

static const tn_expr *
random_scalar(struct maker *k, const tn_expr *var, tnb_dtype d)
{
    if (var && tnb_dtype_is_int(d))
        return symbol_value(k, var);
    if (tnb_dtype_is_float(d))
        return tn_float_imm_of(k->ctx, d, 2 * next_unit(k) - 1);
    return tn_int_imm_of(k->ctx, d, next_int(k, d));
}

static const tn_expr *
random_value(struct maker *k, const tn_expr *var, const tn_type *t, const char *name)
{
    tn_list dims = {0};
    switch ((tn_kind)t->kind) {
    case TN_KIND_TY_TENSOR: {
        if (tn_type_dims(t, &dims) || tn_type_ndim(t) == 0)
            return random_tensor(k, dims, tn_type_dtype(t));
        int64_t ndim = tn_type_ndim(t) < 0 ? 1 : tn_type_ndim(t);
        const tn_node *some[64];
        for (int64_t i = 0; i < ndim && i < 64; i++)
            some[i] = tn_i64(k->ctx, k->unknown);
        return random_tensor(k, (tn_list){some, (uint32_t)ndim}, tn_type_dtype(t));
    }
    case TN_KIND_TY_PRIM:
        return random_scalar(k, var, tn_type_dtype(t));
    case TN_KIND_TY_SHAPE: {
        bool known = tn_type_dims(t, &dims);
        int64_t n = known ? dims.n : tn_type_ndim(t) < 0 ? 1 : tn_type_ndim(t), v = 0;
        const tn_node **at = TNB_NEW_N(tn_scratch(k->ctx), const tn_node *, (size_t)n);
        for (int64_t i = 0; i < n; i++) {
            if (known && !dim_value(k, dims.at[i], &v))
                return tn_error_node(k->ctx);
            at[i] = tn_i64(k->ctx, known ? v : k->unknown);
        }
        return tn_shape_expr_of(k->ctx, (tn_list){at, (uint32_t)n});
    }
    case TN_KIND_TY_TUPLE: {
        tn_list l = ((const tn_ty_tuple *)t)->fields;
        const tn_node **at = TNB_NEW_N(tn_scratch(k->ctx), const tn_node *, l.n);
        for (uint32_t i = 0; i < l.n; i++) {
            at[i] = random_value(k, NULL, l.at[i], name);
            if (tn_is_error(at[i]))
                return at[i];
        }
        return tn_tuple_of(k->ctx, (tn_list){at, l.n});
    }
    case TN_KIND_TY_ANY: /* an object that the function only hands on */
        return tn_tuple_of(k->ctx, (tn_list){0});
    default:
        return tn_error(k->ctx, 0, TNB_UNSUPPORTED,
                        "no value can be made up for parameter '%s' of type %s", name,
                        tn_brief(k->ctx, t));
    }
}

/* ---- objects that are tuples ---- */
enum { MAX_FIELDS = 1 << 16 };

/* What a function takes out of an object by vm.builtin.tuple_getitem: the fields' types. */
struct taken {
    tn_ctx *ctx;
    const tn_expr *object;
    TNB_VEC(const tn_type *) fields; /* NULL: not taken */
    tnb_ptrmap casts;                /* variable of a field -> its number + 1 */
};

/* The number of the field that `call` takes out of the object; -1 if it is no such call. */
static int64_t
taken_field(const struct taken *t, const tn_call *call)
{
    const tn_node *const *args = call->args.at;
    uint32_t n = call->args.n;
    const tn_extern_func *f = tn_as_extern_func(call->op);
    if (!f && n && tn_is_call_to(&call->base, "relax.call_pure_packed")) {
        f = tn_as_extern_func(*args++);
        n--;
    }
    int64_t i;
    bool is = f && n == 2 && !strcmp(f->name, "vm.builtin.tuple_getitem") && args[0] == t->object &&
              tn_int_value(args[1], &i);
    return is && i >= 0 && i < MAX_FIELDS ? i : -1;
}

static tn_walk_step
note_field(void *user, const tn_node *n)
{
    struct taken *t = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_match_cast *mc = tn_as_match_cast(n);
    const tn_call *call = vb ? tn_as_call(vb->value) : NULL;
    int64_t i = call ? taken_field(t, call) : -1;
    const tn_type *type = i >= 0 ? vb->var->type : NULL;
    if (i >= 0)
        tnb_ptrmap_set(&t->casts, vb->var, (void *)(uintptr_t)(i + 1));
    if (mc && tnb_ptrmap_has(&t->casts, mc->value)) {
        i = (int64_t)(uintptr_t)tnb_ptrmap_get(&t->casts, mc->value) - 1;
        type = mc->to;
    }
    if (i < 0)
        return TN_WALK_ON;
    while ((int64_t)t->fields.n <= i)
        TNB_PUSH(tn_scratch(t->ctx), t->fields, NULL);
    if (!t->fields.at[i] || tn_is(t->fields.at[i], TN_KIND_TY_ANY))
        t->fields.at[i] = type;
    return TN_WALK_ON;
}

/* The value of an object parameter: a tuple of what the function takes out of it, as packed_params
 * is written; else one that the function only hands on. */
static const tn_expr *
random_object(struct maker *k, const tn_function *f, const tn_expr *param)
{
    struct taken t = {.ctx = k->ctx, .object = param};
    tnb_ptrmap_init(&t.casts, tn_scratch(k->ctx));
    tn_walk(f->body, TN_WALK_ONCE, note_field, NULL, &t);
    const tn_node **at = TNB_NEW_N(tn_scratch(k->ctx), const tn_node *, t.fields.n + 1);
    for (uint32_t i = 0; i < t.fields.n; i++) {
        at[i] = t.fields.at[i] ? random_value(k, NULL, t.fields.at[i], tn_var_name(param))
                               : tn_tuple_of(k->ctx, (tn_list){0});
        if (tn_is_error(at[i]))
            return at[i];
    }
    return tn_tuple_of(k->ctx, (tn_list){at, t.fields.n});
}

bool
tn_random_args(tn_ctx *ctx, const tn_node *func, uint64_t seed, const tn_node *dims, tn_list *args)
{
    /* small, so that integers serve as indices too */
    return tn_random_args_within(ctx, func, seed, dims, 0, 3, args);
}

/* Symbols first: scalar parameters named in shapes get the shape's value. */
bool
tn_random_args_within(tn_ctx *ctx, const tn_node *func, uint64_t seed, const tn_node *dims,
                      int64_t int_min, int64_t int_max, tn_list *args)
{
    struct maker k = {.ctx = ctx,
                      .state = seed * 0x9E3779B97F4A7C15u + 1,
                      .dims = dims,
                      .int_min = int_min,
                      .int_max = int_max};
    k.unknown = 2 + (int64_t)(seed % 4);
    tnb_ptrmap_init(&k.symbols, tn_scratch(ctx));
    const tn_function *f = tn_as_function(func);
    const tn_prim_func *p = tn_as_prim_func(func);
    if (!f && !p) {
        tn_error(ctx, 0, TNB_TYPE, "arguments can be made up for functions of the module only");
        return false;
    }
    tn_list params = f ? f->params : p->params;
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, params.n);
    for (uint32_t i = 0; i < params.n; i++) {
        const tn_expr *v = params.at[i];
        const tn_buffer *b = p ? tn_as_buffer(p->buffers.at[i]) : NULL;
        int64_t extent;
        k.range = f ? tn_param_range(ctx, f, v) : (tn_value_range){0};
        if (k.range.extent && !dim_value(&k, k.range.extent, &extent))
            return false;
        if (k.range.extent && extent > 0 && (!k.range.has_hi || (double)extent < k.range.hi)) {
            k.range.hi = (double)extent;
            k.range.has_hi = true;
        }
        at[i] = b ? random_tensor(&k, b->shape, b->dtype)
                : f && tn_is(v->type, TN_KIND_TY_ANY)
                    ? random_object(&k, f, v)
                    : random_value(&k, v, v->type, tn_var_name(v));
        if (tn_is_error(at[i]))
            return false;
    }
    *args = tn_list_of(ctx, at, params.n);
    return true;
}

/* ---- comparison ---- */
struct closeness {
    double rtol, atol, max_abs, max_rel;
    uint64_t compared, wrong;
};

/* An element or a scalar. Integers stay integers: not every one of 64 bits is a double. */
struct number {
    tnb_dtype dtype;
    double f;  /* its value, of an integer rounded */
    int64_t i; /* of an integer; of an unsigned one the bits */
};

static struct number
integer_of(tnb_dtype d, int64_t v)
{
    return (struct number){d, d.code == TNB_UINT ? (double)(uint64_t)v : (double)v, v};
}

static bool
read_number(const void *p, tnb_dtype d, uint64_t at, struct number *out)
{
    int64_t v;
    *out = (struct number){.dtype = d};
    if (tnb_dtype_is_float(d))
        return tnb_load_f64(p, d, at, &out->f);
    if (!tnb_load_i64(p, d, at, &v))
        return false;
    *out = integer_of(d, v);
    return true;
}

static void
put_number(tnb_buf *b, struct number x)
{
    if (tnb_dtype_is_float(x.dtype))
        tnb_buf_puts(b, tnb_print_f64(x.f).s);
    else if (x.dtype.code == TNB_UINT)
        tnb_buf_printf(b, "%llu", (unsigned long long)x.i);
    else
        tnb_buf_printf(b, "%lld", (long long)x.i);
}

/* |a - b| of two numbers of one dtype, of integers without what rounding them to doubles takes away. */
static double
distance(struct number a, struct number b)
{
    if (tnb_dtype_is_float(a.dtype))
        return fabs(a.f - b.f);
    bool less = a.dtype.code == TNB_UINT ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
    return (double)(less ? (uint64_t)b.i - (uint64_t)a.i : (uint64_t)a.i - (uint64_t)b.i);
}

static bool
close_numbers(struct closeness *c, struct number a, struct number b)
{
    c->compared++;
    bool same = tnb_dtype_is_float(a.dtype) ? a.f == b.f || (isnan(a.f) && isnan(b.f)) : a.i == b.i;
    if (!same && isfinite(a.f) && isfinite(b.f)) {
        double diff = distance(a, b), rel = b.f != 0 ? diff / fabs(b.f) : INFINITY;
        if (diff > c->max_abs)
            c->max_abs = diff;
        if (rel > c->max_rel && b.f != 0)
            c->max_rel = rel;
        same = diff <= c->atol + c->rtol * fabs(b.f);
    }
    c->wrong += !same;
    return same;
}

static void
put_index(tnb_buf *why, const tn_data *d, uint64_t at)
{
    tnb_buf_puts(why, "element [");
    uint64_t below = d->n_elems;
    for (int32_t i = 0; i < d->ndim; i++) {
        below = d->shape[i] ? below / (uint64_t)d->shape[i] : 1;
        tnb_buf_printf(why, "%s%llu", i ? ", " : "", (unsigned long long)(below ? at / below : 0));
        at = below ? at % below : 0;
    }
    tnb_buf_puts(why, "]");
}

static bool
close_data(tn_ctx *ctx, const tn_data *a, const tn_data *b, struct closeness *c, tnb_buf *why)
{
    if (!tnb_dtype_eq(a->dtype, b->dtype)) {
        tnb_buf_printf(why, "dtype %s instead of %s", tnb_dtype_print(a->dtype).s,
                       tnb_dtype_print(b->dtype).s);
        return false;
    }
    bool same_shape = a->ndim == b->ndim;
    for (int32_t i = 0; same_shape && i < a->ndim; i++)
        same_shape = a->shape[i] == b->shape[i];
    if (!same_shape) {
        tnb_buf_puts(why, "shape (");
        for (int32_t i = 0; i < a->ndim; i++)
            tnb_buf_printf(why, "%s%lld", i ? ", " : "", (long long)a->shape[i]);
        tnb_buf_puts(why, ") instead of (");
        for (int32_t i = 0; i < b->ndim; i++)
            tnb_buf_printf(why, "%s%lld", i ? ", " : "", (long long)b->shape[i]);
        tnb_buf_puts(why, ")");
        return false;
    }
    const void *p = tn_data_get(ctx, a), *q = p ? tn_data_get(ctx, b) : NULL;
    if (!q) {
        tnb_buf_puts(why, "a constant could not be evaluated");
        return false;
    }
    tnb_dtype one = {a->dtype.code, a->dtype.bits, 1};
    uint64_t n = a->n_elems * a->dtype.lanes, first = n, wrong = 0;
    struct number x, y, fx = {0}, fy = {0};
    for (uint64_t i = 0; i < n; i++) {
        if (!read_number(p, one, i, &x) || !read_number(q, one, i, &y)) {
            tnb_buf_printf(why, "elements of dtype %s cannot be compared", tnb_dtype_print(one).s);
            return false;
        }
        if (close_numbers(c, x, y))
            continue;
        if (!wrong++) {
            first = i;
            fx = x;
            fy = y;
        }
    }
    if (!wrong)
        return true;
    put_index(why, a, first / a->dtype.lanes);
    tnb_buf_puts(why, " is ");
    put_number(why, fx);
    tnb_buf_puts(why, " instead of ");
    put_number(why, fy);
    tnb_buf_printf(why, "; %llu of %llu elements differ", (unsigned long long)wrong,
                   (unsigned long long)n);
    return false;
}

static struct number
scalar_of(const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    return e->kind == TN_KIND_INT_IMM
               ? integer_of(d, ((const tn_int_imm *)e)->value)
               : (struct number){.dtype = d, .f = ((const tn_float_imm *)e)->value};
}

static bool
close_scalars(const tn_expr *a, const tn_expr *b, struct closeness *c, tnb_buf *why)
{
    if (a->type != b->type) {
        tnb_buf_printf(why, "dtype %s instead of %s", tnb_dtype_print(tn_dtype_of(a)).s,
                       tnb_dtype_print(tn_dtype_of(b)).s);
        return false;
    }
    struct number x = scalar_of(a), y = scalar_of(b);
    if (close_numbers(c, x, y))
        return true;
    put_number(why, x);
    tnb_buf_puts(why, " instead of ");
    put_number(why, y);
    return false;
}

static bool
close_values(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, struct closeness *c, tnb_buf *why)
{
    if (!a || !b || a->kind != b->kind) {
        tnb_buf_printf(why, "a %s instead of a %s", a ? tn_kinds[a->kind].name : "missing value",
                       b ? tn_kinds[b->kind].name : "missing value");
        return false;
    }
    switch ((tn_kind)a->kind) {
    case TN_KIND_CONSTANT:
        return close_data(ctx, ((const tn_constant *)a)->data, ((const tn_constant *)b)->data, c,
                          why);
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
        return close_scalars(a, b, c, why);
    case TN_KIND_TUPLE: {
        tn_list l = ((const tn_tuple *)a)->fields, m = ((const tn_tuple *)b)->fields;
        if (l.n != m.n) {
            tnb_buf_printf(why, "a tuple of %u fields instead of %u", l.n, m.n);
            return false;
        }
        for (uint32_t i = 0; i < l.n; i++) {
            tnb_buf inner = {0};
            bool same = close_values(ctx, l.at[i], m.at[i], c, &inner);
            if (!same)
                tnb_buf_printf(why, "field %u: %s", i, inner.s ? inner.s : "");
            tnb_buf_free(&inner);
            if (!same)
                return false;
        }
        return true;
    }
    default:
        if (tn_equal(ctx, a, b, false, NULL))
            return true;
        tnb_buf_printf(why, "%s instead of %s", tn_brief(ctx, a), tn_brief(ctx, b));
        return false;
    }
}

bool
tn_values_close(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, double rtol, double atol,
                tnb_buf *why)
{
    struct closeness c = {.rtol = rtol, .atol = atol};
    tnb_buf text = {0};
    bool same = close_values(ctx, a, b, &c, &text);
    if (why && !same)
        tnb_buf_puts(why, text.s ? text.s : "different");
    if (why && c.max_abs > 0)
        tnb_buf_printf(why, "%slargest error %s absolute, %s relative", same ? "" : "; ",
                       tnb_print_f64(c.max_abs).s, tnb_print_f64(c.max_rel).s);
    tnb_buf_free(&text);
    return same;
}
