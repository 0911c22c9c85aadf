/* SPDX-License-Identifier: Apache-2.0 */
/* The sections and keys of Tenon's INI files. */
#include "tenon/base/conf.h"

#define KEY(name_, type_, fallback_, doc_)                                       \
    {                                                                            \
        .name = (name_), .type = (type_), .fallback = (fallback_), .doc = (doc_) \
    }
#define NUMBER(name_, fallback_, least_, most_, doc_)                                  \
    {                                                                                  \
        .name = (name_), .type = TNB_CONF_INT, .fallback = (fallback_), .doc = (doc_), \
        .least = (least_), .most = (most_)                                             \
    }

static const tnb_conf_key tenon_keys[] = {
    KEY("plugins", TNB_CONF_LIST, "*",
        "plugins that may be loaded; * for all; -NAME: not this one"),
    KEY("plugin_path", TNB_CONF_LIST, NULL,
        "folders searched for plugins before the installed folder"),
    KEY("prefer.*", TNB_CONF_TEXT, NULL,
        "prefer.NAME = PLUGIN: the provider of NAME if several plugins provide it"),
    KEY("trust_owners", TNB_CONF_LIST, NULL, "user IDs of additional trusted plugin owners"),
    KEY("default_target", TNB_CONF_TEXT, "cpu", "target if none is given"),
    KEY("target_order", TNB_CONF_LIST, NULL,
        "targets or devices, best first: which one of an artifact's runs; unset: the artifact's "
        "order"),
    KEY("cache_dir", TNB_CONF_PATH, NULL, "cache folder; unset: $XDG_CACHE_HOME/tenon"),
    NUMBER("cache_size", "2048", 1, 1 << 24, "limit on the size of the caches, MiB"),
    NUMBER("weights_cache_size", "65536", 1, 1 << 30,
           "limit on the size of the cache of transformed weights, MiB"),
    NUMBER(
        "constant_limit", "32768", 1, 1 << 30,
        "limit on all constants that one compilation computes, MiB (ranges of files do not count)"),
    NUMBER("scratch_limit", "32768", 1, 1 << 30,
           "limit on the memory of programs that the compiler runs (constants, --verify), MiB"),
    NUMBER("threads", "0", 0, 4096, "number of threads; 0: all processors of the process"),
    KEY("tuning_db", TNB_CONF_LIST, NULL,
        "tuning databases (tenon tune); `none` for none. Unset: tuning.jsonl in the packages' data "
        "folder and in $XDG_DATA_HOME/tenon"),
    KEY("fallback", TNB_CONF_BOOL, "false",
        "allow other kernels or targets if a library or device is missing"),
    KEY("log", TNB_CONF_TEXT, "warn", "log level: error, warn, info or debug"),
    KEY("lock", TNB_CONF_LIST, NULL,
        "keys that users may not set: SECTION.KEY, SECTION.NAME.KEY or SECTION.NAME.*"),
    {0},
};
static const tnb_conf_key target_keys[] = {
    KEY("kind", TNB_CONF_TEXT, NULL, "target kind (tenon show targets)"),
    {0},
};
static const tnb_conf_key pipeline_keys[] = {
    KEY("library_dispatch", TNB_CONF_TEXT, NULL, "replaces the phase library_dispatch"),
    KEY("legalize", TNB_CONF_TEXT, NULL, "replaces the phase legalize"),
    KEY("finalize", TNB_CONF_TEXT, NULL, "replaces the phase finalize"),
    KEY("lower", TNB_CONF_TEXT, NULL, "replaces the list lower"),
    KEY("insert.*", TNB_CONF_TEXT, NULL,
        "insert.LABEL = before|after PHASE-or-PASS[#k]: LIST; an empty value removes it"),
    KEY("drop", TNB_CONF_LIST, NULL, "passes to remove"),
    {0},
};
static const tnb_conf_key profile_keys[] = {
    KEY("insert.*", TNB_CONF_TEXT, NULL, "insert.LABEL = before|after PHASE-or-PASS[#k]: LIST"),
    KEY("drop", TNB_CONF_LIST, NULL, "passes to remove"),
    {0},
};
static const tnb_conf_key plugin_keys[] = {
    KEY("digest", TNB_CONF_TEXT, NULL, "required SHA-256 of the module"),
    {0},
};

static const tnb_conf_section sections[] = {
    {"tenon", false, false, tenon_keys, "Tenon itself"},
    {"target", true, true, target_keys,
     "a target: its kind and attributes; several may share a kind"},
    {"pipeline", true, false, pipeline_keys, "changes to a target's pass lists"},
    {"pass", true, true, NULL, "options of a pass"},
    {"profile", true, false, profile_keys,
     "inserts for any target, applied by --profile or an importer"},
    {"device", true, true, NULL, "settings of a device driver"},
    {"plugin", true, true, plugin_keys, "settings of a plugin"},
    {"tags", false, true, NULL, "upstream's target tags: tag = target section or JSON target"},
    {0},
};

const tnb_conf_section *
tnb_conf_schema(void)
{
    return sections;
}
