/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of products with weights in GGUF's blocks, by integer dot products.
 *
 * Weights lie in panels of as many rows as a vector has lanes of 32 bits, the same four bytes of each row side by side. Activations
 * are quantized to int8 by blocks of 32: the largest magnitude becomes 127, 126, 125 or 124, whichever leaves the least squares of errors
 * (a tenth to a seventh less than 127 always). A lane sums a row's products of bytes in int32 over the elements that share a scale:
 *
 *     for panel: (parallel)
 *         for tile of rows of activations:
 *             for block of weights: (prefetching the next panel's)
 *                 for part of the block:
 *                     n[i, lane] = -offset * sum of the activations' bytes
 *                     for four elements: n[i, lane] = dp4a(weights[lane], activations[i], n[i, lane])
 *                     y[i, lane] += n[i, lane] * scale[lane] * scale of activations[i]   (+ least[lane] * sum[i])
 *
 * The float32 sum goes along the columns in the same order for every tile, so that a row's bits depend on nothing beside it.
 * The programs are TVMScript, written for a format and extents.
 */
#include "block_product.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tenon/core/text.h"

/* Activations that share a scale; what the largest of them becomes: one of so many numbers below 128, whichever leaves the least error. */
enum { ACTIVATIONS = 32, LEVELS = 127, TRIES = 4 };

static const cpu_block_format formats[] = {
    {"Q4_0", 32, 18, 32, CPU_BLOCK_OFFSET, 8, {{2, 2}, {16, 4}}},
    {"Q4_1", 32, 20, 32, CPU_BLOCK_SUM, 0, {{2, 2}, {2, 2}, {16, 4}}},
    {"Q5_0", 32, 22, 32, CPU_BLOCK_OFFSET, 16, {{2, 2}, {4, 4}, {16, 4}}},
    {"Q5_1", 32, 24, 32, CPU_BLOCK_SUM, 0, {{2, 2}, {2, 2}, {4, 4}, {16, 4}}},
    {"Q8_0", 32, 34, 32, CPU_BLOCK_OFFSET, 128, {{2, 2}, {32, 4}}},
    {"Q4_K", 256, 144, 32, CPU_BLOCK_SUM, 0, {{2, 2}, {2, 2}, {12, 4}, {128, 4}}},
    {"Q5_K", 256, 176, 32, CPU_BLOCK_SUM, 0, {{2, 2}, {2, 2}, {12, 4}, {32, 4}, {128, 4}}},
    {"Q6_K", 256, 210, 16, CPU_BLOCK_OFFSET, 32, {{128, 4}, {64, 4}, {16, 4}, {2, 2}}},
};

const cpu_block_format *
cpu_block_format_of(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* ---- writing programs ---- */

typedef struct writer {
    tn_ctx *ctx;
    const cpu_block_format *f;
    const cpu_block_extents *e;
    tnb_buf b;
    int indent;
    const char *dims;  /* "n0, n1, " */
    const char *count; /* rows of activations: "(n0 * n1)" */
    const char *base;  /* the first byte of the panel's block */
} writer;

static void
line(writer *w, const char *fmt, ...) TNB_PRINTF(2, 3);
static void
line(writer *w, const char *fmt, ...)
{
    va_list ap;
    for (int i = 0; i < w->indent; i++)
        tnb_buf_puts(&w->b, "    ");
    va_start(ap, fmt);
    char text[2048];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tnb_buf_puts(&w->b, text);
    tnb_buf_putc(&w->b, '\n');
}

/* Opens a loop of lanes over "v". */
static void
each_lane(writer *w, const char *body)
{
    line(w, "for v in T.vectorized(%" PRId64 "):", w->e->lanes);
    w->indent++;
    line(w, "%s", body);
    w->indent--;
}

/* The function with its parameters, extents and buffers; arguments are names, then for each a shape behind the batch and a dtype. */
static void
begin(writer *w, const char *name, const char *const (*params)[3], int n)
{
    tn_ctx *ctx = w->ctx;
    const char *list = "";
    w->dims = "";
    w->count = "1";
    for (int i = 0; i < n; i++)
        list = tn_strf(ctx, "%s%s%s_: T.handle", list, i ? ", " : "", params[i][0]);
    line(w, "@I.ir_module");
    line(w, "class Module:");
    w->indent = 1;
    line(w, "@T.prim_func");
    line(w, "def %s(%s):", name, list);
    w->indent = 2;
    line(w,
         "T.func_attr({\"tirx.noalias\": True, \"op_pattern\": 8, \"tirx.is_scheduled\": True})");
    for (uint32_t i = 0; i < w->e->batch.n; i++) {
        int64_t extent;
        const char *d = tn_strf(ctx, "n%u", i);
        if (tn_int_value(w->e->batch.at[i], &extent))
            d = tn_strf(ctx, "%" PRId64, extent);
        else
            line(w, "%s = T.int64()", d);
        w->dims = tn_strf(ctx, "%s%s, ", w->dims, d);
        w->count = i ? tn_strf(ctx, "%s * %s", w->count, d) : d;
    }
    w->count = tn_strf(ctx, "(%s)", w->count);
    for (int i = 0; i < n; i++) {
        const bool batch = params[i][1][0] == '.';
        line(w, "%s = T.match_buffer(%s_, (%s%s), \"%s\")", params[i][0], params[i][0],
             batch ? w->dims : "", params[i][1] + batch, params[i][2]);
    }
}

/* A view of all of a buffer's memory. */
static void
view(writer *w, const char *name, const char *of, const char *extent, const char *dtype)
{
    line(w, "%s = T.decl_buffer((%s,), \"%s\", data=%s.data)", name, extent, dtype, of);
}

static const tn_node *
finish(writer *w, const char *name)
{
    const tn_module *m = w->b.s ? tn_read_module(w->ctx, name, w->b.s, w->b.n) : NULL;
    const tn_node *f = m ? tn_module_get(m, name) : NULL;
    tnb_buf_free(&w->b);
    return f ? f : tn_error(w->ctx, 0, TNB_INTERNAL, "a program of block products cannot be read");
}

static const char *
number(writer *w, int64_t n)
{
    return tn_strf(w->ctx, "%" PRId64, n);
}

static int64_t
row_bytes(const writer *w)
{
    return w->e->columns / w->f->elems * w->f->bytes;
}

/* ---- panels ---- */

const tn_node *
cpu_block_interleave(tn_ctx *ctx, const cpu_block_format *f, const cpu_block_extents *e)
{
    writer all = {.ctx = ctx, .f = f, .e = e}, *w = &all;
    const int64_t R = e->lanes, blocks = e->columns / f->elems;
    const char *from = tn_strf(ctx, "%" PRId64 ", %" PRId64, e->rows, row_bytes(w)),
               *to = tn_strf(ctx, "%" PRId64 ", %" PRId64, e->padded, row_bytes(w));
    const char *const params[][3] = {{"W", from, "uint8"}, {"P", to, "uint8"}};
    begin(w, "interleave", params, 2);
    line(w, "for p in T.parallel(T.int64(%" PRId64 ")):", e->padded / R);
    w->indent++;
    line(w, "with T.sblock(\"interleave\"):");
    w->indent++;
    line(w, "vp = T.axis.spatial(T.int64(%" PRId64 "), p)", e->padded / R);
    line(w, "T.reads(W[0:%" PRId64 ", 0:%" PRId64 "])", e->rows, row_bytes(w));
    line(w, "T.writes(P[0:%" PRId64 ", 0:%" PRId64 "])", e->padded, row_bytes(w));
    view(w, "out", "P", number(w, e->padded * row_bytes(w)), "uint8");
    line(w, "for k in range(T.int64(%" PRId64 ")):", blocks);
    w->indent++;
    int64_t at = 0;
    for (int i = 0; i < CPU_BLOCK_FIELDS && f->field[i].bytes; i++) {
        const int64_t bytes = f->field[i].bytes, granule = f->field[i].granule;
        line(w, "for g, r, c in T.grid(%" PRId64 ", %" PRId64 ", %" PRId64 "):", bytes / granule, R,
             granule);
        w->indent++;
        line(w,
             "out[(vp * %" PRId64 " + k) * %" PRId64 " + %" PRId64 " + (g * %" PRId64
             " + r) * %" PRId64 " + c] = W[T.min(vp * %" PRId64 " + r, %" PRId64 "), k * %" PRId64
             " + %" PRId64 " + g * %" PRId64 " + c]",
             blocks, R * f->bytes, at * R, R, granule, R, e->rows - 1, f->bytes, at, granule);
        w->indent--;
        at += bytes;
    }
    return finish(w, "interleave");
}

/* ---- activations ---- */

/* Takes so many levels for the largest magnitude if the squares of what is rounded are less by them. */
static void
try_levels(writer *w, int64_t levels)
{
    tn_ctx *ctx = w->ctx;
    const int64_t L = w->e->lanes;
    const bool first = levels == LEVELS;
    const char *n = tn_strf(ctx, "T.float32(%" PRId64 ")", levels);
    line(w, "most[1] = T.Select(most[0] > T.float32(0), %s / most[0], T.float32(0))", n);
    for (int64_t i = 0; i < ACTIVATIONS; i += L) {
        each_lane(w, tn_strf(ctx, "now[v] = x[vt * 32 + %" PRId64 " + v] * most[1]", i));
        each_lane(w, "now[v] = now[v] - T.nearbyint(now[v])");
        each_lane(w, tn_strf(ctx, "squares[%" PRId64 " + v] = now[v] * now[v]", i));
    }
    for (int64_t h = ACTIVATIONS / 2; h >= 1; h /= 2)
        for (int64_t i = 0; i < h; i += L) {
            line(w, "for v in T.vectorized(%" PRId64 "):", h < L ? h : L);
            line(w,
                 "    squares[%" PRId64 " + v] = squares[%" PRId64 " + v] + squares[%" PRId64
                 " + v]",
                 i, i, i + h);
        }
    line(w, "most[3] = squares[0] / (%s * %s)", n, n);
    line(w, "most[2] = %s",
         first ? n : tn_strf(ctx, "T.Select(most[3] < most[4], %s, most[2])", n));
    line(w, "most[4] = %s", first ? "most[3]" : "T.min(most[3], most[4])");
}

const tn_node *
cpu_block_quantize(tn_ctx *ctx, const cpu_block_format *f, const cpu_block_extents *e)
{
    writer all = {.ctx = ctx, .f = f, .e = e}, *w = &all;
    const int64_t L = e->lanes, K = e->columns, vectors = ACTIVATIONS / L;
    const int64_t parts = ACTIVATIONS / f->part, each = vectors / parts;
    const bool offset = f->extra == CPU_BLOCK_OFFSET;
    const char *const params[][3] = {{"X", tn_strf(ctx, ".%" PRId64, K), "float32"},
                                     {"Q", tn_strf(ctx, ".%" PRId64, K), "int8"},
                                     {"S", tn_strf(ctx, ".%" PRId64, K / ACTIVATIONS), "float32"},
                                     {"E", tn_strf(ctx, ".%" PRId64, K / f->part),
                                      offset ? "int32" : "float32"}};
    begin(w, "quantize", params, 4);
    line(w, "for t in T.parallel(T.int64(1) * %s * %" PRId64 "):", w->count, K / ACTIVATIONS);
    w->indent++;
    line(w, "with T.sblock(\"quantize\"):");
    w->indent++;
    line(w, "vt = T.axis.spatial(T.int64(1) * %s * %" PRId64 ", t)", w->count, K / ACTIVATIONS);
    view(w, "x", "X", tn_strf(ctx, "%s * %" PRId64, w->count, K), "float32");
    view(w, "q", "Q", tn_strf(ctx, "%s * %" PRId64, w->count, K), "int8");
    view(w, "s", "S", tn_strf(ctx, "%s * %" PRId64, w->count, K / ACTIVATIONS), "float32");
    view(w, "e", "E", tn_strf(ctx, "%s * %" PRId64, w->count, K / f->part), params[3][2]);
    line(w, "T.reads(X)");
    line(w, "T.writes(Q, S, E)");
    line(w, "top = T.alloc_buffer((%" PRId64 ",), \"int32\", scope=\"local\")", L);
    /* the largest magnitude; levels / it; levels; sum or error; least error */
    line(w, "most = T.alloc_buffer((5,), \"float32\", scope=\"local\")");
    line(w, "squares = T.alloc_buffer((%d,), \"float32\", scope=\"local\")", ACTIVATIONS);
    line(w, "now = T.alloc_buffer((%" PRId64 ",), \"float32\", scope=\"local\")", L);
    line(w, "total = T.alloc_buffer((%" PRId64 ",), \"float32\", scope=\"local\")", L * parts);
    line(w, "bits = T.alloc_buffer((1,), \"int32\", scope=\"local\")");
    /* the largest magnitude by its bits, which are in the numbers' order, NaN above all */
    each_lane(w, "top[v] = 0");
    line(w, "for i in range(%" PRId64 "):", vectors);
    w->indent++;
    each_lane(w, tn_strf(ctx,
                         "top[v] = T.max(top[v], T.bitwise_and(T.reinterpret(\"int32\", x[vt * 32 "
                         "+ i * %" PRId64 " + v]), 2147483647))",
                         L));
    w->indent--;
    line(w, "bits[0] = 0");
    line(w, "for l in range(%" PRId64 "):", L);
    line(w, "    bits[0] = T.max(bits[0], top[l])");
    line(w, "most[0] = T.reinterpret(\"float32\", bits[0])");
    for (int64_t levels = LEVELS; levels > LEVELS - TRIES; levels--)
        try_levels(w, levels);
    line(w, "most[1] = T.Select(most[0] > T.float32(0), most[2] / most[0], T.float32(0))");
    line(w, "s[vt] = most[0] / most[2]");
    for (int64_t i = 0; i < vectors; i++) {
        each_lane(w, tn_strf(ctx,
                             "now[v] = T.max(T.min(T.nearbyint(x[vt * 32 + %" PRId64
                             " + v] * most[1]), T.float32(127)), T.float32(-127))",
                             i * L));
        each_lane(
            w,
            tn_strf(
                ctx,
                "q[vt * 32 + %" PRId64
                " + v] = T.Cast(\"int8\", T.max(T.min(now[v], T.float32(127)), T.float32(-127)))",
                i * L));
        each_lane(w,
                  tn_strf(ctx, "total[%" PRId64 " + v] = %snow[v]", i / each * L,
                          i % each ? tn_strf(ctx, "total[%" PRId64 " + v] + ", i / each * L) : ""));
    }
    for (int64_t p = 0; p < parts; p++) {
        line(w, "most[3] = T.float32(0)");
        line(w, "for l in range(%" PRId64 "):", L);
        line(w, "    most[3] = most[3] + total[%" PRId64 " + l]", p * L);
        if (offset)
            line(w, "e[vt * %" PRId64 " + %" PRId64 "] = T.Cast(\"int32\", most[3]) * -%" PRId64,
                 parts, p, f->offset);
        else
            line(w, "e[vt * %" PRId64 " + %" PRId64 "] = most[3] * (most[0] / most[2])", parts, p);
    }
    return finish(w, "quantize");
}

/* ---- products ---- */

/* Four bytes of each row's weights: word `at` of the panel's block, of a vector's length. */
static const char *
word(writer *w, int64_t at)
{
    return tn_strf(w->ctx, "words[%s // 4 + %" PRId64 " + v]", w->base, at * w->e->lanes / 2);
}

/* Bits of all four bytes. */
static const char *
bits(writer *w, const char *x, int64_t shift, uint32_t mask)
{
    if (shift)
        x = tn_strf(w->ctx, "T.shift_right(%s, T.uint32(%" PRId64 "))", x, shift);
    return tn_strf(w->ctx, "T.bitwise_and(%s, T.uint32(%" PRIu32 "))", x, mask);
}

/* `low` with further bits from bit n on. */
static const char *
above(writer *w, const char *low, const char *high, int64_t n)
{
    return tn_strf(w->ctx, "T.bitwise_or(%s, T.shift_left(%s, T.uint32(%" PRId64 ")))", low, high,
                   n);
}

/* Four weights of part p from element 4 * g of it, as unsigned bytes. Places count halves of words: half = 2 bytes of each row. */
static const char *
weights(writer *w, int64_t p, int64_t g)
{
    const char *name = w->f->name;
    if (!strcmp(name, "Q8_0"))
        return tn_strf(w->ctx, "T.bitwise_xor(%s, T.uint32(2155905152))", word(w, 1 + 2 * g));
    if (!strcmp(name, "Q6_K")) {
        const int64_t part = p / 8, row = p / 2 % 4, l = p % 2 * 4 + g;
        const char *low =
                       bits(w, word(w, 2 * (part * 16 + row % 2 * 8 + l)), row / 2 * 4, 0x0f0f0f0f),
                   *high = bits(w, word(w, 64 + 2 * (part * 8 + l)), 2 * row, 0x03030303);
        return above(w, low, high, 4);
    }
    if (w->f->elems == 256) {
        const bool five = !strcmp(name, "Q5_K");
        const char *low =
            bits(w, word(w, (five ? 24 : 8) + 2 * (p / 2 * 8 + g)), p % 2 * 4, 0x0f0f0f0f);
        return five ? above(w, low, bits(w, word(w, 8 + 2 * g), p, 0x01010101), 4) : low;
    }
    const int64_t first = w->f->bytes / 2 - 8;
    const char *low = bits(w, word(w, first + g % 4 * 2), g / 4 * 4, 0x0f0f0f0f);
    if (name[1] == '4')
        return low;
    /* four bits of the 32 become one of each byte */
    const char *four = bits(w, word(w, first - 2), 4 * g, 15);
    return tn_strf(w->ctx,
                   "T.bitwise_or(%s, T.bitwise_and(%s * T.uint32(33818640), T.uint32(269488144)))",
                   low, four);
}

/* Scale or least of eight parts of Q4_K and Q5_K: six bits each in three words a row. Parts 0 to 3 have theirs in words 0 (scales) and 1
 * (leasts), the others four bits in word 2 and two at the top of the bytes of the first ones. */
static const char *
six_bits(writer *w, int64_t p, bool least)
{
    const char *plain = word(w, least ? 4 : 2), *shared = word(w, 6);
    const int64_t byte = p % 4 * 8;
    if (p < 4)
        return bits(w, plain, byte, 63);
    return above(w, bits(w, shared, byte + (least ? 4 : 0), 15), bits(w, plain, byte + 6, 3), 4);
}

static const char *
half(writer *w, int64_t at)
{
    return tn_strf(w->ctx, "T.Cast(\"float32\", halves[%s // 2 + %" PRId64 " + v])", w->base,
                   at * w->e->lanes);
}

/* Sets d, and m where the format has minima, for part p. */
static void
scales(writer *w, int64_t p)
{
    const bool k = w->f->elems == 256, least = w->f->extra == CPU_BLOCK_SUM;
    if (!k) {
        each_lane(w, tn_strf(w->ctx, "d[v] = %s", half(w, 0)));
        if (least)
            each_lane(w, tn_strf(w->ctx, "m[v] = %s", half(w, 1)));
    } else if (least) {
        each_lane(w, tn_strf(w->ctx, "d[v] = %s * T.Cast(\"float32\", %s)", half(w, 0),
                             six_bits(w, p, false)));
        each_lane(w, tn_strf(w->ctx, "m[v] = T.float32(0) - %s * T.Cast(\"float32\", %s)",
                             half(w, 1), six_bits(w, p, true)));
    } else {
        const char *s = tn_strf(w->ctx, "T.reinterpret(\"int32\", %s)", word(w, 96 + p / 4 * 2));
        s = tn_strf(w->ctx,
                    "T.shift_right(T.reinterpret(\"int32\", T.shift_left(T.reinterpret(\"uint32\", "
                    "%s), T.uint32(%" PRId64 "))), 24)",
                    s, 24 - p % 4 * 8);
        each_lane(w, tn_strf(w->ctx, "d[v] = %s * T.Cast(\"float32\", %s)", half(w, 104), s));
    }
}

/* Asks for block k of the panel, line by line of the cache. */
static void
fetch(writer *w, const char *panel)
{
    enum { LINE = 64, FEW = 10 };
    const int64_t bytes = w->e->lanes * w->f->bytes, lines = (bytes + LINE - 1) / LINE;
    line(w, "for i in %s(%" PRId64 "):", lines <= FEW ? "T.unroll" : "range", lines);
    line(w,
         "    T.evaluate(T.prefetch(T.address_of(words[(%s * %" PRId64 " + k) * %" PRId64
         " + i * %d])))",
         panel, w->e->columns / w->f->elems, bytes / 4, LINE / 4);
}

/* A tile of so many rows; `row` is the i-th one's number. `next`: the panel to fetch meanwhile; NULL: the processor's own prefetching is
 * enough. */
static void
tile(writer *w, int64_t rows, const char *row, const char *next)
{
    tn_ctx *ctx = w->ctx;
    const cpu_block_format *f = w->f;
    const int64_t L = w->e->lanes, K = w->e->columns, parts = f->elems / f->part;
    const bool least = f->extra == CPU_BLOCK_SUM;
    /* that no byte is above 127 lets processors without VNNI add pairs of products in 16 bits; of most formats none is */
    const char *four =
        f->offset == 128 ? "four[v]" : "T.bitwise_and(four[v], T.uint32(2139062143))";
    line(w, "for i in T.unroll(%" PRId64 "):", rows);
    w->indent++;
    each_lane(w, tn_strf(ctx, "acc[i * %" PRId64 " + v] = T.float32(0)", L));
    w->indent--;
    line(w, "for k in range(T.int64(%" PRId64 ")):", K / f->elems);
    w->indent++;
    if (next)
        fetch(w, next);
    for (int64_t p = 0; p < parts; p++) {
        const char *part = tn_strf(ctx, "(%s) * %" PRId64 " + k * %" PRId64 " + %" PRId64, row,
                                   K / f->part, parts, p);
        line(w, "for i in T.unroll(%" PRId64 "):", rows);
        w->indent++;
        each_lane(w, tn_strf(ctx, "n[i * %" PRId64 " + v] = %s", L,
                             least ? "0" : tn_strf(ctx, "e[%s]", part)));
        w->indent--;
        for (int64_t g = 0; g < f->part / 4; g++) {
            each_lane(w, tn_strf(ctx, "four[v] = %s", weights(w, p, g)));
            line(w, "for i in T.unroll(%" PRId64 "):", rows);
            w->indent++;
            each_lane(w, tn_strf(ctx,
                                 "n[i * %" PRId64 " + v] = T.dp4a(%s, quads[(%s) * %" PRId64
                                 " + k * %" PRId64 " + %" PRId64 "], n[i * %" PRId64 " + v])",
                                 L, four, row, K / 4, f->elems / 4, p * f->part / 4 + g, L));
            w->indent--;
        }
        scales(w, p);
        line(w, "for i in T.unroll(%" PRId64 "):", rows);
        w->indent++;
        each_lane(w,
                  tn_strf(ctx,
                          "acc[i * %" PRId64 " + v] = acc[i * %" PRId64
                          " + v] + T.Cast(\"float32\", n[i * %" PRId64
                          " + v]) * d[v] * s[(%s) * %" PRId64 " + k * %" PRId64 " + %" PRId64 "]",
                          L, L, L, row, K / ACTIVATIONS, f->elems / ACTIVATIONS,
                          p * f->part / ACTIVATIONS));
        if (least)
            each_lane(w,
                      tn_strf(ctx,
                              "acc[i * %" PRId64 " + v] = acc[i * %" PRId64 " + v] + m[v] * e[%s]",
                              L, L, part));
        w->indent--;
    }
    w->indent--;
    const char *store =
        tn_strf(ctx, "y[(%s) * %" PRId64 " + vp * %" PRId64 " + v] = acc[i * %" PRId64 " + v]", row,
                w->e->rows, L, L);
    line(w, "for i in T.unroll(%" PRId64 "):", rows);
    w->indent++;
    if (w->e->padded == w->e->rows) {
        each_lane(w, store);
    } else {
        line(w, "if vp < %" PRId64 ":", w->e->rows / L);
        w->indent++;
        each_lane(w, store);
        w->indent--;
        line(w, "else:");
        w->indent++;
        line(w, "for v in T.unroll(%" PRId64 "):", w->e->rows % L);
        line(w, "    %s", store);
        w->indent--;
    }
    w->indent--;
}

/* Tiles but the first have a panel in the caches, and the memory nothing to do: the last one of so many fetches the next panel. The others
 * ask for what they read, which is cheaper than a branch. */
static const char *
next_panel(writer *w, const char *tiles)
{
    return tn_strf(w->ctx, "T.min(vp + (t + 1) // (%s), %" PRId64 ")", tiles,
                   w->e->padded / w->e->lanes - 1);
}

const tn_node *
cpu_block_multiply(tn_ctx *ctx, const cpu_block_format *f, const cpu_block_extents *e)
{
    enum { MOST = 8 };
    writer all = {.ctx = ctx, .f = f, .e = e}, *w = &all;
    const int64_t L = e->lanes, K = e->columns;
    const bool least = f->extra == CPU_BLOCK_SUM;
    const char *const params[][3] = {
        {"Q", tn_strf(ctx, ".%" PRId64, K), "int8"},
        {"S", tn_strf(ctx, ".%" PRId64, K / ACTIVATIONS), "float32"},
        {"E", tn_strf(ctx, ".%" PRId64, K / f->part), least ? "float32" : "int32"},
        {"W", tn_strf(ctx, "%" PRId64 ", %" PRId64, e->padded, row_bytes(w)), "uint8"},
        {"Y", tn_strf(ctx, ".%" PRId64, e->rows), "float32"}};
    begin(w, "product", params, 5);
    w->base = tn_strf(ctx, "((vp * %" PRId64 " + k) * %" PRId64 ")", K / f->elems, L * f->bytes);
    line(w, "for p in T.parallel(T.int64(%" PRId64 ")):", e->padded / L);
    w->indent++;
    line(w, "with T.sblock(\"product\"):");
    w->indent++;
    line(w, "vp = T.axis.spatial(T.int64(%" PRId64 "), p)", e->padded / L);
    line(w, "T.reads(Q, S, E, W)");
    line(w, "T.writes(Y)");
    view(w, "quads", "Q", tn_strf(ctx, "%s * %" PRId64, w->count, K / 4), "int32");
    view(w, "s", "S", tn_strf(ctx, "%s * %" PRId64, w->count, K / ACTIVATIONS), "float32");
    view(w, "e", "E", tn_strf(ctx, "%s * %" PRId64, w->count, K / f->part), params[2][2]);
    view(w, "words", "W", number(w, e->padded * row_bytes(w) / 4), "uint32");
    view(w, "halves", "W", number(w, e->padded * row_bytes(w) / 2), "float16");
    view(w, "y", "Y", tn_strf(ctx, "%s * %" PRId64, w->count, e->rows), "float32");
    const bool single = strspn(w->count, "(1 *)") == strlen(w->count);
    const int64_t most = single ? 1 : L == 16 ? MOST : MOST / 2;
    line(w, "acc = T.alloc_buffer((%" PRId64 ",), \"float32\", scope=\"local\")", most * L);
    line(w, "n = T.alloc_buffer((%" PRId64 ",), \"int32\", scope=\"local\")", most * L);
    line(w, "four = T.alloc_buffer((%" PRId64 ",), \"uint32\", scope=\"local\")", L);
    line(w, "d = T.alloc_buffer((%" PRId64 ",), \"float32\", scope=\"local\")", L);
    if (least)
        line(w, "m = T.alloc_buffer((%" PRId64 ",), \"float32\", scope=\"local\")", L);
    const char *count = w->count;
    if (single) {
        tile(w, 1, "0", NULL);
    } else {
        const char *tiles = tn_strf(ctx, "%s // %" PRId64, count, most),
                   *pairs = tn_strf(ctx, "(%s %% %" PRId64 " + 1) // 2", count, most);
        line(w, "for t in range(%s):", tiles);
        w->indent++;
        tile(w, most, tn_strf(ctx, "t * %" PRId64 " + i", most), next_panel(w, tiles));
        w->indent--;
        line(w, "for t in range(%s):", pairs);
        w->indent++;
        tile(w, 2,
             tn_strf(ctx, "T.min(%s // %" PRId64 " * %" PRId64 " + t * 2 + i, %s - 1)", count, most,
                     most, count),
             next_panel(w, pairs));
        w->indent--;
    }
    return finish(w, "product");
}
