/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: calls of tensor programs fit the programs' parameters. */
#include "verify.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

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

/* ---- what a program writes ---- */

struct writes {
    tnb_ptrmap stored;  /* data of the buffers that are stored to */
    tnb_ptrmap sources; /* data of a part of a buffer -> data of the buffer */
};

static tn_walk_step
note_write(void *user, const tn_node *n)
{
    struct writes *w = user;
    const tn_match_buffer *m = tn_as_match_buffer(n);
    if (n->kind == TN_KIND_BUFFER_STORE) {
        const tn_node *data = tn_as_buffer(((const tn_buffer_store *)n)->buffer)->data;
        tnb_ptrmap_set(&w->stored, data, (void *)(uintptr_t)data);
    } else if (m) {
        const tn_buffer *source = tn_as_buffer(tn_as_buffer_region(m->source)->buffer);
        tnb_ptrmap_set(&w->sources, tn_as_buffer(m->buffer)->data, (void *)(uintptr_t)source->data);
    }
    return TN_WALK_ON;
}

struct reads {
    verifier v;
    tnb_ptrmap programs; /* tensor program -> what it writes */
};

/* Data of the buffers that the program stores to, as keys; found once. */
static const tnb_ptrmap *
written_by(struct reads *r, const tn_prim_func *f)
{
    struct writes *w = tnb_ptrmap_get(&r->programs, f);
    if (w)
        return &w->stored;
    w = TNB_NEW(r->v.arena, struct writes);
    tnb_ptrmap_init(&w->stored, r->v.arena);
    tnb_ptrmap_init(&w->sources, r->v.arena);
    tn_walk(f->body, TN_WALK_ONCE, note_write, NULL, w);
    for (uint32_t i = 0; i < w->stored.n; i++) { /* grows */
        const void *source = tnb_ptrmap_get(&w->sources, w->stored.at[i].key);
        if (source)
            tnb_ptrmap_set(&w->stored, source, (void *)(uintptr_t)source);
    }
    tnb_ptrmap_set(&r->programs, f, w);
    return &w->stored;
}

static bool
is_in_place(const tn_array *which, uint32_t arg)
{
    for (uint32_t i = 0; which && i < which->items.n; i++)
        if (tn_is_int_const(which->items.at[i], arg))
            return true;
    return false;
}

static tn_walk_step
check_call(void *user, const tn_node *n)
{
    struct reads *r = user;
    const tn_call *in_place = tn_is_call_to(n, "relax.call_tir_inplace"),
                  *call = in_place ? in_place : tn_is_call_to(n, "relax.call_tir");
    const tn_global_var *gv = call && call->args.n > 1 ? tn_as_global_var(call->args.at[0]) : NULL;
    const tn_prim_func *f = gv ? tn_as_prim_func(tn_module_get(r->v.module, gv->name)) : NULL;
    const tn_tuple *args = f ? tn_as_tuple(call->args.at[1]) : NULL;
    const tn_array *which = in_place ? tn_as_array(tn_call_attr(call, "inplace_indices")) : NULL;
    for (uint32_t i = 0; args && i < args->fields.n && i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (!b || is_in_place(which, i) || !tnb_ptrmap_has(written_by(r, f), b->data))
            continue;
        tn_verify_error(&r->v, n, "'%s' writes its argument %u ('%s'), but %s", gv->name, i,
                        b->name,
                        in_place ? "inplace_indices does not have it"
                                 : "call_tir gives new tensors only");
        tnb_diag_hint(tn_diags(r->v.ctx), "%s",
                      in_place ? "add a result that is computed in place of it, or let the program "
                                 "write to a buffer of its own"
                               : "call it with R.call_tir_inplace, or let it write to a buffer of "
                                 "its own");
    }
    return TN_WALK_ON;
}

uint32_t
tn_verify_reads(tn_ctx *ctx, const tn_module *m)
{
    struct reads r = {.v = {.ctx = ctx, .module = m, .arena = tn_borrow_arena(ctx)}};
    uint32_t errors = 0;
    if (!r.v.arena) {
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for verifying");
        return 1;
    }
    tnb_ptrmap_init(&r.programs, r.v.arena);
    for (uint32_t i = 0; i < m->names.n; i++) {
        r.v.func = tn_module_name(m, i);
        r.v.place = 0;
        r.v.errors = 0;
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(m->funcs.at[i], TN_WALK_ONCE, check_call, NULL, &r);
        errors += r.v.errors;
    }
    tn_return_arena(ctx, r.v.arena);
    return errors;
}
