/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: calls of tensor programs fit the programs' parameters. */
#include "verify.h"

#include "tenon/core/arith.h"

struct call {
    verifier *v;
    const tn_call *call;
    const tn_prim_func *callee;
    const char *name;
    tnb_ptrmap symbols; /* the callee's variables -> what this call has in their place */
};

static bool
wrong_dim(struct call *c, const tn_expr *param, const tn_expr *arg)
{
    tn_ctx *ctx = c->v->ctx;
    if (tn_is_var(param)) {
        const tn_expr *known = tnb_ptrmap_get(&c->symbols, param);
        if (!known) {
            /* a program may count in int32 what the graph counts in int64 */
            if (!tnb_dtype_eq(tn_dtype_of(arg), tn_dtype_of(param)))
                arg = tn_cast_to(ctx, tn_dtype_of(param), arg);
            tnb_ptrmap_set(&c->symbols, param, arg);
            return false;
        }
        param = known;
    } else {
        param = tn_subst(ctx, param, &c->symbols);
        tn_list rest = tn_free_vars(ctx, param, false);
        for (uint32_t i = 0; i < rest.n; i++)
            for (uint32_t k = 0; k < c->callee->params.n; k++)
                if (tn_is_error(param) || !tnb_ptrmap_has(&c->v->defined, rest.at[i]))
                    return false; /* a variable of the callee that no argument has fixed */
        if (!rest.n && !tn_is_error(param))
            param = tn_simplify_now(ctx, param);
    }
    int64_t a, b;
    return tn_int_value(param, &a) && tn_int_value(arg, &b) && a != b;
}

static void
check_tensor(struct call *c, const tn_node *param, const tn_type *got, const char *what, uint32_t i)
{
    verifier *v = c->v;
    const tn_buffer *b = tn_as_buffer(param);
    if (!b) /* an opaque handle takes any tensor */
        return;
    tnb_dtype d = tn_type_dtype(got);
    if (!tnb_dtype_is_void(d) && !tnb_dtype_eq(d, b->dtype)) {
        tn_verify_error(v, &c->call->base, "%s %u of '%s' must be %s, not %s", what, i, c->name,
                        tnb_dtype_print(b->dtype).s, tnb_dtype_print(d).s);
        return;
    }
    int64_t ndim = tn_type_ndim(got);
    if (ndim >= 0 && ndim != (int64_t)b->shape.n) {
        tn_verify_error(v, &c->call->base, "%s %u of '%s' must have %u dimensions, not %lld", what,
                        i, c->name, b->shape.n, (long long)ndim);
        return;
    }
    tn_list dims;
    if (!tn_type_dims(got, &dims))
        return;
    for (uint32_t k = 0; k < dims.n; k++)
        if (wrong_dim(c, b->shape.at[k], dims.at[k])) {
            tn_verify_error(v, &c->call->base, "%s %u of '%s': extent %u must be %s, not %s", what,
                            i, c->name, k, tn_brief(v->ctx, b->shape.at[k]),
                            tn_brief(v->ctx, dims.at[k]));
            return;
        }
}

static void
check_param(struct call *c, uint32_t at, const tn_type *got, const tn_expr *arg, const char *what,
            uint32_t i)
{
    verifier *v = c->v;
    const tn_expr *param = c->callee->params.at[at];
    const tn_node *buffer = c->callee->buffers.at[at];
    if (tn_is(got, TN_KIND_TY_ANY))
        return;
    bool wants_tensor = buffer || tn_dtype_of(param).code == TNB_HANDLE;
    if (tn_is(got, TN_KIND_TY_TENSOR)) {
        if (wants_tensor)
            check_tensor(c, buffer, got, what, i);
        else
            tn_verify_error(v, &c->call->base,
                            "%s %u of '%s' must be a scalar of dtype %s, not a tensor", what, i,
                            c->name, tnb_dtype_print(tn_dtype_of(param)).s);
    } else if (tn_is(got, TN_KIND_TY_PRIM) && !wants_tensor) {
        tnb_dtype d = ((const tn_ty_prim *)got)->dtype;
        if (!tnb_dtype_eq(d, tn_dtype_of(param)))
            tn_verify_error(v, &c->call->base, "%s %u of '%s' must be %s, not %s", what, i, c->name,
                            tnb_dtype_print(tn_dtype_of(param)).s, tnb_dtype_print(d).s);
        else if (arg)
            tnb_ptrmap_set(&c->symbols, param, arg);
    } else {
        tn_verify_error(v, &c->call->base, "%s %u of '%s' must be %s, not %s", what, i, c->name,
                        wants_tensor ? "a tensor" : "a scalar",
                        got ? tn_brief(v->ctx, got) : "untyped");
    }
}

/* Types of the outputs in order, nested tuples flattened. */
static void
flatten(verifier *v, const tn_type *t, tn_node_vec *out)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    if (!tuple)
        TNB_PUSH(v->arena, *out, t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        flatten(v, tuple->fields.at[i], out);
}

void
tn_verify_call_tir(verifier *v, const tn_call *call)
{
    const tn_global_var *gv = tn_as_global_var(call->args.n ? call->args.at[0] : NULL);
    const tn_node *f = gv ? tn_module_get(v->module, gv->name) : NULL;
    if (!f) /* a missing function has been told; a variable's program is not known */
        return;
    if (!tn_is(f, TN_KIND_PRIM_FUNC)) {
        tn_verify_error(v, &call->base, "call_tir needs a tensor program; '%s' is %s", gv->name,
                        tn_is(f, TN_KIND_FUNCTION) ? "a graph function" : "an external function");
        return;
    }
    struct call c = {.v = v, .call = call, .callee = (const tn_prim_func *)f, .name = gv->name};
    tnb_ptrmap_init(&c.symbols, v->arena);
    tn_node_vec outs = {0};
    for (uint32_t i = 0; i < call->ty_args.n; i++)
        flatten(v, call->ty_args.at[i], &outs);
    const tn_tuple *args = call->args.n > 1 ? tn_as_tuple(call->args.at[1]) : NULL;
    if (!args)
        return;
    const tn_array *inplace = tn_as_array(tn_call_attr(call, "inplace_indices"));
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < outs.n; i++)
        fresh += !inplace || (i < inplace->items.n && tn_is_int_const(inplace->items.at[i], -1));
    if (args->fields.n + fresh != c.callee->params.n) {
        tn_verify_error(v, &call->base,
                        "'%s' has %u parameters, but the call brings %u arguments and %u outputs",
                        c.name, c.callee->params.n, args->fields.n, fresh);
        return;
    }
    for (uint32_t i = 0; i < args->fields.n; i++)
        check_param(&c, i, args->fields.at[i]->type, args->fields.at[i], "argument", i);
    uint32_t at = args->fields.n;
    for (uint32_t i = 0; i < outs.n; i++)
        if (!inplace || (i < inplace->items.n && tn_is_int_const(inplace->items.at[i], -1)))
            check_param(&c, at++, outs.at[i], NULL, "output", i);
}
