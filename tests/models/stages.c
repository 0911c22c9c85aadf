/* SPDX-License-Identifier: Apache-2.0 */
/* The IR survives its text: a model goes through every pass of a target, and its module is printed,
 * read and printed again at every stage, the lowering of tensor programs included.
 *
 *     stages TARGET MODEL...
 */
#include <stdio.h>
#include <stdlib.h>

#include "tenon/base/conf.h"
#include "tenon/core/registry.h"
#include "tenon/kit/driver.h"

static bool
run_stages(tn_ctx *ctx, const tnb_conf *conf, const char *target, const char *path, uint32_t *n)
{
    static const tnk_compile_options opt = {.roundtrip = true};
    tnk_model model;
    tnk_target t;
    tnk_pipeline p;
    if (tnk_import(ctx, path, NULL, &model) != TNB_OK || !tnk_target_find(ctx, conf, target, &t) ||
        !tnk_pipeline_make(ctx, conf, &t, model.profile, &p))
        return false;
    const tn_module *m =
        tnk_run_phases(ctx, model.module, &t, &p, TNK_LIBRARY_DISPATCH, TNK_FINALIZE, &opt);
    if (m)
        m = tnk_run_phases(ctx, m, &t, &p, TNK_LOWER, TNK_LOWER, &opt);
    *n = 0;
    for (int i = 0; i < TNK_N_PHASES; i++)
        *n += p.phases[i].n;
    return m != NULL;
}

int
main(int argc, char **argv)
{
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    tnb_conf *conf = tnb_conf_load(NULL, diags);
    tnb_plugins *plugins = NULL;
    int failed = 0;
    if (argc < 3 || !conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK) {
        fprintf(stderr, "usage: stages TARGET MODEL...\n%s\n", err.message);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        tn_registry *reg = tn_registry_new(plugins);
        tn_ctx *ctx = tn_ctx_new(reg);
        uint32_t n = 0;
        bool ok = run_stages(ctx, conf, argv[1], argv[i], &n);
        printf("%s %s: %u passes\n", ok ? "ok  " : "FAIL", argv[i], n);
        fflush(stdout);
        if (!ok) {
            tnb_buf b = {0};
            tnb_diags_print(tn_diags(ctx), &b);
            fprintf(stderr, "%s", b.s ? b.s : "");
            tnb_buf_free(&b);
            failed++;
        }
        tn_ctx_free(ctx);
        tn_registry_free(reg);
    }
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    tnb_diags_free(diags);
    return failed != 0;
}
