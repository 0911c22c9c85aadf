/* SPDX-License-Identifier: Apache-2.0 */
/* The set behind everything interned: found by hash, compared by the caller's function. */
#include "private.h"
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t
tn_hash_bytes(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

const void *
tn_intern_find(const tn_intern *t, uint64_t hash, tn_same_fn same, const void *key, size_t extra)
{
    if (!t->n_slots)
        return NULL;
    uint32_t mask = t->n_slots - 1;
    for (uint32_t i = (uint32_t)hash & mask; t->at[i]; i = (i + 1) & mask)
        if (t->hash[i] == hash && same(t->at[i], key, extra))
            return t->at[i];
    return NULL;
}

static void
put(tn_intern *t, uint64_t hash, const void *item)
{
    uint32_t mask = t->n_slots - 1, i = (uint32_t)hash & mask;
    while (t->at[i])
        i = (i + 1) & mask;
    t->at[i] = item;
    t->hash[i] = hash;
    t->n++;
}

bool
tn_intern_add(tn_intern *t, uint64_t hash, const void *item)
{
    if (2 * (t->n + 1) > t->n_slots) {
        tn_intern bigger = {.n_slots = t->n_slots ? 2 * t->n_slots : 256};
        bigger.at = calloc(bigger.n_slots, sizeof *bigger.at);
        bigger.hash = malloc(bigger.n_slots * sizeof *bigger.hash);
        if (!bigger.at || !bigger.hash) {
            tn_intern_free(&bigger);
            return false;
        }
        for (uint32_t i = 0; i < t->n_slots; i++)
            if (t->at[i])
                put(&bigger, t->hash[i], t->at[i]);
        tn_intern_free(t);
        *t = bigger;
    }
    put(t, hash, item);
    return true;
}

void
tn_intern_free(tn_intern *t)
{
    free(t->at);
    free(t->hash);
    *t = (tn_intern){0};
}
