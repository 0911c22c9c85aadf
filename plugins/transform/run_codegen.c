/* SPDX-License-Identifier: Apache-2.0 */
/* RunCodegen: functions marked Codegen are given to the external code generator of that name, and
 * calls of them become calls of what it made.
 *
 *     gv = cls.f_dnnl(x, w)      =>      gv = R.call_dps_packed("f_dnnl", (x, w), out_ty=...)
 *
 * The function stays in the module under the same name, flattened and marked `external`, as the
 * meaning of the external call: the interpreter runs it, and so --verify compares with it. What the
 * generator made for run time is noted in the module's attribute external_mods, with the arguments
 * that are the same constant in every call (FuseOpsByPattern without bind_constants makes them
 * arguments). With `fallback` a
 * function that the generator does not support stays an ordinary one, with a warning; else that is
 * an error. Functions that neither a public one nor one of entry_functions reaches afterwards go.
 * Options: target_options (codegen -> options), fallback, entry_functions. Cases:
 * tests/pass/RunCodegen.
 */
#include "transform.h"

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/pattern.h"

typedef struct runner {
    const tn_pass_ctx *pc;
    tn_ctx *ctx;
    const tn_module *m;
    tn_module_edit *edit; /* what becomes of it */
    tnb_strmap calls;     /* symbol -> call_site */
    tnb_strmap external;  /* symbol -> itself: calls of it change */
    TNB_VEC(const tn_node *) mods;
} runner;

/* ---- code generators ---- */

static const tnk_external *
find_external(runner *r, const char *codegen, const tn_node *func)
{
    tn_registry *reg = tn_ctx_registry(r->ctx);
    const tnk_external *e = reg ? tn_find_entry(reg, "external", codegen, NULL) : NULL;
    if (e)
        return e;
    const char *near = reg ? tn_nearest_name(reg, "external", codegen) : NULL;
    tn_error(r->ctx, func->loc, TNB_NOT_FOUND, "no plugin offers the codegen '%s'", codegen);
    if (!tn_note_unusable(r->ctx, "external", codegen))
        tnb_diag_hint(tn_diags(r->ctx),
                      near ? "the nearest name is '%s'"
                           : "tenon list plugins --why shows which were considered",
                      near);
    return NULL;
}

/* ---- constants among the arguments ---- */

typedef struct call_site {
    const tn_call *first;
    bool *same; /* by argument: the same constant in every call */
} call_site;

static tn_walk_step
note_call(void *user, const tn_node *n)
{
    runner *r = user;
    const tn_call *c = tn_as_call(n);
    const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
    if (!gv)
        return TN_WALK_ON;
    call_site *s = tnb_strmap_get(&r->calls, gv->name);
    if (!s) {
        s = TNB_NEW(tn_scratch(r->ctx), call_site);
        s->first = c;
        s->same = TNB_NEW_N(tn_scratch(r->ctx), bool, c->args.n + 1);
        memset(s->same, 1, c->args.n);
        tnb_strmap_set(&r->calls, gv->name, s);
    }
    for (uint32_t i = 0; i < s->first->args.n; i++)
        s->same[i] &= i < c->args.n && c->args.at[i] == s->first->args.at[i] &&
                      tn_is(c->args.at[i], TN_KIND_CONSTANT);
    return TN_WALK_ON;
}

/* Which arguments are the same constant in every call of `symbol`; NULL: none. */
static const tn_node *
constant_arguments(runner *r, const char *symbol, uint32_t n)
{
    const call_site *s = tnb_strmap_get(&r->calls, symbol);
    tn_list list = {0};
    for (uint32_t i = 0; s && i < n && i < s->first->args.n; i++)
        if (s->same[i])
            list = tn_list_append(r->ctx, list, tn_i64(r->ctx, i));
    return list.n ? tn_array_of(r->ctx, list) : NULL;
}

/* One function through its generator; false after an error. */
static bool
compile(runner *r, const char *symbol, const tn_function *fn, const char *codegen)
{
    const tnk_external *e = find_external(r, codegen, TN_NODE(fn));
    if (!e)
        return false;
    const tn_node *options = tn_dict_get(tn_dict_get(r->pc->options, "target_options"), codegen),
                  *payload = NULL;
    tnb_diags *diags = tn_diags(r->ctx);
    uint32_t before = tnb_diags_errors(diags), n = tnb_diags_count(diags);
    tnb_status s =
        TN_WITHIN(r->ctx, "external code generator", e, NULL,
                  e->compile(e->self, r->ctx, symbol, fn, r->pc->target, options, &payload));
    const tn_node *attrs = tn_dict_set(r->ctx, fn->attrs, "Codegen", NULL);
    bool fallback = tn_option_bool(r->pc, "fallback") || tn_config_bool(r->pc, "tenon.fallback");
    if (s == TNB_UNSUPPORTED && fallback) {
        /* an error that the generator recorded becomes the warning's reason */
        const char *why = "";
        for (uint32_t i = n; i < tnb_diags_count(diags) && !*why; i++)
            if (tnb_diags_get(diags, i)->severity == TNB_ERROR)
                why = tn_strf(r->ctx, ": %s", tnb_diags_get(diags, i)->message);
        tnb_diags_cut(diags, n);
        tn_warn(r->ctx, fn->base.loc,
                "%s: %s does not support this function; it is compiled here%s", symbol, codegen,
                why);
        tn_module_edit_set(r->edit, symbol, TN_NODE(tnk_put_together(r->ctx, fn, attrs)));
        return true;
    }
    if (s != TNB_OK) {
        if (tnb_diags_errors(diags) == before) {
            tn_error(r->ctx, fn->base.loc, s,
                     "the code generator '%s' refused the function %s without a reason (%s)",
                     codegen, symbol, tnb_status_name(s));
            tnb_diag_hint(diags, "the option fallback=true, or [tenon] fallback = true, compiles "
                                 "it as any other function");
        }
        return false;
    }
    attrs = tn_dict_set(r->ctx, attrs, "external", tn_string(r->ctx, codegen));
    tn_module_edit_set(r->edit, symbol, TN_NODE(tnk_put_together(r->ctx, fn, attrs)));
    tnb_strmap_set(&r->external, symbol, symbol);
    if (!payload) /* the loader needs no more than the symbol */
        payload = tn_dictv(r->ctx, NULL);
    const tn_node *mod = tn_dictv(r->ctx, "codegen", tn_string(r->ctx, codegen), "symbol",
                                  tn_string(r->ctx, symbol), "payload", payload, NULL),
                  *constants = constant_arguments(r, symbol, fn->params.n);
    mod = constants ? tn_dict_set(r->ctx, mod, "constants", constants) : mod;
    mod = e->feature ? tn_dict_set(r->ctx, mod, "feature", tn_string(r->ctx, e->feature)) : mod;
    TNB_PUSH(tn_scratch(r->ctx), r->mods, mod);
    return true;
}

static const tn_node *
redirect(tn_rewriter *w, const tn_node *n)
{
    runner *r = w->user;
    const tn_call *c = tn_as_call(n);
    const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
    if (!gv || !tnb_strmap_has(&r->external, gv->name))
        return NULL;
    tn_list args =
        tn_listv(r->ctx, tn_extern_func_of(r->ctx, gv->name), tn_tuple_of(r->ctx, c->args), NULL);
    const tn_op *op = tn_find_op(tn_ctx_registry(r->ctx), "relax.call_dps_packed", NULL);
    return tn_call_of(r->ctx, tn_op_ref_of(r->ctx, op), args, NULL, tn_listv(r->ctx, n->type, NULL),
                      n->type);
}

/* Whether the module has all functions of option entry_functions. */
static bool
entries_exist(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_array *entries = tn_as_array(tn_dict_get(pc->options, "entry_functions"));
    for (uint32_t i = 0; entries && i < entries->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(entries->items.at[i]);
        if (!s || !tn_module_get(m, s->value)) {
            tn_error(pc->ctx, 0, TNB_NOT_FOUND, "the module has no function '%s'",
                     s ? s->value : "?");
            tnb_diag_hint(tn_diags(pc->ctx), "check the option entry_functions");
            return false;
        }
    }
    return true;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *given = tn_dict_get(pc->options, "target_options");
    if (given && !tn_is(given, TN_KIND_DICT) && !tn_is(given, TN_KIND_NONE)) {
        tn_error(pc->ctx, 0, TNB_TYPE,
                 "option target_options must be a dictionary: {\"dnnl\": {...}}, not %s",
                 tn_text(pc->ctx, given));
        return NULL;
    }
    if (!entries_exist(pc, m))
        return NULL;
    runner r = {.pc = pc, .ctx = pc->ctx, .m = m, .edit = tn_module_edit_new(pc->ctx, m)};
    tnb_strmap_init(&r.external, tn_scratch(r.ctx));
    tnb_strmap_init(&r.calls, tn_scratch(r.ctx));
    for (uint32_t i = 0; i < m->names.n; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(m->funcs.at[i], 0, note_call, NULL, &r);
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        const tn_string_imm *codegen =
            fn ? tn_as_string_imm(tn_dict_get(fn->attrs, "Codegen")) : NULL;
        if (codegen && !compile(&r, tn_module_name(m, i), fn, codegen->value))
            return NULL;
    }
    for (uint32_t i = 0; r.external.n && i < m->names.n; i++) {
        const tn_node *f = tn_module_edit_get(r.edit, tn_module_name(m, i));
        tn_rewriter w = {.ctx = r.ctx, .user = &r, .pre = redirect};
        const tn_node *nf = tn_is(f, TN_KIND_FUNCTION) ? tn_rewrite(&w, f) : f;
        if (nf != f)
            tn_module_edit_set(r.edit, tn_module_name(m, i), nf);
    }
    r.m = tn_module_edit_end(r.edit);
    if (!r.m)
        return NULL;
    const tn_array *entries = tn_as_array(tn_dict_get(pc->options, "entry_functions"));
    if (r.mods.n) {
        const tn_array *old = tn_as_array(tn_dict_get(r.m->attrs, "external_mods"));
        tn_list all = old ? old->items : (tn_list){0};
        for (uint32_t i = 0; i < r.mods.n; i++)
            all = tn_list_append(r.ctx, all, r.mods.at[i]);
        r.m = tn_module_with_attrs(r.ctx, r.m,
                                   tn_dict_set(r.ctx, r.m->attrs, "external_mods",
                                               tn_array_of(r.ctx, all)));
    }
    return r.m == m ? m
                    : transform_drop_unreachable_from(r.ctx, r.m,
                                                      entries ? entries->items : (tn_list){0});
}

static const tn_attr_schema options[] = {
    {"target_options", TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL,
     "a Dict: external code generator -> its options", "external"},
    {"fallback", TN_ATTR_BOOL, 0, "False",
     "compile here what a generator does not support, with a warning; so does [tenon] fallback"},
    {"entry_functions", TN_ATTR_STRS, 0, "[]", "functions to keep besides the public ones"},
    {0}};

static const tn_attr_schema config[] = {
    {"tenon.fallback", TN_ATTR_BOOL, 0, "False",
     "a function that its library does not take stays the target's, with a warning"},
    {.name = NULL}};

const tn_pass transform_run_codegen = {
    .base.size = sizeof(tn_pass),
    .base.name = "RunCodegen",
    .base.doc = "give functions marked Codegen to external code generators",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .needs = "op external",
    .config = config,
};
