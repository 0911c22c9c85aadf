/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the simulated device. Addresses grow and are not given twice, so that an access to memory that was given back is always
 * told from others; between allocations lies a gap. A bit for each byte says whether it was written. */
#include "config.h"

#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 512, GAP = 1 << 20, MOST_RECORDS = 1 << 18 };

sim_machine *
sim_new(const sim_options *o)
{
    sim_machine *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->options = *o;
    m->random = o->seed * 0x9e3779b97f4a7c15 + 1;
    m->next_address = SIM_GLOBAL_BASE + GAP;
    m->arena = tnb_arena_new();
    return m;
}

void
sim_free(sim_machine *m)
{
    if (!m)
        return;
    while (m->modules)
        sim_unload(m, m->modules);
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < m->n_memories[k]; i++) {
            if (!m->memories[k][i].is_host)
                free(m->memories[k][i].host);
            free(m->memories[k][i].known);
            free(m->memories[k][i].cells);
            free(m->memories[k][i].touched);
        }
        free(m->memories[k]);
    }
    tnb_arena_free(m->arena);
    free(m);
}

uint64_t
sim_random(sim_machine *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

/* ---- the lists ---- */

static sim_memory *
find(sim_memory *list, uint32_t n, uint64_t address)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (list[mid].start <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &list[low - 1] : NULL;
}

sim_memory *
sim_memory_at(sim_machine *m, uint64_t address)
{
    int k = address < SIM_GLOBAL_BASE;
    sim_memory *x = find(m->memories[k], m->n_memories[k], address);
    return x && address - x->start < x->bytes ? x : NULL;
}

void
sim_describe(sim_machine *m, uint64_t address, char *out, size_t size)
{
    int k = address < SIM_GLOBAL_BASE;
    sim_memory *x = find(m->memories[k], m->n_memories[k], address);
    if (!x)
        snprintf(out, size, "where there is no memory");
    else if (address - x->start >= x->bytes)
        snprintf(out, size, "%llu bytes behind the end of an allocation of %zu",
                 (unsigned long long)(address - x->start - x->bytes), x->bytes);
    else if (!x->host)
        snprintf(out, size, "byte %llu of an allocation of %zu that is freed or not yet made",
                 (unsigned long long)(address - x->start), x->bytes);
    else
        snprintf(out, size, "byte %llu of an allocation of %zu",
                 (unsigned long long)(address - x->start), x->bytes);
}

/* Forgets the oldest half of what was given back. */
static void
forget(sim_machine *m, int k)
{
    uint32_t kept = 0, freed = 0;
    for (uint32_t i = 0; i < m->n_memories[k]; i++) {
        sim_memory x = m->memories[k][i];
        if (x.host || freed++ > MOST_RECORDS / 2)
            m->memories[k][kept++] = x;
    }
    m->n_memories[k] = kept;
}

static bool
insert(sim_machine *m, int k, sim_memory x)
{
    if (m->n_memories[k] == MOST_RECORDS)
        forget(m, k);
    if (m->n_memories[k] == m->cap_memories[k]) {
        uint32_t cap = m->cap_memories[k] ? 2 * m->cap_memories[k] : 64;
        sim_memory *more = realloc(m->memories[k], cap * sizeof *more);
        if (!more)
            return false;
        m->memories[k] = more;
        m->cap_memories[k] = cap;
    }
    uint32_t at = m->n_memories[k]++;
    for (; at && m->memories[k][at - 1].start > x.start; at--)
        m->memories[k][at] = m->memories[k][at - 1];
    m->memories[k][at] = x;
    return true;
}

uint64_t
sim_reserve(sim_machine *m, size_t bytes)
{
    if (bytes == 0 || bytes > SIM_GLOBAL_BASE / 2 ||
        m->next_address + 2 * bytes + 2 * GAP > SIM_SHARED_BASE)
        return 0;
    sim_memory x = {.start = m->next_address, .bytes = bytes};
    if (!insert(m, 0, x))
        return 0;
    m->next_address += (bytes + ALIGN - 1) / ALIGN * ALIGN + GAP;
    return x.start;
}

tnb_status
sim_commit(sim_machine *m, uint64_t address, tnb_err *err)
{
    sim_memory *x = sim_memory_at(m, address);
    if (!x || x->start != address || x->host)
        return tnb_fail(err, TNB_INVALID, "0x%llx is not what was reserved",
                        (unsigned long long)address);
    x->host = malloc(x->bytes + 16);
    x->known = calloc((x->bytes + 7) / 8 + 2, 1);
    if (x->host && x->known)
        return TNB_OK;
    free(x->host);
    free(x->known);
    x->host = x->known = NULL;
    return tnb_fail(err, TNB_NO_MEMORY, "no memory for an allocation of %zu bytes", x->bytes);
}

uint64_t
sim_alloc(sim_machine *m, size_t bytes)
{
    tnb_err err;
    uint64_t address = sim_reserve(m, bytes);
    return address && sim_commit(m, address, &err) == TNB_OK ? address : 0;
}

bool
sim_register(sim_machine *m, void *host, size_t bytes)
{
    sim_memory x = {.start = (uint64_t)(uintptr_t)host,
                    .bytes = bytes,
                    .host = host,
                    .is_host = true};
    uint64_t last = x.start + bytes - 1;
    if (bytes == 0 || last >= SIM_GLOBAL_BASE)
        return false;
    /* what lay there before and was given back is forgotten */
    for (uint32_t i = m->n_memories[1]; i-- > 0;) {
        sim_memory *old = &m->memories[1][i];
        if (old->start + old->bytes <= x.start || old->start > last)
            continue;
        if (old->host)
            return false;
        memmove(old, old + 1, (m->n_memories[1] - i - 1) * sizeof *old);
        m->n_memories[1]--;
    }
    return insert(m, 1, x);
}

tnb_status
sim_release(sim_machine *m, uint64_t address, tnb_err *err)
{
    sim_memory *x = sim_memory_at(m, address);
    if (!x || x->start != address)
        return tnb_fail(err, TNB_INVALID, "0x%llx is not the start of an allocation",
                        (unsigned long long)address);
    if (!x->host)
        return tnb_fail(err, TNB_INVALID, "the allocation of %zu bytes at 0x%llx was freed before",
                        x->bytes, (unsigned long long)address);
    if (!x->is_host)
        free(x->host);
    free(x->known);
    free(x->cells);
    free(x->touched);
    x->host = x->known = NULL;
    x->cells = NULL;
    x->touched = NULL;
    return TNB_OK;
}

bool
sim_find_memory(sim_machine *m, uint64_t address, uint64_t *start, size_t *bytes, bool *is_host)
{
    sim_memory *x = sim_memory_at(m, address);
    if (!x || !x->host)
        return false;
    *start = x->start;
    *bytes = x->bytes;
    *is_host = x->is_host;
    return true;
}

/* ---- which bytes are initialized ---- */

void
sim_know(uint8_t *known, size_t at, size_t bytes)
{
    size_t end = at + bytes;
    if (bytes <= 8 && at / 8 == (end - 1) / 8) {
        known[at / 8] |= (uint8_t)(((1u << bytes) - 1) << at % 8);
        return;
    }
    for (; at < end && at % 8; at++)
        known[at / 8] |= (uint8_t)(1 << at % 8);
    memset(known + at / 8, 255, (end - at) / 8);
    for (at = end > at ? end / 8 * 8 > at ? end / 8 * 8 : at : end; at < end; at++)
        known[at / 8] |= (uint8_t)(1 << at % 8);
}

void
sim_forget_shared(sim_block *b, uint64_t at, uint32_t bytes)
{
    for (uint64_t k = at; k < at + bytes; k++)
        b->shared_known[k / 8] &= (uint8_t) ~(1 << k % 8);
}

bool
sim_is_known(const uint8_t *known, size_t at, size_t bytes)
{
    if (bytes <= 8 && at / 8 == (at + bytes - 1) / 8) {
        uint32_t wanted = ((1u << bytes) - 1) << at % 8;
        return (known[at / 8] & wanted) == wanted;
    }
    for (size_t k = at; k < at + bytes; k++)
        if (!(known[k / 8] >> k % 8 & 1))
            return false;
    return true;
}

/* ---- copies ---- */

static tnb_status
range(sim_machine *m, uint64_t address, size_t bytes, const char *what, sim_memory **out,
      tnb_err *err)
{
    char where[160];
    sim_memory *x = sim_memory_at(m, address);
    if (x && x->host && x->bytes - (address - x->start) >= bytes) {
        *out = x;
        return TNB_OK;
    }
    sim_describe(m, x && x->host ? x->start + x->bytes : address, where, sizeof where);
    return tnb_fail(err, TNB_BOUNDS, "%s of %zu bytes at 0x%llx: %s", what, bytes,
                    (unsigned long long)address, where);
}

tnb_status
sim_write(sim_machine *m, uint64_t to, const void *from, size_t bytes, tnb_err *err)
{
    sim_memory *x;
    if (bytes == 0)
        return TNB_OK;
    TNB_TRY(range(m, to, bytes, "copy to the device", &x, err));
    memmove(x->host + (to - x->start), from, bytes);
    if (x->known)
        sim_know(x->known, to - x->start, bytes);
    return TNB_OK;
}

tnb_status
sim_read(sim_machine *m, void *to, uint64_t from, size_t bytes, tnb_err *err)
{
    sim_memory *x;
    if (bytes == 0)
        return TNB_OK;
    TNB_TRY(range(m, from, bytes, "copy to the host", &x, err));
    memmove(to, x->host + (from - x->start), bytes);
    return TNB_OK;
}

tnb_status
sim_copy(sim_machine *m, uint64_t to, uint64_t from, size_t bytes, tnb_err *err)
{
    sim_memory *x, *y;
    if (bytes == 0)
        return TNB_OK;
    TNB_TRY(range(m, to, bytes, "copy to the device", &x, err));
    TNB_TRY(range(m, from, bytes, "copy from the device", &y, err));
    size_t at = to - x->start, source = from - y->start;
    memmove(x->host + at, y->host + source, bytes);
    if (!x->known)
        return TNB_OK;
    if (!y->known || sim_is_known(y->known, source, bytes)) {
        sim_know(x->known, at, bytes);
        return TNB_OK;
    }
    for (size_t k = 0; k < bytes; k++) {
        uint8_t bit = (uint8_t)(1 << (at + k) % 8);
        bool is = y->known[(source + k) / 8] >> (source + k) % 8 & 1;
        x->known[(at + k) / 8] = (uint8_t)((x->known[(at + k) / 8] & ~bit) | (is ? bit : 0));
    }
    return TNB_OK;
}

tnb_status
sim_fill(sim_machine *m, uint64_t to, uint32_t value, uint32_t bytes, size_t n, tnb_err *err)
{
    sim_memory *x;
    size_t all;
    if (n == 0)
        return TNB_OK;
    if (__builtin_mul_overflow(n, (size_t)bytes, &all))
        return tnb_fail(err, TNB_BOUNDS, "a fill of %zu elements is larger than memory", n);
    TNB_TRY(range(m, to, all, "fill", &x, err));
    uint8_t *p = x->host + (to - x->start);
    if (bytes == 1)
        memset(p, (int)value, n);
    else
        for (size_t k = 0; k < n; k++)
            memcpy(p + k * bytes, &value, bytes);
    if (x->known)
        sim_know(x->known, to - x->start, all);
    return TNB_OK;
}
