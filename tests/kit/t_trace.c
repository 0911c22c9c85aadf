/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of schedules: what rules did, written to a file and applied again, gives the same functions;
 * what cannot be read is refused at its line and column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "krun.h"
#include "programs.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"

static krun k;

static int
open_all(void **state)
{
    (void)state;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

static const tn_module *
pass(const tn_module *m, const char *text, const tn_target *target)
{
    tn_pass_list list;
    assert_true(tn_pass_list_parse(k.ctx, text, "test", &list));
    tn_pass_run run = {.target = target};
    return tn_run_passes(k.ctx, m, &list, &run);
}

static const tn_node *
program(const char *wanted)
{
    for (int i = 0; i < program_count(); i++) {
        const char *name;
        const tn_node *dims, *f = program_get(k.ctx, i, &name, &dims);
        if (!strcmp(name, wanted))
            return f;
    }
    fail_msg("no program '%s'", wanted);
    return NULL;
}

static void
round_trip(const char *rules, const tn_target *target)
{
    char path[] = "/tmp/tenon-trace-XXXXXX", text[400];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    /* all programs in one module: the file has a part for each */
    const tn_module *m = tn_module_new(k.ctx);
    for (int i = 0; i < program_count(); i++) {
        const char *name;
        const tn_node *dims, *f = program_get(k.ctx, i, &name, &dims);
        m = tn_module_set(k.ctx, m, name, f);
    }
    snprintf(text, sizeof text, "ApplyDefaultSchedule{rules=[%s],trace=\"%s\"}", rules, path);
    const tn_module *by_rules = pass(m, text, target);
    if (!by_rules)
        krun_print_errors(&k);
    assert_non_null(by_rules);
    snprintf(text, sizeof text, "ApplyScheduleTrace{trace=\"%s\"}", path);
    const tn_module *again = pass(m, text, target);
    if (!again)
        krun_print_errors(&k);
    unlink(path);
    assert_non_null(again);
    int changed = 0;
    for (uint32_t i = 0; i < m->names.n; i++) {
        const char *name = tn_module_name(m, i);
        tnb_buf where = {0};
        bool same = tn_equal(k.ctx, tn_module_get(by_rules, name), tn_module_get(again, name), true,
                             &where);
        if (!same)
            fprintf(stderr, "%s: %s\n", name, where.s ? where.s : "");
        tnb_buf_free(&where);
        assert_true(same);
        changed += tn_module_get(m, name) != tn_module_get(again, name);
    }
    assert_true(changed > program_count() / 2);
}

static void
what_rules_for_the_processor_do_can_be_applied_again(void **state)
{
    (void)state;
    round_trip("Elementwise,Recurrent,Conv2d,Matmul,Softmax,Reduction,Pool,GEMV,Fallback",
               k.target);
}

static void
what_rules_for_a_gpu_do_can_be_applied_again(void **state)
{
    (void)state;
    static const char *const keys[] = {"opencl", "gpu"};
    tn_list l = tn_listv(k.ctx, tn_string(k.ctx, keys[0]), tn_string(k.ctx, keys[1]), NULL);
    const tn_node *attrs = tn_dictv(k.ctx, "keys", tn_array_of(k.ctx, l), NULL);
    round_trip("gpu.Matmul,gpu.GEMV,gpu.Reduction,gpu.GeneralReduction,gpu.Transpose,gpu.Fallback",
               tn_as_target(tn_target_of(k.ctx, "opencl", attrs)));
}

static void
a_line_that_cannot_be_read_is_refused_where_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line, column;
    } cases[] = {
        {"divide(T_matmul, ax0, 2)", "'divide' is no schedule primitive", 1, 1},
        {"# first\n\n  split(T_matmul, ax7, 2)", "block 'T_matmul' is in no loop 'ax7'", 3, 19},
        {"split(T_matmul, ax0#1, 2)", "no loop 'ax0' of that number", 1, 17},
        {"split(T_matmul#1, ax0, 2)", "there are 1 blocks 'T_matmul' only", 1, 7},
        {"split(matmul, ax0, 2)", "there is no block 'matmul'", 1, 7},
        {"split(T_matmul, ax0)", "split has more operands", 1, 20},
        {"split(T_matmul, ax0, two)", "an integer is missing", 1, 22},
        {"split(T_matmul, ax0, 99999999999999999999)", "the integer is too large", 1, 22},
        {"split(T_matmul, ax0, [2, 3)", "the list of integers is not well formed", 1, 27},
        {"split(T_matmul, ax0, 2", "')' is missing", 1, 23},
        {"split(T_matmul, ax0, 2) 3", "something follows the primitive", 1, 25},
        {"bind(T_matmul, ax0, blockIdx.x)", "a text in quotes is missing", 1, 21},
        {"bind(T_matmul, ax0, \"blockIdx.x)", "the text does not end", 1, 33},
        {"cache_read(T_matmul, D, \"local\")", "the block accesses no buffer 'D'", 1, 22},
        {"set_scope(A, \"local\")", "no buffer 'A' is allocated", 1, 11},
        {"transform_block_layout(T_matmul, lambda i, j, k: (i, k, l))", "'l'", 1, 57},
        {"annotate(T_matmul, ax0, \"x\", [1, ])", "number, text, True, False, None, a list", 1, 34},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnb_diags_clear(tn_diags(k.ctx));
        tnk_sch *s = tnk_sch_new(k.ctx, program("matmul"));
        assert_false(tnk_sch_apply(s, cases[i].text, "case", 1));
        assert_null(tnk_sch_finish(s));
        assert_true(tnb_diags_errors(tn_diags(k.ctx)) >= 1);
        const tnb_diag *d = tnb_diags_get(tn_diags(k.ctx), 0);
        if (!strstr(d->message, cases[i].message) || d->place.line != cases[i].line ||
            d->place.column != cases[i].column)
            fail_msg("%s\ngives '%s' at %u:%u", cases[i].text, d->message, d->place.line,
                     d->place.column);
    }
}

static void
an_illegal_primitive_is_told_with_its_line(void **state)
{
    (void)state;
    tnb_diags_clear(tn_diags(k.ctx));
    tnk_sch *s = tnk_sch_new(k.ctx, program("matmul"));
    assert_false(tnk_sch_apply(s, "split(T_matmul, ax0, 4)\nparallel(T_matmul, k)\n", "case", 1));
    tnb_buf all = {0};
    tnb_diags_print(tn_diags(k.ctx), &all);
    assert_non_null(strstr(all.s, "carries results from one iteration to the next"));
    assert_non_null(strstr(all.s, "line 2 of case"));
    tnb_buf_free(&all);
}

static void
every_kind_of_operand_is_read(void **state)
{
    (void)state;
    static const char text[] =
        "annotate_block(T_matmul, \"a\\\"b\", [1, \"x\", True, [-2]])\n"
        "annotate_block(T_matmul, \"c\", [0.5, \"two\\u000alines\", {\"d\":-1}])\n"
        "cache_read(T_matmul, B, \"shared\", [1, 0])\n"
        "split(T_matmul, ax1, [-1, 4, 2])\n"
        "storage_align(B_shared, B_shared, -2, 32, 8)\n"
        "transform_block_layout(B_shared, lambda i, j: (((i * 21) + j)))\n"
        "annotate(T_matmul, ax0, \"unroll\", None)\n";
    tnb_diags_clear(tn_diags(k.ctx));
    tnk_sch *s = tnk_sch_new(k.ctx, program("matmul"));
    if (!tnk_sch_apply(s, text, "case", 1))
        krun_print_errors(&k);
    assert_non_null(tnk_sch_finish(s));
    assert_string_equal(tnk_sch_trace(s), text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rules_for_the_processor_do_can_be_applied_again),
        cmocka_unit_test(what_rules_for_a_gpu_do_can_be_applied_again),
        cmocka_unit_test(a_line_that_cannot_be_read_is_refused_where_it_is),
        cmocka_unit_test(an_illegal_primitive_is_told_with_its_line),
        cmocka_unit_test(every_kind_of_operand_is_read),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
