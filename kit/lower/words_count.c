/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 64 bits that count: indices, loops, scalars, and what is computed of them without loads. They are int32 where they
 * certainly fit, or where the host can check it.
 */
#include "words.h"

enum { NO = 1, YES = 2 };

/* The file by its name alone: an artifact does not depend on where its model lay. */
static const char *
place_of(tnk_words *w, tn_loc loc)
{
    tnb_place p = tn_loc_place(w->ctx, loc);
    const char *name = p.file ? strrchr(p.file, '/') : NULL;
    name = name ? name + 1 : p.file;
    return p.node   ? tn_strf(w->ctx, "node '%s': ", p.node)
           : p.file ? tn_strf(w->ctx, "%s:%u: ", name, p.line)
                    : "";
}

/* The host has to look before a launch whether `e` fits. */
void
tnk_words_require(tnk_words *w, const tn_expr *e, tn_loc loc, const char *what)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e);
    const tn_expr *most = tn_int_imm_of(ctx, d, INT32_MAX),
                  *least = tn_int_imm_of(ctx, d, d.code == TNB_INT ? -INT32_MAX : 0);
    const tn_expr *cond =
        tn_and(ctx, tn_cmp(ctx, TN_KIND_GE, e, least), tn_cmp(ctx, TN_KIND_LE, e, most));
    for (uint32_t i = 0; i < w->requires_.n; i++)
        if (tn_equal(ctx, tn_as_array(w->requires_.at[i])->items.at[0], cond, false, NULL))
            return;
    const char *front = tn_strf(ctx, "%skernel '%s': %s is ", place_of(w, loc), w->func, what);
    w->requires_ = tn_list_append(
        ctx, w->requires_,
        tn_array_of(ctx, tn_listv(ctx, cond, tn_string(ctx, front), e,
                                  tn_string(ctx, ", which the target's numbers of 32 bits do not "
                                                 "hold (its attribute supports_int64 is False)"),
                                  NULL)));
}

bool
tnk_words_given(tnk_words *w, const tn_expr *e)
{
    tn_list fv = tn_free_vars(w->ctx, e, true);
    for (uint32_t i = 0; i < fv.n; i++)
        if (!tnb_ptrmap_has(&w->given, fv.at[i]))
            return false;
    return true;
}

/* Bounds of a sum or product over all turns of the loops around it; the host checks those that it knows. */
static bool
fits_by_host(tnk_words *w, const tn_expr *e)
{
    const tn_expr *wide = tn_subst(w->ctx, e, &w->bound), *lo = wide, *hi = wide, *none;
    int64_t lowest = tn_dtype_of(e).code == TNB_INT ? -INT32_MAX : 0, least, most;
    if (tn_dtype_of(e).lanes != 1)
        return false;
    tn_bounds(w->arith, wide, &least, &most);
    /* bounds of inner loops may be made of the variables of outer ones */
    for (int i = 0; i < 4 && (!tnk_words_given(w, lo) || !tnk_words_given(w, hi)); i++)
        if (!tn_interval(w->arith, lo, w->loops, w->mins, w->extents, w->n_loops, &lo, &none) ||
            !tn_interval(w->arith, hi, w->loops, w->mins, w->extents, w->n_loops, &none, &hi))
            break;
    bool known = lo && hi && tnk_words_given(w, lo) && tnk_words_given(w, hi);
    if ((least < lowest || most > INT32_MAX) && !known)
        return false;
    if (least < lowest)
        tnk_words_require(w, lo, e->loc, tn_strf(w->ctx, "the number %s", tn_text(w->ctx, lo)));
    if (most > INT32_MAX)
        tnk_words_require(w, hi, e->loc, tn_strf(w->ctx, "the number %s", tn_text(w->ctx, hi)));
    return true;
}

static tn_walk_step
find_data(void *user, const tn_node *n)
{
    const tnk_words *w = user;
    int64_t v;
    if (!tn_is_scalar(n))
        return TN_WALK_SKIP;
    if (!tnk_is_wide(tn_dtype_of(n)))
        return n->kind == TN_KIND_BUFFER_LOAD ? TN_WALK_SKIP : TN_WALK_ON;
    bool large = tn_int_value(n, &v) &&
                 (v > INT32_MAX || v < (tn_dtype_of(n).code == TNB_INT ? -INT32_MAX : 0));
    return n->kind == TN_KIND_BUFFER_LOAD || large || tnb_ptrmap_has(&w->vars, n) ? TN_WALK_STOP
                                                                                  : TN_WALK_ON;
}

/* Whether e is certainly in [lo, hi]. */
static bool
is_within(tnk_words *w, const tn_expr *e, int64_t lo, int64_t hi)
{
    int64_t least, most;
    tn_bounds(w->arith, tn_subst(w->ctx, e, &w->bound), &least, &most);
    return least >= lo && most <= hi;
}

/* The least int32 has no opposite in int32. */
static bool
has_opposite(tnk_words *w, const tn_expr *e)
{
    return is_within(w, e, -INT32_MAX, INT64_MAX);
}

/* The lower word of a call is that of the operands' lower words, or their values fit. */
static bool
call_counts(tnk_words *w, const tn_expr *e)
{
    tn_list args = ((const tn_call *)e)->args;
    switch ((int)tn_intrin_of(e)) {
    case TN_INTRIN_bitwise_and:
    case TN_INTRIN_bitwise_or:
    case TN_INTRIN_bitwise_xor:
        return tnk_words_counts(w, args.at[0]) && tnk_words_counts(w, args.at[1]);
    case TN_INTRIN_bitwise_not:
    case TN_INTRIN_likely:
    case TN_INTRIN_tvm_thread_invariant:
        return tnk_words_counts(w, args.at[0]);
    case TN_INTRIN_shift_left:
        return tnk_words_counts(w, args.at[0]) && tnk_words_counts(w, args.at[1]) &&
               is_within(w, args.at[1], 0, 31);
    case TN_INTRIN_shift_right:
        return tnk_words_fit(w, args.at[0]) && tnk_words_counts(w, args.at[1]) &&
               is_within(w, args.at[1], 0, 31);
    case TN_INTRIN_index_in:
        return tnk_words_fit(w, args.at[0]) && tnk_words_fit(w, args.at[1]);
    case TN_INTRIN_abs:
        return tnk_words_fit(w, args.at[0]);
    case TN_INTRIN_if_then_else:
        return tnk_words_counts(w, args.at[1]) && tnk_words_counts(w, args.at[2]);
    default:
        return false;
    }
}

static bool
new_counts(tnk_words *w, const tn_expr *e)
{
    if (!tn_walk(e, TN_WALK_ONCE, find_data, NULL, w))
        return false;
    if (tn_is_binary(e)) {
        const tn_binary *b = (const tn_binary *)e;
        bool ring = e->kind == TN_KIND_ADD || e->kind == TN_KIND_SUB || e->kind == TN_KIND_MUL;
        return ring ? tnk_words_counts(w, b->a) && tnk_words_counts(w, b->b)
                    : tnk_words_fit(w, b->a) && tnk_words_fit(w, b->b);
    }
    switch (e->kind) {
    case TN_KIND_INT_IMM:
        return true;
    case TN_KIND_VAR:
        return tnb_ptrmap_has(&w->small, e);
    case TN_KIND_CAST: {
        const tn_expr *x = ((const tn_cast *)e)->value;
        return tnk_is_wide(tn_dtype_of(x)) ? tnk_words_counts(w, x)
                                           : !tnb_dtype_is_float(tn_dtype_of(x));
    }
    case TN_KIND_SELECT:
        return tnk_words_counts(w, ((const tn_select *)e)->a) &&
               tnk_words_counts(w, ((const tn_select *)e)->b);
    case TN_KIND_RAMP:
        return tnk_words_counts(w, ((const tn_ramp *)e)->start) &&
               tnk_words_counts(w, ((const tn_ramp *)e)->stride);
    case TN_KIND_BROADCAST:
        return tnk_words_counts(w, ((const tn_broadcast *)e)->value);
    case TN_KIND_CALL:
        return call_counts(w, e);
    default:
        return false;
    }
}

/* Whether the lower word of `e` is what int32 gives: nothing in it came as data, and what is divided, compared or moved to the
 * right on the way fits. */
bool
tnk_words_counts(tnk_words *w, const tn_expr *e)
{
    uintptr_t is = (uintptr_t)tnb_ptrmap_get(&w->counted, e);
    if (!is) {
        is = new_counts(w, e) ? YES : NO;
        tnb_ptrmap_set(&w->counted, e, (void *)is);
    }
    return is == YES;
}

static bool
new_fits(tnk_words *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    if (!tnk_words_counts(w, e))
        return false;
    switch (e->kind) {
    case TN_KIND_ADD:
    case TN_KIND_SUB:
    case TN_KIND_MUL:
        return fits_by_host(w, e);
    case TN_KIND_CAST: {
        const tn_expr *x = ((const tn_cast *)e)->value;
        tnb_dtype d = tn_dtype_of(x);
        if (tn_dtype_of(e).code == TNB_UINT && d.code == TNB_INT && !is_within(w, x, 0, INT64_MAX))
            return false;
        if (tnk_is_wide(d))
            return tnk_words_fit(w, x);
        return d.bits < 32 || d.code == TNB_INT || is_within(w, x, 0, INT32_MAX);
    }
    case TN_KIND_DIV:
    case TN_KIND_FLOOR_DIV: {
        const tn_binary *b = (const tn_binary *)e;
        return is_within(w, b->b, 0, INT64_MAX) || has_opposite(w, b->a);
    }
    case TN_KIND_SELECT:
        return tnk_words_fit(w, ((const tn_select *)e)->a) &&
               tnk_words_fit(w, ((const tn_select *)e)->b);
    case TN_KIND_BROADCAST:
        return tnk_words_fit(w, ((const tn_broadcast *)e)->value);
    case TN_KIND_RAMP: {
        const tn_ramp *r = (const tn_ramp *)e;
        const tn_expr *last =
            tn_mul(ctx, r->stride, tn_int_imm_of(ctx, tn_dtype_of(r->stride), r->lanes - 1));
        return tnk_words_fit(w, r->start) && tnk_words_fit(w, tn_add(ctx, r->start, last));
    }
    case TN_KIND_CALL:
        switch ((int)tn_intrin_of(e)) {
        case TN_INTRIN_shift_left:
            return false;
        case TN_INTRIN_bitwise_not:
            return tn_dtype_of(e).code == TNB_INT &&
                   tnk_words_fit(w, ((const tn_call *)e)->args.at[0]);
        case TN_INTRIN_shift_right:
        case TN_INTRIN_index_in:
            return true;
        case TN_INTRIN_abs:
            return has_opposite(w, ((const tn_call *)e)->args.at[0]);
        default: /* of operands, or the bits of theirs */
            for (uint32_t i = 0; i < ((const tn_call *)e)->args.n; i++) {
                const tn_expr *a = ((const tn_call *)e)->args.at[i];
                if (tnk_is_wide(tn_dtype_of(a)) && !tnk_words_fit(w, a))
                    return false;
            }
            return true;
        }
    default: /* a literal, a variable, a quotient: of what fits */
        return true;
    }
}

/* Whether int32 holds the value of `e`. */
bool
tnk_words_fit(tnk_words *w, const tn_expr *e)
{
    uintptr_t is = (uintptr_t)tnb_ptrmap_get(&w->fitting, e);
    if (!is) {
        is = new_fits(w, e) ? YES : NO;
        tnb_ptrmap_set(&w->fitting, e, (void *)is);
    }
    return is == YES;
}

/* A number that counts, as an int32. */
const tn_expr *
tnk_words_narrow(tnk_words *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e), to = tnk_lanes_as(TNB_I32, d);
    if (w->failed || !tnk_is_wide(d))
        return tn_cast_to(ctx, to, tnk_words_rest(w, e));
    if (tn_is_binary(e)) {
        const tn_binary *b = (const tn_binary *)e;
        return tn_bin(ctx, (tn_kind)e->kind, tnk_words_narrow(w, b->a), tnk_words_narrow(w, b->b));
    }
    switch (e->kind) {
    case TN_KIND_INT_IMM:
        return tn_int_imm_of(ctx, TNB_I32, ((const tn_int_imm *)e)->value);
    case TN_KIND_VAR: {
        const tn_expr *v = tnb_ptrmap_get(&w->small, e);
        return v ? v : tnk_words_refuse(w, e, tn_strf(ctx, "the variable '%s'", tn_var_name(e)));
    }
    case TN_KIND_CAST:
        return tnk_words_narrow(w, ((const tn_cast *)e)->value);
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        return tn_select_of(ctx, tnk_words_rest(w, s->cond), tnk_words_narrow(w, s->a),
                            tnk_words_narrow(w, s->b));
    }
    case TN_KIND_RAMP:
        return tn_ramp_of(ctx, tnk_words_narrow(w, ((const tn_ramp *)e)->start),
                          tnk_words_narrow(w, ((const tn_ramp *)e)->stride), d.lanes);
    case TN_KIND_BROADCAST:
        return tn_broadcast_of(ctx, tnk_words_narrow(w, ((const tn_broadcast *)e)->value),
                               ((const tn_broadcast *)e)->lanes);
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)e;
        tn_list args = c->args;
        for (uint32_t i = 0; i < args.n; i++)
            tn_list_change(ctx, &args, c->args, i,
                           tnk_is_wide(tn_dtype_of(c->args.at[i]))
                               ? tnk_words_narrow(w, c->args.at[i])
                               : tnk_words_rest(w, c->args.at[i]));
        return tn_scalar_call(ctx, to, c->op, args, c->attrs);
    }
    default:
        return tnk_words_refuse(w, e, tn_kinds[e->kind].name);
    }
}

/* An index, or the bound of a loop, which may have come as data. */
const tn_expr *
tnk_words_index(tnk_words *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e), to = tnk_lanes_as(TNB_I32, d);
    if (!tnk_is_wide(d) || tnk_words_counts(w, e))
        return tnk_is_wide(d) ? tnk_words_narrow(w, e) : tnk_words_rest(w, e);
    /* of parts, of which each fits or is out of every range */
    if (e->kind == TN_KIND_ADD || e->kind == TN_KIND_SUB || e->kind == TN_KIND_MUL)
        return tn_bin(ctx, (tn_kind)e->kind, tnk_words_index(w, ((const tn_binary *)e)->a),
                      tnk_words_index(w, ((const tn_binary *)e)->b));
    if (tn_as_ramp(e))
        return tn_ramp_of(ctx, tnk_words_index(w, tn_as_ramp(e)->start),
                          tnk_words_index(w, tn_as_ramp(e)->stride), d.lanes);
    if (tn_as_broadcast(e))
        return tn_broadcast_of(ctx, tnk_words_index(w, tn_as_broadcast(e)->value), d.lanes);
    if (tn_is_intrin(e, TN_INTRIN_index_in)) {
        const tn_call *c = (const tn_call *)e;
        tn_list args = c->args;
        for (uint32_t i = 0; i < 2; i++)
            tn_list_change(ctx, &args, c->args, i, tnk_words_index(w, c->args.at[i]));
        return tn_scalar_call(ctx, to, c->op, args, c->attrs);
    }
    tnk_pair p = tnk_words_data(w, e);
    const tn_expr *lo = tn_cast_to(ctx, to, p.lo),
                  *in_range = tn_cmp(ctx, TN_KIND_EQ, tn_cast_to(ctx, to, p.hi),
                                     tn_shift_right(ctx, lo, tnk_int_of(ctx, to, 31)));
    return tn_select_of(ctx, in_range, lo, tnk_int_of(ctx, to, INT32_MAX));
}
