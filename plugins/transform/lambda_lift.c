/* SPDX-License-Identifier: Apache-2.0 */
/* LambdaLift: local functions become private functions of the module.
 *
 *     def main(x, y):                                def main_inner(a, y): ...
 *         @R.function                                def main(x, y):
 *         def inner(a): ... a + y ...            ->      gv = cls.main_inner(x, y)
 *         gv = inner(x)
 *
 * What a local function uses of the functions around it is handed on behind its own arguments, and
 * before them the symbolic variables that no tensor gives. A function may call itself, and others may lie
 * inside of it. One that is used otherwise than by calling it is an error: the machine has no
 * closures. Functions for a code generator keep theirs. Not in the default lists: after it the other
 * passes see every function of the module. Cases: tests/pass/LambdaLift.
 */
#include "transform.h"

#include "tenon/core/walk.h"

typedef struct lifted {
    const tn_expr *global;
    tn_list symbols, values; /* arguments before and behind those that calls give */
} lifted;

typedef struct lifter {
    tn_ctx *ctx;
    tn_module_edit *edit; /* what has been lifted */
    const char *name;     /* of the function that is being worked on */
    tnb_ptrmap lifted;    /* variable -> lifted */
    tnb_strmap names;     /* name of a lifted function -> the last number behind it, at least 1 */
    bool failed;
} lifter;

static void
refuse(lifter *l, tn_loc loc, const char *what, const char *name)
{
    if (l->failed)
        return;
    tn_error(l->ctx, loc, TNB_UNSUPPORTED, "LambdaLift: %s '%s'; only calls of it can be lifted",
             what, name);
    tnb_diag_hint(tn_diags(l->ctx),
                  "call it where it is used, or make it a function of the module");
    l->failed = true;
}

static const tn_expr *
new_global(lifter *l, const tn_node *var)
{
    const char *base = tn_strf(l->ctx, "%s_%s", l->name, tn_var_name(var)), *name = base;
    uintptr_t i = (uintptr_t)tnb_strmap_get(&l->names, base);
    if (i) /* counts on from the last of that name */
        name = tn_strf(l->ctx, "%s_%u", base, (unsigned)i);
    while (tn_module_edit_get(l->edit, name))
        name = tn_strf(l->ctx, "%s_%u", base, (unsigned)++i);
    tnb_strmap_set(&l->names, base, (const void *)(i ? i : 1));
    return tn_global_var_of(l->ctx, name);
}

static tn_list
joined(lifter *l, tn_list a, tn_list b)
{
    for (uint32_t i = 0; i < b.n; i++)
        a = tn_list_append(l->ctx, a, b.at[i]);
    return a;
}

/* ---- what a local function uses from outside ---- */

static bool
has(tn_list list, const tn_node *n)
{
    for (uint32_t i = 0; i < list.n; i++)
        if (list.at[i] == n)
            return true;
    return false;
}

/* The variables that are extents by themselves: an argument gives them their value. */
static tn_list
add_extents(lifter *l, tn_list out, const tn_type *t)
{
    const tn_ty_tuple *fields = tn_as_ty_tuple(t);
    tn_list dims = {0};
    for (uint32_t i = 0; fields && i < fields->fields.n; i++)
        out = add_extents(l, out, fields->fields.at[i]);
    if (!fields && tn_type_dims(t, &dims))
        for (uint32_t i = 0; i < dims.n; i++)
            if (tn_is_var(dims.at[i]))
                out = tn_list_append(l->ctx, out, dims.at[i]);
    return out;
}

/* Values, and the symbolic variables that neither they nor the parameters give. */
static void
find_captured(lifter *l, const tn_function *fn, const tn_node *self, lifted *out)
{
    tn_list used = tn_free_vars(l->ctx, TN_NODE(fn), false), values = {0}, symbols = {0};
    for (uint32_t i = 0; i < used.n; i++) {
        const tn_node *v = used.at[i];
        if (v == self)
            continue;
        if (tn_is(v->type, TN_KIND_TY_FUNC))
            refuse(l, fn->base.loc, "a local function uses the function", tn_var_name(v));
        if (tn_is(v->type, TN_KIND_TY_PRIM)) {
            if (!has(symbols, v))
                symbols = tn_list_append(l->ctx, symbols, v);
            continue;
        }
        values = tn_list_append(l->ctx, values, v);
        tn_list inside = tn_free_vars(l->ctx, v->type, false);
        for (uint32_t k = 0; k < inside.n; k++)
            if (!has(symbols, inside.at[k]))
                symbols = tn_list_append(l->ctx, symbols, inside.at[k]);
    }
    tn_list given = {0};
    for (uint32_t i = 0; i < fn->params.n; i++)
        given = add_extents(l, given, fn->params.at[i]->type);
    for (uint32_t i = 0; i < values.n; i++)
        given = add_extents(l, given, values.at[i]->type);
    for (uint32_t i = 0; i < symbols.n; i++)
        if (!has(given, symbols.at[i]))
            out->symbols = tn_list_append(l->ctx, out->symbols, symbols.at[i]);
    out->values = values;
}

/* ---- lifting ---- */

static const tn_node *
rewrite_call(lifter *l, const tn_node *n)
{
    const tn_call *c = tn_as_call(n);
    const lifted *f = c && tn_is_var(c->op) ? tnb_ptrmap_get(&l->lifted, c->op) : NULL;
    return f ? tn_call_of(l->ctx, f->global, joined(l, joined(l, f->symbols, c->args), f->values),
                          c->attrs, c->ty_args, c->base.type)
             : NULL;
}

static const tn_node *
rewrite_own_call(tn_rewriter *r, const tn_node *n)
{
    return rewrite_call(r->user, n);
}

/* The local function with what it captures as parameters; everything in it is new. */
static const tn_node *
close_function(lifter *l, const tn_function *fn, const lifted *f)
{
    tn_rewriter own = {.ctx = l->ctx, .user = l, .post = rewrite_own_call};
    const tn_expr *body = tn_rewrite(&own, fn->body);
    tn_list params = joined(l, f->symbols, fn->params);
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(l->ctx));
    for (uint32_t i = 0; i < f->values.n; i++) {
        const tn_node *v = f->values.at[i];
        if (tn_is(v, TN_KIND_DATAFLOW_VAR)) {
            const tn_expr *plain = tn_var_new(l->ctx, tn_var_name(v), v->type);
            tnb_ptrmap_set(&map, v, plain);
            v = plain;
        }
        params = tn_list_append(l->ctx, params, v);
    }
    if (map.n)
        body = tn_subst(l->ctx, body, &map);
    const tn_expr *out = tn_function_of(l->ctx, params, body, fn->ret, fn->pure, fn->attrs);
    return tn_is_error(out) ? out : tn_fresh_copy(l->ctx, out, NULL);
}

/* Bottom-up and in order: what lies inside a local function is lifted before it, and it before the
 * calls that follow. */
static const tn_node *
lift(tn_rewriter *r, const tn_node *n)
{
    lifter *l = r->user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_function *fn = vb ? tn_as_function(vb->value) : NULL;
    if (!fn)
        return rewrite_call(l, n);
    lifted *f = TNB_NEW(tn_scratch(l->ctx), lifted);
    f->global = new_global(l, vb->var);
    find_captured(l, fn, vb->var, f);
    tnb_ptrmap_set(&l->lifted, vb->var, f);
    const tn_node *global = close_function(l, fn, f);
    if (tn_is_error(global))
        l->failed = true;
    else
        tn_module_edit_set(l->edit, tn_as_global_var(f->global)->name, global);
    return tn_removed();
}

static tn_walk_step
find_value_use(void *user, const tn_node *n)
{
    lifter *l = user;
    if (tn_is_var(n) && tnb_ptrmap_has(&l->lifted, n))
        refuse(l, n->loc, "a value is made of the local function", tn_var_name(n));
    return l->failed ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    lifter l = {.ctx = pc->ctx, .edit = tn_module_edit_new(pc->ctx, m)};
    tnb_strmap_init(&l.names, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&l.lifted, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        if (!fn || tn_dict_get(fn->attrs, "Codegen"))
            continue;
        l.name = tn_module_name(m, i);
        uint32_t before = l.lifted.n;
        tn_rewriter r = {.ctx = pc->ctx, .user = &l, .post = lift};
        const tn_node *out = tn_rewrite(&r, TN_NODE(fn));
        if (l.failed || tn_is_error(out))
            return NULL;
        if (l.lifted.n != before)
            tn_module_edit_set(l.edit, l.name, out);
    }
    m = tn_module_edit_end(l.edit);
    /* what is left of the variables of lifted functions is no call */
    for (uint32_t i = 0; m && l.lifted.n && i < m->funcs.n; i++)
        tn_walk(m->funcs.at[i], 0, find_value_use, NULL, &l);
    return l.failed ? NULL : m;
}

const tn_pass transform_lambda_lift = {
    .base.size = sizeof(tn_pass),
    .base.name = "LambdaLift",
    .base.doc = "make local functions functions of the module",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
