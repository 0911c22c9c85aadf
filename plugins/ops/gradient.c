/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients (grad.*), marks for differentiation, and the loss over logits. */
#include "emit.h"
#include "layout.h"

const tn_type *
infer_cross_entropy(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *p = infer_tensor(ctx, call, 0);
    const tn_ty_tensor *l = p ? infer_tensor(ctx, call, 1) : NULL;
    tnb_dtype d;
    tn_list a, b;
    if (!l || !infer_same_dtype(ctx, call, p->dtype, l->dtype, &d))
        return tn_error_node(ctx);
    if (infer_ranks_differ(p, l))
        return infer_fail(ctx, call, TNB_SHAPE, "predictions have %lld axes, labels %lld",
                          (long long)p->ndim, (long long)l->ndim);
    if (tn_type_dims(TN_NODE(p), &a) && tn_type_dims(TN_NODE(l), &b))
        for (uint32_t i = 0; i < a.n; i++)
            if (dim_differ(ctx, a.at[i], b.at[i],
                           "predictions and labels differ in axis %u: {} and {}", i))
                return infer_fail(ctx, call, TNB_SHAPE,
                                  "predictions and labels differ in axis %u: %s and %s", i,
                                  tn_text(ctx, a.at[i]), tn_text(ctx, b.at[i]));
    return infer_known(ctx, call, (tn_list){0}, d);
}

const tn_expr *
legalize_cross_entropy(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *p = emit_input(&e, call->args.at[0]), *l = emit_input(&e, call->args.at[1]);
    tnb_dtype d = emit_dtype(p);
    uint32_t n = emit_ndim(p);
    const tn_expr *at[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS)
        return NULL;
    tnk_stage *s = emit_stage(&e, "loss_sum");
    for (uint32_t i = 0; i < n; i++)
        at[i] = tnk_te_reduce_axis(s, "k", emit_dim(p, i));
    const tn_expr *v = tn_mul(ctx, tnk_te_read_at(e.te, p, at, n), tnk_te_read_at(e.te, l, at, n));
    const tn_node *sum = tnk_te_reduce(s, TNK_SUM, v);
    tnk_stage *t = emit_stage(&e, "loss");
    v = tn_mul(ctx, tnk_te_read_at(e.te, sum, t->axes, 0), tn_literal(ctx, d, -1));
    if (n > 1)
        v = tn_div(ctx, v, tn_cast_to(ctx, d, emit_dim(p, 0)));
    return emit_end(&e, "cross_entropy_with_logits", tnk_te_define(t, v));
}

/* The attributes of a pool whose gradient is asked for. */
static bool
check_window(tn_ctx *ctx, const tn_call *call)
{
    const char *axes = layout_data_axes(2);
    layout data, out;
    window w;
    int64_t size[3];
    return layout_read(ctx, call, "layout", axes, &data) &&
           (!tn_call_attr(call, "out_layout") ||
            layout_read(ctx, call, "out_layout", axes, &out)) &&
           window_read(ctx, call, 2, &w) && window_ints(ctx, call, "pool_size", 2, 1, size);
}

/* The incoming gradient has the extents of what was computed forwards. */
static bool
check_incoming(tn_ctx *ctx, const tn_call *call)
{
    bool take = infer_op(call)->id == OP_grad_take_backward;
    tn_list grad, x, at = {0}, want = {0};
    if (!tn_type_dims(call->args.at[0]->type, &grad) || !tn_type_dims(call->args.at[1]->type, &x) ||
        (take && !tn_type_dims(call->args.at[2]->type, &at)))
        return true;
    int64_t axis = take && tn_call_attr(call, "axis") ? tn_call_int(call, "axis") : 0;
    axis += axis < 0 ? (int64_t)x.n : 0;
    for (uint32_t i = 0; i < x.n && (take || i < 2); i++) {
        if (!take || i != axis)
            want = tn_list_append(ctx, want, x.at[i]);
        for (uint32_t k = 0; take && i == axis && k < at.n; k++)
            want = tn_list_append(ctx, want, at.at[k]);
    }
    if (take && grad.n != want.n) {
        infer_fail(ctx, call, TNB_SHAPE, "the incoming gradient has %u axes, expected %u", grad.n,
                   want.n);
        return false;
    }
    for (uint32_t i = 0; i < want.n && i < grad.n; i++)
        if (dim_differ(ctx, grad.at[i], want.at[i],
                       "the incoming gradient has extent {} in axis %u, expected {}", i)) {
            infer_fail(ctx, call, TNB_SHAPE,
                       "the incoming gradient has extent %s in axis %u, expected %s",
                       tn_text(ctx, grad.at[i]), i, tn_text(ctx, want.at[i]));
            return false;
        }
    return true;
}

/* A gradient has the type of what it is taken by: the argument behind the incoming gradient. */
const tn_type *
infer_gradient(tn_ctx *ctx, const tn_call *call)
{
    for (uint32_t i = 0; i < call->args.n; i++)
        if (!infer_tensor(ctx, call, i))
            return tn_error_node(ctx);
    int64_t axis, ndim = tn_type_ndim(call->args.at[1]->type);
    if (infer_op(call)->id != OP_grad_take_backward) {
        if (!check_window(ctx, call))
            return tn_error_node(ctx);
    } else if (!tn_call_attr(call, "axis") && ndim >= 0 && ndim != 1) {
        return infer_fail(ctx, call, TNB_INVALID,
                          "a tensor with %lld axes needs the attribute 'axis'", (long long)ndim);
    } else if (tn_call_attr(call, "axis") && ndim >= 0 &&
               !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), ndim, &axis)) {
        return tn_error_node(ctx);
    }
    if (!check_incoming(ctx, call))
        return tn_error_node(ctx);
    return call->args.at[1]->type;
}

const tn_type *
infer_identity(tn_ctx *ctx, const tn_call *call)
{
    const tn_expr *x = infer_arg(call, 0);
    return x && x->type ? x->type : tn_ty_any(ctx);
}

const tn_expr *
legalize_identity(tn_builder *b, const tn_call *call)
{
    (void)b;
    return call->args.at[0];
}

/* ---- pooling ---- */

typedef struct pool_grad {
    emit e;
    window w;
    int64_t size[2];
    const tn_node *grad, *x; /* NCHW */
} pool_grad;

/* False: declined. */
static bool
pool_grad_begin(pool_grad *p, tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_ty_tensor *g = tn_as_ty_tensor(call->args.at[0]->type);
    const char *out = tn_call_attr(call, "out_layout") ? tn_call_str(call, "out_layout") : "NCHW";
    if (strcmp(tn_call_str(call, "layout"), "NCHW") || strcmp(out, "NCHW") || g->ndim != 4 ||
        tn_type_ndim(call->base.type) != 4 || !window_read(ctx, call, 2, &p->w) ||
        !window_ints(ctx, call, "pool_size", 2, 1, p->size) || p->w.dilation[0] != 1 ||
        p->w.dilation[1] != 1)
        return false;
    p->e = emit_begin(b, call);
    p->grad = emit_input(&p->e, call->args.at[0]);
    p->x = emit_input(&p->e, call->args.at[1]);
    return true;
}

/* The windows that cover an element, as reduction axes: place[i] is the window's position along
 * spatial axis i, of which `inside` says whether it exists and covers the element. */
static const tn_expr *
covering(pool_grad *p, tnk_stage *s, const tn_expr **place)
{
    tn_ctx *ctx = p->e.ctx;
    static const char *const names[] = {"wh", "ww"};
    const tn_expr *inside = NULL;
    for (int i = 0; i < 2; i++) {
        int64_t stride = p->w.stride[i], most = (p->size[i] + stride - 1) / stride;
        const tn_expr *r = tnk_te_reduce_axis(s, names[i], tn_i64(ctx, most));
        const tn_expr *from = tn_addi(ctx, s->axes[2 + i], p->w.before[i]); /* in the padded data */
        place[i] = tn_sub(ctx, emit_floordiv(ctx, from, tn_i64(ctx, stride)), r);
        const tn_expr *ok = emit_inside(ctx, place[i], emit_dim(p->grad, 2 + (uint32_t)i));
        ok = tn_and_of(ctx, ok,
                       tn_lt_of(ctx, from,
                                tn_addi(ctx, tn_muli(ctx, place[i], stride), p->size[i])));
        inside = inside ? tn_and_of(ctx, inside, ok) : ok;
    }
    return inside;
}

static const tn_expr *
pool_grad_end(pool_grad *p, tnk_stage *s, const tn_expr *inside, const tn_expr *value,
              const char *hint)
{
    tn_ctx *ctx = p->e.ctx;
    const tn_expr *zero = tn_literal(ctx, emit_dtype(p->grad), 0);
    return emit_end(&p->e, hint, tnk_te_sum(s, tn_if_then_else(ctx, inside, value, zero)));
}

const tn_expr *
legalize_avg_pool_grad(tn_builder *b, const tn_call *call)
{
    pool_grad p;
    if (!pool_grad_begin(&p, b, call))
        return NULL;
    tn_ctx *ctx = p.e.ctx;
    tnb_dtype d = emit_dtype(p.grad);
    bool with_padding = tn_call_int(call, "count_include_pad") != 0;
    tnk_stage *s = emit_stage(&p.e, "T_pool_grad");
    const tn_expr *at[4] = {s->axes[0], s->axes[1]}, *count = tn_i64(ctx, 1);
    const tn_expr *inside = covering(&p, s, at + 2);
    for (int i = 0; i < 2; i++) {
        const tn_expr *start = tn_subi(ctx, tn_muli(ctx, at[2 + i], p.w.stride[i]), p.w.before[i]);
        const tn_expr *end =
            tn_min(ctx, tn_addi(ctx, start, p.size[i]), emit_dim(p.x, 2 + (uint32_t)i));
        count = tn_mul(ctx, count,
                       with_padding ? tn_i64(ctx, p.size[i])
                                    : tn_sub(ctx, end, tn_max(ctx, start, tn_i64(ctx, 0))));
    }
    if (!with_padding)
        count = tn_max(ctx, count, tn_i64(ctx, 1));
    const tn_expr *v =
        tn_div(ctx, tnk_te_read_at(p.e.te, p.grad, at, 4), tn_cast_to(ctx, d, count));
    return pool_grad_end(&p, s, inside, v, "avg_pool2d_backward");
}

/* The larger value with its position, the earlier one of equal values; -1: none yet. */
static void
first_largest(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
              uint32_t n, void *user)
{
    (void)n;
    (void)user;
    const tn_expr *take = tn_and_of(ctx, tn_ge_of(ctx, x[0], tn_i64(ctx, 0)),
                                    tn_or_of(ctx, tn_lt_of(ctx, acc[0], tn_i64(ctx, 0)),
                                             tn_gt_of(ctx, x[1], acc[1])));
    next[0] = tn_select_of(ctx, take, x[0], acc[0]);
    next[1] = tn_select_of(ctx, take, x[1], acc[1]);
}

const tn_expr *
legalize_max_pool_grad(tn_builder *b, const tn_call *call)
{
    pool_grad p;
    if (!pool_grad_begin(&p, b, call))
        return NULL;
    tn_ctx *ctx = p.e.ctx;
    tnb_dtype d = emit_dtype(p.x), dtypes[2] = {TNB_I64, d};
    const tn_expr *height = emit_dim(p.x, 2), *width = emit_dim(p.x, 3), *inside = NULL;
    tnk_stage *s =
        tnk_te_stage(p.e.te, "maxpool_grad_argmax", tn_as_buffer(p.grad)->shape.at, 4, d);
    const tn_expr *at[4] = {s->axes[0], s->axes[1]};
    for (int i = 0; i < 2; i++) {
        const tn_expr *r = tnk_te_reduce_axis(s, i ? "dw" : "dh", tn_i64(ctx, p.size[i]));
        at[2 + i] = tn_subi(ctx, tn_add(ctx, tn_muli(ctx, s->axes[2 + i], p.w.stride[i]), r),
                            p.w.before[i]);
        const tn_expr *ok = emit_inside(ctx, at[2 + i], i ? width : height);
        inside = inside ? tn_and_of(ctx, inside, ok) : ok;
    }
    const tn_expr *least = tn_min_value(ctx, d);
    const tn_expr *values[2] = {
        tn_select_of(ctx, inside, tn_add(ctx, tn_mul(ctx, at[2], width), at[3]), tn_i64(ctx, -1)),
        tn_if_then_else(ctx, inside, tnk_te_read_at(p.e.te, p.x, at, 4), least)};
    const tn_expr *init[2] = {tn_i64(ctx, -1), least};
    const tn_node *best[2];
    tnk_te_reduce_tuple(s, dtypes, values, init, 2, first_largest, NULL, best);
    s = emit_stage(&p.e, "T_pool_grad");
    inside = covering(&p, s, at + 2);
    at[0] = s->axes[0];
    at[1] = s->axes[1];
    const tn_expr *own = tn_add(ctx, tn_mul(ctx, s->axes[2], width), s->axes[3]);
    const tn_expr *v =
        tn_select_of(ctx, tn_eq_of(ctx, tnk_te_read_at(p.e.te, best[0], at, 4), own),
                     tnk_te_read_at(p.e.te, p.grad, at, 4), tn_literal(ctx, emit_dtype(p.grad), 0));
    return pool_grad_end(&p, s, inside, v, "max_pool2d_backward");
}

/* ---- take ---- */

/* Zeros, to which each slice of the gradient is added at its index. */
const tn_expr *
legalize_take_grad(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    if (!tn_is(call->args.at[2]->type, TN_KIND_TY_TENSOR))
        return NULL;
    const tn_node *in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = emit_input(&e, call->args.at[i]);
    tnb_dtype d = emit_dtype(in[1]);
    uint32_t n = emit_ndim(in[1]), m = emit_ndim(in[2]), total = emit_ndim(in[0]);
    int64_t axis = tn_call_attr(call, "axis") ? tn_call_int(call, "axis") : 0;
    const tn_expr *vars[INFER_MAX_DIMS], *zeros[INFER_MAX_DIMS], *place[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS || total > INFER_MAX_DIMS || total + 1 != n + m)
        return NULL;
    axis += axis < 0 ? (int64_t)n : 0;
    const tn_node *out = tnk_te_buffer(e.te, "out_buf", tn_as_buffer(in[1])->shape.at, n, d);
    emit_loop_vars(ctx, zeros, n);
    emit_loop_vars(ctx, vars, total);
    const tn_stmt *clear =
        tn_buffer_store_of(ctx, out, tn_literal(ctx, d, 0), tn_list_of(ctx, zeros, n));
    clear = emit_loops(ctx, zeros, tn_as_buffer(out)->shape.at, n, clear);
    for (uint32_t i = 0; i < n; i++)
        place[i] = i < axis ? vars[i] : i > axis ? vars[i + m - 1] : NULL;
    place[axis] = emit_data_index(&e, call->args.at[2], tnk_te_read_at(e.te, in[2], vars + axis, m),
                                  emit_dim(in[1], (uint32_t)axis), true, emit_axis(ctx, axis));
    if (tn_is_error(place[axis]))
        return place[axis];
    tn_list at = tn_list_of(ctx, place, n);
    const tn_stmt *add = tn_buffer_store_of(ctx, out,
                                            tn_add(ctx, tn_buffer_load_of(ctx, out, at),
                                                   tnk_te_read_at(e.te, in[0], vars, total)),
                                            at);
    add = emit_loops(ctx, vars, tn_as_buffer(in[0])->shape.at, total, add);
    tnk_te_extern(e.te, "take_backward", in, 3, &out, 1, tn_seqv(ctx, clear, add, NULL));
    return emit_end(&e, "take_backward", out);
}
