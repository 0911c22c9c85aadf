/* SPDX-License-Identifier: Apache-2.0 */
/* One cached allocation for the storages of all functions: scopes by name, and in a scope the k-th
 * largest storage of each function share the k-th slot.
 */
#include <stdlib.h>

#include "cuda_graph.h"

static int
by_scope_and_size(const void *a, const void *b)
{
    const cuda_graph_storage *x = *(cuda_graph_storage *const *)a,
                             *y = *(cuda_graph_storage *const *)b;
    int c = strcmp(x->scope, y->scope);
    if (c)
        return c;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x < y ? -1 : x > y; /* order of definition */
}

static int
slots_by_scope(const void *a, const void *b)
{
    const cuda_graph_slot *x = a, *y = b;
    int c = strcmp(x->scope, y->scope);
    return c ? c : (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Sorted view of a function's storages. */
static cuda_graph_storage **
sorted(tn_ctx *ctx, cuda_graph_plan *p)
{
    cuda_graph_storage **at = TNB_NEW_N(tn_scratch(ctx), cuda_graph_storage *, p->storages.n);
    for (uint32_t i = 0; i < p->storages.n; i++)
        at[i] = &p->storages.at[i];
    if (p->storages.n > 1)
        qsort(at, p->storages.n, sizeof *at, by_scope_and_size);
    return at;
}

/* The k-th slot of a scope. */
static cuda_graph_slot *
slot_at(cuda_graph_slots *w, const char *scope, uint32_t k)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (strcmp(w->at[i].scope, scope) == 0 && k-- == 0)
            return &w->at[i];
    return NULL;
}

void
cuda_graph_merge(tn_ctx *ctx, cuda_graph_plan *plans, uint32_t n, cuda_graph_slots *w)
{
    for (uint32_t f = 0; f < n; f++) {
        cuda_graph_storage **at = sorted(ctx, &plans[f]);
        for (uint32_t i = 0, k = 0; i < plans[f].storages.n; i++, k++) {
            if (i && strcmp(at[i]->scope, at[i - 1]->scope) != 0)
                k = 0;
            cuda_graph_slot *s = slot_at(w, at[i]->scope, k);
            if (!s) {
                cuda_graph_slot fresh = {at[i]->scope, at[i]->bytes, at[i]->call};
                TNB_PUSH(tn_scratch(ctx), *w, fresh);
            } else if (at[i]->bytes > s->bytes) {
                s->bytes = at[i]->bytes;
                s->largest = at[i]->call;
            }
        }
    }
    if (w->n > 1)
        qsort(w->at, w->n, sizeof *w->at, slots_by_scope);
    for (uint32_t f = 0; f < n; f++) {
        cuda_graph_storage **at = sorted(ctx, &plans[f]);
        for (uint32_t i = 0, k = 0; i < plans[f].storages.n; i++, k++) {
            if (i && strcmp(at[i]->scope, at[i - 1]->scope) != 0)
                k = 0;
            at[i]->slot = (uint32_t)(slot_at(w, at[i]->scope, k) - w->at);
        }
    }
}
