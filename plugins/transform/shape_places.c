/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of extents go between the bindings of a sequence, in blocks of their own: a dataflow block becomes several, and what is used
 * across them is no dataflow variable any more. */
#include "shape_facts.h"
#include "transform.h"

#include "tenon/core/walk.h"

#include <stdlib.h>

/* By place; those of one place stay in the order in which they were found. */
static int
by_place(const void *a, const void *b)
{
    const shape_check *x = a, *y = b;
    return x->place != y->place ? (x->place < y->place ? -1 : 1)
                                : (x->number > y->number) - (x->number < y->number);
}

static void
put_block(tn_ctx *ctx, shape_bindings *bindings, bool dataflow, shape_bindings *blocks)
{
    if (bindings->n)
        TNB_PUSH(tn_scratch(ctx), *blocks,
                 tn_binding_block_of(ctx, tn_list_of(ctx, bindings->at, bindings->n), dataflow));
    bindings->n = 0;
}

const tn_expr *
shape_checks_placed(tn_ctx *ctx, const tn_seq_expr *seq, const shape_bindings *now,
                    shape_checks *checks, bool *split)
{
    shape_bindings blocks = {NULL, 0, 0}, bindings = {NULL, 0, 0}, own = {NULL, 0, 0};
    uint32_t at = 0, next = 0;
    if (checks->n)
        qsort(checks->at, checks->n, sizeof *checks->at, by_place);
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        bool dataflow = tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK);
        for (uint32_t i = 0; i < block->bindings.n; i++, at++) {
            for (; next < checks->n && checks->at[next].place == at; next++)
                TNB_PUSH(tn_scratch(ctx), own, checks->at[next].binding);
            if (own.n) {
                *split |= bindings.n && dataflow;
                put_block(ctx, &bindings, dataflow, &blocks);
                put_block(ctx, &own, false, &blocks);
            }
            TNB_PUSH(tn_scratch(ctx), bindings, now->at[at]);
        }
        put_block(ctx, &bindings, dataflow, &blocks);
    }
    return transform_sequence(ctx, tn_list_of(ctx, blocks.at, blocks.n), seq->body);
}

/* Dataflow variables that are used outside the block which binds them, now that blocks were split. */
typedef struct crossing {
    tn_ctx *ctx;
    const tn_node *block;
    tnb_ptrmap home, *renamed;
} crossing;

static tn_walk_step
find_crossings(void *user, const tn_node *n)
{
    crossing *c = user;
    const tn_expr *var = tn_is(n, TN_KIND_VAR_BINDING)  ? ((const tn_var_binding *)n)->var
                         : tn_is(n, TN_KIND_MATCH_CAST) ? ((const tn_match_cast *)n)->var
                                                        : NULL;
    if (tn_as_bindings_block(n))
        c->block = n;
    else if (tn_is(var, TN_KIND_DATAFLOW_VAR))
        tnb_ptrmap_set(&c->home, var, (void *)(uintptr_t)c->block);
    else if (tn_is(n, TN_KIND_DATAFLOW_VAR) && tnb_ptrmap_get(&c->home, n) != c->block &&
             !tnb_ptrmap_has(c->renamed, n))
        tnb_ptrmap_set(c->renamed, n,
                       (void *)(uintptr_t)tn_var_new(c->ctx, tn_var_name(n), n->type));
    return TN_WALK_ON;
}

const tn_node *
shape_join_blocks(tn_ctx *ctx, const tn_node *f)
{
    tnb_ptrmap renamed;
    tnb_ptrmap_init(&renamed, tn_scratch(ctx));
    crossing c = {.ctx = ctx, .renamed = &renamed};
    tnb_ptrmap_init(&c.home, tn_scratch(ctx));
    tn_walk(f, 0, find_crossings, NULL, &c);
    tn_rewriter r = {.ctx = ctx, .map = &renamed};
    return tn_rewrite(&r, f);
}
