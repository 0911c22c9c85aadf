/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `tenon tune` share: tasks, and processes that build and measure one schedule
 * each. */
#ifndef TENON_TOOLS_TUNE_H
#define TENON_TOOLS_TUNE_H

#include "tool.h"

#include "tenon/base/file.h"
#include "tenon/kit/tune.h"

enum { TUNE_WHY = 240, TUNE_MACHINE = 160 };

/* A tensor program of the model, and what is known of its schedules. */
typedef struct tune_task {
    const char *name;     /* of the first function of this structure */
    const char *function; /* as the database calls it */
    const tn_node *func;  /* not scheduled */
    const tn_call *call;  /* one of its calls */
    uint32_t calls;
    tnk_search *search;
    double usual; /* seconds of the default schedule; 0: not measured */
    double best;
    uint32_t measured, failed; /* points, those of earlier runs included */
    const char *reference;     /* file with the default schedule's results */
} tune_task;

/* What all of them go by. */
typedef struct tune_run {
    tnt_session *s;
    const tnt_args *a;
    tnk_target target;
    const char *target_key, *database;
    const char *folder; /* of files that are there until the end */
    const char *profile;
    const tn_node *sizes; /* of symbols, when measuring */
    uint32_t jobs;
    uint64_t seed;
    double timeout, measure_seconds;
    /* said by the process that measures */
    char machine[TUNE_MACHINE];
    int64_t threads;
} tune_run;

/* One schedule on its way. */
typedef struct tune_point {
    tune_task *task;
    const tnk_candidate *c;
    char path[TNB_TEMPORARY_PATH + 32]; /* of the artifact */
    bool built;
    double seconds; /* below 0: failed */
    char why[TUNE_WHY];
} tune_point;

/* Whether the sizes are of dynamic dimensions of the module's graph functions; false after an error. */
bool
tune_know_sizes(const tune_run *r, const tn_module *m);
/* Compiles the points, run->jobs at a time, each in a process of its own. False: no process could
 * be started. */
bool
tune_build(tune_run *r, tune_point *points, uint32_t n);
/* Measures a point that was built, in a process of its own. `keep_results`: they become the task's
 * reference, instead of being compared with it. False: no process could be started. */
bool
tune_measure(tune_run *r, tune_point *p, bool keep_results);

#endif
