/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of arithmetic: scalar expressions read from prefix text, and their values by plain
 * recursion over the tree, independent of the library's own folding. */
#ifndef TENON_TESTS_SCALAR_EVAL_H
#define TENON_TESTS_SCALAR_EVAL_H

#include "tenon/core/arith.h"
#include "tenon/core/op.h"

enum { MAX_VARS = 16 };

typedef struct env {
    tn_ctx *ctx;
    const char *name[MAX_VARS];
    const tn_expr *var[MAX_VARS];
    int64_t value[MAX_VARS];
    int n;
} env;

/* The variable called `name`, made on first use with dtype d. */
const tn_expr *
env_var(env *e, const char *name, tnb_dtype d);
int
env_find(const env *e, const char *name);
/* "(+ (* i 4) j)": names are int64 variables unless known already; p q r are bool; integers are
 * literals. Nodes are built as they stand. */
const tn_expr *
read_expr(env *e, const char *text);
/* False when the value is not defined (division by zero, an unknown node). */
bool
eval_expr(const env *e, const tn_expr *x, int64_t *out);
/* A seeded generator. */
uint64_t
next_random(uint64_t *state);

#endif
