/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of PTX in CUDA C++: those in shared memory (mbarrier), which count arrivals of threads, of their asynchronous copies and bytes
 * of bulk copies, and those with a number, for some warps of a block. */
#include "cuda.h"

#include <stdlib.h>

#include "tenon/core/build.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"

/* An address in shared memory, as instructions take it. */
#define SHARED(name) "\"r\"((unsigned)__cvta_generic_to_shared(" name "))"

typedef struct form {
    tn_intrin_id id;
    int capability; /* the first architecture that has it */
    const char *function, *params, *body;
} form;

static const form forms[] = {
    {TN_INTRIN_ptx_mbarrier_init, 80, "tk_mbarrier_init", "const void *bar, int count",
     "    asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" : : " SHARED(
         "bar") ", "
                "\"r\"(count) : \"memory\");\n"
                "#if __CUDA_ARCH__ >= 900\n"
                "    asm volatile(\"fence.mbarrier_init.release.cluster;\" : : : \"memory\");\n"
                "#endif\n"},
    {TN_INTRIN_ptx_mbarrier_arrive, 80, "tk_mbarrier_arrive", "const void *bar",
     "    asm volatile(\"{\\n.reg .b64 state;\\nmbarrier.arrive.shared.b64 state, [%0];\\n}\"\n"
     "                 : : " SHARED("bar") " : \"memory\");\n"},
    {TN_INTRIN_ptx_mbarrier_arrive_expect_tx, 90, "tk_mbarrier_arrive_expect_tx",
     "const void *bar, int bytes",
     "    asm volatile(\"{\\n.reg .b64 state;\\nmbarrier.arrive.expect_tx.shared.b64 state, [%0], "
     "%1;\\n}\"\n"
     "                 : : " SHARED("bar") ", \"r\"(bytes) : \"memory\");\n"},
    {TN_INTRIN_ptx_mbarrier_try_wait, 80, "tk_mbarrier_wait", "const void *bar, int parity",
     "    unsigned done;\n"
     "    do {\n"
     "#if __CUDA_ARCH__ >= 900\n"
     "        asm volatile(\"{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared.b64 p, [%1], "
     "%2;\\nselp.u32 %0, 1, 0, p;\\n}\"\n"
     "#else\n"
     "        asm volatile(\"{\\n.reg .pred p;\\nmbarrier.test_wait.parity.shared.b64 p, [%1], "
     "%2;\\nselp.u32 %0, 1, 0, p;\\n}\"\n"
     "#endif\n"
     "                     : \"=r\"(done) : " SHARED("bar") ", \"r\"(parity) : \"memory\");\n"
                                                            "    } while (!done);\n"},
    {TN_INTRIN_ptx_cp_async_mbarrier_arrive, 80, "tk_cp_async_arrive", "const void *bar",
     "    asm volatile(\"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];\" : : " SHARED(
         "bar") " : \"memory\");\n"},
    {TN_INTRIN_ptx_cp_async_bulk, 90, "tk_cp_async_bulk",
     "const void *to, const void *from, int bytes, const void *bar",
     "    asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
     "[%1], %2, [%3];\"\n"
     "                 : : " SHARED("to") ", \"l\"(__cvta_generic_to_global(from)), "
                                          "\"r\"(bytes), " SHARED("bar") " : \"memory\");\n"},
    {TN_INTRIN_ptx_bar_sync, 75, "tk_bar_sync", "int number, int threads",
     "    asm volatile(\"bar.sync %0, %1;\" : : \"r\"(number), \"r\"(threads) : \"memory\");\n"},
    {TN_INTRIN_ptx_bar_arrive, 75, "tk_bar_arrive", "int number, int threads",
     "    asm volatile(\"bar.arrive %0, %1;\" : : \"r\"(number), \"r\"(threads) : \"memory\");\n"},
};

static const form *
form_of(tn_intrin_id id)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].id == id)
            return &forms[i];
    return NULL;
}

bool
cuda_barrier_call(tnk_emitter *e, const tn_call *c)
{
    const form *f = form_of(tn_intrin_of(TN_NODE(c)));
    if (!f)
        return false;
    if (tnk_once(e, f->function))
        tnb_buf_printf(tnk_helpers(e), "static __device__ __forceinline__ void %s(%s)\n{\n%s}\n",
                       f->function, f->params, f->body);
    tnb_buf_printf(e->out, "%s(", f->function);
    for (uint32_t i = 0; i < c->args.n; i++) {
        bool number = tnb_dtype_is_int(tn_dtype_of(c->args.at[i]));
        tnb_buf_puts(e->out, i ? ", " : "");
        tnb_buf_puts(e->out, number ? "(int)(" : "");
        tnk_emit_expr(e, c->args.at[i]);
        tnb_buf_puts(e->out, number ? ")" : "");
    }
    tnb_buf_puts(e->out, ")");
    return true;
}

typedef struct search {
    long capability;
    const tn_node *found;
    const form *form;
} search;

static tn_walk_step
find_newer(void *user, const tn_node *n)
{
    search *s = user;
    const form *f = form_of(tn_intrin_of(n));
    if (!f || f->capability <= s->capability)
        return TN_WALK_ON;
    s->found = n;
    s->form = f;
    return TN_WALK_STOP;
}

bool
cuda_has_barriers(tn_ctx *ctx, const tnk_kernel *k, const char *arch)
{
    search s = {.capability = strtol(arch + strcspn(arch, "0123456789"), NULL, 10)};
    tn_walk(tn_as_prim_func(k->func)->body, TN_WALK_ONCE, find_newer, NULL, &s);
    if (!s.found)
        return true;
    tn_error(ctx, s.found->loc ? s.found->loc : k->func->loc, TNB_UNSUPPORTED,
             "kernel '%s': %s needs sm_%d, the target is %s", k->name,
             tn_call_op_of(tn_as_call(s.found))->base.name, s.form->capability, arch);
    tnb_diag_hint(tn_diags(ctx), "set the target's arch to one that has it");
    return false;
}
