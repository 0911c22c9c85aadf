/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions over 1 to 3 spatial axes, and transposed ones.
 *
 * A convolution becomes a padding stage (left out where nothing is padded) and one reduction block
 * over result axes, input channels and kernel axes; where layouts have blocks of channels, over
 * blocks and within them. A transposed convolution spreads its input (zeros between the elements and
 * around) and is then a convolution with the flipped kernel.
 * Sums run in the type that the attribute 'out_dtype' gives. Without it they run in the result's, those of float16 and bfloat16 in
 * float32.
 */
#include "emit.h"
#include "layout.h"

#include "tenon/kit/layout.h"

typedef struct conv {
    int n; /* spatial axes */
    const char *axes, *kernel_axes;
    layout data, kernel, out;
    window w;
    int64_t groups;
    tn_list data_dims, kernel_dims;
} conv;

static bool
read_conv(tn_ctx *ctx, const tn_call *call, conv *c)
{
    c->n = infer_op(call)->spatial;
    c->axes = layout_data_axes(c->n);
    c->kernel_axes = layout_kernel_axes(c->n);
    c->groups = tn_call_int(call, "groups");
    if (!layout_read(ctx, call, "data_layout", c->axes, &c->data) ||
        !layout_read(ctx, call, "kernel_layout", c->kernel_axes, &c->kernel) ||
        !window_read(ctx, call, c->n, &c->w))
        return false;
    if (tn_call_attr(call, "out_layout")) {
        if (!layout_read(ctx, call, "out_layout", c->axes, &c->out))
            return false;
    } else {
        c->out = c->data;
    }
    if (c->groups < 1) {
        infer_fail(ctx, call, TNB_INVALID, "attribute 'groups' is %lld, expected at least 1",
                   (long long)c->groups);
        return false;
    }
    return true;
}

/* Ranks and element types. */
static bool
check_operands(tn_ctx *ctx, const tn_call *call, const conv *c, const tn_ty_tensor *x,
               const tn_ty_tensor *k, tnb_dtype *d)
{
    const tn_ty_tensor *t[2] = {x, k};
    const layout *l[2] = {&c->data, &c->kernel};
    for (int i = 0; i < 2; i++) {
        if (t[i]->ndim >= 0 && t[i]->ndim != l[i]->n) {
            infer_fail(ctx, call, TNB_SHAPE, "the %s has %lld axes, its layout %s has %d",
                       i ? "kernel" : "data", (long long)t[i]->ndim, l[i]->text, l[i]->n);
            return false;
        }
    }
    *d = tn_call_dtype(call, "out_dtype");
    if (tnb_dtype_is_void(*d))
        return infer_same_dtype(ctx, call, x->dtype, k->dtype, d);
    return true;
}

/* in_channels is what one group of the kernel takes, out_channels what the whole result has. */
static bool
check_channels(tn_ctx *ctx, const tn_call *call, const conv *c, const tn_expr *data_channels,
               const tn_expr *kernel_channels, const tn_expr *grouped)
{
    int64_t in = 0, per = 0, g = c->groups;
    if (dim_differ(ctx, data_channels, dim_muli(ctx, kernel_channels, g),
                   "the data has {} channels, the kernel takes {} in %lld groups", (long long)g)) {
        tn_int_value(data_channels, &in);
        tn_int_value(kernel_channels, &per);
        infer_fail(ctx, call, TNB_SHAPE,
                   "the data has %lld channels, the kernel takes %lld in each of %lld groups",
                   (long long)in, (long long)per, (long long)g);
        return false;
    }
    if (dim_ragged(ctx, grouped, g, "{} channels are not a multiple of %lld groups",
                   (long long)g)) {
        tn_int_value(grouped, &in);
        infer_fail(ctx, call, TNB_SHAPE,
                   "attribute 'groups' is %lld, but %lld channels are not a multiple of it",
                   (long long)g, (long long)in);
        return false;
    }
    return true;
}

const tn_type *
infer_conv(tn_ctx *ctx, const tn_call *call)
{
    conv c;
    tnb_dtype d;
    tn_list x, k;
    const tn_expr *out[5];
    const tn_ty_tensor *tx = infer_tensor(ctx, call, 0), *tk = infer_tensor(ctx, call, 1);
    if (!tx || !tk || !read_conv(ctx, call, &c) || !check_operands(ctx, call, &c, tx, tk, &d))
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(tx), &x) || !tn_type_dims(TN_NODE(tk), &k))
        return infer_rank(ctx, call, c.out.n, d);
    if (!layout_fits(ctx, call, &c.data, x, "data") ||
        !layout_fits(ctx, call, &c.kernel, k, "kernel"))
        return tn_error_node(ctx);
    const tn_expr *channels = layout_extent(ctx, &c.data, x, 'C');
    out[0] = layout_extent(ctx, &c.data, x, 'N');
    out[1] = layout_extent(ctx, &c.kernel, k, 'O');
    if (!check_channels(ctx, call, &c, channels, layout_extent(ctx, &c.kernel, k, 'I'), out[1]))
        return tn_error_node(ctx);
    for (int i = 0; i < c.n; i++) {
        char axis = LAYOUT_SPATIAL(c.axes)[i];
        const tn_expr *in = layout_extent(ctx, &c.data, x, axis);
        const tn_expr *size = layout_extent(ctx, &c.kernel, k, axis);
        const tn_expr *reach = dim_muli(ctx, dim_addi(ctx, size, -1), c.w.dilation[i]);
        const tn_expr *room =
            dim_sub(ctx, dim_addi(ctx, in, c.w.before[i] + c.w.after[i] - 1), reach);
        out[2 + i] = dim_addi(ctx, dim_floordiv(ctx, room, c.w.stride[i]), 1);
        if (!window_leaves(ctx, call, out[2 + i], axis, WINDOW_LARGE))
            return tn_error_node(ctx);
    }
    return infer_known(ctx, call, layout_dims(ctx, &c.out, c.axes, out), d);
}

const tn_type *
infer_conv_transpose(tn_ctx *ctx, const tn_call *call)
{
    conv c;
    tnb_dtype d;
    tn_list x, k;
    int64_t extra[3];
    const tn_expr *out[5];
    const tn_ty_tensor *tx = infer_tensor(ctx, call, 0), *tk = infer_tensor(ctx, call, 1);
    if (!tx || !tk || !read_conv(ctx, call, &c) || !check_operands(ctx, call, &c, tx, tk, &d) ||
        !window_ints(ctx, call, "output_padding", c.n, 0, extra))
        return tn_error_node(ctx);
    for (int i = 0; i < c.n; i++) {
        if (extra[i] >= c.w.stride[i] && extra[i] >= c.w.dilation[i]) {
            infer_fail(ctx, call, TNB_INVALID,
                       "output_padding %lld must be below the stride %lld or dilation %lld",
                       (long long)extra[i], (long long)c.w.stride[i], (long long)c.w.dilation[i]);
            return tn_error_node(ctx);
        }
    }
    if (!tn_type_dims(TN_NODE(tx), &x) || !tn_type_dims(TN_NODE(tk), &k))
        return infer_rank(ctx, call, c.out.n, d);
    if (!layout_fits(ctx, call, &c.data, x, "data") ||
        !layout_fits(ctx, call, &c.kernel, k, "kernel"))
        return tn_error_node(ctx);
    /* The kernel's I is the data's channels, its O those of one group of the result. */
    const tn_expr *channels = layout_extent(ctx, &c.data, x, 'C');
    const tn_expr *taken = layout_extent(ctx, &c.kernel, k, 'I');
    if (dim_differ(ctx, channels, taken, "the data has {} channels, the kernel takes {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "the data has %s channels, the kernel takes %s",
                          tn_text(ctx, channels), tn_text(ctx, taken));
    int64_t in = 0;
    tn_int_value(channels, &in);
    if (dim_ragged(ctx, channels, c.groups, "{} channels are not a multiple of %lld groups",
                   (long long)c.groups))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "attribute 'groups' is %lld, but %lld channels are not a multiple of it",
                          (long long)c.groups, (long long)in);
    out[0] = layout_extent(ctx, &c.data, x, 'N');
    out[1] = dim_muli(ctx, layout_extent(ctx, &c.kernel, k, 'O'), c.groups);
    for (int i = 0; i < c.n; i++) {
        char axis = LAYOUT_SPATIAL(c.axes)[i];
        const tn_expr *size = layout_extent(ctx, &c.kernel, k, axis);
        const tn_expr *reach = dim_muli(ctx, dim_addi(ctx, size, -1), c.w.dilation[i]);
        const tn_expr *spread =
            dim_muli(ctx, dim_addi(ctx, layout_extent(ctx, &c.data, x, axis), -1), c.w.stride[i]);
        out[2 + i] =
            dim_addi(ctx, dim_add(ctx, spread, reach), 1 + extra[i] - c.w.before[i] - c.w.after[i]);
        if (!window_leaves(ctx, call, out[2 + i], axis, "the paddings are larger than the result"))
            return tn_error_node(ctx);
    }
    return infer_known(ctx, call, layout_dims(ctx, &c.out, c.axes, out), d);
}

/* ---- legalization ---- */

enum { MAX_AXES = 8 }; /* N, C, three spatial ones; blocks of channels */

/* The data with zeros around its spatial axes; the data itself where nothing is padded. */
static const tn_node *
pad_data(emit *e, const conv *c, const tn_node *x)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *dims[MAX_AXES], *idx[MAX_AXES], *inside = NULL;
    bool any = false;
    for (int i = 0; i < c->data.n; i++)
        dims[i] = emit_dim(x, (uint32_t)i);
    for (int i = 0; i < c->n; i++) {
        int at = layout_find(&c->data, LAYOUT_SPATIAL(c->axes)[i]);
        dims[at] = dim_addi(ctx, dims[at], c->w.before[i] + c->w.after[i]);
        any |= c->w.before[i] || c->w.after[i];
    }
    if (!any)
        return x;
    tnk_stage *s = tnk_te_stage(e->te, "pad_temp", dims, (uint32_t)c->data.n, emit_dtype(x));
    memcpy(idx, s->axes, (size_t)c->data.n * sizeof *idx);
    for (int i = 0; i < c->n; i++) {
        int at = layout_find(&c->data, LAYOUT_SPATIAL(c->axes)[i]);
        int64_t before = c->w.before[i];
        if (!before && !c->w.after[i])
            continue;
        const tn_expr *end = tn_addi(ctx, emit_dim(x, (uint32_t)at), before);
        const tn_expr *low = tn_le_of(ctx, tn_i64(ctx, before), s->axes[at]),
                      *high = tn_lt_of(ctx, s->axes[at], end);
        idx[at] = before ? tn_subi(ctx, s->axes[at], before) : s->axes[at];
        if (before)
            inside = inside ? tn_and_of(ctx, inside, low) : low;
        if (c->w.after[i])
            inside = inside ? tn_and_of(ctx, inside, high) : high;
    }
    const tn_expr *v = tnk_te_read_at(e->te, x, idx, (uint32_t)c->data.n);
    return tnk_te_define(s, tn_if_then_else(ctx, inside, v, tn_literal(ctx, emit_dtype(x), 0)));
}

/* "conv2d", "depthwise_conv2d", "group_conv2d". */
static const char *
conv_hint(emit *e, const conv *c, const tn_node *kernel)
{
    const char *kind = "";
    if (c->groups > 1) {
        int at = layout_find(&c->kernel, 'I');
        kind = tn_is_int_const(emit_dim(kernel, (uint32_t)at), 1) ? "depthwise_" : "group_";
    }
    return tnb_printf(tn_scratch(e->ctx), "%sconv%dd", kind, c->n);
}

/* ---- blocked layouts that no direct program is written for: brought to plain ones and back ---- */

/* The axes of a layout without its blocks, in their order. */
static const char *
plain_text(tn_ctx *ctx, const layout *l)
{
    char text[16];
    size_t n = 0;
    for (int i = 0; i < l->n; i++)
        if (!l->factor[i])
            text[n++] = l->axis[i];
    return tn_strn(ctx, text, n);
}

static const tn_expr *
laid_out(tn_builder *b, const tn_expr *x, const char *from, const char *to)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_node *map = strcmp(from, to) ? tnk_layout_index_map(ctx, from, to) : NULL;
    if (!map)
        return x;
    return tn_emit(b,
                   tn_call_opv(ctx, "layout_transform", tn_dictv(ctx, "index_map", map, NULL), x,
                               NULL),
                   "lv");
}

static const tn_expr *
through_plain(tn_builder *b, const tn_call *call, const conv *c)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const char *data = plain_text(ctx, &c->data), *kernel = plain_text(ctx, &c->kernel);
    const char *out = plain_text(ctx, &c->out);
    const tn_expr *x = laid_out(b, call->args.at[0], c->data.text, data);
    const tn_expr *k = laid_out(b, call->args.at[1], c->kernel.text, kernel);
    const tn_node *attrs = tn_dict_set(ctx, call->attrs, "data_layout", tn_string(ctx, data));
    attrs = tn_dict_set(ctx, attrs, "kernel_layout", tn_string(ctx, kernel));
    attrs = tn_dict_set(ctx, attrs, "out_layout", tn_string(ctx, out));
    const tn_expr *y = tn_call_opv(ctx, tn_call_op_of(call)->base.name, attrs, x, k, NULL);
    if (tn_is_error(y))
        return y;
    y = laid_out(b, tn_emit(b, y, "lv"), out, c->out.text);
    /* channels that the result's blocks do not divide have no such layout */
    return tn_type_equal(ctx, y->type, call->base.type) ? y : NULL;
}

/* ---- the program ---- */

/* An index of channels: itself, and where it is made of a block's and one within, these. */
typedef struct conv_channel {
    const tn_expr *whole, *outer, *inner;
    int64_t block; /* 0: not known in parts */
} conv_channel;

static conv_channel
in_blocks(tn_ctx *ctx, const tn_expr *outer, const tn_expr *inner, int64_t block)
{
    return (conv_channel){tn_add(ctx, tn_muli(ctx, outer, block), inner), outer, inner, block};
}

/* The channel as the indices of an axis, upper-case, and of its block. */
static void
put_channel(tn_ctx *ctx, const layout *l, char axis, conv_channel c, const tn_expr **idx)
{
    int block = layout_find(l, (char)(axis - 'A' + 'a'));
    const tn_expr **outer = &idx[layout_find(l, axis)];
    if (block < 0) {
        *outer = c.whole;
        return;
    }
    int64_t f = l->factor[block];
    *outer = c.block == f ? c.outer : emit_floordiv(ctx, c.whole, tn_i64(ctx, f));
    idx[block] = c.block == f ? c.inner : emit_floormod(ctx, c.whole, tn_i64(ctx, f));
}

static int64_t
block_of(const layout *l, char axis)
{
    int at = layout_find(l, axis);
    return at < 0 ? 0 : l->factor[at];
}

/* Only channels are in blocks, which divide what they are blocks of. */
static bool
has_program(const conv *c, const tn_expr *out_channels, const tn_expr *taken)
{
    const layout *l[3] = {&c->data, &c->out, &c->kernel};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < l[i]->n; k++)
            if (l[i]->factor[k] && !strchr(i < 2 ? "c" : "oi", l[i]->axis[k]))
                return false;
        any |= layout_blocked(l[i]);
    }
    int64_t outs, in, out_block = block_of(&c->out, 'c'), in_block = block_of(&c->data, 'c');
    if (!any)
        return true;
    /* of symbolic channels the type inference states that blocks divide them */
    return (!out_block || !tn_int_value(out_channels, &outs) || outs % out_block == 0) &&
           (!in_block || !tn_int_value(taken, &in) || in == 1 || in % in_block == 0);
}

/* The channel of the data that a turn of the reduction reads for channel `oc` of the result. */
static conv_channel
data_channel(tn_ctx *ctx, const conv *c, conv_channel oc, conv_channel rc, const tn_expr *outs,
             const tn_expr *taken, bool depthwise)
{
    int64_t n, in;
    if (c->groups == 1)
        return rc;
    if (depthwise && tn_is_int_const(outs, 1))
        return oc;
    if (depthwise)
        return (conv_channel){.whole = emit_floordiv(ctx, oc.whole, outs)};
    if (!rc.block || !tn_int_value(outs, &n) || !tn_int_value(taken, &in))
        return (conv_channel){
            .whole = tn_add(ctx, tn_mul(ctx, emit_floordiv(ctx, oc.whole, outs), taken), rc.whole)};
    const tn_expr *group = oc.block && n % oc.block == 0
                               ? emit_floordiv(ctx, oc.outer, tn_i64(ctx, n / oc.block))
                               : emit_floordiv(ctx, oc.whole, outs);
    return in_blocks(ctx, tn_add(ctx, tn_muli(ctx, group, in / rc.block), rc.outer), rc.inner,
                     rc.block);
}

static tnb_dtype
sum_dtype(const tn_call *call)
{
    tnb_dtype d = tn_type_dtype(call->base.type);
    return tnb_dtype_eq(tn_call_dtype(call, "out_dtype"), d) ? d : emit_wide(d);
}

/* The sum of v * w over the stage's reduction axes, in dtype `sum`, which is the stage's; the result has dtype d. */
static const tn_expr *
end_products(emit *e, const char *hint, tnk_stage *s, tnb_dtype sum, tnb_dtype d, const tn_expr *v,
             const tn_expr *w)
{
    tn_ctx *ctx = e->ctx;
    const tn_node *out =
        tnk_te_sum(s, tn_mul(ctx, tn_cast_to(ctx, sum, v), tn_cast_to(ctx, sum, w)));
    if (!tnb_dtype_eq(sum, d)) {
        s = emit_stage(e, "T_cast");
        out = tnk_te_define(s, tn_cast_to(ctx, d, tnk_te_read_at(e->te, out, s->axes, s->n_axes)));
    }
    return emit_end(e, hint, out);
}

const tn_expr *
legalize_conv(tn_builder *b, const tn_call *call)
{
    conv c;
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    if (!read_conv(ctx, call, &c))
        return NULL;
    tn_list x_dims = emit_dims(call->args.at[0]), k_dims = emit_dims(call->args.at[1]);
    const tn_expr *out_channels = layout_extent(ctx, &c.kernel, k_dims, 'O');
    const tn_expr *taken = layout_extent(ctx, &c.kernel, k_dims, 'I'); /* channels of a group */
    if (!has_program(&c, out_channels, taken))
        return through_plain(b, call, &c);
    tnb_dtype d = tn_type_dtype(call->base.type), sum = sum_dtype(call);
    const tn_node *x = emit_input(&e, call->args.at[0]), *k = emit_input(&e, call->args.at[1]);
    out_channels = tnk_te_expr(e.te, out_channels);
    taken = tnk_te_expr(e.te, taken);
    if (c.groups > 1)
        taken = dim_floordiv(ctx, tnk_te_expr(e.te, layout_extent(ctx, &c.data, x_dims, 'C')),
                             c.groups);
    const tn_node *padded = pad_data(&e, &c, x);
    const tn_expr *at[MAX_AXES], *kat[MAX_AXES];
    tnk_stage *s =
        emit_stage_of(&e, tnb_printf(tn_scratch(ctx), "conv%dd", c.n), call->base.type, sum);
    int64_t block = block_of(&c.out, 'c'), in;
    conv_channel oc = {.whole = s->axes[layout_find(&c.out, 'C')]}, rc = {0};
    if (block)
        oc = in_blocks(ctx, oc.whole, s->axes[layout_find(&c.out, 'c')], block);
    bool blocked = layout_blocked(&c.data) || layout_blocked(&c.kernel) || block;
    bool depthwise = blocked && c.groups > 1 && tn_is_int_const(taken, 1);
    /* reduction axes in the order of the data's */
    block = block_of(&c.data, 'c') ? block_of(&c.data, 'c') : block_of(&c.kernel, 'i');
    if (block && (tn_int_value(taken, &in) ? in % block : c.groups > 1))
        block = 0;
    for (int i = 0; i < c.data.n; i++) {
        char axis = c.data.axis[i];
        const char *spatial = strchr(LAYOUT_SPATIAL(c.axes), axis);
        if (axis == 'N') {
            at[i] = s->axes[layout_find(&c.out, 'N')];
        } else if (spatial) {
            static const char *const names[] = {"rz", "ry", "rx"};
            ptrdiff_t n = spatial - LAYOUT_SPATIAL(c.axes);
            int k_at = layout_find(&c.kernel, axis);
            const tn_expr *r =
                tnk_te_reduce_axis(s, names[3 - c.n + n], emit_dim(k, (uint32_t)k_at));
            const tn_expr *o = s->axes[layout_find(&c.out, axis)];
            kat[k_at] = r;
            at[i] = tn_add(ctx, tn_muli(ctx, o, c.w.stride[n]), tn_muli(ctx, r, c.w.dilation[n]));
        } else if (depthwise) {
            rc.whole = tn_i64(ctx, 0);
        } else if (axis == 'C') {
            rc.whole = tnk_te_reduce_axis(s, block ? "rco" : "rc",
                                          block ? dim_floordiv(ctx, taken, block) : taken);
        } else if (block) {
            rc = in_blocks(ctx, rc.whole, tnk_te_reduce_axis(s, "rci", tn_i64(ctx, block)), block);
        }
    }
    if (block && !rc.block && !depthwise) /* the kernel's blocks */
        rc = in_blocks(ctx, rc.whole, tnk_te_reduce_axis(s, "rci", tn_i64(ctx, block)), block);
    const tn_expr *outs = dim_floordiv(ctx, out_channels, c.groups);
    put_channel(ctx, &c.data, 'C', data_channel(ctx, &c, oc, rc, outs, taken, depthwise), at);
    put_channel(ctx, &c.kernel, 'I', rc, kat);
    put_channel(ctx, &c.kernel, 'O', oc, kat);
    const tn_expr *v = tnk_te_read_at(e.te, padded, at, (uint32_t)c.data.n),
                  *w = tnk_te_read_at(e.te, k, kat, (uint32_t)c.kernel.n);
    return end_products(&e, conv_hint(&e, &c, k), s, sum, d, v, w);
}

/* The data with stride - 1 zeros between elements along spatial axes and as many around as the
 * kernel reaches. */
static const tn_node *
spread_data(emit *e, const conv *c, const tn_node *x, const tn_node *k, tn_list out_dims)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *dims[5], *idx[5], *inside = tn_bool(ctx, true);
    for (int i = 0; i < c->data.n; i++)
        dims[i] = emit_dim(x, (uint32_t)i);
    for (int i = 0; i < c->n; i++) {
        char axis = LAYOUT_SPATIAL(c->axes)[i];
        const tn_expr *size = emit_dim(k, (uint32_t)layout_find(&c->kernel, axis));
        const tn_expr *reach = dim_muli(ctx, dim_addi(ctx, size, -1), c->w.dilation[i]);
        const tn_expr *out = tnk_te_expr(e->te, out_dims.at[layout_find(&c->out, axis)]);
        dims[layout_find(&c->data, axis)] = dim_add(ctx, out, reach);
    }
    tnk_stage *s = tnk_te_stage(e->te, "data_dilate", dims, (uint32_t)c->data.n, emit_dtype(x));
    memcpy(idx, s->axes, (size_t)c->data.n * sizeof *idx);
    for (int i = 0; i < c->n; i++) {
        char axis = LAYOUT_SPATIAL(c->axes)[i];
        int at = layout_find(&c->data, axis);
        const tn_expr *size = emit_dim(k, (uint32_t)layout_find(&c->kernel, axis));
        const tn_expr *reach = dim_muli(ctx, dim_addi(ctx, size, -1), c->w.dilation[i]);
        const tn_expr *place = tn_sub(ctx, tn_addi(ctx, s->axes[at], c->w.before[i]), reach);
        const tn_expr *stride = tn_i64(ctx, c->w.stride[i]);
        const tn_expr *end = tn_mul(ctx, emit_dim(x, (uint32_t)at), stride);
        inside = tn_and_of(ctx, inside, emit_inside(ctx, place, end));
        if (c->w.stride[i] > 1)
            inside = tn_and_of(ctx, inside,
                               tn_eq_of(ctx, emit_floormod(ctx, place, stride), tn_i64(ctx, 0)));
        idx[at] = emit_floordiv(ctx, place, stride);
    }
    const tn_expr *v = tnk_te_read_at(e->te, x, idx, (uint32_t)c->data.n);
    return tnk_te_define(s, tn_if_then_else(ctx, inside, v, tn_literal(ctx, emit_dtype(x), 0)));
}

const tn_expr *
legalize_conv_transpose(tn_builder *b, const tn_call *call)
{
    conv c;
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    if (!read_conv(ctx, call, &c))
        return NULL;
    if (layout_blocked(&c.data) || layout_blocked(&c.kernel) || layout_blocked(&c.out))
        return through_plain(b, call, &c);
    tnb_dtype d = tn_type_dtype(call->base.type), sum = sum_dtype(call);
    tn_list out_dims = {0};
    tn_type_dims(call->base.type, &out_dims);
    const tn_node *x = emit_input(&e, call->args.at[0]), *k = emit_input(&e, call->args.at[1]);
    const tn_node *wide = spread_data(&e, &c, x, k, out_dims);
    const tn_expr *at[5], *kat[5];
    const char *name = tnb_printf(tn_scratch(ctx), "conv%dd_transpose", c.n);
    tnk_stage *s = emit_stage_of(&e, name, call->base.type, sum);
    const tn_expr *oc = s->axes[layout_find(&c.out, 'C')];
    int i_at = layout_find(&c.kernel, 'I'), o_at = layout_find(&c.kernel, 'O');
    const tn_expr *group_in =
        emit_floordiv(ctx, emit_dim(k, (uint32_t)i_at), tn_i64(ctx, c.groups));
    const tn_expr *group_out = emit_dim(k, (uint32_t)o_at);
    const tn_expr *ic = tnk_te_reduce_axis(s, "rc", group_in), *channel = ic, *o_in = oc;
    if (c.groups > 1) {
        channel = tn_add(ctx, tn_mul(ctx, emit_floordiv(ctx, oc, group_out), group_in), ic);
        o_in = emit_floormod(ctx, oc, group_out);
    }
    at[layout_find(&c.data, 'N')] = s->axes[layout_find(&c.out, 'N')];
    at[layout_find(&c.data, 'C')] = channel;
    kat[o_at] = o_in;
    kat[i_at] = channel;
    for (int i = 0; i < c.n; i++) {
        static const char *const names[] = {"rz", "ry", "rx"};
        char axis = LAYOUT_SPATIAL(c.axes)[i];
        int k_at = layout_find(&c.kernel, axis);
        const tn_expr *size = emit_dim(k, (uint32_t)k_at);
        const tn_expr *r = tnk_te_reduce_axis(s, names[3 - c.n + i], size);
        kat[k_at] = tn_sub(ctx, tn_subi(ctx, size, 1), r);
        at[layout_find(&c.data, axis)] =
            tn_add(ctx, s->axes[layout_find(&c.out, axis)], tn_muli(ctx, r, c.w.dilation[i]));
    }
    const tn_expr *v = tnk_te_read_at(e.te, wide, at, (uint32_t)c.data.n),
                  *w = tnk_te_read_at(e.te, k, kat, (uint32_t)c.kernel.n);
    return end_products(&e, name, s, sum, d, v, w);
}
