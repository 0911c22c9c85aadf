/* SPDX-License-Identifier: Apache-2.0 */
/* collapse_dims: two neighbouring dimensions become one, where all blocks of a function go through them alike (a
 * convolution by 1x1 kernels over an image, and what follows it), so that vectors and tiles do not end where a row ends.
 *
 *     for n, o, h, w, c (7 by 7): y[n, o, h, w] += x[n, c, h, w] * k[o, c]
 *  -> for n, o, h, w, c (1 by 49): y[n, o, h, w] += x[n, c, h, w] * k[o, c]          scheduled like that; in the end
 *     y[n, o, w // 7, w % 7] += x[n, c, w // 7, w % 7] * k[o, c]                     the parameters' shapes again
 */
#include "schedule_private.h"

enum { MAX_LOOPS = 16 };

typedef struct flattener {
    tn_ctx *ctx;
    uint32_t at; /* the rows' place among a buffer's dimensions; the columns' is behind it */
    int64_t H, W;
    tnb_ptrmap flat;            /* buffer -> what stands for it */
    const tn_expr *h, *w;       /* of the block that is rewritten, */
    const tn_expr *row, *pixel; /* and what they become: row is 0 */
    tn_list iters;              /* its own */
    bool bad;
} flattener;

static bool
is_image(const flattener *f, const tn_buffer *b)
{
    return b->shape.n > f->at + 1 && tn_is_int_const(b->shape.at[f->at], f->H) &&
           tn_is_int_const(b->shape.at[f->at + 1], f->W);
}

/* The buffer with its images in one row; itself if it has none. */
static const tn_node *
flat_of(flattener *f, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    if (!is_image(f, b))
        return buffer;
    const tn_node *known = tnb_ptrmap_get(&f->flat, buffer);
    if (known)
        return known;
    f->bad |= b->strides.n || b->elem_offset || b->separators.n;
    tn_buffer copy = *b;
    copy.shape = tn_list_with(f->ctx, b->shape, f->at, tn_i64(f->ctx, 1));
    copy.shape = tn_list_with(f->ctx, copy.shape, f->at + 1, tn_i64(f->ctx, f->H * f->W));
    const tn_node *made = tn_buffer_of(f->ctx, &copy);
    tnb_ptrmap_set(&f->flat, buffer, made);
    return made;
}

/* v, or v and iterators that are always 0. */
static bool
is_plain(const flattener *f, const tn_expr *e, const tn_expr *v)
{
    if (e == v)
        return true;
    if (e->kind == TN_KIND_ADD)
        return (is_plain(f, tn_as_binary(e)->a, v) && is_plain(f, tn_as_binary(e)->b, NULL)) ||
               (is_plain(f, tn_as_binary(e)->a, NULL) && is_plain(f, tn_as_binary(e)->b, v));
    for (uint32_t i = 0; i < f->iters.n && !v; i++)
        if (tn_as_iter_var(f->iters.at[i])->var == e)
            return tn_is_int_const(tn_as_range(tn_as_iter_var(f->iters.at[i])->dom)->extent, 1);
    return !v && tn_is_int_const(e, 0);
}

static const tn_node *
pixel_of_access(tn_rewriter *r, const tn_node *n)
{
    flattener *f = r->user;
    const tn_buffer_load *l = n->kind == TN_KIND_BUFFER_LOAD ? tn_as_buffer_load(n) : NULL;
    const tn_buffer_store *s = n->kind == TN_KIND_BUFFER_STORE ? tn_as_buffer_store(n) : NULL;
    if (!l && !s)
        return NULL;
    const tn_node *buffer = l ? l->buffer : s->buffer, *flat = flat_of(f, buffer);
    tn_list idx = tn_rewrite_list(r, l ? l->indices : s->indices);
    if (flat != buffer) {
        f->bad |= !is_plain(f, idx.at[f->at], f->h) || !is_plain(f, idx.at[f->at + 1], f->w);
        idx = tn_list_with(f->ctx, idx, f->at, f->row);
        idx = tn_list_with(f->ctx, idx, f->at + 1, f->pixel);
    }
    return l ? tn_buffer_load_of(f->ctx, flat, idx)
             : tn_buffer_store_of(f->ctx, flat, tn_rewrite_child(r, s->value), idx);
}

static bool
is_iter_of(const tn_block *b, uint32_t i, const tn_expr *v, int64_t extent)
{
    const tn_iter_var *it = tn_as_iter_var(b->iters.at[i]);
    return it->var == v && it->iter_kind == TN_ITER_SPATIAL &&
           tn_is_int_const(tn_as_range(it->dom)->min, 0) &&
           tn_is_int_const(tn_as_range(it->dom)->extent, extent);
}

/* A block under its loops (outermost first), all of them rewritten; NULL: it is none of images. */
static const tn_stmt *
flat_nest(flattener *f, const tn_for_loop *const *loops, uint32_t n,
          const tn_block_realize *realize)
{
    tn_ctx *ctx = f->ctx;
    const tn_block *b = tn_as_block(realize->block);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    uint32_t h = UINT32_MAX, w = UINT32_MAX;
    if (!st || st->indices.n <= f->at + 1 || b->allocs.n || b->match_buffers.n ||
        !tn_is_int_const(realize->predicate, 1))
        return NULL;
    f->h = st->indices.at[f->at];
    f->w = st->indices.at[f->at + 1];
    f->iters = b->iters;
    for (uint32_t i = 0; i < b->iters.n; i++) {
        h = is_iter_of(b, i, f->h, f->H) ? i : h;
        w = is_iter_of(b, i, f->w, f->W) ? i : w;
    }
    if (h == UINT32_MAX || w == UINT32_MAX || !tnb_dtype_eq(tn_dtype_of(f->w), TNB_I64))
        return NULL;
    for (uint32_t i = 0; i < b->iters.n; i++)
        if (i != h && i != w &&
            (tn_uses(realize->values.at[i], realize->values.at[h]) ||
             tn_uses(realize->values.at[i], realize->values.at[w])))
            return NULL;
    f->row = tn_var_dtype(ctx, "row", TNB_I64);
    f->pixel = tn_var_dtype(ctx, "pixel", TNB_I64);
    tn_rewriter r = {.ctx = ctx, .user = f, .pre = pixel_of_access};
    tn_block made = *b;
    made.body = tn_rewrite(&r, b->body);
    made.init = b->init ? tn_rewrite(&r, b->init) : NULL;
    const tn_node *one = tn_range_of(ctx, tn_i64(ctx, 0), tn_i64(ctx, 1)),
                  *all = tn_range_of(ctx, tn_i64(ctx, 0), tn_i64(ctx, f->H * f->W));
    made.iters =
        tn_list_with(ctx, b->iters, h, tn_iter_var_of(ctx, one, f->row, TN_ITER_SPATIAL, NULL));
    made.iters =
        tn_list_with(ctx, made.iters, w, tn_iter_var_of(ctx, all, f->pixel, TN_ITER_SPATIAL, NULL));
    if (f->bad || tn_uses(made.body, f->h) || tn_uses(made.body, f->w))
        return NULL;
    tn_block_regions(ctx, &made, &made.reads, &made.writes);
    const tn_stmt *s =
        tn_block_realize_of(ctx, realize->values, realize->predicate, tn_block_of(ctx, &made));
    uint32_t changed = 0;
    for (uint32_t i = n; i-- > 0;) {
        const tn_for_loop *l = loops[i];
        bool rows = l->var == realize->values.at[h], columns = l->var == realize->values.at[w];
        const tn_expr *extent = rows      ? tn_i64(ctx, 1)
                                : columns ? tn_i64(ctx, f->H * f->W)
                                          : l->extent;
        changed += rows + columns;
        s = tn_for_of(ctx, l->var, l->min, extent, l->for_kind, l->thread_tag, l->annotations, s);
    }
    return changed == 2 ? s : NULL;
}

static const tn_node *
flat_block(tn_rewriter *r, const tn_node *n)
{
    flattener *f = r->user;
    const tn_for_loop *loops[MAX_LOOPS];
    uint32_t k = 0;
    const tn_node *inside = n;
    for (; inside->kind == TN_KIND_FOR && k < MAX_LOOPS; inside = loops[k++]->body)
        loops[k] = (const tn_for_loop *)inside;
    if (k == 0)
        return NULL;
    const tn_stmt *s = inside->kind == TN_KIND_BLOCK_REALIZE
                           ? flat_nest(f, loops, k, (const tn_block_realize *)inside)
                           : NULL;
    f->bad |= !s;
    return s ? s : n;
}

/* The function with the dimensions `at` and behind it as one, whose buffers stand in f->flat; NULL: it has no such ones. */
static const tn_node *
flatten(flattener *f, const tn_prim_func *p)
{
    const tn_block_realize *root =
        p->body->kind == TN_KIND_BLOCK_REALIZE ? (const tn_block_realize *)p->body : NULL;
    if (!root)
        return NULL;
    tn_rewriter r = {.ctx = f->ctx, .user = f, .pre = flat_block};
    tn_block made = *tn_as_block(root->block);
    if (made.iters.n || made.init || made.match_buffers.n)
        return NULL;
    made.body = tn_rewrite(&r, made.body);
    tn_list buffers = p->buffers;
    for (uint32_t i = 0; i < made.allocs.n && !f->bad; i++)
        made.allocs = tn_list_with(f->ctx, made.allocs, i, flat_of(f, made.allocs.at[i]));
    for (uint32_t i = 0; i < buffers.n && !f->bad; i++)
        if (buffers.at[i])
            buffers = tn_list_with(f->ctx, buffers, i, flat_of(f, buffers.at[i]));
    if (f->bad)
        return NULL;
    const tn_stmt *body =
        tn_block_realize_of(f->ctx, root->values, root->predicate, tn_block_of(f->ctx, &made));
    const tn_node *out = tn_prim_func_of(f->ctx, p->params, buffers, body, p->ret, p->attrs);
    return tn_is_error(out) ? NULL : out;
}

/* ---- and back ---- */

static const tn_node *
rows_again(tn_rewriter *r, const tn_node *n)
{
    flattener *f = r->user;
    tn_ctx *ctx = f->ctx;
    if (n->kind == TN_KIND_BUFFER_REGION) {
        const tn_node *own = tnb_ptrmap_get(&f->flat, tn_as_buffer_region(n)->buffer);
        if (!own)
            return NULL;
        tn_list ranges = tn_as_buffer_region(n)->ranges;
        const int64_t extents[2] = {f->H, f->W};
        for (uint32_t i = 0; i < 2; i++)
            ranges = tn_list_with(ctx, ranges, f->at + i,
                                  tn_range_of(ctx, tn_i64(ctx, 0), tn_i64(ctx, extents[i])));
        return tn_buffer_region_of(ctx, own, ranges);
    }
    const tn_buffer_load *l = n->kind == TN_KIND_BUFFER_LOAD ? tn_as_buffer_load(n) : NULL;
    const tn_buffer_store *s = n->kind == TN_KIND_BUFFER_STORE ? tn_as_buffer_store(n) : NULL;
    const tn_node *own = l || s ? tnb_ptrmap_get(&f->flat, l ? l->buffer : s->buffer) : NULL;
    if (!own)
        return NULL;
    tn_list idx = l ? l->indices : s->indices;
    const tn_expr *pixel = idx.at[f->at + 1];
    idx = tn_list_with(ctx, idx, f->at, tn_floordiv(ctx, pixel, tn_i64(ctx, f->W)));
    idx = tn_list_with(ctx, idx, f->at + 1, tn_floormod(ctx, pixel, tn_i64(ctx, f->W)));
    return l ? tn_buffer_load_of(ctx, own, idx) : tn_buffer_store_of(ctx, own, s->value, idx);
}

bool
tnk_collapse_dims(tnk_sch *s, tnk_item *block, uint32_t at)
{
    const tn_buffer_store *st = tn_as_buffer_store(block->block->body);
    flattener f = {.ctx = s->ctx, .at = at};
    if (s->trace.n || s->collapsed)
        return tnk_sch_fail(s, block, "collapse_dims", "it has to be the first primitive");
    const tn_list shape = st ? tn_as_buffer(st->buffer)->shape : (tn_list){0};
    if (shape.n < 2 || at > shape.n - 2 || !tn_int_value(shape.at[at], &f.H) ||
        !tn_int_value(shape.at[at + 1], &f.W))
        return tnk_sch_fail(s, block, "collapse_dims",
                            "its result has no dimensions %u and %u of constant extents", at,
                            at + 1);
    tnb_ptrmap_init(&f.flat, tn_scratch(s->ctx));
    const tn_node *flat = flatten(&f, s->func);
    if (!flat)
        return tnk_sch_fail(
            s, block, "collapse_dims",
            "some block does not go through the dimensions %u and %u as all others do", at, at + 1);
    const char *name = tnk_ref(s, block);
    s->collapsed = s->func;
    s->collapsed_at = at;
    if (!tnk_sch_read(s, tn_as_prim_func(flat)))
        return tnk_sch_fail(s, block, "collapse_dims", "the program cannot be read again");
    tnk_sch_note(s, "collapse_dims(%s, %u)", name, at);
    return true;
}

const tn_node *
tnk_expand_dims(tnk_sch *s, const tn_node *func)
{
    flattener f = {.ctx = s->ctx, .at = s->collapsed_at};
    const tn_prim_func *before = s->collapsed, *p = tn_as_prim_func(func);
    tnb_ptrmap_init(&f.flat, tn_scratch(s->ctx));
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i] && p->buffers.at[i] != before->buffers.at[i]) {
            const tn_list shape = tn_as_buffer(before->buffers.at[i])->shape;
            tnb_ptrmap_set(&f.flat, p->buffers.at[i], before->buffers.at[i]);
            if (!tn_int_value(shape.at[f.at], &f.H) || !tn_int_value(shape.at[f.at + 1], &f.W))
                return NULL;
        }
    tn_rewriter r = {.ctx = s->ctx, .user = &f, .post = rows_again};
    const tn_stmt *body = tn_rewrite(&r, p->body);
    const tn_node *out =
        tn_prim_func_of(s->ctx, before->params, before->buffers, body, p->ret, p->attrs);
    return tn_is_error(out) ? NULL : out;
}
