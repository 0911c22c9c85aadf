/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON: wherever an allocation fails, the reader gives a message, or all that is there, and
 * writes nowhere else.
 */
#include "tests/base/harness.h"
#include "tenon/base/json.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 64, MARK = 0x5a };

static long seen, fail_from;
static bool once;
static int64_t blocks;

static bool
fails(void)
{
    seen++;
    return once ? seen == fail_from : fail_from && seen >= fail_from;
}

/* Blocks between edges that nobody may write to. */
static void *
edged_malloc(size_t n)
{
    char *p = fails() ? NULL : malloc(n + 2 * EDGE);
    if (!p)
        return NULL;
    memset(p, MARK, n + 2 * EDGE);
    memcpy(p, &n, sizeof n);
    blocks++;
    return p + EDGE;
}

static void
edged_free(void *p)
{
    size_t n;
    if (!p)
        return;
    unsigned char *b = (unsigned char *)p - EDGE;
    memcpy(&n, b, sizeof n);
    for (size_t i = 0; i < EDGE; i++) {
        assert_int_equal(b[EDGE + n + i], MARK);
        if (i >= sizeof n)
            assert_int_equal(b[i], MARK);
    }
    blocks--;
    free(b);
}

static const char text[] =
    "{\"a\": [1, -2.5, true, null],\n"
    " \"a key that is longer than the buffer which jansson starts with, and goes on for a while\": "
    "\"a value, longer still, with escapes \\n\\t\\u00e9\\ud83d\\ude00 and letters like "
    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 until the buffer has grown three or four times over\",\n"
    " \"numbers\": [9223372036854775807, 0.30000000000000004440892098500626, "
    "1.797693134862315708e+308],\n \"k0\": 0, \"k1\": 1, \"k2\": 2, \"k3\": 3, \"k4\": 4, \"k5\": "
    "5, \"k6\": 6, \"k7\": 7, \"k8\": 8, \"k9\": {\"deep\": [[[[[[\"x\"]]]]]]}}";

static tnb_status
read_text(json_t **out, tnb_err *err)
{
    return tnb_json_parse(text, sizeof text - 1, JSON_REJECT_DUPLICATES, out, err);
}

static void
allocations_that_fail_give_a_message(void **state)
{
    (void)state;
    json_set_alloc_funcs(edged_malloc, edged_free);
    tnb_err err = {0};
    json_t *want, *got;
    assert_int_equal(read_text(&want, &err), TNB_OK);
    int64_t held = blocks;
    for (int alone = 0; alone < 2; alone++) {
        long failures = 0;
        once = alone;
        for (long at = 1;; at++) {
            seen = 0;
            fail_from = at;
            if (read_text(&got, &err) == TNB_OK)
                assert_true(json_equal(got, want));
            else
                assert_true(err.status == TNB_NO_MEMORY && strstr(err.message, "no memory"));
            failures += !got;
            json_decref(got);
            assert_int_equal(blocks, held);
            if (seen < at)
                break;
        }
        assert_true(failures > 60);
    }
    fail_from = 0;
    json_decref(want);
    assert_int_equal(blocks, 0);
}

static void
faults_of_a_text_are_told_with_their_line(void **state)
{
    (void)state;
    tnb_err err = {0};
    json_t *v;
    static const char twice[] = "{\"a\": 1,\n \"a\": 2}";
    assert_int_equal(tnb_json_parse(twice, sizeof twice - 1, JSON_REJECT_DUPLICATES, &v, &err),
                     TNB_FORMAT);
    assert_non_null(strstr(err.message, "line 2"));
    assert_int_equal(tnb_json_parse("", 0, 0, &v, &err), TNB_FORMAT);
    assert_int_equal(tnb_json_parse("[1] 2", 5, 0, &v, &err), TNB_FORMAT);
    assert_int_equal(tnb_json_parse("[\"x\"]]]", 5, 0, &v, &err), TNB_OK);
    json_decref(v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_that_fail_give_a_message),
        cmocka_unit_test(faults_of_a_text_are_told_with_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
