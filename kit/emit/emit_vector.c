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
