/* SPDX-License-Identifier: Apache-2.0 */
/* Source emission for the C family: kernels in, one source text out.
 *
 * A dialect is a table; C, OpenCL C and CUDA C share everything that the table does not name.
 *
 *     tnk_source *s = tnk_source_new(ctx, tnk_dialect_find("c"));
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

typedef enum tnk_dialect_id { TNK_DIALECT_C, TNK_DIALECT_OPENCL, TNK_DIALECT_CUDA } tnk_dialect_id;

typedef struct tnk_dialect {
    uint32_t size;
    const char *name; /* "c", "opencl", "cuda" */
    tnk_dialect_id id;
    tnk_calling calling;
    const char
        *kernel; /* before a kernel's name: "__kernel void", "extern \"C\" __global__ void" */
    const char *global_ptr; /* address-space qualifiers, "" where there are none */
    const char *shared;
    const char *local;
    const char *restrict_;
    const char *barrier; /* statement for T.tvm_storage_sync("shared") */
    const char *inline_; /* of helper functions */
    /* spelling of thread indices: {"threadIdx.x", "get_local_id(0)", ...}; pairs, NULL-terminated;
     * may be NULL */
    const char *const *threads;
    const char *int64, *uint64; /* C's names differ: "int64_t", "long", "long long" */
    const char *int32, *uint32, *int16, *uint16, *int8, *uint8;
    bool gnu_vectors;       /* vectors are GNU vector types; else native types such as float4 */
    bool byte_offsets;      /* a byte offset for each buffer follows the buffers (direct calling) */
    bool meet_behind_loops; /* a barrier behind each loop that holds one */
    bool team;              /* T.parallel loops run on the threads that the host offers */
    const char *prologue;   /* text in front of everything */
    /* the barrier of kernels that read what they write; NULL: `barrier` orders global memory too */
    const char *global_barrier;
} tnk_dialect;

TNB_EXPORT const tnk_dialect *
tnk_dialect_find(const char *name);

/* Names that no kernel or variable may have: keywords and library functions of the C family. */
TNB_EXPORT bool
tnk_is_reserved_name(const char *name);

/* How a tensor of `ndim` dimensions lies in an image of the scope "global.texture", "global.texture-nhwc"
 * or "global.texture-weight" (and anything behind a colon): the last dimension, of 4, is the
 * channels of an element; those before split[0] are its layer (none: the image is no array), up to
 * split[1] its row, the rest its column, each in row-major order. False: not such a scope. */
TNB_EXPORT bool
tnk_image_split(const char *scope, uint32_t ndim, uint32_t split[2]);

typedef struct tnk_source tnk_source;
/* In the context's arena. */
TNB_EXPORT tnk_source *
tnk_source_new(tn_ctx *ctx, const tnk_dialect *d);
/* What the device can do beyond the dialect's baseline ("fp64", "fp16"), up to NULL; borrowed. Not
 * said: everything. A kernel that needs more is an error. */
TNB_EXPORT void
tnk_source_allow(tnk_source *s, const char *const *features);
/* Whether the kernels added so far use such a feature. */
TNB_EXPORT bool
tnk_source_uses(const tnk_source *s, const char *feature);
/* False after recording a located error that names the kernel. */
TNB_EXPORT bool
tnk_source_add(tnk_source *s, const tnk_kernel *k);
/* Appends the whole source to `out`. */
TNB_EXPORT void
tnk_source_text(tnk_source *s, tnb_buf *out);
/* Appends what stands in front of the kernels: the prologue and all helpers needed so far. */
TNB_EXPORT void
tnk_source_header(tnk_source *s, tnb_buf *out);
/* The text of the kernel added last, without the prologue; borrowed until the next call. */
TNB_EXPORT const char *
tnk_source_last(const tnk_source *s);

#ifdef __cplusplus
}
#endif
#endif
