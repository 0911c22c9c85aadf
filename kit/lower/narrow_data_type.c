/* SPDX-License-Identifier: Apache-2.0 */
/* NarrowDataType: 64-bit index arithmetic becomes 32-bit where every intermediate value provably fits.
 *
 *     for i in range(T.int64(16)):              for i in range(16):
 *         A[i * T.int64(4)] = 0         =>          A[i * 4] = 0
 *
 * Option target_bits: the width to narrow to. A loop is narrowed when all its uses are. For devices whose registers are 32 bits
 * wide; processors keep 64 bits. Needs: flat buffers.
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

/* `e` in the narrow type, NULL if some part does not fit. */
static const tn_expr *
narrow(tnk_ranged *r, const tn_expr *e)
{
    narrow_state *st = r->user;
    tnb_dtype to = TNB_DTYPE(TNB_INT, (uint8_t)st->bits);
    tnb_dtype d = tn_dtype_of(e);
    if (d.lanes != 1 || d.code != TNB_INT || !fits(r, e, st->bits))
        return NULL;
    if (d.bits <= st->bits)
        return tn_cast_to(r->ctx, to, e);
    switch (e->kind) {
    case TN_KIND_INT_IMM:
        return tn_int_imm_of(r->ctx, to, ((const tn_int_imm *)e)->value);
    case TN_KIND_VAR: {
        const tn_expr *v = tnb_ptrmap_get(&st->vars, e);
        return v ? v : tn_raw_cast(r->ctx, to, e);
    }
    case TN_KIND_CAST:
        return tn_dtype_of(((const tn_cast *)e)->value).code == TNB_INT
                   ? narrow(r, ((const tn_cast *)e)->value)
                   : NULL;
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
    default:
        return NULL;
    }
}

static const tn_node *
in_access(tn_rewriter *rw, const tn_node *n)
{
    tnk_ranged *r = rw->user;
    narrow_state *st = r->user;
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    if (!buffer || idx.n != 1)
        return NULL;
    tnb_dtype d = tn_dtype_of(idx.at[0]);
    const tn_expr *i = d.bits > st->bits ? narrow(r, idx.at[0]) : NULL;
    if (!i)
        return NULL;
    tn_list one = tn_list_of(rw->ctx, &i, 1);
    return n->kind == TN_KIND_BUFFER_LOAD
               ? tn_load(rw->ctx, buffer, one)
               : tn_store(rw->ctx, buffer, ((const tn_buffer_store *)n)->value, one);
}

static const tn_expr *
in_expr(tnk_ranged *r, const tn_expr *e)
{
    tn_rewriter rw = {.ctx = r->ctx, .user = r, .post = in_access};
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
    return tn_for(r->ctx, v, min, extent, (tn_for_kind)f->for_kind, f->thread_tag, f->annotations,
                  body);
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
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
    return s->kind == TN_KIND_BUFFER_STORE ? in_access(&rw, s) : NULL;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    narrow_state st = {.bits = (int)tn_option_int(pc, "target_bits")};
    tnb_ptrmap_init(&st.vars, tn_scratch(ctx));
    tnk_ranged r = {.expr = in_expr, .pre = pre, .post = post, .user = &st};
    tnk_ranged_init(&r, ctx, f);
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
    .size = sizeof(tn_pass),
    .name = "NarrowDataType",
    .doc = "Narrows index arithmetic where every intermediate value provably fits.",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
