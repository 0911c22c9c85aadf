/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a schedule: made from a function, made into one, looked at. */
#include "../lower/lower.h"
#include "schedule_private.h"

#include <stdio.h>

/* ---- helpers ---- */

bool
tnk_sch_fail(tnk_sch *s, const tnk_item *at, const char *primitive, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!s->broken && !s->quiet) {
        const char *what = at && at->kind == TNK_ITEM_BLOCK ? "block" : "loop";
        tn_error(s->ctx, at ? at->loc : 0, TNB_INVALID, "%s of %s '%s' is not legal: %s", primitive,
                 what, at ? tnk_item_name(at) : "?", text);
    }
    s->broken = true;
    return false;
}

tnk_item *
tnk_item_new(tnk_sch *s, tnk_item_kind kind, tnk_item *parent)
{
    tnk_item *i = TNB_NEW(tn_arena(s->ctx), tnk_item);
    i->kind = kind;
    i->parent = parent;
    return i;
}

uint32_t
tnk_item_index(const tnk_item *i)
{
    for (uint32_t k = 0; k < i->parent->children.n; k++)
        if (i->parent->children.at[k] == i)
            return k;
    return 0;
}

void
tnk_item_insert(tnk_sch *s, tnk_item *parent, uint32_t at, tnk_item *child)
{
    TNB_PUSH(tn_arena(s->ctx), parent->children, child);
    for (uint32_t k = parent->children.n - 1; k > at; k--)
        parent->children.at[k] = parent->children.at[k - 1];
    parent->children.at[at] = child;
    child->parent = parent;
}

void
tnk_item_remove(tnk_item *i)
{
    tnk_item *p = i->parent;
    uint32_t at = tnk_item_index(i);
    for (uint32_t k = at; k + 1 < p->children.n; k++)
        p->children.at[k] = p->children.at[k + 1];
    p->children.n--;
    i->parent = NULL;
    if (p->children.n == 0 && p->kind == TNK_ITEM_LOOP)
        tnk_item_remove(p);
}

void
tnk_item_replace(tnk_item *old, tnk_item *by)
{
    by->parent = old->parent;
    old->parent->children.at[tnk_item_index(old)] = by;
}

bool
tnk_item_contains(const tnk_item *ancestor, const tnk_item *i)
{
    for (; i; i = i->parent)
        if (i == ancestor)
            return true;
    return false;
}

void
tnk_each_block(tnk_item *i, void (*fn)(tnk_item *block, void *user), void *user)
{
    if (i->kind == TNK_ITEM_BLOCK)
        fn(i, user);
    for (uint32_t k = 0; k < i->children.n; k++)
        tnk_each_block(i->children.at[k], fn, user);
}

void
tnk_item_subst(tnk_sch *s, tnk_item *i, const tn_expr *var, const tn_expr *value)
{
    if (i->kind == TNK_ITEM_LOOP) {
        i->min = tn_subst1(s->ctx, i->min, var, value);
        i->extent = tn_subst1(s->ctx, i->extent, var, value);
    }
    if (i->kind == TNK_ITEM_BLOCK) {
        for (uint32_t k = 0; k < i->block->iters.n; k++)
            i->values[k] = tn_subst1(s->ctx, i->values[k], var, value);
        i->predicate = tn_subst1(s->ctx, i->predicate, var, value);
    }
    for (uint32_t k = 0; k < i->children.n; k++)
        tnk_item_subst(s, i->children.at[k], var, value);
}

tn_arith *
tnk_sch_arith(tnk_sch *s, const tnk_item *i)
{
    tn_arith *a = tn_arith_new(s->ctx);
    for (uint32_t k = 0; k < s->sizes.n; k++)
        tn_arith_shape_var(a, s->sizes.at[k]);
    for (const tnk_item *p = i->parent; p; p = p->parent)
        if (p->kind == TNK_ITEM_LOOP)
            tn_arith_range(a, p->var, p->min, p->extent);
    return a;
}

tn_arith *
tnk_sch_arith_in(tnk_sch *s, const tnk_item *i)
{
    tn_arith *a = tnk_sch_arith(s, i);
    if (i->kind == TNK_ITEM_LOOP)
        tn_arith_range(a, i->var, i->min, i->extent);
    return a;
}

const tn_buffer_store *
tnk_block_store(const tn_block *b)
{
    return tn_as_buffer_store(b->body);
}

/* ---- regions ---- */

typedef struct region_list {
    tn_ctx *ctx;
    TNB_VEC(const tn_node *) buffers;
    TNB_VEC(const tn_node *) regions;
    tnb_ptrmap local; /* variables bound inside of the block's body */
} region_list;

static bool
uses_local(region_list *r, const tn_expr *e)
{
    for (uint32_t i = 0; i < r->local.n; i++)
        if (r->local.at[i].key && tn_uses(e, r->local.at[i].key))
            return true;
    return false;
}

static tn_walk_step
find_locals(void *user, const tn_node *n)
{
    region_list *r = user;
    if (n->kind == TN_KIND_FOR)
        tnb_ptrmap_set(&r->local, ((const tn_for_loop *)n)->var, n);
    if (n->kind == TN_KIND_BIND)
        tnb_ptrmap_set(&r->local, ((const tn_bind *)n)->var, n);
    if (n->kind == TN_KIND_LET)
        tnb_ptrmap_set(&r->local, ((const tn_let *)n)->var, n);
    if (n->kind == TN_KIND_ITER_VAR)
        tnb_ptrmap_set(&r->local, ((const tn_iter_var *)n)->var, n);
    return TN_WALK_ON;
}

static void
add_access(region_list *r, const tn_node *buffer, tn_list idx)
{
    bool point = true;
    for (uint32_t i = 0; i < idx.n; i++)
        point &= tn_dtype_of(idx.at[i]).lanes == 1 && !uses_local(r, idx.at[i]);
    const tn_node *region =
        point ? tn_region_point(r->ctx, buffer, idx) : tn_region_full(r->ctx, buffer);
    for (uint32_t i = 0; i < r->buffers.n; i++) {
        if (r->buffers.at[i] != buffer)
            continue;
        if (!tn_equal(r->ctx, r->regions.at[i], region, false, NULL))
            r->regions.at[i] = tn_region_full(r->ctx, buffer);
        return;
    }
    TNB_PUSH(tn_scratch(r->ctx), r->buffers, buffer);
    TNB_PUSH(tn_scratch(r->ctx), r->regions, region);
}

static tn_walk_step
find_reads(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_BUFFER_LOAD)
        add_access(user, ((const tn_buffer_load *)n)->buffer, ((const tn_buffer_load *)n)->indices);
    return TN_WALK_ON;
}

static tn_walk_step
find_writes(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_BUFFER_STORE)
        add_access(user, ((const tn_buffer_store *)n)->buffer,
                   ((const tn_buffer_store *)n)->indices);
    return TN_WALK_ON;
}

static tn_list
regions(tn_ctx *ctx, const tn_stmt *body, tn_list allocs, tn_visit_fn find)
{
    region_list r = {.ctx = ctx};
    tnb_ptrmap_init(&r.local, tn_scratch(ctx));
    tn_walk(body, 0, find_locals, NULL, &r);
    tn_walk(body, 0, find, NULL, &r);
    TNB_VEC(const tn_node *) out = {0};
    for (uint32_t i = 0; i < r.regions.n; i++) {
        bool own = false;
        for (uint32_t k = 0; k < allocs.n; k++)
            own |= allocs.at[k] == r.buffers.at[i];
        if (!own)
            TNB_PUSH(tn_scratch(ctx), out, r.regions.at[i]);
    }
    return tn_list_of(ctx, out.at, out.n);
}

static tn_walk_step
find_block(void *user, const tn_node *n)
{
    (void)user;
    return n->kind == TN_KIND_BLOCK ? TN_WALK_STOP : TN_WALK_ON;
}

bool
tnk_block_is_nest(const tn_block *b)
{
    return !tn_walk(b->body, 0, find_block, NULL, NULL);
}

/* Blocks inside have regions of their own, which say what the block around them touches; those that
 * match parts of buffers keep theirs. */
static const tn_node *
renew_regions(tn_rewriter *r, const tn_node *n)
{
    if (n->kind != TN_KIND_BLOCK || tn_as_block(n)->match_buffers.n)
        return NULL;
    tn_block b = *tn_as_block(n);
    tn_list was[2] = {b.reads, b.writes};
    tn_block_regions(r->ctx, &b, &b.reads, &b.writes);
    bool same = was[0].n == b.reads.n && was[1].n == b.writes.n;
    for (uint32_t i = 0; same && i < b.reads.n; i++)
        same = tn_equal(r->ctx, was[0].at[i], b.reads.at[i], false, NULL);
    for (uint32_t i = 0; same && i < b.writes.n; i++)
        same = tn_equal(r->ctx, was[1].at[i], b.writes.at[i], false, NULL);
    return same ? n : tn_block_of(r->ctx, &b);
}

/* A block does not read what its init sets. */
static tn_list
without_written(tn_ctx *ctx, const tn_block *b)
{
    tn_list reads = {0};
    for (uint32_t k = 0; k < b->reads.n; k++) {
        bool written = false;
        for (uint32_t w = 0; w < b->writes.n; w++)
            written |= tn_as_buffer_region(b->writes.at[w])->buffer ==
                       tn_as_buffer_region(b->reads.at[k])->buffer;
        if (!written)
            reads = tn_list_append(ctx, reads, b->reads.at[k]);
    }
    return reads;
}

void
tnk_block_set(tnk_sch *s, tnk_item *i, const tn_block *fields)
{
    tn_block b = *fields;
    if (b.match_buffers.n) {
        /* the body may touch by pointers: what was said stays */
    } else if (tnk_block_is_nest(&b)) {
        tn_rewriter r = {.ctx = s->ctx, .post = renew_regions};
        b.body = tn_rewrite(&r, b.body);
        b.init = b.init ? tn_rewrite(&r, b.init) : NULL;
        tn_block_regions(s->ctx, &b, &b.reads, &b.writes);
    } else {
        const tn_stmt *all = b.init ? tn_seqv(s->ctx, b.init, b.body, NULL) : b.body;
        b.reads = regions(s->ctx, b.body, b.allocs, find_reads);
        b.writes = regions(s->ctx, all, b.allocs, find_writes);
        /* a reduction reads what it accumulates into, but the init hides that */
        if (b.init)
            b.reads = without_written(s->ctx, &b);
    }
    tn_loc was = tn_at(s->ctx, i->loc);
    const tn_node *n = tn_block_of(s->ctx, &b);
    tn_at(s->ctx, was);
    if (tn_is_error(n))
        s->broken = true;
    else
        i->block = tn_as_block(n);
}

/* ---- from a function ---- */

static bool
read_stmt(tnk_sch *s, tnk_item *parent, const tn_stmt *st);

static bool
read_stmt(tnk_sch *s, tnk_item *parent, const tn_stmt *st)
{
    switch (st->kind) {
    case TN_KIND_SEQ: {
        const tn_seq *q = (const tn_seq *)st;
        for (uint32_t i = 0; i < q->stmts.n; i++)
            if (!read_stmt(s, parent, q->stmts.at[i]))
                return false;
        return true;
    }
    case TN_KIND_FOR: {
        const tn_for_loop *f = (const tn_for_loop *)st;
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, parent);
        l->loc = st->loc;
        l->var = f->var;
        l->min = f->min;
        l->extent = f->extent;
        l->for_kind = (tn_for_kind)f->for_kind;
        l->thread_tag = f->thread_tag;
        l->annotations = f->annotations;
        tnk_item_insert(s, parent, parent->children.n, l);
        return read_stmt(s, l, f->body);
    }
    case TN_KIND_BLOCK_REALIZE: {
        const tn_block_realize *br = (const tn_block_realize *)st;
        tnk_item *b = tnk_item_new(s, TNK_ITEM_BLOCK, parent);
        b->loc = br->block->loc ? br->block->loc : st->loc;
        b->block = tn_as_block(br->block);
        b->predicate = br->predicate ? br->predicate : tn_bool(s->ctx, true);
        b->values = TNB_NEW_N(tn_arena(s->ctx), const tn_expr *, br->values.n + 1);
        for (uint32_t i = 0; i < br->values.n; i++)
            b->values[i] = br->values.at[i];
        tnk_item_insert(s, parent, parent->children.n, b);
        return true;
    }
    default:
        return false;
    }
}

static void
release(void *p)
{
    tnb_buf_free(&((tnk_sch *)p)->trace);
}

tnk_sch *
tnk_sch_new(tn_ctx *ctx, const tn_node *prim_func)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    if (!f)
        return NULL;
    tnk_sch *s = TNB_NEW(tn_arena(ctx), tnk_sch);
    s->ctx = ctx;
    s->sizes = tnk_sizes_of(ctx, prim_func);
    if (!tnk_sch_read(s, f))
        return NULL;
    tn_ctx_own(ctx, s, release);
    return s;
}

bool
tnk_sch_read(tnk_sch *s, const tn_prim_func *f)
{
    s->func = f;
    s->root = tnk_item_new(s, TNK_ITEM_ROOT, NULL);
    s->root_block = NULL;
    s->allocs.n = 0;
    const tn_stmt *body = f->body;
    const tn_block_realize *br = tn_as_block_realize(body);
    const tn_block *b = br ? tn_as_block(br->block) : NULL;
    if (b && b->iters.n == 0 && b->match_buffers.n == 0 && !b->init) {
        s->root_block = b;
        for (uint32_t i = 0; i < b->allocs.n; i++)
            TNB_PUSH(tn_arena(s->ctx), s->allocs, b->allocs.at[i]);
        body = b->body;
    }
    return read_stmt(s, s->root, body);
}

/* ---- into a function ---- */

static const tn_stmt *
build(tnk_sch *s, tnk_item *i)
{
    tn_ctx *ctx = s->ctx;
    if (i->kind == TNK_ITEM_BLOCK) {
        tn_list values = tn_list_of(ctx, i->values, i->block->iters.n);
        return tn_block_realize_of(ctx, values, i->predicate, TN_NODE(i->block));
    }
    TNB_VEC(const tn_stmt *) v = {0};
    for (uint32_t k = 0; k < i->children.n; k++)
        TNB_PUSH(tn_scratch(ctx), v, build(s, i->children.at[k]));
    const tn_stmt *body = v.n == 1 ? v.at[0] : tn_seq_of(ctx, (tn_list){v.at, v.n});
    if (i->kind == TNK_ITEM_ROOT)
        return body;
    tn_loc was = tn_at(ctx, i->loc);
    const tn_stmt *f =
        tn_for_of(ctx, i->var, i->min, i->extent, i->for_kind, i->thread_tag, i->annotations, body);
    tn_at(ctx, was);
    return f;
}

const tn_node *
tnk_sch_finish(tnk_sch *s)
{
    if (s->broken)
        return NULL;
    tn_ctx *ctx = s->ctx;
    const tn_stmt *body = build(s, s->root);
    if (s->root_block || s->allocs.n) {
        tn_block root = {.name = tn_str(ctx, "root")};
        if (s->root_block)
            root = *s->root_block;
        root.allocs = tn_list_of(ctx, s->allocs.at, s->allocs.n);
        root.body = body;
        const tn_node *b = tn_block_of(ctx, &root);
        body = tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), b);
    }
    tn_loc was = tn_at(ctx, s->func->base.loc);
    const tn_node *f =
        tn_prim_func_of(ctx, s->func->params, s->func->buffers, body, s->func->ret, s->func->attrs);
    tn_at(ctx, was);
    if (tn_is_error(f) || (s->collapsed && !(f = tnk_expand_dims(s, f))))
        return NULL;
    const tn_string_imm *kept = tn_as_string_imm(tn_func_attr(f, TNK_TRACE_ATTR));
    if (kept)
        f = tn_func_with_attr(ctx, f, TNK_TRACE_ATTR,
                              tn_string(ctx, tn_strf(ctx, "%s%s", kept->value, tnk_sch_trace(s))));
    return f;
}

/* ---- looking ---- */

void
tnk_sch_quiet(tnk_sch *s)
{
    s->quiet = true;
}

bool
tnk_sch_ok(const tnk_sch *s)
{
    return !s->broken;
}

tn_ctx *
tnk_sch_ctx(const tnk_sch *s)
{
    return s->ctx;
}

const char *
tnk_sch_trace(tnk_sch *s)
{
    return s->trace.s ? s->trace.s : "";
}

const char *
tnk_item_name(const tnk_item *i)
{
    return i->kind == TNK_ITEM_BLOCK  ? i->block->name
           : i->kind == TNK_ITEM_LOOP ? tn_var_name(i->var)
                                      : "root";
}

const tn_block *
tnk_item_block(const tnk_item *block)
{
    return block->block;
}

typedef struct collect {
    tnk_item **out;
    uint32_t n, max;
    const char *name;
    tnk_sch *s;
    const tn_node *buffer;
    bool stores;
} collect;

static void
take(collect *c, tnk_item *b)
{
    if (c->n < c->max)
        c->out[c->n] = b;
    c->n++;
}

static void
all_blocks(tnk_item *b, void *user)
{
    take(user, b);
}

static void
named_block(tnk_item *b, void *user)
{
    collect *c = user;
    if (!strcmp(b->block->name, c->name))
        take(c, b);
}

tnk_item *
tnk_sch_block(tnk_sch *s, const char *name)
{
    tnk_item *one = NULL;
    collect c = {.out = &one, .max = 1, .name = name};
    tnk_each_block(s->root, named_block, &c);
    return one;
}

uint32_t
tnk_sch_blocks(tnk_sch *s, tnk_item **out, uint32_t max)
{
    collect c = {.out = out, .max = max};
    tnk_each_block(s->root, all_blocks, &c);
    return c.n;
}

uint32_t
tnk_sch_loops(tnk_sch *s, const tnk_item *block, tnk_item **out, uint32_t max)
{
    (void)s;
    uint32_t n = 0;
    for (const tnk_item *p = block->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent)
        n++;
    uint32_t at = n;
    for (tnk_item *p = block->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent)
        if (--at < max)
            out[at] = p;
    return n;
}

bool
tnk_loop_extent(const tnk_item *loop, int64_t *n)
{
    return tn_int_value(loop->extent, n);
}

tn_for_kind
tnk_loop_kind(const tnk_item *loop)
{
    return loop->for_kind;
}

bool
tnk_block_is_reduction(const tnk_item *block)
{
    for (uint32_t i = 0; i < block->block->iters.n; i++)
        if (tn_as_iter_var(block->block->iters.at[i])->iter_kind == TN_ITER_REDUCE)
            return true;
    return false;
}

bool
tnk_loop_reduces(const tnk_item *loop, const tnk_item *block)
{
    for (uint32_t i = 0; i < block->block->iters.n; i++)
        if (tn_as_iter_var(block->block->iters.at[i])->iter_kind != TN_ITER_SPATIAL &&
            tn_uses(block->values[i], loop->var))
            return true;
    return false;
}

bool
tnk_loop_walks_last(const tnk_item *loop, const tnk_item *block)
{
    const tn_block *b = block->block;
    for (uint32_t r = 0; r < b->reads.n; r++) {
        const tn_buffer_region *read = tn_as_buffer_region(b->reads.at[r]);
        const tn_expr *last =
            read->ranges.n ? tn_as_range(read->ranges.at[read->ranges.n - 1])->min : NULL;
        for (uint32_t i = 0; last && i < b->iters.n; i++)
            if (tn_uses(block->values[i], loop->var) &&
                tn_uses(last, tn_as_iter_var(b->iters.at[i])->var))
                return true;
    }
    return false;
}

bool
tnk_block_is_injective(const tnk_item *block)
{
    const tn_block *b = block->block;
    const tn_buffer_store *st = tnk_block_store(b);
    if (!st || b->init || b->allocs.n || b->match_buffers.n)
        return false;
    for (uint32_t i = 0; i < b->iters.n; i++)
        if (tn_as_iter_var(b->iters.at[i])->iter_kind != TN_ITER_SPATIAL)
            return false;
    return !tn_uses(st->value, st->buffer);
}

/* What a block does with a buffer; for a pointer that it uses itself, ACCESS_POINTER. */
enum { ACCESS_LOAD = 1, ACCESS_STORE = 2, ACCESS_MATCH = 4, ACCESS_POINTER = 8 };

static void
note_access(tnb_ptrmap *m, const tn_node *n, uintptr_t how)
{
    uintptr_t was = (uintptr_t)tnb_ptrmap_get(m, n);
    if ((was | how) != was)
        tnb_ptrmap_set(m, n, (void *)(was | how));
}

static tn_walk_step
query(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_BUFFER_LOAD)
        note_access(user, ((const tn_buffer_load *)n)->buffer, ACCESS_LOAD);
    else if (n->kind == TN_KIND_BUFFER_STORE)
        note_access(user, ((const tn_buffer_store *)n)->buffer, ACCESS_STORE);
    else if (n->kind == TN_KIND_MATCH_BUFFER)
        note_access(user, tn_as_buffer_region(((const tn_match_buffer *)n)->source)->buffer,
                    ACCESS_MATCH);
    else if (tn_is_var(n) && tn_dtype_of(n).code != TNB_INT)
        note_access(user, n, ACCESS_POINTER);
    return TN_WALK_ON;
}

/* Found once for each block: primitives ask for the readers of a buffer more often than they change blocks. */
static const tnb_ptrmap *
accesses(tnk_sch *s, tnk_item *i)
{
    const tn_block *b = i->block;
    if (i->known == b)
        return i->access;
    i->known = b;
    i->access = TNB_NEW(tn_scratch(s->ctx), tnb_ptrmap);
    tnb_ptrmap_init(i->access, tn_scratch(s->ctx));
    tn_walk(b->body, 0, query, NULL, i->access);
    for (uint32_t k = 0; k < b->match_buffers.n; k++)
        tn_walk(b->match_buffers.at[k], 0, query, NULL, i->access);
    if (b->init)
        tn_walk(b->init, 0, query, NULL, i->access);
    return i->access;
}

static bool
reads_buffer(tnk_sch *s, tnk_item *i, const tn_node *buffer, bool stores)
{
    const tnb_ptrmap *m = accesses(s, i);
    const tn_block *b = i->block;
    uintptr_t how = (uintptr_t)tnb_ptrmap_get(m, buffer);
    bool pointer = tnb_ptrmap_has(m, tn_as_buffer(buffer)->data);
    bool load = pointer || how & ACCESS_LOAD, store = pointer || how & ACCESS_STORE;
    /* what is done to a part that is matched, the block says */
    for (uint32_t k = 0; k < b->reads.n && how & ACCESS_MATCH; k++)
        load |= tn_as_buffer_region(b->reads.at[k])->buffer == buffer;
    store |= how & ACCESS_MATCH && tnk_block_writes(b, buffer);
    return stores ? store : load;
}

static void
accessing(tnk_item *b, void *user)
{
    collect *c = user;
    if (reads_buffer(c->s, b, c->buffer, c->stores))
        take(c, b);
}

uint32_t
tnk_sch_readers(tnk_sch *s, const tn_node *buffer, tnk_item **out, uint32_t max)
{
    collect c = {.out = out, .max = max, .s = s, .buffer = buffer};
    tnk_each_block(s->root, accessing, &c);
    return c.n;
}

tnk_item *
tnk_sch_writer(tnk_sch *s, const tn_node *buffer)
{
    tnk_item *all[64] = {0};
    collect c = {.out = all, .max = 64, .s = s, .buffer = buffer, .stores = true};
    tnk_each_block(s->root, accessing, &c);
    return c.n && c.n <= 64 ? all[c.n - 1] : NULL;
}

const tn_node *
tnk_block_output(const tnk_item *block)
{
    return block->block->writes.n == 1 ? tn_as_buffer_region(block->block->writes.at[0])->buffer
                                       : NULL;
}

bool
tnk_sch_is_param(const tnk_sch *s, const tn_node *buffer)
{
    for (uint32_t i = 0; i < s->func->buffers.n; i++)
        if (s->func->buffers.at[i] == buffer)
            return true;
    return false;
}
