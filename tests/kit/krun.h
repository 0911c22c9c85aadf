/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tensor programs through a target's schedule rules, lowering, code generation and the
 * processor. */
#ifndef TESTS_KIT_KRUN_H
#define TESTS_KIT_KRUN_H

#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/kit/codegen.h"

typedef struct krun {
    tn_ctx *ctx;
    tn_registry *reg;
    tnb_plugins *plugins;
    const tn_target_kind *kind;
    const tn_target *target;
    const char *last_source; /* of the kernel run last */
    bool keep_source;
    bool only_compile; /* $TENON_TEST_ONLY_COMPILE: code that this processor may not run */
    int threads;
    int team_calls, worth; /* of the last run: loops that a team ran, what the last was worth */
    double seconds;        /* of the last run, the best of `repeat` */
    int repeat;
} krun;

/* For $TENON_TEST_MCPU, this machine without it, with vectors of $TENON_TEST_VECTOR_BYTES. False (with a message on stderr) when the cpu plugin cannot be loaded. */
bool
krun_open(krun *k);
void
krun_close(krun *k);
/* Prints what the context has recorded. */
void
krun_print_errors(krun *k);
/* ApplyDefaultSchedule with the rules, as "Conv2d,Fallback"; NULL on an error. */
const tn_node *
krun_schedule(krun *k, const tn_node *func, const char *rules);
/* A compiled kernel; loaded, if this processor may run it. */
typedef struct krun_kernel {
    tnk_kernel kernel;
    const tn_node *func; /* it was compiled from */
    void *so;
} krun_kernel;
bool
krun_compile(krun *k, const tn_node *func, krun_kernel *out);
/* args are Constants (changed in place) and scalars. */
bool
krun_call(krun *k, const krun_kernel *f, tn_list args);
void
krun_kernel_free(krun_kernel *f);
/* Compiles and calls. */
bool
krun_run(krun *k, const tn_node *func, tn_list args);
/* Copies of Constants. */
tn_list
krun_copy(krun *k, tn_list args);
/* Runs it in the interpreter; args as for krun_call. False (with a message on stderr): it failed. */
bool
krun_interpret(krun *k, const tn_node *func, tn_list args);
/* Whether the arguments are close to those that are wanted; the first that is not goes to stderr. */
bool
krun_close_to(krun *k, tn_list args, tn_list wanted, double rtol, double atol);
/* Runs `func` as it is and `scheduled` on equal random arguments and compares all of them. */
bool
krun_same(krun *k, const tn_node *func, const tn_node *scheduled, const tn_node *dims, double rtol,
          double atol);

#endif
