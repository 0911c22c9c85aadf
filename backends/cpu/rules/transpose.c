/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Transpose: functions that move elements so that memory runs along another axis than the result's last one.
 *
 *     for i, j: B[i, j] = f(A[j, i])     =>     for tiles of B, 16 rows of 128: (parallel)
 *                                                   for squares of 8 by 8: turned[...] = A's, turned in registers
 *                                                   for i, j of the tile: B[i, j] = f(turned[i, j])   (vectors)
 *
 * A square is as many registers as these have lanes; log2 of that many rounds of shuffles turn it (squares.c). What the
 * tile reads are whole lines of the cache; what it writes are pieces long enough that few pages are open at a time. Axes
 * are those of axes.c, so that any permutation is the same two-dimensional problem within loops. Where the extents are not
 * known to hold a square, the function looks at them and has plain loops besides.
 *
 * Where a dimension of the result is two of the operand (heads become one row) and rows stay rows, they are copied; so are
 * rows of results too large for the caches.
 */
#include "squares.h"

enum {
    TILE_ROWS = 128,      /* of the operand: 512 bytes of floats in the result */
    FEW_ROWS = 16,        /* where each is in other pages, and all in the same sets of the caches */
    FAR_APART = 64 << 10, /* bytes between such rows */
    LINE = 64,            /* bytes */
    AHEAD = 32,           /* rows that are fetched before they are used */
    MAX_TURNED = 3
};

typedef struct turn {
    tn_ctx *ctx;
    cpu_axes a;
    const tn_prim_func *func;
    int vector_bytes;
    cpu_caches caches;
    uint32_t x, y; /* groups: the result's last, the operand's last */
    uint32_t turned[MAX_TURNED], n_turned;
    int64_t X, Y, tx, ty; /* extents, -1: not known; of a tile */
    cpu_square square;
    const tn_node *tile[MAX_TURNED];
} turn;

/* ---- recognizing ---- */

/* The group along which a load runs through memory. */
static uint32_t
own_group(const turn *t, uint32_t load)
{
    int64_t s;
    for (uint32_t g = t->a.n_groups; g-- > 0;)
        if (g != t->x && cpu_axes_step(&t->a, load, g, &s) && s == 1)
            return g;
    return UINT32_MAX;
}

static bool
find_turned(turn *t)
{
    const cpu_axes *a = &t->a;
    t->x = a->n_groups - 1;
    t->y = UINT32_MAX;
    for (uint32_t i = 0; i < a->n_loads; i++) {
        int64_t s;
        const tn_expr *step = a->step[i][a->n - 1];
        if (!step)
            return false;
        if (tn_int_value(step, &s) && (s == 0 || s == 1))
            continue;
        uint32_t y = own_group(t, i);
        if (y == UINT32_MAX || (t->y != UINT32_MAX && y != t->y) || t->n_turned == MAX_TURNED)
            return false;
        tnb_dtype d = tn_as_buffer(a->load[i]->buffer)->dtype;
        if (t->n_turned && d.bits != tn_as_buffer(a->load[t->turned[0]]->buffer)->dtype.bits)
            return false;
        t->y = y;
        t->turned[t->n_turned++] = i;
    }
    return true;
}

static int64_t
known(const tn_expr *extent)
{
    int64_t n;
    return tn_int_value(extent, &n) ? n : -1;
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void
choose_tile(turn *t)
{
    int64_t step, L = t->square.lanes, line = LINE / t->square.bytes;
    bool far =
        cpu_axes_step(&t->a, t->turned[0], t->x, &step) && step * t->square.bytes >= FAR_APART;
    t->tx = far ? FEW_ROWS : TILE_ROWS;
    t->ty = far ? 2 * line : line;
    if (t->tx < L)
        t->tx = L;
    if (t->X >= 0)
        t->tx = least(t->tx, t->X);
    if (t->Y >= 0)
        t->ty = least(t->ty, t->Y);
}

/* ---- writing ---- */

static const tn_expr *
var(turn *t, const char *name)
{
    return tn_var_dtype(t->ctx, name, TNB_I64);
}

static const tn_stmt *
loop(turn *t, const tn_expr *v, const tn_expr *extent, tn_for_kind kind, const tn_stmt *body)
{
    return tn_for_of(t->ctx, v, tn_i64(t->ctx, 0), extent, kind, NULL, NULL, body);
}

/* Where piece number `n` begins, of pieces of `piece` in `extent`: the last one is moved back to end with it. */
static const tn_expr *
start(turn *t, const tn_expr *n, int64_t piece, const tn_expr *extent, int64_t smallest)
{
    tn_ctx *ctx = t->ctx;
    int64_t e = known(extent);
    const tn_expr *at = tn_muli(ctx, n, piece);
    return e >= 0 && e % piece == 0 ? at : tn_min(ctx, at, tn_subi(ctx, extent, smallest));
}

static const tn_expr *
pieces(turn *t, const tn_expr *extent, int64_t piece)
{
    tn_ctx *ctx = t->ctx;
    int64_t e = known(extent);
    return e >= 0 ? tn_i64(ctx, (e + piece - 1) / piece)
                  : tn_ceildiv(ctx, extent, tn_i64(ctx, piece));
}

/* How much of a tile lies within. */
static const tn_expr *
inside(turn *t, const tn_expr *from, int64_t tile, const tn_expr *extent)
{
    tn_ctx *ctx = t->ctx;
    int64_t e = known(extent);
    return e >= 0 && e % tile == 0 ? tn_i64(ctx, tile)
                                   : tn_min(ctx, tn_i64(ctx, tile), tn_sub(ctx, extent, from));
}

typedef struct place {
    const tn_expr *at[CPU_MAX_AXES]; /* of the tile: its first element */
    const tn_expr *nx, *ny;
} place;

/* An expression at row j and column i of the tile. */
static const tn_expr *
at(turn *t, const place *p, const tn_expr *e, const tn_expr *j, const tn_expr *i)
{
    const tn_expr *where[CPU_MAX_AXES];
    memcpy(where, p->at, sizeof where);
    where[t->x] = tn_add(t->ctx, p->at[t->x], i);
    where[t->y] = tn_add(t->ctx, p->at[t->y], j);
    return cpu_axes_at(&t->a, e, where);
}

/* Asks for the rows of the operand that come AHEAD rows later, or in the next lines. */
static const tn_stmt *
fetch(turn *t, const place *p, uint32_t load, const tn_expr *i)
{
    tn_ctx *ctx = t->ctx;
    const tn_buffer_load *l = t->a.load[load];
    int64_t line = LINE / t->square.bytes, lines = t->ty / line;
    const tn_expr *u = var(t, "u"), *row = tn_addi(ctx, i, least(AHEAD, t->tx));
    const tn_expr *over = tn_ge(ctx, row, p->nx);
    row = tn_select_of(ctx, over, tn_sub(ctx, row, p->nx), row);
    const tn_expr *ahead =
        tn_mul(ctx, tn_add(ctx, row, u), t->a.step[load][t->a.first[t->x + 1] - 1]);
    ahead = tn_add(ctx, ahead, tn_select_of(ctx, over, tn_i64(ctx, t->ty), tn_i64(ctx, 0)));
    const tn_expr **index = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, l->indices.n);
    for (uint32_t k = 0; k < l->indices.n; k++)
        index[k] = cpu_axes_at(&t->a, l->indices.at[k], p->at);
    const tn_expr **last = &index[l->indices.n - 1], *from = tn_add(ctx, *last, ahead);
    const tn_stmt *s[4];
    uint32_t n = 0;
    for (int64_t k = 0; k < (lines ? lines : 1) && k < 4; k++) {
        /* counted in elements of memory: the place may be in another row */
        *last = tn_addi(ctx, from, k * line);
        const tn_expr *e = tn_buffer_load_of(ctx, l->buffer, tn_list_of(ctx, index, l->indices.n));
        e = tn_intrin1(ctx, TN_INTRIN_address_of, e);
        s[n++] = tn_evaluate_of(ctx, tn_intrin1(ctx, TN_INTRIN_prefetch, e));
    }
    return loop(t, u, tn_i64(ctx, t->square.lanes), TN_FOR_SERIAL,
                tn_seq_of(ctx, tn_list_of(ctx, s, n)));
}

/* Fills the tile of one load. */
static const tn_stmt *
turn_in(turn *t, const place *p, uint32_t k, bool fetches)
{
    tn_ctx *ctx = t->ctx;
    const tn_buffer_load *l = t->a.load[t->turned[k]];
    int64_t L = t->square.lanes;
    const tn_expr *gi = var(t, "rows"), *gj = var(t, "columns");
    const tn_expr *i = start(t, gi, L, p->nx, L), *j = start(t, gj, L, p->ny, L);
    const tn_expr *u = var(t, "u"), *v = var(t, "v"), *w = var(t, "u"), *z = var(t, "v");
    const tn_expr *element = at(t, p, TN_NODE(l), tn_add(ctx, j, v), tn_add(ctx, i, u));
    const tn_stmt *load = cpu_square_set(&t->square, u, v, element);
    load = loop(t, u, tn_i64(ctx, L), TN_FOR_UNROLLED,
                loop(t, v, tn_i64(ctx, L), TN_FOR_VECTORIZED, load));
    const tn_expr *to = tn_add(ctx, tn_muli(ctx, tn_add(ctx, j, w), t->tx), tn_add(ctx, i, z));
    const tn_stmt *store = tn_buffer_store_of(ctx, t->tile[k], cpu_square_get(&t->square, w, z),
                                              tn_listv(ctx, to, NULL));
    store = loop(t, w, tn_i64(ctx, L), TN_FOR_UNROLLED,
                 loop(t, z, tn_i64(ctx, L), TN_FOR_VECTORIZED, store));
    const tn_stmt *s = tn_seqv(ctx, load, cpu_square_turn(&t->square), store, NULL);
    s = loop(t, gj, pieces(t, p->ny, L), TN_FOR_SERIAL, s);
    if (fetches)
        s = tn_seqv(ctx, fetch(t, p, t->turned[k], i), s, NULL);
    return loop(t, gi, pieces(t, p->nx, L), TN_FOR_SERIAL, s);
}

typedef struct swap {
    turn *t;
    const place *p;
    const tn_expr *from;
} swap;

static const tn_node *
from_tile(tn_rewriter *r, const tn_node *n)
{
    swap *s = r->user;
    turn *t = s->t;
    tn_ctx *ctx = t->ctx;
    for (uint32_t k = 0; n->kind == TN_KIND_BUFFER_LOAD && k < t->n_turned; k++)
        if (tn_equal(ctx, n, TN_NODE(t->a.load[t->turned[k]]), false, NULL))
            return cpu_square_value(&t->square,
                                    tn_buffer_load_of(ctx, t->tile[k],
                                                      tn_listv(ctx, s->from, NULL)),
                                    tn_dtype_of(n));
    return NULL;
}

/* The result's elements of the tile, row by row. */
static const tn_stmt *
write_out(turn *t, const place *p)
{
    tn_ctx *ctx = t->ctx;
    int64_t L = t->square.lanes;
    const tn_expr *j = var(t, "j"), *g = var(t, "i"), *v = var(t, "v");
    const tn_expr *i = tn_add(ctx, start(t, g, L, p->nx, L), v);
    swap user = {t, p, tn_add(ctx, tn_muli(ctx, j, t->tx), i)};
    tn_rewriter r = {.ctx = ctx, .user = &user, .pre = from_tile};
    const tn_buffer_store *st = t->a.store;
    const tn_expr *value = tn_rewrite(&r, st->value),
                  **index = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, st->indices.n);
    for (uint32_t k = 0; k < st->indices.n; k++)
        index[k] = at(t, p, st->indices.at[k], j, i);
    const tn_stmt *s = tn_buffer_store_of(ctx, st->buffer, at(t, p, value, j, i),
                                          tn_list_of(ctx, index, st->indices.n));
    s = loop(t, g, pieces(t, p->nx, L), TN_FOR_SERIAL,
             loop(t, v, tn_i64(ctx, L), TN_FOR_VECTORIZED, s));
    return loop(t, j, p->ny, TN_FOR_SERIAL, s);
}

static const tn_node *
function(turn *t, const tn_stmt *body)
{
    tn_ctx *ctx = t->ctx;
    tn_block root = {.name = "root", .body = body};
    body = tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &root));
    const tn_prim_func *f = t->func;
    const tn_node *r = tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, f->attrs);
    return tn_is_error(r) ? NULL : r;
}

/* Bytes of the result; -1: not known. */
static int64_t
result_bytes(const turn *t)
{
    int64_t n = (int64_t)tnb_dtype_bytes(tn_as_buffer(t->a.store->buffer)->dtype);
    for (uint32_t g = 0; g < t->a.n_groups; g++) {
        int64_t e = known(t->a.size[g]);
        if (e < 0)
            return -1;
        n = e && n > INT64_MAX / e ? INT64_MAX : n * e;
    }
    return n;
}

/* Whether the result is written past the caches: whole lines, too many to be read from there soon. */
static bool
past_caches(const turn *t)
{
    int64_t X = known(t->a.size[t->x]);
    tnb_dtype d = tn_as_buffer(t->a.store->buffer)->dtype;
    return X >= 0 && X * (int64_t)tnb_dtype_bytes(d) % LINE == 0 &&
           result_bytes(t) >= t->caches.l3 / 2;
}

/* One parallel loop around a block with the iterators `digit`, the digits of its number. */
static const tn_stmt *
parallel(turn *t, const tn_expr *const *digit, const tn_expr *const *count, uint32_t n,
         const tn_stmt *body, tn_list allocs, bool stream)
{
    tn_ctx *ctx = t->ctx;
    const tn_expr *p = var(t, "tile"), *total = tn_i64(ctx, 1), *value[CPU_MAX_AXES + 2];
    const tn_node *iters[CPU_MAX_AXES + 2];
    for (uint32_t i = n; i-- > 0;) {
        value[i] = tn_is_int_const(total, 1) ? p : tn_floordiv(ctx, p, total);
        if (i)
            value[i] = tn_floormod(ctx, value[i], count[i]);
        iters[i] = tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), count[i]), digit[i],
                                  TN_ITER_SPATIAL, NULL);
        total = tn_mul(ctx, total, count[i]);
    }
    tn_block b = {.name = "tile",
                  .iters = tn_list_of(ctx, iters, n),
                  .allocs = allocs,
                  .body = body};
    tn_block_regions(ctx, &b, &b.reads, &b.writes);
    body = tn_block_realize_of(ctx, tn_list_of(ctx, value, n), tn_bool(ctx, true),
                               tn_block_of(ctx, &b));
    const tn_node *notes = stream ? tn_dictv(ctx, "tenon.stream", tn_i64(ctx, 1), NULL) : NULL;
    return tn_for_of(ctx, p, tn_i64(ctx, 0), total, TN_FOR_PARALLEL, NULL, notes, body);
}

static const tn_node *
write_tiles(turn *t)
{
    tn_ctx *ctx = t->ctx;
    const tn_expr *digit[CPU_MAX_AXES + 2], *count[CPU_MAX_AXES + 2];
    const tn_expr *ex = t->a.size[t->x], *ey = t->a.size[t->y];
    int64_t L = t->square.lanes, bytes = result_bytes(t);
    uint32_t n = 0;
    place p = {0};
    for (uint32_t g = 0; g < t->a.n_groups; g++) {
        if (g == t->x || g == t->y)
            continue;
        count[n] = t->a.size[g];
        digit[n++] = p.at[g] = var(t, "outer");
    }
    count[n] = pieces(t, ex, t->tx), digit[n++] = var(t, "tile_x");
    count[n] = pieces(t, ey, t->ty), digit[n++] = var(t, "tile_y");
    p.at[t->x] = start(t, digit[n - 2], t->tx, ex, L);
    p.at[t->y] = start(t, digit[n - 1], t->ty, ey, L);
    p.nx = inside(t, p.at[t->x], t->tx, ex);
    p.ny = inside(t, p.at[t->y], t->ty, ey);
    const tn_stmt *s[MAX_TURNED + 1];
    const tn_node *allocs[MAX_TURNED + CPU_SQUARE_BUFFERS];
    uint32_t n_allocs = cpu_square_buffers(&t->square, allocs), k = 0;
    for (; k < t->n_turned; k++) {
        allocs[n_allocs++] = t->tile[k] =
            tn_buffer_new(ctx, "turned", tn_listv(ctx, tn_i64(ctx, t->tx * t->ty), NULL),
                          t->square.dtype, "local");
        s[k] = turn_in(t, &p, k, bytes < 0 || bytes >= t->caches.l2 / 2);
    }
    s[k++] = write_out(t, &p);
    const tn_stmt *body = tn_seq_of(ctx, tn_list_of(ctx, s, k));
    return function(t, parallel(t, digit, count, n, body, tn_list_of(ctx, allocs, n_allocs),
                                past_caches(t)));
}

/* Rows are rows of every operand. */
static const tn_node *
write_rows(turn *t)
{
    tn_ctx *ctx = t->ctx;
    const tn_buffer_store *st = t->a.store;
    const tn_expr *digit[CPU_MAX_AXES],
        **index = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, st->indices.n);
    int64_t step;
    tnb_dtype d = tn_as_buffer(t->a.store->buffer)->dtype;
    for (uint32_t i = 0; i < t->a.n_loads; i++)
        if (!cpu_axes_step(&t->a, i, t->x, &step) || step < 0 || step > 1)
            return NULL;
    for (uint32_t g = 0; g < t->a.n_groups; g++)
        digit[g] = var(t, "at");
    for (uint32_t k = 0; k < st->indices.n; k++)
        index[k] = cpu_axes_at(&t->a, st->indices.at[k], digit);
    const tn_stmt *s = tn_buffer_store_of(ctx, st->buffer, cpu_axes_at(&t->a, st->value, digit),
                                          tn_list_of(ctx, index, st->indices.n));
    int64_t lanes = cpu_lanes(t->vector_bytes, d), X = known(t->a.size[t->x]);
    while (X >= 0 && lanes > X && lanes > 1)
        lanes /= 2;
    const tn_node *notes = lanes > 1 ? tn_dictv(ctx, "tenon.wide", tn_i64(ctx, lanes), NULL) : NULL;
    s = tn_for_of(ctx, digit[t->x], tn_i64(ctx, 0), t->a.size[t->x], TN_FOR_SERIAL, NULL, notes, s);
    return function(t, parallel(t, digit, t->a.size, t->x, s, (tn_list){0}, past_caches(t)));
}

/* Whether rows are copied to places in another order. */
static bool
moves_rows(const turn *t)
{
    return t->a.n_loads == 1 && t->a.store->value == TN_NODE(t->a.load[0]);
}

/* Both extents hold a square. */
static const tn_expr *
holds_square(turn *t)
{
    tn_ctx *ctx = t->ctx;
    const tn_expr *c = NULL;
    const uint32_t dims[2] = {t->x, t->y};
    for (int i = 0; i < 2; i++)
        if (known(t->a.size[dims[i]]) < 0) {
            const tn_expr *x = tn_ge(ctx, t->a.size[dims[i]], tn_i64(ctx, t->square.lanes));
            c = c ? tn_and(ctx, c, x) : x;
        }
    return c;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    tnk_sch *s = cpu_is_noalias(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    tnk_item *block;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    cpu_inline_cheap(s, 0);
    turn t = {.ctx = ctx,
              .func = tn_as_prim_func(prim_func),
              .vector_bytes = cpu_vector_bytes(ctx, target),
              .caches = cpu_caches_of(target)};
    if (tnk_sch_blocks(s, &block, 1) != 1 || !cpu_is_alone(s, block) ||
        !cpu_axes_find(&t.a, ctx, block) || !find_turned(&t))
        return NULL;
    if (t.n_turned == 0)
        return t.a.n_groups > 1 && (t.a.apart || (moves_rows(&t) && past_caches(&t)))
                   ? write_rows(&t)
                   : NULL;
    t.X = known(t.a.size[t.x]);
    t.Y = known(t.a.size[t.y]);
    tnb_dtype d = tn_as_buffer(t.a.load[t.turned[0]]->buffer)->dtype;
    if (t.a.lazy || !cpu_square_init(&t.square, ctx, d, t.vector_bytes) ||
        (t.X >= 0 && t.X < t.square.lanes) || (t.Y >= 0 && t.Y < t.square.lanes))
        return NULL;
    choose_tile(&t);
    const tn_expr *need = holds_square(&t);
    const tn_node *fast = write_tiles(&t);
    if (!fast || !need)
        return fast;
    const tn_node *rest = cpu_rule_elementwise.apply(ctx, prim_func, target, NULL);
    return cpu_either(ctx, need, fast,
                      rest ? rest : cpu_rule_fallback.apply(ctx, prim_func, target, NULL));
}

const tnk_rule cpu_rule_transpose = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Transpose",
    .base.doc =
        "Functions that move elements so that memory runs along another axis: squares turned in "
        "registers, tiles in the cache.",
    .apply = apply,
};
