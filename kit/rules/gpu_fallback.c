/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.Fallback: takes every function, symbolic shapes included.
 *
 *     for i, j: B[i, j] = A[i, j] * 2               for b in blockIdx.x: for t in threadIdx.x:
 *     for i, j, k: C[i, j] += B[i, k] ...     =>        C_local = 0
 *                                                       for k: C_local += A[i, k] * 2 ...
 *                                                       C[i, j] = C_local
 *
 * Cheap element-wise blocks are inlined. Every other block becomes a kernel: one thread computes one element of its result,
 * and reduces by itself into a register. Loops that several blocks share, and iterations that depend on their order, stay
 * serial around the kernels. A function that is not in block form is run by one thread.
 */
#include "gpu.h"

enum {
    TILED,  /* as above */
    FUSED,  /* reductions accumulate in memory */
    OUTER,  /* the outermost spatial loop alone is bound */
    SERIAL, /* one thread runs each block */
    ATTEMPTS,
    USUAL_THREADS = 256
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

static void
bind_block(tnk_sch *s, const gpu_target *t, tnk_item *block, int attempt)
{
    tnk_item *l[GPU_MAX_LOOPS], *reduction = NULL;
    if (attempt == TILED && fits_register(block)) {
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
    int64_t e, limit = t->threads < USUAL_THREADS ? t->threads : USUAL_THREADS;
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
    for (int attempt = TILED; prim_func && attempt < ATTEMPTS; attempt++) {
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
