/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers as one tensor program with a serial loop over the steps. An LSTM:
 *
 *     hs, cs = h, c
 *     for d in directions:
 *         for t in steps:                                                      T.axis.scan
 *             sums[d, b, j] += hs[d, b, k] * R[d, k, j]                        one product for all
 *                                                                              gates
 *             gates[d, b, j] = sums[d, b, j] + XW[place(d, t, b), b, d * 4 * H + j]
 *             cs[d, b, h], hs[d, b, h], Y[place(d, t, b), d, b, h] = functions of gates and cs
 *     h_last, c_last = hs, cs
 *
 * A GRU that resets before the product has two products a step. Steps past a sequence's length keep
 * the state and give zeros; place() counts from the end of the sequence where a direction is
 * reversed. States and sums of float16 are float32.
 *
 * Every step reads all of R: where its columns are a multiple of 16 they are packed into panels of
 * up to 64, so that it is read from end to end. Columns then are two indices, panel and column of
 * the panel, here and in sums and gates.
 */
#include "recurrent.h"

#include "emit.h"

typedef struct program {
    emit e;
    recurrent_layer l;
    tnb_dtype d, w; /* of the tensors, of the computation */
    const tn_node *xw, *r, *bias, *peephole, *lengths;
    const tn_node *y, *hs, *cs, *sums, *gates;
    const tn_expr *steps, *batch, *hidden, *dirs;
    int64_t panel; /* columns of one; 0: a single panel of all columns */
    const tn_expr *loop_d, *loop_t;
    TNB_VEC(const tn_stmt *) turn; /* what one step does */
} program;

/* ---- blocks ---- */

enum { MAX_ITERS = 5 };

/* A block in the making: the iterators d and (where it looks at the step) t, then its own. */
typedef struct nest {
    program *p;
    const char *name;
    uint32_t n, outer; /* iterators; those bound to loops around the whole nest */
    const tn_expr *var[MAX_ITERS], *loop[MAX_ITERS], *extent[MAX_ITERS];
    tn_iter_kind kind[MAX_ITERS];
} nest;

static const tn_expr *
iter(nest *n, const char *name, const tn_expr *extent, tn_iter_kind kind, const tn_expr *loop)
{
    tn_ctx *ctx = n->p->e.ctx;
    uint32_t i = n->n++;
    n->kind[i] = kind;
    n->extent[i] = extent;
    n->loop[i] = loop ? loop : tn_var_dtype(ctx, name, TNB_I64);
    n->outer += loop != NULL;
    return n->var[i] = tn_var_dtype(ctx, tn_strf(ctx, "v_%s", name), TNB_I64);
}

enum { OUTSIDE, SAME_EACH_TURN, IN_TURN };

static nest
begin_nest(program *p, const char *name, int where)
{
    nest n = {.p = p, .name = name};
    iter(&n, "d", p->dirs, TN_ITER_SPATIAL, where == OUTSIDE ? NULL : p->loop_d);
    if (where == IN_TURN)
        iter(&n, "t", p->steps, TN_ITER_SCAN, p->loop_t);
    return n;
}

static const tn_stmt *
end_nest(nest *n, tn_list reads, tn_list writes, const tn_stmt *init, const tn_stmt *body)
{
    tn_ctx *ctx = n->p->e.ctx;
    tn_list iters = {0};
    for (uint32_t i = 0; i < n->n; i++)
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), n->extent[i]),
                                              n->var[i], n->kind[i], NULL));
    tn_block b = {.name = tn_str(ctx, n->name),
                  .iters = iters,
                  .reads = reads,
                  .writes = writes,
                  .init = init,
                  .body = body};
    const tn_stmt *s = tn_block_realize_of(ctx, tn_list_of(ctx, n->loop, n->n), tn_bool(ctx, true),
                                           tn_block_of(ctx, &b));
    return emit_loops(ctx, n->loop + n->outer, n->extent + n->outer, n->n - n->outer, s);
}

/* buffer[at] */
static const tn_expr *
read_at(program *p, const tn_node *buffer, tn_list at)
{
    return tnk_te_read_at(p->e.te, buffer, at.at, at.n);
}

/* to[d, b, h] = from[d, b, h], in front of the loops or behind them */
static void
copy_state(program *p, const char *name, const tn_node *to, const tn_node *from)
{
    tn_ctx *ctx = p->e.ctx;
    nest n = begin_nest(p, name, OUTSIDE);
    const tn_expr *d = n.var[0], *b = iter(&n, "b", p->batch, TN_ITER_SPATIAL, NULL),
                  *h = iter(&n, "h", p->hidden, TN_ITER_SPATIAL, NULL);
    tn_list at = tn_listv(ctx, d, b, h, NULL);
    tn_list reads = tn_listv(ctx, tn_region_point(ctx, from, at), NULL),
            writes = tn_listv(ctx, tn_region_point(ctx, to, at), NULL);
    const tn_expr *v = tn_cast_to(ctx, emit_dtype(to), read_at(p, from, at));
    tnk_te_append(p->e.te, end_nest(&n, reads, writes, NULL, tn_buffer_store_of(ctx, to, v, at)));
}

/* The sequences' lengths, each looked at once: at most as many steps as there are. */
static void
check_lengths(program *p)
{
    tn_ctx *ctx = p->e.ctx;
    nest n = {.p = p, .name = "lengths"};
    const tn_node *from = p->lengths,
                  *to = tnk_te_buffer(p->e.te, "lengths", &p->batch, 1, TNB_I64);
    const tn_expr *b = iter(&n, "b", p->batch, TN_ITER_SPATIAL, NULL);
    tn_list at = tn_listv(ctx, b, NULL);
    const tn_expr *steps = emit_data_index(&p->e, p->l.lengths, read_at(p, from, at),
                                           tn_addi(ctx, p->steps, 1), false, "sequence length");
    tn_list reads = tn_listv(ctx, tn_region_point(ctx, from, at), NULL),
            writes = tn_listv(ctx, tn_region_point(ctx, to, at), NULL);
    const tn_stmt *put = tn_buffer_store_of(ctx, to, tn_cast_to(ctx, TNB_I64, steps), at);
    tnk_te_append(p->e.te, end_nest(&n, reads, writes, NULL, put));
    p->lengths = to;
}

/* ---- steps ---- */

static const tn_expr *
length(program *p, const tn_expr *b)
{
    return tnk_te_read(p->e.te, p->lengths, b, NULL);
}

/* Whether the lengths decide where a direction's steps are. */
static bool
places_vary(const program *p)
{
    return p->lengths && (p->l.reverse[0] || p->l.reverse[1]);
}

/* The step's place in the sequence. */
static const tn_expr *
place(program *p, const tn_expr *d, const tn_expr *t, const tn_expr *b)
{
    tn_ctx *ctx = p->e.ctx;
    if (!p->l.reverse[0] && !p->l.reverse[1])
        return t;
    const tn_expr *back = tn_sub(ctx, tn_subi(ctx, p->steps, 1), t);
    if (p->lengths)
        back = tn_select_of(ctx, tn_lt_of(ctx, t, length(p, b)),
                            tn_sub(ctx, tn_subi(ctx, length(p, b), 1), t), t);
    return p->l.reverse[0] ? back : tn_select_of(ctx, tn_eq_of(ctx, d, tn_i64(ctx, 1)), back, t);
}

static const tn_expr *
clipped(program *p, const tn_expr *x)
{
    tn_ctx *ctx = p->e.ctx;
    return p->l.has_clip ? tn_max(ctx, tn_min(ctx, x, tn_literal(ctx, p->w, p->l.clip)),
                                  tn_literal(ctx, p->w, -p->l.clip))
                         : x;
}

static const tn_expr *
function_value(program *p, const recurrent_function *f, const tn_expr *x)
{
    tn_ctx *ctx = p->e.ctx;
    tnb_dtype w = p->w;
    const tn_expr *zero = tn_literal(ctx, w, 0), *one = tn_literal(ctx, w, 1),
                  *alpha = tn_literal(ctx, w, f->alpha), *beta = tn_literal(ctx, w, f->beta);
    switch (f->kind) {
    case RECURRENT_SIGMOID:
        return tn_intrin1(ctx, TN_INTRIN_sigmoid, x);
    case RECURRENT_TANH:
        return tn_intrin1(ctx, TN_INTRIN_tanh, x);
    case RECURRENT_RELU:
        return tn_max(ctx, x, zero);
    case RECURRENT_AFFINE:
        return tn_add(ctx, tn_mul(ctx, x, alpha), beta);
    case RECURRENT_LEAKY_RELU:
        return tn_select_of(ctx, tn_lt_of(ctx, zero, x), x, tn_mul(ctx, x, alpha));
    case RECURRENT_THRESHOLDED_RELU:
        return tn_select_of(ctx, tn_gt_of(ctx, x, alpha), x, zero);
    case RECURRENT_SCALED_TANH:
        return tn_mul(ctx, tn_intrin1(ctx, TN_INTRIN_tanh, tn_mul(ctx, x, beta)), alpha);
    case RECURRENT_HARD_SIGMOID:
        return tn_max(ctx, tn_min(ctx, tn_add(ctx, tn_mul(ctx, x, alpha), beta), one), zero);
    case RECURRENT_ELU:
        return tn_select_of(ctx, tn_lt_of(ctx, zero, x), x,
                            tn_mul(ctx, tn_sub(ctx, tn_intrin1(ctx, TN_INTRIN_exp, x), one),
                                   alpha));
    case RECURRENT_SOFTSIGN:
        return tn_div(ctx, x, tn_add(ctx, one, tn_intrin1(ctx, TN_INTRIN_fabs, x)));
    case RECURRENT_SOFTPLUS:
        return emit_softplus(ctx, x, w);
    }
    return tn_error_node(ctx);
}

/* Function i of the direction at hand: both are computed where the directions' differ. */
static const tn_expr *
activate(program *p, uint32_t i, const tn_expr *d, const tn_expr *x)
{
    tn_ctx *ctx = p->e.ctx;
    const recurrent_function *a = &p->l.f[i], *b = &p->l.f[p->l.functions + i];
    const tn_expr *v = function_value(p, a, x);
    if (p->l.dirs == 1 || (a->kind == b->kind && a->alpha == b->alpha && a->beta == b->beta))
        return v;
    return tn_select_of(ctx, tn_eq_of(ctx, d, tn_i64(ctx, 0)), v, function_value(p, b, x));
}

/* ---- columns ---- */

/* The number of panels, and of columns in one. */
static void
columns_dims(program *p, const tn_expr *columns, const tn_expr **panels, const tn_expr **each)
{
    tn_ctx *ctx = p->e.ctx;
    *panels = p->panel ? dim_floordiv(ctx, columns, p->panel) : tn_i64(ctx, 1);
    *each = p->panel ? tn_i64(ctx, p->panel) : columns;
}

/* buffer[d, b, column] */
static const tn_expr *
at_column(program *p, const tn_node *buffer, const tn_expr *d, const tn_expr *b, const tn_expr *j)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *panel = tn_i64(ctx, 0);
    if (p->panel) {
        panel = tn_floordivi(ctx, j, p->panel);
        j = tn_floormodi(ctx, j, p->panel);
    }
    return tnk_te_read(p->e.te, buffer, d, b, panel, j, NULL);
}

static const tn_node *
columns_buffer(program *p, const char *name, const tn_expr *columns)
{
    const tn_expr *dims[4] = {p->dirs, p->batch};
    columns_dims(p, columns, &dims[2], &dims[3]);
    return tnk_te_buffer(p->e.te, name, dims, 4, p->w);
}

/* sums[d, b, jo, ji] = sum over k of state[d, b, k] * R[d, first + jo, k, ji]; first: a multiple of
 * the panel */
static void
product(program *p, const char *name, const tn_node *sums, const tn_node *state,
        const tn_expr *first, const tn_expr *columns)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *panels, *each;
    columns_dims(p, columns, &panels, &each);
    nest n = begin_nest(p, name, SAME_EACH_TURN);
    const tn_expr *d = n.var[0], *b = iter(&n, "b", p->batch, TN_ITER_SPATIAL, NULL),
                  *jo = iter(&n, "jo", panels, TN_ITER_SPATIAL, NULL),
                  *ji = iter(&n, "ji", each, TN_ITER_SPATIAL, NULL),
                  *k = iter(&n, "k", p->hidden, TN_ITER_REDUCE, NULL);
    const tn_expr *ro = p->panel ? tn_add(ctx, dim_floordiv(ctx, first, p->panel), jo) : jo,
                  *ri = p->panel ? ji : tn_add(ctx, first, ji);
    tn_list state_at = tn_listv(ctx, d, b, k, NULL), weight_at = tn_listv(ctx, d, ro, k, ri, NULL),
            sum_at = tn_listv(ctx, d, b, jo, ji, NULL);
    const tn_expr *weight = tn_cast_to(ctx, p->w, read_at(p, p->r, weight_at));
    const tn_expr *term = tn_mul(ctx, read_at(p, state, state_at), weight);
    const tn_expr *next = tn_add(ctx, read_at(p, sums, sum_at), term);
    tn_list reads = tn_listv(ctx, tn_region_point(ctx, state, state_at),
                             tn_region_point(ctx, p->r, weight_at), NULL),
            writes = tn_listv(ctx, tn_region_point(ctx, sums, sum_at), NULL);
    const tn_stmt *init = tn_buffer_store_of(ctx, sums, tn_literal(ctx, p->w, 0), sum_at),
                  *body = tn_buffer_store_of(ctx, sums, next, sum_at);
    TNB_PUSH(tn_scratch(ctx), p->turn, end_nest(&n, reads, writes, init, body));
}

/* What the input gives to gate g of element h. */
static const tn_expr *
from_input(program *p, const tn_expr *at, const tn_expr *b, const tn_expr *d, const tn_expr *j)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *all = tn_mul(ctx, tn_i64(ctx, p->l.gates), p->hidden);
    const tn_expr *column = tn_add(ctx, tn_mul(ctx, d, all), j);
    return tn_cast_to(ctx, p->w, tnk_te_read(p->e.te, p->xw, at, b, column, NULL));
}

/* gates = sums + what the input or the bias adds, for `columns` columns; first: the bias' place */
static void
add_to_sums(program *p, const char *name, const tn_node *gates, const tn_node *sums, bool input,
            const tn_expr *first, const tn_expr *columns)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *panels, *each;
    columns_dims(p, columns, &panels, &each);
    nest n = begin_nest(p, name, IN_TURN);
    const tn_expr *d = n.var[0], *t = n.var[1], *b = iter(&n, "b", p->batch, TN_ITER_SPATIAL, NULL),
                  *jo = iter(&n, "jo", panels, TN_ITER_SPATIAL, NULL),
                  *ji = iter(&n, "ji", each, TN_ITER_SPATIAL, NULL);
    const tn_expr *j = tn_add(ctx, tn_mul(ctx, jo, each), ji);
    const tn_expr *v =
        input
            ? from_input(p, place(p, d, t, b), b, d, j)
            : tn_cast_to(ctx, p->w, tnk_te_read(p->e.te, p->bias, d, tn_add(ctx, first, j), NULL));
    tn_list at = tn_listv(ctx, d, b, jo, ji, NULL);
    const tn_stmt *body = tn_buffer_store_of(ctx, gates, tn_add(ctx, read_at(p, sums, at), v), at);
    tn_list reads = tn_listv(ctx, tn_region_point(ctx, sums, at),
                             tn_region_full(ctx, input ? p->xw : p->bias), NULL),
            writes = tn_listv(ctx, tn_region_point(ctx, gates, at), NULL);
    if (input && places_vary(p))
        reads = tn_list_append(ctx, reads, tn_region_full(ctx, p->lengths));
    TNB_PUSH(tn_scratch(ctx), p->turn, end_nest(&n, reads, writes, NULL, body));
}

/* ---- cells ---- */

typedef struct cell {
    nest n;
    const tn_expr *d, *t, *b, *h, *at, *live;
    tn_list own;   /* [d, b, h]: where its state is */
    tn_list reads; /* regions */
} cell;

static cell
begin_cell(program *p, const char *name)
{
    tn_ctx *ctx = p->e.ctx;
    cell c = {.n = begin_nest(p, name, IN_TURN)};
    c.d = c.n.var[0];
    c.t = c.n.var[1];
    c.b = iter(&c.n, "b", p->batch, TN_ITER_SPATIAL, NULL);
    c.h = iter(&c.n, "h", p->hidden, TN_ITER_SPATIAL, NULL);
    c.own = tn_listv(ctx, c.d, c.b, c.h, NULL);
    c.at = place(p, c.d, c.t, c.b);
    c.live = p->lengths ? tn_lt_of(ctx, c.t, length(p, c.b)) : NULL;
    if (places_vary(p))
        c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->lengths));
    return c;
}

static const tn_expr *
column(program *p, const cell *c, uint32_t gate)
{
    tn_ctx *ctx = p->e.ctx;
    return tn_add(ctx, tn_mul(ctx, tn_i64(ctx, gate), p->hidden), c->h);
}

/* state = live ? value : state */
static const tn_stmt *
put_state(program *p, const cell *c, const tn_node *state, const tn_expr *value)
{
    tn_ctx *ctx = p->e.ctx;
    if (c->live)
        value = tn_select_of(ctx, c->live, value, read_at(p, state, c->own));
    return tn_buffer_store_of(ctx, state, value, c->own);
}

/* The new h, and the step's result. */
static void
end_cell(program *p, cell *c, const tn_stmt *first, const tn_expr *h)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *result = read_at(p, p->hs, c->own);
    if (c->live)
        result = tn_select_of(ctx, c->live, result, tn_literal(ctx, p->w, 0));
    tn_list y_at = tn_listv(ctx, c->at, c->d, c->b, c->h, NULL), reads = c->reads, writes = {0};
    const tn_stmt *put_h = put_state(p, c, p->hs, h),
                  *put_y = tn_buffer_store_of(ctx, p->y, tn_cast_to(ctx, p->d, result), y_at);
    const tn_node *state = tn_region_point(ctx, p->hs, c->own),
                  *y = p->l.reverse[0] || p->l.reverse[1] ? tn_region_full(ctx, p->y)
                                                          : tn_region_point(ctx, p->y, y_at);
    if (c->live && !places_vary(p))
        reads = tn_list_append(ctx, reads, tn_region_full(ctx, p->lengths));
    reads = tn_list_append(ctx, reads, state);
    if (p->cs) {
        const tn_node *cell_state = tn_region_point(ctx, p->cs, c->own);
        reads = tn_list_append(ctx, reads, cell_state);
        writes = tn_list_append(ctx, writes, cell_state);
    }
    writes = tn_list_append(ctx, tn_list_append(ctx, writes, state), y);
    const tn_stmt *body =
        first ? tn_seqv(ctx, first, put_h, put_y, NULL) : tn_seqv(ctx, put_h, put_y, NULL);
    TNB_PUSH(tn_scratch(ctx), p->turn, end_nest(&c->n, reads, writes, NULL, body));
}

static void
rnn_turn(program *p)
{
    tn_ctx *ctx = p->e.ctx;
    product(p, "product", p->sums, p->hs, tn_i64(ctx, 0), p->hidden);
    add_to_sums(p, "gates", p->gates, p->sums, true, tn_i64(ctx, 0), p->hidden);
    cell c = begin_cell(p, "cell");
    c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->gates));
    end_cell(p, &c, NULL, activate(p, 0, c.d, clipped(p, at_column(p, p->gates, c.d, c.b, c.h))));
}

static void
lstm_turn(program *p)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *all = dim_muli(ctx, p->hidden, 4);
    product(p, "product", p->sums, p->hs, tn_i64(ctx, 0), all);
    add_to_sums(p, "gates", p->gates, p->sums, true, tn_i64(ctx, 0), all);
    cell c = begin_cell(p, "cell");
    const tn_expr *g[4], *peep[3] = {0};
    c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->gates));
    if (p->peephole)
        c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->peephole));
    const tn_expr *cs = read_at(p, p->cs, c.own);
    for (uint32_t i = 0; i < 4; i++)
        g[i] = at_column(p, p->gates, c.d, c.b, column(p, &c, i));
    for (uint32_t i = 0; p->peephole && i < 3; i++)
        peep[i] =
            tn_cast_to(ctx, p->w, tnk_te_read(p->e.te, p->peephole, c.d, column(p, &c, i), NULL));
    /* input, output, forget, cell; peepholes: input, output, forget. The load of cs in the output
     * gate is of the new state, which is stored first. */
    for (uint32_t i = 0; p->peephole && i < 3; i++)
        g[i] = tn_add(ctx, g[i], tn_mul(ctx, peep[i], cs));
    const tn_expr *in = activate(p, 0, c.d, clipped(p, g[0])),
                  *out = activate(p, 0, c.d, clipped(p, g[1])),
                  *forget = p->l.input_forget ? tn_sub(ctx, tn_literal(ctx, p->w, 1), in)
                                              : activate(p, 0, c.d, clipped(p, g[2])),
                  *next = activate(p, 1, c.d, clipped(p, g[3]));
    const tn_stmt *put_c =
        put_state(p, &c, p->cs, tn_add(ctx, tn_mul(ctx, forget, cs), tn_mul(ctx, in, next)));
    end_cell(p, &c, put_c, tn_mul(ctx, out, activate(p, 2, c.d, cs)));
}

/* h = (1 - z) * candidate + z * h */
static void
gru_end(program *p, cell *c, const tn_expr *candidate)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *zero_gate = tn_add(ctx, at_column(p, p->gates, c->d, c->b, c->h),
                                      from_input(p, c->at, c->b, c->d, c->h));
    const tn_expr *z = activate(p, 0, c->d, clipped(p, zero_gate));
    const tn_expr *x = from_input(p, c->at, c->b, c->d, column(p, c, 2));
    const tn_expr *t = activate(p, 1, c->d, clipped(p, tn_add(ctx, x, candidate)));
    const tn_expr *fresh = tn_mul(ctx, tn_sub(ctx, tn_literal(ctx, p->w, 1), z), t),
                  *kept = tn_mul(ctx, z, read_at(p, p->hs, c->own));
    end_cell(p, c, NULL, tn_add(ctx, fresh, kept));
}

static const tn_expr *
reset_gate(program *p, const cell *c)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *j = column(p, c, 1);
    const tn_expr *g =
        tn_add(ctx, at_column(p, p->gates, c->d, c->b, j), from_input(p, c->at, c->b, c->d, j));
    return activate(p, 0, c->d, clipped(p, g));
}

static void
gru_turn(program *p)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *two = dim_muli(ctx, p->hidden, 2), *all = dim_muli(ctx, p->hidden, 3);
    if (p->l.linear_before_reset) {
        product(p, "product", p->sums, p->hs, tn_i64(ctx, 0), all);
        add_to_sums(p, "gates", p->gates, p->sums, false, tn_i64(ctx, 0), all);
        cell c = begin_cell(p, "cell");
        c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->gates));
        c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->xw));
        gru_end(p, &c,
                tn_mul(ctx, reset_gate(p, &c), at_column(p, p->gates, c.d, c.b, column(p, &c, 2))));
        return;
    }
    const tn_expr *dims[3] = {p->dirs, p->batch, p->hidden};
    const tn_node *rh = tnk_te_buffer(p->e.te, "reset_h", dims, 3, p->w),
                  *sums = columns_buffer(p, "products_candidate", p->hidden),
                  *new = columns_buffer(p, "candidate", p->hidden);
    product(p, "product", p->sums, p->hs, tn_i64(ctx, 0), two);
    add_to_sums(p, "gates", p->gates, p->sums, false, tn_i64(ctx, 0), two);
    cell r = begin_cell(p, "reset");
    r.reads = tn_list_append(ctx, r.reads, tn_region_full(ctx, p->gates));
    r.reads = tn_list_append(ctx, r.reads, tn_region_full(ctx, p->xw));
    r.reads = tn_list_append(ctx, r.reads, tn_region_point(ctx, p->hs, r.own));
    const tn_expr *reset = tn_mul(ctx, reset_gate(p, &r), read_at(p, p->hs, r.own));
    tn_list writes = tn_listv(ctx, tn_region_point(ctx, rh, r.own), NULL);
    TNB_PUSH(tn_scratch(ctx), p->turn,
             end_nest(&r.n, r.reads, writes, NULL, tn_buffer_store_of(ctx, rh, reset, r.own)));
    product(p, "product_candidate", sums, rh, two, p->hidden);
    add_to_sums(p, "candidate", new, sums, false, two, p->hidden);
    cell c = begin_cell(p, "cell");
    c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->gates));
    c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, p->xw));
    c.reads = tn_list_append(ctx, c.reads, tn_region_full(ctx, new));
    gru_end(p, &c, at_column(p, new, c.d, c.b, c.h));
}

/* ---- the program ---- */

static void
make_buffers(program *p)
{
    tnk_te *te = p->e.te;
    tn_ctx *ctx = p->e.ctx;
    uint32_t products = p->l.gates == 3 && !p->l.linear_before_reset ? 2 : p->l.gates;
    const tn_expr *state[3] = {p->dirs, p->batch, p->hidden},
                  *all = dim_muli(ctx, p->hidden, products),
                  *y[4] = {p->steps, p->dirs, p->batch, p->hidden};
    p->y = tnk_te_buffer(te, "y", y, 4, p->d);
    p->hs = tnk_te_buffer(te, "state_h", state, 3, p->w);
    p->cs = p->l.gates == 4 ? tnk_te_buffer(te, "state_c", state, 3, p->w) : NULL;
    p->sums = columns_buffer(p, "products", all);
    p->gates = columns_buffer(p, "gates", all);
}

/* R [directions, hidden, columns] as [directions, panels, hidden, columns of a panel]. */
static const tn_expr *
packed_weights(program *p, const tn_expr *r)
{
    tn_ctx *ctx = p->e.ctx;
    int64_t hidden, perm[4] = {0, 2, 1, 3};
    tn_list dims = emit_dims(r);
    const tn_expr *hid = dims.at[1], *all = dims.at[2];
    /* a GRU that resets first multiplies two gates and one by themselves */
    int64_t together = p->l.gates == 3 && !p->l.linear_before_reset ? 1 : p->l.gates;
    if (tn_int_value(hid, &hidden))
        for (int64_t v = 64; v >= 16 && !p->panel; v /= 2)
            p->panel = hidden * together % v == 0 ? v : 0;
    if (!p->panel)
        return tn_call_opv(ctx, "expand_dims", tn_dictv(ctx, "axis", tn_i64(ctx, 1), NULL), r,
                           NULL);
    tn_list cut = tn_listv(ctx, dims.at[0], hid, dim_floordiv(ctx, all, p->panel),
                           tn_i64(ctx, p->panel), NULL);
    return tn_call_opv(ctx, "permute_dims", tn_dictv(ctx, "axes", tn_int_array(ctx, perm, 4), NULL),
                       tn_call_opv(ctx, "reshape", NULL, r, tn_shape_expr_of(ctx, cut), NULL),
                       NULL);
}

const tn_expr *
legalize_recurrent(tn_builder *b, const tn_call *call)
{
    program prog = {.e = emit_begin(b, call)}, *p = &prog;
    tn_ctx *ctx = p->e.ctx;
    if (!recurrent_read(ctx, call, &p->l))
        return NULL;
    p->xw = emit_input(&p->e, call->args.at[0]);
    p->r = emit_input(&p->e, packed_weights(p, call->args.at[1]));
    const tn_node *h0 = emit_input(&p->e, call->args.at[2]),
                  *c0 = p->l.gates == 4 ? emit_input(&p->e, call->args.at[3]) : NULL;
    p->bias = p->l.bias ? emit_input(&p->e, p->l.bias) : NULL;
    p->peephole = p->l.peephole ? emit_input(&p->e, p->l.peephole) : NULL;
    p->lengths = p->l.lengths ? emit_input(&p->e, p->l.lengths) : NULL;
    p->d = emit_dtype(p->xw);
    p->w = emit_wide(p->d);
    p->steps = emit_dim(p->xw, 0);
    p->batch = emit_dim(p->xw, 1);
    p->hidden = emit_dim(p->r, 2);
    p->dirs = tn_i64(ctx, p->l.dirs);
    p->loop_d = tn_var_dtype(ctx, "d", TNB_I64);
    p->loop_t = tn_var_dtype(ctx, "t", TNB_I64);
    make_buffers(p);
    if (p->lengths)
        check_lengths(p);
    const tn_expr *state[3] = {p->dirs, p->batch, p->hidden};
    const tn_node *outs[3] = {p->y, tnk_te_buffer(p->e.te, "last_h", state, 3, p->d),
                              c0 ? tnk_te_buffer(p->e.te, "last_c", state, 3, p->d) : NULL};
    copy_state(p, "start_h", p->hs, h0);
    if (c0)
        copy_state(p, "start_c", p->cs, c0);
    if (p->l.gates == 4)
        lstm_turn(p);
    else if (p->l.gates == 3)
        gru_turn(p);
    else
        rnn_turn(p);
    const tn_expr *loops[2] = {p->loop_d, p->loop_t}, *extents[2] = {p->dirs, p->steps};
    tnk_te_append(p->e.te, emit_loops(ctx, loops, extents, 2,
                                      tn_seq_of(ctx, tn_list_of(ctx, p->turn.at, p->turn.n))));
    copy_state(p, "end_h", outs[1], p->hs);
    if (c0)
        copy_state(p, "end_c", outs[2], p->cs);
    return emit_end_n(&p->e, emit_hint(call), outs, c0 ? 3 : 2);
}
