/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs as models have them: the values, constants and the function around the steps of model_steps.c. What an operator
 * refuses is taken back, so that only well-typed calls remain. Weights are scaled so that values stay around 1.
 */
#include "model_graph.h"

#include <math.h>
#include <stdarg.h>

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

enum { MAX_ELEMS = 1 << 16, MAX_RESULTS = 4 };

static const double MAX_WORK =
    6e6; /* multiply-adds of a graph: the interpreter does some millions a second */

uint32_t
model_below(model_graph *g, uint32_t n)
{
    return random_below(&g->rnd, n);
}

bool
model_chance(model_graph *g, uint32_t percent)
{
    return random_chance(&g->rnd, percent);
}

tn_list
model_dims(const tn_expr *x)
{
    tn_list dims = {0};
    return tn_type_dims(x->type, &dims) ? dims : (tn_list){0};
}

int64_t
model_extent(const tn_expr *x, uint32_t i)
{
    tn_list dims = model_dims(x);
    int64_t v;
    return i < dims.n && tn_int_value(dims.at[i], &v) ? v : -1;
}

/* ---- values ---- */

/* Elements; an extent that is not known counts as 9. */
static double
elements(const tn_type *t)
{
    tn_list dims;
    double n = 1;
    int64_t v;
    if (!tn_is(t, TN_KIND_TY_TENSOR) || !tn_type_dims(t, &dims) || dims.n > 6)
        return 1e30;
    for (uint32_t i = 0; i < dims.n; i++)
        n *= tn_int_value(dims.at[i], &v) ? (double)v : 9;
    return n;
}

/* Multiply-adds of a convolution or a product; of others, elements. */
static double
work_of(const tn_expr *call)
{
    const tn_call *c = tn_as_call(call);
    double n = elements(call->type), sum = 1;
    if (!c || c->args.n < 2)
        return n;
    const tn_expr *w = c->args.at[1];
    tn_list dims = w->type && tn_is(w->type, TN_KIND_TY_TENSOR) ? model_dims(w) : (tn_list){0};
    if (tn_is_call_to(call, "relax.matmul")) {
        int64_t k = dims.n ? model_extent(w, dims.n > 1 ? dims.n - 2 : 0) : 1;
        return n * (double)(k < 0 ? 9 : k);
    }
    if (tn_is_call_to(call, "relax.nn.conv2d") || tn_is_call_to(call, "relax.nn.conv1d") ||
        tn_is_call_to(call, "relax.nn.conv2d_transpose"))
        for (uint32_t i = 1; i < dims.n; i++)
            sum *= (double)model_extent(w, i);
    return n * sum;
}

const tn_expr *
model_keep(model_graph *g, const tn_expr *call)
{
    if (!call || tn_is_error(call) || g->n == MODEL_VALUES) {
        tnb_diags_clear(tn_diags(g->ctx));
        return NULL;
    }
    const tn_ty_tuple *tuple = tn_as_ty_tuple(call->type);
    double n = 0;
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        n += elements(tuple->fields.at[i]);
    double work = tuple ? n : work_of(call);
    if ((tuple ? n : elements(call->type)) > MAX_ELEMS || g->work + work > MAX_WORK)
        return NULL;
    g->work += work;
    const tn_call *c = tn_as_call(call);
    for (uint32_t i = 0; c && i < c->args.n; i++)
        for (uint32_t k = 0; k < g->n; k++)
            g->used[k] |= g->values[k] == c->args.at[i] || tn_uses(c->args.at[i], g->values[k]);
    const tn_expr *v = tn_emit(g->b, call, "lv");
    if (!tuple) {
        g->values[g->n++] = v;
        return v;
    }
    for (uint32_t i = 0; i < tuple->fields.n && g->n < MODEL_VALUES; i++)
        g->values[g->n++] = tn_emit(g->b, tn_tuple_item(g->ctx, v, i), "lv");
    return v;
}

const tn_expr *
model_op(model_graph *g, const char *op, const tn_node *attrs, ...)
{
    const tn_node *args[6];
    uint32_t n = 0;
    va_list list;
    va_start(list, attrs);
    for (const tn_expr *e = va_arg(list, const tn_expr *); e && n < 6;
         e = va_arg(list, const tn_expr *))
        args[n++] = e;
    va_end(list);
    return n ? model_keep(g, tn_call_op(g->ctx, op, tn_list_of(g->ctx, args, n), attrs)) : NULL;
}

const tn_expr *
model_value(model_graph *g, uint32_t rank)
{
    for (int i = 0; i < 24; i++) {
        uint32_t a = model_below(g, g->n), b = model_below(g, g->n), k = a > b ? a : b;
        k = model_chance(g, 35) ? g->n - 1 : k;
        const tn_expr *v = g->values[k];
        if ((!rank || model_dims(v).n == rank) && tnb_dtype_eq(tn_type_dtype(v->type), g->d))
            return v;
    }
    return NULL;
}

const tn_expr *
model_constant(model_graph *g, tnb_dtype d, const int64_t *shape, int32_t ndim, double scale,
               double middle)
{
    void *bytes;
    const tn_data *data = tn_data_new(g->ctx, d, ndim, shape, &bytes);
    for (uint64_t i = 0; data && i < data->n_elems; i++) {
        double v = middle + scale * ((double)model_below(g, 2001) / 1000 - 1);
        if (tnb_dtype_is_float(d))
            tnb_store_f64(bytes, d, i, v);
        else
            tnb_store_i64(bytes, d, i, (int64_t)floor(v));
    }
    return data ? tn_constant_of(g->ctx, data) : tn_error_node(g->ctx);
}

int64_t
model_channels(model_graph *g)
{
    static const int64_t usual[] = {1,  2,  3,  4,  6,  8,  8,  12, 16, 16, 20, 24, 24,  32, 32,
                                    36, 40, 40, 48, 56, 64, 64, 72, 72, 80, 96, 96, 120, 130};
    return usual[model_below(g, sizeof usual / sizeof *usual)];
}

/* ---- the function ---- */

/* An extent of an image, or of a sequence; sometimes a symbol. */
static const tn_expr *
extent(model_graph *g, const char *symbol, bool batch)
{
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  7,  7,  8,  9,  11, 12,
                                    13, 14, 16, 16, 17, 18, 20, 24, 28, 32};
    static const int64_t batches[] = {1, 1, 1, 1, 2, 3, 4};
    int64_t v = batch ? batches[model_below(g, sizeof batches / sizeof *batches)]
                      : sizes[model_below(g, sizeof sizes / sizeof *sizes)];
    if (!model_chance(g, batch ? 25 : 12))
        return tn_i64(g->ctx, v);
    g->dims = tn_dict_set(g->ctx, g->dims, symbol, tn_i64(g->ctx, v));
    return tn_var_dtype(g->ctx, symbol, TNB_I64);
}

static tn_list
add_param(model_graph *g, tn_list params, tn_list dims)
{
    const tn_expr *p =
        tn_var_new(g->ctx, tn_strf(g->ctx, "x%u", params.n), tn_ty_tensor_dims(g->ctx, dims, g->d));
    g->values[g->n++] = p;
    return tn_list_append(g->ctx, params, p);
}

/* Images, sequences, or both; a small second input that broadcasts against them. */
static tn_list
make_params(model_graph *g)
{
    tn_ctx *ctx = g->ctx;
    tn_list params = {0};
    const tn_expr *c = tn_i64(ctx, model_channels(g)), *one = tn_i64(ctx, 1);
    g->batch = extent(g, "n", true);
    g->height = extent(g, "h", false);
    g->width = extent(g, "w", false);
    uint32_t kind = model_below(g, 10);
    if (kind < 7)
        params = add_param(g, params, tn_listv(ctx, g->batch, c, g->height, g->width, NULL));
    if (kind < 2) /* what is said of each channel, or of each pixel */
        params = add_param(g, params,
                           kind ? tn_listv(ctx, g->batch, c, one, one, NULL)
                                : tn_listv(ctx, g->batch, one, g->height, g->width, NULL));
    else if (kind < 4)
        params = add_param(g, params,
                           tn_listv(ctx, g->batch, tn_i64(ctx, model_channels(g)), g->height,
                                    g->width, NULL));
    else if (kind >= 7)
        params = add_param(g, params, tn_listv(ctx, g->batch, g->width, c, NULL));
    if (kind == 9)
        params = add_param(g, params, tn_listv(ctx, g->batch, c, NULL));
    return params;
}

/* What nothing uses, and a value or two besides. */
static const tn_expr *
results(model_graph *g, uint32_t n_params)
{
    tn_list out = {0};
    for (uint32_t i = g->n; i-- > n_params && out.n < MAX_RESULTS;)
        if (!g->used[i])
            out = tn_list_append(g->ctx, out, g->values[i]);
    if (model_chance(g, 20) && g->n > n_params && out.n < MAX_RESULTS) {
        const tn_expr *v = g->values[n_params + model_below(g, g->n - n_params)];
        for (uint32_t i = 0; i < out.n && v; i++)
            v = out.at[i] == v ? NULL : v;
        out = v ? tn_list_append(g->ctx, out, v) : out;
    }
    const tn_node *given[MAX_RESULTS];
    for (uint32_t i = 0; i < out.n; i++)
        given[i] = tn_emit_output(g->b, out.at[i], "gv");
    return out.n == 0   ? NULL
           : out.n == 1 ? given[0]
                        : tn_tuple_of(g->ctx, tn_list_of(g->ctx, given, out.n));
}

const tn_module *
model_graph_make(model_graph *g, tn_ctx *ctx, uint64_t seed)
{
    *g = (model_graph){.ctx = ctx, .kinds = UINT64_MAX, .rnd = {seed * 2654435761u + 77777}};
    if (model_chance(g, 65)) /* a few kinds of steps, which then meet more often */
        g->kinds = random_next(&g->rnd) & random_next(&g->rnd);
    g->b = tn_builder_new(ctx, NULL);
    g->d = model_chance(g, 12) ? TNB_F16 : TNB_F32;
    g->dims = tn_dict_of(ctx, NULL, NULL, 0);
    tn_list params = make_params(g);
    uint32_t n_params = g->n, steps = 2 + model_below(g, model_chance(g, 30) ? 16 : 8);
    tn_builder_begin_function(g->b, params);
    tn_builder_begin_block(g->b, true);
    model_steps(g, steps);
    for (int i = 0; i < 20 && g->n == n_params; i++)
        model_steps(g, 1);
    if (g->n == n_params)
        model_op(g, "nn.relu", NULL, g->values[0], NULL);
    const tn_expr *body = results(g, n_params);
    if (!body) /* all are used: the last */
        body = tn_emit_output(g->b, g->values[g->n - 1], "gv");
    tn_builder_end_block(g->b);
    const tn_node *attrs = tn_dictv(ctx, "global_symbol", tn_string(ctx, "main"), NULL);
    const tn_expr *f = tn_builder_end_function(g->b, body, NULL, true, attrs);
    if (tn_is_error(f) || tn_is_error(tn_builder_add_function(g->b, f, "main")))
        return NULL;
    return tn_builder_module(g->b);
}
