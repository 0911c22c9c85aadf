/* SPDX-License-Identifier: Apache-2.0 */
/* Traversals over any node: visit, rewrite, substitute, free variables, copy, structural equality
 * and hash.
 *
 * All work from the table of kinds (tenon/core/nodes.def), so no kind can be forgotten. Depth is
 * bounded by the reader and by constructors; traversals of long Seqs and binding lists do not
 * recurse along them.
 */
#ifndef TENON_CORE_WALK_H
#define TENON_CORE_WALK_H

#include "tenon/core/build.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tn_walk_step { TN_WALK_ON, TN_WALK_SKIP, TN_WALK_STOP } tn_walk_step;

/* Calls `enter` before the children of each node (SKIP: not into them; STOP: end of the walk) and
 * `leave` (may be NULL) after them. Types are entered only with TN_WALK_TYPES. Every occurrence of
 * a node is visited, or with TN_WALK_ONCE only the first (what expressions share is then not
 * multiplied). Types of variables and fields of buffers are visited where these are defined, not at
 * uses. */
enum { TN_WALK_TYPES = 1, TN_WALK_ONCE = 2 };
typedef tn_walk_step (*tn_visit_fn)(void *user, const tn_node *n);
TNB_EXPORT bool /* false when stopped */
tn_walk(const tn_node *n, unsigned flags, tn_visit_fn enter, tn_visit_fn leave, void *user);

/* Bottom-up path-copying rewriter. For each node: `pre` may give a replacement (returned as is,
 * children not visited) or NULL to go on; then the children are rewritten; then `post` may replace
 * the node rebuilt (or the same pointer if no child changed); NULL from `post` keeps it. A variable
 * or buffer whose type or fields change is renewed at its definition and replaced at its uses.
 * Types of calls and variables are rewritten with the rest; with `retype`, types of expressions
 * whose children changed are inferred again. Both callbacks may be NULL. What did not change keeps
 * its pointer. Removing: `post` may return tn_removed() for a statement or binding; loops and
 * blocks left empty go with it. A Seq in place of a statement, or a block in place of a binding, is
 * spliced in. */
typedef struct tn_rewriter tn_rewriter;
/* What both callbacks look at. What lies elsewhere is not visited, unless a variable was replaced or renewed on the way, which may occur
 * there. */
enum {
    TN_REACH_ALL,
    TN_REACH_GRAPH, /* expressions of the graph: no types, shapes, attributes and scalars */
    TN_REACH_BLOCKS /* functions, sequences, blocks and bindings: of values only functions and branches */
};
struct tn_rewriter {
    tn_ctx *ctx;
    void *user;
    const tn_node *(*pre)(tn_rewriter *, const tn_node *);
    const tn_node *(*post)(tn_rewriter *, const tn_node *);
    bool retype;
    bool in_context; /* a result depends on where the node stands: shared nodes are rewritten each
                        time */
    uint8_t reach;   /* TN_REACH_ALL, ... */
    tnb_ptrmap
        *map;    /* node -> replacement, consulted before `pre` (variables, buffers); may be NULL */
    void *state; /* private */
};
TNB_EXPORT const tn_node *
tn_rewrite(tn_rewriter *r, const tn_node *n);
/* For use inside `pre`: rewrites a child with the same rewriter. */
TNB_EXPORT const tn_node *
tn_rewrite_child(tn_rewriter *r, const tn_node *n);
/* Likewise: the children of `n` itself, `n` rebuilt; neither `pre` nor `post` is called for it. */
TNB_EXPORT const tn_node *
tn_rewrite_children(tn_rewriter *r, const tn_node *n);
/* Likewise: a variable or buffer at the place that defines it. */
TNB_EXPORT const tn_node *
tn_rewrite_def(tn_rewriter *r, const tn_node *n);
TNB_EXPORT tn_list
tn_rewrite_list(tn_rewriter *r, tn_list l);
TNB_EXPORT const tn_node *
tn_removed(void);

/* Replaces variables and buffers (keys of `map`) by expressions, types included; definitions whose
 * type changes are renewed. */
TNB_EXPORT const tn_node *
tn_subst(tn_ctx *ctx, const tn_node *n, tnb_ptrmap *map);
TNB_EXPORT const tn_node *
tn_subst1(tn_ctx *ctx, const tn_node *n, const tn_expr *var, const tn_expr *value);
/* A copy in which everything defined inside (variables, buffers, symbolic variables of a function's
 * signature) is new. `map` (may be NULL) receives old -> new. */
TNB_EXPORT const tn_node *
tn_fresh_copy(tn_ctx *ctx, const tn_node *n, tnb_ptrmap *map);

/* Variables (and with `buffers` Buffers) used but not defined in `n`, in order of first use, types
 * included. */
TNB_EXPORT tn_list
tn_free_vars(tn_ctx *ctx, const tn_node *n, bool buffers);
/* Symbolic variables that a function's parameters define (order of first occurrence). */
TNB_EXPORT tn_list
tn_defined_symbols(tn_ctx *ctx, const tn_node *func);
TNB_EXPORT bool
tn_uses(const tn_node *n, const tn_node *var);

/* Structural equality up to the names of bound variables. `map_free`: free variables may
 * correspond. `where` (may be NULL) receives a short description of the first difference. */
TNB_EXPORT bool
tn_equal(tn_ctx *ctx, const tn_node *a, const tn_node *b, bool map_free, tnb_buf *where);
/* Where two nodes differ: the innermost nodes that do (NULL on a side that lacks one), and the
 * innermost bindings, statements or functions around them. */
typedef struct tn_difference {
    const tn_node *a, *b;
    const tn_node *around_a, *around_b;
} tn_difference;
/* As tn_equal, and tells the first difference; `d` is cleared when there is none. */
TNB_EXPORT bool
tn_equal_or(tn_ctx *ctx, const tn_node *a, const tn_node *b, bool map_free, tnb_buf *where,
            tn_difference *d);
/* Equal nodes have equal hashes; names of bound variables do not matter. */
TNB_EXPORT uint64_t
tn_hash(tn_ctx *ctx, const tn_node *n, bool map_free);

/* Type relations. */
TNB_EXPORT bool
tn_type_equal(tn_ctx *ctx, const tn_type *a, const tn_type *b); /* dimensions by proof */
/* Every value of `derived` is one of `base`. FAIL: certainly not all; MAYBE: cannot be decided at
 * compile time (unknown shape against known). */
typedef enum tn_subtype { TN_SUBTYPE_FAIL, TN_SUBTYPE_MAYBE, TN_SUBTYPE_YES } tn_subtype;
TNB_EXPORT tn_subtype
tn_type_check(tn_ctx *ctx, const tn_type *base, const tn_type *derived);
/* The least type both are of. */
TNB_EXPORT const tn_type *
tn_type_join(tn_ctx *ctx, const tn_type *a, const tn_type *b);
/* `t` without what the variables outside `keep` (Vars) determine. */
TNB_EXPORT const tn_type *
tn_type_erase(tn_ctx *ctx, const tn_type *t, tn_list keep);

/* The verifier: every invariant of the IR, once. Records
 * located errors and returns how many. */
TNB_EXPORT uint32_t
tn_verify(tn_ctx *ctx, const tn_module *m);
/* The same of calls in a module that was read: tensor programs write none of the arguments that a call_tir gives them, or a
 * call_tir_inplace besides those that its inplace_indices name. */
TNB_EXPORT uint32_t
tn_verify_reads(tn_ctx *ctx, const tn_module *m);

#ifdef __cplusplus
}
#endif
#endif
