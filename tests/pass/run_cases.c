/* SPDX-License-Identifier: Apache-2.0 */
/* Runs golden cases of passes.
 *
 *     run_cases CASE.py...
 *
 * A case is a TVMScript file PassName/what_holds.py with the module classes Before and Expected,
 * and comments:
 *
 *     # passes: FuseOps{fuse_opt_level=0}     default: the folder's name
 *     # config: relax.FuseOps.max_depth=2     pass configuration, JSON value
 *     # target: cuda                          current target: a kind, or JSON with attributes
 *     # error: text                           the passes must fail with this in a message; there
 *                                             is no Expected then
 *     # at: 12                                the line that the error points at
 *     # note: text                            and a text in one of its notes
 *
 * @DIR@ in `passes` stands for the folder of the case.
 * The result has to be structurally equal to Expected. With BLESS=1 in the environment the text
 * from the line `# expected:` on is written anew where it is not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* A code generator and its patterns, for cases of RunCodegen: tests/transform/external/testext.c. */
extern const tn_plugin_desc tn_plugin;

typedef struct session {
    tnb_diags *diags;
    tnb_conf *conf;
    tnb_plugins *plugins;
    tn_registry *registry;
} session;

static bool
open_session(session *s)
{
    tnb_err err = {0};
    tnb_conf_options o = {.only_these = true};
    s->diags = tnb_diags_new();
    s->conf = tnb_conf_load(&o, s->diags);
    if (!s->conf || tnb_plugins_open(s->conf, NULL, &s->plugins, &err) != TNB_OK) {
        fprintf(stderr, "run_cases: %s\n", err.message);
        return false;
    }
    s->registry = tn_registry_new(s->plugins);
    if (s->registry && tn_registry_add(s->registry, &tn_plugin, &err) == TNB_OK)
        return true;
    fprintf(stderr, "run_cases: %s\n", err.message);
    return false;
}

static void
close_session(session *s)
{
    tn_registry_free(s->registry);
    tnb_plugins_close(s->plugins);
    tnb_conf_free(s->conf);
    tnb_diags_free(s->diags);
}

/* The rest of the line "# KEY: ..." in the text, or NULL. */
static const char *
directive(tn_ctx *ctx, const char *text, const char *key)
{
    char want[32];
    snprintf(want, sizeof want, "# %s: ", key);
    const char *at = strstr(text, want);
    if (!at || (at != text && at[-1] != '\n'))
        return NULL;
    at += strlen(want);
    return tn_strn(ctx, at, strcspn(at, "\n"));
}

static void
print_diags(tn_ctx *ctx)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(ctx), &b);
    if (b.n)
        fputs(b.s, stderr);
    tnb_buf_free(&b);
}

static bool
has_note(const tnb_diag *d, const char *want)
{
    for (uint32_t i = 0; want && i < d->n_notes; i++)
        if (strstr(d->notes[i], want))
            return true;
    return want == NULL;
}

static bool
has_error(tn_ctx *ctx, const char *want, const char *line, const char *note)
{
    for (uint32_t i = 0; i < tnb_diags_count(tn_diags(ctx)); i++) {
        const tnb_diag *d = tnb_diags_get(tn_diags(ctx), i);
        if (strstr(d->message, want) && has_note(d, note) &&
            (!line || d->place.line == strtoul(line, NULL, 10)))
            return true;
    }
    return false;
}

/* The text with the folder of the case put in. */
static const char *
with_folder(tn_ctx *ctx, const char *text, const char *path)
{
    const char *at;
    while ((at = strstr(text, "@DIR@")))
        text = tn_strf(ctx, "%.*s%s%s", (int)(at - text), text, tnb_path_dir(tn_arena(ctx), path),
                       at + 5);
    return text;
}

/* A target's kind, or JSON. */
static const tn_target *
target_of(tn_ctx *ctx, const char *text)
{
    tnb_err err = {0};
    if (*text != '{')
        return (const tn_target *)tn_target_of(ctx, text, NULL);
    const tn_node *d = tn_value_from_json(ctx, text, strlen(text), &err);
    return (const tn_target *)tn_target_of(ctx, tn_dict_str(d, "kind", "?"),
                                           tn_dict_set(ctx, d, "kind", NULL));
}

static const tn_module *
find_module(const tn_named_module *m, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(m[i].name, name) == 0)
            return m[i].module;
    return NULL;
}

static bool
bless(tn_ctx *ctx, const char *path, const char *text, const tn_module *result)
{
    const char *at = strstr(text, "# expected:\n");
    size_t keep = at ? (size_t)(at - text) : strlen(text);
    tnb_buf b = {0};
    tnb_err err = {0};
    tn_print_options o = {.name = "Expected", .inline_constants = true};
    tnb_buf_put(&b, text, keep);
    tnb_buf_puts(&b, "# expected:\n");
    tnb_status st = tn_print(ctx, TN_NODE(result), &o, &b);
    if (st == TNB_OK)
        st = tnb_write_file(path, b.s, b.n, &err);
    if (st != TNB_OK)
        fprintf(stderr, "%s: not blessed: %s\n", path, err.message);
    tnb_buf_free(&b);
    return st == TNB_OK;
}

static bool
is_equal(tn_ctx *ctx, const tn_module *got, const tn_module *want, tnb_buf *where)
{
    return want && tn_equal(ctx, TN_NODE(got), TN_NODE(want), false, where);
}

static bool
compare(tn_ctx *ctx, const char *path, const tn_module *got, const tn_module *want)
{
    tnb_buf where = {0};
    bool ok = is_equal(ctx, got, want, &where);
    if (!ok) {
        tnb_buf b = {0};
        if (tn_print(ctx, TN_NODE(got), NULL, &b) == TNB_OK)
            fprintf(stderr, "%s: %s%s\ngot:\n%s", path,
                    want ? "differs from Expected: " : "no class Expected", where.n ? where.s : "",
                    b.s);
        tnb_buf_free(&b);
    }
    tnb_buf_free(&where);
    return ok;
}

static bool
run_case(session *s, const char *path)
{
    tn_ctx *ctx = tn_ctx_new(s->registry);
    char *text = NULL;
    size_t n = 0;
    tnb_err err = {0};
    if (tnb_read_file(path, 0, &text, &n, &err) != TNB_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        tn_ctx_free(ctx);
        return false;
    }
    uint32_t count = 0;
    tn_named_module *modules = tn_read_modules(ctx, path, text, n, &count);
    const tn_module *before = find_module(modules, count, "Before");
    const char *error = directive(ctx, text, "error");
    const char *passes = directive(ctx, text, "passes");
    const char *config = directive(ctx, text, "config"), *target = directive(ctx, text, "target");
    if (!passes)
        passes = tnb_path_name(tnb_path_dir(tn_arena(ctx), path));
    passes = with_folder(ctx, passes, path);
    tn_pass_run run = {0};
    const char *eq = config ? strchr(config, '=') : NULL;
    if (eq) {
        const tn_node *v = tn_value_from_json(ctx, eq + 1, strlen(eq + 1), &err);
        run.config =
            v ? tn_dict_set(ctx, NULL, tn_strn(ctx, config, (size_t)(eq - config)), v) : NULL;
    }
    if (target)
        run.target = target_of(ctx, target);
    tn_pass_list list;
    bool ok = before && tn_pass_list_parse(ctx, passes, path, &list);
    const tn_module *got = ok ? tn_run_passes(ctx, before, &list, &run) : NULL;
    if (error && ok) {
        ok =
            !got && has_error(ctx, error, directive(ctx, text, "at"), directive(ctx, text, "note"));
        if (!ok)
            fprintf(stderr, "%s: no error with the text '%s' as told\n", path, error);
    } else {
        const tn_module *want = find_module(modules, count, "Expected");
        bool write = getenv("BLESS") && *getenv("BLESS");
        ok = got && (write ? is_equal(ctx, got, want, NULL) || bless(ctx, path, text, got)
                           : compare(ctx, path, got, want));
    }
    if (!ok)
        print_diags(ctx);
    free(text);
    tn_ctx_free(ctx);
    printf("%s %s\n", ok ? "ok  " : "FAIL", path);
    return ok;
}

int
main(int argc, char **argv)
{
    session s = {0};
    if (!open_session(&s))
        return 1;
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed += !run_case(&s, argv[i]);
    close_session(&s);
    printf("%d cases, %d failed\n", argc - 1, failed);
    return failed ? 1 : 0;
}
