/* SPDX-License-Identifier: Apache-2.0 */
/* How many scalar operations a second the reference interpreter executes, with all checks on. */
#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"

#include <stdio.h>
#include <time.h>

static const char text[] =
    "@I.ir_module\n"
    "class Module:\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def matmul(A: T.Buffer((192, 192), \"float32\"), B: T.Buffer((192, 192), \"float32\"), C: "
    "T.Buffer((192, 192), \"float32\")):\n"
    "        D = T.sblock_alloc_buffer((192, 192), \"float32\")\n"
    "        for i, j, k in T.grid(192, 192, 192):\n"
    "            with T.sblock(\"mm\"):\n"
    "                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "                with T.init():\n"
    "                    D[vi, vj] = T.float32(0)\n"
    "                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]\n"
    "        for i, j in T.grid(192, 192):\n"
    "            with T.sblock(\"out\"):\n"
    "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
    "                C[vi, vj] = D[vi, vj]\n"
    "    @T.prim_func\n"
    "    def flat(A: T.Buffer((1048576,), \"float32\"), B: T.Buffer((1048576,), \"float32\")):\n"
    "        for i in range(1048576):\n"
    "            B[i] = T.max(A[i] * T.float32(0.5) + T.float32(1), T.float32(0)) - A[1048575 - "
    "i]\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def conv(X: T.Buffer((1, 16, 34, 34), \"float32\"), W: T.Buffer((16, 16, 3, 3), "
    "\"float32\"), Y: T.Buffer((1, 16, 32, 32), \"float32\")):\n"
    "        for n, f, y, x, c, ky, kx in T.grid(1, 16, 32, 32, 16, 3, 3):\n"
    "            with T.sblock(\"conv\"):\n"
    "                vn, vf, vy, vx, vc, v1, v2 = T.axis.remap(\"SSSSRRR\", [n, f, y, x, c, ky, "
    "kx])\n"
    "                with T.init():\n"
    "                    Y[vn, vf, vy, vx] = T.float32(0)\n"
    "                Y[vn, vf, vy, vx] = Y[vn, vf, vy, vx] + X[vn, vc, vy + v1, vx + v2] * W[vf, "
    "vc, v1, v2]\n";

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int
main(void)
{
    tnb_plugins *plugins;
    tnb_err err;
    if (tnb_plugins_open(NULL, NULL, &plugins, &err) != TNB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    tn_registry *reg = tn_registry_new(plugins);
    tn_ctx *ctx = tn_ctx_new(reg);
    const tn_evaluator *ev = tn_find_evaluator(reg, "interp", &err);
    const tn_module *m = ctx ? tn_read_module(ctx, "speed.py", text, sizeof text - 1) : NULL;
    int status = ev && m ? 0 : 1;
    for (uint32_t i = 0; status == 0 && i < m->names.n; i++) {
        const char *name = tn_module_name(m, i);
        tn_list args;
        tn_eval_options opt = {0};
        if (!tn_random_args(ctx, tn_module_get(m, name), 1, NULL, &args)) {
            status = 1;
            break;
        }
        double start = now();
        if (!ev->run(ev->self, ctx, m, name, args.at, args.n, &opt))
            status = 1;
        double seconds = now() - start;
        printf("%-8s %12llu operations %8.1f Mops/s\n", name, (unsigned long long)opt.spent,
               1e-6 * (double)opt.spent / seconds);
    }
    if (status && ctx) {
        tnb_buf out = {0};
        tnb_diags_print(tn_diags(ctx), &out);
        fprintf(stderr, "%s", out.s ? out.s : err.message);
        tnb_buf_free(&out);
    }
    tn_ctx_free(ctx);
    tn_registry_free(reg);
    tnb_plugins_close(plugins);
    return status;
}
