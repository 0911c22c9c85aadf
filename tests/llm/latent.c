/* SPDX-License-Identifier: Apache-2.0 */
/* Latent attention on the paged cache, by random operations on a module of latent.py, against a reference that keeps all rows.
 *
 *     latent FILE.tno SEED OPERATIONS
 *
 * Sequences are added, forked, cut and removed; steps append rows to several of them: `decode` one row each, over the pages, its own row
 * included; `extend` any number, each row over what its sequence had before and, with keys and values of its own, over the step's
 * rows up to itself, merged. What the cache holds is read back, and calls that are wrong are refused. With random garbage in fresh memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/rt/kv.h"
#include "tenon/rt/session.h"

enum { HEADS = 3, DIM = 20, LATENT = 16, OWN = 12, SEQUENCES = 4, MOST = 80, STEP = 24 };

static tnb_err err;
static tnr_vm *vm;
static tnr_value cache;
static float rows[SEQUENCES][MOST][DIM]; /* what was appended */
static int64_t length[SEQUENCES];
static bool there[SEQUENCES];
static uint64_t state;

#define MUST(x) ((x) == TNB_OK ? (void)0 : fail(#x))
static _Noreturn void
fail(const char *what)
{
    fprintf(stderr, "latent: %s: %s\n%s\n", what, err.message, err.hint);
    exit(1);
}

static int64_t
draw(int64_t n)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static void
draw_floats(float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)draw(2001) / 1000 - 1;
}

static tnr_value
tensor(const float *from, int64_t a, int64_t b, int64_t c)
{
    const int64_t dims[3] = {a, b, c};
    tnr_value v;
    MUST(tnr_tensor_from(tnr_vm_device(vm), from, dims, c ? 3 : 2, TNB_F32, &v, &err));
    return v;
}

/* One row's attention: scores and values of what it sees, summed in double. */
typedef struct sums {
    double score[MOST + STEP];
    const float *value[MOST + STEP];
    int n;
} sums;

static void
see(sums *s, const float *q, const float *k, int d, const float *value)
{
    double x = 0;
    for (int i = 0; i < d; i++)
        x += (double)q[i] * (double)k[i];
    s->score[s->n] = x * 0.3;
    s->value[s->n++] = value;
}

static void
compare(const sums *s, const float *got, const char *what)
{
    double top = -1e30, total = 0, want[LATENT] = {0};
    for (int i = 0; i < s->n; i++)
        top = s->score[i] > top ? s->score[i] : top;
    for (int i = 0; i < s->n; i++) {
        double w = exp(s->score[i] - top);
        total += w;
        for (int d = 0; d < LATENT; d++)
            want[d] += w * (double)s->value[i][d];
    }
    for (int d = 0; d < LATENT; d++)
        if (!(fabs((double)got[d] - want[d] / total) < 1e-5)) {
            fprintf(stderr, "latent: %s: %g where %g is right\n", what, (double)got[d],
                    want[d] / total);
            exit(1);
        }
}

static void
step(bool decode)
{
    static float kv[STEP][DIM], q[STEP][HEADS][DIM], qo[STEP][HEADS][OWN], k[STEP][HEADS][OWN],
        v[STEP][HEADS][LATENT], got[STEP][HEADS][LATENT];
    int64_t ids[SEQUENCES], counts[SEQUENCES], n = 0, total = 0, at = 0;
    for (int64_t s = 0; s < SEQUENCES; s++) {
        int64_t most = decode ? 1 : draw(6) + 1;
        if (!there[s] || !draw(3) || length[s] + most > MOST || total + most > STEP)
            continue;
        ids[n] = s;
        counts[n++] = most;
        total += most;
    }
    if (n == 0)
        return;
    draw_floats(&kv[0][0], total * DIM);
    draw_floats(&q[0][0][0], total * HEADS * DIM);
    draw_floats(&qo[0][0][0], total * HEADS * OWN);
    draw_floats(&k[0][0][0], total * HEADS * OWN);
    draw_floats(&v[0][0][0], total * HEADS * LATENT);
    tnr_value args[6] = {tensor(&q[0][0][0], total, HEADS, DIM), tensor(&kv[0][0], total, DIM, 0)},
              out;
    uint32_t n_args = 2;
    if (!decode) {
        args[n_args++] = tensor(&qo[0][0][0], total, HEADS, OWN);
        args[n_args++] = tensor(&k[0][0][0], total, HEADS, OWN);
        args[n_args++] = tensor(&v[0][0][0], total, HEADS, LATENT);
    }
    args[n_args] = cache;
    MUST(tnr_kv_begin_forward(vm, cache, ids, counts, (uint32_t)n, &err));
    MUST(tnr_vm_call(vm, decode ? "decode" : "extend", args, n_args + 1, &out, &err));
    MUST(tnr_tensor_read(out.u.tensor, got, (size_t)total * HEADS * LATENT * sizeof(float), &err));
    MUST(tnr_kv_end_forward(vm, cache, &err));
    for (int64_t i = 0; i < n; i++) {
        int64_t s = ids[i], before = length[s];
        for (int64_t r = 0; r < counts[i]; r++)
            memcpy(rows[s][length[s]++], kv[at + r], sizeof kv[0]);
        for (int64_t r = 0; r < counts[i]; r++)
            for (int h = 0; h < HEADS; h++) {
                sums sum = {.n = 0};
                for (int64_t t = 0; t < before + decode; t++)
                    see(&sum, q[at + r][h], rows[s][t], DIM, rows[s][t]);
                for (int64_t t = 0; t <= r && !decode; t++)
                    see(&sum, qo[at + r][h], k[at + t][h], OWN, v[at + t][h]);
                compare(&sum, got[at + r][h], decode ? "decode" : "extend");
            }
        at += counts[i];
    }
    tnr_release(&out);
    for (uint32_t i = 0; i < n_args; i++)
        tnr_release(&args[i]);
}

static void
change(void)
{
    int64_t s = draw(SEQUENCES), from = draw(SEQUENCES);
    if (!there[s] && there[from] && draw(2)) {
        int64_t position = length[from] ? draw(length[from] + 1) : 0;
        MUST(tnr_kv_fork_sequence(vm, cache, from, s, position, &err));
        memcpy(rows[s], rows[from], sizeof rows[s]);
        length[s] = position;
        there[s] = true;
    } else if (!there[s]) {
        MUST(tnr_kv_add_sequence(vm, cache, s, &err));
        length[s] = 0;
        there[s] = true;
    } else if (draw(2)) {
        int64_t n = draw(length[s] < 9 ? length[s] + 1 : 9);
        MUST(tnr_kv_popn(vm, cache, s, n, &err));
        length[s] -= n;
    } else if (!draw(3)) {
        MUST(tnr_kv_remove_sequence(vm, cache, s, &err));
        there[s] = false;
    }
}

static tnb_status
packed(const char *name, const tnr_value *args, int n)
{
    tnr_value ret = tnr_null();
    const tnr_packed *p = tnr_find_packed(tnr_vm_runtime(vm), name, &err);
    if (!p || n < p->min_args || n > p->max_args)
        fail(name);
    tnb_status st = p->call(vm, args, n, &ret, &err);
    tnr_release(&ret);
    return st;
}

/* The rows of a sequence, as pages hold them in the layer that the module has. */
static void
read_back(void)
{
    enum { LAYERS = 2, LAYER = 1 };
    static float got[LAYERS * MOST * DIM];
    int64_t s = draw(SEQUENCES), to = there[s] ? length[s] : 0, from = to ? draw(to) : 0;
    int64_t n = to - from, shape[3] = {LAYERS, n, DIM};
    tnr_value args[5] = {cache, tnr_int(s), tnr_int(from), tnr_int(to)};
    if (n == 0)
        return;
    MUST(tnr_tensor_new(tnr_vm_device(vm), shape, 3, TNB_F32, &args[4], &err));
    MUST(packed("vm.builtin.attention_kv_cache_debug_get_kv_mla", args, 5));
    MUST(tnr_tensor_read(args[4].u.tensor, got, (size_t)(LAYERS * n * DIM) * sizeof *got, &err));
    if (memcmp(got + LAYER * n * DIM, rows[s][from], (size_t)(n * DIM) * sizeof *got) != 0)
        fail("rows that are read back");
    tnr_release(&args[4]);
}

/* Calls that have to be refused, each with its words: outside of a step, and with more rows than the step has. */
static void
refusals(void)
{
    static const char *const words[] = {"no step was begun", "what is appended"};
    static float zeros[3 * HEADS * DIM];
    const int64_t id = 0, two = 2;
    MUST(tnr_kv_clear(vm, cache, &err));
    MUST(tnr_kv_add_sequence(vm, cache, id, &err));
    for (int i = 0; i < 2; i++) {
        tnr_value args[3] = {tensor(zeros, 3, HEADS, DIM), tensor(zeros, 3, DIM, 0), cache}, ret;
        if (i)
            MUST(tnr_kv_begin_forward(vm, cache, &id, &two, 1, &err));
        if (tnr_vm_call(vm, "decode", args, 3, &ret, &err) == TNB_OK ||
            !strstr(err.message, words[i])) {
            fprintf(stderr, "latent: '%s' was not refused: %s\n", words[i], err.message);
            exit(1);
        }
        tnr_release(&args[0]);
        tnr_release(&args[1]);
    }
    MUST(tnr_kv_cancel_forward(vm, cache, &err));
    const tnr_value of_heads[6] = {cache, tnr_int(id), tnr_int(0), tnr_int(1)};
    if (packed("vm.builtin.attention_kv_cache_debug_get_kv", of_heads, 6) == TNB_OK ||
        !strstr(err.message, "the cache is for latent attention"))
        fail("keys and values of heads were not refused");
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
    if (argc != 4)
        return 2;
    const int64_t sizes[5] = {SEQUENCES, SEQUENCES * (MOST + 16), STEP, 16, 0};
    const tnr_allocator memory = {.alloc = alloc, .free = give_back};
    const tnr_runtime_options options = {.allocator = &memory};
    tnr_session_options opt = {.function = "decode", .options = &options};
    tnr_session *s;
    tnr_value shapes[5];
    state = (uint64_t)atoi(argv[2]);
    MUST(tnr_session_open(argv[1], &opt, &s, &err));
    vm = tnr_session_vm(s);
    for (int i = 0; i < 5; i++)
        MUST(tnr_shape_new(&sizes[i], 1, &shapes[i], &err));
    MUST(tnr_vm_call(vm, "create_paged_kv_cache", shapes, 5, &cache, &err));
    for (int i = 0; i < atoi(argv[3]); i++)
        if (draw(3))
            step(draw(2) == 0);
        else if (draw(4))
            change();
        else
            read_back();
    refusals();
    for (int i = 0; i < 5; i++)
        tnr_release(&shapes[i]);
    tnr_release(&cache);
    tnr_session_close(s);
    return 0;
}
