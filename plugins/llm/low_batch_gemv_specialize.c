/* SPDX-License-Identifier: Apache-2.0 */
/* LowBatchGemvSpecialize: a product whose number of rows is not known is scheduled twice, for few rows and for many.
 *
 *     @T.prim_func                                    @T.prim_func
 *     def product(x: (n, 1, 4096), w, y):      =>     def product(x: (n, 1, 4096), w, y):        # tirx.is_scheduled
 *         y[n, 1, j] += x[n, 1, k] * w[j, k]              if n <= 8: what gpu.LowBatchGEMV makes of it
 *                                                         else: what gpu.Matmul makes of it
 *
 * For GPUs; programs with one symbolic extent that both rules take. The host decides at each call. Those whose rows all callers bound by 8
 * are left to the target's own rules. Upstream has two steps, 2 and 8, with a schedule each; Tenon's rule has one for up to 8. Cases:
 * tests/pass/LowBatchGemvSpecialize.
 */
#include "llm.h"

#include "tenon/core/expr.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/rule.h"

enum { FEW = 8 };

typedef struct bounds {
    const tn_node *of; /* tir_var_upper_bound of the function at hand */
    tnb_strmap large;  /* programs that some caller gives a number of rows without such a bound */
} bounds;

/* The one symbolic extent of the program's buffers; NULL: none, or several. */
static const tn_expr *
symbol(const tn_prim_func *f)
{
    const tn_expr *var = NULL;
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        for (uint32_t k = 0; b && k < b->shape.n; k++) {
            const tn_expr *e = b->shape.at[k];
            if (tn_is(e, TN_KIND_INT_IMM) || e == var)
                continue;
            if (var || !tn_is_var(e))
                return NULL;
            var = e;
        }
    }
    return var;
}

/* Marks the program of a call with an extent that may be more than FEW. */
static tn_walk_step
note_call(void *user, const tn_node *n)
{
    bounds *b = user;
    const tn_call *c = tn_is_call_tir(n) ? tn_as_call(n) : NULL;
    const tn_global_var *gv = c ? tn_as_global_var(c->args.at[0]) : NULL;
    const tn_tuple *args = c ? tn_as_tuple(c->args.at[1]) : NULL;
    for (uint32_t i = 0; gv && args && i < args->fields.n; i++) {
        tn_list dims;
        if (!tn_type_dims(args->fields.at[i]->type, &dims))
            continue;
        for (uint32_t k = 0; k < dims.n; k++) {
            int64_t most = tn_is_var(dims.at[k])
                               ? tn_dict_int(b->of, tn_var_name(dims.at[k]), INT64_MAX)
                           : tn_is(dims.at[k], TN_KIND_INT_IMM) ? 0
                                                                : INT64_MAX;
            if (most > FEW)
                tnb_strmap_set(&b->large, gv->name, b);
        }
    }
    return TN_WALK_ON;
}

static const tnk_rule *
rule(tn_ctx *ctx, const char *name)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    return reg ? tn_find_entry(reg, "rule", name, NULL) : NULL;
}

static const tn_prim_func *
scheduled(tn_ctx *ctx, const char *name, const tn_node *func, const tn_target *target)
{
    const tnk_rule *r = rule(ctx, name);
    const tn_node *f =
        r ? TN_WITHIN(ctx, "rule", r, NULL, r->apply(ctx, func, target, r->self)) : NULL;
    return tn_is_error(f) ? NULL : tn_as_prim_func(f);
}

static const tn_node *
specialize(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    const bounds *b = user;
    tn_ctx *ctx = pc->ctx;
    const tn_expr *rows = symbol(tn_as_prim_func(func));
    (void)m;
    if (!rows || tn_func_attr(func, "tirx.is_scheduled") || !tnb_strmap_has(&b->large, name))
        return func;
    const tn_node *few =
        tn_func_with_attr(ctx, func, "tir_var_upper_bound",
                          tn_dictv(ctx, tn_var_name(rows), tn_i64(ctx, FEW), NULL));
    const tn_prim_func *low = scheduled(ctx, "gpu.LowBatchGEMV", few, pc->target);
    const tn_prim_func *high = low ? scheduled(ctx, "gpu.Matmul", func, pc->target) : NULL;
    if (!high)
        return func;
    const tn_stmt *other = tn_fresh_copy(ctx, low->body, NULL);
    const tn_expr *is_few = tn_le(ctx, rows, tn_int_imm_of(ctx, tn_dtype_of(rows), FEW));
    tn_block root = {.name = "root", .body = tn_if_stmt_of(ctx, is_few, other, high->body)};
    const tn_stmt *body =
        tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &root));
    const tn_node *both =
        tn_prim_func_of(ctx, high->params, high->buffers, body, high->ret, high->attrs);
    return tn_is_error(both)
               ? NULL
               : tn_func_with_attr(ctx, both, "tirx.is_scheduled", tn_bool(ctx, true));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    bounds b = {0};
    if (!llm_is_gpu(pc->target))
        return m;
    tnb_strmap_init(&b.large, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < m->names.n; i++) {
        if (!tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            continue;
        b.of = tn_func_attr(m->funcs.at[i], "tir_var_upper_bound");
        tn_walk(m->funcs.at[i], TN_WALK_ONCE, note_call, NULL, &b);
    }
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, specialize, &b);
}

const tn_pass llm_low_batch_gemv_specialize = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowBatchGemvSpecialize",
    .base.doc =
        "schedule products of an unknown number of rows for few rows and for many, for GPUs",
    .keeps = TN_KEEPS_TOLERANCE,
    .needs = "rule",
    .run = run,
};
