/* SPDX-License-Identifier: Apache-2.0 */
/* The effective pass lists of a target: the plugin's own, then what INI files replace, drop, insert
 * and set.
 *
 * Sections that count, in this order: [pipeline KIND] of the backend, of the target's IR kind, of
 * the target's section; then [profile NAME]; then [pass NAME] for options. Within a section:
 * replaced phases, then `drop`, then inserts.
 */
#include "driver_private.h"

#include "tenon/base/file.h"

#include "tenon/base/num.h"
#include "tenon/kit/lists.h"
#include "tenon/kit/tune.h"

static const char *const phase_names[TNK_N_PHASES] = {/* ORDER PHASE */
                                                      "library_dispatch", "legalize", "finalize",
                                                      "lower"};

static const struct shared_list {
    const char *name, *passes;
} shared_lists[] = {
#define SHARED_LIST(name, passes, doc) {name, passes},
    TNK_PASS_LISTS(SHARED_LIST)
#undef SHARED_LIST
};
enum { N_SHARED_LISTS = sizeof shared_lists / sizeof shared_lists[0] };

/* The list that "@NAME" stands for; NULL: there is none. */
static const struct shared_list *
find_shared(const char *item)
{
    for (int i = 0; i < N_SHARED_LISTS; i++)
        if (item[0] == '@' && strcmp(item + 1, shared_lists[i].name) == 0)
            return &shared_lists[i];
    return NULL;
}

const char *
tnk_phase_name(tnk_phase p)
{
    return p < TNK_N_PHASES ? phase_names[p] : "?";
}

struct maker {
    tn_ctx *ctx;
    const tnb_conf *conf;
    const tnk_target *target;
    tnk_pipeline *out;
    bool failed;
};

static void
push(struct maker *m, tn_pass_list *l, tn_pass_item item)
{
    TNB_VEC(tn_pass_item)
    v = {.at = l->at, .n = l->n, .cap = l->n}; /* lists are short: growth copies */
    TNB_PUSH(tn_arena(m->ctx), v, item);
    l->at = v.at;
    l->n = v.n;
}

static void
no_such_list(tn_ctx *ctx, const char *item, const char *origin, bool phases)
{
    const char *all = "";
    for (int i = 0; i < N_SHARED_LISTS; i++)
        all = tn_strf(ctx, "%s%s@%s", all, i ? ", " : "", shared_lists[i].name);
    tn_error(ctx, 0, TNB_NOT_FOUND, "%s%sthere is no pass list '%s'", origin ? origin : "",
             origin ? ": " : "", item);
    if (phases)
        tnb_diag_note(tn_diags(ctx), "@pipeline, @library_dispatch, @legalize, @finalize and "
                                     "@lower stand for passes of the target");
    const char *known[N_SHARED_LISTS + TNK_N_PHASES + 1] = {"@pipeline"};
    uint32_t n = 1;
    for (int i = 0; i < N_SHARED_LISTS; i++)
        known[n++] = tn_strf(ctx, "@%s", shared_lists[i].name);
    for (int p = 0; phases && p < TNK_N_PHASES; p++)
        known[n++] = tn_strf(ctx, "@%s", phase_names[p]);
    const char *near = tnb_nearest(item, known + !phases, n - !phases);
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'? lists that targets share: %s", near, all);
    else
        tnb_diag_hint(tn_diags(ctx), "lists that targets share: %s", all);
}

/* Parses a list and appends it, with the shared lists in it replaced by their passes. */
static void
parse_into(struct maker *m, const char *text, const char *origin, tnk_phase phase, tn_pass_list *l)
{
    tn_pass_list parsed = {0};
    if (!tn_pass_list_parse(m->ctx, text, origin, &parsed)) {
        m->failed = true;
        return;
    }
    for (uint32_t i = 0; i < parsed.n; i++) {
        const char *name = parsed.at[i].name;
        const struct shared_list *shared = find_shared(name);
        if (shared) {
            parse_into(m, shared->passes, tn_strf(m->ctx, "%s, %s", origin, name), phase, l);
        } else if (name[0] == '@') {
            no_such_list(m->ctx, name, origin, false);
            m->failed = true;
        } else {
            parsed.at[i].phase = phase_names[phase];
            push(m, l, parsed.at[i]);
        }
    }
}

/* The first pass of every target, unless a site drops it: who writes a backend or replaces a phase does not lose
 * what keeps kernels within their tensors. */
static const char first_pass[] = "InsertShapeChecks";

static bool
names_first_pass(const tn_pass_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->at[i].name, first_pass) == 0)
            return true;
    return false;
}

static void
plugin_lists(struct maker *m, const tn_target_kind *kind)
{
    parse_into(m, first_pass, "every target", TNK_LIBRARY_DISPATCH,
               &m->out->phases[TNK_LIBRARY_DISPATCH]);
    const char *const *const own[TNK_N_PHASES] = {kind->library_dispatch, kind->legalize,
                                                  kind->finalize, kind->lower};
    const char *origin = tn_strf(m->ctx, "%s plugin", kind->base.name);
    for (int p = 0; p < TNK_N_PHASES; p++)
        for (const char *const *s = own[p]; s && *s; s++)
            parse_into(m, *s, origin, (tnk_phase)p, &m->out->phases[p]);
}

static const char *
origin_of(struct maker *m, const tnb_conf_value *v)
{
    return v->line ? tn_strf(m->ctx, "%s:%u", v->file, v->line) : tn_str(m->ctx, v->file);
}

/* The folder of the file that the value stands in; NULL where it is of no file. */
static const char *
folder_of(struct maker *m, const tnb_conf_value *v)
{
    return v->line ? tnb_path_dir(tn_arena(m->ctx), v->file) : NULL;
}

/* Relative paths in the options of these items count from the folder of `v`'s file; users give no locked ones. */
static void
note_source(struct maker *m, tn_pass_list *l, const tnb_conf_value *v)
{
    if (v->layer >= TNB_CONF_USER)
        m->failed |= !driver_may_give(m->ctx, m->conf, driver_place(v), l);
    for (uint32_t i = 0; i < l->n; i++)
        l->at[i].dir = folder_of(m, v);
}

static void
complain(struct maker *m, const tnb_conf_value *v, const char *what, const char *name)
{
    m->failed = true;
    tnb_conf_report(v, tn_diags(m->ctx), TNB_NOT_FOUND, "'%s' %s", name, what);
    const char *near = tn_nearest_name(tn_ctx_registry(m->ctx), "pass", name);
    if (near && strcmp(near, name) != 0)
        tnb_diag_hint(tn_diags(m->ctx), "did you mean '%s'?", near);
}

/* ---- replace and drop ---- */

static void
replace_phases(struct maker *m, const tnb_conf_value *const *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (int p = 0; p < TNK_N_PHASES; p++)
            if (strcmp(values[i]->key, phase_names[p]) == 0) {
                tn_pass_list fresh = {0};
                for (uint32_t k = 0; k < m->out->phases[p].n; k++) {
                    tn_pass_item gone = m->out->phases[p].at[k];
                    if (strcmp(gone.name, first_pass) == 0)
                        continue;
                    gone.origin = origin_of(m, values[i]);
                    push(m, &m->out->dropped, gone);
                }
                parse_into(m, values[i]->value, origin_of(m, values[i]), (tnk_phase)p, &fresh);
                note_source(m, &fresh, values[i]);
                if (p == TNK_LIBRARY_DISPATCH && names_first_pass(&m->out->phases[p]) &&
                    !names_first_pass(&fresh)) {
                    tn_pass_list all = {0};
                    parse_into(m, first_pass, "every target", TNK_LIBRARY_DISPATCH, &all);
                    for (uint32_t k = 0; k < fresh.n; k++)
                        push(m, &all, fresh.at[k]);
                    fresh = all;
                }
                m->out->phases[p] = fresh;
            }
}

static void
drop_one(struct maker *m, const tnb_conf_value *v, const char *name)
{
    bool found = false;
    for (int p = 0; p < TNK_N_PHASES; p++) {
        tn_pass_list kept = {0}, *l = &m->out->phases[p];
        for (uint32_t i = 0; i < l->n; i++) {
            tn_pass_item item = l->at[i];
            if (strcmp(item.name, name) != 0) {
                push(m, &kept, item);
                continue;
            }
            item.origin = origin_of(m, v);
            push(m, &m->out->dropped, item);
            found = true;
        }
        *l = kept;
    }
    if (!found)
        complain(m, v, "cannot be dropped: the pipeline has no such pass", name);
    if (!found && strchr(name, '#'))
        tnb_diag_hint(tn_diags(m->ctx),
                      "'drop' takes names without '#', and drops a pass wherever it stands");
}

static void
drop(struct maker *m, const tnb_conf_value *const *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t count;
        if (strcmp(values[i]->key, "drop") != 0)
            continue;
        const char **names = tnb_conf_split(tn_arena(m->ctx), values[i]->value, &count);
        for (uint32_t k = 0; k < count; k++)
            drop_one(m, values[i], names[k]);
    }
}

/* ---- inserts: before|after PHASE-or-PASS[#k]: list ---- */

struct anchor {
    bool after;
    const char *name;
    int64_t occurrence; /* from 1 */
    const char *list;
};

static bool
parse_anchor(struct maker *m, const tnb_conf_value *v, struct anchor *a)
{
    const char *s = v->value, *colon = strchr(s, ':');
    while (*s == ' ' || *s == '\n')
        s++;
    a->after = strncmp(s, "after ", 6) == 0;
    if (!colon || (!a->after && strncmp(s, "before ", 7) != 0))
        return false;
    s += a->after ? 6 : 7;
    while (*s == ' ')
        s++;
    const char *end = colon;
    while (end > s && end[-1] == ' ')
        end--;
    const char *hash = memchr(s, '#', (size_t)(end - s));
    a->occurrence = 1;
    if (hash &&
        (!tnb_read_i64(hash + 1, (size_t)(end - hash - 1), &a->occurrence) || a->occurrence < 1))
        return false;
    a->name = tn_strn(m->ctx, s, (size_t)((hash ? hash : end) - s));
    a->list = colon + 1;
    return *a->name != '\0';
}

static bool
find_anchor(struct maker *m, const struct anchor *a, tnk_phase *phase, uint32_t *at)
{
    int64_t left = a->occurrence;
    for (int p = 0; p < TNK_N_PHASES; p++) {
        const tn_pass_list *l = &m->out->phases[p];
        *phase = (tnk_phase)p;
        if (a->occurrence == 1 && strcmp(phase_names[p], a->name) == 0) {
            *at = a->after ? l->n : l->n && strcmp(l->at[0].name, first_pass) == 0;
            return true;
        }
        for (uint32_t i = 0; i < l->n; i++)
            if (strcmp(l->at[i].name, a->name) == 0 && --left == 0) {
                *at = a->after ? i + 1 : i;
                return true;
            }
    }
    return false;
}

/* What is wrong with a place for an insert that is not there. */
static void
complain_of_anchor(struct maker *m, const tnb_conf_value *v, const struct anchor *a)
{
    int64_t there = 0;
    for (int p = 0; p < TNK_N_PHASES; p++) {
        const tn_pass_list *l = &m->out->phases[p];
        there += strcmp(phase_names[p], a->name) == 0;
        for (uint32_t i = 0; i < l->n; i++)
            there += strcmp(l->at[i].name, a->name) == 0;
    }
    if (!there) {
        complain(m, v, "is no phase or pass of the pipeline: nothing can be inserted there",
                 a->name);
        return;
    }
    m->failed = true;
    tnb_conf_report(v, tn_diags(m->ctx), TNB_NOT_FOUND,
                    "'%s#%lld' is not there: the pipeline of target '%s' has '%s' %s", a->name,
                    (long long)a->occurrence, m->target->name, a->name,
                    there == 1 ? "once" : tn_strf(m->ctx, "%lld times", (long long)there));
    tnb_diag_hint(tn_diags(m->ctx),
                  there == 1 ? "leave out '#%lld'; tenon show pipeline %s prints the lists"
                             : "name one up to #%lld; tenon show pipeline %s prints the lists",
                  (long long)(there == 1 ? a->occurrence : there), m->target->name);
}

static void
insert_one(struct maker *m, const tnb_conf_value *v)
{
    struct anchor a;
    tnk_phase phase;
    uint32_t at;
    if (!*v->value)
        return; /* removed by a later file */
    if (!parse_anchor(m, v, &a)) {
        m->failed = true;
        tnb_conf_report(v, tn_diags(m->ctx), TNB_INVALID,
                        "'%s' is not of the form 'before|after PHASE-or-PASS[#k]: list'", v->value);
        tnb_diag_hint(tn_diags(m->ctx), "for example: after FuseOps: DeadCodeElimination");
        return;
    }
    if (!find_anchor(m, &a, &phase, &at)) {
        complain_of_anchor(m, v, &a);
        return;
    }
    tn_pass_list extra = {0}, merged = {0}, *l = &m->out->phases[phase];
    parse_into(m, a.list, origin_of(m, v), phase, &extra);
    note_source(m, &extra, v);
    for (uint32_t i = 0; i <= l->n; i++) {
        for (uint32_t k = 0; i == at && k < extra.n; k++)
            push(m, &merged, extra.at[k]);
        if (i < l->n)
            push(m, &merged, l->at[i]);
    }
    *l = merged;
}

static void
edit(struct maker *m, const char *section, const char *name)
{
    uint32_t n;
    const tnb_conf_value **values =
        tnb_conf_section_values(m->conf, tn_arena(m->ctx), section, name, &n);
    for (uint32_t i = 0; i < n; i++)
        m->failed |= !driver_may_edit(m->ctx, m->conf, m->target, values[i], values[i]->key);
    if (m->failed)
        return;
    replace_phases(m, values, n);
    drop(m, values, n);
    for (uint32_t i = 0; i < n; i++)
        if (strncmp(values[i]->key, "insert.", 7) == 0)
            insert_one(m, values[i]);
}

/* ---- options of passes ---- */

/* A list, dictionary, quoted text or reference is written as in a pass list; anything else that is
 * no number and no truth value is a text as it stands. NULL after recording an error. */
static const tn_node *
option_value(struct maker *m, const tnb_conf_value *value)
{
    tn_ctx *ctx = m->ctx;
    const char *text = value->value;
    int64_t i;
    double f;
    if (tnb_read_i64(text, strlen(text), &i))
        return tn_i64(ctx, i);
    if (tnb_read_f64(text, strlen(text), &f))
        return tn_float_imm_of(ctx, TNB_F64, f);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return tn_bool(ctx, *text == 't');
    if (!strchr("[{\"@", *text) || !*text)
        return tn_string(ctx, text);
    tn_pass_list one = {0};
    const char *item = tn_strf(ctx, "Pass{option=%s}", text);
    if (!tn_pass_list_parse(ctx, item, origin_of(m, value), &one))
        return NULL;
    return tn_dict_get(one.at[0].options, "option");
}

const tn_node *
driver_option(tn_ctx *ctx, const tnb_conf_value *v)
{
    struct maker m = {.ctx = ctx};
    return option_value(&m, v);
}

/* The options of [pass NAME] for one item. Those that the item has already give way where
 * `override`, else they stay. */
static void
set_options_of(struct maker *m, tn_pass_item *item, bool override)
{
    uint32_t n, taken = 0;
    const tnb_conf_value **values =
        tnb_conf_section_values(m->conf, tn_arena(m->ctx), "pass", item->name, &n);
    for (uint32_t k = 0; k < n; k++) {
        if (!override && tn_dict_get(item->options, values[k]->key))
            continue;
        if (m->target && !driver_may_edit(m->ctx, m->conf, m->target, values[k], item->phase)) {
            m->failed = true;
            continue;
        }
        const tn_node *value = option_value(m, values[k]);
        m->failed |= !value;
        if (!value)
            continue;
        item->options = tn_dict_set(m->ctx, item->options, tn_str(m->ctx, values[k]->key), value);
        const char *dir = folder_of(m, values[k]);
        if (dir && item->dir && strcmp(dir, item->dir) != 0)
            dir = tn_strf(m->ctx, "%s\n%s", dir, item->dir);
        item->dir = dir ? dir : item->dir;
        if (!taken++)
            item->origin = tn_strf(m->ctx, "%s, options %s", item->origin, origin_of(m, values[k]));
    }
}

static void
set_options(struct maker *m)
{
    for (int p = 0; p < TNK_N_PHASES; p++)
        for (uint32_t i = 0; i < m->out->phases[p].n; i++)
            set_options_of(m, &m->out->phases[p].at[i], true);
}

bool
tnk_pipeline_make(tn_ctx *ctx, const tnb_conf *conf, const tnk_target *t, const char *profile,
                  tnk_pipeline *out)
{
    struct maker m = {.ctx = ctx, .conf = conf, .target = t, .out = out};
    memset(out, 0, sizeof *out);
    plugin_lists(&m, t->kind);
    if (conf) {
        edit(&m, "pipeline", t->kind->base.name);
        if (strcmp(t->target->kind, t->kind->base.name) != 0)
            edit(&m, "pipeline", t->target->kind);
        if (strcmp(t->name, t->kind->base.name) != 0 && strcmp(t->name, t->target->kind) != 0)
            edit(&m, "pipeline", t->name);
        if (profile && !tnb_conf_has(conf, "profile", profile)) {
            tn_error(ctx, 0, TNB_NOT_FOUND, "there is no [profile %s] in the configuration",
                     profile);
            uint32_t n;
            const char **names = tnb_conf_names(conf, tn_scratch(ctx), "profile", &n);
            const char *near = tnb_nearest(profile, names, n);
            if (near)
                tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
            else
                tnb_diag_hint(tn_diags(ctx), "tenon list profiles shows the names");
            return false;
        }
        if (profile)
            edit(&m, "profile", profile);
        set_options(&m);
    }
    return !m.failed;
}

const tn_node *
tnk_pass_config(tn_ctx *ctx, const tnb_conf *conf, const tn_node *config)
{
    bool fallback = false;
    uint32_t n = 0;
    int64_t threads;
    tnb_conf_bool(conf, "tenon", "", "fallback", false, &fallback, NULL);
    if (fallback && !tn_dict_get(config, "tenon.fallback"))
        config = tn_dict_set(ctx, config, "tenon.fallback", tn_bool(ctx, true));
    const char **files = tnk_tuning_files(ctx, conf, &n);
    if (n && !tn_dict_get(config, "tenon.tuning_db")) {
        tn_list paths = {0};
        for (uint32_t i = 0; i < n; i++)
            paths = tn_list_append(ctx, paths, tn_string(ctx, files[i]));
        config = tn_dict_set(ctx, config, "tenon.tuning_db", tn_array_of(ctx, paths));
    }
    tnb_conf_int(conf, "tenon", "", "threads", 0, &threads, NULL);
    if (threads && !tn_dict_get(config, "tenon.tuning_threads"))
        config = tn_dict_set(ctx, config, "tenon.tuning_threads", tn_i64(ctx, threads));
    return config;
}

void
tnk_set_limits(tn_ctx *ctx, const tnb_conf *conf)
{
    static const char *const keys[] = {"constant_limit", "scratch_limit"};
    int64_t mib;
    for (int i = 0; conf && i < TN_N_LIMITS; i++)
        if (tnb_conf_int(conf, "tenon", "", keys[i], 0, &mib, NULL) && mib > 0)
            tn_limit_set(ctx, (tn_limit)i, (uint64_t)mib << 20);
}

/* Appends the passes of the phases that "@NAME" stands for; false: it is no phase. "@pipeline": all but `lower`, which is
 * for single programs. */
static bool
push_phases(struct maker *m, const tnk_pipeline *p, const char *item, tn_pass_list *out)
{
    bool all = strcmp(item, "@pipeline") == 0, known = all;
    for (int ph = 0; ph < TNK_N_PHASES; ph++) {
        if (all ? ph == TNK_LOWER : strcmp(item + 1, phase_names[ph]) != 0)
            continue;
        known = true;
        for (uint32_t k = 0; p && k < p->phases[ph].n; k++)
            push(m, out, p->phases[ph].at[k]);
    }
    return known;
}

bool
tnk_pass_list_expand(tn_ctx *ctx, const tnk_pipeline *p, tn_pass_list *list)
{
    struct maker m = {.ctx = ctx};
    tn_pass_list out = {0};
    bool shares = false;
    for (uint32_t i = 0; i < list->n; i++)
        shares |= list->at[i].name[0] == '@';
    if (!shares) /* the common case: each kernel is lowered by a list that was expanded before */
        return true;
    for (uint32_t i = 0; i < list->n && !m.failed; i++) {
        const char *name = list->at[i].name;
        const struct shared_list *shared = find_shared(name);
        if (name[0] != '@') {
            push(&m, &out, list->at[i]);
        } else if (shared) {
            uint32_t from = out.n;
            parse_into(&m, shared->passes, name, TNK_LIBRARY_DISPATCH, &out);
            for (uint32_t k = from; k < out.n; k++)
                out.at[k].phase = NULL;
        } else if (!push_phases(&m, p, name, &out)) {
            no_such_list(ctx, name, NULL, true);
            return false;
        } else if (!p) {
            tn_error(ctx, 0, TNB_INVALID,
                     "'%s' stands for passes of a target's pipeline, but there is no target", name);
            tnb_diag_hint(tn_diags(ctx), "choose one with -t");
            return false;
        }
    }
    *list = out;
    return !m.failed;
}

bool
tnk_pass_list_configure(tn_ctx *ctx, const tnb_conf *conf, tn_pass_list *list)
{
    struct maker m = {.ctx = ctx, .conf = conf};
    if (!driver_may_give(ctx, conf, (tnb_place){.file = "-p"}, list))
        return false;
    for (uint32_t i = 0; conf && i < list->n; i++)
        set_options_of(&m, &list->at[i], false);
    return !m.failed;
}
