/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of the plugin `llm`, and what some of them share. One pass, one file; passes.def lists
 * them. */
#ifndef TENON_PLUGINS_LLM_H
#define TENON_PLUGINS_LLM_H

#include "tenon/core/builder.h"
#include "tenon/core/pass.h"
#include "tenon/core/text.h"

#define LLM_PASS(name) extern const tn_pass llm_##name;
#include "passes.def"
#undef LLM_PASS

/* `func` with the attribute; the same pointer if it has an equal one already (attach.c). */
const tn_node *
llm_attach(tn_ctx *ctx, const tn_node *func, const char *key, const tn_node *value);

/* Warns where an option has the name of a symbolic variable that the function `func` (NULL: no function of the module) has not. */
void
llm_need_symbol(tn_ctx *ctx, const tn_module *m, const char *func, const char *option,
                const char *name);

/* The module with what `each` makes of its functions (tensor programs aside), and with what was added to the builder, which is of this
 * module; the same pointer if nothing changed. NULL after an error. */
const tn_module *
llm_each_function(const tn_pass_ctx *pc, const tn_module *m, tn_builder *b,
                  const tn_node *(*each)(void *user, const tn_node *func), void *user);

/* Whether the target (may be NULL) is of a GPU's kind, or has the key `gpu`. */
bool
llm_is_gpu(const tn_target *target);

/* Whether passes add what MLC-LLM's engine calls beside the model: the module has its entry point `batch_verify`, or the option `always`
 * says so. */
bool
llm_is_served(const tn_pass_ctx *pc, const tn_module *m);
/* The module with the functions of the file that the option `kernels` names, read with the values `given` (a Dict or NULL), those that
 * are `wanted` (NULL: all). NULL after an error: one of the same name is there. */
const tn_module *
llm_attach_file(const tn_pass_ctx *pc, const tn_module *m, const tn_node *given, const char *by,
                bool (*wanted)(const tn_module *m, const char *name));

/* Options of such passes. */
#define LLM_KERNELS(file)                                                          \
    {                                                                              \
        "kernels", TN_ATTR_STR, 0, file, "TVMScript file of the functions", "file" \
    }
#define LLM_ALWAYS                                                                               \
    {                                                                                            \
        "always", TN_ATTR_BOOL, 0, "False", "also where the module has no function batch_verify" \
    }

#endif
