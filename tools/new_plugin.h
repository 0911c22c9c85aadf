/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `tenon new-plugin` share: the backend that is copied. */
#ifndef TENON_TOOLS_NEW_PLUGIN_H
#define TENON_TOOLS_NEW_PLUGIN_H

#include "rename.h"
#include "tool.h"

/* A module or program. */
typedef struct tnt_part {
    const char *name;
    bool is_module;
    tnt_texts sources;
    const char *pkg_config, *libs; /* further ones; NULL: none */
} tnt_part;

typedef struct tnt_kit {
    tnb_arena *arena;
    const char *folder, *file; /* of the sources; backend.ini */
    const char *name, *version;
    const char *kernels; /* "FORMAT FILE" for the device conformance suite; NULL: none */
    TNB_VEC(tnt_part) parts;
    tnt_texts keep, cut; /* see tnt_names */
    tnt_texts leave;     /* files and promises that are not copied */
    tnt_texts checks;    /* scripts of its own that `make check` runs */
    bool has_target;
    bool no_suites;  /* no device runs what the target makes: the operator suite leaves it out */
    tnt_texts files; /* all that are copied */
    const char *temporary; /* where the project is written first */
    unsigned n_written;
} tnt_kit;

/* Writes a file of the project. */
TNB_MUST_CHECK tnb_status
tnt_project_put(tnt_kit *k, const char *relative, const char *text, size_t n, tnb_err *err);
/* Makefile, INI file and README.md of the project; new_plugin_files.c. */
TNB_MUST_CHECK tnb_status
tnt_project_files(tnt_kit *k, tnt_names *names, tnb_err *err);

#endif
