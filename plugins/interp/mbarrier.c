/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers in shared memory, and which threads of a group go on when none can by itself.
 *
 * A barrier is 64 bits: arrivals that a phase still takes (20), arrivals of a phase (20), bytes that it still takes (23, signed), the
 * parity of the phase (1). A phase is complete when it takes neither arrivals nor bytes.
 *
 * Threads that wait go on in this order: those of a warp or of a barrier with a number that has all its threads; all of the group, who
 * stand at one barrier; else the oldest asynchronous copy that arrives at a barrier is completed, so that none is sooner than the
 * program needs it. If there is none, the threads wait for ever: an error.
 */
#include "interp.h"

#include <stdio.h>

typedef struct mbarrier {
    uint32_t pending, expected, parity;
    int32_t bytes;
} mbarrier;

enum { MOST = (1 << 20) - 1, BYTES_BITS = 23, EXPECTED_AT = 20, BYTES_AT = 40, PARITY_AT = 63 };

static mbarrier
unpack(uint64_t v)
{
    int64_t bytes = (int64_t)(v << 1) >> (64 - BYTES_BITS);
    return (mbarrier){(uint32_t)v & MOST, (uint32_t)(v >> EXPECTED_AT) & MOST,
                      (uint32_t)(v >> PARITY_AT), (int32_t)bytes};
}

static uint64_t
pack(mbarrier b)
{
    return (uint64_t)b.pending | (uint64_t)b.expected << EXPECTED_AT |
           ((uint64_t)(uint32_t)b.bytes & ((1u << BYTES_BITS) - 1)) << BYTES_AT |
           (uint64_t)b.parity << PARITY_AT;
}

static bool
wrong(const interp_frame *f, tn_loc loc, tnb_status s, const char *what)
{
    tn_error(f->vm->ctx, loc, s, "%s: %s", f->code->name ? f->code->name : "?", what);
    return false;
}

/* Where the barrier lies; NULL after recording an error. */
static interp_mem *
find(interp_frame *f, tn_loc loc, int64_t handle, bool known, uint64_t *at)
{
    interp_mem *m = interp_handle_mem(f->vm, handle, at);
    const char *why = !m || *at % 8 || *at + 8 > m->size
                          ? "a barrier in shared memory is 8 bytes, at a multiple of 8"
                          : NULL;
    for (uint64_t i = *at; !why && known && m->shadow && i < *at + 8; i++)
        if (!(m->shadow[i >> 3] >> (i & 7) & 1))
            why = "a barrier in shared memory is used before ptx_mbarrier_init";
    if (!why)
        return m;
    (void)wrong(f, loc, TNB_INVALID, why);
    return NULL;
}

static const char *
change(mbarrier *b, interp_mbarrier_op op, int64_t n)
{
    enum { MOST_BYTES = (1 << (BYTES_BITS - 1)) - 1 };
    if (op == INTERP_MBARRIER_INIT) {
        if (n < 1 || n > MOST)
            return "a barrier in shared memory takes 1 to 1048575 arrivals";
        *b = (mbarrier){.pending = (uint32_t)n, .expected = (uint32_t)n};
        return NULL;
    }
    if (op == INTERP_MBARRIER_EXPECT || op == INTERP_MBARRIER_COMPLETE) {
        int64_t bytes = b->bytes + (op == INTERP_MBARRIER_EXPECT ? n : -n);
        if (n < 0 || bytes > MOST_BYTES || bytes < -MOST_BYTES)
            return "a barrier in shared memory expects too many bytes";
        b->bytes = (int32_t)bytes;
    }
    if (op == INTERP_MBARRIER_ARRIVE || op == INTERP_MBARRIER_EXPECT) {
        if (b->pending == 0)
            return "more threads arrive at a barrier in shared memory than a phase takes";
        b->pending--;
    }
    if (b->pending == 0 && b->bytes < 0)
        return "more bytes come to a barrier in shared memory than its phase expects";
    if (b->pending == 0 && b->bytes == 0) {
        b->pending = b->expected;
        b->parity ^= 1;
    }
    return NULL;
}

bool
interp_mbarrier(interp_frame *f, tn_loc loc, interp_mbarrier_op op, int64_t handle, int64_t n)
{
    uint64_t at, v = 0;
    if (op == INTERP_MBARRIER_LATE_ARRIVE)
        return interp_late_arrive(f, loc, INTERP_MBARRIER_ARRIVE, handle, 0);
    if (op == INTERP_MBARRIER_LATE_BYTES)
        return interp_late_arrive(f, loc, INTERP_MBARRIER_COMPLETE, handle, n);
    interp_mem *m = find(f, loc, handle, op != INTERP_MBARRIER_INIT, &at);
    if (!m)
        return false;
    memcpy(&v, m->bytes + at, sizeof v);
    mbarrier b = unpack(v);
    const char *why = change(&b, op, n);
    if (why)
        return wrong(f, loc, TNB_INVALID, why);
    v = pack(b);
    memcpy(m->bytes + at, &v, sizeof v);
    for (uint64_t i = at; m->shadow && i < at + 8; i++)
        m->shadow[i >> 3] |= (uint8_t)(1u << (i & 7));
    return true;
}

bool
interp_mbarrier_passed(interp_frame *f, tn_loc loc, int64_t handle, int64_t parity, bool *ok)
{
    uint64_t at, v;
    const interp_mem *m = find(f, loc, handle, true, &at);
    *ok = m && (parity == 0 || parity == 1);
    if (m && !*ok)
        (void)wrong(f, loc, TNB_INVALID, "the parity of a phase is 0 or 1");
    if (!*ok)
        return false;
    memcpy(&v, m->bytes + at, sizeof v);
    return unpack(v).parity != (uint32_t)parity;
}

/* ---- who goes on ---- */

/* Lets the threads from..to-1 go on that stand at `at`, if `wanted` of them do. */
static bool
pass(interp_frame *t, uint64_t from, uint64_t to, const interp_ins *at, uint64_t wanted)
{
    uint64_t n = 0;
    for (uint64_t i = from; i < to; i++)
        n += t[i].state == INTERP_WAITS && t[i].waits_at == at;
    for (uint64_t i = from; n == wanted && i < to; i++)
        t[i].state = INTERP_RUNS;
    return n == wanted;
}

/* Those of a barrier with a number, wherever in the program they stand. */
static bool
pass_named(interp_frame *t, uint64_t n, uint32_t number, int64_t wanted)
{
    int64_t come = t->arrived[number];
    for (uint64_t i = 0; i < n; i++)
        come += t[i].state == INTERP_WAITS && t[i].waits_at->op == INTERP_NAMED &&
                t[i].r[t[i].waits_at->b].i == number;
    for (uint64_t i = 0; come == wanted && i < n; i++)
        if (t[i].state == INTERP_WAITS && t[i].waits_at->op == INTERP_NAMED &&
            t[i].r[t[i].waits_at->b].i == number)
            t[i].state = INTERP_RUNS;
    if (come == wanted)
        t->arrived[number] = 0;
    return come == wanted;
}

static bool
never(const interp_frame *t, uint64_t n)
{
    const interp_frame *f = NULL;
    uint64_t waiting = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool other = f && f->waits_at->op != INTERP_MWAIT && f->waits_at->op != INTERP_NAMED;
        if (t[i].state == INTERP_WAITS && (!f || other))
            f = &t[i];
        waiting += t[i].state == INTERP_WAITS;
    }
    if (!f)
        return false;
    const interp_ins *at = f->waits_at;
    tn_loc loc = f->code->loc[at - f->code->at];
    char text[160];
    uint64_t where;
    int64_t handle = at->op == INTERP_MWAIT ? f->r[at->a].i : 0;
    interp_mem *m = at->op == INTERP_MWAIT ? interp_handle_mem(f->vm, handle, &where) : NULL;
    if (m) {
        uint64_t v;
        memcpy(&v, m->bytes + where, sizeof v);
        snprintf(text, sizeof text,
                 "%llu threads wait for ever: a barrier in shared memory still takes %u arrivals "
                 "and %d bytes",
                 (unsigned long long)waiting, unpack(v).pending, unpack(v).bytes);
        return wrong(f, loc, TNB_INVALID, text);
    }
    if (at->op == INTERP_NAMED) {
        snprintf(text, sizeof text,
                 "threads wait for ever at barrier %lld: it is for %lld, of whom not all come",
                 (long long)f->r[at->b].i, (long long)f->r[at->c].i);
        return wrong(f, loc, TNB_INVALID, text);
    }
    return wrong(f, loc, TNB_INVALID,
                 "a barrier stands in divergent control flow: some threads of the group do not "
                 "reach it");
}

bool
interp_release(interp_frame *t, uint64_t n, const interp_ins **at)
{
    bool any = false, ok;
    *at = NULL;
    for (uint64_t i = 0; i < n; i++) {
        const interp_ins *in = t[i].waits_at;
        if (t[i].state != INTERP_WAITS)
            continue;
        uint64_t warp = i / INTERP_WARP * INTERP_WARP, end = warp + INTERP_WARP;
        if (in->op == INTERP_NAMED)
            any |= pass_named(t, n, (uint32_t)t[i].r[in->b].i, t[i].r[in->c].i);
        else if (in->op == INTERP_BARRIER && in->a)
            any |= pass(t, warp, end < n ? end : n, in, (end < n ? end : n) - warp);
        else if (i == 0 && in->op != INTERP_MWAIT && pass(t, 0, n, in, n)) {
            *at = in;
            return true;
        }
    }
    for (uint64_t i = 0; !any && i < n; i++) {
        any = interp_late_step(&t[i], &ok);
        if (!ok)
            return false;
    }
    return any || never(t, n);
}
