/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do, on N threads: multiply-adds a second in vectors of its own instruction set, and
 * bytes a second from and to memory. One JSON object on standard output.
 *
 *     cc -O2 -march=native -ffp-contract=fast -pthread machine.c -o machine
 *     machine THREADS [MEBIBYTES [SECONDS]]
 *
 * MEBIBYTES (default, and for 0: four times the last cache, 64 at least) is the size of each of three arrays, which are first
 * touched by the thread that uses them and lie in large pages, as Tenon's tensors do; SECONDS (default 1) is spent on each
 * figure, and the best round of the best loop counts: reading goes along one to eight streams, with and without asking ahead.
 * Threads stay on processors of their own. Figures of bandwidth count what the loop names, as STREAM does: `triad` is
 * two arrays read and one written. A cache that reads a line before it is written moves a third more; `triad_past` and
 * `copy_past` write past the caches, where the instruction set has such stores.
 */
#define _GNU_SOURCE
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR = 64 };
#elif defined(__AVX__)
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif
typedef float vec __attribute__((vector_size(VECTOR)));

enum { LANES = VECTOR / 4, MAX_THREADS = 1024, MIB = 1 << 20, HUGE = 2 << 20 };

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline vec
splat(float x)
{
    vec v = {0};
    return v + x;
}

/* Keeps a vector in a register, and the compiler from knowing what is in it. */
#if defined(__x86_64__) || defined(__i386__)
#define OPAQUE(v) __asm__ volatile("" : "+x"(v))
#elif defined(__aarch64__)
#define OPAQUE(v) __asm__ volatile("" : "+w"(v))
#else
#define OPAQUE(v) __asm__ volatile("" : "+m"(v))
#endif

/* ---- the loops: each is one thread's work on its part ---- */

typedef struct part {
    vec *a, *b, *c;
    size_t n;     /* vectors in each */
    double units; /* operations or bytes of one call */
    float sum;
} part;

/* Twelve sums that do not wait for each other: more than two units of latency five need, and with
 * the two factors as many as sixteen registers hold. */
static void
multiply_add(part *p)
{
    enum { TURNS = 100000, SUMS = 12 };
    vec x = splat(0.9999f), y = splat(1e-4f);
    vec s0 = y, s1 = y, s2 = y, s3 = y, s4 = y, s5 = y, s6 = y, s7 = y, s8 = y, s9 = y, s10 = y,
        s11 = y;
    OPAQUE(x);
    OPAQUE(y);
    OPAQUE(s0); /* equal sums would become one */
    OPAQUE(s1);
    OPAQUE(s2);
    OPAQUE(s3);
    OPAQUE(s4);
    OPAQUE(s5);
    OPAQUE(s6);
    OPAQUE(s7);
    OPAQUE(s8);
    OPAQUE(s9);
    OPAQUE(s10);
    OPAQUE(s11);
    for (int i = 0; i < TURNS; i++) {
        s0 = s0 * x + y;
        s1 = s1 * x + y;
        s2 = s2 * x + y;
        s3 = s3 * x + y;
        s4 = s4 * x + y;
        s5 = s5 * x + y;
        s6 = s6 * x + y;
        s7 = s7 * x + y;
        s8 = s8 * x + y;
        s9 = s9 * x + y;
        s10 = s10 * x + y;
        s11 = s11 * x + y;
    }
    vec s = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + ((s8 + s9) + (s10 + s11));
    for (int i = 0; i < LANES; i++)
        p->sum += s[i];
    p->units = 2.0 * TURNS * SUMS * LANES;
}

static inline void
add_up(part *p, const vec *s, int n)
{
    vec all = s[0];
    for (int k = 1; k < n; k++)
        all += s[k];
    for (int i = 0; i < LANES; i++)
        p->sum += all[i];
    p->units = (double)(p->n * VECTOR);
}

static void
read_all(part *p)
{
    vec s[8];
    for (int k = 0; k < 8; k++)
        s[k] = splat(0);
    for (size_t i = 0; i + 8 <= p->n; i += 8)
        for (int k = 0; k < 8; k++)
            s[k] += p->a[i + (size_t)k];
    add_up(p, s, 8);
}

/* Several streams side by side, each two lines at a time; `ahead` bytes in front of the load a line is asked for (0: none). One
 * stream alone does not keep as many lines on the way as a processor can wait for. */
static inline void
read_streams(part *p, size_t streams, size_t ahead)
{
    enum { STEP = 128 / VECTOR };
    vec s[8];
    size_t each = p->n / streams / STEP * STEP;
    for (int k = 0; k < 8; k++)
        s[k] = splat(0);
    for (size_t i = 0; i < each; i += STEP)
        for (size_t r = 0; r < streams; r++) {
            const vec *from = p->a + r * each + i;
            if (ahead) {
                __builtin_prefetch((const char *)from + ahead, 0, 3);
                __builtin_prefetch((const char *)from + ahead + 64, 0, 3);
            }
            for (size_t k = 0; k < STEP; k++)
                s[(r * STEP + k) % 8] += from[k];
        }
    add_up(p, s, 8);
    p->units = (double)(streams * each * VECTOR);
}

#define READ_STREAMS(name, streams, ahead) \
    static void name(part *p)              \
    {                                      \
        read_streams(p, streams, ahead);   \
    }
READ_STREAMS(read_ahead, 1, 1024)
READ_STREAMS(read_2, 2, 0)
READ_STREAMS(read_4, 4, 0)
READ_STREAMS(read_4_ahead, 4, 512)
READ_STREAMS(read_8, 8, 0)
READ_STREAMS(read_8_ahead, 8, 512)

static void
copy(part *p)
{
    vec *restrict to = p->a;
    const vec *restrict from = p->b;
    for (size_t i = 0; i < p->n; i++) {
        vec v = from[i];
        OPAQUE(v); /* or it becomes a call of memcpy */
        to[i] = v;
    }
    p->units = 2.0 * (double)(p->n * VECTOR);
}

static void
triad(part *p)
{
    vec *restrict to = p->a;
    const vec *restrict x = p->b, *restrict y = p->c;
    vec k = splat(3);
    for (size_t i = 0; i < p->n; i++)
        to[i] = x[i] + k * y[i];
    p->units = 3.0 * (double)(p->n * VECTOR);
}

#if defined(__AVX512F__)
#define STORE_PAST(p, v) _mm512_stream_ps((float *)(p), (__m512)(v))
#elif defined(__AVX__)
#define STORE_PAST(p, v) _mm256_stream_ps((float *)(p), (__m256)(v))
#endif
#ifdef STORE_PAST
static void
copy_past(part *p)
{
    for (size_t i = 0; i < p->n; i++)
        STORE_PAST(p->a + i, p->b[i]);
    _mm_sfence();
    p->units = 2.0 * (double)(p->n * VECTOR);
}

static void
triad_past(part *p)
{
    vec k = splat(3);
    for (size_t i = 0; i < p->n; i++)
        STORE_PAST(p->a + i, p->b[i] + k * p->c[i]);
    _mm_sfence();
    p->units = 3.0 * (double)(p->n * VECTOR);
}
#endif

/* ---- threads that begin together ---- */

typedef void (*loop)(part *);

typedef struct figure {
    const char *name;
    loop work;
} figure;

static const figure figures[] = {
    {"fma_flops", multiply_add},    {"copy_bytes", copy},
    {"triad_bytes", triad},         {"read_bytes", read_all},
    {"read_bytes", read_ahead},     {"read_bytes", read_2},
    {"read_bytes", read_4},         {"read_bytes", read_4_ahead},
    {"read_bytes", read_8},         {"read_bytes", read_8_ahead},
#ifdef STORE_PAST
    {"copy_past_bytes", copy_past}, {"triad_past_bytes", triad_past},
#endif
};
enum { N_FIGURES = sizeof figures / sizeof *figures };

static pthread_barrier_t gate;
static part parts[MAX_THREADS];
static int n_threads;
static size_t vectors; /* of one part of one array */
static double seconds = 1, best[N_FIGURES];
static volatile int more;
static volatile float sink;

static void
stay_on(int which)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    which %= CPU_COUNT(&all);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && which-- == 0)
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* How many loops measure the figure of this one: the best of them counts. */
static int
same_name(int f)
{
    int n = 0;
    for (int k = 0; k < N_FIGURES; k++)
        n += strcmp(figures[k].name, figures[f].name) == 0;
    return n;
}

/* The first thread measures; the best round is the one that took the least from the first thread's start to the
 * last one's end. */
static void *
thread(void *arg)
{
    int me = (int)(intptr_t)arg;
    part *p = &parts[me];
    stay_on(me);
    vec **arrays[] = {&p->a, &p->b, &p->c};
    for (int k = 0; k < 3; k++) {
        size_t bytes = vectors * VECTOR;
        if (posix_memalign((void **)arrays[k], HUGE, bytes) != 0) {
            fprintf(stderr, "machine: no memory for %zu bytes\n", bytes);
            exit(1);
        }
        (void)madvise(*arrays[k], bytes / HUGE * HUGE, MADV_HUGEPAGE); /* as tensors have them */
        for (size_t i = 0; i < vectors; i++)
            (*arrays[k])[i] = splat(0.5f);
    }
    p->n = vectors;
    for (int f = 0; f < N_FIGURES; f++) {
        double start = now(), before = 0;
        do {
            pthread_barrier_wait(&gate);
            if (me == 0)
                before = now();
            figures[f].work(p);
            pthread_barrier_wait(&gate);
            if (me == 0) {
                double t = now() - before, units = p->units * n_threads;
                best[f] = fmax(best[f], units / t);
                more = now() - start < seconds / same_name(f);
            }
            pthread_barrier_wait(&gate);
        } while (more);
    }
    sink = p->sum;
    for (int k = 0; k < 3; k++)
        free(*arrays[k]);
    return NULL;
}

/* The last cache that this processor sees: sysconf sums those of several groups of cores. */
static long
cache_bytes(void)
{
    long size = 0;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (f && fscanf(f, "%ldK", &size) == 1)
        size *= 1024;
    if (f)
        fclose(f);
    if (size <= 0)
        size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return size > 0 ? size : 8 * MIB;
}

int
main(int argc, char **argv)
{
    static pthread_t ids[MAX_THREADS];
    setlocale(LC_NUMERIC, "C"); /* numbers have points, whatever a preloaded library has set */
    long cache = cache_bytes(), mebibytes = 4 * cache / MIB;
    n_threads = argc > 1 ? atoi(argv[1]) : 1;
    if (mebibytes < 64)
        mebibytes = 64;
    if (argc > 2 && strcmp(argv[2], "0") != 0)
        mebibytes = atol(argv[2]);
    if (argc > 3)
        seconds = strtod(argv[3], NULL);
    if (n_threads < 1 || n_threads > MAX_THREADS || mebibytes < 1 || !(seconds > 0)) {
        fprintf(stderr, "usage: machine THREADS [MEBIBYTES [SECONDS]]\n");
        return 2;
    }
    vectors = (size_t)mebibytes * MIB / VECTOR / (size_t)n_threads;
    pthread_barrier_init(&gate, NULL, (unsigned)n_threads);
    for (int i = 0; i < n_threads; i++)
        if (pthread_create(&ids[i], NULL, thread, (void *)(intptr_t)i) != 0) {
            fprintf(stderr, "machine: cannot start %d threads\n", n_threads);
            return 1;
        }
    for (int i = 0; i < n_threads; i++)
        pthread_join(ids[i], NULL);
    printf(
        "{\"threads\": %d, \"vector_bytes\": %d, \"last_cache_bytes\": %ld, \"array_bytes\": %ld",
        n_threads, VECTOR, cache, mebibytes * MIB);
    for (int f = 0; f < N_FIGURES; f++) {
        double most = best[f];
        bool first = true;
        for (int k = 0; k < N_FIGURES; k++) {
            bool same = strcmp(figures[k].name, figures[f].name) == 0;
            most = same ? fmax(most, best[k]) : most;
            first &= !(same && k < f);
        }
        if (first)
            printf(", \"%s\": %.0f", figures[f].name, most);
    }
    puts("}");
    return 0;
}
