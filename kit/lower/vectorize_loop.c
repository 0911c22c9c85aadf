/* SPDX-License-Identifier: Apache-2.0 */
/* VectorizeLoop: loops marked vectorized become vector expressions.
 *
 *     for i in T.vectorized(8):              A[T.Ramp(0, 1, 8)] = B[T.Ramp(0, 1, 8)] * T.Broadcast(x, 8)
 *         A[i] = B[i] * x            =>
 *
 * What is loaded at indices that came as data (T.index_in) is gathered one by one, a shuffle of scalars.
 *
 * An extent that is no power of two is cut into powers of two. A loop whose body has no vector form (an if on the variable, an
 * access guarded by it, a call without vector meaning) becomes a serial loop, with the same results. Needs: flat buffers.
 */
#include "lower.h"

/* Elements of one vector that are loaded one by one: more of them make programs long. */
#define MAX_GATHERED 16

typedef struct vectorizer {
    tn_ctx *ctx;
    const tn_expr *var, *ramp;
    uint16_t lanes;
    bool failed;
    tnb_ptrmap lets; /* scalar variable -> its vector variable */
} vectorizer;

static const tn_expr *
vec(vectorizer *v, const tn_expr *e);

static const tn_expr *
fail(vectorizer *v)
{
    v->failed = true;
    return NULL;
}

static uint16_t
lanes_of(const tn_expr *e)
{
    return tn_dtype_of(e).lanes;
}

static const tn_expr *
widen(vectorizer *v, const tn_expr *e)
{
    return lanes_of(e) == v->lanes ? e : tn_broadcast_of(v->ctx, e, v->lanes);
}

static tnb_dtype
with_lanes(tnb_dtype d, uint16_t lanes)
{
    d.lanes = lanes;
    return d;
}

static const tn_expr *
binary(vectorizer *v, const tn_expr *e)
{
    const tn_binary *b = (const tn_binary *)e;
    tn_ctx *ctx = v->ctx;
    const tn_expr *x = vec(v, b->a), *y = v->failed ? NULL : vec(v, b->b);
    if (v->failed)
        return NULL;
    if (x == b->a && y == b->b)
        return e;
    if (lanes_of(x) == 1 && lanes_of(y) == 1)
        return tn_bin(ctx, (tn_kind)e->kind, x, y);
    const tn_ramp *rx = tn_as_ramp(x), *ry = tn_as_ramp(y);
    switch (e->kind) {
    case TN_KIND_AND:
    case TN_KIND_OR:
        if (tnk_checks_index(b->b))
            return fail(v); /* what decides already would be refused */
        break;
    case TN_KIND_ADD:
        if (rx && lanes_of(y) == 1)
            return tn_ramp_of(ctx, tn_add(ctx, rx->start, y), rx->stride, v->lanes);
        if (ry && lanes_of(x) == 1)
            return tn_ramp_of(ctx, tn_add(ctx, x, ry->start), ry->stride, v->lanes);
        if (rx && ry)
            return tn_ramp_of(ctx, tn_add(ctx, rx->start, ry->start),
                              tn_add(ctx, rx->stride, ry->stride), v->lanes);
        break;
    case TN_KIND_SUB:
        if (rx && lanes_of(y) == 1)
            return tn_ramp_of(ctx, tn_sub(ctx, rx->start, y), rx->stride, v->lanes);
        if (rx && ry)
            return tn_ramp_of(ctx, tn_sub(ctx, rx->start, ry->start),
                              tn_sub(ctx, rx->stride, ry->stride), v->lanes);
        break;
    case TN_KIND_MUL:
        if (rx && lanes_of(y) == 1)
            return tn_ramp_of(ctx, tn_mul(ctx, rx->start, y), tn_mul(ctx, rx->stride, y), v->lanes);
        if (ry && lanes_of(x) == 1)
            return tn_ramp_of(ctx, tn_mul(ctx, x, ry->start), tn_mul(ctx, x, ry->stride), v->lanes);
        break;
    default:
        break;
    }
    return tn_raw_binary(ctx, (tn_kind)e->kind, widen(v, x), widen(v, y));
}

/* Calls with a vector meaning: pure functions of their arguments, element by element. */
static const tn_expr *
call(vectorizer *v, const tn_expr *e)
{
    const tn_call *c = (const tn_call *)e;
    tn_ctx *ctx = v->ctx;
    TNB_VEC(const tn_expr *) args = {0};
    bool any = false;
    for (uint32_t i = 0; i < c->args.n; i++) {
        const tn_expr *x = vec(v, c->args.at[i]);
        if (v->failed)
            return NULL;
        any |= lanes_of(x) > 1;
        TNB_PUSH(tn_scratch(ctx), args, x);
    }
    const tn_op *op = tn_call_op_of(c);
    if (any && tn_is_intrin(e, TN_INTRIN_index_in))
        return fail(
            v); /* indices are looked at one by one, and vectors of them would go through memory */
    if (!any) {
        if (op && (op->flags & TN_OP_IMPURE))
            return fail(v);
        return e;
    }
    if (!op || (op->flags & (TN_OP_IMPURE | TN_OP_READS_MEMORY)))
        return fail(v);
    if (op->flags &
        TN_OP_LAZY) { /* a branch must not be evaluated where its condition does not hold */
        if (args.n != 3 || lanes_of(args.at[0]) > 1)
            return fail(v);
        const tn_expr *three[3] = {args.at[0], widen(v, args.at[1]), widen(v, args.at[2])};
        return tn_scalar_call(ctx, with_lanes(tn_dtype_of(e), v->lanes), c->op,
                              tn_list_of(ctx, three, 3), c->attrs);
    }
    for (uint32_t i = 0; i < args.n; i++)
        args.at[i] = widen(v, args.at[i]);
    return tn_scalar_call(ctx, with_lanes(tn_dtype_of(e), v->lanes), c->op,
                          tn_list_of(ctx, args.at, args.n), c->attrs);
}

/* Indices of an access: one, or, of an image, several of which the last alone becomes a vector. */
static tn_list
indices(vectorizer *v, tn_list at)
{
    const tn_expr *last = at.n ? vec(v, at.at[at.n - 1]) : NULL;
    for (uint32_t i = 0; i + 1 < at.n && !v->failed; i++)
        if (vec(v, at.at[i]) != at.at[i])
            (void)fail(v);
    if (v->failed || !last || last == at.at[at.n - 1])
        return at;
    const tn_ramp *r = tn_as_ramp(last);
    if (at.n > 1 &&
        (!r || !tn_is_int_const(r->stride, 1) || !tn_int_value(r->start, &(int64_t){0})))
        (void)fail(v); /* channels of an image are neighbours at a known place */
    return tn_list_with(v->ctx, at, at.n - 1, last);
}

typedef struct check_search {
    const vectorizer *v;
    bool varies, lets;
} check_search;

static tn_walk_step
find_checks(void *user, const tn_node *n)
{
    check_search *s = user;
    s->lets |= tnb_ptrmap_get(&s->v->lets, n) != NULL;
    s->varies |=
        n->kind == TN_KIND_CALL && tn_is_intrin(n, TN_INTRIN_index_in) && tn_uses(n, s->v->var);
    return TN_WALK_ON;
}

/* What is at indices that are checked, each its own: one element after the other. NULL: not such a
 * load, or it fails. */
static const tn_expr *
gather(vectorizer *v, const tn_expr *e)
{
    tn_ctx *ctx = v->ctx;
    const tn_ramp *r = tn_as_ramp(v->ramp);
    check_search s = {.v = v};
    tn_walk(e, 0, find_checks, NULL, &s);
    if (!s.varies)
        return NULL;
    if (s.lets || v->lanes > MAX_GATHERED || tn_dtype_of(e).bits < 8 ||
        tnb_dtype_is_bool(tn_dtype_of(e)))
        return fail(v);
    const tn_expr *at[MAX_GATHERED], *order[MAX_GATHERED];
    for (int64_t i = 0; i < v->lanes; i++) {
        tnb_dtype d = tn_dtype_of(v->var);
        at[i] = tn_subst1(ctx, e, v->var, tn_add(ctx, r->start, tn_int_imm_of(ctx, d, i)));
        order[i] = tn_int_imm_of(ctx, TNB_I32, i);
    }
    return tn_shuffle_of(ctx, tn_list_of(ctx, at, v->lanes), tn_list_of(ctx, order, v->lanes));
}

static const tn_expr *
load(vectorizer *v, const tn_expr *e)
{
    const tn_buffer_load *l = (const tn_buffer_load *)e;
    const tn_expr *one_by_one = gather(v, e);
    if (v->failed || one_by_one)
        return one_by_one;
    tn_list at = indices(v, l->indices);
    if (v->failed)
        return NULL;
    return at.at == l->indices.at ? e : tn_buffer_load_of(v->ctx, l->buffer, at);
}

static const tn_expr *
vec(vectorizer *v, const tn_expr *e)
{
    if (v->failed)
        return NULL;
    tn_ctx *ctx = v->ctx;
    if (e == v->var)
        return v->ramp;
    if (lanes_of(e) > 1)
        return fail(v); /* vectors inside of vectors have no form */
    if (tn_is_binary(e))
        return binary(v, e);
    switch (e->kind) {
    case TN_KIND_VAR: {
        const tn_expr *w = tnb_ptrmap_get(&v->lets, e);
        return w ? w : e;
    }
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
    case TN_KIND_STRING_IMM:
        return e;
    case TN_KIND_CAST: {
        const tn_expr *x = vec(v, ((const tn_cast *)e)->value);
        if (v->failed || x == ((const tn_cast *)e)->value)
            return v->failed ? NULL : e;
        tnb_dtype to = with_lanes(tn_dtype_of(e), lanes_of(x));
        const tn_ramp *rp = tn_as_ramp(x);
        if (rp && to.code == TNB_INT && tn_dtype_of(x).code == TNB_INT &&
            to.bits >= tn_dtype_of(x).bits)
            return tn_ramp_of(ctx, tn_cast_to(ctx, with_lanes(to, 1), rp->start),
                              tn_cast_to(ctx, with_lanes(to, 1), rp->stride), rp->lanes);
        return tn_raw_cast(ctx, to, x);
    }
    case TN_KIND_NOT: {
        const tn_expr *x = vec(v, ((const tn_unary *)e)->a);
        return v->failed ? NULL : x == ((const tn_unary *)e)->a ? e : tn_raw_not(ctx, x);
    }
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        const tn_expr *c = vec(v, s->cond), *a = v->failed ? NULL : vec(v, s->a),
                      *b = v->failed ? NULL : vec(v, s->b);
        if (v->failed)
            return NULL;
        if (c == s->cond && a == s->a && b == s->b)
            return e;
        if (tnk_checks_index(s->a) || tnk_checks_index(s->b))
            return fail(v); /* an index that its lane does not take would be refused */
        return tn_select_of(ctx, widen(v, c), widen(v, a), widen(v, b));
    }
    case TN_KIND_CALL:
        return call(v, e);
    case TN_KIND_BUFFER_LOAD:
        return load(v, e);
    default:
        return fail(v);
    }
}

static const tn_stmt *
stmt(vectorizer *v, const tn_stmt *s)
{
    tn_ctx *ctx = v->ctx;
    if (v->failed)
        return NULL;
    switch (s->kind) {
    case TN_KIND_SEQ: {
        TNB_VEC(const tn_stmt *) out = {0};
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            TNB_PUSH(tn_scratch(ctx), out, stmt(v, ((const tn_seq *)s)->stmts.at[i]));
        return v->failed ? NULL : tn_seq_of(ctx, (tn_list){out.at, out.n});
    }
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *b = (const tn_buffer_store *)s;
        tn_list at = indices(v, b->indices);
        const tn_expr *x = v->failed ? NULL : vec(v, b->value);
        /* one place written by all lanes: order would matter */
        if (v->failed || !at.n || lanes_of(at.at[at.n - 1]) != v->lanes)
            return fail(v);
        return tn_buffer_store_of(ctx, b->buffer, widen(v, x), at);
    }
    case TN_KIND_BIND: {
        const tn_bind *b = (const tn_bind *)s;
        const tn_expr *x = vec(v, b->value);
        if (v->failed)
            return NULL;
        if (lanes_of(x) == 1)
            return s;
        const tn_expr *w = tn_var_dtype(ctx, tn_var_name(b->var), tn_dtype_of(x));
        tnb_ptrmap_set(&v->lets, b->var, w);
        return tn_bind_of(ctx, w, x);
    }
    case TN_KIND_FOR: {
        const tn_for_loop *f = (const tn_for_loop *)s;
        if (tn_uses(f->min, v->var) || tn_uses(f->extent, v->var) || f->for_kind == TN_FOR_PARALLEL)
            return fail(v);
        const tn_stmt *body = stmt(v, f->body);
        return v->failed ? NULL : tnk_for_with(ctx, f, f->min, f->extent, body);
    }
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = (const tn_if_stmt *)s;
        const tn_expr *c = vec(v, i->cond);
        if (v->failed || lanes_of(c) > 1)
            return fail(v);
        const tn_stmt *a = stmt(v, i->then_case),
                      *b = i->else_case && !v->failed ? stmt(v, i->else_case) : NULL;
        return v->failed ? NULL : tn_if_stmt_of(ctx, i->cond, a, b);
    }
    default:
        return fail(v);
    }
}

/* One vector of `lanes` turns from `from`; NULL when there is no vector form. */
static const tn_stmt *
vector_part(tn_ctx *ctx, const tn_for_loop *f, int64_t from, int64_t lanes)
{
    tnb_dtype d = tn_dtype_of(f->var);
    const tn_expr *start = tn_add(ctx, f->min, tn_int_imm_of(ctx, d, from));
    const tn_stmt *body = from == 0 ? f->body : tn_fresh_copy(ctx, f->body, NULL);
    if (lanes == 1)
        return tn_subst1(ctx, body, f->var, start);
    vectorizer v = {.ctx = ctx, .var = f->var, .lanes = (uint16_t)lanes};
    tnb_ptrmap_init(&v.lets, tn_scratch(ctx));
    v.ramp = tn_ramp_of(ctx, start, tn_int_imm_of(ctx, d, 1), lanes);
    const tn_stmt *s = stmt(&v, body);
    return v.failed ? NULL : s;
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    if (!f || f->for_kind != TN_FOR_VECTORIZED)
        return NULL;
    tn_ctx *ctx = r->ctx;
    int64_t n;
    if (tn_int_value(f->extent, &n) && n >= 1 && n <= 256) {
        TNB_VEC(const tn_stmt *) parts = {0};
        int64_t at = 0;
        while (at < n) {
            int64_t lanes = 1;
            while (lanes * 2 <= n - at && lanes < 64)
                lanes *= 2;
            const tn_stmt *p = vector_part(ctx, f, at, lanes);
            if (!p)
                break;
            TNB_PUSH(tn_scratch(ctx), parts, p);
            at += lanes;
        }
        if (at == n)
            return tnk_seq(ctx, parts.at, parts.n);
    }
    return tn_for_of(ctx, f->var, f->min, f->extent, TN_FOR_SERIAL, NULL, f->annotations, f->body);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tnk_ranged r = {.post = post};
    tnk_ranged_init(&r, ctx, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_vectorize = {
    .base.size = sizeof(tn_pass),
    .base.name = "VectorizeLoop",
    .base.doc = "Turns loops marked vectorized into vector expressions, or into serial loops where "
                "there is no vector form.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
