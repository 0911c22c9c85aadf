/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ as a dialect of what kit/emit writes: warps of 32, whose lanes exchange values. Vectors: vectors.c. */
#include "cuda.h"

#include "nvrtc.h"
#include "tenon/core/build.h"
#include "tenon/kit/emit_hooks.h"

enum { WARP = 32 };

/* The names that helpers use, without a header of the system's; macros, for such a header may have types of these names. */
static const char prologue[] = "#ifndef " CUDA_BOUNDS "\n"
                               "#define " CUDA_BOUNDS "(n) __launch_bounds__(n)\n"
                               "#endif\n"
                               "#define int64_t long long\n"
                               "#define uint64_t unsigned long long\n"
                               "#define int32_t int\n"
                               "#define uint32_t unsigned int\n"
                               "#define int16_t short\n"
                               "#define uint16_t unsigned short\n"
                               "#define int8_t signed char\n"
                               "#define uint8_t unsigned char\n"
                               "#undef INT64_MAX\n"
                               "#undef INT64_MIN\n"
                               "#undef UINT64_MAX\n"
                               "#define INT64_MAX 9223372036854775807ll\n"
                               "#define INT64_MIN (-INT64_MAX - 1)\n"
                               "#define UINT64_MAX 18446744073709551615ull\n";

/* Words of C++ and of CUDA beside those of other languages for devices. */
static const char *const reserved[] = {
    "alignas",   "alignof",       "and_eq",      "bitand",       "bitor",
    "catch",     "compl",         "concept",     "const_cast",   "constexpr",
    "consteval", "constinit",     "decltype",    "dim3",         "dynamic_cast",
    "noexcept",  "not_eq",        "nullptr",     "or_eq",        "reinterpret_cast",
    "requires",  "static_assert", "static_cast", "thread_local", "warpSize",
    "wchar_t",   "xor_eq",        "norm",        "rcbrt",        "rhypot",
    "assert",    "clock",         "longlong1",   "longlong2",    "longlong3",
    "longlong4", "ulonglong1",    "ulonglong2",  "ulonglong3",   "ulonglong4",
    NULL,
};

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
    if (cuda_matrix_call(e, c) || cuda_barrier_call(e, c))
        return true;
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

static const char *
body(tnk_emitter *e, tnk_helper helper, tn_intrin_id function, tnb_dtype d)
{
    (void)e;
    (void)function;
    if (d.lanes > 1)
        return NULL;
    if (helper == TNK_HELPER_WIDEN_HALF)
        return "#if defined(__CUDA_ARCH__)\n    float f;\n"
               "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h));\n    return f;\n";
    if (helper == TNK_HELPER_NARROW_HALF)
        return "#if defined(__CUDA_ARCH__)\n    uint16_t h;\n"
               "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n    return h;\n";
    return NULL;
}

/* The threads of a block that registers are allotted for, where they are constant. */
static const char *
attribute(tnk_emitter *e)
{
    int64_t most = cuda_threads(e->kernel);
    return most ? tn_strf(e->ctx, " " CUDA_BOUNDS "(%lld)", (long long)most) : "";
}

/* Atomics take 32 bits, memory comes in multiples of four bytes. A thread's own memory takes none, and needs none. */
static const char *
packed_store(tnk_emitter *e, uint8_t bits, const char *space)
{
    const char *f = tn_strf(e->ctx, "tk_stp%d", bits), *own = tn_strf(e->ctx, "tk_stp%d_own", bits);
    int per_byte = bits == 4 ? 1 : bits == 2 ? 2 : 3, mask = (1 << bits) - 1;
    tnk_help_packed_store_by_byte(e, own, bits, space);
    if (tnk_once(e, f))
        tnb_buf_printf(
            tnk_helpers(e),
            "static __device__ __forceinline__ void %s(uint8_t *p, int64_t i, uint8_t x)"
            "\n{\n    if (__isLocal(p)) {\n        %s(p, i, x);\n        return;\n    }\n"
            "    const uint64_t at = (uint64_t)p + (uint64_t)(i >> %d);\n"
            "    uint32_t *w = (uint32_t *)(at & ~(uint64_t)3);\n"
            "    const int s = (int)(at & 3) * 8 + (int)(i & %d) * %d;\n"
            "    atomicAnd(w, ~(%du << s));\n"
            "    atomicOr(w, (uint32_t)(x & %d) << s);\n}\n",
            f, own, per_byte, (1 << per_byte) - 1, bits, mask, mask);
    return f;
}

/* Of 64 bits: kit/emit makes those of fewer of them. */
static const tnk_function_name functions[] = {{TN_INTRIN_popcount, "__popcll"},
                                              {TN_INTRIN_clz, "__clzll"},
                                              {TN_INTRIN_atomic_and, "atomicAnd"},
                                              {TN_INTRIN_atomic_or, "atomicOr"},
                                              {0}};

const tnk_dialect cuda_dialect = {
    .base.size = sizeof(tnk_dialect),
    .base.name = "cuda",
    .base.doc = "CUDA C++",
    .calling = TNK_CALL_DIRECT,
    .kernel = "extern \"C\" __global__ void",
    /* vectors of 16 bytes are accessed whole: tnk_vector_structs.align */
    .shared = "__shared__ __align__(16) ",
    .dynamic_shared = "extern __shared__ __align__(128) unsigned char tk_dynamic_shared[];",
    .local = "__align__(16) ",
    .restrict_ = "__restrict__",
    .barrier = "__syncthreads();",
    .warp_barrier = "__syncwarp();",
    .inline_ = "static __device__ __forceinline__",
    .threads = threads,
    .int32 = "int",
    .nan32 = "__int_as_float(0x7fffffff)",
    .nan64 = "__longlong_as_double(0x7ff8000000000000ll)",
    .inf32 = "__int_as_float(0x7f800000)",
    .inf64 = "__longlong_as_double(0x7ff0000000000000ll)",
    .compare_exchange = "atomicCAS((int *)&r->state, 0, 1)",
    .float_suffix = "f",
    .functions = functions,
    .reserved = reserved,
    .prologue = prologue,
    .one_space = true,
    .structs = &cuda_vectors,
    .attribute = attribute,
    .packed_store = packed_store,
    .expr = expr,
    .body = body,
};
