/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies (cp.async, cp.async.bulk of one dimension) and barriers in shared memory (mbarrier). A copy completes at once, or,
 * with the option `late`, at the last moment that PTX allows: when its thread waits for it, or somebody asks the barrier that counts its
 * bytes. Until then what it writes counts as uninitialized.
 *
 * An mbarrier is 64 bits: pending arrivals (20), arrivals of a phase (20), bytes that are expected (23, signed), phase (1). */
#include "config.h"

#include "decode.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- barriers in shared memory ---- */

enum { COUNT_BITS = 20, TX_AT = 40, TX_BITS = 23, PHASE_AT = 63 };
static const uint32_t most_arrivals = (1u << COUNT_BITS) - 1;

typedef struct mbarrier {
    uint32_t pending, expected, phase;
    int32_t tx;
} mbarrier;

static mbarrier
unpack(uint64_t v)
{
    return (mbarrier){.pending = (uint32_t)v & most_arrivals,
                      .expected = (uint32_t)(v >> COUNT_BITS) & most_arrivals,
                      .phase = (uint32_t)(v >> PHASE_AT),
                      .tx = (int32_t)((uint32_t)(v >> TX_AT) << (32 - TX_BITS)) >> (32 - TX_BITS)};
}

static uint64_t
pack(mbarrier b)
{
    return b.pending | (uint64_t)b.expected << COUNT_BITS |
           (uint64_t)((uint32_t)b.tx & ((1u << TX_BITS) - 1)) << TX_AT |
           (uint64_t)b.phase << PHASE_AT;
}

static uint8_t *
barrier_at(sim_warp *w, const sim_insn *i, uint32_t lane, bool reads)
{
    return sim_access(w, i, lane, (ptx_space)i->space, sim_address(w, i, lane), 8, reads, true);
}

/* Arrivals, or bytes, or both; ends the phase when nothing is left. */
static void
update(sim_warp *w, const sim_insn *i, uint32_t lane, uint8_t *at, uint32_t arrivals, int32_t tx)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    mbarrier b = unpack(v);
    if (arrivals > b.pending)
        sim_fault(w, i, lane, SIM_ILLEGAL, "%u arrive at a barrier that waits for %u", arrivals,
                  b.pending);
    b.pending -= arrivals;
    b.tx += tx;
    if (b.pending == 0 && b.tx == 0) {
        b.phase ^= 1;
        b.pending = b.expected;
    }
    v = pack(b);
    memcpy(at, &v, sizeof v);
}

/* ---- copies ---- */

typedef struct sim_copy_entry {
    uint8_t lane;
    bool committed;
    bool is_arrival; /* cp.async.mbarrier.arrive: `to` is the barrier */
    uint32_t bytes, from_bytes;
    uint32_t group;
    uint64_t to, from; /* generic */
    uint64_t barrier;  /* that counts the bytes of a bulk copy, or 0 */
    const sim_insn *insn;
} entry;

/* Bytes arrive by themselves, in no order with what the thread does: what orders them is the barrier. */
static void
complete_bulk(sim_warp *w, const entry *e)
{
    sim_insn counts = *e->insn;
    for (uint32_t at = 0; at < e->bytes; at += 16) {
        const uint8_t *from =
            sim_access(w, e->insn, e->lane, SIM_GENERIC, e->from + at, 16, true, false);
        memcpy(sim_access(w, e->insn, e->lane, SIM_GENERIC, e->to + at, 16, false, true), from, 16);
    }
    counts.flags |= SIM_STRONG;
    update(w, e->insn, e->lane,
           sim_access(w, &counts, e->lane, SIM_GENERIC, e->barrier, 8, true, true), 0,
           -(int32_t)e->bytes);
}

static void
complete(sim_warp *w, const entry *e)
{
    if (e->barrier) {
        complete_bulk(w, e);
        return;
    }
    if (e->is_arrival) {
        uint8_t *at = sim_access(w, e->insn, e->lane, SIM_GENERIC, e->to, 8, true, true);
        update(w, e->insn, e->lane, at, 1, 0);
        return;
    }
    uint8_t data[16] = {0};
    if (e->from_bytes) {
        const uint8_t *from = sim_access(w, e->insn, e->lane, SIM_GENERIC, e->from, e->bytes,
                                         e->from_bytes == e->bytes, false);
        memcpy(data, from, e->from_bytes);
    }
    memcpy(sim_access(w, e->insn, e->lane, SIM_GENERIC, e->to, e->bytes, false, true), data,
           e->bytes);
}

static void
add(sim_warp *w, entry e)
{
    sim_copies *c = &w->copies;
    if (!w->machine->options.late) {
        complete(w, &e);
        return;
    }
    if (c->n == c->cap) {
        uint32_t cap = c->cap ? 2 * c->cap : 64;
        entry *more = realloc(c->at, cap * sizeof *more);
        if (!more)
            sim_fault(w, e.insn, e.lane, SIM_ILLEGAL, "no memory for asynchronous copies");
        c->at = more;
        c->cap = cap;
    }
    ((entry *)c->at)[c->n++] = e;
}

/* Completes those of some lanes: all, or all but the last n groups that were committed. */
static void
complete_some(sim_warp *w, uint32_t lanes, bool all, uint32_t left)
{
    sim_copies *c = &w->copies;
    entry *at = c->at;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        entry *e = &at[k];
        if (lanes >> e->lane & 1 && !e->barrier &&
            (all || (e->committed && e->group + left < c->groups[e->lane])))
            complete(w, e);
        else
            at[kept++] = *e;
    }
    c->n = kept;
}

/* One of those that a barrier counts. */
static void
complete_one(sim_warp *w, uint32_t k)
{
    entry *at = w->copies.at, e = at[k];
    memmove(at + k, at + k + 1, (--w->copies.n - k) * sizeof *at);
    complete(w, &e);
}

void
sim_complete_copies(sim_warp *w, uint32_t lanes)
{
    if (w->copies.n)
        complete_some(w, lanes, true, 0);
    for (uint32_t k = w->copies.n; k-- > 0;)
        if (lanes >> ((entry *)w->copies.at)[k].lane & 1)
            complete_one(w, k);
}

/* Who asks a barrier again and again lets the copies complete that it waits for. */
static void
complete_arrivals(sim_block *b)
{
    for (uint32_t n = 0; n < b->n_warps; n++)
        for (uint32_t k = 0; k < b->warps[n].copies.n; k++) {
            entry *e = &((entry *)b->warps[n].copies.at)[k];
            if (e->barrier) {
                complete_one(&b->warps[n], k);
                return;
            }
            if (e->is_arrival) {
                complete_some(&b->warps[n], 1u << e->lane, true, 0);
                return;
            }
        }
}

/* cp.async.ca.shared.global [to], [from], bytes{, from_bytes}: the rest is zeros. ref: to, from, {from_bytes} */
static void
op_copy(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint64_t to = 0, from = 0;
        memcpy(&to, (const uint8_t *)sim_at(w, i->ref[0]) + l * i->width[0], i->width[0]);
        memcpy(&from, (const uint8_t *)sim_at(w, i->ref[1]) + l * i->width[1], i->width[1]);
        to += (uint64_t)i->offset;
        from += (uint64_t)(int64_t)(int32_t)i->target;
        entry e = {.lane = (uint8_t)l,
                   .bytes = i->bytes,
                   .from_bytes = i->bytes,
                   .to = to >= SIM_SHARED_BASE ? to : SIM_SHARED_BASE + to,
                   .from = from,
                   .insn = i};
        if (i->n_ref == 3 && i->width[2] == 1) { /* a predicate: nothing is read */
            if (*(const uint32_t *)sim_at(w, i->ref[2]) >> l & 1)
                e.from_bytes = 0;
        } else if (i->n_ref == 3) {
            uint32_t n = ((const uint32_t *)sim_at(w, i->ref[2]))[l];
            if (n > i->bytes)
                sim_fault(w, i, l, SIM_ILLEGAL, "a copy of %u bytes reads %u", i->bytes, n);
            e.from_bytes = (uint8_t)n;
        }
        /* addresses are checked where the copy is asked for */
        (void)sim_access(w, i, l, SIM_GENERIC, e.to, e.bytes, false, true);
        if (e.from_bytes)
            (void)sim_access(w, i, l, SIM_GENERIC, e.from, e.bytes, false, false);
        if (w->machine->options.late)
            sim_forget_shared(w->block, e.to - SIM_SHARED_BASE, e.bytes);
        add(w, e);
    }
}

/* An operand that is an address: its register and its offset. */
static uint64_t
place(const sim_warp *w, const sim_insn *i, uint32_t at, uint32_t lane)
{
    uint64_t base = 0;
    memcpy(&base, (const uint8_t *)sim_at(w, i->ref[at]) + lane * i->width[at], i->width[at]);
    return base + ((const uint64_t *)sim_at(w, i->ref[at + 1]))[lane];
}

static uint64_t
shared_place(const sim_warp *w, const sim_insn *i, uint32_t at, uint32_t lane)
{
    uint64_t a = place(w, i, at, lane);
    return a >= SIM_SHARED_BASE ? a : SIM_SHARED_BASE + (uint32_t)a;
}

/* cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [barrier] */
static void
op_bulk(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        entry e = {.lane = (uint8_t)l,
                   .to = shared_place(w, i, 0, l),
                   .from = place(w, i, 2, l),
                   .barrier = shared_place(w, i, 4, l),
                   .bytes = ((const uint32_t *)sim_at(w, i->ref[6]))[l],
                   .insn = i};
        if (e.bytes == 0 || e.bytes % 16)
            sim_fault(w, i, l, SIM_ILLEGAL, "a copy of %u bytes, which is no multiple of 16",
                      e.bytes);
        for (uint32_t at = 0; at < e.bytes; at += 16) { /* checked where the copy is asked for */
            (void)sim_access(w, i, l, SIM_GENERIC, e.to + at, 16, false, true);
            (void)sim_access(w, i, l, SIM_GENERIC, e.from + at, 16, false, false);
        }
        if (w->machine->options.late)
            sim_forget_shared(w->block, e.to - SIM_SHARED_BASE, e.bytes);
        add(w, e);
    }
}

static void
op_commit(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    (void)i;
    sim_copies *c = &w->copies;
    for (uint32_t k = 0; k < c->n; k++) {
        entry *e = &((entry *)c->at)[k];
        if (mask >> e->lane & 1 && !e->committed) {
            e->committed = true;
            e->group = c->groups[e->lane];
        }
    }
    SIM_EACH(mask, l, c->groups[l]++);
}

static void
op_wait_group(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    complete_some(w, mask, false, *(const uint32_t *)sim_at(w, i->ref[0]));
}

static void
op_wait_all(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    (void)i;
    complete_some(w, mask, true, 0);
}

/* cp.async.mbarrier.arrive{.noinc}.shared.b64 [barrier]: arrives when the thread's copies so far are complete */
static void
op_arrive_after(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint8_t *at = barrier_at(w, i, l, true);
        if (i->n_vector == 0) { /* without .noinc one arrival more is waited for */
            uint64_t v;
            memcpy(&v, at, sizeof v);
            v += 1;
            memcpy(at, &v, sizeof v);
        }
        uint64_t address = sim_address(w, i, l);
        add(w, (entry){.lane = (uint8_t)l,
                       .to = address >= SIM_SHARED_BASE ? address : SIM_SHARED_BASE + address,
                       .insn = i,
                       .is_arrival = true});
    }
}

/* ---- mbarrier ---- */

/* ORDER MBARRIER */
enum { INIT, INVAL, ARRIVE, DROP, EXPECT_TX, COMPLETE_TX, TEST, TEST_PARITY, PENDING };

static uint32_t
operand(const sim_warp *w, const sim_insn *i, uint32_t at, uint32_t lane, uint32_t otherwise)
{
    return at < i->n_ref && at != i->address ? ((const uint32_t *)sim_at(w, i->ref[at]))[lane]
                                             : otherwise;
}

static void
test(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    uint32_t done = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left), phase;
        uint64_t v;
        uint8_t *at =
            sim_access(w, i, l, (ptx_space)i->space, sim_address(w, i, l), 8, true, false);
        if (i->type == TEST)
            phase = (uint32_t)(((const uint64_t *)sim_at(w, i->ref[1]))[l] >> PHASE_AT);
        else
            phase = operand(w, i, 1, l, 0) & 1;
        memcpy(&v, at, sizeof v);
        if (unpack(v).phase == phase && w->machine->options.late) {
            complete_arrivals(w->block);
            memcpy(&v, at, sizeof v);
        }
        done |= (uint32_t)(unpack(v).phase != phase) << l;
        w->waits_at = unpack(v).phase == phase ? sim_address(w, i, l) : SIM_NOWHERE;
        w->waits_for = v;
    }
    sim_set_predicate(w, i->ref[0], mask, done);
}

void
sim_describe_wait(const sim_warp *w, char *out, size_t size)
{
    mbarrier b = unpack(w->waits_for);
    *out = 0;
    if (w->waits_at != SIM_NOWHERE)
        snprintf(out, size,
                 "; the barrier at 0x%llx of shared memory waits for %u arrivals and %d bytes%s",
                 (unsigned long long)(w->waits_at & UINT32_MAX), b.pending, b.tx,
                 b.tx < 0 ? ": more have come than were expected" : "");
}

/* ref: result (state, predicate, or the sink), then count, bytes, state or parity, then the address */
static void
op_mbarrier(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    if (i->type == TEST || i->type == TEST_PARITY) {
        test(w, i, mask);
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint32_t n = operand(w, i, 1, l, 1);
        uint64_t v = 0;
        uint8_t *at = barrier_at(w, i, l, i->type != INIT);
        memcpy(&v, at, sizeof v);
        switch (i->type) {
        case INIT:
            if (n == 0 || n > most_arrivals)
                sim_fault(w, i, l, SIM_ILLEGAL, "a barrier for %u arrivals", n);
            v = pack((mbarrier){.pending = n, .expected = n});
            memcpy(at, &v, sizeof v);
            continue;
        case INVAL:
            sim_forget_shared(w->block, (uint64_t)(at - w->block->shared), 8);
            continue;
        case EXPECT_TX:
            update(w, i, l, at, 0, (int32_t)n);
            continue;
        case COMPLETE_TX:
            update(w, i, l, at, 0, -(int32_t)n);
            continue;
        case DROP: {
            mbarrier b = unpack(v);
            if (b.expected)
                b.expected--;
            v = pack(b);
            memcpy(at, &v, sizeof v);
            update(w, i, l, at, 1, 0);
            break;
        }
        default:
            if (i->n_vector) { /* arrive.expect_tx: first the bytes */
                mbarrier b = unpack(v);
                b.tx += (int32_t)n;
                uint64_t changed = pack(b);
                memcpy(at, &changed, sizeof changed);
                n = 1;
            }
            update(w, i, l, at, n, 0);
        }
        ((uint64_t *)sim_at(w, i->ref[0]))[l] =
            v; /* the state before: its phase is what is waited for */
    }
}

/* ---- decoding ---- */

static bool
is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool
decode_copy(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    const ptx_operand *o = p->operands;
    sim_insn *i = sim_new_insn(d, op_copy, SIM_PLAIN);
    if (p->n_parts < 5 || !(is(p->part[2], "ca") || is(p->part[2], "cg")) || p->n_operands < 3 ||
        p->n_operands > 5 || strncmp(p->part[3], "shared", 6) != 0 || !is(p->part[4], "global") ||
        o[2].kind != PTX_INT)
        return false;
    bool policy = false;
    for (uint32_t k = 5; k < p->n_parts; k++) {
        policy |= is(p->part[k], "L2::cache_hint");
        if (strncmp(p->part[k], "L2::", 4) != 0)
            return false;
    }
    i->bytes = (uint8_t)o[2].bits;
    if (i->bytes != 16 && (is(p->part[2], "cg") || (i->bytes != 4 && i->bytes != 8)))
        sim_decode_fail(d, TNB_FORMAT, "'%s' copies 16 bytes, .ca 4 or 8 too: not %u", p->text,
                        i->bytes);
    /* two addresses: the second one's offset is kept in `target` */
    sim_insn from = {.space = SIM_GENERIC, .address = SIM_NONE};
    i->space = PTX_SHARED;
    sim_push_address(d, i, &o[0]);
    if (i->address == SIM_NONE) {
        sim_push_ref(d, i, sim_constant(d, 0, 8), 8);
    }
    sim_push_address(d, &from, &o[1]);
    if (from.offset < INT32_MIN || from.offset > INT32_MAX || from.address == SIM_NONE) {
        sim_push_ref(d, i, sim_constant(d, (uint64_t)from.offset, 8), 8);
        if (from.address != SIM_NONE)
            return false;
    } else {
        sim_push_ref(d, i, from.ref[0], from.width[0]);
        i->target = (uint32_t)(int32_t)from.offset;
    }
    if (p->n_operands - policy == 4)
        sim_push(d, i, &o[3], 0, 4);
    sim_append(d, i);
    return true;
}

static void
push_place(sim_decoder *d, sim_insn *i, const ptx_operand *o, ptx_space space)
{
    sim_insn part = {.space = (uint8_t)space, .address = SIM_NONE};
    sim_push_address(d, &part, o);
    if (part.address == SIM_NONE)
        sim_push_ref(d, i, sim_constant(d, 0, 8), 8);
    else
        sim_push_ref(d, i, part.ref[0], part.width[0]);
    sim_push_ref(d, i, sim_constant(d, (uint64_t)part.offset, 8), 8);
}

static bool
decode_bulk(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    const ptx_operand *o = p->operands;
    if (p->n_operands != 4 || p->n_parts != 6 || strncmp(p->part[3], "shared::", 8) != 0 ||
        !is(p->part[4], "global") || !is(p->part[5], "mbarrier::complete_tx::bytes"))
        return false;
    sim_insn *i = sim_new_insn(d, op_bulk, SIM_PLAIN);
    push_place(d, i, &o[0], PTX_SHARED);
    push_place(d, i, &o[1], SIM_GENERIC);
    push_place(d, i, &o[3], PTX_SHARED);
    sim_push(d, i, &o[2], 4, 4);
    sim_append(d, i);
    return true;
}

bool
sim_decode_async(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    const char *rest = p->text + strlen("cp.async");
    sim_insn *i;
    if (strncmp(p->text, "cp.async.", 9) != 0)
        return false;
    if (is(rest, ".commit_group")) {
        sim_append(d, sim_new_insn(d, op_commit, SIM_PLAIN));
    } else if (is(rest, ".wait_all")) {
        sim_append(d, sim_new_insn(d, op_wait_all, SIM_PLAIN));
    } else if (is(rest, ".wait_group") && p->n_operands == 1) {
        i = sim_new_insn(d, op_wait_group, SIM_PLAIN);
        sim_push(d, i, &p->operands[0], 4, 4);
        sim_append(d, i);
    } else if (strncmp(rest, ".mbarrier.arrive", 16) == 0 && p->n_operands == 1) {
        i = sim_new_insn(d, op_arrive_after, SIM_PLAIN);
        i->n_vector = strstr(rest, ".noinc") != NULL;
        i->flags |= SIM_STRONG;
        i->space = (uint8_t)(strstr(rest, ".shared") ? PTX_SHARED : SIM_GENERIC);
        sim_push_address(d, i, &p->operands[0]);
        sim_append(d, i);
    } else {
        return strncmp(rest, ".bulk.", 6) == 0 ? decode_bulk(d) : decode_copy(d);
    }
    return true;
}

bool
sim_decode_mbarrier(sim_decoder *d)
{
    static const char *const names[] = {"init",        "inval",     "arrive",
                                        "arrive_drop", "expect_tx", "complete_tx",
                                        "test_wait",   "try_wait",  "pending_count"};
    static const uint8_t kinds[] = {INIT,        INVAL, ARRIVE, DROP,   EXPECT_TX,
                                    COMPLETE_TX, TEST,  TEST,   PENDING};
    const ptx_instruction *p = d->ptx;
    const ptx_operand *o = p->operands;
    sim_insn *i = sim_new_insn(d, op_mbarrier, SIM_PLAIN);
    uint32_t n = 0, at = 0;
    while (n < 9 && (p->n_parts < 3 || !is(p->part[1], names[n])))
        n++;
    if (n == 9 || kinds[n] == PENDING)
        return false;
    i->type = kinds[n];
    i->space = SIM_GENERIC;
    i->flags |= SIM_STRONG;
    i->n_out = 1;
    for (uint32_t k = 2; k < p->n_parts; k++) {
        if (strncmp(p->part[k], "shared", 6) == 0)
            i->space = PTX_SHARED;
        else if (is(p->part[k], "expect_tx"))
            i->n_vector = 1;
        else if (is(p->part[k], "parity"))
            i->type = TEST_PARITY;
        else if (is(p->part[k], "shared::cluster") || is(p->part[k], "noComplete"))
            return false;
    }
    bool tests = i->type == TEST || i->type == TEST_PARITY,
         gives = tests || i->type == ARRIVE || i->type == DROP;
    if (p->n_operands < 1u + gives)
        return false;
    if (gives)
        sim_push(d, i, &o[at++], tests ? 1 : 8, 8);
    else
        sim_push_ref(d, i, d->sink, 8);
    const ptx_operand *address = &o[at++];
    if (at < p->n_operands)
        sim_push(d, i, &o[at++], i->type == TEST ? 8 : 4, 4);
    sim_push_address(d, i, address); /* a time limit behind it is not looked at */
    sim_append(d, i);
    return true;
}
