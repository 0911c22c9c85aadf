/* SPDX-License-Identifier: Apache-2.0 */
/* Importing a model written by a test. */
#include "import_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/file.h"

int
fixture_open(void **state)
{
    tnb_err err = {0};
    fixture *f = calloc(1, sizeof *f);
    tnb_diags *d = tnb_diags_new();
    tnb_conf_options o = {0};
    snprintf(f->folder, sizeof f->folder, "/tmp/tenon-onnx-%ld", (long)getpid());
    f->conf = tnb_conf_load(&o, d);
    tnb_diags_free(d);
    if (!f->conf || tnb_plugins_open(f->conf, NULL, &f->plugins, &err) != TNB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    f->registry = tn_registry_new(f->plugins);
    f->importer = tn_find_entry(f->registry, "importer", "onnx", &err);
    if (!f->importer) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    *state = f;
    return tnb_make_dirs(f->folder, 0700, &err) == TNB_OK ? 0 : -1;
}

static void
remove_folder(const char *folder)
{
    tnb_arena *a = tnb_arena_new();
    const char **names;
    uint32_t n;
    tnb_err err = {0};
    if (tnb_list_dir(a, folder, NULL, &names, &n, &err) == TNB_OK)
        for (uint32_t i = 0; i < n; i++) {
            const char *p = tnb_path_join(a, folder, names[i]);
            if (unlink(p) != 0)
                remove_folder(p);
        }
    rmdir(folder);
    tnb_arena_free(a);
}

static void
forget(fixture *f)
{
    if (f->ctx)
        tn_ctx_free(f->ctx);
    f->ctx = NULL;
    tnb_buf_free(&f->text);
}

int
fixture_close(void **state)
{
    fixture *f = *state;
    forget(f);
    remove_folder(f->folder);
    tn_registry_free(f->registry);
    tnb_plugins_close(f->plugins);
    tnb_conf_free(f->conf);
    free(f);
    return 0;
}

void
fixture_write(fixture *f, const char *name, const void *p, size_t n)
{
    char path[256];
    tnb_err err = {0};
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    if (tnb_write_file(path, p, n, &err) != TNB_OK)
        fail_msg("%s", err.message);
}

tn_ctx *
fixture_ctx(fixture *f)
{
    forget(f);
    f->ctx = tn_ctx_new(f->registry);
    assert_non_null(f->ctx);
    return f->ctx;
}

tnb_status
fixture_import_file(fixture *f, const char *name, const tnk_import_options *opt)
{
    char path[256];
    if (!opt)
        fixture_ctx(f);
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    memset(&f->model, 0, sizeof f->model);
    f->status = f->importer->import(f->importer->self, f->ctx, path, opt, &f->model);
    tnb_diags_print(tn_diags(f->ctx), &f->text);
    return f->status;
}

tnb_status
fixture_import(fixture *f, mw model, const tnk_import_options *opt)
{
    fixture_write(f, "model.onnx", model.s ? model.s : "", model.n);
    tnb_buf_free(&model);
    return fixture_import_file(f, "model.onnx", opt);
}

void
fixture_refused(fixture *f, ...)
{
    va_list ap;
    const char *want;
    if (f->status == TNB_OK || f->model.module)
        fail_msg("the model was imported");
    if (!tnb_diags_errors(tn_diags(f->ctx)))
        fail_msg("no error was recorded");
    va_start(ap, f);
    while ((want = va_arg(ap, const char *)))
        if (!f->text.s || !strstr(f->text.s, want))
            fail_msg("\"%s\" is not in: %s", want, f->text.s ? f->text.s : "");
    va_end(ap);
}

const tn_function *
fixture_main(fixture *f)
{
    if (f->status != TNB_OK)
        fail_msg("not imported: %s", f->text.s ? f->text.s : "");
    if (tn_verify(f->ctx, f->model.module)) {
        tnb_buf b = {0};
        tnb_diags_print(tn_diags(f->ctx), &b);
        print_error("%s\n", b.s ? b.s : "");
        tnb_buf_free(&b);
        fail_msg("the module is not well-formed");
    }
    const tn_function *main_fn = tn_as_function(tn_module_get(f->model.module, "main"));
    assert_non_null(main_fn);
    return main_fn;
}
