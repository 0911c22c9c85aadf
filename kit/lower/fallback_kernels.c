/* SPDX-License-Identifier: Apache-2.0 */
/* FallbackKernels: tensor programs that the target's code generator does not take are given to another target.
 *
 *     def sort(A, B): ...    =>    def sort(A, B):
 *                                      T.func_attr({"tenon.fallback": "cpu", "tirx.is_scheduled": True})
 *                                      ...
 *
 * It stands where programs are fused and not yet scheduled. tnk_codegen.takes decides; a target without that function takes all.
 * Where the configuration does not allow it ([tenon] fallback) a program that is not taken is an error, which says why. The driver
 * schedules, lowers and generates such programs for the other target (kit/driver/fallback.c), and the virtual machine
 * copies what they read and write between the devices. Keeps results bit by bit.
 */
#include "lower.h"
#include "tenon/kit/codegen.h"

typedef bool (*takes_fn)(void *self, tn_ctx *ctx, const tn_target *target, const tn_node *prim_func,
                         const char **why);

typedef struct fallback {
    const tn_target_kind *kind;
    takes_fn takes;
    const char *to;
    bool allowed, failed;
} fallback;

/* NULL: a backend that takes all. */
static takes_fn
takes_of(const tn_target_kind *k)
{
    return k && k->codegen ? k->codegen->takes : NULL;
}

static const tn_node *
visit(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    fallback *fb = user;
    const char *why = NULL;
    (void)m;
    if (tn_func_attr(func, "tirx.is_host_func") || tn_func_attr(func, TNK_FALLBACK_ATTR) ||
        TN_WITHIN(pc->ctx, "target", fb->kind, "takes",
                  fb->takes(fb->kind->codegen->self, pc->ctx, pc->target, func, &why)))
        return func;
    why = why ? why : "it does not say why";
    if (!fb->allowed) {
        tn_error(pc->ctx, func->loc, TNB_UNSUPPORTED,
                 "the target '%s' does not take the tensor program '%s': %s", fb->kind->base.name,
                 name, why);
        tnb_diag_hint(tn_diags(pc->ctx),
                      "[tenon] fallback = true (or --set tenon.fallback=true) runs such programs "
                      "on the target '%s'",
                      fb->to);
        fb->failed = true;
        return func;
    }
    tn_pass_note(pc, "%s runs on %s: %s", name, fb->to, why);
    tn_warn(pc->ctx, func->loc, "%s runs on the target '%s': '%s' does not take it: %s", name,
            fb->to, fb->kind->base.name, why);
    func = tn_func_with_attr(pc->ctx, func, TNK_FALLBACK_ATTR, tn_string(pc->ctx, fb->to));
    return tn_func_with_attr(pc->ctx, func, "tirx.is_scheduled", tn_bool(pc->ctx, true));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_registry *reg = tn_ctx_registry(pc->ctx);
    fallback fb = {.to = tn_option_str(pc, "to")};
    fb.allowed = tn_config_bool(pc, "tenon.fallback");
    fb.kind = pc->target && reg ? tn_find_target(reg, pc->target->kind, NULL) : NULL;
    fb.takes = takes_of(fb.kind);
    if (!fb.takes || !strcmp(fb.kind->base.name, fb.to))
        return m;
    m = tn_map_functions(pc, m, TN_PRIM_FUNCS, visit, &fb);
    return fb.failed ? NULL : m;
}

static const tn_attr_schema options[] = {
    {"to", TN_ATTR_STR, 0, "\"cpu\"", "target that gets what this one does not take", "target"},
    {0},
};

static const tn_attr_schema config[] = {
    {"tenon.fallback", TN_ATTR_BOOL, 0, "False",
     "give the target of the option 'to' what the target does not take, with a warning"},
    {.name = NULL}};

const tn_pass tnk_pass_fallback_kernels = {
    .base.size = sizeof(tn_pass),
    .base.name = "FallbackKernels",
    .base.doc =
        "Gives tensor programs that the target does not take to another, if that is allowed.",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .needs = "target",
    .config = config,
};
