/* SPDX-License-Identifier: Apache-2.0 */
/* What `-t TEXT` means: a [target NAME] of the configuration, a kind, an upstream tag, or a target
 * as JSON. */
#include "driver_private.h"
#include "kit/tables.h"

#include "tenon/base/num.h"

enum { MAX_TAG_DEPTH = 8, MAX_NAMED = 40 /* targets that a note names */ };

void
driver_error(tn_ctx *ctx, const tnb_err *err)
{
    tnb_report(tn_diags(ctx), TNB_ERROR, err->status, (tnb_place){0}, "%s", err->message);
    if (err->hint[0])
        tnb_diag_hint(tn_diags(ctx), "%s", err->hint);
}

/* At the current place, that of a tag. */
static void
error_here(tn_ctx *ctx, const tnb_err *err)
{
    tn_error(ctx, 0, err->status, "%s", err->message);
    if (err->hint[0])
        tnb_diag_hint(tn_diags(ctx), "%s", err->hint);
}

const char *
driver_device(const tn_target_kind *kind)
{
    return kind->device ? kind->device : kind->base.name;
}

static tn_loc
place_of(tn_ctx *ctx, const tnb_conf_value *v)
{
    return tn_loc_make(ctx, driver_place(v));
}

static uint32_t
schema_names(const tn_target_kind *kind, const char **names, uint32_t max)
{
    uint32_t n = 0;
    for (const tn_attr_schema *a = kind->attrs; a && a->name && n < max; a++)
        names[n++] = a->name;
    return n;
}

static const tn_attr_schema *
schema_of(const tn_target_kind *kind, const char *name)
{
    for (const tn_attr_schema *a = kind->attrs; a && a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

static const tn_node *
number(tn_ctx *ctx, const char *text)
{
    int64_t i;
    double f;
    if (tnb_read_i64(text, strlen(text), &i))
        return tn_i64(ctx, i);
    if (tnb_read_f64(text, strlen(text), &f))
        return tn_float_imm_of(ctx, TNB_F64, f);
    return tn_string(ctx, text);
}

static const tn_node *
truth(tn_ctx *ctx, const char *text)
{
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no",
                                                                                "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, yes[i]) == 0)
            return tn_bool(ctx, true);
        if (strcmp(text, no[i]) == 0)
            return tn_bool(ctx, false);
    }
    return tn_string(ctx, text);
}

/* The text of an INI value as the schema's type wants it. What does not fit is left as text, and
 * refused with the schema. */
static const tn_node *
ini_value(tn_ctx *ctx, const tn_attr_schema *s, const char *text)
{
    switch (s->type) {
    case TN_ATTR_INT:
    case TN_ATTR_FLOAT:
        return number(ctx, text);
    case TN_ATTR_BOOL:
        return truth(ctx, text);
    case TN_ATTR_INTS:
    case TN_ATTR_FLOATS:
    case TN_ATTR_STRS: {
        uint32_t n;
        const char **items = tnb_conf_split(tn_arena(ctx), text, &n);
        const tn_node **nodes = TNB_NEW_N(tn_arena(ctx), const tn_node *, n);
        for (uint32_t i = 0; i < n; i++)
            nodes[i] = s->type == TN_ATTR_STRS ? tn_string(ctx, items[i]) : number(ctx, items[i]);
        return tn_array_of(ctx, tn_list_of(ctx, nodes, n));
    }
    case TN_ATTR_ANY:
        if (text[0] == '{' || text[0] == '[') {
            tnb_err err = {0};
            const tn_node *v = tn_value_from_json(ctx, text, strlen(text), &err);
            if (!v)
                tn_error(ctx, 0, err.status, "attribute '%s' is no JSON: %s", s->name, err.message);
            return v;
        }
        return number(ctx, text);
    default:
        return tn_string(ctx, text);
    }
}

static bool
is_list(const tn_attr_schema *s)
{
    return s->type == TN_ATTR_INTS || s->type == TN_ATTR_FLOATS || s->type == TN_ATTR_STRS;
}

/* What a section gives for an attribute, checked on its own, so that an error names the line; NULL after one. */
static const tn_node *
section_attr(tn_ctx *ctx, const char *section, const tn_attr_schema *s, const tnb_conf_value *v)
{
    const tn_attr_schema rows[2] = {*s, {0}};
    tn_op schema = {.base.size = sizeof schema,
                    .base.name = tn_strf(ctx, "target %s", section),
                    .attrs = rows};
    tn_loc before = tn_at(ctx, place_of(ctx, v));
    bool brackets =
        is_list(s) && strpbrk(v->value, "[]{}\"'"); /* as in JSON: they would belong to the items */
    const tn_node *value = NULL, *d = NULL;
    if (brackets)
        tn_error(ctx, 0, TNB_TYPE,
                 "target %s: attribute '%s' is %s: a list has neither brackets nor quotes here",
                 section, s->name, v->value);
    else if ((value = ini_value(ctx, s, v->value)))
        d = tn_op_attrs(ctx, &schema, tn_dictv(ctx, s->name, value, NULL));
    tn_at(ctx, before);
    if (d)
        return tn_dict_get(d, s->name);
    if (s->doc)
        tnb_diag_note(tn_diags(ctx), "%s: %s", s->name, s->doc);
    if (brackets)
        tnb_diag_hint(tn_diags(ctx), "write its items with commas between them: %s = this, that",
                      s->name);
    else if (s->type == TN_ATTR_BOOL)
        tnb_diag_hint(tn_diags(ctx),
                      "write true, yes, on or 1, or false, no, off or 0, in lower case");
    return NULL;
}

/* Whether a user may set the attribute of a target of that name; an error is recorded. */
static bool
may_set(tn_ctx *ctx, const tnb_conf *conf, const char *name, const tn_target_kind *kind,
        const char *key, tnb_place place)
{
    const tnb_conf_value *by = driver_lock(conf, "target", name, kind, key);
    if (by)
        driver_refuse_locked(ctx, place, by,
                             "'%s' of target '%s' may not be set here: the site has locked it", key,
                             name);
    return !by;
}

/* The attributes that a section gives; NULL after recording an error. */
static const tn_node *
section_attrs(tn_ctx *ctx, const tnb_conf *conf, const char *section, const tn_target_kind *kind)
{
    const char *known[256];
    uint32_t n, n_known = schema_names(kind, known, 256);
    bool ok = tnb_conf_check(conf, "target", section, known, n_known, tn_diags(ctx));
    const tn_node *attrs = tn_dict_of(ctx, NULL, NULL, 0);
    const tnb_conf_value **values =
        tnb_conf_section_values(conf, tn_arena(ctx), "target", section, &n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_attr_schema *s = schema_of(kind, values[i]->key);
        if (!s)
            continue;
        if (values[i]->layer >= TNB_CONF_USER &&
            !may_set(ctx, conf, section, kind, s->name, driver_place(values[i])))
            return NULL;
        const tn_node *value = section_attr(ctx, section, s, values[i]);
        ok &= value != NULL; /* each wrong one is told */
        if (value)
            attrs = tn_dict_set(ctx, attrs, s->name, value);
    }
    return ok ? attrs : NULL;
}

static const tn_target_kind *
find_kind(tn_ctx *ctx, const char *name)
{
    tnb_err err = {0};
    const tn_target_kind *k = tn_find_target(tn_ctx_registry(ctx), name, &err);
    if (!k)
        error_here(ctx, &err);
    return k;
}

/* Attributes that a caller gives beside the target's own, Dicts or NULL; and the configuration, which may lock some. */
struct more {
    const tn_node *over, *usual;
    const tnb_conf *conf;
};

/* Whether a user may set the attributes among those of `given` (Dict or NULL) that the kind knows. */
static bool
may_set_all(tn_ctx *ctx, const tnb_conf *conf, const char *name, const tn_target_kind *kind,
            const tn_node *given, tnb_place place)
{
    const tn_dict *d = tn_as_dict(given);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const char *key = tn_as_pair(d->items.at[i])->key;
        if (schema_of(kind, key) && !may_set(ctx, conf, name, kind, key, place))
            return false;
    }
    return true;
}

/* Whether the site has made the target, or a part of it. */
static bool
is_of_site(tn_ctx *ctx, const tnb_conf *conf, const char *name)
{
    uint32_t n;
    const tnb_conf_value **values =
        tnb_conf_section_values(conf, tn_scratch(ctx), "target", name, &n);
    const tnb_conf_value *tag = tnb_conf_find(conf, "tags", "", name);
    bool site = tag && tag->layer < TNB_CONF_USER;
    for (uint32_t i = 0; i < n; i++)
        site |= values[i]->layer < TNB_CONF_USER;
    return site;
}

/* `attrs` with the attribute as [target SECTION] of the site sets and locks it, if it does; NULL after recording an error. */
static const tn_node *
with_locked(tn_ctx *ctx, const tnb_conf *conf, const char *section, const tn_attr_schema *s,
            const tn_node *attrs)
{
    const tnb_conf_value *v = tnb_conf_find(conf, "target", section, s->name);
    if (!v || !tnb_conf_locked(conf, "target", section, s->name))
        return attrs;
    const tn_node *value = section_attr(ctx, section, s, v);
    return value ? tn_dict_set(ctx, attrs, s->name, value) : NULL;
}

/* What the site has set and locked for a backend holds for targets of it that users make, too; NULL after recording an error. */
static const tn_node *
with_all_locked(tn_ctx *ctx, const tnb_conf *conf, const char *name, const tn_target_kind *kind,
                const tn_node *attrs)
{
    if (!conf || is_of_site(ctx, conf, name))
        return attrs;
    for (const tn_attr_schema *s = kind->attrs; s && s->name && attrs; s++) {
        attrs = with_locked(ctx, conf, kind->base.name, s, attrs);
        for (const char *const *k = kind->kinds; k && *k && attrs; k++)
            attrs = with_locked(ctx, conf, *k, s, attrs);
    }
    return attrs;
}

/* `attrs` with those of `given` that the kind knows; with `missing` only where `attrs` has none. */
static const tn_node *
with_given(tn_ctx *ctx, const tn_target_kind *kind, const tn_node *attrs, const tn_node *given,
           bool missing)
{
    const tn_dict *d = tn_as_dict(given);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        if (schema_of(kind, p->key) && !(missing && tn_dict_get(attrs, p->key)))
            attrs = tn_dict_set(ctx, attrs, p->key, p->value);
    }
    return attrs;
}

/* Whether passes, which know of a target no more than its kind, will find the one that was chosen. */
static bool
serves(tn_ctx *ctx, const char *name, const tn_target_kind *chosen, const char *ir_kind)
{
    tnb_err err = {0};
    const tn_target_kind *found = tn_find_target(tn_ctx_registry(ctx), ir_kind, &err);
    if (found == chosen)
        return true;
    if (found) {
        const char *of = tn_registry_plugin_of(tn_ctx_registry(ctx), &chosen->base);
        tnb_fail(&err, TNB_INVALID, "the kind '%s' is served by target '%s'", ir_kind,
                 found->base.name);
        tnb_hint(&err, "say that it does: prefer.%s = %s in [tenon]", ir_kind, of ? of : "PLUGIN");
    }
    tnb_err_prefix(&err, "target '%s'", name);
    driver_error(ctx, &err);
    return false;
}

/* Checks attributes, fills defaults, asks the machine. */
static bool
complete(tn_ctx *ctx, const char *name, const char *ir_kind, const tn_target_kind *kind,
         const tn_node *attrs, const struct more *more, tnk_target *out)
{
    if (!may_set_all(ctx, more->conf, name, kind, more->over, (tnb_place){0}) ||
        !(attrs = with_all_locked(ctx, more->conf, name, kind, attrs)))
        return false;
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    attrs = with_given(ctx, kind, attrs, more->over, false);
    attrs = with_given(ctx, kind, attrs, more->usual, true);
    tn_op schema = {.base.size = sizeof schema,
                    .base.name = tn_strf(ctx, "target %s", name),
                    .attrs = kind->attrs};
    attrs = tn_op_attrs(ctx, &schema, attrs);
    if (attrs && kind->probe)
        attrs = TN_WITHIN(ctx, "target", kind, "probe", kind->probe(ctx, attrs, kind->self));
    if (!attrs || tn_is_error(attrs)) {
        (void)tn_need_reason(ctx, errors, TNB_INVALID, "target", kind->base.name, "probe");
        return false;
    }
    if (strcmp(ir_kind, kind->base.name) == 0 && kind->kinds && kind->kinds[0])
        ir_kind = kind->kinds[0];
    if (!serves(ctx, name, kind, ir_kind))
        return false;
    *out = (tnk_target){.name = tn_str(ctx, name),
                        .target = tn_as_target(tn_target_of(ctx, ir_kind, attrs)),
                        .kind = kind};
    return out->target != NULL;
}

static bool
from_json(tn_ctx *ctx, const tnb_conf_value *tag, const char *json, const struct more *more,
          tnk_target *out)
{
    tnb_err err = {0};
    const char *name = tag ? tag->key : NULL;
    const tn_node *d = tn_value_from_json(ctx, json, strlen(json), &err);
    if (!d) {
        tnb_err_prefix(&err, "target '%s'", name ? name : "json");
        error_here(ctx, &err);
        return false;
    }
    const char *kind_name = tn_is(d, TN_KIND_DICT) ? tn_dict_str(d, "kind", NULL) : NULL;
    if (!name) /* a tag says what it was made from */
        name = kind_name && *tn_dict_str(d, "tag", "") ? tn_dict_str(d, "tag", "") : "json";
    if (!kind_name) {
        tn_error(ctx, 0, TNB_INVALID, "target '%s' names no kind", name);
        tnb_diag_hint(tn_diags(ctx),
                      "a target as JSON looks like {\"kind\": \"llvm\", \"mcpu\": \"x86-64-v3\"}");
        return false;
    }
    const tn_target_kind *kind = find_kind(ctx, kind_name);
    bool user = !tag || tag->layer >= TNB_CONF_USER;
    tnb_place place = tag ? driver_place(tag) : (tnb_place){0};
    return kind && (!user || may_set_all(ctx, more->conf, name, kind, d, place)) &&
           complete(ctx, name, kind_name, kind, tn_dict_set(ctx, d, "kind", NULL), more, out);
}

/* The targets that there are, each by a name for -t, as many as a line takes; "" if there are none. */
static const char *
all_targets(tn_ctx *ctx, const tnb_conf *conf)
{
    const tnb_plugins *plugins = tn_registry_plugins(tn_ctx_registry(ctx));
    uint32_t n = 0, n_kinds = 0;
    const char **names = conf ? tnb_conf_names(conf, tn_scratch(ctx), "target", &n) : NULL;
    const tnb_provided *kinds =
        plugins ? tnb_plugins_provided(plugins, tn_scratch(ctx), "target", &n_kinds) : NULL;
    const char *all = "";
    uint32_t n_all = 0;
    for (uint32_t i = 0; i < n_kinds + n; i++) {
        const char *name = i < n_kinds ? kinds[i].name : names[i - n_kinds];
        if (i >= n_kinds && plugins && tnb_plugins_find(plugins, "target", name, NULL))
            continue;
        if (n_all++ == MAX_NAMED)
            return tn_strf(ctx, "%s, ...", all);
        all = tn_strf(ctx, "%s%s%s", all, *all ? ", " : "", name);
    }
    return all;
}

/* "cuda,max_threads=3" and "cuda -max_threads=3", as other tools take attributes: where they stand here, word by word. NULL: the text
 * is nothing like that. */
static const char *
with_attributes(tn_ctx *ctx, const tnb_conf *conf, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t n = strcspn(text, ", -:");
    if (!equals || n == 0 || text + n > equals)
        return NULL;
    const char *kind = tn_strn(ctx, text, n), *json = "", *ini = "";
    if (!tn_find_target(tn_ctx_registry(ctx), kind, NULL) &&
        !(conf && tnb_conf_has(conf, "target", kind)))
        return NULL;
    for (const char *at = text + n; *at;) {
        at += strspn(at, ", -:");
        size_t k = strcspn(at, "=, "), v = at[k] == '=' ? strcspn(at + k + 1, ", ") : 0;
        int64_t i;
        if (!k || at[k] != '=')
            return NULL;
        const char *key = tn_strn(ctx, at, k), *value = tn_strn(ctx, at + k + 1, v);
        bool plain =
            tnb_read_i64(value, v, &i) || strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
        const char *quote = plain ? "" : "\"";
        json = tn_strf(ctx, "%s, \"%s\": %s%s%s", json, key, quote, value, quote);
        ini = tn_strf(ctx, "%s\n    %s = %s", ini, key, value);
        at += k + 1 + v;
    }
    return tn_strf(ctx,
                   "attributes stand in JSON:  -t '{\"kind\": \"%s\"%s}'\n"
                   "or in an INI file, with -t mine:\n    [target mine]\n    kind = %s%s",
                   kind, json, kind, ini);
}

/* The error of an unknown kind knows of plugins only: targets have sections, too. */
static void
note_near_section(tn_ctx *ctx, const tnb_conf *conf, const char *text)
{
    uint32_t n;
    const char **names = tnb_conf_names(conf, tn_scratch(ctx), "target", &n);
    const char *near = tnb_nearest(text, names, n);
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
    const char *all = driver_promised(ctx, "target", text) ? "" : all_targets(ctx, conf);
    if (*all)
        tnb_diag_note(tn_diags(ctx), "there are %s; tenon list targets tells what each can do here",
                      all);
}

/* Where the section's attributes are given: which of them a message of the target is about, only its text says. */
static void
note_places(tn_ctx *ctx, const tnb_conf *conf, const char *section)
{
    uint32_t n;
    const tnb_conf_value **values =
        tnb_conf_section_values(conf, tn_scratch(ctx), "target", section, &n);
    const char *places = "";
    for (uint32_t i = 0; i < n; i++) {
        places = tn_strf(ctx, "%s%s%s", places, i ? ", " : "", values[i]->file);
        if (values[i]->line) /* an option has none */
            places = tn_strf(ctx, "%s:%u", places, values[i]->line);
        places = tn_strf(ctx, "%s (%s)", places, values[i]->key);
    }
    if (n)
        tnb_diag_note(tn_diags(ctx), "the attributes are given in [target %s], %s", section,
                      places);
}

/* Whether a plugin has schedules for targets with the key: rules called KEY.NAME. */
static bool
has_rules(tn_ctx *ctx, const char *key)
{
    const tnb_plugins *plugins = tn_registry_plugins(tn_ctx_registry(ctx));
    uint32_t n = 0;
    const tnb_provided *rules =
        plugins ? tnb_plugins_provided(plugins, tn_scratch(ctx), "rule", &n) : NULL;
    const size_t length = strlen(key);
    for (uint32_t i = 0; i < n; i++)
        if (strncmp(rules[i].name, key, length) == 0 && rules[i].name[length] == '.')
            return true;
    return false;
}

static void
warn_of_unknown(tn_ctx *ctx, const tn_attr_schema *s, const tnb_conf_value *v, const char *text)
{
    const char *near;
    if (tn_text_is_known(ctx, s->allowed, text, &near) ||
        (strcmp(s->name, "keys") == 0 && has_rules(ctx, text)))
        return;
    tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(v),
               "'%s' in '%s' of [target %s] has no effect: nothing knows it", text, s->name,
               v->name);
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
    else
        tnb_diag_hint(tn_diags(ctx), "known are: %s", tn_allowed_words(ctx, s));
}

/* Values in the section that have no effect. Those of packages are theirs. */
static void
warn_of_idle(tn_ctx *ctx, const tnb_conf *conf, const char *section, const tn_target_kind *kind)
{
    uint32_t n;
    const tnb_conf_value **values =
        tnb_conf_section_values(conf, tn_scratch(ctx), "target", section, &n);
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value *v = values[i];
        const tn_attr_schema *s = schema_of(kind, v->key);
        uint32_t n_texts = 1;
        if (!s || !s->allowed || v->layer < TNB_CONF_SYSTEM || !*v->value)
            continue;
        if (strcmp(s->allowed, "unused") == 0) {
            tnb_report(tn_diags(ctx), TNB_WARNING, TNB_INVALID, driver_place(v),
                       "'%s' of [target %s] has no effect: targets of this kind keep it, and "
                       "nothing reads it",
                       s->name, section);
            tnb_diag_hint(tn_diags(ctx), "leave it out; tenon show target %s prints what there is",
                          section);
        } else if (*s->allowed == '~') {
            const char **texts = is_list(s) ? tnb_conf_split(tn_scratch(ctx), v->value, &n_texts)
                                            : (const char *[]){v->value};
            for (uint32_t k = 0; k < n_texts; k++)
                warn_of_unknown(ctx, s, v, texts[k]);
        }
    }
}

static bool
from_section(tn_ctx *ctx, const tnb_conf *conf, const char *section, const struct more *more,
             tnk_target *out)
{
    const tnb_conf_value *k = tnb_conf_find(conf, "target", section, "kind");
    const tn_target_kind *kind = find_kind(ctx, k ? k->value : section);
    if (!kind) {
        if (k)
            tnb_diag_note(tn_diags(ctx), "the kind is named in [target %s], %s:%u", section,
                          k->file, k->line);
        return false;
    }
    const tn_node *attrs = section_attrs(ctx, conf, section, kind);
    if (!attrs)
        return false;
    uint32_t before = tnb_diags_count(tn_diags(ctx));
    bool ok = complete(ctx, section, k ? k->value : section, kind, attrs, more, out);
    const bool noted = !ok || tnb_diags_count(tn_diags(ctx)) > before; /* a warning, too */
    if (noted)
        note_places(ctx, conf, section);
    before = tnb_diags_count(tn_diags(ctx));
    if (ok)
        warn_of_idle(ctx, conf, section, kind);
    driver_forget_repeated(tn_diags(ctx), before);
    return ok;
}

static bool
from_tag(tn_ctx *ctx, const tnb_conf_value *tag, const struct more *more, tnk_target *out)
{
    tn_loc before = tn_at(ctx, place_of(ctx, tag));
    bool ok = from_json(ctx, tag, tag->value, more, out);
    tn_at(ctx, before);
    return ok;
}

static bool
find(tn_ctx *ctx, const tnb_conf *conf, const char *text, int depth, const struct more *more,
     tnk_target *out)
{
    if (text[0] == '{')
        return from_json(ctx, NULL, text, more, out);
    if (conf && tnb_conf_has(conf, "target", text))
        return from_section(ctx, conf, text, more, out);
    const tnb_conf_value *tag = conf ? tnb_conf_find(conf, "tags", "", text) : NULL;
    if (tag && depth == MAX_TAG_DEPTH) {
        tnb_conf_report(tag, tn_diags(ctx), TNB_INVALID,
                        "the tag '%s' leads to no target: %d tags stand for one another", text,
                        MAX_TAG_DEPTH);
        return false;
    }
    if (tag)
        return tag->value[0] == '{' ? from_tag(ctx, tag, more, out)
                                    : find(ctx, conf, tag->value, depth + 1, more, out);
    const char *apart = with_attributes(ctx, conf, text);
    if (apart) {
        tn_error(ctx, 0, TNB_INVALID, "'%s' names a target with attributes, which go elsewhere",
                 text);
        tnb_diag_hint(tn_diags(ctx), "%s", apart);
        return false;
    }
    const tn_target_kind *kind = find_kind(ctx, text);
    if (!kind && conf)
        note_near_section(ctx, conf, text);
    return kind && complete(ctx, text, text, kind, tn_dict_of(ctx, NULL, NULL, 0), more, out);
}

bool
driver_check_target(tn_ctx *ctx, const tnb_conf *conf, const char *section)
{
    const tnb_conf_value *k = tnb_conf_find(conf, "target", section, "kind");
    const tn_target_kind *kind = find_kind(ctx, k ? k->value : section);
    return kind && section_attrs(ctx, conf, section, kind);
}

bool
tnk_target_find(tn_ctx *ctx, const tnb_conf *conf, const char *text, tnk_target *out)
{
    return tnk_target_find_with(ctx, conf, text, NULL, NULL, out);
}

bool
tnk_target_find_with(tn_ctx *ctx, const tnb_conf *conf, const char *text, const tn_node *over,
                     const tn_node *usual, tnk_target *out)
{
    tnk_describe_tables();
    while (*text == ' ')
        text++;
    return find(ctx, conf, text, 0, &(struct more){over, usual, conf}, out);
}

bool
driver_has_attrs(tn_ctx *ctx, const tnk_compile_options *opt, const struct driver_variant *v,
                 uint32_t n)
{
    const tn_dict *d = tn_as_dict(opt->target_attrs);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const char *key = tn_as_pair(d->items.at[i])->key;
        bool known = false;
        for (uint32_t k = 0; k < n; k++) {
            known |= schema_of(v[k].target.kind, key) != NULL;
        }
        if (known)
            continue;
        tn_error(ctx, 0, TNB_INVALID,
                 n == 1 ? "target '%s' has no attribute '%s'"
                        : "neither target '%s' nor the others have an attribute '%s'",
                 v[0].target.name, key);
        tnb_diag_hint(tn_diags(ctx), "tenon show target %s prints its attributes",
                      v[0].target.name);
        return false;
    }
    return true;
}
