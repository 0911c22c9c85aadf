/* SPDX-License-Identifier: Apache-2.0 */
/* WidenLoop: what its two files share. */
#ifndef TENON_BACKENDS_CPU_WIDEN_LOOP_H
#define TENON_BACKENDS_CPU_WIDEN_LOOP_H

#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/lower.h"

typedef TNB_VEC(const tn_stmt *) cpu_stmts;

/* ---- widen_choice.c ---- */
/* The wide form of a serial loop that chooses, an argmax; NULL: it is something else. */
const tn_stmt *
cpu_widen_choice(tnk_ranged *r, const tn_for_loop *f, int64_t lanes);

#endif
