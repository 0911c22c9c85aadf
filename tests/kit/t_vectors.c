/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors that are structures, as CUDA C++ has them. What is emitted is compiled for a device by clang, where it is there, with no
 * more than tests/kit/cuda_words.h; by a host's C++ compiler with the same header, which makes one thread of it, it is run, and
 * compared with the interpreter. Accesses to vectors that are not aligned end the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "krun.h"
#include "programs.h"
#include "tenon/base/file.h"
#include "tenon/core/build.h"
#include "tenon/core/text.h"
#include "tenon/kit/emit.h"
#include "tenon/kit/lists.h"
#include "tenon/kit/vm.h"

static krun k;
static char folder[] = "/tmp/tenon-vectors-XXXXXX";

/* The kernel of a function of a module in text, for the target cuda. */
static tnk_kernel *
lowered(const char *module, const tn_node **func)
{
    const tn_target_kind *kind = tn_find_target(k.reg, "cuda", NULL);
    const tn_target *t = kind ? tn_as_target(tn_target_of(k.ctx, "cuda", NULL)) : NULL;
    tnb_buf all = {0};
    tnb_buf_printf(&all,
                   "from tvm.script import ir as I\nfrom tvm.script import tirx as T\n"
                   "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n%s",
                   module);
    const tn_module *m = tn_read_module(k.ctx, "test", all.s, all.n);
    tnb_buf_free(&all);
    *func = m ? m->funcs.at[0] : NULL;
    tnk_kernel *kernel =
        m && t ? tnk_lower_kernel(k.ctx, t, kind, tn_module_name(m, 0), *func) : NULL;
    if (!kernel) {
        krun_print_errors(&k);
        fail_msg("%s", module);
    }
    return kernel;
}

/* ---- what is emitted ---- */

static void
vectors_have_the_words_of_cuda(void **state)
{
    (void)state;
    static const struct {
        const char *module, *text;
    } rows[] = {
        {"    def add(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
         "        for i in range(15):\n"
         "            for v in T.vectorized(4):\n"
         "                B[i * 4 + v] = A[i * 4 + v + 1] + A[i * 4 + v] * T.float32(2)\n",
         "extern \"C\" __global__ void TK_BOUNDS(1)\nadd(const float * A, float * "
         "B)\n{\n"
         "    for (int i = 0; i < 15; i++) {\n"
         "        *(float4 *)(B + (i * 4)) = tk_add_f32x4(tk_lds_f32x4((A + ((i * 4) + 1)), 1), "
         "tk_mul_f32x4((*(const float4 *)(A + (i * 4))), tk_bc_f32x4(2.0f)));\n"
         "    }\n}\n"},
        {"    def half(A: T.Buffer((64,), \"float16\"), B: T.Buffer((64,), \"float32\")):\n"
         "        for i in range(8):\n"
         "            for v in T.vectorized(8):\n"
         "                B[i * 8 + v] = T.Cast(\"float32\", A[i * 8 + v])\n",
         "        *(tk_float8 *)(B + (i * 8)) = tk_h2f_x8((*(const tk_ushort8 *)(A + (i * "
         "8))));\n"},
        {"    def bytes(A: T.Buffer((64,), \"int8\"), B: T.Buffer((64,), \"int8\")):\n"
         "        for i in range(16):\n"
         "            for v in T.vectorized(4):\n"
         "                B[i * 4 + v] = T.max(A[i * 4 + v], T.int8(0))\n",
         "        *(char4 *)(B + (i * 4)) = tk_map_tk_max_i8_char4("},
    };
    static const char *const helpers[] = {
        "static __device__ __forceinline__ float4 tk_add_f32x4(float4 a, float4 b)\n{\n"
        "    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, "
        "a.w + b.w);\n}\n",
        "struct __align__(16) tk_ushort8 {\n    uint16_t s0, s1, s2, s3, s4, s5, s6, s7;\n};\n",
        "make_char4(tk_max_i8(a.x, b.x), tk_max_i8(a.y, b.y)"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_node *func;
        tnk_kernel *kernel = lowered(rows[i].module, &func);
        tnk_source *src = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, "cuda"));
        if (!tnk_source_add(src, kernel))
            krun_print_errors(&k);
        tnb_buf all = {0};
        tnk_source_text(src, &all);
        if (!strstr(all.s, rows[i].text) || !strstr(all.s, helpers[i])) {
            fprintf(stderr, "%s\n", all.s);
            fail_msg("it lacks\n%s\nor\n%s", rows[i].text, helpers[i]);
        }
        tnb_buf_free(&all);
    }
}

/* ---- what it computes ---- */

enum { MOST = 200, LENGTH = 64 };
static struct program {
    tnk_kernel *kernel;
    const tn_node *func;
    double tolerance;
    int threads;
} programs[MOST];
static int n_programs;
static tnk_source *source;

static void
add(double tolerance, int threads, const char *module)
{
    assert_true(n_programs < MOST);
    struct program *p = &programs[n_programs];
    *p = (struct program){.tolerance = tolerance, .threads = threads};
    p->kernel = lowered(module, &p->func);
    if (!tnk_source_add(source, p->kernel)) {
        krun_print_errors(&k);
        fail_msg("%s", module);
    }
    n_programs++;
}

/* A function of buffers A and B of dtype `d` that stores each of the expressions in a row of C, of dtype `r`. */
static void
rows(double tolerance, const char *d, const char *r, int lanes, const char *const *exprs)
{
    tnb_buf b = {0};
    int n = 0;
    while (exprs[n])
        n++;
    tnb_buf_printf(&b,
                   "    def f%d(A: T.Buffer((%d,), \"%s\"), B: T.Buffer((%d,), \"%s\"), "
                   "C: T.Buffer((%d,), \"%s\")):\n        for i in range(%d):\n",
                   n_programs, LENGTH, d, LENGTH, d, n * LENGTH, r, LENGTH / lanes);
    for (int i = 0; i < n; i++) {
        tnb_buf_printf(
            &b,
            "            for v in T.vectorized(%d):\n                C[%d + i * %d + v] = ", lanes,
            i * LENGTH, lanes);
        for (const char *p = exprs[i]; *p; p++) {
            if (*p == 'A' && p[1] == '\'')
                tnb_buf_printf(&b, "A[i * %d + v]", lanes), p++;
            else if (*p == 'B' && p[1] == '\'')
                tnb_buf_printf(&b, "B[i * %d + v]", lanes), p++;
            else if (*p == '$')
                tnb_buf_puts(&b, d);
            else
                tnb_buf_putc(&b, *p);
        }
        tnb_buf_puts(&b, "\n");
    }
    add(tolerance, 1, b.s);
    tnb_buf_free(&b);
}

static void
arithmetic(void)
{
    static const char *const of_floats[] = {
        "A' + B' * A' - B'",
        "A' / B'",
        "T.max(A', B')",
        "T.min(A', T.$(0.25))",
        "T.Select(A' < B', A', B' + A')",
        "T.floormod(A', B')",
        "T.floordiv(A', B')",
        "T.exp(A')",
        "T.abs(A')",
        "T.sigmoid(A')",
        "T.Select(T.And(A' < B', T.Not(A' == T.$(0))), T.tanh(A'), T.$(1))",
        "T.Select(T.Or(T.isnan(A'), A' >= B'), T.sqrt(T.abs(B')), A')",
        NULL};
    static const char *const of_ints[] = {"A' + B' * A' - B'",
                                          "T.max(A', B')",
                                          "T.min(A', T.$(3))",
                                          "T.Select(A' < B', A', B' + A')",
                                          "T.floormod(A', T.bitwise_or(B', T.$(1)))",
                                          "T.floordiv(A', T.bitwise_or(B', T.$(1)))",
                                          "T.truncdiv(A', T.bitwise_or(B', T.$(1)))",
                                          "T.floormod(A', T.$(5))",
                                          "T.abs(A')",
                                          "T.bitwise_xor(T.bitwise_and(A', B'), T.bitwise_not(B'))",
                                          "T.bitwise_or(A', B')",
                                          "T.shift_left(A', T.$(3))",
                                          "T.shift_right(A', T.$(1))",
                                          "T.popcount(A')",
                                          "T.Select(T.Or(A' != B', A' == T.$(2)), A', T.$(7))",
                                          NULL};
    static const char *const floats[] = {"float32", "float64", "float16", "bfloat16"};
    static const char *const ints[] = {"int8",  "uint8",  "int16", "uint16",
                                       "int32", "uint32", "int64", "uint64"};
    for (int lanes = 2; lanes <= 16; lanes *= 2) {
        for (int i = 0; i < 4; i++)
            rows(i < 2 ? 1e-5 : 4e-2, floats[i], floats[i], lanes, of_floats);
        for (int i = 0; i < 8; i++)
            rows(0, ints[i], ints[i], lanes, of_ints);
    }
}

static void
conversions(void)
{
    static const char *const dtypes[] = {"float32", "float16", "bfloat16", "int8",
                                         "uint16",  "int32",   "int64",    "bool"};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            char cast[64];
            const char *const exprs[] = {cast, NULL};
            snprintf(cast, sizeof cast, "T.Cast(\"%s\", A')", dtypes[j]);
            rows(0, dtypes[i], dtypes[j], (i + j) % 2 ? 4 : 8, exprs);
        }
    static const char *const bits[] = {"T.reinterpret(\"int32\", A')", NULL};
    static const char *const back[] = {
        "T.reinterpret(\"float32\", T.bitwise_and(A', T.int32(0x3fffffff)))", NULL};
    static const char *const logic[] = {"A' < B'", "T.Not(A' < B')",
                                        "T.And(A' <= B', A' > T.float32(0))", "T.isnan(A')", NULL};
    static const char *const bools[] = {"T.And(A', B')", "T.Or(T.Not(A'), B')", "A'", NULL};
    rows(0, "float32", "int32", 4, bits);
    rows(0, "int32", "float32", 8, back);
    rows(0, "float32", "bool", 4, logic);
    rows(0, "float32", "bool", 16, logic);
    rows(0, "bool", "bool", 8, bools);
}

static void
accesses(void)
{
    static const char *const dtypes[] = {"float32", "float16", "int8", "int64", "bool"};
    static const char *const from[] = {"A[i * 4 + v + 1]",    "A[(i * 4 + v) * 2]",
                                       "A[63 - (i * 4 + v)]", "A[i]",
                                       "A[i * 4 + 2 + v]",    "A[T.Cast(\"int32\", B[i * 4 + v])]"};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 6; j++) {
            bool gathers = j == 5;
            add(0, 1,
                tn_strf(k.ctx,
                        "    def f%d(A: T.Buffer((64,), \"%s\"), B: T.Buffer((64,), \"%s\"), "
                        "C: T.Buffer((80,), \"%s\")):\n"
                        "        for i in range(8):\n            for v in T.vectorized(4):\n"
                        "                C[i * 4 + v] = %s\n"
                        "            for v in T.vectorized(4):\n"
                        "                C[33 + i * 4 + v] = A[i * 4 + v]\n"
                        "            for v in T.vectorized(2):\n"
                        "                C[66 + v * 3] = A[i * 2 + v]\n",
                        n_programs, dtypes[i], gathers ? "bool" : "float32", dtypes[i], from[j]));
        }
    /* memory of the kernel's own: of a thread, of a block */
    add(1e-5, 1,
        tn_strf(k.ctx,
                "    def f%d(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float16\"), "
                "C: T.Buffer((64,), \"float32\")):\n"
                "        L = T.alloc_buffer((20,), \"float16\", scope=\"local\")\n"
                "        S = T.alloc_buffer((64,), \"float32\", scope=\"shared\")\n"
                "        for i in range(16):\n            for v in T.vectorized(4):\n"
                "                L[i + v] = B[i * 4 + v]\n"
                "            for v in T.vectorized(4):\n"
                "                S[i * 4 + v] = A[i * 4 + v] + T.Cast(\"float32\", L[i + v])\n"
                "        for i in range(16):\n            for v in T.vectorized(4):\n"
                "                C[i * 4 + v] = S[60 - i * 4 + v]\n",
                n_programs));
    /* a vector a thread */
    add(1e-5, 8,
        tn_strf(
            k.ctx,
            "    def f%d(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), "
            "C: T.Buffer((64,), \"float32\")):\n"
            "        for b in T.thread_binding(2, thread=\"blockIdx.x\"):\n"
            "            for t in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
            "                for v in T.vectorized(4):\n"
            "                    C[b * 32 + t * 4 + v] = A[b * 32 + t * 4 + v] * B[t * 4 + v]\n",
            n_programs));
}

static bool
write_source(tnk_source *of, const char *name)
{
    tnb_buf all = {0};
    tnb_err err = {0};
    tnk_source_text(of, &all);
    bool ok = tnb_write_file(tn_strf(k.ctx, "%s/%s", folder, name), all.s, all.n, &err) == TNB_OK;
    tnb_buf_free(&all);
    return ok;
}

static int
command(const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return system(text);
}

static const char *
words(void)
{
    const char *top = getenv("top_srcdir");
    return tn_strf(k.ctx, "%s/tests/kit/cuda_words.h", top ? top : "..");
}

/* False: nothing is there to compile with. */
static bool
compile_for_a_device(const char *name)
{
    bool tried = false;
    if (command("command -v clang >/dev/null 2>&1") == 0) {
        tried = true;
        assert_int_equal(
            command("clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc "
                    "-nocudalib -fsyntax-only -Wall -Werror -Wno-unknown-cuda-version "
                    "-Wno-unused-function -Wno-unused-variable -include %s %s/%s.cu",
                    words(), folder, name),
            0);
    }
    if (getenv("NVCC")) { /* with the toolkit's own headers */
        tried = true;
        assert_int_equal(
            command("\"$NVCC\" -arch=sm_80 -diag-suppress 177 -ptx -o %s/%s.ptx %s/%s.cu", folder,
                    name, folder, name),
            0);
        assert_int_equal(command("grep -q 'ld.*v4.f32' %s/%s.ptx", folder, name), 0);
    }
    return tried;
}

static void
compiles_for_a_device(void **state)
{
    (void)state;
    assert_true(write_source(source, "vectors.cu"));
    if (!compile_for_a_device("vectors"))
        skip();
}

/* Programs as the rules for GPUs schedule them: vectors in memory of a block and of a thread, and joined across a warp. */
static void
scheduled_programs_compile(void **state)
{
    (void)state;
    static const char list[] = "ApplyDefaultSchedule{rules=[" TNK_GPU_RULES "]}, SplitHostDevice";
    const tn_target_kind *kind = tn_find_target(k.reg, "cuda", NULL);
    const tn_target *t = kind ? tn_as_target(tn_target_of(k.ctx, "cuda", NULL)) : NULL;
    tnk_source *src = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, "cuda"));
    int kernels = 0;
    assert_non_null(t);
    for (int i = 0; i < program_count(); i++) {
        const char *name;
        const tn_node *dims, *f = program_get(k.ctx, i, &name, &dims);
        tn_pass_list passes;
        assert_true(tn_pass_list_parse(k.ctx, list, "test", &passes));
        const tn_module *m =
            tn_module_set(k.ctx, tn_module_new(k.ctx), tn_strf(k.ctx, "p%d", i), f);
        tn_pass_run run = {.target = t};
        m = tn_run_passes(k.ctx, m, &passes, &run);
        for (uint32_t n = 0; m && n < m->names.n; n++) {
            if (!tn_as_prim_func(m->funcs.at[n]) || tnk_is_host_func(m->funcs.at[n]))
                continue;
            tnk_kernel *kernel =
                tnk_lower_kernel(k.ctx, t, kind, tn_module_name(m, n), m->funcs.at[n]);
            if (!kernel || !tnk_source_add(src, kernel)) {
                krun_print_errors(&k);
                fail_msg("program %s", name);
            }
            kernels++;
        }
        if (!m) {
            krun_print_errors(&k);
            fail_msg("program %s", name);
        }
    }
    printf("%d kernels\n", kernels);
    assert_true(kernels >= program_count());
    assert_true(write_source(src, "scheduled.cu"));
    if (!compile_for_a_device("scheduled"))
        skip();
}

typedef void
kernel_fn(const void *, const void *, void *);

static void
computes_what_the_interpreter_does(void **state)
{
    (void)state;
    const char *cxx = getenv("CXX17");
    if (!cxx || strcmp(cxx, "no") == 0)
        skip();
    assert_true(write_source(source, "vectors.cc"));
    assert_int_equal(
        command("%s -std=c++17 -O1 -fPIC -shared -fwrapv -fno-strict-aliasing "
                "-ffp-contract=off -fsanitize=alignment -fsanitize-undefined-trap-on-error "
                "-include %s -o %s/vectors.so %s/vectors.cc",
                cxx, words(), folder, folder),
        0);
    void *so = dlopen(tn_strf(k.ctx, "%s/vectors.so", folder), RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail_msg("%s", dlerror());
    const tn_evaluator *interp = tn_find_evaluator(k.reg, "interp", NULL);
    assert_non_null(interp);
    struct {
        unsigned x, y, z;
    } *thread = dlsym(so, "threadIdx"), *block = dlsym(so, "blockIdx");
    for (int i = 0; i < n_programs; i++) {
        const struct program *p = &programs[i];
        tn_list args;
        assert_true(tn_random_args(k.ctx, p->func, (uint64_t)i + 1, NULL, &args));
        tn_list other = krun_copy(&k, args);
        union {
            void *p;
            kernel_fn *f;
        } entry = {dlsym(so, p->kernel->name)};
        void *at[3];
        for (int a = 0; a < 3; a++)
            at[a] = (void *)(uintptr_t)tn_data_get(k.ctx, tn_as_constant(other.at[a])->data);
        for (block->x = 0; block->x < (p->threads > 1 ? 2u : 1u); block->x++)
            for (thread->x = 0; thread->x < (unsigned)p->threads; thread->x++)
                entry.f(at[0], at[1], at[2]);
        const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", p->func);
        tn_eval_options opt = {0};
        if (!interp->run(interp->self, k.ctx, m, "f", args.at, args.n, &opt)) {
            krun_print_errors(&k);
            fail_msg("%s", tn_text(k.ctx, p->func));
        }
        tnb_buf why = {0};
        if (!tn_values_close(k.ctx, other.at[2], args.at[2], p->tolerance, p->tolerance, &why))
            fail_msg("%s\n%s", why.s, tn_text(k.ctx, p->func));
        tnb_buf_free(&why);
    }
    printf("%d programs\n", n_programs);
    dlclose(so);
}

static int
open_all(void **state)
{
    (void)state;
    if (!krun_open(&k) || !mkdtemp(folder))
        return -1;
    source = tnk_source_new(k.ctx, tnk_dialect_find(k.ctx, "cuda"));
    if (!source)
        return -1;
    arithmetic();
    conversions();
    accesses();
    return 0;
}

static int
close_all(void **state)
{
    (void)state;
    (void)command("rm -rf %s", folder);
    krun_close(&k);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_have_the_words_of_cuda),
        cmocka_unit_test(compiles_for_a_device),
        cmocka_unit_test(scheduled_programs_compile),
        cmocka_unit_test(computes_what_the_interpreter_does),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
