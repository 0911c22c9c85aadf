/* SPDX-License-Identifier: Apache-2.0 */
/* Emitted source is free of warnings and of undefined behaviour: every program, unscheduled and
 * scheduled, is compiled with all warnings as errors and the undefined-behaviour sanitizer, which
 * traps, and run; also for a processor without wide vectors.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "krun.h"
#include "programs.h"
#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/kit/emit.h"

static krun k;

static int
open_all(void **state)
{
    (void)state;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

static tnk_kernel *
lowered(int i, const char *rules, const char **name)
{
    const tn_node *dims, *f = program_get(k.ctx, i, name, &dims);
    assert_non_null(f);
    f = *rules ? krun_schedule(&k, f, rules) : f;
    assert_non_null(f);
    tnk_kernel *kernel = tnk_lower_kernel(k.ctx, k.target, k.kind, *name, f);
    if (!kernel)
        krun_print_errors(&k);
    assert_non_null(kernel);
    return kernel;
}

static void
compiles_without_warning(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "", "Fallback",
        "Transpose,Elementwise,Recurrent,Conv2d,Matmul,Softmax,Reduction,Pool,GEMV,Fallback"};
    static const char *const flags[] = {"", "-march=x86-64-v3",
                                        "-march=x86-64-v2 -fsanitize=undefined"};
    for (int r = 0; r < 3; r++) {
        tnk_source *src = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, "c"));
        for (int i = 0; i < program_count(); i++) {
            const char *name;
            assert_true(tnk_source_add(src, lowered(i, rules[r], &name)));
        }
        tnb_buf text = {0};
        tnk_source_text(src, &text);
        char path[] = "/tmp/tenon-source-XXXXXX", command[400];
        int fd = mkstemp(path);
        assert_true(fd >= 0 && write(fd, text.s, text.n) == (ssize_t)text.n);
        close(fd);
        tnb_buf_free(&text);
#if defined(__x86_64__)
        const char *more = flags[r];
#else
        const char *more = "";
        (void)flags;
#endif
        const char *cc = getenv("TENON_TEST_CC") ? getenv("TENON_TEST_CC") : "cc";
        snprintf(command, sizeof command,
                 "%s -std=gnu11 -Wall -Wextra -Werror -Wno-psabi -Wno-unused-variable -O1 -fwrapv "
                 "%s -x c -c "
                 "-o /dev/null %s",
                 cc, more, path);
        int rc = system(command);
        if (rc != 0)
            fprintf(stderr, "%s\n", command);
        else
            (void)unlink(path);
        assert_int_equal(rc, 0);
    }
}

/* The code generator itself, with a compiler command that adds the sanitizer. */
static void
runs_without_undefined_behaviour(void **state)
{
    (void)state;
    const tn_target *usual = k.target;
    const tn_node *attrs = tn_dict_set(
        k.ctx, usual->attrs, "cc",
        tn_string(k.ctx, "cc -fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all"));
    k.target = tn_as_target(tn_target_of(k.ctx, "cpu", attrs));
    for (int i = 0; i < program_count(); i += 2) {
        const char *name;
        const tn_node *dims, *f = program_get(k.ctx, i, &name, &dims);
        const tn_node *s = krun_schedule(
            &k, f,
            "Transpose,Elementwise,Recurrent,Conv2d,Matmul,Softmax,Reduction,Pool,GEMV,Fallback");
        tn_list args;
        assert_true(tn_random_args(k.ctx, f, 7, dims, &args));
        if (!s || !krun_run(&k, s, args))
            fail_msg("program %s", name);
    }
    k.target = usual;
}

static void
runs_on_small_vectors(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const tn_target *usual = k.target;
    k.target = tn_as_target(
        tn_target_of(k.ctx, "cpu", tn_dictv(k.ctx, "mcpu", tn_string(k.ctx, "x86-64"), NULL)));
    for (int i = 1; i < program_count(); i += 2) {
        const char *name;
        const tn_node *dims, *f = program_get(k.ctx, i, &name, &dims);
        bool half = strstr(name, "half") != NULL;
        if (!krun_same(&k, f,
                       krun_schedule(&k, f,
                                     "Transpose,Elementwise,Recurrent,Conv2d,Matmul,Softmax,"
                                     "Reduction,Pool,GEMV,Fallback"),
                       dims, half ? 5e-2 : 1e-4, half ? 2e-2 : 1e-5))
            fail_msg("program %s", name);
    }
    k.target = usual;
#endif
}

/* One source in three dialects: the parts that the table names differ. */
static void
dialects_differ_by_their_table(void **state)
{
    (void)state;
    const char *name;
    tnk_kernel *kernel = lowered(1, "", &name); /* no vectors, no large temporaries in it */
    static const struct {
        const char *dialect, *has, *lacks;
    } rows[] = {
        {"c", "TK_KERNEL int32_t", "__global"},
        {"opencl", "__kernel void\nmatmul_bias(__global const uchar *tk_mem0", "TK_KERNEL"},
        {"cuda",
         "extern \"C\" __global__ void TK_BOUNDS(1)\nmatmul_bias(const float *__restrict__ "
         "A",
         "TK_KERNEL"},
    };
    for (int i = 0; i < 3; i++) {
        tnk_source *src = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, rows[i].dialect));
        if (!tnk_source_add(src, kernel))
            krun_print_errors(&k);
        const char *text = tnk_source_last(src);
        if (!strstr(text, rows[i].has) || strstr(text, rows[i].lacks))
            fail_msg("%s:\n%s", rows[i].dialect, text);
    }
}

static int
occurrences(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* In OpenCL C a barrier follows a loop that holds one: what comes behind may not be joined with its last turn. */
static void
threads_meet_behind_loops(void **state)
{
    (void)state;
    static const char module[] =
        "from tvm.script import ir as I\n"
        "from tvm.script import tirx as T\n"
        "@I.ir_module\n"
        "class Module:\n"
        "    @T.prim_func\n"
        "    def f(A: T.Buffer((4, 8), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
        "        S = T.alloc_buffer((8,), scope=\"shared\")\n"
        "        R = T.alloc_buffer((1,), scope=\"local\")\n"
        "        for b in T.thread_binding(1, thread=\"blockIdx.x\"):\n"
        "            for t in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
        "                R[0] = T.float32(0)\n"
        "                for k in range(4):\n"
        "                    T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
        "                    S[t] = A[k, t]\n"
        "                    T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
        "                    if t < 5:\n"
        "                        R[0] = R[0] + S[7 - t]\n"
        "                if t < 5:\n"
        "                    B[t] = R[0]\n";
    const tn_target_kind *kind = tn_find_target(k.reg, "opencl", NULL);
    if (!kind)
        skip();
    const tn_module *m = tn_read_module(k.ctx, "test", module, sizeof module - 1);
    const tn_target *t = tn_as_target(
        tn_target_of(k.ctx, "opencl",
                     tn_dictv(k.ctx, "max_threads_per_block", tn_i64(k.ctx, 8), NULL)));
    tnk_kernel *kernel = m ? tnk_lower_kernel(k.ctx, t, kind, "f", tn_module_get(m, "f")) : NULL;
    tnk_source *cl = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, "opencl")),
               *cuda = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, "cuda"));
    if (!kernel || !tnk_source_add(cl, kernel) || !tnk_source_add(cuda, kernel)) {
        krun_print_errors(&k);
        fail();
    }
    assert_int_equal(occurrences(tnk_source_last(cuda), "__syncthreads();"), 2);
    assert_int_equal(occurrences(tnk_source_last(cl), "barrier(CLK_LOCAL_MEM_FENCE);"), 3);
    const char *last = strstr(tnk_source_last(cl), "barrier");
    for (const char *at = last; at; at = strstr(at + 1, "barrier"))
        last = at;
    while (last[-1] == ' ' || last[-1] == '\n')
        last--;
    assert_int_equal(last[-1], '}');
}

/* An external function is declared once as it is called, unless imported source has it; that its name is
 * a part of another function's says nothing. */
static void
external_functions_are_declared(void **state)
{
    (void)state;
    static const char module[] =
        "@I.ir_module\n"
        "class Module:\n"
        "    @T.prim_func\n"
        "    def f(A: T.Buffer((8,), \"int32\"), B: T.Buffer((8,), \"float64\")):\n"
        "        with T.sblock(\"own\"):\n"
        "            T.attr(0, \"pragma_import_c\", \"static double half_ab (int x)"
        " { return x * 0.5; }\")\n"
        "            for i in range(8):\n"
        "                B[i] = T.call_pure_extern(\"float64\", \"ab\", T.abs(A[i])) + "
        "T.call_pure_extern(\"float64\", \"half_ab\", A[i]) + "
        "T.call_pure_extern(\"float64\", \"half\", T.Cast(\"float32\", A[i])) + "
        "T.call_pure_extern(\"float64\", \"ab\", A[i])\n";
    const tn_module *m = tn_read_module(k.ctx, "test", module, sizeof module - 1);
    tnk_kernel *kernel =
        m ? tnk_lower_kernel(k.ctx, k.target, k.kind, "f", tn_module_get(m, "f")) : NULL;
    tnk_source *src = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, "c"));
    if (!kernel || !tnk_source_add(src, kernel)) {
        krun_print_errors(&k);
        fail();
    }
    tnb_buf text = {0};
    tnk_source_text(src, &text);
    assert_int_equal(occurrences(text.s, "double ab(int32_t);"), 1);
    assert_int_equal(occurrences(text.s, "double half(float);"), 1);
    assert_int_equal(occurrences(text.s, "double half_ab(int32_t);"), 0);
    tnb_buf_free(&text);
}

/* ---- intrinsics of plugins ---- */

static const tn_type *
like_its_argument(tn_ctx *ctx, const tn_call *c)
{
    (void)ctx;
    return c->args.at[0]->type;
}

static const tn_arg_schema one_arg[] = {{"x", NULL}, {0}};
static const char *const fast_exp_names[] = {"c", "vendor_fast_expf", "opencl", "native_exp", NULL};
static const tn_op fast_exp = {.base.size = sizeof(tn_op),
                               .flags = TN_OP_SCALAR,
                               .base.name = "vendor.fast_exp",
                               .base.doc = "e to the power x, roughly",
                               .args = one_arg,
                               .min_args = -1,
                               .infer = like_its_argument,
                               .spellings = fast_exp_names};
static const tn_op *const vendor_ops[] = {&fast_exp};
static const tn_plugin_desc vendor = {.head = {.size = sizeof vendor, .name = "vendor"},
                                      .ops = vendor_ops,
                                      .n_ops = 1};

static void
intrinsics_of_plugins_are_spelled_by_the_dialect(void **state)
{
    (void)state;
    static const char module[] =
        "from tvm.script import ir as I\nfrom tvm.script import tirx as T\n\n"
        "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n"
        "    def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
        "        for i in range(8):\n"
        "            B[i] = T.call_intrin(\"float32\", \"vendor.fast_exp\", A[i])\n";
    static const struct {
        const char *dialect, *call;
    } want[] = {{"c", "vendor_fast_expf("}, {"opencl", "native_exp("}, {"cuda", NULL}};
    tnb_err err = {0};
    assert_int_equal(tn_registry_add(k.reg, &vendor, &err), TNB_OK);
    const tn_module *m = tn_read_module(k.ctx, "test", module, sizeof module - 1);
    if (!m)
        krun_print_errors(&k);
    assert_non_null(m);
    tnk_kernel *kernel = tnk_lower_kernel(k.ctx, k.target, k.kind, "f", tn_module_get(m, "f"));
    assert_non_null(kernel);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        tnk_source *s = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, want[i].dialect));
        tnb_buf text = {0};
        assert_int_equal(tnk_source_add(s, kernel), want[i].call != NULL);
        if (want[i].call) {
            tnk_source_text(s, &text);
            assert_non_null(strstr(text.s, want[i].call));
            assert_int_equal(strstr(text.s, "float vendor_fast_expf(float);") != NULL, i == 0);
        }
        tnb_buf_free(&text);
    }
    tnb_diags_clear(tn_diags(k.ctx));
}

/* A dialect of a plugin that says little: plain C, whose words no kernel and no variable may have. */
static const char *const plain_words[] = {"lane", "meet", NULL};
static const tnk_dialect plain = {.base = {sizeof plain, "plain", "for tests"},
                                  .calling = TNK_CALL_DIRECT,
                                  .kernel = "void",
                                  .reserved = plain_words,
                                  .prologue = "#include <math.h>\n#include <stdint.h>\n"};

static const char plain_module[] =
    "@I.ir_module\n"
    "class Module:\n"
    "    @T.prim_func\n"
    "    def lane(A: T.Buffer((8,), \"float16\"), B: T.Buffer((8,), \"float16\"), "
    "C: T.Buffer((8,), \"bfloat16\"), D: T.Buffer((8,), \"uint32\")):\n"
    "        for i in range(8):\n"
    "            B[i] = A[i] * T.float16(2)\n"
    "            C[i] = T.Cast(\"bfloat16\", T.Cast(\"float32\", A[i]))\n"
    "            D[i] = T.reinterpret(\"uint32\", T.Cast(\"float32\", A[i]))\n";

static tnk_kernel *
plain_kernel(void)
{
    const tn_module *m = tn_read_module(k.ctx, "test", plain_module, sizeof plain_module - 1);
    return m ? tnk_lower_kernel(k.ctx, k.target, k.kind, "lane", tn_module_get(m, "lane")) : NULL;
}

static void
kernels_are_not_named_like_words_of_the_dialect(void **state)
{
    (void)state;
    tnk_kernel *kernel = plain_kernel(), *again = plain_kernel();
    tnk_source *s = tnk_source_new(k.ctx, &plain), *t = tnk_source_new(k.ctx, &plain);
    if (!kernel || !tnk_source_add(s, kernel) || !tnk_source_add(t, again)) {
        krun_print_errors(&k);
        fail();
    }
    assert_true(strncmp(kernel->name, "lane_", 5) == 0);
    assert_string_equal(kernel->name, again->name);
    assert_non_null(strstr(tnk_source_last(s), kernel->name));
    assert_null(strstr(tnk_source_last(s), "lane("));
}

static void
bits_of_a_language_without_vectors_are_those_of_c(void **state)
{
    (void)state;
    tnk_kernel *kernel = plain_kernel();
    tnk_source *s = tnk_source_new(k.ctx, &plain);
    tnb_buf text = {0};
    tnb_err err = {0};
    if (!kernel || !tnk_source_add(s, kernel)) {
        krun_print_errors(&k);
        fail();
    }
    tnk_source_text(s, &text);
    char folder[TNB_TEMPORARY_PATH];
    assert_int_equal(tnb_temporary_dir(folder, &err), TNB_OK);
    const char *c = tn_strf(k.ctx, "%s/k.c", folder), *cc = getenv("CC");
    assert_int_equal(tnb_write_file(c, text.s, text.n, &err), TNB_OK);
    if (system(tn_strf(k.ctx, "%s -std=c11 -Wall -Werror -Wno-unused -c %s -o %s/k.o",
                       cc && *cc ? cc : "cc", c, folder)) != 0) {
        fprintf(stderr, "%s\n", text.s);
        fail();
    }
    tnb_temporary_remove(folder);
    tnb_buf_free(&text);
}

/* What a dialect leaves out is named where a kernel needs it. */
static void
what_a_dialect_lacks_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *body, *hint;
    } lacks[] = {{"        for t in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
                  "            A[t] = T.float32(0)\n",
                  "tnk_dialect.threads"},
                 {"        for t in range(8):\n"
                  "            A[t] = T.float32(0)\n"
                  "            T.evaluate(T.tvm_storage_sync(\"shared\"))\n",
                  "tnk_dialect.barrier"},
                 {"        for t in range(8):\n"
                  "            A[t] = T.call_intrin(\"float32\", \"vendor.fast_exp\", A[t])\n",
                  "`spellings`"}};
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        const char *text = tn_strf(k.ctx,
                                   "@I.ir_module\nclass Module:\n    @T.prim_func\n"
                                   "    def f(A: T.Buffer((8,), \"float32\")):\n%s",
                                   lacks[i].body);
        const tn_module *m = tn_read_module(k.ctx, "test", text, strlen(text));
        tnk_kernel *kernel =
            m ? tnk_lower_kernel(k.ctx, k.target, k.kind, "f", tn_module_get(m, "f")) : NULL;
        if (!kernel)
            krun_print_errors(&k);
        assert_non_null(kernel);
        assert_false(tnk_source_add(tnk_source_new(k.ctx, &plain), kernel));
        assert_int_equal(tnb_diags_count(tn_diags(k.ctx)), 1);
        assert_non_null(strstr(tnb_diags_get(tn_diags(k.ctx), 0)->hint, lacks[i].hint));
        tnb_diags_clear(tn_diags(k.ctx));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_without_warning),
        cmocka_unit_test(runs_without_undefined_behaviour),
        cmocka_unit_test(runs_on_small_vectors),
        cmocka_unit_test(dialects_differ_by_their_table),
        cmocka_unit_test(threads_meet_behind_loops),
        cmocka_unit_test(external_functions_are_declared),
        cmocka_unit_test(intrinsics_of_plugins_are_spelled_by_the_dialect),
        cmocka_unit_test(what_a_dialect_lacks_is_named),
        cmocka_unit_test(kernels_are_not_named_like_words_of_the_dialect),
        cmocka_unit_test(bits_of_a_language_without_vectors_are_those_of_c),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
