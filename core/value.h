/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing attribute values as short text (core/value.c). Not installed. */
#ifndef TENON_CORE_VALUE_H
#define TENON_CORE_VALUE_H

#include "private.h"

typedef struct tn_value_reader {
    tn_ctx *ctx;
    const char *p, *end;
    const char *error, *error_at; /* the first mistake; no diagnostic is recorded */
    int depth;
} tn_value_reader;

/* The value at r->p, which moves behind it; NULL after setting r->error. */
const tn_node *
tn_value_read(tn_value_reader *r);
void
tn_value_skip_blank(tn_value_reader *r);
bool
tn_value_bareword_char(char c);
/* The whole text as one value; the error node after recording an error. */
const tn_node *
tn_value_of_text(tn_ctx *ctx, const char *text);

/* Checks `given` (Dict or NULL) against a schema and fills in what is missing. `owner` is for
 * messages: "relax.nn.conv2d", "pass FuseOps". The Dict, or the error node after recording an
 * error. */
const tn_node *
tn_schema_apply(tn_ctx *ctx, const char *owner, const char *what, const tn_attr_schema *schema,
                const tn_node *given);
/* One value of it, NULL: the default. */
const tn_node *
tn_schema_value(tn_ctx *ctx, const char *owner, const char *what, const tn_attr_schema *s,
                const tn_node *given);
/* Whether the tensors among the arguments of an operator's call are what its schema accepts; false
 * after recording an error. */
TNB_MUST_CHECK bool
tn_check_accepts(tn_ctx *ctx, const tn_call *call);

#endif
