/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The kernel code of the null device, shared by both halves: a stack machine small enough to be
 * read in one sitting.
 *
 * A blob is a null_file, then for each kernel a null_kernel, its instructions and its constants (8
 * bytes each). Values on the stack and in locals are 64 bits: an integer or a double; an
 * instruction's dtype says which, and to what its result is rounded or wrapped.
 */
#ifndef TENON_NULL_CODE_H
#define TENON_NULL_CODE_H

#include "tenon/base/dtype.h"
#include "tenon/base/vmcode.h"

#define NULL_MAGIC "NULLCODE"

/* name, values taken from the stack, values put on it, what `arg` is */
/* clang-format off */
#define NULL_OPS(X) \
    X(CONST, 0, 1, CONSTANT) \
    X(GET, 0, 1, LOCAL) \
    X(SET, 1, 0, LOCAL) \
    X(LOAD, 1, 1, BUFFER) /* index -> element */ \
    X(STORE, 2, 0, BUFFER) /* value, index */ \
    X(ALLOC, 1, 0, BUFFER) /* bytes: memory for a buffer of the kernel's own */ \
    X(JUMP, 0, 0, TARGET) \
    X(JUMP_IF_NOT, 1, 0, TARGET) \
    X(ASSERT, 1, 0, NOTHING) \
    X(DROP, 1, 0, NOTHING) \
    X(END, 0, 0, NOTHING) \
    X(ADD, 2, 1, NOTHING) \
    X(SUB, 2, 1, NOTHING) \
    X(MUL, 2, 1, NOTHING) \
    X(DIV, 2, 1, NOTHING) \
    X(MOD, 2, 1, NOTHING) \
    X(FLOOR_DIV, 2, 1, NOTHING) \
    X(FLOOR_MOD, 2, 1, NOTHING) \
    X(MIN, 2, 1, NOTHING) \
    X(MAX, 2, 1, NOTHING) \
    X(EQ, 2, 1, NOTHING) \
    X(NE, 2, 1, NOTHING) \
    X(LT, 2, 1, NOTHING) \
    X(LE, 2, 1, NOTHING) \
    X(BIT_AND, 2, 1, NOTHING) \
    X(BIT_OR, 2, 1, NOTHING) \
    X(BIT_XOR, 2, 1, NOTHING) \
    X(SHL, 2, 1, NOTHING) \
    X(SHR, 2, 1, NOTHING) \
    X(NOT, 1, 1, NOTHING) \
    X(CAST, 1, 1, DTYPE) /* from the dtype in arg */ \
    X(MATH1, 1, 1, MATH) \
    X(MATH2, 2, 1, MATH)
/* clang-format on */

enum null_op {
#define X(name, takes, gives, arg) NULL_##name,
    NULL_OPS(X)
#undef X
        NULL_N_OPS
};
enum null_arg {
    NULL_NOTHING,
    NULL_CONSTANT,
    NULL_LOCAL,
    NULL_BUFFER,
    NULL_TARGET,
    NULL_DTYPE,
    NULL_MATH
};

typedef struct null_insn {
    uint16_t op;
    uint8_t code, bits; /* dtype of operands; comparisons give 0 or 1 */
    uint32_t arg;
} null_insn;

typedef union null_value {
    int64_t i;
    double f;
} null_value;

typedef struct null_file {
    char magic[8];
    uint32_t n_kernels, reserved;
} null_file;

enum { NULL_NAME = 120, NULL_MAX_STACK = 256, NULL_MAX_LOCALS = 4096, NULL_MAX_BUFFERS = 256 };
typedef struct null_kernel {
    char name[NULL_NAME]; /* terminated */
    uint32_t n_insns, n_constants;
    uint32_t n_buffers; /* parameters; the first buffers */
    uint32_t n_allocs;  /* the kernel's own, after them */
    uint32_t n_scalars; /* parameters; the first locals */
    uint32_t n_locals;  /* all */
} null_kernel;

#endif
