/* SPDX-License-Identifier: Apache-2.0 */
/* Uninitialized values. Compilers load before they know whether the value is wanted, so a load of bytes that nobody wrote is no error yet:
 * the result is marked, a bit for each lane of a register, and marks go where values go. An error is to store a marked value in global
 * memory, to use it in an atomic operation, as an address, or for a decision. What decides it by the other operand (selp, and, or) is not marked. */
#include "config.h"

#include "machine.h"

static sim_taint *
taint_of(const sim_warp *w, uint32_t ref)
{
    return ref & SIM_POOL ? NULL : &w->taints[ref / SIM_SLOT];
}

static uint32_t
mask_of(const sim_warp *w, uint32_t ref)
{
    const sim_taint *t = ref == SIM_NONE ? NULL : taint_of(w, ref);
    return t ? t->mask : 0;
}

_Noreturn static void
refuse(sim_warp *w, const sim_insn *i, uint32_t ref, uint32_t lanes, const char *what)
{
    const sim_insn *from = taint_of(w, ref)->from;
    sim_fault(w, i, (uint32_t)__builtin_ctz(lanes), SIM_ADDRESS,
              "%s is uninitialized: it comes from PTX line %u (%s)", what, from->ptx->line,
              from->ptx->text);
}

void
sim_taint_guard(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t lanes = mask_of(w, i->guard) & mask;
    if (lanes)
        refuse(w, i, i->guard, lanes, "the condition");
}

void
sim_taint_refuse(sim_warp *w, const sim_insn *i, uint32_t operand, uint32_t mask, const char *what)
{
    uint32_t lanes = w->is_tainted ? mask_of(w, i->ref[operand]) & mask : 0;
    if (lanes)
        refuse(w, i, i->ref[operand], lanes, what);
}

void
sim_taint_set(sim_warp *w, uint32_t ref, uint32_t mask, uint32_t value, const sim_insn *from)
{
    sim_taint *t = taint_of(w, ref);
    if (!t)
        return;
    t->mask = (t->mask & ~mask) | (value & mask);
    if (value & mask) {
        t->from = from;
        w->is_tainted = true;
    }
}

uint32_t
sim_taint_mask(const sim_warp *w, uint32_t ref)
{
    return w->is_tainted ? mask_of(w, ref) : 0;
}

void
sim_taint_clear(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    for (uint32_t k = i->out; w->is_tainted && k < (uint32_t)i->out + i->n_out; k++)
        sim_taint_set(w, i->ref[k], mask, 0, NULL);
}

/* Lanes whose operand is nothing but zeros, or ones: it decides and, or. */
static uint32_t
lanes_with(const sim_warp *w, const sim_insn *i, uint32_t operand, uint8_t byte)
{
    const uint8_t *p = sim_at(w, i->ref[operand]);
    uint32_t width = i->width[operand], lanes = 0;
    if (width == 1) {
        uint32_t v = *(const uint32_t *)(const void *)p;
        return byte ? v : ~v;
    }
    for (uint32_t l = 0; l < SIM_LANES; l++) {
        bool all = true;
        for (uint32_t k = 0; k < width; k++)
            all &= p[l * width + k] == byte;
        lanes |= (uint32_t)all << l;
    }
    return lanes;
}

static uint32_t
result_of(const sim_warp *w, const sim_insn *i)
{
    const char *name = i->ptx->part[0];
    uint32_t r = 0;
    if (strcmp(name, "selp") == 0) {
        uint32_t p = *(const uint32_t *)sim_at(w, i->ref[3]);
        return (p & mask_of(w, i->ref[1])) | (~p & mask_of(w, i->ref[2])) | mask_of(w, i->ref[3]);
    }
    if (strcmp(name, "and") == 0 || strcmp(name, "or") == 0) {
        uint8_t byte = *name == 'a' ? 0 : 255;
        uint32_t a = mask_of(w, i->ref[1]), b = mask_of(w, i->ref[2]);
        return (a & ~(lanes_with(w, i, 2, byte) & ~b)) | (b & ~(lanes_with(w, i, 1, byte) & ~a));
    }
    for (uint32_t k = 0; k < i->n_ref; k++)
        if (k < i->out || k >= i->out + i->n_out)
            r |= mask_of(w, i->ref[k]);
    if (strcmp(name, "setp") == 0 && i->n_ref == 5 && (i->bytes == 'a' || i->bytes == 'o')) {
        uint32_t c = mask_of(w, i->ref[4]);
        r &= ~(lanes_with(w, i, 4, i->bytes == 'a' ? 0 : 255) & ~c);
    }
    return r;
}

void
sim_taint_move(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    const sim_insn *from = NULL;
    if (i->address != SIM_NONE)
        sim_taint_refuse(w, i, i->address, mask, "the address");
    uint32_t r = result_of(w, i) & mask;
    for (uint32_t k = 0; r && k < i->n_ref; k++)
        if (mask_of(w, i->ref[k]) & r && (k < i->out || k >= i->out + i->n_out))
            from = taint_of(w, i->ref[k])->from;
    for (uint32_t k = i->out; k < (uint32_t)i->out + i->n_out; k++)
        sim_taint_set(w, i->ref[k], mask, r, from);
}
