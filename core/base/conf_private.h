/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as its loader and its readers share it. Internal to base. */
#ifndef TENON_CORE_BASE_CONF_PRIVATE_H
#define TENON_CORE_BASE_CONF_PRIVATE_H

#include "tenon/base/conf.h"

typedef struct tnb_conf_lock {
    struct tnb_conf_lock *next;
    const char *id; /* "SECTION.NAME.KEY", or the beginning of such and '*' */
    const tnb_conf_value *from;
} tnb_conf_lock;

struct tnb_conf {
    tnb_arena *arena;
    tnb_strmap values; /* "SECTION.NAME.KEY" -> tnb_conf_value, in the order of first mention */
    tnb_conf_lock *locks;
};

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
