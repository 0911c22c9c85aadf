/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders: what runs the functions that RunCodegen gave to a vendor's library.
 *
 * An artifact's variant names, for each such function, the code generator that took it and what the
 * generator wrote down for run time (JSON). The loader of that name, from a runtime plugin, makes a
 * module of it when a virtual machine is made; the program then calls the function like a packed one.
 */
#ifndef TENON_RT_LOADER_H
#define TENON_RT_LOADER_H

#include "tenon/rt/device.h"
#include "tenon/rt/packed.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_external {
    const char *loader;        /* "clml" */
    const char *symbol;        /* the function */
    const char *payload;       /* JSON text of what the generator wrote; never NULL */
    const uint32_t *constants; /* arguments that are the same constant in every call, rising */
    uint32_t n_constants;
} tnr_external;

typedef struct tnr_loader {
    tnb_entry base;
    uint32_t flags;
    /* A module for one machine on `dev`. `desc` lives as long as the module. */
    tnb_status (*open)(void *self, const tnr_external *desc, tnr_device *dev, void **module,
                       tnb_err *err);
    /* Inputs first, then the tensors that receive the results; all borrowed. Calls of one module do
     * not overlap. */
    tnb_status (*call)(void *module, const tnr_value *args, int n, tnb_err *err);
    void (*close)(void *module);
    void *self;
} tnr_loader;

#ifdef __cplusplus
}
#endif
#endif
