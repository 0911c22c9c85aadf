/* SPDX-License-Identifier: Apache-2.0 */
/* Upper bounds of the symbols of tensor programs, found from where graph functions call them.
 *
 *     def main(x: R.Tensor((n, 64))):                 @T.prim_func(private=True)
 *         R.func_attr({"tir_var_upper_bound": {"n": 8}})      def f(a: (m, 64), b: (k, 64)):
 *         y = R.call_tir(f, (x,), (2 * n, 64))    =>      T.func_attr({"tir_var_upper_bound": {"m": 8, "k": 16}})
 *
 * A symbol has a bound if each call gives it one: it gets the largest. A function that others may call, by its global symbol or
 * because it is handed on as a value, keeps what it says of itself, and so does one that nobody calls.
 */
#include "schedule_private.h"

#include "tenon/kit/rule.h"

static const char UPPER[] = "tir_var_upper_bound";

typedef struct callee {
    const tn_prim_func *func;
    uint32_t calls, mentions;
    tn_list symbols;
    int64_t *most; /* of each symbol over the calls so far; -1: none */
} callee;

struct tnk_bounds {
    tn_ctx *ctx;
    const tn_module *m;
    callee *of;      /* by place in the module; func NULL: not looked at */
    tn_arith *arith; /* of the graph function at hand */
};

/* What the extents of a function's buffers are made of: symbols, and parameters that are integers. */
static tn_list
symbols_of(tn_ctx *ctx, const tn_prim_func *f)
{
    tn_list l = tn_defined_symbols(ctx, TN_NODE(f));
    for (uint32_t i = 0; i < f->params.n; i++)
        if (tn_dtype_of(f->params.at[i]).code == TNB_INT)
            l = tn_list_append(ctx, l, f->params.at[i]);
    return l;
}

static callee *
callee_of(tnk_bounds *b, const tn_node *n)
{
    const tn_global_var *gv = tn_as_global_var(n);
    for (uint32_t i = 0; gv && i < b->m->names.n; i++)
        if (!strcmp(((const tn_global_var *)b->m->names.at[i])->name, gv->name))
            return b->of[i].func ? &b->of[i] : NULL;
    return NULL;
}

/* What one call says of the symbols: bounds in `most`, -1 where it has none yet. */
static void
learn(tnk_bounds *b, const callee *c, int64_t *most, const tn_expr *symbol, const tn_expr *value)
{
    for (uint32_t k = 0; value && k < c->symbols.n; k++) {
        if (c->symbols.at[k] != symbol)
            continue;
        int64_t lo, hi;
        tn_bounds(b->arith, value, &lo, &hi);
        if (hi < TN_POS_INF && hi >= 0 && (most[k] < 0 || hi < most[k]))
            most[k] = hi;
    }
}

static void
learn_argument(tnk_bounds *b, const callee *c, int64_t *most, uint32_t at, const tn_expr *arg,
               const tn_type *type)
{
    tn_list dims;
    if (at >= c->func->params.n)
        return;
    const tn_node *buffer = c->func->buffers.at[at];
    if (!buffer) {
        if (tn_is(type, TN_KIND_TY_PRIM))
            learn(b, c, most, c->func->params.at[at], arg);
        return;
    }
    tn_list shape = tn_as_buffer(buffer)->shape;
    for (uint32_t d = 0; tn_type_dims(type, &dims) && d < dims.n && d < shape.n; d++)
        learn(b, c, most, shape.at[d], dims.at[d]);
}

/* The outputs of a call that are parameters of their own, nested tuples flattened. */
static void
learn_outputs(tnk_bounds *b, const callee *c, int64_t *most, const tn_type *t,
              const tn_array *inplace, uint32_t *index, uint32_t *at)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        learn_outputs(b, c, most, tuple->fields.at[i], inplace, index, at);
    if (tuple)
        return;
    uint32_t i = (*index)++;
    if (!inplace || (i < inplace->items.n && tn_is_int_const(inplace->items.at[i], -1)))
        learn_argument(b, c, most, (*at)++, NULL, t);
}

static void
learn_call(tnk_bounds *b, callee *c, const tn_call *call)
{
    const tn_tuple *args = call->args.n > 1 ? tn_as_tuple(call->args.at[1]) : NULL;
    int64_t *most = TNB_NEW_N(tn_scratch(b->ctx), int64_t, c->symbols.n + 1);
    if (!args)
        return; /* a mention, but no call that is understood */
    for (uint32_t k = 0; k < c->symbols.n; k++)
        most[k] = -1;
    for (uint32_t i = 0; i < args->fields.n; i++)
        learn_argument(b, c, most, i, args->fields.at[i], args->fields.at[i]->type);
    uint32_t at = args->fields.n, index = 0;
    const tn_array *inplace = tn_as_array(tn_call_attr(call, "inplace_indices"));
    for (uint32_t i = 0; i < call->ty_args.n; i++)
        learn_outputs(b, c, most, call->ty_args.at[i], inplace, &index, &at);
    for (uint32_t k = 0; k < c->symbols.n; k++) {
        bool none = most[k] < 0 || (c->calls && c->most[k] < 0);
        c->most[k] = none ? -1 : c->calls && c->most[k] > most[k] ? c->most[k] : most[k];
    }
    c->calls++;
}

static tn_walk_step
visit(void *user, const tn_node *n)
{
    tnk_bounds *b = user;
    callee *c = callee_of(b, n);
    if (c)
        c->mentions++;
    const tn_call *call = tn_is_call_to(n, "relax.call_tir");
    if (!call)
        call = tn_is_call_to(n, "relax.call_tir_inplace");
    c = call && call->args.n ? callee_of(b, call->args.at[0]) : NULL;
    if (c)
        learn_call(b, c, call);
    return TN_WALK_ON;
}

/* What a graph function promises of its own symbols. */
static void
know(tnk_bounds *b, const tn_function *f)
{
    const tn_node *upper = tn_dict_get(f->attrs, UPPER);
    tn_list symbols = tn_defined_symbols(b->ctx, TN_NODE(f));
    b->arith = tn_arith_new(b->ctx);
    for (uint32_t i = 0; i < symbols.n; i++)
        tn_arith_bounds_of_var(b->arith, symbols.at[i], 0,
                               tn_dict_int(upper, tn_var_name(symbols.at[i]), TN_POS_INF));
    for (uint32_t i = 0; i < f->params.n; i++) /* extents that are parameters themselves */
        if (tn_is(f->params.at[i]->type, TN_KIND_TY_PRIM))
            tn_arith_bounds_of_var(b->arith, f->params.at[i],
                                   tn_dict_get(upper, tn_var_name(f->params.at[i])) ? 0
                                                                                    : TN_NEG_INF,
                                   tn_dict_int(upper, tn_var_name(f->params.at[i]), TN_POS_INF));
}

/* The function with what its callers promise, beside what it says itself. */
static const tn_node *
told(const tnk_bounds *b, const callee *c)
{
    const tn_node *f = TN_NODE(c->func), *own = tn_func_attr(f, UPPER);
    const tn_node *upper = own ? own : tn_dict_of(b->ctx, NULL, NULL, 0);
    bool more = false;
    if (!c->calls || c->mentions != c->calls || (own && !tn_as_dict(own)))
        return f;
    for (uint32_t k = 0; k < c->symbols.n; k++) {
        const char *name = tn_var_name(c->symbols.at[k]);
        if (c->most[k] < 0 || tn_dict_get(upper, name))
            continue;
        /* the attribute goes by names: of two symbols of one name neither is told */
        uint32_t same = 0;
        for (uint32_t i = 0; i < c->symbols.n; i++)
            same += !strcmp(tn_var_name(c->symbols.at[i]), name);
        if (same > 1)
            continue;
        upper = tn_dict_set(b->ctx, upper, name, tn_i64(b->ctx, c->most[k]));
        more = true;
    }
    return more ? tn_func_with_attr(b->ctx, f, UPPER, upper) : f;
}

tnk_bounds *
tnk_bounds_of(tn_ctx *ctx, const tn_module *m)
{
    tnk_bounds *b = TNB_NEW(tn_scratch(ctx), tnk_bounds);
    bool any = false;
    *b = (tnk_bounds){.ctx = ctx, .m = m};
    for (uint32_t i = 0; i < m->funcs.n; i++)
        any |= tn_is(m->funcs.at[i], TN_KIND_FUNCTION) && tn_func_attr(m->funcs.at[i], UPPER);
    if (!any)
        return b;
    b->of = TNB_NEW_N(tn_scratch(ctx), callee, m->funcs.n + 1);
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const tn_prim_func *f = tn_as_prim_func(m->funcs.at[i]);
        if (!f || tn_dict_get(f->attrs, "global_symbol"))
            continue;
        callee *c = &b->of[i];
        c->func = f;
        c->symbols = symbols_of(ctx, f);
        c->most = TNB_NEW_N(tn_scratch(ctx), int64_t, c->symbols.n + 1);
    }
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        b->arith = tn_arith_new(ctx);
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            know(b, tn_as_function(m->funcs.at[i]));
        tn_walk(m->funcs.at[i], 0, visit, NULL, b);
    }
    return b;
}

const tn_node *
tnk_bounds_tell(const tnk_bounds *b, const tn_node *func)
{
    for (uint32_t i = 0; b->of && i < b->m->funcs.n; i++)
        if (b->of[i].func && TN_NODE(b->of[i].func) == func)
            return told(b, &b->of[i]);
    return func;
}

int64_t
tnk_upper_bound(tn_ctx *ctx, const tn_node *prim_func, const tn_expr *extent)
{
    int64_t lo, hi;
    if (tn_int_value(extent, &hi))
        return hi;
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    const tn_node *upper = f ? tn_dict_get(f->attrs, UPPER) : NULL;
    if (!upper)
        return -1;
    tn_arith *a = tn_arith_new(ctx);
    tn_list symbols = symbols_of(ctx, f);
    for (uint32_t i = 0; i < symbols.n; i++)
        tn_arith_bounds_of_var(a, symbols.at[i], 0,
                               tn_dict_int(upper, tn_var_name(symbols.at[i]), TN_POS_INF));
    tn_bounds(a, extent, &lo, &hi);
    return hi < TN_POS_INF && hi >= 0 ? hi : -1;
}
