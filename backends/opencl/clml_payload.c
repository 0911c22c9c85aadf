/* SPDX-License-Identifier: Apache-2.0 */
/* What a function becomes for the extension: tensors of 4 dimensions, copies and operations in
 * order, as JSON that clml_rt.c reads.
 *
 *     {"args": 4, "results": 1,
 *      "tensors": [{"dims": [1, 3, 8, 8], "dtype": "float32", "layout": "nchw", "arg": 0}, ...],
 *      "before": [{"from": 0, "to": 1}, ...],
 *      "ops": [{"op": "convolution", "in": [1, 3, 5], "out": 6, "mode": "plain", ...}, ...],
 *      "after": [{"from": 6, "to": 7}]}
 *
 * A tensor with `arg` lies in the memory of that argument (results come after the parameters) as
 * NCHW; the others in memory of their own, in the layout that the device likes best (`optimal`)
 * unless an operation wants NCHW. `in` holds -1 for an operand that is not used. A tensor of lower
 * rank has ones behind its extents; where an operation wants others, a reshape stands in between.
 * An extent of 0 is told by the arguments of a call. `usage` is what the extension wants to know of
 * tensors around a matrix of 4-bit numbers (dtype "q4", eight to a word, with `scale` the tensor of
 * its factors): "parameter" and, of rows, "tnn".
 */
#include "clml.h"

#include <string.h>

enum { MAX_VIEWS = 8 };
static const char optimal[] = "optimal", nchw[] = "nchw";

typedef struct tensor {
    int64_t dims[4];
    tnb_dtype dtype;
    const char *layout; /* one of the two above */
    int64_t arg;        /* -1: none */
    const char *usage;  /* NULL: the usual */
    int64_t scale;      /* a tensor, or -1 */
} tensor;

/* A value of the graph and the tensors that hold it; the first one is where it was written. */
typedef struct value {
    int64_t dims[4];
    tnb_dtype dtype;
    int64_t arg; /* -1: computed here */
    bool known;  /* whether dims are */
    bool direct; /* views[0] may lie in the memory of a result */
    uint32_t views[MAX_VIEWS], n_views;
} value;

typedef struct graph {
    tn_ctx *ctx;
    TNB_VEC(tensor) tensors;
    TNB_VEC(const tn_node *) before, ops, after;
    tnb_ptrmap values; /* variable -> value */
    uint32_t n_results;
    bool failed;
} graph;

/* One operation of the extension as it is matched. */
typedef struct site {
    graph *g;
    const tnk_composite *c;
    tnk_match match;
} site;

static uint32_t
new_tensor(graph *g, const int64_t dims[4], tnb_dtype dtype, const char *layout, int64_t arg)
{
    tensor t = {.dtype = dtype, .layout = layout, .arg = arg, .scale = -1};
    memcpy(t.dims, dims, sizeof t.dims);
    TNB_PUSH(tn_scratch(g->ctx), g->tensors, t);
    return g->tensors.n - 1;
}

static const tn_node *
copy_of(graph *g, uint32_t from, uint32_t to)
{
    return tn_dictv(g->ctx, "from", tn_i64(g->ctx, from), "to", tn_i64(g->ctx, to), NULL);
}

static const tn_node *
ints(tn_ctx *ctx, const int64_t *v, uint32_t n)
{
    tn_list l = {0};
    for (uint32_t i = 0; i < n; i++)
        l = tn_list_append(ctx, l, tn_i64(ctx, v[i]));
    return tn_array_of(ctx, l);
}

/* The operation `name` of tensors in[0..n) (-1: not used), without its parameters. */
static const tn_node *
op_of(graph *g, const char *name, const int64_t *in, uint32_t n, uint32_t out)
{
    return tn_dictv(g->ctx, "op", tn_string(g->ctx, name), "in", ints(g->ctx, in, n), "out",
                    tn_i64(g->ctx, out), NULL);
}

static const tn_node *
with(graph *g, const tn_node *op, const char *key, const tn_node *v)
{
    return tn_dict_set(g->ctx, op, key, v);
}

static void
push_op(graph *g, const tn_node *op)
{
    TNB_PUSH(tn_scratch(g->ctx), g->ops, op);
}

/* The value as a tensor of these extents and layout. */
static uint32_t
view(graph *g, value *v, const int64_t dims[4], const char *layout)
{
    for (uint32_t i = 0; i < v->n_views; i++) {
        const tensor *t = &g->tensors.at[v->views[i]];
        if (t->layout == layout && memcmp(t->dims, dims, sizeof t->dims) == 0)
            return v->views[i];
    }
    uint32_t id;
    if (v->arg >= 0) { /* memory of an argument is NCHW of any extents */
        id = new_tensor(g, dims, v->dtype, nchw, v->arg);
        if (layout == optimal) {
            uint32_t inner = new_tensor(g, dims, v->dtype, optimal, -1);
            TNB_PUSH(tn_scratch(g->ctx), g->before, copy_of(g, id, inner));
            id = inner;
        }
    } else {
        int64_t from = v->views[0];
        id = new_tensor(g, dims, v->dtype, layout, -1);
        push_op(g, op_of(g, "reshape", &from, 1, id));
    }
    if (v->n_views < MAX_VIEWS)
        v->views[v->n_views++] = id;
    return id;
}

static value *
new_value(graph *g, const tn_expr *var, int64_t arg)
{
    value *v = TNB_NEW(tn_scratch(g->ctx), value);
    v->arg = arg;
    v->dtype = tn_type_dtype(var->type);
    v->known = clml_extents(var->type, v->dims) >= 0;
    tnb_ptrmap_set(&g->values, var, v);
    return v;
}

/* ---- operands ---- */

/* The value that stands for `name` of the pattern; NULL: the pattern has none. */
static value *
operand_at(site *s, const tn_expr *leaf)
{
    for (uint32_t i = 0; leaf && i < s->c->func->params.n; i++)
        if (s->c->func->params.at[i] == leaf) {
            value *v = tnb_ptrmap_get(&s->g->values, s->c->args.at[i]);
            s->g->failed |= v == NULL;
            return v;
        }
    s->g->failed |= leaf != NULL;
    return NULL;
}

static int64_t
operand_as(site *s, const char *name, const int64_t dims[4], const char *layout)
{
    value *v = operand_at(s, tnk_match_get(&s->match, name));
    return v ? (int64_t)view(s->g, v, dims, layout) : -1;
}

static int64_t
operand(site *s, const char *name)
{
    value *v = operand_at(s, tnk_match_get(&s->match, name));
    s->g->failed |= v && !v->known;
    return v ? (int64_t)view(s->g, v, v->dims, optimal) : -1;
}

/* A value for each channel. */
static int64_t
per_channel(site *s, const char *name, int64_t channels)
{
    return operand_as(s, name, (const int64_t[4]){1, channels, 1, 1}, optimal);
}

static const tn_call *
called(site *s, const char *name)
{
    return tn_as_call(tnk_match_value(&s->match, name));
}

static bool
is_op(const tn_call *c, const char *name)
{
    return c && tn_is_call_to(&c->base, name);
}

/* The tensor that receives the result, with extents of its own. */
static uint32_t
result_as(site *s, const tn_expr *var, const int64_t dims[4], const char *layout)
{
    value *v = new_value(s->g, var, -1);
    s->g->failed |= !v->known && !dims;
    uint32_t id = new_tensor(s->g, dims ? dims : v->dims, v->dtype, layout, -1);
    v->views[v->n_views++] = id;
    return id;
}

/* ---- operations ---- */

static const tn_node *
call_ints(graph *g, const tn_call *c, const char *key)
{
    int64_t v[4];
    int n = tn_call_ints(c, key, v, 4);
    return ints(g->ctx, v, n < 0 ? 0 : (uint32_t)n);
}

static const tn_node *
with_batch_norm(site *s, const tn_node *op)
{
    const tn_call *bn = called(s, "bn");
    return bn ? with(s->g, op, "epsilon",
                     tn_float_imm_of(s->g->ctx, TNB_F64, tn_call_float(bn, "epsilon")))
              : op;
}

static void
convolution(site *s, const tn_expr *var)
{
    graph *g = s->g;
    const tn_call *conv = called(s, "conv"), *pad = called(s, "p"), *act = called(s, "act");
    int64_t y[4], pads[4], around[8] = {0};
    clml_extents(conv->base.type, y);
    int64_t in[7] = {operand(s, "x"),
                     operand(s, "w"),
                     per_channel(s, "b", y[1]),
                     per_channel(s, "mean", y[1]),
                     per_channel(s, "var", y[1]),
                     per_channel(s, "gamma", y[1]),
                     per_channel(s, "beta", y[1])};
    tn_call_ints(conv, "padding", pads, 4);
    if (pad)
        tn_call_ints(pad, "pad_width", around, 8);
    pads[0] += around[4], pads[1] += around[6], pads[2] += around[5], pads[3] += around[7];
    const char *mode = is_op(conv, "relax.nn.conv2d_transpose") ? "transposed"
                       : tn_call_int(conv, "groups") > 1        ? "depthwise"
                                                                : "plain";
    const tn_node *op =
        op_of(g, "convolution", in, called(s, "bn") ? 7 : 3, result_as(s, var, NULL, optimal));
    op = with(g, op, "mode", tn_string(g->ctx, mode));
    op = with(g, op, "pads", ints(g->ctx, pads, 4));
    op = with(g, op, "strides", call_ints(g, conv, "strides"));
    op = with(g, op, "dilation", call_ints(g, conv, "dilation"));
    op = act ? with(g, op, "activation",
                    tn_string(g->ctx, is_op(act, "relax.nn.relu") ? "relu" : "relu6"))
             : op;
    push_op(g, with_batch_norm(s, op));
}

static void
batch_norm(site *s, const tn_expr *var)
{
    int64_t x[4];
    clml_extents(tnk_match_get(&s->match, "x")->type, x);
    int64_t in[5] = {operand(s, "x"), per_channel(s, "mean", x[1]), per_channel(s, "var", x[1]),
                     per_channel(s, "gamma", x[1]), per_channel(s, "beta", x[1])};
    push_op(s->g,
            with_batch_norm(s, op_of(s->g, "batch_norm", in, 5, result_as(s, var, NULL, optimal))));
}

static void
pool(site *s, const tn_expr *var)
{
    graph *g = s->g;
    const tn_call *c = called(s, "pool");
    bool maximum = is_op(c, "relax.nn.max_pool2d");
    int64_t x[4], in = operand(s, "x");
    clml_extents(tnk_match_get(&s->match, "x")->type, x);
    const tn_node *op = op_of(g, "pool", &in, 1, result_as(s, var, NULL, optimal));
    op = with(g, op, "mode", tn_string(g->ctx, maximum ? "max" : "average"));
    if (maximum || is_op(c, "relax.nn.avg_pool2d")) {
        op = with(g, op, "pads", call_ints(g, c, "padding"));
        op = with(g, op, "strides", call_ints(g, c, "strides"));
        op = with(g, op, "window", call_ints(g, c, "pool_size"));
    } else {
        op = with(g, op, "pads", ints(g->ctx, (const int64_t[4]){0}, 4));
        op = with(g, op, "strides", ints(g->ctx, (const int64_t[2]){1, 1}, 2));
        op = with(g, op, "window", ints(g->ctx, x + 2, 2));
    }
    push_op(g, op);
}

/* A row with its bias is what "fully connected" is for; other products are general ones. */
static void
dense(site *s, const tn_expr *var)
{
    graph *g = s->g;
    int64_t x[4], w[4];
    clml_extents(tnk_match_get(&s->match, "x")->type, x);
    clml_extents(tnk_match_get(&s->match, "w")->type, w);
    const int64_t rows[4] = {x[0], x[1], 1, 1}, matrix[4] = {1, 1, w[0], w[1]},
                  out[4] = {x[0], w[1], 1, 1};
    const char *layout = tnk_match_get(&s->match, "b") ? optimal : nchw;
    int64_t in[3] = {operand_as(s, "x", rows, layout), operand_as(s, "w", matrix, layout),
                     per_channel(s, "b", w[1])};
    bool bias = in[2] >= 0;
    push_op(g, op_of(g, bias ? "fully_connected" : "gemm", in, bias ? 3 : 2,
                     result_as(s, var, out, layout)));
}

/* A tensor in memory of its own or of an argument, as products with 4-bit numbers take them. */
static uint32_t
used_as(graph *g, const char *usage, const int64_t dims[4], tnb_dtype dtype, int64_t arg)
{
    uint32_t id = new_tensor(g, dims, dtype, nchw, arg);
    g->tensors.at[id].usage = usage;
    return id;
}

/* The argument of the function that stands for `name`. */
static int64_t
argument(site *s, const char *name)
{
    const value *v = operand_at(s, tnk_match_get(&s->match, name));
    s->g->failed |= !v || v->arg < 0;
    return v ? v->arg : -1;
}

/* Nothing is copied: rows, packed numbers, factors and result stay in the memory of the arguments. */
static void
quantized(site *s, const tn_expr *var)
{
    graph *g = s->g;
    tn_list rows;
    int64_t m = 0, k = 0, w[4], f[4];
    if (!tn_type_dims(tnk_match_get(&s->match, "x")->type, &rows) || rows.n != 3 ||
        !tn_int_value(rows.at[2], &k) ||
        clml_extents(tnk_match_get(&s->match, "w")->type, w) != 2 ||
        clml_extents(tnk_match_get(&s->match, "s")->type, f) != 2) {
        g->failed = true;
        return;
    }
    (void)tn_int_value(rows.at[1], &m);
    uint32_t x = used_as(g, "tnn", (int64_t[4]){1, 1, m, k}, TNB_F16, argument(s, "x"));
    uint32_t scale =
        used_as(g, "parameter", (int64_t[4]){1, 1, f[0], f[1]}, TNB_F16, argument(s, "s"));
    uint32_t weight = used_as(g, "parameter", (int64_t[4]){1, 1, w[0], w[1]},
                              TNB_DTYPE(TNB_UINT, 32), argument(s, "w"));
    g->tensors.at[weight].scale = scale;
    value *v = new_value(g, var, -1);
    v->views[v->n_views++] = used_as(g, "tnn", (int64_t[4]){1, 1, m, w[1]}, TNB_F16, -1);
    v->direct = true;
    push_op(g, op_of(g, "fully_connected", (int64_t[3]){x, weight, -1}, 3, v->views[0]));
}

/* The extension normalizes over channels; so the axis becomes them. */
static void
softmax(site *s, const tn_expr *var)
{
    graph *g = s->g;
    const tn_call *c = called(s, "op");
    int64_t d[4], dims[4] = {1, 1, 1, 1};
    int rank = clml_extents(c->base.type, d), axis = (int)tn_call_int(c, "axis");
    axis += axis < 0 ? rank : 0;
    for (int i = 0; i < rank; i++)
        dims[axis == 1 ? i : i < axis ? 0 : i == axis ? 1 : 2] *= d[i];
    int64_t in = operand_as(s, "x", dims, optimal);
    push_op(g, op_of(g, "softmax", &in, 1, result_as(s, var, dims, optimal)));
}

static void
unary(site *s, const tn_expr *var)
{
    graph *g = s->g;
    const tn_call *c = called(s, "op");
    int64_t in = operand(s, "x");
    double low = 0, high = 0;
    const tn_node *op;
    uint32_t out = result_as(s, var, NULL, optimal);
    if (is_op(c, "relax.nn.relu")) {
        op = with(g, op_of(g, "activation", &in, 1, out), "activation", tn_string(g->ctx, "relu"));
    } else if (is_op(c, "relax.clip")) {
        clml_number(c->args.at[1], &low);
        clml_number(c->args.at[2], &high);
        op = op_of(g, "clip", &in, 1, out);
        op = with(g, with(g, op, "min", tn_float_imm_of(g->ctx, TNB_F64, low)), "max",
                  tn_float_imm_of(g->ctx, TNB_F64, high));
    } else {
        op = op_of(g, "reshape", &in, 1, out);
    }
    push_op(g, op);
}

static void
binary(site *s, const tn_expr *var)
{
    graph *g = s->g;
    const tn_call *c = called(s, "op");
    int64_t in[2];
    for (int i = 0; i < 2; i++) {
        value *v = operand_at(s, c->args.at[i]);
        in[i] = v ? (int64_t)view(g, v, v->dims, optimal) : -1;
    }
    push_op(g, with(g, op_of(g, "binary", in, 2, result_as(s, var, NULL, optimal)), "function",
                    tn_string(g->ctx, tn_call_op_of(c)->base.name + strlen("relax."))));
}

static void
concat(site *s, const tn_expr *var)
{
    graph *g = s->g;
    const tn_call *c = called(s, "op");
    const tn_tuple *t = tn_as_tuple(tnk_match_value(&s->match, "all"));
    int64_t in[4], d[4], axis = tn_call_int(c, "axis");
    axis += axis < 0 ? clml_extents(c->base.type, d) : 0;
    for (uint32_t i = 0; i < t->fields.n; i++) {
        value *v = operand_at(s, t->fields.at[i]);
        in[i] = v ? (int64_t)view(g, v, v->dims, optimal) : -1;
    }
    push_op(g, with(g, op_of(g, "concat", in, t->fields.n, result_as(s, var, NULL, optimal)),
                    "axis", tn_i64(g->ctx, axis)));
}

static void
resize(site *s, const tn_expr *var)
{
    graph *g = s->g;
    int64_t in = operand(s, "x");
    push_op(g, with(g, op_of(g, "resize", &in, 1, result_as(s, var, NULL, optimal)), "place",
                    tn_string(g->ctx,
                              tn_call_str(called(s, "op"), "coordinate_transformation_mode"))));
}

static const struct {
    const char *pattern;
    void (*make)(site *s, const tn_expr *var);
} makers[] = {
    {"clml.conv2d_activation", convolution},
    {"clml.conv2d_batch_norm", convolution},
    {"clml.conv2d_bias", convolution},
    {"clml.conv2d", convolution},
    {"clml.dense_bias", dense},
    {"clml.dense", dense},
    {"clml.batch_norm", batch_norm},
    {"clml.pool", pool},
    {"clml.global_pool", pool},
    {"clml.softmax", softmax},
    {"clml.relu", unary},
    {"clml.clip", unary},
    {"clml.reshape", unary},
    {"clml.binary", binary},
    {"clml.concat", concat},
    {"clml.resize", resize},
    {"clml5.quantized", quantized},
};

/* ---- the function ---- */

static bool
composite(void *user, const tnk_composite *c)
{
    graph *g = user;
    site s = {.g = g, .c = c};
    for (uint32_t i = 0; i < CLML_N_PATTERNS; i++)
        if (strcmp(clml_patterns[i]->base.name, c->name) == 0) {
            const tnk_pat *p = clml_pattern(g->ctx, clml_patterns[i]);
            const tn_seq_expr *body = tn_as_seq_expr(c->func->body);
            if (!p ||
                !tnk_pat_match(p, tnk_graph_new(g->ctx, TN_NODE(c->func)), body->body, &s.match))
                break;
            for (size_t k = 0; k < sizeof makers / sizeof *makers; k++)
                if (strcmp(makers[k].pattern, c->name) == 0) {
                    makers[k].make(&s, c->var);
                    return !g->failed;
                }
        }
    return false;
}

static void
results(graph *g, tn_list all, int64_t first)
{
    for (uint32_t i = 0; i < all.n; i++) {
        value *v = tnb_ptrmap_get(&g->values, all.at[i]);
        if (!v) {
            g->failed = true;
            return;
        }
        g->n_results++;
        if (v->direct && g->tensors.at[v->views[0]].arg < 0) {
            g->tensors.at[v->views[0]].arg = first + i;
            continue;
        }
        g->failed |= v->direct || !v->known;
        uint32_t from = view(g, v, v->dims, optimal);
        uint32_t to = new_tensor(g, v->dims, v->dtype, nchw, first + i);
        TNB_PUSH(tn_scratch(g->ctx), g->after, copy_of(g, from, to));
    }
}

static const tn_node *
tensor_dict(graph *g, const tensor *t)
{
    const char *dtype = tnb_dtype_eq(t->dtype, TNB_F16)   ? "float16"
                        : tnb_dtype_eq(t->dtype, TNB_F32) ? "float32"
                                                          : "q4";
    const tn_node *d =
        tn_dictv(g->ctx, "dims", ints(g->ctx, t->dims, 4), "dtype", tn_string(g->ctx, dtype),
                 "layout", tn_string(g->ctx, t->layout), NULL);
    if (t->arg >= 0)
        d = with(g, d, "arg", tn_i64(g->ctx, t->arg));
    if (t->usage)
        d = with(g, d, "usage", tn_string(g->ctx, t->usage));
    return t->scale < 0 ? d : with(g, d, "scale", tn_i64(g->ctx, t->scale));
}

static tnb_status
compile(void *self, tn_ctx *ctx, const char *symbol, const tn_function *func,
        const tn_target *target, const tn_node *options, const tn_node **payload)
{
    (void)self;
    (void)target;
    (void)options;
    graph g = {.ctx = ctx};
    tnb_ptrmap_init(&g.values, tn_scratch(ctx));
    for (uint32_t i = 0; i < func->params.n; i++)
        new_value(&g, func->params.at[i], i);
    tn_list all = {0};
    g.failed |= !tnk_composites(ctx, func, composite, &g, &all);
    if (!g.failed)
        results(&g, all, func->params.n);
    if (g.failed) {
        tn_error(ctx, func->base.loc, TNB_UNSUPPORTED,
                 "'%s' holds what no pattern of clml describes", symbol);
        tnb_diag_hint(tn_diags(ctx), "dispatch with the pass CLMLDispatch, which partitions as "
                                     "this code generator wants it");
        return TNB_UNSUPPORTED;
    }
    tn_list tensors = {0};
    for (uint32_t i = 0; i < g.tensors.n; i++)
        tensors = tn_list_append(ctx, tensors, tensor_dict(&g, &g.tensors.at[i]));
    *payload = tn_dictv(ctx, "args", tn_i64(ctx, g.tensors.n ? func->params.n + g.n_results : 0),
                        "results", tn_i64(ctx, g.n_results), "tensors", tn_array_of(ctx, tensors),
                        "before", tn_array_of(ctx, tn_list_of(ctx, g.before.at, g.before.n)), "ops",
                        tn_array_of(ctx, tn_list_of(ctx, g.ops.at, g.ops.n)), "after",
                        tn_array_of(ctx, tn_list_of(ctx, g.after.at, g.after.n)), NULL);
    return TNB_OK;
}

const tnk_external clml_external = {
    .base.size = sizeof(tnk_external),
    .base.name = "clml",
    .base.doc = "Qualcomm's OpenCL ML extension",
    .compile = compile,
    .feature = "clml",
};

const tnk_external clml5_external = {
    .base.size = sizeof(tnk_external),
    .base.name = "clml5",
    .base.doc =
        "Qualcomm's OpenCL ML extension, of version 5: products with matrices of 4-bit numbers",
    .compile = compile,
    .feature = "clml>=5",
};
