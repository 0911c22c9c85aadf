/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Code of the simulated accelerator: source, compiled and loaded into the process. */
#ifndef SIMACC_MODULE_H
#define SIMACC_MODULE_H

#include <stdbool.h>
#include <stddef.h>

/* False: `why` (n_why bytes) says what went wrong. */
bool
module_load(const char *cc, const char *source, size_t n, void **module, char *why, size_t n_why);
void
module_unload(void *module);
void *
module_symbol(void *module, const char *name);

#endif
