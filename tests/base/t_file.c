/* SPDX-License-Identifier: Apache-2.0 */
/* Files are read within limits, written whole or not at all, and never outside a folder. */
#include "tests/base/scratch.h"
#include "tenon/base/threads.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

static void
a_file_is_mapped_and_read_within_its_limit(void **state)
{
    (void)state;
    tnb_err err;
    tnb_mapping m;
    char *data;
    size_t n;
    const char *path = write_scratch("some", "0123456789", 10);
    assert_int_equal(tnb_map_file(path, 10, &m, &err), TNB_OK);
    assert_int_equal(m.size, 10);
    assert_memory_equal(m.data, "0123456789", 10);
    tnb_unmap(&m);
    tnb_unmap(&m);
    assert_int_equal(tnb_map_file(path, 9, &m, &err), TNB_BOUNDS);
    assert_non_null(strstr(err.message, "has 10 bytes; at most 9"));
    assert_int_equal(tnb_read_file(path, 10, &data, &n, &err), TNB_OK);
    assert_string_equal(data, "0123456789");
    free(data);
    assert_int_equal(tnb_read_file(path, 5, &data, &n, &err), TNB_BOUNDS);
    assert_null(data);
    assert_int_equal(tnb_map_file(in_scratch("none"), 0, &m, &err), TNB_IO);
    assert_non_null(strstr(err.message, strerror(ENOENT)));
    assert_int_equal(tnb_map_file(scratch, 0, &m, &err), TNB_IO);
    assert_int_equal(tnb_read_file(scratch, 0, &data, &n, &err), TNB_IO);
    assert_int_equal(tnb_map_file("/dev/zero", 0, &m, &err), TNB_IO);
    assert_int_equal(tnb_read_file("/dev/zero", 5000, &data, &n, &err), TNB_BOUNDS);
    write_scratch("empty", "", 0);
    assert_int_equal(tnb_map_file(in_scratch("empty"), 0, &m, &err), TNB_OK);
    assert_non_null(m.data);
    tnb_unmap(&m);
}

static void
a_file_without_a_size_is_not_empty(void **state)
{
    (void)state;
    tnb_err err;
    tnb_mapping m;
    assert_int_equal(tnb_map_file("/proc/self/mem", 0, &m, &err), TNB_IO); /* nothing lies at 0 */
    assert_non_null(strstr(err.message, "cannot read '/proc/self/mem': "));
    assert_int_equal(tnb_map_file("/proc/self/stat", 0, &m, &err), TNB_IO);
    assert_non_null(strstr(err.message, "'/proc/self/stat' has bytes but no size"));
}

static uint32_t
names_here(void)
{
    tnb_arena *a = tnb_arena_new();
    const char **names;
    uint32_t n;
    tnb_err err;
    assert_int_equal(tnb_list_dir(a, scratch, NULL, &names, &n, &err), TNB_OK);
    for (uint32_t i = 1; i < n; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
    tnb_arena_free(a);
    return n;
}

static void
a_file_appears_whole_or_not_at_all(void **state)
{
    (void)state;
    tnb_err err;
    tnb_out *o;
    write_scratch("out", "before", 6);
    uint32_t before = names_here();
    assert_int_equal(tnb_out_open(in_scratch("out"), &o, &err), TNB_OK);
    assert_int_equal(tnb_out_write(o, "gone", 4, &err), TNB_OK);
    tnb_out_abandon(o);
    assert_int_equal(names_here(), before);
    char *data;
    size_t n;
    assert_int_equal(tnb_read_file(in_scratch("out"), 0, &data, &n, &err), TNB_OK);
    assert_string_equal(data, "before");
    free(data);
    static char big[700000];
    memset(big, 'b', sizeof big);
    assert_int_equal(tnb_out_open(in_scratch("out"), &o, &err), TNB_OK);
    assert_int_equal(tnb_out_write(o, "head", 4, &err), TNB_OK);
    assert_int_equal(tnb_out_align(o, 4096, &err), TNB_OK);
    assert_int_equal(tnb_out_pos(o), 4096);
    assert_int_equal(tnb_out_write(o, big, sizeof big, &err), TNB_OK);
    assert_int_equal(tnb_out_patch(o, 1, "EA", 2, &err), TNB_OK);
    assert_int_equal(tnb_out_patch(o, 4096 + sizeof big, "x", 1, &err), TNB_BOUNDS);
    assert_int_equal(tnb_out_commit(o, &err), TNB_OK);
    assert_int_equal(tnb_read_file(in_scratch("out"), 0, &data, &n, &err), TNB_OK);
    assert_int_equal(n, 4096 + sizeof big);
    assert_memory_equal(data, "hEAd\0\0", 6);
    assert_memory_equal(data + 4096, big, sizeof big);
    free(data);
    assert_int_equal(names_here(), before);
    assert_int_equal(tnb_out_open(in_scratch("no/such/folder"), &o, &err), TNB_IO);
    assert_int_equal(tnb_out_open(scratch, &o, &err), TNB_IO);
    assert_int_equal(tnb_out_commit(NULL, &err), TNB_OK);
    /* Through a link the target is replaced, not the link. */
    assert_int_equal(symlink("out", in_scratch("link")), 0);
    write_scratch("link", "new", 3);
    struct stat st;
    assert_int_equal(lstat(in_scratch("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void
only_regular_files_are_replaced(void **state)
{
    (void)state;
    tnb_err err;
    tnb_new_file f;
    uint32_t before;
    char target[4400], link[4400], pipe[4400];
    snprintf(target, sizeof target, "%s", in_scratch("target"));
    snprintf(link, sizeof link, "%s", in_scratch("to_target"));
    snprintf(pipe, sizeof pipe, "%s", in_scratch("pipe"));
    write_scratch("target", "old", 3);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    before = names_here();
    assert_int_equal(tnb_new_file_open(pipe, &f, &err), TNB_IO);
    assert_non_null(strstr(err.message, "not a regular file"));
    assert_int_equal(tnb_new_file_open(scratch, &f, &err), TNB_IO);
    assert_non_null(strstr(err.message, "it is a folder"));
    assert_int_equal(tnb_new_file_open(link, &f, &err), TNB_OK);
    tnb_new_file_abandon(&f);
    tnb_new_file_abandon(&f);
    assert_int_equal(names_here(), before);
    assert_int_equal(tnb_new_file_open(link, &f, &err), TNB_OK);
    assert_int_equal(write(f.fd, "new", 3), 3);
    assert_int_equal(tnb_new_file_commit(&f, &err), TNB_OK);
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    char *data;
    size_t n;
    assert_int_equal(tnb_read_file(target, 0, &data, &n, &err), TNB_OK);
    assert_string_equal(data, "new");
    free(data);
    assert_int_equal(names_here(), before);
}

static void
a_full_device_is_reported(void **state)
{
    (void)state;
    tnb_err err;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(tnb_write_file("/dev/full", "x", 1, &err), TNB_IO);
    assert_non_null(strstr(err.message, "/dev/full"));
    assert_true(err.hint[0]);
}

static void
only_files_below_the_folder_open(void **state)
{
    (void)state;
    tnb_err err;
    int fd;
    assert_int_equal(tnb_make_dirs(in_scratch("model/deep"), 0755, &err), TNB_OK);
    write_scratch("secret", "s", 1);
    write_scratch("model/deep/data", "d", 1);
    assert_int_equal(symlink("../secret", in_scratch("model/link")), 0);
    assert_int_equal(symlink("deep", in_scratch("model/folderlink")), 0);
    const char *dir = in_scratch("model");
    char kept[4400];
    snprintf(kept, sizeof kept, "%s", dir);
    static const char *const good[] = {"deep/data", "./deep//data", "deep/./data"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tnb_open_below(kept, good[i], &fd, &err), TNB_OK);
        close(fd);
    }
    static const char *const bad[] = {"../secret",         "/etc/passwd",
                                      "deep/../../secret", "link",
                                      "folderlink/data",   "",
                                      "deep/..",           ".."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tnb_open_below(kept, bad[i], &fd, &err), TNB_UNTRUSTED);
        assert_int_equal(fd, -1);
        assert_non_null(strstr(err.message, "only files inside"));
    }
    char longer[1000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(tnb_open_below(kept, longer, &fd, &err), TNB_UNTRUSTED);
    assert_int_equal(tnb_open_below(kept, "missing", &fd, &err), TNB_IO);
    tnb_mapping m;
    assert_int_equal(tnb_map_below(kept, "deep", 0, &m, &err), TNB_IO);
    assert_int_equal(tnb_map_below(kept, "deep/data", 0, &m, &err), TNB_OK);
    tnb_unmap(&m);
}

static void
paths_are_joined_and_taken_apart(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    assert_string_equal(tnb_path_join(a, "a", "b"), "a/b");
    assert_string_equal(tnb_path_join(a, "a/", "b"), "a/b");
    assert_string_equal(tnb_path_join(a, "", "b"), "b");
    assert_string_equal(tnb_path_join(a, "a", "/b"), "/b");
    assert_string_equal(tnb_path_dir(a, "a/b"), "a");
    assert_string_equal(tnb_path_dir(a, "b"), ".");
    assert_string_equal(tnb_path_dir(a, "/b"), "/");
    assert_string_equal(tnb_path_name("x/y.z"), "y.z");
    assert_true(tnb_ends_with("a.ini", ".ini"));
    assert_false(tnb_ends_with("ini", ".ini"));
    tnb_arena_free(a);
}

static void
a_cache_folder_that_others_may_write_is_refused(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    tnb_err err;
    const char *dir;
    char base[4400];
    snprintf(base, sizeof base, "%s", in_scratch("cache"));
    assert_int_equal(tnb_cache_dir(a, base, &dir, &err), TNB_OK);
    struct stat st;
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(tnb_cache_dir(a, base, &dir, &err), TNB_UNTRUSTED);
    assert_non_null(strstr(err.hint, "chmod go-w"));
    write_scratch("afile", "", 0);
    assert_int_equal(tnb_cache_dir(a, in_scratch("afile"), &dir, &err), TNB_IO);
    tnb_arena_free(a);
}

static void
this_tree_finds_itself(void **state)
{
    (void)state;
    const tnb_places *p = tnb_places_get();
    assert_non_null(p);
    assert_int_equal(p->library[0], '/');
    assert_true(p->build_tree);
    assert_true(tnb_ends_with(p->plugins, "/plugins-stage"));
    assert_true(tnb_threads_default() >= 1);
}

/* ---- programs ---- */

/* With the rights of another user than who started it, nothing of the environment counts. */
static void
privileged_processes_ignore_the_environment(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    assert_int_equal(chmod(write_scratch("evil", "#!/bin/sh\n", 10), 0755), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("PATH", scratch, 1);
        setenv("GCC_EXEC_PREFIX", scratch, 1);
        char **usual = tnb_child_environment();
        bool found = tnb_find_program(a, "evil") != NULL && usual[0] && usual[1];
        if (geteuid() != 0 || setresuid(65534, 0, 0) != 0)
            _exit(found ? 77 : 1);
        char **safe = tnb_child_environment();
        int n = 0;
        for (; safe[n]; n++)
            found &= strncmp(safe[n], "PATH=/usr", 9) == 0 || strcmp(safe[n], "LC_ALL=C") == 0;
        _exit(found && n == 2 && !tnb_find_program(a, "evil") && tnb_find_program(a, "sh") ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    tnb_arena_free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_mapped_and_read_within_its_limit),
        cmocka_unit_test(a_file_without_a_size_is_not_empty),
        cmocka_unit_test(a_file_appears_whole_or_not_at_all),
        cmocka_unit_test(privileged_processes_ignore_the_environment),
        cmocka_unit_test(only_regular_files_are_replaced),
        cmocka_unit_test(a_full_device_is_reported),
        cmocka_unit_test(only_files_below_the_folder_open),
        cmocka_unit_test(paths_are_joined_and_taken_apart),
        cmocka_unit_test(a_cache_folder_that_others_may_write_is_refused),
        cmocka_unit_test(this_tree_finds_itself),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_free);
}
