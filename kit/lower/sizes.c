/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of a tensor program that are never negative: symbols that its parameters' shapes define, and scalar parameters that
 * an extent of a parameter tells so.
 *
 *     def f(A: T.Buffer((n, m * 3 // 2)), m: T.int64)      =>      n, and m: m * 3 // 2 >= 0 only where m >= 0
 */
#include "lower.h"
#include "tenon/base/scalar.h"

static bool
constant(const tn_expr *e, int64_t *value)
{
    return tn_int_value(e, value) && *value > -INT32_MAX && *value < INT32_MAX;
}

/* The least value of the one variable in `e` for which e >= 0; NULL: `e` has no such form. */
static const tn_expr *
least(const tn_expr *e, int64_t *lo)
{
    *lo = 0;
    while (!tn_is_var(e)) {
        const tn_binary *b = tn_as_binary(e);
        int64_t c;
        if (!b || *lo > INT32_MAX || *lo < -INT32_MAX)
            return NULL;
        tn_kind kind = (tn_kind)e->kind;
        bool on_left = (kind == TN_KIND_ADD || kind == TN_KIND_MUL) && constant(b->a, &c);
        if (!on_left && !constant(b->b, &c))
            return NULL;
        if (kind == TN_KIND_ADD)
            *lo -= c;
        else if (kind == TN_KIND_SUB)
            *lo += c;
        else if (kind == TN_KIND_MUL && c > 0)
            *lo = tnb_floor_div_i64(*lo + c - 1, c);
        else if (kind == TN_KIND_FLOOR_DIV && c > 0)
            *lo *= c;
        else
            return NULL;
        e = on_left ? b->b : b->a;
    }
    return e;
}

tn_list
tnk_sizes_of(tn_ctx *ctx, const tn_node *prim_func)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    tn_list out = tn_defined_symbols(ctx, prim_func);
    for (uint32_t i = 0; f && i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        for (uint32_t d = 0; b && d < b->shape.n; d++) {
            int64_t lo;
            const tn_expr *v = least(b->shape.at[d], &lo);
            bool has = !v || lo < 0;
            for (uint32_t k = 0; k < out.n && !has; k++)
                has = out.at[k] == v;
            if (!has)
                out = tn_list_append(ctx, out, v);
        }
    }
    return out;
}
