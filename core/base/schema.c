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
    KEY("plugins", TNB_CONF_LIST, "*", "plugins that may be loaded; * for all"),
    KEY("plugin_path", TNB_CONF_LIST, NULL,
        "folders searched for plugins before the installed one"),
    KEY("prefer.*", TNB_CONF_TEXT, NULL,
        "prefer.NAME = PLUGIN: which plugin serves a name that two provide"),
    KEY("trust_owners", TNB_CONF_LIST, NULL, "numbers of further users whose plugins are trusted"),
    KEY("default_target", TNB_CONF_TEXT, "cpu", "the target where none is given"),
    KEY("cache_dir", TNB_CONF_PATH, NULL, "folder for caches, in place of $XDG_CACHE_HOME/tenon"),
    NUMBER("cache_size", "2048", 1, 1 << 24, "largest size of the caches, in MiB"),
    NUMBER("constant_limit", "32768", 1, 1 << 30,
           "MiB that constants which the compiler makes may take in all (ranges of files do not "
           "count)"),
    NUMBER("scratch_limit", "32768", 1, 1 << 30,
           "MiB that programs which the compiler runs (constants, --verify) may use at a time"),
    NUMBER("threads", "0", 0, 4096, "threads to use; 0 for all that the process may use"),
    KEY("tuning_db", TNB_CONF_LIST, NULL,
        "databases of measured schedules (tenon tune); none: read none. Not set: tuning.jsonl of "
        "the packages' data folder and the user's, $XDG_DATA_HOME/tenon/tuning.jsonl"),
    KEY("fallback", TNB_CONF_BOOL, "false",
        "whether work may go elsewhere when a library or device is absent"),
    KEY("log", TNB_CONF_TEXT, "warn", "messages that are shown: error, warn, info or debug"),
    KEY("lock", TNB_CONF_LIST, NULL,
        "SECTION.KEY, SECTION.NAME.KEY or SECTION.NAME.*: what users may not set any more"),
    {0},
};
static const tnb_conf_key target_keys[] = {
    KEY("kind", TNB_CONF_TEXT, NULL, "the kind of target, as a backend lists it"),
    {0},
};
static const tnb_conf_key pipeline_keys[] = {
    KEY("library_dispatch", TNB_CONF_TEXT, NULL, "replaces the phase that gives work to libraries"),
    KEY("legalize", TNB_CONF_TEXT, NULL, "replaces the phase that makes tensor programs"),
    KEY("finalize", TNB_CONF_TEXT, NULL, "replaces the phase that makes virtual-machine form"),
    KEY("lower", TNB_CONF_TEXT, NULL, "replaces the lowering of scheduled tensor programs"),
    KEY("insert.*", TNB_CONF_TEXT, NULL,
        "insert.LABEL = before|after PHASE-or-PASS[#k]: list; empty removes it"),
    KEY("drop", TNB_CONF_LIST, NULL, "passes left out"),
    {0},
};
static const tnb_conf_key profile_keys[] = {
    KEY("insert.*", TNB_CONF_TEXT, NULL, "insert.LABEL = before|after PHASE-or-PASS[#k]: list"),
    KEY("drop", TNB_CONF_LIST, NULL, "passes left out"),
    {0},
};
static const tnb_conf_key plugin_keys[] = {
    KEY("digest", TNB_CONF_TEXT, NULL, "SHA-256 that the module must have"),
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
