/* SPDX-License-Identifier: Apache-2.0 */
/* Whole compilations in this process, of ONNX models and of modules as text: import, all passes, code for
 * kernels, program, artifact. A digest of the input chooses the target: null, opencl or cpu, where code is
 * generated and no C compiler is found. An input ends the run if
 *   - a compilation fails without an error, or with one that is Tenon's own (TNB_INTERNAL);
 *   - the verifier refuses what an importer made, or the runtime an artifact that was written.
 */
#include "config.h"

#include "readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/conf.h"
#include "tenon/base/hash.h"
#include "tenon/base/plugin.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/vm.h"
#include "tests/onnx/fuzz_seeds.h"
#include "tests/onnx/mutate.h"

static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *reg;
static tnr_runtime *runtime;

bool
models_begin(void)
{
    static const char *const sets[] = {"tenon.constant_limit=32", "tenon.scratch_limit=32",
                                       "tenon.log=error"};
    const tnb_conf_options co = {.size = sizeof co, .sets = sets, .n_sets = 3};
    tnr_runtime_options ro = {.size = sizeof ro, .threads = 1, .memory_limit = 1 << 26};
    tnb_diags *diags = tnb_diags_new();
    tnb_err err;
    setenv("CC", "/nonexistent/cc", 1);
    conf = tnb_conf_load(&co, diags);
    tnb_diags_free(diags);
    if (!conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK)
        return false;
    ro.plugins = plugins;
    ro.conf = conf;
    reg = tn_registry_new(plugins);
    return reg && tnr_runtime_new(&ro, &runtime, &err) == TNB_OK;
}

void
models_end(void)
{
    tnr_runtime_free(runtime);
    tn_registry_free(reg);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
}

static void
wrong(tn_ctx *ctx, const char *target, const char *what)
{
    tnb_buf why = {0};
    tnb_diags_print(tn_diags(ctx), &why);
    fprintf(stderr, "%s: %s\n%s\n", target, what, why.s ? why.s : "");
    abort();
}

static void
check_failure(tn_ctx *ctx, const char *target)
{
    tnb_err err = {0};
    static const char end[] = "no C compiler";
    if (!tnb_diags_errors(tn_diags(ctx)))
        wrong(ctx, target, "failed without an error");
    tnb_diags_first(tn_diags(ctx), &err);
    if (err.status == TNB_INTERNAL)
        wrong(ctx, target, "failed for a reason of its own");
    if (strcmp(target, "cpu") == 0 && strncmp(err.message, end, sizeof end - 1) == 0)
        reader_taken++; /* the sources are there */
}

/* The runtime takes what the compiler wrote. */
static void
check_artifact(tn_ctx *ctx, const char *target, int fd)
{
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    tnb_err err = {0};
    uint32_t variant;
    tnb_status st = tnr_artifact_open_fd(fd, "compiled", &a, &err);
    close(fd);
    if (st == TNB_OK && strcmp(target, "null") == 0) {
        st = tnr_artifact_pick(runtime, a, NULL, &variant, NULL, &err);
        if (st == TNB_OK)
            st = tnr_vm_new(runtime, a, variant, &vm, &err);
        if (st != TNB_FORMAT)
            st = TNB_OK; /* functions and devices that are nowhere, more memory than the limit */
    }
    if (st != TNB_OK) {
        tn_error(ctx, 0, st, "%s", err.message);
        wrong(ctx, target, "the runtime refuses its artifact");
    }
    tnr_vm_free(vm);
    tnr_artifact_close(a);
}

static void
compile(tn_ctx *ctx, const tnk_model *model, uint64_t digest)
{
    static const char *const targets[] = {"null", "opencl", "cpu"};
    const char *target = targets[digest % 3];
    tnk_compile_options opt = {
        .size = sizeof opt, .conf = conf, .targets = &target, .n_targets = 1, .jobs = 1};
    tnk_compile_result result;
    tnb_diags_clear(tn_diags(ctx));
    if (tnk_compile(ctx, model, &opt, &result) == TNB_OK) {
        reader_taken++;
        check_artifact(ctx, target, result.fd);
    } else {
        check_failure(ctx, target);
    }
}

/* ---- ONNX models ---- */

void
onnx_seeds(tnb_buf *out, uint32_t *n)
{
    for (int i = 0; i < FUZZ_SEEDS && *n < MOST_SEEDS; i++)
        out[(*n)++] = fuzz_seed(i);
}

void
read_onnx(const void *data, size_t n)
{
    char path[64];
    tnk_model model;
    int fd = reader_file(data, n, path);
    tn_ctx *ctx = tn_ctx_new(reg);
    if (ctx && fd >= 0) {
        tnk_set_limits(ctx, conf);
        if (tnk_import(ctx, path, NULL, &model) == TNB_OK && tn_verify(ctx, model.module))
            wrong(ctx, "import", "the module is not well-formed");
        else if (model.module)
            compile(ctx, &model, tnb_hash64(data, n, 0));
        else
            check_failure(ctx, "import");
    }
    if (fd >= 0)
        close(fd);
    tn_ctx_free(ctx);
}

/* ---- checkpoints of language models, which are imported only ---- */

void
import_checkpoint(const char *path)
{
    tnk_model model;
    tn_ctx *ctx = tn_ctx_new(reg);
    if (!ctx)
        return;
    tnk_set_limits(ctx, conf);
    if (tnk_import(ctx, path, NULL, &model) != TNB_OK)
        check_failure(ctx, "import");
    else if (tn_verify(ctx, model.module))
        wrong(ctx, "import", "the module is not well-formed");
    else
        reader_taken++;
    tn_ctx_free(ctx);
}

void
read_checkpoint(const void *data, size_t n)
{
    char path[64];
    int fd = reader_file(data, n, path);
    if (fd < 0)
        return;
    import_checkpoint(path);
    close(fd);
}

/* Some fields changed; what is readable stays so. */
size_t
mutate_onnx(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    mutator m = {.state = seed * 2654435761u + 1, .arena = tnb_arena_new()};
    void *bytes = m.arena ? tnb_dup(m.arena, data, n) : NULL;
    message *root = bytes ? mutate_read(&m, bytes, n) : NULL;
    mw other_bytes = fuzz_seed((int)mutator_below(&m, FUZZ_SEEDS)), out = {0};
    const message *other = root ? mutate_read(&m, other_bytes.s, other_bytes.n) : NULL;
    for (uint32_t k = mutator_below(&m, 3) + 1; root && k > 0; k--)
        mutate_once(&m, root, other);
    if (root)
        mutate_write(root, &out);
    size_t written = out.n && out.n <= room ? out.n : 0;
    if (written)
        memcpy(data, out.s, written);
    tnb_buf_free(&out);
    tnb_buf_free(&other_bytes);
    tnb_arena_free(m.arena);
    return written;
}

/* ---- modules as text ---- */

void
module_seeds(tnb_buf *out, uint32_t *n)
{
    static const char *const texts[] = {
        "@I.ir_module\nclass Module:\n"
        "    @T.prim_func(private=True)\n"
        "    def twice(a: T.handle, b: T.handle):\n"
        "        n = T.int64()\n"
        "        A = T.match_buffer(a, (n, 8))\n"
        "        B = T.match_buffer(b, (n, 8))\n"
        "        for i, j in T.grid(n, 8):\n"
        "            with T.sblock(\"twice\"):\n"
        "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        "                B[vi, vj] = A[vi, vj] * T.float32(2)\n"
        "    @R.function\n"
        "    def main(x: R.Tensor((\"n\", 8), \"float32\"), w: R.Tensor((8, 4), \"float32\")) -> "
        "R.Tensor((\"n\", 4), \"float32\"):\n"
        "        n = T.int64()\n"
        "        cls = Module\n"
        "        with R.dataflow():\n"
        "            y = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((n, 8), \"float32\"))\n"
        "            z = R.matmul(y, w)\n"
        "            s = R.nn.softmax(z, axis=-1)\n"
        "            R.output(s)\n"
        "        return s\n",
        "@I.ir_module\nclass Module:\n"
        "    @R.function\n"
        "    def main(x: R.Tensor((1, 3, 8, 8), \"float32\"), w: R.Tensor((4, 3, 3, 3), "
        "\"float32\")) -> R.Tensor((1, 4, 4, 4), \"float32\"):\n"
        "        with R.dataflow():\n"
        "            c = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1])\n"
        "            r = R.nn.relu(c)\n"
        "            p = R.nn.max_pool2d(r, pool_size=[2, 2], strides=[2, 2])\n"
        "            R.output(p)\n"
        "        return p\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && *n < MOST_SEEDS; i++)
        tnb_buf_puts(&out[(*n)++], texts[i]);
}

void
read_text_module(const void *data, size_t n)
{
    tn_ctx *ctx = tn_ctx_new(reg);
    if (ctx) {
        tnk_set_limits(ctx, conf);
        tnk_model model = {.module = tn_read_module(ctx, "fuzz.py", data, n)};
        if (model.module)
            compile(ctx, &model, tnb_hash64(data, n, 0));
        else
            check_failure(ctx, "reading");
    }
    tn_ctx_free(ctx);
}
