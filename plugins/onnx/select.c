/* SPDX-License-Identifier: Apache-2.0 */
/* Results whose extents depend on values: NonZero, Compress, Unique. A new name stands for such an
 * extent from its node on. */
#include "import.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

const tn_expr *
onnx_match_extents(onnx_node *n, const tn_expr *x, tn_list dims, const char *what, const char *hint)
{
    if (tn_is_error(x))
        return x;
    const tn_type *to = tn_ty_tensor_dims(n->ctx, dims, onnx_dtype(x));
    if (tn_is_error(to))
        return tn_error_node(n->ctx);
    if (tn_type_check(n->ctx, to, x->type) == TN_SUBTYPE_FAIL &&
        tn_type_check(n->ctx, x->type, to) == TN_SUBTYPE_FAIL) {
        onnx_fail(n, TNB_SHAPE, "%s has type %s, expected the extents %s", what,
                  onnx_type_text(n->imp, x->type), tn_text(n->ctx, tn_shape_expr_of(n->ctx, dims)));
        return tn_error_node(n->ctx);
    }
    return tn_emit_match_cast(n->imp->b, x, to, hint);
}

const tn_expr *
onnx_name_extents(onnx_node *n, const tn_expr *x, tn_list dims)
{
    const tn_node *out[ONNX_MAX_DIMS];
    if (tn_is_error(x) || dims.n > ONNX_MAX_DIMS)
        return tn_error_node(n->ctx);
    for (uint32_t i = 0; i < dims.n; i++)
        out[i] = dims.at[i] ? dims.at[i] : tn_var_dtype(n->ctx, "count", TNB_I64);
    return onnx_match_extents(n, x, tn_list_of(n->ctx, out, dims.n), "a value", "found");
}

const tn_expr *
onnx_fix_extents(onnx_node *n, const tn_expr *x, tn_list dims, const char *what)
{
    tn_list have;
    if (!onnx_dims(n, x, &have))
        return tn_error_node(n->ctx);
    bool same = have.n == dims.n;
    for (uint32_t i = 0; same && i < have.n; i++)
        same = tn_prove_equal(n->ctx, have.at[i], dims.at[i]);
    return same ? x : onnx_match_extents(n, x, dims, what, "found");
}

const tn_expr *
onnx_fix_extent(onnx_node *n, const tn_expr *x, int64_t axis, const tn_expr *want, const char *what)
{
    tn_list have;
    if (!onnx_dims(n, x, &have))
        return tn_error_node(n->ctx);
    return onnx_fix_extents(n, x, tn_list_with(n->ctx, have, (uint32_t)axis, want), what);
}

const tn_expr *
onnx_in_range(onnx_node *n, const tn_expr *x, const tn_expr *extent, const char *what)
{
    tn_list dims;
    if (!onnx_dims(n, x, &dims))
        return tn_error_node(n->ctx);
    tnk_te *te = tnk_te_new(n->ctx);
    const tn_node *in = tnk_te_input(te, "indices", x->type);
    tnk_stage *s = tnk_te_stage(te, "in_range", dims.at, dims.n, onnx_dtype(x));
    const tn_expr *at = tnk_te_index(n->ctx, tnk_te_read_at(te, in, s->axes, dims.n),
                                     tnk_te_expr(te, extent), false, n->op, what);
    const tn_node *out = tnk_te_define(s, tn_cast_to(n->ctx, onnx_dtype(x), at));
    return onnx_emit_call(n, tnk_te_call(te, n->imp->b, "in_range", &x, 1, &out, 1));
}

/* Indices (axes, count) of what is not zero. */
static const tn_expr *
nonzero(onnx_node *n, const tn_expr *x)
{
    int64_t rank = onnx_rank(n, x);
    if (rank < 0)
        return tn_error_node(n->ctx);
    const tn_expr *dims[2] = {tn_i64(n->ctx, rank ? rank : 1), NULL};
    return onnx_name_extents(n, onnx_un(n, "nonzero", x), tn_list_of(n->ctx, dims, 2));
}

static bool
import_nonzero(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *found = nonzero(n, x);
    if (onnx_rank(n, x) == 0) /* no axes, so no rows of indices: (0, count) */
        found = onnx_slice_ints(n, found, 0, 0, 0);
    return onnx_ret(n, found);
}

/* The entries of an axis where a condition holds. */
static bool
import_compress(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *where;
    int64_t axis = onnx_attr_int(n, "axis", 0), flat = -1, first = 0, v;
    if (onnx_rank(n, x) < 0)
        return false;
    if (!onnx_attr(n, "axis"))
        x = onnx_reshape_ints(n, x, &flat, 1);
    else if (!onnx_axis(n, onnx_rank(n, x), &axis))
        return false;
    int64_t extent = onnx_dim(x, axis);
    if (extent >= 0 && onnx_known(n, 1)) { /* else entries of the condition may lie past the axis */
        const onnx_value *c = n->in[1];
        int64_t *picked = TNB_NEW_N(n->imp->arena, int64_t, c->n_elems + 1);
        uint32_t kept = 0;
        bool known = true;
        for (uint32_t i = 0; i < c->n_elems; i++) {
            known &= tn_int_value(c->elems[i], &v);
            if (known && v && i < extent)
                picked[kept++] = i;
        }
        if (known) {
            const tn_node *attrs = tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), "mode",
                                            tn_string(n->ctx, "fast"), NULL);
            return onnx_ret(n, onnx_emit(n, "take", attrs, x,
                                         onnx_const_ints(n, TNB_I64, picked, kept), NULL));
        }
    }
    const tn_expr *c = onnx_in(n, 1), *begin = tn_i64(n->ctx, 0);
    tn_list dims, lengths;
    if (tn_is_error(c) || !onnx_dims(n, x, &dims))
        return false;
    if (onnx_rank(n, c) != 1)
        return onnx_fail(n, TNB_SHAPE, "the condition has the type %s, expected a vector of bool",
                         onnx_type_text(n->imp, c->type));
    if (!onnx_dims(n, c, &lengths))
        return false;
    bool inside = extent >= 0 ? onnx_dim(c, 0) >= 0 && onnx_dim(c, 0) <= extent
                              : tn_prove_equal(n->ctx, lengths.at[0], dims.at[axis]);
    if (!inside) /* what is beyond the axis picks nothing */
        c = onnx_slice(n, c, &first, &begin, &dims.at[axis], NULL, 1);
    where = onnx_squeeze(n, nonzero(n, c), &first, 1);
    return onnx_ret(n, onnx_take(n, x, where, axis));
}

static bool
import_unique(onnx_node *n)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *x = onnx_in(n, 0), *u;
    int64_t axis = onnx_attr_int(n, "axis", 0), rank = onnx_rank(n, x);
    bool along = onnx_attr(n, "axis") != NULL, sorted = onnx_attr_int(n, "sorted", 1) != 0;
    tn_list dims, counted;
    if (rank < 0 || !onnx_dims(n, x, &dims) || (along && !onnx_axis(n, rank, &axis)))
        return false;
    tn_list args = tn_listv(ctx, x, tn_bool(ctx, sorted), NULL);
    for (uint32_t i = 1; i < 4; i++)
        args = tn_list_append(ctx, args, tn_bool(ctx, i < n->n_out && n->out[i]));
    if (along)
        args = tn_list_append(ctx, args, tn_i64(ctx, axis));
    u = onnx_emit_call(n, tn_call_op(ctx, "unique", args, NULL));
    if (tn_is_error(u))
        return false;

    /* one name for the extent that values, indices and counts share */
    const tn_expr *count = rank ? tn_var_dtype(ctx, "count", TNB_I64) : tn_i64(ctx, 1);
    counted = tn_listv(ctx, count, NULL);
    tn_list values = along ? tn_list_with(ctx, dims, (uint32_t)axis, count) : counted;
    const tn_expr *all = along ? dims.at[axis] : onnx_simplify(n, tn_product(ctx, dims));
    bool several = tn_is(u->type, TN_KIND_TY_TUPLE);
    uint32_t field = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (i && !(i < n->n_out && n->out[i]))
            continue;
        const tn_expr *part = several ? onnx_tuple_get(n, u, field++) : u;
        tn_list shape = i == 0 ? values : i == 2 ? tn_listv(ctx, all, NULL) : counted;
        if (!onnx_ret_at(n, i, onnx_name_extents(n, part, shape)))
            return false;
    }
    return true;
}

const onnx_op onnx_select_ops[] = {
    {"Compress", 9, 0, 2, 2, 1, 1, import_compress, NULL, 0, NULL},
    {"NonZero", 9, 0, 1, 1, 1, 1, import_nonzero, NULL, 0, NULL},
    {"Unique", 11, 0, 1, 1, 1, 4, import_unique, NULL, 0, NULL},
    {0},
};
