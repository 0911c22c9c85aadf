/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: each rule broken once, and the message says which. */
#include "tcore.h"

/* Verifies a module of one function and expects exactly one kind of complaint. */
static void
expect(tn_ctx *ctx, const char *name, const tn_node *f, const char *part)
{
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), name, f);
    assert_non_null(m);
    tnb_diags_clear(tn_diags(ctx));
    uint32_t n = tn_verify(ctx, m);
    if (!part) {
        tnb_buf b = {0};
        tnb_diags_print(tn_diags(ctx), &b);
        if (n)
            print_error("%s\n", b.s);
        tnb_buf_free(&b);
        assert_int_equal(n, 0);
        return;
    }
    assert_int_not_equal(n, 0);
    const tnb_diag *d = tnb_diags_get(tn_diags(ctx), 0);
    if (!strstr(d->message, part))
        print_error("got: %s\n", d->message);
    assert_non_null(strstr(d->message, part));
    assert_true(d->place.node || d->place.file);
}

static const tn_type *
vec(tn_ctx *ctx, int64_t n)
{
    const tn_node *d = tn_i64(ctx, n);
    return tn_ty_tensor_dims(ctx, (tn_list){&d, 1}, TNB_F32);
}

static const tn_expr *
func(tn_ctx *ctx, const tn_expr *param, const tn_node *block, const tn_expr *result, bool pure)
{
    return tn_function_of(ctx, (tn_list){&param, 1},
                          tn_seq_expr_of(ctx, (tn_list){&block, 1}, result), NULL, pure, NULL);
}

static void
extents_are_not_negative(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *x = tn_var_new(ctx, "x", vec(ctx, -2)),
                  *y = tn_var_new(ctx, "y", tn_ty_shape_rank(ctx, 1));
    const tn_node *b = tn_var_binding_of(ctx, y, tn_call_opv(ctx, "shape_of", NULL, x, NULL));
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), y, true),
           "is negative");
}

static void
graph_rules(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *x = tn_var_new(ctx, "x", vec(ctx, 4)),
                  *y = tn_var_new(ctx, "y", tn_ty_shape_rank(ctx, 1));
    const tn_expr *shape = tn_call_opv(ctx, "shape_of", NULL, x, NULL);
    const tn_node *good = tn_var_binding_of(ctx, y, shape);
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&good, 1}, false), y, true),
           NULL);

    const tn_expr *z = tn_var_new(ctx, "z", vec(ctx, 4));
    const tn_node *b = tn_var_binding_of(ctx, y, tn_call_opv(ctx, "shape_of", NULL, z, NULL));
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), y, true),
           "variable 'z' is used, but not defined");

    const tn_node *twice[] = {good, good};
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){twice, 2}, false), y, true),
           "variable 'y' is defined twice");

    const tn_expr *nested = tn_call_opv(ctx, "builtin.stop_lift_params", NULL, shape, NULL);
    const tn_expr *t = tn_var_new(ctx, "t", nested->type);
    b = tn_var_binding_of(ctx, t, nested);
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), t, true),
           "an argument is a CALL");

    b = tn_var_binding_of(ctx, tn_var_new(ctx, "w", tn_ty_tuple_of(ctx, (tn_list){0})),
                          tn_call_opv(ctx, "print", NULL, x, NULL));
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), x, true),
           "a pure function contains an impure call (of relax.print)");
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), x, false),
           NULL);
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, true), x, false),
           "in a dataflow block");

    const tn_expr *d = tn_dataflow_var_new(ctx, "d", tn_ty_shape_rank(ctx, 1));
    b = tn_var_binding_of(ctx, d, shape);
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, true), d, true),
           "dataflow variable 'd' is used outside its block");

    b = tn_var_binding_of(ctx, tn_var_new(ctx, "u", vec(ctx, 5)), x);
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), x, true),
           "variable 'u' has type");

    const tn_expr *forced =
        func(ctx, x, tn_binding_block_of(ctx, (tn_list){&good, 1}, false), y, false);
    expect(ctx, "f", tn_func_with_attr(ctx, forced, "relax.force_pure", tn_bool(ctx, true)),
           "relax.force_pure is set on a function that is not pure");
    expect(ctx, "f", tn_func_with_attr(ctx, forced, "global_symbol", tn_string(ctx, "g")),
           "global_symbol is 'g'");

    b = tn_var_binding_of(ctx, tn_var_new(ctx, "c", tn_ty_any(ctx)),
                          tn_call_of(ctx, tn_global_var_of(ctx, "nobody"), (tn_list){&x, 1}, NULL,
                                     (tn_list){0}, NULL));
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), x, false),
           "the module has no function 'nobody'");

    const tn_expr *k = tn_var_dtype(ctx, "k", TNB_I64);
    b = tn_var_binding_of(ctx, tn_var_new(ctx, "s", tn_ty_shape_rank(ctx, 1)),
                          tn_shape_expr_of(ctx, (tn_list){&k, 1}));
    expect(ctx, "f", func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, false), x, true),
           "variable 'k' is used, but not defined");
}

/* B[i] = A[i] over four elements; `call` fits it. */
static const tn_node *
copy_program(tn_ctx *ctx)
{
    const tn_node *four = tn_i64(ctx, 4);
    const tn_node *buffers[] = {tn_buffer_new(ctx, "A", (tn_list){&four, 1}, TNB_F32, NULL),
                                tn_buffer_new(ctx, "B", (tn_list){&four, 1}, TNB_F32, NULL)};
    const tn_node *params[] = {tn_var_dtype(ctx, "a", TNB_DTYPE(TNB_HANDLE, 64)),
                               tn_var_dtype(ctx, "b", TNB_DTYPE(TNB_HANDLE, 64))};
    const tn_expr *i = tn_var_dtype(ctx, "i", TNB_I64);
    const tn_stmt *body =
        tn_for_of(ctx, i, tn_i64(ctx, 0), four, TN_FOR_SERIAL, NULL, NULL,
                  tn_buffer_store_of(ctx, buffers[1],
                                     tn_buffer_load_of(ctx, buffers[0], (tn_list){&i, 1}),
                                     (tn_list){&i, 1}));
    return tn_prim_func_of(ctx, (tn_list){params, 2}, (tn_list){buffers, 2}, body, NULL, NULL);
}

static void
expect_call(tn_ctx *ctx, const tn_type *in, const tn_type *out, uint32_t n_args, const char *part)
{
    const tn_expr *x = tn_var_new(ctx, "x", in), *y = tn_var_new(ctx, "y", out);
    const tn_node *args[] = {x, x};
    const tn_node *b = tn_var_binding_of(ctx, y,
                                         tn_call_tir(ctx, tn_global_var_of(ctx, "copy"),
                                                     (tn_list){args, n_args}, out));
    const tn_expr *f = func(ctx, x, tn_binding_block_of(ctx, (tn_list){&b, 1}, true), x, true);
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), "copy", copy_program(ctx));
    m = tn_module_set(ctx, m, "f", f);
    tnb_diags_clear(tn_diags(ctx));
    uint32_t n = tn_verify(ctx, m);
    assert_int_equal(n != 0, part != NULL);
    if (part)
        assert_non_null(strstr(tnb_diags_get(tn_diags(ctx), 0)->message, part));
}

static void
calls_fit_their_programs(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *four = tn_i64(ctx, 4);
    expect_call(ctx, vec(ctx, 4), vec(ctx, 4), 1, NULL);
    expect_call(ctx, vec(ctx, 4), vec(ctx, 4), 2, "has 2 parameters");
    expect_call(ctx, vec(ctx, 5), vec(ctx, 4), 1, "argument 0 of 'copy': extent 0 must be");
    expect_call(ctx, vec(ctx, 4), vec(ctx, 3), 1, "output 0 of 'copy': extent 0 must be");
    expect_call(ctx, tn_ty_tensor_dims(ctx, (tn_list){&four, 1}, TNB_F16), vec(ctx, 4), 1,
                "must be float32, not float16");
    expect_call(ctx, tn_ty_tensor_of(ctx, NULL, TNB_F32, 2, NULL), vec(ctx, 4), 1,
                "must have 1 dimensions");
    expect_call(ctx, tn_ty_shape_rank(ctx, 1), vec(ctx, 4), 1, "must be a tensor");
}

static const tn_node *
with_body(tn_ctx *ctx, const tn_node *buffer, const tn_stmt *body)
{
    const tn_node *h = tn_var_dtype(ctx, "a", TNB_DTYPE(TNB_HANDLE, 64));
    return tn_prim_func_of(ctx, (tn_list){&h, 1}, (tn_list){&buffer, 1}, body, NULL, NULL);
}

static void
tensor_rules(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *four = tn_i64(ctx, 4), *zero = tn_i64(ctx, 0);
    const tn_node *a = tn_buffer_new(ctx, "A", (tn_list){&four, 1}, TNB_F32, NULL);
    const tn_node *other = tn_buffer_new(ctx, "C", (tn_list){&four, 1}, TNB_F32, NULL);
    const tn_expr *i = tn_var_dtype(ctx, "i", TNB_I64), *one = tn_float_imm_of(ctx, TNB_F32, 1);
    expect(ctx, "f", copy_program(ctx), NULL);
    expect(ctx, "f", with_body(ctx, a, tn_buffer_store_of(ctx, a, one, (tn_list){&i, 1})),
           "variable 'i' is used, but not defined");
    expect(ctx, "f", with_body(ctx, a, tn_buffer_store_of(ctx, other, one, (tn_list){&zero, 1})),
           "buffer 'C' is used, but not defined");
    const tn_stmt *inner = tn_for_of(ctx, i, zero, four, TN_FOR_SERIAL, NULL, NULL,
                                     tn_buffer_store_of(ctx, a, one, (tn_list){&i, 1}));
    expect(ctx, "f",
           with_body(ctx, a, tn_for_of(ctx, i, zero, four, TN_FOR_SERIAL, NULL, NULL, inner)),
           "variable 'i' is defined again");
    /* a store of another dtype cannot be constructed, but a rewriter could leave one */
    tn_buffer_store wrong =
        *tn_as_buffer_store(tn_buffer_store_of(ctx, a, one, (tn_list){&zero, 1}));
    wrong.value = tn_float_imm_of(ctx, TNB_F16, 1);
    expect(ctx, "f", with_body(ctx, a, tn_rebuild(ctx, TN_KIND_BUFFER_STORE, &wrong, NULL)),
           "takes float32 here, the value is float16");
    expect(ctx, "f", with_body(ctx, a, tn_rebuild(ctx, TN_KIND_BREAK, &(tn_none){0}, NULL)),
           "break outside a loop");
    const tn_expr *bad =
        tn_rebuild(ctx, TN_KIND_ADD, &(tn_binary){.a = one, .b = tn_i64(ctx, 1)}, one->type);
    expect(ctx, "f", with_body(ctx, a, tn_evaluate_of(ctx, bad)), "different dtypes");
}

static const tn_node *
blocked(tn_ctx *ctx, bool direct, bool init_uses_reduce)
{
    const tn_node *four = tn_i64(ctx, 4), *zero = tn_i64(ctx, 0);
    const tn_node *a = tn_buffer_new(ctx, "A", (tn_list){&four, 1}, TNB_F32, NULL);
    const tn_expr *i = tn_var_dtype(ctx, "i", TNB_I64), *vi = tn_var_dtype(ctx, "vi", TNB_I64);
    const tn_expr *one = tn_float_imm_of(ctx, TNB_F32, 1);
    const tn_node *iter =
        tn_iter_var_of(ctx, tn_range_of(ctx, zero, four), vi, TN_ITER_REDUCE, NULL);
    const tn_expr *at = direct ? i : vi;
    const tn_node *block =
        tn_block_of(ctx, &(tn_block){.name = "b",
                                     .iters = {&iter, 1},
                                     .init = tn_buffer_store_of(
                                         ctx, a, one, (tn_list){init_uses_reduce ? &vi : &zero, 1}),
                                     .body = tn_buffer_store_of(ctx, a, one, (tn_list){&at, 1})});
    return with_body(ctx, a,
                     tn_for_of(ctx, i, zero, four, TN_FOR_SERIAL, NULL, NULL,
                               tn_block_realize_of(ctx, (tn_list){&i, 1}, NULL, block)));
}

static void
block_rules(void **state)
{
    tn_ctx *ctx = *state;
    expect(ctx, "f", blocked(ctx, false, false), NULL);
    expect(ctx, "f", blocked(ctx, true, false), "uses the loop variable 'i' directly");
    expect(ctx, "f", blocked(ctx, false, true), "uses its reduction variable 'vi'");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(graph_rules), T(extents_are_not_negative), T(calls_fit_their_programs), T(tensor_rules),
        T(block_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
