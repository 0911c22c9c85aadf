/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a function are the same in every run, and which runs of bindings use only such
 * values.
 *
 * Static are constants, weights (parameters from num_input on), storages of constant size that do
 * not reach the result, and what is computed from static values alone. Symbolic extents are static
 * if a weight's shape has them or the attribute relax.rewrite_cuda_graph.capture_symbolic_vars
 * names them.
 */
#include "cuda_graph.h"

#include "tenon/core/walk.h"

typedef struct finder {
    tn_ctx *ctx;
    const tn_module *m;
    cuda_graph_plan *plan;
    tnb_ptrmap fixed;  /* static variables */
    tnb_ptrmap values; /* variable -> bound value */
    tnb_ptrmap leaves; /* variables whose memory reaches the result */
} finder;

/* ---- what reaches the result ---- */

/* Calls whose result lies in the memory of their first argument. */
static bool
is_alias(const tn_expr *e)
{
    static const char *const ops[] = {"relax.memory.alloc_tensor", "relax.vm.alloc_tensor",
                                      "relax.memory.view", "relax.memory.ensure_zero_offset",
                                      "relax.reshape"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (tn_is_call_to(e, ops[i]))
            return true;
    const tn_call *c = tn_as_call(e);
    const tn_extern_func *f = c ? tn_as_extern_func(c->op) : NULL;
    return f && strcmp(f->name, "vm.builtin.reshape") == 0;
}

static void
reaches_result(finder *w, const tn_expr *e)
{
    while (e) {
        if (tn_is_var(e)) {
            if (tnb_ptrmap_has(&w->leaves, e))
                return;
            tnb_ptrmap_set(&w->leaves, e, w);
            e = tnb_ptrmap_get(&w->values, e);
        } else if (tn_is(e, TN_KIND_TUPLE_GET)) {
            e = ((const tn_tuple_get *)e)->tuple;
        } else if (tn_is(e, TN_KIND_TUPLE)) {
            tn_list l = ((const tn_tuple *)e)->fields;
            for (uint32_t i = 0; i < l.n; i++)
                reaches_result(w, l.at[i]);
            return;
        } else if (tn_is(e, TN_KIND_IF_EXPR)) {
            /* a branch may return anything that it sees */
            tn_list used = tn_free_vars(w->ctx, e, false);
            for (uint32_t i = 0; i < used.n; i++)
                reaches_result(w, used.at[i]);
            return;
        } else if (is_alias(e)) {
            e = ((const tn_call *)e)->args.at[0];
        } else {
            return;
        }
    }
}

/* ---- static values ---- */

static bool
is_static(const finder *w, const tn_expr *e)
{
    tn_list used = tn_free_vars(w->ctx, e, false);
    for (uint32_t i = 0; i < used.n; i++)
        if (!tnb_ptrmap_has(&w->fixed, used.at[i]) &&
            !tnb_ptrmap_has(&w->plan->symbols, used.at[i]))
            return false;
    return true;
}

static bool
is_kernel(const finder *w, const tn_expr *e)
{
    const tn_call *c = tn_as_call(e);
    if (!c)
        return false;
    const tn_global_var *gv = tn_as_global_var(c->op);
    if (gv)
        return tn_is(tn_module_get(w->m, gv->name), TN_KIND_PRIM_FUNC) &&
               !tn_func_attr(tn_module_get(w->m, gv->name), "tirx.is_host_func");
    const tn_extern_func *f = tn_as_extern_func(c->op);
    return f && strncmp(f->name, "vm.builtin.", 11) != 0;
}

/* May stand inside a region: kernels, views and allocations in storages and their ends,
 * rearrangements of values. */
static bool
may_be_captured(const finder *w, const tn_expr *e)
{
    switch ((tn_kind)e->kind) {
    case TN_KIND_CALL:
        return is_kernel(w, e) || is_alias(e) || tn_is_call_to(e, "relax.null_value") ||
               tn_is_call_to(e, "relax.memory.kill_tensor");
    case TN_KIND_IF_EXPR:
    case TN_KIND_FUNCTION:
    case TN_KIND_SEQ_EXPR:
        return false;
    default:
        return true;
    }
}

/* A storage of known size that does not leave the function. */
static bool
add_storage(finder *w, const tn_expr *var, const tn_expr *value, bool *ok)
{
    const tn_call *c = tn_is_call_to(value, "relax.memory.alloc_storage");
    const tn_shape_expr *size = c ? tn_as_shape_expr(c->args.at[0]) : NULL;
    const tn_string_imm *scope = c ? tn_as_string_imm(c->args.at[2]) : NULL;
    int64_t bytes, device;
    if (!size || !scope || size->values.n != 1 || !tn_int_value(size->values.at[0], &bytes) ||
        !tn_int_value(c->args.at[1], &device) || tnb_ptrmap_has(&w->leaves, var))
        return false;
    if (device != 0) {
        tn_error(w->ctx, value->loc, TNB_UNSUPPORTED,
                 "a captured storage lies on device %lld; only device 0 can be captured",
                 (long long)device);
        *ok = false;
        return false;
    }
    cuda_graph_storage s = {var, c, bytes, scope->value, 0};
    TNB_PUSH(tn_scratch(w->ctx), w->plan->storages, s);
    tnb_ptrmap_set(&w->fixed, var, w);
    return true;
}

/* ---- regions ---- */

static void
close_region(finder *w, cuda_graph_region *r)
{
    if (r->kernels)
        TNB_PUSH(tn_scratch(w->ctx), w->plan->regions, *r);
    r->kernels = 0;
}

static bool
find_in_block(finder *w, uint32_t b, const tn_bindings_block *block)
{
    cuda_graph_region r = {.block = b};
    bool ok = true;
    for (uint32_t i = 0; i < block->bindings.n && ok; i++) {
        const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
        if (vb && add_storage(w, vb->var, vb->value, &ok))
            continue; /* goes away: neither in a region nor its end */
        if (!vb || !may_be_captured(w, vb->value) || !is_static(w, vb->value)) {
            close_region(w, &r);
            continue;
        }
        tnb_ptrmap_set(&w->fixed, vb->var, w);
        bool kernel = is_kernel(w, vb->value);
        if (!r.kernels && !kernel)
            continue;
        if (!r.kernels)
            r.first = i;
        r.kernels += kernel;
        r.last = i;
    }
    close_region(w, &r);
    return ok;
}

static void
allow_symbols(finder *w, const tn_function *f)
{
    int64_t num_input;
    if (tn_int_value(tn_func_attr(&f->base, "num_input"), &num_input))
        for (uint32_t i = (uint32_t)(num_input < 0 ? 0 : num_input); i < f->params.n; i++) {
            tnb_ptrmap_set(&w->fixed, f->params.at[i], w);
            tn_list used = tn_free_vars(w->ctx, f->params.at[i]->type, false);
            for (uint32_t k = 0; k < used.n; k++)
                tnb_ptrmap_set(&w->plan->symbols, used.at[k], w);
        }
    const tn_array *names =
        tn_as_array(tn_func_attr(&f->base, "relax.rewrite_cuda_graph.capture_symbolic_vars"));
    tn_list all = tn_defined_symbols(w->ctx, &f->base);
    for (uint32_t i = 0; names && i < names->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(names->items.at[i]);
        for (uint32_t k = 0; s && k < all.n; k++)
            if (strcmp(tn_var_name(all.at[k]), s->value) == 0)
                tnb_ptrmap_set(&w->plan->symbols, all.at[k], w);
    }
}

/* Calls of graph functions, closures, and what a function is given to. */
static tn_walk_step
find_graph_call(void *user, const tn_node *n)
{
    const tn_module *m = user;
    const tn_call *c = tn_as_call(n);
    const tn_global_var *gv = tn_as_global_var(n);
    bool calls = (c && tn_is_var(c->op)) || tn_is(n, TN_KIND_FUNCTION) ||
                 (gv && tn_is(tn_module_get(m, gv->name), TN_KIND_FUNCTION));
    return calls ? TN_WALK_STOP : TN_WALK_ON;
}

bool
cuda_graph_find(tn_ctx *ctx, const tn_module *m, const char *name, const tn_function *f,
                cuda_graph_plan *plan)
{
    finder w = {.ctx = ctx, .m = m, .plan = plan};
    tnb_arena *scratch = tn_scratch(ctx);
    tnb_ptrmap_init(&plan->symbols, scratch);
    tnb_ptrmap_init(&w.fixed, scratch);
    tnb_ptrmap_init(&w.values, scratch);
    tnb_ptrmap_init(&w.leaves, scratch);
    plan->name = name;
    plan->func = f;
    const tn_seq_expr *body = tn_as_seq_expr(f->body);
    for (uint32_t b = 0; body && b < body->blocks.n; b++) {
        tn_list l = ((const tn_bindings_block *)body->blocks.at[b])->bindings;
        for (uint32_t i = 0; i < l.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(l.at[i]);
            const tn_match_cast *mc = tn_as_match_cast(l.at[i]);
            tnb_ptrmap_set(&w.values, vb ? vb->var : mc->var, vb ? vb->value : mc->value);
        }
    }
    /* what it calls may be planned too, and would use the same storages while its own are alive */
    void *user;
    memcpy(&user, &m, sizeof user);
    if (!body || !tn_walk(f->body, TN_WALK_ONCE, find_graph_call, NULL, user))
        return true;
    reaches_result(&w, body->body);
    allow_symbols(&w, f);
    for (uint32_t b = 0; b < body->blocks.n; b++)
        if (!find_in_block(&w, b, (const tn_bindings_block *)body->blocks.at[b]))
            return false;
    return true;
}
