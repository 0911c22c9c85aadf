/* SPDX-License-Identifier: Apache-2.0 */
/* The form of generated code between the two halves of gpu_generic: format "tenon-spirv" of an artifact. All numbers are
 * 32-bit words, little-endian:
 *
 *     gpu_generic_payload          the head
 *     n_kernels times:
 *       gpu_generic_kernel         one record
 *       name                       name_words, zero-terminated and zero-filled
 *       parameters                 n_params words, in the order of the kernel's table: gpu_generic_param
 *       turns                      turns_words words: how many turns the loops of one thread take together, at most; none: it is not
 *                                  known, or there are no loops. Each word is a step on a stack of numbers: gpu_generic_step
 *       module                     module_words of SPIR-V with one entry point, "main"
 *
 * How a kernel reaches its parameters. A block of bytes holds, in this order,
 *
 *     with GPU_GENERIC_BASE the first block of the dispatch: three uint32, added to WorkgroupId. A grid that is larger than
 *         the device's limit is several dispatches that differ in it
 *     then each parameter, aligned to its own size (gpu_generic_place):
 *       memory, with addresses    8 bytes: the address of the first element (SPV_KHR_physical_storage_buffer)
 *       memory, with descriptors  4 bytes: the number of its first element in what is bound. Descriptor set 0, bindings from 1
 *                                 on in the table's order: one each, or as many as its word says, of which each but the last has
 *                                 2^GPU_GENERIC_BINDING_BITS bytes
 *       scalar                    4 bytes, or 8 for 64-bit dtypes; smaller integers are extended by their sign, bool is
 *                                 0 or 1, floats of 16 bits are float32
 *
 * Memory whose extents are known at run time only has one binding. Where there is such, the kernel comes again with GPU_GENERIC_PARTS, of
 * the same name and parameters: there such memory has GPU_GENERIC_MOST_PARTS bindings. That form is launched when the memory is larger
 * than what the device binds at once.
 *
 * The block is the push constants; with GPU_GENERIC_BLOCK it is too large for them: then it lies in memory, and the push
 * constants hold `base` (with GPU_GENERIC_BASE, else none) and, at offset 16, its address; with descriptors it is binding 0.
 */
#ifndef GPU_GENERIC_PAYLOAD_H
#define GPU_GENERIC_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tenon/base/param.h"

#define GPU_GENERIC_FORMAT "tenon-spirv"

enum {
    GPU_GENERIC_MAGIC = 0x56535454, /* "TTSV" */
    GPU_GENERIC_VERSION = 2,
    GPU_GENERIC_MAX_PARAMS = 4096,
    GPU_GENERIC_MAX_TURNS_WORDS = 256,
    GPU_GENERIC_MAX_TURNS_DEPTH = 16, /* numbers on the stack */
    GPU_GENERIC_MAX_NAME_WORDS = 64,
    GPU_GENERIC_BLOCK_ADDRESS = 16, /* offset in the push constants, with GPU_GENERIC_BLOCK */
    GPU_GENERIC_BINDING_BITS = 27,  /* 128 MiB: what each device of Vulkan binds */
    GPU_GENERIC_MAX_BINDINGS = 128, /* of a parameter */
    GPU_GENERIC_MOST_PARTS = 8      /* 1 GiB: what each device gives to one buffer */
};

typedef struct gpu_generic_payload {
    uint32_t magic, version, n_kernels, reserved;
} gpu_generic_payload;

enum {
    GPU_GENERIC_ADDRESSES = 1, /* memory is reached by addresses; else by descriptors */
    GPU_GENERIC_BASE = 2,
    GPU_GENERIC_BLOCK = 4,
    GPU_GENERIC_PARTS = 8 /* the kernel before, for memory of several bindings */
};

typedef struct gpu_generic_kernel {
    uint32_t flags;
    uint32_t name_words, n_params, turns_words, module_words;
    uint32_t local_size[3]; /* threads of a block; what a launch asks for has to be equal */
    uint32_t shared_bytes;  /* of a block, as the module declares them */
    uint32_t block_bytes;   /* of the block of parameters */
    uint32_t subgroup_size; /* that the kernel was made for; 0: any */
} gpu_generic_kernel;

/* The group that the module declares. One made for sub-groups has its threads in a row: only so are these full on every device
 * (lavapipe cuts rows that are shorter than a sub-group off, and counts its sub-groups as if it did not). */
static inline void
gpu_generic_group(const uint32_t local_size[3], uint32_t subgroup_size, uint32_t group[3])
{
    for (int i = 0; i < 3; i++)
        group[i] = local_size[i];
    if (subgroup_size) {
        group[0] *= group[1] * group[2];
        group[1] = group[2] = 1;
    }
}

/* A word for each parameter: kind | written << 8 | bindings beyond the first << 9 | bytes << 16, where bytes is the size of one element
 * or of the scalar. */
typedef struct gpu_generic_param {
    tnb_param_kind kind;
    bool written;
    uint32_t bytes;
    uint32_t more; /* bindings beyond the first */
} gpu_generic_param;

static inline uint32_t
gpu_generic_param_word(gpu_generic_param p)
{
    return (uint32_t)p.kind | (uint32_t)p.written << 8 | p.more << 9 | p.bytes << 16;
}

static inline gpu_generic_param
gpu_generic_param_of(uint32_t word)
{
    return (gpu_generic_param){(tnb_param_kind)(word & 0xff), word >> 8 & 1, word >> 16,
                               word >> 9 & (GPU_GENERIC_MAX_BINDINGS - 1)};
}

/* What a word of the turns does: its lowest 4 bits say it, those above are its number. */
typedef enum gpu_generic_step {
    GPU_GENERIC_STEP_NUMBER, /* puts the number on the stack */
    GPU_GENERIC_STEP_PARAM,  /* puts the scalar there that is the parameter of this number */
    GPU_GENERIC_STEP_ADD,    /* this and those behind: of the two on top */
    GPU_GENERIC_STEP_SUB,
    GPU_GENERIC_STEP_MUL,
    GPU_GENERIC_STEP_DIV, /* rounded down */
    GPU_GENERIC_STEP_MIN,
    GPU_GENERIC_STEP_MAX,
    GPU_GENERIC_STEP_END /* not one: behind the last */
} gpu_generic_step;

/* Whether the parameter is memory that is bound or addressed: what the caller gives, and the note of refused indices. */
static inline bool
gpu_generic_is_memory(gpu_generic_param p)
{
    return tnb_param_is_memory(p.kind) || p.kind == TNB_PARAM_REFUSED;
}

/* The offset in the block at which the parameter lies; *end is the end of what is before it, and is moved behind it.
 * Begin with *end = 12 with GPU_GENERIC_BASE and without GPU_GENERIC_BLOCK, else 0. */
static inline uint32_t
gpu_generic_place(uint32_t flags, gpu_generic_param p, uint32_t *end)
{
    uint32_t size = gpu_generic_is_memory(p) ? (flags & GPU_GENERIC_ADDRESSES ? 8u : 4u)
                    : p.bytes > 4            ? 8u
                                             : 4u;
    uint32_t at = (*end + size - 1) & ~(size - 1);
    *end = at + size;
    return at;
}
#endif
