/* SPDX-License-Identifier: Apache-2.0 */
/* Types: constructors and questions. */
#include "private.h"

const tn_type *
tn_ty_any(tn_ctx *ctx)
{
    if (!ctx->any) {
        const tn_type *t = tn_make(ctx, TN_KIND_TY_ANY, &(tn_none){0}, NULL, false);
        if (tn_is_error(t))
            return t;
        ctx->any = t;
    }
    return ctx->any;
}

const tn_type *
tn_ty_prim_of(tn_ctx *ctx, tnb_dtype d)
{
    const tn_type **at = &ctx->prims[(d.code * 7u + d.bits / 8u + d.lanes * 11u) %
                                     (sizeof ctx->prims / sizeof *ctx->prims)];
    if (!*at || !tnb_dtype_eq(((const tn_ty_prim *)*at)->dtype, d)) {
        const tn_type *t = TN_MAKE(ctx, TN_KIND_TY_PRIM, ty_prim, NULL, .dtype = d);
        if (tn_is_error(t))
            return t;
        *at = t;
    }
    return *at;
}

const tn_type *
tn_ty_ptr_of(tn_ctx *ctx, tnb_dtype elem, const char *scope)
{
    return TN_MAKE(ctx, TN_KIND_TY_PTR, ty_ptr, NULL, .elem = elem,
                   .scope = tn_str(ctx, scope ? scope : ""));
}

const tn_type *
tn_ty_shape_of(tn_ctx *ctx, tn_list values)
{
    if (tn_bad_list(ctx, values))
        return tn_error_node(ctx);
    const tn_expr *s = tn_shape_expr_of(ctx, values); /* checks and converts the extents */
    return s->type ? s->type : s;
}

const tn_type *
tn_ty_shape_rank(tn_ctx *ctx, int64_t ndim)
{
    if (ndim < -1)
        return tn_error(ctx, 0, TNB_SHAPE, "rank %lld is negative", (long long)ndim);
    return TN_MAKE(ctx, TN_KIND_TY_SHAPE, ty_shape, NULL, .ndim = ndim);
}

bool
tn_bad_extents(tn_ctx *ctx, tn_list dims, const char *what)
{
    int64_t n = 1, e;
    for (uint32_t i = 0; i < dims.n; i++) {
        if (!tn_int_value(dims.at[i], &e) || e <= 0)
            continue;
        if (e > TNB_MAX_ELEMS / n) {
            tn_error(ctx, 0, TNB_SHAPE,
                     "%s with an extent of %lld has more elements than the %lld that fit the "
                     "address space",
                     what, (long long)e, (long long)TNB_MAX_ELEMS);
            return true;
        }
        n *= e;
    }
    return false;
}

const tn_type *
tn_ty_tensor_of(tn_ctx *ctx, const tn_expr *shape, tnb_dtype d, int64_t ndim,
                const tn_node *vdevice)
{
    if (tn_is_error(shape) || tn_is_error(vdevice))
        return tn_error_node(ctx);
    if (shape) {
        int64_t rank = -1;
        if (tn_is(shape, TN_KIND_SHAPE_EXPR)) {
            tn_list dims = ((const tn_shape_expr *)shape)->values;
            if (tn_bad_extents(ctx, dims, "a tensor"))
                return tn_error_node(ctx);
            rank = dims.n;
        } else if (tn_is_var(shape) && tn_is(shape->type, TN_KIND_TY_SHAPE)) {
            rank = tn_type_ndim(shape->type);
        } else {
            return tn_error(
                ctx, 0, TNB_TYPE,
                "the shape of a tensor must be a shape or a variable of shape type, not %s",
                tn_brief(ctx, shape));
        }
        if (ndim >= 0 && rank >= 0 && rank != ndim)
            return tn_error(ctx, 0, TNB_SHAPE, "ndim is %lld, but the shape has %lld dimensions",
                            (long long)ndim, (long long)rank);
        if (rank >= 0)
            ndim = rank;
    }
    if (ndim < -1)
        return tn_error(ctx, 0, TNB_SHAPE, "rank %lld is negative", (long long)ndim);
    if (vdevice && vdevice->kind != TN_KIND_VDEVICE && !tn_placement_spec(vdevice))
        return tn_error(ctx, 0, TNB_TYPE,
                        "the vdevice of a tensor must be a virtual device, not %s",
                        tn_brief(ctx, vdevice));
    return TN_MAKE(ctx, TN_KIND_TY_TENSOR, ty_tensor, NULL, .shape = shape, .dtype = d,
                   .ndim = ndim, .vdevice = vdevice);
}

const tn_type *
tn_ty_tensor_dims(tn_ctx *ctx, tn_list dims, tnb_dtype d)
{
    return tn_ty_tensor_of(ctx, tn_shape_expr_of(ctx, dims), d, -1, NULL);
}

static bool
all_types(tn_ctx *ctx, tn_list l, const char *what)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (!tn_is_type(l.at[i])) {
            if (!tn_is_error(l.at[i]))
                tn_error(ctx, 0, TNB_TYPE, "%s %u is not a type but %s", what, i,
                         tn_brief(ctx, l.at[i]));
            return false;
        }
    return true;
}

enum { MOST_FIELDS = 1 << 17 };

/* `left` without the fields of tuples in these fields; 0 when there are more. */
static uint32_t
without_nested(tn_list fields, uint32_t left)
{
    for (uint32_t i = 0; left && i < fields.n; i++) {
        const tn_ty_tuple *t = tn_as_ty_tuple(fields.at[i]);
        if (t)
            left = t->fields.n < left ? without_nested(t->fields, left - t->fields.n) : 0;
    }
    return left;
}

const tn_type *
tn_ty_tuple_of(tn_ctx *ctx, tn_list fields)
{
    if (!all_types(ctx, fields, "tuple field"))
        return tn_error_node(ctx);
    /* Thirty tuples, each twice in the next, are small, but whoever walks the type meets 2^30. */
    if (!without_nested(fields, MOST_FIELDS))
        return tn_error(ctx, 0, TNB_UNSUPPORTED, "tuples with more than %d fields in tuples",
                        MOST_FIELDS);
    return TN_MAKE(ctx, TN_KIND_TY_TUPLE, ty_tuple, NULL, .fields = fields);
}

const tn_type *
tn_ty_func_of(tn_ctx *ctx, tn_list params, const tn_type *ret, bool pure)
{
    if (!all_types(ctx, params, "parameter") || !all_types(ctx, (tn_list){&ret, 1}, "result"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_TY_FUNC, ty_func, NULL, .params = params, .ret = ret, .pure = pure);
}

const tn_type *
tn_ty_func_opaque(tn_ctx *ctx, const tn_type *ret, bool pure, const char *derive)
{
    if (!ret)
        ret = tn_ty_any(ctx);
    if (!all_types(ctx, (tn_list){&ret, 1}, "result"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_TY_FUNC, ty_func, NULL, .ret = ret, .pure = pure, .opaque = 1,
                   .derive = tn_str(ctx, derive));
}

bool
tn_type_dims(const tn_type *t, tn_list *dims)
{
    const tn_ty_tensor *tensor = tn_as_ty_tensor(t);
    if (tensor) {
        const tn_shape_expr *s = tn_as_shape_expr(tensor->shape);
        if (s) {
            *dims = s->values;
            return true;
        }
        t = tensor->shape ? tensor->shape->type : NULL;
    }
    const tn_ty_shape *shape = tn_as_ty_shape(t);
    if (!shape || !shape->known)
        return false;
    *dims = shape->values;
    return true;
}

int64_t
tn_type_ndim(const tn_type *t)
{
    if (tn_is(t, TN_KIND_TY_TENSOR))
        return ((const tn_ty_tensor *)t)->ndim;
    return tn_is(t, TN_KIND_TY_SHAPE) ? ((const tn_ty_shape *)t)->ndim : -1;
}

tnb_dtype
tn_type_dtype(const tn_type *t)
{
    if (tn_is(t, TN_KIND_TY_TENSOR))
        return ((const tn_ty_tensor *)t)->dtype;
    return tn_is(t, TN_KIND_TY_PRIM) ? ((const tn_ty_prim *)t)->dtype : TNB_VOID;
}
