/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto files: what is written is read back, every storage form is understood, broken ones
 * are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "tenon/base/tensor_pb.h"

static void
a_tensor_of_every_type_comes_back(void **state)
{
    (void)state;
    static const tnb_dtype dtypes[] = {
        TNB_F32,           TNB_F64,           TNB_F16,          TNB_BF16,        TNB_I8,
        TNB_I32,           TNB_I64,           TNB_U8,           TNB_B8,          {TNB_UINT, 16, 1},
        {TNB_UINT, 32, 1}, {TNB_UINT, 64, 1}, {TNB_INT, 16, 1}, {TNB_INT, 4, 1}, {TNB_UINT, 4, 1}};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        uint8_t data[48];
        int64_t shape[2] = {2, 3};
        for (size_t k = 0; k < sizeof data; k++)
            data[k] = dtypes[i].code == TNB_BOOL ? k % 2 : (uint8_t)(17 * k + i);
        tnb_dltensor t = {.data = data, .ndim = 2, .dtype = dtypes[i], .shape = shape};
        tnb_buf b = {0};
        tnb_err err = {0};
        tnb_tensor_pb back;
        assert_int_equal(tnb_tensor_pb_encode(&b, "name", &t, &err), TNB_OK);
        assert_int_equal(tnb_tensor_pb_parse(b.s, b.n, &back, &err), TNB_OK);
        assert_true(tnb_dtype_eq(back.dtype, dtypes[i]));
        assert_int_equal(back.ndim, 2);
        assert_int_equal(back.n_elems, 6);
        assert_int_equal(back.name_len, 4);
        assert_memory_equal(back.data, data, back.n_bytes);
        tnb_tensor_pb_free(&back);
        tnb_buf_free(&b);
    }
}

static void
a_file_is_written_and_read(void **state)
{
    (void)state;
    char path[64];
    float v[3] = {1.5f, -2, 0};
    int64_t shape[1] = {3};
    tnb_dltensor t = {.data = v, .ndim = 1, .dtype = TNB_F32, .shape = shape};
    tnb_tensor_pb back;
    tnb_err err = {0};
    snprintf(path, sizeof path, "/tmp/tenon-tensor-%ld.pb", (long)getpid());
    assert_int_equal(tnb_tensor_pb_write(path, NULL, &t, &err), TNB_OK);
    assert_int_equal(tnb_tensor_pb_read(path, &back, &err), TNB_OK);
    assert_memory_equal(back.data, v, sizeof v);
    assert_null(back.name);
    tnb_tensor_pb_free(&back);
    unlink(path);
    assert_int_equal(tnb_tensor_pb_read(path, &back, &err), TNB_IO);
    assert_non_null(strstr(err.message, path));
}

/* Typed lists, packed and one by one. */
static void
typed_lists_are_decoded(void **state)
{
    (void)state;
    tnb_err err = {0};
    for (int packed = 0; packed < 2; packed++) {
        tnb_buf b = {0}, list = {0};
        tnb_tensor_pb t;
        static const int64_t values[3] = {-1, 5, INT64_MIN};
        tnb_wire_put_int(&b, 1, 3);
        tnb_wire_put_int(&b, 2, 7);
        for (int i = 0; i < 3; i++)
            if (packed)
                tnb_wire_put_varint(&list, (uint64_t)values[i]);
            else
                tnb_wire_put_int(&b, 7, (uint64_t)values[i]);
        if (packed)
            tnb_wire_put_bytes(&b, 7, list.s, list.n);
        assert_int_equal(tnb_tensor_pb_parse(b.s, b.n, &t, &err), TNB_OK);
        assert_memory_equal(t.data, values, sizeof values);
        tnb_tensor_pb_free(&t);
        tnb_buf_free(&b);
        tnb_buf_free(&list);
    }
    tnb_buf b = {0};
    tnb_tensor_pb t;
    tnb_wire_put_int(&b, 1, 2);
    tnb_wire_put_int(&b, 2, 10); /* float16 in int32_data: the bit patterns */
    tnb_wire_put_int(&b, 5, 0x3c00);
    tnb_wire_put_int(&b, 5, 0xc000);
    assert_int_equal(tnb_tensor_pb_parse(b.s, b.n, &t, &err), TNB_OK);
    assert_true(tnb_half_to_float(((const uint16_t *)t.data)[0]) == 1.0f);
    assert_true(tnb_half_to_float(((const uint16_t *)t.data)[1]) == -2.0f);
    tnb_tensor_pb_free(&t);
    tnb_buf_free(&b);
}

static void
every_cut_and_flip_is_survived(void **state)
{
    (void)state;
    float v[6] = {0, 1, 2, 3, 4, 5};
    int64_t shape[2] = {2, 3};
    tnb_dltensor t = {.data = v, .ndim = 2, .dtype = TNB_F32, .shape = shape};
    tnb_buf b = {0};
    tnb_err err = {0};
    tnb_tensor_pb back;
    assert_int_equal(tnb_tensor_pb_encode(&b, "x", &t, &err), TNB_OK);
    for (size_t n = 0; n < b.n; n++) {
        char *copy = test_malloc(n + 1);
        memcpy(copy, b.s, n);
        assert_int_not_equal(tnb_tensor_pb_parse(copy, n, &back, &err), TNB_OK);
        assert_true(err.message[0] != 0);
        test_free(copy);
    }
    for (size_t bit = 0; bit < 8 * b.n; bit++) {
        b.s[bit / 8] = (char)(b.s[bit / 8] ^ (1 << (bit % 8)));
        if (tnb_tensor_pb_parse(b.s, b.n, &back, &err) == TNB_OK)
            tnb_tensor_pb_free(&back);
        b.s[bit / 8] = (char)(b.s[bit / 8] ^ (1 << (bit % 8)));
    }
    tnb_buf_free(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_of_every_type_comes_back),
        cmocka_unit_test(a_file_is_written_and_read),
        cmocka_unit_test(typed_lists_are_decoded),
        cmocka_unit_test(every_cut_and_flip_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
