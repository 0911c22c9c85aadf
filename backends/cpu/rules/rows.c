/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: reductions, and what is computed before, between and behind them, one row at a time.
 *
 *     for i, k: m[i] = max(m[i], A[i, k])             for i: (parallel)
 *     for i, k: E[i, k] = exp(A[i, k] - m[i])             for k: m = max(m, A[i, k])
 *     for i, k: s[i] += E[i, k]                  =>       for k: E[k] = exp(A[i, k] - m)
 *     for i, k: B[i, k] = E[i, k] / s[i]                  for k: s += E[k]                        (vectors)
 *                                                         for k: B[i, k] = E[k] / s
 *
 * so that a row is read from memory once. Where memory runs along the results and not along the reduction (A[k, i]), a
 * turn has several columns, over which the vectors run:
 *
 *     for i0: (parallel)
 *         for k: for i1 in 64: m[i1] = max(m[i1], A[k, i0 * 64 + i1])
 *         ...
 *
 * A reduction to one number is cut along its first loop. WidenLoop makes the vectors.
 */
#include "rules.h"

enum {
    SHORT_ROW = 256,    /* elements: the end of a sum takes as long as the sum; several rows take */
    ROWS_OF_TURN = 2,   /* each step together, so that one row's end meets the next one's middle */
    LEAST_AHEAD = 1536, /* elements that are fetched early; a short row's time is not enough */
    COLUMNS_AHEAD = 1024, /* the same of columns */
    MIN_SHARED = 1 << 16, /* elements that are worth cutting a reduction to one number for */
    PARTS = 64,           /* of a loop whose extent is known at run time alone */
};

typedef struct rows {
    tnk_sch *s;
    tn_ctx *ctx;
    int bytes; /* of a vector */
    cpu_caches caches;
    tnk_item *all[CPU_MAX_BLOCKS], *root;
    uint32_t n, n_reductions;
    bool columns;
    bool guarded; /* turns past the end are left out by a condition that LoopPartition takes away */
    double reduced; /* elements that a result is made of */
} rows;

/* ---- reductions for other rules ---- */

typedef struct windows {
    const tn_block *b;
    bool any;
} windows;

/* An index of both kinds of iterators. */
static tn_walk_step
look_for_window(void *user, const tn_node *n)
{
    windows *w = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    for (uint32_t i = 0; l && i < l->indices.n; i++) {
        bool spatial = false, reduces = false;
        for (uint32_t k = 0; k < w->b->iters.n; k++) {
            const tn_iter_var *iv = tn_as_iter_var(w->b->iters.at[k]);
            if (tn_is_int_const(tn_as_range(iv->dom)->extent, 1) ||
                !tn_uses(l->indices.at[i], iv->var))
                continue;
            spatial |= iv->iter_kind == TN_ITER_SPATIAL;
            reduces |= iv->iter_kind == TN_ITER_REDUCE;
        }
        w->any |= spatial && reduces;
    }
    return TN_WALK_ON;
}

static const tn_node *
loaded(const tn_expr *e)
{
    while (tn_is(e, TN_KIND_CAST))
        e = ((const tn_cast *)e)->value;
    const tn_buffer_load *l = tn_as_buffer_load(e);
    return l ? l->buffer : NULL;
}

/* Sums of products of two tensors, and windows that slide over one. */
static bool
is_for_others(const tnk_item *block)
{
    const tn_block *b = tnk_item_block(block);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    const tn_expr *sides[2] = {tn_as_binary(st->value)->a, tn_as_binary(st->value)->b};
    for (int i = 0; i < 2; i++)
        if (tn_is(sides[i], TN_KIND_MUL)) {
            const tn_node *x = loaded(tn_as_binary(sides[i])->a),
                          *y = loaded(tn_as_binary(sides[i])->b);
            if (x && y && x != y)
                return true;
        }
    windows w = {.b = b};
    tn_walk(b->body, 0, look_for_window, NULL, &w);
    return w.any;
}

/* ---- what a block reads ---- */

typedef struct reading {
    rows *r;
    const tn_block *b;
    const tn_node *out;
    uint32_t most;        /* iterators that the load with the most of them runs over */
    bool along_reduction; /* its last index */
    bool any;
} reading;

static tn_walk_step
widest_load(void *user, const tn_node *n)
{
    reading *q = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer == q->out || l->indices.n == 0)
        return TN_WALK_ON;
    uint32_t count = 0;
    bool reduces = false, spatial = false;
    for (uint32_t k = 0; k < q->b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(q->b->iters.at[k]);
        if (!cpu_load_uses(l, iv->var) || tn_is_int_const(tn_as_range(iv->dom)->extent, 1))
            continue;
        count++;
        if (tn_uses(l->indices.at[l->indices.n - 1], iv->var)) {
            reduces |= iv->iter_kind == TN_ITER_REDUCE;
            spatial |= iv->iter_kind == TN_ITER_SPATIAL;
        }
    }
    if (!q->any || count > q->most) {
        q->any = true;
        q->most = count;
        q->along_reduction = reduces || !spatial;
    }
    return TN_WALK_ON;
}

static bool
runs_along_reduction(rows *r, const tnk_item *block)
{
    reading q = {.r = r, .b = tnk_item_block(block), .out = tnk_block_output(block)};
    tn_walk(q.b->body, 0, widest_load, NULL, &q);
    return !q.any || q.along_reduction;
}

/* Takes the function apart; false: nothing for here. */
static bool
find_rows(rows *r)
{
    tnk_item *outputs[2];
    bool first = true;
    r->n = tnk_sch_blocks(r->s, r->all, CPU_MAX_BLOCKS);
    if (r->n > CPU_MAX_BLOCKS || tnk_sch_output_blocks(r->s, outputs, 2) != 1)
        return false;
    r->root = outputs[0];
    r->reduced = 1;
    for (uint32_t i = 0; i < r->n; i++) {
        const tn_block *b = tnk_item_block(r->all[i]);
        if (!tnk_block_is_reduction(r->all[i])) {
            if (!tnk_block_is_injective(r->all[i]))
                return false;
            continue;
        }
        const tn_buffer_store *st = tn_as_buffer_store(b->body);
        if (!st || !b->init || !tn_is_binary(st->value) || !cpu_is_alone(r->s, r->all[i]))
            return false;
        if (is_for_others(r->all[i]))
            return false;
        bool columns = !runs_along_reduction(r, r->all[i]);
        if (!first && columns != r->columns)
            return false;
        first = false;
        r->columns = columns;
        r->n_reductions++;
        double n = 1;
        int64_t e;
        for (uint32_t k = 0; k < b->iters.n; k++) {
            const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
            if (iv->iter_kind != TN_ITER_REDUCE && iv->iter_kind != TN_ITER_SPATIAL)
                return false;
            if (iv->iter_kind == TN_ITER_REDUCE)
                n *= tn_int_value(tn_as_range(iv->dom)->extent, &e) ? (double)e : 1024;
        }
        r->reduced = n > r->reduced ? n : r->reduced;
    }
    return r->n_reductions > 0;
}

/* ---- which of the root's iterators are rows ---- */

typedef struct uses {
    rows *r;
    const tn_node *buffer;
    const tn_block *root;
    bool row[CPU_MAX_LOOPS], any;
} uses;

static tn_walk_step
note_use(void *user, const tn_node *n)
{
    uses *u = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer != u->buffer)
        return TN_WALK_ON;
    for (uint32_t k = 0; k < u->root->iters.n; k++)
        u->row[k] &= cpu_load_uses(l, tn_as_iter_var(u->root->iters.at[k])->var);
    u->any = true;
    return TN_WALK_ON;
}

static bool
find_row_iters(rows *r, bool *row)
{
    uses u = {.r = r, .root = tnk_item_block(r->root)};
    if (u.root->iters.n > CPU_MAX_LOOPS / 2)
        return false;
    for (uint32_t k = 0; k < u.root->iters.n; k++)
        u.row[k] = tn_as_iter_var(u.root->iters.at[k])->iter_kind == TN_ITER_SPATIAL;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->all[i] != r->root && tnk_block_is_reduction(r->all[i])) {
            u.buffer = tnk_block_output(r->all[i]);
            tn_walk(u.root->body, 0, note_use, NULL, &u);
        }
    memcpy(row, u.row, sizeof u.row);
    return u.any || tnk_block_is_reduction(r->root);
}

/* ---- the loops of one block ---- */

typedef struct widths {
    rows *r;
    const tn_expr *along;
    int64_t lanes;
    bool bad;
} widths;

static tn_walk_step
note_width(void *user, const tn_node *n)
{
    widths *w = user;
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        bool guard = w->r->guarded && tn_is_intrin(n, TN_INTRIN_if_then_else) &&
                     !tn_uses(((const tn_call *)n)->args.at[0], w->along);
        w->bad |= !op || (op->flags & TN_OP_LAZY && tn_uses(n, w->along) && !guard);
    }
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l && n->kind != TN_KIND_CAST && n->kind != TN_KIND_BUFFER_STORE)
        return TN_WALK_ON;
    if (l && !cpu_load_uses(l, w->along))
        return TN_WALK_SKIP;
    tnb_dtype d = n->kind == TN_KIND_BUFFER_STORE
                      ? tn_as_buffer(((const tn_buffer_store *)n)->buffer)->dtype
                      : tn_dtype_of(n);
    int64_t lanes = cpu_lanes(w->r->bytes, d);
    w->lanes = lanes < w->lanes ? lanes : w->lanes;
    return TN_WALK_ON;
}

static int64_t
wide_lanes(rows *r, const tnk_item *block, const tn_expr *along)
{
    widths w = {.r = r, .along = along, .lanes = 64};
    tn_walk(tnk_item_block(block)->body, 0, note_width, NULL, &w);
    return w.bad ? 1 : w.lanes;
}

/* Annotates the block's innermost loop, over the iterator `along`, for WidenLoop, if it has a vector form. */
static bool
widen(rows *r, tnk_item *block, const tn_expr *along, tnk_item *loop)
{
    int64_t e, lanes = wide_lanes(r, block, along);
    if (tnk_loop_extent(loop, &e))
        while (lanes > e && lanes > 4)
            lanes /= 2;
    return lanes < 2 || tnk_annotate(r->s, loop, "tenon.wide", tn_i64(r->ctx, lanes));
}

int64_t
cpu_wide_lanes(const tnk_item *block, const tn_expr *along, int vector_bytes)
{
    return wide_lanes(&(rows){.bytes = vector_bytes}, block, along);
}

static double
bytes_of(const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    double n = (double)tnb_dtype_bytes(b->dtype);
    int64_t e;
    for (uint32_t i = 0; i < b->shape.n; i++) {
        if (!tn_int_value(b->shape.at[i], &e))
            return 0;
        n *= (double)e;
    }
    return n;
}

/* Of what stays in the second cache beside other things. */
static double
near_bytes(const cpu_caches *caches)
{
    return (double)(caches->l2 / 2);
}

bool
cpu_fetch_ahead(tnk_sch *s, tnk_item *loop, const tn_node *result, int64_t ahead,
                const cpu_caches *caches)
{
    return bytes_of(result) < near_bytes(caches) ||
           tnk_annotate(s, loop, "tenon.ahead", tn_i64(tnk_sch_ctx(s), ahead));
}

bool
cpu_store_past(tnk_sch *s, tnk_item *block, const cpu_caches *caches)
{
    tnk_item *l[CPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS);
    if (n == 0 || n > CPU_MAX_LOOPS || bytes_of(tnk_block_output(block)) < (double)caches->l3)
        return true;
    return tnk_annotate(s, l[0], "tenon.stream", tn_i64(tnk_sch_ctx(s), 1));
}

typedef struct given {
    tnk_sch *s;
    const tn_node *out;
    bool any;
} given;

static tn_walk_step
look_for_given(void *user, const tn_node *n)
{
    given *g = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (l && l->buffer != g->out && l->indices.n > 1 && !tnk_sch_writer(g->s, l->buffer))
        g->any = true;
    return TN_WALK_ON;
}

static bool
reads_given(rows *r, const tnk_item *block)
{
    given g = {.s = r->s, .out = tnk_block_output(block)};
    tn_walk(tnk_item_block(block)->body, 0, look_for_given, NULL, &g);
    return g.any;
}

/* The last block of a row that reads what is given fetches the next row. */
static bool
stream_row(rows *r, tnk_item *block, tnk_item *loop)
{
    const tn_node *result = tnk_block_output(r->root);
    bool last = reads_given(r, block);
    for (uint32_t i = r->n; last && i-- > 0 && r->all[i] != block;)
        last = !reads_given(r, r->all[i]);
    double read = bytes_of(result), near = near_bytes(&r->caches);
    int64_t longest = r->caches.l2 / 8; /* elements: with the next row in the second cache */
    if (r->columns) {
        /* the same columns, some rows of memory further */
        const tn_list shape = tn_as_buffer(result)->shape;
        int64_t row;
        if (!reads_given(r, block) || !tnk_block_is_reduction(block) || shape.n == 0 ||
            !tn_int_value(shape.at[shape.n - 1], &row) || row < 1 || row > longest ||
            bytes_of(result) * r->reduced < near)
            return true;
        int64_t further = row < COLUMNS_AHEAD ? COLUMNS_AHEAD / row * row : row;
        return tnk_annotate(r->s, loop, "tenon.ahead", tn_i64(r->ctx, further));
    }
    if (r->reduced > (double)longest)
        return true;
    if (tnk_block_is_reduction(r->root))
        read *= r->reduced;
    int64_t row = r->reduced < 1 ? 1 : (int64_t)r->reduced,
            ahead = (LEAST_AHEAD + row - 1) / row * row;
    return !last || read < near || tnk_annotate(r->s, loop, "tenon.ahead", tn_i64(r->ctx, ahead));
}

/* The block's own loops, below the first `depth`: in row mode the reduction innermost, in column mode
 * the columns; the innermost one wide. */
static bool
finish_block(rows *r, tnk_item *block, uint32_t depth)
{
    tnk_sch *s = r->s;
    tnk_item *l[CPU_MAX_LOOPS], *order[CPU_MAX_LOOPS], *columns = NULL;
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS), k = 0, first_reducing = 0;
    const tn_block *b = tnk_item_block(block);
    if (n > CPU_MAX_LOOPS || n < depth)
        return false;
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    const tn_expr *along = st->indices.n ? st->indices.at[st->indices.n - 1] : NULL;
    bool reduces = tnk_block_is_reduction(block);
    if (n == depth)
        return true;
    for (uint32_t i = depth; i < n; i++)
        if (!tnk_loop_reduces(l[i], block))
            order[k++] = l[i];
    if (r->columns && k > 0 && reduces)
        columns = order[--k];
    first_reducing = k;
    for (uint32_t i = depth; i < n; i++)
        if (tnk_loop_reduces(l[i], block))
            order[k++] = l[i];
    if (columns)
        order[k++] = columns;
    if (k > 1 && !tnk_reorder(s, order, k))
        return false;
    if (reduces) {
        tnk_item *init = tnk_decompose_reduction(s, block, order[first_reducing]);
        if (!init)
            return false;
        if (columns) {
            tnk_item *m[CPU_MAX_LOOPS];
            uint32_t own = tnk_sch_loops(s, init, m, CPU_MAX_LOOPS);
            if (own > CPU_MAX_LOOPS || own == 0 || !widen(r, init, along, m[own - 1]))
                return false;
        } else {
            for (uint32_t i = 0; i < b->iters.n; i++) /* the last of them */
                if (tn_as_iter_var(b->iters.at[i])->iter_kind == TN_ITER_REDUCE)
                    along = tn_as_iter_var(b->iters.at[i])->var;
        }
    }
    return !along || (widen(r, block, along, order[k - 1]) && stream_row(r, block, order[k - 1]));
}

/* Whether a turn comes back to elements: it keeps some, or reads what is given twice. */
static bool
comes_back(rows *r)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        reads += reads_given(r, r->all[i]);
        if (r->all[i] != r->root && !tnk_block_is_reduction(r->all[i]))
            return true;
    }
    return reads > 1;
}

/* Columns that a turn has: few enough for what it keeps of them to stay near, and for threads to have
 * turns; `others`: turns that there are of other loops. */
static int64_t
columns_of_turn(rows *r, int64_t extent, int64_t element, double others)
{
    int64_t most = r->caches.l1 / 2 / element;
    bool near = comes_back(r);
    while (near && most > 64 && (double)(most * element) * r->reduced > near_bytes(&r->caches))
        most /= 2;
    while (most > 64 && (double)(extent / most) * others < 8)
        most /= 2; /* turns for threads */
    return most;
}

/* How many turns the loops over rows have together, without loop number `without`. */
static double
turns_of(tnk_item *const *l, uint32_t n, const bool *row, uint32_t without)
{
    double turns = 1;
    int64_t e;
    for (uint32_t i = 0; i < n; i++)
        if (row[i] && i != without && tnk_loop_extent(l[i], &e))
            turns *= (double)e;
    return turns;
}

/* The loop whose turns are rows, or sets of columns. */
static tnk_item *
split_root(rows *r, const bool *row)
{
    tnk_sch *s = r->s;
    tnk_item *l[CPU_MAX_LOOPS], *order[CPU_MAX_LOOPS], *part[2], *columns = NULL;
    const tn_block *b = tnk_item_block(r->root);
    uint32_t n = tnk_sch_loops(s, r->root, l, CPU_MAX_LOOPS), k = 0, n_rows;
    if (n != b->iters.n || n > CPU_MAX_LOOPS / 2)
        return NULL;
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    for (uint32_t i = 0; i < n; i++) {
        if (!row[i])
            continue;
        order[k++] = l[i];
        if (!r->columns || tn_as_iter_var(b->iters.at[i])->var != st->indices.at[st->indices.n - 1])
            continue;
        int64_t e;
        if (!tnk_loop_extent(l[i], &e)) {
            columns = l[i]; /* all of them in one turn */
            k--;
            continue;
        }
        tnb_dtype d = tn_as_buffer(st->buffer)->dtype;
        int64_t c = columns_of_turn(r, e, (int64_t)tnb_dtype_bytes(d), turns_of(l, n, row, i));
        if (e <= c) {
            columns = l[i];
            k--;
            continue;
        }
        if (!tnk_split_overlap(s, l[i], c, part))
            return NULL;
        order[k - 1] = part[0];
        columns = part[1];
    }
    if (r->columns && !columns)
        return NULL;
    n_rows = k;
    for (uint32_t i = 0; i < n; i++)
        if (!row[i])
            order[k++] = l[i];
    if (columns)
        order[k++] = columns;
    if (n_rows == 0) {
        if (r->n == 1)
            return NULL;
        order[0] = NULL;
        tnk_item *unit = tnk_add_unit_loop(s, r->root);
        if (!unit)
            return NULL;
        /* it is the innermost: everything goes into it */
        n = tnk_sch_loops(s, r->root, l, CPU_MAX_LOOPS);
        for (uint32_t i = n - 1; i > 0; i--)
            l[i] = l[i - 1];
        l[0] = unit;
        return n < 2 || tnk_reorder(s, l, n) ? unit : NULL;
    }
    if (k > 1 && !tnk_reorder(s, order, k))
        return NULL;
    tnk_item *all = order[0];
    for (uint32_t i = 1; i < n_rows; i++)
        if (!(all = tnk_fuse(s, all, order[i])))
            return NULL;
    int64_t turns;
    bool several = !r->columns && r->n_reductions > 1 && r->reduced <= SHORT_ROW &&
                   tnk_loop_extent(all, &turns) && turns >= 64 * ROWS_OF_TURN;
    if (several && !tnk_split_overlap(s, all, ROWS_OF_TURN, part))
        return NULL;
    return several ? part[0] : all;
}

/* One number: the turns of the first loop reduce for themselves. */
static bool
cut(rows *r, tnk_item *block)
{
    tnk_item *l[CPU_MAX_LOOPS], *part[2];
    uint32_t n = tnk_sch_loops(r->s, block, l, CPU_MAX_LOOPS);
    int64_t e;
    if (n == 0 || n > CPU_MAX_LOOPS)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!tnk_loop_reduces(l[i], block))
            return true;
    if (r->reduced < MIN_SHARED)
        return true;
    tnk_item *outer = l[0];
    uint32_t i = 1;
    while (i + 1 < n && tnk_loop_extent(outer, &e) && e < 16)
        if (!(outer = tnk_fuse(r->s, outer, l[i++])))
            return false;
    if (n == 1 && tnk_loop_extent(outer, &e)) {
        int64_t chunk = 1 << 14;
        while (chunk > 1024 && e % chunk != 0)
            chunk /= 2;
        if (e % chunk != 0)
            return true;
        if (!tnk_split(r->s, outer, chunk, part))
            return false;
        outer = part[0];
    } else if (!tnk_loop_extent(outer, &e)) { /* may be any number: not one partial result a turn */
        const int64_t factors[2] = {PARTS, -1};
        if (!tnk_split_n(r->s, outer, factors, 2, part))
            return false;
        outer = part[0];
        r->guarded = true;
    }
    return tnk_rfactor(r->s, outer, 0) != NULL;
}

static bool
schedule_root(rows *r)
{
    bool row[CPU_MAX_LOOPS];
    if (!find_row_iters(r, row))
        return false;
    tnk_item *turns = split_root(r, row);
    uint32_t depth = turns ? 1 : 0;
    if (!turns && (r->n > 1 || !tnk_sch_ok(r->s)))
        return false;
    for (uint32_t i = r->n; turns && i-- > 0;)
        if (r->all[i] != r->root && !tnk_compute_at(r->s, r->all[i], turns))
            return false;
    for (uint32_t i = 0; i < r->n; i++)
        if (!finish_block(r, r->all[i], depth))
            return false;
    int64_t e;
    if (!turns)
        return true;
    if (!(tnk_loop_extent(turns, &e) && e <= 1) && !tnk_set_kind(r->s, turns, TN_FOR_PARALLEL))
        return false;
    return r->columns || tnk_block_is_reduction(r->root) ||
           cpu_store_past(r->s, r->root, &r->caches);
}

const tn_node *
cpu_schedule_rows(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, bool several)
{
    tnk_sch *s = cpu_is_noalias(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    rows r = {.s = s, .ctx = ctx, .caches = cpu_caches_of(target)};
    if (!s)
        return NULL;
    r.n = tnk_sch_blocks(s, r.all, CPU_MAX_BLOCKS);
    uint32_t reductions = 0;
    for (uint32_t i = 0; i < r.n && i < CPU_MAX_BLOCKS; i++)
        reductions += tnk_block_is_reduction(r.all[i]);
    if (several ? reductions < 2 && (reductions < 1 || r.n < 2) : reductions != 1)
        return NULL;
    tnk_sch_quiet(s);
    r.bytes = cpu_vector_bytes(ctx, target);
    cpu_inline_cheap(s, CPU_KEEP_PADDING);
    if (!find_rows(&r))
        return NULL;
    if (r.n == 1 && !several) {
        if (!cut(&r, r.root))
            return NULL;
        tnk_item *parts[3];
        if (tnk_sch_blocks(s, parts, 3) == 2) { /* each of them in a nest of its own */
            for (uint32_t i = 0; i < 2; i++) {
                rows one = {.s = s,
                            .ctx = ctx,
                            .bytes = r.bytes,
                            .caches = r.caches,
                            .n = 1,
                            .guarded = r.guarded,
                            .reduced = r.reduced};
                one.root = one.all[0] = parts[i];
                if (!schedule_root(&one))
                    return NULL;
            }
            return tnk_sch_finish(s);
        }
    }
    return schedule_root(&r) ? tnk_sch_finish(s) : NULL;
}
