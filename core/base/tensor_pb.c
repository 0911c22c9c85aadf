/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto: reader and writer.
 *
 * Values come as `raw_data`, in a typed list that matches the type (float_data, int32_data for the
 * small types, int64_data, double_data, uint64_data), or from another file. Packed float lists are
 * little-endian already and are taken in place like raw data; the other lists are decoded.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/tensor_pb.h"
#include "tenon/base/file.h"

/* Field numbers of TensorProto. */
enum {
    F_DIMS = 1,
    F_TYPE = 2,
    F_SEGMENT = 3,
    F_FLOAT = 4,
    F_INT32 = 5,
    F_STRING = 6,
    F_INT64 = 7,
    F_NAME = 8,
    F_RAW = 9,
    F_DOUBLE = 10,
    F_UINT64 = 11,
    F_EXTERNAL = 13,
    F_LOCATION = 14
};

/* ORDER ONNX TYPE: indexed by TensorProto.DataType. `list`: the typed field that may hold such
 * elements. */
static const struct onnx_type {
    const char *name;
    tnb_dtype dtype;
    uint8_t list;
} types[] = {
    {"UNDEFINED", {0, 0, 0}, 0},
    {"FLOAT", {TNB_FLOAT, 32, 1}, F_FLOAT},
    {"UINT8", {TNB_UINT, 8, 1}, F_INT32},
    {"INT8", {TNB_INT, 8, 1}, F_INT32},
    {"UINT16", {TNB_UINT, 16, 1}, F_INT32},
    {"INT16", {TNB_INT, 16, 1}, F_INT32},
    {"INT32", {TNB_INT, 32, 1}, F_INT32},
    {"INT64", {TNB_INT, 64, 1}, F_INT64},
    {"STRING", {0, 0, 0}, F_STRING},
    {"BOOL", {TNB_BOOL, 8, 1}, F_INT32},
    {"FLOAT16", {TNB_FLOAT, 16, 1}, F_INT32},
    {"DOUBLE", {TNB_FLOAT, 64, 1}, F_DOUBLE},
    {"UINT32", {TNB_UINT, 32, 1}, F_UINT64},
    {"UINT64", {TNB_UINT, 64, 1}, F_UINT64},
    {"COMPLEX64", {TNB_COMPLEX, 64, 1}, F_FLOAT},
    {"COMPLEX128", {TNB_COMPLEX, 128, 1}, F_DOUBLE},
    {"BFLOAT16", {TNB_BFLOAT, 16, 1}, F_INT32},
    {"FLOAT8E4M3FN", {TNB_FLOAT8_E4M3FN, 8, 1}, F_INT32},
    {"FLOAT8E4M3FNUZ", {TNB_FLOAT8_E4M3FNUZ, 8, 1}, F_INT32},
    {"FLOAT8E5M2", {TNB_FLOAT8_E5M2, 8, 1}, F_INT32},
    {"FLOAT8E5M2FNUZ", {TNB_FLOAT8_E5M2FNUZ, 8, 1}, F_INT32},
    {"UINT4", {TNB_UINT, 4, 1}, F_INT32},
    {"INT4", {TNB_INT, 4, 1}, F_INT32},
    {"FLOAT4E2M1", {TNB_FLOAT4_E2M1FN, 4, 1}, F_INT32},
    {"FLOAT8E8M0", {0, 0, 0}, 0},
    {"UINT2", {TNB_UINT, 2, 1}, F_INT32},
    {"INT2", {TNB_INT, 2, 1}, F_INT32},
};
enum { N_TYPES = sizeof types / sizeof *types };

tnb_dtype
tnb_onnx_dtype(int64_t onnx_type)
{
    return onnx_type > 0 && onnx_type < N_TYPES ? types[onnx_type].dtype : TNB_VOID;
}

const char *
tnb_onnx_type_name(int64_t onnx_type)
{
    return onnx_type >= 0 && onnx_type < N_TYPES ? types[onnx_type].name : "an unknown type";
}

int32_t
tnb_onnx_type_of(tnb_dtype d)
{
    for (int32_t i = 1; i < N_TYPES; i++)
        if (types[i].dtype.bits && tnb_dtype_eq(types[i].dtype, d))
            return i;
    return 0;
}

/* ---- reading ---- */

/* What the message holds besides dimensions, while it is walked. */
typedef struct reader {
    tnb_tensor_pb *t;
    tnb_err *err;
    uint32_t list_field;      /* the typed list seen; 0: none */
    uint64_t list_chunks;     /* BYTES fields of that list, or single elements */
    const uint8_t *list_data; /* of the only chunk */
    uint64_t list_n;
    const uint8_t *raw;
    uint64_t raw_n;
    bool has_raw, segment;
} reader;

static tnb_status
add_dim(reader *r, uint64_t v)
{
    tnb_tensor_pb *t = r->t;
    if (t->ndim == TNB_TENSOR_PB_MAX_DIMS)
        return tnb_fail(r->err, TNB_FORMAT, "a tensor has more than %d dimensions",
                        TNB_TENSOR_PB_MAX_DIMS);
    if ((int64_t)v < 0)
        return tnb_fail(r->err, TNB_FORMAT, "dimension %d of a tensor is %" PRId64, t->ndim,
                        (int64_t)v);
    t->shape[t->ndim++] = (int64_t)v;
    return TNB_OK;
}

static bool
text_is(const tnb_wire_field *f, const char *s)
{
    return f->n == strlen(s) && memcmp(f->data, s, f->n) == 0;
}

static tnb_status
external_number(reader *r, const char *key, const tnb_wire_field *f, uint64_t *out)
{
    uint64_t v = 0;
    bool ok = f->n > 0;
    for (uint64_t i = 0; i < f->n && ok; i++) {
        unsigned digit = (unsigned)f->data[i] - '0';
        ok = digit <= 9 && tnb_mul_u64(v, 10, &v) && tnb_add_u64(v, digit, &v);
    }
    if (!ok)
        return tnb_fail(r->err, TNB_FORMAT,
                        "external data: '%s' is \"%.*s\", which is not a number of bytes", key,
                        (int)(f->n > 40 ? 40 : f->n), (const char *)f->data);
    *out = v;
    return TNB_OK;
}

/* One StringStringEntryProto of external_data. */
static tnb_status
external_entry(reader *r, const uint8_t *p, const uint8_t *end)
{
    tnb_wire_field f, key = {0}, value = {0};
    while (p < end) {
        const char *wrong = tnb_wire_next(&p, end, &f);
        if (wrong)
            return tnb_fail(r->err, TNB_FORMAT, "external data: %s", wrong);
        if (f.type == TNB_WIRE_BYTES && f.number == 1)
            key = f;
        if (f.type == TNB_WIRE_BYTES && f.number == 2)
            value = f;
    }
    if (text_is(&key, "location")) {
        r->t->location = (const char *)value.data;
        r->t->location_len = value.n;
    } else if (text_is(&key, "offset")) {
        return external_number(r, "offset", &value, &r->t->offset);
    } else if (text_is(&key, "length")) {
        r->t->has_length = true;
        return external_number(r, "length", &value, &r->t->length);
    }
    return TNB_OK; /* a checksum or a key of somebody else */
}

static tnb_status
take_field(reader *r, const tnb_wire_field *f)
{
    tnb_tensor_pb *t = r->t;
    switch (f->number) {
    case F_DIMS:
        if (f->type == TNB_WIRE_VARINT)
            return add_dim(r, f->value);
        if (f->type == TNB_WIRE_BYTES) {
            const uint8_t *p = f->data, *end = p + f->n;
            uint64_t v;
            while (p < end) {
                if (!tnb_wire_varint(&p, end, &v))
                    return tnb_fail(r->err, TNB_FORMAT, "the dimensions of a tensor are cut off");
                TNB_TRY(add_dim(r, v));
            }
            return TNB_OK;
        }
        break;
    case F_TYPE:
        if (f->type != TNB_WIRE_VARINT)
            break;
        t->onnx_type = f->value < N_TYPES ? (int32_t)f->value : N_TYPES;
        return TNB_OK;
    case F_SEGMENT:
        r->segment = true;
        return TNB_OK;
    case F_NAME:
        if (f->type != TNB_WIRE_BYTES)
            break;
        t->name = (const char *)f->data;
        t->name_len = f->n;
        return TNB_OK;
    case F_RAW:
        if (f->type != TNB_WIRE_BYTES)
            break;
        r->has_raw = true;
        r->raw = f->data;
        r->raw_n = f->n;
        return TNB_OK;
    case F_EXTERNAL:
        if (f->type != TNB_WIRE_BYTES)
            break;
        return external_entry(r, f->data, f->data + f->n);
    case F_LOCATION:
        if (f->type != TNB_WIRE_VARINT)
            break;
        t->external = f->value == 1;
        return TNB_OK;
    case F_FLOAT:
    case F_INT32:
    case F_STRING:
    case F_INT64:
    case F_DOUBLE:
    case F_UINT64:
        if (f->type == TNB_WIRE_BYTES && f->n == 0 && f->number != F_STRING)
            return TNB_OK;
        if (r->list_field && r->list_field != f->number)
            return tnb_fail(r->err, TNB_FORMAT,
                            "a tensor has values in two lists (fields %u and %u)", r->list_field,
                            f->number);
        r->list_field = f->number;
        r->list_chunks++;
        r->list_data = f->data;
        r->list_n = f->n;
        return TNB_OK;
    default:
        return TNB_OK;
    }
    return tnb_fail(r->err, TNB_FORMAT, "field %u of a tensor has wire type %u", f->number,
                    f->type);
}

/* Stores one element of a typed list; for sub-byte types the list holds the packed bytes. */
static bool
store_value(reader *r, uint8_t *out, uint64_t i, uint64_t v)
{
    tnb_dtype d = r->t->dtype;
    size_t n = d.bits < 8 ? 1 : (size_t)d.bits / 8;
    if (d.code == TNB_COMPLEX)
        n /= 2;
    if (i >= r->t->n_bytes / n)
        return false;
    if (d.code == TNB_BOOL)
        v = v != 0;
    for (size_t k = 0; k < n; k++)
        out[i * n + k] = (uint8_t)(v >> (8 * k));
    return true;
}

/* Decodes the typed list of the message into memory of its own. */
static tnb_status
decode_list(reader *r, const uint8_t *p, const uint8_t *end)
{
    tnb_tensor_pb *t = r->t;
    uint64_t count = 0;
    bool fits = true, whole = true;
    uint8_t *out = calloc(1, t->n_bytes ? t->n_bytes : 1);
    if (!out)
        return tnb_fail(r->err, TNB_NO_MEMORY, "no memory for a tensor of %" PRIu64 " bytes",
                        t->n_bytes);
    unsigned fixed = r->list_field == F_FLOAT ? 4 : r->list_field == F_DOUBLE ? 8 : 0;
    while (p < end && fits && whole) {
        tnb_wire_field f;
        if (tnb_wire_next(&p, end, &f) || f.number != r->list_field)
            continue; /* the message was walked once: it is well formed */
        if (f.type != TNB_WIRE_BYTES) {
            fits = store_value(r, out, count++, f.value);
            continue;
        }
        const uint8_t *q = f.data, *q_end = q + f.n;
        while (q < q_end && fits && whole) {
            uint64_t v = 0;
            if (fixed) {
                whole = q_end - q >= (ptrdiff_t)fixed;
                for (unsigned k = 0; whole && k < fixed; k++)
                    v |= (uint64_t)*q++ << (8 * k);
            } else {
                whole = tnb_wire_varint(&q, q_end, &v);
            }
            if (whole)
                fits = store_value(r, out, count++, v);
        }
    }
    size_t each = t->dtype.bits < 8 ? 1 : (size_t)t->dtype.bits / 8;
    if (t->dtype.code == TNB_COMPLEX)
        each /= 2;
    if (!whole || !fits || count != t->n_bytes / each) {
        free(out);
        if (!whole)
            return tnb_fail(r->err, TNB_FORMAT, "the last value of a tensor is cut off");
        return tnb_fail(r->err, TNB_FORMAT,
                        "a tensor holds %s%" PRIu64 " values, but its shape and type want %" PRIu64,
                        fits ? "" : "at least ", count, t->n_bytes / each);
    }
    t->owned = out;
    t->data = out;
    return TNB_OK;
}

static tnb_status
take_values(reader *r, const uint8_t *bytes, size_t n)
{
    tnb_tensor_pb *t = r->t;
    bool direct = (r->list_field == F_FLOAT || r->list_field == F_DOUBLE) && r->list_chunks == 1 &&
                  r->list_data;
    if (r->has_raw && r->list_field)
        return tnb_fail(r->err, TNB_FORMAT, "a tensor has raw data and a list of values");
    if (!r->has_raw && r->list_field && r->list_field != types[t->onnx_type].list)
        return tnb_fail(r->err, TNB_FORMAT,
                        "a tensor of type %s has its values in field %u, expected field %u",
                        types[t->onnx_type].name, r->list_field, types[t->onnx_type].list);
    if (r->has_raw || direct) {
        uint64_t have = r->has_raw ? r->raw_n : r->list_n;
        if (have != t->n_bytes)
            return tnb_fail(r->err, TNB_FORMAT,
                            "a tensor holds %" PRIu64
                            " bytes, but its shape and type %s want %" PRIu64,
                            have, types[t->onnx_type].name, t->n_bytes);
        t->data = r->has_raw ? r->raw : r->list_data;
        t->in_place = true;
        return TNB_OK;
    }
    if (!r->list_field && t->n_bytes)
        return tnb_fail(r->err, TNB_FORMAT,
                        "a tensor holds no values, but its shape and type %s want %" PRIu64
                        " bytes",
                        types[t->onnx_type].name, t->n_bytes);
    /* An element of a list takes at least one byte, so that the allocation is bounded by the
     * message. */
    uint64_t per = r->list_field == F_FLOAT ? 4 : r->list_field == F_DOUBLE ? 8 : 1;
    uint64_t width = t->dtype.bits < 8 ? 1 : (uint64_t)t->dtype.bits / 8;
    if (t->n_bytes / width > n / per)
        return tnb_fail(r->err, TNB_FORMAT,
                        "a tensor has fewer values than its shape wants (%" PRIu64 ")", t->n_elems);
    return decode_list(r, bytes, bytes + n);
}

tnb_status
tnb_tensor_pb_parse(const void *bytes, size_t n, tnb_tensor_pb *out, tnb_err *err)
{
    const uint8_t *p = bytes, *end = p + n;
    reader r = {.t = out, .err = err};
    memset(out, 0, sizeof *out);
    while (p < end) {
        tnb_wire_field f;
        uint64_t at = (uint64_t)(p - (const uint8_t *)bytes);
        const char *wrong = tnb_wire_next(&p, end, &f);
        if (wrong)
            return tnb_fail(err, TNB_FORMAT, "byte %" PRIu64 " of a tensor: %s", at, wrong);
        TNB_TRY(take_field(&r, &f));
    }
    if (r.segment)
        return tnb_fail(err, TNB_UNSUPPORTED, "a tensor stored in segments is not supported");
    if (out->onnx_type <= 0 || out->onnx_type >= N_TYPES)
        return tnb_fail(err, TNB_FORMAT, "a tensor has no known element type");
    out->dtype = types[out->onnx_type].dtype;
    if (!out->dtype.bits)
        return tnb_fail(err, TNB_UNSUPPORTED, "tensors of type %s are not supported",
                        types[out->onnx_type].name);
    if (!tnb_shape_count(out->ndim, out->shape, &out->n_elems))
        return tnb_fail(err, TNB_FORMAT, "the number of elements of a tensor is out of range");
    TNB_TRY(tnb_dtype_storage(out->dtype, out->n_elems, &out->n_bytes, err));
    if (!out->external)
        return take_values(&r, bytes, n);
    if (!out->location_len)
        return tnb_fail(err, TNB_FORMAT, "a tensor with external data names no location");
    if (out->has_length && out->length != out->n_bytes)
        return tnb_fail(err, TNB_FORMAT,
                        "a tensor's external data have length %" PRIu64
                        ", but its shape and type %s want %" PRIu64 " bytes",
                        out->length, types[out->onnx_type].name, out->n_bytes);
    return TNB_OK;
}

/* The whole file in memory of its own. */
static tnb_status
read_file(const char *path, void **bytes, size_t *n, tnb_err *err)
{
    struct stat st;
    size_t have = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        tnb_fail(err, TNB_IO, "%s: %s", path, fd < 0 ? strerror(errno) : "is not a regular file");
        if (fd >= 0)
            close(fd);
        return TNB_IO;
    }
    char *buf = malloc((size_t)st.st_size + 1);
    while (buf && have < (size_t)st.st_size) {
        ssize_t got = read(fd, buf + have, (size_t)st.st_size - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    int e = errno;
    close(fd);
    if (!buf)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory for %lld bytes", path,
                        (long long)st.st_size);
    if (have < (size_t)st.st_size) {
        free(buf);
        return tnb_fail(err, TNB_IO, "%s: %s", path, strerror(e));
    }
    *bytes = buf;
    *n = have;
    return TNB_OK;
}

tnb_status
tnb_tensor_pb_read(const char *path, tnb_tensor_pb *out, tnb_err *err)
{
    void *bytes = NULL;
    size_t n = 0;
    memset(out, 0, sizeof *out);
    TNB_TRY(read_file(path, &bytes, &n, err));
    tnb_status s = tnb_tensor_pb_parse(bytes, n, out, err);
    if (s == TNB_OK && out->external)
        s = tnb_fail(err, TNB_UNSUPPORTED, "the tensor's data lie in a further file");
    if (s != TNB_OK) {
        free(bytes);
        memset(out, 0, sizeof *out);
        tnb_err_prefix(err, "%s", path);
        return s;
    }
    out->file = bytes;
    return TNB_OK;
}

void
tnb_tensor_pb_free(tnb_tensor_pb *t)
{
    if (!t)
        return;
    free(t->owned);
    free(t->file);
    memset(t, 0, sizeof *t);
}

/* ---- writing ---- */

tnb_status
tnb_tensor_pb_encode(tnb_buf *out, const char *name, const tnb_dltensor *t, tnb_err *err)
{
    uint64_t n, bytes;
    int32_t type = tnb_onnx_type_of(t->dtype);
    if (!type)
        return tnb_fail(err, TNB_UNSUPPORTED, "ONNX has no element type for %s",
                        tnb_dtype_print(t->dtype).s);
    TNB_TRY(tnb_shape_bytes(t->dtype, t->ndim, t->shape, &n, &bytes, err));
    if (t->strides)
        for (int64_t i = t->ndim - 1, want = 1; i >= 0; want *= t->shape[i], i--)
            if (t->strides[i] != want && t->shape[i] > 1)
                return tnb_fail(err, TNB_UNSUPPORTED, "the tensor is not compact");
    for (int i = 0; i < t->ndim; i++)
        tnb_wire_put_int(out, F_DIMS, (uint64_t)t->shape[i]);
    tnb_wire_put_int(out, F_TYPE, (uint64_t)type);
    if (name)
        tnb_wire_put_text(out, F_NAME, name);
    tnb_wire_put_bytes(out, F_RAW, (const char *)t->data + t->byte_offset, bytes);
    return out->failed
               ? tnb_fail(err, TNB_NO_MEMORY, "no memory for a tensor of %" PRIu64 " bytes", bytes)
               : TNB_OK;
}

tnb_status
tnb_tensor_pb_write(const char *path, const char *name, const tnb_dltensor *t, tnb_err *err)
{
    tnb_buf b = {0};
    tnb_status s = tnb_tensor_pb_encode(&b, name, t, err);
    if (s == TNB_OK)
        s = tnb_write_file(path, b.s, b.n, err);
    tnb_buf_free(&b);
    return s;
}
