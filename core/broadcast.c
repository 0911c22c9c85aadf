/* SPDX-License-Identifier: Apache-2.0 */
/* The extent of axes that are broadcast together, where it may depend on the values of symbolic variables.
 *
 *     n and m         T.Select(n == 1, m, n)
 *     that and m      the same again
 *     n and 64        64
 */
#include "private.h"

#include "tenon/core/arith.h"

enum { MAX_JOINED = 32 };

/* Extents of which the one that is not 1, if any, is the extent of what they are broadcast to. */
typedef struct joined {
    const tn_expr *at[MAX_JOINED];
    const char *text[MAX_JOINED]; /* their order */
    uint32_t n;
    bool full;
} joined;

static void
join_one(tn_ctx *ctx, joined *j, const tn_expr *e)
{
    const char *text = tn_text(ctx, e);
    uint32_t at = 0;
    for (uint32_t i = 0; i < j->n; i++)
        if (tn_prove_equal(ctx, j->at[i], e))
            return;
    if (j->n == MAX_JOINED) {
        j->full = true;
        return;
    }
    while (at < j->n && strcmp(j->text[at], text) <= 0)
        at++;
    memmove(j->at + at + 1, j->at + at, (j->n - at) * sizeof *j->at);
    memmove(j->text + at + 1, j->text + at, (j->n - at) * sizeof *j->text);
    j->at[at] = e;
    j->text[at] = text;
    j->n++;
}

/* T.Select(m == 1, rest, m) is what broadcasting gives: m and what is in the rest. */
static void
join_parts(tn_ctx *ctx, joined *j, const tn_expr *e)
{
    for (;;) {
        const tn_select *s = tn_as_select(e);
        const tn_binary *eq = s && s->cond->kind == TN_KIND_EQ ? tn_as_binary(s->cond) : NULL;
        if (!eq || !tn_is_int_const(eq->b, 1) || !tn_equal(ctx, eq->a, s->b, false, NULL))
            break;
        join_one(ctx, j, s->b);
        e = s->a;
    }
    if (!tn_is_int_const(e, 1))
        join_one(ctx, j, e);
}

/* Any two of them are equal, or one is 1. */
static void
assume_joined(tn_ctx *ctx, const joined *j, uint32_t from_end)
{
    const tn_expr *one = tn_i64(ctx, 1);
    for (uint32_t i = 0; i < j->n; i++)
        for (uint32_t k = i + 1; k < j->n; k++) {
            const tn_expr *a = j->at[i], *b = j->at[k], *holds = tn_eq_of(ctx, a, b);
            if (!tn_is(a, TN_KIND_INT_IMM))
                holds = tn_or(ctx, holds, tn_eq_of(ctx, a, one));
            if (!tn_is(b, TN_KIND_INT_IMM))
                holds = tn_or(ctx, holds, tn_eq_of(ctx, b, one));
            const tn_node *both[] = {a, b};
            tn_assume(ctx, holds,
                      tn_strf(ctx,
                              "operands cannot be broadcast: extents {} and {} in axis %u from the "
                              "end",
                              from_end),
                      (tn_list){both, 2});
        }
}

const tn_expr *
tn_broadcast_dim(tn_ctx *ctx, const tn_expr *x, const tn_expr *y, uint32_t from_end)
{
    joined j = {.n = 0};
    int64_t a, b;
    if (tn_is_int_const(x, 1))
        return y;
    if (tn_is_int_const(y, 1) || tn_prove_equal(ctx, x, y))
        return x;
    if (tn_int_value(x, &a) && tn_int_value(y, &b))
        return NULL;
    join_parts(ctx, &j, x);
    join_parts(ctx, &j, y);
    if (j.full) /* too many to put them in order */
        j = (joined){.at = {x, y}, .n = 2};
    if (tn_assuming(ctx))
        assume_joined(ctx, &j, from_end);
    const tn_expr *out = NULL;
    for (uint32_t i = 0; i < j.n; i++)
        if (tn_is(j.at[i], TN_KIND_INT_IMM))
            return j.at[i];
    for (uint32_t i = 0; i < j.n; i++)
        out =
            out ? tn_select_of(ctx, tn_eq_of(ctx, j.at[i], tn_i64(ctx, 1)), out, j.at[i]) : j.at[i];
    return out;
}
