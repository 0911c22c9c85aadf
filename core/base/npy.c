/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files. The header is a Python dictionary of three known keys; it is read by a small
 * reader of just that, and everything it says is checked against the size of the file.
 */
#include "tenon/base/npy.h"
#include "tenon/base/file.h"
#include "tenon/base/num.h"
#include <stdio.h>
#include <stdlib.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
static const bool host_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

typedef struct reader {
    const char *p, *end;
    const char *name;
    tnb_err *err;
} reader;

static void
blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t'))
        r->p++;
}

static bool
take(reader *r, char c)
{
    blanks(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static tnb_status
expected(reader *r, const char *what)
{
    size_t n = (size_t)(r->end - r->p);
    char found[24] = "the end";
    if (n) {
        size_t k = n < 16 ? n : 16;
        found[0] = '\'';
        for (size_t i = 0; i < k; i++)
            found[i + 1] = r->p[i] >= 32 && r->p[i] < 127 ? r->p[i] : '?';
        found[k + 1] = '\'';
        found[k + 2] = 0;
    }
    return tnb_fail(r->err, TNB_FORMAT, "%s: bad .npy header: expected %s, found %s", r->name, what,
                    found);
}

/* A quoted text without escapes. */
static bool
text(reader *r, const char **s, size_t *n)
{
    blanks(r);
    if (r->p == r->end || (*r->p != '\'' && *r->p != '"'))
        return false;
    const char *close = memchr(r->p + 1, *r->p, (size_t)(r->end - r->p - 1));
    if (!close)
        return false;
    *s = r->p + 1;
    *n = (size_t)(close - *s);
    r->p = close + 1;
    return true;
}

static tnb_status
read_descr(reader *r, const char *s, size_t n, tnb_npy *out)
{
    bool little = host_is_little;
    size_t i = 0;
    uint64_t size = 0;
    if (n && strchr("<>=|", s[0])) {
        little = s[0] == '<' || (s[0] != '>' && host_is_little);
        i = 1;
    }
    if (n > i + 4 || n < i + 2 || !tnb_read_u64(s + i + 1, n - i - 1, &size))
        size = 0;
    static const struct {
        char kind;
        uint8_t size;
        tnb_dtype dtype;
    } known[] = {
        {'b', 1, {TNB_BOOL, 8, 1}},     {'i', 1, {TNB_INT, 8, 1}},
        {'i', 2, {TNB_INT, 16, 1}},     {'i', 4, {TNB_INT, 32, 1}},
        {'i', 8, {TNB_INT, 64, 1}},     {'u', 1, {TNB_UINT, 8, 1}},
        {'u', 2, {TNB_UINT, 16, 1}},    {'u', 4, {TNB_UINT, 32, 1}},
        {'u', 8, {TNB_UINT, 64, 1}},    {'f', 2, {TNB_FLOAT, 16, 1}},
        {'f', 4, {TNB_FLOAT, 32, 1}},   {'f', 8, {TNB_FLOAT, 64, 1}},
        {'c', 8, {TNB_COMPLEX, 64, 1}}, {'c', 16, {TNB_COMPLEX, 128, 1}},
        {'V', 2, {TNB_BFLOAT, 16, 1}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (size && s[i] == known[k].kind && size == known[k].size) {
            out->dtype = known[k].dtype;
            out->swapped = little != host_is_little && size > 1;
            return TNB_OK;
        }
    tnb_fail(r->err, TNB_UNSUPPORTED, "%s: elements of NumPy type '%.*s' are not supported",
             r->name, (int)(n < 40 ? n : 40), s);
    tnb_hint(r->err, "convert the array to a numeric type with .astype() before saving it");
    return TNB_UNSUPPORTED;
}

static tnb_status
read_shape(reader *r, tnb_npy *out)
{
    if (!take(r, '('))
        return expected(r, "'(' of the shape");
    out->ndim = 0;
    while (!take(r, ')')) {
        const char *s = r->p;
        while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
            r->p++;
        uint64_t v;
        if (!tnb_read_u64(s, (size_t)(r->p - s), &v) || v > INT64_MAX) {
            r->p = s;
            return expected(r, "an extent");
        }
        if (out->ndim == TNB_NPY_MAX_DIMS)
            return tnb_fail(r->err, TNB_UNSUPPORTED,
                            "%s: arrays of more than %d dimensions are not supported", r->name,
                            TNB_NPY_MAX_DIMS);
        out->shape[out->ndim++] = (int64_t)v;
        if (r->p < r->end && *r->p == 'L')
            r->p++;
        if (!take(r, ',')) {
            if (!take(r, ')'))
                return expected(r, "',' or ')' in the shape");
            break;
        }
    }
    return TNB_OK;
}

static tnb_status
read_dictionary(reader *r, tnb_npy *out)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    unsigned seen = 0;
    if (!take(r, '{'))
        return expected(r, "'{'");
    while (!take(r, '}')) {
        const char *key, *s;
        size_t n, k;
        if (!text(r, &key, &n))
            return expected(r, "a key");
        if (!take(r, ':'))
            return expected(r, "':'");
        blanks(r);
        unsigned which = 0;
        if (n == 5 && memcmp(key, "descr", 5) == 0) {
            which = DESCR;
            if (r->p < r->end && *r->p == '[')
                return tnb_fail(r->err, TNB_UNSUPPORTED, "%s: arrays of records are not supported",
                                r->name);
            if (!text(r, &s, &k))
                return expected(r, "the type of the elements");
            TNB_TRY(read_descr(r, s, k, out));
        } else if (n == 13 && memcmp(key, "fortran_order", 13) == 0) {
            which = ORDER;
            if (r->end - r->p >= 4 && memcmp(r->p, "True", 4) == 0) {
                out->column_major = true;
                r->p += 4;
            } else if (r->end - r->p >= 5 && memcmp(r->p, "False", 5) == 0) {
                r->p += 5;
            } else {
                return expected(r, "True or False");
            }
        } else if (n == 5 && memcmp(key, "shape", 5) == 0) {
            which = SHAPE;
            TNB_TRY(read_shape(r, out));
        } else {
            return tnb_fail(r->err, TNB_FORMAT, "%s: bad .npy header: unknown key '%.*s'", r->name,
                            (int)(n < 40 ? n : 40), key);
        }
        if (seen & which)
            return tnb_fail(r->err, TNB_FORMAT, "%s: bad .npy header: key '%.*s' twice", r->name,
                            (int)n, key);
        seen |= which;
        if (!take(r, ',')) {
            if (!take(r, '}'))
                return expected(r, "',' or '}'");
            break;
        }
    }
    if (seen != (DESCR | ORDER | SHAPE))
        return tnb_fail(r->err, TNB_FORMAT, "%s: bad .npy header: no '%s'", r->name,
                        !(seen & DESCR)   ? "descr"
                        : !(seen & ORDER) ? "fortran_order"
                                          : "shape");
    return TNB_OK;
}

tnb_status
tnb_npy_parse(const void *file, uint64_t size, const char *name, tnb_npy *out, tnb_err *err)
{
    const unsigned char *b = file;
    memset(out, 0, sizeof *out);
    if (size < 10 || memcmp(b, magic, sizeof magic) != 0)
        return tnb_fail(err, TNB_FORMAT, "%s: not a .npy file (it does not begin with \\x93NUMPY)",
                        name);
    if (b[6] < 1 || b[6] > 3)
        return tnb_fail(err, TNB_UNSUPPORTED, "%s: .npy format version %u.%u; 1.0 to 3.0 are known",
                        name, b[6], b[7]);
    uint64_t start = b[6] == 1 ? 10 : 12, length = b[8] | (uint64_t)b[9] << 8;
    if (b[6] > 1 && size >= 12)
        length |= (uint64_t)b[10] << 16 | (uint64_t)b[11] << 24;
    if (size < start || length > size - start)
        return tnb_fail(err, TNB_FORMAT,
                        "%s: cut off in the .npy header: it should have %llu bytes", name,
                        (unsigned long long)length);
    reader r = {(const char *)b + start, (const char *)b + start + length, name, err};
    TNB_TRY(read_dictionary(&r, out));
    out->offset = start + length;
    if (!tnb_shape_count(out->ndim, out->shape, &out->count))
        return tnb_fail(err, TNB_BOUNDS,
                        "%s: the array's shape has more elements than fit the address space", name);
    out->bytes = out->count * tnb_dtype_bytes(out->dtype);
    if (out->bytes > size - out->offset)
        return tnb_fail(err, TNB_FORMAT,
                        "%s: cut off: shape and type want %llu bytes of data, the file has %llu",
                        name, (unsigned long long)out->bytes,
                        (unsigned long long)(size - out->offset));
    return TNB_OK;
}

static void
swap_bytes(unsigned char *p, uint64_t n, size_t size)
{
    for (uint64_t i = 0; i < n; i++, p += size)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char c = p[k];
            p[k] = p[size - 1 - k];
            p[size - 1 - k] = c;
        }
}

/* Column-major `from` to row-major `to`: walks `to` in order, counting the index up. */
static void
reorder(const tnb_npy *h, const char *from, char *to)
{
    size_t size = tnb_dtype_bytes(h->dtype);
    uint64_t step[TNB_NPY_MAX_DIMS], index[TNB_NPY_MAX_DIMS] = {0}, at = 0;
    for (int32_t i = 0; i < h->ndim; i++)
        step[i] = i ? step[i - 1] * (uint64_t)h->shape[i - 1] : 1;
    for (uint64_t k = 0; k < h->count; k++) {
        memcpy(to + k * size, from + at * size, size);
        for (int32_t i = h->ndim - 1; i >= 0; i--) {
            at += step[i];
            if (++index[i] < (uint64_t)h->shape[i])
                break;
            at -= step[i] * (uint64_t)h->shape[i];
            index[i] = 0;
        }
    }
}

tnb_status
tnb_npy_load(const void *file, uint64_t n, const char *name, tnb_array *out, tnb_err *err)
{
    tnb_npy h;
    memset(out, 0, sizeof *out);
    TNB_TRY(tnb_npy_parse(file, n, name, &h, err));
    out->data = malloc(h.bytes ? (size_t)h.bytes : 1);
    if (!out->data)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory for an array of %llu bytes", name,
                        (unsigned long long)h.bytes);
    const char *from = (const char *)file + h.offset;
    out->dtype = h.dtype;
    out->ndim = h.ndim;
    memcpy(out->shape, h.shape, sizeof out->shape);
    out->count = h.count;
    out->bytes = h.bytes;
    if (h.column_major && h.ndim > 1)
        reorder(&h, from, out->data);
    else if (h.bytes)
        memcpy(out->data, from, (size_t)h.bytes);
    size_t size = tnb_dtype_bytes(h.dtype);
    bool pairs = h.dtype.code == TNB_COMPLEX;
    if (h.swapped)
        swap_bytes(out->data, pairs ? h.count * 2 : h.count, pairs ? size / 2 : size);
    /* Any non-zero byte is true to NumPy; to kernels only 1 is. */
    if (tnb_dtype_is_bool(h.dtype))
        for (uint64_t i = 0; i < h.count; i++)
            ((unsigned char *)out->data)[i] = ((unsigned char *)out->data)[i] != 0;
    return TNB_OK;
}

tnb_status
tnb_npy_read(const char *path, tnb_array *out, tnb_err *err)
{
    tnb_mapping m;
    memset(out, 0, sizeof *out);
    TNB_TRY(tnb_map_file(path, 0, &m, err));
    tnb_status s = tnb_npy_load(m.data, m.size, path, out, err);
    tnb_unmap(&m);
    return s;
}

tnb_status
tnb_npy_write(const char *path, tnb_dtype d, int32_t ndim, const int64_t *shape, const void *data,
              tnb_err *err)
{
    char kind = d.code == TNB_BOOL      ? 'b'
                : d.code == TNB_INT     ? 'i'
                : d.code == TNB_UINT    ? 'u'
                : d.code == TNB_FLOAT   ? 'f'
                : d.code == TNB_COMPLEX ? 'c'
                : d.code == TNB_BFLOAT  ? 'V'
                                        : 0;
    if (!kind || d.lanes != 1 || d.bits < 8)
        return tnb_fail(err, TNB_UNSUPPORTED, "%s: the .npy format has no type for %s", path,
                        tnb_dtype_print(d).s);
    if (ndim < 0 || ndim > TNB_NPY_MAX_DIMS)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "%s: an array of %d dimensions; at most %d are supported", path, ndim,
                        TNB_NPY_MAX_DIMS);
    char header[1024];
    char order = d.bits == 8 ? '|' : host_is_little ? '<' : '>';
    int n =
        10 + snprintf(header + 10, 128, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                      order, kind, d.bits / 8u);
    uint64_t bytes = d.bits / 8u;
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] < 0 || !tnb_mul_u64(bytes, (uint64_t)shape[i], &bytes))
            return tnb_fail(err, TNB_SHAPE, "%s: extent %lld of dimension %d cannot be written",
                            path, (long long)shape[i], i);
        n += snprintf(header + n, 32,
                      ndim == 1      ? "%lld,"
                      : i + 1 < ndim ? "%lld, "
                                     : "%lld",
                      (long long)shape[i]);
    }
    n += snprintf(header + n, 8, "), }");
    while ((n + 1) % 64)
        header[n++] = ' ';
    header[n++] = '\n';
    memcpy(header, magic, sizeof magic);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)((n - 10) & 255);
    header[9] = (char)((n - 10) >> 8);
    tnb_out *o;
    TNB_TRY(tnb_out_open(path, &o, err));
    tnb_status s = tnb_out_write(o, header, (size_t)n, err);
    if (s == TNB_OK)
        s = tnb_out_write(o, data, (size_t)bytes, err);
    if (s == TNB_OK)
        return tnb_out_commit(o, err);
    tnb_out_abandon(o);
    return s;
}

void
tnb_array_free(tnb_array *a)
{
    if (!a)
        return;
    free(a->data);
    memset(a, 0, sizeof *a);
}
