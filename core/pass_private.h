/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pass manager share. Not installed. */
#ifndef TENON_CORE_PASS_PRIVATE_H
#define TENON_CORE_PASS_PRIVATE_H

#include "value.h"

/* Keys of the Pairs that stand for values looked up at run time; no option can be named so. */
#define TN_PASS_ATTR "@attr"
#define TN_PASS_FILE "@file"

const tn_node *
tn_pass_reference(tn_ctx *ctx, const char *key, const char *name);
void
tn_pass_item_print(const tn_pass_item *item, tnb_buf *out);

#endif
