/* SPDX-License-Identifier: Apache-2.0 */
/* Relations between types: equality by proof, subtypes, the least common type, erasure. */
#include "private.h"
#include "tenon/core/arith.h"

/* ---- equality ---- */
static bool
dims_equal(tn_ctx *ctx, tn_list a, tn_list b)
{
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (a.at[i] != b.at[i] && !tn_prove_equal(ctx, a.at[i], b.at[i]))
            return false;
    return true;
}

static bool
shapes_equal(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    if (a == b)
        return true;
    const tn_shape_expr *x = tn_as_shape_expr(a), *y = tn_as_shape_expr(b);
    return x && y && dims_equal(ctx, x->values, y->values);
}

static bool
nodes_equal(tn_ctx *ctx, const tn_node *a, const tn_node *b)
{
    return a == b || (a && b && tn_equal(ctx, a, b, false, NULL));
}

bool
tn_type_equal(tn_ctx *ctx, const tn_type *a, const tn_type *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || ((a->flags & b->flags) & TN_FLAG_INTERNED))
        return false;
    switch ((tn_kind)a->kind) {
    case TN_KIND_TY_TENSOR: {
        const tn_ty_tensor *x = (const tn_ty_tensor *)a, *y = (const tn_ty_tensor *)b;
        return tnb_dtype_eq(x->dtype, y->dtype) && x->ndim == y->ndim &&
               nodes_equal(ctx, x->vdevice, y->vdevice) && shapes_equal(ctx, x->shape, y->shape);
    }
    case TN_KIND_TY_SHAPE: {
        const tn_ty_shape *x = (const tn_ty_shape *)a, *y = (const tn_ty_shape *)b;
        return x->ndim == y->ndim && x->known == y->known && dims_equal(ctx, x->values, y->values);
    }
    case TN_KIND_TY_TUPLE: {
        const tn_ty_tuple *x = (const tn_ty_tuple *)a, *y = (const tn_ty_tuple *)b;
        if (x->fields.n != y->fields.n)
            return false;
        for (uint32_t i = 0; i < x->fields.n; i++)
            if (!tn_type_equal(ctx, x->fields.at[i], y->fields.at[i]))
                return false;
        return true;
    }
    default:
        return tn_equal(ctx, a, b, false, NULL);
    }
}

/* ---- subtypes ---- */
static tn_subtype
least(tn_subtype a, tn_subtype b)
{
    return a < b ? a : b;
}

static tn_subtype
check_dim(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    if (a == b || tn_prove_equal(ctx, a, b))
        return TN_SUBTYPE_YES;
    int64_t d;
    const tn_expr *diff = tn_simplify_now(ctx, tn_sub(ctx, a, b));
    return tn_int_value(diff, &d) && d != 0 ? TN_SUBTYPE_FAIL : TN_SUBTYPE_MAYBE;
}

static tn_subtype
check_dims(tn_ctx *ctx, tn_list a, tn_list b)
{
    if (a.n != b.n)
        return TN_SUBTYPE_FAIL;
    tn_subtype s = TN_SUBTYPE_YES;
    for (uint32_t i = 0; i < a.n && s != TN_SUBTYPE_FAIL; i++)
        s = least(s, check_dim(ctx, a.at[i], b.at[i]));
    return s;
}

static tn_subtype
check_rank(int64_t base, int64_t derived)
{
    if (base < 0 || base == derived)
        return TN_SUBTYPE_YES;
    return derived < 0 ? TN_SUBTYPE_MAYBE : TN_SUBTYPE_FAIL;
}

static tn_subtype
check_tensor(tn_ctx *ctx, const tn_ty_tensor *base, const tn_ty_tensor *derived)
{
    tn_subtype s = check_rank(base->ndim, derived->ndim);
    if (!tnb_dtype_is_void(base->dtype) && !tnb_dtype_eq(base->dtype, derived->dtype))
        s = least(s, tnb_dtype_is_void(derived->dtype) ? TN_SUBTYPE_MAYBE : TN_SUBTYPE_FAIL);
    if (base->vdevice && !nodes_equal(ctx, base->vdevice, derived->vdevice))
        s = least(s, derived->vdevice ? TN_SUBTYPE_FAIL : TN_SUBTYPE_MAYBE);
    if (s == TN_SUBTYPE_FAIL || !base->shape || base->shape == derived->shape)
        return s;
    tn_list a, b;
    if (!derived->shape || !tn_type_dims(&base->base, &a) || !tn_type_dims(&derived->base, &b))
        return least(s, TN_SUBTYPE_MAYBE);
    tn_subtype by_dims = check_dims(ctx, a, b);
    /* a shape variable is not the shape that it happens to equal */
    if (tn_is_var(base->shape) || tn_is_var(derived->shape))
        by_dims = least(by_dims, TN_SUBTYPE_MAYBE);
    return least(s, by_dims);
}

static tn_subtype
check_func(tn_ctx *ctx, const tn_ty_func *base, const tn_ty_func *derived)
{
    if (base->pure && !derived->pure)
        return TN_SUBTYPE_FAIL;
    if (base->opaque)
        return tn_is(base->ret, TN_KIND_TY_ANY) ? TN_SUBTYPE_YES
                                                : tn_type_check(ctx, base->ret, derived->ret);
    if (derived->opaque)
        return TN_SUBTYPE_MAYBE;
    if (base->params.n != derived->params.n)
        return TN_SUBTYPE_FAIL;
    tn_ty_func same_purity = *derived;
    same_purity.pure = base->pure;
    same_purity.base.flags = 0; /* a copy is not interned */
    if (tn_equal(ctx, &base->base, &same_purity.base, false, NULL))
        return TN_SUBTYPE_YES;
    tn_subtype s = TN_SUBTYPE_YES;
    for (uint32_t i = 0; i < base->params.n; i++)
        s = least(s, tn_type_check(ctx, derived->params.at[i], base->params.at[i]));
    return least(s, tn_type_check(ctx, base->ret, derived->ret));
}

tn_subtype
tn_type_check(tn_ctx *ctx, const tn_type *base, const tn_type *derived)
{
    if (base == derived || tn_is(base, TN_KIND_TY_ANY))
        return TN_SUBTYPE_YES;
    if (!base || !derived)
        return TN_SUBTYPE_FAIL;
    if (tn_is(derived, TN_KIND_TY_ANY))
        return TN_SUBTYPE_MAYBE;
    if (base->kind != derived->kind)
        return TN_SUBTYPE_FAIL;
    switch ((tn_kind)base->kind) {
    case TN_KIND_TY_TENSOR:
        return check_tensor(ctx, (const tn_ty_tensor *)base, (const tn_ty_tensor *)derived);
    case TN_KIND_TY_SHAPE: {
        const tn_ty_shape *b = (const tn_ty_shape *)base, *d = (const tn_ty_shape *)derived;
        tn_subtype s = check_rank(b->ndim, d->ndim);
        if (s == TN_SUBTYPE_FAIL || !b->known)
            return s;
        return d->known ? least(s, check_dims(ctx, b->values, d->values)) : TN_SUBTYPE_MAYBE;
    }
    case TN_KIND_TY_TUPLE: {
        const tn_ty_tuple *b = (const tn_ty_tuple *)base, *d = (const tn_ty_tuple *)derived;
        if (b->fields.n != d->fields.n)
            return TN_SUBTYPE_FAIL;
        tn_subtype s = TN_SUBTYPE_YES;
        for (uint32_t i = 0; i < b->fields.n && s != TN_SUBTYPE_FAIL; i++)
            s = least(s, tn_type_check(ctx, b->fields.at[i], d->fields.at[i]));
        return s;
    }
    case TN_KIND_TY_FUNC:
        return check_func(ctx, (const tn_ty_func *)base, (const tn_ty_func *)derived);
    default: /* Prim and Ptr: interned */
        return TN_SUBTYPE_FAIL;
    }
}

/* ---- the least common type ---- */
static const tn_type *
join_tensor(tn_ctx *ctx, const tn_ty_tensor *a, const tn_ty_tensor *b)
{
    tnb_dtype d = tnb_dtype_eq(a->dtype, b->dtype) ? a->dtype : TNB_VOID;
    int64_t ndim = a->ndim == b->ndim ? a->ndim : -1;
    const tn_node *dev = nodes_equal(ctx, a->vdevice, b->vdevice) ? a->vdevice : NULL;
    const tn_expr *shape = a->shape && shapes_equal(ctx, a->shape, b->shape) ? a->shape : NULL;
    return tn_ty_tensor_of(ctx, shape, d, ndim, dev);
}

const tn_type *
tn_type_join(tn_ctx *ctx, const tn_type *a, const tn_type *b)
{
    if (!a || !b)
        return tn_ty_any(ctx);
    if (tn_type_equal(ctx, a, b))
        return a;
    if (a->kind != b->kind)
        return tn_ty_any(ctx);
    switch ((tn_kind)a->kind) {
    case TN_KIND_TY_TENSOR:
        return join_tensor(ctx, (const tn_ty_tensor *)a, (const tn_ty_tensor *)b);
    case TN_KIND_TY_SHAPE:
        return tn_ty_shape_rank(ctx, tn_type_ndim(a) == tn_type_ndim(b) ? tn_type_ndim(a) : -1);
    case TN_KIND_TY_TUPLE: {
        tn_list x = ((const tn_ty_tuple *)a)->fields, y = ((const tn_ty_tuple *)b)->fields;
        if (x.n != y.n)
            return tn_ty_any(ctx);
        const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, x.n);
        for (uint32_t i = 0; i < x.n; i++)
            at[i] = tn_type_join(ctx, x.at[i], y.at[i]);
        return tn_ty_tuple_of(ctx, (tn_list){at, x.n});
    }
    case TN_KIND_TY_FUNC: {
        const tn_ty_func *x = (const tn_ty_func *)a, *y = (const tn_ty_func *)b;
        return tn_ty_func_opaque(ctx, tn_type_join(ctx, x->ret, y->ret), x->pure && y->pure, NULL);
    }
    default:
        return tn_ty_any(ctx);
    }
}

/* ---- erasure ---- */
static bool
only_kept(tn_ctx *ctx, const tn_node *n, const tnb_ptrmap *keep)
{
    if (!n || (n->flags & TN_FLAG_CLOSED))
        return true;
    tn_list used = tn_free_vars(ctx, n, false);
    for (uint32_t i = 0; i < used.n; i++)
        if (!tnb_ptrmap_has(keep, used.at[i]))
            return false;
    return true;
}

static const tn_type *
erase(tn_ctx *ctx, const tn_type *t, const tnb_ptrmap *keep)
{
    if (only_kept(ctx, t, keep))
        return t;
    switch ((tn_kind)t->kind) {
    case TN_KIND_TY_TENSOR: {
        const tn_ty_tensor *x = (const tn_ty_tensor *)t;
        return tn_ty_tensor_of(ctx, NULL, x->dtype, x->ndim, x->vdevice);
    }
    case TN_KIND_TY_SHAPE:
        return tn_ty_shape_rank(ctx, tn_type_ndim(t));
    case TN_KIND_TY_TUPLE: {
        tn_list l = ((const tn_ty_tuple *)t)->fields;
        const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, l.n);
        for (uint32_t i = 0; i < l.n; i++)
            at[i] = erase(ctx, l.at[i], keep);
        return tn_ty_tuple_of(ctx, (tn_list){at, l.n});
    }
    case TN_KIND_TY_FUNC: {
        const tn_ty_func *x = (const tn_ty_func *)t;
        return tn_ty_func_opaque(ctx, erase(ctx, x->ret, keep), x->pure != 0, x->derive);
    }
    default:
        return tn_ty_any(ctx);
    }
}

const tn_type *
tn_type_erase(tn_ctx *ctx, const tn_type *t, tn_list keep)
{
    if (!t || (t->flags & TN_FLAG_CLOSED))
        return t;
    tnb_arena *a = tn_borrow_arena(ctx);
    if (!a)
        return t;
    tnb_ptrmap set;
    tnb_ptrmap_init(&set, a);
    for (uint32_t i = 0; i < keep.n; i++)
        tnb_ptrmap_set(&set, keep.at[i], a);
    t = erase(ctx, t, &set);
    tn_return_arena(ctx, a);
    return t;
}
