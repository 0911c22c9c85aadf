/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend, device half. */
#include "tenon/base/status.h"

typedef int cpu_rt_not_empty;
