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

/* The shape before flattening is what callers pass. */
static tnb_tno_param
declare_param(struct vm_gen *g, const tn_prim_func *f, const tnk_param *p)
{
    tnb_tno_param to = {.kind = (uint8_t)p->kind};
    if (tnb_param_is_memory(p->kind)) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[vm_argument(f, true, p->argument)]);
        to.dtype = b->dtype;
        to.ndim = (int16_t)b->shape.n;
        to.flags = p->written ? TNB_TNO_WRITTEN : 0;
    } else if (p->kind == TNB_PARAM_SCALAR) {
        to.dtype = p->dtype;
    } else if (p->kind == TNB_PARAM_TENSOR_MAP) {
        to.ndim = p->map.rank;
        to.map = tnk_program_map(g->p, &p->map);
    }
    return to;
}

static void
declare_kernel(struct vm_gen *g, struct callee *c)
{
    const tnk_kernel *k = c->kernel;
    tnb_tno_param *params = TNB_NEW_N(g->arena, tnb_tno_param, k->n_params);
    for (uint32_t i = 0; i < k->n_params; i++)
        params[i] = declare_param(g, tn_as_prim_func(c->func), &k->params[i]);
    c->fallback = (uint32_t)(k - g->in->kernels) >= g->in->n_kernels - g->in->n_fallback;
    uint32_t device =
        tnk_program_device(g->p, c->fallback ? g->in->fallback_device : g->in->device, 0, "global");
    const char *const *checks;
    tnb_buf text = {0};
    for (uint32_t i = 0, all = tnk_kernel_checks(g->ctx, k, &checks); i < all; i++)
        tnb_buf_printf(&text, "%s%s", i ? "\n" : "", checks[i]);
    c->kernel_index = tnk_program_kernel(g->p, k->name, vm_kernel_flags(k), device, params,
                                         k->n_params, text.n ? text.s : NULL);
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
