/* SPDX-License-Identifier: Apache-2.0 */
/* Models with sub-graphs, functions and external data for the fuzzer; those of single operators are
 * the cases of cases.txt. */
#include "fuzz_seeds.h"

static const int64_t shape[2] = {2, 3};

static mw
graph(void)
{
    mw g = {0};
    mw_put(&g, GRAPH_INPUT, mw_value("x", FLOAT, shape, 2));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, shape, 2));
    return g;
}

static mw
flag(const char *name, bool v)
{
    uint8_t byte = v;
    return mw_tensor(name, BOOL, NULL, 0, &byte, 1);
}

static mw
branch(const char *op)
{
    mw g = {0};
    mw_put(&g, GRAPH_NODE, mw_node(op, NULL, "x", "z"));
    mw_put(&g, GRAPH_OUTPUT, mw_value("z", FLOAT, NULL, -1));
    return g;
}

/* `known`: the condition is a constant. */
static mw
conditional(bool known)
{
    mw g = graph(), n = mw_node("If", "pick", "c", "y");
    mw_attr_graph(&n, "then_branch", branch("Exp"));
    mw_attr_graph(&n, "else_branch", branch("Relu"));
    if (known)
        mw_put(&g, GRAPH_INITIALIZER, flag("c", true));
    else
        mw_put(&g, GRAPH_INPUT, mw_value("c", BOOL, NULL, 0));
    mw_put(&g, GRAPH_NODE, n);
    return mw_model(g, 16);
}

/* A body that adds to a carried value and collects it, with an If inside. */
static mw
body(void)
{
    mw b = {0}, n = mw_node("If", "inner", "c", "v1");
    mw_put(&b, GRAPH_INPUT, mw_value("i", INT64, NULL, 0));
    mw_put(&b, GRAPH_INPUT, mw_value("c", BOOL, NULL, 0));
    mw_put(&b, GRAPH_INPUT, mw_value("v", FLOAT, shape, 2));
    mw_attr_graph(&n, "then_branch", branch("Tanh"));
    mw_attr_graph(&n, "else_branch", branch("Relu"));
    mw_put(&b, GRAPH_NODE, n);
    mw_put(&b, GRAPH_NODE, mw_node("Add", NULL, "v v1", "w"));
    mw_put(&b, GRAPH_NODE, mw_node("Identity", NULL, "w", "s"));
    mw_put(&b, GRAPH_NODE, mw_node("Identity", NULL, "c", "more"));
    mw_put(&b, GRAPH_OUTPUT, mw_value("more", BOOL, NULL, 0));
    mw_put(&b, GRAPH_OUTPUT, mw_value("w", FLOAT, shape, 2));
    mw_put(&b, GRAPH_OUTPUT, mw_value("s", FLOAT, shape, 2));
    return b;
}

static mw
loop(bool known)
{
    int64_t three = 3;
    mw g = graph(), n = mw_node("Loop", "loop", "turns c x", "y s");
    mw_attr_graph(&n, "body", body());
    if (known) {
        mw_put(&g, GRAPH_INITIALIZER, mw_ints("turns", &three, -1));
    } else {
        mw_put(&g, GRAPH_INPUT, mw_value("turns", INT64, NULL, 0));
    }
    mw_put(&g, GRAPH_INITIALIZER, flag("c", true));
    mw_put(&g, GRAPH_NODE, n);
    mw_put(&g, GRAPH_OUTPUT, mw_value("s", FLOAT, NULL, -1));
    return mw_model(g, 16);
}

static mw
scan(void)
{
    static const int64_t row[1] = {3};
    float zeros[3] = {0};
    int64_t one = 1;
    mw g = {0}, b = {0}, n = mw_node("Scan", "sums", "zero x", "last y");
    mw_put(&g, GRAPH_INPUT, mw_value("x", FLOAT, shape, 2));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, shape, 2));
    mw_put(&g, GRAPH_OUTPUT, mw_value("last", FLOAT, row, 1));
    mw_put(&b, GRAPH_INPUT, mw_value("a", FLOAT, row, 1));
    mw_put(&b, GRAPH_INPUT, mw_value("e", FLOAT, row, 1));
    mw_put(&b, GRAPH_NODE, mw_node("Add", NULL, "a e", "sum"));
    mw_put(&b, GRAPH_NODE, mw_node("Identity", NULL, "sum", "copy"));
    mw_put(&b, GRAPH_OUTPUT, mw_value("sum", FLOAT, row, 1));
    mw_put(&b, GRAPH_OUTPUT, mw_value("copy", FLOAT, row, 1));
    mw_attr_graph(&n, "body", b);
    mw_attr_int(&n, "num_scan_inputs", 1);
    mw_attr_ints(&n, "scan_input_directions", &one, 1);
    mw_attr_ints(&n, "scan_input_axes", (int64_t[]){0}, 1);
    mw_put(&g, GRAPH_INITIALIZER, mw_tensor("zero", FLOAT, row, 1, zeros, sizeof zeros));
    mw_put(&g, GRAPH_NODE, n);
    return mw_model(g, 16);
}

/* Two functions, of which the outer calls the inner, with an attribute handed on. */
static mw
function(const char *name, const char *inner)
{
    mw f = {0}, opset = {0}, n = mw_node(inner, NULL, "a", "b");
    mw_attr_ref(&n, "perm", "order", 7);
    if (strcmp(inner, "Transpose") != 0)
        tnb_wire_put_text(&n, NODE_DOMAIN, "local");
    tnb_wire_put_text(&f, 1, name);
    tnb_wire_put_text(&f, 4, "a");
    tnb_wire_put_text(&f, 5, "b");
    tnb_wire_put_text(&f, 6, "order");
    mw_put(&f, 7, n);
    tnb_wire_put_int(&opset, 2, 13);
    mw_put(&f, 9, opset);
    tnb_wire_put_text(&f, 10, "local");
    return f;
}

static mw
functions(void)
{
    static const int64_t order[2] = {1, 0};
    mw g = graph(), n = mw_node("Outer", "call", "x", "y");
    mw_attr_ints(&n, "order", order, 2);
    tnb_wire_put_text(&n, NODE_DOMAIN, "local");
    mw_put(&g, GRAPH_NODE, n);
    mw m = mw_model(g, 13);
    mw_put(&m, MODEL_FUNCTION, function("Outer", "Inner"));
    mw_put(&m, MODEL_FUNCTION, function("Inner", "Transpose"));
    return m;
}

static mw
external(void)
{
    mw g = graph(), t = mw_tensor("w", FLOAT, shape, 2, NULL, 0);
    mw_external(&t, "location", "model.onnx"); /* some bytes of the file itself */
    mw_external(&t, "offset", "8");
    mw_external(&t, "length", "24");
    tnb_wire_put_int(&t, TENSOR_LOCATION, 1);
    mw_put(&g, GRAPH_INITIALIZER, t);
    mw_put(&g, GRAPH_NODE, mw_node("Add", "sum", "x w", "y"));
    return mw_model(g, 13);
}

/* Shapes computed from shapes, as exporters write them, over a dynamic dimension. */
static mw
shapes(void)
{
    static const int64_t zero = 0, minus[1] = {-1}, two[1] = {2};
    mw g = {0}, n = mw_node("Unsqueeze", NULL, "d a", "d1"),
       c = mw_node("Concat", NULL, "d1 m t", "s");
    mw_put(&g, GRAPH_INPUT, mw_named_dim("x", FLOAT, "n", 4));
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, NULL, -1));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("i", &zero, -1));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("a", &zero, 1));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("m", minus, 1));
    mw_put(&g, GRAPH_INITIALIZER, mw_ints("t", two, 1));
    mw_put(&g, GRAPH_NODE, mw_node("Shape", NULL, "x", "all"));
    mw_put(&g, GRAPH_NODE, mw_node("Gather", NULL, "all i", "d"));
    mw_put(&g, GRAPH_NODE, n);
    mw_attr_int(&c, "axis", 0);
    mw_put(&g, GRAPH_NODE, c);
    mw_put(&g, GRAPH_NODE, mw_node("Reshape", NULL, "x s", "r"));
    mw_put(&g, GRAPH_NODE, mw_node("Slice", NULL, "r a t a", "l"));
    mw_put(&g, GRAPH_NODE, mw_node("Expand", NULL, "l s", "y"));
    return mw_model(g, 13);
}

mw
fuzz_seed(int i)
{
    switch (i) {
    case 0:
        return conditional(true);
    case 1:
        return conditional(false);
    case 2:
        return loop(true);
    case 3:
        return loop(false);
    case 4:
        return scan();
    case 5:
        return functions();
    case 6:
        return external();
    default:
        return shapes();
    }
}
