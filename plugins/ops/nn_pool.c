/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over 1 to 3 spatial axes: maximum and mean, by windows or to a given size. */
#include "emit.h"
#include "layout.h"

#include <math.h>

enum { MAX_AXES = 8 };

typedef struct pool {
    int n;
    const char *axes;
    layout data, out;
    window w;
    const tn_expr *size[3]; /* of the window; int64, may be symbolic */
    bool ceil;
} pool;

static bool
read_layouts(tn_ctx *ctx, const tn_call *call, pool *p)
{
    p->n = infer_op(call)->spatial;
    p->axes = layout_data_axes(p->n);
    if (!layout_read(ctx, call, "layout", p->axes, &p->data))
        return false;
    if (!tn_call_attr(call, "out_layout")) {
        p->out = p->data;
        return true;
    }
    return layout_read(ctx, call, "out_layout", p->axes, &p->out);
}

/* The n extents of an attribute, or one for all; numbers from 1, or symbolic. */
static bool
read_extents(tn_ctx *ctx, const tn_call *call, const char *key, int n, const tn_expr **out)
{
    const tn_array *a = tn_as_array(tn_call_attr(call, key));
    uint32_t count = a ? a->items.n : 0;
    if (count != 1 && count != (uint32_t)n) {
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' has %u entries, expected 1 or %d", key,
                   count, n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        int64_t v;
        out[i] = tn_cast_to(ctx, TNB_I64, a->items.at[count == 1 ? 0 : i]);
        if (tn_int_value(out[i], &v) && (v < 1 || v > INT32_MAX)) {
            infer_fail(ctx, call, TNB_INVALID, "attribute '%s' is %lld, expected at least 1", key,
                       (long long)v);
            return false;
        }
    }
    return true;
}

static bool
read_pool(tn_ctx *ctx, const tn_call *call, pool *p)
{
    p->ceil = tn_call_int(call, "ceil_mode") != 0;
    return window_read(ctx, call, p->n, &p->w) &&
           read_extents(ctx, call, "pool_size", p->n, p->size);
}

/* How far the window reaches beyond its first element. */
static const tn_expr *
reach(tn_ctx *ctx, const pool *p, int i)
{
    return dim_muli(ctx, dim_addi(ctx, p->size[i], -1), p->w.dilation[i]);
}

/* The sizes as variables of the program under construction. */
static void
own_sizes(emit *e, pool *p)
{
    for (int i = 0; i < p->n; i++)
        p->size[i] = tnk_te_expr(e->te, p->size[i]);
}

static bool
check_rank(tn_ctx *ctx, const tn_call *call, const pool *p, const tn_ty_tensor *t)
{
    if (t->ndim >= 0 && t->ndim != p->data.n) {
        infer_fail(ctx, call, TNB_SHAPE, "the data has %lld axes, its layout %s has %d",
                   (long long)t->ndim, p->data.text, p->data.n);
        return false;
    }
    return true;
}

/* The result's extents for N, C and the spatial axes; false after an error. */
static bool
pooled(tn_ctx *ctx, const tn_call *call, const pool *p, tn_list x, const tn_expr **out)
{
    out[0] = layout_extent(ctx, &p->data, x, 'N');
    out[1] = layout_extent(ctx, &p->data, x, 'C');
    for (int i = 0; i < p->n; i++) {
        const tn_expr *in = layout_extent(ctx, &p->data, x, LAYOUT_SPATIAL(p->axes)[i]);
        const tn_expr *room =
            dim_simplify(ctx, tn_sub(ctx, dim_addi(ctx, in, p->w.before[i] + p->w.after[i] - 1),
                                     reach(ctx, p, i)));
        const tn_expr *steps = p->ceil ? dim_ceildiv(ctx, room, p->w.stride[i])
                                       : dim_floordiv(ctx, room, p->w.stride[i]);
        out[2 + i] = dim_addi(ctx, steps, 1);
        if (!window_leaves(ctx, call, out[2 + i], LAYOUT_SPATIAL(p->axes)[i], WINDOW_LARGE))
            return false;
    }
    return true;
}

const tn_type *
infer_pool(tn_ctx *ctx, const tn_call *call)
{
    pool p;
    tn_list x;
    const tn_expr *out[5];
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (!t || !read_layouts(ctx, call, &p) || !read_pool(ctx, call, &p) ||
        !check_rank(ctx, call, &p, t))
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &x))
        return infer_rank(ctx, call, p.out.n, t->dtype);
    if (!layout_fits(ctx, call, &p.data, x, "data") || !pooled(ctx, call, &p, x, out))
        return tn_error_node(ctx);
    return infer_known(ctx, call, layout_dims(ctx, &p.out, p.axes, out), t->dtype);
}

const tn_type *
infer_adaptive_pool(tn_ctx *ctx, const tn_call *call)
{
    pool p;
    tn_list x;
    const tn_expr *out[5];
    const tn_expr *size[3];
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    bool given = tn_call_attr(call, "output_size") != NULL;
    if (!t || !read_layouts(ctx, call, &p) || !check_rank(ctx, call, &p, t) ||
        (given && !read_extents(ctx, call, "output_size", p.n, size)))
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &x))
        return infer_rank(ctx, call, p.out.n, t->dtype);
    if (!layout_fits(ctx, call, &p.data, x, "data"))
        return tn_error_node(ctx);
    for (int i = 0; i < p.n + 2; i++)
        out[i] = i >= 2 && given ? size[i - 2] : layout_extent(ctx, &p.data, x, p.axes[i]);
    return infer_known(ctx, call, layout_dims(ctx, &p.out, p.axes, out), t->dtype);
}

const tn_type *
infer_pool_indices(tn_ctx *ctx, const tn_call *call)
{
    pool p = {.n = infer_op(call)->spatial};
    tn_list x;
    const tn_expr *out[5];
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    p.axes = layout_data_axes(p.n);
    p.data = (layout){.text = p.axes, .n = p.n + 2};
    memcpy(p.data.axis, p.axes, (size_t)p.n + 2);
    if (!t || !read_pool(ctx, call, &p) || !check_rank(ctx, call, &p, t))
        return tn_error_node(ctx);
    const tn_type *value, *index;
    if (tn_type_dims(TN_NODE(t), &x)) {
        if (!pooled(ctx, call, &p, x, out))
            return tn_error_node(ctx);
        tn_list dims = tn_list_of(ctx, out, (uint32_t)p.n + 2);
        value = infer_known(ctx, call, dims, t->dtype);
        index = infer_known(ctx, call, dims, TNB_I64);
    } else {
        value = infer_rank(ctx, call, p.n + 2, t->dtype);
        index = infer_rank(ctx, call, p.n + 2, TNB_I64);
    }
    return tn_ty_tuple_of(ctx, tn_listv(ctx, value, index, NULL));
}

/* ---- legalization ---- */

/* Blocks of batch and channels only, and the same in the result. */
static bool
has_program(const pool *p)
{
    for (int i = 0; i < p->n; i++) {
        char block = (char)(LAYOUT_SPATIAL(p->axes)[i] - 'A' + 'a');
        if (layout_find(&p->data, block) >= 0 || layout_find(&p->out, block) >= 0)
            return false;
    }
    bool blocked = layout_blocked(&p->data) || layout_blocked(&p->out);
    return p->data.n <= MAX_AXES && (!blocked || !strcmp(p->data.text, p->out.text));
}

/* Where an element of the result reads along all axes; the spatial ones are set by the caller. */
static void
same_places(const pool *p, const tnk_stage *s, const tn_expr **at)
{
    for (int i = 0; i < p->data.n; i++)
        at[i] = s->axes[layout_find(&p->out, p->data.axis[i])];
}

static const tn_expr *
lowest(tn_ctx *ctx, tnb_dtype d)
{
    return tnb_dtype_is_float(d) ? tn_float_imm_of(ctx, d, -INFINITY) : tn_min_value(ctx, d);
}

/* The data with `fill` around, so large that every window lies inside; the data itself if it
 * already is. */
static const tn_node *
pad_data(emit *e, const pool *p, const tn_node *x, tn_list out_dims, const tn_expr *fill)
{
    tn_ctx *ctx = e->ctx;
    uint32_t n = emit_ndim(x);
    const tn_expr *dims[MAX_AXES], *idx[MAX_AXES], *inside = NULL;
    bool padded[MAX_AXES] = {false};
    for (uint32_t i = 0; i < n; i++)
        dims[i] = emit_dim(x, i);
    for (int i = 0; i < p->n; i++) {
        char axis = LAYOUT_SPATIAL(p->axes)[i];
        int at = layout_find(&p->data, axis);
        const tn_expr *out = tnk_te_expr(e->te, out_dims.at[layout_find(&p->out, axis)]);
        const tn_expr *room = dim_addi(ctx, dims[at], p->w.before[i] + p->w.after[i]);
        const tn_expr *need =
            dim_simplify(ctx, tn_add(ctx, dim_muli(ctx, dim_addi(ctx, out, -1), p->w.stride[i]),
                                     dim_addi(ctx, reach(ctx, p, i), 1)));
        padded[at] = p->w.before[i] || p->w.after[i];
        if (p->ceil && !dim_equal(ctx, need, room)) {
            room = dim_simplify(ctx, tn_max(ctx, room, need));
            padded[at] |= !dim_equal(ctx, room, dims[at]);
        }
        dims[at] = room;
    }
    tnk_stage *s = NULL;
    for (int i = 0; i < p->n; i++) {
        int at = layout_find(&p->data, LAYOUT_SPATIAL(p->axes)[i]);
        if (!padded[at])
            continue;
        if (!s) {
            s = tnk_te_stage(e->te, "pad_temp", dims, n, emit_dtype(x));
            memcpy(idx, s->axes, n * sizeof *idx);
        }
        const tn_expr *before = tn_i64(ctx, p->w.before[i]);
        const tn_expr *ok =
            tn_lt_of(ctx, s->axes[at], tn_add(ctx, emit_dim(x, (uint32_t)at), before));
        if (p->w.before[i])
            ok = tn_and_of(ctx, tn_le_of(ctx, before, s->axes[at]), ok);
        inside = inside ? tn_and_of(ctx, inside, ok) : ok;
        idx[at] = tn_sub(ctx, s->axes[at], before);
    }
    if (!s)
        return x;
    return tnk_te_define(s, tn_if_then_else(ctx, inside, tnk_te_read_at(e->te, x, idx, n), fill));
}

/* How many elements of the window at o lie inside the data (or, counting padding, inside the padded
 * data); computed in the type of o and in. */
static const tn_expr *
window_count(tn_ctx *ctx, const pool *p, int i, const tn_expr *o, const tn_expr *in,
             bool with_padding)
{
    const tnb_dtype d = tn_dtype_of(o);
    const tn_expr *zero = tn_int_imm_of(ctx, d, 0), *one = tn_int_imm_of(ctx, d, 1);
    const tn_expr *dilation = tn_int_imm_of(ctx, d, p->w.dilation[i]);
    const tn_expr *before = tn_int_imm_of(ctx, d, p->w.before[i]);
    const tn_expr *after = tn_int_imm_of(ctx, d, p->w.after[i]);
    const tn_expr *stride = tn_int_imm_of(ctx, d, p->w.stride[i]);
    const tn_expr *start = tn_sub(ctx, tn_mul(ctx, o, stride), before);
    const tn_expr *size = tn_cast_to(ctx, d, p->size[i]);
    const tn_expr *last = tn_add(ctx, start, tn_cast_to(ctx, d, reach(ctx, p, i)));
    const tn_expr *low = with_padding ? tn_int_imm_of(ctx, d, -p->w.before[i]) : zero;
    const tn_expr *high = tn_sub(ctx, with_padding ? tn_add(ctx, in, after) : in, one);
    /* steps to get from the start to the first element that is not below the border */
    const tn_expr *round_up = tn_sub(ctx, dilation, one);
    const tn_expr *below = tn_add(ctx, tn_sub(ctx, low, start), round_up);
    const tn_expr *skip = tn_max(ctx, emit_floordiv(ctx, below, dilation), zero);
    const tn_expr *above = tn_add(ctx, tn_sub(ctx, last, high), round_up);
    const tn_expr *cut = tn_max(ctx, emit_floordiv(ctx, above, dilation), zero);
    return tn_sub(ctx, tn_sub(ctx, size, skip), cut);
}

/* Whether places around a window are small numbers, which 32 bits hold whatever is done with them. */
static bool
is_small(const pool *p, int i, const tn_expr *in)
{
    enum { SMALL = 1 << 12 };
    int64_t n, size;
    return tn_int_value(in, &n) && n < SMALL * SMALL && tn_int_value(p->size[i], &size) &&
           size < SMALL && p->w.stride[i] < SMALL && p->w.dilation[i] < SMALL &&
           p->w.before[i] < SMALL * SMALL && p->w.after[i] < SMALL * SMALL;
}

/* In 32 bits where all is small: vectors of such counts are turned into floats by one instruction. */
static const tn_expr *
divisor(emit *e, const pool *p, const tn_node *x, const tnk_stage *s, bool with_padding)
{
    tn_ctx *ctx = e->ctx;
    int64_t most = 1;
    for (int i = 0; i < p->n; i++) {
        int64_t size;
        most = most <= INT32_MAX && tn_int_value(p->size[i], &size) ? most * size : INT64_MAX;
    }
    tnb_dtype d = most <= INT32_MAX ? TNB_I32 : TNB_I64;
    const tn_expr *count = tn_int_imm_of(ctx, d, 1);
    for (int i = 0; i < p->n; i++) {
        char axis = LAYOUT_SPATIAL(p->axes)[i];
        bool border = p->ceil || (!with_padding && (p->w.before[i] || p->w.after[i]));
        const tn_expr *in = emit_dim(x, (uint32_t)layout_find(&p->data, axis));
        const tn_expr *o = s->axes[layout_find(&p->out, axis)];
        if (border && is_small(p, i, in)) {
            o = tn_cast_to(ctx, TNB_I32, o);
            in = tn_cast_to(ctx, TNB_I32, in);
        }
        const tn_expr *n = border ? window_count(ctx, p, i, o, in, with_padding) : p->size[i];
        count = tn_mul(ctx, count, tn_cast_to(ctx, d, n));
    }
    return tn_is(count, TN_KIND_INT_IMM) ? count : tn_max(ctx, count, tn_int_imm_of(ctx, d, 1));
}

static const char *const reduce_names[] = {"rv0", "rv1", "rv2"};

/* Largest elements, not means. */
static bool
is_max(const tn_call *call)
{
    switch (infer_op(call)->id) {
    case OP_nn_max_pool1d:
    case OP_nn_max_pool2d:
    case OP_nn_max_pool3d:
    case OP_nn_adaptive_max_pool1d:
    case OP_nn_adaptive_max_pool2d:
    case OP_nn_adaptive_max_pool3d:
        return true;
    default:
        return false;
    }
}

const tn_expr *
legalize_pool(tn_builder *b, const tn_call *call)
{
    pool p;
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    bool max = is_max(call);
    if (!read_layouts(ctx, call, &p) || !read_pool(ctx, call, &p) || !has_program(&p))
        return NULL;
    tn_list out_dims = {0};
    tn_type_dims(call->base.type, &out_dims);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    own_sizes(&e, &p);
    tnb_dtype d = emit_dtype(x), sum = max ? d : emit_wide(d);
    const tn_node *padded =
        pad_data(&e, &p, x, out_dims, max ? lowest(ctx, d) : tn_literal(ctx, d, 0));
    tnk_stage *s = emit_stage_of(&e, max ? "pool_max" : "pool_sum", call->base.type, sum);
    const tn_expr *at[MAX_AXES];
    same_places(&p, s, at);
    for (int i = 0; i < p.n; i++) {
        char axis = LAYOUT_SPATIAL(p.axes)[i];
        const tn_expr *r = tnk_te_reduce_axis(s, reduce_names[i], p.size[i]);
        const tn_expr *o = s->axes[layout_find(&p.out, axis)];
        at[layout_find(&p.data, axis)] =
            tn_add(ctx, tn_muli(ctx, o, p.w.stride[i]), tn_muli(ctx, r, p.w.dilation[i]));
    }
    const tn_expr *v = tn_cast_to(ctx, sum, tnk_te_read_at(e.te, padded, at, (uint32_t)p.data.n));
    const tn_node *out = tnk_te_reduce(s, max ? TNK_MAX : TNK_SUM, v);
    if (!max) {
        tnk_stage *t = emit_stage(&e, "pool_avg");
        const tn_expr *count = divisor(&e, &p, x, t, tn_call_int(call, "count_include_pad") != 0);
        v = tn_div(ctx, tnk_te_read_at(e.te, out, t->axes, t->n_axes), tn_cast_to(ctx, sum, count));
        out = tnk_te_define(t, tn_cast_to(ctx, d, v));
    }
    return emit_end(&e, emit_hint(call), out);
}

/* Part o of the axis is [floor(o * in / out), ceil((o + 1) * in / out)). */
const tn_expr *
legalize_adaptive_pool(tn_builder *b, const tn_call *call)
{
    pool p;
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    bool max = is_max(call);
    if (!read_layouts(ctx, call, &p) || !has_program(&p))
        return NULL;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    tnb_dtype d = emit_dtype(x), sum = max ? d : emit_wide(d);
    tnk_stage *s =
        emit_stage_of(&e, max ? "adaptive_pool_max" : "adaptive_pool_sum", call->base.type, sum);
    tn_list out_dims = {0};
    tn_type_dims(call->base.type, &out_dims);
    const tn_expr *at[MAX_AXES], *size[3], *first[3], *inside = NULL;
    same_places(&p, s, at);
    for (int i = 0; i < p.n; i++) {
        char axis = LAYOUT_SPATIAL(p.axes)[i];
        const tn_expr *in = emit_dim(x, (uint32_t)layout_find(&p.data, axis)), *r;
        const tn_expr *out = tnk_te_expr(e.te, out_dims.at[layout_find(&p.out, axis)]);
        const tn_expr *o = s->axes[layout_find(&p.out, axis)];
        int64_t iv = 0, ov = 0;
        if (tn_is_int_const(out, 1) ||
            (tn_int_value(in, &iv) && tn_int_value(out, &ov) && ov && iv % ov == 0)) {
            size[i] = tn_is_int_const(out, 1) ? in : tn_i64(ctx, iv / ov);
            r = tnk_te_reduce_axis(s, reduce_names[i], size[i]);
            first[i] = tn_mul(ctx, o, size[i]);
        } else {
            size[i] = NULL;
            r = tnk_te_reduce_axis(s, reduce_names[i],
                                   dim_simplify(ctx, tn_addi(ctx, emit_floordiv(ctx, in, out), 2)));
            first[i] = emit_floordiv(ctx, tn_mul(ctx, o, in), out);
            const tn_expr *ok = tn_lt_of(ctx, tn_add(ctx, first[i], r),
                                         tn_ceildiv(ctx, tn_mul(ctx, tn_addi(ctx, o, 1), in),
                                                    emit_divisor(ctx, out)));
            inside = inside ? tn_and_of(ctx, inside, ok) : ok;
        }
        at[layout_find(&p.data, axis)] = tn_add(ctx, first[i], r);
    }
    const tn_expr *v = tn_cast_to(ctx, sum, tnk_te_read_at(e.te, x, at, (uint32_t)p.data.n));
    if (inside)
        v = tn_if_then_else(ctx, inside, v, max ? lowest(ctx, sum) : tn_literal(ctx, sum, 0));
    const tn_node *out = tnk_te_reduce(s, max ? TNK_MAX : TNK_SUM, v);
    if (!max) {
        tnk_stage *t = emit_stage(&e, "adaptive_pool_avg");
        const tn_expr *count = tn_i64(ctx, 1);
        for (int i = 0; i < p.n; i++) {
            char axis = LAYOUT_SPATIAL(p.axes)[i];
            const tn_expr *in = emit_dim(x, (uint32_t)layout_find(&p.data, axis));
            const tn_expr *extent = tnk_te_expr(e.te, out_dims.at[layout_find(&p.out, axis)]);
            const tn_expr *o = t->axes[layout_find(&p.out, axis)];
            const tn_expr *end =
                tn_ceildiv(ctx, tn_mul(ctx, tn_addi(ctx, o, 1), in), emit_divisor(ctx, extent));
            const tn_expr *begin = emit_floordiv(ctx, tn_mul(ctx, o, in), extent);
            count = tn_mul(ctx, count, size[i] ? size[i] : tn_sub(ctx, end, begin));
        }
        v = tn_div(ctx, tnk_te_read_at(e.te, out, t->axes, t->n_axes), tn_cast_to(ctx, sum, count));
        out = tnk_te_define(t, tn_cast_to(ctx, d, v));
    }
    return emit_end(&e, emit_hint(call), out);
}

/* The larger value with its position; the earlier one of equal values. Positions below zero lie
 * outside the data. */
static void
combine_indexed(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x,
                const tn_expr **next, uint32_t n, void *user)
{
    (void)n;
    (void)user;
    const tn_expr *take = tn_and_of(ctx, tn_ge_of(ctx, x[1], tn_i64(ctx, 0)),
                                    tn_or_of(ctx, tn_lt_of(ctx, acc[1], tn_i64(ctx, 0)),
                                             tn_gt_of(ctx, x[0], acc[0])));
    next[0] = tn_select_of(ctx, take, x[0], acc[0]);
    next[1] = tn_select_of(ctx, take, x[1], acc[1]);
}

const tn_expr *
legalize_pool_indices(tn_builder *b, const tn_call *call)
{
    pool p = {.n = infer_op(call)->spatial};
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    if (!read_pool(ctx, call, &p))
        return NULL;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    own_sizes(&e, &p);
    tnb_dtype d = emit_dtype(x), dtypes[2] = {d, TNB_I64};
    uint32_t n = (uint32_t)p.n + 2;
    const tn_type *value_type = tn_as_ty_tuple(call->base.type)->fields.at[0];
    tnk_stage *s = emit_stage_of(&e, "pool_max", value_type, d);
    const tn_expr *at[5] = {s->axes[0], s->axes[1]}, *inside = tn_bool(ctx, true);
    const tn_expr *order[5] = {s->axes[0], s->axes[1]}, *extents[5];
    for (uint32_t i = 0; i < n; i++)
        extents[i] = emit_dim(x, i);
    for (int i = 0; i < p.n; i++) {
        const tn_expr *r = tnk_te_reduce_axis(s, reduce_names[i], p.size[i]);
        const tn_expr *first = tn_muli(ctx, s->axes[2 + i], p.w.stride[i]),
                      *step = tn_muli(ctx, r, p.w.dilation[i]);
        const tn_expr *place = tn_subi(ctx, tn_add(ctx, first, step), p.w.before[i]);
        at[2 + i] = place;
        if (p.w.before[i])
            inside = tn_and_of(ctx, inside, tn_ge_of(ctx, place, tn_i64(ctx, 0)));
        if (p.w.after[i] || p.ceil)
            inside = tn_and_of(ctx, inside, tn_lt_of(ctx, place, extents[2 + i]));
    }
    /* column-major: the spatial axes count in the opposite order */
    bool column = tn_call_int(call, "storage_order") != 0;
    const tn_expr *ordered[5] = {extents[0], extents[1]};
    for (int i = 0; i < p.n; i++) {
        int from = column ? p.n - 1 - i : i;
        order[2 + i] = at[2 + from];
        ordered[2 + i] = extents[2 + from];
    }
    const tn_expr *values[2] = {tn_if_then_else(ctx, inside, tnk_te_read_at(e.te, x, at, n),
                                                lowest(ctx, d)),
                                tn_select_of(ctx, inside, emit_flatten(ctx, order, ordered, n),
                                             tn_i64(ctx, -1))};
    const tn_expr *init[2] = {lowest(ctx, d), tn_i64(ctx, -1)};
    const tn_node *outs[2];
    tnk_te_reduce_tuple(s, dtypes, values, init, 2, combine_indexed, NULL, outs);
    return emit_end_n(&e, emit_hint(call), outs, 2);
}
