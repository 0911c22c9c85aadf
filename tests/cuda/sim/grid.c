/* SPDX-License-Identifier: Apache-2.0 */
/* Execution of a grid: blocks with their memory, which take turns, and launches. As few blocks as possible are resident; when these only
 * wait, more are admitted. */
#include "config.h"

#include "machine.h"

#include <stdlib.h>

enum { RESIDENT = 128, WAITS = 1 << 18 };
static const uint64_t default_idle = UINT64_C(1) << 30;

/* ---- blocks ---- */

static uint32_t
special_value(const sim_warp *w, uint32_t s, uint32_t l)
{
    const sim_machine *m = w->machine;
    const uint32_t *dim = m->size->block, *grid = m->size->grid, *id = w->block->id;
    uint32_t t = w->index * SIM_LANES + l, at = s <= SIM_NCTAID_Z ? s % 3 : 0;
    switch (s) {
    case SIM_TID_X:
        return t % dim[0];
    case SIM_TID_Y:
        return t / dim[0] % dim[1];
    case SIM_TID_Z:
        return t / dim[0] / dim[1];
    case SIM_NTID_X:
    case SIM_NTID_Y:
    case SIM_NTID_Z:
        return dim[at];
    case SIM_CTAID_X:
    case SIM_CTAID_Y:
    case SIM_CTAID_Z:
        return id[at];
    case SIM_NCTAID_X:
    case SIM_NCTAID_Y:
    case SIM_NCTAID_Z:
        return grid[at];
    case SIM_LANEID:
        return l;
    case SIM_WARPID:
        return w->index;
    case SIM_NWARPID:
        return SIM_MAX_THREADS / SIM_LANES;
    case SIM_SMID:
        return (id[0] + id[1] * grid[0]) % 4;
    case SIM_NSMID:
        return 4;
    case SIM_LANEMASK_EQ:
        return UINT32_C(1) << l;
    case SIM_LANEMASK_LT:
        return (UINT32_C(1) << l) - 1;
    case SIM_LANEMASK_LE:
        return UINT32_MAX >> (31 - l);
    case SIM_LANEMASK_GE:
        return UINT32_MAX << l;
    case SIM_LANEMASK_GT:
        return ~(UINT32_MAX >> (31 - l));
    case SIM_DYNAMIC_SMEM:
        return m->size->shared_bytes;
    default:
        return w->block->shared_bytes;
    }
}

static size_t
local_bytes(const sim_kernel *k)
{
    return ((size_t)k->local_bytes + 15) / 16 * 16;
}

static void
free_block(sim_block *b)
{
    if (!b)
        return;
    for (uint32_t n = 0; b->warps && n < b->n_warps; n++)
        free(b->warps[n].copies.at);
    free(b->taints);
    free(b->cells);
    free(b->warps);
    free(b->registers);
    free(b->shared);
    free(b->shared_known);
    free(b->local);
    free(b->local_known);
    free(b);
}

static sim_block *
new_block(sim_machine *m, const sim_kernel *k)
{
    sim_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    const uint32_t *dim = m->size->block;
    b->n_threads = dim[0] * dim[1] * dim[2];
    b->n_warps = (b->n_threads + SIM_LANES - 1) / SIM_LANES;
    b->shared_bytes = k->dynamic_at + m->size->shared_bytes;
    size_t registers = ((size_t)k->register_bytes + 63) / 64 * 64;
    size_t threads = (size_t)b->n_warps * SIM_LANES;
    size_t slots = registers / SIM_SLOT;
    b->taints = calloc(slots * b->n_warps, sizeof *b->taints);
    b->warps = calloc(b->n_warps, sizeof *b->warps);
    b->registers = aligned_alloc(64, registers * b->n_warps);
    b->shared = aligned_alloc(64, ((size_t)b->shared_bytes + 64) / 64 * 64);
    b->shared_known = malloc(b->shared_bytes / 8 + 2);
    b->local = aligned_alloc(64, (local_bytes(k) * threads + 64) / 64 * 64);
    b->local_known = malloc(local_bytes(k) * threads / 8 + 2);
    if (m->options.races)
        b->cells = sim_new_cells(b->shared_bytes);
    if ((m->options.races && !b->cells) || !b->warps || !b->taints || !b->registers || !b->shared ||
        !b->shared_known || !b->local || !b->local_known) {
        free_block(b);
        return NULL;
    }
    memset(b->registers, 0, registers * b->n_warps);
    for (uint32_t n = 0; n < b->n_warps; n++)
        b->warps[n] = (sim_warp){.base = {(uint8_t *)b->registers + registers * n, k->pool},
                                 .block = b,
                                 .machine = m,
                                 .kernel = k,
                                 .taints = b->taints + slots * n,
                                 .index = n};
    return b;
}

static void
start_block(sim_block *b, const sim_kernel *k, const uint32_t id[3])
{
    memcpy(b->id, id, sizeof b->id);
    b->n_live = b->n_threads;
    b->era = 0;
    b->is_behind_all = false;
    memset(b->barriers, 0, sizeof b->barriers);
    memset(b->shared_known, 0, b->shared_bytes / 8 + 2);
    if (k->local_bytes)
        memset(b->local_known, 0, local_bytes(k) * b->n_warps * SIM_LANES / 8 + 2);
    for (uint32_t n = 0; n < b->n_warps; n++) {
        sim_warp *w = &b->warps[n];
        uint32_t left = b->n_threads - n * SIM_LANES;
        w->exited = left >= SIM_LANES ? 0 : UINT32_MAX << left;
        w->n_groups = w->copies.n = 0;
        if (w->is_tainted)
            memset(w->taints, 0, (k->register_bytes + SIM_SLOT - 1) / SIM_SLOT * sizeof *w->taints);
        w->is_tainted = false;
        w->era = 0;
        w->waits_at = SIM_NOWHERE;
        memset(w->knows_warps, 0, sizeof w->knows_warps);
        memset(w->knows_lanes, 0, sizeof w->knows_lanes);
        memset(w->copies.groups, 0, sizeof w->copies.groups);
        sim_add_group(w, ~w->exited, 0);
        for (uint32_t s = 0; s < SIM_CLOCK; s++)
            for (uint32_t l = 0; l < SIM_LANES && k->special[s] != SIM_NONE; l++)
                ((uint32_t *)sim_at(w, k->special[s]))[l] = special_value(w, s, l);
    }
}

/* Gives each warp a turn. True: one of them can go on. */
static bool
run_block(sim_machine *m, sim_block *b)
{
    bool seeded = m->options.seed != 0, any = false;
    uint32_t first = seeded ? (uint32_t)(sim_random(m) % b->n_warps) : 0;
    for (uint32_t n = 0; n < b->n_warps; n++)
        sim_run_warp(&b->warps[(first + n) % b->n_warps],
                     seeded ? 1 + (uint32_t)(sim_random(m) % 2048) : 1 << 16);
    for (uint32_t n = 0; n < b->n_warps && !any; n++)
        for (uint32_t g = 0; g < b->warps[n].n_groups; g++)
            any |= b->warps[n].groups[g].state == SIM_RUNS;
    return any;
}

/* ---- a grid ---- */

typedef struct residents {
    sim_block *blocks[RESIDENT], *idle;
    uint32_t n;
    uint64_t next, total, step, first; /* blocks in an order: (first + k * step) % total */
} residents;

static bool
admit(sim_machine *m, residents *r)
{
    const uint32_t *grid = m->size->grid;
    if (r->next == r->total || r->n == RESIDENT)
        return false;
    sim_block *b = r->idle ? r->idle : new_block(m, m->kernel);
    r->idle = NULL;
    if (!b) {
        (void)tnb_fail(m->err, TNB_NO_MEMORY, "kernel '%s': no memory for a block",
                       m->kernel->ptx->name);
        longjmp(m->failed, 1);
    }
    uint64_t k = (r->first + (unsigned __int128)r->next++ * r->step) % r->total;
    uint32_t id[3] = {(uint32_t)(k % grid[0]), (uint32_t)(k / grid[0] % grid[1]),
                      (uint32_t)(k / grid[0] / grid[1])};
    r->blocks[r->n++] = b;
    b->number = m->first_block + (uint32_t)k;
    start_block(b, m->kernel, id);
    return true;
}

/* No warp can run: says what one of them waits for. */
_Noreturn static void
deadlock(residents *r)
{
    sim_block *b = r->blocks[0];
    sim_warp *w = b->warps;
    while (w->n_groups == 0)
        w++;
    sim_group *g = &w->groups[0];
    const sim_insn *i = &w->kernel->code[g->pc];
    uint32_t lane = (uint32_t)__builtin_ctz(g->mask);
    if (g->state == SIM_AT_MEETING)
        sim_fault(w, i, lane, SIM_HUNG,
                  "deadlock: lanes 0x%08x of the warp wait for 0x%08x, of which 0x%08x do not come",
                  g->mask, g->members, g->members & ~g->mask & ~w->exited);
    const sim_barrier *x = &b->barriers[g->barrier];
    sim_fault(
        w, i, lane, SIM_HUNG,
        "deadlock: %u threads of %u have arrived at barrier %u, and no other thread can go on",
        x->arrived, x->expected ? x->expected : b->n_live, g->barrier);
}

static void
run_grid(sim_machine *m, residents *r)
{
    bool seeded = m->options.seed != 0;
    uint32_t wanted = seeded ? 1 + (uint32_t)(sim_random(m) % 8) : 1;
    while (r->n < wanted && admit(m, r))
        ;
    while (r->n) {
        bool any = false;
        for (uint32_t k = 0; k < r->n;) {
            sim_block *b = r->blocks[k];
            any |= run_block(m, b);
            if (b->n_live) {
                k++;
                continue;
            }
            any = true;
            if (r->idle)
                free_block(r->idle);
            r->idle = b;
            r->blocks[k] = r->blocks[--r->n];
            if (r->n < wanted)
                (void)admit(m, r);
        }
        /* blocks that are not done may wait for one that has not begun */
        bool waits = !any || m->executed - m->last_effect > WAITS;
        if (waits && !admit(m, r) && !any && r->n)
            deadlock(r);
    }
}

static uint64_t
coprime(sim_machine *m, uint64_t n)
{
    for (;;) {
        uint64_t s = 1 + sim_random(m) % n, a = s, b = n;
        while (b) {
            uint64_t t = a % b;
            a = b;
            b = t;
        }
        if (a == 1)
            return s;
    }
}

static tnb_status
check_size(const sim_kernel *k, const sim_launch_size *s, tnb_err *err)
{
    const char *name = k->ptx->name;
    uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    uint32_t most = k->ptx->max_threads ? k->ptx->max_threads : SIM_MAX_THREADS;
    uint32_t shared = k->dynamic_at + s->shared_bytes;
    if (s->block[0] > SIM_MAX_THREADS || s->block[1] > SIM_MAX_THREADS || s->block[2] > 64 ||
        threads == 0 || threads > most)
        return tnb_fail(err, TNB_INVALID,
                        "kernel '%s': a block of %u x %u x %u threads; it may have %u", name,
                        s->block[0], s->block[1], s->block[2], most);
    if (k->ptx->required_threads && threads != k->ptx->required_threads)
        return tnb_fail(err, TNB_INVALID, "kernel '%s': a block of %llu threads; it is made for %u",
                        name, (unsigned long long)threads, k->ptx->required_threads);
    if (s->grid[0] == 0 || s->grid[1] == 0 || s->grid[2] == 0 || s->grid[0] > INT32_MAX ||
        s->grid[1] > 65535 || s->grid[2] > 65535 ||
        (uint64_t)s->grid[0] * s->grid[1] * s->grid[2] > INT32_MAX)
        return tnb_fail(err, TNB_INVALID, "kernel '%s': a grid of %u x %u x %u blocks", name,
                        s->grid[0], s->grid[1], s->grid[2]);
    if (s->shared_bytes > SIM_MAX_SHARED || shared > SIM_MAX_SHARED)
        return tnb_fail(err, TNB_INVALID, "kernel '%s': %u bytes of shared memory; there are %d",
                        name, shared, SIM_MAX_SHARED);
    return TNB_OK;
}

tnb_status
sim_launch(sim_machine *m, sim_kernel *k, const sim_launch_size *size, const void *params,
           tnb_err *err)
{
    m->fault = SIM_NO_FAULT;
    TNB_TRY(check_size(k, size, err));
    residents *r = calloc(1, sizeof *r);
    tnb_err mine; /* faults are written even if nobody asks */
    if (!r)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a launch");
    m->kernel = k;
    m->size = size;
    m->params = params;
    m->err = err ? err : &mine;
    m->last_effect = m->executed;
    m->time = 1;
    m->n_launches++;
    m->cost = (sim_cost){0};
    if (m->options.costs)
        sim_cost_prepare(k);
    if (!m->options.idle)
        m->options.idle = default_idle;
    r->total = (uint64_t)size->grid[0] * size->grid[1] * size->grid[2];
    r->step = 1;
    if (UINT32_MAX - m->n_blocks <= r->total)
        sim_forget_accesses(m);
    m->first_block = m->n_blocks + 1;
    m->n_blocks += (uint32_t)r->total;
    if (m->options.seed) {
        r->first = sim_random(m) % r->total;
        r->step = coprime(m, r->total);
    }
    tnb_status st = TNB_OK;
    if (setjmp(m->failed))
        st = m->err->status;
    else
        run_grid(m, r);
    for (uint32_t n = 0; n < r->n; n++)
        free_block(r->blocks[n]);
    free_block(r->idle);
    free(r);
    return st;
}
