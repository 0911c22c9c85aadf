/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations on a paged cache beside a reference in double: sequences are added, forked, popped, removed and cleared, steps of mixed
 * lengths run a module of two layers, and every row is compared. Rows of the same text have to be equal in all bits, however it came
 * into the cache. kv.py writes the modules and calls this.
 *
 *     kv FILE.tno key=value ...     prints a digest of all rows, and how many operations of each kind ran
 *
 * With trees=1 some steps have tokens that stand in trees: rows are those of the text on their path, in all bits, and what is taken stays.
 * With shared=1 the module has further results, of queries that attend to keys of the two layers: the same rows.
 * With misuse=1 there are rounds of calls with wrong arguments and in the wrong state, in any order: what is refused says which function refuses
 * and changes nothing, and the cache works behind them.
 * With hostile=N a cache is made N times of arguments of which some are anything, and used: each call ends with a status.
 * With faults=1 an allocation in most operations fails: the operation says so, loses nothing, and works when it is tried again.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/rt/kv.h"
#include "tenon/rt/session.h"
#include "tests/failing_memory.h"

static struct {
    int64_t hq, hk, d, rotary, interleaved, window, layer_window, chunk, tokens, sequences, ops,
        seed, threads, faults, hostile, float32_pages, trees, shared, misuse;
    double theta, tolerance, window_theta, cap,
        slow; /* of layer 1; of scores; frequencies are divided by slow */
} o = {.hq = 4,
       .hk = 2,
       .d = 16,
       .rotary = 16,
       .chunk = 24,
       .tokens = 400,
       .sequences = 6,
       .ops = 400,
       .threads = 2,
       .float32_pages = 1,
       .theta = 10000,
       .slow = 1,
       .tolerance = 1e-4};

enum { LAYERS = 2, PAGE = 16 };
static const double layer_scale[LAYERS] = {1.0, -0.5};
static tnb_err err;
static tnr_vm *vm;
static tnr_value cache;
static uint64_t state;

#define MUST(x) ((x) == TNB_OK ? (void)0 : fail(__LINE__, #x))
#define CHECK(x) ((x) ? (void)0 : fail(__LINE__, #x))
static _Noreturn void
fail(int line, const char *what)
{
    fprintf(stderr, "kv.c:%d: %s\n%s %s\n", line, what, err.message, err.hint);
    exit(1);
}

static uint64_t
mix(uint64_t x)
{
    x ^= x >> 33, x *= 0xff51afd7ed558ccdULL, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ x >> 33;
}

static int64_t
draw(int64_t n)
{
    state += 0x9e3779b97f4a7c15ULL;
    return (int64_t)(mix(state) % (uint64_t)n);
}

/* ---- failing allocations ---- */
static __thread bool counting;
static long allocation, fail_at;
static int64_t n_faults;

static bool
memory_fails(void)
{
    return counting && ++allocation == fail_at;
}

static tnr_kv_info
info(void)
{
    tnr_kv_info i = {.size = sizeof i};
    MUST(tnr_kv_describe(cache, &i, &err));
    return i;
}

static void
arm(void)
{
    allocation = 0;
    fail_at = o.faults ? 1 + (long)draw(12) : 0;
    err = (tnb_err){0};
    counting = true;
}

/* The status of the call; one that failed for the allocation is made again. */
#define FAULTY(st, call)                                                             \
    do {                                                                             \
        tnr_kv_info was = info();                                                    \
        arm();                                                                       \
        st = (call);                                                                 \
        counting = false;                                                            \
        if (st == TNB_NO_MEMORY) {                                                   \
            tnr_kv_info is = info();                                                 \
            n_faults++;                                                              \
            CHECK(fail_at &&err.message[0]);                                         \
            CHECK(was.n_tokens == is.n_tokens && was.n_sequences == is.n_sequences); \
            st = (call);                                                             \
        }                                                                            \
    } while (0)

/* ---- texts: a token's key stands for it and all before it ---- */
typedef struct text {
    int64_t id, n, window, sink;
    uint64_t *keys;
} text;
static text texts[64];
static int64_t n_texts, next_id, counts[8], n_trees, n_refused, n_taken;

static float
element(uint64_t key, int64_t i)
{
    return (float)(((double)(mix(key + (uint64_t)i * 77) >> 40) / (1 << 24) - 0.5) * 3);
}

static void
row_of(uint64_t key, float *to)
{
    for (int64_t i = 0; i < (o.hq + 2 * o.hk) * o.d; i++)
        to[i] = element(key, i);
}

/* ---- what was computed for a key ---- */
typedef struct seen {
    uint64_t key;
    float *out;
} seen;
static seen *table;
static uint64_t n_table = 1 << 16, n_seen;

static float *
recorded(uint64_t key, bool *new)
{
    uint64_t i = mix(key) % n_table;
    while (table[i].out && table[i].key != key)
        i = (i + 1) % n_table;
    *new = !table[i].out;
    if (*new) {
        CHECK(++n_seen < n_table / 2);
        table[i].key = key;
        table[i].out = malloc((size_t)(LAYERS * o.hq * o.d) * sizeof(float));
        CHECK(table[i].out);
    }
    return table[i].out;
}

/* ---- the reference ---- */
static void
rotate(const float *x, int layer, int64_t position, double scale, double *y)
{
    int64_t half = o.rotary / 2;
    const bool own = layer && o.window_theta > 0;
    const double theta = own ? o.window_theta : o.theta, slow = own ? 1 : o.slow;
    for (int64_t i = 0; i < o.d; i++)
        y[i] = (double)x[i] * scale;
    for (int64_t i = 0; i < half; i++) {
        double angle = (double)position / pow(theta, 2.0 * (double)i / (double)o.rotary) / slow,
               c = cos(angle), s = sin(angle);
        int64_t a = o.interleaved ? 2 * i : i, b = o.interleaved ? 2 * i + 1 : i + half;
        y[a] = scale * ((double)x[a] * c - (double)x[b] * s);
        y[b] = scale * ((double)x[b] * c + (double)x[a] * s);
    }
}

static bool
visible(const text *t, int layer, int64_t p, int64_t j)
{
    int64_t w = t->window, sink = t->sink;
    if (layer == 1 && o.layer_window && (!w || o.layer_window <= w))
        w = o.layer_window, sink = 0;
    return j <= p && (!w || j < sink || j > p - w);
}

static void
check_row(const text *t, int64_t p, int layer, const float *got)
{
    int64_t width = (o.hq + 2 * o.hk) * o.d;
    float *row = malloc((size_t)width * sizeof *row);
    double *q = malloc((size_t)o.d * sizeof *q), *k = malloc((size_t)o.d * sizeof *k),
           *sum = malloc((size_t)o.d * sizeof *sum);
    double scale = layer_scale[layer];
    for (int64_t h = 0; h < o.hq; h++) {
        int64_t g = h / (o.hq / o.hk);
        double top = -1e300, total = 0;
        row_of(t->keys[p], row);
        rotate(row + h * o.d, layer, p, scale, q);
        memset(sum, 0, (size_t)o.d * sizeof *sum);
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j <= p; j++) {
                if (!visible(t, layer, p, j))
                    continue;
                row_of(t->keys[j], row);
                rotate(row + (o.hq + g) * o.d, layer, j, scale, k);
                double s = 0;
                for (int64_t i = 0; i < o.d; i++)
                    s += q[i] * k[i];
                s *= 0.37;
                s = o.cap > 0 ? o.cap * tanh(s / o.cap) : s;
                if (pass == 0) {
                    top = s > top ? s : top;
                    continue;
                }
                total += exp(s - top);
                for (int64_t i = 0; i < o.d; i++)
                    sum[i] += exp(s - top) * scale * (double)row[(o.hq + o.hk + g) * o.d + i];
            }
        for (int64_t i = 0; i < o.d; i++)
            if (!(fabs(sum[i] / total - (double)got[h * o.d + i]) <= o.tolerance)) {
                fprintf(stderr,
                        "position %lld of %lld, layer %d, head %lld, element %lld: %.8g, expected "
                        "%.8g\n",
                        (long long)p, (long long)t->n, layer, (long long)h, (long long)i,
                        (double)got[h * o.d + i], sum[i] / total);
                exit(1);
            }
    }
    free(row), free(q), free(k), free(sum);
}

/* ---- operations ---- */
static void
packed(const char *name, const tnr_value *args, int n)
{
    tnr_value ret = tnr_null();
    const tnr_packed *p = tnr_find_packed(tnr_vm_runtime(vm), name, &err);
    CHECK(p && n >= p->min_args && (p->max_args < 0 || n <= p->max_args));
    MUST(p->call(vm, args, n, &ret, &err));
    tnr_release(&ret);
}

static text *
add(void)
{
    text *t = &texts[n_texts++];
    *t = (text){.id = next_id++};
    tnr_value args[2] = {cache, tnr_int(t->id)};
    packed("vm.builtin.kv_state_add_sequence", args, 2);
    if (o.window && draw(3)) {
        t->window = 5 + draw(40);
        t->sink = draw(2) ? draw(t->window) : 0;
        MUST(tnr_kv_set_window(vm, cache, t->id, t->window, t->sink, &err));
    }
    counts[0]++;
    return t;
}

static void
drop(text *t)
{
    tnr_value args[2] = {cache, tnr_int(t->id)};
    packed("vm.builtin.kv_state_remove_sequence", args, 2);
    free(t->keys);
    *t = texts[--n_texts];
    counts[1]++;
}

static void
fork_text(const text *parent)
{
    int64_t at = draw(3) ? draw(parent->n + 1) : -1, n = at < 0 ? parent->n : at;
    text t = *parent;
    t.id = next_id++;
    t.n = n;
    tnb_status st;
    FAULTY(st, tnr_kv_fork_sequence(vm, cache, parent->id, t.id, at, &err));
    if (st == TNB_UNSUPPORTED && parent->window)
        return;
    MUST(st);
    t.keys = malloc(((size_t)n + 1) * sizeof *t.keys);
    memcpy(t.keys, parent->keys, (size_t)n * sizeof *t.keys);
    texts[n_texts++] = t;
    counts[2]++;
}

static void
pop(text *t)
{
    int64_t n = draw(t->n + 1);
    if (n > 20 && draw(2))
        n = draw(20);
    tnb_status st = tnr_kv_popn(vm, cache, t->id, n, &err);
    if (st == TNB_UNSUPPORTED && t->window)
        return;
    MUST(st);
    t->n -= n;
    counts[3]++;
}

static void
clear(void)
{
    MUST(tnr_kv_clear(vm, cache, &err));
    while (n_texts)
        free(texts[--n_texts].keys);
    CHECK(info().free_pages == info().n_pages);
    counts[4]++;
}

/* Results of queries that attend to the layers' keys have to be the layers' own. */
static void
check_shared(tnr_value out, int64_t rows)
{
    size_t bytes = (size_t)(rows * o.hq * o.d) * sizeof(float);
    float *one = malloc(bytes), *other = malloc(bytes);
    CHECK(out.tag == TNR_TUPLE && out.u.tuple->n == LAYERS * (1 + (o.shared != 0)));
    for (uint32_t i = 0; o.shared && i < LAYERS; i++) {
        MUST(tnr_tensor_read(out.u.tuple->items[i].u.tensor, one, bytes, &err));
        MUST(tnr_tensor_read(out.u.tuple->items[LAYERS + i].u.tensor, other, bytes, &err));
        CHECK(!memcmp(one, other, bytes));
    }
    free(one), free(other);
}

static void
refused(tnb_status st, const char *words)
{
    if (st == TNB_OK || !strstr(err.message, words))
        fprintf(stderr, "expected '%s'\n", words), fail(__LINE__, "a call is refused");
}

static void
step(bool decode)
{
    int64_t ids[64], lengths[64], rows = 0, width = (o.hq + 2 * o.hk) * o.d;
    text *of[64];
    uint32_t n = 0;
    for (int64_t i = 0, start = draw(n_texts); i < n_texts; i++) {
        text *t = &texts[(start + i) % n_texts];
        int64_t most = o.chunk - rows;
        if (most < 1 || (n && !draw(3)))
            continue;
        lengths[n] = decode ? 1 : 1 + draw(draw(2) ? most : most < 4 ? most : 4);
        ids[n] = t->id;
        rows += lengths[n];
        of[n++] = t;
    }
    tnr_kv_info before = info();
    tnb_status st;
    FAULTY(st, tnr_kv_begin_forward(vm, cache, ids, lengths, n, &err));
    if (st == TNB_BOUNDS) { /* full: nothing changed */
        tnr_kv_info after = info();
        CHECK(!memcmp(&before, &after, sizeof before) && strstr(err.message, "full"));
        counts[6]++;
        drop(&texts[draw(n_texts)]);
        return;
    }
    MUST(st);
    float *in = malloc((size_t)(rows * width) * sizeof *in), *at = in;
    for (uint32_t i = 0; i < n; i++) {
        text *t = of[i];
        t->keys = realloc(t->keys, (size_t)(t->n + lengths[i]) * sizeof *t->keys);
        for (int64_t r = 0; r < lengths[i]; r++, at += width) {
            int64_t p = t->n + r;
            uint64_t root = mix((uint64_t)(t->window * 1000 + t->sink));
            t->keys[p] = mix((p ? t->keys[p - 1] : root) + 1 + (uint64_t)!draw(12));
            row_of(t->keys[p], at);
        }
    }
    int64_t shape[3] = {rows, o.hq + 2 * o.hk, o.d};
    tnr_value args[2] = {tnr_null(), cache}, out = tnr_null();
    MUST(tnr_tensor_from(tnr_device_host(tnr_vm_runtime(vm)), in, shape, 3, TNB_F32, &args[0],
                         &err));
    if (o.shared)
        refused(tnr_vm_call(vm, "early", args, 2, &out, &err), "layer 1 has not run in this step");
    FAULTY(st, tnr_vm_call(vm, "attend", args, 2, &out, &err));
    MUST(st);
    check_shared(out, rows);
    bool keep = draw(10) != 0;
    if (keep)
        MUST(tnr_kv_end_forward(vm, cache, &err));
    else
        MUST(tnr_kv_cancel_forward(vm, cache, &err));
    float *got = malloc((size_t)(rows * o.hq * o.d) * sizeof *got);
    for (int layer = 0; layer < LAYERS; layer++) {
        int64_t row = 0;
        MUST(tnr_tensor_read(out.u.tuple->items[layer].u.tensor, got,
                             (uint64_t)(rows * o.hq * o.d) * sizeof *got, &err));
        for (uint32_t i = 0; i < n; i++)
            for (int64_t r = 0; r < lengths[i]; r++, row++) {
                bool new;
                int64_t size = o.hq * o.d;
                float *known = recorded(of[i]->keys[of[i]->n + r] + (uint64_t)layer * 31, &new);
                if (new) {
                    memcpy(known, got + row * size, (size_t)size * sizeof *known);
                    check_row(of[i], of[i]->n + r, layer, got + row * size);
                } else if (memcmp(known, got + row * size, (size_t)size * sizeof *known) != 0) {
                    fprintf(stderr,
                            "position %lld, layer %d: other bits than before for the same text\n",
                            (long long)(of[i]->n + r), layer);
                    exit(1);
                } else {
                    counts[7]++;
                }
            }
    }
    for (uint32_t i = 0; keep && i < n; i++)
        of[i]->n += lengths[i];
    free(in), free(got);
    tnr_release(&args[0]);
    tnr_release(&out);
    counts[5]++;
}

/* ---- trees ---- */
enum { NODES = 12 };
struct node_tree {
    text *of;
    int64_t n, parents[NODES];
    uint64_t keys[NODES];
};

/* The text up to a node, in `path`. */
static void
text_to(const struct node_tree *t, int64_t node, text *path)
{
    int64_t nodes[NODES], n = 0;
    for (int64_t i = node; i >= 0; i = t->parents[i])
        nodes[n++] = i;
    *path = *t->of;
    path->keys = malloc((size_t)(t->of->n + n) * sizeof *path->keys);
    if (t->of->n)
        memcpy(path->keys, t->of->keys, (size_t)t->of->n * sizeof *path->keys);
    while (n > 0)
        path->keys[path->n++] = t->keys[nodes[--n]];
}

static void
check_node(const struct node_tree *t, int64_t node, int layer, const float *got)
{
    text path;
    bool new;
    text_to(t, node, &path);
    float *known = recorded(t->keys[node] + (uint64_t)layer * 31, &new);
    size_t bytes = (size_t)(o.hq * o.d) * sizeof *known;
    if (new) {
        memcpy(known, got, bytes);
        check_row(&path, path.n - 1, layer, got);
    } else {
        CHECK(!memcmp(known, got, bytes));
        counts[7]++;
    }
    free(path.keys);
}

/* A step that adds nodes to the trees; false: the cache is full. */
static bool
grow(struct node_tree *trees, uint32_t n, bool chain)
{
    int64_t ids[8], lengths[8], parents[8 * NODES], rows = 0, before[8];
    int64_t width = (o.hq + 2 * o.hk) * o.d;
    for (uint32_t i = 0; i < n; i++) {
        struct node_tree *t = &trees[i];
        ids[i] = t->of->id;
        before[i] = t->n;
        lengths[i] = 1 + draw(NODES / 3);
        for (int64_t r = 0; r < lengths[i]; r++, t->n++) {
            int64_t parent = chain ? t->n - 1 : draw(t->n + 1) - 1;
            uint64_t root = mix((uint64_t)(t->of->window * 1000 + t->of->sink));
            uint64_t from = parent >= 0 ? t->keys[parent]
                            : t->of->n  ? t->of->keys[t->of->n - 1]
                                        : root;
            t->parents[t->n] = parents[rows++] = parent;
            t->keys[t->n] = mix(from + 1 + (uint64_t)draw(3));
        }
    }
    tnb_status st;
    FAULTY(st, tnr_kv_begin_tree(vm, cache, ids, lengths, n, parents, (uint32_t)rows, &err));
    if (st != TNB_BOUNDS)
        MUST(st);
    bool keep = st == TNB_OK && draw(6);
    if (st == TNB_OK) {
        float *in = malloc((size_t)(rows * width) * sizeof *in), *at = in;
        for (uint32_t i = 0; i < n; i++)
            for (int64_t r = before[i]; r < trees[i].n; r++, at += width)
                row_of(trees[i].keys[r], at);
        int64_t shape[3] = {rows, o.hq + 2 * o.hk, o.d};
        tnr_value args[2] = {tnr_null(), cache}, out = tnr_null();
        MUST(tnr_tensor_from(tnr_device_host(tnr_vm_runtime(vm)), in, shape, 3, TNB_F32, &args[0],
                             &err));
        FAULTY(st, tnr_vm_call(vm, "attend", args, 2, &out, &err));
        MUST(st);
        check_shared(out, rows);
        MUST(keep ? tnr_kv_end_forward(vm, cache, &err) : tnr_kv_cancel_forward(vm, cache, &err));
        float *got = malloc((size_t)(rows * o.hq * o.d) * sizeof *got);
        for (int layer = 0; layer < LAYERS; layer++) {
            const float *row = got;
            MUST(tnr_tensor_read(out.u.tuple->items[layer].u.tensor, got,
                                 (uint64_t)(rows * o.hq * o.d) * sizeof *got, &err));
            for (uint32_t i = 0; i < n; i++)
                for (int64_t r = before[i]; r < trees[i].n; r++, row += o.hq * o.d)
                    check_node(&trees[i], r, layer, row);
        }
        free(in), free(got);
        tnr_release(&args[0]);
        tnr_release(&out);
    }
    for (uint32_t i = 0; i < n && !keep; i++)
        trees[i].n = before[i];
    return st == TNB_OK;
}

/* What no tree takes, where some token waits. */
static void
refuse_trees(const struct node_tree *t)
{
    const int64_t id = t->of->id, one = 1, two = 2, later = t->n, far[2] = {-1, t->n + 1},
                  none = -2, twice[2] = {id, id}, leaf = t->n, both[2] = {0, 0};
    refused(tnr_kv_begin_forward(vm, cache, &id, &one, 1, &err), "of which none was taken yet");
    if (n_texts < o.sequences)
        refused(tnr_kv_fork_sequence(vm, cache, id, next_id, -1, &err),
                "of which none was taken yet");
    refused(tnr_kv_begin_tree(vm, cache, &id, &one, 1, &later, 1, &err),
            "come before their children");
    refused(tnr_kv_begin_tree(vm, cache, &id, &two, 1, far, 2, &err), "come before their children");
    refused(tnr_kv_begin_tree(vm, cache, &id, &one, 1, &none, 1, &err), "the parent -2");
    refused(tnr_kv_begin_tree(vm, cache, &id, &two, 1, &one, 1, &err), "2 tokens with 1 parents");
    refused(tnr_kv_commit_tree(vm, cache, &id, &leaf, 1, &err), "leaf");
    refused(tnr_kv_commit_tree(vm, cache, &id, &none, 1, &err), "leaf -2");
    refused(tnr_kv_commit_tree(vm, cache, twice, both, 2, &err), "there twice");
    refused(tnr_kv_commit_tree(vm, cache, &next_id, &both[0], 1, &err), "no sequence");
}

/* Trees of some texts grow over several steps, a path of each is taken. */
static void
tree_round(void)
{
    struct node_tree trees[8] = {{0}};
    int64_t ids[8], leaves[8];
    uint32_t n = 0;
    bool chain = !draw(4);
    for (int64_t i = 0, start = draw(n_texts); i < n_texts && n < 4; i++)
        if (!n || draw(2))
            trees[n++].of = &texts[(start + i) % n_texts];
    for (int64_t rounds = 1 + draw(3); rounds > 0; rounds--)
        if (!grow(trees, n, chain))
            break;
    for (uint32_t i = 0; i < n; i++)
        if (trees[i].n)
            refuse_trees(&trees[i]);
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct node_tree *t = &trees[i];
        if (t->n && !draw(4)) { /* the last ones go */
            int64_t gone = 1 + draw(t->n);
            MUST(tnr_kv_popn(vm, cache, t->of->id, gone, &err));
            t->n -= gone;
        }
        if (!t->n) {
            refused(tnr_kv_commit_tree(vm, cache, &t->of->id, (int64_t[1]){-1}, 1, &err),
                    "no token");
            continue;
        }
        ids[m] = t->of->id;
        leaves[m++] = draw(t->n + 1) - 1;
    }
    if (!m)
        return;
    tnb_status st;
    arm();
    st = tnr_kv_commit_tree(vm, cache, ids, leaves, m, &err);
    counting = false;
    if (st == TNB_NO_MEMORY) { /* as it was, or none was taken */
        bool none = strstr(err.hint, "none of the waiting") != NULL;
        n_faults++;
        if (!none)
            MUST(tnr_kv_commit_tree(vm, cache, ids, leaves, m, &err));
        for (uint32_t i = 0; i < m && none; i++)
            leaves[i] = -1;
    } else {
        MUST(st);
    }
    m = 0;
    for (uint32_t i = 0; i < n; i++) {
        text path;
        if (!trees[i].n)
            continue;
        text_to(&trees[i], leaves[m++], &path);
        free(trees[i].of->keys);
        *trees[i].of = path;
    }
    n_trees++;
}

/* What the cache holds: keys are rotated, values as they came. */
static void
check_pages(const text *t)
{
    int64_t to = t->n, from = to ? draw(to) : 0, n = to - from;
    if (t->window || t->n == 0 || !o.float32_pages)
        return;
    int64_t shape[4] = {LAYERS, n, o.hk, o.d};
    tnr_value args[6] = {cache, tnr_int(t->id), tnr_int(from), tnr_int(to), tnr_null(), tnr_null()};
    MUST(tnr_tensor_new(tnr_vm_device(vm), shape, 4, TNB_F32, &args[4], &err));
    MUST(tnr_tensor_new(tnr_vm_device(vm), shape, 4, TNB_F32, &args[5], &err));
    packed("vm.builtin.attention_kv_cache_debug_get_kv", args, 6);
    size_t count = (size_t)(n * o.hk * o.d);
    float *v = malloc(LAYERS * count * sizeof *v),
          *row = malloc((size_t)((o.hq + 2 * o.hk) * o.d) * sizeof *row);
    MUST(tnr_tensor_read(args[5].u.tensor, v, LAYERS * count * sizeof *v, &err));
    for (int layer = 0; layer < LAYERS; layer++)
        for (int64_t p = 0; p < n; p++) {
            row_of(t->keys[from + p], row);
            for (int64_t i = 0; i < o.hk * o.d; i++)
                CHECK(fabs((double)row[(o.hq + o.hk) * o.d + i] * layer_scale[layer] -
                           (double)v[((layer * n + p) * o.hk) * o.d + i]) <
                      (o.tolerance > 1e-3 ? o.tolerance : 1e-6));
        }
    free(v), free(row);
    tnr_release(&args[4]);
    tnr_release(&args[5]);
}

static void
check_accounts(void)
{
    tnr_kv_info i = info();
    int64_t tokens = 0, length;
    for (int64_t t = 0; t < n_texts; t++) {
        MUST(tnr_kv_length(cache, texts[t].id, &length, &err));
        CHECK(length == texts[t].n);
        tokens += length;
    }
    CHECK(i.n_sequences == (uint32_t)n_texts && i.n_tokens == tokens && i.page_tokens == PAGE);
    CHECK(i.free_pages >= 0 && (o.window || (i.n_pages - i.free_pages) * PAGE <=
                                                tokens + PAGE * (int64_t)i.n_sequences * 2));
    if (!n_texts)
        CHECK(i.free_pages == i.n_pages);
}

/* Memory of the device `cpu` that nobody wrote to holds NaN. */
static void *
nan_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    return p ? memset(p, 0xff, bytes) : NULL;
}

static void
nan_free(void *user, void *p)
{
    (void)user;
    free(p);
}

static void
option(const char *arg)
{
    static const struct {
        const char *key;
        int64_t *to;
    } ints[] = {{"hq", &o.hq},
                {"hk", &o.hk},
                {"d", &o.d},
                {"rotary", &o.rotary},
                {"interleaved", &o.interleaved},
                {"window", &o.window},
                {"layer_window", &o.layer_window},
                {"chunk", &o.chunk},
                {"tokens", &o.tokens},
                {"sequences", &o.sequences},
                {"ops", &o.ops},
                {"seed", &o.seed},
                {"threads", &o.threads},
                {"faults", &o.faults},
                {"hostile", &o.hostile},
                {"float32_pages", &o.float32_pages},
                {"trees", &o.trees},
                {"shared", &o.shared},
                {"misuse", &o.misuse}};
    const char *is = strchr(arg, '=');
    for (size_t i = 0; is && i < sizeof ints / sizeof *ints; i++)
        if (!strncmp(arg, ints[i].key, (size_t)(is - arg)) && !ints[i].key[is - arg]) {
            *ints[i].to = atoll(is + 1);
            return;
        }
    static const struct {
        const char *key;
        double *to;
    } reals[] = {{"theta", &o.theta},
                 {"tolerance", &o.tolerance},
                 {"window_theta", &o.window_theta},
                 {"cap", &o.cap},
                 {"slow", &o.slow}};
    for (size_t i = 0; is && i < sizeof reals / sizeof *reals; i++)
        if (!strncmp(arg, reals[i].key, (size_t)(is - arg)) && !reals[i].key[is - arg]) {
            *reals[i].to = atof(is + 1);
            return;
        }
    fail(__LINE__, arg);
}

/* ---- arguments that are anything ---- */

static tnr_value
shape_value(int n)
{
    static const int64_t odd[] = {0, 1, 2, 3, 16, 64, -1, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN};
    int64_t dims[7];
    tnr_value v;
    for (int i = 0; i < n; i++)
        dims[i] = odd[draw(sizeof odd / sizeof *odd)];
    MUST(tnr_shape_new(dims, (uint32_t)n, &v, &err));
    return v;
}

/* A value of any kind, the caller's. */
static tnr_value
anything(int depth)
{
    tnr_value v = tnr_null(), items[3];
    int64_t dims[3] = {draw(5), draw(5), draw(5)}, n = draw(4);
    switch (draw(depth ? 8 : 9)) {
    case 0:
        return tnr_int(draw(2) ? draw(20) - 2 : INT64_MAX - draw(2));
    case 1:
        return tnr_float((double)draw(100) / 7 - 3);
    case 2:
        return shape_value((int)draw(7));
    case 3:
        MUST(tnr_string_new(draw(2) ? "tirx" : "flashinfer", 4, &v, &err));
        return v;
    case 4:
        if (tnr_closure_new(vm, (uint32_t)draw(12), NULL, 0, &v, NULL) != TNB_OK)
            v = tnr_null();
        return v;
    case 5:
        MUST(tnr_tensor_new(tnr_vm_device(vm), dims, (uint32_t)n % 4, draw(2) ? TNB_F32 : TNB_I32,
                            &v, &err));
        return v;
    case 6:
        v.tag = TNR_DTYPE;
        v.u.dtype = draw(2) ? TNB_F32 : TNB_I32;
        return v;
    case 7:
        return tnr_null();
    default:
        for (int i = 0; i < 3; i++)
            items[i] = anything(1);
        MUST(tnr_tuple_new(items, (uint32_t)n % 4, &v, &err));
        for (int i = 0; i < 3; i++)
            tnr_release(&items[i]);
        return v;
    }
}

static tnb_status
any_call(const char *name, tnr_value *args, int n, tnr_value *ret)
{
    const tnr_packed *p = tnr_find_packed(tnr_vm_runtime(vm), name, &err);
    *ret = tnr_null();
    err = (tnb_err){0};
    tnb_status st = p->call(vm, args, n, ret, &err);
    CHECK(st == TNB_OK || err.message[0]);
    return st;
}

static void
put(tnr_value *at, tnr_value v)
{
    tnr_release(at);
    *at = v;
}

#define COMMIT "vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes"
static void
hostile_one(int64_t *made, int64_t *ran)
{
    static const int64_t sizes[5] = {4, 100, 16, PAGE, 0}, layers[2] = {0, 2}, kinds[2] = {0, 0};
    tnr_value a[30] = {0}, c, none, ret, qkv, out;
    int64_t zero = 0, in[3] = {3, o.hq + 2 * o.hk, o.d}, to[3] = {3, o.hq, o.d};
    MUST(tnr_shape_new(sizes, 5, &a[0], &err));
    MUST(tnr_shape_new(layers, 2, &a[1], &err));
    MUST(tnr_shape_new(kinds, 2, &a[6], &err));
    const int64_t ints[] = {2, o.hq, 3, o.hk, 4, o.d, 5, o.d, 7, 0, 8, 1};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i += 2)
        a[ints[i]] = tnr_int(ints[i + 1]);
    a[9] = a[10] = tnr_float(1);
    MUST(tnr_tensor_new(tnr_vm_device(vm), &zero, 0, TNB_F32, &a[12], &err));
    for (int i = 13; i < 28; i++) /* any function of the module for any kernel */
        while (a[i].tag != TNR_CLOSURE)
            if (tnr_closure_new(vm, (uint32_t)draw(12), NULL, 0, &a[i], NULL) != TNB_OK)
                a[i] = tnr_null();
    int64_t rows[2] = {draw(2) ? 2 : draw(6), o.rotary / 2};
    MUST(tnr_tensor_new(tnr_vm_device(vm), rows, 2, TNB_F32, &a[11], &err));
    a[28].tag = TNR_DTYPE;
    a[28].u.dtype = TNB_F32;
    a[29] = tnr_int(draw(2) ? 1 : INT32_MAX);
    for (int64_t i = draw(3); i > 0; i--)
        put(&a[draw(30)], anything(0));
    if (!draw(4))
        put(&a[0], shape_value(5 + (int)draw(2)));
    if (any_call("vm.builtin.paged_attention_kv_cache_create", a, 28 + (int)draw(3), &c) ==
        TNB_OK) {
        ++*made;
        tnr_value s[5] = {c, tnr_int(0)}, t[5] = {c, tnr_int(draw(3)), tnr_float(0.5)};
        (void)any_call("vm.builtin.kv_state_add_sequence", s, 2, &ret);
        s[1] = tnr_int(0), s[2] = tnr_int(1);
        (void)any_call("vm.builtin.kv_state_fork_sequence", s, 3, &ret);
        MUST(tnr_shape_new((int64_t[1]){0}, 1, &s[1], &err));
        MUST(tnr_shape_new((int64_t[1]){draw(2) ? 3 : draw(20)}, 1, &s[2], &err));
        s[3] = draw(3) ? tnr_null() : shape_value((int)draw(4));
        (void)any_call("vm.builtin.kv_state_begin_forward", s, draw(2) ? 3 : 4, &ret);
        tnr_release(&s[3]);
        MUST(tnr_tensor_new(tnr_vm_device(vm), in, 3, TNB_F32, &qkv, &err));
        MUST(tnr_tensor_new(tnr_vm_device(vm), to, 3, TNB_F32, &out, &err));
        t[3] = draw(4) ? qkv : c, t[4] = draw(4) ? out : qkv;
        *ran += any_call("vm.builtin.attention_kv_cache_attention_with_fused_qkv", t, 5, &ret) ==
                TNB_OK;
        tnr_release(&ret);
        (void)any_call("vm.builtin.kv_state_end_forward", s, 1, &ret);
        s[2].tag == TNR_SHAPE ? (void)any_call(COMMIT, s, 3, &ret) : (void)0;
        tnr_release(&s[1]), tnr_release(&s[2]), tnr_release(&qkv), tnr_release(&out);
        none = tnr_int(draw(5) - 1);
        tnr_value p[3] = {c, tnr_int(0), none};
        (void)any_call("vm.builtin.kv_state_popn", p, 3, &ret);
        (void)any_call("vm.builtin.kv_state_clear", p, 1, &ret);
    }
    tnr_release(&c);
    for (int i = 0; i < 30; i++)
        tnr_release(&a[i]);
}

static void
hostile(void)
{
    int64_t made = 0, ran = 0;
    for (int64_t i = 0; i < o.hostile; i++)
        hostile_one(&made, &ran);
    printf("%lld caches of %lld, %lld steps\n", (long long)made, (long long)o.hostile,
           (long long)ran);
}

/* ---- calls that should not be made ---- */

/* What a kind of argument is where it is right: the cache, a number, a shape, a scale, a tensor of rows, of results. */
static tnr_value
usual(char kind)
{
    const int64_t dims[3] = {1 + draw(4), kind == 'q' ? o.hq + 2 * o.hk : o.hq, o.d};
    const int64_t numbers[3] = {draw(6), draw(8), draw(40)};
    tnr_value v = cache;
    if (kind == 'c')
        tnr_retain(v);
    else if (kind == 'i')
        v = tnr_int(draw(7) - 1);
    else if (kind == 'f')
        v = tnr_float(0.5);
    else if (kind == 's' && !draw(4))
        v = shape_value((int)draw(4));
    else if (kind == 's')
        MUST(tnr_shape_new(numbers, draw(3) ? 1 : (uint32_t)draw(4), &v, &err));
    else
        MUST(tnr_tensor_new(tnr_vm_device(vm), dims, 3, TNB_F32, &v, &err));
    return v;
}

static void
misuse(void)
{
    static const struct {
        const char *prefix, *name, *kinds;
        int least;
    } calls[] = {{"vm.builtin.kv_state_", "add_sequence", "ci", 2},
                 {"vm.builtin.kv_state_", "add_sequence", "ci", 2},
                 {"vm.builtin.kv_state_", "remove_sequence", "ci", 2},
                 {"vm.builtin.kv_state_", "fork_sequence", "ciii", 3},
                 {"vm.builtin.kv_state_", "popn", "cii", 3},
                 {"vm.builtin.kv_state_", "begin_forward", "csss", 3},
                 {"vm.builtin.kv_state_", "end_forward", "c", 1},
                 {"vm.builtin.attention_kv_cache_", "enable_sliding_window_for_seq", "ciii", 4},
                 {"vm.builtin.attention_kv_cache_", "commit_accepted_token_tree_nodes", "css", 3},
                 {"vm.builtin.attention_kv_cache_", "get_query_positions", "c", 1},
                 {"vm.builtin.attention_kv_cache_", "attention_with_fused_qkv", "cifqt", 5},
                 {"vm.builtin.attention_kv_cache_", "attention_with_shared_kv", "cifttt", 7},
                 {"vm.builtin.attention_kv_cache_", "append_mla_kv", "cit", 3},
                 {"vm.builtin.attention_kv_cache_", "self_attention", "cifttttt", 8},
                 {"vm.builtin.attention_kv_cache_", "cross_attention", "cifttt", 6},
                 {"vm.builtin.attention_kv_cache_", "merge_attn_output_inplace", "ctttt", 5},
                 {"vm.builtin.attention_kv_cache_", "debug_get_kv", "ciiitt", 6},
                 {"vm.builtin.attention_kv_cache_", "debug_get_kv_mla", "ciiit", 5},
                 {"vm.builtin.rnn_state_", "get", "ciit", 4},
                 {"vm.builtin.rnn_state_", "set", "ciit", 4},
                 {"vm.builtin.rnn_state_", "debug_get", "ciii", 4}};
    clear();
    for (int64_t round = 100 + draw(200); round > 0; round--) {
        const int64_t i = draw(sizeof calls / sizeof *calls),
                      most = (int64_t)strlen(calls[i].kinds);
        const int64_t n =
            calls[i].least + draw(most < calls[i].least ? 1 : most - calls[i].least + 1);
        tnr_value args[8] = {0}, ret;
        char name[100];
        for (int64_t a = 0; a < n; a++)
            args[a] = usual(a < most ? calls[i].kinds[a] : 't');
        if (!draw(6))
            put(&args[draw(n)], anything(0));
        snprintf(name, sizeof name, "%s%s", calls[i].prefix, calls[i].name);
        const tnr_kv_info before = info();
        if (any_call(name, args, (int)n, &ret) == TNB_OK) {
            n_taken++;
        } else {
            const tnr_kv_info after = info();
            n_refused++;
            CHECK(!memcmp(&before, &after, sizeof before));
            if (!strstr(err.message, calls[i].name))
                fprintf(stderr, "%s is not named: ", name), fail(__LINE__, "a call is refused");
        }
        tnr_release(&ret);
        for (int64_t a = 0; a < n; a++)
            tnr_release(&args[a]);
    }
    clear();
}

int
main(int argc, char **argv)
{
    tnr_session *s;
    for (int i = 2; i < argc; i++)
        option(argv[i]);
    state = (uint64_t)o.seed * 1000003;
    table = calloc(n_table, sizeof *table);
    const tnr_allocator nan = {.alloc = nan_alloc, .free = nan_free};
    tnr_runtime_options rt = {.threads = (int)o.threads,
                              .allocator = &nan,
                              .memory_limit = 64 << 20};
    tnr_session_options opt = {.function = "attend", .options = &rt};
    MUST(tnr_session_open(argv[1], &opt, &s, &err));
    vm = tnr_session_vm(s);
    if (o.hostile) {
        hostile();
        free(table);
        tnr_session_close(s);
        return 0;
    }
    tnr_value sizes[5];
    int64_t dims[5] = {o.sequences, o.tokens, o.chunk, PAGE, o.window != 0};
    for (int i = 0; i < 5; i++)
        MUST(tnr_shape_new(&dims[i], 1, &sizes[i], &err));
    for (fail_at = 1; o.faults; fail_at++) { /* each allocation of making it */
        allocation = 0;
        counting = true;
        tnb_status st = tnr_vm_call(vm, "create_paged_kv_cache", sizes, 5, &cache, &err);
        counting = false;
        if (st == TNB_OK)
            break;
        CHECK(st == TNB_NO_MEMORY && err.message[0] && cache.tag == TNR_NULL);
    }
    if (!o.faults)
        MUST(tnr_vm_call(vm, "create_paged_kv_cache", sizes, 5, &cache, &err));
    for (int i = 0; i < 5; i++)
        tnr_release(&sizes[i]);
    for (int64_t i = 0; i < o.ops; i++) {
        int64_t what = draw(100);
        if (o.misuse && what < 3)
            misuse();
        else if (!n_texts || (what < 10 && n_texts < o.sequences))
            add();
        else if (what < 20 && n_texts < o.sequences)
            fork_text(&texts[draw(n_texts)]);
        else if (what < 30)
            pop(&texts[draw(n_texts)]);
        else if (what < 34)
            drop(&texts[draw(n_texts)]);
        else if (what < 35)
            clear();
        else if (what < 38)
            check_pages(&texts[draw(n_texts)]);
        else if (o.trees && what < 55)
            tree_round();
        else
            step(what < 70);
        check_accounts();
    }
    uint64_t digest = 0;
    for (uint64_t i = 0; i < n_table; i++)
        for (int64_t e = 0; table[i].out && e < o.hq * o.d; e++) {
            uint32_t bits;
            memcpy(&bits, &table[i].out[e], 4);
            digest ^= mix(table[i].key * 31 + (uint64_t)e * 1099511628211ULL + bits);
        }
    printf("%016llx added %lld removed %lld forked %lld popped %lld cleared %lld steps %lld full "
           "%lld again %lld rows %llu faults %lld trees %lld refused %lld taken %lld\n",
           (unsigned long long)digest, (long long)counts[0], (long long)counts[1],
           (long long)counts[2], (long long)counts[3], (long long)counts[4], (long long)counts[5],
           (long long)counts[6], (long long)counts[7], (unsigned long long)n_seen,
           (long long)n_faults, (long long)n_trees, (long long)n_refused, (long long)n_taken);
    while (n_texts)
        drop(&texts[0]);
    tnr_release(&cache);
    for (uint64_t i = 0; i < n_table; i++)
        free(table[i].out);
    free(table);
    tnr_session_close(s);
    return 0;
}
