/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs. Each step picks an operator and operands among the values so far; what the
 * operator refuses (the operands do not fit it) is taken back, so that only well-typed calls
 * remain. Values stay moderate: what grows goes through tanh first.
 */
#include "random_graph.h"

#include "tenon/core/arith.h"

enum { MAX_VALUES = RANDOM_VALUES, MAX_ELEMS = 4096 };

typedef random_generator generator;

/* ---- randomness ---- */

uint64_t
random_next(random_source *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15ULL); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

uint32_t
random_below(random_source *r, uint32_t n)
{
    return (uint32_t)((random_next(r) >> 32) * n >> 32);
}

bool
random_chance(random_source *r, uint32_t percent)
{
    return random_below(r, 100) < percent;
}

static uint32_t
below(generator *g, uint32_t n)
{
    return random_below(&g->rnd, n);
}

/* ---- values ---- */

const tn_expr *
random_value(generator *g)
{
    /* later values more often, so that chains grow */
    uint32_t a = below(g, g->n), b = below(g, g->n);
    return g->values[a > b ? a : b];
}

static tn_list
dims_of(const tn_expr *x)
{
    tn_list dims = {0};
    return tn_type_dims(x->type, &dims) ? dims : (tn_list){0};
}

static bool
is_float(const tn_expr *x)
{
    return tnb_dtype_is_float(tn_type_dtype(x->type));
}

static bool
small_enough(const tn_type *t)
{
    tn_list dims;
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        if (!small_enough(tuple->fields.at[i]))
            return false;
    if (tuple)
        return tuple->fields.n > 0;
    if (!tn_is(t, TN_KIND_TY_TENSOR) || !tn_type_dims(t, &dims) || dims.n > 5)
        return false;
    int64_t n = 1, v;
    for (uint32_t i = 0; i < dims.n; i++)
        n *= tn_int_value(dims.at[i], &v) ? v : 6;
    return n <= MAX_ELEMS;
}

/* Binds a call and keeps its result, if the operator took its operands. */
const tn_expr *
random_keep(generator *g, const tn_expr *call)
{
    if (tn_is_error(call) || !call || !small_enough(call->type) || g->n == MAX_VALUES) {
        tnb_diags_clear(tn_diags(g->ctx));
        return NULL;
    }
    const tn_expr *v = tn_emit(g->b, call, "lv");
    if (!tn_is(v->type, TN_KIND_TY_TUPLE)) {
        g->values[g->n++] = v;
        return v;
    }
    for (uint32_t i = 0; i < tn_as_ty_tuple(v->type)->fields.n && g->n < MAX_VALUES; i++)
        if (random_chance(&g->rnd, 75))
            g->values[g->n++] = tn_emit(g->b, tn_tuple_item(g->ctx, v, i), "lv");
    return v;
}

static const tn_expr *
constant(generator *g, tnb_dtype d, const int64_t *shape, int32_t ndim)
{
    void *bytes;
    const tn_data *data = tn_data_new(g->ctx, d, ndim, shape, &bytes);
    for (uint64_t i = 0; data && i < data->n_elems; i++)
        if (tnb_dtype_is_float(d))
            tnb_store_f64(bytes, d, i, (double)below(g, 2001) / 1000 - 1);
        else
            tnb_store_i64(bytes, d, i, (int64_t)below(g, 5) - 2);
    return data ? tn_constant_of(g->ctx, data) : tn_error_node(g->ctx);
}

static const tn_expr *
extent(generator *g)
{
    if (g->symbols[0] && random_chance(&g->rnd, 35))
        return g->symbols[below(g, 2)];
    return tn_i64(g->ctx, random_chance(&g->rnd, 2) ? 0 : 1 + below(g, 5));
}

/* A constant that broadcasts against x: some of its trailing static extents, or ones. */
static const tn_expr *
constant_beside(generator *g, const tn_expr *x)
{
    tn_list dims = dims_of(x);
    int64_t shape[8];
    uint32_t n = below(g, dims.n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!tn_int_value(dims.at[dims.n - n + i], &shape[i]) || random_chance(&g->rnd, 25))
            shape[i] = 1;
    return constant(g, tn_type_dtype(x->type), shape, (int32_t)n);
}

/* ---- steps: one operator each ---- */

static void
unary(generator *g)
{
    static const char *const ops[] = {"nn.relu", "sigmoid", "tanh",    "negative",
                                      "abs",     "nn.silu", "nn.gelu", "cos",
                                      "floor",   "erf",     "nn.relu6"};
    const tn_expr *x = random_value(g);
    if (is_float(x))
        random_keep(g, tn_call_opv(g->ctx, ops[below(g, sizeof ops / sizeof *ops)], NULL, x, NULL));
    else
        random_keep(g, tn_call_opv(g->ctx, random_chance(&g->rnd, 50) ? "negative" : "abs", NULL, x,
                                   NULL));
}

static void
exponential(generator *g)
{
    const tn_expr *x = random_value(g);
    x = is_float(x) ? random_keep(g, tn_call_opv(g->ctx, "tanh", NULL, x, NULL)) : NULL;
    if (x)
        random_keep(g, tn_call_opv(g->ctx, "exp", NULL, x, NULL));
}

static void
binary(generator *g)
{
    static const char *const ops[] = {"add", "subtract", "multiply", "maximum", "minimum", "add"};
    const char *op = ops[below(g, sizeof ops / sizeof *ops)];
    const tn_expr *x = random_value(g), *y = random_value(g);
    if (strcmp(op, "multiply") == 0 && is_float(x))
        x = random_keep(g, tn_call_opv(g->ctx, "tanh", NULL, x, NULL));
    if (x && !random_keep(g, tn_call_opv(g->ctx, op, NULL, x, y, NULL)))
        random_keep(g, tn_call_opv(g->ctx, op, NULL, x, constant_beside(g, x), NULL));
}

static void
choose(generator *g)
{
    const tn_expr *x = random_value(g);
    const tn_expr *zero = tn_scalar_constant(g->ctx, tn_type_dtype(x->type), 0);
    const tn_expr *cond = tn_call_opv(g->ctx, "greater", NULL, x, zero, NULL);
    if (!tn_is_error(cond))
        random_keep(g, tn_call_opv(g->ctx, "where", NULL, tn_emit(g->b, cond, "lv"), x,
                                   random_chance(&g->rnd, 50) ? random_value(g)
                                                              : constant_beside(g, x),
                                   NULL));
    tnb_diags_clear(tn_diags(g->ctx));
}

static void
transpose(generator *g)
{
    const tn_expr *x = random_value(g);
    int64_t axes[8];
    uint32_t n = dims_of(x).n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = below(g, i + 1);
        axes[i] = axes[k];
        axes[k] = i;
    }
    random_keep(g, tn_call_opv(g->ctx, "permute_dims",
                               tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, axes, n), NULL), x,
                               NULL));
}

/* Two neighbouring extents become one, or one is split. */
static void
reshape(generator *g)
{
    const tn_expr *x = random_value(g), *out[9];
    tn_list dims = dims_of(x);
    uint32_t n = 0, at = dims.n ? below(g, dims.n) : 0;
    for (uint32_t i = 0; i < dims.n; i++) {
        int64_t v = 0;
        bool fixed = tn_int_value(dims.at[i], &v);
        if (i == at && i + 1 < dims.n && random_chance(&g->rnd, 60)) {
            out[n++] = tn_mul(g->ctx, dims.at[i], dims.at[i + 1]);
            i++;
        } else if (i == at && fixed && v % 2 == 0) {
            out[n++] = tn_i64(g->ctx, 2);
            out[n++] = tn_i64(g->ctx, v / 2);
        } else {
            out[n++] = dims.at[i];
        }
    }
    random_keep(g, tn_call_opv(g->ctx, "reshape", NULL, x,
                               tn_shape_expr_of(g->ctx, tn_list_of(g->ctx, out, n)), NULL));
}

static void
widen(generator *g)
{
    const tn_expr *x = random_value(g), *out[9];
    tn_list dims = dims_of(x);
    int64_t axis = below(g, dims.n + 1);
    x = random_keep(g, tn_call_opv(g->ctx, "expand_dims",
                                   tn_dictv(g->ctx, "axis", tn_int_array(g->ctx, &axis, 1), NULL),
                                   x, NULL));
    if (!x || random_chance(&g->rnd, 40))
        return;
    dims = dims_of(x);
    for (uint32_t i = 0; i < dims.n; i++)
        out[i] = (int64_t)i == axis ? extent(g) : dims.at[i];
    random_keep(g, tn_call_opv(g->ctx, "broadcast_to", NULL, x,
                               tn_shape_expr_of(g->ctx, tn_list_of(g->ctx, out, dims.n)), NULL));
}

static void
squeeze(generator *g)
{
    random_keep(g, tn_call_opv(g->ctx, "squeeze", NULL, random_value(g), NULL));
}

static const tn_node *
axis_of(generator *g, const tn_expr *x, const char *key, const tn_node *dict)
{
    uint32_t n = dims_of(x).n;
    return tn_dict_set(g->ctx, dict, key, tn_i64(g->ctx, n ? below(g, n) : 0));
}

static void
concat(generator *g)
{
    const tn_expr *x = random_value(g), *y = random_value(g);
    tn_list left = dims_of(x), right = dims_of(y);
    if (random_chance(&g->rnd, 50))
        y = x;
    for (uint32_t i = 0; i < left.n && i < right.n; i++) /* no extents that only may be equal */
        if (!tn_int_value(left.at[i], &(int64_t){0}) || !tn_int_value(right.at[i], &(int64_t){0}))
            y = x;
    random_keep(g, tn_call_opv(g->ctx, "concat", axis_of(g, x, "axis", NULL),
                               tn_tuple_of(g->ctx, tn_listv(g->ctx, x, y, NULL)), NULL));
}

static void
split(generator *g)
{
    const tn_expr *x = random_value(g);
    const tn_node *attrs = axis_of(g, x, "axis", NULL);
    int64_t v, axis = tn_dict_int(attrs, "axis", 0);
    if (dims_of(x).n && tn_int_value(dims_of(x).at[axis], &v) && v > 1)
        random_keep(g, tn_call_opv(g->ctx, "split",
                                   tn_dict_set(g->ctx, attrs, "indices_or_sections",
                                               v % 2 ? tn_int_array(g->ctx, &(int64_t){1}, 1)
                                                     : tn_i64(g->ctx, 2)),
                                   x, NULL));
}

static void
reduce(generator *g)
{
    static const char *const ops[] = {"sum", "mean", "max", "min"};
    const tn_expr *x = random_value(g);
    uint32_t n = dims_of(x).n;
    if (!n)
        return;
    int64_t axis = below(g, n);
    random_keep(g, tn_call_opv(g->ctx, ops[below(g, is_float(x) ? 4 : 1)],
                               tn_dictv(g->ctx, "axis", tn_int_array(g->ctx, &axis, 1), "keepdims",
                                        tn_bool(g->ctx, random_chance(&g->rnd, 60)), NULL),
                               x, NULL));
}

static void
normalize(generator *g)
{
    const tn_expr *x = random_value(g);
    tn_list dims = dims_of(x);
    int64_t v, axis = (int64_t)dims.n - 1;
    if (!is_float(x) || !dims.n)
        return;
    if (random_chance(&g->rnd, 60) || !tn_int_value(dims.at[axis], &v)) {
        random_keep(g, tn_call_opv(g->ctx, "nn.softmax", axis_of(g, x, "axis", NULL), x, NULL));
        return;
    }
    random_keep(g, tn_call_opv(g->ctx, "nn.layer_norm",
                               tn_dictv(g->ctx, "axes", tn_int_array(g->ctx, &axis, 1), "epsilon",
                                        tn_float_imm_of(g->ctx, TNB_F64, 0.1), NULL),
                               x, constant(g, TNB_F32, &v, 1), constant(g, TNB_F32, &v, 1), NULL));
}

static void
matmul(generator *g)
{
    const tn_expr *x = random_value(g);
    tn_list dims = dims_of(x);
    int64_t shape[2] = {0, 1 + below(g, 5)};
    if (dims.n < 1 || !is_float(x))
        return;
    const tn_expr *y = random_value(g);
    tn_list other = dims_of(y);
    if (random_chance(&g->rnd, 40) && other.n > 0 &&
        tn_prove_equal(g->ctx, dims.at[dims.n - 1], other.at[other.n > 1 ? other.n - 2 : 0]) &&
        random_keep(g, tn_call_opv(g->ctx, "matmul", NULL, x, y, NULL)))
        return;
    if (tn_int_value(dims.at[dims.n - 1], &shape[0]))
        random_keep(g,
                    tn_call_opv(g->ctx, "matmul", NULL, x, constant(g, TNB_F32, shape, 2), NULL));
}

static void
slice(generator *g)
{
    const tn_expr *x = random_value(g);
    tn_list dims = dims_of(x);
    int64_t v;
    uint32_t axis = dims.n ? below(g, dims.n) : 0;
    if (!dims.n || !tn_int_value(dims.at[axis], &v) || v < 2)
        return;
    int64_t begin = below(g, (uint32_t)v - 1);
    const tn_node *one[3] = {tn_i64(g->ctx, axis), tn_i64(g->ctx, begin),
                             tn_i64(g->ctx, begin + 1 + below(g, (uint32_t)(v - begin)))};
    const tn_expr *t[3];
    for (int i = 0; i < 3; i++)
        t[i] = tn_tuple_of(g->ctx, tn_list_of(g->ctx, &one[i], 1));
    random_keep(g, tn_call_opv(g->ctx, "strided_slice", NULL, x, t[0], t[1], t[2], NULL));
}

static void
gather(generator *g)
{
    const tn_expr *x = random_value(g);
    tn_list dims = dims_of(x);
    int64_t v, n = 1 + below(g, 4);
    uint32_t axis = dims.n ? below(g, dims.n) : 0;
    void *bytes;
    if (!dims.n || !tn_int_value(dims.at[axis], &v) || v == 0)
        return;
    const tn_data *d = tn_data_new(g->ctx, TNB_I32, 1, &n, &bytes);
    for (int64_t i = 0; d && i < n; i++)
        ((int32_t *)bytes)[i] = (int32_t)below(g, (uint32_t)v);
    if (d)
        random_keep(g, tn_call_opv(g->ctx, "take",
                                   tn_dictv(g->ctx, "axis", tn_i64(g->ctx, axis), NULL), x,
                                   tn_constant_of(g->ctx, d), NULL));
}

static void
rearrange(generator *g)
{
    const tn_expr *x = random_value(g);
    const tn_node *attrs = axis_of(g, x, "axis", NULL);
    switch (below(g, 3)) {
    case 0:
        random_keep(g, tn_call_opv(g->ctx, "flip", attrs, x, NULL));
        break;
    case 1:
        random_keep(g,
                    tn_call_opv(g->ctx, "repeat",
                                tn_dict_set(g->ctx, attrs, "repeats", tn_i64(g->ctx, 2)), x, NULL));
        break;
    default:
        random_keep(g, tn_call_opv(g->ctx, "cumsum", attrs, x, NULL));
    }
}

static void
convert(generator *g)
{
    static const tnb_dtype to[] = {TNB_F32, TNB_I32, TNB_F64};
    const tn_expr *x = random_value(g);
    tnb_dtype d = is_float(x) ? to[below(g, 3)] : to[0];
    if (is_float(x) && !tnb_dtype_is_float(d)) /* the integer has to hold it */
        x = random_keep(g, tn_call_opv(g->ctx, "tanh", NULL, x, NULL));
    if (x)
        random_keep(g, tn_call_opv(g->ctx, "astype",
                                   tn_dictv(g->ctx, "dtype", tn_dtype_imm_of(g->ctx, d), NULL), x,
                                   NULL));
}

static void
window(generator *g)
{
    const tn_expr *x = random_value(g);
    tn_list dims = dims_of(x);
    int64_t c, two[2] = {1 + below(g, 2), 1 + below(g, 2)}, pad[4] = {1, 0, 1, 1};
    if (dims.n != 4 || !is_float(x))
        return;
    const tn_node *padding = tn_int_array(g->ctx, pad, 4), *pool = tn_int_array(g->ctx, two, 2);
    if (random_chance(&g->rnd, 40)) {
        random_keep(g, tn_call_opv(g->ctx,
                                   random_chance(&g->rnd, 50) ? "nn.max_pool2d" : "nn.avg_pool2d",
                                   tn_dictv(g->ctx, "pool_size",
                                            tn_int_array(g->ctx, (int64_t[]){2, 2}, 2), "strides",
                                            pool, "padding", padding, NULL),
                                   x, NULL));
    } else if (tn_int_value(dims.at[1], &c)) {
        int64_t kernel[4] = {1 + below(g, 4), c, 1 + below(g, 2), 1 + below(g, 3)};
        random_keep(g, tn_call_opv(g->ctx, "nn.conv2d",
                                   tn_dictv(g->ctx, "strides", pool, "padding", padding, NULL), x,
                                   constant(g, TNB_F32, kernel, 4), NULL));
    }
}

/* The same value under another name, or through a tuple. */
static void
rename_value(generator *g)
{
    const tn_expr *x = random_value(g), *t;
    if (g->n == MAX_VALUES)
        return;
    if (random_chance(&g->rnd, 50)) {
        t = tn_emit(g->b, tn_tuple_of(g->ctx, tn_listv(g->ctx, random_value(g), x, NULL)), "lv");
        x = tn_emit(g->b, tn_tuple_item(g->ctx, t, 1), "lv");
    } else {
        const tn_expr *v = tn_builder_in_dataflow(g->b)
                               ? tn_dataflow_var_new(g->ctx, "alias", x->type)
                               : tn_var_new(g->ctx, "alias", x->type);
        tn_emit_binding(g->b, tn_var_binding_of(g->ctx, v, x));
        x = v;
    }
    g->values[g->n++] = x;
}

static void (*const steps[])(generator *) = {
    unary,  unary,        exponential, binary,          binary,           binary,
    binary, choose,       transpose,   transpose,       reshape,          reshape,
    widen,  squeeze,      concat,      split,           reduce,           normalize,
    matmul, matmul,       slice,       gather,          rearrange,        convert,
    window, rename_value, random_call, random_in_place, random_match_cast};

void
random_steps(generator *g, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        steps[below(g, sizeof steps / sizeof *steps)](g);
}

/* ---- the function ---- */

static tn_list
make_params(generator *g)
{
    tn_list params = {0};
    uint32_t n = 1 + below(g, 3);
    if (random_chance(&g->rnd, 40))
        for (int i = 0; i < 2; i++)
            g->symbols[i] = tn_var_dtype(g->ctx, i ? "m" : "n", TNB_I64);
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *dims[4];
        uint32_t ndim = below(g, 5);
        for (uint32_t k = 0; k < ndim; k++)
            dims[k] = extent(g);
        /* the first parameter defines the symbols */
        if (i == 0 && g->symbols[0]) {
            ndim = ndim < 2 ? 2 : ndim;
            for (uint32_t k = 2; k < ndim; k++)
                dims[k] = extent(g);
            dims[0] = g->symbols[0];
            dims[1] = g->symbols[1];
        }
        tnb_dtype d = i && random_chance(&g->rnd, 15) ? TNB_I32 : TNB_F32;
        const tn_type *t = tn_ty_tensor_dims(g->ctx, tn_list_of(g->ctx, dims, ndim), d);
        const tn_expr *p = tn_var_new(g->ctx, tn_strf(g->ctx, "x%u", i), t);
        if (i == 0)
            g->first = p;
        g->values[g->n++] = p;
        params = tn_list_append(g->ctx, params, p);
    }
    return params;
}

/* One block, and what it gives to those behind it. */
static void
add_block(generator *g, uint32_t n_steps)
{
    uint32_t first = g->n, out = 1 + below(g, 3), kept = first;
    bool dataflow = random_chance(&g->rnd, 85);
    const tn_expr *given[3];
    tn_builder_begin_block(g->b, dataflow);
    random_steps(g, n_steps);
    for (uint32_t i = 0; i < out; i++)
        given[i] = i == 0 ? g->values[g->n - 1] : random_value(g);
    for (uint32_t i = 0; i < out; i++)
        if (tn_is(given[i], TN_KIND_DATAFLOW_VAR)) {
            const tn_expr *gv = tn_var_new(g->ctx, "gv", given[i]->type);
            tn_emit_binding(g->b, tn_var_binding_of(g->ctx, gv, given[i]));
            given[i] = gv;
        }
    if (dataflow) /* what a dataflow block does not give out is not seen behind it */
        g->n = kept;
    for (uint32_t i = 0; i < out && g->n < MAX_VALUES; i++)
        g->values[g->n++] = given[i];
    tn_builder_end_block(g->b);
}

static void
add_flow(generator *g)
{
    uint32_t k = below(g, 100);
    tn_builder_begin_block(g->b, false);
    if (k < 60)
        random_branch(g);
    else if (k < 85)
        random_loop(g);
    else
        random_local_function(g);
    tn_builder_end_block(g->b);
}

const tn_module *
random_graph(tn_ctx *ctx, uint64_t seed)
{
    random_module others = {.n = 0};
    generator g = {.ctx = ctx, .rnd = {seed * 2654435761u + 12345}, .m = &others};
    g.b = tn_builder_new(ctx, NULL);
    tn_list params = make_params(&g), results = {0};
    tn_builder_begin_function(g.b, params);
    uint32_t n_blocks = 1 + (below(&g, 4) == 0), n_steps = 3 + below(&g, 10);
    bool flow = random_chance(&g.rnd, 30);
    for (uint32_t k = 0; k < n_blocks + flow; k++) {
        add_block(&g, n_steps);
        if (flow && k < n_blocks)
            add_flow(&g);
    }
    uint32_t n_results = 1 + below(&g, 3);
    for (uint32_t i = 0; i < n_results; i++)
        results = tn_list_append(ctx, results, i == 0 ? g.values[g.n - 1] : random_value(&g));
    const tn_expr *body = n_results == 1 ? results.at[0] : tn_tuple_of(ctx, results);
    if (n_results == 3 && flow) /* a tuple in a tuple */
        body = tn_tuple_of(ctx, tn_listv(ctx, results.at[0], body, NULL));
    const tn_node *attrs = tn_dictv(ctx, "global_symbol", tn_string(ctx, "main"), NULL);
    if (params.n > 1 && random_chance(&g.rnd, 40))
        attrs = tn_dict_set(ctx, attrs, "num_input", tn_i64(ctx, 1));
    const tn_expr *f = tn_builder_end_function(g.b, body, NULL, true, attrs);
    if (tn_is_error(f) || tn_is_error(tn_builder_add_function(g.b, f, "main")))
        return NULL;
    return tn_module_set_all(ctx, tn_builder_module(g.b), others.names, others.funcs, others.n);
}
