/* SPDX-License-Identifier: Apache-2.0 */
/* Attention without a matrix of scores: tiles of queries by tiles of keys.
 *
 *     for tile of queries of a head: (parallel)
 *         for tile of keys:
 *             copy K and V of the tile
 *             for group of queries:                          as many as a vector or a few have lanes
 *                 S[key, query] = sum of K[key, c] * Q[c, query], changed as the graph has it
 *                 top' = max(top, S);  P = exp(S - top')
 *                 sum = sum * exp(top - top') + P
 *                 O[c, query] = O * exp(top - top') + V[key, c] * P[key, query]
 *         Y[query, c] = O / sum
 *
 * After Dao and others, FlashAttention, and Milakov and Gimelshein, Online normalizer calculation. Lanes are queries, so that maxima
 * and sums need no lanes put together: queries are turned when they come in, the result when it goes out
 * (rules/squares.h); elements of K and V are broadcast. Which keys a query may see is a range. Tiles that no query sees are left out;
 * only tiles at the ends of ranges are masked. All is computed in float32.
 */
#include "attention.h"

#include <math.h>

#include "rules/squares.h"
#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

enum {
    QUERIES = 64,       /* of a tile */
    MOST_QUERIES = 256, /* of one where that leaves so many: */
    TILES = 16,
    TILE_FLOATS = 16384, /* of K and V, together, of a tile */
    LATENCY = 4,         /* cycles of a multiply-add, of which two begin in each */
    OPAQUE = 8           /* a pattern of FuseOps */
};

typedef struct nest {
    const cpu_attention *a;
    tn_ctx *ctx;
    tnk_te *te;
    int64_t L, nv, q;      /* lanes; vectors of a group, and its queries */
    int64_t groups;        /* of a tile */
    int64_t keys;          /* of a tile */
    int64_t mk, mc;        /* keys, and columns of V, of a tile in registers */
    int64_t panel, panels; /* columns of V that lie together; how often */
    bool ranged;
    const tn_node *in[3], *starts[2], *changes[CPU_ATTENTION_STEPS], *out;
    const tn_node *qs, *ks, *vs, *ps, *os; /* Q, O by group; K, V, scores of the tile */
    const tn_node *top, *sum;              /* of each query */
    const tn_node *from, *to;              /* the keys that it sees */
    const tn_node *span, *own; /* of the tile, of each group: the least and the largest */
    const tn_node *given[CPU_ATTENTION_STEPS]; /* what the graph changes scores by */
    const tn_node *acc, *factor, *now;
    cpu_square square;
    const tn_expr *batch[CPU_ATTENTION_BATCH], *tile; /* where the tile is */
    const tn_expr *group, *key0, *n_keys;
    const tn_expr *n_queries, *all_keys; /* extents */
} nest;

/* ---- pieces ---- */

static const tn_expr *
var(const nest *w, const char *name)
{
    return tn_var_dtype(w->ctx, name, TNB_I64);
}

static const tn_stmt *
loop(const nest *w, const tn_expr *v, const tn_expr *extent, tn_for_kind kind, const tn_stmt *body)
{
    return tn_for_of(w->ctx, v, tn_i64(w->ctx, 0), extent, kind, NULL, NULL, body);
}

static const tn_stmt *
serial(const nest *w, const tn_expr *v, const tn_expr *extent, const tn_stmt *body)
{
    return loop(w, v, extent, TN_FOR_SERIAL, body);
}

static const tn_expr *
load(const nest *w, const tn_node *buffer, const tn_expr *at)
{
    return tn_buffer_load_of(w->ctx, buffer, tn_listv(w->ctx, at, NULL));
}

static const tn_stmt *
store(const nest *w, const tn_node *buffer, const tn_expr *at, const tn_expr *value)
{
    return tn_buffer_store_of(w->ctx, buffer, value, tn_listv(w->ctx, at, NULL));
}

/* row * width + column */
static const tn_expr *
cell(const nest *w, const tn_expr *row, int64_t width, const tn_expr *column)
{
    return tn_add(w->ctx, tn_muli(w->ctx, row, width), column);
}

static const tn_node *
local(const nest *w, const char *name, int64_t n, tnb_dtype d)
{
    tn_ctx *ctx = w->ctx;
    return tn_buffer_new(ctx, name, tn_listv(ctx, tn_i64(ctx, n), NULL), d, "local");
}

/* A query of a group: vector j, lane v. */
typedef struct lane {
    const tn_expr *j, *v, *at;
} lane;

static lane
lane_of(const nest *w)
{
    lane l = {var(w, "j"), var(w, "v"), NULL};
    l.at = cell(w, l.j, w->L, l.v);
    return l;
}

static const tn_stmt *
each_lane(const nest *w, lane l, const tn_stmt *body)
{
    return loop(w, l.j, tn_i64(w->ctx, w->nv), TN_FOR_UNROLLED,
                loop(w, l.v, tn_i64(w->ctx, w->L), TN_FOR_VECTORIZED, body));
}

static const tn_expr *
of_group(const nest *w, lane l)
{
    return cell(w, w->group, w->q, l.at);
}

/* An operand's element; row and column as its kind has them. */
static const tn_expr *
element(const nest *w, const cpu_attention_operand *o, const tn_node *buffer, const tn_expr *row,
        const tn_expr *column)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *index[CPU_ATTENTION_RANK];
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t along = o->along[i];
        index[i] = along == CPU_ALONG_ROW      ? row
                   : along == CPU_ALONG_COLUMN ? column
                   : along == CPU_ALONG_NOTHING
                       ? tn_i64(ctx, 0)
                       : tn_floordivi(ctx, w->batch[along], o->shared[i] > 0 ? o->shared[i] : 1);
    }
    return tn_buffer_load_of(ctx, buffer, tn_list_of(ctx, index, o->n));
}

static const tn_expr *
wide(const nest *w, const tn_expr *e)
{
    return tn_cast_to(w->ctx, TNB_F32, e);
}

/* Number of a query of the group, in the whole. */
static const tn_expr *
number(const nest *w, const tn_expr *in_group)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *g = tn_add(ctx, tn_muli(ctx, w->tile, w->groups), w->group);
    return tn_add(ctx, tn_muli(ctx, g, w->q), in_group);
}

static bool
divides(const tn_expr *extent, int64_t by)
{
    int64_t e;
    return tn_int_value(extent, &e) && e % by == 0;
}

/* The same, or the last query for what lies behind it. */
static const tn_expr *
query(const nest *w, const tn_expr *in_group)
{
    const tn_expr *n = number(w, in_group);
    return divides(w->n_queries, w->q) ? n : tn_min(w->ctx, n, tn_subi(w->ctx, w->n_queries, 1));
}

/* ---- which keys the queries see ---- */

static const tn_expr *
start_at(const nest *w, int which, const tn_expr *i)
{
    return tn_cast_to(w->ctx, TNB_I64, load(w, w->starts[which], i));
}

/* from[query], to[query] and what they do to the spans. */
static const tn_stmt *
range_of(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const cpu_attention *a = w->a;
    const tn_expr *i = var(w, "lane"), *q = query(w, i),
                  *first[2] = {tn_i64(ctx, 0), tn_i64(ctx, 0)};
    const tn_expr *length[2] = {w->n_queries, w->all_keys};
    const tn_expr *from = var(w, "first_key"), *to = var(w, "end_key"), *begin, *end;
    const tn_stmt *count = tn_evaluate_of(ctx, tn_i64(ctx, 0));
    if (a->starts[0]) { /* the sequence that the query is in: as many starts are not behind it */
        const tn_expr *k = var(w, "k"), *n = tn_as_buffer(w->starts[0])->shape.at[0];
        const tn_expr *is =
            tn_select_of(ctx, tn_le(ctx, start_at(w, 0, k), q), tn_i64(ctx, 1), tn_i64(ctx, 0));
        const tn_expr *zero = tn_i64(ctx, 0), *own = load(w, w->own, zero);
        const tn_stmt *add = store(w, w->own, zero, tn_add(ctx, own, is));
        count = tn_seqv(ctx, store(w, w->own, zero, zero), serial(w, k, n, add), NULL);
        const tn_expr *s = tn_max(ctx, tn_min(ctx, own, tn_subi(ctx, n, 1)), tn_i64(ctx, 1));
        for (int x = 0; x < 2; x++) {
            first[x] = start_at(w, x, tn_subi(ctx, s, 1));
            length[x] = tn_sub(ctx, start_at(w, x, s), first[x]);
        }
        length[1] = tn_select_of(ctx, tn_eq(ctx, own, s), length[1], tn_i64(ctx, 0));
    }
    begin = first[1];
    end = tn_add(ctx, first[1], length[1]);
    const tn_expr *at = tn_add(ctx, tn_sub(ctx, q, first[0]), first[1]);
    if (a->from_end)
        at = tn_add(ctx, at, tn_sub(ctx, length[1], length[0]));
    if (a->causal)
        end = tn_min(ctx, end, tn_addi(ctx, at, 1));
    if (a->window)
        begin = tn_max(ctx, begin, tn_addi(ctx, tn_subi(ctx, at, a->window), 1));
    begin = tn_max(ctx, begin, tn_i64(ctx, 0));
    end = tn_min(ctx, end, w->all_keys);
    const tn_expr *span[4], *in_span[4]; /* the group's, and what they hold */
    for (int x = 0; x < 4; x++) {
        span[x] = tn_addi(ctx, tn_muli(ctx, w->group, 4), x);
        in_span[x] = load(w, w->span, span[x]);
    }
    const tn_stmt *all[] = {
        count,
        tn_bind_of(ctx, from, begin),
        tn_bind_of(ctx, to, tn_max(ctx, end, from)),
        store(w, w->from, cell(w, w->group, w->q, i), tn_cast_to(ctx, TNB_I32, from)),
        store(w, w->to, cell(w, w->group, w->q, i), tn_cast_to(ctx, TNB_I32, to)),
        store(w, w->span, span[0], tn_min(ctx, in_span[0], from)),
        store(w, w->span, span[1], tn_max(ctx, in_span[1], from)),
        store(w, w->span, span[2], tn_min(ctx, in_span[2], to)),
        store(w, w->span, span[3], tn_max(ctx, in_span[3], to)),
    };
    const tn_stmt *s = serial(w, i, tn_i64(ctx, w->q), tn_seq_of(ctx, tn_list_of(ctx, all, 9)));
    const tn_expr *least = tn_i64(ctx, 4 * w->groups), *largest = tn_i64(ctx, 4 * w->groups + 1);
    const tn_expr *zero = tn_i64(ctx, 0); /* least, largest: of the tile */
    return tn_seqv(ctx, store(w, w->span, span[0], w->all_keys), store(w, w->span, span[1], zero),
                   store(w, w->span, span[2], w->all_keys), store(w, w->span, span[3], zero), s,
                   store(w, w->span, least, tn_min(ctx, load(w, w->span, least), in_span[0])),
                   store(w, w->span, largest, tn_max(ctx, load(w, w->span, largest), in_span[3])),
                   NULL);
}

/* ---- queries come in, the result goes out ---- */

static bool
in_squares(const nest *w, int64_t columns)
{
    return columns % w->square.lanes == 0 && w->q % w->square.lanes == 0;
}

static const tn_stmt *
bring_query(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const cpu_attention *a = w->a;
    int64_t n = w->square.lanes, d = a->d;
    const tn_expr *i = var(w, "i"), *c = var(w, "c"), *scale = tn_literal(ctx, TNB_F32, a->scale);
    if (!in_squares(w, d)) {
        const tn_expr *value =
            tn_mul(ctx, wide(w, element(w, &a->q, w->in[0], query(w, i), c)), scale);
        const tn_stmt *s = store(w, w->qs, cell(w, cell(w, w->group, d, c), w->q, i), value);
        return serial(w, i, tn_i64(ctx, w->q), serial(w, c, tn_i64(ctx, d), s));
    }
    const tn_expr *u = var(w, "u"), *v = var(w, "v"), *x = var(w, "u"), *y = var(w, "v");
    const tn_expr *row = query(w, cell(w, i, n, u));
    const tn_expr *value = element(w, &a->q, w->in[0], row, cell(w, c, n, v));
    const tn_stmt *set = cpu_square_set(&w->square, u, v, tn_mul(ctx, wide(w, value), scale));
    set = loop(w, u, tn_i64(ctx, n), TN_FOR_UNROLLED,
               loop(w, v, tn_i64(ctx, n), TN_FOR_VECTORIZED, set));
    const tn_expr *to = cell(w, cell(w, w->group, d, cell(w, c, n, x)), w->q, cell(w, i, n, y));
    const tn_stmt *get = store(w, w->qs, to, cpu_square_get(&w->square, x, y));
    get = loop(w, x, tn_i64(ctx, n), TN_FOR_UNROLLED,
               loop(w, y, tn_i64(ctx, n), TN_FOR_VECTORIZED, get));
    return serial(w, i, tn_i64(ctx, w->q / n),
                  serial(w, c, tn_i64(ctx, d / n),
                         tn_seqv(ctx, set, cpu_square_turn(&w->square), get, NULL)));
}

static const tn_stmt *
put_result(const nest *w, const tn_expr *row, const tn_expr *column, const tn_expr *value)
{
    const tn_expr *at = element(w, &w->a->out, w->out, row, column);
    return tn_buffer_store_of(w->ctx, w->out, tn_cast_to(w->ctx, w->a->dtype, value),
                              tn_as_buffer_load(at)->indices);
}

static const tn_stmt *
if_inside(const nest *w, const tn_expr *row, const tn_stmt *s)
{
    return divides(w->n_queries, w->q)
               ? s
               : tn_if_stmt_of(w->ctx, tn_lt(w->ctx, row, w->n_queries), s, NULL);
}

static const tn_stmt *
write_result(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const cpu_attention *a = w->a;
    int64_t n = w->square.lanes, rows = w->panels * w->panel;
    lane l = lane_of(w);
    const tn_expr *sum = load(w, w->sum, of_group(w, l)),
                  *one = tn_div(ctx, tn_literal(ctx, TNB_F32, 1), sum);
    if (a->zero)
        one = tn_select_of(ctx, tn_eq(ctx, sum, tn_literal(ctx, TNB_F32, 0)),
                           tn_literal(ctx, TNB_F32, 0), one);
    if (!tn_is(w->all_keys, TN_KIND_INT_IMM)) /* a product over no key is 0 */
        one = tn_select_of(ctx, tn_eq(ctx, w->all_keys, tn_i64(ctx, 0)),
                           tn_literal(ctx, TNB_F32, 0), one);
    const tn_stmt *invert = each_lane(w, l, store(w, w->sum, of_group(w, l), one));
    const tn_expr *i = var(w, "i"), *c = var(w, "c");
    if (!in_squares(w, a->dv)) {
        const tn_expr *value =
            tn_mul(ctx, load(w, w->os, cell(w, cell(w, w->group, rows, c), w->q, i)),
                   load(w, w->sum, cell(w, w->group, w->q, i)));
        const tn_stmt *s = put_result(w, number(w, i), c, value);
        s = if_inside(w, number(w, i), serial(w, c, tn_i64(ctx, a->dv), s));
        return tn_seqv(ctx, invert, serial(w, i, tn_i64(ctx, w->q), s), NULL);
    }
    const tn_expr *u = var(w, "u"), *v = var(w, "v"), *x = var(w, "u"), *y = var(w, "v");
    const tn_expr *in_group = cell(w, i, n, v);
    const tn_expr *value =
        tn_mul(ctx,
               load(w, w->os, cell(w, cell(w, w->group, rows, cell(w, c, n, u)), w->q, in_group)),
               load(w, w->sum, cell(w, w->group, w->q, in_group)));
    const tn_stmt *set = cpu_square_set(&w->square, u, v, value);
    set = loop(w, u, tn_i64(ctx, n), TN_FOR_UNROLLED,
               loop(w, v, tn_i64(ctx, n), TN_FOR_VECTORIZED, set));
    const tn_expr *row = number(w, cell(w, i, n, x));
    const tn_stmt *get = put_result(w, row, cell(w, c, n, y), cpu_square_get(&w->square, x, y));
    get = if_inside(w, row, loop(w, y, tn_i64(ctx, n), TN_FOR_VECTORIZED, get));
    get = loop(w, x, tn_i64(ctx, n), TN_FOR_UNROLLED, get);
    const tn_stmt *s = tn_seqv(ctx, set, cpu_square_turn(&w->square), get, NULL);
    return tn_seqv(ctx, invert,
                   serial(w, i, tn_i64(ctx, w->q / n), serial(w, c, tn_i64(ctx, a->dv / n), s)),
                   NULL);
}

/* ---- a tile of keys ---- */

/* Rows of keys as tiles in registers read them; rows behind the last key repeat it. */
static const tn_stmt *
copy_keys(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const cpu_attention *a = w->a;
    const tn_expr *r = var(w, "r"), *c = var(w, "c"), *v = var(w, "v");
    const tn_expr *row = tn_min(ctx, tn_add(ctx, w->key0, r), tn_subi(ctx, w->all_keys, 1));
    bool vectors = a->d % w->L == 0;
    const tn_expr *column = vectors ? cell(w, c, w->L, v) : c;
    const tn_stmt *s = store(w, w->ks, cell(w, r, a->d, column),
                             wide(w, element(w, &a->k, w->in[1], row, column)));
    s = vectors ? serial(w, c, tn_i64(ctx, a->d / w->L),
                         loop(w, v, tn_i64(ctx, w->L), TN_FOR_VECTORIZED, s))
                : serial(w, c, tn_i64(ctx, a->d), s);
    const tn_expr *rows = tn_muli(ctx, tn_ceildiv(ctx, w->n_keys, tn_i64(ctx, w->mk)), w->mk);
    return serial(w, r, rows, s);
}

static const tn_stmt *
copy_values(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const cpu_attention *a = w->a;
    const tn_expr *r = var(w, "r"), *c = var(w, "c"), *p = var(w, "p"), *v = var(w, "v");
    const tn_expr *row = tn_add(ctx, w->key0, r);
    int64_t L = w->panel % w->L ? w->panel : w->L; /* of one copy */
    if (a->dv % w->panel == 0) {
        const tn_expr *in = cell(w, p, L, v);
        const tn_stmt *s =
            store(w, w->vs, cell(w, cell(w, c, w->keys, r), w->panel, in),
                  wide(w, element(w, &a->v, w->in[2], row, cell(w, c, w->panel, in))));
        s = loop(w, p, tn_i64(ctx, w->panel / L), TN_FOR_UNROLLED,
                 loop(w, v, tn_i64(ctx, L), TN_FOR_VECTORIZED, s));
        return serial(w, r, w->n_keys, serial(w, c, tn_i64(ctx, w->panels), s));
    }
    const tn_expr *column = cell(w, c, w->panel, v);
    const tn_expr *value = tn_if_then_else(ctx, tn_lt(ctx, column, tn_i64(ctx, a->dv)),
                                           wide(w, element(w, &a->v, w->in[2], row, column)),
                                           tn_literal(ctx, TNB_F32, 0));
    const tn_stmt *s = store(w, w->vs, cell(w, cell(w, c, w->keys, r), w->panel, v), value);
    return serial(w, r, w->n_keys,
                  serial(w, c, tn_i64(ctx, w->panels), serial(w, v, tn_i64(ctx, w->panel), s)));
}

/* ps[key, query] = the products of keys and queries. */
static const tn_stmt *
scores(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    int64_t d = w->a->d;
    const tn_expr *g = var(w, "keys"), *c = var(w, "c"), *r[3];
    lane l[3];
    for (int i = 0; i < 3; i++) {
        l[i] = lane_of(w);
        r[i] = var(w, "r");
    }
    const tn_stmt *clear =
        store(w, w->acc, cell(w, r[0], w->q, l[0].at), tn_literal(ctx, TNB_F32, 0));
    const tn_expr *at = cell(w, r[1], w->q, l[1].at);
    const tn_expr *product =
        tn_mul(ctx, load(w, w->ks, cell(w, cell(w, g, w->mk, r[1]), d, c)),
               load(w, w->qs, cell(w, cell(w, w->group, d, c), w->q, l[1].at)));
    const tn_stmt *add = store(w, w->acc, at, tn_add(ctx, load(w, w->acc, at), product));
    const tn_stmt *put = store(w, w->ps, cell(w, cell(w, g, w->mk, r[2]), w->q, l[2].at),
                               load(w, w->acc, cell(w, r[2], w->q, l[2].at)));
    clear = loop(w, r[0], tn_i64(ctx, w->mk), TN_FOR_UNROLLED, each_lane(w, l[0], clear));
    add = loop(w, r[1], tn_i64(ctx, w->mk), TN_FOR_UNROLLED, each_lane(w, l[1], add));
    put = loop(w, r[2], tn_i64(ctx, w->mk), TN_FOR_UNROLLED, each_lane(w, l[2], put));
    return serial(w, g, tn_ceildiv(ctx, w->n_keys, tn_i64(ctx, w->mk)),
                  tn_seqv(ctx, clear, serial(w, c, tn_i64(ctx, d), add), put, NULL));
}

static bool
differs_by_query(const cpu_attention_operand *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (o->along[i] == CPU_ALONG_ROW)
            return true;
    return false;
}

/* Whether what the graph changes scores by is turned in squares. The last one is moved back, into rows before the tile's. */
static bool
changes_in_squares(const nest *w)
{
    int64_t keys;
    return w->q % w->square.lanes == 0 && tn_int_value(w->all_keys, &keys) &&
           keys >= w->square.lanes;
}

/* Row of a key of the tile, where changes are kept. */
static const tn_expr *
given_row(const nest *w, const tn_expr *r)
{
    return tn_addi(w->ctx, r, w->square.lanes);
}

/* What the graph changes scores by, where it differs from query to query: lanes lie apart in memory. */
static const tn_stmt *
bring_changes(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const tn_stmt *all = tn_evaluate_of(ctx, tn_i64(ctx, 0));
    int64_t n = w->square.lanes;
    for (uint32_t s = 0; s < w->a->n_steps; s++) {
        const cpu_attention_operand *o = &w->a->step[s].x;
        const tn_expr *i = var(w, "i"), *r = var(w, "r");
        if (!w->given[s])
            continue;
        if (!changes_in_squares(w)) {
            const tn_expr *value =
                element(w, o, w->changes[s], query(w, i), tn_add(ctx, w->key0, r));
            const tn_stmt *one =
                store(w, w->given[s], cell(w, given_row(w, r), w->q, i), wide(w, value));
            all = tn_seqv(ctx, all, serial(w, i, tn_i64(ctx, w->q), serial(w, r, w->n_keys, one)),
                          NULL);
            continue;
        }
        const tn_expr *u = var(w, "u"), *v = var(w, "v"), *x = var(w, "u"), *y = var(w, "v");
        const tn_expr *key =
            tn_min(ctx, tn_add(ctx, w->key0, tn_muli(ctx, r, n)), tn_subi(ctx, w->all_keys, n));
        const tn_expr *value =
            element(w, o, w->changes[s], query(w, cell(w, i, n, u)), tn_add(ctx, key, v));
        const tn_stmt *set = cpu_square_set(&w->square, u, v, wide(w, value));
        set = loop(w, u, tn_i64(ctx, n), TN_FOR_UNROLLED,
                   loop(w, v, tn_i64(ctx, n), TN_FOR_VECTORIZED, set));
        const tn_expr *row = given_row(w, tn_add(ctx, tn_sub(ctx, key, w->key0), x));
        const tn_stmt *get = store(w, w->given[s], cell(w, row, w->q, cell(w, i, n, y)),
                                   cpu_square_get(&w->square, x, y));
        get = loop(w, x, tn_i64(ctx, n), TN_FOR_UNROLLED,
                   loop(w, y, tn_i64(ctx, n), TN_FOR_VECTORIZED, get));
        const tn_stmt *square = tn_seqv(ctx, set, cpu_square_turn(&w->square), get, NULL);
        all = tn_seqv(ctx, all,
                      serial(w, i, tn_i64(ctx, w->q / n),
                             serial(w, r, tn_ceildiv(ctx, w->n_keys, tn_i64(ctx, n)), square)),
                      NULL);
    }
    return all;
}

/* A score after the graph's steps; r: number of the key in the tile. */
static const tn_expr *
changed(const nest *w, const tn_expr *score, const tn_expr *r, lane l)
{
    tn_ctx *ctx = w->ctx;
    for (uint32_t s = 0; s < w->a->n_steps; s++) {
        const cpu_attention_step *step = &w->a->step[s];
        const tn_expr *x = NULL, *c = tn_literal(ctx, TNB_F32, step->c);
        if (w->given[s])
            x = load(w, w->given[s], cell(w, given_row(w, r), w->q, l.at));
        else if (w->changes[s])
            x = wide(w,
                     element(w, &step->x, w->changes[s], tn_i64(ctx, 0), tn_add(ctx, w->key0, r)));
        switch (step->kind) {
        case CPU_STEP_MULTIPLY:
            score = tn_mul(ctx, score, c);
            break;
        case CPU_STEP_ADD:
            score = tn_add(ctx, score, x);
            break;
        case CPU_STEP_KEEP:
            score = tn_select_of(ctx, tn_ne(ctx, x, tn_literal(ctx, TNB_F32, 0)), score, c);
            break;
        case CPU_STEP_REPLACE:
            score = tn_select_of(ctx, tn_ne(ctx, x, tn_literal(ctx, TNB_F32, 0)), c, score);
            break;
        case CPU_STEP_TANH:
            score = tn_intrin1(ctx, TN_INTRIN_tanh, score);
            break;
        }
    }
    return score;
}

/* now[query] = max(top, scores); the scores are changed and masked. */
static const tn_stmt *
largest(const nest *w, bool masked)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *r = var(w, "r"), *key = tn_add(ctx, w->key0, r);
    lane l = lane_of(w), m = lane_of(w), n = lane_of(w);
    const tn_expr *at = cell(w, r, w->q, l.at);
    const tn_expr *value = changed(w, load(w, w->ps, at), r, l);
    if (masked) {
        key = tn_cast_to(ctx, TNB_I32, key);
        const tn_expr *seen = tn_and(ctx, tn_le(ctx, load(w, w->from, of_group(w, l)), key),
                                     tn_lt(ctx, key, load(w, w->to, of_group(w, l))));
        value = tn_select_of(ctx, seen, value, tn_literal(ctx, TNB_F32, -INFINITY));
    }
    const tn_stmt *s = NULL;
    if (masked || w->a->n_steps)
        s = loop(w, r, w->n_keys, TN_FOR_SERIAL, each_lane(w, l, store(w, w->ps, at, value)));
    const tn_expr *k = var(w, "r");
    const tn_stmt *max =
        store(w, w->now, m.at,
              tn_max(ctx, load(w, w->now, m.at), load(w, w->ps, cell(w, k, w->q, m.at))));
    max = tn_seqv(ctx, each_lane(w, n, store(w, w->now, n.at, load(w, w->top, of_group(w, n)))),
                  serial(w, k, w->n_keys, each_lane(w, m, max)), NULL);
    return s ? tn_seqv(ctx, s, max, NULL) : max;
}

/* Scores become weights; `factor` is what all so far is multiplied by. now: the largest score, then the sum. */
static const tn_stmt *
weights(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *r = var(w, "r");
    lane l = lane_of(w), m = lane_of(w), n = lane_of(w);
    const tn_expr *top = load(w, w->top, of_group(w, l)), *now = load(w, w->now, l.at);
    /* where all is -infinity so far, differences are no numbers */
    const tn_expr *level = tn_select_of(ctx, tn_eq(ctx, now, tn_literal(ctx, TNB_F32, -INFINITY)),
                                        tn_literal(ctx, TNB_F32, 0), now);
    const tn_stmt *begin =
        tn_seqv(ctx,
                store(w, w->factor, l.at, tn_intrin1(ctx, TN_INTRIN_exp, tn_sub(ctx, top, level))),
                store(w, w->top, of_group(w, l), now), store(w, w->now, l.at, level), NULL);
    const tn_expr *sum = load(w, w->sum, of_group(w, m));
    const tn_stmt *sums = store(w, w->acc, m.at, tn_mul(ctx, sum, load(w, w->factor, m.at)));
    const tn_expr *at = cell(w, r, w->q, n.at), *p = tn_var_dtype(ctx, "p", TNB_F32);
    const tn_expr *e =
        tn_intrin1(ctx, TN_INTRIN_exp, tn_sub(ctx, load(w, w->ps, at), load(w, w->now, n.at)));
    const tn_stmt *each =
        tn_seqv(ctx, tn_bind_of(ctx, p, e), store(w, w->ps, at, p),
                store(w, w->acc, n.at, tn_add(ctx, load(w, w->acc, n.at), p)), NULL);
    lane o = lane_of(w);
    return tn_seqv(ctx, each_lane(w, l, begin), each_lane(w, m, sums),
                   serial(w, r, w->n_keys, each_lane(w, n, each)),
                   each_lane(w, o, store(w, w->sum, of_group(w, o), load(w, w->acc, o.at))), NULL);
}

/* os[c, query] = os * factor + the products of values and weights. */
static const tn_stmt *
outputs(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    int64_t rows = w->panels * w->panel, parts = w->panel / w->mc;
    const tn_expr *p = var(w, "panel"), *h = var(w, "part"), *k = var(w, "key"), *c[3];
    lane l[3];
    for (int i = 0; i < 3; i++) {
        l[i] = lane_of(w);
        c[i] = var(w, "c");
    }
    const tn_expr *output[3], *sum[3]; /* where they are */
    for (int i = 0; i < 3; i++) {
        const tn_expr *column = cell(w, p, w->panel, cell(w, h, w->mc, c[i]));
        output[i] = cell(w, cell(w, w->group, rows, column), w->q, l[i].at);
        sum[i] = cell(w, c[i], w->q, l[i].at);
    }
    const tn_stmt *begin =
        store(w, w->acc, sum[0],
              tn_mul(ctx, load(w, w->os, output[0]), load(w, w->factor, l[0].at)));
    const tn_expr *value =
        load(w, w->vs, cell(w, cell(w, p, w->keys, k), w->panel, cell(w, h, w->mc, c[1])));
    const tn_expr *product = tn_mul(ctx, value, load(w, w->ps, cell(w, k, w->q, l[1].at)));
    const tn_stmt *add = store(w, w->acc, sum[1], tn_add(ctx, load(w, w->acc, sum[1]), product));
    const tn_stmt *end = store(w, w->os, output[2], load(w, w->acc, sum[2]));
    begin = loop(w, c[0], tn_i64(ctx, w->mc), TN_FOR_UNROLLED, each_lane(w, l[0], begin));
    add = loop(w, c[1], tn_i64(ctx, w->mc), TN_FOR_UNROLLED, each_lane(w, l[1], add));
    end = loop(w, c[2], tn_i64(ctx, w->mc), TN_FOR_UNROLLED, each_lane(w, l[2], end));
    const tn_stmt *s = tn_seqv(ctx, begin, serial(w, k, w->n_keys, add), end, NULL);
    return serial(w, p, tn_i64(ctx, w->panels), serial(w, h, tn_i64(ctx, parts), s));
}

/* A group of queries and the tile of keys. */
static const tn_stmt *
group_and_keys(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    const tn_stmt *top = largest(w, false);
    if (w->ranged) {
        const tn_expr *end = tn_add(ctx, w->key0, w->n_keys), *g = tn_muli(ctx, w->group, 4);
        const tn_expr *cut = tn_or(ctx, tn_lt(ctx, w->key0, load(w, w->span, tn_addi(ctx, g, 1))),
                                   tn_gt(ctx, end, load(w, w->span, tn_addi(ctx, g, 2))));
        top = tn_if_stmt_of(ctx, cut, largest(w, true), top);
        const tn_stmt *s =
            tn_seqv(ctx, scores(w), bring_changes(w), top, weights(w), outputs(w), NULL);
        const tn_expr *seen = tn_and(ctx, tn_lt(ctx, load(w, w->span, g), end),
                                     tn_gt(ctx, load(w, w->span, tn_addi(ctx, g, 3)), w->key0));
        return tn_if_stmt_of(ctx, seen, s, NULL);
    }
    return tn_seqv(ctx, scores(w), bring_changes(w), top, weights(w), outputs(w), NULL);
}

/* ---- a tile of queries ---- */

static const tn_stmt *
begin_group(const nest *w)
{
    tn_ctx *ctx = w->ctx;
    int64_t rows = w->panels * w->panel;
    const tn_expr *c = var(w, "c");
    lane l = lane_of(w), m = lane_of(w);
    const tn_stmt *s =
        tn_seqv(ctx, store(w, w->top, of_group(w, l), tn_literal(ctx, TNB_F32, -INFINITY)),
                store(w, w->sum, of_group(w, l), tn_literal(ctx, TNB_F32, 0)), NULL);
    const tn_stmt *clear = store(w, w->os, cell(w, cell(w, w->group, rows, c), w->q, m.at),
                                 tn_literal(ctx, TNB_F32, 0));
    s = tn_seqv(ctx, each_lane(w, l, s), serial(w, c, tn_i64(ctx, rows), each_lane(w, m, clear)),
                bring_query(w), NULL);
    return w->ranged ? tn_seqv(ctx, range_of(w), s, NULL) : s;
}

static const tn_stmt *
each_group(nest *w, const tn_expr *n, const tn_stmt *(*body)(const nest *w))
{
    const tn_expr *g = w->group = var(w, "group");
    return serial(w, g, n, body(w));
}

static const tn_stmt *
tile(nest *w)
{
    tn_ctx *ctx = w->ctx;
    int64_t known, t = 4 * w->groups;
    const tn_expr *all = tn_ceildiv(ctx, w->n_queries, tn_i64(ctx, w->q)),
                  *n = tn_i64(ctx, w->groups);
    if (!tn_int_value(all, &known) || known % w->groups)
        n = tn_min(ctx, n, tn_sub(ctx, all, tn_mul(ctx, w->tile, n)));
    const tn_stmt *begin = each_group(w, n, begin_group);
    const tn_expr *turn = var(w, "keys"), *first = tn_i64(ctx, 0), *end = w->all_keys;
    if (w->ranged) {
        begin = tn_seqv(ctx, store(w, w->span, tn_i64(ctx, t), w->all_keys),
                        store(w, w->span, tn_i64(ctx, t + 1), tn_i64(ctx, 0)), begin, NULL);
        first = load(w, w->span, tn_i64(ctx, t));
        end = load(w, w->span, tn_i64(ctx, t + 1));
    }
    const tn_expr *key0 = var(w, "key0"), *n_keys = var(w, "n_keys");
    w->key0 = key0;
    w->n_keys = n_keys;
    const tn_expr *at = tn_add(ctx, first, tn_muli(ctx, turn, w->keys));
    const tn_stmt *s =
        tn_seqv(ctx, copy_keys(w), copy_values(w), each_group(w, n, group_and_keys), NULL);
    s = tn_seqv(ctx, tn_bind_of(ctx, key0, at),
                tn_bind_of(ctx, n_keys, tn_min(ctx, tn_i64(ctx, w->keys), tn_sub(ctx, end, key0))),
                s, NULL);
    const tn_expr *turns =
        tn_ceildiv(ctx, tn_max(ctx, tn_sub(ctx, end, first), tn_i64(ctx, 0)), tn_i64(ctx, w->keys));
    return tn_seqv(ctx, begin, serial(w, turn, turns, s), each_group(w, n, write_result), NULL);
}

/* ---- the program ---- */

/* Groups of queries that share copies of keys and values: many, but of one size, and not all of a head where heads are few.
 * queries -1: not known. */
static int64_t
groups_of_tile(const nest *w, int64_t queries)
{
    int64_t heads = 1, e, of = MOST_QUERIES;
    for (uint32_t i = 0; i < w->a->n_batch; i++)
        heads *= tn_int_value(w->a->batch[i], &e) && e > 0 ? e : 1;
    if (queries < 0)
        return QUERIES > w->q ? QUERIES / w->q : 1;
    while (of > QUERIES && heads * queries < TILES * of)
        of /= 2;
    int64_t most = of > w->q ? of / w->q : 1, all = (queries + w->q - 1) / w->q;
    int64_t tiles = (all + most - 1) / most;
    return tiles ? (all + tiles - 1) / tiles : 1;
}

/* The tile in registers with the least estimated cycles for the queries. */
static void
choose(nest *w, int vector_bytes)
{
    const cpu_attention *a = w->a;
    int64_t registers = vector_bytes == 64 ? 32 : 16, queries = 0, keys;
    bool known = tn_int_value(a->queries, &queries);
    double best = 1e30;
    w->L = cpu_lanes(vector_bytes, TNB_F32);
    w->panel = w->L < 8 ? 8 : w->L;
    for (int64_t nv = 1; nv <= (known ? 3 : 1); nv++) {
        int64_t mk = (registers - 1 - nv) / nv, mc = w->panel;
        mk = mk > 12 ? 12 : mk;
        while (mc * nv + nv + 1 > registers)
            mc /= 2;
        double cycles = 0;
        for (int i = 0; i < 2; i++) {
            double m = (double)(i ? mc : mk), v = (double)nv;
            double turn = m * v > m + v ? m * v / 2 : (m + v) / 2;
            cycles += ((turn < LATENCY ? LATENCY : turn) + 0.6) / m;
        }
        int64_t groups = known ? (queries + nv * w->L - 1) / (nv * w->L) : 1;
        cycles *= (double)groups;
        if (cycles >= best)
            continue;
        best = cycles;
        w->nv = nv;
        w->mk = mk;
        w->mc = mc;
    }
    w->q = w->nv * w->L;
    w->groups = groups_of_tile(w, known ? queries : -1);
    w->panels = (a->dv + w->panel - 1) / w->panel;
    w->keys = TILE_FLOATS / (a->d + w->panels * w->panel);
    if (tn_int_value(a->keys, &keys) && keys < w->keys)
        w->keys = keys;
    w->keys = (w->keys + w->mk - 1) / w->mk * w->mk;
    w->keys = w->keys ? w->keys : w->mk;
}

static uint32_t
allocate(nest *w, const tn_node **all)
{
    const cpu_attention *a = w->a;
    int64_t queries = w->groups * w->q, columns = w->panels * w->panel;
    int64_t tile = w->mk > w->mc ? w->mk : w->mc;
    uint32_t n = 0;
    all[n++] = w->qs = local(w, "queries", queries * a->d, TNB_F32);
    all[n++] = w->ks = local(w, "keys", w->keys * a->d, TNB_F32);
    all[n++] = w->vs = local(w, "values", w->keys * columns, TNB_F32);
    all[n++] = w->ps = local(w, "weights", w->keys * w->q, TNB_F32);
    all[n++] = w->os = local(w, "outputs", queries * columns, TNB_F32);
    all[n++] = w->top = local(w, "top", queries, TNB_F32);
    all[n++] = w->sum = local(w, "sum", queries, TNB_F32);
    all[n++] = w->acc = local(w, "acc", tile * w->q, TNB_F32);
    all[n++] = w->factor = local(w, "factor", w->q, TNB_F32);
    all[n++] = w->now = local(w, "now", w->q, TNB_F32);
    if (w->ranged) {
        all[n++] = w->from = local(w, "first", queries, TNB_I32);
        all[n++] = w->to = local(w, "end", queries, TNB_I32);
        all[n++] = w->span = local(w, "span", 4 * w->groups + 2, TNB_I64);
        if (a->starts[0])
            all[n++] = w->own = local(w, "own", 1, TNB_I64);
    }
    for (uint32_t s = 0; s < a->n_steps; s++)
        if (a->step[s].x.x && differs_by_query(&a->step[s].x))
            all[n++] = w->given[s] =
                local(w, "given", (w->keys + 2 * w->square.lanes) * w->q, TNB_F32);
    return n + cpu_square_buffers(&w->square, all + n);
}

/* for tile of all heads' queries: (parallel) the block with `body` */
static const tn_stmt *
tiles_of_heads(nest *w)
{
    tn_ctx *ctx = w->ctx;
    const cpu_attention *a = w->a;
    const tn_node *allocs[16 + CPU_ATTENTION_STEPS + CPU_SQUARE_BUFFERS],
        *reads[5 + CPU_ATTENTION_STEPS];
    const tn_expr *vars[CPU_ATTENTION_BATCH + 1], *extents[CPU_ATTENTION_BATCH + 1],
        *values[CPU_ATTENTION_BATCH + 1], *p = var(w, "tile"), *total = tn_i64(ctx, 1);
    const tn_node *iters[CPU_ATTENTION_BATCH + 1];
    uint32_t n = a->n_batch, r = 0;
    for (uint32_t i = 0; i < n; i++) {
        vars[i] = w->batch[i] = var(w, "v_batch");
        extents[i] = tnk_te_expr(w->te, a->batch[i]);
    }
    vars[n] = w->tile = var(w, "v_tile");
    extents[n] = tn_ceildiv(ctx, w->n_queries, tn_i64(ctx, w->groups * w->q));
    for (uint32_t i = n + 1; i-- > 0;) {
        values[i] = tn_is_int_const(total, 1) ? p : tn_floordiv(ctx, p, total);
        if (i)
            values[i] = tn_floormod(ctx, values[i], extents[i]);
        total = tn_mul(ctx, total, extents[i]);
        iters[i] = tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), extents[i]), vars[i],
                                  TN_ITER_SPATIAL, NULL);
    }
    uint32_t n_allocs = allocate(w, allocs);
    for (int i = 0; i < 3; i++)
        reads[r++] = tn_region_full(ctx, w->in[i]);
    for (int i = 0; i < 2; i++)
        if (w->starts[i])
            reads[r++] = tn_region_full(ctx, w->starts[i]);
    for (uint32_t s = 0; s < a->n_steps; s++)
        if (w->changes[s])
            reads[r++] = tn_region_full(ctx, w->changes[s]);
    tn_block b = {.name = "attention",
                  .iters = tn_list_of(ctx, iters, n + 1),
                  .allocs = tn_list_of(ctx, allocs, n_allocs),
                  .reads = tn_list_of(ctx, reads, r),
                  .writes = tn_listv(ctx, tn_region_full(ctx, w->out), NULL),
                  .body = tile(w)};
    const tn_stmt *s = tn_block_realize_of(ctx, tn_list_of(ctx, values, n + 1), tn_bool(ctx, true),
                                           tn_block_of(ctx, &b));
    return loop(w, p, total, TN_FOR_PARALLEL, s);
}

const tn_expr *
cpu_attention_call(tn_builder *b, const cpu_attention *a, const tn_type *type,
                   const tn_target *target)
{
    nest all = {.a = a, .ctx = a->ctx, .te = tnk_te_new(a->ctx)}, *w = &all;
    const tn_expr *args[5 + CPU_ATTENTION_STEPS], *dims[CPU_ATTENTION_RANK];
    const cpu_attention_operand *main[3] = {&a->q, &a->k, &a->v};
    static const char *const names[3] = {"q", "k", "v"};
    int vector_bytes = cpu_vector_bytes(a->ctx, target);
    uint32_t n = 0;
    tn_list shape;
    if (!tn_type_dims(type, &shape) || shape.n > CPU_ATTENTION_RANK ||
        !cpu_square_init(&w->square, a->ctx, TNB_F32, vector_bytes))
        return NULL;
    for (int i = 0; i < 3; i++) {
        w->in[i] = tnk_te_input(w->te, names[i], main[i]->x->type);
        args[n++] = main[i]->x;
    }
    for (uint32_t s = 0; s < a->n_steps; s++)
        if (a->step[s].x.x) {
            w->changes[s] = tnk_te_input(w->te, "change", a->step[s].x.x->type);
            args[n++] = a->step[s].x.x;
        }
    for (int i = 0; i < 2; i++)
        if (a->starts[i]) {
            w->starts[i] = tnk_te_input(w->te, "starts", a->starts[i]->type);
            args[n++] = a->starts[i];
        }
    w->ranged = a->causal || a->window || a->starts[0];
    w->n_queries = tnk_te_expr(w->te, a->queries);
    w->all_keys = tnk_te_expr(w->te, a->keys);
    choose(w, vector_bytes);
    for (uint32_t i = 0; i < shape.n; i++)
        dims[i] = tnk_te_expr(w->te, shape.at[i]);
    w->out = tnk_te_buffer(w->te, "attention", dims, shape.n, a->dtype);
    tnk_te_append(w->te, tiles_of_heads(w));
    const tn_node *f = tnk_te_finish(w->te, &w->out, 1);
    if (tn_is_error(f))
        return f;
    if (tn_as_prim_func(f)->params.n != n + 1)
        return NULL; /* of an extent p + s of keys alone, no operand tells p */
    f = tn_func_with_attr(w->ctx, f, "op_pattern", tn_i64(w->ctx, OPAQUE));
    f = tn_func_with_attr(w->ctx, f, "tirx.is_scheduled", tn_bool(w->ctx, true));
    return tn_builder_call_tir(b, f, "attention", tn_list_of(w->ctx, args, n), type);
}
