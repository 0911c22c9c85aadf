/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor-program passes that kit holds: kernel lowering and ApplyDefaultSchedule. The plugin
 * `tir` offers them; a program that links kit without plugins adds tnk_tir_passes to its registry
 * by hand.
 */
#ifndef TENON_KIT_PASSES_H
#define TENON_KIT_PASSES_H

#include "tenon/core/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNK_N_TIR_PASSES = 37 };
TNB_EXPORT extern const tn_pass *const tnk_tir_passes[TNK_N_TIR_PASSES];

#ifdef __cplusplus
}
#endif
#endif
