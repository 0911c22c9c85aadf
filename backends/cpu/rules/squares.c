/* SPDX-License-Identifier: Apache-2.0 */
/* Turning a square of elements in registers: vector i becomes what element i of each vector was.
 *
 * Within 16 bytes a round takes the first halves of two vectors alternately, and the second halves; vectors half a
 * square apart become neighbours:      a0 a1 a2 a3, b0 b1 b2 b3     =>     a0 b0 a1 b1, a2 b2 a3 b3
 * After log2(n) rounds each of n vectors of n elements is a column. Vectors of 32 bytes do that on both halves at once, for the
 * first and the second half of the rows; one more round then joins the first halves and the second ones. All of these are
 * single instructions of SSE, AVX and NEON.
 */
#include "squares.h"
#include "tenon/core/registry.h"

bool
cpu_square_init(cpu_square *s, tn_ctx *ctx, tnb_dtype d, int vector_bytes)
{
    *s = (cpu_square){.ctx = ctx, .dtype = d, .bytes = d.bits / 8};
    if (d.lanes != 1 || (d.bits != 8 && d.bits != 16 && d.bits != 32 && d.bits != 64)) {
        if (!tnb_dtype_is_bool(d))
            return false;
        s->bytes = 1;
    }
    if (tnb_dtype_is_bool(d) || (tnb_dtype_is_float(d) && s->bytes <= 2))
        s->dtype = (tnb_dtype){TNB_UINT, (uint8_t)(8 * s->bytes), 1};
    /* sixteen registers hold a square */
    int64_t vector = s->bytes <= 2 || vector_bytes < 32 ? 16 : 32;
    s->lanes = vector / s->bytes;
    s->part = 16 / s->bytes;
    for (int64_t n = 1; n < s->part; n *= 2)
        s->rounds++;
    s->rounds += vector == 32;
    for (uint32_t i = 0; i <= s->rounds; i++)
        s->round[i] =
            tn_buffer_new(ctx, "square", tn_listv(ctx, tn_i64(ctx, s->lanes * s->lanes), NULL),
                          s->dtype, "local");
    return true;
}

uint32_t
cpu_square_buffers(const cpu_square *s, const tn_node **out)
{
    for (uint32_t i = 0; i <= s->rounds; i++)
        out[i] = s->round[i];
    return s->rounds + 1;
}

static tn_list
place(const cpu_square *s, const tn_expr *row, const tn_expr *column)
{
    return tn_listv(s->ctx, tn_add(s->ctx, tn_mul(s->ctx, row, tn_i64(s->ctx, s->lanes)), column),
                    NULL);
}

static const tn_expr *
as_bits(const cpu_square *s, tnb_dtype to, const tn_expr *e)
{
    const tn_expr *op =
        tn_op_ref_of(s->ctx, tn_find_op(tn_ctx_registry(s->ctx), "tirx.reinterpret", NULL));
    return tn_scalar_call(s->ctx, to, op, tn_listv(s->ctx, e, NULL), NULL);
}

const tn_stmt *
cpu_square_set(const cpu_square *s, const tn_expr *row, const tn_expr *column, const tn_expr *value)
{
    tnb_dtype d = tn_dtype_of(value);
    if (tnb_dtype_is_bool(d))
        value = tn_cast_to(s->ctx, s->dtype, value);
    else if (!tnb_dtype_eq(d, s->dtype))
        value = as_bits(s, s->dtype, value);
    return tn_buffer_store_of(s->ctx, s->round[0], value, place(s, row, column));
}

const tn_expr *
cpu_square_get(const cpu_square *s, const tn_expr *row, const tn_expr *column)
{
    return tn_buffer_load_of(s->ctx, s->round[s->rounds], place(s, row, column));
}

const tn_expr *
cpu_square_value(const cpu_square *s, const tn_expr *moved, tnb_dtype d)
{
    if (tnb_dtype_is_bool(d))
        return tn_cast_to(s->ctx, d, moved);
    return tnb_dtype_eq(d, s->dtype) ? moved : as_bits(s, d, moved);
}

static tn_list
vector(const cpu_square *s, int64_t i)
{
    return tn_listv(s->ctx,
                    tn_ramp_of(s->ctx, tn_i64(s->ctx, i * s->lanes), tn_i64(s->ctx, 1), s->lanes),
                    NULL);
}

/* Vector `to` of the next round. */
static const tn_stmt *
mix(const cpu_square *s, uint32_t round, int64_t to, int64_t a, int64_t b, const int64_t *lanes)
{
    const tn_expr *index[16];
    for (int64_t i = 0; i < s->lanes; i++)
        index[i] = tn_int_imm_of(s->ctx, TNB_I32, lanes[i]);
    tn_list both = tn_listv(s->ctx, tn_buffer_load_of(s->ctx, s->round[round], vector(s, a)),
                            tn_buffer_load_of(s->ctx, s->round[round], vector(s, b)), NULL);
    const tn_expr *x = tn_shuffle_of(s->ctx, both, tn_list_of(s->ctx, index, (uint32_t)s->lanes));
    return tn_buffer_store_of(s->ctx, s->round[round + 1], x, vector(s, to));
}

const tn_stmt *
cpu_square_turn(const cpu_square *s)
{
    const tn_stmt *all[5 * 16];
    uint32_t n = 0, round = 0;
    int64_t L = s->lanes, k = s->part, lanes[16];
    for (int64_t done = 1; done < k; done *= 2, round++)
        for (int64_t i = 0; i < L; i++) { /* pairs of each group of k vectors */
            int64_t group = i / k * k, a = group + i % k / 2, high = i % 2;
            for (int64_t j = 0; j < L; j++)
                lanes[j] = j / k * k + high * (k / 2) + j % k / 2 + (j % 2 ? L : 0);
            all[n++] = mix(s, round, i, a, a + k / 2, lanes);
        }
    if (L > k)
        for (int64_t i = 0; i < L; i++) {
            for (int64_t j = 0; j < L; j++)
                lanes[j] = i / k * k + j % k + (j < k ? 0 : L);
            all[n++] = mix(s, round, i, i % k, i % k + k, lanes);
        }
    return tn_seq_of(s->ctx, tn_list_of(s->ctx, all, n));
}
