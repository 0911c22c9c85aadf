/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of the plugin `llm`, and what some of them share. One pass, one file; passes.def lists
 * them. */
#ifndef TENON_PLUGINS_LLM_H
#define TENON_PLUGINS_LLM_H

#include "tenon/core/pass.h"
#include "tenon/core/text.h"

#define LLM_PASS(name) extern const tn_pass llm_##name;
#include "passes.def"
#undef LLM_PASS

/* `func` with the attribute; the same pointer if it has an equal one already (attach.c). */
const tn_node *
llm_attach(tn_ctx *ctx, const tn_node *func, const char *key, const tn_node *value);

/* Whether the target (may be NULL) is of a GPU's kind, or has the key `gpu`. */
bool
llm_is_gpu(const tn_target *target);

#endif
