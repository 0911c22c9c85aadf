/* SPDX-License-Identifier: Apache-2.0 */
/* tenon new-plugin: a complete project of a plugin's own, copied from the installed sources of a backend and renamed.
 *
 * What can be copied is what lies in DATADIR/backends: a folder each, with backend.ini, which says what is linked of
 * what. Nothing here knows a backend by name.
 */
#include "config.h"
#include "new_plugin.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/ini.h"

static const tnt_option options[] = {
    {"from", 0, TNT_VALUE, "BACKEND", "copy this backend (default: null)", .without = "list|pass"},
    {"pass", 0, TNT_FLAG, NULL,
     "write a plugin with one pass and no target (same as --from onepass)", .without = "list"},
    {"list", 0, TNT_FLAG, NULL, "list the backends that can be copied"},
    {0}};

enum { MAX_NAME = 32, MAX_TEXT = 4 << 20 };

/* ---- what can be copied ---- */

static const char *
kits_folder(tnb_arena *a)
{
    const tnb_places *p = tnb_places_get();
    if (!p)
        return "";
    return p->build_tree ? tnb_path_join(a, tnb_path_dir(a, p->plugins), "share-stage/backends")
                         : tnb_path_join(a, p->data, "backends");
}

static tnt_part *
part_named(tnt_kit *k, const char *name)
{
    for (uint32_t i = 0; i < k->parts.n; i++)
        if (strcmp(k->parts.at[i].name, name) == 0)
            return &k->parts.at[i];
    return NULL;
}

static void
split_into(tnb_arena *a, tnt_texts *out, const char *text, bool lines)
{
    uint32_t n;
    if (!lines) {
        const char **items = tnb_conf_split(a, text, &n);
        for (uint32_t i = 0; i < n; i++)
            TNB_PUSH(a, *out, items[i]);
        return;
    }
    while (*text) {
        size_t k = strcspn(text, "\n");
        if (k)
            TNB_PUSH(a, *out, tnb_strndup(a, text, k));
        text += k + (text[k] == '\n');
    }
}

static tnb_status
take(tnt_kit *k, const tnb_ini_entry *e, tnb_err *err)
{
    tnb_arena *a = k->arena;
    if (!*e->key)
        return TNB_OK;
    bool module = strcmp(e->section, "module") == 0;
    if (module || strcmp(e->section, "program") == 0) {
        tnt_part p = {.name = e->name, .is_module = module};
        split_into(a, &p.sources, e->value, true);
        TNB_PUSH(a, k->parts, p);
        return TNB_OK;
    }
    if (strcmp(e->section, "link") == 0) {
        tnt_part *p = part_named(k, e->name);
        if (p && strcmp(e->key, "pkg-config") == 0)
            p->pkg_config = e->value;
        else if (p && strcmp(e->key, "libs") == 0)
            p->libs = e->value;
        else if (p)
            return tnb_fail(err, TNB_FORMAT, "%s:%u: unknown key '%s'", k->file, e->line, e->key);
        return TNB_OK; /* a part that was not built here is not copied */
    }
    if (strcmp(e->key, "name") == 0)
        k->name = e->value;
    else if (strcmp(e->key, "version") == 0)
        k->version = e->value;
    else if (strcmp(e->key, "keep") == 0)
        split_into(a, &k->keep, e->value, true);
    else if (strcmp(e->key, "cut") == 0)
        split_into(a, &k->cut, e->value, true);
    else if (strcmp(e->key, "leave") == 0)
        split_into(a, &k->leave, e->value, false);
    else if (strcmp(e->key, "kernels") == 0)
        k->kernels = e->value;
    else if (strcmp(e->key, "checks") == 0)
        split_into(a, &k->checks, e->value, false);
    else if (strcmp(e->key, "suites") == 0)
        k->no_suites = strcmp(e->value, "no") == 0;
    else
        return tnb_fail(err, TNB_FORMAT, "%s:%u: unknown key '%s'", k->file, e->line, e->key);
    return TNB_OK;
}

static tnb_status
read_kit(tnt_kit *k, const char *name, tnb_err *err)
{
    tnb_mapping m;
    tnb_ini_entry *e;
    uint32_t n;
    k->folder = tnb_path_join(k->arena, kits_folder(k->arena), name);
    k->file = tnb_path_join(k->arena, k->folder, "backend.ini");
    TNB_TRY(tnb_map_file(k->file, MAX_TEXT, &m, err));
    tnb_status st = TNB_OK;
    tnb_diags *d = tnb_diags_new();
    if (!d || !tnb_ini_read(k->arena, k->file, m.data, (size_t)m.size, &e, &n, d))
        st = d ? tnb_diags_first(d, err)
               : tnb_fail(err, TNB_NO_MEMORY, "%s: out of memory to read it", k->file);
    for (uint32_t i = 0; st == TNB_OK && i < n; i++)
        st = take(k, &e[i], err);
    tnb_diags_free(d);
    tnb_unmap(&m);
    if (st == TNB_OK && (!k->name || !k->version || !k->parts.n))
        st = tnb_fail(err, TNB_FORMAT, "%s: names no backend or no modules", k->file);
    return st;
}

static const char **
kit_names(tnb_arena *a, uint32_t *n)
{
    const char **names;
    if (tnb_list_dir(a, kits_folder(a), NULL, &names, n, NULL) != TNB_OK)
        *n = 0;
    return names;
}

static int
list_kits(tnb_arena *a)
{
    uint32_t n;
    const char **names = kit_names(a, &n);
    for (uint32_t i = 0; i < n; i++) {
        tnt_kit k = {.arena = a};
        tnb_err err = {0};
        if (read_kit(&k, names[i], &err) != TNB_OK) {
            tnt_complain(&err);
            return TNT_FAILED;
        }
        printf("%-16s", names[i]);
        for (uint32_t p = 0; p < k.parts.n; p++)
            printf("%s%s", p ? ", " : "", k.parts.at[p].name);
        putchar('\n');
    }
    return TNT_OK;
}

/* ---- the new name ---- */

static const char *
why_no_name(const char *s)
{
    static const char *const words[] = {"auto",     "break",    "case",   "char",     "const",
                                        "continue", "default",  "do",     "double",   "else",
                                        "enum",     "extern",   "float",  "for",      "goto",
                                        "if",       "inline",   "int",    "long",     "main",
                                        "register", "restrict", "return", "short",    "signed",
                                        "sizeof",   "static",   "struct", "switch",   "typedef",
                                        "union",    "unsigned", "void",   "volatile", "while",
                                        "class",    "bool",     "true",   "false",    "nullptr"};
    static const char *const ours[] = {"tn_", "tnb_", "tnk_", "tnr_", "tnt_", "tenon"};
    if (strlen(s) > MAX_NAME)
        return "is longer than 32 characters";
    if (!islower((unsigned char)*s) || s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return "is not a lower-case C identifier (letters, digits and '_', beginning with a "
               "letter)";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(s, words[i]) == 0)
            return "is a keyword of C or C++";
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strncmp(s, ours[i], strlen(ours[i])) == 0)
            return "has a prefix that is reserved for Tenon";
    return tnb_ends_with(s, "_rt") ? "ends in _rt, which is reserved for device halves" : NULL;
}

/* A plugin, target or device that has the name already; NULL if none. */
static const char *
taken_by(tnt_session *s, const char *name)
{
    tnb_arena *a = tn_arena(s->ctx);
    const char *half = tnb_printf(a, "%s_rt", name);
    const char *promises[] = {tnb_printf(a, "target:%s", name), tnb_printf(a, "device:%s", name)};
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *p = tnb_plugins_get(s->plugins, i);
        if (strcmp(p->name, name) == 0 || strcmp(p->name, half) == 0)
            return tnb_printf(a, "the plugin %s", p->manifest);
        for (uint32_t k = 0; k < p->n_provides; k++)
            if (strcmp(p->provides[k], promises[0]) == 0 ||
                strcmp(p->provides[k], promises[1]) == 0)
                return tnb_printf(a, "%s of the plugin %s", p->provides[k], p->manifest);
    }
    return tnb_conf_has(s->conf, "target", name) ? "a section [target] of the configuration" : NULL;
}

/* ---- copying ---- */

static bool
is_left(const tnt_kit *k, const char *what)
{
    for (uint32_t i = 0; i < k->leave.n; i++)
        if (strcmp(k->leave.at[i], what) == 0)
            return true;
    return false;
}

static void
add_file(tnt_kit *k, const char *path)
{
    for (uint32_t i = 0; i < k->files.n; i++)
        if (strcmp(k->files.at[i], path) == 0)
            return;
    if (!is_left(k, path))
        TNB_PUSH(k->arena, k->files, path);
}

/* What a manifest promises, for the table of words. */
static tnb_status
read_promises(tnt_kit *k, tnt_names *names, const char *file, tnb_err *err)
{
    tnb_mapping m;
    tnb_ini_entry *e;
    uint32_t n, n_items;
    const char *path = tnb_path_join(k->arena, k->folder, file);
    TNB_TRY(tnb_map_file(path, MAX_TEXT, &m, err));
    tnb_diags *d = tnb_diags_new();
    tnb_status st = TNB_OK;
    if (!d || !tnb_ini_read(k->arena, path, m.data, (size_t)m.size, &e, &n, d))
        st = d ? tnb_diags_first(d, err)
               : tnb_fail(err, TNB_NO_MEMORY, "%s: out of memory to read it", path);
    for (uint32_t i = 0; st == TNB_OK && i < n; i++) {
        if (strcmp(e[i].key, "provides") != 0)
            continue;
        const char **items = tnb_conf_split(k->arena, e[i].value, &n_items);
        for (uint32_t j = 0; j < n_items; j++) {
            tnt_names_promise(names, items[j]);
            k->has_target |= strncmp(items[j], "target:", 7) == 0;
        }
    }
    tnb_diags_free(d);
    tnb_unmap(&m);
    return st;
}

static tnb_status
gather(tnt_kit *k, tnt_names *names, tnb_err *err)
{
    for (uint32_t i = 0; i < k->parts.n; i++) {
        tnt_part *p = &k->parts.at[i];
        for (uint32_t j = 0; j < p->sources.n; j++)
            add_file(k, p->sources.at[j]);
        if (p->is_module) {
            const char *manifest = tnb_printf(k->arena, "%s.plugin", p->name);
            TNB_TRY(read_promises(k, names, manifest, err));
            add_file(k, manifest);
        }
    }
    const char **more;
    uint32_t n;
    static const char *const folders[] = {"kernels", "tests"};
    for (int f = 0; f < 2; f++)
        if (tnb_list_dir(k->arena, tnb_path_join(k->arena, k->folder, folders[f]), NULL, &more, &n,
                         NULL) == TNB_OK)
            for (uint32_t i = 0; i < n; i++)
                add_file(k, tnb_path_join(k->arena, folders[f], more[i]));
    names->keep = k->keep;
    names->cut = k->cut;
    names->kept = TNB_NEW_N(k->arena, bool, k->keep.n + 1);
    names->was_cut = TNB_NEW_N(k->arena, bool, k->cut.n + 1);
    return TNB_OK;
}

/* The manifest without the promises that are left out. */
static void
drop_promises(const tnt_kit *k, tnb_buf *text)
{
    tnb_buf out = {0};
    for (const char *s = text->s; s && *s;) {
        size_t n = strcspn(s, "\n"), from = strspn(s, " ");
        n += s[n] == '\n';
        if (!is_left(k, tnb_strndup(k->arena, s + from, strcspn(s + from, " \n"))))
            tnb_buf_put(&out, s, n);
        s += n;
    }
    tnb_buf_free(text);
    *text = out;
}

tnb_status
tnt_project_put(tnt_kit *k, const char *relative, const char *text, size_t n, tnb_err *err)
{
    const char *path = tnb_path_join(k->arena, k->temporary, relative);
    TNB_TRY(tnb_make_dirs(tnb_path_dir(k->arena, path), 0755, err));
    TNB_TRY(tnb_write_file(path, text, n, err));
    /* as it is used where the group may write by default: a plugin's files must not be others' */
    struct stat st;
    if (stat(path, &st) == 0)
        (void)!chmod(path, st.st_mode & 0755);
    k->n_written++;
    return TNB_OK;
}

static tnb_status
copy_file(tnt_kit *k, tnt_names *names, const char *file, tnb_err *err)
{
    tnb_mapping m;
    tnb_buf out = {0};
    const char *path = tnb_path_join(k->arena, k->folder, file);
    TNB_TRY(tnb_map_file(path, MAX_TEXT, &m, err));
    tnb_status st = TNB_OK;
    if (tnt_has_word(m.data, (size_t)m.size, names->to)) {
        st = tnb_fail(err, TNB_INVALID, "'%s' is already an identifier in the sources of %s (%s)",
                      names->to, k->name, file);
        tnb_hint(err, "choose another name");
    }
    tnb_buf_puts(&out, "");
    tnt_rename(names, m.data, (size_t)m.size, &out);
    tnb_unmap(&m);
    if (tnb_ends_with(file, ".plugin"))
        drop_promises(k, &out);
    if (st == TNB_OK && out.failed)
        st = tnb_fail(err, TNB_NO_MEMORY, "out of memory for '%s'", file);
    if (st == TNB_OK)
        st = tnt_project_put(k, tnt_rename_path(names, file), out.s, out.n, err);
    tnb_buf_free(&out);
    return st;
}

/* What backend.ini says about texts has to be true of them. */
static tnb_status
check_texts(const tnt_kit *k, const tnt_names *names, tnb_err *err)
{
    const char *stale = NULL;
    for (uint32_t i = 0; i < k->keep.n; i++)
        stale = names->kept[i] ? stale : k->keep.at[i];
    for (uint32_t i = 0; i < k->cut.n; i++)
        stale = names->was_cut[i] ? stale : k->cut.at[i];
    if (!stale)
        return TNB_OK;
    tnb_fail(err, TNB_FORMAT, "%s: '%s' does not occur in the sources of %s", k->file, stale,
             k->name);
    tnb_hint(err, "the sources have changed: correct the backend's copy.ini");
    return TNB_FORMAT;
}

static tnb_status
write_project(tnt_kit *k, tnt_names *names, tnb_err *err)
{
    TNB_TRY(gather(k, names, err));
    for (uint32_t i = 0; i < k->files.n; i++)
        TNB_TRY(copy_file(k, names, k->files.at[i], err));
    TNB_TRY(check_texts(k, names, err));
    return tnt_project_files(k, names, err);
}

/* ---- the folder ---- */

static void
remove_tree(tnb_arena *a, const char *path)
{
    const char **names;
    uint32_t n;
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        (void)unlink(path);
        return;
    }
    if (tnb_list_dir(a, path, NULL, &names, &n, NULL) == TNB_OK)
        for (uint32_t i = 0; i < n; i++)
            remove_tree(a, tnb_path_join(a, path, names[i]));
    (void)rmdir(path);
}

/* Made beside its place, which it takes when it is whole. */
static tnb_status
write_folder(tnt_kit *k, tnt_names *names, const char *dir, tnb_err *err)
{
    char reason[128];
    const char **there;
    uint32_t n = 0;
    struct stat st;
    if (lstat(dir, &st) == 0 &&
        (tnb_list_dir(k->arena, dir, NULL, &there, &n, NULL) != TNB_OK || n)) {
        tnb_fail(err, TNB_INVALID, "'%s' exists%s", dir, n ? " and is not empty" : " already");
        tnb_hint(err, "name another folder: tenon new-plugin %s DIR", names->to);
        return TNB_INVALID;
    }
    char *temporary = tnb_printf(k->arena, "%s.new-XXXXXX", dir);
    TNB_TRY(tnb_make_dirs(tnb_path_dir(k->arena, dir), 0755, err));
    if (!mkdtemp(temporary))
        return tnb_fail(err, TNB_IO, "cannot create a folder next to '%s': %s", dir,
                        strerror_r(errno, reason, sizeof reason));
    mode_t mask = umask(0);
    umask(mask);
    (void)!chmod(temporary, 0755 & ~mask);
    k->temporary = temporary;
    tnb_status s = write_project(k, names, err);
    if (s == TNB_OK && tnb_arena_failed(k->arena))
        s = tnb_fail(err, TNB_NO_MEMORY, "out of memory for the project");
    if (s == TNB_OK && rename(temporary, dir) != 0)
        s = tnb_fail(err, TNB_IO, "cannot create '%s': %s", dir,
                     strerror_r(errno, reason, sizeof reason));
    if (s != TNB_OK)
        remove_tree(k->arena, temporary);
    return s;
}

/* ---- the command ---- */

static int
no_kit(tnt_session *s, const tnt_args *a, const char *from)
{
    uint32_t n;
    tnb_arena *arena = tn_arena(s->ctx);
    const char **names = kit_names(arena, &n), *near = tnb_nearest(from, names, n);
    if (!n) {
        fprintf(stderr, "tenon: the sources of the backends are not installed in '%s'\n",
                kits_folder(arena));
        fputs("  hint: they are installed with the headers: install libtenon-dev, or reinstall "
              "Tenon\n",
              stderr);
        return TNT_FAILED;
    }
    if (near)
        return tnt_usage(a->command, "option '--from': no backend '%s'; did you mean '%s'?", from,
                         near);
    return tnt_usage(a->command,
                     "option '--from': no backend '%s'; tenon new-plugin --list lists them", from);
}

static int
run(tnt_session *s, const tnt_args *a)
{
    tnb_arena *arena = tn_arena(s->ctx);
    bool pass = tnt_has(a, "pass");
    const char *from = tnt_value(a, "from", pass ? "onepass" : "null");
    if (tnt_has(a, "list"))
        return a->n_operands ? tnt_usage(a->command, "'--list' takes no operands")
                             : list_kits(arena);
    if (!a->n_operands)
        return tnt_usage(a->command, "NAME is missing");
    const char *to = a->operands[0], *why = why_no_name(to), *taken;
    if (why)
        return tnt_usage(a->command, "the name '%s' %s", to, why);
    if ((taken = taken_by(s, to))) {
        fprintf(stderr, "tenon: the name '%s' is in use by %s\n  hint: choose another name\n", to,
                taken);
        return TNT_FAILED;
    }
    tnt_kit k = {.arena = arena};
    tnb_err err = {0};
    if (strchr(from, '/') || *from == '.' ||
        access(tnb_path_join(arena, kits_folder(arena), from), F_OK))
        return no_kit(s, a, from);
    const char *dir = a->n_operands > 1 ? a->operands[1] : to;
    while (dir[0] && dir[1] && tnb_ends_with(dir, "/"))
        dir = tnb_strndup(arena, dir, strlen(dir) - 1);
    tnb_status st = read_kit(&k, from, &err);
    if (st == TNB_OK) {
        tnt_names names;
        tnt_names_init(&names, arena, k.name, to, k.version);
        st = write_folder(&k, &names, dir, &err);
    }
    if (st != TNB_OK) {
        tnt_complain(&err);
        return TNT_FAILED;
    }
    printf("%s: %u files, copied from %s\n", dir, k.n_written, from);
    printf("build:  make -C %s\n", dir);
    printf("use:    tenon list plugins --config %s/%s.ini\n", dir, to);
    printf("test:   make -C %s check\n", dir);
    return TNT_OK;
}

const tnt_command tnt_command_new_plugin = {
    .name = "new-plugin",
    .operands = "NAME [DIR]",
    .summary = "create a plugin project from a copy of a backend",
    .details =
        "Copies the installed sources of a backend into the folder DIR (default: NAME) and renames "
        "files, identifiers, manifests, targets, sections, environment variables, passes, rules "
        "and patterns, so that original and copy can be installed together. The project builds "
        "with `make` against the installed Tenon (found by pkg-config), is loaded with --config "
        "DIR/NAME.ini, and is tested with `make check`: the device conformance suite and the "
        "operator suite.\n\nNAME consists of lower-case letters, digits and '_', and must not be "
        "the name of a plugin, target or device. DIR must be empty or not exist.",
    .options = options,
    .min_operands = 0,
    .max_operands = 2,
    .examples =
        (const char *const[]){"tenon new-plugin --list", "lists the backends",
                              "tenon new-plugin acme",
                              "a target: copies the smallest complete backend to the folder acme",
                              "tenon new-plugin acme ~/src/acme --from opencl",
                              "copies the OpenCL backend to another folder",
                              "tenon new-plugin tidy --pass", "a plugin with one pass", NULL},
    .ignores = "debug|tuning-db",
    .run = run,
};
