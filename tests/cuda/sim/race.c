/* SPDX-License-Identifier: Apache-2.0 */
/* Races: two accesses to the same bytes by different threads, one of them a store, at least one of them not strong (volatile, atomic,
 * .relaxed and so on), neither of which happens before the other. What orders them:
 *
 *   a barrier of the whole block      the block's era: all that was before it is ordered
 *   bar.warp.sync, aligned matrix     the warp's era
 *   instructions, with all lanes
 *   the same with some lanes          until when each lane knows the others of its warp
 *   named barriers of some warps,     until when each warp knows the others of its block
 *   strong accesses
 *   strong accesses of two blocks     from then on the reading block is ordered behind all others
 *
 * These are times of one clock, which each of them advances: instructions of different threads never overlap here.
 * Where this is coarser than the language it finds fewer races, never more. Each 4 bytes of memory remember the last store and two loads
 * of different threads. A store of what is there already is none. */
#include "config.h"

#include "machine.h"

#include <stdlib.h>

SIM_FAST_CODE

typedef struct access {
    uint32_t block; /* counted over all launches; 0: none */
    uint32_t time;
    uint32_t line;
    uint16_t thread;
    uint8_t bytes; /* of the four, a bit each */
    bool is_strong;
} access;

struct sim_cell {
    access store, loads[2];
};

enum { PER_CELL = 4 };

sim_cell *
sim_new_cells(size_t bytes)
{
    return calloc(bytes / PER_CELL + 1, sizeof(sim_cell));
}

void
sim_forget_accesses(sim_machine *m)
{
    for (uint32_t k = 0; k < m->n_memories[0]; k++) {
        free(m->memories[0][k].cells);
        m->memories[0][k].cells = NULL;
    }
    m->n_blocks = 0;
}

static bool
is_before(const sim_warp *w, uint32_t lane, uint64_t address, const access *a)
{
    const sim_block *b = w->block;
    uint32_t other = a->thread / SIM_LANES;
    if (a->block < w->machine->first_block || a->block == 0)
        return true; /* of an earlier launch */
    if (a->block != b->number)
        return b->is_behind_all || address >= SIM_SHARED_BASE; /* whose memory this was */
    if (a->thread == w->index * SIM_LANES + lane || a->time < b->era)
        return true;
    if (other != w->index)
        return a->time < w->knows_warps[other];
    return a->time < w->era || a->time < w->knows_lanes[lane][a->thread % SIM_LANES];
}

/* What comes after a strong store is behind what came before it. */
static void
acquire(sim_warp *w, uint64_t address, const access *a)
{
    sim_block *b = w->block;
    uint32_t other = a->thread / SIM_LANES;
    if (!a->is_strong || a->block < w->machine->first_block)
        return;
    if (a->block != b->number) {
        b->is_behind_all |= address < SIM_SHARED_BASE;
        return;
    }
    if (other == w->index) {
        w->era = ++w->machine->time;
        return;
    }
    for (uint32_t k = 0; k < b->n_warps; k++)
        if (w->knows_warps[k] < b->warps[other].knows_warps[k])
            w->knows_warps[k] = b->warps[other].knows_warps[k];
    if (w->knows_warps[other] <= a->time)
        w->knows_warps[other] = a->time + 1;
}

_Noreturn static void
report(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t address, const char *what,
       const access *a)
{
    const uint32_t *dim = w->machine->size->block;
    uint32_t t = a->thread, block = a->block - w->machine->first_block;
    const uint32_t *grid = w->machine->size->grid;
    sim_fault(w, i, lane, SIM_RACE,
              "race at 0x%llx: PTX line %u %s there, by thread (%u, %u, %u) of block (%u, %u, %u), "
              "in no order with this",
              (unsigned long long)address, a->line, what, t % dim[0], t / dim[0] % dim[1],
              t / dim[0] / dim[1], block % grid[0], block / grid[0] % grid[1],
              block / grid[0] / grid[1]);
}

static void
check(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t address, const access *a,
      const access *now, const char *what)
{
    if (a->bytes & now->bytes && !(a->is_strong && now->is_strong) &&
        !is_before(w, lane, address, a))
        report(w, i, lane, address, what, a);
}

static void
touch(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t address, sim_cell *c,
      const access *now, bool reads, bool writes, bool changes)
{
    if (now->is_strong)
        acquire(w, address, &c->store);
    if (reads || changes)
        check(w, i, lane, address, &c->store, now, "stores");
    if (changes)
        for (int k = 0; k < 2; k++)
            check(w, i, lane, address, &c->loads[k], now, "loads");
    if (writes) {
        c->store = *now;
    } else if ((c->loads[0].thread == now->thread && c->loads[0].block == now->block) ||
               is_before(w, lane, address, &c->loads[0])) {
        c->loads[0] = *now;
    } else {
        c->loads[1] = *now;
    }
}

static access
access_of(const sim_warp *w, const sim_insn *i, uint32_t lane)
{
    return (access){.block = w->block->number,
                    .time = w->machine->time,
                    .line = i->ptx->line,
                    .thread = (uint16_t)(w->index * SIM_LANES + lane),
                    .is_strong = i->flags & SIM_STRONG};
}

void
sim_race(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t address, sim_cell *cells,
         size_t at, uint32_t bytes, bool reads, bool writes, bool changes)
{
    access now = access_of(w, i, lane);
    for (size_t k = at / PER_CELL; k <= (at + bytes - 1) / PER_CELL; k++) {
        size_t from = k * PER_CELL < at ? at - k * PER_CELL : 0;
        size_t to = at + bytes < (k + 1) * PER_CELL ? at + bytes - k * PER_CELL : PER_CELL;
        now.bytes = (uint8_t)((1u << to) - (1u << from));
        touch(w, i, lane, address, &cells[k], &now, reads, writes, changes);
    }
    if (now.is_strong && writes) /* what this warp does next is not covered */
        w->machine->time++;
}

/* The same for loads of all lanes of a mask. Of lanes that load the same, the first and the last one are noted. */
void
sim_race_loads(sim_warp *w, const sim_insn *i, uint32_t mask, const uint64_t *address,
               uint64_t start, sim_cell *cells, uint32_t bytes)
{
    const sim_block *b = w->block;
    uint32_t first = w->machine->first_block, n = (bytes + PER_CELL - 1) / PER_CELL;
    uint64_t before = UINT64_MAX;
    access now = access_of(w, i, 0);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left), next = left & (left - 1);
        uint64_t at = address[l] - start;
        sim_cell *c = &cells[at / PER_CELL];
        bool is_same = address[l] == before && next && address[__builtin_ctz(next)] == before,
             is_stored = false;
        before = address[l];
        for (uint32_t k = 0; k < n; k++)
            is_stored |= c[k].store.block >= first &&
                         !(c[k].store.block == b->number && c[k].store.time < b->era);
        if (is_stored) {
            sim_race(w, i, l, address[l], cells, at, bytes, true, false, false);
            continue;
        }
        if (is_same)
            continue;
        now.thread = (uint16_t)(w->index * SIM_LANES + l);
        now.bytes = bytes < PER_CELL ? (uint8_t)(((1u << bytes) - 1) << at % PER_CELL)
                                     : (1u << PER_CELL) - 1;
        for (uint32_t k = 0; k < n; k++) {
            const access *a = &c[k].loads[0];
            bool is_old = a->block < first ||
                          (a->block == b->number && (a->time < b->era || a->thread == now.thread));
            c[k].loads[!is_old] = now;
        }
    }
}

/* ---- what orders ---- */

void
sim_order_lanes(sim_warp *w, uint32_t mask)
{
    uint32_t most[SIM_LANES] = {0}, now = ++w->machine->time;
    if ((mask | w->exited) == SIM_ALL) {
        w->era = now;
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1)
        for (uint32_t k = 0; k < SIM_LANES; k++) {
            uint32_t v = w->knows_lanes[__builtin_ctz(left)][k];
            most[k] = mask >> k & 1 ? now : v > most[k] ? v : most[k];
        }
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        memcpy(w->knows_lanes[l], most, sizeof most);
    }
}

/* A warp arrives at a barrier of some warps; what it knows is kept there. */
void
sim_order_arrive(sim_warp *w, sim_barrier *b)
{
    for (uint32_t k = 0; k < w->block->n_warps; k++)
        if (b->knows[k] < w->knows_warps[k])
            b->knows[k] = w->knows_warps[k];
    b->knows[w->index] = w->era = ++w->machine->time;
}

void
sim_order_leave(sim_warp *w, const sim_barrier *b)
{
    for (uint32_t k = 0; k < w->block->n_warps; k++)
        if (k != w->index && w->knows_warps[k] < b->knows[k])
            w->knows_warps[k] = b->knows[k];
}
