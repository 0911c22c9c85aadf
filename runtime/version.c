/* SPDX-License-Identifier: Apache-2.0 */
/* The version of libtenon-rt, for programs that want to know which library they run with. */
#include "config.h"
#include "tenon/rt/session.h"

const char *
tnr_version(void)
{
    return PACKAGE_VERSION;
}
