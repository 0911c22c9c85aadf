/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled language model over tokens and writes the logits of every token, float32.
 *
 *     logits FILE.tno OUT.bin WAY TOKEN...
 *
 * WAY: `once` one batch_prefill; `steps` a prefill of the first token, then decode; `chunks` prefills of 3 tokens, of which only the last
 * row of each is known (the others are written as NaN); `batch` two sequences, the tokens and their half, forked, by batch_decode;
 * `again` as steps, with tokens that are taken back and given again; `mixed` prefills and decoding of up to four sequences of different
 * lengths together, one of them forked, one taken back: what is computed twice has to be the same. VOCABULARY of the environment is the number
 * of logits where the module leaves it open. `bits`: token by token; then prefills of 1 to 512 tokens, and 2 to 17 sequences, each of which begins
 * one step after the one before, by batch_decode and batch_prefill: every logit has to have the same bits. THREADS: how many. WINDOW: of
 * how many tokens sequences have one. EXTENDS: tokens that may follow others go to `extend`, `batch_extend`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/rt/kv.h"
#include "tenon/rt/params.h"
#include "tenon/rt/session.h"

static tnb_err err;
static tnr_vm *vm;
static tnr_value cache, weights;
static float *rows; /* of logits, by token */
static int64_t vocabulary, hidden;
static bool same;    /* rows that are there already have to agree */
static bool bits;    /* and in all bits */
static char now[64]; /* what is done */

#define MUST(x) ((x) == TNB_OK ? (void)0 : fail(#x))
static _Noreturn void
fail(const char *what)
{
    fprintf(stderr, "logits: %s: %s\n%s\n", what, err.message, err.hint);
    exit(1);
}

/* Fresh memory is NaN, so that what is read without having been written is seen. */
static void *
alloc(void *user, size_t bytes, size_t alignment)
{
    void *p = NULL;
    (void)user;
    if (posix_memalign(&p, alignment < sizeof p ? sizeof p : alignment, bytes) != 0)
        return NULL;
    return memset(p, 0xff, bytes);
}

static void
give_back(void *user, void *p)
{
    (void)user;
    free(p);
}

static int64_t
window(void)
{
    return getenv("WINDOW") ? atoi(getenv("WINDOW")) : 0;
}

static void
add_sequence(int64_t id)
{
    MUST(tnr_kv_add_sequence(vm, cache, id, &err));
    if (window() > 0)
        MUST(tnr_kv_set_window(vm, cache, id, window(), 0, &err));
}

static tnr_value
embed(const int32_t *ids, int64_t n, int64_t batch)
{
    tnr_value args[2], flat, out;
    int64_t shape[] = {batch, n / batch, 0};
    MUST(tnr_tensor_from(tnr_vm_device(vm), ids, &n, 1, TNB_I32, &args[0], &err));
    args[1] = weights;
    MUST(tnr_vm_call(vm, "embed", args, 2, &flat, &err));
    shape[2] = hidden = flat.u.tensor->dl.shape[1];
    MUST(tnr_tensor_reshape(flat.u.tensor, shape, 3, &out, &err));
    tnr_release(&flat);
    tnr_release(&args[0]);
    return out;
}

static void
keep_row(int64_t row, const float *from)
{
    float *to = rows + row * vocabulary;
    if (bits && !isnan(to[0]) && memcmp(to, from, (size_t)vocabulary * sizeof *to) != 0) {
        int64_t i = 0;
        while (memcmp(to + i, from + i, sizeof *to) == 0)
            i++;
        fprintf(stderr, "logits: %s: row %lld has other bits: logit %lld is %.9g and %.9g\n", now,
                (long long)row, (long long)i, (double)to[i], (double)from[i]);
        exit(1);
    }
    for (int64_t i = 0; i < vocabulary && same; i++)
        if (!isnan(to[i]) && !(fabsf(to[i] - from[i]) <= 1e-4F * (1 + fabsf(to[i])))) {
            fprintf(stderr, "logits: row %lld is %g and %g\n", (long long)row, (double)to[i],
                    (double)from[i]);
            exit(1);
        }
    memcpy(to, from, (size_t)vocabulary * sizeof *to);
}

/* Calls an entry point and copies its logits to the rows named. */
static void
call(const char *entry, tnr_value x, const tnr_value *positions, const int64_t *to, int64_t n)
{
    tnr_value args[4], result;
    uint32_t k = 0;
    args[k++] = x;
    if (positions)
        args[k++] = *positions;
    args[k++] = cache;
    args[k++] = weights;
    MUST(tnr_vm_call(vm, entry, args, k, &result, &err));
    const tnr_tensor *t = result.u.tuple->items[0].u.tensor;
    float *out = malloc(t->n_bytes);
    MUST(tnr_tensor_read(t, out, t->n_bytes, &err));
    if ((int64_t)t->n_elems != n * vocabulary) {
        fprintf(stderr, "logits: %s gave %llu numbers, expected %lld\n", entry,
                (unsigned long long)t->n_elems, (long long)(n * vocabulary));
        exit(1);
    }
    for (int64_t i = 0; i < n; i++)
        keep_row(to[i], out + i * vocabulary);
    free(out);
    tnr_release(&result);
    tnr_release(&x);
}

static void
step(const char *entry, const int32_t *ids, int64_t n, int64_t row)
{
    const int64_t sequence = 0;
    MUST(tnr_kv_begin_forward(vm, cache, &sequence, &n, 1, &err));
    call(entry, embed(ids, n, 1), NULL, &row, 1);
    MUST(tnr_kv_end_forward(vm, cache, &err));
}

static void
run_once(const int32_t *ids, int64_t n)
{
    const int64_t sequence = 0;
    int64_t to[4096];
    int32_t at[4096];
    tnr_value positions;
    for (int64_t i = 0; i < n; i++) {
        to[i] = i;
        at[i] = (int32_t)i;
    }
    MUST(tnr_tensor_from(tnr_vm_device(vm), at, &n, 1, TNB_I32, &positions, &err));
    MUST(tnr_kv_begin_forward(vm, cache, &sequence, &n, 1, &err));
    call("batch_prefill", embed(ids, n, 1), &positions, to, n);
    MUST(tnr_kv_end_forward(vm, cache, &err));
    tnr_release(&positions);
}

static void
run_steps(const int32_t *ids, int64_t n, bool again)
{
    step("prefill", ids, 1, 0);
    for (int64_t i = 1; i < n; i++) {
        step("decode", ids + i, 1, i);
        if (again && i % 3 == 2) {
            static const int32_t other = 1;
            step("decode", &other, 1, i + 1 < n ? i + 1 : 0);
            MUST(tnr_kv_popn(vm, cache, 0, 2, &err));
            step("decode", ids + i, 1, i);
        }
    }
    if (again) { /* row 0 may have been overwritten by the other token's */
        MUST(tnr_kv_clear(vm, cache, &err));
        add_sequence(0);
        step("prefill", ids, 1, 0);
    }
}

/* A sequence of half of the tokens, forked; the child goes on with the rest while another sequence begins anew. */
static void
run_batch(const int32_t *ids, int64_t n)
{
    const int64_t half = n / 2, sequences[] = {1, 2}, lengths[] = {1, 1};
    step("prefill", ids, 1, 0);
    for (int64_t i = 1; i < half; i++)
        step("decode", ids + i, 1, i);
    MUST(tnr_kv_fork_sequence(vm, cache, 0, 1, -1, &err));
    add_sequence(2);
    for (int64_t i = half; i < n; i++) {
        const int32_t pair[] = {ids[i], ids[i - half]};
        const int64_t to[] = {i, i - half < half ? i - half : n /* not kept */};
        MUST(tnr_kv_begin_forward(vm, cache, sequences, lengths, 2, &err));
        call("batch_decode", embed(pair, 2, 2), NULL, to, 2);
        MUST(tnr_kv_end_forward(vm, cache, &err));
    }
}

/* Tokens [from, to) of several sequences in one prefill. */
static void
prefill_many(const int32_t *ids, const int64_t *sequences, const int64_t *from, const int64_t *to,
             int n)
{
    int64_t rows_of[4096], lengths[17], total = 0;
    int32_t tokens[4096], at[4096];
    tnr_value positions;
    for (int s = 0; s < n; s++) {
        lengths[s] = to[s] - from[s];
        for (int64_t i = from[s]; i < to[s]; i++, total++) {
            rows_of[total] = i;
            tokens[total] = ids[i];
            at[total] = (int32_t)total;
        }
    }
    MUST(tnr_tensor_from(tnr_vm_device(vm), at, &total, 1, TNB_I32, &positions, &err));
    MUST(tnr_kv_begin_forward(vm, cache, sequences, lengths, (uint32_t)n, &err));
    call(getenv("EXTENDS") ? "batch_extend" : "batch_prefill", embed(tokens, total, 1), &positions,
         rows_of, total);
    MUST(tnr_kv_end_forward(vm, cache, &err));
    tnr_release(&positions);
}

static void
run_mixed(const int32_t *ids, int64_t n)
{
    const int64_t a = n / 3, b = 2 * n / 3, sequences[] = {0, 1, 2, 3}, ones[] = {1, 1, 1, 1};
    same = true;
    add_sequence(1);
    add_sequence(2);
    prefill_many(ids, sequences, (int64_t[]){0, 0, 0}, (int64_t[]){a, b, 1}, 3);
    MUST(tnr_kv_popn(vm, cache, 0, 2, &err));
    MUST(tnr_kv_fork_sequence(vm, cache, 1, 3, a, &err));
    prefill_many(ids, sequences, (int64_t[]){a - 2, b, 1, a}, (int64_t[]){a + 1, n - 1, 4, b}, 4);
    const int64_t to[] = {a + 1, n - 1, 4, b};
    const int32_t next[] = {ids[a + 1], ids[n - 1], ids[4], ids[b]};
    MUST(tnr_kv_begin_forward(vm, cache, sequences, ones, 4, &err));
    call("batch_decode", embed(next, 4, 4), NULL, to, 4);
    MUST(tnr_kv_end_forward(vm, cache, &err));
}

/* Sequences s = 0, 1, ... of which each gets its first token one step after the one before. */
static void
run_staggered(const int32_t *ids, int64_t n, int64_t count, bool prefill)
{
    for (int64_t t = 0; t < n + count - 1; t++) {
        int64_t sequences[17], ones[17], from[17], to[17];
        int32_t next[17];
        int m = 0;
        for (int64_t s = 0; s < count; s++) {
            const int64_t i = t - s;
            if (i == 0 && s > 0)
                add_sequence(s);
            if (i < 0 || i >= n)
                continue;
            sequences[m] = s;
            ones[m] = 1;
            from[m] = i;
            to[m] = i + 1;
            next[m++] = ids[i];
        }
        if (prefill) {
            prefill_many(ids, sequences, from, to, m);
            continue;
        }
        MUST(tnr_kv_begin_forward(vm, cache, sequences, ones, (uint32_t)m, &err));
        call("batch_decode", embed(next, m, m), NULL, from, m);
        MUST(tnr_kv_end_forward(vm, cache, &err));
    }
}

static void
begin_anew(int64_t n, const char *what)
{
    snprintf(now, sizeof now, "%lld %s", (long long)n, what);
    MUST(tnr_kv_clear(vm, cache, &err));
    add_sequence(0);
}

static void
run_bits(const int32_t *ids, int64_t n)
{
    static const int64_t chunks[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 256, 512};
    bits = true;
    run_steps(ids, n, false);
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        const int64_t size = chunks[k], zero = 0;
        begin_anew(size, "tokens a prefill");
        for (int64_t from = 0; from < n; from += size) {
            const int64_t to = n - from < size ? n : from + size;
            prefill_many(ids, &zero, &from, &to, 1);
        }
    }
    const int64_t fewer = n < 24 ? n : 24;
    for (int64_t count = 2; count <= 17; count++) {
        begin_anew(count, "sequences, batch_decode");
        run_staggered(ids, fewer, count, false);
        begin_anew(count, "sequences, batch_prefill");
        run_staggered(ids, fewer, count, true);
    }
}

int
main(int argc, char **argv)
{
    if (argc < 5 || argc > 4096)
        return 2;
    const char *way = argv[3];
    /* The second is the cache's tokens, and the history of a recurrent model's state. With longrope it also chooses the factors, so that
     * only `bits`, with its many sequences, gets more than the other ways need. */
    const int64_t n = argc - 4, more = strcmp(way, "bits") == 0 ? 448 : 64;
    const int64_t sizes[] = {17, 2 * n + more, n + 16, 16, window() > 0};
    int32_t ids[4096];
    tnr_session *s;
    tnr_value shapes[5];
    for (int64_t i = 0; i < n; i++)
        ids[i] = atoi(argv[4 + i]);
    const tnr_allocator memory = {.alloc = alloc, .free = give_back};
    const tnr_runtime_options options = {.allocator = &memory,
                                         .threads =
                                             getenv("THREADS") ? atoi(getenv("THREADS")) : 0};
    tnr_session_options opt = {.function = "decode", .options = &options};
    MUST(tnr_session_open(argv[1], &opt, &s, &err));
    vm = tnr_session_vm(s);
    vocabulary = tnr_session_signature(s)->results[0].dims[2];
    if (vocabulary < 0 && getenv("VOCABULARY"))
        vocabulary = atoi(getenv("VOCABULARY"));
    rows = malloc((size_t)((n + 1) * vocabulary) * sizeof *rows);
    for (int64_t i = 0; i < n * vocabulary; i++)
        rows[i] = NAN;
    MUST(tnr_params_open(vm, NULL, &weights, &err));
    for (int i = 0; i < 5; i++)
        MUST(tnr_shape_new(&sizes[i], 1, &shapes[i], &err));
    if (tnr_vm_call(vm, "create_rnn_state", shapes, 2, &cache, &err) != TNB_OK)
        MUST(tnr_vm_call(vm, "create_paged_kv_cache", shapes, 5, &cache, &err));
    add_sequence(0);
    if (strcmp(way, "once") == 0)
        run_once(ids, n);
    else if (strcmp(way, "chunks") == 0)
        for (int64_t i = 0; i < n; i += 3)
            step(i && getenv("EXTENDS") ? "extend" : "prefill", ids + i, n - i < 3 ? n - i : 3,
                 n - i < 3 ? n - 1 : i + 2);
    else if (strcmp(way, "batch") == 0)
        run_batch(ids, n);
    else if (strcmp(way, "bits") == 0)
        run_bits(ids, n);
    else if (strcmp(way, "mixed") == 0)
        run_mixed(ids, n);
    else
        run_steps(ids, n, strcmp(way, "again") == 0);
    FILE *f = fopen(argv[2], "wb");
    if (!f || fwrite(rows, sizeof *rows, (size_t)(n * vocabulary), f) != (size_t)(n * vocabulary) ||
        fclose(f) != 0)
        return 1;
    for (int i = 0; i < 5; i++)
        tnr_release(&shapes[i]);
    tnr_release(&cache);
    tnr_release(&weights);
    tnr_session_close(s);
    free(rows);
    return 0;
}
