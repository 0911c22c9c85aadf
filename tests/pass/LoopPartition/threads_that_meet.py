# SPDX-License-Identifier: Apache-2.0
# Threads meet in the loop, so all of them go the same number of turns: the cut is where the condition holds for every thread.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        S = T.alloc_buffer((T.int64(16),), "float32", scope="shared")
        for t in T.thread_binding(T.int64(16), thread="threadIdx.x"):
            for k in range((n + T.int64(15)) // T.int64(16)):
                T.tvm_storage_sync("shared")
                S[t] = T.if_then_else(k * T.int64(16) + t < n, A[k * T.int64(16) + t], T.float32(0))
                T.tvm_storage_sync("shared")
                if k * T.int64(16) + t < n:
                    B[k * T.int64(16) + t] = S[T.int64(15) - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        S = T.alloc_buffer((T.int64(16),), scope="shared")
        for t in T.thread_binding(T.int64(16), thread="threadIdx.x"):
            for k in range(n // T.int64(16)):
                T.tvm_storage_sync("shared")
                S[t] = A[t + k * T.int64(16)]
                T.tvm_storage_sync("shared")
                B[t + k * T.int64(16)] = S[T.int64(15) - t]
            for k_1 in range(n // T.int64(16), (n + T.int64(15)) // T.int64(16)):
                T.tvm_storage_sync("shared")
                S[t] = T.if_then_else(t + k_1 * T.int64(16) < n, A[t + k_1 * T.int64(16)], T.float32(0.0))
                T.tvm_storage_sync("shared")
                if t + k_1 * T.int64(16) < n:
                    B[t + k_1 * T.int64(16)] = S[T.int64(15) - t]
