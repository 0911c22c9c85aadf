/* SPDX-License-Identifier: Apache-2.0 */
/* The tuner's database, hostile input included; what functions are called there; the search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/tune.h"

static char folder[TNB_TEMPORARY_PATH], path[TNB_TEMPORARY_PATH + 16];

static int
setup(void **state)
{
    (void)state;
    tnb_err err = {0};
    if (tnb_temporary_dir(folder, &err) != TNB_OK)
        return -1;
    snprintf(path, sizeof path, "%s/db.jsonl", folder);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    tnb_temporary_remove(folder);
    return 0;
}

#define HEAD "{\"tenon_tuning\": 1}\n"
#define POINT(choice, threads, machine, result)                                              \
    "{\"target\": \"cpu {}\", \"function\": \"0123456789abcdef\", \"name\": \"f\", "         \
    "\"rule\": \"cpu.Matmul\", \"choices\": {\"tile_y\": " choice "}, \"threads\": " threads \
    ", \"machine\": \"" machine "\", " result "}\n"

static tnb_status
read_text(const char *text, size_t n, tnk_tuning **t, tnb_err *err)
{
    *err = (tnb_err){0};
    assert_int_equal(tnb_write_file(path, text, n, err), TNB_OK);
    *t = tnk_tuning_new();
    assert_non_null(*t);
    return tnk_tuning_read(*t, path, err);
}

static const tnk_tuning_record *
best(const tnk_tuning *t, int64_t threads)
{
    return tnk_tuning_best(t, "cpu {}", "0123456789abcdef", threads);
}

static int64_t
best_tile(const char *text, int64_t threads)
{
    tnk_tuning *t;
    tnb_err err;
    assert_int_equal(read_text(text, strlen(text), &t, &err), TNB_OK);
    const tnk_tuning_record *r = best(t, threads);
    int64_t v = r ? r->choices[0].value : -1;
    tnk_tuning_free(t);
    return v;
}

static void
test_the_fastest_counts(void **state)
{
    (void)state;
    assert_int_equal(best_tile(HEAD POINT("4", "2", "m", "\"seconds\": 3e-5")
                                   POINT("6", "2", "m", "\"seconds\": 1e-5")
                                       POINT("8", "2", "m", "\"seconds\": 2"),
                               0),
                     6);
    /* measured again: the last time counts */
    assert_int_equal(best_tile(HEAD POINT("6", "2", "m", "\"seconds\": 1e-5")
                                   POINT("4", "2", "m", "\"seconds\": 3e-5")
                                       POINT("6", "2", "m", "\"seconds\": 4e-5"),
                               0),
                     4);
    assert_int_equal(best_tile(HEAD POINT("6", "2", "m", "\"seconds\": 1e-5")
                                   POINT("4", "2", "m", "\"seconds\": 3e-5")
                                       POINT("6", "2", "m", "\"failed\": \"crashed\""),
                               0),
                     4);
    assert_int_equal(best_tile(HEAD POINT("6", "2", "m", "\"failed\": \"crashed\""), 0), -1);
    assert_int_equal(best_tile(HEAD, 0), -1);
    assert_int_equal(best_tile("", 0), -1);
}

static void
test_machines_are_not_mixed(void **state)
{
    (void)state;
    static const char text[] = HEAD POINT("4", "1", "fast", "\"seconds\": 1e-6")
        POINT("6", "2", "slow", "\"seconds\": 5e-5") POINT("8", "2", "slow", "\"seconds\": 4e-5")
            POINT("10", "1", "slow", "\"seconds\": 9e-5");
    assert_int_equal(best_tile(text, 0), 10); /* the last group */
    assert_int_equal(best_tile(text, 2), 8);
    assert_int_equal(best_tile(text, 7), 10); /* none of so many threads */
}

static void
test_another_function_or_target_has_none(void **state)
{
    (void)state;
    static const char text[] = HEAD POINT("4", "1", "m", "\"seconds\": 1e-6");
    tnk_tuning *t;
    tnb_err err;
    assert_int_equal(read_text(text, sizeof text - 1, &t, &err), TNB_OK);
    assert_non_null(best(t, 0));
    assert_null(tnk_tuning_best(t, "opencl {}", "0123456789abcdef", 0));
    assert_null(tnk_tuning_best(t, "cpu {}", "0123456789abcdee", 0));
    tnk_tuning_free(t);
}

static void
test_hostile_input_is_located(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"hello\n", "db.jsonl:1: "},
        {"[]\n", "db.jsonl:1: "},
        {"{}\n", "no tuning database"},
        {"{\"tenon_tuning\": 2}\n", "version 2"},
        {"{\"tenon_tuning\": \"1\"}\n", "no tuning database"},
        {HEAD "\n", "db.jsonl:2: an empty line"},
        {HEAD "{\"target\": 1}\n", "db.jsonl:2: 'target'"},
        {HEAD "{\"target\": \"cpu\", \"rule\": \"r\", \"function\": \"xyz\"}\n", "16 hexadecimal"},
        {HEAD "{\"target\": \"cpu\", \"rule\": \"r\", \"function\": \"0123456789abcdef\"}\n",
         "'choices'"},
        {HEAD POINT("\"a\"", "1", "m", "\"seconds\": 1"), "whole numbers"},
        {HEAD POINT("1.5", "1", "m", "\"seconds\": 1"), "whole numbers"},
        {HEAD POINT("4", "1", "m", "\"seconds\": 0"), "'seconds'"},
        {HEAD POINT("4", "1", "m", "\"seconds\": -1"), "'seconds'"},
        {HEAD POINT("4", "1", "m", "\"seconds\": \"1\""), "'seconds'"},
        {HEAD POINT("4", "1", "m", "\"seconds\": 1e999"), "db.jsonl:2: "},
        {HEAD POINT("4", "1", "m", "\"other\": 1"), "neither"},
        {HEAD POINT("4", "1", "m", "\"seconds\": 1, \"failed\": \"x\""), "both"},
        {HEAD POINT("4", "-1", "m", "\"seconds\": 1"), "'threads'"},
        {HEAD POINT("99999999999999999999", "1", "m", "\"seconds\": 1"), "db.jsonl:2: "},
        {HEAD POINT("4", "1", "m", "\"seconds\": 1") "{\"target\":\n", "db.jsonl:3: "},
        {HEAD "\xff\xfe\n", "db.jsonl:2: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnk_tuning *t;
        tnb_err err;
        tnb_status st = read_text(cases[i].text, strlen(cases[i].text), &t, &err);
        if (st == TNB_OK || !strstr(err.message, cases[i].says))
            fail_msg("case %zu: status %d, '%s' does not hold '%s'", i, (int)st, err.message,
                     cases[i].says);
        tnk_tuning_free(t);
    }
    /* a zero byte, and a line without end */
    tnk_tuning *t;
    tnb_err err;
    assert_int_not_equal(read_text(HEAD "{\0}\n", sizeof HEAD - 1 + 4, &t, &err), TNB_OK);
    tnk_tuning_free(t);
    size_t n = 1 << 17;
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, '[', n);
    memcpy(text, HEAD, sizeof HEAD - 1);
    text[n - 1] = '\n';
    assert_int_not_equal(read_text(text, n, &t, &err), TNB_OK);
    assert_non_null(strstr(err.message, ":2:"));
    tnk_tuning_free(t);
    free(text);
}

/* Cut anywhere, a file reads, and has the records whose lines are whole. */
static void
test_a_cut_file_reads(void **state)
{
    (void)state;
    static const char text[] =
        HEAD POINT("4", "1", "m", "\"seconds\": 1e-6") POINT("6", "1", "m", "\"seconds\": 1e-6");
    for (size_t n = 0; n < sizeof text; n++) {
        tnk_tuning *t;
        tnb_err err;
        uint32_t lines = 0;
        for (size_t i = 0; i < n; i++)
            lines += text[i] == '\n';
        assert_int_equal(read_text(text, n, &t, &err), TNB_OK);
        assert_int_equal(tnk_tuning_count(t), lines ? lines - 1 : 0);
        tnk_tuning_free(t);
        /* and adding puts the cut line right */
        const tnk_choice c = {"tile_y", 8};
        const tnk_tuning_record r = {.target = "cpu {\"a\": \"b\"}",
                                     .function = "00000000000000ff",
                                     .name = "na\"me\\\n\x80",
                                     .rule = "cpu.GEMV",
                                     .choices = &c,
                                     .n_choices = 1,
                                     .threads = 3,
                                     .machine = "m",
                                     .seconds = 1.25e-6};
        assert_int_equal(tnk_tuning_append(path, &r, &err), TNB_OK);
        t = tnk_tuning_new();
        assert_int_equal(tnk_tuning_read(t, path, &err), TNB_OK);
        assert_int_equal(tnk_tuning_count(t), lines ? lines : 1);
        const tnk_tuning_record *got = tnk_tuning_get(t, tnk_tuning_count(t) - 1);
        assert_string_equal(got->target, r.target);
        assert_string_equal(got->function, r.function);
        assert_string_equal(got->name, "na\"me\\\n\xef\xbf\xbd"); /* U+FFFD */
        assert_string_equal(got->key, "cpu.GEMV tile_y=8");
        assert_int_equal(got->threads, 3);
        assert_true(got->seconds > 1.2499e-6 && got->seconds < 1.2501e-6);
        tnk_tuning_free(t);
    }
}

static void
test_a_failure_is_kept(void **state)
{
    (void)state;
    tnb_err err = {0};
    remove(path);
    const tnk_tuning_record r = {.target = "t",
                                 .function = "00000000000000ff",
                                 .rule = "r",
                                 .seconds = -1,
                                 .failed = "crashed: a \"quote\""};
    assert_int_equal(tnk_tuning_append(path, &r, &err), TNB_OK);
    tnk_tuning *t = tnk_tuning_new();
    assert_int_equal(tnk_tuning_read(t, path, &err), TNB_OK);
    assert_string_equal(tnk_tuning_get(t, 0)->failed, r.failed);
    assert_true(tnk_tuning_get(t, 0)->seconds < 0);
    tnk_tuning_free(t);
    assert_int_not_equal(tnk_tuning_append("/dev/null/db", &r, &err), TNB_OK);
}

/* ---- names of functions ---- */

static const char program[] =
    "@I.ir_module\n"
    "class Module:\n"
    "    @T.prim_func\n"
    "    def %s(%s: T.Buffer((%d,), 'float32'), B: T.Buffer((%d,), 'float32')):\n"
    "        T.func_attr({'tirx.noalias': T.bool(%s)})\n"
    "        for i in range(%d):\n"
    "            with T.sblock('%s'):\n"
    "                v = T.axis.spatial(%d, i)\n"
    "                B[v] = %s[v] + T.float32(1)\n";

static const tn_node *
function(tn_ctx *ctx, const char *name, const char *buffer, int n, const char *noalias)
{
    char text[2048];
    snprintf(text, sizeof text, program, name, buffer, n, n, noalias, n, buffer, n, buffer);
    const tn_module *m = tn_read_module(ctx, "program.py", text, strlen(text));
    if (!m || !m->funcs.n) {
        tnb_buf b = {0};
        tnb_diags_print(tn_diags(ctx), &b);
        fail_msg("%s", b.s);
    }
    return m->funcs.at[0];
}

static void
test_names_take_no_part(void **state)
{
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const char *f = tnk_tuning_function(ctx, function(ctx, "add", "A", 16, "True"));
    assert_int_equal(strlen(f), 16);
    assert_string_equal(f, tnk_tuning_function(ctx, function(ctx, "other", "X", 16, "True")));
    assert_string_not_equal(f, tnk_tuning_function(ctx, function(ctx, "add", "A", 17, "True")));
    assert_string_not_equal(f, tnk_tuning_function(ctx, function(ctx, "add", "A", 16, "False")));
    /* the same in another context, whatever lies where */
    tn_ctx *second = tn_ctx_new(NULL);
    function(second, "noise", "N", 5, "True");
    assert_string_equal(f, tnk_tuning_function(second, function(second, "add", "A", 16, "True")));
    tn_ctx_free(second);
    tn_ctx_free(ctx);
}

/* ---- the search ---- */

static const int64_t sizes[] = {1, 2, 4, 8}, many[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

/* Two questions; the second one's options depend on the first answer. 8 has no schedule. */
static const tn_node *
apply_small(tn_ctx *ctx, const tn_node *f, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    int64_t a = tnk_rule_choice(ctx, "a", sizes, 4, 2);
    int64_t b = tnk_rule_choice(ctx, "b", sizes, a == 1 ? 1 : 3, 1);
    assert_int_equal(tnk_rule_choice(ctx, "a", sizes, 4, 8), a); /* asked again */
    if (a == 8)
        return NULL;
    return tn_func_with_attr(ctx, f, "chosen", tn_i64(ctx, 100 * a + b));
}

static const tn_node *
apply_large(tn_ctx *ctx, const tn_node *f, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    int64_t v = 0;
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        v = 10 * v + tnk_rule_choice(ctx, names[i], many, 10, 0);
    return tn_func_with_attr(ctx, f, "chosen", tn_i64(ctx, v));
}

static const tn_node *
apply_none(tn_ctx *ctx, const tn_node *f, const tn_target *target, void *self)
{
    (void)ctx;
    (void)f;
    (void)target;
    (void)self;
    return NULL;
}

static const tnk_rule small = {.base.size = sizeof small,
                               .base.name = "small",
                               .apply = apply_small},
                      large = {.base.size = sizeof large,
                               .base.name = "large",
                               .apply = apply_large},
                      none = {.base.size = sizeof none, .base.name = "none", .apply = apply_none};

static void
test_a_small_space_is_walked_whole(void **state)
{
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const tn_node *f = function(ctx, "add", "A", 16, "True");
    const tnk_rule *rules[] = {&none, &small};
    tnk_search *s = tnk_search_new(ctx, f, NULL, rules, 2, 16, 0);
    assert_non_null(s);
    assert_string_equal(tnk_search_default(s)->key, "small a=2 b=1");
    assert_int_equal(tnk_search_size(s), 7); /* a=1: 1; a=2 and a=4: 3 each */
    uint32_t n = 0;
    for (const tnk_candidate *c; (c = tnk_search_next(s)); n++)
        assert_string_not_equal(c->key, "small a=2 b=1");
    assert_int_equal(n, 6);
    assert_null(tnk_search_new(ctx, f, NULL, rules, 1, 16, 0));
    /* what is known is not given again */
    s = tnk_search_new(ctx, f, NULL, rules, 2, 16, 0);
    const tnk_choice ok[] = {{"b", 4}, {"a", 4}}, gone[] = {{"a", 1}, {"b", 4}};
    tnk_tuning_record r = {.rule = "small", .choices = ok, .n_choices = 2};
    assert_non_null(tnk_search_know(s, &r));
    r.choices = gone;
    assert_null(tnk_search_know(s, &r)); /* no option any more */
    r.rule = "gone";
    assert_null(tnk_search_know(s, &r));
    for (n = 0; tnk_search_next(s); n++)
        ;
    assert_int_equal(n, 5);
    tn_ctx_free(ctx);
}

/* Of 10000 points the search finds one of the best hundred within 400. */
static void
test_a_large_space_is_searched(void **state)
{
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const tn_node *f = function(ctx, "add", "A", 16, "True");
    const tnk_rule *rules[] = {&large};
    tnk_search *s = tnk_search_new(ctx, f, NULL, rules, 1, 16, 7);
    assert_int_equal(tnk_search_size(s), 0);
    double least = 1e30;
    tnb_arena *a = tnb_arena_new();
    tnb_strmap seen;
    tnb_strmap_init(&seen, a);
    for (int i = 0; i < 400; i++) {
        const tnk_candidate *c = tnk_search_next(s);
        assert_non_null(c);
        assert_false(tnb_strmap_has(&seen, c->key));
        tnb_strmap_set(&seen, c->key, c);
        double seconds = 1;
        for (uint32_t k = 0; k < c->n_choices; k++) {
            double away = (double)c->choices[k].value - 7;
            seconds += away * away;
        }
        tnk_search_tell(s, c, seconds);
        least = seconds < least ? seconds : least;
    }
    assert_true(least <= 3);
    /* a point told again counts once, and with its last time */
    double now;
    uint32_t failed;
    const tnk_candidate *best = tnk_search_fastest(s, &now);
    assert_true(now <= least && now >= least);
    assert_int_equal(tnk_search_told(s, &failed), 400);
    tnk_search_tell(s, best, -1);
    assert_int_equal(tnk_search_told(s, &failed), 400);
    assert_int_equal(failed, 1);
    assert_ptr_not_equal(tnk_search_fastest(s, NULL), best);
    tnb_arena_free(a);
    tn_ctx_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fastest_counts),
        cmocka_unit_test(test_machines_are_not_mixed),
        cmocka_unit_test(test_another_function_or_target_has_none),
        cmocka_unit_test(test_hostile_input_is_located),
        cmocka_unit_test(test_a_cut_file_reads),
        cmocka_unit_test(test_a_failure_is_kept),
        cmocka_unit_test(test_names_take_no_part),
        cmocka_unit_test(test_a_small_space_is_walked_whole),
        cmocka_unit_test(test_a_large_space_is_searched),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
