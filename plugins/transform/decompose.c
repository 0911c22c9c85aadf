/* SPDX-License-Identifier: Apache-2.0 */
/* Decomposition of composite operators: the walk over a function, and the rules for inference. */
#include "decompose.h"

#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

struct decomposer {
    tn_ctx *ctx;
    decompose_fn fn;
    tnb_ptrmap renewed; /* variables whose type changed */
    TNB_VEC(const tn_node *) out;
    bool dataflow;
};

tn_ctx *
decompose_ctx(decomposer *d)
{
    return d->ctx;
}

const tn_expr *
decompose_step(decomposer *d, const tn_expr *e)
{
    if (tn_is_error(e))
        return e;
    const tn_expr *v = d->dataflow ? tn_dataflow_var_new(d->ctx, "lv", e->type)
                                   : tn_var_new(d->ctx, "gv", e->type);
    TNB_PUSH(tn_scratch(d->ctx), d->out, tn_var_binding_of(d->ctx, v, e));
    return v;
}

const tn_expr *
decompose_as(decomposer *d, const tn_expr *e, const tn_expr *like)
{
    tnb_dtype want = tn_type_dtype(like->type);
    if (tn_is_error(e) || tn_is_error(like) || tnb_dtype_eq(tn_type_dtype(e->type), want))
        return e;
    const tn_node *attrs = tn_dictv(d->ctx, "dtype", tn_dtype_imm_of(d->ctx, want), NULL);
    return decompose_step(d, tn_call_opv(d->ctx, "astype", attrs, e, NULL));
}

const tn_expr *
decompose_shape(decomposer *d, const tn_expr *shape, int64_t ndim)
{
    tn_list values = {0};
    for (int64_t i = 0; i < ndim; i++)
        values = tn_list_append(d->ctx, values, tn_var_dtype(d->ctx, "x", TNB_I64));
    const tn_type *to = tn_ty_shape_of(d->ctx, values);
    const tn_expr *y =
        d->dataflow ? tn_dataflow_var_new(d->ctx, "y", to) : tn_var_new(d->ctx, "y", to);
    TNB_PUSH(tn_scratch(d->ctx), d->out, tn_match_cast_of(d->ctx, y, shape, to));
    return tn_shape_expr_of(d->ctx, values);
}

bool
decompose_is_other(const tn_node *call, bool training)
{
    const tn_call *c = tn_is_call_to(call, "relax.nn.batch_norm");
    return c && (tn_call_int(c, "training") != 0) != training;
}

bool
decompose_only_marked(const tn_pass_ctx *pc)
{
    return tn_option_bool(pc, "only_marked");
}

struct others {
    bool training, found;
};

static tn_walk_step
look_for_others(void *user, const tn_node *n)
{
    struct others *o = user;
    o->found |= decompose_is_other(n, o->training);
    return o->found ? TN_WALK_STOP : TN_WALK_ON;
}

bool
decompose_comparable(const tn_pass_ctx *pc, const tn_module *before, bool training,
                     const char **why)
{
    struct others o = {.training = training};
    for (uint32_t i = 0; i < before->funcs.n && !decompose_only_marked(pc); i++)
        if (tn_is(before->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(before->funcs.at[i], 0, look_for_others, NULL, &o);
    if (o.found)
        *why = training
                   ? "a batch_norm that is marked for inference uses the batch's statistics now"
                   : "a batch_norm that is marked for training uses the moving averages now";
    return !o.found;
}

/* ---- the rules for inference ---- */

static const tn_expr *
apply(decomposer *d, const char *op, const tn_expr *a, const tn_expr *b)
{
    if (tn_is_error(a) || tn_is_error(b))
        return tn_error_node(d->ctx);
    return decompose_step(d, tn_call_opv(d->ctx, op, NULL, a, b, NULL));
}

static const tn_expr *
expanded(decomposer *d, const tn_expr *e, const int64_t *axes, uint32_t n)
{
    if (!n || tn_is_error(e))
        return e;
    const tn_node *attrs = tn_dictv(d->ctx, "axis", tn_int_array(d->ctx, axes, n), NULL);
    return decompose_step(d, tn_call_opv(d->ctx, "expand_dims", attrs, e, NULL));
}

const tn_expr *
decompose_normalized(decomposer *d, const tn_call *call, const tn_expr *x, const tn_expr *mean,
                     const tn_expr *var, const tn_expr *gamma, const tn_expr *beta,
                     const int64_t *expand, uint32_t n_expand)
{
    tn_ctx *ctx = d->ctx;
    mean = expanded(d, decompose_as(d, mean, x), expand, n_expand);
    const tn_expr *out = apply(d, "subtract", x, mean);
    const tn_expr *epsilon =
        tn_scalar_constant(ctx, tn_type_dtype(x->type), tn_call_float(call, "epsilon"));
    var = expanded(d, decompose_as(d, var, x), expand, n_expand);
    const tn_expr *spread = apply(d, "add", var, epsilon);
    spread = decompose_step(d, tn_call_opv(ctx, "sqrt", NULL, spread, NULL));
    out = apply(d, "divide", out, spread);
    if (gamma)
        out = apply(d, "multiply", out, expanded(d, decompose_as(d, gamma, x), expand, n_expand));
    if (beta)
        out = apply(d, "add", out, expanded(d, decompose_as(d, beta, x), expand, n_expand));
    return out;
}

static const tn_expr *
batch_norm(decomposer *d, const tn_call *call)
{
    const tn_expr *x = call->args.at[0];
    int64_t ndim = tn_type_ndim(x->type), axis = tn_call_int(call, "axis"), axes[64];
    uint32_t n = 0;
    if (ndim < 0 || ndim > 64 || tnb_dtype_is_void(tn_type_dtype(x->type)))
        return TN_NODE(call);
    if (axis < 0)
        axis += ndim;
    for (int64_t i = 0; i < ndim; i++)
        if (i != axis)
            axes[n++] = i;
    const tn_expr *gamma = tn_call_int(call, "scale") ? call->args.at[1] : NULL;
    const tn_expr *beta = tn_call_int(call, "center") ? call->args.at[2] : NULL;
    const tn_expr *out =
        decompose_normalized(d, call, x, call->args.at[3], call->args.at[4], gamma, beta, axes, n);
    return tn_tuple_of(d->ctx, tn_listv(d->ctx, out, call->args.at[3], call->args.at[4], NULL));
}

static const tn_expr *
tensor_to_shape(decomposer *d, const tn_call *call)
{
    tn_ctx *ctx = d->ctx;
    const tn_ty_shape *t = tn_as_ty_shape(call->base.type);
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_pure_packed", NULL);
    if (!t || t->ndim < 0 || !op)
        return TN_NODE(call);
    const tn_expr *callee = tn_extern_func_of(ctx, "vm.builtin.tensor_to_shape");
    const tn_expr *packed =
        tn_call_of(ctx, tn_op_ref_of(ctx, op), tn_listv(ctx, callee, call->args.at[0], NULL), NULL,
                   tn_listv(ctx, TN_NODE(t), NULL), NULL);
    packed = decompose_step(d, packed);
    return tn_is_error(packed) ? packed : decompose_shape(d, packed, t->ndim);
}

const tn_expr *
decompose_for_inference(decomposer *d, const tn_call *call)
{
    if (tn_is_call_to(TN_NODE(call), "relax.nn.batch_norm"))
        return batch_norm(d, call);
    if (tn_is_call_to(TN_NODE(call), "relax.tensor_to_shape"))
        return tensor_to_shape(d, call);
    return TN_NODE(call);
}

/* ---- the walk ---- */

static const tn_expr *
walk_sequence(decomposer *d, const tn_expr *e);

static const tn_expr *
walk_value(decomposer *d, const tn_expr *v)
{
    tn_rewriter r = {.ctx = d->ctx, .map = &d->renewed, .retype = true};
    const tn_if_expr *i = tn_as_if_expr(v);
    const tn_function *f = tn_as_function(v);
    if (f) {
        const tn_expr *body = walk_sequence(d, f->body);
        return body == f->body ? v : transform_function(d->ctx, f, f->params, body, f->ret);
    }
    if (i) {
        const tn_expr *cond = tn_rewrite(&r, i->cond);
        const tn_expr *a = walk_sequence(d, i->then_branch);
        const tn_expr *b = walk_sequence(d, i->else_branch);
        if (cond == i->cond && a == i->then_branch && b == i->else_branch)
            return v;
        return tn_if_expr_of(d->ctx, cond, a, b);
    }
    v = tn_rewrite(&r, v);
    const tn_call *c = tn_as_call(v);
    return c && tn_call_op_of(c) ? d->fn(d, c) : v;
}

static const tn_node *
walk_binding(decomposer *d, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_match_cast *mc = tn_as_match_cast(binding);
    if (mc) {
        const tn_expr *v = walk_value(d, mc->value);
        return v == mc->value ? binding : tn_match_cast_of(d->ctx, mc->var, v, mc->to);
    }
    const tn_expr *v = walk_value(d, vb->value), *var = vb->var;
    if (v == vb->value || tn_is_error(v))
        return tn_is_error(v) ? v : binding;
    if (!tn_type_equal(d->ctx, var->type, v->type)) {
        var = tn_var_retyped(d->ctx, var, v->type);
        tnb_ptrmap_set(&d->renewed, vb->var, var);
    }
    return tn_var_binding_of(d->ctx, var, v);
}

static const tn_expr *
walk_sequence(decomposer *d, const tn_expr *e)
{
    const tn_seq_expr *s = tn_as_seq_expr(e);
    tn_list blocks = s->blocks;
    for (uint32_t b = 0; b < s->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(s->blocks.at[b]);
        decomposer inner = *d;
        inner.out.at = NULL;
        inner.out.n = inner.out.cap = 0;
        inner.dataflow = tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK);
        bool changed = false;
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            tn_loc old = tn_at(d->ctx, block->bindings.at[i]->loc);
            const tn_node *now = walk_binding(&inner, block->bindings.at[i]);
            tn_at(d->ctx, old);
            if (tn_is_error(now))
                return now;
            changed |= now != block->bindings.at[i];
            TNB_PUSH(tn_scratch(d->ctx), inner.out, now);
        }
        d->renewed = inner.renewed;
        if (changed)
            tn_list_change(d->ctx, &blocks, s->blocks, b,
                           tn_binding_block_of(d->ctx,
                                               tn_list_of(d->ctx, inner.out.at, inner.out.n),
                                               inner.dataflow));
    }
    tn_rewriter r = {.ctx = d->ctx, .map = &d->renewed};
    const tn_expr *body = tn_rewrite(&r, s->body);
    return blocks.at == s->blocks.at && body == s->body ? e
                                                        : transform_sequence(d->ctx, blocks, body);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    const char *only = tn_option_str(pc, "func_name");
    decompose_fn fn;
    memcpy(&fn, user, sizeof fn);
    if (only && strcmp(only, name) != 0)
        return func;
    decomposer d = {.ctx = pc->ctx, .fn = fn};
    tnb_ptrmap_init(&d.renewed, tn_scratch(pc->ctx));
    const tn_expr *out = walk_value(&d, func);
    return tn_is_error(out) ? NULL : out;
}

const tn_module *
decompose_module(const tn_pass_ctx *pc, const tn_module *m, decompose_fn fn)
{
    const char *only = tn_option_str(pc, "func_name");
    if (only && !tn_is(tn_module_get(m, only), TN_KIND_FUNCTION)) {
        tn_error(pc->ctx, 0, TNB_NOT_FOUND, "the module has no graph function '%s'", only);
        tnb_diag_hint(tn_diags(pc->ctx), "check the option func_name");
        return NULL;
    }
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, &fn);
}

const tn_attr_schema decompose_options[] = {
    {"func_name", TN_ATTR_STR, TN_ATTR_OPTIONAL, NULL, "only this function"},
    {"only_marked", TN_ATTR_BOOL, 0, "False",
     "leave a batch_norm as it is that is marked for the other use (training, inference): what it "
     "computes would change"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};
