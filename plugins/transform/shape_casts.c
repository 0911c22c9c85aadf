/* SPDX-License-Identifier: Apache-2.0 */
/* Values of which a call believes more than their types say get a match_cast, so that extents have names that
 * InsertShapeChecks can compare, and the machine checks rank and dtype:
 *
 *     y = R.call_tir(cls.f, (x,), ...)                  c: R.Tensor((m,), "float32") = R.match_cast(x, ...)
 *                                                       y = R.call_tir(cls.f, (c,), ...)
 *     z = R.call_pure_packed("f", x, ty_args=T)         r: R.Object = R.call_pure_packed("f", x, ty_args=R.Object)
 *                                                       z = R.match_cast(r, T)
 *
 * The first for arguments whose extents or dtype are not known, where a tensor program's buffer has them; the second
 * for what packed functions and closures give: nobody else has looked at that.
 */
#include "shape_facts.h"
#include "transform.h"

#include "tenon/core/text.h"

typedef struct casting {
    tn_ctx *ctx;
    const tn_module *module;
    bool dataflow;
    shape_bindings out;
} casting;

static const tn_expr *
new_var(casting *c, const char *name, const tn_type *type)
{
    return c->dataflow ? tn_dataflow_var_new(c->ctx, name, type) : tn_var_new(c->ctx, name, type);
}

/* ---- arguments of tensor programs ---- */

static bool
says_enough(const tn_type *t)
{
    tn_list dims;
    return !tn_is(t, TN_KIND_TY_ANY) &&
           (!tn_is(t, TN_KIND_TY_TENSOR) ||
            (tn_type_dims(t, &dims) && !tnb_dtype_is_void(tn_type_dtype(t))));
}

/* The argument as a tensor of the buffer's rank and dtype. Extents that the buffer has as numbers or variables get
 * their names from it; shape_call_assumptions compares them. */
static const tn_expr *
cast_to_buffer(casting *c, const tn_expr *arg, const tn_buffer *b)
{
    tn_list dims = {0};
    if (!tn_type_dims(arg->type, &dims))
        for (uint32_t i = 0; i < b->shape.n; i++) {
            const tn_expr *want = b->shape.at[i];
            const char *name = tn_is_var(want) ? tn_var_name(want) : "extent";
            dims = tn_list_append(c->ctx, dims, tn_var_dtype(c->ctx, name, TNB_I64));
        }
    const tn_ty_tensor *own = tn_as_ty_tensor(arg->type);
    const tn_type *to = tn_ty_tensor_of(c->ctx, tn_shape_expr_of(c->ctx, dims), b->dtype, -1,
                                        own ? own->vdevice : NULL);
    const tn_expr *v = new_var(c, tn_is_var(arg) ? tn_var_name(arg) : "argument", to);
    TNB_PUSH(tn_scratch(c->ctx), c->out, tn_match_cast_of(c->ctx, v, arg, to));
    return v;
}

static tn_list
cast_arguments(casting *c, const tn_prim_func *f, tn_list was)
{
    tn_list args = was;
    for (uint32_t i = 0; i < args.n && i < f->buffers.n; i++) {
        const tn_buffer *b = f->buffers.at[i] ? tn_as_buffer(f->buffers.at[i]) : NULL;
        if (b && !says_enough(args.at[i]->type))
            tn_list_change(c->ctx, &args, was, i, cast_to_buffer(c, args.at[i], b));
    }
    return args;
}

static const tn_call *
cast_program_call(casting *c, const tn_call *call, const tn_prim_func *f)
{
    tn_list args = call->args, now;
    if (tn_is(call->op, TN_KIND_GLOBAL_VAR)) {
        now = cast_arguments(c, f, args);
    } else {
        const tn_tuple *tuple = tn_as_tuple(args.at[1]);
        tn_list fields = tuple ? tuple->fields : tn_listv(c->ctx, args.at[1], NULL);
        now = cast_arguments(c, f, fields);
        if (now.at != fields.at)
            now = tn_list_with(c->ctx, args, 1, tn_tuple_of(c->ctx, now));
        else
            now = args;
    }
    if (now.at == args.at)
        return call;
    return tn_as_call(
        tn_call_of(c->ctx, call->op, now, call->attrs, call->ty_args, call->base.type));
}

/* ---- results of packed functions ---- */

/* Whether a call's result type is what the module's author says, and nothing else. */
static bool
is_declared(const tn_call *call)
{
    const tn_op *op = tn_call_op_of(call);
    if (!call->ty_args.n)
        return false;
    if (!op)
        return tn_is(call->op, TN_KIND_EXTERN_FUNC);
    switch (op->structural) {
    case TN_STRUCTURAL_call_pure_packed:
    case TN_STRUCTURAL_call_inplace_packed:
    case TN_STRUCTURAL_call_builtin_with_ctx:
    case TN_STRUCTURAL_invoke_closure:
    case TN_STRUCTURAL_invoke_pure_closure:
        return true;
    default:
        return false;
    }
}

/* Whether the machine has a check for values of the type that can fail. */
static bool
can_be_wrong(const tn_type *t)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    return tuple ? tuple->fields.n != 0 : t && !tn_is(t, TN_KIND_TY_ANY);
}

/* ---- bindings ---- */

static void
cast_binding(casting *c, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_call *call = vb ? tn_as_call(vb->value) : NULL;
    const tn_prim_func *f = call ? shape_called_program(c->module, call) : NULL;
    tn_ctx *ctx = c->ctx;
    if (f) {
        const tn_call *now = cast_program_call(c, call, f);
        binding = now == call ? binding : tn_var_binding_of(ctx, vb->var, &now->base);
    } else if (call && is_declared(call) && can_be_wrong(call->base.type)) {
        const tn_type *any = tn_ty_any(ctx);
        const tn_expr *v = new_var(c, "result", any);
        const tn_expr *value =
            tn_call_of(ctx, call->op, call->args, call->attrs, tn_listv(ctx, any, NULL), any);
        TNB_PUSH(tn_scratch(ctx), c->out, tn_var_binding_of(ctx, v, value));
        binding = tn_match_cast_of(ctx, vb->var, v, call->base.type);
    }
    TNB_PUSH(tn_scratch(ctx), c->out, binding);
}

const tn_seq_expr *
shape_casts_placed(tn_ctx *ctx, const tn_module *module, const tn_seq_expr *seq)
{
    tn_list blocks = seq->blocks;
    casting c = {.ctx = ctx, .module = module};
    for (uint32_t b = 0; b < blocks.n; b++) {
        tn_list bindings = tn_as_bindings_block(blocks.at[b])->bindings;
        bool changed = false;
        c.dataflow = tn_is(blocks.at[b], TN_KIND_DATAFLOW_BLOCK);
        c.out.n = 0;
        for (uint32_t i = 0; i < bindings.n; i++) {
            tn_loc old = tn_at(ctx, bindings.at[i]->loc);
            cast_binding(&c, bindings.at[i]);
            tn_at(ctx, old);
            changed |= c.out.at[c.out.n - 1] != bindings.at[i];
        }
        if (changed)
            tn_list_change(ctx, &blocks, seq->blocks, b,
                           tn_binding_block_of(ctx, tn_list_of(ctx, c.out.at, c.out.n),
                                               c.dataflow));
    }
    return blocks.at == seq->blocks.at ? seq
                                       : tn_as_seq_expr(tn_seq_expr_of(ctx, blocks, seq->body));
}
