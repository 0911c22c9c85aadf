/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of an index map in terms of its results.
 *
 *     (i * 8 + j, k)  over j < 8     =>     i = o0 // 8, j = o0 % 8, k = o1
 */
#include "schedule_private.h"

bool
tnk_index_inverse(tnk_sch *s, const tn_expr *const *idx, uint32_t m, const tn_expr *const *vars,
                  const tn_expr *const *extents, uint32_t n, const tn_expr *const *outs,
                  const tn_expr **inverse, bool *plain)
{
    tn_ctx *ctx = s->ctx;
    const tn_expr **used = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, n + 1);
    const tn_expr **sizes = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, n + 1);
    const tn_expr **found = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, n + 1);
    const tn_expr **forms = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, m + 1);
    const tn_expr **results = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, m + 1);
    uint32_t free = 0, count = 0;
    tnb_ptrmap zero;
    tnb_ptrmap_init(&zero, tn_scratch(ctx));
    /* a variable of one value is that value */
    for (uint32_t k = 0; k < n; k++) {
        inverse[k] = NULL;
        if (tn_is_int_const(extents[k], 1)) {
            inverse[k] = tn_int_imm_of(ctx, tn_dtype_of(vars[k]), 0);
            tnb_ptrmap_set(&zero, vars[k], inverse[k]);
            continue;
        }
        used[free] = vars[k];
        sizes[free++] = extents[k];
    }
    tn_arith *a = tn_arith_new(ctx);
    for (uint32_t k = 0; k < s->sizes.n; k++)
        tn_arith_shape_var(a, s->sizes.at[k]);
    for (uint32_t i = 0; i < m; i++) {
        const tn_expr *e = tn_simplify(a, tn_subst(ctx, idx[i], &zero));
        if (tn_is(e, TN_KIND_INT_IMM))
            continue;
        forms[count] = e;
        results[count++] = outs[i];
    }
    *plain = count == free;
    for (uint32_t j = 0; j < count && *plain; j++) {
        *plain = false;
        for (uint32_t k = 0; k < free && !*plain; k++)
            if (used[k] == forms[j] && !found[k]) {
                found[k] = results[j];
                *plain = true;
            }
    }
    if (!*plain &&
        (!tn_iter_map_check(a, forms, count, used, sizes, free, tn_bool(ctx, true), true) ||
         !tn_iter_map_inverse(a, forms, count, used, sizes, free, results, found)))
        return false;
    for (uint32_t k = 0, j = 0; k < n; k++)
        if (!inverse[k]) {
            inverse[k] = tn_cast_to(ctx, tn_dtype_of(vars[k]), found[j]);
            j++;
        }
    return true;
}
