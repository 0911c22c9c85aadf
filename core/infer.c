/* SPDX-License-Identifier: Apache-2.0 */
/* The type of an expression, from its fields. */
#include "private.h"

static const tn_type *
lanes_error(tn_ctx *ctx, const char *what, int64_t lanes)
{
    return tn_error(ctx, 0, TNB_TYPE, "%s of %lld lanes is not possible (1 to 65535)", what,
                    (long long)lanes);
}

static const tn_type *
prim(tn_ctx *ctx, tnb_dtype d, int64_t lanes)
{
    if (lanes < 1 || lanes > UINT16_MAX)
        return lanes_error(ctx, "a vector", lanes);
    d.lanes = (uint16_t)lanes;
    return tn_ty_prim_of(ctx, d);
}

static const tn_type *
infer_binary(tn_ctx *ctx, const tn_binary *e)
{
    tnb_dtype a = tn_dtype_of(e->a), b = tn_dtype_of(e->b);
    tn_kind k = e->base.kind;
    if (!tnb_dtype_eq(a, b))
        return tn_error(ctx, 0, TNB_TYPE, "operands of %s have different dtypes: %s and %s",
                        tn_kinds[k].name, tnb_dtype_print(a).s, tnb_dtype_print(b).s);
    if (k == TN_KIND_AND || k == TN_KIND_OR) {
        if (!tnb_dtype_is_bool(a))
            return tn_error(ctx, 0, TNB_TYPE, "operands of %s must be bool, not %s",
                            tn_kinds[k].name, tnb_dtype_print(a).s);
        return prim(ctx, TNB_B8, a.lanes);
    }
    if (k >= TN_KIND_EQ && k <= TN_KIND_GE)
        return prim(ctx, TNB_B8, a.lanes);
    if (a.code == TNB_HANDLE)
        return tn_error(ctx, 0, TNB_TYPE, "%s does not work on handles", tn_kinds[k].name);
    return e->a->type;
}

static const tn_type *
infer_select(tn_ctx *ctx, const tn_select *e)
{
    tnb_dtype c = tn_dtype_of(e->cond), a = tn_dtype_of(e->a), b = tn_dtype_of(e->b);
    if (!tnb_dtype_is_bool(c) || (c.lanes != 1 && c.lanes != a.lanes))
        return tn_error(ctx, 0, TNB_TYPE, "the condition of a select must be bool, not %s",
                        tnb_dtype_print(c).s);
    if (!tnb_dtype_eq(a, b))
        return tn_error(ctx, 0, TNB_TYPE,
                        "the choices of a select have different dtypes: %s and %s",
                        tnb_dtype_print(a).s, tnb_dtype_print(b).s);
    return e->a->type;
}

static const tn_type *
infer_shuffle(tn_ctx *ctx, const tn_shuffle *e)
{
    if (!e->vectors.n || !e->indices.n)
        return tn_error(ctx, 0, TNB_INVALID, "a shuffle needs vectors and indices");
    tnb_dtype d = tn_dtype_of(e->vectors.at[0]);
    for (uint32_t i = 1; i < e->vectors.n; i++) {
        tnb_dtype o = tn_dtype_of(e->vectors.at[i]);
        if (o.code != d.code || o.bits != d.bits)
            return tn_error(ctx, 0, TNB_TYPE,
                            "vectors of a shuffle have different dtypes: %s and %s",
                            tnb_dtype_print(d).s, tnb_dtype_print(o).s);
    }
    return prim(ctx, d, e->indices.n);
}

/* A load has the lanes of the buffer's elements times those of its last index. */
static const tn_type *
infer_load(tn_ctx *ctx, const tn_buffer_load *e)
{
    const tn_buffer *b = (const tn_buffer *)e->buffer;
    if (!tn_is(e->buffer, TN_KIND_BUFFER))
        return tn_error(ctx, 0, TNB_TYPE, "a load needs a buffer, not %s",
                        tn_brief(ctx, e->buffer));
    if (e->indices.n != b->shape.n)
        return tn_error(ctx, 0, TNB_SHAPE, "buffer '%s' has %u dimensions, the access %u indices",
                        b->name, b->shape.n, e->indices.n);
    int64_t lanes = b->dtype.lanes;
    for (uint32_t i = 0; i < e->indices.n; i++) {
        tnb_dtype d = tn_dtype_of(e->indices.at[i]);
        if (!tnb_dtype_is_int(d))
            return tn_error(ctx, 0, TNB_TYPE, "index %u of buffer '%s' is %s, not an integer", i,
                            b->name, tnb_dtype_print(d).s);
        if (i + 1 == e->indices.n)
            lanes *= d.lanes;
        else if (d.lanes != 1)
            return tn_error(ctx, 0, TNB_TYPE, "only the last index of buffer '%s' may be a vector",
                            b->name);
    }
    return prim(ctx, b->dtype, lanes);
}

static const tn_type *
infer_constant(tn_ctx *ctx, const tn_data *d)
{
    const tn_node **dims = TNB_NEW_N(tn_scratch(ctx), const tn_node *, (size_t)d->ndim);
    for (int32_t i = 0; i < d->ndim; i++)
        dims[i] = tn_i64(ctx, d->shape[i]);
    return tn_ty_tensor_dims(ctx, (tn_list){dims, (uint32_t)d->ndim}, d->dtype);
}

static const tn_type *
types_of(tn_ctx *ctx, tn_list l, bool tuple, const tn_type *ret, bool pure)
{
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, l.n);
    for (uint32_t i = 0; i < l.n; i++)
        at[i] = l.at[i]->type ? l.at[i]->type : tn_ty_any(ctx);
    tn_list types = {at, l.n};
    return tuple ? tn_ty_tuple_of(ctx, types) : tn_ty_func_of(ctx, types, ret, pure);
}

static const tn_type *
infer_tuple_get(tn_ctx *ctx, const tn_tuple_get *e)
{
    const tn_type *t = e->tuple->type;
    if (tn_is(t, TN_KIND_TY_ANY))
        return t;
    const tn_ty_tuple *tt = tn_as_ty_tuple(t);
    if (!tt)
        return tn_error(ctx, 0, TNB_TYPE, "only a tuple has fields, not %s of type %s",
                        tn_brief(ctx, e->tuple), t ? tn_brief(ctx, t) : "none");
    if (e->index < 0 || e->index >= (int64_t)tt->fields.n)
        return tn_error(ctx, 0, TNB_BOUNDS, "field %lld of a tuple of %u fields",
                        (long long)e->index, tt->fields.n);
    return tt->fields.at[e->index];
}

const tn_type *
tn_infer(tn_ctx *ctx, const tn_node *n)
{
    if (tn_is_binary(n))
        return infer_binary(ctx, (const tn_binary *)n);
    tnb_dtype d;
    switch ((tn_kind)n->kind) {
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
    case TN_KIND_CAST:
        return n->type;
    case TN_KIND_EXTERN_FUNC:
        return n->type ? n->type : tn_ty_func_opaque(ctx, NULL, false, NULL);
    case TN_KIND_STRING_IMM:
    case TN_KIND_DTYPE_IMM:
    case TN_KIND_GLOBAL_VAR:
    case TN_KIND_OP_REF:
        return n->type ? n->type : tn_ty_any(ctx);
    case TN_KIND_CALL:
        return tn_infer_call(ctx, (const tn_call *)n);
    case TN_KIND_NOT:
        d = tn_dtype_of(((const tn_unary *)n)->a);
        if (!tnb_dtype_is_bool(d))
            return tn_error(ctx, 0, TNB_TYPE, "the operand of not must be bool, not %s",
                            tnb_dtype_print(d).s);
        return ((const tn_unary *)n)->a->type;
    case TN_KIND_SELECT:
        return infer_select(ctx, (const tn_select *)n);
    case TN_KIND_LET:
        return ((const tn_let *)n)->body->type;
    case TN_KIND_RAMP: {
        const tn_ramp *r = (const tn_ramp *)n;
        d = tn_dtype_of(r->start);
        if (!tnb_dtype_is_int(d) || !tnb_dtype_eq(d, tn_dtype_of(r->stride)))
            return tn_error(ctx, 0, TNB_TYPE,
                            "start and stride of a ramp must be integers of one "
                            "dtype, not %s and %s",
                            tnb_dtype_print(d).s, tnb_dtype_print(tn_dtype_of(r->stride)).s);
        if (r->lanes < 1 || r->lanes > UINT16_MAX)
            return lanes_error(ctx, "a ramp", r->lanes);
        return prim(ctx, d, d.lanes * r->lanes);
    }
    case TN_KIND_BROADCAST: {
        const tn_broadcast *b = (const tn_broadcast *)n;
        if (b->lanes < 1 || b->lanes > UINT16_MAX)
            return lanes_error(ctx, "a broadcast", b->lanes);
        d = tn_dtype_of(b->value);
        return prim(ctx, d, d.lanes * b->lanes);
    }
    case TN_KIND_SHUFFLE:
        return infer_shuffle(ctx, (const tn_shuffle *)n);
    case TN_KIND_BUFFER_LOAD:
        return infer_load(ctx, (const tn_buffer_load *)n);
    case TN_KIND_CONSTANT:
        return infer_constant(ctx, ((const tn_constant *)n)->data);
    case TN_KIND_SHAPE_EXPR: {
        tn_list v = ((const tn_shape_expr *)n)->values;
        return TN_MAKE(ctx, TN_KIND_TY_SHAPE, ty_shape, NULL, .ndim = v.n, .known = 1, .values = v);
    }
    case TN_KIND_TUPLE:
        return types_of(ctx, ((const tn_tuple *)n)->fields, true, NULL, false);
    case TN_KIND_TUPLE_GET:
        return infer_tuple_get(ctx, (const tn_tuple_get *)n);
    case TN_KIND_IF_EXPR: {
        const tn_if_expr *e = (const tn_if_expr *)n;
        return tn_type_join(ctx, e->then_branch->type, e->else_branch->type);
    }
    case TN_KIND_SEQ_EXPR:
        return ((const tn_seq_expr *)n)->body->type;
    case TN_KIND_FUNCTION: {
        const tn_function *f = (const tn_function *)n;
        return types_of(ctx, f->params, false, f->ret, f->pure != 0);
    }
    default:
        return NULL;
    }
}
