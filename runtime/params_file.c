/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter files: weights that are transformed once, kept in the cache and mapped.
 *
 * The format is safetensors'. The header follows from the artifact and from the checkpoint's files (sizes, hashes of their
 * headers, when they were written), so that a file is used only when its header is, byte for byte, the one that is expected,
 * and nothing in it has to be believed. Data begin at multiples of 64 (entries named "pad.N" fill gaps, which the format does
 * not have). Data are not hashed, as mapping would then read them all: the file has the checkpoint's modification time, which
 * changes when it is written to.
 */
#include "params_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tenon/base/cache.h"
#include "tenon/base/conf.h"
#include "tenon/base/hash.h"
#include "tenon/base/json.h"

enum { ALIGN = 64, USUAL_LIMIT = 65536 /* MiB, as [tenon] weights_cache_size */, VERSION = 1 };

typedef struct plan {
    tnb_cache cache;
    const char *key;
    char *header; /* with its length in front, from malloc */
    uint64_t header_bytes, data_bytes, total;
    struct timespec written; /* its mark */
} plan;

static bool
is_transformed(const weight *w)
{
    return w->transform != NULL && !w->unused;
}

/* ---- what the file is to be ---- */

/* All that decides what is in it. */
static const char *
key_of(params *p)
{
    tnb_buf b = {0};
    tnb_buf_printf(&b, "params %d\n", VERSION);
    for (uint32_t i = 0; i < p->n_files; i++) {
        const weights_file *f = p->files[i];
        tnb_buf_printf(&b, "%" PRIu64 " %s %lld %ld\n", f->map.size, f->hash,
                       (long long)f->written.tv_sec, f->written.tv_nsec);
    }
    for (uint32_t i = 0; i < p->tuple.n; i++) {
        const weight *w = &p->list[i];
        if (!is_transformed(w))
            continue;
        char *how = json_dumps(w->how, JSON_COMPACT | JSON_SORT_KEYS);
        tnb_buf_printf(&b, "%zu %s %s %" PRIu32 " %" PRIu64 " %s", strlen(w->name), w->name,
                       tnb_dtype_print(w->dtype).s, w->file, w->offset, how ? how : "");
        for (uint32_t k = 0; k < w->ndim; k++)
            tnb_buf_printf(&b, " %" PRId64, w->shape[k]);
        tnb_buf_putc(&b, '\n');
        b.failed |= !how;
        free(how);
    }
    const char *key =
        b.failed ? NULL : tnb_strdup(p->arena, tnb_hash_print(tnb_hash_128(b.s, b.n)).s);
    tnb_buf_free(&b);
    return key;
}

/* The format's name of a dtype; NULL: it has none. */
static const char *
dtype_name(tnb_dtype d)
{
    static const struct {
        tnb_dtype dtype;
        const char *name;
    } known[] = {{{TNB_UINT, 8, 1}, "U8"},    {{TNB_UINT, 32, 1}, "U32"},
                 {{TNB_INT, 8, 1}, "I8"},     {{TNB_FLOAT, 16, 1}, "F16"},
                 {{TNB_FLOAT, 32, 1}, "F32"}, {{TNB_BFLOAT, 16, 1}, "BF16"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tnb_dtype_eq(known[i].dtype, d))
            return known[i].name;
    return NULL;
}

static json_t *
describe(const char *dtype, const int64_t *shape, uint32_t ndim, uint64_t start, uint64_t bytes)
{
    json_t *o = json_object(), *dims = json_array();
    for (uint32_t i = 0; i < ndim; i++)
        json_array_append_new(dims, json_integer(shape[i]));
    json_object_set_new(o, "dtype", json_string(dtype));
    json_object_set_new(o, "shape", dims);
    json_object_set_new(o, "data_offsets",
                        json_pack("[I, I]", (json_int_t)start, (json_int_t)(start + bytes)));
    return o;
}

/* Adds the entries, and moves on `*at` in the data. False: it cannot be in such a file. */
static bool
add_entry(const params *p, json_t *header, uint32_t i, uint64_t *at)
{
    const weight *w = &p->list[i];
    char pad[32];
    /* a matrix of embeddings that is the last product's, too, may be there in two layouts */
    const char *name = json_object_get(header, w->name)
                           ? tnb_printf(p->arena, "%s.%" PRIu32, w->name, i)
                           : w->name;
    const char *dtype = dtype_name(w->dtype);
    const int64_t gap = (int64_t)(-w->bytes % ALIGN);
    if (!dtype || w->bytes > INT64_MAX / 2 - *at || !name || json_object_get(header, name))
        return false;
    json_object_set_new(header, name, describe(dtype, w->shape, w->ndim, *at, w->bytes));
    *at += w->bytes;
    snprintf(pad, sizeof pad, "pad.%" PRIu32, i);
    if (gap)
        json_object_set_new(header, pad, describe("U8", &gap, 1, *at, (uint64_t)gap));
    *at += (uint64_t)gap;
    return true;
}

/* False without memory, or where the weights cannot be in such a file. */
static bool
make_header(const params *p, plan *out)
{
    json_t *header = json_object();
    uint64_t at = 0;
    bool ok = json_object_set_new(header, "__metadata__",
                                  json_pack("{s: s, s: s}", "format", "tenon.params", "key",
                                            out->key)) == 0;
    for (uint32_t i = 0; ok && i < p->tuple.n; i++)
        if (is_transformed(&p->list[i]))
            ok = add_entry(p, header, i, &at);
    char *text = ok ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    const size_t n = text ? strlen(text) : 0;
    out->header_bytes = (8 + n + ALIGN - 1) / ALIGN * ALIGN;
    out->header = text ? malloc(out->header_bytes) : NULL;
    if (out->header) {
        const uint64_t length = out->header_bytes - 8;
        for (int i = 0; i < 8; i++)
            out->header[i] = (char)(length >> 8 * i);
        memset(out->header + 8, ' ', length);
        memcpy(out->header + 8, text, n);
    }
    free(text);
    out->data_bytes = at;
    out->total = out->header_bytes + at;
    return out->header != NULL;
}

/* ---- using one ---- */

/* A file system may keep whole seconds only. */
static bool
same_time(struct timespec is, struct timespec want)
{
    return is.tv_sec == want.tv_sec && (is.tv_nsec == want.tv_nsec || is.tv_nsec == 0);
}

/* Whether the open file is the one that is expected. */
static bool
is_right(int fd, const plan *pl)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || (uint64_t)st.st_size != pl->total ||
        !same_time(st.st_mtim, pl->written))
        return false;
    char *is = malloc(pl->header_bytes);
    bool right = is != NULL;
    for (uint64_t at = 0; right && at < pl->header_bytes;) {
        ssize_t n = pread(fd, is + at, pl->header_bytes - at, (off_t)at);
        right = n > 0 || (n < 0 && errno == EINTR);
        at += n > 0 ? (uint64_t)n : 0;
    }
    right = right && memcmp(is, pl->header, pl->header_bytes) == 0;
    free(is);
    return right;
}

/* Weights that were to be made lie in the file. */
static void
take(params *p, const plan *pl, weights_file *f)
{
    uint64_t at = pl->header_bytes;
    for (uint32_t i = 0; i < p->tuple.n; i++) {
        weight *w = &p->list[i];
        if (!is_transformed(w))
            continue;
        w->transform = NULL;
        w->file = p->n_files;
        w->offset = at;
        w->source_bytes = w->bytes;
        at += (w->bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    p->files[p->n_files++] = f;
}

static bool
find_file(params *p, const plan *pl)
{
    const char *path = tnb_printf(p->arena, "%s/%s%s", pl->cache.dir, pl->key, pl->cache.suffix);
    weights_file *f;
    int fd = tnb_cache_open_file(p->arena, &pl->cache, pl->key);
    if (fd < 0)
        return false;
    if (!is_right(fd, pl)) {
        close(fd);
        tnb_cache_drop(p->arena, &pl->cache, pl->key);
        return false;
    }
    if (params_map_fd(fd, path, &f, NULL) != TNB_OK)
        return false;
    if (f->map.size == pl->total) {
        take(p, pl, f);
        return true;
    }
    tnr_object_release(&f->object);
    return false;
}

/* ---- making one ---- */

/* The file is written in pieces of so many bytes, at multiples of them: file systems (ext4 and XFS for example) then keep it in memory by
 * huge pages, and mapping a gigabyte takes the system a millisecond instead of seventy. */
enum { PIECE = 4 << 20 };

typedef struct maker {
    const params *p;
    const tnr_params_options *opt;
    const plan *plan;
    int fd;
    char *piece; /* PIECE bytes, of which `filled` are to be written */
    uint64_t filled;
    uint64_t at, done; /* bytes: written, of data */
} maker;

static bool
flush(maker *m)
{
    bool ok = tnb_write_all(m->fd, m->piece, m->filled, (int64_t)m->at);
    m->at += m->filled;
    m->filled = 0;
    return ok;
}

static bool
put(maker *m, const void *bytes, uint64_t n)
{
    bool ok = true;
    for (const char *from = bytes; n && ok;) {
        const uint64_t some = n < PIECE - m->filled ? n : PIECE - m->filled;
        memcpy(m->piece + m->filled, from, some);
        m->filled += some;
        from += some;
        n -= some;
        ok = m->filled < PIECE || flush(m);
    }
    return ok;
}

static bool
put_weight(maker *m, const weight *w)
{
    static const char zeros[ALIGN];
    const uint64_t rows = transform_rows(w->transform), step = params_step(w),
                   bytes = transform_row_bytes(w->transform);
    void *buffer = malloc((step < rows ? step : rows) * bytes);
    bool ok = buffer != NULL;
    for (uint64_t row = 0; row < rows && ok; row += step) {
        const uint64_t n = step < rows - row ? step : rows - row;
        params_make_rows(m->p, w, row, n, buffer);
        ok = put(m, buffer, n * bytes);
        m->done += n * bytes;
        if (m->opt->progress)
            m->opt->progress(m->opt->user, m->done, m->plan->data_bytes);
    }
    free(buffer);
    return ok && put(m, zeros, -w->bytes % ALIGN);
}

/* TNB_IO and TNB_NO_MEMORY: it can be done without; other errors not. */
static tnb_status
make_file(params *p, const plan *pl, const tnr_params_options *opt, tnb_err *err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, pl->written};
    tnb_cache_file f;
    TNB_TRY(tnb_cache_new_file(p->arena, &pl->cache, pl->key, pl->total, &f, err));
    maker m = {.p = p, .opt = opt, .plan = pl, .fd = f.fd, .piece = malloc(PIECE)};
    bool ok = m.piece && put(&m, pl->header, pl->header_bytes);
    for (uint32_t i = 0; i < p->tuple.n && ok; i++)
        if (is_transformed(&p->list[i]))
            ok = put_weight(&m, &p->list[i]);
    ok = ok && flush(&m);
    free(m.piece);
    tnb_status st = TNB_OK;
    if (!ok || futimens(f.fd, times) != 0)
        st = tnb_fail(err, TNB_IO, "cannot write into the cache '%s': %s", pl->cache.dir,
                      strerror(errno));
    if (st == TNB_OK)
        st = params_check_files(p, err); /* what was read is one state of them */
    if (st == TNB_OK)
        return tnb_cache_keep_file(p->arena, &pl->cache, pl->key, &f, err);
    tnb_cache_abandon_file(&f);
    return st;
}

static tnb_status
open_cache(params *p, const struct tnb_conf *conf, plan *pl, tnb_err *err)
{
    const char *wanted = conf ? tnb_conf_text(conf, "tenon", "", "cache_dir") : NULL;
    int64_t mib = USUAL_LIMIT;
    if (conf)
        tnb_conf_int(conf, "tenon", "", "weights_cache_size", USUAL_LIMIT, &mib, NULL);
    return tnb_cache_open(p->arena, wanted ? wanted : "", ".safetensors", (uint64_t)mib << 20,
                          &pl->cache, err);
}

tnb_status
params_use_file(params *p, const struct tnb_conf *conf, const tnr_params_options *opt, tnb_err *err)
{
    plan pl = {.written = p->files[0]->written};
    tnb_err why = {0};
    tnb_status st = open_cache(p, conf, &pl, &why);
    if (st == TNB_OK && (!(pl.key = key_of(p)) || !make_header(p, &pl)))
        st = tnb_fail(&why, TNB_NO_MEMORY, "no memory for a parameter file's header");
    if (st == TNB_OK && !find_file(p, &pl)) {
        st = make_file(p, &pl, opt, &why);
        if (st == TNB_OK && !find_file(p, &pl))
            st = tnb_fail(&why, TNB_IO,
                          "the parameter file in '%s' was changed while it was written",
                          pl.cache.dir);
    }
    free(pl.header);
    if (st != TNB_OK && params_check_files(p, err) != TNB_OK)
        return TNB_IO;
    if (st != TNB_OK)
        params_warn_memory(why.message);
    return TNB_OK;
}
