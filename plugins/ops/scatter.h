/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_elements and scatter_nd as GPUs want them; see scatter.c. */
#ifndef TENON_PLUGINS_OPS_SCATTER_H
#define TENON_PLUGINS_OPS_SCATTER_H

#include "tenon/core/registry.h"

enum { N_SCATTER_LEGALIZERS = 6 };
extern const tn_legalizer *const scatter_legalizers[N_SCATTER_LEGALIZERS];

#endif
