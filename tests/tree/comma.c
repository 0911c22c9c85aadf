/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a program (make check-locale): the program then runs in a locale with a decimal
 * comma, as one that called setlocale itself would. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void
set_comma_locale(void)
{
    char text[16];
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        return;
    setlocale(LC_MESSAGES, "C");
    snprintf(text, sizeof text, "%.1f", 0.5);
    if (strcmp(text, "0,5") != 0)
        abort();
}
