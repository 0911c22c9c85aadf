/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a parallel loop that accumulate in the same memory run one after another.
 *
 *     for i in T.parallel(ceil(n / 4)):                              for i in range(ceil(n / 4)):
 *         for j < 4: S[min(i * 4, n - 4) + j] = 0
 *         for k: for j < 4: S[min(i * 4, n - 4) + j] += ...    =>        (the same)
 *         for j < 4: C[min(i * 4, n - 4) + j] = S[...]
 *
 * Tiles that overlap compute some elements twice. That does no harm where a turn only stores values; an accumulator has to be the
 * turn's own, inside the loop. PlanAndUpdateBufferAllocationLocation puts it there if it can prove what the turn touches; where it
 * cannot, this is what keeps the result right. Turns that are blocks of a GPU cannot be made serial: an error.
 */
#include "lower.h"

typedef struct use {
    const tn_node *buffer;
    const tn_stmt *store; /* the first one */
    bool own, loads, several, accumulates, overlaps;
} use;

typedef struct uses {
    const tn_for_loop *loop;
    tnb_arena *arena;
    tnb_ptrmap of; /* buffer -> use */
} uses;

static use *
use_of(uses *u, const tn_node *buffer)
{
    use *x = tnb_ptrmap_get(&u->of, buffer);
    if (x)
        return x;
    x = TNB_NEW(u->arena, use);
    *x = (use){.buffer = buffer};
    tnb_ptrmap_set(&u->of, buffer, x);
    return x;
}

typedef struct clamp_search {
    const tn_expr *var;
    bool found;
} clamp_search;

static tn_walk_step
find_var(void *user, const tn_node *n)
{
    clamp_search *c = user;
    c->found |= n == c->var;
    return n->kind == TN_KIND_BUFFER_LOAD ? TN_WALK_SKIP : c->found ? TN_WALK_STOP : TN_WALK_ON;
}

/* A choice between places. One between elements that are read at such places is data, as an index of a scatter that wraps
 * around: whether turns meet there is for their schedule to know. */
static tn_walk_step
find_clamp(void *user, const tn_node *n)
{
    clamp_search *c = user;
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return TN_WALK_SKIP;
    if (n->kind == TN_KIND_MIN || n->kind == TN_KIND_MAX || n->kind == TN_KIND_SELECT ||
        tn_is_intrin(n, TN_INTRIN_if_then_else))
        tn_walk(n, 0, find_var, NULL, c);
    return c->found ? TN_WALK_STOP : TN_WALK_ON;
}

static tn_walk_step
collect(void *user, const tn_node *n)
{
    uses *u = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    if (n->kind == TN_KIND_ALLOC_BUFFER)
        use_of(u, ((const tn_alloc_buffer *)n)->buffer)->own = true;
    if (l)
        use_of(u, l->buffer)->loads = true;
    if (!st)
        return TN_WALK_ON;
    use *x = use_of(u, st->buffer);
    clamp_search c = {.var = u->loop->var};
    for (uint32_t i = 0; i < st->indices.n && !x->overlaps; i++)
        tn_walk(st->indices.at[i], 0, find_clamp, NULL, &c);
    x->overlaps |= c.found;
    x->several |= x->store != NULL;
    x->store = x->store ? x->store : n;
    x->accumulates |= tn_uses(st->value, st->buffer);
    return TN_WALK_ON;
}

static const tn_node *
post(tn_rewriter *r, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    bool is_block = false;
    int dim;
    if (!f || (f->for_kind != TN_FOR_PARALLEL && f->for_kind != TN_FOR_THREAD_BINDING))
        return NULL;
    if (f->for_kind == TN_FOR_THREAD_BINDING &&
        (!tnk_thread_tag(f->thread_tag, &is_block, &dim) || !is_block))
        return NULL;
    uses u = {.loop = f, .arena = tn_scratch(r->ctx)};
    tnb_ptrmap_init(&u.of, u.arena);
    tn_walk(f->body, 0, collect, NULL, &u);
    for (uint32_t i = 0; i < u.of.n; i++) {
        const use *x = u.of.at[i].value;
        const tn_buffer *b = tn_as_buffer(x->buffer);
        bool one_for_all = !is_block || !b->scope || !*b->scope || !strcmp(b->scope, "global");
        if (x->own || !x->loads || !x->overlaps || !(x->several || x->accumulates) || !one_for_all)
            continue;
        if (!is_block)
            return tn_for_of(r->ctx, f->var, f->min, f->extent, TN_FOR_SERIAL, NULL, f->annotations,
                             f->body);
        tn_error(r->ctx, x->store->loc ? x->store->loc : n->loc, TNB_INVALID,
                 "the iterations of the loop '%s', bound to %s, overlap and accumulate in '%s', "
                 "which is "
                 "one for all of them",
                 tn_var_name(f->var), f->thread_tag, b->name);
        tnb_diag_hint(tn_diags(r->ctx), "split without overlap, or accumulate in local memory");
        return tn_error_node(r->ctx);
    }
    return NULL;
}

const tn_stmt *
tnk_part_racing_turns(tn_ctx *ctx, const tn_stmt *body)
{
    tn_rewriter r = {.ctx = ctx, .post = post};
    return tn_rewrite(&r, body);
}
