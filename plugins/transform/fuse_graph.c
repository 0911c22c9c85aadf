/* SPDX-License-Identifier: Apache-2.0 */
/* Partition of the fusion graph; see fuse_graph.h. Source of the algorithm: operator fusion by
 * post-dominator analysis as in TVM (Chen et al., OSDI 2018, section 3). */
#include "fuse_graph.h"

/* ---- graph ---- */

void
fuse_graph_init(fuse_graph *g, tnb_arena *arena)
{
    memset(g, 0, sizeof *g);
    g->arena = arena;
    tnb_ptrmap_init(&g->index, arena);
}

uint32_t
fuse_graph_add(fuse_graph *g, const tn_node *ref, const tn_node *binding, fuse_pattern p)
{
    fuse_node n = {.ref = ref, .binding = binding, .pattern = p};
    TNB_PUSH(g->arena, g->nodes, n);
    tnb_ptrmap_set(&g->index, ref, (void *)(uintptr_t)g->nodes.n);
    return g->nodes.n - 1;
}

void
fuse_graph_edge(fuse_graph *g, uint32_t from, uint32_t to, fuse_pattern p)
{
    fuse_edge e = {to, p};
    TNB_PUSH(g->arena, g->nodes.at[from].out, e);
}

uint32_t
fuse_graph_find(const fuse_graph *g, const tn_node *ref)
{
    return (uint32_t)(uintptr_t)tnb_ptrmap_get(&g->index, ref) - 1;
}

/* ---- post-dominators ---- */

typedef struct dom_node {
    uint32_t parent; /* NO_NODE: none */
    uint32_t depth;
    fuse_pattern pattern; /* hardest edge on the way to the parent */
} dom_node;

#define NO_NODE UINT32_MAX

static fuse_pattern
harder(fuse_pattern a, fuse_pattern b)
{
    return a > b ? a : b;
}

static uint32_t
common_ancestor(const dom_node *dom, uint32_t a, uint32_t b, fuse_pattern *pattern)
{
    while (a != b) {
        if (a == NO_NODE || b == NO_NODE)
            return NO_NODE;
        if (dom[a].depth < dom[b].depth) {
            *pattern = harder(*pattern, dom[b].pattern);
            b = dom[b].parent;
        } else if (dom[b].depth < dom[a].depth) {
            *pattern = harder(*pattern, dom[a].pattern);
            a = dom[a].parent;
        } else {
            *pattern = harder(*pattern, harder(dom[a].pattern, dom[b].pattern));
            a = dom[a].parent;
            b = dom[b].parent;
        }
    }
    return a;
}

/* Nodes are in order of definition, so consumers come later: one pass from the end. */
static dom_node *
post_dominators(const fuse_graph *g)
{
    dom_node *dom = TNB_NEW_N(g->arena, dom_node, g->nodes.n);
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const fuse_node *n = &g->nodes.at[i];
        dom[i] = (dom_node){NO_NODE, 1, FUSE_OPAQUE};
        if (n->external || n->out.n == 0)
            continue;
        fuse_pattern p = n->out.at[0].pattern;
        uint32_t parent = n->out.at[0].to;
        for (uint32_t k = 1; k < n->out.n; k++) {
            parent = common_ancestor(dom, parent, n->out.at[k].to, &p);
            p = harder(p, n->out.at[k].pattern);
        }
        dom[i].parent = parent;
        dom[i].pattern = p;
        dom[i].depth = parent == NO_NODE ? 1 : dom[parent].depth + 1;
    }
    return dom;
}

/* ---- groups ---- */

typedef struct partition {
    fuse_graph *g;
    dom_node *dom;
    fuse_group *groups;
    uint32_t *mark; /* visit stamps */
    uint32_t stamp;
    uint32_t max_depth;
} partition;

uint32_t
fuse_group_root(fuse_group *groups, uint32_t i)
{
    uint32_t root = i;
    while (groups[root].parent != root)
        root = groups[root].parent;
    while (groups[i].parent != root) {
        uint32_t up = groups[i].parent;
        groups[i].parent = root;
        i = up;
    }
    return root;
}

typedef enum path_rule { PATH_BROADCAST, PATH_INJECTIVE, PATH_INJECTIVE_TO_ANY } path_rule;

static bool
path_allows(path_rule rule, fuse_pattern p, bool is_sink)
{
    switch (rule) {
    case PATH_BROADCAST:
        return p <= FUSE_BROADCAST;
    case PATH_INJECTIVE:
        return p <= FUSE_INJECTIVE;
    default:
        return is_sink ? p <= FUSE_OUT_ELEMWISE_FUSABLE : p <= FUSE_INJECTIVE;
    }
}

/* Whether everything between `src` and `sink`, and `sink` itself, satisfies the rule. With `commit`
 * the groups on the way are merged into the sink's instead. The work list replaces recursion. */
static bool
walk_paths(partition *p, uint32_t src, uint32_t sink, path_rule rule, bool commit, uint32_t *count)
{
    TNB_VEC(uint32_t) work = {0};
    p->stamp++;
    TNB_PUSH(p->g->arena, work, src);
    p->mark[src] = p->stamp;
    *count = 0;
    while (work.n) {
        uint32_t i = work.at[--work.n];
        uint32_t root = fuse_group_root(p->groups, i);
        if (commit) {
            uint32_t target = fuse_group_root(p->groups, sink);
            if (root != target) {
                p->groups[target].size += p->groups[root].size;
                p->groups[root].parent = target;
                p->groups[target].anchored |= p->groups[root].anchored;
                p->groups[target].pattern =
                    harder(p->groups[target].pattern, p->groups[root].pattern);
            }
        } else if (i != src && !path_allows(rule, p->groups[root].pattern, i == sink)) {
            return false;
        }
        (*count)++;
        if (i == sink)
            continue;
        const fuse_node *n = &p->g->nodes.at[i];
        for (uint32_t k = 0; k < n->out.n; k++) {
            uint32_t to = n->out.at[k].to;
            if (p->mark[to] != p->stamp) {
                p->mark[to] = p->stamp;
                TNB_PUSH(p->g->arena, work, to);
            }
        }
    }
    return true;
}

static void
try_fuse(partition *p, uint32_t i, uint32_t sink, path_rule rule)
{
    uint32_t count;
    if (walk_paths(p, i, sink, rule, false, &count))
        walk_paths(p, i, sink, rule, true, &count);
}

static void
fuse_node_in_phase(partition *p, uint32_t i, int phase)
{
    uint32_t sink = p->dom[i].parent;
    fuse_group *group = &p->groups[i];
    if (group->pattern == FUSE_OPAQUE || sink == NO_NODE)
        return;
    fuse_group *mine = &p->groups[fuse_group_root(p->groups, i)];
    fuse_group *theirs = &p->groups[fuse_group_root(p->groups, sink)];
    if (mine != theirs && mine->size + theirs->size > p->max_depth)
        return;
    if (phase == 2) {
        /* injective nodes that feed a tuple which itself went into an injective group */
        if (group->pattern <= FUSE_INJECTIVE && theirs->pattern != FUSE_TUPLE &&
            p->groups[sink].pattern == FUSE_TUPLE && theirs->pattern <= FUSE_INJECTIVE)
            try_fuse(p, i, sink, PATH_INJECTIVE);
        return;
    }
    if (mine == theirs || p->groups[sink].pattern == FUSE_TUPLE)
        return;
    if (group->pattern == FUSE_OUT_ELEMWISE_FUSABLE) {
        if (phase == 0 && p->dom[i].pattern == FUSE_ELEMWISE)
            try_fuse(p, i, sink, PATH_BROADCAST);
    } else if (group->pattern <= FUSE_BROADCAST) {
        if (p->dom[i].pattern <= FUSE_INJECTIVE || p->dom[i].pattern == FUSE_COMM_REDUCE)
            try_fuse(p, i, sink, PATH_INJECTIVE_TO_ANY);
    } else if (group->pattern == FUSE_INJECTIVE || group->pattern == FUSE_TUPLE) {
        if (phase == 1)
            try_fuse(p, i, sink, PATH_INJECTIVE);
    }
}

fuse_group *
fuse_graph_partition(fuse_graph *g, uint32_t max_depth)
{
    partition p = {.g = g, .max_depth = max_depth};
    p.dom = post_dominators(g);
    p.groups = TNB_NEW_N(g->arena, fuse_group, g->nodes.n);
    p.mark = TNB_NEW_N(g->arena, uint32_t, g->nodes.n);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        p.groups[i] = (fuse_group){.parent = i,
                                   .pattern = g->nodes.at[i].pattern,
                                   .anchored = g->nodes.at[i].pattern == FUSE_OUT_ELEMWISE_FUSABLE,
                                   .size = 1};
    for (int phase = 0; phase < 3; phase++)
        for (uint32_t i = 0; i < g->nodes.n; i++)
            fuse_node_in_phase(&p, i, phase);
    return p.groups;
}
