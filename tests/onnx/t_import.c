/* SPDX-License-Identifier: Apache-2.0 */
/* What the importer makes of well-formed models. */
#include "import_fixture.h"

#include "tenon/core/arith.h"

/* The result's type, of a function with one output. */
static const tn_type *
result_type(fixture *f)
{
    return fixture_main(f)->ret;
}

static void
assert_dims(const tn_type *t, int n, const int64_t *want)
{
    tn_list dims;
    assert_true(tn_type_dims(t, &dims));
    assert_int_equal(dims.n, n);
    for (int i = 0; i < n; i++)
        assert_true(tn_is_int_const(dims.at[i], want[i]));
}

/* How many calls of an operator the function has. */
typedef struct count {
    const char *op;
    uint32_t n;
} count;

static tn_walk_step
count_one(void *user, const tn_node *n)
{
    count *c = user;
    const tn_call *call = tn_as_call(n);
    c->n += call && tn_is_call_to(n, c->op) != NULL;
    return TN_WALK_ON;
}

static uint32_t
calls(fixture *f, const char *op)
{
    count c = {op, 0};
    tn_walk(TN_NODE(fixture_main(f)), 0, count_one, NULL, &c);
    return c.n;
}

static mw
graph_in(const char *dim)
{
    int64_t fixed[2] = {2, 6};
    mw g = {0};
    mw_put(&g, GRAPH_INPUT,
           dim ? mw_named_dim("x", FLOAT, dim, 6) : mw_value("x", FLOAT, fixed, 2));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, NULL, -1));
    return g;
}

static void
nodes_out_of_order_are_sorted(void **state)
{
    fixture *f = *state;
    mw g = graph_in(NULL);
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "last", "b", "y"));
    mw_put(&g, GRAPH_NODE, mw_node("Exp", "second", "a", "b"));
    mw_put(&g, GRAPH_NODE, mw_node("Neg", "first", "x", "a"));
    fixture_import(f, mw_model(g, 13), NULL);
    assert_int_equal(calls(f, "relax.nn.relu"), 1);
    assert_int_equal(calls(f, "relax.exp"), 1);
}

/* x reshaped to [`op` of its first extent and 2, -1]: that extent is a term over x's. */
static void
computed_shape(fixture *f, const char *op, tn_kind kind)
{
    int64_t zero = 0, minus = -1, axes0 = 0;
    mw g = graph_in("batch"), n;
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("zero", &zero, -1));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("minus", &minus, 1));
    mw_put(&g, GRAPH_NODE, mw_node("Shape", NULL, "x", "s"));
    n = mw_node("Gather", NULL, "s zero", "b");
    mw_attr_int(&n, "axis", 0);
    mw_put(&g, GRAPH_NODE, n);
    n = mw_node("Unsqueeze", NULL, "b", "b1");
    mw_attr_ints(&n, "axes", &axes0, 1);
    mw_put(&g, GRAPH_NODE, n);
    mw_put(&g, GRAPH_NODE, mw_node(op, NULL, "b1 two", "b2"));
    int64_t two = 2;
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("two", &two, 1));
    n = mw_node("Concat", NULL, "b2 minus", "t");
    mw_attr_int(&n, "axis", 0);
    mw_put(&g, GRAPH_NODE, n);
    mw_put(&g, GRAPH_NODE, mw_node("Reshape", NULL, "x t", "y"));
    fixture_import(f, mw_model(g, 11), NULL);
    tn_list dims;
    assert_true(tn_type_dims(result_type(f), &dims));
    assert_int_equal(dims.n, 2);
    tn_list in;
    assert_true(tn_type_dims(fixture_main(f)->params.at[0]->type, &in));
    const tn_expr *first = tn_bin(f->ctx, kind, in.at[0], tn_i64(f->ctx, 2));
    assert_true(tn_prove_equal(f->ctx, dims.at[0], first));
    assert_int_equal(tn_is_int_const(dims.at[1], 3), kind == TN_KIND_MUL);
    assert_int_equal(calls(f, "relax.take"), 0);
}

static void
computed_shapes_become_shape_expressions(void **state)
{
    computed_shape(*state, "Mul", TN_KIND_MUL);
}

static void
quotients_of_extents_become_shape_expressions(void **state)
{
    computed_shape(*state, "Div", TN_KIND_FLOOR_DIV);
}

static void
dynamic_dimensions_can_be_fixed(void **state)
{
    fixture *f = *state;
    mw g = graph_in("batch");
    mw_put(&g, GRAPH_NODE, mw_node("Relu", NULL, "x", "y"));
    tn_ctx *ctx = fixture_ctx(f);
    tnk_import_options o = {.dims = tn_dictv(ctx, "batch", tn_i64(ctx, 5), NULL)};
    fixture_import(f, mw_model(g, 13), &o);
    assert_dims(result_type(f), 2, (const int64_t[]){5, 6});
}

static void
inputs_bound_at_compile_time_are_no_parameters(void **state)
{
    fixture *f = *state;
    int64_t two[1] = {2}, *target;
    void *bytes;
    mw g = graph_in(NULL);
    mw_put(&g, GRAPH_INPUT, mw_value("target", INT64, two, 1));
    mw_put(&g, GRAPH_NODE, mw_node("Reshape", NULL, "x target", "y"));
    tn_ctx *ctx = fixture_ctx(f);
    const tn_data *d = tn_data_new(ctx, TNB_I64, 1, two, &bytes);
    target = bytes;
    target[0] = 4;
    target[1] = 3;
    tnk_import_options o = {.inputs = tn_dictv(ctx, "target", tn_constant_of(ctx, d), NULL)};
    fixture_import(f, mw_model(g, 13), &o);
    assert_dims(result_type(f), 2, (const int64_t[]){4, 3});
    assert_int_equal(fixture_main(f)->params.n, 1);
    assert_int_equal(tn_dict_int(fixture_main(f)->attrs, "num_input", -1), 1);
}

static void
an_initializer_listed_as_input_is_a_constant(void **state)
{
    fixture *f = *state;
    int64_t six[1] = {6};
    float w[6] = {0};
    mw g = graph_in(NULL);
    mw_put(&g, GRAPH_INPUT, mw_value("w", FLOAT, six, 1));
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("w", FLOAT, six, 1, w, sizeof w));
    mw_put(&g, GRAPH_NODE, mw_node("Add", NULL, "x w", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    assert_int_equal(fixture_main(f)->params.n, 1);
}

/* The only constant among the arguments of calls. */
static tn_walk_step
find_constant(void *user, const tn_node *n)
{
    if (tn_is(n, TN_KIND_CONSTANT))
        *(const tn_data **)user = ((const tn_constant *)n)->data;
    return TN_WALK_ON;
}

static void
large_tensors_are_ranges_of_the_file(void **state)
{
    fixture *f = *state;
    enum { N = 3000 };
    static float w[N];
    int64_t dims[1] = {N}, in[2] = {1, N};
    for (int i = 0; i < N; i++)
        w[i] = (float)i;
    mw g = {0};
    mw_put(&g, GRAPH_INPUT, mw_value("x", FLOAT, in, 2));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, in, 2));
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("w", FLOAT, dims, 1, w, sizeof w));
    mw_put(&g, GRAPH_NODE, mw_node("Add", NULL, "x w", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    const tn_data *d = NULL;
    tn_walk(TN_NODE(fixture_main(f)), 0, find_constant, NULL, &d);
    assert_non_null(d);
    assert_int_equal(d->kind, TN_DATA_FILE);
    assert_memory_equal(d->bytes, w, sizeof w);
}

static void
filled_tensors_are_one_element(void **state)
{
    fixture *f = *state;
    int64_t shape[2] = {1000, 6}, one = 1;
    float half = 0.5f;
    mw g = graph_in(NULL), n = mw_node("ConstantOfShape", NULL, "shape", "w");
    mw_attr_tensor(&n, "value", mw_tensor("", FLOAT, &one, 1, &half, 4));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("shape", shape, 2));
    mw_put(&g, GRAPH_NODE, n);
    n = mw_node("Gemm", NULL, "x w", "y");
    mw_attr_int(&n, "transB", 1);
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 13), NULL);
    const tn_data *d = NULL;
    tn_walk(TN_NODE(fixture_main(f)), 0, find_constant, NULL, &d);
    assert_non_null(d);
    assert_int_equal(d->kind, TN_DATA_SPLAT);
    assert_dims(result_type(f), 2, (const int64_t[]){2, 1000});
}

static void
scalars_joined_count_as_one_element_each(void **state)
{
    fixture *f = *state;
    int64_t three = 3, four = 4;
    mw g = graph_in(NULL), n = mw_node("Concat", NULL, "a b", "t");
    mw_attr_int(&n, "axis", 0);
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("a", &three, -1));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("b", &four, -1));
    mw_put(&g, GRAPH_NODE, n);
    mw_put(&g, GRAPH_NODE, mw_node("Reshape", NULL, "x t", "y"));
    fixture_import(f, mw_model(g, 11), NULL);
    assert_dims(result_type(f), 2, (const int64_t[]){3, 4});
}

static void
a_wrong_declared_shape_is_a_warning(void **state)
{
    fixture *f = *state;
    int64_t in[2] = {2, 6}, wrong[2] = {7, 7};
    mw g = {0};
    mw_put(&g, GRAPH_INPUT, mw_value("x", FLOAT, in, 2));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, wrong, 2));
    mw_put(&g, GRAPH_NODE, mw_node("Relu", NULL, "x", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    assert_dims(result_type(f), 2, in);
    assert_non_null(strstr(f->text.s, "output 'y' is declared"));
}

static void
a_function_is_expanded_with_its_attributes(void **state)
{
    fixture *f = *state;
    mw fn = {0}, opset = {0}, inner = mw_node("Transpose", "t", "a", "b"),
       n = mw_node("Turn", "turn", "x", "y");
    int64_t perm[2] = {1, 0};
    mw_attr_ref(&inner, "perm", "order", 7);
    tnb_wire_put_text(&fn, 1, "Turn");
    tnb_wire_put_text(&fn, 4, "a");
    tnb_wire_put_text(&fn, 5, "b");
    tnb_wire_put_text(&fn, 6, "order");
    mw_put(&fn, 7, inner);
    tnb_wire_put_int(&opset, 2, 13);
    mw_put(&fn, 9, opset);
    tnb_wire_put_text(&fn, 10, "local");
    mw_attr_ints(&n, "order", perm, 2);
    tnb_wire_put_text(&n, NODE_DOMAIN, "local");
    mw g = graph_in(NULL);
    mw_put(&g, GRAPH_NODE, n);
    mw m = mw_model(g, 13);
    mw_put(&m, MODEL_FUNCTION, fn);
    fixture_import(f, m, NULL);
    assert_dims(result_type(f), 2, (const int64_t[]){6, 2});
}

static void
a_known_condition_picks_its_branch(void **state)
{
    fixture *f = *state;
    bool no = false;
    mw g = graph_in(NULL), n = mw_node("If", "pick", "c", "y"), a = {0}, b = {0};
    mw_put(&a, GRAPH_NODE, mw_node("Exp", NULL, "x", "ya"));
    mw_put(&a, GRAPH_OUTPUT, mw_value("ya", FLOAT, NULL, -1));
    mw_put(&b, GRAPH_NODE, mw_node("Relu", NULL, "x", "yb"));
    mw_put(&b, GRAPH_OUTPUT, mw_value("yb", FLOAT, NULL, -1));
    mw_attr_graph(&n, "then_branch", a);
    mw_attr_graph(&n, "else_branch", b);
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("c", BOOL, NULL, 0, &no, 1));
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 13), NULL);
    assert_int_equal(calls(f, "relax.nn.relu"), 1);
    assert_int_equal(calls(f, "relax.exp"), 0);
}

static void
a_loop_of_known_length_is_written_out(void **state)
{
    fixture *f = *state;
    int64_t three = 3;
    bool yes = true;
    mw body = {0}, g = graph_in(NULL), n = mw_node("Loop", "loop", "turns - x", "y");
    mw_put(&body, GRAPH_INPUT, mw_value("i", INT64, NULL, 0));
    mw_put(&body, GRAPH_INPUT, mw_value("c", BOOL, NULL, 0));
    mw_put(&body, GRAPH_INPUT, mw_value("v", FLOAT, NULL, -1));
    mw_put(&body, GRAPH_INITIALIZER, mw_tensor("yes", BOOL, NULL, 0, &yes, 1));
    mw_put(&body, GRAPH_NODE, mw_node("Relu", "step", "v", "w"));
    mw_put(&body, GRAPH_OUTPUT, mw_value("yes", BOOL, NULL, 0));
    mw_put(&body, GRAPH_OUTPUT, mw_value("w", FLOAT, NULL, -1));
    mw_attr_graph(&n, "body", body);
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("turns", &three, -1));
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 13), NULL);
    assert_int_equal(calls(f, "relax.nn.relu"), 3);
}

static void
old_attribute_forms_are_understood(void **state)
{
    fixture *f = *state;
    int64_t starts[1] = {1}, ends[1] = {5}, axes[1] = {1}, pads[4] = {0, 1, 0, 2},
            shape[2] = {4, -1}, two[1] = {2};
    float w[2] = {1, 2};
    mw g = graph_in(NULL), n = mw_node("Slice", NULL, "x", "a");
    mw_attr_ints(&n, "starts", starts, 1);
    mw_attr_ints(&n, "ends", ends, 1);
    mw_attr_ints(&n, "axes", axes, 1);
    mw_put(&g, GRAPH_NODE, n);
    n = mw_node("Pad", NULL, "a", "b"); /* [2, 7] */
    mw_attr_ints(&n, "paddings", pads, 4);
    mw_put(&g, GRAPH_NODE, n);
    n = mw_node("Add", NULL, "b w", "c");
    mw_attr_int(&n, "broadcast", 1);
    mw_attr_int(&n, "axis", 0);
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("w", FLOAT, two, 1, w, sizeof w));
    mw_put(&g, GRAPH_NODE, n);
    n = mw_node("Reshape", NULL, "c", "y");
    shape[0] = 7;
    mw_attr_ints(&n, "shape", shape, 2);
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 1), NULL);
    assert_dims(result_type(f), 2, (const int64_t[]){7, 2});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_out_of_order_are_sorted),
        cmocka_unit_test(computed_shapes_become_shape_expressions),
        cmocka_unit_test(quotients_of_extents_become_shape_expressions),
        cmocka_unit_test(dynamic_dimensions_can_be_fixed),
        cmocka_unit_test(inputs_bound_at_compile_time_are_no_parameters),
        cmocka_unit_test(an_initializer_listed_as_input_is_a_constant),
        cmocka_unit_test(large_tensors_are_ranges_of_the_file),
        cmocka_unit_test(filled_tensors_are_one_element),
        cmocka_unit_test(scalars_joined_count_as_one_element_each),
        cmocka_unit_test(a_wrong_declared_shape_is_a_warning),
        cmocka_unit_test(a_function_is_expanded_with_its_attributes),
        cmocka_unit_test(a_known_condition_picks_its_branch),
        cmocka_unit_test(a_loop_of_known_length_is_written_out),
        cmocka_unit_test(old_attribute_forms_are_understood),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
