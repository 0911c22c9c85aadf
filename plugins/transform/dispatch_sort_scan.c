/* SPDX-License-Identifier: Apache-2.0 */
/* DispatchSortScan: on GPUs, sorting and running sums become kernels made for them.
 *
 *     gv = R.cumsum(x, axis=1)
 *
 * with x of shape (m, n) becomes
 *
 *     lv = R.call_pure_packed("vm.builtin.reshape", x, R.shape([m, n, 1]), ...)
 *     lv1 = R.call_tir(cls.gpu_cumsum, (lv,), out_ty=R.Tensor((m, n, 1), "float32"))
 *     gv = R.call_pure_packed("vm.builtin.reshape", lv1, R.shape([m, n]), ...)
 *
 * Handled: cumsum, cumprod, sort, argsort, topk, along any axis; the kernels see (outer, n, inner)
 * and serve all shapes. The target is that of the virtual device in the call's type, else the
 * current one. For other targets, and bucketize everywhere, LegalizeOps writes the operator's
 * generic program. Extents must be known. Cases: tests/pass/DispatchSortScan,
 * tests/transform/dispatch.py.
 */
#include "transform.h"
#include "dispatch_kernels.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

/* A block of $THREADS$ threads (256, less where the target has less) scans one row, in tiles of four elements a thread: each thread its four, then a
 * scan over the threads' totals in shared memory. */
static const char scan_kernel[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def $NAME$(a: T.handle, b: T.handle):\n"
    "    T.func_attr({'tirx.is_scheduled': True, 'tirx.noalias': True})\n"
    "    outer, n, inner = T.int64(), T.int64(), T.int64()\n"
    "    x = T.match_buffer(a, (outer, n, inner), '$X$')\n"
    "    y = T.match_buffer(b, (outer, n, inner), '$Y$')\n"
    "    for bx in T.thread_binding(outer * inner, thread='blockIdx.x'):\n"
    "        for tx in T.thread_binding(T.int64($THREADS$), thread='threadIdx.x'):\n"
    "            with T.sblock('scan'):\n"
    "                vb, vt = T.axis.remap('SS', [bx, tx])\n"
    "                T.reads(x[vb // inner, 0:n, vb % inner])\n"
    "                T.writes(y[vb // inner, 0:n, vb % inner])\n"
    "                part = T.sblock_alloc_buffer((4,), '$Y$', scope='local')\n"
    "                totals = T.sblock_alloc_buffer(($THREADS$,), '$Y$', scope='shared')\n"
    "                before = T.sblock_alloc_buffer((1,), '$Y$', scope='local')\n"
    "                more = T.sblock_alloc_buffer((1,), '$Y$', scope='local')\n"
    "                tile = T.sblock_alloc_buffer((1,), 'int64', scope='local')\n"
    "                before[0] = $UNIT$\n"
    "                tile[0] = T.int64(0)\n"
    "                while T.tvm_thread_invariant(tile[0] * T.int64($TILE$) < n):\n"
    "                    more[0] = $UNIT$\n"
    "                    for k in T.unroll(T.int64(4)):\n"
    "                        at: T.let[T.int64] = tile[0] * T.int64($TILE$) + vt * T.int64(4) + k\n"
    "                        more[0] = more[0] $OP$ T.if_then_else(at < n, T.Cast('$Y$', x[vb // "
    "inner, at, vb % inner]), $UNIT$)\n"
    "                        part[k] = more[0]\n"
    "                    totals[vt] = more[0]\n"
    "                    T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                    for i in range(T.int64($STEPS$)):\n"
    "                        more[0] = T.if_then_else(vt >= T.shift_left(T.int64(1), i), totals[vt "
    "- T.shift_left(T.int64(1), i)], $UNIT$)\n"
    "                        T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                        totals[vt] = totals[vt] $OP$ more[0]\n"
    "                        T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                    more[0] = before[0] $OP$ T.if_then_else(vt > T.int64(0), totals[vt - "
    "T.int64(1)], $UNIT$)\n"
    "                    for k in T.unroll(T.int64(4)):\n"
    "                        at: T.let[T.int64] = tile[0] * T.int64($TILE$) + vt * T.int64(4) + k\n"
    "                        if at < n:\n"
    "                            y[vb // inner, at, vb % inner] = more[0] $OP$ $PART$\n"
    "                    before[0] = before[0] $OP$ totals[$LAST$]\n"
    "                    tile[0] = tile[0] + T.int64(1)\n"
    "                    T.evaluate(T.tvm_storage_sync('shared'))\n";

/* A block of $THREADS$ threads (256, less where the target has less) sorts the positions of one row by merging runs of doubled width, from one
 * half of `order` into the other. An element's place in the merged run is its place in its own run
 * plus the number of elements of the other run that go before it, found by bisection; equal
 * elements keep their order. */
static const char sort_kernel[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def $NAME$(a: T.handle, b: T.handle, c: T.handle, d: T.handle):\n"
    "    T.func_attr({'tirx.is_scheduled': True, 'tirx.noalias': True})\n"
    "    outer, n, inner, kept = T.int64(), T.int64(), T.int64(), T.int64()\n"
    "    x = T.match_buffer(a, (outer, n, inner), '$X$')\n"
    "    values = T.match_buffer(b, (outer, kept, inner), '$X$')\n"
    "    places = T.match_buffer(c, (outer, kept, inner), '$P$')\n"
    "    order = T.match_buffer(d, (outer, inner, 2, n), 'int64')\n"
    "    for bx in T.thread_binding(outer * inner, thread='blockIdx.x'):\n"
    "        for tx in T.thread_binding(T.int64($THREADS$), thread='threadIdx.x'):\n"
    "            with T.sblock('sort'):\n"
    "                vb, vt = T.axis.remap('SS', [bx, tx])\n"
    "                T.reads(x[vb // inner, 0:n, vb % inner], order[vb // inner, vb % inner, 0:2, "
    "0:n])\n"
    "                T.writes(values[vb // inner, 0:kept, vb % inner], places[vb // inner, 0:kept, "
    "vb % inner], order[vb // inner, vb % inner, 0:2, 0:n])\n"
    "                i = T.sblock_alloc_buffer((1,), 'int64', scope='local')\n"
    "                width = T.sblock_alloc_buffer((1,), 'int64', scope='local')\n"
    "                half = T.sblock_alloc_buffer((1,), 'int64', scope='local')\n"
    "                low = T.sblock_alloc_buffer((1,), 'int64', scope='local')\n"
    "                high = T.sblock_alloc_buffer((1,), 'int64', scope='local')\n"
    "                o: T.let[T.int64] = vb // inner\n"
    "                r: T.let[T.int64] = vb % inner\n"
    "                i[0] = vt\n"
    "                while i[0] < n:\n"
    "                    order[o, r, 0, i[0]] = i[0]\n"
    "                    i[0] = i[0] + T.int64($THREADS$)\n"
    "                width[0] = T.int64(1)\n"
    "                half[0] = T.int64(0)\n"
    "                T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                while T.tvm_thread_invariant(width[0] < n):\n"
    "                    i[0] = vt\n"
    "                    while i[0] < n:\n"
    "                        run: T.let[T.int64] = i[0] // width[0]\n"
    "                        mine: T.let[T.int64] = order[o, r, half[0], i[0]]\n"
    "                        start: T.let[T.int64] = T.min(T.if_then_else(run % T.int64(2) == "
    "T.int64(0), run + T.int64(1), run - T.int64(1)) * width[0], n)\n"
    "                        low[0] = start\n"
    "                        high[0] = T.min(start + width[0], n)\n"
    "                        while low[0] < high[0]:\n"
    "                            middle: T.let[T.int64] = (low[0] + high[0]) // T.int64(2)\n"
    "                            theirs: T.let[T.int64] = order[o, r, half[0], middle]\n"
    "                            if x[o, theirs, r] $BEFORE$ x[o, mine, r] or (run % T.int64(2) == "
    "T.int64(1) and x[o, theirs, r] == x[o, mine, r]):\n"
    "                                low[0] = middle + T.int64(1)\n"
    "                            else:\n"
    "                                high[0] = middle\n"
    "                        order[o, r, T.int64(1) - half[0], run // T.int64(2) * T.int64(2) * "
    "width[0] + (i[0] - run * width[0]) + (low[0] - start)] = mine\n"
    "                        i[0] = i[0] + T.int64($THREADS$)\n"
    "                    width[0] = width[0] * T.int64(2)\n"
    "                    half[0] = T.int64(1) - half[0]\n"
    "                    T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                i[0] = vt\n"
    "                while i[0] < kept:\n"
    "                    values[o, i[0], r] = x[o, order[o, r, half[0], i[0]], r]\n"
    "                    places[o, i[0], r] = T.Cast('$P$', order[o, r, half[0], i[0]])\n"
    "                    i[0] = i[0] + T.int64($THREADS$)\n";

/* ---- x as (outer, n, inner) ---- */

typedef struct view {
    const tn_expr *x; /* of three dimensions */
    const tn_expr *outer, *n, *inner;
    tn_list dims; /* of the argument */
    uint32_t axis;
} view;

/* axis NULL: all elements as one row. False: extents are not known. */
static bool
view_of(dispatch *d, const tn_call *c, const tn_node *axis, view *out)
{
    tn_ctx *ctx = d->ctx;
    const tn_expr *x = c->args.at[0];
    int64_t a = 0;
    if (!tn_type_dims(x->type, &out->dims) || tnb_dtype_is_void(tn_type_dtype(x->type)))
        return false;
    tn_list dims = out->dims;
    if (!tn_int_value(axis, &a)) {
        out->outer = out->inner = tn_i64(ctx, 1);
        out->n = tn_product(ctx, dims);
    } else {
        a += a < 0 ? (int64_t)dims.n : 0;
        if (a < 0 || a >= (int64_t)dims.n)
            return false;
        out->axis = (uint32_t)a;
        out->outer = tn_product(ctx, (tn_list){dims.at, (uint32_t)a});
        out->n = dims.at[a];
        out->inner = tn_product(ctx, (tn_list){dims.at + a + 1, dims.n - (uint32_t)a - 1});
    }
    bool same = dims.n == 3 && tn_is(axis, TN_KIND_INT_IMM) && a == 1;
    out->x = same ? x : dispatch_reshape(d, x, tn_listv(ctx, out->outer, out->n, out->inner, NULL));
    return true;
}

static const tn_type *
typed(dispatch *d, const tn_call *c, tnb_dtype t, tn_list dims)
{
    return tn_ty_tensor_of(d->ctx, tn_shape_expr_of(d->ctx, dims), t, (int64_t)dims.n,
                           tn_as_ty_tensor(c->args.at[0]->type)->vdevice);
}

/* A result of three dimensions with the extents of the call's type. */
static const tn_expr *
shaped(dispatch *d, const tn_expr *e, const tn_type *as)
{
    tn_list dims;
    if (!tn_type_dims(as, &dims) || tn_type_equal(d->ctx, e->type, as))
        return e;
    return dispatch_reshape(d, e, dims);
}

/* The value of the binding just emitted, taken back. */
static const tn_expr *
last_value(dispatch *d, const tn_expr *e)
{
    const tn_var_binding *vb =
        d->before.n ? tn_as_var_binding(d->before.at[d->before.n - 1]) : NULL;
    if (!vb || vb->var != e)
        return e;
    d->before.n--;
    return vb->value;
}

/* ---- kernels ---- */

static const tn_expr *
dispatch_scan(dispatch *d, const tn_call *c, bool sum)
{
    tn_ctx *ctx = d->ctx;
    view v;
    if (!tn_is(c->base.type, TN_KIND_TY_TENSOR) || !view_of(d, c, tn_call_attr(c, "axis"), &v))
        return NULL;
    tnb_dtype y = tn_type_dtype(c->base.type);
    const char *xt = dispatch_dtype_text(d, tn_type_dtype(v.x->type)),
               *yt = dispatch_dtype_text(d, y);
    const char *unit = tn_strf(ctx, "T.%s(%d)", yt, sum ? 0 : 1);
    bool exclusive = tn_call_int(c, "exclusive") != 0;
    const char *part =
        exclusive ? tn_strf(ctx, "T.if_then_else(k > T.int64(0), part[k - T.int64(1)], %s)", unit)
                  : "part[k]";
    const char *name =
        tn_strf(ctx, "gpu_%scum%s", exclusive ? "exclusive_" : "", sum ? "sum" : "prod");
    const tn_expr *gv =
        dispatch_kernel(d, dispatch_target(d, c), name, scan_kernel, "NAME", name, "X", xt, "Y", yt,
                        "UNIT", unit, "OP", sum ? "+" : "*", "PART", part, NULL);
    if (!gv || tn_is_error(gv))
        return gv;
    const tn_type *out = typed(d, c, y, tn_listv(ctx, v.outer, v.n, v.inner, NULL));
    const tn_expr *e = dispatch_emit(d, tn_call_tir(ctx, gv, tn_listv(ctx, v.x, NULL), out));
    return last_value(d, shaped(d, e, c->base.type));
}

static const tn_expr *
item(dispatch *d, const tn_expr *tuple, int64_t i, const tn_type *as)
{
    return shaped(d, dispatch_emit(d, tn_tuple_item(d->ctx, tuple, i)), as);
}

/* count NULL: all elements are kept. */
static const tn_expr *
dispatch_sort(dispatch *d, const tn_call *c, bool descending, const tn_expr *count,
              tnb_dtype places, bool want_values, bool want_places)
{
    tn_ctx *ctx = d->ctx;
    view v;
    if (!view_of(d, c, tn_call_attr(c, "axis"), &v) || !v.dims.n)
        return NULL;
    tnb_dtype x = tn_type_dtype(v.x->type);
    const char *name = descending ? "gpu_sort_descending" : "gpu_sort";
    const tn_expr *gv =
        dispatch_kernel(d, dispatch_target(d, c), name, sort_kernel, "NAME", name, "X",
                        dispatch_dtype_text(d, x), "P", dispatch_dtype_text(d, places), "BEFORE",
                        descending ? ">" : "<", NULL);
    if (!gv || tn_is_error(gv))
        return gv;
    tn_list kept = tn_listv(ctx, v.outer, count ? count : v.n, v.inner, NULL);
    tn_list order = tn_listv(ctx, v.outer, v.inner, tn_i64(ctx, 2), v.n, NULL);
    const tn_type *out =
        tn_ty_tuple_of(ctx, tn_listv(ctx, typed(d, c, x, kept), typed(d, c, places, kept),
                                     typed(d, c, TNB_I64, order), NULL));
    const tn_expr *all = dispatch_emit(d, tn_call_tir(ctx, gv, tn_listv(ctx, v.x, NULL), out));
    if (!want_values || !want_places)
        return last_value(d, item(d, all, want_values ? 0 : 1, c->base.type));
    const tn_ty_tuple *t = tn_as_ty_tuple(c->base.type);
    const tn_expr *a = item(d, all, 0, t->fields.at[0]), *b = item(d, all, 1, t->fields.at[1]);
    return tn_tuple_of(ctx, tn_listv(ctx, a, b, NULL));
}

static const tn_expr *
dispatch_topk(dispatch *d, const tn_call *c)
{
    const char *what = tn_call_str(c, "ret_type");
    int64_t k = tn_call_int(c, "k");
    return dispatch_sort(d, c, tn_call_int(c, "largest") != 0, k > 0 ? tn_i64(d->ctx, k) : NULL,
                         tn_call_dtype(c, "dtype"), strcmp(what, "indices") != 0,
                         strcmp(what, "values") != 0);
}

static const tn_expr *
dispatch_call(dispatch *d, const tn_call *c)
{
    if (!tn_call_op_of(c) || !dispatch_is_gpu(dispatch_target(d, c)))
        return NULL;
    if (tn_is_call_to(&c->base, "relax.cumsum"))
        return dispatch_scan(d, c, true);
    if (tn_is_call_to(&c->base, "relax.cumprod"))
        return dispatch_scan(d, c, false);
    if (tn_is_call_to(&c->base, "relax.sort"))
        return dispatch_sort(d, c, tn_call_int(c, "descending") != 0, NULL, TNB_I32, true, false);
    if (tn_is_call_to(&c->base, "relax.argsort"))
        return dispatch_sort(d, c, tn_call_int(c, "descending") != 0, NULL,
                             tn_type_dtype(c->base.type), false, true);
    return tn_is_call_to(&c->base, "relax.topk") ? dispatch_topk(d, c) : NULL;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return dispatch_calls(pc, m, dispatch_call);
}

const tn_pass transform_dispatch_sort_scan = {
    .base.size = sizeof(tn_pass),
    .base.name = "DispatchSortScan",
    .base.doc = "put kernels in place of sorting and running sums on GPUs",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op",
};
