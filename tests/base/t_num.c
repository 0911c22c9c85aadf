/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are read and written the same in every locale, and read back as they were. */
#include "tests/base/harness.h"
#include "tenon/base/hash.h"
#include "tenon/base/mem.h"
#include "tenon/base/num.h"
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What tnb_vformat writes and returns is what vsnprintf does, whatever the room. */
static void
same_format(const char *fmt, ...) TNB_PRINTF(1, 2);
static void
same_format(const char *fmt, ...)
{
    char want[300], got[300];
    for (size_t room = 0; room <= sizeof want; room += room < 40 ? 1 : 65) {
        memset(want, '#', sizeof want);
        memset(got, '#', sizeof got);
        va_list a;
        va_start(a, fmt);
        int n = vsnprintf(want, room, fmt, a);
        va_end(a);
        va_start(a, fmt);
        assert_int_equal(tnb_vformat(got, room, fmt, a), n);
        va_end(a);
        assert_memory_equal(got, want, sizeof want);
    }
}

static void
formats_are_written_as_by_vsnprintf(void **state)
{
    (void)state;
    const char *volatile none = NULL;
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    same_format("plain, %s, %c, %%, %s", longer, 'q', "");
    same_format("%s", none);
    same_format("%d %d %d %u %u", 0, INT_MAX, INT_MIN, 0u, UINT_MAX);
    same_format("%ld %ld %lu", LONG_MAX, LONG_MIN, ULONG_MAX);
    same_format("%lld %lld %llu", LLONG_MAX, LLONG_MIN, ULLONG_MAX);
    same_format("%zu %zd", SIZE_MAX, (ssize_t)-7);
    same_format("%s%d%.*s|%-5d|%05d|%x|%g", "a", 7, 2, "bcd", 3, 4, 255u, 1.5); /* vsnprintf's */
    same_format("%s %hhd %5s %llx %ls", "a", 300, "b", 255ull, L"wide");
}

static bool
f64(const char *s, double *out)
{
    return tnb_read_f64(s, strlen(s), out);
}

static void
integers_are_whole_texts_in_range(void **state)
{
    (void)state;
    int64_t i;
    uint64_t u;
    assert_true(tnb_read_i64("-9223372036854775808", 20, &i) && i == INT64_MIN);
    assert_true(tnb_read_i64("+12", 3, &i) && i == 12);
    assert_true(tnb_read_i64("0x7f", 4, &i) && i == 127);
    assert_true(tnb_read_u64("18446744073709551615", 20, &u) && u == UINT64_MAX);
    assert_true(tnb_read_u64("123", 2, &u) && u == 12);
    static const char *const bad[] = {"",    "-",   "+",   "9223372036854775808",
                                      "12 ", " 12", "1a",  "0x",
                                      "0xg", "--1", "1.0", "0x11111111111111111"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(tnb_read_i64(bad[k], strlen(bad[k]), &i));
    assert_false(tnb_read_u64("18446744073709551616", 20, &u));
    assert_false(tnb_read_u64("-1", 2, &u));
}

static void
floats_are_whole_texts(void **state)
{
    (void)state;
    double d;
    assert_true(f64("1.5e3", &d) && d == 1500);
    assert_true(f64("-.5", &d) && d == -0.5);
    assert_true(f64("0x1.8p1", &d) && d == 3);
    assert_true(f64("1e400", &d) && isinf(d));
    assert_true(f64("-Infinity", &d) && isinf(d) && d < 0);
    assert_true(f64("nan", &d) && isnan(d));
    char longer[400];
    memset(longer, '1', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_true(f64(longer, &d) && isinf(d) == 0 ? d > 1e300 : isinf(d));
    static const char *const bad[] = {"",       ".",    "+",  "1,5", "1.5 ", " 1",
                                      "nan(1)", "inf1", "e5", "1e",  "1..2", "0x"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(f64(bad[k], &d));
    assert_false(tnb_read_f64("1\0"
                              "2",
                              3, &d));
    float f;
    /* Halfway between two floats as a double, above it as text: one rounding goes up. */
    assert_true(tnb_read_f32("1.00000005960464477539062500001", 31, &f) &&
                f == 1.0000001192092896f);
}

static void
printing_gives_the_shortest_form(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1e-5, "1e-05"},
        {0.0001, "0.0001"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1.5e300, "1.5e+300"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {123456.789, "123456.789"},
        {1.0 / 3, "0.3333333333333333"},
        {9007199254740993.0, "9007199254740992.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(tnb_print_f64(cases[i].v).s, cases[i].text);
    assert_string_equal(tnb_print_f32(0.1f).s, "0.1");
    assert_string_equal(tnb_print_f32(16777216.0f).s, "16777216.0");
    assert_string_equal(tnb_print_f32(3.4028235e38f).s, "3.4028235e+38");
    assert_string_equal(tnb_print_f64(-INFINITY).s, "-inf");
    assert_string_equal(tnb_print_f64(NAN).s, "nan");
}

static void
random_numbers_read_back(void)
{
    srand(7);
    for (int i = 0; i < 20000; i++) {
        uint64_t u = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
        uint32_t w = (uint32_t)u;
        double d, back;
        float f, fback;
        memcpy(&d, &u, 8);
        memcpy(&f, &w, 4);
        if (!isnan(d)) {
            assert_true(f64(tnb_print_f64(d).s, &back));
            assert_true(back == d);
        }
        if (!isnan(f)) {
            tnb_num_text t = tnb_print_f32(f);
            assert_true(tnb_read_f32(t.s, strlen(t.s), &fback));
            assert_true(fback == f);
        }
    }
}

static void
a_comma_locale_changes_nothing(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8",
                                          "ps_AF.UTF-8"};
    random_numbers_read_back();
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++)
        if (setlocale(LC_ALL, locales[i]))
            break;
    random_numbers_read_back();
    assert_string_equal(tnb_print_f64(0.5).s, "0.5");
    setlocale(LC_ALL, "C");
}

static void
digests_are_the_published_ones(void **state)
{
    (void)state;
    char hex[65];
    tnb_sha256("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    tnb_sha256("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    tnb_sha256(two, sizeof two - 1, hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    tnb_hasher *h = tnb_hasher_new();
    for (int i = 0; i < 1000; i++)
        tnb_hasher_put(h, two, sizeof two - 1);
    char *all = malloc(1000 * (sizeof two - 1));
    for (int i = 0; i < 1000; i++)
        memcpy(all + (size_t)i * (sizeof two - 1), two, sizeof two - 1);
    tnb_hash128 a = tnb_hasher_get(h), b = tnb_hash_128(all, 1000 * (sizeof two - 1));
    assert_true(a.lo == b.lo && a.hi == b.hi);
    assert_string_equal(tnb_hash_print(tnb_hash_128("", 0)).s, "99aa06d3014798d86001c324468d497f");
    free(all);
    tnb_hasher_free(h);
}

/* Every byte of what is small enough; of other data blocks from the first to the last. */
static void
samples_see_changes(void **state)
{
    (void)state;
    const size_t small = 16u << 20, large = 2 * small + 4096, stride = (large - 4096) / 4095;
    const struct {
        size_t n, at;
    } seen[] = {{1, 0},
                {small, 0},
                {small, small - 5000},
                {small, small - 1},
                {large, 0},
                {large, 77 * stride + 4095},
                {large, large - 1}};
    char *data = calloc(1, large);
    FILE *f = tmpfile();
    assert_non_null(data);
    assert_non_null(f);
    const int fd = fileno(f);
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        const tnb_hash128 before = tnb_hash_sample(data, seen[i].n);
        data[seen[i].at] = 1;
        const tnb_hash128 after = tnb_hash_sample(data, seen[i].n);
        assert_true(before.lo != after.lo && before.hi != after.hi);
        assert_int_equal(pwrite(fd, data, seen[i].n, 0), seen[i].n);
        tnb_hash128 file = before;
        assert_true(tnb_hash_sample_file(fd, seen[i].n, &file));
        assert_true(file.lo == after.lo && file.hi == after.hi);
        data[seen[i].at] = 0;
    }
    tnb_hash128 none;
    assert_false(tnb_hash_sample_file(fd, large + 1, &none)); /* the file is shorter */
    fclose(f);
    free(data);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_written_as_by_vsnprintf),
        cmocka_unit_test(integers_are_whole_texts_in_range),
        cmocka_unit_test(floats_are_whole_texts),
        cmocka_unit_test(printing_gives_the_shortest_form),
        cmocka_unit_test(a_comma_locale_changes_nothing),
        cmocka_unit_test(digests_are_the_published_ones),
        cmocka_unit_test(samples_see_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
