/* SPDX-License-Identifier: Apache-2.0 */
/* What the team of the cpu device costs, and from how much work on a second thread pays.
 *
 *     threads [THREADS [SECONDS]]        THREADS: of the team (default 2); SECONDS: of each figure (default 0.05)
 *
 * First the time from a call to its return with nothing to do, for a team that is awake and for one that sleeps. Then, for
 * loops of three kinds and growing length, microseconds on one thread, on the team awake, and on the team after it slept.
 * The work from which the team awake is at least a tenth faster is what plugins/tir/c_cost.c knows as C_TEAM_NS.
 */
#include "team.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 19, TURN = 64 /* elements of one turn */ };

static float *to, *from;
static double seconds = 0.05;

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
nothing(void *p, int64_t a, int64_t b, int32_t thread)
{
    (void)p, (void)a, (void)b, (void)thread;
}

/* Memory: one element read, one written. */
static void
add(void *p, int64_t a, int64_t b, int32_t thread)
{
    float *restrict x = to;
    const float *restrict y = from;
    (void)p, (void)thread;
    for (int64_t i = a * TURN; i < b * TURN; i++)
        x[i] = y[i] + 1.0f;
}

/* Sixteen multiply-adds an element, without memory to speak of. */
static void
multiply_add(void *p, int64_t a, int64_t b, int32_t thread)
{
    (void)p, (void)thread;
    for (int64_t i = a * TURN; i < b * TURN; i += 32) {
        float s[32];
        for (int k = 0; k < 32; k++)
            s[k] = from[i + k];
        for (int n = 0; n < 16; n++)
            for (int k = 0; k < 32; k++)
                s[k] = s[k] * 0.999f + 0.001f;
        for (int k = 0; k < 32; k++)
            to[i + k] = s[k];
    }
}

/* A division and twelve multiply-adds an element: what exp, tanh and erf are made of. */
static void
function(void *p, int64_t a, int64_t b, int32_t thread)
{
    float *restrict x = to;
    const float *restrict y = from;
    (void)p, (void)thread;
    for (int64_t i = a * TURN; i < b * TURN; i++) {
        float v = y[i], q = v * v, r = q;
        for (int n = 0; n < 12; n++)
            r = r * q + 0.125f;
        x[i] = v / (1.0f + r);
    }
}

/* The least microseconds of a call; `rest`: of sleep before each. */
static double
measure(cpu_team *t, int threads, tnb_kernel_part part, int64_t turns, useconds_t rest)
{
    double best = 1e9, until = now() + seconds;
    do {
        int calls = rest ? 1 : 16;
        if (rest)
            usleep(rest);
        double start = now();
        for (int i = 0; i < calls; i++)
            cpu_team_run(t, threads, part, NULL, 0, turns);
        best = fmin(best, (now() - start) / calls);
    } while (now() < until);
    return 1e6 * best;
}

static void
table(cpu_team *t, int threads, const char *name, tnb_kernel_part part)
{
    enum { ASLEEP_US = 10000 };
    double pays = 0;
    printf("\n%-14s %10s %12s %12s %9s %12s\n", name, "elements", "1 thread us", "team us",
           "faster", "asleep us");
    for (int64_t turns = 4; turns <= MOST / TURN; turns *= 2) {
        double one = measure(t, 1, part, turns, 0), all = measure(t, threads, part, turns, 0);
        double woken = measure(t, threads, part, turns, ASLEEP_US);
        printf("%-14s %10lld %12.2f %12.2f %9.2f %12.2f\n", "", (long long)turns * TURN, one, all,
               one / all, woken);
        if (one / all < 1.1)
            pays = 0;
        else if (pays == 0)
            pays = one;
    }
    if (pays > 0)
        printf("%-14s the team pays from %.1f us of one thread's work on\n", name, pays);
    else
        printf("%-14s the team does not pay\n", name);
}

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    seconds = argc > 2 ? strtod(argv[2], NULL) : seconds;
    cpu_team *t = cpu_team_new();
    to = calloc(MOST, sizeof *to);
    from = calloc(MOST, sizeof *from);
    if (threads < 2 || !(seconds > 0) || !t || !to || !from) {
        fprintf(stderr, "usage: threads [THREADS [SECONDS]]\n");
        return 2;
    }
    printf("%d threads of a team, %ld processors\n", threads, sysconf(_SC_NPROCESSORS_ONLN));
    printf("a call without work: %.2f us alone, %.2f us with the team awake, %.2f us asleep\n",
           measure(t, 1, nothing, 64, 0), measure(t, threads, nothing, 64, 0),
           measure(t, threads, nothing, 64, 10000));
    table(t, threads, "add", add);
    table(t, threads, "multiply-add", multiply_add);
    table(t, threads, "function", function);
    cpu_team_free(t);
    free(to);
    free(from);
    return 0;
}
