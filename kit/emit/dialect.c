/* SPDX-License-Identifier: Apache-2.0 */
/* Dialects: what plugins offer. */
#include "tenon/core/build.h"
#include "tenon/kit/emit.h"

const tnk_dialect *
tnk_dialect_find(tn_ctx *ctx, const char *name)
{
    tnb_err err = {0};
    tn_registry *r = tn_ctx_registry(ctx);
    const tnk_dialect *d = r ? tn_find_entry(r, "dialect", name, &err) : NULL;
    if (d)
        return d;
    tn_error(ctx, 0, err.status ? err.status : TNB_NOT_FOUND,
             *err.message ? "kernels cannot be written: %s"
                          : "there is no dialect to write kernels in",
             err.message);
    if (*err.hint)
        tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
    else
        tnb_diag_hint(
            tn_diags(ctx),
            "a plugin offers one: dialect:%s in its manifest; see tenon list plugins --why", name);
    return NULL;
}
