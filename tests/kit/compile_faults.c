/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of whole compilations fail, one at a time, and one with all that follow:
 *
 *     compile_faults POINTS SEED TARGET MODEL...
 *
 * POINTS places each, drawn by the seed; 0: every one; -K: the K-th alone, with the calls that led to it. Each runs in a child process; it has to end with
 * the artifact that a run without failures writes, byte by byte, or with an error and no file.
 */
#include "config.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/base/plugin.h"
#include "tenon/kit/driver.h"
#include "tests/failing_memory.h"

static bool counting, once, show;
static long seen, fail_from;

static bool
memory_fails(void)
{
    if (!counting)
        return false;
    seen++;
    if (show && seen == fail_from) {
        void *calls[40];
        counting = false;
        backtrace_symbols_fd(calls, backtrace(calls, 40), 2);
        counting = true;
    }
    return once ? seen == fail_from : fail_from && seen >= fail_from;
}

typedef struct bytes {
    char *s;
    size_t n;
} bytes;

typedef struct test {
    tnb_conf *conf;
    tn_registry *reg;
    const char *target, *model, *folder, *output;
    bytes want;
} test;

/* How a child ends. */
enum { RIGHT, REFUSED, NO_MESSAGE, OTHER_BYTES, LEFT_FILE, NOT_REACHED = 64 };

static int
count_files(const char *folder)
{
    tnb_arena *a = tnb_arena_new();
    const char **names;
    uint32_t n = 0;
    tnb_err err;
    if (tnb_list_dir(a, folder, NULL, &names, &n, &err) != TNB_OK)
        n = 0;
    tnb_arena_free(a);
    return (int)n;
}

static bool
same_bytes(const test *t)
{
    bytes got;
    tnb_err err;
    return tnb_read_file(t->output, 1 << 24, &got.s, &got.n, &err) == TNB_OK &&
           got.n == t->want.n && memcmp(got.s, t->want.s, got.n) == 0;
}

/* Only the compilation, not the loading of plugins, which the process shares. */
static int
compile(const test *t)
{
    int end = RIGHT;
    tnk_model model;
    tnk_compile_result result;
    const tnk_compile_options opt = {.size = sizeof opt,
                                     .conf = t->conf,
                                     .targets = &t->target,
                                     .n_targets = 1,
                                     .output = t->output,
                                     .jobs = 1,
                                     .cache_dir = ""};
    counting = true;
    tn_ctx *ctx = tn_ctx_new(t->reg);
    bool ok = ctx && tnk_import(ctx, t->model, NULL, &model) == TNB_OK &&
              tnk_compile(ctx, &model, &opt, &result) == TNB_OK;
    counting = false;
    if (!ok) {
        tnb_err err = {0};
        if (ctx)
            tnb_diags_first(tn_diags(ctx), &err);
        end = ctx && !err.message[0] ? NO_MESSAGE : count_files(t->folder) ? LEFT_FILE : REFUSED;
    } else if (t->want.s && !same_bytes(t)) {
        end = OTHER_BYTES;
    }
    tn_ctx_free(ctx);
    return end;
}

/* -1: it crashed. */
static int
run_child(const test *t, long at)
{
    int status = 0;
    fflush(stdout);
    unlink(t->output);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        fail_from = at;
        seen = 0;
        int end = compile(t);
        _exit(end | (seen < at ? NOT_REACHED : 0));
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static const char *
name_of(int end)
{
    static const char *const names[] = {[NO_MESSAGE] = "no message",
                                        [OTHER_BYTES] = "another artifact",
                                        [LEFT_FILE] = "a file is left"};
    return end < 0 ? "it crashes" : names[end];
}

static bool
sweep(const test *t, long points, uint64_t *state)
{
    long total = seen, bad = 0, refused = 0, run = 0;
    for (int alone = 0; alone < 2; alone++) {
        once = alone;
        show = points < 0;
        for (long k = 1; k <= (points > 0 ? points : show ? 1 : total); k++) {
            *state = *state * 6364136223846793005u + 1442695040888963407u;
            long at = show         ? -points
                      : points > 0 ? 1 + (long)((*state >> 33) % (uint64_t)total)
                                   : k;
            int end = run_child(t, at);
            run++;
            end = end < 0 ? end : end & ~NOT_REACHED;
            refused += end == REFUSED;
            if (end != RIGHT && end != REFUSED && bad++ < 20)
                printf("FAIL %s for %s: request %ld%s: %s\n", t->model, t->target, at,
                       alone ? "" : " and all that follow", name_of(end));
        }
    }
    printf("%s for %s: %ld requests, %ld runs with failures, %ld ended by them, %ld bad\n",
           strrchr(t->model, '/') ? strrchr(t->model, '/') + 1 : t->model, t->target, total, run,
           refused, bad);
    return !bad && refused > 0;
}

int
main(int argc, char **argv)
{
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    tnb_plugins *plugins = NULL;
    char folder[] = "/tmp/compile-faults-XXXXXX", output[64];
    test t = {.folder = folder, .output = output};
    if (argc < 5 || !mkdtemp(folder))
        return 2;
    snprintf(output, sizeof output, "%s/out.tno", folder);
    uint64_t state = strtoull(argv[2], NULL, 10);
    t.target = argv[3];
    t.conf = tnb_conf_load(NULL, diags);
    bool ok = t.conf && tnb_plugins_open(t.conf, NULL, &plugins, &err) == TNB_OK &&
              (t.reg = tn_registry_new(plugins)) != NULL;
    for (int i = 4; i < argc && t.reg; i++) {
        bool compiled = true;
        t.model = argv[i];
        t.want = (bytes){0};
        for (int again = 0; again < 2; again++) { /* the first time plugins are loaded */
            seen = fail_from = 0;
            compiled &= compile(&t) == RIGHT;
        }
        if (!compiled || tnb_read_file(output, 1 << 24, &t.want.s, &t.want.n, &err) != TNB_OK) {
            printf("FAIL %s for %s: does not compile\n", t.model, t.target);
            ok = false;
            break;
        }
        ok &= sweep(&t, strtol(argv[1], NULL, 10), &state);
        free(t.want.s);
    }
    unlink(output);
    rmdir(folder);
    tn_registry_free(t.reg);
    tnb_plugins_close(plugins);
    tnb_conf_free(t.conf);
    tnb_diags_free(diags);
    return ok ? 0 : 1;
}
