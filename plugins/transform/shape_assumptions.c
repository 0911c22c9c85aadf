/* SPDX-License-Identifier: Apache-2.0 */
/* What a binding takes for granted about extents: an operator's inference says so; the arguments of a tensor program
 * have the shapes that its buffers are written with; a match_cast matches.
 */
#include "shape_facts.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef struct matching {
    tn_ctx *ctx;
    tnb_ptrmap symbols; /* the program's variables -> what this call has in their place */
    tn_assumptions *out;
} matching;

static void
assume_equal(tn_ctx *ctx, tn_assumptions *out, const tn_expr *have, const tn_expr *want,
             const char *text)
{
    int64_t x, y;
    if (have == want || (tn_int_value(have, &x) && tn_int_value(want, &y) && x == y))
        return;
    const tn_node *both[] = {have, want};
    tn_assumption a = {.holds = tn_bin(ctx, TN_KIND_EQ, have, want),
                       .text = text,
                       .values = tn_list_of(ctx, both, 2)};
    if (!tn_is_error(a.holds))
        TNB_PUSH(tn_scratch(ctx), *out, a);
}

/* ---- tensor programs ---- */

static void
match_param(matching *m, const tn_prim_func *f, const char *name, uint32_t at, const tn_type *type,
            const tn_expr *arg)
{
    tn_ctx *ctx = m->ctx;
    const tn_buffer *b = at < f->buffers.n ? tn_as_buffer(f->buffers.at[at]) : NULL;
    tn_list dims;
    if (!b) {
        if (arg && at < f->params.n && tn_is_scalar(arg))
            tnb_ptrmap_set(&m->symbols, f->params.at[at], (void *)(uintptr_t)arg);
        return;
    }
    if (!tn_type_dims(type, &dims) || dims.n != b->shape.n)
        return;
    for (uint32_t i = 0; i < dims.n; i++) {
        const tn_expr *want = b->shape.at[i];
        if (tn_is_var(want) && !tnb_ptrmap_has(&m->symbols, want)) {
            tnb_ptrmap_set(&m->symbols, want,
                           (void *)(uintptr_t)tn_cast_to(ctx, tn_dtype_of(want), dims.at[i]));
            continue;
        }
        tn_list vars = tn_free_vars(ctx, want, false);
        bool known = true;
        for (uint32_t k = 0; k < vars.n; k++)
            known &= tnb_ptrmap_has(&m->symbols, vars.at[k]);
        if (known)
            assume_equal(ctx, m->out, dims.at[i], tn_subst(ctx, want, &m->symbols),
                         tn_strf(ctx,
                                 "argument %u of '%s' has extent {} in axis %u, but the program "
                                 "wants {}",
                                 at, name, i));
    }
}

/* Types of the outputs in order, nested tuples flattened. */
static void
match_outputs(matching *m, const tn_prim_func *f, const char *name, const tn_type *t, uint32_t *at)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        match_outputs(m, f, name, tuple->fields.at[i], at);
    if (!tuple)
        match_param(m, f, name, (*at)++, t, NULL);
}

static void
program_call(tn_ctx *ctx, const tn_module *module, const tn_call *call, tn_assumptions *out)
{
    const tn_op *op = tn_call_op_of(call);
    bool direct = !op && tn_is(call->op, TN_KIND_GLOBAL_VAR);
    bool by_op = op && (!strncmp(op->name, "relax.call_tir", 14) ||
                        !strcmp(op->name, "relax.dist.call_tir"));
    if (!direct && (!by_op || call->args.n < 2))
        return;
    const tn_global_var *gv = tn_as_global_var(direct ? call->op : call->args.at[0]);
    const tn_prim_func *f = gv ? tn_as_prim_func(tn_module_get(module, gv->name)) : NULL;
    const tn_tuple *tuple = direct ? NULL : tn_as_tuple(call->args.at[1]);
    if (!f || (!direct && !tuple))
        return;
    tn_list args = direct ? call->args : tuple->fields;
    matching m = {.ctx = ctx, .out = out};
    tnb_ptrmap_init(&m.symbols, tn_scratch(ctx));
    for (uint32_t i = 0; i < args.n && i < f->params.n; i++)
        match_param(&m, f, gv->name, i, args.at[i]->type, args.at[i]);
    uint32_t at = args.n;
    for (uint32_t i = 0; i < call->ty_args.n && !tn_call_attr(call, "inplace_indices"); i++)
        match_outputs(&m, f, gv->name, call->ty_args.at[i], &at);
}

/* ---- match_cast ---- */

void
shape_match_assumptions(tn_ctx *ctx, const tn_match_cast *mc, const tnb_ptrmap *known,
                        tn_assumptions *out)
{
    tn_list have, want;
    if (!tn_type_dims(mc->value->type, &have) || !tn_type_dims(mc->to, &want) || have.n != want.n)
        return;
    for (uint32_t i = 0; i < have.n; i++)
        if (!tn_is_var(want.at[i]) || tnb_ptrmap_has(known, want.at[i]))
            assume_equal(ctx, out, have.at[i], want.at[i],
                         tn_strf(ctx, "extent %u is {}, but {} is wanted", i));
}

bool
shape_call_assumptions(tn_ctx *ctx, const tn_module *module, tnb_ptrmap *before,
                       const tn_call *call, tn_assumptions *out)
{
    *out = (tn_assumptions){NULL, 0, 0};
    if (!tn_call_assumptions_again(ctx, before, call, out))
        return false;
    program_call(ctx, module, call, out);
    return true;
}
