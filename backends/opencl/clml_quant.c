/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensor programs unpack a matrix of 4-bit numbers as the extension knows them:
 *
 *     W[i, j] = (packed[i // 8, j] >> i % 8 * 4 & 15) - 7) * scale[i // 32, j]
 *
 * with packed uint32 (K / 8, N), scale and W float16. A program may say that in any number of blocks
 * and in other terms, and its name says nothing: its blocks are brought into one, the indices of
 * what that loads are proved, and the rest is computed for every 4-bit number in every place of a
 * word. Anything else (another zero, groups of another size, a transposed matrix) is no such matrix.
 */
#include "clml.h"

#include "tenon/base/scalar.h"
#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"

static const tnb_dtype packed_dtype = {TNB_UINT, 32, 1};
enum { PER_WORD = 8, PER_SCALE = 32, ZERO = 7, MAX_BLOCKS = 16 };

typedef struct weight {
    tn_ctx *ctx;
    tn_arith *arith;
    const tn_node *packed, *scale, *out; /* buffers */
    int64_t k, n;
    const tn_expr *row, *col;     /* of the element */
    const tn_expr *word, *factor; /* variables for what is loaded */
    bool failed;
} weight;

/* ---- one nest, one store ---- */

typedef struct nest {
    const tn_expr *vars[MAX_BLOCKS], *extents[MAX_BLOCKS];
    uint32_t n_loops, n_blocks;
    const tn_block_realize *realize;
    const tn_buffer_store *store;
    bool other; /* statements that are none of these */
} nest;

static tn_walk_step
note_statement(void *user, const tn_node *node)
{
    nest *s = user;
    const tn_for_loop *loop = tn_as_for_loop(node);
    const tn_block_realize *br = tn_as_block_realize(node);
    if (loop) {
        s->other |= s->n_loops == MAX_BLOCKS || !tn_is_int_const(loop->min, 0);
        if (s->n_loops < MAX_BLOCKS) {
            s->vars[s->n_loops] = loop->var;
            s->extents[s->n_loops++] = loop->extent;
        }
    } else if (br && tn_as_block(br->block)->iters.n) {
        s->realize = br;
        s->n_blocks++;
        s->other |= tn_as_block(br->block)->init != NULL;
    } else if (tn_is(node, TN_KIND_BUFFER_STORE)) {
        s->store = tn_as_buffer_store(node);
    } else if (tn_is(node, TN_KIND_IF_STMT) || tn_is(node, TN_KIND_WHILE)) {
        s->other = true;
    }
    return TN_WALK_ON;
}

/* The program with all blocks in the last one; NULL: it cannot be. */
static const tn_node *
in_one_block(tn_ctx *ctx, const tn_node *program)
{
    tnk_item *blocks[MAX_BLOCKS];
    tnk_sch *s = tnk_sch_new(ctx, program);
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    for (;;) {
        uint32_t n = tnk_sch_blocks(s, blocks, MAX_BLOCKS), i = 0;
        if (n == 0 || n > MAX_BLOCKS)
            return NULL;
        while (i < n && !tnk_can_inline(s, blocks[i]))
            i++;
        if (i == n)
            return n == 1 && tnk_block_is_injective(blocks[0]) ? tnk_sch_finish(s) : NULL;
        if (!tnk_compute_inline(s, blocks[i]))
            return NULL;
    }
}

/* Whether the nest stores each element of `out` once, at its two iterators. */
static bool
stores_all(weight *w, const nest *s)
{
    if (s->other || s->n_blocks != 1 || !s->store || s->store->buffer != w->out)
        return false;
    const tn_block *b = tn_as_block(s->realize->block);
    if (b->iters.n != 2 || s->store->indices.n != 2 || !tn_is_int_const(s->realize->predicate, 1))
        return false;
    w->row = s->store->indices.at[0];
    w->col = s->store->indices.at[1];
    for (uint32_t i = 0; i < 2; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        const tn_range *dom = tn_as_range(iv->dom);
        if ((iv->var != w->row && iv->var != w->col) || !tn_is_int_const(dom->min, 0) ||
            !tn_is_int_const(dom->extent, iv->var == w->row ? w->k : w->n))
            return false;
    }
    tn_arith *a = tn_arith_new(w->ctx);
    for (uint32_t i = 0; i < s->n_loops; i++)
        tn_arith_range(a, s->vars[i], tn_i64(w->ctx, 0), s->extents[i]);
    return w->row != w->col && tn_iter_map_check(a, s->realize->values.at, 2, s->vars, s->extents,
                                                 s->n_loops, NULL, true);
}

/* ---- what it stores ---- */

static bool
is_index(weight *w, const tn_expr *index, int64_t per)
{
    const tn_expr *want =
        per ? tn_floordiv(w->ctx, w->row, tn_literal(w->ctx, tn_dtype_of(w->row), (double)per))
            : w->col;
    return tn_prove_eq(w->arith, index, want);
}

static const tn_node *
replace_load(tn_rewriter *r, const tn_node *n)
{
    weight *w = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l)
        return NULL;
    bool packed = l->buffer == w->packed;
    if ((!packed && l->buffer != w->scale) || l->indices.n != 2 ||
        !is_index(w, l->indices.at[0], packed ? PER_WORD : PER_SCALE) ||
        !is_index(w, l->indices.at[1], 0)) {
        w->failed = true;
        return n;
    }
    return packed ? w->word : w->factor;
}

/* An integer as its dtype holds it. */
static double
wrapped(tnb_dtype d, int64_t v)
{
    uint64_t mask = d.bits >= 64 ? UINT64_MAX : (UINT64_C(1) << d.bits) - 1, u = (uint64_t)v & mask;
    bool negative = d.code == TNB_INT && u >> (d.bits - 1) & 1;
    return negative ? -(double)((~u & mask) + 1) : (double)u;
}

/* Integers of at most 32 bits are exact in a double. False: something that is not computed here. */
static bool
compute(const weight *w, const tn_expr *e, double word, double factor, double *out)
{
    tnb_dtype d = tn_dtype_of(e);
    const tn_cast *cast = tn_as_cast(e);
    const tn_call *call = tn_as_call(e);
    const tn_op *op = call ? tn_call_op_of(call) : NULL;
    int64_t literal;
    double a, b;
    bool whole = tnb_dtype_is_int(d);
    if (e == w->word || e == w->factor) {
        *out = e == w->word ? word : factor;
        return true;
    }
    if (whole && d.bits > 32)
        return false;
    if (clml_number(e, out))
        return true;
    if (cast) {
        if (!compute(w, cast->value, word, factor, &a) ||
            (whole && !tnb_dtype_is_int(tn_dtype_of(cast->value))))
            return false;
        *out = whole ? wrapped(d, tnb_f64_to_i64(a)) : a;
        return true;
    }
    if (op) {
        bool shift = op->intrin == TN_INTRIN_shift_right;
        if ((!shift && op->intrin != TN_INTRIN_bitwise_and) || !whole ||
            !compute(w, call->args.at[0], word, factor, &a) ||
            !tn_int_value(call->args.at[1], &literal) || literal < 0 || (shift && literal >= 32))
            return false;
        *out = wrapped(d, shift ? tnb_f64_to_i64(a) >> literal : tnb_f64_to_i64(a) & literal);
        return true;
    }
    if (!tn_is(e, TN_KIND_ADD) && !tn_is(e, TN_KIND_SUB) && !tn_is(e, TN_KIND_MUL))
        return false;
    if (!compute(w, tn_as_binary(e)->a, word, factor, &a) ||
        !compute(w, tn_as_binary(e)->b, word, factor, &b))
        return false;
    a = tn_is(e, TN_KIND_ADD) ? a + b : tn_is(e, TN_KIND_SUB) ? a - b : a * b;
    *out = whole ? wrapped(d, tnb_f64_to_i64(a)) : a;
    return true;
}

/* The value in place `at` of a word, for every 4-bit number there; the others must not matter. */
static bool
is_place(const weight *w, const tn_expr *value, int at)
{
    static const uint32_t others[] = {0, UINT32_MAX, 0x12345678};
    static const double factors[] = {1, -0.5, 4}; /* products are exact in float16 */
    for (uint32_t v = 0; v < 16; v++)
        for (int i = 0; i < 3; i++) {
            uint32_t word = (others[i] & ~(UINT32_C(15) << 4 * at)) | v << 4 * at;
            double got;
            if (!compute(w, value, word, factors[i], &got) || got != ((int)v - ZERO) * factors[i])
                return false;
        }
    return true;
}

static bool
is_unpacked(weight *w, const tn_expr *value)
{
    tnb_dtype index = tn_dtype_of(w->row);
    tn_rewriter r = {.ctx = w->ctx, .user = w, .pre = replace_load};
    tn_arith_bounds_of_var(w->arith, w->row, 0, w->k - 1);
    tn_arith_bounds_of_var(w->arith, w->col, 0, w->n - 1);
    value = tn_rewrite(&r, value);
    const tn_expr *q = tn_var_new(w->ctx, "q", tn_ty_prim_of(w->ctx, index));
    tn_arith_bounds_of_var(w->arith, q, 0, w->k / PER_WORD - 1);
    for (int at = 0; at < PER_WORD && !w->failed; at++) {
        const tn_expr *row = tn_add(w->ctx, tn_mul(w->ctx, q, tn_literal(w->ctx, index, PER_WORD)),
                                    tn_literal(w->ctx, index, at));
        const tn_expr *here =
            tn_simplify(w->arith, tn_subst1(w->ctx, value, w->row, row)); /* q has to go */
        w->failed = tn_uses(here, q) || tn_uses(here, w->col) || !is_place(w, here, at);
    }
    return !w->failed;
}

static bool
is_matrix(const tn_node *buffer, tnb_dtype dtype, int64_t rows, int64_t columns)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    return b && tnb_dtype_eq(b->dtype, dtype) && b->shape.n == 2 && !b->strides.n &&
           tn_is_int_const(b->shape.at[0], rows) && tn_is_int_const(b->shape.at[1], columns);
}

bool
clml_is_quantized(tn_ctx *ctx, const tn_prim_func *f, int64_t k, int64_t n)
{
    if (f->params.n != 3 || f->buffers.n != 3 || k % PER_SCALE != 0 ||
        !is_matrix(f->buffers.at[0], packed_dtype, k / PER_WORD, n) ||
        !is_matrix(f->buffers.at[1], TNB_F16, k / PER_SCALE, n) ||
        !is_matrix(f->buffers.at[2], TNB_F16, k, n))
        return false;
    const tn_prim_func *one = tn_as_prim_func(in_one_block(ctx, TN_NODE(f)));
    nest s = {0};
    if (!one)
        return false;
    tn_walk(one->body, 0, note_statement, NULL, &s);
    weight w = {.ctx = ctx,
                .arith = tn_arith_new(ctx),
                .packed = one->buffers.at[0],
                .scale = one->buffers.at[1],
                .out = one->buffers.at[2],
                .k = k,
                .n = n,
                .word = tn_var_new(ctx, "word", tn_ty_prim_of(ctx, packed_dtype)),
                .factor = tn_var_new(ctx, "factor", tn_ty_prim_of(ctx, TNB_F16))};
    return stores_all(&w, &s) && is_unpacked(&w, s.store->value);
}
