/* SPDX-License-Identifier: Apache-2.0 */
/* PipelineParallelRewrite: functions cut into stages that run on groups of workers.
 *
 *     def f(x, packed_params):        # pipeline_parallel_stages = 2, num_input = 1
 *         a = ...x...packed_params[0]
 *         b = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(T,))
 *         return ...b...packed_params[1]
 *     ==>
 *     def f(x, packed_params: R.Object):
 *         return R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup",
 *             (((f_stage0, x, R.shape([]), packed_params),
 *               (f_stage1, R.shape([n]), packed_params)),), ty_args=(R.Object,))
 *
 * A stage receives, computes, sends; pipeline_stage.c shows one. It keeps the function's attributes
 * but global_symbol and pipeline_parallel_stages, and its num_input is its own; the entry keeps
 * global_symbol alone. Needs one dataflow block, num_input and a last parameter packed_params;
 * functions with one stage stay as they are. Beyond upstream, a value that a later stage than the
 * next uses is forwarded, weights are fetched by the stage that uses them, the last stage's result
 * keeps its form, and stages that do not match are refused, also those of a module that was cut
 * before. Cases: tests/pass/PipelineParallelRewrite.
 */
#include "pipeline.h"

typedef struct output {
    tn_ctx *ctx;
    const tn_module *m;
    TNB_VEC(const char *) names;
    TNB_VEC(const tn_node *) funcs;
} output;

static void
put(output *o, const char *name, const tn_node *func)
{
    TNB_PUSH(tn_scratch(o->ctx), o->names, name);
    TNB_PUSH(tn_scratch(o->ctx), o->funcs, func);
}

static bool
is_taken(const output *o, const char *name)
{
    for (uint32_t i = 0; i < o->names.n; i++)
        if (strcmp(o->names.at[i], name) == 0)
            return true;
    return tn_module_get(o->m, name) != NULL;
}

static const char *
stage_name(const output *o, const char *name, uint32_t k)
{
    const char *first = tn_strf(o->ctx, "%s_stage%u", name, k), *s = first;
    for (uint32_t i = 1; is_taken(o, s); i++)
        s = tn_strf(o->ctx, "%s_%u", first, i);
    return s;
}

/* The entry: hands each group of workers its stage and what that takes. */
static const tn_node *
entry(tn_ctx *ctx, const tn_function *f, const tn_expr *weights, tn_list stages)
{
    tn_loc before = tn_at(ctx, f->base.loc);
    const tn_type *any = tn_ty_any(ctx);
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_builtin_with_ctx", NULL);
    const tn_expr *both[] = {tn_extern_func_of(ctx, PIPELINE_DISPATCH),
                             tn_tuple_of(ctx, tn_listv(ctx, tn_tuple_of(ctx, stages), NULL))};
    const tn_expr *call =
        tn_call_of(ctx, tn_op_ref_of(ctx, op), (tn_list){both, 2}, NULL, (tn_list){&any, 1}, NULL);
    const tn_expr *result = tn_var_new(ctx, "gv", any);
    const tn_node *binding = tn_var_binding_of(ctx, result, call);
    const tn_node *block = tn_binding_block_of(ctx, (tn_list){&binding, 1}, false);
    tn_list params = tn_list_with(ctx, f->params, f->params.n - 1, weights);
    const tn_node *symbol = tn_func_attr(&f->base, "global_symbol");
    const tn_node *g =
        tn_function_of(ctx, params, tn_seq_expr_of(ctx, (tn_list){&block, 1}, result), any, false,
                       symbol ? tn_dict_set(ctx, NULL, "global_symbol", symbol) : NULL);
    tn_at(ctx, before);
    return g;
}

static bool
rewrite(output *o, const char *name, const tn_function *f, int64_t n_stages)
{
    pipeline p;
    if (!pipeline_cut(o->ctx, name, f, n_stages, &p))
        return false;
    const tn_expr *weights = tn_var_new(o->ctx, "packed_params", tn_ty_any(o->ctx));
    tn_list stages = {0};
    for (uint32_t k = 0; k < p.n_stages; k++) {
        tn_list args;
        const tn_node *stage = pipeline_build_stage(&p, k, weights, &args);
        if (!stage)
            return false;
        const char *called = stage_name(o, name, k);
        put(o, called, stage);
        tn_list fields = tn_listv(o->ctx, tn_global_var_of(o->ctx, called), NULL);
        for (uint32_t i = 0; i < args.n; i++)
            fields = tn_list_append(o->ctx, fields, args.at[i]);
        stages = tn_list_append(o->ctx, stages, tn_tuple_of(o->ctx, fields));
    }
    const tn_node *g = entry(o->ctx, f, weights, stages);
    if (tn_is_error(g))
        return false;
    put(o, name, g);
    return true;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    output o = {.ctx = pc->ctx, .m = m};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        const tn_node *wanted = f ? tn_func_attr(&f->base, "pipeline_parallel_stages") : NULL;
        int64_t n = 0;
        if (!wanted)
            continue;
        if (!tn_int_value(wanted, &n) || n < 1 || n > INT32_MAX) {
            tn_error(pc->ctx, f->base.loc, TNB_INVALID,
                     "'%s': pipeline_parallel_stages is %s, expected a number from 1",
                     tn_module_name(m, i), tn_text(pc->ctx, wanted));
            return NULL;
        }
        if (n > 1 && !rewrite(&o, tn_module_name(m, i), f, n))
            return NULL;
    }
    const tn_module *out =
        o.names.n ? tn_module_set_all(pc->ctx, m, o.names.at, o.funcs.at, o.names.n) : m;
    return pipeline_check(pc->ctx, out) ? out : NULL;
}

const tn_pass llm_pipeline_parallel_rewrite = {
    .base.size = sizeof(tn_pass),
    .base.name = "PipelineParallelRewrite",
    .base.doc = "cut functions into stages that run on groups of workers",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
