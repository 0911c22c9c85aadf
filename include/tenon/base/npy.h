/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files (format versions 1 to 3).
 *
 * bool, int8..int64, uint8..uint64, float16/32/64, complex64/128 of either byte order, row- or
 * column-major, are read into dense native row-major arrays. bfloat16 is written, and read, as the
 * two-byte void type ("V2") that NumPy gives to it.
 */
#ifndef TENON_BASE_NPY_H
#define TENON_BASE_NPY_H

#include "tenon/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNB_NPY_MAX_DIMS = 32 };

/* A header: what the bytes at `offset` hold. */
typedef struct tnb_npy {
    tnb_dtype dtype;
    bool swapped; /* the other byte order */
    bool column_major;
    int32_t ndim;
    int64_t shape[TNB_NPY_MAX_DIMS];
    uint64_t count; /* elements */
    uint64_t offset, bytes;
} tnb_npy;

/* A dense array from malloc. */
typedef struct tnb_array {
    tnb_dtype dtype;
    int32_t ndim;
    int64_t shape[TNB_NPY_MAX_DIMS];
    uint64_t count, bytes;
    void *data;
} tnb_array;

/* Reads the header of a file in memory and checks it against the file's size. `name` is for
 * messages. TNB_FORMAT when it is none, TNB_UNSUPPORTED for a dtype that Tenon lacks. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_npy_parse(const void *file, uint64_t size, const char *name, tnb_npy *out, tnb_err *err);
/* The array of a file in memory; tnb_array_free afterwards. Errors as of tnb_npy_parse. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_npy_load(const void *file, uint64_t n, const char *name, tnb_array *out, tnb_err *err);
/* Reads a file; tnb_array_free afterwards. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_npy_read(const char *path, tnb_array *out, tnb_err *err);
/* Writes a dense row-major array, beside and renamed. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_npy_write(const char *path, tnb_dtype d, int32_t ndim, const int64_t *shape, const void *data,
              tnb_err *err);
TNB_EXPORT void
tnb_array_free(tnb_array *a);

#ifdef __cplusplus
}
#endif
#endif
