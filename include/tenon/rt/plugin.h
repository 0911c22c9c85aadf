/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor of a runtime plugin: a constant symbol `tnr_plugin`, made with TNR_PLUGIN(...). */
#ifndef TENON_RT_PLUGIN_H
#define TENON_RT_PLUGIN_H

#include "tenon/base/plugin.h"
#include "tenon/rt/device.h"
#include "tenon/rt/packed.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_plugin_desc {
    tnb_plugin_head head; /* magic, ABI, name, version: filled by the macro */
    const tnr_driver *drivers;
    uint32_t n_drivers;
    const tnr_packed *packed;
    uint32_t n_packed;
    tnb_status (*init)(const char *plugin_dir, tnb_err *err); /* may be NULL */
    void (*fini)(void);
} tnr_plugin_desc;

#ifdef __cplusplus
}
#endif
#endif
