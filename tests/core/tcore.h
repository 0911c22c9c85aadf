/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the core share: a fresh context for each test. */
#ifndef TENON_TESTS_CORE_H
#define TENON_TESTS_CORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tenon/core/builder.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

static int
new_ctx(void **state)
{
    *state = tn_ctx_new(NULL);
    return *state ? 0 : -1;
}

static int
free_ctx(void **state)
{
    tn_ctx_free(*state);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, new_ctx, free_ctx)

#endif
