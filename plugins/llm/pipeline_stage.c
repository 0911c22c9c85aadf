/* SPDX-License-Identifier: Apache-2.0 */
/* A stage as a function.
 *
 *     @R.function(private=True, pure=False)
 *     def f_stage1(x, s: R.Shape(["n"]), packed_params: R.Object):
 *         with R.dataflow():
 *             b = R.call_dps_packed("runtime.disco.recv_from_prev_group", (), out_ty=...)
 *             w = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, 3, ty_args=...)
 *             c = R.matmul(b, w)
 *             R.output(c)
 *         _ = R.call_packed("runtime.disco.send_to_next_group", c)
 *         return (c,)
 *
 * A symbolic variable that occurs comes from a parameter, else through `s` if the entry knows it,
 * else from a weight whose type has it: that weight is matched, where it would otherwise be
 * fetched or before the first use.
 */
#include "pipeline.h"

#include <stdlib.h>

typedef struct build {
    pipeline *p;
    tn_ctx *ctx;
    pipeline_stage *s;
    uint32_t k;
    const tn_expr *packed;          /* the stage's own parameter */
    tnb_ptrmap at;                  /* pipeline_value -> what stands for it here */
    tnb_ptrmap leaves;              /* pipeline_value: sent or returned */
    tnb_ptrmap weights;             /* index + 1 -> Var */
    tnb_ptrmap defined;             /* symbolic variables with a value here */
    TNB_VEC(const tn_node *) shape; /* symbolic variables that `s` hands over */
    TNB_VEC(const tn_node *) bindings;
    tn_loc loc; /* of the binding at work */
    bool failed;
} build;

static const tn_expr *
bind(build *b, const tn_expr *var, const tn_expr *value)
{
    b->failed |= tn_is_error(value);
    TNB_PUSH(tn_scratch(b->ctx), b->bindings, tn_var_binding_of(b->ctx, var, value));
    return var;
}

static const tn_expr *
variable(build *b, const pipeline_value *v, const char *name, const tn_type *type)
{
    return v && tnb_ptrmap_has(&b->leaves, v) ? tn_var_new(b->ctx, name, type)
                                              : tn_dataflow_var_new(b->ctx, name, type);
}

static const tn_expr *
call_structural(build *b, const char *op, tn_list args, const tn_type *type)
{
    const tn_op *o = tn_find_op(tn_ctx_registry(b->ctx), op, NULL);
    return tn_call_of(b->ctx, tn_op_ref_of(b->ctx, o), args, NULL, (tn_list){&type, 1}, NULL);
}

/* ---- symbolic variables ---- */

static const tn_expr *
fetch(build *b, int64_t index, const tn_type *type, const char *name, const pipeline_value *v);

/* The weight that defines the variable: one that the stage uses anyway, else the first. */
static bool
match_weight(build *b, const tn_node *var)
{
    const tn_ty_tuple *t = tn_as_ty_tuple(b->p->packed->type);
    int64_t best = -1;
    const char *name = NULL;
    for (uint32_t pass = 0; pass < 2 && best < 0; pass++) {
        for (uint32_t i = 0; pass == 0 && i < b->s->items.n && best < 0; i++) {
            const pipeline_value *v = b->s->items.at[i];
            const tn_tuple_get *g = tn_as_tuple_get(v->value);
            const pipeline_value *of = g ? pipeline_value_of(b->p, g->tuple) : NULL;
            tnb_ptrmap has;
            tnb_ptrmap_init(&has, tn_scratch(b->ctx));
            if (of && of->var == b->p->packed)
                pipeline_add_symbols(&has, v->var->type);
            if (tnb_ptrmap_has(&has, var)) {
                best = g->index;
                name = tn_var_name(v->var);
            }
        }
        for (uint32_t i = 0; pass == 1 && t && i < t->fields.n && best < 0; i++) {
            tnb_ptrmap has;
            tnb_ptrmap_init(&has, tn_scratch(b->ctx));
            pipeline_add_symbols(&has, t->fields.at[i]);
            if (tnb_ptrmap_has(&has, var))
                best = i;
        }
    }
    if (best < 0)
        return false;
    const tn_type *type = t && (uint64_t)best < t->fields.n ? t->fields.at[best] : NULL;
    return type && fetch(b, best, type, name ? name : "param", NULL) != NULL;
}

typedef struct definition {
    const tn_node *var, *binding;
} definition;

static tn_walk_step
find_definition(void *user, const tn_node *n)
{
    definition *d = user;
    const tn_match_cast *m = tn_as_match_cast(n);
    if (m && tn_uses(m->to, d->var) && !d->binding)
        d->binding = n;
    return d->binding ? TN_WALK_STOP : TN_WALK_ON;
}

static tn_walk_step
give_value(void *user, const tn_node *n)
{
    build *b = user;
    if (!tn_is_var(n) || !tn_is_scalar(n) || pipeline_value_of(b->p, n) ||
        tnb_ptrmap_has(&b->defined, n))
        return TN_WALK_ON;
    if (tnb_ptrmap_has(&b->p->known, n)) {
        tnb_ptrmap_set(&b->defined, n, n);
        TNB_PUSH(tn_scratch(b->ctx), b->shape, n);
        return TN_WALK_ON;
    }
    if (match_weight(b, n))
        return b->failed ? TN_WALK_STOP : TN_WALK_ON;
    definition d = {n, NULL};
    tn_walk(&b->p->func->base, 0, find_definition, NULL, &d);
    tn_error(b->ctx, b->loc, TNB_UNSUPPORTED,
             "stage %u of '%s' needs the symbolic variable '%s', which no parameter or weight "
             "gives it",
             b->k, b->p->name, tn_var_name(n));
    if (d.binding)
        tnb_diag_note(tn_diags(b->ctx), "'%s' gets its value in another stage, at %s",
                      tn_var_name(n), pipeline_place(b->ctx, d.binding->loc));
    b->failed = true;
    return TN_WALK_STOP;
}

/* Every symbolic variable in `n` gets a value. */
static bool
give_values(build *b, const tn_node *n)
{
    tn_walk(n, TN_WALK_TYPES, give_value, NULL, b);
    return !b->failed;
}

/* ---- weights ---- */

/* Whether matching the type gives values to variables. */
static bool
defines(const build *b, const tn_type *type)
{
    tnb_ptrmap has;
    tnb_ptrmap_init(&has, tn_scratch(b->ctx));
    pipeline_add_symbols(&has, type);
    for (uint32_t i = 0; i < has.n; i++)
        if (!tnb_ptrmap_has(&b->defined, has.at[i].key) &&
            !tnb_ptrmap_has(&b->p->known, has.at[i].key))
            return true;
    return false;
}

static const tn_expr *
fetch(build *b, int64_t index, const tn_type *type, const char *name, const pipeline_value *v)
{
    const void *key = (const void *)(uintptr_t)(index + 1);
    const tn_expr *var = tnb_ptrmap_get(&b->weights, key);
    if (var)
        return var;
    bool match = defines(b, type);
    if (match) {
        tnb_ptrmap has;
        tnb_ptrmap_init(&has, tn_scratch(b->ctx));
        pipeline_add_symbols(&has, type);
        for (uint32_t i = 0; i < has.n; i++)
            if (!tnb_ptrmap_has(&b->p->known, has.at[i].key))
                tnb_ptrmap_set(&b->defined, has.at[i].key, b);
    }
    if (!give_values(b, type))
        return NULL;
    const tn_type *got = match ? tn_ty_any(b->ctx) : type;
    const tn_expr *call =
        call_structural(b, "relax.call_pure_packed",
                        tn_listv(b->ctx, tn_extern_func_of(b->ctx, "vm.builtin.tuple_getitem"),
                                 b->packed, tn_i64(b->ctx, index), NULL),
                        got);
    var = bind(b, variable(b, match ? NULL : v, name, got), call);
    if (match) {
        const tn_expr *cast = variable(b, v, tn_strf(b->ctx, "%s_cast", name), type);
        TNB_PUSH(tn_scratch(b->ctx), b->bindings, tn_match_cast_of(b->ctx, cast, var, type));
        var = cast;
    }
    tnb_ptrmap_set(&b->weights, key, var);
    return var;
}

/* ---- bindings ---- */

static const tn_node *
stand_in(tn_rewriter *r, const tn_node *n)
{
    build *b = r->user;
    const tn_tuple_get *g = tn_as_tuple_get(n);
    const pipeline_value *of = g ? pipeline_value_of(b->p, g->tuple) : NULL;
    if (of && of->var == b->p->packed) {
        const tn_expr *w = fetch(b, g->index, n->type, "param", NULL);
        return w ? w : tn_error_node(b->ctx);
    }
    const pipeline_value *v = tn_is_var(n) ? pipeline_value_of(b->p, n) : NULL;
    if (!v)
        return NULL;
    if (v->var == b->p->packed)
        return b->packed;
    const tn_expr *here = tnb_ptrmap_get(&b->at, v);
    return here ? here : v->var;
}

static const tn_node *
translate(build *b, const tn_node *n)
{
    tn_rewriter r = {.ctx = b->ctx, .user = b, .pre = stand_in};
    const tn_node *out = tn_rewrite(&r, n);
    b->failed |= tn_is_error(out);
    return out;
}

static bool
emit_item(build *b, pipeline_value *v)
{
    const tn_tuple_get *g = tn_as_tuple_get(v->value);
    const pipeline_value *of = g ? pipeline_value_of(b->p, g->tuple) : NULL;
    const tn_match_cast *m = tn_as_match_cast(v->binding);
    const char *name = tn_var_name(v->var);
    pipeline_value *key = pipeline_value_of(b->p, v->var);
    const tn_expr *var;
    b->loc = v->binding ? v->binding->loc : b->p->func->base.loc;
    tn_at(b->ctx, b->loc);
    if (of && of->var == b->p->packed) {
        var = fetch(b, g->index, v->var->type, name, key);
        if (var && tnb_ptrmap_has(&b->leaves, key) && tn_is(var, TN_KIND_DATAFLOW_VAR))
            var = bind(b, variable(b, key, name, var->type), var);
    } else if (m && m->var == v->var) {
        pipeline_add_symbols(&b->defined, m->to);
        if (!give_values(b, m->value) || !give_values(b, m->to))
            return false;
        const tn_type *to = translate(b, m->to);
        var = variable(b, key, name, to);
        TNB_PUSH(tn_scratch(b->ctx), b->bindings,
                 tn_match_cast_of(b->ctx, var, translate(b, m->value), to));
    } else {
        if (!give_values(b, v->value) || !give_values(b, v->var->type))
            return false;
        const tn_expr *value = translate(b, v->value);
        var = bind(b, variable(b, key, name, translate(b, v->var->type)), value);
    }
    tnb_ptrmap_set(&b->at, key, var);
    return var && !b->failed;
}

static bool
receive(build *b)
{
    const pipeline_link *l = b->k ? &b->p->links[b->k - 1] : NULL;
    for (uint32_t i = 0; l && i < l->messages.n; i++) {
        pipeline_value *v = l->messages.at[i].value;
        b->loc = l->boundary->base.loc;
        tn_at(b->ctx, b->loc);
        if (!give_values(b, v->var->type))
            return false;
        const tn_type *type = translate(b, v->var->type);
        const tn_expr *call =
            call_structural(b, "relax.call_dps_packed",
                            tn_listv(b->ctx, tn_extern_func_of(b->ctx, PIPELINE_RECEIVE),
                                     tn_tuple_of(b->ctx, (tn_list){0}), NULL),
                            type);
        const tn_expr *var = bind(b, variable(b, v, l->messages.at[i].name, type), call);
        if (!tnb_ptrmap_has(&b->at, v))
            tnb_ptrmap_set(&b->at, v, var);
    }
    return !b->failed;
}

static int
by_order(const void *x, const void *y)
{
    const pipeline_value *a = *(pipeline_value *const *)x, *b = *(pipeline_value *const *)y;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static tn_walk_step
add_leaf(void *user, const tn_node *n)
{
    build *b = user;
    pipeline_value *v = tn_is_var(n) ? pipeline_value_of(b->p, n) : NULL;
    if (v)
        tnb_ptrmap_set(&b->leaves, v, v);
    return TN_WALK_ON;
}

/* ---- the function ---- */

/* What the stage sends is its result too: it stays observable, and keeps its place in memory until
 * it is sent. */
static const tn_expr *
send(build *b, tn_list *blocks)
{
    const pipeline_link *l = &b->p->links[b->k];
    const tn_type *nothing = tn_ty_tuple_of(b->ctx, (tn_list){0});
    tn_list sent = {0};
    b->bindings.n = 0;
    tn_at(b->ctx, l->boundary->base.loc);
    for (uint32_t i = 0; i < l->messages.n; i++) {
        const pipeline_value *v = l->messages.at[i].value;
        const tn_expr *var = tnb_ptrmap_get(&b->at, v);
        if (!var)
            var = v->var; /* a parameter */
        sent = tn_list_append(b->ctx, sent, var);
        bind(b, tn_var_new(b->ctx, "_", nothing),
             tn_call_packed(b->ctx, PIPELINE_SEND, tn_listv(b->ctx, var, NULL), nothing));
    }
    *blocks = tn_list_append(b->ctx, *blocks,
                             tn_binding_block_of(b->ctx,
                                                 tn_list_of(b->ctx, b->bindings.at, b->bindings.n),
                                                 false));
    return tn_tuple_of(b->ctx, sent);
}

static const tn_node *
attributes(build *b, uint32_t n_params)
{
    const tn_node *a = b->p->func->attrs;
    a = tn_dict_set(b->ctx, a, "global_symbol", NULL);
    a = tn_dict_set(b->ctx, a, "pipeline_parallel_stages", NULL);
    return tn_dict_set(b->ctx, a, "num_input", tn_i64(b->ctx, (int64_t)n_params - 1));
}

static const tn_node *
finish(build *b, const tn_expr *weights, tn_list *args)
{
    bool last = b->k + 1 == b->p->n_stages;
    tn_list blocks =
        tn_listv(b->ctx,
                 tn_binding_block_of(b->ctx, tn_list_of(b->ctx, b->bindings.at, b->bindings.n),
                                     true),
                 NULL);
    const tn_expr *result = last ? translate(b, b->p->output) : send(b, &blocks);
    tn_list symbols = tn_list_of(b->ctx, b->shape.at, b->shape.n);
    tn_list params = tn_list_of(b->ctx, b->s->params.at, b->s->params.n);
    *args = tn_list_append(b->ctx, params, tn_shape_expr_of(b->ctx, symbols));
    *args = tn_list_append(b->ctx, *args, weights);
    params =
        tn_list_append(b->ctx, params, tn_var_new(b->ctx, "s", tn_ty_shape_of(b->ctx, symbols)));
    params = tn_list_append(b->ctx, params, b->packed);
    const tn_node *f = tn_function_of(b->ctx, params, tn_seq_expr_of(b->ctx, blocks, result), NULL,
                                      false, attributes(b, params.n));
    return b->failed || tn_is_error(f) ? NULL : tn_fresh_copy(b->ctx, f, NULL);
}

const tn_node *
pipeline_build_stage(pipeline *p, uint32_t k, const tn_expr *weights, tn_list *args)
{
    build b = {.p = p, .ctx = p->ctx, .s = &p->stages[k], .k = k};
    tnb_arena *a = tn_scratch(p->ctx);
    tn_loc before = tn_at(p->ctx, p->func->base.loc);
    bool last = k + 1 == p->n_stages;
    tnb_ptrmap_init(&b.at, a);
    tnb_ptrmap_init(&b.leaves, a);
    tnb_ptrmap_init(&b.weights, a);
    tnb_ptrmap_init(&b.defined, a);
    b.packed = tn_var_new(p->ctx, "packed_params", tn_ty_any(p->ctx));
    for (uint32_t i = 0; i < b.s->params.n; i++)
        pipeline_add_symbols(&b.defined, b.s->params.at[i]->type);
    for (uint32_t i = 0; !last && i < p->links[k].messages.n; i++)
        add_leaf(&b, p->links[k].messages.at[i].value->var);
    if (last)
        tn_walk(p->output, 0, add_leaf, NULL, &b);
    if (b.s->items.n)
        qsort(b.s->items.at, b.s->items.n, sizeof *b.s->items.at, by_order);
    bool ok = true;
    b.loc = p->func->base.loc;
    for (uint32_t i = 0; ok && i < b.s->params.n; i++)
        ok = give_values(&b, b.s->params.at[i]->type);
    ok = ok && receive(&b);
    for (uint32_t i = 0; ok && i < b.s->items.n; i++)
        ok = emit_item(&b, b.s->items.at[i]);
    const tn_node *f = ok ? finish(&b, weights, args) : NULL;
    tn_at(p->ctx, before);
    return f;
}
