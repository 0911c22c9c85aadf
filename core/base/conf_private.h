/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as its loader and its readers share it. Internal to base. */
#ifndef TENON_CORE_BASE_CONF_PRIVATE_H
#define TENON_CORE_BASE_CONF_PRIVATE_H

#include "tenon/base/conf.h"

/* One section with the values of all files. */
typedef struct tnb_conf_group {
    const char *section, *name;
    TNB_VEC(const tnb_conf_value *) values; /* in the order of the keys' first mention */
} tnb_conf_group;

struct tnb_conf {
    tnb_arena *arena;
    tnb_strmap values; /* "SECTION.NAME.KEY" -> tnb_conf_value */
    tnb_strmap groups; /* "SECTION.NAME" -> tnb_conf_group, in the order of first mention */
    tnb_strmap
        locks; /* "SECTION.NAME.KEY", or the beginning of such and '*', -> the value that locks it */
    size_t longest_lock;
};

/* What a map of the configuration holds for "SECTION.NAME.KEY", or for "SECTION.NAME" if `key` is NULL.
 * A `name` of NULL is "". */
void *
tnb_conf_lookup(const tnb_strmap *m, const char *section, const char *name, const char *key);

const tnb_conf_section *
tnb_conf_section_named(const char *name);
const tnb_conf_key *
tnb_conf_key_of(const tnb_conf_section *s, const char *key);
bool
tnb_conf_as_bool(const char *s, bool *out);

/* trust.c: refuses an open file that others than its owner may write, or whose folders they may. */
TNB_MUST_CHECK tnb_status
tnb_unshared_fd(int fd, const char *path, tnb_err *err);

#endif
