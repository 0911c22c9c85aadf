/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a tensor program only hands on elements of one tensor in their order: a reshape, or a slice of a contiguous range.
 *
 *     B[i, j] = A[i * 3 + j]          in order, from element 0 on
 *     B[i, j] = A[i + 128, j]         in order, from element 128 * n on
 *
 * The simplifier proves it on the flattened indices of each block, after two iterations have been tried with numbers, which
 * most of the others are refuted by.
 */
#include "transform.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

typedef struct recognizer {
    tn_ctx *ctx;
    const tn_node *current; /* the buffer whose elements have been carried so far */
    int64_t first;          /* which element of the parameter is the first of that buffer */
    bool any_first;         /* another one than 0, too */
    bool ok;
} recognizer;

static const tn_expr *
flat_index(tn_ctx *ctx, tn_list indices, tn_list shape)
{
    const tn_expr *flat = tn_i64(ctx, 0);
    for (uint32_t i = 0; i < indices.n && i < shape.n; i++)
        flat = tn_add(ctx, tn_mul(ctx, flat, tn_cast_to(ctx, TNB_I64, shape.at[i])),
                      tn_cast_to(ctx, TNB_I64, indices.at[i]));
    return flat;
}

/* ---- trying numbers ---- */

/* What e is when each iterator has its least value and, with `step`, iterator i is i + 1 more where its extent permits. */
static bool
value_at(const tn_block *block, bool step, const tn_expr *e, int64_t *out)
{
    if (tn_int_value(e, out))
        return true;
    const tn_binary *b = tn_as_binary(e);
    const tn_cast *c = tn_as_cast(e);
    int64_t x, y, extent;
    if (b)
        return value_at(block, step, b->a, &x) && value_at(block, step, b->b, &y) &&
               tn_fold_int(e->kind, tn_dtype_of(e), x, y, out);
    if (c)
        return value_at(block, step, c->value, out);
    for (uint32_t i = 0; i < block->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(block->iters.at[i]);
        const tn_range *dom = tn_as_range(iv->dom);
        if (iv->var != e)
            continue;
        if (!tn_int_value(dom->min, out) || !tn_int_value(dom->extent, &extent))
            return false;
        *out += !step ? 0 : (int64_t)i + 1 < extent ? (int64_t)i + 1 : extent - 1;
        return true;
    }
    return false;
}

/* How far `to` lies behind `from` in one iteration: not the same for all that are in order. */
static bool
distance_at(const tn_block *block, bool step, const tn_expr *from, const tn_expr *to, int64_t *out)
{
    int64_t x, y;
    return value_at(block, step, from, &x) && value_at(block, step, to, &y) &&
           tn_fold_int(TN_KIND_SUB, TNB_I64, x, y, out);
}

/* ---- blocks ---- */

/* B[g(v)] = A[f(v)] with equal flat indices, or with any_first always as far apart. Elements of B that no iteration writes are
 * undefined, so how the iterations come about (bindings, predicates, threads) does not matter. */
static bool
is_copy_in_order(recognizer *r, const tn_block *block)
{
    const tn_buffer_store *store = tn_as_buffer_store(block->body);
    const tn_buffer_load *load = store ? tn_as_buffer_load(store->value) : NULL;
    if (!load || block->init || load->buffer != r->current)
        return false;
    const tn_buffer *to = tn_as_buffer(store->buffer), *from = tn_as_buffer(load->buffer);
    if (!tnb_dtype_eq(to->dtype, from->dtype) || store->indices.n != to->shape.n ||
        load->indices.n != from->shape.n)
        return false;
    for (uint32_t i = 0; i < block->iters.n; i++)
        if (tn_as_iter_var(block->iters.at[i])->iter_kind != TN_ITER_SPATIAL)
            return false;
    const tn_expr *at = flat_index(r->ctx, load->indices, from->shape);
    const tn_expr *put = flat_index(r->ctx, store->indices, to->shape);
    int64_t first = 0, other;
    if (distance_at(block, false, at, put, &first)) {
        if (first && !r->any_first)
            return false;
        if (distance_at(block, true, at, put, &other) && other != first)
            return false;
    }
    tn_arith *a = tn_arith_new(r->ctx);
    for (uint32_t i = 0; i < block->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(block->iters.at[i]);
        const tn_range *dom = tn_as_range(iv->dom);
        tn_arith_range(a, iv->var, dom->min, dom->extent);
    }
    r->current = store->buffer;
    return tnb_add_i64(r->first, first, &r->first) &&
           tn_prove_eq(a, at, first ? tn_add(r->ctx, put, tn_i64(r->ctx, first)) : put);
}

static tn_walk_step
follow_block(void *user, const tn_node *n)
{
    recognizer *r = user;
    const tn_block *b = tn_as_block(n);
    if (tn_is(n, TN_KIND_BUFFER_STORE) || tn_is(n, TN_KIND_EVALUATE))
        r->ok = false; /* work outside blocks */
    if (!b || (!b->iters.n && !tn_is(b->body, TN_KIND_BUFFER_STORE)))
        return r->ok ? TN_WALK_ON : TN_WALK_STOP;
    if (r->ok && is_copy_in_order(r, b))
        return TN_WALK_SKIP;
    r->ok = false;
    return TN_WALK_STOP;
}

/* ---- programs ---- */

typedef struct usage {
    const tn_node *buffer;
    bool found;
} usage;

static tn_walk_step
find_use(void *user, const tn_node *n)
{
    usage *u = user;
    const tn_buffer_load *load = tn_as_buffer_load(n);
    const tn_buffer_store *store = tn_as_buffer_store(n);
    u->found |= (load && load->buffer == u->buffer) || (store && store->buffer == u->buffer) ||
                n == tn_as_buffer(u->buffer)->data;
    return u->found ? TN_WALK_STOP : TN_WALK_ON;
}

/* An image has a shape of its own: what lies in it is copied. */
static bool
is_image(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && strncmp(scope, "global.texture", 14) == 0;
}

int
transform_param_in_order(tn_ctx *ctx, const tn_prim_func *f, int64_t *first)
{
    const tn_node *out = f->buffers.n ? f->buffers.at[f->buffers.n - 1] : NULL;
    int in = -1;
    for (uint32_t i = 0; out && i + 1 < f->buffers.n; i++) {
        usage u = {.buffer = f->buffers.at[i]};
        if (!u.buffer)
            continue; /* shape variables */
        tn_walk(f->body, TN_WALK_ONCE, find_use, NULL, &u);
        if (u.found && in >= 0)
            return -1;
        if (u.found)
            in = (int)i;
    }
    if (in < 0 || is_image(out) || is_image(f->buffers.at[in]))
        return -1;
    recognizer r = {.ctx = ctx,
                    .current = f->buffers.at[in],
                    .any_first = first != NULL,
                    .ok = true};
    tn_walk(f->body, 0, follow_block, NULL, &r);
    if (!r.ok || r.current != out)
        return -1;
    if (first)
        *first = r.first;
    return in;
}
