/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of the virtual machine: host code is VM code.
 *
 * A function has two banks of registers: scalars (64 bits: an integer or a double) and values
 * (tagged references: tensors, shapes, tuples ...). Parameters arrive in the first value registers;
 * the others start as null, scalars as 0. Integers narrower than 64 bits are kept sign- or
 * zero-extended; EXT makes them so again after arithmetic.
 *
 * An instruction is 16 bytes: opcode, a 16-bit `aux`, and three 32-bit fields a, b, c whose meaning
 * the table below gives. Argument lists lie in the function-independent operand pool: `aux`
 * operands from index c on; an operand is a register or a constant (see TNB_VM_OPERAND). The loader
 * verifies every index, target and list, so execution needs no such check; what depends on data
 * (tags, ranks, bounds of host loads and stores, division by zero) is checked as it runs.
 */
#ifndef TENON_BASE_VMCODE_H
#define TENON_BASE_VMCODE_H

#include "tenon/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a field is used and checked:
 *   NO  unused (zero)       SD  scalar register written   SS  scalar register read
 *   VD  value register written     VS  value register read       T   instruction of this function
 *   FN  function            PK  packed function     KN  kernel      CO  constant     ST  text DV
 * device IM  immediate           L   first operand of a list of `aux`
 */
/* ORDER VM_OP: the interpreter's jump table follows; grows at the end only (a minor version of the
 * format). name       a   b   c  */
#define TNB_VM_OPS(X)                                                                              \
    X(NOP, NO, NO, NO)                                                                             \
    /* scalars; LDI: low and high half of the value */                                             \
    X(LDI, SD, IM, IM)                                                                             \
    X(MOVS, SD, SS, NO)                                                                            \
    X(ADD, SD, SS, SS)                                                                             \
    X(SUB, SD, SS, SS)                                                                             \
    X(MUL, SD, SS, SS)                                                                             \
    X(DIV, SD, SS, SS) /* truncating; division by zero is an error */                              \
    X(MOD, SD, SS, SS)                                                                             \
    X(FLOORDIV, SD, SS, SS)                                                                        \
    X(FLOORMOD, SD, SS, SS)                                                                        \
    X(DIVU, SD, SS, SS)                                                                            \
    X(MODU, SD, SS, SS)                                                                            \
    X(MIN, SD, SS, SS)                                                                             \
    X(MAX, SD, SS, SS)                                                                             \
    X(MINU, SD, SS, SS)                                                                            \
    X(MAXU, SD, SS, SS)                                                                            \
    X(AND, SD, SS, SS)                                                                             \
    X(OR, SD, SS, SS)                                                                              \
    X(XOR, SD, SS, SS)                                                                             \
    X(SHL, SD, SS, SS) /* shifts take the count modulo 64 */                                       \
    X(SHR, SD, SS, SS)                                                                             \
    X(SHRU, SD, SS, SS)                                                                            \
    X(EQ, SD, SS, SS)                                                                              \
    X(NE, SD, SS, SS)                                                                              \
    X(LT, SD, SS, SS)                                                                              \
    X(LE, SD, SS, SS)                                                                              \
    X(LTU, SD, SS, SS)                                                                             \
    X(LEU, SD, SS, SS)                                                                             \
    X(NOT, SD, SS, NO) /* logical: 0 or 1 */                                                       \
    X(EXT, SD, SS, NO) /* aux: bits (1..64), + 256 for sign extension */                           \
    X(FADD, SD, SS, SS)                                                                            \
    X(FSUB, SD, SS, SS)                                                                            \
    X(FMUL, SD, SS, SS)                                                                            \
    X(FDIV, SD, SS, SS)                                                                            \
    X(FMIN, SD, SS, SS) /* FMIN, FMAX: NaN if either is */                                         \
    X(FMAX, SD, SS, SS)                                                                            \
    X(FEQ, SD, SS, SS)                                                                             \
    X(FNE, SD, SS, SS)                                                                             \
    X(FLT, SD, SS, SS)                                                                             \
    X(FLE, SD, SS, SS)                                                                             \
    X(FROUND, SD, SS, NO) /* to the float format in aux (TNB_VM_DTYPE) */                          \
    X(I2F, SD, SS, NO)                                                                             \
    X(U2F, SD, SS, NO)                                                                             \
    X(F2I, SD, SS, NO) /* truncates; out of range saturates, NaN gives 0 */                        \
    X(F2U, SD, SS, NO)                                                                             \
    X(FMATH1, SD, SS, NO) /* aux: tnb_vm_math */                                                   \
    X(FMATH2, SD, SS, SS)                                                                          \
    X(SEL, SD, SS, SS) /* a = a ? b : c */                                                         \
    /* control */                                                                                  \
    X(JMP, T, NO, NO)                                                                              \
    X(JZ, SS, T, NO)                                                                               \
    X(JNZ, SS, T, NO)                                                                              \
    X(JLT, SS, SS, T)                                                                              \
    X(JGE, SS, SS, T)                                                                              \
    X(ASSERT, SS, ST, L) /* when a is 0: fails with the text, the list's numbers for its "{}" */   \
    X(TAIL, NO, NO, L)   /* calls itself with new arguments: a jump */                             \
    X(RET, VS, NO, NO)                                                                             \
    /* values */                                                                                   \
    X(KILL, VD, NO, NO) /* a = null */                                                             \
    X(MOVV, VD, VS, NO)                                                                            \
    X(CONST, VD, CO, NO)                                                                           \
    X(BOXI, VD, SS, NO)                                                                            \
    X(BOXF, VD, SS, NO)                                                                            \
    X(BOXB, VD, SS, NO)                                                                            \
    X(UNBOXI, SD, VS, NO) /* of an int, a bool, or a tensor of one integer */                      \
    X(UNBOXF, SD, VS, NO)                                                                          \
    X(TRUTH, SD, VS, NO)  /* of a condition: scalar, or a tensor of one element */                 \
    X(SHAPE, VD, NO, L)   /* list: integers */                                                     \
    X(DIM, SD, VS, IM)    /* extent c of a tensor or shape */                                      \
    X(STRIDE, SD, VS, IM) /* in elements */                                                        \
    X(TUPLE, VD, NO, L)                                                                            \
    X(GET, VD, VS, IM)                                                                             \
    X(LOADI, SD, VS, SS) /* element c of a host tensor; aux: its dtype (TNB_VM_DTYPE) */           \
    X(LOADF, SD, VS, SS)                                                                           \
    X(STOREI, SS, VS, SS) /* element c of tensor b = a */                                          \
    X(STOREF, SS, VS, SS)                                                                          \
    X(ALLOCS, VD, SS, DV) /* storage of b bytes on device c */                                     \
    X(ALLOCT, VD, IM, L) /* list: storage, byte offset, then a shape value or extents; b: dtype */ \
    X(HOSTT, VD, IM, L)  /* a zeroed host tensor; list: extents; b: dtype */                       \
    X(CALL, VD, FN, L)                                                                             \
    X(CALLV, VD, VS, L) /* of a closure */                                                         \
    X(CALLP, VD, PK, L)                                                                            \
    /* LAUNCH: for each parameter in order: memory, a tensor; a scalar; of a tensor map the */     \
    /* tensor, extents, strides (elements) of all axes but the last; nothing where the runtime */  \
    /* gives it. Then by the kernel's flags grid[3], block[3]; cluster[3]; shared bytes. */        \
    /* Bit i of a: what parameter i holds is not needed, nothing was written to it yet */          \
    X(LAUNCH, IM, KN, L)                                                                           \
    /* sum, difference, product. Where 64 bits do not hold it: an error, */                        \
    /* or, if aux is not 0, execution goes on aux instructions further */                          \
    X(ADDFIT, SD, SS, SS)                                                                          \
    X(SUBFIT, SD, SS, SS)                                                                          \
    X(MULFIT, SD, SS, SS)                                                                          \
    X(FIT, SD, SS, IM) /* a = b; the same where aux bits (1..64) do not hold it; c: how far */

typedef enum tnb_vm_op {
#define TNB_VM_X(name, a, b, c) TNB_VM_##name,
    TNB_VM_OPS(TNB_VM_X)
#undef TNB_VM_X
        TNB_VM_N_OPS
} tnb_vm_op;

typedef struct tnb_vm_insn {
    uint16_t op, aux;
    uint32_t a, b, c;
} tnb_vm_insn;

/* Operands of lists. The top two bits say what the rest indexes. */
enum {
    TNB_VM_VALUE = 0, /* value register */
    TNB_VM_INT = 1,   /* scalar register holding an integer */
    TNB_VM_FLOAT = 2, /* scalar register holding a double */
    TNB_VM_CONST_ = 3 /* entry of the constant table */
};
#define TNB_VM_OPERAND(kind, index) ((uint32_t)(kind) << 30 | (uint32_t)(index))
#define TNB_VM_OPERAND_KIND(o) ((o) >> 30)
#define TNB_VM_OPERAND_INDEX(o) ((o)&0x3fffffffu)

/* A scalar dtype in 16 bits. */
#define TNB_VM_DTYPE(d) ((uint16_t)((d).code | (d).bits << 8))
/* A dtype with lanes in 32 bits, as an operand holds it, and back. */
static inline uint32_t
tnb_vm_from_dtype(tnb_dtype d)
{
    return TNB_VM_DTYPE(d) | (uint32_t)d.lanes << 16;
}
static inline tnb_dtype
tnb_vm_to_dtype(uint32_t operand)
{
    tnb_dtype d;
    d.code = (uint8_t)operand;
    d.bits = (uint8_t)(operand >> 8);
    d.lanes = (uint16_t)(operand >> 16);
    return d;
}

/* ORDER VM_MATH */
/* clang-format off */
#define TNB_VM_MATHS(X) \
    X(exp, 1) X(exp2, 1) X(exp10, 1) X(log, 1) X(log2, 1) X(log10, 1) X(log1p, 1) \
    X(sqrt, 1) X(rsqrt, 1) X(sin, 1) X(cos, 1) X(tan, 1) X(sinh, 1) X(cosh, 1) \
    X(tanh, 1) X(asin, 1) X(acos, 1) X(atan, 1) X(asinh, 1) X(acosh, 1) X(atanh, 1) X(erf, 1) \
    X(floor, 1) X(ceil, 1) X(round, 1) X(nearbyint, 1) X(trunc, 1) X(fabs, 1) X(sigmoid, 1) \
    X(isnan, 1) X(isinf, 1) X(isfinite, 1) X(pow, 2) X(fmod, 2) X(atan2, 2) X(hypot, 2) \
    X(copysign, 2) X(nextafter, 2) X(ldexp, 2)
/* clang-format on */
typedef enum tnb_vm_math {
#define TNB_VM_X(name, n) TNB_VM_MATH_##name,
    TNB_VM_MATHS(TNB_VM_X)
#undef TNB_VM_X
        TNB_VM_N_MATHS
} tnb_vm_math;

#ifdef __cplusplus
}
#endif
#endif
