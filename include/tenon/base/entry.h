/* SPDX-License-Identifier: Apache-2.0 */
/* What entries of plugins' tables look like, so that one that lacks something is refused with its name when its plugin is loaded, and
 * not where the member is first used. The layers describe their own entries; plugins need none of this.
 *
 *     static const tnb_member members[] = {TNB_MEMBER(tnk_importer, recognize), TNB_MEMBER(tnk_importer, import), {0}};
 *     static const tnb_entry_kind importer = {.kind = "importer", .type = "tnk_importer in tenon/kit/importer.h",
 *                                        .size = sizeof(tnk_importer), .members = members, .needs = "recognize import"};
 */
#ifndef TENON_BASE_ENTRY_H
#define TENON_BASE_ENTRY_H

#include <stddef.h>
#include "tenon/base/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnb_member {
    const char *name; /* NULL ends a table */
    size_t at;        /* where in the entry a pointer lies */
} tnb_member;
/* clang-format off */
#define TNB_MEMBER(T, name_) {#name_, offsetof(T, name_)}
/* clang-format on */

typedef struct tnb_entry_kind {
    const char *kind; /* "importer"; NULL ends a table */
    const char *type; /* where it is described: "tnk_importer in tenon/kit/importer.h" */
    size_t size;      /* 0: another description of the kind says it */
    const tnb_member *members;
    /* Terms with a blank between, each to be met: `run`: this member is set; `text|make`: one of the two or both are;
     * `open+close|url`: both of the first, or the second; `?peer+peer_copy`: all of them or none. NULL: none. */
    const char *needs;
    /* Further conditions, asked once those were met; NULL: none. */
    tnb_status (*check)(const tnb_entry *e, const char *plugin, tnb_err *err);
} tnb_entry_kind;

/* TNB_INVALID, with what to do, for an entry that is NULL, has no size or name, or lacks a member; TNB_ABI for one of another size;
 * else what `check` says. `plugin`: whose it is, for messages; NULL: nobody's. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_entry_check(const tnb_entry_kind *s, const tnb_entry *e, const char *plugin, tnb_err *err);
/* The same for what is no entry: `needs` alone of the members of `thing`, whose name in messages is `name`. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_entry_needs(const tnb_entry_kind *s, const void *thing, const char *name, const char *plugin,
                tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
