/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of a kernel: what decode.c offers to forms.c, which knows the instructions. */
#ifndef CUDASIM_DECODE_H
#define CUDASIM_DECODE_H

#include "machine.h"

/* What a name means. */
typedef enum sim_meaning { SIM_REGISTER, SIM_VARIABLE, SIM_LABEL, SIM_FUNCTION } sim_meaning;
typedef struct sim_symbol {
    sim_meaning meaning;
    uint32_t ref, width; /* of a register; 1 for a predicate */
    ptx_space space;     /* of a variable */
    uint64_t address;    /* in its space */
    uint64_t bytes;
    uint32_t target;
    const ptx_function *function;
} sim_symbol;

/* A function whose body is being decoded, at one place that calls it. */
typedef struct sim_instance {
    const ptx_function *f;
    struct sim_instance *caller;
    tnb_strmap names; /* "scope:name" to sim_symbol */
    uint32_t depth;
} sim_instance;

typedef struct sim_fixup {
    uint32_t insn, entry; /* of the table; SIM_NONE: the target */
    const char *label;
    uint32_t scope;
} sim_fixup;

typedef struct sim_decoder {
    tnb_arena *a;
    sim_machine *m;
    sim_module *module;
    sim_kernel *k;
    TNB_VEC(sim_insn) code;
    TNB_VEC(sim_fixup) fixups;
    tnb_buf pool;
    tnb_strmap constants, texts;
    uint32_t n_texts;
    uint32_t at; /* of registers */
    uint32_t sink;
    uint32_t dynamic_at, dynamic_align; /* of shared memory; 0: the kernel uses none */
    sim_instance *instance;
    const ptx_instruction *ptx;
    tnb_err *err;
    jmp_buf failed;
} sim_decoder;

_Noreturn void
sim_decode_fail(sim_decoder *d, tnb_status st, const char *fmt, ...) TNB_PRINTF(3, 4);
/* NULL: not known */
sim_symbol *
sim_look_up(sim_decoder *d, const char *name);
/* A new register: bytes of an element, 1 for a predicate. */
uint32_t
sim_new_register(sim_decoder *d, uint32_t bytes);
/* The same value for all lanes. */
uint32_t
sim_constant(sim_decoder *d, uint64_t bits, uint32_t bytes);
/* An instruction for the current text, and its end, after its operands: these may need instructions before it. */
sim_insn *
sim_new_insn(sim_decoder *d, sim_op run, sim_flow flow);
void
sim_append(sim_decoder *d, const sim_insn *i);
/* Appends an operand to an instruction. `bytes`: its width, 1 for a predicate, 0 for any; `constant`: width of a number where any is. */
void
sim_push(sim_decoder *d, sim_insn *i, const ptx_operand *o, uint32_t bytes, uint32_t constant);
void
sim_push_ref(sim_decoder *d, sim_insn *i, uint32_t ref, uint32_t width);
/* The address operand becomes the register `address` and `offset`; the space of a named variable is put into i->space. */
void
sim_push_address(sim_decoder *d, sim_insn *i, const ptx_operand *o);
/* Decodes the current instruction, unless it is one that decode.c keeps for itself: calls, returns, labels, branches. */
void
sim_decode_form(sim_decoder *d);

/* Instructions whose form is decoded beside their handlers; false: not known. */
bool
sim_decode_mma(sim_decoder *d);
bool
sim_decode_matrix_copy(sim_decoder *d);
bool
sim_decode_async(sim_decoder *d);
bool
sim_decode_mbarrier(sim_decoder *d);

/* Handlers of forms.c's instructions */
void
sim_op_load(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_load_param(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_store(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_atomic(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_convert(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_move(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_pack(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_unpack(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_shift_window(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_is_space(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_clock(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_compare(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_trap(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_barrier(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_complement(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_op_active(sim_warp *w, const sim_insn *i, uint32_t mask);
#endif
