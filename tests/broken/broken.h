/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that break modules, each in its own way and without making them ill-formed: what execution
 * checking has to find. */
#ifndef TENON_TESTS_BROKEN_H
#define TENON_TESTS_BROKEN_H

#include "tenon/core/registry.h"

/* The passes of one mistake each; behind them two that change signatures, and four that adapt what they are compared with
 * (signature.c). */
enum { N_BROKEN_PASSES = 5, N_ALL_PASSES = 11 };
extern const tn_pass *const broken_passes[N_ALL_PASSES];

extern const tn_pass broken_reverse, broken_reverse_wrongly, broken_itself, broken_parameters,
    broken_zeros, broken_nothing;

#endif
