/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* What a function becomes for the library: jobs in order, as JSON that onelib_rt.c reads from the artifact.
 *
 *     {"inputs": 3, "jobs": [{"x": 0, "w": 1, "b": 2, "relu": true}], "out": [3]}
 *
 * Values below `inputs` are the arguments of the call, those behind them what the jobs give, in order; b is -1 where there is no bias.
 * The tensors that receive the results come behind the inputs, as many as `out` has numbers.
 */
#include "onelib.h"

#include <string.h>

struct jobs {
    tn_ctx *ctx;
    tn_list jobs;
    tnb_ptrmap numbers; /* parameter or result -> its number + 1 */
    int64_t n_values;
};

static int64_t
number_of(struct jobs *j, const tn_expr *value)
{
    return (int64_t)(uintptr_t)tnb_ptrmap_get(&j->numbers, value) - 1;
}

static void
new_value(struct jobs *j, const tn_expr *value)
{
    tnb_ptrmap_set(&j->numbers, value, (void *)(uintptr_t)++j->n_values);
}

/* The number of what the pattern calls `name`. A composite function's parameters stand in no order that a pattern promises: the
 * pattern is matched again, with the function's body, and the leaf that has the name is one of its parameters. */
static int64_t
operand(struct jobs *j, const tnk_composite *c, const tnk_match *m, const char *name)
{
    const tn_expr *leaf = tnk_match_get(m, name);
    for (uint32_t i = 0; leaf && i < c->func->params.n; i++)
        if (c->func->params.at[i] == leaf)
            return number_of(j, c->args.at[i]);
    return -1;
}

static bool
add_job(void *user, const tnk_composite *c)
{
    struct jobs *j = user;
    tnk_match m = {0};
    uint32_t i = 0;
    while (i < ONELIB_N_PATTERNS && strcmp(onelib_patterns[i]->base.name, c->name) != 0)
        i++;
    const tnk_pat *p = i < ONELIB_N_PATTERNS ? tnk_pattern_make(j->ctx, onelib_patterns[i]) : NULL;
    if (!p || !tnk_pat_match(p, tnk_graph_new(j->ctx, TN_NODE(c->func)),
                             tn_as_seq_expr(c->func->body)->body, &m))
        return false;
    int64_t x = operand(j, c, &m, "x"), w = operand(j, c, &m, "w"), b = operand(j, c, &m, "b");
    const tn_node *job =
        tn_dictv(j->ctx, "x", tn_i64(j->ctx, x), "w", tn_i64(j->ctx, w), "b", tn_i64(j->ctx, b),
                 "relu", tn_bool(j->ctx, i == ONELIB_DENSE_BIAS_RELU), NULL);
    j->jobs = tn_list_append(j->ctx, j->jobs, job);
    new_value(j, c->var);
    return x >= 0 && w >= 0;
}

static tnb_status
compile(void *self, tn_ctx *ctx, const char *symbol, const tn_function *func,
        const tn_target *target, const tn_node *options, const tn_node **payload)
{
    struct jobs j = {.ctx = ctx};
    tn_list results = {0}, out = {0};
    (void)self, (void)target, (void)options;
    tnb_ptrmap_init(&j.numbers, tn_scratch(ctx));
    for (uint32_t i = 0; i < func->params.n; i++)
        new_value(&j, func->params.at[i]);
    bool ok = tnk_composites(ctx, func, add_job, &j, &results);
    for (uint32_t i = 0; ok && i < results.n; i++) {
        int64_t k = number_of(&j, results.at[i]);
        ok = k >= 0;
        out = tn_list_append(ctx, out, tn_i64(ctx, k));
    }
    if (!ok) {
        tn_error(ctx, func->base.loc, TNB_UNSUPPORTED,
                 "'%s' has a call that no pattern of onelib describes", symbol);
        return TNB_UNSUPPORTED;
    }
    *payload = tn_dictv(ctx, "inputs", tn_i64(ctx, func->params.n), "jobs",
                        tn_array_of(ctx, j.jobs), "out", tn_array_of(ctx, out), NULL);
    return TNB_OK;
}

const tnk_external onelib_external = {
    .base = {sizeof(tnk_external), "onelib", "jobs for the library onelib"},
    .compile = compile,
};
