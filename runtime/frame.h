/* SPDX-License-Identifier: Apache-2.0 */
/* The frame on top of the machine's stacks, and operands of instructions in it: what vm.c and launch.c share. */
#ifndef TENON_RUNTIME_FRAME_H
#define TENON_RUNTIME_FRAME_H

#include "internal.h"

static inline const struct frame *
top(const tnr_vm *vm)
{
    return &vm->frames[vm->n_frames - 1];
}

static inline const uint32_t *
operands(const tnr_vm *vm, const tnb_vm_insn *in)
{
    return vm->p.operands + in->c;
}

static inline int64_t
int_operand(const tnr_vm *vm, const struct frame *f, uint32_t o)
{
    return vm->scalars[f->scalars + TNB_VM_OPERAND_INDEX(o)];
}

/* The value of an operand that is no register: a number, or a constant, which is made when first asked for. */
TNB_MUST_CHECK tnb_status
tnr_vm_scalar_or_constant(tnr_vm *vm, const struct frame *f, uint32_t o, tnr_value *out,
                          tnb_err *err);

/* The value of an operand, borrowed: registers and the constant cache hold the reference. */
static inline tnb_status
operand(tnr_vm *vm, const struct frame *f, uint32_t o, tnr_value *out, tnb_err *err)
{
    if (TNB_VM_OPERAND_KIND(o) != TNB_VM_VALUE)
        return tnr_vm_scalar_or_constant(vm, f, o, out, err);
    *out = vm->values[f->values + TNB_VM_OPERAND_INDEX(o)];
    return TNB_OK;
}

/* Fails: the value is not what is needed, "a tensor". */
tnb_status
tnr_vm_wrong(tnr_value v, const char *want, tnb_err *err);
/* The instruction LAUNCH in the top frame. */
TNB_MUST_CHECK tnb_status
tnr_vm_launch(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err);

#endif
