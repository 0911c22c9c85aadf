/* SPDX-License-Identifier: Apache-2.0 */
/* WidenLoop: loops with the annotation tenon.wide = L become loops over vectors of L elements, sums and
 * the like included, whatever their extent.
 *
 *     for k in range(n, {"tenon.wide": 8}):         acc = T.alloc_buffer((32,)); acc[...] = 0
 *         S[0] = S[0] + A[k]                 =>     for k in range(n // 32): acc[0:8] += A[k * 32:][0:8]; ... acc[24:32] += ...
 *                                                   for k in range(n % 32 // 8): acc[0:8] += ...
 *                                                   S[0] = S[0] + acc[0] + ... + acc[31]
 *
 * The last elements, fewer than L, are computed by a vector that is moved back to end with the loop: what is stored is
 * stored again, what is accumulated is masked. Where that is not possible (n < L; a loop that updates what it reads) they are
 * computed one by one.
 *
 * First, neighbouring loops of one extent become one, if turn k of the second uses of what the first makes only that of turn k:
 *
 *     for k: E[k] = exp(A[k])                       S[0] = 0
 *     S[0] = 0                               =>     for k: E[k] = exp(A[k]); S[0] = S[0] + E[k]
 *     for k: S[0] = S[0] + E[k]
 *
 * With tenon.ahead = D, elements that the loop will read D turns later are fetched: an attribute around the loops, named after the
 * buffer, that source emission reads. A float32 that every turn divides by becomes its reciprocal, where that is a normal number and nothing
 * that the loop computes is a step of its quotients (rounding, comparisons); else the loop divides.
 *
 * A body has stores to elements k + c, and accumulations by +, *, min or max of an element that does not depend on k, in the order
 * that vectors give. What chooses between elements, such as an argmax, is widen_choice.c's. Loops with any other body stay as
 * they are. A parallel loop without accumulations stays parallel. Needs: flat buffers; comes before VectorizeLoop.
 */
#include <math.h>

#include "cpu.h"
#include "widen_loop.h"

static const char wide_key[] = "tenon.wide", ahead_key[] = "tenon.ahead";
enum { MAX_PARTS = 16, MAX_UNROLL = 4, LAST_ELEMENTS = 4 /* of a sum that are added one by one */ };

typedef TNB_VEC(const tn_stmt *) stmt_list;

/* One statement of a body. */
typedef struct part {
    const tn_stmt *s;
    const tn_buffer_store *store; /* NULL: a variable is bound */
    tn_kind op;                   /* of an accumulation: S = S op x; 0: a store to elements */
    const tn_expr *x;
    const tn_node *acc; /* the buffer of its accumulators */
} part;

typedef struct wide {
    tn_ctx *ctx;
    tn_arith *arith;
    const tn_for_loop *f;
    int64_t lanes, unroll;
    part parts[MAX_PARTS];
    uint32_t n;
    bool reduces, calls, conditions;
    bool again; /* elements may be computed twice */
} wide;

static int64_t
lanes_of(const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    bool any = f && (f->for_kind == TN_FOR_SERIAL || f->for_kind == TN_FOR_PARALLEL);
    return any ? tn_dict_int(f->annotations, wide_key, 0) : 0;
}

static const tn_node *
data_of(const tn_node *buffer)
{
    return tn_as_buffer(buffer)->data;
}

/* ---- what a body does ---- */

static bool
same_place(wide *w, tn_list a, tn_list b)
{
    for (uint32_t i = 0; i < a.n && i < b.n; i++)
        if (!tn_equal(w->ctx, a.at[i], b.at[i], false, NULL) &&
            !tn_prove_eq(w->arith, a.at[i], b.at[i]))
            return false;
    return a.n == b.n;
}

static bool
is_element_of(wide *w, const tn_expr *e, const tn_buffer_store *st)
{
    const tn_buffer_load *l = tn_as_buffer_load(e);
    return l && l->buffer == st->buffer && same_place(w, l->indices, st->indices);
}

typedef struct finder {
    wide *w;
    const tn_buffer_store *st; /* loads of its buffer are looked for */
    uint32_t loads, elsewhere;
    bool calls, odd;
    bool conditions; /* around vectors; LoopPartition may take them away */
} finder;

static tn_walk_step
look(void *user, const tn_node *n)
{
    finder *q = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (l && q->st && data_of(l->buffer) == data_of(q->st->buffer)) {
        q->loads++;
        q->elsewhere += !is_element_of(q->w, n, q->st);
    }
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        (*(tn_is_intrin(n, TN_INTRIN_if_then_else) ? &q->conditions : &q->calls)) = true;
        q->odd |= !op || op->flags & (TN_OP_IMPURE | TN_OP_READS_MEMORY);
    }
    return TN_WALK_ON;
}

static finder
find(wide *w, const tn_node *in, const tn_buffer_store *st)
{
    finder q = {.w = w, .st = st};
    tn_walk(in, 0, look, NULL, &q);
    return q;
}

static bool
fill_part(wide *w, const tn_stmt *s)
{
    if (w->n == MAX_PARTS)
        return false;
    part *p = &w->parts[w->n++];
    *p = (part){.s = s};
    if (s->kind == TN_KIND_BIND)
        return true;
    const tn_buffer_store *st = p->store = tn_as_buffer_store(s);
    if (!st || st->indices.n != 1 || tn_dtype_of(st->indices.at[0]).lanes != 1)
        return false;
    const tn_expr *k = w->f->var, *coeff, *rest;
    int64_t step;
    if (tn_uses(st->indices.at[0], k))
        return tn_linear(w->arith, st->indices.at[0], &k, 1, &coeff, &rest) &&
               tn_int_value(coeff, &step) && step == 1;
    if (!tn_is_binary(st->value) || tn_as_buffer(st->buffer)->dtype.bits < 8 ||
        tnb_dtype_is_bool(tn_as_buffer(st->buffer)->dtype))
        return false;
    const tn_expr *a = tn_as_binary(st->value)->a, *b = tn_as_binary(st->value)->b;
    p->op = (tn_kind)st->value->kind;
    p->x = is_element_of(w, a, st) ? b : a;
    w->reduces = true;
    return (p->op == TN_KIND_ADD || p->op == TN_KIND_MUL || p->op == TN_KIND_MIN ||
            p->op == TN_KIND_MAX) &&
           (is_element_of(w, a, st) || is_element_of(w, b, st));
}

/* Takes the body apart; false when it has no wide form. */
static bool
fill(wide *w, const tn_for_loop *f)
{
    w->f = f;
    w->n = 0;
    w->again = true;
    tn_list one = {&f->body, 1}, l = one;
    if (f->body->kind == TN_KIND_SEQ)
        l = ((const tn_seq *)f->body)->stmts;
    for (uint32_t i = 0; i < l.n; i++)
        if (!fill_part(w, l.at[i]))
            return false;
    finder all = find(w, f->body, NULL);
    w->calls = all.calls;
    w->conditions = all.conditions;
    if (all.odd)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        const part *p = &w->parts[i];
        if (!p->store)
            continue;
        finder q = find(w, f->body, p->store);
        if (q.elsewhere || (p->op && q.loads != 1))
            return false;
        for (uint32_t k = 0; k < w->n; k++) {
            if (k != i && w->parts[k].store &&
                data_of(w->parts[k].store->buffer) == data_of(p->store->buffer))
                return false;
            if (!p->op && k <= i && find(w, w->parts[k].s, p->store).loads)
                w->again = false; /* what it stores depends on what was there */
        }
    }
    return w->n > 0;
}

/* ---- one of two loops ---- */

/* Whether turn k of b needs of what a makes only that of turn k, and b makes nothing that a uses. */
static bool
may_join(wide *a, wide *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const tn_buffer_store *st = a->parts[i].store;
        finder q = st ? find(a, b->f->body, st) : (finder){0};
        if (!st || (a->parts[i].op ? q.loads : q.elsewhere))
            return false;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        const tn_buffer_store *st = b->parts[i].store;
        if (!st || find(a, a->f->body, st).loads)
            return false;
        for (uint32_t k = 0; k < a->n; k++)
            if (data_of(a->parts[k].store->buffer) == data_of(st->buffer))
                return false;
    }
    return a->n + b->n <= MAX_PARTS;
}

/* Whether what stands between two loops may come before the first: places for sums, and their zeros. */
static bool
may_precede(wide *a, const tn_stmt *s)
{
    if (s->kind == TN_KIND_ALLOC_BUFFER)
        return true;
    const tn_buffer_store *st = tn_as_buffer_store(s);
    if (!st || find(a, a->f->body, st).loads)
        return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (!a->parts[k].store || data_of(a->parts[k].store->buffer) == data_of(st->buffer) ||
            find(a, st->value, a->parts[k].store).loads)
            return false;
    return true;
}

/* The two loops as one; NULL: not possible. */
static const tn_stmt *
join(tnk_ranged *r, const tn_for_loop *f, const tn_for_loop *g, wide *a)
{
    wide b = {.ctx = r->ctx, .arith = r->arith};
    if (f->for_kind != g->for_kind || lanes_of(TN_NODE(f)) != lanes_of(TN_NODE(g)) ||
        !tn_prove_eq(r->arith, f->extent, g->extent) || !tn_prove_eq(r->arith, f->min, g->min) ||
        tn_dtype_of(f->var).bits != tn_dtype_of(g->var).bits)
        return NULL;
    const tn_stmt *body = tn_subst1(r->ctx, g->body, g->var, f->var);
    const tn_for_loop *h = tn_as_for_loop(tnk_for_with(r->ctx, f, f->min, f->extent, body));
    if (!fill(&b, h) || !may_join(a, &b))
        return NULL;
    const tn_node *both = f->annotations, *ahead = tn_dict_get(g->annotations, ahead_key);
    if (ahead)
        both = tn_dict_set(r->ctx, both, ahead_key, ahead);
    return tn_for_of(r->ctx, f->var, f->min, f->extent, (tn_for_kind)f->for_kind, NULL, both,
                     tn_seqv(r->ctx, f->body, body, NULL));
}

static const tn_stmt *
join_loops(tnk_ranged *r, const tn_stmt *s)
{
    if (s->kind != TN_KIND_SEQ)
        return NULL;
    const tn_list l = ((const tn_seq *)s)->stmts;
    TNB_VEC(const tn_stmt *) v = {0};
    uint32_t last = UINT32_MAX; /* where in v the last wide loop stands */
    bool any = false;
    wide w = {.ctx = r->ctx, .arith = r->arith};
    for (uint32_t i = 0; i < l.n; i++) {
        bool open = last != UINT32_MAX;
        if (open && lanes_of(l.at[i])) {
            const tn_stmt *both = join(r, tn_as_for_loop(v.at[last]), tn_as_for_loop(l.at[i]), &w);
            if (both) {
                for (uint32_t k = last; k + 1 < v.n; k++)
                    v.at[k] = v.at[k + 1];
                v.at[v.n - 1] = both;
                last = v.n - 1;
                any = true;
                if (!fill(&w, tn_as_for_loop(both)))
                    last = UINT32_MAX;
                continue;
            }
            open = false;
        }
        TNB_PUSH(tn_scratch(r->ctx), v, l.at[i]);
        if (lanes_of(l.at[i]) && fill(&w, tn_as_for_loop(l.at[i])))
            last = v.n - 1;
        else if (!open || !may_precede(&w, l.at[i]))
            last = UINT32_MAX;
    }
    return any ? tnk_seq(r->ctx, v.at, v.n) : NULL;
}

/* ---- the wide form ---- */

static const tn_expr *
number(const wide *w, int64_t v)
{
    return tn_int_imm_of(w->ctx, tn_dtype_of(w->f->var), v);
}

static const tn_expr *
neutral(const wide *w, const part *p)
{
    tnb_dtype d = tn_as_buffer(p->store->buffer)->dtype;
    bool least = p->op == TN_KIND_MAX;
    if (p->op == TN_KIND_ADD || p->op == TN_KIND_MUL)
        return tn_literal(w->ctx, d, p->op == TN_KIND_MUL);
    if (tnb_dtype_is_float(d))
        return tn_float_imm_of(w->ctx, d, least ? (double)-INFINITY : (double)INFINITY);
    return least ? tn_min_value(w->ctx, d) : tn_max_value(w->ctx, d);
}

static const tn_expr *
element(const wide *w, const tn_node *buffer, const tn_expr *at)
{
    return tn_buffer_load_of(w->ctx, buffer, tn_listv(w->ctx, at, NULL));
}

static const tn_stmt *
set_element(const wide *w, const tn_node *buffer, const tn_expr *value, const tn_expr *at)
{
    return tn_buffer_store_of(w->ctx, buffer, value, tn_listv(w->ctx, at, NULL));
}

static const tn_stmt *
vector_loop(const wide *w, const tn_expr *v, const tn_stmt *body)
{
    return tn_for_of(w->ctx, v, tn_int_imm_of(w->ctx, tn_dtype_of(v), 0),
                     tn_int_imm_of(w->ctx, tn_dtype_of(v), w->lanes), TN_FOR_VECTORIZED, NULL, NULL,
                     body);
}

/* The turns base ... base + lanes - 1 at once, into accumulator number u; of the first `skip` (NULL:
 * none) nothing is accumulated. */
static const tn_stmt *
vector_turn(const wide *w, const tn_expr *base, int64_t u, const tn_expr *skip)
{
    tn_ctx *ctx = w->ctx;
    TNB_VEC(const tn_stmt *) out = {0};
    tnb_dtype d = tn_dtype_of(w->f->var);
    const tn_expr *v = tn_var_dtype(ctx, "v", skip ? TNB_I32 : d);
    for (uint32_t i = 0; i < w->n; i++) {
        const part *p = &w->parts[i];
        const tn_stmt *s = p->s;
        if (p->op) {
            tnb_dtype e = tn_as_buffer(p->store->buffer)->dtype;
            const tn_expr *at = tn_add(ctx, v, tn_int_imm_of(ctx, tn_dtype_of(v), u * w->lanes));
            const tn_expr *x = tn_cast_to(ctx, e, p->x);
            if (skip)
                x = tn_select_of(ctx, tn_ge_of(ctx, v, skip), x, neutral(w, p));
            s = set_element(w, p->acc, tn_raw_binary(ctx, p->op, element(w, p->acc, at), x), at);
        }
        TNB_PUSH(tn_scratch(ctx), out, s);
    }
    const tn_stmt *body = tn_fresh_copy(ctx, tnk_seq(ctx, out.at, out.n), NULL);
    const tn_expr *k = tn_add(ctx, base, tn_cast_to(ctx, d, v));
    return vector_loop(w, v, tn_subst1(ctx, body, w->f->var, k));
}

/* for j in range(turns): `per` vectors a turn, from element `from` on */
static const tn_stmt *
vector_turns(const wide *w, const tn_expr *from, const tn_expr *turns, int64_t per)
{
    TNB_VEC(const tn_stmt *) out = {0};
    tn_ctx *ctx = w->ctx;
    const tn_expr *j = tn_var_dtype(ctx, tn_var_name(w->f->var), tn_dtype_of(w->f->var));
    for (int64_t u = 0; u < per; u++) {
        const tn_expr *at = tn_add(ctx, tn_mul(ctx, j, number(w, per * w->lanes)),
                                   tn_add(ctx, from, number(w, u * w->lanes)));
        TNB_PUSH(tn_scratch(ctx), out, vector_turn(w, at, u, NULL));
    }
    return tn_for_of(ctx, j, number(w, 0), turns, w->f->for_kind, NULL, NULL,
                     tnk_seq(ctx, out.at, out.n));
}

/* The turns from `from` on, one by one. */
static const tn_stmt *
single_turns(const wide *w, const tn_expr *from, const tn_expr *n)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *j = tn_var_dtype(ctx, tn_var_name(w->f->var), tn_dtype_of(w->f->var));
    const tn_stmt *body = tn_fresh_copy(ctx, w->f->body, NULL);
    return tn_for_of(ctx, j, number(w, 0), n, TN_FOR_SERIAL, NULL, NULL,
                     tn_subst1(ctx, body, w->f->var, tn_add(ctx, from, j)));
}

/* Accumulators, and their neutral elements. */
static void
begin_sums(wide *w, stmt_list *out)
{
    tn_ctx *ctx = w->ctx;
    for (uint32_t i = 0; i < w->n; i++) {
        part *p = &w->parts[i];
        if (!p->op)
            continue;
        const tn_buffer *b = tn_as_buffer(p->store->buffer);
        p->acc =
            tn_buffer_new(ctx, tn_strf(ctx, "%s_acc", b->name),
                          tn_listv(ctx, number(w, w->lanes * w->unroll), NULL), b->dtype, "local");
        TNB_PUSH(tn_scratch(ctx), *out, tn_alloc_buffer_of(ctx, p->acc, NULL));
        for (int64_t u = 0; u < w->unroll; u++) {
            const tn_expr *v = tn_var_dtype(ctx, "v", tn_dtype_of(w->f->var));
            const tn_expr *at = tn_add(ctx, v, number(w, u * w->lanes));
            TNB_PUSH(tn_scratch(ctx), *out,
                     vector_loop(w, v, set_element(w, p->acc, neutral(w, p), at)));
        }
    }
}

static const tn_expr *
halves(const wide *w, tn_kind op, const tn_node *buffer, int64_t from, int64_t n)
{
    if (n == 1)
        return element(w, buffer, number(w, from));
    return tn_raw_binary(w->ctx, op, halves(w, op, buffer, from, n / 2),
                         halves(w, op, buffer, from + n / 2, n / 2));
}

/* S = S op acc[0] op acc[1] ...: the vectors first, then the halves of what comes of them. */
static void
end_sums(const wide *w, stmt_list *out)
{
    tn_ctx *ctx = w->ctx;
    for (uint32_t i = 0; i < w->n; i++) {
        const part *p = &w->parts[i];
        if (!p->op)
            continue;
        const tn_buffer *b = tn_as_buffer(p->store->buffer);
        const tn_node *row =
            tn_buffer_new(ctx, tn_strf(ctx, "%s_row", b->name),
                          tn_listv(ctx, number(w, w->lanes), NULL), b->dtype, "local");
        TNB_PUSH(tn_scratch(ctx), *out, tn_alloc_buffer_of(ctx, row, NULL));
        const tn_expr *v = tn_var_dtype(ctx, "v", tn_dtype_of(w->f->var)), *all = NULL;
        for (int64_t u = 0; u < w->unroll; u++) {
            const tn_expr *x = element(w, p->acc, tn_add(ctx, v, number(w, u * w->lanes)));
            all = all ? tn_raw_binary(ctx, p->op, all, x) : x;
        }
        TNB_PUSH(tn_scratch(ctx), *out, vector_loop(w, v, set_element(w, row, all, v)));
        const tn_list at = p->store->indices;
        int64_t left = w->lanes;
        while (left > LAST_ELEMENTS) {
            wide half = *w;
            half.lanes = left /= 2;
            v = tn_var_dtype(ctx, "v", tn_dtype_of(w->f->var));
            const tn_expr *x = tn_raw_binary(ctx, p->op, element(w, row, v),
                                             element(w, row, tn_add(ctx, v, number(w, left))));
            TNB_PUSH(tn_scratch(ctx), *out, vector_loop(&half, v, set_element(w, row, x, v)));
        }
        const tn_expr *sum = halves(w, p->op, row, 0, left),
                      *old = tn_buffer_load_of(ctx, p->store->buffer, at);
        TNB_PUSH(tn_scratch(ctx), *out,
                 tn_buffer_store_of(ctx, p->store->buffer, tn_raw_binary(ctx, p->op, old, sum),
                                    at));
    }
}

/* The loop where it has at least as many turns as a vector has elements; n is the extent. */
static const tn_stmt *
wide_turns(wide *w, const tn_expr *n)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *min = w->f->min, *lanes = number(w, w->lanes);
    int64_t known, step = w->lanes * w->unroll;
    stmt_list out = {0};
    begin_sums(w, &out);
    TNB_PUSH(tn_scratch(ctx), out,
             vector_turns(w, min, tn_simplify(w->arith, tn_floordiv(ctx, n, number(w, step))),
                          w->unroll));
    if (w->unroll > 1) {
        const tn_expr *left =
            tn_simplify(w->arith, tn_floordiv(ctx, tn_floormod(ctx, n, number(w, step)), lanes));
        const tn_expr *from =
            tn_add(ctx, min, tn_mul(ctx, tn_floordiv(ctx, n, number(w, step)), number(w, step)));
        if (!tn_is_int_const(left, 0))
            TNB_PUSH(tn_scratch(ctx), out, vector_turns(w, tn_simplify(w->arith, from), left, 1));
    }
    const tn_expr *rest = tn_simplify(w->arith, tn_floormod(ctx, n, lanes));
    const tn_expr *end = tn_add(ctx, min, tn_sub(ctx, n, w->again ? lanes : rest));
    if (!tn_is_int_const(rest, 0)) {
        const tn_expr *skip =
            tn_sub(ctx, tn_i32(ctx, (int32_t)w->lanes), tn_cast_to(ctx, TNB_I32, rest));
        const tn_stmt *tail =
            w->again ? vector_turn(w, tn_simplify(w->arith, end), 0, tn_simplify(w->arith, skip))
                     : single_turns(w, tn_simplify(w->arith, end), rest);
        if (w->again && !tn_int_value(rest, &known))
            tail = tn_if_stmt_of(ctx, tn_gt_of(ctx, rest, number(w, 0)), tail, NULL);
        TNB_PUSH(tn_scratch(ctx), out, tail);
    }
    end_sums(w, &out);
    return tnk_seq(ctx, out.at, out.n);
}

/* ---- memory ---- */

typedef struct streams {
    wide *w;
    TNB_VEC(const tn_node *) data;
} streams;

/* Loads of element c + k, where c differs between runs of the loop: what does not is in a cache. */
static tn_walk_step
find_stream(void *user, const tn_node *n)
{
    streams *q = user;
    wide *w = q->w;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_expr *k = w->f->var, *coeff, *rest;
    int64_t step;
    if (!l || l->indices.n != 1 || tn_dtype_of(l->indices.at[0]).lanes != 1 ||
        !tn_linear(w->arith, l->indices.at[0], &k, 1, &coeff, &rest) ||
        !tn_int_value(coeff, &step) || step != 1 || tn_free_vars(w->ctx, rest, true).n == 0)
        return TN_WALK_ON;
    for (uint32_t i = 0; i < q->data.n; i++)
        if (q->data.at[i] == data_of(l->buffer))
            return TN_WALK_ON;
    TNB_PUSH(tn_scratch(w->ctx), q->data, data_of(l->buffer));
    return TN_WALK_ON;
}

static const tn_stmt *
mark_memory(wide *w, const tn_stmt *s)
{
    tn_ctx *ctx = w->ctx;
    int64_t ahead = tn_dict_int(w->f->annotations, ahead_key, 0);
    streams q = {.w = w};
    if (ahead > 0)
        tn_walk(w->f->body, 0, find_stream, NULL, &q);
    for (uint32_t i = 0; i < q.data.n; i++)
        s = tn_attr_stmt_of(ctx, q.data.at[i], ahead_key, tn_i64(ctx, ahead), s);
    return s;
}

/* ---- division ---- */

typedef struct divisions {
    wide *w;
    const tn_expr *by;   /* what every turn divides by; NULL: nothing yet */
    const tn_expr *with; /* its reciprocal */
} divisions;

static bool
may_be_reciprocal(divisions *q, const tn_node *n)
{
    if (n->kind != TN_KIND_DIV || !tnb_dtype_eq(tn_dtype_of(n), TNB_F32))
        return false;
    const tn_expr *by = ((const tn_binary *)n)->b;
    if (tn_is(by, TN_KIND_FLOAT_IMM) || tn_uses(by, q->w->f->var) ||
        (q->by && !tn_equal(q->w->ctx, q->by, by, false, NULL)))
        return false;
    for (uint32_t i = 0; i < q->w->n; i++) {
        const part *p = &q->w->parts[i];
        if (!p->store || find(q->w, by, p->store).loads || find(q->w, by, p->store).odd)
            return false;
    }
    return true;
}

static tn_walk_step
find_division(void *user, const tn_node *n)
{
    divisions *q = user;
    if (!q->by && may_be_reciprocal(q, n))
        q->by = ((const tn_binary *)n)->b;
    return TN_WALK_ON;
}

static const tn_node *
multiply(tn_rewriter *rw, const tn_node *n)
{
    divisions *q = rw->user;
    if (!may_be_reciprocal(q, n))
        return NULL;
    return tn_raw_binary(rw->ctx, TN_KIND_MUL, ((const tn_binary *)n)->a, q->with);
}

/* Whether what follows may turn a small difference into a whole step: rounding, integers, comparisons. */
static tn_walk_step
find_step(void *user, const tn_node *n)
{
    bool *found = user;
    tn_intrin_id id = tn_intrin_of(n);
    *found |= id == TN_INTRIN_round || id == TN_INTRIN_nearbyint || id == TN_INTRIN_floor ||
              id == TN_INTRIN_ceil || id == TN_INTRIN_trunc;
    if (n->kind == TN_KIND_CAST && !tnb_dtype_is_float(tn_dtype_of(n)))
        *found |= tnb_dtype_is_float(tn_dtype_of(tn_as_cast(n)->value));
    if (n->kind >= TN_KIND_EQ && n->kind <= TN_KIND_GE)
        *found |= tnb_dtype_is_float(tn_dtype_of(((const tn_binary *)n)->a));
    *found |= n->kind == TN_KIND_FLOOR_DIV && tnb_dtype_is_float(tn_dtype_of(n));
    *found |= n->kind == TN_KIND_FLOOR_MOD && tnb_dtype_is_float(tn_dtype_of(n));
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

/* The loop with products in place of quotients; *holds: where that is right. NULL: it divides by nothing of its own. */
static const tn_for_loop *
without_division(wide *w, const tn_expr **by, const tn_expr **with, const tn_expr **holds)
{
    tn_ctx *ctx = w->ctx;
    divisions q = {.w = w};
    bool steps = false;
    tn_walk(w->f->body, 0, find_division, NULL, &q);
    if (q.by)
        tn_walk(w->f->body, 0, find_step, NULL, &steps);
    if (!q.by || steps)
        return NULL;
    *by = q.by;
    *with = q.with = tn_var_dtype(ctx, "reciprocal", TNB_F32);
    *holds = tn_and(ctx, tn_ge_of(ctx, q.by, tn_float_imm_of(ctx, TNB_F32, 0x1p-100)),
                    tn_le_of(ctx, q.by, tn_float_imm_of(ctx, TNB_F32, 0x1p100)));
    tn_rewriter rw = {.ctx = ctx, .user = &q, .post = multiply};
    const tn_stmt *body = tn_rewrite(&rw, w->f->body);
    return tn_as_for_loop(tnk_for_with(ctx, w->f, w->f->min, w->f->extent, body));
}

static const tn_stmt *
fast_form(wide *w)
{
    const tn_expr *by, *with, *holds;
    const tn_stmt *usual = mark_memory(w, wide_turns(w, w->f->extent));
    const tn_for_loop *f = without_division(w, &by, &with, &holds);
    wide m = *w;
    if (!f || !fill(&m, f))
        return usual;
    m.again = w->again;
    const tn_stmt *s = mark_memory(&m, wide_turns(&m, m.f->extent));
    tn_ctx *ctx = w->ctx;
    const tn_expr *one = tn_float_imm_of(ctx, TNB_F32, 1);
    const tn_stmt *bound =
        tn_seqv(ctx, tn_bind_of(ctx, with, tn_raw_binary(ctx, TN_KIND_DIV, one, by)), s, NULL);
    return tn_if_stmt_of(ctx, holds, bound, usual);
}

static const tn_stmt *
widen(tnk_ranged *r, const tn_stmt *s);

/* A loop that has no wide form itself, around one that may have. */
static const tn_stmt *
widen_body(tnk_ranged *r, const tn_stmt *s, int64_t lanes)
{
    tn_ctx *ctx = r->ctx;
    const tn_for_loop *f = tn_as_for_loop(s), *in = tn_as_for_loop(f->body);
    if (!in || in->for_kind != TN_FOR_SERIAL)
        return s;
    const tn_node *annotations = tn_dict_set(ctx, in->annotations, wide_key, tn_i64(ctx, lanes));
    const tn_stmt *inner =
        tn_for_of(ctx, in->var, in->min, in->extent, in->for_kind, NULL, annotations, in->body);
    uint32_t mark = tn_arith_push(r->arith, NULL);
    tn_arith_range(r->arith, f->var, f->min, f->extent);
    inner = widen(r, inner);
    tn_arith_pop(r->arith, mark);
    return tnk_for_with(ctx, f, f->min, f->extent, inner);
}

static const tn_stmt *
widen(tnk_ranged *r, const tn_stmt *s)
{
    const int64_t lanes = lanes_of(s);
    if (!lanes)
        return NULL;
    tn_ctx *ctx = r->ctx;
    const tn_for_loop *f = tn_as_for_loop(s);
    wide w = {.ctx = ctx, .arith = r->arith, .lanes = lanes, .unroll = 1};
    const tn_node *others =
        tn_dict_set(ctx, tn_dict_set(ctx, f->annotations, wide_key, NULL), ahead_key, NULL);
    const tn_stmt *plain =
        tn_for_of(ctx, f->var, f->min, f->extent, f->for_kind, NULL, others, f->body);
    int64_t n = 0;
    bool known = tn_int_value(f->extent, &n), parallel = f->for_kind == TN_FOR_PARALLEL;
    if (lanes < 2 || lanes > 64 || lanes & (lanes - 1) || (known && n < lanes))
        return plain;
    if (!fill(&w, f)) {
        const bool alone = *(bool *)r->user;
        const tn_stmt *choice = alone ? cpu_widen_choice(r, f, lanes) : NULL;
        w.f = f;
        return choice ? mark_memory(&w, choice) : widen_body(r, plain, lanes);
    }
    if (parallel && w.reduces)
        return plain;
    w.again &= *(bool *)r->user;
    if (w.reduces && !w.calls && !(w.conditions && known))
        w.unroll = !known || n >= MAX_UNROLL * lanes ? MAX_UNROLL : n >= 2 * lanes ? 2 : 1;
    const tn_stmt *fast = fast_form(&w);
    const tn_expr *enough = tn_ge_of(ctx, f->extent, number(&w, lanes));
    if (tn_prove(r->arith, enough))
        return fast;
    const tn_stmt *few =
        tn_for_of(ctx, f->var, f->min, f->extent, TN_FOR_SERIAL, NULL, NULL, f->body);
    return tn_if_stmt_of(ctx, enough, fast, tn_fresh_copy(ctx, few, NULL));
}

static tn_walk_step
look_for_wide(void *user, const tn_node *n)
{
    bool *any = user;
    *any |= n->kind == TN_KIND_FOR && lanes_of(n) != 0;
    return *any ? TN_WALK_STOP : n->kind == TN_KIND_BUFFER_STORE ? TN_WALK_SKIP : TN_WALK_ON;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    bool any = false;
    tn_walk(f->body, 0, look_for_wide, NULL, &any);
    if (!any)
        return f->body;
    const tn_node *noalias = tn_dict_get(f->attrs, "tirx.noalias");
    bool alone = noalias && !tn_is_int_const(noalias, 0);
    tnk_ranged first = {.post = join_loops}, then = {.post = widen, .user = &alone};
    tnk_ranged_init(&first, ctx, f);
    const tn_stmt *body = alone ? tnk_ranged_rewrite(&first, f->body) : f->body;
    if (tn_is_error(body))
        return body;
    tnk_ranged_init(&then, ctx, f);
    return tnk_ranged_rewrite(&then, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass cpu_widen_loop = {
    .base.size = sizeof(tn_pass),
    .base.name = "WidenLoop",
    .base.doc = "Turns loops annotated with tenon.wide into loops over vectors: sums into several "
                "accumulators, the last elements into a vector that is moved back.",
    .keeps = TN_KEEPS_TOLERANCE,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
