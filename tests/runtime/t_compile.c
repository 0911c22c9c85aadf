/* SPDX-License-Identifier: Apache-2.0 */
/* From a module's text to results: compiled for the null and the cpu target, run by the runtime,
 * compared with the interpreter's results on the original module. The modules lie in
 * tests/runtime/modules. Where there is an OpenCL device, on that as well.
 */
#include "assemble.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/kit/driver.h"

static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *registry;
static tnr_runtime *rt;

static void
print_errors(tn_ctx *ctx)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(ctx), &b);
    print_error("%s\n", b.s ? b.s : "no diagnostics");
    tnb_buf_free(&b);
}

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
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    tnr_runtime_free(rt);
    tn_registry_free(registry);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    return 0;
}

/* ---- values of both worlds ---- */

static tnr_value
to_runtime(const tn_expr *e)
{
    tnr_value v = tnr_null();
    int64_t i;
    if (tn_as_constant(e)) {
        const tn_data *d = tn_as_constant(e)->data;
        OK(tnr_tensor_from(tnr_device_host(rt), d->bytes, d->shape, (uint32_t)d->ndim, d->dtype, &v,
                           &err));
    } else if (tn_as_tuple(e)) {
        OK(tnr_tuple_new(NULL, tn_as_tuple(e)->fields.n, &v, &err));
        for (uint32_t k = 0; k < tn_as_tuple(e)->fields.n; k++)
            v.u.tuple->items[k] = to_runtime(tn_as_tuple(e)->fields.at[k]);
    } else if (tn_as_shape_expr(e)) {
        int64_t dims[16];
        for (uint32_t k = 0; k < tn_as_shape_expr(e)->values.n; k++)
            assert_true(tn_int_value(tn_as_shape_expr(e)->values.at[k], &dims[k]));
        OK(tnr_shape_new(dims, tn_as_shape_expr(e)->values.n, &v, &err));
    } else if (tn_int_value(e, &i)) {
        v = tnr_int(i);
    } else {
        assert_true(tn_is(e, TN_KIND_FLOAT_IMM));
        v = tnr_float(tn_as_float_imm(e)->value);
    }
    return v;
}

static const tn_expr *
from_runtime(tn_ctx *ctx, tnr_value v)
{
    if (v.tag == TNR_TENSOR) {
        void *bytes;
        const tnr_tensor *t = v.u.tensor;
        const tn_data *d = tn_data_new(ctx, t->dl.dtype, t->dl.ndim, t->dl.shape, &bytes);
        OK(tnr_tensor_read(t, bytes, t->n_bytes, &err));
        return tn_constant_of(ctx, d);
    }
    if (v.tag == TNR_TUPLE) {
        const tn_node **items = TNB_NEW_N(tn_arena(ctx), const tn_node *, v.u.tuple->n);
        for (uint32_t i = 0; i < v.u.tuple->n; i++)
            items[i] = from_runtime(ctx, v.u.tuple->items[i]);
        return tn_tuple_of(ctx, tn_list_of(ctx, items, v.u.tuple->n));
    }
    if (v.tag == TNR_SHAPE) {
        const tn_node *dims[16];
        for (int32_t i = 0; i < v.u.shape->n; i++)
            dims[i] = tn_i64(ctx, v.u.shape->dims[i]);
        return tn_shape_expr_of(ctx, tn_list_of(ctx, dims, (uint32_t)v.u.shape->n));
    }
    return v.tag == TNR_FLOAT ? tn_float_imm_of(ctx, TNB_F64, v.u.f) : tn_i64(ctx, v.u.i);
}

/* ---- one module on one target ---- */

static const tn_module *
read_module(tn_ctx *ctx, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/runtime/modules/%s.py", getenv("top_srcdir"), name);
    const tn_module *m = tn_read_module_file(ctx, path);
    if (!m)
        print_errors(ctx);
    assert_non_null(m);
    return m;
}

static tnr_artifact *
compile(tn_ctx *ctx, const tn_module *m, const char *target, bool verify)
{
    tnk_model model = {.module = m};
    tnk_compile_options opt = {
        .conf = conf, .targets = &target, .n_targets = 1, .jobs = 2, .verify = verify};
    tnk_compile_result result;
    tnr_artifact *a = NULL;
    if (tnk_compile(ctx, &model, &opt, &result) != TNB_OK) {
        print_errors(ctx);
        fail_msg("compiling for %s failed", target);
    }
    OK(tnr_artifact_open_fd(result.fd, "compiled", &a, &err));
    close(result.fd);
    if (verify && result.verify.verified == 0)
        fail_msg("nothing was verified");
    return a;
}

static void
check(const char *name, const char *target, bool verify)
{
    tn_ctx *ctx = tn_ctx_new(registry);
    const tn_module *m = read_module(ctx, name);
    tnr_artifact *a = compile(ctx, m, target, verify);
    const tnr_signature *s = tnr_artifact_function(a, "main");
    assert_non_null(s);
    tn_list args;
    assert_true(tn_random_args(ctx, tn_module_get(m, "main"), 7, NULL, &args));
    assert_int_equal(s->n_params, args.n);
    tn_eval_options eopt = {0};
    const tn_evaluator *interp = tn_find_evaluator(registry, "interp", NULL);
    assert_non_null(interp);
    const tn_expr *want = interp->run(interp->self, ctx, m, "main", args.at, args.n, &eopt);
    if (!want)
        print_errors(ctx);
    assert_non_null(want);
    uint32_t variant;
    tnr_vm *vm = NULL;
    OK(tnr_artifact_pick(rt, a, NULL, &variant, NULL, &err));
    OK(tnr_vm_new(rt, a, variant, &vm, &err));
    tnr_value in[16], ret;
    for (uint32_t i = 0; i < args.n; i++)
        in[i] = to_runtime(args.at[i]);
    for (int turn = 0; turn < 2; turn++) { /* the second time with memory that is used again */
        OK(tnr_vm_call(vm, "main", in, args.n, &ret, &err));
        tnb_buf why = {0};
        if (!tn_values_close(ctx, want, from_runtime(ctx, ret), 1e-5, 1e-6, &why))
            fail_msg("%s on %s: %s", name, target, why.s);
        tnb_buf_free(&why);
        tnr_release(&ret);
    }
    for (uint32_t i = 0; i < args.n; i++)
        tnr_release(&in[i]);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    tn_ctx_free(ctx);
}

#define CASES(X) \
    X(elementwise) X(constants) X(branch) X(loop) X(symbolic) X(tuples) X(host_scalars) X(matmul)
#define X(name)                                                     \
    static void test_##name##_on_null(void **state)                 \
    {                                                               \
        (void)state;                                                \
        check(#name, "null", false);                                \
    }                                                               \
    static void test_##name##_on_cpu(void **state)                  \
    {                                                               \
        (void)state;                                                \
        check(#name, "cpu", false);                                 \
    }                                                               \
    static void test_##name##_on_opencl(void **state)               \
    {                                                               \
        (void)state;                                                \
        tnr_device *dev;                                            \
        if (tnr_device_open(rt, "opencl", 0, &dev, NULL) != TNB_OK) \
            skip();                                                 \
        check(#name, "opencl", false);                              \
    }
CASES(X)
#undef X

static void
test_every_pass_is_verified(void **state)
{
    (void)state;
    check("elementwise", "null", true);
    check("symbolic", "null", true);
}

/* ---- the driver ---- */

static void
compile_to(const char *path, const char *const *targets, uint32_t n, int jobs)
{
    tn_ctx *ctx = tn_ctx_new(registry);
    tnk_model model = {.module = read_module(ctx, "constants")};
    tnk_compile_options opt = {
        .conf = conf, .targets = targets, .n_targets = n, .jobs = jobs, .output = path};
    tnk_compile_result result;
    if (tnk_compile(ctx, &model, &opt, &result) != TNB_OK) {
        print_errors(ctx);
        fail();
    }
    tn_ctx_free(ctx);
}

static void
test_equal_input_gives_equal_bytes_and_variants_share_constants(void **state)
{
    (void)state;
    static const char *const both[] = {"null", "cpu"};
    char dir[] = "/tmp/tenon-test-XXXXXX", x[64], y[64], one[64];
    char *a, *b;
    size_t na, nb;
    assert_non_null(mkdtemp(dir));
    snprintf(x, sizeof x, "%s/x.tno", dir);
    snprintf(y, sizeof y, "%s/y.tno", dir);
    snprintf(one, sizeof one, "%s/one.tno", dir);
    compile_to(x, both, 2, 1);
    compile_to(y, both, 2, 2);
    compile_to(one, both, 1, 1);
    OK(tnb_read_file(x, 0, &a, &na, &err));
    OK(tnb_read_file(y, 0, &b, &nb, &err));
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
    tnr_artifact *art = NULL, *single = NULL;
    uint32_t v;
    tnb_buf why = {0};
    OK(tnr_artifact_open(x, &art, &err));
    OK(tnr_artifact_open(one, &single, &err));
    OK(tnr_artifact_check_data(art, &err));
    assert_int_equal(tnr_artifact_variants(art), 2);
    OK(tnr_artifact_pick(rt, art, "cpu", &v, &why, &err));
    assert_int_equal(v, 1);
    assert_non_null(strstr(why.s, "variant 1 (cpu on cpu) is used: chosen by name, 'cpu'"));
    tnb_buf_free(&why);
    FAILS(tnr_artifact_pick(rt, art, "cuda", &v, NULL, &err), TNB_NOT_FOUND,
          "no variant runs here");
    tnr_runtime *wary = NULL;
    tnr_runtime_options opt = {.plugins = plugins, .conf = conf, .no_native = true};
    OK(tnr_runtime_new(&opt, &wary, &err));
    FAILS(tnr_artifact_pick(wary, art, "cpu", &v, NULL, &err), TNB_UNTRUSTED, "machine code");
    OK(tnr_artifact_pick(wary, art, NULL, &v, NULL, &err));
    assert_int_equal(v, 0);
    tnr_runtime_free(wary);
    tnr_artifact_close(art);
    tnr_artifact_close(single);
    unlink(x);
    unlink(y);
    unlink(one);
    rmdir(dir);
}

/* y = x OP x on four elements; the kernel is called `f` whatever OP is. */
static tnr_vm *
machine_of(tn_ctx *ctx, const char *op, const char *target)
{
    char text[1024];
    snprintf(text, sizeof text,
             "@I.ir_module\nclass Module:\n"
             "    @T.prim_func(private=True)\n"
             "    def f(x: T.Buffer((4,), \"float32\"), y: T.Buffer((4,), \"float32\")):\n"
             "        for i in range(4):\n"
             "            with T.sblock(\"y\"):\n"
             "                v = T.axis.spatial(4, i)\n"
             "                y[v] = x[v] %s x[v]\n"
             "    @R.function\n"
             "    def main(x: R.Tensor((4,), \"float32\")) -> R.Tensor((4,), \"float32\"):\n"
             "        cls = Module\n"
             "        y = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((4,), \"float32\"))\n"
             "        return y\n",
             op);
    const tn_module *m = tn_read_module(ctx, "text", text, strlen(text));
    if (!m)
        print_errors(ctx);
    assert_non_null(m);
    tnr_artifact *a = compile(ctx, m, target, false);
    tnr_vm *vm = NULL;
    OK(tnr_vm_new(rt, a, 0, &vm, &err));
    tnr_artifact_close(a);
    return vm;
}

static void
expect_of_three(tnr_vm *vm, float want)
{
    static const float threes[] = {3, 3, 3, 3};
    static const int64_t four = 4;
    float got[4];
    tnr_value x, y;
    OK(tnr_tensor_from(tnr_vm_device(vm), threes, &four, 1, TNB_F32, &x, &err));
    OK(tnr_vm_call(vm, "main", &x, 1, &y, &err));
    OK(tnr_tensor_read(y.u.tensor, got, sizeof got, &err));
    assert_true(got[0] == want && got[3] == want);
    tnr_release(&x);
    tnr_release(&y);
}

static void
test_machines_of_several_artifacts_keep_their_own_kernels(void **state)
{
    static const char *const targets[] = {"null", "cpu"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        tn_ctx *ctx = tn_ctx_new(registry);
        tnr_vm *sum = machine_of(ctx, "+", targets[i]), *product = machine_of(ctx, "*", targets[i]);
        expect_of_three(sum, 6);
        expect_of_three(product, 9);
        tnr_vm_free(sum);
        tnr_vm *difference = machine_of(ctx, "-", targets[i]);
        expect_of_three(product, 9);
        expect_of_three(difference, 0);
        tnr_vm_free(product);
        tnr_vm_free(difference);
        tn_ctx_free(ctx);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name)                                                                      \
    cmocka_unit_test(test_##name##_on_null), cmocka_unit_test(test_##name##_on_cpu), \
        cmocka_unit_test(test_##name##_on_opencl),
        CASES(X)
#undef X
            cmocka_unit_test(test_every_pass_is_verified),
        cmocka_unit_test(test_equal_input_gives_equal_bytes_and_variants_share_constants),
        cmocka_unit_test(test_machines_of_several_artifacts_keep_their_own_kernels),
    };
    if (getenv("TESTS_ONLY")) /* a pattern, to run some by hand */
        cmocka_set_test_filter(getenv("TESTS_ONLY"));
    return cmocka_run_group_tests(tests, setup, teardown);
}
