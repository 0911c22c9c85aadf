/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule rules for GPUs on random programs: of several forms, extents (odd, 1, empty, symbolic), dtypes and targets. What a
 * rule gives is well formed, runs every block in loops over blockIdx and the thread indices that the rule promises, stays within
 * the target's threads and shared memory, and computes the same, by the interpreter: as it is, and lowered, with the threads of a
 * block side by side and barriers between them. Symbolic extents are given two values, the second often 0. The
 * seed is printed; TENON_SEED sets it, TENON_ROUNDS the number of programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu_programs.h"
#include "krun.h"
#include "programs.h"
#include "tenon/core/arith.h"
#include "tenon/core/pass.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/codegen.h"
#include "tenon/kit/lists.h"
#include "tenon/kit/rule.h"

/* What targets do to a scheduled function while its buffers still have their axes. */
static const char *
lowering(void)
{
    static char text[1024];
#define GPU_LOWER(name, passes, doc) \
    if (!strcmp(name, "gpu_lower"))  \
        snprintf(text, sizeof text, "%s", passes);
    TNK_PASS_LISTS(GPU_LOWER)
#undef GPU_LOWER
    char *end = strstr(text, ", FlattenBuffer");
    assert_non_null(end);
    *end = 0;
    return text;
}

static krun k;
static int taken[TNK_N_GPU_RULES], within[TNK_N_GPU_RULES], total;

static int
open_all(void **state)
{
    (void)state;
    gpu_programs_seed();
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* ---- targets ---- */

typedef struct limits {
    int64_t warp, threads, shared;
} limits;

static const tn_node *
attributes(const char *kind, const limits *l)
{
    const tn_node *keys =
        tn_array_of(k.ctx, tn_listv(k.ctx, tn_string(k.ctx, kind), tn_string(k.ctx, "gpu"), NULL));
    return tn_dictv(k.ctx, "keys", keys, "thread_warp_size", tn_i64(k.ctx, l->warp),
                    "max_threads_per_block", tn_i64(k.ctx, l->threads), "max_num_threads",
                    tn_i64(k.ctx, l->threads), "max_shared_memory_per_block",
                    tn_i64(k.ctx, l->shared), NULL);
}

/* Of every target that has the rules: opencl, cuda, gpu_generic under its kind vulkan. */
static const tn_target *
draw_target(limits *l)
{
    static const char *const kinds[] = {"opencl", "cuda", "vulkan"};
    static const int64_t warps[] = {1, 32, 64, 8}, threads[] = {64, 256, 1024, 4, 1},
                         shared[] = {16384, 49152};
    static const char *const groups[] = {"cl_khr_subgroup_shuffle",
                                         "cl_khr_subgroup_clustered_reduce", "fp64", "fp64"};
    const char *kind = kinds[gpu_below(3)];
    *l = (limits){!strcmp(kind, "cuda") ? 32 : warps[gpu_below(4)], threads[gpu_below(5)],
                  shared[gpu_below(2)]};
    const tn_node *features =
        tn_array_of(k.ctx, tn_listv(k.ctx, tn_string(k.ctx, gpu_below(2) ? "subgroups" : "fp64"),
                                    tn_string(k.ctx, groups[gpu_below(4)]), NULL));
    const tn_node *a = attributes(kind, l);
    if (!strcmp(kind, "opencl"))
        a = tn_dict_set(k.ctx, a, "features", features);
    return tn_as_target(tn_target_of(k.ctx, kind, a));
}

/* ---- what holds of a scheduled function ---- */

/* What a rule binds besides blockIdx.x and threadIdx.x, and that it makes one kernel with shared memory. */
static const struct promise {
    const char *rule;
    bool y, one, shared;
} promises[TNK_N_GPU_RULES] = {
    {"gpu.Matmul", true, false, true},       {"gpu.GEMV", true, true, true},
    {"gpu.LowBatchGEMV", true, false, true}, {"gpu.Reduction", false, false, false},
    {"gpu.RMSNorm", false, true, true},      {"gpu.GeneralReduction", false, true, true},
    {"gpu.Transpose", true, true, true},     {"gpu.Fallback", false, false, false},
};

typedef struct bound {
    int64_t thread[3]; /* extents of threadIdx.x, y, z on the way down */
    bool block, x;
    const limits *l;
    bool *y;
} bound;

static tn_walk_step
find_block(void *user, const tn_node *n)
{
    (void)user;
    return n->kind == TN_KIND_BLOCK ? TN_WALK_STOP : TN_WALK_ON;
}

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
                b.x |= f->thread_tag[10] == 'x';
                *b.y |= f->thread_tag[10] == 'y';
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
        if (!tn_walk(blk->body, 0, find_block, NULL, NULL))
            check_stmt(blk->body, b, why);
        else if (!b.block || !b.x)
            *why = "a block is not bound to blockIdx and threadIdx.x";
    }
}

/* The module of the lowered function, of its kernels if there are several. */
static const tn_module *
lowered(const tn_node *f, const tn_target *target, bool split)
{
    tn_pass_list list;
    char text[1100];
    snprintf(text, sizeof text, "%s%s", split ? "SplitHostDevice, " : "", lowering());
    if (!tn_pass_list_parse(k.ctx, text, "test", &list))
        return NULL;
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f);
    tn_pass_run how = {.target = target};
    return tn_run_passes(k.ctx, m, &list, &how);
}

/* Of lowered functions, which have no blocks. */
static tn_walk_step
sum_shared(void *user, const tn_node *n)
{
    int64_t *sum = user, e;
    const tn_alloc_buffer *a = n->kind == TN_KIND_ALLOC_BUFFER ? tn_as_alloc_buffer(n) : NULL;
    const tn_buffer *buf = a ? tn_as_buffer(a->buffer) : NULL;
    if (!buf || !buf->scope || strncmp(buf->scope, "shared", 6))
        return TN_WALK_ON;
    int64_t bytes = (int64_t)tnb_dtype_bytes(buf->dtype);
    for (uint32_t d = 0; d < buf->shape.n; d++)
        bytes = tn_int_value(buf->shape.at[d], &e) ? bytes * e : bytes ? INT64_MAX / 64 : 0;
    if (buf->strides.n && tn_int_value(buf->strides.at[0], &e)) /* rows are longer */
        bytes = e * tn_as_int_imm(buf->shape.at[0])->value * (int64_t)tnb_dtype_bytes(buf->dtype);
    *sum += bytes;
    return TN_WALK_ON;
}

/* Bytes of shared memory that the function with the most of it has. */
static int64_t
most_shared(const tn_module *m)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < m->names.n; i++) {
        int64_t sum = 0;
        if (tn_as_prim_func(m->funcs.at[i]))
            tn_walk(tn_as_prim_func(m->funcs.at[i])->body, 0, sum_shared, NULL, &sum);
        most = sum > most ? sum : most;
    }
    return most;
}

static tn_walk_step
count_kernels(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    bool launch = f && f->for_kind == TN_FOR_THREAD_BINDING;
    *(int *)user += launch;
    return launch ? TN_WALK_SKIP : TN_WALK_ON;
}

/* Other values for the symbols of a program, often 0, which `empty` tells. */
static const tn_node *
other_dims(const gpu_program *p, bool *empty)
{
    static const char *const names[] = {"n", "m", "p", "q"};
    const tn_node *dims = p->dims;
    *empty = false;
    for (uint32_t i = 0; i < 4; i++) {
        int64_t v = gpu_below(4) == 0 ? 0 : 1 + gpu_below((uint32_t)p->bound[i]);
        *empty |= v == 0;
        dims = tn_dict_set(k.ctx, dims, names[i], tn_i64(k.ctx, v));
    }
    return dims;
}

/* Whether the three compute the same of one set of arguments. g, low: NULL: not compared. */
static const char *
check_results(const tn_node *f, const tn_node *g, const tn_node *low, const gpu_program *p,
              const tn_node *dims)
{
    double tolerance = p->coarse ? 0.05 : 1e-3;
    tn_list a;
    if (!tn_random_args(k.ctx, f, 7, dims, &a))
        return "no arguments";
    tn_list c = krun_copy(&k, a), d = krun_copy(&k, a);
    if (!krun_interpret(&k, f, a) ||
        (g && (!krun_interpret(&k, g, c) || !krun_close_to(&k, c, a, tolerance, tolerance))))
        return "computes something else";
    if (low && (!krun_interpret(&k, low, d) || !krun_close_to(&k, d, a, tolerance, tolerance)))
        return "lowered, computes something else";
    return NULL;
}

/* One rule on one program; why it is wrong, NULL if it is not. */
static const char *
check_rule(const tn_node *f, const tn_node *g, const tn_target *target, const limits *l,
           const gpu_program *p, const struct promise *said)
{
    const char *why = NULL;
    bool y = false;
    bound b = {.thread = {1, 1, 1}, .l = l, .y = &y};
    check_stmt(tn_as_prim_func(g)->body, b, &why);
    if (why)
        return why;
    if (said->y && !y && l->threads >= 256) /* fewer may all stand side by side */
        return "threadIdx.y is not bound";
    if (tn_verify(k.ctx, tn_module_set(k.ctx, tn_module_new(k.ctx), "f", g))) {
        krun_print_errors(&k);
        return "not well formed";
    }
    /* several kernels are separated before they are lowered */
    int kernels = 0;
    tn_walk(tn_as_prim_func(g)->body, 0, count_kernels, NULL, &kernels);
    if (said->one && kernels != 1)
        return "there are several kernels";
    const tn_module *low = lowered(g, target, kernels > 1);
    if (!low) {
        krun_print_errors(&k);
        return "is not lowered";
    }
    int64_t shared = most_shared(low);
    if (shared > l->shared)
        return "more shared memory than the target has";
    if (said->shared && shared == 0 && !p->empty)
        return "no shared memory";
    const tn_node *whole = kernels == 1 ? tn_module_get(low, "f") : NULL;
    why = check_results(f, p->empty ? NULL : g, whole, p, p->dims);
    if (why || !p->symbolic)
        return why;
    /* split loops over nothing do not set a reduction's result before they are lowered */
    bool empty;
    const tn_node *dims = other_dims(p, &empty);
    return check_results(f, empty ? NULL : g, whole, p, dims);
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
    gpu_program p;
    gpu_program_draw(k.ctx, &p);
    const tn_node *f = p.func;
    assert_non_null(f);
    for (int i = 0; i < TNK_N_GPU_RULES; i++) {
        limits l;
        const tn_target *target = draw_target(&l);
        const tnk_rule *r = tnk_gpu_rules[i];
        assert_string_equal(r->base.name, promises[i].rule);
        bool tuned;
        const tn_node *g = gpu_apply(k.ctx, r, f, target, &tuned);
        if (tnb_diags_errors(tn_diags(k.ctx))) {
            krun_print_errors(&k);
            fail_msg("round %d: %s recorded an error for %s", round, r->base.name, p.name);
        }
        bool fallback = !strcmp(r->base.name, "gpu.Fallback");
        if (!g && fallback)
            fail_msg("round %d: %s leaves %s", round, r->base.name, p.name);
        if (!g)
            continue;
        taken[i]++;
        within[i] += p.in_blocks;
        total++;
        const char *why =
            check_rule(f, g, target, &l, &p, tuned ? &(struct promise){0} : &promises[i]);
        if (why) {
            show(f);
            show(g);
            fail_msg("round %d: %s of %s, %lld threads, %lld bytes: %s", round, r->base.name,
                     p.name, (long long)l.threads, (long long)l.shared, why);
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
        printf("%s: %d, %d of them in loops bound before\n", tnk_gpu_rules[i]->base.name, taken[i],
               within[i]);
        assert_true(r || taken[i] > 0);
    }
    printf("%d schedules\n", total);
}

/* By many or by unknown vectors a matrix is multiplied in tiles, by few it is read once for four of them. */
static void
few_vectors_are_left_by_matmul(void **state)
{
    (void)state;
    static const struct {
        int64_t vectors, bound, columns;
        bool few;
    } cases[] = {{-1, 8, 512, true},   {-1, 1, 512, true},  {-1, 9, 512, false},
                 {-1, -1, 512, false}, {2, -1, 512, false}, {8, -1, 512, false},
                 {9, -1, 512, false},  {8, -1, 3, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        limits l;
        int64_t m = cases[i].vectors;
        const tn_expr *rows = m < 0 ? tn_var_dtype(k.ctx, "m", TNB_I64) : tn_i64(k.ctx, m),
                      *cols = tn_i64(k.ctx, cases[i].columns), *depth = tn_i64(k.ctx, 256);
        tnk_te *te = tnk_te_new(k.ctx);
        const tn_expr *dx[2] = {rows, depth}, *dw[2] = {depth, cols}, *dy[2] = {rows, cols};
        const tn_node *x =
                          tnk_te_input(te, "x",
                                       tn_ty_tensor_dims(k.ctx, tn_list_of(k.ctx, dx, 2), TNB_F32)),
                      *w =
                          tnk_te_input(te, "w",
                                       tn_ty_tensor_dims(k.ctx, tn_list_of(k.ctx, dw, 2), TNB_F32));
        tnk_stage *s = tnk_te_stage(te, "y", dy, 2, TNB_F32);
        const tn_expr *t = tnk_te_reduce_axis(s, "k", depth);
        const tn_expr *ix[2] = {s->axes[0], t}, *iw[2] = {t, s->axes[1]};
        const tn_node *y = tnk_te_sum(s, tn_mul(k.ctx, tnk_te_read_at(te, x, ix, 2),
                                                tnk_te_read_at(te, w, iw, 2)));
        const tn_node *f = tnk_te_finish(te, &y, 1);
        if (cases[i].bound >= 0)
            f = tn_func_with_attr(k.ctx, f, "tir_var_upper_bound",
                                  tn_dictv(k.ctx, "m", tn_i64(k.ctx, cases[i].bound), NULL));
        const tn_target *target;
        do
            target = draw_target(&l);
        while (l.threads < 64);
        const tn_node *matmul = tnk_gpu_rules[0]->apply(k.ctx, f, target, NULL),
                      *few = tnk_gpu_rules[2]->apply(k.ctx, f, target, NULL);
        if ((matmul != NULL) == cases[i].few || (cases[i].few && !few))
            fail_msg("case %zu: Matmul %s it", i, matmul ? "takes" : "leaves");
    }
}

/* Loops that count in int32 are fused with loops that count in int64. */
static void
loops_count_in_int32_and_int64(void **state)
{
    (void)state;
    static const char head[] = "@I.ir_module\nclass M:\n    @T.prim_func(s_tir=True)\n"
                               "    def f(a: T.handle, b: T.handle, c: T.handle):\n"
                               "        n = T.int64()\n";
    static const char *const bodies[] = {
        "        A = T.match_buffer(a, (2, n, 70))\n        B = T.match_buffer(b, (70, 66))\n"
        "        C = T.match_buffer(c, (2, n, 66))\n"
        "        for g, i, j, r in T.grid(2, n, 66, 70):\n            with T.sblock(\"y\"):\n"
        "                vg, vi, vj, vr = T.axis.remap(\"SSSR\", [g, i, j, r])\n"
        "                with T.init():\n                    C[vg, vi, vj] = T.float32(0)\n"
        "                C[vg, vi, vj] = C[vg, vi, vj] + A[vg, vi, vr] * B[vr, vj]\n",
        "        A = T.match_buffer(a, (5, n, 33))\n        B = T.match_buffer(b, (33,))\n"
        "        C = T.match_buffer(c, (5, n))\n"
        "        for g, i, r in T.grid(5, n, 33):\n            with T.sblock(\"y\"):\n"
        "                vg, vi, vr = T.axis.remap(\"SSR\", [g, i, r])\n"
        "                with T.init():\n                    C[vg, vi] = T.float32(0)\n"
        "                C[vg, vi] = C[vg, vi] + A[vg, vi, vr] * B[vr]\n",
        "        A = T.match_buffer(a, (5, n, 33))\n        B = T.match_buffer(b, (n,))\n"
        "        C = T.match_buffer(c, (33, 5, n))\n"
        "        for r, g, i in T.grid(33, 5, n):\n            with T.sblock(\"y\"):\n"
        "                vr, vg, vi = T.axis.remap(\"SSS\", [r, g, i])\n"
        "                C[vr, vg, vi] = A[vg, vi, vr] + B[vi]\n"};
    int done = 0;
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
        const char *text = tn_strf(k.ctx, "%s%s", head, bodies[b]);
        const tn_module *m = tn_read_module(k.ctx, "test", text, strlen(text));
        assert_non_null(m);
        const tn_node *f = tn_module_get(m, "f");
        for (int i = 0; i < 4 * TNK_N_GPU_RULES; i++) {
            const tnk_rule *r = tnk_gpu_rules[i % TNK_N_GPU_RULES];
            limits l;
            const tn_target *target;
            do
                target = draw_target(&l);
            while (l.threads < 64);
            const tn_node *g = r->apply(k.ctx, f, target, r->self);
            if (tnb_diags_errors(tn_diags(k.ctx))) {
                krun_print_errors(&k);
                fail_msg("%s recorded an error for program %zu", r->base.name, b);
            }
            if (!g)
                continue;
            gpu_program p = {.d = TNB_F32, .symbolic = true};
            for (int d = 0; d < 4; d++)
                p.bound[d] = GPU_MOST;
            p.dims = tn_dictv(k.ctx, "n", tn_i64(k.ctx, 1 + gpu_below(GPU_MOST)), NULL);
            const char *why = check_rule(f, g, target, &l, &p, &promises[i % TNK_N_GPU_RULES]);
            done |= 1 << i % TNK_N_GPU_RULES;
            if (why) {
                show(g);
                fail_msg("%s of program %zu, %lld threads: %s", r->base.name, b,
                         (long long)l.threads, why);
            }
        }
    }
    for (int i = 0; i < TNK_N_GPU_RULES; i++)
        printf("%s: %s\n", tnk_gpu_rules[i]->base.name,
               done >> i & 1 ? "yes" : "takes none of these");
    assert_true((done & 1) && done >> (TNK_N_GPU_RULES - 1));
}

/* ---- matrix units ---- */

static tn_walk_step
find_unit(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    *(bool *)user |= f && tn_dict_get(f->annotations, TNK_MATRIX_UNIT);
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

/* Products of float16 that are summed in float32 go to the units of targets that have some, whatever their extents are and what is
 * computed of them, and give what the program gives. */
static void
products_go_to_matrix_units(void **state)
{
    (void)state;
    static const char head[] = "@I.ir_module\nclass M:\n    @T.prim_func(s_tir=True)\n"
                               "    def f(a: T.handle, b: T.handle, c: T.handle):\n"
                               "        n = T.int64()\n";
    static const char *const bodies[] = {
        "        A = T.match_buffer(a, (64, 32), \"float16\")\n"
        "        B = T.match_buffer(b, (32, 48), \"float16\")\n"
        "        C = T.match_buffer(c, (64, 48))\n"
        "        for i, j, r in T.grid(64, 48, 32):\n            with T.sblock(\"y\"):\n"
        "                vi, vj, vr = T.axis.remap(\"SSR\", [i, j, r])\n"
        "                with T.init():\n                    C[vi, vj] = T.float32(0)\n"
        "                C[vi, vj] = C[vi, vj] + T.Cast(\"float32\", A[vi, vr]) * "
        "T.Cast(\"float32\", B[vr, vj])\n",
        "        A = T.match_buffer(a, (2, n, 37), \"float16\")\n"
        "        B = T.match_buffer(b, (2, 19, 37), \"float16\")\n"
        "        C = T.match_buffer(c, (2, n, 19), \"float16\")\n"
        "        S = T.sblock_alloc_buffer((2, n, 19))\n"
        "        for g, i, j, r in T.grid(2, n, 19, 37):\n            with T.sblock(\"y\"):\n"
        "                vg, vi, vj, vr = T.axis.remap(\"SSSR\", [g, i, j, r])\n"
        "                with T.init():\n                    S[vg, vi, vj] = T.float32(0)\n"
        "                S[vg, vi, vj] = S[vg, vi, vj] + T.Cast(\"float32\", A[vg, vi, vr]) * "
        "T.Cast(\"float32\", B[vg, vj, vr])\n"
        "        for g, i, j in T.grid(2, n, 19):\n            with T.sblock(\"z\"):\n"
        "                vg, vi, vj = T.axis.remap(\"SSS\", [g, i, j])\n"
        "                C[vg, vi, vj] = T.Cast(\"float16\", T.max(S[vg, vi, vj], "
        "T.float32(0)))\n",
        /* a batch of one, as FuseOps leaves it */
        "        A = T.match_buffer(a, (1, n, 40), \"float16\")\n"
        "        B = T.match_buffer(b, (40, 24), \"float16\")\n"
        "        C = T.match_buffer(c, (1, n, 24))\n"
        "        for g, i, j, r in T.grid(1, n, 24, 40):\n            with T.sblock(\"y\"):\n"
        "                vg, vi, vj, vr = T.axis.remap(\"SSSR\", [g, i, j, r])\n"
        "                with T.init():\n                    C[vg, vi, vj] = T.float32(0)\n"
        "                C[vg, vi, vj] = C[vg, vi, vj] + T.Cast(\"float32\", A[0, vi, vr]) * "
        "T.Cast(\"float32\", B[vr, vj])\n"};
    enum { BODIES = sizeof bodies / sizeof *bodies };
    static const struct {
        const char *unit;
        limits l;
    } units[] = {{"16x16x16", {32, 256, 32768}},
                 {"8x8x8", {8, 64, 16384}},
                 {"16x8x16", {32, 64, 16384}},
                 {"8x8x32", {64, 1024, 49152}}};
    for (size_t i = 0; i < BODIES * (sizeof units / sizeof *units); i++) {
        const limits *l = &units[i / BODIES].l;
        const tn_node *a = tn_dict_set(k.ctx, attributes("vulkan", l), "cooperative_matrix",
                                       tn_string(k.ctx, units[i / BODIES].unit));
        const tn_target *target = tn_as_target(tn_target_of(k.ctx, "vulkan", a));
        const char *source = tn_strf(k.ctx, "%s%s", head, bodies[i % BODIES]);
        const tn_module *m = tn_read_module(k.ctx, "test", source, strlen(source));
        assert_non_null(m);
        const tn_node *f = tn_module_get(m, "f"),
                      *g = tnk_gpu_rules[0]->apply(k.ctx, f, target, NULL);
        bool found = false;
        if (g)
            tn_walk(tn_as_prim_func(g)->body, TN_WALK_ONCE, find_unit, NULL, &found);
        if (!found)
            fail_msg("program %zu has no units of %s", i % BODIES, units[i / BODIES].unit);
        gpu_program p = {.d = TNB_DTYPE(TNB_FLOAT, 16),
                         .coarse = true,
                         .symbolic = i % BODIES >= 1};
        for (int d = 0; d < 4; d++)
            p.bound[d] = GPU_MOST;
        p.dims = tn_dictv(k.ctx, "n", tn_i64(k.ctx, 1 + gpu_below(GPU_MOST)), NULL);
        const char *why = check_rule(f, g, target, l, &p, &promises[0]);
        if (why) {
            show(g);
            fail_msg("program %zu with units of %s: %s", i % BODIES, units[i / BODIES].unit, why);
        }
    }
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
        cmocka_unit_test(few_vectors_are_left_by_matmul),
        cmocka_unit_test(loops_count_in_int32_and_int64),
        cmocka_unit_test(products_go_to_matrix_units),
        cmocka_unit_test(other_targets_are_left_alone),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
