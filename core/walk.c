/* SPDX-License-Identifier: Apache-2.0 */
/* Visiting every node. */
#include "private.h"

struct walk {
    tn_visit_fn enter, leave;
    void *user;
    unsigned flags;
    bool once;
    tnb_ptrmap seen; /* with `once`: nodes entered; its arena is made for the first */
};

/* Whether the node was not entered before. Without memory each is entered as often as it occurs. */
static bool
is_new(struct walk *w, const tn_node *n)
{
    if (!w->seen.arena)
        tnb_ptrmap_init(&w->seen, tnb_arena_new());
    if (!w->seen.arena)
        return true;
    uint32_t before = w->seen.n;
    tnb_ptrmap_set(&w->seen, n, w);
    return w->seen.n > before;
}

static bool
visit(struct walk *w, const tn_node *n, bool is_def);

/* A visit of a child. Most are variables that are used and small constants: nothing lies below them, nor is the state kept that a visit of
 * more needs. */
static inline bool
visit_child(struct walk *w, const tn_node *n, bool is_def)
{
    bool constant = n->kind == TN_KIND_INT_IMM || n->kind == TN_KIND_FLOAT_IMM;
    if (constant ? w->flags & TN_WALK_TYPES : is_def || n->kind != TN_KIND_VAR)
        return visit(w, n, is_def);
    tn_walk_step step = w->enter ? w->enter(w->user, n) : TN_WALK_ON;
    return step == TN_WALK_SKIP ||
           (step != TN_WALK_STOP && (!w->leave || w->leave(w->user, n) != TN_WALK_STOP));
}

static bool
visit_list(struct walk *w, tn_list l, bool is_def)
{
    if (l.n && tn_is_type(l.at[0]) && !(w->flags & TN_WALK_TYPES))
        return true;
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i] && !visit_child(w, l.at[i], is_def))
            return false;
    return true;
}

static bool
visit_children(struct walk *w, const tn_node *n)
{
    for (const tn_field *f = tn_kinds[n->kind].fields; f->name; f++) {
        bool on = true;
        switch ((int)f->type) {
        case TN_FIELD_NODE:
        case TN_FIELD_DEF: {
            const tn_node *c = tn_field_node(n, f);
            if (c && (!tn_is_type(c) || w->flags & TN_WALK_TYPES))
                on = visit_child(w, c, f->type == TN_FIELD_DEF);
            break;
        }
        case TN_FIELD_LIST:
        case TN_FIELD_DEFS:
            on = visit_list(w, tn_field_list(n, f), f->type == TN_FIELD_DEFS);
            break;
        default:
            break;
        }
        if (!on)
            return false;
    }
    return true;
}

static bool
visit(struct walk *w, const tn_node *n, bool is_def)
{
    if (w->once && TN_DEPTH(n) > 2 && !is_new(w, n))
        return true;
    switch (w->enter ? w->enter(w->user, n) : TN_WALK_ON) {
    case TN_WALK_STOP:
        return false;
    case TN_WALK_SKIP:
        return true;
    case TN_WALK_ON:
        break;
    }
    bool identity = tn_is_var(n) || n->kind == TN_KIND_BUFFER;
    bool leaf = n->kind == TN_KIND_INT_IMM || n->kind == TN_KIND_FLOAT_IMM;
    if (n->type && (w->flags & TN_WALK_TYPES) && (is_def || !identity) && !visit(w, n->type, false))
        return false;
    if (!leaf && (is_def || !identity) && !visit_children(w, n))
        return false;
    return !w->leave || w->leave(w->user, n) != TN_WALK_STOP;
}

bool
tn_walk(const tn_node *n, unsigned flags, tn_visit_fn enter, tn_visit_fn leave, void *user)
{
    struct walk w = {enter, leave, user, flags, (flags & TN_WALK_ONCE) != 0, {0}};
    if (!n)
        return true;
    bool on = visit(&w, n, true);
    tnb_arena_free(w.seen.arena);
    return on;
}
