/* SPDX-License-Identifier: Apache-2.0 */
/* Elements chosen by their values or by chance: median, multinomial_from_uniform. */
#include "emit.h"
#include "program.h"

const tn_type *
infer_median(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    bool used[INFER_MAX_DIMS], keep = tn_call_int(call, "keepdims") != 0;
    int64_t axes[INFER_MAX_DIMS];
    tn_list dims, out = {0};
    if (!t)
        return tn_error_node(ctx);
    const tn_array *given = tn_as_array(tn_call_attr(call, "axis"));
    bool pair = given && given->items.n == 1;
    int n = given ? (int)given->items.n : 0;
    if (t->ndim >= 0 && (n = infer_axes(ctx, call, "axis", t->ndim, used, axes)) < 0)
        return tn_error_node(ctx);
    bool shape = tn_type_dims(TN_NODE(t), &dims);
    for (uint32_t i = 0; shape && i < dims.n; i++)
        if (!used[i])
            out = tn_list_append(ctx, out, dims.at[i]);
        else if (keep)
            out = tn_list_append(ctx, out, tn_i64(ctx, 1));
    int64_t ndim = !given && !keep ? 0 : t->ndim < 0 ? -1 : keep ? t->ndim : t->ndim - n;
    const tn_type *value = shape || ndim == 0 ? infer_known(ctx, call, out, t->dtype)
                                              : infer_rank(ctx, call, ndim, t->dtype);
    if (!pair)
        return value;
    const tn_type *place =
        shape ? infer_known(ctx, call, out, TNB_I64) : infer_rank(ctx, call, ndim, TNB_I64);
    return tn_ty_tuple_of(ctx, tn_listv(ctx, value, place, NULL));
}

const tn_type *
infer_multinomial(tn_ctx *ctx, const tn_call *call)
{
    static const char *const names[] = {"prob", "uniform_sample", "sample_indices"};
    const tn_ty_tensor *t[3];
    tnb_dtype d = tn_call_dtype(call, "dtype");
    tn_list dims[3];
    bool shapes = true, ranks = true;
    for (uint32_t i = 0; i < 3; i++) {
        t[i] = infer_tensor(ctx, call, i);
        if (!t[i])
            return tn_error_node(ctx);
        bool fits = i < 2 ? tnb_dtype_is_float(t[i]->dtype) : tnb_dtype_is_int(t[i]->dtype);
        if (!tnb_dtype_is_void(t[i]->dtype) && !fits)
            return infer_fail(ctx, call, TNB_TYPE, "argument '%s' must hold %s, but is %s",
                              names[i], i < 2 ? "floats" : "integers",
                              tnb_dtype_print(t[i]->dtype).s);
        if (t[i]->ndim >= 0 && t[i]->ndim != 2)
            return infer_fail(ctx, call, TNB_SHAPE, "argument '%s' has %lld axes, expected 2",
                              names[i], (long long)t[i]->ndim);
        ranks &= t[i]->ndim >= 0;
        shapes &= tn_type_dims(TN_NODE(t[i]), &dims[i]);
    }
    if (!shapes)
        return infer_rank(ctx, call, ranks ? 2 : -1, d);
    if (dim_differ(ctx, dims[1].at[0], dims[2].at[0], "{} uniform samples for {} batch indices"))
        return infer_fail(ctx, call, TNB_SHAPE, "%s uniform samples for %s batch indices",
                          tn_text(ctx, dims[1].at[0]), tn_text(ctx, dims[2].at[0]));
    for (int i = 1; i < 3; i++)
        if (dim_differ(ctx, dims[i].at[1], tn_i64(ctx, 1),
                       "the second axis of argument '%s' has extent {}, expected {}", names[i]))
            return infer_fail(ctx, call, TNB_SHAPE,
                              "the second axis of argument '%s' has extent %s, expected 1",
                              names[i], tn_text(ctx, dims[i].at[1]));
    return infer_known(ctx, call, tn_listv(ctx, dims[1].at[0], tn_i64(ctx, 1), NULL), d);
}

/* ---- median ---- */

static const tn_expr *
emit_op(tn_builder *b, const char *op, const tn_node *attrs, const tn_expr *x, const tn_expr *y)
{
    return tn_emit(b, tn_call_opv(tn_builder_ctx(b), op, attrs, x, y, NULL), "lv");
}

/* The tensor with the named axes joined into one behind the others. */
static const tn_expr *
joined_axes(tn_builder *b, const tn_expr *x, const tn_array *axes)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims = emit_dims(x), shape = {0};
    int64_t order[INFER_MAX_DIMS], v;
    bool used[INFER_MAX_DIMS] = {false};
    uint32_t n = 0;
    const tn_expr *count = tn_i64(ctx, 1);
    for (uint32_t i = 0; i < axes->items.n; i++)
        if (tn_int_value(axes->items.at[i], &v))
            used[v < 0 ? v + (int64_t)dims.n : v] = true;
    for (int named = 0; named < 2; named++)
        for (uint32_t i = 0; i < dims.n; i++) {
            if (used[i] != (named == 1))
                continue;
            order[n++] = i;
            if (named)
                count = dim_mul(ctx, count, dims.at[i]);
            else
                shape = tn_list_append(ctx, shape, dims.at[i]);
        }
    const tn_node *attrs = tn_dictv(ctx, "axes", tn_int_array(ctx, order, dims.n), NULL);
    shape = tn_list_append(ctx, shape, count);
    return emit_op(b, "reshape", NULL, emit_op(b, "permute_dims", attrs, x, NULL),
                   tn_shape_expr_of(ctx, shape));
}

/* Positions in sorted order, the middle one of them, and what stands there. */
const tn_expr *
legalize_median(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0];
    const tn_array *axes = tn_as_array(tn_call_attr(call, "axis"));
    bool one = axes && axes->items.n == 1; /* then its position is asked for as well */
    int64_t axis = one ? 0 : -1;
    if (tn_type_ndim(x->type) > INFER_MAX_DIMS || (one && !tn_int_value(axes->items.at[0], &axis)))
        return NULL;
    if (!axes)
        x = emit_op(b, "flatten", NULL, x, NULL);
    else if (!one)
        x = joined_axes(b, x, axes);
    tn_list dims = emit_dims(x);
    axis += axis < 0 ? (int64_t)dims.n : 0;
    const tn_node *along = tn_i64(ctx, axis),
                  *sort_attrs =
                      tn_dictv(ctx, "axis", along, "dtype", tn_dtype_imm_of(ctx, TNB_I64), NULL);
    const tn_expr *order = emit_op(b, "argsort", sort_attrs, x, NULL);
    const tn_expr *middle = dim_floordiv(ctx, dim_addi(ctx, dims.at[axis], -1), 2);
    const tn_expr *at = emit_op(b, "take", tn_dictv(ctx, "axis", along, NULL), order, middle);
    const tn_node *one_axis = tn_dictv(ctx, "axis", tn_int_array(ctx, &axis, 1), NULL);
    const tn_expr *kept = emit_op(b, "expand_dims", one_axis, at, NULL);
    const tn_expr *value =
        emit_op(b, "gather_elements", tn_dictv(ctx, "axis", along, NULL), x, kept);
    bool keep = tn_call_int(call, "keepdims") != 0;
    if (!one) {
        tn_list out = {0};
        tn_type_dims(call->base.type, &out);
        return tn_call_opv(ctx, "reshape", NULL, value, tn_shape_expr_of(ctx, out), NULL);
    }
    if (!keep)
        value = emit_op(b, "squeeze", one_axis, value, NULL);
    return tn_tuple_of(ctx, tn_listv(ctx, value, keep ? kept : at, NULL));
}

/* ---- multinomial_from_uniform ---- */

/* The first element at which the running sum is above the sample, else the last. */
static const char draw_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def multinomial_from_uniform(var_a: T.handle, var_b: T.handle, var_c: T.handle, var_d: "
    "T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    prob = T.match_buffer(var_a, ($r$, $n$), '$P$')\n"
    "    uniform = T.match_buffer(var_b, ($m$, T.int64(1)), '$U$')\n"
    "    row = T.match_buffer(var_c, ($m$, T.int64(1)), '$I$')\n"
    "    drawn = T.match_buffer(var_d, ($m$, T.int64(1)), '$D$')\n"
    "    for i in range($m$):\n"
    "        with T.sblock('multinomial_from_uniform'):\n"
    "            vi = T.axis.remap('S', [i])\n"
    "            T.reads(prob[T.int64(0):$r$, T.int64(0):$n$], uniform[vi, 0], row[vi, 0])\n"
    "            T.writes(drawn[vi, 0])\n"
    "            at = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            total = T.sblock_alloc_buffer((T.int64(1),), '$W$', scope='local')\n"
    "            drawn[vi, 0] = T.$D$(0)\n"
    "            at[0] = T.if_then_else($r$ > T.int64(0), T.int64(0), $n$)\n"
    "            at[1] = T.min(T.max(T.Cast('int64', row[vi, 0]), T.int64(0)), $r$ - T.int64(1))\n"
    "            total[0] = T.$W$(0)\n"
    "            while at[0] < $n$:\n"
    "                total[0] = total[0] + T.Cast('$W$', prob[at[1], at[0]])\n"
    "                drawn[vi, 0] = T.Cast('$D$', at[0])\n"
    "                at[0] = T.if_then_else(T.Cast('$W$', uniform[vi, 0]) < total[0], $n$, at[0] + "
    "T.int64(1))\n";

const tn_expr *
legalize_multinomial(tn_builder *b, const tn_call *call)
{
    program p = program_begin(b);
    tn_list prob = emit_dims(call->args.at[0]);
    tnb_dtype d = tn_type_dtype(call->args.at[0]->type), u = tn_type_dtype(call->args.at[1]->type);
    program_extent(&p, "r", prob.at[0]);
    program_extent(&p, "n", prob.at[1]);
    program_extent(&p, "m", emit_dims(call->args.at[1]).at[0]);
    program_dtype(&p, "P", d);
    program_dtype(&p, "U", u);
    program_dtype(&p, "I", tn_type_dtype(call->args.at[2]->type));
    program_dtype(&p, "D", tn_type_dtype(call->base.type));
    program_dtype(&p, "W", d.bits == 64 || u.bits == 64 ? TNB_F64 : TNB_F32);
    return program_call(&p, "multinomial_from_uniform", draw_program, call->args, call->base.type);
}
