/* SPDX-License-Identifier: Apache-2.0 */
/* The state of recurrent models by random operations on a module of recurrent.py, against a reference that keeps every state there was.
 *
 *     recurrent FILE.tno HISTORY SEED OPERATIONS [faults]
 *
 * Sequences are added, forked, taken back and removed; steps of one or several tokens change the states of two layers, some of them only one,
 * and some are cancelled. What there is is read back by the model's own functions and by debug_get; what goes back further than the history is
 * refused, as upstream does, and leaves everything as it was. With `faults` an allocation fails in most operations: each says so, and works when it
 * is tried again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/rt/kv.h"
#include "tenon/rt/session.h"
#include "tests/failing_memory.h"

enum { A = 6, B = 3, SIZE = A + B * B, LAYERS = 2, SEQUENCES = 4, MOST = 300 };

static tnb_err err;
static tnr_vm *vm;
static tnr_value state;
/* Of a sequence: a state for every step, the one that holds last; how many tokens it took; how many may be taken back. */
static struct sequence {
    bool there, lost;
    int64_t n, length, back;
    float states[MOST][LAYERS][SIZE];
    int64_t tokens[MOST]; /* of the step that made it */
} sequences[SEQUENCES];
static uint64_t seed;
static int64_t history, counts[9];
static bool faults;
static __thread bool counting;
static long allocation, fail_at;

static bool
memory_fails(void)
{
    return counting && ++allocation == fail_at;
}

#define MUST(x) ((x) == TNB_OK ? (void)0 : fail(#x, __LINE__))
static _Noreturn void
fail(const char *what, int line)
{
    fprintf(stderr, "recurrent.c:%d: %s: %s\n%s\n", line, what, err.message, err.hint);
    exit(1);
}

static int64_t
draw(int64_t n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

/* The status of the call; one that failed for an allocation is made again. */
#define TRIED(call) (arm(), again((call)) ? (call) : first_status)
static tnb_status first_status;

static void
arm(void)
{
    allocation = 0;
    fail_at = faults ? 1 + (long)draw(8) : 0;
    err = (tnb_err){0};
    counting = true;
}

static bool
again(tnb_status st)
{
    counting = false;
    first_status = st;
    if (st != TNB_NO_MEMORY)
        return false;
    if (!fail_at || !err.message[0])
        fail("a failing allocation", __LINE__);
    counts[8]++;
    return true;
}

/* The call fails, and says so. */
static void
refused(tnb_status st, const char *words)
{
    if (st == TNB_OK || !strstr(err.message, words)) {
        fprintf(stderr, "recurrent: expected '%s', got '%s'\n", words, err.message);
        exit(1);
    }
}

static tnb_status
packed(const char *name, const tnr_value *args, int n, tnr_value *ret)
{
    *ret = tnr_null();
    const tnr_packed *p = tnr_find_packed(tnr_vm_runtime(vm), name, &err);
    if (!p)
        fail(name, __LINE__);
    if (n < p->min_args || n > p->max_args)
        return TNB_INVALID;
    return p->call(vm, args, n, ret, &err);
}

static void
same(const tnr_value v, const float *want, int64_t n, const char *what)
{
    float got[SEQUENCES * SIZE];
    MUST(tnr_tensor_read(v.u.tensor, got, (size_t)n * sizeof *got, &err));
    if (memcmp(got, want, (size_t)n * sizeof *got) != 0) {
        fprintf(stderr, "recurrent: %s: %g where %g is right\n", what, (double)got[0],
                (double)want[0]);
        exit(1);
    }
}

static void
check(int64_t id)
{
    const struct sequence *s = &sequences[id];
    for (int64_t layer = 0; layer < LAYERS; layer++)
        for (int64_t k = 0; k < 2; k++) {
            tnr_value ret, args[4] = {state, tnr_int(layer), tnr_int(k), tnr_int(id)};
            if (s->lost) {
                refused(packed("vm.builtin.rnn_state_debug_get", args, 4, &ret), "cancelled");
                continue;
            }
            MUST(TRIED(packed("vm.builtin.rnn_state_debug_get", args, 4, &ret)));
            same(ret, s->states[s->n - 1][layer] + (k ? A : 0), k ? B * B : A, "debug_get");
            tnr_release(&ret);
        }
}

/* One token a sequence or several of each; `function`: both layers, or the first alone. */
static void
step(void)
{
    int64_t ids[SEQUENCES], lengths[SEQUENCES], n = 0, shape[3];
    float a[SEQUENCES][A], b[SEQUENCES][B * B], was_a[SEQUENCES][A], was_b[SEQUENCES][B * B];
    bool several = !draw(5), first = !draw(4), cancel = !draw(6);
    for (int64_t i = 0; i < SEQUENCES; i++) {
        struct sequence *s = &sequences[i];
        if (!s->there || s->n == MOST || !draw(3))
            continue;
        if (s->lost) {
            const int64_t one = 1;
            refused(tnr_kv_begin_forward(vm, state, &i, &one, 1, &err), "cancelled");
            continue;
        }
        ids[n] = i;
        lengths[n] = several ? 1 + draw(5) : 1;
        for (int k = 0; k < A; k++) {
            a[n][k] = (float)draw(64);
            was_a[n][k] = s->states[s->n - 1][0][k];
        }
        for (int k = 0; k < B * B; k++) {
            b[n][k] = (float)draw(64);
            was_b[n][k] = s->states[s->n - 1][0][A + k];
        }
        n++;
    }
    if (n == 0)
        return;
    tnr_value args[3] = {{0}, {0}, state}, ret;
    shape[0] = n, shape[1] = A;
    MUST(tnr_tensor_from(tnr_vm_device(vm), a, shape, 2, TNB_F32, &args[0], &err));
    shape[1] = shape[2] = B;
    MUST(tnr_tensor_from(tnr_vm_device(vm), b, shape, 3, TNB_F32, &args[1], &err));
    MUST(TRIED(tnr_kv_begin_forward(vm, state, ids, lengths, (uint32_t)n, &err)));
    refused(tnr_kv_begin_forward(vm, state, ids, lengths, (uint32_t)n, &err), "under way");
    refused(tnr_kv_add_sequence(vm, state, 99, &err), "under way");
    MUST(TRIED(tnr_vm_call(vm, first ? "first" : "both", args, 3, &ret, &err)));
    same(ret.u.tuple->items[0], was_a[0], n * A, "state 0 of layer 0, read");
    same(ret.u.tuple->items[1], was_b[0], n * B * B, "state 1 of layer 0, read");
    tnr_release(&ret);
    tnr_release(&args[0]);
    tnr_release(&args[1]);
    if (cancel)
        MUST(tnr_kv_cancel_forward(vm, state, &err));
    else
        MUST(TRIED(tnr_kv_end_forward(vm, state, &err)));
    for (int64_t i = 0; i < n; i++) {
        struct sequence *s = &sequences[ids[i]];
        if (cancel) {
            s->lost = history == 1;
            if (s->back == history - 1 && s->back)
                s->back--;
            continue;
        }
        float(*from)[SIZE] = s->states[s->n - 1], (*to)[SIZE] = s->states[s->n];
        memcpy(to, from, sizeof s->states[0]);
        for (int k = 0; k < A; k++) {
            to[0][k] = from[0][k] * 0.5f + a[i][k];
            to[1][k] = first ? from[1][k] : from[1][k] - to[0][k];
        }
        for (int k = 0; k < B * B; k++) {
            to[0][A + k] = from[0][A + k] * 0.5f + b[i][k];
            to[1][A + k] = first ? from[1][A + k] : from[1][A + k] - to[0][A + k];
        }
        s->tokens[s->n++] = lengths[i];
        s->length += lengths[i];
        s->back = lengths[i] > 1 ? 0 : s->back < history - 1 ? s->back + 1 : s->back;
    }
    counts[cancel ? 6 : 5]++;
}

static void
change(void)
{
    int64_t id = draw(SEQUENCES), from = draw(SEQUENCES);
    struct sequence *s = &sequences[id], *p = &sequences[from];
    if (!s->there && p->there && draw(2)) {
        int64_t n = draw(4), position = !n && draw(2) ? -1 : p->length - n;
        if (p->lost) {
            refused(tnr_kv_fork_sequence(vm, state, from, id, -1, &err), "cancelled");
            return;
        }
        if (n > p->length || n > p->back) {
            refused(tnr_kv_fork_sequence(vm, state, from, id, position < 0 ? -2 : position, &err),
                    n > p->length ? "position" : "tokens back");
            return;
        }
        MUST(TRIED(tnr_kv_fork_sequence(vm, state, from, id, position, &err)));
        *s = *p;
        s->n -= n, s->length -= n, s->back -= n;
        counts[0]++;
    } else if (!s->there) {
        MUST(TRIED(tnr_kv_add_sequence(vm, state, id, &err)));
        memset(s, 0, sizeof *s);
        s->there = true;
        s->n = 1;
        for (int k = 0; k < LAYERS * SIZE; k++) /* what recurrent.py says */
            s->states[0][k / SIZE][k % SIZE] = k % SIZE < A ? 0 : 1;
        counts[1]++;
    } else if (draw(3)) {
        int64_t n = draw(5);
        tnb_status st = tnr_kv_popn(vm, state, id, n, &err);
        if (n > s->length) {
            refused(st, "tokens of sequence");
        } else if (s->lost) {
            refused(st, "cancelled");
        } else if (n > s->back) {
            refused(st, "tokens back");
            counts[7]++;
        } else {
            MUST(st);
            s->n -= n, s->length -= n, s->back -= n;
            counts[2] += n > 0;
        }
    } else {
        MUST(tnr_kv_remove_sequence(vm, state, id, &err));
        s->there = false;
        counts[3]++;
    }
    for (int64_t i = 0; i < SEQUENCES; i++) {
        int64_t length;
        if (!sequences[i].there) {
            refused(tnr_kv_length(state, i, &length, &err), "has no sequence");
            continue;
        }
        MUST(tnr_kv_length(state, i, &length, &err));
        if (length != sequences[i].length)
            fail("length", __LINE__);
        check(i);
    }
}

/* Calls that have to be refused, each with its words. */
static void
refusals(void)
{
    static const char get[] = "vm.builtin.rnn_state_get", set[] = "vm.builtin.rnn_state_set";
    const int64_t zero = 0, one = 1, none = 0, nobody = 7, shape[2] = {1, A}, wrong[2] = {1, A + 1};
    tnr_value ret, t, w, length;
    MUST(tnr_kv_clear(vm, state, &err));
    MUST(tnr_kv_add_sequence(vm, state, 0, &err));
    refused(tnr_kv_add_sequence(vm, state, 0, &err), "already");
    refused(tnr_kv_add_sequence(vm, state, -1, &err), "begin at 0");
    refused(tnr_kv_remove_sequence(vm, state, 7, &err), "has no sequence 7");
    refused(tnr_kv_fork_sequence(vm, state, 7, 1, -1, &err), "has no sequence 7");
    refused(tnr_kv_popn(vm, state, 0, -1, &err), "-1 tokens");
    refused(tnr_kv_end_forward(vm, state, &err), "no step was begun");
    refused(tnr_kv_begin_forward(vm, state, &nobody, &one, 1, &err), "has no sequence 7");
    refused(tnr_kv_begin_forward(vm, state, &zero, &none, 1, &err), "0 tokens");
    refused(tnr_kv_begin_tree(vm, state, &zero, (int64_t[1]){3}, 1, (int64_t[3]){-1, 0, 0}, 3,
                              &err),
            "token 2 of sequence 0 has the parent 0");
    MUST(tnr_kv_begin_tree(vm, state, &zero, (int64_t[1]){3}, 1, (int64_t[3]){-1, 0, 1}, 3, &err));
    MUST(tnr_kv_cancel_forward(vm, state, &err));
    refused(tnr_kv_commit_tree(vm, state, &zero, &zero, 1, &err),
            "recurrent model is no paged cache");
    refused(tnr_kv_set_window(vm, state, 0, 4, 0, &err), "recurrent model is no paged cache");
    MUST(tnr_tensor_new(tnr_vm_device(vm), shape, 2, TNB_F32, &t, &err));
    MUST(tnr_tensor_new(tnr_vm_device(vm), wrong, 2, TNB_F32, &w, &err));
    tnr_value args[4] = {state, tnr_int(0), tnr_int(0), t};
    refused(packed(get, args, 4, &ret), "no step was begun");
    MUST(tnr_kv_begin_forward(vm, state, &zero, &one, 1, &err));
    args[1] = tnr_int(LAYERS);
    refused(packed(get, args, 4, &ret), "layer 2 of 2");
    args[1] = tnr_int(0), args[2] = tnr_int(-1);
    refused(packed(set, args, 4, &ret), "state -1 of 2");
    args[2] = tnr_int(1);
    refused(packed(set, args, 4, &ret), "the step needs state 1");
    args[2] = tnr_int(0), args[3] = w;
    refused(packed(get, args, 4, &ret), "the step needs state 0");
    args[0] = t;
    refused(packed(get, args, 4, &ret), "no state of a recurrent model");
    refused(packed("vm.builtin.attention_kv_cache_get_query_positions", &state, 1, &ret),
            "no paged cache");
    args[0] = state, args[3] = tnr_int(0);
    refused(packed("vm.builtin.rnn_state_debug_get", args, 4, &ret), "under way");
    MUST(tnr_kv_cancel_forward(vm, state, &err));
    args[3] = tnr_int(7);
    refused(packed("vm.builtin.rnn_state_debug_get", args, 4, &ret), "has no sequence 7");
    tnr_release(&t);
    tnr_release(&w);
    MUST(tnr_shape_new(&one, 1, &length, &err));
    for (int i = 0; i < 6; i++) { /* arguments of create */
        tnr_value c[6] = {tnr_int(1), tnr_int(1), tnr_int(1), length, length, length};
        if (i < 3)
            c[i] = tnr_int(i == 1 ? 1 << 20 : 0);
        refused(packed("vm.builtin.rnn_state_create", c, 6, &ret), i < 3 ? "argument" : "expected");
    }
    tnr_release(&length);
    for (int64_t i = 1; i < SEQUENCES; i++)
        MUST(tnr_kv_add_sequence(vm, state, i, &err));
    refused(tnr_kv_add_sequence(vm, state, SEQUENCES, &err), "sequences at once");
    refused(tnr_kv_fork_sequence(vm, state, 0, SEQUENCES, -1, &err), "sequences at once");
}

static void *
alloc(void *user, size_t bytes, size_t alignment)
{
    void *p = NULL;
    (void)user;
    if (posix_memalign(&p, alignment < sizeof p ? sizeof p : alignment, bytes) != 0)
        return NULL;
    return memset(p, 0xff, bytes); /* NaN */
}

static void
give_back(void *user, void *p)
{
    (void)user;
    free(p);
}

int
main(int argc, char **argv)
{
    if (argc != 5 && argc != 6)
        return 2;
    faults = argc == 6;
    const int64_t n = SEQUENCES;
    const tnr_allocator memory = {.alloc = alloc, .free = give_back};
    const tnr_runtime_options options = {.allocator = &memory};
    tnr_session_options opt = {.function = "both", .options = &options};
    tnr_kv_info info = {.size = sizeof info};
    tnr_session *s;
    tnr_value shapes[2];
    history = atoi(argv[2]);
    seed = (uint64_t)atoi(argv[3]);
    MUST(tnr_session_open(argv[1], &opt, &s, &err));
    vm = tnr_session_vm(s);
    MUST(tnr_shape_new(&n, 1, &shapes[0], &err));
    MUST(tnr_shape_new(&history, 1, &shapes[1], &err));
    for (fail_at = 1; faults && state.tag == TNR_NULL;
         fail_at++) { /* each allocation of making it */
        allocation = 0;
        counting = true;
        tnb_status st = tnr_vm_call(vm, "create_rnn_state", shapes, 2, &state, &err);
        counting = false;
        if (st != TNB_OK && (st != TNB_NO_MEMORY || !err.message[0] || state.tag != TNR_NULL))
            fail("an allocation of create_rnn_state", __LINE__);
    }
    if (!faults)
        MUST(tnr_vm_call(vm, "create_rnn_state", shapes, 2, &state, &err));
    MUST(tnr_kv_describe(state, &info, &err));
    if (info.bytes != (uint64_t)(LAYERS * n * history * SIZE) * sizeof(float) ||
        info.n_layers != LAYERS || info.page_tokens)
        fail("tnr_kv_describe", __LINE__);
    for (int i = 0; i < atoi(argv[4]); i++)
        if (draw(2))
            step();
        else
            change();
    faults = false;
    refusals();
    printf("forked %d added %d back %d removed %d steps %d cancelled %d too far %d faults %d\n",
           (int)counts[0], (int)counts[1], (int)counts[2], (int)counts[3], (int)counts[5],
           (int)counts[6], (int)counts[7], (int)counts[8]);
    tnr_release(&shapes[0]);
    tnr_release(&shapes[1]);
    tnr_release(&state);
    tnr_session_close(s);
    return 0;
}
