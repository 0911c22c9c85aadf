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
    fuse_node *n = &g->nodes.at[from];
    fuse_edge *last = n->out.n ? &n->out.at[n->out.n - 1] : NULL;
    if (last && last->to == to) /* a second operand of the same consumer */
        last->pattern = last->pattern > p ? last->pattern : p;
    else
        TNB_PUSH(g->arena, n->out, e);
}

uint32_t
fuse_graph_find(const fuse_graph *g, const tn_node *ref)
{
    return (uint32_t)(uintptr_t)tnb_ptrmap_get(&g->index, ref) - 1;
}

/* ---- post-dominators ---- */

/* `jump` leads to an ancestor farther up, so that a common ancestor is found in logarithmic time:
 * the jumps have the lengths of a skew binary number system (Myers, An applicative random-access
 * stack, 1983). */
typedef struct dom_node {
    uint32_t parent, jump; /* NO_NODE: none */
    uint32_t depth;
    fuse_pattern pattern;      /* hardest edge on the way to the parent */
    fuse_pattern jump_pattern; /* ... and on the way to `jump` */
} dom_node;

#define NO_NODE UINT32_MAX

static fuse_pattern
harder(fuse_pattern a, fuse_pattern b)
{
    return a > b ? a : b;
}

static void
link_parent(dom_node *dom, uint32_t i, uint32_t parent, fuse_pattern pattern)
{
    dom_node *n = &dom[i];
    n->parent = n->jump = parent;
    n->pattern = n->jump_pattern = pattern;
    n->depth = 1;
    if (parent == NO_NODE)
        return;
    const dom_node *up = &dom[parent];
    n->depth = up->depth + 1;
    if (up->jump == NO_NODE || dom[up->jump].jump == NO_NODE ||
        up->depth - dom[up->jump].depth != dom[up->jump].depth - dom[dom[up->jump].jump].depth)
        return;
    n->jump = dom[up->jump].jump;
    n->jump_pattern = harder(pattern, harder(up->jump_pattern, dom[up->jump].jump_pattern));
}

static uint32_t
step_up(const dom_node *n, bool far, fuse_pattern *pattern)
{
    *pattern = harder(*pattern, far ? n->jump_pattern : n->pattern);
    return far ? n->jump : n->parent;
}

static uint32_t
common_ancestor(const dom_node *dom, uint32_t a, uint32_t b, fuse_pattern *pattern)
{
    while (a != b) {
        if (a == NO_NODE || b == NO_NODE)
            return NO_NODE;
        if (dom[a].depth < dom[b].depth) {
            uint32_t c = a;
            a = b;
            b = c;
        }
        uint32_t jump = dom[a].jump;
        if (dom[a].depth > dom[b].depth) {
            a = step_up(&dom[a], jump != NO_NODE && dom[jump].depth >= dom[b].depth, pattern);
            continue;
        }
        bool far = jump != dom[b].jump; /* the same depth: the jumps have the same length */
        a = step_up(&dom[a], far, pattern);
        b = step_up(&dom[b], far, pattern);
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
        link_parent(dom, i, NO_NODE, FUSE_OPAQUE);
        if (n->external || n->out.n == 0)
            continue;
        fuse_pattern p = n->out.at[0].pattern;
        uint32_t parent = n->out.at[0].to;
        for (uint32_t k = 1; k < n->out.n; k++) {
            parent = common_ancestor(dom, parent, n->out.at[k].to, &p);
            p = harder(p, n->out.at[k].pattern);
        }
        link_parent(dom, i, parent, p);
    }
    return dom;
}

/* ---- groups ---- */

typedef struct partition {
    fuse_graph *g;
    dom_node *dom;
    fuse_group *groups;
    uint32_t *mark, *counted; /* visit stamps of nodes and of groups' roots */
    uint32_t stamp;
    uint32_t max_depth;
    TNB_VEC(uint32_t) path; /* the nodes that a walk found */
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

/* Finds the nodes between `src` and `sink`, both included. False if one of them, other than `src`,
 * breaks the rule, or if their groups have more than max_depth nodes together: this bounds the walk
 * too, as every node that it finds is one of a group. */
static bool
find_path(partition *p, uint32_t src, uint32_t sink, path_rule rule)
{
    uint64_t size = 0;
    p->stamp++;
    p->path.n = 0;
    TNB_PUSH(p->g->arena, p->path, src);
    p->mark[src] = p->stamp;
    for (uint32_t at = 0; at < p->path.n; at++) {
        uint32_t i = p->path.at[at], root = fuse_group_root(p->groups, i);
        if (i != src && !path_allows(rule, p->groups[root].pattern, i == sink))
            return false;
        if (p->counted[root] != p->stamp) {
            p->counted[root] = p->stamp;
            size += p->groups[root].size;
        }
        const fuse_node *n = &p->g->nodes.at[i];
        for (uint32_t k = 0; i != sink && k < n->out.n; k++) {
            uint32_t to = n->out.at[k].to;
            if (p->mark[to] == p->stamp)
                continue;
            p->mark[to] = p->stamp;
            TNB_PUSH(p->g->arena, p->path, to);
            if (p->path.n > p->max_depth)
                return false;
        }
        if (size > p->max_depth)
            return false;
    }
    return true;
}

static void
try_fuse(partition *p, uint32_t src, uint32_t sink, path_rule rule)
{
    if (!find_path(p, src, sink, rule))
        return;
    uint32_t target = fuse_group_root(p->groups, sink);
    for (uint32_t at = 0; at < p->path.n; at++) {
        uint32_t root = fuse_group_root(p->groups, p->path.at[at]);
        if (root == target)
            continue;
        p->groups[target].size += p->groups[root].size;
        p->groups[root].parent = target;
        p->groups[target].anchored |= p->groups[root].anchored;
        p->groups[target].pattern = harder(p->groups[target].pattern, p->groups[root].pattern);
    }
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
    p.counted = TNB_NEW_N(g->arena, uint32_t, g->nodes.n);
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
