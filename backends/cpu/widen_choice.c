/* SPDX-License-Identifier: Apache-2.0 */
/* The wide form of a loop that chooses, such as for the largest element and its place, for WidenLoop:
 *
 *     for k in range(n, {"tenon.wide": 8}):                          v_acc[0:8] = A[0:8]; turn[0:8] = 0
 *         take = A[k] > v[0] or (A[k] == v[0] and k < p[0])     =>   for j in range(n // 8):
 *         v[0], p[0] = A[k] if take else v[0], k if take else p[0]       take = A[j * 8:][0:8] > v_acc[0:8]
 *                                                                        v_acc, turn = A[j * 8:][0:8] if take ..., j if take ...
 *                                                                    v_acc[0:4], turn[0:4] joined with the lanes 4, 2, 1 further
 *                                                                    the loop's body for the first lane's place
 *                                                                    the loop's body for the last n % 8 elements
 *
 * Every lane has a best of its own. Its places come in order, so that comparisons of places fall away, and the turn in which
 * the lane's best came is all that has to be known of the place; it has the width of the values. With several accumulators
 * of a lane, places are compared as their turns when these are joined. In the end lanes are joined with each other, and the
 * body joins the best with what was there before. That the order of joining makes no difference, and joining twice neither,
 * tuple_reducer.c proves.
 *
 * Where the loop's body is a loop over columns, each with a result of its own, the columns are the lanes:
 *
 *     for k in range(n, {"tenon.wide": 8}):      v_acc[0:m] = A[0, 0:m]; turn[0:m] = 0
 *         for c in range(m):                =>   for k in range(n): for c in vectors: v_acc[c], turn[c] = A[k, c] if take ..., k if ...
 *             v[c], p[c] = ...                   for c in vectors: v[c], p[c] joined with v_acc[c], turn[c]
 */
#include "cpu.h"
#include "widen_loop.h"

enum { MAX_UNROLL = 4 };

typedef struct choice {
    tn_ctx *ctx;
    tn_arith *arith;
    const tn_for_loop *f;
    const tn_for_loop *columns; /* NULL: lanes are elements of the loop */
    int64_t lanes, unroll;
    tnk_tuple_reducer r;
    bool place[TNK_MAX_RESULTS];         /* it tells which turn was chosen */
    const tn_node *acc[TNK_MAX_RESULTS]; /* of a place: turns */
    tnb_dtype turn;                      /* type of turns */
    const tn_expr *left
        [TNK_MAX_RESULTS], /* what stands for the two sides of a join; of places: their turns, or NULL when */
        *right[TNK_MAX_RESULTS]; /* the right one is later than the left one */
} choice;

static const tn_expr *
number(const choice *c, int64_t v)
{
    return tn_int_imm_of(c->ctx, tn_dtype_of(c->f->var), v);
}

/* ---- what the body chooses ---- */

/* A place: k * c + d for a positive c. */
static bool
is_place(choice *c, const tn_expr *e)
{
    const tn_expr *k = c->f->var, *coeff, *rest;
    int64_t step;
    return tnb_dtype_is_int(tn_dtype_of(e)) && tn_linear(c->arith, e, &k, 1, &coeff, &rest) &&
           tn_int_value(coeff, &step) && step > 0 && !tn_uses(rest, k);
}

static bool
take_apart(choice *c)
{
    tn_ctx *ctx = c->ctx;
    const tn_buffer_store *st[TNK_MAX_RESULTS];
    const tn_stmt *body = c->columns ? c->columns->body : c->f->body;
    uint32_t n = tnk_stores_of(ctx, body, st), values = 0;
    TNB_VEC(const tn_stmt *) init = {0};
    for (uint32_t i = 0; i < n; i++) {
        tnb_dtype d = tn_as_buffer(st[i]->buffer)->dtype;
        for (uint32_t k = 0; k < st[i]->indices.n; k++)
            if (tn_uses(st[i]->indices.at[k], c->f->var))
                return false;
        const tn_expr *zero =
            tnb_dtype_is_float(d) ? tn_float_imm_of(ctx, d, 0) : tn_int_imm_of(ctx, d, 0);
        TNB_PUSH(tn_scratch(ctx), init,
                 tn_buffer_store_of(ctx, st[i]->buffer, zero, st[i]->indices));
    }
    if (n < 2)
        return false;
    const tn_block b = {.name = "choice", .body = body, .init = tnk_seq(ctx, init.at, n)};
    if (!tnk_tuple_reducer_of(ctx, &b, &c->r) || c->r.independent)
        return false;
    int bits = 32;
    for (uint32_t i = 0; i < n; i++) {
        c->place[i] = is_place(c, c->r.value[i]);
        values += !c->place[i];
        if (!c->place[i] && tnb_dtype_bytes(tn_as_buffer(st[i]->buffer)->dtype) == 8)
            bits = 64;
        if (tnb_dtype_is_bool(tn_as_buffer(st[i]->buffer)->dtype))
            return false;
    }
    c->turn = TNB_DTYPE(TNB_INT, bits);
    return values > 0 && values < n;
}

/* ---- joining ---- */

static const tn_expr *
truth(choice *c, bool v)
{
    return tn_bool(c->ctx, v);
}

static bool
is_truth(const tn_node *n, int64_t v)
{
    return tn_is_int_const(n, v);
}

/* A comparison of two places. */
static const tn_node *
compare_places(choice *c, const tn_node *n, uint32_t i, bool swapped)
{
    const tn_expr *l = c->left[i], *r = c->right[i];
    if (l)
        return swapped ? tn_raw_binary(c->ctx, (tn_kind)n->kind, r, l)
                       : tn_raw_binary(c->ctx, (tn_kind)n->kind, l, r);
    switch ((int)n->kind) { /* the right one is the larger one */
    case TN_KIND_LT:
    case TN_KIND_LE:
        return truth(c, !swapped);
    case TN_KIND_GT:
    case TN_KIND_GE:
        return truth(c, swapped);
    default:
        return truth(c, n->kind == TN_KIND_NE);
    }
}

static const tn_node *
put_sides(tn_rewriter *rw, const tn_node *n)
{
    choice *c = rw->user;
    const tn_binary *b = tn_as_binary(n);
    for (uint32_t i = 0; i < c->r.n; i++) {
        const tn_expr *l = c->r.lhs[i], *r = c->r.rhs[i];
        if (!c->place[i] && (n == l || n == r))
            return n == l ? c->left[i] : c->right[i];
        if (c->place[i] && b && n->kind >= TN_KIND_EQ && n->kind <= TN_KIND_GE &&
            ((b->a == l && b->b == r) || (b->a == r && b->b == l)))
            return compare_places(c, n, i, b->a == r);
    }
    if (n->kind == TN_KIND_AND)
        return is_truth(b->a, 0) || is_truth(b->b, 1)   ? b->a
               : is_truth(b->b, 0) || is_truth(b->a, 1) ? b->b
                                                        : NULL;
    if (n->kind == TN_KIND_OR)
        return is_truth(b->a, 1) || is_truth(b->b, 0)   ? b->a
               : is_truth(b->b, 1) || is_truth(b->a, 0) ? b->b
                                                        : NULL;
    return NULL;
}

static const tn_expr *
with_sides(choice *c, const tn_expr *e)
{
    tn_rewriter rw = {.ctx = c->ctx, .user = c, .post = put_sides};
    e = tn_rewrite(&rw, e);
    for (uint32_t i = 0; i < c->r.n; i++)
        if (tn_uses(e, c->r.lhs[i]) || tn_uses(e, c->r.rhs[i]))
            return NULL;
    return e;
}

static const tn_expr *
element(const choice *c, uint32_t i, const tn_expr *at)
{
    return tn_buffer_load_of(c->ctx, c->acc[i], tn_listv(c->ctx, at, NULL));
}

/* acc[at] = acc[at] joined with the right sides, lane by lane v; turns: of the right sides' places. NULL: places count in
 * another way than by coming in order. */
static const tn_stmt *
join_lanes(choice *c, const tn_expr *v, const tn_expr *at, const tn_expr *const *turns)
{
    tn_ctx *ctx = c->ctx;
    TNB_VEC(const tn_stmt *) out = {0};
    const tn_expr *next[TNK_MAX_RESULTS];
    for (uint32_t i = 0; i < c->r.n; i++) {
        const tn_select *s = tn_as_select(c->r.joined[i]);
        const tn_expr *e;
        if (!c->place[i]) {
            e = with_sides(c, c->r.joined[i]);
        } else {
            if (!s || !((s->a == c->r.lhs[i] && s->b == c->r.rhs[i]) ||
                        (s->a == c->r.rhs[i] && s->b == c->r.lhs[i])))
                return NULL;
            e = with_sides(c, s->cond);
            const tn_expr *old = element(c, i, at);
            if (e)
                e = s->a == c->r.lhs[i] ? tn_select_of(ctx, e, old, turns[i])
                                        : tn_select_of(ctx, e, turns[i], old);
        }
        if (!e)
            return NULL;
        next[i] = tn_var_dtype(ctx, c->place[i] ? "turn" : "best", tn_dtype_of(e));
        TNB_PUSH(tn_scratch(ctx), out, tn_bind_of(ctx, next[i], e));
    }
    for (uint32_t i = 0; i < c->r.n; i++)
        TNB_PUSH(tn_scratch(ctx), out,
                 tn_buffer_store_of(ctx, c->acc[i], next[i], tn_listv(ctx, at, NULL)));
    return tn_for_of(ctx, v, number(c, 0), number(c, c->lanes), TN_FOR_VECTORIZED, NULL, NULL,
                     tnk_seq(ctx, out.at, out.n));
}

static const tn_expr *
lane_variable(choice *c)
{
    return tn_var_dtype(c->ctx, "v", tn_dtype_of(c->f->var));
}

/* Element number `turn` * lanes + v of the loop. */
static const tn_expr *
element_of(choice *c, const tn_expr *turn, const tn_expr *v)
{
    return tn_add(c->ctx, c->f->min, tn_add(c->ctx, tn_mul(c->ctx, turn, number(c, c->lanes)), v));
}

static const tn_expr *
value_at(choice *c, uint32_t i, const tn_expr *k)
{
    return tn_subst1(c->ctx, c->r.value[i], c->f->var, k);
}

/* Turn number `turn`, a vector, into accumulators u. */
static const tn_stmt *
vector_turn(choice *c, const tn_expr *turn, int64_t u)
{
    tn_ctx *ctx = c->ctx;
    const tn_expr *v = lane_variable(c), *at = tn_add(ctx, v, number(c, u * c->lanes)),
                  *turns[TNK_MAX_RESULTS];
    for (uint32_t i = 0; i < c->r.n; i++) {
        turns[i] = tn_cast_to(ctx, c->turn, turn);
        c->left[i] = c->place[i] ? NULL : element(c, i, at);
        c->right[i] = c->place[i] ? NULL : value_at(c, i, element_of(c, turn, v));
    }
    return join_lanes(c, v, at, turns);
}

/* Lanes from number `far` on into the first ones. */
static const tn_stmt *
join_from(choice *c, int64_t far)
{
    tn_ctx *ctx = c->ctx;
    const tn_expr *v = lane_variable(c), *from = tn_add(ctx, v, number(c, far)),
                  *turns[TNK_MAX_RESULTS];
    for (uint32_t i = 0; i < c->r.n; i++) {
        c->left[i] = element(c, i, v);
        c->right[i] = turns[i] = element(c, i, from);
    }
    return join_lanes(c, v, v, turns);
}

/* ---- the loop ---- */

/* The accumulators, each with the first vector, which may be joined in again. */
static void
begin(choice *c, cpu_stmts *out)
{
    tn_ctx *ctx = c->ctx;
    for (uint32_t i = 0; i < c->r.n; i++) {
        const tn_buffer *b = tn_as_buffer(c->r.store[i]->buffer);
        c->acc[i] = tn_buffer_new(ctx, tn_strf(ctx, "%s_%s", b->name, c->place[i] ? "turn" : "acc"),
                                  tn_listv(ctx, number(c, c->lanes * c->unroll), NULL),
                                  c->place[i] ? c->turn : b->dtype, "local");
        TNB_PUSH(tn_scratch(ctx), *out, tn_alloc_buffer_of(ctx, c->acc[i], NULL));
        for (int64_t u = 0; u < c->unroll; u++) {
            const tn_expr *v = lane_variable(c);
            const tn_expr *x = c->place[i] ? tn_int_imm_of(ctx, c->turn, 0)
                                           : value_at(c, i, element_of(c, number(c, 0), v));
            const tn_list at = tn_listv(ctx, tn_add(ctx, v, number(c, u * c->lanes)), NULL);
            TNB_PUSH(tn_scratch(ctx), *out,
                     tn_for_of(ctx, v, number(c, 0), number(c, c->lanes), TN_FOR_VECTORIZED, NULL,
                               NULL, tn_buffer_store_of(ctx, c->acc[i], x, at)));
        }
    }
}

/* for j in range(turns): `per` vectors a turn, from vector `from` on */
static const tn_stmt *
vector_turns(choice *c, const tn_expr *from, const tn_expr *turns, int64_t per)
{
    tn_ctx *ctx = c->ctx;
    cpu_stmts out = {0};
    const tn_expr *j = tn_var_dtype(ctx, tn_var_name(c->f->var), tn_dtype_of(c->f->var));
    for (int64_t u = 0; u < per; u++) {
        const tn_expr *turn =
            tn_add(ctx, tn_mul(ctx, j, number(c, per)), tn_add(ctx, from, number(c, u)));
        const tn_stmt *s = vector_turn(c, turn, u);
        if (!s)
            return NULL;
        TNB_PUSH(tn_scratch(ctx), out, s);
    }
    return tn_for_of(ctx, j, number(c, 0), turns, TN_FOR_SERIAL, NULL, NULL,
                     tnk_seq(ctx, out.at, out.n));
}

/* The body for element k. */
static const tn_stmt *
body_at(choice *c, const tn_expr *k)
{
    return tn_subst1(c->ctx, tn_fresh_copy(c->ctx, c->f->body, NULL), c->f->var, k);
}

/* Copies of the accumulators, so that these are registers; of turns, the places in the loop. */
static const tn_node *
copy_of_lanes(choice *c, uint32_t i, cpu_stmts *out)
{
    tn_ctx *ctx = c->ctx;
    const tn_expr *v = lane_variable(c), *x = element(c, i, v);
    if (c->place[i])
        x = tn_add(ctx, tn_mul(ctx, x, tn_int_imm_of(ctx, c->turn, c->lanes)),
                   tn_cast_to(ctx, c->turn, v));
    const tn_buffer *b = tn_as_buffer(c->acc[i]);
    const tn_node *row = tn_buffer_new(ctx, c->place[i] ? "places" : "bests",
                                       tn_listv(ctx, number(c, c->lanes), NULL), b->dtype, "local");
    TNB_PUSH(tn_scratch(ctx), *out, tn_alloc_buffer_of(ctx, row, NULL));
    TNB_PUSH(tn_scratch(ctx), *out,
             tn_for_of(ctx, v, number(c, 0), number(c, c->lanes), TN_FOR_VECTORIZED, NULL, NULL,
                       tn_buffer_store_of(ctx, row, x, tn_listv(ctx, v, NULL))));
    return row;
}

/* The lanes' bests, joined by halves, quarters, ...; always half of the lanes at once, as joining twice does no harm, so
 * that no branch goes by what the values are. Then the body for the first lane's place. */
static bool
join_with_results(choice *c, cpu_stmts *out)
{
    tn_ctx *ctx = c->ctx;
    const int64_t lanes = c->lanes;
    uint32_t place = 0;
    while (!c->place[place])
        place++;
    for (uint32_t i = 0; i < c->r.n; i++)
        c->acc[i] = copy_of_lanes(c, i, out);
    c->lanes = lanes / 2;
    for (int64_t far = lanes / 2; far > 0; far /= 2) {
        const tn_stmt *s = join_from(c, far);
        if (!s)
            return false;
        TNB_PUSH(tn_scratch(ctx), *out, s);
    }
    c->lanes = lanes;
    const tn_expr *k = tn_var_dtype(ctx, tn_var_name(c->f->var), tn_dtype_of(c->f->var)),
                  *at = tn_cast_to(ctx, tn_dtype_of(k), element(c, place, number(c, 0)));
    TNB_PUSH(tn_scratch(ctx), *out, tn_bind_of(ctx, k, tn_add(ctx, c->f->min, at)));
    TNB_PUSH(tn_scratch(ctx), *out, body_at(c, k));
    return true;
}

/* ---- columns ---- */

typedef struct columns {
    choice *c;
    int64_t n; /* columns */
} columns;

/* for v in vectors of columns: body(column) */
static const tn_stmt *
each_vector(columns *q,
            const tn_stmt *(*body)(columns *q, const tn_expr *v, const tn_expr *column,
                                   const tn_expr *turn),
            const tn_expr *turn)
{
    choice *c = q->c;
    const tn_expr *j = tn_var_dtype(c->ctx, tn_var_name(c->columns->var), tn_dtype_of(c->f->var)),
                  *v = lane_variable(c), *from = tn_mul(c->ctx, j, number(c, c->lanes));
    if (q->n % c->lanes) /* the last vector is moved back: joining twice does no harm */
        from = tn_min(c->ctx, from, number(c, q->n - c->lanes));
    const tn_stmt *s = body(q, v, tn_add(c->ctx, from, v), turn);
    return s ? tn_for_of(c->ctx, j, number(c, 0), number(c, (q->n + c->lanes - 1) / c->lanes),
                         TN_FOR_SERIAL, NULL, NULL, s)
             : NULL;
}

static const tn_stmt *
vectorized(choice *c, const tn_expr *v, const tn_stmt *s)
{
    return tn_for_of(c->ctx, v, number(c, 0), number(c, c->lanes), TN_FOR_VECTORIZED, NULL, NULL,
                     s);
}

/* Result i of the body for element k and a column. */
static const tn_expr *
value_in(choice *c, uint32_t i, const tn_expr *k, const tn_expr *column)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(c->ctx));
    tnb_ptrmap_set(&map, c->f->var, k);
    tnb_ptrmap_set(&map, c->columns->var, tn_add(c->ctx, c->columns->min, column));
    return tn_subst(c->ctx, c->r.value[i], &map);
}

/* The first element is every column's best; it may be joined in again. */
static const tn_stmt *
begin_columns(columns *q, const tn_expr *v, const tn_expr *column, const tn_expr *turn)
{
    choice *c = q->c;
    TNB_VEC(const tn_stmt *) out = {0};
    (void)turn;
    for (uint32_t i = 0; i < c->r.n; i++) {
        const tn_expr *x =
            c->place[i] ? tn_int_imm_of(c->ctx, c->turn, 0) : value_in(c, i, c->f->min, column);
        TNB_PUSH(tn_scratch(c->ctx), out,
                 tn_buffer_store_of(c->ctx, c->acc[i], x, tn_listv(c->ctx, column, NULL)));
    }
    return vectorized(c, v, tnk_seq(c->ctx, out.at, out.n));
}

static const tn_stmt *
turn_of_columns(columns *q, const tn_expr *v, const tn_expr *column, const tn_expr *turn)
{
    choice *c = q->c;
    const tn_expr *turns[TNK_MAX_RESULTS], *k = tn_add(c->ctx, c->f->min, turn);
    for (uint32_t i = 0; i < c->r.n; i++) {
        turns[i] = tn_cast_to(c->ctx, c->turn, turn);
        c->left[i] = c->place[i] ? NULL : element(c, i, column);
        c->right[i] = c->place[i] ? NULL : value_in(c, i, k, column);
    }
    return join_lanes(c, v, column, turns);
}

/* What was there before, joined with the columns' bests. */
static const tn_stmt *
end_columns(columns *q, const tn_expr *v, const tn_expr *column, const tn_expr *turn)
{
    choice *c = q->c;
    tn_ctx *ctx = c->ctx;
    TNB_VEC(const tn_stmt *) out = {0};
    const tn_expr *at = tn_add(ctx, c->columns->min, column), *next[TNK_MAX_RESULTS];
    tnb_ptrmap map;
    (void)turn;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < c->r.n; i++) {
        const tn_expr *old = tn_buffer_load_of(ctx, c->r.store[i]->buffer, c->r.store[i]->indices);
        const tn_expr *best = element(c, i, column);
        if (c->place[i]) { /* the place of the element that was chosen */
            best = tn_add(ctx, c->f->min, tn_cast_to(ctx, tn_dtype_of(c->f->var), best));
            best = value_in(c, i, best, column);
        }
        tnb_ptrmap_set(&map, c->r.lhs[i], tn_subst1(ctx, old, c->columns->var, at));
        tnb_ptrmap_set(&map, c->r.rhs[i], best);
    }
    for (uint32_t i = 0; i < c->r.n; i++) {
        next[i] = tn_var_dtype(ctx, "joined", tn_dtype_of(c->r.joined[i]));
        TNB_PUSH(tn_scratch(ctx), out,
                 tn_bind_of(ctx, next[i], tn_subst(ctx, c->r.joined[i], &map)));
    }
    for (uint32_t i = 0; i < c->r.n; i++) {
        const tn_stmt *st =
            tn_buffer_store_of(ctx, c->r.store[i]->buffer, next[i], c->r.store[i]->indices);
        TNB_PUSH(tn_scratch(ctx), out, tn_subst1(ctx, st, c->columns->var, at));
    }
    return vectorized(c, v, tnk_seq(ctx, out.at, out.n));
}

static const tn_stmt *
choice_of_columns(choice *c)
{
    enum { MOST_COLUMNS = 4096 /* whose bests are kept on the stack */ };
    tn_ctx *ctx = c->ctx;
    int64_t turns;
    columns q = {.c = c};
    cpu_stmts out = {0};
    if (c->columns->for_kind != TN_FOR_SERIAL || !tn_int_value(c->columns->extent, &q.n) ||
        q.n < c->lanes || q.n > MOST_COLUMNS || !tn_int_value(c->f->extent, &turns) || turns < 1 ||
        turns > INT32_MAX || tn_uses(c->columns->min, c->f->var) ||
        !tnb_dtype_eq(tn_dtype_of(c->columns->var), tn_dtype_of(c->f->var)) || !take_apart(c))
        return NULL;
    for (uint32_t i = 0; i < c->r.n; i++) {
        const tn_buffer *b = tn_as_buffer(c->r.store[i]->buffer);
        c->acc[i] = tn_buffer_new(ctx, tn_strf(ctx, "%s_%s", b->name, c->place[i] ? "turn" : "acc"),
                                  tn_listv(ctx, number(c, q.n), NULL),
                                  c->place[i] ? c->turn : b->dtype, "local");
        TNB_PUSH(tn_scratch(ctx), out, tn_alloc_buffer_of(ctx, c->acc[i], NULL));
    }
    const tn_expr *k = tn_var_dtype(ctx, tn_var_name(c->f->var), tn_dtype_of(c->f->var));
    const tn_stmt *turn = each_vector(&q, turn_of_columns, k);
    if (!turn)
        return NULL;
    TNB_PUSH(tn_scratch(ctx), out, each_vector(&q, begin_columns, NULL));
    TNB_PUSH(tn_scratch(ctx), out,
             tn_for_of(ctx, k, number(c, 0), number(c, turns), TN_FOR_SERIAL, NULL, NULL, turn));
    TNB_PUSH(tn_scratch(ctx), out, each_vector(&q, end_columns, NULL));
    return tnk_seq(ctx, out.at, out.n);
}

const tn_stmt *
cpu_widen_choice(tnk_ranged *r, const tn_for_loop *f, int64_t lanes)
{
    tn_ctx *ctx = r->ctx;
    if (tn_is(f->body, TN_KIND_FOR) && f->for_kind == TN_FOR_SERIAL) {
        choice of_columns = {.ctx = ctx,
                             .arith = r->arith,
                             .f = f,
                             .columns = (const tn_for_loop *)f->body,
                             .lanes = lanes,
                             .unroll = 1};
        return choice_of_columns(&of_columns);
    }
    choice c = {.ctx = ctx, .arith = r->arith, .f = f, .lanes = lanes, .unroll = MAX_UNROLL};
    if (f->for_kind != TN_FOR_SERIAL || !take_apart(&c))
        return NULL;
    int64_t known, step = lanes * MAX_UNROLL;
    if (tn_int_value(f->extent, &known) && known < 2 * step)
        c.unroll = known < 2 * lanes ? 1 : 2, step = lanes * c.unroll;
    cpu_stmts out = {0};
    begin(&c, &out);
    const tn_expr *n = f->extent, *zero = number(&c, 0),
                  *rounds = tn_simplify(r->arith, tn_floordiv(ctx, n, number(&c, step)));
    const tn_stmt *s = vector_turns(&c, zero, rounds, c.unroll);
    if (!s)
        return NULL;
    TNB_PUSH(tn_scratch(ctx), out, s);
    const tn_expr *left =
        tn_simplify(r->arith,
                    tn_floordiv(ctx, tn_floormod(ctx, n, number(&c, step)), number(&c, lanes)));
    if (c.unroll > 1 && !tn_is_int_const(left, 0))
        TNB_PUSH(tn_scratch(ctx), out,
                 vector_turns(&c, tn_mul(ctx, rounds, number(&c, c.unroll)), left, 1));
    for (int64_t u = 1; u < c.unroll; u++) {
        if (!(s = join_from(&c, u * c.lanes)))
            return NULL;
        TNB_PUSH(tn_scratch(ctx), out, s);
    }
    if (!join_with_results(&c, &out))
        return NULL;
    const tn_expr *rest = tn_simplify(r->arith, tn_floormod(ctx, n, number(&c, lanes)));
    if (!tn_is_int_const(rest, 0)) {
        const tn_expr *j = tn_var_dtype(ctx, tn_var_name(f->var), tn_dtype_of(f->var)),
                      *end = tn_add(ctx, f->min, tn_sub(ctx, n, rest));
        TNB_PUSH(tn_scratch(ctx), out,
                 tn_for_of(ctx, j, zero, rest, TN_FOR_SERIAL, NULL, NULL,
                           body_at(&c, tn_add(ctx, tn_simplify(r->arith, end), j))));
    }
    const tn_stmt *fast = tnk_seq(ctx, out.at, out.n);
    /* at least a vector, and no more turns than their type counts */
    const tn_expr *fits =
        tn_and(ctx, tn_ge_of(ctx, n, number(&c, lanes)), tn_le_of(ctx, n, number(&c, INT32_MAX)));
    if (tn_prove(r->arith, fits))
        return fast;
    const tn_stmt *few = tn_for_of(ctx, f->var, f->min, n, TN_FOR_SERIAL, NULL, NULL, f->body);
    return tn_if_stmt_of(ctx, fits, fast, tn_fresh_copy(ctx, few, NULL));
}
