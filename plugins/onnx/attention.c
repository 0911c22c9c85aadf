/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, rotary embeddings and cache updates, by composition.
 *
 * Q, K and V are brought to [batch, heads, positions, size]. Several query heads may share one head
 * of keys: queries are then [batch, key heads, heads a key head, positions, size], so that keys and
 * values are broadcast instead of repeated.
 *
 *     scores = (Q * sqrt(scale)) (K * sqrt(scale))^T        mode 0
 *     scores = softcap * tanh(scores / softcap)             mode 1
 *     scores = scores + bias                                mode 2
 *     Y      = softmax(scores) V                            mode 3 (the softmax)
 *
 * The bias is 0 or -infinity, or what a mask of numbers says: the sum of the mask, the causal
 * frontier, the window and the padding of caches. A query that may see no key gets zeros.
 */
#include <inttypes.h>
#include <math.h>
#include "import.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, VALID };

typedef struct attention {
    const tn_expr *x[3];              /* rank 4 */
    const tn_expr *batch, *q_len;     /* extents */
    const tn_expr *kv_len, *past_len; /* past_len NULL: no cache inside */
    const tn_expr *valid;             /* [batch, 1, 1, 1], NULL: no cache outside */
    int64_t q_heads, kv_heads;
    tnb_dtype d;
    bool three; /* inputs of rank 3 */
    bool guard; /* a query may see no key */
} attention;

/* [batch, positions, heads * size] to [batch, heads, positions, size]. */
static const tn_expr *
split_heads(onnx_node *n, const tn_expr *x, int64_t heads)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    tn_list d;
    if (!onnx_dims(n, x, &d))
        return tn_error_node(n->ctx);
    int64_t width;
    if (d.n != 3 || heads < 1 || (tn_int_value(d.at[2], &width) && width % heads)) {
        onnx_fail(n, TNB_SHAPE, "an input of type %s cannot be split into %" PRId64 " heads",
                  onnx_type_text(n->imp, x->type), heads);
        return tn_error_node(n->ctx);
    }
    const tn_expr *size = onnx_simplify(n, tn_floordiv(n->ctx, d.at[2], tn_i64(n->ctx, heads)));
    const tn_expr *four[] = {d.at[0], d.at[1], tn_i64(n->ctx, heads), size};
    return onnx_permute(n, onnx_reshape(n, x, four, 4), perm, 4);
}

static bool
read_heads(onnx_node *n, attention *a)
{
    static const char *const names[] = {"query", "key", "value"};
    int64_t heads[3], rank = onnx_rank(n, onnx_in(n, Q));
    heads[Q] = onnx_attr_int(n, "q_num_heads", 0);
    heads[K] = heads[V] = onnx_attr_int(n, "kv_num_heads", 0);
    if (rank < 0)
        return false;
    a->three = rank == 3;
    for (int i = 0; i < 3; i++) {
        a->x[i] = onnx_in(n, (uint32_t)i);
        if (onnx_rank(n, a->x[i]) != rank || (rank != 3 && rank != 4))
            return n->failed ? false
                             : onnx_fail(n, TNB_SHAPE,
                                         "the %s has type %s, expected rank 3 or 4 as the query",
                                         names[i], onnx_type_text(n->imp, a->x[i]->type));
        if (a->three && heads[i] < 1)
            return onnx_fail(n, TNB_INVALID,
                             "attributes 'q_num_heads' and 'kv_num_heads' are needed for inputs of "
                             "rank 3");
        if (a->three)
            a->x[i] = split_heads(n, a->x[i], heads[i]);
        if (n->failed)
            return false;
    }
    a->q_heads = onnx_dim(a->x[Q], 1);
    a->kv_heads = onnx_dim(a->x[K], 1);
    if (a->q_heads < 0 || a->kv_heads < 0)
        return onnx_unknown(n, "the number of heads has");
    if (a->q_heads < 1 || a->kv_heads < 1 || a->q_heads % a->kv_heads)
        return onnx_fail(n, TNB_SHAPE, "%" PRId64 " query heads cannot share %" PRId64 " key heads",
                         a->q_heads, a->kv_heads);
    a->d = onnx_dtype(a->x[Q]);
    tn_list q;
    if (!onnx_dims(n, a->x[Q], &q))
        return false;
    for (int i = K; i <= V; i++)
        a->x[i] = onnx_fix_extent(n, a->x[i], 0, q.at[0], names[i]);
    return !n->failed;
}

/* The caches before and after; K and V with the past before them. */
static bool
join_past(onnx_node *n, attention *a)
{
    tn_list q, k, v, p;
    if (onnx_has(n, PAST_K) != onnx_has(n, PAST_V))
        return onnx_fail(n, TNB_INVALID, "one of 'past_key' and 'past_value' is given alone");
    if (onnx_has(n, PAST_K) && onnx_has(n, VALID))
        return onnx_fail(n, TNB_INVALID, "'nonpad_kv_seqlen' is given beside 'past_key'");
    for (int i = 0; i < 2 && onnx_has(n, PAST_K); i++) {
        const tn_expr *both[] = {onnx_in(n, (uint32_t)(PAST_K + i)), a->x[K + i]};
        if (i == 0 && onnx_dims(n, both[0], &p) && p.n == 4)
            a->past_len = p.at[2];
        a->x[K + i] = onnx_concat(n, both, 2, 2);
    }
    if (n->failed || !onnx_dims(n, a->x[Q], &q) || !onnx_dims(n, a->x[K], &k))
        return false;
    a->batch = q.at[0];
    a->q_len = q.at[2];
    a->kv_len = onnx_simplify(n, k.at[2]);
    if (!onnx_dims(n, a->x[V], &v)) /* nothing is broadcast */
        return false;
    k = tn_listv(n->ctx, a->batch, k.at[1], k.at[2], q.at[3], NULL);
    a->x[K] = onnx_fix_extents(n, a->x[K], k, "the key");
    a->x[V] = onnx_fix_extents(n, a->x[V], tn_list_with(n->ctx, k, 3, v.at[3]), "the value");
    if (n->failed)
        return false;
    if (onnx_has(n, VALID)) {
        const tn_expr *one = tn_i64(n->ctx, 1), *four[] = {a->batch, one, one, one};
        const tn_expr *valid =
            onnx_in_range(n, onnx_in(n, VALID), tn_add(n->ctx, a->kv_len, one), "nonpad_kv_seqlen");
        a->valid = onnx_reshape(n, valid, four, 4);
    }
    return onnx_ret_at(n, 1, a->x[K]) && onnx_ret_at(n, 2, a->x[V]);
}

/* 0 where `allowed`, -infinity elsewhere. */
static const tn_expr *
bias_of(onnx_node *n, const attention *a, const tn_expr *allowed)
{
    return onnx_where(n, allowed, onnx_scalar(n, a->d, 0), onnx_scalar(n, a->d, -INFINITY));
}

static const tn_expr *
sum_of(onnx_node *n, const tn_expr *bias, const tn_expr *more)
{
    return bias ? onnx_bin(n, "add", bias, more) : more;
}

/* The mask with the extents of queries and keys where its own are other terms: they are compared at
 * run time. */
static const tn_expr *
mask_matched(onnx_node *n, const attention *a, const tn_expr *m)
{
    const tn_expr *want[4], *end[2] = {a->kv_len, a->q_len};
    tn_list d;
    bool changed = false;
    if (n->failed || !onnx_dims(n, m, &d))
        return tn_error_node(n->ctx);
    for (uint32_t i = 0; i < d.n; i++) {
        uint32_t from_end = d.n - 1 - i;
        bool other = from_end < 2 && !tn_is(d.at[i], TN_KIND_INT_IMM) &&
                     !tn_prove_equal(n->ctx, d.at[i], end[from_end]);
        want[i] = other ? end[from_end] : d.at[i];
        changed |= other;
    }
    if (!changed)
        return m;
    return onnx_match_extents(n, m, tn_list_of(n->ctx, want, d.n), "the mask", "mask");
}

/* The mask as a bias. From opset 24 on it may have fewer keys than there are: none of the others
 * may be seen. */
static const tn_expr *
mask_bias(onnx_node *n, attention *a)
{
    const tn_expr *m = onnx_in(n, MASK);
    int64_t rank = onnx_rank(n, m), keys;
    if (rank < 1 || rank > 4) {
        if (!n->failed)
            onnx_fail(n, TNB_SHAPE, "the mask has rank %" PRId64 ", expected 1 to 4", rank);
        return tn_error_node(n->ctx);
    }
    a->guard = true;
    m = onnx_dtype(m).code == TNB_BOOL ? bias_of(n, a, m) : onnx_astype(n, m, a->d);
    int64_t have = onnx_dim(m, rank - 1), begin[4] = {0}, end[4] = {0};
    if (have > 1 && tn_int_value(a->kv_len, &keys) && have < keys) {
        end[rank - 1] = keys - have;
        m = onnx_pad(n, m, begin, end, (uint32_t)rank, -INFINITY);
    }
    return mask_matched(n, a, m);
}

/* Position of each query among the keys minus that of each key: [queries, keys], or with caches of
 * several lengths [batch, 1, queries, keys]. */
static const tn_expr *
distances(onnx_node *n, const attention *a)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *zero = tn_i64(ctx, 0), *one = tn_i64(ctx, 1), *begin = zero, *end = a->q_len;
    int64_t last = 1;
    if (a->past_len) {
        begin = a->past_len;
        end = onnx_simplify(n, tn_add(ctx, a->past_len, a->q_len));
    } else if (a->valid) { /* the last query is the last valid key */
        begin = onnx_simplify(n, tn_sub(ctx, zero, a->q_len));
        end = zero;
    }
    const tn_expr *i = onnx_unsqueeze(n, onnx_arange(n, begin, end, one, TNB_I64), &last, 1);
    if (a->valid)
        i = onnx_bin(n, "add", a->valid, i);
    return onnx_bin(n, "subtract", i, onnx_arange(n, zero, a->kv_len, one, TNB_I64));
}

static bool
make_bias(onnx_node *n, attention *a, const tn_expr **out)
{
    bool causal = onnx_attr_int(n, "is_causal", 0) != 0;
    int64_t left = n->version < 25 ? -1 : onnx_attr_int(n, "left_window_size", -1),
            right = n->version < 25 ? -1 : onnx_attr_int(n, "right_window_size", -1);
    const tn_expr *bias = NULL, *allowed = NULL, *d = NULL, *c;
    if (left < -1 || right < -1)
        return onnx_fail(n, TNB_INVALID,
                         "a window of %" PRId64 " keys to the left and %" PRId64
                         " to the right makes no sense",
                         left, right);
    if (onnx_has(n, MASK))
        bias = mask_bias(n, a);
    right = causal ? 0 : right;
    if (left >= 0 || right >= 0)
        d = distances(n, a);
    if (right >= 0)
        allowed = onnx_bin_num(n, "greater_equal", d, -(double)right);
    if (left >= 0) {
        c = onnx_bin_num(n, "less_equal", d, (double)left);
        allowed = allowed ? onnx_bin(n, "logical_and", allowed, c) : c;
    }
    if (a->valid) {
        c = onnx_bin(n, "less",
                     onnx_arange(n, tn_i64(n->ctx, 0), a->kv_len, tn_i64(n->ctx, 1), TNB_I64),
                     a->valid);
        allowed = allowed ? onnx_bin(n, "logical_and", allowed, c) : c;
    }
    a->guard |= left >= 0 || a->valid;
    *out = allowed ? sum_of(n, bias, bias_of(n, a, allowed)) : bias;
    return !n->failed;
}

/* [batch, query heads, ...] to [batch, key heads, query heads a key head, ...] or back. */
static const tn_expr *
grouped(onnx_node *n, const attention *a, const tn_expr *x, bool back)
{
    tn_list d;
    if (a->q_heads == a->kv_heads)
        return x;
    if (!onnx_dims(n, x, &d))
        return tn_error_node(n->ctx);
    uint32_t last = d.n - 1;
    const tn_expr *to[5] = {a->batch, tn_i64(n->ctx, back ? a->q_heads : a->kv_heads),
                            tn_i64(n->ctx, a->q_heads / a->kv_heads), d.at[last - 1], d.at[last]};
    if (back) {
        to[2] = to[3];
        to[3] = to[4];
    }
    return onnx_reshape(n, x, to, back ? 4 : 5);
}

/* Keys or values as the second operand of a product with grouped queries. */
static const tn_expr *
shared(onnx_node *n, const attention *a, const tn_expr *x)
{
    int64_t two = 2;
    return a->q_heads == a->kv_heads ? x : onnx_unsqueeze(n, x, &two, 1);
}

/* A bias as grouped scores meet it; NULL: how many heads it has is not known. */
static const tn_expr *
grouped_bias(onnx_node *n, const attention *a, const tn_expr *bias)
{
    tn_list d;
    int64_t heads, one = 1;
    if (n->failed || !onnx_dims(n, bias, &d))
        return tn_error_node(n->ctx);
    if (d.n < 3)
        return bias;
    if (!tn_int_value(d.at[d.n - 3], &heads) || (heads != 1 && heads != a->q_heads))
        return NULL;
    if (heads == 1)
        return d.n == 3 ? bias : onnx_unsqueeze(n, bias, &one, 1);
    const tn_expr *to[5] = {d.at[0], tn_i64(n->ctx, a->kv_heads),
                            tn_i64(n->ctx, a->q_heads / a->kv_heads), d.at[d.n - 2], d.at[d.n - 1]};
    return onnx_reshape(n, bias, to + (4 - d.n), d.n + 1);
}

/* A product whose sums are kept in float32 at least. */
static const tn_expr *
product(onnx_node *n, const attention *a, const tn_expr *x, const tn_expr *y)
{
    if (a->d.bits >= 32)
        return onnx_bin(n, "matmul", x, y);
    const tn_node *sums = tn_dictv(n->ctx, "out_dtype", tn_dtype_imm_of(n->ctx, TNB_F32), NULL);
    return onnx_astype(n, onnx_emit(n, "matmul", sums, x, y, NULL), a->d);
}

/* By groups of heads, where keys have fewer. */
static const tn_expr *
scores_of(onnx_node *n, const attention *a)
{
    static const int64_t perm[] = {0, 1, 3, 2}, perm_five[] = {0, 1, 2, 4, 3};
    double scale = onnx_attr_float(n, "scale", 0);
    int64_t size = onnx_dim(a->x[Q], 3);
    if (!onnx_attr(n, "scale")) {
        if (size < 1) {
            onnx_unknown(n, "the size of a head has");
            return tn_error_node(n->ctx);
        }
        scale = 1 / sqrt((double)size);
    }
    if (scale < 0) {
        onnx_fail(n, TNB_INVALID, "attribute 'scale' is %g, expected a number that has a root",
                  scale);
        return tn_error_node(n->ctx);
    }
    const tn_expr *q = onnx_bin_num(n, "multiply", grouped(n, a, a->x[Q], false), sqrt(scale)),
                  *k = onnx_bin_num(n, "multiply", shared(n, a, a->x[K]), sqrt(scale));
    bool four = a->q_heads == a->kv_heads;
    return product(n, a, q, onnx_permute(n, k, four ? perm : perm_five, four ? 4 : 5));
}

/* Softmax over the keys; zeros where the bias lets a query see none. */
static const tn_expr *
probabilities(onnx_node *n, const attention *a, const tn_expr *scores, const tn_expr *bias)
{
    int64_t type = onnx_attr_int(n, "softmax_precision", 0), last = -1;
    tnb_dtype d = type ? tnb_onnx_dtype(type) : a->d;
    if (!tnb_dtype_is_float(d)) {
        onnx_fail(n, TNB_INVALID, "attribute 'softmax_precision' is %" PRId64, type);
        return tn_error_node(n->ctx);
    }
    const tn_expr *p =
        onnx_emit(n, "nn.softmax", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, -1), NULL),
                  onnx_astype(n, scores, d), NULL);
    p = onnx_astype(n, p, a->d);
    if (!bias || !a->guard)
        return p;
    const tn_expr *most = onnx_reduce(n, "max", bias, &last, 1, true),
                  *none = onnx_bin(n, "equal", most, onnx_scalar(n, a->d, -INFINITY));
    return onnx_where(n, none, onnx_scalar(n, a->d, 0), p);
}

static bool
import_attention(onnx_node *n)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    attention a = {0};
    double softcap = onnx_attr_float(n, "softcap", 0);
    int64_t mode = onnx_attr_int(n, "qk_matmul_output_mode", 0);
    const tn_expr *bias = NULL, *stage[4];
    if (!read_heads(n, &a) || !join_past(n, &a) || !make_bias(n, &a, &bias))
        return false;
    if (mode < 0 || mode > 3)
        return onnx_fail(n, TNB_INVALID,
                         "attribute 'qk_matmul_output_mode' is %" PRId64 ", expected 0 to 3", mode);
    stage[0] = stage[1] = scores_of(n, &a);
    const tn_expr *own = bias && a.q_heads != a.kv_heads ? grouped_bias(n, &a, bias) : bias;
    bool apart = bias && !own; /* then it meets scores by heads */
    if (apart)
        stage[0] = stage[1] = grouped(n, &a, stage[0], true);
    else
        bias = own;
    if (softcap != 0)
        stage[1] =
            onnx_bin_num(n, "multiply",
                         onnx_un(n, "tanh", onnx_bin_num(n, "divide", stage[0], softcap)), softcap);
    stage[2] = bias ? onnx_bin(n, "add", stage[1], bias) : stage[1];
    stage[3] = probabilities(n, &a, stage[2], bias);
    const tn_expr *v = onnx_astype(n, a.x[V], a.d);
    const tn_expr *p = apart ? grouped(n, &a, stage[3], false) : stage[3];
    const tn_expr *y = grouped(n, &a, product(n, &a, p, shared(n, &a, v)), true);
    if (a.three) {
        tn_list d;
        y = onnx_permute(n, y, perm, 4);
        if (n->failed || !onnx_dims(n, y, &d))
            return false;
        const tn_expr *three[] = {d.at[0], d.at[1],
                                  onnx_simplify(n, tn_mul(n->ctx, d.at[2], d.at[3]))};
        y = onnx_reshape(n, y, three, 3);
    }
    if (!onnx_ret_at(n, 0, y))
        return false;
    return n->n_out < 4 ||
           onnx_ret_at(n, 3, apart ? stage[mode] : grouped(n, &a, stage[mode], true));
}

/* ---- rotary embeddings ---- */

/* Entry `which` of each pair: interleaved [..., 2 i + which], else [..., which * half + i]. */
static const tn_expr *
half_of(onnx_node *n, const tn_expr *x, tn_list dims, int64_t half, int which, bool interleaved)
{
    int64_t last = dims.n;
    const tn_expr *pairs[ONNX_MAX_DIMS];
    if (!interleaved)
        return onnx_slice_ints(n, x, last - 1, which * half, (which + 1) * half);
    for (uint32_t i = 0; i + 1 < dims.n; i++)
        pairs[i] = dims.at[i];
    pairs[last - 1] = tn_i64(n->ctx, half);
    pairs[last] = tn_i64(n->ctx, 2);
    x = onnx_reshape(n, x, pairs, dims.n + 1);
    return onnx_squeeze(n, onnx_slice_ints(n, x, last, which, which + 1), &last, 1);
}

/* x [batch, ..., size] turned by angles whose cosines and sines are [batch, ..., half]. */
static const tn_expr *
rotated(onnx_node *n, const tn_expr *x, const tn_expr *c, const tn_expr *s, int64_t half,
        bool interleaved)
{
    tn_list d;
    if (!onnx_dims(n, x, &d))
        return tn_error_node(n->ctx);
    const tn_expr *a = half_of(n, x, d, half, 0, interleaved),
                  *b = half_of(n, x, d, half, 1, interleaved), *both[2];
    int64_t last = d.n;
    both[0] = onnx_bin(n, "subtract", onnx_bin(n, "multiply", a, c), onnx_bin(n, "multiply", b, s));
    both[1] = onnx_bin(n, "add", onnx_bin(n, "multiply", a, s), onnx_bin(n, "multiply", b, c));
    if (!interleaved)
        return onnx_concat(n, both, 2, last - 1);
    for (int i = 0; i < 2; i++)
        both[i] = onnx_unsqueeze(n, both[i], &last, 1);
    return onnx_reshape(n, onnx_concat(n, both, 2, last), d.at, d.n);
}

static bool
import_rotary(onnx_node *n)
{
    bool interleaved = onnx_attr_int(n, "interleaved", 0) != 0;
    int64_t heads = onnx_attr_int(n, "num_heads", 0),
            width = onnx_attr_int(n, "rotary_embedding_dim", 0);
    const tn_expr *x = onnx_in(n, 0), *angle[2];
    int64_t rank = onnx_rank(n, x), size, head_axis = rank == 3 ? 2 : 1;
    tn_list in;
    if (rank < 0 || !onnx_dims(n, x, &in))
        return false;
    if (rank != 3 && rank != 4)
        return onnx_fail(n, TNB_SHAPE, "the input has rank %" PRId64 ", expected 3 or 4", rank);
    if (rank == 3) { /* [batch, positions, heads, size] */
        if (!tn_int_value(in.at[2], &size))
            return onnx_unknown(n, "the size of a head has");
        if (heads < 1 || size % heads)
            return onnx_fail(n, TNB_SHAPE,
                             "an input of type %s cannot be split into %" PRId64
                             " heads (attribute 'num_heads')",
                             onnx_type_text(n->imp, x->type), heads);
        const tn_expr *four[] = {in.at[0], in.at[1], tn_i64(n->ctx, heads),
                                 tn_i64(n->ctx, size / heads)};
        x = onnx_reshape(n, x, four, 4);
    }
    size = onnx_dim(x, 3);
    if (size < 0)
        return onnx_unknown(n, "the size of a head has");
    width = width ? width : size;
    if (size < 1 || width < 2 || width > size || width % 2)
        return onnx_fail(n, TNB_SHAPE, "%" PRId64 " of %" PRId64 " elements cannot be rotated",
                         width, size);
    for (int i = 0; i < 2; i++) {
        angle[i] = onnx_in(n, (uint32_t)(1 + i));
        if (onnx_has(n, 3)) {
            tn_list rows;
            if (!onnx_dims(n, angle[i], &rows))
                return false;
            if (!rows.n)
                return onnx_fail(n, TNB_SHAPE,
                                 "the %s are a scalar, expected a row for each position",
                                 i ? "sines" : "cosines");
            angle[i] = onnx_take(n, angle[i],
                                 onnx_in_range(n, onnx_in(n, 3), rows.at[0], "position_ids"), 0);
        }
        int64_t have = n->failed ? -1 : onnx_dim(angle[i], onnx_rank(n, angle[i]) - 1);
        if (!n->failed && (onnx_rank(n, angle[i]) != 3 || (have >= 0 && have != width / 2)))
            return onnx_fail(n, TNB_SHAPE,
                             "the %s have type %s, expected %" PRId64
                             " entries for each batch and position",
                             i ? "sines" : "cosines", onnx_type_text(n->imp, angle[i]->type),
                             width / 2);
        if (n->failed)
            return false;
        angle[i] = onnx_fix_extent(n, angle[i], 2, tn_i64(n->ctx, width / 2),
                                   i ? "the sines" : "the cosines");
        angle[i] = onnx_fix_extent(n, angle[i], 0, in.at[0],
                                   onnx_has(n, 3) ? "the rows of 'position_ids'"
                                                  : "the batch of the angles");
        angle[i] = onnx_fix_extent(n, angle[i], 1, in.at[rank == 3 ? 1 : 2],
                                   onnx_has(n, 3) ? "the columns of 'position_ids'"
                                                  : "the positions of the angles");
        angle[i] = onnx_unsqueeze(n, angle[i], &head_axis, 1);
    }
    const tn_expr *part[2] = {rotated(n, onnx_slice_ints(n, x, 3, 0, width), angle[0], angle[1],
                                      width / 2, interleaved),
                              NULL};
    if (width < size) {
        part[1] = onnx_slice_ints(n, x, 3, width, size);
        part[0] = onnx_concat(n, part, 2, 3);
    }
    return onnx_ret(n, onnx_reshape(n, part[0], in.at, in.n));
}

/* ---- FlexAttention ---- */

/* What the sub-graph of an attribute makes of x; x itself if there is none. */
static const tn_expr *
modified(onnx_node *n, const char *name, const tn_expr *x)
{
    if (!onnx_attr(n, name) || n->failed)
        return x;
    const Onnx__GraphProto *g = onnx_attr_graph(n, name);
    onnx_value *arg = onnx_value_new(n->imp, name), *out;
    tn_list before, after;
    arg->expr = x;
    if (!g || !onnx_inline_graph(n, g, &arg, 1, &out, 1))
        return tn_error_node(n->ctx);
    const tn_expr *y = onnx_value_expr(n, out);
    if (!onnx_dims(n, x, &before) || !onnx_dims(n, y, &after))
        return tn_error_node(n->ctx);
    bool same = before.n == after.n && tnb_dtype_eq(onnx_dtype(x), onnx_dtype(y));
    for (uint32_t i = 0; i < before.n && same; i++)
        same = tn_prove_equal(n->ctx, before.at[i], after.at[i]);
    if (!same)
        onnx_fail(n, TNB_SHAPE, "the sub-graph '%s' makes a value of type %s, expected %s", name,
                  onnx_type_text(n->imp, y->type), onnx_type_text(n->imp, x->type));
    return n->failed ? tn_error_node(n->ctx) : y;
}

static bool
import_flex_attention(onnx_node *n)
{
    static const int64_t swap[] = {0, 1, 2, 4, 3};
    const tn_expr *x[3];
    tn_list d[3];
    for (uint32_t i = 0; i < 3; i++) {
        x[i] = onnx_in(n, i);
        if (onnx_rank(n, x[i]) != 4)
            return n->failed ? false
                             : onnx_fail(n, TNB_SHAPE, "input %u has type %s, expected rank 4", i,
                                         onnx_type_text(n->imp, x[i]->type));
        if (!onnx_dims(n, x[i], &d[i]))
            return false;
    }
    int64_t q_heads = onnx_dim(x[Q], 1), heads = onnx_dim(x[K], 1), size = onnx_dim(x[Q], 3),
            type = onnx_attr_int(n, "softmax_precision", 0);
    double scale = onnx_attr_float(n, "scale", 0);
    tnb_dtype t = onnx_dtype(x[Q]), w = type                       ? tnb_onnx_dtype(type)
                                        : tnb_dtype_eq(t, TNB_F64) ? TNB_F64
                                                                   : TNB_F32;
    if (heads < 0 || q_heads < 0)
        return onnx_unknown(n, "the number of heads has");
    if (heads < 1 || q_heads < 1 || q_heads % heads)
        return onnx_fail(n, TNB_SHAPE, "%" PRId64 " query heads cannot share %" PRId64 " key heads",
                         q_heads, heads);
    if (scale == 0 && size < 1)
        return onnx_unknown(n, "the size of a head has");
    if (!tnb_dtype_is_float(w))
        return onnx_fail(n, TNB_TYPE, "attribute 'softmax_precision' is %" PRId64 " (%s)", type,
                         tnb_onnx_type_name(type));
    /* [batch, key heads, heads a key head, positions, size]: keys are broadcast, not repeated */
    const tn_expr *h = tn_i64(n->ctx, heads), *g = tn_i64(n->ctx, q_heads / heads),
                  *one = tn_i64(n->ctx, 1);
    for (uint32_t i = 0; i < 3; i++) {
        const tn_expr *five[] = {d[i].at[0], h, i == Q ? g : one, d[i].at[2], d[i].at[3]};
        x[i] = onnx_reshape(n, onnx_astype(n, x[i], w), five, 5);
    }
    const tn_expr *scores =
        onnx_bin_num(n, "multiply", onnx_bin(n, "matmul", x[Q], onnx_permute(n, x[K], swap, 5)),
                     scale == 0 ? 1 / sqrt((double)size) : scale);
    const tn_expr *four[] = {d[Q].at[0], d[Q].at[1], d[Q].at[2], d[K].at[2]},
                  *five[] = {d[Q].at[0], h, g, d[Q].at[2], d[K].at[2]},
                  *out[] = {d[Q].at[0], d[Q].at[1], d[Q].at[2], d[V].at[3]};
    scores = modified(n, "score_mod", onnx_reshape(n, scores, four, 4));
    const tn_expr *probs =
        onnx_emit(n, "nn.softmax", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, -1), NULL), scores,
                  NULL);
    probs = onnx_reshape(n, modified(n, "prob_mod", probs), five, 5);
    const tn_expr *y = onnx_reshape(n, onnx_bin(n, "matmul", probs, x[V]), out, 4);
    return onnx_ret(n, onnx_astype(n, y, t));
}

const onnx_op onnx_attention_ops[] = {
    {"FlexAttention", 1, 0, 3, 3, 1, 1, import_flex_attention, NULL, 0, "ai.onnx.preview"},
    {"Attention", 23, 0, 3, 7, 1, 4, import_attention, NULL, 0, NULL},
    {"RotaryEmbedding", 23, 0, 3, 4, 1, 1, import_rotary, NULL, 0, NULL},
    {0},
};
