/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor of a runtime plugin: a constant symbol `tnr_plugin`, made with TNR_PLUGIN(...). */
#ifndef TENON_RT_PLUGIN_H
#define TENON_RT_PLUGIN_H

#include "tenon/base/plugin.h"
#include "tenon/rt/device.h"
#include "tenon/rt/loader.h"
#include "tenon/rt/packed.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_plugin_desc {
    tnb_plugin_head head;             /* magic, ABI, name, version: filled by the macro */
    const tnr_driver *const *drivers; /* arrays of pointers */
    uint32_t n_drivers;
    const tnr_packed *const *packed;
    uint32_t n_packed;
    const tnr_loader *const *loaders; /* manifest: loader:NAME */
    uint32_t n_loaders;
    /* Before the tables are added: the place to read the plugin's own section (start->setting), to open a library, and to refuse to
     * serve. May be NULL. fini is called when the runtime is freed, if init succeeded; may be NULL. */
    tnb_status (*init)(const tnb_plugin_start *start, tnb_err *err);
    void (*fini)(void);
} tnr_plugin_desc;

/* The descriptor of a runtime plugin that is linked into the program (libtenon-rt-cpu.a has cpu_rt), to be declared and given to
 * tnr_runtime_add or to a session:
 *
 *     extern const tnr_plugin_desc TNR_LINKED(cpu_rt);
 */
#define TNR_LINKED(name_) name_##_LTX_tnr_plugin

/* The definition of a runtime plugin's descriptor:
 *
 *     TNR_PLUGIN(opencl_rt, "1.0", "Apache-2.0", "runs OpenCL kernels", .drivers = drivers, .n_drivers = 1);
 *
 * In C++ designators stand in the order of the members: drivers, packed, loaders, each with its n_, init, fini; see TN_PLUGIN.
 */
#define TNR_PLUGIN(name_, version_, licence_, summary_, ...)                                     \
    TNB_PLUGIN_NOTE(TNB_PLUGIN_RUNTIME);                                                         \
    TNB_EXPORT extern const tnr_plugin_desc TNB_PLUGIN_SYMBOL(name_, tnr_plugin);                \
    const tnr_plugin_desc TNB_PLUGIN_SYMBOL(name_, tnr_plugin) = {                               \
        .head = TNB_PLUGIN_HEAD(tnr_plugin_desc, TNB_PLUGIN_RUNTIME, #name_, version_, licence_, \
                                summary_),                                                       \
        __VA_ARGS__}

#ifdef __cplusplus
}
#endif
#endif
