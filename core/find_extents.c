/* SPDX-License-Identifier: Apache-2.0 */
/* Extents for the symbols of a function with which it can be called: what it asserts and what its calls
 * take for granted holds.
 *
 * The conditions are collected from the function's own sequence; what only one branch wants is left
 * out. The search begins with the extents that the caller wishes, then with all extents equal, and
 * repairs one condition after the other: of all values for one of its symbols it takes the one that
 * leaves the fewest conditions unmet (min-conflicts, with a memory of what was tried).
 */
#include "tenon/core/eval.h"

#include "private.h"
#include "scalar.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

/* Repairs from one beginning; evaluations of a condition altogether. */
enum { MAX_REPAIRS = 48, MAX_EVALUATIONS = 1 << 19, MAX_SYMBOLS = 256 };

struct condition {
    const tn_expr *holds;
    TNB_VEC(uint32_t) symbols;
};

struct search {
    tn_ctx *ctx;
    tnb_strmap numbers; /* name -> number of the symbol + 1; equal names are one symbol */
    tnb_ptrmap
        known;       /* variables of the parameters -> themselves; of match_cast -> what they are */
    tnb_ptrmap seen; /* conditions */
    tnb_ptrmap calls; /* for tn_call_assumptions_again */
    tnb_ptrmap asked; /* hash of a condition -> the last that had it, as it was found */
    const char *names[MAX_SYMBOLS];
    int64_t wish[MAX_SYMBOLS], value[MAX_SYMBOLS];
    uint32_t n;
    TNB_VEC(struct condition) all;
    TNB_VEC(int64_t) values; /* that are tried */
    uint64_t evaluations;
};

/* ---- values of conditions ---- */

static bool
value_of(const struct search *s, const tn_expr *e, int64_t *out);

static bool
binary_value(const struct search *s, const tn_expr *e, int64_t *out)
{
    const tn_binary *b = (const tn_binary *)e;
    int64_t x, y;
    bool left = value_of(s, b->a, &x);
    /* an extent that would be a division by zero matters only where the left side lets it */
    if (left && ((e->kind == TN_KIND_AND && !x) || (e->kind == TN_KIND_OR && x))) {
        *out = x != 0;
        return true;
    }
    if (!left || !value_of(s, b->b, &y))
        return false;
    /* folding wraps around; an extent that does has no value */
    if ((e->kind == TN_KIND_ADD && !tnb_add_i64(x, y, out)) ||
        (e->kind == TN_KIND_SUB && !tnb_sub_i64(x, y, out)) ||
        (e->kind == TN_KIND_MUL && !tnb_mul_i64(x, y, out)))
        return false;
    tnb_dtype d = tn_dtype_of(b->a); /* floats of extents are taken for what they are made of */
    return tn_fold_int((tn_kind)e->kind, tnb_dtype_is_float(d) ? TNB_I64 : d, x, y, out);
}

static bool
value_of(const struct search *s, const tn_expr *e, int64_t *out)
{
    int64_t x;
    if (tn_int_value(e, out))
        return true;
    if (tn_is_var(e)) {
        uintptr_t number = (uintptr_t)tnb_strmap_get(&s->numbers, tn_var_name(e));
        *out = number ? s->value[number - 1] : 0;
        return number != 0;
    }
    if (e->kind >= TN_KIND_FIRST_BINARY && e->kind <= TN_KIND_LAST_BINARY)
        return binary_value(s, e, out);
    if (tn_is(e, TN_KIND_CAST))
        return value_of(s, ((const tn_cast *)e)->value, out);
    if (tn_is(e, TN_KIND_SELECT)) {
        const tn_select *c = (const tn_select *)e;
        return value_of(s, c->cond, &x) && value_of(s, x ? c->a : c->b, out);
    }
    if (tn_is(e, TN_KIND_NOT) && value_of(s, ((const tn_unary *)e)->a, &x)) {
        *out = !x;
        return true;
    }
    return false;
}

/* A condition without a value (a division by zero) is not met. */
static bool
is_met(struct search *s, const struct condition *c)
{
    int64_t x;
    s->evaluations++;
    return value_of(s, c->holds, &x) && x;
}

/* ---- collecting ---- */

static tn_walk_step
note_literal(void *user, const tn_node *n)
{
    struct search *s = user;
    int64_t x;
    if (!tn_int_value(n, &x) || x < 0 || x > 1 << 20)
        return TN_WALK_ON;
    for (int64_t d = -1; d <= 1; d++) {
        bool have = x + d < 1;
        for (uint32_t i = 0; i < s->values.n && !have; i++)
            have = s->values.at[i] == x + d;
        if (!have)
            TNB_PUSH(tn_scratch(s->ctx), s->values, x + d);
    }
    return TN_WALK_ON;
}

static void
add_condition(struct search *s, const tn_expr *holds)
{
    int64_t x;
    struct condition c = {0};
    if (!tn_is_scalar(holds) || tn_is_error(holds))
        return;
    const void *key = (const void *)(uintptr_t)(tn_hash(s->ctx, holds, false) | 1);
    const tn_expr *same = tnb_ptrmap_get(&s->asked, key);
    if (same && tn_equal(s->ctx, same, holds, false, NULL))
        return; /* models ask the same of each of their layers */
    tnb_ptrmap_set(&s->asked, key, (void *)(uintptr_t)holds);
    holds = tn_simplify_now(s->ctx, tn_subst(s->ctx, holds, &s->known));
    if (tn_is_error(holds) || tn_int_value(holds, &x) || tnb_ptrmap_has(&s->seen, holds))
        return;
    tnb_ptrmap_set(&s->seen, holds, s);
    tn_list used = tn_free_vars(s->ctx, holds, false);
    for (uint32_t i = 0; i < used.n; i++) {
        uintptr_t number = (uintptr_t)tnb_strmap_get(&s->numbers, tn_var_name(used.at[i]));
        if (!number || !tnb_ptrmap_has(&s->known, used.at[i]))
            return; /* a number that the function computes */
        TNB_PUSH(tn_scratch(s->ctx), c.symbols, (uint32_t)(number - 1));
    }
    c.holds = holds;
    TNB_PUSH(tn_scratch(s->ctx), s->all, c);
    tn_walk(holds, TN_WALK_ONCE, note_literal, NULL, s);
}

static void
collect_match(struct search *s, const tn_match_cast *mc)
{
    tn_list have, want;
    if (!tn_type_dims(mc->value->type, &have) || !tn_type_dims(mc->to, &want) || have.n != want.n)
        return;
    for (uint32_t i = 0; i < have.n; i++)
        if (tn_is_var(want.at[i]) && !tnb_ptrmap_has(&s->known, want.at[i]))
            tnb_ptrmap_set(&s->known, want.at[i],
                           (void *)(uintptr_t)tn_subst(s->ctx, have.at[i], &s->known));
        else
            add_condition(s, tn_eq_of(s->ctx, have.at[i], want.at[i]));
}

static tn_walk_step
collect(void *user, const tn_node *n)
{
    struct search *s = user;
    const tn_match_cast *mc = tn_as_match_cast(n);
    const tn_call *call = tn_as_call(n);
    const tn_op *op = call ? tn_call_op_of(call) : NULL;
    tn_assumptions found;
    if (tn_is(n, TN_KIND_FUNCTION) || tn_is(n, TN_KIND_IF_EXPR) || tn_is(n, TN_KIND_IF_STMT) ||
        tn_is(n, TN_KIND_FOR) || tn_is(n, TN_KIND_WHILE) || tn_is(n, TN_KIND_BLOCK_REALIZE))
        return TN_WALK_SKIP;
    if (tn_is(n, TN_KIND_ASSERT))
        add_condition(s, ((const tn_assert_stmt *)n)->cond);
    if (mc)
        collect_match(s, mc);
    if (!call || (op && (op->flags & TN_OP_SCALAR)))
        return TN_WALK_ON;
    if (tn_is_call_to(n, "relax.assert_op"))
        add_condition(s, call->args.at[0]);
    else if (op && tn_call_assumptions_again(s->ctx, &s->calls, call, &found))
        for (uint32_t i = 0; i < found.n; i++)
            add_condition(s, found.at[i].holds);
    return TN_WALK_ON;
}

/* Extents of parameters that are no symbol by themselves (n - 2) are not negative. */
static void
collect_extents(struct search *s, const tn_type *t)
{
    tn_list dims = {0};
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        collect_extents(s, tuple->fields.at[i]);
    if (!tuple && tn_type_dims(t, &dims))
        for (uint32_t i = 0; i < dims.n; i++)
            if (!tn_is_var(dims.at[i]) && !tn_is(dims.at[i], TN_KIND_INT_IMM))
                add_condition(s, tn_ge_of(s->ctx, dims.at[i],
                                          tn_int_imm_of(s->ctx, tn_dtype_of(dims.at[i]), 0)));
}

static bool
note_symbols(struct search *s, const tn_node *func, const tn_node *wish)
{
    tn_list symbols = tn_defined_symbols(s->ctx, func);
    for (uint32_t i = 0; i < symbols.n; i++) {
        const char *name = tn_var_name(symbols.at[i]);
        tnb_ptrmap_set(&s->known, symbols.at[i], (void *)(uintptr_t)symbols.at[i]);
        if (tnb_strmap_has(&s->numbers, name))
            continue;
        if (s->n == MAX_SYMBOLS)
            return false;
        int64_t w = tn_dict_int(wish, name, tn_dict_int(wish, "", 4));
        s->wish[s->n] = w < 0 ? 0 : w;
        s->names[s->n++] = name;
        tnb_strmap_set(&s->numbers, name, (void *)(uintptr_t)s->n);
    }
    return true;
}

/* ---- searching ---- */

static bool
uses(const struct condition *c, uint32_t symbol)
{
    for (uint32_t i = 0; i < c->symbols.n; i++)
        if (c->symbols.at[i] == symbol)
            return true;
    return false;
}

/* How many of the conditions on a symbol are not met. */
static uint32_t
unmet_with(struct search *s, uint32_t symbol)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->all.n; i++)
        n += uses(&s->all.at[i], symbol) && !is_met(s, &s->all.at[i]);
    return n;
}

static const struct condition *
first_unmet(struct search *s)
{
    for (uint32_t i = 0; i < s->all.n; i++)
        if (!is_met(s, &s->all.at[i]))
            return &s->all.at[i];
    return NULL;
}

struct move {
    uint32_t symbol;
    int64_t value;
};
typedef TNB_VEC(struct move) moves;

static void
consider(struct search *s, const moves *tried, const struct condition *c, uint32_t symbol,
         int64_t value, int64_t *least, struct move *best)
{
    int64_t old = s->value[symbol], far = value - s->wish[symbol];
    if (value == old || s->evaluations > MAX_EVALUATIONS)
        return;
    for (uint32_t i = 0; i < tried->n; i++)
        if (tried->at[i].symbol == symbol && tried->at[i].value == value)
            return;
    int64_t before = unmet_with(s, symbol);
    s->value[symbol] = value;
    /* fewest unmet, then this one met, then nearest to the wish */
    int64_t cost = ((int64_t)unmet_with(s, symbol) - before) * 2 + !is_met(s, c);
    cost = cost * (1 << 22) + (far < 0 ? -far : far);
    s->value[symbol] = old;
    if (cost < *least) {
        *least = cost;
        *best = (struct move){symbol, value};
    }
}

static bool
repair(struct search *s)
{
    const struct condition *c;
    moves tried = {0};
    for (int step = 0; (c = first_unmet(s)); step++) {
        int64_t least = INT64_MAX;
        struct move best = {UINT32_MAX, 0};
        if (step == MAX_REPAIRS || s->evaluations > MAX_EVALUATIONS)
            return false;
        for (uint32_t i = 0; i < c->symbols.n; i++) {
            for (uint32_t k = 0; k < s->values.n; k++)
                consider(s, &tried, c, c->symbols.at[i], s->values.at[k], &least, &best);
            for (uint32_t k = 0; k < s->n; k++)
                consider(s, &tried, c, c->symbols.at[i], s->value[k], &least, &best);
        }
        if (best.symbol == UINT32_MAX)
            return false;
        s->value[best.symbol] = best.value;
        TNB_PUSH(tn_scratch(s->ctx), tried, best);
    }
    return true;
}

static bool
search(struct search *s)
{
    static const int64_t equal[] = {0, 8, 4, 2, 1, 16, 64}; /* 0: as wished */
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        s->evaluations = 0;
        for (uint32_t k = 0; k < s->n; k++)
            s->value[k] = equal[i] ? equal[i] : s->wish[k];
        if (repair(s))
            return true;
    }
    return false;
}

static void
collect_conditions(struct search *s, const tn_node *func)
{
    const tn_function *f = tn_as_function(func);
    const tn_prim_func *p = tn_as_prim_func(func);
    for (uint32_t i = 0; f && i < f->params.n; i++)
        collect_extents(s, f->params.at[i]->type);
    tn_walk(f ? f->body : p->body, TN_WALK_ONCE, collect, NULL, s);
    for (int64_t v = 1; v <= 64 && s->all.n; v++)
        TNB_PUSH(tn_scratch(s->ctx), s->values, v);
    for (int64_t v = 96; v <= 1024 && s->all.n; v += 32)
        TNB_PUSH(tn_scratch(s->ctx), s->values, v);
}

const tn_node *
tn_find_extents(tn_ctx *ctx, const tn_node *func, const tn_node *wish, const tn_expr **unmet)
{
    struct search s = {.ctx = ctx};
    const tn_node *found = tn_dict_of(ctx, NULL, NULL, 0);
    if (unmet)
        *unmet = NULL;
    if (!tn_as_function(func) && !tn_as_prim_func(func))
        return NULL;
    tnb_strmap_init(&s.numbers, tn_scratch(ctx));
    tnb_ptrmap_init(&s.known, tn_scratch(ctx));
    tnb_ptrmap_init(&s.seen, tn_scratch(ctx));
    tnb_ptrmap_init(&s.asked, tn_scratch(ctx));
    if (!note_symbols(&s, func, wish))
        return NULL;
    if (!s.n)
        return found;
    collect_conditions(&s, func);
    if (!search(&s)) {
        for (uint32_t k = 0; k < s.n; k++)
            s.value[k] = s.wish[k];
        const struct condition *c = first_unmet(&s);
        if (unmet)
            *unmet = c ? c->holds : NULL;
        return NULL;
    }
    for (uint32_t k = 0; k < s.n; k++)
        found = tn_dict_set(ctx, found, s.names[k], tn_i64(ctx, s.value[k]));
    return found;
}
