/* SPDX-License-Identifier: Apache-2.0 */
/* Source emission for languages of the C family: kernels in, one source text out.
 *
 * A dialect is a table with hooks; all share what the table does not name.
 *
 *     tnk_source *s = tnk_source_new(ctx, tnk_dialect_find(ctx, "acme_c"));
 *     tnk_source_add(s, kernel);                      for each
 *     tnk_source_text(s, &buf);                       prologue with the helpers that are used, then the kernels
 */
#ifndef TENON_KIT_EMIT_H
#define TENON_KIT_EMIT_H

#include "tenon/kit/codegen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How kernels get their arguments. */
typedef enum tnk_calling {
    TNK_CALL_HOST_TABLE, /* tenon/base/kernel_abi.h: arrays of pointers and scalars */
    TNK_CALL_DIRECT      /* a parameter each */
} tnk_calling;

typedef struct tnk_source tnk_source;
typedef struct tnk_emitter tnk_emitter; /* a kernel in the making: tenon/kit/emit_hooks.h */

/* What a function of mathematics is called where its intrinsic's name is not it. */
typedef struct tnk_function_name {
    tn_intrin_id intrin; /* TN_INTRIN_NONE ends a table */
    const char *name;
} tnk_function_name;

/* Vectors that are structures, in a language that has no operations on them: emission writes functions that go lane by lane. */
typedef struct tnk_vector_structs {
    /* The name of a vector type; one that the language does not have is defined at first use (tnk_helpers). NULL: there is none. */
    const char *(*type)(tnk_emitter *e, tnb_dtype d);
    /* The function that makes a vector of a value for each lane: "make_float4". */
    const char *(*make)(tnk_emitter *e, tnb_dtype d);
    const char *(*lane)(uint16_t lanes, int i); /* the name of a member: "x" */
    /* The bytes to which memory has to be aligned that is accessed as such a vector; other memory is accessed lane by lane. */
    uint32_t (*align)(tnb_dtype d);
} tnk_vector_structs;

/* Helper functions whose body a dialect may have in another form, by their parameters; vectors have as many lanes as the dtype. */
typedef enum tnk_helper {
    TNK_HELPER_SELECT,  /* (m, a, b): of each lane a where m is -1, b where it is 0 */
    TNK_HELPER_MIN,     /* (a, b): b < a ? b : a */
    TNK_HELPER_MAX,     /* (a, b): b > a ? b : a */
    TNK_HELPER_NAN_MIN, /* (a, b): NaN if either is */
    TNK_HELPER_NAN_MAX,
    TNK_HELPER_WIDEN_HALF,  /* float32 from the bits of float16, (h); of a vector (x) */
    TNK_HELPER_NARROW_HALF, /* (x): the bits of float16 from float32, rounded to even */
    TNK_HELPER_FUNCTION,    /* (x): a function of mathematics on a vector */
    /* (a, b, c): vectors of 32 bits a lane: the products of the four bytes of each, those of a unsigned, those of b signed, added to
     * c; d is the dtype of c. SMALL: no byte of a is above 127. */
    TNK_HELPER_DOT_BYTES,
    TNK_HELPER_DOT_SMALL_BYTES
} tnk_helper;

/* A language of the C family. A plugin offers a table of them (`dialects` of its descriptor, "dialect:NAME" in its manifest). */
typedef struct tnk_dialect {
    tnb_entry base; /* name: "acme_c" */
    /* By which spellings of intrinsics (tn_op.spellings) and imported source (pragma_import_LANGUAGE) are found; NULL: the
     * dialect's name. A copy of a backend keeps its original's. */
    const char *language;
    tnk_calling calling;
    const char *kernel; /* before a kernel's name: "__kernel void" */
    /* address-space qualifiers with a blank behind: in front of the type in declarations and, unless `one_space` is set, in casts
     * of pointers: `(shared float *)A`. global_ptr: of parameters. NULL: none */
    const char *global_ptr;
    const char *shared;
    const char *local;
    const char *restrict_;
    const char *barrier; /* statement for T.tvm_storage_sync("shared") */
    /* the barrier of kernels that read what they write; NULL: `barrier` orders global memory too */
    const char *global_barrier;
    const char *inline_; /* of helper functions; NULL: "static inline" */
    /* spelling of thread indices: {"threadIdx.x", "get_local_id(0)", ...}; pairs, NULL-terminated;
     * may be NULL */
    const char *const *threads;
    /* What integers are called; NULL: as C does, "int64_t", "uint8_t", which the prologue has then to define. */
    const char *int64, *uint64, *int32, *uint32, *int16, *uint16, *int8, *uint8;
    const char *nan32, *nan64, *inf32,
        *inf64; /* literals; NULL: NAN and INFINITY, which the prologue may define */
    /* r->state, an int32_t in global memory, from 0 to 1 at once; what was there: for T.index_in (direct calling);
     * NULL: kernels that look at indices which came as data are refused */
    const char *compare_exchange;
    const char *float_suffix; /* of mathematical functions on float32: "f"; NULL: none */
    const char *classify;     /* in front of isnan, isinf, isfinite: "__builtin_"; NULL: nothing */
    /* those of other names; popcount and clz take an uint64_t (no_int64: uint32_t), atomic_and and atomic_or the address of
     * an element, or its place (`element`), and a number; may be NULL */
    const tnk_function_name *functions;
    /* Names that no variable and no kernel may have, beside those that C and languages like it keep (tnk_is_reserved_name); NULL-terminated, may
     * be NULL. */
    const char *const *reserved;
    /* Text in front of everything. Helpers use int64_t, uint64_t, int32_t, uint32_t, uint16_t and INT64_MAX and the like: it has
     * to define them. NULL: none. */
    const char *prologue;
    /* Vectors are GNU vector types, or structures; else built in, with functions that have their types' names: float4,
     * convert_float4, as_float4, vload4, lanes .s0 */
    bool gnu_vectors;
    bool
        one_space; /* `shared` and `local` stand in declarations alone: pointers to all memory are of one kind */
    const tnk_vector_structs *structs; /* NULL: vectors are no structures */
    /* It has OpenCL C's as_TYPE, vload_half and vstore_half_rte. Else numbers get other types by their bits through unions. */
    bool as_functions;
    bool vector_functions; /* functions of mathematics take vectors too */
    bool has_half;         /* a type half, in which devices with the feature "fp16" compute */
    bool signed_wraps; /* signed numbers wrap around by the language or by a flag of the compiler */
    bool declares;     /* an external function is declared as it is called */
    bool byte_offsets; /* a byte offset for each buffer follows the buffers (direct calling) */
    bool meet_behind_loops; /* a barrier behind each loop that holds one */
    /* The language has no integers of 64 bits (its target's attribute supports_int64 is False): helpers do without, popcount and clz
     * of `functions` take an uint32_t. A number of 64 bits in a kernel is an error. */
    bool no_int64;

    /* ---- hooks, for what a table cannot say; NULL: none. tenon/kit/emit_hooks.h has what they may call. ---- */
    /* Writes what stands in front of the prologue: which extensions the source uses. */
    void (*header)(const tnk_source *s, tnb_buf *out);
    /* NULL, or: before a kernel is written: may look at it, set the emitter's `state`, or fail. */
    void (*begin)(tnk_emitter *e);
    /* Text between a kernel's return type and its name; "", or no hook (NULL): none. */
    const char *(*attribute)(tnk_emitter *e);
    /* NULL, or: writes declarations at the start of a kernel's body. */
    void (*declare)(tnk_emitter *e);
    /* The type of a parameter that is no pointer (memory that is an image: "__read_only image2d_t"; a tensor map), whose uses the
     * hooks `expr` and `stmt` write. NULL: memory is a pointer, a tensor map an error; or an error was recorded. Called for memory
     * before `begin`. */
    const char *(*param)(tnk_emitter *e, const tnk_param *p);
    /* What stands for a thread index ("threadIdx.x"); NULL: what `threads` says. */
    const char *(*thread)(tnk_emitter *e, const char *tag);
    /* Writes a statement, or an expression, in a form of its own; false, with nothing written, or NULL: the usual form. Each comes
     * here once; tnk_emit_plain_stmt and tnk_emit_plain_expr write the usual form. Loops that are bound to threads (for_kind
     * TN_FOR_THREAD_BINDING) come as loops too, though no loop is written for them: their variable is the thread's index, which
     * `thread` or `threads` gives. A hook for loops looks at for_kind first, and leaves those to the usual form. */
    bool (*stmt)(tnk_emitter *e, const tn_stmt *s);
    bool (*expr)(tnk_emitter *e, const tn_expr *x);
    /* A loop T.parallel, not within another, whose iterations a team of threads may share; false: it is written as one for a single
     * thread. In either case `in_parallel` of the emitter is set meanwhile. NULL: all loops are for a single thread. */
    bool (*parallel)(tnk_emitter *e, const tn_for_loop *f);
    /* The name of a helper (pointer, int64 place, uint8 value) that stores an element of `bits`, which shares its byte with others,
     * in memory of the address space. NULL: the dialect has none. */
    const char *(*packed_store)(tnk_emitter *e, uint8_t bits, const char *space);
    /* A body of a helper for some machines: "#if CONDITION", then statements that return; the usual body follows behind "#else".
     * `function`: of TNK_HELPER_FUNCTION. NULL: none. */
    const char *(*body)(tnk_emitter *e, tnk_helper helper, tn_intrin_id function, tnb_dtype d);
    /* Writes the place of the element `at` (one index) of a buffer, which is read and assigned: "A[i]", "A.items[i]"; the name of its
     * memory is that of tnk_memory_of. For languages without pointers, whose target's attribute supports_pointers is False: memory
     * is reached by this alone, whether `param` gives it a type or not, and is made of what the buffer's elements are, vectors too
     * (LowerVectorAccess; their types as anywhere, bools and floats of 16 bits or less as tnk_storage_dtype says). NULL: memory is an
     * array or a pointer, and an element that is a vector is accessed as so many scalars, side by side. */
    void (*element)(tnk_emitter *e, const tn_node *buffer, const tn_expr *at);
    void *self;
    /* statement for T.tvm_storage_sync("warp"): the threads of a warp meet; NULL: as `barrier` */
    const char *warp_barrier;
    /* declares memory without a size that a launch gives a block (tnk_kernel.dyn_shared_bytes), an array of bytes named
     * tk_dynamic_shared: buffers of scope "shared.dyn" lie in it; NULL: they are declared as others are */
    const char *dynamic_shared;
} tnk_dialect;

/* The dialect of this name of the context's registry, whose plugin is loaded when needed. NULL after recording an error. */
TNB_EXPORT const tnk_dialect *
tnk_dialect_find(tn_ctx *ctx, const char *name);

/* Names that no kernel or variable may have: keywords and library functions of the C family. */
TNB_EXPORT bool
tnk_is_reserved_name(const char *name);

/* In the context's arena. d NULL (tnk_dialect_find has recorded why): NULL. */
TNB_EXPORT tnk_source *
tnk_source_new(tn_ctx *ctx, const tnk_dialect *d);
/* What the device can do beyond the dialect's baseline ("fp64", "fp16"), up to NULL; borrowed. Not
 * said: everything. A kernel that needs more is an error. */
TNB_EXPORT void
tnk_source_allow(tnk_source *s, const char *const *features);
/* Whether the kernels added so far use such a feature. */
TNB_EXPORT bool
tnk_source_uses(const tnk_source *s, const char *feature);
/* A kernel whose name is a word of the dialect (`reserved`) gets another one, which stands in k->name then. False after recording a
 * located error that names the kernel. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_source_add(tnk_source *s, tnk_kernel *k);
/* Appends the whole source to `out`. */
TNB_EXPORT void
tnk_source_text(tnk_source *s, tnb_buf *out);
/* Appends what stands in front of the kernels: the prologue and all helpers needed so far. */
TNB_EXPORT void
tnk_source_header(tnk_source *s, tnb_buf *out);
/* The text of the kernel added last, without the prologue; borrowed until the next call. */
TNB_EXPORT const char *
tnk_source_last(const tnk_source *s);
/* How often that kernel asks its host for temporary memory (tenon/base/kernel_abi.h): always in the same order, and before it
 * reads or writes anything. */
TNB_EXPORT uint32_t
tnk_source_workspaces(const tnk_source *s);

#ifdef __cplusplus
}
#endif
#endif
