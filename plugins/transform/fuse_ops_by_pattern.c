/* SPDX-License-Identifier: Apache-2.0 */
/* FuseOpsByPattern: values that a pattern matches become private functions marked Composite, for a
 * vendor library to take.
 *
 *     lv = R.nn.conv2d(x, w)       lv1 = cls.fused_relax_nn_conv2d_relax_nn_relu(x, w)
 *     lv1 = R.nn.relu(lv)          whose attributes are {"Composite": "dnnl.conv2d_relu", ...}
 *
 * Option patterns: names of registered patterns, "cudnn.*" for all of a family in order of
 * priority, or "dnnl.conv2d_relu := nn.relu(nn.conv2d(x, w))". Patterns are applied one after the
 * other. bind_constants: constants stay inside. annotate_codegen: each function is wrapped in one
 * marked Codegen. entry_functions: only these. Works on dataflow blocks; a match that would make
 * the function made and its surroundings wait for each other is left alone. Cases:
 * tests/pass/FuseOpsByPattern.
 */
#include "transform.h"
#include "group_functions.h"

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/pattern.h"

/* ---- which patterns ---- */

typedef struct rule {
    const char *name;
    const tnk_pat *pat;
    const tnk_fusion_pattern *entry; /* NULL: written in the option */
} rule;

typedef TNB_VEC(rule) rule_list;

static bool
add_rule(tn_ctx *ctx, rule_list *out, const tnk_fusion_pattern *e)
{
    rule r = {.name = e->base.name, .entry = e};
    r.pat = tnk_pattern_make(ctx, e);
    if (r.pat)
        TNB_PUSH(tn_scratch(ctx), *out, r);
    return r.pat != NULL;
}

/* Warns of plugins that have more patterns of a family than were found. */
static void
tell_refused(tn_ctx *ctx, const char *family)
{
    const tnb_plugins *all = tn_registry_plugins(tn_ctx_registry(ctx));
    const tnb_plugin *p;
    uint32_t from = 0;
    while (all && (p = tnb_plugins_unusable(all, "pattern", family, &from))) {
        if (p->state != TNB_PLUGIN_REFUSED)
            continue;
        tn_warn(ctx, 0, "the patterns of plugin '%s' are not used, as it is refused: %s", p->name,
                p->why);
        if (*p->cure)
            tnb_diag_hint(tn_diags(ctx), "%s", p->cure);
    }
}

/* False after an error: two plugins have a pattern of the family by one name, and nothing says which one serves. */
static bool
one_provider_each(tn_ctx *ctx, const char *prefix, size_t n)
{
    const tnb_plugins *all = tn_registry_plugins(tn_ctx_registry(ctx));
    uint32_t count = 0;
    const tnb_provided *p =
        all ? tnb_plugins_provided(all, tn_scratch(ctx), "pattern", &count) : NULL;
    for (uint32_t i = 1; i < count; i++) {
        tnb_err err = {0};
        if (strncmp(p[i].name, prefix, n) != 0 || strcmp(p[i].name, p[i - 1].name) != 0 ||
            tnb_plugins_find(all, "pattern", p[i].name, &err))
            continue;
        tn_error(ctx, 0, err.status, "%s", err.message);
        tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
        return false;
    }
    return true;
}

/* All registered patterns whose names begin with the first n characters of `prefix`, by falling
 * priority; of equal ones the later first. */
static bool
add_family(tn_ctx *ctx, rule_list *out, const char *prefix, size_t n)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    TNB_VEC(const tnk_fusion_pattern *) found = {0};
    const tnk_fusion_pattern *e;
    if (!one_provider_each(ctx, prefix, n))
        return false;
    for (uint32_t i = 0; (e = tn_registry_entry(reg, "pattern", i)); i++) {
        if (strncmp(e->base.name, prefix, n) != 0)
            continue;
        TNB_PUSH(tn_scratch(ctx), found, e);
        for (uint32_t k = found.n - 1; k > 0 && found.at[k - 1]->priority <= e->priority; k--) {
            found.at[k] = found.at[k - 1];
            found.at[k - 1] = e;
        }
    }
    if (!found.n) {
        tn_error(ctx, 0, TNB_NOT_FOUND, "no plugin offers a pattern '%.*s*'", (int)n, prefix);
        (void)tn_note_unusable(ctx, "pattern", tn_strf(ctx, "%.*s*", (int)n, prefix));
        return false;
    }
    tell_refused(ctx, tn_strf(ctx, "%.*s*", (int)n, prefix));
    for (uint32_t i = 0; i < found.n; i++)
        if (!add_rule(ctx, out, found.at[i]))
            return false;
    return true;
}

static bool
add_named(tn_ctx *ctx, rule_list *out, const char *text)
{
    const char *is = strstr(text, ":=");
    size_t n = is ? (size_t)(is - text) : strlen(text);
    while (is && n && text[n - 1] == ' ')
        n--;
    if (is) {
        rule r = {.name = tn_strn(ctx, text, n)};
        r.pat = tnk_pat_parse(ctx, is + 2 + strspn(is + 2, " "));
        if (!group_codegen_name(ctx, r.name) || !r.pat)
            return false;
        TNB_PUSH(tn_scratch(ctx), *out, r);
        return true;
    }
    tn_registry *reg = tn_ctx_registry(ctx);
    if (!reg) {
        tn_error(ctx, 0, TNB_NOT_FOUND, "no registry: patterns cannot be found by name");
        return false;
    }
    if (n && text[n - 1] == '*')
        return add_family(ctx, out, text, n - 1);
    const tnk_fusion_pattern *e = tn_find_entry(reg, "pattern", text, NULL);
    if (e)
        return add_rule(ctx, out, e);
    tn_error(ctx, 0, TNB_NOT_FOUND, "no plugin offers the pattern '%s'", text);
    const char *near = tn_nearest_name(reg, "pattern", text);
    if (!tn_note_unusable(ctx, "pattern", text) && near)
        tnb_diag_hint(tn_diags(ctx), "the nearest name is '%s'", near);
    return false;
}

/* ---- matches of one pattern in one function ---- */

typedef struct cand {
    TNB_VEC(const tn_node *) vars; /* those whose owner it is count */
    const tn_node *attrs;
} cand;

typedef struct part {
    tn_ctx *ctx;
    tnb_arena *arena;
    const tnk_graph *graph;
    tnb_ptrmap owner; /* variable -> cand */
    tnb_ptrmap block; /* variable -> its dataflow block */
    tnb_ptrmap binding;
    bool leaky; /* a cand has inner values that others use */
} part;

static uint32_t
live(const part *p, const cand *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->vars.n; i++)
        n += tnb_ptrmap_get(&p->owner, c->vars.at[i]) == c;
    return n;
}

static void
add_var(part *p, cand *c, const tn_node *var)
{
    for (uint32_t i = 0; i < c->vars.n; i++)
        if (c->vars.at[i] == var)
            return;
    TNB_PUSH(p->arena, c->vars, var);
}

/* The variables of a match, names for them included; false when they are not all in one block. */
static bool
collect(part *p, const tnk_match *m, const tn_node *root, cand *c)
{
    add_var(p, c, root);
    for (uint32_t i = 0; i < m->n; i++) {
        const tn_expr *v = m->at[i].leaf;
        if (!m->at[i].inner || !m->at[i].var)
            continue;
        for (; v != root && tn_is_var(v) && tnk_graph_value(p->graph, v);
             v = tnk_graph_value(p->graph, v))
            add_var(p, c, v);
    }
    for (uint32_t i = 0; i < c->vars.n; i++)
        if (tnb_ptrmap_get(&p->block, c->vars.at[i]) != tnb_ptrmap_get(&p->block, root))
            return false;
    return true;
}

/* What was matched before may be taken over, if all of it is. */
static bool
may_take(const part *p, const cand *c, const tn_node *root)
{
    for (uint32_t i = 0; i < c->vars.n; i++) {
        const cand *other = tnb_ptrmap_get(&p->owner, c->vars.at[i]);
        if (!other || c->vars.at[i] == root)
            continue;
        uint32_t shared = 0, size = live(p, other);
        for (uint32_t k = 0; k < c->vars.n; k++)
            shared += tnb_ptrmap_get(&p->owner, c->vars.at[k]) == other;
        if (size > 1 && shared < size)
            return false;
    }
    return true;
}

/* Whether something outside uses `c` and is used by it. Walks over users, groups as wholes. */
static bool
in_a_circle(const part *p, const cand *c)
{
    tnb_ptrmap seen;
    TNB_VEC(const tn_node *) work = {0};
    tnb_ptrmap_init(&seen, p->arena);
    for (uint32_t i = 0; i < c->vars.n; i++)
        TNB_PUSH(p->arena, work, c->vars.at[i]);
    while (work.n) {
        const tn_node *v = work.at[--work.n];
        bool inside = tnb_ptrmap_get(&p->owner, v) == c;
        for (uint32_t k = 0; k < tnk_graph_uses(p->graph, v); k++) {
            const tn_node *user = tnk_graph_user(p->graph, v, k);
            const cand *other = user ? tnb_ptrmap_get(&p->owner, user) : NULL;
            if (!user || tnb_ptrmap_has(&seen, user))
                continue;
            if (other == c) {
                if (!inside)
                    return true;
                continue;
            }
            tnb_ptrmap_set(&seen, user, user);
            TNB_PUSH(p->arena, work, user);
            for (uint32_t i = 0; other && i < other->vars.n; i++)
                if (tnb_ptrmap_get(&p->owner, other->vars.at[i]) == other &&
                    !tnb_ptrmap_has(&seen, other->vars.at[i])) {
                    tnb_ptrmap_set(&seen, other->vars.at[i], other);
                    TNB_PUSH(p->arena, work, other->vars.at[i]);
                }
        }
    }
    return false;
}

/* The variables of `c` become its own, unless that closes a circle. */
static void
take(part *p, cand *c, bool leaks)
{
    const cand **before = TNB_NEW_N(p->arena, const cand *, c->vars.n);
    for (uint32_t i = 0; i < c->vars.n; i++) {
        before[i] = tnb_ptrmap_get(&p->owner, c->vars.at[i]);
        tnb_ptrmap_set(&p->owner, c->vars.at[i], c);
    }
    if ((leaks || p->leaky) && in_a_circle(p, c)) {
        for (uint32_t i = 0; i < c->vars.n; i++)
            tnb_ptrmap_set(&p->owner, c->vars.at[i], before[i]);
        return;
    }
    p->leaky |= leaks;
}

static bool
try_rule(part *p, const rule *r, const tn_node *var, tnk_match *m)
{
    const tn_expr *value = tnk_graph_value(p->graph, var);
    if (tn_is_var(value) || !tnk_pat_match(r->pat, p->graph, var, m))
        return true;
    cand *c = TNB_NEW(p->arena, cand);
    if (!collect(p, m, var, c) || !may_take(p, c, var))
        return true;
    const tnk_fusion_pattern *e = r->entry;
    if (e && e->check && !TN_WITHIN(p->ctx, "pattern", e, "check", e->check(p->ctx, m, e->self)))
        return true;
    const tn_node *more =
        e && e->attrs ? TN_WITHIN(p->ctx, "pattern", e, "attrs", e->attrs(p->ctx, m, e->self))
                      : NULL;
    if (tn_is_error(more))
        return false;
    c->attrs = tn_dict_set(p->ctx, more, "Composite", tn_string(p->ctx, r->name));
    take(p, c, tnk_match_leaks(m));
    return true;
}

typedef struct scan_state {
    part *p;
    const rule *r;
    tnk_match m;
    TNB_VEC(const tn_node *) order; /* variables of dataflow blocks */
    bool ok;
} scan_state;

static tn_walk_step
note_block(void *user, const tn_node *n)
{
    scan_state *s = user;
    if (!tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        return TN_WALK_ON;
    tn_list at = tn_as_bindings_block(n)->bindings;
    for (uint32_t i = 0; i < at.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(at.at[i]);
        if (!vb)
            continue;
        tnb_ptrmap_set(&s->p->block, vb->var, n);
        tnb_ptrmap_set(&s->p->binding, vb->var, vb);
        TNB_PUSH(s->p->arena, s->order, vb->var);
    }
    return TN_WALK_ON;
}

/* `fn` with the matches of one pattern grouped; NULL after an error. */
static const tn_node *
apply(tn_ctx *ctx, const tn_module *m, tn_builder *b, const tn_function *fn, const rule *r,
      const tnk_graph *graph, bool bind_constants)
{
    part p = {.ctx = ctx, .arena = tn_scratch(ctx), .graph = graph};
    tnb_ptrmap_init(&p.owner, p.arena);
    tnb_ptrmap_init(&p.block, p.arena);
    tnb_ptrmap_init(&p.binding, p.arena);
    scan_state s = {.p = &p, .r = r, .ok = true};
    tn_walk(fn->body, 0, note_block, NULL, &s);
    for (uint32_t i = 0; i < s.order.n; i++)
        if (!try_rule(&p, r, s.order.at[i], &s.m))
            return NULL;
    if (!p.owner.n)
        return TN_NODE(fn);

    grouping g;
    tnb_ptrmap groups; /* cand -> group */
    grouping_init(&g, ctx, m, b, bind_constants);
    tnb_ptrmap_init(&groups, p.arena);
    for (uint32_t i = 0; i < s.order.n; i++) {
        const cand *c = tnb_ptrmap_get(&p.owner, s.order.at[i]);
        if (!c)
            continue;
        group *to = tnb_ptrmap_get(&groups, c);
        if (!to) {
            to = TNB_NEW(p.arena, group);
            to->attrs = c->attrs;
            tnb_ptrmap_set(&groups, c, to);
        }
        grouping_add(&g, to, tnb_ptrmap_get(&p.binding, s.order.at[i]));
    }
    return grouping_rewrite(&g, fn);
}

/* ---- annotate_codegen ---- */

typedef struct annotator {
    tn_ctx *ctx;
    const tn_module *m;
    tn_module_edit *edit; /* what becomes of it */
    tnb_strmap renamed;   /* composite -> GlobalVar of its wrapper */
    bool failed;
} annotator;

/* A function that holds the composite as a local one and calls it. */
static const tn_node *
wrap(annotator *a, const tn_node *composite, const char *codegen, const char *symbol)
{
    tn_ctx *ctx = a->ctx;
    const tn_node *inner =
        tn_fresh_copy(ctx, group_without_attr(ctx, composite, "Primitive"), NULL);
    const tn_node *outer = tn_fresh_copy(ctx, composite, NULL);
    const tn_function *fn = tn_as_function(outer);
    const tn_expr *local = tn_var_new(ctx, "local_func", inner->type);
    const tn_expr *call = tn_call_of(ctx, local, fn->params, NULL, (tn_list){0}, NULL);
    const tn_expr *output = tn_var_new(ctx, "output", fn->ret);
    tn_list bindings = tn_listv(ctx, tn_var_binding_of(ctx, local, inner),
                                tn_var_binding_of(ctx, output, call), NULL);
    const tn_expr *body =
        tn_seq_expr_of(ctx, tn_listv(ctx, tn_binding_block_of(ctx, bindings, false), NULL), output);
    const tn_node *attrs = tn_dictv(ctx, "Codegen", tn_string(ctx, codegen), "global_symbol",
                                    tn_string(ctx, symbol), NULL);
    return tn_function_of(ctx, fn->params, body, fn->ret, fn->pure != 0, attrs);
}

static const tn_node *
annotate_call(tn_rewriter *r, const tn_node *n)
{
    annotator *a = r->user;
    const tn_call *c = tn_as_call(n);
    const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
    const tn_node *func = gv ? tn_module_get(a->m, gv->name) : NULL;
    if (!tn_is(func, TN_KIND_FUNCTION) || !tn_func_attr(func, "Composite") ||
        tn_func_attr(func, "Codegen"))
        return NULL;
    const char *symbol = tnb_strmap_get(&a->renamed, gv->name);
    if (!symbol) {
        const char *name = tn_dict_str(tn_as_function(func)->attrs, "Composite", "");
        const char *codegen = group_codegen_name(a->ctx, name);
        if (!codegen) {
            a->failed = true;
            return n;
        }
        symbol = tn_strf(a->ctx, "%s_%s", gv->name, codegen);
        for (int k = 1; tn_module_edit_get(a->edit, symbol); k++)
            symbol = tn_strf(a->ctx, "%s_%s%d", gv->name, codegen, k);
        tn_module_edit_set(a->edit, symbol, wrap(a, func, codegen, symbol));
        tnb_strmap_set(&a->renamed, gv->name, symbol);
    }
    return tn_call_of(a->ctx, tn_global_var_of(a->ctx, symbol), c->args, NULL, (tn_list){0},
                      n->type);
}

static const tn_module *
annotate(tn_ctx *ctx, const tn_module *m)
{
    annotator a = {.ctx = ctx, .m = m, .edit = tn_module_edit_new(ctx, m)};
    tnb_strmap_init(&a.renamed, tn_scratch(ctx));
    for (uint32_t i = 0; i < m->names.n && !a.failed; i++) {
        const tn_node *f = m->funcs.at[i];
        if (!tn_is(f, TN_KIND_FUNCTION) || tn_func_attr(f, "Composite") ||
            tn_func_attr(f, "Codegen"))
            continue;
        tn_rewriter r = {.ctx = ctx, .user = &a, .pre = annotate_call};
        const tn_node *nf = tn_rewrite(&r, f);
        if (nf != f)
            tn_module_edit_set(a.edit, tn_module_name(m, i), nf);
    }
    for (uint32_t i = 0; i < a.renamed.n; i++)
        tn_module_edit_set(a.edit, a.renamed.at[i].key, NULL);
    return a.failed ? NULL : tn_module_edit_end(a.edit);
}

/* ---- the module ---- */

static bool
is_entry(const tn_module *m, uint32_t i, tn_list only)
{
    const tn_function *fn = tn_as_function(m->funcs.at[i]);
    if (!fn)
        return false;
    for (uint32_t k = 0; k < only.n; k++)
        if (strcmp(tn_as_string_imm(only.at[k])->value, tn_module_name(m, i)) == 0)
            return true;
    return !only.n && !tn_dict_get(fn->attrs, "Primitive") &&
           !tn_dict_get(fn->attrs, "Composite") && !tn_dict_get(fn->attrs, "Codegen");
}

static bool
check_entries(tn_ctx *ctx, const tn_module *m, tn_list only)
{
    for (uint32_t i = 0; i < only.n; i++) {
        const char *name = tn_as_string_imm(only.at[i])->value;
        if (!tn_is(tn_module_get(m, name), TN_KIND_FUNCTION)) {
            tn_error(ctx, 0, TNB_NOT_FOUND,
                     "entry_functions names '%s', which is no graph function of the module", name);
            return false;
        }
    }
    return true;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    tn_list names = tn_as_array(tn_dict_get(pc->options, "patterns"))->items;
    tn_list only = tn_as_array(tn_dict_get(pc->options, "entry_functions"))->items;
    bool bind = tn_option_bool(pc, "bind_constants");
    rule_list rules = {0};
    for (uint32_t i = 0; i < names.n; i++)
        if (!add_named(ctx, &rules, tn_as_string_imm(names.at[i])->value))
            return NULL;
    if (!check_entries(ctx, m, only))
        return NULL;

    tn_builder *b = tn_builder_new(ctx, m);
    TNB_VEC(const char *) changed = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; i < m->names.n; i++) {
        if (!is_entry(m, i, only))
            continue;
        const tn_node *fn = m->funcs.at[i];
        const tnk_graph *graph = tnk_graph_in(ctx, m, fn);
        for (uint32_t k = 0; k < rules.n; k++) {
            const tn_node *nf = apply(ctx, m, b, tn_as_function(fn), &rules.at[k], graph, bind);
            if (!nf || tn_is_error(nf))
                return NULL;
            if (nf != fn)
                graph = tnk_graph_in(ctx, m, nf);
            fn = nf;
        }
        if (fn != m->funcs.at[i]) {
            TNB_PUSH(tn_scratch(ctx), changed, tn_module_name(m, i));
            TNB_PUSH(tn_scratch(ctx), funcs, fn);
        }
    }
    if (changed.n)
        m = tn_module_set_all(ctx, tn_builder_module(b), changed.at, funcs.at, changed.n);
    return tn_option_bool(pc, "annotate_codegen") ? annotate(ctx, m) : m;
}

static const tn_attr_schema options[] = {
    {"patterns", TN_ATTR_STRS, 0, NULL,
     "registered patterns by name, \"cudnn.*\" for a family, or \"dnnl.relu := nn.relu(x)\"",
     "pattern"},
    {"bind_constants", TN_ATTR_BOOL, 0, "True", "keep constants inside the functions made"},
    {"annotate_codegen", TN_ATTR_BOOL, 0, "False",
     "wrap each function in one that carries Codegen and a global symbol"},
    {"entry_functions", TN_ATTR_STRS, 0, "[]", "graph functions to work on; empty: all"},
    {0}};

const tn_pass transform_fuse_ops_by_pattern = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseOpsByPattern",
    .base.doc = "group values that patterns match into Composite functions",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .needs = "op pattern",
};
