/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-graphs as private functions: see subgraph.h. */
#include "subgraph.h"

#include "tenon/core/walk.h"

/* ---- the function ---- */

void
onnx_function_begin(onnx_function *f, onnx_node *n, const char *hint)
{
    onnx_import *imp = n->imp;
    *f = (onnx_function){.n = n};
    do
        f->name = tn_strf(n->ctx, "%s_%u", hint, imp->n_functions++);
    while (tn_builder_find_function(imp->b, f->name));
    tnb_ptrmap_init(&f->inside, imp->arena);
    tnb_ptrmap_init(&f->outside, imp->arena);
    tnb_ptrmap_init(&f->tensors, imp->arena);
}

/* Scalar parameters for all symbolic variables of an expression of the caller. */
static void
take_symbols(onnx_function *f, const tn_node *e)
{
    tn_ctx *ctx = f->n->ctx;
    tn_list vars = tn_free_vars(ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++) {
        const tn_expr *v = vars.at[i];
        if (!tn_is_scalar(v) || tnb_ptrmap_has(&f->inside, v))
            continue;
        const tn_expr *mine = tn_var_dtype(ctx, tn_var_name(v), tn_dtype_of(v));
        tnb_ptrmap_set(&f->inside, v, mine);
        tnb_ptrmap_set(&f->outside, mine, v);
        if (f->n->imp->has_signed && tnb_ptrmap_has(&f->n->imp->signed_vars, v))
            onnx_note_signed(f->n->imp, mine);
        f->symbols = tn_list_append(ctx, f->symbols, mine);
        f->symbol_args = tn_list_append(ctx, f->symbol_args, v);
    }
}

const tn_node *
onnx_to_inside(onnx_function *f, const tn_node *e)
{
    if (!e || e->flags & TN_FLAG_CLOSED)
        return e;
    take_symbols(f, e);
    return tn_subst(f->n->ctx, e, &f->inside);
}

const tn_node *
onnx_to_outside(onnx_function *f, const tn_node *e)
{
    tn_ctx *ctx = f->n->ctx;
    if (!e || e->flags & TN_FLAG_CLOSED)
        return e;
    tn_list vars = tn_free_vars(ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++)
        if (!tnb_ptrmap_has(&f->outside, vars.at[i]))
            return NULL;
    return tn_subst(ctx, e, &f->outside);
}

const tn_expr *
onnx_tensor_inside(onnx_function *f, const tn_expr *e)
{
    tn_ctx *ctx = f->n->ctx;
    if (tn_is_error(e) || tn_is(e, TN_KIND_CONSTANT))
        return e;
    const tn_expr *known = tnb_ptrmap_get(&f->tensors, e);
    if (known)
        return known;
    const char *name = tn_is_var(e) ? tn_var_name(e) : "x";
    const tn_expr *p = tn_var_new(ctx, name, onnx_to_inside(f, e->type));
    tnb_ptrmap_set(&f->tensors, e, (void *)(uintptr_t)p);
    f->params = tn_list_append(ctx, f->params, p);
    f->args = tn_list_append(ctx, f->args, e);
    return p;
}

onnx_value *
onnx_value_inside(onnx_region *r, onnx_value *v)
{
    onnx_function *f = r->f;
    onnx_import *imp = f->n->imp;
    onnx_value *p = tnb_ptrmap_get(&r->seen, v);
    if (p)
        return p;
    p = onnx_value_new(imp, v->name);
    tnb_ptrmap_set(&r->seen, v, p);
    onnx_value **dep = TNB_NEW(imp->arena, onnx_value *);
    *dep = v;
    p->deps = dep;
    p->n_deps = 1;
    const tn_expr *x = v->has_elems ? NULL : onnx_value_expr(f->n, v);
    if (v->has_elems) {
        const tn_expr **e = TNB_NEW_N(imp->arena, const tn_expr *, v->n_elems + 1);
        bool closed = true;
        for (uint32_t i = 0; i < v->n_elems; i++) {
            closed &= (v->elems[i]->flags & TN_FLAG_CLOSED) != 0;
            e[i] = onnx_to_inside(f, v->elems[i]);
        }
        p->elems = e;
        p->n_elems = v->n_elems;
        p->has_elems = true;
        p->dtype = v->dtype;
        p->ndim = v->ndim;
        memcpy(p->dims, v->dims, sizeof p->dims);
        /* terms that cannot be made a tensor again come in as the tensor that they are */
        if (!closed && tnb_dtype_is_float(v->dtype))
            p->expr = onnx_tensor_inside(f, onnx_value_expr(f->n, v));
        else if (tn_is(v->expr, TN_KIND_CONSTANT))
            p->expr = v->expr;
        return p;
    }
    p->expr = onnx_tensor_inside(f, x);
    return p;
}

/* ---- regions ---- */

bool
onnx_may_not_run(const onnx_node *n)
{
    return n->imp->region != 0;
}

void
onnx_region_begin(onnx_region *r, onnx_function *f)
{
    onnx_import *imp = f->n->imp;
    *r = (onnx_region){.f = f, .outer = imp->region};
    imp->region = ++imp->n_regions;
    tnb_ptrmap_init(&r->seen, imp->arena);
    tn_builder_begin_function(imp->b, (tn_list){0});
    tn_builder_begin_block(imp->b, true);
    onnx_scope_push(imp, &r->scope);
    r->scope.region = r;
}

void
onnx_region_plain(onnx_region *r)
{
    tn_builder *b = r->f->n->imp->b;
    tn_builder_end_block(b);
    tn_builder_begin_block(b, false);
}

const tn_expr *
onnx_region_end(onnx_region *r, const tn_expr *result)
{
    onnx_import *imp = r->f->n->imp;
    onnx_scope_pop(imp);
    imp->region = r->outer;
    tn_builder_end_block(imp->b);
    const tn_expr *f = tn_builder_end_function(imp->b, result, NULL, true, NULL);
    if (!tn_is_error(f))
        return tn_as_function(f)->body;
    r->f->n->failed = true;
    return f;
}

const tn_expr *
onnx_region_output(onnx_region *r, onnx_value *v)
{
    onnx_node *n = r->f->n;
    const tn_expr *e = onnx_value_expr(n, v);
    if (!n->failed && !tn_is_error(e))
        e = tn_emit_output(n->imp->b, e, "gv");
    n->failed |= tn_is_error(e);
    return e;
}

/* ---- types, calls ---- */

const tn_type *
onnx_type_of_dims(tn_ctx *ctx, tn_list dims, tnb_dtype d)
{
    for (uint32_t i = 0; i < dims.n; i++)
        if (!dims.at[i])
            return tn_ty_tensor_of(ctx, NULL, d, dims.n, NULL);
    return tn_ty_tensor_dims(ctx, dims, d);
}

const tn_expr *
onnx_if_sequence(onnx_function *f, const tn_expr *cond, const tn_expr *then_seq,
                 const tn_expr *else_seq)
{
    tn_builder *b = f->n->imp->b;
    if (f->n->failed)
        return tn_error_node(f->n->ctx);
    tn_builder_begin_function(b, (tn_list){0});
    tn_builder_begin_block(b, false);
    const tn_expr *r = tn_emit(b, tn_if_expr_of(f->n->ctx, cond, then_seq, else_seq), "result");
    tn_builder_end_block(b);
    const tn_expr *seq = tn_builder_end_function(b, r, NULL, true, NULL);
    if (!tn_is_error(seq))
        return tn_as_function(seq)->body;
    f->n->failed = true;
    return seq;
}

onnx_part
onnx_part_begin(const onnx_import *imp)
{
    return (onnx_part){tnb_diags_count(tn_diags(imp->ctx)), imp->must_bind, imp->n_choices};
}

const char *
onnx_part_error(const onnx_import *imp, const onnx_part *p, tnb_status *status)
{
    /* what is missing may be the value of an input, which then is asked for; nor is it the part's
     * fault where a choice inside of it can be another */
    if (imp->must_bind != p->must_bind || imp->at_fork || imp->n_choices != p->n_choices ||
        tnb_arena_failed(imp->arena))
        return NULL;
    return onnx_first_error(imp, p->diags, status);
}

void
onnx_emit_stop(onnx_function *f, const char *why)
{
    onnx_node *n = f->n;
    tn_ctx *ctx = n->ctx;
    tnb_buf text = {0};
    for (const char *p = why; *p; p++) {
        if (*p == '{' || *p == '}') /* braces stand for values */
            tnb_buf_putc(&text, *p);
        tnb_buf_putc(&text, *p);
    }
    const tn_node *format = tn_dictv(ctx, "format", tn_string(ctx, text.s ? text.s : ""), NULL);
    const tn_expr *stop =
        tn_call_op(ctx, "assert_op", tn_listv(ctx, tn_bool(ctx, false), NULL), format);
    n->failed |= tn_is_error(tn_emit(n->imp->b, stop, "_"));
    tnb_buf_free(&text);
    f->asserts = true;
}

const tn_expr *
onnx_refused_branch(onnx_function *f, const tn_expr *const *like, uint32_t count, const char *why)
{
    onnx_node *n = f->n;
    tn_ctx *ctx = n->ctx;
    onnx_region r;
    tn_list fields = {0}, dims;
    onnx_region_begin(&r, f);
    onnx_region_plain(&r);
    onnx_emit_stop(f, why);
    for (uint32_t i = 0; i < count && !n->failed; i++) {
        if (!onnx_dims(n, like[i], &dims))
            break;
        /* extents that the other branch finds do not exist here */
        for (uint32_t k = 0; k < dims.n; k++)
            if (!onnx_to_outside(f, dims.at[k]))
                dims = tn_list_with(ctx, dims, k, tn_i64(ctx, 0));
        const tn_node *d = tn_dictv(ctx, "dtype", tn_dtype_imm_of(ctx, onnx_dtype(like[i])), NULL);
        fields = tn_list_append(ctx, fields,
                                onnx_emit(n, "zeros", d, tn_shape_expr_of(ctx, dims), NULL));
    }
    return onnx_region_end(&r, n->failed ? tn_error_node(ctx) : tn_tuple_of(ctx, fields));
}

const tn_expr *
onnx_call_unmade(onnx_function *f, tn_list params, const tn_type *ret, tn_list args)
{
    tn_ctx *ctx = f->n->ctx;
    tn_list types = {0};
    for (uint32_t i = 0; i < params.n; i++)
        types = tn_list_append(ctx, types, ((const tn_expr *)params.at[i])->type);
    const tn_type *func = tn_ty_func_of(ctx, types, ret, true);
    return tn_call_of(ctx, tn_global_var_of(ctx, f->name), args, NULL, (tn_list){0},
                      tn_call_result_type(ctx, func, params, args));
}

const tn_expr *
onnx_function_end(onnx_function *f, tn_list params, const tn_expr *body, const tn_type *ret,
                  tn_list args)
{
    onnx_node *n = f->n;
    tn_ctx *ctx = n->ctx;
    if (n->failed || tn_is_error(body))
        return tn_error_node(ctx);
    const tn_node *attrs =
        f->asserts ? tn_dictv(ctx, "relax.force_pure", tn_bool(ctx, true), NULL) : NULL;
    const tn_expr *func = tn_function_of(ctx, params, body, ret, true, attrs);
    const tn_expr *gv = tn_builder_add_function(n->imp->b, func, f->name);
    if (tn_is_error(gv)) {
        n->failed = true;
        return gv;
    }
    const tn_type *t = tn_call_result_type(ctx, tn_func_type(ctx, func), params, args);
    return onnx_emit_call(n, tn_call_of(ctx, gv, args, NULL, (tn_list){0}, t));
}

/* ---- the module ---- */

typedef struct reach {
    const tn_module *m;
    tnb_strmap seen;
    TNB_VEC(const tn_node *) todo;
    tnb_arena *arena;
} reach;

static void
reach_name(reach *r, const char *name)
{
    const tn_node *f = tn_module_get(r->m, name);
    if (!f || tnb_strmap_has(&r->seen, name))
        return;
    tnb_strmap_set(&r->seen, name, r);
    TNB_PUSH(r->arena, r->todo, f);
}

static tn_walk_step
reach_node(void *user, const tn_node *n)
{
    if (tn_is(n, TN_KIND_GLOBAL_VAR))
        reach_name(user, tn_as_global_var(n)->name);
    return TN_WALK_ON;
}

const tn_module *
onnx_used_functions(tn_ctx *ctx, const tn_module *m, const char *main)
{
    reach r = {.m = m, .arena = tn_scratch(ctx)};
    tnb_strmap_init(&r.seen, r.arena);
    reach_name(&r, main);
    while (r.todo.n)
        tn_walk(r.todo.at[--r.todo.n], 0, reach_node, NULL, &r);
    const tn_module *kept = m;
    for (uint32_t i = 0; i < m->names.n; i++)
        if (!tnb_strmap_has(&r.seen, tn_module_name(m, i)))
            kept = tn_module_set(ctx, kept, tn_module_name(m, i), NULL);
    return kept;
}
