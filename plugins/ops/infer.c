/* SPDX-License-Identifier: Apache-2.0 */
/* What type inference functions share. */
#include "infer.h"

#include <stdio.h>

const char *
infer_op_name(const tn_call *call)
{
    return tn_call_op_of(call)->base.name + strlen("relax.");
}

const tn_type *
infer_fail(tn_ctx *ctx, const tn_call *call, tnb_status status, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = tnb_alloc(tn_scratch(ctx), (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return tn_error(ctx, call->base.loc, status, "%s: %s", tn_call_op_of(call)->base.name, text);
}

const tn_expr *
infer_arg(const tn_call *call, uint32_t i)
{
    return i < call->args.n ? call->args.at[i] : NULL;
}

static const char *
arg_name(const tn_call *call, uint32_t i)
{
    const tn_arg_schema *a = tn_call_op_of(call)->args;
    uint32_t k = 0;
    while (a && a[k].name && k < i)
        k++;
    return a && a[k].name ? a[k].name : "?";
}

const tn_ty_tensor *
infer_tensor(tn_ctx *ctx, const tn_call *call, uint32_t i)
{
    const tn_expr *e = infer_arg(call, i);
    const tn_ty_tensor *t = e ? tn_as_ty_tensor(e->type) : NULL;
    if (!t && !tn_is_error(e))
        infer_fail(ctx, call, TNB_TYPE, "argument '%s' must be a tensor, but is %s",
                   arg_name(call, i), e && e->type ? tn_text(ctx, e->type) : "missing");
    return t;
}

bool
infer_float_data(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t)
{
    if (tnb_dtype_is_void(t->dtype) || tnb_dtype_is_float(t->dtype))
        return true;
    infer_fail(ctx, call, TNB_TYPE, "the data must be of a float type, but is of %s",
               tnb_dtype_print(t->dtype).s);
    return false;
}

const tn_expr *
infer_scalar(tn_ctx *ctx, const tn_call *call, uint32_t i)
{
    const tn_expr *e = infer_arg(call, i);
    if (e && tn_is(e->type, TN_KIND_TY_PRIM))
        return e;
    infer_fail(ctx, call, TNB_TYPE, "argument '%s' must be a scalar value, but is %s",
               arg_name(call, i), e && e->type ? tn_text(ctx, e->type) : "missing");
    return NULL;
}

bool
infer_tensors(tn_ctx *ctx, const tn_call *call, uint32_t i, tn_list *fields)
{
    const tn_expr *e = infer_arg(call, i);
    const tn_ty_tuple *t = e ? tn_as_ty_tuple(e->type) : NULL;
    if (!t) {
        infer_fail(ctx, call, TNB_TYPE, "argument '%s' must be a tuple of tensors, but is %s",
                   arg_name(call, i), e && e->type ? tn_text(ctx, e->type) : "missing");
        return false;
    }
    for (uint32_t k = 0; k < t->fields.n; k++) {
        if (!tn_is(t->fields.at[k], TN_KIND_TY_TENSOR)) {
            infer_fail(ctx, call, TNB_TYPE, "field %u of argument '%s' must be a tensor, but is %s",
                       k, arg_name(call, i), tn_text(ctx, t->fields.at[k]));
            return false;
        }
    }
    *fields = t->fields;
    return true;
}

int
infer_shape_arg(tn_ctx *ctx, const tn_call *call, uint32_t i, tn_list *values, int64_t *ndim)
{
    const tn_expr *e = infer_arg(call, i);
    const tn_tuple *t = tn_as_tuple(e);
    if (t) { /* a tuple of scalars is taken too */
        for (uint32_t k = 0; k < t->fields.n; k++) {
            if (!tn_is_scalar(t->fields.at[k])) {
                infer_fail(ctx, call, TNB_TYPE, "field %u of argument '%s' must be an integer", k,
                           arg_name(call, i));
                return -1;
            }
        }
        *values = t->fields;
        *ndim = t->fields.n;
        return 1;
    }
    const tn_ty_shape *s = e ? tn_as_ty_shape(e->type) : NULL;
    if (!s) {
        infer_fail(ctx, call, TNB_TYPE, "argument '%s' must be a shape, but is %s",
                   arg_name(call, i), e && e->type ? tn_text(ctx, e->type) : "missing");
        return -1;
    }
    *ndim = s->ndim;
    return tn_type_dims(e->type, values) ? 1 : 0;
}

static const tn_node *
vdevice_of_args(const tn_expr *e)
{
    const tn_ty_tensor *t = e ? tn_as_ty_tensor(e->type) : NULL;
    if (t)
        return t->vdevice;
    const tn_ty_tuple *u = e ? tn_as_ty_tuple(e->type) : NULL;
    for (uint32_t i = 0; u && i < u->fields.n; i++) {
        const tn_ty_tensor *f = tn_as_ty_tensor(u->fields.at[i]);
        if (f && f->vdevice)
            return f->vdevice;
    }
    return NULL;
}

static const tn_node *
call_vdevice(const tn_call *call)
{
    /* a type that the call carries says where its result lies */
    const tn_ty_tensor *told = call->ty_args.n == 1 ? tn_as_ty_tensor(call->ty_args.at[0]) : NULL;
    if (told && told->vdevice)
        return told->vdevice;
    for (uint32_t i = 0; i < call->args.n; i++) {
        const tn_node *v = vdevice_of_args(call->args.at[i]);
        if (v)
            return v;
    }
    return NULL;
}

const tn_type *
infer_known(tn_ctx *ctx, const tn_call *call, tn_list dims, tnb_dtype d)
{
    const tn_node *v = call_vdevice(call);
    int64_t x;
    for (uint32_t i = 0; i < dims.n; i++)
        if (tn_int_value(dims.at[i], &x) && x < 0)
            return infer_fail(ctx, call, TNB_SHAPE,
                              "the result cannot have %lld elements along axis %u", (long long)x,
                              i);
    for (uint32_t i = 0; i < dims.n && tn_assuming(ctx); i++)
        if (!tn_is(dims.at[i], TN_KIND_INT_IMM) && !tn_is_var(dims.at[i]))
            dim_exceeds(ctx, tn_i64(ctx, 0), dims.at[i],
                        "the result cannot have fewer than {} elements along axis %u, but has {}",
                        i);
    return v ? tn_ty_tensor_of(ctx, tn_shape_expr_of(ctx, dims), d, dims.n, v)
             : tn_ty_tensor_dims(ctx, dims, d);
}

const tn_type *
infer_rank(tn_ctx *ctx, const tn_call *call, int64_t ndim, tnb_dtype d)
{
    return tn_ty_tensor_of(ctx, NULL, d, ndim, call_vdevice(call));
}

const tn_type *
infer_same(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t, tnb_dtype d)
{
    return tn_ty_tensor_of(ctx, t->shape, d, t->ndim, call_vdevice(call));
}

bool
infer_axis(tn_ctx *ctx, const tn_call *call, const char *what, int64_t axis, int64_t ndim,
           int64_t *out)
{
    if (axis < -ndim || axis >= ndim) {
        infer_fail(ctx, call, TNB_SHAPE, "%s %lld is out of range for %lld axes", what,
                   (long long)axis, (long long)ndim);
        tnb_diag_hint(tn_diags(ctx), "allowed is -%lld to %lld", (long long)ndim,
                      (long long)ndim - 1);
        return false;
    }
    *out = axis < 0 ? axis + ndim : axis;
    return true;
}

int
infer_axes(tn_ctx *ctx, const tn_call *call, const char *key, int64_t ndim, bool *used,
           int64_t *list)
{
    if (ndim > INFER_MAX_DIMS) {
        infer_fail(ctx, call, TNB_UNSUPPORTED, "more than %d axes", INFER_MAX_DIMS);
        return -1;
    }
    memset(used, 0, INFER_MAX_DIMS * sizeof *used);
    if (!tn_call_attr(call, key)) {
        for (int64_t i = 0; i < ndim; i++) {
            used[i] = true;
            list[i] = i;
        }
        return (int)ndim;
    }
    int n = tn_call_ints(call, key, list, INFER_MAX_DIMS);
    if (n < 0) {
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' must be a list of at most %d integers",
                   key, INFER_MAX_DIMS);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (!infer_axis(ctx, call, key, list[i], ndim, &list[i]))
            return -1;
        if (used[list[i]]) {
            infer_fail(ctx, call, TNB_INVALID, "attribute '%s' names axis %lld twice", key,
                       (long long)list[i]);
            return -1;
        }
        used[list[i]] = true;
    }
    return n;
}

bool
dim_equal(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    int64_t x, y;
    if (a == b)
        return true;
    if (tn_int_value(a, &x) && tn_int_value(b, &y))
        return x == y;
    return tn_prove_equal(ctx, a, b);
}

static bool
literals_differ(const tn_expr *a, const tn_expr *b)
{
    int64_t x, y;
    return tn_int_value(a, &x) && tn_int_value(b, &y) && x != y;
}

/* The text of an assumption is made only where somebody asked for it. */
static const char *
assumption_text(tn_ctx *ctx, const char *fmt, va_list ap) TNB_PRINTF(2, 0);
static const char *
assumption_text(tn_ctx *ctx, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = tnb_alloc(tn_scratch(ctx), (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    return text;
}

bool
dim_differ(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, const char *fmt, ...)
{
    if (!tn_assuming(ctx) || (tn_is(a, TN_KIND_INT_IMM) && tn_is(b, TN_KIND_INT_IMM)))
        return !tn_assume_equal(ctx, a, b, "");
    va_list ap;
    va_start(ap, fmt);
    const char *text = assumption_text(ctx, fmt, ap);
    va_end(ap);
    return !tn_assume_equal(ctx, a, b, text);
}

/* Makes a condition of two extents an assumption, of whose text "{}" stand for them. */
static void
assume_of(tn_ctx *ctx, const tn_expr *holds, const tn_expr *a, const tn_expr *b, const char *fmt,
          va_list ap) TNB_PRINTF(5, 0);
static void
assume_of(tn_ctx *ctx, const tn_expr *holds, const tn_expr *a, const tn_expr *b, const char *fmt,
          va_list ap)
{
    const tn_node *both[] = {a, b};
    tn_assume(ctx, holds, assumption_text(ctx, fmt, ap), (tn_list){both, b ? 2 : 1});
}

bool
dim_exceeds(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, const char *fmt, ...)
{
    int64_t x, y;
    if (tn_int_value(a, &x) && tn_int_value(b, &y))
        return x > y;
    if (a != b && tn_assuming(ctx)) {
        va_list ap;
        va_start(ap, fmt);
        assume_of(ctx, tn_le_of(ctx, a, b), a, b, fmt, ap);
        va_end(ap);
    }
    return false;
}

bool
dim_ragged(tn_ctx *ctx, const tn_expr *a, int64_t k, const char *fmt, ...)
{
    int64_t x;
    if (k == 1)
        return false;
    if (tn_int_value(a, &x))
        return x % k != 0;
    if (tn_assuming(ctx)) {
        va_list ap;
        va_start(ap, fmt);
        const tn_expr *left = tn_floormod(ctx, a, tn_i64(ctx, k));
        assume_of(ctx, tn_eq_of(ctx, left, tn_i64(ctx, 0)), a, NULL, fmt, ap);
        va_end(ap);
    }
    return false;
}

bool
dim_misfit(tn_ctx *ctx, const tn_expr *from, const tn_expr *to, const char *fmt, ...)
{
    if (tn_is_int_const(from, 1) || from == to)
        return false;
    if (tn_is(from, TN_KIND_INT_IMM) && tn_is(to, TN_KIND_INT_IMM))
        return literals_differ(from, to);
    if (tn_assuming(ctx)) {
        va_list ap;
        va_start(ap, fmt);
        const tn_expr *same = tn_eq_of(ctx, from, to);
        if (!tn_is(from, TN_KIND_INT_IMM))
            same = tn_or_of(ctx, same, tn_eq_of(ctx, from, tn_i64(ctx, 1)));
        assume_of(ctx, same, from, to, fmt, ap);
        va_end(ap);
    }
    return false;
}

bool
dim_vacant(tn_ctx *ctx, const tn_expr *from, tn_list to, const char *fmt, ...)
{
    const tn_expr *zero = tn_i64(ctx, 0);
    int64_t v;
    bool full = true; /* no extent of the result is, or may be, 0 */
    if (tn_int_value(from, &v) && v > 0)
        return false;
    const tn_expr *holds = tn_gt_of(ctx, from, zero);
    for (uint32_t i = 0; i < to.n; i++) {
        if (tn_is_int_const(to.at[i], 0))
            return false;
        if (tn_int_value(to.at[i], &v))
            continue;
        full = false;
        holds = tn_or_of(ctx, holds, tn_eq_of(ctx, to.at[i], zero));
    }
    if (full && tn_is(from, TN_KIND_INT_IMM))
        return true;
    if (tn_assuming(ctx)) {
        va_list ap;
        va_start(ap, fmt);
        assume_of(ctx, holds, from, NULL, fmt, ap);
        va_end(ap);
    }
    return false;
}

int
infer_broadcast(tn_ctx *ctx, const tn_call *call, tn_list a, tn_list b, tn_list *out)
{
    uint32_t n = a.n > b.n ? a.n : b.n;
    const tn_node **dims = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *x = i < a.n ? a.at[a.n - 1 - i] : NULL;
        const tn_expr *y = i < b.n ? b.at[b.n - 1 - i] : NULL;
        const tn_expr **d = &dims[n - 1 - i];
        if (!x || !y) {
            *d = x ? x : y;
        } else if (!(*d = tn_broadcast_dim(ctx, x, y, i + 1))) {
            infer_fail(ctx, call, TNB_SHAPE, "operands cannot be broadcast: %s against %s",
                       tn_text(ctx, tn_shape_expr_of(ctx, a)),
                       tn_text(ctx, tn_shape_expr_of(ctx, b)));
            tnb_diag_note(tn_diags(ctx), "axis %u from the end has extents %s and %s", i + 1,
                          tn_text(ctx, x), tn_text(ctx, y));
            return -1;
        }
    }
    *out = tn_list_of(ctx, dims, n);
    return 1;
}

bool
infer_same_dtype(tn_ctx *ctx, const tn_call *call, tnb_dtype a, tnb_dtype b, tnb_dtype *out)
{
    if (tnb_dtype_is_void(a) || tnb_dtype_is_void(b)) {
        *out = TNB_VOID;
        return true;
    }
    if (!tnb_dtype_eq(a, b)) {
        infer_fail(ctx, call, TNB_TYPE, "operands have element types %s and %s",
                   tnb_dtype_print(a).s, tnb_dtype_print(b).s);
        tnb_diag_hint(tn_diags(ctx), "convert one of them with astype");
        return false;
    }
    *out = a;
    return true;
}

const tn_expr *
dim_simplify(tn_ctx *ctx, const tn_expr *e)
{
    return tn_is(e, TN_KIND_INT_IMM) || tn_is_var(e) ? e : tn_simplify_now(ctx, e);
}

const tn_expr *
dim_add(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return dim_simplify(ctx, tn_add(ctx, a, b));
}

const tn_expr *
dim_sub(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return dim_simplify(ctx, tn_sub(ctx, a, b));
}

const tn_expr *
dim_mul(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return dim_simplify(ctx, tn_mul(ctx, a, b));
}

const tn_expr *
dim_addi(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return b == 0 ? a : dim_add(ctx, a, tn_i64(ctx, b));
}

const tn_expr *
dim_muli(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    if (b > INT32_MAX) /* the product leaves int64 where the extent is large */
        dim_exceeds(ctx, a, tn_i64(ctx, INT64_MAX / b),
                    "the extent {} is larger than {}: its multiple is beyond int64");
    return b == 1 ? a : dim_mul(ctx, a, tn_i64(ctx, b));
}

const tn_expr *
dim_floordiv(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return b == 1 ? a : dim_simplify(ctx, tn_floordiv(ctx, a, tn_i64(ctx, b)));
}

const tn_expr *
dim_ceildiv(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return b == 1 ? a
                  : dim_simplify(ctx, tn_floordiv(ctx, tn_add(ctx, a, tn_i64(ctx, b - 1)),
                                                  tn_i64(ctx, b)));
}
