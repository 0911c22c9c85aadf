/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF files. The header is walked once with a cursor that never passes the end of the file; counts
 * are bounded by what the rest of the file can hold before anything is allocated by them. */
#include "tenon/base/gguf.h"
#include "tenon/base/file.h"
#include <inttypes.h>
#include <stdlib.h>

struct tnb_gguf {
    tnb_arena *arena;
    tnb_mapping map;
    bool borrowed; /* the bytes are someone else's */
    const char *name;
    uint64_t data; /* offset */
    tnb_gguf_value *values;
    tnb_gguf_tensor *tensors;
    uint32_t n_values, n_tensors;
    tnb_strmap by_key, by_name;
};

/* ---- types ---- */

tnb_gguf_type
tnb_gguf_type_of(uint32_t type)
{
    static const tnb_gguf_type types[] = {
        [TNB_GGUF_F32] = {"F32", 1, 4, {TNB_FLOAT, 32, 1}},
        [TNB_GGUF_F16] = {"F16", 1, 2, {TNB_FLOAT, 16, 1}},
        [TNB_GGUF_Q4_0] = {"Q4_0", 32, 18, {0}},
        [TNB_GGUF_Q4_1] = {"Q4_1", 32, 20, {0}},
        [TNB_GGUF_Q5_0] = {"Q5_0", 32, 22, {0}},
        [TNB_GGUF_Q5_1] = {"Q5_1", 32, 24, {0}},
        [TNB_GGUF_Q8_0] = {"Q8_0", 32, 34, {0}},
        [9] = {"Q8_1", 32, 36, {0}},
        [10] = {"Q2_K", 256, 84, {0}},
        [11] = {"Q3_K", 256, 110, {0}},
        [TNB_GGUF_Q4_K] = {"Q4_K", 256, 144, {0}},
        [TNB_GGUF_Q5_K] = {"Q5_K", 256, 176, {0}},
        [TNB_GGUF_Q6_K] = {"Q6_K", 256, 210, {0}},
        [15] = {"Q8_K", 256, 292, {0}},
        [16] = {"IQ2_XXS", 256, 66, {0}},
        [17] = {"IQ2_XS", 256, 74, {0}},
        [18] = {"IQ3_XXS", 256, 98, {0}},
        [19] = {"IQ1_S", 256, 50, {0}},
        [20] = {"IQ4_NL", 32, 18, {0}},
        [21] = {"IQ3_S", 256, 110, {0}},
        [22] = {"IQ2_S", 256, 82, {0}},
        [23] = {"IQ4_XS", 256, 136, {0}},
        [24] = {"I8", 1, 1, {TNB_INT, 8, 1}},
        [25] = {"I16", 1, 2, {TNB_INT, 16, 1}},
        [26] = {"I32", 1, 4, {TNB_INT, 32, 1}},
        [27] = {"I64", 1, 8, {TNB_INT, 64, 1}},
        [28] = {"F64", 1, 8, {TNB_FLOAT, 64, 1}},
        [29] = {"IQ1_M", 256, 56, {0}},
        [TNB_GGUF_BF16] = {"BF16", 1, 2, {TNB_BFLOAT, 16, 1}},
        [34] = {"TQ1_0", 256, 54, {0}},
        [35] = {"TQ2_0", 256, 66, {0}},
        [39] = {"MXFP4", 32, 17, {0}},
    };
    static const tnb_gguf_type none;
    return type < sizeof types / sizeof *types ? types[type] : none;
}

/* Bytes of an element of metadata; 0 for those of their own length. */
static uint32_t
kind_bytes(uint32_t kind)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return bytes[kind];
}

/* ---- reading ---- */

typedef struct cursor {
    tnb_gguf *g;
    const unsigned char *bytes;
    uint64_t at, n;
    tnb_err *err;
} cursor;

static tnb_status
cut_off(const cursor *c, const char *what)
{
    return tnb_fail(c->err, TNB_FORMAT,
                    "%s: cut off at offset %" PRIu64 ", in %s: the file has %" PRIu64 " bytes",
                    c->g->name, c->at, what, c->n);
}

static tnb_status
take(cursor *c, void *out, uint32_t size, const char *what)
{
    if (size > c->n - c->at)
        return cut_off(c, what);
    memcpy(out, c->bytes + c->at, size);
    c->at += size;
    return TNB_OK;
}

/* A length and so many bytes. */
static tnb_status
take_text(cursor *c, const char **s, uint64_t *n, const char *what)
{
    uint64_t at = c->at;
    TNB_TRY(take(c, n, 8, what));
    if (*n > c->n - c->at)
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: a text of %" PRIu64 " bytes at offset %" PRIu64
                        ", in %s, passes the end of the file",
                        c->g->name, *n, at, what);
    *s = (const char *)c->bytes + c->at;
    c->at += *n;
    return TNB_OK;
}

enum { MAX_NAME = 65535 };

/* The name of an entry or tensor, terminated, in the arena. */
static tnb_status
take_name(cursor *c, const char **name, const char *what)
{
    uint64_t n, at = c->at;
    const char *s;
    TNB_TRY(take_text(c, &s, &n, what));
    if (n == 0 || n > MAX_NAME || memchr(s, 0, n))
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: %s at offset %" PRIu64 " has a name of %" PRIu64
                        " bytes%s; names have 1 to %d bytes, none of them zero",
                        c->g->name, what, at, n, n && n <= MAX_NAME ? ", one of them zero" : "",
                        MAX_NAME);
    *name = tnb_strndup(c->g->arena, s, n);
    return TNB_OK;
}

static tnb_status
take_strings(cursor *c, tnb_gguf_value *v)
{
    /* the file has been found long enough for the lengths. Each text ends where the next one's length
     * lies, so that lengths are not read again */
    uint64_t *offsets = tnb_try_alloc_n(c->g->arena, v->n + 1, sizeof *offsets), n, from = c->at;
    const char *s;
    if (!offsets)
        return tnb_fail(c->err, TNB_NO_MEMORY, "%s: no memory for the %" PRIu64 " texts of '%s'",
                        c->g->name, v->n, v->key);
    for (uint64_t i = 0; i < v->n; i++) {
        offsets[i] = c->at - from;
        TNB_TRY(take_text(c, &s, &n, v->key));
    }
    offsets[v->n] = c->at - from;
    v->offsets = offsets;
    return TNB_OK;
}

static tnb_status
bad_kind(const cursor *c, const tnb_gguf_value *v, uint32_t kind)
{
    if (kind == TNB_GGUF_ARRAY)
        return tnb_fail(c->err, TNB_UNSUPPORTED,
                        "%s: metadata '%s' is an array of arrays, which are not supported",
                        c->g->name, v->key);
    return tnb_fail(c->err, TNB_FORMAT,
                    "%s: metadata '%s' is of type %" PRIu32 " at offset %" PRIu64
                    "; the format has types 0 to 12",
                    c->g->name, v->key, kind, c->at - 4);
}

static tnb_status
take_value(cursor *c, tnb_gguf_value *v)
{
    uint32_t kind;
    uint64_t bytes;
    TNB_TRY(take_name(c, &v->key, "a metadata entry"));
    TNB_TRY(take(c, &kind, 4, v->key));
    v->n = 1;
    v->array = kind == TNB_GGUF_ARRAY;
    if (v->array) {
        TNB_TRY(take(c, &kind, 4, v->key));
        if (kind == TNB_GGUF_ARRAY || kind > TNB_GGUF_FLOAT64)
            return bad_kind(c, v, kind);
        TNB_TRY(take(c, &v->n, 8, v->key));
    }
    if (kind > TNB_GGUF_FLOAT64)
        return bad_kind(c, v, kind);
    v->kind = (tnb_gguf_kind)kind;
    v->data = c->bytes + c->at;
    uint32_t size = kind_bytes(kind);
    if (!tnb_mul_u64(v->n, size ? size : 8, &bytes) || bytes > c->n - c->at)
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: metadata '%s' has %" PRIu64 " elements at offset %" PRIu64
                        ", more than the rest of the file, %" PRIu64 " bytes, holds",
                        c->g->name, v->key, v->n, c->at, c->n - c->at);
    if (!size)
        return take_strings(c, v);
    c->at += bytes;
    return TNB_OK;
}

/* The tensor's bytes from shape and type. */
static tnb_status
measure(const cursor *c, tnb_gguf_tensor *t)
{
    const tnb_gguf_type type = tnb_gguf_type_of(t->type);
    uint64_t count;
    if (!type.name) {
        (void)tnb_fail(c->err, TNB_UNSUPPORTED, "%s: tensor '%s' is of the unknown type %" PRIu32,
                       c->g->name, t->name, t->type);
        tnb_hint(c->err, "convert the checkpoint to a type that Tenon reads: F32, F16, BF16, Q8_0, "
                         "Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K");
        return TNB_UNSUPPORTED;
    }
    if (!tnb_shape_count(t->ndim, t->shape, &count))
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: tensor '%s' has more elements than fit the address space", c->g->name,
                        t->name);
    int64_t inner = t->ndim ? t->shape[t->ndim - 1] : 1;
    if (inner % type.elems)
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: tensor '%s' has rows of %" PRId64
                        " elements, which are not whole blocks of %" PRIu32 " (%s)",
                        c->g->name, t->name, inner, type.elems, type.name);
    t->bytes = count / type.elems * type.bytes; /* below 2^48 * 8 */
    return TNB_OK;
}

static tnb_status
take_tensor(cursor *c, tnb_gguf_tensor *t)
{
    uint32_t ndim;
    uint64_t d;
    TNB_TRY(take_name(c, &t->name, "a tensor"));
    TNB_TRY(take(c, &ndim, 4, t->name));
    if (ndim > TNB_GGUF_MAX_DIMS)
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: tensor '%s' has %" PRIu32 " dimensions; at most %d", c->g->name,
                        t->name, ndim, TNB_GGUF_MAX_DIMS);
    t->ndim = (int32_t)ndim;
    for (uint32_t i = 0; i < ndim; i++) {
        TNB_TRY(take(c, &d, 8, t->name));
        if (d > (uint64_t)TNB_MAX_ELEMS)
            return tnb_fail(c->err, TNB_FORMAT, "%s: tensor '%s' has the extent %" PRIu64,
                            c->g->name, t->name, d);
        t->shape[ndim - 1 - i] = (int64_t)d;
    }
    TNB_TRY(take(c, &t->type, 4, t->name));
    TNB_TRY(take(c, &t->offset, 8, t->name));
    return measure(c, t);
}

/* ---- the data ---- */

static tnb_status
find_alignment(cursor *c, uint64_t *alignment)
{
    const tnb_gguf_value *v = tnb_gguf_find(c->g, "general.alignment");
    int64_t n = 32;
    if (v && (!tnb_gguf_int(v, 0, &n) || n <= 0 || n > 1 << 30 || (n & (n - 1))))
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: metadata 'general.alignment' is not a power of two up to 2^30",
                        c->g->name);
    *alignment = (uint64_t)n;
    return TNB_OK;
}

static int
by_offset(const void *x, const void *y)
{
    const tnb_gguf_tensor *a = *(const tnb_gguf_tensor *const *)x,
                          *b = *(const tnb_gguf_tensor *const *)y;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Tensors' offsets count from the file's begin from here on. */
static tnb_status
place_tensors(cursor *c)
{
    tnb_gguf *g = c->g;
    uint64_t alignment, end;
    TNB_TRY(find_alignment(c, &alignment));
    g->data = (c->at + alignment - 1) / alignment * alignment;
    const tnb_gguf_tensor **sorted = tnb_try_alloc_n(g->arena, g->n_tensors, sizeof(void *));
    if (!sorted)
        return tnb_fail(c->err, TNB_NO_MEMORY, "%s: no memory to read the file", g->name);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        tnb_gguf_tensor *t = &g->tensors[i];
        if (t->offset % alignment)
            return tnb_fail(c->err, TNB_FORMAT,
                            "%s: tensor '%s' lies at offset %" PRIu64
                            " of the data, no multiple of %" PRIu64,
                            g->name, t->name, t->offset, alignment);
        if (!tnb_add_u64(t->offset, g->data, &t->offset) ||
            !tnb_add_u64(t->offset, t->bytes, &end) || end > c->n) {
            (void)tnb_fail(c->err, TNB_FORMAT,
                           "%s: tensor '%s' of %" PRIu64 " bytes at offset %" PRIu64
                           " passes the end of the file, which has %" PRIu64 " bytes",
                           g->name, t->name, t->bytes, t->offset, c->n);
            tnb_hint(c->err, "the file may be cut off: download it again");
            return TNB_FORMAT;
        }
        sorted[i] = t;
    }
    qsort(sorted, g->n_tensors, sizeof *sorted, by_offset);
    for (uint32_t i = 1; i < g->n_tensors; i++)
        if (sorted[i]->offset < sorted[i - 1]->offset + sorted[i - 1]->bytes)
            return tnb_fail(c->err, TNB_FORMAT,
                            "%s: tensors '%s' and '%s' overlap at offset %" PRIu64, g->name,
                            sorted[i - 1]->name, sorted[i]->name, sorted[i]->offset);
    return TNB_OK;
}

static tnb_status
read_start(cursor *c, uint64_t *n_tensors, uint64_t *n_values)
{
    char magic[4];
    uint32_t version;
    if (c->n < 4 || memcmp(c->bytes, "GGUF", 4) != 0) {
        (void)tnb_fail(c->err, TNB_FORMAT, "%s: not a GGUF file (it does not begin with GGUF)",
                       c->g->name);
        tnb_hint(c->err, "the download may be incomplete, or a page in the file's place: look at "
                         "its first bytes");
        return TNB_FORMAT;
    }
    TNB_TRY(take(c, magic, 4, "the header"));
    TNB_TRY(take(c, &version, 4, "the header"));
    if (version != 2 && version != 3) {
        bool swapped = version && (version & 0xffff) == 0;
        (void)tnb_fail(c->err, TNB_UNSUPPORTED, "%s: %s; versions 2 and 3, little-endian, are read",
                       c->g->name,
                       swapped        ? "a big-endian GGUF file"
                       : version == 1 ? "GGUF version 1"
                                      : "GGUF of an unknown version");
        tnb_hint(c->err, "convert the checkpoint again with a current converter");
        return TNB_UNSUPPORTED;
    }
    TNB_TRY(take(c, n_tensors, 8, "the header"));
    TNB_TRY(take(c, n_values, 8, "the header"));
    /* the least that an entry and a tensor take */
    const uint64_t left = c->n - c->at;
    if (*n_values > left / 14 || *n_tensors > left / 25 || *n_values > UINT32_MAX / 2 ||
        *n_tensors > UINT32_MAX / 2)
        return tnb_fail(c->err, TNB_FORMAT,
                        "%s: the header says %" PRIu64 " metadata entries and %" PRIu64
                        " tensors, which a file of %" PRIu64 " bytes cannot hold",
                        c->g->name, *n_values, *n_tensors, c->n);
    return TNB_OK;
}

static tnb_status
read_all(cursor *c)
{
    tnb_gguf *g = c->g;
    uint64_t n_tensors, n_values;
    TNB_TRY(read_start(c, &n_tensors, &n_values));
    g->values = tnb_try_alloc_n(g->arena, n_values, sizeof *g->values);
    g->tensors = tnb_try_alloc_n(g->arena, n_tensors, sizeof *g->tensors);
    if (!g->values || !g->tensors)
        return tnb_fail(c->err, TNB_NO_MEMORY, "%s: no memory to read the file", g->name);
    for (uint64_t i = 0; i < n_values; i++) {
        tnb_gguf_value *v = &g->values[g->n_values];
        TNB_TRY(take_value(c, v));
        if (tnb_strmap_has(&g->by_key, v->key))
            return tnb_fail(c->err, TNB_FORMAT, "%s: metadata '%s' stands there twice", g->name,
                            v->key);
        tnb_strmap_set(&g->by_key, v->key, v);
        g->n_values++;
    }
    for (uint64_t i = 0; i < n_tensors; i++) {
        tnb_gguf_tensor *t = &g->tensors[g->n_tensors];
        TNB_TRY(take_tensor(c, t));
        if (tnb_strmap_has(&g->by_name, t->name))
            return tnb_fail(c->err, TNB_FORMAT, "%s: tensor '%s' stands there twice", g->name,
                            t->name);
        tnb_strmap_set(&g->by_name, t->name, t);
        g->n_tensors++;
    }
    TNB_TRY(place_tensors(c));
    return tnb_arena_failed(g->arena)
               ? tnb_fail(c->err, TNB_NO_MEMORY, "%s: no memory to read the file", g->name)
               : TNB_OK;
}

/* Takes the mapping over, also on failure. */
static tnb_status
open_bytes(tnb_mapping map, bool borrowed, const char *name, tnb_gguf **out, tnb_err *err)
{
    tnb_arena *arena = tnb_arena_new();
    tnb_gguf *g = arena ? TNB_NEW(arena, tnb_gguf) : NULL;
    *out = NULL;
    if (!g) {
        if (!borrowed)
            tnb_unmap(&map);
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory to read the file", name);
    }
    g->arena = arena;
    g->map = map;
    g->borrowed = borrowed;
    g->name = tnb_strdup(arena, name);
    tnb_strmap_init(&g->by_key, arena);
    tnb_strmap_init(&g->by_name, arena);
    cursor c = {.g = g, .bytes = map.data, .n = map.size, .err = err};
    tnb_status st = read_all(&c);
    if (st == TNB_OK)
        *out = g;
    else
        tnb_gguf_close(g);
    return st;
}

tnb_status
tnb_gguf_open(const char *path, tnb_gguf **out, tnb_err *err)
{
    tnb_mapping map = {0};
    *out = NULL;
    TNB_TRY(tnb_map_file(path, 0, &map, err));
    return open_bytes(map, false, path, out, err);
}

tnb_status
tnb_gguf_open_memory(const void *bytes, uint64_t n, const char *name, tnb_gguf **out, tnb_err *err)
{
    return open_bytes((tnb_mapping){.data = bytes, .size = n}, true, name, out, err);
}

void
tnb_gguf_close(tnb_gguf *g)
{
    if (!g)
        return;
    if (!g->borrowed)
        tnb_unmap(&g->map);
    tnb_arena_free(g->arena);
}

/* ---- questions ---- */

const char *
tnb_gguf_name(const tnb_gguf *g)
{
    return g->name;
}

const void *
tnb_gguf_bytes(const tnb_gguf *g, uint64_t *n)
{
    *n = g->map.size;
    return g->map.data;
}

uint64_t
tnb_gguf_data_offset(const tnb_gguf *g)
{
    return g->data;
}

const tnb_gguf_value *
tnb_gguf_value_at(const tnb_gguf *g, uint32_t i)
{
    return i < g->n_values ? &g->values[i] : NULL;
}

const tnb_gguf_value *
tnb_gguf_find(const tnb_gguf *g, const char *key)
{
    return tnb_strmap_get(&g->by_key, key);
}

const tnb_gguf_tensor *
tnb_gguf_tensor_at(const tnb_gguf *g, uint32_t i)
{
    return i < g->n_tensors ? &g->tensors[i] : NULL;
}

const tnb_gguf_tensor *
tnb_gguf_find_tensor(const tnb_gguf *g, const char *name)
{
    return tnb_strmap_get(&g->by_name, name);
}

bool
tnb_gguf_int(const tnb_gguf_value *v, uint64_t i, int64_t *out)
{
    static const tnb_dtype dtypes[] = {
        [TNB_GGUF_UINT8] = {TNB_UINT, 8, 1},   [TNB_GGUF_INT8] = {TNB_INT, 8, 1},
        [TNB_GGUF_UINT16] = {TNB_UINT, 16, 1}, [TNB_GGUF_INT16] = {TNB_INT, 16, 1},
        [TNB_GGUF_UINT32] = {TNB_UINT, 32, 1}, [TNB_GGUF_INT32] = {TNB_INT, 32, 1},
        [TNB_GGUF_BOOL] = {TNB_UINT, 8, 1},    [TNB_GGUF_UINT64] = {TNB_UINT, 64, 1},
        [TNB_GGUF_INT64] = {TNB_INT, 64, 1}};
    if (!v || i >= v->n || v->kind >= sizeof dtypes / sizeof *dtypes || !dtypes[v->kind].bits)
        return false;
    const tnb_dtype d = dtypes[v->kind];
    const char *p = (const char *)v->data + i * (d.bits / 8);
    uint64_t u = 0;
    memcpy(&u, p, d.bits / 8);
    if (d.code == TNB_INT && d.bits < 64)
        u = (uint64_t)((int64_t)(u << (64 - d.bits)) >> (64 - d.bits));
    if (d.code == TNB_UINT && u > INT64_MAX)
        return false;
    *out = v->kind == TNB_GGUF_BOOL ? u != 0 : (int64_t)u;
    return true;
}

bool
tnb_gguf_float(const tnb_gguf_value *v, uint64_t i, double *out)
{
    int64_t n;
    float f;
    if (!v || i >= v->n)
        return false;
    if (v->kind == TNB_GGUF_FLOAT32) {
        memcpy(&f, (const char *)v->data + i * 4, 4);
        *out = (double)f;
        return true;
    }
    if (v->kind == TNB_GGUF_FLOAT64) {
        memcpy(out, (const char *)v->data + i * 8, 8);
        return true;
    }
    if (v->kind == TNB_GGUF_BOOL || !tnb_gguf_int(v, i, &n))
        return false;
    *out = (double)n;
    return true;
}

bool
tnb_gguf_text(const tnb_gguf_value *v, uint64_t i, const char **s, size_t *n)
{
    if (!v || i >= v->n || !v->offsets)
        return false;
    *s = (const char *)v->data + v->offsets[i] + 8;
    *n = v->offsets[i + 1] - v->offsets[i] - 8;
    return true;
}
