/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the driver share. */
#ifndef TENON_KIT_DRIVER_PRIVATE_H
#define TENON_KIT_DRIVER_PRIVATE_H

#include "tenon/base/conf.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/kit/artifact.h"
#include "tenon/kit/driver.h"
#include "tenon/kit/vm.h"

/* Records the error of a base function. */
void
driver_error(tn_ctx *ctx, const tnb_err *err);

/* The driver that runs a target's code: by default the one of the same name. */
const char *
driver_device(const tn_target_kind *kind);

/* One variant on its way into the artifact. */
struct driver_variant {
    tnk_target target;
    const tn_module *module; /* finalized */
    tnk_kernel *kernels;     /* the target's own, then those of the fallback */
    const char **kernel_funcs;
    uint32_t n_kernels, n_fallback;
    tnk_code code;
    tnk_target fallback; /* where n_fallback > 0: who runs what the target does not take */
    tnk_code fallback_code;
    tnk_c_sources sources; /* in place of code, where C is emitted */
    tnk_program *program;
};

/* ---- constants.c ---- */
/* The deferred constants of a finalized module. Those that are much work are made by the machine
 * code of a native evaluator, if there is one; all of it is compiled at once, here. */
typedef struct driver_constants driver_constants;
driver_constants *
driver_constants_new(tn_ctx *ctx, const tn_module *m, tn_native_options *opt);
/* The elements of a constant of the module; NULL after recording an error. */
const void *
driver_constants_get(driver_constants *c, const tn_data *data);
/* They are not needed any more; what was only needed for them goes too. */
void
driver_constants_done(driver_constants *c, const tn_data *data);
void
driver_constants_free(driver_constants *c); /* NULL is fine */

/* ---- locks.c ---- */
/* Records that what a lock is on may not be set there. */
void
driver_refuse_locked(tn_ctx *ctx, tnb_place place, const struct tnb_conf_value *lock,
                     const char *fmt, ...) TNB_PRINTF(4, 5);
/* The file and line of a setting. */
tnb_place
driver_place(const struct tnb_conf_value *v);
/* What locks a key of [SECTION NAME], or of the same section under any name of the backend; NULL: nothing. */
const struct tnb_conf_value *
driver_lock(const struct tnb_conf *conf, const char *section, const char *name,
            const tn_target_kind *kind, const char *key);
/* Whether the setting may have the effect of KEY in [pipeline NAME] of the target; an error is recorded. */
bool
driver_may_edit(tn_ctx *ctx, const struct tnb_conf *conf, const tnk_target *t,
                const struct tnb_conf_value *v, const char *key);
/* Whether a user may give the options of the list's passes; an error is recorded. */
bool
driver_may_give(tn_ctx *ctx, const struct tnb_conf *conf, tnb_place place,
                const tn_pass_list *list);

/* ---- check_settings.c ---- */
/* Forgets what was recorded from `from` on if all of it was recorded before: targets share sections, and [pass NAME]. */
void
driver_forget_repeated(tnb_diags *d, uint32_t from);

/* ---- settings.c ---- */
bool
driver_pass_reads(const tn_pass *pass, const char *key);
/* Whether a pass reads the key of the passes' configuration and the value is of its type, with a warning if none of the list reads it,
 * which is that of `t` (NULL: nobody's); an error is recorded. `origin`: see tn_pass_config. */
bool
driver_check_key(tn_ctx *ctx, const tn_pair *p, const char *origin, const tnk_target *t,
                 const tn_pass_list *list);
/* Whether a plugin promises the thing, be it used or not. */
bool
driver_promised(tn_ctx *ctx, const char *kind, const char *name);
/* Warns of a [target NAME] whose kind nobody provides. `k`: the setting of it, NULL if there is none; `any`: another of the section. */
void
driver_unknown_kind(tn_ctx *ctx, const struct tnb_conf_value *k, const struct tnb_conf_value *any);
/* Whether -t NAME would name a target: JSON, a section, a tag or a kind, be its plugin used or not. */
bool
driver_is_target(tn_ctx *ctx, const struct tnb_conf *conf, const char *name);
/* Warns of each name in [tenon] KEY, a list of targets, that is none. */
void
driver_check_target_names(tn_ctx *ctx, const struct tnb_conf *conf, const char *key);

/* ---- pipeline.c ---- */
/* The value of an option in [pass NAME]; NULL after recording an error. */
const tn_node *
driver_option(tn_ctx *ctx, const struct tnb_conf_value *v);

/* ---- compile.c ---- */
/* Whether [target NAME] has only attributes that its kind knows, with values of their types; errors are
 * recorded. The kind has to be there. */
bool
driver_check_target(tn_ctx *ctx, const struct tnb_conf *conf, const char *section);
/* Whether each of opt's `target_attrs` is an attribute of one of the variants' targets; an error is recorded. */
bool
driver_has_attrs(tn_ctx *ctx, const tnk_compile_options *opt, const struct driver_variant *v,
                 uint32_t n);
/* The target's kind with the effective `lower` list in place of the plugin's. */
const tn_target_kind *
driver_kind_with_lower(tn_ctx *ctx, const tn_target_kind *kind, const tn_pass_list *lower);
/* Lowers a tensor program and puts it behind the variant's kernels, called `symbol` (NULL: as the program). False after recording an error. */
TNB_MUST_CHECK bool
driver_add_kernel(tn_ctx *ctx, struct driver_variant *v, const tnk_target *target,
                  const tn_target_kind *kind, const char *name, const char *symbol,
                  const tn_node *func);

/* ---- emit.c ---- */
/* Whether the options ask for something that the target makes; errors are recorded. */
TNB_MUST_CHECK tnb_status
driver_emit_check(tn_ctx *ctx, const tnk_compile_options *opt, const tnk_target *target);
/* Writes what `opt` asks for from a variant with `sources`; `artifact`: its file without code. *bytes: of all that was written. */
TNB_MUST_CHECK tnb_status
driver_emit(tn_ctx *ctx, const tnk_compile_options *opt, tnk_build *b,
            const struct driver_variant *v, int artifact, uint64_t *bytes);

/* ---- fallback.c ---- */
/* The name of the target that runs a PrimFunc in place of the module's; NULL: the module's own. */
const char *
driver_falls_back(const tn_node *func);
/* The kernels of such functions, scheduled and lowered for their target. */
TNB_MUST_CHECK tnb_status
driver_fallback_kernels(tn_ctx *ctx, struct driver_variant *v, const tnk_compile_options *opt);

/* ---- external.c ---- */
/* The module without the functions that only give external calls their meaning. */
const tn_module *
driver_without_meanings(tn_ctx *ctx, const tn_module *m);

/* The names of functions that can be called from outside: those with a global symbol, or all graph
 * functions. */
const char *const *
driver_publics(tn_ctx *ctx, const tn_module *m, uint32_t *n);
/* The artifact's metadata as JSON. */
TNB_MUST_CHECK tnb_status
driver_metadata(tn_ctx *ctx, const tn_module *original, const char *const *publics,
                uint32_t n_publics, const struct driver_variant *variants, uint32_t n,
                tnb_buf *out);

#endif
