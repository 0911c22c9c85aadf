/* SPDX-License-Identifier: Apache-2.0 */
/* Deferred constants: made by machine code where that pays, with the results the interpreter gives,
 * the same bytes in every artifact; splats stay splats.
 */
#include "assemble.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"

enum { ROWS = 1024, COLUMNS = 1536 };

static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *registry;
static tnr_runtime *rt;
static char folder[] = "/tmp/tenon-test-XXXXXX";
static uint16_t weights[ROWS * COLUMNS + 1];

static int
setup(void **state)
{
    (void)state;
    tnb_diags *diags = tnb_diags_new();
    conf = tnb_conf_load(NULL, diags);
    assert_non_null(conf);
    OK(tnb_plugins_open(conf, NULL, &plugins, &err));
    registry = tn_registry_new(plugins);
    tnr_runtime_options opt = {.plugins = plugins, .conf = conf, .threads = 2};
    OK(tnr_runtime_new(&opt, &rt, &err));
    tnb_diags_free(diags);
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    char command[128];
    tnr_runtime_free(rt);
    tn_registry_free(registry);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* The module with parameter `w` of main replaced by a constant; main takes nothing then. */
static const tn_module *
with_weights(tn_ctx *ctx, const char *body, const tn_data *w)
{
    char text[1024];
    snprintf(text, sizeof text,
             "@I.ir_module\nclass Module:\n    @R.function\n"
             "    def main(w: R.Tensor((%d, %d), \"float16\")):\n"
             "        with R.dataflow():\n%s            R.output(r)\n        return r\n",
             ROWS, COLUMNS, body);
    const tn_module *m = tn_read_module(ctx, "module.py", text, strlen(text));
    assert_non_null(m);
    const tn_function *f = tn_as_function(tn_module_get(m, "main"));
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    tnb_ptrmap_set(&map, f->params.at[0], tn_constant_of(ctx, w));
    const tn_expr *bound = tn_subst(ctx, f->body, &map);
    return tn_module_set(ctx, m, "main",
                         tn_function_of(ctx, (tn_list){0}, bound, NULL, true, f->attrs));
}

static tnk_compile_result
compile(tn_ctx *ctx, const tn_module *m, const char *out, int jobs, const char *cache)
{
    static const char *const target = "cpu";
    tnk_model model = {.module = m};
    tnk_compile_options opt = {.conf = conf,
                               .targets = &target,
                               .n_targets = 1,
                               .jobs = jobs,
                               .output = out,
                               .cache_dir = cache};
    tnk_compile_result result;
    if (tnk_compile(ctx, &model, &opt, &result) != TNB_OK) {
        tnb_buf b = {0};
        tnb_diags_print(tn_diags(ctx), &b);
        fail_msg("%s", b.s ? b.s : "no diagnostics");
    }
    return result;
}

/* ---- a transposed, squared float16 weight at an odd address ---- */

static const char square[] = "            f = R.astype(w, dtype=\"float32\")\n"
                             "            t = R.permute_dims(f, axes=[1, 0])\n"
                             "            r = R.multiply(t, t)\n";

static const tn_data *
file_range(tn_ctx *ctx)
{
    char *at = (char *)weights + 1;
    int64_t shape[] = {ROWS, COLUMNS};
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
        uint16_t v = (uint16_t)(0x3800 + i * 7 % 2048); /* 0.5 to 2 */
        memcpy(at + 2 * (size_t)i, &v, 2);
    }
    return tn_data_file(ctx, TNB_F16, 2, shape, at, "weights.bin", 1);
}

static void
check_squares(const char *path)
{
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    uint32_t variant;
    tnr_value ret;
    OK(tnr_artifact_open(path, &a, &err));
    OK(tnr_artifact_pick(rt, a, NULL, &variant, NULL, &err));
    OK(tnr_vm_new(rt, a, variant, &vm, &err));
    OK(tnr_vm_call(vm, "main", NULL, 0, &ret, &err));
    assert_int_equal(ret.tag, TNR_TENSOR);
    const tnr_tensor *t = ret.u.tensor;
    assert_int_equal(t->dl.shape[0], COLUMNS);
    const float *got = tnr_tensor_data(t);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t j = 0; j < COLUMNS; j++) {
            double v;
            uint16_t w;
            memcpy(&w, (char *)weights + 1 + 2 * ((size_t)i * COLUMNS + j), 2);
            assert_true(tnb_load_f64(&w, TNB_F16, 0, &v));
            if (got[(size_t)j * ROWS + i] != (float)v * (float)v)
                fail_msg("element %u, %u is %g", j, i, got[(size_t)j * ROWS + i]);
        }
    tnr_release(&ret);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
}

static void
test_large_ones_are_made_by_machine_code_and_always_equal(void **state)
{
    (void)state;
    struct {
        const char *name;
        int jobs;
        bool cache;
        uint32_t hits, misses;
    } runs[] = {{"one", 1, false, 0, 1}, {"cold", 2, true, 0, 1}, {"warm", 2, true, 1, 0}};
    char cache[64], path[3][64], *first = NULL, *other;
    size_t n, m;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    OK(tnb_make_dirs(cache, 0700, &err));
    for (int i = 0; i < 3; i++) {
        tn_ctx *ctx = tn_ctx_new(registry);
        snprintf(path[i], sizeof path[i], "%s/%s.tno", folder, runs[i].name);
        tnk_compile_result r = compile(ctx, with_weights(ctx, square, file_range(ctx)), path[i],
                                       runs[i].jobs, runs[i].cache ? cache : NULL);
        uint32_t kernels = r.n_kernels[0] ? 2 : 1; /* objects: the constants', the kernels' */
        assert_int_equal(r.cache_hits, kernels * runs[i].hits);
        assert_int_equal(r.cache_misses, kernels * runs[i].misses);
        assert_int_equal(r.constant_bytes, 4 * ROWS * COLUMNS);
        tn_ctx_free(ctx);
    }
    check_squares(path[0]);
    OK(tnb_read_file(path[0], 0, &first, &n, &err));
    for (int i = 1; i < 3; i++) {
        OK(tnb_read_file(path[i], 0, &other, &m, &err));
        assert_int_equal(n, m);
        assert_memory_equal(first, other, n);
        free(other);
    }
    free(first);
}

/* ---- splats ---- */

static void
test_programs_over_splats_give_splats(void **state)
{
    (void)state;
    tn_ctx *ctx = tn_ctx_new(registry);
    int64_t shape[] = {ROWS, COLUMNS};
    uint16_t half = 0x3e00; /* 1.5 */
    const tn_data *w = tn_data_splat(ctx, TNB_F16, 2, shape, &half);
    tnk_compile_result r = compile(ctx, with_weights(ctx, square, w), NULL, 1, NULL);
    assert_int_equal(r.cache_misses, r.n_kernels[0] ? 1 : 0);
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    uint32_t variant;
    tnr_value ret;
    OK(tnr_artifact_open_fd(r.fd, "compiled", &a, &err));
    close(r.fd);
    OK(tnr_artifact_check_data(a, &err));
    OK(tnr_artifact_pick(rt, a, NULL, &variant, NULL, &err));
    OK(tnr_vm_new(rt, a, variant, &vm, &err));
    OK(tnr_vm_call(vm, "main", NULL, 0, &ret, &err));
    const float *got = tnr_tensor_data(ret.u.tensor);
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
        assert_true(got[i] == 2.25f);
    tnr_release(&ret);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    tn_ctx_free(ctx);
}

static void
test_zeros_are_a_hole_and_found_again(void **state)
{
    (void)state;
    tnk_artifact *a = NULL;
    uint64_t hole, again, plain, other, bytes, n = 3u << 20;
    int fd = -1;
    char *zeros = calloc(1, n);
    const float one = 1;
    tnk_program *p;
    tnb_arena *arena = tnb_arena_new();
    assert_non_null(zeros);
    OK(tnk_artifact_new(NULL, 1, &a, &err));
    OK(tnk_artifact_splat(a, "\0\0\0\0", 4, n, &hole, &err));
    OK(tnk_artifact_constant(a, zeros, n, &again, &err)); /* compared with the hole */
    assert_int_equal(hole, again);
    for (uint64_t i = 0; i < n; i += 4)
        memcpy(zeros + i, &one, 4);
    OK(tnk_artifact_constant(a, zeros, n, &plain, &err));
    OK(tnk_artifact_splat(a, &one, 4, n, &other, &err));
    assert_int_equal(plain, other);
    FAILS(tnk_artifact_splat(a, &one, 3, n, &other, &err), TNB_INTERNAL, "3 bytes");
    OK(tnk_artifact_section(a, TNB_TNO_METADATA, 0, "{}", 2, &err));
    tnb_buf program = {0};
    p = tnk_program_new(arena);
    OK(tnk_program_write(p, &program, &err));
    OK(tnk_artifact_section(a, TNB_TNO_PROGRAM, 0, program.s, program.n, &err));
    OK(tnk_artifact_finish(a, &fd, &bytes, &err));
    tnb_buf_free(&program);
    tnb_arena_free(arena);
    free(zeros);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_ones_are_made_by_machine_code_and_always_equal),
        cmocka_unit_test(test_programs_over_splats_give_splats),
        cmocka_unit_test(test_zeros_are_a_hole_and_found_again),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
