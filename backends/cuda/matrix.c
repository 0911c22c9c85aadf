/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of PTX in CUDA C++: ldmatrix and mma, as functions of a thread's registers (a GPU of sm_75 has mma for half as many
 * steps: two of them), and asynchronous copies into shared memory. */
#include "cuda.h"

#include "tenon/core/build.h"
#include "tenon/kit/emit_hooks.h"

/* ptx_ldmatrix(dtype, transposed, matrices, type, registers, 0, row of shared memory, 0) */
enum { LD_TRANS = 1, LD_MATRICES, LD_TYPE, LD_TO, LD_TO_AT, LD_FROM, LD_FROM_AT, LD_ARGS };
/* ptx_mma(dtype, shape, layout of A, of B, types of A, B, C, A, 0, B, 0, C, 0, saturate) */
enum {
    MMA_SHAPE = 1,
    MMA_TYPE_A = 4,
    MMA_TYPE_B,
    MMA_TYPE_C,
    MMA_A,
    MMA_B = 9,
    MMA_C = 11,
    MMA_ARGS = 14
};

static const char *
text_of(const tn_call *c, uint32_t i)
{
    const tn_string_imm *s = tn_as_string_imm(c->args.at[i]);
    return s ? s->value : "";
}

static void
call(tnk_emitter *e, const char *f, const tn_call *c, const uint32_t *operands, uint32_t n)
{
    tnb_buf_printf(e->out, "%s(", f);
    for (uint32_t i = 0; i < n; i++) {
        tnb_buf_puts(e->out, i ? ", " : "");
        tnk_emit_expr(e, c->args.at[operands[i]]);
    }
    tnb_buf_puts(e->out, ")");
}

static bool
offsets_are_zero(const tn_call *c, const uint32_t *operands, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!tn_is_int_const(c->args.at[operands[i] + 1], 0))
            return false;
    return true;
}

static bool
ldmatrix(tnk_emitter *e, const tn_call *c)
{
    static const uint32_t operands[] = {LD_TO, LD_FROM};
    if (c->args.n != LD_ARGS || !tn_is_int_const(c->args.at[LD_MATRICES], 4) ||
        strcmp(text_of(c, LD_TYPE), ".b16") || !offsets_are_zero(c, operands, 2))
        return false;
    bool trans = !tn_is_int_const(c->args.at[LD_TRANS], 0);
    const char *f = trans ? "tk_ldmatrix_trans" : "tk_ldmatrix";
    if (tnk_once(e, f))
        tnb_buf_printf(
            tnk_helpers(e),
            "static __device__ __forceinline__ void %s(void *to, const void *row)\n{\n"
            "    unsigned *r = (unsigned *)to;\n"
            "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%%0, %%1, %%2, %%3}, "
            "[%%4];\"\n"
            "                 : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n"
            "                 : \"r\"((unsigned)__cvta_generic_to_shared(row)) : \"memory\");\n}\n",
            f, trans ? ".trans" : "");
    call(e, f, c, operands, 2);
    return true;
}

static bool
mma(tnk_emitter *e, const tn_call *c)
{
    static const uint32_t operands[] = {MMA_C, MMA_A, MMA_B};
    if (c->args.n != MMA_ARGS || strcmp(text_of(c, MMA_SHAPE), "m16n8k16") ||
        strcmp(text_of(c, MMA_TYPE_A), text_of(c, MMA_TYPE_B)) ||
        strcmp(text_of(c, MMA_TYPE_C), "fp32") || !offsets_are_zero(c, operands, 3))
        return false;
    bool bf16 = !strcmp(text_of(c, MMA_TYPE_A), "bf16");
    if (!bf16 && strcmp(text_of(c, MMA_TYPE_A), "fp16"))
        return false;
    const char *f = bf16 ? "tk_mma_bf16" : "tk_mma_f16";
    static const char sums[] =
        "                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])\n";
    if (tnk_once(e, f)) {
        tnb_buf_printf(tnk_helpers(e),
                       "static __device__ __forceinline__ void %s(float *c, const void *x, const "
                       "void *y)\n{\n"
                       "    const unsigned *a = (const unsigned *)x, *b = (const unsigned *)y;\n"
                       "%s    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.%s.%s.f32 "
                       "{%%0, %%1, %%2, %%3}, {%%4, %%5, %%6, %%7}, {%%8, %%9}, "
                       "{%%0, %%1, %%2, %%3};\"\n%s"
                       "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), "
                       "\"r\"(b[0]), \"r\"(b[1]));\n",
                       f, bf16 ? "" : "#if __CUDA_ARCH__ >= 800\n", bf16 ? "bf16" : "f16",
                       bf16 ? "bf16" : "f16", sums);
        if (!bf16) {
            tnb_buf_puts(tnk_helpers(e), "#else\n");
            for (int i = 0; i < 2; i++)
                tnb_buf_printf(
                    tnk_helpers(e),
                    "    asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                    "{%%0, %%1, %%2, %%3}, {%%4, %%5}, {%%6}, {%%0, %%1, %%2, %%3};\"\n%s"
                    "                 : \"r\"(a[%d]), \"r\"(a[%d]), \"r\"(b[%d]));\n",
                    sums, 2 * i, 2 * i + 1, i);
            tnb_buf_puts(tnk_helpers(e), "#endif\n");
        }
        tnb_buf_puts(tnk_helpers(e), "}\n");
    }
    call(e, f, c, operands, 3);
    return true;
}

/* ptx_cp_async(dtype, to, 0, from, 0, bytes[, condition]): without the condition zeros are written */
enum { CP_TO = 1, CP_FROM = 3, CP_BYTES = 5, CP_COND = 6 };

static bool
cp_async(tnk_emitter *e, const tn_call *c)
{
    static const uint32_t operands[] = {CP_TO, CP_FROM, CP_COND};
    int64_t n;
    if (c->args.n < CP_COND || c->args.n > CP_COND + 1 || !offsets_are_zero(c, operands, 2) ||
        !tn_int_value(c->args.at[CP_BYTES], &n) || (n != 4 && n != 8 && n != 16))
        return false;
    bool cond = c->args.n > CP_COND;
    const char *f = tn_strf(e->ctx, "tk_cp_async%s%d", cond ? "_if" : "", (int)n);
    if (tnk_once(e, f))
        tnb_buf_printf(
            tnk_helpers(e),
            "static __device__ __forceinline__ void %s(void *to, const void *from%s)\n{\n"
            "    asm volatile(\"cp.async.%s.shared.global [%%0], [%%1], %d%s;\"\n"
            "                 : : \"r\"((unsigned)__cvta_generic_to_shared(to)), "
            "\"l\"(__cvta_generic_to_global(from))%s : \"memory\");\n}\n",
            f, cond ? ", bool all" : "", n == 16 ? "cg" : "ca", (int)n, cond ? ", %2" : "",
            cond ? tn_strf(e->ctx, ", \"r\"(all ? %d : 0)", (int)n) : "");
    call(e, f, c, operands, cond ? 3 : 2);
    return true;
}

static bool
group(tnk_emitter *e, const tn_call *c, bool wait)
{
    int64_t n = 0;
    if (c->args.n != wait || (wait && (!tn_int_value(c->args.at[0], &n) || n < 0)))
        return false;
    const char *f = wait ? tn_strf(e->ctx, "tk_wait_group%lld", (long long)n) : "tk_commit_group";
    if (tnk_once(e, f))
        tnb_buf_printf(tnk_helpers(e),
                       "static __device__ __forceinline__ void %s()\n{\n"
                       "    asm volatile(\"cp.async.%s%s;\" : : : \"memory\");\n}\n",
                       f, wait ? "wait_group " : "commit_group",
                       wait ? tn_strf(e->ctx, "%lld", (long long)n) : "");
    call(e, f, c, NULL, 0);
    return true;
}

bool
cuda_matrix_call(tnk_emitter *e, const tn_call *c)
{
    bool known;
    switch ((int)tn_intrin_of(TN_NODE(c))) {
    case TN_INTRIN_ptx_ldmatrix:
        known = ldmatrix(e, c);
        break;
    case TN_INTRIN_ptx_mma:
        known = mma(e, c);
        break;
    case TN_INTRIN_ptx_cp_async:
        known = cp_async(e, c);
        break;
    case TN_INTRIN_ptx_commit_group:
    case TN_INTRIN_ptx_wait_group:
        known = group(e, c, tn_is_intrin(TN_NODE(c), TN_INTRIN_ptx_wait_group));
        break;
    default:
        return false;
    }
    if (!known)
        tnk_emit_fail(e, c->base.loc, "%s of these operands has no form in CUDA source",
                      tn_call_op_of(c)->base.name);
    return true;
}
