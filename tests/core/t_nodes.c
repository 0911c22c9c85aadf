/* SPDX-License-Identifier: Apache-2.0 */
/* Constructors, interning, modules, attribute dictionaries, constants. */
#include "tcore.h"

static void
closed_types_and_leaves_are_interned(void **state)
{
    tn_ctx *ctx = *state;
    assert_ptr_equal(tn_i64(ctx, 3), tn_i64(ctx, 3));
    assert_ptr_not_equal(tn_i64(ctx, 3), tn_i32(ctx, 3));
    const tn_node *dims[] = {tn_i64(ctx, 2), tn_i64(ctx, 3)};
    const tn_type *a = tn_ty_tensor_dims(ctx, (tn_list){dims, 2}, TNB_F32);
    const tn_type *b = tn_ty_tensor_dims(ctx, (tn_list){dims, 2}, TNB_F32);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, tn_ty_tensor_dims(ctx, (tn_list){dims, 2}, TNB_F16));
    assert_ptr_equal(tn_dictv(ctx, "b", tn_i64(ctx, 1), "a", tn_string(ctx, "x"), NULL),
                     tn_dictv(ctx, "a", tn_string(ctx, "x"), "b", tn_i64(ctx, 1), NULL));
    assert_ptr_equal(tn_str(ctx, "abc"), tn_strn(ctx, "abcdef", 3));
}

static void
many_changes_copy_a_list_once_and_leave_the_old_one(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *ints[] = {tn_i64(ctx, 0), tn_i64(ctx, 1), tn_i64(ctx, 2)};
    const tn_list was = tn_list_of(ctx, ints, 3);
    tn_list now = was;
    tn_list_change(ctx, &now, was, 1, was.at[1]);
    tn_list_change(ctx, &now, was, 3, ints[0]);
    assert_ptr_equal(now.at, was.at);
    tn_list_change(ctx, &now, was, 2, ints[0]);
    const tn_node *const *copy = now.at;
    assert_ptr_not_equal(copy, was.at);
    tn_list_change(ctx, &now, was, 0, ints[1]);
    assert_ptr_equal(now.at, copy);
    assert_int_equal(now.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(now.at[i], ints[i == 2 ? 0 : 1]);
        assert_ptr_equal(was.at[i], ints[i]);
    }
}

static void
a_type_with_a_variable_is_not_interned_nor_closed(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *n = tn_var_dtype(ctx, "n", TNB_I64);
    const tn_type *a = tn_ty_tensor_dims(ctx, (tn_list){&n, 1}, TNB_F32);
    assert_int_equal(a->flags & (TN_FLAG_CLOSED | TN_FLAG_INTERNED), 0);
    assert_ptr_not_equal(a, tn_ty_tensor_dims(ctx, (tn_list){&n, 1}, TNB_F32));
    assert_int_equal(tn_type_ndim(a), 1);
}

static void
integer_literals_wrap_and_floats_round(void **state)
{
    tn_ctx *ctx = *state;
    int64_t v;
    assert_true(tn_int_value(tn_int_imm_of(ctx, TNB_I8, 200), &v));
    assert_int_equal(v, -56);
    const tn_float_imm *f = tn_as_float_imm(tn_float_imm_of(ctx, TNB_F32, 0.1));
    assert_true(f->value == (double)0.1f);
    assert_ptr_not_equal(tn_float_imm_of(ctx, TNB_F64, 0.0), tn_float_imm_of(ctx, TNB_F64, -0.0));
}

static void
bad_operands_record_one_error_and_pass_silently(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *bad = tn_raw_binary(ctx, TN_KIND_ADD, tn_i64(ctx, 1), tn_i32(ctx, 1));
    assert_true(tn_is_error(bad));
    assert_int_equal(tnb_diags_errors(tn_diags(ctx)), 1);
    assert_true(tn_is_error(tn_raw_binary(ctx, TN_KIND_ADD, bad, tn_i64(ctx, 1))));
    assert_true(tn_is_error(tn_tuple_of(ctx, tn_listv(ctx, bad, NULL))));
    assert_true(tn_is_error(tn_evaluate_of(ctx, bad)));
    assert_int_equal(tnb_diags_errors(tn_diags(ctx)), 1);
}

static void
nesting_is_bounded(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *e = tn_var_dtype(ctx, "x", TNB_I64);
    const tn_expr *y = e;
    uint32_t depth = 0;
    while (!tn_is_error(e) && depth < 10000) {
        e = tn_raw_binary(ctx, TN_KIND_ADD, e, y);
        depth++;
    }
    assert_true(tn_is_error(e));
    assert_in_range(depth, 1000, TN_MAX_DEPTH);
}

static void
the_location_of_a_node_is_the_current_one(void **state)
{
    tn_ctx *ctx = *state;
    tn_loc loc = tn_loc_make(ctx, (tnb_place){"a.py", 3, 7, NULL});
    assert_int_equal(loc, tn_loc_make(ctx, (tnb_place){"a.py", 3, 7, NULL}));
    tn_ctx_source(ctx, "a.py", "one\ntwo\nthree\n", 14);
    tn_loc old = tn_at(ctx, loc);
    const tn_expr *x = tn_var_dtype(ctx, "x", TNB_F32);
    tn_error(ctx, 0, TNB_INVALID, "here");
    tn_at(ctx, old);
    assert_int_equal(x->loc, loc);
    const tnb_diag *d = tnb_diags_get(tn_diags(ctx), 0);
    assert_int_equal(d->place.line, 3);
    assert_string_equal(d->source_line, "three");
}

static void
modules_are_sorted_and_copied_by_path(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *f = tn_extern_func_of(ctx, "f"), *g = tn_extern_func_of(ctx, "g");
    const tn_module *m = tn_module_new(ctx);
    const tn_module *a = tn_module_set(ctx, m, "zeta", f);
    const tn_module *b = tn_module_set(ctx, a, "alpha", g);
    assert_int_equal(m->names.n, 0);
    assert_string_equal(tn_module_name(b, 0), "alpha");
    assert_ptr_equal(tn_module_get(b, "zeta"), f);
    assert_null(tn_module_get(a, "alpha"));
    assert_ptr_equal(tn_module_set(ctx, b, "alpha", g), b);
    assert_ptr_equal(tn_module_set(ctx, b, "none", NULL), b);
    assert_int_equal(tn_module_set(ctx, b, "alpha", NULL)->names.n, 1);
    assert_null(tn_module_set(ctx, b, "x", tn_i64(ctx, 1)));
}

static void
dictionaries_answer(void **state)
{
    tn_ctx *ctx = *state;
    int64_t pads[] = {1, 2, 3}, got[4];
    const tn_node *d =
        tn_dictv(ctx, "s", tn_string(ctx, "NCHW"), "i", tn_i64(ctx, 4), "f",
                 tn_float_imm_of(ctx, TNB_F64, 0.5), "p", tn_int_array(ctx, pads, 3), NULL);
    assert_int_equal(tn_dict_int(d, "i", 0), 4);
    assert_int_equal(tn_dict_int(d, "s", -1), -1);
    assert_true(tn_dict_float(d, "f", 0) == 0.5);
    assert_string_equal(tn_dict_str(d, "s", NULL), "NCHW");
    assert_int_equal(tn_dict_ints(d, "p", got, 4), 3);
    assert_int_equal(got[2], 3);
    assert_int_equal(tn_dict_ints(d, "i", got, 4), -1);
    assert_null(tn_dict_get(d, "q"));
    assert_ptr_equal(tn_dict_set(ctx, d, "i", tn_i64(ctx, 4)), d);
    assert_null(tn_dict_get(tn_dict_set(ctx, d, "i", NULL), "i"));
    assert_true(tn_is_error(tn_dictv(ctx, "a", tn_i64(ctx, 1), "a", tn_i64(ctx, 2), NULL)));
}

static void
constants_compare_by_content(void **state)
{
    tn_ctx *ctx = *state;
    int64_t shape[] = {2, 3};
    void *p;
    float one = 1;
    const tn_data *a = tn_data_new(ctx, TNB_F32, 2, shape, &p);
    for (int i = 0; i < 6; i++)
        ((float *)p)[i] = one;
    const tn_data *s = tn_data_splat(ctx, TNB_F32, 2, shape, &one);
    assert_true(tn_data_equal(ctx, a, s));
    tn_data_release(ctx, s);
    assert_true(tn_data_equal(ctx, s, a));
    ((float *)p)[5] = 2;
    assert_false(tn_data_equal(ctx, a, s));
    assert_ptr_equal(tn_data_get(ctx, a), p);
    tn_data_release(ctx, a);
    assert_ptr_equal(tn_data_get(ctx, a), p);
    int64_t huge[] = {INT64_MAX, INT64_MAX};
    assert_null(tn_data_new(ctx, TNB_F32, 2, huge, NULL));
    int64_t none[] = {0, TNB_MAX_ELEMS}, far[] = {0, TNB_MAX_ELEMS + 1};
    assert_null(tn_data_new(ctx, TNB_F32, 2, far, NULL));
    assert_int_equal(tn_data_new(ctx, TNB_F32, 2, none, NULL)->n_elems, 0);
}

static void
calls_get_types_defaults_and_checks(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *n = tn_var_dtype(ctx, "n", TNB_I64);
    const tn_expr *x =
        tn_var_new(ctx, "x",
                   tn_ty_tensor_dims(ctx, tn_listv(ctx, n, tn_i64(ctx, 4), NULL), TNB_F32));
    const tn_expr *s = tn_call_opv(ctx, "shape_of", NULL, x, NULL);
    tn_list dims;
    assert_true(tn_type_dims(s->type, &dims));
    assert_ptr_equal(dims.at[0], n);
    const tn_expr *p = tn_call_opv(ctx, "print", NULL, x, NULL);
    assert_string_equal(tn_call_str(tn_as_call(p), "format"), "");
    assert_false(tn_call_is_pure(tn_as_call(p)));
    assert_true(tn_call_is_pure(tn_as_call(s)));
    const tn_module *m = tn_module_new(ctx);
    m = tn_module_set(ctx, m, "loud", tn_function_of(ctx, (tn_list){&x, 1}, x, NULL, false, NULL));
    m = tn_module_set(ctx, m, "quiet", tn_function_of(ctx, (tn_list){&x, 1}, x, NULL, true, NULL));
    const tn_call *loud = tn_as_call(
        tn_call_of(ctx, tn_global_var_of(ctx, "loud"), (tn_list){&x, 1}, NULL, (tn_list){0}, NULL));
    const tn_call *quiet = tn_as_call(tn_call_of(ctx, tn_global_var_of(ctx, "quiet"),
                                                 (tn_list){&x, 1}, NULL, (tn_list){0}, NULL));
    assert_false(tn_call_is_pure(quiet));
    assert_true(tn_call_is_pure_in(m, quiet));
    assert_false(tn_call_is_pure_in(m, loud));
    assert_true(tn_is_error(tn_call_opv(ctx, "shape_of", NULL, x, x, NULL)));
    assert_true(tn_is_error(tn_call_opv(ctx, "shape_off", NULL, x, NULL)));
    const tnb_diag *d = tnb_diags_get(tn_diags(ctx), 1);
    assert_non_null(strstr(d->hint, "relax.shape_of"));
    assert_true(tn_is_error(
        tn_call_opv(ctx, "print", tn_dictv(ctx, "formt", tn_string(ctx, ""), NULL), x, NULL)));
    d = tnb_diags_get(tn_diags(ctx), 2);
    assert_non_null(strstr(d->hint, "format"));
}

static void
call_tir_keeps_its_output_type(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *four = tn_i64(ctx, 4);
    const tn_type *t = tn_ty_tensor_dims(ctx, (tn_list){&four, 1}, TNB_F32);
    const tn_expr *x = tn_var_new(ctx, "x", t);
    const tn_expr *c = tn_call_tir(ctx, tn_global_var_of(ctx, "f"), (tn_list){&x, 1}, t);
    assert_ptr_equal(c->type, t);
    assert_non_null(tn_is_call_to(c, "relax.call_tir"));
    assert_null(tn_is_call_to(c, "relax.call_dps_packed"));
    assert_true(
        tn_is_error(tn_call_opv(ctx, "call_tir", NULL, tn_global_var_of(ctx, "f"), x, NULL)));
}

static void
scalar_intrinsics_have_types(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *x = tn_var_dtype(ctx, "x", TNB_F16);
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_intrin1(ctx, TN_INTRIN_exp, x)), TNB_F16));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_intrin1(ctx, TN_INTRIN_isnan, x)), TNB_B8));
    assert_true(tn_is_error(tn_intrin(ctx, TN_INTRIN_pow, (tn_list){&x, 1})));
    assert_true(tn_is_error(tn_intrin1(ctx, TN_INTRIN_NONE, x)));
    assert_true(tn_is_error(tn_intrin1(ctx, TN_INTRIN_COUNT, x)));
    assert_true(tn_is_error(tn_intrin_named(ctx, "expo", (tn_list){&x, 1})));
    double one = 1;
    assert_true(tn_find_op(tn_ctx_registry(ctx), "tirx.isinf", NULL)->eval(&one, 1) == 0);
}

static void
functions_erase_what_the_caller_cannot_know(void **state)
{
    tn_ctx *ctx = *state;
    const tn_node *n = tn_var_dtype(ctx, "n", TNB_I64), *m = tn_var_dtype(ctx, "m", TNB_I64);
    const tn_type *tn = tn_ty_tensor_dims(ctx, (tn_list){&n, 1}, TNB_F32);
    const tn_type *tm = tn_ty_tensor_dims(ctx, (tn_list){&m, 1}, TNB_F32);
    const tn_expr *x = tn_var_new(ctx, "x", tn);
    const tn_expr *y = tn_var_new(ctx, "y", tm);
    const tn_node *b = tn_match_cast_of(ctx, y, x, tm);
    const tn_node *block = tn_binding_block_of(ctx, (tn_list){&b, 1}, false);
    const tn_expr *f =
        tn_function_of(ctx, (tn_list){&x, 1}, tn_seq_expr_of(ctx, (tn_list){&block, 1}, y), NULL,
                       true, NULL);
    const tn_type *ret = tn_as_function(f)->ret;
    assert_int_equal(tn_type_ndim(ret), 1);
    tn_list dims;
    assert_false(tn_type_dims(ret, &dims));
    const tn_expr *g = tn_function_of(ctx, (tn_list){&x, 1}, x, NULL, true, NULL);
    assert_ptr_equal(tn_as_function(g)->ret, tn);
}

static void
a_child_context_reads_its_parents_tables(void **state)
{
    tn_ctx *ctx = *state;
    const tn_expr *three = tn_i64(ctx, 3);
    const char *s = tn_str(ctx, "shared");
    tn_ctx *child = tn_ctx_child(ctx);
    assert_ptr_equal(tn_i64(child, 3), three);
    assert_ptr_equal(tn_str(child, "shared"), s);
    const tn_expr *v = tn_var_dtype(child, "v", TNB_I64);
    const tn_expr *e = tn_raw_binary(child, TN_KIND_ADD, v, tn_i64(child, 12345));
    const tn_expr *copy = tn_ctx_splice(ctx, child, e);
    tn_ctx_free(child);
    const tn_binary *add = tn_as_binary(copy);
    assert_ptr_equal(add->b, tn_i64(ctx, 12345));
    assert_string_equal(tn_var_name(add->a), "v");
    assert_ptr_equal(((const tn_var *)add->a)->name, tn_str(ctx, "v"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(closed_types_and_leaves_are_interned),
        T(many_changes_copy_a_list_once_and_leave_the_old_one),
        T(a_type_with_a_variable_is_not_interned_nor_closed),
        T(integer_literals_wrap_and_floats_round),
        T(bad_operands_record_one_error_and_pass_silently),
        T(nesting_is_bounded),
        T(the_location_of_a_node_is_the_current_one),
        T(modules_are_sorted_and_copied_by_path),
        T(dictionaries_answer),
        T(constants_compare_by_content),
        T(calls_get_types_defaults_and_checks),
        T(call_tir_keeps_its_output_type),
        T(scalar_intrinsics_have_types),
        T(functions_erase_what_the_caller_cannot_know),
        T(a_child_context_reads_its_parents_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
