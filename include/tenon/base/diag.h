/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: what the compiler tells its user, with a place, notes and a hint.
 *
 *     squeezenet.onnx: node 'fire2/conv' (Conv): attribute 'group' is 3, but ...
 *       note: weight 'fire2.w' has shape [16, 64, 1, 1]
 *       hint: check the exporter's group setting
 *
 * Recording never fails (without memory a fixed text is recorded). A sink stops keeping after 100
 * errors and counts on.
 */
#ifndef TENON_BASE_DIAG_H
#define TENON_BASE_DIAG_H

#include "tenon/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tnb_severity { TNB_ERROR = 0, TNB_WARNING = 1, TNB_INFO = 2 } tnb_severity;

/* A place: a file with line and column (both from 1; 0: unknown), or a file and a node's
 * description such as "node 'fire2/conv' (Conv)". Any member may be NULL or 0. */
typedef struct tnb_place {
    const char *file;
    uint32_t line, column;
    const char *node;
} tnb_place;

typedef struct tnb_diag {
    tnb_severity severity;
    tnb_status status;
    tnb_place place;
    const char *message;
    const char *source_line; /* the text line of `place`, NULL if not at hand */
    const char *hint;        /* NULL: none */
    const char **notes;
    uint32_t n_notes;
} tnb_diag;

typedef struct tnb_diags tnb_diags;

TNB_EXPORT tnb_diags *
tnb_diags_new(void);
TNB_EXPORT void
tnb_diags_free(tnb_diags *d);
TNB_EXPORT void
tnb_diags_clear(tnb_diags *d);
/* Forgets all but the first n: those of an attempt that was given up. */
TNB_EXPORT void
tnb_diags_cut(tnb_diags *d, uint32_t n);
TNB_EXPORT uint32_t
tnb_diags_errors(const tnb_diags *d); /* errors recorded since new or clear */
TNB_EXPORT uint32_t
tnb_diags_count(const tnb_diags *d);
TNB_EXPORT const tnb_diag *
tnb_diags_get(const tnb_diags *d, uint32_t i);

/* Records one diagnostic. The texts of `place` are copied. */
TNB_EXPORT void
tnb_report(tnb_diags *d, tnb_severity sev, tnb_status status, tnb_place place, const char *fmt, ...)
    TNB_PRINTF(5, 6);
TNB_EXPORT void
tnb_reportv(tnb_diags *d, tnb_severity sev, tnb_status status, tnb_place place, const char *fmt,
            va_list ap) TNB_PRINTF(5, 0);
/* These add to the diagnostic recorded last; without one they do nothing. */
TNB_EXPORT void
tnb_diag_note(tnb_diags *d, const char *fmt, ...) TNB_PRINTF(2, 3);
TNB_EXPORT void
tnb_diag_hint(tnb_diags *d, const char *fmt, ...) TNB_PRINTF(2, 3);
TNB_EXPORT void
tnb_diag_source(tnb_diags *d, const char *line, size_t n);

/* All diagnostics as text for a person, with the source line and a caret where known. */
TNB_EXPORT void
tnb_diags_print(const tnb_diags *d, tnb_buf *out);
/* The first error as an error record, TNB_OK when there is none. */
TNB_EXPORT tnb_status
tnb_diags_first(const tnb_diags *d, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
