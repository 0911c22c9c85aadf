/* SPDX-License-Identifier: Apache-2.0 */
/* blockize and tensorize: what they make computes the same, by the interpreter and compiled; what does not
 * fit is refused, and the message says where it differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "draw.h"
#include "krun.h"
#include "programs.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"
#include "tenon/kit/tensor_intrin.h"

static krun k;

/* ---- intrinsics ---- */

/* c[0:8] += a[0:4] * b[0:4, 0:8], in vectors. The loops of the meaning stand in another order than
 * programs have them, and a factor is on the other side. */
static const tnk_tensor_intrin fma_4x8 = {
    .base.size = sizeof fma_4x8,
    .base.name = "test.fma_4x8",
    .base.doc = "a row of four times a tile of 4 x 8",
    .text = "@I.ir_module\n"
            "class Intrin:\n"
            "    @T.prim_func\n"
            "    def desc(a: T.handle, b: T.handle, c: T.handle):\n"
            "        A = T.match_buffer(a, (4,), 'float32')\n"
            "        B = T.match_buffer(b, (4, 8), 'float32')\n"
            "        C = T.match_buffer(c, (8,), 'float32')\n"
            "        for k, j in T.grid(4, 8):\n"
            "            with T.sblock('b'):\n"
            "                vk, vj = T.axis.remap('RS', [k, j])\n"
            "                C[vj] = C[vj] + B[vk, vj] * A[vk]\n"
            "    @T.prim_func\n"
            "    def impl(a: T.handle, b: T.handle, c: T.handle):\n"
            "        A = T.match_buffer(a, (4,), 'float32')\n"
            "        B = T.match_buffer(b, (4, 8), 'float32')\n"
            "        C = T.match_buffer(c, (8,), 'float32')\n"
            "        with T.sblock('root'):\n"
            "            T.reads(A[0:4], B[0:4, 0:8], C[0:8])\n"
            "            T.writes(C[0:8])\n"
            "            for k in T.unroll(4):\n"
            "                C[T.Ramp(0, 1, 8)] = C[T.Ramp(0, 1, 8)] + T.Broadcast(A[k], 8) * "
            "B[k, T.Ramp(0, 1, 8)]\n"};

/* c[0:8] = v, where v is whatever the program has there */
static const tnk_tensor_intrin fill_8 = {.base.size = sizeof fill_8,
                                         .base.name = "test.fill_8",
                                         .base.doc = "eight times a value",
                                         .text =
                                             "@I.ir_module\n"
                                             "class Intrin:\n"
                                             "    @T.prim_func\n"
                                             "    def desc(c: T.handle, v: T.float32):\n"
                                             "        C = T.match_buffer(c, (8,), 'float32')\n"
                                             "        for j in range(8):\n"
                                             "            with T.sblock('b'):\n"
                                             "                vj = T.axis.spatial(8, j)\n"
                                             "                C[vj] = v\n"
                                             "    @T.prim_func\n"
                                             "    def impl(c: T.handle, v: T.float32):\n"
                                             "        C = T.match_buffer(c, (8,), 'float32')\n"
                                             "        C[T.Ramp(0, 1, 8)] = T.Broadcast(v, 8)\n"};

/* Rows of four that lie behind each other without gaps. */
static const tnk_tensor_intrin dense_2x4 = {
    .base.size = sizeof dense_2x4,
    .base.name = "test.dense_2x4",
    .base.doc = "a copy of 2 x 4 that has to be dense",
    .text = "@I.ir_module\n"
            "class Intrin:\n"
            "    @T.prim_func\n"
            "    def desc(a: T.handle, c: T.handle):\n"
            "        A = T.match_buffer(a, (2, 4), 'float32')\n"
            "        C = T.match_buffer(c, (2, 4), 'float32')\n"
            "        for i, j in T.grid(2, 4):\n"
            "            with T.sblock('b'):\n"
            "                vi, vj = T.axis.remap('SS', [i, j])\n"
            "                C[vi, vj] = A[vi, vj]\n"
            "    @T.prim_func\n"
            "    def impl(a: T.handle, c: T.handle):\n"
            "        A = T.match_buffer(a, (2, 4), 'float32', strides=[4, 1], offset_factor=8)\n"
            "        C = T.match_buffer(c, (2, 4), 'float32', offset_factor=1)\n"
            "        for i in T.serial(2):\n"
            "            C[i, T.Ramp(0, 1, 4)] = A[i, T.Ramp(0, 1, 4)]\n"};

/* A dot product of bytes by a C function that the intrinsic brings along. */
static const tnk_tensor_intrin dot_i8 = {
    .base.size = sizeof dot_i8,
    .base.name = "test.dot_i8",
    .base.doc = "four bytes times four bytes",
    .text =
        "@I.ir_module\n"
        "class Intrin:\n"
        "    @T.prim_func\n"
        "    def desc(a: T.handle, b: T.handle, c: T.handle):\n"
        "        A = T.match_buffer(a, (4,), 'int8')\n"
        "        B = T.match_buffer(b, (4,), 'int8')\n"
        "        C = T.match_buffer(c, (1,), 'int32')\n"
        "        for k in range(4):\n"
        "            with T.sblock('b'):\n"
        "                vk = T.axis.reduce(4, k)\n"
        "                C[0] = C[0] + T.Cast('int32', A[vk]) * T.Cast('int32', B[vk])\n"
        "    @T.prim_func\n"
        "    def impl(a: T.handle, b: T.handle, c: T.handle):\n"
        "        A = T.match_buffer(a, (4,), 'int8', strides=[1], offset_factor=1)\n"
        "        B = T.match_buffer(b, (4,), 'int8', strides=[1], offset_factor=1)\n"
        "        C = T.match_buffer(c, (1,), 'int32', offset_factor=1)\n"
        "        T.attr(0, 'pragma_import_c', 'static inline int32_t test_dot(const int8_t *a, "
        "const int8_t *b, int32_t *c) { for (int k = 0; k < 4; k++) *c += a[k] * b[k]; return 0; "
        "}')\n"
        "        T.evaluate(T.call_extern('int32', 'test_dot', T.address_of(A[0]), "
        "T.tvm_access_ptr(T.type_annotation('int8'), B.data, B.elem_offset, 4, 1), "
        "T.address_of(C[0])))\n"};

/* Its meaning leaves a half of A out. */
static const tnk_tensor_intrin half = {.base.size = sizeof half,
                                       .base.name = "test.half",
                                       .base.doc = "not well formed",
                                       .text = "@I.ir_module\n"
                                               "class Intrin:\n"
                                               "    @T.prim_func\n"
                                               "    def desc(a: T.handle, c: T.handle):\n"
                                               "        A = T.match_buffer(a, (8,), 'float32')\n"
                                               "        C = T.match_buffer(c, (4,), 'float32')\n"
                                               "        for i in range(4):\n"
                                               "            with T.sblock('b'):\n"
                                               "                vi = T.axis.spatial(4, i)\n"
                                               "                C[vi] = A[vi]\n"
                                               "    @T.prim_func\n"
                                               "    def impl(a: T.handle, c: T.handle):\n"
                                               "        A = T.match_buffer(a, (8,), 'float32')\n"
                                               "        C = T.match_buffer(c, (4,), 'float32')\n"
                                               "        C[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4)]\n"};

static const tnk_tensor_intrin *const intrins[] = {&fma_4x8, &fill_8, &dense_2x4, &dot_i8, &half};

static const tn_plugin_desc plugin = {.head = TNB_PLUGIN_HEAD(tn_plugin_desc, TNB_PLUGIN_COMPILER,
                                                              "intrinsics", "1", "Apache-2.0",
                                                              "tensor intrinsics of a test"),
                                      .tensor_intrins = intrins,
                                      .n_tensor_intrins = sizeof intrins / sizeof *intrins};

/* ---- programs ---- */

static const char matmul[] =
    "@I.ir_module\n"
    "class M:\n"
    "    @T.prim_func\n"
    "    def f(A: T.Buffer((6, 16), 'float32'), B: T.Buffer((16, 24), 'float32'), C: T.Buffer((6, "
    "24), 'float32')):\n"
    "        for i, j, k in T.grid(6, 24, 16):\n"
    "            with T.sblock('mm'):\n"
    "                vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n"
    "                with T.init():\n"
    "                    C[vi, vj] = T.float32(0)\n"
    "                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

static const char bytes[] =
    "@I.ir_module\n"
    "class M:\n"
    "    @T.prim_func\n"
    "    def f(A: T.Buffer((5, 16), 'int8'), B: T.Buffer((6, 16), 'int8'), C: T.Buffer((5, 6), "
    "'int32')):\n"
    "        P = T.sblock_alloc_buffer((5, 6), 'int32')\n"
    "        for i, j, k in T.grid(5, 6, 16):\n"
    "            with T.sblock('dot'):\n"
    "                vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n"
    "                with T.init():\n"
    "                    P[vi, vj] = 0\n"
    "                P[vi, vj] = P[vi, vj] + T.Cast('int32', A[vi, vk]) * T.Cast('int32', B[vj, "
    "vk])\n"
    "        for i, j in T.grid(5, 6):\n"
    "            with T.sblock('plus'):\n"
    "                vi, vj = T.axis.remap('SS', [i, j])\n"
    "                C[vi, vj] = P[vi, vj] + 1\n";

static const char copy[] = "@I.ir_module\n"
                           "class M:\n"
                           "    @T.prim_func\n"
                           "    def f(A: T.Buffer((8, 4), 'float32'), W: T.Buffer((8, 16), "
                           "'float32'), C: T.Buffer((8, 4), "
                           "'float32'), D: T.Buffer((8, 16), 'float32')):\n"
                           "        for i, j in T.grid(8, 4):\n"
                           "            with T.sblock('dense'):\n"
                           "                vi, vj = T.axis.remap('SS', [i, j])\n"
                           "                C[vi, vj] = A[vi, vj]\n"
                           "        for i, j in T.grid(8, 16):\n"
                           "            with T.sblock('wide'):\n"
                           "                vi, vj = T.axis.remap('SS', [i, j])\n"
                           "                D[vi, vj] = W[vi, vj]\n";

static const char symbolic[] = "@I.ir_module\n"
                               "class M:\n"
                               "    @T.prim_func\n"
                               "    def f(a: T.handle, b: T.handle):\n"
                               "        n = T.int64()\n"
                               "        A = T.match_buffer(a, (n, 8, 3), 'float32')\n"
                               "        B = T.match_buffer(b, (n, 8, 3), 'float32')\n"
                               "        for i, j, l in T.grid(n, 8, 3):\n"
                               "            with T.sblock('add'):\n"
                               "                vi, vj, vl = T.axis.remap('SSS', [i, j, l])\n"
                               "                B[vi, vj, vl] = A[vi, vj, vl] + T.float32(1)\n";

static const tn_node *func;
static tnk_sch *s;

static int
open_all(void **state)
{
    (void)state;
    tnb_err err = {0};
    return krun_open(&k) && tn_registry_add(k.reg, &plugin, &err) == TNB_OK ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

static void
begin(const char *text)
{
    tnb_diags_clear(tn_diags(k.ctx));
    const tn_module *m = tn_read_module(k.ctx, "test", text, strlen(text));
    if (!m)
        krun_print_errors(&k);
    assert_non_null(m);
    func = tn_module_get(m, "f");
    s = tnk_sch_new(k.ctx, func);
    assert_non_null(s);
}

static bool
interpreted(const tn_node *f, tn_list args)
{
    tnb_err err = {0};
    const tn_evaluator *eval = tn_find_evaluator(k.reg, "interp", &err);
    tn_eval_options opt = {0};
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f);
    bool ok = eval && eval->run(eval->self, k.ctx, m, "f", args.at, args.n, &opt);
    if (!ok)
        krun_print_errors(&k);
    return ok;
}

/* The trace is done to the program; the result computes the same in both ways. */
static const tn_node *
legal(const char *text, const char *trace)
{
    begin(text);
    const tn_node *out = tnk_sch_apply(s, trace, "case", 1) ? tnk_sch_finish(s) : NULL;
    if (!out)
        krun_print_errors(&k);
    assert_non_null(out);
    assert_string_equal(tnk_sch_trace(s), trace);
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", out);
    uint32_t faults = tn_verify(k.ctx, m);
    if (faults)
        krun_print_errors(&k);
    assert_int_equal(faults, 0);
    const tn_node *dims = tn_dictv(k.ctx, "n", tn_i64(k.ctx, 5), NULL);
    tn_list args;
    assert_true(tn_random_args(k.ctx, func, 3, dims, &args));
    tn_list other = krun_copy(&k, args);
    assert_true(interpreted(func, args));
    assert_true(interpreted(out, other));
    for (uint32_t i = 0; i < args.n; i++)
        assert_true(tn_values_close(k.ctx, other.at[i], args.at[i], 1e-5, 1e-6, NULL));
    assert_true(krun_same(&k, func, out, dims, 1e-5, 1e-6));
    return out;
}

static void
illegal(const char *text, const char *trace, const char *reason)
{
    begin(text);
    assert_false(tnk_sch_apply(s, trace, "case", 1));
    assert_null(tnk_sch_finish(s));
    const tnb_diag *d = tnb_diags_get(tn_diags(k.ctx), 0);
    assert_non_null(d);
    if (!strstr(d->message, reason))
        fail_msg("'%s' does not say '%s'", d->message, reason);
}

/* ---- tests ---- */

static void
a_block_around_loops_keeps_the_meaning(void **state)
{
    (void)state;
    legal(matmul, "split(mm, j, 8)\nsplit(mm, k, 4)\nreorder(mm, j_0, k_0, j_1, k_1)\n"
                  "blockize(mm, j_1)\n");
    legal(matmul, "blockize(mm, i)\n"); /* everything */
    legal(matmul, "blockize(mm, k)\n"); /* the whole reduction: the init is inside */
    legal(matmul, "split(mm, i, 2)\nblockize(mm, i_1)\nblockize(mm_o, i_0)\n"); /* twice */
    legal(matmul, "split(mm, k, 4)\nblockize(mm, k_1)\ndecompose_reduction(mm_o, mm_o, k_0)\n");
    legal(symbolic, "split(add, j, 4)\nreorder(add, j_0, i, j_1)\nblockize(add, j_1)\n"
                    "parallel(add_o, j_0)\n");
    legal(symbolic, "blockize(add, i)\n");
    legal(symbolic, "blockize(add, l)\nannotate_block(add_o, \"note\", 1)\n"
                    "cache_read(add_o, A, \"global\")\n");
}

static void
loops_that_make_no_tile_are_refused(void **state)
{
    (void)state;
    illegal(matmul, "split(mm, j, 5)\nblockize(mm, j_1)\n", "its predicate depends on the loop");
    illegal(matmul, "split(mm, j, 8)\nreorder(mm, j_1, j_0)\nblockize(mm, j_0)\n",
            "do not count through iterator 'vj' without gaps");
    illegal(matmul, "parallel(mm, j)\nblockize(mm, i)\n",
            "it is parallel, which has to stay outside");
    illegal(matmul, "decompose_reduction(mm, mm, k)\nblockize(mm_init, i)\n",
            "it holds more than one thing");
    illegal(matmul, "fuse(mm, i, j)\nsplit(mm, i_j, 16)\nblockize(mm, i_j_1)\n",
            "is no sum of multiples of the loops inside");
    illegal(copy, "split_overlap(wide, j, 5)\nblockize(wide, j_1)\n",
            "does not begin at a multiple of 5");
}

static void
an_implementation_computes_what_the_intrinsic_means(void **state)
{
    (void)state;
    static const char tiles[] =
        "split(mm, j, 8)\nsplit(mm, k, 4)\nreorder(mm, j_0, k_0, j_1, k_1)\n"
        "blockize(mm, j_1)\ndecompose_reduction(mm_o, mm_o, k_0)\n"
        "tensorize(mm_o_init, \"test.fill_8\")\n"
        "tensorize(mm_o_update, \"test.fma_4x8\")\n"
        "parallel(mm_o_init, i)\n";
    const tn_node *out = legal(matmul, tiles);
    tnb_buf text = {0};
    assert_int_equal(tn_print(k.ctx, out, NULL, &text), TNB_OK);
    assert_non_null(
        strstr(text.s, "T.match_buffer(B[vk_o * 4:vk_o * 4 + 4, vj_o * 8:vj_o * 8 + 8]"));
    assert_non_null(strstr(text.s, "T.Broadcast(A_1[k"));
    tnb_buf_free(&text);
    /* with its init inside: that stays as it is */
    legal(matmul, "split(mm, j, 8)\nsplit(mm, k, 4)\nreorder(mm, j_0, k_0, k_1, j_1)\n"
                  "blockize(mm, k_1)\ntensorize(mm_o, \"test.fma_4x8\")\n");
    legal(copy,
          "split(dense, i, 2)\nblockize(dense, i_1)\ntensorize(dense_o, \"test.dense_2x4\")\n");
}

static void
intrinsics_come_from_a_module_too(void **state)
{
    (void)state;
    static const char own[] = "@I.ir_module\n"
                              "class Intrin:\n"
                              "    @T.prim_func\n"
                              "    def plus_desc(a: T.Buffer((3,), 'float32'), b: T.Buffer((3,), "
                              "'float32'), x: T.float32):\n"
                              "        for i in range(3):\n"
                              "            with T.sblock('b'):\n"
                              "                vi = T.axis.spatial(3, i)\n"
                              "                b[vi] = a[vi] + x\n"
                              "    @T.prim_func\n"
                              "    def plus_impl(a: T.Buffer((3,), 'float32'), b: T.Buffer((3,), "
                              "'float32'), x: T.float32):\n"
                              "        b[0] = x + a[0]\n"
                              "        b[1] = x + a[1]\n"
                              "        b[2] = x + a[2]\n";
    begin(symbolic);
    assert_true(tnk_sch_intrinsics(s, tn_read_module(k.ctx, "own", own, strlen(own))));
    tnk_item *l[4], *add = tnk_sch_block(s, "add");
    assert_int_equal(tnk_sch_loops(s, add, l, 4), 3);
    assert_true(tnk_tensorize(s, l[2], "plus")); /* a loop: a block is made around it */
    assert_string_equal(tnk_sch_trace(s), "blockize(add, l)\ntensorize(add_o, \"plus\")\n");
    const tn_node *out = tnk_sch_finish(s);
    assert_true(krun_same(&k, func, out, tn_dictv(k.ctx, "n", tn_i64(k.ctx, 5), NULL), 0, 0));
    static const char lone[] = "@I.ir_module\n"
                               "class Intrin:\n"
                               "    @T.prim_func\n"
                               "    def plus_desc(b: T.Buffer((3,), 'float32')):\n"
                               "        b[0] = T.float32(0)\n";
    begin(symbolic);
    assert_false(tnk_sch_intrinsics(s, tn_read_module(k.ctx, "own", lone, strlen(lone))));
    assert_non_null(strstr(tnb_diags_get(tn_diags(k.ctx), 0)->message, "no 'plus_impl'"));
}

static void
what_an_intrinsic_does_not_mean_is_refused_with_the_difference(void **state)
{
    (void)state;
#define TILE \
    "split(mm, j, 8)\nsplit(mm, k, 4)\nreorder(mm, j_0, k_0, j_1, k_1)\nblockize(mm, j_1)\n"
    illegal(matmul, TILE "tensorize(mm_o, \"test.fma_4x9\")\n",
            "there is no tensor intrinsic 'test.fma_4x9' (nearest: 'test.fma_4x8')");
    illegal(matmul, "blockize(mm, k)\ntensorize(mm_o, \"test.fma_4x8\")\n",
            "its loops have the extents 16, the meaning's 4, 8");
    illegal(matmul, TILE "tensorize(mm_o, \"test.half\")\n",
            "its meaning does not run through all of 'A'");
    illegal(matmul,
            "split(mm, j, 4)\nsplit(mm, k, 8)\nreorder(mm, j_0, k_0, j_1, k_1)\n"
            "blockize(mm, j_1)\ntensorize(mm_o, \"test.fma_4x8\")\n",
            "stands where the meaning has");
    illegal(copy, "split(wide, j, 8)\nblockize(wide, j_1)\ntensorize(wide_o, \"test.fill_8\")\n",
            "stands for the scalar 'v'");
    illegal(matmul, "tensorize(mm, \"test.fma_4x8\")\n", "the extents none, the meaning's 4, 8");
    illegal(copy,
            "split(wide, i, 2)\nsplit(wide, j, 4)\nreorder(wide, i_0, j_0, i_1, j_1)\n"
            "blockize(wide, i_1)\ntensorize(wide_o, \"test.dense_2x4\")\n",
            "dimension 0 of 'W' has the stride 16, 'test.dense_2x4' wants 4 for its 'A'");
    illegal(copy,
            "cache_write(dense, \"local\")\nsplit(dense, i, 2)\nblockize(dense, i_1)\n"
            "tensorize(dense_o, \"test.dense_2x4\")\n",
            "'C_local' is in the scope local, the meaning's 'C' in global");
#undef TILE
}

static void
implementations_call_c_functions(void **state)
{
    (void)state;
    k.keep_source = true;
    legal(bytes, "split(dot, k, 4)\nblockize(dot, k_1)\ntensorize(dot_o, \"test.dot_i8\")\n"
                 "parallel(dot_o, i)\n");
    assert_non_null(strstr(k.last_source, "test_dot("));
    k.keep_source = false;
    /* operands across rows have gaps, and so has nothing that a pointer may run through */
    illegal(bytes, "blockize(dot, i)\ntensorize(dot_o, \"test.dot_i8\")\n",
            "its loops have the extents 5, 6, 16, the meaning's 4");
}

static void
a_tensorized_block_takes_part_in_schedules(void **state)
{
    (void)state;
#define TILE                                                                                 \
    "split(mm, j, 8)\nsplit(mm, k, 4)\nreorder(mm, j_0, k_0, j_1, k_1)\nblockize(mm, j_1)\n" \
    "tensorize(mm_o, \"test.fma_4x8\")\n"
    legal(matmul, TILE "cache_read(mm_o, B, \"global\")\ncompute_at(B_global, mm_o, j_0)\n");
    legal(matmul, TILE "decompose_reduction(mm_o, mm_o, k_0)\nparallel(mm_o_init, i)\n");
    legal(matmul, TILE "split(mm_o, i, 4)\nfuse(mm_o, i_1, j_0)\n");
    legal(matmul, "cache_write(mm, \"global\")\nreverse_compute_at(C_global, mm, i)\n" TILE);
    illegal(matmul, TILE "tensorize(mm_o, \"test.fma_4x8\")\n",
            "it matches parts of buffers already");
    illegal(matmul, TILE "reindex(mm_o, A)\n", "matches a part of it");
#undef TILE
}

/* ---- random schedules ---- */

static uint32_t
below(uint32_t n)
{
    return (uint32_t)(draw_next() % n);
}

static bool
computes_the_same(const tn_node *out)
{
    tn_list args;
    assert_true(tn_random_args(k.ctx, func, 7, NULL, &args));
    tn_list other = krun_copy(&k, args);
    bool same = interpreted(func, args) && interpreted(out, other);
    for (uint32_t i = 0; i < args.n && same; i++)
        same = tn_values_close(k.ctx, other.at[i], args.at[i], 1e-4, 1e-5, NULL);
    return same;
}

/* Does a line to the function, if it is legal: the new function, or the old one. */
static const tn_node *
try_line(const tn_node *now, const char *line, tnb_buf *trace, int *tensorized)
{
    tnk_sch *one = tnk_sch_new(k.ctx, now);
    assert_non_null(one);
    tnk_sch_quiet(one);
    const tn_node *next = tnk_sch_apply(one, line, "line", 1) ? tnk_sch_finish(one) : NULL;
    if (!next)
        return now;
    *tensorized += !strncmp(line, "tensorize", 9);
    tnb_buf_printf(trace, "%s\n", line);
    return next;
}

static const char *
random_line(void)
{
    static const char *const loops[] = {"i", "j", "k", "i_0", "i_1", "j_0", "j_1", "k_0", "k_1"};
    static const char *const blocks[] = {"mm",        "mm",          "mm_o",    "mm_o",
                                         "mm_o_init", "mm_o_update", "mm_init", "mm_update"};
    static const int factors[] = {8, 4, 2, 3};
    const char *b = blocks[below(8)], *l = loops[below(9)];
    switch (below(10)) {
    case 0:
        return tn_strf(k.ctx, "split(%s, %s, %d)", b, l, factors[below(4)]);
    case 1:
        return below(2) ? "reorder(mm, j_0, k_0, j_1, k_1)" : "reorder(mm, k_0, j_0, k_1, j_1)";
    case 2:
        return below(4) ? "blockize(mm, j_1)" : "blockize(mm, k_1)";
    case 3:
        return tn_strf(k.ctx, "blockize(%s, %s)", b, l);
    case 4:
        b = below(3) ? "mm_o" : "mm";
        return tn_strf(k.ctx, "decompose_reduction(%s, %s, %s)", b, b, below(2) ? "k_0" : l);
    case 5:
        return tn_strf(k.ctx, "cache_read(%s, %s, \"global\")", b, below(2) ? "A" : "B");
    case 6:
        return tn_strf(k.ctx, "parallel(%s, %s)", b, l);
    default:
        return tn_strf(k.ctx, "tensorize(%s, \"%s\")", b,
                       below(3) ? "test.fma_4x8" : "test.fill_8");
    }
}

static void
random_tiles_compute_the_same(void **state)
{
    (void)state;
    const char *rounds = getenv("TENON_ROUNDS");
    int tensorized = 0;
    draw_seed(20240229);
    for (int round = 0; round < (rounds ? atoi(rounds) : draw_long() ? 2000 : 100); round++) {
        tnb_buf trace = {0};
        begin(matmul);
        const tn_node *now = func;
        if (below(4)) { /* tiles that there are intrinsics for */
            now = try_line(now, "split(mm, j, 8)", &trace, &tensorized);
            now = try_line(now, "split(mm, k, 4)", &trace, &tensorized);
            now = try_line(now, "reorder(mm, j_0, k_0, j_1, k_1)", &trace, &tensorized);
        }
        for (int step = 0; step < 24; step++)
            now = try_line(now, random_line(), &trace, &tensorized);
        tnb_diags_clear(tn_diags(k.ctx));
        const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", now);
        if (tn_verify(k.ctx, m) || !computes_the_same(now)) {
            krun_print_errors(&k);
            fail_msg("round %d:\n%s", round, trace.s ? trace.s : "");
        }
        tnb_buf_free(&trace);
    }
    printf("%d blocks were tensorized\n", tensorized);
    assert_true(rounds || tensorized > 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_around_loops_keeps_the_meaning),
        cmocka_unit_test(loops_that_make_no_tile_are_refused),
        cmocka_unit_test(an_implementation_computes_what_the_intrinsic_means),
        cmocka_unit_test(intrinsics_come_from_a_module_too),
        cmocka_unit_test(what_an_intrinsic_does_not_mean_is_refused_with_the_difference),
        cmocka_unit_test(implementations_call_c_functions),
        cmocka_unit_test(a_tensorized_block_takes_part_in_schedules),
        cmocka_unit_test(random_tiles_compute_the_same),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
