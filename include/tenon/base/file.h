/* SPDX-License-Identifier: Apache-2.0 */
/* Files: mapping, reading, writing that others never see half done, folders, paths.
 *
 * Messages of these functions name the file. Sizes come from the open file and are checked against
 * the caller's limit before anything is mapped or allocated.
 */
#ifndef TENON_BASE_FILE_H
#define TENON_BASE_FILE_H

#include "tenon/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading ---- */

/* A file mapped read-only. An empty file has data == "" and size 0. Zero-initialise; unmapping a
 * zero one is fine. */
typedef struct tnb_mapping {
    const void *data;
    uint64_t size;
} tnb_mapping;

/* Maps the regular file at `path`. TNB_IO when it cannot be opened or read, is no regular file, or has bytes
 * without a size, as files of /proc;
 * TNB_BOUNDS when it is larger than `max` bytes (0: no limit). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_map_file(const char *path, uint64_t max, tnb_mapping *out, tnb_err *err);
/* The same for a descriptor, which stays open and the caller's; `name` is for messages. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_map_fd(int fd, const char *name, uint64_t max, tnb_mapping *out, tnb_err *err);
/* The same for `relative` strictly below the folder `dir` (see tnb_open_below). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_map_below(const char *dir, const char *relative, uint64_t max, tnb_mapping *out, tnb_err *err);
TNB_EXPORT void
tnb_unmap(tnb_mapping *m);

/* The whole file in memory from malloc, with a terminating zero behind it; also pipes and the like.
 * `path` "-" is standard input. TNB_BOUNDS above `max` bytes (0: 1 GiB). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_read_file(const char *path, uint64_t max, char **data, size_t *n, tnb_err *err);

/* Opens a file that a document names, for reading, close on exec: refuses (TNB_UNTRUSTED) absolute
 * paths, "..", and any symbolic link below `dir`, so that the file lies inside `dir`. `dir` itself
 * may be or contain a link. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_open_below(const char *dir, const char *relative, int *fd, tnb_err *err);

/* ---- writing ---- */

/* A regular file that is written beside its place and takes it at once. Where the place is a link,
 * what it leads to is replaced, not the link. */
typedef struct tnb_new_file {
    int fd;                 /* to read and write; -1: closed */
    char *path, *temporary; /* of the place, and of the file until it takes it */
} tnb_new_file;
/* TNB_IO when it cannot be made there, or when the place holds something else than a regular
 * file. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_new_file_open(const char *path, tnb_new_file *out, tnb_err *err);
/* Closes the file and renames it into its place, with mode 0666 less umask. Frees `f`, also on
 * failure; then nothing is left behind. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_new_file_commit(tnb_new_file *f, tnb_err *err);
/* Removes it; a zero-initialised one is fine. */
TNB_EXPORT void
tnb_new_file_abandon(tnb_new_file *f);

/* Buffered writing of such a file; tnb_out_commit puts it into its place. `path` "-" is
 * standard output, a device or pipe is written directly. Writes may be buffered; the first failure
 * is kept and returned by every later call. */
typedef struct tnb_out tnb_out;
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_out_open(const char *path, tnb_out **out, tnb_err *err);
TNB_EXPORT tnb_status
tnb_out_write(tnb_out *o, const void *p, size_t n, tnb_err *err);
/* Bytes written so far. */
TNB_EXPORT uint64_t
tnb_out_pos(const tnb_out *o);
/* Zeros up to the next multiple of `align` (a power of two). */
TNB_EXPORT tnb_status
tnb_out_align(tnb_out *o, uint64_t align, tnb_err *err);
/* Overwrites bytes written before, as a header whose content is known at the end. Regular files
 * only. */
TNB_EXPORT tnb_status
tnb_out_patch(tnb_out *o, uint64_t at, const void *p, size_t n, tnb_err *err);
/* Finishes the file and frees `o` (NULL is fine), also on failure. The file has mode 0666 less
 * umask. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_out_commit(tnb_out *o, tnb_err *err);
/* Removes what was written and frees `o`; NULL is fine. */
TNB_EXPORT void
tnb_out_abandon(tnb_out *o);

/* All of that in one. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_write_file(const char *path, const void *p, size_t n, tnb_err *err);

/* ---- temporary files ---- */

/* A new folder below TMPDIR or /tmp, mode 0700, for files. */
enum { TNB_TEMPORARY_PATH = 256 };
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_temporary_dir(char path[TNB_TEMPORARY_PATH], tnb_err *err);
/* Removes it with its files. */
TNB_EXPORT void
tnb_temporary_remove(const char *path);
/* Another path to be removed should the program be interrupted, until it is forgotten. New files
 * (tnb_new_file_open, tnb_out_open) are added by themselves. */
TNB_EXPORT void
tnb_temporary_add(const char *path);
TNB_EXPORT void
tnb_temporary_forget(const char *path);
/* For a program's handlers of signals that end it: removes all of them. May be called there. */
TNB_EXPORT void
tnb_temporary_remove_all(void);

/* Writes all of it, at offset `at`, or at the file's own place where `at` is below 0. False with errno;
 * EFBIG above the process's limit of file sizes, without the signal that the system sends then. */
TNB_EXPORT TNB_MUST_CHECK bool
tnb_write_all(int fd, const void *p, size_t n, int64_t at);

/* ---- programs ---- */

/* The path of a program: of a name without '/' in the first absolute folder of PATH that has it, in a
 * privileged process in the system's own folders. In the arena or `name` itself; NULL: there is none. */
TNB_EXPORT const char *
tnb_find_program(tnb_arena *a, const char *name);
/* The environment for a program that is started: that of this process with messages in English, in a
 * privileged process PATH alone. To be freed with free(), its texts are borrowed; NULL without memory. */
TNB_EXPORT char **
tnb_child_environment(void);
/* Where writing failed for want of room, `e` of errno, a hint at what helps; else nothing. */
TNB_EXPORT void
tnb_hint_room(int e, tnb_err *err);
/* A program that tries what may end or hold up a process (asking a driver), and what befell it. */
enum { TNB_PROBE_TEXT = 160 };
typedef struct tnb_probe {
    /* Given each line of its standard output, printable and cut to TNB_PROBE_TEXT bytes; sets `done` when that is all. */
    void (*line)(void *user, const char *line);
    void *user;
    bool done, late;           /* late: it had its time */
    int status;                /* as wait has it; -1: not known */
    char said[TNB_PROBE_TEXT]; /* the last line on its standard error */
} tnb_probe;
/* Runs it with one argument (NULL: none) until `done`, its end, or the limit; it is gone then. False: it could not be started. */
TNB_EXPORT TNB_MUST_CHECK bool
tnb_probe_run(const char *program, const char *argument, long limit_ms, tnb_probe *p);
/* "WHO ended the probe by signal 6 (SIGABRT), and said 'TEXT'", with TNB_DEVICE. */
TNB_EXPORT void
tnb_probe_explain(const tnb_probe *p, const char *who, long limit_ms, tnb_err *why);
/* The path of the program in a plugin's folder. False: it is not there, or not to be trusted (then err tells). */
TNB_EXPORT TNB_MUST_CHECK bool
tnb_probe_find(const char *folder, const char *name, char *out, size_t n, tnb_err *err);
/* Milliseconds: the seconds that the environment's variable says, else the usual ones. */
TNB_EXPORT long
tnb_probe_limit(const char *variable, long usual_seconds);
/* A group of processes that is to end with this program, should that be interrupted, until it is
 * forgotten; and, for handlers of signals, their end. What does not fit the table of 256 is left. A thread calls tnb_child_begin,
 * starts the processes, and calls tnb_child_started, with 0 where that failed: in between no signal is handled in it, and
 * tnb_child_kill_all of another thread waits. */
TNB_EXPORT void
tnb_child_begin(void);
TNB_EXPORT void
tnb_child_started(long group);
TNB_EXPORT void
tnb_child_forget(long group);
TNB_EXPORT void
tnb_child_kill_all(void);

/* ---- folders and paths ---- */

/* The names in a folder that end in `suffix` (NULL: all), without "." and "..", sorted by bytes.
 * TNB_NOT_FOUND when the folder does not exist. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_list_dir(tnb_arena *a, const char *dir, const char *suffix, const char ***names, uint32_t *n,
             tnb_err *err);
/* Makes the folder and those above it. An existing folder is fine. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_make_dirs(const char *path, unsigned mode, tnb_err *err);
/* "DIR/NAME"; NAME alone when it is absolute or DIR is empty. */
TNB_EXPORT char *
tnb_path_join(tnb_arena *a, const char *dir, const char *name);
/* The folder part: "a/b" gives "a", "b" gives ".", "/b" gives "/". */
TNB_EXPORT char *
tnb_path_dir(tnb_arena *a, const char *path);
/* The last component, within `path`. */
TNB_EXPORT const char *
tnb_path_name(const char *path);
/* True when the text ends in `suffix`. */
TNB_EXPORT bool
tnb_ends_with(const char *s, const char *suffix);

/* ---- places ---- */

/* Where this Tenon lies: found from the resolved file of libtenon-base, so that a moved tree works;
 * in a build tree, the build's own folders. Absolute, without links. TENON_SYSCONFDIR and
 * TENON_DATADIR replace two of them, except in a privileged process. Lives as long as the program.
 */
typedef struct tnb_places {
    const char *library; /* the folder of libtenon-base */
    const char *plugins; /* installed (or staged) plugins */
    const char *conf;    /* the system's INI files */
    const char *data;    /* packages' INI files and other data */
    bool build_tree;
} tnb_places;
/* NULL without memory. */
TNB_EXPORT const tnb_places *
tnb_places_get(void);

/* True when the process runs with more rights than its user's: environment and user files are then
 * ignored. */
TNB_EXPORT bool
tnb_privileged(void);
/* getenv, but NULL in a privileged process, and for an empty value. Nothing else in Tenon asks for
 * variables (make lint). */
TNB_EXPORT const char *
tnb_env(const char *name);
/* HOME, where it is a folder that is there: a service's may name none, which is not made. Else NULL. */
TNB_EXPORT const char *
tnb_home(void);

/* The folder for caches of this ABI version: `wanted` (a configured folder) or
 * $XDG_CACHE_HOME/tenon, or
 * ~/.cache/tenon, with the ABI's number below. Made with mode 0700 if need be. TNB_UNTRUSTED when
 * it belongs to someone else or others may write to it; TNB_IO when it cannot be made. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_cache_dir(tnb_arena *a, const char *wanted, const char **dir, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
