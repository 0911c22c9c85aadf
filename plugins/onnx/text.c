/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer on numbers: how often each n-gram of a known pool occurs.
 *
 * For every length and skip, all windows of the input are gathered ([..., windows, n]), compared
 * with the pool's n-grams of that length ([grams, n]), and the matches are summed over the windows.
 */
#include <inttypes.h>
#include "import.h"

enum { MAX_POOL = 1 << 16, MAX_GRAMS = 1 << 14, MAX_LENGTH = 64, MAX_WINDOWS = 1 << 20 };

typedef struct pool {
    int64_t *items, *starts,
        *places; /* of all n-grams; where each length begins; output column of each n-gram */
    int n_items, n_lengths, n_grams;
    int64_t least, most, skips;
} pool;

static bool
read_pool(onnx_node *n, pool *p)
{
    tnb_arena *a = n->imp->arena;
    p->items = TNB_NEW_N(a, int64_t, MAX_POOL);
    p->starts = TNB_NEW_N(a, int64_t, MAX_LENGTH + 1);
    p->places = TNB_NEW_N(a, int64_t, MAX_GRAMS);
    if (onnx_attr(n, "pool_strings"))
        return onnx_fail(n, TNB_UNSUPPORTED, "attribute 'pool_strings': texts are not supported");
    p->n_items = onnx_attr_ints(n, "pool_int64s", p->items, MAX_POOL);
    p->n_lengths = onnx_attr_ints(n, "ngram_counts", p->starts, MAX_LENGTH);
    p->n_grams = onnx_attr_ints(n, "ngram_indexes", p->places, MAX_GRAMS);
    p->least = onnx_attr_int(n, "min_gram_length", 1);
    p->most = onnx_attr_int(n, "max_gram_length", 1);
    p->skips = onnx_attr_int(n, "max_skip_count", 0);
    if (n->failed || p->n_items < 1 || p->n_lengths < 1 || p->n_grams < 1)
        return n->failed ? false
                         : onnx_fail(n, TNB_INVALID, "the pool of n-grams is missing or empty");
    p->starts[p->n_lengths] = p->n_items;
    if (p->least < 1 || p->most < p->least || p->skips < 0 || p->skips > 1000)
        return onnx_fail(n, TNB_INVALID,
                         "n-grams of length %" PRId64 " to %" PRId64 " with %" PRId64
                         " skips make no sense",
                         p->least, p->most, p->skips);
    int64_t grams = 0;
    for (int k = 0; k < p->n_lengths; k++) {
        int64_t size = p->starts[k + 1] - p->starts[k];
        if (p->starts[k] < 0 || size < 0 || size % (k + 1))
            return onnx_fail(n, TNB_INVALID,
                             "attribute 'ngram_counts' does not divide the pool into n-grams");
        grams += size / (k + 1);
    }
    if (grams != p->n_grams)
        return onnx_fail(n, TNB_INVALID,
                         "the pool has %" PRId64
                         " n-grams, but attribute 'ngram_indexes' %d entries",
                         grams, p->n_grams);
    for (int k = 0; k < p->n_grams; k++)
        if (p->places[k] < 0 || p->places[k] >= MAX_GRAMS)
            return onnx_fail(n, TNB_BOUNDS, "entry %d of attribute 'ngram_indexes' is %" PRId64, k,
                             p->places[k]);
    return true;
}

/* Matches of all n-grams of one length, float32 [..., grams]; NULL: no window of that length. */
static const tn_expr *
count_length(onnx_node *n, const tn_expr *x, const pool *p, int64_t length, int64_t grams)
{
    int64_t rank = onnx_rank(n, x), extent = onnx_dim(x, rank - 1), dims[2], before_last = rank + 1;
    const tn_expr *sum = NULL, *table = NULL;
    dims[0] = grams;
    dims[1] = length;
    table = onnx_reshape_ints(n,
                              onnx_const_ints(n, TNB_I64, p->items + p->starts[length - 1],
                                              (uint32_t)(grams * length)),
                              dims, 2);
    for (int64_t skip = 0; skip <= (length > 1 ? p->skips : 0); skip++) {
        int64_t windows = extent - (length - 1) * (skip + 1);
        if (windows < 1)
            break;
        if (windows > MAX_WINDOWS / length) {
            onnx_fail(n, TNB_UNSUPPORTED,
                      "%" PRId64 " windows of %" PRId64
                      " items are more than are compared at once (%d items)",
                      windows, length, MAX_WINDOWS);
            return NULL;
        }
        int64_t *at = TNB_NEW_N(n->imp->arena, int64_t, (size_t)(windows * length)),
                axes[2] = {before_last, rank - 1};
        for (int64_t w = 0; w < windows; w++)
            for (int64_t k = 0; k < length; k++)
                at[w * length + k] = w + k * (skip + 1);
        dims[0] = windows;
        const tn_expr *index =
            onnx_reshape_ints(n, onnx_const_ints(n, TNB_I64, at, (uint32_t)(windows * length)),
                              dims, 2);
        const tn_expr *cut = onnx_unsqueeze(n, onnx_take(n, x, index, rank - 1), (int64_t[]){rank},
                                            1); /* [..., w, 1, n] */
        const tn_expr *same =
            onnx_reduce(n, "all", onnx_bin(n, "equal", cut, table), &axes[0], 1, false);
        const tn_expr *hits =
            onnx_reduce(n, "sum", onnx_astype(n, same, TNB_F32), &axes[1], 1, false);
        sum = sum ? onnx_bin(n, "add", sum, hits) : hits;
    }
    return sum;
}

static bool
import_tf_idf(onnx_node *n)
{
    static const char *const modes[] = {"TF", "IDF", "TFIDF", NULL};
    const tn_expr *x = onnx_in(n, 0), *parts[MAX_LENGTH];
    pool p = {0};
    int mode = onnx_attr_choice(n, "mode", "", modes);
    int64_t rank = onnx_rank(n, x), columns = 0, done = 0;
    double *weights = TNB_NEW_N(n->imp->arena, double, MAX_GRAMS);
    if (rank < 0 || mode < 0 || !read_pool(n, &p))
        return false;
    int n_weights = onnx_attr_floats(n, "weights", weights, MAX_GRAMS);
    if (n->failed || (n_weights >= 0 && n_weights != p.n_grams))
        return n->failed ? false
                         : onnx_fail(n, TNB_INVALID, "there are %d weights for %d n-grams",
                                     n_weights, p.n_grams);
    tn_list dims;
    if (!onnx_dims(n, x, &dims))
        return false;
    if (rank < 1 || rank > 2)
        return onnx_fail(n, TNB_UNSUPPORTED, "the input has type %s, expected rank 1 or 2",
                         onnx_type_text(n->imp, x->type));
    if (onnx_dim(x, rank - 1) < 0)
        return onnx_unknown(n, "the length of the input has");
    x = onnx_astype(n, x, TNB_I64);
    for (int k = 0; k < p.n_lengths; k++) {
        int64_t grams = (p.starts[k + 1] - p.starts[k]) / (k + 1);
        const tn_expr *zeros[2] = {rank == 2 ? dims.at[0] : tn_i64(n->ctx, grams),
                                   tn_i64(n->ctx, grams)};
        const tn_expr *hits = k + 1 >= p.least && k + 1 <= p.most && grams
                                  ? count_length(n, x, &p, k + 1, grams)
                                  : NULL;
        if (n->failed)
            return false;
        parts[k] = hits ? hits : onnx_full(n, zeros, (uint32_t)rank, TNB_F32, 0);
    }
    const tn_expr *y = onnx_concat(n, parts, (uint32_t)p.n_lengths, rank - 1);
    for (int k = 0; k < p.n_grams; k++)
        columns = p.places[k] >= columns ? p.places[k] + 1 : columns;
    int64_t *order = TNB_NEW_N(n->imp->arena, int64_t, (size_t)columns); /* below MAX_GRAMS */
    bool *filled = TNB_NEW_N(n->imp->arena, bool, (size_t)columns);
    for (int k = 0; k < p.n_grams; k++) {
        order[p.places[k]] = k;
        done += !filled[p.places[k]];
        filled[p.places[k]] = true;
    }
    if (columns != done || columns != p.n_grams)
        return onnx_fail(n, TNB_UNSUPPORTED,
                         "attribute 'ngram_indexes' leaves out columns of the result");
    if (mode == 1)
        y = onnx_bin_num(n, "minimum", y, 1);
    if (mode != 0 && n_weights > 0) {
        void *mem;
        int64_t count = n_weights;
        const tn_data *w = tn_data_new(n->ctx, TNB_F32, 1, &count, &mem);
        for (int k = 0; w && k < n_weights; k++)
            ((float *)mem)[k] = (float)weights[k];
        y = w ? onnx_bin(n, "multiply", y, tn_constant_of(n->ctx, w)) : tn_error_node(n->ctx);
    }
    return onnx_ret(n, onnx_take(n, y, onnx_const_ints(n, TNB_I64, order, (uint32_t)columns),
                                 rank - 1));
}

const onnx_op onnx_text_ops[] = {
    {"TfIdfVectorizer", 9, 0, 1, 1, 1, 1, import_tf_idf, NULL, 0, NULL},
    {0},
};
