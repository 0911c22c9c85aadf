/* SPDX-License-Identifier: Apache-2.0 */
/* The importer's entry, for the plugin's descriptor. */
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H

#include "tenon/kit/importer.h"

TNB_MUST_CHECK tnb_status
onnx_import_file(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                 tnk_model *out);
/* tnk_importer.declared. */
tnb_status
onnx_declared(void *self, tn_ctx *ctx, const char *path, tnb_buf *out);

#endif
