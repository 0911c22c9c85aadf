/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that implement a tensor intrinsic by what only its target has: C functions, matrix units. The
 * interpreter runs what the intrinsic means.
 *
 *     T.sblock_attr({"tensor_intrin": "mine.dot"})
 *     A_1 = T.match_buffer(A[...], (4,))
 *     T.call_extern("int32", "mine_dot", T.address_of(A_1[0]), ...)     =>     for k: c[0] = c[0] + A_1[k] * b[k]
 *
 * The matched buffers stand in the order of the intrinsic's parameters.
 */
#include "compile.h"

#include "tenon/core/text.h"
#include "tenon/kit/tensor_intrin.h"

static tn_walk_step
find_outside(void *user, const tn_node *n)
{
    (void)user;
    const tn_op *op = n->kind == TN_KIND_CALL ? tn_call_op_of((const tn_call *)n) : NULL;
    tn_intrin_id id = op ? op->intrin : TN_INTRIN_NONE;
    if (!op || id == TN_INTRIN_tvm_storage_sync || id == TN_INTRIN_assume)
        return TN_WALK_ON;
    bool outside = op->flags & TN_OP_IMPURE || id == TN_INTRIN_call_pure_extern ||
                   id == TN_INTRIN_call_llvm_pure_intrin;
    return outside ? TN_WALK_STOP : TN_WALK_ON;
}

/* The intrinsic's `desc`; NULL: none of that name is known, or it has another form. */
static const tn_prim_func *
description(tn_ctx *ctx, const char *name)
{
    tnb_err err = {0};
    tn_registry *reg = tn_ctx_registry(ctx);
    const tnk_tensor_intrin *t = reg ? tn_find_entry(reg, "tensor_intrin", name, &err) : NULL;
    if (err.status == TNB_INVALID) { /* two plugins have it */
        tn_error(ctx, 0, err.status, "%s", err.message);
        tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
    }
    const tn_node *desc = NULL, *impl;
    if (t && t->text) {
        const tn_module *m = tn_read_module(ctx, name, t->text, strlen(t->text));
        desc = m ? tn_module_get(m, "desc") : NULL;
    } else if (t && t->make && !t->make(ctx, &desc, &impl, t->self)) {
        desc = NULL;
    }
    return tn_as_prim_func(desc);
}

const tn_stmt *
interp_meaning(tn_ctx *ctx, const tn_block *b)
{
    const tn_string_imm *name = tn_as_string_imm(tn_dict_get(b->annotations, "tensor_intrin"));
    if (!name || !b->match_buffers.n || tn_walk(b->body, 0, find_outside, NULL, NULL))
        return NULL;
    const tn_prim_func *f = description(ctx, name->value);
    if (!f || f->params.n != b->match_buffers.n)
        return NULL;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_node *part = tn_as_match_buffer(b->match_buffers.at[i])->buffer;
        const tn_buffer *from = tn_as_buffer(f->buffers.at[i]), *to = tn_as_buffer(part);
        if (!from || !tnb_dtype_eq(from->dtype, to->dtype) || from->shape.n != to->shape.n)
            return NULL;
        tnb_ptrmap_set(&map, f->buffers.at[i], part);
    }
    return tn_subst(ctx, f->body, &map);
}
