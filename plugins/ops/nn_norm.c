/* SPDX-License-Identifier: Apache-2.0 */
/* Normalization: batch_norm, layer_norm, group_norm, instance_norm, rms_norm, lrn, dropout.
 *
 * Means and variances are computed in two passes, narrow floats in float32. Inference's batch_norm
 * becomes one multiplication and one addition by vectors that fold to constants when the statistics
 * are.
 */
#include "emit.h"

/* ---- type inference ---- */

/* Argument i is a vector with one entry for each channel. */
static bool
check_vector(tn_ctx *ctx, const tn_call *call, uint32_t i, const tn_expr *channels)
{
    const tn_ty_tensor *v = infer_tensor(ctx, call, i);
    tn_list dims;
    const char *name = tn_call_op_of(call)->args[i].name;
    if (!v)
        return false;
    if (v->ndim >= 0 && v->ndim != 1) {
        infer_fail(ctx, call, TNB_SHAPE, "argument '%s' must be a vector, but has %lld axes", name,
                   (long long)v->ndim);
        return false;
    }
    if (channels && tn_type_dims(TN_NODE(v), &dims) &&
        dim_differ(ctx, dims.at[0], channels, "argument '%s' has {} entries for {} channels",
                   name)) {
        infer_fail(ctx, call, TNB_SHAPE, "argument '%s' has %s entries for %s channels", name,
                   tn_text(ctx, dims.at[0]), tn_text(ctx, channels));
        return false;
    }
    return true;
}

const tn_type *
infer_batch_norm(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    int64_t axis = 0;
    if (!t || !infer_float_data(ctx, call, t) ||
        (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis)))
        return tn_error_node(ctx);
    const tn_expr *channels = tn_type_dims(TN_NODE(t), &dims) ? dims.at[axis] : NULL;
    for (uint32_t i = 1; i < 5; i++) {
        if (!check_vector(ctx, call, i, channels))
            return tn_error_node(ctx);
    }
    return tn_ty_tuple_of(ctx, tn_listv(ctx, infer_same(ctx, call, t, t->dtype),
                                        call->args.at[3]->type, call->args.at[4]->type, NULL));
}

/* Scale and offset of the given arguments match the normalised axes, in the order in which they are
 * named. */
static bool
check_scales(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t, uint32_t first, uint32_t last,
             int n, const int64_t *axes)
{
    tn_list dims, own;
    bool known = tn_type_dims(TN_NODE(t), &dims);
    for (uint32_t i = first; i <= last; i++) {
        const tn_ty_tensor *v = infer_tensor(ctx, call, i);
        const char *name = tn_call_op_of(call)->args[i].name;
        if (!v)
            return false;
        if (v->ndim >= 0 && n >= 0 && v->ndim != n) {
            infer_fail(ctx, call, TNB_SHAPE, "argument '%s' has %lld axes for %d normalised ones",
                       name, (long long)v->ndim, n);
            return false;
        }
        for (int k = 0; known && n >= 0 && tn_type_dims(TN_NODE(v), &own) && k < n; k++) {
            if (dim_differ(ctx, own.at[k], dims.at[axes[k]],
                           "argument '%s' has extent {} where the data has {}", name)) {
                infer_fail(ctx, call, TNB_SHAPE,
                           "argument '%s' has extent %s where the data has %s", name,
                           tn_text(ctx, own.at[k]), tn_text(ctx, dims.at[axes[k]]));
                return false;
            }
        }
    }
    return true;
}

const tn_type *
infer_layer_norm(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    bool used[INFER_MAX_DIMS];
    int64_t axes[INFER_MAX_DIMS];
    if (!t || !infer_float_data(ctx, call, t))
        return tn_error_node(ctx);
    int n = t->ndim < 0 ? -1 : infer_axes(ctx, call, "axes", t->ndim, used, axes);
    if ((t->ndim >= 0 && n < 0) || !check_scales(ctx, call, t, 1, 2, n, axes))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, t->dtype);
}

const tn_type *
infer_rms_norm(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    bool used[INFER_MAX_DIMS];
    int64_t axes[INFER_MAX_DIMS];
    if (!t || !infer_float_data(ctx, call, t))
        return tn_error_node(ctx);
    int n = t->ndim < 0 ? -1 : infer_axes(ctx, call, "axes", t->ndim, used, axes);
    if ((t->ndim >= 0 && n < 0) || !check_scales(ctx, call, t, 1, 1, n, axes))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, t->dtype);
}

const tn_type *
infer_group_norm(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    bool used[INFER_MAX_DIMS];
    int64_t axes[INFER_MAX_DIMS], axis = 0, channels;
    tn_list dims;
    bool group = infer_op(call)->id == OP_nn_group_norm;
    int64_t groups = group ? tn_call_int(call, "num_groups") : 1;
    if (!t || !infer_float_data(ctx, call, t))
        return tn_error_node(ctx);
    if (groups < 1)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'num_groups' is %lld, expected at least 1", (long long)groups);
    if (t->ndim >= 0) {
        if (!infer_axis(ctx, call, "channel_axis", tn_call_int(call, "channel_axis"), t->ndim,
                        &axis) ||
            infer_axes(ctx, call, "axes", t->ndim, used, axes) < 0)
            return tn_error_node(ctx);
        if (used[axis])
            return infer_fail(ctx, call, TNB_INVALID, "the channel axis %lld is among 'axes'",
                              (long long)axis);
    }
    bool known = tn_type_dims(TN_NODE(t), &dims);
    if (known &&
        dim_ragged(ctx, dims.at[axis], groups, "{} channels are not a multiple of num_groups %lld",
                   (long long)groups) &&
        tn_int_value(dims.at[axis], &channels))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "%lld channels are not a multiple of num_groups %lld",
                          (long long)channels, (long long)groups);
    for (uint32_t i = 1; i < 3; i++) {
        if (!check_vector(ctx, call, i, known ? dims.at[axis] : NULL))
            return tn_error_node(ctx);
    }
    return infer_same(ctx, call, t, t->dtype);
}

const tn_type *
infer_lrn(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t axis;
    if (!t || !infer_float_data(ctx, call, t) ||
        (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis)))
        return tn_error_node(ctx);
    if (tn_call_int(call, "size") < 1)
        return infer_fail(ctx, call, TNB_INVALID, "attribute 'size' is %lld, expected at least 1",
                          (long long)tn_call_int(call, "size"));
    return infer_same(ctx, call, t, t->dtype);
}

const tn_type *
infer_dropout(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (!t)
        return tn_error_node(ctx);
    const tn_type *same = infer_same(ctx, call, t, t->dtype);
    return tn_ty_tuple_of(ctx, tn_listv(ctx, same, same, NULL));
}

/* ---- legalization: batch_norm in terms of other operators ---- */

static const tn_expr *
op1(tn_builder *b, const char *op, const tn_node *attrs, const tn_expr *x)
{
    return tn_emit(b, tn_call_opv(tn_builder_ctx(b), op, attrs, x, NULL), "lv");
}

static const tn_expr *
op2(tn_builder *b, const char *op, const tn_expr *x, const tn_expr *y)
{
    return tn_emit(b, tn_call_opv(tn_builder_ctx(b), op, NULL, x, y, NULL), "lv");
}

static const tn_expr *
scaled(tn_builder *b, const tn_expr *x, double v)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    return op2(b, "multiply", x, tn_scalar_constant(ctx, tn_type_dtype(x->type), v));
}

/* The moving average: of what it was, in whose dtype it stays, and the batch's. */
static const tn_expr *
moved(tn_builder *b, const tn_expr *old, const tn_expr *now, double momentum)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnb_dtype d = tn_type_dtype(old->type);
    if (!tnb_dtype_eq(tn_type_dtype(now->type), d))
        now = op1(b, "astype", tn_dictv(ctx, "dtype", tn_dtype_imm_of(ctx, d), NULL), now);
    return op2(b, "add", scaled(b, old, 1 - momentum), scaled(b, now, momentum));
}

/* A vector as a tensor that broadcasts along `axis` of `ndim`. */
static const tn_expr *
along_axis(tn_builder *b, const tn_expr *v, int64_t axis, int64_t ndim)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    int64_t fresh[INFER_MAX_DIMS];
    uint32_t n = 0;
    for (int64_t i = axis + 1; i < ndim; i++)
        fresh[n++] = i - axis;
    return n ? op1(b, "expand_dims", tn_dictv(ctx, "axis", tn_int_array(ctx, fresh, n), NULL), v)
             : v;
}

/* A vector with one entry for each channel. Where no proof says that it has as many, the program
 * looks: what is computed from several of them has an extent only if theirs are the same. */
static const tn_expr *
of_channels(tn_builder *b, const tn_expr *v, const tn_expr *channels)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    if (tn_is_error(v) || dim_equal(ctx, emit_dims(v).at[0], channels))
        return v;
    const tn_type *type =
        tn_ty_tensor_dims(ctx, tn_listv(ctx, channels, NULL), tn_type_dtype(v->type));
    return tn_emit_match_cast(b, v, type, "lv");
}

const tn_expr *
legalize_batch_norm(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0], *given[4], *v[4]; /* gamma, beta, mean, variance */
    int64_t ndim = tn_type_ndim(x->type), axis = tn_call_int(call, "axis"), others[INFER_MAX_DIMS];
    if (ndim > INFER_MAX_DIMS)
        return NULL;
    axis += axis < 0 ? ndim : 0;
    for (int i = 0; i < 4; i++)
        v[i] = given[i] = of_channels(b, call->args.at[1 + i], emit_dims(x).at[axis]);
    const tn_expr *new_mean = call->args.at[3], *new_var = call->args.at[4];
    const tn_expr *mean_dim = emit_dims(new_mean).at[0], *var_dim = emit_dims(new_var).at[0];
    if (tn_call_int(call, "training")) {
        uint32_t n = 0;
        for (int64_t i = 0; i < ndim; i++) {
            if (i != axis)
                others[n++] = i;
        }
        double momentum = tn_call_float(call, "momentum");
        const tn_node *attrs = tn_dictv(ctx, "axis", tn_int_array(ctx, others, n), NULL);
        v[2] = op1(b, "mean", attrs, x);
        v[3] = op1(b, "variance", attrs, x);
        new_mean = of_channels(b, moved(b, given[2], v[2], momentum), mean_dim);
        new_var = of_channels(b, moved(b, given[3], v[3], momentum), var_dim);
    }
    tnb_dtype d = tn_type_dtype(x->type), own = tn_type_dtype(v[3]->type), wide = emit_wide(own);
    const tn_node *widen = tn_dictv(ctx, "dtype", tn_dtype_imm_of(ctx, wide), NULL);
    const tn_node *narrow = tn_dictv(ctx, "dtype", tn_dtype_imm_of(ctx, d), NULL);
    for (int i = 0; i < 4; i++) {
        if (!tnb_dtype_eq(tn_type_dtype(v[i]->type), wide))
            v[i] = op1(b, "astype", widen, v[i]);
    }
    const tn_expr *eps = tn_scalar_constant(ctx, wide, tn_call_float(call, "epsilon"));
    const tn_expr *scale = op1(b, "rsqrt", NULL, op2(b, "add", v[3], eps));
    if (tn_call_int(call, "scale"))
        scale = op2(b, "multiply", v[0], scale);
    const tn_expr *shift = op1(b, "negative", NULL, op2(b, "multiply", v[2], scale));
    if (tn_call_int(call, "center"))
        shift = op2(b, "add", v[1], shift);
    if (!tnb_dtype_eq(wide, d)) {
        scale = op1(b, "astype", narrow, scale);
        shift = op1(b, "astype", narrow, shift);
    }
    const tn_expr *y = op2(b, "multiply", x, along_axis(b, scale, axis, ndim));
    y = op2(b, "add", y, along_axis(b, shift, axis, ndim));
    return tn_tuple_of(ctx, tn_listv(ctx, y, new_mean, new_var, NULL));
}

/* ---- legalization: means over some axes ---- */

typedef struct norm {
    emit e;
    const tn_node *x;
    uint32_t n;
    bool reduced[INFER_MAX_DIMS];
    int64_t axes[INFER_MAX_DIMS]; /* reduced ones as named */
    int n_axes;
    int64_t channel, groups; /* channel axis in groups of which each is reduced; groups 0: none */
    bool by_channel;         /* scale and offset have an entry for each channel */
    tnb_dtype wide;
    const tn_expr *count; /* elements that one mean covers */
    const tn_expr *rows[INFER_MAX_DIMS];
    uint32_t n_rows;
} norm;

static bool
norm_begin(norm *m, tn_builder *b, const tn_call *call, int64_t channel, int64_t groups)
{
    m->e = emit_begin(b, call);
    tn_ctx *ctx = m->e.ctx;
    m->x = emit_input(&m->e, call->args.at[0]);
    m->n = emit_ndim(m->x);
    m->wide = emit_wide(emit_dtype(m->x));
    m->channel = channel < 0 ? channel + m->n : channel;
    m->groups = groups;
    m->n_axes = tn_call_ints(call, "axes", m->axes, INFER_MAX_DIMS);
    if (m->n > INFER_MAX_DIMS || m->n_axes < 0)
        return false;
    for (int i = 0; i < m->n_axes; i++) {
        m->axes[i] += m->axes[i] < 0 ? (int64_t)m->n : 0;
        m->reduced[m->axes[i]] = true;
    }
    m->count = tn_i64(ctx, 1);
    for (uint32_t i = 0; i < m->n; i++) {
        const tn_expr *dim = emit_dim(m->x, i);
        bool grouped = groups && i == m->channel;
        if (grouped)
            m->count = dim_mul(ctx, m->count, dim_floordiv(ctx, dim, groups));
        else if (m->reduced[i])
            m->count = dim_mul(ctx, m->count, dim);
        if (grouped || !m->reduced[i])
            m->rows[m->n_rows++] = grouped ? tn_i64(ctx, groups) : dim;
    }
    return true;
}

/* A stage with one element for each mean, its reduction iterators; idx addresses the data. */
static tnk_stage *
row_stage(norm *m, const char *name, const tn_expr **idx)
{
    tn_ctx *ctx = m->e.ctx;
    tnk_stage *s = tnk_te_stage(m->e.te, name, m->rows, m->n_rows, m->wide);
    for (uint32_t i = 0, r = 0; i < m->n; i++) {
        const char *k = tnb_printf(tn_scratch(ctx), "k%u", i);
        const tn_expr *dim = emit_dim(m->x, i);
        if (m->groups && i == m->channel) {
            const tn_expr *size = dim_floordiv(ctx, dim, m->groups);
            const tn_expr *group = s->axes[r++];
            idx[i] = tn_is_int_const(size, 1)
                         ? group
                         : tn_add(ctx, tn_mul(ctx, group, size), tnk_te_reduce_axis(s, k, size));
        } else {
            idx[i] = m->reduced[i] ? tnk_te_reduce_axis(s, k, dim) : s->axes[r++];
        }
    }
    return s;
}

/* The row that belongs to a place of the data. */
static const tn_expr *
of_row(norm *m, const tn_node *rows, const tn_expr *const *place)
{
    tn_ctx *ctx = m->e.ctx;
    const tn_expr *idx[INFER_MAX_DIMS];
    uint32_t r = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->groups && i == m->channel) {
            const tn_expr *size = dim_floordiv(ctx, emit_dim(m->x, i), m->groups);
            idx[r++] = tn_is_int_const(size, 1) ? place[i] : emit_floordiv(ctx, place[i], size);
        } else if (!m->reduced[i]) {
            idx[r++] = place[i];
        }
    }
    return tnk_te_read_at(m->e.te, rows, idx, r);
}

static const tn_expr *
element(norm *m, const tn_node *buffer, const tn_expr *const *idx, uint32_t n)
{
    return tn_cast_to(m->e.ctx, m->wide, tnk_te_read_at(m->e.te, buffer, idx, n));
}

/* A scale or offset at a place of the data: by channel, or by the normalised axes. */
static const tn_expr *
factor(norm *m, const tn_node *buffer, const tn_expr *const *place)
{
    const tn_expr *idx[INFER_MAX_DIMS];
    if (m->by_channel)
        return tnk_te_read_at(m->e.te, buffer, &place[m->channel], 1);
    for (int i = 0; i < m->n_axes; i++)
        idx[i] = place[m->axes[i]];
    return tnk_te_read_at(m->e.te, buffer, idx, (uint32_t)m->n_axes);
}

static const tn_node *
mean_of(norm *m, const tn_node *sum, const char *name)
{
    tn_ctx *ctx = m->e.ctx;
    tnk_stage *s = tnk_te_stage_like(m->e.te, name, sum, m->wide);
    return tnk_te_define(s, tn_div(ctx, tnk_te_read_at(m->e.te, sum, s->axes, s->n_axes),
                                   tn_cast_to(ctx, m->wide, m->count)));
}

static const tn_expr *
normalize(norm *m, const tn_call *call, const char *hint)
{
    tn_ctx *ctx = m->e.ctx;
    const tn_node *gamma = emit_input(&m->e, call->args.at[1]),
                  *beta = emit_input(&m->e, call->args.at[2]);
    const tn_expr *idx[INFER_MAX_DIMS];
    tnk_stage *s = row_stage(m, "x_red", idx);
    const tn_node *mean = mean_of(m, tnk_te_sum(s, element(m, m->x, idx, m->n)), "x_mean");
    s = row_stage(m, "x_sq_red", idx);
    const tn_expr *far =
        tn_sub(ctx, element(m, m->x, idx, m->n), tnk_te_read_at(m->e.te, mean, s->axes, s->n_axes));
    const tn_node *var = mean_of(m, tnk_te_sum(s, tn_mul(ctx, far, far)), "x_var");
    s = emit_stage(&m->e, tnb_printf(tn_scratch(ctx), "T_%s", hint));
    const tn_expr *epsilon = tn_literal(ctx, m->wide, tn_call_float(call, "epsilon"));
    const tn_expr *root =
        tn_intrin1(ctx, TN_INTRIN_rsqrt, tn_add(ctx, of_row(m, var, s->axes), epsilon));
    const tn_expr *v =
        tn_mul(ctx, tn_sub(ctx, element(m, m->x, s->axes, m->n), of_row(m, mean, s->axes)), root);
    v = tn_cast_to(ctx, emit_dtype(m->x), v); /* scale and offset act on the rounded value */
    if (tn_call_int(call, "scale"))
        v = tn_mul(ctx, v, factor(m, gamma, s->axes));
    if (tn_call_int(call, "center"))
        v = tn_add(ctx, v, factor(m, beta, s->axes));
    return emit_end(&m->e, hint, tnk_te_define(s, v));
}

const tn_expr *
legalize_layer_norm(tn_builder *b, const tn_call *call)
{
    norm m = {0};
    return norm_begin(&m, b, call, -1, 0) ? normalize(&m, call, "layer_norm") : NULL;
}

const tn_expr *
legalize_group_norm(tn_builder *b, const tn_call *call)
{
    norm m = {.by_channel = true};
    bool ok =
        norm_begin(&m, b, call, tn_call_int(call, "channel_axis"), tn_call_int(call, "num_groups"));
    return ok ? normalize(&m, call, "group_norm") : NULL;
}

/* Each channel is a row of its own: a mean covers the axes named. */
const tn_expr *
legalize_instance_norm(tn_builder *b, const tn_call *call)
{
    norm m = {.by_channel = true};
    return norm_begin(&m, b, call, tn_call_int(call, "channel_axis"), 0)
               ? normalize(&m, call, "instance_norm")
               : NULL;
}

const tn_expr *
legalize_rms_norm(tn_builder *b, const tn_call *call)
{
    norm m = {0};
    if (!norm_begin(&m, b, call, -1, 0))
        return NULL;
    tn_ctx *ctx = m.e.ctx;
    const tn_node *weight = emit_input(&m.e, call->args.at[1]);
    const tn_expr *idx[INFER_MAX_DIMS];
    tnk_stage *s = row_stage(&m, "Ared_temp", idx);
    const tn_expr *v = element(&m, m.x, idx, m.n);
    const tn_node *sum = tnk_te_sum(s, tn_mul(ctx, v, v));
    s = tnk_te_stage_like(m.e.te, "rsqrt", sum, m.wide);
    const tn_expr *mean = tn_div(ctx, tnk_te_read_at(m.e.te, sum, s->axes, s->n_axes),
                                 tn_cast_to(ctx, m.wide, m.count));
    const tn_node *root = tnk_te_define(
        s, tn_intrin1(ctx, TN_INTRIN_rsqrt,
                      tn_add(ctx, mean, tn_literal(ctx, m.wide, tn_call_float(call, "epsilon")))));
    s = emit_stage(&m.e, "T_rms_norm");
    v = tn_mul(ctx, tn_mul(ctx, element(&m, m.x, s->axes, m.n), of_row(&m, root, s->axes)),
               tn_cast_to(ctx, m.wide, factor(&m, weight, s->axes)));
    return emit_end(&m.e, "rms_norm", tnk_te_define(s, tn_cast_to(ctx, emit_dtype(m.x), v)));
}

/* ---- local response normalization, dropout ---- */

/* As many of `k` channels beside one as there can be: a window larger than the data only costs time. */
static const tn_expr *
reach(tn_ctx *ctx, int64_t k, const tn_expr *channels)
{
    int64_t all;
    if (tn_int_value(channels, &all))
        return tn_i64(ctx, k < all ? k : all);
    return tn_min(ctx, tn_i64(ctx, k), channels);
}

const tn_expr *
legalize_lrn(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    tnb_dtype d = emit_dtype(x), wide = emit_wide(d);
    uint32_t n = emit_ndim(x);
    int64_t axis = tn_call_int(call, "axis"), size = tn_call_int(call, "size");
    const tn_expr *idx[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS)
        return NULL;
    axis += axis < 0 ? (int64_t)n : 0;
    const tn_expr *channels = emit_dim(x, (uint32_t)axis);
    const tn_expr *before = reach(ctx, (size - 1) / 2, channels),
                  *around = tn_add(ctx, before, reach(ctx, size - 1 - (size - 1) / 2, channels));
    for (uint32_t i = 0; i < n; i++)
        idx[i] = emit_dim(x, i);
    idx[axis] = tn_add(ctx, channels, around);
    tnk_stage *s = tnk_te_stage(e.te, "pad_temp", idx, n, d);
    memcpy(idx, s->axes, n * sizeof *idx);
    idx[axis] = tn_sub(ctx, idx[axis], before);
    const tn_expr *inside = emit_inside(ctx, idx[axis], channels);
    const tn_node *padded =
        tnk_te_define(s, tn_if_then_else(ctx, inside, tnk_te_read_at(e.te, x, idx, n),
                                         tn_literal(ctx, d, 0)));
    s = emit_stage_of(&e, "lrn_sum", call->base.type, wide);
    memcpy(idx, s->axes, n * sizeof *idx);
    idx[axis] = tn_add(ctx, idx[axis], tnk_te_reduce_axis(s, "k", tn_addi(ctx, around, 1)));
    const tn_expr *v = tn_cast_to(ctx, wide, tnk_te_read_at(e.te, padded, idx, n));
    const tn_node *sum = tnk_te_sum(s, tn_mul(ctx, v, v));
    s = emit_stage(&e, "T_lrn");
    v = tn_cast_to(ctx, wide, tnk_te_read_at(e.te, x, s->axes, n));
    const tn_expr *total =
        tn_mul(ctx, tnk_te_read_at(e.te, sum, s->axes, n),
               tn_literal(ctx, wide, tn_call_float(call, "alpha") / (double)size));
    const tn_expr *base = tn_add(ctx, tn_literal(ctx, wide, tn_call_float(call, "bias")), total);
    double beta = tn_call_float(call, "beta");
    const tn_expr *root = tn_intrin1(ctx, TN_INTRIN_sqrt, base);
    v = tn_div(ctx, v,
               beta == 0.75
                   ? tn_mul(ctx, root,
                            tn_intrin1(ctx, TN_INTRIN_sqrt, root)) /* as most models have it */
                   : tn_intrin2(ctx, TN_INTRIN_pow, base, tn_literal(ctx, wide, beta)));
    return emit_end(&e, "lrn", tnk_te_define(s, tn_cast_to(ctx, d, v)));
}

const tn_expr *
legalize_dropout(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *ones = op1(b, "ones_like", NULL, call->args.at[0]);
    return tn_tuple_of(ctx, tn_listv(ctx, call->args.at[0], ones, NULL));
}
