/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: which accesses need a barrier between them. A stream remembers what its commands touched
 * since its last barrier; a barrier is for all memory, so that one is enough whatever it is for.
 */
#include "device.h"

static bool
conflict(const struct gpu_generic_access *a, const struct gpu_generic_access *b)
{
    return a->block == b->block && a->begin < b->end && b->begin < a->end &&
           (a->written || b->written);
}

bool
gpu_generic_hazards_meet(const struct gpu_generic_hazards *h, const struct gpu_generic_access *a,
                         uint32_t n)
{
    if (h->all)
        return true;
    if (h->n && n > GPU_GENERIC_ACCESSES - h->n)
        return true;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < h->n; k++)
            if (conflict(&a[i], &h->at[k]))
                return true;
    return false;
}

void
gpu_generic_hazards_add(struct gpu_generic_hazards *h, const struct gpu_generic_access *a,
                        uint32_t n)
{
    if (n > GPU_GENERIC_ACCESSES - h->n) {
        h->all = true; /* too many to remember: whatever comes next waits for them */
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < h->n && !(h->at[k].block == a[i].block && h->at[k].begin <= a[i].begin &&
                             h->at[k].end >= a[i].end && (h->at[k].written || !a[i].written)))
            k++;
        if (k == h->n)
            h->at[h->n++] = a[i];
    }
}
