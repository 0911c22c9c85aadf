/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule primitives that GPUs need: legal uses keep the results (by the interpreter), illegal
 * ones are refused with their reason. */
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
#include "tenon/core/walk.h"
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

static tnk_item *
block(const char *name)
{
    tnk_item *b = tnk_sch_block(s, name);
    assert_non_null(b);
    n = tnk_sch_loops(s, b, l, 16);
    return b;
}

static bool
same(const tn_node *before, const tn_node *after)
{
    tnb_err err = {0};
    const tn_evaluator *eval = tn_find_evaluator(k.reg, "interp", &err);
    assert_non_null(eval);
    const tn_node *dims = tn_dictv(k.ctx, "n", tn_i64(k.ctx, 5), "m", tn_i64(k.ctx, 19), NULL);
    const tn_node *funcs[2] = {before, after};
    tn_list args[2];
    assert_true(tn_random_args(k.ctx, before, 1, dims, &args[0]));
    args[1] = krun_copy(&k, args[0]);
    for (int i = 0; i < 2; i++) {
        tn_eval_options opt = {0};
        const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", funcs[i]);
        if (!eval->run(eval->self, k.ctx, m, "f", args[i].at, args[i].n, &opt)) {
            krun_print_errors(&k);
            return false;
        }
    }
    for (uint32_t i = 0; i < args[0].n; i++) {
        tnb_buf why = {0};
        bool ok = tn_values_close(k.ctx, args[1].at[i], args[0].at[i], 1e-4, 1e-5, &why);
        if (!ok)
            fprintf(stderr, "argument %u: %s\n", i, why.s ? why.s : "");
        tnb_buf_free(&why);
        if (!ok)
            return false;
    }
    return true;
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
    assert_true(same(func, out));
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
bind(void **state)
{
    (void)state;
    begin("matmul");
    tnk_item *b = block("T_matmul");
    assert_true(tnk_split(s, l[1], 8, part));
    assert_true(tnk_bind(s, l[0], "blockIdx.x"));
    assert_true(tnk_bind(s, part[0], "vthread.x"));
    assert_true(tnk_bind(s, part[1], "threadIdx.x"));
    legal("bind(T_matmul, ax1_1, \"threadIdx.x\")");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_bind(s, l[2], "threadIdx.x")); /* joins the threads' sums */
    legal("bind(T_matmul, k, \"threadIdx.x\")");
    begin("matmul");
    block("T_matmul");
    assert_false(tnk_bind(s, l[2], "blockIdx.x"));
    illegal("only threads of one block can join");
    begin("matmul");
    b = block("T_matmul");
    assert_non_null(tnk_decompose_reduction(s, b, l[2]));
    assert_false(tnk_bind(s, l[2], "threadIdx.x"));
    illegal("its init is a block of its own");
    begin("matmul");
    block("T_matmul");
    assert_false(tnk_bind(s, l[0], "thread.x"));
    illegal("no index of threads");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_bind(s, l[0], "threadIdx.x"));
    assert_false(tnk_bind(s, l[0], "threadIdx.y"));
    illegal("threadIdx.x already");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_bind(s, l[0], "blockIdx.x"));
    assert_false(tnk_bind(s, l[1], "blockIdx.x"));
    illegal("has the same tag");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_split(s, l[1], 4, part));
    assert_true(tnk_split(s, part[0], 4, part));
    tnk_item *four = part[1];
    assert_true(tnk_split(s, l[0], 4, part));
    assert_true(tnk_bind(s, four, "threadIdx.x"));
    assert_false(tnk_bind(s, part[1], "threadIdx.x"));
    illegal("a block in both uses the outer one");
    begin("matmul_bias");
    b = block("NT_matmul");
    block("T_add");
    assert_true(tnk_compute_at(s, b, l[0]));
    assert_true(tnk_bind(s, l[0], "blockIdx.x"));
    assert_true(tnk_bind(s, l[1], "threadIdx.x"));
    tnk_sch_loops(s, b, l, 16);
    assert_true(tnk_split(s, l[1], 7, part));
    assert_false(tnk_bind(s, part[1], "threadIdx.x"));
    illegal("with another extent");
    begin("symbolic_add");
    block("T_add");
    assert_false(tnk_bind(s, l[0], "vthread.x"));
    illegal("has to be constant");
}

/* A tile of B is fetched by the threads that use it, from inside their loops. */
/* Overlapping tiles: what a tile accumulates in is its own in local memory, not in global memory. */
static void
blocks_whose_turns_overlap(void **state)
{
    (void)state;
    for (int global = 0; global < 2; global++) {
        begin("matmul");
        tnk_item *b = block("T_matmul");
        tnk_item *copy = tnk_cache_write(s, b, global ? "global" : "local");
        assert_non_null(copy);
        n = tnk_sch_loops(s, copy, l, 16);
        assert_true(tnk_split_overlap(s, l[0], 4, part));
        tnk_item *order[3] = {part[0], l[1], part[1]};
        assert_true(tnk_reorder(s, order, 3));
        assert_true(tnk_compute_at(s, b, part[0]));
        assert_int_equal(tnk_bind(s, part[0], "blockIdx.x"), !global);
        if (global)
            illegal("accumulates in 'T_matmul_global', which is one for all iterations, and these "
                    "overlap");
        else
            legal("bind(T_matmul, ax0_0, \"blockIdx.x\")");
    }
}

static void
cooperative_fetch(void **state)
{
    (void)state;
    begin("matmul");
    tnk_item *b = block("T_matmul"), *i[2], *j[2], *k2[2];
    const tn_node *input = tn_as_prim_func(func)->buffers.at[1];
    tnk_item *copy = tnk_cache_read(s, b, input, "shared", NULL);
    assert_true(tnk_split(s, l[0], 4, i));
    assert_true(tnk_split(s, l[1], 8, j));
    assert_true(tnk_split(s, l[2], 3, k2));
    assert_true(tnk_reorder(s, (tnk_item *[]){i[0], j[0], i[1], j[1], k2[0], k2[1]}, 6));
    assert_true(tnk_bind(s, i[0], "blockIdx.y"));
    assert_true(tnk_bind(s, j[0], "blockIdx.x"));
    assert_true(tnk_bind(s, i[1], "threadIdx.y"));
    assert_true(tnk_bind(s, j[1], "threadIdx.x"));
    assert_true(tnk_compute_at(s, copy, k2[0]));
    n = tnk_sch_loops(s, copy, l, 16);
    int64_t rows = 0, columns = 0;
    assert_true(tnk_loop_extent(l[n - 2], &rows) && tnk_loop_extent(l[n - 1], &columns));
    assert_int_equal(rows, 3);
    assert_int_equal(columns, 8); /* what all threads of the block read */
    tnk_item *all = tnk_fuse(s, l[n - 2], l[n - 1]);
    assert_true(tnk_split(s, all, 8, part));
    assert_true(tnk_bind(s, part[1], "threadIdx.x"));
    legal("bind(B_shared");
}

static void
reverse_compute_at(void **state)
{
    (void)state;
    begin("matmul_bias");
    tnk_item *add = block("T_add"), *tanh = block("T_tanh");
    block("NT_matmul");
    assert_true(tnk_split(s, l[0], 4, part)); /* 33: the last turn is cut off */
    assert_true(tnk_reverse_compute_at(s, add, part[0]));
    assert_true(tnk_reverse_compute_at(s, tanh, part[0]));
    legal("reverse_compute_at(T_add, NT_matmul, ax0_0)");
    begin("matmul");
    tnk_item *b = block("T_matmul"), *copy = tnk_cache_write(s, b, "local");
    assert_true(tnk_split(s, l[0], 4, part));
    tnk_item *i = part[0];
    assert_true(tnk_split(s, l[1], 8, part));
    assert_true(tnk_bind(s, i, "blockIdx.x"));
    assert_true(tnk_reverse_compute_at(s, copy, i));
    legal("reverse_compute_at(T_matmul_local");
    begin("matmul_bias");
    block("NT_matmul");
    assert_true(tnk_reorder(s, (tnk_item *[]){l[2], l[0], l[1]}, 3));
    assert_false(tnk_reverse_compute_at(s, tnk_sch_block(s, "T_add"), l[0]));
    illegal("is not complete in an iteration of 'k'");
    begin("matmul_bias");
    block("T_add");
    assert_false(tnk_reverse_compute_at(s, tnk_sch_block(s, "NT_matmul"), l[0]));
    illegal("comes before the loop");
    begin("conv_3x3");
    block("pad_temp");
    assert_false(tnk_reverse_compute_at(s, tnk_sch_block(s, "conv2d_nchw"), l[1]));
    illegal("a part only of what it reduces over");
    begin("conv_3x3");
    block("pad_temp");
    assert_true(tnk_reorder(s, (tnk_item *[]){l[2], l[0], l[1]}, 3));
    assert_false(tnk_reverse_compute_at(s, tnk_sch_block(s, "conv2d_nchw"), l[2]));
    illegal("it reads more of 'pad_temp' than an iteration makes");
    begin("matmul_bias");
    block("NT_matmul");
    tnk_item *all = tnk_fuse(s, l[0], l[1]);
    assert_true(tnk_split(s, all, 64, part));
    assert_false(tnk_reverse_compute_at(s, tnk_sch_block(s, "T_add"), part[0]));
    illegal("is not known exactly");
    begin("softmax");
    block("T_softmax_maxelem");
    assert_false(tnk_reverse_compute_at(s, tnk_sch_block(s, "T_softmax_norm"), l[0]));
    illegal("'T_softmax_exp', which makes what it reads, is not in the loop");
}

static void
reverse_compute_inline(void **state)
{
    (void)state;
    begin("matmul_bias");
    assert_true(tnk_reverse_compute_inline(s, block("T_tanh")));
    assert_null(tnk_sch_block(s, "T_tanh"));
    legal("reverse_compute_inline(T_tanh)");
    begin("transpose");
    tnk_item *copy = tnk_cache_write(s, block("T_transpose"), "global");
    assert_true(tnk_can_reverse_inline(s, copy));
    assert_true(tnk_reverse_compute_inline(s, copy));
    legal("reverse_compute_inline");
    begin("matmul_bias");
    assert_false(tnk_reverse_compute_inline(s, block("T_add")));
    illegal("one block without reduction writes");
    begin("softmax");
    assert_false(tnk_reverse_compute_inline(s, block("T_softmax_expsum")));
    illegal("without reduction");
    begin("matmul_bias");
    block("T_tanh");
    assert_true(tnk_split(s, l[1], 8, part));
    assert_false(tnk_reverse_compute_inline(s, tnk_sch_block(s, "T_tanh")));
    illegal("guarded by a predicate");
}

static void
rfactor(void **state)
{
    (void)state;
    begin("matmul");
    tnk_item *b = block("T_matmul");
    assert_true(tnk_split(s, l[2], 8, part)); /* 21: elements that there are not */
    tnk_item *rf = tnk_rfactor(s, part[1], 0);
    assert_non_null(rf);
    assert_string_equal(tnk_item_name(rf), "T_matmul_rf");
    n = tnk_sch_loops(s, b, l, 16);
    assert_int_equal(n, 3);
    assert_true(tnk_bind(s, l[2], "threadIdx.x"));
    tnk_sch_loops(s, rf, l, 16);
    assert_true(tnk_bind(s, l[3], "threadIdx.x"));
    legal("rfactor(T_matmul, k_1, 0)");
    begin("symbolic_sum");
    b = block("T_sum");
    assert_true(tnk_split(s, l[1], 8, part));
    assert_non_null(tnk_rfactor(s, part[0], -1)); /* a turn may have no element at all */
    legal("rfactor(T_sum, k_0, -1)");
    begin("softmax");
    block("T_softmax_maxelem");
    assert_non_null(tnk_rfactor(s, l[1], 1));
    legal("rfactor");
    begin("matmul");
    block("T_matmul");
    assert_null(tnk_rfactor(s, l[1], 0));
    illegal("does not reduce");
    begin("matmul");
    block("T_matmul");
    assert_null(tnk_rfactor(s, l[2], 4));
    illegal("has no axis 4");
    begin("matmul");
    b = block("T_matmul");
    assert_non_null(tnk_decompose_reduction(s, b, l[2]));
    assert_null(tnk_rfactor(s, l[2], 0));
    illegal("with its init inside");
    begin("matmul");
    block("T_matmul");
    assert_true(tnk_bind(s, l[2], "threadIdx.x"));
    assert_null(tnk_rfactor(s, l[2], 0));
    illegal("bound, parallel, vectorized");
    begin("transpose");
    block("T_transpose");
    assert_null(tnk_rfactor(s, l[0], 0));
    illegal("does not reduce by");
}

static void
marks(void **state)
{
    (void)state;
    begin("matmul");
    tnk_item *b = block("T_matmul");
    const tn_node *input = tn_as_prim_func(func)->buffers.at[1];
    tnk_item *copy = tnk_cache_read(s, b, input, "shared", NULL);
    assert_true(tnk_storage_align(s, copy, tnk_block_output(copy), -2, 32, 1));
    assert_true(tnk_storage_align(s, copy, tnk_block_output(copy), 0, 32, 8)); /* instead */
    assert_true(tnk_annotate_block(s, b, "double_buffer_scope", tn_i64(k.ctx, 0)));
    const tn_array *marks =
        tn_as_array(tn_dict_get(tnk_item_block(copy)->annotations, "buffer_dim_align"));
    assert_int_equal(marks->items.n, 1);
    int64_t offset = 0;
    assert_true(tn_int_value(tn_as_array(marks->items.at[0])->items.at[3], &offset));
    assert_int_equal(offset, 8);
    legal("storage_align(B_shared, B_shared, -2, 32, 1)");
    begin("matmul");
    b = block("T_matmul");
    assert_false(tnk_storage_align(s, b, tnk_block_output(b), 0, 32, 8));
    illegal("is a parameter");
    begin("matmul");
    b = block("T_matmul");
    assert_false(tnk_storage_align(s, b, input, 0, 32, 8));
    illegal("does not write 'B'");
    begin("matmul_bias");
    b = block("NT_matmul");
    assert_false(tnk_storage_align(s, b, tnk_block_output(b), 2, 32, 8));
    illegal("no axis 2");
}

static void
split_into_several(void **state)
{
    (void)state;
    tnk_item *out[3];
    int64_t extent = 0;
    begin("symbolic_add");
    block("T_add");
    assert_true(tnk_split_n(s, l[1], (int64_t[]){-1, 4, 2}, 3, out));
    assert_true(tnk_loop_extent(out[1], &extent));
    assert_int_equal(extent, 4);
    assert_true(tnk_split_n(s, l[0], (int64_t[]){2, -1}, 2, out));
    assert_true(tnk_loop_extent(out[0], &extent));
    assert_int_equal(extent, 2);
    legal("split(T_add, ax1, [-1, 4, 2])");
    begin("symbolic_add");
    block("T_add");
    assert_false(tnk_split_n(s, l[1], (int64_t[]){4, 2}, 2, out));
    illegal("may be less than its extent");
    begin("symbolic_add");
    block("T_add");
    assert_false(tnk_split_n(s, l[1], (int64_t[]){-1, -1}, 2, out));
    illegal("more than one factor is left open");
}

static void
relations(void **state)
{
    (void)state;
    tnk_item *out[4];
    begin("softmax");
    tnk_item *norm = block("T_softmax_norm");
    assert_int_equal(tnk_sch_producers(s, norm, out, 4), 2);
    assert_string_equal(tnk_item_name(out[0]), "T_softmax_exp");
    assert_string_equal(tnk_item_name(out[1]), "T_softmax_expsum");
    assert_int_equal(tnk_sch_consumers(s, out[0], out, 4), 2);
    assert_int_equal(tnk_sch_consumers(s, norm, out, 4), 0);
    assert_int_equal(tnk_sch_output_blocks(s, out, 4), 1);
    assert_ptr_equal(out[0], norm);
    assert_int_equal(tnk_sch_child_blocks(s, l[0], out, 4), 1);
}

static void
reindex(void **state)
{
    (void)state;
    begin("conv_3x3");
    tnk_item *b = block("conv2d_nchw");
    const tn_node *pad = tnk_block_output(tnk_sch_block(s, "pad_temp")), *out = tnk_block_output(b);
    tnk_item *copy = tnk_reindex(s, b, pad);
    assert_non_null(copy);
    assert_string_equal(tnk_item_name(copy), "pad_temp_reindex");
    assert_non_null(tnk_reindex(s, b, out));
    legal("reindex(conv2d_nchw, conv2d_nchw)");
    begin("conv_3x3");
    assert_null(tnk_reindex(s, block("pad_temp"), out));
    illegal("does not access");
    begin("matmul");
    b = block("T_matmul");
    assert_non_null(tnk_decompose_reduction(s, b, l[2]));
    assert_null(tnk_reindex(s, b, tnk_block_output(b)));
    illegal("writes 'T_matmul' too");
    begin("conv_3x3");
    b = block("pad_temp");
    assert_null(tnk_reindex(s, b, tn_as_prim_func(func)->buffers.at[0]));
    illegal("may lie outside of");
}

/* An IndexMap of n int64 variables. */
static const tn_node *
map_of(const tn_expr *const *vars, uint32_t n_vars, tn_list result)
{
    tn_index_map m = {.vars = tn_list_of(k.ctx, vars, n_vars), .result = result};
    return tn_rebuild(k.ctx, TN_KIND_INDEX_MAP, &m, NULL);
}

static void
layouts(void **state)
{
    (void)state;
    const tn_expr *v[3];
    for (int i = 0; i < 3; i++)
        v[i] = tn_var_dtype(k.ctx, (const char *[]){"i", "j", "k"}[i], TNB_I64);
    const tn_node *swap = map_of(v, 2, tn_listv(k.ctx, v[1], v[0], NULL));
    const tn_expr *one_dim = tn_add(k.ctx, tn_mul(k.ctx, v[0], tn_i64(k.ctx, 40)), v[1]);
    const tn_node *flat = map_of(v, 2, tn_listv(k.ctx, one_dim, NULL));
    begin("matmul_bias");
    tnk_item *b = block("NT_matmul");
    const tn_node *weight = tn_as_prim_func(func)->buffers.at[1];
    tnk_item *copy = tnk_reindex(s, b, weight);
    const tn_node *buffer = tnk_block_output(copy);
    assert_true(tnk_transform_layout(s, copy, buffer, swap));
    legal("transform_layout(B_reindex, B_reindex, lambda i, j: (j, i))");
    begin("matmul_bias");
    b = block("NT_matmul");
    copy = tnk_reindex(s, b, tn_as_prim_func(func)->buffers.at[1]);
    buffer = tnk_block_output(copy);
    assert_true(tnk_transform_layout(s, copy, buffer, flat));
    assert_int_equal(tn_as_buffer(tnk_block_output(copy))->shape.n, 1);
    assert_true(tnk_transform_block_layout(s, copy, flat));
    assert_int_equal(tnk_sch_loops(s, copy, l, 16), 1);
    legal("transform_block_layout(B_reindex, lambda i, j: (((i * 40) + j)))");
    begin("matmul");
    b = block("T_matmul");
    const tn_expr *two = tn_add(k.ctx, tn_mul(k.ctx, v[0], tn_i64(k.ctx, 24)), v[1]);
    assert_false(tnk_transform_block_layout(s, b, map_of(v, 3, tn_listv(k.ctx, v[2], two, NULL))) &&
                 tnk_sch_ok(s));
    begin("matmul_bias");
    b = block("NT_matmul");
    assert_false(tnk_transform_layout(s, b, tn_as_prim_func(func)->buffers.at[1], swap));
    illegal("is a parameter");
    begin("matmul_bias");
    b = block("NT_matmul");
    const tn_node *half = map_of(v, 2, tn_listv(k.ctx, v[1], NULL));
    assert_false(tnk_transform_layout(s, b, tnk_block_output(b), half));
    illegal("does not take every element");
    begin("matmul_bias");
    b = block("NT_matmul");
    const tn_expr *mixed = tn_add(k.ctx, tn_mul(k.ctx, v[0], tn_i64(k.ctx, 40)), v[2]);
    assert_false(
        tnk_transform_block_layout(s, b, map_of(v, 3, tn_listv(k.ctx, mixed, v[1], NULL))));
    illegal("mixes spatial and reducing");
}

static void
pad_einsum(void **state)
{
    (void)state;
    begin("matmul");
    tnk_item *b = block("T_matmul");
    assert_true(tnk_pad_einsum(s, b, (int64_t[]){8, 1, 16}, 3));
    assert_non_null(tnk_sch_block(s, "A_pad"));
    assert_non_null(tnk_sch_block(s, "T_matmul_pad"));
    legal("pad_einsum(T_matmul, [8, 1, 16])");
    begin("matmul_bias"); /* the cut goes into the epilogue */
    b = block("NT_matmul");
    assert_true(tnk_pad_einsum(s, b, (int64_t[]){8, 8, 1}, 3));
    assert_true(tnk_compute_inline(s, tnk_sch_block(s, "NT_matmul_pad")));
    legal("compute_inline(NT_matmul_pad)");
    begin("symbolic_sum");
    b = block("T_sum");
    assert_true(tnk_pad_einsum(s, b, (int64_t[]){4, 8}, 2));
    legal("pad_einsum(T_sum, [4, 8])");
    begin("softmax");
    assert_false(tnk_pad_einsum(s, block("T_softmax_maxelem"), (int64_t[]){1, 8}, 2));
    illegal("no sum");
    begin("matmul");
    assert_false(tnk_pad_einsum(s, block("T_matmul"), (int64_t[]){1, 8}, 2));
    illegal("has 3 iterators");
    begin("conv_3x3");
    b = block("conv2d_nchw");
    int64_t padding[7] = {1, 1, 1, 1, 1, 4, 1};
    assert_false(tnk_pad_einsum(s, b, padding, 7));
    illegal("is more than one of its iterators");
}

static void
collapse_dims(void **state)
{
    (void)state;
    begin("conv_1x1");
    assert_true(tnk_collapse_dims(s, block("conv2d_nchw"), 2));
    assert_non_null(tnk_sch_block(s, "conv2d_nchw"));
    legal("collapse_dims(conv2d_nchw, 2)");
    begin("conv_3x3"); /* each pixel reads its neighbours */
    assert_false(tnk_collapse_dims(s, block("conv2d_nchw"), 2));
    illegal("does not go through the dimensions 2 and 3");
    begin("matmul"); /* the operands have one each */
    assert_false(tnk_collapse_dims(s, block("T_matmul"), 0));
    illegal("does not go through");
    begin("symbolic_add");
    assert_false(tnk_collapse_dims(s, block("T_add"), 0));
    illegal("constant extents");
    begin("matmul");
    assert_false(tnk_collapse_dims(s, block("T_matmul"), UINT32_MAX));
    illegal("has no dimensions");
    begin("conv_1x1");
    tnk_item *loops[16];
    assert_true(tnk_sch_loops(s, block("conv2d_nchw"), loops, 16) > 0);
    assert_true(tnk_set_kind(s, loops[0], TN_FOR_PARALLEL));
    assert_false(tnk_collapse_dims(s, block("conv2d_nchw"), 2));
    illegal("the first primitive");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind),
        cmocka_unit_test(blocks_whose_turns_overlap),
        cmocka_unit_test(cooperative_fetch),
        cmocka_unit_test(reverse_compute_at),
        cmocka_unit_test(reverse_compute_inline),
        cmocka_unit_test(rfactor),
        cmocka_unit_test(split_into_several),
        cmocka_unit_test(relations),
        cmocka_unit_test(reindex),
        cmocka_unit_test(layouts),
        cmocka_unit_test(pad_einsum),
        cmocka_unit_test(collapse_dims),
        cmocka_unit_test(marks),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
