/* SPDX-License-Identifier: Apache-2.0 */
/* DispatchTritonKernel: tells of kernels of Triton that a module for cuda asks for; they are not compiled here.
 *
 *     lv = R.call_dps_packed("mlc.triton.w8a8_block_fp8_matmul", (x, w, xs, ws, ...), ...)
 *
 * The calls stay as they are: packed functions of these names, which a program may register, run them. Cases:
 * tests/pass/DispatchTritonKernel.
 */
#include "llm.h"

#include "tenon/core/walk.h"

static const char family[] = "mlc.triton.";

static tn_walk_step
count(void *user, const tn_node *n)
{
    uint32_t *calls = user;
    const tn_call *c = tn_is_call_to(n, "relax.call_dps_packed");
    const tn_extern_func *f = c && c->args.n ? tn_as_extern_func(c->args.at[0]) : NULL;
    *calls += f && !strncmp(f->name, family, sizeof family - 1);
    return TN_WALK_ON;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    bool cuda = pc->target && !strcmp(pc->target->kind, "cuda");
    for (uint32_t i = 0; cuda && i < m->names.n; i++) {
        uint32_t calls = 0;
        tn_walk(m->funcs.at[i], TN_WALK_ONCE, count, NULL, &calls);
        if (calls)
            tn_pass_note(pc, "%s: %u calls of %s* are left to packed functions",
                         tn_module_name(m, i), calls, family);
    }
    return m;
}

const tn_pass llm_dispatch_triton_kernel = {
    .base.size = sizeof(tn_pass),
    .base.name = "DispatchTritonKernel",
    .base.doc = "tell of calls of Triton's kernels, which stay as they are",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
