/* SPDX-License-Identifier: Apache-2.0 */
/* The sections and keys of Tenon's INI files. */
#include "tenon/base/conf.h"

static const tnb_conf_key tenon_keys[] = {
    {"plugins", TNB_CONF_LIST, "*", "plugins that may be loaded; * for all"},
    {"plugin_path", TNB_CONF_LIST, NULL, "folders searched for plugins before the installed one"},
    {"prefer.*", TNB_CONF_TEXT, NULL,
     "prefer.NAME = PLUGIN: which plugin serves a name that two provide"},
    {"trust_owners", TNB_CONF_LIST, NULL, "numbers of further users whose plugins are trusted"},
    {"default_target", TNB_CONF_TEXT, "cpu", "the target where none is given"},
    {"cache_dir", TNB_CONF_PATH, NULL, "folder for caches, in place of $XDG_CACHE_HOME/tenon"},
    {"cache_size", TNB_CONF_INT, "2048", "largest size of the caches, in MiB"},
    {"threads", TNB_CONF_INT, "0", "threads to use; 0 for all that the process may use"},
    {"fallback", TNB_CONF_BOOL, "false",
     "whether work may go elsewhere when a library or device is absent"},
    {"log", TNB_CONF_TEXT, "warn", "messages that are shown: error, warn, info or debug"},
    {"lock", TNB_CONF_LIST, NULL,
     "SECTION.KEY, SECTION.NAME.KEY or SECTION.NAME.*: what users may not set any more"},
    {0},
};
static const tnb_conf_key target_keys[] = {
    {"kind", TNB_CONF_TEXT, NULL, "the kind of target, as a backend lists it"},
    {0},
};
static const tnb_conf_key pipeline_keys[] = {
    {"library_dispatch", TNB_CONF_TEXT, NULL, "replaces the phase that gives work to libraries"},
    {"legalize", TNB_CONF_TEXT, NULL, "replaces the phase that makes tensor programs"},
    {"finalize", TNB_CONF_TEXT, NULL, "replaces the phase that makes virtual-machine form"},
    {"lower", TNB_CONF_TEXT, NULL, "replaces the lowering of scheduled tensor programs"},
    {"insert.*", TNB_CONF_TEXT, NULL,
     "insert.LABEL = before|after PHASE-or-PASS[#k]: list; empty removes it"},
    {"drop", TNB_CONF_LIST, NULL, "passes left out"},
    {0},
};
static const tnb_conf_key profile_keys[] = {
    {"insert.*", TNB_CONF_TEXT, NULL, "insert.LABEL = before|after PHASE-or-PASS[#k]: list"},
    {"drop", TNB_CONF_LIST, NULL, "passes left out"},
    {0},
};
static const tnb_conf_key plugin_keys[] = {
    {"digest", TNB_CONF_TEXT, NULL, "SHA-256 that the module must have"},
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
