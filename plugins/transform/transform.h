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
/* Likewise, with functions named by `entries` (StringImms, of functions that exist) counting as
 * public. */
const tn_module *
transform_drop_unreachable_from(tn_ctx *ctx, const tn_module *m, tn_list entries);

/* ---- adapt.c: functions to compare with, for tn_pass.adapt ---- */
/* A function being written that calls functions of a module. */
typedef struct transform_caller {
    tn_ctx *ctx;
    TNB_VEC(const tn_node *) bindings;
} transform_caller;
/* Binds a value, or the result of a call, to a variable. */
const tn_expr *
transform_caller_bind(transform_caller *c, const tn_expr *value);
const tn_expr *
transform_caller_call(transform_caller *c, const char *function, tn_list args);
/* The fields of what `function` gives: a tuple of `n`. */
tn_list
transform_caller_fields(transform_caller *c, const char *function, tn_list args, uint32_t n);
/* The function of these parameters; its variables are new. */
const tn_node *
transform_caller_end(transform_caller *c, tn_list params, const tn_expr *result);
/* A function with the parameters of `f` that only calls the function `name` with them. */
const tn_node *
transform_caller_of(tn_ctx *ctx, const tn_function *f, const char *name);
/* Adds `func` to the side's module; it is what is compared. False for the error node. */
bool
transform_compare_with(tn_ctx *ctx, tn_pass_side *side, const tn_node *func);

/* ---- functions.c ---- */
/* A SeqExpr whose empty blocks went and whose neighbouring blocks of one kind became one. */
const tn_expr *
transform_sequence(tn_ctx *ctx, tn_list blocks, const tn_expr *body);
/* `f` with other parameters and another body; where the body is known to give something narrower
 * than `ret`, that is the result type. The error node for bad operands. */
const tn_expr *
transform_function(tn_ctx *ctx, const tn_function *f, tn_list params, const tn_expr *body,
                   const tn_type *ret);
/* A call in `value` (not inside local functions) has effects. */
bool
transform_has_effects(const tn_module *m, const tn_expr *value);
/* A Function without the bindings that nobody uses (branches and local functions too). Effects and
 * match_casts stay. */
const tn_node *
transform_drop_unused(tn_ctx *ctx, const tn_module *m, const tn_node *func);

/* ---- in_order.c ---- */
/* The number of the only tensor that the program reads and whose elements become its last tensor's, in their order, from the
 * first on; with `first` those from another one on, too, which is told there. -1: it does something else, or an image is
 * involved. */
int
transform_param_in_order(tn_ctx *ctx, const tn_prim_func *f, int64_t *first);

/* ---- in_place.c ---- */
/* The arguments that a call_tir_inplace, a call_inplace_packed or a direct call of a tensor program
 * overwrites; empty for other values. */
tn_list
transform_in_place_args(tn_ctx *ctx, const tn_module *m, const tn_expr *value);
/* Initializes `out` (in scratch) and fills it with the variables of a function that such calls
 * overwrite, under whatever name. */
void
transform_find_overwritten(tn_ctx *ctx, const tn_module *m, const tn_node *func, tnb_ptrmap *out);

/* ---- lower_assertions.c ---- */
/* The module with host functions in the place of assertions over scalars; NULL after an error. */
const tn_module *
transform_lower_assertions(tn_ctx *ctx, const tn_module *m);
/* Any other assertion as a call of the runtime. */
const tn_expr *
transform_packed_assertion(tn_ctx *ctx, const tn_call *c);

/* Whether impure calls may stand in the function: it does not promise purity (RemovePurityChecking)
 * and has no dataflow blocks (ToNonDataflow). Passes that make such calls leave other functions as
 * they are (imperative.c). */
bool
transform_is_imperative(const tn_function *f);

#endif
