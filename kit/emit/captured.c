/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables the text of a loop's body will use: those of what emission writes of the tree. */
#include "emit_private.h"

typedef struct uses {
    tnk_emitter *e;
    tnb_ptrmap of; /* Vars, and data Vars of buffers */
    bool checks;
} uses;

static tn_walk_step
note(void *user, const tn_node *n);

static void
walk(uses *u, const tn_node *n)
{
    if (n)
        tn_walk(n, 0, note, NULL, u); /* as often as it is written */
}

static void
use(uses *u, const tn_node *of)
{
    tnb_ptrmap_set(&u->of, of, u);
}

static tn_walk_step
note_call(uses *u, const tn_call *c)
{
    switch ((int)tn_intrin_of(TN_NODE(c))) {
    case TN_INTRIN_assume:
        return TN_WALK_SKIP;
    case TN_INTRIN_index_in:
        u->checks = true;
        return TN_WALK_ON;
    case TN_INTRIN_tvm_access_ptr: /* type, data, offset, extent, mask */
        if (c->args.n == 5) {
            use(u, c->args.at[1]);
            walk(u, c->args.at[2]);
        }
        return TN_WALK_SKIP;
    default:
        return TN_WALK_ON;
    }
}

static tn_walk_step
note(void *user, const tn_node *n)
{
    uses *u = user;
    switch (n->kind) {
    case TN_KIND_VAR:
        use(u, n);
        return TN_WALK_ON;
    case TN_KIND_BUFFER_LOAD:
        use(u, tn_as_buffer(((const tn_buffer_load *)n)->buffer)->data);
        return TN_WALK_ON;
    case TN_KIND_BUFFER_STORE:
        use(u, tn_as_buffer(((const tn_buffer_store *)n)->buffer)->data);
        return TN_WALK_ON;
    case TN_KIND_ALLOC_BUFFER: /* its size is that of the memory planned */
        use(u, tn_as_buffer(((const tn_alloc_buffer *)n)->buffer)->data);
        return TN_WALK_SKIP;
    case TN_KIND_DECL_BUFFER:
    case TN_KIND_ASSERT: /* a parallel loop cannot be left */
        return TN_WALK_SKIP;
    case TN_KIND_ATTR_STMT:
        walk(u, ((const tn_attr_stmt *)n)->body);
        return TN_WALK_SKIP;
    case TN_KIND_FOR: { /* its end is written as one expression */
        const tn_for_loop *f = (const tn_for_loop *)n;
        walk(u, f->min);
        walk(u, tn_add(u->e->ctx, f->min, f->extent));
        walk(u, f->body);
        return TN_WALK_SKIP;
    }
    case TN_KIND_CALL:
        return note_call(u, (const tn_call *)n);
    default:
        return TN_WALK_ON;
    }
}

const bool *
tnk_captured(tnk_emitter *e, const tn_for_loop *f, bool *checks)
{
    uses u = {.e = e};
    tnb_ptrmap_init(&u.of, tn_scratch(e->ctx));
    walk(&u, f->body);
    bool *captured = TNB_NEW_N(tn_scratch(e->ctx), bool, e->scope.n + 1);
    for (uint32_t i = 0; i < e->scope.n; i++) {
        const tn_node *of = e->scope.at[i].of;
        captured[i] = of && (of == e->kernel->func ? u.checks : tnb_ptrmap_has(&u.of, of));
    }
    if (checks)
        *checks = u.checks;
    return captured;
}

void
tnk_emit_declare(tnk_emitter *e, const char *type, const char *name, const tn_node *of)
{
    tnk_declared d = {type, name, of};
    TNB_PUSH(tn_scratch(e->ctx), e->scope, d);
}
