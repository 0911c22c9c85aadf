/* SPDX-License-Identifier: Apache-2.0 */
/* Broken models: each kind ends in a message that names the file and the place, and never in a
 * crash. */
#include "import_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t one_dim[1] = {4};

/* A graph with input x and output y, float [4]. */
static mw
graph_xy(void)
{
    mw g = {0};
    tnb_wire_put_text(&g, GRAPH_NAME, "g");
    mw_put(&g, GRAPH_INPUT, mw_value("x", FLOAT, one_dim, 1));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, one_dim, 1));
    return g;
}

static mw
model_of(mw node)
{
    mw g = graph_xy();
    mw_put(&g, GRAPH_NODE, node);
    return mw_model(g, 13);
}

/* A model that adds the initializer `t` (named w) to x. */
static mw
model_with(mw t)
{
    mw g = graph_xy();
    mw_put(&g, GRAPH_INITIALIZER, t);
    mw_put(&g, GRAPH_NODE, mw_node("Add", "sum", "x w", "y"));
    return mw_model(g, 13);
}

/* ---- bytes ---- */

static void
an_empty_file_is_refused(void **state)
{
    fixture *f = *state;
    fixture_write(f, "empty.onnx", "", 0);
    fixture_import_file(f, "empty.onnx", NULL);
    fixture_refused(f, "empty.onnx", "empty", NULL);
}

static void
a_missing_file_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import_file(f, "missing.onnx", NULL);
    fixture_refused(f, "missing.onnx", "No such file", NULL);
}

static void
a_folder_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import_file(f, ".", NULL);
    fixture_refused(f, f->folder, NULL);
}

static void
text_is_refused(void **state)
{
    fixture *f = *state;
    fixture_write(f, "text.onnx", "this is not a model\n", 20);
    fixture_import_file(f, "text.onnx", NULL);
    fixture_refused(f, "text.onnx", NULL);
}

static void
every_cut_of_a_model_is_refused(void **state)
{
    fixture *f = *state;
    float w[4] = {1, 2, 3, 4};
    mw m = model_with(mw_tensor("w", FLOAT, one_dim, 1, w, sizeof w));
    uint32_t accepted = 0;
    for (size_t n = 0; n < m.n; n++) {
        fixture_write(f, "cut.onnx", m.s, n);
        if (fixture_import_file(f, "cut.onnx", NULL) == TNB_OK)
            accepted++;
        else
            fixture_refused(f, "cut.onnx", NULL);
    }
    /* only the opset at the end may be missing: the file then counts as one of the first format */
    assert_in_range(accepted, 0, 1);
    fixture_import(f, m, NULL);
    fixture_main(f);
}

static void
flipped_bits_never_crash(void **state)
{
    fixture *f = *state;
    float w[4] = {1, 2, 3, 4};
    mw m = model_with(mw_tensor("w", FLOAT, one_dim, 1, w, sizeof w));
    uint32_t seed = 12345;
    for (int turn = 0; turn < 600; turn++) {
        seed = seed * 1664525 + 1013904223;
        size_t at = (seed >> 8) % m.n;
        char old = m.s[at];
        m.s[at] = (char)(m.s[at] ^ (1 << (seed >> 29)));
        fixture_write(f, "flip.onnx", m.s, m.n);
        if (fixture_import_file(f, "flip.onnx", NULL) != TNB_OK)
            fixture_refused(f, NULL);
        m.s[at] = old;
    }
    tnb_buf_free(&m);
}

static void
a_length_past_its_parent_is_refused(void **state)
{
    static const unsigned char bytes[] = {0x08, 8, 0x3a, 4, 0x0a, 0xff, 0xff, 0x03};
    fixture *f = *state;
    fixture_write(f, "long.onnx", bytes, sizeof bytes);
    fixture_import_file(f, "long.onnx", NULL);
    fixture_refused(f, "long.onnx", "byte 4", "graph.node", "past the end", NULL);
}

static void
a_huge_length_is_refused(void **state)
{
    static const unsigned char bytes[] = {0x3a, 0xff, 0xff, 0xff, 0xff, 0xff,
                                          0xff, 0xff, 0xff, 0xff, 0x01};
    fixture *f = *state;
    fixture_write(f, "huge.onnx", bytes, sizeof bytes);
    fixture_import_file(f, "huge.onnx", NULL);
    fixture_refused(f, "huge.onnx", "byte 0", "graph", NULL);
}

static void
a_group_is_refused(void **state)
{
    static const unsigned char bytes[] = {0x08, 8, 0x3b, 0x3c};
    fixture *f = *state;
    fixture_write(f, "group.onnx", bytes, sizeof bytes);
    fixture_import_file(f, "group.onnx", NULL);
    fixture_refused(f, "group.onnx", "byte 2", "group", NULL);
}

static void
a_wrong_wire_type_is_refused(void **state)
{
    static const unsigned char bytes[] = {0x0a, 1, 'x'};
    fixture *f = *state;
    fixture_write(f, "wire.onnx", bytes, sizeof bytes);
    fixture_import_file(f, "wire.onnx", NULL);
    fixture_refused(f, "wire.onnx", "byte 0", "ir_version", NULL);
}

static void
a_zero_byte_in_a_name_is_refused(void **state)
{
    fixture *f = *state;
    mw g = graph_xy();
    tnb_wire_put_bytes(&g, GRAPH_NAME, "a\0b", 3);
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "model.onnx", "graph.name", "zero byte", NULL);
}

static void
sub_graphs_nested_100000_deep_are_refused(void **state)
{
    fixture *f = *state;
    enum { DEEP = 100000 };
    size_t cap = (size_t)DEEP * 18, at = cap;
    unsigned char *b = malloc(cap);
    static const unsigned char keys[3] = {
        0x32, 0x2a, 0x0a}; /* AttributeProto.g, NodeProto.attribute, GraphProto.node */
    for (int i = 0; i < DEEP; i++)
        for (int k = 0; k < 3; k++) { /* from the inside out */
            uint64_t n = cap - at;
            int width = n < 128 ? 1 : n < 16384 ? 2 : n < 2097152 ? 3 : 4;
            for (int j = width; j-- > 0;)
                b[--at] = (unsigned char)((n >> (7 * j) & 0x7f) | (j + 1 < width ? 0x80 : 0));
            b[--at] = keys[k];
        }
    mw m = {0};
    tnb_wire_put_int(&m, MODEL_IR_VERSION, 8);
    tnb_wire_put_bytes(&m, MODEL_GRAPH, b + at, cap - at);
    free(b);
    fixture_import(f, m, NULL);
    fixture_refused(f, "model.onnx", "64 deep", "graph.node[0]", NULL);
}

/* ---- models ---- */

static void
no_graph_is_refused(void **state)
{
    fixture *f = *state;
    mw m = {0};
    tnb_wire_put_int(&m, MODEL_IR_VERSION, 8);
    fixture_import(f, m, NULL);
    fixture_refused(f, "model.onnx", "no graph", NULL);
}

static void
an_unknown_opset_is_refused(void **state)
{
    fixture *f = *state;
    mw g = graph_xy();
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "r", "x", "y"));
    fixture_import(f, mw_model(g, 999), NULL);
    fixture_refused(f, "model.onnx", "opset 999", NULL);
}

static void
all_unknown_operators_are_listed_at_once(void **state)
{
    fixture *f = *state;
    mw g = graph_xy();
    mw_put(&g, GRAPH_NODE, mw_node("Frobnicate", "first", "x", "a"));
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "r", "a", "b"));
    mw_put(&g, GRAPH_NODE, mw_node("Defrobnicate", "last", "b", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "model.onnx", "node 'first' (Frobnicate)", "ai.onnx", "opset 13",
                    "Defrobnicate", NULL);
}

static void
an_operator_of_another_opset_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(f, model_of(mw_node("Upsample", "u", "x x", "y")), NULL);
    fixture_refused(f, "node 'u' (Upsample)", "other versions", NULL);
}

static void
a_cycle_names_its_nodes(void **state)
{
    fixture *f = *state;
    mw g = graph_xy();
    mw_put(&g, GRAPH_NODE, mw_node("Add", "one", "x b", "a"));
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "two", "a", "b"));
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "three", "b", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "model.onnx", "cycle", "'one'", "'two'", NULL);
}

static void
a_node_that_needs_itself_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(f, model_of(mw_node("Add", "self", "x y", "y")), NULL);
    fixture_refused(f, "'self'", "cycle", NULL);
}

static void
an_output_made_twice_is_refused(void **state)
{
    fixture *f = *state;
    mw g = graph_xy();
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "one", "x", "y"));
    mw_put(&g, GRAPH_NODE, mw_node("Sigmoid", "two", "x", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "node 'two' (Sigmoid)", "'y'", "node 'one' (Relu)", NULL);
}

static void
an_output_named_as_an_input_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(f, model_of(mw_node("Relu", "r", "x", "x")), NULL);
    fixture_refused(f, "node 'r' (Relu)", "'x' exists already", NULL);
}

static void
a_missing_input_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(f, model_of(mw_node("Add", "sum", "x nowhere", "y")), NULL);
    fixture_refused(f, "node 'sum' (Add)", "input 1", "'nowhere'", NULL);
}

static void
too_few_and_too_many_inputs_are_refused(void **state)
{
    fixture *f = *state;
    fixture_import(f, model_of(mw_node("Add", "sum", "x", "y")), NULL);
    fixture_refused(f, "node 'sum' (Add)", "1 inputs, expected 2", NULL);
    fixture_import(f, model_of(mw_node("Relu", "r", "x x", "y")), NULL);
    fixture_refused(f, "node 'r' (Relu)", "2 inputs, expected 1", NULL);
    fixture_import(f, model_of(mw_node("Add", "sum", "- x", "y")), NULL);
    fixture_refused(f, "node 'sum' (Add)", "input 0 is left out", NULL);
}

static void
an_output_that_nothing_makes_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(f, model_of(mw_node("Relu", "r", "x", "z")), NULL);
    fixture_refused(f, "model.onnx", "output 'y'", NULL);
}

static void
names_given_twice_are_refused(void **state)
{
    fixture *f = *state;
    mw g = graph_xy();
    mw_put(&g, GRAPH_INPUT, mw_value("x", FLOAT, one_dim, 1));
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "r", "x", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "model.onnx", "two inputs named 'x'", NULL);
    g = graph_xy();
    for (int i = 0; i < 2; i++)
        mw_put(&g, GRAPH_INITIALIZER, mw_tensor("w", FLOAT, one_dim, 1, "0123456789abcdef", 16));
    mw_put(&g, GRAPH_NODE, mw_node("Relu", "r", "x", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "model.onnx", "initializer 1", "'w'", NULL);
}

static void
inputs_of_other_types_are_refused(void **state)
{
    fixture *f = *state;
    mw g = {0};
    mw_put(&g, GRAPH_INPUT, mw_value("x", STRING, one_dim, 1));
    mw_put(&g, GRAPH_OUTPUT, mw_value("x", STRING, one_dim, 1));
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "model.onnx", "input 'x'", "STRING", NULL);
    g = (mw){0};
    mw v = {0}, type = {0}, seq = {0};
    tnb_wire_put_text(&v, 1, "x");
    mw_put(&type, 4, seq); /* sequence_type */
    mw_put(&v, 2, type);
    mw_put(&g, GRAPH_INPUT, v);
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "model.onnx", "input 'x'", "not a tensor", NULL);
}

/* ---- tensors ---- */

static void
wrong_tensors_name_initializer_and_node(void **state)
{
    fixture *f = *state;
    int64_t negative[1] = {-4}, vast[3] = {INT64_MAX, INT64_MAX, 4}, million[1] = {1 << 30};
    fixture_import(f, model_with(mw_tensor("w", FLOAT, one_dim, 1, "12345678", 8)), NULL);
    fixture_refused(f, "node 'sum' (Add)", "initializer 'w'", "8 bytes", "16", NULL);
    fixture_import(f, model_with(mw_tensor("w", FLOAT, negative, 1, "", 0)), NULL);
    fixture_refused(f, "node 'sum' (Add)", "initializer 'w'", "is -4", NULL);
    fixture_import(f, model_with(mw_tensor("w", FLOAT, vast, 3, "", 0)), NULL);
    fixture_refused(f, "node 'sum' (Add)", "initializer 'w'", "out of range", NULL);
    fixture_import(f, model_with(mw_tensor("w", 99, one_dim, 1, "", 0)), NULL);
    fixture_refused(f, "initializer 'w'", "no known element type", NULL);
    fixture_import(f, model_with(mw_tensor("w", STRING, one_dim, 1, NULL, 0)), NULL);
    fixture_refused(f, "initializer 'w'", "STRING", NULL);
    fixture_import(f, model_with(mw_tensor("w", INT64, million, 1, NULL, 0)), NULL);
    fixture_refused(f, "initializer 'w'", "no values", NULL);
    mw t = mw_tensor("w", INT64, million, 1, NULL, 0);
    tnb_wire_put_int(&t, 7, 1); /* int64_data: one value */
    fixture_import(f, model_with(t), NULL);
    fixture_refused(f, "initializer 'w'", "fewer values", NULL);
    t = mw_tensor("w", FLOAT, one_dim, 1, NULL, 0);
    tnb_wire_put_int(&t, 7, 1);
    fixture_import(f, model_with(t), NULL);
    fixture_refused(f, "initializer 'w'", "field 7", NULL);
}

static mw
external(const char *location, const char *offset, const char *length)
{
    mw t = mw_tensor("w", FLOAT, one_dim, 1, NULL, 0);
    if (location)
        mw_external(&t, "location", location);
    if (offset)
        mw_external(&t, "offset", offset);
    if (length)
        mw_external(&t, "length", length);
    tnb_wire_put_int(&t, TENSOR_LOCATION, 1);
    return model_with(t);
}

static void
external_data_stay_below_the_model(void **state)
{
    fixture *f = *state;
    char link[256];
    fixture_import(f, external("/etc/passwd", NULL, NULL), NULL);
    fixture_refused(f, "node 'sum' (Add)", "initializer 'w'", "/etc/passwd", NULL);
    fixture_import(f, external("../../etc/passwd", NULL, NULL), NULL);
    fixture_refused(f, "node 'sum' (Add)", "initializer 'w'", "etc/passwd", NULL);
    fixture_import(f, external("a/../../passwd", NULL, NULL), NULL);
    fixture_refused(f, "initializer 'w'", NULL);
    snprintf(link, sizeof link, "%s/link.bin", f->folder);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    fixture_import(f, external("link.bin", NULL, NULL), NULL);
    fixture_refused(f, "node 'sum' (Add)", "initializer 'w'", "link.bin", NULL);
    snprintf(link, sizeof link, "%s/etc", f->folder);
    assert_int_equal(symlink("/etc", link), 0);
    fixture_import(f, external("etc/passwd", NULL, NULL), NULL);
    fixture_refused(f, "initializer 'w'", "etc", NULL);
}

static void
external_data_are_checked(void **state)
{
    fixture *f = *state;
    fixture_write(f, "data.bin", "0123456789abcdef0123456789abcdef", 32);
    fixture_import(f, external("missing.bin", NULL, NULL), NULL);
    fixture_refused(f, "initializer 'w'", "missing.bin", "No such file", NULL);
    fixture_import(f, external(NULL, "0", NULL), NULL);
    fixture_refused(f, "initializer 'w'", "no location", NULL);
    fixture_import(f, external("data.bin", "20", NULL), NULL);
    fixture_refused(f, "initializer 'w'", "offset 20", "32 bytes", NULL);
    fixture_import(f, external("data.bin", "18446744073709551615", NULL), NULL);
    fixture_refused(f, "initializer 'w'", "past the end", NULL);
    fixture_import(f, external("data.bin", "0", "12"), NULL);
    fixture_refused(f, "initializer 'w'", "length 12", "16", NULL);
    fixture_import(f, external("data.bin", "-1", NULL), NULL);
    fixture_refused(f, "initializer 'w'", "offset", "not a number", NULL);
    fixture_import(f, external("data.bin", "16", "16"), NULL);
    fixture_main(f);
}

/* ---- attributes and shapes ---- */

static void
attributes_are_checked(void **state)
{
    fixture *f = *state;
    mw n = mw_node("Softmax", "s", "x", "y");
    mw_attr_text(&n, "axis", "first");
    fixture_import(f, model_of(n), NULL);
    fixture_refused(f, "node 's' (Softmax)", "attribute 'axis'", "string", "int", NULL);
    n = mw_node("Softmax", "s", "x", "y");
    mw_attr_int(&n, "axis", 3);
    fixture_import(f, model_of(n), NULL);
    fixture_refused(f, "node 's' (Softmax)", "axis 3", "rank 1", NULL);
    n = mw_node("Gelu", "g", "x", "y");
    mw_attr_text(&n, "approximate", "roughly");
    mw g = graph_xy();
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 20), NULL);
    fixture_refused(f, "node 'g' (Gelu)", "'roughly'", "none, tanh", NULL);
    n = mw_node("Cast", "c", "x", "y");
    mw_attr_int(&n, "to", 77);
    fixture_import(f, model_of(n), NULL);
    fixture_refused(f, "node 'c' (Cast)", "'to' is 77", NULL);
}

static void
a_wrong_group_says_what_the_weight_is(void **state)
{
    fixture *f = *state;
    int64_t data[4] = {1, 64, 8, 8}, weight[4] = {16, 64, 1, 1};
    float *w = calloc(16 * 64, sizeof *w);
    mw g = {0}, n = mw_node("Conv", "fire2/conv", "x w", "y");
    mw_attr_int(&n, "group", 3);
    mw_put(&g, GRAPH_INPUT, mw_value("x", FLOAT, data, 4));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, data, 4));
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("w", FLOAT, weight, 4, w, 16 * 64 * sizeof *w));
    mw_put(&g, GRAPH_NODE, n);
    free(w);
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(
        f,
        "model.onnx: node 'fire2/conv' (Conv): attribute 'group' is 3, but the 64 input channels",
        "[16, 64, 1, 1]", "hint", NULL);
}

static void
impossible_shapes_are_refused(void **state)
{
    fixture *f = *state;
    static const int64_t targets[][2] = {{-1, -1}, {3, -1}, {-7, 2}, {0, 0}};
    static const char *const words[] = {"both -1", "multiple of 3", "is -7", "rank 1"};
    for (int i = 0; i < 4; i++) {
        mw g = graph_xy();
        mw_put(&g, GRAPH_INITIALIZER, mw_ints("s", targets[i], 2));
        mw_put(&g, GRAPH_NODE, mw_node("Reshape", "r", "x s", "y"));
        fixture_import(f, mw_model(g, 13), NULL);
        fixture_refused(f, "node 'r' (Reshape)", words[i], NULL);
    }
}

static void
operands_of_two_types_are_refused(void **state)
{
    fixture *f = *state;
    int64_t w[4] = {1, 2, 3, 4};
    fixture_import(f, model_with(mw_ints("w", w, 4)), NULL);
    fixture_refused(f, "node 'sum' (Add)", "float32", "int64", NULL);
}

static void
a_rank_known_at_run_time_only_names_the_input_to_bind(void **state)
{
    fixture *f = *state;
    int64_t some[1] = {-1};
    mw g = graph_xy();
    mw_put(&g, GRAPH_INPUT, mw_value("target", INT64, some, 1));
    mw_put(&g, GRAPH_NODE, mw_node("Identity", "i", "target", "t2"));
    mw_put(&g, GRAPH_NODE, mw_node("Reshape", "r", "x t2", "y"));
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "node 'r' (Reshape)", "the target shape", "number of entries", "'target'",
                    "--bind target=", NULL);
    int64_t place = tn_dict_int(f->model.must_bind, "target", -1);
    assert_int_equal(place, 1);
}

/* ---- sub-graphs and functions ---- */

static mw
function_calling(const char *name, const char *callee)
{
    mw fn = {0}, opset = {0}, n = mw_node(callee, "inner", "a", "b");
    tnb_wire_put_text(&n, NODE_DOMAIN, "local");
    tnb_wire_put_text(&fn, 1, name);
    tnb_wire_put_text(&fn, 4, "a");
    tnb_wire_put_text(&fn, 5, "b");
    mw_put(&fn, 7, n);
    tnb_wire_put_int(&opset, 2, 13);
    mw_put(&fn, 9, opset);
    tnb_wire_put_text(&fn, 10, "local");
    return fn;
}

static void
functions_that_call_each_other_for_ever_are_refused(void **state)
{
    fixture *f = *state;
    mw n = mw_node("ping", "start", "x", "y");
    tnb_wire_put_text(&n, NODE_DOMAIN, "local");
    mw m = model_of(n);
    mw_put(&m, MODEL_FUNCTION, function_calling("ping", "pong"));
    mw_put(&m, MODEL_FUNCTION, function_calling("pong", "ping"));
    fixture_import(f, m, NULL);
    fixture_refused(f, "model.onnx", "functions call each other", NULL);
}

static void
an_endless_loop_is_refused(void **state)
{
    fixture *f = *state;
    mw body = {0}, n = mw_node("Loop", "loop", "- - x", "y");
    bool yes = true;
    mw_put(&body, GRAPH_INPUT, mw_value("i", INT64, NULL, 0));
    mw_put(&body, GRAPH_INPUT, mw_value("c", BOOL, NULL, 0));
    mw_put(&body, GRAPH_INPUT, mw_value("v", FLOAT, one_dim, 1));
    mw_put(&body, GRAPH_INITIALIZER, mw_tensor("yes", BOOL, NULL, 0, &yes, 1));
    mw_put(&body, GRAPH_NODE, mw_node("Relu", "step", "v", "w"));
    mw_put(&body, GRAPH_OUTPUT, mw_value("yes", BOOL, NULL, 0));
    mw_put(&body, GRAPH_OUTPUT, mw_value("w", FLOAT, one_dim, 1));
    mw_attr_graph(&n, "body", body);
    fixture_import(f, model_of(n), NULL);
    fixture_refused(f, "node 'loop' (Loop)", "does not end", NULL);
}

static void
numbers_of_a_dtype_without_any_are_refused(void **state)
{
    fixture *f = *state;
    const int64_t dims[3] = {1, 3, 3}, kernel[1] = {2};
    enum { COMPLEX128 = 15 };
    mw g = {0}, n = mw_node("LpPool", "norm", "x", "y");
    tnb_wire_put_text(&g, GRAPH_NAME, "g");
    mw_put(&g, GRAPH_INPUT, mw_value("x", COMPLEX128, dims, 3));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", COMPLEX128, dims, 3));
    mw_attr_ints(&n, "kernel_shape", kernel, 1);
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 18), NULL);
    fixture_refused(f, "node 'norm' (LpPool)", "numbers of dtype complex128", NULL);
}

/* The error of the first branch is put aside while the second is tried; one value is wrong for both. */
static void
a_wrong_tensor_of_both_branches_is_named(void **state)
{
    fixture *f = *state;
    const int64_t wrong[1] = {-1};
    mw g = graph_xy(), n = mw_node("If", "pick", "c", "y"), a = {0}, b = {0};
    mw_put(&a, GRAPH_NODE, mw_node("Add", NULL, "x w", "ya"));
    mw_put(&a, GRAPH_OUTPUT, mw_value("ya", FLOAT, NULL, -1));
    mw_put(&b, GRAPH_NODE, mw_node("Mul", NULL, "x w", "yb"));
    mw_put(&b, GRAPH_OUTPUT, mw_value("yb", FLOAT, NULL, -1));
    mw_attr_graph(&n, "then_branch", a);
    mw_attr_graph(&n, "else_branch", b);
    mw_put(&g, GRAPH_INPUT, mw_value("c", BOOL, NULL, 0));
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("w", FLOAT, wrong, 1, NULL, 0));
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "If", "initializer 'w'", "-1", NULL);
}

static void
a_branch_without_its_output_is_refused(void **state)
{
    fixture *f = *state;
    bool yes = true;
    mw g = graph_xy(), n = mw_node("If", "pick", "c", "y"), a = {0}, b = {0};
    mw_put(&a, GRAPH_OUTPUT, mw_value("nothing", FLOAT, one_dim, 1));
    mw_put(&b, GRAPH_OUTPUT, mw_value("x", FLOAT, one_dim, 1));
    mw_attr_graph(&n, "then_branch", a);
    mw_attr_graph(&n, "else_branch", b);
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("c", BOOL, NULL, 0, &yes, 1));
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 13), NULL);
    fixture_refused(f, "node 'pick' (If)", "'nothing'", NULL);
    n = mw_node("If", "pick", "x", "y");
    fixture_import(f, model_of(n), NULL);
    fixture_refused(f, "node 'pick' (If)", "attribute 'then_branch' is missing", NULL);
}

/* ---- loops ---- */

/* A body (i, c, v) -> (c, result, ...), with one node. */
static mw
body_of(mw step, const char *results)
{
    mw b = {0};
    char name[2] = {0, 0};
    mw_put(&b, GRAPH_INPUT, mw_value("i", INT64, NULL, 0));
    mw_put(&b, GRAPH_INPUT, mw_value("c", BOOL, NULL, 0));
    mw_put(&b, GRAPH_INPUT, mw_value("v", FLOAT, one_dim, 1));
    mw_put(&b, GRAPH_NODE, step);
    for (const char *r = results; *r; r++) {
        name[0] = *r;
        mw_put(&b, GRAPH_OUTPUT, mw_value(name, FLOAT, NULL, -1));
    }
    return b;
}

/* A loop over x whose count `n` is an input; `zero` is the vector [0]. */
static mw
model_of_loop(const char *inputs, const char *outputs, int count_type, mw body)
{
    mw g = graph_xy(), n = mw_node("Loop", "loop", inputs, outputs);
    mw_attr_graph(&n, "body", body);
    mw_put(&g, GRAPH_INPUT, mw_value("n", count_type, NULL, 0));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("zero", (const int64_t[]){0}, 1));
    mw_put(&g, GRAPH_NODE, n);
    return mw_model(g, 13);
}

static void
steps_at_the_ends_of_int64_are_computed_with(void **state)
{
    fixture *f = *state;
    for (int up = 0; up < 2; up++) {
        const int64_t v[5][2] = {
            {1, 2}, {up ? 0 : -1}, {up ? INT64_MAX : INT64_MIN}, {0}, {up ? INT64_MAX : INT64_MIN}};
        const char *const names[] = {"a", "starts", "ends", "axes", "steps"};
        mw g = {0};
        for (int k = 0; k < 5; k++)
            mw_put(&g, GRAPH_INITIALIZER, mw_ints(names[k], v[k], k ? 1 : 2));
        mw_put(&g, GRAPH_OUTPUT, mw_value("y", INT64, NULL, -1));
        mw_put(&g, GRAPH_NODE, mw_node("Slice", NULL, "a starts ends axes steps", "y"));
        fixture_import(f, mw_model(g, 13), NULL);
        tn_list dims;
        assert_true(tn_type_dims(fixture_main(f)->ret, &dims));
        assert_int_equal(dims.n, 1);
        assert_true(tn_is_int_const(dims.at[0], 1));
    }
}

static void
tensors_without_elements_are_joined(void **state)
{
    fixture *f = *state;
    static const int64_t dims[2][2] = {{0, 2}, {0, 3}};
    mw g = {0}, n = mw_node("Concat", "join", "a b", "y");
    mw_attr_int(&n, "axis", 1);
    for (int i = 0; i < 2; i++)
        mw_put(&g, GRAPH_INITIALIZER, mw_tensor(i ? "b" : "a", INT64, dims[i], 2, "", 0));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", INT64, NULL, -1));
    mw_put(&g, GRAPH_NODE, n);
    fixture_import(f, mw_model(g, 13), NULL);
    tn_list got;
    assert_true(tn_type_dims(fixture_main(f)->ret, &got));
    assert_int_equal(got.n, 2);
    assert_true(tn_is_int_const(got.at[0], 0) && tn_is_int_const(got.at[1], 5));
}

static void
a_body_of_another_size_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(f, model_of_loop("n", "y", INT64, body_of(mw_node("Relu", "r", "v", "w"), "cw")),
                   NULL);
    fixture_refused(f, "node 'loop' (Loop)", "does not fit 0 carried values", NULL);
    fixture_import(f,
                   model_of_loop("n - x x", "y", INT64,
                                 body_of(mw_node("Relu", "r", "v", "w"), "cw")),
                   NULL);
    fixture_refused(f, "node 'loop' (Loop)", "does not fit 2 carried values", NULL);
    fixture_import(f,
                   model_of_loop("n - x", "y", INT64, body_of(mw_node("Relu", "r", "v", "w"), "c")),
                   NULL);
    fixture_refused(f, "node 'loop' (Loop)", "1 outputs", NULL);
    fixture_import(f,
                   model_of_loop("n - x", "y", INT64, body_of(mw_node("Relu", "r", "v", "w"), "")),
                   NULL);
    fixture_refused(f, "node 'loop' (Loop)", "0 outputs", NULL);
    fixture_import(
        f, model_of_loop("n - x", "y", INT64, body_of(mw_node("Relu", "r", "v", "w"), "cq")), NULL);
    fixture_refused(f, "node 'loop' (Loop)", "'q'", NULL);
    fixture_import(f,
                   model_of_loop("n - - x", "y", INT64,
                                 body_of(mw_node("Relu", "r", "v", "w"), "cww")),
                   NULL);
    fixture_refused(f, "node 'loop' (Loop)", NULL);
}

static void
a_count_that_is_no_integer_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(
        f, model_of_loop("n - x", "y", FLOAT, body_of(mw_node("Relu", "r", "v", "w"), "cw")), NULL);
    fixture_refused(f, "node 'loop' (Loop)", "the number of iterations", "expected int64", NULL);
}

static void
a_condition_that_is_no_bool_is_refused(void **state)
{
    fixture *f = *state;
    fixture_import(
        f, model_of_loop("n - x", "y", INT64, body_of(mw_node("Relu", "r", "v", "w"), "ww")), NULL);
    fixture_refused(f, "node 'loop' (Loop)", "the condition", NULL);
    mw a = {0}, b = {0}, n = mw_node("If", "pick", "x", "y");
    mw_put(&a, GRAPH_OUTPUT, mw_value("x", FLOAT, one_dim, 1));
    mw_put(&b, GRAPH_OUTPUT, mw_value("x", FLOAT, one_dim, 1));
    mw_attr_graph(&n, "then_branch", a);
    mw_attr_graph(&n, "else_branch", b);
    fixture_import(f, model_of(n), NULL);
    fixture_refused(f, "node 'pick' (If)", NULL);
}

static void
a_carried_value_keeps_its_type(void **state)
{
    fixture *f = *state;
    mw flat = mw_node("ReduceSum", "sum", "v", "w"), cast = mw_node("Cast", "cast", "v", "w");
    mw_attr_int(&flat, "keepdims", 0);
    mw_attr_int(&cast, "to", INT64);
    fixture_import(f, model_of_loop("n - x", "y", INT64, body_of(flat, "cw")), NULL);
    assert_non_null(fixture_main(f)); /* it gets its rank in the first turn */
    mw deeper = mw_node("Unsqueeze", "unsqueeze", "v zero", "w");
    fixture_import(f, model_of_loop("n - x", "y", INT64, body_of(deeper, "cw")), NULL);
    fixture_refused(f, "node 'loop' (Loop)", "carried value 0", "its rank", NULL);
    fixture_import(f, model_of_loop("n - x", "y", INT64, body_of(cast, "cw")), NULL);
    fixture_refused(f, "node 'loop' (Loop)", "carried value 0 ('x')", "int64[4]", NULL);
}

static void
collected_results_have_one_shape(void **state)
{
    fixture *f = *state;
    mw join = mw_node("Concat", "join", "v x", "w");
    mw_attr_int(&join, "axis", 0);
    fixture_import(f, model_of_loop("n - x", "z y", INT64, body_of(join, "cww")), NULL);
    fixture_refused(f, "node 'loop' (Loop)", "collected result 0",
                    "not the same in every iteration", "--bind n=FILE", NULL);
}

static void
a_scan_checks_what_it_runs_over(void **state)
{
    fixture *f = *state;
    for (int k = 0; k < 3; k++) {
        mw g = graph_xy(), b = {0}, n = mw_node("Scan", "scan", "x", "y");
        int64_t axes[2] = {k == 2 ? 3 : 0, 0};
        mw_put(&b, GRAPH_INPUT, mw_value("v", FLOAT, NULL, 0));
        mw_put(&b, GRAPH_NODE, mw_node("Relu", "r", "v", "w"));
        mw_put(&b, GRAPH_OUTPUT, mw_value("w", FLOAT, NULL, 0));
        mw_attr_graph(&n, "body", b);
        mw_attr_int(&n, "num_scan_inputs", k == 0 ? 2 : 1);
        mw_attr_ints(&n, "scan_input_axes", axes, k == 1 ? 2 : 1);
        mw_put(&g, GRAPH_NODE, n);
        fixture_import(f, mw_model(g, 13), NULL);
        fixture_refused(f, "node 'scan' (Scan)",
                        k == 0   ? "num_scan_inputs"
                        : k == 1 ? "scan_input_axes"
                                 : "3",
                        NULL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_is_refused),
        cmocka_unit_test(a_missing_file_is_refused),
        cmocka_unit_test(a_folder_is_refused),
        cmocka_unit_test(text_is_refused),
        cmocka_unit_test(every_cut_of_a_model_is_refused),
        cmocka_unit_test(flipped_bits_never_crash),
        cmocka_unit_test(a_length_past_its_parent_is_refused),
        cmocka_unit_test(a_huge_length_is_refused),
        cmocka_unit_test(a_group_is_refused),
        cmocka_unit_test(a_wrong_wire_type_is_refused),
        cmocka_unit_test(a_zero_byte_in_a_name_is_refused),
        cmocka_unit_test(sub_graphs_nested_100000_deep_are_refused),
        cmocka_unit_test(no_graph_is_refused),
        cmocka_unit_test(an_unknown_opset_is_refused),
        cmocka_unit_test(all_unknown_operators_are_listed_at_once),
        cmocka_unit_test(an_operator_of_another_opset_is_refused),
        cmocka_unit_test(a_cycle_names_its_nodes),
        cmocka_unit_test(a_node_that_needs_itself_is_refused),
        cmocka_unit_test(an_output_made_twice_is_refused),
        cmocka_unit_test(an_output_named_as_an_input_is_refused),
        cmocka_unit_test(a_missing_input_is_refused),
        cmocka_unit_test(too_few_and_too_many_inputs_are_refused),
        cmocka_unit_test(an_output_that_nothing_makes_is_refused),
        cmocka_unit_test(names_given_twice_are_refused),
        cmocka_unit_test(inputs_of_other_types_are_refused),
        cmocka_unit_test(wrong_tensors_name_initializer_and_node),
        cmocka_unit_test(external_data_stay_below_the_model),
        cmocka_unit_test(external_data_are_checked),
        cmocka_unit_test(attributes_are_checked),
        cmocka_unit_test(a_wrong_group_says_what_the_weight_is),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(operands_of_two_types_are_refused),
        cmocka_unit_test(a_rank_known_at_run_time_only_names_the_input_to_bind),
        cmocka_unit_test(functions_that_call_each_other_for_ever_are_refused),
        cmocka_unit_test(an_endless_loop_is_refused),
        cmocka_unit_test(numbers_of_a_dtype_without_any_are_refused),
        cmocka_unit_test(a_wrong_tensor_of_both_branches_is_named),
        cmocka_unit_test(a_branch_without_its_output_is_refused),
        cmocka_unit_test(steps_at_the_ends_of_int64_are_computed_with),
        cmocka_unit_test(tensors_without_elements_are_joined),
        cmocka_unit_test(a_body_of_another_size_is_refused),
        cmocka_unit_test(a_count_that_is_no_integer_is_refused),
        cmocka_unit_test(a_condition_that_is_no_bool_is_refused),
        cmocka_unit_test(a_carried_value_keeps_its_type),
        cmocka_unit_test(collected_results_have_one_shape),
        cmocka_unit_test(a_scan_checks_what_it_runs_over),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
