/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal while a device works, nobody knows how long: drivers compile kernels when they load them, or when a
 * kernel is first used (PoCL takes half a second for each). */
#include "tool.h"

#include "tenon/base/log.h"

static char text[128]; /* one is waited for at a time */

tnb_progress *
tnt_wait_for(const tnt_args *a, const char *what, const tnt_program *p)
{
    const char *device = tnr_artifact_variant(p->artifact, p->variant)->device;
    if (tnt_has(a, "quiet"))
        return NULL;
    snprintf(text, sizeof text,
             strcmp(device, "cpu") == 0 ? "%s" : "%s on %s (drivers compile kernels now)", what,
             device);
    return tnb_progress_start(text, 0);
}
