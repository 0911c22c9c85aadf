/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor-expression builder: inputs, symbolic extents, stages, the PrimFunc and its call.
 *
 * What is written is block form as a schedule expects it: a root block that allocates the
 * intermediate buffers, and in it, one after the other, a nest of serial loops around one block for
 * each stage. Regions of reads are exact where all reads of a buffer use the same index, else the
 * whole extent of the dimension.
 */
#include "tenon/kit/te.h"

#include "te.h"

#include "tenon/core/arith.h"
#include "tenon/core/registry.h"

tnk_te *
tnk_te_new(tn_ctx *ctx)
{
    tnb_arena *a = tn_scratch(ctx);
    tnk_te *te = TNB_NEW(a, tnk_te);
    te->ctx = ctx;
    te->arena = a;
    tnb_strmap_init(&te->names, a);
    tnb_ptrmap_init(&te->own, a);
    tnb_ptrmap_init(&te->inner, a);
    tnb_ptrmap_init(&te->outer, a);
    tnb_ptrmap_init(&te->known, a);
    return te;
}

tn_ctx *
tnk_te_ctx(tnk_te *te)
{
    return te->ctx;
}

/* "name", "name_1", "name_2", ... : the first that is free. */
const char *
te_name(tnk_te *te, const char *hint)
{
    const char *name = hint;
    for (unsigned i = 1; tnb_strmap_has(&te->names, name); i++)
        name = tnb_printf(te->arena, "%s_%u", hint, i);
    tnb_strmap_set(&te->names, name, te);
    return name;
}

/* A variable of the PrimFunc. */
const tn_expr *
te_var(tnk_te *te, const char *name, tnb_dtype d)
{
    const tn_expr *v = tn_var_dtype(te->ctx, name, d);
    tnb_ptrmap_set(&te->own, v, te);
    return v;
}

const tn_expr *
tnk_te_expr(tnk_te *te, const tn_expr *e)
{
    if (!e || (e->flags & TN_FLAG_CLOSED) || tnb_ptrmap_has(&te->own, e))
        return e;
    tn_list vars = tn_free_vars(te->ctx, e, false);
    bool foreign = false;
    for (uint32_t i = 0; i < vars.n; i++) {
        const tn_expr *v = vars.at[i];
        if (tnb_ptrmap_has(&te->own, v) || !tn_is_scalar(v))
            continue;
        foreign = true;
        if (tnb_ptrmap_has(&te->inner, v))
            continue;
        const tn_expr *mine = te_var(te, tn_var_name(v), tn_dtype_of(v));
        tnb_ptrmap_set(&te->inner, v, mine);
        tnb_ptrmap_set(&te->outer, mine, v);
        TNB_PUSH(te->arena, te->symbols, mine);
    }
    return foreign ? tn_subst(te->ctx, e, &te->inner) : e;
}

const tn_expr *
tnk_te_index(tn_ctx *ctx, const tn_expr *index, const tn_expr *extent, bool wraps, const char *op,
             const char *what)
{
    tn_loc here = tn_at(ctx, 0);
    (void)tn_at(ctx, here);
    const char *node = here ? tn_loc_place(ctx, here).node : NULL;
    const char *site = tn_strf(ctx, "%s, %s", node ? node : op, what);
    wraps &= tnb_dtype_is_int(tn_dtype_of(index)) && tn_dtype_of(index).code != TNB_UINT;
    return tn_intrin(ctx, TN_INTRIN_index_in,
                     tn_listv(ctx, tn_cast_to(ctx, TNB_I64, index),
                              tn_cast_to(ctx, TNB_I64, extent), tn_i32(ctx, wraps),
                              tn_string(ctx, site), NULL));
}

tn_list
te_exprs(tnk_te *te, const tn_expr *const *e, uint32_t n)
{
    const tn_node **at = TNB_NEW_N(te->arena, const tn_node *, n);
    for (uint32_t i = 0; i < n; i++)
        at[i] = tnk_te_expr(te, e[i]);
    return tn_list_of(te->ctx, at, n);
}

const tn_node *
te_new_buffer(tnk_te *te, const char *name, tn_list dims, tnb_dtype d)
{
    const tn_node *b = tn_buffer_new(te->ctx, name, dims, d, NULL);
    if (!tn_is_error(b))
        return b;
    te->bad = true;
    for (uint32_t i = 0; i < dims.n; i++)
        dims = tn_list_with(te->ctx, dims, i, tn_i64(te->ctx, 1));
    return tn_buffer_new(te->ctx, name, dims, d, NULL);
}

/* A buffer is a parameter: its bare extents define their variables. */
static void
know_extents(tnk_te *te, const tn_node *buffer)
{
    tn_list shape = tn_as_buffer(buffer)->shape;
    for (uint32_t i = 0; i < shape.n; i++) {
        if (tn_is_var(shape.at[i]))
            tnb_ptrmap_set(&te->known, shape.at[i], te);
    }
}

const tn_node *
tnk_te_input(tnk_te *te, const char *name, const tn_type *tensor)
{
    tn_list dims;
    if (!tn_type_dims(tensor, &dims)) {
        te->bad = true;
        return tn_error(te->ctx, 0, TNB_INTERNAL,
                        "input '%s' of a tensor program has no known shape", name);
    }
    const tn_node *b =
        te_new_buffer(te, te_name(te, name), te_exprs(te, dims.at, dims.n), tn_type_dtype(tensor));
    TNB_PUSH(te->arena, te->inputs, b);
    return b;
}

const tn_expr *
tnk_te_scalar(tnk_te *te, const char *name, tnb_dtype d)
{
    const tn_expr *v = te_var(te, te_name(te, name), d);
    TNB_PUSH(te->arena, te->scalars, v);
    return v;
}

const tn_node *
tnk_te_buffer(tnk_te *te, const char *name, const tn_expr *const *dims, uint32_t n_dims,
              tnb_dtype d)
{
    const tn_node *b = te_new_buffer(te, te_name(te, name), te_exprs(te, dims, n_dims), d);
    TNB_PUSH(te->arena, te->made, b);
    return b;
}

const tn_expr *
tnk_te_read_at(tnk_te *te, const tn_node *buffer, const tn_expr *const *idx, uint32_t n)
{
    return tn_buffer_load_of(te->ctx, buffer, tn_list_of(te->ctx, idx, n));
}

const tn_expr *
tnk_te_read(tnk_te *te, const tn_node *buffer, ...)
{
    TNB_VEC(const tn_node *) idx = {0};
    va_list ap;
    va_start(ap, buffer);
    for (const tn_expr *e = va_arg(ap, const tn_expr *); e; e = va_arg(ap, const tn_expr *))
        TNB_PUSH(te->arena, idx, e);
    va_end(ap);
    return tnk_te_read_at(te, buffer, idx.at, idx.n);
}

static bool
is_one_of(const tn_node *n, const tn_node *const *at, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (at[i] == n)
            return true;
    }
    return false;
}

const tn_node *
tnk_te_finish(tnk_te *te, const tn_node *const *outputs, uint32_t n_outputs)
{
    tn_ctx *ctx = te->ctx;
    if (te->bad)
        return tn_error_node(ctx);
    TNB_VEC(const tn_node *) params = {0};
    TNB_VEC(const tn_node *) buffers = {0};
    TNB_VEC(const tn_node *) allocs = {0};
    for (uint32_t i = 0; i < te->inputs.n; i++)
        know_extents(te, te->inputs.at[i]);
    for (uint32_t i = 0; i < n_outputs; i++)
        know_extents(te, outputs[i]);

    for (uint32_t i = 0; i < te->inputs.n; i++) {
        const tn_node *b = te->inputs.at[i];
        TNB_PUSH(te->arena, params, te_handle(te, b));
        TNB_PUSH(te->arena, buffers, b);
    }
    for (uint32_t i = 0; i < te->scalars.n; i++) {
        TNB_PUSH(te->arena, params, te->scalars.at[i]);
        TNB_PUSH(te->arena, buffers, NULL);
    }
    for (uint32_t i = 0; i < te->symbols.n; i++) {
        if (tnb_ptrmap_has(&te->known, te->symbols.at[i]))
            continue;
        TNB_PUSH(te->arena, params, te->symbols.at[i]);
        TNB_PUSH(te->arena, buffers, NULL);
    }
    for (uint32_t i = 0; i < n_outputs; i++) {
        TNB_PUSH(te->arena, params, te_handle(te, outputs[i]));
        TNB_PUSH(te->arena, buffers, outputs[i]);
    }
    for (uint32_t i = 0; i < te->made.n; i++) {
        if (!is_one_of(te->made.at[i], outputs, n_outputs))
            TNB_PUSH(te->arena, allocs, te->made.at[i]);
    }
    tn_block root = {.name = tn_str(ctx, "root"),
                     .allocs = tn_list_of(ctx, allocs.at, allocs.n),
                     .body = tn_seq_of(ctx, tn_list_of(ctx, te->stages.at, te->stages.n))};
    const tn_stmt *body =
        tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &root));
    const tn_node *attrs =
        tn_dictv(ctx, "s_tir", tn_bool(ctx, true), "tirx.noalias", tn_bool(ctx, true), NULL);
    return tn_prim_func_of(ctx, tn_list_of(ctx, params.at, params.n),
                           tn_list_of(ctx, buffers.at, buffers.n), body, NULL, attrs);
}

/* The type of an output in terms of the graph's variables. */
static const tn_type *
output_type(tnk_te *te, const tn_node *output)
{
    const tn_buffer *b = tn_as_buffer(output);
    const tn_node **dims = TNB_NEW_N(te->arena, const tn_node *, b->shape.n);
    for (uint32_t i = 0; i < b->shape.n; i++) {
        const tn_expr *e = b->shape.at[i];
        if (!(e->flags & TN_FLAG_CLOSED))
            e = tn_simplify_now(te->ctx, tn_subst(te->ctx, e, &te->outer));
        dims[i] = e;
    }
    return tn_ty_tensor_dims(te->ctx, tn_list_of(te->ctx, dims, b->shape.n), b->dtype);
}

/* Inputs, then the symbols that no extent of a buffer defines. */
static tn_list
call_args(tnk_te *te, const tn_expr *const *inputs, uint32_t n_inputs)
{
    TNB_VEC(const tn_node *) args = {0};
    for (uint32_t i = 0; i < n_inputs; i++)
        TNB_PUSH(te->arena, args, inputs[i]);
    for (uint32_t i = 0; i < te->symbols.n; i++) {
        const tn_expr *mine = te->symbols.at[i];
        if (!tnb_ptrmap_has(&te->known, mine))
            TNB_PUSH(te->arena, args, tnb_ptrmap_get(&te->outer, mine));
    }
    return tn_list_of(te->ctx, args.at, args.n);
}

const tn_expr *
tnk_te_call(tnk_te *te, tn_builder *b, const char *hint, const tn_expr *const *inputs,
            uint32_t n_inputs, const tn_node *const *outputs, uint32_t n_outputs)
{
    tn_ctx *ctx = te->ctx;
    const tn_node *func = tnk_te_finish(te, outputs, n_outputs);
    if (tn_is_error(func))
        return func;
    tn_list args = call_args(te, inputs, n_inputs);
    const tn_type **types = TNB_NEW_N(te->arena, const tn_type *, n_outputs);
    for (uint32_t i = 0; i < n_outputs; i++)
        types[i] = output_type(te, outputs[i]);
    const tn_type *out =
        n_outputs == 1 ? types[0] : tn_ty_tuple_of(ctx, tn_list_of(ctx, types, n_outputs));
    return tn_builder_call_tir(b, func, hint, args, out);
}

const tn_expr *
tnk_te_call_inplace(tnk_te *te, tn_builder *b, const char *hint, const tn_expr *const *inputs,
                    uint32_t n_inputs, uint32_t index)
{
    tn_ctx *ctx = te->ctx;
    int64_t at = index;
    const tn_node *func = tnk_te_finish(te, NULL, 0);
    if (tn_is_error(func))
        return func;
    const tn_expr *gv = tn_builder_add_function(b, func, hint),
                  *args = tn_tuple_of(ctx, call_args(te, inputs, n_inputs));
    const tn_node *attrs = tn_dictv(ctx, "inplace_indices", tn_int_array(ctx, &at, 1), NULL);
    const tn_expr *op =
        tn_op_ref_of(ctx, tn_find_op(tn_ctx_registry(ctx), "relax.call_tir_inplace", NULL));
    return tn_call_of(ctx, op, tn_listv(ctx, gv, args, NULL), attrs,
                      tn_listv(ctx, inputs[index]->type, NULL), NULL);
}
