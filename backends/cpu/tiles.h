/* SPDX-License-Identifier: Apache-2.0 */
/* The processor's matrix tiles (AMX): permission and configuration. */
#ifndef TENON_CPU_TILES_H
#define TENON_CPU_TILES_H

#include "tenon/base/status.h"

/* What objects export whose kernels use tiles. */
#define CPU_TILES_SYMBOL "tenon_cpu_tiles"

/* Asks the system to let this process use tiles; again is no error. */
TNB_MUST_CHECK tnb_status
cpu_tiles_allow(tnb_err *err);
/* All eight tiles have 16 rows of 64 bytes from now on, in this thread. */
void
cpu_tiles_configure(void);
/* The thread's tiles hold nothing that the system has to save. */
void
cpu_tiles_release(void);

#endif
