/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs on a device: each schedule that a rule for GPUs gives goes through a whole target, from a module's text to results of
 * the runtime, and computes what the interpreter computes of the program as it was. The target is opencl, or with
 * TENON_TEST_DEVICE=gpu_generic that one, by addresses and by descriptors, with what Vulkan 1.1 promises and with more. The seed is
 * printed; TENON_SEED sets it, TENON_ROUNDS the number of programs; TENON_LONG takes many, TENON_APART a process for each schedule.
 * Without such a device nothing is tested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "gpu_programs.h"
#include "tenon/base/conf.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"
#include "tenon/kit/rule.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

enum { MAX_ARGS = 8 };

static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *reg;
static tnr_runtime *rt;
static tn_ctx *ctx; /* of the program at hand */
static int taken[TNK_N_GPU_RULES];

static int
open_all(void **state)
{
    (void)state;
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    conf = tnb_conf_load(NULL, diags);
    tnb_diags_free(diags);
    gpu_programs_seed();
    if (!conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK)
        return -1;
    reg = tn_registry_new(plugins);
    tnr_runtime_options opt = {.plugins = plugins, .conf = conf, .threads = 2};
    return tnr_runtime_new(&opt, &rt, &err) == TNB_OK ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    tnr_runtime_free(rt);
    tn_registry_free(reg);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    return 0;
}

static void
print_errors(void)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(ctx), &b);
    fprintf(stderr, "%s\n", b.s ? b.s : "no diagnostics");
    tnb_buf_free(&b);
}

/* ---- a module that runs one tensor program ---- */

static void
tensor_type(const tn_buffer *b, bool quote, tnb_buf *out)
{
    tnb_buf_puts(out, "R.Tensor((");
    for (uint32_t i = 0; i < b->shape.n; i++) {
        bool symbol = quote && tn_is(b->shape.at[i], TN_KIND_VAR);
        tnb_buf_printf(out, symbol ? "\"%s\", " : "%s, ", tn_text(ctx, b->shape.at[i]));
    }
    tnb_buf_printf(out, "), \"%s\")", tnb_dtype_print(b->dtype).s);
}

/* The text of a module with the tensor program `f`, whose last argument is its result, and a function `main` that calls it. */
static void
write_module(const tn_node *f, tnb_buf *out)
{
    const tn_prim_func *p = tn_as_prim_func(f);
    tn_print_options opt = {0};
    assert_int_equal(tn_print(ctx, TN_NODE(tn_module_set(ctx, tn_module_new(ctx), "f", f)), &opt,
                              out),
                     TNB_OK);
    tnb_buf_puts(out, "\n    @R.function\n    def main(");
    for (uint32_t i = 0; i + 1 < p->buffers.n; i++) {
        tnb_buf_printf(out, "%sx%u: ", i ? ", " : "", i);
        tensor_type(tn_as_buffer(p->buffers.at[i]), true, out);
    }
    tnb_buf_puts(out, "):\n");
    tn_list symbols = tn_defined_symbols(ctx, f);
    for (uint32_t i = 0; i < symbols.n; i++)
        tnb_buf_printf(out, "        %s = T.int64()\n", tn_var_name(symbols.at[i]));
    tnb_buf_puts(out, "        cls = Module\n        with R.dataflow():\n            y = "
                      "R.call_tir(cls.f, (");
    for (uint32_t i = 0; i + 1 < p->buffers.n; i++)
        tnb_buf_printf(out, "x%u, ", i);
    tnb_buf_puts(out, "), out_ty=");
    tensor_type(tn_as_buffer(p->buffers.at[p->buffers.n - 1]), false, out);
    tnb_buf_puts(out, ")\n            R.output(y)\n        return y\n");
}

/* ---- running it ---- */

static const tn_expr *
on_device(const char *text, size_t n, const char *target, tn_list args)
{
    tnb_err err = {0};
    tnk_model model = {.module = tn_read_module(ctx, "program", text, n)};
    tnk_compile_options opt = {.conf = conf, .targets = &target, .n_targets = 1, .jobs = 1};
    tnk_compile_result result;
    if (!model.module || tnk_compile(ctx, &model, &opt, &result) != TNB_OK) {
        print_errors();
        return NULL;
    }
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    tnr_value in[MAX_ARGS] = {{0}}, ret = tnr_null();
    uint32_t variant = 0, n_in = args.n - 1;
    const tn_expr *out = NULL;
    tnb_status st = tnr_artifact_open_fd(result.fd, "compiled", &a, &err);
    close(result.fd);
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, a, NULL, &variant, NULL, &err);
    if (st == TNB_OK)
        st = tnr_vm_new(rt, a, variant, &vm, &err);
    for (uint32_t i = 0; i < n_in && st == TNB_OK; i++) {
        const tn_data *d = tn_as_constant(args.at[i])->data;
        st = tnr_tensor_from(tnr_device_host(rt), tn_data_get(ctx, d), d->shape, (uint32_t)d->ndim,
                             d->dtype, &in[i], &err);
    }
    if (st == TNB_OK)
        st = tnr_vm_call(vm, "main", in, n_in, &ret, &err);
    if (st == TNB_OK && ret.tag == TNR_TENSOR) {
        void *bytes;
        const tnr_tensor *t = ret.u.tensor;
        const tn_data *d = tn_data_new(ctx, t->dl.dtype, t->dl.ndim, t->dl.shape, &bytes);
        st = tnr_tensor_read(t, bytes, t->n_bytes, &err);
        out = tn_constant_of(ctx, d);
    }
    if (st != TNB_OK)
        fprintf(stderr, "%s\n", err.message);
    tnr_release(&ret);
    for (uint32_t i = 0; i < n_in; i++)
        tnr_release(&in[i]);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    return st == TNB_OK ? out : NULL;
}

/* The last argument after the interpreter has run `f`. */
static const tn_expr *
interpreted(const tn_node *f, tn_list args)
{
    const tn_evaluator *interp = tn_find_evaluator(reg, "interp", NULL);
    assert_non_null(interp);
    tn_eval_options opt = {0};
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), "f", f);
    if (interp->run(interp->self, ctx, m, "f", args.at, args.n, &opt))
        return args.at[args.n - 1];
    print_errors();
    return NULL;
}

static bool
same(const tnb_buf *module, const char *target, tn_list args, const tn_expr *want, bool half)
{
    tnb_buf why = {0};
    double tolerance = half ? 0.05 : 1e-3;
    const tn_expr *got = on_device(module->s, module->n, target, args);
    bool ok = got && tn_values_close(ctx, want, got, tolerance, tolerance, &why);
    if (!ok)
        fprintf(stderr, "%s\n%s\n", module->s, why.s ? why.s : "");
    tnb_buf_free(&why);
    return ok;
}

/* In a process of its own: no memory is what another schedule has given back. */
static bool
apart(const tnb_buf *module, const char *target, tn_list args, const tn_expr *want, bool half)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(same(module, target, args, want, half) ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* ---- rounds ---- */

static const char *
device_name(void)
{
    const char *name = getenv("TENON_TEST_DEVICE");
    return name && *name ? name : "opencl";
}

/* What a Vulkan device may have; float64 where the program needs it. */
static const char *
vulkan_target(tnb_dtype d)
{
    static const int threads[] = {64, 128, 256, 1024, 4, 1}, sizes[] = {1, 8};
    static const char *const optional[] = {"int64",       "float16",
                                           "int8",        "int16",
                                           "8bit_buffer", "16bit_buffer",
                                           "float64",     "buffer_device_address"};
    int t = threads[gpu_below(6)], size = sizes[gpu_below(2)];
    bool all = gpu_below(2), wide = tnb_dtype_is_float(d) && d.bits == 64;
    const char *text =
        tn_strf(ctx,
                "{\"kind\": \"vulkan\", \"max_threads_per_block\": %d, \"max_num_threads\": %d, "
                "\"max_shared_memory_per_block\": %d, \"thread_warp_size\": %d, "
                "\"features\": [\"subgroup:shuffle\", \"subgroup:arithmetic\"]",
                t, t, gpu_below(2) ? 16384 : 32768, size);
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        bool has = (all && strcmp(optional[i], "buffer_device_address")) || gpu_below(2) ||
                   (wide && !strcmp(optional[i], "float64"));
        text = tn_strf(ctx, "%s, \"supports_%s\": %s", text, optional[i], has ? "true" : "false");
    }
    return tn_strf(ctx, "%s}", text);
}

static const char *
opencl_target(void)
{
    static const int warps[] = {1, 32, 64}, threads[] = {64, 256, 1024, 4, 1},
                     shared[] = {16384, 49152}, sizes[] = {8, 16, 32, 64};
    /* what a device with sub-groups has; tests/kit/gpu_sub_groups.sh gives it to one */
    static const char *const groups[] = {
        "\"cl_khr_subgroup_shuffle\"",
        "\"cl_khr_subgroup_clustered_reduce\"",
        "\"cl_qcom_subgroup_shuffle\"",
        "\"cl_intel_subgroups\", \"cl_intel_required_subgroup_size\"",
        "\"fp64\"",
    };
    bool sub_groups = getenv("TENON_TEST_SUB_GROUPS") != NULL;
    const char *group = groups[gpu_below(5)];
    int warp = warps[gpu_below(3)], size = sizes[gpu_below(4)];
    int t = threads[gpu_below(5)];
    return tn_strf(ctx,
                   "{\"kind\": \"opencl\", \"max_threads_per_block\": %d, \"max_num_threads\": %d, "
                   "\"max_shared_memory_per_block\": %d, \"thread_warp_size\": %d%s%s}",
                   t, t, shared[gpu_below(2)], sub_groups ? size : warp,
                   sub_groups ? ", \"features\": [\"fp64\", \"subgroups\", " : "",
                   sub_groups ? tn_strf(ctx, "%s]", group) : "");
}

static void
one_schedule(int round, const gpu_program *p, int rule, tn_list args, const tn_expr *want)
{
    const tnk_rule *r = tnk_gpu_rules[rule];
    const char *text = strcmp(device_name(), "opencl") ? vulkan_target(p->d) : opencl_target();
    tnk_target target;
    assert_true(tnk_target_find(ctx, conf, text, &target));
    bool tuned;
    const tn_node *g = gpu_apply(ctx, r, p->func, target.target, &tuned);
    if (!g)
        return;
    g = tn_func_with_attr(ctx, g, "tirx.is_scheduled", tn_bool(ctx, true));
    taken[rule]++;
    tnb_buf module = {0};
    write_module(g, &module);
    if (!(getenv("TENON_APART") ? apart : same)(&module, text, args, want, p->coarse))
        fail_msg("round %d: %s of %s for %s", round, r->base.name, p->name, text);
    tnb_buf_free(&module);
}

static void
one_program(int round)
{
    ctx = tn_ctx_new(reg);
    gpu_program p;
    gpu_program_draw(ctx, &p);
    tn_list args;
    assert_non_null(p.func);
    assert_true(tn_random_args(ctx, p.func, 7, p.dims, &args));
    assert_true(args.n > 0 && args.n <= MAX_ARGS);
    const tn_expr *want = interpreted(p.func, args);
    assert_non_null(want);
    for (int i = 0; i < TNK_N_GPU_RULES; i++)
        one_schedule(round, &p, i, args, want);
    tn_ctx_free(ctx);
}

static void
schedules_compute_the_same_on_a_device(void **state)
{
    (void)state;
    tnr_device *dev;
    if (tnr_device_open(rt, device_name(), 0, &dev, NULL) != TNB_OK)
        skip();
    const char *r = getenv("TENON_ROUNDS"), *more = getenv("TENON_LONG");
    int rounds = r ? atoi(r) : more && *more ? 120 : 12;
    for (int round = 0; round < rounds; round++)
        one_program(round);
    for (int i = 0; i < TNK_N_GPU_RULES; i++) {
        printf("%s: %d\n", tnk_gpu_rules[i]->base.name, taken[i]);
        assert_true(rounds < 60 || taken[i] > 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_compute_the_same_on_a_device),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
