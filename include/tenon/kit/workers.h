/* SPDX-License-Identifier: Apache-2.0 */
/* A function whose stages run on groups of workers (pipeline parallelism), executed by an
 * evaluator: every group is a worker that calls the same entry; the entry's call of
 * mlc.multi_gpu.DispatchFunctionByGroup runs the worker's stage, which exchanges tensors with its
 * neighbours by runtime.disco.send_to_next_group and runtime.disco.recv_from_prev_group.
 *
 * In a function that is not cut into stages, mlc.pipeline_parallel_stage_boundary hands on what it
 * is given.
 *
 * Workers are threads of which one runs at a time, so that a run is repeatable; a send does not
 * wait. A worker that waits for what nobody will send, tensors of another shape or dtype than the
 * receiver wants, and messages that nobody received are errors which name both workers.
 */
#ifndef TENON_KIT_WORKERS_H
#define TENON_KIT_WORKERS_H

#include "tenon/core/eval.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_workers_run {
    uint32_t size;   /* sizeof, or 0 */
    uint32_t groups; /* 0: as many as the function has stages */
    /* results */
    uint32_t started;  /* workers; 1 when the function does not dispatch to stages */
    uint32_t messages; /* sent over all links */
} tnk_workers_run;

/* Whether functions of m need workers: they dispatch to stages, or have boundaries. */
TNB_EXPORT bool
tnk_needs_workers(const tn_module *m);
/* Runs `func`; the result is the last worker's, in ctx. `opt` as for an evaluator (its `packed` is
 * asked for functions that are none of the above); may be NULL. `run` may be NULL. NULL after
 * recording an error. */
TNB_EXPORT const tn_expr *
tnk_run_workers(tn_ctx *ctx, const tn_evaluator *ev, const tn_module *m, const char *func,
                const tn_expr *const *args, uint32_t n_args, tn_eval_options *opt,
                tnk_workers_run *run);

#ifdef __cplusplus
}
#endif
#endif
