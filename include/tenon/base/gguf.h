/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF files (versions 2 and 3, little-endian): a checkpoint's metadata and where its tensors lie.
 *
 * The file is mapped and its header checked whole when it is opened: every length, count, type and
 * tensor range. Texts and elements are then read in place. Files may be changed by others while they
 * are mapped; what has been copied is safe, and the numbers of the header are copied.
 */
#ifndef TENON_BASE_GGUF_H
#define TENON_BASE_GGUF_H

#include "tenon/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of metadata. ORDER GGUF: values are the format's. */
typedef enum tnb_gguf_kind {
    TNB_GGUF_UINT8 = 0,
    TNB_GGUF_INT8,
    TNB_GGUF_UINT16,
    TNB_GGUF_INT16,
    TNB_GGUF_UINT32,
    TNB_GGUF_INT32,
    TNB_GGUF_FLOAT32,
    TNB_GGUF_BOOL,
    TNB_GGUF_STRING,
    TNB_GGUF_ARRAY,
    TNB_GGUF_UINT64,
    TNB_GGUF_INT64,
    TNB_GGUF_FLOAT64
} tnb_gguf_kind;

/* A metadata entry. */
typedef struct tnb_gguf_value {
    const char *key;
    tnb_gguf_kind kind; /* of an array: of its elements */
    bool array;
    uint64_t n;              /* elements; 1 where it is no array */
    const void *data;        /* the first element, in the file, of any alignment */
    const uint64_t *offsets; /* of strings: for tnb_gguf_text; else NULL */
} tnb_gguf_value;

/* How a type of tensors stores its elements: blocks of `elems` in `bytes`, along the innermost
 * dimension. */
typedef struct tnb_gguf_type {
    const char *name; /* "F32", "Q4_K"; NULL: an unknown number */
    uint32_t elems, bytes;
    tnb_dtype dtype; /* where a block is one element; else void */
} tnb_gguf_type;

/* Types of tensors that code asks for by name; tnb_gguf_type_of knows all. Values are the format's. */
enum {
    TNB_GGUF_F32 = 0,
    TNB_GGUF_F16 = 1,
    TNB_GGUF_Q4_0 = 2,
    TNB_GGUF_Q4_1 = 3,
    TNB_GGUF_Q5_0 = 6,
    TNB_GGUF_Q5_1 = 7,
    TNB_GGUF_Q8_0 = 8,
    TNB_GGUF_Q4_K = 12,
    TNB_GGUF_Q5_K = 13,
    TNB_GGUF_Q6_K = 14,
    TNB_GGUF_BF16 = 30,
    TNB_GGUF_MAX_DIMS = 4
};

typedef struct tnb_gguf_tensor {
    const char *name;
    uint32_t type;
    int32_t ndim;
    int64_t shape[TNB_GGUF_MAX_DIMS]; /* outermost first, as everywhere in Tenon; the file has it
                                         the other way round */
    uint64_t offset, bytes;           /* in the file */
} tnb_gguf_tensor;

typedef struct tnb_gguf tnb_gguf;

/* Maps the file and checks it. TNB_IO, TNB_FORMAT (damaged, with what and where), TNB_UNSUPPORTED
 * (version 1, big-endian, arrays of arrays, unknown types of tensors), TNB_NO_MEMORY. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_gguf_open(const char *path, tnb_gguf **out, tnb_err *err);
/* The same for a file's bytes, which are borrowed; `name` is for messages. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_gguf_open_memory(const void *bytes, uint64_t n, const char *name, tnb_gguf **out, tnb_err *err);
/* NULL is fine. */
TNB_EXPORT void
tnb_gguf_close(tnb_gguf *g);

/* Borrowed, as everything below, until it is closed. The name of tnb_gguf_open. */
TNB_EXPORT const char *
tnb_gguf_name(const tnb_gguf *g);
/* The file's bytes. */
TNB_EXPORT const void *
tnb_gguf_bytes(const tnb_gguf *g, uint64_t *n);
/* Where the tensors' data begin: before it lie header, metadata and the table of tensors. */
TNB_EXPORT uint64_t
tnb_gguf_data_offset(const tnb_gguf *g);

/* Entry `i` in the file's order, NULL behind the last; and the one of that key, NULL if none. */
TNB_EXPORT const tnb_gguf_value *
tnb_gguf_value_at(const tnb_gguf *g, uint32_t i);
TNB_EXPORT const tnb_gguf_value *
tnb_gguf_find(const tnb_gguf *g, const char *key);
/* Element `i` of an entry (0 where it is no array). False, leaving `out` alone, where `v` is NULL, there
 * is no such element, or it is of another kind: int takes every integer that fits and bool, float
 * takes numbers, text takes strings. Texts are not terminated and may hold any bytes. */
TNB_EXPORT bool
tnb_gguf_int(const tnb_gguf_value *v, uint64_t i, int64_t *out);
TNB_EXPORT bool
tnb_gguf_float(const tnb_gguf_value *v, uint64_t i, double *out);
TNB_EXPORT bool
tnb_gguf_text(const tnb_gguf_value *v, uint64_t i, const char **s, size_t *n);

/* Tensor `i` in the file's order, NULL behind the last; and the one of that name, NULL if none. */
TNB_EXPORT const tnb_gguf_tensor *
tnb_gguf_tensor_at(const tnb_gguf *g, uint32_t i);
TNB_EXPORT const tnb_gguf_tensor *
tnb_gguf_find_tensor(const tnb_gguf *g, const char *name);
TNB_EXPORT tnb_gguf_type
tnb_gguf_type_of(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
