/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of functions put where they are called: of what a library dispatch does not keep, and of the
 * local functions in what it does keep.
 *
 *     lv = cls.fused_relu_add_clml(x, y)     =>     lv1 = R.nn.relu(x)
 *                                                   lv = R.add(lv1, y)
 */
#include "tenon/core/walk.h"
#include "tenon/kit/pattern.h"

typedef struct inliner {
    tn_ctx *ctx;
    const tn_module *m;
    const tnb_strmap *symbols;
    bool dataflow;    /* of the block that is rewritten */
    tnb_ptrmap local; /* variable -> Function */
    tnb_ptrmap map;   /* variable of the function -> what stands for it */
    TNB_VEC(const tn_node *) out;
} inliner;

static void
put_body(inliner *s, const tn_seq_expr *seq);

/* Symbolic extents of a parameter stand for those of the argument. */
static void
bind_extents(inliner *s, const tn_type *param, const tn_type *arg)
{
    const tn_ty_tuple *p = tn_as_ty_tuple(param), *a = tn_as_ty_tuple(arg);
    tn_list want, have;
    for (uint32_t i = 0; p && a && i < p->fields.n && i < a->fields.n; i++)
        bind_extents(s, p->fields.at[i], a->fields.at[i]);
    if (p || !tn_type_dims(param, &want) || !tn_type_dims(arg, &have) || want.n != have.n)
        return;
    for (uint32_t i = 0; i < want.n; i++)
        if (tn_is_var(want.at[i]) && !tnb_ptrmap_has(&s->map, want.at[i]))
            tnb_ptrmap_set(&s->map, want.at[i], have.at[i]);
}

/* The body of `fn` for these arguments; gives the result. */
static const tn_expr *
put_call(inliner *s, const tn_node *fn, tn_list args)
{
    const tn_function *f = tn_as_function(tn_fresh_copy(s->ctx, fn, NULL));
    for (uint32_t i = 0; i < f->params.n; i++) {
        bind_extents(s, f->params.at[i]->type, args.at[i]->type);
        tnb_ptrmap_set(&s->map, f->params.at[i], args.at[i]);
    }
    const tn_seq_expr *seq = tn_as_seq_expr(f->body);
    put_body(s, seq);
    return tn_subst(s->ctx, seq->body, &s->map);
}

static void
put_body(inliner *s, const tn_seq_expr *seq)
{
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        tn_list at = tn_as_bindings_block(seq->blocks.at[b])->bindings;
        for (uint32_t i = 0; i < at.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(at.at[i]);
            const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
            const tn_node *fn = c ? tnb_ptrmap_get(&s->local, c->op) : NULL;
            if (vb && tn_is(vb->value, TN_KIND_FUNCTION)) {
                tnb_ptrmap_set(&s->local, vb->var, vb->value);
                continue;
            }
            if (fn) {
                const tn_call *now = tn_as_call(tn_subst(s->ctx, vb->value, &s->map));
                tnb_ptrmap_set(&s->map, vb->var, put_call(s, fn, now->args));
                continue;
            }
            const tn_node *n = tn_subst(s->ctx, at.at[i], &s->map);
            const tn_var_binding *nb = tn_as_var_binding(n);
            if (nb && tn_is(nb->var, TN_KIND_DATAFLOW_VAR) != s->dataflow) {
                const char *name = tn_var_name(nb->var);
                const tn_type *type = nb->var->type;
                const tn_expr *v = s->dataflow ? tn_dataflow_var_new(s->ctx, name, type)
                                               : tn_var_new(s->ctx, name, type);
                tnb_ptrmap_set(&s->map, vb->var, v);
                n = tn_var_binding_of(s->ctx, v, nb->value);
            } else if (nb && nb->var != vb->var) {
                tnb_ptrmap_set(&s->map, vb->var, nb->var);
            }
            TNB_PUSH(tn_scratch(s->ctx), s->out, n);
        }
    }
}

static inliner
begin(tn_ctx *ctx, bool dataflow)
{
    inliner s = {.ctx = ctx, .dataflow = dataflow};
    tnb_ptrmap_init(&s.local, tn_scratch(ctx));
    tnb_ptrmap_init(&s.map, tn_scratch(ctx));
    return s;
}

const tn_function *
tnk_put_together(tn_ctx *ctx, const tn_function *fn, const tn_node *attrs)
{
    inliner s = begin(ctx, false);
    const tn_seq_expr *seq = tn_as_seq_expr(fn->body);
    put_body(&s, seq);
    const tn_node *block = tn_binding_block_of(ctx, tn_list_of(ctx, s.out.at, s.out.n), false);
    const tn_expr *result = tn_subst(ctx, seq->body, &s.map);
    const tn_expr *body = tn_seq_expr_of(ctx, tn_listv(ctx, block, NULL), result);
    return tn_as_function(tn_function_of(ctx, fn->params, body, fn->ret, fn->pure != 0, attrs));
}

static const tn_node *
inline_block(tn_rewriter *r, const tn_node *n)
{
    const inliner *all = r->user;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    bool any = false;
    inliner s = begin(all->ctx, tn_is(n, TN_KIND_DATAFLOW_BLOCK));
    for (uint32_t i = 0; block && i < block->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
        const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
        const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
        if (!gv || !tnb_strmap_has(all->symbols, gv->name)) {
            TNB_PUSH(tn_scratch(s.ctx), s.out, block->bindings.at[i]);
            continue;
        }
        any = true;
        const tn_expr *result = put_call(&s, tn_module_get(all->m, gv->name), c->args);
        TNB_PUSH(tn_scratch(s.ctx), s.out, tn_var_binding_of(s.ctx, vb->var, result));
    }
    return any ? tn_binding_block_of(s.ctx, tn_list_of(s.ctx, s.out.at, s.out.n), s.dataflow)
               : NULL;
}

const tn_module *
tnk_put_back(tn_ctx *ctx, const tn_module *m, const tnb_strmap *symbols)
{
    inliner all = {.ctx = ctx, .m = m, .symbols = symbols};
    tn_module_edit *edit = tn_module_edit_new(ctx, m);
    for (uint32_t i = 0; symbols->n && i < m->names.n; i++) {
        const char *name = tn_module_name(m, i);
        const tn_node *f = m->funcs.at[i];
        if (tnb_strmap_has(symbols, name)) {
            tn_module_edit_set(edit, name, NULL);
        } else if (tn_is(f, TN_KIND_FUNCTION)) {
            tn_rewriter r = {.ctx = ctx, .user = &all, .post = inline_block};
            const tn_node *nf = tn_rewrite(&r, f);
            if (nf != f)
                tn_module_edit_set(edit, name, nf);
        }
    }
    return tn_module_edit_end(edit);
}
