/* SPDX-License-Identifier: Apache-2.0 */
/* Constructors of patterns. */
#include "pattern_private.h"

static tnk_pat *
make(tn_ctx *ctx, pattern_kind kind, const tnk_pat *const *sub, uint32_t n)
{
    tnk_pat *p = TNB_NEW(tn_scratch(ctx), tnk_pat);
    p->kind = kind;
    p->n = n;
    p->sub = n ? tnb_dup(tn_scratch(ctx), sub, n * sizeof *sub) : NULL;
    p->ndim = p->uses = -1;
    return p;
}

static tnk_pat *
make_call(tn_ctx *ctx, pattern_kind kind, const char *callee, const tnk_pat *const *args,
          uint32_t n, bool open)
{
    tnk_pat *p = make(ctx, kind, args, n);
    p->callee = callee;
    p->open = open;
    return p;
}

tnk_pat *
tnk_pat_any(tn_ctx *ctx)
{
    return make(ctx, PATTERN_ANY, NULL, 0);
}

tnk_pat *
tnk_pat_const(tn_ctx *ctx)
{
    return make(ctx, PATTERN_CONST, NULL, 0);
}

tnk_pat *
tnk_pat_op(tn_ctx *ctx, const char *op, const tnk_pat *const *args, uint32_t n, bool open)
{
    const char *full =
        strncmp(op, "relax.", 6) == 0 ? tn_str(ctx, op) : tn_strf(ctx, "relax.%s", op);
    return make_call(ctx, PATTERN_OP, full, args, n, open);
}

tnk_pat *
tnk_pat_call_tir(tn_ctx *ctx, const char *name, const tnk_pat *const *args, uint32_t n, bool open)
{
    return make_call(ctx, PATTERN_CALL_TIR, tn_str(ctx, name), args, n, open);
}

tnk_pat *
tnk_pat_extern(tn_ctx *ctx, const char *name, const tnk_pat *const *args, uint32_t n, bool open)
{
    return make_call(ctx, PATTERN_EXTERN, tn_str(ctx, name), args, n, open);
}

tnk_pat *
tnk_pat_tuple(tn_ctx *ctx, const tnk_pat *const *fields, uint32_t n)
{
    return make(ctx, PATTERN_TUPLE, fields, n);
}

tnk_pat *
tnk_pat_item(tn_ctx *ctx, const tnk_pat *tuple, int64_t index)
{
    tnk_pat *p = make(ctx, PATTERN_ITEM, &tuple, 1);
    p->index = index;
    return p;
}

tnk_pat *
tnk_pat_either(tn_ctx *ctx, const tnk_pat *const *choices, uint32_t n)
{
    return make(ctx, PATTERN_EITHER, choices, n);
}

tnk_pat *
tnk_pat_called(tn_ctx *ctx, tnk_pat *p, const char *name)
{
    p->name = tn_str(ctx, name);
    return p;
}

tnk_pat *
tnk_pat_dtype(tnk_pat *p, tnb_dtype d)
{
    p->dtype = d;
    p->has_dtype = true;
    return p;
}

tnk_pat *
tnk_pat_ndim(tnk_pat *p, int64_t ndim)
{
    p->ndim = ndim;
    return p;
}

tnk_pat *
tnk_pat_shape(tn_ctx *ctx, tnk_pat *p, const int64_t *dims, uint32_t n)
{
    p->dims = tnb_dup(tn_scratch(ctx), dims, n * sizeof *dims);
    p->ndim = n;
    p->has_shape = true;
    return p;
}

tnk_pat *
tnk_pat_uses(tnk_pat *p, uint32_t n)
{
    p->uses = n;
    return p;
}

tnk_pat *
tnk_pat_attr(tn_ctx *ctx, tnk_pat *p, const char *key, const tn_node *value)
{
    pattern_attr a = {tn_str(ctx, key), value};
    TNB_PUSH(tn_scratch(ctx), p->attrs, a);
    return p;
}

tnk_pat *
tnk_pat_where(tnk_pat *p, tnk_pat_fn fn, void *user)
{
    p->fn = fn;
    p->user = user;
    return p;
}
