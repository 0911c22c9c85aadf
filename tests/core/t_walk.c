/* SPDX-License-Identifier: Apache-2.0 */
/* Rewriting, substitution, fresh copies, free variables, equality, hashes, type relations. */
#include "tcore.h"

/* sum(A) into B: for i in n: with block: vi = i; B[vi] = A[vi] + k */
static const tn_node *
program(tn_ctx *ctx, const char *names, int64_t constant)
{
    const tn_node *n = tn_var_dtype(ctx, names, TNB_I64);
    const tn_node *a = tn_buffer_new(ctx, names, (tn_list){&n, 1}, TNB_F32, NULL);
    const tn_node *b = tn_buffer_new(ctx, names, (tn_list){&n, 1}, TNB_F32, NULL);
    const tn_expr *i = tn_var_dtype(ctx, names, TNB_I64), *vi = tn_var_dtype(ctx, names, TNB_I64);
    const tn_expr *x = tn_buffer_load_of(ctx, a, (tn_list){&vi, 1});
    const tn_expr *v =
        tn_raw_binary(ctx, TN_KIND_ADD, x, tn_float_imm_of(ctx, TNB_F32, (double)constant));
    const tn_node *iter =
        tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), n), vi, TN_ITER_SPATIAL, NULL);
    const tn_node *r = tn_region_point(ctx, a, (tn_list){&vi, 1});
    const tn_node *w = tn_region_point(ctx, b, (tn_list){&vi, 1});
    const tn_node *block =
        tn_block_of(ctx, &(tn_block){.name = names,
                                     .iters = {&iter, 1},
                                     .reads = {&r, 1},
                                     .writes = {&w, 1},
                                     .body = tn_buffer_store_of(ctx, b, v, (tn_list){&vi, 1})});
    const tn_stmt *body = tn_for_of(ctx, i, tn_i64(ctx, 0), n, TN_FOR_SERIAL, NULL, NULL,
                                    tn_block_realize_of(ctx, (tn_list){&i, 1}, NULL, block));
    const tn_node *params[] = {tn_var_dtype(ctx, "a", TNB_DTYPE(TNB_HANDLE, 64)),
                               tn_var_dtype(ctx, "b", TNB_DTYPE(TNB_HANDLE, 64))};
    const tn_node *buffers[] = {a, b};
    return tn_prim_func_of(ctx, (tn_list){params, 2}, (tn_list){buffers, 2}, body, NULL, NULL);
}

/* def f(x: Tensor((n, 4))): lv = print-free chain of shape_of; returns x */
static const tn_expr *
graph(tn_ctx *ctx, const char *name, bool swap)
{
    const tn_node *n = tn_var_dtype(ctx, name, TNB_I64);
    const tn_type *t = tn_ty_tensor_dims(ctx, tn_listv(ctx, n, tn_i64(ctx, 4), NULL), TNB_F32);
    const tn_expr *x = tn_var_new(ctx, name, t), *y = tn_var_new(ctx, name, t);
    tn_builder *b = tn_builder_new(ctx, NULL);
    const tn_node *params[] = {x, y};
    tn_builder_begin_function(b, (tn_list){params, 2});
    tn_builder_begin_block(b, true);
    const tn_expr *s = tn_emit(b, tn_call_opv(ctx, "shape_of", NULL, swap ? y : x, NULL), name);
    const tn_expr *o =
        tn_emit_output(b, tn_call_opv(ctx, "builtin.stop_lift_params", NULL, s, NULL), name);
    tn_builder_end_block(b);
    return tn_builder_end_function(b, o, NULL, true, NULL);
}

static void
names_do_not_matter_and_everything_else_does(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *a = program(ctx, "x", 1), *b = program(ctx, "yy", 1), *c = program(ctx, "x", 2);
    assert_true(tn_equal(ctx, a, b, false, NULL));
    assert_int_equal(tn_hash(ctx, a, false), tn_hash(ctx, b, false));
    tnb_buf where = {0};
    assert_false(tn_equal(ctx, a, c, false, &where));
    assert_non_null(strstr(where.s, "body"));
    assert_non_null(strstr(where.s, "value.b"));
    tnb_buf_free(&where);
    assert_int_not_equal(tn_hash(ctx, a, false), tn_hash(ctx, c, false));
    const tn_expr *f = graph(ctx, "p", false), *g = graph(ctx, "q", false),
                  *h = graph(ctx, "p", true);
    assert_true(tn_equal(ctx, f, g, false, NULL));
    assert_int_equal(tn_hash(ctx, f, false), tn_hash(ctx, g, false));
    assert_false(tn_equal(ctx, f, h, false, NULL));
}

static void
free_variables_correspond_only_when_asked(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *x = tn_var_dtype(ctx, "x", TNB_I64), *y = tn_var_dtype(ctx, "y", TNB_I64);
    const tn_expr *xx = tn_raw_binary(ctx, TN_KIND_ADD, x, x),
                  *yy = tn_raw_binary(ctx, TN_KIND_ADD, y, y);
    const tn_expr *xy = tn_raw_binary(ctx, TN_KIND_ADD, x, y);
    assert_false(tn_equal(ctx, xx, yy, false, NULL));
    assert_true(tn_equal(ctx, xx, yy, true, NULL));
    assert_false(tn_equal(ctx, xx, xy, true, NULL));
    assert_int_equal(tn_hash(ctx, xx, true), tn_hash(ctx, yy, true));
}

static const tn_node *
one_to_two(tn_rewriter *r, const tn_node *n)
{
    if (tn_is(n, TN_KIND_FLOAT_IMM) && ((const tn_float_imm *)n)->value == 1)
        return tn_float_imm_of(r->ctx, TNB_F32, 2);
    return NULL;
}

static void
rewriting_copies_only_the_path(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *f = program(ctx, "x", 1), *g = program(ctx, "x", 5);
    tn_rewriter r = {.ctx = ctx, .post = one_to_two};
    size_t before = tnb_arena_used(tn_arena(ctx));
    assert_ptr_equal(tn_rewrite(&r, g), g);
    assert_int_equal(tnb_arena_used(tn_arena(ctx)), before);
    const tn_prim_func *now = tn_as_prim_func(tn_rewrite(&r, f));
    assert_ptr_not_equal(&now->base, f);
    assert_true(tn_equal(ctx, &now->base, program(ctx, "z", 2), false, NULL));
    assert_ptr_equal(now->buffers.at, ((const tn_prim_func *)f)->buffers.at);
}

typedef struct seen {
    uint32_t types, calls, bindings;
} seen;

static const tn_node *
count_kinds(tn_rewriter *r, const tn_node *n)
{
    seen *s = r->user;
    s->types += tn_is_type(n);
    s->calls += n->kind == TN_KIND_CALL;
    s->bindings += n->kind == TN_KIND_VAR_BINDING;
    return NULL;
}

static void
callbacks_see_what_is_in_reach(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *f = graph(ctx, "p", false);
    seen all = {0}, graphs = {0}, blocks = {0}, renamed = {0};
    tn_rewriter r = {.ctx = ctx, .user = &all, .post = count_kinds};
    assert_ptr_equal(tn_rewrite(&r, f), f);
    assert_true(all.types && all.calls && all.bindings);
    r.user = &graphs;
    r.reach = TN_REACH_GRAPH;
    assert_ptr_equal(tn_rewrite(&r, f), f);
    assert_true(!graphs.types && graphs.calls == all.calls && graphs.bindings == all.bindings);
    r.user = &blocks;
    r.reach = TN_REACH_BLOCKS;
    assert_ptr_equal(tn_rewrite(&r, f), f);
    assert_true(!blocks.types && !blocks.calls && blocks.bindings == all.bindings);
    /* what is replaced is replaced everywhere */
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    tnb_ptrmap_set(&map, tn_defined_symbols(ctx, f).at[0], tn_i64(ctx, 7));
    r.user = &renamed;
    r.map = &map;
    const tn_node *now = tn_rewrite(&r, f);
    assert_int_equal(tn_free_vars(ctx, now, true).n, 0);
    assert_true(tn_equal(ctx, now, tn_subst1(ctx, f, map.at[0].key, tn_i64(ctx, 7)), false, NULL));
}

static void
shared_expressions_are_rewritten_once(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *x = tn_var_dtype(ctx, "x", TNB_I64), *e = x;
    for (int i = 0; i < 200; i++) /* 2^200 paths */
        e = tn_raw_binary(ctx, TN_KIND_ADD, e, e);
    const tn_expr *y = tn_var_dtype(ctx, "y", TNB_I64);
    const tn_expr *now = tn_subst1(ctx, e, x, y);
    assert_int_equal(tn_free_vars(ctx, now, false).n, 1);
    assert_ptr_equal(tn_free_vars(ctx, now, false).at[0], y);
    assert_true(tn_equal(ctx, e, now, true, NULL));
    assert_false(tn_equal(ctx, e, now, false, NULL));
    assert_int_equal(tn_hash(ctx, e, true), tn_hash(ctx, now, true));
    assert_true(tn_uses(now, y));
    assert_false(tn_uses(now, x));
    tn_fresh_copy(ctx, e, NULL);
}

static void
definitions_whose_type_changes_are_renewed(void **state)
{
    tn_ctx *ctx = *state;
    const tn_function *f = tn_as_function(graph(ctx, "p", false));
    tn_list symbols = tn_defined_symbols(ctx, &f->base);
    assert_int_equal(symbols.n, 1);
    const tn_function *g = tn_as_function(tn_subst1(ctx, &f->base, symbols.at[0], tn_i64(ctx, 7)));
    assert_int_equal(tn_free_vars(ctx, &g->base, true).n, 0);
    tn_list dims;
    assert_true(tn_type_dims(g->params.at[0]->type, &dims));
    assert_true(tn_is_int_const(dims.at[0], 7));
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), "g", &g->base);
    assert_int_equal(tn_verify(ctx, m), 0);
}

static void
a_fresh_copy_shares_no_variable(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *f = program(ctx, "x", 1), *g = tn_fresh_copy(ctx, f, NULL);
    assert_true(tn_equal(ctx, f, g, false, NULL));
    const tn_prim_func *a = tn_as_prim_func(f), *b = tn_as_prim_func(g);
    assert_ptr_not_equal(a->buffers.at[0], b->buffers.at[0]);
    assert_ptr_not_equal(((const tn_buffer *)a->buffers.at[0])->shape.at[0],
                         ((const tn_buffer *)b->buffers.at[0])->shape.at[0]);
    assert_ptr_not_equal(((const tn_for_loop *)a->body)->var, ((const tn_for_loop *)b->body)->var);
    const tn_expr *h = graph(ctx, "p", false);
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), "f", h);
    m = tn_module_set(ctx, m, "g", tn_fresh_copy(ctx, h, NULL));
    assert_int_equal(tn_verify(ctx, m), 0);
    m = tn_module_set(ctx, m, "h", h); /* shares f's variables */
    assert_int_not_equal(tn_verify(ctx, m), 0);
}

static void
what_is_defined_inside_is_not_free(void **state)
{
    tn_ctx *ctx = *state;
    const tn_prim_func *f = tn_as_prim_func(program(ctx, "x", 1));
    assert_int_equal(tn_free_vars(ctx, &f->base, true).n, 0);
    tn_list in_body = tn_free_vars(ctx, f->body, true);
    assert_int_equal(in_body.n, 3);                           /* n, A, B */
    assert_int_equal(tn_free_vars(ctx, f->body, false).n, 3); /* n and the two data pointers */
    const tn_expr *v = tn_var_dtype(ctx, "v", TNB_I64);
    const tn_expr *let = tn_let_of(ctx, v, tn_i64(ctx, 1), tn_raw_binary(ctx, TN_KIND_ADD, v, v));
    assert_int_equal(tn_free_vars(ctx, let, false).n, 0);
}

static const tn_node *
drop_stores(tn_rewriter *r, const tn_node *n)
{
    (void)r;
    return tn_is(n, TN_KIND_BUFFER_STORE) ? tn_removed() : NULL;
}

static void
removing_statements_removes_empty_loops(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *one = tn_i64(ctx, 4);
    const tn_node *b = tn_buffer_new(ctx, "b", (tn_list){&one, 1}, TNB_F32, NULL);
    const tn_expr *i = tn_var_dtype(ctx, "i", TNB_I64);
    const tn_stmt *store =
        tn_buffer_store_of(ctx, b, tn_float_imm_of(ctx, TNB_F32, 0), (tn_list){&i, 1});
    const tn_stmt *loop = tn_for_of(ctx, i, tn_i64(ctx, 0), one, TN_FOR_SERIAL, NULL, NULL, store);
    const tn_stmt *rest = tn_evaluate_of(ctx, tn_i32(ctx, 7));
    tn_rewriter r = {.ctx = ctx, .post = drop_stores};
    assert_ptr_equal(tn_rewrite(&r, tn_seqv(ctx, loop, rest, NULL)), rest);
    assert_true(tn_is(tn_rewrite(&r, loop), TN_KIND_EVALUATE));
}

static const tn_node *
to_plain(tn_rewriter *r, const tn_node *n)
{
    return tn_is(n, TN_KIND_DATAFLOW_BLOCK)
               ? tn_binding_block_of(r->ctx, ((const tn_bindings_block *)n)->bindings, false)
               : NULL;
}

static void
neighbouring_ordinary_blocks_are_one(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *x = tn_var_new(ctx, "x", tn_ty_any(ctx));
    const tn_node *blocks[3];
    const tn_expr *v = x;
    for (int i = 0; i < 3; i++) {
        const tn_expr *next = tn_var_new(ctx, "v", tn_ty_any(ctx));
        const tn_node *b = tn_var_binding_of(ctx, next, v);
        blocks[i] = tn_binding_block_of(ctx, (tn_list){&b, 1}, i == 1);
        v = next;
    }
    const tn_expr *seq = tn_seq_expr_of(ctx, (tn_list){blocks, 3}, v);
    assert_int_equal(((const tn_seq_expr *)seq)->blocks.n, 3);
    tn_rewriter r = {.ctx = ctx, .post = to_plain};
    const tn_seq_expr *now = tn_as_seq_expr(tn_rewrite(&r, seq));
    assert_int_equal(now->blocks.n, 1);
    assert_int_equal(((const tn_bindings_block *)now->blocks.at[0])->bindings.n, 3);
    blocks[2] = tn_binding_block_of(ctx, (tn_list){0}, false);
    seq = tn_seq_expr_of(ctx, (tn_list){blocks, 3}, x);
    assert_int_equal(((const tn_seq_expr *)seq)->blocks.n, 2);
}

/* ---- types ---- */
static const tn_type *
tensor(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, tnb_dtype d)
{
    return tn_ty_tensor_dims(ctx, tn_listv(ctx, a, b, NULL), d);
}

static void
subtypes_follow_what_is_known(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64), *four = tn_i64(ctx, 4);
    const tn_type *any = tn_ty_any(ctx), *rank2 = tn_ty_tensor_of(ctx, NULL, TNB_F32, 2, NULL);
    const tn_type *known = tensor(ctx, n, four, TNB_F32);
    assert_int_equal(tn_type_check(ctx, any, known), TN_SUBTYPE_YES);
    assert_int_equal(tn_type_check(ctx, known, any), TN_SUBTYPE_MAYBE);
    assert_int_equal(tn_type_check(ctx, rank2, known), TN_SUBTYPE_YES);
    assert_int_equal(tn_type_check(ctx, known, rank2), TN_SUBTYPE_MAYBE);
    assert_int_equal(tn_type_check(ctx, known, tensor(ctx, n, tn_i64(ctx, 5), TNB_F32)),
                     TN_SUBTYPE_FAIL);
    assert_int_equal(tn_type_check(ctx, known, tensor(ctx, four, four, TNB_F32)), TN_SUBTYPE_MAYBE);
    assert_int_equal(tn_type_check(ctx, known, tensor(ctx, n, four, TNB_F16)), TN_SUBTYPE_FAIL);
    assert_int_equal(tn_type_check(ctx, tn_ty_tensor_of(ctx, NULL, TNB_VOID, -1, NULL), known),
                     TN_SUBTYPE_YES);
    assert_int_equal(tn_type_check(ctx, rank2, tn_ty_tensor_of(ctx, NULL, TNB_F32, 3, NULL)),
                     TN_SUBTYPE_FAIL);
    assert_int_equal(tn_type_check(ctx, tn_ty_shape_rank(ctx, -1), tn_ty_shape_rank(ctx, 2)),
                     TN_SUBTYPE_YES);
    assert_int_equal(tn_type_check(ctx, tn_ty_tuple_of(ctx, tn_listv(ctx, rank2, any, NULL)),
                                   tn_ty_tuple_of(ctx, tn_listv(ctx, known, known, NULL))),
                     TN_SUBTYPE_YES);
    assert_int_equal(tn_type_check(ctx, tn_ty_tuple_of(ctx, (tn_list){0}), known), TN_SUBTYPE_FAIL);
}

static void
dimensions_are_equal_by_proof(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64), *one = tn_i64(ctx, 1);
    const tn_expr *twice = tn_mul(ctx, n, tn_i64(ctx, 2)), *sum = tn_add(ctx, n, n);
    assert_true(
        tn_type_equal(ctx, tensor(ctx, twice, one, TNB_F32), tensor(ctx, sum, one, TNB_F32)));
    assert_false(tn_type_equal(ctx, tensor(ctx, n, one, TNB_F32), tensor(ctx, sum, one, TNB_F32)));
    assert_int_equal(tn_type_check(ctx, tensor(ctx, n, one, TNB_F32),
                                   tensor(ctx, tn_add(ctx, n, one), one, TNB_F32)),
                     TN_SUBTYPE_FAIL);
}

static void
joins_forget_what_differs(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *two = tn_i64(ctx, 2), *four = tn_i64(ctx, 4);
    const tn_type *a = tensor(ctx, two, four, TNB_F32), *b = tensor(ctx, four, four, TNB_F32);
    assert_ptr_equal(tn_type_join(ctx, a, a), a);
    assert_ptr_equal(tn_type_join(ctx, a, b), tn_ty_tensor_of(ctx, NULL, TNB_F32, 2, NULL));
    assert_ptr_equal(tn_type_join(ctx, a, tensor(ctx, two, four, TNB_F16)),
                     tn_ty_tensor_of(ctx, tn_as_ty_tensor(a)->shape, TNB_VOID, 2, NULL));
    assert_ptr_equal(tn_type_join(ctx, a, tn_ty_shape_rank(ctx, 1)), tn_ty_any(ctx));
}

static void
a_call_of_a_function_gives_its_result_for_these_arguments(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64), *one = tn_i64(ctx, 1);
    const tn_type *in = tensor(ctx, n, one, TNB_F32);
    const tn_type *ret = tensor(ctx, tn_mul(ctx, n, tn_i64(ctx, 2)), one, TNB_F32);
    const tn_type *f = tn_ty_func_of(ctx, (tn_list){&in, 1}, ret, true);
    const tn_expr *x = tn_var_new(ctx, "x", tensor(ctx, tn_i64(ctx, 3), one, TNB_F32));
    const tn_type *got = tn_call_result_type(ctx, f, (tn_list){0}, (tn_list){&x, 1});
    tn_list dims;
    assert_true(tn_type_dims(got, &dims));
    assert_true(tn_is_int_const(dims.at[0], 6));
    const tn_expr *y = tn_var_new(ctx, "y", tn_ty_tensor_of(ctx, NULL, TNB_F32, 2, NULL));
    got = tn_call_result_type(ctx, f, (tn_list){0}, (tn_list){&y, 1});
    assert_false(tn_type_dims(got, &dims));
    assert_int_equal(tn_type_ndim(got), 2);
}

/* ---- builder ---- */
static void
the_builder_normalises_and_names(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *x = tn_var_new(ctx, "x", tn_ty_tensor_of(ctx, NULL, TNB_F32, 2, NULL));
    tn_builder *b = tn_builder_new(ctx, NULL);
    tn_builder_begin_function(b, (tn_list){&x, 1});
    tn_builder_begin_block(b, true);
    const tn_expr *nested = tn_call_opv(ctx, "builtin.stop_lift_params", NULL,
                                        tn_call_opv(ctx, "shape_of", NULL, x, NULL), NULL);
    const tn_expr *y = tn_emit_output(b, nested, NULL);
    tn_builder_end_block(b);
    const tn_expr *f = tn_builder_end_function(b, y, NULL, true, NULL);
    const tn_seq_expr *s = tn_as_seq_expr(tn_as_function(f)->body);
    assert_int_equal(s->blocks.n, 1);
    tn_list l = tn_as_bindings_block(s->blocks.at[0])->bindings;
    assert_int_equal(l.n, 2);
    assert_string_equal(tn_var_name(tn_as_var_binding(l.at[0])->var), "lv");
    assert_true(tn_is(tn_as_var_binding(l.at[0])->var, TN_KIND_DATAFLOW_VAR));
    assert_true(tn_is(y, TN_KIND_VAR));
    assert_non_null(tn_is_call_to(tn_builder_find_value(b, y), "relax.builtin.stop_lift_params"));
    const tn_expr *gv = tn_builder_add_function(b, f, "main");
    assert_string_equal(tn_as_global_var(gv)->name, "main");
    assert_int_equal(tn_verify(ctx, tn_builder_module(b)), 0);
}

static void
equal_programs_are_added_once(void **state)
{
    tn_ctx *ctx = *state;
    tn_builder *b = tn_builder_new(ctx, NULL);
    const tn_expr *p = tn_builder_add_function(b, program(ctx, "x", 1), "add");
    const tn_expr *q = tn_builder_add_function(b, program(ctx, "y", 1), "add");
    const tn_expr *r = tn_builder_add_function(b, program(ctx, "x", 2), "add");
    const tn_expr *s = tn_builder_add_function(b, program(ctx, "x", 1), "other");
    assert_ptr_equal(p, q);
    assert_string_equal(tn_as_global_var(r)->name, "add1");
    assert_string_equal(tn_as_global_var(s)->name, "other");
    assert_int_equal(tn_builder_module(b)->names.n, 3);
    tn_builder *c = tn_builder_new(ctx, tn_builder_module(b));
    assert_ptr_equal(tn_builder_add_function(c, program(ctx, "z", 2), "add"), r);
}

static void
a_text_is_read_once(void **state)
{
    static const char text[] = "from tvm.script import tirx as T\n\n@T.prim_func\n"
                               "def f(a: T.handle):\n    A = T.match_buffer(a, (4,))\n"
                               "    for i in range(4):\n        A[i] = T.float32(1)\n";
    char copy[sizeof text];
    tn_ctx *ctx = *state;
    tn_builder *b = tn_builder_new(ctx, NULL);
    const tn_node *f = tn_builder_read_function(b, "f", text);
    assert_non_null(tn_as_prim_func(f));
    memcpy(copy, text, sizeof text);
    assert_ptr_equal(tn_builder_read_function(b, "g", copy), f);
    *strstr(copy, "(1)") = '['; /* neither what was read before, nor a program */
    assert_null(tn_builder_read_function(b, "g", copy));
    assert_int_not_equal(tnb_diags_errors(tn_diags(ctx)), 0);
    tnb_diags_clear(tn_diags(ctx));
    assert_ptr_equal(tn_builder_read_function(b, "f", text), f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(names_do_not_matter_and_everything_else_does),
        T(free_variables_correspond_only_when_asked),
        T(rewriting_copies_only_the_path),
        T(callbacks_see_what_is_in_reach),
        T(shared_expressions_are_rewritten_once),
        T(definitions_whose_type_changes_are_renewed),
        T(a_fresh_copy_shares_no_variable),
        T(what_is_defined_inside_is_not_free),
        T(removing_statements_removes_empty_loops),
        T(neighbouring_ordinary_blocks_are_one),
        T(subtypes_follow_what_is_known),
        T(dimensions_are_equal_by_proof),
        T(joins_forget_what_differs),
        T(a_call_of_a_function_gives_its_result_for_these_arguments),
        T(the_builder_normalises_and_names),
        T(equal_programs_are_added_once),
        T(a_text_is_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
