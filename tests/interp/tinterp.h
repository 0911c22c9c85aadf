/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the interpreter: programs as text, arguments as arrays, and what came out. */
#ifndef TENON_TESTS_TINTERP_H
#define TENON_TESTS_TINTERP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"

typedef struct tester {
    tnb_plugins *plugins;
    tn_registry *reg;
    tn_ctx *ctx;
    const tn_evaluator *ev;
    const tn_module *m;
    tn_eval_options opt;
} tester;

/* With the built plugins. */
tester *
tester_new(void);
void
tester_free(tester *t);
/* `body`: the functions of a module, indented by four. Fails the test when it cannot be read. */
void
tester_load(tester *t, const char *body);
/* A tensor of dtype d; values are cycled through. */
const tn_expr *
tester_tensor(tester *t, tnb_dtype d, const int64_t *shape, int32_t ndim, const double *values,
              size_t n);
const tn_expr *
tester_vector(tester *t, tnb_dtype d, int64_t n, const double *values, size_t n_values);
double
tester_at(tester *t, const tn_expr *tensor, uint64_t i);
/* Runs; fails the test with the diagnostics when there was an error. */
const tn_expr *
tester_run(tester *t, const char *func, const tn_expr *const *args, uint32_t n);
/* Runs; the one error's message must hold every text of `parts` (ends with NULL). */
void
tester_fails(tester *t, const char *func, const tn_expr *const *args, uint32_t n,
             const char *const *parts);

#define VEC(t, d, n, ...)                                 \
    tester_vector(t, d, n, (const double[]){__VA_ARGS__}, \
                  sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#define RUN(t, func, ...)                                      \
    tester_run(t, func, (const tn_expr *const[]){__VA_ARGS__}, \
               sizeof((const tn_expr *const[]){__VA_ARGS__}) / sizeof(void *))
#define FAILS(t, func, parts, ...)                               \
    tester_fails(t, func, (const tn_expr *const[]){__VA_ARGS__}, \
                 sizeof((const tn_expr *const[]){__VA_ARGS__}) / sizeof(void *), parts)
#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
