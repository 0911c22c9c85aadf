/* SPDX-License-Identifier: Apache-2.0 */
/* A model file: mapped, checked, unpacked without the data of its tensors. */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include "onnx.pb-c.h"
#include "tenon/base/file.h"
#include "tenon/base/tensor_pb.h"
#include "tenon/core/ctx.h"

typedef struct onnx_model {
    tn_ctx *ctx;
    const char *path;     /* as given */
    const char *file;     /* its last component, for messages */
    const uint8_t *bytes; /* the mapping; owned by the context */
    size_t n;
    Onnx__ModelProto *proto;
    tnb_ptrmap external; /* path (interned) -> tnb_mapping: files of external data */
} onnx_model;

/* Maps and reads the file. False after recording located errors. */
TNB_MUST_CHECK bool
onnx_model_open(tn_ctx *ctx, const char *path, onnx_model *out);
void
onnx_model_close(onnx_model *m); /* the mapping stays with the context: constants point into it */

/* The walk before unpacking: appends to `out` the message without fields that are not in onnx.proto
 * (documentation, training graphs, value types), in which each TensorProto holds its name, and as its dims the offset and length
 * of the real one in `bytes`. Refuses what protobuf-c must not see. False after recording an error
 * with the field's path and the byte offset. */
TNB_MUST_CHECK bool
onnx_check_message(tn_ctx *ctx, const char *file, const uint8_t *bytes, size_t n, tnb_buf *out);

/* The bytes of a TensorProto of the unpacked model. */
const uint8_t *
onnx_model_tensor(const onnx_model *m, const Onnx__TensorProto *t, size_t *n);

/* Maps `location` (n bytes of text) strictly below the folder of the model. NULL and `err` on
 * failure. `*path`: its name. */
const tnb_mapping *
onnx_model_external(onnx_model *m, const char *location, size_t n, const char **path, tnb_err *err);

#endif
