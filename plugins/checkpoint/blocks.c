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
    const tn_node *bytes;       /* [rows, bytes] */
    const tn_expr *row, *start; /* of its block, in bytes */
    const tn_expr *group, *lane;
} element;

typedef struct shape {
    int64_t groups, lanes;
} shape;

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

static const tn_expr *
int_at(const element *e, const tn_expr *offset)
{
    return tn_cast_to(e->ctx, TNB_I32, byte_at(e, offset));
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
    const tn_expr *low = tn_cast_to(ctx, u16, byte_at(e, tn_i64(ctx, offset))),
                  *high = tn_cast_to(ctx, u16, byte_at(e, tn_i64(ctx, offset + 1)));
    const tn_expr *bits =
        tn_bitwise_or(ctx, low, tn_shift_left(ctx, high, tn_int_imm_of(ctx, u16, 8)));
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

/* ---- the types ---- */

/* Of blocks of 32 in two groups of 16: the lower four bits of 16 bytes, then the upper ones, with a fifth bit from four bytes where
 * `fifth` is not below 0. */
static const tn_expr *
small(const element *e, int64_t fifth, int64_t numbers)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *q =
        bits(e, int_at(e, tn_addi(ctx, e->lane, numbers)), tn_muli(ctx, e->group, 4), 4);
    if (fifth < 0)
        return q;
    const tn_expr *at = tn_add(ctx, tn_muli(ctx, e->group, 2), tn_floordivi(ctx, e->lane, 8));
    return join(e, q, bits(e, int_at(e, tn_addi(ctx, at, fifth)), tn_floormodi(ctx, e->lane, 8), 1),
                4);
}

/* Scale or least of a group: six bits each, of eight groups in 12 bytes. Groups 0 to 3 have theirs in bytes 0 to 3 (scales) and 4 to 7
 * (leasts), groups 4 to 7 four bits in bytes 8 to 11 and two at the top of the bytes of groups 0 to 3. */
static const tn_expr *
six_bits(const element *e, bool least)
{
    tn_ctx *ctx = e->ctx;
    const int64_t scales = 4, own = scales + (least ? 4 : 0);
    const tn_expr *near = tn_floormodi(ctx, e->group, 4);
    const tn_expr *plain = int_at(e, tn_addi(ctx, near, own)),
                  *shared = int_at(e, tn_addi(ctx, near, scales + 8));
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
    const tn_expr *q = bits(e, int_at(e, tn_addi(ctx, at, numbers)),
                            tn_muli(ctx, tn_floormodi(ctx, e->group, 2), 4), 4);
    if (five)
        q = join(e, q, bits(e, int_at(e, tn_addi(ctx, e->lane, 16)), e->group, 1), 4);
    const tn_expr *d = tn_mul(ctx, half_at(e, 0), to_real(e, six_bits(e, false))),
                  *m = tn_mul(ctx, half_at(e, 2), to_real(e, six_bits(e, true)));
    return tn_sub(ctx, tn_mul(ctx, d, to_real(e, q)), m);
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
        join(e, bits(e, int_at(e, low), tn_muli(ctx, tn_floordivi(ctx, row, 2), 4), 4),
             bits(e, int_at(e, tn_addi(ctx, high, 128)), tn_muli(ctx, row, 2), 2), 4);
    const tn_expr *scale = tn_add(ctx, tn_add(ctx, tn_muli(ctx, part, 8), tn_muli(ctx, row, 2)),
                                  tn_floordivi(ctx, e->lane, 16));
    const tn_expr *s = signed_byte(e, int_at(e, tn_addi(ctx, scale, 192)));
    return tn_mul(ctx, tn_mul(ctx, half_at(e, 208), to_real(e, s)),
                  to_real(e, tn_sub(ctx, q, tn_i32(ctx, 32))));
}

static const tn_expr *
value(const element *e, uint32_t type)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *q;
    switch (type) {
    case TNB_GGUF_Q8_0:
        q = tn_add(ctx, tn_muli(ctx, e->group, 16), tn_addi(ctx, e->lane, 2));
        q = signed_byte(e, int_at(e, q));
        return tn_mul(ctx, half_at(e, 0), to_real(e, q));
    case TNB_GGUF_Q4_0:
        q = tn_sub(ctx, small(e, -1, 2), tn_i32(ctx, 8));
        return tn_mul(ctx, half_at(e, 0), to_real(e, q));
    case TNB_GGUF_Q4_1:
        return tn_add(ctx, tn_mul(ctx, half_at(e, 0), to_real(e, small(e, -1, 4))), half_at(e, 2));
    case TNB_GGUF_Q5_0:
        q = tn_sub(ctx, small(e, 2, 6), tn_i32(ctx, 16));
        return tn_mul(ctx, half_at(e, 0), to_real(e, q));
    case TNB_GGUF_Q5_1:
        return tn_add(ctx, tn_mul(ctx, half_at(e, 0), to_real(e, small(e, 4, 8))), half_at(e, 2));
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
