/* SPDX-License-Identifier: Apache-2.0 */
/* Every schedule primitive: legal uses keep the results, illegal ones are refused with their
 * reason. */
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
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/schedule.h"

static krun k;
static tnk_sch *s;
static const tn_node *func;
static tnk_item *l[16], *part[2];
static uint32_t n;

static int
open_all(void **state)
{
    (void)state;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* A schedule of a program of the collection. */
static void
begin(const char *program)
{
    func = NULL;
    for (int i = 0; i < program_count() && !func; i++) {
        const char *name;
        const tn_node *dims;
        const tn_node *f = program_get(k.ctx, i, &name, &dims);
        func = strcmp(name, program) ? NULL : f;
    }
    assert_non_null(func);
    tnb_diags_clear(tn_diags(k.ctx));
    s = tnk_sch_new(k.ctx, func);
    assert_non_null(s);
}

/* A schedule of a program that is given as text. */
static void
begin_text(const char *text)
{
    tnb_diags_clear(tn_diags(k.ctx));
    const tn_module *m = tn_read_module(k.ctx, "program.py", text, strlen(text));
    if (!m)
        krun_print_errors(&k);
    assert_non_null(m);
    func = tn_module_get(m, "f");
    s = tnk_sch_new(k.ctx, func);
    assert_non_null(s);
}

static tnk_item *
block(const char *name)
{
    tnk_item *b = tnk_sch_block(s, name);
    assert_non_null(b);
    n = tnk_sch_loops(s, b, l, 16);
    return b;
}

static void
legal(const char *trace)
{
    const tn_node *out = tnk_sch_finish(s);
    if (!out)
        krun_print_errors(&k);
    assert_non_null(out);
    assert_non_null(strstr(tnk_sch_trace(s), trace));
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", out);
    uint32_t faults = tn_verify(k.ctx, m);
    if (faults)
        krun_print_errors(&k);
    assert_int_equal(faults, 0);
    assert_true(krun_same(&k, func, out,
                          tn_dictv(k.ctx, "n", tn_i64(k.ctx, 5), "m", tn_i64(k.ctx, 19), NULL),
                          1e-4, 1e-5));
}

static void
illegal(const char *reason)
{
    assert_false(tnk_sch_ok(s));
    assert_null(tnk_sch_finish(s));
    assert_int_equal(tnb_diags_errors(tn_diags(k.ctx)), 1);
    const tnb_diag *d = tnb_diags_get(tn_diags(k.ctx), 0);
    if (!strstr(d->message, reason))
        fail_msg("'%s' does not say '%s'", d->message, reason);
}

static void
split(void **state)
{
    (void)state;
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_split(s, l[1], 8, part));
    assert_true(tnk_split(s, l[2], 4, part)); /* 21: a predicate */
    legal("split(T_matmul, ax1, 8)");
    begin("symbolic_add");
    block("T_add");
    assert_true(tnk_split(s, l[1], 8, part));
    legal("split");
    begin("matmul");
    block("T_matmul");
    assert_false(tnk_split(s, l[0], 0, part));
    illegal("not positive");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_set_kind(s, l[1], TN_FOR_VECTORIZED));
    assert_false(tnk_split(s, l[1], 4, part));
    illegal("is vectorized");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_annotate(s, l[1], "note", tn_i64(k.ctx, 1)));
    assert_false(tnk_split(s, l[1], 4, part));
    illegal("annotated");
}

static void
split_overlap(void **state)
{
    (void)state;
    begin("transpose");
    block("T_transpose");
    assert_true(tnk_split_overlap(s, l[2], 8, part));
    assert_true(tnk_set_kind(s, part[1], TN_FOR_VECTORIZED));
    legal("split_overlap");
    begin("matmul");
    block("T_matmul");
    assert_false(tnk_split_overlap(s, l[0], 8, part));
    illegal("computed twice");
    begin("transpose");
    block("T_transpose");
    assert_false(tnk_split_overlap(s, l[2], 64, part));
    illegal("does not fit");
}

static void
fuse(void **state)
{
    (void)state;
    begin("matmul");
    block("T_matmul");
    tnk_item *f = tnk_fuse(s, l[0], l[1]);
    assert_non_null(f);
    assert_true(tnk_set_kind(s, f, TN_FOR_PARALLEL));
    legal("fuse(T_matmul, ax0, ax1)");
    begin("matmul");
    block("T_matmul");
    assert_null(tnk_fuse(s, l[0], l[2]));
    illegal("not the only thing");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_set_kind(s, l[0], TN_FOR_PARALLEL));
    assert_null(tnk_fuse(s, l[0], l[1]));
    illegal("marked differently");
}

/* matmul_bias with the product computed in the outer loop of T_add; l: the loops of T_add. */
static tnk_item *
product_in_loop(void)
{
    tnk_item *product = block("NT_matmul");
    block("T_add");
    assert_true(tnk_compute_at(s, product, l[0]));
    return product;
}

static void
reorder(void **state)
{
    (void)state;
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_reorder(s, (tnk_item *[]){l[2], l[0], l[1]}, 3));
    legal("reorder(T_matmul, k, ax0, ax1)");
    begin("softmax");
    block("T_softmax_exp");
    tnk_item *other[16];
    tnk_item *b = tnk_sch_block(s, "T_softmax_norm");
    tnk_sch_loops(s, b, other, 16);
    assert_false(tnk_reorder(s, (tnk_item *[]){l[0], other[0]}, 2));
    illegal("not one inside the other");
    begin("matmul_bias");
    product_in_loop();
    assert_false(tnk_reorder(s, (tnk_item *[]){l[1], l[0]}, 2));
    illegal("more than one thing");
    /* where elements and their parts are counted by one loop, the init stays first */
    begin("symbolic_sum");
    block("T_sum");
    assert_true(tnk_split(s, tnk_fuse(s, l[0], l[1]), 4, part));
    assert_false(tnk_reorder(s, (tnk_item *[]){part[1], part[0]}, 2));
    illegal("depends on the order");
}

static void
kinds(void **state)
{
    (void)state;
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_split(s, l[1], 8, part));
    assert_true(tnk_reorder(s, (tnk_item *[]){l[2], part[1]}, 2));
    assert_true(tnk_set_kind(s, part[1], TN_FOR_VECTORIZED));
    assert_true(tnk_set_kind(s, l[0], TN_FOR_PARALLEL));
    assert_true(tnk_annotate(s, part[0], "note", tn_i64(k.ctx, 1)));
    legal("vectorize(");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_split(s, l[2], 3, part));
    assert_true(tnk_set_kind(s, part[1], TN_FOR_UNROLLED));
    legal("unroll(");
    begin("matmul");
    block("T_matmul");
    assert_false(tnk_set_kind(s, l[2], TN_FOR_PARALLEL));
    illegal("from one iteration to the next");
    begin("symbolic_add");
    block("T_add");
    assert_false(tnk_set_kind(s, l[1], TN_FOR_VECTORIZED));
    illegal("not constant");
    begin("matmul");
    block("T_matmul");
    assert_false(tnk_set_kind(s, l[0], TN_FOR_THREAD_BINDING));
    illegal("threads are bound by");
    begin("matmul_bias");
    tnk_item *product = product_in_loop();
    assert_true(tnk_split(s, l[0], 3, part));
    tnk_sch_loops(s, product, l, 16);
    tnk_item *unit = tnk_add_unit_loop(s, product);
    assert_true(tnk_set_kind(s, unit, TN_FOR_PARALLEL)); /* one turn */
    legal("parallel(NT_matmul, u)");
}

static void
compute_inline(void **state)
{
    (void)state;
    begin("matmul_bias");
    assert_true(tnk_compute_inline(s, block("T_add")));
    assert_null(tnk_sch_block(s, "T_add"));
    legal("compute_inline(T_add)");
    begin("conv_3x3");
    assert_true(tnk_compute_inline(s, block("pad_temp")));
    legal("compute_inline(pad_temp)");
    begin("matmul_bias");
    assert_false(tnk_compute_inline(s, block("NT_matmul")));
    illegal("without reduction");
    begin("matmul_bias");
    assert_false(tnk_compute_inline(s, block("T_tanh")));
    illegal("parameter");
    begin("matmul_bias");
    block("T_add");
    assert_true(tnk_split(s, l[1], 8, part)); /* 20: a predicate */
    assert_false(tnk_compute_inline(s, block("T_add")));
    illegal("guarded by a predicate");
}

/* A row of two, read through what reshapes leave; with reads of a symbolic extent, of which less is known. */
static const char reshaped[] =
    "@I.ir_module\n"
    "class Module:\n"
    "    @T.prim_func\n"
    "    def f(x: T.Buffer((2, 16)), z: T.handle, y: T.Buffer((2, 16))):\n"
    "        n = T.int64()\n"
    "        w = T.match_buffer(z, (n,))\n"
    "        flat = T.sblock_alloc_buffer((32,))\n"
    "        for i in range(32):\n"
    "            with T.sblock('flatten'):\n"
    "                vi = T.axis.spatial(32, i)\n"
    "                flat[vi] = x[vi // 16 % 2, vi % 16] + w[T.Cast('int64', vi) % n]\n"
    "        for i, j in T.grid(2, 16):\n"
    "            with T.sblock('tanh'):\n"
    "                vi, vj = T.axis.remap('SS', [i, j])\n"
    "                y[vi, vj] = T.tanh(flat[vi * 16 + vj])\n";

static void
simplify_indices(void **state)
{
    (void)state;
    begin_text(reshaped);
    assert_true(tnk_compute_inline(s, block("flatten")));
    assert_true(tnk_simplify_indices(s, block("tanh")));
    assert_true(tnk_simplify_indices(s, block("tanh"))); /* nothing is left to do */
    const tn_block *b = tnk_item_block(block("tanh"));
    const tn_buffer_region *r = tn_as_buffer_region(b->reads.at[0]);
    for (uint32_t i = 0; i < 2; i++)
        assert_ptr_equal(tn_as_range(r->ranges.at[i])->min, tn_as_iter_var(b->iters.at[i])->var);
    legal("compute_inline(flatten)\nsimplify_indices(tanh)\n");
    assert_null(strstr(tnk_sch_trace(s), "simplify_indices(tanh)\nsimplify"));
}

static void
caches(void **state)
{
    (void)state;
    begin("matmul");
    tnk_item *b = block("T_matmul");
    assert_non_null(tnk_cache_write(s, b, "local"));
    legal("cache_write(T_matmul, \"local\")");
    begin("matmul");
    b = block("T_matmul");
    const tn_node *input = tn_as_prim_func(func)->buffers.at[1];
    assert_non_null(tnk_cache_read(s, b, input, "global", (uint32_t[]){1, 0}));
    legal("cache_read(T_matmul, B");
    begin("matmul_bias");
    b = block("T_add");
    const tn_node *late = tnk_block_output(tnk_sch_block(s, "T_add"));
    assert_null(tnk_cache_read(s, block("NT_matmul"), late, "global", NULL));
    illegal("not complete before it");
    begin("matmul_bias");
    assert_true(tnk_set_scope(s, tnk_block_output(block("T_add")), "local"));
    legal("set_scope");
    begin("matmul_bias");
    assert_false(tnk_set_scope(s, input, "local"));
    illegal("not allocated");
    begin("matmul_bias");
    assert_null(tnk_cache_write(s, product_in_loop(), "local"));
    illegal("block 'T_add' in the same nest reads it");
    begin("matmul_bias");
    late = tnk_block_output(product_in_loop());
    assert_null(tnk_cache_read(s, block("T_add"), late, "global", NULL));
    illegal("written in the same nest");
    begin("matmul");
    b = block("T_matmul");
    assert_non_null(tnk_decompose_reduction(s, b, l[2]));
    assert_null(tnk_cache_write(s, b, "local"));
    illegal("another block writes the same buffer");
}

static void
compute_at(void **state)
{
    (void)state;
    begin("matmul_bias");
    tnk_item *product = block("NT_matmul");
    assert_true(tnk_compute_inline(s, tnk_sch_block(s, "T_add")));
    block("T_tanh");
    assert_true(tnk_split_overlap(s, l[1], 8, part));
    assert_true(tnk_compute_at(s, product, part[0]));
    legal("compute_at(NT_matmul, T_tanh, ax1_0)");
    begin("softmax");
    tnk_item *e = block("T_softmax_exp");
    block("T_softmax_norm");
    assert_false(tnk_compute_at(s, e, l[0]));
    illegal("outside of the loop");
    begin("matmul_bias");
    product = block("T_tanh");
    block("T_add");
    assert_false(tnk_compute_at(s, product, l[0]));
    illegal("allocated buffer");
    begin("matmul_bias");
    product = product_in_loop();
    assert_false(tnk_compute_at(s, product, l[0]));
    illegal("in the loop already");
    begin("matmul_bias");
    product = block("NT_matmul");
    assert_non_null(tnk_decompose_reduction(s, product, l[2]));
    block("T_add");
    assert_false(tnk_compute_at(s, product, l[0]));
    illegal("another block writes the same buffer");
}

static void
decompose_reduction(void **state)
{
    (void)state;
    begin("matmul");
    tnk_item *b = block("T_matmul");
    assert_true(tnk_reorder(s, (tnk_item *[]){l[2], l[1]}, 2));
    assert_non_null(tnk_decompose_reduction(s, b, l[2]));
    legal("decompose_reduction(T_matmul, T_matmul, k)");
    begin("matmul");
    b = block("T_matmul");
    assert_true(
        tnk_split(s, l[2], 4, part)); /* the predicate is of the reducing loop: the init has none */
    assert_non_null(tnk_decompose_reduction(s, b, part[0]));
    legal("decompose_reduction");
    begin("matmul");
    b = block("T_matmul");
    assert_true(tnk_reorder(s, (tnk_item *[]){l[2], l[0], l[1]}, 3));
    assert_null(tnk_decompose_reduction(s, b, l[1]));
    illegal("reduces too");
    begin("transpose");
    assert_null(tnk_decompose_reduction(s, block("T_transpose"), l[0]));
    illegal("has no init");
    begin("matmul_bias");
    b = block("NT_matmul");
    block("T_add");
    assert_null(tnk_decompose_reduction(s, b, l[0]));
    illegal("not in the loop");
    begin("matmul");
    b = block("T_matmul");
    tnk_item *both = tnk_fuse(s, l[1], l[2]);
    assert_null(tnk_decompose_reduction(s, b, both));
    illegal("both spatial and reducing");
}

/* Running sums: step j adds a row's sum to step j - 1. */
#define RUNNING_SUMS                                                                    \
    "@T.prim_func(s_tir=True)\n"                                                        \
    "def f(A: T.Buffer((3, 4, 5), \"float32\"), B: T.Buffer((3, 4), \"float32\")):\n"   \
    "    for i, j, k in T.grid(3, 4, 5):\n"                                             \
    "        with T.sblock(\"B\"):\n"                                                   \
    "            vi = T.axis.spatial(3, i)\n"                                           \
    "            vj = T.axis.scan(4, j)\n"                                              \
    "            vk = T.axis.reduce(5, k)\n"                                            \
    "            with T.init():\n"                                                      \
    "                B[vi, vj] = T.if_then_else(vj > 0, B[vi, vj - 1], T.float32(0))\n" \
    "            B[vi, vj] = B[vi, vj] + A[vi, vj, vk]\n"

static void
decompose_running_sums(void **state)
{
    (void)state;
    begin_text(RUNNING_SUMS);
    tnk_item *b = block("B");
    assert_non_null(tnk_decompose_reduction(s, b, l[2]));
    legal("decompose_reduction(B, B, k)");
    begin_text(RUNNING_SUMS);
    b = block("B");
    assert_null(tnk_decompose_reduction(s, b, l[1]));
    illegal("the loop 'j' goes in order");
}

/* The reader matches a part of another buffer, so that its regions are what it says. */
static void
inline_into_matches(void **state)
{
    (void)state;
    begin_text("@T.prim_func(s_tir=True)\n"
               "def f(A: T.Buffer((8,), \"float32\"), D: T.Buffer((8,), \"float32\"), C: "
               "T.Buffer((8,), \"float32\")):\n"
               "    B = T.sblock_alloc_buffer((8,))\n"
               "    for i in range(8):\n"
               "        with T.sblock(\"B\"):\n"
               "            vi = T.axis.spatial(8, i)\n"
               "            B[vi] = A[vi] * T.float32(2)\n"
               "    for i in range(8):\n"
               "        with T.sblock(\"C\"):\n"
               "            vi = T.axis.spatial(8, i)\n"
               "            T.reads(B[vi], D[vi])\n"
               "            T.writes(C[vi])\n"
               "            P = T.match_buffer(D[vi], (1,))\n"
               "            C[vi] = B[vi] + P[0]\n");
    assert_true(tnk_compute_inline(s, block("B")));
    const tn_block *c = tnk_item_block(block("C"));
    assert_int_equal(c->reads.n, 2);
    assert_string_equal(tn_text(k.ctx, c->reads.at[0]), "D[vi]");
    assert_string_equal(tn_text(k.ctx, c->reads.at[1]), "A[vi]");
    legal("compute_inline");
}

static void
follows(void **state)
{
    (void)state;
    begin("matmul_bias");
    tnk_item *b = block("NT_matmul");
    assert_true(tnk_block_follows(s, block("T_add"), tnk_block_output(b)));
    assert_false(tnk_block_follows(s, b, tnk_block_output(block("T_add"))));
    /* the sigmoid goes on with each sum; the product reads one of them for a whole image */
    begin("gate");
    const tn_node *sums = tnk_block_output(block("conv2d"));
    assert_true(tnk_block_follows(s, block("compute"), sums));
    assert_false(tnk_block_follows(s, block("T_multiply"), tnk_block_output(block("compute"))));
    assert_true(tnk_compute_inline(s, block("compute")));
    assert_false(tnk_block_follows(s, block("T_multiply"), sums));
    legal("compute_inline");
}

/* A wrong rule: the last dimension of each result is written at 0 alone. */
static const tn_node *
at_zero(tn_rewriter *r, const tn_node *node)
{
    const tn_buffer_store *st = tn_as_buffer_store(node);
    if (!st)
        return NULL;
    uint32_t last = st->indices.n - 1;
    return tn_buffer_store_of(r->ctx, st->buffer, st->value,
                              tn_list_with(r->ctx, st->indices, last, tn_i64(r->ctx, 0)));
}

static const tn_node *
forget_columns(tn_ctx *ctx, const tn_node *f, const tn_target *target, void *self)
{
    (void)target, (void)self;
    tn_rewriter r = {.ctx = ctx, .post = at_zero};
    return tn_rewrite(&r, f);
}

static void
rules_that_forget_elements(void **state)
{
    (void)state;
    static const tnk_rule rule = {.base.size = sizeof(tnk_rule),
                                  .base.name = "test.ForgetColumns",
                                  .base.doc = "wrong",
                                  .apply = forget_columns};
    static const tnk_rule *const rules[] = {&rule};
    static const tn_plugin_desc plugin = {.head =
                                              TNB_PLUGIN_HEAD(tn_plugin_desc, TNB_PLUGIN_COMPILER,
                                                              "forgetful", "0.1.0", "Apache-2.0",
                                                              "a wrong rule"),
                                          .rules = rules,
                                          .n_rules = 1};
    tnb_err err = {0};
    assert_int_equal(tn_registry_add(k.reg, &plugin, &err), TNB_OK);
    const char *const wrong[] = {"matmul", "transpose", "gate", "symbolic_add"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(wrong[i]);
        assert_null(krun_schedule(&k, func, "test.ForgetColumns"));
        const tnb_diag *d = tnb_diags_get(tn_diags(k.ctx), 0);
        assert_non_null(d);
        assert_non_null(strstr(d->message, "the rule 'test.ForgetColumns'"));
        assert_non_null(strstr(d->message, "does not write all of its results"));
    }
    tnb_diags_clear(tn_diags(k.ctx));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split),
        cmocka_unit_test(split_overlap),
        cmocka_unit_test(fuse),
        cmocka_unit_test(reorder),
        cmocka_unit_test(kinds),
        cmocka_unit_test(compute_inline),
        cmocka_unit_test(simplify_indices),
        cmocka_unit_test(caches),
        cmocka_unit_test(compute_at),
        cmocka_unit_test(decompose_reduction),
        cmocka_unit_test(decompose_running_sums),
        cmocka_unit_test(inline_into_matches),
        cmocka_unit_test(follows),
        cmocka_unit_test(rules_that_forget_elements),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
