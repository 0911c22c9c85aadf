/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: attributes and types. */
#include "recurrent.h"

#include "infer.h"

/* ---- attributes ---- */

/* Their parameters where none are given. */
static const struct function_row {
    const char *name;
    recurrent_function f;
} functions[] = {
    {"Sigmoid", {RECURRENT_SIGMOID, 0, 0}},
    {"Tanh", {RECURRENT_TANH, 0, 0}},
    {"Relu", {RECURRENT_RELU, 0, 0}},
    {"Affine", {RECURRENT_AFFINE, 1, 0}},
    {"LeakyRelu", {RECURRENT_LEAKY_RELU, 0.01, 0}},
    {"ThresholdedRelu", {RECURRENT_THRESHOLDED_RELU, 1, 0}},
    {"ScaledTanh", {RECURRENT_SCALED_TANH, 1, 1}},
    {"HardSigmoid", {RECURRENT_HARD_SIGMOID, 0.2, 0.5}},
    {"Elu", {RECURRENT_ELU, 1, 0}},
    {"Softsign", {RECURRENT_SOFTSIGN, 0, 0}},
    {"Softplus", {RECURRENT_SOFTPLUS, 0, 0}},
};

static bool
read_number(const tn_node *list, uint32_t i, double *out)
{
    const tn_array *a = tn_as_array(list);
    const tn_float_imm *f = a && i < a->items.n ? tn_as_float_imm(a->items.at[i]) : NULL;
    if (f)
        *out = f->value;
    return f != NULL;
}

static bool
read_functions(tn_ctx *ctx, const tn_call *call, recurrent_layer *l)
{
    const tn_array *names = tn_as_array(tn_call_attr(call, "activations"));
    uint32_t want = l->functions * l->dirs;
    if (!names || names->items.n != want) {
        infer_fail(ctx, call, TNB_INVALID, "attribute 'activations' has %u entries, expected %u",
                   names ? names->items.n : 0, want);
        return false;
    }
    for (uint32_t i = 0; i < want; i++) {
        const tn_string_imm *s = tn_as_string_imm(names->items.at[i]);
        const struct function_row *row = NULL;
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
            if (s && !strcmp(functions[k].name, s->value))
                row = &functions[k];
        if (!row) {
            infer_fail(ctx, call, TNB_INVALID,
                       "attribute 'activations' names '%s', which is no function of a recurrent "
                       "layer",
                       s ? s->value : "?");
            return false;
        }
        l->f[i] = row->f;
        read_number(tn_call_attr(call, "alpha"), i, &l->f[i].alpha);
        read_number(tn_call_attr(call, "beta"), i, &l->f[i].beta);
    }
    return true;
}

bool
recurrent_read(tn_ctx *ctx, const tn_call *call, recurrent_layer *l)
{
    op_id id = infer_op(call)->id;
    const char *dir = tn_call_str(call, "direction");
    *l = (recurrent_layer){.dirs = 1};
    bool lstm = id == OP_nn_lstm, gru = id == OP_nn_gru;
    l->gates = lstm ? 4 : gru ? 3 : 1;
    l->functions = lstm ? 3 : gru ? 2 : 1;
    if (!strcmp(dir, "bidirectional")) {
        l->dirs = 2;
        l->reverse[1] = true;
    } else if (!strcmp(dir, "reverse")) {
        l->reverse[0] = true;
    } else if (strcmp(dir, "forward")) {
        infer_fail(ctx, call, TNB_INVALID,
                   "attribute 'direction' is \"%s\", expected forward, reverse or bidirectional",
                   dir);
        return false;
    }
    l->has_clip = tn_call_attr(call, "clip") != NULL;
    l->clip = l->has_clip ? tn_call_float(call, "clip") : 0;
    if (l->has_clip && !(l->clip > 0)) {
        infer_fail(ctx, call, TNB_INVALID, "attribute 'clip' is %g, expected more than 0", l->clip);
        return false;
    }
    l->input_forget = lstm && tn_call_int(call, "input_forget");
    l->linear_before_reset = gru && tn_call_int(call, "linear_before_reset");
    l->bias = gru ? infer_arg(call, 3) : NULL;
    l->peephole = lstm ? infer_arg(call, 4) : NULL;
    l->lengths = infer_arg(call, lstm ? 5 : gru ? 4 : 3);
    return read_functions(ctx, call, l);
}

/* ---- types ---- */

/* The known extents of argument i, which must have `rank` axes and, unless it is NULL, dtype *d.
 * 1: known; 0: not; -1 after an error. */
static int
dims_of(tn_ctx *ctx, const tn_call *call, uint32_t i, int64_t rank, const tnb_dtype *d,
        tn_list *dims)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, i);
    tnb_dtype same;
    const char *name = tn_call_op_of(call)->args[i].name;
    if (!t)
        return -1;
    if (d && !infer_same_dtype(ctx, call, *d, t->dtype, &same))
        return -1;
    if (t->ndim >= 0 && t->ndim != rank) {
        infer_fail(ctx, call, TNB_SHAPE, "argument '%s' has %lld axes, expected %lld", name,
                   (long long)t->ndim, (long long)rank);
        return -1;
    }
    return tn_type_dims(TN_NODE(t), dims) ? 1 : 0;
}

static bool
check_dim(tn_ctx *ctx, const tn_call *call, uint32_t i, uint32_t axis, const tn_expr *have,
          const tn_expr *want, const char *what)
{
    if (!dim_differ(ctx, have, want, "argument '%s' has extent {} in axis %u, expected {} (%s)",
                    tn_call_op_of(call)->args[i].name, axis, what))
        return true;
    infer_fail(ctx, call, TNB_SHAPE, "argument '%s' has extent %s in axis %u, expected %s (%s)",
               tn_call_op_of(call)->args[i].name, tn_text(ctx, have), axis, tn_text(ctx, want),
               what);
    return false;
}

const tn_type *
infer_recurrent(tn_ctx *ctx, const tn_call *call)
{
    recurrent_layer l;
    tn_list xw, r, s;
    if (!recurrent_read(ctx, call, &l))
        return tn_error_node(ctx);
    const tn_ty_tensor *x = infer_tensor(ctx, call, 0);
    int kx = x ? dims_of(ctx, call, 0, 3, NULL, &xw) : -1;
    int kr = kx < 0 ? -1 : dims_of(ctx, call, 1, 3, &x->dtype, &r);
    if (kx < 0 || kr < 0)
        return tn_error_node(ctx);
    if (!tnb_dtype_is_void(x->dtype) && !tnb_dtype_is_float(x->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "the layer computes in floats, but has dtype %s",
                          tnb_dtype_print(x->dtype).s);
    const tn_expr *dirs = tn_i64(ctx, l.dirs), *hidden = kr ? r.at[1] : NULL;
    const tn_expr *batch = kx ? xw.at[1] : NULL;
    if (kr &&
        (!check_dim(ctx, call, 1, 0, r.at[0], dirs, "directions") ||
         !check_dim(ctx, call, 1, 2, r.at[2], dim_muli(ctx, hidden, l.gates), "gates * hidden")))
        return tn_error_node(ctx);
    if (kr && kx &&
        !check_dim(ctx, call, 0, 2, xw.at[2], dim_muli(ctx, hidden, (int64_t)l.gates * l.dirs),
                   "directions * gates * hidden"))
        return tn_error_node(ctx);
    uint32_t states = l.gates == 4 ? 2 : 1;
    for (uint32_t i = 2; i < 2 + states; i++) {
        int k = dims_of(ctx, call, i, 3, &x->dtype, &s);
        if (k < 0 || (k && (!check_dim(ctx, call, i, 0, s.at[0], dirs, "directions") ||
                            (batch && !check_dim(ctx, call, i, 1, s.at[1], batch, "batch")) ||
                            (hidden && !check_dim(ctx, call, i, 2, s.at[2], hidden, "hidden")))))
            return tn_error_node(ctx);
    }
    if (l.bias || l.peephole) {
        uint32_t i = l.bias ? 3 : 4;
        int k = dims_of(ctx, call, i, 2, &x->dtype, &s);
        if (k < 0 || (k && (!check_dim(ctx, call, i, 0, s.at[0], dirs, "directions") ||
                            (hidden && !check_dim(ctx, call, i, 1, s.at[1],
                                                  dim_muli(ctx, hidden, 3), "3 * hidden")))))
            return tn_error_node(ctx);
    }
    if (l.lengths) {
        const tnb_dtype i32 = TNB_I32;
        uint32_t i = l.gates == 4 ? 5 : l.gates == 3 ? 4 : 3;
        int k = dims_of(ctx, call, i, 1, &i32, &s);
        if (k < 0 || (k && batch && !check_dim(ctx, call, i, 0, s.at[0], batch, "batch")))
            return tn_error_node(ctx);
    }
    const tn_type *all, *last;
    if (kx && kr) {
        all = infer_known(ctx, call, tn_listv(ctx, xw.at[0], dirs, batch, hidden, NULL), x->dtype);
        last = infer_known(ctx, call, tn_listv(ctx, dirs, batch, hidden, NULL), x->dtype);
    } else {
        all = infer_rank(ctx, call, 4, x->dtype);
        last = infer_rank(ctx, call, 3, x->dtype);
    }
    return tn_ty_tuple_of(ctx, l.gates == 4 ? tn_listv(ctx, all, last, last, NULL)
                                            : tn_listv(ctx, all, last, NULL));
}
