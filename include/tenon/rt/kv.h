/* SPDX-License-Identifier: Apache-2.0 */
/* The paged cache of keys and values of a language model, or the state of a recurrent one, for programs that drive one.
 *
 *     tnr_vm_call(vm, "create_paged_kv_cache", shapes, 5, &cache, &err)    each a shape of one extent: sequences at once, tokens in
 *                                                                              all, tokens of a step at most, tokens of a page, whether
 *                                                                              windows are wanted
 *     tnr_kv_add_sequence(vm, cache, 0, &err)
 *     tnr_kv_begin_forward(vm, cache, &sequence, &length, 1, &err)             the step appends `length` tokens to the sequence
 *     tnr_vm_call(vm, "prefill", ...)                                          or decode, batch_prefill, batch_decode
 *     tnr_kv_end_forward(vm, cache, &err)
 *     ...
 *     tnr_release(&cache)
 *
 * A cache is a value of the tag TNR_OBJECT. It belongs to the machine that made it, is used by that machine's thread, and
 * is released before the machine is freed. Its memory is allocated when it is made; nothing grows afterwards but a few integers of the
 * host a page. Sequences are named by numbers >= 0 that the program chooses.
 *
 * Keys and values lie in pages: one tensor a layer, [pages, 2, heads of keys, tokens of a page, head dimension]. A page belongs to one
 * sequence, or to several after a fork; the first that appends to a shared page gets a copy of it. What does not fit is refused, and
 * changes nothing: nothing is ever shifted out silently.
 *
 * A recurrent model has a state of a fixed size instead ("create_rnn_state" of two shapes, sequences and history): the same functions, but
 * no windows; forks copy, and tokens can be taken back as far as the history goes and no step of several tokens is in between (else
 * TNB_UNSUPPORTED).
 *
 * Errors of all functions: TNB_TYPE, `cache` is no cache; TNB_NOT_FOUND, no such sequence; TNB_INVALID, an argument out of its
 * range, a call between begin and end that is allowed outside only, or a cache of another machine. The same functions are packed
 * functions under upstream's names (vm.builtin.kv_state_*, vm.builtin.attention_kv_cache_*).
 */
#ifndef TENON_RT_KV_H
#define TENON_RT_KV_H

#include "tenon/rt/vm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A new, empty sequence. TNB_INVALID: the number is taken; TNB_BOUNDS: as many as the cache was made for are there. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_add_sequence(tnr_vm *vm, tnr_value cache, int64_t sequence, tnb_err *err);
/* Forgets a sequence; pages that no other one has are free. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_remove_sequence(tnr_vm *vm, tnr_value cache, int64_t sequence, tnb_err *err);
/* A new sequence with the first `position` tokens of another, -1: with all. Shares their pages. Errors as of
 * tnr_kv_add_sequence; TNB_UNSUPPORTED: tokens before `position` have left the parent's window. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_fork_sequence(tnr_vm *vm, tnr_value cache, int64_t parent, int64_t child, int64_t position,
                     tnb_err *err);
/* Forgets the last n tokens of a sequence, 0 <= n <= its length. TNB_UNSUPPORTED: tokens that the window would show again are gone. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_popn(tnr_vm *vm, tnr_value cache, int64_t sequence, int64_t n, tnb_err *err);
/* Forgets everything, a step that was begun too. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_clear(tnr_vm *vm, tnr_value cache, tnb_err *err);
/* From now on tokens of this sequence see the last `window` tokens, themselves included, and the first `sink`; pages behind the
 * window become free. 0 <= sink < window. TNB_UNSUPPORTED: the cache was made without windows; TNB_INVALID: the sequence has tokens or a
 * window already. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_set_window(tnr_vm *vm, tnr_value cache, int64_t sequence, int64_t window, int64_t sink,
                  tnb_err *err);
/* A step: the functions of the model that are called until tnr_kv_end_forward append lengths[i] >= 1 tokens to sequences[i] and compute
 * attention for them. Their tokens stand one sequence behind another in this order. TNB_BOUNDS, and nothing changed: more
 * tokens than free pages hold, or than the cache was made for in a step; the message says how many fit. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_begin_forward(tnr_vm *vm, tnr_value cache, const int64_t *sequences, const int64_t *lengths,
                     uint32_t n, tnb_err *err);
/* The same with tokens that stand in a tree, of which some will be taken (speculative decoding): parents has an entry for each token of the
 * step, the number of its parent among the tokens of its sequence that wait, those of steps before included, or -1. A parent comes
 * before its children. A token sees what the sequence had before the tree, and its ancestors, and has the position behind its
 * parent's. Until tnr_kv_commit_tree the sequence takes steps with parents alone, and no fork. TNB_UNSUPPORTED: the cache has
 * windows, latent attention or RoPE of mode 2, or a recurrent model's state is given parents that are no chain. TNB_BOUNDS: more
 * than 256 tokens of a sequence wait. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_begin_tree(tnr_vm *vm, tnr_value cache, const int64_t *sequences, const int64_t *lengths,
                  uint32_t n, const int64_t *parents, uint32_t n_parents, tnb_err *err);
/* Of the tokens that wait in the tree of sequences[i], those from the root to leaves[i] are kept; -1: none. Outside of a step. TNB_INVALID,
 * and nothing changed: no token of a sequence waits, a leaf is none of them, or a sequence is there twice. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_commit_tree(tnr_vm *vm, tnr_value cache, const int64_t *sequences, const int64_t *leaves,
                   uint32_t n, tnb_err *err);
/* Ends the step; its tokens belong to the sequences. TNB_INVALID: none was begun. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_end_forward(tnr_vm *vm, tnr_value cache, tnb_err *err);
/* Ends a step that failed: its tokens are forgotten. Nothing happens outside of a step. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_cancel_forward(tnr_vm *vm, tnr_value cache, tnb_err *err);

typedef struct tnr_kv_info {
    uint32_t size;               /* sizeof, set by the caller */
    uint32_t n_sequences;        /* there are */
    int64_t max_sequences;       /* at once */
    int64_t step_tokens;         /* of a step, at most */
    int64_t page_tokens;         /* of a page; 0: the state of a recurrent model, which has none */
    int64_t n_pages, free_pages; /* one page stands for all layers */
    int64_t n_tokens;            /* of all sequences, shared ones counted for each */
    uint64_t bytes;              /* of keys and values, or states, on the device */
    tnb_dtype dtype;             /* of keys and values, or the first state */
    int64_t n_layers;
} tnr_kv_info;
/* TNB_ABI: out->size is not known. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_describe(tnr_value cache, tnr_kv_info *out, tnb_err *err);
/* Tokens of a sequence, those that have left its window too. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_kv_length(tnr_value cache, int64_t sequence, int64_t *out, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
