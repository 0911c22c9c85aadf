/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop costs one thread, roughly, in nanoseconds: so much that a team pays, and how many threads of it.
 *
 *     for i in T.parallel(n):          cost: (double)(n) * 38.4           if n is a scalar of the kernel
 *         for j in range(128):
 *             B[i, j] = A[i, j] + x[j]
 *
 * The figures are those of a core with vectors of 32 bytes at some 3.5 GHz whose data are in the second cache: a wrong one moves
 * the place where a second thread comes in by a little work, near which it neither gains nor loses much. A machine's own:
 * bench/threads.
 */
#include "c.h"

#include <math.h>

#include "tenon/base/num.h"

enum {
    UNKNOWN_TURNS = 256, /* of loops whose length the kernel's scalars do not tell */
    VECTOR_BITS = 256,
    MOST_THREADS = 1 << 20,
};

static const double FLOP_NS = 0.15, TOUCH_NS = 0.3, DIVISION_NS = 1.5, FUNCTION_NS = 5,
                    POWER_NS = 25, FOREIGN_NS = 10, /* a function of the system, for one element */
    TURN_NS = 0.15;

/* What a value costs, summed up. */
typedef struct value_cost {
    tnk_emitter *e;
    double ns, touch_ns;
} value_cost;

static double
vectors(tnb_dtype d)
{
    double bits = (double)d.bits * d.lanes;
    return bits > VECTOR_BITS ? bits / VECTOR_BITS : 1;
}

static double
call_cost(const tn_call *c, tnb_dtype d)
{
    const tn_op *op = tn_call_op_of(c);
    switch (op ? (int)op->intrin : TN_INTRIN_NONE) {
    case TN_INTRIN_exp:
    case TN_INTRIN_exp2:
    case TN_INTRIN_exp10:
    case TN_INTRIN_log:
    case TN_INTRIN_log2:
    case TN_INTRIN_log10:
    case TN_INTRIN_log1p:
    case TN_INTRIN_sigmoid:
    case TN_INTRIN_tanh:
    case TN_INTRIN_erf:
    case TN_INTRIN_sin:
    case TN_INTRIN_cos:
        return FUNCTION_NS * vectors(d);
    case TN_INTRIN_pow:
        return d.lanes > 1 ? POWER_NS * vectors(d) : FOREIGN_NS;
    case TN_INTRIN_tan:
    case TN_INTRIN_asin:
    case TN_INTRIN_acos:
    case TN_INTRIN_atan:
    case TN_INTRIN_atan2:
    case TN_INTRIN_sinh:
    case TN_INTRIN_cosh:
    case TN_INTRIN_asinh:
    case TN_INTRIN_acosh:
    case TN_INTRIN_atanh:
    case TN_INTRIN_fmod:
        return FOREIGN_NS * d.lanes;
    case TN_INTRIN_index_in:
        return 0; /* counted with what it reads or writes */
    case TN_INTRIN_sqrt:
    case TN_INTRIN_rsqrt:
        return DIVISION_NS * vectors(d);
    default:
        return FLOP_NS * vectors(d);
    }
}

/* Places are not counted but for their divisions, which scalars pay. */
static tn_walk_step
in_value(void *user, const tn_node *n)
{
    value_cost *v = user;
    if (n->kind == TN_KIND_BUFFER_LOAD) {
        const tnk_memory *m = tnk_memory_of(v->e, ((const tn_buffer_load *)n)->buffer);
        v->ns += m && m->promoted ? 0 : v->touch_ns * vectors(tn_dtype_of(n));
        return TN_WALK_ON;
    }
    if (n->kind == TN_KIND_CALL) {
        v->ns += call_cost((const tn_call *)n, tn_dtype_of(n));
        return TN_WALK_ON;
    }
    bool whole = n->kind == TN_KIND_DIV || n->kind == TN_KIND_MOD || n->kind == TN_KIND_FLOOR_DIV ||
                 n->kind == TN_KIND_FLOOR_MOD;
    tnb_dtype d = tn_is_binary(n) || n->kind == TN_KIND_SELECT || n->kind == TN_KIND_CAST
                      ? tn_dtype_of(n)
                      : TNB_I64;
    if (whole)
        v->ns += (tnb_dtype_is_float(d) ? DIVISION_NS * vectors(d) : FLOP_NS * 4);
    else if (tnb_dtype_is_float(d) || n->kind == TN_KIND_SELECT)
        v->ns += FLOP_NS * vectors(d);
    return TN_WALK_ON;
}

/* A store to a variable is none, and what it loads serves several (a tile's rows and columns). */
static double
store_cost(tnk_emitter *e, const tn_buffer_store *s)
{
    const tnk_memory *m = tnk_memory_of(e, s->buffer);
    bool promoted = m && m->promoted;
    value_cost v = {e, promoted ? 0 : TOUCH_NS * vectors(tn_dtype_of(s->value)),
                    promoted ? TOUCH_NS / 2 : TOUCH_NS};
    tn_walk(s->value, 0, in_value, NULL, &v);
    for (uint32_t i = 0; i < s->indices.n; i++)
        tn_walk(s->indices.at[i], 0, in_value, NULL, &v);
    return v.ns;
}

/* As source code, whatever the locale's point is. */
static const char *
spelled(tnk_emitter *e, double ns)
{
    return tn_strf(e->ctx, "%s", tnb_print_f64(floor(ns * 100 + 0.5) / 100).s);
}

static c_cost
times(tnk_emitter *e, c_cost c, const tn_expr *extent)
{
    int64_t n;
    if (tn_int_value(extent, &n)) {
        double turns = n > 0 ? (double)n : 0;
        return (c_cost){c.ns * turns,
                        c.text ? tn_strf(e->ctx, "%s * %s", tnb_print_f64(turns).s, c.text) : NULL};
    }
    bool known = true;
    tn_list vars = tn_free_vars(e->ctx, extent, true);
    for (uint32_t i = 0; i < vars.n && known; i++)
        known = tnk_find_param(e->kernel, vars.at[i]) != NULL;
    if (!known)
        return (c_cost){c.ns * UNKNOWN_TURNS,
                        c.text ? tn_strf(e->ctx, "%d.0 * %s", UNKNOWN_TURNS, c.text) : NULL};
    tnb_buf text = {0}, *out = e->out;
    e->out = &text;
    tnk_emit_expr(e, extent);
    e->out = out;
    const char *one = c.text ? c.text : spelled(e, c.ns);
    c = (c_cost){c.ns * UNKNOWN_TURNS,
                 tn_strf(e->ctx, "(double)(%s) * %s", text.s ? text.s : "", one)};
    tnb_buf_free(&text);
    return c;
}

static c_cost
plus(tnk_emitter *e, c_cost a, c_cost b)
{
    c_cost c = {a.ns + b.ns, NULL};
    if (!a.text && !b.text)
        return c;
    const char *l = a.text ? a.text : spelled(e, a.ns);
    const char *r = b.text ? b.text : spelled(e, b.ns);
    c.text = tn_strf(e->ctx, "(%s + %s)", l, r);
    return c;
}

c_cost
c_cost_of(tnk_emitter *e, const tn_stmt *s)
{
    c_cost c = {0, NULL};
    if (!s)
        return c;
    switch (s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            c = plus(e, c, c_cost_of(e, ((const tn_seq *)s)->stmts.at[i]));
        return c;
    case TN_KIND_FOR: {
        const tn_for_loop *f = (const tn_for_loop *)s;
        return times(e, plus(e, (c_cost){TURN_NS, NULL}, c_cost_of(e, f->body)), f->extent);
    }
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = (const tn_if_stmt *)s;
        c = (c_cost){TURN_NS, NULL};
        c = plus(e, c, c_cost_of(e, i->then_case));
        return i->else_case ? plus(e, c, c_cost_of(e, i->else_case)) : c;
    }
    case TN_KIND_WHILE:
        return (c_cost){64 * c_cost_of(e, ((const tn_while_loop *)s)->body).ns, NULL};
    case TN_KIND_ATTR_STMT:
        return c_cost_of(e, ((const tn_attr_stmt *)s)->body);
    case TN_KIND_BUFFER_STORE:
        return (c_cost){store_cost(e, (const tn_buffer_store *)s), NULL};
    case TN_KIND_BIND: {
        value_cost v = {e, 0, TOUCH_NS};
        tn_walk(((const tn_bind *)s)->value, 0, in_value, NULL, &v);
        return (c_cost){v.ns, NULL};
    }
    default:
        return (c_cost){FLOP_NS, NULL};
    }
}

int
c_cost_threads(double ns)
{
    double threads = ns / (C_TEAM_NS / 2);
    return threads > MOST_THREADS ? MOST_THREADS : (int)threads;
}
