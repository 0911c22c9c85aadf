/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V of the gpu_generic target: kernels of the rules for GPUs on random programs, of the collection of tensor programs and of some
 * that have what these lack (loops that are left, divisions, functions, indices that come as data) are generated for a device with
 * nothing beyond Vulkan 1.1, for one with everything, and for one with 16 KiB of shared memory and 128 threads; spirv-val accepts each
 * module, which needs what its record and its features say. Products of matrices are looked at by their instructions, and validated
 * where spirv-val knows them. What has no form is refused with a located message. The seed is
 * printed; TENON_SEED sets it, TENON_ROUNDS the number of random programs.
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

#include <spirv/unified1/spirv.h>

#include "../../backends/gpu_generic/payload.h"
#include "../kit/draw.h"
#include "../kit/gpu_programs.h"
#include "../kit/krun.h"
#include "../kit/programs.h"
#include "tenon/core/build.h"
#include "tenon/core/text.h"
#include "tenon/kit/lists.h"

static krun k;
static const tn_target_kind *vulkan;
static bool has_validator, knows_matrices; /* spirv-val: of $SPIRV_VAL or packaged */
static const char *validator;
static int modules;

static int
open_all(void **state)
{
    (void)state;
    gpu_programs_seed();
    draw_seed(20261125);
    if (!krun_open(&k))
        return -1;
    char command[400];
    validator = getenv("SPIRV_VAL") ? getenv("SPIRV_VAL") : "spirv-val";
    snprintf(command, sizeof command, "command -v '%s' >/dev/null", validator);
    has_validator = system(command) == 0;
    if (!has_validator)
        printf("spirv-val (package spirv-tools) is not installed: modules are not validated\n");
    vulkan = tn_find_target(k.reg, "vulkan", NULL);
    return vulkan ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* ---- devices ---- */

enum { BASELINE, EVERYTHING, SMALL, N_DEVICES, MATRICES = N_DEVICES };
static const char *const devices[] = {"Vulkan 1.1", "all features", "128 threads", "matrices"};

static const char *const supports[] = {
    "supports_int64",        "supports_float64",
    "supports_float16",      "supports_int8",
    "supports_int16",        "supports_8bit_buffer",
    "supports_16bit_buffer", "supports_buffer_device_address",
};
enum { N_SUPPORTS = sizeof supports / sizeof *supports };

static const tn_target *
target_of(int device)
{
    tn_ctx *ctx = k.ctx;
    const tn_node *keys =
        tn_array_of(ctx, tn_listv(ctx, tn_string(ctx, "vulkan"), tn_string(ctx, "gpu"), NULL));
    int64_t threads = device == SMALL ? 128 : device == EVERYTHING ? 1024 : 256;
    bool all = device == EVERYTHING || device == MATRICES;
    const tn_node *a =
        tn_dictv(ctx, "keys", keys, "max_threads_per_block", tn_i64(ctx, threads),
                 "max_num_threads", tn_i64(ctx, threads), "max_shared_memory_per_block",
                 tn_i64(ctx, all ? 32768 : 16384), "thread_warp_size", tn_i64(ctx, all ? 8 : 1),
                 "max_vector_lanes", tn_i64(ctx, 4), "uniform_barriers", tn_string(ctx, "yes"),
                 "supports_pointers", tn_bool(ctx, false), "supports_math", tn_bool(ctx, false),
                 "check_indices", tn_string(ctx, "refuse"), NULL);
    for (int i = 0; i < N_SUPPORTS; i++) /* the small device has 64-bit integers, and addresses */
        a = tn_dict_set(ctx, a, supports[i],
                        tn_bool(ctx, all || (device == SMALL && (i == 0 || i == N_SUPPORTS - 1))));
    const tn_node *features =
        tn_array_of(ctx, tn_listv(ctx, tn_string(ctx, "subgroup:shuffle"),
                                  tn_string(ctx, "subgroup:arithmetic"),
                                  tn_string(ctx, "shaderSignedZeroInfNanPreserveFloat32"),
                                  tn_string(ctx, "shaderRoundingModeRTEFloat16"), NULL));
    if (device == EVERYTHING)
        a = tn_dict_set(ctx, a, "features", features);
    if (device == MATRICES)
        a = tn_dict_set(ctx, a, "cooperative_matrix", tn_string(ctx, "8x8x8"));
    return tn_as_target(tn_target_of(ctx, "vulkan", a));
}

/* ---- modules ---- */

/* What was generated last: the payload's parts. */
typedef struct made {
    gpu_generic_kernel record;
    const uint32_t *module;
    const tn_node *required;
} made;

static void
validate(const uint32_t *module, uint32_t words, const char *name, int device)
{
    char path[] = "/tmp/tenon-spirv-XXXXXX", command[400];
    modules++;
    if (!has_validator || (device == MATRICES && !knows_matrices))
        return;
    int fd = mkstemp(path);
    ssize_t bytes = (ssize_t)words * 4;
    assert_true(fd >= 0 && write(fd, module, (size_t)bytes) == bytes);
    close(fd);
    snprintf(command, sizeof command, "'%s' --target-env vulkan1.1 %s", validator, path);
    if (system(command) != 0)
        fail_msg("%s for %s: spirv-val refuses the module %s", name, devices[device], path);
    unlink(path);
}

/* The parts of a payload of one kernel; each of its forms is valid. */
static made
parts_of(const tnk_code *code, const char *name, int device)
{
    const uint32_t *w = code->bytes;
    const gpu_generic_payload *head = code->bytes;
    made m = {.required = code->requires_};
    assert_string_equal(code->format, GPU_GENERIC_FORMAT);
    assert_int_equal(head->magic, GPU_GENERIC_MAGIC);
    assert_in_range(head->n_kernels, 1, 2);
    const uint32_t *at = w + 4;
    for (uint32_t i = 0; i < head->n_kernels; i++) {
        gpu_generic_kernel form;
        memcpy(&form, at, sizeof form);
        at += sizeof form / 4 + form.name_words + form.n_params + form.turns_words;
        if (i == 0) {
            m.record = form;
            m.module = at;
        }
        assert_int_equal(form.flags, m.record.flags | (i ? GPU_GENERIC_PARTS : 0));
        validate(at, form.module_words, name, device);
        at += form.module_words;
    }
    assert_int_equal((at - w) * 4, code->n_bytes);
    return m;
}

/* The module of a scheduled function; false: it is refused, and why was recorded. */
static bool
generate(const tn_node *f, const char *name, int device, made *out)
{
    const tn_target *t = target_of(device);
    const tnk_kernel *kernel = tnk_lower_kernel(k.ctx, t, vulkan, name, f);
    if (!kernel)
        return false;
    tnk_kernel copy = *kernel;
    tnk_build b = {.ctx = k.ctx, .target = t};
    tnk_code code = {0};
    if (vulkan->codegen->build(vulkan->codegen->self, &b, &copy, 1, &code) != TNB_OK)
        return false;
    *out = parts_of(&code, name, device);
    return true;
}

static uint32_t
count(const made *m, SpvOp op)
{
    uint32_t n = 0;
    for (uint32_t i = 5; i < m->record.module_words; i += m->module[i] >> SpvWordCountShift)
        n += (m->module[i] & SpvOpCodeMask) == (uint32_t)op;
    return n;
}

static bool
requires_feature(const made *m, const char *feature)
{
    const tn_array *a = tn_as_array(tn_dict_get(m->required, "features"));
    for (uint32_t i = 0; i < a->items.n; i++)
        if (!strcmp(tn_as_string_imm(a->items.at[i])->value, feature))
            return true;
    return false;
}

/* ---- kernels by name ---- */

static const char text[] =
    "from tvm.script import ir as I\n"
    "from tvm.script import tirx as T\n"
    "@I.ir_module\n"
    "class Module:\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def each(a: T.handle, b: T.handle):\n"
    "        n = T.int64()\n"
    "        A = T.match_buffer(a, (n,), \"float32\")\n"
    "        B = T.match_buffer(b, (n,), \"float32\")\n"
    "        for i in range(n):\n"
    "            with T.sblock(\"B\"):\n"
    "                vi = T.axis.remap(\"S\", [i])\n"
    "                B[vi] = T.if_then_else(vi % T.int64(2) == T.int64(0), T.exp(A[vi]), A[vi] * "
    "T.float32(2))\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def loop(A: T.Buffer((64, 100), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        for b in T.thread_binding(2, thread=\"blockIdx.x\"):\n"
    "            for t in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
    "                with T.sblock(\"B\"):\n"
    "                    R = T.alloc_buffer((1,), scope=\"local\")\n"
    "                    R[0] = T.float32(0)\n"
    "                    for k in range(100):\n"
    "                        if A[b * 32 + t, k] > T.float32(0):\n"
    "                            R[0] = R[0] + A[b * 32 + t, k]\n"
    "                    B[b * 32 + t] = R[0]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def reduction(A: T.Buffer((64, 4096), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        for i, j in T.grid(64, 4096):\n"
    "            with T.sblock(\"B\"):\n"
    "                vi, vj = T.axis.remap(\"SR\", [i, j])\n"
    "                with T.init():\n"
    "                    B[vi] = T.float32(0)\n"
    "                B[vi] = B[vi] + A[vi, vj]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def bytes(A: T.Buffer((64,), \"uint8\"), B: T.Buffer((64,), \"int8\"), C: T.Buffer((64,), "
    "\"bool\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            B[t] = B[63 - t] + T.Cast(\"int8\", A[t])\n"
    "            C[t] = A[t] == T.uint8(3)\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def wide(A: T.Buffer((512,), \"float32\"), B: T.Buffer((512,), \"float32\"), C: "
    "T.Buffer((513,), \"float32\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            for v in T.vectorized(8):\n"
    "                B[t * 8 + v] = A[t * 8 + v] * C[t * 8 + v + 1]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def some(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        S = T.alloc_buffer((64,), scope=\"shared\")\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            if t < 40:\n"
    "                S[t] = A[t]\n"
    "                T.tvm_storage_sync(\"shared\")\n"
    "                B[t] = S[39 - t]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def tangent(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        for i in range(64):\n"
    "            with T.sblock(\"B\"):\n"
    "                vi = T.axis.remap(\"S\", [i])\n"
    "                B[vi] = T.tan(A[vi])\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def functions(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), C: "
    "T.Buffer((64,), \"float32\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            C[t] = T.pow(T.exp(A[t]), T.sin(B[t])) + T.erf(A[t]) + T.atan2(A[t], B[t]) + "
    "T.tanh(T.log(B[t]))\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def leaving(A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            with T.sblock(\"B\"):\n"
    "                R = T.alloc_buffer((1,), \"int32\", scope=\"local\")\n"
    "                R[0] = A[t]\n"
    "                while R[0] > 1:\n"
    "                    if R[0] % 7 == 3:\n"
    "                        break\n"
    "                    if R[0] % 2 == 1:\n"
    "                        R[0] = R[0] * 3 + 1\n"
    "                        continue\n"
    "                    R[0] = R[0] // 2\n"
    "                B[t] = R[0]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def division(A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), C: "
    "T.Buffer((64,), \"int32\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            C[t] = A[t] // B[t] + A[t] % B[t] + T.truncdiv(A[t], B[t]) + T.truncmod(A[t], 7) "
    "+ (A[t] // 8) + T.shift_left(A[t], B[t])\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def foreign(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            B[t] = T.call_pure_extern(\"float32\", \"acme_gain\", A[t])\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def gather(A: T.Buffer((100,), \"float32\"), I: T.Buffer((64,), \"int32\"), B: "
    "T.Buffer((64,), \"float32\")):\n"
    "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "            B[t] = A[T.index_in(I[t], 100, True, \"take, axis 0\")]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def product(A: T.Buffer((40, 64), \"float16\"), B: T.Buffer((64, 50), \"float16\"), C: "
    "T.Buffer((40, 50), \"float32\")):\n"
    "        for i, j, k in T.grid(40, 50, 64):\n"
    "            with T.sblock(\"C\"):\n"
    "                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "                with T.init():\n"
    "                    C[vi, vj] = T.float32(0)\n"
    "                C[vi, vj] = C[vi, vj] + T.Cast(\"float32\", A[vi, vk]) * T.Cast(\"float32\", "
    "B[vk, vj])\n";

static const tn_node *
scheduled(const char *name, const char *rules, int device)
{
    const tn_module *m = tn_read_module(k.ctx, "kernels.py", text, sizeof text - 1);
    if (!m)
        krun_print_errors(&k);
    assert_non_null(m);
    const tn_target *usual = k.target;
    const tn_node *f = tn_module_get(m, name);
    k.target = target_of(device);
    f = *rules ? krun_schedule(&k, f, rules) : f;
    k.target = usual;
    assert_non_null(f);
    return f;
}

static made
module_of(const char *name, const char *rules, int device)
{
    made m;
    if (!generate(scheduled(name, rules, device), name, device, &m)) {
        krun_print_errors(&k);
        fail_msg("%s for %s has no module", name, devices[device]);
    }
    return m;
}

static void
kernels_have_modules(void **state)
{
    (void)state;
    for (int d = 0; d < N_DEVICES; d++) {
        made m = module_of("each", "gpu.Fallback", d);
        assert_int_equal(m.record.flags & GPU_GENERIC_BASE, GPU_GENERIC_BASE); /* n is any number */
        m = module_of("loop", "", d);
        assert_int_equal(count(&m, SpvOpLoopMerge), 1);
        assert_int_equal(m.record.local_size[0], 32);
        assert_int_equal(m.record.flags & GPU_GENERIC_BASE, 0);
        assert_int_equal(requires_feature(&m, "group_size>=32"), 1);
        m = module_of("reduction", "gpu.Reduction", d);
        assert_int_equal(requires_feature(&m, "bufferDeviceAddress"), d != BASELINE);
        m = module_of("wide", "", d);
        assert_true(count(&m, SpvOpTypeVector) > 0);
        m = module_of("some", "", d);
        assert_int_equal(count(&m, SpvOpControlBarrier), 1);
        assert_int_equal(m.record.shared_bytes, 256);
        assert_true(requires_feature(&m, "shared_memory>=256"));
        (void)module_of("functions", "", d);
        (void)module_of("tangent", "gpu.Fallback", d);
        (void)module_of("division", "", d);
        m = module_of("leaving", "", d);
        assert_int_equal(count(&m, SpvOpLoopMerge), 1);
    }
}

/* A device that stores words alone: parts of them by atomic operations. */
static void
bytes_in_words(void **state)
{
    (void)state;
    made m = module_of("bytes", "", BASELINE);
    assert_int_equal(count(&m, SpvOpAtomicAnd) + count(&m, SpvOpAtomicOr), 4);
    assert_false(requires_feature(&m, "storageBuffer8BitAccess"));
    m = module_of("bytes", "", EVERYTHING);
    assert_int_equal(count(&m, SpvOpAtomicAnd) + count(&m, SpvOpAtomicOr), 0);
    assert_true(requires_feature(&m, "storageBuffer8BitAccess"));
}

static void
what_has_no_form_is_refused(void **state)
{
    made m;
    (void)state;
    assert_false(generate(scheduled("foreign", "", BASELINE), "foreign", BASELINE, &m));
    tnb_buf said = {0};
    tnb_diags_print(tn_diags(k.ctx), &said);
    assert_non_null(said.s);
    assert_non_null(strstr(said.s, "kernels.py:"));
    assert_non_null(
        strstr(said.s,
               "kernel 'foreign': the intrinsic 'tirx.call_pure_extern' on void has no form in "
               "SPIR-V"));
    tnb_buf_free(&said);
    tnb_diags_clear(tn_diags(k.ctx));
}

/* ---- products of matrices ---- */

/* What spirv-val says of a module with nothing but the capability of cooperative matrices. */
static bool
validator_knows_matrices(void)
{
    static const uint32_t module[] = {
        SpvMagicNumber, 0x10300, 0, 1, 0, 2u << 16 | SpvOpCapability, 6022};
    char path[] = "/tmp/tenon-spirv-XXXXXX", command[400];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, module, sizeof module) == sizeof module);
    close(fd);
    snprintf(command, sizeof command, "'%s' %s 2>&1 | grep -q 'Invalid capability'", validator,
             path);
    bool unknown = system(command) == 0;
    unlink(path);
    return has_validator && !unknown;
}

enum { TYPE_MATRIX = 4456, LOAD_MATRIX, STORE_MATRIX, MUL_ADD_MATRIX };

/* The loads of matrices with elements along rows and along columns, by the constants that they name. */
static uint32_t
loads_of_layout(const made *m, uint32_t layout)
{
    uint32_t n = 0;
    for (uint32_t i = 5; i < m->record.module_words; i += m->module[i] >> SpvWordCountShift) {
        if ((m->module[i] & SpvOpCodeMask) != LOAD_MATRIX)
            continue;
        uint32_t id = m->module[i + 4];
        for (uint32_t j = 5; j < m->record.module_words; j += m->module[j] >> SpvWordCountShift)
            n += (m->module[j] & SpvOpCodeMask) == SpvOpConstant && m->module[j + 2] == id &&
                 m->module[j + 3] == layout;
    }
    return n;
}

/* Sums that are stored in the block of instructions that adds to them. */
static uint32_t
stores_beside_products(const made *m)
{
    uint32_t n = 0, stores = 0;
    bool products = false;
    for (uint32_t i = 5; i < m->record.module_words; i += m->module[i] >> SpvWordCountShift) {
        uint32_t op = m->module[i] & SpvOpCodeMask;
        if (op == SpvOpLabel || op == SpvOpFunctionEnd) {
            n += products ? stores : 0;
            stores = 0;
            products = false;
        }
        stores += op == STORE_MATRIX;
        products |= op == MUL_ADD_MATRIX;
    }
    return n;
}

static void
products_are_of_matrices(void **state)
{
    (void)state;
    knows_matrices = validator_knows_matrices();
    if (!knows_matrices)
        printf("spirv-val does not know cooperative matrices ($SPIRV_VAL may name one that does): "
               "their modules are not validated\n");
    made m = module_of("product", "gpu.Matmul", MATRICES);
    uint32_t products = count(&m, (SpvOp)MUL_ADD_MATRIX), sums = count(&m, (SpvOp)STORE_MATRIX);
    assert_int_equal(count(&m, (SpvOp)TYPE_MATRIX), 3);
    assert_true(sums >= 1 && products % sums == 0);
    assert_true(count(&m, (SpvOp)LOAD_MATRIX) > sums);
    assert_int_equal(loads_of_layout(&m, 0), count(&m, (SpvOp)LOAD_MATRIX));
    assert_int_equal(stores_beside_products(&m), 0);
    assert_true(requires_feature(&m, "cooperativeMatrix:8x8x8:8"));
    assert_int_equal(m.record.subgroup_size, 8);
    assert_int_equal(m.record.local_size[0], 8);
    for (uint32_t i = 5; i < m.record.module_words; i += m.module[i] >> SpvWordCountShift)
        if ((m.module[i] & SpvOpCodeMask) == SpvOpMemoryModel)
            assert_int_equal(m.module[i + 2], SpvMemoryModelVulkan);
    /* other devices compute it as it stands */
    m = module_of("product", "gpu.Matmul", EVERYTHING);
    assert_int_equal(count(&m, (SpvOp)MUL_ADD_MATRIX), 0);
    assert_false(requires_feature(&m, "cooperativeMatrix:8x8x8:8"));
}

/* Loops that bear the annotation and are no product of the warp's are computed as they stand. */
static void
other_loops_are_no_products(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *cond, *a, *value;
        uint32_t products, columns; /* units, and loads along columns */
    } cases[] = {
        {"[8, 8, 8]", "t < 1", "i * 16 + k", "S[i * 8 + j] + %s * %s", 2, 0},
        {"[8, 8, 8]", "t == 0", "i + k * 8", "%s * %s + S[i * 8 + j]", 2, 2},
        {"[8, 8, 16]", "t < 1", "i * 16 + k", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8]", "t < 1", "i * 16 + k", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 2", "i * 16 + k", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "w < 1", "i * 16 + k", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k // 2", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k * 2", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k + j", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k + t", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k + twice", "S[i * 8 + j] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k + w * 2", "S[i * 8 + j] + %s * %s", 2, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k", "S[i * 8 + j] - %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k", "S[i * 8 + j + 1] + %s * %s", 0, 0},
        {"[8, 8, 8]", "t < 1", "i * 16 + k", "S[i * 8 + j] + %s + %s", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *x = tn_strf(k.ctx, "T.Cast(\"float32\", A[%s])", cases[i].a),
                   *y = "T.Cast(\"float32\", B[k * 8 + j])", *at = strstr(cases[i].value, "%s"),
                   *second = strstr(at + 2, "%s");
        const char *value =
            tn_strf(k.ctx, "%.*s%s%.*s%s%s", (int)(at - cases[i].value), cases[i].value, x,
                    (int)(second - at - 2), at + 2, y, second + 2);
        const char *source = tn_strf(
            k.ctx,
            "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n"
            "    def f(X: T.Buffer((512,), \"float16\"), C: T.Buffer((80,), \"float32\")):\n"
            "        A = T.alloc_buffer((256,), \"float16\", scope=\"shared\")\n"
            "        B = T.alloc_buffer((128,), \"float16\", scope=\"shared\")\n"
            "        S = T.alloc_buffer((80,), scope=\"shared\")\n"
            "        for w in T.thread_binding(1, thread=\"threadIdx.y\"):\n"
            "            for t in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
            "                for e in range(32):\n                    A[t * 32 + e] = X[t * 32 + "
            "e]\n"
            "                for e in range(16):\n                    B[t * 16 + e] = X[256 + t * "
            "16 + e]\n"
            "                for e in range(10):\n                    S[t * 10 + e] = "
            "T.float32(0)\n"
            "                T.tvm_storage_sync(\"shared\")\n"
            "                twice: T.let[T.int32] = t * 2\n"
            "                for i in T.serial(8, annotations={\"matrix_unit\": %s}):\n"
            "                    for j, k in T.grid(8, 16):\n"
            "                        if %s:\n"
            "                            S[i * 8 + j] = %s\n"
            "                T.tvm_storage_sync(\"shared\")\n"
            "                for e in range(10):\n                    C[t * 10 + e] = S[t * 10 + "
            "e]\n",
            cases[i].unit, cases[i].cond, value);
        const tn_module *module = tn_read_module(k.ctx, "f.py", source, strlen(source));
        made m = {0};
        if (!module || !generate(tn_module_get(module, "f"), "f", MATRICES, &m)) {
            krun_print_errors(&k);
            fail_msg("case %zu has no module", i);
        }
        assert_int_equal(count(&m, (SpvOp)MUL_ADD_MATRIX), cases[i].products);
        assert_int_equal(loads_of_layout(&m, 1), cases[i].columns);
        assert_int_equal(requires_feature(&m, "cooperativeMatrix:8x8x8:8"), cases[i].products > 0);
    }
}

/* A loop that adds to the same sums keeps them in variables, unless others see them in between. */
static void
sums_are_kept_while_a_loop_runs(void **state)
{
    (void)state;
#define SYNC "T.tvm_storage_sync(\"shared\")"
    static const struct {
        const char *before, *sum, *after; /* the product, where its sums are, behind it */
        bool kept;
    } cases[] = {
        {SYNC, "i * 8 + j + w * 64", "", true},
        {SYNC, "i * 8 + j + w * 64 + k0 * 8", "", false},
        {SYNC, "i * 8 + j + w * 64 + k1", "", false},
        {SYNC, "i * 8 + j + w * 64", SYNC "\n                    C[t] = S[t]", false},
        {"S[w * 64 + t] = T.float32(1)\n                    " SYNC, "i * 8 + j + w * 64", "",
         false},
    };
#undef SYNC
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *source = tn_strf(
            k.ctx,
            "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n"
            "    def f(X: T.Buffer((1024,), \"float16\"), C: T.Buffer((160,), \"float32\")):\n"
            "        A = T.alloc_buffer((128,), \"float16\", scope=\"shared\")\n"
            "        B = T.alloc_buffer((128,), \"float16\", scope=\"shared\")\n"
            "        S = T.alloc_buffer((160,), scope=\"shared\")\n"
            "        for w in T.thread_binding(2, thread=\"threadIdx.y\"):\n"
            "            for t in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
            "                for e in range(10):\n"
            "                    S[w * 80 + t * 10 + e] = T.float32(0)\n"
            "                for k0 in range(4):\n"
            "                    k1: T.let[T.int32] = k0 %% 2 * 8\n"
            "                    T.tvm_storage_sync(\"shared\")\n"
            "                    for e in range(8):\n"
            "                        A[w * 64 + t * 8 + e] = X[k0 * 256 + w * 64 + t * 8 + e]\n"
            "                        B[w * 64 + t * 8 + e] = X[k0 * 256 + 128 + w * 64 + t * 8 + "
            "e]\n"
            "                    %s\n"
            "                    for i in T.serial(8, annotations={\"matrix_unit\": [8, 8, 8]}):\n"
            "                        for j, k in T.grid(8, 16):\n"
            "                            if t < 1:\n"
            "                                S[%s] = S[%s] + T.Cast(\"float32\", A[i * 16 + k]) * "
            "T.Cast(\"float32\", B[k * 8 + j])\n"
            "                    %s\n"
            "                T.tvm_storage_sync(\"shared\")\n"
            "                for e in range(10):\n"
            "                    C[w * 80 + t * 10 + e] = S[w * 80 + t * 10 + e]\n",
            cases[i].before, cases[i].sum, cases[i].sum, cases[i].after);
        const tn_module *module = tn_read_module(k.ctx, "f.py", source, strlen(source));
        made m = {0};
        if (!module || !generate(tn_module_get(module, "f"), "f", MATRICES, &m)) {
            krun_print_errors(&k);
            fail_msg("case %zu has no module", i);
        }
        assert_int_equal(count(&m, (SpvOp)MUL_ADD_MATRIX), 2);
        assert_int_equal(count(&m, (SpvOp)STORE_MATRIX), 1);
        assert_int_equal(stores_beside_products(&m), !cases[i].kept);
    }
}

/* ---- the rules' kernels ---- */

/* What lowering refuses by a message about the device (numbers of 64 bits, vectors of booleans) is not looked at: other tests say
 * what has a form. Every kernel that is lowered has a module. */
static int refused, lowered;

static void
check_rules(const tn_node *f, const char *name, bool all)
{
    for (int d = 0; d < N_DEVICES; d++) {
        const tn_target *usual = k.target;
        k.target = target_of(d);
        const tn_node *s = krun_schedule(&k, f, TNK_GPU_RULES);
        const tnk_kernel *kernel = s ? tnk_lower_kernel(k.ctx, k.target, vulkan, name, s) : NULL;
        k.target = usual;
        made m;
        if (!kernel) {
            refused++;
            if (all)
                krun_print_errors(&k);
            tnb_diags_clear(tn_diags(k.ctx));
            continue;
        }
        lowered++;
        if (generate(s, name, d, &m))
            continue;
        krun_print_errors(&k);
        fail_msg("%s for %s has no module", name, devices[d]);
    }
}

static void
random_programs_have_modules(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(draw_long() ? 500 : 25); i++) {
        gpu_program p;
        gpu_program_draw(k.ctx, &p);
        if (!p.func)
            krun_print_errors(&k);
        assert_non_null(p.func);
        if (p.d.code == TNB_FLOAT && p.d.bits == 64)
            continue;
        check_rules(p.func, p.name, false);
    }
    printf("%d programs have modules, %d have no lowered form\n", lowered, refused);
    assert_true(lowered > refused);
}

static void
programs_have_modules(void **state)
{
    (void)state;
    const char *name;
    const tn_node *dims;
    lowered = refused = 0;
    for (int i = 0; i < program_count(); i += draw_long() ? 1 : 4) {
        const tn_node *f = program_get(k.ctx, i, &name, &dims);
        check_rules(f, name, false);
    }
    printf("%d programs have modules, %d have no lowered form\n", lowered, refused);
    assert_true(lowered > refused);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_modules),
        cmocka_unit_test(bytes_in_words),
        cmocka_unit_test(what_has_no_form_is_refused),
        cmocka_unit_test(products_are_of_matrices),
        cmocka_unit_test(sums_are_kept_while_a_loop_runs),
        cmocka_unit_test(other_loops_are_no_products),
        cmocka_unit_test(random_programs_have_modules),
        cmocka_unit_test(programs_have_modules),
    };
    int failed = cmocka_run_group_tests(tests, open_all, close_all);
    printf("%d modules\n", modules);
    return failed ? failed : has_validator ? 0 : 77;
}
