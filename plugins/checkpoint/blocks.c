/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in GGUF's blocks stay as they are and become numbers where they are used: in the product itself where there is
 * one row a sequence, else all together in front of it.
 *
 *     block of K   Q8_0   d, 32 signed bytes                                    d * q
 *                  Q4_0   d, 16 bytes of two numbers                            d * (q - 8)
 *                  Q4_1   d, m, 16 bytes                                        d * q + m
 *                  Q5_0   d, 32 fifth bits, 16 bytes                            d * (q - 16)
 *                  Q5_1   d, m, 32 fifth bits, 16 bytes                         d * q + m
 *                  Q4_K   d, m, 8 pairs of 6 bits in 12 bytes, 128 bytes        d * scale * q - m * least
 *                  Q5_K   the same, 256 fifth bits, 128 bytes                   d * scale * q - m * least
 *                  Q6_K   128 bytes of 4 bits, 64 of 2 bits, 16 scales, d       d * scale * (q - 32)
 *
 * d and m are float16. An element is named by its block, its group (of 32, in blocks of 32 of 16) and its place there; the format is
 * that of llama.cpp's ggml-common.h.
 */
#include "checkpoint.h"

#include "tenon/base/gguf.h"
#include "tenon/core/registry.h"
#include "tenon/kit/te.h"

/* One element of a row of blocks. */
typedef struct element {
    tn_ctx *ctx;
    tnk_te *te;
    const tn_node *bytes;       /* [rows, bytes]; NULL: there are panels */
    const tn_expr *row, *start; /* of its block, in bytes */
    const tn_expr *group, *lane;
    const checkpoint_panels *panels;
    const tn_node *part[CHECKPOINT_PANEL_PARTS]; /* of panels, as panels->part */
    const tn_expr *panel, *block;                /* row is that in its panel */
} element;

typedef struct shape {
    int64_t groups, lanes;
} shape;

static const checkpoint_panels panels[] = {
    {TNB_GGUF_Q8_0, 2, {{0, 2, true}, {2, 32}}},
    {TNB_GGUF_Q4_0, 2, {{0, 2, true}, {2, 16}}},
    {TNB_GGUF_Q4_1, 2, {{0, 4, true}, {4, 16}}},
    {TNB_GGUF_Q5_0, 3, {{0, 2, true}, {2, 4}, {6, 16}}},
    {TNB_GGUF_Q5_1, 3, {{0, 4, true}, {4, 4}, {8, 16}}},
    {TNB_GGUF_Q4_K, 3, {{0, 4, true}, {4, 12}, {16, 128}}},
    {TNB_GGUF_Q5_K, 4, {{0, 4, true}, {4, 12}, {16, 32}, {48, 128}}},
    {TNB_GGUF_Q6_K, 4, {{0, 128}, {128, 64}, {192, 16}, {208, 2, true}}},
};

const checkpoint_panels *
checkpoint_panels_of(uint32_t type)
{
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++)
        if (panels[i].type == type)
            return &panels[i];
    return NULL;
}

static shape
shape_of(uint32_t type)
{
    const tnb_gguf_type t = tnb_gguf_type_of(type);
    const int64_t lanes = t.elems == 32 ? 16 : 32;
    return (shape){t.elems / lanes, lanes};
}

/* ---- bytes and bits ---- */

static const tn_expr *
byte_at(const element *e, const tn_expr *offset)
{
    return tnk_te_read(e->te, e->bytes, e->row, tn_add(e->ctx, e->start, offset), NULL);
}

/* The part of panels that starts at that byte of a block. */
static const tn_node *
part_at(const element *e, int64_t start, int64_t *within)
{
    const checkpoint_panels *p = e->panels;
    uint32_t i = 0;
    while (i + 1 < p->n && start >= p->part[i].start + p->part[i].bytes)
        i++;
    *within = start - p->part[i].start;
    return e->part[i];
}

/* Byte `at` of the field that starts at byte `field` of the block. */
static const tn_expr *
int_at(const element *e, int64_t field, const tn_expr *at)
{
    tn_ctx *ctx = e->ctx;
    int64_t within;
    if (!e->panels)
        return tn_cast_to(ctx, TNB_I32, byte_at(e, tn_addi(ctx, at, field)));
    const tn_node *part = part_at(e, field, &within);
    const tn_expr *word = tnk_te_read(e->te, part, e->panel, e->block, e->row,
                                      tn_floordivi(ctx, at, 4), NULL),
                  *shift = tn_muli(ctx, tn_floormodi(ctx, at, 4), 8);
    const tnb_dtype u32 = TNB_DTYPE(TNB_UINT, 32);
    word = tn_bitwise_and(ctx, tn_shift_right(ctx, word, tn_cast_to(ctx, u32, shift)),
                          tn_int_imm_of(ctx, u32, 255));
    return tn_cast_to(ctx, TNB_I32, word);
}

/* The byte as a signed one; in 32 bits, for which processors have instructions on vectors. */
static const tn_expr *
signed_byte(const element *e, const tn_expr *x)
{
    const tn_expr *sign = tn_i32(e->ctx, 128);
    return tn_sub(e->ctx, tn_bitwise_xor(e->ctx, x, sign), sign);
}

static const tn_expr *
to_real(const element *e, const tn_expr *x)
{
    return tn_cast_to(e->ctx, TNB_F32, x);
}

static const tn_expr *
half_at(const element *e, int64_t offset)
{
    tn_ctx *ctx = e->ctx;
    const tnb_dtype u16 = TNB_DTYPE(TNB_UINT, 16);
    const tn_expr *bits;
    if (e->panels) {
        int64_t within;
        const tn_node *part = part_at(e, offset, &within);
        bits = tnk_te_read(e->te, part, e->panel, e->block, e->row, tn_i64(ctx, within / 2), NULL);
    } else {
        const tn_expr *low = tn_cast_to(ctx, u16, byte_at(e, tn_i64(ctx, offset))),
                      *high = tn_cast_to(ctx, u16, byte_at(e, tn_i64(ctx, offset + 1)));
        bits = tn_bitwise_or(ctx, low, tn_shift_left(ctx, high, tn_int_imm_of(ctx, u16, 8)));
    }
    const tn_expr *op = tn_op_ref_of(ctx, &tn_scalar_intrinsics[TN_INTRIN_reinterpret - 1]);
    return to_real(e, tn_scalar_call(ctx, TNB_F16, op, tn_listv(ctx, bits, NULL), NULL));
}

/* `n` bits of x from bit `at` on; `at` is an index. */
static const tn_expr *
bits(const element *e, const tn_expr *x, const tn_expr *at, int n)
{
    return tn_bitwise_and(e->ctx, tn_shift_right(e->ctx, x, tn_cast_to(e->ctx, TNB_I32, at)),
                          tn_i32(e->ctx, (1 << n) - 1));
}

/* Joins `high` above so many bits of `low`. */
static const tn_expr *
join(const element *e, const tn_expr *low, const tn_expr *high, int n)
{
    return tn_bitwise_or(e->ctx, low, tn_shift_left(e->ctx, high, tn_i32(e->ctx, n)));
}

/* q less k, for q of at most 23 bits. Where a product waits for nothing but arithmetic, q stands below the exponent of 2^23: an "and" and an
 * "exclusive or" are one instruction, and conversions of integers are slow. */
static const tn_expr *
real_less(const element *e, const tn_expr *q, int64_t k)
{
    tn_ctx *ctx = e->ctx;
    if (!e->panels)
        return to_real(e, k ? tn_sub(ctx, q, tn_i32(ctx, k)) : q);
    const tn_expr *op = tn_op_ref_of(ctx, &tn_scalar_intrinsics[TN_INTRIN_reinterpret - 1]),
                  *bits = tn_bitwise_xor(ctx, q, tn_i32(ctx, 0x4B000000));
    const tn_expr *x = tn_scalar_call(ctx, TNB_F32, op, tn_listv(ctx, bits, NULL), NULL);
    return tn_sub(ctx, x, tn_float_imm_of(ctx, TNB_F32, (double)((1 << 23) + k)));
}

/* ---- the types ---- */

/* Of blocks of 32 in two groups of 16: the lower four bits of 16 bytes, then the upper ones, with a fifth bit from four bytes where
 * `fifth` is not below 0. */
static const tn_expr *
small(const element *e, int64_t fifth, int64_t numbers)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *q = bits(e, int_at(e, numbers, e->lane), tn_muli(ctx, e->group, 4), 4);
    if (fifth < 0)
        return q;
    const tn_expr *at = tn_add(ctx, tn_muli(ctx, e->group, 2), tn_floordivi(ctx, e->lane, 8));
    return join(e, q, bits(e, int_at(e, fifth, at), tn_floormodi(ctx, e->lane, 8), 1), 4);
}

/* Scale or least of a group: six bits each, of eight groups in 12 bytes. Groups 0 to 3 have theirs in bytes 0 to 3 (scales) and 4 to 7
 * (leasts), groups 4 to 7 four bits in bytes 8 to 11 and two at the top of the bytes of groups 0 to 3. */
static const tn_expr *
six_bits(const element *e, bool least)
{
    tn_ctx *ctx = e->ctx;
    const int64_t scales = 4;
    const tn_expr *near = tn_floormodi(ctx, e->group, 4);
    const tn_expr *plain = int_at(e, scales, least ? tn_addi(ctx, near, 4) : near),
                  *shared = int_at(e, scales, tn_addi(ctx, near, 8));
    const tn_expr *upper = join(e, bits(e, shared, tn_i64(ctx, least ? 4 : 0), 4),
                                bits(e, plain, tn_i64(ctx, 6), 2), 4);
    return tn_select_of(ctx, tn_lt(ctx, e->group, tn_i64(ctx, 4)),
                        bits(e, plain, tn_i64(ctx, 0), 6), upper);
}

static const tn_expr *
k_quant(const element *e, bool five)
{
    tn_ctx *ctx = e->ctx;
    const int64_t numbers = five ? 48 : 16;
    const tn_expr *at = tn_add(ctx, tn_muli(ctx, tn_floordivi(ctx, e->group, 2), 32), e->lane);
    const tn_expr *q =
        bits(e, int_at(e, numbers, at), tn_muli(ctx, tn_floormodi(ctx, e->group, 2), 4), 4);
    if (five)
        q = join(e, q, bits(e, int_at(e, 16, e->lane), e->group, 1), 4);
    const tn_expr *d = tn_mul(ctx, half_at(e, 0), to_real(e, six_bits(e, false))),
                  *m = tn_mul(ctx, half_at(e, 2), to_real(e, six_bits(e, true)));
    return tn_sub(ctx, tn_mul(ctx, d, real_less(e, q, 0)), m);
}

static const tn_expr *
six_k(const element *e)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *part = tn_floordivi(ctx, e->group, 4), *row = tn_floormodi(ctx, e->group, 4);
    const tn_expr *low = tn_add(ctx, tn_muli(ctx, part, 64),
                                tn_add(ctx, tn_muli(ctx, tn_floormodi(ctx, row, 2), 32), e->lane));
    const tn_expr *high = tn_add(ctx, tn_muli(ctx, part, 32), e->lane);
    const tn_expr *q =
        join(e, bits(e, int_at(e, 0, low), tn_muli(ctx, tn_floordivi(ctx, row, 2), 4), 4),
             bits(e, int_at(e, 128, high), tn_muli(ctx, row, 2), 2), 4);
    const tn_expr *scale = tn_add(ctx, tn_add(ctx, tn_muli(ctx, part, 8), tn_muli(ctx, row, 2)),
                                  tn_floordivi(ctx, e->lane, 16));
    const tn_expr *s = signed_byte(e, int_at(e, 192, scale));
    return tn_mul(ctx, tn_mul(ctx, half_at(e, 208), to_real(e, s)), real_less(e, q, 32));
}

static const tn_expr *
value(const element *e, uint32_t type)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *q;
    switch (type) {
    case TNB_GGUF_Q8_0:
        q = tn_add(ctx, tn_muli(ctx, e->group, 16), e->lane);
        q = int_at(e, 2, q);
        q = e->panels ? real_less(e, tn_bitwise_xor(ctx, q, tn_i32(ctx, 128)), 128)
                      : to_real(e, signed_byte(e, q));
        return tn_mul(ctx, half_at(e, 0), q);
    case TNB_GGUF_Q4_0:
        return tn_mul(ctx, half_at(e, 0), real_less(e, small(e, -1, 2), 8));
    case TNB_GGUF_Q4_1:
        q = real_less(e, small(e, -1, 4), 0);
        return tn_add(ctx, tn_mul(ctx, half_at(e, 0), q), half_at(e, 2));
    case TNB_GGUF_Q5_0:
        return tn_mul(ctx, half_at(e, 0), real_less(e, small(e, 2, 6), 16));
    case TNB_GGUF_Q5_1:
        q = real_less(e, small(e, 4, 8), 0);
        return tn_add(ctx, tn_mul(ctx, half_at(e, 0), q), half_at(e, 2));
    case TNB_GGUF_Q4_K:
    case TNB_GGUF_Q5_K:
        return k_quant(e, type == TNB_GGUF_Q5_K);
    default:
        return six_k(e);
    }
}

bool
checkpoint_knows_blocks(uint32_t type)
{
    static const uint32_t known[] = {TNB_GGUF_Q8_0, TNB_GGUF_Q4_0, TNB_GGUF_Q4_1, TNB_GGUF_Q5_0,
                                     TNB_GGUF_Q5_1, TNB_GGUF_Q4_K, TNB_GGUF_Q5_K, TNB_GGUF_Q6_K};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == type)
            return true;
    return false;
}

/* ---- programs ---- */

/* Elements of a row that a turn of a product's loop takes at least, where there are so many. */
enum { TOGETHER = 256 };

/* The element of a row that block, group and lane name. */
static const tn_expr *
read_element(tnk_te *te, const tn_node *bytes, uint32_t type, const tn_expr *row,
             const tn_expr *block, const tn_expr *group, const tn_expr *lane)
{
    tn_ctx *ctx = tnk_te_ctx(te);
    element e = {.ctx = ctx,
                 .te = te,
                 .bytes = bytes,
                 .row = row,
                 .start = tn_muli(ctx, block, tnb_gguf_type_of(type).bytes),
                 .group = group,
                 .lane = lane};
    return value(&e, type);
}

const tn_expr *
checkpoint_dequantize(tn_builder *b, const tn_expr *rows, uint32_t type, int64_t columns)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims;
    const shape t = shape_of(type);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "blocks", rows->type);
    if (!tn_type_dims(rows->type, &dims) || dims.n != 2)
        return tn_error(ctx, 0, TNB_INTERNAL, "rows of blocks without a shape");
    const tn_expr *extents[] = {tnk_te_expr(te, dims.at[0]), tn_i64(ctx, columns)};
    tnk_stage *s = tnk_te_stage(te, "dequantize", extents, 2, TNB_F32);
    const int64_t elems = t.groups * t.lanes;
    const tn_expr *k = s->axes[1], *within = tn_floormodi(ctx, k, elems);
    const tn_node *out =
        tnk_te_define(s, read_element(te, in, type, s->axes[0], tn_floordivi(ctx, k, elems),
                                      tn_floordivi(ctx, within, t.lanes),
                                      tn_floormodi(ctx, within, t.lanes)));
    const char *name = tn_strf(ctx, "dequantize_%s", tnb_gguf_type_of(type).name);
    return tn_emit(b, tnk_te_call(te, b, name, &rows, 1, &out, 1), "dequantized");
}

const tn_expr *
checkpoint_block_product(tn_builder *b, const tn_expr *x, const tn_expr *rows, uint32_t type,
                         int64_t columns)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims, out_dims;
    const shape t = shape_of(type);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *left = tnk_te_input(te, "x", x->type),
                  *right = tnk_te_input(te, "blocks", rows->type);
    if (!tn_type_dims(x->type, &dims) || dims.n != 3 || !tn_type_dims(rows->type, &out_dims))
        return tn_error(ctx, 0, TNB_INTERNAL, "a product without a shape");
    const tn_expr *extents[] = {tnk_te_expr(te, dims.at[0]), tnk_te_expr(te, dims.at[1]),
                                tnk_te_expr(te, out_dims.at[0])};
    tnk_stage *s = tnk_te_stage(te, "product", extents, 3, TNB_F32);
    /* a turn of the loop takes some blocks whole, group by group: shifts and scales are then known, and vectors are summed up once */
    const int64_t elems = t.groups * t.lanes, bytes = tnb_gguf_type_of(type).bytes;
    int64_t blocks = elems < TOGETHER ? TOGETHER / elems : 1;
    while (columns / elems % blocks)
        blocks /= 2;
    const tn_expr *turn = tnk_te_reduce_axis(s, "turn", tn_i64(ctx, columns / elems / blocks)),
                  *lane = tnk_te_reduce_axis(s, "lane", tn_i64(ctx, t.lanes)), *sum = NULL;
    for (int64_t i = 0; i < blocks * t.groups; i++) {
        element e = {.ctx = ctx,
                     .te = te,
                     .bytes = right,
                     .row = s->axes[2],
                     .start =
                         tn_addi(ctx, tn_muli(ctx, turn, blocks * bytes), i / t.groups * bytes),
                     .group = tn_i64(ctx, i % t.groups),
                     .lane = lane};
        const tn_expr *k =
            tn_add(ctx, tn_muli(ctx, turn, blocks * elems), tn_addi(ctx, lane, i * t.lanes));
        const tn_expr *term =
            tn_mul(ctx, tnk_te_read(te, left, s->axes[0], s->axes[1], k, NULL), value(&e, type));
        sum = sum ? tn_add(ctx, sum, term) : term;
    }
    const tn_node *out = tnk_te_sum(s, sum);
    const tn_expr *operands[] = {x, rows};
    const char *name = tn_strf(ctx, "product_%s", tnb_gguf_type_of(type).name);
    return tn_emit(b, tnk_te_call(te, b, name, operands, 2, &out, 1), "product");
}

/* ---- panels ---- */

/* Turns of a product's loop that a thread takes together: what one load of 16 bytes has of 4-bit numbers. */
enum { PANEL_TURN = 32 };

/* An element-wise stage of the weights in panels, float32: [rows, columns], or in turns [rows, columns / 32, 32]. */
static const tn_node *
panel_numbers(tnk_te *te, const tn_expr *const *parts, const checkpoint_panels *p, int64_t rows,
              int64_t columns, bool turns)
{
    tn_ctx *ctx = tnk_te_ctx(te);
    const shape t = shape_of(p->type);
    const int64_t elems = t.groups * t.lanes, per = elems / PANEL_TURN;
    element e = {.ctx = ctx, .te = te, .panels = p};
    tn_list dims;
    for (uint32_t i = 0; i < p->n; i++)
        e.part[i] = tnk_te_input(te, "part", parts[i]->type);
    if (!tn_type_dims(parts[0]->type, &dims) || dims.n != 4)
        return tn_error(ctx, 0, TNB_INTERNAL, "panels without a shape");
    const tn_expr *extents[] = {tn_i64(ctx, rows),
                                tn_i64(ctx, turns ? columns / PANEL_TURN : columns),
                                tn_i64(ctx, PANEL_TURN)},
                  *height = dims.at[2];
    tnk_stage *s = tnk_te_stage(te, "dequantize", extents, turns ? 3 : 2, TNB_F32);
    const tn_expr *k = s->axes[1], *within;
    if (turns) {
        e.block = tn_floordivi(ctx, k, per);
        within = tn_add(ctx, tn_muli(ctx, tn_floormodi(ctx, k, per), PANEL_TURN), s->axes[2]);
    } else {
        e.block = tn_floordivi(ctx, k, elems);
        within = tn_floormodi(ctx, k, elems);
    }
    e.panel = tn_floordiv(ctx, s->axes[0], height);
    e.row = tn_floormod(ctx, s->axes[0], height);
    e.group = tn_floordivi(ctx, within, t.lanes);
    e.lane = tn_floormodi(ctx, within, t.lanes);
    if (turns && t.lanes == PANEL_TURN) {
        e.group = tn_floormodi(ctx, k, per);
        e.lane = s->axes[2];
    }
    return tnk_te_define(s, value(&e, p->type));
}

const tn_expr *
checkpoint_panels_dequantize(tn_builder *b, const tn_expr *const *parts, const checkpoint_panels *p,
                             int64_t rows, int64_t columns)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *out = panel_numbers(te, parts, p, rows, columns, false);
    const char *name = tn_strf(ctx, "dequantize_%s", tnb_gguf_type_of(p->type).name);
    return tnk_te_call(te, b, name, parts, p->n, &out, 1);
}

const tn_expr *
checkpoint_panels_product(tn_builder *b, const tn_expr *x, const tn_expr *const *parts,
                          const checkpoint_panels *p, int64_t rows, int64_t columns)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *left = tnk_te_input(te, "x", x->type),
                  *right = panel_numbers(te, parts, p, rows, columns, true);
    if (!tn_type_dims(x->type, &dims) || dims.n != 3)
        return tn_error(ctx, 0, TNB_INTERNAL, "a product without a shape");
    const tn_expr *extents[] = {tnk_te_expr(te, dims.at[0]), tnk_te_expr(te, dims.at[1]),
                                tn_i64(ctx, rows)};
    tnk_stage *s = tnk_te_stage(te, "product", extents, 3, TNB_F32);
    const tn_expr *turn = tnk_te_reduce_axis(s, "turn", tn_i64(ctx, columns / PANEL_TURN)),
                  *lane = tnk_te_reduce_axis(s, "lane", tn_i64(ctx, PANEL_TURN)),
                  *k = tn_add(ctx, tn_muli(ctx, turn, PANEL_TURN), lane);
    const tn_node *out =
        tnk_te_sum(s, tn_mul(ctx, tnk_te_read(te, left, s->axes[0], s->axes[1], k, NULL),
                             tnk_te_read(te, right, s->axes[2], turn, lane, NULL)));
    const tn_expr *operands[1 + CHECKPOINT_PANEL_PARTS] = {x};
    memcpy(operands + 1, parts, p->n * sizeof *parts);
    const char *name = tn_strf(ctx, "product_%s", tnb_gguf_type_of(p->type).name);
    return tnk_te_call(te, b, name, operands, 1 + p->n, &out, 1);
}
