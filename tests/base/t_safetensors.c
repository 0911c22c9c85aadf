/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors: files and folders are read; what is damaged is refused with the place. */
#include "tests/base/scratch.h"
#include "tenon/base/safetensors.h"

#include "tenon/base/safetensors.h"

static void
make(tnb_buf *b, const char *header, size_t data)
{
    uint64_t n = strlen(header);
    tnb_buf_put(b, &n, 8);
    tnb_buf_puts(b, header);
    for (size_t i = 0; i < data; i++)
        tnb_buf_putc(b, (char)i);
}

static const char two[] =
    "{\"__metadata__\": {\"format\": \"pt\"},"
    "\"a\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [4, 28]},"
    "\"b\": {\"dtype\": \"BF16\", \"shape\": [], \"data_offsets\": [2, 4]}}";
static const char one[] = "{\"c\": {\"dtype\": \"I64\", \"shape\": [0], \"data_offsets\": [0, 0]}}";

static const char *
write_file(const char *name, const char *header, size_t data)
{
    tnb_buf b = {0};
    make(&b, header, data);
    const char *path = write_scratch(name, b.s, b.n);
    tnb_buf_free(&b);
    return path;
}

static void
tensors_of_a_file_are_found(void **state)
{
    (void)state;
    tnb_safetensors *s;
    tnb_err err;
    const char *path = write_file("x.safetensors", two, 28);
    assert_int_equal(tnb_safetensors_open(path, &s, &err), TNB_OK);
    const tnb_safetensor *a = tnb_safetensors_find(s, "a"), *b = tnb_safetensors_find(s, "b");
    const void *bytes;
    uint64_t n, header;
    assert_string_equal(tnb_safetensors_file(s, 0, &bytes, &n, &header), path);
    assert_null(tnb_safetensors_file(s, 1, &bytes, &n, &header));
    assert_int_equal(header, 8 + strlen(two));
    assert_int_equal(n, header + 28);
    assert_int_equal(a->ndim, 2);
    assert_int_equal(a->shape[1], 3);
    assert_int_equal(a->offset, header + 4);
    assert_int_equal(a->bytes, 24);
    assert_true(tnb_dtype_eq(b->dtype, TNB_BF16));
    assert_int_equal(b->ndim, 0);
    assert_int_equal(b->bytes, 2);
    assert_ptr_equal(tnb_safetensors_at(s, 0), a);
    assert_null(tnb_safetensors_at(s, 2));
    assert_null(tnb_safetensors_find(s, "__metadata__"));
    tnb_safetensors_close(s);
}

static void
make_folder(const char *name)
{
    tnb_err err;
    assert_int_equal(tnb_make_dirs(in_scratch(name), 0755, &err), TNB_OK);
}

static void
folders_are_read_whole(void **state)
{
    (void)state;
    tnb_safetensors *s;
    tnb_err err;
    make_folder("single");
    write_file("single/model.safetensors", one, 0);
    assert_int_equal(tnb_safetensors_open(in_scratch("single"), &s, &err), TNB_OK);
    assert_non_null(tnb_safetensors_find(s, "c"));
    tnb_safetensors_close(s);

    static const char index[] = "{\"weight_map\": {\"a\": \"m1.safetensors\", "
                                "\"c\": \"m2.safetensors\", \"b\": \"m1.safetensors\"}}";
    make_folder("shards");
    write_file("shards/m1.safetensors", two, 28);
    write_file("shards/m2.safetensors", one, 0);
    write_scratch("shards/model.safetensors.index.json", index, strlen(index));
    assert_int_equal(tnb_safetensors_open(in_scratch("shards"), &s, &err), TNB_OK);
    assert_int_equal(tnb_safetensors_find(s, "a")->file, 0);
    assert_int_equal(tnb_safetensors_find(s, "c")->file, 1);
    tnb_safetensors_close(s);

    make_folder("none");
    assert_int_equal(tnb_safetensors_open(in_scratch("none"), &s, &err), TNB_NOT_FOUND);
    assert_non_null(strstr(err.message, "neither model.safetensors nor"));
}

static void
indices_that_lie_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *index;
        tnb_status status;
        const char *message;
    } bad[] = {
        {"{}", TNB_FORMAT, "no 'weight_map'"},
        {"[", TNB_FORMAT, "index.json"},
        {"{\"weight_map\": {\"a\": \"../x\"}}", TNB_FORMAT, "no name of a file in the folder"},
        {"{\"weight_map\": {\"a\": 1}}", TNB_FORMAT, "no name of a file in the folder"},
        {"{\"weight_map\": {\"a\": \"absent.safetensors\"}}", TNB_IO, "absent.safetensors"},
        {"{\"weight_map\": {\"a\": \"m1.safetensors\", \"d\": \"m1.safetensors\"}}", TNB_FORMAT,
         "tensor 'd' is not in m1.safetensors"},
        {"{\"weight_map\": {\"a\": \"m1.safetensors\", \"x\": \"m3.safetensors\"}}", TNB_FORMAT,
         "tensor 'a' is in "},
    };
    make_folder("bad");
    write_file("bad/m1.safetensors", two, 28);
    write_file("bad/m3.safetensors", two, 28);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        tnb_safetensors *s;
        tnb_err err = {0};
        write_scratch("bad/model.safetensors.index.json", bad[k].index, strlen(bad[k].index));
        assert_int_equal(tnb_safetensors_open(in_scratch("bad"), &s, &err), bad[k].status);
        if (!strstr(err.message, bad[k].message))
            fail_msg("'%s' is not in '%s'", bad[k].message, err.message);
    }
}

#define ENTRY(shape, offsets) \
    "{\"w\": {\"dtype\": \"F32\", \"shape\": " shape ", \"data_offsets\": " offsets "}}"

static void
damaged_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        tnb_status status;
        const char *message;
    } bad[] = {
        {"", TNB_FORMAT, "header"},
        {"[]", TNB_FORMAT, "no JSON object"},
        {"{\"w\": 1}", TNB_FORMAT, "'w' has no 'dtype'"},
        {"{\"w\": {\"dtype\": \"Q7\"}}", TNB_UNSUPPORTED, "of the type 'Q7'"},
        {"{\"w\": {\"dtype\": \"F32\"}}", TNB_FORMAT, "'w' has a shape that is no array"},
        {ENTRY("[1,1,1,1,1,1,1,1,1]", "[0,4]"), TNB_FORMAT, "up to 8 extents"},
        {ENTRY("[-1]", "[0,4]"), TNB_FORMAT, "extent 0 of tensor 'w'"},
        {ENTRY("[1.0]", "[0,4]"), TNB_FORMAT, "extent 0 of tensor 'w'"},
        {ENTRY("[1]", "[0]"), TNB_FORMAT, "no two integers"},
        {ENTRY("[1]", "[0,4,8]"), TNB_FORMAT, "no two integers"},
        {ENTRY("[1]", "[4,0]"), TNB_FORMAT, "'w' lies at 4 to 0"},
        {ENTRY("[1]", "[-4,0]"), TNB_FORMAT, "'w' lies at -4 to 0"},
        {ENTRY("[8]", "[4,36]"), TNB_FORMAT, "'w' lies at 4 to 36"},
        {ENTRY("[1]", "[0,9223372036854775807]"), TNB_FORMAT, "'w' lies at"},
        {ENTRY("[2]", "[0,4]"), TNB_FORMAT, "not what its shape and type, float32, take"},
        {ENTRY("[4611686018427387904, 4]", "[0,0]"), TNB_FORMAT, "not what its shape"},
        {"{\"w\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]},"
         "\"v\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [4, 12]}}",
         TNB_FORMAT, "'w' and 'v' overlap"},
        {"{\"w\": {\"dtype\": \"U8\", \"shape\": [0], \"data_offsets\": [0, 0]}, \"w\": 1}",
         TNB_FORMAT, "header"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        tnb_buf b = {0};
        tnb_safetensors *s;
        tnb_err err = {0};
        make(&b, bad[k].header, 32);
        assert_int_equal(tnb_safetensors_open_memory(b.s, b.n, "x", &s, &err), bad[k].status);
        assert_null(s);
        if (!strstr(err.message, bad[k].message))
            fail_msg("'%s' is not in '%s'", bad[k].message, err.message);
        tnb_buf_free(&b);
    }
}

static void
cut_off_and_nested_ones_are_refused(void **state)
{
    (void)state;
    tnb_buf b = {0};
    tnb_safetensors *s;
    tnb_err err;
    make(&b, two, 28);
    for (size_t n = 0; n < b.n; n++) {
        char *part = malloc(n ? n : 1);
        memcpy(part, b.s, n);
        assert_int_equal(tnb_safetensors_open_memory(part, n, "x", &s, &err), TNB_FORMAT);
        free(part);
    }
    tnb_buf_free(&b);
    enum { DEPTH = 100000 };
    char *deep = malloc(DEPTH + 1);
    memset(deep, '[', DEPTH);
    deep[DEPTH] = 0;
    make(&b, deep, 0);
    assert_int_equal(tnb_safetensors_open_memory(b.s, b.n, "x", &s, &err), TNB_FORMAT);
    free(deep);
    tnb_buf_free(&b);
    static const uint64_t lengths[] = {UINT64_MAX, INT64_MAX, (uint64_t)1 << 40, 17};
    for (int i = 0; i < 4; i++) {
        char bytes[24] = {0};
        memcpy(bytes, &lengths[i], 8);
        assert_int_equal(tnb_safetensors_open_memory(bytes, 24, "x", &s, &err), TNB_FORMAT);
        assert_non_null(strstr(err.message, "x: not safetensors, or cut off"));
    }
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\nsize 123456\n";
    assert_int_equal(tnb_safetensors_open_memory(lfs, sizeof lfs - 1, "x", &s, &err), TNB_FORMAT);
    assert_non_null(strstr(err.message, "x: a pointer of Git LFS"));
    assert_non_null(strstr(err.hint, "git lfs pull"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_of_a_file_are_found),
        cmocka_unit_test(folders_are_read_whole),
        cmocka_unit_test(indices_that_lie_are_refused),
        cmocka_unit_test(damaged_headers_are_refused),
        cmocka_unit_test(cut_off_and_nested_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_free);
}
