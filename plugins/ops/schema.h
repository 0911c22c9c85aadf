/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of the operator tables (table/NAME.def).
 *
 * A row is OP(id, name, arguments, attributes, flags, type inference, legalization, doc), and
 * further members of tn_op by name where they are not zero (.layout, see layout_rules.h; .mixed).
 * Functions that serve several rows tell them apart by their ids (infer_op). The tables are read for
 * the ids, for the prototypes of the functions they name, and for the descriptor's array; the
 * manifest's list is made from them too.
 */
#ifndef TENON_PLUGINS_OPS_SCHEMA_H
#define TENON_PLUGINS_OPS_SCHEMA_H

#include "tenon/core/op.h"

/* A(name, accepts, doc); see tn_arg_schema for the words of `accepts` */
#define A(name, accepts, doc) \
    {                         \
        name, doc, accepts    \
    }
#define ARGS(...) ((const tn_arg_schema[]){__VA_ARGS__, {NULL}})
#define ATTRS(...) ((const tn_attr_schema[]){__VA_ARGS__, {NULL}})
#define NO_ATTRS NULL

/* In the column of flags: arguments from the n-th on may be left out. */
#define OPTIONAL_FROM(n) ((unsigned)(n) << 24)
/* There too: the operator is legalized where its result's shape is known, whatever is known of its arguments'. */
#define ANY_SHAPES (1u << 23)
/* And there: the windows or images have n spatial axes. */
#define SPATIAL(n) ((unsigned)(n) << 16)

/* frequent arguments */
#define X A("x", "tensor", "operand")
#define FLOAT_X A("x", "float tensor", "operand")
#define POSITIVE_X A("x", "float tensor from 0", "operand")
#define INT_X A("x", "int or bool tensor", "operand")
#define BOOL_X A("x", "bool tensor", "operand")
#define NUMBER_X A("x", "number tensor", "operand")
#define X1 A("x1", "tensor or scalar", "first operand")
#define X2 A("x2", "tensor or scalar", "second operand")
#define NUMBER_X1 A("x1", "number tensor or scalar", "first operand")
#define NUMBER_X2 A("x2", "number tensor or scalar", "second operand")
#define INT_X1 A("x1", "int or bool tensor or scalar", "first operand")
#define INT_X2 A("x2", "int or bool tensor or scalar", "second operand")
#define BOOL_X1 A("x1", "bool tensor or scalar", "first operand")
#define BOOL_X2 A("x2", "bool tensor or scalar", "second operand")
#define DATA A("data", "tensor", "operand")
#define FLOAT_DATA A("data", "float tensor", "operand")
#define NUMBER_DATA A("data", "number tensor", "operand")
#define WEIGHT A("weight", "number tensor", "kernel")
#define INDICES A("indices", "int tensor", "positions")
#define SHAPE A("shape", "shape", "extents")

/* attributes; fallback: the default as text, NULL: required. Behind the documentation may stand
 * what values are allowed, in the words of tn_attr_schema. */
#define ATTR_ROW(name, type, flags, fallback, ...) \
    {                                              \
        name, type, flags, fallback, __VA_ARGS__   \
    }
#define INT_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_INT, 0, fallback, __VA_ARGS__)
#define FLOAT_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_FLOAT, 0, fallback, __VA_ARGS__)
#define BOOL_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_BOOL, 0, fallback, __VA_ARGS__)
#define STR_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_STR, 0, fallback, __VA_ARGS__)
#define DTYPE_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_DTYPE, 0, fallback, __VA_ARGS__)
#define INTS_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_INTS, 0, fallback, __VA_ARGS__)
#define FLOATS_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_FLOATS, 0, fallback, __VA_ARGS__)
#define ANY_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_ANY, 0, fallback, __VA_ARGS__)
#define INDEX_MAP_ATTR(name, ...) ATTR_ROW(name, TN_ATTR_INDEX_MAP, 0, NULL, __VA_ARGS__)
#define OPT_INT_DEFAULT(name, fallback, ...) \
    ATTR_ROW(name, TN_ATTR_INT, TN_ATTR_OPTIONAL, fallback, __VA_ARGS__)
#define OPT_INT(name, ...) ATTR_ROW(name, TN_ATTR_INT, TN_ATTR_OPTIONAL, NULL, __VA_ARGS__)
#define OPT_INTS(name, ...) ATTR_ROW(name, TN_ATTR_INTS, TN_ATTR_OPTIONAL, NULL, __VA_ARGS__)
#define EXPRS_ATTR(name, fallback, ...) ATTR_ROW(name, TN_ATTR_EXPRS, 0, fallback, __VA_ARGS__)
#define OPT_EXPRS(name, ...) ATTR_ROW(name, TN_ATTR_EXPRS, TN_ATTR_OPTIONAL, NULL, __VA_ARGS__)
#define OPT_FLOAT(name, ...) ATTR_ROW(name, TN_ATTR_FLOAT, TN_ATTR_OPTIONAL, NULL, __VA_ARGS__)
#define OPT_FLOATS(name, ...) ATTR_ROW(name, TN_ATTR_FLOATS, TN_ATTR_OPTIONAL, NULL, __VA_ARGS__)
#define OPT_STR(name, ...) ATTR_ROW(name, TN_ATTR_STR, TN_ATTR_OPTIONAL, NULL, __VA_ARGS__)
#define OPT_ANY(name, ...) ATTR_ROW(name, TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL, __VA_ARGS__)

#endif
