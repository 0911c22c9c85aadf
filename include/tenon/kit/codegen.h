/* SPDX-License-Identifier: Apache-2.0 */
/* Between the compiler driver and a backend's code generator: kernels in, one blob of code out. */
#ifndef TENON_KIT_CODEGEN_H
#define TENON_KIT_CODEGEN_H

#include "tenon/core/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the host gets a kernel's scalar parameter from. */
typedef enum tnk_scalar_source {
    TNK_SCALAR_PARAM, /* the index-th scalar parameter of the PrimFunc */
    TNK_SCALAR_SHAPE, /* extent `dim` of the index-th buffer parameter */
    TNK_SCALAR_STRIDE /* stride `dim` (elements) of the index-th buffer parameter */
} tnk_scalar_source;

typedef struct tnk_kernel_scalar_param {
    const tn_expr *var; /* in the lowered function */
    tnb_dtype dtype;
    tnk_scalar_source source;
    uint32_t index, dim;
} tnk_kernel_scalar_param;

/* One kernel: the part of a PrimFunc that runs on the device, after the target's `lower` list: no
 * blocks, flat buffers, scalars explicit. On the CPU a PrimFunc is one kernel. */
typedef struct tnk_kernel {
    const char *name;    /* unique symbol, a C identifier */
    const tn_node *func; /* lowered PrimFunc: params = buffer handles, then scalar Vars */
    uint32_t n_buffers;
    const tn_node *const *buffers; /* flattened parameter buffers in order */
    const uint8_t *written;        /* per buffer: 1 if the kernel writes it */
    uint32_t n_scalars;
    const tnk_kernel_scalar_param *scalars;
    const tn_expr *grid[3],
        *block[3];                   /* host expressions over the scalars; NULL: not bound (CPU) */
    const tn_expr *dyn_shared_bytes; /* NULL: none */
    const char *source; /* set by emission where the backend generates source text; for `tenon show
                           kernel` */
} tnk_kernel;

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
} tnk_codegen;

/* Attribute of PrimFuncs that another target runs: its name. */
#define TNK_FALLBACK_ATTR "tenon.fallback"

/* The places at which the kernel looks whether an index that came as data is in its range (T.index_in),
 * as texts for a message ("node 'x' (Gather), axis 0"). Generated code calls them by their number in this
 * list: tnb_kernel_refusal.check. In the scratch arena of the context. */
TNB_EXPORT uint32_t
tnk_kernel_checks(tn_ctx *ctx, const tnk_kernel *k, const char *const **texts);

/* From a scheduled PrimFunc to a kernel, by the target's `lower` list. NULL after recording an
 * error. Implemented by kit/lower. */
TNB_EXPORT const tnk_kernel *
tnk_lower_kernel(tn_ctx *ctx, const tn_target *target, const tn_target_kind *kind, const char *name,
                 const tn_node *prim_func);

#ifdef __cplusplus
}
#endif
#endif
