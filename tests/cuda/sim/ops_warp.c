/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions in which the lanes of a warp exchange values. When lanes come from several places, each instruction is executed twice:
 * first its lanes bring their values, then, when all are there, they take their results. */
#include "config.h"

#include "decode.h"

enum { BRING = 1, TAKE = 2 };

static void
op_shuffle(sim_warp *w, const sim_insn *i, uint32_t mask);

/* Values of up to 8 bytes. */
static void
bring(sim_warp *w, const sim_insn *i, uint32_t operand, uint32_t mask)
{
    const uint8_t *a = sim_at(w, i->ref[operand]);
    uint32_t width = i->width[operand];
    if (!(w->phase & BRING))
        return;
    if (w->is_tainted && i->run != op_shuffle)
        sim_taint_refuse(w, i, operand, mask, "what a lane brings");
    w->brought_unknown = (w->brought_unknown & ~mask) | (sim_taint_mask(w, i->ref[operand]) & mask);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        w->brought[l] = 0;
        if (width == 1)
            w->brought[l] = *(const uint32_t *)(const void *)a >> l & 1;
        else
            memcpy(&w->brought[l], a + l * width, width);
    }
}

/* shfl.sync.mode.b32 d|p, a, b, c, membermask: c is the clamp, and above it the mask of segments */
static void
op_shuffle(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    bring(w, i, 2, mask);
    if (!(w->phase & TAKE))
        return;
    uint32_t *d = sim_at(w, i->ref[0]), inside = 0;
    const uint32_t *pb = sim_at(w, i->ref[3]), *pc = sim_at(w, i->ref[4]);
    char mode = i->ptx->part[2][0];
    uint32_t unknown = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint32_t b = pb[l] & 31, clamp = pc[l] & 31, segments = pc[l] >> 8 & 31;
        uint32_t most = (l & segments) | (clamp & ~segments), least = l & segments;
        int64_t from = mode == 'u'   ? (int64_t)l - b
                       : mode == 'd' ? (int64_t)l + b
                       : mode == 'b' ? (int64_t)(l ^ b)
                                     : (int64_t)(least | (b & ~segments));
        bool ok = mode == 'u' ? from >= (int64_t)most : from <= (int64_t)most;
        uint32_t source = ok ? (uint32_t)from : l;
        if (!(w->present >> source & 1))
            sim_fault(w, i, l, SIM_ILLEGAL, "reads lane %u, which does not take part", source);
        inside |= (uint32_t)ok << l;
        unknown |= (w->brought_unknown >> source & 1) << l;
        d[l] = (uint32_t)w->brought[source];
    }
    sim_set_predicate(w, i->ref[1], mask, inside);
    sim_taint_clear(w, i, mask);
    sim_taint_set(w, i->ref[0], mask, unknown, i);
}

/* vote.sync.mode d, {!}a, membermask */
static void
op_vote(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    bring(w, i, 1, mask);
    if (!(w->phase & TAKE))
        return;
    uint32_t votes = 0, all = w->present;
    sim_taint_clear(w, i, mask);
    for (uint32_t left = all; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        votes |= (uint32_t)(w->brought[l] & 1) << l;
    }
    const char *mode = i->ptx->part[2];
    if (mode[0] == 'b') {
        uint32_t *d = sim_at(w, i->ref[0]);
        SIM_EACH(mask, l, d[l] = votes);
        return;
    }
    bool is = mode[0] == 'u'   ? votes == 0 || votes == all
              : mode[1] == 'n' ? votes != 0
                               : votes == all;
    sim_set_predicate(w, i->ref[0], mask, is ? SIM_ALL : 0);
}

/* match.any.sync.type d, a, membermask; match.all.sync.type d|p, a, membermask */
static void
op_match(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    bool all = i->flags & SIM_SECOND;
    bring(w, i, all ? 2 : 1, mask);
    if (!(w->phase & TAKE))
        return;
    uint32_t *d = sim_at(w, i->ref[0]), same[SIM_LANES];
    sim_taint_clear(w, i, mask);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        same[l] = 0;
        for (uint32_t k = 0; k < SIM_LANES; k++)
            if (w->present >> k & 1 && w->brought[k] == w->brought[l])
                same[l] |= UINT32_C(1) << k;
        d[l] = all && same[l] != w->present ? 0 : same[l];
    }
    if (all) {
        uint32_t first = (uint32_t)__builtin_ctz(mask);
        sim_set_predicate(w, i->ref[1], mask, same[first] == w->present ? SIM_ALL : 0);
    }
}

/* redux.sync.op.type d, a, membermask */
static void
op_reduce(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    bring(w, i, 1, mask);
    if (!(w->phase & TAKE))
        return;
    uint32_t *d = sim_at(w, i->ref[0]);
    const char *op = i->ptx->part[2];
    sim_taint_clear(w, i, mask);
    bool is_signed = i->ptx->part[3][0] == 's';
    uint32_t left = w->present, r = (uint32_t)w->brought[__builtin_ctz(left)];
    for (left &= left - 1; left; left &= left - 1) {
        uint32_t v = (uint32_t)w->brought[__builtin_ctz(left)];
        bool less = is_signed ? (int32_t)v < (int32_t)r : v < r;
        r = op[0] == 'a' && op[1] == 'd' ? r + v
            : op[0] == 'a'               ? r & v
            : op[0] == 'o'               ? r | v
            : op[0] == 'x'               ? r ^ v
            : op[1] == 'i'               ? (less ? v : r)
                                         : (less ? r : v);
    }
    SIM_EACH(mask, l, d[l] = r);
}

/* elect.sync d|p, membermask: one lane of those present */
static void
op_elect(sim_warp *w, const sim_insn *i, uint32_t mask)
{
    if (!(w->phase & TAKE))
        return;
    sim_taint_clear(w, i, mask);
    uint32_t *d = sim_at(w, i->ref[0]), leader = (uint32_t)__builtin_ctz(w->present);
    SIM_EACH(mask, l, d[l] = leader);
    sim_set_predicate(w, i->ref[1], mask, UINT32_C(1) << leader);
}

const sim_form sim_warp_forms[] = {
    {"shfl.sync.up.b32", op_shuffle, "wwwww", SIM_SECOND, 0, SIM_MEET},
    {"shfl.sync.down.b32", op_shuffle, "wwwww", SIM_SECOND, 0, SIM_MEET},
    {"shfl.sync.bfly.b32", op_shuffle, "wwwww", SIM_SECOND, 0, SIM_MEET},
    {"shfl.sync.idx.b32", op_shuffle, "wwwww", SIM_SECOND, 0, SIM_MEET},
    {"vote.sync.all.pred", op_vote, "ppw", 0, 0, SIM_MEET},
    {"vote.sync.any.pred", op_vote, "ppw", 0, 0, SIM_MEET},
    {"vote.sync.pred", op_vote, "ppw", 0, SIM_ORDER, SIM_MEET},
    {"vote.sync.ballot.b32", op_vote, "wpw", 0, 0, SIM_MEET},
    {"match.any.sync.b32", op_match, "www", 0, 0, SIM_MEET},
    {"match.any.sync.b64", op_match, "wdw", 0, 0, SIM_MEET},
    {"match.all.sync.b32", op_match, "www", SIM_SECOND, 0, SIM_MEET},
    {"match.all.sync.b64", op_match, "wdw", SIM_SECOND, 0, SIM_MEET},
#define REDUX(op, type)                                             \
    {                                                               \
        "redux.sync." op "." type, op_reduce, "www", 0, 0, SIM_MEET \
    }
    REDUX("add", "u32"),
    REDUX("add", "s32"),
    REDUX("min", "u32"),
    REDUX("min", "s32"),
    REDUX("max", "u32"),
    REDUX("max", "s32"),
    REDUX("and", "b32"),
    REDUX("or", "b32"),
    REDUX("xor", "b32"),
    {"elect.sync", op_elect, "ww", SIM_SECOND, 0, SIM_MEET},
    {"bar.warp.sync", NULL, "w", 0, 0, SIM_MEET},
    {"activemask.b32", sim_op_active, "w", 0, 0, SIM_PLAIN},
    {0}};
