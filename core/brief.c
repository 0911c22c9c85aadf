/* SPDX-License-Identifier: Apache-2.0 */
/* The short text of a node in a message. */
#include "private.h"

const char *
tn_brief(tn_ctx *ctx, const tn_node *n)
{
    return n ? tn_text(ctx, n) : "nothing";
}
