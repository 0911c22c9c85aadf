/* SPDX-License-Identifier: Apache-2.0 */
/* Visiting every node. */
#include "private.h"

struct walk {
    tn_visit_fn enter, leave;
    void *user;
    unsigned flags;
    tnb_ptrmap *seen; /* with TN_WALK_ONCE: nodes entered */
};

static bool
visit(struct walk *w, const tn_node *n, bool is_def);

static bool
visit_list(struct walk *w, tn_list l, bool is_def)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i] && !visit(w, l.at[i], is_def))
            return false;
    return true;
}

static bool
visit_children(struct walk *w, const tn_node *n)
{
    for (const tn_field *f = tn_kinds[n->kind].fields; f->name; f++) {
        bool is_def = f->type == TN_FIELD_DEF || f->type == TN_FIELD_DEFS;
        if (f->type == TN_FIELD_NODE || f->type == TN_FIELD_DEF) {
            const tn_node *c = tn_field_node(n, f);
            if (!c || (tn_is_type(c) && !(w->flags & TN_WALK_TYPES)))
                continue;
            if (!visit(w, c, is_def))
                return false;
        } else if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            tn_list l = tn_field_list(n, f);
            if (l.n && tn_is_type(l.at[0]) && !(w->flags & TN_WALK_TYPES))
                continue;
            if (!visit_list(w, l, is_def))
                return false;
        }
    }
    return true;
}

static bool
visit(struct walk *w, const tn_node *n, bool is_def)
{
    if (w->seen && TN_DEPTH(n) > 2) {
        if (tnb_ptrmap_has(w->seen, n))
            return true;
        tnb_ptrmap_set(w->seen, n, w);
    }
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
    struct walk w = {enter, leave, user, flags, NULL};
    if (!n)
        return true;
    if (!(flags & TN_WALK_ONCE))
        return visit(&w, n, true);
    tnb_arena *a = tnb_arena_new();
    if (!a) /* without memory each node is visited as often as it occurs */
        return visit(&w, n, true);
    tnb_ptrmap seen;
    tnb_ptrmap_init(&seen, a);
    w.seen = &seen;
    bool on = visit(&w, n, true);
    tnb_arena_free(a);
    return on;
}
