/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of operators share: operands, calls, legalization, evaluation. */
#ifndef TESTS_OPS_TOPS_H
#define TESTS_OPS_TOPS_H

#include "tenon/core/builder.h"
#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

typedef struct tops {
    tnb_plugins *plugins;
    tn_registry *reg;
    tn_ctx *ctx;
    const tn_evaluator *eval; /* NULL: no interpreter */
} tops;

/* One for each test; false after printing why not. */
bool
tops_open(tops *t);
void
tops_close(tops *t);
void
tops_print_errors(tops *t);

/* A constant with n elements from values (NULL: a pattern between -2 and 2); shape ends with -1. */
const tn_expr *
tops_const(tops *t, tnb_dtype d, const double *values, const int64_t *shape);
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__, -1})
#define VALUES(...) ((const double[]){__VA_ARGS__})
/* A variable of a Tensor type. dims: n numbers; -1 for the symbol n, -2 for m. */
const tn_expr *
tops_var(tops *t, tnb_dtype d, const int64_t *shape_end_with_min);
enum { TOPS_END = -100 };

/* A module whose function `main` takes the tensors among args and returns the call's value. */
const tn_module *
tops_module(tops *t, const char *op, const tn_node *attrs, const tn_expr *const *args, uint32_t n);
/* The module after LegalizeOps and verification; NULL after an error. */
const tn_module *
tops_legalize(tops *t, const tn_module *m);
/* Whether a graph-level operator call is left in the module. */
bool
tops_has_operator(const tn_module *m);
/* Legalizes and runs on constant args; the value, NULL after an error. */
const tn_expr *
tops_run(tops *t, const char *op, const tn_node *attrs, const tn_expr *const *args, uint32_t n);

/* Element i of a constant (or of field f of a tuple of constants) as a number. */
double
tops_at(tops *t, const tn_expr *value, uint64_t i);
const tn_expr *
tops_field(const tn_expr *value, uint32_t i);

#endif
