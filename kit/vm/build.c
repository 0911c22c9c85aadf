/* SPDX-License-Identifier: Apache-2.0 */
/* A whole module as a VM program: declares all functions and kernels, then fills them in the order
 * of their names. */
#include "vm_private.h"

bool
tnk_is_host_func(const tn_node *prim_func)
{
    const tn_node *v = tn_func_attr(prim_func, "tirx.is_host_func");
    if (!v)
        v = tn_func_attr(prim_func, "tir.is_host_func");
    return v && !tn_is_int_const(v, 0);
}

static void
declare_kernel(struct vm_gen *g, struct callee *c)
{
    const tnk_kernel *k = c->kernel;
    tnb_tno_buffer *buffers = TNB_NEW_N(g->arena, tnb_tno_buffer, k->n_buffers);
    tnb_dtype *scalars = TNB_NEW_N(g->arena, tnb_dtype, k->n_scalars);
    const tn_prim_func *f = tn_as_prim_func(c->func);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->buffers.n && n < k->n_buffers;
         i++) { /* the shape before flattening is what callers pass */
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (b) {
            bool written = !k->written || k->written[n];
            buffers[n++] = (tnb_tno_buffer){.dtype = b->dtype,
                                            .ndim = (int16_t)b->shape.n,
                                            .flags = written ? TNB_TNO_WRITTEN : 0};
        }
    }
    for (uint32_t i = 0; i < k->n_scalars; i++)
        scalars[i] = k->scalars[i].dtype;
    c->fallback = (uint32_t)(k - g->in->kernels) >= g->in->n_kernels - g->in->n_fallback;
    uint32_t device =
        tnk_program_device(g->p, c->fallback ? g->in->fallback_device : g->in->device, 0, "global");
    c->kernel_index =
        tnk_program_kernel(g->p, k->name, k->grid[0] || k->block[0] ? TNB_TNO_GRID : 0, device,
                           buffers, k->n_buffers, scalars, k->n_scalars);
    const char *const *checks;
    tnb_buf text = {0};
    for (uint32_t i = 0, all = tnk_kernel_checks(g->ctx, k, &checks); i < all; i++)
        tnb_buf_printf(&text, "%s%s", i ? "\n" : "", checks[i]);
    if (text.n)
        tnk_program_kernel_checks(g->p, c->kernel_index, text.s);
    tnb_buf_free(&text);
}

static void
declare(struct vm_gen *g, const char *name, const tn_node *func)
{
    struct callee *c = TNB_NEW(g->arena, struct callee);
    c->func = func;
    c->name = name;
    c->function = NO_REG;
    tnb_strmap_set(&g->callees, name, c);
    uint32_t flags = tnb_strmap_has(&g->publics, name) ? TNB_TNO_PUBLIC : 0;
    g->function = name;
    if (tn_as_function(func)) {
        c->function = tnk_program_function(g->p, name, flags, tn_as_function(func)->params.n);
        return;
    }
    if (tnk_is_host_func(func)) {
        c->function = tnk_program_function(g->p, name, flags, tn_as_prim_func(func)->params.n);
        return;
    }
    uintptr_t kernel = (uintptr_t)tnb_strmap_get(&g->kernels, name);
    if (!kernel) {
        vm_error(g, func, "tensor program '%s' has no kernel", name);
        return;
    }
    c->kernel = &g->in->kernels[kernel - 1];
    declare_kernel(g, c);
}

static void
begin(struct vm_gen *g, const struct callee *c)
{
    g->function = c->name;
    g->self = c->function;
    g->depth = 0;
    g->n_params = 0;
    g->free_values.n = 0;
    g->breaks.n = g->continues.n = 0;
    tnb_ptrmap_init(&g->scalars, g->arena);
    tnb_ptrmap_init(&g->values, g->arena);
    tnb_ptrmap_init(&g->depths, g->arena);
    tnb_ptrmap_init(&g->fresh, g->arena);
}

tnb_status
tnk_vm_build(tn_ctx *ctx, const tnk_vm_input *in, tnk_program *out)
{
    struct vm_gen g = {.ctx = ctx, .in = in, .p = out, .arena = tn_scratch(ctx)};
    tnb_strmap_init(&g.callees, g.arena);
    tnb_ptrmap_init(&g.consts, g.arena);
    tnb_strmap_init(&g.publics, g.arena);
    tnb_strmap_init(&g.kernels, g.arena);
    for (uint32_t i = 0; i < in->n_publics; i++)
        tnb_strmap_set(&g.publics, in->publics[i], NULL);
    for (uint32_t i = in->n_kernels; i-- > 0;) /* of several of one function the first */
        tnb_strmap_set(&g.kernels, in->kernel_funcs[i], (void *)(uintptr_t)(i + 1));
    tnk_program_device(out, in->device, 0, "global"); /* the first one is the variant's */
    for (uint32_t i = 0; i < in->module->names.n; i++)
        if (!tn_is(in->module->funcs.at[i], TN_KIND_EXTERN_FUNC))
            declare(&g, tn_module_name(in->module, i), in->module->funcs.at[i]);
    for (uint32_t i = 0; i < g.callees.n; i++) {
        struct callee *c = g.callees.at[i].value;
        if (c->function == NO_REG || c->kernel)
            continue;
        begin(&g, c);
        if (tn_as_function(c->func))
            vm_graph_func(&g, c);
        else
            vm_host_func(&g, c);
    }
    for (uint32_t i = 0; i < g.wrappers.n; i++) {
        begin(&g, g.wrappers.at[i]);
        vm_wrapper(&g, g.wrappers.at[i]);
    }
    return g.failed ? TNB_UNSUPPORTED : TNB_OK;
}
