/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The null backend, compiler half: what its files share. */
#ifndef TENON_NULL_H
#define TENON_NULL_H

#include "tenon/kit/codegen.h"

extern const char *const null_library_dispatch[], *const null_legalize[], *const null_finalize[],
                                                                              *const null_lower[];
extern const tnk_codegen null_codegen;

#endif
