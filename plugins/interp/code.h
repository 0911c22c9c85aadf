/* SPDX-License-Identifier: Apache-2.0 */
/* The internal form of a PrimFunc: a register machine.
 *
 * A register holds one lane: integers and bool as int64 in the canonical form of their dtype (sign-
 * or zero-extended), float32 and the narrower floats as float, float64 as double, handles as a
 * memory's number and a byte offset. Literals stand in registers below zero. A frame has registers
 * and buffer descriptors; a group of threads between barriers has one frame a thread.
 */
#ifndef TENON_INTERP_CODE_H
#define TENON_INTERP_CODE_H

#include "tenon/core/eval.h"
#include "tenon/core/op.h"
#include "tenon/core/walk.h"

enum { INTERP_DIMS = 16, INTERP_CALL_DEPTH = 64, INTERP_MAX_THREADS = 4096 };

/* Memory types: how an element lies in memory, the register's field that holds it, and the conversions from and to that. Others go
 * through tnb_load_* and tnb_store_*. ORDER MEMTYPE */
#define INTERP_SAME(v) (v)
#define INTERP_MEMTYPES(M)                                          \
    M(I8, int8_t, i, INTERP_SAME, INTERP_SAME)                      \
    M(U8, uint8_t, i, INTERP_SAME, INTERP_SAME)                     \
    M(I16, int16_t, i, INTERP_SAME, INTERP_SAME)                    \
    M(U16, uint16_t, i, INTERP_SAME, INTERP_SAME)                   \
    M(I32, int32_t, i, INTERP_SAME, INTERP_SAME)                    \
    M(U32, uint32_t, i, INTERP_SAME, INTERP_SAME)                   \
    M(I64, int64_t, i, INTERP_SAME, INTERP_SAME)                    \
    M(F16, uint16_t, f, interp_half_to_float, interp_float_to_half) \
    M(F32, float, f, INTERP_SAME, INTERP_SAME)                      \
    M(F64, double, d, INTERP_SAME, INTERP_SAME)

/* Operations. Operands in the comments: registers unless said otherwise. */
#define INTERP_OPS(X)                                                                            \
    X(END) /* end of the function or of a thread's part */                                       \
    X(RET) /* result a */                                                                        \
    X(JMP) /* to imm */                                                                          \
    X(JZ)  /* a == 0: to imm */                                                                  \
    X(JNZ)                                                                                       \
    X(JGE)         /* a >= b: to imm */                                                          \
    X(LOOP)        /* ++a < b: to imm */                                                         \
    X(COUNT)       /* imm operations follow */                                                   \
    X(ASSERT)      /* a, or the text ptr is reported with c numbers from b on */                 \
    X(INDEX)       /* a = index b in [0, c), wrapped if d, or what ptr names is refused */       \
    X(FORK)        /* a: first thread index, b: how many, c: first extent; threads run to imm */ \
    X(BARRIER)     /* wait for all threads; a: for those of a warp */                            \
    X(NAMED)       /* wait for c threads at barrier b, or just come there if a */                \
    X(MBARRIER)    /* barrier at a in shared memory: b, as the interp_mbarrier_op c says */      \
    X(MWAIT)       /* wait until the phase of parity b of that at a is complete */               \
    X(EXCHANGE)    /* wait, then ptr says what is exchanged */                                   \
    X(LATE_OPEN)   /* element c of buffer b is stored next, */                                   \
    X(LATE_CLOSE)  /* and is kept until a wait of queue a completes it */                        \
    X(LATE_COMMIT) /* queue a: a group ends */                                                   \
    X(LATE_WAIT)   /* queue a: all groups but the last b */                                      \
    X(ALLOC)       /* buffer a, handle out b, slot c, first extent d */                          \
    X(BUFFER)      /* buffer a, handle b, first extent c, element offset d */                    \
    X(PRIVATE)     /* buffer a, handle b: this thread's own copy in slot c */                    \
    X(CALL)        /* ptr: interp_callee; a result, b first argument */                          \
    X(MATH)        /* a = ptr(b ... b+c-1), floats of kind d */                                  \
    X(HELPER)      /* a = ptr(&b), imm: parameter */                                             \
    X(MOV)                                                                                       \
    X(ADD)                                                                                       \
    X(SUB)                                                                                       \
    X(MUL)                                                                                       \
    X(ADDI32)                                                                                    \
    X(SUBI32)                                                                                    \
    X(MULI32)                                                                                    \
    X(TDIV)                                                                                      \
    X(TMOD)                                                                                      \
    X(FDIV)                                                                                      \
    X(FMOD)                                                                                      \
    X(UDIV)                                                                                      \
    X(UMOD)                                                                                      \
    X(MIN)                                                                                       \
    X(MAX)                                                                                       \
    X(UMIN)                                                                                      \
    X(UMAX)                                                                                      \
    X(EQ)                                                                                        \
    X(NE)                                                                                        \
    X(LT)                                                                                        \
    X(LE)                                                                                        \
    X(ULT)                                                                                       \
    X(ULE)                                                                                       \
    X(AND)                                                                                       \
    X(OR)                                                                                        \
    X(XOR)                                                                                       \
    X(BNOT)                                                                                      \
    X(NOT)                                                                                       \
    X(SHL) /* c checked against d bits */                                                        \
    X(SHR)                                                                                       \
    X(USHR)                                                                                      \
    X(ABS)                                                                                       \
    X(SELECT) /* a = b ? c : d */                                                                \
    X(WRAPS)  /* b to d bits, signed */                                                          \
    X(WRAPU)                                                                                     \
    X(TOBOOL)                                                                                    \
    X(ADDF)                                                                                      \
    X(SUBF)                                                                                      \
    X(MULF)                                                                                      \
    X(DIVF)                                                                                      \
    X(FDIVF)                                                                                     \
    X(FMODF)                                                                                     \
    X(MINF)                                                                                      \
    X(MAXF)                                                                                      \
    X(EQF)                                                                                       \
    X(NEF)                                                                                       \
    X(LTF)                                                                                       \
    X(LEF)                                                                                       \
    X(ADDD)                                                                                      \
    X(SUBD)                                                                                      \
    X(MULD)                                                                                      \
    X(DIVD)                                                                                      \
    X(FDIVD)                                                                                     \
    X(FMODD)                                                                                     \
    X(MIND)                                                                                      \
    X(MAXD)                                                                                      \
    X(EQD)                                                                                       \
    X(NED)                                                                                       \
    X(LTD)                                                                                       \
    X(LED)                                                                                       \
    X(ABSF)                                                                                      \
    X(ABSD)                                                                                      \
    X(I2F)                                                                                       \
    X(U2F)                                                                                       \
    X(I2D)                                                                                       \
    X(U2D)                                                                                       \
    X(F2D)                                                                                       \
    X(D2F)                                                                                       \
    X(D2I)     /* truncated, saturated */                                                        \
    X(D2U)     /* the same, unsigned */                                                          \
    X(ROUND)   /* float b to the format imm (a dtype) */                                         \
    X(ROUND16) /* float b to float16 */                                                          \
    X(ROUNDD)  /* double b to float in the format imm */                                         \
    X(BITS)    /* a = bits of b: from dtype c to d (packed) */                                   \
    X(LIN0)    /* a = c * stride, checked: buffer b, dimension d */                              \
    X(LIN)     /* a += c * stride */                                                             \
    X(LANE)    /* a = b * imm + c */                                                             \
    X(ADDR)    /* a = handle of element c of buffer b */                                         \
    X(MOVEPTR) /* a = handle b + c * imm bytes */                                                \
    X(LDX)                                                                                       \
    X(STX)

typedef enum interp_op {
#define X(name) INTERP_##name,
    INTERP_OPS(X)
#undef X
#define M(name, ctype, field, get, put)                                                            \
    INTERP_LD1_##name, INTERP_LD2_##name, INTERP_LDF_##name, INTERP_ST1_##name, INTERP_ST2_##name, \
        INTERP_STF_##name,
        INTERP_MEMTYPES(M)
#undef M
            INTERP_N_OPS
} interp_op;

typedef union interp_reg {
    int64_t i;
    uint64_t u;
    double d;
    float f;
} interp_reg;

typedef struct interp_ins {
    const void *go; /* the operation's place in the machine, once linked */
    int32_t op, a, b, c, d;
    union {
        int64_t imm;
        const void *ptr;
        double (*math)(const double *, int);
        const char *(*helper)(interp_reg *r, int32_t a, int32_t b, int64_t param);
    } x;
} interp_ins;

/* ---- memory ---- */
typedef struct interp_mem {
    uint32_t refs, id;
    bool readonly, borrowed;
    uint64_t size;
    uint8_t *bytes;
    uint8_t *shadow; /* a bit a byte: written; NULL: all of it */
} interp_mem;

typedef struct interp_buf {
    uint8_t *bytes, *shadow; /* of the memory */
    uint64_t base;           /* byte offset of element 0 */
    uint64_t ext[INTERP_DIMS];
    int64_t stride[INTERP_DIMS]; /* in elements */
    interp_mem *mem;
    const struct interp_bufinfo *info;
} interp_buf;

/* What the code knows of a buffer. */
typedef struct interp_bufinfo {
    const tn_buffer *node;
    tnb_dtype elem; /* one lane */
    uint32_t lanes, bytes;
    bool has_strides, is_shared;
    int32_t ndim;
} interp_bufinfo;

#define INTERP_NO_REG INT32_MIN

typedef struct interp_code interp_code;

/* A call of another PrimFunc of the module. */
typedef struct interp_callee {
    const tn_node *func;
    uint32_t n_args;
} interp_callee;

/* A value exchanged between the threads of a group. */
typedef struct interp_exchange {
    enum { INTERP_REDUCE, INTERP_SHUFFLE } kind;
    int32_t n;         /* values */
    int32_t src, cond; /* first source register; condition (reduce), lane (shuffle) */
    int32_t dst;       /* first result register */
    const tn_comm_reducer *reducer;
    interp_code *combine; /* params: lhs..., rhs...; results in `results` */
    const int32_t *over;  /* registers of the thread indices that the reduction runs over */
    uint32_t n_over;
    int32_t width;       /* register of the shuffle's width */
    int mode;            /* shuffle: 0 lane, 1 up, 2 down, 3 xor */
    const int32_t *tids; /* all thread index registers of the group */
    uint32_t n_tids;
} interp_exchange;

struct interp_code {
    const char *name;
    interp_ins *at;
    tn_loc *loc;
    uint32_t n;
    bool linked;
    int32_t n_regs, n_consts, n_bufs, n_slots;
    interp_reg *consts; /* of registers -n_consts ... -1 */
    const interp_bufinfo *bufs;
    int32_t *params; /* register of each parameter (handle or scalar) */
    int32_t *
        shape; /* pairs (argument << 8 | dimension, register): extents of arguments; ends with -1 */
    int32_t results; /* first result register of a combiner */
    const tn_prim_func *func;
};

typedef struct interp_late interp_late; /* late.c */

typedef enum interp_mbarrier_op {
    INTERP_MBARRIER_INIT,
    INTERP_MBARRIER_ARRIVE,
    INTERP_MBARRIER_EXPECT,      /* bytes, and arrive */
    INTERP_MBARRIER_COMPLETE,    /* bytes */
    INTERP_MBARRIER_LATE_ARRIVE, /* once the copies up to here are complete */
    INTERP_MBARRIER_LATE_BYTES   /* complete bytes once the bulk copies up to here are */
} interp_mbarrier_op;

enum { INTERP_NAMED_BARRIERS = 16, INTERP_WARP = 32 };

/* Of a thread of a group: whether it may go on. */
typedef enum interp_state { INTERP_RUNS, INTERP_WAITS, INTERP_ENDED } interp_state;

typedef struct interp_frame {
    struct interp *vm;
    const interp_code *code;
    interp_reg *store, *r; /* r = store + n_consts */
    interp_buf *b;
    interp_mem **slots;
    struct interp_frame *group; /* of a thread: the frame that forked */
    interp_reg ret;
    bool returned;
    uint32_t pc; /* where a waiting thread goes on */
    interp_state state;
    const interp_ins *waits_at;
    bool passed;       /* a barrier in shared memory, since it last began to run */
    uint32_t *arrived; /* of the group: threads that came to a barrier with a number and went on */
    interp_late *late; /* asynchronous copies; NULL: none yet */
} interp_frame;

#endif
