/* SPDX-License-Identifier: Apache-2.0 */
/* Packed functions that the caller of the evaluator brings, or whose meaning a plugin brings as code: values go out as leaf expressions and
 * come back as such; what such a function writes into its arguments is copied back.
 */
#include "interp.h"
#include "tenon/core/eval.h"

#include <stdlib.h>

typedef struct foreign {
    interp *vm;
    interp_env *env;
    const tn_call *c;
} foreign;

static const tn_expr *
hand_out(interp *vm, interp_env *env, const interp_val *v)
{
    if (v->kind == INTERP_V_FUNC && v->name && v->n == 0 && v->m == env->m)
        return tn_global_var_of(vm->ctx, v->name);
    for (uint32_t i = 0; v->kind == INTERP_V_TENSOR && v->mem->readonly && i < vm->constants.n;
         i++) {
        const tn_data *d = vm->constants.at[i].key; /* a constant of the module: no copy */
        if (vm->constants.at[i].value == v->mem && v->offset == 0 && d->ndim == v->ndim &&
            (v->ndim == 0 || memcmp(d->shape, v->shape, (size_t)v->ndim * sizeof *v->shape) == 0))
            return tn_constant_of(vm->ctx, d);
    }
    if (v->kind != INTERP_V_TUPLE)
        return interp_expr_of_val(vm, v);
    const tn_node **at = TNB_NEW_N(vm->arena, const tn_node *, v->n + 1);
    for (uint32_t i = 0; i < v->n; i++)
        if (!(at[i] = hand_out(vm, env, v->items[i])))
            return NULL;
    return tn_tuple_of(vm->ctx, tn_list_of(vm->ctx, at, v->n));
}

static const tn_expr *
call_back(const tn_eval_call *c, const tn_expr *func, const tn_expr *const *args, uint32_t n)
{
    foreign *f = c->state;
    interp *vm = f->vm;
    const tn_global_var *g = tn_as_global_var(func);
    const tn_node *node = g ? tn_module_get(f->env->m, g->name) : NULL;
    if (!node) {
        tn_error(c->ctx, c->loc, TNB_NOT_FOUND, "%s: there is no such function to call: %s",
                 c->name, g ? g->name : "no name");
        return NULL;
    }
    interp_val **v = interp_room(vm, n, c->loc), *r = NULL;
    bool ok = v != NULL;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = (v[i] = interp_val_of_expr(vm, args[i], false)) != NULL;
    if (ok)
        r = interp_call_func(vm, f->env->m, g->name, node, v, n, NULL, c->loc);
    const tn_expr *out = r ? hand_out(vm, f->env, r) : NULL;
    interp_val_unref(vm, r);
    for (uint32_t i = 0; v && i < n; i++)
        interp_val_unref(vm, v[i]);
    free(v);
    return out;
}

/* What the function wrote into its copy of a tensor. */
static bool
copy_back(foreign *f, interp_val *v, const tn_expr *e)
{
    const tn_constant *c = tn_as_constant(e);
    uint64_t bytes;
    if (!c || v->kind != INTERP_V_TENSOR || v->mem->readonly || !interp_val_bytes(v, &bytes) ||
        bytes != c->data->n_bytes) {
        tn_error(f->vm->ctx, f->c->base.loc, TNB_INVALID,
                 "%s: a packed function writes into %s, which cannot be written", f->env->func,
                 interp_describe(f->vm, v));
        return false;
    }
    memcpy(v->mem->bytes + v->offset, c->data->bytes, bytes);
    interp_mem_written(v->mem);
    return true;
}

interp_val *
interp_foreign(interp *vm, interp_env *env, const char *name, interp_val *const *args, uint32_t n,
               const tn_call *c, bool *known)
{
    foreign f = {vm, env, c};
    tn_registry *reg = tn_ctx_registry(vm->ctx);
    const tn_meaning *meaning = reg ? tn_find_entry(reg, "meaning", name, NULL) : NULL;
    *known = false;
    if (!vm->opt->packed && !(meaning && meaning->call))
        return NULL;
    const tn_expr **at = TNB_NEW_N(vm->arena, const tn_expr *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!(at[i] = hand_out(vm, env, args[i]))) {
            *known = true; /* the error is recorded */
            return NULL;
        }
    tn_eval_call call = {.ctx = vm->ctx,
                         .name = name,
                         .args = at,
                         .written = TNB_NEW_N(vm->arena, bool, n + 1),
                         .n = n,
                         .loc = c->base.loc,
                         .call = call_back,
                         .state = &f};
    const tn_expr *r = vm->opt->packed ? vm->opt->packed(vm->opt->packed_user, &call, known) : NULL;
    if (!*known && meaning && meaning->call) {
        *known = true;
        r = meaning->call(&call, meaning->self);
    }
    if (!*known || !r || tn_is_error(r))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (call.written[i] && !copy_back(&f, args[i], at[i]))
            return NULL;
    return interp_val_of_expr(vm, r, false);
}
