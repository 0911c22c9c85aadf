/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of the operator tables (table/NAME.def).
 *
 * A row is OP(name, arguments, attributes, flags, type inference, legalization, doc), and further
 * members of tn_op by name where they are not zero (.layout, see layout_rules.h; .mixed). The
 * tables are read twice: for the prototypes of the functions they name, and for the descriptor's
 * array; the manifest's list is made from them too.
 */
#ifndef TENON_PLUGINS_OPS_SCHEMA_H
#define TENON_PLUGINS_OPS_SCHEMA_H

#include "tenon/core/op.h"

#define A(name, doc) \
    {                \
        name, doc    \
    }
#define ARGS(...) ((const tn_arg_schema[]){__VA_ARGS__, {NULL, NULL}})
#define ATTRS(...) ((const tn_attr_schema[]){__VA_ARGS__, {NULL, TN_ATTR_ANY, 0, NULL, NULL}})
#define NO_ATTRS NULL

/* In the column of flags: arguments from the n-th on may be left out. */
#define OPTIONAL_FROM(n) ((unsigned)(n) << 24)

/* frequent arguments */
#define X A("x", "tensor")
#define X1 A("x1", "first operand")
#define X2 A("x2", "second operand")
#define DATA A("data", "tensor")
#define WEIGHT A("weight", "kernel")
#define INDICES A("indices", "integer tensor")
#define SHAPE A("shape", "extents")

/* attributes; fallback: the default as text, NULL: required */
#define ATTR_ROW(name, type, flags, fallback, doc) \
    {                                              \
        name, type, flags, fallback, doc           \
    }
#define INT_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_INT, 0, fallback, doc)
#define FLOAT_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_FLOAT, 0, fallback, doc)
#define BOOL_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_BOOL, 0, fallback, doc)
#define STR_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_STR, 0, fallback, doc)
#define DTYPE_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_DTYPE, 0, fallback, doc)
#define INTS_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_INTS, 0, fallback, doc)
#define FLOATS_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_FLOATS, 0, fallback, doc)
#define ANY_ATTR(name, fallback, doc) ATTR_ROW(name, TN_ATTR_ANY, 0, fallback, doc)
#define INDEX_MAP_ATTR(name, doc) ATTR_ROW(name, TN_ATTR_INDEX_MAP, 0, NULL, doc)
#define OPT_INT_DEFAULT(name, fallback, doc) \
    ATTR_ROW(name, TN_ATTR_INT, TN_ATTR_OPTIONAL, fallback, doc)
#define OPT_INT(name, doc) ATTR_ROW(name, TN_ATTR_INT, TN_ATTR_OPTIONAL, NULL, doc)
#define OPT_INTS(name, doc) ATTR_ROW(name, TN_ATTR_INTS, TN_ATTR_OPTIONAL, NULL, doc)
#define OPT_FLOAT(name, doc) ATTR_ROW(name, TN_ATTR_FLOAT, TN_ATTR_OPTIONAL, NULL, doc)
#define OPT_FLOATS(name, doc) ATTR_ROW(name, TN_ATTR_FLOATS, TN_ATTR_OPTIONAL, NULL, doc)
#define OPT_STR(name, doc) ATTR_ROW(name, TN_ATTR_STR, TN_ATTR_OPTIONAL, NULL, doc)
#define OPT_ANY(name, doc) ATTR_ROW(name, TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL, doc)

#endif
