/* SPDX-License-Identifier: Apache-2.0 */
/* The block builder: emits normalised bindings into functions of a module.
 *
 *     tn_builder *b = tn_builder_new(ctx, module);
 *     tn_builder_begin_function(b, params);
 *     tn_builder_begin_block(b, true);                           a dataflow block
 *     const tn_expr *y = tn_emit(b, tn_call_opv(ctx, "add", NULL, x, x, NULL), "lv");
 *     const tn_expr *z = tn_emit_output(b, y, "gv");
 *     tn_builder_end_block(b);
 *     const tn_expr *f = tn_builder_end_function(b, z, NULL, true, attrs);
 *     tn_builder_add_function(b, f, "main");
 *     const tn_module *m = tn_builder_module(b);
 */
#ifndef TENON_CORE_BUILDER_H
#define TENON_CORE_BUILDER_H

#include "tenon/core/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lives in the context's scratch arena (or until tn_scratch is reset). base may be NULL. */
TNB_EXPORT tn_builder *
tn_builder_new(tn_ctx *ctx, const tn_module *base);
TNB_EXPORT tn_ctx *
tn_builder_ctx(tn_builder *b);
TNB_EXPORT const tn_module *
tn_builder_module(tn_builder *b); /* the base with everything added so far */
/* A function of that module, without making it; NULL: none. */
TNB_EXPORT const tn_node *
tn_builder_find_function(tn_builder *b, const char *name);

TNB_EXPORT void
tn_builder_begin_function(tn_builder *b, tn_list params);
TNB_EXPORT const tn_expr *
tn_builder_end_function(tn_builder *b, const tn_expr *body, const tn_type *ret, bool pure,
                        const tn_node *attrs);
TNB_EXPORT void
tn_builder_begin_block(tn_builder *b, bool dataflow);
TNB_EXPORT void
tn_builder_end_block(tn_builder *b);
TNB_EXPORT bool
tn_builder_in_dataflow(tn_builder *b);

/* Normalises `e` (nested calls get their own bindings) and binds it to a fresh variable. A Var
 * comes back as it is. */
TNB_EXPORT const tn_expr *
tn_emit(tn_builder *b, const tn_expr *e, const char *hint);
/* As tn_emit, but the variable outlives the dataflow block. */
TNB_EXPORT const tn_expr *
tn_emit_output(tn_builder *b, const tn_expr *e, const char *hint);
TNB_EXPORT const tn_expr *
tn_emit_match_cast(tn_builder *b, const tn_expr *value, const tn_type *to, const char *hint);
/* Adds a binding built elsewhere (VarBinding or MatchCast) as it is. */
TNB_EXPORT void
tn_emit_binding(tn_builder *b, const tn_node *binding);
/* The value that a variable was bound to in this builder or a function given to tn_builder_know;
 * NULL: none. */
TNB_EXPORT const tn_expr *
tn_builder_find_value(tn_builder *b, const tn_expr *var);
TNB_EXPORT void
tn_builder_know(tn_builder *b, const tn_expr *function);

/* Adds a Function or PrimFunc under `hint` (made unique: name, name1, name2 ...) and gives its
 * GlobalVar; a structurally equal function of the same hint family is reused. */
TNB_EXPORT const tn_expr *
tn_builder_add_function(tn_builder *b, const tn_node *func, const char *hint);
/* The function of a text that holds one, as tn_read_module reads it; from the same text, for each layer of a model, it is read once
 * and is the same function. NULL: the text has another number of functions, or after errors. */
TNB_EXPORT const tn_node *
tn_builder_read_function(tn_builder *b, const char *file, const char *text);
/* R.call_tir of a PrimFunc just added: out type from the call. */
TNB_EXPORT const tn_expr *
tn_builder_call_tir(tn_builder *b, const tn_node *prim_func, const char *hint, tn_list args,
                    const tn_type *out);

#ifdef __cplusplus
}
#endif
#endif
