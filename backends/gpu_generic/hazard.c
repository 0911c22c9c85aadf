/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: which accesses need a barrier between them. A stream remembers what its commands touched
 * since its last barrier; a barrier is for all memory, so that one is enough whatever it is for.
 *
 * What the host has seen to be done needs none: the semaphore or fence made the writes available to the device, and vkQueueSubmit
 * makes what is available visible to all that it submits (Vulkan's memory model: "Availability, Visibility, and Domain Operations").
 */
#include "device.h"

static bool
conflict(const struct gpu_generic_access *a, const struct gpu_generic_access *b)
{
    return a->block == b->block && a->begin < b->end && b->begin < a->end &&
           (a->written || b->written);
}

static void
forget_done(struct gpu_generic_hazards *h)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < h->n; i++)
        if (gpu_generic_used(&h->at[i].by))
            h->at[k++] = h->at[i];
    h->n = k;
}

bool
gpu_generic_hazards_meet(struct gpu_generic_hazards *h, const struct gpu_generic_access *a,
                         uint32_t n)
{
    forget_done(h);
    if (h->all)
        return true;
    if (h->n && n > GPU_GENERIC_ACCESSES - h->n)
        return true;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < h->n; k++)
            if (conflict(&a[i], &h->at[k].a))
                return true;
    return false;
}

void
gpu_generic_hazards_end(struct gpu_generic_hazards *h)
{
    h->n = 0;
    h->all = false;
    h->barriers++;
}

/* Whether the one says all that the other does. */
static bool
covers(const struct gpu_generic_open_access *e, const struct gpu_generic_access *a,
       struct gpu_generic_use by)
{
    return e->a.block == a->block && e->a.begin <= a->begin && e->a.end >= a->end &&
           (e->a.written || !a->written) && e->by.stream == by.stream && e->by.value >= by.value;
}

void
gpu_generic_hazards_add(struct gpu_generic_hazards *h, const struct gpu_generic_access *a,
                        uint32_t n, struct gpu_generic_use by)
{
    for (uint32_t i = 0; i < n && !h->all; i++) {
        uint32_t k = 0;
        while (k < h->n && !covers(&h->at[k], &a[i], by))
            k++;
        if (k < h->n)
            continue;
        for (k = 0; k < h->n; k++) { /* the same access of earlier work is over before */
            struct gpu_generic_open_access later = {a[i], by};
            if (covers(&later, &h->at[k].a, h->at[k].by))
                break;
        }
        if (k == GPU_GENERIC_ACCESSES)
            h->all = true; /* too many to remember: whatever comes next waits for them */
        else
            h->at[k] = (struct gpu_generic_open_access){a[i], by};
        h->n += k == h->n && !h->all;
    }
}

void
gpu_generic_hazards_follow(struct gpu_generic_hazards *h, const struct gpu_generic_hazards *other,
                           uint64_t barriers)
{
    /* a later barrier may be submitted behind what comes next here */
    h->all |= other->all || other->barriers != barriers;
    for (uint32_t i = 0; i < other->n; i++)
        if (gpu_generic_used(&other->at[i].by))
            gpu_generic_hazards_add(h, &other->at[i].a, 1, other->at[i].by);
}
