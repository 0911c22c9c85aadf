/* SPDX-License-Identifier: Apache-2.0 */
/* AttachCUDAGraphSymbolicCaptureHints: symbolic variables for whose every value a graph may be
 * captured.
 *
 *     AttachCUDAGraphSymbolicCaptureHints{hints={"batch_decode": ["batch_size"]}}
 *     @R.function                            @R.function
 *     def batch_decode(...):                 def batch_decode(...):
 *         ... R.func_attr({"relax.rewrite_cuda_graph.capture_symbolic_vars":
 *                                                             ["batch_size"]})
 *
 * Graph functions that `hints` does not name stay as they are, and a name without a function counts
 * for nothing: one set of hints serves models with different functions. RewriteCUDAGraph reads the
 * attribute. Cases: tests/pass/AttachCUDAGraphSymbolicCaptureHints.
 */
#include "llm.h"

static bool
is_names(const tn_node *v)
{
    const tn_array *a = tn_as_array(v);
    for (uint32_t i = 0; a && i < a->items.n; i++)
        if (!tn_is(a->items.at[i], TN_KIND_STRING_IMM))
            return false;
    return a != NULL;
}

static bool
check(tn_ctx *ctx, const tn_node *hints)
{
    const tn_dict *d = tn_as_dict(hints);
    if (!d)
        tn_error(
            ctx, 0, TNB_TYPE,
            "AttachCUDAGraphSymbolicCaptureHints: hints is %s, expected a dictionary from names of "
            "functions to lists of symbolic variables",
            tn_text(ctx, hints));
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        if (is_names(p->value))
            continue;
        tn_error(
            ctx, 0, TNB_TYPE,
            "AttachCUDAGraphSymbolicCaptureHints: the hint of '%s' is %s, expected a list of names "
            "of symbolic variables",
            p->key, tn_text(ctx, p->value));
        return false;
    }
    return d != NULL;
}

/* Functions and symbolic variables that the module does not have. */
static void
warn_of_names(tn_ctx *ctx, const tn_module *m, const tn_dict *hints)
{
    for (uint32_t i = 0; i < hints->items.n; i++) {
        const tn_pair *p = tn_as_pair(hints->items.at[i]);
        const tn_array *symbols = tn_as_array(p->value);
        const bool there = tn_is(tn_module_get(m, p->key), TN_KIND_FUNCTION);
        if (!there)
            tn_warn(ctx, 0, "option 'hints': the module has no graph function '%s'", p->key);
        for (uint32_t k = 0; there && k < symbols->items.n; k++)
            llm_need_symbol(ctx, m, p->key, "hints", tn_as_string_imm(symbols->items.at[k])->value);
    }
}

static const tn_node *
attach(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    const tn_node *hint = tn_dict_get(user, name);
    (void)m;
    return hint ? llm_attach(pc->ctx, func, "relax.rewrite_cuda_graph.capture_symbolic_vars", hint)
                : func;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *hints = tn_dict_get(pc->options, "hints");
    if (!hints || tn_is(hints, TN_KIND_NONE))
        return m;
    if (!check(pc->ctx, hints))
        return NULL;
    warn_of_names(pc->ctx, m, tn_as_dict(hints));
    return tn_map_functions(pc, m, TN_FUNCTIONS, attach, (void *)(uintptr_t)hints);
}

static const tn_attr_schema options[] = {
    {"hints", TN_ATTR_ANY, TN_ATTR_OPTIONAL, "None",
     "dictionary: name of a function -> list of symbolic variables"},
    {0},
};

const tn_pass llm_attach_cuda_graph_symbolic_capture_hints = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachCUDAGraphSymbolicCaptureHints",
    .alias = "AttachCUDAGraphCaptureHints",
    .base.doc = "name the symbolic variables for whose every value a CUDA graph may be captured",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
