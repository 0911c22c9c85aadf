/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads to use. */
#ifndef TENON_BASE_THREADS_H
#define TENON_BASE_THREADS_H

#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Processors that this process may use: the affinity mask, less what the control group's quota
 * forbids (rounded up). At least 1. Asks the system each time. */
TNB_EXPORT uint32_t
tnb_threads_default(void);

#ifdef __cplusplus
}
#endif
#endif
