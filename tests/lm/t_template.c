/* SPDX-License-Identifier: Apache-2.0 */
/* Templates that are wrong, hostile or ask for what is not there end in an error with their line. What right ones give is compared with
 * transformers by compare_templates.py. */
#include "tests/base/harness.h"
#include "tenon/lm/chat.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tnb_status
render(const char *text, const char *variables, tnb_buf *out, tnb_err *err)
{
    tnl_template *t;
    tnb_status st = tnl_template_new(text, strlen(text), "t", &t, err);
    if (st != TNB_OK)
        return st;
    st = tnl_template_render(t, variables, strlen(variables), 0, out, err);
    tnl_template_free(t);
    return st;
}

static void
refused(const char *text, tnb_status want, const char *says)
{
    tnb_buf out = {0};
    tnb_err err = {0};
    tnb_status st = render(text, "{\"messages\": [{\"role\": \"user\"}]}", &out, &err);
    if (st != want || !strstr(err.message, says))
        fail_msg("%.200s: %s: %s", text, tnb_status_name(st), err.message);
    assert_int_equal(out.n, 0);
    tnb_buf_free(&out);
}

static void
mistakes_are_told_with_their_line(void **state)
{
    (void)state;
    refused("a\n{% if %}", TNB_FORMAT, "t:2: expected an expression");
    refused("{% if x %}", TNB_FORMAT, "t:1: the block that begins here has no");
    refused("\n\n{{ 'a", TNB_FORMAT, "t:3");
    refused("{{ a", TNB_FORMAT, "t:1: a tag without its end");
    refused("{# a", TNB_FORMAT, "t:1: a comment without its end");
    refused("{% raw %}x", TNB_FORMAT, "'raw' without 'endraw'");
    refused("{{ 1 ! 2 }}", TNB_FORMAT, "unexpected character");
    refused("{% break %}", TNB_FORMAT, "outside of a loop");
    refused("\n{% include 'x' %}", TNB_UNSUPPORTED, "t:2: the statement 'include'");
    refused("\n{{ x|nosuch }}", TNB_UNSUPPORTED, "t:2: the filter 'nosuch'");
    refused("{{ x is nosuch }}", TNB_UNSUPPORTED, "the test 'nosuch'");
    refused("{% if true %}\n{{ 'x'|nosuch }}{% endif %}", TNB_UNSUPPORTED,
            "t:2: the filter 'nosuch'");
    refused("{% for i in [] %}\n{{ i|nosuch }}{% endfor %}", TNB_UNSUPPORTED, "t:2: the filter");
    refused("{{ '{:>3}'.format(1) }}", TNB_UNSUPPORTED, "'{:>3}'");
    refused("a\nb{{ x.y.z }}", TNB_INVALID, "t:2: 'x' is undefined");
    refused("{{ 9223372036854775807 + 1 }}", TNB_INVALID, "beyond 64 bits");
    refused("{{ 99999999999999999999 }}", TNB_FORMAT, "no number in range");
    refused("{{ '\\ud800' }}", TNB_FORMAT, "character");
    refused("{{ raise_exception('roles must alternate') }}", TNB_INVALID, "roles must alternate");
    refused("{% set messages.x = 1 %}", TNB_INVALID, "only attributes of a namespace");
    refused("{{ [1].append(2) }}", TNB_INVALID, "undefined");
}

static void
hostile_templates_end(void **state)
{
    (void)state;
    refused("{% for a in range(1000000000) %}{% endfor %}", TNB_BOUNDS, "");
    refused("{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}",
            TNB_BOUNDS, "more than");
    refused("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", TNB_BOUNDS, "deeper");
    refused("{% set n = namespace(x='aaaaaaaa') %}{% for i in range(100) %}{% set n.x = n.x ~ n.x "
            "%}{% endfor %}",
            TNB_BOUNDS, "memory");
    refused("{{ 'x' * 1000000000000 }}", TNB_BOUNDS, "");
    refused("{{ 'x' * 9223372036854775807 }}", TNB_BOUNDS, "");
    refused("{{ ('x' * 100000000).replace('x', 'yyyyyyyyyy') }}", TNB_BOUNDS, "");
    refused("{{ [0] * 100000000 }}", TNB_BOUNDS, "");
    refused("{{ ('{0}' * 1000).format('x' * 100000000) }}", TNB_BOUNDS, "");
    refused("{{ ('<' * 100000000) | escape }}", TNB_BOUNDS, "");
    refused("{% set n = namespace(x=[]) %}{% for i in range(1000) %}{% set n.x = [n.x] %}{% endfor "
            "%}{{ n.x }}",
            TNB_BOUNDS, "deeper");
    refused("{% set n = namespace() %}{% set n.n = n %}{{ n }}", TNB_BOUNDS, "deeper");
    refused("{{ 2 ** 9223372036854775807 }}", TNB_INVALID, "beyond 64 bits");
    char *deep = malloc(100001);
    static const char *const open[] = {"(",          "[",  "-",    "not ",         "{{",
                                       "{% if 1 %}", "x.", "a ~ ", "1 if 1 else ", "{'a':"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        size_t n = strlen(open[i]), at = 0;
        if (open[i][0] != '{' || open[i][1] == '\'')
            at = (size_t)sprintf(deep, "{{ ");
        for (; at + n < 100000; at += n)
            memcpy(deep + at, open[i], n);
        deep[at] = 0;
        tnb_buf out = {0};
        tnb_err err = {0};
        assert_int_not_equal(render(deep, "{}", &out, &err), TNB_OK);
        tnb_buf_free(&out);
    }
    /* long chains are deep trees */
    size_t at = (size_t)sprintf(deep, "{{ 'a'");
    for (; at < 99000; at += 6)
        memcpy(deep + at, " ~ 'a'", 6);
    memcpy(deep + at, " }}", 4);
    tnb_buf out = {0};
    tnb_err err = {0};
    assert_int_equal(render(deep, "{}", &out, &err), TNB_BOUNDS);
    tnb_buf_free(&out);
    free(deep);
}

static void
variables_are_an_object(void **state)
{
    (void)state;
    tnb_buf out = {0};
    tnb_err err;
    assert_int_equal(render("x", "[1]", &out, &err), TNB_FORMAT);
    assert_int_equal(render("x", "{", &out, &err), TNB_FORMAT);
    assert_int_equal(render("{{ a }}{{ strftime_now('%Y') }}", "{\"a\": \"b\"}", &out, &err),
                     TNB_OK);
    assert_string_equal(out.s, "b1970");
    out.n = 0;
    assert_int_equal(render("{% if b %}{{ a|nosuch }}{% endif %}{{ '{}'.format(a)|safe + '<' }}",
                            "{\"a\": \"<\"}", &out, &err),
                     TNB_OK);
    assert_string_equal(out.s, "<&lt;");
    assert_int_equal(tnl_template_render(NULL, "{}", 2, 0, &out, &err), TNB_INVALID);
    tnb_buf_free(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_told_with_their_line),
        cmocka_unit_test(hostile_templates_end),
        cmocka_unit_test(variables_are_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
