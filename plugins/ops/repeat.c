/* SPDX-License-Identifier: Apache-2.0 */
/* Repeating, reversing and relabelling: repeat, tile, flip, reverse_sequence, meshgrid,
 * collapse_sum_*, layout_transform. */
#include "emit.h"

/* ---- repeat, tile, flip ---- */

const tn_type *
infer_repeat(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t n = tn_call_int(call, "repeats"), axis;
    tn_list dims;
    if (!t)
        return tn_error_node(ctx);
    if (n < 0)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'repeats' is %lld, expected at least 0", (long long)n);
    bool known = tn_type_dims(TN_NODE(t), &dims);
    if (!tn_call_attr(call, "axis")) {
        if (!known)
            return infer_rank(ctx, call, 1, t->dtype);
        return infer_known(ctx, call, tn_listv(ctx, dim_muli(ctx, tn_product(ctx, dims), n), NULL),
                           t->dtype);
    }
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    if (!known)
        return infer_rank(ctx, call, t->ndim, t->dtype);
    return infer_known(ctx, call,
                       tn_list_with(ctx, dims, (uint32_t)axis, dim_muli(ctx, dims.at[axis], n)),
                       t->dtype);
}

const tn_expr *
legalize_repeat(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    int64_t n = tn_call_int(call, "repeats");
    if (!tn_call_attr(call, "axis")) {
        const tn_expr *flat = tn_call_opv(ctx, "flatten", NULL, call->args.at[0], NULL);
        return tn_call_opv(ctx, "repeat",
                           tn_dictv(ctx, "repeats", tn_i64(ctx, n), "axis", tn_i64(ctx, 0), NULL),
                           flat, NULL);
    }
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    int64_t axis = tn_call_int(call, "axis");
    tnk_stage *s = emit_stage(&e, "T_repeat");
    const tn_expr *idx[INFER_MAX_DIMS];
    if (s->n_axes > INFER_MAX_DIMS)
        return NULL;
    memcpy(idx, s->axes, s->n_axes * sizeof *idx);
    if (axis < 0)
        axis += s->n_axes;
    if (n > 0)
        idx[axis] = emit_floordiv(ctx, s->axes[axis], tn_i64(ctx, n));
    return emit_end(&e, "repeat", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, s->n_axes)));
}

const tn_type *
infer_tile(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t r[INFER_MAX_DIMS];
    tn_list dims;
    const tn_node *out[INFER_MAX_DIMS];
    int n = tn_call_ints(call, "repeats", r, INFER_MAX_DIMS);
    if (!t)
        return tn_error_node(ctx);
    for (int i = 0; i < n; i++) {
        if (r[i] < 0)
            return infer_fail(ctx, call, TNB_INVALID,
                              "attribute 'repeats' holds %lld, expected at least 0",
                              (long long)r[i]);
    }
    if (t->ndim < 0 || t->ndim > INFER_MAX_DIMS || n < 0)
        return infer_rank(ctx, call, -1, t->dtype);
    int64_t rank = t->ndim > n ? t->ndim : n;
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, rank, t->dtype);
    for (int64_t i = 0; i < rank; i++) {
        int64_t at = i - (rank - t->ndim), ri = i - (rank - n);
        const tn_expr *dim = at < 0 ? tn_i64(ctx, 1) : dims.at[at];
        out[i] = ri < 0 ? dim : dim_muli(ctx, dim, r[ri]);
    }
    return infer_known(ctx, call, tn_list_of(ctx, out, (uint32_t)rank), t->dtype);
}

const tn_expr *
legalize_tile(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    tnk_stage *s = emit_stage(&e, "T_tile");
    const tn_expr *idx[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(x);
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *dim = emit_dim(x, i), *at = s->axes[s->n_axes - n + i];
        idx[i] = tn_is_int_const(dim, 1) ? tn_i64(ctx, 0) : emit_floormod(ctx, at, dim);
    }
    tn_list dims = emit_dims(TN_NODE(call));
    emit_simplify(s, dims.at, idx, n);
    return emit_end(&e, "tile", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, n)));
}

const tn_type *
infer_flip(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t axis;
    if (!t ||
        (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis)))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, t->dtype);
}

const tn_expr *
legalize_flip(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    int64_t axis = tn_call_int(call, "axis");
    tnk_stage *s = emit_stage(&e, "T_flip");
    const tn_expr *idx[INFER_MAX_DIMS];
    if (s->n_axes > INFER_MAX_DIMS)
        return NULL;
    memcpy(idx, s->axes, s->n_axes * sizeof *idx);
    if (axis < 0)
        axis += s->n_axes;
    idx[axis] = tn_sub(ctx, tn_subi(ctx, emit_dim(x, (uint32_t)axis), 1), s->axes[axis]);
    return emit_end(&e, "flip", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, s->n_axes)));
}

const tn_type *
infer_reverse_sequence(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *n = infer_tensor(ctx, call, 1);
    int64_t seq, batch;
    if (!t || !n)
        return tn_error_node(ctx);
    if ((n->ndim >= 0 && n->ndim != 1) ||
        (!tnb_dtype_is_void(n->dtype) && !tnb_dtype_is_int(n->dtype)))
        return infer_fail(ctx, call, TNB_TYPE, "seq_lengths must be a vector of integers");
    if (t->ndim >= 0 &&
        (!infer_axis(ctx, call, "seq_axis", tn_call_int(call, "seq_axis"), t->ndim, &seq) ||
         !infer_axis(ctx, call, "batch_axis", tn_call_int(call, "batch_axis"), t->ndim, &batch)))
        return tn_error_node(ctx);
    if (t->ndim >= 0 && seq == batch)
        return infer_fail(ctx, call, TNB_INVALID, "seq_axis and batch_axis are both %lld",
                          (long long)seq);
    tn_list dims, lengths;
    if (tn_type_dims(TN_NODE(t), &dims) && tn_type_dims(TN_NODE(n), &lengths) &&
        dim_differ(ctx, lengths.at[0], dims.at[batch], "{} lengths for {} batch entries"))
        return infer_fail(ctx, call, TNB_SHAPE, "%s lengths for %s batch entries",
                          tn_text(ctx, lengths.at[0]), tn_text(ctx, dims.at[batch]));
    return infer_same(ctx, call, t, t->dtype);
}

const tn_expr *
legalize_reverse_sequence(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *n = emit_input(&e, call->args.at[1]);
    int64_t seq = tn_call_int(call, "seq_axis"), batch = tn_call_int(call, "batch_axis");
    tnk_stage *s = emit_stage(&e, "T_reverse_sequence");
    const tn_expr *idx[INFER_MAX_DIMS];
    if (s->n_axes > INFER_MAX_DIMS)
        return NULL;
    memcpy(idx, s->axes, s->n_axes * sizeof *idx);
    seq += seq < 0 ? (int64_t)s->n_axes : 0;
    batch += batch < 0 ? (int64_t)s->n_axes : 0;
    const tn_expr *length = tnk_te_index(ctx, tnk_te_read(e.te, n, s->axes[batch], NULL),
                                         tn_addi(ctx, emit_dim(x, (uint32_t)seq), 1), false,
                                         "reverse_sequence", "sequence length"),
                  *at = s->axes[seq];
    idx[seq] =
        tn_select_of(ctx, tn_lt_of(ctx, at, length), tn_sub(ctx, tn_subi(ctx, length, 1), at), at);
    return emit_end(&e, "reverse_sequence",
                    tnk_te_define(s, tnk_te_read_at(e.te, x, idx, s->n_axes)));
}

/* ---- meshgrid ---- */

const tn_type *
infer_meshgrid(tn_ctx *ctx, const tn_call *call)
{
    tn_list fields, dims;
    const tn_node *extents[INFER_MAX_DIMS];
    const char *indexing = tn_call_str(call, "indexing");
    if (!infer_tensors(ctx, call, 0, &fields))
        return tn_error_node(ctx);
    if (strcmp(indexing, "ij") && strcmp(indexing, "xy"))
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'indexing' is \"%s\", expected \"ij\" or \"xy\"", indexing);
    if (fields.n == 0 || fields.n > INFER_MAX_DIMS)
        return infer_fail(ctx, call, TNB_INVALID, "%u vectors, expected 1 to %d", fields.n,
                          INFER_MAX_DIMS);
    bool known = true;
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_ty_tensor *t = tn_as_ty_tensor(fields.at[i]);
        if (t->ndim > 1)
            return infer_fail(ctx, call, TNB_SHAPE, "tensor %u has %lld axes, expected a vector", i,
                              (long long)t->ndim);
        if (tn_type_dims(fields.at[i], &dims))
            extents[i] = dims.n ? dims.at[0] : tn_i64(ctx, 1);
        else
            known = false;
    }
    if (known && !strcmp(indexing, "xy") && fields.n > 1) {
        const tn_node *first = extents[0];
        extents[0] = extents[1];
        extents[1] = first;
    }
    const tn_type **types = TNB_NEW_N(tn_scratch(ctx), const tn_type *, fields.n);
    for (uint32_t i = 0; i < fields.n; i++) {
        tnb_dtype d = tn_type_dtype(fields.at[i]);
        types[i] = known ? infer_known(ctx, call, tn_list_of(ctx, extents, fields.n), d)
                         : infer_rank(ctx, call, fields.n, d);
    }
    return tn_ty_tuple_of(ctx, tn_list_of(ctx, types, fields.n));
}

const tn_expr *
legalize_meshgrid(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_tuple *t = tn_as_tuple(call->args.at[0]);
    if (!t && tn_is_var(call->args.at[0]))
        t = tn_as_tuple(tn_builder_find_value(b, call->args.at[0]));
    if (!t)
        return NULL;
    emit e = emit_begin(b, call);
    tn_list types = tn_as_ty_tuple(call->base.type)->fields;
    bool xy = !strcmp(tn_call_str(call, "indexing"), "xy") && types.n > 1;
    const tn_node *in[INFER_MAX_DIMS], *outs[INFER_MAX_DIMS];
    for (uint32_t i = 0; i < types.n; i++)
        in[i] = emit_input(&e, t->fields.at[i]);
    for (uint32_t i = 0; i < types.n; i++) {
        tnk_stage *s = emit_stage_of(&e, "T_meshgrid", types.at[i], emit_dtype(in[i]));
        const tn_expr *at = s->axes[xy && i < 2 ? 1 - i : i];
        outs[i] = tnk_te_define(s, tnk_te_read_at(e.te, in[i], &at, emit_ndim(in[i])));
    }
    if (types.n == 1) {
        const tn_expr *one = tn_emit(b, emit_end(&e, "meshgrid", outs[0]), "lv");
        return tn_tuple_of(ctx, tn_listv(ctx, one, NULL));
    }
    return emit_end_n(&e, "meshgrid", outs, types.n);
}

/* ---- collapse_sum ---- */

static bool
wanted_shape(tn_ctx *ctx, const tn_call *call, tn_list *dims, int64_t *ndim, bool *known)
{
    if (infer_op(call)->id == OP_collapse_sum_to) {
        int k = infer_shape_arg(ctx, call, 1, dims, ndim);
        *known = k > 0;
        return k >= 0;
    }
    const tn_ty_tensor *u = infer_tensor(ctx, call, 1);
    if (!u)
        return false;
    *ndim = u->ndim;
    *known = tn_type_dims(TN_NODE(u), dims);
    return true;
}

const tn_type *
infer_collapse_sum(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims, to;
    int64_t ndim;
    bool known;
    if (!t || !wanted_shape(ctx, call, &to, &ndim, &known))
        return tn_error_node(ctx);
    if (!known)
        return infer_rank(ctx, call, ndim, t->dtype);
    if (tn_type_dims(TN_NODE(t), &dims)) {
        bool fits = to.n <= dims.n;
        for (uint32_t i = 0; fits && i < to.n; i++) {
            const tn_expr *d = to.at[i];
            fits = tn_is_int_const(d, 1) || !dim_differ(ctx, d, dims.at[dims.n - to.n + i],
                                                        "an extent of {} is wanted of {}");
        }
        if (!fits)
            return infer_fail(ctx, call, TNB_SHAPE, "%s cannot have been broadcast from %s",
                              tn_text(ctx, tn_shape_expr_of(ctx, dims)),
                              tn_text(ctx, tn_shape_expr_of(ctx, to)));
    }
    return infer_known(ctx, call, to, t->dtype);
}

const tn_expr *
legalize_collapse_sum(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    tnk_stage *s = emit_stage(&e, "collapse_sum");
    tn_list to = emit_dims(TN_NODE(call));
    const tn_expr *idx[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(x), extra = n - to.n;
    if (n > INFER_MAX_DIMS)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        bool summed = i < extra ||
                      (tn_is_int_const(to.at[i - extra], 1) && !tn_is_int_const(emit_dim(x, i), 1));
        idx[i] = summed
                     ? tnk_te_reduce_axis(s, tnb_printf(tn_scratch(ctx), "k%u", i), emit_dim(x, i))
                     : s->axes[i - extra];
    }
    return emit_end(&e, "collapse_sum", tnk_te_sum(s, tnk_te_read_at(e.te, x, idx, n)));
}

/* ---- layout_transform ---- */

/* An index expression over int64 variables, whatever the map's are of: indices do not overflow. */
static const tn_expr *
widened(tn_ctx *ctx, const tn_expr *e, tnb_ptrmap *map)
{
    int64_t v;
    const tn_cast *c = tn_as_cast(e);
    if (tnb_ptrmap_has(map, e))
        return tnb_ptrmap_get(map, e);
    if (tn_int_value(e, &v))
        return tn_i64(ctx, v);
    if (c && tnb_dtype_is_int(tn_dtype_of(c->value)))
        return widened(ctx, c->value, map);
    if (e->kind >= TN_KIND_ADD && e->kind <= TN_KIND_MAX) {
        const tn_binary *op = tn_as_binary(e);
        return tn_bin(ctx, (tn_kind)e->kind, widened(ctx, op->a, map), widened(ctx, op->b, map));
    }
    return tn_cast_to(ctx, TNB_I64, tn_subst(ctx, e, map));
}

/* The map's results at given indices (int64). */
static tn_list
mapped(tn_ctx *ctx, const tn_index_map *m, const tn_expr *const *at)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < m->vars.n; i++)
        tnb_ptrmap_set(&map, m->vars.at[i], at[i]);
    const tn_node **out = TNB_NEW_N(tn_scratch(ctx), const tn_node *, m->result.n);
    for (uint32_t i = 0; i < m->result.n; i++)
        out[i] = widened(ctx, m->result.at[i], &map);
    return tn_list_of(ctx, out, m->result.n);
}

/* Groups of a buffer's axes: where they end, ascending. */
static bool
separators_ok(tn_ctx *ctx, const tn_call *call, const char *name, uint32_t rank)
{
    const tn_node *v = tn_call_attr(call, name);
    const tn_array *list = tn_as_array(v);
    int64_t last = 0, at;
    if (v && !list) {
        infer_fail(ctx, call, TNB_TYPE, "attribute '%s' must be a list of integers", name);
        return false;
    }
    for (uint32_t i = 0; list && i < list->items.n; i++) {
        if (!tn_int_value(list->items.at[i], &at) || at < last || at > rank) {
            infer_fail(ctx, call, TNB_INVALID,
                       "attribute '%s' must hold ascending axes of the %u there are", name, rank);
            return false;
        }
        last = at;
    }
    return true;
}

const tn_type *
infer_layout_transform(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    const tn_index_map *m = tn_as_index_map(tn_call_attr(call, "index_map"));
    tn_list dims;
    if (!t)
        return tn_error_node(ctx);
    if (!m)
        return infer_fail(ctx, call, TNB_TYPE, "attribute 'index_map' must be an index map");
    if (t->ndim >= 0 && t->ndim != m->vars.n)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "the index map takes %u indices, the tensor has %lld axes", m->vars.n,
                          (long long)t->ndim);
    const tn_node *pad = tn_call_attr(call, "pad_value");
    if (pad && !tn_is_scalar(pad))
        return infer_fail(ctx, call, TNB_TYPE, "attribute 'pad_value' must be a scalar");
    if (!separators_ok(ctx, call, "axis_separators", m->result.n) ||
        !separators_ok(ctx, call, "input_axis_separators", m->vars.n))
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, m->result.n, t->dtype);
    /* the new extents: one more than the largest value of each result */
    const tn_expr **mins = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, dims.n),
                  **vars = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, dims.n);
    const tn_node **out = TNB_NEW_N(tn_scratch(ctx), const tn_node *, m->result.n);
    tn_arith *a = tn_arith_new(ctx);
    for (uint32_t i = 0; i < dims.n; i++) {
        mins[i] = tn_i64(ctx, 0);
        vars[i] = tn_var_dtype(ctx, "i", TNB_I64);
        tn_arith_range(a, vars[i], mins[i], dims.at[i]);
    }
    tn_list results = mapped(ctx, m, vars);
    for (uint32_t i = 0; i < m->result.n; i++) {
        const tn_expr *low, *high;
        const tn_binary *mod =
            tn_is(m->result.at[i], TN_KIND_FLOOR_MOD) ? (const tn_binary *)m->result.at[i] : NULL;
        int64_t block;
        if (mod && tn_int_value(mod->b, &block) && block > 0) {
            out[i] = tn_i64(ctx, block); /* a whole block, however few of it the tensor fills */
            continue;
        }
        if (!tn_interval(a, results.at[i], vars, mins, dims.at, dims.n, &low, &high) || !high)
            return infer_rank(ctx, call, m->result.n, t->dtype);
        out[i] = dim_addi(ctx, high, 1);
    }
    return infer_known(ctx, call, tn_list_of(ctx, out, m->result.n), t->dtype);
}

const tn_expr *
legalize_layout_transform(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_index_map *m = tn_as_index_map(tn_call_attr(call, "index_map"));
    const tn_node *x = emit_input(&e, call->args.at[0]);
    uint32_t n = emit_ndim(x);
    tn_list out_dims = emit_dims(TN_NODE(call));
    const tn_expr *extents[INFER_MAX_DIMS], *inverse[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS || out_dims.n > INFER_MAX_DIMS)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        extents[i] = emit_dim(x, i);
    const tn_expr *pad = tn_call_attr(call, "pad_value");
    pad = pad ? tn_cast_to(ctx, emit_dtype(x), pad) : tn_literal(ctx, emit_dtype(x), 0);
    tn_arith *a = tn_arith_new(ctx);
    const tn_expr *own[INFER_MAX_DIMS];
    for (uint32_t i = 0; i < n; i++) {
        own[i] = tn_var_dtype(ctx, "i", TNB_I64);
        tn_arith_range(a, own[i], tn_i64(ctx, 0), extents[i]);
    }
    tn_list results = mapped(ctx, m, own);
    bool exact =
        dim_equal(ctx, tn_product(ctx, emit_dims(call->args.at[0])), tn_product(ctx, out_dims));
    tnk_stage *s = exact ? emit_stage(&e, "te_layout_transform") : NULL;
    if (exact && tn_iter_map_inverse(a, results.at, results.n, own, extents, n, s->axes, inverse)) {
        emit_simplify(s, out_dims.at, inverse, n);
        return emit_end(&e, "te_layout_transform",
                        tnk_te_define(s, tnk_te_read_at(e.te, x, inverse, n)));
    }
    /* places are left over: fill, then put every element where the map says */
    const tn_expr *vars[INFER_MAX_DIMS], *places[INFER_MAX_DIMS], *outs[INFER_MAX_DIMS];
    const tn_node *out =
        tnk_te_buffer(e.te, "T_layout_trans", out_dims.at, out_dims.n, emit_dtype(x));
    emit_loop_vars(ctx, vars, n);
    emit_loop_vars(ctx, places, out_dims.n);
    for (uint32_t i = 0; i < out_dims.n; i++)
        outs[i] = emit_dim(out, i);
    const tn_stmt *fill = tn_buffer_store_of(ctx, out, pad, tn_list_of(ctx, places, out_dims.n));
    const tn_expr *value = tnk_te_read_at(e.te, x, vars, n);
    const tn_stmt *put = tn_buffer_store_of(ctx, out, value, mapped(ctx, m, vars));
    tnk_te_extern(e.te, "layout_transform", &x, 1, &out, 1,
                  tn_seqv(ctx, emit_loops(ctx, places, outs, out_dims.n, fill),
                          emit_loops(ctx, vars, extents, n, put), NULL));
    return emit_end(&e, "te_layout_transform_with_pad", out);
}
