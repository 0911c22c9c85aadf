/* SPDX-License-Identifier: Apache-2.0 */
/* LowerAllocTensor: allocations that memory planning left become storage of their own.
 *
 *     x = R.builtin.alloc_tensor(R.shape([2, n]), R.dtype("float32"), R.prim_value(0), R.str("global"))
 *
 *     storage = R.memory.alloc_storage(R.shape([2 * n * 4]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
 *     x = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([2, n]), R.dtype("float32"), R.prim_value(0))
 *
 * The shape has to be a ShapeExpr, or a variable bound to one. Cases: tests/pass/LowerAllocTensor.
 */
#include "transform.h"

#include "tenon/core/arith.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef struct lowering {
    tn_ctx *ctx;
    tnb_ptrmap shapes; /* variable -> ShapeExpr */
    TNB_VEC(const tn_node *) out;
    bool failed;
} lowering;

static bool
lower(lowering *l, const tn_node *var, const tn_expr *value)
{
    const tn_call *c = tn_is_call_to(value, "relax.builtin.alloc_tensor");
    if (!c || c->args.n < 3)
        return false;
    const tn_node *known =
        tn_is_var(c->args.at[0]) ? tnb_ptrmap_get(&l->shapes, c->args.at[0]) : c->args.at[0];
    const tn_shape_expr *shape = tn_as_shape_expr(known);
    const tn_dtype_imm *d = tn_as_dtype_imm(c->args.at[1]);
    if (!shape || !d) {
        tn_error(l->ctx, value->loc, TNB_SHAPE,
                 "an allocation's shape and dtype have to be known, but they are %s",
                 tn_text(l->ctx, value));
        l->failed = true;
        return true;
    }
    tn_loc old = tn_at(l->ctx, value->loc);
    int64_t bytes = (d->value.bits + 7) / 8 * d->value.lanes;
    const tn_expr *size = tn_simplify_now(l->ctx, tn_mul(l->ctx, tn_product(l->ctx, shape->values),
                                                         tn_i64(l->ctx, bytes)));
    const tn_expr *scope = c->args.n > 3 ? c->args.at[3] : tn_string(l->ctx, "global");
    tn_list one = tn_listv(l->ctx, size, NULL);
    const tn_expr *alloc =
        tn_call_opv(l->ctx, "relax.memory.alloc_storage", NULL, tn_shape_expr_of(l->ctx, one),
                    c->args.at[2], scope, tn_dtype_imm_of(l->ctx, TNB_U8), NULL);
    const tn_expr *storage = tn_var_new(l->ctx, "storage", alloc->type);
    TNB_PUSH(tn_scratch(l->ctx), l->out, tn_var_binding_of(l->ctx, storage, alloc));
    const tn_expr *tensor =
        tn_call_opv(l->ctx, "relax.memory.alloc_tensor", NULL, storage, tn_i64(l->ctx, 0),
                    TN_NODE(shape), TN_NODE(d), c->args.at[2], NULL);
    TNB_PUSH(tn_scratch(l->ctx), l->out, tn_var_binding_of(l->ctx, var, tensor));
    tn_at(l->ctx, old);
    return true;
}

static const tn_node *
lower_block(tn_rewriter *r, const tn_node *n)
{
    lowering *l = r->user;
    const tn_bindings_block *b = tn_as_bindings_block(n);
    if (!b)
        return NULL;
    l->out.n = 0;
    bool any = false;
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(b->bindings.at[i]);
        if (vb && tn_is(vb->value, TN_KIND_SHAPE_EXPR))
            tnb_ptrmap_set(&l->shapes, vb->var, vb->value);
        if (vb && lower(l, vb->var, vb->value))
            any = true;
        else
            TNB_PUSH(tn_scratch(l->ctx), l->out, b->bindings.at[i]);
    }
    if (!any || l->failed)
        return NULL;
    return tn_binding_block_of(l->ctx, tn_list_of(l->ctx, l->out.at, l->out.n),
                               tn_is(n, TN_KIND_DATAFLOW_BLOCK));
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    lowering l = {.ctx = pc->ctx};
    tnb_ptrmap_init(&l.shapes, tn_scratch(pc->ctx));
    tn_rewriter r = {.ctx = pc->ctx, .user = &l, .post = lower_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    return l.failed || tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_lower_alloc_tensor = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerAllocTensor",
    .base.doc = "give every remaining tensor allocation its own storage",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
