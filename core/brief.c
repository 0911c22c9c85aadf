/* SPDX-License-Identifier: Apache-2.0 */
/* The short text of a node in a message. */
#include "private.h"

#pragma weak tn_text

const char *
tn_brief(tn_ctx *ctx, const tn_node *n)
{
    return !n ? "nothing" : tn_text ? tn_text(ctx, n) : tn_kinds[n->kind].name;
}
