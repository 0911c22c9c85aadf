/* SPDX-License-Identifier: Apache-2.0 */
/* docs/onnx.md says which operators there are in which versions: its two tables are compared with
 * what the importer takes. */
#include "import_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATORS = 203, MAX_VERSION = 28 };

/* Whether the importer has a row for the operator: a node without inputs is then taken, or refused
 * for another reason. */
static bool
is_known(fixture *f, const char *op, int version)
{
    mw g = {0};
    mw_put(&g, GRAPH_OUTPUT, mw_value("y", FLOAT, NULL, -1));
    mw_put(&g, GRAPH_NODE, mw_node(op, "n", "", "y"));
    return fixture_import(f, mw_model(g, version), NULL) == TNB_OK ||
           strstr(f->text.s, "unsupported operator") == NULL;
}

/* A row "| Name | 1, 6 | ..."; false: the line is none. The name ends up NUL-terminated. */
static bool
table_row(char *line, const char **name, const char **versions)
{
    if (strncmp(line, "| ", 2) != 0 || line[2] < 'A' || line[2] > 'Z')
        return false;
    char *bar = strstr(line, " | ");
    assert_non_null(bar);
    *bar = 0;
    *name = line + 2;
    *versions = bar + 3;
    return true;
}

static int
check_row(fixture *f, const char *name, const char *versions, bool wanted)
{
    int n = 0;
    for (char *end; *versions >= '0' && *versions <= '9'; versions = end + (*end == ',') * 2) {
        long v = strtol(versions, &end, 10);
        assert_in_range(v, 1, MAX_VERSION);
        if (is_known(f, name, (int)v) != wanted)
            fail_msg("docs/onnx.md: %s in version %ld: %s", name, v,
                     wanted ? "the importer does not have it" : "the importer has it");
        n++;
    }
    /* models say the newest version of the whole set, not that of the operator */
    if (strcmp(name, "Upsample") != 0 && is_known(f, name, MAX_VERSION) != wanted)
        fail_msg("docs/onnx.md: %s in version %d", name, MAX_VERSION);
    return n;
}

static void
the_tables_say_what_the_importer_takes(void **state)
{
    fixture *f = *state;
    char path[1024], line[1024], last[sizeof line] = "";
    const char *top = getenv("top_srcdir"), *name, *versions;
    int rows = 0;
    bool wanted = true;
    snprintf(path, sizeof path, "%s/docs/onnx.md", top ? top : ".");
    FILE *in = fopen(path, "r");
    if (!in)
        fail_msg("cannot open %s", path);
    while (fgets(line, sizeof line, in)) {
        if (strcmp(line, "## Not there\n") == 0) {
            wanted = false;
            last[0] = 0;
        }
        if (!table_row(line, &name, &versions))
            continue;
        assert_true(strcmp(last, name) < 0); /* sorted, none twice */
        snprintf(last, sizeof last, "%s", name);
        assert_true(check_row(f, name, versions, wanted) > 0);
        rows++;
    }
    fclose(in);
    assert_int_equal(rows, OPERATORS);
}

static void
operators_are_not_taken_before_they_exist(void **state)
{
    static const struct {
        const char *op;
        int version;
    } early[] = {{"Attention", 22}, {"BitCast", 25},       {"Gelu", 19},  {"CumProd", 25},
                 {"Swish", 23},     {"Upsample", 10},      {"Resize", 9}, {"Mish", 17},
                 {"DFT", 16},       {"NoSuchOperator", 26}};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++)
        assert_false(is_known(*state, early[i].op, early[i].version));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_say_what_the_importer_takes),
        cmocka_unit_test(operators_are_not_taken_before_they_exist),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
