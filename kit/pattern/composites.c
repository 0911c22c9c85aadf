/* SPDX-License-Identifier: Apache-2.0 */
/* What an external code generator reads of a function that MergeCompositeFunctions made: calls of its composite functions.
 *
 *     @R.function                                     each: "dnnl.conv2d", [x, w], a
 *     def local(x):  # Composite: "dnnl.conv2d"       each: "dnnl.unary", [a], b
 *         ...                                   =>    results: [b]
 *     a = local(x, w); t = (a, x); b = local1(t[0])
 */
#include "tenon/kit/pattern.h"

typedef struct walk {
    tn_ctx *ctx;
    tnb_ptrmap known, functions,
        tuples; /* variable -> the one that it is a name for; -> Function; -> Tuple */
    tnk_composite_fn each;
    void *user;
} walk;

/* The parameter or result that an expression is a name for; NULL: it is something else. */
static const tn_expr *
named(const walk *w, const tn_expr *e)
{
    const tn_tuple_get *get = tn_as_tuple_get(e);
    const tn_tuple *t = get ? tnb_ptrmap_get(&w->tuples, get->tuple) : NULL;
    if (get)
        e = t && get->index < t->fields.n ? t->fields.at[get->index] : NULL;
    return e ? tnb_ptrmap_get(&w->known, e) : NULL;
}

static tn_list
all_named(const walk *w, tn_list l)
{
    tn_list out = l;
    for (uint32_t i = 0; i < l.n; i++) {
        const tn_expr *e = named(w, l.at[i]);
        if (e)
            tn_list_change(w->ctx, &out, l, i, e);
    }
    return out;
}

static bool
binding(walk *w, const tn_node *b)
{
    const tn_var_binding *vb = tn_as_var_binding(b);
    if (!vb)
        return false;
    const tn_call *call = tn_as_call(vb->value);
    const tn_function *fn = call ? tnb_ptrmap_get(&w->functions, call->op) : NULL;
    const tn_expr *same = named(w, vb->value);
    if (tn_is(vb->value, TN_KIND_FUNCTION))
        tnb_ptrmap_set(&w->functions, vb->var, vb->value);
    else if (tn_is(vb->value, TN_KIND_TUPLE))
        tnb_ptrmap_set(&w->tuples, vb->var, vb->value);
    else if (same)
        tnb_ptrmap_set(&w->known, vb->var, same);
    if (!fn)
        return same || tn_is(vb->value, TN_KIND_FUNCTION) || tn_is(vb->value, TN_KIND_TUPLE);
    tnb_ptrmap_set(&w->known, vb->var, vb->var);
    tnk_composite c = {.name = tn_dict_str(fn->attrs, "Composite", ""),
                       .func = fn,
                       .args = all_named(w, call->args),
                       .var = vb->var};
    return w->each(w->user, &c);
}

bool
tnk_composites(tn_ctx *ctx, const tn_function *func, tnk_composite_fn each, void *user,
               tn_list *results)
{
    walk w = {.ctx = ctx, .each = each, .user = user};
    const tn_seq_expr *seq = tn_as_seq_expr(func->body);
    tnb_ptrmap_init(&w.known, tn_scratch(ctx));
    tnb_ptrmap_init(&w.functions, tn_scratch(ctx));
    tnb_ptrmap_init(&w.tuples, tn_scratch(ctx));
    for (uint32_t i = 0; i < func->params.n; i++)
        tnb_ptrmap_set(&w.known, func->params.at[i], func->params.at[i]);
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        tn_list at = tn_as_bindings_block(seq->blocks.at[b])->bindings;
        for (uint32_t i = 0; i < at.n; i++)
            if (!binding(&w, at.at[i]))
                return false;
    }
    const tn_expr *body = tnb_ptrmap_get(&w.tuples, seq->body);
    const tn_tuple *t = tn_as_tuple(body ? body : seq->body);
    *results = all_named(&w, t ? t->fields : tn_listv(ctx, seq->body, NULL));
    return true;
}
