/* SPDX-License-Identifier: Apache-2.0 */
/* Chat templates: from the messages of a conversation to the text that a model was trained on, as transformers'
 * apply_chat_template makes it.
 *
 * A template is Jinja with trim_blocks and lstrip_blocks, tojson without escapes, raise_exception, strftime_now, break, continue and
 * {% generation %}. It has for, if, set, macro, call, filter, with and raw, the usual operators, filters and tests, methods
 * of texts and dictionaries, namespace, range and dict. What is not among them is refused with its line
 * (TNB_UNSUPPORTED): when the template is read, or when it gets there. */
#ifndef TENON_LM_CHAT_H
#define TENON_LM_CHAT_H

#include "tenon/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnl_template tnl_template;

/* Reads a template of n bytes of UTF-8; `name` is for messages. The caller's, to be given to tnl_template_free; it does not change, and
 * threads may share it. TNB_FORMAT: a mistake in it, with its line; TNB_UNSUPPORTED; TNB_BOUNDS: larger than 1 MiB or nested too deep. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_template_new(const char *text, size_t n, const char *name, tnl_template **out, tnb_err *err);
TNB_EXPORT void
tnl_template_free(tnl_template *t); /* NULL is fine */

/* Appends the text that it gives for variables: a JSON object of n bytes, as {"messages": [{"role": "user", "content": "..."}],
 * "add_generation_prompt": true, "bos_token": "<s>"}; order of keys counts. `now`: seconds since 1970 for strftime_now;
 * below 0: the clock. TNB_FORMAT: the variables are no JSON; TNB_INVALID: the template raised an exception, or does what its values do not
 * allow; TNB_BOUNDS: more steps (10 million), memory (256 MiB) or depth (200) than a template may take. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_template_render(const tnl_template *t, const char *variables, size_t n, int64_t now,
                    tnb_buf *out, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
