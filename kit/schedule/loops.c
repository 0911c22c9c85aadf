/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives on loops: split, fuse, reorder, kinds, annotations. */
#include "schedule_private.h"

typedef struct check {
    const tnk_item *loop;
    const tnk_item *bad;
    const char *why;
} check;

static tnk_item *
loop_new(tnk_sch *s, const tnk_item *like, const char *suffix, const tn_expr *extent)
{
    tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
    tnb_dtype d = tn_dtype_of(extent);
    l->loc = like->loc;
    l->var = tn_var_dtype(s->ctx, tn_strf(s->ctx, "%s_%s", tn_var_name(like->var), suffix), d);
    l->min = tn_int_imm_of(s->ctx, d, 0);
    l->extent = extent;
    l->thread_tag = like->thread_tag;
    return l;
}

void
tnk_item_guard(tnk_sch *s, tnk_item *i, const tn_expr *cond)
{
    if (i->kind == TNK_ITEM_BLOCK)
        i->predicate =
            tn_is_int_const(i->predicate, 1) ? cond : tn_and_of(s->ctx, i->predicate, cond);
    for (uint32_t k = 0; k < i->children.n; k++)
        tnk_item_guard(s, i->children.at[k], cond);
}

/* Replaces `loop` by `outer` around `inner`, its variable by `value`. */
static void
put_split(tnk_sch *s, tnk_item *loop, tnk_item *outer, tnk_item *inner, const tn_expr *value)
{
    for (uint32_t k = 0; k < loop->children.n; k++)
        tnk_item_subst(s, loop->children.at[k], loop->var, value);
    tnk_item_replace(loop, outer);
    inner->children = loop->children;
    for (uint32_t k = 0; k < inner->children.n; k++)
        inner->children.at[k]->parent = inner;
    tnk_item_insert(s, outer, 0, inner);
}

bool
tnk_split(tnk_sch *s, tnk_item *loop, int64_t factor, tnk_item *out[2])
{
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    if (factor <= 0)
        return tnk_sch_fail(s, loop, "split", "the factor %lld is not positive", (long long)factor);
    if (loop->annotations || loop->for_kind == TN_FOR_THREAD_BINDING)
        return tnk_sch_fail(s, loop, "split", "the loop is annotated or bound to a thread");
    if (loop->for_kind == TN_FOR_VECTORIZED)
        return tnk_sch_fail(s, loop, "split", "the loop is vectorized");
    const char *ref = tnk_ref(s, loop);
    tnb_dtype d = tn_dtype_of(loop->var);
    const tn_expr *f = tn_int_imm_of(ctx, d, factor);
    tn_arith *a = tnk_sch_arith(s, loop);
    const tn_expr *turns = tn_simplify(a, tn_ceildiv(ctx, loop->extent, f));
    tnk_item *outer = loop_new(s, loop, "0", turns), *inner = loop_new(s, loop, "1", f);
    const tn_expr *at = tn_add(ctx, tn_mul(ctx, outer->var, f), inner->var);
    bool exact = tn_prove_eq(a, tn_mul(ctx, turns, f), loop->extent);
    if (!exact)
        for (uint32_t k = 0; k < loop->children.n; k++)
            tnk_item_guard(s, loop->children.at[k], tn_lt_of(ctx, at, loop->extent));
    outer->for_kind = inner->for_kind = loop->for_kind;
    put_split(s, loop, outer, inner, tn_add(ctx, loop->min, at));
    out[0] = outer;
    out[1] = inner;
    tnk_sch_note(s, "split(%s, %lld)", ref, (long long)factor);
    return true;
}

/* Iterator i of the block is a scan over loops around `top` only: within `top` it stands still. */
static bool
scans_outside(const tnk_item *b, uint32_t i, const tnk_item *top)
{
    if (tn_as_iter_var(b->block->iters.at[i])->iter_kind != TN_ITER_SCAN)
        return false;
    for (const tnk_item *p = b->parent; p; p = p->parent) {
        if (p->kind == TNK_ITEM_LOOP && tn_uses(b->values[i], p->var))
            return false;
        if (p == top)
            break;
    }
    return true;
}

static void
repeatable(tnk_item *b, void *user)
{
    check *c = user;
    if (c->bad)
        return;
    const tn_block *blk = b->block;
    bool ok = !blk->init;
    for (uint32_t i = 0; i < blk->iters.n; i++)
        ok &= tn_as_iter_var(blk->iters.at[i])->iter_kind == TN_ITER_SPATIAL ||
              scans_outside(b, i, c->loop);
    for (uint32_t w = 0; w < blk->writes.n; w++)
        for (uint32_t r = 0; r < blk->reads.n; r++)
            ok &= tn_as_buffer_region(blk->writes.at[w])->buffer !=
                  tn_as_buffer_region(blk->reads.at[r])->buffer;
    if (!ok)
        c->bad = b;
}

/* The last turn begins at extent - factor. */
static bool
overlap(tnk_sch *s, tnk_item *loop, int64_t factor, tnk_item *out[2], const char *primitive)
{
    tn_ctx *ctx = s->ctx;
    check c = {.loop = loop};
    tnk_each_block(loop, repeatable, &c);
    if (c.bad || loop->annotations || loop->for_kind != TN_FOR_SERIAL)
        return tnk_sch_fail(s, loop, primitive, "%s%s cannot be computed twice",
                            c.bad ? "block " : "the loop", c.bad ? tnk_item_name(c.bad) : "");
    const char *ref = tnk_ref(s, loop);
    tnb_dtype d = tn_dtype_of(loop->var);
    const tn_expr *f = tn_int_imm_of(ctx, d, factor);
    const tn_expr *turns = tn_simplify(tnk_sch_arith(s, loop), tn_ceildiv(ctx, loop->extent, f));
    tnk_item *outer = loop_new(s, loop, "0", turns), *inner = loop_new(s, loop, "1", f);
    const tn_expr *start = tn_min(ctx, tn_mul(ctx, outer->var, f), tn_sub(ctx, loop->extent, f));
    put_split(s, loop, outer, inner, tn_add(ctx, loop->min, tn_add(ctx, start, inner->var)));
    out[0] = outer;
    out[1] = inner;
    tnk_sch_note(s, "%s(%s, %lld)", primitive, ref, (long long)factor);
    return true;
}

bool
tnk_split_overlap(tnk_sch *s, tnk_item *loop, int64_t factor, tnk_item *out[2])
{
    int64_t n;
    if (s->broken)
        return false;
    if (!tn_int_value(loop->extent, &n) || factor <= 0 || factor > n)
        return tnk_sch_fail(s, loop, "split_overlap",
                            "the factor %lld does not fit into a constant extent",
                            (long long)factor);
    if (n % factor == 0)
        return tnk_split(s, loop, factor, out);
    return overlap(s, loop, factor, out, "split_overlap");
}

bool
tnk_split_overlap_unproved(tnk_sch *s, tnk_item *loop, int64_t factor, tnk_item *out[2])
{
    int64_t n;
    if (s->broken)
        return false;
    if (tn_int_value(loop->extent, &n) || factor <= 0)
        return tnk_sch_fail(s, loop, "split_overlap_unproved",
                            "the extent is constant, or the factor %lld not positive",
                            (long long)factor);
    return overlap(s, loop, factor, out, "split_overlap_unproved");
}

tnk_item *
tnk_fuse(tnk_sch *s, tnk_item *outer, tnk_item *inner)
{
    if (s->broken)
        return NULL;
    tn_ctx *ctx = s->ctx;
    if (inner->parent != outer || outer->children.n != 1) {
        tnk_sch_fail(s, outer, "fuse", "'%s' is not the only thing in it", tn_var_name(inner->var));
        return NULL;
    }
    if (tn_uses(inner->extent, outer->var) || tn_uses(inner->min, outer->var) ||
        outer->annotations || inner->annotations || outer->for_kind != inner->for_kind ||
        outer->for_kind == TN_FOR_THREAD_BINDING) {
        tnk_sch_fail(s, outer, "fuse", "the loops depend on each other or are marked differently");
        return NULL;
    }
    const char *ref = tnk_ref_loops(s, (tnk_item *[]){outer, inner}, 2);
    tnb_dtype od = tn_dtype_of(outer->var), id = tn_dtype_of(inner->var),
              d = id.bits > od.bits ? id : od; /* of loops that count in int32 and int64: int64 */
    const tn_expr *turns = tn_cast_to(ctx, d, inner->extent);
    const tn_expr *extent =
        tn_simplify(tnk_sch_arith(s, outer), tn_mul(ctx, tn_cast_to(ctx, d, outer->extent), turns));
    tnk_item *f = loop_new(s, outer, tn_var_name(inner->var), extent);
    f->for_kind = outer->for_kind;
    /* a loop without turns: the variables may have any value */
    const tn_expr *by = tn_is_int_const(turns, 0) ? tn_int_imm_of(ctx, d, 1) : turns;
    const tn_expr *vo = tn_int_imm_of(ctx, d, 0), *vi = f->var;
    /* `x // n` is not seen to be 0 once the loop is split */
    if (!tn_is_int_const(outer->extent, 1) || tn_is(turns, TN_KIND_INT_IMM)) {
        vo = tn_floordiv(ctx, f->var, by);
        vi = tn_floormod(ctx, f->var, by);
    }
    vo = tn_add(ctx, outer->min, tn_cast_to(ctx, od, vo));
    vi = tn_add(ctx, inner->min, tn_cast_to(ctx, id, vi));
    for (uint32_t k = 0; k < inner->children.n; k++) {
        tnk_item_subst(s, inner->children.at[k], outer->var, vo);
        tnk_item_subst(s, inner->children.at[k], inner->var, vi);
    }
    tnk_item_replace(outer, f);
    f->children = inner->children;
    for (uint32_t k = 0; k < f->children.n; k++)
        f->children.at[k]->parent = f;
    tnk_sch_note(s, "fuse(%s)", ref);
    return f;
}

/* The loops of a scan stay in order: it is one block's, which nothing else stands beside. */
typedef struct scans {
    check c;
    tnk_item *bottom;
    const tnk_item *block; /* that scans */
    uint32_t blocks;
} scans;

/* Whether a loop counts through elements and their parts at once. The init runs where the reducing
 * iterators begin, which has to stay the first turn of each element. */
static bool
counts_both(const tnk_item *b, const tnk_item *top)
{
    for (const tnk_item *p = b->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent) {
        bool spatial = false, reduce = false;
        for (uint32_t i = 0; i < b->block->iters.n; i++) {
            bool is_spatial = tn_as_iter_var(b->block->iters.at[i])->iter_kind == TN_ITER_SPATIAL;
            bool uses = tn_uses(b->values[i], p->var);
            spatial |= uses && is_spatial;
            reduce |= uses && !is_spatial;
        }
        if (spatial && reduce)
            return true;
        if (p == top)
            break;
    }
    return false;
}

static void
plain_iterators(tnk_item *b, void *user)
{
    scans *c = user;
    c->blocks++;
    for (uint32_t i = 0; i < b->block->iters.n; i++) {
        int64_t k = tn_as_iter_var(b->block->iters.at[i])->iter_kind;
        if (k == TN_ITER_SPATIAL || k == TN_ITER_REDUCE || scans_outside(b, i, c->c.loop))
            continue;
        if (k == TN_ITER_SCAN && b->parent == c->bottom)
            c->block = b;
        else
            c->c.bad = b;
    }
    if (b->block->iters.n == 0 || (b->block->init && counts_both(b, c->c.loop)))
        c->c.bad = b;
}

/* Loops that the block does more than scan or compute independent results over do not pass each other. */
static bool
keeps_order(const tnk_item *block, const tnk_items *chain, const tnk_items *order)
{
    uint32_t next = 0; /* of the chain from its outermost loop, which is its last */
    for (uint32_t i = 0; i < order->n; i++) {
        if (!tnk_loop_reduces(order->at[i], block))
            continue;
        while (next < chain->n && !tnk_loop_reduces(chain->at[chain->n - 1 - next], block))
            next++;
        if (next == chain->n || chain->at[chain->n - 1 - next] != order->at[i])
            return false;
        next++;
    }
    return true;
}

bool
tnk_reorder(tnk_sch *s, tnk_item *const *loops, uint32_t n)
{
    if (s->broken || n < 2)
        return !s->broken;
    /* the outermost and the innermost of them in the tree */
    tnk_item *top = loops[0], *bottom = loops[0];
    for (uint32_t i = 1; i < n; i++) {
        if (tnk_item_contains(loops[i], top))
            top = loops[i];
        if (tnk_item_contains(bottom, loops[i]))
            bottom = loops[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (!tnk_item_contains(top, loops[i]) || !tnk_item_contains(loops[i], bottom))
            return tnk_sch_fail(s, loops[i], "reorder", "the loops are not one inside the other");
    tnk_items chain = {0};
    for (tnk_item *p = bottom;; p = p->parent) {
        TNB_PUSH(tn_scratch(s->ctx), chain, p);
        if (p != bottom && p->children.n != 1)
            return tnk_sch_fail(s, p, "reorder", "it holds more than one thing");
        if (p == top)
            break;
    }
    scans c = {.c = {.loop = top}, .bottom = bottom};
    tnk_each_block(top, plain_iterators, &c);
    if (c.block && c.blocks > 1)
        c.c.bad = c.block;
    if (c.c.bad)
        return tnk_sch_fail(s, top, "reorder", "block '%s' depends on the order of its iterations",
                            tnk_item_name(c.c.bad));
    /* new order, outermost first */
    tnk_items order = {0};
    uint32_t next = 0;
    for (uint32_t i = chain.n; i-- > 0;) {
        bool moved = false;
        for (uint32_t k = 0; k < n; k++)
            moved |= chain.at[i] == loops[k];
        TNB_PUSH(tn_scratch(s->ctx), order, moved ? loops[next++] : chain.at[i]);
    }
    for (uint32_t i = 0; i < order.n; i++)
        for (uint32_t k = i; k < order.n; k++)
            if (tn_uses(order.at[i]->extent, order.at[k]->var) ||
                tn_uses(order.at[i]->min, order.at[k]->var))
                return tnk_sch_fail(s, order.at[i], "reorder",
                                    "its bounds depend on '%s', which would come after it",
                                    tn_var_name(order.at[k]->var));
    if (c.block && !keeps_order(c.block, &chain, &order))
        return tnk_sch_fail(s, top, "reorder", "block '%s' depends on the order of its iterations",
                            tnk_item_name(c.block));
    tnk_sch_note(s, "reorder(%s)", tnk_ref_loops(s, loops, n));
    tnk_items inside = bottom->children;
    tnk_item *parent = top->parent;
    uint32_t at = tnk_item_index(top);
    for (uint32_t i = 0; i < order.n; i++) {
        tnk_item *l = order.at[i];
        l->children = (tnk_items){0};
        if (i == 0) {
            parent->children.at[at] = l;
            l->parent = parent;
        } else {
            tnk_item_insert(s, order.at[i - 1], 0, l);
        }
    }
    tnk_item *last = order.at[order.n - 1];
    last->children = inside;
    for (uint32_t k = 0; k < inside.n; k++)
        inside.at[k]->parent = last;
    return true;
}

static void
independent(tnk_item *b, void *user)
{
    check *c = user;
    if (c->bad)
        return;
    bool bound = false;
    for (uint32_t i = 0; i < b->block->iters.n; i++) {
        bool spatial = tn_as_iter_var(b->block->iters.at[i])->iter_kind == TN_ITER_SPATIAL;
        bool uses = tn_uses(b->values[i], c->loop->var);
        bound |= uses;
        if (uses && !spatial) {
            c->bad = b;
            c->why = "carries results from one iteration to the next";
        }
    }
    if (!bound && !tn_uses(b->predicate, c->loop->var)) {
        int64_t n;
        if (!tn_int_value(c->loop->extent, &n) || n != 1) {
            c->bad = b;
            c->why = "does the same in every iteration";
        }
    }
}

bool
tnk_set_kind(tnk_sch *s, tnk_item *loop, tn_for_kind kind)
{
    static const char *const names[] = {"serial", "parallel", "vectorize", "unroll", "bind"};
    if (s->broken)
        return false;
    int64_t n;
    if (kind == TN_FOR_THREAD_BINDING)
        return tnk_sch_fail(s, loop, names[kind], "threads are bound by tnk_bind");
    if (kind == TN_FOR_PARALLEL || kind == TN_FOR_VECTORIZED) {
        check c = {.loop = loop};
        tnk_each_block(loop, independent, &c);
        if (c.bad)
            return tnk_sch_fail(s, loop, names[kind], "block '%s' %s", tnk_item_name(c.bad), c.why);
    }
    if ((kind == TN_FOR_VECTORIZED || kind == TN_FOR_UNROLLED) && !tn_int_value(loop->extent, &n))
        return tnk_sch_fail(s, loop, names[kind], "its extent is not constant");
    loop->for_kind = kind;
    loop->thread_tag = NULL;
    tnk_sch_note(s, "%s(%s)", names[kind], tnk_ref(s, loop));
    return true;
}

bool
tnk_annotate(tnk_sch *s, tnk_item *loop, const char *key, const tn_node *value)
{
    if (s->broken)
        return false;
    loop->annotations = tn_dict_set(s->ctx, loop->annotations, key, value);
    tnk_sch_note(s, "annotate(%s, %s, %s)", tnk_ref(s, loop),
                 tnk_ref_value(s, tn_string(s->ctx, key)), tnk_ref_value(s, value));
    return true;
}

tnk_item *
tnk_add_unit_loop(tnk_sch *s, tnk_item *block)
{
    if (s->broken)
        return NULL;
    tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
    l->loc = block->loc;
    l->var = tn_var_dtype(s->ctx, "u", TNB_I64);
    l->min = tn_i64(s->ctx, 0);
    l->extent = tn_i64(s->ctx, 1);
    tnk_item_replace(block, l);
    tnk_item_insert(s, l, 0, block);
    tnk_sch_note(s, "add_unit_loop(%s)", tnk_ref(s, block));
    return l;
}
