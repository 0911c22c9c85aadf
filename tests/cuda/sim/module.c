/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: their text is parsed, variables get memory and values, kernels are decoded. */
#include "config.h"

#include "machine.h"

#include <stdlib.h>

static tnb_status
write_elements(sim_machine *m, sim_module *module, sim_global *g, tnb_err *err)
{
    const ptx_variable *v = g->ptx;
    uint64_t n = v->n < v->n_init ? v->n : v->n_init;
    TNB_TRY(sim_fill(m, g->address, 0, 1, g->bytes, err)); /* what has no value is zero */
    for (uint64_t k = 0; k < n; k++) {
        uint64_t bits = v->init[k].bits;
        if (v->init[k].kind == PTX_NAME) {
            sim_global *other = tnb_strmap_get(&module->variables, v->init[k].name);
            if (!other)
                return tnb_fail(
                    err, TNB_NOT_FOUND,
                    "PTX line %u: the value of '%s' is the address of '%s', which is no variable",
                    v->line, v->name, v->init[k].name);
            bits = other->address + (uint64_t)v->init[k].offset;
        } else if (v->init[k].kind == PTX_FLOAT64 && v->bytes == 4) {
            double d;
            float f;
            memcpy(&d, &bits, sizeof d);
            f = (float)d;
            bits = 0;
            memcpy(&bits, &f, sizeof f);
        }
        TNB_TRY(sim_write(m, g->address + k * v->bytes, &bits, v->bytes, err));
    }
    return TNB_OK;
}

static tnb_status
place_variables(sim_machine *m, sim_module *module, tnb_err *err)
{
    for (const ptx_variable *v = module->ptx->variables; v; v = v->next) {
        if (v->space != PTX_GLOBAL && v->space != PTX_CONST)
            continue;
        size_t bytes = v->bytes * v->n;
        if (bytes == 0)
            return tnb_fail(err, TNB_UNSUPPORTED, "PTX line %u: variable '%s' has no size", v->line,
                            v->name);
        sim_global g = {.ptx = v, .bytes = bytes, .address = sim_alloc(m, bytes)};
        if (!g.address)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for variable '%s' of %zu bytes", v->name,
                            bytes);
        module->const_bytes += v->space == PTX_CONST ? (uint32_t)bytes : 0;
        tnb_strmap_set(&module->variables, v->name, tnb_dup(module->arena, &g, sizeof g));
    }
    for (uint32_t k = 0; k < module->variables.n; k++)
        TNB_TRY(write_elements(m, module, module->variables.at[k].value, err));
    return TNB_OK;
}

static tnb_status
load(sim_machine *m, sim_module *module, const char *ptx, tnb_err *err)
{
    sim_kernel **last = &module->kernels;
    TNB_TRY(ptx_parse(module->arena, ptx, &module->ptx, err));
    TNB_TRY(place_variables(m, module, err));
    for (const ptx_function *f = module->ptx->functions; f; f = f->next) {
        if (!f->is_entry || f->is_extern)
            continue;
        TNB_TRY(sim_decode(m, module, f, last, err));
        last = &(*last)->next;
    }
    return TNB_OK;
}

tnb_status
sim_load(sim_machine *m, const char *ptx, sim_module **out, tnb_err *err)
{
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a module");
    sim_module *module = TNB_NEW(a, sim_module);
    module->arena = a;
    module->machine = m;
    tnb_strmap_init(&module->variables, a);
    module->next = m->modules;
    m->modules = module;
    tnb_status st = load(m, module, ptx, err);
    if (st == TNB_OK && tnb_arena_failed(a))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for a module");
    if (st != TNB_OK)
        sim_unload(m, module);
    else
        *out = module;
    return st;
}

void
sim_unload(sim_machine *m, sim_module *module)
{
    tnb_err err;
    for (uint32_t k = 0; k < module->variables.n; k++) {
        sim_global *g = module->variables.at[k].value;
        if (sim_release(m, g->address, &err) != TNB_OK)
            break; /* a program freed it */
    }
    for (sim_module **at = &m->modules; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            break;
        }
    tnb_arena_free(module->arena);
}

int
sim_module_arch(const sim_module *module)
{
    return module->ptx->arch;
}

sim_kernel *
sim_find_kernel(sim_module *module, const char *name)
{
    sim_kernel *k = module->kernels;
    while (k && strcmp(k->ptx->name, name) != 0)
        k = k->next;
    return k;
}

bool
sim_find_variable(sim_module *module, const char *name, uint64_t *address, size_t *bytes)
{
    sim_global *g = tnb_strmap_get(&module->variables, name);
    if (!g)
        return false;
    *address = g->address;
    *bytes = g->bytes;
    return true;
}

sim_kernel_info
sim_info(const sim_kernel *k)
{
    return (sim_kernel_info){
        .name = k->ptx->name,
        .n_params = k->n_params,
        .param_bytes = k->param_bytes,
        .shared_bytes = k->shared_bytes,
        .local_bytes = k->local_bytes,
        .const_bytes = k->module->const_bytes,
        .registers = k->n_registers < 255 ? k->n_registers : 255,
        .max_threads = k->ptx->required_threads ? k->ptx->required_threads : k->ptx->max_threads,
    };
}

bool
sim_param(const sim_kernel *k, uint32_t i, uint32_t *offset, uint32_t *bytes)
{
    if (i >= k->n_params)
        return false;
    *offset = k->param_at[i];
    *bytes = k->param_size[i];
    return true;
}
