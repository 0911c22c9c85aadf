/* SPDX-License-Identifier: Apache-2.0 */
/* Between the compiler driver and a backend's code generator: kernels in, one blob of code out. */
#ifndef TENON_KIT_CODEGEN_H
#define TENON_KIT_CODEGEN_H

#include "tenon/base/param.h"
#include "tenon/core/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter of a kernel. Expressions are the host's: over the scalar parameters of the PrimFunc before it was lowered
 * and the variables that are extents or strides of its buffers. */
typedef struct tnk_param {
    tnb_param_kind kind;
    tnb_dtype dtype; /* scalars: theirs; memory: of an element */
    const tn_node
        *buffer; /* memory: the flattened Buffer; tensor maps: the Buffer that they describe */
    uint32_t argument;    /* memory and tensor maps: which buffer of the PrimFunc it is, from 0 */
    bool written;         /* memory: the kernel writes it */
    const tn_expr *var;   /* scalars and tensor maps: the Var of the lowered function */
    const tn_expr *value; /* scalars: what the host gives */
    tnb_tensor_map map;   /* tensor maps */
    tn_list extents, strides; /* tensor maps: of each axis, and of all but the last (elements) */
} tnk_param;

/* One kernel: the part of a PrimFunc that runs on the device, after the target's `lower` list: no
 * blocks, flat buffers, scalars explicit. On the CPU a PrimFunc is one kernel. */
typedef struct tnk_kernel {
    const char *name; /* unique symbol, a C identifier */
    const tn_node *
        func; /* lowered PrimFunc: params = handles of memory, then Vars of scalars and tensor maps */
    const tnk_param *params; /* in order: those of `func`, then what the runtime gives */
    uint32_t n_params;
    const tn_expr *grid[3],
        *block[3];             /* host expressions over the scalars; NULL: not bound (CPU) */
    const tn_expr *cluster[3]; /* blocks of a cluster; NULL: no clusters */
    const tn_expr
        *dyn_shared_bytes; /* bytes of a block beyond what its source declares; NULL: none */
    bool cooperative;      /* all blocks run at the same time */
    bool programmatic;     /* may begin before the kernel in front of it ends */
    const char *source; /* set by emission where the backend generates source text; for `tenon show
                           kernel` */
    /* What the backend's compiler says of the kernel, lines "what: value"; set with `source`, NULL: it says nothing. For `tenon show
     * kernel --cost` */
    const char *compiled;
    uint32_t
        workspaces; /* set by emission (tnk_codegen.sources): how often it asks for temporary memory */
    const tn_stmt *const
        *checks; /* Asserts over the scalars' values of the host, for every launch */
    uint32_t n_checks;
} tnk_kernel;

/* The kernels of a variant as C for other programs (tenon/base/kernel_abi.h): files that are compiled by themselves, and what a
 * compiler has to be told. In the context's arena. */
typedef struct tnk_c_sources {
    const char *const *texts;
    const char *const *flags;
    uint32_t n_texts, n_flags;
} tnk_c_sources;

typedef struct tnk_code {
    const char *format; /* "elf", "opencl-c", "cubin": what the device driver's loader takes */
    const void *bytes;  /* in the context's arena or static */
    size_t n_bytes;
    const tn_node *requires_; /* Dict: what the machine must have ("features": [...]) */
} tnk_code;

typedef struct tnk_build {
    tn_ctx *ctx;
    const tn_target *target;
    int jobs;              /* compilers to run at the same time */
    const char *cache_dir; /* as tnb_cache_dir takes it ("": the usual one); NULL: no cache */
    void (*progress)(void *user, uint32_t done, uint32_t total);
    void *progress_user;
    double compiler_seconds;           /* out: wall time spent in external compilers */
    uint32_t cache_hits, cache_misses; /* out */
    bool keep_source;                  /* fill tnk_kernel.source */
    uint64_t cache_bytes;              /* largest size of the cache; 0: 2 GiB */
} tnk_build;

/* The attribute of every target that says what becomes of indices that come as data (T.index_in): an entry of
 * its schema. The pass LowerIndexChecks of its `lower` list does what it says. */
#define TNK_ATTR_CHECK_INDICES                                                                     \
    {                                                                                              \
        "check_indices", TN_ATTR_STR, 0, "\"refuse\"",                                             \
            "what becomes of an index of a tensor that is out of its range when a kernel runs: "   \
            "the "                                                                                 \
            "call ends with an error (refuse), the nearest element is taken (clamp), or whatever " \
            "lies there in memory (off: faster, and only for data that is known to be right)",     \
            "refuse|clamp|off"                                                                     \
    }

typedef struct tnk_codegen {
    uint32_t size;
    const char *name;
    /* Generates all kernels of one variant. */
    tnb_status (*build)(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out);
    void *self;
    /* Whether it takes a fused, unscheduled tensor program (FallbackKernels asks); if not, *why says
     * what stands against it, in the context's arena or static. NULL: it takes all. */
    bool (*takes)(void *self, tn_ctx *ctx, const tn_target *target, const tn_node *prim_func,
                  const char **why);
    /* For programs without a loader (tenon/kit/aot.h); NULL: the target has no C. Fills `workspaces` of the kernels. */
    tnb_status (*sources)(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n,
                          tnk_c_sources *out);
    /* Compiles C files of a folder, each to NAME.o beside NAME.c, for the target's machine; `archive` (may be NULL): makes a static
     * library of that name there of all of them. */
    tnb_status (*objects)(void *self, tnk_build *b, const char *folder, const char *const *files,
                          uint32_t n, const char *archive);
} tnk_codegen;

/* Attribute of lowered PrimFuncs, a Dict of what a launch has beside grid and block; expressions as in tnk_param:
 *   "values"            Array of Arrays [var, value]: scalars that the PrimFunc does not have
 *   "requires"          Array of Arrays [condition, part, part ...]: what has to hold, or the launch ends in an error, whose message
 *                       the parts make, texts and values
 *   "tensor_maps"       Array of Dicts: "var" (a handle), "argument" (which buffer of the PrimFunc, from 0), "box" (Array), optional
 *                       "swizzle" (bytes), "fill" ("zeros" or "nans"), "extents", "strides" (Arrays; usual: the buffer's)
 *   "cluster"           Array of up to three extents
 *   "shared_bytes"      dynamic shared memory of a block
 *   "cooperative", "programmatic"   1: it is */
#define TNK_LAUNCH_ATTR "tenon.launch"

/* Annotation of a loop that a warp may compute at once: the extents of it and of the two within are multiples of the numbers
 * [M, N, K]. It means what it says, to the first thread of the warp. */
#define TNK_MATRIX_UNIT "matrix_unit"

/* Attribute of PrimFuncs that another target runs: its name. */
#define TNK_FALLBACK_ATTR "tenon.fallback"

/* The kernel's parameters of one kind: the next at or behind *i, and *i behind it; NULL: no further one.
 *
 *     for (uint32_t i = 0; (p = tnk_next_param(k, TNB_PARAM_SCALAR, &i));)
 */
static inline const tnk_param *
tnk_next_param(const tnk_kernel *k, tnb_param_kind kind, uint32_t *i)
{
    while (*i < k->n_params)
        if (k->params[(*i)++].kind == kind)
            return &k->params[*i - 1];
    return NULL;
}
/* The same for memory: buffers and images. */
static inline const tnk_param *
tnk_next_memory(const tnk_kernel *k, uint32_t *i)
{
    while (*i < k->n_params)
        if (tnb_param_is_memory(k->params[(*i)++].kind))
            return &k->params[*i - 1];
    return NULL;
}
/* The parameter that is the variable; NULL: none is. */
static inline const tnk_param *
tnk_find_param(const tnk_kernel *k, const tn_expr *var)
{
    for (uint32_t i = 0; i < k->n_params; i++)
        if (k->params[i].var && k->params[i].var == var)
            return &k->params[i];
    return NULL;
}

/* The places at which the kernel looks whether an index that came as data is in its range (T.index_in),
 * as texts for a message ("node 'x' (Gather), axis 0"). Generated code calls them by their number in this
 * list: tnb_kernel_refusal.check. In the scratch arena of the context. */
TNB_EXPORT uint32_t
tnk_kernel_checks(tn_ctx *ctx, const tnk_kernel *k, const char *const **texts);

/* From a scheduled PrimFunc to a kernel, by the target's `lower` list. NULL after recording an
 * error. */
TNB_EXPORT tnk_kernel *
tnk_lower_kernel(tn_ctx *ctx, const tn_target *target, const tn_target_kind *kind, const char *name,
                 const tn_node *prim_func);

#ifdef __cplusplus
}
#endif
#endif
