/* SPDX-License-Identifier: Apache-2.0 */
/* BindParams: constants take the place of parameters.
 *
 *     BindParams{func_name="main", params={"w": "@w.npy"}}
 *     def main(x: R.Tensor((1, 4)), w: R.Tensor(("n", 4)))      def main(x: R.Tensor((1, 4)))
 *         gv = R.add(x, w)                                          gv = R.add(x, metadata[...])
 *
 * Values are .npy files, or numbers for scalar parameters. Symbolic variables in a parameter's type
 * become what the value has there; one may also be bound by its own parameter and must agree then.
 * The function is named by its global symbol, a private one by its name. A parameter is named by its
 * name, or, where several share one, as a host program would: "Module['main'].params[1]". The
 * signature changes: --verify compares with a call of the function as it was with the values bound.
 * Cases: tests/pass/BindParams.
 */
#include "transform.h"

#include "bind.h"

#include "tenon/core/arith.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef struct binder {
    const tn_pass_ctx *pc;
    const tn_function *func;
    const char *name;
    tnb_ptrmap map;
    const tn_expr *param; /* the one at hand */
} binder;

static bool
fail(binder *b, tnb_status s, const char *what, const char *key)
{
    tn_error(b->pc->ctx, b->func->base.loc, s, "function '%s' %s '%s'", b->name, what, key);
    return false;
}

static const tn_expr *
find_param(binder *b, const char *key)
{
    const tn_expr *found = NULL;
    bind_place place;
    bool by_place = bind_place_of(b->pc->ctx, key, &place) && place.dim < 0;
    if (by_place)
        found = bind_at(b->func, b->name, &place);
    for (uint32_t i = 0; i < b->func->params.n && !by_place; i++) {
        if (strcmp(tn_var_name(b->func->params.at[i]), key) != 0)
            continue;
        if (found) {
            fail(b, TNB_INVALID, "has several parameters named", key);
            return NULL;
        }
        found = b->func->params.at[i];
    }
    if (!found) {
        fail(b, TNB_NOT_FOUND, "has no parameter", key);
        tnb_buf names = {0};
        for (uint32_t i = 0; i < b->func->params.n; i++)
            tnb_buf_printf(&names, "%s%s", i ? ", " : "", tn_var_name(b->func->params.at[i]));
        tnb_diag_note(tn_diags(b->pc->ctx), "its parameters: %s", names.n ? names.s : "none");
        tnb_buf_free(&names);
    }
    return found;
}

/* The value as an expression that may stand for the parameter; NULL after an error. */
static const tn_expr *
value_for(binder *b, const tn_expr *param, const tn_node *v)
{
    tn_ctx *ctx = b->pc->ctx;
    const tn_ty_prim *prim = tn_as_ty_prim(param->type);
    int64_t i;
    if (prim && tn_int_value(v, &i) && tnb_dtype_is_int(prim->dtype))
        return tn_int_imm_of(ctx, prim->dtype, i);
    if (prim && tn_is(v, TN_KIND_FLOAT_IMM) && tnb_dtype_is_float(prim->dtype))
        return tn_float_imm_of(ctx, prim->dtype, ((const tn_float_imm *)v)->value);
    if (tn_is(v, TN_KIND_CONSTANT) && tn_type_check(ctx, param->type, v->type) != TN_SUBTYPE_FAIL)
        return v;
    tn_error(ctx, b->func->base.loc, TNB_TYPE,
             "parameter '%s' of function '%s' is %s and cannot be bound to %s", tn_var_name(param),
             b->name, tn_text(ctx, param->type), v->type ? tn_text(ctx, v->type) : tn_text(ctx, v));
    return NULL;
}

static bool
note_symbol(void *user, const tn_expr *var, const tn_expr *value)
{
    binder *b = user;
    tn_ctx *ctx = b->pc->ctx;
    const tn_expr *known = tnb_ptrmap_get(&b->map, var);
    if (!known) {
        tnb_ptrmap_set(&b->map, var, value);
        return true;
    }
    if (tn_prove_equal(ctx, known, value))
        return true;
    tn_error(ctx, b->func->base.loc, TNB_INVALID,
             "symbolic variable '%s' of function '%s' is bound to %s, but the value of '%s' makes "
             "it %s",
             tn_var_name(var), b->name, tn_text(ctx, known), tn_var_name(b->param),
             tn_text(ctx, value));
    return false;
}

static const tn_node *
bind_function(const tn_pass_ctx *pc, const tn_function *f, const char *name, const tn_dict *params)
{
    binder b = {.pc = pc, .func = f, .name = name};
    tnb_ptrmap_init(&b.map, tn_scratch(pc->ctx));
    const tn_expr **vars = TNB_NEW_N(tn_scratch(pc->ctx), const tn_expr *, params->items.n);
    for (uint32_t i = 0; i < params->items.n; i++) {
        const tn_pair *p = (const tn_pair *)params->items.at[i];
        vars[i] = find_param(&b, p->key);
        const tn_expr *v = vars[i] ? value_for(&b, vars[i], p->value) : NULL;
        if (!v)
            return NULL;
        tnb_ptrmap_set(&b.map, vars[i], v);
    }
    for (uint32_t i = 0; i < params->items.n; i++) {
        b.param = vars[i];
        const tn_expr *v = tnb_ptrmap_get(&b.map, vars[i]);
        if (!bind_match(vars[i]->type, v->type, note_symbol, &b))
            return NULL;
    }
    const tn_node *out = bind_in_function(pc->ctx, f, &b.map);
    return tn_is_error(out) ? NULL : out;
}

/* The function that option func_name names: its index; the number of functions if there is none. */
static uint32_t
wanted_function(const tn_pass_ctx *pc, const tn_module *m)
{
    const char *wanted = tn_option_str(pc, "func_name");
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        const tn_string_imm *symbol =
            f ? tn_as_string_imm(tn_func_attr(TN_NODE(f), "global_symbol")) : NULL;
        if (f && strcmp(symbol ? symbol->value : tn_module_name(m, i), wanted) == 0)
            return i;
    }
    return m->names.n;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const char *wanted = tn_option_str(pc, "func_name");
    const tn_dict *params = tn_as_dict(tn_dict_get(pc->options, "params"));
    if (!params) {
        tn_error(pc->ctx, 0, TNB_TYPE, "option params must be a dictionary: {\"w\": \"@w.npy\"}");
        return NULL;
    }
    uint32_t i = wanted_function(pc, m);
    if (i < m->names.n) {
        const tn_node *f = m->funcs.at[i];
        const tn_node *now =
            params->items.n ? bind_function(pc, tn_as_function(f), wanted, params) : f;
        return !now ? NULL : now == f ? m : tn_module_set(pc->ctx, m, tn_module_name(m, i), now);
    }
    tn_error(pc->ctx, 0, TNB_NOT_FOUND, "the module has no graph function '%s'", wanted);
    tnb_diag_hint(tn_diags(pc->ctx), "check the option func_name");
    return NULL;
}

static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    (void)after;
    (void)why;
    uint32_t i = wanted_function(pc, before->m);
    if (i == before->m->names.n || strcmp(tn_module_name(before->m, i), before->name) != 0)
        return true;
    /* the pass itself binds the parameters of a function that calls the one as it was */
    const tn_node *caller =
        transform_caller_of(pc->ctx, tn_as_function(before->m->funcs.at[i]), before->name);
    if (!tn_is_error(caller))
        caller = bind_function(pc, tn_as_function(caller), tn_option_str(pc, "func_name"),
                               tn_as_dict(tn_dict_get(pc->options, "params")));
    return caller && transform_compare_with(pc->ctx, before, caller);
}

static const tn_attr_schema options[] = {
    {"func_name", TN_ATTR_STR, 0, NULL, "the function"},
    {"params", TN_ATTR_ANY, 0, NULL, "name of a parameter -> \"@FILE.npy\" or a number"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

const tn_pass transform_bind_params = {
    .base.size = sizeof(tn_pass),
    .base.name = "BindParams",
    .base.doc = "replace parameters of a function by constants",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .adapt = adapt,
};
