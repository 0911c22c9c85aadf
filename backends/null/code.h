/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The kernel code of the null device, shared by both halves: a stack machine small enough to be
 * read in one sitting.
 *
 * A blob is a null_file, then one null_kernel behind the other. Values on the
 * stack and in locals are 64 bits: an integer or a double; an instruction's dtype says which, and
 * to what its result is rounded or wrapped.
 */
#ifndef TENON_NULL_CODE_H
#define TENON_NULL_CODE_H

#include "tenon/base/dtype.h"
#include "tenon/base/vmcode.h"

#define NULL_MAGIC "NULLCODE"

/* name, values taken from the stack, values put on it, what `arg` is. ADD to GE stand in the order of
 * tn_kind (ORDER KIND), which codegen.c relies on. */
/* clang-format off */
#define NULL_OPS(X) \
    X(CONST, 0, 1, ANY) \
    X(GET, 0, 1, LOCAL) \
    X(SET, 1, 0, LOCAL) \
    X(LOAD, 1, 1, BUFFER) /* index -> element */ \
    X(STORE, 2, 0, BUFFER) /* value, index */ \
    X(ALLOC, 1, 0, BUFFER) /* bytes: memory for a buffer of the kernel's own */ \
    X(JUMP, 0, 0, TARGET) \
    X(JUMP_IF_NOT, 1, 0, TARGET) \
    X(ASSERT, 1, 0, ANY) \
    X(END, 0, 0, ANY) \
    X(ADD, 2, 1, ANY) \
    X(SUB, 2, 1, ANY) \
    X(MUL, 2, 1, ANY) \
    X(DIV, 2, 1, ANY) \
    X(MOD, 2, 1, ANY) \
    X(FLOOR_DIV, 2, 1, ANY) \
    X(FLOOR_MOD, 2, 1, ANY) \
    X(MIN, 2, 1, ANY) \
    X(MAX, 2, 1, ANY) \
    X(EQ, 2, 1, ANY) \
    X(NE, 2, 1, ANY) \
    X(LT, 2, 1, ANY) \
    X(LE, 2, 1, ANY) \
    X(GT, 2, 1, ANY) \
    X(GE, 2, 1, ANY) \
    X(BIT_AND, 2, 1, ANY) \
    X(BIT_OR, 2, 1, ANY) \
    X(BIT_XOR, 2, 1, ANY) \
    X(SHL, 2, 1, ANY) \
    X(SHR, 2, 1, ANY) \
    X(BIT_NOT, 1, 1, ANY) \
    X(ABS, 1, 1, ANY) \
    X(NOT, 1, 1, ANY) /* logical */ \
    X(CAST, 1, 1, ANY) /* arg: from this dtype (TNB_VM_DTYPE) */ \
    X(MATH1, 1, 1, ANY) /* arg: tnb_vm_math */ \
    X(MATH2, 2, 1, ANY) \
    X(INDEX, 2, 1, ANY) /* index, extent -> index, which is refused unless it is in [0, extent); arg: 1 if negative ones count \
                           from the end, and twice the number of the check */
/* clang-format on */

enum null_op {
#define X(name, takes, gives, arg) NULL_##name,
    NULL_OPS(X)
#undef X
        NULL_N_OPS
};
enum null_arg { NULL_ANY, NULL_LOCAL, NULL_BUFFER, NULL_TARGET };

typedef union null_value {
    int64_t i;
    uint64_t u;
    double f;
} null_value;

typedef struct null_insn {
    uint16_t op;
    uint8_t code, bits; /* dtype of operands; comparisons give 0 or 1 */
    uint32_t arg;
    null_value value; /* of CONST */
} null_insn;

typedef struct null_file {
    char magic[8];
    uint32_t n_kernels, reserved;
} null_file;

enum { NULL_NAME = 120, NULL_MAX_STACK = 256, NULL_MAX_LOCALS = 4096, NULL_MAX_BUFFERS = 256 };
typedef struct null_kernel {
    char name[NULL_NAME]; /* terminated */
    uint32_t n_insns;
    uint32_t n_buffers; /* parameters; the first buffers */
    uint32_t n_allocs;  /* the kernel's own, after them */
    uint32_t n_scalars; /* parameters; the first locals */
    uint32_t n_locals;  /* all */
    uint32_t reserved;
    null_insn insns[];
} null_kernel;

#endif
