/* SPDX-License-Identifier: Apache-2.0 */
/* What vectors are made of, as the dialect writes it: GNU vectors are built with braces, indexed and
 * converted by builtins; the vectors of OpenCL C have names, conversions and lanes of their own.
 *
 *     __builtin_convertvector(x, i32x4)   convert_int4(x)
 *     (i32x4)x                            as_int4(x)
 *     (f32x4){a, b, c, d}                 (float4)(a, b, c, d)
 *     x[2]                                x.s2
 *
 * Vectors that are structures (float4 of CUDA C++) have no operations: make_float4(a, b, c, d) and x.z are the dialect's, all else
 * is a function that goes lane by lane.
 */
#include "emit_private.h"

/* "f32x4", as names of helpers have it. */
static const char *
short_name(tnk_emitter *e, tnb_dtype d)
{
    return tn_strf(e->ctx, "%sx%d", tnk_or_none(tnk_short_name(with_lanes(d, 1))), d.lanes);
}

/* Writes a helper that makes a vector of what `fmt` makes of each lane's name, given four times. */
static void
lane_by_lane(tnk_emitter *e, const char *f, tnb_dtype ret, tnb_dtype arg, const char *args,
             const char *fmt)
{
    const char *r = tnk_c_type(e, ret), *a = tnk_c_type(e, arg), *make = tnk_make_open(e, ret);
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s a", e->d->inline_, r, f, a);
    if (*args)
        tnb_buf_printf(b, ", %s %s", a, args);
    tnb_buf_printf(b, ")\n{\n    return %s", make);
    for (int i = 0; i < ret.lanes; i++) {
        const char *lane = tnk_lane(e, ret.lanes, i);
        tnb_buf_puts(b, i ? ", " : "");
        for (const char *p = fmt; *p; p++)
            if (*p == '@')
                tnb_buf_puts(b, lane);
            else
                tnb_buf_putc(b, *p);
    }
    tnb_buf_printf(b, "%s;\n}\n", tnk_make_close(e));
}

const char *
tnk_convert_open(tnk_emitter *e, tnb_dtype from, tnb_dtype to)
{
    if (e->d->gnu_vectors)
        return "__builtin_convertvector(";
    if (!e->d->structs)
        return tn_strf(e->ctx, "convert_%s(", tnk_c_type(e, to));
    const char *f = tn_strf(e->ctx, "tk_cvt_%s_%s", short_name(e, from), short_name(e, to));
    if (tnk_once(e, f))
        lane_by_lane(e, f, to, from, "",
                     tn_strf(e->ctx, "(%s)a@", tnk_c_type(e, with_lanes(to, 1))));
    return tn_strf(e->ctx, "%s(", f);
}

const char *
tnk_convert_close(tnk_emitter *e, tnb_dtype to)
{
    return e->d->gnu_vectors ? tn_strf(e->ctx, ", %s)", tnk_c_type(e, to)) : ")";
}

const char *
tnk_bits_open(tnk_emitter *e, tnb_dtype from, tnb_dtype to)
{
    if (!e->d->structs)
        return tn_strf(e->ctx, e->d->gnu_vectors ? "((%s)" : "as_%s(", tnk_c_type(e, to));
    const char *f = tn_strf(e->ctx, "tk_bits_%s_%s", short_name(e, from), short_name(e, to)),
               *a = tnk_c_type(e, from), *r = tnk_c_type(e, to);
    if (tnk_once(e, f))
        tnb_buf_printf(&e->src->helpers,
                       "%s %s %s(%s x)\n{\n    union { %s a; %s b; } u;\n    u.a = x;\n"
                       "    return u.b;\n}\n",
                       e->d->inline_, r, f, a, a, r);
    return tn_strf(e->ctx, "%s(", f);
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
    if (e->d->structs)
        return tn_strf(e->ctx, "%s(0)", tnk_help_broadcast(e, d));
    return tn_strf(e->ctx, e->d->gnu_vectors ? "(%s){0}" : "((%s)(0))", tnk_c_type(e, d));
}

const char *
tnk_make_open(tnk_emitter *e, tnb_dtype d)
{
    const char *type = tnk_c_type(e, d);
    if (e->d->structs)
        return tn_strf(e->ctx, "%s(", TNK_HOOK(e->src, "structs->make", e->d->structs->make(e, d)));
    return tn_strf(e->ctx, e->d->gnu_vectors ? "(%s){" : "(%s)(", type);
}

const char *
tnk_make_close(tnk_emitter *e)
{
    return e->d->gnu_vectors ? "}" : ")";
}

const char *
tnk_lane(tnk_emitter *e, uint16_t lanes, int i)
{
    if (e->d->structs)
        return tn_strf(e->ctx, ".%s", e->d->structs->lane(lanes, i));
    return tn_strf(e->ctx, e->d->gnu_vectors ? "[%d]" : ".s%x", i);
}

/* The function of an operation on structures; comparisons give masks. */
static const char *
help_operator(tnk_emitter *e, const char *op, tnb_dtype d)
{
    static const char *const words[][2] = {
        {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "quo"}, {"%", "rem"},
        {"&", "and"}, {"|", "or"},  {"^", "xor"}, {"<", "lt"},  {"<=", "le"},
        {">", "gt"},  {">=", "ge"}, {"==", "eq"}, {"!=", "ne"},
    };
    const char *word = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words && !word; i++)
        word = strcmp(words[i][0], op) == 0 ? words[i][1] : NULL;
    if (!word) {
        tnk_emit_fail(e, 0, "the operation %s on vectors has no form in %s source", op,
                      e->d->base.name);
        return "";
    }
    const char *f = tn_strf(e->ctx, "tk_%s_%s", word, short_name(e, d));
    if (!tnk_once(e, f))
        return f;
    bool compares = strchr("<>=!", *op) != NULL,
         wraps = tnb_dtype_is_int(d) && strchr("+-*", *op) != NULL;
    /* signed numbers wrap around; those of 16 bits and less would be computed as int */
    const char *in =
        wraps ? tn_strf(e->ctx, "(%s)",
                        tnk_c_type(e, (tnb_dtype){TNB_UINT, d.bits > 32 ? d.bits : 32, 1}))
              : "";
    const char *fmt =
        compares ? tn_strf(e->ctx, "-(a@ %s b@)", op) : tn_strf(e->ctx, "%sa@ %s %sb@", in, op, in);
    lane_by_lane(e, f, compares ? tnk_mask_dtype(d.bits, d.lanes) : d, d, "b", fmt);
    return f;
}

const char *
tnk_op_open(tnk_emitter *e, const char *op, tnb_dtype d)
{
    return e->d->structs && d.lanes > 1 ? tn_strf(e->ctx, "%s(", help_operator(e, op, d)) : "(";
}

void
tnk_put_op(tnk_emitter *e, const char *op, tnb_dtype d)
{
    bool call = e->d->structs && d.lanes > 1;
    put(e, call ? "," : " ");
    if (!call)
        put(e, op);
    put(e, " ");
}

const char *
tnk_not_open(tnk_emitter *e, tnb_dtype d)
{
    if (!e->d->structs || d.lanes == 1)
        return "(~";
    const char *f = tn_strf(e->ctx, "tk_not_%s", short_name(e, d));
    if (tnk_once(e, f))
        lane_by_lane(e, f, d, d, "", "~a@");
    return tn_strf(e->ctx, "%s(", f);
}

/* Whether n, a power of two, divides an integer; variables that a common part of several indices is bound to are looked into. */
static bool
divides(tnk_emitter *e, int64_t n, const tn_expr *x, int depth)
{
    enum { MOST = 12 };
    int64_t coeff, base;
    tn_modular(tn_arith_new(e->ctx), x, &coeff, &base);
    if (n == 1 || (coeff % n == 0 && base % n == 0))
        return true;
    const tn_expr *value = tnb_ptrmap_get(&e->bound, x);
    const tn_binary *b = tn_as_binary(x);
    if (depth == MOST)
        return false;
    if (value)
        return divides(e, n, value, depth + 1);
    if (tn_is(x, TN_KIND_CAST))
        return divides(e, n, ((const tn_cast *)x)->value, depth + 1);
    if (tn_is(x, TN_KIND_ADD) || tn_is(x, TN_KIND_SUB))
        return divides(e, n, b->a, depth + 1) && divides(e, n, b->b, depth + 1);
    if (!tn_is(x, TN_KIND_MUL))
        return false;
    for (int64_t of_a = n; of_a > 0; of_a /= 2) /* a part in each factor */
        if (divides(e, n / of_a, b->b, depth + 1) && divides(e, of_a, b->a, depth + 1))
            return true;
    return false;
}

bool
tnk_is_whole_access(tnk_emitter *e, const tn_node *buffer, tnb_dtype d, const tn_expr *start)
{
    enum {
        USUAL = 64
    }; /* of buffers that say nothing; arrays are declared with what vectors need */
    if (!e->d->structs)
        return true;
    uint32_t align = e->d->structs->align(d), elem = d.bits / 8u;
    const tnk_memory *m = tnk_memory_of(e, buffer);
    int64_t promised = tn_as_buffer(buffer)->align;
    if (m && m->given && (promised > 0 ? promised : USUAL) % align)
        return false;
    return align <= elem || divides(e, align / elem, start, 0);
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
                       tnk_lane(e, d.lanes, (int)(at % d.lanes)));
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
