/* SPDX-License-Identifier: Apache-2.0 */
/* KillAfterLastUse: releases every tensor, storage and object as soon as nobody uses it any more.
 *
 *     _ = cls.add(x, y, alloc)                       _ = cls.add(x, y, alloc)
 *     _ = cls.mul(alloc, y, alloc1)                  _ = cls.mul(alloc, y, alloc1)
 *     return alloc1                                  _ = R.memory.kill_tensor(alloc)
 *                                                    return alloc1
 *
 * Renamings (y = x) are removed first so that they do not hide uses. Per function and per If
 * branch; after one binding tensors go first, then storages, then objects, each in the order of
 * definition. Never what is returned, constants, functions, shapes, scalars, or what an explicit
 * kill names. Functions that still promise purity or have dataflow blocks stay as they are: needs
 * ToNonDataflow and RemovePurityChecking. Cases: tests/pass/KillAfterLastUse.
 */
#include "transform.h"

#include "tenon/core/walk.h"

/* ---- renamings ---- */

static const tn_node *
drop_renaming(tn_rewriter *r, const tn_node *n)
{
    const tn_var_binding *vb = tn_as_var_binding(n);
    if (!vb || !tn_is_var(vb->value) || !tn_type_equal(r->ctx, vb->var->type, vb->value->type))
        return NULL;
    tnb_ptrmap_set(r->map, vb->var, vb->value);
    return tn_removed();
}

/* ---- last uses ---- */

typedef enum kill_order {
    KILL_TENSOR,
    KILL_STORAGE,
    KILL_OBJECT,
    KILL_KINDS,
    KILL_NEVER
} kill_order;

typedef struct def {
    const tn_node *var;
    kill_order order;
    uint32_t last; /* binding number + 1; 0: never used */
} def;

typedef struct sequence {
    tn_ctx *ctx;
    TNB_VEC(def) defs;
    tnb_ptrmap index; /* variable -> number + 1 */
    uint32_t now;
} sequence;

static kill_order
order_of(const tn_expr *var, const tn_expr *value)
{
    if (tn_is_call_to(value, "relax.memory.alloc_storage") ||
        tn_is_call_to(value, "relax.vm.alloc_storage"))
        return KILL_STORAGE;
    if (tn_is(value, TN_KIND_CONSTANT) || tn_is(value, TN_KIND_FUNCTION) ||
        tn_is(value, TN_KIND_GLOBAL_VAR) || tn_is(value, TN_KIND_EXTERN_FUNC))
        return KILL_NEVER;
    switch (var->type->kind) {
    case TN_KIND_TY_TENSOR:
        return KILL_TENSOR;
    case TN_KIND_TY_SHAPE:
    case TN_KIND_TY_PRIM:
    case TN_KIND_TY_FUNC:
        return KILL_NEVER;
    default:
        return KILL_OBJECT;
    }
}

static void
define(sequence *s, const tn_expr *var, const tn_expr *value)
{
    def d = {var, order_of(var, value), 0};
    TNB_PUSH(tn_scratch(s->ctx), s->defs, d);
    tnb_ptrmap_set(&s->index, var, (void *)(uintptr_t)s->defs.n);
}

static tn_walk_step
note_use(void *user, const tn_node *n)
{
    sequence *s = user;
    uintptr_t i = tn_is_var(n) ? (uintptr_t)tnb_ptrmap_get(&s->index, n) : 0;
    if (i)
        s->defs.at[i - 1].last = s->now;
    const tn_call *kill = tn_is_call_to(n, "relax.memory.kill_tensor");
    if (!kill)
        kill = tn_is_call_to(n, "relax.memory.kill_storage");
    if (!kill)
        kill = tn_is_call_to(n, "relax.vm.kill_object");
    i = kill && kill->args.n ? (uintptr_t)tnb_ptrmap_get(&s->index, kill->args.at[0]) : 0;
    if (i)
        s->defs.at[i - 1].order = KILL_NEVER;
    return TN_WALK_ON;
}

static const tn_node *
kill_binding(tn_ctx *ctx, const def *d)
{
    static const char *const ops[] = {"relax.memory.kill_tensor", "relax.memory.kill_storage",
                                      "relax.vm.kill_object"};
    const tn_expr *call = tn_call_opv(ctx, ops[d->order], NULL, d->var, NULL);
    return tn_var_binding_of(ctx, tn_var_new(ctx, "_", call->type), call);
}

/* Inserts the kills into one SeqExpr; nested ones were done before. */
static const tn_node *
kill_in_sequence(tn_rewriter *r, const tn_node *n)
{
    const tn_seq_expr *seq = tn_as_seq_expr(n);
    if (!seq)
        return NULL;
    tn_ctx *ctx = r->ctx;
    sequence s = {.ctx = ctx};
    tnb_ptrmap_init(&s.index, tn_scratch(ctx));
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
            const tn_match_cast *mc = tn_as_match_cast(block->bindings.at[i]);
            s.now++;
            tn_walk(vb ? vb->value : mc->value, 0, note_use, NULL, &s);
            define(&s, vb ? vb->var : mc->var, vb ? vb->value : mc->value);
        }
    }
    s.now = UINT32_MAX; /* what the body returns lives on */
    tn_walk(seq->body, 0, note_use, NULL, &s);

    /* bucket the definitions by the binding that uses them last */
    uint32_t n_bindings = 0;
    for (uint32_t b = 0; b < seq->blocks.n; b++)
        n_bindings += ((const tn_bindings_block *)seq->blocks.at[b])->bindings.n;
    uint32_t *head = TNB_NEW_N(tn_scratch(ctx), uint32_t, n_bindings + 2);
    uint32_t *next = TNB_NEW_N(tn_scratch(ctx), uint32_t, s.defs.n + 1);
    bool any = false;
    for (uint32_t i = s.defs.n; i-- > 0;) {
        const def *d = &s.defs.at[i];
        if (d->order == KILL_NEVER || d->last == 0 || d->last == UINT32_MAX)
            continue;
        next[i + 1] = head[d->last];
        head[d->last] = i + 1;
        any = true;
    }
    if (!any)
        return NULL;
    tn_list blocks = {0};
    uint32_t at = 0;
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        TNB_VEC(const tn_node *) out = {0};
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            TNB_PUSH(tn_scratch(ctx), out, block->bindings.at[i]);
            at++;
            for (int order = 0; order < KILL_KINDS; order++)
                for (uint32_t k = head[at]; k; k = next[k])
                    if (s.defs.at[k - 1].order == (kill_order)order)
                        TNB_PUSH(tn_scratch(ctx), out, kill_binding(ctx, &s.defs.at[k - 1]));
        }
        const tn_node *nb = TN_NODE(block);
        if (out.n != block->bindings.n)
            nb = tn_binding_block_of(ctx, tn_list_of(ctx, out.at, out.n),
                                     tn_is(nb, TN_KIND_DATAFLOW_BLOCK));
        blocks = tn_list_append(ctx, blocks, nb);
    }
    return tn_seq_expr_of(ctx, blocks, seq->body);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tnb_ptrmap map;
    if (!transform_is_imperative((const tn_function *)func))
        return func;
    tnb_ptrmap_init(&map, tn_scratch(pc->ctx));
    tn_rewriter renames = {.ctx = pc->ctx,
                           .post = drop_renaming,
                           .map = &map,
                           .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&renames, func);
    tn_rewriter kills = {.ctx = pc->ctx, .post = kill_in_sequence, .reach = TN_REACH_BLOCKS};
    out = tn_rewrite(&kills, out);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_kill_after_last_use = {
    .base.size = sizeof(tn_pass),
    .base.name = "KillAfterLastUse",
    .base.doc = "release tensors, storages and objects after their last use",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
