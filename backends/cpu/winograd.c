/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by 3x3 kernels after Winograd: 36 multiplications a 4x4 tile of the result and pair of channels, not 144.
 *
 *     lv = R.nn.conv2d(x, w, ..., data_layout="NCHW8c", kernel_layout="OIHW8i8o")      # w constant, 3x3
 *  -> lv1 = R.call_tir(cls.winograd_kernel, (w,), ...)       # (36, O/8, I/8, 8, 8), folded
 *     lv2 = R.call_tir(cls.winograd_data, (x,), ...)         # (36, I/8, tiles, 8)
 *     lv3 = R.call_tir(cls.winograd_product, (lv2, lv1), ..) # (36, O/8, tiles, 8): 36 convolutions by 1x1 kernels
 *     lv = R.call_tir(cls.winograd_result, (lv3,), ...)
 *
 * Large images go through all three steps strip by strip, so that what is between the transforms stays in a core's caches:
 *
 *     lv = R.call_tir(cls.winograd, (x, lv1), ...)           # for rows of tiles: (parallel) data, product, result
 *
 * F(4x4, 3x3) of Lavin and Gray. Transforms of the data and of the result are written out here:
 * a tile of 8 channels at a time in registers; tiles over the images' edges read zeros. What follows the result element by
 * element is fused to it (rules/finished.c). The target's attribute `winograd` turns this off: sums are less exact than
 * a convolution's own (docs/numbers.md).
 */
#include "cpu.h"
#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

enum {
    OUT = 4,          /* of a tile, each way */
    IN = OUT + 2,     /* and what it reads */
    POINTS = IN * IN, /* products of a tile */
    MAX_MIB = 512,    /* of what is between the transforms */
    LEAST_TILES = 12, /* fewer would only read the larger kernel */
    LEAST_STRIPS = 8, /* for threads to share */
    FULL_OVERHEAD =
        400, /* cycles of both transforms for a tile and a vector of channels, with its memory */
};

#define STRIP_OF_L2 1.25 /* what is between the transforms of a strip, of the second cache */

/* The points besides 0: one, and its inverse, of either sign. They make sums of similar size: with 1 and 2 the error is
 * three times as large. */
#define NEAR 0.70710678118654752
#define FAR 1.41421356237309505

typedef struct winograd {
    tn_ctx *ctx;
    tnk_te *te;
    tnb_dtype d;                       /* of data, kernel and result; all between is float32 */
    int64_t n, in, out, rows, columns; /* images; blocks of channels; the data's size */
    int64_t lanes, top, left;          /* of a block; padding */
    int64_t out_rows, out_columns;
    int64_t tile_rows, tile_columns; /* of an image */
    int64_t strip; /* rows of tiles that go through all steps together; 0: all of them */
    cpu_caches caches;
    int64_t registers; /* of vectors */
} winograd;

static int64_t
tiles(const winograd *w)
{
    return w->n * w->tile_rows * w->tile_columns;
}

/* ---- whether it pays ---- */

static bool
pays(const winograd *w)
{
    double t = (double)tiles(w), in = (double)w->in, out = (double)w->out, l = (double)w->lanes;
    double direct = (double)(w->n * w->out_rows * w->out_columns) * out * in * 9 * l / 2;
    /* kernels come from memory, 8 bytes a cycle */
    double ours = t * (in * out * POINTS * l / 2 * 1.05 + FULL_OVERHEAD * (in + out)) +
                  in * out * l * l * 4 * (POINTS - 9) / 8;
    return tiles(w) >= LEAST_TILES && ours * 1.1 < direct &&
           t * (in + out) * l * POINTS * 4 <= MAX_MIB * 1048576.0;
}

/* Rows of tiles of a strip: as many as stay in the second cache, as long as the kernel, which every strip reads, is less than what the
 * strips keep from going through memory. 0: no strips. */
static int64_t
rows_of_strip(const winograd *w)
{
    int64_t rows = w->n * w->tile_rows, most = 0;
    double row = (double)((w->in + w->out) * w->lanes * POINTS * 4 * w->tile_columns);
    double weights = (double)(w->in * w->out * w->lanes * w->lanes * POINTS * 4);
    for (int64_t r = 1; r <= rows / LEAST_STRIPS; r++)
        if (rows % r == 0 && row * (double)r <= STRIP_OF_L2 * (double)w->caches.l2 &&
            weights * (double)(rows / r) <= row * (double)rows)
            most = r;
    return row * (double)rows > 2 * (double)w->caches.l2 ? most : 0;
}

/* ---- sums with small factors ---- */

static const tn_expr *
scaled(const winograd *w, const tn_expr *e, double by)
{
    return by == 1 ? e : tn_mul(w->ctx, tn_literal(w->ctx, TNB_F32, by), e);
}

typedef struct statements {
    const tn_node *at[4 * IN];
    uint32_t n;
} statements;

static const tn_stmt *
sequence(const winograd *w, const statements *s)
{
    return tn_seq_of(w->ctx, tn_list_of(w->ctx, s->at, s->n));
}

static void
put(statements *s, const tn_stmt *one)
{
    s->at[s->n++] = one;
}

/* The value by a name: several lines are made of it, which are trees. */
static const tn_expr *
named(const winograd *w, statements *s, const tn_expr *value)
{
    const tn_expr *v = tn_var_dtype(w->ctx, "d", TNB_F32);
    put(s, tn_bind_of(w->ctx, v, value));
    return v;
}

/* low <= e < high by a name: a loop is cut where a condition on its variable changes, but not for a name. */
static const tn_expr *
within(const winograd *w, statements *s, const tn_expr *e, int64_t low, int64_t high)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *v = tn_var_dtype(ctx, "inside", TNB_B8);
    put(s,
        tn_bind_of(ctx, v,
                   tn_and(ctx, tn_ge(ctx, e, tn_i64(ctx, low)), tn_lt(ctx, e, tn_i64(ctx, high)))));
    return v;
}

/* The data's transform of a line: six elements from d[0..6). */
static void
data_line(const winograd *w, statements *s, const tn_expr *const *d, const tn_expr **out)
{
    tn_ctx *ctx = w->ctx;
    for (int p = 0; p < 2; p++)
        out[p * (IN - 1)] = tn_add(ctx, d[p], tn_sub(ctx, d[p + 4], scaled(w, d[p + 2], 2.5)));
    for (int p = 1; p < IN - 1; p += 2) {
        double q = p == 1 ? 2 : 0.5; /* the square of the other points */
        const tn_expr *even = named(w, s, tn_sub(ctx, d[4], scaled(w, d[2], q)));
        const tn_expr *odd =
            named(w, s, scaled(w, tn_sub(ctx, d[3], scaled(w, d[1], q)), p == 1 ? NEAR : FAR));
        out[p] = tn_add(ctx, even, odd);
        out[p + 1] = tn_sub(ctx, even, odd);
    }
}

/* The result's: four elements from m[0..6). */
static void
result_line(const winograd *w, statements *s, const tn_expr *const *m, const tn_expr **out)
{
    tn_ctx *ctx = w->ctx;
    static const double near_power[OUT] = {1, NEAR, 0.5, 0.5 * NEAR},
                        far_power[OUT] = {1, FAR, 2, 2 * FAR};
    const tn_expr *near[2] = {named(w, s, tn_add(ctx, m[1], m[2])),
                              named(w, s, tn_sub(ctx, m[1], m[2]))};
    const tn_expr *far[2] = {named(w, s, tn_add(ctx, m[3], m[4])),
                             named(w, s, tn_sub(ctx, m[3], m[4]))};
    for (int p = 0; p < OUT; p++)
        out[p] =
            tn_add(ctx, scaled(w, near[p % 2], near_power[p]), scaled(w, far[p % 2], far_power[p]));
    out[0] = tn_add(ctx, m[0], out[0]);
    out[OUT - 1] = tn_add(ctx, out[OUT - 1], m[IN - 1]);
}

/* The kernel's: six elements from k[0..3). */
static void
kernel_line(const winograd *w, const tn_expr *const *k, const tn_expr **out)
{
    static const double factor[IN][3] = {{1, 0, 0},
                                         {-2.0 / 3, -2.0 / 3 * NEAR, -1.0 / 3},
                                         {-2.0 / 3, 2.0 / 3 * NEAR, -1.0 / 3},
                                         {1.0 / 6, FAR / 6, 1.0 / 3},
                                         {1.0 / 6, -FAR / 6, 1.0 / 3},
                                         {0, 0, 1}};
    for (int p = 0; p < IN; p++) {
        out[p] = NULL;
        for (int r = 0; r < 3; r++) {
            const tn_expr *e = factor[p][r] != 0 ? scaled(w, k[r], factor[p][r]) : NULL;
            out[p] = out[p] && e ? tn_add(w->ctx, out[p], e) : e ? e : out[p];
        }
    }
}

/* ---- nests ---- */

static const tn_expr *
var(const winograd *w, const char *name)
{
    return tn_var_dtype(w->ctx, name, TNB_I64);
}

/* What a nest reads and writes, and the lines between its two parts. */
typedef struct buffers {
    const tn_node *in, *out, *lines;
} buffers;

/* A block of the nest's tile: vars at values. Its regions are whole buffers: nothing asks for more, and more is much work. */
static const tn_stmt *
tile_block(const winograd *w, const char *name, tn_list vars, tn_list extents, tn_list values,
           const buffers *f, const tn_stmt *body, bool finished)
{
    tn_ctx *ctx = w->ctx;
    const tn_node *iters[8];
    for (uint32_t i = 0; i < vars.n; i++)
        iters[i] = tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), extents.at[i]), vars.at[i],
                                  TN_ITER_SPATIAL, NULL);
    tn_block b = {.name = name,
                  .iters = tn_list_of(ctx, iters, vars.n),
                  .allocs = tn_listv(ctx, f->lines, NULL),
                  .reads = tn_listv(ctx, tn_region_full(ctx, f->in), NULL),
                  .writes = tn_listv(ctx, tn_region_full(ctx, f->out), NULL),
                  .body = body};
    if (finished)
        b.annotations = tn_dictv(ctx, CPU_FINISHED, tn_bool(ctx, true), NULL);
    return tn_block_realize_of(ctx, values, tn_bool(ctx, true), tn_block_of(ctx, &b));
}

static const tn_stmt *
loop(const winograd *w, const tn_expr *v, int64_t extent, tn_for_kind kind, const tn_stmt *body)
{
    tn_ctx *ctx = w->ctx;
    return tn_for_of(ctx, v, tn_i64(ctx, 0), tn_i64(ctx, extent), kind, NULL, NULL, body);
}

static const tn_node *
registers(const winograd *w, const char *name, int64_t vectors)
{
    tn_ctx *ctx = w->ctx;
    return tn_buffer_new(ctx, name, tn_listv(ctx, tn_i64(ctx, vectors * w->lanes), NULL), TNB_F32,
                         "local");
}

static tn_list
register_at(const winograd *w, const tn_expr *number, const tn_expr *lane)
{
    tn_ctx *ctx = w->ctx;
    return tn_listv(ctx, tn_add(ctx, tn_muli(ctx, number, w->lanes), lane), NULL);
}

/* Where a tile lies. */
typedef struct place {
    const tn_expr *row, *block, *column; /* of tiles, row through all images; of channels */
    const tn_expr *image, *y, *x;        /* the result's first element */
    const tn_expr *tile, *lane;
} place;

/* What follows from its row, block and column. */
static void
locate(const winograd *w, place *p)
{
    tn_ctx *ctx = w->ctx;
    p->image = tn_floordivi(ctx, p->row, w->tile_rows);
    p->y = tn_muli(ctx, tn_floormodi(ctx, p->row, w->tile_rows), OUT);
    p->x = tn_muli(ctx, p->column, OUT);
    p->tile = tn_add(ctx, tn_muli(ctx, p->row, w->tile_columns), p->column);
    p->lane = var(w, "c");
}

static place
place_of(const winograd *w)
{
    place p = {.row = var(w, "v_row"), .block = var(w, "v_block"), .column = var(w, "v_column")};
    locate(w, &p);
    return p;
}

/* for row of tiles, block of channels: (parallel) for tile of the row: body */
static const tn_stmt *
nest(const winograd *w, const place *p, const char *name, int64_t rows, int64_t blocks,
     int64_t columns, const buffers *f, const tn_stmt *body, bool finished)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *i = var(w, "i"), *x = var(w, "x");
    tn_list vars = tn_listv(ctx, p->row, p->block, p->column, NULL);
    tn_list extents =
        tn_listv(ctx, tn_i64(ctx, rows), tn_i64(ctx, blocks), tn_i64(ctx, columns), NULL);
    tn_list values =
        tn_listv(ctx, tn_floordivi(ctx, i, blocks), tn_floormodi(ctx, i, blocks), x, NULL);
    const tn_stmt *s = tile_block(w, name, vars, extents, values, f, body, finished);
    return loop(w, i, rows * blocks, TN_FOR_PARALLEL, loop(w, x, columns, TN_FOR_SERIAL, s));
}

static const tn_stmt *
in_vectors(const winograd *w, const place *p, const statements *s)
{
    const tn_expr *lane = var(w, "c"); /* a variable belongs to one loop */
    const tn_stmt *body = tn_subst1(w->ctx, sequence(w, s), p->lane, lane);
    return loop(w, lane, w->lanes, TN_FOR_VECTORIZED, body);
}

/* What a transform does line after line is a loop of few turns and not written out: else this compiler and the next
 * go through it six times. */
static const tn_stmt *
for_lines(const winograd *w, const tn_expr *line, int64_t extent, const tn_stmt *body)
{
    return loop(w, line, extent, TN_FOR_SERIAL, body);
}

/* lines[a, s] = the data's transform down column s; rows: which of the data there are; NULL: all is there. */
static const tn_stmt *
data_columns(const winograd *w, const place *p, const tn_node *x, const tn_node *lines,
             const tn_expr *const *rows)
{
    tn_ctx *ctx = w->ctx;
    statements body = {0}, all = {0};
    const tn_expr *s = var(w, "s"), *c = tn_add(ctx, p->x, tn_addi(ctx, s, -w->left)), *d[IN],
                  *out[IN];
    const tn_expr *column = rows ? within(w, &body, c, 0, w->columns) : NULL;
    for (int r = 0; r < IN; r++) {
        const tn_expr *y = tn_addi(ctx, p->y, r - w->top);
        d[r] = tn_buffer_load_of(ctx, x, tn_listv(ctx, p->image, p->block, y, c, p->lane, NULL));
        d[r] = tn_cast_to(ctx, TNB_F32, d[r]);
        if (rows)
            d[r] = tn_if_then_else(ctx, tn_and(ctx, rows[r], column), d[r],
                                   tn_literal(ctx, TNB_F32, 0));
        d[r] = named(w, &all, d[r]);
    }
    data_line(w, &all, d, out);
    for (int a = 0; a < IN; a++)
        put(&all, tn_buffer_store_of(ctx, lines, out[a],
                                     register_at(w, tn_add(ctx, tn_i64(ctx, a * IN), s), p->lane)));
    put(&body, in_vectors(w, p, &all));
    return for_lines(w, s, IN, sequence(w, &body));
}

static const tn_stmt *
data_tile(const winograd *w, const place *p, const tn_node *x, const tn_node *out,
          const tn_node *lines)
{
    tn_ctx *ctx = w->ctx;
    statements tile = {0}, edge = {0}, all = {0};
    const tn_expr *y = tn_addi(ctx, p->y, -w->top), *c = tn_addi(ctx, p->x, -w->left), *rows[IN];
    const tn_expr *inside = tn_and(ctx, within(w, &tile, y, 0, w->rows - IN + 1),
                                   within(w, &tile, c, 0, w->columns - IN + 1));
    for (int r = 0; r < IN; r++)
        rows[r] = within(w, &edge, tn_addi(ctx, y, r), 0, w->rows);
    put(&edge, data_columns(w, p, x, lines, rows));
    put(&tile, tn_if_stmt_of(ctx, inside, data_columns(w, p, x, lines, NULL), sequence(w, &edge)));

    const tn_expr *a = var(w, "a"), *first = tn_muli(ctx, a, IN), *d[IN], *line[IN];
    for (int s = 0; s < IN; s++)
        d[s] =
            named(w, &all,
                  tn_buffer_load_of(ctx, lines, register_at(w, tn_addi(ctx, first, s), p->lane)));
    data_line(w, &all, d, line);
    for (int b = 0; b < IN; b++)
        put(&all, tn_buffer_store_of(ctx, out, line[b],
                                     tn_listv(ctx, tn_addi(ctx, first, b), p->block, p->tile,
                                              p->lane, NULL)));
    put(&tile, for_lines(w, a, IN, in_vectors(w, p, &all)));
    return sequence(w, &tile);
}

static const tn_stmt *
result_tile(const winograd *w, const place *p, const tn_node *m, const tn_node *out,
            const tn_node *lines)
{
    tn_ctx *ctx = w->ctx;
    statements tile = {0}, all = {0}, rows = {0};
    const tn_expr *s = var(w, "s"), *d[IN], *line[OUT];
    for (int a = 0; a < IN; a++) {
        const tn_expr *point = tn_add(ctx, tn_i64(ctx, a * IN), s);
        tn_list at = tn_listv(ctx, point, p->block, p->tile, p->lane, NULL);
        d[a] = named(w, &all, tn_buffer_load_of(ctx, m, at));
    }
    result_line(w, &all, d, line);
    for (int r = 0; r < OUT; r++)
        put(&all, tn_buffer_store_of(ctx, lines, line[r],
                                     register_at(w, tn_add(ctx, tn_i64(ctx, r * IN), s), p->lane)));
    put(&tile, for_lines(w, s, IN, in_vectors(w, p, &all)));

    all.n = 0;
    const tn_expr *r = var(w, "r"), *y = tn_add(ctx, p->y, r), *there[OUT] = {NULL};
    for (int c = 0; c < OUT; c++)
        if (w->out_columns % OUT > 0 && w->out_columns % OUT <= c)
            there[c] = within(w, &tile, tn_addi(ctx, p->x, c), 0, w->out_columns);
    for (int i = 0; i < IN; i++)
        d[i] =
            named(w, &all,
                  tn_buffer_load_of(ctx, lines,
                                    register_at(w, tn_addi(ctx, tn_muli(ctx, r, IN), i), p->lane)));
    result_line(w, &all, d, line);
    for (int c = 0; c < OUT; c++) {
        tn_list at = tn_listv(ctx, p->image, p->block, y, tn_addi(ctx, p->x, c), p->lane, NULL);
        const tn_stmt *one = tn_buffer_store_of(ctx, out, line[c], at);
        put(&all, there[c] ? tn_if_stmt_of(ctx, there[c], one, NULL) : one);
    }
    const tn_stmt *row = in_vectors(w, p, &all);
    if (w->out_rows % OUT > 0) {
        const tn_expr *inside = within(w, &rows, y, 0, w->out_rows);
        put(&rows, tn_if_stmt_of(ctx, inside, row, NULL));
        row = sequence(w, &rows);
    }
    put(&tile, for_lines(w, r, OUT, row));
    return sequence(w, &tile);
}

/* ---- the calls ---- */

enum { OUT_FUSABLE = 4, OPAQUE = 8 /* patterns of FuseOps */ };

static const tn_expr *
finish(winograd *w, tn_builder *b, const char *name, tn_list inputs, const tn_node *out,
       const tn_type *type, int64_t pattern, bool scheduled)
{
    tn_ctx *ctx = w->ctx;
    const tn_node *f = tnk_te_finish(w->te, &out, 1);
    if (tn_is_error(f))
        return f;
    f = tn_func_with_attr(ctx, f, "op_pattern", tn_i64(ctx, pattern));
    if (scheduled)
        f = tn_func_with_attr(ctx, f, "tirx.is_scheduled", tn_bool(ctx, true));
    const tn_expr *call = tn_builder_call_tir(b, f, name, inputs, type);
    return call;
}

static const tn_type *
type_of(const winograd *w, const tn_expr *const *dims, uint32_t n)
{
    return tn_ty_tensor_dims(w->ctx, tn_list_of(w->ctx, dims, n), TNB_F32);
}

static const tn_expr *
kernel(winograd *w, tn_builder *b, const tn_expr *k)
{
    tn_ctx *ctx = w->ctx;
    w->te = tnk_te_new(ctx);
    place p = {.row = var(w, "v_out"),
               .block = var(w, "v_in"),
               .column = var(w, "v_lane"),
               .lane = var(w, "c")};
    const tn_node *in = tnk_te_input(w->te, "w", k->type), *lines = registers(w, "lines", 3 * IN);
    const tn_expr *dims[5] = {tn_i64(ctx, POINTS), tn_i64(ctx, w->out), tn_i64(ctx, w->in),
                              tn_i64(ctx, w->lanes), tn_i64(ctx, w->lanes)};
    const tn_node *out = tnk_te_buffer(w->te, "kernel", dims, 5, TNB_F32);
    statements columns = {0}, rows = {0};
    const tn_expr *c = var(w, "s"), *a = var(w, "a"), *first = tn_muli(ctx, a, IN), *d[3],
                  *line[IN];
    for (int r = 0; r < 3; r++) {
        d[r] = tn_buffer_load_of(ctx, in,
                                 tn_listv(ctx, p.row, p.block, tn_i64(ctx, r), c, p.column, p.lane,
                                          NULL));
        d[r] = named(w, &columns, tn_cast_to(ctx, TNB_F32, d[r]));
    }
    kernel_line(w, d, line);
    for (int i = 0; i < IN; i++)
        put(&columns,
            tn_buffer_store_of(ctx, lines, line[i],
                               register_at(w, tn_add(ctx, tn_i64(ctx, 3 * i), c), p.lane)));
    for (int i = 0; i < 3; i++)
        d[i] =
            named(w, &rows,
                  tn_buffer_load_of(ctx, lines,
                                    register_at(w, tn_addi(ctx, tn_muli(ctx, a, 3), i), p.lane)));
    kernel_line(w, d, line);
    for (int i = 0; i < IN; i++)
        put(&rows, tn_buffer_store_of(ctx, out, line[i],
                                      tn_listv(ctx, tn_addi(ctx, first, i), p.row, p.block,
                                               p.column, p.lane, NULL)));
    const tn_stmt *body = tn_seqv(ctx, for_lines(w, c, 3, in_vectors(w, &p, &columns)),
                                  for_lines(w, a, IN, in_vectors(w, &p, &rows)), NULL);
    tnk_te_append(w->te, nest(w, &p, "winograd_kernel", w->out, w->in, w->lanes,
                              &(buffers){in, out, lines}, body, false));
    const tn_expr *call = finish(w, b, "winograd_kernel", tn_listv(ctx, k, NULL), out,
                                 type_of(w, dims, 5), OPAQUE, true);
    return tn_is_error(call) ? call : tn_emit(b, call, "kernel");
}

static const tn_expr *
data(winograd *w, tn_builder *b, const tn_expr *x)
{
    tn_ctx *ctx = w->ctx;
    w->te = tnk_te_new(ctx);
    place p = place_of(w);
    const tn_node *in = tnk_te_input(w->te, "x", x->type), *lines = registers(w, "lines", POINTS);
    const tn_expr *dims[4] = {tn_i64(ctx, POINTS), tn_i64(ctx, w->in), tn_i64(ctx, tiles(w)),
                              tn_i64(ctx, w->lanes)};
    const tn_node *out = tnk_te_buffer(w->te, "data", dims, 4, TNB_F32);
    tnk_te_append(w->te, nest(w, &p, "winograd_data", w->n * w->tile_rows, w->in, w->tile_columns,
                              &(buffers){in, out, lines}, data_tile(w, &p, in, out, lines), false));
    const tn_expr *call = finish(w, b, "winograd_data", tn_listv(ctx, x, NULL), out,
                                 type_of(w, dims, 4), OPAQUE, true);
    return tn_is_error(call) ? call : tn_emit(b, call, "data");
}

static const tn_expr *
product(winograd *w, tn_builder *b, const tn_expr *d, const tn_expr *k)
{
    tn_ctx *ctx = w->ctx;
    w->te = tnk_te_new(ctx);
    const tn_node *x = tnk_te_input(w->te, "d", d->type), *y = tnk_te_input(w->te, "k", k->type);
    const tn_expr *dims[4] = {tn_i64(ctx, POINTS), tn_i64(ctx, w->out), tn_i64(ctx, tiles(w)),
                              tn_i64(ctx, w->lanes)},
                  *args[2] = {d, k};
    tnk_stage *s = tnk_te_stage(w->te, "winograd_product", dims, 4, TNB_F32);
    const tn_expr *c = tnk_te_reduce_axis(s, "rco", tn_i64(ctx, w->in));
    const tn_expr *i = tnk_te_reduce_axis(s, "rci", tn_i64(ctx, w->lanes));
    const tn_expr *v = tnk_te_read(w->te, x, s->axes[0], c, s->axes[2], i, NULL);
    const tn_expr *u = tnk_te_read(w->te, y, s->axes[0], s->axes[1], c, i, s->axes[3], NULL);
    const tn_node *out = tnk_te_sum(s, tn_mul(ctx, v, u));
    return tn_emit(b, tnk_te_call(w->te, b, "winograd_product", args, 2, &out, 1), "product");
}

static const tn_expr *
result(winograd *w, tn_builder *b, const tn_expr *m, const tn_type *type)
{
    tn_ctx *ctx = w->ctx;
    w->te = tnk_te_new(ctx);
    place p = place_of(w);
    const tn_node *in = tnk_te_input(w->te, "m", m->type), *lines = registers(w, "lines", OUT * IN);
    const tn_expr *dims[5] = {tn_i64(ctx, w->n), tn_i64(ctx, w->out), tn_i64(ctx, w->out_rows),
                              tn_i64(ctx, w->out_columns), tn_i64(ctx, w->lanes)};
    const tn_node *out = tnk_te_buffer(w->te, "result", dims, 5, w->d);
    tnk_te_append(w->te,
                  nest(w, &p, "winograd_result", w->n * w->tile_rows, w->out, w->tile_columns,
                       &(buffers){in, out, lines}, result_tile(w, &p, in, out, lines), true));
    return finish(w, b, "winograd_result", tn_listv(ctx, m, NULL), out, type, OUT_FUSABLE, false);
}

/* ---- all steps of a strip ---- */

/* Vectors of the product that are summed at once: `tiles` for each of `blocks` of channels. */
typedef struct sums {
    int64_t tiles, blocks;
} sums;

static sums
sums_of(const winograd *w, int64_t tiles)
{
    sums s = {.tiles = 1, .blocks = w->out % 2 ? 1 : 2};
    int64_t most = (w->registers == 32 ? 28 : 12) / s.blocks, least = INT64_MAX;
    for (int64_t t = most / 2; t <= most && t <= tiles; t++) {
        int64_t all = (tiles + t - 1) / t * t;
        if (all <= least) {
            least = all;
            s.tiles = t;
        }
    }
    return s;
}

/* product[a, block, tile, ...] of the tiles of a strip, all sums of a few tiles and blocks in registers. */
static const tn_stmt *
product_of_strip(const winograd *w, const tn_node *d, const tn_node *k, const tn_node *out,
                 const tn_node *acc, sums n, int64_t tiles)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *a = var(w, "a"), *o = var(w, "o"), *g = var(w, "g"), *c = var(w, "rco"),
                  *i = var(w, "rci"), *t[3], *b[3], *lane[3], *at[3];
    for (int s = 0; s < 3; s++) {
        t[s] = var(w, "t");
        b[s] = var(w, "b");
        lane[s] = var(w, "c");
        at[s] = tn_add(ctx, tn_muli(ctx, t[s], n.blocks), b[s]);
    }
    const tn_expr *first = tn_min(ctx, tn_muli(ctx, g, n.tiles), tn_i64(ctx, tiles - n.tiles));
    const tn_stmt *step[3];
    step[0] =
        tn_buffer_store_of(ctx, acc, tn_literal(ctx, TNB_F32, 0), register_at(w, at[0], lane[0]));
    const tn_expr *left =
        tn_buffer_load_of(ctx, d, tn_listv(ctx, a, c, tn_add(ctx, first, t[1]), i, NULL));
    const tn_expr *right =
        tn_buffer_load_of(ctx, k,
                          tn_listv(ctx, a, tn_add(ctx, tn_muli(ctx, o, n.blocks), b[1]), c, i,
                                   lane[1], NULL));
    tn_list sum = register_at(w, at[1], lane[1]);
    step[1] =
        tn_buffer_store_of(ctx, acc,
                           tn_add(ctx, tn_buffer_load_of(ctx, acc, sum), tn_mul(ctx, left, right)),
                           sum);
    step[2] =
        tn_buffer_store_of(ctx, out, tn_buffer_load_of(ctx, acc, register_at(w, at[2], lane[2])),
                           tn_listv(ctx, a, tn_add(ctx, tn_muli(ctx, o, n.blocks), b[2]),
                                    tn_add(ctx, first, t[2]), lane[2], NULL));
    for (int s = 0; s < 3; s++) {
        step[s] = loop(w, lane[s], w->lanes, TN_FOR_VECTORIZED, step[s]);
        step[s] = loop(w, b[s], n.blocks, TN_FOR_UNROLLED, step[s]);
        step[s] = loop(w, t[s], n.tiles, TN_FOR_UNROLLED, step[s]);
    }
    step[1] = loop(w, c, w->in, TN_FOR_SERIAL, loop(w, i, w->lanes, TN_FOR_SERIAL, step[1]));
    const tn_stmt *all = tn_seqv(ctx, step[0], step[1], step[2], NULL);
    all = loop(w, g, (tiles + n.tiles - 1) / n.tiles, TN_FOR_SERIAL, all);
    return loop(w, a, POINTS, TN_FOR_SERIAL, loop(w, o, w->out / n.blocks, TN_FOR_SERIAL, all));
}

/* The place of a tile of a strip, whose buffers have tiles of their own. */
static place
place_in_strip(const winograd *w, const tn_expr *strip, const tn_expr *row)
{
    tn_ctx *ctx = w->ctx;
    place p = {.row = tn_add(ctx, tn_muli(ctx, strip, w->strip), row),
               .block = var(w, "block"),
               .column = var(w, "x")};
    locate(w, &p);
    p.tile = tn_add(ctx, tn_muli(ctx, row, w->tile_columns), p.column);
    return p;
}

static const tn_stmt *
through_strip(const winograd *w, const place *p, const tn_expr *row, int64_t blocks,
              const tn_stmt *tile)
{
    tile = loop(w, p->column, w->tile_columns, TN_FOR_SERIAL, tile);
    return loop(w, row, w->strip, TN_FOR_SERIAL, loop(w, p->block, blocks, TN_FOR_SERIAL, tile));
}

static const tn_expr *
by_strips(winograd *w, tn_builder *b, const tn_expr *x, const tn_expr *k, const tn_type *type)
{
    tn_ctx *ctx = w->ctx;
    w->te = tnk_te_new(ctx);
    int64_t n_tiles = w->strip * w->tile_columns;
    sums n = sums_of(w, n_tiles);
    const tn_node *in = tnk_te_input(w->te, "x", x->type),
                  *weights = tnk_te_input(w->te, "k", k->type);
    const tn_expr *dims[5] = {tn_i64(ctx, w->n), tn_i64(ctx, w->out), tn_i64(ctx, w->out_rows),
                              tn_i64(ctx, w->out_columns), tn_i64(ctx, w->lanes)};
    const tn_node *out = tnk_te_buffer(w->te, "result", dims, 5, w->d);
    const tn_node *between[2];
    for (int i = 0; i < 2; i++)
        between[i] =
            tn_buffer_new(ctx, i ? "product" : "data",
                          tn_listv(ctx, tn_i64(ctx, POINTS), tn_i64(ctx, i ? w->out : w->in),
                                   tn_i64(ctx, n_tiles), tn_i64(ctx, w->lanes), NULL),
                          TNB_F32, "global");
    const tn_node *lines[2] = {registers(w, "lines", POINTS), registers(w, "lines", OUT * IN)},
                  *acc = registers(w, "sums", n.tiles * n.blocks);
    const tn_expr *i = var(w, "i"), *strip = var(w, "v_strip"),
                  *row[2] = {var(w, "row"), var(w, "row")};
    const place from = place_in_strip(w, strip, row[0]), to = place_in_strip(w, strip, row[1]);
    const tn_stmt *body = tn_seqv(
        ctx, through_strip(w, &from, row[0], w->in, data_tile(w, &from, in, between[0], lines[0])),
        product_of_strip(w, between[0], weights, between[1], acc, n, n_tiles),
        through_strip(w, &to, row[1], w->out, result_tile(w, &to, between[1], out, lines[1])),
        NULL);
    int64_t strips = w->n * w->tile_rows / w->strip;
    const tn_node *iter = tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), tn_i64(ctx, strips)),
                                         strip, TN_ITER_SPATIAL, NULL);
    tn_block all = {.name = "winograd",
                    .iters = tn_listv(ctx, iter, NULL),
                    .allocs = tn_listv(ctx, between[0], between[1], lines[0], lines[1], acc, NULL),
                    .reads =
                        tn_listv(ctx, tn_region_full(ctx, in), tn_region_full(ctx, weights), NULL),
                    .writes = tn_listv(ctx, tn_region_full(ctx, out), NULL),
                    .annotations = tn_dictv(ctx, CPU_FINISHED, tn_bool(ctx, true), NULL),
                    .body = body};
    const tn_stmt *realize = tn_block_realize_of(ctx, tn_listv(ctx, i, NULL), tn_bool(ctx, true),
                                                 tn_block_of(ctx, &all));
    tnk_te_append(w->te, loop(w, i, strips, TN_FOR_PARALLEL, realize));
    return finish(w, b, "winograd", tn_listv(ctx, x, k, NULL), out, type, OUT_FUSABLE, false);
}

/* ---- which convolutions ---- */

static bool
known(const tn_type *t, int64_t *out, uint32_t n)
{
    tn_list dims;
    if (!tn_type_dims(t, &dims) || dims.n != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!tn_int_value(dims.at[i], &out[i]))
            return false;
    return true;
}

static bool
all_one(const tn_call *call, const char *key)
{
    int64_t v[2];
    return tn_call_ints(call, key, v, 2) == 2 && v[0] == 1 && v[1] == 1;
}

bool
cpu_has_winograd_form(const tn_call *call, const tn_target *target)
{
    tn_list k;
    int64_t rows, columns;
    return tn_dict_int(target ? target->attrs : NULL, "winograd", 1) &&
           tn_type_dims(call->args.at[1]->type, &k) && (k.n == 4 || k.n == 6) &&
           tn_int_value(k.at[2], &rows) && rows == 3 && tn_int_value(k.at[3], &columns) &&
           columns == 3 && tn_call_int(call, "groups") == 1 && all_one(call, "strides") &&
           all_one(call, "dilation");
}

static bool
recognize(winograd *w, const tn_call *call)
{
    int64_t x[5], k[6], y[5], pad[4];
    if (!known(call->args.at[0]->type, x, 5) || !known(call->args.at[1]->type, k, 6) ||
        !known(call->base.type, y, 5) || tn_call_ints(call, "padding", pad, 4) != 4)
        return false;
    w->lanes = x[4];
    w->d = tn_type_dtype(call->base.type);
    if (!tnb_dtype_eq(w->d, TNB_F32) && !tnb_dtype_eq(w->d, TNB_F16))
        return false;
    for (int i = 0; i < 2; i++)
        if (!tnb_dtype_eq(tn_type_dtype(call->args.at[i]->type), w->d))
            return false;
    if (k[4] != w->lanes || k[5] != w->lanes || y[4] != w->lanes)
        return false;
    const char *form = tn_strf(w->ctx, "NCHW%lldc", (long long)w->lanes);
    const char *of_kernel =
        tn_strf(w->ctx, "OIHW%lldi%lldo", (long long)w->lanes, (long long)w->lanes);
    if (strcmp(tn_call_str(call, "data_layout"), form) != 0 ||
        strcmp(tn_call_str(call, "out_layout"), form) != 0 ||
        strcmp(tn_call_str(call, "kernel_layout"), of_kernel) != 0)
        return false;
    w->n = x[0];
    w->in = x[1];
    w->rows = x[2];
    w->columns = x[3];
    w->out = y[1];
    w->out_rows = y[2];
    w->out_columns = y[3];
    w->top = pad[0];
    w->left = pad[1];
    w->tile_rows = (w->out_rows + OUT - 1) / OUT;
    w->tile_columns = (w->out_columns + OUT - 1) / OUT;
    return true;
}

const tn_expr *
cpu_legalize_winograd(tn_builder *b, const tn_call *call, const tn_target *target)
{
    winograd w = {.ctx = tn_builder_ctx(b)};
    if (!cpu_has_winograd_form(call, target) || !recognize(&w, call) || !pays(&w) ||
        !cpu_is_constant(b, call->args.at[1]))
        return NULL;
    const tn_expr *k = kernel(&w, b, call->args.at[1]);
    w.caches = cpu_caches_of(target);
    w.registers = cpu_vector_bytes(w.ctx, target) == 64 ? 32 : 16;
    w.strip = rows_of_strip(&w);
    if (w.strip && !tn_is_error(k))
        return by_strips(&w, b, call->args.at[0], k, call->base.type);
    const tn_expr *d = data(&w, b, call->args.at[0]);
    return tn_is_error(k) || tn_is_error(d) ? tn_error_node(w.ctx)
                                            : result(&w, b, product(&w, b, d, k), call->base.type);
}
