/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the tuner share. */
#ifndef TENON_KIT_TUNE_PRIVATE_H
#define TENON_KIT_TUNE_PRIVATE_H

#include "tenon/kit/tune.h"

/* A rule and choices as one text, whatever their order: "cpu.Matmul tile_vectors=2 tile_y=6". */
const char *
tune_key(tnb_arena *a, const char *rule, const tnk_choice *choices, uint32_t n);

#endif
