/* SPDX-License-Identifier: Apache-2.0 */
/* What vectors are made of, as the dialect writes it: GNU vectors are built with braces, indexed and
 * converted by builtins; the vectors of OpenCL C have names, conversions and lanes of their own.
 *
 *     __builtin_convertvector(x, i32x4)   convert_int4(x)
 *     (i32x4)x                            as_int4(x)
 *     (f32x4){a, b, c, d}                 (float4)(a, b, c, d)
 *     x[2]                                x.s2
 */
#include "emit_private.h"

const char *
tnk_convert_open(tnk_emitter *e, tnb_dtype to)
{
    return e->d->gnu_vectors ? "__builtin_convertvector("
                             : tn_strf(e->ctx, "convert_%s(", tnk_c_type(e, to));
}

const char *
tnk_convert_close(tnk_emitter *e, tnb_dtype to)
{
    return e->d->gnu_vectors ? tn_strf(e->ctx, ", %s)", tnk_c_type(e, to)) : ")";
}

const char *
tnk_bits_open(tnk_emitter *e, tnb_dtype to)
{
    return tn_strf(e->ctx, e->d->gnu_vectors ? "((%s)" : "as_%s(", tnk_c_type(e, to));
}

const char *
tnk_bits_close(tnk_emitter *e, tnb_dtype to)
{
    (void)e;
    (void)to;
    return ")";
}

const char *
tnk_zeros(tnk_emitter *e, tnb_dtype d)
{
    return tn_strf(e->ctx, e->d->gnu_vectors ? "(%s){0}" : "((%s)(0))", tnk_c_type(e, d));
}

const char *
tnk_make_open(tnk_emitter *e, tnb_dtype d)
{
    return tn_strf(e->ctx, e->d->gnu_vectors ? "(%s){" : "(%s)(", tnk_c_type(e, d));
}

const char *
tnk_make_close(tnk_emitter *e)
{
    return e->d->gnu_vectors ? "}" : ")";
}

const char *
tnk_lane(tnk_emitter *e, int i)
{
    return tn_strf(e->ctx, e->d->gnu_vectors ? "[%d]" : ".s%x", i);
}

/* Some of the lanes of one vector, or of two of as many lanes as the result: its function, taking the
 * vectors. NULL: not such a shuffle. */
const char *
tnk_help_shuffle(tnk_emitter *e, const tn_shuffle *x)
{
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x->vectors.at[0]));
    uint32_t n = x->indices.n;
    if (x->vectors.n > 2 || d.lanes < 2 || n < 2 || tnb_dtype_is_bool(d))
        return NULL;
    tnb_buf key = {0}, made = {0};
    for (uint32_t i = 0; i < n; i++) {
        int64_t at;
        if (!tn_int_value(x->indices.at[i], &at) || at < 0 || at >= d.lanes * x->vectors.n) {
            tnb_buf_free(&key);
            tnb_buf_free(&made);
            return NULL;
        }
        tnb_buf_printf(&key, "%s%d", i ? ", " : "", (int)at);
        tnb_buf_printf(&made, "%s%c%s", i ? ", " : "", at < d.lanes ? 'a' : 'b',
                       tnk_lane(e, (int)(at % d.lanes)));
    }
    tnb_dtype r = d, id = {TNB_INT, d.bits, (uint16_t)n};
    r.lanes = (uint16_t)n;
    const char *v = tnk_c_type(e, d), *to = tnk_c_type(e, r), *indices = tn_str(e->ctx, key.s),
               *lanes = tn_str(e->ctx, made.s);
    tnb_buf_free(&key);
    tnb_buf_free(&made);
    const char *known = tn_strf(e->ctx, "shuffle %s %s", v, indices),
               *f = tnb_strmap_get(&e->src->have, known);
    if (f)
        return f;
    /* named by a number: lists of indices are long */
    f = tn_strf(e->ctx, "tk_shuffle%u", e->src->n_shuffles++);
    tnb_strmap_set(&e->src->have, known, (void *)(uintptr_t)f);
    const char *b = x->vectors.n > 1 ? "b" : "a";
    bool builtin = e->d->gnu_vectors && n == d.lanes;
    const char *it = builtin ? tnk_c_type(e, id) : NULL;
    tnb_buf_printf(&e->src->helpers, "%s %s %s(%s a%s%s)\n{\n", e->d->inline_, to, f, v,
                   x->vectors.n > 1 ? ", " : "",
                   x->vectors.n > 1 ? tn_strf(e->ctx, "%s b", v) : "");
    if (builtin)
        tnb_buf_printf(&e->src->helpers,
                       "#if defined(__clang__)\n    return __builtin_shufflevector(a, %s, %s);\n"
                       "#else\n    return __builtin_shuffle(a, %s, (%s){%s});\n#endif\n}\n",
                       b, indices, b, it, indices);
    else
        tnb_buf_printf(&e->src->helpers, "    return %s%s%s;\n}\n", tnk_make_open(e, r), lanes,
                       tnk_make_close(e));
    return f;
}
