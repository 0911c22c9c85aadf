/* SPDX-License-Identifier: Apache-2.0 */
/* Do the stages of a function match? What stage k sends has to be what stage k + 1 receives: as
 * many messages, in the same order, of the same shapes and dtypes; the first stage receives and the
 * last sends nothing; and the entry passes each stage what its parameters want.
 *
 *     f_stage0:  _ = R.call_packed("runtime.disco.send_to_next_group", a)       a: (n, 32) float32
 *     f_stage1:  b = R.call_dps_packed("runtime.disco.recv_from_prev_group",    b: (m, 32) float32
 *                                      (), out_ty=R.Tensor((m, 32), "float32"))
 *
 * The symbolic variables of both sides are those of the entry, found through what it passes; those
 * that a stage takes from its weights correspond when they occur at the same places.
 */
#include "pipeline.h"

#include "tenon/core/arith.h"

typedef struct event {
    const tn_node *at;
    const tn_type *type; /* in variables of the entry */
} event;

typedef struct worker {
    const char *name;
    const tn_function *func;
    tnb_ptrmap symbols; /* the stage's symbolic variable -> the entry's expression */
    tnb_ptrmap matched; /* symbolic variables that the stage finds out for itself */
    TNB_VEC(event) sends;
    TNB_VEC(event) receives;
} worker;

typedef struct checker {
    tn_ctx *ctx;
    const tn_module *m;
    const char *entry;
    worker *w; /* at work */
    const tn_node *binding;
    uint32_t nested; /* depth of branches and inner functions */
    bool failed;
} checker;

static tn_loc
place_of(const checker *c, const tn_node *n)
{
    return n && n->loc ? n->loc : c->binding ? c->binding->loc : 0;
}

/* ---- what a stage sends and receives ---- */

/* The name of a packed function that a call calls, in any of its forms. */
static const char *
packed_name(const tn_call *c, uint32_t *first_arg)
{
    const tn_extern_func *f = tn_as_extern_func(c->op);
    *first_arg = 0;
    if (!f && c->args.n &&
        (tn_is_call_to(&c->base, "relax.call_dps_packed") ||
         tn_is_call_to(&c->base, "relax.call_pure_packed") ||
         tn_is_call_to(&c->base, "relax.call_builtin_with_ctx"))) {
        f = tn_as_extern_func(c->args.at[0]);
        *first_arg = 1;
    }
    return f ? f->name : "";
}

static const tn_type *
in_entry(checker *c, const tn_type *t)
{
    return tn_subst(c->ctx, t, &c->w->symbols);
}

static tn_walk_step
enter(void *user, const tn_node *n)
{
    checker *c = user;
    uint32_t first;
    if (tn_is(n, TN_KIND_IF_EXPR) || tn_is(n, TN_KIND_FUNCTION))
        c->nested++;
    if (tn_is(n, TN_KIND_VAR_BINDING))
        c->binding = n;
    if (tn_is(n, TN_KIND_MATCH_CAST))
        pipeline_add_symbols(&c->w->matched, ((const tn_match_cast *)n)->to);
    const tn_call *call = tn_as_call(n);
    const char *name = call ? packed_name(call, &first) : "";
    bool sends = strcmp(name, PIPELINE_SEND) == 0, receives = strcmp(name, PIPELINE_RECEIVE) == 0;
    if (!sends && !receives)
        return TN_WALK_ON;
    if (c->nested > 1) {
        tn_error(c->ctx, place_of(c, n), TNB_UNSUPPORTED,
                 "'%s' %s inside a branch or an inner function: whether it matches the other side "
                 "cannot be known",
                 c->w->name, sends ? "sends" : "receives");
        c->failed = true;
        return TN_WALK_STOP;
    }
    bool made = receives && tn_is_call_to(n, "relax.call_dps_packed");
    if (!made && call->args.n <= first) {
        tn_error(c->ctx, place_of(c, n), TNB_INVALID, "'%s' calls %s without a tensor", c->w->name,
                 name);
        c->failed = true;
        return TN_WALK_STOP;
    }
    const tn_type *type = made ? n->type : call->args.at[first]->type;
    event e = {c->binding ? c->binding : n, in_entry(c, type)};
    if (sends)
        TNB_PUSH(tn_scratch(c->ctx), c->w->sends, e);
    else
        TNB_PUSH(tn_scratch(c->ctx), c->w->receives, e);
    return TN_WALK_ON;
}

static tn_walk_step
leave(void *user, const tn_node *n)
{
    checker *c = user;
    if (tn_is(n, TN_KIND_IF_EXPR) || tn_is(n, TN_KIND_FUNCTION))
        c->nested--;
    return TN_WALK_ON;
}

/* ---- comparing types ---- */

static bool
same_extent(checker *c, const worker *from, const worker *to, tnb_ptrmap *pairs, const tn_expr *a,
            const tn_expr *b)
{
    if (tnb_ptrmap_has(&from->matched, a) && tnb_ptrmap_has(&to->matched, b)) {
        const tn_node *known = tnb_ptrmap_get(pairs, a);
        tnb_ptrmap_set(pairs, a, known ? known : b);
        return !known || known == b;
    }
    return tn_prove_equal(c->ctx, tn_subst(c->ctx, a, pairs), b);
}

static bool
same_type(checker *c, const worker *from, const worker *to, tnb_ptrmap *pairs, const tn_type *a,
          const tn_type *b)
{
    tn_list x, y;
    if (!tn_is(a, TN_KIND_TY_TENSOR) || !tn_is(b, TN_KIND_TY_TENSOR) || !tn_type_dims(a, &x) ||
        !tn_type_dims(b, &y) || x.n != y.n || !tnb_dtype_eq(tn_type_dtype(a), tn_type_dtype(b)))
        return false;
    for (uint32_t i = 0; i < x.n; i++)
        if (!same_extent(c, from, to, pairs, x.at[i], y.at[i]))
            return false;
    return true;
}

static bool
match_link(checker *c, const worker *from, const worker *to)
{
    tnb_ptrmap pairs;
    tnb_ptrmap_init(&pairs, tn_scratch(c->ctx));
    uint32_t n = from->sends.n < to->receives.n ? from->sends.n : to->receives.n;
    for (uint32_t i = 0; i < n; i++) {
        const event *s = &from->sends.at[i], *r = &to->receives.at[i];
        if (same_type(c, from, to, &pairs, s->type, r->type))
            continue;
        tn_error(c->ctx, r->at->loc, TNB_TYPE,
                 "the stages of '%s' do not match: message %u is received by '%s' as %s, but sent "
                 "by '%s' as %s",
                 c->entry, i, to->name, tn_text(c->ctx, r->type), from->name,
                 tn_text(c->ctx, s->type));
        tnb_diag_note(tn_diags(c->ctx), "'%s' sends it at %s", from->name,
                      pipeline_place(c->ctx, s->at->loc));
        return false;
    }
    if (from->sends.n == to->receives.n)
        return true;
    bool more = from->sends.n > to->receives.n; /* the first message without a partner */
    const event *alone = more ? &from->sends.at[n] : &to->receives.at[n];
    tn_error(c->ctx, alone->at->loc, TNB_INVALID,
             "the stages of '%s' do not match: '%s' sends %u messages, but '%s' receives %u",
             c->entry, from->name, from->sends.n, to->name, to->receives.n);
    if (n)
        tnb_diag_note(tn_diags(c->ctx), "'%s' %s its last message at %s",
                      more ? to->name : from->name, more ? "receives" : "sends",
                      pipeline_place(c->ctx, more ? to->receives.at[n - 1].at->loc
                                                  : from->sends.at[n - 1].at->loc));
    else
        tnb_diag_note(tn_diags(c->ctx), "'%s' is at %s", more ? to->name : from->name,
                      pipeline_place(c->ctx, (more ? to : from)->func->base.loc));
    return false;
}

static bool
refuse_end(checker *c, const worker *w, const event *e, const char *what)
{
    tn_error(c->ctx, e->at->loc, TNB_INVALID, "the stages of '%s' do not match: '%s' is the %s",
             c->entry, w->name, what);
    tnb_diag_note(tn_diags(c->ctx), "'%s' is at %s", c->entry,
                  pipeline_place(c->ctx, tn_module_get(c->m, c->entry)->loc));
    return false;
}

/* ---- what the entry passes ---- */

static void
bind_symbols(tnb_ptrmap *map, const tn_type *param, const tn_type *arg)
{
    tn_list x, y;
    if (!tn_type_dims(param, &x) || !tn_type_dims(arg, &y) || x.n != y.n)
        return;
    for (uint32_t i = 0; i < x.n; i++)
        if (tn_is_var(x.at[i]) && !tnb_ptrmap_has(map, x.at[i]))
            tnb_ptrmap_set(map, x.at[i], y.at[i]);
}

static bool
read_stage(checker *c, const tn_node *given, uint32_t k, worker *w)
{
    const tn_tuple *t = tn_as_tuple(given);
    const tn_global_var *g = t && t->fields.n ? tn_as_global_var(t->fields.at[0]) : NULL;
    tn_loc loc = place_of(c, given);
    *w = (worker){.func = g ? tn_as_function(tn_module_get(c->m, g->name)) : NULL};
    tnb_ptrmap_init(&w->symbols, tn_scratch(c->ctx));
    tnb_ptrmap_init(&w->matched, tn_scratch(c->ctx));
    if (!w->func) {
        tn_error(c->ctx, loc, TNB_INVALID,
                 "stage %u of '%s' is %s, but a tuple of a graph function and its arguments is "
                 "wanted",
                 k, c->entry, tn_text(c->ctx, given));
        return false;
    }
    w->name = g->name;
    if (w->func->params.n != t->fields.n - 1) {
        tn_error(c->ctx, loc, TNB_INVALID,
                 "'%s' passes %u arguments to its stage '%s', which takes %u", c->entry,
                 t->fields.n - 1, g->name, w->func->params.n);
        tnb_diag_note(tn_diags(c->ctx), "'%s' is at %s", g->name,
                      pipeline_place(c->ctx, w->func->base.loc));
        return false;
    }
    for (uint32_t i = 0; i < w->func->params.n; i++) {
        const tn_expr *param = w->func->params.at[i], *arg = t->fields.at[i + 1];
        if (tn_is_scalar(param))
            tnb_ptrmap_set(&w->symbols, param, arg);
        bind_symbols(&w->symbols, param->type, arg->type);
        const tn_type *want = tn_subst(c->ctx, param->type, &w->symbols);
        if (tn_type_check(c->ctx, want, arg->type) == TN_SUBTYPE_FAIL) {
            tn_error(c->ctx, loc, TNB_TYPE,
                     "'%s' passes %s to its stage '%s', whose parameter '%s' is %s", c->entry,
                     tn_text(c->ctx, arg->type), g->name, tn_var_name(param),
                     tn_text(c->ctx, param->type));
            tnb_diag_note(tn_diags(c->ctx), "'%s' is at %s", g->name,
                          pipeline_place(c->ctx, w->func->base.loc));
            return false;
        }
    }
    c->w = w;
    c->nested = 0;
    const tn_node *binding = c->binding;
    c->binding = NULL;
    tn_walk(&w->func->base, 0, enter, leave, c);
    c->binding = binding;
    return !c->failed;
}

static bool
check_dispatch(checker *c, const tn_call *call)
{
    const tn_tuple *args = call->args.n > 1 ? tn_as_tuple(call->args.at[1]) : NULL;
    const tn_tuple *all = args && args->fields.n == 1 ? tn_as_tuple(args->fields.at[0]) : NULL;
    if (!all || !all->fields.n) {
        tn_error(c->ctx, place_of(c, &call->base), TNB_INVALID,
                 "'%s' calls " PIPELINE_DISPATCH " without a tuple of stages", c->entry);
        return false;
    }
    uint32_t n = all->fields.n;
    worker *w = TNB_NEW_N(tn_scratch(c->ctx), worker, n);
    for (uint32_t k = 0; k < n; k++)
        if (!read_stage(c, all->fields.at[k], k, &w[k]))
            return false;
    for (uint32_t k = 0; k + 1 < n; k++)
        if (!match_link(c, &w[k], &w[k + 1]))
            return false;
    if (w[0].receives.n)
        return refuse_end(c, &w[0], &w[0].receives.at[0], "first stage, but receives");
    if (w[n - 1].sends.n)
        return refuse_end(c, &w[n - 1], &w[n - 1].sends.at[0], "last stage, but sends");
    return true;
}

static tn_walk_step
find_dispatch(void *user, const tn_node *n)
{
    checker *c = user;
    uint32_t first;
    if (tn_is(n, TN_KIND_VAR_BINDING))
        c->binding = n;
    const tn_call *call = tn_is_call_to(n, "relax.call_builtin_with_ctx");
    if (call && strcmp(packed_name(call, &first), PIPELINE_DISPATCH) == 0)
        c->failed |= !check_dispatch(c, call);
    return c->failed ? TN_WALK_STOP : TN_WALK_ON;
}

bool
pipeline_check(tn_ctx *ctx, const tn_module *m)
{
    checker c = {.ctx = ctx, .m = m};
    for (uint32_t i = 0; i < m->names.n && !c.failed; i++) {
        c.entry = tn_module_name(m, i);
        c.binding = NULL;
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(m->funcs.at[i], 0, find_dispatch, NULL, &c);
    }
    return !c.failed;
}
