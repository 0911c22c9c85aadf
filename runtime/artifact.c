/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts: maps the file and checks header, section table, hashes and programs before anything is
 * used. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "internal.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"

/* ---- sections ---- */

static tnb_status
check_header(const tnr_artifact *a, tnb_tno_header *h, tnb_err *err)
{
    if (a->n < sizeof *h)
        return tnb_fail(err, TNB_FORMAT, "%" PRIu64 " bytes are too short for an artifact", a->n);
    memcpy(h, a->map, sizeof *h);
    if (memcmp(h->magic, TNB_TNO_MAGIC, sizeof h->magic) != 0)
        return tnb_fail(err, TNB_FORMAT, "not an artifact of Tenon: it does not begin with '%s'",
                        TNB_TNO_MAGIC);
    if (h->byte_order != TNB_TNO_BYTE_ORDER)
        return tnb_fail(err, TNB_FORMAT, "the artifact's byte order is not this machine's");
    if (h->major != TNB_TNO_MAJOR || h->minor > TNB_TNO_MINOR) {
        (void)tnb_fail(err, TNB_ABI,
                       "the artifact has format %u.%u, this runtime reads up to %d.%d", h->major,
                       h->minor, TNB_TNO_MAJOR, TNB_TNO_MINOR);
        tnb_hint(err,
                 "compile the model again with the Tenon that is installed, or update the runtime");
        return TNB_ABI;
    }
    for (size_t i = 0; i < sizeof h->reserved; i++)
        if (h->reserved[i])
            return tnb_fail(err, TNB_FORMAT, "a reserved byte of the header is not zero");
    if (h->file_size != a->n)
        return tnb_fail(err, TNB_FORMAT, "the header says %" PRIu64 " bytes, the file has %" PRIu64,
                        h->file_size, a->n);
    if (h->n_sections > TNB_TNO_MAX_SECTIONS ||
        h->n_sections * sizeof(tnb_tno_section) > a->n - sizeof *h)
        return tnb_fail(err, TNB_FORMAT, "a table of %" PRIu32 " sections does not fit the file",
                        h->n_sections);
    if (h->n_variants == 0 || h->n_variants > h->n_sections)
        return tnb_fail(err, TNB_FORMAT, "%" PRIu32 " variants in %" PRIu32 " sections",
                        h->n_variants, h->n_sections);
    return TNB_OK;
}

static int
by_offset(const void *x, const void *y)
{
    const tnb_tno_section *a = x, *b = y;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static const char *
section_name(uint32_t kind)
{
    static const char *const names[] = {"?",    "metadata",  "program",
                                        "code", "constants", "fallback code"};
    return kind <= TNB_TNO_FALLBACK_CODE ? names[kind] : names[0];
}

/* Puts one section where it belongs; a second one of the same purpose is refused. */
static tnb_status
place_section(tnr_artifact *a, const tnb_tno_section *s, struct section *metadata, tnb_err *err)
{
    struct section *to = NULL;
    bool per_variant =
        s->kind == TNB_TNO_PROGRAM || s->kind == TNB_TNO_CODE || s->kind == TNB_TNO_FALLBACK_CODE;
    if (s->kind < TNB_TNO_METADATA || s->kind > TNB_TNO_FALLBACK_CODE)
        return tnb_fail(err, TNB_FORMAT, "a section of unknown kind %" PRIu32, s->kind);
    if (per_variant ? s->variant >= a->n_variants : s->variant != 0)
        return tnb_fail(err, TNB_FORMAT, "a %s section is for variant %" PRIu32 " of %" PRIu32,
                        section_name(s->kind), s->variant, a->n_variants);
    switch (s->kind) {
    case TNB_TNO_METADATA:
        to = metadata;
        break;
    case TNB_TNO_PROGRAM:
        to = &a->variants[s->variant].program;
        break;
    case TNB_TNO_CODE:
        to = &a->variants[s->variant].code;
        break;
    case TNB_TNO_FALLBACK_CODE:
        to = &a->variants[s->variant].fallback;
        break;
    default:
        to = &a->constants;
        a->constants_hash = s->hash;
    }
    if (to->at)
        return tnb_fail(err, TNB_FORMAT, "two %s sections for one purpose", section_name(s->kind));
    *to = (struct section){.at = a->map + s->offset, .n = s->size};
    /* what is verified is the copy that runs, whatever becomes of the file */
    if (s->kind == TNB_TNO_PROGRAM) {
        void *copy = tnb_try_alloc_n(a->arena, to->n, 1);
        if (!copy)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory to read an artifact");
        to->at = memcpy(copy, to->at, to->n);
    }
    if (s->kind != TNB_TNO_CONSTANTS && tnb_hash_128(to->at, to->n).lo != s->hash)
        return tnb_fail(err, TNB_FORMAT, "the %s section is damaged (its hash differs)",
                        section_name(s->kind));
    return TNB_OK;
}

static tnb_status
read_sections(tnr_artifact *a, const tnb_tno_header *h, struct section *metadata, tnb_err *err)
{
    uint64_t table_bytes = h->n_sections * sizeof(tnb_tno_section);
    tnb_tno_section *t = tnb_dup(a->arena, a->map + sizeof *h, table_bytes);
    a->n_variants = h->n_variants;
    a->variants = TNB_NEW_N(a->arena, struct variant, h->n_variants);
    if (tnb_arena_failed(a->arena))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to read an artifact");
    if (tnb_hash_128(t, table_bytes).lo != h->table_hash)
        return tnb_fail(err, TNB_FORMAT, "the section table is damaged (its hash differs)");
    qsort(t, h->n_sections, sizeof *t, by_offset);
    uint64_t end = sizeof *h + table_bytes;
    for (uint32_t i = 0; i < h->n_sections; i++) {
        if (t[i].offset % TNB_TNO_ALIGN || t[i].offset < end || t[i].offset > a->n ||
            t[i].size > a->n - t[i].offset)
            return tnb_fail(err, TNB_FORMAT,
                            "the %s section at offset %" PRIu64 " of %" PRIu64
                            " bytes does not lie in the file, or in another "
                            "section",
                            section_name(t[i].kind), t[i].offset, t[i].size);
        end = t[i].offset + t[i].size;
        TNB_TRY(place_section(a, &t[i], metadata, err));
    }
    if (!metadata->at)
        return tnb_fail(err, TNB_FORMAT, "the artifact has no metadata");
    for (uint32_t i = 0; i < a->n_variants; i++)
        if (!a->variants[i].program.at)
            return tnb_fail(err, TNB_FORMAT, "variant %" PRIu32 " has no program", i);
    return TNB_OK;
}

static void
free_artifact(tnr_object *o)
{
    tnr_artifact *a = (tnr_artifact *)o;
    tnb_mapping m = {.data = a->map, .size = a->n};
    if (a->holds == HOLDS_MEMORY)
        free(a->map);
    else if (a->holds == HOLDS_MAPPING)
        tnb_unmap(&m);
    if (a->fd >= 0)
        close(a->fd);
    tnb_arena_free(a->arena);
    free(a->name);
    free(a);
}

/* Takes the bytes over, also on failure; `watched` (may be NULL) is what `fd` was when they were
 * mapped. */
static tnb_status
open_bytes(void *map, uint64_t n, enum holds holds, int fd, const struct stat *watched,
           const char *name, tnr_artifact **out, tnb_err *err)
{
    tnr_artifact *a = calloc(1, sizeof *a);
    if (!a) {
        tnb_mapping m = {.data = map, .size = n};
        if (holds == HOLDS_MEMORY)
            free(map);
        else if (holds == HOLDS_MAPPING)
            tnb_unmap(&m);
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory to open an artifact", name);
    }
    a->object = (tnr_object){.refs = 1, .destroy = free_artifact};
    a->map = map;
    a->n = n;
    a->holds = holds;
    a->fd = watched ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (watched)
        a->written = watched->st_mtim;
    a->name = strdup(name);
    a->arena = tnb_arena_new();
    tnb_status st = a->name && a->arena && (!watched || a->fd >= 0)
                        ? TNB_OK
                        : tnb_fail(err, TNB_NO_MEMORY, "no memory to open an artifact");
    tnb_tno_header h;
    struct section metadata = {0};
    if (st == TNB_OK)
        st = check_header(a, &h, err);
    if (st == TNB_OK)
        st = read_sections(a, &h, &metadata, err);
    if (st == TNB_OK)
        st = tnr_artifact_read_metadata(a, metadata.at, metadata.n, err);
    for (uint32_t i = 0; st == TNB_OK && i < a->n_variants; i++) {
        tnb_tno_view p;
        st = tnb_tno_verify(a->variants[i].program.at, a->variants[i].program.n, a->constants.n, &p,
                            err);
        if (st != TNB_OK)
            tnb_err_prefix(err, "variant %" PRIu32, i);
    }
    if (st != TNB_OK) {
        tnb_err_prefix(err, "%s", name);
        tnr_artifact_close(a);
        return st;
    }
    *out = a;
    return TNB_OK;
}

enum { SMALL_FILE = 256 << 10 }; /* bytes; read in 0.1 ms */

/* Whether someone else may write the file: somebody could then change it between the check of a
 * byte and its use. As tnb_trust_fd judges. */
static bool
others_may_write(const struct stat *st)
{
    uid_t me = geteuid();
    bool own_group = st->st_gid == st->st_uid && st->st_uid == me;
    return (st->st_uid != 0 && st->st_uid != me) || st->st_mode & S_IWOTH ||
           (st->st_mode & S_IWGRP && !own_group);
}

static tnb_status
read_whole(int fd, const char *name, uint64_t n, void **out, tnb_err *err)
{
    void *p;
    if (n > PTRDIFF_MAX || posix_memalign(&p, TNB_TNO_PAGE, n ? n : 1) != 0)
        return tnb_fail(err, TNB_NO_MEMORY,
                        "%s: no memory for an artifact of %" PRIu64 " bytes, which is not mapped: "
                        "it is small, or others may write the file",
                        name, n);
    for (uint64_t at = 0; at < n;) {
        ssize_t k = pread(fd, (char *)p + at, n - at < 1u << 30 ? n - at : 1u << 30, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            free(p);
            return tnb_fail(err, TNB_IO, "%s: %s", name,
                            k < 0 ? "it cannot be read" : "it was shortened while it is read");
        }
        at += (uint64_t)k;
    }
    *out = p;
    return TNB_OK;
}

/* A regular file is read, where it is small or others may write it, or mapped. What is mapped has to be
 * looked at again before each run: of a small model that system call would be a good part of the time. */
static tnb_status
open_file(int fd, const char *name, bool anonymous, tnr_artifact **out, tnb_err *err)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !anonymous &&
        (st.st_size <= SMALL_FILE || others_may_write(&st))) {
        void *bytes = NULL;
        TNB_TRY(read_whole(fd, name, (uint64_t)st.st_size, &bytes, err));
        return open_bytes(bytes, (uint64_t)st.st_size, HOLDS_MEMORY, -1, NULL, name, out, err);
    }
    tnb_mapping m = {0};
    TNB_TRY(tnb_map_fd(fd, name, 0, &m, err));
    return open_bytes((void *)(uintptr_t)m.data, m.size, HOLDS_MAPPING, fd, anonymous ? NULL : &st,
                      name, out, err);
}

tnb_status
tnr_artifact_open(const char *path, tnr_artifact **out, tnb_err *err)
{
    NEED(path, err);
    NEED(out, err);
    /* not to wait for the other end of a pipe */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tnb_map_file(path, 0, &(tnb_mapping){0}, err); /* which says why */
    tnb_status st = open_file(fd, path, false, out, err);
    close(fd);
    return st;
}

tnb_status
tnr_artifact_open_fd(int fd, const char *name, tnr_artifact **out, tnb_err *err)
{
    NEED(name, err);
    NEED(out, err);
    struct stat st;
    bool anonymous = fstat(fd, &st) == 0 && st.st_nlink == 0;
    return open_file(fd, name, anonymous, out, err);
}

tnb_status
tnr_artifact_unchanged(const tnr_artifact *a, tnb_err *err)
{
    struct stat st;
    if (a->fd < 0 ||
        (fstat(a->fd, &st) == 0 && (uint64_t)st.st_size == a->n &&
         st.st_mtim.tv_sec == a->written.tv_sec && st.st_mtim.tv_nsec == a->written.tv_nsec))
        return TNB_OK;
    (void)tnb_fail(err, TNB_IO, "%s was changed while it is in use", a->name);
    tnb_hint(err,
             "open it again; to replace an artifact that runs, write a new file and rename it, "
             "as `tenon compile` does");
    return TNB_IO;
}

tnb_status
tnr_artifact_open_memory(const void *bytes, size_t n, const char *name, tnr_artifact **out,
                         tnb_err *err)
{
    NEED_N(bytes, n, err);
    NEED(name, err);
    NEED(out, err);
    void *copy;
    if (posix_memalign(&copy, TNB_TNO_PAGE, n ? n : 1) != 0)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory for an artifact of %zu bytes", name, n);
    if (n)
        memcpy(copy, bytes, n);
    return open_bytes(copy, n, HOLDS_MEMORY, -1, NULL, name, out, err);
}

tnb_status
tnr_artifact_open_borrowed(const void *bytes, size_t n, const char *name, tnr_artifact **out,
                           tnb_err *err)
{
    NEED_N(bytes, n, err);
    NEED(name, err);
    NEED(out, err);
    if ((uintptr_t)bytes % TNB_TNO_ALIGN) {
        (void)tnb_fail(err, TNB_INVALID,
                       "%s: the memory of an artifact begins %u bytes behind a multiple of %d",
                       name, (unsigned)((uintptr_t)bytes % TNB_TNO_ALIGN), TNB_TNO_ALIGN);
        tnb_hint(err,
                 "align it to %d bytes (alignas, aligned_alloc); tnr_artifact_open_memory copies "
                 "what is not aligned",
                 TNB_TNO_ALIGN);
        return TNB_INVALID;
    }
    return open_bytes((void *)(uintptr_t)bytes, n, HOLDS_NOTHING, -1, NULL, name, out, err);
}

void
tnr_artifact_close(tnr_artifact *a)
{
    if (a)
        tnr_object_release(&a->object);
}

/* ---- questions ---- */

const char *
tnr_artifact_name(const tnr_artifact *a)
{
    return a ? a->name : NULL;
}

const char *
tnr_artifact_metadata(const tnr_artifact *a)
{
    return a ? a->metadata : NULL;
}

tnb_status
tnr_artifact_check_data(const tnr_artifact *a, tnb_err *err)
{
    NEED(a, err);
    TNB_TRY(tnr_artifact_unchanged(a, err));
    if (a->constants.at && tnb_hash_128(a->constants.at, a->constants.n).lo != a->constants_hash)
        return tnb_fail(err, TNB_FORMAT, "%s: the constants are damaged (their hash differs)",
                        a->name);
    return TNB_OK;
}

uint32_t
tnr_artifact_variants(const tnr_artifact *a)
{
    return a ? a->n_variants : 0;
}

const tnr_variant *
tnr_artifact_variant(const tnr_artifact *a, uint32_t i)
{
    return a && i < a->n_variants ? &a->variants[i].info : NULL;
}

const tnr_signature *
tnr_artifact_function(const tnr_artifact *a, const char *name)
{
    for (uint32_t i = 0; a && name && i < a->n_functions; i++)
        if (strcmp(a->functions[i].name, name) == 0)
            return &a->functions[i];
    return NULL;
}

const tnr_signature *
tnr_artifact_function_at(const tnr_artifact *a, uint32_t i)
{
    return a && i < a->n_functions ? &a->functions[i] : NULL;
}

const tnr_external *
tnr_variant_external(const tnr_variant *v, const char *symbol)
{
    for (uint32_t i = 0; i < v->n_externals; i++)
        if (strcmp(v->externals[i].symbol, symbol) == 0)
            return &v->externals[i];
    return NULL;
}
