/* SPDX-License-Identifier: Apache-2.0 */
/* BindSymbolicVars: puts numbers or expressions in the place of symbolic variables.
 *
 *     BindSymbolicVars{binding_map={"n": 16}}
 *     def main(x: R.Tensor(("n", "n * 2")))          def main(x: R.Tensor((16, 32)))
 *
 * Names are those of the variables that a function's signature or match_casts define. Without
 * func_name every function that has such a variable is changed, and each name must occur somewhere.
 * A variable may also be named by its place, as a host program would:
 * "Module['main'].params[0].ty.shape[1]". An expression is written as text over variables of the same
 * function: {"n": "m * 2"}. --verify compares with a call of the function as it was.
 * Cases: tests/pass/BindSymbolicVars.
 */
#include "transform.h"

#include "bind.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"

static const tn_expr *
replacement(const tn_pass_ctx *pc, const tn_function *f, const tn_pair *p)
{
    tn_ctx *ctx = pc->ctx;
    const tn_string_imm *text = tn_as_string_imm(p->value);
    int64_t v;
    if (tn_int_value(p->value, &v))
        return tn_i64(ctx, v);
    if (tn_is_scalar(p->value) && tnb_dtype_is_int(tn_dtype_of(p->value)))
        return tn_cast_to(ctx, TNB_I64, p->value);
    if (text) {
        tnb_place at = {.file = tn_strf(ctx, "<%s=%s>", p->key, text->value)};
        const tn_expr *e =
            tn_read_expr(ctx, at, text->value, strlen(text->value), bind_symbols(ctx, TN_NODE(f)));
        if (!e)
            return tn_error_node(ctx);
        if (tnb_dtype_is_int(tn_dtype_of(e)))
            return tn_cast_to(ctx, TNB_I64, e);
        return tn_error(ctx, tn_loc_make(ctx, at), TNB_TYPE,
                        "symbolic variable '%s' is an integer; the expression is of %s", p->key,
                        tnb_dtype_print(tn_dtype_of(e)).s);
    }
    return tn_error(ctx, f->base.loc, TNB_TYPE,
                    "symbolic variable '%s' can be bound to an integer or an expression, not to %s",
                    p->key, tn_text(ctx, p->value));
}

/* The variables that binding_map names in this function, into `map`. False after an error. */
static bool
collect(const tn_pass_ctx *pc, const tn_function *f, const char *name, bool all, tnb_ptrmap *map,
        bool *used)
{
    tn_list symbols = bind_symbols(pc->ctx, TN_NODE(f));
    const tn_dict *d = tn_as_dict(tn_dict_get(pc->options, "binding_map"));
    for (uint32_t i = 0; i < d->items.n; i++) {
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        const tn_expr *found = NULL;
        bind_place place;
        bool by_place = bind_place_of(pc->ctx, p->key, &place);
        if (by_place)
            found = bind_at(f, name, &place);
        if (found && !tn_is(found, TN_KIND_VAR)) {
            tn_error(pc->ctx, f->base.loc, TNB_INVALID, "'%s' is %s, not a symbolic variable",
                     p->key, tn_text(pc->ctx, found));
            return false;
        }
        for (uint32_t k = 0; k < symbols.n && !by_place; k++) {
            if (strcmp(tn_var_name(symbols.at[k]), p->key) != 0)
                continue;
            if (found) {
                tn_error(pc->ctx, f->base.loc, TNB_INVALID,
                         "function '%s' has several symbolic variables named '%s'", name, p->key);
                return false;
            }
            found = symbols.at[k];
        }
        if (!found && all) {
            tn_error(pc->ctx, f->base.loc, TNB_NOT_FOUND,
                     "function '%s' has no symbolic variable '%s'", name, p->key);
            return false;
        }
        if (!found)
            continue;
        const tn_expr *v = replacement(pc, f, p);
        if (tn_is_error(v))
            return false;
        tnb_ptrmap_set(map, found, v);
        used[i] = true;
    }
    return true;
}

static bool
contains(tn_list l, const tn_node *n)
{
    uint32_t i = 0;
    while (i < l.n && l.at[i] != n)
        i++;
    return i < l.n;
}

static const tn_node *
bind_function(const tn_pass_ctx *pc, const tn_node *func, const char *name, bool all, bool *used)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(pc->ctx));
    if (!collect(pc, tn_as_function(func), name, all, &map, used))
        return NULL;
    if (!map.n)
        return func;
    const tn_node *out = bind_in_function(pc->ctx, tn_as_function(func), &map);
    if (tn_is_error(out))
        return NULL;
    /* not the symbols of match_casts, which the body's type may use */
    tn_list free = tn_free_vars(pc->ctx, out, false), own = bind_symbols(pc->ctx, out);
    for (uint32_t i = 0; i < free.n; i++)
        if (!contains(own, free.at[i])) {
            tn_error(pc->ctx, func->loc, TNB_INVALID,
                     "the expressions bound in function '%s' use '%s', which it does not define",
                     name, tn_var_name(free.at[i]));
            return NULL;
        }
    return out;
}

typedef struct progress {
    bool *used;
} progress;

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    return bind_function(pc, func, name, false, ((progress *)user)->used);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_dict *d = tn_as_dict(tn_dict_get(pc->options, "binding_map"));
    const char *only = tn_option_str(pc, "func_name");
    if (!d) {
        tn_error(pc->ctx, 0, TNB_TYPE, "option binding_map must be a dictionary: {\"n\": 16}");
        return NULL;
    }
    bool *used = TNB_NEW_N(tn_scratch(pc->ctx), bool, d->items.n);
    if (only) {
        const tn_node *f = tn_module_get(m, only);
        if (!tn_is(f, TN_KIND_FUNCTION)) {
            tn_error(pc->ctx, 0, TNB_NOT_FOUND, "the module has no graph function '%s'", only);
            return NULL;
        }
        const tn_node *now = bind_function(pc, f, only, true, used);
        return !now ? NULL : now == f ? m : tn_module_set(pc->ctx, m, only, now);
    }
    progress p = {used};
    const tn_module *out = tn_map_functions(pc, m, TN_FUNCTIONS, each_function, &p);
    for (uint32_t i = 0; out && i < d->items.n; i++)
        if (!used[i]) {
            tn_loc at = m->funcs.n ? m->funcs.at[0]->loc : 0;
            tn_error(pc->ctx, at, TNB_NOT_FOUND,
                     "no function of the module has a symbolic variable '%s'",
                     ((const tn_pair *)d->items.at[i])->key);
            return NULL;
        }
    return out;
}

/* Whether `var` is one of the symbolic variables that the parameters of `f` define. */
static bool
in_signature(const tn_pass_ctx *pc, const tn_function *f, const tn_expr *var)
{
    tn_list defined = tn_defined_symbols(pc->ctx, TN_NODE(f));
    for (uint32_t i = 0; i < defined.n; i++)
        if (defined.at[i] == var)
            return true;
    return false;
}

static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    (void)after;
    const char *only = tn_option_str(pc, "func_name");
    const tn_node *f = tn_module_get(before->m, before->name);
    if (only && strcmp(only, before->name) != 0)
        return true;
    const tn_dict *d = tn_as_dict(tn_dict_get(pc->options, "binding_map"));
    bool *used = TNB_NEW_N(tn_scratch(pc->ctx), bool, d->items.n + 1);
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(pc->ctx));
    if (!collect(pc, tn_as_function(f), before->name, false, &map, used))
        return false;
    for (uint32_t i = 0; i < map.n; i++)
        if (map.at[i].key && !in_signature(pc, tn_as_function(f), map.at[i].key)) {
            *why = tn_strf(pc->ctx, "'%s', which now has one value, is found out as it runs",
                           tn_var_name(map.at[i].key));
            return false;
        }
    if (!map.n)
        return true;
    /* the pass itself binds the variables of a function that calls the one as it was */
    const tn_node *caller = transform_caller_of(pc->ctx, tn_as_function(f), before->name);
    if (!tn_is_error(caller))
        caller = bind_function(pc, caller, before->name, false, used);
    return caller && transform_compare_with(pc->ctx, before, caller);
}

static const tn_attr_schema options[] = {
    {"binding_map", TN_ATTR_ANY, 0, NULL, "name of a symbolic variable -> integer or expression"},
    {"func_name", TN_ATTR_STR, TN_ATTR_OPTIONAL, NULL, "only this function"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

const tn_pass transform_bind_symbolic_vars = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "BindSymbolicVars",
    .base.doc = "replace symbolic variables by numbers or expressions",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .adapt = adapt,
};
