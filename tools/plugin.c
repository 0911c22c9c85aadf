/* SPDX-License-Identifier: Apache-2.0 */
/* tenon plugin enable|disable: changes [tenon] plugins in the user's or the system's INI file, and nothing else of it.
 *
 * The file is written beside and renamed. Lines are copied as they are but for those of the key.
 */
#include "config.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tenon/base/file.h"
#include "tenon/base/ini.h"

static const tnt_option options[] = {{"system", 0, TNT_FLAG, NULL,
                                      "change the installation's tenon.ini, for all users"},
                                     {0}};

enum { MAX_FILE = 4 << 20 };

static const char *
user_file(tnb_arena *a)
{
    const char *xdg = tnb_env("XDG_CONFIG_HOME"), *home = tnb_home();
    if (xdg && *xdg == '/')
        return tnb_path_join(a, xdg, "tenon/tenon.ini");
    return home ? tnb_path_join(a, home, ".config/tenon/tenon.ini") : NULL;
}

/* ---- the list ---- */

/* `list` with or without the plugin; NULL: it is as wanted. */
static const char *
changed(tn_ctx *ctx, const char *list, const char *name, bool enable)
{
    uint32_t n;
    const char **items = tnb_conf_split(tn_arena(ctx), list, &n);
    const char *out = "";
    bool all = false, named = false, without = false;
    for (uint32_t i = 0; i < n; i++) {
        bool minus = *items[i] == '-';
        bool it = strcmp(items[i] + minus, name) == 0;
        all |= strcmp(items[i], "*") == 0;
        named |= it && !minus;
        without |= it && minus;
        if (!it)
            out = tn_strf(ctx, "%s%s%s", out, *out ? ", " : "", items[i]);
    }
    if (enable == ((all || named) && !without))
        return NULL;
    if (enable && !all)
        out = tn_strf(ctx, "%s%s%s", out, *out ? ", " : "", name);
    if (!enable && all)
        out = tn_strf(ctx, "%s, -%s", out, name);
    return out;
}

/* ---- the file ---- */

static size_t
line_length(const char *s)
{
    size_t n = strcspn(s, "\n");
    return n + (s[n] == '\n');
}

static size_t
blanks(const char *s)
{
    return strspn(s, " \t");
}

/* A line "[tenon]"; any section. */
static bool
is_section(const char *s, bool *tenon)
{
    if (*s != '[')
        return false;
    const char *name = s + 1 + blanks(s + 1);
    *tenon = strncmp(name, "tenon", 5) == 0 && name[5 + blanks(name + 5)] == ']';
    return true;
}

static bool
is_key(const char *s)
{
    s += blanks(s);
    return strncmp(s, "plugins", 7) == 0 &&
           (s[7 + blanks(s + 7)] == '=' || s[7 + blanks(s + 7)] == ':');
}

/* The text with the key set: in its place, behind the header of the first section [tenon], or in a new section at the end. */
static void
put_key(const char *text, const char *list, tnb_buf *out)
{
    bool in_tenon = false, done = false;
    const char *header_end = NULL; /* where the key goes if no line has it */
    for (const char *s = text; *s; s += line_length(s)) {
        bool tenon;
        if (is_section(s, &tenon)) {
            in_tenon = tenon;
            if (tenon && !header_end)
                header_end = s + line_length(s);
        } else if (in_tenon && is_key(s)) {
            header_end = NULL;
            done = true;
            break;
        }
    }
    in_tenon = false;
    bool skip = false, put = false;
    for (const char *s = text; *s; s += line_length(s)) {
        bool tenon, section = is_section(s, &tenon);
        if (section)
            in_tenon = tenon;
        if (header_end == s) {
            tnb_buf_printf(out, "plugins = %s\n", list);
            put = true;
        }
        /* the value goes on in lines that begin with a blank and are no comments */
        size_t from = blanks(s);
        bool plain = s[from] && s[from] != '\n' && s[from] != ';' && s[from] != '#';
        if (skip && from && plain)
            continue;
        skip &= !plain; /* comments within a value stay */
        if (done && !section && in_tenon && is_key(s)) {
            const char *comment = strstr(s, " ;");
            tnb_buf_printf(out, "plugins = %s", list);
            if (comment && comment < s + line_length(s))
                tnb_buf_put(out, comment, strcspn(comment, "\n"));
            tnb_buf_puts(out, "\n");
            skip = put = true;
            continue;
        }
        tnb_buf_put(out, s, line_length(s));
    }
    if (put)
        return;
    if (out->n && out->s[out->n - 1] != '\n')
        tnb_buf_puts(out, "\n");
    tnb_buf_printf(out, header_end ? "plugins = %s\n" : "%s[tenon]\nplugins = %s\n",
                   header_end ? list
                   : out->n   ? "\n"
                              : "",
                   list);
}

static tnb_status
edit(const char *file, const char *list, tnb_err *err)
{
    char *text = NULL;
    size_t n = 0;
    struct stat st = {.st_mode = 0644};
    tnb_buf out = {0};
    bool there = stat(file, &st) == 0;
    if (there)
        TNB_TRY(tnb_read_file(file, MAX_FILE, &text, &n, err));
    put_key(text ? text : "", list, &out);
    free(text);
    tnb_arena *a = tnb_arena_new();
    tnb_status s =
        a && !out.failed ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory to change '%s'", file);
    /* the file itself where the name is a link to it */
    char *real = there ? realpath(file, NULL) : NULL;
    const char *path = real ? real : file;
    if (s == TNB_OK && !there)
        s = tnb_make_dirs(tnb_path_dir(a, path), 0755, err);
    if (s == TNB_OK)
        s = tnb_write_file(path, out.s, out.n, err);
    if (s == TNB_OK)
        (void)!chmod(path, st.st_mode & 07755);
    free(real);
    tnb_arena_free(a);
    tnb_buf_free(&out);
    return s;
}

/* ---- the command ---- */

static int
unknown_plugin(tnt_session *s, const char *name)
{
    const char *names[256];
    uint32_t n = 0;
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins) && n < 256; i++)
        names[n++] = tnb_plugins_get(s->plugins, i)->name;
    const char *near = tnb_nearest(name, names, n);
    fprintf(stderr, "tenon: no plugin '%s' was found\n", name);
    if (near)
        fprintf(stderr, "  hint: did you mean '%s'?\n", near);
    else
        fputs("  hint: tenon list plugins --why shows every plugin\n", stderr);
    return TNT_FAILED;
}

/* Plugins that the named one needs, or that need it, and that are not as it will be. */
static void
tell_needs(tnt_session *s, const char *name, bool enable)
{
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *p = tnb_plugins_get(s->plugins, i);
        for (uint32_t k = 0; k < p->n_requires; k++) {
            const char *needed = p->requires_[k];
            if (enable && strcmp(p->name, name) == 0 && !tnb_plugins_named(s->plugins, needed))
                fprintf(stderr,
                        "tenon: warning: it requires the plugin '%s', which cannot be used\n"
                        "  hint: tenon list plugins --why says why\n",
                        needed);
            if (!enable && strcmp(needed, name) == 0 && p->state <= TNB_PLUGIN_LOADED)
                fprintf(stderr,
                        "tenon: warning: the plugin '%s' requires it, and cannot be used "
                        "either\n",
                        p->name);
        }
    }
}

static bool
provides(tnt_session *s, const char *name, const char *kind, const char *entry)
{
    const tnb_plugin *p = tnb_plugins_find(s->plugins, kind, entry, NULL);
    return p && strcmp(p->name, name) == 0;
}

/* Targets of other plugins that cannot be used without it: passes of their lists are its own, or the device is. */
static void
tell_targets(tnt_session *s, const char *name)
{
    uint32_t n, before = tnb_diags_count(tn_diags(s->ctx));
    const tnb_provided *kinds = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "target", &n);
    for (uint32_t i = 0; i < n; i++) {
        tnk_target t;
        tnk_pipeline p;
        const char *first = NULL;
        uint32_t more = 0;
        if (strcmp(kinds[i].plugin->name, name) == 0 ||
            !tnk_target_find(s->ctx, s->conf, kinds[i].name, &t) ||
            !tnk_pipeline_make(s->ctx, s->conf, &t, NULL, &p))
            continue;
        for (int ph = 0; ph < TNK_N_PHASES; ph++)
            for (uint32_t k = 0; k < p.phases[ph].n; k++)
                if (provides(s, name, "pass", p.phases[ph].at[k].name)) {
                    more += first != NULL;
                    first = first ? first : p.phases[ph].at[k].name;
                }
        if (first && more)
            fprintf(stderr,
                    "tenon: warning: no model compiles for the target '%s' then: its lists have "
                    "the pass %s and %u more of this plugin\n",
                    kinds[i].name, first, more);
        else if (first)
            fprintf(stderr,
                    "tenon: warning: no model compiles for the target '%s' then: its lists have "
                    "the pass %s of this plugin\n",
                    kinds[i].name, first);
        if (provides(s, name, "device", t.kind->device ? t.kind->device : t.kind->base.name))
            fprintf(stderr,
                    "tenon: warning: nothing compiled for the target '%s' will run here: this "
                    "plugin drives its device\n",
                    kinds[i].name);
    }
    tnb_diags_cut(tn_diags(s->ctx), before);
    const char *usual = tnb_conf_text(s->conf, "tenon", "", "default_target");
    if (usual && provides(s, name, "target", usual))
        fprintf(stderr,
                "tenon: warning: the default target, '%s', is this plugin's\n  hint: set "
                "default_target in [tenon], or give -t\n",
                usual);
}

/* The settings that count for all users; NULL after an error. */
static tnb_conf *
settings_of_all(void)
{
    tnb_diags *d = tnb_diags_new();
    const tnb_conf_options o = {.size = sizeof o, .no_user = true, .keep_going = true};
    tnb_conf *c = d ? tnb_conf_load(&o, d) : NULL;
    if (!c)
        fputs("tenon: out of memory\n", stderr);
    tnb_diags_free(d); /* the session has told of them */
    return c;
}

/* "FILE:LINE", or where else the list of plugins comes from. */
static const char *
origin(tn_ctx *ctx, const tnb_conf_value *v)
{
    return !v ? "built-in" : v->line ? tn_strf(ctx, "%s:%u", v->file, v->line) : v->file;
}

/* After a change for all users: what this one's settings say differs. */
static void
tell_own(tnt_session *s, const char *name, bool enable)
{
    const tnb_conf_value *v = tnb_conf_find(s->conf, "tenon", "", "plugins");
    if (v && v->layer > TNB_CONF_SYSTEM && changed(s->ctx, v->value, name, enable))
        fprintf(stderr,
                "tenon: warning: for you it is not so: %s comes later, plugins = %s\n"
                "  hint: tenon plugin %s %s without --system changes that file if it is yours\n",
                origin(s->ctx, v), v->value, enable ? "enable" : "disable", name);
}

/* Changes the list in `file`, or says why not. `conf`: the settings that the file is the last of, if it is to count. */
static int
change(tnt_session *s, const tnb_conf *conf, const tnt_args *a, const char *file)
{
    const char *what = a->operands[0], *name = a->operands[1];
    bool enable = strcmp(what, "enable") == 0, system = tnt_has(a, "system");
    tnb_err err = {0};
    const tnb_conf_value *v = tnb_conf_find(conf, "tenon", "", "plugins");
    const char *list = changed(s->ctx, v ? v->value : "*", name, enable);
    if (!list) {
        printf("%s is %sd already%s: plugins = %s (%s)\n", name, what,
               system ? " for all users" : "", v ? v->value : "*", origin(s->ctx, v));
    } else if (v && v->layer >= TNB_CONF_SYSTEM && strcmp(v->file, file) != 0 &&
               (system || v->layer > TNB_CONF_USER)) {
        fprintf(stderr,
                "tenon: what '%s' says would have no effect: %s comes later, plugins = %s\n"
                "  hint: change that, or leave that file out\n",
                file, origin(s->ctx, v), v->value);
        return TNT_FAILED;
    } else {
        tell_needs(s, name, enable);
        if (!enable)
            tell_targets(s, name);
        if (edit(file, list, &err) != TNB_OK) {
            tnt_complain(&err);
            return TNT_FAILED;
        }
        printf("%s: [tenon] plugins = %s\n", file, list);
    }
    if (system)
        tell_own(s, name, enable);
    return TNT_OK;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    const char *what = a->operands[0], *name = a->operands[1];
    bool enable = strcmp(what, "enable") == 0, system = tnt_has(a, "system"), known = false;
    if (!enable && strcmp(what, "disable") != 0)
        return tnt_unknown(a->command, "neither enable nor disable:", what,
                           (const char *const[]){"enable", "disable"}, 2);
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++)
        known |= strcmp(tnb_plugins_get(s->plugins, i)->name, name) == 0;
    if (!known)
        return unknown_plugin(s, name);
    const tnb_places *places = tnb_places_get();
    const char *file = !system  ? user_file(tn_arena(s->ctx))
                       : places ? tnb_path_join(tn_arena(s->ctx), places->conf, "tenon.ini")
                                : NULL;
    if (!file) {
        fputs("tenon: there is no folder for settings: neither XDG_CONFIG_HOME nor HOME names one\n"
              "  hint: set one of them, or use --system\n",
              stderr);
        return TNT_FAILED;
    }
    const tnb_conf_value *lock = tnb_conf_locked(s->conf, "tenon", "", "plugins");
    if (lock && !system) {
        fprintf(stderr,
                "tenon: [tenon] plugins may not be set by users: %s:%u locks it\n"
                "  hint: who administers this machine may use --system\n",
                lock->file, lock->line);
        return TNT_FAILED;
    }
    if (!system)
        return change(s, s->conf, a, file);
    tnb_conf *all = settings_of_all();
    int status = all ? change(s, all, a, file) : TNT_FAILED;
    tnb_conf_free(all);
    return status;
}

const tnt_command tnt_command_plugin = {
    .name = "plugin",
    .operands = "enable|disable NAME",
    .summary = "allow or forbid loading a plugin",
    .details =
        "Changes the list [tenon] plugins in the user's INI file "
        "($XDG_CONFIG_HOME/tenon/tenon.ini, or ~/.config/tenon/tenon.ini), or with --system in "
        "the installation's, and prints the new line. The list holds names, or * for all, and "
        "-NAME for a plugin that is left out. The rest of the file stays as it is. A warning "
        "names plugins and targets that cannot be used without NAME. Where a file that is read "
        "later sets the list, or the site has locked it, nothing is changed and the command "
        "ends with an error that names the file.",
    .options = options,
    .min_operands = 2,
    .max_operands = 2,
    .examples = (const char *const[]){"tenon plugin disable opencl_rt",
                                      "no OpenCL driver is asked any more",
                                      "tenon plugin enable acme --system",
                                      "for all users of this machine", NULL},
    .ignores = "debug|tuning-db",
    .run = run,
};
