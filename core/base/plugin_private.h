/* SPDX-License-Identifier: Apache-2.0 */
/* The index of plugins as its parts share it. Internal to base. */
#ifndef TENON_CORE_BASE_PLUGIN_PRIVATE_H
#define TENON_CORE_BASE_PLUGIN_PRIVATE_H

#include "tenon/base/plugin.h"

typedef struct tnb_candidate {
    tnb_plugin pub;                /* first: a tnb_plugin of ours is a tnb_candidate */
    const tnb_plugin_head *linked; /* of a plugin that the program holds */
    bool loading;                  /* to find plugins that require each other */
} tnb_candidate;

struct tnb_plugins {
    tnb_arena *arena;
    const tnb_conf *conf;
    uint32_t *owners;
    uint32_t n_owners;
    TNB_VEC(const char *) folders; /* searched already */
    TNB_VEC(tnb_candidate *) all;
};

static inline tnb_candidate *
tnb_candidate_of(tnb_plugins *p, const tnb_plugin *plugin)
{
    for (uint32_t i = 0; i < p->all.n; i++)
        if (&p->all.at[i]->pub == plugin)
            return p->all.at[i];
    return NULL;
}

/* TNB_ABI with both versions and what to do, unless this host can take a plugin of that version. */
TNB_MUST_CHECK tnb_status
tnb_plugin_abi_check(const char *path, uint32_t major, uint32_t minor, tnb_err *err);

#endif
