/* SPDX-License-Identifier: Apache-2.0 */
/* The operator set. */
#include "tenon/base/status.h"

typedef int ops_not_empty;
