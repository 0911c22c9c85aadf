/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the dialect "c" by instructions of x86, where the compiler has their builtins: gcc makes more of the usual bodies.
 * A vector is as wide as a register, 16, 32 or 64 bytes.
 */
#include "c.h"

#define GCC " && defined(__GNUC__) && !defined(__clang__)\n"

static bool
is_register(unsigned bits)
{
    return bits == 128 || bits == 256 || bits == 512;
}

static const char *
select_text(tnk_emitter *e, tnb_dtype d)
{
    unsigned bits = (unsigned)d.bits * d.lanes;
    const char *v = tnk_c_type(e, d);
    if (d.bits == 32 && (bits == 128 || bits == 256)) {
        const char *f = tnk_c_type(e, (tnb_dtype){TNB_FLOAT, 32, d.lanes});
        return tn_strf(e->ctx,
                       "#if defined(%s)" GCC
                       "    return (%s)__builtin_ia32_blendvps%s((%s)b, (%s)a, (%s)m);\n",
                       bits == 256 ? "__AVX__" : "__SSE4_1__", v, bits == 256 ? "256" : "", f, f,
                       f);
    }
    /* gcc makes comparison and blend of the lanes' loop, of the masks' bits it makes three instructions */
    if (bits == 512)
        return tn_strf(e->ctx,
                       "#ifdef %s\n    %s r;\n    for (int i = 0; i < %d; i++)\n        "
                       "r[i] = m[i] ? a[i] : b[i];\n    return r;\n",
                       d.bits < 32 ? "__AVX512BW__" : "__AVX512F__", v, d.lanes);
    return NULL;
}

/* These instructions keep the second operand when a comparison with NaN fails, and mean exactly a < b ? a : b and
 * a > b ? a : b. */
static const char *
minmax_text(tnk_emitter *e, const char *name, tnb_dtype d)
{
    unsigned bits = (unsigned)d.bits * d.lanes;
    if (d.code != TNB_FLOAT || d.lanes == 1 || !is_register(bits))
        return NULL;
    return tn_strf(e->ctx, "#if defined(%s)" GCC "    return __builtin_ia32_%s%s%s(b, a%s);\n",
                   bits == 512   ? "__AVX512F__"
                   : bits == 256 ? "__AVX__"
                                 : "__SSE2__",
                   name, d.bits == 64 ? "pd" : "ps",
                   bits == 512   ? "512_mask"
                   : bits == 256 ? "256"
                                 : "",
                   bits < 512     ? ""
                   : d.bits == 64 ? ", b, 0xff, 4"
                                  : ", b, 0xffff, 4");
}

/* Without a branch, which the values would decide. */
static const char *
nan_minmax_text(tnk_emitter *e, const char *name, tnb_dtype d)
{
    if (d.code != TNB_FLOAT || d.bits != 32 || d.lanes != 1)
        return NULL;
    return tn_strf(e->ctx,
                   "#if defined(__SSE4_1__)" GCC
                   "    typedef float tk_v4sf __attribute__((vector_size(16)));\n"
                   "    tk_v4sf x = {a, a, a, a}, y = {b, b, b, b};\n"
                   "    return __builtin_ia32_blendvps(__builtin_ia32_%sps(y, x), y, "
                   "(tk_v4sf)(y != y))[0];\n",
                   name);
}

static const char *
widen_text(tnb_dtype d)
{
    switch (d.lanes) {
    case 1:
        return "#if defined(__F16C__)" GCC
               "    typedef short tk_v8hi __attribute__((vector_size(16)));\n"
               "    return __builtin_ia32_vcvtph2ps((tk_v8hi){(short)h})[0];\n";
    case 8:
        return "#if defined(__F16C__)" GCC
               "    typedef short tk_v8hi __attribute__((vector_size(16)));\n"
               "    return __builtin_ia32_vcvtph2ps256((tk_v8hi)x);\n";
    case 16:
        return "#if defined(__AVX512F__)" GCC
               "    typedef short tk_v16hi __attribute__((vector_size(32)));\n"
               "    return __builtin_ia32_vcvtph2ps512_mask((tk_v16hi)x, (f32x16){0}, "
               "0xffff, 4);\n";
    default:
        return NULL;
    }
}

static const char *
narrow_text(tnb_dtype d)
{
    switch (d.lanes) {
    case 1:
        return "#if defined(__F16C__)" GCC
               "    typedef float tk_v4sf __attribute__((vector_size(16)));\n"
               "    return (uint16_t)__builtin_ia32_vcvtps2ph((tk_v4sf){x}, 0)[0];\n";
    case 8:
        return "#if defined(__F16C__)" GCC "    return (u16x8)__builtin_ia32_vcvtps2ph256(x, 0);\n";
    case 16:
        return "#if defined(__AVX512F__)" GCC
               "    typedef short tk_v16hi __attribute__((vector_size(32)));\n"
               "    return (u16x16)__builtin_ia32_vcvtps2ph512_mask(x, 0, (tk_v16hi){0}, "
               "0xffff);\n";
    default:
        return NULL;
    }
}

/* Functions of mathematics that are single instructions. AVX-512 rounds by another, with the same modes. */
static const char *
function_text(tnk_emitter *e, tn_intrin_id function, tnb_dtype d)
{
    static const struct {
        tn_intrin_id function;
        const char *builtin, *mode, *feature128;
    } rows[] = {
        {TN_INTRIN_sqrt, "sqrt", NULL, "__SSE2__"},
        {TN_INTRIN_floor, "round", "9", "__SSE4_1__"},
        {TN_INTRIN_ceil, "round", "10", "__SSE4_1__"},
        {TN_INTRIN_trunc, "round", "11", "__SSE4_1__"},
        {TN_INTRIN_nearbyint, "round", "8", "__SSE4_1__"},
    };
    unsigned bits = (unsigned)d.bits * d.lanes;
    if (!is_register(bits))
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *mode = rows[i].mode;
        if (rows[i].function != function)
            continue;
        return tn_strf(e->ctx, "#if defined(%s)" GCC "    return __builtin_ia32_%s%s%s(x%s%s%s);\n",
                       bits == 512   ? "__AVX512F__"
                       : bits == 256 ? "__AVX__"
                                     : rows[i].feature128,
                       bits != 512 ? rows[i].builtin
                       : mode      ? "rndscale"
                                   : "sqrt",
                       d.bits == 64 ? "pd" : "ps",
                       bits == 256   ? "256"
                       : bits != 512 ? ""
                       : mode        ? "_mask"
                                     : "512_mask",
                       mode ? ", " : "", mode ? mode : "",
                       bits == 512 ? ", x, -1, 4" : ""); /* all lanes; rounding as it is */
    }
    return NULL;
}

/* Without VNNI, pmaddubsw adds pairs of products in 16 bits and saturates: it is exact where the unsigned bytes are below 128, so
 * that others are taken four bits at a time. */
static const char *
dot_text(tnk_emitter *e, tnb_dtype d, bool small)
{
    const unsigned bytes = d.lanes * 4u;
    if (!is_register(bytes * 8))
        return NULL;
    const char *w = bytes == 64 ? "512" : bytes == 32 ? "256" : "128", *v = tnk_c_type(e, d);
    const char *feature = bytes == 64 ? "defined(__AVX512VNNI__)"
                                      : "(defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && "
                                        "defined(__AVX512VL__)))";
    const char *b8 = "tk_bytes",
               *b16 = tnk_c_type(e, (tnb_dtype){TNB_INT, 16, (uint16_t)(bytes / 2)});
    const char *pairs, *sums; /* of products of bytes; of pairs of these */
    if (bytes == 64) {
        pairs = tn_strf(e->ctx, "(%s)__builtin_ia32_pmaddubsw512_mask((%s)(A), (%s)b, (%s){0}, -1)",
                        b16, b8, b8, b16);
        sums = tn_strf(e->ctx,
                       "(%s)__builtin_ia32_pmaddwd512_mask(M, (%s){0} + (short)N, (%s){0}, -1)", v,
                       b16, v);
    } else {
        pairs = tn_strf(e->ctx, "(%s)__builtin_ia32_pmaddubsw%s((%s)(A), (%s)b)", b16, w, b8, b8);
        sums = tn_strf(e->ctx, "(%s)__builtin_ia32_pmaddwd%s(M, (%s){0} + (short)N)", v, w, b16);
    }
    const char *vnni = tn_strf(e->ctx,
                               "#if %s" GCC "    return (%s)__builtin_ia32_vpdpbusd_v%dsi(c, "
                               "(%s)a, b);\n#elif %s && defined(__clang__)\n    return "
                               "(%s)__builtin_ia32_vpdpbusd%s(c, (%s)a, b);\n",
                               feature, v, d.lanes, v, feature, v, w, v);
    const char *pmadd = tn_strf(e->ctx,
                                "#elif defined(%s)" GCC
                                "    typedef char tk_bytes __attribute__((vector_size(%u)));\n"
                                "#define PAIRS(A) %s\n#define SUMS(M, N) %s\n",
                                bytes == 64   ? "__AVX512BW__"
                                : bytes == 32 ? "__AVX2__"
                                              : "__SSSE3__",
                                bytes, pairs, sums);
    return tn_strf(e->ctx, "%s%s    return c + %s;\n#undef PAIRS\n#undef SUMS\n", vnni, pmadd,
                   small ? "SUMS(PAIRS(a), 1)"
                         : "SUMS(PAIRS(a & 0x0f0f0f0f), 1) + "
                           "SUMS(PAIRS(a >> 4 & 0x0f0f0f0f), 16)");
}

const char *
c_x86_body(tnk_emitter *e, tnk_helper helper, tn_intrin_id function, tnb_dtype d)
{
    switch (helper) {
    case TNK_HELPER_SELECT:
        return select_text(e, d);
    case TNK_HELPER_MIN:
        return minmax_text(e, "min", d);
    case TNK_HELPER_MAX:
        return minmax_text(e, "max", d);
    case TNK_HELPER_NAN_MIN:
        return nan_minmax_text(e, "min", d);
    case TNK_HELPER_NAN_MAX:
        return nan_minmax_text(e, "max", d);
    case TNK_HELPER_WIDEN_HALF:
        return widen_text(d);
    case TNK_HELPER_NARROW_HALF:
        return narrow_text(d);
    case TNK_HELPER_FUNCTION:
        return function_text(e, function, d);
    case TNK_HELPER_DOT_BYTES:
        return dot_text(e, d, false);
    case TNK_HELPER_DOT_SMALL_BYTES:
        return dot_text(e, d, true);
    }
    return NULL;
}
