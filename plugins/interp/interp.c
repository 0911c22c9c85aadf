/* SPDX-License-Identifier: Apache-2.0 */
/* The reference interpreter. */
#include "tenon/base/status.h"

typedef int interp_not_empty;
