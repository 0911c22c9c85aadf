/* SPDX-License-Identifier: Apache-2.0 */
/* decompose_reduction: the init of a reduction becomes a block of its own before a loop.
 *
 *     for i: for k:                          for i:
 *         with T.init(): C[i] = 0     =>         C[i] = 0
 *         C[i] += A[i, k]                        for k: C[i] += A[i, k]
 */
#include "schedule_private.h"

/* Whether iterators of the kind get their values from the loop. */
static bool
feeds(const tnk_item *loop, const tnk_item *block, tn_iter_kind kind)
{
    for (uint32_t i = 0; i < block->block->iters.n; i++)
        if (tn_as_iter_var(block->block->iters.at[i])->iter_kind == kind &&
            tn_uses(block->values[i], loop->var))
            return true;
    return false;
}

tnk_item *
tnk_decompose_reduction(tnk_sch *s, tnk_item *block, tnk_item *loop)
{
    if (s->broken)
        return NULL;
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    if (!b->init || !tnk_item_contains(loop, block)) {
        tnk_sch_fail(s, block, "decompose_reduction", "%s",
                     b->init ? "it is not in the loop" : "it has no init");
        return NULL;
    }
    for (const tnk_item *p = loop->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent)
        if (feeds(p, block, TN_ITER_REDUCE)) {
            tnk_sch_fail(s, block, "decompose_reduction",
                         "the loop '%s' around '%s' reduces too, so the init would run again",
                         tn_var_name(p->var), tn_var_name(loop->var));
            return NULL;
        }
    const char *ref = tnk_ref(s, block), *target = tnk_ref(s, loop);
    for (const tnk_item *p = block->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent)
        if (p->for_kind == TN_FOR_THREAD_BINDING && tnk_loop_reduces(p, block)) {
            tnk_sch_fail(s, block, "decompose_reduction",
                         "the threads of '%s' join their results, which sets them first",
                         tn_var_name(p->var));
            return NULL;
        }
    /* the spatial loops from `loop` inwards again, with variables of their own */
    tnk_item *path[64];
    uint32_t n = 0;
    for (tnk_item *p = block->parent; p; p = p->parent) {
        if (n < 64)
            path[n++] = p;
        if (p == loop)
            break;
    }
    tnk_item *top = NULL, *at = NULL;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = n; i-- > 0;) {
        if (path[i]->kind != TNK_ITEM_LOOP)
            continue;
        if (feeds(path[i], block, TN_ITER_SCAN)) {
            tnk_sch_fail(
                s, block, "decompose_reduction",
                "the loop '%s' goes in order, so the init of a step may need the one before",
                tn_var_name(path[i]->var));
            return NULL;
        }
        if (!feeds(path[i], block, TN_ITER_SPATIAL))
            continue;
        if (feeds(path[i], block, TN_ITER_REDUCE)) {
            tnk_sch_fail(s, block, "decompose_reduction",
                         "the loop '%s' is both spatial and reducing", tn_var_name(path[i]->var));
            return NULL;
        }
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
        l->loc = path[i]->loc;
        l->var = tn_var_dtype(ctx, tn_strf(ctx, "%s_init", tn_var_name(path[i]->var)),
                              tn_dtype_of(path[i]->var));
        l->min = tn_subst(ctx, path[i]->min, &map);
        l->extent = tn_subst(ctx, path[i]->extent, &map);
        l->for_kind = path[i]->for_kind;
        l->thread_tag = path[i]->thread_tag;
        tnb_ptrmap_set(&map, path[i]->var, l->var);
        if (at)
            tnk_item_insert(s, at, 0, l);
        else
            top = l;
        at = l;
    }
    tnk_item *init = tnk_item_new(s, TNK_ITEM_BLOCK, NULL);
    init->loc = block->loc;
    init->values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, b->iters.n + 1);
    tnb_ptrmap iters;
    tnb_ptrmap_init(&iters, tn_scratch(ctx));
    tn_list list = {0};
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        if (iv->iter_kind == TN_ITER_REDUCE)
            continue;
        const tn_expr *v =
            tn_var_dtype(ctx, tn_strf(ctx, "%s_init", tn_var_name(iv->var)), tn_dtype_of(iv->var));
        tnb_ptrmap_set(&iters, iv->var, v);
        init->values[list.n] = tn_subst(ctx, block->values[k], &map);
        list = tn_list_append(ctx, list, tn_iter_var_of(ctx, iv->dom, v, iv->iter_kind, NULL));
    }
    /* of the predicate, what does not depend on reducing loops */
    init->predicate = tn_bool(ctx, true);
    const tn_expr *rest = block->predicate;
    while (rest) {
        const tn_expr *one = tn_is(rest, TN_KIND_AND) ? tn_as_binary(rest)->b : rest;
        rest = tn_is(rest, TN_KIND_AND) ? tn_as_binary(rest)->a : NULL;
        bool gone = false, spatial = false; /* loops that the init is not in, and its own */
        for (uint32_t i = 0; i < n; i++) {
            bool uses = path[i]->kind == TNK_ITEM_LOOP && tn_uses(one, path[i]->var);
            gone |= uses && !tnb_ptrmap_get(&map, path[i]->var);
            spatial |= uses && tnb_ptrmap_get(&map, path[i]->var);
        }
        if (gone && spatial) {
            tnk_sch_fail(s, block, "decompose_reduction",
                         "its predicate has spatial and reducing loops in one condition");
            return NULL;
        }
        if (!gone && !tn_is_int_const(one, 1)) {
            const tn_expr *c = tn_subst(ctx, one, &map);
            init->predicate =
                tn_is_int_const(init->predicate, 1) ? c : tn_and_of(ctx, c, init->predicate);
        }
    }
    tn_block fields = {.name = tn_strf(ctx, "%s_init", b->name),
                       .iters = list,
                       .body = tn_subst(ctx, b->init, &iters)};
    tnk_block_set(s, init, &fields);
    if (at)
        tnk_item_insert(s, at, 0, init);
    else
        top = init;
    tnk_item_insert(s, loop->parent, tnk_item_index(loop), top);
    tn_block update = *b;
    update.init = NULL;
    update.name = tn_strf(ctx, "%s_update", b->name);
    for (uint32_t w = 0; w < b->writes.n; w++) /* the init hid that it reads them */
        update.reads = tn_list_append(ctx, update.reads, b->writes.at[w]);
    tnk_block_set(s, block, &update);
    tnk_sch_note(s, "decompose_reduction(%s, %s)", ref, target);
    return s->broken ? NULL : init;
}
