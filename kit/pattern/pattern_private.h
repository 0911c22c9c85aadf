/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns inside: shared by the builder, the notation and the matcher. */
#ifndef TENON_KIT_PATTERN_PRIVATE_H
#define TENON_KIT_PATTERN_PRIVATE_H

#include "tenon/kit/pattern.h"

typedef enum pattern_kind {
    PATTERN_ANY,
    PATTERN_CONST,
    PATTERN_OP,
    PATTERN_CALL_TIR,
    PATTERN_EXTERN,
    PATTERN_TUPLE,
    PATTERN_ITEM,
    PATTERN_EITHER
} pattern_kind;

typedef struct pattern_attr {
    const char *key;
    const tn_node *value;
} pattern_attr;

struct tnk_pat {
    pattern_kind kind;
    const char *name;          /* given to what matches */
    const char *callee;        /* operator with "relax.", tensor program, packed function */
    const tnk_pat *const *sub; /* arguments, fields, the tuple, choices */
    uint32_t n;
    bool open;
    int64_t index;
    /* constraints */
    tnb_dtype dtype;
    bool has_dtype, has_shape;
    int64_t ndim; /* -1: open */
    const int64_t *dims;
    int64_t uses; /* -1: open */
    TNB_VEC(pattern_attr) attrs;
    tnk_pat_fn fn;
    void *user;
};

tn_ctx *
pattern_graph_ctx(const tnk_graph *g);

#endif
