/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming a backend's sources for a copy: words, not letters, so that `null_code` becomes `acme_code` and C's NULL
 * stays. */
#ifndef TENON_TOOLS_RENAME_H
#define TENON_TOOLS_RENAME_H

#include "tenon/base/mem.h"

typedef TNB_VEC(const char *) tnt_texts;

typedef struct tnt_names {
    tnb_arena *arena;
    const char *from, *to;       /* "gpu_generic", "acme" */
    const char *from_up, *to_up; /* "GPU_GENERIC", "ACME" */
    const char *camel;           /* "Acme" */
    const char *version;         /* what PACKAGE_VERSION and @VERSION@ stand for */
    tnb_strmap words;    /* more whole words and what they become: names that a manifest promises */
    tnt_texts keep, cut; /* exact texts that stay as they are; that are left out */
    bool *kept, *was_cut; /* whether each was met */
} tnt_names;

void
tnt_names_init(tnt_names *n, tnb_arena *a, const char *from, const char *to, const char *version);
/* A name of the kind that manifests promise ("pass:FooDispatch", "pattern:foo.conv2d"): it gets the new name in front where
 * it does not begin with the old one, because two plugins may not provide the same. */
void
tnt_names_promise(tnt_names *n, const char *promise);
/* The text of a source file, manifest or page under the new names. */
void
tnt_rename(tnt_names *n, const char *text, size_t size, tnb_buf *out);
/* The same for a path. */
const char *
tnt_rename_path(tnt_names *n, const char *path);
/* The same for an INI file of targets: sections and tags do not take the original's place. */
void
tnt_rename_ini(tnt_names *n, const char *text, size_t size, tnb_buf *out);
/* Whether `to`, or a word that begins with it, is in use in the text already. */
bool
tnt_has_word(const char *text, size_t size, const char *word);

#endif
