/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule rules for GPUs on random programs: of several forms, extents (odd, 1, empty, symbolic), dtypes and targets. What a
 * rule gives is well formed, runs every block in loops over blockIdx and threadIdx, stays within the target's threads, and
 * computes the same, by the interpreter: as it is, and lowered, with the threads of a block side by side and barriers between
 * them. The seed is printed; TENON_SEED sets it, TENON_ROUNDS the number of programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "krun.h"
#include "programs.h"
#include "tenon/core/arith.h"
#include "tenon/core/pass.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/rule.h"

/* What the opencl target does to a scheduled function before blocks are gone; then barriers. */
static const char lowering[] =
    "LowerCrossThreadReduction, LowerInitBlock, LowerMatchBuffer, ConvertBlocksToOpaque, Simplify, "
    "ThreadSync, UnifyThreadBinding, PlanAndUpdateBufferAllocationLocation, "
    "CompactBufferAllocation";

static krun k;
static uint64_t rng;
static int taken[TNK_N_GPU_RULES], total;

static uint32_t
below(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)((rng >> 11) % n);
}

static int
open_all(void **state)
{
    (void)state;
    const char *seed = getenv("TENON_SEED");
    rng = seed ? strtoull(seed, NULL, 10) : 20260717;
    printf("seed %llu\n", (unsigned long long)rng);
    rng = rng * 0x9E3779B97F4A7C15u + 1;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* ---- programs ---- */

typedef struct program {
    tn_ctx *ctx;
    tnk_te *te;
    tnb_dtype d;
    const tn_expr *dim[4]; /* extents, some symbolic */
    int64_t value[4];
    const tn_node *dims;
} program;

static void
draw_dims(program *p, uint32_t empty)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 16, 17, 32, 33, 40, 65};
    static const char *const names[] = {"n", "m", "p", "q"};
    uint32_t symbolic = below(3) ? UINT32_MAX : below(3);
    p->dims = tn_dictv(p->ctx, "unused", tn_i64(p->ctx, 1), NULL);
    for (uint32_t i = 0; i < 4; i++) {
        int64_t size = sizes[below(sizeof sizes / sizeof *sizes)];
        p->value[i] = i == empty ? 0 : size;
        p->dim[i] =
            i == symbolic ? tn_var_dtype(p->ctx, names[i], TNB_I64) : tn_i64(p->ctx, p->value[i]);
        p->dims = tn_dict_set(p->ctx, p->dims, names[i], tn_i64(p->ctx, p->value[i]));
    }
}

static const tn_node *
in(program *p, const char *name, const tn_expr *const *dims, uint32_t n)
{
    return tnk_te_input(p->te, name, tn_ty_tensor_dims(p->ctx, tn_list_of(p->ctx, dims, n), p->d));
}

static tnk_stage *
st(program *p, const char *name, const tn_expr *const *dims, uint32_t n)
{
    return tnk_te_stage(p->te, name, dims, n, p->d);
}

static const tn_expr *
number(const program *p, double x)
{
    return tn_literal(p->ctx, p->d, x);
}

/* B = A * 2 in front of what reads A, sometimes. */
static const tn_node *
prologue(program *p, const tn_node *a)
{
    if (below(2))
        return a;
    tnk_stage *s = tnk_te_stage_like(p->te, "before", a, p->d);
    return tnk_te_define(s, tn_add(p->ctx, tnk_te_read_at(p->te, a, s->axes, s->n_axes),
                                   number(p, 1)));
}

/* max(x, 0), x + x, or a row of a bias, behind; sometimes. */
static const tn_node *
epilogue(program *p, const tn_node *a)
{
    for (uint32_t n = below(3); n > 0; n--) {
        tnk_stage *s = tnk_te_stage_like(p->te, "after", a, p->d);
        const tn_expr *x = tnk_te_read_at(p->te, a, s->axes, s->n_axes);
        a = tnk_te_define(s, below(2) ? tn_max(p->ctx, x, number(p, 0))
                                      : tn_add(p->ctx, x, number(p, 3)));
    }
    return a;
}

static const tn_node *
elementwise(program *p)
{
    const tn_node *a = in(p, "a", p->dim, 3), *b = in(p, "b", p->dim + 1, 2);
    a = prologue(p, a);
    tnk_stage *s = st(p, "sum", p->dim, 3);
    a = tnk_te_define(s, tn_add(p->ctx, tnk_te_read_at(p->te, a, s->axes, 3),
                                tnk_te_read_at(p->te, b, s->axes + 1, 2)));
    return epilogue(p, a);
}

static const tn_node *
transpose(program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 3));
    uint32_t perm[3] = {0, 1, 2};
    for (uint32_t i = 3; i > 1; i--) {
        uint32_t at = below(i), other = perm[i - 1];
        perm[i - 1] = perm[at];
        perm[at] = other;
    }
    const tn_expr *to[3], *idx[3];
    for (uint32_t i = 0; i < 3; i++)
        to[i] = p->dim[perm[i]];
    tnk_stage *s = st(p, "T_transpose", to, 3);
    for (uint32_t i = 0; i < 3; i++)
        idx[perm[i]] = s->axes[i];
    return epilogue(p, tnk_te_define(s, tnk_te_read_at(p->te, a, idx, 3)));
}

/* Along one of three dimensions, sum or maximum. */
static const tn_node *
reduce(program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 3));
    uint32_t along = below(3), n = 0;
    const tn_expr *to[2], *idx[3];
    for (uint32_t i = 0; i < 3; i++)
        if (i != along)
            to[n++] = p->dim[i];
    tnk_stage *s = st(p, "red", to, 2);
    n = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (i != along)
            idx[i] = s->axes[n++];
    idx[along] = tnk_te_reduce_axis(s, "k", p->dim[along]);
    const tn_expr *x = tnk_te_read_at(p->te, a, idx, 3);
    return epilogue(p, below(2) ? tnk_te_sum(s, x) : tnk_te_reduce(s, TNK_MAX_FINITE, x));
}

static const tn_node *
reduce_all(program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 2));
    tnk_stage *s = st(p, "red", NULL, 0);
    const tn_expr *i = tnk_te_reduce_axis(s, "i", p->dim[0]),
                  *j = tnk_te_reduce_axis(s, "j", p->dim[1]);
    return epilogue(p, tnk_te_sum(s, tnk_te_read(p->te, a, i, j, NULL)));
}

/* x - max of its row, or of its column. */
static const tn_node *
rows(program *p)
{
    const tn_node *a = prologue(p, in(p, "a", p->dim, 2));
    bool column = below(2);
    tnk_stage *s = st(p, "most", p->dim + column, 1);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[!column]);
    const tn_node *m = tnk_te_reduce(s, TNK_MAX_FINITE,
                                     tnk_te_read(p->te, a, column ? r : s->axes[0],
                                                 column ? s->axes[0] : r, NULL));
    s = st(p, "less", p->dim, 2);
    return epilogue(p, tnk_te_define(s, tn_sub(p->ctx, tnk_te_read_at(p->te, a, s->axes, 2),
                                               tnk_te_read_at(p->te, m, s->axes + column, 1))));
}

static const tn_node *
softmax(program *p)
{
    tnb_dtype given = p->d;
    p->d = TNB_F32;
    const tn_node *x = prologue(p, in(p, "x", p->dim, 3));
    tnk_stage *s = st(p, "most", p->dim, 2);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[2]);
    const tn_node *m =
        tnk_te_reduce(s, TNK_MAX, tnk_te_read(p->te, x, s->axes[0], s->axes[1], r, NULL));
    s = st(p, "exp", p->dim, 3);
    const tn_node *e =
        tnk_te_define(s, tn_intrin1(p->ctx, "exp",
                                    tn_sub(p->ctx, tnk_te_read_at(p->te, x, s->axes, 3),
                                           tnk_te_read_at(p->te, m, s->axes, 2))));
    s = st(p, "sum", p->dim, 2);
    r = tnk_te_reduce_axis(s, "k", p->dim[2]);
    const tn_node *sum = tnk_te_sum(s, tnk_te_read(p->te, e, s->axes[0], s->axes[1], r, NULL));
    s = st(p, "norm", p->dim, 3);
    const tn_node *o =
        tnk_te_define(s, tn_bin(p->ctx, TN_KIND_DIV, tnk_te_read_at(p->te, e, s->axes, 3),
                                tnk_te_read_at(p->te, sum, s->axes, 2)));
    o = epilogue(p, o);
    p->d = given;
    return o;
}

static void
both_sums(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
          uint32_t n, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        next[i] = tn_add(ctx, acc[i], x[i]);
}

/* Sum and sum of squares together, and what is made of both. */
static const tn_node *
layer_norm(program *p)
{
    tnb_dtype given = p->d, d[2] = {TNB_F32, TNB_F32};
    p->d = TNB_F32;
    const tn_node *x = prologue(p, in(p, "x", p->dim, 2)), *both[2];
    tnk_stage *s = st(p, "moments", p->dim, 1);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[1]),
                  *v = tnk_te_read(p->te, x, s->axes[0], r, NULL);
    const tn_expr *values[2] = {v, tn_mul(p->ctx, v, v)}, *zero[2] = {number(p, 0), number(p, 0)};
    tnk_te_reduce_tuple(s, d, values, zero, 2, both_sums, NULL, both);
    s = st(p, "norm", p->dim, 2);
    const tn_expr *sum = tnk_te_read(p->te, both[0], s->axes[0], NULL),
                  *sq = tnk_te_read(p->te, both[1], s->axes[0], NULL);
    const tn_expr *root = tn_intrin1(p->ctx, "rsqrt", tn_add(p->ctx, sq, number(p, 1)));
    const tn_node *o =
        tnk_te_define(s, tn_mul(p->ctx, tn_sub(p->ctx, tnk_te_read_at(p->te, x, s->axes, 2), sum),
                                root));
    p->d = given;
    return o;
}

static const tn_node *
rms_norm(program *p)
{
    tnb_dtype given = p->d;
    p->d = TNB_F32;
    const tn_node *x = in(p, "x", p->dim, 2), *w = in(p, "w", p->dim + 1, 1);
    tnk_stage *s = st(p, "squares", p->dim, 1);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", p->dim[1]),
                  *v = tnk_te_read(p->te, x, s->axes[0], r, NULL);
    const tn_node *q = tnk_te_sum(s, tn_mul(p->ctx, v, v));
    s = st(p, "rsqrt", p->dim, 1);
    q = tnk_te_define(s, tn_intrin1(p->ctx, "rsqrt",
                                    tn_add(p->ctx, tnk_te_read_at(p->te, q, s->axes, 1),
                                           number(p, 1))));
    s = st(p, "norm", p->dim, 2);
    const tn_node *o = tnk_te_define(s, tn_mul(p->ctx,
                                               tn_mul(p->ctx, tnk_te_read_at(p->te, x, s->axes, 2),
                                                      tnk_te_read_at(p->te, q, s->axes, 1)),
                                               tnk_te_read_at(p->te, w, s->axes + 1, 1)));
    p->d = given;
    return o;
}

/* Matrix products: batched or not, either way of both operands, with a vector, with a few vectors. */
static const tn_node *
matmul(program *p)
{
    bool batched = below(2), nt = below(2);
    uint32_t few = below(4);
    const tn_expr *i = few == 0 ? tn_i64(p->ctx, 1) : p->dim[1], *j = p->dim[2], *r = p->dim[3],
                  *b = p->dim[0];
    const tn_expr *da[3] = {b, i, r}, *db[3] = {b, nt ? j : r, nt ? r : j}, *dc[3] = {b, i, j};
    uint32_t skip = batched ? 0 : 1, n = 3 - skip;
    const tn_node *x = prologue(p, in(p, "a", da + skip, n)),
                  *y = prologue(p, in(p, "b", db + skip, n));
    tnk_stage *s = st(p, "matmul", dc + skip, n);
    const tn_expr *t = tnk_te_reduce_axis(s, "k", r);
    const tn_expr *vi = s->axes[1 - skip], *vj = s->axes[2 - skip];
    const tn_expr *ia[3] = {s->axes[0], vi, t}, *ib[3] = {s->axes[0], nt ? vj : t, nt ? t : vj};
    const tn_expr *m = tn_mul(p->ctx, tnk_te_read_at(p->te, x, ia + skip, n),
                              tnk_te_read_at(p->te, y, ib + skip, n));
    return epilogue(p, tnk_te_sum(s, m));
}

/* With padding, bias, groups; or the program of the collection with strides. */
static const tn_node *
conv(program *p)
{
    static const conv_shape shapes[] = {{1, 5, 9, 7, 6, 3, 3, 1, 1, 1},
                                        {2, 3, 12, 11, 4, 5, 5, 2, 2, 1},
                                        {1, 8, 6, 6, 12, 1, 1, 1, 0, 1},
                                        {1, 8, 9, 8, 4, 3, 3, 1, 1, 2},
                                        {1, 4, 7, 9, 4, 3, 3, 2, 1, 4},
                                        {1, 2, 3, 3, 3, 3, 3, 1, 1, 1}};
    return program_conv(p->ctx, shapes[below(6)], p->d);
}

static const struct {
    const char *name;
    const tn_node *(*make)(program *p);
} forms[] = {{"elementwise", elementwise},
             {"transpose", transpose},
             {"reduce", reduce},
             {"reduce_all", reduce_all},
             {"rows", rows},
             {"softmax", softmax},
             {"layer_norm", layer_norm},
             {"rms_norm", rms_norm},
             {"matmul", matmul},
             {"matmul", matmul},
             {"conv", conv}};

/* ---- targets ---- */

typedef struct limits {
    int64_t warp, threads, shared;
} limits;

static const tn_target *
draw_target(limits *l)
{
    static const int64_t warps[] = {1, 32, 64}, threads[] = {64, 256, 1024, 4, 1},
                         shared[] = {16384, 49152};
    *l = (limits){warps[below(3)], threads[below(5)], shared[below(2)]};
    const tn_node *keys = tn_array_of(k.ctx, tn_listv(k.ctx, tn_string(k.ctx, "opencl"),
                                                      tn_string(k.ctx, "gpu"), NULL));
    const tn_node *a = tn_dictv(k.ctx, "keys", keys, "thread_warp_size", tn_i64(k.ctx, l->warp),
                                "max_threads_per_block", tn_i64(k.ctx, l->threads),
                                "max_num_threads", tn_i64(k.ctx, l->threads),
                                "max_shared_memory_per_block", tn_i64(k.ctx, l->shared), NULL);
    return tn_as_target(tn_target_of(k.ctx, "opencl", a));
}

/* ---- what holds of a scheduled function ---- */

typedef struct bound {
    int64_t thread[3]; /* extents of threadIdx.x, y, z on the way down */
    bool block, any;
    const limits *l;
    const char *why;
} bound;

static void
check_stmt(const tn_node *n, bound b, const char **why)
{
    const tn_seq *q = tn_as_seq(n);
    const tn_for_loop *f = tn_as_for_loop(n);
    const tn_block_realize *r = tn_as_block_realize(n);
    for (uint32_t i = 0; q && i < q->stmts.n; i++)
        check_stmt(q->stmts.at[i], b, why);
    if (f) {
        if (f->for_kind == TN_FOR_THREAD_BINDING) {
            if (!strncmp(f->thread_tag, "blockIdx", 8)) {
                b.block = true;
            } else {
                int64_t e, all = 1;
                b.any = true;
                if (!tn_int_value(f->extent, &e)) {
                    *why = "a number of threads is not known";
                    return;
                }
                b.thread[f->thread_tag[10] - 'x'] = e;
                for (int i = 0; i < 3; i++)
                    all *= b.thread[i];
                if (all > b.l->threads)
                    *why = "more threads than the target has";
            }
        }
        check_stmt(f->body, b, why);
    }
    if (r) {
        const tn_block *blk = tn_as_block(r->block);
        if (!strcmp(blk->name, "root"))
            check_stmt(blk->body, b, why);
        else if (!b.block || !b.any)
            *why = "a block is not bound";
    }
}

static bool
run(const tn_node *f, tn_list args)
{
    tnb_err err = {0};
    const tn_evaluator *eval = tn_find_evaluator(k.reg, "interp", &err);
    assert_non_null(eval);
    tn_eval_options opt = {0};
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f);
    if (eval->run(eval->self, k.ctx, m, "f", args.at, args.n, &opt))
        return true;
    krun_print_errors(&k);
    return false;
}

static bool
same(tn_list a, tn_list b, double tolerance)
{
    for (uint32_t i = 0; i < a.n; i++) {
        tnb_buf why = {0};
        bool ok = tn_values_close(k.ctx, b.at[i], a.at[i], tolerance, tolerance, &why);
        if (!ok)
            fprintf(stderr, "argument %u: %s\n", i, why.s ? why.s : "");
        tnb_buf_free(&why);
        if (!ok)
            return false;
    }
    return true;
}

static const tn_node *
lowered(const tn_node *f, const tn_target *target)
{
    tn_pass_list list;
    if (!tn_pass_list_parse(k.ctx, lowering, "test", &list))
        return NULL;
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f);
    tn_pass_run how = {.target = target};
    m = tn_run_passes(k.ctx, m, &list, &how);
    return m ? tn_module_get(m, "f") : NULL;
}

static tn_walk_step
sum_shared(void *user, const tn_node *n)
{
    int64_t *sum = user;
    const tn_block *b = tn_as_block(n);
    for (uint32_t i = 0; b && i < b->allocs.n; i++) {
        const tn_buffer *buf = tn_as_buffer(b->allocs.at[i]);
        int64_t bytes = (int64_t)tnb_dtype_bytes(buf->dtype), e;
        if (!buf->scope || strncmp(buf->scope, "shared", 6))
            continue;
        for (uint32_t d = 0; d < buf->shape.n; d++)
            bytes = tn_int_value(buf->shape.at[d], &e) ? bytes * e : INT64_MAX / 64;
        *sum += bytes;
    }
    return TN_WALK_ON;
}

static tn_walk_step
count_kernels(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    *(int *)user += f && f->thread_tag && !strcmp(f->thread_tag, "blockIdx.x");
    return TN_WALK_ON;
}

/* One rule on one program; why it is wrong, NULL if it is not. */
static const char *
check_rule(const tn_node *f, const tn_node *g, const tn_target *target, const limits *l,
           const program *p)
{
    const char *why = NULL;
    bound b = {.thread = {1, 1, 1}, .l = l};
    check_stmt(tn_as_prim_func(g)->body, b, &why);
    if (why)
        return why;
    if (tn_verify(k.ctx, tn_module_set(k.ctx, tn_module_new(k.ctx), "f", g))) {
        krun_print_errors(&k);
        return "not well formed";
    }
    double tolerance = p->d.bits == 16 ? 0.05 : 1e-3;
    tn_list a;
    if (!tn_random_args(k.ctx, f, 7, p->dims, &a))
        return "no arguments";
    tn_list c = krun_copy(&k, a), d = krun_copy(&k, a);
    if (!run(f, a) || !run(g, c) || !same(a, c, tolerance))
        return "computes something else";
    /* several kernels are separated before they are lowered */
    int kernels = 0;
    tn_walk(tn_as_prim_func(g)->body, 0, count_kernels, NULL, &kernels);
    const tn_node *low = kernels == 1 ? lowered(g, target) : NULL;
    if (kernels > 1)
        return NULL;
    if (!low) {
        krun_print_errors(&k);
        return "is not lowered";
    }
    int64_t shared = 0;
    tn_walk(tn_as_prim_func(low)->body, 0, sum_shared, NULL, &shared);
    if (shared > l->shared)
        return "more shared memory than the target has";
    if (!run(low, d) || !same(a, d, tolerance))
        return "lowered, computes something else";
    return NULL;
}

static void
show(const tn_node *f)
{
    tnb_buf text = {0};
    tn_print_options opt = {0};
    (void)tn_print(k.ctx, TN_NODE(tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f)), &opt, &text);
    fprintf(stderr, "%s\n", text.s ? text.s : "");
    tnb_buf_free(&text);
}

static void
one_program(int round)
{
    static const tnb_dtype dtypes[] = {TNB_F32, TNB_F32, TNB_F16, TNB_I32};
    program p = {.ctx = k.ctx};
    p.d = dtypes[below(4)];
    uint32_t form = below(sizeof forms / sizeof *forms), empty = UINT32_MAX;
    /* a reduction of nothing leaves its result as it was: a dimension that only results have */
    if (forms[form].make == elementwise || forms[form].make == transpose)
        empty = below(3);
    else if (forms[form].make == matmul)
        empty = 1 + below(2);
    draw_dims(&p, below(6) ? UINT32_MAX : empty);
    p.te = tnk_te_new(k.ctx);
    const tn_node *out = forms[form].make(&p);
    const tn_node *f = forms[form].make == conv ? out : tnk_te_finish(p.te, &out, 1);
    assert_non_null(f);
    f = tn_func_with_attr(k.ctx, f, "tirx.noalias", tn_bool(k.ctx, true));
    for (int i = 0; i < TNK_N_GPU_RULES; i++) {
        limits l;
        const tn_target *target = draw_target(&l);
        const tnk_rule *r = tnk_gpu_rules[i];
        const tn_node *g = r->apply(k.ctx, f, target, r->self);
        if (tnb_diags_errors(tn_diags(k.ctx))) {
            krun_print_errors(&k);
            fail_msg("round %d: %s recorded an error for %s", round, r->name, forms[form].name);
        }
        bool fallback = !strcmp(r->name, "gpu.Fallback");
        if (!g && fallback)
            fail_msg("round %d: %s leaves %s", round, r->name, forms[form].name);
        if (!g)
            continue;
        taken[i]++;
        total++;
        const char *why = check_rule(f, g, target, &l, &p);
        if (why) {
            show(f);
            show(g);
            fail_msg("round %d: %s of %s, %lld threads, %lld bytes: %s", round, r->name,
                     forms[form].name, (long long)l.threads, (long long)l.shared, why);
        }
    }
}

static void
rules_keep_the_meaning(void **state)
{
    (void)state;
    const char *r = getenv("TENON_ROUNDS");
    for (int round = 0; round < (r ? atoi(r) : 60); round++)
        one_program(round);
    for (int i = 0; i < TNK_N_GPU_RULES; i++) {
        printf("%s: %d\n", tnk_gpu_rules[i]->name, taken[i]);
        assert_true(r || taken[i] > 0);
    }
    printf("%d schedules\n", total);
}

static void
other_targets_are_left_alone(void **state)
{
    (void)state;
    const tn_node *f = program_matmul(k.ctx, 8, 8, 8, TNB_F32);
    for (int i = 0; i < TNK_N_GPU_RULES; i++)
        assert_null(tnk_gpu_rules[i]->apply(k.ctx, f, k.target, NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_keep_the_meaning),
        cmocka_unit_test(other_targets_are_left_alone),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
