/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.Fallback: takes every function, symbolic shapes included.
 *
 *     for i, j: B[i, j] = A[i, j] * 2               for b in blockIdx.x: for t in threadIdx.x:
 *     for i, j, k: C[i, j] += B[i, k] ...     =>        C_local = 0
 *                                                       for k: C_local += A[i, k] * 2 ...
 *                                                       C[i, j] = C_local
 *
 * Cheap element-wise blocks are inlined. Every other block becomes a kernel: one thread computes one element of its result, and
 * reduces by itself into a register; where there are elements enough, it computes neighbours, as many as one load moves, if
 * what they read are neighbours too: A_local[0:4] = A[i, 4 * j : 4 * j + 4]; ...; B[i, 4 * j : 4 * j + 4] = B_local[0:4]. Loops
 * that several blocks share, and iterations that depend on their order, stay serial around the kernels. A function that is not
 * in block form is run by one thread.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum {
    VECTORS, /* neighbours for each thread, where they are worth it */
    TILED,   /* one element for each thread */
    FUSED,   /* reductions accumulate in memory */
    OUTER,   /* the outermost spatial loop alone is bound */
    SERIAL,  /* one thread runs each block */
    ATTEMPTS,
    USUAL_THREADS = 256,
    MOST_NEIGHBOURS = 8, /* results of a thread, and operands that it loads for them */
    MOST_OPERANDS = 8,
    MANY_THREADS = 1 << 16 /* as many as keep a device busy */
};

/* The block's one loop nest ends in it, and it can be computed for one element of its result. */
static bool
fits_register(const tnk_item *block)
{
    return tnk_block_is_reduction(block) && !gpu_has_order(block) && tnk_item_block(block)->init &&
           tnk_block_output(block) && gpu_count_iters(block, TN_ITER_SPATIAL);
}

/* Whether its loops may be reordered: scans keep their order, anything else that depends on it forbids that. */
static bool
may_reorder(const tnk_item *block)
{
    const tn_block *b = tnk_item_block(block);
    for (uint32_t i = 0; i < b->iters.n; i++) {
        int64_t k = tn_as_iter_var(b->iters.at[i])->iter_kind;
        if (k != TN_ITER_SPATIAL && k != TN_ITER_REDUCE && k != TN_ITER_SCAN)
            return false;
    }
    return true;
}

static void
one_thread(tnk_sch *s, tnk_item *block)
{
    tnk_item *outer = tnk_add_unit_loop(s, block), *inner = tnk_add_unit_loop(s, block),
             *l[GPU_MAX_LOOPS];
    uint32_t n = gpu_own_loops(s, block, l);
    if (!inner || !outer)
        return;
    /* outermost, so that the block's loops run within the kernel */
    if (n > 2 && !gpu_has_order(block)) {
        memmove(l + 2, l, (n - 2) * sizeof *l);
        l[0] = outer;
        l[1] = inner;
        (void)tnk_reorder(s, l, n);
    }
    (void)(tnk_bind(s, outer, "blockIdx.x") && tnk_bind(s, inner, "threadIdx.x"));
}

/* What an element-wise block reads along its last dimension. */
typedef struct neighbours {
    const tn_block *b;
    const tn_expr *last; /* the iterator of that dimension */
    const tn_node *operand[MOST_OPERANDS];
    uint32_t n;
    int64_t bytes; /* of the widest element */
    int64_t pitch; /* a divisor of the lengths of all rows */
    bool bad;
} neighbours;

static bool
is_iter(const tn_block *b, const tn_expr *e)
{
    for (uint32_t k = 0; k < b->iters.n; k++)
        if (tn_as_iter_var(b->iters.at[k])->var == e)
            return true;
    return false;
}

static int64_t
common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Whether an access has neighbours in the last dimension, and in no other. */
static bool
has_neighbours(neighbours *q, const tn_node *buffer, tn_list idx)
{
    const tn_buffer *buf = tn_as_buffer(buffer);
    int64_t row, bytes = (int64_t)tnb_dtype_bytes(buf->dtype);
    if (idx.n == 0 || idx.at[idx.n - 1] != q->last || buf->dtype.lanes != 1 ||
        !tn_int_value(buf->shape.at[buf->shape.n - 1], &row))
        return false;
    for (uint32_t i = 0; i + 1 < idx.n; i++)
        if (idx.at[i] == q->last || !(is_iter(q->b, idx.at[i]) || tn_is_int_const(idx.at[i], 0)))
            return false;
    q->pitch = common_divisor(row, q->pitch);
    q->bytes = bytes > q->bytes ? bytes : q->bytes;
    return true;
}

static tn_walk_step
note_operand(void *user, const tn_node *n)
{
    neighbours *q = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || !gpu_load_uses(l, q->last))
        return TN_WALK_ON;
    uint32_t k = 0;
    while (k < q->n && q->operand[k] != l->buffer)
        k++;
    if (!has_neighbours(q, l->buffer, l->indices) || k == MOST_OPERANDS) {
        q->bad = true;
        return TN_WALK_STOP;
    }
    q->operand[k] = l->buffer;
    q->n = k == q->n ? k + 1 : q->n;
    return TN_WALK_ON;
}

/* Elements of its result that a thread computes for one load of each operand; 1: they are no neighbours, or too few. */
static int64_t
count_neighbours(tn_ctx *ctx, const gpu_target *t, const tnk_item *block, neighbours *q)
{
    const tn_buffer_store *st = tn_as_buffer_store(tnk_item_block(block)->body);
    *q = (neighbours){.b = tnk_item_block(block)};
    if (!tnk_block_is_injective(block) || !st || st->indices.n == 0 ||
        !tn_is_int_const(block->predicate, 1))
        return 1;
    q->last = st->indices.at[st->indices.n - 1];
    uint32_t k = gpu_iter_of_dim(block, st->indices.n - 1);
    int64_t all = gpu_turns(block, TN_ITER_SPATIAL);
    if (k == UINT32_MAX || (q->pitch = gpu_iter_extent(block, k)) < 1 ||
        !has_neighbours(q, st->buffer, st->indices))
        return 1;
    tn_walk(st->value, 0, note_operand, NULL, q);
    int64_t options[4], usual = 1;
    uint32_t n = 0;
    for (int64_t v = 1; v <= MOST_NEIGHBOURS && v * q->bytes <= t->vector_bytes; v *= 2)
        if (q->pitch % v == 0) {
            options[n++] = v;
            usual = all < 0 || all / v >= MANY_THREADS ? v : usual;
        }
    return q->bad || q->n == 0 || n == 0 ? 1
                                         : tnk_rule_choice(ctx, "neighbours", options, n, usual);
}

static tnk_item *
last_loop(tnk_sch *s, tnk_item *block)
{
    tnk_item *l[GPU_MAX_LOOPS];
    uint32_t n = gpu_own_loops(s, block, l);
    return n ? l[n - 1] : NULL;
}

/* n neighbours for each thread: operands and results pass through registers. */
static bool
bind_neighbours(tnk_sch *s, tnk_item *block, const neighbours *q, int64_t n, int64_t threads)
{
    tnk_item *l[GPU_MAX_LOOPS], *part[2], *grid[2], *root = tnk_cache_write(s, block, "local");
    uint32_t loops = root ? gpu_own_loops(s, root, l) : 0;
    if (loops == 0 || !tnk_split(s, l[loops - 1], n, part) ||
        !tnk_set_kind(s, part[1], TN_FOR_VECTORIZED))
        return false;
    l[loops - 1] = part[0];
    tnk_item *f = gpu_fuse(s, l, loops);
    if (!f || !gpu_bind_grid(s, f, threads, grid) || !gpu_into(s, block, "local", grid[1]))
        return false;
    for (uint32_t k = 0; k < q->n; k++) {
        tnk_item *stage = tnk_cache_read(s, block, q->operand[k], "local", NULL), *last;
        if (!stage || !gpu_into(s, stage, "local", grid[1]) || !(last = last_loop(s, stage)) ||
            !tnk_set_kind(s, last, TN_FOR_VECTORIZED))
            return false;
    }
    tnk_item *own = last_loop(s, block);
    return own && tnk_set_kind(s, own, TN_FOR_UNROLLED);
}

static void
bind_block(tnk_sch *s, const gpu_target *t, tnk_item *block, int attempt)
{
    tnk_item *l[GPU_MAX_LOOPS], *reduction = NULL;
    int64_t e, limit = t->threads < USUAL_THREADS ? t->threads : USUAL_THREADS, each;
    neighbours q;
    if (attempt == VECTORS && (each = count_neighbours(s->ctx, t, block, &q)) > 1) {
        (void)bind_neighbours(s, block, &q, each, limit);
        return;
    }
    if (attempt <= TILED && fits_register(block)) {
        tnk_item *root = gpu_root_of(s, block);
        if (!root)
            return;
        reduction = block;
        block = root;
    }
    uint32_t n = gpu_own_loops(s, block, l), spatial = 0;
    if (attempt <= FUSED && may_reorder(block)) {
        spatial = gpu_spatial_first(block, l, n);
        if (spatial && n > 1)
            (void)tnk_reorder(s, l, n);
    } else {
        while (spatial < n && !tnk_loop_reduces(l[spatial], block))
            spatial++;
    }
    if (spatial == 0 || attempt == SERIAL) {
        one_thread(s, block);
        return;
    }
    tnk_item *f = attempt <= FUSED ? gpu_fuse(s, l, spatial) : l[0], *part[2];
    if (!f)
        return;
    int64_t threads = tnk_loop_extent(f, &e) && e >= 1 && e < limit ? e : limit;
    if (!gpu_bind_grid(s, f, threads, part))
        return;
    if (reduction) {
        if (!gpu_into(s, reduction, "local", part[1]))
            return;
        block = reduction;
    }
    n = gpu_own_loops(s, block, l);
    for (uint32_t i = 0; i < n && tnk_item_block(block)->init; i++)
        if (tnk_loop_reduces(l[i], block)) {
            (void)tnk_decompose_reduction(s, block, l[i]);
            break;
        }
}

static void
bind_all(tnk_sch *s, const gpu_target *t, int attempt)
{
    tnk_item *blocks[GPU_MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(s, blocks, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS && tnk_sch_ok(s); i++)
        if (!gpu_is_bound(s, blocks[i]))
            bind_block(s, t, blocks[i], attempt);
}

const tn_node *
gpu_finish_rest(tnk_sch *s, const gpu_target *t)
{
    bind_all(s, t, TILED);
    return tnk_sch_finish(s);
}

/* All of the function in a kernel of one thread; a function that has threads stays. */
static const tn_node *
by_one_thread(tn_ctx *ctx, const tn_prim_func *f)
{
    if (gpu_has_threads(f->body))
        return TN_NODE(f);
    static const char *const tags[] = {"threadIdx.x", "blockIdx.x"};
    const tn_block_realize *br = tn_as_block_realize(f->body);
    const tn_block *root = br ? tn_as_block(br->block) : NULL;
    bool wrapped = root && root->iters.n == 0 && !root->init && root->match_buffers.n == 0;
    const tn_stmt *body = wrapped ? root->body : f->body;
    for (int i = 0; i < 2; i++) {
        const tn_expr *v = tn_var_dtype(ctx, i ? "bx" : "tx", TNB_I32);
        body = tn_for_of(ctx, v, tn_int_imm_of(ctx, TNB_I32, 0), tn_int_imm_of(ctx, TNB_I32, 1),
                         TN_FOR_THREAD_BINDING, tags[i], NULL, body);
    }
    if (wrapped) {
        tn_block b = *root;
        b.body = body;
        body = tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &b));
    }
    const tn_node *out = tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, f->attrs);
    return tn_is_error(out) ? NULL : out;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    gpu_target t;
    if (!gpu_target_of(ctx, target, &t))
        return NULL;
    prim_func = gpu_within_each(ctx, prim_func, target, apply);
    for (int attempt = VECTORS; prim_func && attempt < ATTEMPTS; attempt++) {
        tnk_sch *s = tnk_sch_new(ctx, prim_func);
        tnk_item *all[GPU_MAX_BLOCKS];
        if (!s || tnk_sch_blocks(s, all, GPU_MAX_BLOCKS) > GPU_MAX_BLOCKS)
            break;
        tnk_sch_quiet(s);
        gpu_inline(s, false);
        bind_all(s, &t, attempt);
        const tn_node *f = tnk_sch_finish(s);
        if (f)
            return f;
    }
    return prim_func ? by_one_thread(ctx, tn_as_prim_func(prim_func)) : NULL;
}

const tnk_rule tnk_rule_gpu_fallback = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.Fallback",
    .base.doc =
        "A kernel for each block, a thread for each element of its result; takes any function.",
    .apply = apply,
    .attrs = gpu_attrs,
};
