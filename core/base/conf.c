/* SPDX-License-Identifier: Apache-2.0 */
/* Layered configuration: which files, in which order, and what they may set. Asking it is in
 * confget.c. */
#include "config.h"
#include "conf_private.h"
#include "tenon/base/file.h"
#include "tenon/base/ini.h"
#include "tenon/base/num.h"
#include "tenon/base/plugin.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 4 << 20 };

const tnb_conf_section *
tnb_conf_section_named(const char *name)
{
    for (const tnb_conf_section *s = tnb_conf_schema(); s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

const tnb_conf_key *
tnb_conf_key_of(const tnb_conf_section *s, const char *key)
{
    for (const tnb_conf_key *k = s->keys; k && k->name; k++) {
        size_t n = strlen(k->name);
        if (strcmp(k->name, key) == 0)
            return k;
        if (n > 2 && k->name[n - 1] == '*' && strncmp(k->name, key, n - 1) == 0 && key[n - 1])
            return k;
    }
    return NULL;
}

bool
tnb_conf_as_bool(const char *s, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (unsigned i = 0; i < 8; i++)
        if (strcmp(s, words[i]) == 0) {
            *out = i & 1;
            return true;
        }
    return false;
}

/* Records an error at the place of a value that is not kept yet. */
static void
refuse(tnb_diags *d, const tnb_conf_value *v, tnb_status status, const char *fmt, ...)
    TNB_PRINTF(4, 5);
static void
refuse(tnb_diags *d, const tnb_conf_value *v, tnb_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(d, TNB_ERROR, status, (tnb_place){.file = v->file, .line = v->line}, fmt, ap);
    va_end(ap);
}

static void
hint_nearest(tnb_diags *d, const char *s, const char *const *names, uint32_t n)
{
    const char *near = tnb_nearest(s, names, n);
    if (near)
        tnb_diag_hint(d, "did you mean '%s'?", near);
}

/* The home folder in place of the ~ of "~/tenon" and "~", as a shell has it; other text as it is. NULL after a message. */
static const char *
with_home(tnb_conf *c, const tnb_conf_value *v, const char *text, bool path, tnb_diags *d)
{
    const char *home = tnb_home();
    if (*text != '~' || (text[1] && text[1] != '/' && !path))
        return text;
    if (text[1] && text[1] != '/') {
        refuse(d, v, TNB_INVALID, "'%s' is '%s', and only ~/ stands for a folder, that of the user",
               v->key, text);
        tnb_diag_hint(d, "write the whole path, or ./%s", text);
        return NULL;
    }
    if (!home) { /* as for a service: what needs the setting says so */
        tnb_report(d, TNB_WARNING, TNB_IO, (tnb_place){.file = v->file, .line = v->line},
                   "'%s' is '%s' and is left out: HOME is no folder that is there", v->key, text);
        return NULL;
    }
    return text[1] ? tnb_path_join(c->arena, home, text + 2) : home;
}

/* The same for a value: of a list for each item. Keys of sections that are open, attributes of targets say, are paths where
 * they begin so. */
static bool
put_home(tnb_conf *c, const tnb_conf_key *k, tnb_conf_value *v, tnb_diags *d)
{
    uint32_t n = 0;
    bool list = k && k->type == TNB_CONF_LIST;
    if (!strchr(v->value, '~'))
        return true;
    const char **items = list ? tnb_conf_split(c->arena, v->value, &n) : NULL;
    const char *all = list ? "" : with_home(c, v, v->value, k && k->type == TNB_CONF_PATH, d);
    for (uint32_t i = 0; i < n && all; i++) {
        const char *item = with_home(c, v, items[i], true, d);
        all = item ? tnb_printf(c->arena, "%s%s%s", all, i ? ", " : "", item) : NULL;
    }
    if (all)
        v->value = all;
    return all != NULL;
}

static bool
type_fits(tnb_conf *c, const tnb_conf_key *k, tnb_conf_value *v, tnb_diags *d)
{
    int64_t i;
    bool b;
    switch (k->type) {
    case TNB_CONF_INT:
        if (!tnb_read_i64(v->value, strlen(v->value), &i)) {
            refuse(d, v, TNB_INVALID, "'%s' is '%s', expected an integer", v->key, v->value);
            if (strchr(v->value, '#'))
                tnb_diag_hint(d, "behind a value only ';' begins a comment");
            return false;
        }
        if ((k->least || k->most) && (i < k->least || i > k->most)) {
            refuse(d, v, TNB_INVALID, "'%s' is %s, expected a number from %lld to %lld", v->key,
                   v->value, (long long)k->least, (long long)k->most);
            return false;
        }
        return true;
    case TNB_CONF_BOOL:
        if (tnb_conf_as_bool(v->value, &b))
            return true;
        refuse(d, v, TNB_INVALID, "'%s' is '%s', expected true or false", v->key, v->value);
        return false;
    case TNB_CONF_PATH:
        if (*v->value && *v->value != '/' && v->line)
            v->value = tnb_path_join(c->arena, tnb_path_dir(c->arena, v->file), v->value);
        return true;
    default:
        return true;
    }
}

/* The section and key must be known. */
static const tnb_conf_section *
known(const tnb_conf_value *v, tnb_diags *d)
{
    const char *names[64];
    uint32_t n = 0;
    const tnb_conf_section *s = tnb_conf_section_named(v->section);
    if (!s) {
        for (s = tnb_conf_schema(); s->name && n < 64; s++)
            names[n++] = s->name;
        refuse(d, v, TNB_INVALID, "unknown section [%s%s%s]", v->section, *v->name ? " " : "",
               v->name);
        hint_nearest(d, v->section, names, n);
        return NULL;
    }
    if (s->named != (*v->name != 0)) {
        refuse(d, v, TNB_INVALID,
               s->named ? "section [%s] lacks a name" : "section [%s] takes no name", s->name);
        if (s->named)
            tnb_diag_hint(d, "write [%s NAME]", s->name);
        return NULL;
    }
    if ((!*v->key && v->line) || s->open || tnb_conf_key_of(s, v->key)) /* [SECTION] alone */
        return s;
    for (const tnb_conf_key *k = s->keys; k && k->name && n < 64; k++)
        names[n++] = k->name;
    refuse(d, v, TNB_INVALID, "unknown key '%s' in [%s%s%s]", v->key, v->section,
           *v->name ? " " : "", v->name);
    hint_nearest(d, v->key, names, n);
    return NULL;
}

static char *
id_of(tnb_arena *a, const char *section, const char *name, const char *key)
{
    return tnb_printf(a, "%s.%s.%s", section, name, key);
}

/* What locks a key, if anything does: the key's own lock, or that of a beginning of it. */
static const tnb_conf_value *
lock_on(const tnb_conf *c, const char *section, const char *name, const char *key)
{
    const tnb_conf_value *l = tnb_conf_lookup(&c->locks, section, name, key);
    if (l || !c->locks.n)
        return l;
    char *id = malloc(c->longest_lock + 1);
    if (!id)
        return c->locks.at[0].value; /* nothing may be set that could be locked */
    int n = snprintf(id, c->longest_lock + 1, "%s.%s.%s", section, name ? name : "", key);
    size_t length = n < 0 ? 0 : (size_t)n;
    if (length > c->longest_lock - 1)
        length = c->longest_lock - 1;
    for (size_t k = length + 1; k-- > 0 && !l;) {
        memcpy(id + k, "*", 2);
        l = tnb_strmap_get(&c->locks, id);
    }
    free(id);
    return l;
}

const tnb_conf_value *
tnb_conf_locked(const tnb_conf *c, const char *section, const char *name, const char *key)
{
    return c ? lock_on(c, section, name, key) : NULL;
}

/* A lock that names nothing protects nothing. `dot`: the first one of the entry, or NULL. */
static void
check_lock(const tnb_conf_value *v, const char *entry, const tnb_conf_section *s,
           const char *section, const char *dot, tnb_diags *d)
{
    const char *names[64], *rest = dot ? dot + 1 : "*";
    uint32_t n = 0;
    if (!s) {
        for (s = tnb_conf_schema(); s->name && n < 64; s++)
            names[n++] = s->name;
        refuse(d, v, TNB_INVALID, "the lock '%s' names no section: there is no [%s]", entry,
               section);
        hint_nearest(d, section, names, n);
        return;
    }
    if (strcmp(rest, "*") == 0)
        return;
    const char *key = s->named ? strchr(rest, '.') : rest - 1;
    if (!key) {
        refuse(d, v, TNB_INVALID, "the lock '%s' names no key", entry);
        tnb_diag_hint(d, "write %s.NAME.KEY, or %s.%s.* for all keys", s->name, s->name, rest);
        return;
    }
    if (s->open || strcmp(++key, "*") == 0 || tnb_conf_key_of(s, key))
        return;
    for (const tnb_conf_key *k = s->keys; k && k->name && n < 64; k++)
        names[n++] = k->name;
    refuse(d, v, TNB_INVALID, "the lock '%s' names no key: [%s%s] has no '%s'", entry, s->name,
           s->named ? " NAME" : "", key);
    hint_nearest(d, key, names, n);
}

/* "tenon.threads" is stored as "tenon..threads". */
static void
add_locks(tnb_conf *c, const tnb_conf_value *v, tnb_diags *d)
{
    uint32_t n;
    const char **items = tnb_conf_split(c->arena, v->value, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *dot = strchr(items[i], '.');
        char *section =
            tnb_strndup(c->arena, items[i], dot ? (size_t)(dot - items[i]) : strlen(items[i]));
        const tnb_conf_section *s = tnb_conf_section_named(section);
        check_lock(v, items[i], s, section, dot, d);
        const char *id = !dot             ? tnb_printf(c->arena, "%s.*", section)
                         : s && !s->named ? tnb_printf(c->arena, "%s..%s", section, dot + 1)
                                          : items[i];
        tnb_strmap_set(&c->locks, id, v);
        if (strlen(id) > c->longest_lock)
            c->longest_lock = strlen(id);
    }
}

/* Keeps the place of a value that nothing has set before. */
static tnb_conf_value *
add_value(tnb_conf *c, const char *id, const tnb_conf_value *v)
{
    tnb_conf_value *at = TNB_NEW(c->arena, tnb_conf_value);
    tnb_conf_group *g = tnb_conf_lookup(&c->groups, v->section, v->name, NULL);
    if (!g) {
        g = TNB_NEW(c->arena, tnb_conf_group);
        g->section = v->section;
        g->name = v->name;
        tnb_strmap_set(&c->groups, tnb_printf(c->arena, "%s.%s", v->section, v->name), g);
    }
    TNB_PUSH(c->arena, g->values, at);
    tnb_strmap_set(&c->values, id, at);
    return at;
}

static void
set(tnb_conf *c, tnb_conf_value v, tnb_diags *d)
{
    const tnb_conf_section *s = known(&v, d);
    if (!s || (!*v.key && v.line))
        return;
    const tnb_conf_key *k = tnb_conf_key_of(s, v.key);
    if (!put_home(c, k, &v, d) || (k && !type_fits(c, k, &v, d)))
        return;
    char *id = id_of(c->arena, v.section, v.name, v.key);
    const tnb_conf_value *lock =
        v.layer >= TNB_CONF_USER ? lock_on(c, v.section, v.name, v.key) : NULL;
    if (lock) {
        refuse(d, &v, TNB_UNTRUSTED, "'%s' may not be set here: the site has locked it", v.key);
        tnb_diag_note(d, "locked by %s:%u", lock->file, lock->line);
        tnb_diag_hint(d, "leave it out, or ask who administers that file");
        return;
    }
    tnb_conf_value *old = tnb_strmap_get(&c->values, id);
    if (!old)
        old = add_value(c, id, &v);
    *old = v;
    if (strcmp(v.section, "tenon") == 0 && strcmp(v.key, "lock") == 0 && v.trusted) {
        tnb_conf_value *copy = TNB_NEW(c->arena, tnb_conf_value);
        *copy = v;
        add_locks(c, copy, d);
    } else if (strcmp(v.section, "tenon") == 0 && strcmp(v.key, "lock") == 0) {
        tnb_report(d, TNB_WARNING, TNB_UNTRUSTED, (tnb_place){.file = v.file, .line = v.line},
                   "'lock' has no effect: the file belongs to somebody else");
    }
}

/* One file. A file that is absent is fine unless it was asked for. */
static void
load_file(tnb_conf *c, const char *path, tnb_conf_layer layer, tnb_diags *d)
{
    tnb_mapping m;
    tnb_err err;
    path = tnb_strdup(c->arena, path);
    tnb_place place = {.file = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        char reason[128];
        if ((errno == ENOENT || errno == ENOTDIR) && layer < TNB_CONF_ENV)
            return;
        if (layer == TNB_CONF_USER) { /* as for a service, whose HOME is another's */
            tnb_report(d, TNB_WARNING, TNB_IO, place, "cannot be opened, and is left out: %s",
                       strerror_r(errno, reason, sizeof reason));
            return;
        }
        tnb_report(d, TNB_ERROR, TNB_IO, place, "cannot be opened: %s",
                   strerror_r(errno, reason, sizeof reason));
        return;
    }
    struct stat st;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (regular && tnb_unshared_fd(fd, path, &err) != TNB_OK) {
        tnb_report(d, TNB_ERROR, err.status, (tnb_place){0}, "the configuration %s", err.message);
        tnb_diag_hint(d, "%s", err.hint);
        close(fd);
        return;
    }
    bool trusted = tnb_trust_fd(fd, path, NULL, 0, &err) == TNB_OK;
    if (tnb_map_fd(fd, path, MAX_FILE, &m, &err) != TNB_OK) {
        tnb_report(d, TNB_ERROR, err.status, place, "%s", err.message);
        if (*err.hint)
            tnb_diag_hint(d, "%s", err.hint);
        close(fd);
        return;
    }
    close(fd);
    tnb_ini_entry *e;
    uint32_t n;
    tnb_ini_read(c->arena, path, m.data, (size_t)m.size, &e, &n, d);
    tnb_unmap(&m);
    for (uint32_t i = 0; i < n; i++)
        set(c,
            (tnb_conf_value){.section = e[i].section,
                             .name = e[i].name,
                             .key = e[i].key,
                             .value = e[i].value,
                             .file = path,
                             .line = e[i].line,
                             .layer = layer,
                             .trusted = trusted},
            d);
}

/* DIR/SUB/NAME.ini, sorted; leaving out names that also lie in `unless`/SUB. */
static void
load_folder(tnb_conf *c, const char *dir, const char *sub, const char *unless, tnb_conf_layer layer,
            tnb_diags *d)
{
    const char **names, *folder = tnb_path_join(c->arena, dir, sub);
    uint32_t n;
    tnb_err err;
    tnb_status s = tnb_list_dir(c->arena, folder, ".ini", &names, &n, &err);
    if (s != TNB_OK && s != TNB_NOT_FOUND)
        tnb_report(d, TNB_ERROR, s, (tnb_place){0}, "%s", err.message);
    for (uint32_t i = 0; i < n; i++) {
        if (*names[i] == '.')
            continue;
        if (unless &&
            access(tnb_path_join(c->arena, tnb_path_join(c->arena, unless, sub), names[i]), F_OK) ==
                0)
            continue;
        load_file(c, tnb_path_join(c->arena, folder, names[i]), layer, d);
    }
}

/* "SECTION.NAME.KEY=VALUE" */
static void
load_set(tnb_conf *c, const char *text, tnb_diags *d)
{
    const char *equals = strchr(text, '='), *dot = strchr(text, '.');
    tnb_conf_value v = {.name = "", .file = "--set", .layer = TNB_CONF_SET, .trusted = true};
    if (!equals || !dot || dot > equals) {
        refuse(d, &v, TNB_INVALID, "'%s' is not SECTION.NAME.KEY=VALUE", text);
        tnb_diag_hint(d, "for example --set tenon.threads=2 or --set target.cpu.mcpu=native");
        return;
    }
    v.section = tnb_strndup(c->arena, text, (size_t)(dot - text));
    const char *key = dot + 1;
    const tnb_conf_section *s = tnb_conf_section_named(v.section);
    if (s && s->named) {
        const char *second = memchr(key, '.', (size_t)(equals - key));
        if (!second || !tnb_is_ini_name(key, (size_t)(second - key))) {
            refuse(d, &v, TNB_INVALID, "'%s' is not %s.NAME.KEY=VALUE", text, s->name);
            return;
        }
        v.name = tnb_strndup(c->arena, key, (size_t)(second - key));
        key = second + 1;
    }
    v.key = tnb_strndup(c->arena, key, (size_t)(equals - key));
    v.value = tnb_strdup(c->arena, equals + 1);
    set(c, v, d);
}

static void
load_built_in(tnb_conf *c, tnb_diags *d)
{
    for (const tnb_conf_section *s = tnb_conf_schema(); s->name; s++)
        for (const tnb_conf_key *k = s->keys; !s->named && k && k->name; k++)
            if (k->fallback)
                set(c,
                    (tnb_conf_value){.section = s->name,
                                     .name = "",
                                     .key = k->name,
                                     .value = k->fallback,
                                     .file = "built-in",
                                     .layer = TNB_CONF_BUILT_IN,
                                     .trusted = true},
                    d);
}

static void
load_system(tnb_conf *c, tnb_diags *d)
{
    static const char *const subs[] = {"targets", "profiles", "conf.d"};
    const tnb_places *p = tnb_places_get();
    if (!p) {
        tnb_report(d, TNB_ERROR, TNB_NO_MEMORY, (tnb_place){0}, "no memory for the folders' names");
        return;
    }
    for (int i = 0; i < 3; i++)
        load_folder(c, p->data, subs[i], p->conf, TNB_CONF_DATA, d);
    load_file(c, tnb_path_join(c->arena, p->conf, "tenon.ini"), TNB_CONF_SYSTEM, d);
    for (int i = 0; i < 3; i++)
        load_folder(c, p->conf, subs[i], NULL, TNB_CONF_SYSTEM, d);
}

static void
load_user(tnb_conf *c, tnb_diags *d)
{
    const char *xdg = tnb_env("XDG_CONFIG_HOME"), *home = tnb_env("HOME");
    if (xdg && *xdg == '/')
        load_file(c, tnb_path_join(c->arena, xdg, "tenon/tenon.ini"), TNB_CONF_USER, d);
    else if (home && *home == '/')
        load_file(c, tnb_path_join(c->arena, home, ".config/tenon/tenon.ini"), TNB_CONF_USER, d);
    const char *list = tnb_env("TENON_CONFIG");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n)
            load_file(c, tnb_strndup(c->arena, list, n), TNB_CONF_ENV, d);
        list += n + (list[n] == ':');
    }
}

tnb_conf *
tnb_conf_load(const tnb_conf_options *o, tnb_diags *diags)
{
    static const tnb_conf_options none;
    if (!o)
        o = &none;
    uint32_t errors = tnb_diags_errors(diags);
    tnb_conf *c = calloc(1, sizeof *c);
    if (c && !(c->arena = tnb_arena_new())) {
        free(c);
        c = NULL;
    }
    if (!c) {
        tnb_report(diags, TNB_ERROR, TNB_NO_MEMORY, (tnb_place){0},
                   "no memory for the configuration");
        return NULL;
    }
    tnb_strmap_init(&c->values, c->arena);
    tnb_strmap_init(&c->groups, c->arena);
    tnb_strmap_init(&c->locks, c->arena);
    load_built_in(c, diags);
    if (!o->only_these) {
        load_system(c, diags);
        if (!o->no_user)
            load_user(c, diags);
    }
    for (uint32_t i = 0; i < o->n_files; i++)
        load_file(c, o->files[i], TNB_CONF_OPTION, diags);
    for (uint32_t i = 0; i < o->n_sets; i++)
        load_set(c, o->sets[i], diags);
    if (tnb_arena_failed(c->arena))
        tnb_report(diags, TNB_ERROR, TNB_NO_MEMORY, (tnb_place){0},
                   "no memory for the configuration");
    if (tnb_diags_errors(diags) == errors || (o->keep_going && !tnb_arena_failed(c->arena)))
        return c;
    tnb_conf_free(c);
    return NULL;
}

void
tnb_conf_free(tnb_conf *c)
{
    if (!c)
        return;
    tnb_arena_free(c->arena);
    free(c);
}
