/* SPDX-License-Identifier: Apache-2.0 */
/* The team of threads of a cpu device.
 *
 * A loop is shared out evenly, always in the same way: so a thread finds what it wrote in the loop before in its own cache, and
 * memory that it touched first on its own node. It claims its share in pieces, half of what is left at a time, and then half of
 * what others have left. The thread that asked claims as well, and waits only for pieces that others have claimed. So a worker
 * that gets no processor, on a machine with other work, delays nothing: a barrier that all threads have to reach, as an
 * OpenMP loop has, was measured to be ten times slower there. Workers that find nothing look again for a while,
 * giving their processor away to whoever wants it, and then sleep (bench/threads measures what both cost).
 *
 * ORDER: a share's ticket holds the number of the job (upper half) and how many of its units nobody has claimed (lower half).
 * The fields of a job are written only while that is 0 for all shares and all units of the job before are done, and used only
 * after a claim succeeded: then they belong to the job whose units were claimed.
 */
#include "config.h"

#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_WORKERS = 255,
    UNITS = 32,      /* of a thread's share, the least piece being one of them */
    LOOKS = 2000,    /* for work before a worker gives its processor away in between */
    AWAKE_US = 2000, /* for which a worker looks for work before it sleeps */
};

struct worker {
    cpu_team *team;
    pthread_t thread;
    int number; /* from 1: 0 is the thread that asks */
    sem_t called;
    _Atomic bool asleep;
};

/* What is left of one thread's share of the job. */
struct share {
    _Alignas(64) _Atomic uint64_t ticket;
};

struct cpu_team {
    pthread_mutex_t user; /* held by the thread that uses the team */
    _Atomic bool stop;
    int n; /* workers */
    struct worker workers[MAX_WORKERS];
    /* the job */
    _Alignas(64) _Atomic uint32_t number; /* that was published last */
    _Atomic(tnb_kernel_part) part;
    _Atomic(void *) args;
    _Atomic int64_t min, length;
    _Atomic uint32_t units;
    _Atomic int threads;
    _Alignas(64) _Atomic uint32_t done; /* units */
    struct share shares[MAX_WORKERS + 1];
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

/* Where the share of a thread begins. */
static uint32_t
first_unit(uint32_t units, int thread, int threads)
{
    return (uint32_t)((uint64_t)units * (uint64_t)thread / (uint64_t)threads);
}

/* min + n i / units, where n i may be beyond what 64 bits hold; i <= units. */
static int64_t
turn_of(int64_t min, int64_t n, int64_t i, uint32_t units)
{
    return min + n / units * i + n % units * i / units;
}

/* Claims and computes half of what is left of a share; false when nothing is, or this thread does not take part. */
static bool
one_piece(cpu_team *t, int share, int thread)
{
    uint64_t ticket = atomic_load_explicit(&t->shares[share].ticket, memory_order_acquire);
    uint32_t left = (uint32_t)ticket, claim = (left + 1) / 2;
    uint32_t units = atomic_load_explicit(&t->units, memory_order_relaxed);
    tnb_kernel_part part = atomic_load_explicit(&t->part, memory_order_relaxed);
    void *args = atomic_load_explicit(&t->args, memory_order_relaxed);
    int64_t min = atomic_load_explicit(&t->min, memory_order_relaxed);
    int64_t n = atomic_load_explicit(&t->length, memory_order_relaxed);
    int threads = atomic_load_explicit(&t->threads, memory_order_relaxed);
    if (left == 0 || thread >= threads)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&t->shares[share].ticket, &ticket, ticket - claim,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return true; /* somebody was faster: look again */
    int64_t i = (int64_t)first_unit(units, share + 1, threads) - left;
    part(args, turn_of(min, n, i, units), turn_of(min, n, i + claim, units), thread);
    atomic_fetch_add_explicit(&t->done, claim, memory_order_release);
    return true;
}

/* The thread's own share, then the others'; whether there was anything. */
static bool
all_pieces(cpu_team *t, int thread)
{
    int threads = atomic_load_explicit(&t->threads, memory_order_relaxed);
    bool any = false;
    for (int k = 0; k < threads && thread < threads; k++)
        while (one_piece(t, (thread + k) % threads, thread))
            any = true;
    return any;
}

/* Wakes a worker that sleeps or is about to. */
static void
wake(struct worker *w)
{
    if (atomic_load(&w->asleep) && atomic_exchange(&w->asleep, false))
        sem_post(&w->called);
}

/* Sleeps until there is work; false: the team ends. `asleep` is set before the last look and a job is published before it is
 * read, so that one of the two sees the other. */
static bool
sleep_until_work(struct worker *w, uint32_t seen)
{
    cpu_team *t = w->team;
    atomic_store(&w->asleep, true);
    bool stay = atomic_load(&t->stop) || atomic_load(&t->number) != seen;
    if (!stay || !atomic_exchange(&w->asleep, false))
        while (sem_wait(&w->called) != 0)
            ;
    return !atomic_load(&t->stop);
}

static void *
work(void *p)
{
    struct worker *w = p;
    cpu_team *t = w->team;
    uint32_t seen = 0; /* the number of the job that was looked at last; 0 is none */
    do {
        int64_t until = now_us() + AWAKE_US;
        for (uint32_t looks = 0;; looks++) {
            uint32_t number = atomic_load_explicit(&t->number, memory_order_acquire);
            if (number != seen) {
                seen = number;
                if (all_pieces(t, w->number)) {
                    looks = 0;
                    until = now_us() + AWAKE_US;
                }
                continue;
            }
            breathe();
            if (looks < LOOKS)
                continue;
            sched_yield();
            if (now_us() > until)
                break;
        }
    } while (sleep_until_work(w, seen));
    return NULL;
}

cpu_team *
cpu_team_new(void)
{
    void *memory;
    if (posix_memalign(&memory, 64, sizeof(cpu_team)) != 0)
        return NULL;
    cpu_team *t = memset(memory, 0, sizeof(cpu_team));
    pthread_mutex_init(&t->user, NULL);
    return t;
}

void
cpu_team_free(cpu_team *t)
{
    if (!t)
        return;
    atomic_store(&t->stop, true);
    for (int i = 0; i < t->n; i++)
        wake(&t->workers[i]);
    for (int i = 0; i < t->n; i++) {
        pthread_join(t->workers[i].thread, NULL);
        sem_destroy(&t->workers[i].called);
    }
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
        if (sem_init(&w->called, 0, 0) != 0)
            break;
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            sem_destroy(&w->called);
            break;
        }
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
    int64_t end; /* wraps as the kernels' own arithmetic does */
    if (n <= 0)
        return;
    if (__builtin_add_overflow(min, n, &end) || threads <= 1 || n == 1 ||
        pthread_mutex_trylock(&t->user) != 0) {
        part(args, min, end, 0);
        return;
    }
    if (t->n < threads - 1)
        grow(t, threads - 1);
    if (threads > t->n + 1) /* the system gave fewer */
        threads = t->n + 1;
    uint32_t units = n < (int64_t)threads * UNITS ? (uint32_t)n : (uint32_t)threads * UNITS;
    uint32_t job = atomic_load_explicit(&t->number, memory_order_relaxed) + 1;
    job += job == 0;
    atomic_store_explicit(&t->done, 0, memory_order_relaxed);
    atomic_store_explicit(&t->part, part, memory_order_relaxed);
    atomic_store_explicit(&t->args, args, memory_order_relaxed);
    atomic_store_explicit(&t->min, min, memory_order_relaxed);
    atomic_store_explicit(&t->length, n, memory_order_relaxed);
    atomic_store_explicit(&t->threads, threads, memory_order_relaxed);
    atomic_store_explicit(&t->units, units, memory_order_relaxed);
    for (int i = 0; i < threads; i++) {
        uint32_t share = first_unit(units, i + 1, threads) - first_unit(units, i, threads);
        atomic_store_explicit(&t->shares[i].ticket, (uint64_t)job << 32 | share,
                              memory_order_release);
    }
    atomic_store(&t->number, job);
    for (int i = 0; i < threads - 1; i++)
        wake(&t->workers[i]);
    all_pieces(t, 0);
    for (uint32_t looks = 0; atomic_load_explicit(&t->done, memory_order_acquire) < units; looks++)
        if (looks < LOOKS)
            breathe();
        else
            sched_yield();
    pthread_mutex_unlock(&t->user);
}
