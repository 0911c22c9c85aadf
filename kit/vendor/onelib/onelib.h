/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The onelib plugin, compiler half: what its files share. */
#ifndef ONELIB_H
#define ONELIB_H

#include "tenon/core/registry.h"
#include "tenon/kit/pattern.h"

enum { ONELIB_DENSE_BIAS_RELU, ONELIB_DENSE_BIAS, ONELIB_DENSE, ONELIB_N_PATTERNS };
extern const tnk_fusion_pattern *const onelib_patterns[ONELIB_N_PATTERNS];
extern const tnk_external onelib_external;

#endif
