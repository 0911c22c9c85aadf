/* SPDX-License-Identifier: Apache-2.0 */
/* LiftTransformParams: what a function computes of its weights alone is computed once, beforehand.
 *
 *     def main(x, w): num_input 1         =>      def main(x, wt): num_input 1
 *         wt = R.permute_dims(w)                      gv = R.matmul(x, wt)
 *         gv = R.matmul(x, wt)                    def main_transform_params(params): num_input 0
 *                                                     lv = params[0]
 *                                                     wt = R.permute_dims(lv)
 *                                                     gv = (wt,)
 *
 * Weights are the parameters behind the first `num_input`. A binding of a dataflow block is lifted
 * when it needs weights, constants and lifted values only, and depends on a weight; what needs
 * constants only is copied. stop_lift_params(x) ends the lifting and goes. The function then takes
 * what is still needed: weights first, then values in order, before them the symbolic variables
 * that nothing else defines. A weight whose extents no weight determines (`n + 1` alone) is passed
 * on as it is. Option shared_transform: True, or a list of functions: one function
 * transform_params for all, of what all of them compute alike (their weights have to agree).
 * Configuration relax.lift_transform_params.consume_params: each weight is released once fetched. A
 * transform function that exists is composed with the new one. Cases:
 * tests/pass/LiftTransformParams.
 */
#include "transform.h"

#include "bind.h"
#include "canonicalize.h"
#include "lift_params.h"

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* ---- the transform function ---- */

/* Makes uses of weights fields of `tuple`, fetched before the binding that uses them. */
typedef struct bundler {
    tn_ctx *ctx;
    const lift *l;
    const tn_expr *tuple;
    TNB_VEC(const tn_node *) out;
} bundler;

static const tn_expr *
fetched(bundler *b, uint32_t weight)
{
    const tn_expr *own = b->l->weights.at[weight];
    if (tn_is_scalar(own))
        return own;
    const tn_expr *get = tn_tuple_item(b->ctx, b->tuple, weight);
    const tn_expr *var = tn_dataflow_var_new(b->ctx, "lv", get->type);
    TNB_PUSH(tn_scratch(b->ctx), b->out, tn_var_binding_of(b->ctx, var, get));
    if (tn_type_equal(b->ctx, get->type, own->type) || !lift_defines(b->ctx, b->l, own->type))
        return var;
    const tn_expr *known = tn_dataflow_var_new(b->ctx, "lv", own->type);
    TNB_PUSH(tn_scratch(b->ctx), b->out, tn_match_cast_of(b->ctx, known, var, own->type));
    return known;
}

static void
bundle_binding(bundler *b, const tn_node *binding)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(b->ctx));
    const tn_var_binding *v = tn_as_var_binding(binding);
    tn_list used = tn_free_vars(b->ctx, v->value, false);
    for (uint32_t i = 0; i < used.n; i++)
        for (uint32_t k = 0; k < b->l->weights.n; k++)
            if (used.at[i] == b->l->weights.at[k])
                tnb_ptrmap_set(&map, used.at[i], fetched(b, k));
    const tn_expr *value = tn_subst(b->ctx, v->value, &map);
    TNB_PUSH(tn_scratch(b->ctx), b->out,
             value == v->value ? binding : tn_var_binding_of(b->ctx, v->var, value));
}

/* Dataflow variables throughout: what an original block put out is inside here. */
static const tn_node *
cleaned(const tn_module *m, tn_ctx *ctx, const tn_node *f)
{
    f = canonicalize_symbols(ctx, tn_as_function(f));
    if (!tn_is_error(f))
        f = canonicalize_variables(ctx, tn_as_function(f));
    return tn_is_error(f) ? f : transform_drop_unused(ctx, m, f);
}

static const tn_node *
transform_function_of(tn_ctx *ctx, const tn_module *m, const lift *l)
{
    const tn_node **types = TNB_NEW_N(tn_scratch(ctx), const tn_node *, l->weights.n + 1);
    for (uint32_t i = 0; i < l->weights.n; i++)
        types[i] = lift_bundled(ctx, l, l->weights.at[i]->type);
    const tn_type *bundle = tn_ty_tuple_of(ctx, tn_list_of(ctx, types, l->weights.n));
    bundler b = {.ctx = ctx, .l = l, .tuple = tn_var_new(ctx, "params", bundle)};
    /* scalars keep their variables: shapes are made of them */
    for (uint32_t i = 0; i < l->weights.n; i++)
        if (tn_is_scalar(l->weights.at[i]))
            TNB_PUSH(tn_scratch(ctx), b.out,
                     tn_var_binding_of(ctx, l->weights.at[i], tn_tuple_item(ctx, b.tuple, i)));
    for (uint32_t i = 0; i < l->lifted.n; i++)
        bundle_binding(&b, l->lifted.at[i]);
    tn_list fields = {0};
    if (l->symbols.n)
        fields = tn_listv(ctx, tn_shape_expr_of(ctx, (tn_list){l->symbols.at, l->symbols.n}), NULL);
    for (uint32_t i = 0; i < l->outputs.n; i++) {
        const tn_expr *field = l->outputs.at[i];
        for (uint32_t k = 0; k < l->weights.n; k++)
            if (l->weights.at[k] == l->outputs.at[i])
                field = fetched(&b, k);
        fields = tn_list_append(ctx, fields, field);
    }
    const tn_expr *result = tn_tuple_of(ctx, fields);
    tn_list blocks = {0};
    if (fields.n) {
        const tn_expr *gv = tn_var_new(ctx, "gv", result->type);
        TNB_PUSH(tn_scratch(ctx), b.out, tn_var_binding_of(ctx, gv, result));
        const tn_list all = tn_list_of(ctx, b.out.at, b.out.n);
        blocks = tn_listv(ctx, tn_binding_block_of(ctx, all, true), NULL);
        result = gv;
    }
    const tn_node *attrs = tn_dictv(ctx, "num_input", tn_i64(ctx, 0), NULL);
    const tn_node *f = tn_function_of(ctx, tn_listv(ctx, b.tuple, NULL),
                                      tn_seq_expr_of(ctx, blocks, result), NULL, true, attrs);
    return tn_is_error(f) ? f : cleaned(m, ctx, tn_fresh_copy(ctx, f, NULL));
}

/* ---- the function that runs ---- */

typedef struct trimmer {
    const lift *l;
    tnb_ptrmap map; /* lifted variable or weight -> parameter */
} trimmer;

static const tn_node *
trim(tn_rewriter *r, const tn_node *n)
{
    const trimmer *t = r->user;
    const tn_var_binding *v = tn_as_var_binding(n);
    return v && tnb_ptrmap_has(&t->l->suppressed, v->var) ? tn_removed() : NULL;
}

static const tn_node *
without_stop(tn_rewriter *r, const tn_node *n)
{
    (void)r;
    const tn_call *stop = tn_is_call_to(n, "relax.builtin.stop_lift_params");
    return stop ? stop->args.at[0] : NULL;
}

static const tn_node *
runtime_function_of(tn_ctx *ctx, const lift *l)
{
    trimmer t = {.l = l};
    tnb_ptrmap_init(&t.map, tn_scratch(ctx));
    tn_list params = {0};
    for (uint32_t i = 0; i < l->num_input; i++)
        params = tn_list_append(ctx, params, l->func->params.at[i]);
    if (l->symbols.n)
        params = tn_list_append(ctx, params,
                                tn_var_new(ctx, "vars_from_compile_time_params",
                                           tn_ty_shape_of(ctx, l->symbols)));
    for (uint32_t i = 0; i < l->outputs.n; i++) {
        const tn_expr *own = l->outputs.at[i];
        if (tn_is_scalar(own))
            tnb_ptrmap_set(&t.map, own, tn_var_new(ctx, tn_var_name(own), own->type));
    }
    for (uint32_t i = 0; i < l->outputs.n; i++) {
        const tn_expr *own = l->outputs.at[i];
        if (!tn_is_scalar(own))
            tnb_ptrmap_set(&t.map, own,
                           tn_var_new(ctx, tn_var_name(own), tn_subst(ctx, own->type, &t.map)));
        params = tn_list_append(ctx, params, tnb_ptrmap_get(&t.map, own));
    }
    for (uint32_t i = 0; i < l->also.n; i++)
        if (l->also.at[i].key)
            tnb_ptrmap_set(&t.map, l->also.at[i].key, tnb_ptrmap_get(&t.map, l->also.at[i].value));
    tn_rewriter r = {.ctx = ctx, .user = &t, .pre = trim, .post = without_stop, .map = &t.map};
    const tn_expr *body = tn_rewrite(&r, l->func->body);
    const tn_seq_expr *seq = tn_as_seq_expr(body);
    if (!seq)
        return tn_error_node(ctx);
    body = transform_sequence(ctx, seq->blocks, seq->body);
    const tn_node *f =
        tn_function_of(ctx, params, body, l->func->ret ? tn_subst(ctx, l->func->ret, &t.map) : NULL,
                       l->func->pure != 0, l->func->attrs);
    if (!tn_is_error(f))
        f = canonicalize_symbols(ctx, tn_as_function(tn_fresh_copy(ctx, f, NULL)));
    return tn_is_error(f) ? f : canonicalize_variables(ctx, tn_as_function(f));
}

/* ---- composing and consuming ---- */

static bool
note_symbol(void *user, const tn_expr *var, const tn_expr *value)
{
    if (!tnb_ptrmap_has(user, var))
        tnb_ptrmap_set(user, var, value);
    return true;
}

/* second(first(params)) */
static const tn_node *
composed(tn_ctx *ctx, const tn_module *m, const tn_node *first, const tn_node *second)
{
    const tn_function *f = tn_as_function(tn_fresh_copy(ctx, first, NULL));
    const tn_function *g = tn_as_function(tn_fresh_copy(ctx, second, NULL));
    const tn_seq_expr *a = tn_as_seq_expr(f->body), *b = tn_as_seq_expr(g->body);
    if (tn_type_check(ctx, g->params.at[0]->type, f->body->type) == TN_SUBTYPE_FAIL) {
        tn_error(ctx, f->base.loc, TNB_TYPE,
                 "the transform function that exists gives %s, but the weights are %s",
                 tn_text(ctx, f->body->type), tn_text(ctx, g->params.at[0]->type));
        tnb_diag_hint(tn_diags(ctx),
                      "a pass that changes the types of parameters has to stand before "
                      "the first LiftTransformParams");
        return tn_error_node(ctx);
    }
    const tn_expr *mid = tn_var_new(ctx, "params", a->body->type);
    const tn_node *bind = tn_var_binding_of(ctx, mid, a->body);
    tn_list blocks = tn_list_of(ctx, a->blocks.at, a->blocks.n);
    blocks = tn_list_append(ctx, blocks, tn_binding_block_of(ctx, tn_listv(ctx, bind, NULL), true));
    /* what g's weights define is known from f's results */
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    tnb_ptrmap_set(&map, g->params.at[0], mid);
    bind_match(g->params.at[0]->type, a->body->type, note_symbol, &map);
    const tn_seq_expr *rest = tn_as_seq_expr(tn_subst(ctx, TN_NODE(b), &map));
    for (uint32_t i = 0; i < rest->blocks.n; i++)
        blocks = tn_list_append(ctx, blocks, rest->blocks.at[i]);
    const tn_expr *body = transform_sequence(ctx, blocks, rest->body);
    const tn_node *made = tn_function_of(ctx, f->params, body, NULL, true, f->attrs);
    return tn_is_error(made) ? made : cleaned(m, ctx, made);
}

typedef struct consumer {
    tn_ctx *ctx;
    const tn_expr *params;
    const tn_op *packed;
    const tn_node **seen; /* by field: the variable that holds it */
    tnb_ptrmap map;
} consumer;

static const tn_node *
release_after(tn_rewriter *r, const tn_node *n)
{
    consumer *c = r->user;
    const tn_var_binding *v = tn_as_var_binding(n);
    const tn_tuple_get *get = v ? tn_as_tuple_get(v->value) : NULL;
    if (!get || get->tuple != c->params)
        return NULL;
    if (c->seen[get->index])
        return tn_var_binding_of(c->ctx, v->var, c->seen[get->index]);
    c->seen[get->index] = v->var;
    const tn_type *none = tn_ty_tuple_of(c->ctx, (tn_list){0});
    tn_list args = tn_listv(c->ctx, tn_extern_func_of(c->ctx, "vm.builtin.tuple_reset_item"),
                            c->params, tn_i32(c->ctx, (int32_t)get->index), NULL);
    const tn_expr *call = tn_call_of(c->ctx, tn_op_ref_of(c->ctx, c->packed), args, NULL,
                                     tn_listv(c->ctx, none, NULL), NULL);
    const tn_node *release =
        tn_var_binding_of(c->ctx, tn_dataflow_var_new(c->ctx, "_", none), call);
    return tn_binding_block_of(c->ctx, tn_listv(c->ctx, n, release, NULL), true);
}

static const tn_node *
consuming(tn_ctx *ctx, const tn_node *func)
{
    const tn_function *f = tn_as_function(func);
    const tn_ty_tuple *t = f->params.n ? tn_as_ty_tuple(f->params.at[f->params.n - 1]->type) : NULL;
    consumer c = {.ctx = ctx};
    c.packed = tn_find_op(tn_ctx_registry(ctx), "relax.call_pure_packed", NULL);
    if (!t || !c.packed)
        return func;
    c.params = f->params.at[f->params.n - 1];
    c.seen = TNB_NEW_N(tn_scratch(ctx), const tn_node *, t->fields.n + 1);
    tn_rewriter r = {.ctx = ctx, .user = &c, .post = release_after};
    return tn_rewrite(&r, func);
}

/* ---- the pass ---- */

static bool
ends_in_transform_params(const char *name)
{
    static const char end[] = "transform_params";
    size_t n = strlen(name), k = sizeof end - 1;
    return n >= k && !strcmp(name + n - k, end);
}

static const tn_module *
add_transform(tn_ctx *ctx, const tn_module *m, const char *name, const tn_node *f)
{
    const tn_node *old = tn_module_get(m, name);
    if (tn_is(old, TN_KIND_FUNCTION))
        f = composed(ctx, m, old, f);
    return tn_is_error(f) ? NULL : tn_module_set(ctx, m, name, f);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    const tn_node *shared = tn_dict_get(pc->options, "shared_transform");
    const tn_module *made = m;
    lift *each;
    uint32_t n;
    bool together = tn_is(shared, TN_KIND_ARRAY) || tn_is_int_const(shared, 1);
    if (!together && !tn_is_int_const(shared, 0)) {
        tn_error(ctx, 0, TNB_INVALID,
                 "option shared_transform must be True, False or a list of functions");
        return NULL;
    }
    if (!lift_targets(ctx, m, shared, &each, &n))
        return NULL;
    lift all = {0};
    if (n && together && !lift_plan_shared(ctx, each, n, &all))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!together)
            lift_plan(ctx, &each[i]);
        const tn_node *f = runtime_function_of(ctx, &each[i]);
        if (tn_is_error(f))
            return NULL;
        made = tn_module_set(ctx, made, each[i].name, f);
        if (together)
            continue;
        f = transform_function_of(ctx, m, &each[i]);
        const char *name = tn_strf(ctx, "%s_transform_params", each[i].name);
        made = tn_is_error(f) ? NULL : add_transform(ctx, made, name, f);
        if (!made)
            return NULL;
    }
    if (n && together) {
        const tn_node *f = transform_function_of(ctx, m, &all);
        made = tn_is_error(f) ? NULL : add_transform(ctx, made, "transform_params", f);
        if (!made)
            return NULL;
    }
    bool consume = tn_config_bool(pc, "relax.lift_transform_params.consume_params");
    for (uint32_t i = 0; i < made->names.n; i++) {
        const char *name = tn_module_name(made, i);
        const tn_node *f = made->funcs.at[i];
        if (!tn_is(f, TN_KIND_FUNCTION) || !ends_in_transform_params(name))
            continue;
        if (consume && tn_module_get(m, name) != f)
            f = consuming(ctx, f);
        if (tn_is_error(f))
            return NULL;
        f = tn_func_with_attr(ctx, f, "global_symbol", tn_string(ctx, name));
        made = tn_module_set(ctx, made, name, f);
    }
    return made;
}

/* ---- comparing ---- */

/* What the function takes of a bundle of weights: its fields, or what a transform makes of them. */
static tn_list
taken(transform_caller *c, const tn_module *m, const char *transform, const tn_expr *bundle,
      uint32_t n)
{
    if (tn_is(tn_module_get(m, transform), TN_KIND_FUNCTION))
        return transform_caller_fields(c, transform, tn_listv(c->ctx, bundle, NULL), n);
    tn_list fields = {0};
    for (uint32_t i = 0; i < n; i++)
        fields = tn_list_append(c->ctx, fields,
                                transform_caller_bind(c, tn_tuple_item(c->ctx, bundle, i)));
    return fields;
}

/* A function of `params` that calls the side's function with the inputs of `like` and what it takes
 * of a bundle of weights. */
static bool
compare_bundled(tn_ctx *ctx, tn_pass_side *side, const lift *like, tn_list params,
                const tn_expr *bundle, const char *transform)
{
    transform_caller c = {.ctx = ctx};
    const tn_function *f = tn_as_function(tn_module_get(side->m, side->name));
    tn_list args = {like->func->params.at, like->num_input};
    tn_list given = taken(&c, side->m, transform, bundle, f->params.n - like->num_input);
    for (uint32_t i = 0; i < given.n; i++)
        args = tn_list_append(ctx, args, given.at[i]);
    const tn_expr *call = transform_caller_call(&c, side->name, args);
    return transform_compare_with(ctx, side, transform_caller_end(&c, params, call));
}

/* The function is called with inputs and with what its transform makes of the weights as they were
 * given before: one by one, or as the bundle that a transform which was there already takes. */
static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    tn_ctx *ctx = pc->ctx;
    const tn_node *shared = tn_dict_get(pc->options, "shared_transform");
    bool together = tn_is(shared, TN_KIND_ARRAY) || tn_is_int_const(shared, 1);
    const lift *l = NULL;
    lift *each;
    uint32_t n;
    (void)why;
    if (!lift_targets(ctx, before->m, shared, &each, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(each[i].name, before->name) == 0)
            l = &each[i];
    if (!l && n && ends_in_transform_params(before->name)) {
        after->name = NULL; /* runs as part of the functions that it serves */
        return true;
    }
    if (!l)
        return true;
    const char *transform =
        together ? "transform_params" : tn_strf(ctx, "%s_transform_params", l->name);
    const tn_function *first = tn_as_function(tn_module_get(before->m, transform));
    if (!first || first->params.n != 1)
        return compare_bundled(ctx, after, l, l->func->params, tn_tuple_of(ctx, l->weights),
                               transform);
    /* extents that the transform's results share with inputs are those of inputs */
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    const tn_ty_tuple *made = tn_as_ty_tuple(first->ret ? first->ret : first->body->type);
    for (uint32_t i = 0; made && i < made->fields.n && i < l->weights.n; i++)
        bind_match(made->fields.at[i], l->weights.at[i]->type, note_symbol, &map);
    const tn_expr *bundle =
        tn_var_new(ctx, "params", tn_subst(ctx, first->params.at[0]->type, &map));
    tn_list params = tn_list_append(ctx, (tn_list){l->func->params.at, l->num_input}, bundle);
    return compare_bundled(ctx, before, l, params, bundle, transform) &&
           compare_bundled(ctx, after, l, params, bundle, transform);
}

static const tn_attr_schema options[] = {
    {"shared_transform", TN_ATTR_ANY, 0, "False",
     "True: one transform function for all functions; a list: for these"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

static const tn_attr_schema config[] = {
    {"relax.lift_transform_params.consume_params", TN_ATTR_BOOL, 0, "False",
     "the lifted function releases each weight after its last use"},
    {.name = NULL}};

const tn_pass transform_lift_transform_params = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "LiftTransformParams",
    .base.doc = "compute what depends on weights alone in functions of its own",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .needs = "op",
    .adapt = adapt,
    .config = config,
};
