/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of the paged cache that stand in a tree, of which a program takes one path (speculative decoding).
 *
 * The nodes are the last tokens of their sequence, in the order in which they came, each behind its parent; a step may add to those of
 * steps before. They stand in pages as tokens do, one place a node, but keys are rotated by how deep a node is. Attention of a step in which all
 * nodes follow one another is that of other steps; else a kernel takes what each row sees by the nodes' numbers in depth-first order.
 * Taking a path moves its keys and values together, and gives back the places behind them.
 */
#include <stdlib.h>
#include <string.h>
#include "kv_private.h"

tnb_status
kv_tree_settled(const struct kv_sequence *s, const char *function, tnb_err *err)
{
    if (!kv_tree_size(s))
        return TNB_OK;
    tnb_fail(err, TNB_INVALID,
             "%s: %" PRId32 " tokens of sequence %" PRId64
             " stand in a tree of which none was taken yet",
             function, s->tree->n, s->id);
    tnb_hint(err, "take some by vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes "
                  "(tnr_kv_commit_tree), or take them back");
    return TNB_INVALID;
}

static tnb_status
check_kind(const struct tnr_kv *kv, const char *function, tnb_err *err)
{
    const char *with = kv->latent                            ? "latent attention"
                       : kv->windows || kv->any_layer_window ? "windows"
                       : kv->rope_mode == KV_ROPE_INLINE     ? "RoPE of mode 2"
                                                             : NULL;
    if (with)
        return tnb_fail(err, TNB_UNSUPPORTED, "%s: trees of tokens do not run with %s", function,
                        with);
    return TNB_OK;
}

/* Whether the parents fit behind the nodes that wait. */
static tnb_status
check(struct kv_sequence *s, const int64_t *parents, const char *function, tnb_err *err)
{
    int64_t n = kv_tree_size(s);
    if (s->pending > KV_TREE_NODES - n) {
        tnb_fail(err, TNB_BOUNDS,
                 "%s: sequence %" PRId64 " gets %" PRId64 " more tokens in a tree that has %" PRId64
                 ": it holds %d",
                 function, s->id, s->pending, n, KV_TREE_NODES);
        tnb_hint(err, "take some by vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes "
                      "(tnr_kv_commit_tree) first");
        return TNB_BOUNDS;
    }
    for (int64_t i = 0; i < s->pending; i++)
        if (parents[i] < -1 || parents[i] >= n + i)
            return tnb_fail(err, TNB_INVALID,
                            "%s: node %" PRId64 " of the tree of sequence %" PRId64
                            " has the parent %" PRId64 ": parents come before their children, "
                            "-1 to %" PRId64,
                            function, n + i, s->id, parents[i], n + i - 1);
    if (!s->tree && !(s->tree = calloc(1, sizeof *s->tree)))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a tree of tokens");
    return TNB_OK;
}

tnb_status
kv_tree_begin(struct tnr_kv *kv, const char *function, tnb_err *err)
{
    struct kv_state *st = &kv->base;
    const int64_t *parents = st->parents;
    for (uint32_t i = 0; i < st->n_step && !parents; i++)
        TNB_TRY(kv_tree_settled(&st->sequences[st->of_step[i]], function, err));
    if (!parents)
        return TNB_OK;
    TNB_TRY(check_kind(kv, function, err));
    for (uint32_t i = 0; i < st->n_step; i++) {
        struct kv_sequence *s = &st->sequences[st->of_step[i]];
        TNB_TRY(check(s, parents, function, err));
        parents += s->pending;
    }
    parents = st->parents;
    for (uint32_t i = 0; i < st->n_step; i++) {
        struct kv_sequence *s = &st->sequences[st->of_step[i]];
        struct kv_tree *t = s->tree;
        for (int64_t r = 0; r < s->pending; r++) {
            int32_t parent = (int32_t)*parents++;
            t->parents[t->n] = parent;
            t->depths[t->n++] = parent < 0 ? 0 : t->depths[parent] + 1;
        }
        for (int32_t j = 0; j < t->n; j++)
            kv->branches |= t->parents[j] != j - 1;
    }
    kv->in_trees = true;
    return TNB_OK;
}

void
kv_tree_order(const struct kv_tree *t, int32_t *order)
{
    int32_t size[KV_TREE_NODES], next[KV_TREE_NODES], root = 0;
    for (int32_t i = 0; i < t->n; i++)
        size[i] = 1;
    for (int32_t i = t->n; i-- > 0;)
        if (t->parents[i] >= 0)
            size[t->parents[i]] += size[i];
    for (int32_t i = 0; i < t->n; i++) {
        int32_t *from = t->parents[i] < 0 ? &root : &next[t->parents[i]];
        order[2 * i] = *from;
        order[2 * i + 1] = *from + size[i];
        next[i] = *from + 1;
        *from += size[i];
    }
}

/* ---- taking a path ---- */

static int32_t
place_of(const struct tnr_kv *kv, const struct kv_sequence *s, int64_t position)
{
    return (int32_t)(s->pages[position / kv->page_tokens] * kv->page_tokens +
                     position % kv->page_tokens);
}

/* Where the path's nodes that do not stand there yet move: pairs of places into `from` and `to`. How many. */
static int64_t
moves_of(const struct tnr_kv *kv, const struct kv_sequence *s, int64_t leaf, int32_t *from,
         int32_t *to)
{
    const int64_t before = s->length - s->tree->n;
    int32_t path[KV_TREE_NODES];
    int64_t n = 0, depth = leaf < 0 ? -1 : s->tree->depths[leaf];
    for (int64_t node = leaf; node >= 0; node = s->tree->parents[node])
        path[s->tree->depths[node]] = (int32_t)node;
    for (int64_t d = 0; d <= depth; d++)
        if (path[d] != d) {
            from[n] = place_of(kv, s, before + path[d]);
            to[n++] = place_of(kv, s, before + d);
        }
    return n;
}

static tnb_status
check_leaves(struct tnr_kv *kv, const int64_t *sequences, const int64_t *leaves, uint32_t n,
             const char *function, tnb_err *err)
{
    tnb_status st = TNB_OK;
    uint32_t i;
    for (i = 0; i < n && st == TNB_OK; i++) {
        struct kv_sequence *s = kv_find(&kv->base, sequences[i], function, err);
        if (!s)
            st = TNB_NOT_FOUND;
        else if (s->pending)
            st = tnb_fail(err, TNB_INVALID, "%s: sequence %" PRId64 " is there twice", function,
                          s->id);
        else if (!kv_tree_size(s))
            st = tnb_fail(err, TNB_INVALID, "%s: no token of sequence %" PRId64 " waits in a tree",
                          function, s->id);
        else if (leaves[i] < -1 || leaves[i] >= s->tree->n)
            st = tnb_fail(err, TNB_INVALID,
                          "%s: leaf %" PRId64 " of sequence %" PRId64 ", whose tree has %" PRId32
                          " nodes; -1: none is taken",
                          function, leaves[i], s->id, s->tree->n);
        else
            s->pending = 1;
    }
    for (uint32_t j = 0; j < kv->base.n_sequences; j++)
        kv->base.sequences[j].pending = 0;
    return st;
}

static tnb_status
move(struct tnr_kv *kv, const int32_t *indptr, uint32_t n, const int32_t *from, const int32_t *to,
     tnb_err *err)
{
    const int64_t total = indptr[n], dims[2] = {2, total}, ends = (int64_t)n + 1;
    struct tnr_queue *q = tnr_vm_queue(kv->base.vm, kv->base.device);
    tnr_value args[4] = {{0}, {0}, {0}, tnr_int((int64_t)n)};
    int32_t *pairs = malloc(2 * (size_t)total * sizeof *pairs);
    tnb_status st = pairs ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory to move tokens");
    if (st == TNB_OK)
        st = tnr_tensor_new_on(kv->base.device, q, &ends, 1, TNB_I32, &args[1], err);
    if (st == TNB_OK)
        st = tnr_tensor_new_on(kv->base.device, q, dims, 2, TNB_I32, &args[2], err);
    if (st == TNB_OK) {
        memcpy(pairs, from, (size_t)total * sizeof *pairs);
        memcpy(pairs + total, to, (size_t)total * sizeof *pairs);
        st = tnr_tensor_write(args[1].u.tensor, indptr, (uint64_t)ends * sizeof *indptr, err);
    }
    if (st == TNB_OK)
        st = tnr_tensor_write(args[2].u.tensor, pairs, 2 * (uint64_t)total * sizeof *pairs, err);
    free(pairs);
    for (int64_t layer = 0; st == TNB_OK && layer < kv->n_layers; layer++) {
        args[0] = kv->pages[layer];
        st = kv_call(kv, KV_COMPACT, args, 4, err);
        if (st != TNB_OK) /* layers before it have moved theirs */
            kv->half_moved = true;
    }
    tnr_release(&args[1]);
    tnr_release(&args[2]);
    return st;
}

static void
settle(struct tnr_kv *kv, struct kv_sequence *s, int64_t leaf)
{
    s->length += (leaf < 0 ? 0 : s->tree->depths[leaf] + 1) - s->tree->n;
    s->tree->n = 0;
    kv_trim(kv, s, s->length);
}

tnb_status
tnr_kv_commit_tree(tnr_vm *vm, tnr_value cache, const int64_t *sequences, const int64_t *leaves,
                   uint32_t n, tnb_err *err)
{
    static const char fn[] = "attention_kv_cache_commit_accepted_token_tree_nodes";
    struct kv_state *base;
    uint64_t most = 0;
    NEED(vm, err);
    NEED_N(sequences, n, err);
    NEED_N(leaves, n, err);
    TNB_TRY(kv_state_at_rest(vm, cache, &kv_paged, fn, &base, err));
    struct tnr_kv *kv = (struct tnr_kv *)base;
    TNB_TRY(check_leaves(kv, sequences, leaves, n, fn, err));
    for (uint32_t i = 0; i < n; i++)
        most += (uint64_t)kv_find(base, sequences[i], fn, NULL)->tree->n;
    int32_t *indptr = calloc((size_t)n + 1 + 2 * most, sizeof *indptr);
    if (!indptr)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory to move tokens", fn);
    int32_t *from = indptr + n + 1, *to = from + most;
    for (uint32_t i = 0; i < n; i++)
        indptr[i + 1] = indptr[i] + (int32_t)moves_of(kv, kv_find(base, sequences[i], fn, NULL),
                                                      leaves[i], from + indptr[i], to + indptr[i]);
    tnb_status st = indptr[n] ? move(kv, indptr, n, from, to, err) : TNB_OK;
    free(indptr);
    if (st != TNB_OK && kv->half_moved)
        tnb_hint(err, "none of the waiting tokens is taken: begin again behind them");
    for (uint32_t i = 0; i < n && (st == TNB_OK || kv->half_moved); i++)
        settle(kv, kv_find(base, sequences[i], fn, NULL), st == TNB_OK ? leaves[i] : -1);
    kv->half_moved = false;
    return st;
}
