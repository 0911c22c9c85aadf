/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns over the graph, and the table entries by which plugins offer them.
 *
 * A pattern is matched against a value of a function in A-normal form; variables are followed to
 * what they are bound to. The result maps names given in the pattern to expressions.
 *
 *     tnk_graph *g = tnk_graph_new(ctx, function);
 *     const tnk_pat *p = tnk_pat_parse(ctx, "nn.relu(add(nn.conv2d(x, w), b:const))");
 *     tnk_match m = {.n = 0};
 *     if (p && tnk_pat_match(p, g, var, &m))
 *         bias = tnk_match_get(&m, "b");
 *
 * Ownership: graphs, patterns and matches lie in the context's scratch arena and die with the pass.
 * Expressions in a match are borrowed from the function.
 *
 * The notation:
 *
 *     *                       anything
 *     const                   a constant
 *     x                       anything, called x; the same name again: the same expression again
 *     w:PATTERN               what PATTERN matches, called w
 *     nn.conv2d(x, w)         a call of the operator relax.nn.conv2d; f(x, ...) leaves the remaining
 *                             arguments open
 *     call_tir("dense*", x)   a call of a tensor program by name; a * at the end stands for any rest
 *     extern("f", x)          a packed call (call_packed, call_pure_packed, call_dps_packed)
 *     (x, y)   (x,)           a tuple
 *     p[0]   p[*]             an item of a tuple
 *     p | q                   one or the other; (p | q) groups
 *     p{dtype=float16, ndim=4, shape=[1, _, 3], uses=1, data_layout=NHWC}
 *                             constraints; other keys are attributes of the call
 */
#ifndef TENON_KIT_PATTERN_H
#define TENON_KIT_PATTERN_H

#include "tenon/core/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a function as patterns see it ---- */
typedef struct tnk_graph tnk_graph;

/* `function`: a Function. Blocks of branches are included, nested functions are not. */
TNB_EXPORT tnk_graph *
tnk_graph_new(tn_ctx *ctx, const tn_expr *function);
/* The same for a function of `m`: conditions of patterns may then look at what it calls. */
TNB_EXPORT tnk_graph *
tnk_graph_in(tn_ctx *ctx, const tn_module *m, const tn_expr *function);
/* NULL: not known. */
TNB_EXPORT const tn_module *
tnk_graph_module(const tnk_graph *g);
/* What a variable is bound to (match_casts are not followed); NULL: a parameter, or none of this
 * function. */
TNB_EXPORT const tn_expr *
tnk_graph_value(const tnk_graph *g, const tn_expr *var);
/* Follows variables as far as they go; the last one that stood for the value goes to *var (may be
 * NULL). */
TNB_EXPORT const tn_expr *
tnk_graph_follow(const tnk_graph *g, const tn_expr *e, const tn_expr **var);
/* How often a variable is used, and the n-th user: the variable that the using binding defines;
 * NULL: the result of a block or function. */
TNB_EXPORT uint32_t
tnk_graph_uses(const tnk_graph *g, const tn_expr *var);
TNB_EXPORT const tn_expr *
tnk_graph_user(const tnk_graph *g, const tn_expr *var, uint32_t n);
/* ---- matches ---- */
typedef struct tnk_pat tnk_pat;
typedef struct tnk_match_item {
    const tnk_pat *pat;
    const char *name;     /* given in the pattern; NULL: none */
    const tn_expr *leaf;  /* as the user of the value has it: a variable, a constant */
    const tn_expr *value; /* what it is bound to; else the leaf */
    const tn_expr *var;   /* the variable bound to `value`; NULL: none */
    bool inner; /* a call, tuple or item that the pattern describes; false for wildcards and
                   constants */
} tnk_match_item;
/* Zero-initialise; may be used again for further matches. */
typedef struct tnk_match {
    const tnk_graph *graph;
    tnk_match_item *at;
    uint32_t n, cap;
} tnk_match;

/* Whether `e` (a variable or a value of the graph) is matched. All alternatives are tried. On false
 * `out` has no meaning. */
TNB_EXPORT bool
tnk_pat_match(const tnk_pat *p, const tnk_graph *g, const tn_expr *e, tnk_match *out);
/* The leaf, or the value, called `name`; NULL: no such name in what matched. */
TNB_EXPORT const tn_expr *
tnk_match_get(const tnk_match *m, const char *name);
TNB_EXPORT const tn_expr *
tnk_match_value(const tnk_match *m, const char *name);
/* Whether a value inside the match, other than the matched one itself, is needed outside: it is not
 * a dataflow variable, or something else uses it. */
TNB_EXPORT bool
tnk_match_leaks(const tnk_match *m);
/* The tensor program that a matched call_tir calls; NULL: the graph's module is not known. */
TNB_EXPORT const tn_prim_func *
tnk_match_program(const tnk_match *m, const tn_expr *call_tir);

/* ---- building patterns ---- */
/* From the notation above. NULL after recording an error that points at the column. */
TNB_EXPORT const tnk_pat *
tnk_pat_parse(tn_ctx *ctx, const char *text);
TNB_EXPORT tnk_pat *
tnk_pat_any(tn_ctx *ctx);
TNB_EXPORT tnk_pat *
tnk_pat_const(tn_ctx *ctx);
/* op with or without "relax."; args may be NULL with n 0. `open`: more arguments may follow. */
TNB_EXPORT tnk_pat *
tnk_pat_op(tn_ctx *ctx, const char *op, const tnk_pat *const *args, uint32_t n, bool open);
/* name may end with '*'. */
TNB_EXPORT tnk_pat *
tnk_pat_call_tir(tn_ctx *ctx, const char *name, const tnk_pat *const *args, uint32_t n, bool open);
TNB_EXPORT tnk_pat *
tnk_pat_extern(tn_ctx *ctx, const char *name, const tnk_pat *const *args, uint32_t n, bool open);
TNB_EXPORT tnk_pat *
tnk_pat_tuple(tn_ctx *ctx, const tnk_pat *const *fields, uint32_t n);
TNB_EXPORT tnk_pat *
tnk_pat_item(tn_ctx *ctx, const tnk_pat *tuple, int64_t index); /* -1: any */
TNB_EXPORT tnk_pat *
tnk_pat_either(tn_ctx *ctx, const tnk_pat *const *choices, uint32_t n); /* first match wins */

/* The following add to `p` and give it back. */
TNB_EXPORT tnk_pat *
tnk_pat_called(tn_ctx *ctx, tnk_pat *p, const char *name);
TNB_EXPORT tnk_pat *
tnk_pat_dtype(tnk_pat *p, tnb_dtype d);
TNB_EXPORT tnk_pat *
tnk_pat_ndim(tnk_pat *p, int64_t ndim);
/* Extents; -1 leaves one open. Symbolic extents match -1 only. */
TNB_EXPORT tnk_pat *
tnk_pat_shape(tn_ctx *ctx, tnk_pat *p, const int64_t *dims, uint32_t n);
TNB_EXPORT tnk_pat *
tnk_pat_uses(tnk_pat *p, uint32_t n); /* exactly n uses */
/* The call's attribute `key` equals `value` (numbers by value). */
TNB_EXPORT tnk_pat *
tnk_pat_attr(tn_ctx *ctx, tnk_pat *p, const char *key, const tn_node *value);
/* fn is asked once everything else about p has matched; `m` holds what was matched so far. */
typedef bool (*tnk_pat_fn)(const tnk_match *m, const tnk_match_item *item, void *user);
TNB_EXPORT tnk_pat *
tnk_pat_where(tnk_pat *p, tnk_pat_fn fn, void *user);

/* ---- what plugins register ---- */
/* A pattern that FuseOpsByPattern may use. The part of the name before the first '.' says which
 * codegen takes the functions made from it. Patterns are tried by falling priority; among equals
 * the one registered later first. */
typedef struct tnk_fusion_pattern {
    tnb_entry base; /* name: "cudnn.conv2d.nhwc_ohwi_bias" */
    int32_t priority;
    const char *pattern;                              /* the notation; NULL: `build` makes it */
    const tnk_pat *(*build)(tn_ctx *ctx, void *self); /* NULL: `pattern` says it */
    /* Further conditions on a whole match; NULL: none. */
    bool (*check)(tn_ctx *ctx, const tnk_match *m, void *self);
    /* Further attributes of the function made (a Dict, or NULL); may be NULL. */
    const tn_node *(*attrs)(tn_ctx *ctx, const tnk_match *m, void *self);
    void *self;
} tnk_fusion_pattern;

/* The pattern of an entry, read or built. NULL after recording an error: also for an attribute that the operator does not have. */
TNB_EXPORT const tnk_pat *
tnk_pattern_make(tn_ctx *ctx, const tnk_fusion_pattern *e);
/* Why the pattern does not match `e`: what was wanted in the place where most of it had fit, and what is there; "" where not
 * even the operator of the whole is the pattern's. NULL: it does match.
 * In scratch. */
TNB_EXPORT const char *
tnk_pat_why(const tnk_pat *p, const tnk_graph *g, const tn_expr *e);

/* An external code generator: what RunCodegen calls for the functions marked with its name. */
typedef struct tnk_external {
    tnb_entry base; /* name: "cudnn" */
    uint32_t flags;
    /* Compiles one function, whose composite functions are nested in it. `payload`: what the
     * runtime needs (a Dict of JSON values, kept in the module's attribute external_mods and in the
     * artifact), NULL: nothing but the symbol. After an error is recorded: its status. TNB_UNSUPPORTED, with an
     * error recorded or without: it does not take this function. Where the configuration allows a
     * fallback, the function is compiled like any other and a warning gives the error as reason. */
    tnb_status (*compile)(void *self, tn_ctx *ctx, const char *symbol, const tn_function *func,
                          const tn_target *target, const tn_node *options, const tn_node **payload);
    void *self;
    /* What a device must have to run what this made: a feature that its driver checks; NULL: nothing
     * but the loader. */
    const char *feature;
} tnk_external;

/* A call of a composite function in a function that an external code generator compiles. */
typedef struct tnk_composite {
    const char *name;        /* of the pattern: the attribute Composite */
    const tn_function *func; /* what is called */
    tn_list args;            /* parameters of the function around, or `var` of a call before */
    const tn_expr *var;      /* the result */
} tnk_composite;
typedef bool (*tnk_composite_fn)(void *user, const tnk_composite *c);
/* Calls `each` for the calls of composite functions in `func`, in order; borrowed during the call. Other names for a variable and
 * items of tuples are resolved. `results` gets the results, as `args` are, more than one if `func` gives a tuple. False: `each` gave
 * false, or `func` holds something else (nothing is recorded). */
TNB_EXPORT bool
tnk_composites(tn_ctx *ctx, const tn_function *func, tnk_composite_fn each, void *user,
               tn_list *results);

/* `fn` as one block of bindings, the bodies of its local functions put where they are called; with
 * `attrs` for attributes. */
TNB_EXPORT const tn_function *
tnk_put_together(tn_ctx *ctx, const tn_function *fn, const tn_node *attrs);
/* The module without the functions named in `symbols` (keys), their bodies, with those of the functions
 * nested in them, put where they were called. `m` itself when there are none. */
TNB_EXPORT const tn_module *
tnk_put_back(tn_ctx *ctx, const tn_module *m, const tnb_strmap *symbols);

#ifdef __cplusplus
}
#endif
#endif
