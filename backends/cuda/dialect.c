/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ as a dialect of what kit/emit writes: warps of 32, whose lanes exchange values. */
#include "cuda.h"

#include "tenon/core/build.h"
#include "tenon/kit/emit_hooks.h"

enum { WARP = 32 };

/* The names that helpers use, without a header of the system's. */
static const char prologue[] = "typedef long long int64_t;\n"
                               "typedef unsigned long long uint64_t;\n"
                               "typedef int int32_t;\n"
                               "typedef unsigned int uint32_t;\n"
                               "typedef unsigned short uint16_t;\n";

static const char *const threads[] = {
    "threadIdx.x", "(int)threadIdx.x", "threadIdx.y", "(int)threadIdx.y",
    "threadIdx.z", "(int)threadIdx.z", "blockIdx.x",  "(int)blockIdx.x",
    "blockIdx.y",  "(int)blockIdx.y",  "blockIdx.z",  "(int)blockIdx.z",
    NULL,
};

/* The dtype that a value travels as: no narrower than 32 bits. */
static tnb_dtype
travels_as(tnb_dtype d)
{
    d = tnk_compute_dtype(d);
    if (tnb_dtype_is_int(d) && d.bits < 32)
        d.bits = 32;
    return d;
}

static void
shuffle(tnk_emitter *e, const tn_call *c, const char *kind)
{
    int64_t width;
    if (c->args.n != 5 || !tn_int_value(c->args.at[3], &width) || width < 1 ||
        width & (width - 1)) {
        tnk_emit_fail(e, TN_NODE(c)->loc, "%s of %s: the number of lanes is no power of two",
                      tn_call_op_of(c)->base.name, tnb_dtype_print(tn_dtype_of(TN_NODE(c))).s);
        return;
    }
    tnb_buf_printf(e->out, "__shfl_%ssync((unsigned)(", kind);
    tnk_emit_expr(e, c->args.at[0]);
    tnb_buf_printf(e->out, "), (%s)(", tnk_c_type(e, travels_as(tn_dtype_of(c->args.at[1]))));
    tnk_emit_expr(e, c->args.at[1]);
    tnb_buf_puts(e->out, "), ");
    tnk_emit_expr(e, c->args.at[2]);
    tnb_buf_printf(e->out, ", %lld)", (long long)width);
}

static const char *
shuffle_kind(tn_intrin_id id)
{
    return id == TN_INTRIN_tvm_warp_shuffle_xor    ? "xor_"
           : id == TN_INTRIN_tvm_warp_shuffle_up   ? "up_"
           : id == TN_INTRIN_tvm_warp_shuffle_down ? "down_"
                                                   : "";
}

static bool
expr(tnk_emitter *e, const tn_expr *x)
{
    const tn_call *c = tn_as_call(x);
    if (!c)
        return false;
    if (tn_is_intrin(x, TN_INTRIN_warp_size_is)) {
        tnb_buf_puts(e->out, tn_is_int_const(c->args.at[0], WARP) ? "1" : "0");
        return true;
    }
    if (!tnk_is_warp_call(x))
        return false;
    if (tn_is_intrin(x, TN_INTRIN_warp_reduce)) {
        tnk_emit_fail(e, x->loc, "%s of %s: it has no form in source", tn_call_op_of(c)->base.name,
                      tnb_dtype_print(tn_dtype_of(x)).s);
        return true;
    }
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x));
    bool narrow = !tnb_dtype_eq(d, travels_as(d));
    tnb_buf_puts(e->out, narrow ? tn_strf(e->ctx, "((%s)", tnk_c_type(e, d)) : "");
    shuffle(e, c, shuffle_kind(tn_intrin_of(x)));
    tnb_buf_puts(e->out, narrow ? ")" : "");
    return true;
}

const tnk_dialect cuda_dialect = {
    .base.size = sizeof(tnk_dialect),
    .base.name = "cuda",
    .base.doc = "CUDA C++",
    .calling = TNK_CALL_DIRECT,
    .kernel = "extern \"C\" __global__ void",
    .shared = "__shared__ ",
    .restrict_ = "__restrict__",
    .barrier = "__syncthreads();",
    .inline_ = "static __device__ __forceinline__",
    .threads = threads,
    .int64 = "long long",
    .uint64 = "unsigned long long",
    .int32 = "int",
    .uint32 = "unsigned int",
    .int16 = "short",
    .uint16 = "unsigned short",
    .int8 = "signed char",
    .uint8 = "unsigned char",
    .compare_exchange = "atomicCAS((int *)&r->state, 0, 1)",
    .float_suffix = "f",
    .prologue = prologue,
    .expr = expr,
};
