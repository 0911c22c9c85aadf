/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in a file of their own: opened by a session, made when they are used, refused where the file is another one, is not
 * there, or is changed meanwhile, and where the metadata are wrong. */
#include "tests/base/scratch.h"

#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/core/text.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/params.h"
#include "tenon/rt/session.h"

static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *registry;
static tnr_runtime *rt;

#define OK(expr)                                    \
    do {                                            \
        tnb_err err = {0};                          \
        if ((expr) != TNB_OK)                       \
            fail_msg("%s: %s", #expr, err.message); \
    } while (0)
#define FAILS(expr, want, text)                                       \
    do {                                                              \
        tnb_err err = {0};                                            \
        assert_int_equal((expr), (want));                             \
        if (!strstr(err.message, (text)))                             \
            fail_msg("message '%s' lacks '%s'", err.message, (text)); \
    } while (0)

static int
setup(void **state)
{
    tnb_diags *diags = tnb_diags_new();
    conf = tnb_conf_load(NULL, diags);
    assert_non_null(conf);
    OK(tnb_plugins_open(conf, NULL, &plugins, &err));
    registry = tn_registry_new(plugins);
    tnr_runtime_options opt = {.plugins = plugins, .conf = conf, .threads = 1};
    OK(tnr_runtime_new(&opt, &rt, &err));
    tnb_diags_free(diags);
    return scratch_make(state);
}

static int
teardown(void **state)
{
    tnr_runtime_free(rt);
    tn_registry_free(registry);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    return scratch_free(state);
}

/* ---- a file with two weights, and a module that uses the second one ---- */

enum { HEADER = 64, SECOND = 128, FILE_BYTES = 256 };
static const float second[] = {10, 20, 30};

static const char *
write_weights(const char *name)
{
    char bytes[FILE_BYTES] = "header";
    memcpy(bytes + SECOND, second, sizeof second);
    memcpy(bytes + SECOND + 20, second, sizeof second); /* not aligned */
    return write_scratch(name, bytes, sizeof bytes);
}

#define LIST(dtype, shape, file, offset, bytes)                                                    \
    "[{\"name\": \"first\", \"dtype\": \"float32\", \"shape\": [2], \"file\": 0, \"offset\": 64, " \
    "\"bytes\": 8}, {\"name\": \"second\", \"dtype\": \"" dtype "\", \"shape\": [" shape           \
    "], \"file\": " file ", \"offset\": " offset ", \"bytes\": " bytes "}]"
#define GOOD_LIST LIST("float32", "3", "0", "128", "12")

/* An artifact whose weights are said to lie at `path`. */
static const char *
compile(const char *name, const char *path, const char *list)
{
    char text[4096], hash[17];
    char bytes[HEADER] = "header";
    snprintf(hash, sizeof hash, "%016llx",
             (unsigned long long)tnb_hash_128(bytes, sizeof bytes).lo);
    snprintf(text, sizeof text,
             "@I.ir_module\n"
             "class Module:\n"
             "    I.module_attrs({\"params\": {\"files\": [{\"path\": \"%s\", \"bytes\": %d, "
             "\"header\": %d, \"hash\": \"%s\"}], \"list\": %s}})\n"
             "    @R.function\n"
             "    def main(x: R.Tensor((3,), \"float32\"), packed_params: R.Tuple(R.Tensor((2,), "
             "\"float32\"), R.Tensor((3,), \"float32\"))):\n"
             "        R.func_attr({\"num_input\": 1})\n"
             "        with R.dataflow():\n"
             "            w = packed_params[1]\n"
             "            gv = R.add(x, w)\n"
             "            R.output(gv)\n"
             "        return gv\n",
             path, FILE_BYTES, HEADER, hash, list);
    tn_ctx *ctx = tn_ctx_new(registry);
    tnk_model model = {.module = tn_read_module(ctx, "weights.py", text, strlen(text))};
    static char out[4400]; /* in_scratch's are used again */
    const char *target = "cpu";
    snprintf(out, sizeof out, "%s", in_scratch(name));
    tnk_compile_options opt = {
        .conf = conf, .targets = &target, .n_targets = 1, .jobs = 1, .output = out};
    tnk_compile_result result;
    if (!model.module || tnk_compile(ctx, &model, &opt, &result) != TNB_OK) {
        tnb_buf b = {0};
        tnb_diags_print(tn_diags(ctx), &b);
        fail_msg("%s", b.s ? b.s : "?");
    }
    tn_ctx_free(ctx);
    return out;
}

static tnb_status
run(tnr_session *s, float *out, tnb_err *err)
{
    static float x[3] = {1, 2, 3};
    tnr_binding in = {.data = x}, result = {.data = out, .bytes = 3 * sizeof *out};
    return tnr_session_run(s, &in, 1, &result, 1, err);
}

static tnr_session *
open_session(const char *artifact, const char *weights)
{
    tnr_session *s = NULL;
    tnr_session_options opt = {.runtime = rt, .weights = weights};
    OK(tnr_session_open(artifact, &opt, &s, &err));
    return s;
}

static void
gives_sums(tnr_session *s)
{
    float out[3] = {0};
    OK(run(s, out, &err));
    for (int i = 0; i < 3; i++)
        assert_true(out[i] == second[i] + (float)(i + 1));
}

/* ---- tests ---- */

static void
a_session_finds_the_weights_and_uses_what_is_needed(void **state)
{
    (void)state;
    const char *path = write_weights("w.bin");
    tnr_session *s = open_session(compile("a.tno", path, GOOD_LIST), NULL);
    gives_sums(s);
    gives_sums(s);

    tnr_value params, item;
    uint64_t mapped = 9, copied = 9;
    OK(tnr_params_open(tnr_session_vm(s), NULL, &params, &err));
    assert_int_equal(params.u.tuple->n, 2);
    tnr_params_bytes(params, &mapped, &copied);
    assert_int_equal(mapped + copied, 0);
    OK(tnr_tuple_item(params.u.tuple, 1, &item, &err));
    tnr_params_bytes(params, &mapped, &copied);
    assert_int_equal(mapped, sizeof second);
    assert_int_equal(copied, 0);
    assert_int_equal(params.u.tuple->items[0].tag, TNR_NULL);
    assert_memory_equal(tnr_tensor_data(item.u.tensor), second, sizeof second);
    FAILS(tnr_tuple_item(params.u.tuple, 2, &item, &err), TNB_BOUNDS, "item 2 of a tuple of 2");
    /* what was made stays when the tuple goes */
    tnr_retain(item);
    tnr_release(&params);
    assert_memory_equal(tnr_tensor_data(item.u.tensor), second, sizeof second);
    tnr_release(&item);
    tnr_session_close(s);
}

static void
weights_that_are_not_aligned_are_copied_once(void **state)
{
    (void)state;
    tnr_value params, item;
    uint64_t mapped, copied;
    const char *list = LIST("float32", "3", "0", "148", "12");
    tnr_session *s = open_session(compile("b.tno", write_weights("w.bin"), list), NULL);
    gives_sums(s);
    OK(tnr_params_open(tnr_session_vm(s), NULL, &params, &err));
    for (int i = 0; i < 2; i++)
        OK(tnr_tuple_item(params.u.tuple, 1, &item, &err));
    tnr_params_bytes(params, &mapped, &copied);
    assert_int_equal(mapped, 0);
    assert_int_equal(copied, sizeof second);
    tnr_release(&params);
    tnr_session_close(s);
}

static void
files_are_found_where_they_are_now(void **state)
{
    (void)state;
    float out[3];
    tnb_err why;
    const char *artifact = compile("c.tno", in_scratch("gone/moved.bin"), GOOD_LIST);
    tnr_session *s = open_session(artifact, NULL);
    assert_int_equal(run(s, out, &why), TNB_NOT_FOUND);
    assert_non_null(strstr(why.message, "the weights are neither in "));
    assert_non_null(strstr(why.message, "gone/moved.bin"));
    assert_non_null(strstr(why.hint, "beside the artifact"));
    write_weights("moved.bin"); /* beside the artifact */
    gives_sums(s);
    tnr_session_close(s);

    OK(tnb_make_dirs(in_scratch("folder"), 0755, &err));
    assert_int_equal(rename(in_scratch("moved.bin"), in_scratch("folder/moved.bin")), 0);
    s = open_session(artifact, in_scratch("folder"));
    gives_sums(s);
    tnr_session_close(s);
    s = open_session(artifact, in_scratch("folder/moved.bin"));
    gives_sums(s);
    tnr_session_close(s);
    s = open_session(artifact, in_scratch("absent"));
    FAILS(run(s, out, &err), TNB_NOT_FOUND, "absent cannot be opened");
    tnr_session_close(s);
}

static void
other_files_are_refused(void **state)
{
    (void)state;
    float out[3];
    char bytes[FILE_BYTES] = "heAder";
    const char *artifact = compile("d.tno", in_scratch("other.bin"), GOOD_LIST);
    tnr_session *s = open_session(artifact, NULL);
    write_scratch("other.bin", bytes, sizeof bytes);
    FAILS(run(s, out, &err), TNB_DIFFERS, "its header differs");
    write_scratch("other.bin", bytes, sizeof bytes - 1);
    FAILS(run(s, out, &err), TNB_DIFFERS, "its size differs");
    write_scratch("other.bin", bytes, 0);
    FAILS(run(s, out, &err), TNB_DIFFERS, "its size differs");
    write_weights("other.bin");
    gives_sums(s);
    /* written in place while it is open */
    FILE *f = fopen(in_scratch("other.bin"), "r+");
    assert_int_equal(fwrite(bytes, 1, 8, f), 8);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(truncate(in_scratch("other.bin"), FILE_BYTES - 1), 0);
    FAILS(run(s, out, &err), TNB_IO, "was changed while it is in use");
    tnr_session_close(s);
}

static void
wrong_metadata_are_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {
        LIST("float33", "3", "0", "128", "12"),
        LIST("float32", "-3", "0", "128", "12"),
        LIST("float32", "3, 1, 1, 1, 1, 1, 1, 1, 1", "0", "128", "12"),
        LIST("float32", "3", "1", "128", "12"),
        LIST("float32", "3", "-1", "128", "12"),
        LIST("float32", "3", "0", "128", "11"),
        LIST("float32", "3", "0", "248", "12"),
        LIST("float32", "3", "0", "9223372036854775807", "12"),
        LIST("float32", "4611686018427387904", "0", "128", "12"),
        LIST("float32", "3.5", "0", "128", "12"),
        "[1, 2]",
    };
    char path[4400];
    float out[3];
    snprintf(path, sizeof path, "%s", write_weights("w.bin"));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        tnr_session *s = open_session(compile("e.tno", path, lists[i]), NULL);
        tnb_err err;
        tnb_status st = run(s, out, &err);
        if (st != TNB_FORMAT && st != TNB_SHAPE && st != TNB_BOUNDS)
            fail_msg("%zu: %s", i, st == TNB_OK ? "taken" : err.message);
        tnr_session_close(s);
    }
    /* fewer weights than the function takes */
    tnr_session *s = open_session(
        compile("e.tno", path,
                "[{\"name\": \"first\", \"dtype\": \"float32\", \"shape\": [2], \"file\": "
                "0, \"offset\": 64, \"bytes\": 8}]"),
        NULL);
    FAILS(run(s, out, &err), TNB_TYPE, "a tuple of 1 items, expected 2");
    tnr_session_close(s);
}

/* ---- transforms ---- */

#define TRANSFORMED(transform)                                                                     \
    "[{\"name\": \"first\", \"dtype\": \"uint8\", \"shape\": [4, 12], \"file\": 0, \"offset\": "   \
    "64, "                                                                                         \
    "\"bytes\": 48, \"transform\": {" transform                                                    \
    "}}, {\"name\": \"second\", \"dtype\": \"float32\", \"shape\": [3], \"file\": 0, \"offset\": " \
    "128, \"bytes\": 12}]"
#define INTERLEAVED(rows, block, fields)                                                    \
    TRANSFORMED("\"kind\": \"interleave_rows\", \"rows\": " rows ", \"block\": " block ", " \
                "\"fields\": [" fields "]")

static const char *
write_numbers(const char *name)
{
    char bytes[FILE_BYTES] = "header";
    for (int i = 0; i < 48; i++)
        bytes[64 + i] = (char)i;
    memcpy(bytes + SECOND, second, sizeof second);
    return write_scratch(name, bytes, sizeof bytes);
}

static void
rows_are_interleaved(void **state)
{
    (void)state;
    char path[4400];
    snprintf(path, sizeof path, "%s", write_numbers("w.bin"));
    tnr_session *s =
        open_session(compile("t.tno", path, INTERLEAVED("2", "6", "[2, 2], [4, 1]")), NULL);
    tnr_value params, item;
    OK(tnr_params_open(tnr_session_vm(s), NULL, &params, &err));
    OK(tnr_tuple_item(params.u.tuple, 0, &item, &err));
    const unsigned char *got = tnr_tensor_data(item.u.tensor);
    for (int row = 0; row < 4; row++)
        for (int k = 0; k < 12; k++) {
            int p = row / 2, r = row % 2, b = k / 6, i = k % 6;
            int at = (p * 2 + b) * 12 + (i < 2 ? r * 2 + i : 4 + (i - 2) * 2 + r);
            assert_int_equal(got[at], row * 12 + k);
        }
    gives_sums(s);
    tnr_release(&params);
    tnr_session_close(s);
}

static void
wrong_transforms_are_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {
        INTERLEAVED("3", "6", "[2, 2], [4, 1]"),
        INTERLEAVED("0", "6", "[2, 2], [4, 1]"),
        INTERLEAVED("2", "7", "[2, 2], [5, 1]"),
        INTERLEAVED("2", "6", "[2, 2], [4, 3]"),
        INTERLEAVED("2", "6", "[2, 2], [3, 1]"),
        INTERLEAVED("2", "6", "[2, 2], [5, 1]"),
        INTERLEAVED("2", "6", "[9223372036854775807, 1], [9223372036854775807, 1]"),
        INTERLEAVED("2", "6", ""),
        INTERLEAVED("2", "6", "[2], [4]"),
        INTERLEAVED("2", "6", "1, 2"),
        TRANSFORMED("\"kind\": 5"),
    };
    char path[4400];
    float out[3];
    snprintf(path, sizeof path, "%s", write_numbers("w.bin"));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        tnr_session *s = open_session(compile("t.tno", path, lists[i]), NULL);
        tnb_err err;
        tnb_status st = run(s, out, &err);
        if (st != TNB_FORMAT && st != TNB_UNSUPPORTED)
            fail_msg("%zu: %s", i, st == TNB_OK ? "taken" : err.message);
        tnr_session_close(s);
    }
    tnr_session *s =
        open_session(compile("t.tno", path, TRANSFORMED("\"kind\": \"squared\"")), NULL);
    FAILS(run(s, out, &err), TNB_UNSUPPORTED, "'squared'");
    tnr_session_close(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_finds_the_weights_and_uses_what_is_needed),
        cmocka_unit_test(weights_that_are_not_aligned_are_copied_once),
        cmocka_unit_test(files_are_found_where_they_are_now),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(wrong_metadata_are_refused),
        cmocka_unit_test(rows_are_interleaved),
        cmocka_unit_test(wrong_transforms_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
