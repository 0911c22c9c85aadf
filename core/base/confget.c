/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the configuration. */
#include "conf_private.h"
#include "tenon/base/num.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
tnb_conf_lookup(const tnb_strmap *m, const char *section, const char *name, const char *key)
{
    char small[192], *id = small;
    const char *parts[] = {section, ".", name ? name : "", key ? "." : "", key ? key : ""};
    size_t lengths[5], all = 0;
    for (int i = 0; i < 5; i++)
        all += lengths[i] = strlen(parts[i]);
    if (all >= sizeof small && !(id = malloc(all + 1)))
        return NULL;
    char *to = id;
    for (int i = 0; i < 5; to += lengths[i++])
        memcpy(to, parts[i], lengths[i]);
    *to = 0;
    void *v = tnb_strmap_get(m, id);
    if (id != small)
        free(id);
    return v;
}

const tnb_conf_value *
tnb_conf_find(const tnb_conf *c, const char *section, const char *name, const char *key)
{
    return c ? tnb_conf_lookup(&c->values, section, name, key) : NULL;
}

const char *
tnb_conf_text(const tnb_conf *c, const char *section, const char *name, const char *key)
{
    const tnb_conf_value *v = tnb_conf_find(c, section, name, key);
    if (v)
        return v->value;
    const tnb_conf_section *s = tnb_conf_section_named(section);
    const tnb_conf_key *k = s ? tnb_conf_key_of(s, key) : NULL;
    return k ? k->fallback : NULL;
}

void
tnb_conf_report(const tnb_conf_value *v, tnb_diags *diags, tnb_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(diags, TNB_ERROR, status, (tnb_place){.file = v->file, .line = v->line}, fmt, ap);
    va_end(ap);
}

bool
tnb_conf_int(const tnb_conf *c, const char *section, const char *name, const char *key,
             int64_t otherwise, int64_t *out, tnb_diags *diags)
{
    const char *s = tnb_conf_text(c, section, name, key);
    const tnb_conf_value *v = tnb_conf_find(c, section, name, key);
    *out = otherwise;
    if (!s || tnb_read_i64(s, strlen(s), out))
        return true;
    if (diags && v)
        tnb_conf_report(v, diags, TNB_INVALID, "'%s' is '%s', expected an integer", key, s);
    return false;
}

bool
tnb_conf_bool(const tnb_conf *c, const char *section, const char *name, const char *key,
              bool otherwise, bool *out, tnb_diags *diags)
{
    const char *s = tnb_conf_text(c, section, name, key);
    const tnb_conf_value *v = tnb_conf_find(c, section, name, key);
    *out = otherwise;
    if (!s || tnb_conf_as_bool(s, out))
        return true;
    if (diags && v)
        tnb_conf_report(v, diags, TNB_INVALID, "'%s' is '%s', expected true or false", key, s);
    return false;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char **
tnb_conf_split(tnb_arena *a, const char *text, uint32_t *n)
{
    TNB_VEC(const char *) v = {0};
    int depth = 0;
    bool quote = false;
    const char *start = text;
    for (const char *p = text;; p++) {
        bool end = !*p || (!quote && depth == 0 && (*p == ',' || *p == '\n'));
        if (!end) {
            switch (*p) {
            case '\\':
                p += quote && p[1];
                break;
            case '"':
                quote = !quote;
                break;
            case '(':
            case '[':
            case '{':
                depth += !quote;
                break;
            case ')':
            case ']':
            case '}':
                depth -= !quote && depth > 0;
                break;
            default:;
            }
            continue;
        }
        const char *from = start, *to = p;
        while (from < to && is_blank(*from))
            from++;
        while (to > from && is_blank(to[-1]))
            to--;
        if (to > from)
            TNB_PUSH(a, v, tnb_strndup(a, from, (size_t)(to - from)));
        if (!*p)
            break;
        start = p + 1;
    }
    *n = v.n;
    return v.at;
}

const char **
tnb_conf_names(const tnb_conf *c, tnb_arena *a, const char *section, uint32_t *n)
{
    TNB_VEC(const char *) v = {0};
    for (uint32_t i = 0; c && i < c->groups.n; i++) {
        const tnb_conf_group *g = c->groups.at[i].value;
        if (strcmp(g->section, section) == 0)
            TNB_PUSH(a, v, g->name);
    }
    *n = v.n;
    return v.at;
}

bool
tnb_conf_has(const tnb_conf *c, const char *section, const char *name)
{
    return c && tnb_conf_lookup(&c->groups, section, name, NULL);
}

const tnb_conf_value **
tnb_conf_section_values(const tnb_conf *c, tnb_arena *a, const char *section, const char *name,
                        uint32_t *n)
{
    const tnb_conf_group *g = c ? tnb_conf_lookup(&c->groups, section, name, NULL) : NULL;
    TNB_VEC(const tnb_conf_value *) v = {0};
    for (uint32_t i = 0; g && i < g->values.n; i++)
        TNB_PUSH(a, v, g->values.at[i]);
    *n = v.n;
    return v.at;
}

const tnb_conf_value **
tnb_conf_all(const tnb_conf *c, tnb_arena *a, uint32_t *n)
{
    TNB_VEC(const tnb_conf_value *) v = {0};
    for (const tnb_conf_section *s = tnb_conf_schema(); s->name; s++) {
        uint32_t n_names, k;
        const char **names = tnb_conf_names(c, a, s->name, &n_names);
        for (uint32_t i = 0; i < n_names; i++) {
            const tnb_conf_value **e = tnb_conf_section_values(c, a, s->name, names[i], &k);
            for (uint32_t j = 0; j < k; j++)
                TNB_PUSH(a, v, e[j]);
        }
    }
    *n = v.n;
    return v.at;
}

bool
tnb_conf_check(const tnb_conf *c, const char *section, const char *name, const char *const *known,
               uint32_t n, tnb_diags *diags)
{
    const tnb_conf_section *s = tnb_conf_section_named(section);
    const tnb_conf_group *g = c ? tnb_conf_lookup(&c->groups, section, name, NULL) : NULL;
    bool ok = true;
    for (uint32_t i = 0; g && i < g->values.n; i++) {
        const tnb_conf_value *e = g->values.at[i];
        if (s && tnb_conf_key_of(s, e->key))
            continue;
        bool found = false;
        for (uint32_t k = 0; k < n && !found; k++)
            found = strcmp(known[k], e->key) == 0;
        if (found)
            continue;
        ok = false;
        tnb_conf_report(e, diags, TNB_INVALID, "unknown key '%s' in [%s%s%s]", e->key, section,
                        *e->name ? " " : "", e->name);
        const char *near = tnb_nearest(e->key, known, n);
        if (near)
            tnb_diag_hint(diags, "did you mean '%s'?", near);
        else if (strcmp(section, "target") == 0)
            tnb_diag_hint(diags, "tenon show targets lists the attributes of each kind");
    }
    return ok;
}
