/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors: one file, or a folder that has one (model.safetensors) or several with an index
 * (model.safetensors.index.json).
 *
 * Files are mapped and their headers checked whole when they are opened; tensors' bytes are read in
 * place.
 */
#ifndef TENON_BASE_SAFETENSORS_H
#define TENON_BASE_SAFETENSORS_H

#include "tenon/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNB_SAFETENSORS_MAX_DIMS = 8 };

typedef struct tnb_safetensor {
    const char *name;
    tnb_dtype dtype;
    int32_t ndim;
    int64_t shape[TNB_SAFETENSORS_MAX_DIMS];
    uint32_t file;          /* which */
    uint64_t offset, bytes; /* in that file */
} tnb_safetensor;

typedef struct tnb_safetensors tnb_safetensors;

/* `path` is a file or a folder. The index of a folder names files in the folder itself. TNB_IO,
 * TNB_NOT_FOUND (a folder without safetensors), TNB_FORMAT (damaged: tensors that overlap, lie outside
 * their file, have another size than type and shape say, or that the index gives another file for),
 * TNB_UNSUPPORTED (a type that Tenon has not), TNB_NO_MEMORY. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_safetensors_open(const char *path, tnb_safetensors **out, tnb_err *err);
/* One file's bytes, which are borrowed; `name` is for messages. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_safetensors_open_memory(const void *bytes, uint64_t n, const char *name, tnb_safetensors **out,
                            tnb_err *err);
/* NULL is fine. */
TNB_EXPORT void
tnb_safetensors_close(tnb_safetensors *s);

/* Borrowed, as everything below, until it is closed. Tensor `i` in the order of files and headers, NULL
 * behind the last; and the one of that name, NULL if none. */
TNB_EXPORT const tnb_safetensor *
tnb_safetensors_at(const tnb_safetensors *s, uint32_t i);
TNB_EXPORT const tnb_safetensor *
tnb_safetensors_find(const tnb_safetensors *s, const char *name);
/* The path of file `i`, NULL behind the last; its bytes and how many of them are header. */
TNB_EXPORT const char *
tnb_safetensors_file(const tnb_safetensors *s, uint32_t i, const void **bytes, uint64_t *n,
                     uint64_t *header);

#ifdef __cplusplus
}
#endif
#endif
