/* SPDX-License-Identifier: Apache-2.0 */
/* NarrowDataType: 64-bit index arithmetic becomes 32-bit where every intermediate value provably fits.
 *
 *     for i in range(T.int64(16)):              for i in range(16):
 *         if i * T.int64(5) < n:        =>          if T.Cast("int64", i * 5) < n:
 *             A[i * T.int64(4)] = 0                     A[i * 4] = 0
 *
 * Narrowed are loops, indices, comparisons, and what is cast to another type. Ranges come from loops, from conditions around, and
 * from a function's attribute tir_var_upper_bound ({"n": 4096}), which promises that a symbolic extent is at most that. What does not
 * fit stays; a part that fits within a sum that does is cast. Option target_bits: the width to narrow to. For devices whose
 * registers are 32 bits wide; processors keep 64 bits. Needs: flat buffers.
 */
#include "lower.h"

typedef struct narrow_state {
    int bits;
    tnb_ptrmap vars; /* wide variable -> narrow variable */
} narrow_state;

static bool
fits(tnk_ranged *r, const tn_expr *e, int bits)
{
    int64_t lo, hi, limit = ((int64_t)1 << (bits - 1)) - 1;
    tn_bounds(r->arith, e, &lo, &hi);
    return lo >= -limit && hi <= limit;
}

static const tn_expr *
narrow(tnk_ranged *r, const tn_expr *e);

/* The same operation on narrow operands; NULL: it has none, or they do not fit. */
static const tn_expr *
narrow_operands(tnk_ranged *r, const tn_expr *e)
{
    switch (e->kind) {
    case TN_KIND_ADD:
    case TN_KIND_SUB:
    case TN_KIND_MUL:
    case TN_KIND_DIV:
    case TN_KIND_MOD:
    case TN_KIND_FLOOR_DIV:
    case TN_KIND_FLOOR_MOD:
    case TN_KIND_MIN:
    case TN_KIND_MAX: {
        const tn_binary *b = (const tn_binary *)e;
        const tn_expr *x = narrow(r, b->a), *y = x ? narrow(r, b->b) : NULL;
        return y ? tn_bin(r->ctx, (tn_kind)e->kind, x, y) : NULL;
    }
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        const tn_expr *x = narrow(r, s->a), *y = x ? narrow(r, s->b) : NULL;
        return y ? tn_select_of(r->ctx, s->cond, x, y) : NULL;
    }
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)e;
        if (tn_is_intrin(e, TN_INTRIN_bitwise_xor)) {
            const tn_expr *x = narrow(r, c->args.at[0]), *y = x ? narrow(r, c->args.at[1]) : NULL;
            return y ? tn_bitwise_xor(r->ctx, x, y) : NULL;
        }
        if (!tn_is_intrin(e, TN_INTRIN_if_then_else) || c->args.n != 3)
            return NULL;
        const tn_expr *x = narrow(r, c->args.at[1]), *y = x ? narrow(r, c->args.at[2]) : NULL;
        return y ? tn_if_then_else(r->ctx, c->args.at[0], x, y) : NULL;
    }
    default:
        return NULL;
    }
}

/* `e`, a scalar integer, in the narrow type; NULL if it does not fit. Where some part of it does not, all of it is cast. */
static const tn_expr *
narrow(tnk_ranged *r, const tn_expr *e)
{
    narrow_state *st = r->user;
    tnb_dtype to = TNB_DTYPE(TNB_INT, (uint8_t)st->bits), d = tn_dtype_of(e);
    if (d.lanes != 1 || d.code != TNB_INT || !fits(r, e, st->bits))
        return NULL;
    if (d.bits <= st->bits)
        return tn_cast_to(r->ctx, to, e);
    if (e->kind == TN_KIND_INT_IMM)
        return tn_int_imm_of(r->ctx, to, ((const tn_int_imm *)e)->value);
    const tn_expr *x = e->kind == TN_KIND_VAR ? tnb_ptrmap_get(&st->vars, e) : NULL;
    if (!x && e->kind == TN_KIND_CAST && tn_dtype_of(((const tn_cast *)e)->value).code == TNB_INT)
        x = narrow(r, ((const tn_cast *)e)->value);
    if (!x)
        x = narrow_operands(r, e);
    return x ? x : tn_raw_cast(r->ctx, to, e);
}

/* The same, NULL also where there would be a cast more and no operation less. */
static const tn_expr *
gain(tnk_ranged *r, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    if (d.code != TNB_INT || d.bits <= ((narrow_state *)r->user)->bits)
        return NULL;
    const tn_expr *x = narrow(r, e);
    const tn_cast *c = x ? tn_as_cast(x) : NULL;
    return c && c->value == e ? NULL : x;
}

static const tn_node *
in_access(tnk_ranged *r, const tn_node *n, const tn_node *buffer, tn_list idx)
{
    const tn_expr *start = idx.n == 1 ? idx.at[0] : NULL;
    const tn_ramp *ramp = start ? tn_as_ramp(start) : NULL;
    const tn_expr *i = ramp ? gain(r, ramp->start) : start ? gain(r, start) : NULL;
    if (ramp && i) {
        uint16_t lanes = tn_dtype_of(start).lanes;
        const tn_expr *stride = narrow(r, ramp->stride),
                      *last = tn_add(r->ctx, ramp->start,
                                     tn_mul(r->ctx, ramp->stride,
                                            tn_int_imm_of(r->ctx, tn_dtype_of(ramp->stride),
                                                          lanes - 1)));
        i = stride && fits(r, last, ((narrow_state *)r->user)->bits)
                ? tn_ramp_of(r->ctx, i, stride, lanes)
                : NULL;
    }
    if (!i)
        return NULL;
    tn_list one = tn_list_of(r->ctx, &i, 1);
    return n->kind == TN_KIND_BUFFER_LOAD
               ? tn_buffer_load_of(r->ctx, buffer, one)
               : tn_buffer_store_of(r->ctx, buffer, ((const tn_buffer_store *)n)->value, one);
}

static const tn_node *
in_comparison(tnk_ranged *r, const tn_binary *b)
{
    const tn_expr *x = gain(r, b->a), *y = x ? narrow(r, b->b) : NULL;
    if (!x) {
        y = gain(r, b->b);
        x = y ? narrow(r, b->a) : NULL;
    }
    return x && y ? tn_cmp(r->ctx, (tn_kind)b->base.kind, x, y) : NULL;
}

static const tn_node *
in_cast(tnk_ranged *r, const tn_cast *c)
{
    tnb_dtype to = tn_dtype_of(TN_NODE(c));
    bool same = tnb_dtype_is_float(to) ||
                (to.code == TNB_INT && to.bits <= ((narrow_state *)r->user)->bits);
    const tn_expr *x = same ? gain(r, c->value) : NULL;
    return x ? tn_cast_to(r->ctx, to, x) : NULL;
}

static const tn_node *
node(tn_rewriter *rw, const tn_node *n)
{
    tnk_ranged *r = rw->user;
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    if (buffer)
        return in_access(r, n, buffer, idx);
    switch (n->kind) {
    case TN_KIND_EQ:
    case TN_KIND_NE:
    case TN_KIND_LT:
    case TN_KIND_LE:
    case TN_KIND_GT:
    case TN_KIND_GE:
        return in_comparison(r, (const tn_binary *)n);
    case TN_KIND_CAST:
        return in_cast(r, (const tn_cast *)n);
    default:
        return NULL;
    }
}

static const tn_expr *
in_expr(tnk_ranged *r, const tn_expr *e)
{
    tn_rewriter rw = {.ctx = r->ctx, .user = r, .post = node};
    return tn_rewrite(&rw, e);
}

/* The loop with a narrow variable; NULL: it stays. */
static const tn_stmt *
narrow_loop(tnk_ranged *r, const tn_for_loop *f)
{
    narrow_state *st = r->user;
    tn_arith_range(r->arith, f->var, f->min, f->extent);
    const tn_expr *min = narrow(r, f->min), *extent = narrow(r, f->extent);
    if (!min || !extent || !fits(r, f->var, st->bits) ||
        !fits(r, tn_add(r->ctx, f->min, f->extent), st->bits))
        return NULL;
    const tn_expr *v =
        tn_var_dtype(r->ctx, tn_var_name(f->var), TNB_DTYPE(TNB_INT, (uint8_t)st->bits));
    tnb_ptrmap_set(&st->vars, f->var, v);
    tn_arith_range(r->arith, v, min, extent);
    const tn_stmt *body = tnk_ranged_rewrite(r, f->body);
    body = tn_subst1(r->ctx, body, f->var, tn_cast_to(r->ctx, tn_dtype_of(f->var), v));
    return tn_for_of(r->ctx, v, min, extent, (tn_for_kind)f->for_kind, f->thread_tag,
                     f->annotations, body);
}

/* What is known within is the condition as it was: the variables in it are those that are narrowed here. */
static const tn_stmt *
narrow_if(tnk_ranged *r, const tn_if_stmt *s)
{
    const tn_expr *cond = in_expr(r, s->cond);
    uint32_t mark = tn_arith_push(r->arith, s->cond);
    const tn_stmt *a = tnk_ranged_rewrite(r, s->then_case), *b = NULL;
    tn_arith_pop(r->arith, mark);
    if (s->else_case) {
        mark = tn_arith_push(r->arith, tn_not(r->ctx, s->cond));
        b = tnk_ranged_rewrite(r, s->else_case);
        tn_arith_pop(r->arith, mark);
    }
    return cond == s->cond && a == s->then_case && b == s->else_case
               ? TN_NODE(s)
               : tn_if_stmt_of(r->ctx, cond, a, b);
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    if (s->kind == TN_KIND_IF_STMT)
        return narrow_if(r, (const tn_if_stmt *)s);
    const tn_for_loop *f = tn_as_for_loop(s);
    if (!f || tn_dtype_of(f->var).bits <= ((narrow_state *)r->user)->bits)
        return NULL;
    uint32_t mark = tn_arith_push(r->arith, NULL);
    const tn_stmt *n = narrow_loop(r, f);
    tn_arith_pop(r->arith, mark);
    return n;
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    tn_rewriter rw = {.ctx = r->ctx, .user = r};
    return s->kind == TN_KIND_BUFFER_STORE ? node(&rw, s) : NULL;
}

/* Promises about symbolic extents. */
static void
know_bounds(tnk_ranged *r, const tn_prim_func *f)
{
    const tn_node *upper = tn_dict_get(f->attrs, "tir_var_upper_bound");
    tn_list symbols = tn_defined_symbols(r->ctx, TN_NODE(f));
    for (uint32_t i = 0; upper && i < symbols.n; i++) {
        int64_t most = tn_dict_int(upper, tn_var_name(symbols.at[i]), -1);
        if (most >= 0)
            tn_arith_bounds_of_var(r->arith, symbols.at[i], 0, most);
    }
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    narrow_state st = {.bits = (int)tn_option_int(pc, "target_bits")};
    tnb_ptrmap_init(&st.vars, tn_scratch(ctx));
    tnk_ranged r = {.expr = in_expr, .pre = pre, .post = post, .user = &st};
    tnk_ranged_init(&r, ctx, f);
    know_bounds(&r, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

static const tn_attr_schema options[] = {
    {"target_bits", TN_ATTR_INT, 0, "32", "width of index arithmetic"},
    {0},
};

const tn_pass tnk_pass_narrow = {
    .base.size = sizeof(tn_pass),
    .base.name = "NarrowDataType",
    .base.doc = "Narrows index arithmetic where every intermediate value provably fits.",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
