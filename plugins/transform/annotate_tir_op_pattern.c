/* SPDX-License-Identifier: Apache-2.0 */
/* AnnotateTIROpPattern: classifies tensor programs for fusion.
 *
 *     for i, j in T.grid(8, 4):                      T.func_attr({"op_pattern": 0})
 *         with T.sblock("add"):                =>    ... the program as before
 *             C[vi, vj] = A[vi, vj] + 1
 *
 * Kinds: 0 elementwise, 1 broadcast, 2 injective, 3 commutative reduction, 4 takes elementwise work behind it
 * (products, convolutions, pooling, softmax), 8 opaque. Programs that have a non-zero op_pattern keep theirs.
 * Needs blocks, as legalization writes them. Cases: tests/pass/AnnotateTIROpPattern.
 */
#include "transform.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

enum { ELEMWISE = 0, BROADCAST = 1, INJECTIVE = 2, REDUCE = 3, OUT_FUSABLE = 4, OPAQUE = 8 };

typedef struct analysis {
    tn_ctx *ctx;
    const tn_prim_func *func;
    int kind;
    /* of the block at hand */
    const tn_buffer_store *store;
    bool scattered; /* stores at different places */
    TNB_VEC(const tn_buffer_load *) loads;
} analysis;

/* The same plain variables in the same places. */
static bool
same_places(tn_list a, tn_list b)
{
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++) {
        if (a.at[i] != b.at[i] || !tn_is_var(a.at[i]))
            return false;
    }
    return true;
}

static tn_walk_step
collect(void *user, const tn_node *n)
{
    analysis *a = user;
    if (tn_is(n, TN_KIND_BUFFER_STORE)) {
        const tn_buffer_store *s = tn_as_buffer_store(n);
        if (a->store && !same_places(a->store->indices, s->indices))
            a->scattered = true;
        a->store = s;
    } else if (tn_is(n, TN_KIND_BUFFER_LOAD)) {
        TNB_PUSH(tn_scratch(a->ctx), a->loads, tn_as_buffer_load(n));
    }
    return TN_WALK_ON;
}

/* min(v, n - 1) along an extent n, which may be 1: the variable v. Any other index as it is. */
static const tn_expr *
without_stretch(tn_ctx *ctx, const tn_expr *index, const tn_expr *extent)
{
    const tn_binary *least = tn_is(index, TN_KIND_MIN) ? tn_as_binary(index) : NULL;
    return least && tn_is_var(least->a) &&
                   tn_prove_equal(ctx, least->b,
                                  tn_sub(ctx, extent, tn_int_imm_of(ctx, tn_dtype_of(extent), 1)))
               ? least->a
               : index;
}

/* The load's indices occur in order among the store's; a dimension of extent 1 read at 0 does not
 * count. */
static bool
is_broadcast(tn_ctx *ctx, const tn_buffer_store *s, const tn_buffer_load *l)
{
    tn_list shape = tn_as_buffer(l->buffer)->shape;
    uint32_t at = 0;
    for (uint32_t i = 0; i < l->indices.n; i++) {
        const tn_expr *index = l->indices.at[i];
        if (tn_is_int_const(index, 0) && i < shape.n && tn_is_int_const(shape.at[i], 1))
            continue;
        index = i < shape.n ? without_stretch(ctx, index, shape.at[i]) : index;
        if (!tn_is_var(index))
            return false;
        while (at < s->indices.n && s->indices.at[at] != index)
            at++;
        if (at++ == s->indices.n)
            return false;
    }
    return true;
}

static bool
is_among(const tn_node *n, tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.at[i] == n)
            return true;
    }
    return false;
}

/* The store's indices are plain variables, and the load's use no others. */
static bool
is_injective(analysis *a, const tn_buffer_load *l)
{
    for (uint32_t i = 0; i < a->store->indices.n; i++) {
        if (!tn_is_var(a->store->indices.at[i]))
            return false;
    }
    for (uint32_t i = 0; i < l->indices.n; i++) {
        tn_list used = tn_free_vars(a->ctx, l->indices.at[i], false);
        for (uint32_t k = 0; k < used.n; k++) {
            if (!is_among(used.at[k], a->store->indices))
                return false;
        }
    }
    return true;
}

static int
pair_kind(analysis *a)
{
    int kind = ELEMWISE;
    bool some_elemwise = false;
    for (uint32_t i = 0; i < a->loads.n; i++) {
        const tn_buffer_load *l = a->loads.at[i];
        int k = OPAQUE;
        if (same_places(a->store->indices, l->indices)) {
            k = ELEMWISE;
            some_elemwise = true;
        } else if (is_broadcast(a->ctx, a->store, l)) {
            k = BROADCAST;
        } else if (is_injective(a, l)) {
            k = INJECTIVE;
        }
        if (k > kind)
            kind = k;
    }
    return kind == BROADCAST && some_elemwise ? ELEMWISE : kind;
}

static bool
writes_parameter(const analysis *a, const tn_block *b)
{
    for (uint32_t i = 0; i < b->writes.n; i++) {
        if (is_among(tn_as_buffer_region(b->writes.at[i])->buffer, a->func->buffers))
            return true;
    }
    return false;
}

static const tn_node *
without_casts(const tn_node *n)
{
    while (tn_is(n, TN_KIND_CAST))
        n = tn_as_cast(n)->value;
    return n;
}

/* A load that does not follow all of the store's index variables. */
static bool
is_factor(const tn_node *n, const tn_buffer_store *s)
{
    const tn_buffer_load *l = tn_as_buffer_load(without_casts(n));
    if (!l)
        return false;
    for (uint32_t i = 0; i < s->indices.n; i++) {
        bool used = false;
        for (uint32_t k = 0; k < l->indices.n && !used; k++)
            used = tn_uses(l->indices.at[k], s->indices.at[i]);
        if (!used)
            return true;
    }
    return false;
}

/* C[..] = C[..] + A[..] * B[..] */
static bool
is_multiply_add(const tn_buffer_store *s)
{
    const tn_binary *sum = tn_is(s->value, TN_KIND_ADD) ? tn_as_binary(s->value) : NULL;
    const tn_buffer_load *acc = sum ? tn_as_buffer_load(sum->a) : NULL;
    if (!acc || acc->buffer != s->buffer || !same_places(acc->indices, s->indices))
        return false;
    const tn_node *product = without_casts(sum->b);
    const tn_binary *mul = tn_is(product, TN_KIND_MUL) ? tn_as_binary(product) : NULL;
    return mul && is_factor(mul->a, s) && is_factor(mul->b, s);
}

/* Some load uses a reduction variable inside a larger index. */
static bool
has_window(analysis *a, const tn_block *b)
{
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_iter_var *it = tn_as_iter_var(b->iters.at[i]);
        if (it->iter_kind != TN_ITER_REDUCE)
            continue;
        for (uint32_t k = 0; k < a->loads.n; k++) {
            tn_list idx = a->loads.at[k]->indices;
            for (uint32_t d = 0; d < idx.n; d++) {
                if (idx.at[d] != it->var && tn_uses(idx.at[d], it->var))
                    return true;
            }
        }
    }
    return false;
}

static bool
has_iter(const tn_block *b, tn_iter_kind kind)
{
    for (uint32_t i = 0; i < b->iters.n; i++) {
        if (tn_as_iter_var(b->iters.at[i])->iter_kind == kind)
            return true;
    }
    return false;
}

static int
most(int a, int b)
{
    return a > b ? a : b;
}

static void
classify(analysis *a, const tn_block *b)
{
    a->store = NULL;
    a->scattered = false;
    a->loads.n = 0;
    tn_walk(b->body, 0, collect, NULL, a);
    if (!a->store || a->scattered || has_iter(b, TN_ITER_OPAQUE) || has_iter(b, TN_ITER_SCAN)) {
        a->kind = OPAQUE;
        return;
    }
    int pair = pair_kind(a);
    if (pair != OPAQUE)
        a->kind = a->kind == REDUCE && writes_parameter(a, b) ? OUT_FUSABLE : most(a->kind, pair);
    else if (!has_iter(b, TN_ITER_REDUCE))
        a->kind = OPAQUE;
    else
        a->kind =
            most(a->kind, is_multiply_add(a->store) || has_window(a, b) ? OUT_FUSABLE : REDUCE);
}

static tn_walk_step
enter(void *user, const tn_node *n)
{
    analysis *a = user;
    const tn_block *b = tn_as_block(n);
    if (!b || strcmp(b->name, "root") == 0)
        return TN_WALK_ON;
    classify(a, b);
    return TN_WALK_SKIP;
}

static const tn_node *
annotate(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
         void *user)
{
    int64_t given;
    (void)m;
    (void)name;
    (void)user;
    if (tn_int_value(tn_func_attr(func, "op_pattern"), &given) && given != 0)
        return func;
    analysis a = {.ctx = pc->ctx, .func = tn_as_prim_func(func)};
    tn_walk(a.func->body, 0, enter, NULL, &a);
    return tn_func_with_attr(pc->ctx, func, "op_pattern", tn_i64(pc->ctx, a.kind));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, annotate, NULL);
}

const tn_pass transform_annotate_tir_op_pattern = {
    .base.size = sizeof(tn_pass),
    .opt_level = 0,
    .base.name = "AnnotateTIROpPattern",
    .base.doc = "classifies tensor programs for fusion (attribute op_pattern)",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
