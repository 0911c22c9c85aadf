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
    }
    return NULL;
}
