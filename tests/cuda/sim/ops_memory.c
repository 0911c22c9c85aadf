/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and atomic operations, with the checks of each access. */
#include "config.h"

#include "decode.h"
#include "number.h"

#include <stdio.h>

SIM_FAST_CODE

uint64_t
sim_address(const sim_warp *w, const sim_insn *i, uint32_t lane)
{
    if (i->address == SIM_NONE)
        return (uint64_t)i->offset;
    const void *base = sim_at(w, i->ref[i->address]);
    if (i->width[i->address] == 4) /* the sum wraps, too: compilers move parts of it */
        return ((const uint32_t *)base)[lane] + (uint32_t)i->offset;
    return ((const uint64_t *)base)[lane] + (uint64_t)i->offset;
}

/* ---- checks ---- */

/* ORDER ATOMIC: as in forms.c */
enum { ADD, AND, OR, XOR, EXCH, CAS, MIN, MAX, INC, DEC };

/* A load of bytes that nobody wrote marks its result, and so do `and` and `or`, which may set some of them (keep_unknown); other
 * instructions do not read such bytes. */
static void
unknown(sim_warp *w, const sim_insn *i, uint32_t lane, uint32_t bytes, uint8_t *known, size_t at,
        uint64_t address, const char *what)
{
    if (i->run == sim_op_load || i->flow == SIM_MEET) { /* ldmatrix */
        w->unknown |= UINT32_C(1) << lane;
    } else if (i->run == sim_op_atomic && (i->from == AND || i->from == OR)) {
        w->unknown |= UINT32_C(1) << lane;
        w->partly = (sim_partly){.known = known, .at = at};
        for (uint32_t k = 0; k < bytes; k++)
            w->partly.bits |= (uint32_t)sim_is_known(known, at + k, 1) << k;
    } else
        sim_fault(w, i, lane, SIM_ADDRESS, "%u bytes at 0x%llx of %s memory are uninitialized",
                  bytes, (unsigned long long)address, what);
}

/* A store of what is there already changes nothing. */
static bool
is_same(const sim_warp *w, const uint8_t *memory, uint32_t bytes)
{
    return w->storing && memcmp(memory, w->storing, bytes) == 0;
}

static uint8_t *
window(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t at, uint32_t bytes, bool reads,
       bool writes, ptx_space space)
{
    sim_block *b = w->block;
    bool shared = space == PTX_SHARED;
    uint64_t size = shared ? b->shared_bytes : w->kernel->local_bytes;
    const char *what = shared ? "shared" : "local";
    uint8_t *memory = shared ? b->shared : b->local,
            *known = shared ? b->shared_known : b->local_known;
    if (at + bytes > size || at > size)
        sim_fault(w, i, lane, SIM_ADDRESS,
                  "%s of %u bytes at 0x%llx of %s memory, which has %llu bytes",
                  writes ? "store" : "load", bytes, (unsigned long long)at, what,
                  (unsigned long long)size);
    if (at % bytes)
        sim_fault(w, i, lane, SIM_MISALIGNED, "access of %u bytes at 0x%llx of %s memory", bytes,
                  (unsigned long long)at, what);
    if (!shared) { /* each thread has its own, at a multiple of 16 */
        size_t mine = (size_t)(w->index * SIM_LANES + lane) * ((size + 15) / 16 * 16);
        at += mine;
    }
    if (reads && !sim_is_known(known, at, bytes))
        unknown(w, i, lane, bytes, known, at, at, what);
    if (shared && w->block->cells)
        sim_race(w, i, lane, SIM_SHARED_BASE + at, w->block->cells, at, bytes, reads, writes,
                 writes && !is_same(w, memory + at, bytes));
    if (writes)
        sim_know(known, at, bytes);
    return memory + at;
}

static uint8_t *
global(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t address, uint32_t bytes, bool reads,
       bool writes)
{
    sim_memory *m = w->last;
    char what[160];
    if (!m || address - m->start >= m->bytes || !m->host)
        m = w->last = sim_memory_at(w->machine, address);
    if (!m || !m->host || address - m->start > m->bytes - bytes || m->bytes < bytes) {
        sim_describe(w->machine, address, what, sizeof what);
        sim_fault(w, i, lane, SIM_ADDRESS, "%s of %u bytes at 0x%llx, %s",
                  writes ? "store" : "load", bytes, (unsigned long long)address, what);
    }
    if (address % bytes)
        sim_fault(w, i, lane, SIM_MISALIGNED, "access of %u bytes at 0x%llx", bytes,
                  (unsigned long long)address);
    size_t at = address - m->start;
    if (m->known) {
        if (reads && !sim_is_known(m->known, at, bytes))
            unknown(w, i, lane, bytes, m->known, at, address, "global");
        if (writes)
            sim_know(m->known, at, bytes);
    }
    if (w->machine->options.races && !m->is_host) {
        if (!m->cells)
            m->cells = sim_new_cells(m->bytes);
        if (m->cells)
            sim_race(w, i, lane, address, m->cells, at, bytes, reads, writes,
                     writes && !is_same(w, m->host + at, bytes));
    }
    return m->host + at;
}

uint8_t *
sim_access(sim_warp *w, const sim_insn *i, uint32_t lane, ptx_space space, uint64_t address,
           uint32_t bytes, bool reads, bool writes)
{
    sim_machine *m = w->machine;
    if (space == SIM_GENERIC) {
        uint64_t base = address >> 48 << 48;
        space = base == SIM_SHARED_BASE  ? PTX_SHARED
                : base == SIM_LOCAL_BASE ? PTX_LOCAL
                : base == SIM_PARAM_BASE ? PTX_PARAM
                                         : PTX_GLOBAL;
        if (space != PTX_GLOBAL)
            address -= base;
    } else if (space == PTX_PARAM && address >= SIM_PARAM_BASE) {
        address -= SIM_PARAM_BASE;
    }
    if (writes)
        m->last_effect = m->executed;
    switch (space) {
    case PTX_SHARED:
    case PTX_LOCAL:
        return window(w, i, lane, address, bytes, reads, writes, space);
    case PTX_PARAM:
        if (writes || address + bytes > w->kernel->param_bytes || address > w->kernel->param_bytes)
            sim_fault(w, i, lane, SIM_ADDRESS,
                      "%s of %u bytes at 0x%llx of parameters, which have %u bytes",
                      writes ? "store" : "load", bytes, (unsigned long long)address,
                      w->kernel->param_bytes);
        return (uint8_t *)(uintptr_t)(m->params + address);
    default:
        return global(w, i, lane, address, bytes, reads, writes);
    }
}

/* ---- loads and stores ---- */

static inline void
put(uint8_t *d, uint32_t width, const uint8_t *from, uint32_t bytes, bool is_signed)
{
    uint64_t v = 0;
    if (bytes == 16) {
        memcpy(d, from, 16);
        return;
    }
    memcpy(&v, from, bytes);
    if (is_signed && bytes < 8 && v >> (8 * bytes - 1))
        v |= UINT64_MAX << 8 * bytes;
    memcpy(d, &v, width);
}

#define COPY(T)                                    \
    for (uint32_t l = 0; l < SIM_LANES; l++)       \
        for (uint32_t k = 0; k < i->n_vector; k++) \
            memcpy((T *)sim_at(w, i->ref[k]) + l, memory[l] + k * sizeof(T), sizeof(T));

/* Which elements of a vector are known, when not all are. */
static void
mark(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t unknown = w->unknown;
    for (uint32_t k = 0; k < i->n_vector; k++) {
        w->unknown = 0;
        for (uint32_t left = unknown; left; left &= left - 1) {
            uint32_t l = (uint32_t)__builtin_ctz(left);
            (void)sim_access(w, i, l, (ptx_space)i->space, sim_address(w, i, l) + k * i->bytes,
                             i->bytes, true, false);
        }
        sim_taint_set(w, i->ref[k], mask, w->unknown, i);
    }
}

static inline bool
is_known_aligned(const uint8_t *known, size_t at, uint32_t bytes)
{
    uint32_t bits = known[at / 8];
    if (bytes < 8)
        return (~(bits >> at % 8) & ((1u << bytes) - 1)) == 0;
    for (uint32_t k = 1; k < bytes / 8; k++)
        bits &= known[at / 8 + k];
    return bits == 255;
}

/* The addresses of a warp; of lanes that are not in the mask one of the others. */
static void
addresses(const sim_warp *w, const sim_insn *i, uint32_t mask, uint64_t *out)
{
    const void *base = i->address == SIM_NONE ? NULL : sim_at(w, i->ref[i->address]);
    for (uint32_t l = 0; !base && l < SIM_LANES; l++)
        out[l] = (uint64_t)i->offset;
    if (base && i->width[i->address] == 4)
        for (uint32_t l = 0; l < SIM_LANES; l++)
            out[l] = ((const uint32_t *)base)[l] + (uint32_t)i->offset;
    else if (base)
        for (uint32_t l = 0; l < SIM_LANES; l++)
            out[l] = ((const uint64_t *)base)[l] + (uint64_t)i->offset;
    for (uint32_t l = 0; mask != SIM_ALL && l < SIM_LANES; l++)
        out[l] = mask >> l & 1 ? out[l] : out[__builtin_ctz(mask)];
}

/* What a warp loads: anywhere, the same in all lanes, one element after the other. */
typedef enum shape { UNUSUAL, APART, SAME, ROW } shape;

/* A warp's loads of one array, all in bounds, aligned and initialized. UNUSUAL: lanes are to be looked at one by one. */
static shape
load_at_once(sim_warp *w, const sim_insn *i, uint32_t mask, uint32_t bytes, const uint8_t **memory)
{
    sim_block *b = w->block;
    sim_memory *m = w->last;
    uint64_t address[SIM_LANES], at[SIM_LANES], start, size, all = 0, most = 0, differ = 0, row = 0;
    const uint8_t *host, *known;
    sim_cell *cells;
    addresses(w, i, mask, address);
    if (i->space == PTX_SHARED) {
        start = SIM_SHARED_BASE;
        for (uint32_t l = 0; l < SIM_LANES; l++)
            address[l] += start;
        size = b->shared_bytes;
        host = b->shared;
        known = b->shared_known;
        cells = b->cells;
    } else if ((i->space == PTX_GLOBAL || i->space == SIM_GENERIC) && m && m->host && !m->is_host) {
        start = m->start;
        size = m->bytes;
        host = m->host;
        known = m->known;
        cells = m->cells;
    } else {
        return UNUSUAL;
    }
    for (uint32_t l = 0; l < SIM_LANES; l++) {
        at[l] = address[l] - start;
        all |= at[l];
        differ |= at[l] ^ at[0];
        row |= at[l] ^ (at[0] + l * bytes);
        most = at[l] > most ? at[l] : most;
    }
    if (size < bytes || most > size - bytes || all & (bytes - 1) ||
        (w->machine->options.races && !cells))
        return UNUSUAL;
    uint32_t looked = !differ ? 1 : SIM_LANES;
    if (!row && at[0] % 8 == 0) { /* 32 elements: whole bytes of the map */
        uint32_t bits = 255;
        for (uint32_t k = 0; k < SIM_LANES / 8 * bytes; k++)
            bits &= known[at[0] / 8 + k];
        looked = bits == 255 ? 0 : SIM_LANES;
    }
    for (uint32_t l = 0; l < looked; l++)
        if (!is_known_aligned(known, at[l], bytes))
            return UNUSUAL;
    for (uint32_t l = 0; l < SIM_LANES; l++)
        memory[l] = host + at[l];
    if (cells)
        sim_race_loads(w, i, mask, address, start, cells, bytes);
    return !differ ? SAME : !row ? ROW : APART;
}

void
sim_op_load(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    const uint8_t *memory[SIM_LANES];
    uint32_t bytes = (uint32_t)i->bytes * i->n_vector;
    bool is_signed = i->type >= SIM_S8 && i->type <= SIM_S64;
    w->unknown = 0;
    shape together = load_at_once(w, i, mask, bytes, memory);
    if (together == UNUSUAL)
        for (uint32_t left = mask; left; left &= left - 1) {
            uint32_t l = (uint32_t)__builtin_ctz(left);
            memory[l] =
                sim_access(w, i, l, (ptx_space)i->space, sim_address(w, i, l), bytes, true, false);
        }
    if (w->unknown | w->is_tainted)
        mark(w, i, mask);
    /* after all have read their addresses: a result may be one */
    if (mask == SIM_ALL && i->width[0] == i->bytes) {
        if (together == ROW && i->n_vector == 1) {
            memcpy(sim_at(w, i->ref[0]), memory[0], (size_t)SIM_LANES * bytes);
            return;
        }
        if (together == SAME && i->bytes == 4) {
            for (uint32_t k = 0; k < i->n_vector; k++) {
                uint32_t v, *d = sim_at(w, i->ref[k]);
                memcpy(&v, memory[0] + k * sizeof v, sizeof v);
                for (uint32_t l = 0; l < SIM_LANES; l++)
                    d[l] = v;
            }
            return;
        }
        if (i->bytes == 4) {
            COPY(uint32_t)
            return;
        }
        if (i->bytes == 8) {
            COPY(uint64_t)
            return;
        }
    } else if (i->width[0] == sizeof(uint32_t) && i->bytes == sizeof(uint32_t)) {
        for (uint32_t left = mask; left; left &= left - 1) {
            uint32_t l = (uint32_t)__builtin_ctz(left);
            for (uint32_t k = 0; k < i->n_vector; k++)
                memcpy((uint32_t *)sim_at(w, i->ref[k]) + l, memory[l] + k * sizeof(uint32_t),
                       sizeof(uint32_t));
        }
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        for (uint32_t k = 0; k < i->n_vector; k++)
            put((uint8_t *)sim_at(w, i->ref[k]) + l * i->width[k], i->width[k],
                memory[l] + k * i->bytes, i->bytes, is_signed);
    }
}

/* The same for all lanes, checked when it is decoded but for the size. */
void
sim_op_load_param(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    bool is_signed = i->type >= SIM_S8 && i->type <= SIM_S64;
    const uint8_t *from =
        sim_access(w, i, (uint32_t)__builtin_ctz(mask), PTX_PARAM, (uint64_t)i->offset,
                   (uint32_t)i->bytes * i->n_vector, true, false);
    for (uint32_t k = 0; k < i->n_vector; k++)
        SIM_EACH(mask, l,
                 put((uint8_t *)sim_at(w, i->ref[k]) + l * i->width[k], i->width[k],
                     from + k * i->bytes, i->bytes, is_signed));
}

/* Memory of a block or a thread keeps marked values, whose bytes become uninitialized; others see what is stored elsewhere. */
static void
store_marked(sim_warp *w, const sim_insn *i, uint32_t lane, uint32_t k)
{
    sim_block *b = w->block;
    uint64_t at = sim_address(w, i, lane), base = at >> 48 << 48;
    bool shared = i->space == PTX_SHARED || (i->space == SIM_GENERIC && base == SIM_SHARED_BASE);
    bool local = i->space == PTX_LOCAL || (i->space == SIM_GENERIC && base == SIM_LOCAL_BASE);
    if (!shared && !local)
        sim_taint_refuse(w, i, k, UINT32_C(1) << lane, "what is stored");
    at = (i->space == SIM_GENERIC ? at - base : at) + (uint64_t)k * i->bytes;
    if (local)
        at += (size_t)(w->index * SIM_LANES + lane) * ((w->kernel->local_bytes + 15) / 16 * 16);
    for (uint64_t byte = at; byte < at + i->bytes; byte++)
        (shared ? b->shared_known : b->local_known)[byte / 8] &= (uint8_t) ~(1 << byte % 8);
}

void
sim_op_store(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t bytes = (uint32_t)i->bytes * i->n_vector;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint8_t value[64];
        for (uint32_t k = 0; k < i->n_vector; k++)
            memcpy(value + k * i->bytes, (const uint8_t *)sim_at(w, i->ref[k]) + l * i->width[k],
                   i->bytes);
        w->storing = value;
        memcpy(sim_access(w, i, l, (ptx_space)i->space, sim_address(w, i, l), bytes, false, true),
               value, bytes);
        w->storing = NULL;
        for (uint32_t k = 0; w->is_tainted && k < i->n_vector; k++)
            if (sim_taint_mask(w, i->ref[k]) >> l & 1)
                store_marked(w, i, l, k);
    }
}

/* ---- atomic operations ---- */

static double
as_float(uint64_t v, sim_type t)
{
    double d;
    switch (t) {
    case SIM_F16:
    case SIM_F16X2:
        return (double)sim_from_half((uint16_t)v);
    case SIM_BF16:
    case SIM_BF16X2:
        return (double)sim_from_bfloat((uint16_t)v);
    case SIM_F32:
        return (double)sim_float_of((uint32_t)v);
    default:
        memcpy(&d, &v, sizeof d);
        return d;
    }
}

static uint64_t
float_sum(uint64_t a, uint64_t b, sim_type t)
{
    double sum = as_float(a, t) + as_float(b, t);
    uint64_t bits;
    switch (t) {
    case SIM_F16:
    case SIM_F16X2:
        return sim_to_half(sum, SIM_NEAREST, false);
    case SIM_BF16:
    case SIM_BF16X2:
        return sim_to_bfloat(sum, SIM_NEAREST, false);
    case SIM_F32: /* a sum of floats is rounded right from a double */
        return sim_bits_of(sim_canonical((float)sum));
    default:
        memcpy(&bits, &sum, sizeof bits);
        return bits;
    }
}

static uint64_t
changed(const sim_insn *i, uint64_t old, uint64_t b, uint64_t c)
{
    sim_type t = (sim_type)i->type;
    bool wide = sim_type_bytes(t) == 8, is_signed = t == SIM_S32 || t == SIM_S64;
    int64_t sa = wide ? (int64_t)old : (int32_t)old, sb = wide ? (int64_t)b : (int32_t)b;
    bool less = is_signed ? sa < sb : old < b;
    switch (i->from) {
    case ADD:
        if (t == SIM_F16X2 || t == SIM_BF16X2)
            return float_sum(old >> 16, b >> 16, t) << 16 | float_sum(old & 0xffff, b & 0xffff, t);
        return t >= SIM_F16 ? float_sum(old, b, t) : old + b;
    case AND:
        return old & b;
    case OR:
        return old | b;
    case XOR:
        return old ^ b;
    case EXCH:
        return b;
    case CAS:
        return old == b ? c : old;
    case MIN:
        return less ? old : b;
    case MAX:
        return less ? b : old;
    case INC:
        return old >= b ? 0 : old + 1;
    default:
        return old == 0 || old > b ? b : old - 1;
    }
}

/* Elements that share a byte are stored by `and` and `or`: bytes that neither changes are as uninitialized as before. */
static void
keep_unknown(sim_warp *w, const sim_insn *i, uint64_t operand)
{
    uint8_t same = i->from == AND ? 255 : 0;
    for (uint32_t k = 0; k < i->bytes; k++)
        if (!(w->partly.bits >> k & 1) && (uint8_t)(operand >> 8 * k) == same)
            w->partly.known[(w->partly.at + k) / 8] &= (uint8_t) ~(1 << (w->partly.at + k) % 8);
}

void
sim_op_atomic(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint64_t old[SIM_LANES];
    w->unknown = 0;
    for (uint32_t k = 1; w->is_tainted && k < i->n_ref; k++)
        if (k != i->address)
            sim_taint_refuse(w, i, k, mask, "the operand");
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint64_t b = 0, c = 0, before = w->machine->last_effect;
        memcpy(&b, (const uint8_t *)sim_at(w, i->ref[1]) + l * i->width[1], i->bytes);
        if (i->from == CAS)
            memcpy(&c, (const uint8_t *)sim_at(w, i->ref[2]) + l * i->width[2], i->bytes);
        uint8_t *at =
            sim_access(w, i, l, (ptx_space)i->space, sim_address(w, i, l), i->bytes, true, true);
        old[l] = 0;
        if (w->unknown >> l & 1)
            keep_unknown(w, i, b);
        memcpy(&old[l], at, i->bytes);
        uint64_t next = changed(i, old[l], b, c);
        if (memcmp(&next, &old[l], i->bytes) == 0) /* who waits for a lock gets nowhere */
            w->machine->last_effect = before;
        memcpy(at, &next, i->bytes);
    }
    if (w->unknown && *i->ptx->part[0] == 'a')
        sim_taint_set(w, i->ref[0], mask, w->unknown, i);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        memcpy((uint8_t *)sim_at(w, i->ref[0]) + l * i->width[0], &old[l], i->width[0]);
    }
}
