/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of CUDA C++: structures that the language has (float4, char4, longlong2), and others that are defined at first use where
 * it has none, with more than 4 lanes or more than 16 bytes:
 *
 *     make_float4(a, b, c, d)        x.z        *(const float4 *)(A + i * 4)
 *     tk_make_short8(a, ..., h)      x.s5       *(const tk_short8 *)(A + i * 8)
 *
 * A float16 or a bfloat16 lies in memory as a short, unsigned: a vector of them is a ushort4. Memory is accessed with at most 16
 * bytes at once, to which larger structures are aligned.
 */
#include "cuda.h"

#include "tenon/kit/emit_hooks.h"

enum { MAX_BYTES = 16 };

/* "ushort" of an unsigned integer of 16 bits; NULL: no vector has such lanes. */
static const char *
word(tnb_dtype d)
{
    static const char *const ints[] = {"char", "short", "int", "longlong"},
                             *const uints[] = {"uchar", "ushort", "uint", "ulonglong"};
    int k = d.bits == 8 ? 0 : d.bits == 16 ? 1 : d.bits == 32 ? 2 : d.bits == 64 ? 3 : -1;
    if (k >= 0 && (d.code == TNB_INT || d.code == TNB_UINT))
        return d.code == TNB_INT ? ints[k] : uints[k];
    return d.code != TNB_FLOAT || k < 2 ? NULL : k == 2 ? "float" : "double";
}

static uint32_t
bytes(tnb_dtype d)
{
    return d.bits / 8u * d.lanes;
}

static bool
is_built_in(tnb_dtype d)
{
    return d.lanes <= 4 && bytes(d) <= MAX_BYTES;
}

/* Of three, a language's vector has the alignment of one. */
static uint32_t
align(tnb_dtype d)
{
    return d.lanes == 3 ? d.bits / 8u : bytes(d) < MAX_BYTES ? bytes(d) : MAX_BYTES;
}

static const char *
lane(uint16_t lanes, int i)
{
    static const char *const names[] = {"x",  "y",  "z",  "w",  "s0", "s1", "s2", "s3", "s4", "s5",
                                        "s6", "s7", "s8", "s9", "sa", "sb", "sc", "sd", "se", "sf"};
    return names[lanes <= 4 ? i : 4 + i];
}

static void
define(tnk_emitter *e, const char *type, const char *make, tnb_dtype d)
{
    const char *elem = tnk_c_type(e, (tnb_dtype){d.code, d.bits, 1});
    tnb_buf *b = tnk_helpers(e);
    tnb_buf_printf(b, "struct __align__(%u) %s {\n    %s ", align(d), type, elem);
    for (int i = 0; i < d.lanes; i++)
        tnb_buf_printf(b, "%s%s", i ? ", " : "", lane(d.lanes, i));
    tnb_buf_printf(b, ";\n};\n%s %s %s(", e->d->inline_, type, make);
    for (int i = 0; i < d.lanes; i++)
        tnb_buf_printf(b, "%s%s %s", i ? ", " : "", elem, lane(d.lanes, i));
    tnb_buf_printf(b, ")\n{\n    %s v = {", type);
    for (int i = 0; i < d.lanes; i++)
        tnb_buf_printf(b, "%s%s", i ? ", " : "", lane(d.lanes, i));
    tnb_buf_puts(b, "};\n    return v;\n}\n");
}

static const char *
type(tnk_emitter *e, tnb_dtype d)
{
    const char *w = word(d);
    if (!w || d.lanes > 16 || (d.lanes > 4 && d.lanes != 8 && d.lanes != 16))
        return NULL;
    if (is_built_in(d))
        return tn_strf(e->ctx, "%s%d", w, d.lanes);
    const char *name = tn_strf(e->ctx, "tk_%s%d", w, d.lanes);
    if (tnk_once(e, name))
        define(e, name, tn_strf(e->ctx, "tk_make_%s%d", w, d.lanes), d);
    return name;
}

static const char *
make(tnk_emitter *e, tnb_dtype d)
{
    return tn_strf(e->ctx, is_built_in(d) ? "make_%s%d" : "tk_make_%s%d", word(d), d.lanes);
}

const tnk_vector_structs cuda_vectors = {
    .type = type,
    .make = make,
    .lane = lane,
    .align = align,
};
