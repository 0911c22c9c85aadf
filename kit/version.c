/* SPDX-License-Identifier: Apache-2.0 */
/* The version of libtenon-kit, for programs that want to know which library they run with. */
#include "config.h"
#include "tenon/base/status.h"

TNB_EXPORT const char *
tnk_version(void);

const char *
tnk_version(void)
{
    return PACKAGE_VERSION;
}
