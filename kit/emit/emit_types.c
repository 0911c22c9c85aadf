/* SPDX-License-Identifier: Apache-2.0 */
/* C types of dtypes. */
#include "emit_private.h"

#include <stdio.h>

const char *
tnk_short_name(tnb_dtype d)
{
    static const char *const ints[4] = {"i8", "i16", "i32", "i64"}, *const uints[4] = {"u8", "u16",
                                                                                       "u32",
                                                                                       "u64"};
    int k = d.bits == 8 ? 0 : d.bits == 16 ? 1 : d.bits == 32 ? 2 : d.bits == 64 ? 3 : -1;
    if (k < 0)
        return NULL;
    switch (d.code) {
    case TNB_INT:
        return ints[k];
    case TNB_UINT:
        return uints[k];
    case TNB_FLOAT:
        return d.bits == 64 ? "f64" : d.bits == 32 ? "f32" : NULL;
    default:
        return NULL;
    }
}

tnb_dtype
tnk_compute_dtype(tnb_dtype d)
{
    if (d.code == TNB_BOOL)
        return (tnb_dtype){TNB_INT, 32, d.lanes};
    if (tnb_dtype_is_float(d) && d.bits <= 16)
        return (tnb_dtype){TNB_FLOAT, 32, d.lanes};
    if (tnb_dtype_is_int(d) && d.bits < 8)
        return (tnb_dtype){d.code, 8, d.lanes};
    return d;
}

tnb_dtype
tnk_storage_dtype(tnb_dtype d)
{
    if (d.code == TNB_BOOL)
        return (tnb_dtype){TNB_UINT, 8, d.lanes};
    if (tnb_dtype_is_float(d) && d.bits <= 16)
        return (tnb_dtype){TNB_UINT, d.bits == 16 ? 16 : 8, d.lanes};
    if (tnb_dtype_is_int(d) && d.bits < 8)
        return (tnb_dtype){TNB_UINT, 8, d.lanes};
    return d;
}

tnb_dtype
tnk_mask_dtype(uint8_t bits, uint16_t lanes)
{
    return (tnb_dtype){TNB_INT, bits, lanes};
}

bool
tnk_native_half(const tnk_emitter *e, tnb_dtype d)
{
    return e->d->has_half && d.code == TNB_FLOAT && d.bits == 16 && e->src->allowed &&
           tnk_allows(e, "fp16");
}

const char *const *
tnk_allowed(const tnk_emitter *e)
{
    return e->src->allowed;
}

bool
tnk_allows(const tnk_emitter *e, const char *feature)
{
    const char *const *f = e->src->allowed;
    if (!f)
        return true;
    for (; *f; f++)
        if (!strcmp(*f, feature))
            return true;
    return false;
}

void
tnk_need(tnk_emitter *e, const char *feature)
{
    tnk_source *s = e->src;
    tnb_strmap_set(&s->used, feature, (void *)(uintptr_t)1);
    if (!tnk_allows(e, feature))
        tnk_emit_fail(e, e->kernel->func->loc,
                      "it needs the feature '%s', which the target does not have", feature);
}

static const char *
scalar_type(tnk_emitter *e, tnb_dtype d)
{
    const tnk_dialect *t = e->d;
    const char *ints[4] = {t->int8, t->int16, t->int32, t->int64};
    const char *uints[4] = {t->uint8, t->uint16, t->uint32, t->uint64};
    int k = d.bits == 8 ? 0 : d.bits == 16 ? 1 : d.bits == 32 ? 2 : d.bits == 64 ? 3 : -1;
    if (k == 3 && t->no_int64 && tnb_dtype_is_int(d)) {
        tnk_emit_fail(e, e->kernel->func->loc,
                      "a number of %s has no form in %s source: is the target's attribute "
                      "supports_int64 False, and LowerInt64 in its list?",
                      tnb_dtype_print(d).s, t->base.name);
        return "int";
    }
    if (k >= 0 && d.code == TNB_INT)
        return ints[k];
    if (k >= 0 && d.code == TNB_UINT)
        return uints[k];
    if (d.code == TNB_FLOAT && d.bits == 32)
        return "float";
    if (d.code == TNB_FLOAT && d.bits == 64) {
        if (!t->gnu_vectors)
            tnk_need(e, "fp64");
        return "double";
    }
    if (d.code == TNB_BOOL)
        return "int";
    tnk_emit_fail(e, 0, "the dtype %s has no form in %s source", tnb_dtype_print(d).s,
                  t->base.name);
    return "int";
}

static const char *
vector_type(tnk_emitter *e, tnb_dtype d, bool anywhere)
{
    tnb_dtype s = d;
    s.lanes = 1;
    const char *elem = scalar_type(e, s), *name = tnk_short_name(s);
    if (e->d->structs) {
        const char *v = name ? TNK_HOOK(e->src, "structs->type", e->d->structs->type(e, d)) : NULL;
        if (!v)
            tnk_emit_fail(e, 0, "a vector of %d %s has no form in %s source", d.lanes,
                          tnb_dtype_print(s).s, e->d->base.name);
        return v ? v : "int";
    }
    if (!e->d->gnu_vectors) {
        if (name && (d.lanes <= 4 || d.lanes == 8 || d.lanes == 16))
            return tn_strf(e->ctx, "%s%d", elem, d.lanes);
        tnk_emit_fail(e, 0, "a vector of %d %s has no form in %s source", d.lanes,
                      tnb_dtype_print(s).s, e->d->base.name);
        return "int";
    }
    if (!name || (d.lanes & (d.lanes - 1))) {
        tnk_emit_fail(e, 0, "a vector of %d %s has no form in source", d.lanes,
                      tnb_dtype_print(s).s);
        return "int";
    }
    char text[40];
    size_t n = (size_t)snprintf(text, sizeof text, "%sx%d_u", name, d.lanes);
    const char *v = tn_strn(e->ctx, text, n - 2), *u = anywhere ? tn_strn(e->ctx, text, n) : NULL;
    if (tnk_once(e, v))
        tnb_buf_printf(&e->src->helpers,
                       "typedef %s %s __attribute__((vector_size(%d)));\n"
                       "typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));\n",
                       elem, v, d.lanes * d.bits / 8, elem, text, d.lanes * d.bits / 8, d.bits / 8);
    return anywhere ? u : v;
}

const char *
tnk_c_type(tnk_emitter *e, tnb_dtype d)
{
    return d.lanes > 1 ? vector_type(e, d, false) : scalar_type(e, d);
}

const char *
tnk_c_access_type(tnk_emitter *e, tnb_dtype d)
{
    return d.lanes > 1 ? vector_type(e, d, true) : scalar_type(e, d);
}
