/* SPDX-License-Identifier: Apache-2.0 */
/* Writes small ONNX models for tests. */
#include "model_writer.h"

void
mw_put(mw *m, uint32_t number, mw child)
{
    tnb_wire_put_bytes(m, number, child.s, child.n);
    tnb_buf_free(&child);
}

static void
put_names(mw *m, uint32_t number, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        bool empty = n == 1 && *names == '-';
        tnb_wire_put_bytes(m, number, names, empty ? 0 : n);
        names += n + (names[n] == ' ');
    }
}

mw
mw_node(const char *op, const char *name, const char *inputs, const char *outputs)
{
    mw m = {0};
    put_names(&m, NODE_INPUT, inputs);
    put_names(&m, NODE_OUTPUT, outputs);
    if (name)
        tnb_wire_put_text(&m, NODE_NAME, name);
    tnb_wire_put_text(&m, NODE_OP, op);
    return m;
}

static mw
attr(const char *name, int type)
{
    mw a = {0};
    tnb_wire_put_text(&a, ATTR_NAME, name);
    tnb_wire_put_int(&a, ATTR_TYPE, (uint64_t)type);
    return a;
}

void
mw_attr_int(mw *node, const char *name, int64_t v)
{
    mw a = attr(name, 2);
    tnb_wire_put_int(&a, ATTR_I, (uint64_t)v);
    mw_put(node, NODE_ATTR, a);
}

void
mw_attr_float(mw *node, const char *name, float v)
{
    mw a = attr(name, 1);
    uint8_t raw[4];
    memcpy(raw, &v, 4); /* fixed 32 bits, the lowest byte first as on all machines we run on */
    tnb_wire_put_varint(&a, ATTR_F << 3 | 5);
    tnb_buf_put(&a, raw, 4);
    mw_put(node, NODE_ATTR, a);
}

void
mw_attr_ints(mw *node, const char *name, const int64_t *v, int n)
{
    mw a = attr(name, 7);
    for (int i = 0; i < n; i++)
        tnb_wire_put_int(&a, ATTR_INTS, (uint64_t)v[i]);
    mw_put(node, NODE_ATTR, a);
}

void
mw_attr_text(mw *node, const char *name, const char *v)
{
    mw a = attr(name, 3);
    tnb_wire_put_text(&a, ATTR_S, v);
    mw_put(node, NODE_ATTR, a);
}

void
mw_attr_graph(mw *node, const char *name, mw graph)
{
    mw a = attr(name, 5);
    mw_put(&a, ATTR_G, graph);
    mw_put(node, NODE_ATTR, a);
}

void
mw_attr_tensor(mw *node, const char *name, mw tensor)
{
    mw a = attr(name, 4);
    mw_put(&a, ATTR_T, tensor);
    mw_put(node, NODE_ATTR, a);
}

void
mw_attr_ref(mw *node, const char *name, const char *parent, int type)
{
    mw a = attr(name, type);
    tnb_wire_put_text(&a, ATTR_REF, parent);
    mw_put(node, NODE_ATTR, a);
}

mw
mw_tensor(const char *name, int type, const int64_t *dims, int n_dims, const void *raw, size_t n)
{
    mw t = {0};
    for (int i = 0; i < n_dims; i++)
        tnb_wire_put_int(&t, TENSOR_DIMS, (uint64_t)dims[i]);
    tnb_wire_put_int(&t, TENSOR_TYPE, (uint64_t)type);
    tnb_wire_put_text(&t, TENSOR_NAME, name);
    if (raw)
        tnb_wire_put_bytes(&t, TENSOR_RAW, raw, n);
    return t;
}

mw
mw_ints(const char *name, const int64_t *v, int n)
{
    int64_t count = n;
    return mw_tensor(name, INT64, &count, n >= 0, v, 8 * (size_t)(n < 0 ? 1 : n));
}

static mw
tensor_type(int type, mw shape, bool has_shape)
{
    mw t = {0}, outer = {0};
    tnb_wire_put_int(&t, 1, (uint64_t)type);
    if (has_shape)
        mw_put(&t, 2, shape);
    mw_put(&outer, 1, t);
    return outer;
}

mw
mw_value(const char *name, int type, const int64_t *dims, int n_dims)
{
    return mw_value_named(name, type, dims, NULL, n_dims);
}

mw
mw_value_named(const char *name, int type, const int64_t *dims, const char *const *names,
               int n_dims)
{
    mw v = {0}, shape = {0};
    tnb_wire_put_text(&v, 1, name);
    for (int i = 0; i < n_dims; i++) {
        mw d = {0};
        if (names && names[i])
            tnb_wire_put_text(&d, 2, names[i]);
        else if (dims[i] >= 0)
            tnb_wire_put_int(&d, 1, (uint64_t)dims[i]);
        mw_put(&shape, 1, d);
    }
    mw_put(&v, 2, tensor_type(type, shape, n_dims >= 0));
    return v;
}

mw
mw_named_dim(const char *name, int type, const char *dim, int64_t second)
{
    mw v = {0}, shape = {0}, a = {0}, b = {0};
    tnb_wire_put_text(&v, 1, name);
    tnb_wire_put_text(&a, 2, dim);
    mw_put(&shape, 1, a);
    tnb_wire_put_int(&b, 1, (uint64_t)second);
    mw_put(&shape, 1, b);
    mw_put(&v, 2, tensor_type(type, shape, true));
    return v;
}

void
mw_external(mw *tensor, const char *key, const char *value)
{
    mw e = {0};
    tnb_wire_put_text(&e, 1, key);
    tnb_wire_put_text(&e, 2, value);
    mw_put(tensor, TENSOR_EXTERNAL, e);
}

mw
mw_model(mw graph, int opset)
{
    mw m = {0}, o = {0};
    tnb_wire_put_int(&m, MODEL_IR_VERSION, 8);
    tnb_wire_put_int(&o, 2, (uint64_t)opset);
    mw_put(&m, MODEL_GRAPH, graph);
    mw_put(&m, MODEL_OPSET, o);
    return m;
}
