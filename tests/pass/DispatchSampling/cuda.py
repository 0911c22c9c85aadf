# SPDX-License-Identifier: Apache-2.0
# On a GPU: one public kernel, already scheduled.
# target: cuda
@I.ir_module
class Before:
    @R.function
    def main(prob: R.Tensor((3, 5), dtype="float32"), u: R.Tensor((6, 1), dtype="float32"), rows: R.Tensor((6, 1), dtype="int64")) -> R.Tensor((6, 1), dtype="int64"):
        with R.dataflow():
            gv = R.multinomial_from_uniform(prob, u, rows, dtype="int64")
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def parallel_sampling_from_prob(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        rows = T.int64()
        size = T.int64()
        prob = T.match_buffer(a, (rows, size))
        samples = T.int64()
        uniform = T.match_buffer(b, (samples, 1))
        row = T.match_buffer(c, (samples, 1), "int64")
        drawn = T.match_buffer(d, (samples, 1), "int64")
        # with T.sblock("root"):
        for bx in T.thread_binding(samples, thread="blockIdx.x"):
            for tx in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("sample"):
                    vb, vt = T.axis.remap("SS", [bx, tx])
                    T.reads(prob[T.int64(0):rows, T.int64(0):size], uniform[vb, 0], row[vb, 0])
                    T.writes(drawn[vb, 0])
                    part = T.sblock_alloc_buffer((4,), scope="local")
                    sums = T.sblock_alloc_buffer((256,), scope="shared")
                    before = T.sblock_alloc_buffer((1,), scope="local")
                    more = T.sblock_alloc_buffer((1,), scope="local")
                    tile = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    found = T.sblock_alloc_buffer((1,), "int64", scope="shared")
                    limit: T.let[T.float32] = T.max(T.Cast("float32", uniform[vb, 0]) - T.float32(1e-06), T.float32(1e-30))
                    r: T.let[T.int64] = T.Cast("int64", row[vb, 0])
                    before[0] = T.float32(0.0)
                    tile[0] = T.int64(0)
                    if vt == T.int64(0):
                        found[0] = size - T.int64(1)
                    while T.tvm_thread_invariant(before[0] < limit and tile[0] * T.int64(1024) < size):
                        more[0] = T.float32(0.0)
                        for k in T.unroll(T.int64(4)):
                            at: T.let[T.int64] = tile[0] * T.int64(1024) + vt * T.int64(4) + k
                            more[0] = more[0] + T.if_then_else(at < size, T.Cast("float32", prob[r, at]), T.float32(0.0))
                            part[k] = more[0]
                        sums[vt] = more[0]
                        T.tvm_storage_sync("shared")
                        for i in range(T.int64(8)):
                            more[0] = T.if_then_else(vt >= T.shift_left(T.int64(1), i), sums[vt - T.shift_left(T.int64(1), i)], T.float32(0.0))
                            T.tvm_storage_sync("shared")
                            sums[vt] = sums[vt] + more[0]
                            T.tvm_storage_sync("shared")
                        more[0] = before[0] + T.if_then_else(vt > T.int64(0), sums[vt - T.int64(1)], T.float32(0.0))
                        for k_1 in T.unroll(T.int64(4)):
                            at_1: T.let[T.int64] = tile[0] * T.int64(1024) + vt * T.int64(4) + k_1
                            low: T.let[T.float32] = more[0] + T.if_then_else(k_1 > T.int64(0), part[k_1 - T.int64(1)], T.float32(0.0))
                            high: T.let[T.float32] = T.if_then_else(k_1 == T.int64(3), before[0] + sums[vt], more[0] + part[k_1])
                            if at_1 < size and low < limit and high >= limit:
                                found[0] = at_1
                        before[0] = before[0] + sums[255]
                        tile[0] = tile[0] + T.int64(1)
                        T.tvm_storage_sync("shared")
                    T.tvm_storage_sync("shared")
                    if vt == T.int64(0):
                        drawn[vb, 0] = T.Cast("int64", found[0])

    @R.function
    def main(prob: R.Tensor((3, 5), dtype="float32"), u: R.Tensor((6, 1), dtype="float32"), rows: R.Tensor((6, 1), dtype="int64")) -> R.Tensor((6, 1), dtype="int64"):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.parallel_sampling_from_prob, (prob, u, rows), out_ty=R.Tensor((6, 1), dtype="int64"))
            R.output(gv)
        return gv
