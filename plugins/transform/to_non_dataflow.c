/* SPDX-License-Identifier: Apache-2.0 */
/* ToNonDataflow: dataflow blocks become ordinary ones, dataflow variables ordinary variables.
 *
 *     with R.dataflow():                             lv = R.add(x, x)
 *         lv = R.add(x, x)                           gv = R.nn.relu(lv)
 *         gv = R.nn.relu(lv)
 *         R.output(gv)
 *
 * Names and types stay. Keeps results bit by bit. Cases: tests/pass/ToNonDataflow.
 */
#include "transform.h"

#include "tenon/core/walk.h"

/* Uses of a variable come after its definition, so replacing definitions fills the map in time. */
static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    if (tn_is(n, TN_KIND_DATAFLOW_VAR)) {
        const tn_node *v = tnb_ptrmap_get(r->map, n);
        if (!v) {
            v = tn_var_new(r->ctx, tn_var_name(n), n->type);
            tnb_ptrmap_set(r->map, n, v);
        }
        return v;
    }
    return NULL;
}

static const tn_node *
plain_block(tn_rewriter *r, const tn_node *n)
{
    return tn_is(n, TN_KIND_DATAFLOW_BLOCK)
               ? tn_binding_block(r->ctx, ((const tn_bindings_block *)n)->bindings, false)
               : NULL;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(pc->ctx));
    tn_rewriter r = {.ctx = pc->ctx, .pre = replace, .post = plain_block, .map = &map};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_to_non_dataflow = {
    .size = sizeof(tn_pass),
    .name = "ToNonDataflow",
    .doc = "turn dataflow blocks into ordinary binding blocks",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
