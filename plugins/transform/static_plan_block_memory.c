/* SPDX-License-Identifier: Apache-2.0 */
/* StaticPlanBlockMemory: tensors that are not alive together share memory.
 *
 *     alloc = R.builtin.alloc_tensor(shape, dtype, 0, "global")
 *
 *     storage = R.memory.alloc_storage(R.shape([1024]), 0, "global", dtype)
 *     alloc = R.memory.alloc_tensor(storage, 0, shape, dtype, 0)
 *
 * Plain allocations stay where a tensor is returned, used in another binding block, in or by an If,
 * or given to anything but a tensor program, a packed function or call_tir_dyn. Option mode:
 * `upstream` reproduces upstream's pool of storages, `arena` makes one storage for each device and
 * scope and places tensors at offsets. Sizes with symbols count by the upper bound that the
 * function's attributes tir_var_upper_bound and tir_var_lower_bound give. Works on functions after
 * CallTIRRewrite. memory_tokens.c finds what can be planned, memory_plan.c and
 * memory_arena.c plan. Cases:
 * tests/pass/StaticPlanBlockMemory.
 */
#include "transform.h"
#include "memory_plan.h"

#include "tenon/core/walk.h"

typedef struct rewriting {
    tn_ctx *ctx;
    tnb_ptrmap tokens; /* variable -> token */
    TNB_VEC(const tn_node *) out;
} rewriting;

static void
emit_storage(rewriting *w, memory_storage *s)
{
    const tn_expr *call = tn_call_opv(w->ctx, "relax.memory.alloc_storage", NULL,
                                      tn_shape_expr_of(w->ctx, tn_listv(w->ctx, s->size, NULL)),
                                      tn_i64(w->ctx, s->device), tn_string(w->ctx, s->scope),
                                      tn_dtype_imm_of(w->ctx, s->dtype), NULL);
    s->var = tn_var_new(w->ctx, "storage", call->type);
    TNB_PUSH(tn_scratch(w->ctx), w->out, tn_var_binding_of(w->ctx, s->var, call));
}

static const tn_node *
rewrite_block(tn_rewriter *r, const tn_node *n)
{
    rewriting *w = r->user;
    const tn_bindings_block *b = tn_as_bindings_block(n);
    if (!b)
        return NULL;
    w->out.n = 0;
    bool any = false;
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(b->bindings.at[i]);
        const memory_token *t = vb ? tnb_ptrmap_get(&w->tokens, vb->var) : NULL;
        if (!t || !t->storage) {
            TNB_PUSH(tn_scratch(w->ctx), w->out, b->bindings.at[i]);
            continue;
        }
        any = true;
        tn_loc old = tn_at(w->ctx, vb->base.loc);
        if (t->storage->before == t)
            emit_storage(w, t->storage);
        const tn_expr *call =
            tn_call_opv(w->ctx, "relax.memory.alloc_tensor", NULL, t->storage->var,
                        tn_i64(w->ctx, t->offset), t->alloc->args.at[0], t->alloc->args.at[1],
                        t->alloc->args.at[2], NULL);
        TNB_PUSH(tn_scratch(w->ctx), w->out, tn_var_binding_of(w->ctx, vb->var, call));
        tn_at(w->ctx, old);
    }
    return any ? tn_binding_block_of(w->ctx, tn_list_of(w->ctx, w->out.at, w->out.n),
                                     tn_is(n, TN_KIND_DATAFLOW_BLOCK))
               : NULL;
}

static const tn_node *
plan_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    const char *mode = user;
    const tn_function *fn = (const tn_function *)func;
    memory_tokens tokens = {0};
    if (!memory_find_tokens(pc->ctx, m, fn, &tokens))
        return NULL;
    memory_totals totals = {0};
    if (strcmp(mode, "arena") == 0)
        memory_plan_arena(pc->ctx, &tokens, &totals);
    else
        memory_plan_upstream(pc->ctx, &tokens);
    if (totals.tensors)
        tn_pass_note(pc, "%s: %u tensors in %lld bytes; at least %lld are alive at one time", name,
                     totals.tensors, (long long)totals.planned, (long long)totals.bound);
    rewriting w = {.ctx = pc->ctx};
    tnb_ptrmap_init(&w.tokens, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < tokens.n; i++)
        tnb_ptrmap_set(&w.tokens, tokens.at[i]->var, tokens.at[i]);
    tn_rewriter r = {.ctx = pc->ctx, .user = &w, .post = rewrite_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    if (tn_func_attr(out, "relax.memory_plan_dynamic_func_output"))
        out = tn_func_with_attr(pc->ctx, out, "relax.memory_plan_dynamic_func_output", NULL);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    static char upstream[] = "upstream", arena[] = "arena";
    return tn_map_functions(pc, m, TN_FUNCTIONS, plan_function,
                            strcmp(tn_option_str(pc, "mode"), arena) == 0 ? arena : upstream);
}

static const tn_attr_schema options[] = {
    {"mode", TN_ATTR_STR, 0, "\"upstream\"",
     "upstream: a pool of storages; arena: one storage for each device and scope",
     "upstream|arena"},
    {0}};

const tn_pass transform_static_plan_block_memory = {
    .base.size = sizeof(tn_pass),
    .base.name = "StaticPlanBlockMemory",
    .base.doc = "let tensors that are not alive together share memory",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
