/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Code of the simulated accelerator: source, compiled and loaded into the process. */
#include "module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PATH = 4096 };

struct job {
    char folder[PATH], source[PATH], object[PATH], log[PATH];
};

static bool
make_folder(struct job *j)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(j->folder, sizeof j->folder, "%s/simacc.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n < 0 || n >= PATH - 16 || !mkdtemp(j->folder))
        return false;
    return snprintf(j->source, PATH, "%.4000s/k.c", j->folder) > 0 &&
           snprintf(j->object, PATH, "%.4000s/k.so", j->folder) > 0 &&
           snprintf(j->log, PATH, "%.4000s/log", j->folder) > 0;
}

static void
remove_folder(const struct job *j)
{
    (void)unlink(j->source);
    (void)unlink(j->object);
    (void)unlink(j->log);
    (void)rmdir(j->folder);
}

static bool
write_source(const struct job *j, const char *source, size_t n)
{
    FILE *f = fopen(j->source, "wb");
    if (!f)
        return false;
    bool ok = fwrite(source, 1, n, f) == n;
    return fclose(f) == 0 && ok;
}

/* The compiler's first words. */
static void
first_words(const struct job *j, char *out, size_t n)
{
    FILE *f = fopen(j->log, "rb");
    size_t got = f ? fread(out, 1, n - 1, f) : 0;
    if (f)
        fclose(f);
    out[got] = '\0';
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

static bool
compile(const struct job *j, const char *cc, char *why, size_t n_why)
{
    const char *argv[] = {cc,
                          "-std=gnu11",
                          "-O1",
                          "-w",
                          "-fPIC",
                          "-shared",
                          "-fwrapv",
                          "-fno-strict-aliasing",
                          "-ffp-contract=off",
                          "-o",
                          j->object,
                          j->source,
                          "-lm",
                          NULL};
    posix_spawn_file_actions_t fa;
    pid_t pid;
    int status;
    int rc = posix_spawn_file_actions_init(&fa);
    if (rc == 0) {
        rc = posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (rc == 0)
            rc = posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, j->log,
                                                  O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (rc == 0)
            rc = posix_spawnp(&pid, cc, &fa, NULL, (char **)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&fa);
    }
    if (rc != 0) {
        snprintf(why, n_why, "the simacc device cannot start the C compiler '%s': %s", cc,
                 strerror(rc));
        return false;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    char words[300];
    first_words(j, words, sizeof words);
    snprintf(why, n_why, "the simacc device cannot compile the kernels: %s", words);
    return false;
}

bool
module_load(const char *cc, const char *source, size_t n, void **module, char *why, size_t n_why)
{
    struct job j;
    if (!make_folder(&j)) {
        snprintf(why, n_why, "the simacc device has no folder for its compiler: %s",
                 strerror(errno));
        return false;
    }
    *module = NULL;
    if (!write_source(&j, source, n)) {
        snprintf(why, n_why, "the simacc device cannot write %s: %s", j.source, strerror(errno));
    } else if (compile(&j, cc, why, n_why)) {
        *module = dlopen(j.object, RTLD_NOW | RTLD_LOCAL);
        if (!*module)
            snprintf(why, n_why, "the simacc device cannot load the kernels: %s", dlerror());
    }
    remove_folder(&j);
    return *module != NULL;
}

void
module_unload(void *module)
{
    (void)dlclose(module);
}

void *
module_symbol(void *module, const char *name)
{
    return dlsym(module, name);
}
