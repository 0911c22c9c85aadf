/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: LSTM, GRU, RNN.
 *
 * The products of all steps with the input weights of all directions are one matrix product in
 * front; the steps are one operator (nn.lstm, nn.gru, nn.rnn), which becomes one loop however many
 * there are.
 */
#include <inttypes.h>
#include <strings.h>
#include "import.h"

enum { MAX_FUNCTIONS = 6 };

/* What differs between the three. */
typedef struct kind {
    const char *op;
    int gates, per_dir; /* per_dir: functions of a direction */
    const char *functions[3];
    uint32_t peephole; /* the input; 0: none */
} kind;

typedef struct layer {
    const kind *k;
    int dirs;
    int64_t hidden;
    bool batch_first;
    const tn_expr *x, *batch; /* x: [steps, batch, input] */
    const tn_expr *w, *r;     /* weights of the input and of the state */
    tnb_dtype dtype;
} layer;

/* ---- functions of the gates ---- */

/* Functions by their names in the operator, and which of the two parameters each takes. */
static const struct function_row {
    const char *name;
    bool alpha, beta;
    double default_alpha, default_beta;
} functions[] = {
    {"Sigmoid", false, false, 0, 0},     {"Tanh", false, false, 0, 0},
    {"Relu", false, false, 0, 0},        {"Affine", true, true, 1, 0},
    {"LeakyRelu", true, false, 0.01, 0}, {"ThresholdedRelu", true, false, 1, 0},
    {"ScaledTanh", true, true, 1, 1},    {"HardSigmoid", true, true, 0.2, 0.5},
    {"Elu", true, false, 1, 0},          {"Softsign", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},
};

static const struct function_row *
find_function(onnx_node *n, const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcasecmp(functions[i].name, name))
            return &functions[i];
    onnx_fail(n, TNB_UNSUPPORTED, "activation '%s' is not supported in a recurrent layer", name);
    return NULL;
}

/* Adds the attributes of the functions. The file's parameters are used up in the order of the
 * functions that take one. */
static const tn_node *
function_attrs(onnx_node *n, const layer *l, const tn_node *attrs)
{
    const char *names[MAX_FUNCTIONS];
    double alpha[MAX_FUNCTIONS], beta[MAX_FUNCTIONS];
    tn_list f = {0}, a = {0}, b = {0};
    tn_ctx *ctx = n->ctx;
    int want = l->k->per_dir * l->dirs, n_names = onnx_attr_strs(n, "activations", names, 6),
        n_alpha = onnx_attr_floats(n, "activation_alpha", alpha, 6),
        n_beta = onnx_attr_floats(n, "activation_beta", beta, 6), at_alpha = 0, at_beta = 0;
    if (n->failed)
        return NULL;
    if (n_names > 0 && n_names != want) {
        onnx_fail(n, TNB_INVALID, "attribute 'activations' has %d entries, expected %d", n_names,
                  want);
        return NULL;
    }
    for (int i = 0; i < want; i++) {
        const struct function_row *row =
            find_function(n, n_names > 0 ? names[i] : l->k->functions[i % l->k->per_dir]);
        if (!row)
            return NULL;
        double pa = row->default_alpha, pb = row->default_beta;
        if (row->alpha && at_alpha < n_alpha)
            pa = alpha[at_alpha++];
        if (row->beta && at_beta < n_beta)
            pb = beta[at_beta++];
        f = tn_list_append(ctx, f, tn_string(ctx, row->name));
        a = tn_list_append(ctx, a, tn_float_imm_of(ctx, TNB_F64, pa));
        b = tn_list_append(ctx, b, tn_float_imm_of(ctx, TNB_F64, pb));
    }
    attrs = tn_dict_set(ctx, attrs, "activations", tn_array_of(ctx, f));
    attrs = tn_dict_set(ctx, attrs, "alpha", tn_array_of(ctx, a));
    return tn_dict_set(ctx, attrs, "beta", tn_array_of(ctx, b));
}

/* ---- the layer ---- */

/* The weights with the extents that the attributes ask for, known or checked at run time. */
static bool
read_weights(onnx_node *n, layer *l)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *w = onnx_in(n, 1), *r = onnx_in(n, 2);
    tn_list dw, dr;
    if (onnx_rank(n, w) != 3 || onnx_rank(n, r) != 3 || l->hidden < 1 || l->hidden > INT32_MAX)
        return n->failed
                   ? false
                   : onnx_fail(n, TNB_SHAPE,
                               "the weights have types %s and %s, expected [%d, %d * %" PRId64
                               ", ...]",
                               onnx_type_text(n->imp, w->type), onnx_type_text(n->imp, r->type),
                               l->dirs, l->k->gates, l->hidden);
    if (!onnx_dims(n, w, &dw) || !onnx_dims(n, r, &dr))
        return false;
    const tn_node *dirs = tn_i64(ctx, l->dirs), *all = tn_i64(ctx, l->k->gates * l->hidden);
    l->w = onnx_fix_extents(n, w, tn_listv(ctx, dirs, all, dw.at[2], NULL), "'W'");
    l->r = onnx_fix_extents(n, r, tn_listv(ctx, dirs, all, tn_i64(ctx, l->hidden), NULL), "'R'");
    return !n->failed;
}

/* Also gives the attributes of the operator; NULL after an error. */
static const tn_node *
read_layer(onnx_node *n, const kind *k, layer *l)
{
    static const char *const directions[] = {"forward", "reverse", "bidirectional", NULL};
    static const int64_t swap[3] = {1, 0, 2};
    tn_ctx *ctx = n->ctx;
    tn_list d;
    int dir = onnx_attr_choice(n, "direction", "forward", directions);
    *l = (layer){.k = k, .dirs = dir == 2 ? 2 : 1};
    l->batch_first = onnx_attr_int(n, "layout", 0) != 0;
    onnx_attr(n, "output_sequence");
    l->x = onnx_in(n, 0);
    l->dtype = onnx_dtype(l->x);
    if (dir < 0 || !onnx_dims(n, l->x, &d))
        return NULL;
    if (d.n != 3) {
        onnx_fail(n, TNB_SHAPE, "the input has rank %u, expected 3", d.n);
        return NULL;
    }
    if (l->batch_first)
        l->x = onnx_permute(n, l->x, swap, 3);
    l->batch = d.at[l->batch_first ? 0 : 1];
    l->hidden = onnx_attr_int(n, "hidden_size", onnx_dim(onnx_in(n, 2), 2));
    if (n->failed || !read_weights(n, l))
        return NULL;
    const tn_node *attrs = tn_dictv(ctx, "direction", tn_string(ctx, directions[dir]), NULL);
    double clip = onnx_attr_float(n, "clip", 0);
    if (clip > 0)
        attrs = tn_dict_set(ctx, attrs, "clip", tn_float_imm_of(ctx, TNB_F64, clip));
    int64_t before = onnx_attr_int(n, "linear_before_reset", 0),
            coupled = onnx_attr_int(n, "input_forget", 0);
    if (k->gates == 3)
        attrs = tn_dict_set(ctx, attrs, "linear_before_reset", tn_bool(ctx, before != 0));
    if (k->gates == 4)
        attrs = tn_dict_set(ctx, attrs, "input_forget", tn_bool(ctx, coupled != 0));
    return function_attrs(n, l, attrs);
}

/* ---- operands ---- */

/* Of the biases [directions, 2 * gates * hidden]: the part of the input's products (0) or of the
 * state's (1). */
static const tn_expr *
bias_part(onnx_node *n, const layer *l, int part)
{
    int64_t all = l->k->gates * l->hidden;
    const tn_node *dims[2] = {tn_i64(n->ctx, l->dirs), tn_i64(n->ctx, 2 * all)};
    const tn_expr *b = onnx_fix_extents(n, onnx_in(n, 3), tn_list_of(n->ctx, dims, 2), "the bias");
    return onnx_slice_ints(n, b, 1, part * all, (part + 1) * all);
}

/* [steps, batch, directions * gates * hidden], biases included; those of a GRU's state are not:
 * its reset gate comes in between. */
static const tn_expr *
input_products(onnx_node *n, const layer *l)
{
    static const int64_t swap[2] = {1, 0};
    int64_t all = l->dirs * l->k->gates * l->hidden;
    tn_list dims;
    if (!onnx_dims(n, l->w, &dims))
        return tn_error_node(n->ctx);
    const tn_expr *two[2] = {tn_i64(n->ctx, all), dims.at[2]};
    const tn_expr *w = onnx_permute(n, onnx_reshape(n, l->w, two, 2), swap, 2);
    const tn_expr *xw = onnx_bin(n, "matmul", l->x, w);
    if (!onnx_has(n, 3))
        return xw;
    const tn_expr *b = bias_part(n, l, 0);
    if (l->k->gates != 3)
        b = onnx_bin(n, "add", b, bias_part(n, l, 1));
    return onnx_bin(n, "add", xw, onnx_reshape_ints(n, b, &all, 1));
}

static const tn_expr *
start_state(onnx_node *n, const layer *l, uint32_t input)
{
    static const int64_t swap[3] = {1, 0, 2};
    const tn_expr *dims[3] = {tn_i64(n->ctx, l->dirs), l->batch, tn_i64(n->ctx, l->hidden)};
    if (!onnx_has(n, input))
        return onnx_full(n, dims, 3, l->dtype, 0);
    const tn_expr *x = onnx_in(n, input);
    return l->batch_first ? onnx_permute(n, x, swap, 3) : x;
}

static const tn_expr *
zeros(onnx_node *n, const layer *l)
{
    const tn_expr *dims[2] = {tn_i64(n->ctx, l->dirs), tn_i64(n->ctx, 3 * l->hidden)};
    return onnx_full(n, dims, 2, l->dtype, 0);
}

/* How many steps each sequence has, checked: 0 to all. */
static const tn_expr *
checked_lengths(onnx_node *n, const layer *l)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *lengths = onnx_in(n, 4);
    tn_list dims, in;
    if (!onnx_dims(n, lengths, &dims) || !onnx_dims(n, l->x, &in))
        return tn_error_node(ctx);
    if (dims.n != 1) {
        onnx_fail(n, TNB_SHAPE, "the sequences' lengths have rank %u, expected 1", dims.n);
        return tn_error_node(ctx);
    }
    const tn_expr *all = tn_add(ctx, in.at[0], tn_i64(ctx, 1));
    return onnx_in_range(n, onnx_astype(n, lengths, TNB_I32), all, "sequence_lens");
}

static bool
recurrent(onnx_node *n, const kind *k)
{
    static const int64_t turn[3] = {0, 2, 1}, back4[4] = {2, 0, 1, 3}, back3[3] = {1, 0, 2};
    layer l;
    tn_list args = {0};
    tn_ctx *ctx = n->ctx;
    const tn_node *attrs = read_layer(n, k, &l);
    if (!attrs)
        return false;
    bool lengths = onnx_has(n, 4), peephole = k->peephole && onnx_has(n, k->peephole);
    const tn_expr *operands[6], *first = input_products(n, &l);
    uint32_t count = 0;
    operands[count++] = first;
    operands[count++] = onnx_permute(n, l.r, turn, 3);
    operands[count++] = start_state(n, &l, 5);
    if (k->gates == 4)
        operands[count++] = start_state(n, &l, 6);
    if (k->gates == 3)
        operands[count++] = onnx_has(n, 3) ? bias_part(n, &l, 1) : zeros(n, &l);
    if (k->gates == 4 && (peephole || lengths))
        operands[count++] = peephole ? onnx_in(n, k->peephole) : zeros(n, &l);
    if (lengths)
        operands[count++] = checked_lengths(n, &l);
    for (uint32_t i = 0; i < count; i++)
        args = tn_list_append(ctx, args, operands[i]);
    if (n->failed)
        return false;
    const tn_expr *all = onnx_emit_call(n, tn_call_op(ctx, k->op, args, attrs));
    for (uint32_t i = 0; i < (k->gates == 4 ? 3u : 2u) && !n->failed; i++) {
        if (i >= n->n_out || !n->out[i])
            continue;
        const tn_expr *y = onnx_tuple_get(n, all, i);
        if (l.batch_first)
            y = i ? onnx_permute(n, y, back3, 3) : onnx_permute(n, y, back4, 4);
        if (!onnx_ret_at(n, i, y))
            return false;
    }
    return !n->failed;
}

static bool
import_lstm(onnx_node *n)
{
    static const kind k = {"nn.lstm", 4, 3, {"Sigmoid", "Tanh", "Tanh"}, 7};
    return recurrent(n, &k);
}

static bool
import_gru(onnx_node *n)
{
    static const kind k = {"nn.gru", 3, 2, {"Sigmoid", "Tanh", NULL}, 0};
    return recurrent(n, &k);
}

static bool
import_rnn(onnx_node *n)
{
    static const kind k = {"nn.rnn", 1, 1, {"Tanh", NULL, NULL}, 0};
    return recurrent(n, &k);
}

const onnx_op onnx_rnn_ops[] = {
    {"LSTM", 1, 0, 3, 8, 0, 3, import_lstm, NULL, 0, NULL},
    {"GRU", 1, 0, 3, 6, 0, 2, import_gru, NULL, 0, NULL},
    {"RNN", 1, 0, 3, 6, 0, 2, import_rnn, NULL, 0, NULL},
    {0},
};
