/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs by what they compute: weights made of codes, products and lookups that read them. */
#ifndef TENON_PLUGINS_LLM_DEQUANTIZE_H
#define TENON_PLUGINS_LLM_DEQUANTIZE_H

#include "tenon/core/pass.h"
#include "tenon/kit/pattern.h"

/* Whether the program makes one tensor of floats, element by element, out of codes (integers or floats of 8 bits and less) that are
 * parts of its values, not of places, and of scales. */
bool
llm_makes_weights(const tn_prim_func *f);
/* Whether the program's only sum is one of products of an element of parameter `at` and one of something else. */
bool
llm_is_product_with(const tn_prim_func *f, uint32_t at);
/* Whether the program has no sums and reads parameter 0 at places that parameter 1 holds. */
bool
llm_is_lookup(const tn_prim_func *f);
/* The program of a matched call named `name`. */
const tn_prim_func *
llm_matched_program(const tnk_match *m, const char *name);
/* The module behind the passes of `list`; NULL after an error. */
const tn_module *
llm_run_list(const tn_pass_ctx *pc, const tn_module *m, const char *list, const char *by);
/* The module with what the pattern matches made one program each, by FuseOpsByPattern and FuseTIR; `finish` (may be NULL) gives the
 * program as it is to be. NULL after an error. */
const tn_module *
llm_fuse_matches(const tn_pass_ctx *pc, const tn_module *m, const tnk_fusion_pattern *pattern,
                 const char *by, const tn_node *(*finish)(tn_ctx *ctx, const tn_node *func));

extern const tnk_fusion_pattern llm_dequantize_matmul, llm_dequantize_take;

#endif
