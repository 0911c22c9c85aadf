# SPDX-License-Identifier: Apache-2.0
# The kernel sees (outer, n, inner): a tensor of three dimensions as it is only along the middle one.
# target: cuda
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32")) -> R.Tuple(R.Tensor((2, 3, 4), "float32"), R.Tensor((2, 3, 4), "float32")):
        with R.dataflow():
            a = R.cumsum(x, axis=1, exclusive=True)
            b = R.cumprod(x, axis=2)
            R.output(a, b)
        return (a, b)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def gpu_cumprod(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        outer = T.int64()
        n = T.int64()
        inner = T.int64()
        x = T.match_buffer(a, (outer, n, inner))
        y = T.match_buffer(b, (outer, n, inner))
        # with T.sblock("root"):
        for bx in T.thread_binding(outer * inner, thread="blockIdx.x"):
            for tx in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("scan"):
                    vb, vt = T.axis.remap("SS", [bx, tx])
                    T.reads(x[vb // inner, T.int64(0):n, vb % inner])
                    T.writes(y[vb // inner, T.int64(0):n, vb % inner])
                    part = T.sblock_alloc_buffer((4,), scope="local")
                    totals = T.sblock_alloc_buffer((256,), scope="shared")
                    before = T.sblock_alloc_buffer((1,), scope="local")
                    more = T.sblock_alloc_buffer((1,), scope="local")
                    tile = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    before[0] = T.float32(1.0)
                    tile[0] = T.int64(0)
                    while T.tvm_thread_invariant(tile[0] * T.int64(1024) < n):
                        more[0] = T.float32(1.0)
                        for k in T.unroll(T.int64(4)):
                            at: T.let[T.int64] = tile[0] * T.int64(1024) + vt * T.int64(4) + k
                            more[0] = more[0] * T.if_then_else(at < n, T.Cast("float32", x[vb // inner, at, vb % inner]), T.float32(1.0))
                            part[k] = more[0]
                        totals[vt] = more[0]
                        T.tvm_storage_sync("shared")
                        for i in range(T.int64(8)):
                            more[0] = T.if_then_else(vt >= T.shift_left(T.int64(1), i), totals[vt - T.shift_left(T.int64(1), i)], T.float32(1.0))
                            T.tvm_storage_sync("shared")
                            totals[vt] = totals[vt] * more[0]
                            T.tvm_storage_sync("shared")
                        more[0] = before[0] * T.if_then_else(vt > T.int64(0), totals[vt - T.int64(1)], T.float32(1.0))
                        for k_1 in T.unroll(T.int64(4)):
                            at_1: T.let[T.int64] = tile[0] * T.int64(1024) + vt * T.int64(4) + k_1
                            if at_1 < n:
                                y[vb // inner, at_1, vb % inner] = more[0] * part[k_1]
                        before[0] = before[0] * totals[255]
                        tile[0] = tile[0] + T.int64(1)
                        T.tvm_storage_sync("shared")

    @T.prim_func(private=True, s_tir=True)
    def gpu_exclusive_cumsum(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        outer = T.int64()
        n = T.int64()
        inner = T.int64()
        x = T.match_buffer(a, (outer, n, inner))
        y = T.match_buffer(b, (outer, n, inner))
        # with T.sblock("root"):
        for bx in T.thread_binding(outer * inner, thread="blockIdx.x"):
            for tx in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("scan"):
                    vb, vt = T.axis.remap("SS", [bx, tx])
                    T.reads(x[vb // inner, T.int64(0):n, vb % inner])
                    T.writes(y[vb // inner, T.int64(0):n, vb % inner])
                    part = T.sblock_alloc_buffer((4,), scope="local")
                    totals = T.sblock_alloc_buffer((256,), scope="shared")
                    before = T.sblock_alloc_buffer((1,), scope="local")
                    more = T.sblock_alloc_buffer((1,), scope="local")
                    tile = T.sblock_alloc_buffer((1,), "int64", scope="local")
                    before[0] = T.float32(0.0)
                    tile[0] = T.int64(0)
                    while T.tvm_thread_invariant(tile[0] * T.int64(1024) < n):
                        more[0] = T.float32(0.0)
                        for k in T.unroll(T.int64(4)):
                            at: T.let[T.int64] = tile[0] * T.int64(1024) + vt * T.int64(4) + k
                            more[0] = more[0] + T.if_then_else(at < n, T.Cast("float32", x[vb // inner, at, vb % inner]), T.float32(0.0))
                            part[k] = more[0]
                        totals[vt] = more[0]
                        T.tvm_storage_sync("shared")
                        for i in range(T.int64(8)):
                            more[0] = T.if_then_else(vt >= T.shift_left(T.int64(1), i), totals[vt - T.shift_left(T.int64(1), i)], T.float32(0.0))
                            T.tvm_storage_sync("shared")
                            totals[vt] = totals[vt] + more[0]
                            T.tvm_storage_sync("shared")
                        more[0] = before[0] + T.if_then_else(vt > T.int64(0), totals[vt - T.int64(1)], T.float32(0.0))
                        for k_1 in T.unroll(T.int64(4)):
                            at_1: T.let[T.int64] = tile[0] * T.int64(1024) + vt * T.int64(4) + k_1
                            if at_1 < n:
                                y[vb // inner, at_1, vb % inner] = more[0] + T.if_then_else(k_1 > T.int64(0), part[k_1 - T.int64(1)], T.float32(0.0))
                        before[0] = before[0] + totals[255]
                        tile[0] = tile[0] + T.int64(1)
                        T.tvm_storage_sync("shared")

    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float32")) -> R.Tuple(R.Tensor((2, 3, 4), dtype="float32"), R.Tensor((2, 3, 4), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.gpu_exclusive_cumsum, (x,), out_ty=R.Tensor((2, 3, 4), dtype="float32"))
            lv: R.Tensor((6, 4, 1), dtype="float32") = R.call_pure_packed("vm.builtin.reshape", x, R.shape([6, 4, 1]), ty_args=(R.Tensor((6, 4, 1), dtype="float32"),))
            lv_1 = R.call_tir(cls.gpu_cumprod, (lv,), out_ty=R.Tensor((6, 4, 1), dtype="float32"))
            b: R.Tensor((2, 3, 4), dtype="float32") = R.call_pure_packed("vm.builtin.reshape", lv_1, R.shape([2, 3, 4]), ty_args=(R.Tensor((2, 3, 4), dtype="float32"),))
            R.output(a, b)
        return (a, b)
