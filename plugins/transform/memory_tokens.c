/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of a function: which allocations can be planned, how large they are, how long they
 * live. */
#include "memory_plan.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

/* What a variable holds: a token, or a tuple of such things. */
typedef struct held {
    memory_token *token;
    struct held *fields;
    uint32_t n;
} held;

typedef struct finder {
    tn_ctx *ctx;
    tnb_arena *scratch;
    const tn_module *m;
    const tn_function *fn;
    tn_arith *arith;
    TNB_VEC(const tn_expr *) bounded, bounded_min, bounded_extent; /* symbols with an upper bound */
    tnb_ptrmap held;                                               /* variable -> held */
    TNB_VEC(memory_token *) tokens;
    uint32_t now;
    const tn_node *block, *branch;
} finder;

/* ---- bounds ---- */

static bool
check_bounds(finder *f, const char *key, const tn_node *value)
{
    const tn_dict *d = tn_as_dict(value);
    if (!value)
        return true;
    bool ok = d != NULL;
    for (uint32_t i = 0; ok && i < d->items.n; i++)
        ok = tn_is(((const tn_pair *)d->items.at[i])->value, TN_KIND_INT_IMM);
    if (!ok)
        tn_error(f->ctx, f->fn->base.loc, TNB_TYPE,
                 "the function attribute %s has to be a dictionary of integers", key);
    return ok;
}

static void
learn_bound(finder *f, const tn_expr *symbol, const tn_node *upper, const tn_node *lower)
{
    const char *name = tn_var_name(symbol);
    int64_t hi = tn_dict_int(upper, name, TN_POS_INF), lo = tn_dict_int(lower, name, 0);
    tn_arith_bounds_of_var(f->arith, symbol, lo, hi);
    if (hi < TN_POS_INF && lo <= hi && lo >= 0) {
        TNB_PUSH(f->scratch, f->bounded, symbol);
        TNB_PUSH(f->scratch, f->bounded_min, tn_i64(f->ctx, lo));
        TNB_PUSH(f->scratch, f->bounded_extent, tn_i64(f->ctx, hi - lo + 1));
    }
}

static bool
learn_bounds(finder *f)
{
    const tn_node *upper = tn_dict_get(f->fn->attrs, "tir_var_upper_bound");
    const tn_node *lower = tn_dict_get(f->fn->attrs, "tir_var_lower_bound");
    const tn_node *natural = tn_dict_get(f->fn->attrs, "tir_non_negative_var");
    if (!check_bounds(f, "tir_var_upper_bound", upper) ||
        !check_bounds(f, "tir_var_lower_bound", lower))
        return false;
    const tn_array *names = tn_as_array(natural);
    for (uint32_t i = 0; natural && (!names || i < names->items.n); i++)
        if (!names || !tn_is(names->items.at[i], TN_KIND_STRING_IMM)) {
            tn_error(f->ctx, f->fn->base.loc, TNB_TYPE,
                     "the function attribute tir_non_negative_var has to be a list of names");
            return false;
        }
    tn_list symbols = tn_defined_symbols(f->ctx, TN_NODE(f->fn));
    for (uint32_t i = 0; i < symbols.n; i++)
        learn_bound(f, symbols.at[i], upper, lower);
    for (uint32_t i = 0; i < f->fn->params.n; i++) { /* extents that are parameters themselves */
        const tn_node *p = f->fn->params.at[i];
        if (tn_is(p->type, TN_KIND_TY_PRIM) && tn_dict_get(upper, tn_var_name(p)))
            learn_bound(f, p, upper, lower);
    }
    return true;
}

/* ---- what variables hold ---- */

static held
leaf_held(finder *f, const tn_expr *e)
{
    held h = {0};
    const tn_tuple *t = tn_as_tuple(e);
    if (t) {
        h.n = t->fields.n;
        h.fields = TNB_NEW_N(f->scratch, held, h.n);
        for (uint32_t i = 0; i < h.n; i++)
            h.fields[i] = leaf_held(f, t->fields.at[i]);
        return h;
    }
    const held *known = tn_is_var(e) ? tnb_ptrmap_get(&f->held, e) : NULL;
    return known ? *known : h;
}

static void
each_token(finder *f, held h, void (*fn)(finder *, memory_token *))
{
    if (h.token)
        fn(f, h.token);
    for (uint32_t i = 0; i < h.n; i++)
        each_token(f, h.fields[i], fn);
}

static void
use_token(finder *f, memory_token *t)
{
    t->uses++;
    t->last = f->now;
    if (t->block != f->block)
        t->discarded = true;
}

static void
discard_token(finder *f, memory_token *t)
{
    (void)f;
    t->discarded = true;
}

/* ---- bindings ---- */

/* An extent, or the most that it can be as far as bounds are known. */
static const tn_expr *
upper_extent(finder *f, const tn_expr *dim)
{
    int64_t lo, hi;
    const tn_expr *low, *high;
    tn_bounds(f->arith, dim, &lo, &hi);
    if (hi != TN_POS_INF && hi >= 0)
        return tn_i64(f->ctx, hi);
    if (f->bounded.n &&
        tn_interval(f->arith, dim, f->bounded.at, f->bounded_min.at, f->bounded_extent.at,
                    f->bounded.n, &low, &high) &&
        high)
        return high;
    return dim;
}

/* The bytes of a tensor, or the most that they can be: literal extents and those with a bound make
 * one factor, the rest another. */
static const tn_expr *
bytes_of(finder *f, tn_list dims, int64_t elem)
{
    const tn_expr *open = NULL;
    int64_t known = elem;
    for (uint32_t i = 0; i < dims.n; i++) {
        const tn_expr *dim = upper_extent(f, dims.at[i]);
        int64_t extent, product;
        if (tn_int_value(dim, &extent) && tnb_mul_i64(known, extent, &product))
            known = product;
        else
            open = open ? tn_mul(f->ctx, open, dim) : dim;
    }
    return !open        ? tn_i64(f->ctx, known)
           : known == 1 ? open
                        : tn_mul(f->ctx, tn_i64(f->ctx, known), open);
}

/* The same for an output with storage of its own, written as upstream writes it. */
static const tn_expr *
output_bytes(finder *f, const memory_token *t)
{
    tn_list dims = ((const tn_shape_expr *)t->alloc->args.at[0])->values;
    const tn_expr *bytes = tn_i64(f->ctx, 1);
    for (uint32_t i = 0; i < dims.n; i++)
        bytes = tn_mul(f->ctx, bytes, upper_extent(f, dims.at[i]));
    return tn_mul(f->ctx, bytes, tn_i64(f->ctx, (t->dtype.bits + 7) / 8 * t->dtype.lanes));
}

static void
return_token(finder *f, memory_token *t)
{
    bool dynamic = !(t->alloc->args.at[0]->flags & TN_FLAG_CLOSED);
    if (dynamic && tn_dict_int(f->fn->attrs, "relax.memory_plan_dynamic_func_output", 0)) {
        t->output = true;
        t->size = output_bytes(f, t);
    } else {
        t->discarded = true;
    }
}

static void
new_token(finder *f, const tn_node *var, const tn_call *c)
{
    const tn_shape_expr *shape = tn_as_shape_expr(c->args.at[0]);
    const tn_dtype_imm *d = tn_as_dtype_imm(c->args.at[1]);
    int64_t device = 0, exact;
    if (!shape || !d)
        return;
    tn_int_value(c->args.at[2], &device);
    const tn_string_imm *scope = c->args.n > 3 ? tn_as_string_imm(c->args.at[3]) : NULL;
    memory_token *t = TNB_NEW(f->scratch, memory_token);
    int64_t elem = (d->value.bits + 7) / 8 * d->value.lanes;
    t->var = var;
    t->alloc = c;
    t->block = f->block;
    t->branch = f->branch;
    t->device = device;
    t->scope = scope ? scope->value : tn_str(f->ctx, "global");
    t->dtype = d->value;
    t->size = bytes_of(f, shape->values, elem);
    t->first = t->last = f->now;
    t->bytes = tn_int_value(t->size, &exact) ? exact : -1;
    TNB_PUSH(f->scratch, f->tokens, t);
    held *h = TNB_NEW(f->scratch, held);
    h->token = t;
    tnb_ptrmap_set(&f->held, var, h);
}

/* Calls whose result shares the memory of their first argument. */
static bool
is_view(const tn_expr *v)
{
    static const char *const views[] = {"relax.reshape", "relax.memory.view",
                                        "relax.memory.ensure_zero_offset"};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (tn_is_call_to(v, views[i]))
            return true;
    const tn_call *c = tn_as_call(v);
    const tn_extern_func *e = c ? tn_as_extern_func(c->op) : NULL;
    return e && strcmp(e->name, "vm.builtin.reshape") == 0;
}

/* Calls that only use their arguments while they run: tensor programs, packed functions,
 * call_tir_dyn. */
static bool
is_plain_use(const finder *f, const tn_call *c)
{
    const tn_global_var *gv = tn_as_global_var(c->op);
    if (gv)
        return tn_is(tn_module_get(f->m, gv->name), TN_KIND_PRIM_FUNC);
    return tn_is(c->op, TN_KIND_EXTERN_FUNC) || tn_is_call_to(TN_NODE(c), "relax.vm.call_tir_dyn");
}

static tn_walk_step
discard_all(void *user, const tn_node *n)
{
    finder *f = user;
    if (tn_is_var(n))
        each_token(f, leaf_held(f, n), discard_token);
    return TN_WALK_ON;
}

static void
visit_sequence(finder *f, const tn_expr *e);

static void
visit_binding(finder *f, const tn_node *var, const tn_expr *value)
{
    f->now++;
    const tn_call *c = tn_as_call(value);
    const tn_tuple_get *get = tn_as_tuple_get(value);
    if (c && tn_is_call_to(value, "relax.builtin.alloc_tensor")) {
        new_token(f, var, c);
        return;
    }
    held h = {0};
    if (c && is_view(value) && c->args.n) {
        h = leaf_held(f, c->args.at[0]);
        each_token(f, h, use_token);
    } else if (c && is_plain_use(f, c)) {
        for (uint32_t i = 0; i < c->args.n; i++)
            each_token(f, leaf_held(f, c->args.at[i]), use_token);
    } else if (get) {
        held t = leaf_held(f, get->tuple);
        if (get->index >= 0 && (uint64_t)get->index < t.n)
            h = t.fields[get->index];
    } else if (tn_is_var(value) || tn_is(value, TN_KIND_TUPLE)) {
        h = leaf_held(f, value);
    } else if (tn_is(value, TN_KIND_IF_EXPR)) {
        const tn_if_expr *e = (const tn_if_expr *)value;
        each_token(f, leaf_held(f, e->cond), discard_token);
        const tn_node *block = f->block, *branch = f->branch;
        f->branch = e->then_branch;
        visit_sequence(f, e->then_branch);
        f->branch = e->else_branch;
        visit_sequence(f, e->else_branch);
        f->block = block;
        f->branch = branch;
    } else {
        tn_walk(value, 0, discard_all, NULL, f);
    }
    if (h.token || h.n) {
        held *kept = TNB_NEW(f->scratch, held);
        *kept = h;
        tnb_ptrmap_set(&f->held, var, kept);
    }
}

/* The body of a branch: its result leaves the branch. */
static void
visit_sequence(finder *f, const tn_expr *e)
{
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    if (!seq) {
        each_token(f, leaf_held(f, e), discard_token);
        return;
    }
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        f->block = TN_NODE(block);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
            const tn_match_cast *mc = tn_as_match_cast(block->bindings.at[i]);
            if (vb) {
                visit_binding(f, vb->var, vb->value);
                continue;
            }
            /* a match_cast gives the same tensor another name */
            f->now++;
            held *kept = TNB_NEW(f->scratch, held);
            *kept = leaf_held(f, mc->value);
            each_token(f, *kept, use_token);
            tnb_ptrmap_set(&f->held, mc->var, kept);
        }
    }
    each_token(f, leaf_held(f, seq->body), e == f->fn->body ? return_token : discard_token);
}

bool
memory_find_tokens(tn_ctx *ctx, const tn_module *m, const tn_function *fn, memory_tokens *out)
{
    finder f = {
        .ctx = ctx, .scratch = tn_scratch(ctx), .m = m, .fn = fn, .arith = tn_arith_new(ctx)};
    tnb_ptrmap_init(&f.held, f.scratch);
    if (!learn_bounds(&f))
        return false;
    visit_sequence(&f, fn->body);
    out->at = f.tokens.at;
    out->n = f.tokens.n;
    return true;
}
