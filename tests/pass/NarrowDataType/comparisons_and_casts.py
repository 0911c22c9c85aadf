# SPDX-License-Identifier: Apache-2.0
# Conditions and values of other types are computed with 32 bits as well; what is loaded with 64 is cast where all of it fits.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(1000),), "float32"), P: T.Buffer((T.int64(10),), "int64")):
        for b in T.thread_binding(T.int64(8), thread="blockIdx.x"):
            for t in T.thread_binding(T.int64(128), thread="threadIdx.x"):
                if b * T.int64(128) + t < T.int64(1000):
                    A[b * T.int64(128) + t] = T.Cast("float32", b * T.int64(2) + t)
        for i in range(T.int64(10)):
            A[T.max(T.min(P[i], T.int64(99)), T.int64(0)) * T.int64(10) + i] = T.Select(i * T.int64(3) > P[i], T.float32(1), T.float32(2))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(1000),), "float32"), P: T.Buffer((T.int64(10),), "int64")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for t in T.thread_binding(128, thread="threadIdx.x"):
                if b * 128 + t < 1000:
                    A[b * 128 + t] = T.Cast("float32", b * 2 + t)
        for i in range(10):
            A[T.Cast("int32", T.max(T.min(P[i], T.int64(99)), T.int64(0))) * 10 + i] = T.Select(T.Cast("int64", i) * T.int64(3) > P[i], T.float32(1.0), T.float32(2.0))
