/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions along one axis by long constant kernels, as the Fourier transforms that models of sound begin with, as matrix
 * products: so many elements are summed that their copies in windows cost little. What BlockLayouts took is left alone.
 *
 *     lv = R.nn.conv1d(x, w, strides=[128])                     # x (n, 1, 640), w (258, 1, 256)
 *  -> lv1 = R.call_tir(cls.conv1d_windows, (x,), ...)           # (n, 4, 256)
 *     lv2 = R.permute_dims(R.reshape(w, (258, 256)))            # folded
 *     lv = R.permute_dims(R.matmul(lv1, lv2), axes=[0, 2, 1])
 */
#include "cpu.h"
#include "tenon/kit/te.h"

/* Fewer elements in a window, or channels that come out, are left to the rule Conv2d. */
enum { LEAST_WINDOW = 64, LEAST_CHANNELS = 16 };

typedef struct unfolding {
    tn_ctx *ctx;
    int64_t stride, dilation, before, after;
    int64_t in, out, size; /* channels, and elements of the kernel along the axis */
    const tn_expr *n, *length, *positions;
} unfolding;

static bool
recognize(unfolding *u, const tn_call *call)
{
    tn_list x, k, y;
    int64_t pad[2];
    tnb_dtype d = tn_type_dtype(call->base.type);
    const tn_expr *const *operand = call->args.at;
    if (!tnb_dtype_is_float(d) || !tnb_dtype_eq(tn_type_dtype(operand[0]->type), d) ||
        !tnb_dtype_eq(tn_type_dtype(operand[1]->type), d) ||
        strcmp(tn_call_str(call, "data_layout"), "NCW") != 0 ||
        strcmp(tn_call_str(call, "kernel_layout"), "OIW") != 0 ||
        strcmp(tn_call_str(call, "out_layout"), "NCW") != 0 || tn_call_int(call, "groups") != 1 ||
        tn_call_ints(call, "strides", &u->stride, 1) != 1 ||
        tn_call_ints(call, "dilation", &u->dilation, 1) != 1 ||
        tn_call_ints(call, "padding", pad, 2) != 2 || !tn_type_dims(operand[0]->type, &x) ||
        !tn_type_dims(operand[1]->type, &k) || !tn_type_dims(call->base.type, &y) ||
        !tn_int_value(k.at[0], &u->out) || !tn_int_value(k.at[1], &u->in) ||
        !tn_int_value(k.at[2], &u->size))
        return false;
    u->before = pad[0];
    u->after = pad[1];
    u->n = y.at[0];
    u->length = x.at[2];
    u->positions = y.at[2];
    return u->out >= LEAST_CHANNELS && u->size >= LEAST_WINDOW / u->in && u->size > 1;
}

/* What each position of the result sums, beside each other; zeros where the data is padded. */
static const tn_expr *
windows(const unfolding *u, tn_builder *b, const tn_expr *x)
{
    tn_ctx *ctx = u->ctx;
    tnk_te *te = tnk_te_new(ctx);
    tnb_dtype d = tn_type_dtype(x->type);
    const tn_node *in = tnk_te_input(te, "x", x->type);
    const tn_expr *dims[3] = {tnk_te_expr(te, u->n), tnk_te_expr(te, u->positions),
                              tn_i64(ctx, u->in * u->size)};
    tnk_stage *s = tnk_te_stage(te, "conv1d_windows", dims, 3, d);
    const tn_expr *tap = tn_muli(ctx, tn_floormodi(ctx, s->axes[2], u->size), u->dilation);
    const tn_expr *at = tn_add(ctx, tn_muli(ctx, s->axes[1], u->stride), tap);
    at = tn_addi(ctx, at, -u->before);
    const tn_expr *v =
        tnk_te_read(te, in, s->axes[0], tn_floordivi(ctx, s->axes[2], u->size), at, NULL);
    if (u->before > 0 || u->after > 0)
        v = tn_if_then_else(ctx,
                            tn_and(ctx, tn_ge(ctx, at, tn_i64(ctx, 0)),
                                   tn_lt(ctx, at, tnk_te_expr(te, u->length))),
                            v, tn_literal(ctx, d, 0));
    const tn_node *out = tnk_te_define(s, v);
    return tn_emit(b, tnk_te_call(te, b, "conv1d_windows", &x, 1, &out, 1), "windows");
}

static const tn_expr *
turned(tn_builder *b, const tn_expr *x, const char *name, int64_t rank)
{
    static const int64_t axes[2][3] = {{1, 0}, {0, 2, 1}};
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_node *attrs =
        tn_dictv(ctx, "axes", tn_int_array(ctx, axes[rank - 2], (uint32_t)rank), NULL);
    const tn_expr *y = tn_call_opv(ctx, "permute_dims", attrs, x, NULL);
    return name && !tn_is_error(y) ? tn_emit(b, y, name) : y;
}

const tn_expr *
cpu_legalize_conv1d(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    unfolding u = {.ctx = tn_builder_ctx(b)};
    tn_ctx *ctx = u.ctx;
    if (!recognize(&u, call) || !cpu_is_constant(b, call->args.at[1]))
        return NULL;
    const tn_expr *x = windows(&u, b, call->args.at[0]);
    const tn_expr *shape =
        tn_shape_expr_of(ctx, tn_listv(ctx, tn_i64(ctx, u.out), tn_i64(ctx, u.in * u.size), NULL));
    const tn_expr *k = tn_call_opv(ctx, "reshape", NULL, call->args.at[1], shape, NULL);
    if (tn_is_error(x) || tn_is_error(k))
        return tn_error_node(ctx);
    k = turned(b, tn_emit(b, k, "kernel"), "kernel", 2);
    const tn_expr *y = tn_is_error(k) ? k : tn_call_opv(ctx, "matmul", NULL, x, k, NULL);
    return tn_is_error(y) ? y : turned(b, tn_emit(b, y, "product"), NULL, 3);
}
