/* SPDX-License-Identifier: Apache-2.0 */
/* SpecializeWarps: the early statements of a software pipeline run in warps of their own, which barriers in shared memory let run ahead.
 *
 *     for w in threadIdx.y(4), t in threadIdx.x(32):               for w in threadIdx.y(5), t in threadIdx.x(32):
 *         for k in range(64):   annotation producer_warps: 1           if w < 4:
 *             S[w, t] = A[k, w, t]                            =>           for k: T.ptx_mbarrier_try_wait(full[k % 3], k // 3 % 2)
 *             T.tvm_storage_sync("shared")                                        ... S[k % 3, 3 - w, t] ...
 *             ... S[3 - w, t] ...                                                 T.ptx_mbarrier_arrive(empty[k % 3])
 *                                                                      else:
 *                                                                          for k: T.ptx_mbarrier_try_wait(empty[k % 3], 1 - k // 3 % 2)
 *                                                                                 for q in T.unroll(4): S[k % 3, q, t] = A[k, q, t]
 *
 * For loops with the annotation software_pipeline_producer_warps beside those of InjectSoftwarePipeline, in a block of warps of 32 threads
 * along threadIdx.x. Stages, buffers with versions and asynchronous copies are those of the pipeline. The copies stand in
 * async_arrive_scope, at whose end they arrive at the barrier `full` (InjectPTXAsyncCopy). Barriers of all threads outside of the loop
 * become those of the warps that compute (ptx_bar_sync). A target without asynchronous copies (supports_async_copy), and a loop whose
 * early statements touch more than global memory and the stages, keep the pipeline as it is. Needs: one loop for each thread index
 * (UnifyThreadBinding), barriers (ThreadSync), no blocks. Cases: tests/pass/SpecializeWarps, tests/cuda/choices.py.
 */
#include "lower.h"

#include "tenon/core/registry.h"

static const char producers_key[] = "software_pipeline_producer_warps",
                  stage_key[] = "software_pipeline_stage", order_key[] = "software_pipeline_order",
                  async_key[] = "software_pipeline_async_stages";

enum { WARP = 32, MAX_PARTS = 32, MAX_BUFFERS = 16, NUMBER = 1 };

typedef struct roles {
    tn_ctx *ctx;
    const tn_pass_ctx *pc;
    const tn_for_loop *warp, *lane, *loop; /* threadIdx.y, threadIdx.x, the pipeline */
    tn_list outside, around;               /* allocations of the block, statements of a thread */
    uint32_t at;                           /* of them is the pipeline */
    int64_t warps, producers, versions;
    const tn_stmt *early[MAX_PARTS], *late[MAX_PARTS]; /* of the pipeline */
    uint32_t n_early, n_late;
    const tn_node *stage[MAX_BUFFERS]; /* buffers that early statements fill */
    uint32_t n_stages;
    tnb_ptrmap versioned; /* Buffer -> the one with versions */
    const tn_node *full, *empty;
} roles;

static bool
is_barrier(const tn_node *n)
{
    return tn_is_intrin(n, TN_INTRIN_tvm_storage_sync);
}

static bool
is_barrier_stmt(const tn_stmt *s)
{
    const tn_evaluate *e = tn_as_evaluate(s);
    return e && is_barrier(e->value);
}

static bool
is_shared(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && !strncmp(scope, "shared", 6);
}

static bool
is_stage(const roles *w, const tn_node *buffer)
{
    for (uint32_t i = 0; i < w->n_stages; i++)
        if (w->stage[i] == buffer)
            return true;
    return false;
}

/* ---- is it such a loop ---- */

typedef struct check {
    roles *w;
    bool early, wrong;
} check;

static tn_walk_step
find_other_memory(void *user, const tn_node *n)
{
    check *c = user;
    tn_list idx;
    const tn_node *b = tnk_accessed(n, &idx);
    const char *scope = b ? tn_as_buffer(b)->scope : NULL;
    c->wrong |= is_barrier(n);
    if (b && c->early && n->kind == TN_KIND_BUFFER_STORE) {
        c->wrong |= !is_shared(b) || (!is_stage(c->w, b) && c->w->n_stages == MAX_BUFFERS);
        if (!c->wrong && !is_stage(c->w, b))
            c->w->stage[c->w->n_stages++] = b;
    } else if (b && c->early) {
        c->wrong |= scope && *scope && strcmp(scope, "global");
    } else if (b && n->kind == TN_KIND_BUFFER_STORE) {
        c->wrong |= is_shared(b);
    }
    c->wrong |= c->early && (n->kind == TN_KIND_ALLOC_BUFFER || tnk_is_warp_call(n));
    return c->wrong ? TN_WALK_STOP : TN_WALK_ON;
}

/* Early statements, those of the asynchronous stage, and the others, of one later stage. */
static bool
take_apart(roles *w)
{
    const tn_node *a = w->loop->annotations;
    int64_t stage[MAX_PARTS], async[MAX_PARTS], first = -1, then = -1;
    int n = tn_dict_ints(a, stage_key, stage, MAX_PARTS),
        k = tn_dict_ints(a, async_key, async, MAX_PARTS), at = 0;
    tn_list body = tn_as_seq(w->loop->body) ? tn_as_seq(w->loop->body)->stmts
                                            : tn_list_of(w->ctx, &w->loop->body, 1);
    if (k != 1)
        return false;
    for (uint32_t i = 0; i < body.n; i++) {
        const tn_stmt *s = body.at[i];
        bool alloc = s->kind == TN_KIND_ALLOC_BUFFER;
        if (is_barrier_stmt(s))
            continue;
        if ((alloc && is_shared(tn_as_alloc_buffer(s)->buffer)) || (!alloc && at == n) ||
            w->n_late == MAX_PARTS)
            return false;
        bool early = !alloc && stage[at] == async[0];
        if (early && w->n_early == MAX_PARTS)
            return false;
        if (early)
            w->early[w->n_early++] = s;
        else
            w->late[w->n_late++] = s;
        if (alloc)
            continue;
        int64_t *is = early ? &first : &then;
        if (*is >= 0 && *is != stage[at])
            return false;
        *is = stage[at++];
    }
    w->versions = then - first + 1;
    check c = {w, true, at != n || first < 0 || then <= first};
    for (uint32_t i = 0; i < w->n_early && !c.wrong; i++)
        tn_walk(w->early[i], 0, find_other_memory, NULL, &c);
    c.early = false;
    for (uint32_t i = 0; i < w->n_late && !c.wrong; i++)
        tn_walk(w->late[i], 0, find_other_memory, NULL, &c);
    return !c.wrong && w->n_stages > 0;
}

static bool
stages_are_its_own(const roles *w)
{
    for (uint32_t i = 0; i < w->n_stages; i++) {
        bool found = false;
        for (uint32_t k = 0; k < w->outside.n; k++)
            found |= w->outside.at[k]->kind == TN_KIND_ALLOC_BUFFER &&
                     tn_as_alloc_buffer(w->outside.at[k])->buffer == w->stage[i];
        for (uint32_t k = 0; k < w->around.n; k++)
            found &= k == w->at || !tn_uses(w->around.at[k], w->stage[i]);
        if (!found)
            return false;
    }
    return true;
}

static bool
may_be(roles *w)
{
    int64_t lanes, most = tnk_target_int(w->pc, "max_threads_per_block", 1024);
    if (!tnk_target_int(w->pc, "supports_async_copy", 0) ||
        !tn_int_value(w->lane->extent, &lanes) || lanes != WARP ||
        !tn_int_value(w->warp->extent, &w->warps) || w->producers < 1 || w->warps % w->producers ||
        (w->warps + w->producers) * WARP > most)
        return false;
    for (uint32_t i = 0; i < w->around.n; i++)
        if (w->around.at[i]->kind == TN_KIND_BIND)
            return false;
    return take_apart(w) && stages_are_its_own(w);
}

/* ---- what it becomes ---- */

static const tn_expr *
number(const roles *w, const tn_expr *like, int64_t n)
{
    return tn_int_imm_of(w->ctx, tn_dtype_of(like), n);
}

static const tn_expr *
turn(const roles *w)
{
    return tn_is_int_const(w->loop->min, 0) ? w->loop->var
                                            : tn_sub(w->ctx, w->loop->var, w->loop->min);
}

static const tn_expr *
version(const roles *w)
{
    const tn_expr *k = turn(w);
    return tn_floormod(w->ctx, k, number(w, k, w->versions));
}

static const tn_expr *
address(const roles *w, const tn_node *barriers, const tn_expr *i)
{
    return tn_intrin1(w->ctx, TN_INTRIN_address_of,
                      tn_buffer_load_of(w->ctx, barriers, tn_list_of(w->ctx, &i, 1)));
}

static const tn_stmt *
on_barrier(const roles *w, tn_intrin_id id, const tn_node *barriers, const tn_expr *i,
           const tn_expr *n)
{
    const tn_expr *args[] = {address(w, barriers, i), n};
    return tn_evaluate_of(w->ctx, tn_intrin(w->ctx, id, tn_list_of(w->ctx, args, n ? 2 : 1)));
}

/* Waits for a phase of the turn's barrier: the one that is under way as often as the version was used, or the one before. */
static const tn_stmt *
wait(const roles *w, const tn_node *barriers, bool before)
{
    const tn_expr *k = turn(w),
                  *parity = tn_floormod(w->ctx, tn_floordiv(w->ctx, k, number(w, k, w->versions)),
                                        number(w, k, 2));
    parity = tn_cast_to(w->ctx, TNB_I32, parity);
    if (before)
        parity = tn_sub(w->ctx, tn_i32(w->ctx, 1), parity);
    return on_barrier(w, TN_INTRIN_ptx_mbarrier_try_wait, barriers, version(w), parity);
}

static const tn_stmt *
sync(const roles *w, const char *scope)
{
    return tn_evaluate_of(w->ctx,
                          tn_intrin1(w->ctx, TN_INTRIN_tvm_storage_sync, tn_string(w->ctx, scope)));
}

static const tn_node *
choose_version(tn_rewriter *r, const tn_node *n)
{
    const roles *w = r->user;
    tn_list idx;
    const tn_node *b = tnk_accessed(n, &idx), *to = b ? tnb_ptrmap_get(&w->versioned, b) : NULL;
    if (!to)
        return NULL;
    tnb_dtype d = idx.n ? tn_dtype_of(idx.at[0]) : TNB_I64;
    d.lanes = 1;
    const tn_expr *which = tn_cast_to(r->ctx, d, version(w));
    tn_list all = tn_list_of(r->ctx, &which, 1);
    for (uint32_t i = 0; i < idx.n; i++)
        all = tn_list_append(r->ctx, all, idx.at[i]);
    return n->kind == TN_KIND_BUFFER_LOAD
               ? tn_buffer_load_of(r->ctx, to, all)
               : tn_buffer_store_of(r->ctx, to, ((const tn_buffer_store *)n)->value, all);
}

static const tn_stmt *
in_version(const roles *w, const tn_stmt *s)
{
    tn_rewriter r = {.ctx = w->ctx, .user = (void *)(uintptr_t)w, .post = choose_version};
    return tn_rewrite(&r, s);
}

/* A new loop like the pipeline, whose variable is its own. */
static const tn_stmt *
turns(const roles *w, const tn_stmt *const *s, uint32_t n)
{
    tn_ctx *ctx = w->ctx;
    const tn_for_loop *f = w->loop;
    const tn_node *a = tn_dict_set(ctx, f->annotations, producers_key, NULL);
    a = tn_dict_set(ctx, a, stage_key, NULL);
    a = tn_dict_set(ctx, a, order_key, NULL);
    a = tn_dict_set(ctx, a, async_key, NULL);
    const tn_dict *left = tn_as_dict(a);
    return tn_fresh_copy(ctx,
                         tn_for_of(ctx, f->var, f->min, f->extent, (tn_for_kind)f->for_kind,
                                   f->thread_tag, left && left->items.n ? a : NULL,
                                   tnk_seq(ctx, s, n)),
                         NULL);
}

static const tn_stmt *
if_first(const roles *w, const tn_expr *var, const tn_stmt *s)
{
    return tn_if_stmt_of(w->ctx, tn_eq(w->ctx, var, number(w, var, 0)), s, NULL);
}

/* The turns of the warps that fill the stages: each does the part of several. */
static const tn_stmt *
produce(const roles *w)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *own = w->warp->var, *q = tn_var_dtype(ctx, "q", tn_dtype_of(own)), *part;
    int64_t parts = w->warps / w->producers;
    own = tn_sub(ctx, own, number(w, own, w->warps));
    part = w->producers == 1 ? q : tn_add(ctx, tn_mul(ctx, q, number(w, q, w->producers)), own);
    const tn_stmt *copies = in_version(w, tnk_seq(ctx, w->early, w->n_early));
    copies = tn_subst1(ctx, copies, w->warp->var, part);
    copies = tn_for_of(ctx, q, number(w, q, 0), number(w, q, parts), TN_FOR_UNROLLED, NULL, NULL,
                       copies);
    const tn_expr *zero = tn_i32(ctx, 0);
    copies = tn_attr_stmt_of(ctx, zero, "async_scope", tn_i32(ctx, 1), copies);
    copies =
        tn_attr_stmt_of(ctx, zero, "async_arrive_scope", address(w, w->full, version(w)), copies);
    const tn_stmt *s[] = {wait(w, w->empty, true), copies};
    return turns(w, s, 2);
}

/* And of those that compute. Threads of a warp may leave a wait one by one, and matrix instructions want them together; one of them arrives
 * for all. */
static const tn_stmt *
consume(const roles *w)
{
    const tn_stmt *s[MAX_PARTS + 8];
    uint32_t n = 0;
    while (n < w->n_late && w->late[n]->kind == TN_KIND_ALLOC_BUFFER) {
        s[n] = w->late[n];
        n++;
    }
    uint32_t first = n;
    s[n++] = wait(w, w->full, false);
    s[n++] = sync(w, "warp");
    for (uint32_t i = first; i < w->n_late; i++)
        s[n++] = in_version(w, w->late[i]);
    s[n++] = sync(w, "warp");
    s[n++] = if_first(w, w->lane->var,
                      on_barrier(w, TN_INTRIN_ptx_mbarrier_arrive, w->empty, version(w), NULL));
    return turns(w, s, n);
}

/* Outside of the loop the warps that compute meet alone. */
static const tn_node *
meet_alone(tn_rewriter *r, const tn_node *n)
{
    const roles *w = r->user;
    const tn_string_imm *scope =
        is_barrier(n) && tn_as_call(n)->args.n ? tn_as_string_imm(tn_as_call(n)->args.at[0]) : NULL;
    if (!is_barrier(n) || (scope && !strcmp(scope->value, "warp")))
        return NULL;
    const tn_expr *args[] = {tn_i32(r->ctx, NUMBER), tn_i32(r->ctx, w->warps * WARP)};
    return tn_intrin(r->ctx, TN_INTRIN_ptx_bar_sync, tn_list_of(r->ctx, args, 2));
}

static const tn_stmt *
compute(const roles *w)
{
    TNB_VEC(const tn_stmt *) v = {0};
    tn_rewriter r = {.ctx = w->ctx, .user = (void *)(uintptr_t)w, .post = meet_alone};
    for (uint32_t i = 0; i < w->around.n; i++)
        TNB_PUSH(tn_scratch(w->ctx), v, i == w->at ? consume(w) : tn_rewrite(&r, w->around.at[i]));
    return tnk_seq(w->ctx, v.at, v.n);
}

static const tn_node *
barriers(const roles *w, const char *name)
{
    const tn_expr *n = number(w, w->loop->var, w->versions);
    return tn_buffer_new(w->ctx, name, tn_list_of(w->ctx, &n, 1), TNB_DTYPE(TNB_UINT, 64),
                         "shared.barrier");
}

/* The first thread makes the barriers. */
static const tn_stmt *
begin(const roles *w)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *i = tn_var_dtype(ctx, "i", tn_dtype_of(w->loop->var));
    const tn_stmt *both[] = {on_barrier(w, TN_INTRIN_ptx_mbarrier_init, w->full, i,
                                        tn_i32(ctx, w->producers * WARP)),
                             on_barrier(w, TN_INTRIN_ptx_mbarrier_init, w->empty, i,
                                        tn_i32(ctx, w->warps))},
                  *s = tn_for_of(ctx, i, number(w, i, 0), number(w, i, w->versions),
                                 TN_FOR_UNROLLED, NULL, NULL, tnk_seq(ctx, both, 2));
    return if_first(w, w->warp->var, if_first(w, w->lane->var, s));
}

static const tn_node *
with_versions(const roles *w, const tn_node *buffer)
{
    tn_buffer b = *tn_as_buffer(buffer);
    tnb_dtype d = b.shape.n ? tn_dtype_of(b.shape.at[0]) : TNB_I64;
    const tn_expr *n = tn_int_imm_of(w->ctx, d, w->versions);
    tn_list shape = tn_list_of(w->ctx, &n, 1);
    for (uint32_t i = 0; i < b.shape.n; i++)
        shape = tn_list_append(w->ctx, shape, b.shape.at[i]);
    b.shape = shape;
    return tn_buffer_of(w->ctx, &b);
}

static const tn_stmt *
specialize(roles *w)
{
    tn_ctx *ctx = w->ctx;
    tnb_ptrmap_init(&w->versioned, tn_scratch(ctx));
    for (uint32_t i = 0; i < w->n_stages; i++)
        tnb_ptrmap_set(&w->versioned, w->stage[i], with_versions(w, w->stage[i]));
    w->full = barriers(w, "full");
    w->empty = barriers(w, "empty");
    const tn_expr *own = w->warp->var;
    const tn_stmt *s[] = {begin(w), sync(w, "shared"),
                          tn_if_stmt_of(ctx, tn_lt(ctx, own, number(w, own, w->warps)), compute(w),
                                        produce(w))};
    const tn_stmt *lane =
        tnk_for_with(ctx, w->lane, w->lane->min, w->lane->extent, tnk_seq(ctx, s, 3));
    TNB_VEC(const tn_stmt *) v = {0};
    for (uint32_t i = 0; i < w->outside.n; i++) {
        const tn_alloc_buffer *a = tn_as_alloc_buffer(w->outside.at[i]);
        const tn_node *to = a ? tnb_ptrmap_get(&w->versioned, a->buffer) : NULL;
        if (a)
            TNB_PUSH(tn_scratch(ctx), v,
                     to ? tn_alloc_buffer_of(ctx, to, a->annotations) : w->outside.at[i]);
    }
    TNB_PUSH(tn_scratch(ctx), v, tn_alloc_buffer_of(ctx, w->full, NULL));
    TNB_PUSH(tn_scratch(ctx), v, tn_alloc_buffer_of(ctx, w->empty, NULL));
    TNB_PUSH(tn_scratch(ctx), v,
             tnk_for_with(ctx, w->warp, w->warp->min,
                          number(w, w->warp->extent, w->warps + w->producers), lane));
    return tnk_seq(ctx, v.at, v.n);
}

/* ---- finding it ---- */

static const tn_for_loop *
bound(const tn_stmt *s, const char *tag)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    return f && f->for_kind == TN_FOR_THREAD_BINDING && f->thread_tag &&
                   !strcmp(f->thread_tag, tag) && tn_is_int_const(f->min, 0)
               ? f
               : NULL;
}

/* The block's part: allocations, and the loops of its threads around the pipeline. */
static bool
is_block(roles *w, const tn_stmt *s)
{
    tn_list all = tn_as_seq(s) ? tn_as_seq(s)->stmts : tn_list_of(w->ctx, &s, 1);
    for (uint32_t i = 0; i + 1 < all.n; i++)
        if (all.at[i]->kind != TN_KIND_ALLOC_BUFFER)
            return false;
    w->outside = all;
    w->warp = all.n ? bound(all.at[all.n - 1], "threadIdx.y") : NULL;
    w->lane = w->warp ? bound(w->warp->body, "threadIdx.x") : NULL;
    if (!w->lane)
        return false;
    w->around = tn_as_seq(w->lane->body) ? tn_as_seq(w->lane->body)->stmts
                                         : tn_list_of(w->ctx, &w->lane->body, 1);
    for (uint32_t i = 0; i < w->around.n; i++) {
        const tn_for_loop *f = tn_as_for_loop(w->around.at[i]);
        w->producers = f ? tn_dict_int(f->annotations, producers_key, 0) : 0;
        if (w->producers) {
            w->loop = f;
            w->at = i;
            return may_be(w);
        }
    }
    return false;
}

static const tn_stmt *
walk(const tn_pass_ctx *pc, const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    roles *w = TNB_NEW(tn_scratch(pc->ctx), roles);
    *w = (roles){.ctx = pc->ctx, .pc = pc};
    if (is_block(w, s))
        return specialize(w);
    return f && f->for_kind == TN_FOR_THREAD_BINDING
               ? tnk_for_with(pc->ctx, f, f->min, f->extent, walk(pc, f->body))
               : s;
}

static const tn_node *
without_key(tn_rewriter *r, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    if (!f || !tn_dict_get(f->annotations, producers_key))
        return NULL;
    return tn_for_of(r->ctx, f->var, f->min, f->extent, (tn_for_kind)f->for_kind, f->thread_tag,
                     tn_dict_set(r->ctx, f->annotations, producers_key, NULL), f->body);
}

static tn_walk_step
find(void *user, const tn_node *n)
{
    (void)user;
    const tn_for_loop *f = tn_as_for_loop(n);
    return f && tn_dict_get(f->annotations, producers_key) ? TN_WALK_STOP
           : tn_is_scalar(n)                               ? TN_WALK_SKIP
                                                           : TN_WALK_ON;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    if (tn_walk(f->body, 0, find, NULL, NULL))
        return f->body;
    tn_rewriter r = {.ctx = ctx, .post = without_key};
    return tn_rewrite(&r, walk(pc, f->body));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_specialize_warps = {
    .base.size = sizeof(tn_pass),
    .base.name = "SpecializeWarps",
    .base.doc = "Lets warps of their own run the early statements of annotated pipelines.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
