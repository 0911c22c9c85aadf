/* SPDX-License-Identifier: Apache-2.0 */
/* The paged cache of keys and values, and the state of recurrent models: what kv_*.c share.
 *
 * Tables and positions. A sequence has `length` tokens at positions 0, 1, ...; its table lists the pages that hold them, `page_tokens`
 * each. Behind a window pages leave the middle of the table: those of the sinks stay in front, `evicted` pages behind them are gone. So a
 * position p of the sequence stands at the place p of the table, or, behind the sinks' pages, at p - evicted * page_tokens.
 */
#ifndef TENON_RUNTIME_KV_PRIVATE_H
#define TENON_RUNTIME_KV_PRIVATE_H

#include "internal.h"
#include "tenon/rt/kv.h"

/* Functions that the cache is made with. ORDER KV_KERNEL */
enum {
    KV_APPEND,
    KV_PREFILL,
    KV_DECODE,
    KV_PREFILL_WINDOW,
    KV_DECODE_WINDOW,
    KV_ROTARY,
    KV_COPY_PAGE,
    KV_GET,
    KV_OWN,   /* latent attention: of a step's tokens among themselves */
    KV_MERGE, /* of its result with that over the pages */
    KV_TREE,
    KV_COMPACT,
    KV_N_KERNELS
};
/* Upstream's numbers: RoPE; attention of a layer. */
enum { KV_ROPE_NONE, KV_ROPE_NORMAL, KV_ROPE_INLINE };
enum { KV_MHA = 0, KV_MLA = 1, KV_MHA_SLIDING = 3 };

/* Tokens at the end of a sequence of which only those on the way to a leaf are going to be taken (upstream's largest tree). */
enum { KV_TREE_NODES = 256 };
struct kv_tree {
    int32_t n;
    int32_t parents[KV_TREE_NODES]; /* before their children; -1: none in the tree */
    int32_t depths[KV_TREE_NODES];  /* 0: no parent */
};

struct kv_sequence {
    int64_t id;
    int64_t length;  /* tokens, without those of the step under way */
    int64_t pending; /* tokens of the step */
    /* of a recurrent state: its place in the storage, the state that holds, and how many before it are still there */
    int64_t slot, at, history;
    bool lost; /* a step that was cancelled has overwritten the only state */
    /* of a paged cache */
    int64_t window, sink; /* window 0: none */
    int64_t evicted;      /* pages */
    int32_t *pages;       /* the table */
    int64_t n_pages, cap_pages;
    struct kv_tree *tree; /* its last tokens; NULL: there was none so far */
};

/* Integers of a step, a part of one tensor on the device each. ORDER KV_PART */
enum {
    KV_QO_INDPTR,   /* [n + 1] first row of each sequence */
    KV_PAGE_INDPTR, /* [n + 1] first entry of each table in KV_PAGES */
    KV_PAGES,       /* [entries] */
    KV_LAST_LEN,    /* [n] tokens in the last page */
    KV_LENGTHS, /* [3, n] the same; where the window of the first row begins in the table; sinks */
    KV_LAYER_LENGTHS, /* the same with the window of layers that have one */
    KV_K_POSITION, /* [n] position of what stands first in the table, for keys that are rotated when read */
    KV_Q_POSITION, /* [rows] position of each row */
    KV_PLACES,     /* [rows] where it is appended: page * page_tokens + place in the page */
    /* of a cache for latent attention, the tables as they were before the step */
    KV_OLD_INDPTR, /* [n + 1]; KV_PAGES and KV_LAST_LEN alike */
    KV_OLD_PAGES,
    KV_OLD_LAST_LEN,
    /* of a step whose tokens stand in trees */
    KV_TREE_INDPTR, /* [n + 1] first node of each sequence's tree */
    KV_TREE_ORDER, /* [nodes, 2] number of each node, a parent's before its children's; that behind its last descendant's */
    KV_N_PARTS
};

struct kv_state;
/* What each kind of state does in its own way, behind the checks that both share (kv_state.c). Errors change nothing. */
struct kv_kind {
    void (*destroy)(tnr_object *o);
    /* A new, empty sequence; NULL: nothing to do. */
    tnb_status (*add)(struct kv_state *st, struct kv_sequence *s, tnb_err *err);
    /* Gives back what the sequence has. */
    void (*remove)(struct kv_state *st, struct kv_sequence *s);
    /* s becomes the first `position` tokens of the parent, 0 to its length. */
    tnb_status (*fork)(struct kv_state *st, const struct kv_sequence *parent, int64_t position,
                       struct kv_sequence *s, const char *function, tnb_err *err);
    /* Before the last n tokens are forgotten, 0 to the length. */
    tnb_status (*pop)(struct kv_state *st, struct kv_sequence *s, int64_t n, const char *function,
                      tnb_err *err);
    /* Of a step: `pending` of its sequences is set. */
    tnb_status (*begin)(struct kv_state *st, const char *function, tnb_err *err);
    /* What is left to do before its tokens are kept; NULL: nothing. */
    tnb_status (*finish)(struct kv_state *st, tnb_err *err);
    /* Lengths are those behind the step, `pending` is still set. */
    void (*end)(struct kv_state *st, bool keep);
};

/* The head of both kinds: sequences by number, and a step of some of them. */
struct kv_state {
    tnr_object object;
    const struct kv_kind *kind;
    tnr_vm *vm;         /* borrowed, compared only */
    tnr_device *device; /* borrowed from the vm's runtime; tensors count it */
    int64_t max_sequences, step_tokens;
    struct kv_sequence *sequences;
    uint32_t n_sequences;
    bool stepping;     /* between begin and end */
    bool busy;         /* a kernel runs: nothing may change */
    uint32_t *of_step; /* index in `sequences`, in the order of rows */
    uint32_t n_step;
    const int64_t
        *parents; /* of the step's tokens, while it begins; NULL: each follows the one before it */
};

struct tnr_kv {
    struct kv_state base;
    /* as it was made */
    int64_t first_layer, n_layers, q_heads, kv_heads, head_dim, v_dim;
    int64_t page_tokens, n_pages, layer_window;
    int64_t rope_mode;
    double rope_scale, rope_theta;
    bool windows; /* sequences may have one */
    bool any_layer_window;
    bool
        latent; /* all layers are KV_MLA: pages hold one row a token, [n_pages, page_tokens, head_dim] */
    uint8_t *
        owns; /* per layer, in this step: its keys were appended; latent: the step's tokens attend to each other by a call of their own */
    uint8_t *kinds; /* of layers */
    tnb_dtype dtype, q_dtype;
    tnr_value kernels[KV_N_KERNELS]; /* closures, or null */
    tnr_value rope_factors;          /* tensor, or null */
    int64_t rope_rows;               /* of a table; 0: upstream's factors */
    bool rope_long;                  /* which rows of the table hold */
    tnr_value *pages;                /* per layer: [n_pages, 2, kv_heads, page_tokens, head_dim] */
    tnr_value scratch[4];            /* q, k, v, and sums of a step of step_tokens: storage */
    /* pages */
    int32_t *refs;   /* per page: sequences that have it */
    int32_t *claims; /* per page: zero but within a function */
    int32_t *free;   /* stack of free pages */
    int64_t n_free;
    /* the step */
    int64_t rows;
    bool one_row_each;
    bool in_trees;   /* its tokens are nodes of trees */
    bool branches;   /* and one is not behind the node before it */
    bool half_moved; /* moving a path failed in a layer */
    int32_t *host;   /* integers of the step, and how many fit */
    uint64_t cap_host;
    tnr_value device_ints; /* storage of cap_device integers, or null */
    uint64_t cap_device;
    tnr_value parts[KV_N_PARTS];
    tnr_value q, k, v, sums; /* views of scratch for `rows` */
    struct graphs
        *graphs; /* attention of layers in steps of one row a sequence, captured; NULL: none */
};

/* A paged cache, as kv_state_open. */
TNB_MUST_CHECK tnb_status
kv_open(tnr_vm *vm, tnr_value v, const char *function, struct tnr_kv **out, tnb_err *err);
/* vm.builtin.paged_attention_kv_cache_create */
TNB_MUST_CHECK tnb_status
kv_create(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err);
extern const struct kv_kind kv_paged;

/* ---- kv_recurrent.c: the state of recurrent models ---- */
extern const struct kv_kind kv_recurrent;
void
kv_recurrent_describe(const struct kv_state *st, tnr_kv_info *out);
/* vm.builtin.rnn_state_create, _get, _set, _debug_get */
TNB_MUST_CHECK tnb_status
kv_recurrent_create(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err);
TNB_MUST_CHECK tnb_status
kv_recurrent_get(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err);
TNB_MUST_CHECK tnb_status
kv_recurrent_set(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err);
TNB_MUST_CHECK tnb_status
kv_recurrent_debug_get(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err);

/* ---- kv_state.c: what both have ---- */
/* A state in a value, of one kind or, for NULL, of any. */
TNB_MUST_CHECK tnb_status
kv_state_of(tnr_value v, const struct kv_kind *kind, const char *function, struct kv_state **out,
            tnb_err *err);
/* The same for a function that changes it, or uses the machine. */
TNB_MUST_CHECK tnb_status
kv_state_open(tnr_vm *vm, tnr_value v, const struct kv_kind *kind, const char *function,
              struct kv_state **out, tnb_err *err);
/* The same outside of a step. */
TNB_MUST_CHECK tnb_status
kv_state_at_rest(tnr_vm *vm, tnr_value v, const struct kv_kind *kind, const char *function,
                 struct kv_state **out, tnb_err *err);
/* TNB_INVALID, with a hint, outside of a step. */
TNB_MUST_CHECK tnb_status
kv_state_in_step(const struct kv_state *st, const char *function, tnb_err *err);
/* NULL with `err` set. */
struct kv_sequence *
kv_find(const struct kv_state *st, int64_t id, const char *function, tnb_err *err);
/* Tables of sequences. */
TNB_MUST_CHECK tnb_status
kv_state_init(struct kv_state *st, tnb_err *err);
void
kv_state_free(struct kv_state *st);
TNB_MUST_CHECK tnb_status
kv_state_call(struct kv_state *st, tnr_value kernel, const tnr_value *args, uint32_t n,
              const char *what, tnb_err *err);

/* ---- kv_pages.c: sequences and their pages, without a device ---- */
void
kv_remove(struct kv_state *st, struct kv_sequence *s);
TNB_MUST_CHECK tnb_status
kv_fork(struct kv_state *st, const struct kv_sequence *parent, int64_t position,
        struct kv_sequence *s, const char *function, tnb_err *err);
TNB_MUST_CHECK tnb_status
kv_pop(struct kv_state *st, struct kv_sequence *s, int64_t n, const char *function, tnb_err *err);
/* Pages of the table that hold `tokens` tokens of the sequence. */
int64_t
kv_pages_for(const struct tnr_kv *kv, const struct kv_sequence *s, int64_t tokens);
/* Whether the next token is written to a page that another sequence has too. */
bool
kv_writes_shared(const struct tnr_kv *kv, const struct kv_sequence *s);
/* Room in the table. */
TNB_MUST_CHECK tnb_status
kv_reserve(struct kv_sequence *s, int64_t n_pages, tnb_err *err);
int32_t
kv_take_page(struct tnr_kv *kv);
void
kv_drop_page(struct tnr_kv *kv, int32_t page);
/* Gives back the pages behind those for `tokens` tokens. */
void
kv_trim(struct tnr_kv *kv, struct kv_sequence *s, int64_t tokens);
/* Gives back the pages that no token from now on sees. */
void
kv_evict(struct tnr_kv *kv, struct kv_sequence *s);

/* ---- kv_step.c ---- */
TNB_MUST_CHECK tnb_status
kv_begin(struct kv_state *st, const char *function, tnb_err *err);
void
kv_end(struct kv_state *st, bool keep);

/* ---- kv_tree.c ---- */
/* Looks at the step's parents, and adds its tokens to the trees of its sequences. */
TNB_MUST_CHECK tnb_status
kv_tree_begin(struct tnr_kv *kv, const char *function, tnb_err *err);
/* Numbers of the nodes as KV_TREE_ORDER has them. */
void
kv_tree_order(const struct kv_tree *tree, int32_t *order);
/* Nodes that wait. */
static inline int32_t
kv_tree_size(const struct kv_sequence *s)
{
    return s->tree ? s->tree->n : 0;
}
/* TNB_INVALID where nodes wait. */
TNB_MUST_CHECK tnb_status
kv_tree_settled(const struct kv_sequence *s, const char *function, tnb_err *err);

/* ---- kv_attention.c ---- */
TNB_MUST_CHECK tnb_status
kv_call(struct tnr_kv *kv, int kernel, const tnr_value *args, uint32_t n, tnb_err *err);
TNB_MUST_CHECK tnb_status
kv_attention(struct tnr_kv *kv, int64_t layer, double sm_scale, tnr_value qkv, tnr_value out,
             const char *function, tnb_err *err);
/* q, k, v and the result of a layer without keys of its own: those of `layer`, which has appended them in this step. */
TNB_MUST_CHECK tnb_status
kv_shared_attention(struct tnr_kv *kv, int64_t layer, double sm_scale, const tnr_value v[4],
                    const char *function, tnb_err *err);
/* What pages hold of the sequence's tokens from `from` to before `to`: keys and values into two tensors [layers, tokens, heads, dimension],
 * of latent attention rows into one [layers, tokens, dimension]. */
TNB_MUST_CHECK tnb_status
kv_get(struct tnr_kv *kv, struct kv_sequence *s, int64_t from, int64_t to, const tnr_value *out,
       uint32_t n_out, const char *function, tnb_err *err);

/* ---- kv_latent.c ---- */
TNB_MUST_CHECK tnb_status
kv_latent_append(struct tnr_kv *kv, int64_t layer, tnr_value rows, const char *function,
                 tnb_err *err);
/* q, k, v, result and log-sum-exp of the step's tokens among themselves. */
TNB_MUST_CHECK tnb_status
kv_latent_own(struct tnr_kv *kv, int64_t layer, double sm_scale, const tnr_value v[5],
              const char *function, tnb_err *err);
/* q, result and log-sum-exp over the pages. */
TNB_MUST_CHECK tnb_status
kv_latent_pages(struct tnr_kv *kv, int64_t layer, double sm_scale, const tnr_value v[3],
                const char *function, tnb_err *err);
/* Results and log-sum-exps of both, into the first two. */
TNB_MUST_CHECK tnb_status
kv_latent_merge(struct tnr_kv *kv, const tnr_value v[4], const char *function, tnb_err *err);

#endif
