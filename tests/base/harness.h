/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers that it wants included first. */
#ifndef TESTS_BASE_HARNESS_H
#define TESTS_BASE_HARNESS_H

#include "config.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
