/* SPDX-License-Identifier: Apache-2.0 */
/* Views: the parts of buffers that a nest touches, where it touches one part at an index which stays the same in all of it.
 *
 *     o[e, i] += x[0, k] * w[indptr[e], i, k]        =>        o_e[i] += x[0, k] * w_e[i, k]
 *
 * with e known outside. What is scheduled with the views has no more dimensions than the nest runs over; gpu_views_undo puts the
 * indices back.
 */
#include "gpu.h"

static gpu_view *
view_of(gpu_views *v, const tn_node *buffer)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (v->at[i].of == buffer)
            return &v->at[i];
    return NULL;
}

static bool
listed(tn_list l, const tn_node *x)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i] == x)
            return true;
    return false;
}

static tn_walk_step
note_stores(void *user, const tn_node *n)
{
    gpu_views *v = user;
    const tn_buffer_store *st = tn_as_buffer_store(n);
    if (st && !listed(v->stored, st->buffer))
        v->stored = tn_list_append(v->ctx, v->stored, st->buffer);
    return TN_WALK_ON;
}

static tn_walk_step
find_stored(void *user, const tn_node *n)
{
    const gpu_views *v = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    return l && listed(v->stored, l->buffer) ? TN_WALK_STOP : TN_WALK_ON;
}

/* Of what is known outside, of a bound index among that, and the same at any time. */
static bool
stays(gpu_views *v, const tn_expr *index)
{
    tn_list vars = tn_free_vars(v->ctx, index, false);
    bool bound = false;
    for (uint32_t i = 0; i < vars.n; i++) {
        if (!listed(v->known, vars.at[i]))
            return false;
        bound |= listed(v->bound, vars.at[i]);
    }
    return bound && tn_dtype_of(index).lanes == 1 && tn_walk(index, 0, find_stored, NULL, v);
}

static tn_walk_step
note_access(void *user, const tn_node *n)
{
    gpu_views *v = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    const tn_match_buffer *m = tn_as_match_buffer(n);
    if (!l && !st && !m)
        return TN_WALK_ON;
    const tn_node *buffer = l    ? l->buffer
                            : st ? st->buffer
                                 : tn_as_buffer_region(m->source)->buffer;
    tn_list idx = l ? l->indices : st ? st->indices : (tn_list){0};
    if (listed(v->inside, buffer))
        return TN_WALK_ON;
    gpu_view *w = view_of(v, buffer);
    if (!w) {
        uint32_t rank = tn_as_buffer(buffer)->shape.n;
        TNB_PUSH(tn_scratch(v->ctx), *v, ((gpu_view){.of = buffer, .rank = rank}));
        w = &v->at[v->n - 1];
        w->index = TNB_NEW_N(tn_scratch(v->ctx), const tn_expr *, rank + 1);
        for (uint32_t d = 0; d < idx.n && idx.n == rank; d++)
            w->index[d] = stays(v, idx.at[d]) ? idx.at[d] : NULL;
    }
    for (uint32_t d = 0; d < w->rank; d++)
        if (w->index[d] &&
            (idx.n != w->rank || !tn_equal(v->ctx, w->index[d], idx.at[d], false, NULL)))
            w->index[d] = NULL;
    return TN_WALK_ON;
}

static tn_walk_step
find_node(void *user, const tn_node *n)
{
    return n == user ? TN_WALK_STOP : TN_WALK_ON;
}

/* The indices or ranges of an access of `is` from those of one of `of`, or the other way. */
static tn_list
convert(tn_ctx *ctx, const gpu_view *w, tn_list l, bool undo, bool region)
{
    tn_list out = {0};
    uint32_t k = 0;
    for (uint32_t d = 0; d < w->rank; d++) {
        const tn_expr *e = w->index[d];
        if (!e)
            out = tn_list_append(ctx, out, l.at[k]);
        else if (undo)
            out = tn_list_append(ctx, out,
                                 region ? tn_range_of(ctx, e, tn_int_imm_of(ctx, tn_dtype_of(e), 1))
                                        : e);
        k += !e || !undo;
    }
    return out;
}

typedef struct block_reads {
    tn_ctx *ctx;
    tn_list reads;
} block_reads;

static tn_walk_step
add_read(void *user, const tn_node *n)
{
    block_reads *q = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    for (uint32_t i = 0; l && i < q->reads.n; i++)
        if (tn_as_buffer_region(q->reads.at[i])->buffer == l->buffer)
            return TN_WALK_ON;
    if (l)
        q->reads = tn_list_append(q->ctx, q->reads, tn_region_point(q->ctx, l->buffer, l->indices));
    return TN_WALK_ON;
}

/* The block, whose regions have their indices again, reads what these indices read. */
static const tn_node *
with_index_reads(const gpu_views *v, const tn_block *b)
{
    block_reads q = {.ctx = v->ctx, .reads = b->reads};
    for (uint32_t k = 0; k < b->reads.n + b->writes.n; k++) {
        const tn_node *reg = k < b->reads.n ? b->reads.at[k] : b->writes.at[k - b->reads.n];
        for (uint32_t i = 0; i < v->n; i++)
            for (uint32_t d = 0; d < v->at[i].rank; d++)
                if (v->at[i].of == tn_as_buffer_region(reg)->buffer && v->at[i].index[d])
                    tn_walk(v->at[i].index[d], 0, add_read, NULL, &q);
    }
    tn_block with = *b;
    with.reads = q.reads;
    return q.reads.n == b->reads.n ? NULL : tn_block_of(v->ctx, &with);
}

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    const gpu_views *v = r->user;
    if (v->undo && n->kind == TN_KIND_BLOCK)
        return with_index_reads(v, tn_as_block(n));
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    const tn_buffer_region *reg = tn_as_buffer_region(n);
    const tn_node *buffer = l ? l->buffer : st ? st->buffer : reg ? reg->buffer : NULL;
    for (uint32_t i = 0; buffer && i < v->n; i++) {
        const gpu_view *w = &v->at[i];
        const tn_node *to = v->undo ? w->of : w->is;
        if (buffer != (v->undo ? w->is : w->of) || w->is == w->of)
            continue;
        tn_list idx = convert(r->ctx, w,
                              l    ? l->indices
                              : st ? st->indices
                                   : reg->ranges,
                              v->undo, reg != NULL);
        return l    ? tn_buffer_load_of(r->ctx, to, idx)
               : st ? tn_buffer_store_of(r->ctx, to, st->value, idx)
                    : tn_buffer_region_of(r->ctx, to, idx);
    }
    return NULL;
}

const tn_stmt *
gpu_views_make(gpu_views *v, const tn_stmt *body)
{
    tn_walk(body, 0, note_stores, NULL, v);
    tn_walk(body, 0, note_access, NULL, v);
    for (uint32_t i = 0; i < v->n; i++) {
        gpu_view *w = &v->at[i];
        const tn_buffer *b = tn_as_buffer(w->of);
        tn_list shape = {0};
        if (!tn_walk(body, 0, find_node, NULL, (void *)(uintptr_t)b->data))
            w->index = TNB_NEW_N(tn_scratch(v->ctx), const tn_expr *, w->rank + 1);
        for (uint32_t d = 0; d < w->rank; d++)
            if (!w->index[d])
                shape = tn_list_append(v->ctx, shape, b->shape.at[d]);
        w->is =
            shape.n == w->rank ? w->of : tn_buffer_new(v->ctx, b->name, shape, b->dtype, b->scope);
    }
    tn_rewriter r = {.ctx = v->ctx, .user = v, .post = replace};
    return tn_rewrite(&r, body);
}

const tn_stmt *
gpu_views_undo(gpu_views *v, const tn_stmt *body)
{
    tn_rewriter r = {.ctx = v->ctx, .user = v, .post = replace};
    v->undo = true;
    return tn_rewrite(&r, body);
}
