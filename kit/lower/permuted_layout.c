/* SPDX-License-Identifier: Apache-2.0 */
/* InjectPermutedLayout: the 16-byte pieces of the rows of a tile in shared memory change places, so that threads that read pieces of
 * one column from eight rows, as ldmatrix does, meet no bank twice.
 *
 *     A = T.alloc_buffer((128, 32), "float16", scope="shared")       four pieces a row, two rows over all banks:
 *     ... A[i, j] ...                                           =>   ... A[i, (j // 8 ^ i // 2 % 4) * 8 + j % 8] ...
 *
 * For allocations with the annotation permuted_layout (a mark of the block that fills them), whose last dimension is a power of
 * two of pieces. Vectors that are no longer than a piece and begin at a multiple of their length stay in one. Needs: no blocks.
 */
#include "lower.h"

static const char key[] = "permuted_layout";

enum { PIECE = 16, ALL_BANKS = 128 };

typedef struct permuted {
    tnb_ptrmap by_buffer; /* Buffer -> itself */
} permuted;

static int64_t
pieces_of(const tn_buffer *b)
{
    int64_t n, bytes = (int64_t)tnb_dtype_bytes(b->dtype);
    if (b->shape.n < 2 || b->strides.n || !tn_int_value(b->shape.at[b->shape.n - 1], &n) ||
        b->dtype.lanes != 1 || bytes > PIECE || n * bytes % PIECE)
        return 0;
    n = n * bytes / PIECE;
    return n > 1 && !(n & (n - 1)) ? n : 0;
}

/* The index of the last dimension, with its piece in the place that the row gives it. */
static const tn_expr *
permute(tn_ctx *ctx, tn_arith *arith, const tn_buffer *b, const tn_expr *row, const tn_expr *column)
{
    int64_t pieces = pieces_of(b), all = ALL_BANKS / PIECE,
            rows = pieces < all ? all / pieces : 1, /* that lie over all banks */
        length = PIECE / (int64_t)tnb_dtype_bytes(b->dtype), width = pieces < all ? pieces : all;
    tnb_dtype d = tn_dtype_of(column);
    const tn_expr *n = tn_int_imm_of(ctx, d, length),
                  *shift = tn_floormod(ctx,
                                       tn_floordiv(ctx, tn_cast_to(ctx, d, row),
                                                   tn_int_imm_of(ctx, d, rows)),
                                       tn_int_imm_of(ctx, d, width)),
                  *piece = tn_simplify(arith, tn_floordiv(ctx, column, n)),
                  *in = tn_simplify(arith, tn_floormod(ctx, column, n));
    return tn_add(ctx, tn_mul(ctx, tn_bitwise_xor(ctx, piece, tn_simplify(arith, shift)), n), in);
}

typedef struct at {
    permuted *p;
    tn_arith *arith;
} at;

static tn_list
indices(tn_ctx *ctx, tn_arith *arith, const tn_buffer *b, tn_list idx)
{
    uint32_t last = idx.n - 1;
    return tn_list_with(ctx, idx, last, permute(ctx, arith, b, idx.at[last - 1], idx.at[last]));
}

static const tn_node *
load(tn_rewriter *r, const tn_node *n)
{
    at *a = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || !tnb_ptrmap_has(&a->p->by_buffer, l->buffer))
        return NULL;
    return tn_buffer_load_of(r->ctx, l->buffer,
                             indices(r->ctx, a->arith, tn_as_buffer(l->buffer), l->indices));
}

static const tn_expr *
expr(tnk_ranged *r, const tn_expr *e)
{
    at a = {r->user, r->arith};
    tn_rewriter rw = {.ctx = r->ctx, .user = &a, .post = load};
    return tn_rewrite(&rw, e);
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    permuted *p = r->user;
    const tn_alloc_buffer *a = s->kind == TN_KIND_ALLOC_BUFFER ? tn_as_alloc_buffer(s) : NULL;
    if (!a || !tn_dict_get(a->annotations, key))
        return NULL;
    if (pieces_of(tn_as_buffer(a->buffer)))
        tnb_ptrmap_set(&p->by_buffer, a->buffer, a->buffer);
    const tn_node *rest = tn_dict_set(r->ctx, a->annotations, key, NULL);
    return tn_alloc_buffer_of(r->ctx, a->buffer,
                              tn_as_dict(rest) && tn_as_dict(rest)->items.n ? rest : NULL);
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    permuted *p = r->user;
    const tn_buffer_store *b = tn_as_buffer_store(s);
    if (!b || !tnb_ptrmap_has(&p->by_buffer, b->buffer))
        return NULL;
    return tn_buffer_store_of(r->ctx, b->buffer, b->value,
                              indices(r->ctx, r->arith, tn_as_buffer(b->buffer), b->indices));
}

static tn_walk_step
find(void *user, const tn_node *n)
{
    (void)user;
    const tn_alloc_buffer *a = n->kind == TN_KIND_ALLOC_BUFFER ? tn_as_alloc_buffer(n) : NULL;
    return a && tn_dict_get(a->annotations, key) ? TN_WALK_STOP
           : tn_is_scalar(n)                     ? TN_WALK_SKIP
                                                 : TN_WALK_ON;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    if (tn_walk(f->body, 0, find, NULL, NULL))
        return f->body;
    permuted p;
    tnk_ranged r = {.expr = expr, .pre = pre, .post = post, .user = &p};
    tnb_ptrmap_init(&p.by_buffer, tn_scratch(ctx));
    tnk_ranged_init(&r, ctx, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_permuted_layout = {
    .base.size = sizeof(tn_pass),
    .base.name = "InjectPermutedLayout",
    .base.doc = "Permutes rows of tiles in shared memory against bank conflicts.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
