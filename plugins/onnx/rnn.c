/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: LSTM, GRU, RNN, one step after the other.
 *
 * The products of all steps with the input weights are one matrix product before the steps. Steps
 * past a sequence's length keep the state and give zeros.
 */
#include <inttypes.h>
#include "import.h"

enum { MAX_STEPS = 4096 };

typedef struct layer {
    int gates, dirs;
    int64_t steps, hidden;
    const tn_expr *x, *lens, *batch; /* x: [steps, batch, input] */
    tnb_dtype dtype;
    double clip;
    bool has_clip, batch_first, input_forget, linear_before_reset;
    const char *acts[6];
    double alpha[6], beta[6];
} layer;

/* One direction's parameters and state. */
typedef struct cell {
    const tn_expr *xw;   /* [steps, batch, gates * hidden], input bias included */
    const tn_expr *r;    /* [hidden, gates * hidden] */
    const tn_expr *rb;   /* recurrent bias [gates * hidden], NULL: none or merged into xw */
    const tn_expr *peep; /* [3 * hidden] or NULL */
    const tn_expr *h, *c;
    const char *const *acts;
    const double *alpha, *beta;
} cell;

static const tn_expr *
activate(onnx_node *n, const cell *k, int i, const tn_expr *x)
{
    const char *a = k->acts[i];
    if (!strcmp(a, "Sigmoid"))
        return onnx_un(n, "sigmoid", x);
    if (!strcmp(a, "Tanh"))
        return onnx_un(n, "tanh", x);
    if (!strcmp(a, "Relu"))
        return onnx_un(n, "nn.relu", x);
    if (!strcmp(a, "Softsign"))
        return onnx_un(n, "nn.softsign", x);
    if (!strcmp(a, "Softplus"))
        return onnx_un(n, "nn.softplus", x);
    if (!strcmp(a, "Affine"))
        return onnx_bin_num(n, "add", onnx_bin_num(n, "multiply", x, k->alpha[i]), k->beta[i]);
    if (!strcmp(a, "ScaledTanh"))
        return onnx_bin_num(n, "multiply",
                            onnx_un(n, "tanh", onnx_bin_num(n, "multiply", x, k->beta[i])),
                            k->alpha[i]);
    if (!strcmp(a, "HardSigmoid"))
        return onnx_clip(n,
                         onnx_bin_num(n, "add", onnx_bin_num(n, "multiply", x, k->alpha[i]),
                                      k->beta[i]),
                         0, 1);
    if (!strcmp(a, "LeakyRelu"))
        return onnx_emit(n, "nn.leakyrelu",
                         tn_dictv(n->ctx, "alpha", tn_float_imm_of(n->ctx, TNB_F64, k->alpha[i]),
                                  NULL),
                         x, NULL);
    if (!strcmp(a, "Elu"))
        return onnx_emit(n, "nn.elu",
                         tn_dictv(n->ctx, "alpha", tn_float_imm_of(n->ctx, TNB_F64, k->alpha[i]),
                                  NULL),
                         x, NULL);
    onnx_fail(n, TNB_UNSUPPORTED, "activation '%s' is not supported in a recurrent layer", a);
    return tn_error_node(n->ctx);
}

static double
default_alpha(const char *a)
{
    return !strcmp(a, "LeakyRelu") ? 0.01 : !strcmp(a, "HardSigmoid") ? 0.2 : 1;
}

static bool
read_layer(onnx_node *n, layer *l, int gates, const char *const *defaults, int per_dir)
{
    static const char *const directions[] = {"forward", "reverse", "bidirectional", NULL};
    int64_t three[3] = {1, 0, 2};
    tn_list d;
    int dir = onnx_attr_choice(n, "direction", "forward", directions);
    l->gates = gates;
    l->dirs = dir == 2 ? 2 : 1;
    l->batch_first = onnx_attr_int(n, "layout", 0) != 0;
    l->input_forget = onnx_attr_int(n, "input_forget", 0) != 0;
    l->linear_before_reset = onnx_attr_int(n, "linear_before_reset", 0) != 0;
    onnx_attr(n, "output_sequence");
    l->has_clip = onnx_attr(n, "clip") != NULL;
    l->clip = onnx_attr_float(n, "clip", 0);
    l->x = onnx_in(n, 0);
    l->dtype = onnx_dtype(l->x);
    if (dir < 0 || !onnx_dims(n, l->x, &d))
        return false;
    if (d.n != 3)
        return onnx_fail(n, TNB_SHAPE, "the input has rank %u, wanted 3", d.n);
    if (l->batch_first)
        l->x = onnx_permute(n, l->x, three, 3);
    l->steps = onnx_dim(l->x, 0);
    if (!onnx_dims(n, l->x, &d))
        return false;
    l->batch = d.at[1];
    l->hidden = onnx_attr_int(n, "hidden_size", onnx_dim(onnx_in(n, 2), 2));
    if (n->failed)
        return false;
    if (l->steps < 0 || l->steps > MAX_STEPS) {
        onnx_fail(n, TNB_UNSUPPORTED, "the number of steps is %s, wanted a number up to %d",
                  onnx_dim_text(n->imp, d.at[0]), MAX_STEPS);
        onnx_hint(n, "fix the dynamic dimension: --dim NAME=VALUE");
        return false;
    }
    if (l->hidden < 1 || onnx_dim(onnx_in(n, 1), 1) != gates * l->hidden ||
        onnx_dim(onnx_in(n, 2), 1) != gates * l->hidden || onnx_dim(onnx_in(n, 1), 0) != l->dirs)
        return onnx_fail(n, TNB_SHAPE,
                         "the weights have types %s and %s, wanted [%d, %d * %" PRId64 ", ...]",
                         onnx_type_text(n->imp, onnx_in(n, 1)->type),
                         onnx_type_text(n->imp, onnx_in(n, 2)->type), l->dirs, gates, l->hidden);
    double given[6];
    const char *names[6];
    int n_acts = onnx_attr_strs(n, "activations", names, 6);
    if (n_acts >= 0 && n_acts != per_dir * l->dirs)
        return onnx_fail(n, TNB_INVALID, "attribute 'activations' has %d entries, wanted %d",
                         n_acts, per_dir * l->dirs);
    int n_alpha = onnx_attr_floats(n, "activation_alpha", given, 6);
    for (int i = 0; i < per_dir * l->dirs; i++) {
        l->acts[i] = n_acts > 0 ? names[i] : defaults[i % per_dir];
        l->alpha[i] = i < n_alpha ? given[i] : default_alpha(l->acts[i]);
    }
    int n_beta = onnx_attr_floats(n, "activation_beta", given, 6);
    for (int i = 0; i < per_dir * l->dirs; i++)
        l->beta[i] = i < n_beta                           ? given[i]
                     : !strcmp(l->acts[i], "HardSigmoid") ? 0.5
                     : !strcmp(l->acts[i], "ScaledTanh")  ? 1
                                                          : 0;
    l->lens = onnx_has(n, 4) ? onnx_in(n, 4) : NULL;
    return !n->failed;
}

/* Entry `i` of the leading axis, without that axis. */
static const tn_expr *
entry(onnx_node *n, const tn_expr *x, int64_t i)
{
    int64_t zero = 0;
    return onnx_squeeze(n, onnx_slice_ints(n, x, 0, i, i + 1), &zero, 1);
}

static const tn_expr *
clipped(onnx_node *n, const layer *l, const tn_expr *x)
{
    return l->has_clip ? onnx_clip(n, x, -l->clip, l->clip) : x;
}

/* Gate i of [..., gates * hidden]; rank: of x. */
static const tn_expr *
gate(onnx_node *n, const layer *l, const tn_expr *x, int i, int64_t rank)
{
    return onnx_slice_ints(n, x, rank - 1, i * l->hidden, (i + 1) * l->hidden);
}

static const tn_expr *
reversed(onnx_node *n, const layer *l, const tn_expr *x)
{
    if (!l->lens)
        return onnx_emit(n, "flip", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, 0), NULL), x, NULL);
    return onnx_emit(n, "reverse_sequence",
                     tn_dictv(n->ctx, "seq_axis", tn_i64(n->ctx, 0), "batch_axis",
                              tn_i64(n->ctx, 1), NULL),
                     x, l->lens, NULL);
}

static const tn_expr *
initial_state(onnx_node *n, const layer *l, uint32_t input, int dir)
{
    const tn_expr *dims[2] = {l->batch, tn_i64(n->ctx, l->hidden)};
    int64_t three[3] = {1, 0, 2};
    if (!onnx_has(n, input))
        return onnx_full(n, dims, 2, l->dtype, 0);
    const tn_expr *x = onnx_in(n, input);
    return entry(n, l->batch_first ? onnx_permute(n, x, three, 3) : x, dir);
}

static bool
begin_direction(onnx_node *n, const layer *l, int dir, bool backward, cell *k, int per_dir,
                bool merge_bias)
{
    static const int64_t swap[2] = {1, 0};
    const tn_expr *x = backward ? reversed(n, l, l->x) : l->x;
    int64_t all = l->gates * l->hidden;
    k->xw = onnx_bin(n, "matmul", x, onnx_permute(n, entry(n, onnx_in(n, 1), dir), swap, 2));
    k->r = onnx_permute(n, entry(n, onnx_in(n, 2), dir), swap, 2);
    k->rb = NULL;
    if (onnx_has(n, 3)) {
        const tn_expr *b = entry(n, onnx_in(n, 3), dir);
        const tn_expr *wb = onnx_slice_ints(n, b, 0, 0, all),
                      *rb = onnx_slice_ints(n, b, 0, all, 2 * all);
        if (merge_bias)
            wb = onnx_bin(n, "add", wb, rb);
        else
            k->rb = rb;
        k->xw = onnx_bin(n, "add", k->xw, wb);
    }
    k->h = initial_state(n, l, 5, dir);
    k->acts = l->acts + dir * per_dir;
    k->alpha = l->alpha + dir * per_dir;
    k->beta = l->beta + dir * per_dir;
    return !n->failed;
}

static void
lstm_step(onnx_node *n, const layer *l, cell *k, const tn_expr *xw, const tn_expr **h,
          const tn_expr **c)
{
    const tn_expr *g = onnx_bin(n, "add", xw, onnx_bin(n, "matmul", k->h, k->r));
    const tn_expr *i = gate(n, l, g, 0, 2), *o = gate(n, l, g, 1, 2), *f = gate(n, l, g, 2, 2),
                  *u = gate(n, l, g, 3, 2);
    if (k->peep) {
        i = onnx_bin(n, "add", i, onnx_bin(n, "multiply", gate(n, l, k->peep, 0, 1), k->c));
        f = onnx_bin(n, "add", f, onnx_bin(n, "multiply", gate(n, l, k->peep, 2, 1), k->c));
    }
    i = activate(n, k, 0, clipped(n, l, i));
    f = l->input_forget ? onnx_bin(n, "subtract", onnx_scalar(n, l->dtype, 1), i)
                        : activate(n, k, 0, clipped(n, l, f));
    u = activate(n, k, 1, clipped(n, l, u));
    *c = onnx_bin(n, "add", onnx_bin(n, "multiply", f, k->c), onnx_bin(n, "multiply", i, u));
    if (k->peep)
        o = onnx_bin(n, "add", o, onnx_bin(n, "multiply", gate(n, l, k->peep, 1, 1), *c));
    o = activate(n, k, 0, clipped(n, l, o));
    *h = onnx_bin(n, "multiply", o, activate(n, k, 2, *c));
}

static void
gru_step(onnx_node *n, const layer *l, cell *k, const tn_expr *xw, const tn_expr **h)
{
    int64_t hid = l->hidden;
    const tn_expr *one = onnx_scalar(n, l->dtype, 1);
    const tn_expr *rzr = onnx_slice_ints(n, k->r, 1, 0, 2 * hid),
                  *rh = onnx_slice_ints(n, k->r, 1, 2 * hid, 3 * hid);
    const tn_expr *g =
        onnx_bin(n, "add", onnx_slice_ints(n, xw, 1, 0, 2 * hid), onnx_bin(n, "matmul", k->h, rzr));
    if (k->rb)
        g = onnx_bin(n, "add", g, onnx_slice_ints(n, k->rb, 0, 0, 2 * hid));
    const tn_expr *z = activate(n, k, 0, clipped(n, l, gate(n, l, g, 0, 2)));
    const tn_expr *r = activate(n, k, 0, clipped(n, l, gate(n, l, g, 1, 2)));
    const tn_expr *bias = k->rb ? onnx_slice_ints(n, k->rb, 0, 2 * hid, 3 * hid) : NULL, *t;
    if (l->linear_before_reset) {
        t = onnx_bin(n, "matmul", k->h, rh);
        t = onnx_bin(n, "multiply", r, bias ? onnx_bin(n, "add", t, bias) : t);
    } else {
        t = onnx_bin(n, "matmul", onnx_bin(n, "multiply", r, k->h), rh);
        t = bias ? onnx_bin(n, "add", t, bias) : t;
    }
    t = activate(n, k, 1,
                 clipped(n, l, onnx_bin(n, "add", onnx_slice_ints(n, xw, 1, 2 * hid, 3 * hid), t)));
    *h = onnx_bin(n, "add", onnx_bin(n, "multiply", onnx_bin(n, "subtract", one, z), t),
                  onnx_bin(n, "multiply", z, k->h));
}

/* All steps of a direction: *y [steps, 1, batch, hidden] in the order of the input. */
static bool
run_direction(onnx_node *n, const layer *l, cell *k, bool backward, const tn_expr **y)
{
    int64_t front[2] = {0, 1};
    const tn_expr **ys = TNB_NEW_N(n->imp->arena, const tn_expr *, (size_t)l->steps + 1),
                  *lens = NULL;
    if (l->lens)
        lens = onnx_unsqueeze(n, l->lens, &front[1], 1);
    for (int64_t t = 0; t < l->steps && !n->failed; t++) {
        const tn_expr *xw = entry(n, k->xw, t), *h = NULL, *c = k->c, *out;
        if (l->gates == 4)
            lstm_step(n, l, k, xw, &h, &c);
        else if (l->gates == 3)
            gru_step(n, l, k, xw, &h);
        else
            h = activate(n, k, 0,
                         clipped(n, l, onnx_bin(n, "add", xw, onnx_bin(n, "matmul", k->h, k->r))));
        out = h;
        if (lens) {
            const tn_expr *live = onnx_bin_num(n, "greater", lens, (double)t);
            out = onnx_where(n, live, h, onnx_scalar(n, l->dtype, 0));
            h = onnx_where(n, live, h, k->h);
            c = c ? onnx_where(n, live, c, k->c) : c;
        }
        k->h = h;
        k->c = c;
        ys[t] = onnx_unsqueeze(n, out, &front[0], 1);
    }
    if (n->failed || !l->steps)
        return n->failed ? false : onnx_fail(n, TNB_SHAPE, "the sequence has no steps");
    *y = onnx_concat(n, ys, (uint32_t)l->steps, 0);
    if (backward)
        *y = reversed(n, l, *y);
    *y = onnx_unsqueeze(n, *y, &front[1], 1);
    return !n->failed;
}

static bool
recurrent(onnx_node *n, int gates, const char *const *defaults, int per_dir, uint32_t peephole)
{
    layer l = {0};
    const tn_expr *y[2], *h[2], *c[2];
    int64_t zero = 0, back4[4] = {2, 0, 1, 3}, back3[3] = {1, 0, 2};
    if (!read_layer(n, &l, gates, defaults, per_dir))
        return false;
    bool reverse = !strcmp(onnx_attr_str(n, "direction", "forward"), "reverse");
    for (int d = 0; d < l.dirs; d++) {
        cell k = {0};
        bool backward = d == 1 || reverse;
        if (!begin_direction(n, &l, d, backward, &k, per_dir, gates != 3))
            return false;
        k.c = gates == 4 ? initial_state(n, &l, 6, d) : NULL;
        k.peep = peephole && onnx_has(n, peephole) ? entry(n, onnx_in(n, peephole), d) : NULL;
        if (!run_direction(n, &l, &k, backward, &y[d]))
            return false;
        h[d] = onnx_unsqueeze(n, k.h, &zero, 1);
        c[d] = gates == 4 ? onnx_unsqueeze(n, k.c, &zero, 1) : NULL;
    }
    const tn_expr *all = onnx_concat(n, y, (uint32_t)l.dirs, 1),
                  *last = onnx_concat(n, h, (uint32_t)l.dirs, 0);
    const tn_expr *state = gates == 4 ? onnx_concat(n, c, (uint32_t)l.dirs, 0) : NULL;
    if (l.batch_first) {
        all = onnx_permute(n, all, back4, 4);
        last = onnx_permute(n, last, back3, 3);
        state = state ? onnx_permute(n, state, back3, 3) : NULL;
    }
    return onnx_ret_at(n, 0, all) && onnx_ret_at(n, 1, last) &&
           (!state || onnx_ret_at(n, 2, state));
}

static bool
import_lstm(onnx_node *n)
{
    static const char *const acts[] = {"Sigmoid", "Tanh", "Tanh"};
    return recurrent(n, 4, acts, 3, 7);
}

static bool
import_gru(onnx_node *n)
{
    static const char *const acts[] = {"Sigmoid", "Tanh"};
    return recurrent(n, 3, acts, 2, 0);
}

static bool
import_rnn(onnx_node *n)
{
    static const char *const acts[] = {"Tanh"};
    return recurrent(n, 1, acts, 1, 0);
}

const onnx_op onnx_rnn_ops[] = {
    {"LSTM", 1, 0, 3, 8, 0, 3, import_lstm, NULL, 0, NULL},
    {"GRU", 1, 0, 3, 6, 0, 2, import_gru, NULL, 0, NULL},
    {"RNN", 1, 0, 3, 6, 0, 2, import_rnn, NULL, 0, NULL},
    {0},
};
