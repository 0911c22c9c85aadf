/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu code generator around the compiler: equal bytes whatever `jobs` and the cache, damage in
 * the cache, a missing and a failing compiler, features.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "krun.h"
#include "programs.h"
#include "tenon/base/file.h"

static krun k;
static tnk_kernel kernels[8];
static char cache[64];

static int
open_all(void **state)
{
    (void)state;
    if (!krun_open(&k))
        return -1;
    for (int i = 0; i < 8; i++) {
        const char *name;
        const tn_node *dims, *f = program_get(k.ctx, i, &name, &dims);
        const tnk_kernel *kernel = tnk_lower_kernel(k.ctx, k.target, k.kind, name, f);
        if (!kernel)
            return -1;
        kernels[i] = *kernel;
    }
    strcpy(cache, "/tmp/tenon-cache-XXXXXX");
    return mkdtemp(cache) ? 0 : -1;
}

static void
each_file(const char *dir, void (*fn)(const char *path))
{
    const char **names;
    uint32_t n;
    if (tnb_list_dir(tn_scratch(k.ctx), dir, NULL, &names, &n, NULL) != TNB_OK)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const char *path = tnb_path_join(tn_scratch(k.ctx), dir, names[i]);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            each_file(path, fn);
            (void)rmdir(path); /* if it is empty by now */
        } else {
            fn(path);
        }
    }
}

static void
remove_file(const char *path)
{
    (void)unlink(path);
}

static int
close_all(void **state)
{
    (void)state;
    each_file(cache, remove_file);
    (void)rmdir(cache);
    krun_close(&k);
    return 0;
}

static tnb_status
build(const tn_target *target, int jobs, const char *cache_dir, tnk_build *b, tnk_code *code)
{
    *b = (tnk_build){.ctx = k.ctx, .target = target, .jobs = jobs, .cache_dir = cache_dir};
    tnb_diags_clear(tn_diags(k.ctx));
    return k.kind->codegen->build(k.kind->codegen->self, b, kernels, 8, code);
}

static const tn_target *
with(const char *key, const char *value)
{
    return tn_as_target(
        tn_target_of(k.ctx, "cpu",
                     tn_dict_set(k.ctx, k.target->attrs, key, tn_string(k.ctx, value))));
}

static void
damage(const char *path)
{
    FILE *f = fopen(path, "r+b");
    if (!f)
        return;
    fseek(f, -100, SEEK_END);
    fputc(0x55, f);
    fclose(f);
}

static void
bytes_do_not_depend_on_jobs_or_cache(void **state)
{
    (void)state;
    tnk_build b;
    tnk_code one, two, three, four, five;
    assert_int_equal(build(k.target, 1, NULL, &b, &one), TNB_OK);
    assert_int_equal(build(k.target, 2, cache, &b, &two), TNB_OK);
    assert_int_equal(b.cache_misses, 1);
    assert_int_equal(build(k.target, 2, cache, &b, &three), TNB_OK);
    assert_int_equal(b.cache_hits, 1);
    assert_int_equal(b.cache_misses, 0);
    each_file(cache, damage);
    assert_int_equal(build(k.target, 2, cache, &b, &four), TNB_OK);
    assert_int_equal(b.cache_hits, 0);
    assert_int_equal(build(k.target, 2, cache, &b, &five), TNB_OK);
    assert_int_equal(b.cache_hits, 1);
    const tnk_code *all[] = {&two, &three, &four, &five};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(all[i]->n_bytes, one.n_bytes);
        assert_memory_equal(all[i]->bytes, one.bytes, one.n_bytes);
    }
    assert_null(strstr(one.bytes, "/tmp"));
}

/* Builds the first `n` kernels in a process of its own; exits with 0 if the code is `want`. */
static pid_t
builder(uint32_t n, const tnk_code *want)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++) {
        tnk_build b = {.ctx = k.ctx, .target = k.target, .jobs = 1, .cache_dir = cache};
        tnk_code code;
        status =
            k.kind->codegen->build(NULL, &b, kernels, n, &code) != TNB_OK ? 1
            : code.n_bytes != want->n_bytes || memcmp(code.bytes, want->bytes, code.n_bytes) != 0
                ? 2
                : 0;
        each_file(cache, i ? damage : remove_file); /* under the feet of the others */
    }
    _exit(status);
}

static void
processes_share_the_cache(void **state)
{
    (void)state;
    enum { PROCESSES = 6 };
    tnk_build b = {.ctx = k.ctx, .target = k.target, .jobs = 2};
    tnk_code want[2];
    assert_int_equal(k.kind->codegen->build(NULL, &b, kernels, 2, &want[0]), TNB_OK);
    assert_int_equal(k.kind->codegen->build(NULL, &b, kernels, 3, &want[1]), TNB_OK);
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = builder(2 + (uint32_t)(i & 1), &want[i & 1]);
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static char entries[2][512];
static int n_entries;

static void
note_entry(const char *path)
{
    snprintf(entries[n_entries++ % 2], sizeof entries[0], "%s", path);
}

static void
an_entry_under_anothers_name_is_not_used(void **state)
{
    (void)state;
    tnk_build b = {.ctx = k.ctx, .target = k.target, .jobs = 1, .cache_dir = cache};
    tnk_code two, three, again;
    each_file(cache, remove_file);
    assert_int_equal(k.kind->codegen->build(NULL, &b, kernels, 2, &two), TNB_OK);
    each_file(cache, note_entry);
    assert_int_equal(n_entries, 1);
    char first[512];
    strcpy(first, entries[0]);
    assert_int_equal(k.kind->codegen->build(NULL, &b, kernels, 3, &three), TNB_OK);
    n_entries = 0;
    each_file(cache, note_entry);
    assert_int_equal(n_entries, 2);
    assert_int_equal(rename(first, entries[strcmp(entries[0], first) == 0]), 0);
    b.cache_hits = 0;
    assert_int_equal(k.kind->codegen->build(NULL, &b, kernels, 3, &again), TNB_OK);
    assert_int_equal(b.cache_hits, 0);
    assert_int_equal(again.n_bytes, three.n_bytes);
    assert_memory_equal(again.bytes, three.bytes, three.n_bytes);
}

/* The log of a compiler that refuses the source is in the notes. */
static void
a_compiler_is_quoted(void **state)
{
    (void)state;
    tnk_build b;
    tnk_code code;
    assert_int_equal(build(with("cc", "cc -Dbuffers=1"), 1, NULL, &b, &code), TNB_BUILD);
    const tnb_diag *d = tnb_diags_get(tn_diags(k.ctx), 0);
    bool found = false;
    for (uint32_t i = 0; i < d->n_notes; i++)
        found |= strstr(d->notes[i], "error") != NULL;
    assert_true(found);
}

static void
equal_kernels_share_code(void **state)
{
    (void)state;
    tnk_kernel same[2] = {kernels[0], kernels[0]};
    same[1].name = "another_name";
    tnk_build b = {.ctx = k.ctx, .target = k.target, .jobs = 1};
    tnk_code two, one;
    assert_int_equal(k.kind->codegen->build(NULL, &b, same, 2, &two), TNB_OK);
    assert_int_equal(k.kind->codegen->build(NULL, &b, same, 1, &one), TNB_OK);
    assert_true(two.n_bytes < one.n_bytes + 512);
}

static void
an_unusable_cache_is_noticed_once_and_not_needed(void **state)
{
    (void)state;
    tnk_build b;
    tnk_code code;
    assert_int_equal(build(k.target, 1, "/proc/no/such/place", &b, &code), TNB_OK);
    assert_int_equal(tnb_diags_count(tn_diags(k.ctx)), 1);
    assert_non_null(strstr(tnb_diags_get(tn_diags(k.ctx), 0)->message, "not kept"));
}

static void
refused(const tn_target *t, tnb_status status, const char *message, const char *hint)
{
    tnk_build b;
    tnk_code code;
    assert_int_equal(build(t, 1, NULL, &b, &code), status);
    assert_true(tnb_diags_errors(tn_diags(k.ctx)) >= 1);
    const tnb_diag *d = tnb_diags_get(tn_diags(k.ctx), 0);
    if (!strstr(d->message, message) || (hint && (!d->hint || !strstr(d->hint, hint))))
        fail_msg("%s (%s)", d->message, d->hint ? d->hint : "");
}

static void
errors_say_what_to_do(void **state)
{
    (void)state;
    refused(with("cc", "no-such-compiler"), TNB_NOT_FOUND, "no C compiler", "apt-get install gcc");
    refused(with("cc", "false"), TNB_BUILD, "compiling failed", NULL);
    refused(with("cc", "cc -Dbuffers=1"), TNB_BUILD, "compiling failed", NULL);
    refused(with("mcpu", "z80"), TNB_INVALID, "'z80'", "x86-64-v3");
    const tn_node *list = tn_array_of(k.ctx, tn_listv(k.ctx, tn_string(k.ctx, "warp"), NULL));
    const tn_node *attrs = tn_dict_set(k.ctx, k.target->attrs, "features", list);
    refused(tn_as_target(tn_target_of(k.ctx, "cpu", attrs)), TNB_INVALID, "'warp'", "avx2");
}

/* Drivers have limits on the length of names; names that differ only at the end stay different. */
static void
long_names_are_cut_and_stay_different(void **state)
{
    (void)state;
    char name[2][301], seen[2][128];
    const tn_node *dims, *f = program_get(k.ctx, 0, &(const char *){0}, &dims);
    for (int i = 0; i < 2; i++) {
        memset(name[i], 'a', 300);
        name[i][299] = (char)('x' + i);
        name[i][300] = '\0';
        const tnk_kernel *kernel = tnk_lower_kernel(k.ctx, k.target, k.kind, name[i], f);
        assert_non_null(kernel);
        assert_true(strlen(kernel->name) < 128);
        snprintf(seen[i], sizeof seen[i], "%s", kernel->name);
    }
    assert_string_not_equal(seen[0], seen[1]);
    const tnk_kernel *again = tnk_lower_kernel(k.ctx, k.target, k.kind, name[0], f);
    assert_string_equal(again->name, seen[0]);
}

static void
features_are_a_list(void **state)
{
    (void)state;
#if defined(__x86_64__)
    tnk_build b;
    tnk_code code;
    assert_int_equal(build(with("mcpu", "x86-64-v3"), 1, NULL, &b, &code), TNB_OK);
    const tn_array *f = tn_as_array(tn_dict_get(code.requires_, "features"));
    bool avx2 = false, native = false;
    for (uint32_t i = 0; i < f->items.n; i++) {
        avx2 |= !strcmp(tn_as_string_imm(f->items.at[i])->value, "avx2");
        native |= !strcmp(tn_as_string_imm(f->items.at[i])->value, "native");
    }
    assert_true(avx2 && !native);
#endif
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_do_not_depend_on_jobs_or_cache),
        cmocka_unit_test(processes_share_the_cache),
        cmocka_unit_test(an_entry_under_anothers_name_is_not_used),
        cmocka_unit_test(a_compiler_is_quoted),
        cmocka_unit_test(equal_kernels_share_code),
        cmocka_unit_test(an_unusable_cache_is_noticed_once_and_not_needed),
        cmocka_unit_test(errors_say_what_to_do),
        cmocka_unit_test(features_are_a_list),
        cmocka_unit_test(long_names_are_cut_and_stay_different),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
