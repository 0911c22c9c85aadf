/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the simplifier. */
#ifndef TENON_CORE_ARITH_SIMPLIFY_H
#define TENON_CORE_ARITH_SIMPLIFY_H

#include "poly.h"

/* Forgets results, after something new is known. */
void
tn_arith_forget(tn_arith *a);
/* Operators over ramps and broadcasts; the operands of e are simplified. */
const tn_expr *
tn_simplify_vector(tn_arith *a, const tn_expr *e);

#endif
