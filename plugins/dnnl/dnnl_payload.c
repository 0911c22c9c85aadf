/* SPDX-License-Identifier: Apache-2.0 */
/* What a function becomes for oneDNN: tensors and primitives in order, as JSON that dnnl_rt.c reads.
 *
 *     {"args": 4, "results": 1, "symbols": [{"arg": 0, "dim": 0}],
 *      "values": [{"dims": [-1, 3, 8, 8], "arg": 0}, {"dims": [16, 3, 3, 3], "arg": 1}, {"dims": [16], "arg": 2},
 *                 {"dims": [-1, 16, 6, 6]}],
 *      "ops": [{"op": "convolution", "in": [0, 1, 2], "out": 3, "strides": [1, 1], ...,
 *               "sum": 5, "activation": "relu", "alpha": 0, "beta": 0}],
 *      "out": [3]}
 *
 * All are float32. A value with `arg` is that argument, in rows; the others are where oneDNN wants them
 * and as it wants them; `out` says which are the results, whose arguments come after the inputs. An extent
 * below 0 is the symbol -1 - extent, which a call's arguments tell. `in` holds -1 for an operand that is
 * not there.
 */
#include "dnnl.h"

#include <string.h>

typedef struct graph {
    tn_ctx *ctx;
    TNB_VEC(const tn_node *) values, ops, symbols;
    tnb_ptrmap ids, vars; /* variable -> value + 1; -> symbol + 1 */
    bool failed;
} graph;

/* One composite function as it is matched. */
typedef struct site {
    graph *g;
    const tnk_composite *c;
    tnk_match match;
    const tn_node *op; /* in the making */
} site;

static const tn_node *
ints(tn_ctx *ctx, const int64_t *v, uint32_t n)
{
    tn_list l = {0};
    for (uint32_t i = 0; i < n; i++)
        l = tn_list_append(ctx, l, tn_i64(ctx, v[i]));
    return tn_array_of(ctx, l);
}

static int64_t
extent_of(graph *g, const tn_expr *e)
{
    int64_t v;
    if (tn_int_value(e, &v))
        return v;
    uintptr_t at = (uintptr_t)tnb_ptrmap_get(&g->vars, e);
    g->failed |= at == 0;
    return -(int64_t)at;
}

/* A new value of this type; its number goes to what `var` stands for. */
static int64_t
new_value(graph *g, const tn_expr *var, int64_t arg)
{
    tn_list dims;
    int64_t extents[DNNL_MAX_RANK];
    if (!dnnl_dims(var->type, &dims)) {
        g->failed = true;
        return -1;
    }
    for (uint32_t i = 0; i < dims.n; i++) {
        if (arg >= 0 && tn_is_var(dims.at[i]) && !tnb_ptrmap_has(&g->vars, dims.at[i])) {
            TNB_PUSH(tn_scratch(g->ctx), g->symbols,
                     tn_dictv(g->ctx, "arg", tn_i64(g->ctx, arg), "dim", tn_i64(g->ctx, i), NULL));
            tnb_ptrmap_set(&g->vars, dims.at[i], (void *)(uintptr_t)g->symbols.n);
        }
        extents[i] = extent_of(g, dims.at[i]);
    }
    const tn_node *d = tn_dictv(g->ctx, "dims", ints(g->ctx, extents, dims.n), NULL);
    TNB_PUSH(tn_scratch(g->ctx), g->values,
             arg < 0 ? d : tn_dict_set(g->ctx, d, "arg", tn_i64(g->ctx, arg)));
    tnb_ptrmap_set(&g->ids, var, (void *)(uintptr_t)g->values.n);
    return g->values.n - 1;
}

static int64_t
value_of(graph *g, const tn_expr *var)
{
    uintptr_t at = (uintptr_t)tnb_ptrmap_get(&g->ids, var);
    g->failed |= at == 0;
    return (int64_t)at - 1;
}

/* The value that stands for a leaf of the composite function; -1: there is none. */
static int64_t
operand_at(site *s, const tn_expr *leaf)
{
    for (uint32_t i = 0; leaf && i < s->c->func->params.n; i++)
        if (s->c->func->params.at[i] == leaf)
            return value_of(s->g, s->c->args.at[i]);
    s->g->failed |= leaf != NULL;
    return -1;
}

static int64_t
operand(site *s, const char *name)
{
    return operand_at(s, tnk_match_get(&s->match, name));
}

static const tn_call *
called(site *s, const char *name)
{
    return tn_as_call(tnk_match_value(&s->match, name));
}

static const char *
name_of(const tn_call *c)
{
    return tn_call_op_of(c)->base.name + strlen("relax.");
}

static void
begin(site *s, const char *op, const int64_t *in, uint32_t n)
{
    s->op = tn_dictv(s->g->ctx, "op", tn_string(s->g->ctx, op), "in", ints(s->g->ctx, in, n), NULL);
}

static void
put(site *s, const char *key, const tn_node *v)
{
    s->op = tn_dict_set(s->g->ctx, s->op, key, v);
}

static void
put_int(site *s, const char *key, int64_t v)
{
    put(s, key, tn_i64(s->g->ctx, v));
}

static void
put_float(site *s, const char *key, double v)
{
    put(s, key, tn_float_imm_of(s->g->ctx, TNB_F64, v));
}

static void
put_ints(site *s, const tn_call *c, const char *key)
{
    int64_t v[8];
    int n = tn_call_ints(c, key, v, 8);
    s->g->failed |= n < 1;
    put(s, key, ints(s->g->ctx, v, n < 0 ? 0 : (uint32_t)n));
}

static void
end(site *s, const tn_expr *var)
{
    put_int(s, "out", new_value(s->g, var, -1));
    TNB_PUSH(tn_scratch(s->g->ctx), s->g->ops, s->op);
}

static void
put_activation(site *s, const tn_call *c)
{
    double alpha, beta;
    const char *name = dnnl_activation(c, &alpha, &beta);
    s->g->failed |= name == NULL;
    put(s, "activation", tn_string(s->g->ctx, name ? name : ""));
    put_float(s, "alpha", alpha);
    put_float(s, "beta", beta);
}

static void
put_rest(site *s)
{
    int64_t sum = operand(s, "r");
    if (sum >= 0)
        put_int(s, "sum", sum);
    if (called(s, "act"))
        put_activation(s, called(s, "act"));
}

static void
convolution(site *s)
{
    const tn_call *c = called(s, "conv");
    const bool transposed = strstr(name_of(c), "transpose") != NULL;
    int64_t in[] = {operand(s, "x"), operand(s, "w"), operand(s, "b")};
    begin(s, transposed ? "deconvolution" : "convolution", in, 3);
    put_int(s, "groups", tn_call_int(c, "groups"));
    put_ints(s, c, "strides");
    put_ints(s, c, "dilation");
    put_ints(s, c, "padding");
    put_rest(s);
}

static void
matmul(site *s)
{
    int64_t in[] = {operand(s, "x"), operand(s, "w"), operand(s, "b")};
    begin(s, "matmul", in, 3);
    put_int(s, "transposed", called(s, "turned") != NULL);
    put_rest(s);
}

static void
layer_norm(site *s)
{
    int64_t in[] = {operand(s, "x"), operand(s, "gamma"), operand(s, "beta")};
    begin(s, "layer_norm", in, 3);
    put_float(s, "epsilon", tn_call_float(called(s, "norm"), "epsilon"));
}

static void
batch_norm(site *s)
{
    int64_t in[] = {operand(s, "x"), operand(s, "gamma"), operand(s, "beta"), operand(s, "mean"),
                    operand(s, "var")};
    begin(s, "batch_norm", in, 5);
    put_float(s, "epsilon", tn_call_float(called(s, "norm"), "epsilon"));
    put_int(s, "relu", called(s, "act") != NULL);
}

static void
pool(site *s)
{
    const tn_call *c = called(s, "pool");
    int64_t in = operand(s, "x");
    begin(s, "pool", &in, 1);
    if (strncmp(name_of(c), "nn.max_pool", 11) == 0 ||
        strncmp(name_of(c), "nn.avg_pool", 11) == 0) {
        bool average = name_of(c)[3] == 'a';
        put(s, "mode",
            tn_string(s->g->ctx, !average                              ? "max"
                                 : tn_call_int(c, "count_include_pad") ? "average_all"
                                                                       : "average"));
        put_ints(s, c, "strides");
        put_ints(s, c, "dilation");
        put_ints(s, c, "padding");
        put_ints(s, c, "pool_size");
    } else {
        put(s, "mode", tn_string(s->g->ctx, "global"));
    }
}

static void
unary(site *s)
{
    const tn_call *c = called(s, "op");
    int64_t in = operand(s, "x");
    if (strcmp(name_of(c), "nn.softmax") == 0) {
        begin(s, "softmax", &in, 1);
        int64_t axis = tn_call_int(c, "axis");
        put_int(s, "axis", axis < 0 ? axis + tn_type_ndim(c->base.type) : axis);
    } else {
        begin(s, "eltwise", &in, 1);
        put_activation(s, c);
    }
}

static void
binary(site *s)
{
    const tn_call *c = called(s, "op");
    int64_t in[] = {operand_at(s, c->args.at[0]), operand_at(s, c->args.at[1])};
    begin(s, "binary", in, 2);
    put(s, "function", tn_string(s->g->ctx, name_of(c)));
}

static void
concat(site *s)
{
    const tn_call *c = called(s, "op");
    const tn_tuple *t = tn_as_tuple(tnk_match_value(&s->match, "all"));
    int64_t in[4], axis = tn_call_int(c, "axis");
    for (uint32_t i = 0; i < t->fields.n; i++)
        in[i] = operand_at(s, t->fields.at[i]);
    begin(s, "concat", in, t->fields.n);
    put_int(s, "axis", axis < 0 ? axis + tn_type_ndim(c->base.type) : axis);
}

static const struct {
    const char *name; /* in a match, of what the maker describes */
    const char *prefix;
    void (*make)(site *s);
} makers[] = {
    {"conv", "dnnl.conv", convolution},
    {"mm", "dnnl.matmul", matmul},
    {"norm", "dnnl.layer_norm", layer_norm},
    {"norm", "dnnl.batch_norm", batch_norm},
    {"pool", "dnnl.pool", pool},
    {"pool", "dnnl.global_pool", pool},
    {"op", "dnnl.unary", unary},
    {"op", "dnnl.binary", binary},
    {"op", "dnnl.concat", concat},
};

static bool
composite(void *user, const tnk_composite *c)
{
    graph *g = user;
    site s = {.g = g, .c = c};
    for (uint32_t i = 0; i < DNNL_N_PATTERNS; i++) {
        if (strcmp(dnnl_patterns[i]->base.name, c->name) != 0)
            continue;
        const tnk_pat *p = dnnl_pattern(g->ctx, dnnl_patterns[i]);
        if (!p || !tnk_pat_match(p, tnk_graph_new(g->ctx, TN_NODE(c->func)),
                                 tn_as_seq_expr(c->func->body)->body, &s.match))
            break;
        for (size_t k = 0; k < sizeof makers / sizeof *makers; k++)
            if (strncmp(c->name, makers[k].prefix, strlen(makers[k].prefix)) == 0 &&
                called(&s, makers[k].name)) {
                makers[k].make(&s);
                end(&s, c->var);
                return !g->failed;
            }
    }
    return false;
}

static tnb_status
compile(void *self, tn_ctx *ctx, const char *symbol, const tn_function *func,
        const tn_target *target, const tn_node *options, const tn_node **payload)
{
    (void)self, (void)target, (void)options;
    graph g = {.ctx = ctx};
    tnb_ptrmap_init(&g.ids, tn_scratch(ctx));
    tnb_ptrmap_init(&g.vars, tn_scratch(ctx));
    for (uint32_t i = 0; i < func->params.n; i++)
        (void)new_value(&g, func->params.at[i], i);
    tn_list all = {0}, out = {0};
    g.failed |= !tnk_composites(ctx, func, composite, &g, &all);
    for (uint32_t i = 0; i < all.n; i++)
        out = tn_list_append(ctx, out, tn_i64(ctx, value_of(&g, all.at[i])));
    if (g.failed) {
        tn_error(ctx, func->base.loc, TNB_UNSUPPORTED,
                 "'%s' holds what no pattern of dnnl describes", symbol);
        tnb_diag_hint(tn_diags(ctx), "dispatch with the pass DNNLDispatch, which partitions as "
                                     "this code generator wants it");
        return TNB_UNSUPPORTED;
    }
    *payload =
        tn_dictv(ctx, "args", tn_i64(ctx, func->params.n + all.n), "results", tn_i64(ctx, all.n),
                 "symbols", tn_array_of(ctx, tn_list_of(ctx, g.symbols.at, g.symbols.n)), "values",
                 tn_array_of(ctx, tn_list_of(ctx, g.values.at, g.values.n)), "ops",
                 tn_array_of(ctx, tn_list_of(ctx, g.ops.at, g.ops.n)), "out", tn_array_of(ctx, out),
                 NULL);
    return TNB_OK;
}

const tnk_external dnnl_external = {
    .base.size = sizeof(tnk_external),
    .base.name = "dnnl",
    .base.doc = "oneDNN, the library of primitives for processors",
    .compile = compile,
};
