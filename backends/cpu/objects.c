/* SPDX-License-Identifier: Apache-2.0 */
/* C files of a folder as objects and a static library, for programs that link them: with the options of the target's kernels and
 * the compiler of its machine. */
#include "config.h"

#include <stdlib.h>

#include "cpu.h"
#include "tenon/base/file.h"

static const char *
log_of(tnb_arena *a, const char *folder, const cpu_job *job, char **text)
{
    size_t n = 0;
    *text = NULL;
    return tnb_read_file(tnb_path_join(a, folder, job->log), 1u << 20, text, &n, NULL) == TNB_OK
               ? *text
               : "";
}

/* Runs jobs; what failed is recorded. */
static tnb_status
run(tnk_build *b, const char *folder, cpu_job *jobs, uint32_t n, const char *what)
{
    int64_t seconds = tn_dict_int(b->target ? b->target->attrs : NULL, "cc_timeout", 900);
    if (!cpu_run_jobs(folder, jobs, n, b->jobs, (double)seconds, NULL, NULL)) {
        tn_error(b->ctx, 0, TNB_BUILD, "cannot start %s", jobs->argv[0]);
        return TNB_BUILD;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (jobs[i].status == 0 && !jobs[i].missing)
            continue;
        char *text;
        const char *log = log_of(tn_arena(b->ctx), folder, &jobs[i], &text);
        tnb_status st = cpu_job_error(b->ctx, what, "", &jobs[i], log, seconds);
        free(text);
        return st;
    }
    return TNB_OK;
}

static const char *
object_of(tnb_arena *a, const char *file)
{
    return tnb_printf(a, "%.*s.o", (int)strlen(file) - 2, file);
}

/* The archiver of the target's machine: that of its triple, or the system's, which takes objects of any. */
static const char *
archiver(tn_ctx *ctx, const tn_node *attrs)
{
    const char *triple = tn_dict_str(attrs, "mtriple", "");
    tnb_arena *a = tn_arena(ctx);
    const char *full = *triple ? tnb_find_program(a, tnb_printf(a, "%s-ar", triple)) : NULL;
    full = full ? full : tnb_find_program(a, "ar");
    full = full ? full : tnb_find_program(a, "llvm-ar");
    if (!full) {
        tn_error(ctx, 0, TNB_NOT_FOUND, "no archiver: neither ar nor llvm-ar is on PATH");
        tnb_diag_hint(tn_diags(ctx),
                      "install one (Debian: apt-get install binutils), or emit objects");
    }
    return full;
}

static tnb_status
make_archive(tnk_build *b, const char *folder, const char *const *files, uint32_t n,
             const char *archive)
{
    tnb_arena *a = tn_arena(b->ctx);
    const char **argv = TNB_NEW_N(a, const char *, n + 4);
    argv[0] = archiver(b->ctx, b->target ? b->target->attrs : NULL);
    if (!argv[0])
        return TNB_NOT_FOUND;
    argv[1] = "rcsD";
    argv[2] = archive;
    for (uint32_t i = 0; i < n; i++)
        argv[3 + i] = object_of(a, files[i]);
    cpu_job job = {.argv = argv, .log = "ar.log", .makes = archive};
    return run(b, folder, &job, 1, "making a static library");
}

tnb_status
cpu_objects(void *self, tnk_build *b, const char *folder, const char *const *files, uint32_t n,
            const char *archive)
{
    tnb_arena *a = tn_arena(b->ctx);
    const tn_node *attrs = b->target ? b->target->attrs : NULL;
    static const char *const sections[] = {"-ffunction-sections", "-fdata-sections", NULL};
    cpu_needs needs;
    cpu_toolchain cc;
    (void)self;
    if (!cpu_needs_of(b->ctx, attrs, &needs))
        return TNB_INVALID;
    TNB_TRY(cpu_toolchain_find(b->ctx, attrs, &cc));
    TNB_TRY(cpu_machine_headers(b->ctx, attrs, &cc));
    const char *const *flags = cpu_flags(b->ctx, attrs, &needs, sections);
    uint32_t n_flags = 0;
    while (flags[n_flags])
        n_flags++;
    cpu_job *jobs = TNB_NEW_N(a, cpu_job, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const char **argv = TNB_NEW_N(a, const char *, cc.n + n_flags + 8);
        uint32_t k = 0;
        for (uint32_t j = 0; j < cc.n; j++)
            argv[k++] = cc.command[j];
        for (uint32_t j = 0; j < n_flags; j++)
            argv[k++] = flags[j];
        for (const char *const *f = cc.is_clang ? NULL : cpu_gcc_flags; f && *f; f++)
            argv[k++] = *f;
        argv[k++] = "-c";
        argv[k++] = files[i];
        argv[k++] = "-o";
        argv[k++] = object_of(a, files[i]);
        jobs[i] = (cpu_job){.argv = argv,
                            .log = tnb_printf(a, "%s.log", files[i]),
                            .makes = object_of(a, files[i])};
    }
    TNB_TRY(run(b, folder, jobs, n, "compiling C"));
    return archive ? make_archive(b, folder, files, n, archive) : TNB_OK;
}
