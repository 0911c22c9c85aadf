/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a new plugin that no backend has: Makefile, INI file, README.md; and the pages and settings of the
 * original under the new name. */
#include "config.h"
#include "new_plugin.h"

#include "tenon/base/file.h"

#define SPDX "SPDX-License-Identifier: Apache-2.0 OR MIT-0"
enum { WIDTH = 100, MAX_TEXT = 4 << 20 };

/* NAME_KEY = words, in lines of a Makefile. */
static void
put_words(tnb_buf *b, const char *name, const char *key, const tnt_texts *words)
{
    size_t column = strlen(name) + strlen(key) + 2;
    tnb_buf_printf(b, "%s%s =", name, key);
    for (uint32_t i = 0; i < words->n; i++) {
        if (column + strlen(words->at[i]) + 3 > WIDTH) {
            tnb_buf_puts(b, " \\\n   ");
            column = 3;
        }
        tnb_buf_printf(b, " %s", words->at[i]);
        column += strlen(words->at[i]) + 1;
    }
    tnb_buf_puts(b, "\n");
}

static const char *
renamed(tnt_names *names, const char *text)
{
    return tnt_rename_path(names, text);
}

/* The C files of a part under their new names. */
static tnt_texts
code_of(tnt_kit *k, tnt_names *names, const tnt_part *p)
{
    tnt_texts out = {0};
    for (uint32_t i = 0; i < p->sources.n; i++) {
        bool left = !tnb_ends_with(p->sources.at[i], ".c");
        for (uint32_t j = 0; j < k->leave.n; j++)
            left |= strcmp(k->leave.at[j], p->sources.at[i]) == 0;
        const char *name = renamed(names, p->sources.at[i]);
        if (!left)
            TNB_PUSH(k->arena, out, name);
    }
    return out;
}

static tnb_status
put_makefile(tnt_kit *k, tnt_names *names, tnb_err *err)
{
    tnb_buf b = {0};
    tnt_texts plugins = {0}, programs = {0};
    for (uint32_t i = 0; i < k->parts.n; i++) {
        const char *name = renamed(names, k->parts.at[i].name);
        if (k->parts.at[i].is_module)
            TNB_PUSH(k->arena, plugins, name);
        else
            TNB_PUSH(k->arena, programs, name);
    }
    tnb_buf_puts(&b, "# " SPDX "\n");
    put_words(&b, "PLUGINS", "", &plugins);
    if (programs.n)
        put_words(&b, "PROGRAMS", "", &programs);
    for (uint32_t i = 0; i < k->parts.n; i++) {
        const tnt_part *p = &k->parts.at[i];
        const char *name = renamed(names, p->name);
        tnt_texts code = code_of(k, names, p);
        put_words(&b, name, "_SOURCES", &code);
        if (p->pkg_config)
            tnb_buf_printf(&b, "%s_PKGCONFIG = %s\n", name, p->pkg_config);
        if (p->libs)
            tnb_buf_printf(&b, "%s_LIBS = %s\n", name, p->libs);
    }
    if (k->kernels)
        tnb_buf_printf(&b, "KERNELS = %s\n", renamed(names, k->kernels));
    if (k->no_suites)
        tnb_buf_puts(&b, "TARGET =\n");
    if (k->checks.n)
        put_words(&b, "CHECKS", "", &k->checks);
    tnb_buf_puts(&b, "include $(or $(shell pkg-config --variable=pluginmk tenon),"
                     "$(error pkg-config does not find tenon: set PKG_CONFIG_PATH))\n");
    tnb_status st = b.failed ? tnb_fail(err, TNB_NO_MEMORY, "out of memory for the Makefile")
                             : tnt_project_put(k, "Makefile", b.s, b.n, err);
    tnb_buf_free(&b);
    return st;
}

static tnb_status
put_ini(tnt_kit *k, tnt_names *names, bool target, tnb_err *err)
{
    tnb_buf b = {0};
    tnb_mapping m = {0};
    const char *to = names->to;
    const char *path = tnb_printf(k->arena, "%s/targets/%s.ini", k->folder, k->name);
    tnb_buf_printf(&b,
                   "; Loads %s from its build folder: tenon COMMAND --config %s.ini\n"
                   "; `make install` installs the other sections with the site's targets.\n"
                   "[tenon]\nplugin_path = build\n\n",
                   to, to);
    if (tnb_map_file(path, MAX_TEXT, &m, NULL) == TNB_OK)
        tnt_rename_ini(names, m.data, (size_t)m.size, &b);
    else if (target)
        tnb_buf_printf(&b,
                       "; More targets of this kind, with other attributes:\n;\n"
                       ";     [target %s-large]\n;     kind = %s\n",
                       to, to);
    tnb_unmap(&m);
    tnb_status st = b.failed
                        ? tnb_fail(err, TNB_NO_MEMORY, "out of memory for the INI file")
                        : tnt_project_put(k, tnb_printf(k->arena, "%s.ini", to), b.s, b.n, err);
    tnb_buf_free(&b);
    return st;
}

/* README.md of the original, as BACKEND.md. */
static tnb_status
put_page(tnt_kit *k, tnt_names *names, bool *there, tnb_err *err)
{
    tnb_mapping m = {0};
    tnb_buf b = {0};
    *there =
        tnb_map_file(tnb_path_join(k->arena, k->folder, "README.md"), MAX_TEXT, &m, NULL) == TNB_OK;
    if (!*there)
        return TNB_OK;
    tnb_buf_printf(&b, "<!-- README.md of the backend %s, with the names of this copy. -->\n",
                   k->name);
    tnt_rename(names, m.data, (size_t)m.size, &b);
    tnb_unmap(&m);
    tnb_status st = b.failed ? tnb_fail(err, TNB_NO_MEMORY, "out of memory for BACKEND.md")
                             : tnt_project_put(k, "BACKEND.md", b.s, b.n, err);
    tnb_buf_free(&b);
    return st;
}

static tnb_status
put_readme(tnt_kit *k, tnt_names *names, bool target, bool page, tnb_err *err)
{
    const char *to = names->to;
    tnb_buf b = {0};
    tnb_buf_printf(
        &b,
        "<!-- " SPDX " -->\n# %s: a plugin of Tenon\n\n"
        "Created by `tenon new-plugin %s --from %s` (Tenon %s). The copied files keep their "
        "licences (first\nline of each); the others are Apache-2.0 or MIT-0, at your choice.%s\n\n",
        to, to, k->name, PACKAGE_VERSION, page ? " `BACKEND.md` describes the files." : "");
    tnb_buf_printf(&b,
                   "    make                                   build; pkg-config has to find Tenon "
                   "(PKG_CONFIG_PATH)\n"
                   "    tenon list plugins --why --config %s.ini\n",
                   to);
    if (target)
        tnb_buf_printf(&b, "    tenon run MODEL -t %s --config %s.ini\n", to, to);
    tnb_buf_puts(&b,
                 "    make check                             tests it\n"
                 "    make install                           into the installed Tenon's folders "
                 "(DESTDIR is honoured)\n\n"
                 "`make check` loads each module in a child process (`tenon check-plugin`)");
    tnb_buf_puts(&b, target ? ", runs the device conformance\nsuite on its device and the operator "
                              "suite on its target, each result compared with the reference "
                              "interpreter.\n"
                            : " and runs the plugin's own tests.\n");
    tnb_buf_printf(
        &b,
        "\nA module lists what it provides in its tables and in its manifest (`%s.plugin`), which "
        "is read without loading\nthe module; the two lists must be equal. The manifest's "
        "`version` is that of the entry macro.\nAdd new source files to the Makefile; the head of "
        "`pkg-config --variable=pluginmk tenon` documents its variables.\n\n"
        "The ABI: `abi.md` of Tenon's documentation. Before 1.0 a plugin built for ABI 0.Y loads "
        "in Tenon of\nABI 0.Y only; another version refuses it before any of its code runs, and it "
        "must be rebuilt.\n",
        renamed(names, k->parts.at[0].name));
    tnb_status st = b.failed ? tnb_fail(err, TNB_NO_MEMORY, "out of memory for README.md")
                             : tnt_project_put(k, "README.md", b.s, b.n, err);
    tnb_buf_free(&b);
    return st;
}

tnb_status
tnt_project_files(tnt_kit *k, tnt_names *names, tnb_err *err)
{
    bool page, target = k->has_target;
    TNB_TRY(put_makefile(k, names, err));
    TNB_TRY(put_ini(k, names, target, err));
    TNB_TRY(put_page(k, names, &page, err));
    return put_readme(k, names, target && !k->no_suites, page, err);
}
