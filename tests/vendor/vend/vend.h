/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The vend plugin, compiler half: what its files share. */
#ifndef VEND_PLUGIN_H
#define VEND_PLUGIN_H

#include "tenon/core/registry.h"
#include "tenon/kit/pattern.h"

enum { VEND_N_PATTERNS = 4 };
extern const tnk_fusion_pattern *const vend_patterns[VEND_N_PATTERNS];
extern const tnk_external vend_external;

#endif
