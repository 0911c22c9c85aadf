/* SPDX-License-Identifier: Apache-2.0 */
/* Hash maps in an arena: an array of entries in insertion order, and from the ninth entry on a
 * table of slots with linear probing. A slot holds an entry's index plus one; a removed entry keeps
 * its slot (so that probing goes on past it) until the table grows.
 */
#include "config.h"
#include "tenon/base/mem.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#ifdef TENON_STRESS
enum { LINEAR = 0, FIRST_CAP = 1 };
#else
enum { LINEAR = 8, FIRST_CAP = 8 };
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
    return cap ? cap > UINT32_MAX / 4 ? UINT32_MAX / 4 : cap * 2 : FIRST_CAP;
}

static void
insert_slot(uint32_t *slots, uint32_t n_slots, uint64_t hash, uint32_t index)
{
    uint32_t mask = n_slots - 1, i = (uint32_t)hash & mask;
    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = index + 1;
}

/* ---- pointers ---- */

void
tnb_ptrmap_init(tnb_ptrmap *m, tnb_arena *a)
{
    *m = (tnb_ptrmap){.arena = a};
}

static struct tnb_ptrmap_entry *
ptr_find(const tnb_ptrmap *m, const void *key)
{
    if (!key)
        return NULL;
    if (!m->slots) {
        for (uint32_t i = 0; i < m->n; i++)
            if (m->at[i].key == key)
                return &m->at[i];
        return NULL;
    }
    uint32_t mask = m->n_slots - 1;
    for (uint32_t i = (uint32_t)hash_ptr(key) & mask; m->slots[i]; i = (i + 1) & mask)
        if (m->at[m->slots[i] - 1].key == key)
            return &m->at[m->slots[i] - 1];
    return NULL;
}

/* Doubles the entries; removed ones are dropped. False when the arena has no memory. */
static bool
ptr_grow(tnb_ptrmap *m)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < m->n; i++)
        live += m->at[i].key != NULL;
    uint32_t cap = live > m->cap / 2 || !m->cap ? next_cap(m->cap) : m->cap;
    if (cap <= live)
        return false;
    struct tnb_ptrmap_entry *at = TNB_NEW_N(m->arena, struct tnb_ptrmap_entry, cap);
    uint32_t *slots = NULL, n_slots = 0;
    if (cap > LINEAR) {
        for (n_slots = 2; n_slots < cap + cap / 2; n_slots *= 2) {
        }
        slots = TNB_NEW_N(m->arena, uint32_t, n_slots);
    }
    if (tnb_arena_failed(m->arena))
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (m->at[i].key) {
            at[n] = m->at[i];
            if (slots)
                insert_slot(slots, n_slots, hash_ptr(at[n].key), n);
            n++;
        }
    m->at = at;
    m->slots = slots;
    m->n_slots = n_slots;
    m->n = n;
    m->cap = cap;
    return true;
}

void *
tnb_ptrmap_get(const tnb_ptrmap *m, const void *key)
{
    struct tnb_ptrmap_entry *e = ptr_find(m, key);
    return e ? e->value : NULL;
}

bool
tnb_ptrmap_has(const tnb_ptrmap *m, const void *key)
{
    return ptr_find(m, key) != NULL;
}

void
tnb_ptrmap_set(tnb_ptrmap *m, const void *key, const void *value)
{
    struct tnb_ptrmap_entry *e = ptr_find(m, key);
    if (e) {
        e->value = (void *)(uintptr_t)value;
        return;
    }
    if (!key || (m->n == m->cap && !ptr_grow(m)))
        return;
    m->at[m->n] = (struct tnb_ptrmap_entry){key, (void *)(uintptr_t)value};
    if (m->slots)
        insert_slot(m->slots, m->n_slots, hash_ptr(key), m->n);
    m->n++;
}

void
tnb_ptrmap_remove(tnb_ptrmap *m, const void *key)
{
    struct tnb_ptrmap_entry *e = ptr_find(m, key);
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

static bool
str_grow(tnb_strmap *m)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < m->n; i++)
        live += m->at[i].key != NULL;
    uint32_t cap = live > m->cap / 2 || !m->cap ? next_cap(m->cap) : m->cap;
    if (cap <= live)
        return false;
    struct tnb_strmap_entry *at = TNB_NEW_N(m->arena, struct tnb_strmap_entry, cap);
    uint32_t *slots = NULL, n_slots = 0;
    if (cap > LINEAR) {
        for (n_slots = 2; n_slots < cap + cap / 2; n_slots *= 2) {
        }
        slots = TNB_NEW_N(m->arena, uint32_t, n_slots);
    }
    if (tnb_arena_failed(m->arena))
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (m->at[i].key) {
            at[n] = m->at[i];
            if (slots)
                insert_slot(slots, n_slots, at[n].hash, n);
            n++;
        }
    m->at = at;
    m->slots = slots;
    m->n_slots = n_slots;
    m->n = n;
    m->cap = cap;
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
    if (tnb_arena_failed(m->arena))
        return;
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
