/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor-expression builder: stages, the loops and the block of each. */
#include "te.h"

#include <math.h>

typedef struct stage {
    tnk_stage pub;
    const char *name; /* of the buffer and the block */
    tnb_dtype dtype;
    tn_list dims;
    uint32_t n_iters; /* axes, then reduction iterators */
    struct iter {
        const tn_expr *loop, *var, *extent;
        tn_iter_kind kind;
    } * iters;
    uint32_t cap;
} stage;

const tn_expr *
te_handle(tnk_te *te, const tn_node *buffer)
{
    const char *name = tnb_printf(te->arena, "var_%s", tn_as_buffer(buffer)->name);
    return tn_var_dtype(te->ctx, name, TNB_DTYPE(TNB_HANDLE, 64));
}

static const tn_expr *
add_iter(stage *s, const char *name, const tn_expr *extent, tn_iter_kind kind)
{
    tnk_te *te = s->pub.te;
    if (s->n_iters == s->cap)
        s->iters = tnb_vec_grow(te->arena, s->iters, s->n_iters, &s->cap, sizeof *s->iters);
    struct iter *it = &s->iters[s->n_iters++];
    it->loop = te_var(te, name, TNB_I64);
    it->var = te_var(te, tnb_printf(te->arena, "v_%s", name), TNB_I64);
    it->extent = extent;
    it->kind = kind;
    return it->var;
}

tnk_stage *
tnk_te_stage(tnk_te *te, const char *name, const tn_expr *const *dims, uint32_t n_dims, tnb_dtype d)
{
    stage *s = TNB_NEW(te->arena, stage);
    s->pub.te = te;
    s->name = te_name(te, name);
    s->dtype = d;
    s->dims = te_exprs(te, dims, n_dims);
    const tn_expr **axes = TNB_NEW_N(te->arena, const tn_expr *, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) {
        const char *axis = tnb_printf(te->arena, "ax%u", i);
        axes[i] = add_iter(s, axis, s->dims.at[i], TN_ITER_SPATIAL);
    }
    s->pub.axes = axes;
    s->pub.n_axes = n_dims;
    return &s->pub;
}

tnk_stage *
tnk_te_stage_like(tnk_te *te, const char *name, const tn_node *buffer, tnb_dtype d)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    return tnk_te_stage(te, name, b->shape.at, b->shape.n, d);
}

const tn_expr *
tnk_te_reduce_axis(tnk_stage *pub, const char *name, const tn_expr *extent)
{
    stage *s = (stage *)pub;
    return add_iter(s, name, tnk_te_expr(pub->te, extent), TN_ITER_REDUCE);
}

/* ---- regions ---- */

typedef struct region {
    const tn_node *buffer;
    const tn_node **idx; /* per dimension; NULL: the whole extent */
} region;

typedef struct reads {
    tnk_te *te;
    const stage *s;
    TNB_VEC(region) at;
} reads;

/* Whether an index speaks only of what is fixed for an instance of the block and loads nothing. */
typedef struct fixed_check {
    tnk_te *te;
    bool ok;
} fixed_check;

static tn_walk_step
check_fixed(void *user, const tn_node *n)
{
    fixed_check *c = user;
    if (n->kind == TN_KIND_BUFFER_LOAD || n->kind == TN_KIND_LET ||
        (n->kind == TN_KIND_VAR && !tnb_ptrmap_has(&c->te->own, n))) {
        c->ok = false;
        return TN_WALK_STOP;
    }
    return TN_WALK_ON;
}

static bool
is_fixed(tnk_te *te, const tn_expr *index)
{
    fixed_check c = {te, true};
    tn_walk(index, 0, check_fixed, NULL, &c);
    return c.ok;
}

static tn_walk_step
collect_read(void *user, const tn_node *n)
{
    reads *r = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l)
        return TN_WALK_ON;
    region *found = NULL;
    for (uint32_t i = 0; i < r->at.n && !found; i++) {
        if (r->at.at[i].buffer == l->buffer)
            found = &r->at.at[i];
    }
    if (!found) {
        region fresh = {l->buffer, TNB_NEW_N(r->te->arena, const tn_node *, l->indices.n)};
        for (uint32_t i = 0; i < l->indices.n; i++)
            fresh.idx[i] = is_fixed(r->te, l->indices.at[i]) ? l->indices.at[i] : NULL;
        TNB_PUSH(r->te->arena, r->at, fresh);
        return TN_WALK_ON;
    }
    for (uint32_t i = 0; i < l->indices.n; i++) {
        if (found->idx[i] && !tn_equal(r->te->ctx, found->idx[i], l->indices.at[i], false, NULL))
            found->idx[i] = NULL;
    }
    return TN_WALK_ON;
}

static const tn_node *
region_node(tnk_te *te, const region *r)
{
    tn_list shape = tn_as_buffer(r->buffer)->shape;
    const tn_node **ranges = TNB_NEW_N(te->arena, const tn_node *, shape.n);
    const tn_expr *zero = tn_i64(te->ctx, 0), *one = tn_i64(te->ctx, 1);
    for (uint32_t i = 0; i < shape.n; i++)
        ranges[i] = r->idx[i] ? tn_range_of(te->ctx, r->idx[i], one)
                              : tn_range_of(te->ctx, zero, shape.at[i]);
    return tn_buffer_region_of(te->ctx, r->buffer, tn_list_of(te->ctx, ranges, shape.n));
}

/* The regions that values read. */
static tn_list
read_regions(stage *s, const tn_expr *const *values, uint32_t n)
{
    reads r = {.te = s->pub.te, .s = s};
    for (uint32_t i = 0; i < n; i++)
        tn_walk(values[i], 0, collect_read, NULL, &r);
    const tn_node **at = TNB_NEW_N(r.te->arena, const tn_node *, r.at.n);
    for (uint32_t i = 0; i < r.at.n; i++)
        at[i] = region_node(r.te, &r.at.at[i]);
    return tn_list_of(r.te->ctx, at, r.at.n);
}

/* ---- loops and block ---- */

/* A reduction over nothing: its loops would not even run the init. */
static bool
reduces_nothing(const stage *s)
{
    for (uint32_t i = s->pub.n_axes; i < s->n_iters; i++)
        if (tn_is_int_const(s->iters[i].extent, 0))
            return true;
    return false;
}

static void
close_stage(stage *s, tn_list in, tn_list out, const tn_stmt *init, const tn_stmt *body)
{
    tnk_te *te = s->pub.te;
    tn_ctx *ctx = te->ctx;
    const tn_expr *zero = tn_i64(ctx, 0);
    if (init && reduces_nothing(s)) {
        body = init;
        init = NULL;
        in = (tn_list){0};
        s->n_iters = s->pub.n_axes;
    }
    bool scalar = s->n_iters == 0; /* a block has at least one iterator */
    if (scalar)
        add_iter(s, "i", tn_i64(ctx, 1), TN_ITER_SPATIAL);
    const tn_node **iters = TNB_NEW_N(te->arena, const tn_node *, s->n_iters);
    const tn_node **values = TNB_NEW_N(te->arena, const tn_node *, s->n_iters);
    for (uint32_t i = 0; i < s->n_iters; i++) {
        const struct iter *it = &s->iters[i];
        iters[i] = tn_iter_var_of(ctx, tn_range_of(ctx, zero, it->extent), it->var, it->kind, NULL);
        values[i] = scalar ? zero : it->loop;
    }
    tn_block b = {.name = s->name,
                  .iters = tn_list_of(ctx, iters, s->n_iters),
                  .reads = in,
                  .writes = out,
                  .init = init,
                  .body = body};
    const tn_stmt *stmt = tn_block_realize_of(ctx, tn_list_of(ctx, values, s->n_iters),
                                              tn_bool(ctx, true), tn_block_of(ctx, &b));
    for (uint32_t i = s->n_iters; i-- > 0 && !scalar;)
        stmt = tn_for_of(ctx, s->iters[i].loop, zero, s->iters[i].extent, TN_FOR_SERIAL, NULL, NULL,
                         stmt);
    TNB_PUSH(te->arena, te->stages, stmt);
}

static const tn_node *
stage_buffer(stage *s, const char *name, tnb_dtype d)
{
    tnk_te *te = s->pub.te;
    const tn_node *b = te_new_buffer(te, name, s->dims, d);
    TNB_PUSH(te->arena, te->made, b);
    return b;
}

static tn_list
stage_index(const stage *s)
{
    return tn_list_of(s->pub.te->ctx, s->pub.axes, s->pub.n_axes);
}

const tn_node *
tnk_te_define(tnk_stage *pub, const tn_expr *value)
{
    stage *s = (stage *)pub;
    tnk_te *te = pub->te;
    const tn_node *b = stage_buffer(s, s->name, s->dtype);
    if (tn_is_error(value)) {
        te->bad = true;
        return b;
    }
    tn_list index = stage_index(s), in = read_regions(s, &value, 1);
    tn_list out = tn_listv(te->ctx, tn_region_point(te->ctx, b, index), NULL);
    close_stage(s, in, out, NULL, tn_buffer_store_of(te->ctx, b, value, index));
    return b;
}

static const tn_expr *
identity_of(tn_ctx *ctx, tnk_reduction kind, tnb_dtype d)
{
    switch (kind) {
    case TNK_SUM:
        return tn_literal(ctx, d, 0);
    case TNK_PROD:
        return tn_literal(ctx, d, 1);
    case TNK_MAX:
        return tnb_dtype_is_float(d) ? tn_float_imm_of(ctx, d, -INFINITY) : tn_min_value(ctx, d);
    case TNK_MIN:
        return tnb_dtype_is_float(d) ? tn_float_imm_of(ctx, d, INFINITY) : tn_max_value(ctx, d);
    case TNK_MAX_FINITE:
        return tn_min_value(ctx, d);
    case TNK_ANY:
        return tn_bool(ctx, false);
    case TNK_ALL:
        return tn_bool(ctx, true);
    }
    return tn_error_node(ctx);
}

static const tn_expr *
combine(tn_ctx *ctx, tnk_reduction kind, const tn_expr *acc, const tn_expr *x)
{
    switch (kind) {
    case TNK_SUM:
        return tn_add(ctx, acc, x);
    case TNK_PROD:
        return tn_mul(ctx, acc, x);
    case TNK_MAX:
    case TNK_MAX_FINITE:
        return tn_max(ctx, acc, x);
    case TNK_MIN:
        return tn_min(ctx, acc, x);
    case TNK_ANY:
        return tn_or_of(ctx, acc, x);
    case TNK_ALL:
        return tn_and_of(ctx, acc, x);
    }
    return tn_error_node(ctx);
}

const tn_node *
tnk_te_reduce(tnk_stage *pub, tnk_reduction kind, const tn_expr *value)
{
    stage *s = (stage *)pub;
    tnk_te *te = pub->te;
    tn_ctx *ctx = te->ctx;
    const tn_node *b = stage_buffer(s, s->name, s->dtype);
    if (tn_is_error(value)) {
        te->bad = true;
        return b;
    }
    value = tn_cast_to(ctx, s->dtype, value);
    tn_list index = stage_index(s), in = read_regions(s, &value, 1);
    tn_list out = tn_listv(ctx, tn_region_point(ctx, b, index), NULL);
    const tn_stmt *init = tn_buffer_store_of(ctx, b, identity_of(ctx, kind, s->dtype), index);
    const tn_stmt *body =
        tn_buffer_store_of(ctx, b, combine(ctx, kind, tn_buffer_load_of(ctx, b, index), value),
                           index);
    close_stage(s, in, out, init, body);
    return b;
}

const tn_node *
tnk_te_sum(tnk_stage *s, const tn_expr *value)
{
    return tnk_te_reduce(s, TNK_SUM, value);
}

void
tnk_te_reduce_tuple(tnk_stage *pub, const tnb_dtype *dtypes, const tn_expr *const *values,
                    const tn_expr *const *init, uint32_t n,
                    void (*combine_fn)(tn_ctx *ctx, const tn_expr *const *acc,
                                       const tn_expr *const *x, const tn_expr **next, uint32_t n,
                                       void *user),
                    void *user, const tn_node **outs)
{
    stage *s = (stage *)pub;
    tnk_te *te = pub->te;
    tn_ctx *ctx = te->ctx;
    tn_list index = stage_index(s);
    const tn_expr **acc = TNB_NEW_N(te->arena, const tn_expr *, n);
    const tn_expr **next = TNB_NEW_N(te->arena, const tn_expr *, n);
    const tn_node **first = TNB_NEW_N(te->arena, const tn_node *, n);
    const tn_node **then = TNB_NEW_N(te->arena, const tn_node *, 2 * (size_t)n);
    const tn_node **regions = TNB_NEW_N(te->arena, const tn_node *, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = te_name(te, tnb_printf(te->arena, "%s_v%u", s->name, i));
        outs[i] = stage_buffer(s, name, dtypes[i]);
        acc[i] = tn_buffer_load_of(ctx, outs[i], index);
        first[i] = tn_buffer_store_of(ctx, outs[i], init[i], index);
        regions[i] = tn_region_point(ctx, outs[i], index);
        te->bad |= tn_is_error(values[i]);
    }
    if (te->bad)
        return;
    combine_fn(ctx, acc, values, next, n, user);
    /* All new accumulators are computed before the first is stored. */
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *v = te_var(te, tnb_printf(te->arena, "v_%s_v%u", s->name, i), dtypes[i]);
        then[i] = tn_bind_of(ctx, v, tn_cast_to(ctx, dtypes[i], next[i]));
        then[n + i] = tn_buffer_store_of(ctx, outs[i], v, index);
    }
    close_stage(s, read_regions(s, values, n), tn_list_of(ctx, regions, n),
                tn_seq_of(ctx, tn_list_of(ctx, first, n)),
                tn_seq_of(ctx, tn_list_of(ctx, then, 2 * n)));
}

void
tnk_te_extern(tnk_te *te, const char *name, const tn_node *const *ins, uint32_t n_ins,
              const tn_node *const *outs, uint32_t n_outs, const tn_stmt *body)
{
    tn_ctx *ctx = te->ctx;
    stage *s = TNB_NEW(te->arena, stage);
    s->pub.te = te;
    s->name = te_name(te, name);
    const tn_node **in = TNB_NEW_N(te->arena, const tn_node *, n_ins);
    const tn_node **out = TNB_NEW_N(te->arena, const tn_node *, n_outs);
    for (uint32_t i = 0; i < n_ins; i++)
        in[i] = tn_region_full(ctx, ins[i]);
    for (uint32_t i = 0; i < n_outs; i++)
        out[i] = tn_region_full(ctx, outs[i]);
    if (tn_is_error(body)) {
        te->bad = true;
        return;
    }
    close_stage(s, tn_list_of(ctx, in, n_ins), tn_list_of(ctx, out, n_outs), NULL, body);
}

void
tnk_te_append(tnk_te *te, const tn_stmt *nest)
{
    te->bad |= tn_is_error(nest);
    TNB_PUSH(te->arena, te->stages, nest);
}
