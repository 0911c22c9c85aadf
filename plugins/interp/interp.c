/* SPDX-License-Identifier: Apache-2.0 */
/* The reference interpreter: runs any function of a module, at any stage of compilation.
 *
 * Graph functions are walked (graph.c), with the structural operators (structural.c), the functions
 * of finalized modules (builtin.c), and other operators through their legalization (legal.c).
 * Tensor programs are compiled to a register machine (cstmt.c, cexpr.c) and run with bounds and
 * initialization checked (exec.c, memory.c).
 */
#include "config.h"
#include "interp.h"

#include <stdlib.h>

static void
release(interp *vm)
{
    for (uint32_t i = 0; i < vm->graph_allocs.n; i++)
        interp_val_unref(vm, (interp_val *)(uintptr_t)vm->graph_allocs.at[i].value);
    for (uint32_t i = 0; i < vm->constants.n; i++)
        interp_mem_unref(vm, (interp_mem *)(uintptr_t)vm->constants.at[i].value);
    for (uint32_t i = 1; i < vm->mems.n; i++) {
        if (vm->mems.at[i]) { /* left over after an error */
            vm->mems.at[i]->refs = 1;
            interp_mem_unref(vm, vm->mems.at[i]);
        }
    }
    tnb_arena_free(vm->arena);
}

/* Arguments get memory of their own: a tensor program that a function calls directly may compute in
 * place of them. */
static bool
own_memory(interp *vm, interp_val *v, tn_loc loc)
{
    bool ok = true;
    for (uint32_t i = 0; ok && v->kind == INTERP_V_TUPLE && i < v->n; i++)
        ok = own_memory(vm, v->items[i], loc);
    if (v->kind != INTERP_V_TENSOR)
        return ok;
    interp_mem *m = interp_mem_new(vm, v->mem->size, loc);
    if (!m)
        return false;
    memcpy(m->bytes, v->mem->bytes, v->mem->size);
    interp_mem_written(m);
    interp_mem_unref(vm, v->mem);
    v->mem = m;
    return true;
}

static const tn_expr *
run(void *self, tn_ctx *ctx, const tn_module *m, const char *func, const tn_expr *const *args,
    uint32_t n_args, tn_eval_options *opt)
{
    tn_eval_options defaults = {0};
    (void)self;
    if (!opt)
        opt = &defaults;
    const tn_node *f = tn_module_get(m, func);
    if (!f) {
        tn_error(ctx, 0, TNB_NOT_FOUND, "the module has no function '%s'", func);
        return NULL;
    }
    interp vm = {.ctx = ctx, .m = m, .opt = opt, .arena = tnb_arena_new()};
    if (!vm.arena) {
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for the interpreter");
        return NULL;
    }
    vm.budget = opt->budget ? opt->budget : UINT64_MAX;
    opt->out_of_budget = false;
    tnb_ptrmap_init(&vm.codes, vm.arena);
    tnb_ptrmap_init(&vm.scalars, vm.arena);
    tnb_ptrmap_init(&vm.constants, vm.arena);
    tnb_ptrmap_init(&vm.graph_allocs, vm.arena);
    tnb_strmap_init(&vm.meanings, vm.arena);
    bool inplace = tn_is(f, TN_KIND_PRIM_FUNC);
    interp_val **v = interp_room(&vm, n_args, 0), *r = NULL;
    bool ok = v != NULL;
    for (uint32_t i = 0; ok && i < n_args; i++)
        ok = (v[i] = interp_val_of_expr(&vm, args[i], inplace)) &&
             (inplace || own_memory(&vm, v[i], f->loc));
    if (ok)
        r = interp_call_func(&vm, m, func, f, v, n_args, NULL, f->loc);
    const tn_expr *out = r ? interp_expr_of_val(&vm, r) : NULL;
    opt->spent = vm.spent;
    interp_val_unref(&vm, r);
    for (uint32_t i = 0; v && i < n_args; i++)
        interp_val_unref(&vm, v[i]);
    free(v);
    release(&vm);
    return out && !tn_is_error(out) ? out : NULL;
}

static const tn_evaluator interpreter = {
    .base.size = sizeof(tn_evaluator),
    .base.name = "interp",
    .base.doc = "the reference interpreter: every stage of a module, every access checked",
    .run = run,
};

static const tn_evaluator *const evaluators[] = {&interpreter};

TN_PLUGIN(interp, PACKAGE_VERSION, "Apache-2.0", "the reference interpreter",
          .evaluators = evaluators, .n_evaluators = 1);
