/* SPDX-License-Identifier: Apache-2.0 */
/* Importers: from a model file to a module. A compiler plugin lists them in its descriptor. */
#ifndef TENON_KIT_IMPORTER_H
#define TENON_KIT_IMPORTER_H

#include "tenon/core/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_import_options {
    uint32_t size;       /* sizeof, or 0 */
    const tn_node *dims; /* Dict: name of a dynamic dimension -> int, or input name -> Array of
                            ints; NULL: none */
    const tn_node
        *inputs; /* Dict: input name (or "#index") -> Constant, bound at compile time; NULL: none */
    const char
        *quantize; /* how weights are quantized, one of the importer's quantizations; NULL: not */
    bool
        checksums; /* compare the checksums that the model's files come with, which reads them whole */
} tnk_import_options;

/* What an importer makes. The module's function `main` takes the run-time inputs first, in the
 * model's order; its attribute num_input counts them. Module attributes `input_names` and
 * `output_names` (Arrays of strings) keep the model's names. */
typedef struct tnk_model {
    const tn_module *module;
    const char *profile; /* applied automatically ("llm"); NULL: none */
    /* After a failure: Dict from names of run-time inputs whose values decide shapes, and so have
     * to be bound (tnk_import_options.inputs), to their places among the model's inputs; NULL:
     * none. */
    const tn_node *must_bind;
} tnk_model;

typedef struct tnk_importer {
    tnb_entry base;
    const char *const *extensions; /* NULL-terminated: ".onnx" */
    /* Whether the file (path, its first n bytes; of a folder none) is for this importer. */
    bool (*recognize)(const char *path, const void *head, size_t n);
    /* TNB_OK and `out`, or another status after recording located errors. */
    tnb_status (*import)(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                         tnk_model *out);
    void *self;
    /* Of a file that cannot be imported: its inputs and outputs as it declares them, a line each ("  input  NAME  TYPE"), for
     * people. NULL: nothing is known before importing. */
    tnb_status (*declared)(void *self, tn_ctx *ctx, const char *path, tnb_buf *out);
    const char *const *quantizations; /* NULL-terminated; NULL: weights stay as they are */
} tnk_importer;

/* Finds the importer by content and extension; NULL after recording an error. */
TNB_EXPORT const tnk_importer *
tnk_find_importer(tn_ctx *ctx, const char *path);
/* Reads a model by the importer that recognises it, or a TVMScript module (.py). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_import(tn_ctx *ctx, const char *path, const tnk_import_options *opt, tnk_model *out);

#ifdef __cplusplus
}
#endif
#endif
