/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C 1.2 as a dialect of what kit/emit writes. */
#include "dialect.h"
#include "opencl.h"

/* The names that helpers use; macros, for a device's compiler may have types of these names. */
static const char prologue[] = "#define int64_t long\n"
                               "#define uint64_t ulong\n"
                               "#define int32_t int\n"
                               "#define uint32_t uint\n"
                               "#define uint16_t ushort\n"
                               "#undef INT64_MAX\n"
                               "#undef INT64_MIN\n"
                               "#undef UINT64_MAX\n"
                               "#define INT64_MAX LONG_MAX\n"
                               "#define INT64_MIN LONG_MIN\n"
                               "#define UINT64_MAX ULONG_MAX\n";

static const char *const threads[] = {
    "threadIdx.x", "(int)get_local_id(0)", "threadIdx.y", "(int)get_local_id(1)",
    "threadIdx.z", "(int)get_local_id(2)", "blockIdx.x",  "(int)get_group_id(0)",
    "blockIdx.y",  "(int)get_group_id(1)", "blockIdx.z",  "(int)get_group_id(2)",
    NULL,
};
/* The pragmas of what the kernels use. */
static void
header(const tnk_source *s, tnb_buf *out)
{
    static const char *const in_every[] = {"fp64", "fp16"};
    for (int i = 0; i < 2; i++)
        if (tnk_source_uses(s, in_every[i]))
            tnb_buf_printf(out, "#pragma OPENCL EXTENSION cl_khr_%s : enable\n", in_every[i]);
    static const struct {
        const char *feature, *extension;
    } of_warps[] = {
        /* the others have no pragma */
        {"subgroups", "cl_khr_subgroups"},
        {"cl_intel_subgroups", "cl_intel_subgroups"},
        {"cl_qcom_subgroup_shuffle", "cl_qcom_subgroup_shuffle"},
        {"cl_intel_required_subgroup_size", "cl_intel_required_subgroup_size"},
        {"cl_qcom_reqd_sub_group_size", "cl_qcom_reqd_sub_group_size"},
    };
    for (size_t i = 0; i < sizeof of_warps / sizeof *of_warps; i++)
        if (tnk_source_uses(s, of_warps[i].feature))
            tnb_buf_printf(out, "#ifdef %s\n#pragma OPENCL EXTENSION %s : enable\n#endif\n",
                           of_warps[i].extension, of_warps[i].extension);
}

/* ---- elements of less than two bytes ---- */

/* Towards zero, with a last bit of 1 where that is not the same; then to fewer bits. */
static const char *
narrow_int(tnk_emitter *e, tnb_dtype small, tnb_dtype from)
{
    tnb_dtype one = from, ud = {TNB_UINT, 8, small.lanes};
    one.lanes = 1;
    small.lanes = 1;
    const char *t = tnk_c_type(e, one), *narrow = tnk_help_narrow_small(e, small, 32),
               *f = tn_strf(e->ctx, "%s_%s", narrow, tnk_short_name(one));
    if (tnk_once(e, f))
        tnb_buf_printf(tnk_helpers(e),
                       "%s %s %s(%s x)\n{\n    float y = convert_float_rtz(x);\n"
                       "    return %s((%s)y == x ? y : as_float(as_uint(y) | 1u));\n}\n",
                       e->d->inline_, e->d->uint8, f, t, narrow, t);
    return from.lanes == 1 ? f : tnk_help_map(e, ud, from, f, 1);
}

/* To a float of 8 bits or less, from an integer that a float32 may not hold: without doubles. */
static bool
small_cast(tnk_emitter *e, const tn_cast *c)
{
    tnb_dtype of = tn_dtype_of(c->value), from = tnk_compute_dtype(of),
              to = tn_dtype_of(TN_NODE(c));
    if (tnb_dtype_is_bool(of) && of.lanes > 1)
        return false;
    if (!tnb_dtype_is_float(to) || to.bits > 8 || !tnb_dtype_is_int(from) || from.bits < 32)
        return false;
    tnb_buf_printf(e->out, "%s(%s(", tnk_help_widen(e, to), narrow_int(e, to, from));
    tnk_emit_expr(e, c->value);
    tnb_buf_puts(e->out, "))");
    return true;
}

/* Atomics take 32 bits: memory objects are multiples of four bytes. */
static void
packed_store_by_word(tnk_emitter *e, const char *f, uint8_t bits, const char *space)
{
    int s = bits == 4 ? 1 : bits == 2 ? 2 : 3, mask = (1 << bits) - 1;
    tnb_buf_printf(tnk_helpers(e),
                   "static inline void %s(%suchar *p, long i, uchar x)\n{\n"
                   "    const size_t at = (size_t)(p + (i >> %d));\n"
                   "    volatile %suint *w = (volatile %suint *)(at & ~(size_t)3);\n"
                   "#ifdef __ENDIAN_LITTLE__\n    const uint byte = at & 3;\n"
                   "#else\n    const uint byte = 3 - (at & 3);\n#endif\n"
                   "    const uint s = byte * 8 + (uint)(i & %d) * %d;\n"
                   "    (void)atomic_and(w, ~(%du << s));\n"
                   "    (void)atomic_or(w, (uint)(x & %d) << s);\n}\n",
                   f, space, s, space, space, (1 << s) - 1, bits, mask, mask);
}

static const char *
packed_store(tnk_emitter *e, uint8_t bits, const char *space)
{
    const char *f =
        tn_strf(e->ctx, "tk_stp%d%s%.*s", bits, *space ? "_" : "", (int)strcspn(space, " "), space);
    if (!*space) /* a work item's own */
        tnk_help_packed_store_by_byte(e, f, bits, space);
    else if (tnk_once(e, f))
        packed_store_by_word(e, f, bits, space);
    return f;
}

/* ---- hooks ---- */

static bool
stmt(tnk_emitter *e, const tn_stmt *s)
{
    return s->kind == TN_KIND_BUFFER_STORE && opencl_image_store(e, (const tn_buffer_store *)s);
}

static bool
expr(tnk_emitter *e, const tn_expr *x)
{
    switch (x->kind) {
    case TN_KIND_BUFFER_LOAD:
        return opencl_image_load(e, (const tn_buffer_load *)x);
    case TN_KIND_CALL:
        return opencl_warp_call(e, (const tn_call *)x);
    case TN_KIND_CAST:
        return small_cast(e, (const tn_cast *)x);
    default:
        return false;
    }
}

static const tnk_function_name functions[] = {{TN_INTRIN_nearbyint, "rint"},
                                              {TN_INTRIN_atomic_and, "atomic_and"},
                                              {TN_INTRIN_atomic_or, "atomic_or"},
                                              {0}};

const tnk_dialect opencl_dialect = {
    .base.size = sizeof(tnk_dialect),
    .base.name = "opencl",
    .base.doc = "OpenCL C 1.2",
    .language = "opencl",
    .calling = TNK_CALL_DIRECT,
    .kernel = "__kernel void",
    .global_ptr = "__global ",
    .shared = "__local ",
    .restrict_ = "restrict",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .global_barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .threads = threads,
    .int64 = "long",
    .uint64 = "ulong",
    .int32 = "int",
    .uint32 = "uint",
    .int16 = "short",
    .uint16 = "ushort",
    .int8 = "char",
    .uint8 = "uchar",
    .compare_exchange = "atomic_cmpxchg((volatile __global int *)&r->state, 0, 1)",
    .functions = functions,
    .prologue = prologue,
    .as_functions = true,
    .vector_functions = true,
    .has_half = true,
    .byte_offsets = true,
    .meet_behind_loops = true,
    .header = header,
    .begin = opencl_warp_begin,
    .attribute = opencl_warp_attribute,
    .declare = opencl_warp_declare,
    .param = opencl_param,
    .thread = opencl_warp_thread,
    .stmt = stmt,
    .expr = expr,
    .packed_store = packed_store,
};
