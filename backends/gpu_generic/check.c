/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: a check that every hazard has a barrier, for [device gpu_generic] check_hazards.
 *
 * It knows nothing of how barriers are decided on (hazard.c), only what was recorded: accesses as the launches and copies name
 * them, barriers, submits, waits of streams and of the host. Every command of a stream has a number. A stream knows, for each
 * stream, up to which of its commands all is over and visible: of its own by its barriers, of others by waits, of all by what the
 * host has seen (which itself sees what was written before a barrier for it), because a submit makes visible what is available (hazard.c). An access is in order when the stream knows that each
 * earlier one that conflicts is over.
 */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = GPU_GENERIC_CHECKED_STREAMS + 1 };

struct knowledge {
    uint64_t of[STREAMS]; /* the last command that is over */
};
struct done {
    struct gpu_generic_access a;
    unsigned stream;
    uint64_t command;
    char what[48];
};
struct submitted {
    struct submitted *next;
    unsigned stream;
    uint64_t value;
    struct knowledge k;      /* of who sees the value */
    struct knowledge queued; /* of what comes behind it in its queue, by its barriers */
    struct knowledge shown;  /* to the host, by barriers for it */
};

struct gpu_generic_check {
    struct done *done;
    size_t n, room;
    struct submitted *submitted;
    uint64_t command[STREAMS];
    struct knowledge knows[STREAMS];
    struct knowledge later[STREAMS]; /* what the next barrier adds */
    struct knowledge shown[STREAMS]; /* by barriers for the host */
    struct knowledge host, visible;  /* what it has seen to be over; the writes that it sees */
};

struct gpu_generic_check *
gpu_generic_check_new(void)
{
    return calloc(1, sizeof(struct gpu_generic_check));
}

void
gpu_generic_check_free(struct gpu_generic_check *c)
{
    if (!c)
        return;
    while (c->submitted) {
        struct submitted *next = c->submitted->next;
        free(c->submitted);
        c->submitted = next;
    }
    free(c->done);
    free(c);
}

static void
learn(struct knowledge *k, const struct knowledge *more)
{
    for (int i = 0; i < STREAMS; i++)
        if (more->of[i] > k->of[i])
            k->of[i] = more->of[i];
}

/* Whether the host may read or write where the access was. */
static bool
host_sees(const struct gpu_generic_check *c, const struct done *e)
{
    return e->command <= c->host.of[e->stream] &&
           (!e->a.written || e->command <= c->visible.of[e->stream]);
}

static const struct done *
conflicting(const struct gpu_generic_check *c, unsigned stream, const struct gpu_generic_access *a)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct done *e = &c->done[i];
        if (e->a.block != a->block || e->a.begin >= a->end || a->begin >= e->a.end ||
            !(e->a.written || a->written))
            continue;
        if (stream == GPU_GENERIC_HOST
                ? !host_sees(c, e)
                : e->command > c->host.of[e->stream] && e->command > c->knows[stream].of[e->stream])
            return e;
    }
    return NULL;
}

static tnb_status
note(struct gpu_generic_check *c, unsigned stream, const struct gpu_generic_access *a,
     const char *what, tnb_err *err)
{
    if (c->n == c->room) {
        size_t room = c->room ? 2 * c->room : 256;
        struct done *more = realloc(c->done, room * sizeof *more);
        if (!more)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory to check for hazards");
        c->done = more;
        c->room = room;
    }
    struct done *e = &c->done[c->n++];
    *e = (struct done){.a = *a, .stream = stream, .command = c->command[stream]};
    snprintf(e->what, sizeof e->what, "%s", what);
    return TNB_OK;
}

tnb_status
gpu_generic_check_access(struct gpu_generic_check *c, unsigned stream,
                         const struct gpu_generic_access *a, uint32_t n, const char *what,
                         tnb_err *err)
{
    if (!c || (stream >= GPU_GENERIC_CHECKED_STREAMS && stream != GPU_GENERIC_HOST))
        return TNB_OK;
    for (uint32_t i = 0; i < n; i++) {
        const struct done *e = conflicting(c, stream, &a[i]);
        if (!e)
            continue;
        (void)tnb_fail(err, TNB_INTERNAL,
                       "hazard: '%s' (stream %u) %s bytes %" PRIu64 " to %" PRIu64
                       " of block %" PRIu64 ", which '%s' (stream %u) %s, and no barrier stands "
                       "between them",
                       what, stream, a[i].written ? "writes" : "reads", a[i].begin, a[i].end,
                       a[i].block, e->what, e->stream, e->a.written ? "writes" : "reads");
        return TNB_INTERNAL;
    }
    if (stream ==
        GPU_GENERIC_HOST) /* it is behind what it waited for, and what it submits behind it */
        return TNB_OK;
    c->command[stream]++;
    for (uint32_t i = 0; i < n; i++)
        TNB_TRY(note(c, stream, &a[i], what, err));
    return TNB_OK;
}

void
gpu_generic_check_barrier(struct gpu_generic_check *c, unsigned stream)
{
    if (!c || stream >= GPU_GENERIC_CHECKED_STREAMS)
        return;
    c->knows[stream].of[stream] = c->command[stream];
    learn(&c->knows[stream], &c->later[stream]);
}

void
gpu_generic_check_barrier_for_host(struct gpu_generic_check *c, unsigned stream)
{
    if (!c || stream >= GPU_GENERIC_CHECKED_STREAMS)
        return;
    learn(&c->shown[stream], &c->knows[stream]);
    learn(&c->shown[stream], &c->later[stream]);
    c->shown[stream].of[stream] = c->command[stream];
}

tnb_status
gpu_generic_check_visible(const struct gpu_generic_check *c, uint64_t block, tnb_err *err)
{
    for (size_t i = 0; c && i < c->n; i++) {
        const struct done *e = &c->done[i];
        if (e->a.block == block && e->a.written && e->command <= c->host.of[e->stream])
            return tnb_fail(err, TNB_INTERNAL,
                            "hazard: the host may read bytes %" PRIu64 " to %" PRIu64
                            " of block %" PRIu64 ", which '%s' (stream %u) writes, and no barrier "
                            "for the host stands between them",
                            e->a.begin, e->a.end, block, e->what, e->stream);
    }
    return TNB_OK;
}

void
gpu_generic_check_submit(struct gpu_generic_check *c, unsigned stream, uint64_t value)
{
    if (!c || stream >= GPU_GENERIC_CHECKED_STREAMS)
        return;
    struct submitted *s = calloc(1, sizeof *s);
    if (!s) /* then less is known, and too much reported */
        return;
    *s = (struct submitted){.next = c->submitted,
                            .stream = stream,
                            .value = value,
                            .k = c->knows[stream],
                            .queued = c->knows[stream],
                            .shown = c->shown[stream]};
    learn(&s->k, &c->later[stream]);
    s->k.of[stream] = c->command[stream];
    c->submitted = s;
}

void
gpu_generic_check_wait(struct gpu_generic_check *c, unsigned stream, unsigned other, uint64_t value,
                       bool later)
{
    if (!c || stream >= GPU_GENERIC_CHECKED_STREAMS)
        return;
    for (const struct submitted *s = c->submitted; s; s = s->next) {
        if (s->stream != other || s->value > value)
            continue;
        learn(later ? &c->later[stream] : &c->knows[stream], &s->k);
        if (later)
            learn(&c->knows[stream], &s->queued);
    }
}

void
gpu_generic_check_seen(struct gpu_generic_check *c, unsigned stream, uint64_t value)
{
    if (!c || stream >= GPU_GENERIC_CHECKED_STREAMS)
        return;
    for (struct submitted **at = &c->submitted; *at;) {
        struct submitted *s = *at;
        if (s->stream != stream || s->value > value) {
            at = &s->next;
            continue;
        }
        learn(&c->host, &s->k);
        learn(&c->visible, &s->shown);
        *at = s->next;
        free(s);
    }
    size_t k = 0; /* what the host knows to be over is no hazard for anybody */
    for (size_t i = 0; i < c->n; i++)
        if (!host_sees(c, &c->done[i]))
            c->done[k++] = c->done[i];
    c->n = k;
}
