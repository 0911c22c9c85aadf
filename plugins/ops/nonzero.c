/* SPDX-License-Identifier: Apache-2.0 */
/* nonzero: counted first, then written into a result of exactly that size. */
#include "emit.h"

const tn_type *
infer_nonzero(tn_ctx *ctx, const tn_call *call)
{
    return infer_tensor(ctx, call, 0) ? infer_rank(ctx, call, 2, TNB_I64) : tn_error_node(ctx);
}

/* Loops over all elements of x around `found`, which is done for those that are not zero. */
static const tn_stmt *
each_nonzero(emit *e, const tn_node *x, const tn_expr *const *vars, const tn_stmt *found)
{
    tn_ctx *ctx = e->ctx;
    uint32_t n = emit_ndim(x);
    const tn_expr *v = tnk_te_read_at(e->te, x, vars, n);
    tnb_dtype d = emit_dtype(x);
    const tn_expr *is = tnb_dtype_is_bool(d) ? v : tn_ne_of(ctx, v, tn_literal(ctx, d, 0));
    return emit_loops(ctx, vars, tn_as_buffer(x)->shape.at, n, tn_if_stmt_of(ctx, is, found, NULL));
}

const tn_expr *
legalize_nonzero(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_expr *vars[INFER_MAX_DIMS], *one = tn_i64(ctx, 1), *count;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    uint32_t n = emit_ndim(x);
    if (n > INFER_MAX_DIMS)
        return NULL;
    emit_loop_vars(ctx, vars, n);
    const tn_node *total = tnk_te_buffer(e.te, "count", &one, 1, TNB_I64);
    tn_list first = tn_listv(ctx, tn_i64(ctx, 0), NULL);
    const tn_expr *so_far = tn_buffer_load_of(ctx, total, first);
    const tn_stmt *body =
        each_nonzero(&e, x, vars, tn_buffer_store_of(ctx, total, tn_add(ctx, so_far, one), first));
    body = tn_seqv(ctx, tn_buffer_store_of(ctx, total, tn_i64(ctx, 0), first), body, NULL);
    tnk_te_extern(e.te, "nonzero_count", &x, 1, &total, 1, body);
    if (!emit_read_extents(b, emit_end(&e, "nonzero_count", total), &count, 1))
        return tn_error_node(ctx);

    e = emit_begin(b, call);
    x = emit_input(&e, call->args.at[0]);
    emit_loop_vars(ctx, vars, n);
    const tn_expr *dims[2] = {tn_i64(ctx, n ? n : 1), count};
    const tn_node *outs[2] = {tnk_te_buffer(e.te, "nonzero", dims, 2, TNB_I64),
                              tnk_te_buffer(e.te, "cursor", &one, 1, TNB_I64)};
    const tn_expr *at = tn_buffer_load_of(ctx, outs[1], first);
    const tn_stmt *stores[INFER_MAX_DIMS + 1];
    uint32_t n_stores = 0;
    for (uint32_t i = 0; i < n; i++)
        stores[n_stores++] =
            tn_buffer_store_of(ctx, outs[0], vars[i], tn_listv(ctx, tn_i64(ctx, i), at, NULL));
    if (n == 0) /* a scalar counts as a vector of one element */
        stores[n_stores++] = tn_buffer_store_of(ctx, outs[0], tn_i64(ctx, 0),
                                                tn_listv(ctx, tn_i64(ctx, 0), at, NULL));
    stores[n_stores++] = tn_buffer_store_of(ctx, outs[1], tn_add(ctx, at, one), first);
    body = each_nonzero(&e, x, vars, tn_seq_of(ctx, tn_list_of(ctx, stores, n_stores)));
    body = tn_seqv(ctx, tn_buffer_store_of(ctx, outs[1], tn_i64(ctx, 0), first), body, NULL);
    tnk_te_extern(e.te, "nonzero_fill", &x, 1, outs, 2, body);
    return emit_end(&e, "nonzero_fill", outs[0]);
}
