/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Finished: functions with a nest that was written as it should run, marked by the annotation cpu.finished of its block,
 * which stores each element of its result once. A block that reads the result element by element is computed where
 * the element is stored:
 *
 *     for ...: with T.sblock("winograd_result"): ... Y[n, c, h, w, l] = v       # cpu.finished
 *     for n, c, h, w, l: Z[n, c, h, w, l] = max(Y[n, c, h, w, l] + B[c, l], 0)
 *  => for ...: with T.sblock("winograd_result"): ... Z[n, c, h, w, l] = max(v + B[c, l], 0)
 */
#include "rules.h"

typedef struct finished {
    tn_ctx *ctx;
    tnk_sch *s;
    tnk_item *nest;
    const tn_node *made; /* what the nest stores */
    const tn_block *last;
    const tn_buffer_store *store; /* of `last` */
    const tn_expr *value;         /* while a store is rewritten: the element */
} finished;

static const tn_node *
value_for_load(tn_rewriter *r, const tn_node *n)
{
    const finished *f = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    return l && l->buffer == f->made ? f->value : NULL;
}

/* Stores to `made` become stores of what `last` computes. */
static const tn_node *
store_of_last(tn_rewriter *r, const tn_node *n)
{
    finished *f = r->user;
    const tn_buffer_store *st = tn_as_buffer_store(n);
    if (!st || st->buffer != f->made)
        return NULL;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(f->ctx));
    for (uint32_t i = 0; i < st->indices.n; i++)
        tnb_ptrmap_set(&map, f->store->indices.at[i], st->indices.at[i]);
    f->value = st->value;
    tn_rewriter inner = {.ctx = f->ctx, .user = f, .pre = value_for_load, .map = &map};
    return tn_buffer_store_of(f->ctx, f->store->buffer, tn_rewrite(&inner, f->store->value),
                              st->indices);
}

/* The nest's block with other stores has other regions. */
static const tn_node *
block_of_last(tn_rewriter *r, const tn_node *n)
{
    const tn_block *b = n->kind == TN_KIND_BLOCK ? tn_as_block(n) : NULL;
    finished *f = r->user;
    if (b != tnk_item_block(f->nest))
        return NULL;
    tn_rewriter inner = {.ctx = f->ctx, .user = f, .pre = store_of_last};
    tn_block with = *b;
    with.body = tn_rewrite(&inner, b->body);
    tn_block_regions(f->ctx, &with, &with.reads, &with.writes);
    return tn_block_of(f->ctx, &with);
}

/* Whether the block computes its elements, each at its iterators, from the nest's at the same place. */
static bool
is_last(finished *f, const tnk_item *block)
{
    if (!tnk_block_follows(f->s, block, f->made))
        return false;
    f->last = tnk_item_block(block);
    f->store = tn_as_buffer_store(f->last->body);
    for (uint32_t i = 0; i < f->store->indices.n; i++)
        if (!tn_is_var(f->store->indices.at[i]))
            return false;
    return f->last->iters.n == f->store->indices.n;
}

static bool
is_finished(const tnk_item *block)
{
    const tn_block *b = tnk_item_block(block);
    return b->annotations && tn_dict_get(b->annotations, CPU_FINISHED);
}

/* The nest alone, with the last block's stores. */
static const tn_node *
fused(finished *f)
{
    const tn_prim_func *p = tn_as_prim_func(tnk_sch_finish(f->s));
    const tn_block_realize *root = p ? tn_as_block_realize(p->body) : NULL;
    const tn_seq *parts = root ? tn_as_seq(tn_as_block(root->block)->body) : NULL;
    if (!parts || parts->stmts.n != 2)
        return NULL;
    tn_rewriter r = {.ctx = f->ctx, .user = f, .pre = block_of_last};
    tn_block all = {.name = "root", .body = tn_rewrite(&r, parts->stmts.at[0])};
    const tn_stmt *body =
        tn_block_realize_of(f->ctx, (tn_list){0}, tn_bool(f->ctx, true), tn_block_of(f->ctx, &all));
    const tn_node *g = tn_prim_func_of(f->ctx, p->params, p->buffers, body, p->ret, p->attrs);
    return tn_is_error(g) ? NULL : g;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    finished f = {.ctx = ctx};
    f.s = cpu_is_noalias(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    if (!f.s)
        return NULL;
    tnk_sch_quiet(f.s);
    tnk_item *blocks[CPU_MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(f.s, blocks, CPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < CPU_MAX_BLOCKS; i++)
        f.nest = is_finished(blocks[i]) ? blocks[i] : f.nest;
    if (!f.nest || tnk_item_block(f.nest)->writes.n != 1)
        return NULL;
    f.made = tn_as_buffer_region(tnk_item_block(f.nest)->writes.at[0])->buffer;
    cpu_inline_cheap(f.s, 0);
    n = tnk_sch_blocks(f.s, blocks, CPU_MAX_BLOCKS);
    if (n == 2 && blocks[0] == f.nest && !tnk_sch_is_param(f.s, f.made) && is_last(&f, blocks[1]))
        return fused(&f);
    return cpu_finish_rest(f.s, cpu_vector_bytes(ctx, target));
}

const tnk_rule cpu_rule_finished = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Finished",
    .base.doc =
        "Nests that were written as they should run, and what follows them element by element.",
    .apply = apply,
};
