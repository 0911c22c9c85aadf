/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that another target runs (FallbackKernels): scheduled by that target's ApplyDefaultSchedule, lowered by its list. */
#include "driver_private.h"

const char *
driver_falls_back(const tn_node *func)
{
    const tn_string_imm *s = tn_as_string_imm(tn_func_attr(func, TNK_FALLBACK_ATTR));
    return s ? s->value : NULL;
}

/* Only such functions of the module, as their own target gets them. False: they name several targets, which is recorded. */
static bool
collect(tn_ctx *ctx, struct driver_variant *v, const char **to, const tn_module **out)
{
    const tn_module *m = v->module;
    *to = NULL;
    tn_module_edit *edit = tn_module_edit_new(ctx, tn_module_new(ctx));
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        const char *name = tn_as_prim_func(f) ? driver_falls_back(f) : NULL;
        if (!name)
            continue;
        if (*to && strcmp(*to, name) != 0) {
            tn_error(ctx, f->loc, TNB_UNSUPPORTED,
                     "tensor programs fall back to '%s' and to '%s'; an artifact holds one of them",
                     *to, name);
            return false;
        }
        *to = name;
        f = tn_func_with_attr(ctx, f, TNK_FALLBACK_ATTR, NULL);
        f = tn_func_with_attr(ctx, f, "tirx.is_scheduled", NULL);
        tn_module_edit_set(edit, tn_module_name(m, i), f);
    }
    *out = tn_module_edit_end(edit);
    return *out != NULL;
}

/* Of a target's lists only ApplyDefaultSchedule. */
static void
schedules_only(tnk_pipeline *p)
{
    tn_pass_list *l = &p->phases[TNK_LEGALIZE];
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->at[i].name, "ApplyDefaultSchedule") == 0)
            l->at[n++] = l->at[i];
    l->n = n;
}

tnb_status
driver_fallback_kernels(tn_ctx *ctx, struct driver_variant *v, const tnk_compile_options *opt)
{
    const tn_module *m;
    const char *to;
    tnk_pipeline p;
    if (!collect(ctx, v, &to, &m))
        return TNB_UNSUPPORTED;
    if (!to)
        return TNB_OK;
    if (!tnk_target_find_with(ctx, opt->conf, to, opt->target_attrs, opt->usual_attrs,
                              &v->fallback) ||
        !tnk_pipeline_make(ctx, opt->conf, &v->fallback, NULL, &p))
        return TNB_INVALID;
    if (!v->fallback.kind->codegen || !v->fallback.kind->codegen->build) {
        tn_error(ctx, 0, TNB_UNSUPPORTED,
                 "the target '%s', which gets what '%s' does not take, generates no kernels", to,
                 v->target.name);
        return TNB_UNSUPPORTED;
    }
    if (strcmp(driver_device(v->fallback.kind), driver_device(v->target.kind)) == 0) {
        tn_error(ctx, 0, TNB_UNSUPPORTED,
                 "tensor programs of '%s' cannot fall back to '%s': both run on the device '%s', "
                 "which takes the code of one",
                 v->target.name, to, driver_device(v->target.kind));
        return TNB_UNSUPPORTED;
    }
    schedules_only(&p);
    /* nothing is compacted here: the variant's module and kernels have to stay where they are */
    tn_pass_run run = {.target = v->fallback.target,
                       .config = tnk_pass_config(ctx, opt->conf, opt->config),
                       .config_origin = opt->config_origin,
                       .opt_level = opt->opt_level,
                       .no_verify = opt->no_verify_ir};
    m = tn_run_passes(ctx, m, &p.phases[TNK_LEGALIZE], &run);
    if (!m)
        return TNB_UNSUPPORTED;
    const tn_target_kind *kind =
        driver_kind_with_lower(ctx, v->fallback.kind, &p.phases[TNK_LOWER]);
    for (uint32_t i = 0; i < m->names.n; i++, v->n_fallback++)
        if (!driver_add_kernel(ctx, v, &v->fallback, kind, tn_module_name(m, i), NULL,
                               m->funcs.at[i]))
            return TNB_UNSUPPORTED;
    return TNB_OK;
}
