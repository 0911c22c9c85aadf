/* SPDX-License-Identifier: Apache-2.0 */
/* The command line `tenon`: finds the subcommand and runs it. */
#include "config.h"
#include <stdio.h>

int
main(void)
{
    puts("tenon " PACKAGE_VERSION);
    return 0;
}
