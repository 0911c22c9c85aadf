/* SPDX-License-Identifier: Apache-2.0 */
/* What a binding takes for granted about extents: an operator's inference says so; the arguments of a tensor program
 * have the shapes that its buffers are written with, and lie in memory as these do; an output in place of an argument
 * has that one's extents; a match_cast matches.
 */
#include "shape_facts.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef struct matching {
    tn_ctx *ctx;
    tnb_ptrmap symbols; /* the program's variables -> what this call has in their place */
    tn_assumptions *out;
} matching;
typedef TNB_VEC(const tn_type *) type_list;

static void
assume_equal(tn_ctx *ctx, tn_assumptions *out, const tn_expr *have, const tn_expr *want,
             const char *text)
{
    int64_t x, y;
    if (have == want || (tn_int_value(have, &x) && tn_int_value(want, &y) && x == y))
        return;
    const tn_node *both[] = {have, want};
    tn_assumption a = {.holds = tn_eq_of(ctx, have, want),
                       .text = text,
                       .values = tn_list_of(ctx, both, 2)};
    if (!tn_is_error(a.holds))
        TNB_PUSH(tn_scratch(ctx), *out, a);
}

/* ---- tensor programs ---- */

/* The buffer behind a parameter, and the extents of what the call has in its place. */
static const tn_buffer *
param_dims(const tn_prim_func *f, uint32_t at, const tn_type *type, tn_list *dims)
{
    const tn_buffer *b =
        at < f->buffers.n && f->buffers.at[at] ? tn_as_buffer(f->buffers.at[at]) : NULL;
    return b && tn_type_dims(type, dims) && dims->n == b->shape.n ? b : NULL;
}

/* Variables that a parameter's buffer defines, or that it is. */
static void
bind_param(matching *m, const tn_prim_func *f, uint32_t at, const tn_type *type, const tn_expr *arg)
{
    tn_list dims;
    const tn_buffer *b = param_dims(f, at, type, &dims);
    if (at < f->params.n && at < f->buffers.n && !f->buffers.at[at] && arg && tn_is_scalar(arg))
        tnb_ptrmap_set(&m->symbols, f->params.at[at], (void *)(uintptr_t)arg);
    for (uint32_t i = 0; b && i < dims.n; i++) {
        const tn_expr *want = b->shape.at[i];
        if (tn_is_var(want) && !tnb_ptrmap_has(&m->symbols, want))
            tnb_ptrmap_set(&m->symbols, want,
                           (void *)(uintptr_t)tn_cast_to(m->ctx, tn_dtype_of(want), dims.at[i]));
    }
}

static void
compare_one(matching *m, const tn_expr *have, const tn_expr *want, const char *text)
{
    tn_list vars = tn_free_vars(m->ctx, want, false);
    for (uint32_t k = 0; k < vars.n; k++)
        if (!tnb_ptrmap_has(&m->symbols, vars.at[k]))
            return;
    want = tn_subst(m->ctx, want, &m->symbols);
    assume_equal(m->ctx, m->out, have, want, text);
}

/* What the parameter's buffer wants, once all parameters are bound. The graph's tensors are compact and begin where
 * their memory does. */
static void
compare_param(matching *m, const tn_prim_func *f, const char *name, uint32_t at,
              const tn_type *type)
{
    tn_ctx *ctx = m->ctx;
    tn_list dims;
    const tn_buffer *b = param_dims(f, at, type, &dims);
    for (uint32_t i = 0; b && i < dims.n; i++)
        compare_one(m, dims.at[i], b->shape.at[i],
                    tn_strf(ctx,
                            "argument %u of '%s' has extent {} in axis %u, but the program wants "
                            "{}",
                            at, name, i));
    if (b && b->elem_offset)
        compare_one(m, tn_i64(ctx, 0), b->elem_offset,
                    tn_strf(ctx,
                            "argument %u of '%s' begins at element {} of its memory, but the "
                            "program's buffer at {}",
                            at, name));
    if (!b || b->strides.n != dims.n)
        return;
    const tn_expr *stride = tn_i64(ctx, 1);
    for (uint32_t i = dims.n; i-- > 0;) {
        if (tn_is_int_const(dims.at[i], 1))
            continue; /* a stride that nothing is multiplied with */
        compare_one(m, stride, b->strides.at[i],
                    tn_strf(ctx,
                            "argument %u of '%s' is compact, of stride {} in axis %u, but the "
                            "program wants {}",
                            at, name, i));
        stride = tn_mul(ctx, stride, dims.at[i]);
    }
}

/* Types of the outputs in order, nested tuples flattened. */
static void
flatten_types(tn_ctx *ctx, const tn_type *t, type_list *out)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        flatten_types(ctx, tuple->fields.at[i], out);
    if (!tuple)
        TNB_PUSH(tn_scratch(ctx), *out, t);
}

/* An output that is computed in place of an argument has that one's extents. */
static void
compare_in_place(matching *m, const char *name, const tn_type *out, const tn_expr *arg, int64_t at)
{
    tn_list have, want;
    if (!tn_type_dims(arg->type, &have) || !tn_type_dims(out, &want) || have.n != want.n)
        return;
    for (uint32_t i = 0; i < have.n; i++)
        assume_equal(m->ctx, m->out, have.at[i], want.at[i],
                     tn_strf(m->ctx,
                             "argument %lld of '%s' has extent {} in axis %u, but the output in "
                             "its place {}",
                             (long long)at, name, i));
}

/* What call_tir and its like are called with; of a direct call the arguments. */
static tn_list
program_args(tn_ctx *ctx, const tn_call *call)
{
    if (tn_is(call->op, TN_KIND_GLOBAL_VAR))
        return call->args;
    const tn_tuple *tuple = tn_as_tuple(call->args.at[1]);
    return tuple ? tuple->fields : tn_listv(ctx, call->args.at[1], NULL);
}

static const tn_global_var *
program_name(const tn_call *call)
{
    const tn_op *op = tn_call_op_of(call);
    if (!op)
        return tn_as_global_var(call->op);
    bool by_op = tn_is_call_tir(&call->base) || op->structural == TN_STRUCTURAL_dist_call_tir;
    return by_op && call->args.n >= 2 ? tn_as_global_var(call->args.at[0]) : NULL;
}

const tn_prim_func *
shape_called_program(const tn_module *module, const tn_call *call)
{
    const tn_global_var *gv = program_name(call);
    return gv ? tn_as_prim_func(tn_module_get(module, gv->name)) : NULL;
}

static void
program_call(tn_ctx *ctx, const tn_module *module, const tn_call *call, tn_assumptions *out)
{
    const tn_prim_func *f = shape_called_program(module, call);
    if (!f)
        return;
    const char *name = program_name(call)->name;
    const tn_array *in_place = tn_as_array(tn_call_attr(call, "inplace_indices"));
    tn_list args = program_args(ctx, call);
    type_list types = {NULL, 0, 0}, outputs = {NULL, 0, 0};
    matching m = {.ctx = ctx, .out = out};
    tnb_ptrmap_init(&m.symbols, tn_scratch(ctx));
    for (uint32_t i = 0; i < args.n; i++)
        TNB_PUSH(tn_scratch(ctx), types, args.at[i]->type);
    for (uint32_t i = 0; i < call->ty_args.n; i++)
        flatten_types(ctx, call->ty_args.at[i], &outputs);
    for (uint32_t i = 0; i < outputs.n; i++) {
        int64_t k = -1;
        if (in_place && i < in_place->items.n)
            tn_int_value(in_place->items.at[i], &k);
        if (k >= 0 && k < (int64_t)args.n)
            compare_in_place(&m, name, outputs.at[i], args.at[k], k);
        else
            TNB_PUSH(tn_scratch(ctx), types, outputs.at[i]);
    }
    for (uint32_t i = 0; i < types.n; i++)
        bind_param(&m, f, i, types.at[i], i < args.n ? args.at[i] : NULL);
    for (uint32_t i = 0; i < types.n; i++)
        compare_param(&m, f, name, i, types.at[i]);
}

/* ---- match_cast ---- */

void
shape_match_assumptions(tn_ctx *ctx, const tn_match_cast *mc, const tnb_ptrmap *known,
                        tn_assumptions *out)
{
    tn_list have, want;
    if (!tn_type_dims(mc->value->type, &have) || !tn_type_dims(mc->to, &want) || have.n != want.n)
        return;
    tnb_ptrmap own; /* variables that it defines -> extents: the check stands before it */
    tnb_ptrmap_init(&own, tn_scratch(ctx));
    for (uint32_t i = 0; i < have.n; i++)
        if (tn_is_var(want.at[i]) && !tnb_ptrmap_has(known, want.at[i]) &&
            !tnb_ptrmap_has(&own, want.at[i]))
            tnb_ptrmap_set(&own, want.at[i], have.at[i]);
    for (uint32_t i = 0; i < have.n; i++)
        if (!tn_is_var(want.at[i]) || tnb_ptrmap_has(known, want.at[i]))
            assume_equal(ctx, out, have.at[i],
                         tn_simplify_now(ctx, tn_subst(ctx, want.at[i], &own)),
                         tn_strf(ctx, "extent %u is {}, expected {}", i));
}

bool
shape_call_assumptions(tn_ctx *ctx, const tn_module *module, tnb_ptrmap *before,
                       const tn_call *call, tn_assumptions *out)
{
    *out = (tn_assumptions){NULL, 0, 0};
    if (!tn_call_assumptions_again(ctx, before, call, out))
        return false;
    program_call(ctx, module, call, out);
    return true;
}
