/* SPDX-License-Identifier: Apache-2.0 */
/* A SPIR-V module in the making: sections, types and constants that are written once, capabilities and extensions. Numbers are those
 * of spirv/unified1/spirv.h.
 *
 *     uint32_t f32 = SPIRV_TYPE(m, OpTypeFloat, 32), two = spirv_f32(m, 2);
 *     uint32_t sum = SPIRV_RESULT(m, OpFAdd, f32, two, two);                    in the body
 *
 * Memory is of the arena given to spirv_init. Vectors have up to 4 lanes; integers are unsigned types, whatever their sign.
 */
#ifndef GPU_GENERIC_SPIRV_H
#define GPU_GENERIC_SPIRV_H

#include <spirv/unified1/spirv.h>

/* SPV_KHR_cooperative_matrix, which headers of Vulkan 1.3.250 and older lack. */
#define SPIRV_TYPE_MATRIX ((SpvOp)4456)
#define SPIRV_MATRIX_LOAD ((SpvOp)4457)
#define SPIRV_MATRIX_STORE ((SpvOp)4458)
#define SPIRV_MATRIX_MUL_ADD ((SpvOp)4459)
#define SPIRV_MATRIX_CAPABILITY ((SpvCapability)6022)

#include "tenon/base/mem.h"

typedef TNB_VEC(uint32_t) spirv_words;

typedef struct spirv {
    tnb_arena *arena;
    uint32_t next;         /* the next id */
    uint32_t first, label; /* the function's first block; the block at hand */
    bool terminated;       /* it has ended, and what follows is never reached */
    uint32_t glsl;         /* the id of GLSL.std.450 */
    uint32_t version;      /* 0x00010300 */
    SpvMemoryModel model;  /* GLSL450 */
    spirv_words capabilities, extensions, interface, modes, marks, globals;
    spirv_words locals, entry,
        body; /* of the function: variables, what is computed first, the rest */
    uint32_t *slots, n_slots,
        n_known; /* where in `globals` an instruction stands that is written once */
} spirv;

void
spirv_init(spirv *m, tnb_arena *arena);
/* An instruction of n operands. */
void
spirv_put(spirv *m, spirv_words *w, SpvOp op, const uint32_t *operands, uint32_t n);
/* The id of a type (type 0) or constant, which is written at first use; *fresh (may be NULL): it was. */
uint32_t
spirv_global(spirv *m, SpvOp op, uint32_t type, const uint32_t *operands, uint32_t n, bool *fresh);
/* An instruction with a result, whose id is given back. */
uint32_t
spirv_result(spirv *m, spirv_words *w, SpvOp op, uint32_t type, const uint32_t *operands,
             uint32_t n);

#define SPIRV_ARGS(...)                                                                          \
    (const uint32_t[]){0 __VA_OPT__(, ) __VA_ARGS__} + 1,                                        \
        (uint32_t)(sizeof((const uint32_t[]){0 __VA_OPT__(, ) __VA_ARGS__}) / sizeof(uint32_t) - \
                   1)
#define SPIRV(m, w, op, ...) spirv_put(m, w, Spv##op, SPIRV_ARGS(__VA_ARGS__))
#define SPIRV_TYPE(m, op, ...) spirv_global(m, Spv##op, 0, SPIRV_ARGS(__VA_ARGS__), NULL)
#define SPIRV_RESULT(m, op, type, ...) \
    spirv_result(m, &(m)->body, Spv##op, type, SPIRV_ARGS(__VA_ARGS__))

/* What the module needs; more than once is as once. */
void
spirv_capability(spirv *m, SpvCapability c);
void
spirv_extension(spirv *m, const char *name);
/* An input that the device gives, such as SpvBuiltInWorkgroupId, of a type: a variable. */
uint32_t
spirv_builtin(spirv *m, SpvBuiltIn which, uint32_t type);

/* ---- types; lanes 1: a scalar ---- */
uint32_t
spirv_bool(spirv *m, uint32_t lanes);
uint32_t
spirv_int(spirv *m, uint32_t bits, uint32_t lanes);
uint32_t
spirv_float(spirv *m, uint32_t bits, uint32_t lanes);

/* ---- constants, the same in each lane ---- */
uint32_t
spirv_const_bool(spirv *m, bool v, uint32_t lanes);
uint32_t
spirv_const_int(spirv *m, uint32_t bits, uint64_t v, uint32_t lanes);
uint32_t
spirv_const_float(spirv *m, uint32_t bits, double v, uint32_t lanes);

/* ---- blocks ---- */
void
spirv_block(spirv *m, uint32_t label);
/* Ends the block at hand, unless it has ended. */
void
spirv_branch(spirv *m, uint32_t to);
void
spirv_branch_if(spirv *m, uint32_t cond, uint32_t then, uint32_t otherwise);

/* A function of GLSL.std.450 of one to three operands. */
uint32_t
spirv_glsl(spirv *m, uint32_t function, uint32_t type, const uint32_t *operands, uint32_t n);

/* The words of the module, whose entry point is "main" with these threads in a block. */
spirv_words
spirv_finish(spirv *m, const uint32_t local_size[3], SpvAddressingModel addressing);

#endif
