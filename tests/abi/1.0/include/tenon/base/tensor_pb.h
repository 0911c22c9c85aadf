/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX TensorProto messages: the constants of a model, and the inputs and outputs of test cases
 * (`.pb` files).
 *
 * The reader trusts nothing: lengths, counts and dimensions are checked, and the data must have
 * exactly the size that shape and type demand.
 */
#ifndef TENON_BASE_TENSOR_PB_H
#define TENON_BASE_TENSOR_PB_H

#include "tenon/base/dtype.h"
#include "tenon/base/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNB_TENSOR_PB_MAX_DIMS = 32 };

/* A tensor as read. Texts and `data` point into the bytes that were read or into `owned`. */
typedef struct tnb_tensor_pb {
    const char *name; /* not terminated; NULL: none */
    size_t name_len;
    int32_t onnx_type; /* TensorProto.DataType */
    tnb_dtype dtype;
    int32_t ndim;
    int64_t shape[TNB_TENSOR_PB_MAX_DIMS];
    uint64_t n_elems, n_bytes;
    const void *data; /* dense, row-major, little-endian; NULL when external; of any alignment */
    bool in_place;    /* `data` lies in the bytes that were read */
    bool external;    /* the data lie in another file: */
    const char *location;
    size_t location_len;
    uint64_t offset, length; /* length 0: n_bytes */
    bool has_length;
    void *owned; /* freed by tnb_tensor_pb_free */
    void *file;  /* likewise: the file's bytes */
} tnb_tensor_pb;

/* The dtype of a TensorProto.DataType; void if Tenon has none (strings, unknown numbers). */
TNB_EXPORT tnb_dtype
tnb_onnx_dtype(int64_t onnx_type);
/* "FLOAT", "INT64" ...; "type 99" is given as "an unknown type". */
TNB_EXPORT const char *
tnb_onnx_type_name(int64_t onnx_type);
/* The TensorProto.DataType of a dtype; 0: none. */
TNB_EXPORT int32_t
tnb_onnx_type_of(tnb_dtype d);

/* Reads one message; `bytes` must live as long as `out` is used. After an error nothing needs
 * freeing. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_tensor_pb_parse(const void *bytes, size_t n, tnb_tensor_pb *out, tnb_err *err);
/* Reads a file that holds one message. Strings are TNB_UNSUPPORTED, as is data in a further file.
 */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_tensor_pb_read(const char *path, tnb_tensor_pb *out, tnb_err *err);
TNB_EXPORT void
tnb_tensor_pb_free(tnb_tensor_pb *t);

/* Appends the message of a dense host tensor with raw data. name NULL: none. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_tensor_pb_encode(tnb_buf *out, const char *name, const tnb_dltensor *t, tnb_err *err);
/* Writes it as a file (beside and renamed). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_tensor_pb_write(const char *path, const char *name, const tnb_dltensor *t, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
