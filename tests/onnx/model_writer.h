/* SPDX-License-Identifier: Apache-2.0 */
/* Writes small ONNX models for tests, straight as wire bytes, so that broken ones can be written
 * too. */
#ifndef TESTS_ONNX_MODEL_WRITER_H
#define TESTS_ONNX_MODEL_WRITER_H

#include "tenon/base/wire.h"

/* A message under construction. Zero-initialise; a child is appended (and freed) with mw_put. */
typedef tnb_buf mw;

/* Field numbers used in tests. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTR = 5,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8,
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_DEFAULT = 11,
    FUNCTION_OVERLOAD = 13,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
    ATTR_NAME = 1,
    ATTR_F = 2,
    ATTR_I = 3,
    ATTR_S = 4,
    ATTR_T = 5,
    ATTR_G = 6,
    ATTR_INTS = 8,
    ATTR_TYPE = 20,
    ATTR_REF = 21
};
enum { FLOAT = 1, INT64 = 7, STRING = 8, BOOL = 9 };

/* Appends `child` as field `number` of `m`. */
void
mw_put(mw *m, uint32_t number, mw child);
/* "x y" -> two entries; "" -> none; "-" stands for an empty name. */
mw
mw_node(const char *op, const char *name, const char *inputs, const char *outputs);
void
mw_attr_int(mw *node, const char *name, int64_t v);
void
mw_attr_float(mw *node, const char *name, float v);
void
mw_attr_ints(mw *node, const char *name, const int64_t *v, int n);
void
mw_attr_text(mw *node, const char *name, const char *v);
void
mw_attr_graph(mw *node, const char *name, mw graph);
void
mw_attr_tensor(mw *node, const char *name, mw tensor);
void
mw_attr_ref(mw *node, const char *name, const char *parent, int type);
/* A tensor with raw data. */
mw
mw_tensor(const char *name, int type, const int64_t *dims, int n_dims, const void *raw, size_t n);
mw
mw_ints(const char *name, const int64_t *v, int n); /* int64 [n]; n -1: 0-d of one element */
/* A ValueInfo: dims below 0 have no value. n_dims -1: no shape. */
mw
mw_value(const char *name, int type, const int64_t *dims, int n_dims);
/* The same; extents whose entry in `names` is not NULL are dynamic dimensions of that name. */
mw
mw_value_named(const char *name, int type, const int64_t *dims, const char *const *names,
               int n_dims);
mw
mw_named_dim(const char *name, int type, const char *dim, int64_t second);
/* An entry of external_data. */
void
mw_external(mw *tensor, const char *key, const char *value);
/* A model of one graph. */
mw
mw_model(mw graph, int opset);

#endif
