/* SPDX-License-Identifier: Apache-2.0 */
/* RewriteCUDAGraph: runs of kernels on fixed memory become functions that are recorded once and
 * replayed.
 *
 *     storage = R.memory.alloc_storage(...)
 *     a = R.memory.alloc_tensor(storage, ...)
 *     _ = cls.f(w, a)
 *     _ = cls.g(a, b)
 *  -> gv = get_cached_alloc(cls.cuda_graph_alloc, 0)
 *     storage = gv[0]
 *     a = R.memory.alloc_tensor(storage, ...)
 *     gv1 = run_or_capture(cls.main_cuda_graph_capture, (w, a), 0)
 *     _ = cls.g(a, b)
 *
 * Only with the configuration relax.backend.use_cuda_graph. Storages of constant size that stay
 * inside their functions are merged over all functions of the module into one cached allocation:
 * scopes by name, and in a scope the k-th largest of each function share a slot. What is captured
 * must be the same in each run: constants, weights (parameters from num_input on), such storages,
 * and what depends on these alone (cuda_graph_find.c). A function that calls graph functions is left
 * as it is: they would share its storages. Needs StaticPlanBlockMemory before it. Cases:
 * tests/pass/RewriteCUDAGraph.
 */
#include "cuda_graph.h"
#include "transform.h"

#include "tenon/core/builder.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

typedef struct rewriting {
    tn_ctx *ctx;
    tn_builder *b;
    cuda_graph_slots slots;
    const tn_expr *alloc; /* cls.cuda_graph_alloc */
    const tn_type *alloc_type;
    int64_t next_index; /* of captured regions, over the module */
} rewriting;

/* ---- one allocation for all ---- */

static void
add_alloc_function(rewriting *w)
{
    tn_ctx *ctx = w->ctx;
    tn_list fields = {0}, types = {0};
    tn_builder_begin_function(w->b, (tn_list){0});
    tn_builder_begin_block(w->b, false);
    for (uint32_t i = 0; i < w->slots.n; i++) {
        const tn_expr *call = tn_call_of(ctx, w->slots.at[i].largest->op,
                                         w->slots.at[i].largest->args, NULL, (tn_list){0}, NULL);
        fields = tn_list_append(ctx, fields, tn_emit(w->b, call, "storage"));
        types = tn_list_append(ctx, types, tn_ty_any(ctx));
    }
    const tn_expr *all = tn_emit(w->b, tn_tuple_of(ctx, fields), "gv");
    tn_builder_end_block(w->b);
    const tn_node *attrs = tn_dictv(ctx, "relax.force_pure", tn_bool(ctx, true), NULL);
    const tn_expr *f = tn_builder_end_function(w->b, all, NULL, true, attrs);
    w->alloc = tn_builder_add_function(w->b, f, "cuda_graph_alloc");
    w->alloc_type = tn_ty_tuple_of(ctx, types);
}

/* ---- regions ---- */

static const tn_expr *
call_with_ctx(rewriting *w, const char *name, tn_list args, const tn_type *type)
{
    const tn_expr *tuple = tn_tuple_of(w->ctx, args);
    const tn_node *both[] = {tn_extern_func_of(w->ctx, name), tuple};
    const tn_op *op = tn_find_op(tn_ctx_registry(w->ctx), "relax.call_builtin_with_ctx", NULL);
    return tn_call_of(w->ctx, tn_op_ref_of(w->ctx, op), (tn_list){both, 2}, NULL,
                      (tn_list){&type, 1}, NULL);
}

typedef struct uses {
    tn_ctx *ctx;
    const tnb_ptrmap *inside; /* variables that the region binds */
    tnb_ptrmap seen;
    tn_list out;
} uses;

static tn_walk_step
note_use(void *user, const tn_node *n)
{
    uses *u = user;
    if (tn_is_var(n) && tnb_ptrmap_has(u->inside, n) && !tnb_ptrmap_has(&u->seen, n)) {
        tnb_ptrmap_set(&u->seen, n, u);
        u->out = tn_list_append(u->ctx, u->out, n);
    }
    return TN_WALK_ON;
}

/* Which of the region's variables are used by bindings behind it or by the result, in the order of
 * first use. */
static tn_list
used_later(rewriting *w, const cuda_graph_plan *p, const cuda_graph_region *r,
           const tnb_ptrmap *inside)
{
    uses u = {.ctx = w->ctx, .inside = inside};
    tnb_ptrmap_init(&u.seen, tn_scratch(w->ctx));
    const tn_seq_expr *body = (const tn_seq_expr *)p->func->body;
    for (uint32_t b = r->block; b < body->blocks.n; b++) {
        tn_list l = ((const tn_bindings_block *)body->blocks.at[b])->bindings;
        for (uint32_t i = b == r->block ? r->last + 1 : 0; i < l.n; i++)
            tn_walk(l.at[i], TN_WALK_TYPES, note_use, NULL, &u);
    }
    tn_walk(body->body, 0, note_use, NULL, &u);
    return u.out;
}

static bool
is_storage(const cuda_graph_plan *p, const tn_expr *var)
{
    for (uint32_t i = 0; i < p->storages.n; i++)
        if (p->storages.at[i].var == var)
            return true;
    return false;
}

/* Emits the call of the captured region and binds what is used later. */
static bool
capture(rewriting *w, const cuda_graph_plan *p, const cuda_graph_region *r, tn_list bindings)
{
    tn_ctx *ctx = w->ctx;
    tn_list inside = {0}, params = {0}, symbols = {0}, types = {0};
    tnb_ptrmap bound;
    tnb_ptrmap_init(&bound, tn_scratch(ctx));
    for (uint32_t i = r->first; i <= r->last; i++) {
        const tn_var_binding *vb = tn_as_var_binding(bindings.at[i]);
        if (is_storage(p, vb->var))
            continue;
        inside = tn_list_append(ctx, inside, bindings.at[i]);
        tnb_ptrmap_set(&bound, vb->var, &bound);
    }
    tn_list outputs = used_later(w, p, r, &bound);
    for (uint32_t i = 0; i < outputs.n; i++)
        types = tn_list_append(ctx, types, outputs.at[i]->type);
    const tn_node *block = tn_binding_block_of(ctx, inside, false);
    const tn_type *type = tn_ty_tuple_of(ctx, types);
    const tn_expr *result = tn_var_new(ctx, "gv", type);
    const tn_node *last = tn_var_binding_of(ctx, result, tn_tuple_of(ctx, outputs));
    block =
        tn_binding_block_of(ctx,
                            tn_list_append(ctx, ((const tn_bindings_block *)block)->bindings, last),
                            false);
    const tn_expr *seq =
        tn_seq_expr_of(ctx, (tn_list){&block, 1}, outputs.n ? result : tn_tuple_of(ctx, outputs));
    if (tn_is_error(seq))
        return false;
    tn_list used = tn_free_vars(ctx, seq, false);
    for (uint32_t i = 0; i < used.n; i++) {
        if (tnb_ptrmap_has(&p->symbols, used.at[i]))
            symbols = tn_list_append(ctx, symbols, used.at[i]);
        else
            params = tn_list_append(ctx, params, used.at[i]);
    }
    tn_list args = params;
    if (symbols.n) {
        params = tn_list_append(ctx, params,
                                tn_var_new(ctx, "shape_expr", tn_ty_shape_of(ctx, symbols)));
        args = tn_list_append(ctx, args, tn_shape_expr_of(ctx, symbols));
    }
    const tn_node *attrs = tn_dictv(ctx, "relax.force_pure", tn_bool(ctx, true), NULL);
    const tn_node *f =
        tn_fresh_copy(ctx, tn_function_of(ctx, params, seq, type, true, attrs), NULL);
    const tn_expr *gv =
        tn_builder_add_function(w->b, f, tn_strf(ctx, "%s_cuda_graph_capture", p->name));
    tn_list call = tn_listv(ctx, gv, tn_tuple_of(ctx, args), tn_i64(ctx, w->next_index++), NULL);
    if (symbols.n)
        call = tn_list_append(ctx, call, tn_shape_expr_of(ctx, symbols));
    const tn_expr *got =
        tn_emit(w->b, call_with_ctx(w, "vm.builtin.cuda_graph.run_or_capture", call, type), "gv");
    /* bound again in the order of their definitions */
    for (uint32_t k = 0; k < inside.n && !tn_is_error(got); k++)
        for (uint32_t i = 0; i < outputs.n; i++)
            if (((const tn_var_binding *)inside.at[k])->var == outputs.at[i])
                tn_emit_binding(w->b,
                                tn_var_binding_of(ctx, outputs.at[i], tn_tuple_item(ctx, got, i)));
    return !tn_is_error(got);
}

/* ---- functions ---- */

static const tn_node *
rewrite_function(rewriting *w, const cuda_graph_plan *p)
{
    const tn_seq_expr *body = (const tn_seq_expr *)p->func->body;
    const tn_expr *storages = NULL;
    uint32_t next = 0;
    tn_builder_begin_function(w->b, p->func->params);
    for (uint32_t b = 0; b < body->blocks.n; b++) {
        tn_list l = ((const tn_bindings_block *)body->blocks.at[b])->bindings;
        tn_builder_begin_block(w->b, tn_is(body->blocks.at[b], TN_KIND_DATAFLOW_BLOCK));
        for (uint32_t i = 0; i < l.n; i++) {
            const cuda_graph_region *r =
                next < p->regions.n && p->regions.at[next].block == b ? &p->regions.at[next] : NULL;
            const tn_var_binding *vb = tn_as_var_binding(l.at[i]);
            bool moved = false;
            for (uint32_t k = 0; vb && !moved && k < p->storages.n; k++) {
                if (p->storages.at[k].var != vb->var)
                    continue;
                if (!storages)
                    storages =
                        tn_emit(w->b,
                                call_with_ctx(w, "vm.builtin.cuda_graph.get_cached_alloc",
                                              tn_listv(w->ctx, w->alloc, tn_i64(w->ctx, 0), NULL),
                                              w->alloc_type),
                                "gv");
                tn_emit_binding(w->b, tn_var_binding_of(w->ctx, vb->var,
                                                        tn_tuple_item(w->ctx, storages,
                                                                      p->storages.at[k].slot)));
                moved = true;
            }
            if (r && i == r->last) { /* storages inside the region came before it */
                if (!capture(w, p, r, l))
                    return NULL;
                next++;
            } else if (!(r && i >= r->first) && !moved) {
                tn_emit_binding(w->b, l.at[i]);
            }
        }
        tn_builder_end_block(w->b);
    }
    const tn_node *f =
        tn_builder_end_function(w->b, body->body, p->func->ret, p->func->pure != 0, p->func->attrs);
    return tn_is_error(f) ? NULL : f;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    if (!tn_config_bool(pc, "relax.backend.use_cuda_graph"))
        return m;
    rewriting w = {.ctx = pc->ctx, .b = tn_builder_new(pc->ctx, m)};
    cuda_graph_plan *plans = TNB_NEW_N(tn_scratch(pc->ctx), cuda_graph_plan, m->names.n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        if (!f)
            continue;
        if (!cuda_graph_find(pc->ctx, m, tn_module_name(m, i), f, &plans[n]))
            return NULL;
        n += plans[n].storages.n || plans[n].regions.n;
    }
    if (!n)
        return m;
    cuda_graph_merge(pc->ctx, plans, n, &w.slots);
    if (w.slots.n)
        add_alloc_function(&w);
    const char **names = TNB_NEW_N(tn_scratch(pc->ctx), const char *, n);
    const tn_node **funcs = TNB_NEW_N(tn_scratch(pc->ctx), const tn_node *, n);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = plans[i].name;
        funcs[i] = rewrite_function(&w, &plans[i]);
        if (!funcs[i])
            return NULL;
    }
    return tn_module_set_all(pc->ctx, tn_builder_module(w.b), names, funcs, n);
}

static const tn_attr_schema config[] = {
    {"relax.backend.use_cuda_graph", TN_ATTR_BOOL, 0, "False",
     "capture kernel launches into graphs; False: the pass leaves the module as it is"},
    {.name = NULL}};

const tn_pass transform_rewrite_cuda_graph = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "RewriteCUDAGraph",
    .base.doc = "record runs of kernels on fixed memory as CUDA graphs (configuration "
                "relax.backend.use_cuda_graph)",
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .config = config,
};
