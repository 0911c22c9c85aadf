/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the driver share. */
#ifndef TENON_KIT_DRIVER_PRIVATE_H
#define TENON_KIT_DRIVER_PRIVATE_H

#include "tenon/base/conf.h"
#include "tenon/core/text.h"
#include "tenon/kit/artifact.h"
#include "tenon/kit/driver.h"
#include "tenon/kit/vm.h"

/* Records the error of a base function. */
void
driver_error(tn_ctx *ctx, const tnb_err *err);

/* One variant on its way into the artifact. */
struct driver_variant {
    tnk_target target;
    const tn_module *module; /* finalized */
    tnk_kernel *kernels;
    const char **kernel_funcs;
    uint32_t n_kernels;
    tnk_code code;
    tnk_program *program;
};

/* The names of functions that can be called from outside: those with a global symbol, or all graph
 * functions. */
const char *const *
driver_publics(tn_ctx *ctx, const tn_module *m, uint32_t *n);
/* The artifact's metadata as JSON. */
tnb_status
driver_metadata(tn_ctx *ctx, const tn_module *original, const char *const *publics,
                uint32_t n_publics, const struct driver_variant *variants, uint32_t n,
                tnb_buf *out);

#endif
