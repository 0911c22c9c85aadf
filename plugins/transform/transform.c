/* SPDX-License-Identifier: Apache-2.0 */
/* The graph passes. */
#include "tenon/base/status.h"

typedef int transform_not_empty;
