/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration in layers of INI files.
 *
 * Load order, later wins: built in; packages' defaults (datadir: targets, profiles, conf.d; a file
 * of the same name under sysconfdir replaces one); tenon.ini, targets/, profiles/, conf.d/ under
 * sysconfdir; the user's tenon.ini; TENON_CONFIG; --config; --set.
 *
 *     [target h200]             a section is a kind and, for all kinds but `tenon`, a name
 *     kind = cuda               a key may have dots, a name may not
 *     libs = cudnn,
 *         cublas                a list: commas, or one item a continuation line
 *
 * Every value remembers file and line. What is wrong is recorded in a sink with file, line and the
 * nearest known name. A file that others may write is an error. In a privileged process the environment and the user's file are ignored.
 */
#ifndef TENON_BASE_CONF_H
#define TENON_BASE_CONF_H

#include "tenon/base/diag.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnb_conf tnb_conf;

/* Where a value comes from, weakest first. From TNB_CONF_USER on, locked keys may not be set. */
typedef enum tnb_conf_layer {
    TNB_CONF_BUILT_IN,
    TNB_CONF_DATA,
    TNB_CONF_SYSTEM,
    TNB_CONF_USER,
    TNB_CONF_ENV,
    TNB_CONF_OPTION, /* --config */
    TNB_CONF_SET     /* --set */
} tnb_conf_layer;

/* One effective value. Continuation lines are joined by '\n'. Texts live as long as the tnb_conf.
 */
typedef struct tnb_conf_value {
    const char *section; /* "target" */
    const char *name;    /* "h200"; "" for [tenon] */
    const char *key;
    const char *value;
    const char *file; /* "built-in", "--set" or a path */
    uint32_t line;    /* 0: not from a file */
    tnb_conf_layer layer;
    bool trusted; /* the file passed the trust checks of tenon/base/plugin.h */
} tnb_conf_value;

typedef enum tnb_conf_type {
    TNB_CONF_TEXT,
    TNB_CONF_INT,
    TNB_CONF_BOOL, /* true/false, yes/no, on/off, 1/0 */
    TNB_CONF_LIST,
    TNB_CONF_PATH /* relative ones count from the folder of the INI file */
} tnb_conf_type;

/* One known key. A name that ends in ".*" stands for all keys that begin so. `fallback` NULL: none.
 */
typedef struct tnb_conf_key {
    const char *name;
    tnb_conf_type type;
    const char *fallback;
    const char *doc;
    int64_t least, most; /* of a TNB_CONF_INT; both 0: any */
} tnb_conf_key;

/* One kind of section. With `open`, other keys than `keys` are kept for the part of Tenon that
 * knows them (a target's attributes, a pass's options), which calls tnb_conf_check. Ends with a
 * NULL name. */
typedef struct tnb_conf_section {
    const char *name;
    bool named, open;
    const tnb_conf_key *keys; /* ends with a NULL name; NULL: none */
    const char *doc;
} tnb_conf_section;

/* The sections that exist, for documentation. */
TNB_EXPORT const tnb_conf_section *
tnb_conf_schema(void);

typedef struct tnb_conf_options {
    uint32_t size;            /* sizeof, or 0 */
    const char *const *files; /* --config, in order */
    uint32_t n_files;
    const char *const *sets; /* --set, "SECTION.NAME.KEY=VALUE" or "tenon.KEY=VALUE" */
    uint32_t n_sets;
    bool only_these; /* leave out everything but built-in, `files` and `sets` (for tests) */
    bool keep_going; /* give what could be read, also where errors were recorded (for checks) */
    bool no_user;    /* leave out the user's file and TENON_CONFIG */
} tnb_conf_options;

/* Loads everything. NULL when an error was recorded in `diags` (all of them, not only the first).
 * `o` may be NULL. */
TNB_EXPORT tnb_conf *
tnb_conf_load(const tnb_conf_options *o, tnb_diags *diags);
TNB_EXPORT void
tnb_conf_free(tnb_conf *c);

/* The effective value, NULL when nothing sets it. `name` "" or NULL for [tenon]. */
TNB_EXPORT const tnb_conf_value *
tnb_conf_find(const tnb_conf *c, const char *section, const char *name, const char *key);
/* Its text, or the schema's fallback, or NULL. */
TNB_EXPORT const char *
tnb_conf_text(const tnb_conf *c, const char *section, const char *name, const char *key);
/* As numbers; the value was checked against the schema's type on loading. For open keys: false and
 * an error in `diags` (may be NULL) when the text is none; true with `otherwise` when unset. */
TNB_EXPORT bool
tnb_conf_int(const tnb_conf *c, const char *section, const char *name, const char *key,
             int64_t otherwise, int64_t *out, tnb_diags *diags);
TNB_EXPORT bool
tnb_conf_bool(const tnb_conf *c, const char *section, const char *name, const char *key,
              bool otherwise, bool *out, tnb_diags *diags);

/* What locks a key against users ([tenon] lock of a trusted file); NULL: nothing. */
TNB_EXPORT const tnb_conf_value *
tnb_conf_locked(const tnb_conf *c, const char *section, const char *name, const char *key);

/* Splits at commas and ends of lines outside quotes, (), [] and {}; blanks around items go, empty
 * items are left out. */
TNB_EXPORT const char **
tnb_conf_split(tnb_arena *a, const char *text, uint32_t *n);

/* The names of the sections of a kind, in the order of their first mention; and whether one exists.
 */
TNB_EXPORT const char **
tnb_conf_names(const tnb_conf *c, tnb_arena *a, const char *section, uint32_t *n);
TNB_EXPORT bool
tnb_conf_has(const tnb_conf *c, const char *section, const char *name);
/* The values of one section, keys in the order of their first mention. */
TNB_EXPORT const tnb_conf_value **
tnb_conf_section_values(const tnb_conf *c, tnb_arena *a, const char *section, const char *name,
                        uint32_t *n);
/* Every effective value: by section, name (first mention), key. */
TNB_EXPORT const tnb_conf_value **
tnb_conf_all(const tnb_conf *c, tnb_arena *a, uint32_t *n);

/* Records an error for each key of an open section that is neither in the schema nor among `known`,
 * with the nearest of them as a hint; false when there was one. */
TNB_EXPORT TNB_MUST_CHECK bool
tnb_conf_check(const tnb_conf *c, const char *section, const char *name, const char *const *known,
               uint32_t n, tnb_diags *diags);

/* Records an error at the place of a value. */
TNB_EXPORT void
tnb_conf_report(const tnb_conf_value *v, tnb_diags *diags, tnb_status status, const char *fmt, ...)
    TNB_PRINTF(4, 5);

/* The nearest of `names` to `s` by edit distance, NULL when none is near: for "did you mean". */
TNB_EXPORT const char *
tnb_nearest(const char *s, const char *const *names, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
