/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's text that asks more of a device than its target allows is refused, with what was found and what is allowed; what
 * every device of OpenCL C 1.2 takes is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "backends/opencl/opencl.h"

static const char *const none[] = {NULL}, *const all[] = {"fp16",
                                                          "fp64",
                                                          "subgroups",
                                                          "cl_khr_subgroup_shuffle",
                                                          "cl_khr_subgroup_clustered_reduce",
                                                          "cl_intel_subgroups",
                                                          "cl_qcom_subgroup_shuffle",
                                                          "cl_intel_required_subgroup_size",
                                                          "cl_qcom_reqd_sub_group_size",
                                                          "images",
                                                          "cl_khr_int64_base_atomics",
                                                          NULL};

/* The errors about `text` on a device with 16 KiB of local memory; "" if it is accepted. */
static const char *
errors(tn_ctx *ctx, const char *text, const char *const *features, int64_t *local)
{
    opencl_limits l = {features, 16384};
    tnb_diags_clear(tn_diags(ctx));
    bool ok = opencl_verify(ctx, NULL, "a_kernel", text, &l, local);
    assert_int_equal(ok, tnb_diags_errors(tn_diags(ctx)) == 0);
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(ctx), &b);
    const char *s = tn_str(ctx, b.s ? b.s : "");
    tnb_buf_free(&b);
    return s;
}

static void
baseline_is_accepted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "float tk_h2f(ushort h)\n{\n    return vload_half(0, (const half *)&h);\n}\n",
        "vstore_half4_rte(x, 0, (half *)&h);",
        "float x = 1.5f + .5f + 1e3f + 0x1p-3f; int y = 0x1e + 10;",
        "/* double half 1.0 sub_group_barrier() */ int x; // double\n",
        "float halfway, double_x, sub_group_x, atom_features = 1.0f; y = atom_features * 2.0f;",
        "__kernel void f(__global float *a, __local float *b) { __local float c[4096]; }",
        "__attribute__((hint(\"half\")))",
        "atomic_add(p, 1); atomic_cmpxchg(p, 1, 2);",
    };
    tn_ctx *ctx = tn_ctx_new(NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(errors(ctx, texts[i], none, NULL), "");
    tn_ctx_free(ctx);
}

static void
what_a_device_need_not_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *found, *feature;
    } cases[] = {
        {"half x = 1;", "'half'", "'fp16'"},
        {"half4 x;", "'half4'", "'fp16'"},
        {"y = convert_half(x);", "'convert_half'", "'fp16'"},
        {"y = as_half2(x);", "'as_half2'", "'fp16'"},
        {"#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n", "'cl_khr_fp16'", "'fp16'"},
        {"double x;", "'double'", "'fp64'"},
        {"y = convert_double4_rte(x);", "'convert_double4_rte'", "'fp64'"},
        {"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n", "'cl_khr_fp64'", "'fp64'"},
        {"float y = x * 1.5;", "'1.5'", "'fp64'"},
        {"float y = 1e-3 * x;", "'1e-3'", "'fp64'"},
        {"float y = .25;", "'.25'", "'fp64'"},
        {"y = sub_group_reduce_add(x);", "'sub_group_reduce_add'", "'subgroups'"},
        {"y = get_sub_group_local_id();", "'get_sub_group_local_id'", "'subgroups'"},
        {"y = get_num_sub_groups();", "'get_num_sub_groups'", "'subgroups'"},
        {"#pragma OPENCL EXTENSION cl_khr_subgroups : enable", "'cl_khr_subgroups'", "'subgroups'"},
        {"y = intel_sub_group_shuffle (x, 1);", "'intel_sub_group_shuffle'",
         "'cl_intel_subgroups'"},
        {"y = qcom_sub_group_shuffle_xor(x, 1, W, 0.0f);", "'qcom_sub_group_shuffle_xor'",
         "'cl_qcom_subgroup_shuffle'"},
        {"__attribute__((intel_reqd_sub_group_size(16)))", "'intel_reqd_sub_group_size'",
         "'cl_intel_required_subgroup_size'"},
        {"__attribute__((qcom_reqd_sub_group_size(\"half\")))", "'qcom_reqd_sub_group_size'",
         "'cl_qcom_reqd_sub_group_size'"},
        {"atom_add(p, 1);", "'atom_add'", "'cl_khr_int64_base_atomics'"},
        {"__read_only image2d_t a", "'image2d_t'", "'images'"},
        {"y = read_imagef(a, s, at);", "'read_imagef'", "'images'"},
    };
    tn_ctx *ctx = tn_ctx_new(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *e = errors(ctx, cases[i].text, none, NULL);
        assert_non_null(strstr(e, "kernel 'a_kernel'"));
        assert_non_null(strstr(e, cases[i].found));
        assert_non_null(strstr(e, cases[i].feature));
        assert_string_equal(errors(ctx, cases[i].text, all, NULL), "");
    }
    tn_ctx_free(ctx);
}

/* Sub-groups alone have no shuffles; Intel's extension has what it needs by itself. */
static void
kinds_of_sub_groups(void **state)
{
    (void)state;
    static const char *const khr[] = {"subgroups", NULL},
                             *const intel[] = {"cl_intel_subgroups", NULL},
                             *const shuffle[] = {"subgroups", "cl_khr_subgroup_shuffle", NULL};
    tn_ctx *ctx = tn_ctx_new(NULL);
    const char *own = "y = get_sub_group_id() + sub_group_reduce_add(x);",
               *flip = "y = sub_group_shuffle_xor(x, 1u);",
               *part = "y = sub_group_clustered_reduce_add(x, 4);";
    assert_string_equal(errors(ctx, own, khr, NULL), "");
    assert_string_equal(errors(ctx, own, intel, NULL), "");
    assert_non_null(strstr(errors(ctx, flip, khr, NULL), "'cl_khr_subgroup_shuffle'"));
    assert_non_null(strstr(errors(ctx, flip, intel, NULL), "'cl_khr_subgroup_shuffle'"));
    assert_string_equal(errors(ctx, flip, shuffle, NULL), "");
    assert_non_null(strstr(errors(ctx, part, shuffle, NULL), "'cl_khr_subgroup_clustered_reduce'"));
    tn_ctx_free(ctx);
}

static void
local_memory_is_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"float a[64];", 0},
        {"void f(const __local float *p, int n);", 0},
        {"((__local uchar *)a)[3] = 1;", 0},
        {"__local float a[64]; __local uchar b[3];", 259},
        {"__local ushort a[10];\n__local long n;", 28},
        {"local float3 a[2];", 32},
        {"__local double4 a[2]; __local half b[8];", 80},
        {"__local float a[4096];", 16384},
    };
    tn_ctx *ctx = tn_ctx_new(NULL);
    int64_t local;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(errors(ctx, cases[i].text, all, &local), "");
        assert_int_equal(local, cases[i].bytes);
    }
    const char *e = errors(ctx, "__local float a[4000];\n__local ushort b[193];", none, &local);
    assert_int_equal(local, 16386);
    assert_non_null(strstr(e, "declares 16386 bytes of local memory, the target allows 16384"));
    assert_non_null(strstr(e, "'a': 16000 bytes"));
    assert_non_null(strstr(e, "'b': 386 bytes"));
    e = errors(ctx, "__local long a[9223372036854775807];", none, &local);
    assert_non_null(strstr(e, "the target allows 16384"));
    tn_ctx_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baseline_is_accepted),
        cmocka_unit_test(what_a_device_need_not_have_is_refused),
        cmocka_unit_test(kinds_of_sub_groups),
        cmocka_unit_test(local_memory_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
