/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of the plugin `transform`, and what some of them share. One pass, one file; passes.def
 * lists them. */
#ifndef TENON_PLUGINS_TRANSFORM_H
#define TENON_PLUGINS_TRANSFORM_H

#include "tenon/core/pass.h"

#define TRANSFORM_PASS(name) extern const tn_pass transform_##name;
#include "passes.def"
#undef TRANSFORM_PASS

/* The module without the functions that no public function reaches (reachable.c). */
const tn_module *
transform_drop_unreachable(tn_ctx *ctx, const tn_module *m);

#endif
