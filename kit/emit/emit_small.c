/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of less than two bytes: floats of 4 and 8 bits, which are computed as float32, and
 * integers of 1, 2 and 4 bits, which are computed with 8 and lie packed in memory, the first element
 * lowest. Each function gives the name of a helper, emitted at first use.
 */
#include "emit_private.h"

/* A float format of at most 8 bits. Above `highest` comes `over`. */
typedef struct format {
    const char *name;
    tnb_dtype_code code;
    int exponent, mantissa, bias;
    unsigned highest, over, nan;
    bool fnuz; /* one zero; what would be the other one is the NaN */
    bool ieee; /* the greatest exponent means infinity and NaN */
} format;
static const format formats[] = {
    {"e4m3", TNB_FLOAT8_E4M3FN, 4, 3, 7, 0x7e, 0x7f, 0x7f, false, false},
    {"e4m3z", TNB_FLOAT8_E4M3FNUZ, 4, 3, 8, 0x7f, 0x80, 0x80, true, false},
    {"e5m2", TNB_FLOAT8_E5M2, 5, 2, 15, 0x7b, 0x7c, 0x7e, false, true},
    {"e5m2z", TNB_FLOAT8_E5M2FNUZ, 5, 2, 16, 0x7f, 0x80, 0x80, true, false},
    {"e2m1", TNB_FLOAT4_E2M1FN, 2, 1, 1, 0x7, 0x7, 0x0, false, false},
};

static const format *
format_of(tnb_dtype d)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].code == d.code)
            return &formats[i];
    return NULL;
}

static unsigned
power_of_two(int exponent)
{
    return (unsigned)(exponent + 127) << 23;
}

/* To a code: numbers below the normal range are rounded by an addition, the others by carrying into
 * the bits that are kept; both to even. */
static const char *
encoder(tnk_emitter *e, const format *f)
{
    const char *name = tn_strf(e->ctx, "tk_f2%s", f->name);
    if (!tnk_once(e, name))
        return name;
    const char *u8 = e->d->uint8, *u32 = e->d->uint32;
    unsigned magic = power_of_two(24 - f->bias - f->mantissa);
    int drop = 23 - f->mantissa, sign = f->exponent + f->mantissa;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b,
                   "%s %s %s(float x)\n{\n    union { float f; %s u; } v = {x}, m = {0};\n"
                   "    %s s = v.u >> 31 << %d, r;\n    v.u &= 0x7fffffffu;\n    m.u = 0x%xu;\n",
                   e->d->inline_, u8, name, u32, u32, sign, magic);
    tnb_buf_printf(b, "    if (v.u > 0x7f800000u)\n        return (%s)(0x%xu%s);\n", u8, f->nan,
                   f->fnuz || !f->nan ? "" : " | s");
    tnb_buf_printf(
        b,
        "    if (v.u < 0x%xu) {\n        v.f += m.f;\n        r = v.u - m.u;\n    } else "
        "{\n        r = ((v.u + 0x%xu + (v.u >> %d & 1u)) >> %d) - 0x%xu;\n    }\n",
        power_of_two(1 - f->bias), (1u << (drop - 1)) - 1, drop, drop,
        (unsigned)(127 - f->bias) << f->mantissa);
    if (f->fnuz)
        tnb_buf_printf(b, "    return (%s)(r > 0x%xu ? 0x%xu : r ? r | s : 0u);\n}\n", u8,
                       f->highest, f->over);
    else
        tnb_buf_printf(b, "    return (%s)((r > 0x%xu ? 0x%xu : r) | s);\n}\n", u8, f->highest,
                       f->over);
    return name;
}

static const char *
decoder(tnk_emitter *e, const format *f)
{
    const char *name = tn_strf(e->ctx, "tk_%s2f", f->name);
    if (!tnk_once(e, name))
        return name;
    const char *u8 = e->d->uint8, *u32 = e->d->uint32;
    int sign = f->exponent + f->mantissa;
    unsigned top = ((1u << f->exponent) - 1) << f->mantissa;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b,
                   "%s float %s(%s x)\n{\n    union { %s u; float f; } v = {0};\n"
                   "    %s r = x & 0x%xu;\n",
                   e->d->inline_, name, u8, u32, u32, (1u << sign) - 1);
    if (f->fnuz)
        tnb_buf_printf(b, "    if (x == 0x80u)\n        v.u = 0x7fc00000u;\n    else ");
    else if (f->ieee)
        tnb_buf_printf(b, "    if (r >= 0x%xu)\n        v.u = 0x7f800000u | r << %d;\n    else ",
                       top, 23 - f->mantissa);
    else if (f->nan)
        tnb_buf_printf(b, "    if (r == 0x%xu)\n        v.u = 0x7fc00000u;\n    else ", f->nan);
    else
        tnb_buf_puts(b, "    ");
    int least = 1 - f->bias - f->mantissa; /* the exponent of the least number: exact as a float */
    tnb_buf_printf(b,
                   "if (r < 0x%xu)\n        v.f = (float)r / %d.0f;\n    else\n"
                   "        v.u = (r << %d) + 0x%xu;\n    v.u |= (%s)(x >> %d & 1u) << 31;\n"
                   "    return v.f;\n}\n",
                   1u << f->mantissa, 1 << -least, 23 - f->mantissa,
                   (unsigned)(127 - f->bias) << 23, u32, sign);
    return name;
}

/* A double as the float next to it on the side of zero, with a last bit of 1 where that is not the
 * same: rounding again to fewer bits is then right. */
static const char *
to_odd(tnk_emitter *e)
{
    const char *u32 = e->d->uint32;
    if (tnk_once(e, "tk_odd"))
        tnb_buf_printf(
            &e->src->helpers,
            "%s float tk_odd(double x)\n{\n    union { float f; %s u; } v = {(float)x};\n"
            "    if (x == x && (double)v.f != x) {\n"
            "        v.u -= x < 0 ? (double)v.f < x : (double)v.f > x;\n"
            "        v.u |= 1u;\n    }\n    return v.f;\n}\n",
            e->d->inline_, u32);
    return "tk_odd";
}

const char *
tnk_help_widen_small(tnk_emitter *e, tnb_dtype small)
{
    const format *f = format_of(small);
    if (!f) {
        tnk_emit_fail(e, 0, "the dtype %s has no form in %s source", tnb_dtype_print(small).s,
                      e->d->base.name);
        return "";
    }
    const char *scalar = decoder(e, f);
    tnb_dtype fd = {TNB_FLOAT, 32, small.lanes}, ud = {TNB_UINT, 8, small.lanes};
    return small.lanes == 1 ? scalar : tnk_help_map(e, fd, ud, scalar, 1);
}

const char *
tnk_help_narrow_small(tnk_emitter *e, tnb_dtype small, uint8_t from_bits)
{
    const format *f = format_of(small);
    if (!f) {
        tnk_emit_fail(e, 0, "the dtype %s has no form in %s source", tnb_dtype_print(small).s,
                      e->d->base.name);
        return "";
    }
    const char *scalar = encoder(e, f);
    tnb_dtype fd = {TNB_FLOAT, from_bits, small.lanes}, ud = {TNB_UINT, 8, small.lanes};
    if (from_bits == 64) {
        const char *odd = to_odd(e), *wide = tn_strf(e->ctx, "%s_64", scalar);
        if (tnk_once(e, wide))
            tnb_buf_printf(&e->src->helpers, "%s %s %s(double x)\n{\n    return %s(%s(x));\n}\n",
                           e->d->inline_, e->d->uint8, wide, scalar, odd);
        scalar = wide;
    }
    return small.lanes == 1 ? scalar : tnk_help_map(e, ud, fd, scalar, 1);
}

/* ---- integers ---- */

const char *
tnk_help_wrap(tnk_emitter *e, tnb_dtype d)
{
    tnb_dtype c = tnk_compute_dtype(d);
    if (e->d->structs && d.lanes > 1)
        return tnk_help_map(e, c, c, tnk_help_wrap(e, with_lanes(d, 1)), 1);
    const char *t = tnk_c_type(e, c), *f = tn_strf(e->ctx, "tk_wrap%d_%s", d.bits, t);
    if (!tnk_once(e, f))
        return f;
    if (d.code == TNB_UINT)
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n    return x & %d;\n}\n",
                       e->d->inline_, t, f, t, (1 << d.bits) - 1);
    else if (d.lanes == 1) /* a shift of what is negative would not be defined */
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n    return (%s)(x * %d) >> %d;\n}\n",
                       e->d->inline_, t, f, t, t, 1 << (8 - d.bits), 8 - d.bits);
    else
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n    return x << %d >> %d;\n}\n",
                       e->d->inline_, t, f, t, 8 - d.bits, 8 - d.bits);
    return f;
}

static int
log2_per_byte(uint8_t bits)
{
    return bits == 4 ? 1 : bits == 2 ? 2 : 3;
}

/* The helper `scalar` over vectors of places, with a value to store or not. */
static const char *
over_lanes(tnk_emitter *e, const char *scalar, uint16_t n, const char *space, bool store)
{
    tnb_dtype ud = {TNB_UINT, 8, n}, id = {TNB_INT, tnk_index_bits(e), n};
    const char *uv = tnk_c_type(e, ud), *iv = tnk_c_type(e, id);
    const char *f = tn_strf(e->ctx, "%s_x%d", scalar, n);
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s%s%s *p, %s i%s%s%s)\n{\n", e->d->inline_, store ? "void" : uv, f,
                   store ? "" : "const ", space, e->d->uint8, iv, store ? ", " : "",
                   store ? uv : "", store ? " x" : "");
    if (!store)
        tnb_buf_printf(b, "    return %s", tnk_make_open(e, ud));
    for (int k = 0; k < n; k++) {
        const char *lane = tnk_lane(e, n, k);
        if (store)
            tnb_buf_printf(b, "    %s(p, i%s, x%s);\n", scalar, lane, lane);
        else
            tnb_buf_printf(b, "%s%s(p, i%s)", k ? ", " : "", scalar, lane);
    }
    if (!store)
        tnb_buf_printf(b, "%s;\n", tnk_make_close(e));
    tnb_buf_puts(b, "}\n");
    return f;
}

const char *
tnk_help_packed_load(tnk_emitter *e, uint8_t bits, uint16_t lanes, const char *space)
{
    const char *u8 = e->d->uint8;
    const char *f = tn_strf(e->ctx, *space ? "tk_ldp%d_%.*s" : "tk_ldp%d", bits,
                            (int)strcspn(space, " "), space);
    int s = log2_per_byte(bits);
    if (tnk_once(e, f))
        tnb_buf_printf(&e->src->helpers,
                       "%s %s %s(const %s%s *p, %s i)\n{\n"
                       "    return (%s)(p[i >> %d] >> (i & %d) * %d & %d);\n}\n",
                       e->d->inline_, u8, f, space, u8,
                       (e->d->no_int64 ? e->d->int32 : e->d->int64), u8, s, (1 << s) - 1, bits,
                       (1 << bits) - 1);
    return lanes == 1 ? f : over_lanes(e, f, lanes, space, false);
}

void
tnk_help_packed_store_by_byte(tnk_emitter *e, const char *name, uint8_t bits, const char *space)
{
    const char *u8 = e->d->uint8;
    int s = log2_per_byte(bits), mask = (1 << bits) - 1;
    if (!tnk_once(e, name))
        return;
    tnb_buf_printf(&e->src->helpers,
                   "%s void %s(%s%s *p, %s i, %s x)\n{\n"
                   "    const int s = (int)(i & %d) * %d;\n    p += i >> %d;\n"
                   "    *p = (%s)((*p & ~(%d << s)) | (x & %d) << s);\n}\n",
                   e->d->inline_, name, space, u8, (e->d->no_int64 ? e->d->int32 : e->d->int64), u8,
                   (1 << s) - 1, bits, s, u8, mask, mask);
}

const char *
tnk_help_packed_store(tnk_emitter *e, uint8_t bits, uint16_t lanes, const char *space)
{
    const char *f = e->d->packed_store
                        ? TNK_HOOK(e->src, "packed_store", e->d->packed_store(e, bits, space))
                        : NULL;
    if (!f) {
        tnk_emit_fail(e, 0, "a store of %d bits has no form in %s source", bits, e->d->base.name);
        return "";
    }
    return lanes == 1 ? f : over_lanes(e, f, lanes, space, true);
}
