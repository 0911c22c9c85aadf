/* SPDX-License-Identifier: Apache-2.0 */
/* What LiftTransformParams lifts out of one function, or out of several alike. */
#include "lift_params.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* ---- functions ---- */

static bool
add_target(tn_ctx *ctx, const tn_module *m, const char *name, const tn_node *func, lift *l)
{
    const tn_function *f = tn_as_function(func);
    int64_t n = tn_dict_int(f->attrs, "num_input", -1);
    if (n < 0 || n > f->params.n) {
        tn_error(ctx, func->loc, TNB_INVALID, "function '%s' has num_input %lld, but %u parameters",
                 name, (long long)n, f->params.n);
        return false;
    }
    *l = (lift){.name = name, .func = f, .module = m, .num_input = (uint32_t)n};
    l->weights = (tn_list){f->params.at + n, f->params.n - (uint32_t)n};
    transform_find_overwritten(ctx, m, func, &l->overwritten);
    return true;
}

static bool
is_transform(const char *name)
{
    static const char end[] = "transform_params";
    size_t n = strlen(name), k = sizeof end - 1;
    return n >= k && !strcmp(name + n - k, end);
}

bool
lift_targets(tn_ctx *ctx, const tn_module *m, const tn_node *shared, lift **out, uint32_t *n)
{
    const tn_array *listed = tn_as_array(shared);
    uint32_t most = listed ? listed->items.n : m->names.n;
    *out = TNB_NEW_N(tn_scratch(ctx), lift, most + 1);
    *n = 0;
    for (uint32_t i = 0; i < most; i++) {
        const tn_string_imm *s = listed ? tn_as_string_imm(listed->items.at[i]) : NULL;
        const char *name = !listed ? tn_module_name(m, i) : s ? s->value : "";
        const tn_node *f = tn_module_get(m, name);
        bool fits = tn_is(f, TN_KIND_FUNCTION) && tn_func_attr(f, "num_input");
        if (listed && !fits) {
            tn_error(ctx, f ? f->loc : 0, TNB_NOT_FOUND,
                     "option shared_transform: '%s' is no graph function of the module with the "
                     "attribute num_input",
                     name);
            return false;
        }
        if (!fits || (!listed && is_transform(name)))
            continue;
        if (!add_target(ctx, m, name, f, &(*out)[*n]))
            return false;
        ++*n;
    }
    return true;
}

/* ---- symbolic variables ---- */

static void
add_once(tn_ctx *ctx, tn_list *l, const tn_node *n)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->at[i] == n)
            return;
    *l = tn_list_append(ctx, *l, n);
}

/* The symbolic variables that a value of this type determines. */
static void
definable(tn_ctx *ctx, const tn_type *t, tn_list *out)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    tn_list dims;
    for (uint32_t i = 0; u && i < u->fields.n; i++)
        definable(ctx, u->fields.at[i], out);
    if ((tn_is(t, TN_KIND_TY_TENSOR) || tn_is(t, TN_KIND_TY_SHAPE)) && tn_type_dims(t, &dims))
        for (uint32_t i = 0; i < dims.n; i++)
            if (tn_is_var(dims.at[i]))
                add_once(ctx, out, dims.at[i]);
}

static tn_list
definable_of(tn_ctx *ctx, tn_list vars)
{
    tn_list out = {0};
    for (uint32_t i = 0; i < vars.n; i++) {
        if (tn_is(vars.at[i]->type, TN_KIND_TY_PRIM))
            add_once(ctx, &out, vars.at[i]);
        definable(ctx, vars.at[i]->type, &out);
    }
    return out;
}

static bool
contains(tn_list l, const tn_node *n)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i] == n)
            return true;
    return false;
}

bool
lift_defines(tn_ctx *ctx, const lift *l, const tn_type *t)
{
    tn_list used = tn_free_vars(ctx, t, false), known = definable_of(ctx, l->weights);
    for (uint32_t i = 0; i < used.n; i++)
        if (!contains(known, used.at[i]))
            return false;
    return true;
}

const tn_type *
lift_bundled(tn_ctx *ctx, const lift *l, const tn_type *t)
{
    tn_list known = definable_of(ctx, l->weights), told = {0};
    for (uint32_t i = 0; i < known.n; i++)
        if (!contains(l->weights, known.at[i]))
            told = tn_list_append(ctx, told, known.at[i]);
    return tn_type_erase(ctx, t, told);
}

/* ---- one function ---- */

typedef struct scan {
    tn_ctx *ctx;
    lift *l;
    tnb_ptrmap liftable;      /* variables of the moment before */
    const tnb_ptrmap *common; /* shared: variables that all compute alike; NULL: any */
} scan;

static tn_list
used_by(scan *s, const tn_node *binding)
{
    const tn_var_binding *v = tn_as_var_binding(binding);
    const tn_match_cast *c = tn_as_match_cast(binding);
    return tn_free_vars(s->ctx, v ? v->value : c->value, false);
}

/* What is overwritten has to be made anew in every run, and by the function itself. */
static bool
may_leave(tn_ctx *ctx, const lift *l, const tn_var_binding *v)
{
    return !tn_is_call_to(v->value, "relax.builtin.stop_lift_params") &&
           !tn_is(v->value, TN_KIND_EXTERN_FUNC) && !tn_is(v->value, TN_KIND_FUNCTION) &&
           !tnb_ptrmap_has(&l->overwritten, v->var) &&
           !transform_in_place_args(ctx, l->module, v->value).n &&
           !transform_has_effects(l->module, v->value);
}

static bool
can_lift(scan *s, const tn_node *binding, tn_list used)
{
    const tn_var_binding *v = tn_as_var_binding(binding);
    if (!v || !may_leave(s->ctx, s->l, v) || (s->common && !tnb_ptrmap_has(s->common, v->var)))
        return false;
    tn_list in_type = tn_free_vars(s->ctx, v->var->type, false);
    for (uint32_t i = 0; i < used.n; i++)
        if (!tnb_ptrmap_has(&s->liftable, used.at[i]))
            return false;
    for (uint32_t i = 0; i < in_type.n; i++)
        if (!tnb_ptrmap_has(&s->liftable, in_type.at[i]))
            return false;
    return true;
}

static void
scan_binding(scan *s, const tn_node *binding, bool dataflow)
{
    lift *l = s->l;
    const tn_var_binding *v = tn_as_var_binding(binding);
    tn_list used = used_by(s, binding);
    if (!dataflow || !can_lift(s, binding, used)) {
        tnb_ptrmap_set(&l->required, v ? v->var : tn_as_match_cast(binding)->var, l);
        for (uint32_t i = 0; i < used.n; i++)
            tnb_ptrmap_set(&l->required, used.at[i], l);
        return;
    }
    l->lifted = tn_list_append(s->ctx, l->lifted, binding);
    tnb_ptrmap_set(&s->liftable, v->var, l);
    for (uint32_t i = 0; i < used.n; i++)
        if (tnb_ptrmap_has(&l->from_weights, used.at[i])) {
            tnb_ptrmap_set(&l->from_weights, v->var, l);
            tnb_ptrmap_set(&l->suppressed, v->var, l);
        }
}

static void
scan_function(tn_ctx *ctx, lift *l, const tnb_ptrmap *common)
{
    scan s = {.ctx = ctx, .l = l, .common = common};
    const tn_seq_expr *seq = tn_as_seq_expr(l->func->body);
    tnb_ptrmap_init(&s.liftable, tn_scratch(ctx));
    tnb_ptrmap_init(&l->suppressed, tn_scratch(ctx));
    tnb_ptrmap_init(&l->from_weights, tn_scratch(ctx));
    tnb_ptrmap_init(&l->required, tn_scratch(ctx));
    tn_list symbols = definable_of(ctx, l->weights);
    for (uint32_t i = 0; i < l->weights.n; i++) {
        if (lift_defines(ctx, l, l->weights.at[i]->type))
            tnb_ptrmap_set(&s.liftable, l->weights.at[i], l);
        tnb_ptrmap_set(&l->from_weights, l->weights.at[i], l);
    }
    tn_list inputs = definable_of(ctx, (tn_list){l->func->params.at, l->num_input});
    for (uint32_t i = 0; i < symbols.n; i++) {
        tnb_ptrmap_set(&s.liftable, symbols.at[i], l);
        if (!contains(inputs, symbols.at[i]))
            tnb_ptrmap_set(&l->from_weights, symbols.at[i], l);
    }
    for (uint32_t b = 0; seq && b < seq->blocks.n; b++) {
        tn_list at = tn_as_bindings_block(seq->blocks.at[b])->bindings;
        for (uint32_t i = 0; i < at.n; i++)
            scan_binding(&s, at.at[i], tn_is(seq->blocks.at[b], TN_KIND_DATAFLOW_BLOCK));
    }
    tn_list result = tn_free_vars(ctx, seq ? seq->body : l->func->body, false);
    for (uint32_t i = 0; i < result.n; i++)
        tnb_ptrmap_set(&l->required, result.at[i], l);
}

static void
choose_outputs(tn_ctx *ctx, lift *l)
{
    for (uint32_t i = 0; i < l->weights.n; i++)
        if (tnb_ptrmap_has(&l->required, l->weights.at[i]))
            l->outputs = tn_list_append(ctx, l->outputs, l->weights.at[i]);
    for (uint32_t i = 0; i < l->lifted.n; i++) {
        const tn_expr *var = tn_as_var_binding(l->lifted.at[i])->var;
        if (tnb_ptrmap_has(&l->from_weights, var) && tnb_ptrmap_has(&l->required, var))
            l->outputs = tn_list_append(ctx, l->outputs, var);
    }
}

/* Needed as it runs, defined by weights, and by nothing that is left. */
static void
choose_symbols(tn_ctx *ctx, lift *l, tn_list inputs)
{
    tn_list weights = definable_of(ctx, l->weights), in = definable_of(ctx, inputs),
            out = definable_of(ctx, l->outputs);
    for (uint32_t i = 0; i < weights.n; i++)
        if (tnb_ptrmap_has(&l->required, weights.at[i]) && !contains(in, weights.at[i]) &&
            !contains(out, weights.at[i]) && !contains(l->weights, weights.at[i]))
            l->symbols = tn_list_append(ctx, l->symbols, weights.at[i]);
}

void
lift_plan(tn_ctx *ctx, lift *l)
{
    scan_function(ctx, l, NULL);
    choose_outputs(ctx, l);
    choose_symbols(ctx, l, (tn_list){l->func->params.at, l->num_input});
}

/* ---- several functions ---- */

typedef struct common_binding {
    const tn_node *binding;   /* of the first function that has it */
    const tn_expr *value;     /* in terms of the first function's variables */
    uint32_t functions, last; /* how many have it; the last one counted */
} common_binding;

typedef struct sharing {
    tn_ctx *ctx;
    tnb_ptrmap remap; /* variable of any function -> that of the first which has it */
    TNB_VEC(common_binding) found;
} sharing;

/* The weights of all have the same number and types; false after an error. */
static bool
match_weights(sharing *s, const lift *each, uint32_t n)
{
    const lift *first = &each[0];
    for (uint32_t i = 1; i < n; i++) {
        const lift *l = &each[i];
        if (l->weights.n != first->weights.n) {
            tn_error(
                s->ctx, l->func->base.loc, TNB_INVALID,
                "a transform shared by '%s', with %u weights, and '%s', with %u, cannot be made",
                first->name, first->weights.n, l->name, l->weights.n);
            return false;
        }
        for (uint32_t k = 0; k < l->weights.n; k++) {
            const tn_expr *a = first->weights.at[k], *b = l->weights.at[k];
            if (!tn_equal(s->ctx, a->type, b->type, true, NULL)) {
                tn_error(s->ctx, b->loc ? b->loc : l->func->base.loc, TNB_TYPE,
                         "a transform shared by '%s' and '%s' cannot be made: weight %u is %s here "
                         "and %s there",
                         first->name, l->name, k, tn_text(s->ctx, a->type),
                         tn_text(s->ctx, b->type));
                return false;
            }
            tnb_ptrmap_set(&s->remap, b, a);
            tn_list x = {0}, y = {0};
            definable(s->ctx, a->type, &x);
            definable(s->ctx, b->type, &y);
            for (uint32_t j = 0; j < x.n && j < y.n; j++)
                tnb_ptrmap_set(&s->remap, y.at[j], x.at[j]);
        }
    }
    return true;
}

static void
share_binding(sharing *s, const lift *l, tnb_ptrmap *liftable, const tn_node *binding,
              uint32_t function)
{
    const tn_var_binding *v = tn_as_var_binding(binding);
    if (!v || !may_leave(s->ctx, l, v))
        return;
    tn_list used = tn_free_vars(s->ctx, v->value, false),
            in_type = tn_free_vars(s->ctx, v->var->type, false);
    for (uint32_t i = 0; i < used.n; i++)
        if (!tnb_ptrmap_has(liftable, used.at[i]))
            return;
    if (in_type.n)
        return; /* symbolic shapes stay where they are */
    tnb_ptrmap_set(liftable, v->var, v);
    const tn_expr *value = tn_subst(s->ctx, v->value, &s->remap);
    for (uint32_t i = 0; i < s->found.n; i++) {
        common_binding *c = &s->found.at[i];
        if (!tn_equal(s->ctx, c->value, value, false, NULL))
            continue;
        c->functions += c->last != function;
        c->last = function;
        tnb_ptrmap_set(&s->remap, v->var, tn_as_var_binding(c->binding)->var);
        return;
    }
    common_binding c = {binding, value, 1, function};
    TNB_PUSH(tn_scratch(s->ctx), s->found, c);
}

/* What of `from` stands for in the shared plan. */
static const tn_node *
shared_name(const sharing *s, const tn_node *var)
{
    const tn_node *to = tnb_ptrmap_get(&s->remap, var);
    return to ? to : var;
}

static void
unite(const sharing *s, tnb_ptrmap *to, const tnb_ptrmap *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (from->at[i].key)
            tnb_ptrmap_set(to, shared_name(s, from->at[i].key), to);
}

/* The shared outputs and symbols under the names that the function has for them. */
static void
localize(const sharing *s, lift *l, const lift *all)
{
    tnb_ptrmap back;
    tnb_ptrmap_init(&back, tn_scratch(s->ctx));
    for (uint32_t i = 0; i < s->remap.n; i++) {
        const tn_node *own = s->remap.at[i].key;
        bool here =
            own && (tnb_ptrmap_has(&l->required, own) || tnb_ptrmap_has(&l->from_weights, own));
        if (here &&
            (!tnb_ptrmap_has(&back, s->remap.at[i].value) || tnb_ptrmap_has(&l->required, own)))
            tnb_ptrmap_set(&back, s->remap.at[i].value, own);
    }
    l->outputs = l->symbols = (tn_list){0};
    tnb_ptrmap_init(&l->also, tn_scratch(s->ctx));
    for (uint32_t i = 0; i < all->outputs.n; i++) {
        const tn_node *own = tnb_ptrmap_get(&back, all->outputs.at[i]);
        l->outputs = tn_list_append(s->ctx, l->outputs, own ? own : all->outputs.at[i]);
        for (uint32_t k = 0; own && k < s->remap.n; k++)
            if (s->remap.at[k].key && s->remap.at[k].key != own &&
                s->remap.at[k].value == (const void *)all->outputs.at[i])
                tnb_ptrmap_set(&l->also, s->remap.at[k].key, own);
    }
    for (uint32_t i = 0; i < all->symbols.n; i++) {
        const tn_node *own = tnb_ptrmap_get(&back, all->symbols.at[i]);
        l->symbols = tn_list_append(s->ctx, l->symbols, own ? own : all->symbols.at[i]);
    }
}

bool
lift_plan_shared(tn_ctx *ctx, lift *each, uint32_t n, lift *all)
{
    sharing s = {.ctx = ctx};
    tnb_ptrmap common;
    tnb_ptrmap_init(&s.remap, tn_scratch(ctx));
    tnb_ptrmap_init(&common, tn_scratch(ctx));
    if (!match_weights(&s, each, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const tn_seq_expr *seq = tn_as_seq_expr(each[i].func->body);
        tnb_ptrmap liftable;
        tnb_ptrmap_init(&liftable, tn_scratch(ctx));
        for (uint32_t k = 0; k < each[i].weights.n; k++)
            if (lift_defines(ctx, &each[i], each[i].weights.at[k]->type))
                tnb_ptrmap_set(&liftable, each[i].weights.at[k], seq);
        for (uint32_t b = 0; seq && b < seq->blocks.n; b++) {
            tn_list at = tn_as_bindings_block(seq->blocks.at[b])->bindings;
            for (uint32_t k = 0; tn_is(seq->blocks.at[b], TN_KIND_DATAFLOW_BLOCK) && k < at.n; k++)
                share_binding(&s, &each[i], &liftable, at.at[k], i);
        }
    }
    *all = (lift){.name = "transform_params", .func = each[0].func, .weights = each[0].weights};
    tnb_ptrmap_init(&all->suppressed, tn_scratch(ctx));
    tnb_ptrmap_init(&all->from_weights, tn_scratch(ctx));
    tnb_ptrmap_init(&all->required, tn_scratch(ctx));
    for (uint32_t i = 0; i < s.found.n; i++) {
        if (s.found.at[i].functions < n)
            continue;
        const tn_var_binding *v = tn_as_var_binding(s.found.at[i].binding);
        all->lifted =
            tn_list_append(ctx, all->lifted, tn_var_binding_of(ctx, v->var, s.found.at[i].value));
        tnb_ptrmap_set(&common, v->var, v);
        for (uint32_t k = 0; k < s.remap.n; k++)
            if (s.remap.at[k].value == (const void *)v->var)
                tnb_ptrmap_set(&common, s.remap.at[k].key, v);
    }
    for (uint32_t i = 0; i < n; i++) {
        scan_function(ctx, &each[i], &common);
        unite(&s, &all->from_weights, &each[i].from_weights);
        unite(&s, &all->required, &each[i].required);
    }
    choose_outputs(ctx, all);
    choose_symbols(ctx, all, (tn_list){0});
    for (uint32_t i = 0; i < n; i++)
        localize(&s, &each[i], all);
    return true;
}
