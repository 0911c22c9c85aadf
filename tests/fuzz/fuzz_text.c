/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the text reader: whatever the bytes are, reading ends with a module or with a located error;
 * a module prints, and what is printed reads back as the same module and prints the same.
 *
 * With -DTENON_LIBFUZZER this is a libFuzzer target. Else a program of its own:
 *
 *     fuzz_text [-t SECONDS] [-s SEED] [-r ROUNDS] FILE|DIR...
 *
 * replays the files; with -t or -r it goes on to mutate them (pieces moved, bytes and words changed, files
 * spliced). What breaks a promise is written to crash-text-SEED-ROUND and ends the program with status 1.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static tn_registry *registry;

/* True if what is promised held. */
static bool
one_input(const char *data, size_t n)
{
    const tn_print_options how = {.inline_constants = true};
    tnb_buf first = {0}, second = {0};
    tn_ctx *ctx = tn_ctx_new(registry);
    const tn_module *m = tn_read_module(ctx, "input", data, n);
    bool ok = m || tnb_diags_errors(tn_diags(ctx)) > 0;
    if (!ok)
        fprintf(stderr, "refused without an error\n");
    /* what is not well-formed need not come back, but must print */
    bool sound = m && tn_verify(ctx, m) == 0;
    if (m && tn_print(ctx, TN_NODE(m), &how, &first) == TNB_OK && sound) {
        const tn_module *again = tn_read_module(ctx, "printed", first.s, first.n);
        tnb_buf where = {0};
        ok = again && tn_equal(ctx, TN_NODE(m), TN_NODE(again), false, &where) &&
             tn_print(ctx, TN_NODE(again), &how, &second) == TNB_OK && first.n == second.n &&
             memcmp(first.s, second.s, first.n) == 0;
        if (!ok) {
            tnb_buf why = {0};
            tnb_diags_print(tn_diags(ctx), &why);
            fprintf(stderr, "does not come back: %s\n%s\n%s\n", where.s ? where.s : "",
                    why.s ? why.s : "", first.s);
            tnb_buf_free(&why);
        }
        tnb_buf_free(&where);
    }
    tnb_buf_free(&first);
    tnb_buf_free(&second);
    tn_ctx_free(ctx);
    return ok;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!registry)
        registry = tn_registry_new(NULL);
    if (!one_input((const char *)data, n))
        abort();
    return 0;
}

#ifndef TENON_LIBFUZZER

/* ---- the program ---- */
typedef struct file {
    char *text;
    size_t n;
} file;

static uint64_t state;
static const char *current;
static size_t current_n;
static char crash_name[64];

static uint64_t
draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return below ? (state >> 24) % below : 0;
}

static void
keep_input(void)
{
    tnb_err err;
    if (current && tnb_write_file(crash_name, current, current_n, &err) == TNB_OK)
        fprintf(stderr, "input kept as %s\n", crash_name);
}

static void
on_signal(int sig)
{
    keep_input();
    signal(sig, SIG_DFL);
    raise(sig);
}

static bool
checked(const char *text, size_t n)
{
    current = text;
    current_n = n;
    bool ok = one_input(text, n);
    if (!ok)
        keep_input();
    return ok;
}

static void
load(const char *path, file **files, uint32_t *n)
{
    tnb_arena *a = tnb_arena_new();
    const char **names;
    uint32_t count;
    tnb_err err;
    if (tnb_list_dir(a, path, NULL, &names, &count, &err) == TNB_OK) {
        for (uint32_t i = 0; i < count; i++)
            load(tnb_path_join(a, path, names[i]), files, n);
    } else {
        file f;
        if (tnb_read_file(path, 1 << 20, &f.text, &f.n, &err) == TNB_OK) {
            *files = realloc(*files, (*n + 1) * sizeof **files);
            (*files)[(*n)++] = f;
        } else {
            fprintf(stderr, "%s\n", err.message);
        }
    }
    tnb_arena_free(a);
}

/* A random word of some file: mutations that keep tokens whole reach deeper. */
static void
word(const file *files, uint32_t n, const char **at, size_t *len)
{
    const file *f = &files[draw(n)];
    size_t i = f->n ? draw(f->n) : 0, k = i;
    static const char ends[] = " \n()[]{},:=.";
    while (k < f->n && k - i < 30 && !strchr(ends, f->text[k]))
        k++;
    *at = f->text + i;
    *len = k > i ? k - i : (i < f->n ? 1 : 0);
}

static void
mutate(const file *files, uint32_t n, tnb_buf *out)
{
    const file *f = &files[draw(n)];
    tnb_buf_put(out, f->text, f->n);
    for (uint64_t k = draw(4) + 1; k-- && out->n > 2;) {
        size_t at = draw(out->n), len = draw(30);
        if (at + len > out->n)
            len = out->n - at;
        char *tail = malloc(out->n);
        const char *piece = NULL;
        size_t piece_n = 0, tail_n;
        switch (draw(5)) {
        case 0: /* one byte */
            out->s[at] = (char)draw(256);
            free(tail);
            continue;
        case 1: /* a word replaced */
            word(files, n, &piece, &piece_n);
            while (len < 30 && at + len < out->n &&
                   strchr("abcdefghijklmnopqrstuvwxyz0123456789_", out->s[at + len]))
                len++;
            break;
        case 2: { /* a line of another file put in */
            const file *g = &files[draw(n)];
            size_t i = g->n ? draw(g->n) : 0, e;
            while (i > 0 && g->text[i - 1] != '\n')
                i--;
            for (e = i; e < g->n && g->text[e] != '\n';)
                e++;
            while (at > 0 && out->s[at - 1] != '\n')
                at--;
            piece = g->text + i;
            piece_n = e < g->n ? e - i + 1 : e - i;
            len = 0;
            break;
        }
        case 3: /* a piece left out */
            break;
        default: /* the end of another file */ {
            const file *g = &files[draw(n)];
            size_t i = g->n ? draw(g->n) : 0;
            piece = g->text + i;
            piece_n = g->n - i;
            len = out->n - at;
        }
        }
        tail_n = out->n - at - len;
        memcpy(tail, out->s + at + len, tail_n);
        out->n = at;
        if (piece_n)
            tnb_buf_put(out, piece, piece_n);
        tnb_buf_put(out, tail, tail_n);
        free(tail);
        if (out->n > 1 << 18)
            out->n = 1 << 18;
    }
}

int
main(int argc, char **argv)
{
    double limit = 0;
    uint64_t rounds = 0, seed = 1;
    int opt;
    while ((opt = getopt(argc, argv, "t:s:r:")) != -1) {
        if (opt == 't')
            limit = atof(optarg);
        else if (opt == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (opt == 'r')
            rounds = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    file *files = NULL;
    uint32_t n = 0;
    for (int i = optind; i < argc; i++)
        load(argv[i], &files, &n);
    if (!n) {
        fprintf(stderr, "usage: fuzz_text [-t SECONDS] [-s SEED] [-r ROUNDS] FILE|DIR...\n");
        return 2;
    }
    registry = tn_registry_new(NULL);
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    int status = 0;
    snprintf(crash_name, sizeof crash_name, "crash-text-replay");
    for (uint32_t i = 0; i < n && !status; i++)
        status = checked(files[i].text, files[i].n) ? 0 : 1;
    time_t start = time(NULL);
    uint64_t round = 0;
    state = seed;
    for (; !status && (limit > 0 ? difftime(time(NULL), start) < limit : round < rounds); round++) {
        tnb_buf b = {0};
        mutate(files, n, &b);
        snprintf(crash_name, sizeof crash_name, "crash-text-%llu-%llu", (unsigned long long)seed,
                 (unsigned long long)round);
        status = checked(b.s ? b.s : "", b.n) ? 0 : 1;
        tnb_buf_free(&b);
    }
    printf("%u files, %llu mutations, seed %llu\n", n, (unsigned long long)round,
           (unsigned long long)seed);
    for (uint32_t i = 0; i < n; i++)
        free(files[i].text);
    free(files);
    tn_registry_free(registry);
    return status;
}
#endif
