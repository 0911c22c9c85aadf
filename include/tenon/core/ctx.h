/* SPDX-License-Identifier: Apache-2.0 */
/* The context: owner of every node, of interned texts and types, of constants, of diagnostics and
 * of the registry of operators, passes and targets. One context is used by one thread.
 */
#ifndef TENON_CORE_CTX_H
#define TENON_CORE_CTX_H

#include "tenon/base/diag.h"
#include "tenon/core/node.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_registry tn_registry;

/* NULL without memory. The registry (tenon/core/registry.h) is borrowed and may serve several
 * contexts, one after the other; NULL: only the structural operators and scalar intrinsics of the
 * core are known. */
TNB_EXPORT tn_ctx *
tn_ctx_new(tn_registry *reg);
TNB_EXPORT void
tn_ctx_free(tn_ctx *ctx);
/* A child context for a worker thread: reads the parent's nodes and interned tables, allocates in
 * its own arena and records into its own diagnostics. The parent must not be changed while a child
 * lives. */
TNB_EXPORT tn_ctx *
tn_ctx_child(const tn_ctx *parent);
/* Copies a node made in `child` into the parent `ctx` (interned things are interned again). */
TNB_EXPORT const tn_node *
tn_ctx_splice(tn_ctx *ctx, const tn_ctx *child, const tn_node *n);

/* ---- limits ---- */
/* What a compilation may hold at a time in bytes, beside its nodes: the elements of constants that
 * it makes itself (not ranges of files), and memory of programs that it runs. The configuration
 * sets both ([tenon] constant_limit, scratch_limit). Shared with children; safe in threads. */
typedef enum tn_limit { TN_LIMIT_CONSTANTS, TN_LIMIT_SCRATCH, TN_N_LIMITS } tn_limit;
#define TN_LIMIT_DEFAULT ((uint64_t)32 << 30)
TNB_EXPORT void
tn_limit_set(tn_ctx *ctx, tn_limit which, uint64_t bytes);
TNB_EXPORT uint64_t
tn_limit_get(const tn_ctx *ctx, tn_limit which);
/* Takes so many bytes; false after an error at `loc` (0: the current place) when that is more than
 * is left. */
TNB_EXPORT TNB_MUST_CHECK bool
tn_limit_take(tn_ctx *ctx, tn_limit which, uint64_t bytes, tn_loc loc);
TNB_EXPORT void
tn_limit_give(tn_ctx *ctx, tn_limit which, uint64_t bytes);
/* The error of tn_limit_take for a count that somebody else keeps. */
TNB_EXPORT void
tn_limit_error(tn_ctx *ctx, tn_limit which, uint64_t bytes, tn_loc loc);

TNB_EXPORT tnb_arena *
tn_arena(tn_ctx *ctx); /* where nodes live */
TNB_EXPORT tnb_arena *
tn_scratch(
    tn_ctx *ctx); /* analyses of the running pass; reset by the pass manager after each pass */
TNB_EXPORT tnb_diags *
tn_diags(tn_ctx *ctx);
TNB_EXPORT tn_registry *
tn_ctx_registry(tn_ctx *ctx);

/* What a layer above keeps with the context for as long as some work takes, under the address of an
 * object of its own. Borrowed; NULL: nothing. A child sees its parent's. */
TNB_EXPORT void *
tn_ctx_user(const tn_ctx *ctx, const void *key);
/* Returns what was there. */
TNB_EXPORT void *
tn_ctx_set_user(tn_ctx *ctx, const void *key, void *value);

/* Interned text: equal texts give the same pointer, valid as long as the context. */
TNB_EXPORT const char *
tn_str(tn_ctx *ctx, const char *s);
TNB_EXPORT const char *
tn_strn(tn_ctx *ctx, const char *s, size_t n);
TNB_EXPORT const char *
tn_strf(tn_ctx *ctx, const char *fmt, ...) TNB_PRINTF(2, 3);

/* ---- locations ---- */
TNB_EXPORT tn_loc
tn_loc_make(tn_ctx *ctx, tnb_place place);
TNB_EXPORT tnb_place
tn_loc_place(const tn_ctx *ctx, tn_loc loc);
/* The location that constructors give to new nodes. Returns the previous one. */
TNB_EXPORT tn_loc
tn_at(tn_ctx *ctx, tn_loc loc);
/* Remembers the text of a source file, so that diagnostics can show its lines. Borrowed until
 * freed. */
TNB_EXPORT void
tn_ctx_source(tn_ctx *ctx, const char *file, const char *text, size_t n);

/* Records an error at `loc` (0: the current one) and returns the error node. */
TNB_EXPORT const tn_node *
tn_error(tn_ctx *ctx, tn_loc loc, tnb_status status, const char *fmt, ...) TNB_PRINTF(4, 5);
TNB_EXPORT void
tn_warn(tn_ctx *ctx, tn_loc loc, const char *fmt, ...) TNB_PRINTF(3, 4);
/* Whether all memory that was asked for since the context was made was there, in the whole process: else
 * what was made may lack parts (tnb_memory_failures), and an error is recorded. Asked before something is
 * written or kept. */
TNB_EXPORT TNB_MUST_CHECK bool
tn_ctx_check_memory(tn_ctx *ctx);
/* The error node itself (no diagnostic is recorded). */
TNB_EXPORT const tn_node *
tn_error_node(tn_ctx *ctx);

/* ---- lists ---- */
/* Copies n pointers into the context's arena. */
TNB_EXPORT tn_list
tn_list_of(tn_ctx *ctx, const tn_node *const *at, uint32_t n);
/* tn_listv(ctx, a, b, c, NULL) */
TNB_EXPORT tn_list
tn_listv(tn_ctx *ctx, ...) __attribute__((sentinel));
/* `l` with entry i replaced, or with one more entry at the end. */
TNB_EXPORT tn_list
tn_list_with(tn_ctx *ctx, tn_list l, uint32_t i, const tn_node *n);
TNB_EXPORT tn_list
tn_list_append(tn_ctx *ctx, tn_list l, const tn_node *n);
/* For loops over `was`: entry i of *now, which began as `was`, becomes n. The first change copies the list,
 * later ones do not; entries that stay the same are no change. */
TNB_EXPORT void
tn_list_change(tn_ctx *ctx, tn_list *now, tn_list was, uint32_t i, const tn_node *n);

/* ---- constant data ---- */
typedef enum tn_data_kind {
    TN_DATA_BYTES,   /* `bytes` in memory owned by the context */
    TN_DATA_FILE,    /* a range of a file mapped by the context */
    TN_DATA_SPLAT,   /* one element, repeated */
    TN_DATA_DEFERRED /* result `result` of `program` run over `inputs`, evaluated when needed */
} tn_data_kind;

/* The value of a Constant: dense, row-major, little-endian. Immutable for its users. */
struct tn_data {
    uint32_t kind;
    int32_t ndim;
    tnb_dtype dtype;
    uint32_t result;
    const int64_t *shape;
    uint64_t n_elems, n_bytes;
    const void *bytes; /* BYTES and FILE; for others NULL until materialised */
    uint8_t splat[16]; /* SPLAT: the element */
    const char *file;  /* FILE: path, and offset there */
    uint64_t offset;
    const tn_node *program; /* DEFERRED: a PrimFunc in destination-passing style */
    const tn_data *const *inputs;
    uint32_t n_inputs;
};

/* A constant with memory for its elements, zeroed; `*bytes` may be written until the node is used.
 * NULL after recording an error (overflow, no memory). */
TNB_EXPORT const tn_data *
tn_data_new(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape, void **bytes);
/* All elements are `elem`. Above TN_LARGE_SPLAT bytes such a tensor is better made by the program than
 * stored in an artifact: a call of `full`. */
enum { TN_LARGE_SPLAT = 1 << 28 };
TNB_EXPORT const tn_data *
tn_data_splat(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape, const void *elem);
/* The caller has mapped the file; `bytes` stays valid as long as the context (see tn_ctx_own). */
TNB_EXPORT const tn_data *
tn_data_file(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape, const void *bytes,
             const char *file, uint64_t offset);
TNB_EXPORT const tn_data *
tn_data_deferred(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape,
                 const tn_node *program, const tn_data *const *inputs, uint32_t n_inputs,
                 uint32_t result);
/* The elements in memory. Splats are expanded and deferred constants evaluated (kept until
 * tn_data_release). NULL after recording an error. */
TNB_EXPORT const void *
tn_data_get(tn_ctx *ctx, const tn_data *d);
/* Memory for the elements of a deferred constant whose program the caller runs itself, aligned to
 * 64; tn_data_get gives it from then on, until tn_data_release. NULL after recording an error. */
TNB_EXPORT void *
tn_data_fill(tn_ctx *ctx, const tn_data *d);
/* Frees what tn_data_get or tn_data_fill made for a splat or deferred constant. */
TNB_EXPORT void
tn_data_release(tn_ctx *ctx, const tn_data *d);
/* Same dtype, shape and bytes. */
TNB_EXPORT bool
tn_data_equal(tn_ctx *ctx, const tn_data *a, const tn_data *b);
/* Runs `release(p)` when the context is freed (file mappings), or when p lies in its arena and
 * garbage is collected there. */
TNB_EXPORT void
tn_ctx_own(tn_ctx *ctx, void *p, void (*release)(void *));

#ifdef __cplusplus
}
#endif
#endif
