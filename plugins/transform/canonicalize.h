/* SPDX-License-Identifier: Apache-2.0 */
/* The two steps of CanonicalizeBindings. Both give the error node after recording an error. */
#ifndef TENON_PLUGINS_TRANSFORM_CANONICALIZE_H
#define TENON_PLUGINS_TRANSFORM_CANONICALIZE_H

#include "transform.h"

/* Symbolic variables that match_casts determine (canonicalize_symbols.c). */
const tn_node *
canonicalize_symbols(tn_ctx *ctx, const tn_function *f);
/* Renamings, tuples, constants, dataflow variables (canonicalize_variables.c). */
const tn_node *
canonicalize_variables(tn_ctx *ctx, const tn_function *f);

#endif
