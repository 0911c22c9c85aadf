/* SPDX-License-Identifier: Apache-2.0 */
/* DNNLDispatch: gives convolutions, matrix products and normalizations, with what follows them, to
 * oneDNN, where a pipeline lists it: library_dispatch = DNNLDispatch in [pipeline cpu].
 *
 *     lv = R.nn.conv2d(x, w)         lv2 = R.call_dps_packed("fused_..._dnnl", (x, w, b), out_ty=..)
 *     lv1 = R.add(lv, b)        =>   (with the function's meaning beside it, and in the module's
 *     lv2 = R.nn.relu(lv1)           attribute external_mods what dnnl_rt.c needs to run it)
 *
 * Neighbours that both go become one function, so that tensors between them stay in the layouts that
 * oneDNN likes best; pooling, element-wise operations and joins go for that reason, and are put back
 * where a function holds nothing else. Types: float32. Extents: known, or variables (a batch of any size,
 * rows of a product); what computes one extent from another stays with the pipeline.
 */
#include "dnnl.h"

#include <math.h>
#include <string.h>

#include "tenon/base/log.h"
#include "tenon/core/pass.h"
#include "tenon/core/walk.h"

bool
dnnl_dims(const tn_type *t, tn_list *dims)
{
    int64_t e;
    if (!t || !tn_type_dims(t, dims) || dims->n == 0 || dims->n > DNNL_MAX_RANK ||
        !tnb_dtype_eq(tn_type_dtype(t), TNB_F32))
        return false;
    for (uint32_t i = 0; i < dims->n; i++)
        if (!tn_is_var(dims->at[i]) && (!tn_int_value(dims->at[i], &e) || e < 1 || e > INT32_MAX))
            return false;
    return true;
}

int64_t
dnnl_extent(tn_list dims, uint32_t n)
{
    int64_t e;
    return n < dims.n && tn_int_value(dims.at[n], &e) ? e : -1;
}

static bool
is_op(const tn_call *c, const char *name)
{
    return c && tn_is_call_to(&c->base, name);
}

static const char *const convolutions[] = {"relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d",
                                           NULL},
                         *const transposed_convolutions[] = {"relax.nn.conv1d_transpose",
                                                             "relax.nn.conv2d_transpose",
                                                             "relax.nn.conv3d_transpose", NULL},
                         *const average_pools[] = {"relax.nn.avg_pool1d", "relax.nn.avg_pool2d",
                                                   "relax.nn.avg_pool3d", NULL};

/* names: up to NULL. */
static bool
is_one_of(const tn_call *c, const char *const *names)
{
    while (*names && !is_op(c, *names))
        names++;
    return *names != NULL;
}

static bool
number(const tn_node *n, double *out)
{
    int64_t i;
    const tn_float_imm *f = tn_as_float_imm(n);
    if (f)
        *out = f->value;
    else if (n && tn_int_value(n, &i))
        *out = (double)i;
    else
        return false;
    return isfinite(*out); /* JSON, in which a payload is written, has no other numbers */
}

const char *
dnnl_activation(const tn_call *c, double *alpha, double *beta)
{
    static const char *const plain[][2] = {
        {"relax.nn.relu", "relu"}, {"relax.sigmoid", "logistic"},
        {"relax.tanh", "tanh"},    {"relax.nn.gelu", "gelu_erf"},
        {"relax.nn.mish", "mish"}, {"relax.nn.gelu_tanh", "gelu_tanh"},
    };
    *alpha = *beta = 0;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (is_op(c, plain[i][0]))
            return plain[i][1];
    if (is_op(c, "relax.nn.relu6"))
        return *beta = 6, "clip";
    if (is_op(c, "relax.nn.silu"))
        return *alpha = 1, "swish";
    if (is_op(c, "relax.nn.leakyrelu"))
        return *alpha = tn_call_float(c, "alpha"), "relu";
    return is_op(c, "relax.clip") && number(c->args.at[1], alpha) && number(c->args.at[2], beta)
               ? "clip"
               : NULL;
}

/* ---- checks ---- */

static const tn_call *
called(const tnk_match *m, const char *name)
{
    return tn_as_call(tnk_match_value(m, name));
}

static bool
is_layout(const tn_call *c, const char *key, const char *const *choices)
{
    const char *have = tn_call_str(c, key);
    for (; have && *choices; choices++)
        if (strcmp(have, *choices) == 0)
            return true;
    return false;
}

/* One number for each channel of a result of rank n, channels in dimension `at`: (c), or ones around. */
static bool
is_per_channel(const tn_expr *e, tn_list result, uint32_t at)
{
    tn_list d;
    if (!tn_is(e, TN_KIND_CONSTANT) || !dnnl_dims(e->type, &d) || d.n > result.n)
        return false;
    for (uint32_t i = 0; i < d.n; i++) {
        uint32_t k = i + result.n - d.n;
        if (dnnl_extent(d, i) != (k == at ? dnnl_extent(result, at) : 1))
            return false;
    }
    return at + d.n >= result.n; /* the channels are among them */
}

static bool
same_extents(tn_list a, tn_list b)
{
    bool same = a.n == b.n;
    for (uint32_t i = 0; same && i < a.n; i++)
        same =
            a.at[i] == b.at[i] || (dnnl_extent(a, i) > 0 && dnnl_extent(a, i) == dnnl_extent(b, i));
    return same;
}

/* Bias, what is added and the activation behind a result whose channels are dimension `at`. */
static bool
check_after(const tnk_match *m, tn_list result, uint32_t at)
{
    const tn_expr *b = tnk_match_get(m, "b"), *r = tnk_match_get(m, "r");
    const tn_call *act = called(m, "act");
    tn_list dims;
    double alpha, beta;
    return !tnk_match_leaks(m) && (!b || is_per_channel(b, result, at)) &&
           (!r || (dnnl_dims(r->type, &dims) && same_extents(dims, result))) &&
           (!act || dnnl_activation(act, &alpha, &beta));
}

static bool
check_convolution(tn_ctx *ctx, const tnk_match *m, void *self)
{
    static const char *const data[] = {"NCW", "NCHW", "NCDHW", NULL},
                             *const kernel[] = {"OIW", "OIHW", "OIDHW", NULL},
                             *const kernel_t[] = {"IOW", "IOHW", "IODHW", NULL};
    (void)ctx, (void)self;
    const tn_call *conv = called(m, "conv");
    const bool transposed = is_one_of(conv, transposed_convolutions);
    tn_list x, w, y;
    if (!dnnl_dims(tnk_match_get(m, "x")->type, &x) || !dnnl_dims(conv->base.type, &y) ||
        !dnnl_dims(tnk_match_get(m, "w")->type, &w) || x.n != y.n || w.n != y.n || y.n > 5 ||
        !is_layout(conv, "data_layout", data) || !is_layout(conv, "out_layout", data) ||
        !is_layout(conv, "kernel_layout", transposed ? kernel_t : kernel))
        return false;
    for (uint32_t i = 1; i < y.n; i++)
        if (dnnl_extent(x, i) < 0 || dnnl_extent(y, i) < 0)
            return false;
    for (uint32_t i = 0; i < w.n; i++)
        if (dnnl_extent(w, i) < 0)
            return false;
    int64_t beyond[3] = {0};
    if (transposed && tn_call_ints(conv, "output_padding", beyond, 3) < 0)
        return false;
    return !beyond[0] && !beyond[1] && !beyond[2] && check_after(m, y, 1);
}

/* Batches have equal extents, or one has ones. */
static bool
check_matmul(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx, (void)self;
    const tn_call *mm = called(m, "mm"), *turned = called(m, "turned");
    tn_list x, w, y;
    int64_t axes[DNNL_MAX_RANK];
    if (!dnnl_dims(tnk_match_get(m, "x")->type, &x) || !dnnl_dims(mm->base.type, &y) ||
        !dnnl_dims(tnk_match_get(m, "w")->type, &w) || x.n < 2 || w.n < 2)
        return false;
    if (turned) {
        int n =
            tn_call_attr(turned, "axes") ? tn_call_ints(turned, "axes", axes, DNNL_MAX_RANK) : 2;
        if (n != (int)w.n || (n == 2 && !tn_call_attr(turned, "axes") && w.n != 2))
            return false;
        for (int i = 0; tn_call_attr(turned, "axes") && i < n; i++)
            if ((axes[i] + n) % n != (i < n - 2 ? i : 2 * n - 3 - i))
                return false;
    }
    return check_after(m, y, y.n - 1);
}

static bool
check_pool(tn_ctx *ctx, const tnk_match *m, void *self)
{
    static const char *const data[] = {"NCW", "NCHW", "NCDHW", NULL};
    (void)ctx, (void)self;
    const tn_call *c = called(m, "pool");
    const bool average = is_one_of(c, average_pools);
    tn_list x, y;
    if (!dnnl_dims(tnk_match_get(m, "x")->type, &x) || !dnnl_dims(c->base.type, &y) || x.n != y.n ||
        !is_layout(c, "layout", data) || !is_layout(c, "out_layout", data) ||
        (average && tn_call_int(c, "ceil_mode")))
        return false;
    for (uint32_t i = 1; i < y.n; i++)
        if (dnnl_extent(x, i) < 0 || dnnl_extent(y, i) < 0)
            return false;
    return true;
}

/* A mean over all but batch and channels. */
static bool
check_global_pool(tn_ctx *ctx, const tnk_match *m, void *self)
{
    static const char *const data[] = {"NCHW", NULL};
    (void)ctx, (void)self;
    const tn_call *c = called(m, "pool");
    tn_list x, y;
    int64_t axes[4];
    if (!dnnl_dims(tnk_match_get(m, "x")->type, &x) || !dnnl_dims(c->base.type, &y) || x.n != 4 ||
        y.n != 4 || dnnl_extent(y, 2) != 1 || dnnl_extent(y, 3) != 1)
        return false;
    for (uint32_t i = 1; i < 4; i++)
        if (dnnl_extent(x, i) < 0)
            return false;
    if (!is_op(c, "relax.mean"))
        return is_layout(c, "layout", data) && is_layout(c, "out_layout", data);
    return tn_call_attr(c, "axis") && tn_call_ints(c, "axis", axes, 4) == 2 &&
           (axes[0] + 4) % 4 + (axes[1] + 4) % 4 == 5 && (axes[0] + 4) % 4 >= 2 &&
           (axes[1] + 4) % 4 >= 2;
}

/* Over the last dimension, with both factors and summands. */
static bool
check_layer_norm(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx, (void)self;
    const tn_call *c = called(m, "norm");
    tn_list x, g, b;
    int64_t axes[DNNL_MAX_RANK];
    return dnnl_dims(c->base.type, &x) && x.n >= 2 && x.n <= 5 &&
           dnnl_dims(tnk_match_get(m, "gamma")->type, &g) &&
           dnnl_dims(tnk_match_get(m, "beta")->type, &b) && g.n == 1 && b.n == 1 &&
           dnnl_extent(x, x.n - 1) > 0 && tn_call_ints(c, "axes", axes, DNNL_MAX_RANK) == 1 &&
           (axes[0] + x.n) % x.n == x.n - 1 && tn_call_int(c, "center") && tn_call_int(c, "scale");
}

static bool
check_batch_norm(tn_ctx *ctx, const tnk_match *m, void *self)
{
    static const char *const names[] = {"gamma", "beta", "mean", "var"};
    (void)ctx, (void)self;
    const tn_call *c = called(m, "norm"), *act = called(m, "act");
    double alpha, beta;
    tn_list x;
    const char *kind;
    if (tnk_match_leaks(m) || !dnnl_dims(tnk_match_get(m, "x")->type, &x) || x.n < 2 || x.n > 5 ||
        tn_call_int(c, "axis") != 1 || tn_call_int(c, "training") || !tn_call_int(c, "center") ||
        !tn_call_int(c, "scale"))
        return false;
    for (uint32_t i = 1; i < x.n; i++)
        if (dnnl_extent(x, i) < 0)
            return false;
    for (int i = 0; i < 4; i++) {
        tn_list d;
        if (!dnnl_dims(tnk_match_get(m, names[i])->type, &d) || d.n != 1)
            return false;
    }
    if (!act)
        return true;
    kind = dnnl_activation(act, &alpha, &beta);
    return kind && strcmp(kind, "relu") == 0 && alpha == 0;
}

static bool
check_unary(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx, (void)self;
    const tn_call *c = called(m, "op");
    tn_list x;
    double alpha, beta;
    return dnnl_dims(c->base.type, &x) && dnnl_dims(tnk_match_get(m, "x")->type, &x) &&
           (is_op(c, "relax.nn.softmax") || dnnl_activation(c, &alpha, &beta));
}

static bool
check_binary(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx, (void)self;
    const tn_call *c = called(m, "op");
    tn_list a, b;
    return dnnl_dims(c->args.at[0]->type, &a) && dnnl_dims(c->args.at[1]->type, &b) &&
           same_extents(a, b);
}

static bool
check_concat(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx, (void)self;
    const tn_call *c = called(m, "op");
    const tn_tuple *t = tn_as_tuple(tnk_match_value(m, "all"));
    tn_list d;
    if (!t || !tn_call_attr(c, "axis") || !dnnl_dims(c->base.type, &d))
        return false;
    for (uint32_t i = 0; i < t->fields.n; i++)
        if (!dnnl_dims(t->fields.at[i]->type, &d))
            return false;
    return true;
}

/* ---- patterns ---- */

/* A result with what may stand behind it; `last` says what the match ends with. */
enum { PLAIN, BIAS, SUM, ACTIVATION };

static tnk_pat *
named(tn_ctx *ctx, const char *name)
{
    return tnk_pat_called(ctx, tnk_pat_any(ctx), name);
}

static tnk_pat *
op1(tn_ctx *ctx, const char *op, const tnk_pat *x)
{
    return tnk_pat_op(ctx, op, &x, 1, false);
}

static tnk_pat *
op2(tn_ctx *ctx, const char *op, const tnk_pat *a, const tnk_pat *b)
{
    return tnk_pat_op(ctx, op, (const tnk_pat *[]){a, b}, 2, false);
}

/* Whether at most one extent is not 1. */
static bool
is_bias(const tnk_match *m, const tnk_match_item *item, void *user)
{
    (void)m, (void)user;
    tn_list d;
    uint32_t wide = 0;
    if (!dnnl_dims(item->leaf->type, &d))
        return false;
    for (uint32_t i = 0; i < d.n; i++)
        wide += dnnl_extent(d, i) != 1;
    return wide <= 1;
}

static bool
is_no_bias(const tnk_match *m, const tnk_match_item *item, void *user)
{
    return !is_bias(m, item, user);
}

static const tnk_pat *
with_rest(tn_ctx *ctx, const tnk_pat *result, int last)
{
    if (last == PLAIN)
        return result;
    const tnk_pat *b = tnk_pat_where(named(ctx, "b"), is_bias, NULL),
                  *r = tnk_pat_where(named(ctx, "r"), is_no_bias, NULL);
    const tnk_pat *biased = op2(ctx, "add", result, b);
    if (last == BIAS)
        return biased;
    const tnk_pat *most = tnk_pat_either(ctx, (const tnk_pat *[]){biased, result}, 2);
    const tnk_pat *sums[] = {op2(ctx, "add", most, r), op2(ctx, "add", r, most), most};
    if (last == SUM)
        return tnk_pat_either(ctx, sums, 2);
    const tnk_pat *sum = tnk_pat_either(ctx, sums, 3),
                  *clip[] = {sum, tnk_pat_any(ctx), tnk_pat_any(ctx)};
    const tnk_pat *acts[] = {
        op1(ctx, "nn.relu", sum),      op1(ctx, "nn.relu6", sum),
        op1(ctx, "sigmoid", sum),      op1(ctx, "tanh", sum),
        op1(ctx, "nn.gelu", sum),      op1(ctx, "nn.gelu_tanh", sum),
        op1(ctx, "nn.silu", sum),      op1(ctx, "nn.mish", sum),
        op1(ctx, "nn.leakyrelu", sum), tnk_pat_op(ctx, "clip", clip, 3, false)};
    return tnk_pat_called(ctx, tnk_pat_either(ctx, acts, sizeof acts / sizeof *acts), "act");
}

static const tnk_pat *
build_convolution(tn_ctx *ctx, void *self)
{
    static const char *const ops[] = {"nn.conv1d",           "nn.conv2d",
                                      "nn.conv3d",           "nn.conv1d_transpose",
                                      "nn.conv2d_transpose", "nn.conv3d_transpose"};
    const tnk_pat *x = named(ctx, "x"), *w = named(ctx, "w"), *kinds[6];
    for (int i = 0; i < 6; i++)
        kinds[i] = op2(ctx, ops[i], x, w);
    return with_rest(ctx, tnk_pat_called(ctx, tnk_pat_either(ctx, kinds, 6), "conv"),
                     *(const int *)self);
}

static const tnk_pat *
build_matmul(tn_ctx *ctx, void *self)
{
    const tnk_pat *x = named(ctx, "x"), *w = named(ctx, "w");
    const tnk_pat *kinds[] = {op2(ctx, "matmul", x,
                                  tnk_pat_called(ctx, op1(ctx, "permute_dims", w), "turned")),
                              op2(ctx, "matmul", x, w)};
    return with_rest(ctx, tnk_pat_called(ctx, tnk_pat_either(ctx, kinds, 2), "mm"),
                     *(const int *)self);
}

const tnk_pat *
dnnl_pattern(tn_ctx *ctx, const tnk_fusion_pattern *p)
{
    return p->pattern ? tnk_pat_parse(ctx, p->pattern) : p->build(ctx, p->self);
}

#define CHAIN(id, prio, kind, last_, doc_)       \
    static const int id##_last = last_;          \
    static const tnk_fusion_pattern id = {       \
        .base.size = sizeof(tnk_fusion_pattern), \
        .priority = prio,                        \
        .base.name = "dnnl." #id,                \
        .base.doc = doc_,                        \
        .build = build_##kind,                   \
        .check = check_##kind,                   \
        .self = (void *)(uintptr_t)&id##_last,   \
    };
#define PATTERN(id, prio, text, check_, doc_)    \
    static const tnk_fusion_pattern id = {       \
        .base.size = sizeof(tnk_fusion_pattern), \
        .priority = prio,                        \
        .base.name = "dnnl." #id,                \
        .base.doc = doc_,                        \
        .pattern = text,                         \
        .check = check_,                         \
    };

CHAIN(conv_activation, 70, convolution, ACTIVATION,
      "convolution with an activation, bias and a sum before it if any")
CHAIN(conv_sum, 60, convolution, SUM, "convolution plus a tensor of its shape, bias if any")
CHAIN(conv_bias, 50, convolution, BIAS, "convolution with bias")
CHAIN(conv, 40, convolution, PLAIN, "convolution of 1 to 3 dimensions, transposed or not")
CHAIN(matmul_activation, 70, matmul, ACTIVATION,
      "matrix product with an activation, bias and a sum before it if any")
CHAIN(matmul_sum, 60, matmul, SUM, "matrix product plus a tensor of its shape, bias if any")
CHAIN(matmul_bias, 50, matmul, BIAS, "matrix product with bias")
CHAIN(matmul, 40, matmul, PLAIN, "matrix product, the second one transposed or not")
PATTERN(layer_norm, 30, "norm:nn.layer_norm(x, gamma, beta)", check_layer_norm,
        "layer normalization over the last dimension")
PATTERN(batch_norm_relu, 35, "act:nn.relu((norm:nn.batch_norm(x, gamma, beta, mean, var))[0])",
        check_batch_norm, "batch normalization by stored statistics, with relu")
PATTERN(batch_norm, 30, "(norm:nn.batch_norm(x, gamma, beta, mean, var))[0]", check_batch_norm,
        "batch normalization by stored statistics")
PATTERN(pool, 20,
        "pool:(nn.max_pool1d(x) | nn.avg_pool1d(x) | nn.max_pool2d(x) | nn.avg_pool2d(x) | "
        "nn.max_pool3d(x) | nn.avg_pool3d(x))",
        check_pool, "maximum or average over windows")
PATTERN(global_pool, 20, "pool:(mean(x) | nn.adaptive_avg_pool2d(x))", check_global_pool,
        "average over all of H and W")
PATTERN(unary, 10,
        "op:(nn.softmax(x) | nn.relu(x) | nn.relu6(x) | sigmoid(x) | tanh(x) | nn.gelu(x) | "
        "nn.gelu_tanh(x) | nn.silu(x) | nn.mish(x) | nn.leakyrelu(x) | clip(x, *, *))",
        check_unary, "softmax along any axis, activations")
PATTERN(binary, 10,
        "op:(add(*, *) | subtract(*, *) | multiply(*, *) | divide(*, *) | minimum(*, *) "
        "| maximum(*, *))",
        check_binary, "arithmetic of tensors of one shape")
PATTERN(concat, 10, "op:concat(all:((*, *) | (*, *, *) | (*, *, *, *)))", check_concat,
        "two to four tensors joined along an axis")

const tnk_fusion_pattern *const dnnl_patterns[DNNL_N_PATTERNS] = {
    &conv_activation,
    &matmul_activation,
    &conv_sum,
    &matmul_sum,
    &conv_bias,
    &matmul_bias,
    &conv,
    &matmul,
    &batch_norm_relu,
    &batch_norm,
    &layer_norm,
    &pool,
    &global_pool,
    &unary,
    &binary,
    &concat,
};

/* ---- the pass ---- */

static const tn_module *
passes(const tn_pass_ctx *pc, const tn_module *m, const char *list)
{
    tn_pass_list l = {0};
    if (!m || !tn_pass_list_parse(pc->ctx, list, "DNNLDispatch", &l))
        return NULL;
    tn_pass_run r = {.target = pc->target, .config = pc->config, .opt_level = pc->opt_level};
    return tn_run_passes(pc->ctx, m, &l, &r);
}

typedef struct holds {
    bool heavy;
    tnb_buf ops;
} holds;

static tn_walk_step
look_at(void *user, const tn_node *n)
{
    static const char *const heavy[] = {"relax.matmul", "relax.nn.layer_norm", "relax.nn.softmax",
                                        NULL};
    holds *h = user;
    const tn_call *c = tn_as_call(n);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    if (!op)
        return TN_WALK_ON;
    h->heavy |=
        is_one_of(c, heavy) || is_one_of(c, convolutions) || is_one_of(c, transposed_convolutions);
    tnb_buf_puts(&h->ops, h->ops.n ? ", " : "");
    tnb_buf_puts(&h->ops, op->base.name + strlen("relax."));
    return TN_WALK_ON;
}

/* Puts functions back that hold nothing that oneDNN does better. */
static const tn_module *
drop_light(tn_ctx *ctx, const tn_module *m)
{
    tnb_strmap light;
    tnb_strmap_init(&light, tn_scratch(ctx));
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        const char *symbol = tn_module_name(m, i);
        if (!fn || strcmp(tn_dict_str(fn->attrs, "Codegen", ""), "dnnl") != 0)
            continue;
        holds h = {0};
        tn_walk(fn->body, 0, look_at, NULL, &h);
        tnb_log(TNB_LOG_INFO, "DNNLDispatch: %s: %s", h.heavy ? symbol : "left to kernels",
                h.ops.s ? h.ops.s : "");
        tnb_buf_free(&h.ops);
        if (!h.heavy)
            tnb_strmap_set(&light, symbol, symbol);
    }
    return tnk_put_back(ctx, m, &light);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    m = passes(pc, m,
               "FoldBatchNorm, FuseOpsByPattern{patterns=[\"dnnl.*\"], bind_constants=false}, "
               "MergeCompositeFunctions");
    const tn_module *kept = m ? drop_light(pc->ctx, m) : NULL;
    return passes(pc, kept, kept == m ? "RunCodegen" : "CanonicalizeBindings, RunCodegen");
}

const tn_pass dnnl_dispatch = {
    .base.size = sizeof(tn_pass),
    .base.name = "DNNLDispatch",
    .base.doc = "give convolutions, products and normalizations to oneDNN",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op pattern external pass",
};
