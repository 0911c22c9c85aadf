/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The simulated accelerator, compiler half: what its files share. */
#ifndef SIMACC_H
#define SIMACC_H

#include "tenon/kit/codegen.h"

extern const tnk_codegen simacc_codegen;

#endif
