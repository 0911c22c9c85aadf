/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF files: what they hold is read; what is damaged is refused with the place. */
#include "tests/base/scratch.h"
#include "tenon/base/gguf.h"

#include "tenon/base/gguf.h"

/* ---- writing files, right and wrong ones ---- */

static void
put_u32(tnb_buf *b, uint32_t v)
{
    tnb_buf_put(b, &v, 4);
}

static void
put_u64(tnb_buf *b, uint64_t v)
{
    tnb_buf_put(b, &v, 8);
}

static void
put_text(tnb_buf *b, const char *s)
{
    put_u64(b, strlen(s));
    tnb_buf_puts(b, s);
}

static void
put_start(tnb_buf *b, uint32_t version, uint64_t tensors, uint64_t values)
{
    tnb_buf_put(b, "GGUF", 4);
    put_u32(b, version);
    put_u64(b, tensors);
    put_u64(b, values);
}

static void
put_key(tnb_buf *b, const char *key, uint32_t kind)
{
    put_text(b, key);
    put_u32(b, kind);
}

/* A tensor of [rows, columns]. */
static void
put_tensor(tnb_buf *b, const char *name, uint64_t columns, uint64_t rows, uint32_t type,
           uint64_t offset)
{
    put_text(b, name);
    put_u32(b, 2);
    put_u64(b, columns);
    put_u64(b, rows);
    put_u32(b, type);
    put_u64(b, offset);
}

static void
put_data(tnb_buf *b, size_t n)
{
    while (b->n % 32)
        tnb_buf_putc(b, 0);
    for (size_t i = 0; i < n; i++)
        tnb_buf_putc(b, (char)i);
}

static tnb_status
parse(const tnb_buf *b, tnb_gguf **g, tnb_err *err)
{
    return tnb_gguf_open_memory(b->s, b->n, "f.gguf", g, err);
}

static void
refused(tnb_buf *b, tnb_status status, const char *message)
{
    tnb_gguf *g;
    tnb_err err = {0};
    assert_int_equal(parse(b, &g, &err), status);
    assert_null(g);
    if (!strstr(err.message, message))
        fail_msg("'%s' is not in '%s'", message, err.message);
    tnb_buf_free(b);
}

/* ---- tests ---- */

static void
make_whole(tnb_buf *b)
{
    static const char bytes[] = {(char)0xff, 1, 0x7f};
    double d = 0.25;
    float f = 1e-5f;
    put_start(b, 3, 2, 7);
    put_key(b, "general.architecture", TNB_GGUF_STRING);
    put_text(b, "llama");
    put_key(b, "n", TNB_GGUF_UINT32);
    put_u32(b, 0xffffffffu);
    put_key(b, "eps", TNB_GGUF_FLOAT32);
    tnb_buf_put(b, &f, 4);
    put_key(b, "d", TNB_GGUF_FLOAT64);
    tnb_buf_put(b, &d, 8);
    put_key(b, "bytes", TNB_GGUF_ARRAY);
    put_u32(b, TNB_GGUF_INT8);
    put_u64(b, 3);
    tnb_buf_put(b, bytes, 3);
    put_key(b, "tokens", TNB_GGUF_ARRAY);
    put_u32(b, TNB_GGUF_STRING);
    put_u64(b, 3);
    put_text(b, "ab");
    put_text(b, "");
    put_text(b, "c");
    put_key(b, "large", TNB_GGUF_UINT64);
    put_u64(b, UINT64_MAX);
    put_tensor(b, "w", 32, 3, TNB_GGUF_Q8_0, 0);
    put_tensor(b, "v", 2, 3, TNB_GGUF_F32, 128);
    put_data(b, 152);
}

static void
metadata_and_tensors_are_found(void **state)
{
    (void)state;
    tnb_buf b = {0};
    tnb_gguf *g;
    tnb_err err;
    make_whole(&b);
    const char *path = write_scratch("whole.gguf", b.s, b.n);
    assert_int_equal(tnb_gguf_open(path, &g, &err), TNB_OK);
    assert_string_equal(tnb_gguf_name(g), path);

    const char *s = NULL;
    size_t n = 0;
    int64_t i = 7;
    double d = 7;
    assert_true(tnb_gguf_text(tnb_gguf_find(g, "general.architecture"), 0, &s, &n));
    assert_int_equal(n, 5);
    assert_memory_equal(s, "llama", 5);
    assert_true(tnb_gguf_int(tnb_gguf_find(g, "n"), 0, &i));
    assert_int_equal(i, 0xffffffffu);
    assert_true(tnb_gguf_float(tnb_gguf_find(g, "eps"), 0, &d));
    assert_true(d == (double)1e-5f);
    assert_true(tnb_gguf_float(tnb_gguf_find(g, "d"), 0, &d) && d == 0.25);
    const tnb_gguf_value *bytes = tnb_gguf_find(g, "bytes"), *tokens = tnb_gguf_find(g, "tokens");
    assert_true(bytes->array && bytes->n == 3);
    assert_true(tnb_gguf_int(bytes, 0, &i) && i == -1);
    assert_true(tnb_gguf_int(bytes, 2, &i) && i == 127);
    assert_true(tnb_gguf_float(bytes, 1, &d) && d == 1);
    assert_true(tnb_gguf_text(tokens, 0, &s, &n) && n == 2 && memcmp(s, "ab", 2) == 0);
    assert_true(tnb_gguf_text(tokens, 1, &s, &n) && n == 0);
    assert_true(tnb_gguf_text(tokens, 2, &s, &n) && n == 1 && *s == 'c');
    assert_string_equal(tnb_gguf_value_at(g, 5)->key, "tokens");
    assert_null(tnb_gguf_value_at(g, 7));

    /* of another kind, behind the end, too large, absent */
    assert_false(tnb_gguf_text(bytes, 0, &s, &n));
    assert_false(tnb_gguf_int(tnb_gguf_find(g, "eps"), 0, &i));
    assert_false(tnb_gguf_int(bytes, 3, &i));
    assert_false(tnb_gguf_text(tokens, 3, &s, &n));
    assert_false(tnb_gguf_int(tnb_gguf_find(g, "large"), 0, &i));
    assert_false(tnb_gguf_int(tnb_gguf_find(g, "absent"), 0, &i));

    const tnb_gguf_tensor *w = tnb_gguf_find_tensor(g, "w"), *v = tnb_gguf_tensor_at(g, 1);
    uint64_t size;
    const char *file = tnb_gguf_bytes(g, &size);
    assert_int_equal(w->ndim, 2);
    assert_int_equal(w->shape[0], 3);
    assert_int_equal(w->shape[1], 32);
    assert_int_equal(w->bytes, 3 * 34);
    assert_int_equal(w->offset, tnb_gguf_data_offset(g));
    assert_string_equal(v->name, "v");
    assert_int_equal(v->offset, w->offset + 128);
    assert_int_equal(v->bytes, 24);
    assert_int_equal(v->offset + v->bytes, size);
    assert_int_equal((unsigned char)file[v->offset], 128);
    assert_null(tnb_gguf_tensor_at(g, 2));
    assert_string_equal(tnb_gguf_type_of(w->type).name, "Q8_0");
    assert_true(tnb_dtype_eq(tnb_gguf_type_of(v->type).dtype, TNB_F32));
    assert_null(tnb_gguf_type_of(4).name);
    assert_null(tnb_gguf_type_of(UINT32_MAX).name);
    tnb_gguf_close(g);
    tnb_buf_free(&b);
}

static void
a_file_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    tnb_buf b = {0};
    make_whole(&b);
    for (size_t n = 0; n < b.n; n++) {
        char *part = malloc(n ? n : 1); /* of this size, for the sanitizer */
        tnb_gguf *g;
        tnb_err err = {0};
        memcpy(part, b.s, n);
        assert_int_equal(tnb_gguf_open_memory(part, n, "f.gguf", &g, &err), TNB_FORMAT);
        assert_non_null(strstr(err.message, "f.gguf: "));
        free(part);
    }
    tnb_buf_free(&b);
}

static void
what_is_no_gguf_is_refused(void **state)
{
    (void)state;
    tnb_buf b = {0};
    tnb_buf_puts(&b, "GGML and more");
    refused(&b, TNB_FORMAT, "not a GGUF file");
    put_start(&b, 1, 0, 0);
    refused(&b, TNB_UNSUPPORTED, "GGUF version 1");
    put_start(&b, 3u << 24, 0, 0);
    refused(&b, TNB_UNSUPPORTED, "big-endian");
    put_start(&b, 4, 0, 0);
    refused(&b, TNB_UNSUPPORTED, "unknown version");
}

static void
counts_and_lengths_beyond_the_file_are_refused(void **state)
{
    (void)state;
    static const uint64_t counts[] = {2, 1u << 20, (uint64_t)1 << 61, INT64_MAX, UINT64_MAX};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        tnb_buf b = {0};
        put_start(&b, 3, counts[k], 0);
        refused(&b, TNB_FORMAT, "cannot hold");
        put_start(&b, 3, 0, counts[k]);
        refused(&b, TNB_FORMAT, "cannot hold");
        put_start(&b, 3, 0, 1);
        put_u64(&b, counts[k] + 20);
        put_data(&b, 16);
        refused(&b, TNB_FORMAT, "passes the end of the file");
        for (uint32_t kind = 0; kind <= TNB_GGUF_FLOAT64; kind++) {
            if (kind == TNB_GGUF_ARRAY)
                continue;
            put_start(&b, 3, 0, 1);
            put_key(&b, "bomb", TNB_GGUF_ARRAY);
            put_u32(&b, kind);
            put_u64(&b, counts[k]);
            refused(&b, TNB_FORMAT, "'bomb' has");
        }
    }
    tnb_buf b = {0};
    put_start(&b, 3, 0, 1);
    put_key(&b, "s", TNB_GGUF_STRING);
    put_u64(&b, INT64_MAX);
    put_data(&b, 32);
    refused(&b, TNB_FORMAT, "a text of 9223372036854775807 bytes");
}

static void
bad_entries_are_refused(void **state)
{
    (void)state;
    tnb_buf b = {0};
    put_start(&b, 3, 0, 1);
    put_key(&b, "x", TNB_GGUF_ARRAY);
    put_u32(&b, TNB_GGUF_ARRAY);
    put_u64(&b, 1);
    refused(&b, TNB_UNSUPPORTED, "'x' is an array of arrays");
    put_start(&b, 3, 0, 1);
    put_key(&b, "x", 13);
    put_u64(&b, 1);
    refused(&b, TNB_FORMAT, "'x' is of type 13");
    put_start(&b, 3, 0, 2);
    for (int i = 0; i < 2; i++) {
        put_key(&b, "x", TNB_GGUF_UINT64);
        put_u64(&b, 1);
    }
    refused(&b, TNB_FORMAT, "'x' stands there twice");
    put_start(&b, 3, 0, 1);
    put_key(&b, "", TNB_GGUF_UINT64);
    put_u64(&b, 1);
    refused(&b, TNB_FORMAT, "a name of 0 bytes");
    put_start(&b, 3, 0, 1);
    put_u64(&b, 3);
    tnb_buf_put(&b, "a\0b", 3);
    put_data(&b, 32);
    refused(&b, TNB_FORMAT, "one of them zero");
    static const uint32_t alignments[] = {0, 3, 0x80000000u};
    for (int i = 0; i < 3; i++) {
        put_start(&b, 3, 0, 1);
        put_key(&b, "general.alignment", TNB_GGUF_UINT32);
        put_u32(&b, alignments[i]);
        refused(&b, TNB_FORMAT, "not a power of two");
    }
}

static void
bad_tensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t columns, rows;
        uint32_t type;
        uint64_t offset;
        tnb_status status;
        const char *message;
    } bad[] = {
        {32, 2, TNB_GGUF_F32, 32, TNB_FORMAT, "'w' of 256 bytes at offset"},
        {32, 2, TNB_GGUF_F32, UINT64_MAX - 31, TNB_FORMAT, "passes the end"},
        {32, 2, TNB_GGUF_F32, (uint64_t)INT64_MAX + 1, TNB_FORMAT, "passes the end"},
        {32, 2, TNB_GGUF_F32, 8, TNB_FORMAT, "no multiple of 32"},
        {(uint64_t)1 << 48, (uint64_t)1 << 48, TNB_GGUF_F32, 0, TNB_FORMAT, "more elements"},
        {UINT64_MAX, 1, TNB_GGUF_F32, 0, TNB_FORMAT, "the extent 18446744073709551615"},
        {(uint64_t)1 << 46, 1, TNB_GGUF_F32, 0, TNB_FORMAT, "passes the end"},
        {33, 1, TNB_GGUF_Q4_0, 0, TNB_FORMAT, "not whole blocks of 32 (Q4_0)"},
        {128, 1, TNB_GGUF_Q4_K, 0, TNB_FORMAT, "not whole blocks of 256 (Q4_K)"},
        {32, 1, 4, 0, TNB_UNSUPPORTED, "the unknown type 4"},
        {32, 1, 1000, 0, TNB_UNSUPPORTED, "the unknown type 1000"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        tnb_buf b = {0};
        put_start(&b, 3, 1, 0);
        put_tensor(&b, "w", bad[k].columns, bad[k].rows, bad[k].type, bad[k].offset);
        put_data(&b, 256);
        refused(&b, bad[k].status, bad[k].message);
    }
    tnb_buf b = {0};
    put_start(&b, 3, 2, 0);
    put_tensor(&b, "w", 8, 3, TNB_GGUF_F32, 0);
    put_tensor(&b, "v", 8, 1, TNB_GGUF_F32, 64);
    put_data(&b, 256);
    refused(&b, TNB_FORMAT, "tensors 'w' and 'v' overlap");
    put_start(&b, 3, 2, 0);
    put_tensor(&b, "w", 8, 1, TNB_GGUF_F32, 0);
    put_tensor(&b, "w", 8, 1, TNB_GGUF_F32, 64);
    put_data(&b, 256);
    refused(&b, TNB_FORMAT, "'w' stands there twice");
    put_start(&b, 3, 1, 0);
    put_text(&b, "w");
    put_u32(&b, 5);
    put_data(&b, 256);
    refused(&b, TNB_FORMAT, "5 dimensions");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_and_tensors_are_found),
        cmocka_unit_test(a_file_cut_off_anywhere_is_refused),
        cmocka_unit_test(what_is_no_gguf_is_refused),
        cmocka_unit_test(counts_and_lengths_beyond_the_file_are_refused),
        cmocka_unit_test(bad_entries_are_refused),
        cmocka_unit_test(bad_tensors_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_free);
}
