/* SPDX-License-Identifier: Apache-2.0 */
/* Execution of warps. A warp is a set of groups of lanes, each with a program counter of its own. By default the group that is furthest
 * behind runs, and groups that meet go on as one, which keeps most warps whole; none waits for ever, since a group gives way after some
 * time. With a seed, groups part at each divergence, come together only where an instruction names a mask or at a barrier, and groups,
 * warps and blocks take turns at random. */
#include "config.h"

#include "decode.h"

#include <stdio.h>

enum { PATIENCE = 1 << 10 };

/* ---- errors ---- */

static void
place_of(const sim_warp *w, uint32_t lane, char *out, size_t size)
{
    const uint32_t *dim = w->machine->size->block, *id = w->block->id;
    uint32_t t = w->index * SIM_LANES + lane;
    snprintf(out, size, "thread (%u, %u, %u) of block (%u, %u, %u)", t % dim[0],
             t / dim[0] % dim[1], t / dim[0] / dim[1], id[0], id[1], id[2]);
}

_Noreturn void
sim_fault(sim_warp *w, const sim_insn *i, uint32_t lane, sim_fault_kind kind, const char *fmt, ...)
{
    char where[96];
    va_list ap;
    place_of(w, lane, where, sizeof where);
    va_start(ap, fmt);
    (void)tnb_failv(w->machine->err, TNB_DEVICE, fmt, ap);
    va_end(ap);
    tnb_err_prefix(w->machine->err, "kernel '%s', PTX line %u (%s), %s", w->kernel->ptx->name,
                   i->ptx->line, i->ptx->text, where);
    w->machine->fault = kind;
    w->storing = NULL;
    longjmp(w->machine->failed, 1);
}

sim_fault_kind
sim_last_fault(const sim_machine *m)
{
    return m->fault;
}

/* ---- groups ---- */

void
sim_add_group(sim_warp *w, uint32_t mask, uint32_t pc)
{
    w->groups[w->n_groups++] = (sim_group){.mask = mask, .pc = pc};
}

static void
remove_empty(sim_warp *w)
{
    uint32_t n = 0;
    for (uint32_t g = 0; g < w->n_groups; g++)
        if (w->groups[g].mask)
            w->groups[n++] = w->groups[g];
    w->n_groups = n;
}

/* Groups that run and have the same position become one. */
static void
merge(sim_warp *w)
{
    for (uint32_t g = 0; g < w->n_groups; g++)
        for (uint32_t h = g + 1; h < w->n_groups && w->groups[g].state == SIM_RUNS; h++)
            if (w->groups[h].state == SIM_RUNS && w->groups[h].pc == w->groups[g].pc) {
                w->groups[g].mask |= w->groups[h].mask;
                w->groups[h].mask = 0;
            }
    remove_empty(w);
}

/* The group that runs next, and where it has to stop for others: NULL if none can run. */
static sim_group *
choose(sim_warp *w, bool any, uint32_t *limit)
{
    sim_group *best = NULL;
    uint32_t n = 0;
    *limit = UINT32_MAX;
    for (uint32_t g = 0; g < w->n_groups; g++) {
        sim_group *x = &w->groups[g];
        if (x->state != SIM_RUNS)
            continue;
        n++;
        if (!best || (any ? sim_random(w->machine) % n == 0 : x->pc < best->pc))
            best = x;
    }
    for (uint32_t g = 0; g < w->n_groups && !any; g++)
        if (w->groups[g].state == SIM_RUNS && &w->groups[g] != best && w->groups[g].pc < *limit)
            *limit = w->groups[g].pc;
    return best;
}

/* ---- meetings of lanes ---- */

static bool
meets_with(const sim_group *g, const sim_group *h, const sim_insn *code)
{
    const sim_insn *a = &code[g->pc], *b = &code[h->pc];
    return h->state == SIM_AT_MEETING && h->members == g->members && a->text_id == b->text_id &&
           (!(a->flags & SIM_ALIGNED) || a == b);
}

/* Executes the instruction of a group that waits, if all that it waits for are there. */
static void
try_meeting(sim_warp *w, uint32_t at)
{
    const sim_insn *code = w->kernel->code;
    sim_group g = w->groups[at];
    uint32_t there = 0;
    for (uint32_t h = 0; h < w->n_groups; h++)
        if (meets_with(&g, &w->groups[h], code))
            there |= w->groups[h].mask;
    if (there != (g.members & ~w->exited))
        return;
    w->present = there;
    if (!code[g.pc].run || code[g.pc].flags & SIM_ALIGNED)
        sim_order_lanes(w, there);
    for (w->phase = 1; w->phase <= 2; w->phase++)
        for (uint32_t h = 0; h < w->n_groups; h++)
            if (meets_with(&g, &w->groups[h], code) && code[w->groups[h].pc].run)
                code[w->groups[h].pc].run(w, &code[w->groups[h].pc], w->groups[h].mask);
    for (uint32_t h = 0; h < w->n_groups; h++)
        if (meets_with(&g, &w->groups[h], code)) {
            w->groups[h].state = SIM_RUNS;
            w->groups[h].pc++;
        }
    merge(w);
}

/* The lanes of a group that wait for the same ones: the rest is a group of its own. True: all was there, and it was executed. */
static bool
meet(sim_warp *w, sim_group *g, const sim_insn *i, uint32_t active)
{
    const uint32_t *member = i->member == SIM_NONE ? NULL : sim_at(w, i->member);
    uint32_t first = (uint32_t)__builtin_ctz(active);
    uint32_t members = member ? member[first] : SIM_ALL, same = 0;
    for (uint32_t left = active; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        if (member && !(member[l] >> l & 1))
            sim_fault(w, i, l, SIM_ILLEGAL, "the mask 0x%08x does not name the lane itself",
                      member[l]);
        same |= (uint32_t)(!member || member[l] == members) << l;
    }
    if (same == active && active == g->mask && active == (members & ~w->exited)) {
        w->present = active;
        w->phase = 3;
        if (!i->run || i->flags & SIM_ALIGNED)
            sim_order_lanes(w, active);
        if (i->run)
            i->run(w, i, active);
        g->pc++;
        return true;
    }
    uint32_t skip = g->mask & ~active, others = active & ~same, pc = g->pc;
    g->mask = same;
    g->members = members;
    g->state = SIM_AT_MEETING;
    if (skip)
        sim_add_group(w, skip, pc + 1);
    if (others)
        sim_add_group(w, others, pc);
    try_meeting(w, (uint32_t)(g - w->groups));
    return false;
}

/* ---- barriers of a block ---- */

void
sim_op_barrier(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t id = *(const uint32_t *)sim_at(w, i->ref[1]);
    const sim_barrier *b = &w->block->barriers[id];
    if (i->type != 'r')
        return;
    if (i->from == 'p') {
        uint32_t *d = sim_at(w, i->ref[0]);
        SIM_EACH(mask, l, d[l] = b->count);
    } else {
        sim_set_predicate(w, i->ref[0], mask,
                          (i->from == 'a' ? b->all == 0 : b->any) ? SIM_ALL : 0);
    }
}

static void
try_barrier(sim_block *block, uint32_t id)
{
    sim_barrier *b = &block->barriers[id];
    uint32_t expected = b->expected ? b->expected : block->n_live;
    if (b->arrived == 0 || b->arrived < expected)
        return;
    for (uint32_t k = 0; k < block->n_warps; k++) {
        sim_warp *w = &block->warps[k];
        bool any = false;
        for (uint32_t g = 0; g < w->n_groups; g++) {
            sim_group *x = &w->groups[g];
            if (x->state != SIM_AT_BARRIER || x->barrier != id)
                continue;
            sim_op_barrier(w, &w->kernel->code[x->pc], x->mask);
            sim_order_leave(w, b);
            x->state = SIM_RUNS;
            x->pc++;
            any = true;
        }
        if (any)
            merge(w);
    }
    if (b->arrived >= block->n_live)
        block->era = ++block->warps->machine->time;
    *b = (sim_barrier){0};
}

static void
arrive(sim_warp *w, sim_group *g, const sim_insn *i, uint32_t active)
{
    uint32_t first = (uint32_t)__builtin_ctz(active), skip = g->mask & ~active, pc = g->pc;
    uint32_t id = ((const uint32_t *)sim_at(w, i->ref[1]))[first];
    uint32_t count = ((const uint32_t *)sim_at(w, i->ref[2]))[first];
    if (id >= SIM_BARRIERS)
        sim_fault(w, i, first, SIM_ILLEGAL, "barrier %u: there are %d", id, SIM_BARRIERS);
    if (count % SIM_LANES || count > SIM_MAX_THREADS)
        sim_fault(w, i, first, SIM_ILLEGAL, "barrier %u for %u threads, which is no multiple of %d",
                  id, count, SIM_LANES);
    sim_barrier *b = &w->block->barriers[id];
    for (uint32_t h = 0; h < w->n_groups; h++) {
        sim_group *x = &w->groups[h];
        if (x->state == SIM_AT_BARRIER && x->barrier == id && x->pc != pc && i->flags & SIM_ALIGNED)
            sim_fault(w, i, first, SIM_ILLEGAL,
                      "divergent barrier %u: lanes 0x%08x of the warp wait at PTX line %u", id,
                      x->mask, w->kernel->code[x->pc].ptx->line);
    }
    if (b->arrived && b->expected != count)
        sim_fault(w, i, first, SIM_ILLEGAL, "barrier %u for %u threads: others wait for %u", id,
                  count, b->expected);
    sim_order_arrive(w, b);
    b->expected = count;
    b->arrived += (uint32_t)__builtin_popcount(active);
    if (i->type == 'r') {
        uint32_t p = *(const uint32_t *)sim_at(w, i->ref[3]) & active;
        b->count += (uint32_t)__builtin_popcount(p);
        b->any |= p != 0;
        b->all += p != active; /* of groups with a lane that says no */
    }
    if (count && b->arrived > count)
        sim_fault(w, i, first, SIM_ILLEGAL, "barrier %u for %u threads: %u have arrived", id, count,
                  b->arrived);
    if (i->type == 'a') {
        g->pc++;
    } else {
        g->mask = active;
        g->state = SIM_AT_BARRIER;
        g->barrier = (uint8_t)id;
        if (skip)
            sim_add_group(w, skip, pc + 1);
    }
    w->machine->last_effect = w->machine->executed;
    try_barrier(w->block, id);
}

/* ---- a warp ---- */

static void
leave(sim_warp *w, sim_group *g, uint32_t active)
{
    sim_block *b = w->block;
    sim_complete_copies(w, active);
    w->exited |= active;
    b->n_live -= (uint32_t)__builtin_popcount(active);
    g->mask &= ~active;
    g->pc++;
    remove_empty(w);
    w->machine->last_effect = w->machine->executed;
    for (uint32_t k = 0; k < w->n_groups; k++)
        if (w->groups[k].state == SIM_AT_MEETING)
            try_meeting(w, k);
    for (uint32_t id = 0; id < SIM_BARRIERS; id++)
        if (b->barriers[id].expected == 0)
            try_barrier(b, id);
}

static void
branch(sim_warp *w, sim_group *g, const sim_insn *i, uint32_t active)
{
    if (active != g->mask) {
        sim_add_group(w, g->mask & ~active, g->pc + 1);
        g->mask = active;
    }
    g->pc = i->target;
}

static void
branch_by_table(sim_warp *w, sim_group *g, const sim_insn *i, uint32_t active)
{
    const uint32_t *index = sim_at(w, i->ref[0]);
    sim_taint_refuse(w, i, 0, active, "the index of a table");
    uint32_t skip = g->mask & ~active, pc = g->pc;
    for (uint32_t left = active; left;) {
        uint32_t first = (uint32_t)__builtin_ctz(left), same = 0;
        for (uint32_t l = first; l < SIM_LANES; l++)
            same |= (uint32_t)((left >> l & 1) && index[l] == index[first]) << l;
        if (index[first] >= i->n_table)
            sim_fault(w, i, first, SIM_ILLEGAL, "entry %u of a table of %u", index[first],
                      i->n_table);
        if (left == active) {
            g->mask = same;
            g->pc = i->table[index[first]];
        } else {
            sim_add_group(w, same, i->table[index[first]]);
        }
        left &= ~same;
    }
    if (skip)
        sim_add_group(w, skip, pc + 1);
}

/* What is neither plain nor a branch that all take: true if the group goes on. */
static bool
control(sim_warp *w, sim_group *g, const sim_insn *i, uint32_t active)
{
    if (!active) {
        g->pc++;
        return true;
    }
    switch (i->flow) {
    case SIM_BRANCH:
        branch(w, g, i, active);
        return false;
    case SIM_TABLE:
        branch_by_table(w, g, i, active);
        return false;
    case SIM_MEET:
        return meet(w, g, i, active);
    case SIM_BARRIER:
        arrive(w, g, i, active);
        return false;
    case SIM_YIELD:
        g->pc++;
        return false;
    default:
        leave(w, g, active);
        return false;
    }
}

void
sim_run_warp(sim_warp *w, uint32_t turn)
{
    sim_machine *m = w->machine;
    const sim_insn *code = w->kernel->code;
    bool seeded = m->options.seed != 0, any = seeded;
    while (turn) {
        uint32_t limit, patience = seeded ? 1 + (uint32_t)(sim_random(m) % 256) : PATIENCE;
        if (!any)
            merge(w);
        sim_group *g = choose(w, any, &limit);
        if (!g)
            return;
        any = seeded;
        bool goes_on = true;
        uint32_t mask = g->mask, pc = g->pc;
        while (goes_on && turn && pc < limit) {
            const sim_insn *i = &code[pc];
            uint32_t active = mask;
            if (i->guard != SIM_NONE) {
                uint32_t p = *(const uint32_t *)sim_at(w, i->guard);
                if (w->is_tainted)
                    sim_taint_guard(w, i, mask);
                active &= i->guard_negated ? ~p : p;
            }
            m->executed++;
            turn--;
            if (m->options.costs)
                sim_count(w, i, active);
            if (i->flow == SIM_PLAIN) {
                if (active && w->is_tainted)
                    sim_taint_move(w, i, active);
                if (active)
                    i->run(w, i, active);
                pc++;
            } else if (i->flow == SIM_BRANCH && active == mask) {
                if (i->target <= pc && --patience == 0 && w->n_groups > 1) {
                    any = true; /* a loop that may wait for another group */
                    goes_on = false;
                }
                patience += patience == 0;
                pc = i->target;
            } else {
                g->pc = pc;
                goes_on = control(w, g, i, active);
                if (!goes_on)
                    pc = limit = UINT32_MAX; /* the group may be elsewhere now */
                else
                    pc = g->pc;
            }
        }
        if (pc != UINT32_MAX)
            g->pc = pc;
    }
    if (m->executed - m->last_effect > m->options.idle) {
        sim_group *g = &w->groups[0];
        char wait[160];
        sim_describe_wait(w, wait, sizeof wait);
        sim_fault(w, &code[g->pc], (uint32_t)__builtin_ctz(g->mask), SIM_HUNG,
                  "no progress for %llu instructions: nothing was written and no thread ended%s",
                  (unsigned long long)m->options.idle, wait);
    }
}
