/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about symbolic variables, by place. Equalities are put in as substitutions, bounds of variables are told to the
 * analyzer, other conditions are found again by their hash, so that the work for one condition does not grow with their number.
 */
#include "shape_facts.h"

#include "tenon/core/walk.h"

enum { MAX_CHAIN = 16 }; /* substitutions of one variable after another */

void
shape_facts_init(shape_facts *f, tn_ctx *ctx, const tnb_ptrmap *scalars)
{
    *f = (shape_facts){.ctx = ctx, .scalars = scalars};
    tnb_ptrmap_init(&f->by_hash, tn_scratch(ctx));
    tnb_ptrmap_init(&f->equal, tn_scratch(ctx));
    tnb_ptrmap_init(&f->bound, tn_scratch(ctx));
}

static const void *
hash_key(uint64_t hash)
{
    return (const void *)(uintptr_t)(hash | 1);
}

/* Holds at the place: it was added there or before, or in a scope around. */
static bool
reaches(const shape_fact *fact, const shape_scope *scope, uint32_t place)
{
    return fact->scope != scope || fact->place <= place;
}

static const shape_fact *
fact_at(const shape_facts *f, void *number)
{
    uintptr_t n = (uintptr_t)number;
    return n && n <= f->list.n ? &f->list.at[n - 1] : NULL;
}

/* What an equality says of a variable; NULL: nothing. */
static const tn_expr *
value_of(const shape_fact *fact, const tn_expr *var)
{
    const tn_binary *eq =
        fact && fact->holds->kind == TN_KIND_EQ ? tn_as_binary(fact->holds) : NULL;
    return !eq ? NULL : eq->a == var ? eq->b : eq->b == var ? eq->a : NULL;
}

static const tn_expr *
put_in(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *e)
{
    for (int round = 0; round < MAX_CHAIN; round++) {
        tn_list vars = tn_free_vars(f->ctx, e, false);
        tnb_ptrmap map;
        tnb_ptrmap_init(&map, tn_scratch(f->ctx));
        bool any = false;
        for (uint32_t i = 0; i < vars.n; i++) {
            const shape_fact *fact = fact_at(f, tnb_ptrmap_get(&f->equal, vars.at[i]));
            const tn_expr *value = value_of(fact, vars.at[i]);
            if (!value || !reaches(fact, scope, place))
                continue;
            tnb_ptrmap_set(&map, vars.at[i],
                           (void *)(uintptr_t)tn_cast_to(f->ctx, tn_dtype_of(vars.at[i]), value));
            any = true;
        }
        if (!any)
            break;
        e = tn_subst(f->ctx, e, &map);
    }
    return e;
}

/* The variable that a condition bounds by a number; NULL: none. */
static const tn_expr *
bounded(const tn_expr *holds)
{
    const tn_binary *b = tn_as_binary(holds);
    if (holds->kind != TN_KIND_LT && holds->kind != TN_KIND_LE && holds->kind != TN_KIND_GT &&
        holds->kind != TN_KIND_GE)
        return NULL;
    return tn_is_var(b->a) && tn_is(b->b, TN_KIND_INT_IMM)   ? b->a
           : tn_is_var(b->b) && tn_is(b->a, TN_KIND_INT_IMM) ? b->b
                                                             : NULL;
}

static const tn_expr *
simplified(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *e)
{
    tn_arith *a = tn_arith_new(f->ctx);
    tn_list vars = tn_free_vars(f->ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++) {
        const shape_fact *fact = fact_at(f, tnb_ptrmap_get(&f->bound, vars.at[i]));
        if (!tnb_ptrmap_has(f->scalars, vars.at[i]))
            tn_arith_shape_var(a, vars.at[i]);
        if (fact && bounded(fact->holds) == vars.at[i] && reaches(fact, scope, place))
            (void)tn_arith_push(a, fact->holds);
    }
    return tn_simplify(a, e);
}

bool
shape_facts_settled(const shape_facts *f, const shape_scope *scope, uint32_t place,
                    const tn_expr *holds)
{
    uint64_t hash = tn_hash(f->ctx, holds, false);
    const shape_fact *fact = fact_at(f, tnb_ptrmap_get(&f->by_hash, hash_key(hash)));
    return fact && fact->hash == hash && reaches(fact, scope, place) &&
           tn_equal(f->ctx, fact->holds, holds, false, NULL);
}

const tn_expr *
shape_facts_reduce(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *holds)
{
    const tn_expr *e = simplified(f, scope, place, put_in(f, scope, place, holds));
    return !tn_is(e, TN_KIND_INT_IMM) && shape_facts_settled(f, scope, place, e)
               ? tn_bool(f->ctx, true)
               : e;
}

void
shape_facts_settle(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *holds)
{
    shape_fact fact = {scope, place, holds, tn_hash(f->ctx, holds, false)};
    TNB_PUSH(tn_scratch(f->ctx), f->list, fact);
    tnb_ptrmap_set(&f->by_hash, hash_key(fact.hash), (void *)(uintptr_t)f->list.n);
}

void
shape_facts_add(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *holds)
{
    shape_facts_settle(f, scope, place, holds);
    void *number = (void *)(uintptr_t)f->list.n;
    const tn_binary *eq = holds->kind == TN_KIND_EQ ? tn_as_binary(holds) : NULL;
    if (eq && tn_is_var(eq->a) && !tn_uses(eq->b, eq->a))
        tnb_ptrmap_set(&f->equal, eq->a, number);
    else if (eq && tn_is_var(eq->b) && !tn_uses(eq->a, eq->b))
        tnb_ptrmap_set(&f->equal, eq->b, number);
    if (bounded(holds))
        tnb_ptrmap_set(&f->bound, bounded(holds), number);
}

void
shape_facts_close(shape_facts *f, uint32_t n)
{
    f->list.n = n;
}
