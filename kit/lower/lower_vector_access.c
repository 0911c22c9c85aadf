/* SPDX-License-Identifier: Apache-2.0 */
/* LowerVectorAccess: for targets without pointers (supports_pointers = False) an access is of one element of its buffer.
 *
 *     B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i, 1, 4)]    =>    B[i] = T.Shuffle([A[i], A[i + 1], A[i + 2], A[i + 3]], [0, 1, 2, 3])
 *
 * A buffer that is accessed by aligned vectors of 2 or 4 lanes alone becomes one of such vectors, as B above; of others the elements
 * are accessed one by one. Bytes of parameters stay where they are. Needs: flat buffers without views (LowerViews).
 */
#include "lower.h"

/* How a buffer is accessed. */
typedef struct usage {
    const tn_node *buffer, *vectors; /* of vectors, if it can be */
    int64_t lanes; /* of all accesses; 0: none yet, -1: they differ, or are not aligned */
} usage;

typedef struct lowering {
    tn_ctx *ctx;
    tnk_ranged ranged; /* knows what divides what */
    tnb_ptrmap usages;
} lowering;

enum { MAX_LANES = 1024 };

static usage *
usage_of(lowering *w, const tn_node *buffer)
{
    usage *u = tnb_ptrmap_get(&w->usages, buffer);
    if (!u) {
        u = TNB_NEW(tn_scratch(w->ctx), usage);
        *u = (usage){.buffer = buffer};
        tnb_ptrmap_set(&w->usages, buffer, u);
    }
    return u;
}

static bool
divides(lowering *w, int64_t n, const tn_expr *e)
{
    int64_t coeff, base;
    tn_modular(w->ranged.arith, e, &coeff, &base);
    return coeff % n == 0 && base % n == 0;
}

static void
note(lowering *w, const tn_node *buffer, tn_list idx)
{
    usage *u = usage_of(w, buffer);
    const tn_buffer *b = tn_as_buffer(buffer);
    const tn_ramp *r = idx.n == 1 ? tn_as_ramp(idx.at[0]) : NULL;
    int64_t n = r && tn_is_int_const(r->stride, 1) ? r->lanes : 0;
    bool fits = (n == 2 || n == 4) && b->dtype.lanes == 1 && b->shape.n == 1 &&
                divides(w, n, r->start) && divides(w, n, b->shape.at[0]);
    u->lanes = !fits || (u->lanes && u->lanes != n) ? -1 : n;
}

static tn_walk_step
find_access(void *user, const tn_node *n)
{
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    if (buffer)
        note(user, buffer, idx);
    return TN_WALK_ON;
}

/* The buffer of vectors in the place of one of elements; itself where it stays. */
static const tn_node *
of_vectors(lowering *w, const tn_node *buffer)
{
    usage *u = buffer ? tnb_ptrmap_get(&w->usages, buffer) : NULL;
    if (!u || u->lanes <= 0)
        return buffer;
    if (u->vectors)
        return u->vectors;
    tn_buffer b = *tn_as_buffer(buffer);
    const tn_expr *extent = b.shape.at[0];
    const tn_expr *size =
        tn_simplify(w->ranged.arith,
                    tn_floordiv(w->ctx, extent,
                                tn_int_imm_of(w->ctx, tn_dtype_of(extent), u->lanes)));
    b.data = NULL;
    b.dtype.lanes = (uint16_t)u->lanes;
    b.shape = tn_list_of(w->ctx, &size, 1);
    return u->vectors = tn_buffer_of(w->ctx, &b);
}

static const tn_expr *
vector_index(lowering *w, const tn_ramp *r)
{
    const tn_expr *lanes = tn_int_imm_of(w->ctx, tn_dtype_of(r->start), r->lanes);
    return tn_simplify(w->ranged.arith, tn_floordiv(w->ctx, r->start, lanes));
}

static const tn_expr *
lane(tn_ctx *ctx, const tn_expr *e, int64_t i)
{
    const tn_ramp *r = tn_as_ramp(e);
    const tn_broadcast *b = tn_as_broadcast(e);
    const tn_shuffle *s = tn_as_shuffle(e);
    int64_t from;
    if (r)
        return tn_add(ctx, r->start,
                      tn_mul(ctx, r->stride, tn_int_imm_of(ctx, tn_dtype_of(r->stride), i)));
    if (b && tn_dtype_of(b->value).lanes == 1)
        return b->value;
    if (s && s->vectors.n == s->indices.n && tn_int_value(s->indices.at[i], &from) &&
        tn_dtype_of(s->vectors.at[0]).lanes == 1 && from >= 0 && from < s->vectors.n)
        return s->vectors.at[from];
    const tn_expr *k = tn_i32(ctx, (int32_t)i);
    return tn_shuffle_of(ctx, tn_list_of(ctx, &e, 1), tn_list_of(ctx, &k, 1));
}

/* A load of several elements, each in a Cast to `cast` unless it is void. */
static const tn_node *
load_as(lowering *w, const tn_buffer_load *l, tnb_dtype cast)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *i = l->indices.n == 1 ? l->indices.at[0] : NULL;
    int64_t lanes = i ? tn_dtype_of(i).lanes : 1;
    if (lanes == 1 || lanes > MAX_LANES || tn_as_buffer(l->buffer)->dtype.lanes != 1)
        return NULL;
    const tn_node *vectors = of_vectors(w, l->buffer);
    if (vectors != l->buffer) {
        const tn_expr *x =
            tn_buffer_load_of(ctx, vectors,
                              tn_listv(ctx, vector_index(w, (const tn_ramp *)i), NULL));
        return cast.bits ? tn_raw_cast(ctx, cast, x) : x;
    }
    const tn_expr *at[MAX_LANES], *order[MAX_LANES];
    cast.lanes = 1;
    for (int64_t k = 0; k < lanes; k++) {
        at[k] = tn_buffer_load_of(ctx, l->buffer, tn_listv(ctx, lane(ctx, i, k), NULL));
        at[k] = cast.bits ? tn_raw_cast(ctx, cast, at[k]) : at[k];
        order[k] = tn_i32(ctx, (int32_t)k);
    }
    return tn_shuffle_of(ctx, tn_list_of(ctx, at, (uint32_t)lanes),
                         tn_list_of(ctx, order, (uint32_t)lanes));
}

/* A Cast stays with its load: narrow numbers may be loaded alone. */
static const tn_node *
pre(tn_rewriter *rw, const tn_node *n)
{
    const tn_cast *c = tn_as_cast(n);
    const tn_buffer_load *l = c ? tn_as_buffer_load(c->value) : NULL;
    if (!l || tn_dtype_of(n).lanes == 1 || tn_dtype_of(n).bits <= tn_dtype_of(c->value).bits)
        return NULL;
    tn_list at = tn_rewrite_list(rw, l->indices);
    return load_as(rw->user, tn_as_buffer_load(tn_buffer_load_of(rw->ctx, l->buffer, at)),
                   tn_dtype_of(n));
}

static const tn_node *
load(tn_rewriter *rw, const tn_node *n)
{
    const tn_buffer_load *l = tn_as_buffer_load(n);
    return l ? load_as(rw->user, l, TNB_VOID) : NULL;
}

static const tn_expr *
in_expr(tnk_ranged *r, const tn_expr *e)
{
    tn_rewriter rw = {.ctx = r->ctx, .user = r->user, .pre = pre, .post = load};
    return tn_rewrite(&rw, e);
}

/* A variable for a vector of which lanes are taken one by one. */
static const tn_expr *
held(tn_ctx *ctx, const tn_expr *e, tnk_stmt_vec *out)
{
    if (tn_is_var(e) || tn_as_ramp(e) || tn_as_broadcast(e))
        return e;
    const tn_expr *v = tn_var_dtype(ctx, "vector", tn_dtype_of(e));
    TNB_PUSH(tn_scratch(ctx), *out, tn_bind_of(ctx, v, e));
    return v;
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    lowering *w = r->user;
    tn_ctx *ctx = r->ctx;
    if (s->kind == TN_KIND_ALLOC_BUFFER) {
        const tn_alloc_buffer *a = (const tn_alloc_buffer *)s;
        const tn_node *vectors = of_vectors(w, a->buffer);
        return vectors == a->buffer ? NULL : tn_alloc_buffer_of(ctx, vectors, a->annotations);
    }
    const tn_buffer_store *b = s->kind == TN_KIND_BUFFER_STORE ? (const tn_buffer_store *)s : NULL;
    if (!b || b->indices.n != 1 || tn_dtype_of(b->indices.at[0]).lanes == 1)
        return NULL;
    const tn_node *vectors = of_vectors(w, b->buffer);
    if (vectors != b->buffer)
        return tn_buffer_store_of(ctx, vectors, b->value,
                                  tn_listv(ctx, vector_index(w, (const tn_ramp *)b->indices.at[0]),
                                           NULL));
    if (tn_as_buffer(b->buffer)->dtype.lanes != 1)
        return NULL;
    tnk_stmt_vec out = {0};
    const tn_cast *cast = tn_as_cast(b->value);
    if (cast && tn_dtype_of(b->value).bits >= tn_dtype_of(cast->value).bits)
        cast = NULL;
    const tn_expr *value = held(ctx, cast ? cast->value : b->value, &out),
                  *at = held(ctx, b->indices.at[0], &out);
    if (tn_as_broadcast(value)) { /* what it reads may be written by the first of the stores */
        const tn_expr *one = tn_as_broadcast(value)->value;
        if (!tn_is_var(one) && one->kind != TN_KIND_INT_IMM && one->kind != TN_KIND_FLOAT_IMM)
            value = tn_broadcast_of(ctx, held(ctx, one, &out), tn_dtype_of(value).lanes);
    }
    for (int64_t k = 0; k < tn_dtype_of(at).lanes; k++) {
        const tn_expr *x = lane(ctx, value, k);
        x = cast ? tn_raw_cast(ctx, tn_as_buffer(b->buffer)->dtype, x) : x;
        TNB_PUSH(tn_scratch(ctx), out,
                 tn_buffer_store_of(ctx, b->buffer, x, tn_listv(ctx, lane(ctx, at, k), NULL)));
    }
    return tnk_seq(ctx, out.at, out.n);
}

static tn_walk_step
find_vector(void *user, const tn_node *n)
{
    (void)user;
    tn_list idx;
    bool vector = tnk_accessed(n, &idx) && idx.n == 1 && tn_dtype_of(idx.at[0]).lanes > 1;
    return vector ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_node *
lower_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tn_ctx *ctx = pc->ctx;
    const tn_prim_func *f = tn_as_prim_func(func);
    if (tn_walk(f->body, TN_WALK_ONCE, find_vector, NULL, NULL))
        return func;
    lowering w = {.ctx = ctx, .ranged = {.expr = in_expr, .post = post}};
    tnb_ptrmap_init(&w.usages, tn_scratch(ctx));
    w.ranged.user = &w;
    tnk_ranged_init(&w.ranged, ctx, f);
    tn_walk(f->body, TN_WALK_ONCE, find_access, NULL, &w);
    const tn_stmt *body = tnk_ranged_rewrite(&w.ranged, f->body);
    tn_list buffers = f->buffers;
    for (uint32_t i = 0; i < f->buffers.n; i++)
        tn_list_change(ctx, &buffers, f->buffers, i, of_vectors(&w, f->buffers.at[i]));
    tn_loc was = tn_at(ctx, func->loc);
    const tn_node *n = tn_prim_func_of(ctx, f->params, buffers, body, f->ret, f->attrs);
    tn_at(ctx, was);
    return tn_is_error(body) || tn_is_error(n) ? NULL : n;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_target_lacks(pc, "supports_pointers") ? tnk_map_kernels(pc, m, lower_func, NULL) : m;
}

const tn_pass tnk_pass_lower_vector_access = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerVectorAccess",
    .base.doc = "Makes each access one of an element of its buffer, for targets without pointers.",
    .keeps = TN_KEEPS_SIGNATURES,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
