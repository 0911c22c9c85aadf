/* SPDX-License-Identifier: Apache-2.0 */
/* LowerRuntimeBuiltin: graph-level builtins become run-time calls.
 *
 *     y = R.reshape(x, R.shape([6]))
 *     s = R.memory.alloc_storage(size, 0, "global", "uint8")
 *     _ = R.memory.kill_tensor(y)
 *     R.assert_op(n == m, n, m, format="{} rows, {} columns")
 *  -> y = R.call_packed("vm.builtin.reshape", x, R.shape([6]), ty_args=(T,))
 *     s = R.vm.alloc_storage(size, 0, "uint8", "global")
 *     _ = R.vm.kill_object(y)
 *     cls.check_shapes(n, m)        # a host function: assert n == m, ("RuntimeError", [n, " rows, ", m, " columns"])
 *
 * Needs ToNonDataflow and RemovePurityChecking: other functions stay as they are.
 * An operator's own lowering (tn_op.lower_builtin) comes first. The types of results are kept. A
 * remaining builtin.alloc_tensor is an error. Cases: tests/pass/LowerRuntimeBuiltin.
 */
#include "transform.h"

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* Operators that become a packed function of the same arguments; with `tuple` the second argument's
 * fields are spread. */
static const tn_expr *
packed_call(tn_ctx *ctx, const char *name, tn_list args, const tn_type *type)
{
    return tn_call_of(ctx, tn_extern_func_of(ctx, name), args, NULL, tn_listv(ctx, type, NULL),
                      type);
}

/* The tuple behind the callee becomes arguments of their own. */
static const tn_expr *
spread_call(tn_ctx *ctx, const tn_call *c, const char *packed)
{
    tn_list args = c->args;
    const tn_tuple *t = args.n == 2 ? tn_as_tuple(args.at[1]) : NULL;
    if (t) {
        args = tn_listv(ctx, c->args.at[0], NULL);
        for (uint32_t i = 0; i < t->fields.n; i++)
            args = tn_list_append(ctx, args, t->fields.at[i]);
    }
    return packed_call(ctx, packed, args, c->base.type);
}

static const tn_expr *
lower_reshape(tn_ctx *ctx, const tn_call *c)
{
    if (!tn_is(c->args.at[1]->type, TN_KIND_TY_SHAPE))
        return tn_error(ctx, c->base.loc, TNB_TYPE,
                        "R.reshape: the new shape is of type %s, not a shape",
                        tn_text(ctx, c->args.at[1]->type));
    return packed_call(ctx, "vm.builtin.reshape", c->args, c->base.type);
}

static const tn_expr *
vm_op(tn_ctx *ctx, const char *name, tn_list args, const tn_type *type)
{
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), name, NULL);
    return tn_call_of(ctx, tn_op_ref_of(ctx, op), args, NULL, (tn_list){0}, type);
}

static const tn_expr *
lower_to_vdevice(tn_ctx *ctx, const tn_call *c)
{
    static const struct {
        const char *kind;
        int32_t type;
    } devices[] = {{"llvm", TNB_CPU},      {"c", TNB_CPU},         {"cuda", TNB_CUDA},
                   {"opencl", TNB_OPENCL}, {"vulkan", TNB_VULKAN}, {"metal", TNB_METAL},
                   {"rocm", TNB_ROCM}};
    const tn_vdevice *d = tn_as_vdevice(tn_call_attr(c, "dst_vdevice"));
    const tn_target *t = d ? tn_as_target(d->target) : NULL;
    int64_t type = TNB_CPU;
    for (size_t i = 0; t && i < sizeof devices / sizeof *devices; i++)
        if (strcmp(devices[i].kind, t->kind) == 0)
            type = devices[i].type;
    tn_list args = tn_listv(ctx, c->args.at[0], tn_i64(ctx, type), tn_i64(ctx, d ? d->id : 0),
                            tn_string(ctx, d && d->scope ? d->scope : "global"), NULL);
    return packed_call(ctx, "vm.builtin.to_device", args, c->base.type);
}

static const tn_expr *
lower_invoke_closure(tn_ctx *ctx, const tn_call *c)
{
    const tn_tuple *t = tn_as_tuple(c->args.at[1]);
    tn_list args = tn_listv(ctx, c->args.at[0], NULL);
    for (uint32_t i = 0; t && i < t->fields.n; i++)
        args = tn_list_append(ctx, args, t->fields.at[i]);
    const tn_op *with_ctx = tn_find_op(tn_ctx_registry(ctx), "relax.call_builtin_with_ctx", NULL);
    tn_list outer = tn_listv(ctx, tn_extern_func_of(ctx, "vm.builtin.invoke_closure"),
                             tn_tuple_of(ctx, args), NULL);
    return tn_call_of(ctx, tn_op_ref_of(ctx, with_ctx), outer, NULL, c->ty_args, c->base.type);
}

static const tn_node *
lower(tn_rewriter *r, const tn_node *n)
{
    tn_ctx *ctx = r->ctx;
    const tn_call *c = tn_as_call(n);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    if (!op || (op->flags & TN_OP_SCALAR))
        return NULL;
    if (op->lower_builtin)
        return op->lower_builtin(ctx, c);
    switch (op->structural) {
    case TN_STRUCTURAL_vm_call_tir_dyn:
        return spread_call(ctx, c, "vm.builtin.call_tir_dyn");
    case TN_STRUCTURAL_make_closure:
        return spread_call(ctx, c, "vm.builtin.make_closure");
    case TN_STRUCTURAL_shape_of:
        return packed_call(ctx, "vm.builtin.shape_of", c->args, n->type);
    case TN_STRUCTURAL_tensor_to_shape:
        return packed_call(ctx, "vm.builtin.tensor_to_shape", c->args, n->type);
    case TN_STRUCTURAL_assert_op:
        return transform_packed_assertion(ctx, c);
    case TN_STRUCTURAL_to_vdevice:
        return lower_to_vdevice(ctx, c);
    case TN_STRUCTURAL_invoke_closure:
        return lower_invoke_closure(ctx, c);
    case TN_STRUCTURAL_memory_alloc_storage: /* size, device, scope, dtype */
        return vm_op(ctx, "relax.vm.alloc_storage",
                     tn_listv(ctx, c->args.at[0], c->args.at[1], tn_dtype_imm_of(ctx, TNB_U8),
                              c->args.at[2], NULL),
                     n->type);
    case TN_STRUCTURAL_memory_alloc_tensor:
        return vm_op(ctx, "relax.vm.alloc_tensor", c->args, n->type);
    case TN_STRUCTURAL_memory_kill_tensor:
    case TN_STRUCTURAL_memory_kill_storage:
        return vm_op(ctx, "relax.vm.kill_object", c->args, n->type);
    case TN_STRUCTURAL_builtin_alloc_tensor:
        return tn_error(ctx, n->loc, TNB_UNSUPPORTED,
                        "an allocation was not lowered: LowerAllocTensor has to run before");
    default:
        return tn_is_call_to(n, "relax.reshape") ? lower_reshape(ctx, c) : NULL;
    }
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    uint32_t errors = tnb_diags_errors(tn_diags(pc->ctx));
    if (!transform_is_imperative((const tn_function *)func))
        return func;
    tn_rewriter r = {.ctx = pc->ctx, .post = lower, .reach = TN_REACH_GRAPH};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) || tnb_diags_errors(tn_diags(pc->ctx)) != errors ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    m = transform_lower_assertions(pc->ctx, m);
    return m ? tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL) : NULL;
}

const tn_pass transform_lower_runtime_builtin = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerRuntimeBuiltin",
    .alias = "VMBuiltinLower",
    .base.doc = "turn graph-level builtins into calls of the runtime",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
