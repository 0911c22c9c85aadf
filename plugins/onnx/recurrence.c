/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent replacements of attention: LinearAttention and CausalConvWithState.
 *
 * LinearAttention is one tensor program with a serial loop over the positions. The state S
 * [batch, heads, key size, value size] is updated in place, the parts in brackets as the rule has
 * them:
 *
 *     S = past
 *     for t in positions:                                              T.axis.scan
 *         q, k  = scale * query_t, key_t
 *         [S    = exp(decay_t) * S]
 *         [seen = sum over k's size of S * k]                          the same in each turn
 *         S    += k * (value_t, or beta_t * (value_t - seen))
 *         sums  = sum over k's size of q * S                           the same in each turn
 *         Y_t   = sums
 *
 * Several query heads may share one head of keys and so its state. float16 is computed as float32.
 */
#include <inttypes.h>
#include <math.h>
#include "import.h"
#include "tenon/kit/te.h"

enum { Q, K, V, PAST, DECAY, BETA };
enum { LINEAR, GATED, DELTA, GATED_DELTA };

/* ---- LinearAttention ---- */

typedef struct linear {
    onnx_node *n;
    tn_ctx *ctx;
    tnk_te *te;
    int rule;
    double scale;
    int64_t q_heads, heads;
    bool decay_of_keys, one_beta;
    tnb_dtype d, w; /* of the tensors, of the computation */
    const tn_expr *args[6];
    uint32_t n_args;
    const tn_node *in[6], *state, *q, *k, *seen, *sums, *y;
    const tn_expr *batch, *steps, *key_size, *value_size; /* in the program */
    const tn_expr *t;                                     /* the loop */
    tn_list turn;
} linear;

/* A block in the making. */
enum { MAX_ITERS = 6 };
typedef struct nest {
    linear *l;
    uint32_t n, inner; /* iterators; the first that has a loop of its own */
    const tn_expr *var[MAX_ITERS], *loop[MAX_ITERS], *extent[MAX_ITERS];
    tn_iter_kind kind[MAX_ITERS];
} nest;

static const tn_expr *
iter(nest *b, const char *name, const tn_expr *extent, tn_iter_kind kind)
{
    tn_ctx *ctx = b->l->ctx;
    uint32_t i = b->n++;
    b->kind[i] = kind;
    b->extent[i] = extent;
    b->loop[i] = kind == TN_ITER_SCAN ? b->l->t : tn_var_dtype(ctx, name, TNB_I64);
    b->inner += kind == TN_ITER_SCAN;
    return b->var[i] = tn_var_dtype(ctx, tn_strf(ctx, "v_%s", name), TNB_I64);
}

static const tn_stmt *
end_nest(nest *b, const char *name, tn_list reads, const tn_node *write, const tn_stmt *init,
         const tn_stmt *body)
{
    tn_ctx *ctx = b->l->ctx;
    tn_list iters = {0};
    for (uint32_t i = 0; i < b->n; i++)
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), b->extent[i]),
                                              b->var[i], b->kind[i], NULL));
    tn_block block = {.name = tn_str(ctx, name),
                      .iters = iters,
                      .reads = reads,
                      .writes = tn_listv(ctx, write, NULL),
                      .init = init,
                      .body = body};
    const tn_stmt *s = tn_block_realize_of(ctx, tn_list_of(ctx, b->loop, b->n), tn_bool(ctx, true),
                                           tn_block_of(ctx, &block));
    for (uint32_t i = b->n; i-- > b->inner;)
        s = tn_for_of(ctx, b->loop[i], tn_i64(ctx, 0), b->extent[i], TN_FOR_SERIAL, NULL, NULL, s);
    return s;
}

/* buffer[at] */
static const tn_expr *
read_at(linear *l, const tn_node *buffer, tn_list at)
{
    return tnk_te_read_at(l->te, buffer, at.at, at.n);
}

/* Element i of a head in [batch, positions, heads * size]. */
static const tn_expr *
column(linear *l, const tn_expr *head, const tn_expr *size, const tn_expr *i)
{
    tn_ctx *ctx = l->ctx;
    return tn_add(ctx, tn_mul(ctx, head, size), i);
}

static const tn_expr *
wide_at(linear *l, uint32_t i, const tn_expr *b, const tn_expr *t, const tn_expr *c)
{
    return tn_cast_to(l->ctx, l->w, tnk_te_read(l->te, l->in[i], b, t, c, NULL));
}

/* to[b, h, k, v] = from[b, h, k, v], or 0, before or after the loop */
static void
copy_state(linear *l, const char *name, const tn_node *to, const tn_node *from, tnb_dtype d)
{
    tn_ctx *ctx = l->ctx;
    nest c = {.l = l};
    const tn_expr *b = iter(&c, "b", l->batch, TN_ITER_SPATIAL),
                  *h = iter(&c, "h", tn_i64(ctx, l->heads), TN_ITER_SPATIAL),
                  *k = iter(&c, "k", l->key_size, TN_ITER_SPATIAL),
                  *v = iter(&c, "v", l->value_size, TN_ITER_SPATIAL);
    tn_list at = tn_listv(ctx, b, h, k, v, NULL), reads = {0};
    const tn_expr *x = tn_literal(ctx, d, 0);
    if (from) {
        x = tn_cast_to(ctx, d, read_at(l, from, at));
        reads = tn_listv(ctx, tn_region_point(ctx, from, at), NULL);
    }
    tnk_te_append(l->te, end_nest(&c, name, reads, tn_region_point(ctx, to, at), NULL,
                                  tn_buffer_store_of(ctx, to, x, at)));
}

static void
add_turn(linear *l, const tn_stmt *s)
{
    l->turn = tn_list_append(l->ctx, l->turn, s);
}

/* to[b, h, i] = scale * row t of an input */
static void
add_row(linear *l, const char *name, const tn_node *to, uint32_t from, int64_t heads, double scale)
{
    tn_ctx *ctx = l->ctx;
    nest c = {.l = l};
    const tn_expr *t = iter(&c, "t", l->steps, TN_ITER_SCAN),
                  *b = iter(&c, "b", l->batch, TN_ITER_SPATIAL),
                  *h = iter(&c, "h", tn_i64(ctx, heads), TN_ITER_SPATIAL),
                  *i = iter(&c, "i", l->key_size, TN_ITER_SPATIAL);
    const tn_expr *at = column(l, h, l->key_size, i), *x = wide_at(l, from, b, t, at);
    if (scale != 1)
        x = tn_mul(ctx, x, tn_literal(ctx, l->w, scale));
    tn_list in_row = tn_listv(ctx, b, t, at, NULL), element = tn_listv(ctx, b, h, i, NULL),
            reads = tn_listv(ctx, tn_region_point(ctx, l->in[from], in_row), NULL);
    add_turn(l, end_nest(&c, name, reads, tn_region_point(ctx, to, element), NULL,
                         tn_buffer_store_of(ctx, to, x, element)));
}

static void
add_decay(linear *l)
{
    tn_ctx *ctx = l->ctx;
    nest c = {.l = l};
    const tn_expr *t = iter(&c, "t", l->steps, TN_ITER_SCAN),
                  *b = iter(&c, "b", l->batch, TN_ITER_SPATIAL),
                  *h = iter(&c, "h", tn_i64(ctx, l->heads), TN_ITER_SPATIAL),
                  *k = iter(&c, "k", l->key_size, TN_ITER_SPATIAL),
                  *v = iter(&c, "v", l->value_size, TN_ITER_SPATIAL);
    const tn_expr *at = l->decay_of_keys ? column(l, h, l->key_size, k) : h;
    const tn_expr *keep = tn_intrin1(ctx, TN_INTRIN_exp, wide_at(l, DECAY, b, t, at));
    tn_list in_state = tn_listv(ctx, b, h, k, v, NULL), in_row = tn_listv(ctx, b, t, at, NULL);
    const tn_node *s = tn_region_point(ctx, l->state, in_state);
    tn_list reads = tn_listv(ctx, s, tn_region_point(ctx, l->in[DECAY], in_row), NULL);
    const tn_expr *next = tn_mul(ctx, read_at(l, l->state, in_state), keep);
    add_turn(l, end_nest(&c, "decay", reads, s, NULL,
                         tn_buffer_store_of(ctx, l->state, next, in_state)));
}

/* sums[b, h, v] = sum over k of row[b, h, k] * S[b, head of h, k, v] */
static void
add_product(linear *l, const char *name, const tn_node *sums, const tn_node *row, int64_t heads)
{
    tn_ctx *ctx = l->ctx;
    nest c = {.l = l};
    const tn_expr *b = iter(&c, "b", l->batch, TN_ITER_SPATIAL),
                  *h = iter(&c, "h", tn_i64(ctx, heads), TN_ITER_SPATIAL),
                  *v = iter(&c, "v", l->value_size, TN_ITER_SPATIAL),
                  *k = iter(&c, "k", l->key_size, TN_ITER_REDUCE);
    const tn_expr *of = heads == l->heads ? h : tn_floordivi(ctx, h, heads / l->heads);
    tn_list in_sums = tn_listv(ctx, b, h, v, NULL), in_row = tn_listv(ctx, b, h, k, NULL),
            in_state = tn_listv(ctx, b, of, k, v, NULL);
    const tn_expr *product = tn_mul(ctx, read_at(l, row, in_row), read_at(l, l->state, in_state));
    const tn_expr *next = tn_add(ctx, read_at(l, sums, in_sums), product);
    tn_list reads = tn_listv(ctx, tn_region_point(ctx, row, in_row),
                             tn_region_point(ctx, l->state, in_state), NULL);
    add_turn(l, end_nest(&c, name, reads, tn_region_point(ctx, sums, in_sums),
                         tn_buffer_store_of(ctx, sums, tn_literal(ctx, l->w, 0), in_sums),
                         tn_buffer_store_of(ctx, sums, next, in_sums)));
}

static void
add_update(linear *l)
{
    tn_ctx *ctx = l->ctx;
    nest c = {.l = l};
    const tn_expr *t = iter(&c, "t", l->steps, TN_ITER_SCAN),
                  *b = iter(&c, "b", l->batch, TN_ITER_SPATIAL),
                  *h = iter(&c, "h", tn_i64(ctx, l->heads), TN_ITER_SPATIAL),
                  *k = iter(&c, "k", l->key_size, TN_ITER_SPATIAL),
                  *v = iter(&c, "v", l->value_size, TN_ITER_SPATIAL);
    const tn_expr *at = column(l, h, l->value_size, v), *x = wide_at(l, V, b, t, at),
                  *rate = l->one_beta ? tn_i64(ctx, 0) : h;
    tn_list in_state = tn_listv(ctx, b, h, k, v, NULL), in_key = tn_listv(ctx, b, h, k, NULL),
            in_row = tn_listv(ctx, b, t, at, NULL);
    const tn_node *s = tn_region_point(ctx, l->state, in_state);
    tn_list reads = tn_listv(ctx, s, tn_region_point(ctx, l->k, in_key),
                             tn_region_point(ctx, l->in[V], in_row), NULL);
    if (l->seen) {
        tn_list in_seen = tn_listv(ctx, b, h, v, NULL), in_beta = tn_listv(ctx, b, t, rate, NULL);
        const tn_expr *change = tn_sub(ctx, x, read_at(l, l->seen, in_seen));
        x = tn_mul(ctx, wide_at(l, BETA, b, t, rate), change);
        reads = tn_list_append(ctx, reads, tn_region_point(ctx, l->seen, in_seen));
        reads = tn_list_append(ctx, reads, tn_region_point(ctx, l->in[BETA], in_beta));
    }
    const tn_expr *product = tn_mul(ctx, read_at(l, l->k, in_key), x);
    const tn_expr *next = tn_add(ctx, read_at(l, l->state, in_state), product);
    add_turn(l, end_nest(&c, "update", reads, s, NULL,
                         tn_buffer_store_of(ctx, l->state, next, in_state)));
}

static void
add_result(linear *l)
{
    tn_ctx *ctx = l->ctx;
    nest c = {.l = l};
    const tn_expr *t = iter(&c, "t", l->steps, TN_ITER_SCAN),
                  *b = iter(&c, "b", l->batch, TN_ITER_SPATIAL),
                  *h = iter(&c, "h", tn_i64(ctx, l->q_heads), TN_ITER_SPATIAL),
                  *v = iter(&c, "v", l->value_size, TN_ITER_SPATIAL);
    tn_list in_sums = tn_listv(ctx, b, h, v, NULL), in_y = tn_listv(ctx, b, t, h, v, NULL);
    tn_list reads = tn_listv(ctx, tn_region_point(ctx, l->sums, in_sums), NULL);
    const tn_expr *x = tn_cast_to(ctx, l->d, read_at(l, l->sums, in_sums));
    add_turn(l, end_nest(&c, "result", reads, tn_region_point(ctx, l->y, in_y), NULL,
                         tn_buffer_store_of(ctx, l->y, x, in_y)));
}

/* The loop over the positions. */
static void
add_loop(linear *l)
{
    tn_ctx *ctx = l->ctx;
    const tn_expr *keys[] = {l->batch, tn_i64(ctx, l->heads), l->key_size},
                  *queries[] = {l->batch, tn_i64(ctx, l->q_heads), l->key_size},
                  *values[] = {l->batch, tn_i64(ctx, l->heads), l->value_size},
                  *results[] = {l->batch, tn_i64(ctx, l->q_heads), l->value_size};
    l->k = tnk_te_buffer(l->te, "k", keys, 3, l->w);
    l->q = tnk_te_buffer(l->te, "q", queries, 3, l->w);
    l->sums = tnk_te_buffer(l->te, "sums", results, 3, l->w);
    l->t = tn_var_dtype(ctx, "t", TNB_I64);
    add_row(l, "key_row", l->k, K, l->heads, 1);
    add_row(l, "query_row", l->q, Q, l->q_heads, l->scale);
    if (l->rule & GATED)
        add_decay(l);
    if (l->rule & DELTA) {
        l->seen = tnk_te_buffer(l->te, "seen", values, 3, l->w);
        add_product(l, "products_seen", l->seen, l->k, l->heads);
    }
    add_update(l);
    add_product(l, "products", l->sums, l->q, l->q_heads);
    add_result(l);
    tnk_te_append(l->te, tn_for_of(ctx, l->t, tn_i64(ctx, 0), l->steps, TN_FOR_SERIAL, NULL, NULL,
                                   tn_seq_of(ctx, l->turn)));
}

/* Heads, sizes and which form decay and beta have. False after an error. */
static bool
read_linear(linear *l)
{
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta", NULL},
                             *const names[] = {"query",      "key",   "value",
                                               "past_state", "decay", "beta"};
    onnx_node *n = l->n;
    l->rule = onnx_attr_choice(n, "update_rule", "gated_delta", rules);
    l->q_heads = onnx_attr_int(n, "q_num_heads", 0);
    l->heads = onnx_attr_int(n, "kv_num_heads", 0);
    l->scale = onnx_attr_float(n, "scale", 0);
    (void)onnx_attr_int(n, "chunk_size", 64);
    if (l->rule < 0 || n->failed)
        return false;
    if (l->heads < 1 || l->q_heads < 1 || l->q_heads % l->heads)
        return onnx_fail(n, TNB_SHAPE, "%" PRId64 " query heads cannot share %" PRId64 " key heads",
                         l->q_heads, l->heads);
    for (uint32_t i = 0; i < 6; i++) {
        bool needed = i <= V || (i == DECAY && l->rule & GATED) || (i == BETA && l->rule & DELTA);
        if (needed && !onnx_has(n, i))
            return onnx_fail(n, TNB_INVALID, "input '%s' is left out, but the rule '%s' needs it",
                             names[i], rules[l->rule]);
        if (!needed && i != PAST)
            continue;
        l->args[i] = onnx_has(n, i) ? onnx_in(n, i) : NULL;
        if (l->args[i] && onnx_rank(n, l->args[i]) != (i == PAST ? 4 : 3))
            return n->failed
                       ? false
                       : onnx_fail(n, TNB_SHAPE, "the %s has type %s, expected rank %d", names[i],
                                   onnx_type_text(n->imp, l->args[i]->type), i == PAST ? 4 : 3);
    }
    return !n->failed;
}

static bool
read_sizes(linear *l, tn_list q, tn_list k, tn_list v)
{
    onnx_node *n = l->n;
    tn_ctx *ctx = l->ctx;
    tn_list g;
    int64_t width, size;
    const int64_t heads[] = {l->q_heads, l->heads, l->heads};
    const tn_list dims[] = {q, k, v};
    for (int i = 0; i < 3; i++)
        if (tn_int_value(dims[i].at[2], &width) && width % heads[i])
            return onnx_fail(n, TNB_SHAPE,
                             "an input of type %s cannot be split into %" PRId64 " heads",
                             onnx_type_text(n->imp, l->args[i]->type), heads[i]);
    const tn_expr *sizes[2] = {onnx_simplify(n, tn_floordivi(ctx, q.at[2], l->q_heads)),
                               onnx_simplify(n, tn_floordivi(ctx, k.at[2], l->heads))};
    if (tn_int_value(sizes[0], &size) && tn_int_value(sizes[1], &width) && size != width)
        return onnx_fail(n, TNB_SHAPE,
                         "a head of the query has %" PRId64 " entries, one of the key %" PRId64,
                         size, width);
    if (l->scale == 0) {
        if (!tn_int_value(sizes[0], &size))
            return onnx_unknown(n, "the size of a head has");
        l->scale = 1 / sqrt((double)size);
    }
    if (l->args[DECAY]) {
        if (!onnx_dims(n, l->args[DECAY], &g))
            return false;
        bool of_heads = tn_prove_equal(ctx, g.at[2], tn_i64(ctx, l->heads));
        l->decay_of_keys = tn_prove_equal(ctx, g.at[2], k.at[2]);
        if (!of_heads && !l->decay_of_keys && !tn_int_value(g.at[2], &width))
            return onnx_unknown(n, "the last extent of the decay has");
        if (!of_heads && !l->decay_of_keys)
            return onnx_fail(n, TNB_SHAPE,
                             "the decay has type %s, expected %" PRId64
                             " entries a position, or as many as the key",
                             onnx_type_text(n->imp, l->args[DECAY]->type), l->heads);
    }
    if (l->args[BETA])
        l->one_beta = onnx_dim(l->args[BETA], 2) == 1;
    l->batch = tnk_te_expr(l->te, q.at[0]);
    l->steps = tnk_te_expr(l->te, q.at[1]);
    l->key_size = tnk_te_expr(l->te, sizes[1]);
    l->value_size = tnk_te_expr(l->te, onnx_simplify(n, tn_floordivi(ctx, v.at[2], l->heads)));
    return true;
}

static bool
import_linear_attention(onnx_node *n)
{
    static const char *const names[] = {"query", "key", "value", "past_state", "decay", "beta"};
    tn_ctx *ctx = n->ctx;
    linear of = {.n = n, .ctx = ctx, .te = tnk_te_new(ctx)}, *l = &of;
    tn_list q, k, v;
    const tn_expr *inputs[6];
    uint32_t count = 0;
    if (!read_linear(l) || !onnx_dims(n, l->args[Q], &q) || !onnx_dims(n, l->args[K], &k) ||
        !onnx_dims(n, l->args[V], &v))
        return false;
    for (uint32_t i = 0; i < 6; i++)
        if (l->args[i]) {
            l->in[i] = tnk_te_input(l->te, names[i], l->args[i]->type);
            inputs[count++] = l->args[i];
        }
    if (!read_sizes(l, q, k, v))
        return false;
    l->d = onnx_dtype(l->args[Q]);
    l->w = l->d.bits < 32 ? TNB_F32 : l->d;
    tnb_dtype state_type = l->args[PAST] ? onnx_dtype(l->args[PAST]) : l->d;
    const tn_expr *dims[] = {l->batch, tn_i64(ctx, l->heads), l->key_size, l->value_size},
                  *out[] = {l->batch, l->steps, tn_i64(ctx, l->q_heads), l->value_size};
    l->state = tnk_te_buffer(l->te, "state", dims, 4, l->w);
    l->y = tnk_te_buffer(l->te, "y", out, 4, l->d);
    copy_state(l, "start", l->state, l->in[PAST], l->w);
    add_loop(l);
    const tn_node *outs[2] = {l->y, tnk_te_buffer(l->te, "present", dims, 4, state_type)};
    copy_state(l, "end", outs[1], l->state, state_type);
    const tn_expr *both = onnx_emit_call(n, tnk_te_call(l->te, n->imp->b, "linear_attention",
                                                        inputs, count, outs, 2));
    const tn_expr *width =
        onnx_simplify(n, tn_muli(ctx, onnx_simplify(n, tn_floordivi(ctx, v.at[2], l->heads)),
                                 l->q_heads));
    const tn_expr *three[] = {q.at[0], q.at[1], width};
    const tn_expr *y = onnx_reshape(n, onnx_tuple_get(n, both, 0), three, 3);
    return onnx_ret_at(n, 0, y) && (n->n_out < 2 || onnx_ret_at(n, 1, onnx_tuple_get(n, both, 1)));
}

/* ---- CausalConvWithState ---- */

static bool
import_causal_conv(onnx_node *n)
{
    static const char *const activations[] = {"none", "silu", "swish", NULL};
    tn_ctx *ctx = n->ctx;
    const tn_expr *x = onnx_in(n, 0), *w = onnx_in(n, 1);
    int activation = onnx_attr_choice(n, "activation", "none", activations);
    int64_t kernel = onnx_dim(w, 2), channels = onnx_dim(w, 0), axis = 2;
    tn_list d;
    if (activation < 0 || n->failed || onnx_rank(n, x) < 0 || !onnx_dims(n, x, &d))
        return false;
    if (d.n == 3 && onnx_rank(n, w) == 3 && (kernel < 0 || channels < 0 || onnx_dim(w, 1) < 0))
        return onnx_unknown(n, "the extents of the weight have");
    if (d.n != 3 || onnx_rank(n, w) != 3 || onnx_dim(w, 1) != 1)
        return onnx_fail(
            n, TNB_SHAPE,
            "the input has type %s and the weight %s, expected [batch, channels, length]"
            " and [channels, 1, size]",
            onnx_type_text(n->imp, x->type), onnx_type_text(n->imp, w->type));
    if (kernel < 1 || channels < 1)
        return onnx_unknown(n, "the extents of the weight have");
    const tn_expr *before[] = {d.at[0], d.at[1], tn_i64(ctx, kernel - 1)};
    const tn_expr *parts[] = {onnx_has(n, 3)
                                  ? onnx_fix_extents(n, onnx_in(n, 3), tn_list_of(ctx, before, 3),
                                                     "the state")
                                  : onnx_full(n, before, 3, onnx_dtype(x), 0),
                              x},
                  *all = kernel > 1 ? onnx_concat(n, parts, 2, 2) : x;
    const tn_expr *y =
        onnx_emit(n, "nn.conv1d", tn_dictv(ctx, "groups", tn_i64(ctx, channels), NULL), all, w,
                  NULL);
    if (onnx_has(n, 2)) {
        const tn_expr *column[] = {tn_i64(ctx, 1), tn_i64(ctx, channels), tn_i64(ctx, 1)};
        y = onnx_bin(n, "add", y, onnx_reshape(n, onnx_in(n, 2), column, 3));
    }
    if (activation)
        y = onnx_un(n, "nn.silu", y);
    if (n->n_out < 2 || n->failed)
        return onnx_ret_at(n, 0, y);
    /* the last positions of what the kernel went over */
    const tn_expr *end = onnx_simplify(n, tn_addi(ctx, d.at[2], kernel - 1)), *begin = d.at[2];
    return onnx_ret_at(n, 0, y) &&
           onnx_ret_at(n, 1, onnx_slice(n, all, &axis, &begin, &end, NULL, 1));
}

const onnx_op onnx_recurrence_ops[] = {
    {"CausalConvWithState", 27, 0, 2, 4, 1, 2, import_causal_conv, NULL, 0, NULL},
    {"LinearAttention", 27, 0, 3, 6, 1, 2, import_linear_attention, NULL, 0, NULL},
    {0},
};
