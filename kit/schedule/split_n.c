/* SPDX-License-Identifier: Apache-2.0 */
/* split into several loops at once, of which one may have the extent that remains.
 *
 *     for i in range(n)   split [-1, 4, 8]   =>   for i_0 in range(ceil(n / 32)): for i_1 in range(4): for i_2 in range(8)
 */
#include "schedule_private.h"

bool
tnk_split_n(tnk_sch *s, tnk_item *loop, const int64_t *factors, uint32_t n, tnk_item **out)
{
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    int64_t known = 1;
    uint32_t open = UINT32_MAX;
    if (n == 0)
        return tnk_sch_fail(s, loop, "split", "there are no factors");
    for (uint32_t i = 0; i < n; i++) {
        if (factors[i] < 0 && open != UINT32_MAX)
            return tnk_sch_fail(s, loop, "split", "more than one factor is left open");
        if (factors[i] < 0)
            open = i;
        else if (factors[i] == 0 || __builtin_mul_overflow(known, factors[i], &known))
            return tnk_sch_fail(s, loop, "split",
                                "the factor %lld is not positive, or the product too large",
                                (long long)factors[i]);
    }
    if (loop->annotations || loop->for_kind == TN_FOR_THREAD_BINDING)
        return tnk_sch_fail(s, loop, "split", "the loop is annotated or bound to a thread");
    if (loop->for_kind == TN_FOR_VECTORIZED)
        return tnk_sch_fail(s, loop, "split", "the loop is vectorized");
    tn_arith *a = tnk_sch_arith(s, loop);
    tnb_dtype d = tn_dtype_of(loop->var);
    const tn_expr *product = tn_int_imm_of(ctx, d, known), *rest = NULL;
    if (open != UINT32_MAX) {
        rest = tn_simplify(a, tn_ceildiv(ctx, loop->extent, product));
        product = tn_mul(ctx, product, rest);
    } else if (!tn_prove(a, tn_ge_of(ctx, product, loop->extent))) {
        return tnk_sch_fail(s, loop, "split",
                            "the product of the factors, %lld, may be less than its extent",
                            (long long)known);
    }
    tnb_buf text = {0};
    for (uint32_t i = 0; i < n; i++)
        tnb_buf_printf(&text, "%s%lld", i ? ", " : "", (long long)(i == open ? -1 : factors[i]));
    const char *ref = tn_strf(ctx, "%s, [%s]", tnk_ref(s, loop), text.s ? text.s : "");
    tnb_buf_free(&text);
    const tn_expr *at = NULL;
    for (uint32_t i = 0; i < n; i++) {
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
        l->loc = loop->loc;
        l->var = tn_var_dtype(ctx, tn_strf(ctx, "%s_%u", tn_var_name(loop->var), i), d);
        l->min = tn_int_imm_of(ctx, d, 0);
        l->extent = i == open ? rest : tn_int_imm_of(ctx, d, factors[i]);
        l->for_kind = loop->for_kind;
        at = at ? tn_add(ctx, tn_mul(ctx, at, l->extent), l->var) : l->var;
        out[i] = l;
    }
    if (!tn_prove_eq(a, product, loop->extent))
        for (uint32_t k = 0; k < loop->children.n; k++)
            tnk_item_guard(s, loop->children.at[k], tn_lt_of(ctx, at, loop->extent));
    for (uint32_t k = 0; k < loop->children.n; k++)
        tnk_item_subst(s, loop->children.at[k], loop->var, tn_add(ctx, loop->min, at));
    tnk_item_replace(loop, out[0]);
    for (uint32_t i = 1; i < n; i++)
        tnk_item_insert(s, out[i - 1], 0, out[i]);
    out[n - 1]->children = loop->children;
    for (uint32_t k = 0; k < loop->children.n; k++)
        loop->children.at[k]->parent = out[n - 1];
    tnk_sch_note(s, "split(%s)", ref);
    return true;
}
