/* SPDX-License-Identifier: Apache-2.0 */
/* What the hooks of a dialect (tenon/kit/emit.h) see of a kernel in the making, and may call.
 *
 *     static bool
 *     acme_expr(tnk_emitter *e, const tn_expr *x)                       the intrinsic warp_size_is(n) is ACME_WARP == n
 *     {
 *         if (!tn_is_intrin(x, TN_INTRIN_warp_size_is))
 *             return false;
 *         tnb_buf_puts(e->out, "(ACME_WARP == ");
 *         tnk_emit_expr(e, tn_as_call(x)->args.at[0]);
 *         tnb_buf_puts(e->out, ")");
 *         return true;
 *     }
 *
 * Texts that functions here return live as long as the context, unless it says otherwise. After tnk_emit_fail a kernel is given
 * up: what is written further does not matter.
 *
 * Values: a float of 16 bits or less is computed as float32 and rounded where it is stored or cast (where the language has half
 * and the device computes with it, + - * and / of float16 are computed in that); an integer of less than 8 bits is computed with 8
 * and wrapped; a bool is an int, a vector of bools a vector of integers that are 0 or -1. Memory: float16 and bfloat16 are
 * uint16_t, bool and float8 are uint8_t, smaller elements are packed in uint8_t; a temporary of the kernel itself is kept as values
 * are, but for floats in shared memory, and float16 that is computed as half.
 */
#ifndef TENON_KIT_EMIT_HOOKS_H
#define TENON_KIT_EMIT_HOOKS_H

#include "tenon/base/mem.h"
#include "tenon/kit/emit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory behind a buffer's data pointer. */
typedef struct tnk_memory {
    const char *name;
    const char *space; /* address-space qualifier with its blank; "" where there is none */
    const char *type;  /* of a parameter that is no pointer (tnk_dialect.param); NULL: a pointer */
    tnb_dtype
        elem; /* as stored; lanes 1, or with the hook `element` those of the buffer's elements */
    uint8_t packed;  /* bits of an element where several share a byte, else 0 */
    bool given;      /* by the host: a parameter */
    bool written;    /* then: the kernel writes it */
    bool promoted;   /* variables NAME_0, NAME_1 ... of `lanes` elements each */
    bool per_thread; /* each thread of a team has its share of the host's memory */
    int64_t lanes;   /* of all its accesses, where it is promoted */
    int64_t count;   /* elements of an array on the stack; else negative */
} tnk_memory;

/* A variable that stands in front of the statement at hand. */
typedef struct tnk_declared {
    const char *type, *name; /* "const float *restrict ", "A" */
    /* what it stands for: the Var, the data Var of a buffer; the kernel's PrimFunc: what the host gives to note a refused index in;
     * NULL: no part of a kernel uses it */
    const tn_node *of;
} tnk_declared;

/* A kernel in the making. Hooks read all of it, and write what is said to be theirs. */
struct tnk_emitter {
    tn_ctx *ctx;
    tnk_source *src;
    const tnk_dialect *d;
    const tnk_kernel *kernel;
    tnb_buf *out;     /* where text goes; a hook may point it elsewhere for a while */
    int indent;       /* of lines, in steps of 4 blanks */
    void *state;      /* the hooks' own; NULL before each kernel */
    bool in_parallel; /* in a loop whose iterations may run at the same time */
    bool failed;
    const char *barrier; /* statement of this kernel; NULL: it needs none */
    tnb_buf before;      /* functions that stand in front of the kernel; hooks may add some */
    TNB_VEC(tnk_declared) scope; /* variables in front of the statement at hand: tnk_emit_declare */
    const char *const
        *checks; /* texts of the kernel's indices that came as data (tnk_kernel_checks) */
    uint32_t n_checks, asserts;
    /* ---- of the emission alone ---- */
    tnb_ptrmap names;  /* Var -> name */
    tnb_ptrmap memory; /* data Var -> tnk_memory */
    tnb_ptrmap data;   /* variables that hold loaded elements, and what is known of expressions */
    tnb_ptrmap bound;  /* Var -> the integer that it is bound to */
    tnb_strmap used;   /* names taken in this kernel */
};

/* ---- what a kernel says ---- */
/* "threadIdx.y": a thread of a block, dimension 1; "blockIdx.x": a block of the grid. False for another tag. */
TNB_EXPORT bool
tnk_thread_tag(const char *tag, bool *is_block, int *dim);
/* Whether `n` is a call in which the threads of a warp meet. */
TNB_EXPORT bool
tnk_is_warp_call(const tn_node *n);

/* ---- texts ---- */
/* Blanks up to the indent. */
TNB_EXPORT void
tnk_emit_line(tnk_emitter *e);
/* Records an error that names the kernel; its emission ends. loc 0: somewhere in the kernel. */
TNB_EXPORT void
tnk_emit_fail(tnk_emitter *e, tn_loc loc, const char *fmt, ...) TNB_PRINTF(3, 4);
/* A name that nothing in the kernel has, like `wanted`; that of a variable. */
TNB_EXPORT const char *
tnk_new_name(tnk_emitter *e, const char *wanted);
TNB_EXPORT const char *
tnk_name_of(tnk_emitter *e, const tn_expr *var);
/* Functions in front of all kernels; what is added, and how often, tnk_once says. */
TNB_EXPORT tnb_buf *
tnk_helpers(tnk_emitter *e);
/* True at the first call with this key in the whole source. */
TNB_EXPORT bool
tnk_once(tnk_emitter *e, const char *key);
/* Whether the target allows a feature; the kernel uses it, which is an error where it is not allowed. */
TNB_EXPORT bool
tnk_allows(const tnk_emitter *e, const char *feature);
TNB_EXPORT void
tnk_need(tnk_emitter *e, const char *feature);
/* The features that were allowed (tnk_source_allow); NULL: all. */
TNB_EXPORT const char *const *
tnk_allowed(const tnk_emitter *e);

/* ---- types ---- */
/* The dtype that values of `d` are computed in; that they are stored as. Lanes are kept. */
TNB_EXPORT tnb_dtype
tnk_compute_dtype(tnb_dtype d);
TNB_EXPORT tnb_dtype
tnk_storage_dtype(tnb_dtype d);
/* "f32", "i64": the name of a scalar dtype in helper names; NULL: it has none. */
TNB_EXPORT const char *
tnk_short_name(tnb_dtype d);
/* The type of a dtype as it is (compute or storage), scalar or vector; a vector type is declared at first use. */
TNB_EXPORT const char *
tnk_c_type(tnk_emitter *e, tnb_dtype d);
/* The same for accesses at any address. */
TNB_EXPORT const char *
tnk_c_access_type(tnk_emitter *e, tnb_dtype d);
/* In front of an operand and behind it: conversion of each lane of a vector `from` to those of `to`. */
TNB_EXPORT const char *
tnk_convert_open(tnk_emitter *e, tnb_dtype from, tnb_dtype to);
TNB_EXPORT const char *
tnk_convert_close(tnk_emitter *e, tnb_dtype to);

/* ---- expressions and memory ---- */
TNB_EXPORT void
tnk_emit_expr(tnk_emitter *e, const tn_expr *x);
TNB_EXPORT void
tnk_emit_plain_expr(tnk_emitter *e, const tn_expr *x);
/* The memory of a buffer; NULL: it has none in this kernel. */
TNB_EXPORT const tnk_memory *
tnk_memory_of(tnk_emitter *e, const tn_node *buffer);
/* The address of an element of a buffer in memory. */
TNB_EXPORT void
tnk_emit_address(tnk_emitter *e, const tn_node *buffer, const tn_expr *at);
/* The dtype in memory of a buffer's elements, one lane; the value of a store in that form. */
TNB_EXPORT tnb_dtype
tnk_stored_dtype(tnk_emitter *e, const tn_node *buffer);
TNB_EXPORT void
tnk_emit_stored_value(tnk_emitter *e, const tn_buffer_store *s);

/* ---- statements ---- */
TNB_EXPORT void
tnk_emit_stmt(tnk_emitter *e, const tn_stmt *s);
TNB_EXPORT void
tnk_emit_plain_stmt(tnk_emitter *e, const tn_stmt *s);
/* A loop as a statement, from and up to what the two texts say; NULL: its own bounds. */
TNB_EXPORT void
tnk_emit_loop(tnk_emitter *e, const tn_for_loop *f, const char *from, const char *to);
/* A variable was declared: `type` with its blank or star. */
TNB_EXPORT void
tnk_emit_declare(tnk_emitter *e, const char *type, const char *name, const tn_node *of);
/* Which variables of `scope` a loop's body uses: what a function made of the body has to be given. For each a flag, in the scratch
 * arena of the context. *checks (may be NULL): whether it looks at indices that came as data. */
TNB_EXPORT const bool *
tnk_captured(tnk_emitter *e, const tn_for_loop *f, bool *checks);

/* ---- helper functions: each gives a name, and is written at first use ---- */
/* (vector, ...) of n operands: `scalar_fn` lane by lane. */
TNB_EXPORT const char *
tnk_help_map(tnk_emitter *e, tnb_dtype ret, tnb_dtype arg, const char *scalar_fn, int n);
/* From the storage of a float of 16 bits or less, and to that of one of 8 bits or less from float32 or float64; scalar or vector. */
TNB_EXPORT const char *
tnk_help_widen(tnk_emitter *e, tnb_dtype small);
TNB_EXPORT const char *
tnk_help_narrow_small(tnk_emitter *e, tnb_dtype small, uint8_t from_bits);
/* For packed_store: where only one thread at a time stores to a byte. `name`: of the helper. */
TNB_EXPORT void
tnk_help_packed_store_by_byte(tnk_emitter *e, const char *name, uint8_t bits, const char *space);

#ifdef __cplusplus
}
#endif
#endif
