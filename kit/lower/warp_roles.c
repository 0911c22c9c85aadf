/* SPDX-License-Identifier: Apache-2.0 */
/* Which warps of a block meet a condition: a region that whole warps run is their role, and has barriers of its own. */
#include "lower.h"

enum { WARP = 32, MOST = 32 };

void
tnk_roles_add(tnk_warp_roles *w, const tn_expr *var, const char *tag, const tn_expr *extent)
{
    bool block;
    int dim;
    if (w->n == TNK_ROLES_VARS || !tnk_thread_tag(tag, &block, &dim) || block)
        return;
    w->vars[w->n] = var;
    w->dims[w->n++] = dim;
    if (!tn_int_value(extent, &w->extents[dim]))
        w->extents[dim] = -1;
}

/* Their number; 0: threads are not numbered so that each warp is a box of indices. */
static uint32_t
count(const tnk_warp_roles *w)
{
    int64_t n = 1;
    for (int i = 0; i < 3; i++)
        n *= w->extents[i] ? w->extents[i] : 1;
    int64_t x = w->extents[0] ? w->extents[0] : 1, y = w->extents[1] ? w->extents[1] : 1;
    bool boxes = x > 0 && y > 0 && (x % WARP == 0 || (WARP % x == 0 && y % (WARP / x) == 0));
    return boxes && n > 0 && n <= (int64_t)MOST * WARP ? (uint32_t)(n / WARP) : 0;
}

/* The first index of warp `i` along a dimension, and how many there are. */
static int64_t
first_of(const tnk_warp_roles *w, uint32_t i, int dim, int64_t *n)
{
    int64_t x = w->extents[0] ? w->extents[0] : 1, y = w->extents[1] ? w->extents[1] : 1,
            at = (int64_t)i * WARP;
    *n = dim == 0 ? (x < WARP ? x : WARP) : dim == 1 && x < WARP ? WARP / x : 1;
    return dim == 0 ? at % x : dim == 1 ? at / x % y : at / x / y;
}

bool
tnk_roles_where(tn_ctx *ctx, const tnk_warp_roles *w, const tn_expr *cond, uint32_t within,
                uint32_t *where)
{
    uint32_t n = count(w);
    *where = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (within && !(within >> i & 1))
            continue;
        tn_arith *a = tn_arith_new(ctx);
        for (uint32_t k = 0; k < w->n; k++) {
            int64_t size, at = first_of(w, i, w->dims[k], &size);
            tnb_dtype d = tn_dtype_of(w->vars[k]);
            tn_arith_range(a, w->vars[k], tn_int_imm_of(ctx, d, at), tn_int_imm_of(ctx, d, size));
        }
        const tn_expr *is = tn_simplify(a, cond);
        if (tn_is_int_const(is, 1))
            *where |= 1u << i;
        else if (!tn_is_int_const(is, 0))
            return false; /* it parts the warp */
    }
    return n > 0;
}

uint32_t
tnk_roles_threads(const tnk_warp_roles *w, uint32_t role)
{
    return WARP * (role ? (uint32_t)__builtin_popcount(role) : count(w));
}

bool
tnk_meets_role(const tn_stmt *s, uint32_t threads)
{
    const tn_evaluate *e = tn_as_evaluate(s);
    return e && threads && tn_is_intrin(e->value, TN_INTRIN_ptx_bar_sync) &&
           tn_is_int_const(tn_as_call(e->value)->args.at[1], threads);
}
