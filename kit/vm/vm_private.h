/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make VM code share. */
#ifndef TENON_KIT_VM_PRIVATE_H
#define TENON_KIT_VM_PRIVATE_H

#include "tenon/core/text.h"
#include "tenon/kit/vm.h"

#define NO_REG UINT32_MAX

/* A function of the module and its place in the program. */
struct callee {
    const tn_node *func;      /* Function or PrimFunc */
    const tnk_kernel *kernel; /* of PrimFuncs that run on the device */
    bool fallback;            /* on the device that stands in */
    uint32_t kernel_index;
    uint32_t function; /* VM function; NO_REG: a kernel without one (made when used as a value) */
    const char *name;
};

struct vm_gen {
    tn_ctx *ctx;
    const tnk_vm_input *in;
    tnk_program *p;
    tnb_arena *arena;                  /* scratch */
    tnb_strmap callees;                /* name -> struct callee */
    tnb_strmap publics;                /* names of functions that users call */
    tnb_strmap kernels;                /* name of a tensor program -> index + 1 */
    TNB_VEC(struct callee *) wrappers; /* kernels to be made callable as values */
    bool failed;
    TNB_VEC(uint32_t) fits; /* instructions whose result has to fit, of the expression at hand */
    bool may_wrap;          /* of numbers for a message it does not matter whether they fit */
    /* of the function being made */
    const char *function;
    tnb_ptrmap scalars;            /* Var -> scalar register + 1 */
    tnb_ptrmap values;             /* Var (graph) or Buffer (host) -> operand + 1 */
    tnb_ptrmap consts;             /* Constant -> index + 1 */
    tnb_ptrmap depths;             /* Var -> depth of If at which its register was made + 1 */
    tnb_ptrmap fresh;              /* Vars of tensors just allocated, until they are used */
    TNB_VEC(uint32_t) free_values; /* registers of dead values, made at the current depth */
    tnb_ptrmap on_device;          /* host: data Vars of buffers that kernels are given */
    uint32_t depth, self, n_params;
    TNB_VEC(uint32_t) breaks, continues; /* jumps of the innermost loop to patch */
};

/* Records an error at the node and remembers that there was one. */
void
vm_error(struct vm_gen *g, const tn_node *at, const char *fmt, ...) TNB_PRINTF(3, 4);

/* ---- scalar.c ---- */
/* Code for a scalar expression; the register that holds it. */
uint32_t
vm_scalar(struct vm_gen *g, const tn_expr *e);
/* a * b; the program fails where 64 bits do not hold it. */
uint32_t
vm_product(struct vm_gen *g, uint32_t a, uint32_t b);
uint32_t
vm_load_int(struct vm_gen *g, int64_t v);
/* Index of an element in the buffer's memory. */
uint32_t
vm_element(struct vm_gen *g, const tn_node *at, const tn_buffer *b, tn_list indices);
uint32_t
vm_buffer_value(struct vm_gen *g, const tn_node *at, const tn_node *buffer);
/* Registers of variables. */
void
vm_define_scalar(struct vm_gen *g, const tn_node *var, uint32_t reg);

/* ---- host.c ---- */
void
vm_host_func(struct vm_gen *g, const struct callee *c);
/* Ends in an error unless a condition holds. */
void
vm_check(struct vm_gen *g, const tn_assert_stmt *s);

/* ---- graph.c ---- */
void
vm_graph_func(struct vm_gen *g, const struct callee *c);
/* A function that takes the PrimFunc's parameters and launches its kernel. */
void
vm_wrapper(struct vm_gen *g, struct callee *c);
/* Of the tnb_tno_kernel. */
uint32_t
vm_kernel_flags(const tnk_kernel *k);
/* The parameter of the PrimFunc that is its index-th buffer, or scalar; UINT32_MAX: it has fewer. */
uint32_t
vm_argument(const tn_prim_func *f, bool buffer, uint32_t index);
/* Code that launches a kernel; args: one operand for each parameter of the PrimFunc. fresh: which of them
 * hold nothing yet; NULL: none. */
void
vm_launch(struct vm_gen *g, const tn_node *at, const struct callee *c, const uint32_t *args,
          const bool *fresh, uint32_t n);
/* The function of the module; NULL after recording an error. */
struct callee *
vm_callee(struct vm_gen *g, const tn_node *at, const char *name);

#endif
