/* SPDX-License-Identifier: Apache-2.0 */
/* bind: the turns of a loop become the threads or thread blocks of a GPU.
 *
 *     for i in range(8): B[i] = ...      =>      for i in thread_binding(8, "threadIdx.x"): B[i] = ...
 *
 * Loops of one kernel with the same tag stand for one index. Next to each other they have the same extent. One inside the
 * other only the diagonal of their turns runs, so nothing below may use the outer variable: that is how all threads together
 * fill memory that they share, from inside the threads' own loops.
 */
#include "schedule_private.h"
#include "tenon/kit/lower.h"

static const char *const tags[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z", "threadIdx.x",
                                   "threadIdx.y", "threadIdx.z", "vthread",    "vthread.x",
                                   "vthread.y",   "vthread.z"};

/* 0: seen by all; 1: by a thread block; 2: by a warp; 3: by a thread. */
static int
scope_rank(const char *scope)
{
    if (!scope || !*scope || !strncmp(scope, "global", 6))
        return 0;
    return !strncmp(scope, "shared", 6)                                   ? 1
           : !strncmp(scope, "warp", 4) || !strncmp(scope, "fragment", 8) ? 2
                                                                          : 3;
}

bool
tnk_scope_spans(const char *scope, const char *tag)
{
    int rank = scope_rank(scope);
    if (!tag || !*tag)
        return false;
    if (rank == 2)
        return !strcmp(tag, "threadIdx.x");
    return rank <= (strncmp(tag, "blockIdx", 8) ? 1 : 0);
}

typedef struct binding {
    tnk_sch *s;
    tnk_item *loop;
    const char *tag;
    const tnk_item *bad;
    const char *why;
} binding;

static bool
uses_var(const tnk_item *b, const tn_expr *var)
{
    bool uses = tn_uses(b->predicate, var);
    for (uint32_t i = 0; i < b->block->iters.n; i++)
        uses |= tn_uses(b->values[i], var);
    return uses || tn_uses(TN_NODE(b->block), var);
}

static tn_walk_step
find_clamp(void *user, const tn_node *n)
{
    return (n->kind == TN_KIND_MIN || n->kind == TN_KIND_MAX) && tn_uses(n, user) ? TN_WALK_STOP
                                                                                  : TN_WALK_ON;
}

/* Turns of a split with overlap compute some elements twice, each for itself: what they accumulate in
 * must not be one for all. */
static const char *
race(const binding *k, const tnk_item *b)
{
    const tn_block *blk = b->block;
    bool overlap = false;
    for (uint32_t i = 0; i < blk->iters.n; i++)
        overlap |= !tn_walk(b->values[i], 0, find_clamp, NULL, (void *)(uintptr_t)k->loop->var);
    for (uint32_t w = 0; w < blk->writes.n && overlap; w++) {
        const tn_buffer *out = tn_as_buffer(tn_as_buffer_region(blk->writes.at[w])->buffer);
        bool accumulates = blk->init != NULL;
        for (uint32_t r = 0; r < blk->reads.n; r++)
            accumulates |= tn_as_buffer(tn_as_buffer_region(blk->reads.at[r])->buffer) == out;
        if (accumulates && tnk_scope_spans(out->scope, k->tag))
            return tn_strf(
                k->s->ctx,
                "accumulates in '%s', which is one for all iterations, and these overlap",
                out->name);
    }
    return NULL;
}

static void
spread(tnk_item *b, void *user)
{
    binding *k = user;
    const tn_expr *var = k->loop->var;
    int64_t n;
    if (k->why || (tn_int_value(k->loop->extent, &n) && n == 1))
        return;
    bool over_threads = !strncmp(k->tag, "threadIdx", 9);
    k->why = race(k, b);
    if (k->why) {
        k->bad = b;
        return;
    }
    for (uint32_t i = 0; i < b->block->iters.n; i++) {
        int64_t kind = tn_as_iter_var(b->block->iters.at[i])->iter_kind;
        if (!tn_uses(b->values[i], var) || kind == TN_ITER_SPATIAL)
            continue;
        tnk_tuple_reducer several;
        k->bad = b;
        if (kind != TN_ITER_REDUCE)
            k->why = "carries results from one iteration to the next";
        else if (!over_threads)
            k->why = "reduces over it, and only threads of one block can join their results";
        else if (!b->block->init)
            k->why = "reduces over it, and its init is a block of its own (bind before "
                     "decompose_reduction)";
        else if (!tnk_block_reducer(k->s, b, NULL) &&
                 !tnk_tuple_reducer_of(k->s->ctx, b->block, &several))
            k->why =
                "reduces over it by something that threads cannot join (add, mul, min, max can be)";
        else
            k->bad = NULL;
        if (k->why)
            return;
    }
    if (uses_var(b, var))
        return;
    for (uint32_t w = 0; w < b->block->writes.n; w++)
        if (tnk_sch_is_param(k->s, tn_as_buffer_region(b->block->writes.at[w])->buffer)) {
            k->bad = b;
            k->why = "does the same in every iteration and writes a parameter of the function";
        }
}

/* Two loops of one kernel over the same index. */
static bool
agree(tnk_sch *s, tnk_item *a, tnk_item *b)
{
    tnk_item *outer = tnk_item_contains(a, b) ? a : tnk_item_contains(b, a) ? b : NULL;
    if (outer && outer->extent == (outer == a ? b : a)->extent)
        return true;
    /* the extents stand in different loops: neither may use variables of loops that the other lacks */
    return tn_prove_eq(tnk_sch_arith(s, outer ? outer : a), a->extent, b->extent);
}

typedef struct nested {
    const tnk_item *outer, *bad;
} nested;

static void
below_both(tnk_item *b, void *user)
{
    nested *n = user;
    if (uses_var(b, n->outer->var))
        n->bad = b;
}

/* Compares `k->loop` with every bound loop below `i`. */
static void
compare(binding *k, tnk_item *i)
{
    if (k->why)
        return;
    if (i != k->loop && i->kind == TNK_ITEM_LOOP && i->for_kind == TN_FOR_THREAD_BINDING &&
        !strcmp(i->thread_tag, k->tag)) {
        bool in = tnk_item_contains(k->loop, i), around = tnk_item_contains(i, k->loop);
        k->bad = i;
        if ((in || around) && strncmp(k->tag, "threadIdx", 9)) {
            k->why = "is around or in it and has the same tag";
            return;
        }
        if (!agree(k->s, k->loop, i)) {
            k->why = "is bound to the same index with another extent";
            return;
        }
        nested n = {.outer = in ? k->loop : i};
        if (in || around)
            tnk_each_block(in ? i : k->loop, below_both, &n);
        if (n.bad) {
            k->why = "is bound to the same index, and a block in both uses the outer one";
            return;
        }
        k->bad = NULL;
    }
    for (uint32_t c = 0; c < i->children.n; c++)
        compare(k, i->children.at[c]);
}

bool
tnk_bind(tnk_sch *s, tnk_item *loop, const char *tag)
{
    if (s->broken)
        return false;
    bool known = false;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        known |= !strcmp(tags[i], tag);
    if (!known)
        return tnk_sch_fail(s, loop, "bind",
                            "'%s' is no index of threads (blockIdx.x, threadIdx.x, vthread.x and "
                            "their y and z are)",
                            tag);
    if (loop->for_kind != TN_FOR_SERIAL)
        return tnk_sch_fail(s, loop, "bind", "it is %s already",
                            loop->for_kind == TN_FOR_THREAD_BINDING ? loop->thread_tag
                            : loop->for_kind == TN_FOR_VECTORIZED   ? "vectorized"
                            : loop->for_kind == TN_FOR_UNROLLED     ? "unrolled"
                                                                    : "parallel");
    if (!tn_is_int_const(loop->min, 0))
        return tnk_sch_fail(s, loop, "bind", "it does not begin at 0");
    int64_t n;
    if (!strncmp(tag, "vthread", 7) && !tn_int_value(loop->extent, &n))
        return tnk_sch_fail(s, loop, "bind", "the extent of a virtual thread has to be constant");
    for (const tnk_item *p = loop->parent; p; p = p->parent)
        if (p->kind == TNK_ITEM_LOOP && p->for_kind == TN_FOR_VECTORIZED)
            return tnk_sch_fail(s, loop, "bind", "the loop '%s' around it is vectorized",
                                tnk_item_name(p));
    binding k = {.s = s, .loop = loop, .tag = tag};
    tnk_each_block(loop, spread, &k);
    if (k.why)
        return tnk_sch_fail(s, loop, "bind", "block '%s' %s", tnk_item_name(k.bad), k.why);
    /* the kernel: everything in the outermost bound loop */
    tnk_item *kernel = loop;
    for (tnk_item *p = loop->parent; p; p = p->parent)
        if (p->kind == TNK_ITEM_LOOP && p->for_kind == TN_FOR_THREAD_BINDING)
            kernel = p;
    compare(&k, kernel);
    if (k.why)
        return tnk_sch_fail(s, loop, "bind", "the loop '%s' %s", tnk_item_name(k.bad), k.why);
    loop->for_kind = TN_FOR_THREAD_BINDING;
    loop->thread_tag = tn_str(s->ctx, tag);
    tnk_sch_note(s, "bind(%s, \"%s\")", tnk_ref(s, loop), tag);
    return true;
}
