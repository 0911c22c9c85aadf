/* SPDX-License-Identifier: Apache-2.0 */
/* FuseOps: groups calls of tensor programs that one kernel can compute into private functions marked
 * Primitive, which FuseTIR then turns into one PrimFunc each.
 *
 *     lv = R.call_tir(cls.add, (x, y), ...)          lv1 = cls.fused_add_relu(x, y)
 *     lv1 = R.call_tir(cls.relu, (lv,), ...)
 *
 * Needs op_pattern on PrimFuncs (AnnotateTIROpPattern); works on dataflow blocks of functions without
 * Primitive or Codegen, those in branches of an If included; leaves everything else. Option fuse_opt_level: -1 the run's level, 0 nothing.
 * Config relax.FuseOps.max_depth bounds the members of a group. Cases: tests/pass/FuseOps.
 */
#include "transform.h"
#include "fuse_graph.h"
#include "group_functions.h"

#include "tenon/core/walk.h"

/* ---- the graph of one function ---- */

typedef struct scan {
    tn_ctx *ctx;
    const tn_module *m;
    fuse_graph g;
    int64_t num_input; /* parameters from here on are weights; -1 unknown */
    const tn_function *fn;
} scan;

static void
use_leaf(scan *s, const tn_node *leaf, uint32_t user, fuse_pattern p)
{
    const tn_tuple *t = tn_as_tuple(leaf);
    if (t) {
        for (uint32_t i = 0; i < t->fields.n; i++)
            use_leaf(s, t->fields.at[i], user, p);
        return;
    }
    if (!tn_is_var(leaf) && !tn_is(leaf, TN_KIND_CONSTANT))
        return;
    uint32_t n = fuse_graph_find(&s->g, leaf);
    if (n == UINT32_MAX) /* a constant seen first, or a value of an enclosing scope */
        n = fuse_graph_add(&s->g, leaf, NULL, FUSE_OPAQUE);
    fuse_graph_edge(&s->g, n, user, p);
}

/* A use from outside the graph: the value has to exist in memory. */
static tn_walk_step
mark_external(void *user, const tn_node *n)
{
    scan *s = user;
    if (tn_is_var(n)) {
        uint32_t i = fuse_graph_find(&s->g, n);
        if (i != UINT32_MAX)
            s->g.nodes.at[i].external = true;
    }
    return TN_WALK_ON;
}

static bool
is_packed_weights(const scan *s, const tn_node *var)
{
    for (uint32_t i = 0; s->num_input >= 0 && i < s->fn->params.n; i++)
        if (s->fn->params.at[i] == var)
            return (int64_t)i >= s->num_input;
    return false;
}

static const tn_call *
as_tensor_program_call(const tn_module *m, const tn_node *value, const tn_prim_func **callee)
{
    const tn_call *c = tn_is_call_to(value, "relax.call_tir");
    if (!c)
        c = tn_is_call_to(value, "relax.call_tir_inplace");
    if (!c || c->args.n < 2 || !tn_is(c->args.at[0], TN_KIND_GLOBAL_VAR))
        return NULL;
    *callee = tn_as_prim_func(tn_module_get(m, ((const tn_global_var *)c->args.at[0])->name));
    return *callee ? c : NULL;
}

static void
scan_value(scan *s, const tn_node *value, uint32_t me)
{
    const tn_prim_func *callee = NULL;
    const tn_call *c = as_tensor_program_call(s->m, value, &callee);
    fuse_pattern p = FUSE_OPAQUE;
    if (c) {
        p = (fuse_pattern)tn_dict_int(callee->attrs, "op_pattern", FUSE_OPAQUE);
        s->g.nodes.at[me].pattern = p;
        use_leaf(s, c->args.at[1], me, p);
        return;
    }
    if (tn_is(value, TN_KIND_TUPLE)) {
        s->g.nodes.at[me].pattern = FUSE_TUPLE;
        use_leaf(s, value, me, FUSE_TUPLE);
        return;
    }
    const tn_tuple_get *get = tn_as_tuple_get(value);
    if (get) {
        p = is_packed_weights(s, get->tuple) ? FUSE_OPAQUE : FUSE_INJECTIVE;
        s->g.nodes.at[me].pattern = p;
        use_leaf(s, get->tuple, me, p);
        return;
    }
    tn_list used = tn_free_vars(s->ctx, value, false);
    for (uint32_t i = 0; i < used.n; i++)
        use_leaf(s, used.at[i], me, FUSE_OPAQUE);
}

/* Blocks in order; the branches of an If where it stands. Values go from one block to another by
 * variables that are external, so that no group spans two. */
static void
scan_sequence(scan *s, const tn_expr *e)
{
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    for (uint32_t b = 0; seq && b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        bool dataflow = tn_is(seq->blocks.at[b], TN_KIND_DATAFLOW_BLOCK);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_node *binding = block->bindings.at[i];
            const tn_var_binding *vb = tn_as_var_binding(binding);
            const tn_match_cast *mc = tn_as_match_cast(binding);
            const tn_node *var = vb ? vb->var : mc->var;
            const tn_if_expr *branch = vb && !dataflow ? tn_as_if_expr(vb->value) : NULL;
            if (branch) {
                scan_sequence(s, branch->then_branch);
                scan_sequence(s, branch->else_branch);
            }
            uint32_t me = fuse_graph_add(&s->g, var, dataflow ? binding : NULL, FUSE_OPAQUE);
            if (!tn_is(var, TN_KIND_DATAFLOW_VAR))
                s->g.nodes.at[me].external = true;
            if (vb && dataflow)
                scan_value(s, vb->value, me);
            else if (branch)
                tn_walk(branch->cond, 0, mark_external, NULL, s);
            else
                tn_walk(vb ? vb->value : mc->value, 0, mark_external, NULL, s);
            /* symbolic variables of a match_cast's type are not values of the graph */
        }
    }
    tn_walk(seq ? seq->body : e, 0, mark_external, NULL, s);
}

static void
scan_function(scan *s)
{
    for (uint32_t i = 0; i < s->fn->params.n; i++)
        fuse_graph_add(&s->g, s->fn->params.at[i], NULL, FUSE_OPAQUE);
    scan_sequence(s, s->fn->body);
}

/* ---- groups ---- */

static const tn_node *
fuse_function(const tn_pass_ctx *pc, const tn_module *m, tn_builder *b, const tn_function *fn,
              uint32_t max_depth)
{
    tn_ctx *ctx = pc->ctx;
    tnb_arena *arena = tn_scratch(ctx);
    scan s = {.ctx = ctx, .m = m, .fn = fn, .num_input = tn_dict_int(fn->attrs, "num_input", -1)};
    fuse_graph_init(&s.g, arena);
    scan_function(&s);
    fuse_group *parts = fuse_graph_partition(&s.g, max_depth);

    grouping g;
    grouping_init(&g, ctx, m, b, false);
    uint32_t n = s.g.nodes.n, *bound = TNB_NEW_N(arena, uint32_t, n);
    group *groups = TNB_NEW_N(arena, group, n); /* by root */
    for (uint32_t i = 0; i < n; i++)
        if (s.g.nodes.at[i].binding)
            bound[fuse_group_root(parts, i)]++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t root = fuse_group_root(parts, i);
        const tn_var_binding *vb = tn_as_var_binding(s.g.nodes.at[i].binding);
        if (vb && bound[root] >= 2)
            grouping_add(&g, &groups[root], vb);
    }
    return grouping_rewrite(&g, fn);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    int64_t level = tn_option_int(pc, "fuse_opt_level");
    if (level < 0)
        level = pc->opt_level;
    if (level == 0)
        return m;
    int64_t depth = tn_config_int(pc, "relax.FuseOps.max_depth");
    uint32_t max_depth = depth > INT32_MAX ? INT32_MAX : (uint32_t)depth;

    tn_builder *b = tn_builder_new(pc->ctx, m);
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        if (!fn || tn_dict_get(fn->attrs, "Primitive") || tn_dict_get(fn->attrs, "Codegen"))
            continue;
        const tn_node *nf = fuse_function(pc, m, b, fn, max_depth);
        if (tn_is_error(nf))
            return NULL;
        if (nf != TN_NODE(fn)) {
            TNB_PUSH(tn_scratch(pc->ctx), names, tn_module_name(m, i));
            TNB_PUSH(tn_scratch(pc->ctx), funcs, nf);
        }
    }
    if (!names.n)
        return m;
    return tn_module_set_all(pc->ctx, tn_builder_module(b), names.at, funcs.at, names.n);
}

static const tn_attr_schema options[] = {{"fuse_opt_level", TN_ATTR_INT, 0, "-1",
                                          "-1: the level of the run; 0: nothing is fused"},
                                         {0}};

static const tn_attr_schema config[] = {{"relax.FuseOps.max_depth", TN_ATTR_INT, 0, "256",
                                         "most operators in one function", ">=1"},
                                        {.name = NULL}};

const tn_pass transform_fuse_ops = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseOps",
    .base.doc = "group operators that one kernel can compute into Primitive functions",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .config = config,
};
