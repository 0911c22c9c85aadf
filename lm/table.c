/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables of texts, of pairs of ids, and of a trie's edges: open addressing, in an arena, at most half full. */
#include "tokenizer.h"

#include "tenon/base/hash.h"

enum { FIRST = 1024 };

/* ---- texts ---- */
static struct tnl_entry *
text_slot(const tnl_table *t, const char *s, size_t n)
{
    uint32_t i = (uint32_t)tnb_hash64(s, n, 0) & (t->cap - 1);
    while (t->at[i].s && (t->at[i].n != n || memcmp(t->at[i].s, s, n) != 0))
        i = (i + 1) & (t->cap - 1);
    return &t->at[i];
}

bool
tnl_table_add(tnb_arena *a, tnl_table *t, const char *s, size_t n, int32_t id)
{
    if (t->n * 2 >= t->cap) {
        tnl_table old = *t;
        t->cap = old.cap ? 2 * old.cap : FIRST;
        t->at = tnb_try_alloc_n(a, t->cap, sizeof *t->at);
        if (!t->at) {
            *t = old;
            return false;
        }
        for (uint32_t i = 0; i < old.cap; i++)
            if (old.at[i].s)
                *text_slot(t, old.at[i].s, old.at[i].n) = old.at[i];
    }
    struct tnl_entry *e = text_slot(t, s, n);
    if (!e->s) {
        *e = (struct tnl_entry){.s = s, .n = (uint32_t)n, .id = id};
        t->n++;
    }
    return true;
}

int32_t
tnl_table_find(const tnl_table *t, const char *s, size_t n)
{
    if (!t->n)
        return -1;
    const struct tnl_entry *e = text_slot(t, s, n);
    return e->s ? e->id : -1;
}

/* ---- pairs ---- */
static struct tnl_pair *
pair_slot(const tnl_pairs *t, int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    uint32_t i = (uint32_t)(h >> 32) & (t->cap - 1);
    while (t->at[i].left >= 0 && (t->at[i].left != left || t->at[i].right != right))
        i = (i + 1) & (t->cap - 1);
    return &t->at[i];
}

bool
tnl_pairs_add(tnb_arena *a, tnl_pairs *t, int32_t left, int32_t right, int32_t id, uint32_t rank)
{
    if (t->n * 2 >= t->cap) {
        tnl_pairs old = *t;
        t->cap = old.cap ? 2 * old.cap : FIRST;
        t->at = tnb_try_alloc_n(a, t->cap, sizeof *t->at);
        if (!t->at) {
            *t = old;
            return false;
        }
        for (uint32_t i = 0; i < t->cap; i++)
            t->at[i].left = -1;
        for (uint32_t i = 0; i < old.cap; i++)
            if (old.at[i].left >= 0)
                *pair_slot(t, old.at[i].left, old.at[i].right) = old.at[i];
    }
    struct tnl_pair *p = pair_slot(t, left, right);
    t->n += p->left < 0;
    /* of the same pair the last counts, as in the map that `tokenizers` builds */
    *p = (struct tnl_pair){.left = left, .right = right, .id = id, .rank = rank};
    return true;
}

const struct tnl_pair *
tnl_pairs_find(const tnl_pairs *t, int32_t left, int32_t right)
{
    if (!t->n || left < 0 || right < 0)
        return NULL;
    const struct tnl_pair *p = pair_slot(t, left, right);
    return p->left >= 0 ? p : NULL;
}

/* ---- the trie ---- */
static struct tnl_edge *
edge_slot(const tnl_trie *t, uint32_t node, uint8_t byte)
{
    uint64_t h = ((uint64_t)node << 8 | byte) * 0x9E3779B97F4A7C15u;
    uint32_t i = (uint32_t)(h >> 32) & (t->cap - 1);
    while (t->edges[i].from && (t->edges[i].from != node + 1 || t->edges[i].byte != byte))
        i = (i + 1) & (t->cap - 1);
    return &t->edges[i];
}

static bool
grow_trie(tnb_arena *a, tnl_trie *t)
{
    if (t->n_edges * 2 >= t->cap) {
        tnl_trie old = *t;
        t->cap = old.cap ? 2 * old.cap : FIRST;
        t->edges = tnb_try_alloc_n(a, t->cap, sizeof *t->edges);
        if (!t->edges) {
            *t = old;
            return false;
        }
        for (uint32_t i = 0; i < old.cap; i++)
            if (old.edges[i].from)
                *edge_slot(t, old.edges[i].from - 1, old.edges[i].byte) = old.edges[i];
    }
    if (t->n_nodes >= t->cap_nodes) {
        uint32_t cap = t->cap_nodes ? 2 * t->cap_nodes : FIRST;
        int32_t *value = tnb_try_alloc_n(a, cap, sizeof *value);
        if (!value)
            return false;
        if (t->n_nodes)
            memcpy(value, t->value, t->n_nodes * sizeof *value);
        t->value = value;
        t->cap_nodes = cap;
    }
    return true;
}

bool
tnl_trie_add(tnb_arena *a, tnl_trie *t, const char *s, size_t n, int32_t value)
{
    uint32_t node = 0;
    if (!grow_trie(a, t))
        return false;
    if (!t->n_nodes) {
        t->value[0] = -1;
        t->n_nodes = 1;
    }
    for (size_t i = 0; i < n; i++) {
        if (!grow_trie(a, t))
            return false;
        struct tnl_edge *e = edge_slot(t, node, (uint8_t)s[i]);
        if (!e->from) {
            *e = (struct tnl_edge){.from = node + 1, .to = t->n_nodes, .byte = (uint8_t)s[i]};
            t->n_edges++;
            t->value[t->n_nodes++] = -1;
        }
        node = e->to;
    }
    if (t->value[node] < 0)
        t->value[node] = value;
    return true;
}

uint32_t
tnl_trie_step(const tnl_trie *t, uint32_t node, uint8_t byte)
{
    if (!t->n_edges)
        return 0;
    const struct tnl_edge *e = edge_slot(t, node, byte);
    return e->from ? e->to : 0;
}

int32_t
tnl_trie_longest(const tnl_trie *t, const char *s, size_t n, size_t *length)
{
    int32_t found = -1;
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        node = tnl_trie_step(t, node, (uint8_t)s[i]);
        if (!node)
            break;
        if (t->value[node] >= 0) {
            found = t->value[node];
            *length = i + 1;
        }
    }
    return found;
}
