# SPDX-License-Identifier: Apache-2.0
# A program with a symbolic extent, scheduled for threads; an index that comes as data. Numbers of attributes and annotations stay.
@I.ir_module
class Before:
    @T.prim_func
    def take(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"tirx.is_scheduled": 1, "target": T.target({"kind": "vulkan", "max_threads_per_block": 256}), "op.size": 4294967296})
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (m, T.int64(8)), "float32")
        B = T.match_buffer(b, (n,), "int32")
        C = T.match_buffer(c, (n, T.int64(8)), "float32")
        for i in T.thread_binding((n + T.int64(31)) // T.int64(32), thread="blockIdx.x"):
            for x in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                for j in T.serial(T.int64(8), annotations={"pragma_unroll_explicit": 1}):
                    with T.sblock("take"):
                        vi = T.axis.spatial(n, i * T.int64(32) + x)
                        vj = T.axis.spatial(T.int64(8), j)
                        T.where(i * T.int64(32) + x < n)
                        C[vi, vj] = A[T.Cast("int64", B[vi]), vj] * T.Cast("float32", vj)

    @R.function
    def main(x: R.Tensor(("m", 8), "float32"), y: R.Tensor(("n",), "int32")) -> R.Tensor(("n", 8), "float32"):
        n = T.int64()
        cls = Before
        with R.dataflow():
            z = R.call_tir(cls.take, (x, y), out_ty=R.Tensor((n, 8), "float32"))
            R.output(z)
        return z
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def take(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"op.size": 4294967296, "target": T.target({"kind": "vulkan", "max_threads_per_block": 256}), "tirx.is_scheduled": 1})
        m = T.int32()
        A = T.match_buffer(a, (m, 8))
        n = T.int32()
        B = T.match_buffer(b, (n,), "int32")
        C = T.match_buffer(c, (n, 8))
        # with T.sblock("root"):
        for i in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
            for x in T.thread_binding(32, thread="threadIdx.x"):
                for j in T.serial(8, annotations={"pragma_unroll_explicit": 1}):
                    with T.sblock("take"):
                        vi = T.axis.spatial(n, i * 32 + x)
                        vj = T.axis.remap("S", [j])
                        T.where(i * 32 + x < n)
                        T.reads(A[B[vi], vj], B[vi])
                        T.writes(C[vi, vj])
                        C[vi, vj] = A[B[vi], vj] * T.Cast("float32", vj)

    @R.function
    def main(x: R.Tensor(("m", 8), dtype="float32"), y: R.Tensor(("n",), dtype="int32")) -> R.Tensor(("n", 8), dtype="float32"):
        m = T.int64()
        n = T.int64()
        cls = Expected
        with R.dataflow():
            z = R.call_tir(cls.take, (x, y), out_ty=R.Tensor((n, 8), dtype="float32"))
            R.output(z)
        return z
