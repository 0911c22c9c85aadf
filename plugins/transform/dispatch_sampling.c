/* SPDX-License-Identifier: Apache-2.0 */
/* DispatchSampling: drawing from rows of probabilities becomes a kernel.
 *
 *     gv = R.multinomial_from_uniform(prob, u, rows)
 *
 * becomes on a GPU
 *
 *     gv = R.call_tir(cls.parallel_sampling_from_prob, (prob, u, rows), out_ty=...)
 *
 * and elsewhere a cumsum of prob and a search in it by `get_sample_index`. Each sample is the first
 * element of its row at which the running sum exceeds u, else the last. The target is that of the
 * virtual device in the call's type, else the current one. Cases: tests/pass/DispatchSampling,
 * tests/transform/dispatch.py.
 */
#include "transform.h"
#include "dispatch_kernels.h"

/* A block of $THREADS$ threads (256, less where the target has less) draws one sample: it walks over the row in tiles of four elements a thread, of
 * which each thread sums four, until the running sum has passed u. The thread in whose elements
 * that happens is the only one that writes. */
static const char gpu_kernel[] =
    "@T.prim_func(s_tir=True)\n"
    "def parallel_sampling_from_prob(a: T.handle, b: T.handle, c: T.handle, d: T.handle):\n"
    "    T.func_attr({'tirx.is_scheduled': True})\n"
    "    rows, size, samples = T.int64(), T.int64(), T.int64()\n"
    "    prob = T.match_buffer(a, (rows, size), '$P$')\n"
    "    uniform = T.match_buffer(b, (samples, 1), '$U$')\n"
    "    row = T.match_buffer(c, (samples, 1), '$I$')\n"
    "    drawn = T.match_buffer(d, (samples, 1), '$O$')\n"
    "    for bx in T.thread_binding(samples, thread='blockIdx.x'):\n"
    "        for tx in T.thread_binding(T.int64($THREADS$), thread='threadIdx.x'):\n"
    "            with T.sblock('sample'):\n"
    "                vb, vt = T.axis.remap('SS', [bx, tx])\n"
    "                T.reads(prob[0:rows, 0:size], uniform[vb, 0], row[vb, 0])\n"
    "                T.writes(drawn[vb, 0])\n"
    "                part = T.sblock_alloc_buffer((4,), '$A$', scope='local')\n"
    "                sums = T.sblock_alloc_buffer(($THREADS$,), '$A$', scope='shared')\n"
    "                before = T.sblock_alloc_buffer((1,), '$A$', scope='local')\n"
    "                more = T.sblock_alloc_buffer((1,), '$A$', scope='local')\n"
    "                tile = T.sblock_alloc_buffer((1,), 'int64', scope='local')\n"
    "                found = T.sblock_alloc_buffer((1,), 'int64', scope='shared')\n"
    "                limit: T.let[T.$A$] = T.max(T.Cast('$A$', uniform[vb, 0]) - T.$A$(1e-6), "
    "T.$A$(1e-30))\n"
    "                r: T.let[T.int64] = T.Cast('int64', row[vb, 0])\n"
    "                before[0] = T.$A$(0)\n"
    "                tile[0] = T.int64(0)\n"
    "                if vt == T.int64(0):\n"
    "                    found[0] = size - T.int64(1)\n"
    "                while T.tvm_thread_invariant(before[0] < limit and tile[0] * T.int64($TILE$) "
    "< "
    "size):\n"
    "                    more[0] = T.$A$(0)\n"
    "                    for k in T.unroll(T.int64(4)):\n"
    "                        at: T.let[T.int64] = tile[0] * T.int64($TILE$) + vt * T.int64(4) + k\n"
    "                        more[0] = more[0] + T.if_then_else(at < size, T.Cast('$A$', prob[r, "
    "at]), T.$A$(0))\n"
    "                        part[k] = more[0]\n"
    "                    sums[vt] = more[0]\n"
    "                    T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                    for i in range(T.int64($STEPS$)):\n"
    "                        more[0] = T.if_then_else(vt >= T.shift_left(T.int64(1), i), sums[vt - "
    "T.shift_left(T.int64(1), i)], T.$A$(0))\n"
    "                        T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                        sums[vt] = sums[vt] + more[0]\n"
    "                        T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                    more[0] = before[0] + T.if_then_else(vt > T.int64(0), sums[vt - "
    "T.int64(1)], T.$A$(0))\n"
    "                    for k in T.unroll(T.int64(4)):\n"
    "                        at: T.let[T.int64] = tile[0] * T.int64($TILE$) + vt * T.int64(4) + k\n"
    "                        low: T.let[T.$A$] = more[0] + T.if_then_else(k > T.int64(0), part[k - "
    "T.int64(1)], T.$A$(0))\n"
    "                        high: T.let[T.$A$] = T.if_then_else(k == T.int64(3), before[0] + "
    "sums[vt], more[0] + part[k])\n"
    "                        if at < size and low < limit and high >= limit:\n"
    "                            found[0] = at\n"
    "                    before[0] = before[0] + sums[$LAST$]\n"
    "                    tile[0] = tile[0] + T.int64(1)\n"
    "                    T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                T.evaluate(T.tvm_storage_sync('shared'))\n"
    "                if vt == T.int64(0):\n"
    "                    drawn[vb, 0] = T.Cast('$O$', found[0])\n";

/* Searches the running sums. */
static const char cpu_kernel[] =
    "@T.prim_func(private=True, s_tir=True)\n"
    "def get_sample_index(a: T.handle, b: T.handle, c: T.handle, d: T.handle):\n"
    "    rows, size, samples = T.int64(), T.int64(), T.int64()\n"
    "    sums = T.match_buffer(a, (rows, size), '$P$')\n"
    "    uniform = T.match_buffer(b, (samples, 1), '$U$')\n"
    "    row = T.match_buffer(c, (samples, 1), '$I$')\n"
    "    drawn = T.match_buffer(d, (samples, 1), '$O$')\n"
    "    for i, j in T.grid(samples, size):\n"
    "        with T.sblock('T_get_sample_index'):\n"
    "            vi, vj = T.axis.remap('SS', [i, j])\n"
    "            if uniform[vi, T.int64(0)] < sums[row[vi, T.int64(0)], vj] or vj + T.int64(1) == "
    "size:\n"
    "                if vj == T.int64(0):\n"
    "                    drawn[vi, 0] = $ZERO$\n"
    "                elif uniform[vi, T.int64(0)] >= sums[row[vi, T.int64(0)], vj - T.int64(1)]:\n"
    "                    drawn[vi, 0] = $J$\n";

static bool
is_column(const tn_type *t)
{
    tn_list dims;
    return tn_type_ndim(t) == 2 && tn_type_dims(t, &dims) && tn_is_int_const(dims.at[1], 1);
}

static const tn_expr *
dispatch_sampling(dispatch *d, const tn_call *c)
{
    if (!tn_is_call_to(&c->base, "relax.multinomial_from_uniform"))
        return NULL;
    tn_ctx *ctx = d->ctx;
    const tn_expr *prob = c->args.at[0], *uniform = c->args.at[1], *rows = c->args.at[2];
    if (tn_type_ndim(prob->type) != 2 || !is_column(uniform->type) || !is_column(rows->type))
        return tn_error(
            ctx, c->base.loc, TNB_SHAPE,
            "multinomial_from_uniform wants probabilities of rank 2, and columns (n, 1) "
            "of numbers and of rows, found ranks %d, %d and %d",
            (int)tn_type_ndim(prob->type), (int)tn_type_ndim(uniform->type),
            (int)tn_type_ndim(rows->type));
    tnb_dtype p = tn_type_dtype(prob->type), o = tn_type_dtype(c->base.type);
    const char *pt = dispatch_dtype_text(d, p),
               *ut = dispatch_dtype_text(d, tn_type_dtype(uniform->type)),
               *it = dispatch_dtype_text(d, tn_type_dtype(rows->type)),
               *ot = dispatch_dtype_text(d, o);
    const tn_expr *gv;
    if (dispatch_is_gpu(dispatch_target(d, c))) {
        const char *sum = tnb_dtype_eq(p, TNB_F64) ? "float64" : "float32";
        gv = dispatch_kernel(d, dispatch_target(d, c), "parallel_sampling_from_prob", gpu_kernel,
                             "P", pt, "U", ut, "I", it, "O", ot, "A", sum, NULL);
    } else {
        const tn_node *attrs =
            tn_dictv(ctx, "axis", tn_i64(ctx, 1), "dtype", tn_dtype_imm_of(ctx, p), NULL);
        prob = dispatch_emit(d, tn_call_opv(ctx, "cumsum", attrs, prob, NULL));
        bool wide = tnb_dtype_eq(o, TNB_I64);
        gv = dispatch_kernel(d, dispatch_target(d, c), "get_sample_index", cpu_kernel, "P", pt, "U",
                             ut, "I", it, "O", ot, "J",
                             wide ? "vj" : tn_strf(ctx, "T.Cast('%s', vj)", ot), "ZERO",
                             tn_strf(ctx, "T.%s(0)", ot), NULL);
    }
    if (!gv || tn_is_error(gv))
        return gv;
    return tn_call_tir(ctx, gv, tn_listv(ctx, prob, uniform, rows, NULL), c->base.type);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return dispatch_calls(pc, m, dispatch_sampling);
}

const tn_pass transform_dispatch_sampling = {
    .base.size = sizeof(tn_pass),
    .base.name = "DispatchSampling",
    .base.doc = "put kernels in place of drawing from probabilities",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op",
};
