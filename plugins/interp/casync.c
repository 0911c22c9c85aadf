/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies, what waits for them, and barriers for some threads, to the internal form (late.c and mbarrier.c run it). */
#include "compile.h"

/* Copies that a pipeline starts early, their groups, and waits for them (late.c). */
void
compile_async_part(compiler *c, const tn_attr_stmt *t)
{
    const bool was = c->async;
    const int32_t queue = c->queue;
    int64_t n = 0;
    int32_t own = tn_int_value(t->value, &n) && n >= 0 && n < INTERP_BULK ? (int32_t)n : 0;
    bool arrive = !strcmp(t->key, "async_arrive_scope");
    const tn_attr_stmt *count =
        !strcmp(t->key, "async_wait_queue_scope") ? tn_as_attr_stmt(t->body) : NULL;
    if (count && !strcmp(count->key, "async_wait_inflight_count")) {
        compile_emit(c, INTERP_LATE_WAIT, own, compile_scalar(c, count->value), 0, 0);
        compile_stmt(c, count->body);
        return;
    }
    bool commit = !strcmp(t->key, "async_commit_queue_scope");
    c->async |= !strcmp(t->key, "async_scope");
    c->queue = commit ? own : queue;
    compile_stmt(c, t->body);
    if (commit)
        compile_emit(c, INTERP_LATE_COMMIT, own, 0, 0, 0);
    if (arrive)
        compile_emit(c, INTERP_MBARRIER, compile_scalar(c, t->value), compile_const_int(c, 0),
                     INTERP_MBARRIER_LATE_ARRIVE, 0);
    c->async = was;
    c->queue = queue;
}

/* A copy of neighbours from one flat buffer to another as a store of so many elements, in the queue. cond: else zeros; NULL: always. */
static void
copy_elements(compiler *c, const tn_expr *to_, const tn_expr *from_, int64_t bytes,
              const tn_expr *cond, int32_t queue)
{
    tn_ctx *ctx = c->ctx;
    const tn_expr *ends[2] = {to_, from_}, *at[2];
    const tn_buffer_load *end[2] = {0};
    for (int i = 0; i < 2; i++)
        if (tn_is_intrin(ends[i], TN_INTRIN_address_of))
            end[i] = tn_as_buffer_load(tn_as_call(ends[i])->args.at[0]);
    const tn_buffer *to = end[0] ? tn_as_buffer(end[0]->buffer) : NULL;
    if (!end[1] || !to || end[0]->indices.n != 1 || end[1]->indices.n != 1) {
        compile_fail(c, to_,
                     "an asynchronous copy is from one element's address to "
                     "another's, of flat buffers");
        return;
    }
    int64_t lanes = bytes / (int64_t)tnb_dtype_bytes(to->dtype);
    for (int i = 0; i < 2; i++) {
        const tn_expr *start = end[i]->indices.at[0];
        at[i] = lanes < 2
                    ? start
                    : tn_ramp_of(ctx, start, tn_int_imm_of(ctx, tn_dtype_of(start), 1), lanes);
    }
    const tn_expr *value = tn_buffer_load_of(ctx, end[1]->buffer, tn_list_of(ctx, &at[1], 1));
    if (cond) {
        const tn_expr *zero = tn_cast_to(ctx, to->dtype, tn_int_imm_of(ctx, TNB_I32, 0));
        value =
            tn_if_then_else(ctx, cond, value, lanes < 2 ? zero : tn_broadcast_of(ctx, zero, lanes));
    }
    const bool was = c->async;
    const int32_t outside = c->queue;
    c->async = true;
    c->queue = queue;
    compile_store(c, end[0]->buffer, value, tn_list_of(ctx, &at[0], 1));
    c->async = was;
    c->queue = outside;
}

/* ptx_cp_async(dtype, to, 0, from, 0, bytes[, condition]) */
static void
async_copy(compiler *c, const tn_call *call)
{
    enum { TO = 1, FROM = 3, BYTES = 5, COND = 6 };
    int64_t bytes;
    if (call->args.n <= BYTES || !tn_int_value(call->args.at[BYTES], &bytes) ||
        !tn_is_int_const(call->args.at[TO + 1], 0) || !tn_is_int_const(call->args.at[FROM + 1], 0))
        compile_fail(c, TN_NODE(call),
                     "an asynchronous copy has a constant number of bytes and no offsets");
    else
        copy_elements(c, call->args.at[TO], call->args.at[FROM], bytes,
                      call->args.n > COND ? call->args.at[COND] : NULL, c->queue);
}

/* ptx_cp_async_bulk(to, from, bytes, barrier) */
static void
bulk_copy(compiler *c, const tn_call *call)
{
    int64_t bytes;
    if (!tn_int_value(call->args.at[2], &bytes) || bytes < 16 || bytes % 16 || bytes > 65536) {
        compile_fail(c, TN_NODE(call),
                     "a bulk copy has a constant number of bytes, a multiple of 16");
        return;
    }
    copy_elements(c, call->args.at[0], call->args.at[1], bytes, NULL, INTERP_BULK);
    compile_emit(c, INTERP_MBARRIER, compile_scalar(c, call->args.at[3]),
                 compile_const_int(c, bytes), INTERP_MBARRIER_LATE_BYTES, 0);
}

/* What a call does to the barrier that it has the address of, with a number where it has one. */
static void
on_barrier(compiler *c, const tn_call *call, interp_mbarrier_op op)
{
    int32_t at = compile_scalar(c, call->args.at[0]),
            n = call->args.n > 1 ? compile_scalar(c, call->args.at[1]) : compile_const_int(c, 0);
    compile_emit(c, INTERP_MBARRIER, at, n, (int32_t)op, 0);
}

bool
compile_async_effect(compiler *c, const tn_call *call, const tn_op *op)
{
    switch ((int)op->intrin) {
    case TN_INTRIN_ptx_bar_sync:
    case TN_INTRIN_ptx_bar_arrive: {
        int32_t number = compile_scalar(c, call->args.at[0]),
                threads = compile_scalar(c, call->args.at[1]);
        compile_emit(c, INTERP_NAMED, op->intrin == TN_INTRIN_ptx_bar_arrive, number, threads, 0);
        return true;
    }
    case TN_INTRIN_ptx_mbarrier_init:
        on_barrier(c, call, INTERP_MBARRIER_INIT);
        return true;
    case TN_INTRIN_ptx_mbarrier_arrive:
        on_barrier(c, call, INTERP_MBARRIER_ARRIVE);
        return true;
    case TN_INTRIN_ptx_mbarrier_arrive_expect_tx:
        on_barrier(c, call, INTERP_MBARRIER_EXPECT);
        return true;
    case TN_INTRIN_ptx_cp_async_mbarrier_arrive:
        on_barrier(c, call, INTERP_MBARRIER_LATE_ARRIVE);
        return true;
    case TN_INTRIN_ptx_mbarrier_try_wait: {
        int32_t at = compile_scalar(c, call->args.at[0]),
                parity = compile_scalar(c, call->args.at[1]);
        compile_emit(c, INTERP_MWAIT, at, parity, 0, 0);
        return true;
    }
    case TN_INTRIN_ptx_cp_async_bulk:
        bulk_copy(c, call);
        return true;
    case TN_INTRIN_ptx_cp_async:
        async_copy(c, call);
        return true;
    case TN_INTRIN_ptx_commit_group:
        compile_emit(c, INTERP_LATE_COMMIT, 0, 0, 0, 0);
        return true;
    case TN_INTRIN_ptx_wait_group:
        compile_emit(c, INTERP_LATE_WAIT, 0, compile_scalar(c, call->args.at[0]), 0, 0);
        return true;
    default:
        return false;
    }
}
