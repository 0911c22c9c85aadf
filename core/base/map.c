/* SPDX-License-Identifier: Apache-2.0 */
/* Hash maps in an arena: an array of entries in insertion order, and from the ninth entry on a
 * table of slots with linear probing. A slot holds an entry's index plus one; a removed entry keeps
 * its slot (so that probing goes on past it) until the table grows.
 */
#include "config.h"
#include "mem_private.h"
#include "tenon/base/mem.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#ifdef TENON_STRESS
enum { LINEAR = 0, FIRST_CAP = 1, FEW = 0 };
#else
enum { LINEAR = 8, FIRST_CAP = 8, FEW = 32 /* small maps grow faster */ };
#endif

static uint64_t
hash_ptr(const void *p)
{
    uint64_t x = (uint64_t)(uintptr_t)p;
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    return x ^ (x >> 29);
}

static uint64_t
hash_str(const char *s, size_t n)
{
    return XXH3_64bits(s, n);
}

static uint32_t
next_cap(uint32_t cap)
{
    if (!cap || cap > UINT32_MAX / 4)
        return cap ? UINT32_MAX / 4 : FIRST_CAP;
    return cap <= FEW ? cap * 4 : cap * 2;
}

static void
insert_slot(uint32_t *slots, uint32_t n_slots, uint64_t hash, uint32_t index)
{
    uint32_t mask = n_slots - 1, i = (uint32_t)hash & mask;
    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = index + 1;
}

/* What both kinds of map consist of. Entries begin with their key, NULL where one was removed. */
struct table {
    void *at;
    uint32_t *slots;
    uint32_t n, cap, n_slots;
};
_Static_assert(offsetof(struct tnb_ptrmap_entry, key) == 0 &&
                   offsetof(struct tnb_strmap_entry, key) == 0,
               "grow() reads the keys");

/* Doubles the entries; removed ones are dropped. False when there are too many. Inlined, so that size and hash are constants. */
static inline __attribute__((always_inline)) bool
grow(tnb_arena *a, struct table *t, size_t item, uint64_t (*hash_of)(const void *entry))
{
    const char *old = t->at;
    uint32_t live = 0;
    for (uint32_t i = 0; i < t->n; i++)
        live += *(const void *const *)(const void *)(old + i * item) != NULL;
    struct table to = {.cap = live > t->cap / 2 || !t->cap ? next_cap(t->cap) : t->cap};
    if (to.cap <= live)
        return false;
    to.at = mem_alloc_raw(a, to.cap, item); /* what lies behind the last entry is not read */
    if (to.cap > LINEAR) {
        for (to.n_slots = 2; to.n_slots < to.cap + to.cap / 2; to.n_slots *= 2) {
        }
        to.slots = TNB_NEW_N(a, uint32_t, to.n_slots);
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const char *entry = old + i * item;
        if (live < t->n && !*(const void *const *)(const void *)entry)
            continue;
        memcpy((char *)to.at + to.n * item, entry, item);
        if (to.slots)
            insert_slot(to.slots, to.n_slots, hash_of(entry), to.n);
        to.n++;
    }
    *t = to;
    return true;
}

/* ---- pointers ---- */

void
tnb_ptrmap_init(tnb_ptrmap *m, tnb_arena *a)
{
    *m = (tnb_ptrmap){.arena = a};
}

/* The entry of a key; NULL: there is none, and it belongs into the slot. */
static inline struct tnb_ptrmap_entry *
ptr_find(const tnb_ptrmap *m, const void *key, uint32_t *slot)
{
    if (!key)
        return NULL;
    if (!m->slots) {
        for (uint32_t i = 0; i < m->n; i++)
            if (m->at[i].key == key)
                return &m->at[i];
        return NULL;
    }
    uint32_t mask = m->n_slots - 1, i = (uint32_t)hash_ptr(key) & mask;
    for (; m->slots[i]; i = (i + 1) & mask)
        if (m->at[m->slots[i] - 1].key == key)
            return &m->at[m->slots[i] - 1];
    *slot = i;
    return NULL;
}

static uint64_t
hash_of_ptr_entry(const void *entry)
{
    return hash_ptr(((const struct tnb_ptrmap_entry *)entry)->key);
}

static bool
ptr_grow(tnb_ptrmap *m)
{
    struct table t = {m->at, m->slots, m->n, m->cap, m->n_slots};
    if (!grow(m->arena, &t, sizeof *m->at, hash_of_ptr_entry))
        return false;
    *m = (tnb_ptrmap){m->arena, t.at, t.slots, t.n, t.cap, t.n_slots};
    return true;
}

void *
tnb_ptrmap_get(const tnb_ptrmap *m, const void *key)
{
    uint32_t slot;
    const struct tnb_ptrmap_entry *e = ptr_find(m, key, &slot);
    return e ? e->value : NULL;
}

bool
tnb_ptrmap_has(const tnb_ptrmap *m, const void *key)
{
    uint32_t slot;
    return ptr_find(m, key, &slot) != NULL;
}

void
tnb_ptrmap_set(tnb_ptrmap *m, const void *key, const void *value)
{
    uint32_t slot = 0;
    struct tnb_ptrmap_entry *e = ptr_find(m, key, &slot);
    if (e) {
        e->value = (void *)(uintptr_t)value;
        return;
    }
    if (!key)
        return;
    if (m->n == m->cap) {
        if (!ptr_grow(m))
            return;
        if (m->slots)
            insert_slot(m->slots, m->n_slots, hash_ptr(key), m->n);
    } else if (m->slots) {
        m->slots[slot] = m->n + 1;
    }
    m->at[m->n++] = (struct tnb_ptrmap_entry){key, (void *)(uintptr_t)value};
}

void
tnb_ptrmap_remove(tnb_ptrmap *m, const void *key)
{
    uint32_t slot;
    struct tnb_ptrmap_entry *e = ptr_find(m, key, &slot);
    if (e)
        *e = (struct tnb_ptrmap_entry){0};
}

/* ---- text ---- */

void
tnb_strmap_init(tnb_strmap *m, tnb_arena *a)
{
    *m = (tnb_strmap){.arena = a};
}

static struct tnb_strmap_entry *
str_find(const tnb_strmap *m, const char *key, uint64_t hash)
{
    if (!m->slots) {
        for (uint32_t i = 0; i < m->n; i++)
            if (m->at[i].hash == hash && m->at[i].key && strcmp(m->at[i].key, key) == 0)
                return &m->at[i];
        return NULL;
    }
    uint32_t mask = m->n_slots - 1;
    for (uint32_t i = (uint32_t)hash & mask; m->slots[i]; i = (i + 1) & mask) {
        struct tnb_strmap_entry *e = &m->at[m->slots[i] - 1];
        if (e->hash == hash && e->key && strcmp(e->key, key) == 0)
            return e;
    }
    return NULL;
}

static uint64_t
hash_of_str_entry(const void *entry)
{
    return ((const struct tnb_strmap_entry *)entry)->hash;
}

static bool
str_grow(tnb_strmap *m)
{
    struct table t = {m->at, m->slots, m->n, m->cap, m->n_slots};
    if (!grow(m->arena, &t, sizeof *m->at, hash_of_str_entry))
        return false;
    *m = (tnb_strmap){m->arena, t.at, t.slots, t.n, t.cap, t.n_slots};
    return true;
}

void *
tnb_strmap_get(const tnb_strmap *m, const char *key)
{
    if (!m->n)
        return NULL;
    struct tnb_strmap_entry *e = str_find(m, key, hash_str(key, strlen(key)));
    return e ? e->value : NULL;
}

bool
tnb_strmap_has(const tnb_strmap *m, const char *key)
{
    return m->n && str_find(m, key, hash_str(key, strlen(key))) != NULL;
}

void
tnb_strmap_set(tnb_strmap *m, const char *key, const void *value)
{
    size_t n = strlen(key);
    uint64_t hash = hash_str(key, n);
    struct tnb_strmap_entry *e = str_find(m, key, hash);
    if (e) {
        e->value = (void *)(uintptr_t)value;
        return;
    }
    if (m->n == m->cap && !str_grow(m))
        return;
    const char *copy = tnb_strndup(m->arena, key, n);
    m->at[m->n] = (struct tnb_strmap_entry){copy, (void *)(uintptr_t)value, hash};
    if (m->slots)
        insert_slot(m->slots, m->n_slots, hash, m->n);
    m->n++;
}

void
tnb_strmap_remove(tnb_strmap *m, const char *key)
{
    if (!m->n)
        return;
    struct tnb_strmap_entry *e = str_find(m, key, hash_str(key, strlen(key)));
    if (e)
        *e = (struct tnb_strmap_entry){0};
}
