/* SPDX-License-Identifier: Apache-2.0 */
/* The dialects of the C family. */
#include "tenon/kit/emit.h"

static const char c_prologue[] =
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "#include <math.h>\n"
    "typedef union tnb_kernel_scalar {\n"
    "    int64_t i;\n"
    "    double f;\n"
    "} tnb_kernel_scalar;\n"
    "typedef void (*tnb_kernel_part)(void *, int64_t, int64_t, int32_t);\n"
    "typedef struct tnb_kernel_refusal {\n"
    "    int32_t state;\n"
    "    uint32_t tag, check, reserved;\n"
    "    int64_t index, extent;\n"
    "} tnb_kernel_refusal;\n"
    "typedef struct tnb_kernel_env {\n"
    "    int32_t threads, worth;\n"
    "    void *(*workspace)(struct tnb_kernel_env *env, size_t bytes);\n"
    "    void *user;\n"
    "    void (*team)(struct tnb_kernel_env *, tnb_kernel_part, void *, int64_t, int64_t);\n"
    "    tnb_kernel_refusal *refused;\n"
    "} tnb_kernel_env;\n"
    "#define TK_KERNEL __attribute__((visibility(\"default\")))\n";

/* The names that helpers use; macros, for a device's compiler may have types of these names. */
static const char opencl_prologue[] = "#define int64_t long\n"
                                      "#define uint64_t ulong\n"
                                      "#define int32_t int\n"
                                      "#define uint32_t uint\n"
                                      "#define uint16_t ushort\n"
                                      "#undef INT64_MAX\n"
                                      "#undef INT64_MIN\n"
                                      "#undef UINT64_MAX\n"
                                      "#define INT64_MAX LONG_MAX\n"
                                      "#define INT64_MIN LONG_MIN\n"
                                      "#define UINT64_MAX ULONG_MAX\n";

static const char *const opencl_threads[] = {
    "threadIdx.x", "(int)get_local_id(0)", "threadIdx.y", "(int)get_local_id(1)",
    "threadIdx.z", "(int)get_local_id(2)", "blockIdx.x",  "(int)get_group_id(0)",
    "blockIdx.y",  "(int)get_group_id(1)", "blockIdx.z",  "(int)get_group_id(2)",
    NULL,
};
static const char *const cuda_threads[] = {
    "threadIdx.x", "(int)threadIdx.x", "threadIdx.y", "(int)threadIdx.y",
    "threadIdx.z", "(int)threadIdx.z", "blockIdx.x",  "(int)blockIdx.x",
    "blockIdx.y",  "(int)blockIdx.y",  "blockIdx.z",  "(int)blockIdx.z",
    NULL,
};

/* The names of integers, from 64 bits to 8, signed before unsigned. */
#define INTEGERS(i64, u64, i32, u32, i16, u16, i8, u8)                                \
    .int64 = (i64), .uint64 = (u64), .int32 = (i32), .uint32 = (u32), .int16 = (i16), \
    .uint16 = (u16), .int8 = (i8), .uint8 = (u8)

static const tnk_dialect dialects[] = {
    {
        .size = sizeof(tnk_dialect),
        .name = "c",
        .id = TNK_DIALECT_C,
        .calling = TNK_CALL_HOST_TABLE,
        .kernel = "TK_KERNEL int32_t",
        .global_ptr = "",
        .shared = "",
        .local = "",
        .restrict_ = "restrict",
        .inline_ = "static inline",
        INTEGERS("int64_t", "uint64_t", "int32_t", "uint32_t", "int16_t", "uint16_t", "int8_t",
                 "uint8_t"),
        .gnu_vectors = true,
        .team = true,
        .prologue = c_prologue,
    },
    {
        .size = sizeof(tnk_dialect),
        .name = "opencl",
        .id = TNK_DIALECT_OPENCL,
        .calling = TNK_CALL_DIRECT,
        .kernel = "__kernel void",
        .global_ptr = "__global ",
        .shared = "__local ",
        .local = "",
        .restrict_ = "restrict",
        .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
        .global_barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
        .meet_behind_loops = true,
        .inline_ = "static inline",
        .threads = opencl_threads,
        INTEGERS("long", "ulong", "int", "uint", "short", "ushort", "char", "uchar"),
        .byte_offsets = true,
        .prologue = opencl_prologue,
    },
    {
        .size = sizeof(tnk_dialect),
        .name = "cuda",
        .id = TNK_DIALECT_CUDA,
        .calling = TNK_CALL_DIRECT,
        .kernel = "extern \"C\" __global__ void",
        .global_ptr = "",
        .shared = "__shared__ ",
        .local = "",
        .restrict_ = "__restrict__",
        .barrier = "__syncthreads();",
        .inline_ = "static __device__ __forceinline__",
        .threads = cuda_threads,
        INTEGERS("long long", "unsigned long long", "int", "unsigned int", "short",
                 "unsigned short", "signed char", "unsigned char"),
        .prologue = "",
    },
};

const tnk_dialect *
tnk_dialect_find(const char *name)
{
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++)
        if (!strcmp(dialects[i].name, name))
            return &dialects[i];
    return NULL;
}
