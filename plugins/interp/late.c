/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies, completed as late as the program allows: what a statement in async_scope stores is kept beside its memory until
 * a wait has to complete the group that it belongs to. A program that waits for too little reads what was there before, or what was
 * never written.
 *
 *     async_commit_queue_scope, ptx_commit_group      what was stored since is a group
 *     async_wait_inflight_count n, ptx_wait_group(n)  all groups but the last n are complete
 *     async_arrive_scope, ptx_cp_async_mbarrier_arrive, ptx_cp_async_bulk
 *                                                     complete when no thread of the group can go on otherwise
 */
#include "interp.h"

#include <stdlib.h>

enum { QUEUES = 16, MAX_BYTES = 16 };

typedef struct late_copy {
    interp_mem *mem;
    uint64_t offset;
    uint64_t group;
    uint32_t bytes, queue;
    uint8_t value[MAX_BYTES];
    bool
        arrives; /* no copy: what happens to the barrier `handle` when those in front are complete */
    tn_loc loc;
    interp_mbarrier_op op;
    int64_t handle, n;
} late_copy;

struct interp_late {
    late_copy *at;
    uint32_t n, cap;
    uint64_t groups[QUEUES]; /* that are closed */
    uint8_t old
        [MAX_BYTES]; /* what a store that is being made writes over, and which bytes of it were written */
    uint32_t written;
};

static bool
is_written(const interp_mem *m, uint64_t at)
{
    return !m->shadow || m->shadow[at >> 3] >> (at & 7) & 1;
}

static void
set_written(interp_mem *m, uint64_t at, bool yes)
{
    if (m->shadow)
        m->shadow[at >> 3] =
            (uint8_t)((m->shadow[at >> 3] & ~(1u << (at & 7))) | (unsigned)yes << (at & 7));
}

static interp_late *
late_of(interp_frame *f)
{
    if (!f->late)
        f->late = calloc(1, sizeof *f->late);
    if (!f->late)
        tn_error(f->vm->ctx, 0, TNB_NO_MEMORY, "no memory for asynchronous copies");
    return f->late;
}

bool
interp_late_open(interp_frame *f, const interp_buf *b, int64_t element, uint32_t bytes)
{
    interp_late *l = late_of(f);
    uint64_t at = b->base + (uint64_t)element * bytes;
    if (!l || bytes > MAX_BYTES || !b->mem || at + bytes > b->mem->size)
        return l != NULL; /* the store tells */
    memcpy(l->old, b->bytes + at, bytes);
    l->written = 0;
    for (uint32_t i = 0; i < bytes; i++)
        l->written |= (uint32_t)is_written(b->mem, at + i) << i;
    return true;
}

/* One more; NULL after recording an error. */
static late_copy *
add(interp_frame *f)
{
    interp_late *l = late_of(f);
    if (l && l->n == l->cap) {
        uint32_t cap = l->cap ? 2 * l->cap : 64;
        late_copy *at = realloc(l->at, cap * sizeof *at);
        if (!at) {
            tn_error(f->vm->ctx, 0, TNB_NO_MEMORY, "no memory for asynchronous copies");
            return NULL;
        }
        l->at = at;
        l->cap = cap;
    }
    return l ? &l->at[l->n++] : NULL;
}

bool
interp_late_close(interp_frame *f, const interp_buf *b, int64_t element, uint32_t bytes,
                  uint32_t queue)
{
    interp_late *l = late_of(f);
    if (!l || bytes > MAX_BYTES || queue >= QUEUES)
        return l != NULL;
    late_copy *c = add(f);
    if (!c)
        return false;
    *c = (late_copy){.mem = b->mem,
                     .offset = b->base + (uint64_t)element * bytes,
                     .group = l->groups[queue],
                     .bytes = bytes,
                     .queue = queue};
    interp_mem_ref(b->mem);
    memcpy(c->value, b->bytes + c->offset, bytes);
    memcpy(b->bytes + c->offset, l->old, bytes);
    for (uint32_t i = 0; i < bytes; i++)
        set_written(b->mem, c->offset + i, l->written >> i & 1);
    return true;
}

bool
interp_late_commit(interp_frame *f, uint32_t queue)
{
    interp_late *l = late_of(f);
    if (l && queue < QUEUES)
        l->groups[queue]++;
    return l != NULL;
}

static void
complete(interp_frame *f, const late_copy *c)
{
    memcpy(c->mem->bytes + c->offset, c->value, c->bytes);
    for (uint32_t k = 0; k < c->bytes; k++)
        set_written(c->mem, c->offset + k, true);
    interp_mem_unref(f->vm, c->mem);
}

void
interp_late_wait(interp_frame *f, uint32_t queue, int64_t in_flight)
{
    interp_late *l = f->late;
    uint32_t kept = 0;
    for (uint32_t i = 0; l && i < l->n; i++) {
        late_copy *c = &l->at[i];
        bool closed =
            !c->arrives && queue < QUEUES && c->queue == queue && c->group < l->groups[queue];
        if (!closed || (in_flight > 0 && l->groups[queue] - c->group <= (uint64_t)in_flight))
            l->at[kept++] = *c;
        else
            complete(f, c);
    }
    if (l)
        l->n = kept;
}

bool
interp_late_arrive(interp_frame *f, tn_loc loc, interp_mbarrier_op op, int64_t handle,
                   int64_t bytes)
{
    late_copy *c = add(f);
    if (c)
        *c = (late_copy){.arrives = true, .loc = loc, .op = op, .handle = handle, .n = bytes};
    return c != NULL;
}

bool
interp_late_step(interp_frame *f, bool *ok)
{
    interp_late *l = f->late;
    uint32_t first = 0, kept = 0;
    while (l && first < l->n && !l->at[first].arrives)
        first++;
    *ok = true;
    if (!l || first == l->n)
        return false;
    const late_copy at = l->at[first];
    bool bulk = at.op == INTERP_MBARRIER_COMPLETE;
    for (uint32_t i = 0; i < l->n; i++) {
        late_copy *c = &l->at[i];
        if (i < first && (c->queue == INTERP_BULK) == bulk)
            complete(f, c);
        else if (i != first)
            l->at[kept++] = *c;
    }
    l->n = kept;
    *ok = interp_mbarrier(f, at.loc, at.op, at.handle, at.n);
    return true;
}

void
interp_late_free(interp_frame *f)
{
    interp_late *l = f->late;
    for (uint32_t i = 0; l && i < l->n; i++)
        if (!l->at[i].arrives)
            interp_mem_unref(f->vm, l->at[i].mem);
    if (l)
        free(l->at);
    free(l);
    f->late = NULL;
}
