/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation as a service: running functions of a module on values.
 *
 * Values are leaf expressions: Constants (tensors), IntImm/FloatImm (scalars), ShapeExprs of
 * literals, StringImm, Tuples of such. The interpreter provides the reference evaluator (`run`); a
 * backend may provide a native one (`prepare`, `call`, `release`).
 */
#ifndef TENON_CORE_EVAL_H
#define TENON_CORE_EVAL_H

#include "tenon/base/plugin.h"
#include "tenon/core/build.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call of a packed function, as the caller of the evaluator gets it. Borrowed for the call. */
typedef struct tn_eval_call {
    tn_ctx *ctx;
    const char *name;
    /* Leaves as above; a function of the module is a GlobalVar. Tensors that are no constants of
     * the module are copies: who writes into one (the outputs of a call in destination-passing
     * style come last) says so in `written`. */
    const tn_expr *const *args;
    bool *written;
    uint32_t n;
    tn_loc loc;
    /* Runs a function of the module, one of `args` or within a Tuple of them. NULL after recording
     * an error. */
    const tn_expr *(*call)(const struct tn_eval_call *c, const tn_expr *func,
                           const tn_expr *const *args, uint32_t n);
    void *state; /* the evaluator's */
} tn_eval_call;

typedef struct tn_eval_options {
    uint32_t size;   /* sizeof, or 0 */
    uint64_t budget; /* scalar operations (arithmetic, loads, stores); 0: no limit */
    bool no_checks;  /* leave out bounds and uninitialized-read checks */
    int threads;     /* 0: one */
    /* results */
    uint64_t spent; /* operations executed */
    bool out_of_budget;
    /* A tensor program went beyond a buffer where compiled code has no check and would too. Not set
     * for indices that an operator checks (check_index): compiled code refuses those. */
    bool out_of_bounds;
    /* Packed functions that the evaluator does not know; may be NULL. Gives the result (an empty
     * Tuple for none), or NULL after recording an error; *known false: it does not know the
     * function either. */
    const tn_expr *(*packed)(void *user, const tn_eval_call *c, bool *known);
    void *packed_user;
} tn_eval_options;

/* How tensor programs are made into machine code, and what it took. */
typedef struct tn_native_options {
    uint32_t size;         /* sizeof, or 0 */
    int jobs;              /* compilers to run at the same time, threads of a program; 0: one */
    const char *cache_dir; /* of compiled code, as tnb_cache_dir takes it; NULL: no cache */
    /* results */
    double compiler_seconds; /* in external compilers */
    uint32_t cache_hits, cache_misses;
    uint64_t cache_bytes; /* in: largest size of the cache; 0: 2 GiB */
} tn_native_options;

typedef struct tn_evaluator {
    tnb_entry base;
    /* Runs function `func` of m, at any stage of compilation, graph function or PrimFunc. A
     * PrimFunc takes its outputs as arguments too (Constants with writable storage made by the
     * caller: tn_data_new); args are then modified in place. NULL after recording a located error.
     */
    const tn_expr *(*run)(void *self, tn_ctx *ctx, const tn_module *m, const char *func,
                          const tn_expr *const *args, uint32_t n_args, tn_eval_options *opt);
    void *self;
    /* Optional, all three or none: machine code for many PrimFuncs in destination-passing style
     * with literal extents. It computes what `run` computes, and the same on every machine.
     * prepare: NULL after recording an error. call: runs the i-th program over the memory of its
     * buffer parameters (element-aligned; outputs aligned to 64); false after recording an error.
     */
    void *(*prepare)(void *self, tn_ctx *ctx, const tn_node *const *programs, uint32_t n,
                     tn_native_options *opt);
    bool (*call)(void *self, tn_ctx *ctx, void *prepared, uint32_t i, void *const *buffers);
    void (*release)(void *self, void *prepared);
} tn_evaluator;

/* What an external function computes, for those that cannot call it: the interpreter, and so --verify and `tenon diff --exec`. A
 * plugin's compiler half offers one for a packed function that its device half provides ("meaning:NAME" in the manifest):
 *
 *     static const tn_meaning scale = {
 *         .base = {sizeof scale, "acme.scale", "x * 2"},
 *         .text = "@R.function\n"
 *                 "def meaning(x: R.Tensor((\"n\",), \"float32\")):\n"
 *                 "    return R.multiply(x, R.const(2.0, \"float32\"))\n"};
 *
 * A module's own function of the name comes first, what the caller of the evaluator brings (tn_eval_options.packed) second. */
typedef struct tn_meaning {
    tnb_entry base; /* name: the packed function's, "acme.scale" */
    /* TVMScript with a function `meaning`: a Function of the call's inputs, whose result is that of the call (of a
     * call in destination-passing style, call_dps_packed: goes to the tensors behind the inputs), or a PrimFunc of all arguments.
     * NULL: `call` computes it. */
    const char *text;
    /* As tn_eval_options.packed, for this function; NULL: the text says it. */
    const tn_expr *(*call)(const tn_eval_call *c, void *self);
    void *self;
} tn_meaning;

/* Seeded random arguments for the function's parameters, symbolic extents chosen small (or as
 * `dims` says: Dict name -> int, may be NULL), extents that a type does not tell all the same; an
 * empty Tuple for an object of unknown type. Elements lie where the operators that read them say that values make sense
 * (tn_arg_schema.accepts). False after recording an error. */
TNB_EXPORT TNB_MUST_CHECK bool
tn_random_args(tn_ctx *ctx, const tn_node *func, uint64_t seed, const tn_node *dims, tn_list *args);
/* The same with integer elements between int_min and int_max (both included; 0 and 3 above). The
 * key "" of `dims` stands for all symbols that it does not name. */
TNB_EXPORT bool
tn_random_args_within(tn_ctx *ctx, const tn_node *func, uint64_t seed, const tn_node *dims,
                      int64_t int_min, int64_t int_max, tn_list *args);
/* Extents for the symbols of the parameters of a function, graph or tensor program, with which what it
 * asserts and what its calls take for granted (tn_call_assumptions) holds, as far as that depends on
 * these symbols: a Dict name -> int for `dims` above. Where it can be, each is what `wish` says (as
 * `dims`; NULL: 4). NULL without an error: none were found; then *unmet (may be NULL) is a condition
 * that the wished extents do not meet, or NULL. */
TNB_EXPORT const tn_node *
tn_find_extents(tn_ctx *ctx, const tn_node *func, const tn_node *wish, const tn_expr **unmet);
/* Whether two values are equal as --verify and `tenon diff --exec` compare them: types and extents, then numbers
 * within atol + rtol * |b|, NaN equal to NaN; tuples item by item. `why` gets the first difference and the largest errors. */
TNB_EXPORT bool
tn_values_close(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, double rtol, double atol,
                tnb_buf *why);

#ifdef __cplusplus
}
#endif
#endif
