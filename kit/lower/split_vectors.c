/* SPDX-License-Identifier: Apache-2.0 */
/* SplitVectors: no vector is wider than the target's attribute max_vector_lanes says.
 *
 *     A[T.Ramp(0, 1, 8)] =                           A[T.Ramp(0, 1, 4)] = B[T.Ramp(0, 1, 4)] * T.Broadcast(x, 4)
 *         B[T.Ramp(0, 1, 8)] * T.Broadcast(x, 8)  => A[T.Ramp(4, 1, 4)] = B[T.Ramp(4, 1, 4)] * T.Broadcast(x, 4)
 *
 * A store becomes one store for each piece; where its value reads what it writes, the pieces of the value are computed first. A
 * variable becomes one for each piece. What has no pieces (a call with effects, a buffer whose elements are wider vectors) is an
 * error that names it. Does nothing for a target without the attribute, or where it is 0. Needs: no loops marked vectorized.
 */
#include "lower.h"

enum { MAX_LANES = 1024 };

typedef struct splitter {
    tn_ctx *ctx;
    int64_t most;
    tnb_ptrmap
        pieces; /* variable of a wide vector -> array of variables, `most` lanes each but the last */
    tnb_ptrmap known; /* expression -> what was made of its lanes: it may be used often */
    bool failed;
} splitter;

typedef struct part {
    int64_t at, n;
    const tn_expr *value;
} part;
typedef TNB_VEC(part) parts;

static const tn_expr *
slice(splitter *s, const tn_expr *e, int64_t at, int64_t n);
static const tn_expr *
whole(splitter *s, const tn_expr *e);

static int64_t
lanes_of(const tn_expr *e)
{
    return tn_dtype_of(e).lanes;
}

static tnb_dtype
with_lanes(tnb_dtype d, int64_t lanes)
{
    d.lanes = (uint16_t)lanes;
    return d;
}

static const tn_expr *
fail(splitter *s, const tn_expr *e, const char *what)
{
    if (!s->failed)
        tn_error(s->ctx, e->loc, TNB_UNSUPPORTED,
                 "%s of %s cannot be split into vectors of at most %lld lanes, which the target's "
                 "attribute "
                 "max_vector_lanes asks for",
                 what, tnb_dtype_print(tn_dtype_of(e)).s, (long long)s->most);
    s->failed = true;
    return e;
}

/* A vector of these scalars. */
static const tn_expr *
gathered(tn_ctx *ctx, const tn_expr *const *at, int64_t n)
{
    const tn_expr *order[MAX_LANES];
    for (int64_t i = 0; i < n; i++)
        order[i] = tn_int_imm_of(ctx, TNB_I32, i);
    return n == 1 ? at[0]
                  : tn_shuffle_of(ctx, tn_list_of(ctx, at, (uint32_t)n),
                                  tn_list_of(ctx, order, (uint32_t)n));
}

/* Lane i of the vectors put together. */
static const tn_expr *
lane_of_all(splitter *s, tn_list vectors, int64_t i)
{
    for (uint32_t k = 0; k < vectors.n; k++) {
        if (i < lanes_of(vectors.at[k]))
            return slice(s, vectors.at[k], i, 1);
        i -= lanes_of(vectors.at[k]);
    }
    return NULL;
}

/* Lanes at ... at + n of the vectors put together, one by one. */
static const tn_expr *
lanes_of_all(splitter *s, tn_list vectors, int64_t at, int64_t n)
{
    const tn_expr *one[MAX_LANES];
    for (int64_t i = 0; i < n; i++)
        one[i] = lane_of_all(s, vectors, at + i);
    return gathered(s->ctx, one, n);
}

static const tn_expr *
shuffle(splitter *s, const tn_shuffle *f, int64_t at, int64_t n)
{
    tn_ctx *ctx = s->ctx;
    const tn_expr *one[MAX_LANES];
    int64_t total = 0, from;
    for (uint32_t k = 0; k < f->vectors.n; k++)
        total += lanes_of(f->vectors.at[k]);
    for (int64_t i = 0; i < n; i++) {
        const tn_expr *index = f->indices.at[at + i];
        if (tn_int_value(index, &from)) {
            if (from < 0 || from >= total)
                return fail(s, TN_NODE(f), "a shuffle with a lane that is not there,");
            one[i] = lane_of_all(s, f->vectors, from);
            continue;
        }
        index = whole(s, index);
        one[i] = lane_of_all(s, f->vectors, 0);
        for (int64_t k = 1; k < total; k++) {
            const tn_expr *is = tn_eq(ctx, index, tn_int_imm_of(ctx, tn_dtype_of(index), k));
            one[i] = tn_select_of(ctx, is, lane_of_all(s, f->vectors, k), one[i]);
        }
    }
    return gathered(ctx, one, n);
}

static const tn_expr *
broadcast(splitter *s, const tn_broadcast *b, int64_t at, int64_t n)
{
    int64_t inner = lanes_of(b->value);
    if (inner == 1)
        return n == 1 ? whole(s, b->value) : tn_broadcast_of(s->ctx, whole(s, b->value), n);
    if (at % inner + n <= inner)
        return slice(s, b->value, at % inner, n);
    const tn_expr *one[MAX_LANES];
    for (int64_t i = 0; i < n; i++)
        one[i] = slice(s, b->value, (at + i) % inner, 1);
    return gathered(s->ctx, one, n);
}

static const tn_expr *
ramp(splitter *s, const tn_ramp *r, int64_t at, int64_t n)
{
    tn_ctx *ctx = s->ctx;
    const tn_expr *start = whole(s, r->start), *stride = whole(s, r->stride);
    start = tn_add(ctx, start, tn_mul(ctx, stride, tn_int_imm_of(ctx, tn_dtype_of(stride), at)));
    return n == 1 ? start : tn_ramp_of(ctx, start, stride, n);
}

static const tn_expr *
variable(splitter *s, const tn_expr *v, int64_t at, int64_t n)
{
    const tn_expr *const *pieces = tnb_ptrmap_get(&s->pieces, v);
    int64_t lanes = lanes_of(v), first = at / s->most, width = lanes - first * s->most;
    const tn_expr *one[MAX_LANES];
    if (width > s->most)
        width = s->most;
    if (pieces && at % s->most == 0 && n == width)
        return pieces[first];
    for (int64_t i = 0; i < n; i++) {
        const tn_expr *p = pieces ? pieces[(at + i) / s->most] : v,
                      *k = tn_int_imm_of(s->ctx, TNB_I32, pieces ? (at + i) % s->most : at + i);
        one[i] = lanes_of(p) == 1
                     ? p
                     : tn_shuffle_of(s->ctx, tn_list_of(s->ctx, &p, 1), tn_list_of(s->ctx, &k, 1));
    }
    return gathered(s->ctx, one, n);
}

static tn_list
slices(splitter *s, tn_list of, int64_t lanes, int64_t at, int64_t n)
{
    tn_list out = of;
    for (uint32_t i = 0; i < of.n; i++)
        tn_list_change(s->ctx, &out, of, i,
                       lanes_of(of.at[i]) == lanes ? slice(s, of.at[i], at, n)
                                                   : whole(s, of.at[i]));
    return out;
}

static const tn_expr *
load(splitter *s, const tn_expr *e, int64_t at, int64_t n)
{
    const tn_buffer_load *l = (const tn_buffer_load *)e;
    int64_t per = tn_as_buffer(l->buffer)->dtype.lanes, i = at, all = n;
    if (per > s->most)
        return fail(s, e, "an element");
    if (at % per || n % per) { /* elements are read as they are */
        i = at / per * per;
        all = (at + n + per - 1) / per * per - i;
    }
    const tn_expr *x =
        tn_buffer_load_of(s->ctx, l->buffer,
                          slices(s, l->indices, lanes_of(e) / per, i / per, all / per));
    if (i == at && all == n)
        return x;
    const tn_expr *order[MAX_LANES];
    for (int64_t k = 0; k < n; k++)
        order[k] = tn_int_imm_of(s->ctx, TNB_I32, at - i + k);
    return tn_shuffle_of(s->ctx, tn_list_of(s->ctx, &x, 1), tn_list_of(s->ctx, order, (uint32_t)n));
}

static const tn_expr *
reinterpreted(splitter *s, const tn_expr *e, const tn_expr *x, int64_t at, int64_t n)
{
    int64_t to = lanes_of(e), from = lanes_of(x);
    if (to == from)
        return tn_scalar_call(s->ctx, with_lanes(tn_dtype_of(e), n), ((const tn_call *)e)->op,
                              tn_listv(s->ctx, slice(s, x, at, n), NULL), NULL);
    return fail(s, e, "a reinterpretation");
}

/* Pure functions of their arguments, lane by lane. */
static const tn_expr *
call(splitter *s, const tn_expr *e, int64_t at, int64_t n)
{
    const tn_call *c = (const tn_call *)e;
    const tn_op *op = tn_call_op_of(c);
    int64_t lanes = lanes_of(e);
    switch ((int)tn_intrin_of(e)) {
    case TN_INTRIN_vectorlow:
        return slice(s, c->args.at[0], at, n);
    case TN_INTRIN_vectorhigh:
        return slice(s, c->args.at[0], lanes + at, n);
    case TN_INTRIN_vectorcombine:
        return lanes_of_all(s, c->args, at, n);
    case TN_INTRIN_reinterpret:
        return reinterpreted(s, e, c->args.at[0], at, n);
    default:
        break;
    }
    bool each = op && !(op->flags & (TN_OP_IMPURE | TN_OP_READS_MEMORY));
    for (uint32_t i = 0; i < c->args.n; i++)
        each &= lanes_of(c->args.at[i]) == lanes || lanes_of(c->args.at[i]) <= 1;
    if (!each)
        return fail(s, e, tn_strf(s->ctx, "a call of '%s'", op ? op->base.name : "a function"));
    return tn_scalar_call(s->ctx, with_lanes(tn_dtype_of(e), n), c->op,
                          slices(s, c->args, lanes, at, n), c->attrs);
}

/* Binds a variable, in pieces where it is wide: `emit` is told of each. */
static void
bind_pieces(splitter *s, const tn_expr *var, const tn_expr *value, tnk_stmt_vec *out)
{
    int64_t lanes = lanes_of(var);
    const tn_expr **pieces =
        TNB_NEW_N(tn_scratch(s->ctx), const tn_expr *, (size_t)(lanes / s->most + 1));
    for (int64_t at = 0; at < lanes; at += s->most) {
        int64_t n = lanes - at < s->most ? lanes - at : s->most;
        pieces[at / s->most] =
            tn_var_dtype(s->ctx, tn_var_name(var), with_lanes(tn_dtype_of(var), n));
        TNB_PUSH(tn_scratch(s->ctx), *out,
                 tn_bind_of(s->ctx, pieces[at / s->most], slice(s, value, at, n)));
    }
    tnb_ptrmap_set(&s->pieces, var, pieces);
}

static const tn_expr *
let(splitter *s, const tn_let *l, int64_t at, int64_t n)
{
    tnk_stmt_vec binds = {0};
    if (lanes_of(l->var) <= s->most)
        return tn_let_of(s->ctx, l->var, whole(s, l->value), slice(s, l->body, at, n));
    bind_pieces(s, l->var, l->value, &binds);
    const tn_expr *body = slice(s, l->body, at, n);
    for (uint32_t i = binds.n; i-- > 0;)
        body = tn_let_of(s->ctx, ((const tn_bind *)binds.at[i])->var,
                         ((const tn_bind *)binds.at[i])->value, body);
    return body;
}

static const tn_expr *
new_slice(splitter *s, const tn_expr *e, int64_t at, int64_t n)
{
    tn_ctx *ctx = s->ctx;
    int64_t lanes = lanes_of(e);
    if (s->failed)
        return e;
    if (n == lanes && n <= s->most)
        return whole(s, e);
    if (lanes > MAX_LANES)
        return fail(s, e, "a vector");
    if (tn_is_binary(e)) {
        const tn_binary *b = (const tn_binary *)e;
        return tn_raw_binary(ctx, (tn_kind)e->kind, slice(s, b->a, at, n), slice(s, b->b, at, n));
    }
    switch (e->kind) {
    case TN_KIND_VAR:
        return variable(s, e, at, n);
    case TN_KIND_RAMP:
        return ramp(s, (const tn_ramp *)e, at, n);
    case TN_KIND_BROADCAST:
        return broadcast(s, (const tn_broadcast *)e, at, n);
    case TN_KIND_SHUFFLE:
        return shuffle(s, (const tn_shuffle *)e, at, n);
    case TN_KIND_CAST:
        return tn_raw_cast(ctx, with_lanes(tn_dtype_of(e), n),
                           slice(s, ((const tn_cast *)e)->value, at, n));
    case TN_KIND_NOT:
        return tn_raw_not(ctx, slice(s, ((const tn_unary *)e)->a, at, n));
    case TN_KIND_SELECT: {
        const tn_select *x = (const tn_select *)e;
        const tn_expr *c = lanes_of(x->cond) == 1 ? whole(s, x->cond) : slice(s, x->cond, at, n);
        return tn_select_of(ctx, c, slice(s, x->a, at, n), slice(s, x->b, at, n));
    }
    case TN_KIND_LET:
        return let(s, (const tn_let *)e, at, n);
    case TN_KIND_BUFFER_LOAD:
        return load(s, e, at, n);
    case TN_KIND_CALL:
        return call(s, e, at, n);
    default:
        return fail(s, e, tn_kinds[e->kind].name);
    }
}

/* Lanes at ... at + n of the vector `e`. */
static const tn_expr *
slice(splitter *s, const tn_expr *e, int64_t at, int64_t n)
{
    parts *all = tnb_ptrmap_get(&s->known, e);
    for (uint32_t i = 0; all && i < all->n; i++)
        if (all->at[i].at == at && all->at[i].n == n)
            return all->at[i].value;
    part p = {at, n, new_slice(s, e, at, n)};
    if (!all) {
        all = TNB_NEW(tn_scratch(s->ctx), parts);
        *all = (parts){0};
        tnb_ptrmap_set(&s->known, e, all);
    }
    TNB_PUSH(tn_scratch(s->ctx), *all, p);
    return p.value;
}

/* ---- what is narrow itself, and may take lanes of wide vectors ---- */

static bool
takes_wide(const splitter *s, const tn_expr *e)
{
    tn_list of = e->kind == TN_KIND_SHUFFLE ? ((const tn_shuffle *)e)->vectors
                 : e->kind == TN_KIND_CALL  ? ((const tn_call *)e)->args
                                            : (tn_list){0};
    for (uint32_t i = 0; i < of.n; i++)
        if (lanes_of(of.at[i]) > s->most)
            return true;
    return e->kind == TN_KIND_LET && lanes_of(((const tn_let *)e)->var) > s->most;
}

static const tn_stmt *
stmt(splitter *s, const tn_stmt *n);

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    splitter *s = r->user;
    if (s->failed)
        return n;
    if (n->kind == TN_KIND_BUFFER_STORE || n->kind == TN_KIND_BIND || n->kind == TN_KIND_EVALUATE)
        return stmt(s, n);
    int64_t lanes = tn_is_scalar(n) ? lanes_of(n) : 1;
    if (lanes > s->most)
        return fail(
            s, n,
            tn_kinds[n->kind].name); /* below what is no vector: a call with effects, an address */
    if (!tn_is_scalar(n) || !takes_wide(s, n))
        return NULL;
    switch (n->kind) {
    case TN_KIND_SHUFFLE:
        return shuffle(s, (const tn_shuffle *)n, 0, lanes);
    case TN_KIND_LET:
        return let(s, (const tn_let *)n, 0, lanes);
    default:
        return call(s, n, 0, lanes);
    }
}

static const tn_expr *
whole(splitter *s, const tn_expr *e)
{
    tn_rewriter r = {.ctx = s->ctx, .user = s, .pre = pre};
    return s->failed ? e : tn_rewrite(&r, e);
}

/* ---- statements ---- */

typedef struct hazard {
    tn_ctx *ctx;
    const tn_buffer_store *store;
    bool found;
} hazard;

/* A load of what the store writes, at other places than those of the same lanes. */
static tn_walk_step
find_hazard(void *user, const tn_node *n)
{
    hazard *h = user;
    const tn_buffer_load *l = n->kind == TN_KIND_BUFFER_LOAD ? (const tn_buffer_load *)n : NULL;
    if (!l || tn_as_buffer(l->buffer)->data != tn_as_buffer(h->store->buffer)->data)
        return TN_WALK_ON;
    const tn_ramp *r = l->indices.n == 1 ? tn_as_ramp(l->indices.at[0]) : NULL;
    bool same = r && tn_is_int_const(r->stride, 1) && l->buffer == h->store->buffer &&
                l->indices.n == h->store->indices.n &&
                tn_equal(h->ctx, l->indices.at[0], h->store->indices.at[0], false, NULL);
    h->found |= !same;
    return TN_WALK_ON;
}

static const tn_stmt *
store(splitter *s, const tn_buffer_store *b)
{
    tn_ctx *ctx = s->ctx;
    int64_t lanes = lanes_of(b->value), per = tn_as_buffer(b->buffer)->dtype.lanes;
    if (per > s->most)
        return fail(s, b->value, "an element");
    int64_t step = s->most / per * per;
    hazard h = {ctx, b, false};
    tn_walk(TN_NODE(b), 0, find_hazard, NULL, &h);
    tnk_stmt_vec first = {0}, then = {0};
    for (int64_t at = 0; at < lanes && !s->failed; at += step) {
        int64_t n = lanes - at < step ? lanes - at : step;
        const tn_expr *v = slice(s, b->value, at, n);
        tn_list where = slices(s, b->indices, lanes / per, at / per, n / per);
        if (h.found) {
            const tn_expr *var = tn_var_dtype(ctx, "piece", tn_dtype_of(v)),
                          *last = where.at[where.n - 1],
                          *place = tn_var_dtype(ctx, "place", tn_dtype_of(last));
            TNB_PUSH(tn_scratch(ctx), first, tn_bind_of(ctx, var, v));
            v = var;
            if (!tn_as_ramp(last)) { /* may itself be read from what is written */
                TNB_PUSH(tn_scratch(ctx), first, tn_bind_of(ctx, place, last));
                where = tn_list_with(ctx, where, where.n - 1, place);
            }
        }
        TNB_PUSH(tn_scratch(ctx), then, tn_buffer_store_of(ctx, b->buffer, v, where));
    }
    for (uint32_t i = 0; i < then.n; i++)
        TNB_PUSH(tn_scratch(ctx), first, then.at[i]);
    return tnk_seq(ctx, first.at, first.n);
}

static const tn_stmt *
stmt(splitter *s, const tn_stmt *n)
{
    tn_ctx *ctx = s->ctx;
    tn_loc was = tn_at(ctx, n->loc);
    const tn_stmt *out = n;
    tnk_stmt_vec v = {0};
    if (n->kind == TN_KIND_BUFFER_STORE) {
        const tn_buffer_store *b = (const tn_buffer_store *)n;
        if (lanes_of(b->value) > s->most) {
            out = store(s, b);
        } else {
            tn_list at = slices(s, b->indices, -1, 0, 0);
            const tn_expr *x = whole(s, b->value);
            out = at.at == b->indices.at && x == b->value
                      ? n
                      : tn_buffer_store_of(ctx, b->buffer, x, at);
        }
    } else if (n->kind == TN_KIND_BIND) {
        const tn_bind *b = (const tn_bind *)n;
        if (lanes_of(b->var) > s->most) {
            bind_pieces(s, b->var, b->value, &v);
            out = tnk_seq(ctx, v.at, v.n);
        } else {
            const tn_expr *x = whole(s, b->value);
            out = x == b->value ? n : tn_bind_of(ctx, b->var, x);
        }
    } else {
        const tn_expr *value = ((const tn_evaluate *)n)->value;
        int64_t lanes = lanes_of(value);
        for (int64_t at = 0; at < lanes && lanes > s->most && !s->failed; at += s->most)
            TNB_PUSH(tn_scratch(ctx), v,
                     tn_evaluate_of(ctx, slice(s, value, at,
                                               lanes - at < s->most ? lanes - at : s->most)));
        const tn_expr *x = v.n ? value : whole(s, value);
        out = v.n ? tnk_seq(ctx, v.at, v.n) : x == value ? n : tn_evaluate_of(ctx, x);
    }
    tn_at(ctx, was);
    return out;
}

static tn_walk_step
find_wide(void *user, const tn_node *n)
{
    const splitter *s = user;
    return tn_is_scalar(n) && lanes_of(n) > s->most ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_node *
split_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    (void)name;
    const tn_prim_func *f = tn_as_prim_func(func);
    splitter s = {.ctx = pc->ctx, .most = *(const int64_t *)user};
    if (tn_walk(f->body, TN_WALK_ONCE, find_wide, NULL, &s))
        return func;
    tnb_ptrmap_init(&s.pieces, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&s.known, tn_scratch(pc->ctx));
    const tn_stmt *body = whole(&s, f->body);
    return s.failed || tn_is_error(body) ? NULL : tnk_func_with_body(pc->ctx, f, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    int64_t most = tnk_target_int(pc, "max_vector_lanes", 0);
    if (most < 0 || most > 16 || (most & (most - 1))) {
        tn_error(pc->ctx, 0, TNB_INVALID,
                 "the target's attribute max_vector_lanes is %lld; vectors have 1, 2, 4, 8 or 16 "
                 "lanes (0: any number)",
                 (long long)most);
        return NULL;
    }
    return most > 0 ? tnk_map_kernels(pc, m, split_func, &most) : m;
}

const tn_pass tnk_pass_split_vectors = {
    .base.size = sizeof(tn_pass),
    .base.name = "SplitVectors",
    .base.doc = "Splits vectors that are wider than the target's max_vector_lanes.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
