/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Dot: sums of products of pairs of int16 or bfloat16 and of fours of bytes, as legalize_dot.c writes them. A register tile of
 * contraction.c's form whose innermost step is a tensor intrinsic of dot_intrin.c: a vector of the
 * result, a pair of the sum.
 *
 *     for n, h, co (parallel), w0:
 *         acc[th][ty][lanes] = 0
 *         for rco, ry, rx, rci:
 *             for i < ty, k < th: dot2(acc[k][i], x[.., w0 * ty + i, 2 rci ..], w[co * th + k, ..])
 *         out[...] = epilogue(acc)
 */
#include "rules.h"

/* The operands' types, what lies together, the intrinsics. */
static const struct form {
    tnb_dtype b, a, sum; /* b is broadcast */
    int64_t group;
    const char *names[3]; /* of 4, 8 and 16 lanes; NULL: none */
    const char *tiles[2]; /* of 1 and 4 matrix tiles */
} forms[] = {
    {TNB_DTYPE(TNB_INT, 16),
     TNB_DTYPE(TNB_INT, 16),
     TNB_I32,
     2,
     {"cpu.dot2_4", "cpu.dot2_8", "cpu.dot2_16"},
     {NULL}},
    {TNB_DTYPE(TNB_UINT, 8),
     TNB_DTYPE(TNB_INT, 8),
     TNB_I32,
     4,
     {"cpu.dot4_4", "cpu.dot4_8", "cpu.dot4_16"},
     {"cpu.amx_u8s8_1", "cpu.amx_u8s8_4"}},
    {TNB_BF16,
     TNB_BF16,
     TNB_F32,
     2,
     {"cpu.dotbf_4", "cpu.dotbf_8", "cpu.dotbf_16"},
     {"cpu.amx_bf16_1", "cpu.amx_bf16_4"}},
    {TNB_DTYPE(TNB_INT, 8),
     TNB_DTYPE(TNB_INT, 8),
     TNB_I32,
     4,
     {NULL},
     {"cpu.amx_s8s8_1", "cpu.amx_s8s8_4"}},
};

static const char *
intrinsic_of(const struct form *f, int64_t lanes)
{
    return lanes == 4 ? f->names[0] : lanes == 8 ? f->names[1] : lanes == 16 ? f->names[2] : NULL;
}

/* The form whose groups the sum's last dimension counts through; NULL: none. Where the vectors' operand
 * lies in panels, its index is no sum: tensorize finds out whether a vector of it is one. */
static const struct form *
form_of(const cpu_tile *c)
{
    const tn_block *b = tnk_item_block(c->block);
    const tn_iter_var *last = tn_as_iter_var(b->iters.at[b->iters.n - 1]);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    if (last->iter_kind != TN_ITER_REDUCE || c->paired ||
        cpu_step_along(c->ctx, c->a.load, last->var) != 1 ||
        cpu_step_along(c->ctx, c->b.load, last->var) != 1)
        return NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *f = &forms[i];
        if (tnb_dtype_eq(tn_as_buffer(c->a.load->buffer)->dtype, f->a) &&
            tnb_dtype_eq(tn_as_buffer(c->b.load->buffer)->dtype, f->b) &&
            tnb_dtype_eq(tn_as_buffer(st->buffer)->dtype, f->sum) &&
            tn_is_int_const(tn_as_range(last->dom)->extent, f->group) &&
            (c->a.step == f->group || c->a.step == 0))
            return f;
    }
    return NULL;
}

/* Where a matrix of 16 rows and more is multiplied, and the processor has matrix tiles: one of the result.
 * The next rows of B come from the second cache, where the columns' panel stays. */
static bool
choose_matrix_tiles(cpu_tile *c, const struct form *f, const tn_target *target)
{
    const tn_block *b = tnk_item_block(c->block);
    uint32_t n = b->iters.n;
    int64_t k;
    if (!f->tiles[0] || n < 3 || c->y == UINT32_MAX || c->ext[c->y] < 16)
        return false;
    const tn_iter_var *last = tn_as_iter_var(b->iters.at[n - 2]),
                      *before = tn_as_iter_var(b->iters.at[n - 3]);
    if (last->iter_kind != TN_ITER_REDUCE || before->iter_kind == TN_ITER_REDUCE ||
        !tn_int_value(tn_as_range(last->dom)->extent, &k) ||
        !cpu_takes_tiles(c->ctx, target, tnb_dtype_is_float(f->b), c->ext[c->y], c->ext[c->x],
                         k * f->group))
        return false;
    c->ty = c->rows = c->lanes = 16;
    c->tw = c->th = 1;
    c->steps = k % 64 == 0 ? 64 : 16;
    c->intrinsic = f->tiles[c->steps == 64];
    return true;
}

/* The tile with the least estimated time: two instructions a product, loads of pairs and vectors. */
static bool
choose_tile(cpu_tile *c, int64_t lanes)
{
    int64_t X = c->ext[c->x], Y = c->y == UINT32_MAX ? 1 : c->ext[c->y],
            H = c->h == UINT32_MAX ? 1 : c->ext[c->h];
    int64_t registers = lanes == 16 ? 32 : 16, most = lanes == 16 ? 24 : 12;
    double best = 1e30;
    c->lanes = lanes;
    for (int64_t tw = 1; tw <= 4; tw++)
        for (int64_t th = 1; th <= 4; th++)
            for (int64_t ty = 1; ty <= 12; ty++) {
                int64_t n = tw * th * ty, held = tw * th;
                if (tw * lanes > X || X % (tw * lanes) || th > H || ty > Y || n > most ||
                    n + held + (held > 1) + 1 > registers)
                    continue;
                double work = (double)n / 2, loads = (double)(ty + held) / 2,
                       issue = (double)(2 * n + ty + held + 2) / 6;
                double cycles = work > loads ? work : loads;
                cycles = (cycles > issue ? cycles : issue) + 0.5;
                double tiles = (double)(X / (tw * lanes)) * (double)((H + th - 1) / th) *
                               (double)((Y + ty - 1) / ty);
                double time = tiles * (cycles + (double)n * 3 / c->reduce);
                if (time < best) {
                    best = time;
                    c->tw = tw;
                    c->th = th;
                    c->ty = ty;
                }
            }
    return best < 1e30;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    cpu_tile c;
    tnk_sch *s = cpu_may_reduce(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    int bytes = cpu_vector_bytes(ctx, target);
    cpu_inline_cheap(s, CPU_KEEP_PADDING);
    if (!cpu_find_reduction(ctx, s, &c) || c.ext[c.x] < 0)
        return NULL;
    const struct form *form = cpu_find_operands(&c) ? form_of(&c) : NULL;
    if (!form)
        return NULL;
    if (!choose_matrix_tiles(&c, form, target)) {
        int64_t lanes = bytes / 4;
        while (lanes >= 4 && c.ext[c.x] % lanes)
            lanes /= 2;
        c.intrinsic = intrinsic_of(form, lanes);
        if (!c.intrinsic || !choose_tile(&c, lanes))
            return NULL;
    }
    cpu_caches caches = cpu_caches_of(target);
    cpu_choose_order(&c, &caches);
    return cpu_apply_tile(&c) ? cpu_finish_rest(s, bytes) : NULL;
}

const tnk_rule cpu_rule_dot = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Dot",
    .base.doc = "Sums of products of int16 pairs and fours of bytes in int32, of bfloat16 pairs in "
                "float32: register tiles "
                "of tensor intrinsics.",
    .apply = apply,
};
