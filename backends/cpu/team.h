/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that share the turns of T.parallel loops. */
#ifndef TENON_BACKENDS_CPU_TEAM_H
#define TENON_BACKENDS_CPU_TEAM_H

#include "tenon/base/kernel_abi.h"

typedef struct cpu_team cpu_team;

/* No threads yet; NULL without memory. */
cpu_team *
cpu_team_new(void);
/* Ends its threads. NULL is fine. */
void
cpu_team_free(cpu_team *t);
/* Calls `part` on all of [min, min + n), in pieces, from at most `threads` threads, the calling one
 * among them; returns when all is done. While one thread of the program has the team, another that
 * asks for it computes alone. */
void
cpu_team_run(cpu_team *t, int threads, tnb_kernel_part part, void *args, int64_t min, int64_t n);
/* Threads that it has started. */
int
cpu_team_threads(const cpu_team *t);

#endif
