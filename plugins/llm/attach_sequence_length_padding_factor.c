/* SPDX-License-Identifier: Apache-2.0 */
/* AttachSequenceLengthPaddingFactor: the multiple that sequence lengths are padded to.
 *
 *     target: cuda, arch sm_100a
 *     y = R.call_dps_packed("cutlass.groupwise_scaled_gemm_e4m3fn_e4m3fn", (x, ...), out_ty=...)
 *     ==>
 *     I.module_attrs({"metadata": {"seqlen_padding_factor": 4}})
 *
 * The two group-wise scaled CUTLASS products take lengths that are multiples of four on this
 * architecture; elsewhere, or without them, the module stays as it is. The factor is that of the
 * kernels alone and is written over what the metadata has, as upstream does it. Cases:
 * tests/pass/AttachSequenceLengthPaddingFactor.
 */
#include "llm.h"

#include "tenon/core/walk.h"

enum { PADDING = 4 };

static bool
needs_padding(const char *function)
{
    return strcmp(function, "cutlass.groupwise_scaled_gemm_e4m3fn_e4m3fn") == 0 ||
           strcmp(function, "cutlass.groupwise_scaled_bmm_e4m3fn_e4m3fn") == 0;
}

static tn_walk_step
look(void *user, const tn_node *n)
{
    const tn_call *c = tn_is_call_to(n, "relax.call_dps_packed");
    const tn_extern_func *f = c && c->args.n ? tn_as_extern_func(c->args.at[0]) : NULL;
    if (!f || !needs_padding(f->name))
        return TN_WALK_ON;
    *(bool *)user = true;
    return TN_WALK_STOP;
}

/* The module with the factor in its metadata; NULL after an error. */
static const tn_module *
write_factor(tn_ctx *ctx, const tn_module *m)
{
    const tn_node *metadata = tn_dict_get(m->attrs, "metadata");
    if (metadata && !tn_is(metadata, TN_KIND_DICT)) {
        tn_error(ctx, metadata->loc, TNB_TYPE,
                 "AttachSequenceLengthPaddingFactor: the module's attribute 'metadata' is %s, "
                 "expected a dictionary",
                 tn_text(ctx, metadata));
        return NULL;
    }
    if (tn_dict_int(metadata, "seqlen_padding_factor", 0) == PADDING)
        return m;
    metadata = tn_dict_set(ctx, metadata, "seqlen_padding_factor", tn_i64(ctx, PADDING));
    return tn_module_with_attrs(ctx, m, tn_dict_set(ctx, m->attrs, "metadata", metadata));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    bool found = false;
    if (!pc->target || strcmp(pc->target->kind, "cuda") != 0 ||
        strcmp(tn_dict_str(pc->target->attrs, "arch", ""), "sm_100a") != 0)
        return m;
    for (uint32_t i = 0; !found && i < m->names.n; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(m->funcs.at[i], TN_WALK_ONCE, look, NULL, &found);
    return found ? write_factor(pc->ctx, m) : m;
}

const tn_pass llm_attach_sequence_length_padding_factor = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachSequenceLengthPaddingFactor",
    .base.doc = "write the multiple that sequence lengths are padded to into the metadata",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
