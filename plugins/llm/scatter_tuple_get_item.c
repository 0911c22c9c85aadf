/* SPDX-License-Identifier: Apache-2.0 */
/* ScatterTupleGetItem: an item of a tuple is taken where it is first used.
 *
 *     w1 = packed_params[0]              w1 = packed_params[0]
 *     w2 = packed_params[1]              y = R.add(x, w1)
 *     y = R.add(x, w1)           =>      w2 = packed_params[1]
 *     z = R.add(y, w2)                   z = R.add(y, w2)
 *
 * so that weights are fetched one by one as the function runs. In dataflow blocks; items that nobody uses go; items that outlive the block
 * stay. Cases: tests/pass/ScatterTupleGetItem.
 */
#include "llm.h"

#include "tenon/core/walk.h"

typedef struct scatter {
    tn_ctx *ctx;
    tnb_ptrmap waiting; /* variable -> its binding, which has not come yet */
    TNB_VEC(const tn_node *) out;
} scatter;

/* The items that a value uses come in front of it. */
static void
bring(scatter *s, const tn_node *value)
{
    tn_list used = tn_free_vars(s->ctx, value, false);
    for (uint32_t i = 0; i < used.n; i++) {
        const tn_node *b = tnb_ptrmap_get(&s->waiting, used.at[i]);
        if (!b)
            continue;
        tnb_ptrmap_remove(&s->waiting, used.at[i]);
        TNB_PUSH(tn_scratch(s->ctx), s->out, b);
    }
}

static const tn_node *
scatter_block(tn_rewriter *r, const tn_node *n)
{
    if (!tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        return NULL;
    scatter s = {.ctx = r->ctx};
    tn_list at = tn_as_bindings_block(n)->bindings;
    tnb_ptrmap_init(&s.waiting, tn_scratch(r->ctx));
    for (uint32_t i = 0; i < at.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(at.at[i]);
        bring(&s, vb ? vb->value : at.at[i]);
        if (vb && tn_is(vb->var, TN_KIND_DATAFLOW_VAR) && tn_is(vb->value, TN_KIND_TUPLE_GET))
            tnb_ptrmap_set(&s.waiting, vb->var, vb);
        else
            TNB_PUSH(tn_scratch(r->ctx), s.out, at.at[i]);
    }
    bool same = s.out.n == at.n;
    for (uint32_t i = 0; same && i < at.n; i++)
        same = s.out.at[i] == at.at[i];
    return same ? NULL : tn_binding_block_of(r->ctx, tn_list_of(r->ctx, s.out.at, s.out.n), true);
}

static const tn_node *
each(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tn_rewriter r = {.ctx = pc->ctx, .post = scatter_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each, NULL);
}

const tn_pass llm_scatter_tuple_get_item = {
    .base.size = sizeof(tn_pass),
    .base.name = "ScatterTupleGetItem",
    .base.doc = "take items of tuples where they are first used",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
