/* SPDX-License-Identifier: Apache-2.0 */
/* Opening modules through libltdl. Internal to base. */
#ifndef TENON_CORE_BASE_LOADER_H
#define TENON_CORE_BASE_LOADER_H

#include "tenon/base/status.h"

/* Opens the module at the absolute `path` for good and finds `symbol` in it. On failure the message
 * is the system's. Main thread only. */
TNB_MUST_CHECK tnb_status
tnb_loader_open(const char *path, const char *symbol, const void **found, tnb_err *err);

#endif
