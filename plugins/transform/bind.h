/* SPDX-License-Identifier: Apache-2.0 */
/* Putting values in the place of parameters and symbolic variables: shared by BindParams,
 * BindSymbolicVars and CanonicalizeBindings. */
#ifndef TENON_PLUGINS_TRANSFORM_BIND_H
#define TENON_PLUGINS_TRANSFORM_BIND_H

#include "transform.h"

/* Symbolic variables that a function defines: in its parameters' types and by match_casts. */
tn_list
bind_symbols(tn_ctx *ctx, const tn_node *func);
/* What a host program can name as an object, written as there: "Module['main'].params[1]" is a
 * parameter, "Module['main'].params[1].ty.shape[0]" an extent of it (struct_info: the older word).
 * The module's own name does not matter. */
typedef struct bind_place {
    const char *func;
    uint32_t param;
    int64_t dim; /* -1: the parameter itself */
} bind_place;
/* False: the text is no such reference, so it is a name. */
bool
bind_place_of(tn_ctx *ctx, const char *text, bind_place *out);
/* What stands at that place of `f`, whose name is `name`; NULL: nothing, or it is another
 * function's. */
const tn_expr *
bind_at(const tn_function *f, const char *name, const bind_place *p);
/* Replaces the keys of `map` (parameters, symbolic variables) in the whole function; dimensions
 * that change are simplified, parameters that are keys go. */
const tn_expr *
bind_in_function(tn_ctx *ctx, const tn_function *f, tnb_ptrmap *map);
/* `n` with the keys of `map` replaced, changed dimensions simplified. */
const tn_node *
bind_in(tn_ctx *ctx, const tn_node *n, tnb_ptrmap *map);

/* What the dimensions of `pattern` that are lone variables are in `value`: `found` is told each
 * pair. False when `found` gave false. */
typedef bool (*bind_found)(void *user, const tn_expr *var, const tn_expr *value);
bool
bind_match(const tn_type *pattern, const tn_type *value, bind_found found, void *user);

#endif
