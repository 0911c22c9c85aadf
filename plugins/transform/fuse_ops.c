/* SPDX-License-Identifier: Apache-2.0 */
/* FuseOps: groups calls of tensor programs that one kernel can compute into private functions
 * marked Primitive, which FuseTIR then turns into one PrimFunc each.
 *
 *     lv = R.call_tir(cls.add, (x, y), ...)          lv1 = cls.fused_add_relu(x, y)
 *     lv1 = R.call_tir(cls.relu, (lv,), ...)
 *
 * Needs op_pattern on PrimFuncs (AnnotateTIROpPattern); works on dataflow blocks of functions
 * without Primitive or Codegen; leaves everything else. Option fuse_opt_level: -1 the run's level,
 * 0 nothing. Config relax.FuseOps.max_depth bounds the members of a group. Cases:
 * tests/pass/FuseOps.
 */
#include "transform.h"
#include "fuse_graph.h"

#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

enum { DEFAULT_MAX_DEPTH = 256, MAX_NAME = 200 };

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

static void
scan_function(scan *s)
{
    for (uint32_t i = 0; i < s->fn->params.n; i++)
        fuse_graph_add(&s->g, s->fn->params.at[i], NULL, FUSE_OPAQUE);
    const tn_seq_expr *seq = tn_as_seq_expr(s->fn->body);
    if (!seq)
        return;
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        bool dataflow = tn_is(seq->blocks.at[b], TN_KIND_DATAFLOW_BLOCK);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_node *binding = block->bindings.at[i];
            const tn_var_binding *vb = tn_as_var_binding(binding);
            const tn_match_cast *mc = tn_as_match_cast(binding);
            const tn_node *var = vb ? vb->var : mc->var;
            uint32_t me = fuse_graph_add(&s->g, var, dataflow ? binding : NULL, FUSE_OPAQUE);
            if (!tn_is(var, TN_KIND_DATAFLOW_VAR))
                s->g.nodes.at[me].external = true;
            if (vb && dataflow)
                scan_value(s, vb->value, me);
            else
                tn_walk(vb ? vb->value : mc->value, 0, mark_external, NULL, s);
            /* symbolic variables of a match_cast's type are not values of the graph */
        }
    }
    tn_walk(seq->body, 0, mark_external, NULL, s);
}

/* ---- one group becomes one function ---- */

typedef struct group_fn {
    uint32_t id; /* root node of the group */
    uint32_t n_members;
    TNB_VEC(const tn_var_binding *) members;
    TNB_VEC(const tn_node *) outputs; /* outer variables that others use, in binding order */
    const tn_node *last;              /* the binding at whose place the call goes */
    /* made by build_function */
    const tn_expr *gv;
    tn_list args;
} group_fn;

typedef struct fuser {
    tn_ctx *ctx;
    tnb_arena *arena;
    scan s;
    fuse_group *groups;
    group_fn **of_node; /* by node number; NULL: stays */
    group_fn **of_root; /* by root number */
    tn_builder *b;
    /* state of build_function */
    group_fn *cur;
    tnb_ptrmap inner;   /* outer value -> inner expression */
    tnb_ptrmap partial; /* outer tuple used by fields only -> itself */
    TNB_VEC(const tn_node *) params;
    TNB_VEC(const tn_node *) args;
    uint32_t n_consts;
} fuser;

static bool
in_group(const fuser *f, const tn_node *var)
{
    uint32_t i = fuse_graph_find(&f->s.g, var);
    return i != UINT32_MAX && f->of_node[i] == f->cur;
}

static const tn_expr *
add_param(fuser *f, const tn_expr *outer, const char *name, const tn_type *type)
{
    const tn_expr *p = tn_var_new(f->ctx, name, type);
    TNB_PUSH(f->arena, f->params, p);
    TNB_PUSH(f->arena, f->args, outer);
    return p;
}

/* The inner expression for a leaf that a member uses. */
static const tn_expr *
import_leaf(fuser *f, const tn_expr *e)
{
    const tn_tuple *t = tn_as_tuple(e);
    if (t) {
        const tn_node **fields = TNB_NEW_N(f->arena, const tn_node *, t->fields.n);
        for (uint32_t i = 0; i < t->fields.n; i++)
            fields[i] = import_leaf(f, t->fields.at[i]);
        return tn_tuple_of(f->ctx, tn_list_of(f->ctx, fields, t->fields.n));
    }
    bool is_value = (tn_is_var(e) && !tn_is_scalar(e)) || tn_is(e, TN_KIND_CONSTANT);
    if (!is_value)
        return e; /* scalars and shapes: their symbolic variables are passed separately */
    const tn_expr *known = tnb_ptrmap_get(&f->inner, e);
    if (known)
        return known;
    const tn_expr *bound = tn_is_var(e) ? tn_builder_lookup(f->b, e) : NULL;
    if (bound && tn_is(bound, TN_KIND_SHAPE_EXPR))
        return bound;
    const char *name = tn_is_var(e) ? tn_var_name(e) : tn_strf(f->ctx, "param_%u", f->n_consts++);
    const tn_expr *p = add_param(f, e, name, e->type);
    tnb_ptrmap_set(&f->inner, e, p);
    return p;
}

/* t[i] of a tuple from outside: the field alone becomes a parameter unless the whole tuple is used
 * too. */
static const tn_expr *
import_field(fuser *f, const tn_tuple_get *get)
{
    if (in_group(f, get->tuple) || !tnb_ptrmap_has(&f->partial, get->tuple))
        return tn_tuple_get_of(f->ctx, import_leaf(f, get->tuple), get->index);
    for (uint32_t i = 0; i < f->args.n; i++) {
        const tn_tuple_get *seen = tn_as_tuple_get(f->args.at[i]);
        if (seen && seen->tuple == get->tuple && seen->index == get->index)
            return f->params.at[i];
    }
    return add_param(f, TN_NODE(get),
                     tn_strf(f->ctx, "%s_%d", tn_var_name(get->tuple), (int)get->index),
                     get->base.type);
}

static void
find_partial_tuples(fuser *f)
{
    tnb_ptrmap whole;
    tnb_ptrmap_init(&whole, f->arena);
    for (uint32_t k = 0; k < f->cur->members.n; k++) {
        const tn_node *v = f->cur->members.at[k]->value;
        const tn_tuple_get *get = tn_as_tuple_get(v);
        if (get) {
            if (!in_group(f, get->tuple))
                tnb_ptrmap_set(&f->partial, get->tuple, get->tuple);
            continue;
        }
        tn_list used = tn_free_vars(f->ctx, v, false);
        for (uint32_t i = 0; i < used.n; i++)
            tnb_ptrmap_set(&whole, used.at[i], used.at[i]);
    }
    for (uint32_t i = 0; i < whole.n; i++)
        if (whole.at[i].key)
            tnb_ptrmap_remove(&f->partial, whole.at[i].key);
}

static const tn_expr *
import_value(fuser *f, const tn_expr *v)
{
    const tn_call *c = tn_as_call(v);
    if (c) {
        tn_list args = c->args;
        for (uint32_t i = 1; i < args.n; i++)
            args = tn_list_with(f->ctx, args, i, import_leaf(f, args.at[i]));
        return tn_call_of(f->ctx, c->op, args, c->attrs, c->ty_args, c->base.type);
    }
    const tn_tuple_get *get = tn_as_tuple_get(v);
    return get ? import_field(f, get) : import_leaf(f, v);
}

static const char *
group_name(fuser *f)
{
    tnb_buf b = {0};
    tnb_buf_puts(&b, "fused");
    for (uint32_t i = 0; i < f->cur->members.n; i++) {
        const tn_prim_func *callee;
        const tn_call *c = as_tensor_program_call(f->s.m, f->cur->members.at[i]->value, &callee);
        if (c)
            tnb_buf_printf(&b, "_%s", ((const tn_global_var *)c->args.at[0])->name);
    }
    const char *name = tn_strn(f->ctx, b.s, b.n < MAX_NAME ? b.n : MAX_NAME);
    tnb_buf_free(&b);
    return name;
}

/* Symbolic variables that the body uses and no parameter's shape defines go into one trailing Shape
 * parameter. */
static void
pass_symbols(fuser *f, const tn_expr *function)
{
    tn_list free_vars = tn_free_vars(f->ctx, function, false);
    TNB_VEC(const tn_node *) symbols = {0};
    for (uint32_t i = 0; i < free_vars.n; i++)
        if (tn_is_scalar(free_vars.at[i]))
            TNB_PUSH(f->arena, symbols, free_vars.at[i]);
    if (!symbols.n)
        return;
    const tn_expr *shape = tn_shape(f->ctx, tn_list_of(f->ctx, symbols.at, symbols.n));
    add_param(f, shape, "tir_vars", shape->type);
}

static void
build_function(fuser *f, group_fn *g)
{
    f->cur = g;
    f->params.n = f->args.n = f->n_consts = 0;
    tnb_ptrmap_init(&f->inner, f->arena);
    tnb_ptrmap_init(&f->partial, f->arena);
    find_partial_tuples(f);

    TNB_VEC(const tn_node *) bindings = {0};
    for (uint32_t k = 0; k < g->members.n; k++) {
        const tn_var_binding *vb = g->members.at[k];
        bool is_output = false;
        for (uint32_t i = 0; i < g->outputs.n; i++)
            is_output |= g->outputs.at[i] == vb->var;
        const tn_expr *value = import_value(f, vb->value);
        const tn_expr *var = is_output
                                 ? tn_var_new(f->ctx, tn_var_name(vb->var), vb->var->type)
                                 : tn_dataflow_var(f->ctx, tn_var_name(vb->var), vb->var->type);
        tnb_ptrmap_set(&f->inner, vb->var, var);
        TNB_PUSH(f->arena, bindings, tn_binding(f->ctx, var, value));
    }
    const tn_expr *body;
    if (g->outputs.n == 1) {
        body = tnb_ptrmap_get(&f->inner, g->outputs.at[0]);
    } else {
        const tn_node **fields = TNB_NEW_N(f->arena, const tn_node *, g->outputs.n);
        for (uint32_t i = 0; i < g->outputs.n; i++)
            fields[i] = tnb_ptrmap_get(&f->inner, g->outputs.at[i]);
        body = tn_tuple_of(f->ctx, tn_list_of(f->ctx, fields, g->outputs.n));
    }
    const tn_node *block =
        tn_binding_block(f->ctx, tn_list_of(f->ctx, bindings.at, bindings.n), true);
    const tn_expr *seq = tn_seq_expr_of(f->ctx, tn_listv(f->ctx, block, NULL), body);
    const tn_node *attrs = tn_dictv(f->ctx, "Primitive", tn_bool(f->ctx, true), NULL);
    const tn_expr *fn = tn_function_of(f->ctx, tn_list_of(f->ctx, f->params.at, f->params.n), seq,
                                       body->type, true, attrs);
    uint32_t before = f->params.n;
    pass_symbols(f, fn);
    if (f->params.n != before)
        fn = tn_function_of(f->ctx, tn_list_of(f->ctx, f->params.at, f->params.n), seq, body->type,
                            true, attrs);
    fn = tn_fresh_copy(f->ctx, fn, NULL);
    g->gv = tn_builder_add_function(f->b, fn, group_name(f));
    g->args = tn_list_of(f->ctx, f->args.at, f->args.n);
}

/* ---- rewriting a function ---- */

static void
collect_groups(fuser *f)
{
    const fuse_graph *g = &f->s.g;
    f->of_node = TNB_NEW_N(f->arena, group_fn *, g->nodes.n);
    f->of_root = TNB_NEW_N(f->arena, group_fn *, g->nodes.n);
    uint32_t *bound = TNB_NEW_N(f->arena, uint32_t, g->nodes.n);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].binding)
            bound[fuse_group_root(f->groups, i)]++;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        uint32_t root = fuse_group_root(f->groups, i);
        const tn_var_binding *vb = tn_as_var_binding(g->nodes.at[i].binding);
        if (!vb || bound[root] < 2)
            continue;
        if (!f->of_root[root]) {
            f->of_root[root] = TNB_NEW(f->arena, group_fn);
            f->of_root[root]->id = root;
        }
        group_fn *group = f->of_node[i] = f->of_root[root];
        TNB_PUSH(f->arena, group->members, vb);
        group->last = TN_NODE(vb);
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        group_fn *group = f->of_node[i];
        if (!group)
            continue;
        const fuse_node *n = &g->nodes.at[i];
        bool out = n->external;
        for (uint32_t k = 0; k < n->out.n && !out; k++)
            out = f->of_node[n->out.at[k].to] != group;
        if (out)
            TNB_PUSH(f->arena, group->outputs, n->ref);
    }
}

typedef TNB_VEC(const tn_node *) binding_list;

/* Emits the call of a group and binds the outer variables to its results. */
static void
emit_group(fuser *f, group_fn *g, binding_list *out)
{
    build_function(f, g);
    for (uint32_t i = 0; i < g->args.n; i++)
        if (tn_is(g->args.at[i], TN_KIND_TUPLE_GET)) { /* an argument has to be a leaf */
            const tn_expr *leaf = tn_dataflow_var(f->ctx, "lv", g->args.at[i]->type);
            TNB_PUSH(f->arena, *out, tn_binding(f->ctx, leaf, g->args.at[i]));
            g->args = tn_list_with(f->ctx, g->args, i, leaf);
        }
    if (g->outputs.n == 1) {
        /* the result keeps its variable, and that its (equal) type */
        const tn_expr *call =
            tn_call_of(f->ctx, g->gv, g->args, NULL, (tn_list){0}, g->outputs.at[0]->type);
        TNB_PUSH(f->arena, *out, tn_binding(f->ctx, g->outputs.at[0], call));
        return;
    }
    const tn_node **types = TNB_NEW_N(f->arena, const tn_node *, g->outputs.n);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        types[i] = g->outputs.at[i]->type;
    const tn_type *tuple = tn_ty_tuple_of(f->ctx, tn_list_of(f->ctx, types, g->outputs.n));
    const tn_expr *call = tn_call_of(f->ctx, g->gv, g->args, NULL, (tn_list){0}, tuple);
    const tn_expr *lv = tn_dataflow_var(f->ctx, "lv", tuple);
    TNB_PUSH(f->arena, *out, tn_binding(f->ctx, lv, call));
    for (uint32_t i = 0; i < g->outputs.n; i++)
        TNB_PUSH(f->arena, *out,
                 tn_binding(f->ctx, g->outputs.at[i], tn_tuple_get_of(f->ctx, lv, i)));
}

/* Members leave their places; each call stands as early as its arguments allow and no later than
 * its first user: units (groups and single bindings) are emitted in the order of their last
 * binding, and a unit that needs one not yet emitted pulls it forward. */
typedef struct orderer {
    fuser *f;
    binding_list out;
    tnb_ptrmap done; /* binding or group -> itself */
} orderer;

static void
emit_unit(orderer *o, const tn_node *binding, group_fn *group);

static void
emit_needs(orderer *o, const tn_expr *value, const group_fn *self)
{
    tn_list used = tn_free_vars(o->f->ctx, value, false);
    for (uint32_t i = 0; i < used.n; i++) {
        uint32_t n = fuse_graph_find(&o->f->s.g, used.at[i]);
        if (n == UINT32_MAX || !o->f->of_node[n] || o->f->of_node[n] == self)
            continue;
        emit_unit(o, NULL, o->f->of_node[n]);
    }
}

static void
emit_unit(orderer *o, const tn_node *binding, group_fn *group)
{
    const void *key = group ? (const void *)group : (const void *)binding;
    if (tnb_ptrmap_has(&o->done, key))
        return;
    tnb_ptrmap_set(&o->done, key, o);
    if (!group) {
        const tn_var_binding *vb = tn_as_var_binding(binding);
        emit_needs(o, vb ? vb->value : ((const tn_match_cast *)binding)->value, NULL);
        TNB_PUSH(o->f->arena, o->out, binding);
        return;
    }
    for (uint32_t i = 0; i < group->members.n; i++)
        emit_needs(o, group->members.at[i]->value, group);
    if (group->outputs.n == 0) {
        tn_warn(o->f->ctx, group->last->loc, "a group of %u operators has no use and is dropped",
                group->members.n);
        return;
    }
    emit_group(o->f, group, &o->out);
}

static const tn_node *
rewrite_block(fuser *f, const tn_node *node)
{
    const tn_bindings_block *block = tn_as_bindings_block(node);
    bool any = false;
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
        uint32_t n = vb ? fuse_graph_find(&f->s.g, vb->var) : UINT32_MAX;
        any |= n != UINT32_MAX && f->of_node[n];
    }
    if (!any)
        return node;
    orderer o = {.f = f};
    tnb_ptrmap_init(&o.done, f->arena);
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_node *binding = block->bindings.at[i];
        const tn_var_binding *vb = tn_as_var_binding(binding);
        uint32_t n = vb ? fuse_graph_find(&f->s.g, vb->var) : UINT32_MAX;
        group_fn *group = n == UINT32_MAX ? NULL : f->of_node[n];
        if (!group || group->last == binding)
            emit_unit(&o, binding, group);
    }
    return tn_binding_block(f->ctx, tn_list_of(f->ctx, o.out.at, o.out.n), true);
}

static const tn_node *
fuse_function(const tn_pass_ctx *pc, const tn_module *m, tn_builder *b, const tn_function *fn,
              uint32_t max_depth)
{
    tn_ctx *ctx = pc->ctx;
    fuser f = {.ctx = ctx, .arena = tn_scratch(ctx), .b = b};
    f.s =
        (scan){.ctx = ctx, .m = m, .fn = fn, .num_input = tn_dict_int(fn->attrs, "num_input", -1)};
    fuse_graph_init(&f.s.g, f.arena);
    scan_function(&f.s);
    f.groups = fuse_graph_partition(&f.s.g, max_depth);
    collect_groups(&f);
    tn_builder_know(b, TN_NODE(fn));

    const tn_seq_expr *seq = tn_as_seq_expr(fn->body);
    if (!seq)
        return TN_NODE(fn);
    tn_list blocks = seq->blocks;
    for (uint32_t i = 0; i < seq->blocks.n; i++)
        if (tn_is(seq->blocks.at[i], TN_KIND_DATAFLOW_BLOCK)) {
            const tn_node *nb = rewrite_block(&f, seq->blocks.at[i]);
            if (nb != seq->blocks.at[i])
                blocks = tn_list_with(ctx, blocks, i, nb);
        }
    if (blocks.at == seq->blocks.at)
        return TN_NODE(fn);
    const tn_expr *body = tn_seq_expr_of(ctx, blocks, seq->body);
    return tn_function_of(ctx, fn->params, body, fn->ret, fn->pure, fn->attrs);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    int64_t level = tn_option_int(pc, "fuse_opt_level");
    if (level < 0)
        level = pc->opt_level;
    if (level == 0)
        return m;
    int64_t depth = tn_dict_int(pc->config, "relax.FuseOps.max_depth", DEFAULT_MAX_DEPTH);
    uint32_t max_depth = depth <= 0          ? DEFAULT_MAX_DEPTH
                         : depth > INT32_MAX ? INT32_MAX
                                             : (uint32_t)depth;

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

const tn_pass transform_fuse_ops = {
    .size = sizeof(tn_pass),
    .name = "FuseOps",
    .doc = "group operators that one kernel can compute into Primitive functions",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
};
