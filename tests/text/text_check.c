/* SPDX-License-Identifier: Apache-2.0 */
/* Reads text modules, prints them, reads and prints again, and compares.
 *
 *     text_check [-p] [-v] [-q] FILE...     -p: print each module; -v: verify it; -q: only the summary
 *
 * Exit status 0: every module of every file came back equal, and its text the second time identical.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/base/plugin.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef struct options {
    bool print, verify, quiet;
} options;

static void
show_errors(tn_ctx *ctx)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(ctx), &b);
    fputs(b.s ? b.s : "", stderr);
    tnb_buf_free(&b);
}

/* Prints m, reads the text, compares. False after saying what differs. */
static bool
comes_back(tn_ctx *ctx, const char *file, const tn_module *m, const options *o)
{
    tnb_buf first = {0}, second = {0}, where = {0};
    const tn_print_options how = {.inline_constants = true};
    bool ok = false;
    if (tn_print(ctx, TN_NODE(m), &how, &first) != TNB_OK) {
        fprintf(stderr, "%s: cannot be printed\n", file);
        show_errors(ctx);
        tnb_buf_free(&first);
        return false;
    }
    if (o->print)
        fputs(first.s, stdout);
    tnb_diags_clear(tn_diags(ctx));
    const tn_module *again = tn_read_module(ctx, "printed", first.s, first.n);
    if (!again) {
        fprintf(stderr, "%s: what was printed cannot be read\n", file);
        show_errors(ctx);
    } else if (!tn_equal(ctx, TN_NODE(m), TN_NODE(again), false, &where)) {
        fprintf(stderr, "%s: comes back different: %s\n", file, where.s ? where.s : "?");
    } else if (tn_print(ctx, TN_NODE(again), &how, &second) != TNB_OK || first.n != second.n ||
               memcmp(first.s, second.s, first.n) != 0) {
        size_t i = 0, line = 1;
        while (i < first.n && i < second.n && first.s[i] == second.s[i])
            line += first.s[i++] == '\n';
        fprintf(stderr, "%s: prints differently the second time, from line %zu\n", file, line);
        if (o->print)
            fputs(second.s ? second.s : "", stdout);
    } else {
        ok = true;
    }
    tnb_buf_free(&first);
    tnb_buf_free(&second);
    tnb_buf_free(&where);
    return ok;
}

static bool
check_file(tn_registry *reg, const char *path, const options *o)
{
    char *text;
    size_t n;
    tnb_err err = {0};
    if (tnb_read_file(path, 0, &text, &n, &err) != TNB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    tn_ctx *ctx = tn_ctx_new(reg);
    uint32_t count = 0;
    const tn_named_module *all = tn_read_modules(ctx, path, text, n, &count);
    free(text);
    bool ok = tnb_diags_errors(tn_diags(ctx)) == 0 && count > 0;
    if (!ok)
        fprintf(stderr, "%s: cannot be read\n", path);
    if (!ok)
        show_errors(ctx);
    for (uint32_t i = 0; ok && i < count; i++) {
        if (o->verify && tn_verify(ctx, all[i].module)) {
            fprintf(stderr, "%s: is not well-formed\n", path);
            show_errors(ctx);
            ok = false;
        } else {
            ok = comes_back(ctx, path, all[i].module, o);
        }
    }
    tn_ctx_free(ctx);
    return ok;
}

int
main(int argc, char **argv)
{
    options o = {0};
    int i = 1, good = 0, bad = 0;
    tnb_err err = {0};
    tnb_plugins *plugins = NULL;
    for (; i < argc && argv[i][0] == '-'; i++) {
        o.print |= argv[i][1] == 'p';
        o.verify |= argv[i][1] == 'v';
        o.quiet |= argv[i][1] == 'q';
    }
    if (tnb_plugins_open(NULL, getenv("TENON_PLUGIN_PATH"), &plugins, &err) != TNB_OK)
        fprintf(stderr, "%s\n", err.message);
    tn_registry *reg = tn_registry_new(plugins);
    for (; i < argc; i++) {
        bool ok = check_file(reg, argv[i], &o);
        if (!o.quiet && ok)
            printf("%s: ok\n", argv[i]);
        good += ok;
        bad += !ok;
    }
    printf("%d good, %d bad\n", good, bad);
    tn_registry_free(reg);
    tnb_plugins_close(plugins);
    return bad ? 1 : 0;
}
