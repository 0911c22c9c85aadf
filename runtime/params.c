/* SPDX-License-Identifier: Apache-2.0 */
/* The lazy tuple of an artifact's weights: what the metadata list, checked, and files mapped. An item is made under a lock when
 * it is first asked for; those that are made are read without it. */
#include "config.h"
#include "params_private.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tenon/base/hash.h"
#include "tenon/base/json.h"
#include "tenon/base/log.h"

#pragma weak params_use_file /* not in every program: see there */

enum { MAX_FILES = 4096 };

static params *
params_of(const tnr_tuple *t)
{
    return (params *)((char *)(uintptr_t)t - offsetof(params, tuple));
}

/* ---- files ---- */

static void
free_file(weights_file *f)
{
    if (!f)
        return;
    tnb_unmap(&f->map);
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f);
}

static void
destroy_file(tnr_object *o)
{
    free_file((weights_file *)o);
}

static void
release_file(void *owner)
{
    tnr_object_release(owner);
}

tnb_status
params_map_fd(int fd, const char *path, weights_file **out, tnb_err *err)
{
    struct stat st;
    weights_file *f = calloc(1, sizeof *f);
    if (!f || !(f->path = strdup(path))) {
        free(f);
        close(fd);
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory to open it", path);
    }
    f->object = (tnr_object){.refs = 1, .destroy = destroy_file};
    f->fd = fd;
    tnb_status s = TNB_OK;
    if (fstat(fd, &st) != 0)
        s = tnb_fail(err, TNB_IO, "%s cannot be opened: %s", path, strerror(errno));
    if (s == TNB_OK)
        s = tnb_map_fd(fd, path, 0, &f->map, err);
    if (s != TNB_OK) {
        free_file(f);
        return s;
    }
    f->written = st.st_mtim;
    *out = f;
    return TNB_OK;
}

static tnb_status
map_file(const char *path, weights_file **out, tnb_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tnb_fail(err, errno == ENOENT ? TNB_NOT_FOUND : TNB_IO, "%s cannot be opened: %s",
                        path, strerror(errno));
    return params_map_fd(fd, path, out, err);
}

/* Where a file may be, best first. */
static tnb_status
find_file(const tnr_artifact *a, const tnr_params_options *opt, bool alone, const char *recorded,
          tnb_arena *arena, weights_file **out, tnb_err *err)
{
    struct stat st;
    const char *name = tnb_path_name(recorded);
    if (opt->path) {
        bool folder = stat(opt->path, &st) == 0 && S_ISDIR(st.st_mode);
        if (!folder && !alone)
            return tnb_fail(err, TNB_INVALID,
                            "%s is no folder, but the weights lie in several files", opt->path);
        return map_file(folder ? tnb_path_join(arena, opt->path, name) : opt->path, out, err);
    }
    tnb_status s = map_file(recorded, out, err);
    if (s != TNB_NOT_FOUND)
        return s;
    const char *beside = tnb_path_join(arena, tnb_path_dir(arena, a->name), name);
    if (map_file(beside, out, NULL) == TNB_OK)
        return TNB_OK;
    (void)tnb_fail(
        err, TNB_NOT_FOUND,
        "the weights are neither in %s, where they were when the model was compiled, nor in %s",
        recorded, beside);
    tnb_hint(err, "put the checkpoint's file beside the artifact, name its place with --weights, "
                  "or compile the model again");
    return TNB_NOT_FOUND;
}

static tnb_status
bad_metadata(tnb_err *err, const char *what)
{
    return tnb_fail(err, TNB_FORMAT, "metadata: params: %s", what);
}

static bool
get_count(const json_t *o, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static bool
is_hash(tnb_hash128 h, const char *recorded)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, h.lo);
    return strcmp(text, recorded) == 0;
}

static tnb_hash128
sample_of(const weights_file *f)
{
    tnb_hash128 h;
    return tnb_hash_sample_file(f->fd, f->map.size, &h) ? h
                                                        : tnb_hash_sample(f->map.data, f->map.size);
}

/* Pages of a file that are no longer needed, from `start` up to where `bytes` end. */
static void
forget_pages(const weights_file *f, uint64_t start, uint64_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)f->map.data + start,
                    first = (at + page - 1) / page * page, last = (at + bytes) / page * page;
    if (last > first)
        (void)madvise((void *)first, last - first, MADV_DONTNEED);
}

static tnb_status
open_file(params *p, const tnr_artifact *a, const tnr_params_options *opt, const json_t *f,
          bool alone, tnb_err *err)
{
    uint64_t bytes, header;
    const char *path = json_string_value(json_object_get(f, "path")),
               *hash = json_string_value(json_object_get(f, "hash")),
               *sample = json_string_value(json_object_get(f, "sample"));
    if (!path || !hash || !get_count(f, "bytes", &bytes) || !get_count(f, "header", &header) ||
        header > bytes)
        return bad_metadata(err, "a file without 'path', 'bytes', 'header' and 'hash'");
    TNB_TRY(find_file(a, opt, alone, path, p->arena, &p->files[p->n_files], err));
    weights_file *w = p->files[p->n_files++];
    const char *differs = w->map.size != bytes                                ? "size differs"
                          : !is_hash(tnb_hash_128(w->map.data, header), hash) ? "header differs"
                          : sample && !is_hash(sample_of(w), sample)          ? "data differ"
                                                                              : NULL;
    forget_pages(w, 0, w->map.size);
    w->hash = tnb_strdup(p->arena, hash);
    if (!differs)
        return TNB_OK;
    (void)tnb_fail(err, TNB_DIFFERS,
                   "%s is not the checkpoint that the model was compiled from: its %s", w->path,
                   differs);
    tnb_hint(err, "compile the model again");
    return TNB_DIFFERS;
}

/* ---- the list ---- */

static tnb_status
read_weight(params *p, const json_t *o, weight *w, tnb_err *err)
{
    const char *name = json_string_value(json_object_get(o, "name")),
               *dtype = json_string_value(json_object_get(o, "dtype"));
    const json_t *shape = json_object_get(o, "shape");
    uint64_t file, count, bytes;
    if (!name || !dtype || !tnb_dtype_parse(dtype, strlen(dtype), &w->dtype) ||
        !tnb_dtype_exists(w->dtype))
        return bad_metadata(err, "a weight without name or dtype");
    w->name = tnb_strdup(p->arena, name);
    if (!json_is_array(shape) || json_array_size(shape) > WEIGHT_DIMS)
        return bad_metadata(err, "a weight without shape");
    w->ndim = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < w->ndim; i++) {
        const json_t *d = json_array_get(shape, i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return bad_metadata(err, "a weight with an extent that is no count");
        w->shape[i] = json_integer_value(d);
    }
    if (!get_count(o, "file", &file) || file >= p->n_files || !get_count(o, "offset", &w->offset) ||
        !get_count(o, "bytes", &w->bytes))
        return bad_metadata(err, "a weight without file and range");
    w->file = (uint32_t)file;
    TNB_TRY(tnb_shape_bytes(w->dtype, (int32_t)w->ndim, w->shape, &count, &bytes, err));
    const uint64_t size = p->files[file]->map.size;
    w->source_bytes = w->bytes;
    const transform_result result = {w->dtype, w->ndim, w->shape, bytes};
    w->how = json_object_get(o, "transform");
    w->unused = json_is_true(json_object_get(o, "unused"));
    if (w->how && bytes == w->bytes)
        TNB_TRY(transform_read(w->how, &result, p->arena, &w->transform, &w->source_bytes, err));
    if (bytes != w->bytes || w->offset > size || w->source_bytes > size - w->offset)
        return bad_metadata(err,
                            "a weight whose range is not that of its shape, or not in its file");
    return TNB_OK;
}

static tnb_status
read_list(params *p, const tnr_artifact *a, const tnr_params_options *opt, const json_t *root,
          tnb_err *err)
{
    const json_t *all = json_object_get(json_object_get(root, "attrs"), "params"),
                 *files = json_object_get(all, "files"), *list = json_object_get(all, "list");
    size_t n = json_array_size(files);
    if (n == 0 || n > MAX_FILES)
        return bad_metadata(err, "no files, or too many");
    p->files = TNB_NEW_N(p->arena, weights_file *, n + 1);
    for (size_t i = 0; i < n; i++)
        TNB_TRY(open_file(p, a, opt, json_array_get(files, i), n == 1, err));
    for (uint32_t i = 0; i < p->tuple.n; i++)
        TNB_TRY(read_weight(p, json_array_get(list, i), &p->list[i], err));
    return TNB_OK;
}

/* ---- items ---- */

/* One storage over a file, which views of all its weights share. */
static tnb_status
file_storage(params *p, weights_file *f, tnb_err *err)
{
    if (f->storage.tag != TNR_NULL)
        return TNB_OK;
    tnr_object_retain(&f->object);
    tnb_status st = tnr_storage_wrap(p->device, (void *)(uintptr_t)f->map.data, f->map.size,
                                     TNR_STORAGE_READ_ONLY, f, release_file, &f->storage, err);
    if (st != TNB_OK)
        tnr_object_release(&f->object);
    return st;
}

void
params_make_rows(const params *p, const weight *w, uint64_t first, uint64_t n, void *out)
{
    const weights_file *f = p->files[w->file];
    uint64_t at, bytes;
    transform_make(w->transform, (const char *)f->map.data + w->offset, first, n, out);
    transform_source_range(w->transform, first, n, &at, &bytes);
    forget_pages(f, w->offset + at, bytes);
}

uint64_t
params_step(const weight *w)
{
    const uint64_t unit = transform_unit(w->transform);
    const uint64_t units = ((uint64_t)1 << 20) / (transform_row_bytes(w->transform) * unit);
    return (units ? units : 1) * unit;
}

/* A weight that no file has as it is needed, in memory. */
static tnb_status
transform_item(params *p, const weight *w, tnr_value *out, tnb_err *err)
{
    const uint64_t rows = transform_rows(w->transform), step = params_step(w),
                   bytes = transform_row_bytes(w->transform);
    tnr_value v;
    TNB_TRY(tnr_tensor_new(p->device, w->shape, w->ndim, w->dtype, &v, err));
    char *memory = tnr_tensor_data(v.u.tensor), *buffer = memory ? memory : malloc(w->bytes);
    tnb_status st = buffer ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory to transform it");
    for (uint64_t at = 0; at < rows && st == TNB_OK; at += step)
        params_make_rows(p, w, at, step < rows - at ? step : rows - at, buffer + at * bytes);
    if (st == TNB_OK && !memory)
        st = tnr_tensor_write(v.u.tensor, buffer, w->bytes, err);
    if (!memory)
        free(buffer);
    if (st == TNB_OK)
        *out = v;
    else
        tnr_release(&v);
    return st;
}

static tnb_status
make_item(params *p, uint32_t i, tnr_value *out, tnb_err *err)
{
    const weight *w = &p->list[i];
    weights_file *f = p->files[w->file];
    const char *at = (const char *)f->map.data + w->offset;
    const uint32_t alignment = p->device->driver->alignment;
    if (w->transform) {
        TNB_TRY(transform_item(p, w, out, err));
        p->copied += w->bytes;
        return TNB_OK;
    }
    if (w->bytes && tnr_device_is_host(p->device) &&
        (uintptr_t)at % (alignment ? alignment : 1) == 0) {
        TNB_TRY(file_storage(p, f, err));
        TNB_TRY(tnr_tensor_view(f->storage.u.storage, w->offset, w->shape, w->ndim, w->dtype, out,
                                err));
        p->mapped += w->bytes;
        return TNB_OK;
    }
    TNB_TRY(tnr_tensor_from(p->device, at, w->shape, w->ndim, w->dtype, out, err));
    p->copied += w->bytes;
    forget_pages(f, w->offset, w->bytes);
    return TNB_OK;
}

static tnb_status
item(tnr_tuple *t, uint32_t i, tnb_err *err)
{
    params *p = params_of(t);
    tnr_value v = tnr_null();
    tnb_status st = TNB_OK;
    pthread_mutex_lock(&p->lock);
    if (t->items[i].tag == TNR_NULL && (st = make_item(p, i, &v, err)) == TNB_OK) {
        t->items[i].u = v.u;
        __atomic_store_n(&t->items[i].tag, v.tag, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&p->lock);
    if (st != TNB_OK)
        tnb_err_prefix(err, "weight '%s'", p->list[i].name);
    return st;
}

tnb_status
params_check_files(const params *p, tnb_err *err)
{
    struct stat st;
    for (uint32_t i = 0; i < p->n_files; i++) {
        const weights_file *f = p->files[i];
        if (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size == f->map.size &&
            st.st_mtim.tv_sec == f->written.tv_sec && st.st_mtim.tv_nsec == f->written.tv_nsec)
            continue;
        (void)tnb_fail(err, TNB_IO, "%s was changed while it is in use", f->path);
        tnb_hint(err, "open the model again");
        return TNB_IO;
    }
    return TNB_OK;
}

/* Whether the files are as they were. */
static tnb_status
check(tnr_tuple *t, tnb_err *err)
{
    return params_check_files(params_of(t), err);
}

static void
destroy(tnr_object *o)
{
    params *p = params_of((tnr_tuple *)o);
    for (uint32_t i = 0; i < p->tuple.n; i++)
        tnr_release(&p->tuple.items[i]);
    for (uint32_t i = 0; i < p->n_files; i++) {
        tnr_value storage = p->files[i]->storage;
        p->files[i]->storage = tnr_null();
        tnr_release(&storage);
        tnr_object_release(&p->files[i]->object);
    }
    tnb_arena_free(p->arena);
    pthread_mutex_destroy(&p->lock);
    tnr_object_release(&p->device->object);
    free(p);
}

/* ---- opening ---- */

uint32_t
tnr_params_count(const tnr_artifact *a)
{
    return a ? a->n_weights : 0;
}

static tnb_status
take_options(const tnr_params_options *opt, tnr_params_options *out, tnb_err *err)
{
    *out = (tnr_params_options){0};
    if (opt && opt->size && opt->size != sizeof *out) {
        (void)tnb_fail(err, TNB_ABI, "the options of weights have %" PRIu32 " bytes of %zu",
                       opt->size, sizeof *out);
        tnb_hint(err, "rebuild the program against the headers of this Tenon");
        return TNB_ABI;
    }
    if (opt)
        *out = *opt;
    return TNB_OK;
}

void
params_warn_memory(const char *why)
{
    tnb_log(TNB_LOG_WARN,
            "weights are transformed in memory, each time that the model is opened: %s", why);
}

static tnb_status
use_parameter_file(params *p, const struct tnb_conf *conf, const tnr_params_options *opt,
                   tnb_err *err)
{
    bool any = false;
    for (uint32_t i = 0; i < p->tuple.n; i++)
        any |= p->list[i].transform != NULL;
    if (!any || opt->no_cache)
        return TNB_OK;
    if (params_use_file)
        return params_use_file(p, conf, opt, err);
    params_warn_memory("this program is linked without parameter files");
    return TNB_OK;
}

tnb_status
tnr_params_open(tnr_vm *vm, const tnr_params_options *opt, tnr_value *out, tnb_err *err)
{
    NEED(vm, err);
    NEED(out, err);
    tnr_params_options given;
    json_t *root = NULL;
    const tnr_artifact *a = vm->artifact;
    TNB_TRY(take_options(opt, &given, err));
    if (!a->n_weights)
        return tnb_fail(err, TNB_NOT_FOUND, "%s: the artifact has no weights in files of their own",
                        a->name);
    params *p = calloc(1, sizeof *p + a->n_weights * sizeof(tnr_value));
    tnb_arena *arena = tnb_arena_new();
    if (!p || !arena || pthread_mutex_init(&p->lock, NULL) != 0) {
        tnb_arena_free(arena);
        free(p);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a tuple of %" PRIu32 " items",
                        a->n_weights);
    }
    p->arena = arena;
    p->device = vm->device;
    tnr_object_retain(&p->device->object);
    p->lazy = (tnr_lazy){.item = item, .check = check};
    p->tuple.object = (tnr_object){.refs = 1, .nests = 1, .destroy = destroy};
    p->tuple.n = a->n_weights;
    p->tuple.lazy = &p->lazy;
    p->list = TNB_NEW_N(arena, weight, a->n_weights);
    tnr_value v = {.tag = TNR_TUPLE, .u.tuple = &p->tuple};
    tnb_status st =
        tnb_json_parse(a->metadata, strlen(a->metadata), JSON_REJECT_DUPLICATES, &root, err);
    if (st == TNB_OK)
        st = read_list(p, a, &given, root, err);
    if (st == TNB_OK)
        st = use_parameter_file(p, vm->rt->opt.conf, &given, err);
    if (st == TNB_OK && tnb_arena_failed(arena))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for the list of weights");
    json_decref(root);
    if (st != TNB_OK) {
        tnr_release(&v);
        return st;
    }
    *out = v;
    return TNB_OK;
}

void
tnr_params_bytes(tnr_value v, uint64_t *mapped, uint64_t *copied)
{
    bool is = v.tag == TNR_TUPLE && v.u.tuple && v.u.tuple->lazy && v.u.tuple->lazy->item == item;
    params *p = is ? params_of(v.u.tuple) : NULL;
    if (p)
        pthread_mutex_lock(&p->lock);
    if (mapped)
        *mapped = p ? p->mapped : 0;
    if (copied)
        *copied = p ? p->copied : 0;
    if (p)
        pthread_mutex_unlock(&p->lock);
}
