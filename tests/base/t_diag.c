/* SPDX-License-Identifier: Apache-2.0 */
/* Error records and diagnostics say what they were given, and never more than fits. */
#include "tests/base/harness.h"
#include "tenon/base/diag.h"
#include "tenon/base/log.h"

static void
an_error_is_cut_with_dots(void **state)
{
    (void)state;
    tnb_err err;
    char longer[2000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(tnb_fail(&err, TNB_IO, "%s", longer), TNB_IO);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_string_equal(err.message + sizeof err.message - 4, "...");
    assert_int_equal(tnb_fail(&err, TNB_SHAPE, "short"), TNB_SHAPE);
    tnb_err_prefix(&err, "file %d", 3);
    assert_string_equal(err.message, "file 3: short");
    tnb_err_prefix(&err, "%s", longer);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    tnb_hint(&err, "%s", longer);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
    assert_int_equal(tnb_fail(NULL, TNB_ABI, "x"), TNB_ABI);
    assert_string_equal(tnb_status_name(TNB_INTERNAL), "internal error");
    assert_string_equal(tnb_status_name((tnb_status)999), "unknown status");
}

static void
a_diagnostic_prints_place_source_notes_and_hint(void **state)
{
    (void)state;
    tnb_diags *d = tnb_diags_new();
    char file[] = "a.py";
    tnb_report(d, TNB_ERROR, TNB_FORMAT, (tnb_place){.file = file, .line = 3, .column = 6},
               "expected %s", "')'");
    file[0] = 'z';
    tnb_diag_source(d, "\tf(\xc3\xa4 x\nnext", 12);
    tnb_diag_note(d, "note %d", 1);
    tnb_diag_hint(d, "add one");
    tnb_report(d, TNB_WARNING, TNB_OK, (tnb_place){.node = "node 'n' (Conv)"}, "odd");
    tnb_buf out = {0};
    tnb_diags_print(d, &out);
    assert_string_equal(out.s, "a.py:3:6: expected ')'\n"
                               "    \tf(\xc3\xa4 x\n"
                               "    \t   ^\n"
                               "  note: note 1\n"
                               "  hint: add one\n"
                               "node 'n' (Conv): warning: odd\n");
    tnb_buf_free(&out);
    assert_int_equal(tnb_diags_errors(d), 1);
    assert_int_equal(tnb_diags_count(d), 2);
    assert_null(tnb_diags_get(d, 2));
    tnb_err err;
    assert_int_equal(tnb_diags_first(d, &err), TNB_FORMAT);
    assert_string_equal(err.message, "a.py:3:6: expected ')'");
    assert_string_equal(err.hint, "add one");
    tnb_diags_clear(d);
    assert_int_equal(tnb_diags_first(d, &err), TNB_OK);
    tnb_diags_free(d);
}

static void
a_flood_of_errors_is_counted_not_kept(void **state)
{
    (void)state;
    tnb_diags *d = tnb_diags_new();
    for (int i = 0; i < 5000; i++) {
        tnb_report(d, TNB_ERROR, TNB_TYPE, (tnb_place){0}, "error %d", i);
        tnb_diag_note(d, "of %d", i);
    }
    assert_int_equal(tnb_diags_errors(d), 5000);
    assert_int_equal(tnb_diags_count(d), 100);
    assert_string_equal(tnb_diags_get(d, 99)->message, "error 99");
    assert_int_equal(tnb_diags_get(d, 99)->n_notes, 1);
    tnb_buf out = {0};
    tnb_diags_print(d, &out);
    assert_non_null(strstr(out.s, "and 4900 more errors\n"));
    tnb_buf_free(&out);
    tnb_diags_free(d);
    tnb_diags_free(NULL);
}

static void
keep_line(void *user, tnb_log_level level, const char *line)
{
    tnb_buf_printf(user, "%d %s\n", (int)level, line);
}

static void
a_program_may_take_the_messages_itself(void **state)
{
    (void)state;
    tnb_buf kept = {0};
    tnb_log_set_sink(keep_line, &kept);
    tnb_log(TNB_LOG_WARN, "disk %s", "full");
    tnb_log(TNB_LOG_DEBUG, "not shown at this level");
    tnb_log_set_sink(NULL, NULL);
    assert_string_equal(kept.s, "1 disk full\n");
    tnb_buf_free(&kept);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_cut_with_dots),
        cmocka_unit_test(a_diagnostic_prints_place_source_notes_and_hint),
        cmocka_unit_test(a_flood_of_errors_is_counted_not_kept),
        cmocka_unit_test(a_program_may_take_the_messages_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
