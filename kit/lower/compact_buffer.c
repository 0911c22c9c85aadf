/* SPDX-License-Identifier: Apache-2.0 */
/* CompactBufferAllocation: an allocated buffer shrinks to the region that is accessed where it lives.
 *
 *     for i in range(8):                            for i in range(8):
 *         B = T.alloc_buffer((8, 16))                   B = T.alloc_buffer((1, 16))
 *         for j in range(16): B[i, j] = ...     =>      for j in range(16): B[0, j] = ...
 *
 * The region is the hull of all accesses over the loops inside; an extent that is not constant is bounded by its greatest value.
 * A dimension whose accesses are not known stays whole. Where the allocation wants it (buffer_dim_align: axis, factor, offset),
 * rows get longer until the stride of the axis is offset beyond a multiple of factor. Memory that the threads of a block share is allocated outside of their
 * loops; its region is that of all threads in one turn of the loops whose turns write it anew. Needs: no blocks.
 */
#include <stdlib.h>

#include "region.h"

typedef struct compaction {
    const tn_node *old, *new_;
    const tn_expr **origin; /* per dimension; NULL: unchanged */
} compaction;

typedef struct compact_state {
    tnb_ptrmap by_buffer; /* Buffer -> compaction */
} compact_state;

/* The least of the lows, the greatest of the highs; decided by proof where possible. */
static const tn_expr *
pick(tn_ctx *ctx, tn_arith *arith, const tn_expr *a, const tn_expr *b, bool least)
{
    if (!a || a == b)
        return b;
    if (tn_prove(arith, tn_bin(ctx, least ? TN_KIND_LE : TN_KIND_GE, a, b)))
        return a;
    if (tn_prove(arith, tn_bin(ctx, least ? TN_KIND_LE : TN_KIND_GE, b, a)))
        return b;
    return tn_simplify(arith, least ? tn_min(ctx, a, b) : tn_max(ctx, a, b));
}

/* Greatest value of `e` as a constant, or -1. */
static int64_t
constant_bound(tn_arith *arith, const tn_expr *e)
{
    int64_t lo, hi;
    tn_bounds(arith, e, &lo, &hi);
    return hi == TN_POS_INF ? -1 : hi;
}

/* ---- memory that the threads of a block share ---- */

enum { MAX_THREADS = 16 };

/* Where such a buffer is really at home, below its allocation. */
typedef struct home {
    const tn_stmt *s;
    const tn_for_loop *threads[MAX_THREADS]; /* around it, outermost first */
    uint32_t n;
} home;

/* All threads touch the memory: their loops are part of the statement. */
static const tn_stmt *
of_all_threads(tn_ctx *ctx, const home *h, const tn_stmt *s)
{
    for (uint32_t i = h->n; i-- > 0;) {
        const tn_for_loop *f = h->threads[i];
        s = tnk_for_with(ctx, f, f->min, f->extent, s);
    }
    return s;
}

/* Whether each turn of a loop with this body writes what it reads, before it reads it. */
static bool
starts_over(tn_ctx *ctx, tn_arith *arith, const home *h, const tn_stmt *body, const tn_node *buffer)
{
    tnk_accesses acc;
    tnk_collect_accesses(ctx, arith, of_all_threads(ctx, h, body), buffer, &acc);
    if (acc.opaque || acc.v.n == 0 || !acc.v.at[0].is_store)
        return false;
    for (uint32_t d = 0; d < tn_as_buffer(buffer)->shape.n; d++) {
        const tn_expr *lo = NULL, *hi = NULL;
        for (uint32_t i = 0; i < acc.v.n; i++) {
            const tnk_access *a = &acc.v.at[i];
            if (!a->lo[d])
                return false;
            if (a->is_store) {
                lo = pick(ctx, arith, lo, a->lo[d], true);
                hi = pick(ctx, arith, hi, a->hi[d], false);
            }
        }
        for (uint32_t i = 0; i < acc.v.n; i++)
            if (!acc.v.at[i].is_store && (!tn_prove(arith, tn_ge_of(ctx, acc.v.at[i].lo[d], lo)) ||
                                          !tn_prove(arith, tn_le_of(ctx, acc.v.at[i].hi[d], hi))))
                return false;
    }
    return true;
}

/* Goes down through the loops that may hold the buffer; the ranges of those that are not threads'
 * are said to `arith`. */
static void
find_home(tn_ctx *ctx, tn_arith *arith, home *h, const tn_node *buffer)
{
    for (;;) {
        const tn_seq *q = tn_as_seq(h->s);
        const tn_for_loop *f = tn_as_for_loop(h->s);
        if (q) {
            const tn_stmt *only = NULL;
            for (uint32_t i = 0; i < q->stmts.n; i++)
                if (tn_uses(q->stmts.at[i], buffer)) {
                    if (only || q->stmts.at[i]->kind == TN_KIND_BIND)
                        return;
                    only = q->stmts.at[i];
                }
            if (!only)
                return;
            h->s = only;
        } else if (h->s->kind == TN_KIND_ATTR_STMT) {
            h->s = tn_as_attr_stmt(h->s)->body;
        } else if (f && f->for_kind == TN_FOR_THREAD_BINDING &&
                   strncmp(f->thread_tag, "blockIdx", 8)) {
            if (h->n == MAX_THREADS)
                return;
            h->threads[h->n++] = f;
            h->s = f->body;
        } else if (f && f->for_kind != TN_FOR_VECTORIZED) {
            uint32_t mark = tn_arith_push(arith, NULL);
            tn_arith_range(arith, f->var, f->min, f->extent);
            if (f->for_kind != TN_FOR_THREAD_BINDING &&
                !starts_over(ctx, arith, h, f->body, buffer)) {
                tn_arith_pop(arith, mark);
                return;
            }
            h->s = f->body;
        } else {
            return;
        }
    }
}

/* ---- planning ---- */

static compaction *
plan_at(tnk_ranged *r, const tn_stmt *rest, const tn_node *buffer)
{
    tn_ctx *ctx = r->ctx;
    const tn_buffer *b = tn_as_buffer(buffer);
    tnk_accesses acc;
    if (b->strides.n || b->elem_offset)
        return NULL;
    tnk_collect_accesses(ctx, r->arith, rest, buffer, &acc);
    if (acc.opaque || acc.v.n == 0)
        return NULL;
    compaction *c = TNB_NEW(tn_scratch(ctx), compaction);
    c->old = buffer;
    c->origin = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, b->shape.n + 1);
    tn_list shape = b->shape;
    bool any = false;
    for (uint32_t d = 0; d < b->shape.n; d++) {
        const tn_expr *lo = NULL, *hi = NULL;
        bool known = true;
        for (uint32_t i = 0; i < acc.v.n && known; i++) {
            known = acc.v.at[i].lo[d] != NULL;
            if (known) {
                lo = pick(ctx, r->arith, lo, acc.v.at[i].lo[d], true);
                hi = pick(ctx, r->arith, hi, acc.v.at[i].hi[d], false);
            }
        }
        if (!known)
            continue;
        const tn_expr *extent =
            tn_simplify(r->arith,
                        tn_add(ctx, tn_sub(ctx, hi, lo), tn_int_imm_of(ctx, tn_dtype_of(lo), 1)));
        int64_t n = constant_bound(r->arith, extent),
                whole = constant_bound(r->arith, b->shape.at[d]);
        int64_t fixed;
        if (n < 1 || (tn_int_value(b->shape.at[d], &fixed) && n >= fixed) ||
            (whole >= 0 && n >= whole))
            continue;
        shape = tn_list_with(ctx, shape, d, tn_int_imm_of(ctx, tn_dtype_of(b->shape.at[d]), n));
        c->origin[d] = lo;
        any = true;
    }
    if (!any)
        return NULL;
    tn_buffer copy = *b;
    copy.shape = shape;
    c->new_ = tn_buffer_of(ctx, &copy);
    return c;
}

static compaction *
plan(tnk_ranged *r, const tn_stmt *rest, const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    if (!scope || strncmp(scope, "shared", 6))
        return plan_at(r, rest, buffer);
    uint32_t mark = tn_arith_push(r->arith, NULL);
    home *h = TNB_NEW(tn_scratch(r->ctx), home);
    h->s = rest;
    find_home(r->ctx, r->arith, h, buffer);
    compaction *c = plan_at(r, of_all_threads(r->ctx, h, h->s), buffer);
    tn_arith_pop(r->arith, mark);
    return c;
}

/* The strides of a shape as `want` asks for; none where an extent that counts is not constant. */
static tn_list
strides_of(tn_ctx *ctx, tn_list shape, const tn_array *want)
{
    tn_list out = shape;
    int64_t stride = 1, extent;
    for (uint32_t d = shape.n; d-- > 0;) {
        for (uint32_t i = 0; i < want->items.n; i++) {
            const tn_array *one = tn_as_array(want->items.at[i]);
            int64_t axis, factor, offset;
            if (!one || one->items.n != 3 || !tn_int_value(one->items.at[0], &axis) ||
                !tn_int_value(one->items.at[1], &factor) ||
                !tn_int_value(one->items.at[2], &offset) || factor < 1)
                return (tn_list){0};
            if (axis == d && d + 1 < shape.n)
                stride += ((offset - stride) % factor + factor) % factor;
        }
        out = tn_list_with(ctx, out, d, tn_int_imm_of(ctx, tn_dtype_of(shape.at[d]), stride));
        if (d > 0 && (!tn_int_value(shape.at[d], &extent) || extent < 0 || extent > 1 << 24 ||
                      stride > 1 << 24))
            return (tn_list){0};
        stride *= d > 0 ? extent : 1;
    }
    return out;
}

static const char align_key[] = "buffer_dim_align";

/* c, or where there was nothing to shrink a compaction that leaves all as it is, with strides. */
static compaction *
align(tn_ctx *ctx, compaction *c, const tn_alloc_buffer *a)
{
    const tn_array *want = tn_as_array(tn_dict_get(a->annotations, align_key));
    tn_buffer copy = *tn_as_buffer(c ? c->new_ : a->buffer);
    if (!want || copy.strides.n || copy.elem_offset)
        return c;
    copy.strides = strides_of(ctx, copy.shape, want);
    if (!copy.strides.n)
        return c;
    if (!c) {
        c = TNB_NEW(tn_scratch(ctx), compaction);
        c->old = a->buffer;
        c->origin = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, copy.shape.n + 1);
    }
    c->new_ = tn_buffer_of(ctx, &copy);
    return c;
}

static const tn_node *
replace(tn_rewriter *rw, const tn_node *n)
{
    compaction *c = rw->user;
    const tn_alloc_buffer *a = n->kind == TN_KIND_ALLOC_BUFFER ? tn_as_alloc_buffer(n) : NULL;
    if (a && a->buffer == c->old)
        return tn_alloc_buffer_of(rw->ctx, c->new_,
                                  tn_dict_get(a->annotations, align_key)
                                      ? tn_dict_set(rw->ctx, a->annotations, align_key, NULL)
                                      : a->annotations);
    tn_list idx;
    if (tnk_accessed(n, &idx) != c->old)
        return NULL;
    tn_list out = idx;
    for (uint32_t d = 0; d < idx.n; d++) {
        if (!c->origin[d])
            continue;
        const tn_expr *i = idx.at[d];
        if (tn_is(i, TN_KIND_RAMP)) {
            const tn_ramp *rp = tn_as_ramp(i);
            i = tn_ramp_of(rw->ctx, tn_sub(rw->ctx, rp->start, c->origin[d]), rp->stride,
                           rp->lanes);
        } else {
            i = tn_sub(rw->ctx, i, c->origin[d]);
        }
        out = tn_list_with(rw->ctx, out, d, i);
    }
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return tn_buffer_load_of(rw->ctx, c->new_, out);
    return tn_buffer_store_of(rw->ctx, c->new_, ((const tn_buffer_store *)n)->value, out);
}

static int
by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The statements behind the allocation at `i` that use it, and the binds behind it that these use. */
static const tn_stmt *
users(tn_ctx *ctx, const tnk_seq_uses *uses, const tn_stmt *const *now, uint32_t i)
{
    tnb_arena *a = tn_scratch(ctx);
    TNB_VEC(uint32_t) at = {0};
    TNB_VEC(const tn_stmt *) v = {0};
    const tnk_seq_user *u = &uses->key[i];
    for (uint32_t k = 0; k < u->at.n; k++) {
        uint32_t s = u->at.at[k];
        if (s <= i)
            continue;
        TNB_PUSH(a, at, s);
        for (uint32_t b = 0; b < uses->used[s].keys.n; b++) {
            uint32_t bind = uses->used[s].keys.at[b];
            if (bind > i && now[bind]->kind == TN_KIND_BIND)
                TNB_PUSH(a, at, bind);
        }
    }
    if (at.n)
        qsort(at.at, at.n, sizeof *at.at, by_number);
    for (uint32_t k = 0; k < at.n; k++)
        if (k == 0 || at.at[k] != at.at[k - 1])
            TNB_PUSH(a, v, now[at.at[k]]);
    return tnk_seq(ctx, v.at, v.n);
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    const tn_seq *q = tn_as_seq(s);
    tnk_seq_uses uses;
    if (!q || !tnk_seq_uses_of(r->ctx, q, &uses))
        return NULL;
    const tn_stmt **now =
        tnb_dup(tn_scratch(r->ctx), q->stmts.at, q->stmts.n * sizeof *q->stmts.at);
    bool any = false;
    /* one allocation after the other; positions stay */
    for (uint32_t i = 0; i < q->stmts.n; i++) {
        if (now[i]->kind != TN_KIND_ALLOC_BUFFER)
            continue;
        const tn_alloc_buffer *a = tn_as_alloc_buffer(now[i]);
        compaction *c = align(r->ctx, plan(r, users(r->ctx, &uses, now, i), a->buffer), a);
        if (!c)
            continue;
        any = true;
        tn_rewriter rw = {.ctx = r->ctx, .user = c, .post = replace};
        now[i] = tn_rewrite(&rw, now[i]);
        for (uint32_t k = 0; k < uses.key[i].at.n; k++)
            if (uses.key[i].at.at[k] != i)
                now[uses.key[i].at.at[k]] = tn_rewrite(&rw, now[uses.key[i].at.at[k]]);
    }
    if (!any)
        return NULL;
    /* go on into the children of the new sequence without coming back here for it */
    for (uint32_t i = 0; i < q->stmts.n; i++)
        now[i] = tnk_ranged_rewrite(r, now[i]);
    return tn_seq_of(r->ctx, (tn_list){now, q->stmts.n});
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tnk_ranged r = {.pre = pre};
    tnk_ranged_init(&r, ctx, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_compact = {
    .base.size = sizeof(tn_pass),
    .base.name = "CompactBufferAllocation",
    .base.doc = "Shrinks allocated buffers to the region that is accessed.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
