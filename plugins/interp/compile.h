/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that compile PrimFuncs to the internal form. */
#ifndef TENON_INTERP_COMPILE_H
#define TENON_INTERP_COMPILE_H

#include "interp.h"

/* Where a value lies: lane i in register reg + i * step. */
typedef struct interp_opd {
    int32_t reg, step;
} interp_opd;

typedef struct compile_loop {
    TNB_VEC(uint32_t) breaks, continues;
} compile_loop;

typedef struct thread_tag {
    const char *tag;
    int32_t reg;    /* the thread's index */
    int32_t extent; /* register */
} thread_tag;

typedef struct compiler {
    interp *vm;
    tn_ctx *ctx;
    tnb_arena *arena;
    const char *name;
    TNB_VEC(interp_ins) ins;
    TNB_VEC(tn_loc) locs;
    TNB_VEC(interp_reg) consts;
    TNB_VEC(interp_bufinfo) bufs;
    tnb_ptrmap regs;       /* Var -> register (as a boxed int32_t) */
    tnb_ptrmap index;      /* Buffer -> number (boxed) */
    tnb_ptrmap undeclared; /* buffers used without a declaration: described anew at each use */
    tnb_ptrmap memo;       /* deep shared expressions of the present statement -> operand */
    int32_t top, max;      /* registers in use; most ever */
    int32_t slots;
    uint32_t ops;   /* operations since the last COUNT was opened */
    uint32_t guard; /* inside of something not always evaluated */
    compile_loop *loop;
    const thread_tag *threads; /* of the group being compiled */
    uint32_t n_threads;
    const tn_comm_reducer *reducer;
    bool async;    /* stores are asynchronous copies, */
    int32_t queue; /* of this queue */
    tn_loc loc;
    bool failed;
} compiler;

/* Returns with `failed` set after recording an error. */
void
compile_fail(compiler *c, const tn_node *at, const char *fmt, ...) TNB_PRINTF(3, 4);
uint32_t
compile_emit(compiler *c, interp_op op, int32_t a, int32_t b, int32_t d0, int32_t d1);
int32_t
compile_temp(compiler *c, int32_t n); /* n registers in a row */
int32_t
compile_const(compiler *c, interp_reg v);
int32_t
compile_const_int(compiler *c, int64_t v);
void
compile_set_reg(compiler *c, const tn_node *var, int32_t reg);
bool
compile_get_reg(const compiler *c, const tn_node *var, int32_t *reg);
static inline int32_t
compile_lane(interp_opd o, int32_t i)
{
    return o.reg + i * o.step;
}
interp_opd
compile_expr(compiler *c, const tn_expr *e);
int32_t
compile_scalar(compiler *c, const tn_expr *e); /* one lane */
void
compile_store(compiler *c, const tn_node *buffer, const tn_expr *value, tn_list indices);
void
compile_stmt(compiler *c, const tn_stmt *s);
/* The buffer's number; -1 after an error when it was not declared. */
int32_t
compile_buffer(compiler *c, const tn_node *buffer);
int32_t
compile_add_buffer(compiler *c, const tn_node *buffer);
/* A call for its effect or value that only the statement compiler knows; false: not one of these.
 */
bool
compile_effect(compiler *c, const tn_call *call, const tn_op *op, interp_opd *out);

/* ---- casync.c ---- */
/* Copies that a pipeline starts early, their groups, and waits for them. */
void
compile_async_part(compiler *c, const tn_attr_stmt *t);
/* A call that copies asynchronously, waits for such copies, or meets at a barrier of some threads; false: none of these. */
bool
compile_async_effect(compiler *c, const tn_call *call, const tn_op *op);

/* ---- meaning.c ---- */
/* What the block's tensor intrinsic means, where its implementation is nothing that the interpreter
 * runs; NULL: the body runs. */
const tn_stmt *
interp_meaning(tn_ctx *ctx, const tn_block *b);

#endif
