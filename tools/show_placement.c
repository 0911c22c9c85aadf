/* SPDX-License-Identifier: Apache-2.0 */
/* tenon show placement: what the libraries of a target's pipeline take of a model, what is left to its kernels, and why.
 *
 * The pipeline's own passes decide: the module is looked at after library_dispatch and after legalize. Reasons are those of the patterns
 * that the plugins with passes in library_dispatch offer.
 */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "tenon/core/walk.h"
#include "tenon/kit/codegen.h"
#include "tenon/kit/pattern.h"

/* How often an operator is where it is, for a reason. */
struct tally {
    const char *where, *op, *why;
    uint32_t n;
};

struct placement {
    tnt_session *s;
    tn_ctx *ctx;
    TNB_VEC(struct tally) rows;
    TNB_VEC(const tnk_fusion_pattern *) patterns; /* of the pipeline's libraries */
    const char *where;                            /* the library at hand; NULL: the kernels */
    const tnk_graph *graph;
    const tn_module *m;
    tnb_strmap used; /* functions that the model calls, but for what libraries run */
};

static void
count(struct placement *p, const char *where, const char *op, const char *why)
{
    for (uint32_t i = 0; i < p->rows.n; i++) {
        struct tally *t = &p->rows.at[i];
        if (!strcmp(t->where, where) && !strcmp(t->op, op) && !strcmp(t->why, why)) {
            t->n++;
            return;
        }
    }
    const struct tally t = {where, op, why, 1};
    TNB_PUSH(tn_arena(p->ctx), p->rows, t);
}

/* The patterns of the plugins whose passes stand in the phase. */
static void
find_patterns(struct placement *p, const tn_pass_list *dispatch)
{
    const tnk_fusion_pattern *e;
    tnb_plugins *plugins = p->s->plugins;
    tn_registry_load_all(p->s->registry, "pattern");
    for (uint32_t i = 0; (e = tn_registry_entry(p->s->registry, "pattern", i)); i++) {
        const tnb_plugin *of = tnb_plugins_find(plugins, "pattern", e->base.name, NULL);
        bool used = false;
        for (uint32_t k = 0; of && k < dispatch->n && !used; k++)
            used = tnb_plugins_find(plugins, "pass", dispatch->at[k].name, NULL) == of;
        if (used)
            TNB_PUSH(tn_arena(p->ctx), p->patterns, e);
    }
}

/* Why no pattern took the value of a variable: a line for each pattern that is for such operators, in the column of print_rows. */
static const char *
reason(struct placement *p, const tn_expr *var)
{
    const char *why = "", *other = tn_strf(p->ctx, "%s: there is ", tn_var_name(var));
    for (uint32_t i = 0; i < p->patterns.n; i++) {
        const tnk_fusion_pattern *e = p->patterns.at[i];
        const tnk_pat *pat = tnk_pattern_make(p->ctx, e);
        const char *own = pat ? tnk_pat_why(pat, p->graph, var) : "";
        if (own && (!*own || strncmp(own, other, strlen(other)) == 0))
            continue;
        if (!own) {
            tnk_match m = {0};
            bool holds = tnk_pat_match(pat, p->graph, var, &m) &&
                         (!e->check || e->check(p->ctx, &m, e->self));
            own = holds ? "it matches, but no pass of the target takes it"
                        : "its check refuses this one";
        }
        why = tn_strf(p->ctx, "%s%s%s: %s", why,
                      *why ? "\n                                      " : "", e->base.name, own);
    }
    return *why            ? why
           : p->patterns.n ? "no pattern is for this operator"
                           : "no library of the pipeline has patterns";
}

/* A graph operator, not one that only holds the module together; NULL: none. */
static const char *
operator_of(const tn_node *n)
{
    const tn_call *c = tn_as_call(n);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    return op && !(op->flags & TN_OP_SCALAR) && op->structural == TN_STRUCTURAL_NONE ? op->base.name
                                                                                     : NULL;
}

static tn_walk_step
of_library(void *user, const tn_node *n)
{
    struct placement *p = user;
    const char *op = operator_of(n);
    if (op)
        count(p, p->where, op, "");
    return TN_WALK_ON;
}

static tn_walk_step
of_kernels(void *user, const tn_node *n)
{
    struct placement *p = user;
    const tn_var_binding *b = tn_as_var_binding(n);
    const tn_call *c = b ? tn_as_call(b->value) : NULL;
    const char *op = b ? operator_of(b->value) : NULL;
    const tn_extern_func *f = c ? tn_as_extern_func(c->op) : NULL;
    if (c && !f && c->args.n && tn_structural_of(&c->base) != TN_STRUCTURAL_NONE)
        f = tn_as_extern_func(c->args.at[0]);
    if (op)
        count(p, "", op, reason(p, b->var));
    else if (f && !tn_func_attr(tn_module_get(p->m, f->name), "external"))
        count(p, "packed functions", f->name, "");
    return TN_WALK_ON;
}

static tn_walk_step
note_used(void *user, const tn_node *n)
{
    struct placement *p = user;
    const tn_global_var *g = tn_as_global_var(n);
    if (g)
        tnb_strmap_set(&p->used, g->name, p);
    return TN_WALK_ON;
}

static void
print_rows(const struct placement *p, const char *where)
{
    for (uint32_t i = 0; i < p->rows.n; i++) {
        const struct tally *t = &p->rows.at[i];
        if (strcmp(t->where, where) == 0)
            printf("  %6u %-28s %s\n", t->n, t->op, t->why);
    }
}

static uint32_t
total(const struct placement *p, const char *where)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->rows.n; i++)
        n += strcmp(p->rows.at[i].where, where) == 0 ? p->rows.at[i].n : 0;
    return n;
}

static void
print_dispatch(struct placement *p)
{
    for (uint32_t i = 0; i < p->rows.n; i++) {
        const char *where = p->rows.at[i].where;
        bool first = *where != '\0';
        for (uint32_t k = 0; k < i; k++)
            first &= strcmp(p->rows.at[k].where, where) != 0;
        if (!first)
            continue;
        printf("%s: %u\n", where, total(p, where));
        print_rows(p, where);
    }
    printf("kernels of the target: %u operators\n", total(p, ""));
    print_rows(p, "");
}

/* What became of the rest: tensor programs, those that another target runs, operators that have none. */
static uint32_t
count_programs(struct placement *p, const tn_module *m)
{
    uint32_t programs = 0;
    p->rows.n = 0;
    tnb_strmap_init(&p->used, tn_arena(p->ctx));
    for (uint32_t i = 0; i < m->names.n; i++)
        if (!tn_func_attr(m->funcs.at[i], "external"))
            tn_walk(m->funcs.at[i], 0, note_used, NULL, p);
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        const tn_string_imm *to = tn_as_string_imm(tn_func_attr(f, TNK_FALLBACK_ATTR));
        bool used = tnb_strmap_has(&p->used, tn_module_name(m, i));
        programs += used && tn_is(f, TN_KIND_PRIM_FUNC);
        if (to && used)
            count(p, "fallback", to->value, tn_module_name(m, i));
        p->where = "without a program";
        if (tn_is(f, TN_KIND_FUNCTION) && !tn_func_attr(f, "external"))
            tn_walk(f, 0, of_library, NULL, p);
    }
    return programs;
}

static void
print_programs(struct placement *p, const tn_module *m)
{
    printf("tensor programs: %u\n", count_programs(p, m));
    for (uint32_t i = 0; i < p->rows.n; i++) {
        const struct tally *t = &p->rows.at[i];
        if (strcmp(t->where, "fallback") == 0)
            printf("  %s runs on %s\n", t->why, t->op);
        else
            printf("  %6u %-28s no tensor program is made of it\n", t->n, t->op);
    }
}

/* ---- as JSON ---- */

/* Rows at a place, without those texts that are empty; `by`: what a row's operator is called. */
static const tn_node *
rows_json(const struct placement *p, const char *where, const char *by)
{
    tn_list rows = {0};
    for (uint32_t i = 0; i < p->rows.n; i++) {
        const struct tally *t = &p->rows.at[i];
        if (strcmp(t->where, where) == 0)
            rows = tn_list_append(p->ctx, rows,
                                  tn_dictv(p->ctx, by, tn_string(p->ctx, t->op), "count",
                                           tn_i64(p->ctx, t->n), "why", tn_string(p->ctx, t->why),
                                           NULL));
    }
    return tn_array_of(p->ctx, rows);
}

/* A key for each library, or other place that is not the target's kernels. */
static const tn_node *
dispatch_json(const struct placement *p)
{
    const tn_node *d = tn_dict_of(p->ctx, NULL, NULL, 0);
    for (uint32_t i = 0; i < p->rows.n; i++)
        if (*p->rows.at[i].where)
            d = tn_dict_set(p->ctx, d, p->rows.at[i].where,
                            rows_json(p, p->rows.at[i].where, "operator"));
    return d;
}

int
tnt_show_placement(tnt_session *s, const tnt_args *a, const char *path)
{
    tnk_model model;
    tnk_compile_options opt;
    tnk_target target;
    tnk_pipeline pipeline;
    if (!tnt_import(s, a, path, &model) || !tnt_compile_options(s, a, &opt))
        return tnt_failure();
    const char *name = opt.n_targets ? opt.targets[0] : "cpu";
    const char *profile = opt.profile ? opt.profile : model.profile;
    struct placement p = {.s = s, .ctx = s->ctx};
    const tn_module *m = NULL, *after = NULL;
    if (tnk_target_find_with(s->ctx, s->conf, name, opt.target_attrs, NULL, &target) &&
        tnk_pipeline_make(s->ctx, s->conf, &target, profile, &pipeline))
        m = tnk_run_phases(s->ctx, model.module, &target, &pipeline, TNK_LIBRARY_DISPATCH,
                           TNK_LIBRARY_DISPATCH, &opt);
    if (m)
        find_patterns(&p, &pipeline.phases[TNK_LIBRARY_DISPATCH]);
    for (uint32_t i = 0; m && i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        const tn_string_imm *library = tn_as_string_imm(tn_func_attr(f, "external"));
        if (!tn_is(f, TN_KIND_FUNCTION))
            continue;
        p.where = library ? tn_strf(s->ctx, "library %s", library->value) : NULL;
        p.m = m;
        p.graph = tnk_graph_in(s->ctx, m, f);
        tn_walk(f, 0, library ? of_library : of_kernels, NULL, &p);
    }
    if (m)
        after = tnk_run_phases(s->ctx, m, &target, &pipeline, TNK_LEGALIZE, TNK_LEGALIZE, &opt);
    tnt_report(s);
    if (!after)
        return TNT_FAILED;
    if (tnt_has(a, "json")) {
        const tn_node *dispatched = dispatch_json(&p), *kernels = rows_json(&p, "", "operator");
        const tn_node *programs = tn_i64(s->ctx, count_programs(&p, after));
        return tnt_print_json(tn_dictv(s->ctx, "target", tn_string(s->ctx, name), "dispatched",
                                       dispatched, "kernels", kernels, "programs", programs,
                                       "fallback", rows_json(&p, "fallback", "target"),
                                       "without_program",
                                       rows_json(&p, "without a program", "operator"), NULL))
                   ? TNT_OK
                   : TNT_FAILED;
    }
    printf("target %s\n", name);
    print_dispatch(&p);
    print_programs(&p, after);
    return TNT_OK;
}
