# SPDX-License-Identifier: Apache-2.0
# Loops, Select, let, a scratch buffer and while of fixed extents.
@I.ir_module
class Before:
    @T.prim_func
    def f(A: T.Buffer((T.int64(16),), "float32"), B: T.Buffer((T.int64(16),), "float32")):
        C = T.sblock_alloc_buffer((T.int64(2),), "float32", scope="local")
        for i in T.serial(T.int64(16)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(16), i)
                k: T.let[T.int64] = T.max(vi - T.int64(1), T.int64(0))
                C[T.int64(0)] = T.Select(T.int64(1) <= k, A[k], T.Cast("float32", k * T.int64(3) % T.int64(5)))
                B[vi] = C[T.int64(0)] + A[T.if_then_else(vi < T.int64(4), vi, T.int64(15) - vi)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        # with T.sblock("root"):
        C = T.sblock_alloc_buffer((2,), scope="local")
        for i in range(16):
            with T.sblock("b"):
                vi = T.axis.remap("S", [i])
                T.reads(A[0:16], C[0])
                T.writes(C[0], B[vi])
                k: T.let[T.int32] = T.max(vi - 1, 0)
                C[0] = T.Select(1 <= k, A[k], T.Cast("float32", k * 3 % 5))
                B[vi] = C[0] + A[T.if_then_else(vi < 4, vi, 15 - vi)]
