/* SPDX-License-Identifier: Apache-2.0 */
/* Graph operators: legalized as they are met, with the shapes that the arguments have, and run.
 *
 * The call becomes a function of fresh parameters of exactly the types of the values, its
 * legalization the body. Functions made so are kept by the call's structure.
 */
#include "interp.h"

#include <stdlib.h>

typedef struct interp_legal {
    uint64_t hash;
    const tn_node *key; /* a Function around the plain call */
    const tn_module *m;
    const tn_node *func;
} interp_legal;

typedef struct params {
    TNB_VEC(const tn_node *) vars;
    TNB_VEC(interp_val *) vals; /* borrowed */
} params;

static const tn_type *
type_of_val(interp *vm, const interp_val *v)
{
    const tn_node **at = TNB_NEW_N(vm->arena, const tn_node *, v->ndim > 0 ? v->ndim : 1);
    for (int32_t i = 0; i < v->ndim; i++)
        at[i] = tn_i64(vm->ctx, v->shape[i]);
    return tn_ty_tensor_dims(vm->ctx, tn_list_of(vm->ctx, at, (uint32_t)v->ndim), v->dtype);
}

/* The value as an operand: tensors as parameters, the rest as literals. */
static const tn_expr *
operand(interp *vm, interp_val *v, const tn_expr *e, params *p)
{
    if (v->kind == INTERP_V_TENSOR) {
        if (tn_is(e, TN_KIND_CONSTANT))
            return e; /* a legalization may look at it */
        const tn_expr *x = tn_var_new(vm->ctx, "x", type_of_val(vm, v));
        TNB_PUSH(vm->arena, p->vars, x);
        TNB_PUSH(vm->arena, p->vals, v);
        return x;
    }
    if (v->kind == INTERP_V_TUPLE) {
        const tn_node **at = TNB_NEW_N(vm->arena, const tn_node *, v->n + 1);
        const tn_tuple *t = tn_as_tuple(e);
        for (uint32_t i = 0; i < v->n; i++)
            if (!(at[i] =
                      operand(vm, v->items[i], t && i < t->fields.n ? t->fields.at[i] : NULL, p)))
                return NULL;
        return tn_tuple_of(vm->ctx, tn_list_of(vm->ctx, at, v->n));
    }
    return interp_expr_of_val(vm, v);
}

static const interp_legal *
legalize(interp *vm, interp_env *env, const tn_call *c, const tn_op *op, const tn_expr *call,
         tn_list vars)
{
    tn_ctx *ctx = vm->ctx;
    const tn_node *key = tn_function_of(ctx, vars, call, NULL, true, NULL);
    if (tn_is_error(key))
        return NULL;
    uint64_t hash = tn_hash(ctx, key, false);
    for (uint32_t i = 0; i < vm->legal.n; i++)
        if (vm->legal.at[i]->hash == hash && tn_equal(ctx, vm->legal.at[i]->key, key, false, NULL))
            return vm->legal.at[i];
    if (!op->legalize) {
        tn_error(ctx, c->base.loc, TNB_UNSUPPORTED, "%s: operator %s has no legalization to run",
                 env->func, op->base.name);
        return NULL;
    }
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    tn_builder *b = tn_builder_new(ctx, NULL);
    tn_builder_begin_function(b, vars);
    tn_builder_begin_block(b, false);
    const tn_expr *e = op->legalize(b, tn_as_call(call));
    if (e && e != call && !tn_is_error(e))
        e = tn_emit_output(b, e, "y");
    tn_builder_end_block(b);
    bool ok = e && e != call && !tn_is_error(e);
    const tn_expr *f = ok ? tn_builder_end_function(b, e, NULL, false, NULL) : NULL;
    if (!f || tn_is_error(f)) {
        if (tnb_diags_errors(tn_diags(ctx)) == errors)
            tn_error(ctx, c->base.loc, TNB_UNSUPPORTED,
                     "%s: operator %s cannot be legalized for these arguments", env->func,
                     op->base.name);
        return NULL;
    }
    interp_legal *l = TNB_NEW(vm->arena, interp_legal);
    *l = (interp_legal){hash, key, tn_builder_module(b), f};
    TNB_PUSH(vm->arena, vm->legal, l);
    return l;
}

/* The attributes with what their symbolic variables are worth here; NULL after an error. */
static const tn_node *
attrs_here(interp *vm, interp_env *env, const tn_call *c)
{
    tn_list used = c->attrs ? tn_free_vars(vm->ctx, c->attrs, false) : (tn_list){0};
    if (!used.n)
        return c->attrs;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, vm->arena);
    for (uint32_t i = 0; i < used.n; i++) {
        int64_t v;
        if (!interp_eval_dim(vm, env, used.at[i], &v))
            return NULL;
        tnb_ptrmap_set(&map, used.at[i], tn_int_imm_of(vm->ctx, tn_dtype_of(used.at[i]), v));
    }
    return tn_subst(vm->ctx, c->attrs, &map);
}

interp_val *
interp_legalized(interp *vm, interp_env *env, const tn_call *c, const tn_op *op)
{
    enum { MAX_DEPTH = 32 };
    tn_ctx *ctx = vm->ctx;
    params p = {{NULL, 0, 0}, {NULL, 0, 0}};
    interp_val **v = interp_room(vm, c->args.n, c->base.loc), *r = NULL;
    const tn_node **args = TNB_NEW_N(vm->arena, const tn_node *, c->args.n + 1);
    bool ok = v != NULL;
    tn_loc saved = tn_at(ctx, c->base.loc);
    for (uint32_t i = 0; ok && i < c->args.n; i++) {
        v[i] = interp_eval_expr(vm, env, c->args.at[i]);
        ok = v[i] && (args[i] = operand(vm, v[i], c->args.at[i], &p)) != NULL;
    }
    const tn_expr *call = NULL;
    const tn_node *attrs = ok ? attrs_here(vm, env, c) : NULL;
    ok = ok && (attrs || !c->attrs);
    if (ok) {
        call = tn_call_of(ctx, c->op, tn_list_of(ctx, args, c->args.n), attrs, c->ty_args, NULL);
        ok = !tn_is_error(call);
    }
    const interp_legal *l = NULL;
    if (ok)
        l = legalize(vm, env, c, op, call, tn_list_of(ctx, p.vars.at, p.vars.n));
    if (l && vm->depth >= MAX_DEPTH * 16) {
        tn_error(ctx, c->base.loc, TNB_UNSUPPORTED, "%s: legalizations are nested too deeply",
                 env->func);
        l = NULL;
    }
    if (l)
        r = interp_call_func(vm, l->m, op->base.name, l->func, p.vals.at, p.vals.n, NULL,
                             c->base.loc);
    tn_at(ctx, saved);
    for (uint32_t i = 0; v && i < c->args.n; i++)
        interp_val_unref(vm, v[i]);
    free(v);
    return r;
}
