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

static tn_list
regions(tn_ctx *ctx, const tn_node *const *regions_of)
{
    tn_list l = {0};
    for (; *regions_of; regions_of++)
        l = tn_list_append(ctx, l, *regions_of);
    return l;
}

/* reads, writes: regions, ending with NULL */
static const tn_stmt *
end_nest(nest *n, const tn_node *const *reads, const tn_node *const *writes, const tn_stmt *init,
         const tn_stmt *body)
{
    tn_ctx *ctx = n->p->e.ctx;
    tn_list iters = {0};
    for (uint32_t i = 0; i < n->n; i++)
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, I64(0), n->extent[i]),
                                              n->var[i], n->kind[i], NULL));
    tn_block b = {.name = tn_str(ctx, n->name),
                  .iters = iters,
                  .reads = regions(ctx, reads),
                  .writes = regions(ctx, writes),
                  .init = init,
                  .body = body};
    const tn_stmt *s = tn_block_realize_of(ctx, tn_list_of(ctx, n->loop, n->n), tn_bool(ctx, true),
                                           tn_block_of(ctx, &b));
    return emit_loops(ctx, n->loop + n->outer, n->extent + n->outer, n->n - n->outer, s);
}

#define POINT(buffer, ...) tn_region_point(ctx, buffer, tn_listv(ctx, __VA_ARGS__, NULL))
#define FULL(buffer) tn_region_full(ctx, buffer)
#define LIST(...) ((const tn_node *const[]){__VA_ARGS__, NULL})
#define AT(buffer, ...) tnk_te_read(p->e.te, buffer, __VA_ARGS__, NULL)
#define PUT(buffer, value, ...) tn_store(ctx, buffer, value, tn_listv(ctx, __VA_ARGS__, NULL))

/* to[d, b, h] = from[d, b, h], in front of the loops or behind them */
static void
copy_state(program *p, const char *name, const tn_node *to, const tn_node *from)
{
    tn_ctx *ctx = p->e.ctx;
    nest n = begin_nest(p, name, OUTSIDE);
    const tn_expr *d = n.var[0], *b = iter(&n, "b", p->batch, TN_ITER_SPATIAL, NULL),
                  *h = iter(&n, "h", p->hidden, TN_ITER_SPATIAL, NULL);
    tnk_te_append(p->e.te, end_nest(&n, LIST(POINT(from, d, b, h)), LIST(POINT(to, d, b, h)), NULL,
                                    PUT(to, CAST(emit_dtype(to), AT(from, d, b, h)), d, b, h)));
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
    const tn_expr *steps = emit_data_index(&p->e, p->l.lengths, AT(from, b), ADD(p->steps, I64(1)),
                                           false, "sequence length");
    tnk_te_append(p->e.te, end_nest(&n, LIST(POINT(from, b)), LIST(POINT(to, b)), NULL,
                                    PUT(to, CAST(TNB_I64, steps), b)));
    p->lengths = to;
}

/* ---- steps ---- */

static const tn_expr *
length(program *p, const tn_expr *b)
{
    return AT(p->lengths, b);
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
    const tn_expr *back = SUB(SUB(p->steps, I64(1)), t);
    if (p->lengths)
        back = SELECT(LESS(t, length(p, b)), SUB(SUB(length(p, b), I64(1)), t), t);
    return p->l.reverse[0] ? back : SELECT(EQUAL(d, I64(1)), back, t);
}

static const tn_expr *
clipped(program *p, const tn_expr *x)
{
    tn_ctx *ctx = p->e.ctx;
    return p->l.has_clip ? GREATEST(LEAST(x, LIT(p->w, p->l.clip)), LIT(p->w, -p->l.clip)) : x;
}

static const tn_expr *
function_value(program *p, const recurrent_function *f, const tn_expr *x)
{
    tn_ctx *ctx = p->e.ctx;
    tnb_dtype w = p->w;
    const tn_expr *zero = LIT(w, 0), *one = LIT(w, 1), *alpha = LIT(w, f->alpha),
                  *beta = LIT(w, f->beta);
    switch (f->kind) {
    case RECURRENT_SIGMOID:
        return MATH1("sigmoid", x);
    case RECURRENT_TANH:
        return MATH1("tanh", x);
    case RECURRENT_RELU:
        return GREATEST(x, zero);
    case RECURRENT_AFFINE:
        return ADD(MUL(x, alpha), beta);
    case RECURRENT_LEAKY_RELU:
        return SELECT(LESS(zero, x), x, MUL(x, alpha));
    case RECURRENT_THRESHOLDED_RELU:
        return SELECT(GREATER(x, alpha), x, zero);
    case RECURRENT_SCALED_TANH:
        return MUL(MATH1("tanh", MUL(x, beta)), alpha);
    case RECURRENT_HARD_SIGMOID:
        return GREATEST(LEAST(ADD(MUL(x, alpha), beta), one), zero);
    case RECURRENT_ELU:
        return SELECT(LESS(zero, x), x, MUL(SUB(MATH1("exp", x), one), alpha));
    case RECURRENT_SOFTSIGN:
        return DIVIDE(x, ADD(one, MATH1("fabs", x)));
    case RECURRENT_SOFTPLUS:
        return ADD(GREATEST(x, zero),
                   MATH1("log", ADD(one, MATH1("exp", SUB(zero, MATH1("fabs", x))))));
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
    return SELECT(EQUAL(d, I64(0)), v, function_value(p, b, x));
}

/* ---- columns ---- */

/* The number of panels, and of columns in one. */
static void
columns_dims(program *p, const tn_expr *columns, const tn_expr **panels, const tn_expr **each)
{
    tn_ctx *ctx = p->e.ctx;
    *panels = p->panel ? dim_floordiv(ctx, columns, p->panel) : I64(1);
    *each = p->panel ? I64(p->panel) : columns;
}

/* buffer[d, b, column] */
static const tn_expr *
at_column(program *p, const tn_node *buffer, const tn_expr *d, const tn_expr *b, const tn_expr *j)
{
    tn_ctx *ctx = p->e.ctx;
    return p->panel ? AT(buffer, d, b, tn_floordiv(ctx, j, I64(p->panel)),
                         tn_floormod(ctx, j, I64(p->panel)))
                    : AT(buffer, d, b, I64(0), j);
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
    const tn_expr *ro = p->panel ? ADD(dim_floordiv(ctx, first, p->panel), jo) : jo,
                  *ri = p->panel ? ji : ADD(first, ji);
    const tn_expr *next =
        ADD(AT(sums, d, b, jo, ji), MUL(AT(state, d, b, k), CAST(p->w, AT(p->r, d, ro, k, ri))));
    TNB_PUSH(tn_scratch(ctx), p->turn,
             end_nest(&n, LIST(POINT(state, d, b, k), POINT(p->r, d, ro, k, ri)),
                      LIST(POINT(sums, d, b, jo, ji)), PUT(sums, LIT(p->w, 0), d, b, jo, ji),
                      PUT(sums, next, d, b, jo, ji)));
}

/* What the input gives to gate g of element h. */
static const tn_expr *
from_input(program *p, const tn_expr *at, const tn_expr *b, const tn_expr *d, const tn_expr *j)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *all = MUL(I64(p->l.gates), p->hidden);
    return CAST(p->w, AT(p->xw, at, b, ADD(MUL(d, all), j)));
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
    const tn_expr *j = ADD(MUL(jo, each), ji);
    const tn_expr *v = input ? from_input(p, place(p, d, t, b), b, d, j)
                             : CAST(p->w, AT(p->bias, d, ADD(first, j)));
    const tn_node *sum = POINT(sums, d, b, jo, ji), *out = POINT(gates, d, b, jo, ji);
    const tn_stmt *body = PUT(gates, ADD(AT(sums, d, b, jo, ji), v), d, b, jo, ji);
    const tn_node *const *reads = !input           ? LIST(sum, FULL(p->bias))
                                  : places_vary(p) ? LIST(sum, FULL(p->xw), FULL(p->lengths))
                                                   : LIST(sum, FULL(p->xw));
    TNB_PUSH(tn_scratch(ctx), p->turn, end_nest(&n, reads, LIST(out), NULL, body));
}

/* ---- cells ---- */

typedef struct cell {
    nest n;
    const tn_expr *d, *t, *b, *h, *at, *live;
    TNB_VEC(const tn_node *) reads;
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
    c.at = place(p, c.d, c.t, c.b);
    c.live = p->lengths ? LESS(c.t, length(p, c.b)) : NULL;
    if (places_vary(p))
        TNB_PUSH(tn_scratch(ctx), c.reads, FULL(p->lengths));
    return c;
}

static const tn_expr *
column(program *p, const cell *c, uint32_t gate)
{
    tn_ctx *ctx = p->e.ctx;
    return ADD(MUL(I64(gate), p->hidden), c->h);
}

/* state = live ? value : state */
static const tn_stmt *
put_state(program *p, const cell *c, const tn_node *state, const tn_expr *value)
{
    tn_ctx *ctx = p->e.ctx;
    if (c->live)
        value = SELECT(c->live, value, AT(state, c->d, c->b, c->h));
    return PUT(state, value, c->d, c->b, c->h);
}

/* The new h, and the step's result. */
static void
end_cell(program *p, cell *c, const tn_stmt *first, const tn_expr *h)
{
    tn_ctx *ctx = p->e.ctx;
    tnb_arena *a = tn_scratch(ctx);
    const tn_expr *result = AT(p->hs, c->d, c->b, c->h);
    if (c->live)
        result = SELECT(c->live, result, LIT(p->w, 0));
    const tn_stmt *put_h = put_state(p, c, p->hs, h),
                  *put_y = PUT(p->y, CAST(p->d, result), c->at, c->d, c->b, c->h);
    const tn_node *state = POINT(p->hs, c->d, c->b, c->h),
                  *cell_state = p->cs ? POINT(p->cs, c->d, c->b, c->h) : NULL,
                  *y = p->l.reverse[0] || p->l.reverse[1] ? FULL(p->y)
                                                          : POINT(p->y, c->at, c->d, c->b, c->h);
    if (c->live && !places_vary(p))
        TNB_PUSH(a, c->reads, FULL(p->lengths));
    TNB_PUSH(a, c->reads, state);
    if (cell_state)
        TNB_PUSH(a, c->reads, cell_state);
    TNB_PUSH(a, c->reads, NULL);
    const tn_stmt *body =
        first ? tn_seqv(ctx, first, put_h, put_y, NULL) : tn_seqv(ctx, put_h, put_y, NULL);
    const tn_node *const *writes = cell_state ? LIST(cell_state, state, y) : LIST(state, y);
    TNB_PUSH(a, p->turn, end_nest(&c->n, c->reads.at, writes, NULL, body));
}

static void
rnn_turn(program *p)
{
    tn_ctx *ctx = p->e.ctx;
    product(p, "product", p->sums, p->hs, I64(0), p->hidden);
    add_to_sums(p, "gates", p->gates, p->sums, true, I64(0), p->hidden);
    cell c = begin_cell(p, "cell");
    TNB_PUSH(tn_scratch(ctx), c.reads, FULL(p->gates));
    end_cell(p, &c, NULL, activate(p, 0, c.d, clipped(p, at_column(p, p->gates, c.d, c.b, c.h))));
}

static void
lstm_turn(program *p)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *all = dim_muli(ctx, p->hidden, 4);
    product(p, "product", p->sums, p->hs, I64(0), all);
    add_to_sums(p, "gates", p->gates, p->sums, true, I64(0), all);
    cell c = begin_cell(p, "cell");
    const tn_expr *g[4], *peep[3] = {0};
    TNB_PUSH(tn_scratch(ctx), c.reads, FULL(p->gates));
    if (p->peephole)
        TNB_PUSH(tn_scratch(ctx), c.reads, FULL(p->peephole));
    const tn_expr *cs = AT(p->cs, c.d, c.b, c.h);
    for (uint32_t i = 0; i < 4; i++)
        g[i] = at_column(p, p->gates, c.d, c.b, column(p, &c, i));
    for (uint32_t i = 0; p->peephole && i < 3; i++)
        peep[i] = CAST(p->w, AT(p->peephole, c.d, column(p, &c, i)));
    /* input, output, forget, cell; peepholes: input, output, forget. The load of cs in the output
     * gate is of the new state, which is stored first. */
    for (uint32_t i = 0; p->peephole && i < 3; i++)
        g[i] = ADD(g[i], MUL(peep[i], cs));
    const tn_expr *in = activate(p, 0, c.d, clipped(p, g[0])),
                  *out = activate(p, 0, c.d, clipped(p, g[1])),
                  *forget = p->l.input_forget ? SUB(LIT(p->w, 1), in)
                                              : activate(p, 0, c.d, clipped(p, g[2])),
                  *next = activate(p, 1, c.d, clipped(p, g[3]));
    const tn_stmt *put_c = put_state(p, &c, p->cs, ADD(MUL(forget, cs), MUL(in, next)));
    end_cell(p, &c, put_c, MUL(out, activate(p, 2, c.d, cs)));
}

/* h = (1 - z) * candidate + z * h */
static void
gru_end(program *p, cell *c, const tn_expr *candidate)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *zero_gate =
        ADD(at_column(p, p->gates, c->d, c->b, c->h), from_input(p, c->at, c->b, c->d, c->h));
    const tn_expr *z = activate(p, 0, c->d, clipped(p, zero_gate));
    const tn_expr *x = from_input(p, c->at, c->b, c->d, column(p, c, 2));
    const tn_expr *t = activate(p, 1, c->d, clipped(p, ADD(x, candidate)));
    end_cell(p, c, NULL, ADD(MUL(SUB(LIT(p->w, 1), z), t), MUL(z, AT(p->hs, c->d, c->b, c->h))));
}

static const tn_expr *
reset_gate(program *p, const cell *c)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *j = column(p, c, 1);
    const tn_expr *g =
        ADD(at_column(p, p->gates, c->d, c->b, j), from_input(p, c->at, c->b, c->d, j));
    return activate(p, 0, c->d, clipped(p, g));
}

static void
gru_turn(program *p)
{
    tn_ctx *ctx = p->e.ctx;
    tnb_arena *a = tn_scratch(ctx);
    const tn_expr *two = dim_muli(ctx, p->hidden, 2), *all = dim_muli(ctx, p->hidden, 3);
    if (p->l.linear_before_reset) {
        product(p, "product", p->sums, p->hs, I64(0), all);
        add_to_sums(p, "gates", p->gates, p->sums, false, I64(0), all);
        cell c = begin_cell(p, "cell");
        TNB_PUSH(a, c.reads, FULL(p->gates));
        TNB_PUSH(a, c.reads, FULL(p->xw));
        gru_end(p, &c, MUL(reset_gate(p, &c), at_column(p, p->gates, c.d, c.b, column(p, &c, 2))));
        return;
    }
    const tn_expr *dims[3] = {p->dirs, p->batch, p->hidden};
    const tn_node *rh = tnk_te_buffer(p->e.te, "reset_h", dims, 3, p->w),
                  *sums = columns_buffer(p, "products_candidate", p->hidden),
                  *new = columns_buffer(p, "candidate", p->hidden);
    product(p, "product", p->sums, p->hs, I64(0), two);
    add_to_sums(p, "gates", p->gates, p->sums, false, I64(0), two);
    cell r = begin_cell(p, "reset");
    TNB_PUSH(a, r.reads, FULL(p->gates));
    TNB_PUSH(a, r.reads, FULL(p->xw));
    TNB_PUSH(a, r.reads, POINT(p->hs, r.d, r.b, r.h));
    TNB_PUSH(a, r.reads, NULL);
    TNB_PUSH(a, p->turn,
             end_nest(&r.n, r.reads.at, LIST(POINT(rh, r.d, r.b, r.h)), NULL,
                      PUT(rh, MUL(reset_gate(p, &r), AT(p->hs, r.d, r.b, r.h)), r.d, r.b, r.h)));
    product(p, "product_candidate", sums, rh, two, p->hidden);
    add_to_sums(p, "candidate", new, sums, false, two, p->hidden);
    cell c = begin_cell(p, "cell");
    TNB_PUSH(a, c.reads, FULL(p->gates));
    TNB_PUSH(a, c.reads, FULL(p->xw));
    TNB_PUSH(a, c.reads, FULL(new));
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
        return tn_call_opv(ctx, "expand_dims", tn_dictv(ctx, "axis", I64(1), NULL), r, NULL);
    tn_list cut =
        tn_listv(ctx, dims.at[0], hid, dim_floordiv(ctx, all, p->panel), I64(p->panel), NULL);
    return tn_call_opv(ctx, "permute_dims", tn_dictv(ctx, "axes", tn_int_array(ctx, perm, 4), NULL),
                       tn_call_opv(ctx, "reshape", NULL, r, tn_shape(ctx, cut), NULL), NULL);
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
    p->dirs = I64(p->l.dirs);
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
