/* SPDX-License-Identifier: Apache-2.0 */
/* The file around VM programs: constant data streamed first, then the other sections, then header
 * and table.
 *
 * A file with a name is written beside its place and renamed; without one it is anonymous memory of
 * the system. Equal constants are found by hash and then compared with what the file holds.
 */
#include "config.h"
#include "tenon/kit/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/file.h"
#include "tenon/base/hash.h"

struct stored {
    tnb_hash128 hash;
    uint64_t offset, bytes; /* in the constants section */
    uint32_t next;          /* with the same bucket; UINT32_MAX ends */
};

enum { N_BUCKETS = 1024, CHUNK = 1 << 20 };
enum { A_VARIANT = 3 }; /* sections of a variant: program, code, code for the fallback */

struct tnk_artifact {
    tnb_arena *arena;
    tnb_new_file file; /* of an anonymous file only the descriptor */
    uint32_t n_variants, max_sections;
    tnb_tno_section *sections;
    uint32_t n_sections;
    uint64_t end;       /* of what was written */
    uint64_t constants; /* offset of the section; 0: not begun */
    bool constants_done;
    tnb_hasher *hasher; /* of the constants */
    TNB_VEC(struct stored) stored;
    uint32_t buckets[N_BUCKETS];
    char *chunk;
};

static uint64_t
align_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static const char *
name_of(const tnk_artifact *a)
{
    return a->file.path ? a->file.path : "artifact";
}

static tnb_status
write_at(tnk_artifact *a, uint64_t at, const void *bytes, uint64_t n, tnb_err *err)
{
    if (tnb_write_all(a->file.fd, bytes, n, (int64_t)at))
        return TNB_OK;
    int e = errno;
    (void)tnb_fail(err, TNB_IO, "cannot write '%s': %s", name_of(a), strerror(e));
    tnb_hint_room(e, err);
    return TNB_IO;
}

static tnb_status
read_at(tnk_artifact *a, uint64_t at, void *bytes, uint64_t n, tnb_err *err)
{
    char *p = bytes;
    while (n) {
        ssize_t k = pread(a->file.fd, p, n, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return tnb_fail(err, TNB_IO, "%s: reading back failed", name_of(a));
        if (k == 0) { /* in a hole at the end, which nothing was written behind yet */
            memset(p, 0, n);
            return TNB_OK;
        }
        p += k;
        at += (uint64_t)k;
        n -= (uint64_t)k;
    }
    return TNB_OK;
}

static tnb_status
open_file(tnk_artifact *a, const char *path, tnb_err *err)
{
    if (path)
        return tnb_new_file_open(path, &a->file, err);
    a->file.fd = memfd_create("tenon-artifact", MFD_CLOEXEC);
    return a->file.fd >= 0
               ? TNB_OK
               : tnb_fail(err, TNB_IO, "no anonymous file for the artifact: %s", strerror(errno));
}

tnb_status
tnk_artifact_new(const char *path, uint32_t n_variants, tnk_artifact **out, tnb_err *err)
{
    if (n_variants == 0 || 2 + A_VARIANT * (uint64_t)n_variants > TNB_TNO_MAX_SECTIONS)
        return tnb_fail(err, TNB_INVALID, "an artifact of %" PRIu32 " variants", n_variants);
    tnb_arena *arena = tnb_arena_new();
    tnk_artifact *a = arena ? TNB_NEW(arena, tnk_artifact) : NULL;
    if (!a)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write an artifact");
    a->arena = arena;
    a->file.fd = -1;
    a->n_variants = n_variants;
    a->max_sections = 2 + A_VARIANT * n_variants;
    a->sections = TNB_NEW_N(arena, tnb_tno_section, a->max_sections);
    a->chunk = tnb_alloc(arena, CHUNK);
    a->end = sizeof(tnb_tno_header) + a->max_sections * sizeof(tnb_tno_section);
    memset(a->buckets, 0xff, sizeof a->buckets);
    a->hasher = tnb_hasher_new();
    tnb_status st = a->hasher && !tnb_arena_failed(arena)
                        ? open_file(a, path, err)
                        : tnb_fail(err, TNB_NO_MEMORY, "no memory to write an artifact");
    if (st != TNB_OK)
        tnk_artifact_abandon(a);
    else
        *out = a;
    return st;
}

/* ---- constants ---- */

/* Appends zeros up to `to`, to file and hash. */
static tnb_status
pad_constants(tnk_artifact *a, uint64_t to, tnb_err *err)
{
    static const char zeros[TNB_TNO_ALIGN];
    uint64_t n = to - a->end;
    if (n == 0)
        return TNB_OK;
    TNB_TRY(write_at(a, a->end, zeros, n, err));
    tnb_hasher_put(a->hasher, zeros, n);
    a->end = to;
    return TNB_OK;
}

/* What a constant is made of: its bytes, or a chunk of a repeated element. */
struct source {
    const char *bytes;
    uint64_t n, step; /* `bytes` holds `step` of the n bytes, which repeat */
    bool zero;
};

static const char *
source_at(const struct source *s, uint64_t at, uint64_t *n)
{
    uint64_t left = s->n - at;
    if (s->step < s->n) {
        *n = left < s->step ? left : s->step;
        return s->bytes;
    }
    *n = left < CHUNK ? left : CHUNK;
    return s->bytes + at;
}

static tnb_status
same_bytes(tnk_artifact *a, const struct stored *s, const struct source *src, bool *same,
           tnb_err *err)
{
    uint64_t n;
    *same = true;
    for (uint64_t at = 0; *same && at < s->bytes; at += n) {
        const char *p = source_at(src, at, &n);
        TNB_TRY(read_at(a, a->constants + s->offset + at, a->chunk, n, err));
        *same = memcmp(a->chunk, p, n) == 0;
    }
    return TNB_OK;
}

/* The offset of equal bytes that are stored already. */
static tnb_status
find_stored(tnk_artifact *a, const struct source *src, tnb_hash128 h, bool *found, uint64_t *offset,
            tnb_err *err)
{
    *found = false;
    for (uint32_t i = a->buckets[h.lo % N_BUCKETS]; i != UINT32_MAX && !*found;
         i = a->stored.at[i].next) {
        const struct stored *s = &a->stored.at[i];
        if (s->bytes != src->n || s->hash.lo != h.lo || s->hash.hi != h.hi)
            continue;
        TNB_TRY(same_bytes(a, s, src, found, err));
        *offset = s->offset;
    }
    return TNB_OK;
}

static tnb_status
append(tnk_artifact *a, const struct source *src, tnb_err *err)
{
    uint64_t n;
    for (uint64_t at = 0; at < src->n; at += n) {
        const char *p = source_at(src, at, &n);
        if (!src->zero)
            TNB_TRY(write_at(a, a->end, p, n, err));
        tnb_hasher_put(a->hasher, p, n);
        a->end += n;
    }
    return TNB_OK;
}

static tnb_status
store(tnk_artifact *a, const struct source *src, tnb_hash128 h, uint64_t *offset, tnb_err *err)
{
    bool found;
    if (a->constants_done)
        return tnb_fail(err, TNB_INTERNAL, "a constant after the other sections");
    if (!a->constants)
        a->end = a->constants = align_up(a->end, TNB_TNO_PAGE);
    TNB_TRY(find_stored(a, src, h, &found, offset, err));
    if (found)
        return TNB_OK;
    TNB_TRY(pad_constants(a, align_up(a->end, TNB_TNO_ALIGN), err));
    *offset = a->end - a->constants;
    TNB_TRY(append(a, src, err));
    uint32_t *bucket = &a->buckets[h.lo % N_BUCKETS];
    struct stored s = {.hash = h, .offset = *offset, .bytes = src->n, .next = *bucket};
    *bucket = a->stored.n;
    TNB_PUSH(a->arena, a->stored, s);
    return tnb_arena_failed(a->arena)
               ? tnb_fail(err, TNB_NO_MEMORY, "no memory to write an artifact")
               : TNB_OK;
}

tnb_status
tnk_artifact_constant(tnk_artifact *a, const void *bytes, uint64_t n, uint64_t *offset,
                      tnb_err *err)
{
    struct source src = {.bytes = bytes, .n = n, .step = n};
    return store(a, &src, tnb_hash_128(bytes, n), offset, err);
}

tnb_status
tnk_artifact_splat(tnk_artifact *a, const void *elem, size_t size, uint64_t n, uint64_t *offset,
                   tnb_err *err)
{
    if (size == 0 || size > 16 || (size & (size - 1)) || n % size)
        return tnb_fail(err, TNB_INTERNAL, "a splat of %zu bytes an element", size);
    size_t step = n < CHUNK ? (size_t)n : CHUNK;
    tnb_hasher *hasher = tnb_hasher_new();
    char *chunk = malloc(step ? step : 1);
    if (!hasher || !chunk) {
        tnb_hasher_free(hasher);
        free(chunk);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write an artifact");
    }
    struct source src = {.bytes = chunk, .n = n, .step = step, .zero = true};
    for (size_t i = 0; i < size; i++)
        src.zero &= ((const char *)elem)[i] == 0;
    if (step)
        memcpy(chunk, elem, size);
    for (size_t have = size; have < step; have *= 2)
        memcpy(chunk + have, chunk, have < step - have ? have : step - have);
    for (uint64_t at = 0; at < n; at += CHUNK)
        tnb_hasher_put(hasher, chunk, n - at < CHUNK ? n - at : CHUNK);
    tnb_status st = store(a, &src, tnb_hasher_get(hasher), offset, err);
    tnb_hasher_free(hasher);
    free(chunk);
    return st;
}

static tnb_status
add_section(tnk_artifact *a, tnb_tno_section s, tnb_err *err)
{
    if (a->n_sections == a->max_sections)
        return tnb_fail(err, TNB_INTERNAL, "more sections than the artifact has room for");
    a->sections[a->n_sections++] = s;
    return TNB_OK;
}

static tnb_status
end_constants(tnk_artifact *a, tnb_err *err)
{
    if (a->constants_done)
        return TNB_OK;
    a->constants_done = true;
    if (!a->constants)
        return TNB_OK;
    tnb_tno_section s = {.kind = TNB_TNO_CONSTANTS,
                         .offset = a->constants,
                         .size = a->end - a->constants,
                         .hash = tnb_hasher_get(a->hasher).lo};
    return add_section(a, s, err);
}

/* ---- sections ---- */

/* A program that its reader would refuse is not written. */
static tnb_status
check_program(const tnk_artifact *a, uint32_t variant, const void *bytes, uint64_t n, tnb_err *err)
{
    tnb_tno_view view;
    uint64_t constants = 0;
    for (uint32_t i = 0; i < a->n_sections; i++)
        if (a->sections[i].kind == TNB_TNO_CONSTANTS)
            constants = a->sections[i].size;
    tnb_status st = tnb_tno_verify(bytes, n, constants, &view, err);
    if (st != TNB_OK)
        tnb_err_prefix(err, "%s: the program of variant %" PRIu32 " cannot be written", name_of(a),
                       variant);
    return st;
}

tnb_status
tnk_artifact_section(tnk_artifact *a, tnb_tno_kind kind, uint32_t variant, const void *bytes,
                     uint64_t n, tnb_err *err)
{
    TNB_TRY(end_constants(a, err));
    if (kind == TNB_TNO_PROGRAM)
        TNB_TRY(check_program(a, variant, bytes, n, err));
    a->end = align_up(a->end, TNB_TNO_ALIGN);
    tnb_tno_section s = {.kind = kind,
                         .variant = variant,
                         .offset = a->end,
                         .size = n,
                         .hash = tnb_hash_128(bytes, n).lo};
    TNB_TRY(write_at(a, a->end, bytes, n, err));
    a->end += n;
    return add_section(a, s, err);
}

static tnb_status
write_header(tnk_artifact *a, tnb_err *err)
{
    tnb_tno_header h = {.magic = TNB_TNO_MAGIC,
                        .byte_order = TNB_TNO_BYTE_ORDER,
                        .major = TNB_TNO_MAJOR,
                        .minor = TNB_TNO_MINOR,
                        .file_size = a->end,
                        .n_sections = a->n_sections,
                        .n_variants = a->n_variants,
                        .table_hash =
                            tnb_hash_128(a->sections, a->n_sections * sizeof *a->sections).lo};
    TNB_TRY(write_at(a, 0, &h, sizeof h, err));
    TNB_TRY(write_at(a, sizeof h, a->sections, a->n_sections * sizeof *a->sections, err));
    struct stat st;
    if (fstat(a->file.fd, &st) != 0)
        return tnb_fail(err, TNB_IO, "%s: %s", name_of(a), strerror(errno));
    /* an empty last section, or a hole, leaves the file short */
    return (uint64_t)st.st_size < a->end ? write_at(a, a->end - 1, "", 1, err) : TNB_OK;
}

tnb_status
tnk_artifact_finish(tnk_artifact *a, int *fd, uint64_t *bytes, tnb_err *err)
{
    tnb_status st = end_constants(a, err);
    if (st == TNB_OK)
        st = write_header(a, err);
    if (st == TNB_OK && a->file.temporary)
        st = tnb_new_file_commit(&a->file, err);
    if (st == TNB_OK) {
        *bytes = a->end;
        *fd = a->file.fd;
        a->file.fd = -1;
    }
    tnk_artifact_abandon(a);
    return st;
}

void
tnk_artifact_abandon(tnk_artifact *a)
{
    if (!a)
        return;
    tnb_new_file_abandon(&a->file);
    tnb_hasher_free(a->hasher);
    tnb_arena_free(a->arena);
}
