/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* What a function becomes for vend: jobs in order, as JSON that runtime.c reads.
 *
 *     {"inputs": 3, "jobs": [{"x": 0, "w": 1, "b": 2, "relu": 1}], "out": [3]}
 *
 * Values below `inputs` are arguments, those behind them what the jobs give, in order; b is -1 where there is no bias. `out` are the
 * results, whose arguments come after the inputs. Extents are those of the tensors of each call.
 */
#include "vend.h"

#include <string.h>

struct graph {
    tn_ctx *ctx;
    tn_list jobs;
    int64_t n_values;
    tnb_ptrmap values, composites, tuples; /* variable -> number + 1; -> Function; -> Tuple */
    bool failed;
};

static int64_t
value_of(struct graph *g, const tn_expr *var)
{
    uintptr_t at = (uintptr_t)tnb_ptrmap_get(&g->values, var);
    g->failed |= at == 0;
    return (int64_t)at - 1;
}

static void
new_value(struct graph *g, const tn_expr *var)
{
    tnb_ptrmap_set(&g->values, var, (void *)(uintptr_t)++g->n_values);
}

/* The value that stands for what the pattern calls `name`; -1: nothing is called so. */
static int64_t
operand(struct graph *g, const tn_function *fn, const tn_call *call, const tnk_match *m,
        const char *name)
{
    const tn_expr *leaf = tnk_match_get(m, name);
    for (uint32_t i = 0; leaf && i < fn->params.n; i++)
        if (fn->params.at[i] == leaf)
            return value_of(g, call->args.at[i]);
    g->failed |= leaf != NULL;
    return -1;
}

static void
job(struct graph *g, const tn_function *fn, const tn_call *call, const tn_expr *var)
{
    const char *name = tn_dict_str(fn->attrs, "Composite", "");
    for (uint32_t i = 0; i < VEND_N_PATTERNS; i++) {
        tnk_match m = {0};
        if (strcmp(vend_patterns[i]->base.name, name) != 0)
            continue;
        const tnk_pat *p = tnk_pat_parse(g->ctx, vend_patterns[i]->pattern);
        if (!p || !tnk_pat_match(p, tnk_graph_new(g->ctx, TN_NODE(fn)),
                                 tn_as_seq_expr(fn->body)->body, &m))
            break;
        const tn_node *d = tn_dictv(g->ctx, "x", tn_i64(g->ctx, operand(g, fn, call, &m, "x")), "w",
                                    tn_i64(g->ctx, operand(g, fn, call, &m, "w")), "b",
                                    tn_i64(g->ctx, operand(g, fn, call, &m, "b")), "relu",
                                    tn_i64(g->ctx, strstr(name, "relu") != NULL), NULL);
        g->jobs = tn_list_append(g->ctx, g->jobs, d);
        new_value(g, var);
        return;
    }
    g->failed = true;
}

static void
binding(struct graph *g, const tn_var_binding *b)
{
    const tn_call *c = tn_as_call(b->value);
    const tn_function *fn = c ? tnb_ptrmap_get(&g->composites, c->op) : NULL;
    void *same = tnb_ptrmap_get(&g->values, b->value);
    if (tn_is(b->value, TN_KIND_FUNCTION))
        tnb_ptrmap_set(&g->composites, b->var, b->value);
    else if (tn_is(b->value, TN_KIND_TUPLE))
        tnb_ptrmap_set(&g->tuples, b->var, b->value);
    else if (same)
        tnb_ptrmap_set(&g->values, b->var, same);
    else if (fn)
        job(g, fn, c, b->var);
    else
        g->failed = true;
}

static tnb_status
compile(void *self, tn_ctx *ctx, const char *symbol, const tn_function *func,
        const tn_target *target, const tn_node *options, const tn_node **payload)
{
    struct graph g = {.ctx = ctx};
    const tn_seq_expr *seq = tn_as_seq_expr(func->body);
    tn_list out = {0};
    (void)self, (void)target, (void)options;
    tnb_ptrmap_init(&g.values, tn_scratch(ctx));
    tnb_ptrmap_init(&g.composites, tn_scratch(ctx));
    tnb_ptrmap_init(&g.tuples, tn_scratch(ctx));
    for (uint32_t i = 0; i < func->params.n; i++)
        new_value(&g, func->params.at[i]);
    for (uint32_t i = 0; i < seq->blocks.n; i++) {
        tn_list at = tn_as_bindings_block(seq->blocks.at[i])->bindings;
        for (uint32_t k = 0; k < at.n; k++) {
            const tn_var_binding *b = tn_as_var_binding(at.at[k]);
            if (b)
                binding(&g, b);
            g.failed |= !b;
        }
    }
    const tn_tuple *t = tn_as_tuple(seq->body);
    if (!t)
        t = tnb_ptrmap_get(&g.tuples, seq->body);
    tn_list all = t ? t->fields : tn_listv(ctx, seq->body, NULL);
    for (uint32_t i = 0; i < all.n; i++)
        out = tn_list_append(ctx, out, tn_i64(ctx, value_of(&g, all.at[i])));
    if (g.failed) {
        tn_error(ctx, func->base.loc, TNB_UNSUPPORTED,
                 "'%s' holds what no pattern of vend describes", symbol);
        return TNB_UNSUPPORTED;
    }
    *payload = tn_dictv(ctx, "inputs", tn_i64(ctx, func->params.n), "jobs",
                        tn_array_of(ctx, g.jobs), "out", tn_array_of(ctx, out), NULL);
    return TNB_OK;
}

const tnk_external vend_external = {
    .base.size = sizeof(tnk_external),
    .base.name = "vend",
    .base.doc = "libvend, matrix products on a made-up accelerator",
    .compile = compile,
};
