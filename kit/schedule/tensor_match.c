/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a nest of loops computes what the meaning of a tensor intrinsic says, and of which parts of which
 * buffers.
 *
 *     for i < 4: for j < 4: C[v0 * 4 + i, v1 * 4 + j] = ...      is, with i for a and j for b,
 *     for b < 4: for a < 4: X[a, b] = ...                        where X is C from (v0 * 4, v1 * 4)
 *
 * Both become one store in loops (tnk_nest_form). Loops correspond in any order if it does not matter to the program; operands of
 * commutative operators may change places; indices are compared as linear forms.
 */
#include "schedule_private.h"

#include "tenon/core/text.h"

#include <stdio.h>

enum { MAX_TRIES = 5040 };

/* ---- a nest as one store ---- */

const char *
tnk_nest_form_of(tn_ctx *ctx, const tn_stmt *body, tnk_nest_form *out)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    *out = (tnk_nest_form){.ordered = false};
    const tn_stmt *s = body;
    while (s->kind != TN_KIND_BUFFER_STORE) {
        const tn_for_loop *f = tn_as_for_loop(s);
        const tn_block_realize *br = tn_as_block_realize(s);
        if (f) {
            int64_t extent;
            if (f->for_kind == TN_FOR_THREAD_BINDING || f->for_kind == TN_FOR_PARALLEL)
                return "a loop is bound to threads";
            if (!tn_int_value(f->extent, &extent))
                return tn_strf(ctx, "the extent of the loop '%s' is not constant",
                               tn_var_name(f->var));
            if (extent != 1 && !tn_is_int_const(f->min, 0))
                return tn_strf(ctx, "the loop '%s' does not begin at 0", tn_var_name(f->var));
            if (extent == 1) {
                tnb_ptrmap_set(&map, f->var, f->min);
            } else if (out->n == TNK_FORM_LOOPS) {
                return "there are too many loops";
            } else {
                out->vars[out->n] = f->var;
                out->extents[out->n++] = extent;
            }
            out->ordered |= extent != 1;
            s = f->body;
        } else if (br) {
            const tn_block *b = tn_as_block(br->block);
            if (b->init)
                return tn_strf(ctx, "block '%s' has an init (decompose_reduction takes it out)",
                               b->name);
            if (b->allocs.n || b->match_buffers.n)
                return tn_strf(ctx, "block '%s' has buffers of its own", b->name);
            if (br->predicate && !tn_is_int_const(br->predicate, 1))
                return tn_strf(ctx, "block '%s' is guarded by a predicate", b->name);
            /* what iterators say holds for the loops around */
            bool plain = b->iters.n > 0;
            for (uint32_t k = 0; k < b->iters.n; k++) {
                const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
                plain &= iv->iter_kind == TN_ITER_SPATIAL || iv->iter_kind == TN_ITER_REDUCE;
                tnb_ptrmap_set(&map, iv->var,
                               tn_cast_to(ctx, tn_dtype_of(iv->var),
                                          tn_subst(ctx, br->values.at[k], &map)));
            }
            out->ordered &= !plain;
            s = b->body;
        } else {
            return "it holds something else than loops around one block with one store";
        }
    }
    out->store = (const tn_buffer_store *)tn_subst(ctx, s, &map);
    return NULL;
}

/* ---- comparing ---- */

/* Of the reasons why attempts failed, the one that came furthest is told. */
static bool
differ(tnk_match *m, const char *fmt, ...) TNB_PRINTF(2, 3);

static bool
differ(tnk_match *m, const char *fmt, ...)
{
    if (m->why && m->steps < m->best)
        return false;
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    m->why = tn_str(m->ctx, text);
    m->best = m->steps + 1;
    return false;
}

/* mine = the loops' part of `meant` + *base */
static bool
index_fits(tnk_match *m, const tn_expr *mine, const tn_expr *meant, const tn_expr **base)
{
    const tn_expr *cm[TNK_FORM_LOOPS], *cu[TNK_FORM_LOOPS], *rest;
    int64_t a, b, start;
    if (!tn_linear(m->arith, tn_simplify(m->arith, mine), m->mine.vars, m->mine.n, cu, base))
        return differ(m, "the index %s is no linear form of the loops", tn_text(m->ctx, mine));
    if (!tn_linear(m->arith, meant, m->meant.vars, m->meant.n, cm, &rest) ||
        !tn_int_value(tn_simplify(m->arith, rest), &start))
        return differ(m, "the index %s of the meaning is no linear form of the loops",
                      tn_text(m->ctx, meant));
    for (uint32_t j = 0; j < m->meant.n; j++)
        if (!tn_int_value(tn_simplify(m->arith, cm[j]), &a) ||
            !tn_int_value(tn_simplify(m->arith, cu[m->is[j]]), &b) || a != b)
            return differ(m, "the index %s stands where the meaning has %s", tn_text(m->ctx, mine),
                          tn_text(m->ctx, meant));
    *base = tn_simplify(m->arith,
                        tn_sub(m->ctx, *base, tn_int_imm_of(m->ctx, tn_dtype_of(*base), start)));
    return true;
}

static const char *
scope_of(const tn_buffer *b)
{
    return b->scope && *b->scope ? b->scope : "global";
}

static bool
access_fits(tnk_match *m, const tn_node *mine, tn_list idx, const tn_node *meant, tn_list meant_idx)
{
    const tn_buffer *u = tn_as_buffer(mine), *d = tn_as_buffer(meant);
    if (!tnb_dtype_eq(u->dtype, d->dtype))
        return differ(m, "'%s' holds %s, the meaning's '%s' %s", u->name,
                      tnb_dtype_print(u->dtype).s, d->name, tnb_dtype_print(d->dtype).s);
    if (strcmp(scope_of(u), scope_of(d)))
        return differ(m, "'%s' is in the scope %s, the meaning's '%s' in %s", u->name, scope_of(u),
                      d->name, scope_of(d));
    if (idx.n < meant_idx.n)
        return differ(m, "'%s' has %u dimensions, the meaning's '%s' %u", u->name, idx.n, d->name,
                      meant_idx.n);
    uint32_t at = 0, lead = idx.n - meant_idx.n;
    while (at < m->n && m->parts[at].of != meant)
        at++;
    if (at < m->n && m->parts[at].is != mine)
        return differ(m, "'%s' and '%s' stand for the meaning's one '%s'",
                      tn_as_buffer(m->parts[at].is)->name, u->name, d->name);
    if (at == TNK_FORM_PARTS)
        return differ(m, "the meaning has too many buffers");
    const tn_expr **base = TNB_NEW_N(tn_scratch(m->ctx), const tn_expr *, idx.n + 1);
    for (uint32_t k = 0; k < idx.n; k++) {
        if (k < lead) {
            base[k] = tn_simplify(m->arith, idx.at[k]);
            for (uint32_t j = 0; j < m->mine.n; j++)
                if (tn_uses(base[k], m->mine.vars[j]))
                    return differ(m, "'%s' is accessed in more dimensions than the meaning's '%s'",
                                  u->name, d->name);
        } else if (!index_fits(m, idx.at[k], meant_idx.at[k - lead], &base[k])) {
            return false;
        }
        if (at < m->n && !tn_prove_eq(m->arith, base[k], m->parts[at].base[k]))
            return differ(m, "'%s' is accessed in two places, the meaning's '%s' in one", u->name,
                          d->name);
    }
    if (at == m->n)
        m->parts[m->n++] = (tnk_part){.of = meant, .is = mine, .base = base, .lead = lead};
    m->steps++;
    return true;
}

static bool
value_fits(tnk_match *m, const tn_expr *mine, const tn_expr *meant);

static bool
list_fits(tnk_match *m, tn_list mine, tn_list meant)
{
    if (mine.n != meant.n)
        return differ(m, "a call has %u operands, the meaning's %u", mine.n, meant.n);
    for (uint32_t i = 0; i < mine.n; i++)
        if (!value_fits(m, mine.at[i], meant.at[i]))
            return false;
    return true;
}

static bool
binary_fits(tnk_match *m, const tn_binary *mine, const tn_binary *meant)
{
    tn_kind k = (tn_kind)mine->base.kind;
    bool commutes = k == TN_KIND_ADD || k == TN_KIND_MUL || k == TN_KIND_MIN || k == TN_KIND_MAX ||
                    k == TN_KIND_EQ || k == TN_KIND_NE;
    uint32_t n = m->n, n_scalars = m->n_scalars, steps = m->steps;
    if (value_fits(m, mine->a, meant->a) && value_fits(m, mine->b, meant->b))
        return true;
    if (!commutes)
        return false;
    m->n = n;
    m->n_scalars = n_scalars;
    m->steps = steps;
    return value_fits(m, mine->a, meant->b) && value_fits(m, mine->b, meant->a);
}

/* A variable of the meaning: one of its loops, or a scalar parameter. */
static bool
variable_fits(tnk_match *m, const tn_expr *mine, const tn_expr *meant)
{
    for (uint32_t j = 0; j < m->meant.n; j++)
        if (m->meant.vars[j] == meant)
            return mine == m->mine.vars[m->is[j]] ||
                   differ(m, "%s stands where the meaning has its loop '%s'", tn_text(m->ctx, mine),
                          tn_var_name(meant));
    for (uint32_t j = 0; j < m->mine.n; j++)
        if (tn_uses(mine, m->mine.vars[j]))
            return differ(m, "%s, which depends on the loop '%s', stands for the scalar '%s'",
                          tn_text(m->ctx, mine), tn_var_name(m->mine.vars[j]), tn_var_name(meant));
    for (uint32_t i = 0; i < m->n_scalars; i++)
        if (m->scalars[i].of == meant)
            return tn_equal(m->ctx, m->scalars[i].is, mine, false, NULL) ||
                   differ(m, "the scalar '%s' would have two values", tn_var_name(meant));
    if (m->n_scalars == TNK_FORM_PARTS)
        return differ(m, "the meaning has too many scalars");
    m->scalars[m->n_scalars].of = meant;
    m->scalars[m->n_scalars++].is = mine;
    return true;
}

static bool
value_fits(tnk_match *m, const tn_expr *mine, const tn_expr *meant)
{
    if (!tnb_dtype_eq(tn_dtype_of(mine), tn_dtype_of(meant)))
        return differ(m, "%s is %s, the meaning's %s is %s", tn_text(m->ctx, mine),
                      tnb_dtype_print(tn_dtype_of(mine)).s, tn_text(m->ctx, meant),
                      tnb_dtype_print(tn_dtype_of(meant)).s);
    if (tn_is_var(meant))
        return variable_fits(m, mine, meant);
    if (mine->kind != meant->kind)
        return differ(m, "%s stands where the meaning has %s", tn_text(m->ctx, mine),
                      tn_text(m->ctx, meant));
    m->steps++;
    if (tn_is_binary(mine))
        return binary_fits(m, tn_as_binary(mine), tn_as_binary(meant));
    switch (mine->kind) {
    case TN_KIND_BUFFER_LOAD: {
        const tn_buffer_load *u = tn_as_buffer_load(mine), *d = tn_as_buffer_load(meant);
        return access_fits(m, u->buffer, u->indices, d->buffer, d->indices);
    }
    case TN_KIND_CAST:
        return value_fits(m, ((const tn_cast *)mine)->value, ((const tn_cast *)meant)->value);
    case TN_KIND_NOT:
        return value_fits(m, ((const tn_unary *)mine)->a, ((const tn_unary *)meant)->a);
    case TN_KIND_SELECT: {
        const tn_select *u = tn_as_select(mine), *d = tn_as_select(meant);
        return value_fits(m, u->cond, d->cond) && value_fits(m, u->a, d->a) &&
               value_fits(m, u->b, d->b);
    }
    case TN_KIND_CALL: {
        const tn_call *u = tn_as_call(mine), *d = tn_as_call(meant);
        if (tn_call_op_of(u) != tn_call_op_of(d) || !tn_equal(m->ctx, u->op, d->op, true, NULL))
            return differ(m, "%s stands where the meaning has %s", tn_text(m->ctx, mine),
                          tn_text(m->ctx, meant));
        return list_fits(m, u->args, d->args);
    }
    default:
        return tn_equal(m->ctx, mine, meant, false, NULL) ||
               differ(m, "%s stands where the meaning has %s", tn_text(m->ctx, mine),
                      tn_text(m->ctx, meant));
    }
}

/* Tries the loops from number j on in all orders; out[] of `used` are taken. */
static bool
try_orders(tnk_match *m, uint32_t j, bool *used, uint32_t *tries)
{
    if (j == m->meant.n) {
        if (++*tries > MAX_TRIES)
            return false;
        m->n = m->n_scalars = m->steps = 0;
        const tn_buffer_store *u = m->mine.store, *d = m->meant.store;
        return access_fits(m, u->buffer, u->indices, d->buffer, d->indices) &&
               value_fits(m, u->value, d->value);
    }
    for (uint32_t i = 0; i < m->mine.n; i++) {
        bool may = !used[i] && m->mine.extents[i] == m->meant.extents[j];
        if (!may || (m->mine.ordered && i != j))
            continue;
        used[i] = true;
        m->is[j] = i;
        if (try_orders(m, j + 1, used, tries))
            return true;
        used[i] = false;
    }
    return false;
}

static const char *
extents_text(tn_ctx *ctx, const tnk_nest_form *f)
{
    const char *t = "";
    for (uint32_t i = 0; i < f->n; i++)
        t = tn_strf(ctx, "%s%s%lld", t, i ? ", " : "", (long long)f->extents[i]);
    return f->n ? t : "none";
}

const char *
tnk_match_nests(tnk_match *m)
{
    bool used[TNK_FORM_LOOPS] = {false};
    uint32_t tries = 0;
    m->why = NULL;
    m->best = 0;
    /* of an index such as (v * 8 + i) // 8 only v remains */
    for (uint32_t i = 0; i < m->mine.n; i++)
        tn_arith_bounds_of_var(m->arith, m->mine.vars[i], 0, m->mine.extents[i] - 1);
    if (m->mine.n == m->meant.n && try_orders(m, 0, used, &tries))
        return NULL;
    if (!m->why)
        m->why = tn_strf(m->ctx, "its loops have the extents %s, the meaning's %s",
                         extents_text(m->ctx, &m->mine), extents_text(m->ctx, &m->meant));
    return m->why;
}
