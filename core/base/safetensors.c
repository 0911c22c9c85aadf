/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors files, and folders of them with an index. */
#include "tenon/base/safetensors.h"
#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

struct file {
    const char *path;
    tnb_mapping map;
    uint64_t header; /* bytes */
};

struct tnb_safetensors {
    tnb_arena *arena;
    bool borrowed; /* the bytes are someone else's */
    TNB_VEC(struct file) files;
    TNB_VEC(tnb_safetensor *) tensors;
    tnb_strmap by_name;
};

enum { MAX_HEADER = 100 << 20, MAX_FILES = 4096 };

/* ---- one file ---- */

static bool
find_dtype(const char *s, tnb_dtype *out)
{
    static const struct {
        const char *name;
        tnb_dtype dtype;
    } known[] = {
        {"F32", {TNB_FLOAT, 32, 1}},
        {"F16", {TNB_FLOAT, 16, 1}},
        {"BF16", {TNB_BFLOAT, 16, 1}},
        {"F64", {TNB_FLOAT, 64, 1}},
        {"I8", {TNB_INT, 8, 1}},
        {"U8", {TNB_UINT, 8, 1}},
        {"I16", {TNB_INT, 16, 1}},
        {"U16", {TNB_UINT, 16, 1}},
        {"I32", {TNB_INT, 32, 1}},
        {"U32", {TNB_UINT, 32, 1}},
        {"I64", {TNB_INT, 64, 1}},
        {"U64", {TNB_UINT, 64, 1}},
        {"BOOL", {TNB_BOOL, 8, 1}},
        {"F8_E4M3", {TNB_FLOAT8_E4M3FN, 8, 1}},
        {"F8_E5M2", {TNB_FLOAT8_E5M2, 8, 1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(s, known[i].name) == 0) {
            *out = known[i].dtype;
            return true;
        }
    return false;
}

static tnb_status
read_shape(const struct file *f, tnb_safetensor *t, const json_t *shape, tnb_err *err)
{
    size_t n = json_array_size(shape);
    if (!json_is_array(shape) || n > TNB_SAFETENSORS_MAX_DIMS)
        return tnb_fail(err, TNB_FORMAT,
                        "%s: tensor '%s' has a shape that is no array of up to %d extents", f->path,
                        t->name, TNB_SAFETENSORS_MAX_DIMS);
    for (size_t i = 0; i < n; i++) {
        const json_t *d = json_array_get(shape, i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return tnb_fail(err, TNB_FORMAT, "%s: extent %zu of tensor '%s' is no count", f->path,
                            i, t->name);
        t->shape[t->ndim++] = json_integer_value(d);
    }
    return TNB_OK;
}

static tnb_status
read_range(const struct file *f, tnb_safetensor *t, const json_t *offsets, tnb_err *err)
{
    const json_t *b = json_array_get(offsets, 0), *e = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(b) || !json_is_integer(e))
        return tnb_fail(err, TNB_FORMAT,
                        "%s: tensor '%s' has no two integers as its 'data_offsets'", f->path,
                        t->name);
    const int64_t begin = json_integer_value(b), end = json_integer_value(e);
    const uint64_t data = f->map.size - f->header;
    if (begin < 0 || end < begin || (uint64_t)end > data) {
        (void)tnb_fail(err, TNB_FORMAT,
                       "%s: tensor '%s' lies at %" PRId64 " to %" PRId64
                       " of the data, of which the file has %" PRIu64 " bytes",
                       f->path, t->name, begin, end, data);
        tnb_hint(err, "the file may be cut off: download it again");
        return TNB_FORMAT;
    }
    uint64_t count;
    if (!tnb_shape_count(t->ndim, t->shape, &count) ||
        count * tnb_dtype_bytes(t->dtype) != (uint64_t)(end - begin))
        return tnb_fail(err, TNB_FORMAT,
                        "%s: tensor '%s' has %" PRId64 " bytes, which is not what its shape and "
                        "type, %s, take",
                        f->path, t->name, end - begin, tnb_dtype_print(t->dtype).s);
    t->offset = f->header + (uint64_t)begin;
    t->bytes = (uint64_t)(end - begin);
    return TNB_OK;
}

static tnb_status
read_tensor(tnb_safetensors *s, const struct file *f, const char *name, const json_t *entry,
            tnb_err *err)
{
    tnb_safetensor *t = TNB_NEW(s->arena, tnb_safetensor);
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    t->name = tnb_strdup(s->arena, name);
    t->file = s->files.n - 1;
    if (!json_is_object(entry) || !type)
        return tnb_fail(err, TNB_FORMAT, "%s: tensor '%s' has no 'dtype'", f->path, name);
    if (!find_dtype(type, &t->dtype))
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "%s: tensor '%s' is of the type '%.32s', which is "
                        "not supported",
                        f->path, name, type);
    TNB_TRY(read_shape(f, t, json_object_get(entry, "shape"), err));
    TNB_TRY(read_range(f, t, json_object_get(entry, "data_offsets"), err));
    const tnb_safetensor *twice = tnb_strmap_get(&s->by_name, name);
    if (twice)
        return tnb_fail(err, TNB_FORMAT, "%s: tensor '%s' is in %s, too", f->path, name,
                        s->files.at[twice->file].path);
    tnb_strmap_set(&s->by_name, name, t);
    TNB_PUSH(s->arena, s->tensors, t);
    return TNB_OK;
}

static int
by_offset(const void *x, const void *y)
{
    const tnb_safetensor *a = *(const tnb_safetensor *const *)x,
                         *b = *(const tnb_safetensor *const *)y;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Of the tensors from `first` on, which are one file's. */
static tnb_status
check_overlap(const tnb_safetensors *s, const struct file *f, uint32_t first, tnb_err *err)
{
    uint32_t n = s->tensors.n - first;
    if (n < 2)
        return TNB_OK;
    tnb_safetensor **t = tnb_dup(s->arena, s->tensors.at + first, n * sizeof *t);
    qsort(t, n, sizeof *t, by_offset);
    for (uint32_t i = 1; i < n; i++)
        if (t[i]->offset < t[i - 1]->offset + t[i - 1]->bytes)
            return tnb_fail(err, TNB_FORMAT, "%s: tensors '%s' and '%s' overlap at offset %" PRIu64,
                            f->path, t[i - 1]->name, t[i]->name, t[i]->offset);
    return TNB_OK;
}

static tnb_status
read_header(tnb_safetensors *s, struct file *f, tnb_err *err)
{
    uint64_t n;
    json_t *header = NULL;
    if (f->map.size < 8)
        return tnb_fail(err, TNB_FORMAT, "%s: %" PRIu64 " bytes are too short for safetensors",
                        f->path, f->map.size);
    static const char lfs[] = "version https://git-lfs";
    if (f->map.size >= sizeof lfs && memcmp(f->map.data, lfs, sizeof lfs - 1) == 0) {
        (void)tnb_fail(err, TNB_FORMAT, "%s: a pointer of Git LFS in place of the file", f->path);
        tnb_hint(err, "`git lfs pull` in its repository fetches the file");
        return TNB_FORMAT;
    }
    memcpy(&n, f->map.data, 8);
    if (n > MAX_HEADER || n > f->map.size - 8)
        return tnb_fail(err, TNB_FORMAT,
                        "%s: not safetensors, or cut off: a header of %" PRIu64
                        " bytes in a file of %" PRIu64,
                        f->path, n, f->map.size);
    f->header = 8 + n;
    tnb_status st =
        tnb_json_parse((const char *)f->map.data + 8, n, JSON_REJECT_DUPLICATES, &header, err);
    if (st != TNB_OK) {
        tnb_err_prefix(err, "%s: header", f->path);
        return st;
    }
    if (!json_is_object(header))
        st = tnb_fail(err, TNB_FORMAT, "%s: the header is no JSON object", f->path);
    const char *key;
    json_t *entry;
    uint32_t first = s->tensors.n;
    json_object_foreach(header, key, entry)
    {
        if (st == TNB_OK && strcmp(key, "__metadata__") != 0)
            st = read_tensor(s, f, key, entry, err);
    }
    json_decref(header);
    return st == TNB_OK ? check_overlap(s, f, first, err) : st;
}

/* Takes the mapping over. */
static tnb_status
add_file(tnb_safetensors *s, const char *path, tnb_mapping map, tnb_err *err)
{
    struct file f = {.path = tnb_strdup(s->arena, path), .map = map};
    TNB_PUSH(s->arena, s->files, f);
    return read_header(s, &s->files.at[s->files.n - 1], err);
}

/* ---- a folder ---- */

static tnb_status
check_index(const tnb_safetensors *s, const char *path, const json_t *weights, tnb_err *err)
{
    const char *name;
    json_t *file;
    json_object_foreach((json_t *)(uintptr_t)weights, name, file)
    {
        const tnb_safetensor *t = tnb_strmap_get(&s->by_name, name);
        const char *wanted = json_string_value(file);
        if (!t || strcmp(tnb_path_name(s->files.at[t->file].path), wanted) != 0)
            return tnb_fail(err, TNB_FORMAT, "%s: tensor '%s' is not in %s, which the index says",
                            path, name, wanted);
    }
    return TNB_OK;
}

/* The files that the index names, each once. */
static tnb_status
add_indexed(tnb_safetensors *s, const char *dir, const char *path, const json_t *weights,
            tnb_err *err)
{
    const char *name;
    json_t *file;
    tnb_strmap seen;
    tnb_strmap_init(&seen, s->arena);
    if (!json_is_object(weights) || json_object_size(weights) == 0)
        return tnb_fail(err, TNB_FORMAT, "%s: the index has no 'weight_map'", path);
    json_object_foreach((json_t *)(uintptr_t)weights, name, file)
    {
        const char *f = json_string_value(file);
        if (!f || !*f || strchr(f, '/') || f[0] == '.')
            return tnb_fail(err, TNB_FORMAT,
                            "%s: the file of tensor '%s' is no name of a file in the folder", path,
                            name);
        if (tnb_strmap_has(&seen, f))
            continue;
        if (s->files.n == MAX_FILES)
            return tnb_fail(err, TNB_FORMAT, "%s: the index names more than %d files", path,
                            MAX_FILES);
        tnb_strmap_set(&seen, f, s);
        const char *at = tnb_path_join(s->arena, dir, f);
        tnb_mapping map = {0};
        TNB_TRY(tnb_map_file(at, 0, &map, err));
        TNB_TRY(add_file(s, at, map, err));
    }
    return check_index(s, path, weights, err);
}

static tnb_status
read_index(tnb_safetensors *s, const char *dir, const char *path, tnb_err *err)
{
    tnb_mapping map = {0};
    json_t *index = NULL;
    TNB_TRY(tnb_map_file(path, MAX_HEADER, &map, err));
    tnb_status st = tnb_json_parse(map.data, map.size, JSON_REJECT_DUPLICATES, &index, err);
    tnb_unmap(&map);
    if (st != TNB_OK) {
        tnb_err_prefix(err, "%s", path);
        return st;
    }
    st = add_indexed(s, dir, path, json_object_get(index, "weight_map"), err);
    json_decref(index);
    return st;
}

/* What there is in place of model.safetensors decides what to do. */
static tnb_status
no_weights(const char *dir, const char *const *names, uint32_t n, tnb_err *err)
{
    static const char *const pickles[] = {".bin", ".pth", ".pt", ".ckpt", ".bin.index.json"};
    const char *gguf = NULL, *pickle = NULL, *other = NULL;
    for (uint32_t i = 0; i < n; i++) {
        gguf = tnb_ends_with(names[i], ".gguf") ? names[i] : gguf;
        other = tnb_ends_with(names[i], ".safetensors") ? names[i] : other;
        for (size_t k = 0; k < sizeof pickles / sizeof *pickles && !pickle; k++)
            pickle = tnb_ends_with(names[i], pickles[k]) ? names[i] : NULL;
    }
    (void)tnb_fail(
        err, TNB_NOT_FOUND,
        "%s: the folder has neither model.safetensors nor model.safetensors.index.json%s%s", dir,
        other || gguf || pickle ? ", but " : "",
        other    ? other
        : gguf   ? gguf
        : pickle ? pickle
                 : "");
    if (other)
        tnb_hint(err,
                 "a checkpoint's weights are model.safetensors, or parts that "
                 "model.safetensors.index.json lists; an adapter is merged into its model first");
    else if (gguf)
        tnb_hint(err, "name the GGUF file itself");
    else if (pickle)
        tnb_hint(err, "convert it, in that folder: python3 -c \"from transformers import "
                      "AutoModelForCausalLM as M; M.from_pretrained('.', torch_dtype='auto')"
                      ".save_pretrained('.')\"");
    else
        tnb_hint(err, "name the folder that has a checkpoint's weights beside its config.json");
    return TNB_NOT_FOUND;
}

static tnb_status
add_folder(tnb_safetensors *s, const char *dir, tnb_err *err)
{
    const char **names, *single = NULL, *index = NULL;
    uint32_t n;
    TNB_TRY(tnb_list_dir(s->arena, dir, NULL, &names, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(names[i], "model.safetensors") == 0)
            single = names[i];
        if (strcmp(names[i], "model.safetensors.index.json") == 0)
            index = names[i];
    }
    if (index && !single)
        return read_index(s, dir, tnb_path_join(s->arena, dir, index), err);
    if (!single)
        return no_weights(dir, names, n, err);
    tnb_mapping map = {0};
    const char *path = tnb_path_join(s->arena, dir, single);
    TNB_TRY(tnb_map_file(path, 0, &map, err));
    return add_file(s, path, map, err);
}

/* ---- opening ---- */

static tnb_safetensors *
make(bool borrowed)
{
    tnb_arena *arena = tnb_arena_new();
    tnb_safetensors *s = arena ? TNB_NEW(arena, tnb_safetensors) : NULL;
    if (!s)
        return NULL;
    s->arena = arena;
    s->borrowed = borrowed;
    tnb_strmap_init(&s->by_name, arena);
    return s;
}

static tnb_status
finish(tnb_safetensors *s, tnb_status st, const char *name, tnb_safetensors **out, tnb_err *err)
{
    if (st == TNB_OK && tnb_arena_failed(s->arena))
        st = tnb_fail(err, TNB_NO_MEMORY, "%s: no memory to read the file", name);
    if (st == TNB_OK)
        *out = s;
    else
        tnb_safetensors_close(s);
    return st;
}

tnb_status
tnb_safetensors_open(const char *path, tnb_safetensors **out, tnb_err *err)
{
    tnb_mapping map = {0};
    *out = NULL;
    tnb_safetensors *s = make(false);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory to read the file", path);
    tnb_status st;
    if (!tnb_ends_with(path, ".safetensors"))
        st = add_folder(s, path, err);
    else if ((st = tnb_map_file(path, 0, &map, err)) == TNB_OK)
        st = add_file(s, path, map, err);
    return finish(s, st, path, out, err);
}

tnb_status
tnb_safetensors_open_memory(const void *bytes, uint64_t n, const char *name, tnb_safetensors **out,
                            tnb_err *err)
{
    *out = NULL;
    tnb_safetensors *s = make(true);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory to read the file", name);
    tnb_status st = add_file(s, name, (tnb_mapping){.data = bytes, .size = n}, err);
    return finish(s, st, name, out, err);
}

void
tnb_safetensors_close(tnb_safetensors *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->files.n && !s->borrowed; i++)
        tnb_unmap(&s->files.at[i].map);
    tnb_arena_free(s->arena);
}

/* ---- questions ---- */

const tnb_safetensor *
tnb_safetensors_at(const tnb_safetensors *s, uint32_t i)
{
    return i < s->tensors.n ? s->tensors.at[i] : NULL;
}

const tnb_safetensor *
tnb_safetensors_find(const tnb_safetensors *s, const char *name)
{
    return tnb_strmap_get(&s->by_name, name);
}

const char *
tnb_safetensors_file(const tnb_safetensors *s, uint32_t i, const void **bytes, uint64_t *n,
                     uint64_t *header)
{
    if (i >= s->files.n)
        return NULL;
    const struct file *f = &s->files.at[i];
    *bytes = f->map.data;
    *n = f->map.size;
    *header = f->header;
    return f->path;
}
