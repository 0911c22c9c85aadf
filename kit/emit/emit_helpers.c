/* SPDX-License-Identifier: Apache-2.0 */
/* Helper functions of emitted source: each is written in front of the kernels when it is first
 * needed. */
#include "emit_private.h"

bool
tnk_once(tnk_emitter *e, const char *key)
{
    if (tnb_strmap_has(&e->src->have, key))
        return false;
    tnb_strmap_set(&e->src->have, key, (void *)(uintptr_t)1);
    return true;
}

static tnb_dtype
scalar_of(tnb_dtype d)
{
    d.lanes = 1;
    return d;
}

static const char *
named(tnk_emitter *e, const char *what, tnb_dtype d)
{
    const char *s = tnk_short_name(scalar_of(d));
    if (!s) {
        tnk_emit_fail(e, 0, "the dtype %s has no form in %s source", tnb_dtype_print(d).s,
                      e->d->base.name);
        s = "i32";
    }
    return d.lanes > 1 ? tn_strf(e->ctx, "tk_%s_%sx%d", what, s, d.lanes)
                       : tn_strf(e->ctx, "tk_%s_%s", what, s);
}

/* What the dialect has in front of the usual body of a helper; NULL: nothing. */
static const char *
body_of(tnk_emitter *e, tnk_helper helper, tnb_dtype d)
{
    return e->d->body ? TNK_HOOK(e->src, "body", e->d->body(e, helper, TN_INTRIN_NONE, d)) : NULL;
}

/* "X0, X1, ..." with `fmt` taking the lane. */
static const char *
lanes(tnk_emitter *e, const char *fmt_before, const char *fmt_after, uint16_t n)
{
    tnb_buf b = {0};
    for (uint16_t i = 0; i < n; i++)
        tnb_buf_printf(&b, "%s%s%d%s", i ? ", " : "", fmt_before, i, fmt_after);
    const char *s = tn_str(e->ctx, b.s ? b.s : "");
    tnb_buf_free(&b);
    return s;
}

const char *
tnk_help_broadcast(tnk_emitter *e, tnb_dtype d)
{
    const char *v = tnk_c_type(e, d), *s = tnk_c_type(e, scalar_of(d)), *f = named(e, "bc", d);
    if (tnk_once(e, f)) {
        tnb_buf all = {0};
        for (uint16_t i = 0; i < d.lanes; i++)
            tnb_buf_puts(&all, i ? ", x" : "x");
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n    return %s%s%s;\n}\n",
                       e->d->inline_, v, f, s, tnk_make_open(e, d), all.s, tnk_make_close(e));
        tnb_buf_free(&all);
    }
    return f;
}

const char *
tnk_help_ramp(tnk_emitter *e, tnb_dtype d)
{
    const char *v = tnk_c_type(e, d), *s = tnk_c_type(e, scalar_of(d)),
               *bc = tnk_help_broadcast(e, d), *f = named(e, "ramp", d);
    if (e->d->structs && tnk_once(e, f))
        tnb_buf_printf(&e->src->helpers,
                       "%s %s %s(%s start, %s stride)\n{\n    return %s%s%s;\n}\n", e->d->inline_,
                       v, f, s, s, tnk_make_open(e, d), lanes(e, "start + stride * ", "", d.lanes),
                       tnk_make_close(e));
    else if (tnk_once(e, f))
        tnb_buf_printf(
            &e->src->helpers,
            "%s %s %s(%s start, %s stride)\n{\n    return %s(start) + %s(stride) * %s%s%s;\n}\n",
            e->d->inline_, v, f, s, s, bc, bc, tnk_make_open(e, d), lanes(e, "", "", d.lanes),
            tnk_make_close(e));
    return f;
}

const char *
tnk_help_select(tnk_emitter *e, tnb_dtype d)
{
    const char *v = tnk_c_type(e, d), *m = tnk_c_type(e, tnk_mask_dtype(d.bits, d.lanes)),
               *f = named(e, "sel", d);
    if (!e->d->gnu_vectors) {
        if (!tnk_once(e, f))
            return f;
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s m, %s a, %s b)\n{\n    return ",
                       e->d->inline_, v, f, m, v, v);
        if (!e->d->structs)
            tnb_buf_puts(&e->src->helpers, "select(b, a, m");
        for (int i = 0; e->d->structs && i < d.lanes; i++) {
            const char *l = tnk_lane(e, d.lanes, i);
            tnb_buf_printf(&e->src->helpers, "%sm%s ? a%s : b%s", i ? ", " : tnk_make_open(e, d), l,
                           l, l);
        }
        tnb_buf_puts(&e->src->helpers, ");\n}\n");
        return f;
    }
    if (!tnk_once(e, f))
        return f;
    const char *own = body_of(e, TNK_HELPER_SELECT, d);
    tnb_buf_printf(&e->src->helpers, "%s %s %s(%s m, %s a, %s b)\n{\n%s%s", e->d->inline_, v, f, m,
                   v, v, tnk_or_none(own), own ? "#else\n" : "");
    tnb_buf_printf(&e->src->helpers, "    return (%s)((m & (%s)a) | (~m & (%s)b));\n%s}\n", v, m, m,
                   own ? "#endif\n" : "");
    return f;
}

/* The first operand stays when a comparison with NaN fails. */
const char *
tnk_help_minmax(tnk_emitter *e, tnb_dtype d, bool max)
{
    if (e->d->structs && d.lanes > 1)
        return tnk_help_map(e, d, d, tnk_help_minmax(e, scalar_of(d), max), 2);
    const char *v = tnk_c_type(e, d), *f = named(e, max ? "max" : "min", d);
    const char *sel = d.lanes > 1 ? tnk_help_select(e, d) : NULL;
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s a, %s b)\n{\n", e->d->inline_, v, f, v, v);
    if (d.lanes == 1) {
        tnb_buf_printf(b, "    return b %c a ? b : a;\n}\n", max ? '>' : '<');
        return f;
    }
    const char *m = tnk_c_type(e, tnk_mask_dtype(d.bits, d.lanes));
    const char *own = body_of(e, max ? TNK_HELPER_MAX : TNK_HELPER_MIN, d);
    tnb_buf_printf(b, "%s%s", tnk_or_none(own), own ? "#else\n" : "");
    if (e->d->gnu_vectors)
        tnb_buf_printf(b, "    return %s((%s)(b %c a), b, a);\n%s}\n", sel, m, max ? '>' : '<',
                       own ? "#endif\n" : "");
    else
        tnb_buf_printf(b, "    return %s(b %c a, b, a);\n}\n", sel, max ? '>' : '<');
    return f;
}

/* NaN if either is: T.max and T.min. */
const char *
tnk_help_nan_minmax(tnk_emitter *e, tnb_dtype d, bool max)
{
    if (e->d->structs && d.lanes > 1)
        return tnk_help_map(e, d, d, tnk_help_nan_minmax(e, scalar_of(d), max), 2);
    const char *v = tnk_c_type(e, d), *f = named(e, max ? "nmax" : "nmin", d);
    const char *plain = tnk_help_minmax(e, d, max);
    const char *sel = d.lanes > 1 ? tnk_help_select(e, d) : NULL;
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s a, %s b)\n{\n", e->d->inline_, v, f, v, v);
    if (!sel) {
        const char *own = body_of(e, max ? TNK_HELPER_NAN_MAX : TNK_HELPER_NAN_MIN, d);
        tnb_buf_printf(b, "%s%s", tnk_or_none(own), own ? "#endif\n" : "");
        tnb_buf_printf(b, "    return b %c a || b != b ? b : a;\n}\n", max ? '>' : '<');
    } else if (e->d->gnu_vectors)
        tnb_buf_printf(b, "    return %s((%s)(b != b), b, %s(a, b));\n}\n", sel,
                       tnk_c_type(e, tnk_mask_dtype(d.bits, d.lanes)), plain);
    else
        tnb_buf_printf(b, "    return %s(b != b, b, %s(a, b));\n}\n", sel, plain);
    return f;
}

/* An unsigned type in which integers of this dtype wrap: a device may have none of 64 bits. */
static const char *
wrapping(const tnk_emitter *e, tnb_dtype d)
{
    return d.bits > 32 ? e->d->uint64 : e->d->uint32;
}

/* Division by zero gives 0, the least integer by -1 wraps. */
const char *
tnk_help_int_div(tnk_emitter *e, tnb_dtype d, tn_kind kind)
{
    const char *what = kind == TN_KIND_DIV         ? "div"
                       : kind == TN_KIND_MOD       ? "mod"
                       : kind == TN_KIND_FLOOR_DIV ? "fdiv"
                                                   : "fmod";
    const char *t = tnk_c_type(e, d), *f = named(e, what, d);
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s a, %s b)\n{\n", e->d->inline_, t, f, t, t);
    bool quotient = kind == TN_KIND_DIV || kind == TN_KIND_FLOOR_DIV;
    if (d.code != TNB_INT) {
        tnb_buf_printf(b, "    return b == 0 ? 0 : (%s)(a %c b);\n}\n", t, quotient ? '/' : '%');
        return f;
    }
    tnb_buf_puts(b, "    if (b == 0)\n        return 0;\n");
    if (quotient)
        tnb_buf_printf(b, "    if (b == -1)\n        return (%s)(0 - (%s)a);\n", t, wrapping(e, d));
    else
        tnb_buf_puts(b, "    if (b == -1)\n        return 0;\n");
    if (kind == TN_KIND_DIV || kind == TN_KIND_MOD)
        tnb_buf_printf(b, "    return (%s)(a %c b);\n}\n", t, quotient ? '/' : '%');
    else if (quotient)
        tnb_buf_printf(b,
                       "    %s q = (%s)(a / b), r = (%s)(a %% b);\n    return (%s)(q - (r != 0 && "
                       "(r < 0) != (b < 0)));\n}\n",
                       t, t, t, t);
    else
        tnb_buf_printf(b,
                       "    %s r = (%s)(a %% b);\n    return r != 0 && (r < 0) != (b < 0) ? (%s)(r "
                       "+ b) : r;\n}\n",
                       t, t, t);
    return f;
}

/* A count of all bits or more shifts everything out. */
const char *
tnk_help_shift(tnk_emitter *e, tnb_dtype d, bool left)
{
    const char *t = tnk_c_type(e, d), *f = named(e, left ? "shl" : "shr", d);
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s a, %s n)\n{\n    if ((%s)n >= %d)\n        return %s;\n",
                   e->d->inline_, t, f, t, t, wrapping(e, d), d.bits,
                   left || d.code != TNB_INT ? "0" : "a < 0 ? -1 : 0");
    if (left)
        tnb_buf_printf(b, "    return (%s)((%s)a << n);\n}\n", t, wrapping(e, d));
    else
        tnb_buf_printf(b, "    return (%s)(a >> n);\n}\n", t);
    return f;
}

/* The same in 32 bits: the lower word of what 64 bits hold. */
static void
from_float_by_words(tnk_emitter *e, const char *f, const char *ft, const char *tt, const char *x)
{
    const char *i32 = e->d->int32, *u32 = e->d->uint32;
    tnb_buf_printf(&e->src->helpers,
                   "%s %s %s(%s x)\n{\n    if (x != x)\n        return 0;\n"
                   "    if (x > -2147483648.0%s && x < 2147483648.0%s)\n        return (%s)(%s)x;\n"
                   "    const %s a = x < 0 ? -x : x;\n"
                   "    if (a >= 9223372036854775808.0%s)\n        return (%s)(x < 0 ? 0 : -1);\n"
                   "    const %s high = (%s)(a * 2.3283064365386962890625e-10%s);\n"
                   "    const %s low = (%s)(a - (%s)high * 4294967296.0%s);\n"
                   "    return (%s)(x < 0 ? 0 - low : low);\n}\n",
                   e->d->inline_, tt, f, ft, x, x, tt, i32, ft, x, tt, u32, u32, x, u32, u32, ft, x,
                   tt);
}

/* Float to integer: towards zero, NaN gives 0, out of range the nearest of 64 bits, which is then
 * wrapped. */
const char *
tnk_help_from_float(tnk_emitter *e, tnb_dtype from, tnb_dtype to)
{
    const char *ft = tnk_c_type(e, from), *tt = tnk_c_type(e, to);
    const char *f = tn_strf(e->ctx, "tk_%s_to_%s", tnk_short_name(from), tnk_short_name(to));
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    bool u64 = to.code == TNB_UINT && to.bits == 64;
    /* a literal of the argument's own type: not every device has doubles */
    const char *x = e->d->gnu_vectors || from.bits == 64 ? "" : "f";
    if (e->d->no_int64) {
        from_float_by_words(e, f, ft, tt, from.bits == 64 ? "" : "f");
        return f;
    }
    tnb_buf_printf(b, "%s %s %s(%s x)\n{\n    if (x != x)\n        return 0;\n", e->d->inline_, tt,
                   f, ft);
    if (u64)
        tnb_buf_printf(b,
                       "    if (x >= 18446744073709551616.0%s)\n        return UINT64_MAX;\n    if "
                       "(x <= -9223372036854775808.0%s)\n"
                       "        return (uint64_t)INT64_MIN;\n    return x < 0 ? "
                       "(uint64_t)(int64_t)x : (uint64_t)x;\n}\n",
                       x, x);
    else
        tnb_buf_printf(b,
                       "    if (x >= 9223372036854775808.0%s)\n        return (%s)INT64_MAX;\n    "
                       "if (x <= -9223372036854775808.0%s)\n"
                       "        return (%s)INT64_MIN;\n    return (%s)(int64_t)x;\n}\n",
                       x, tt, x, tt, tt);
    return f;
}

/* The helper's name for memory of one address space. */
static const char *
in_space(tnk_emitter *e, const char *name, const char *space)
{
    size_t skip = strspn(space, "_"), n = strcspn(space + skip, " ");
    return n ? tn_strf(e->ctx, "%s_%.*s", name, (int)n, space + skip) : name;
}

static const char *
stride_type(const tnk_emitter *e)
{
    return e->d->no_int64 ? e->d->int32 : "int64_t";
}

const char *
tnk_help_strided_load(tnk_emitter *e, tnb_dtype d, const char *space)
{
    const char *v = tnk_c_type(e, d), *s = tnk_c_type(e, scalar_of(d)),
               *f = in_space(e, named(e, "lds", d), space);
    if (tnk_once(e, f))
        tnb_buf_printf(&e->src->helpers,
                       "%s %s %s(const %s%s *p, %s s)\n{\n    return %s%s%s;\n}\n", e->d->inline_,
                       v, f, space, s, stride_type(e), tnk_make_open(e, d),
                       lanes(e, "p[", " * s]", d.lanes), tnk_make_close(e));
    return f;
}

/* Every second element: two vectors, the second of which ends with the last element read. */
const char *
tnk_help_pair_load(tnk_emitter *e, tnb_dtype d)
{
    const char *v = tnk_c_type(e, d), *u = tnk_c_access_type(e, d),
               *s = tnk_c_type(e, scalar_of(d)), *f = named(e, "ld2", d);
    tnb_dtype id = {TNB_INT, d.bits, d.lanes};
    const char *iv = tnk_c_type(e, id);
    if (tnk_once(e, f)) {
        tnb_buf idx = {0};
        for (int i = 0; i < d.lanes; i++) /* a: 0 .. n-1; b: n-1 .. 2n-2 */
            tnb_buf_printf(&idx, "%s%d", i ? ", " : "", 2 * i < d.lanes ? 2 * i : 2 * i + 1);
        tnb_buf_printf(
            &e->src->helpers,
            "%s %s %s(const %s *p)\n{\n    %s a = *(const %s *)p, b = *(const %s *)(p + %d);\n"
            "#if defined(__clang__)\n    return __builtin_shufflevector(a, b, %s);\n#else\n"
            "    return __builtin_shuffle(a, b, (%s){%s});\n#endif\n}\n",
            e->d->inline_, v, f, s, v, u, u, d.lanes - 1, idx.s, iv, idx.s);
        tnb_buf_free(&idx);
    }
    return f;
}

const char *
tnk_help_gather(tnk_emitter *e, tnb_dtype d, const char *space)
{
    tnb_dtype id = {TNB_INT, tnk_index_bits(e), d.lanes};
    const char *v = tnk_c_type(e, d), *s = tnk_c_type(e, scalar_of(d)), *iv = tnk_c_type(e, id),
               *f = in_space(e, named(e, "ldg", d), space);
    if (tnk_once(e, f)) {
        tnb_buf all = {0};
        for (int i = 0; i < d.lanes; i++)
            tnb_buf_printf(&all, "%sp[i%s]", i ? ", " : "", tnk_lane(e, d.lanes, i));
        tnb_buf_printf(&e->src->helpers,
                       "%s %s %s(const %s%s *p, %s i)\n{\n    return %s%s%s;\n}\n", e->d->inline_,
                       v, f, space, s, iv, tnk_make_open(e, d), all.s, tnk_make_close(e));
        tnb_buf_free(&all);
    }
    return f;
}

const char *
tnk_help_strided_store(tnk_emitter *e, tnb_dtype d, const char *space)
{
    const char *v = tnk_c_type(e, d), *s = tnk_c_type(e, scalar_of(d)),
               *f = in_space(e, named(e, "sts", d), space);
    if (tnk_once(e, f)) {
        tnb_buf_printf(&e->src->helpers, "%s void %s(%s%s *p, %s s, %s x)\n{\n", e->d->inline_, f,
                       space, s, stride_type(e), v);
        for (int i = 0; i < d.lanes; i++)
            tnb_buf_printf(&e->src->helpers, "    p[%d * s] = x%s;\n", i, tnk_lane(e, d.lanes, i));
        tnb_buf_puts(&e->src->helpers, "}\n");
    }
    return f;
}

const char *
tnk_help_scatter(tnk_emitter *e, tnb_dtype d, const char *space)
{
    tnb_dtype id = {TNB_INT, tnk_index_bits(e), d.lanes};
    const char *v = tnk_c_type(e, d), *s = tnk_c_type(e, scalar_of(d)), *iv = tnk_c_type(e, id),
               *f = in_space(e, named(e, "stg", d), space);
    if (tnk_once(e, f)) {
        tnb_buf_printf(&e->src->helpers, "%s void %s(%s%s *p, %s i, %s x)\n{\n", e->d->inline_, f,
                       space, s, iv, v);
        for (int i = 0; i < d.lanes; i++)
            tnb_buf_printf(&e->src->helpers, "    p[i%s] = x%s;\n", tnk_lane(e, d.lanes, i),
                           tnk_lane(e, d.lanes, i));
        tnb_buf_puts(&e->src->helpers, "}\n");
    }
    return f;
}

static void
half_scalars(tnk_emitter *e)
{
    bool native = tnk_native_half(e, TNB_DTYPE(TNB_FLOAT, 16));
    if (native)
        tnk_need(e, "fp16");
    if (!tnk_once(e, "tk_half"))
        return;
    if (native) {
        tnb_buf_printf(&e->src->helpers,
                       "%s float tk_h2f(ushort h)\n{\n    return convert_float(as_half(h));\n}\n"
                       "%s ushort tk_f2h(float x)\n{\n    return as_ushort(convert_half_rte(x));"
                       "\n}\n",
                       e->d->inline_, e->d->inline_);
        return;
    }
    if (e->d->as_functions) { /* also where arithmetic on half is no part of the language */
        tnb_buf_printf(
            &e->src->helpers,
            "%s float tk_h2f(ushort h)\n{\n    return vload_half(0, (const half *)&h);\n}\n"
            "%s ushort tk_f2h(float x)\n{\n    ushort h;\n    vstore_half_rte(x, 0, "
            "(half *)&h);\n    return h;\n}\n",
            e->d->inline_, e->d->inline_);
        return;
    }
    const tnb_dtype half = TNB_DTYPE(TNB_FLOAT, 16);
    const char *widen = body_of(e, TNK_HELPER_WIDEN_HALF, half),
               *narrow = body_of(e, TNK_HELPER_NARROW_HALF, half);
    tnb_buf_printf(&e->src->helpers,
                   "%s float tk_h2f(uint16_t h)\n{\n%s%s"
                   "    union { uint32_t u; float f; } o = {(uint32_t)(h & 0x7fff) << 13};\n"
                   "    o.f *= 0x1p112f;\n"
                   "    if ((h & 0x7c00) == 0x7c00)\n        o.u |= 0x7f800000u;\n"
                   "    o.u |= (uint32_t)(h & 0x8000) << 16;\n    return o.f;\n%s}\n",
                   e->d->inline_, tnk_or_none(widen), widen ? "#else\n" : "",
                   widen ? "#endif\n" : "");
    tnb_buf_printf(
        &e->src->helpers,
        "%s uint16_t tk_f2h(float x)\n{\n%s%s"
        "    union { float f; uint32_t u; } v = {x};\n"
        "    uint32_t s = v.u >> 16 & 0x8000u, r;\n    v.u &= 0x7fffffffu;\n"
        "    if (v.u >= 0x47800000u) {\n        r = v.u > 0x7f800000u ? 0x7e00u : 0x7c00u;\n"
        "    } else if (v.u < 0x38800000u) {\n        v.f += 0.5f;\n        r = v.u - "
        "0x3f000000u;\n"
        "    } else {\n        v.u += 0xc8000fffu + (v.u >> 13 & 1u);\n        r = v.u >> 13;\n    "
        "}\n"
        "    return (uint16_t)(r | s);\n%s}\n",
        e->d->inline_, tnk_or_none(narrow), narrow ? "#else\n" : "", narrow ? "#endif\n" : "");
}

static void
bfloat_scalars(tnk_emitter *e)
{
    if (!tnk_once(e, "tk_bfloat"))
        return;
    if (e->d->as_functions) {
        tnb_buf_printf(&e->src->helpers,
                       "%s float tk_b2f(ushort h)\n{\n    return as_float((uint)h << 16);\n}\n"
                       "%s ushort tk_f2b(float x)\n{\n    uint u = as_uint(x);\n"
                       "    if (x != x)\n        return (ushort)(u >> 16 | 0x40u);\n"
                       "    return (ushort)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);\n}\n",
                       e->d->inline_, e->d->inline_);
        return;
    }
    tnb_buf_printf(&e->src->helpers,
                   "%s float tk_b2f(uint16_t h)\n{\n    union { uint32_t u; float f; } o = "
                   "{(uint32_t)h << 16};\n    return o.f;\n}\n"
                   "%s uint16_t tk_f2b(float x)\n{\n    union { float f; uint32_t u; } v = {x};\n"
                   "    if (x != x)\n        return (uint16_t)(v.u >> 16 | 0x40u);\n"
                   "    return (uint16_t)((v.u + 0x7fffu + (v.u >> 16 & 1u)) >> 16);\n}\n",
                   e->d->inline_, e->d->inline_);
}

static const char *
convert_16(tnk_emitter *e, tnb_dtype small, bool widen)
{
    bool half = small.code == TNB_FLOAT;
    if (half)
        half_scalars(e);
    else
        bfloat_scalars(e);
    const char *scalar = widen ? (half ? "tk_h2f" : "tk_b2f") : (half ? "tk_f2h" : "tk_f2b");
    if (small.lanes == 1)
        return scalar;
    tnb_dtype fd = {TNB_FLOAT, 32, small.lanes}, ud = {TNB_UINT, 16, small.lanes};
    const char *fv = tnk_c_type(e, fd), *uv = tnk_c_type(e, ud),
               *f = tn_strf(e->ctx, "%s_x%d", scalar, small.lanes);
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s x)\n{\n", e->d->inline_, widen ? fv : uv, f, widen ? uv : fv);
    if (tnk_native_half(e, small)) {
        tnb_buf_printf(b,
                       widen ? "    return convert_float%d(as_half%d(x));\n}\n"
                             : "    return as_ushort%d(convert_half%d_rte(x));\n}\n",
                       small.lanes, small.lanes);
        return f;
    }
    if (e->d->as_functions && half) {
        if (widen)
            tnb_buf_printf(b, "    return vload_half%d(0, (const half *)&x);\n}\n", small.lanes);
        else
            tnb_buf_printf(b,
                           "    ushort%d h;\n    vstore_half%d_rte(x, 0, (half *)&h);\n    return "
                           "h;\n}\n",
                           small.lanes, small.lanes);
        return f;
    }
    if (!e->d->gnu_vectors) {
        tnb_buf_printf(b, "    return %s", tnk_make_open(e, widen ? fd : ud));
        for (int i = 0; i < small.lanes; i++)
            tnb_buf_printf(b, "%s%s(x%s)", i ? ", " : "", scalar, tnk_lane(e, small.lanes, i));
        tnb_buf_puts(b, ");\n}\n");
        return f;
    }
    const char *own =
        half ? body_of(e, widen ? TNK_HELPER_WIDEN_HALF : TNK_HELPER_NARROW_HALF, small) : NULL;
    tnb_buf_printf(b, "%s%s", tnk_or_none(own), own ? "#else\n" : "");
    tnb_buf_printf(b,
                   "    %s r;\n    for (int i = 0; i < %d; i++)\n        r[i] = %s(x[i]);\n    "
                   "return r;\n%s}\n",
                   widen ? fv : uv, small.lanes, scalar, own ? "#endif\n" : "");
    return f;
}

const char *
tnk_help_widen(tnk_emitter *e, tnb_dtype small)
{
    if (small.bits <= 8)
        return tnk_help_widen_small(e, small);
    return convert_16(e, small, true);
}

const char *
tnk_help_narrow(tnk_emitter *e, tnb_dtype small)
{
    if (small.bits <= 8)
        return tnk_help_narrow_small(e, small, 32);
    return convert_16(e, small, false);
}

const char *
tnk_help_map(tnk_emitter *e, tnb_dtype ret, tnb_dtype arg, const char *fn, int n)
{
    const char *rv = tnk_c_type(e, ret), *av = tnk_c_type(e, arg);
    const char *f = tn_strf(e->ctx, "tk_map_%s_%s", fn, av);
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    if (!e->d->gnu_vectors) {
        tnb_buf_printf(b, "%s %s %s(%s a", e->d->inline_, rv, f, av);
        for (int k = 1; k < n; k++)
            tnb_buf_printf(b, ", %s %c", av, 'a' + k);
        tnb_buf_printf(b, ")\n{\n    return %s", tnk_make_open(e, ret));
        for (int i = 0; i < ret.lanes; i++) {
            tnb_buf_printf(b, "%s%s(a%s", i ? ", " : "", fn, tnk_lane(e, ret.lanes, i));
            for (int k = 1; k < n; k++)
                tnb_buf_printf(b, ", %c%s", 'a' + k, tnk_lane(e, ret.lanes, i));
            tnb_buf_puts(b, ")");
        }
        tnb_buf_puts(b, ");\n}\n");
        return f;
    }
    tnb_buf_printf(b,
                   "%s %s %s(%s a%s%s%s%s)\n{\n    %s r;\n    for (int i = 0; i < %d; i++)\n       "
                   " r[i] = %s(a[i]%s%s);\n    return r;\n}\n",
                   e->d->inline_, rv, f, av, n > 1 ? ", " : "", n > 1 ? av : "", n > 1 ? " b" : "",
                   n > 2 ? tn_strf(e->ctx, ", %s c", av) : "", rv, ret.lanes, fn,
                   n > 1 ? ", b[i]" : "", n > 2 ? ", c[i]" : "");
    return f;
}
