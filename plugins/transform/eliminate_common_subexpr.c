/* SPDX-License-Identifier: Apache-2.0 */
/* EliminateCommonSubexpr: what was computed before is used again.
 *
 *     lv = R.add(x, y)                               lv = R.add(x, y)
 *     lv1 = R.add(x, y)                              lv1 = lv
 *     gv = R.multiply(lv, lv1)                       gv = R.multiply(lv, lv)
 *
 * Within a function and the branches below; a dataflow variable serves its own block only. Calls
 * with effects, allocations and what a call overwrites are not merged. call_only: calls only, no tuples and fields of
 * tuples. The bindings left over are for CanonicalizeBindings and DeadCodeElimination. Keeps
 * results bit by bit. Cases: tests/pass/EliminateCommonSubexpr.
 */
#include "transform.h"

#include "tenon/core/walk.h"

typedef TNB_VEC(const tn_expr *) var_vec;

/* A value seen, and the variables that hold it. */
typedef struct seen {
    const tn_expr *value;
    const tn_type *cast; /* of a match_cast; else NULL */
    uint32_t next;       /* of the same hash: number + 1 */
    var_vec vars;
} seen;

/* A variable was added to an entry of the table. */
typedef struct touch {
    uint32_t entry;
    bool dataflow;
} touch;

typedef struct eliminator {
    tn_ctx *ctx;
    const tn_module *m;
    bool call_only;
    const tnb_ptrmap *overwritten; /* variables that calls compute in place */
    TNB_VEC(seen) table;
    TNB_VEC(uint64_t) hashes; /* parallel to `table` */
    tnb_ptrmap heads;         /* hash -> number + 1 */
    tnb_ptrmap renamed;       /* variable -> the one used in its place */
    TNB_VEC(const tn_expr *) renames;
    TNB_VEC(touch) touched;
} eliminator;

typedef struct mark {
    uint32_t table, renames, touched;
} mark;

static mark
mark_now(const eliminator *e)
{
    return (mark){e->table.n, e->renames.n, e->touched.n};
}

static void
forget_renames(eliminator *e, uint32_t to)
{
    while (e->renames.n > to)
        tnb_ptrmap_remove(&e->renamed, e->renames.at[--e->renames.n]);
}

/* Back to what was known at the mark: a branch has ended. */
static void
forget(eliminator *e, mark to)
{
    forget_renames(e, to.renames);
    while (e->touched.n > to.touched) {
        e->touched.n--;
        e->table.at[e->touched.at[e->touched.n].entry].vars.n--;
    }
    while (e->table.n > to.table) {
        e->table.n--;
        e->hashes.n--;
        tnb_ptrmap_set(&e->heads, (void *)(uintptr_t)e->hashes.at[e->hashes.n],
                       (void *)(uintptr_t)e->table.at[e->table.n].next);
    }
}

/* The dataflow variables of a block that has ended hold nothing any more. */
static void
forget_dataflow(eliminator *e, mark from)
{
    forget_renames(e, from.renames);
    uint32_t kept = from.touched;
    for (uint32_t i = from.touched; i < e->touched.n; i++) {
        seen *s = &e->table.at[e->touched.at[i].entry];
        uint32_t n = 0;
        for (uint32_t k = 0; k < s->vars.n; k++)
            if (!tn_is(s->vars.at[k], TN_KIND_DATAFLOW_VAR))
                s->vars.at[n++] = s->vars.at[k];
        s->vars.n = n;
        if (!e->touched.at[i].dataflow)
            e->touched.at[kept++] = e->touched.at[i];
    }
    e->touched.n = kept;
}

static uintptr_t
hash_of(eliminator *e, const tn_expr *value, const tn_type *cast)
{
    uint64_t h = tn_hash(e->ctx, value, false);
    if (cast)
        h = h * 31 + tn_hash(e->ctx, cast, false);
    return (uintptr_t)(h ? h : 1);
}

static seen *
find(eliminator *e, uintptr_t h, const tn_expr *value, const tn_type *cast)
{
    uintptr_t i = (uintptr_t)tnb_ptrmap_get(&e->heads, (void *)h);
    for (; i; i = e->table.at[i - 1].next) {
        seen *s = &e->table.at[i - 1];
        if ((s->cast != NULL) == (cast != NULL) && tn_equal(e->ctx, s->value, value, false, NULL) &&
            (!cast || tn_equal(e->ctx, s->cast, cast, false, NULL)))
            return s;
    }
    return NULL;
}

static void
remember(eliminator *e, uintptr_t h, seen *known, const tn_expr *value, const tn_type *cast,
         const tn_expr *var)
{
    if (!known) {
        seen s = {.value = value, .cast = cast};
        s.next = (uint32_t)(uintptr_t)tnb_ptrmap_get(&e->heads, (void *)h);
        TNB_PUSH(tn_scratch(e->ctx), e->table, s);
        TNB_PUSH(tn_scratch(e->ctx), e->hashes, h);
        tnb_ptrmap_set(&e->heads, (void *)h, (void *)(uintptr_t)e->table.n);
        known = &e->table.at[e->table.n - 1];
    }
    TNB_PUSH(tn_scratch(e->ctx), known->vars, var);
    touch t = {(uint32_t)(known - e->table.at), tn_is(var, TN_KIND_DATAFLOW_VAR)};
    TNB_PUSH(tn_scratch(e->ctx), e->touched, t);
}

static bool
may_merge(eliminator *e, const tn_expr *var, const tn_expr *value)
{
    const tn_call *c = tn_as_call(value);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    if ((e->call_only && !c) || tnb_ptrmap_has(e->overwritten, var))
        return false;
    if (op && (op->flags & TN_OP_ALLOCATES))
        return false;
    return !transform_has_effects(e->m, value);
}

static const tn_expr *
eliminate_sequence(eliminator *e, const tn_expr *x);

static const tn_node *
eliminate_function(tn_ctx *ctx, const tn_module *m, const tn_function *f, bool call_only,
                   const tnb_ptrmap *overwritten)
{
    eliminator e = {.ctx = ctx, .m = m, .call_only = call_only, .overwritten = overwritten};
    tnb_ptrmap_init(&e.heads, tn_scratch(ctx));
    tnb_ptrmap_init(&e.renamed, tn_scratch(ctx));
    const tn_expr *body = eliminate_sequence(&e, f->body);
    return body == f->body ? TN_NODE(f) : transform_function(ctx, f, f->params, body, f->ret);
}

static const tn_expr *
eliminate_value(eliminator *e, const tn_expr *v)
{
    tn_rewriter r = {.ctx = e->ctx, .map = &e->renamed};
    const tn_if_expr *i = tn_as_if_expr(v);
    if (tn_is(v, TN_KIND_FUNCTION)) /* its own variables come and go elsewhere */
        return eliminate_function(e->ctx, e->m, tn_as_function(tn_rewrite(&r, v)), e->call_only,
                                  e->overwritten);
    if (!i)
        return tn_rewrite(&r, v);
    const tn_expr *cond = tn_rewrite(&r, i->cond);
    mark m = mark_now(e);
    const tn_expr *a = eliminate_sequence(e, i->then_branch);
    forget(e, m);
    const tn_expr *b = eliminate_sequence(e, i->else_branch);
    forget(e, m);
    if (cond == i->cond && a == i->then_branch && b == i->else_branch)
        return v;
    return tn_if_expr_of(e->ctx, cond, a, b);
}

static const tn_node *
eliminate_binding(eliminator *e, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_match_cast *mc = tn_as_match_cast(binding);
    const tn_expr *var = vb ? vb->var : mc->var, *value = vb ? vb->value : mc->value;
    const tn_type *cast = mc ? mc->to : NULL;
    tn_loc old = tn_at(e->ctx, binding->loc);
    const tn_expr *now = eliminate_value(e, value);
    if (may_merge(e, var, now)) {
        uintptr_t h = hash_of(e, now, cast);
        seen *s = find(e, h, now, cast);
        const tn_expr *first = s && s->vars.n ? s->vars.at[0] : NULL;
        remember(e, h, s, now, cast, var);
        if (first) {
            tnb_ptrmap_set(&e->renamed, var, first);
            TNB_PUSH(tn_scratch(e->ctx), e->renames, var);
            binding = tn_var_binding_of(e->ctx, var, first);
            tn_at(e->ctx, old);
            return binding;
        }
    }
    if (now != value)
        binding =
            vb ? tn_var_binding_of(e->ctx, var, now) : tn_match_cast_of(e->ctx, var, now, cast);
    tn_at(e->ctx, old);
    return binding;
}

static const tn_expr *
eliminate_sequence(eliminator *e, const tn_expr *x)
{
    const tn_seq_expr *s = tn_as_seq_expr(x);
    tn_list blocks = s->blocks;
    for (uint32_t b = 0; b < s->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(s->blocks.at[b]);
        bool dataflow = tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK), changed = false;
        mark m = mark_now(e);
        const tn_node **out = TNB_NEW_N(tn_scratch(e->ctx), const tn_node *, block->bindings.n);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            out[i] = eliminate_binding(e, block->bindings.at[i]);
            changed |= out[i] != block->bindings.at[i];
        }
        if (dataflow)
            forget_dataflow(e, m);
        if (changed)
            tn_list_change(e->ctx, &blocks, s->blocks, b,
                           tn_binding_block_of(e->ctx, tn_list_of(e->ctx, out, block->bindings.n),
                                               dataflow));
    }
    tn_rewriter r = {.ctx = e->ctx, .map = &e->renamed};
    const tn_expr *body = tn_rewrite(&r, s->body);
    if (blocks.at == s->blocks.at && body == s->body)
        return x;
    return transform_sequence(e->ctx, blocks, body);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)name;
    (void)user;
    tnb_ptrmap overwritten;
    transform_find_overwritten(pc->ctx, m, func, &overwritten);
    const tn_node *out = eliminate_function(pc->ctx, m, tn_as_function(func),
                                            tn_option_bool(pc, "call_only"), &overwritten);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

static const tn_attr_schema options[] = {
    {"call_only", TN_ATTR_BOOL, 0, "False", "merge calls only"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

const tn_pass transform_eliminate_common_subexpr = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "EliminateCommonSubexpr",
    .base.doc = "use again what was computed before",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
