/* SPDX-License-Identifier: Apache-2.0 */
/* The team of threads of a cpu device.
 *
 * A loop is cut into pieces, which threads claim one by one; the thread that asked claims as well,
 * and waits only for pieces that others have claimed. So a worker that gets no processor, on a
 * machine with other work, delays nothing: a barrier that all threads have to reach, as an OpenMP
 * loop has, was measured to be ten times slower there. Workers that find nothing look again for a
 * while, giving their processor away to whoever wants it, and then sleep.
 *
 * ORDER: `ticket` holds the number of the job (upper half) and how many of its pieces nobody has
 * claimed (lower half). The fields of a job are written only while that is 0 and all pieces of the
 * job before are done, and used only after a claim succeeded: then they belong to the job whose
 * piece was claimed.
 */
#include "config.h"

#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum {
    MAX_WORKERS = 255,
    PIECES = 4,      /* a thread */
    LOOKS = 2000,    /* for work before a worker gives its processor away in between */
    AWAKE_US = 2000, /* for which a worker looks for work before it sleeps */
};

struct worker {
    cpu_team *team;
    pthread_t thread;
    int number; /* from 1: 0 is the thread that asks */
};

struct cpu_team {
    pthread_mutex_t user; /* held by the thread that uses the team */
    pthread_mutex_t lock; /* of `stop` and the condition */
    pthread_cond_t wake;
    bool stop;
    int n; /* workers */
    struct worker workers[MAX_WORKERS];
    _Atomic int sleepers;
    /* the job */
    _Atomic uint64_t ticket;
    _Atomic uint32_t done;
    _Atomic(tnb_kernel_part) part;
    _Atomic(void *) args;
    _Atomic int64_t min, length;
    _Atomic uint32_t pieces;
    _Atomic int threads;
};

static inline void
breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t
now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Claims and computes one piece; false when there is none for this thread. */
static bool
one_piece(cpu_team *t, int thread)
{
    uint64_t ticket = atomic_load_explicit(&t->ticket, memory_order_acquire);
    uint32_t left = (uint32_t)ticket;
    uint32_t pieces = atomic_load_explicit(&t->pieces, memory_order_relaxed);
    tnb_kernel_part part = atomic_load_explicit(&t->part, memory_order_relaxed);
    void *args = atomic_load_explicit(&t->args, memory_order_relaxed);
    int64_t min = atomic_load_explicit(&t->min, memory_order_relaxed);
    int64_t n = atomic_load_explicit(&t->length, memory_order_relaxed);
    int threads = atomic_load_explicit(&t->threads, memory_order_relaxed);
    if (left == 0 || thread >= threads)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&t->ticket, &ticket, ticket - 1,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return true; /* somebody was faster: look again */
    int64_t i = (int64_t)pieces - left;
    part(args, min + n * i / pieces, min + n * (i + 1) / pieces, thread);
    atomic_fetch_add_explicit(&t->done, 1, memory_order_release);
    return true;
}

static bool
work_to_do(cpu_team *t, int thread)
{
    return (uint32_t)atomic_load(&t->ticket) > 0 &&
           thread < atomic_load_explicit(&t->threads, memory_order_relaxed);
}

/* Sleeps until there is work; false: the team ends. `sleepers` is counted before the last look and
 * a job is published before they are counted, so that one of the two sees the other. */
static bool
sleep_until_work(cpu_team *t, int thread)
{
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (!t->stop && !work_to_do(t, thread))
        pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    bool go_on = !t->stop;
    pthread_mutex_unlock(&t->lock);
    return go_on;
}

static void *
work(void *p)
{
    struct worker *w = p;
    cpu_team *t = w->team;
    do {
        int64_t until = now_us() + AWAKE_US;
        for (uint32_t looks = 0;; looks++) {
            if (one_piece(t, w->number)) {
                looks = 0;
                until = now_us() + AWAKE_US;
                while (one_piece(t, w->number))
                    ;
            }
            breathe();
            if (looks < LOOKS)
                continue;
            sched_yield();
            if (now_us() > until)
                break;
        }
    } while (sleep_until_work(t, w->number));
    return NULL;
}

cpu_team *
cpu_team_new(void)
{
    cpu_team *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    pthread_mutex_init(&t->user, NULL);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    return t;
}

void
cpu_team_free(cpu_team *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->n; i++)
        pthread_join(t->workers[i].thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    pthread_mutex_destroy(&t->user);
    free(t);
}

/* As many workers as the system gives; they take no signals, which are the program's. */
static void
grow(cpu_team *t, int workers)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (t->n < workers && t->n < MAX_WORKERS) {
        struct worker *w = &t->workers[t->n];
        *w = (struct worker){.team = t, .number = t->n + 1};
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            break;
        t->n++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int
cpu_team_threads(const cpu_team *t)
{
    return t->n;
}

void
cpu_team_run(cpu_team *t, int threads, tnb_kernel_part part, void *args, int64_t min, int64_t n)
{
    if (n <= 0)
        return;
    if (threads <= 1 || n == 1 || pthread_mutex_trylock(&t->user) != 0) {
        part(args, min, min + n, 0);
        return;
    }
    if (t->n < threads - 1)
        grow(t, threads - 1);
    uint32_t pieces = n < (int64_t)threads * PIECES ? (uint32_t)n : (uint32_t)threads * PIECES;
    uint64_t job = (atomic_load_explicit(&t->ticket, memory_order_relaxed) >> 32) + 1;
    atomic_store_explicit(&t->done, 0, memory_order_relaxed);
    atomic_store_explicit(&t->part, part, memory_order_relaxed);
    atomic_store_explicit(&t->args, args, memory_order_relaxed);
    atomic_store_explicit(&t->min, min, memory_order_relaxed);
    atomic_store_explicit(&t->length, n, memory_order_relaxed);
    atomic_store_explicit(&t->threads, threads, memory_order_relaxed);
    atomic_store_explicit(&t->pieces, pieces, memory_order_relaxed);
    atomic_store(&t->ticket, job << 32 | pieces);
    if (atomic_load(&t->sleepers) > 0) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
    while (one_piece(t, 0))
        ;
    for (uint32_t looks = 0; atomic_load_explicit(&t->done, memory_order_acquire) < pieces; looks++)
        if (looks < LOOKS)
            breathe();
        else
            sched_yield();
    pthread_mutex_unlock(&t->user);
}
