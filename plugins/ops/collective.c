/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives between workers: ccl.*, dist.*. They become calls of the runtime's functions. */
#include "emit.h"

static const char *const reductions[] = {"sum", "prod", "min", "max", "avg"};

/* The code of the runtime for attribute op_type; -1 if it is none. */
static int
reduction_code(const tn_call *call)
{
    const char *what = tn_call_str(call, "op_type");
    for (int i = 0; i < (int)(sizeof reductions / sizeof *reductions); i++)
        if (!strcmp(what, reductions[i]))
            return i;
    return -1;
}

const tn_type *
infer_allreduce(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (!t)
        return tn_error_node(ctx);
    if (reduction_code(call) < 0)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'op_type' is \"%s\", expected sum, prod, min, max or avg",
                          tn_call_str(call, "op_type"));
    return TN_NODE(t);
}

const tn_type *
infer_from_worker0(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    return t ? TN_NODE(t) : tn_error_node(ctx);
}

static bool
workers(tn_ctx *ctx, const tn_call *call, int64_t *n)
{
    *n = tn_call_int(call, "num_workers");
    if (*n >= 1)
        return true;
    infer_fail(ctx, call, TNB_INVALID, "attribute 'num_workers' is %lld, expected at least 1",
               (long long)*n);
    return false;
}

const tn_type *
infer_allgather(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    int64_t n;
    if (!t || !workers(ctx, call, &n))
        return tn_error_node(ctx);
    if (t->ndim == 0)
        return infer_fail(ctx, call, TNB_SHAPE, "a tensor without axes cannot be gathered");
    if (!tn_type_dims(TN_NODE(t), &dims))
        return TN_NODE(t);
    return infer_known(ctx, call, tn_list_with(ctx, dims, 0, dim_muli(ctx, dims.at[0], n)),
                       t->dtype);
}

const tn_type *
infer_shard(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    int64_t n, axis, extent;
    if (!t || !workers(ctx, call, &n) ||
        (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis)))
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_fail(ctx, call, TNB_SHAPE, "the shape of the tensor must be known");
    if (dim_ragged(ctx, dims.at[axis], n,
                   "axis %lld has extent {}, which %lld workers cannot share evenly",
                   (long long)axis, (long long)n) &&
        tn_int_value(dims.at[axis], &extent))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "axis %lld has extent %lld, which %lld workers cannot share evenly",
                          (long long)axis, (long long)extent, (long long)n);
    const tn_expr *part = dim_floordiv(ctx, dims.at[axis], n);
    return infer_known(ctx, call, tn_list_with(ctx, dims, (uint32_t)axis, part), t->dtype);
}

static const tn_expr *
call_runtime(tn_ctx *ctx, const char *name, tn_list args, const tn_type *out)
{
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_dps_packed", NULL);
    if (!op)
        return NULL;
    return tn_call_of(ctx, tn_op_ref_of(ctx, op),
                      tn_listv(ctx, tn_extern_func_of(ctx, name), tn_tuple_of(ctx, args), NULL),
                      NULL, tn_listv(ctx, out, NULL), NULL);
}

const tn_expr *
legalize_collective(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0];
    op_id id = infer_op(call)->id;
    const tn_type *out = call->base.type;
    if (id == OP_ccl_allreduce) {
        const tn_expr *code =
            tn_shape_expr_of(ctx, tn_listv(ctx, tn_i64(ctx, reduction_code(call)), NULL));
        const tn_expr *group = tn_bool(ctx, tn_call_int(call, "in_group") != 0);
        return call_runtime(ctx, "runtime.disco.allreduce", tn_listv(ctx, x, code, group, NULL),
                            out);
    }
    if (id == OP_ccl_allgather) {
        const tn_expr *group = tn_bool(ctx, tn_call_int(call, "in_group") != 0);
        return call_runtime(ctx, "runtime.disco.allgather", tn_listv(ctx, x, group, NULL), out);
    }
    return call_runtime(ctx, "runtime.disco.broadcast_from_worker0",
                        tn_listv(ctx, x, tn_bool(ctx, false), NULL), out);
}

/* The parts lie one after the other: an axis in front counts the workers. */
const tn_expr *
legalize_scatter(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0];
    int64_t n = tn_call_int(call, "num_workers"), axis = tn_call_int(call, "axis");
    tn_list dims;
    if (!tn_type_dims(x->type, &dims))
        return NULL;
    if (axis < 0)
        axis += dims.n;
    tn_list parts = {0}, order = {0};
    for (uint32_t i = 0; i < dims.n; i++) {
        if (i == (uint32_t)axis) {
            parts = tn_list_append(ctx, parts, tn_i64(ctx, n));
            parts = tn_list_append(ctx, parts, dim_floordiv(ctx, dims.at[i], n));
        } else {
            parts = tn_list_append(ctx, parts, dims.at[i]);
        }
    }
    x = tn_emit(b, tn_call_opv(ctx, "reshape", NULL, x, tn_shape_expr_of(ctx, parts), NULL),
                "reshape");
    if (axis > 0) {
        order = tn_list_append(ctx, order, tn_i64(ctx, axis));
        for (int64_t i = 0; i <= dims.n; i++)
            if (i != axis)
                order = tn_list_append(ctx, order, tn_i64(ctx, i));
        const tn_node *attrs = tn_dictv(ctx, "axes", tn_array_of(ctx, order), NULL);
        x = tn_emit(b, tn_call_opv(ctx, "permute_dims", attrs, x, NULL), "permute_dims");
    }
    return call_runtime(ctx, "runtime.disco.scatter_from_worker0",
                        tn_listv(ctx, x, tn_bool(ctx, false), NULL), call->base.type);
}

/* The worker's number is known as it runs. */
const tn_expr *
legalize_replica_to_shard(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_pure_packed", NULL);
    const tn_type *any = tn_ty_shape_rank(ctx, -1);
    if (!op)
        return NULL;
    tn_list callee = tn_listv(ctx, tn_extern_func_of(ctx, "runtime.disco.worker_id"), NULL);
    const tn_expr *id =
        tn_call_of(ctx, tn_op_ref_of(ctx, op), callee, NULL, tn_listv(ctx, any, NULL), NULL);
    const tn_expr *worker = tn_var_dtype(ctx, "worker_id", TNB_I64);
    id = tn_emit(b, id, "gv");
    tn_emit_match_cast(b, id, tn_ty_shape_of(ctx, tn_listv(ctx, worker, NULL)), "gv");
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    const tn_expr *idx[INFER_MAX_DIMS], *at;
    uint32_t n = emit_ndim(x);
    int64_t axis = tn_call_int(call, "axis");
    if (n > INFER_MAX_DIMS)
        return NULL;
    axis += axis < 0 ? (int64_t)n : 0;
    TNB_PUSH(tn_scratch(ctx), e.scalars, worker);
    at = tnk_te_scalar(e.te, "worker_id", TNB_I64);
    tnk_stage *s = emit_stage(&e, "redistribute_replica_to_shard");
    memcpy(idx, s->axes, n * sizeof *idx);
    const tn_expr *part =
        dim_floordiv(ctx, emit_dim(x, (uint32_t)axis), tn_call_int(call, "num_workers"));
    idx[axis] = tn_add(ctx, tn_mul(ctx, at, part), idx[axis]);
    return emit_end(&e, "strided_slice", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, n)));
}
