/* SPDX-License-Identifier: Apache-2.0 */
/* A bar on a terminal, or the seconds that have passed where the amount of work is not known. */
#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Drawn from `FIRST` milliseconds on, then every `EACH`, or `TICK`; with an estimate after so many seconds. */
enum { FIRST = 400, EACH = 60, TICK = 250, BAR = 24, ESTIMATE = 2 };

struct tnb_progress {
    pthread_mutex_t lock;
    const char *what;
    uint64_t total, done;
    int64_t started, next; /* milliseconds */
    bool drawn;
    /* total 0: nobody steps, so that a thread draws */
    pthread_t thread;
    pthread_cond_t ended;
    bool waits, over;
};

static int64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *
draw_seconds(void *arg)
{
    tnb_progress *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        const int64_t at = p->next;
        struct timespec t = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000};
        if (pthread_cond_timedwait(&p->ended, &p->lock, &t) == 0 || p->over)
            continue;
        p->next = at + TICK;
        fprintf(stderr, "\r%s, %lld s\033[K", p->what, (long long)(now() - p->started) / 1000);
        fflush(stderr);
        p->drawn = true;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* False where no thread can be made: then nothing is drawn. It takes no signals: they are the program's. */
static bool
start_thread(tnb_progress *p)
{
    sigset_t all, was;
    pthread_condattr_t clock;
    if (pthread_condattr_init(&clock) != 0)
        return false;
    const bool made = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 &&
                      pthread_cond_init(&p->ended, &clock) == 0;
    pthread_condattr_destroy(&clock);
    if (!made)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    p->waits = pthread_create(&p->thread, NULL, draw_seconds, p) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (!p->waits)
        pthread_cond_destroy(&p->ended);
    return p->waits;
}

tnb_progress *
tnb_progress_start(const char *what, uint64_t total)
{
    const char *term = tnb_env("TERM");
    if (!isatty(2) || !term || strcmp(term, "dumb") == 0)
        return NULL;
    tnb_progress *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->what = what;
    p->total = total;
    p->started = now();
    p->next = p->started + FIRST;
    if (!total && !start_thread(p)) {
        pthread_mutex_destroy(&p->lock);
        free(p);
        return NULL;
    }
    return p;
}

static void
draw(tnb_progress *p, const char *item)
{
    char bar[BAR + 1];
    uint64_t done = p->done < p->total ? p->done : p->total;
    int full = (int)((double)done / (double)p->total * BAR);
    memset(bar, '#', (size_t)full);
    memset(bar + full, '.', (size_t)(BAR - full));
    bar[BAR] = 0;
    /* as long for each as those that are done took: told once there is something to go by */
    char left[48] = "";
    double spent = (double)(now() - p->started) / 1000;
    if (done && done < p->total && spent >= ESTIMATE)
        snprintf(left, sizeof left, ", about %.0f s left",
                 spent / (double)done * (double)(p->total - done) + 0.5);
    fprintf(stderr, "\r%s [%s] %llu/%llu%s %.40s\033[K", p->what, bar, (unsigned long long)done,
            (unsigned long long)p->total, left, item ? item : "");
    fflush(stderr);
    p->drawn = true;
}

void
tnb_progress_step(tnb_progress *p, uint64_t by, const char *item)
{
    if (!p || p->waits)
        return;
    pthread_mutex_lock(&p->lock);
    p->done += by;
    int64_t t = now();
    if (t >= p->next) {
        p->next = t + EACH;
        draw(p, item);
    }
    pthread_mutex_unlock(&p->lock);
}

void
tnb_progress_end(tnb_progress *p)
{
    if (!p)
        return;
    if (p->waits) {
        pthread_mutex_lock(&p->lock);
        p->over = true;
        pthread_cond_signal(&p->ended);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
        pthread_cond_destroy(&p->ended);
    }
    if (p->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}
