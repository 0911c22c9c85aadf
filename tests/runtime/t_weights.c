/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in a file of their own: opened by a session, made when they are used, refused where the file is another one, is not
 * there, or is changed meanwhile, and where the metadata are wrong. */
#include "tests/base/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/base/log.h"
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

/* What was written last, which compile() takes for the checkpoint. */
static char written[FILE_BYTES];

static const char *
write_weights(const char *name)
{
    memcpy(written, (char[FILE_BYTES]){"header"}, FILE_BYTES);
    memcpy(written + SECOND, second, sizeof second);
    memcpy(written + SECOND + 20, second, sizeof second); /* not aligned */
    return write_scratch(name, written, FILE_BYTES);
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
    char text[4096], hash[17], sample[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)tnb_hash_128(written, HEADER).lo);
    snprintf(sample, sizeof sample, "%016llx",
             (unsigned long long)tnb_hash_sample(written, FILE_BYTES).lo);
    snprintf(text, sizeof text,
             "@I.ir_module\n"
             "class Module:\n"
             "    I.module_attrs({\"params\": {\"files\": [{\"path\": \"%s\", \"bytes\": %d, "
             "\"header\": %d, \"hash\": \"%s\", \"sample\": \"%s\"}], \"list\": %s}})\n"
             "    @R.function\n"
             "    def main(x: R.Tensor((3,), \"float32\"), packed_params: R.Tuple(R.Tensor((2,), "
             "\"float32\"), R.Tensor((3,), \"float32\"))):\n"
             "        R.func_attr({\"num_input\": 1})\n"
             "        with R.dataflow():\n"
             "            w = packed_params[1]\n"
             "            gv = R.add(x, w)\n"
             "            R.output(gv)\n"
             "        return gv\n",
             path, FILE_BYTES, HEADER, hash, sample, list);
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
    tnr_session_options opt = {.runtime = rt, .weights = in_scratch("absent")};
    FAILS(tnr_session_open(artifact, &opt, &s, &err), TNB_NOT_FOUND, "weights is '");
}

static void
other_files_are_refused(void **state)
{
    (void)state;
    float out[3];
    char bytes[FILE_BYTES] = "heAder";
    const char *artifact = compile("d.tno", write_weights("other.bin"), GOOD_LIST);
    tnr_session *s = open_session(artifact, NULL);
    write_scratch("other.bin", bytes, sizeof bytes);
    FAILS(run(s, out, &err), TNB_DIFFERS, "its header differs");
    write_scratch("other.bin", bytes, sizeof bytes - 1);
    FAILS(run(s, out, &err), TNB_DIFFERS, "its size differs");
    write_scratch("other.bin", bytes, 0);
    FAILS(run(s, out, &err), TNB_DIFFERS, "its size differs");
    memcpy(bytes, written, sizeof bytes);
    bytes[SECOND + 1]++;
    write_scratch("other.bin", bytes, sizeof bytes);
    FAILS(run(s, out, &err), TNB_DIFFERS, "its data differ");
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

#define QUANTIZED(part, bits, scales)                                             \
    TRANSFORMED("\"kind\": \"quantize\", \"part\": \"" part "\", \"bits\": " bits \
                ", \"columns\": 12, \"from\": \"float32\", \"scales\": \"" scales "\"")

#define INTERLEAVED_OF(kind, part, bits)                                       \
    INTERLEAVED("2", "12",                                                     \
                "[12, 4]], \"of\": {\"kind\": \"" kind "\", \"part\": \"" part \
                "\", \"bits\": " bits                                          \
                ", \"columns\": 32, \"from\": \"float32\", \"scales\": \"float16\"}, \"x\": [")

static const char *
write_numbers(const char *name)
{
    memcpy(written, (char[FILE_BYTES]){"header"}, FILE_BYTES);
    for (int i = 0; i < 48; i++)
        written[64 + i] = (char)i;
    memcpy(written + SECOND, second, sizeof second);
    return write_scratch(name, written, FILE_BYTES);
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

#define PART(shape, bytes, rows, more)                                                             \
    "[{\"name\": \"first\", \"dtype\": \"uint8\", \"shape\": [" shape                              \
    "], \"file\": 0, \"offset\": 64, \"bytes\": " bytes                                            \
    ", \"transform\": {\"kind\": \"interleave_rows\", \"rows\": " rows ", \"block\": 6, " more     \
    "}}, {\"name\": \"second\", \"dtype\": \"float32\", \"shape\": [3], \"file\": 0, \"offset\": " \
    "128, \"bytes\": 12}]"

static void
a_part_of_blocks_is_a_weight_of_its_own(void **state)
{
    (void)state;
    char path[4400];
    snprintf(path, sizeof path, "%s", write_numbers("w.bin"));
    for (int rows = 3; rows <= 4; rows++) {
        tnr_session *s =
            open_session(compile("t.tno", path,
                                 rows == 4 ? PART("2, 2, 2, 4", "32", "2", "\"part\": [1, 4]")
                                           : PART("2, 2, 2, 4", "32", "2",
                                                  "\"part\": [1, 4], \"source_rows\": 3")),
                         NULL);
        tnr_value params, item;
        OK(tnr_params_open(tnr_session_vm(s), NULL, &params, &err));
        OK(tnr_tuple_item(params.u.tuple, 0, &item, &err));
        const unsigned char *got = tnr_tensor_data(item.u.tensor);
        for (int at = 0; at < 32; at++) {
            int row = at / 16 * 2 + at / 4 % 2, block = at / 8 % 2;
            assert_int_equal(got[at], row < rows ? row * 12 + block * 6 + 1 + at % 4 : 0);
        }
        gives_sums(s);
        tnr_release(&params);
        tnr_session_close(s);
    }
}

static void
rows_that_the_last_panel_lacks_are_zero(void **state)
{
    (void)state;
    char path[4400];
    snprintf(path, sizeof path, "%s", write_numbers("w.bin"));
    tnr_session *s =
        open_session(compile("t.tno", path,
                             INTERLEAVED("2", "6",
                                         "[2, 2], [4, 1]], \"source_rows\": 3, \"x\": [")),
                     NULL);
    tnr_value params, item;
    OK(tnr_params_open(tnr_session_vm(s), NULL, &params, &err));
    OK(tnr_tuple_item(params.u.tuple, 0, &item, &err));
    const unsigned char *got = tnr_tensor_data(item.u.tensor);
    for (int at = 24; at < 48; at++) {
        int b = (at - 24) / 12, i = at % 12, r = i < 4 ? i / 2 : i % 2,
            k = i < 4 ? i % 2 : 2 + (i - 4) / 2;
        assert_int_equal(got[at], r ? 0 : 24 + b * 6 + k);
    }
    tnr_release(&params);
    tnr_session_close(s);
}

static void
wrong_transforms_are_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {
        INTERLEAVED("3", "6", "[2, 2], [4, 1]"),
        INTERLEAVED_OF("quantize", "blocks", "4"),
        INTERLEAVED_OF("quantize", "blocks", "5"),
        INTERLEAVED_OF("quantize", "numbers", "4"),
        INTERLEAVED_OF("convert", "blocks", "4"),
        INTERLEAVED("0", "6", "[2, 2], [4, 1]"),
        INTERLEAVED("2", "7", "[2, 2], [5, 1]"),
        INTERLEAVED("2", "6", "[2, 2], [4, 3]"),
        INTERLEAVED("2", "6", "[2, 2], [3, 1]"),
        INTERLEAVED("2", "6", "[2, 2], [5, 1]"),
        INTERLEAVED("2", "6", "[9223372036854775807, 1], [9223372036854775807, 1]"),
        INTERLEAVED("2", "6", ""),
        INTERLEAVED("2", "6", "[2], [4]"),
        INTERLEAVED("2", "6", "1, 2"),
        INTERLEAVED("2", "6", "[2, 2], [4, 1]], \"source_rows\": 5, \"x\": ["),
        INTERLEAVED("2", "6", "[2, 2], [4, 1]], \"source_rows\": 2, \"x\": ["),
        INTERLEAVED("2", "6", "[2, 2], [4, 1]], \"source_rows\": \"3\", \"x\": ["),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [3, 4]"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [-1, 4]"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [1, 0]"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [1, 7]"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [1]"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": 1"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [1, 3]"),
        PART("2, 2, 2, 4", "32", "3", "\"part\": [1, 4]"),
        PART("2, 2, 2, 4", "32", "9223372036854775807", "\"part\": [1, 4]"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [1, 4], \"fields\": [[6, 1]]"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [1, 4], \"source_rows\": 2"),
        PART("2, 2, 2, 4", "32", "2", "\"part\": [1, 4], \"of\": {}"),
        TRANSFORMED("\"kind\": 5"),
        TRANSFORMED("\"kind\": \"convert\", \"from\": \"float32\""),
        TRANSFORMED("\"kind\": \"convert\", \"from\": \"int8\""),
        TRANSFORMED("\"kind\": \"quantize\", \"part\": \"numbers\""),
        QUANTIZED("numbers", "3", "float16"),
        QUANTIZED("numbers", "4", "bfloat16"),
        QUANTIZED("numbers", "4", "float16"),
        QUANTIZED("scales", "4", "float16"),
        QUANTIZED("other", "4", "float16"),
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

/* ---- parameter files ---- */

/* A runtime whose cache lies in the test's folder, with a limit in MiB. */
static tnr_runtime *
with_cache(tnb_conf **own, const char *limit)
{
    char dir[4400], size[64];
    const char *sets[] = {dir, size};
    snprintf(dir, sizeof dir, "tenon.cache_dir=%s", in_scratch("cache"));
    snprintf(size, sizeof size, "tenon.weights_cache_size=%s", limit);
    const tnb_conf_options o = {.sets = sets, .n_sets = 2};
    tnb_diags *diags = tnb_diags_new();
    *own = tnb_conf_load(&o, diags);
    assert_non_null(*own);
    tnb_diags_free(diags);
    tnr_runtime_options opt = {.plugins = plugins, .conf = *own, .threads = 1};
    tnr_runtime *out = NULL;
    OK(tnr_runtime_new(&opt, &out, &err));
    return out;
}

/* The only parameter file of the cache; NULL: there is none. */
static const char *
parameter_file(void)
{
    static char path[4400];
    const char *dir, **names;
    uint32_t n = 0;
    tnb_arena *a = tnb_arena_new();
    OK(tnb_cache_dir(a, in_scratch("cache"), &dir, &err));
    OK(tnb_list_dir(a, dir, ".safetensors", &names, &n, &err));
    assert_true(n <= 1);
    if (n)
        snprintf(path, sizeof path, "%s/%s", dir, names[0]);
    tnb_arena_free(a);
    return n ? path : NULL;
}

static int warnings, steps;

static void
count_warning(void *user, tnb_log_level level, const char *line)
{
    (void)user;
    warnings += level == TNB_LOG_WARN && strstr(line, "transformed in memory") != NULL;
}

static void
count_step(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    assert_true(done <= total);
    steps++;
}

/* Opens the weights of the artifact, and checks the first. Counts how many bytes are mapped. */
static tnr_value
open_checked(tnr_session *s, uint64_t want_mapped)
{
    const tnr_params_options opt = {.size = sizeof opt, .progress = count_step};
    tnr_value params, item;
    uint64_t mapped;
    OK(tnr_params_open(tnr_session_vm(s), &opt, &params, &err));
    OK(tnr_tuple_item(params.u.tuple, 0, &item, &err));
    const unsigned char *got = tnr_tensor_data(item.u.tensor);
    assert_int_equal(got[0] * 1000 + got[1], 1);     /* two bytes of row 0 */
    assert_int_equal(got[2] * 1000 + got[3], 12013); /* of row 1 */
    assert_int_equal(got[5], 14);                    /* then single bytes */
    tnr_params_bytes(params, &mapped, NULL);
    assert_int_equal(mapped, want_mapped);
    return params;
}

#define GOOD_INTERLEAVED INTERLEAVED("2", "6", "[2, 2], [4, 1]")

static void
transformed_weights_are_kept_in_a_file(void **state)
{
    (void)state;
    char path[4400], artifact[4400];
    tnb_conf *own;
    tnr_runtime *mine = with_cache(&own, "1");
    tnr_session *s = NULL;
    tnr_value params;
    snprintf(path, sizeof path, "%s", write_numbers("w.bin"));
    snprintf(artifact, sizeof artifact, "%s", compile("t.tno", path, GOOD_INTERLEAVED));
    tnr_session_options opt = {.runtime = mine};
    OK(tnr_session_open(artifact, &opt, &s, &err));
    steps = 0;
    params = open_checked(s, 48);
    assert_int_equal(steps, 1);
    tnr_release(&params);
    params = open_checked(s, 48); /* made once */
    assert_int_equal(steps, 1);
    tnr_release(&params);
    gives_sums(s);

    /* what is not as it was written is made again: cut, longer, changed, another header, a link, others may write */
    for (int what = 0; what < 6; what++) {
        char file[4400];
        snprintf(file, sizeof file, "%s", parameter_file());
        struct stat st;
        assert_int_equal(stat(file, &st), 0);
        const struct timespec times[2] = {st.st_atim, st.st_mtim};
        if (what == 0)
            assert_int_equal(truncate(file, st.st_size - 1), 0);
        if (what == 1)
            assert_int_equal(truncate(file, st.st_size + 1), 0);
        FILE *f = what == 2 || what == 3 ? fopen(file, "r+") : NULL;
        if (f) {
            (void)fseek(f, what == 2 ? (long)st.st_size - 10 : 20, SEEK_SET);
            assert_int_equal(fputc('X', f), 'X');
            assert_int_equal(fclose(f), 0);
        }
        if (what == 4) {
            assert_int_equal(rename(file, in_scratch("elsewhere")), 0);
            assert_int_equal(symlink(in_scratch("elsewhere"), file), 0);
        } else if (what == 5) {
            assert_int_equal(chmod(file, 0666), 0);
        }
        if (what != 2 && what != 4) /* the mark alone does not make it right */
            assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
        steps = 0;
        params = open_checked(s, 48);
        if (steps != 1)
            fail_msg("%d: not made again", what);
        tnr_release(&params);
        assert_int_equal(lstat(parameter_file(), &st), 0);
        assert_true(S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600);
    }

    /* one that shrinks while it is mapped */
    params = open_checked(s, 48);
    tnr_session *uses = NULL;
    OK(tnr_session_open(artifact, &opt, &uses, &err));
    gives_sums(uses);
    assert_int_equal(truncate(parameter_file(), 100), 0);
    float out[3];
    FAILS(run(uses, out, &err), TNB_IO, "was changed while it is in use");
    tnr_session_close(uses);
    tnr_release(&params);
    params = open_checked(s, 48);
    tnr_release(&params);

    /* a checkpoint written anew is another one */
    struct timespec later[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
    assert_int_equal(unlink(parameter_file()), 0);
    steps = 0;
    params = open_checked(s, 48);
    assert_int_equal(steps, 1);
    tnr_release(&params);
    tnr_session_close(s);
    tnr_runtime_free(mine);
    tnb_conf_free(own);
}

static void
without_a_cache_weights_are_transformed_in_memory(void **state)
{
    (void)state;
    char path[4400], artifact[4400], folder[4400];
    const char *dir;
    tnb_conf *own;
    tnr_runtime *mine = with_cache(&own, "1");
    tnr_session *s = NULL;
    tnb_arena *a = tnb_arena_new();
    snprintf(path, sizeof path, "%s", write_numbers("w.bin"));
    snprintf(artifact, sizeof artifact, "%s", compile("t.tno", path, GOOD_INTERLEAVED));
    tnr_session_options opt = {.runtime = mine};
    OK(tnr_session_open(artifact, &opt, &s, &err));
    OK(tnb_cache_dir(a, in_scratch("cache"), &dir, &err));
    snprintf(folder, sizeof folder, "%s", dir);
    tnb_arena_free(a);
    if (parameter_file())
        assert_int_equal(unlink(parameter_file()), 0);
    assert_int_equal(chmod(folder, 0777), 0); /* others may write: it is not used */
    tnb_log_set_sink(count_warning, NULL);
    warnings = steps = 0;
    tnr_value params = open_checked(s, 0);
    assert_int_equal(warnings, 1);
    assert_int_equal(steps, 0);
    tnr_release(&params);
    tnb_log_set_sink(NULL, NULL);
    assert_int_equal(chmod(folder, 0700), 0);
    const tnr_params_options none = {.size = sizeof none, .no_cache = true};
    OK(tnr_params_open(tnr_session_vm(s), &none, &params, &err));
    assert_null(parameter_file());
    tnr_release(&params);
    tnr_session_close(s);
    tnr_runtime_free(mine);
    tnb_conf_free(own);
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
        cmocka_unit_test(a_part_of_blocks_is_a_weight_of_its_own),
        cmocka_unit_test(rows_that_the_last_panel_lacks_are_zero),
        cmocka_unit_test(wrong_transforms_are_refused),
        cmocka_unit_test(transformed_weights_are_kept_in_a_file),
        cmocka_unit_test(without_a_cache_weights_are_transformed_in_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
