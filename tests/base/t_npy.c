/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files: what NumPy writes is read; what is damaged is refused with a reason. */
#include "tests/base/scratch.h"
#include "tenon/base/npy.h"

/* A version 1 file of a header and data. */
static size_t
make(char *out, const char *header, const void *data, size_t n)
{
    size_t k = strlen(header);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)(k & 255);
    out[9] = (char)(k >> 8);
    memcpy(out + 10, header, k);
    if (n)
        memcpy(out + 10 + k, data, n);
    return 10 + k + n;
}

static void
arrays_come_back_as_written(void **state)
{
    (void)state;
    tnb_err err;
    static const char *const names[] = {"bool",     "int8",      "int16",     "int32",
                                        "int64",    "uint8",     "uint16",    "uint32",
                                        "uint64",   "float16",   "float32",   "float64",
                                        "bfloat16", "complex64", "complex128"};
    static const int64_t shapes[][3] = {{2, 3, 4}, {0, 5, 1}, {7, 0, 0}};
    static const int32_t dims[] = {3, 2, 1, 0};
    unsigned char data[24 * 16];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 37 + 1);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int s = 0; s < 4; s++) {
            tnb_dtype d;
            tnb_array a;
            assert_true(tnb_dtype_parse(names[k], strlen(names[k]), &d));
            if (k == 0)
                memset(data, 1, sizeof data);
            const char *path = in_scratch("a.npy");
            assert_int_equal(tnb_npy_write(path, d, dims[s], shapes[s % 3], data, &err), TNB_OK);
            assert_int_equal(tnb_npy_read(path, &a, &err), TNB_OK);
            assert_true(tnb_dtype_eq(a.dtype, d));
            assert_int_equal(a.ndim, dims[s]);
            for (int i = 0; i < a.ndim; i++)
                assert_int_equal(a.shape[i], shapes[s % 3][i]);
            assert_memory_equal(a.data, data, a.bytes);
            tnb_array_free(&a);
        }
    assert_int_equal(tnb_npy_write(in_scratch("b.npy"), TNB_DTYPE(TNB_INT, 4), 0, NULL, data, &err),
                     TNB_UNSUPPORTED);
}

static void
other_orders_are_turned(void **state)
{
    (void)state;
    tnb_err err;
    tnb_array a;
    char file[512];
    static const unsigned char column[] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
    size_t n = make(file, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", column, 12);
    assert_int_equal(tnb_npy_read(write_scratch("c.npy", file, n), &a, &err), TNB_OK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(((int16_t *)a.data)[i], i + 1);
    tnb_array_free(&a);
    n = make(file, "{'shape': (), 'descr': '|b1', 'fortran_order': False}", "\x05", 1);
    assert_int_equal(tnb_npy_read(write_scratch("d.npy", file, n), &a, &err), TNB_OK);
    assert_int_equal(*(char *)a.data, 1);
    tnb_array_free(&a);
}

static void
damaged_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", "cut off"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
         "address space"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9), }",
         "address space"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "an extent"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         "an extent"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", "',' or ')'"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, }", "no 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4', }", "twice"},
        {"{'descr': '<U7', 'fortran_order': False, 'shape': (1,), }", "'<U7'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "'|O'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "records"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", "NumPy type ''"},
        {"{'descr: '<f4'", "':'"},
        {"{'evil': 1}", "unknown key 'evil'"},
        {"", "expected '{'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1), }",
         "32 dimensions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[512];
        tnb_npy h;
        tnb_err err;
        size_t n = make(file, cases[i].header, "abcd", 4);
        assert_int_not_equal(tnb_npy_parse(file, n, "x.npy", &h, &err), TNB_OK);
        if (!strstr(err.message, cases[i].message) || strncmp(err.message, "x.npy: ", 7) != 0)
            fail_msg("case %zu: %s", i, err.message);
    }
    tnb_npy h;
    tnb_err err;
    assert_int_equal(tnb_npy_parse("PK\3\4aaaaaaaaaaa", 15, "z", &h, &err), TNB_FORMAT);
    assert_int_equal(tnb_npy_parse("\x93NUMPY\x09\x00\x01\x00 ", 11, "z", &h, &err),
                     TNB_UNSUPPORTED);
    assert_int_equal(tnb_npy_parse("\x93NUMPY\x02\x00\xff\xff\xff", 11, "z", &h, &err), TNB_FORMAT);
    assert_int_equal(tnb_npy_parse("\x93NUMPY\x01\x00\xff\xff {", 12, "z", &h, &err), TNB_FORMAT);
}

static void
every_cut_and_every_changed_byte_is_survived(void **state)
{
    (void)state;
    char file[256];
    size_t n = make(file, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }\n",
                    "0123456789abcdef", 16);
    tnb_npy h;
    tnb_err err;
    assert_int_equal(tnb_npy_parse(file, n, "x", &h, &err), TNB_OK);
    for (size_t k = 0; k < n; k++) {
        char *copy = malloc(k ? k : 1);
        memcpy(copy, file, k);
        assert_int_not_equal(tnb_npy_parse(copy, k, "x", &h, &err), TNB_OK);
        free(copy);
    }
    char *copy = malloc(n);
    for (size_t k = 0; k < n; k++)
        for (int c = 0; c < 256; c++) {
            memcpy(copy, file, n);
            copy[k] = (char)c;
            if (tnb_npy_parse(copy, n, "x", &h, &err) == TNB_OK)
                assert_true(h.offset + h.bytes <= n);
        }
    free(copy);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_come_back_as_written),
        cmocka_unit_test(other_orders_are_turned),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_survived),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_free);
}
