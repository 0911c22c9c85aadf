/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a model for a pass that wants them in another layout.
 *
 * Functions of a language model take their weights as one parameter, the tuple packed_params, and the module's attribute `params`
 * lists them: name, shape, dtype, where they lie, and with `transform` what the runtime makes of them once, when it loads them. A
 * pass adds entries of which it says the transform, and replaces the products that read the weights by programs that read those:
 *
 *     static void find(void *user, tnk_weights *w, const tn_expr *value)
 *         ... an R.gguf_matmul whose weight is item i: place = tnk_weights_add(w, i, dims, 2, TNB_U8, transform);
 *     static const tn_expr *replace(void *user, tnk_weights *w, const tn_expr *value)
 *         ... return tn_builder_call_tir(w->b, program, "product", args with tnk_weights_get(w, place), type);
 *
 *     return tnk_weights_rewrite(pc->ctx, m, &(tnk_weights_user){.user = &own, .find = find, .replace = replace});
 */
#ifndef TENON_KIT_WEIGHTS_H
#define TENON_KIT_WEIGHTS_H

#include "tenon/core/builder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_weights {
    tn_ctx *ctx;
    tn_builder *b;   /* for programs and calls; NULL while values are looked for */
    tn_list list;    /* entries of `params`, with those that were added */
    bool has_packed; /* the function at hand has packed_params */
    void *state;     /* private */
} tnk_weights;

typedef struct tnk_weights_user {
    void *user;
    /* Called for each value that a variable of a graph function is bound to, before anything is changed: true if `replace` will
     * replace it. Adds the entries that this needs. */
    bool (*find)(void *user, tnk_weights *w, const tn_expr *value);
    /* What a variable is bound to in place of the value; NULL: it stays. */
    const tn_expr *(*replace)(void *user, tnk_weights *w, const tn_expr *value);
    /* A function begins, with variables of its own. May be NULL. */
    void (*begin)(void *user);
} tnk_weights_user;

/* The module with values replaced and entries added; an entry with a transform of which nothing reads the result any more gets
 * `unused`. `m` itself when `find` said true of nothing; NULL after an error. */
TNB_EXPORT const tn_module *
tnk_weights_rewrite(tn_ctx *ctx, const tn_module *m, const tnk_weights_user *u);

/* The entry of the weight that the variable is bound to; -1: it is none. */
TNB_EXPORT int64_t
tnk_weights_item(const tnk_weights *w, const tn_expr *var);
/* Within `find`: adds the weight of `item` in another form, of that shape (ndim at most 8) and dtype, which the runtime's transform
 * (tenon/base/tno.h) makes. Returns its place. */
TNB_EXPORT int64_t
tnk_weights_add(tnk_weights *w, int64_t item, const int64_t *shape, int ndim, tnb_dtype dtype,
                const tn_node *transform);
/* Within `replace`, where has_packed: the weight at a place, bound to a variable in front of the value. */
TNB_EXPORT const tn_expr *
tnk_weights_get(tnk_weights *w, int64_t place);
/* Within `replace`: binds a value to a variable in front of the value that is replaced. Errors pass through. */
TNB_EXPORT const tn_expr *
tnk_weights_bind(tnk_weights *w, const tn_expr *value, const char *name);

#ifdef __cplusplus
}
#endif
#endif
