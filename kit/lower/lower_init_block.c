/* SPDX-License-Identifier: Apache-2.0 */
/* LowerInitBlock: the init of a reduction block becomes a guarded first statement of its body.
 *
 *     with T.init():                    if vk == 0:
 *         C[vi] = 0            =>           C[vi] = 0
 *     C[vi] = C[vi] + A[vi, vk]         C[vi] = C[vi] + A[vi, vk]
 *
 * Loops whose number of turns is not known may have none, and then the result is the initial value all the same: where nothing
 * but such a block stands in reducing loops, its init becomes a block before them.
 *
 * Needs: blocks. Keeps: values. Leaves: no block with an init.
 */
#include "lower.h"

enum { MOST = 16 };

/* A block with an init, and the nest of serial loops of which only its reduction iterators know. */
typedef struct nest {
    const tn_for_loop *loops[MOST];
    uint32_t n;
    const tn_block_realize *br;
    const tn_block *block;
    tnb_ptrmap start;   /* the loops' variables -> their first values */
    tnb_ptrmap *single; /* variables of loops of one turn anywhere -> their values */
} nest;

static bool
uses_loops(const nest *t, const tn_expr *e)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (tn_uses(e, t->loops[i]->var))
            return true;
    return false;
}

/* A reduction iterator that knows of no other loop of several turns, and begins when the nest does. */
static bool
begins_with(tn_ctx *ctx, nest *t, const tn_iter_var *iv, const tn_expr *value)
{
    value = tn_subst(ctx, value, t->single);
    tn_list vars = tn_free_vars(ctx, value, false);
    for (uint32_t i = 0; i < vars.n; i++)
        if (!tnb_ptrmap_has(&t->start, vars.at[i]))
            return false;
    const tn_expr *first = tn_simplify(tn_arith_new(ctx), tn_subst(ctx, value, &t->start));
    int64_t a, b;
    return tn_int_value(first, &a) && tn_int_value(tn_as_range(iv->dom)->min, &b) && a == b;
}

/* A condition of the block's that the loops decide alone, which says how far its reductions go. */
static bool
is_of_reduction(tn_ctx *ctx, const nest *t, const tn_expr *cond)
{
    tn_list vars = tn_free_vars(ctx, tn_subst(ctx, cond, t->single), false);
    for (uint32_t k = 0; k < t->block->iters.n; k++)
        for (uint32_t i = 0; i < vars.n; i++)
            if (tn_as_iter_var(t->block->iters.at[k])->iter_kind != TN_ITER_REDUCE &&
                tn_uses(t->br->values.at[k], vars.at[i]))
                return false;
    return true;
}

/* The block behind loops that may have no turns, the outermost of which is f. */
static bool
find_nest(tn_ctx *ctx, const tn_for_loop *f, tnb_ptrmap *single, nest *t)
{
    const tn_stmt *s = TN_NODE(f);
    bool unknown = false;
    int64_t e = 1;
    *t = (nest){.single = single};
    tnb_ptrmap_init(&t->start, tn_scratch(ctx));
    for (; f; f = tn_as_for_loop(s)) {
        if (t->n == MOST || (f->for_kind != TN_FOR_SERIAL && f->for_kind != TN_FOR_UNROLLED))
            return false;
        unknown |= !tn_int_value(f->extent, &e) || e == 0;
        tnb_ptrmap_set(&t->start, f->var, f->min);
        t->loops[t->n++] = f;
        s = f->body;
    }
    t->br = tn_as_block_realize(s);
    t->block = t->br ? tn_as_block(t->br->block) : NULL;
    const tn_block *b = t->block;
    if (!unknown || !b || !b->init || b->allocs.n || b->match_buffers.n ||
        b->iters.n != t->br->values.n)
        return false;
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        if (iv->iter_kind == TN_ITER_REDUCE ? !begins_with(ctx, t, iv, t->br->values.at[i])
                                            : uses_loops(t, t->br->values.at[i]))
            return false;
    }
    return true;
}

/* The init as a block before the nest; NULL: a condition is of the reduction and of more. */
static const tn_stmt *
init_before(tn_ctx *ctx, const nest *t)
{
    const tn_block *b = t->block;
    const tn_expr *predicate = NULL, *rest = t->br->predicate;
    while (rest) {
        const tn_expr *one = tn_is(rest, TN_KIND_AND) ? tn_as_binary(rest)->b : rest;
        rest = tn_is(rest, TN_KIND_AND) ? tn_as_binary(rest)->a : NULL;
        if (!uses_loops(t, one))
            predicate = predicate ? tn_and_of(ctx, one, predicate) : one;
        else if (!is_of_reduction(ctx, t, one))
            return NULL;
    }
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    tn_list iters = {0}, values = {0}, writes = {0};
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        if (iv->iter_kind == TN_ITER_REDUCE) {
            tnb_ptrmap_set(&map, iv->var, tn_as_range(iv->dom)->min);
            continue;
        }
        const tn_expr *v =
            tn_var_dtype(ctx, tn_strf(ctx, "%s_init", tn_var_name(iv->var)), tn_dtype_of(iv->var));
        tnb_ptrmap_set(&map, iv->var, v);
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, iv->dom, v, iv->iter_kind, iv->thread_tag));
        values = tn_list_append(ctx, values, t->br->values.at[i]);
    }
    for (uint32_t i = 0; i < b->writes.n; i++)
        writes = tn_list_append(ctx, writes, tn_subst(ctx, b->writes.at[i], &map));
    tn_block fields = {.name = tn_strf(ctx, "%s_init", b->name),
                       .iters = iters,
                       .writes = writes,
                       .body = tn_subst(ctx, b->init, &map),
                       .annotations = tn_dict_of(ctx, NULL, NULL, 0)};
    return tn_block_realize_of(ctx, values, predicate ? predicate : tn_bool(ctx, true),
                               tn_block_of(ctx, &fields));
}

static const tn_node *
lower_before(tn_rewriter *r, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    tn_ctx *ctx = r->ctx;
    tnb_ptrmap *single = r->user;
    nest t;
    const tn_stmt *init = f && find_nest(ctx, f, single, &t) ? init_before(ctx, &t) : NULL;
    if (f && tn_is_int_const(f->extent, 1))
        tnb_ptrmap_set(single, f->var, f->min);
    if (!init)
        return NULL;
    tn_block rest = *t.block;
    rest.init = NULL;
    for (uint32_t i = 0; i < rest.writes.n; i++) /* the init hid that it reads them */
        rest.reads = tn_list_append(ctx, rest.reads, rest.writes.at[i]);
    const tn_stmt *s =
        tn_block_realize_of(ctx, t.br->values, t.br->predicate, tn_block_of(ctx, &rest));
    for (uint32_t i = t.n; i-- > 0;)
        s = tnk_for_with(ctx, t.loops[i], t.loops[i]->min, t.loops[i]->extent, s);
    return tn_seqv(ctx, tn_rewrite_child(r, init), tn_rewrite_child(r, s), NULL);
}

static const tn_node *
lower(tn_rewriter *r, const tn_node *n)
{
    const tn_block *b = tn_as_block(n);
    if (!b || !b->init)
        return NULL;
    const tn_expr *first = NULL;
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        if (iv->iter_kind != TN_ITER_REDUCE)
            continue;
        const tn_expr *at_start = tn_eq_of(r->ctx, iv->var, tn_as_range(iv->dom)->min);
        first = first ? tn_and_of(r->ctx, first, at_start) : at_start;
    }
    tn_block copy = *b;
    const tn_stmt *init = first ? tn_if_stmt_of(r->ctx, first, b->init, NULL) : b->init;
    copy.init = NULL;
    copy.body = tn_seqv(r->ctx, init, b->body, NULL);
    return tn_block_of(r->ctx, &copy);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tnb_ptrmap single;
    tnb_ptrmap_init(&single, tn_scratch(ctx));
    tn_rewriter r = {.ctx = ctx, .user = &single, .pre = lower_before, .post = lower};
    return tn_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_lower_init_block = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerInitBlock",
    .base.doc = "Turns the init of reduction blocks into a guarded statement of the body.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
