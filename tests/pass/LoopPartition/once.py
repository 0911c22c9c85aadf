# SPDX-License-Identifier: Apache-2.0
# What a cut leaves is not cut again when the loop around it comes to one turn; and of two loops of unknown length in which threads
# meet only one is cut, for barriers make the compilers of devices slow.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, b: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (m,), "float32")
        for x in range(T.int64(3)):
            for y in range((n + T.int64(15)) // T.int64(16)):
                for k in range(T.int64(16)):
                    if x + k < T.int64(16) and y * T.int64(16) + k < n // T.int64(5) and y * T.int64(16) + k < m // T.int64(3):
                        A[y * T.int64(16) + k] = B[y * T.int64(16) + k]

    @T.prim_func
    def meets(a: T.handle, b: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (m,), "float32")
        for t in T.thread_binding(T.int64(16), thread="threadIdx.x"):
            for y in range((n + T.int64(15)) // T.int64(16)):
                T.tvm_storage_sync("shared")
                if y * T.int64(16) + t < n:
                    A[y * T.int64(16) + t] = T.float32(1)
            for z in range((m + T.int64(15)) // T.int64(16)):
                T.tvm_storage_sync("shared")
                if z * T.int64(16) + t < m:
                    B[z * T.int64(16) + t] = T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def meets(a: T.handle, b: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (m,))
        for t in T.thread_binding(T.int64(16), thread="threadIdx.x"):
            for y in range(n // T.int64(16)):
                T.tvm_storage_sync("shared")
                A[t + y * T.int64(16)] = T.float32(1.0)
            for y_1 in range(n // T.int64(16), (n + T.int64(15)) // T.int64(16)):
                T.tvm_storage_sync("shared")
                if t + y_1 * T.int64(16) < n:
                    A[t + y_1 * T.int64(16)] = T.float32(1.0)
            for z in range((m + T.int64(15)) // T.int64(16)):
                T.tvm_storage_sync("shared")
                if t + z * T.int64(16) < m:
                    B[t + z * T.int64(16)] = T.float32(1.0)

    @T.prim_func
    def main(a: T.handle, b: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (m,))
        for y, k in T.grid(T.min(n // T.int64(80), m // T.int64(48)), T.int64(16)):
            A[y * T.int64(16) + k] = B[y * T.int64(16) + k]
        for y_1 in range(T.min(n // T.int64(80), m // T.int64(48)), (n + T.int64(15)) // T.int64(16)):
            for k_1 in range(T.int64(16)):
                if y_1 * T.int64(16) + k_1 < n // T.int64(5) and y_1 * T.int64(16) + k_1 < m // T.int64(3):
                    A[y_1 * T.int64(16) + k_1] = B[y_1 * T.int64(16) + k_1]
        for x in range(T.int64(1), T.int64(3)):
            for y_2, k_2 in T.grid(T.min(n // T.int64(80), m // T.int64(48)), T.int64(16)):
                if x + k_2 < T.int64(16):
                    A[y_2 * T.int64(16) + k_2] = B[y_2 * T.int64(16) + k_2]
            for y_3 in range(T.min(n // T.int64(80), m // T.int64(48)), (n + T.int64(15)) // T.int64(16)):
                for k_3 in range(T.int64(16)):
                    if x + k_3 < T.int64(16) and y_3 * T.int64(16) + k_3 < n // T.int64(5) and y_3 * T.int64(16) + k_3 < m // T.int64(3):
                        A[y_3 * T.int64(16) + k_3] = B[y_3 * T.int64(16) + k_3]
