/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs a device: instructions, floating-point operations, and how warps use memory, counted as they execute.
 *
 * Global memory moves in sectors of 32 bytes: an access of a warp moves those that its lanes touch. The least that a launch can move is
 * each sector once. Shared memory has 32 banks of 4 bytes: an access takes as many passes as words of one bank are asked for, in parts of
 * 128 bytes, and at least its words by 32. */
#include "config.h"

#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

enum { SECTOR = 32, BANKS = 32, WORD = 4, ROW = 16 };

/* ---- kinds of instructions ---- */

typedef enum kind { OTHER, LOAD, STORE, ATOMIC, COPY, BULK, MATRIX_ROWS, MATRIX, BARRIER } kind;

typedef struct sim_cost_kind {
    uint8_t kind;
    uint32_t operations; /* floating-point ones of a lane; MATRIX: of a warp */
} sim_cost_kind;

static bool
is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* A product and a sum are two. */
static uint32_t
operations_of(const ptx_instruction *p)
{
    static const char *const one[] = {"add",   "sub", "mul", "div", "min", "max",  "rcp", "sqrt",
                                      "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", NULL},
                             *const two[] = {"fma", "mad", NULL}, *const floats[] = {"f16",
                                                                                     "f16x2",
                                                                                     "bf16",
                                                                                     "bf16x2",
                                                                                     "f32",
                                                                                     "f64",
                                                                                     NULL};
    const char *type = p->part[p->n_parts - 1];
    uint32_t n = is_one_of(p->part[0], one) ? 1 : is_one_of(p->part[0], two) ? 2 : 0;
    return !n || !is_one_of(type, floats) ? 0 : strstr(type, "x2") ? 2 * n : n;
}

static sim_cost_kind
kind_of(const sim_insn *i)
{
    static const struct {
        const char *name;
        kind kind;
    } kinds[] = {{"ld", LOAD},
                 {"ldu", LOAD},
                 {"st", STORE},
                 {"atom", ATOMIC},
                 {"red", ATOMIC},
                 {"ldmatrix", MATRIX_ROWS},
                 {"stmatrix", MATRIX_ROWS},
                 {"mma", MATRIX},
                 {"bar", BARRIER},
                 {"barrier", BARRIER}};
    const ptx_instruction *p = i->ptx;
    if (p->n_parts == 0) /* the end of a function */
        return (sim_cost_kind){0};
    sim_cost_kind k = {.operations = operations_of(p)};
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++)
        if (strcmp(p->part[0], kinds[n].name) == 0)
            k.kind = (uint8_t)kinds[n].kind;
    if (strncmp(p->text, "bar.warp", 8) == 0)
        k.kind = OTHER;
    if (strncmp(p->text, "cp.async.ca.", 12) == 0 || strncmp(p->text, "cp.async.cg.", 12) == 0)
        k.kind = COPY;
    if (strncmp(p->text, "cp.async.bulk.shared", 20) == 0)
        k.kind = BULK;
    for (uint32_t n = 1; k.kind == MATRIX && n < p->n_parts; n++) {
        unsigned rows, columns, depth;
        if (sscanf(p->part[n], "m%un%uk%u", &rows, &columns, &depth) == 3)
            k.operations = 2 * rows * columns * depth;
    }
    return k;
}

void
sim_cost_prepare(sim_kernel *k)
{
    if (k->kinds)
        return;
    k->kinds = tnb_alloc(k->module->arena, k->n_code * sizeof *k->kinds);
    for (uint32_t n = 0; n < k->n_code; n++)
        k->kinds[n] = kind_of(&k->code[n]);
}

/* ---- memory ---- */

/* Notes that a launch touches a sector; true: for the first time. */
static bool
is_new(sim_machine *m, sim_memory *x, uint64_t sector, bool writes)
{
    size_t n = x->bytes / SECTOR + 1;
    if (!x->touched)
        x->touched = calloc(2 * n, sizeof *x->touched);
    uint32_t *at = x->touched ? &x->touched[(writes ? n : 0) + sector] : NULL;
    if (!at || *at == m->n_launches)
        return false;
    *at = m->n_launches;
    return true;
}

static void
count_global(sim_warp *w, const uint64_t *address, uint32_t mask, uint32_t bytes, bool writes)
{
    sim_cost *c = &w->machine->cost;
    uint64_t seen[SIM_LANES * 2];
    uint32_t n = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t first = address[__builtin_ctz(left)];
        c->global_bytes += bytes;
        for (uint64_t s = first / SECTOR; s <= (first + bytes - 1) / SECTOR; s++) {
            uint32_t k = n;
            while (k && seen[k - 1] != s)
                k--;
            if (k || n == SIM_LANES * 2)
                continue;
            seen[n++] = s;
            c->global_sectors++;
            sim_memory *x = sim_memory_at(w->machine, s * SECTOR);
            if (x)
                c->global_least += is_new(w->machine, x, (s * SECTOR - x->start) / SECTOR, writes);
        }
    }
}

/* Lanes in parts of 128 bytes, as they are asked for at once. */
static void
count_shared(sim_warp *w, const uint64_t *address, uint32_t mask, uint32_t bytes)
{
    sim_cost *c = &w->machine->cost;
    uint32_t part = bytes <= WORD ? SIM_LANES : SIM_LANES * WORD / bytes;
    for (uint32_t first = 0; first < SIM_LANES; first += part) {
        uint64_t seen[SIM_LANES];
        uint32_t n = 0, passes = 0, of_bank[BANKS] = {0};
        for (uint32_t l = first; l < first + part; l++)
            for (uint64_t word = address[l] / WORD;
                 mask >> l & 1 && word <= (address[l] + bytes - 1) / WORD; word++) {
                uint32_t k = n;
                while (k && seen[k - 1] != word)
                    k--;
                if (k || n == SIM_LANES)
                    continue;
                seen[n++] = word;
                uint32_t of = ++of_bank[word % BANKS];
                passes = of > passes ? of : passes;
            }
        c->shared_passes += passes;
        c->shared_least += n != 0;
    }
}

static void
count_access(sim_warp *w, const sim_insn *i, uint32_t mask, kind k)
{
    uint64_t address[SIM_LANES] = {0};
    uint32_t shared = 0, global = 0, bytes = (uint32_t)i->bytes * (i->n_vector ? i->n_vector : 1);
    if (k == ATOMIC)
        bytes = i->bytes;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left), bit = UINT32_C(1) << l;
        uint64_t a = sim_address(w, i, l);
        bool in_shared =
            i->space == PTX_SHARED || (i->space == SIM_GENERIC && a >> 48 << 48 == SIM_SHARED_BASE);
        shared |= in_shared ? bit : 0;
        global |=
            !in_shared && (i->space == PTX_GLOBAL || i->space == SIM_GENERIC) && a < SIM_SHARED_BASE
                ? bit
                : 0;
        address[l] = a;
    }
    if (shared)
        count_shared(w, address, shared, bytes);
    if (global)
        count_global(w, address, global, bytes, k == STORE || k == ATOMIC);
}

/* cp.async: the source is the second operand, its offset `target`; the destination is shared memory. */
static void
count_copy(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint64_t to[SIM_LANES] = {0}, from[SIM_LANES] = {0};
    for (uint32_t l = 0; l < SIM_LANES; l++) {
        memcpy(&to[l], (const uint8_t *)sim_at(w, i->ref[0]) + l * i->width[0], i->width[0]);
        memcpy(&from[l], (const uint8_t *)sim_at(w, i->ref[1]) + l * i->width[1], i->width[1]);
        to[l] += (uint64_t)i->offset;
        from[l] += (uint64_t)(int64_t)(int32_t)i->target;
    }
    count_shared(w, to, mask, i->bytes);
    count_global(w, from, mask, i->bytes, false);
}

/* ldmatrix, stmatrix: eight lanes give the rows of a matrix. */
static void
count_rows(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint64_t address[SIM_LANES] = {0};
    uint32_t n = i->n_vector * 8u;
    for (uint32_t l = 0; l < SIM_LANES; l++)
        address[l] = sim_address(w, i, l);
    count_shared(w, address, n < SIM_LANES ? mask & ((1u << n) - 1) : mask, ROW);
}

sim_cost
sim_last_cost(const sim_machine *m)
{
    return m->cost;
}

void
sim_count(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    sim_cost *c = &w->machine->cost;
    const sim_cost_kind *k = &w->kernel->kinds[i - w->kernel->code];
    c->instructions++;
    switch ((kind)k->kind) {
    case LOAD:
    case STORE:
    case ATOMIC:
        count_access(w, i, mask, (kind)k->kind);
        break;
    case COPY:
        c->copies++;
        count_copy(w, i, mask);
        break;
    case BULK:
        c->copies++;
        break;
    case MATRIX_ROWS:
        c->matrix_rows++;
        count_rows(w, i, mask);
        break;
    case MATRIX:
        c->matrix++;
        c->operations += k->operations;
        return;
    case BARRIER:
        c->barriers++;
        break;
    default:
        break;
    }
    c->operations += (uint64_t)k->operations * (uint32_t)__builtin_popcount(mask);
}
