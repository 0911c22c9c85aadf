/* SPDX-License-Identifier: Apache-2.0 */
/* AttachSpecDecodeAuxFuncs: gathering and scattering of rows, for speculative decoding, become functions of the module.
 *
 *     @T.prim_func                                          @R.function
 *     def scatter_probs(src, indices, dst)                  def scatter_hidden_states(src, indices, dst)
 *     def gather_probs(src, indices, dst)                   def gather_hidden_states(src, indices, dst)
 *
 * (conf/data/llm/spec_decode.py), the latter where the module has `prefill_to_last_hidden_states`, in its dtype. Upstream broadcasts the
 * indices to the shards of tensor parallelism, which Tenon does not have. A module with scatter_probs keeps its own. Cases:
 * tests/pass/AttachSpecDecodeAuxFuncs.
 */
#include "llm.h"

static const char prefill[] = "prefill_to_last_hidden_states";

static bool
wanted(const tn_module *m, const char *name)
{
    return tn_module_get(m, prefill) || !strcmp(name, "scatter_probs") ||
           !strcmp(name, "gather_probs");
}

/* Of the first field that the function gives; void: there is none. */
static tnb_dtype
hidden_dtype(const tn_module *m)
{
    const tn_function *f = tn_as_function(tn_module_get(m, prefill));
    const tn_ty_tuple *t = f ? tn_as_ty_tuple(f->ret) : NULL;
    return t && t->fields.n ? tn_type_dtype(t->fields.at[0]) : TNB_VOID;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    tnb_dtype d = hidden_dtype(m);
    if (!llm_is_served(pc, m) || tn_module_get(m, "scatter_probs"))
        return m;
    if (tn_module_get(m, prefill) && !tnb_dtype_is_float(d)) {
        tn_error(ctx, tn_module_get(m, prefill)->loc, TNB_TYPE,
                 "AttachSpecDecodeAuxFuncs: '%s' gives no tuple whose first field is a tensor of "
                 "floats",
                 prefill);
        return NULL;
    }
    const tn_node *given = tnb_dtype_is_float(d)
                               ? tn_dictv(ctx, "dtype", tn_string(ctx, tnb_dtype_print(d).s), NULL)
                               : NULL;
    return llm_attach_file(pc, m, given, "AttachSpecDecodeAuxFuncs", wanted);
}

static const tn_attr_schema options[] = {
    LLM_KERNELS("spec_decode.py"),
    LLM_ALWAYS,
    {0},
};

const tn_pass llm_attach_spec_decode_aux_funcs = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachSpecDecodeAuxFuncs",
    .base.doc = "add functions that gather and scatter rows, for speculative decoding",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .needs = "op",
    .run = run,
};
