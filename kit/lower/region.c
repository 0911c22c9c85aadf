/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the accesses of one buffer with their regions; see region.h. */
#include "region.h"

typedef struct collector {
    tn_ctx *ctx;
    tn_arith *arith;
    const tn_node *buffer;
    const tn_expr *data;
    tnk_accesses *out;
    TNB_VEC(const tn_expr *) vars, mins, extents; /* inner loops, outermost first */
    TNB_VEC(const tn_expr *) opaque;              /* inner variables without a range */
    uint32_t nested;  /* how many of them have bounds that are no literals */
    tnb_ptrmap inner; /* all variables defined inside */
    tn_list guards;   /* conditions around, as in tnk_access */
} collector;

static bool
is_inner(const collector *c, const tn_expr *v)
{
    return tnb_ptrmap_has(&c->inner, v);
}

/* Whether a condition uses a variable of the outside; *only: all it uses is of the outside. */
static bool
uses_outer(collector *c, const tn_expr *cond, bool *only)
{
    tn_list free_vars = tn_free_vars(c->ctx, cond, true);
    bool outer = false;
    *only = true;
    for (uint32_t i = 0; i < free_vars.n; i++) {
        outer |= !is_inner(c, free_vars.at[i]);
        *only &= tn_is_var(free_vars.at[i]) && !is_inner(c, free_vars.at[i]);
    }
    return outer;
}

/* The conditions around a statement below one more; NULL: one that is not known outside. */
static tn_list
below(collector *c, const tn_expr *cond)
{
    tn_list was = c->guards;
    c->guards = tn_list_append(c->ctx, was, cond);
    return was;
}

/* Inner loops may have bounds that use other inner loops: from the innermost outwards. */
static bool
relax_each(collector *c, const tn_expr **l, const tn_expr **h)
{
    const tn_expr *unused;
    for (uint32_t i = c->vars.n; i-- > 0;) {
        const tn_expr *v = c->vars.at[i], *min = c->mins.at[i], *extent = c->extents.at[i];
        if (tn_uses(*l, v) && !tn_interval(c->arith, *l, &v, &min, &extent, 1, l, &unused))
            return false;
        if (tn_uses(*h, v) && !tn_interval(c->arith, *h, &v, &min, &extent, 1, &unused, h))
            return false;
    }
    return true;
}

/* The bounds of one expression over loops with literal bounds. */
static bool
relax_all(collector *c, const tn_expr *e, const tn_expr **l, const tn_expr **h)
{
    bool used = false;
    for (uint32_t i = 0; i < c->vars.n && !used; i++)
        used = tn_uses(e, c->vars.at[i]);
    return !used ||
           tn_interval(c->arith, e, c->vars.at, c->mins.at, c->extents.at, c->vars.n, l, h);
}

/* Bounds of an index over the inner loops. */
static void
bound(collector *c, const tn_expr *e, const tn_expr **lo, const tn_expr **hi)
{
    *lo = *hi = NULL;
    const tn_expr *last = e;
    if (tn_is(e, TN_KIND_RAMP)) {
        const tn_ramp *rp = tn_as_ramp(e);
        int64_t stride;
        if (!tn_int_value(rp->stride, &stride) || stride < 0)
            return;
        e = rp->start;
        last = tn_add(c->ctx, e, tn_int_imm_of(c->ctx, tn_dtype_of(e), stride * (rp->lanes - 1)));
    }
    if (tn_dtype_of(e).lanes > 1)
        return;
    const tn_expr *l = e, *h = last;
    if (!(c->nested || l != h ? relax_each(c, &l, &h) : relax_all(c, e, &l, &h)))
        return;
    for (uint32_t i = 0; i < c->opaque.n; i++)
        if (tn_uses(l, c->opaque.at[i]) || tn_uses(h, c->opaque.at[i]))
            return;
    *lo = tn_simplify(c->arith, l);
    *hi = tn_simplify(c->arith, h);
}

static void
add(collector *c, const tn_node *n, tn_list idx, bool is_store)
{
    tnk_access a = {.node = n,
                    .indices = idx,
                    .is_store = is_store,
                    .guarded = c->guards.n > 0,
                    .guards = c->guards};
    a.lo = TNB_NEW_N(tn_scratch(c->ctx), const tn_expr *, idx.n + 1);
    a.hi = TNB_NEW_N(tn_scratch(c->ctx), const tn_expr *, idx.n + 1);
    for (uint32_t i = 0; i < idx.n; i++)
        bound(c, idx.at[i], &a.lo[i], &a.hi[i]);
    TNB_PUSH(tn_scratch(c->ctx), c->out->v, a);
}

static tn_walk_step
in_expr(void *user, const tn_node *n);

/* ldmatrix reads 16 bytes of a row in shared memory from where its address points to; what it loads into is not looked at. */
static bool
matrix_row(collector *c, const tn_node *n)
{
    enum { SHARED = 6, BYTES = 16 };
    const tn_call *call = tn_is_intrin(n, TN_INTRIN_ptx_ldmatrix) ? tn_as_call(n) : NULL;
    const tn_expr *p = call && call->args.n > SHARED ? call->args.at[SHARED] : NULL;
    const tn_buffer_load *l =
        tn_is_intrin(p, TN_INTRIN_address_of) ? tn_as_buffer_load(tn_as_call(p)->args.at[0]) : NULL;
    if (!l || l->buffer != c->buffer || !l->indices.n)
        return false;
    for (uint32_t i = 0; i < l->indices.n; i++)
        tn_walk(l->indices.at[i], 0, in_expr, NULL, c);
    add(c, TN_NODE(l), l->indices, false);
    tnk_access *a = &c->out->v.at[c->out->v.n - 1];
    const tn_expr **hi = &a->hi[l->indices.n - 1];
    int64_t more = BYTES / (int64_t)tnb_dtype_bytes(tn_as_buffer(l->buffer)->dtype) - 1;
    if (*hi)
        *hi = tn_add(c->ctx, *hi, tn_int_imm_of(c->ctx, tn_dtype_of(*hi), more));
    return true;
}

static tn_walk_step
in_expr(void *user, const tn_node *n)
{
    collector *c = user;
    if (matrix_row(c, n))
        return TN_WALK_SKIP;
    if (n->kind == TN_KIND_LET) {
        tnb_ptrmap_set(&c->inner, ((const tn_let *)n)->var, n);
        TNB_PUSH(tn_scratch(c->ctx), c->opaque, ((const tn_let *)n)->var);
    }
    if (tn_is_intrin(n, TN_INTRIN_address_of)) { /* what lies behind it may be touched as well */
        const tn_buffer_load *l = tn_as_buffer_load(tn_as_call(n)->args.at[0]);
        if (l && l->buffer == c->buffer)
            c->out->opaque = true;
    }
    if (n->kind == TN_KIND_BUFFER_LOAD) {
        const tn_buffer_load *l = (const tn_buffer_load *)n;
        for (uint32_t i = 0; i < l->indices.n; i++)
            tn_walk(l->indices.at[i], 0, in_expr, NULL, c);
        if (l->buffer == c->buffer)
            add(c, n, l->indices, false);
        return TN_WALK_SKIP;
    }
    if (n == c->data || n == c->buffer)
        c->out->opaque = true;
    return TN_WALK_ON;
}

static void
expr(collector *c, const tn_expr *e)
{
    if (e)
        tn_walk(e, 0, in_expr, NULL, c);
}

static void
stmt(collector *c, const tn_stmt *s)
{
    if (!s)
        return;
    tnb_arena *a = tn_scratch(c->ctx);
    switch (s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            stmt(c, ((const tn_seq *)s)->stmts.at[i]);
        return;
    case TN_KIND_FOR: {
        const tn_for_loop *f = (const tn_for_loop *)s;
        expr(c, f->min);
        expr(c, f->extent);
        tnb_ptrmap_set(&c->inner, f->var, s);
        TNB_PUSH(a, c->vars, f->var);
        TNB_PUSH(a, c->mins, f->min);
        TNB_PUSH(a, c->extents, f->extent);
        uint32_t mark = tn_arith_push(c->arith, NULL);
        tn_arith_range(c->arith, f->var, f->min, f->extent);
        bool literal = tn_is(f->min, TN_KIND_INT_IMM) && tn_is(f->extent, TN_KIND_INT_IMM);
        c->nested += !literal;
        stmt(c, f->body);
        c->nested -= !literal;
        c->vars.n--;
        c->mins.n--;
        c->extents.n--;
        tn_arith_pop(c->arith, mark);
        return;
    }
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = (const tn_if_stmt *)s;
        expr(c, i->cond);
        bool only;
        tn_list was = c->guards;
        if (uses_outer(c, i->cond, &only))
            (void)below(c, only ? i->cond : NULL);
        stmt(c, i->then_case);
        stmt(c, i->else_case);
        c->guards = was;
        return;
    }
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *b = (const tn_buffer_store *)s;
        for (uint32_t i = 0; i < b->indices.n; i++)
            expr(c, b->indices.at[i]);
        expr(c, b->value);
        if (b->buffer == c->buffer)
            add(c, s, b->indices, true);
        return;
    }
    case TN_KIND_BIND:
        expr(c, ((const tn_bind *)s)->value);
        tnb_ptrmap_set(&c->inner, ((const tn_bind *)s)->var, s);
        TNB_PUSH(a, c->opaque, ((const tn_bind *)s)->var);
        return;
    case TN_KIND_WHILE: {
        expr(c, ((const tn_while_loop *)s)->cond);
        tn_list was = below(c, NULL);
        stmt(c, ((const tn_while_loop *)s)->body);
        c->guards = was;
        return;
    }
    case TN_KIND_ATTR_STMT:
        expr(c, ((const tn_attr_stmt *)s)->value);
        stmt(c, ((const tn_attr_stmt *)s)->body);
        return;
    case TN_KIND_ASSERT:
        expr(c, ((const tn_assert_stmt *)s)->cond);
        return;
    case TN_KIND_EVALUATE:
    case TN_KIND_RETURN:
        expr(c, ((const tn_evaluate *)s)->value);
        return;
    case TN_KIND_DECL_BUFFER:
        if (tn_as_buffer(((const tn_alloc_buffer *)s)->buffer)->data == c->data)
            c->out->opaque = true;
        return;
    case TN_KIND_BLOCK_REALIZE:
        c->out->opaque |= tn_uses(s, c->buffer) || tn_uses(s, c->data);
        return;
    default:
        return;
    }
}

void
tnk_collect_accesses(tn_ctx *ctx, tn_arith *arith, const tn_stmt *s, const tn_node *buffer,
                     tnk_accesses *out)
{
    collector c = {.ctx = ctx,
                   .arith = arith,
                   .buffer = buffer,
                   .data = tn_as_buffer(buffer)->data,
                   .out = out};
    *out = (tnk_accesses){0};
    tnb_ptrmap_init(&c.inner, tn_scratch(ctx));
    stmt(&c, s);
}
