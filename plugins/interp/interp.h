/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's insides: the running state, values of graph functions, and what each file
 * gives. */
#ifndef TENON_INTERP_H
#define TENON_INTERP_H

#include "code.h"
#include "tenon/core/builder.h"
#include "tenon/core/registry.h"

typedef struct interp {
    tn_ctx *ctx;
    const tn_module *m;
    tn_eval_options *opt;
    tnb_arena *arena;           /* of the whole run: codes and small things */
    tnb_ptrmap codes;           /* PrimFunc -> interp_code */
    tnb_ptrmap scalars;         /* scalar expression -> interp_code */
    tnb_ptrmap constants;       /* tn_data -> interp_mem */
    tnb_strmap meanings;        /* name of a packed function -> tn_module of its meaning */
    tnb_ptrmap graph_allocs;    /* Function -> interp_val that it allocated */
    TNB_VEC(interp_mem *) mems; /* by id; NULL: free */
    TNB_VEC(struct interp_legal *) legal; /* operators legalized so far */
    uint64_t spent, budget;
    uint32_t depth;
} interp;

/* ---- memory (memory.c) ---- */
/* Zeroed memory, nothing of it written yet. NULL after recording an error. */
interp_mem *
interp_mem_new(interp *vm, uint64_t size, tn_loc loc);
interp_mem *
interp_mem_borrow(interp *vm, void *bytes, uint64_t size, bool readonly);
/* Nothing of it counts as written any more. False after recording an error. */
TNB_MUST_CHECK bool
interp_mem_forget(interp *vm, interp_mem *m, tn_loc loc);
void
interp_mem_ref(interp_mem *m);
void
interp_mem_unref(interp *vm, interp_mem *m);
/* Handles: memory number in the high bits, byte offset in the low 40. 0: null. */
static inline int64_t
interp_handle(const interp_mem *m, uint64_t offset)
{
    return m ? (int64_t)((uint64_t)m->id << 40 | (offset & (((uint64_t)1 << 40) - 1))) : 0;
}
interp_mem *
interp_handle_mem(interp *vm, int64_t handle, uint64_t *offset); /* NULL: none */
void
interp_mem_written(interp_mem *m); /* all of it counts as written */

/* ---- compiling and running PrimFuncs ---- */
/* NULL after recording an error. */
interp_code *
interp_compile(interp *vm, const char *name, const tn_prim_func *f);
/* Code with result registers for a scalar expression whose free variables are `vars`. */
interp_code *
interp_compile_scalar(interp *vm, const tn_expr *const *results, uint32_t n,
                      const tn_expr *const *vars, uint32_t n_vars);
bool
interp_exec(interp *vm, interp_frame *f);
bool
interp_frame_open(interp *vm, interp_frame *f, const interp_code *code);
void
interp_frame_close(interp *vm, interp_frame *f);

/* An argument of a PrimFunc: a tensor or a scalar. */
typedef struct interp_arg {
    interp_mem *mem; /* NULL: a scalar */
    uint64_t offset;
    tnb_dtype dtype;
    int32_t ndim;
    const int64_t *shape;
    interp_reg scalar; /* in the form of `dtype` */
} interp_arg;
/* ret and ret_dtype may be NULL. */
bool
interp_run_prim(interp *vm, const char *name, const tn_prim_func *f, const interp_arg *args,
                uint32_t n, interp_reg *ret, tn_loc loc);

/* dtypes: how a register holds them */
typedef enum interp_class {
    INTERP_INT,
    INTERP_FLT,
    INTERP_DBL,
    INTERP_PTR,
    INTERP_NO_CLASS
} interp_class;
interp_class
interp_class_of(tnb_dtype d);
interp_reg
interp_reg_of_double(tnb_dtype d, double v);
double
interp_reg_to_double(tnb_dtype d, interp_reg r);

/* ---- values of graph functions (value.c) ---- */
typedef enum interp_val_kind {
    INTERP_V_TENSOR,
    INTERP_V_SHAPE,
    INTERP_V_SCALAR,
    INTERP_V_STR,
    INTERP_V_DTYPE,
    INTERP_V_TUPLE,
    INTERP_V_FUNC,
    INTERP_V_EXTERN,
    INTERP_V_STORAGE,
    INTERP_V_NULL,
    INTERP_V_OTHER /* a node kept as it is */
} interp_val_kind;

typedef struct interp_val interp_val;
struct interp_val {
    uint32_t refs;
    uint32_t kind;
    interp_mem *mem; /* TENSOR, STORAGE */
    uint64_t offset;
    tnb_dtype dtype; /* TENSOR, SCALAR, DTYPE */
    int32_t ndim;    /* TENSOR, SHAPE; -1: tuple's */
    uint32_t n;      /* items of a TUPLE; bound arguments of a FUNC */
    interp_reg scalar;
    const tn_node *node;  /* FUNC: Function, PrimFunc; STR, EXTERN, OTHER: the node */
    const char *name;     /* FUNC: its global name or NULL */
    int64_t *shape;       /* malloc'd */
    interp_val **items;   /* malloc'd */
    const tn_node **vars; /* FUNC: variables of outer scopes, values behind the n bound arguments */
    uint32_t n_captured;
    const tn_module *m; /* FUNC: the module it belongs to */
};
interp_val *
interp_val_new(interp *vm, interp_val_kind kind);
interp_val *
interp_val_ref(interp_val *v);
void
interp_val_unref(interp *vm, interp_val *v); /* NULL is fine */
/* A fresh tensor; NULL after recording an error. */
interp_val *
interp_tensor_new(interp *vm, tnb_dtype d, int32_t ndim, const int64_t *shape, tn_loc loc);
interp_val *
interp_tensor_of(interp *vm, interp_mem *m, uint64_t offset, tnb_dtype d, int32_t ndim,
                 const int64_t *shape);
interp_val *
interp_shape_val(interp *vm, int32_t n, const int64_t *dims);
interp_val *
interp_int_val(interp *vm, int64_t v);
/* Room for n values, all NULL, to be freed; NULL after recording the error. */
interp_val **
interp_room(interp *vm, size_t n, tn_loc loc);
interp_val *
interp_tuple_val(interp *vm, interp_val *const *items, uint32_t n); /* references taken over */
bool
interp_val_bytes(const interp_val *t, uint64_t *bytes);
/* Values from leaf expressions and back. `inplace`: a Constant's own bytes are used and may be
 * written. */
interp_val *
interp_val_of_expr(interp *vm, const tn_expr *e, bool inplace);
const tn_expr *
interp_expr_of_val(interp *vm, const interp_val *v);
/* "tensor float32[2, 3]" in the scratch arena. */
const char *
interp_describe(interp *vm, const interp_val *v);

/* ---- graph functions (graph.c) ---- */
typedef struct interp_env {
    tnb_ptrmap map; /* Var -> interp_val, owned */
    tnb_arena *arena;
    const char *func; /* name, for messages */
    const tn_module *m;
} interp_env;
/* References of args stay with the caller. NULL after recording an error. */
interp_val *
interp_call_val(interp *vm, interp_val *f, interp_val *const *args, uint32_t n, tn_loc loc);
/* `closure`: the value holding captured variables, or NULL. */
interp_val *
interp_call_func(interp *vm, const tn_module *m, const char *name, const tn_node *func,
                 interp_val *const *args, uint32_t n, const interp_val *closure, tn_loc loc);
/* Outputs of a call in destination-passing style get the value of the function that stands for what
 * is called. False after recording an error. */
TNB_MUST_CHECK bool
interp_copy_into(interp *vm, const interp_env *env, const tn_call *c, interp_val *dst,
                 const interp_val *src);
/* A PrimFunc in destination-passing style on values; scalars of a last shape are passed one by one.
 */
bool
interp_call_prim(interp *vm, const char *name, const tn_prim_func *f, interp_val *const *args,
                 uint32_t n, interp_val **ret, tn_loc loc);
interp_val *
interp_eval_expr(interp *vm, interp_env *env, const tn_expr *e);
bool
interp_eval_dim(interp *vm, interp_env *env, const tn_expr *e, int64_t *out);
bool
interp_match_type(interp *vm, interp_env *env, const tn_type *t, const interp_val *v,
                  const char *what, tn_loc loc);
/* A tensor (tuple of tensors) of the given type, made for a destination-passing call. */
interp_val *
interp_alloc_of_type(interp *vm, interp_env *env, const tn_type *t, tn_loc loc);

/* ---- operators (structural.c, builtin.c, foreign.c, legal.c) ---- */
/* *handled false: not a structural operator. */
/* All of these return a new reference, or NULL after recording an error. */
interp_val *
interp_structural(interp *vm, interp_env *env, const tn_call *c, const tn_op *op, bool *handled);
interp_val *
interp_builtin(interp *vm, interp_env *env, const char *name, interp_val *const *args, uint32_t n,
               const tn_call *c);
/* A packed function of the evaluator's caller; *known false: it knows none of this name. */
interp_val *
interp_foreign(interp *vm, interp_env *env, const char *name, interp_val *const *args, uint32_t n,
               const tn_call *c, bool *known);
/* Records that an assertion does not hold, with its values put into the text; NULL. */
interp_val *
interp_assertion_failed(interp *vm, interp_env *env, const tn_call *c, const char *format,
                        interp_val *const *values, uint32_t n);
interp_val *
interp_legalized(interp *vm, interp_env *env, const tn_call *c, const tn_op *op);

/* ---- mbarrier.c: barriers in shared memory, and which threads go on ---- */
/* False after recording an error. */
bool
interp_mbarrier(interp_frame *f, tn_loc loc, interp_mbarrier_op op, int64_t handle, int64_t n);
/* Whether the phase of this parity is complete; false with *ok false after recording an error. */
bool
interp_mbarrier_passed(interp_frame *f, tn_loc loc, int64_t handle, int64_t parity, bool *ok);
/* Of the threads of a group none can go on by itself. Those whose barrier is complete run, or an asynchronous copy is completed; at:
 * set where all of them exchange values there. False after recording what they wait for. */
bool
interp_release(interp_frame *t, uint64_t n, const interp_ins **at);

/* ---- late.c: asynchronous copies ---- */
enum { INTERP_BULK = 15 }; /* the queue of bulk copies */
/* The thread's copies in front of this have to be complete before it happens to the barrier; false after recording an error. */
bool
interp_late_arrive(interp_frame *f, tn_loc loc, interp_mbarrier_op op, int64_t handle,
                   int64_t bytes);
/* Completes the oldest of these, and the copies that it is for; *ok false after recording an error. False: there is none. */
bool
interp_late_step(interp_frame *f, bool *ok);
/* Before and behind the store of an element of `bytes`: it is undone, and made by a wait. False after recording an error. */
bool
interp_late_open(interp_frame *f, const interp_buf *b, int64_t element, uint32_t bytes);
bool
interp_late_close(interp_frame *f, const interp_buf *b, int64_t element, uint32_t bytes,
                  uint32_t queue);
bool
interp_late_commit(interp_frame *f, uint32_t queue);
void
interp_late_wait(interp_frame *f, uint32_t queue, int64_t in_flight);
void
interp_late_free(interp_frame *f);

#endif
