/* SPDX-License-Identifier: Apache-2.0 */
/* Checks entries of plugins' tables by the description of their kind. */
#include "tenon/base/entry.h"
#include <string.h>

/* In front of a message, three texts: whose entry it is. */
#define OF(plugin) (plugin) ? "plugin " : "", (plugin) ? (plugin) : "", (plugin) ? ": " : ""

static bool
has(const tnb_entry_kind *s, const void *thing, const char *name, size_t n)
{
    for (const tnb_member *m = s->members; m && m->name; m++)
        if (strlen(m->name) == n && memcmp(m->name, name, n) == 0) {
            const void *p;
            memcpy(&p, (const char *)thing + m->at, sizeof p);
            return p != NULL;
        }
    return false; /* a need that is no member is never met: a test of every kind finds it */
}

/* Of the members `a+b+c` that end at `end`: how many are set, how many there are, and the first that is not. */
static size_t
count(const tnb_entry_kind *s, const void *thing, const char *at, const char *end, size_t *all,
      const char **lacks, size_t *n_lacks)
{
    size_t set = 0;
    *all = 0;
    *lacks = NULL;
    while (at < end) {
        const char *plus = memchr(at, '+', (size_t)(end - at));
        size_t n = (size_t)((plus ? plus : end) - at);
        ++*all;
        if (has(s, thing, at, n)) {
            set++;
        } else if (!*lacks) {
            *lacks = at;
            *n_lacks = n;
        }
        at += n + (plus ? 1 : 0);
    }
    return set;
}

static tnb_status
missing(const tnb_entry_kind *s, const char *name, const char *plugin, const char *lacks, size_t n,
        const char *more, int n_more, tnb_err *err)
{
    (void)tnb_fail(err, TNB_INVALID, "%s%s%sthe %s '%s' has no `%.*s`%s%.*s", OF(plugin), s->kind,
                   name, (int)n, lacks, n_more ? "; it needs all of, or none of: " : "", n_more,
                   more);
    tnb_hint(err, "set .%.*s of the entry; %s says what it is", (int)n, lacks,
             s->type ? s->type : "its header");
    return TNB_INVALID;
}

static tnb_status
check_term(const tnb_entry_kind *s, const void *thing, const char *name, const char *plugin,
           const char *term, const char *end, tnb_err *err)
{
    size_t all, n_lacks = 0, first_n = 0;
    const char *lacks, *first = NULL;
    if (*term == '?') {
        size_t set = count(s, thing, term + 1, end, &all, &lacks, &n_lacks);
        return set == 0 || set == all
                   ? TNB_OK
                   : missing(s, name, plugin, lacks, n_lacks, term + 1, (int)(end - term - 1), err);
    }
    for (const char *at = term; at < end;) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        const char *stop = bar ? bar : end;
        if (count(s, thing, at, stop, &all, &lacks, &n_lacks) == all)
            return TNB_OK;
        if (!first) {
            first = lacks;
            first_n = n_lacks;
        }
        at = bar ? bar + 1 : end;
    }
    if (!memchr(term, '|', (size_t)(end - term)))
        return missing(s, name, plugin, first, first_n, "", 0, err);
    (void)tnb_fail(err, TNB_INVALID, "%s%s%sthe %s '%s' has none of `%.*s`", OF(plugin), s->kind,
                   name, (int)(end - term), term);
    tnb_hint(err, "set one of these members of the entry (+: all of them); %s says what they are",
             s->type ? s->type : "its header");
    return TNB_INVALID;
}

tnb_status
tnb_entry_needs(const tnb_entry_kind *s, const void *thing, const char *name, const char *plugin,
                tnb_err *err)
{
    for (const char *at = s->needs ? s->needs : ""; *at;) {
        size_t n = strcspn(at, " ");
        TNB_TRY(check_term(s, thing, name, plugin, at, at + n, err));
        at += n + strspn(at + n, " ");
    }
    return TNB_OK;
}

tnb_status
tnb_entry_check(const tnb_entry_kind *s, const tnb_entry *e, const char *plugin, tnb_err *err)
{
    if (!e)
        return tnb_fail(err, TNB_INVALID, "%s%s%sa %s is NULL", OF(plugin), s->kind);
    if (e->size < (s->size ? sizeof e->size : sizeof *e)) {
        (void)tnb_fail(err, TNB_INVALID, "%s%s%sa %s does not say its size", OF(plugin), s->kind);
        tnb_hint(err, "set .base.size to sizeof of the entry's type%s%s", s->type ? ": " : "",
                 s->type ? s->type : "");
        return TNB_INVALID;
    }
    if (s->size && e->size != s->size) {
        (void)tnb_fail(err, TNB_ABI, "%s%s%sthe %s '%s' has %u bytes; in this Tenon it has %zu",
                       OF(plugin), s->kind, e->size >= sizeof *e && e->name ? e->name : "?",
                       e->size, s->size);
        tnb_hint(err, "rebuild the plugin against the headers of this Tenon");
        return TNB_ABI;
    }
    if (!e->name || !*e->name) {
        (void)tnb_fail(err, TNB_INVALID, "%s%s%sa %s has no name", OF(plugin), s->kind);
        tnb_hint(err, "set .base.name of the entry, and promise the name in the manifest");
        return TNB_INVALID;
    }
    TNB_TRY(tnb_entry_needs(s, e, e->name, plugin, err));
    return s->check ? s->check(e, plugin, err) : TNB_OK;
}
