/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The null backend, device half. */
#include "tenon/base/status.h"

typedef int null_rt_not_empty;
