/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one INI text, as configuration and manifests are read: inih with a reader of ours in front, which counts
 * lines and refuses what inih would cut or join without a word.
 */
#ifndef TENON_BASE_INI_H
#define TENON_BASE_INI_H

#include "tenon/base/diag.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnb_ini_entry {
    /* [section name]; name "" where the header had none; key "" for a section without any */
    const char *section, *name, *key;
    const char *value; /* continuation lines joined by '\n' */
    uint32_t line;
} tnb_ini_entry;

/* Entries in order, in the arena. What is wrong is recorded with file and line, and reading goes on
 * behind it; false when anything was. */
TNB_EXPORT bool
tnb_ini_read(tnb_arena *a, const char *file, const char *text, size_t n, tnb_ini_entry **entries,
             uint32_t *n_entries, tnb_diags *diags);

/* True for [A-Za-z0-9_-]+. */
TNB_EXPORT bool
tnb_is_ini_name(const char *s, size_t n);

#ifdef __cplusplus
}
#endif
#endif
