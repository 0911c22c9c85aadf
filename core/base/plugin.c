/* SPDX-License-Identifier: Apache-2.0 */
/* The index of plugins: manifests read, candidates judged by the rules that need no module, and
 * questions answered. Loading is in pluginload.c.
 */
#include "config.h"
#include "plugin_private.h"
#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/ini.h"
#include "tenon/base/num.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_MANIFEST = 1 << 20 };

static void
mark(tnb_plugins *p, tnb_plugin *c, tnb_plugin_state state, const char *why, const char *cure)
{
    c->state = state;
    c->why = tnb_strdup(p->arena, why);
    c->cure = tnb_strdup(p->arena, cure);
}

void
tnb_plugins_refuse(tnb_plugins *p, const tnb_plugin *plugin, const tnb_err *why)
{
    mark(p, &tnb_candidate_of(p, plugin)->pub, TNB_PLUGIN_REFUSED, why->message, why->hint);
}

/* "0.1" */
static bool
read_version(const char *s, uint32_t *major, uint32_t *minor)
{
    uint64_t a, b;
    const char *dot = strchr(s, '.');
    if (!dot || !tnb_read_u64(s, (size_t)(dot - s), &a) ||
        !tnb_read_u64(dot + 1, strlen(dot + 1), &b) || a > UINT32_MAX || b > UINT32_MAX)
        return false;
    *major = (uint32_t)a;
    *minor = (uint32_t)b;
    return true;
}

static int
by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tnb_status
take_entry(tnb_plugins *p, tnb_plugin *c, const tnb_ini_entry *e, tnb_err *err)
{
    static const char *const keys[] = {"name",    "version", "abi",      "kind",     "module",
                                       "licence", "summary", "provides", "requires", "settings"};
    enum { N_KEYS = sizeof keys / sizeof *keys };
    unsigned k = 0;
    if (strcmp(e->section, "plugin") != 0 || *e->name)
        return tnb_fail(err, TNB_FORMAT, "%s:%u: a manifest has the section [plugin] only",
                        c->manifest, e->line);
    if (!*e->key)
        return TNB_OK;
    while (k < N_KEYS && strcmp(keys[k], e->key) != 0)
        k++;
    uint32_t n;
    const char **items;
    switch (k) {
    case 0:
        c->name = e->value;
        return TNB_OK;
    case 1:
        c->version = e->value;
        return TNB_OK;
    case 2:
        if (read_version(e->value, &c->abi_major, &c->abi_minor))
            return TNB_OK;
        return tnb_fail(err, TNB_FORMAT, "%s:%u: abi is '%s', expected MAJOR.MINOR", c->manifest,
                        e->line, e->value);
    case 3:
        c->kind = strcmp(e->value, "compiler") == 0  ? TNB_PLUGIN_COMPILER
                  : strcmp(e->value, "runtime") == 0 ? TNB_PLUGIN_RUNTIME
                                                     : (tnb_plugin_kind)0;
        if (c->kind)
            return TNB_OK;
        return tnb_fail(err, TNB_FORMAT, "%s:%u: kind is '%s', expected compiler or runtime",
                        c->manifest, e->line, e->value);
    case 4:
        if (!*e->value || strchr(e->value, '/'))
            return tnb_fail(
                err, TNB_FORMAT,
                "%s:%u: module is '%s', expected the name of a file beside the manifest",
                c->manifest, e->line, e->value);
        c->module = tnb_path_join(p->arena, c->folder, e->value);
        return TNB_OK;
    case 5:
        c->licence = e->value;
        return TNB_OK;
    case 6:
        c->summary = e->value;
        return TNB_OK;
    case 7:
    case 8:
    case 9:
        items = tnb_conf_split(p->arena, e->value, &n);
        if (n)
            qsort(items, n, sizeof *items, by_bytes);
        for (uint32_t i = 0; k == 7 && i < n; i++) {
            const char *colon = strchr(items[i], ':');
            if (!colon || colon == items[i] || !colon[1])
                return tnb_fail(err, TNB_FORMAT, "%s:%u: provides '%s', expected KIND:NAME",
                                c->manifest, e->line, items[i]);
        }
        if (k == 7) {
            c->provides = items;
            c->n_provides = n;
        } else if (k == 9) {
            c->settings = items;
            c->n_settings = n;
        } else {
            c->requires_ = items;
            c->n_requires = n;
        }
        return TNB_OK;
    default: {
        const char *near = tnb_nearest(e->key, keys, N_KEYS);
        tnb_fail(err, TNB_FORMAT, "%s:%u: unknown key '%s'", c->manifest, e->line, e->key);
        if (near)
            tnb_hint(err, "did you mean '%s'?", near);
        return TNB_FORMAT;
    }
    }
}

static tnb_status
take_manifest(tnb_plugins *p, tnb_plugin *c, const void *text, size_t size, tnb_err *err)
{
    tnb_status s = TNB_OK;
    tnb_ini_entry *e;
    uint32_t n;
    tnb_diags *d = tnb_diags_new();
    if (!d)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for '%s'", c->manifest);
    if (!tnb_ini_read(p->arena, c->manifest, text, size, &e, &n, d))
        s = tnb_diags_first(d, err);
    tnb_diags_free(d);
    for (uint32_t i = 0; s == TNB_OK && i < n; i++)
        s = take_entry(p, c, &e[i], err);
    if (s != TNB_OK)
        return s;
    const char *missing = !*c->name                        ? "name"
                          : !c->abi_major && !c->abi_minor ? "abi"
                          : !c->kind                       ? "kind"
                          : !*c->module                    ? "module"
                                                           : NULL;
    if (missing)
        return tnb_fail(err, TNB_FORMAT, "%s: the manifest lacks '%s'", c->manifest, missing);
    if (!tnb_is_ini_name(c->name, strlen(c->name)))
        return tnb_fail(err, TNB_FORMAT,
                        "%s: name '%s' is not made of letters, digits, '_' and '-'", c->manifest,
                        c->name);
    return TNB_OK;
}

static tnb_status
read_manifest(tnb_plugins *p, tnb_plugin *c, tnb_err *err)
{
    tnb_mapping m;
    char reason[128];
    int fd = open(c->manifest, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tnb_fail(err, TNB_IO, "cannot open '%s': %s", c->manifest,
                        strerror_r(errno, reason, sizeof reason));
    tnb_status s = tnb_trust_fd(fd, c->manifest, p->owners, p->n_owners, err);
    if (s == TNB_OK)
        s = tnb_map_fd(fd, c->manifest, MAX_MANIFEST, &m, err);
    close(fd);
    if (s != TNB_OK)
        return s;
    s = take_manifest(p, c, m.data, (size_t)m.size, err);
    tnb_unmap(&m);
    return s;
}

tnb_status
tnb_plugin_abi_check(const char *path, uint32_t major, uint32_t minor, tnb_err *err)
{
    if (major == TNB_ABI_MAJOR && minor == TNB_ABI_MINOR)
        return TNB_OK;
    tnb_fail(err, TNB_ABI,
             "'%s' was built for Tenon ABI %u.%u; this Tenon has ABI %d.%d, and before 1.0 both "
             "have to be the same",
             path, major, minor, TNB_ABI_MAJOR, TNB_ABI_MINOR);
    if (major > TNB_ABI_MAJOR || (major == TNB_ABI_MAJOR && minor > TNB_ABI_MINOR))
        tnb_hint(err, "update Tenon, or rebuild the plugin against the installed headers");
    else
        tnb_hint(err, "rebuild the plugin against the headers of this Tenon");
    return TNB_ABI;
}

tnb_status
tnb_plugin_size_check(const tnb_plugin_head *head, size_t wanted, tnb_err *err)
{
    if (head->size == wanted)
        return TNB_OK;
    tnb_fail(err, TNB_ABI, "plugin '%s': its descriptor has %u bytes; in this Tenon it has %zu",
             head->name, head->size, wanted);
    tnb_hint(err, "rebuild the plugin against the headers of this Tenon");
    return TNB_ABI;
}

static const char *
setting(const tnb_plugin_start *start, const char *key)
{
    return start->conf && start->name ? tnb_conf_text(start->conf, "plugin", start->name, key)
                                      : NULL;
}

tnb_plugin_start
tnb_plugins_start(const tnb_plugins *p, const tnb_plugin *plugin)
{
    return (tnb_plugin_start){.size = sizeof(tnb_plugin_start),
                              .folder = plugin ? plugin->folder : NULL,
                              .setting = setting,
                              .conf = p ? p->conf : NULL,
                              .name = plugin ? plugin->name : NULL};
}

static tnb_candidate *
named(const tnb_plugins *p, const char *name)
{
    for (uint32_t i = 0; i < p->all.n; i++) {
        tnb_candidate *c = p->all.at[i];
        if ((c->pub.state == TNB_PLUGIN_READY || c->pub.state == TNB_PLUGIN_LOADED) &&
            strcmp(c->pub.name, name) == 0)
            return c;
    }
    return NULL;
}

static bool
allowed(const tnb_plugins *p, const char *name)
{
    uint32_t n;
    const char *list = tnb_conf_text(p->conf, "tenon", NULL, "plugins");
    const char **items = tnb_conf_split(p->arena, list ? list : "*", &n);
    bool yes = false;
    for (uint32_t i = 0; i < n; i++) {
        if (*items[i] == '-' && strcmp(items[i] + 1, name) == 0)
            return false;
        yes |= strcmp(items[i], "*") == 0 || strcmp(items[i], name) == 0;
    }
    return yes;
}

static tnb_candidate *
new_candidate(tnb_plugins *p, const char *name, const char *folder, const char *manifest)
{
    tnb_candidate *c = TNB_NEW(p->arena, tnb_candidate);
    tnb_plugin *g = &c->pub;
    g->name = name;
    g->version = g->licence = g->summary = g->module = g->cure = "";
    g->folder = folder;
    g->manifest = manifest;
    g->state = TNB_PLUGIN_REFUSED;
    TNB_PUSH(p->arena, p->all, c);
    return c;
}

/* [tenon] plugins leaves it out. */
static void
block(tnb_plugins *p, tnb_plugin *g)
{
    const tnb_conf_value *v = tnb_conf_find(p->conf, "tenon", NULL, "plugins");
    const tnb_conf_value *lock = tnb_conf_locked(p->conf, "tenon", NULL, "plugins");
    const char *place = v && v->line ? tnb_printf(p->arena, " (%s:%u)", v->file, v->line) : "";
    const char *cure =
        lock ? tnb_printf(p->arena,
                          "%s:%u locks [tenon] plugins: who administers this machine may use tenon "
                          "plugin enable %s --system",
                          lock->file, lock->line, g->name)
             : tnb_printf(p->arena, "add it to [tenon] plugins: tenon plugin enable %s", g->name);
    mark(p, g, TNB_PLUGIN_BLOCKED,
         tnb_printf(p->arena, "[tenon] plugins does not list it%s", place), cure);
}

/* Judges a candidate whose manifest was read with status `s`. */
static void
judge(tnb_plugins *p, tnb_plugin *g, tnb_status s, const char *from, tnb_err err)
{
    if (s == TNB_OK)
        s = tnb_plugin_abi_check(g->manifest, g->abi_major, g->abi_minor, &err);
    if (s != TNB_OK) {
        if (!err.hint[0])
            tnb_hint(&err, "correct '%s', or install the plugin again", g->manifest);
        tnb_plugins_refuse(p, g, &err);
        return;
    }
    const tnb_candidate *before = named(p, g->name);
    if (before)
        mark(p, g, TNB_PLUGIN_HIDDEN,
             tnb_printf(p->arena, "'%s' comes first", before->pub.manifest), "");
    else if (!allowed(p, g->name))
        block(p, g);
    else
        mark(p, g, TNB_PLUGIN_READY, from, "");
}

static void
add_candidate(tnb_plugins *p, const char *folder, const char *file, const char *from)
{
    tnb_err err = {0};
    const char *name = tnb_strndup(p->arena, file, strlen(file) - strlen(".plugin"));
    tnb_plugin *g = &new_candidate(p, name, folder, tnb_path_join(p->arena, folder, file))->pub;
    judge(p, g, read_manifest(p, g, &err), from, err);
}

/* What the program holds itself. */
static const tnb_static_plugin *linked;

void
tnb_plugins_linked(const tnb_static_plugin *table)
{
    linked = table;
}

static void
add_linked(tnb_plugins *p, const char *folder)
{
    for (const tnb_static_plugin *l = linked; l && l->name; l++) {
        tnb_err err = {0};
        tnb_candidate *c = new_candidate(p, l->name, folder,
                                         tnb_printf(p->arena, "%s.plugin (linked in)", l->name));
        c->linked = l->head;
        tnb_status s = take_manifest(p, &c->pub, l->manifest, strlen(l->manifest), &err);
        c->pub.module = "(in the program)";
        judge(p, &c->pub, s, "linked into the program", err);
    }
}

static void
add_folder(tnb_plugins *p, const char *folder, const char *from)
{
    const char **names;
    uint32_t n;
    char *real = realpath(folder, NULL);
    if (*folder != '/' || !real) {
        free(real);
        return;
    }
    const char *kept = tnb_strdup(p->arena, real);
    free(real);
    for (uint32_t i = 0; i < p->folders.n; i++)
        if (strcmp(p->folders.at[i], kept) == 0)
            return;
    TNB_PUSH(p->arena, p->folders, kept);
    if (tnb_list_dir(p->arena, kept, ".plugin", &names, &n, NULL) != TNB_OK)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (*names[i] != '.')
            add_candidate(p, kept, names[i], from);
}

static void
add_path(tnb_plugins *p, const char *list, const char *from)
{
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char *folder = tnb_strndup(p->arena, list, n);
        char *absolute = n ? realpath(folder, NULL) : NULL;
        if (absolute)
            add_folder(p, absolute, from);
        free(absolute);
        list += n + (list[n] == ':');
    }
}

/* What only a trusted file may say. */
static bool
ignored(const tnb_conf_value *v)
{
    if (!v->trusted)
        tnb_log(TNB_LOG_WARN,
                "%s:%u: '%s' is ignored: the file or its folder belongs to somebody else", v->file,
                v->line, v->key);
    return !v->trusted;
}

/* Numbers of users, from trusted files only. */
static void
read_owners(tnb_plugins *p)
{
    uint32_t n;
    const tnb_conf_value *v = tnb_conf_find(p->conf, "tenon", NULL, "trust_owners");
    if (!v || ignored(v))
        return;
    const char **items = tnb_conf_split(p->arena, v->value, &n);
    p->owners = TNB_NEW_N(p->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t u;
        if (tnb_read_u64(items[i], strlen(items[i]), &u) && u < UINT32_MAX)
            p->owners[p->n_owners++] = (uint32_t)u;
    }
}

static void
add_configured(tnb_plugins *p)
{
    uint32_t n;
    const tnb_conf_value *v = tnb_conf_find(p->conf, "tenon", NULL, "plugin_path");
    if (!v || ignored(v))
        return;
    /* relative ones count from the folder of the INI file, which may be named relatively itself */
    char *real = v->line ? realpath(tnb_path_dir(p->arena, v->file), NULL) : NULL;
    const char *base = real ? tnb_strdup(p->arena, real) : "";
    free(real);
    const char **items = tnb_conf_split(p->arena, v->value, &n);
    for (uint32_t i = 0; i < n; i++)
        add_folder(p, tnb_path_join(p->arena, base, items[i]), "found through [tenon] plugin_path");
}

tnb_status
tnb_plugins_open(const tnb_conf *conf, const char *path, tnb_plugins **out, tnb_err *err)
{
    *out = NULL;
    tnb_plugins *p = calloc(1, sizeof *p);
    if (p && !(p->arena = tnb_arena_new())) {
        free(p);
        p = NULL;
    }
    const tnb_places *places = tnb_places_get();
    if (!p || !places) {
        tnb_plugins_close(p);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the list of plugins");
    }
    p->conf = conf;
    const tnb_conf_value *lock = tnb_conf_locked(conf, "tenon", NULL, "plugin_path");
    const char *env = tnb_env("TENON_PLUGIN_PATH");
    if (lock && (path || env)) {
        tnb_plugins_close(p);
        tnb_fail(err, TNB_UNTRUSTED, "%s may not be used: the site has locked plugin_path",
                 path ? "--plugin-path" : "TENON_PLUGIN_PATH");
        tnb_hint(err, "locked by %s:%u", lock->file, lock->line);
        return TNB_UNTRUSTED;
    }
    read_owners(p);
    add_path(p, path, "found through --plugin-path");
    add_path(p, env, "found through TENON_PLUGIN_PATH");
    add_configured(p);
    add_linked(p, places->plugins);
    add_folder(p, places->plugins, places->build_tree ? "built here" : "installed");
    if (tnb_arena_failed(p->arena)) {
        tnb_plugins_close(p);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the list of plugins");
    }
    *out = p;
    return TNB_OK;
}

void
tnb_plugins_close(tnb_plugins *p)
{
    if (!p)
        return;
    tnb_arena_free(p->arena);
    free(p);
}

uint32_t
tnb_plugins_count(const tnb_plugins *p)
{
    return p->all.n;
}

const tnb_plugin *
tnb_plugins_get(const tnb_plugins *p, uint32_t i)
{
    return i < p->all.n ? &p->all.at[i]->pub : NULL;
}

const tnb_plugin *
tnb_plugins_named(const tnb_plugins *p, const char *name)
{
    const tnb_candidate *c = named(p, name);
    return c ? &c->pub : NULL;
}

/* The name behind "KIND:" when the promise is of that kind. */
static const char *
promise(const char *text, const char *kind)
{
    size_t n = strlen(kind);
    return strncmp(text, kind, n) == 0 && text[n] == ':' ? text + n + 1 : NULL;
}

/* The name behind "KIND_alias:", by which an entry is found like by its own. */
static const char *
alias(const char *text, const char *kind)
{
    static const char suffix[] = "_alias";
    size_t n = strlen(kind);
    return strncmp(text, kind, n) == 0 ? promise(text + n, suffix) : NULL;
}

/* A name that ends in '*' stands for all that begin like it. */
static bool
promises(const tnb_plugin *c, const char *kind, const char *name)
{
    size_t n = strlen(name);
    for (uint32_t k = 0; k < c->n_provides; k++) {
        const char *s = promise(c->provides[k], kind);
        s = s ? s : alias(c->provides[k], kind);
        if (s && (n && name[n - 1] == '*' ? strncmp(s, name, n - 1) : strcmp(s, name)) == 0)
            return true;
    }
    return false;
}

static bool
usable(const tnb_plugin *c)
{
    return c->state == TNB_PLUGIN_READY || c->state == TNB_PLUGIN_LOADED;
}

/* What [tenon] prefer.NAME or prefer.KIND:NAME says; NULL if nothing. ':' would end a key, so '.'
 * stands for it. Questions take nothing from the arena of the index, which lives as long as the
 * process. */
static const char *
preferred(const tnb_plugins *p, const char *kind, const char *name)
{
    tnb_buf key = {0};
    tnb_buf_printf(&key, "prefer.%s.%s", kind, name);
    const char *v = key.s ? tnb_conf_text(p->conf, "tenon", NULL, key.s) : NULL;
    key.n = 0;
    tnb_buf_printf(&key, "prefer.%s", name);
    if (!v && key.s)
        v = tnb_conf_text(p->conf, "tenon", NULL, key.s);
    tnb_buf_free(&key);
    return v;
}

static int
by_name(const void *a, const void *b)
{
    const tnb_provided *x = a, *y = b;
    int r = strcmp(x->name, y->name);
    return r ? r : strcmp(x->plugin->name, y->plugin->name);
}

const tnb_provided *
tnb_plugins_provided(const tnb_plugins *p, tnb_arena *a, const char *kind, uint32_t *n)
{
    TNB_VEC(tnb_provided) v = {0};
    for (uint32_t i = 0; i < p->all.n; i++) {
        const tnb_plugin *c = &p->all.at[i]->pub;
        for (uint32_t k = 0; usable(c) && k < c->n_provides; k++) {
            const char *name = promise(c->provides[k], kind);
            if (name)
                TNB_PUSH(a, v, ((tnb_provided){kind, name, c}));
        }
    }
    if (v.n)
        qsort(v.at, v.n, sizeof *v.at, by_name);
    /* Of several providers of one name only the preferred one stays. */
    uint32_t kept = 0;
    for (uint32_t i = 0, end; i < v.n; i = end) {
        const char *wanted = NULL;
        uint32_t hit = UINT32_MAX;
        for (end = i + 1; end < v.n && strcmp(v.at[end].name, v.at[i].name) == 0;)
            end++;
        if (end > i + 1)
            wanted = preferred(p, kind, v.at[i].name);
        for (uint32_t k = i; wanted && k < end; k++)
            if (strcmp(v.at[k].plugin->name, wanted) == 0)
                hit = k;
        for (uint32_t k = i; k < end; k++)
            if (hit == UINT32_MAX || hit == k)
                v.at[kept++] = v.at[k];
    }
    *n = kept;
    return v.at;
}

static const char *
nearest_promise(const tnb_plugins *p, const char *kind, const char *name)
{
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return NULL;
    uint32_t n;
    const tnb_provided *all = tnb_plugins_provided(p, a, kind, &n);
    const char **names = TNB_NEW_N(a, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        names[i] = all[i].name;
    const char *near = tnb_nearest(name, names, n);
    tnb_arena_free(a);
    return near;
}

const tnb_plugin *
tnb_plugins_unusable(const tnb_plugins *p, const char *kind, const char *name, uint32_t *from)
{
    for (uint32_t i = from ? *from : 0; i < p->all.n; i++) {
        const tnb_plugin *c = &p->all.at[i]->pub;
        if (!usable(c) && c->state != TNB_PLUGIN_HIDDEN && promises(c, kind, name)) {
            if (from)
                *from = i + 1;
            return c;
        }
    }
    return NULL;
}

/* What `tenon list` calls all entries of a kind; NULL: it has no list of them. */
static const char *
listed_as(const char *kind)
{
    static const char *const lists[][2] = {
        {"pass", "passes"},      {"op", "ops"},
        {"rule", "rules"},       {"target", "targets"},
        {"device", "devices"},   {"importer", "importers"},
        {"pattern", "patterns"}, {"external", "externals"},
        {"dialect", "dialects"}, {"tensor_intrin", "tensor_intrins"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i][0], kind) == 0)
            return lists[i][1];
    return NULL;
}

static void
not_found(const tnb_plugins *p, const char *kind, const char *name, tnb_err *err)
{
    const tnb_plugin *unusable = tnb_plugins_unusable(p, kind, name, NULL);
    if (unusable) {
        tnb_fail(err, TNB_NOT_FOUND, "no %s '%s': plugin '%s' promises it but cannot be used: %s",
                 kind, name, unusable->name, unusable->why);
        tnb_hint(err, "%s", unusable->cure);
        return;
    }
    const char *near = nearest_promise(p, kind, name);
    tnb_fail(err, TNB_NOT_FOUND, "no %s '%s': no usable plugin provides it", kind, name);
    /* What a refused manifest promises was not read. */
    const tnb_plugin *refused = NULL;
    for (uint32_t i = 0; i < p->all.n && !refused; i++)
        if (p->all.at[i]->pub.state == TNB_PLUGIN_REFUSED && !p->all.at[i]->pub.n_provides)
            refused = &p->all.at[i]->pub;
    if (near) {
        tnb_hint(err, "did you mean '%s'?", near);
    } else if (refused) {
        tnb_fail(err, TNB_NOT_FOUND,
                 "no %s '%s': no usable plugin provides it; plugin '%s' is refused: %s", kind, name,
                 refused->name, refused->why);
        tnb_hint(err, "%s", refused->cure);
    } else if (!p->all.n) {
        tnb_fail(err, TNB_NOT_FOUND, "no %s '%s': no plugin was found", kind, name);
        tnb_hint(err,
                 "tenon doctor says where plugins are looked for; a program with static "
                 "libraries names its devices itself (`drivers` of its options; embedding.md)");
    } else if (listed_as(kind)) {
        tnb_hint(err,
                 "tenon list %s shows the names, tenon list plugins --why every plugin and what "
                 "became of it",
                 listed_as(kind));
    } else {
        tnb_hint(err, "tenon list plugins --why shows every plugin and what became of it");
    }
}

const tnb_plugin *
tnb_plugins_find(const tnb_plugins *p, const char *kind, const char *name, tnb_err *err)
{
    const tnb_plugin *first = NULL, *second = NULL;
    for (uint32_t i = 0; i < p->all.n && !second; i++) {
        const tnb_plugin *c = &p->all.at[i]->pub;
        if (usable(c) && promises(c, kind, name))
            *(first ? &second : &first) = c;
    }
    if (!first) {
        if (err)
            not_found(p, kind, name, err);
        return NULL;
    }
    if (!second)
        return first;
    const char *wanted = preferred(p, kind, name);
    for (uint32_t i = 0; i < p->all.n && wanted; i++) {
        const tnb_plugin *c = &p->all.at[i]->pub;
        if (strcmp(c->name, wanted) == 0 && usable(c) && promises(c, kind, name))
            return c;
    }
    tnb_fail(err, TNB_INVALID, "%s '%s' is provided by plugin '%s' and by plugin '%s'%s%s", kind,
             name, first->name, second->name, wanted ? ", and not by the preferred " : "",
             wanted ? wanted : "");
    tnb_hint(err, "say which one serves: prefer.%s = %s in [tenon]", name, first->name);
    return NULL;
}
