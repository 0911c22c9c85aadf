/* SPDX-License-Identifier: Apache-2.0 */
/* The thread team of the cpu device: every turn of a loop is computed once, by threads with numbers
 * of their own, whatever the sizes, and when several threads of a program ask at the same time.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "backends/cpu/team.h"

enum { MOST = 5000, THREADS = 8 };

typedef struct loop {
    int64_t min;
    int threads;
    uint8_t times[MOST];
    _Atomic int busy[THREADS]; /* how many run under this number now */
    _Atomic int faults;
} loop;

static void
part(void *p, int64_t from, int64_t to, int32_t thread)
{
    loop *l = p;
    if (thread < 0 || thread >= l->threads || atomic_fetch_add(&l->busy[thread], 1) != 0)
        l->faults++;
    for (int64_t i = from; i < to; i++)
        l->times[i - l->min]++;
    if (thread >= 0 && thread < THREADS)
        l->busy[thread]--;
}

static int
run_loop(cpu_team *t, loop *l, int threads, int64_t min, int64_t n)
{
    memset(l, 0, sizeof *l);
    l->min = min;
    l->threads = threads;
    cpu_team_run(t, threads, part, l, min, n);
    int wrong = l->faults;
    for (int64_t i = 0; i < MOST; i++)
        wrong += l->times[i] != (i < n);
    return wrong;
}

static void
every_turn_runs_once(void **state)
{
    (void)state;
    cpu_team *t = cpu_team_new();
    loop *l = malloc(sizeof *l);
    assert_non_null(t);
    assert_non_null(l);
    for (int i = 0; i < 400; i++) {
        int threads = 1 + i % 5;
        int64_t n = i % 7 == 0 ? i % 3 : (i * 37) % MOST;
        if (run_loop(t, l, threads, i - 200, n) != 0)
            fail_msg("%d turns on %d threads", (int)n, threads);
        if (i % 100 == 50)
            usleep(10000); /* the workers fall asleep */
    }
    free(l);
    cpu_team_free(t);
}

typedef struct ends {
    int64_t min, to;
    _Atomic uint64_t turns;
    _Atomic int faults;
} ends;

static void
measure(void *p, int64_t from, int64_t to, int32_t thread)
{
    ends *e = p;
    (void)thread;
    if (from < e->min || to < from || to > e->to)
        e->faults++;
    e->turns += (uint64_t)to - (uint64_t)from;
}

static void
a_loop_may_be_as_long_as_its_variable_counts(void **state)
{
    (void)state;
    static const int64_t loops[][2] = {{0, INT64_MAX},
                                       {-5, (int64_t)1 << 62},
                                       {INT64_MIN, INT64_MAX},
                                       {((int64_t)1 << 62) + 1, ((int64_t)1 << 62) - 2}};
    cpu_team *t = cpu_team_new();
    assert_non_null(t);
    for (unsigned i = 0; i < sizeof loops / sizeof *loops; i++) {
        ends e = {.min = loops[i][0], .to = loops[i][0] + loops[i][1]};
        cpu_team_run(t, THREADS, measure, &e, loops[i][0], loops[i][1]);
        assert_int_equal(e.faults, 0);
        assert_true(e.turns == (uint64_t)loops[i][1]);
    }
    /* One whose end does not fit is one part, as on one thread. */
    ends e = {.min = INT64_MAX, .to = INT64_MIN};
    cpu_team_run(t, THREADS, measure, &e, 2, INT64_MAX);
    assert_int_equal(e.faults, 1);
    cpu_team_free(t);
}

static void *
user(void *p)
{
    loop *l = malloc(sizeof *l);
    intptr_t wrong = l == NULL;
    for (int i = 0; i < 200 && l; i++)
        wrong += run_loop(p, l, 3, 0, (i * 91) % MOST);
    free(l);
    return (void *)wrong;
}

static void
several_users_do_not_disturb_each_other(void **state)
{
    (void)state;
    cpu_team *t = cpu_team_new();
    pthread_t users[3];
    assert_non_null(t);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&users[i], NULL, user, t), 0);
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(users[i], &wrong);
        assert_null(wrong);
    }
    cpu_team_free(t);
}

static void
an_unused_team_has_no_threads(void **state)
{
    (void)state;
    loop *l = malloc(sizeof *l);
    cpu_team *t = cpu_team_new();
    assert_non_null(l);
    assert_int_equal(run_loop(t, l, 1, 0, MOST), 0);
    assert_int_equal(cpu_team_threads(t), 0);
    assert_int_equal(run_loop(t, l, 3, 0, MOST), 0);
    assert_int_equal(cpu_team_threads(t), 2);
    cpu_team_free(t);
    cpu_team_free(NULL);
    free(l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_turn_runs_once),
        cmocka_unit_test(a_loop_may_be_as_long_as_its_variable_counts),
        cmocka_unit_test(several_users_do_not_disturb_each_other),
        cmocka_unit_test(an_unused_team_has_no_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
