/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend, compiler half. */
#include "tenon/base/status.h"

typedef int cpu_not_empty;
