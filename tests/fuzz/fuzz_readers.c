/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of what reads files and payloads of others: whatever the bytes are, a reader ends with what
 * they stand for, or with a message; it touches nothing else.
 *
 *     fuzz_readers TARGET [-t SECONDS] [-s SEED] [-r ROUNDS] [FILE|DIR...]
 *
 * replays the seeds in readers.c and the files, and goes on with mutations of them. An input that ends
 * the program is kept as crash-TARGET-SEED-ROUND. With -DTENON_LIBFUZZER it is a target of libFuzzer,
 * which the variable FUZZ_TARGET chooses (make check-fuzz).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "readers.h"
#include "tenon/base/file.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const reader *
reader_named(const char *name)
{
    for (uint32_t i = 0; i < n_readers; i++)
        if (name && strcmp(readers[i].name, name) == 0)
            return &readers[i];
    return NULL;
}

static uint64_t executions;

#ifdef TENON_LIBFUZZER
/* Of processor time, which other processes do not take. */
static void
say_rate(void)
{
    double seconds = (double)clock() / CLOCKS_PER_SEC;
    fprintf(stderr, "executions: %llu in %.1f s of processor time, %.0f/s; %llu were taken\n",
            (unsigned long long)executions, seconds, (double)executions / seconds,
            (unsigned long long)reader_taken);
}
#endif

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const reader *r;
    if (!r) {
        r = reader_named(getenv("FUZZ_TARGET"));
        if (!r || (r->begin && !r->begin()))
            exit(77);
#ifdef TENON_LIBFUZZER
        atexit(say_rate);
#endif
    }
    executions++;
    /* of exactly this size, for the sanitizer */
    void *copy = malloc(n ? n : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, n);
    r->read(copy, n);
    free(copy);
    return 0;
}

/* ---- mutations ---- */

enum { MOST_BYTES = 1 << 16 };
static uint64_t state;

static uint64_t
draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return below ? (state >> 24) % below : 0;
}

static void
replace(tnb_buf *b, size_t at, size_t len, const char *piece, size_t n)
{
    size_t tail_n = b->n - at - len;
    char *tail = malloc(tail_n + 1);
    if (!tail || b->n + n > MOST_BYTES) {
        free(tail);
        return;
    }
    memcpy(tail, b->s + at + len, tail_n);
    b->n = at;
    tnb_buf_put(b, piece, n);
    tnb_buf_put(b, tail, tail_n);
    free(tail);
}

/* Another number in place of one that is written with digits. */
static void
change_number(tnb_buf *b)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "3",
                                          "4",
                                          "7",
                                          "8",
                                          "16",
                                          "64",
                                          "255",
                                          "4096",
                                          "65535",
                                          "65536",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483648",
                                          "4294967296",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551616",
                                          "1e308",
                                          "1e-320",
                                          "0.5"};
    size_t at = draw(b->n), end;
    while (at < b->n && (b->s[at] < '0' || b->s[at] > '9'))
        at++;
    for (end = at; end < b->n && b->s[end] >= '0' && b->s[end] <= '9';)
        end++;
    const char *to = numbers[draw(sizeof numbers / sizeof *numbers)];
    if (end > at)
        replace(b, at, end - at, to, strlen(to));
}

static void
change(tnb_buf *b, const tnb_buf *seeds, uint32_t n)
{
    static const uint32_t nasty[] = {0,        1,        2,          64,         255,        65535,
                                     1u << 20, 1u << 28, 0x3fffffff, 0x7fffffff, 0x80000000, ~0u};
    if (b->n < 2) {
        tnb_buf_puts(b, "{}");
        return;
    }
    size_t at = draw(b->n), len = draw(16);
    len = at + len > b->n ? b->n - at : len;
    const tnb_buf *other = &seeds[draw(n)];
    size_t from = draw(other->n ? other->n : 1),
           more = other->n > from ? draw(other->n - from < 64 ? other->n - from : 64) : 0;
    switch (draw(8)) {
    case 0:
        b->s[at] = (char)(b->s[at] ^ (1 << draw(8)));
        break;
    case 1:
        b->s[at] = (char)draw(256);
        break;
    case 2: {
        uint32_t v = nasty[draw(sizeof nasty / sizeof *nasty)];
        at -= at % 4;
        if (at + 4 <= b->n)
            memcpy(b->s + at, &v, 4);
        break;
    }
    case 3:
    case 4:
        change_number(b);
        break;
    case 5:
        replace(b, at, len, "", 0);
        break;
    case 6:
        replace(b, at, draw(2) ? len : 0, other->s + from, more);
        break;
    default: { /* a piece again */
        size_t to = draw(b->n);
        char piece[16];
        memcpy(piece, b->s + at, len);
        replace(b, to, 0, piece, len);
    }
    }
}

#ifdef TENON_LIBFUZZER

size_t
LLVMFuzzerMutate(uint8_t *data, size_t n, size_t room);
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);

/* In turn by the reader's own way, by the changes above, and by libFuzzer's. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed)
{
    static const reader *r;
    static tnb_buf last; /* an earlier input, for pieces of it */
    tnb_buf b = {0};
    size_t done = 0;
    if (!r)
        r = reader_named(getenv("FUZZ_TARGET"));
    state = seed;
    uint64_t way = draw(4);
    if (way < 2 && r && r->mutate) {
        done = r->mutate(data, n, room, seed);
    } else if (way < 2) {
        tnb_buf_put(&b, data, n);
        if (!last.n)
            tnb_buf_put(&last, n ? (const char *)data : "{}", n ? n : 2);
        for (uint64_t k = draw(3) + 1; k; k--)
            change(&b, &last, 1);
        done = b.n <= room ? b.n : 0;
        if (done)
            memcpy(data, b.s, done);
        if (draw(16) == 0) {
            tnb_buf_free(&last);
            last = b;
            b = (tnb_buf){0};
        }
        tnb_buf_free(&b);
    }
    return done ? done : LLVMFuzzerMutate(data, n, room);
}

#else

/* ---- the program ---- */

static const void *current;
static size_t current_n;
static char crash_name[96];

static void
keep_input(int sig)
{
    tnb_err err;
    if (current && tnb_write_file(crash_name, current, current_n, &err) == TNB_OK)
        fprintf(stderr, "input kept as %s\n", crash_name);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void
run(const tnb_buf *b)
{
    current = b->s;
    current_n = b->n;
    (void)LLVMFuzzerTestOneInput((const uint8_t *)(b->s ? b->s : ""), b->n);
}

static void
load(const char *path, tnb_buf *seeds, uint32_t *n)
{
    tnb_arena *a = tnb_arena_new();
    const char **names;
    uint32_t count;
    tnb_err err;
    char *text;
    size_t size;
    if (tnb_list_dir(a, path, NULL, &names, &count, &err) == TNB_OK)
        for (uint32_t i = 0; i < count; i++)
            load(tnb_path_join(a, path, names[i]), seeds, n);
    else if (*n < MOST_SEEDS && tnb_read_file(path, MOST_BYTES, &text, &size, &err) == TNB_OK) {
        tnb_buf_put(&seeds[(*n)++], text, size);
        free(text);
    }
    tnb_arena_free(a);
}

static void
mutate(const reader *r, tnb_buf *b)
{
    static uint8_t room[MOST_BYTES];
    size_t n = b->n < sizeof room ? b->n : sizeof room;
    memcpy(room, b->s, n);
    n = r->mutate(room, n, sizeof room, draw(UINT32_MAX));
    if (n) {
        b->n = 0;
        tnb_buf_put(b, (char *)room, n);
    }
}

int
main(int argc, char **argv)
{
    double limit = 0;
    uint64_t rounds = 0, seed = 1, round = 0;
    static tnb_buf seeds[MOST_SEEDS];
    uint32_t n = 0;
    const char *into = NULL; /* a folder that gets the seeds */
    int opt;
    const reader *r = reader_named(argc > 1 ? argv[1] : NULL);
    while (r && (opt = getopt(argc - 1, argv + 1, "t:s:r:w:")) != -1) {
        if (opt == 't')
            limit = atof(optarg);
        else if (opt == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (opt == 'r')
            rounds = strtoull(optarg, NULL, 10);
        else if (opt == 'w')
            into = optarg;
        else
            r = NULL;
    }
    if (!r) {
        fprintf(stderr,
                "usage: fuzz_readers TARGET [-t SECONDS] [-s SEED] [-r ROUNDS] [FILE...]\n");
        for (uint32_t i = 0; i < n_readers; i++)
            printf("%s\n", readers[i].name);
        return argc > 1 ? 2 : 0;
    }
    setenv("FUZZ_TARGET", r->name, 1);
    r->seeds(seeds, &n);
    for (int i = optind + 1; i < argc; i++)
        load(argv[i], seeds, &n);
    for (uint32_t i = 0; into && i < n; i++) {
        char path[4096];
        tnb_err err;
        snprintf(path, sizeof path, "%s/seed%u", into, i);
        if (tnb_write_file(path, seeds[i].s, seeds[i].n, &err) != TNB_OK)
            return fprintf(stderr, "%s\n", err.message), 1;
    }
    signal(SIGSEGV, keep_input);
    signal(SIGBUS, keep_input);
    signal(SIGFPE, keep_input);
    signal(SIGABRT, keep_input);
    snprintf(crash_name, sizeof crash_name, "crash-%s-replay", r->name);
    for (uint32_t i = 0; i < n; i++)
        run(&seeds[i]);
    if (n && !reader_taken) {
        fprintf(stderr, "%s: no seed is taken\n", r->name);
        return 1;
    }
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    double took = 0;
    state = seed;
    for (; n && (limit > 0 ? took < limit : round < rounds); round++) {
        tnb_buf b = {0};
        const tnb_buf *first = &seeds[draw(n)];
        tnb_buf_put(&b, first->s, first->n);
        if (!r->mutate || draw(4) == 0)
            for (uint64_t k = draw(4) + 1; k; k--)
                change(&b, seeds, n);
        else
            mutate(r, &b);
        snprintf(crash_name, sizeof crash_name, "crash-%s-%llu-%llu", r->name,
                 (unsigned long long)seed, (unsigned long long)round);
        run(&b);
        tnb_buf_free(&b);
        clock_gettime(CLOCK_MONOTONIC, &now);
        took = (double)(now.tv_sec - from.tv_sec) + 1e-9 * (double)(now.tv_nsec - from.tv_nsec);
    }
    printf("%s: %u seeds, %llu mutations in %.0f s, seed %llu; %llu were taken\n", r->name, n,
           (unsigned long long)round, took, (unsigned long long)seed,
           (unsigned long long)reader_taken);
    if (r->end)
        r->end();
    for (uint32_t i = 0; i < n; i++)
        tnb_buf_free(&seeds[i]);
    return 0;
}
#endif
