/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the simulated device's tables of instructions has a form that is recorded, and every instruction that is decoded by
 * itself. */
#include "config.h"

#include "tests/cuda/record/forms.h"
#include "tests/cuda/sim/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Without the modifiers that many instructions have, which the tables leave out, too. */
static void
key_of(const char *name, char *out)
{
    static const char *const modifiers[] = {"rn",      "rz",   "rm",     "rp",   "rna",
                                            "ftz",     "sat",  "approx", "full", "NaN",
                                            "aligned", "relu", "uni"};
    size_t n = 0;
    for (const char *at = name; *at;) {
        size_t length = strcspn(at, "."), m = 0;
        while (m < sizeof modifiers / sizeof *modifiers &&
               !(at != name && strlen(modifiers[m]) == length &&
                 strncmp(modifiers[m], at, length) == 0))
            m++;
        if (m == sizeof modifiers / sizeof *modifiers) {
            if (n)
                out[n++] = '.';
            memcpy(out + n, at, length);
            n += length;
        }
        at += length + (at[length] == '.');
    }
    out[n] = '\0';
}

static bool
is_recorded(const char *key, bool begins)
{
    char name[128], mine[128];
    for (const form_row *row = form_rows; row->name; row++)
        for (uint32_t k = 0; form_name(row, k, name, sizeof name); k++) {
            key_of(name, mine);
            if (begins ? strncmp(mine, key, strlen(key)) == 0 && mine[strlen(key)] == '.'
                       : strcmp(mine, key) == 0)
                return true;
        }
    return false;
}

static void
all_of_the_tables_is_recorded(void **state)
{
    (void)state;
    static const sim_form *const tables[] = {sim_integer_forms, sim_bit_forms,  sim_carry_forms,
                                             sim_float_forms,   sim_half_forms, sim_warp_forms};
    static const char *const others[] = {"ld",       "st",       "atom",     "red",      "mov",
                                         "cvta",     "isspacep", "cvt",      "setp",     "set",
                                         "bar",      "mma",      "cp.async", "mbarrier", "ldmatrix",
                                         "stmatrix", "movmatrix"};
    int missing = 0;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const sim_form *f = tables[t]; f->name; f++)
            if (!is_recorded(f->name, false)) {
                print_error("%s is not recorded\n", f->name);
                missing++;
            }
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (!is_recorded(others[k], true)) {
            print_error("%s is not recorded\n", others[k]);
            missing++;
        }
    assert_int_equal(missing, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_the_tables_is_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
