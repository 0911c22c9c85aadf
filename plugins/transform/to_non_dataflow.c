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

typedef struct renaming {
    tn_ctx *ctx;
    tnb_ptrmap *map;
} renaming;

/* The rewriter takes definitions from the map: it has to be full before. */
static tn_walk_step
collect(void *user, const tn_node *n)
{
    renaming *r = user;
    const tn_expr *v = tn_is(n, TN_KIND_VAR_BINDING)  ? ((const tn_var_binding *)n)->var
                       : tn_is(n, TN_KIND_MATCH_CAST) ? ((const tn_match_cast *)n)->var
                                                      : NULL;
    if (tn_is(v, TN_KIND_DATAFLOW_VAR))
        tnb_ptrmap_set(r->map, v, tn_var_new(r->ctx, tn_var_name(v), v->type));
    return TN_WALK_ON;
}

static const tn_node *
plain_block(tn_rewriter *r, const tn_node *n)
{
    return tn_is(n, TN_KIND_DATAFLOW_BLOCK)
               ? tn_binding_block_of(r->ctx, ((const tn_bindings_block *)n)->bindings, false)
               : NULL;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(pc->ctx));
    renaming names = {pc->ctx, &map};
    tn_walk(func, 0, collect, NULL, &names);
    tn_rewriter r = {.ctx = pc->ctx, .post = plain_block, .map = &map};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_to_non_dataflow = {
    .base.size = sizeof(tn_pass),
    .base.name = "ToNonDataflow",
    .base.doc = "turn dataflow blocks into ordinary binding blocks",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
