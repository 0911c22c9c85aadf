# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "uniform_barriers": "yes"}
# Conditions of some threads move to the parts around the barrier, with what these define; a condition of all threads stays.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < n:
                x: T.let[T.float32] = A[t]
                S[t] = x
                if n < 32:
                    T.tvm_storage_sync("shared")
                    B[t] = S[n - 1 - t] + x
                else:
                    B[t] = x
            else:
                B[t] = T.float32(0)
                T.tvm_storage_sync("shared")
                B[t] = B[t] + T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            some: T.let[T.bool] = t < n
            some_1: T.let[T.bool] = not some
            x: T.let[T.float32] = T.if_then_else(some, A[t], T.float32(0.0))
            if some:
                S[t] = x
            if n < 32:
                T.tvm_storage_sync("shared")
                if some:
                    B[t] = S[n - 1 - t] + x
            elif some:
                B[t] = x
            if some_1:
                B[t] = T.float32(0.0)
            T.tvm_storage_sync("shared")
            if some_1:
                B[t] = B[t] + T.float32(1.0)
