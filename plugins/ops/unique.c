/* SPDX-License-Identifier: Apache-2.0 */
/* unique: different elements, or different slices along an axis.
 *
 * The input is seen as a matrix of n slices of m elements. A stable sort gives their order, a walk
 * along it the group of each slice and how many groups there are; that count is read back, and a
 * last program writes results of exactly that size. The number of a group is its place in the
 * result, so the groups are the inverse. NaN comes last and equals NaN.
 */
#include "emit.h"
#include "program.h"

const tn_type *
infer_unique(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t axis, flag[5];
    if (!t)
        return tn_error_node(ctx);
    for (uint32_t i = 1; i < 5; i++) {
        const tn_expr *e = infer_scalar(ctx, call, i);
        if (!e)
            return tn_error_node(ctx);
        if (!tn_int_value(e, &flag[i]))
            return infer_fail(ctx, call, TNB_INVALID, "argument %u must be True or False", i + 1);
    }
    const tn_expr *a = infer_arg(call, 5);
    if (a && !infer_scalar(ctx, call, 5))
        return tn_error_node(ctx);
    if (a && t->ndim >= 0 && tn_int_value(a, &axis) &&
        !infer_axis(ctx, call, "axis", axis, t->ndim, &axis))
        return tn_error_node(ctx);
    const tn_list one = tn_listv(ctx, tn_i64(ctx, 1), NULL);
    tn_list fields = {0};
    fields = tn_list_append(ctx, fields,
                            t->ndim == 0 ? infer_known(ctx, call, one, t->dtype)
                                         : infer_rank(ctx, call, a ? t->ndim : 1, t->dtype));
    for (uint32_t i = 2; i < 5; i++)
        if (flag[i])
            fields = tn_list_append(ctx, fields,
                                    t->ndim == 0 ? infer_known(ctx, call, one, TNB_I64)
                                                 : infer_rank(ctx, call, 1, TNB_I64));
    return fields.n == 1 ? fields.at[0] : tn_ty_tuple_of(ctx, fields);
}

static const char order_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def unique_order(var_a: T.handle, var_b: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    x = T.match_buffer(var_a, ($n$, $m$), '$D$')\n"
    "    order = T.match_buffer(var_b, ($n$,), 'int64')\n"
    "    work = T.sblock_alloc_buffer((T.int64(2), $n$), 'int64')\n"
    "    for once in range(T.int64(1)):\n"
    "        with T.sblock('unique_order'):\n"
    "            v_once = T.axis.spatial(T.int64(1), once)\n"
    "            T.reads(x[T.int64(0):$n$, T.int64(0):$m$])\n"
    "            T.writes(order[T.int64(0):$n$], work[T.int64(0):T.int64(2), T.int64(0):$n$])\n"
    "            state = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            head = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            which = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "            for i in range($n$):\n"
    "                work[T.int64(0), i] = i\n"
    "$SORT$"
    "            for i in range($n$):\n"
    "                order[i] = work[state[1], i]\n";

/* Element by element until two differ; which[1] counts them. */
static const char compare_slices[] =
    "                            which[0] = T.int64(-1)\n"
    "                            which[1] = T.int64(0)\n"
    "                            while which[0] < T.int64(0) and which[1] < $m$:\n"
    "                                p: T.let[T.$W$] = T.Cast('$W$', x[work[state[1], head[0]], "
    "which[1]])\n"
    "                                q: T.let[T.$W$] = T.Cast('$W$', x[work[state[1], head[1]], "
    "which[1]])\n"
    "                                if $Q_BEFORE_P$:\n"
    "                                    which[0] = T.int64(1)\n"
    "                                elif $P_BEFORE_Q$:\n"
    "                                    which[0] = T.int64(0)\n"
    "                                which[1] = which[1] + T.int64(1)\n"
    "                            if which[0] < T.int64(0):\n"
    "                                which[0] = T.int64(0)\n";

static const char group_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def unique_groups(var_a: T.handle, var_b: T.handle, var_c: T.handle, var_d: T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    x = T.match_buffer(var_a, ($n$, $m$), '$D$')\n"
    "    order = T.match_buffer(var_b, ($n$,), 'int64')\n"
    "    group = T.match_buffer(var_c, ($n$,), 'int64')\n"
    "    count = T.match_buffer(var_d, (T.int64(1),), 'int64')\n"
    "    first = T.sblock_alloc_buffer(($n$,), 'int64')\n"
    "    with T.sblock('unique_groups'):\n"
    "        v_i = T.axis.spatial(T.int64(1), T.int64(0))\n"
    "        T.reads(x[T.int64(0):$n$, T.int64(0):$m$], order[T.int64(0):$n$])\n"
    "        T.writes(group[T.int64(0):$n$], count[T.int64(0):T.int64(1)], "
    "first[T.int64(0):$n$])\n"
    "        step = T.sblock_alloc_buffer((T.int64(2),), 'int64', scope='local')\n"
    "        count[0] = T.int64(0)\n"
    "        for k in range($n$):\n"
    "            step[0] = T.int64(0)\n"
    "            step[1] = T.int64(0)\n" /* whether it differs from the one before */
    "            if k == T.int64(0):\n"
    "                step[1] = T.int64(1)\n"
    "            while step[1] == T.int64(0) and step[0] < $m$:\n"
    "                p: T.let[T.$W$] = T.Cast('$W$', x[order[k - T.int64(1)], step[0]])\n"
    "                q: T.let[T.$W$] = T.Cast('$W$', x[order[k], step[0]])\n"
    "                if $P_BEFORE_Q$:\n" /* never the other way round: they are sorted */
    "                    step[1] = T.int64(1)\n"
    "                step[0] = step[0] + T.int64(1)\n"
    "            if step[1] == T.int64(1):\n"
    "                first[count[0]] = order[k]\n"
    "                count[0] = count[0] + T.int64(1)\n"
    "            group[order[k]] = count[0] - T.int64(1)\n"
    "$RENUMBER$";

/* Groups in the order of their first slices: `first` of a group becomes its new number when that
 * slice is met. */
static const char renumber[] =
    "        step[0] = T.int64(0)\n"
    "        for i in range($n$):\n"
    "            if first[group[i]] == i:\n"
    "                first[group[i]] = step[0] - $n$\n" /* below 0, to tell it from positions */
    "                step[0] = step[0] + T.int64(1)\n"
    "            group[i] = first[group[i]] + $n$\n";

/* From the last slice to the first, so that the first of a group is what stays. */
static const char fill_program[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def unique_fill(var_a: T.handle, var_b: T.handle, var_c: T.handle, var_d: T.handle, var_e: "
    "T.handle):\n"
    "    T.func_attr({'tirx.noalias': True})\n"
    "    $SYMBOLS$\n"
    "    x = T.match_buffer(var_a, ($n$, $m$), '$D$')\n"
    "    group = T.match_buffer(var_b, ($n$,), 'int64')\n"
    "    value = T.match_buffer(var_c, ($u$, $m$), '$D$')\n"
    "    place = T.match_buffer(var_d, ($u$,), 'int64')\n"
    "    times = T.match_buffer(var_e, ($u$,), 'int64')\n"
    "    with T.sblock('unique_fill'):\n"
    "        v_i = T.axis.spatial(T.int64(1), T.int64(0))\n"
    "        T.reads(x[T.int64(0):$n$, T.int64(0):$m$], group[T.int64(0):$n$])\n"
    "        T.writes(value[T.int64(0):$u$, T.int64(0):$m$], place[T.int64(0):$u$], "
    "times[T.int64(0):$u$])\n"
    "        for j in range($u$):\n"
    "            times[j] = T.int64(0)\n"
    "        for i in range($n$):\n"
    "            at: T.let[T.int64] = $n$ - T.int64(1) - i\n"
    "            for k in range($m$):\n"
    "                value[group[at], k] = x[at, k]\n"
    "            place[group[at]] = at\n"
    "            times[group[at]] = times[group[at]] + T.int64(1)\n";

static program
begin(tn_builder *b, const tn_expr *n, const tn_expr *m, tnb_dtype d)
{
    program p = program_begin(b);
    bool real = tnb_dtype_is_float(d), whole = tnb_dtype_is_bool(d) || (real && d.bits < 32);
    tnb_dtype wide = whole ? (real ? TNB_F32 : TNB_I32) : d;
    program_extent(&p, "n", n);
    program_extent(&p, "m", m);
    program_dtype(&p, "D", d);
    program_dtype(&p, "W", wide);
    program_text(&p, "P_BEFORE_Q", real ? "p < q or (T.isnan(q) and not T.isnan(p))" : "p < q");
    program_text(&p, "Q_BEFORE_P", real ? "q < p or (T.isnan(p) and not T.isnan(q))" : "q < p");
    return p;
}

static const tn_type *
vector(tn_ctx *ctx, const tn_expr *n)
{
    return tn_ty_tensor_dims(ctx, tn_listv(ctx, n, NULL), TNB_I64);
}

static const tn_expr *
op_of(tn_builder *b, const char *op, const tn_node *attrs, const tn_expr *x, const tn_expr *y)
{
    return tn_emit(b, tn_call_opv(tn_builder_ctx(b), op, attrs, x, y, NULL), "lv");
}

/* The axes with `axis` in front, or back from there. */
static const tn_node *
axes_attr(tn_ctx *ctx, int64_t axis, uint32_t n, bool back)
{
    int64_t axes[INFER_MAX_DIMS];
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i == 0 ? axis : i <= axis ? i - 1 : i;
        axes[back ? from : i] = back ? i : from;
    }
    return tn_dictv(ctx, "axes", tn_int_array(ctx, axes, n), NULL);
}

const tn_expr *
legalize_unique(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0];
    tn_list dims = emit_dims(x);
    tnb_dtype d = tn_type_dtype(x->type);
    int64_t flag[5], axis = -1;
    for (uint32_t i = 1; i < 5; i++)
        if (!tn_int_value(call->args.at[i], &flag[i]))
            return NULL;
    if (dims.n > INFER_MAX_DIMS || (call->args.n > 5 && !tn_int_value(call->args.at[5], &axis)))
        return NULL;
    bool along = call->args.n > 5 && dims.n > 0;
    axis += along && axis < 0 ? dims.n : 0;

    /* as a matrix of slices */
    const tn_expr *n = along ? dims.at[axis] : tn_product(ctx, dims), *m = tn_i64(ctx, 1);
    if (along && axis > 0)
        x = op_of(b, "permute_dims", axes_attr(ctx, axis, dims.n, false), x, NULL);
    for (uint32_t i = 0; along && i < dims.n; i++)
        m = i == axis ? m : dim_mul(ctx, m, dims.at[i]);
    x = op_of(b, "reshape", NULL, x, tn_shape_expr_of(ctx, tn_listv(ctx, n, m, NULL)));

    program p = begin(b, n, m, d);
    program_text(&p, "SORT", program_merge_sort);
    program_text(&p, "COUNT", "$n$");
    program_text(&p, "SLOT", "");
    program_text(&p, "COMPARE", compare_slices);
    const tn_expr *order =
        program_call(&p, "unique_order", order_program, tn_listv(ctx, x, NULL), vector(ctx, n));
    order = tn_emit(b, order, "lv");
    p = begin(b, n, m, d);
    program_text(&p, "RENUMBER", flag[1] ? "" : renumber);
    const tn_type *types =
        tn_ty_tuple_of(ctx, tn_listv(ctx, vector(ctx, n), vector(ctx, tn_i64(ctx, 1)), NULL));
    const tn_expr *groups =
        program_call(&p, "unique_groups", group_program, tn_listv(ctx, x, order, NULL), types);
    groups = tn_emit(b, groups, "lv");
    const tn_expr *group = tn_emit(b, tn_tuple_item(ctx, groups, 0), "lv"), *u = tn_i64(ctx, 1);
    if (dims.n && !emit_read_extents(b, tn_tuple_item(ctx, groups, 1), &u, 1))
        return tn_error_node(ctx);

    p = begin(b, n, m, d);
    program_extent(&p, "u", u);
    types = tn_ty_tuple_of(ctx, tn_listv(ctx, tn_ty_tensor_dims(ctx, tn_listv(ctx, u, m, NULL), d),
                                         vector(ctx, u), vector(ctx, u), NULL));
    const tn_expr *filled =
        program_call(&p, "unique_fill", fill_program, tn_listv(ctx, x, group, NULL), types);
    filled = tn_emit(b, filled, "lv");

    /* the slices in their shape again */
    const tn_expr *value = tn_tuple_item(ctx, filled, 0);
    tn_list out = tn_listv(ctx, u, NULL);
    for (uint32_t i = 0; along && i < dims.n; i++)
        if (i != axis)
            out = tn_list_append(ctx, out, dims.at[i]);
    value = op_of(b, "reshape", NULL, value, tn_shape_expr_of(ctx, out));
    if (along && axis > 0)
        value = op_of(b, "permute_dims", axes_attr(ctx, axis, dims.n, true), value, NULL);
    tn_list fields = tn_listv(ctx, value, NULL);
    if (flag[2])
        fields = tn_list_append(ctx, fields, tn_emit(b, tn_tuple_item(ctx, filled, 1), "lv"));
    if (flag[3])
        fields = tn_list_append(ctx, fields, group);
    if (flag[4])
        fields = tn_list_append(ctx, fields, tn_emit(b, tn_tuple_item(ctx, filled, 2), "lv"));
    return fields.n == 1 ? fields.at[0] : tn_tuple_of(ctx, fields);
}
