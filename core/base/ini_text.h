/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one INI text: inih with a reader of ours in front. Internal to base. */
#ifndef TENON_CORE_BASE_INI_TEXT_H
#define TENON_CORE_BASE_INI_TEXT_H

#include "tenon/base/diag.h"

typedef struct tnb_ini_entry {
    const char *section, *name, *key; /* name "" where the header had none */
    const char *value;                /* continuation lines joined by '\n' */
    uint32_t line;
} tnb_ini_entry;

/* Entries in order, in the arena. What is wrong is recorded with file and line, and reading goes on
 * behind it; false when anything was. */
bool
tnb_ini_read(tnb_arena *a, const char *file, const char *text, size_t n, tnb_ini_entry **entries,
             uint32_t *n_entries, tnb_diags *diags);

/* True for [A-Za-z0-9_-]+. */
bool
tnb_is_ini_name(const char *s, size_t n);

#endif
