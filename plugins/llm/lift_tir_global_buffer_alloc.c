/* SPDX-License-Identifier: Apache-2.0 */
/* LiftTIRGlobalBufferAlloc: global memory that a tensor program allocates becomes a result of its call, so that memory planning sees it.
 *
 *     lv = R.call_tir(cls.f, (x,), R.Tensor((n,)))             lv_1 = R.call_tir(cls.f1, (x,), [R.Tensor((n,)), R.Tensor((n, 4))])
 *     f: part = T.sblock_alloc_buffer((n, 4))            =>    lv = lv_1[0]
 *                                                              f1: part is a parameter
 *
 * For GPUs, behind the schedule. Allocations of the root block without a scope of their own are lifted from programs that call_tir calls;
 * extents that the call's tensors do not give leave a program as it is. Cases: tests/pass/LiftTIRGlobalBufferAlloc.
 */
#include "llm.h"
#include "dequantize.h"

#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

typedef struct lifted {
    const tn_expr *gv;       /* of the program with more parameters */
    const tn_prim_func *was; /* the program */
    tn_list buffers;         /* those that became parameters, as the program had them */
} lifted;

typedef struct lifter {
    tn_ctx *ctx;
    const tn_module *m;
    tn_builder *b;
    tnb_strmap of; /* name -> lifted */
    bool dataflow; /* of the block at hand */
} lifter;

static bool
is_global(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return !scope || !*scope || !strcmp(scope, "global");
}

/* Finds what a program allocates in global memory; false: nothing. */
static bool
find(lifter *l, const char *name, const tn_prim_func *f)
{
    tn_ctx *ctx = l->ctx;
    const tn_block_realize *root = tn_as_block_realize(f->body);
    const tn_block *b = root ? tn_as_block(root->block) : NULL;
    tn_list kept = {0}, moved = {0}, params = f->params, buffers = f->buffers;
    for (uint32_t i = 0; b && !b->iters.n && i < b->allocs.n; i++) {
        const tn_node *buffer = b->allocs.at[i];
        if (!is_global(buffer)) {
            kept = tn_list_append(ctx, kept, buffer);
            continue;
        }
        moved = tn_list_append(ctx, moved, buffer);
        params =
            tn_list_append(ctx, params,
                           tn_var_dtype(ctx, tn_strf(ctx, "var_%s", tn_as_buffer(buffer)->name),
                                        TNB_DTYPE(TNB_HANDLE, 64)));
        buffers = tn_list_append(ctx, buffers, buffer);
    }
    if (!moved.n)
        return false;
    tn_block without = *b;
    without.allocs = kept;
    const tn_stmt *body =
        tn_block_realize_of(ctx, root->values, root->predicate, tn_block_of(ctx, &without));
    const tn_node *made = tn_prim_func_of(ctx, params, buffers, body, f->ret, f->attrs);
    if (tn_is_error(made))
        return false;
    lifted *it = TNB_NEW(tn_scratch(ctx), lifted);
    *it = (lifted){.was = f, .buffers = moved};
    it->gv = tn_builder_add_function(l->b, tn_fresh_copy(ctx, made, NULL), name);
    tnb_strmap_set(&l->of, name, it);
    return true;
}

/* Extents of a parameter by those of the tensor given for it. */
static void
match(tnb_ptrmap *map, const tn_node *buffer, const tn_type *tensor)
{
    tn_list dims;
    const tn_buffer *b = tn_as_buffer(buffer);
    if (!b || !tn_type_dims(tensor, &dims) || dims.n != b->shape.n)
        return;
    for (uint32_t i = 0; i < dims.n; i++)
        if (tn_is_var(b->shape.at[i]))
            tnb_ptrmap_set(map, b->shape.at[i], dims.at[i]);
}

/* Types of the new results of a call, behind its own; n 0: some extent is not known. */
static tn_list
results(lifter *l, const lifted *it, const tn_call *call)
{
    tn_ctx *ctx = l->ctx;
    const tn_tuple *args = tn_as_tuple(call->args.at[1]);
    const tn_type *own = call->ty_args.n ? call->ty_args.at[0] : call->base.type;
    const tn_ty_tuple *several = tn_as_ty_tuple(own);
    tn_list out = several ? several->fields : tn_listv(ctx, own, NULL), none = {0};
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    if (!args || args->fields.n + out.n != it->was->params.n)
        return none;
    for (uint32_t i = 0; i < it->was->params.n; i++)
        match(&map, it->was->buffers.at[i],
              i < args->fields.n ? args->fields.at[i]->type : out.at[i - args->fields.n]);
    for (uint32_t i = 0; i < it->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(it->buffers.at[i]);
        tn_list dims = b->shape;
        for (uint32_t k = 0; k < dims.n; k++) {
            tn_list used = tn_free_vars(ctx, b->shape.at[k], false);
            for (uint32_t v = 0; v < used.n; v++)
                if (!tnb_ptrmap_has(&map, used.at[v]))
                    return none;
            tn_list_change(ctx, &dims, b->shape, k,
                           tn_cast_to(ctx, TNB_I64, tn_subst(ctx, b->shape.at[k], &map)));
        }
        out = tn_list_append(ctx, out, tn_ty_tensor_dims(ctx, dims, b->dtype));
    }
    return out;
}

static const tn_expr *
new_var(const lifter *l, const char *name, const tn_type *type)
{
    return l->dataflow ? tn_dataflow_var_new(l->ctx, name, type) : tn_var_new(l->ctx, name, type);
}

static const tn_node *
lift(tn_rewriter *r, const tn_node *n)
{
    lifter *l = r->user;
    tn_ctx *ctx = l->ctx;
    if (tn_as_bindings_block(n))
        l->dataflow = tn_is(n, TN_KIND_DATAFLOW_BLOCK);
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *call = vb ? tn_is_call_to(vb->value, "relax.call_tir") : NULL;
    const tn_global_var *gv = call ? tn_as_global_var(call->args.at[0]) : NULL;
    const lifted *it = gv ? tnb_strmap_get(&l->of, gv->name) : NULL;
    tn_list types = it ? results(l, it, call) : (tn_list){0};
    if (!types.n)
        return NULL;
    const tn_expr *value =
        tn_call_tir(ctx, it->gv, tn_as_tuple(call->args.at[1])->fields, tn_ty_tuple_of(ctx, types));
    if (tn_is_error(value))
        return value;
    const char *name = tn_var_name(vb->var);
    const tn_expr *all = new_var(l, name, value->type), *result = tn_tuple_item(ctx, all, 0);
    const tn_ty_tuple *own = tn_as_ty_tuple(vb->value->type);
    tn_list bindings = tn_listv(ctx, tn_var_binding_of(ctx, all, value), NULL), fields = {0};
    for (uint32_t i = 0; own && i < own->fields.n; i++) {
        const tn_expr *item = new_var(l, name, own->fields.at[i]);
        bindings =
            tn_list_append(ctx, bindings, tn_var_binding_of(ctx, item, tn_tuple_item(ctx, all, i)));
        fields = tn_list_append(ctx, fields, item);
    }
    if (own)
        result = tn_tuple_of(ctx, fields);
    bindings = tn_list_append(ctx, bindings, tn_var_binding_of(ctx, vb->var, result));
    return tn_binding_block_of(ctx, bindings, l->dataflow);
}

static const tn_node *
each(void *user, const tn_node *func)
{
    lifter *l = user;
    tn_rewriter r = {.ctx = l->ctx, .user = l, .pre = lift};
    return tn_rewrite(&r, func);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    lifter l = {.ctx = pc->ctx, .m = m, .b = tn_builder_new(pc->ctx, m)};
    bool any = false;
    tnb_strmap_init(&l.of, tn_scratch(pc->ctx));
    for (uint32_t i = 0; llm_is_gpu(pc->target) && i < m->names.n; i++)
        if (tn_as_prim_func(m->funcs.at[i]))
            any |= find(&l, tn_module_name(m, i), tn_as_prim_func(m->funcs.at[i]));
    const tn_module *out = any ? llm_each_function(pc, m, l.b, each, &l) : m;
    return !out || out == m
               ? out
               : llm_run_list(pc, out, "DeadCodeElimination", "LiftTIRGlobalBufferAlloc");
}

const tn_pass llm_lift_tir_global_buffer_alloc = {
    .base.size = sizeof(tn_pass),
    .base.name = "LiftTIRGlobalBufferAlloc",
    .base.doc = "make global memory that programs allocate results of their calls, for GPUs",
    .keeps = TN_KEEPS_BITS,
    .needs = "op",
    .run = run,
};
