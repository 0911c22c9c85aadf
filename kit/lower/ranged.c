/* SPDX-License-Identifier: Apache-2.0 */
/* The walk that several lowering passes are made of: it rewrites statements bottom-up while an
 * analyzer knows the ranges of the enclosing loops and the conditions that hold at the place.
 */
#include "lower.h"

void
tnk_ranged_init(tnk_ranged *r, tn_ctx *ctx, const tn_prim_func *f)
{
    r->ctx = ctx;
    r->arith = tn_arith_new(ctx);
    if (!f)
        return;
    tn_list sizes = tnk_sizes_of(ctx, TN_NODE(f));
    for (uint32_t i = 0; i < sizes.n; i++)
        tn_arith_shape_var(r->arith, sizes.at[i]);
}

static const tn_expr *
expr(tnk_ranged *r, const tn_expr *e)
{
    if (!e || !r->expr)
        return e;
    const tn_expr *n = r->expr(r, e);
    return n ? n : e;
}

static tn_list
exprs(tnk_ranged *r, tn_list l)
{
    tn_list out = l;
    for (uint32_t i = 0; i < l.n; i++)
        tn_list_change(r->ctx, &out, l, i, expr(r, l.at[i]));
    return out;
}

static const tn_stmt *
for_stmt(tnk_ranged *r, const tn_for_loop *f)
{
    const tn_expr *min = expr(r, f->min), *extent = expr(r, f->extent);
    uint32_t mark = tn_arith_push(r->arith, NULL);
    tn_arith_range(r->arith, f->var, min, extent);
    const tn_stmt *body = tnk_ranged_rewrite(r, f->body);
    tn_arith_pop(r->arith, mark);
    return tnk_for_with(r->ctx, f, min, extent, body);
}

static const tn_stmt *
if_stmt(tnk_ranged *r, const tn_if_stmt *s)
{
    const tn_expr *cond = expr(r, s->cond);
    uint32_t mark = tn_arith_push(r->arith, cond);
    const tn_stmt *a = tnk_ranged_rewrite(r, s->then_case);
    tn_arith_pop(r->arith, mark);
    const tn_stmt *b = NULL;
    if (s->else_case) {
        mark = tn_arith_push(r->arith, tn_not(r->ctx, cond));
        b = tnk_ranged_rewrite(r, s->else_case);
        tn_arith_pop(r->arith, mark);
    }
    if (cond == s->cond && a == s->then_case && b == s->else_case)
        return TN_NODE(s);
    return tn_if_stmt_of(r->ctx, cond, a, b && tnk_is_nothing(b) ? NULL : b);
}

static const tn_stmt *
seq_stmt(tnk_ranged *r, const tn_seq *s)
{
    TNB_VEC(const tn_stmt *) v = {0};
    bool changed = false;
    for (uint32_t i = 0; i < s->stmts.n; i++) {
        const tn_stmt *n = tnk_ranged_rewrite(r, s->stmts.at[i]);
        changed |= n != s->stmts.at[i] || tnk_is_nothing(n);
        TNB_PUSH(tn_scratch(r->ctx), v, n);
    }
    return changed ? tnk_seq(r->ctx, v.at, v.n) : TN_NODE(s);
}

static const tn_stmt *
children(tnk_ranged *r, const tn_stmt *s)
{
    tn_ctx *ctx = r->ctx;
    switch (s->kind) {
    case TN_KIND_SEQ:
        return seq_stmt(r, (const tn_seq *)s);
    case TN_KIND_FOR:
        return for_stmt(r, (const tn_for_loop *)s);
    case TN_KIND_IF_STMT:
        return if_stmt(r, (const tn_if_stmt *)s);
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *b = (const tn_buffer_store *)s;
        tn_list idx = exprs(r, b->indices);
        const tn_expr *v = expr(r, b->value);
        return idx.at == b->indices.at && v == b->value
                   ? s
                   : tn_buffer_store_of(ctx, b->buffer, v, idx);
    }
    case TN_KIND_BIND: {
        const tn_bind *b = (const tn_bind *)s;
        const tn_expr *v = expr(r, b->value);
        const tn_stmt *n = v == b->value ? s : tn_bind_of(ctx, b->var, v);
        tn_arith_bind(r->arith, b->var, v);
        return n;
    }
    case TN_KIND_ATTR_STMT: {
        const tn_attr_stmt *a = (const tn_attr_stmt *)s;
        const tn_expr *v = expr(r, a->value);
        const tn_stmt *body = tnk_ranged_rewrite(r, a->body);
        return v == a->value && body == a->body ? s
                                                : tn_attr_stmt_of(ctx, a->node, a->key, v, body);
    }
    case TN_KIND_ASSERT: {
        const tn_assert_stmt *a = (const tn_assert_stmt *)s;
        const tn_expr *c = expr(r, a->cond);
        return c == a->cond ? s : tn_assert_of(ctx, c, a->message);
    }
    case TN_KIND_EVALUATE: {
        const tn_evaluate *e = (const tn_evaluate *)s;
        const tn_expr *v = expr(r, e->value);
        return v == e->value ? s : tn_evaluate_of(ctx, v);
    }
    case TN_KIND_WHILE: {
        const tn_while_loop *w = (const tn_while_loop *)s;
        const tn_expr *c = expr(r, w->cond);
        const tn_stmt *body = tnk_ranged_rewrite(r, w->body);
        return c == w->cond && body == w->body ? s : tn_while_of(ctx, c, body);
    }
    default:
        return s;
    }
}

const tn_stmt *
tnk_ranged_rewrite(tnk_ranged *r, const tn_stmt *s)
{
    if (!s)
        return s;
    if (r->pre) {
        const tn_stmt *n = r->pre(r, s);
        if (n)
            return n;
    }
    tn_loc was = tn_at(r->ctx, s->loc);
    const tn_stmt *n = children(r, s);
    if (r->post) {
        const tn_stmt *p = r->post(r, n);
        n = p ? p : n;
    }
    tn_at(r->ctx, was);
    return n;
}
