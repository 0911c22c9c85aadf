/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions as convolutions: elements of the result whose rows and columns leave the same rest by the strides come
 * from the same elements of the kernel, and become channels. No zeros are multiplied.
 *
 *     lv = R.nn.conv2d_transpose(x, w, strides=[2, 2], padding=[1, 1, 1, 1])       # w (I, O, 4, 4)
 *  -> lv1 = R.call_tir(cls.sub_pixel_kernel, (w,), ...)                            # (4 O, I, 2, 2); folded if w is constant
 *     lv2 = R.nn.conv2d(x, lv1, padding=[1, 1, 1, 1])                              # (n, 4 O, rows + 1, columns + 1)
 *     lv = R.call_tir(cls.sub_pixels, (lv2,), ...)                                 # back to rows and columns
 */
#include "cpu.h"
#include "tenon/kit/te.h"

typedef struct transposed {
    tn_ctx *ctx;
    int64_t stride[2], before[2], after[2], size[2]; /* of the kernel */
    int64_t taps[2];                                 /* of the kernel of a rest */
    int64_t in, out;
} transposed;

/* (I, O, rows, columns) by rests: (O * rests, I, taps, taps), flipped, with 0 where no element is left. */
static const tn_expr *
kernel_by_rest(const transposed *t, tn_builder *b, const tn_expr *k)
{
    tn_ctx *ctx = t->ctx;
    tnk_te *te = tnk_te_new(ctx);
    tnb_dtype d = tn_type_dtype(k->type);
    const tn_node *in = tnk_te_input(te, "w", k->type);
    int64_t rests = t->stride[0] * t->stride[1];
    const tn_expr *dims[4] = {tn_i64(ctx, t->out * rests), tn_i64(ctx, t->in),
                              tn_i64(ctx, t->taps[0]), tn_i64(ctx, t->taps[1])};
    tnk_stage *s = tnk_te_stage(te, "sub_pixel_kernel", dims, 4, d);
    const tn_expr *at[2], *inside = NULL;
    for (int i = 0; i < 2; i++) {
        const tn_expr *rest =
            i ? tn_floormodi(ctx, s->axes[0], t->stride[1])
              : tn_floormodi(ctx, tn_floordivi(ctx, s->axes[0], t->stride[1]), t->stride[0]);
        const tn_expr *tap = tn_sub(ctx, tn_i64(ctx, t->taps[i] - 1), s->axes[2 + i]);
        at[i] = tn_add(ctx, rest, tn_muli(ctx, tap, t->stride[i]));
        if (t->size[i] % t->stride[i])
            inside = tn_and(ctx, inside, tn_lt(ctx, at[i], tn_i64(ctx, t->size[i])));
    }
    const tn_expr *v =
        tnk_te_read(te, in, s->axes[1], tn_floordivi(ctx, s->axes[0], rests), at[0], at[1], NULL);
    v = inside ? tn_if_then_else(ctx, inside, v, tn_literal(ctx, d, 0)) : v;
    const tn_node *out = tnk_te_define(s, v);
    return tn_emit(b, tnk_te_call(te, b, "sub_pixel_kernel", &k, 1, &out, 1), "kernel");
}

/* Channels by rests to rows and columns. */
static const tn_expr *
spread(const transposed *t, tn_builder *b, const tn_expr *y, const tn_type *type)
{
    tn_ctx *ctx = t->ctx;
    tnk_te *te = tnk_te_new(ctx);
    tn_list dims;
    const tn_expr *d[4], *at[2], *rest[2];
    if (!tn_type_dims(type, &dims))
        return NULL;
    const tn_node *in = tnk_te_input(te, "y", y->type);
    for (int i = 0; i < 4; i++)
        d[i] = tnk_te_expr(te, dims.at[i]);
    tnk_stage *s = tnk_te_stage(te, "sub_pixels", d, 4, tn_type_dtype(type));
    for (int i = 0; i < 2; i++) {
        const tn_expr *place = tn_addi(ctx, s->axes[2 + i], t->before[i]);
        at[i] = tn_floordivi(ctx, place, t->stride[i]);
        rest[i] = tn_floormodi(ctx, place, t->stride[i]);
    }
    const tn_expr *channel = tn_add(ctx, tn_muli(ctx, s->axes[1], t->stride[0]), rest[0]);
    channel = tn_add(ctx, tn_muli(ctx, channel, t->stride[1]), rest[1]);
    const tn_node *out =
        tnk_te_define(s, tnk_te_read(te, in, s->axes[0], channel, at[0], at[1], NULL));
    return tnk_te_call(te, b, "sub_pixels", &y, 1, &out, 1);
}

static bool
recognize(transposed *t, const tn_call *call, int64_t *extra)
{
    int64_t pad[4], dilation[2];
    tn_list k, x;
    tnb_dtype d = tn_type_dtype(call->base.type);
    if (!tn_type_dims(call->args.at[0]->type, &x) || !tn_type_dims(call->args.at[1]->type, &k) ||
        !tnb_dtype_is_float(d) || !tnb_dtype_eq(tn_type_dtype(call->args.at[0]->type), d) ||
        !tnb_dtype_eq(tn_type_dtype(call->args.at[1]->type), d) ||
        strcmp(tn_call_str(call, "data_layout"), "NCHW") != 0 ||
        strcmp(tn_call_str(call, "out_layout"), "NCHW") != 0 ||
        strcmp(tn_call_str(call, "kernel_layout"), "IOHW") != 0 ||
        tn_call_int(call, "groups") != 1 || tn_call_ints(call, "strides", t->stride, 2) != 2 ||
        tn_call_ints(call, "dilation", dilation, 2) != 2 || dilation[0] != 1 || dilation[1] != 1 ||
        tn_call_ints(call, "padding", pad, 4) != 4 ||
        tn_call_ints(call, "output_padding", extra, 2) != 2 || !tn_int_value(k.at[0], &t->in) ||
        !tn_int_value(k.at[1], &t->out))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!tn_int_value(k.at[2 + i], &t->size[i]))
            return false;
        t->before[i] = pad[i];
        t->after[i] = pad[2 + i];
        t->taps[i] = (t->size[i] + t->stride[i] - 1) / t->stride[i];
        if (t->size[i] - 1 - t->after[i] + extra[i] < 0 || t->size[i] < 1)
            return false; /* the last elements of the data count for nothing */
    }
    return true;
}

const tn_expr *
cpu_legalize_transposed(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    transposed t = {.ctx = tn_builder_ctx(b)};
    tn_ctx *ctx = t.ctx;
    int64_t extra[2], pad[4];
    if (!recognize(&t, call, extra))
        return NULL;
    for (int i = 0; i < 2; i++) {
        pad[i] = t.taps[i] - 1;
        pad[2 + i] = (t.size[i] - 1 - t.after[i] + extra[i]) / t.stride[i];
    }
    const tn_expr *k = kernel_by_rest(&t, b, call->args.at[1]);
    const tn_node *attrs = tn_dictv(ctx, "padding", tn_int_array(ctx, pad, 4), "out_dtype",
                                    tn_dict_get(call->attrs, "out_dtype"), NULL);
    const tn_expr *y =
        tn_is_error(k) ? k : tn_call_opv(ctx, "nn.conv2d", attrs, call->args.at[0], k, NULL);
    return tn_is_error(y) ? y : spread(&t, b, tn_emit(b, y, "lv"), call->base.type);
}
