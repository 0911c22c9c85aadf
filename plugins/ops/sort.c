/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting: sort, argsort, topk, by a bottom-up merge sort of positions, which is stable and needs
 * loops only. NaN is larger than any number. */
#include "emit.h"

const tn_type *
infer_sort(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t axis;
    if (!t ||
        (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis)))
        return tn_error_node(ctx);
    bool positions = infer_op(call)->id == OP_argsort;
    return infer_same(ctx, call, t, positions ? tn_call_dtype(call, "dtype") : t->dtype);
}

const tn_type *
infer_topk(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    const char *what = tn_call_str(call, "ret_type");
    int64_t axis, k = tn_call_int(call, "k"), n;
    tn_list dims;
    if (!t ||
        (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis)))
        return tn_error_node(ctx);
    if (strcmp(what, "both") && strcmp(what, "values") && strcmp(what, "indices"))
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'ret_type' is \"%s\", expected both, values or indices", what);
    tnb_dtype d = tn_call_dtype(call, "dtype");
    const tn_type *values, *indices;
    if (tn_type_dims(TN_NODE(t), &dims)) {
        if (dim_exceeds(ctx, tn_i64(ctx, k), dims.at[axis],
                        "attribute 'k' is {}, but axis %lld has {} elements", (long long)axis) &&
            tn_int_value(dims.at[axis], &n))
            return infer_fail(ctx, call, TNB_INVALID,
                              "attribute 'k' is %lld, but axis %lld has %lld elements",
                              (long long)k, (long long)axis, (long long)n);
        if (k > 0)
            dims = tn_list_with(ctx, dims, (uint32_t)axis, tn_i64(ctx, k));
        values = infer_known(ctx, call, dims, t->dtype);
        indices = infer_known(ctx, call, dims, d);
    } else {
        values = infer_rank(ctx, call, t->ndim, t->dtype);
        indices = infer_rank(ctx, call, t->ndim, d);
    }
    if (strcmp(what, "both"))
        return strcmp(what, "values") ? indices : values;
    return tn_ty_tuple_of(ctx, tn_listv(ctx, values, indices, NULL));
}

typedef struct sorter {
    emit e;
    const tn_node *x, *order, *cursor;
    uint32_t n, axis;
    bool descending;
    const tn_expr *vars[INFER_MAX_DIMS],
        *extents[INFER_MAX_DIMS]; /* of the input; the axis' variable is the innermost */
} sorter;

static const tn_expr *
at_axis(sorter *s, const tn_expr *place)
{
    const tn_expr *idx[INFER_MAX_DIMS];
    memcpy(idx, s->vars, s->n * sizeof *idx);
    idx[s->axis] = place;
    return tnk_te_read_at(s->e.te, s->x, idx, s->n);
}

static const tn_expr *
order_at(sorter *s, const tn_expr *row, const tn_expr *place)
{
    return tnk_te_read(s->e.te, s->order, row, place, NULL);
}

static const tn_stmt *
set(sorter *s, const tn_node *buffer, const tn_expr *value, const tn_expr *i, const tn_expr *j)
{
    return tn_buffer_store_of(s->e.ctx, buffer, value, tn_listv(s->e.ctx, i, j, NULL));
}

/* a < b in the order of sorting. */
static const tn_expr *
before(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    if (!tnb_dtype_is_float(tn_dtype_of(a)))
        return tn_lt_of(ctx, a, b);
    return tn_or_of(ctx, tn_lt_of(ctx, a, b),
                    tn_and_of(ctx, tn_ne_of(ctx, b, b), tn_eq_of(ctx, a, a)));
}

/* One step of a merge: the smaller head of two runs goes to `to`. The cursors are the heads'
 * places. */
static const tn_stmt *
merge_step(sorter *s, const tn_expr *from, const tn_expr *to, const tn_expr *place,
           const tn_expr *mid, const tn_expr *high)
{
    tn_ctx *ctx = s->e.ctx;
    const tn_expr *i = tnk_te_read(s->e.te, s->cursor, tn_i64(ctx, 0), NULL),
                  *j = tnk_te_read(s->e.te, s->cursor, tn_i64(ctx, 1), NULL);
    const tn_expr *left = at_axis(s, order_at(s, from, i)),
                  *right = at_axis(s, order_at(s, from, j));
    const tn_expr *right_first =
        s->descending ? before(ctx, left, right) : before(ctx, right, left);
    const tn_expr *both =
        tn_if_then_else(ctx, tn_lt_of(ctx, j, high), tn_not(ctx, right_first), tn_bool(ctx, true));
    const tn_expr *take_left =
        tn_if_then_else(ctx, tn_lt_of(ctx, i, mid), both, tn_bool(ctx, false));
    const tn_stmt *a = tn_seqv(ctx, set(s, s->order, order_at(s, from, i), to, place),
                               tn_buffer_store_of(ctx, s->cursor, tn_addi(ctx, i, 1),
                                                  tn_listv(ctx, tn_i64(ctx, 0), NULL)),
                               NULL);
    const tn_stmt *b = tn_seqv(ctx, set(s, s->order, order_at(s, from, j), to, place),
                               tn_buffer_store_of(ctx, s->cursor, tn_addi(ctx, j, 1),
                                                  tn_listv(ctx, tn_i64(ctx, 1), NULL)),
                               NULL);
    return tn_if_stmt_of(ctx, take_left, a, b);
}

/* Fills `order` for the row at hand; the row of `order` that holds the result. */
static const tn_stmt *
sort_row(sorter *s, int64_t *result)
{
    tn_ctx *ctx = s->e.ctx;
    const tn_expr *n = s->extents[s->axis], *v[4];
    int64_t count,
        passes = 32; /* an even number that is enough for any extent known only at run time */
    if (tn_int_value(n, &count)) {
        for (passes = 0; (INT64_C(1) << passes) < count; passes++)
            ;
    }
    *result = passes % 2;
    emit_loop_vars(ctx, v, 4);
    const tn_stmt *start =
        emit_loops(ctx, &v[0], &n, 1, set(s, s->order, v[0], tn_i64(ctx, 0), v[0]));
    if (passes == 0)
        return start;
    const tn_expr *pass = tn_var_dtype(ctx, "level", TNB_I64),
                  *run = tn_var_dtype(ctx, "run", TNB_I64);
    const tn_expr *k = tn_var_dtype(ctx, "k", TNB_I64);
    const tn_expr *width = tn_intrin2(ctx, TN_INTRIN_shift_left, tn_i64(ctx, 1), pass),
                  *pair = tn_muli(ctx, width, 2);
    const tn_expr *low = tn_mul(ctx, run, pair), *mid = tn_min(ctx, tn_add(ctx, low, width), n),
                  *high = tn_min(ctx, tn_add(ctx, low, pair), n);
    const tn_expr *from = tn_floormodi(ctx, pass, 2), *to = tn_sub(ctx, tn_i64(ctx, 1), from);
    const tn_expr *length = tn_sub(ctx, high, low),
                  *runs = emit_floordiv(ctx, tn_subi(ctx, tn_add(ctx, n, pair), 1), pair),
                  *levels = tn_i64(ctx, passes);
    const tn_stmt *merge =
        tn_seqv(ctx, tn_buffer_store_of(ctx, s->cursor, low, tn_listv(ctx, tn_i64(ctx, 0), NULL)),
                tn_buffer_store_of(ctx, s->cursor, mid, tn_listv(ctx, tn_i64(ctx, 1), NULL)),
                emit_loops(ctx, &k, &length, 1,
                           merge_step(s, from, to, tn_add(ctx, low, k), mid, high)),
                NULL);
    merge = emit_loops(ctx, &run, &runs, 1, merge);
    return tn_seqv(ctx, start, emit_loops(ctx, &pass, &levels, 1, merge), NULL);
}

/* Sorts and writes the first `count` elements and positions of each row; either result may be NULL.
 */
static const tn_expr *
sorted(sorter *s, tn_builder *b, const tn_call *call, const char *hint, bool values, bool positions,
       const tn_expr *count, tnb_dtype position_dtype)
{
    s->e = emit_begin(b, call);
    tn_ctx *ctx = s->e.ctx;
    s->x = emit_input(&s->e, call->args.at[0]);
    s->n = emit_ndim(s->x);
    int64_t axis = tn_call_int(call, "axis");
    if (s->n > INFER_MAX_DIMS || s->n == 0)
        return NULL;
    s->axis = (uint32_t)(axis < 0 ? axis + s->n : axis);
    emit_loop_vars(ctx, s->vars, s->n);
    const tn_expr *dims[INFER_MAX_DIMS], *outer[INFER_MAX_DIMS], *outer_extents[INFER_MAX_DIMS];
    uint32_t n_outer = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        s->extents[i] = dims[i] = emit_dim(s->x, i);
        if (i != s->axis) {
            outer[n_outer] = s->vars[i];
            outer_extents[n_outer++] = s->extents[i];
        }
    }
    if (count)
        dims[s->axis] = count;
    const tn_expr *two[2] = {tn_i64(ctx, 2), s->extents[s->axis]};
    const tn_node *made[4], *outs[2];
    uint32_t n_outs = 0;
    if (values)
        outs[n_outs++] = tnk_te_buffer(s->e.te, "values_buf", dims, s->n, emit_dtype(s->x));
    if (positions)
        outs[n_outs++] = tnk_te_buffer(s->e.te, "indices_buf", dims, s->n, position_dtype);
    memcpy(made, outs, n_outs * sizeof *made);
    made[n_outs] = s->order = tnk_te_buffer(s->e.te, "order", two, 2, TNB_I64);
    made[n_outs + 1] = s->cursor = tnk_te_buffer(s->e.te, "cursor", two, 1, TNB_I64);

    int64_t row;
    const tn_stmt *body = sort_row(s, &row), *write[2] = {NULL, NULL};
    const tn_expr *k = tn_var_dtype(ctx, "k", TNB_I64), *place[INFER_MAX_DIMS];
    memcpy(place, s->vars, s->n * sizeof *place);
    place[s->axis] = k;
    tn_list at = tn_list_of(ctx, place, s->n);
    const tn_expr *from = order_at(s, tn_i64(ctx, row), k);
    if (values)
        write[0] = tn_buffer_store_of(ctx, outs[0], at_axis(s, from), at);
    if (positions)
        write[values] =
            tn_buffer_store_of(ctx, outs[n_outs - 1], tn_cast_to(ctx, position_dtype, from), at);
    const tn_stmt *both = write[1] ? tn_seqv(ctx, write[0], write[1], NULL) : write[0];
    body = tn_seqv(ctx, body, emit_loops(ctx, &k, &dims[s->axis], 1, both), NULL);
    tnk_te_extern(s->e.te, hint, &s->x, 1, made, n_outs + 2,
                  emit_loops(ctx, outer, outer_extents, n_outer, body));
    return emit_end_n(&s->e, hint, outs, n_outs);
}

const tn_expr *
legalize_sort(tn_builder *b, const tn_call *call)
{
    bool positions = infer_op(call)->id == OP_argsort;
    sorter s = {.descending = tn_call_int(call, "descending") != 0};
    return sorted(&s, b, call, infer_op_name(call), !positions, positions, NULL,
                  tn_type_dtype(call->base.type));
}

const tn_expr *
legalize_topk(tn_builder *b, const tn_call *call)
{
    const char *what = tn_call_str(call, "ret_type");
    int64_t k = tn_call_int(call, "k");
    sorter s = {.descending = tn_call_int(call, "largest") != 0};
    return sorted(&s, b, call, "topk", strcmp(what, "indices") != 0, strcmp(what, "values") != 0,
                  k > 0 ? tn_i64(tn_builder_ctx(b), k) : NULL, tn_call_dtype(call, "dtype"));
}
