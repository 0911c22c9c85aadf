/* SPDX-License-Identifier: Apache-2.0 */
/* reverse_compute_inline: what a block makes of its producer's result goes into the producer.
 *
 *     B[vi, vj] = A[vi, vj] * 2
 *     C[vj, vi] = B[vi, vj] + 1         =>      C[vj, vi] = A[vi, vj] * 2 + 1
 */
#include "schedule_private.h"

typedef struct plan {
    const tn_node *buffer; /* between producer and consumer */
    tnk_item *producer;
    const tn_buffer_load *load; /* the consumer's loads of it: all with the same indices */
    const tn_expr **inverse;    /* the consumer's iterators in terms of `element` */
    const tn_expr **element;    /* variables that stand for the indices of the buffer */
    const tn_expr *within;      /* NULL: every element is read; else which ones are */
    bool differ;
} plan;

typedef struct load_search {
    tn_ctx *ctx;
    plan *p;
} load_search;

static tn_walk_step
find_load(void *user, const tn_node *n)
{
    load_search *f = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer != f->p->buffer)
        return TN_WALK_ON;
    if (!f->p->load)
        f->p->load = l;
    for (uint32_t i = 0; i < l->indices.n; i++)
        f->p->differ |= !tn_equal(f->ctx, l->indices.at[i], f->p->load->indices.at[i], false, NULL);
    return TN_WALK_ON;
}

/* The one buffer that the block reads, is allocated here, and is written by one plain block. */
static const char *
find_producer(tnk_sch *s, const tnk_item *block, plan *p)
{
    tnk_item *all[256];
    uint32_t n = tnk_sch_blocks(s, all, 256);
    if (n > 256)
        return "the function has too many blocks";
    for (uint32_t r = 0; r < block->block->reads.n; r++) {
        const tn_node *buffer = tn_as_buffer_region(block->block->reads.at[r])->buffer;
        if (tnk_sch_is_param(s, buffer) || !tnk_sch_writer(s, buffer))
            continue;
        tnk_item *readers[4], *writer = NULL;
        if (tnk_sch_readers(s, buffer, readers, 4) != 1)
            continue;
        uint32_t writers = 0;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t w = 0; w < all[i]->block->writes.n; w++)
                if (tn_as_buffer_region(all[i]->block->writes.at[w])->buffer == buffer) {
                    writer = all[i];
                    writers++;
                }
        if (writers != 1 || !tnk_block_is_injective(writer))
            continue;
        if (p->buffer)
            return "it reads the results of several blocks that it could go into";
        p->buffer = buffer;
        p->producer = writer;
    }
    return p->buffer ? NULL
                     : "it is not the only reader of an allocated buffer that one block without "
                       "reduction writes";
}

/* Why the block cannot go into its producer; NULL if it can. */
static const char *
obstacle(tnk_sch *s, const tnk_item *block, plan *p)
{
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    if (!tnk_block_is_injective(block))
        return "it is not one store of a value without reduction";
    if (!tn_is_int_const(block->predicate, 1))
        return "it is guarded by a predicate";
    const char *why = find_producer(s, block, p);
    if (why)
        return why;
    load_search f = {ctx, p};
    tn_walk(b->body, 0, find_load, NULL, &f);
    if (!p->load || p->differ)
        return "it reads several elements of its producer's result at a time";
    uint32_t n = b->iters.n, rank = p->load->indices.n;
    const tn_expr **vars = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, n + 1);
    const tn_expr **extents = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, n + 1);
    p->element = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, rank + 1);
    p->inverse = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, n + 1);
    tn_arith *a = tn_arith_new(ctx);
    for (uint32_t k = 0; k < s->sizes.n; k++)
        tn_arith_shape_var(a, s->sizes.at[k]);
    const tn_expr *covered = tn_i64(ctx, 1), *whole = covered;
    for (uint32_t k = 0; k < n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        if (!tn_is_int_const(tn_as_range(iv->dom)->min, 0))
            return "its iterators do not begin at 0";
        vars[k] = iv->var;
        extents[k] = tn_as_range(iv->dom)->extent;
        covered = tn_mul(ctx, covered, tn_cast_to(ctx, TNB_I64, extents[k]));
    }
    for (uint32_t d = 0; d < rank; d++)
        p->element[d] =
            tn_var_dtype(ctx, tn_strf(ctx, "e%u", d), tn_dtype_of(p->load->indices.at[d]));
    bool plain;
    if (!tnk_index_inverse(s, p->load->indices.at, rank, vars, extents, n, p->element, p->inverse,
                           &plain))
        return "what it reads does not tell which element it computes";
    for (uint32_t d = 0; d < rank; d++)
        whole = tn_mul(ctx, whole, tn_cast_to(ctx, TNB_I64, tn_as_buffer(p->buffer)->shape.at[d]));
    if (tn_prove_eq(a, covered, whole))
        return NULL;
    if (!plain)
        return "it reads a part of its producer's result that is not a box";
    /* the rest of the elements has no reader: dimensions that the consumer does not run through */
    for (uint32_t k = 0; k < n; k++)
        if (!tn_is(p->inverse[k], TN_KIND_INT_IMM))
            p->within = tn_and(ctx, p->within, tn_lt_of(ctx, p->inverse[k], extents[k]));
    for (uint32_t d = 0; d < rank; d++) {
        const tn_expr *e = p->load->indices.at[d];
        for (uint32_t k = 0; k < n; k++)
            e = tn_is(p->inverse[k], TN_KIND_INT_IMM) ? tn_subst1(ctx, e, vars[k], p->inverse[k])
                                                      : e;
        e = tn_simplify(a, e);
        if (tn_is(e, TN_KIND_INT_IMM) && !tn_is_int_const(tn_as_buffer(p->buffer)->shape.at[d], 1))
            p->within = tn_and(ctx, p->within, tn_eq_of(ctx, p->element[d], e));
    }
    return NULL;
}

bool
tnk_can_reverse_inline(tnk_sch *s, tnk_item *block)
{
    plan p = {0};
    return !s->broken && !obstacle(s, block, &p);
}

typedef struct put {
    const plan *p;
    const tn_expr *value; /* the element that the producer computed */
} put;

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    const put *w = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    return l && l->buffer == w->p->buffer ? tn_fresh_copy(r->ctx, w->value, NULL) : NULL;
}

bool
tnk_reverse_compute_inline(tnk_sch *s, tnk_item *block)
{
    static const char me[] = "reverse_compute_inline";
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    plan p = {0};
    const char *why = obstacle(s, block, &p);
    if (why)
        return tnk_sch_fail(s, block, me, "%s", why);
    /* between the two nothing may touch what the block touches */
    tnk_item *all[256];
    uint32_t n = tnk_sch_blocks(s, all, 256);
    const tn_node *out = tnk_block_output(block);
    bool between = false;
    for (uint32_t i = 0; i < n && all[i] != block; i++) {
        const tn_block *x = all[i]->block;
        for (uint32_t k = 0; k < x->reads.n + x->writes.n; k++) {
            bool writes = k >= x->reads.n;
            const tn_node *touched =
                tn_as_buffer_region(writes ? x->writes.at[k - x->reads.n] : x->reads.at[k])->buffer;
            bool theirs = touched == out;
            for (uint32_t r = 0; r < block->block->reads.n && writes && all[i] != p.producer; r++)
                theirs |= touched == tn_as_buffer_region(block->block->reads.at[r])->buffer;
            /* a loop around the producer brings what stands before it after it as well */
            const tnk_item *nest = p.producer;
            while (nest->parent->kind == TNK_ITEM_LOOP)
                nest = nest->parent;
            if (theirs && (between || tnk_item_contains(nest, all[i])))
                return tnk_sch_fail(s, block, me,
                                    "block '%s' between it and its producer uses the same buffer",
                                    x->name);
        }
        between |= all[i] == p.producer;
    }
    const char *ref = tnk_ref(s, block);
    const tn_buffer_store *made = tnk_block_store(p.producer->block),
                          *st = tnk_block_store(block->block);
    tnb_ptrmap element, iters;
    tnb_ptrmap_init(&element, tn_scratch(ctx));
    tnb_ptrmap_init(&iters, tn_scratch(ctx));
    for (uint32_t d = 0; d < made->indices.n; d++)
        tnb_ptrmap_set(&element, p.element[d], made->indices.at[d]);
    for (uint32_t k = 0; k < block->block->iters.n; k++)
        tnb_ptrmap_set(&iters, tn_as_iter_var(block->block->iters.at[k])->var,
                       tn_subst(ctx, p.inverse[k], &element));
    put w = {&p, tn_cast_to(ctx, tn_as_buffer(p.buffer)->dtype, made->value)};
    tn_rewriter r = {.ctx = ctx, .user = &w, .post = replace};
    /* the load goes first: its indices are in the consumer's iterators, the value in the producer's */
    const tn_expr *value = tn_subst(ctx, st->value, &iters);
    value = tn_rewrite(&r, value);
    tn_list indices = st->indices;
    tn_arith *a = tn_arith_new(ctx);
    for (uint32_t k = 0; k < p.producer->block->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(p.producer->block->iters.at[k]);
        tn_arith_range(a, iv->var, tn_as_range(iv->dom)->min, tn_as_range(iv->dom)->extent);
    }
    for (uint32_t d = 0; d < indices.n; d++)
        indices =
            tn_list_with(ctx, indices, d, tn_simplify(a, tn_subst(ctx, st->indices.at[d], &iters)));
    if (p.within) {
        const tn_expr *cond = tn_simplify(a, tn_subst(ctx, p.within, &element));
        tnb_ptrmap values;
        tnb_ptrmap_init(&values, tn_scratch(ctx));
        for (uint32_t k = 0; k < p.producer->block->iters.n; k++)
            tnb_ptrmap_set(&values, tn_as_iter_var(p.producer->block->iters.at[k])->var,
                           p.producer->values[k]);
        cond = tn_subst(ctx, cond, &values);
        if (!tn_is_int_const(cond, 1))
            p.producer->predicate = tn_is_int_const(p.producer->predicate, 1)
                                        ? cond
                                        : tn_and_of(ctx, p.producer->predicate, cond);
    }
    tn_block fields = *p.producer->block;
    fields.body = tn_buffer_store_of(ctx, st->buffer, value, indices);
    tnk_block_set(s, p.producer, &fields);
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->allocs.n; i++)
        if (s->allocs.at[i] != p.buffer)
            s->allocs.at[k++] = s->allocs.at[i];
    s->allocs.n = k;
    tnk_item_remove(block);
    tnk_sch_note(s, "reverse_compute_inline(%s)", ref);
    return !s->broken;
}
