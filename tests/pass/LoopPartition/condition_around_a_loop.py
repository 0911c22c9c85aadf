# SPDX-License-Identifier: Apache-2.0
# A condition that stands around a loop says whether it runs; the loop says nothing about it.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, b: T.Buffer((8, 2), "int64"), n: T.int64):
        k = T.int64()
        A = T.match_buffer(a, (k,), "float32")
        for j in range(n):
            low: T.let[T.int64] = b[j, 0]
            high: T.let[T.int64] = b[j, 1]
            if j < T.int64(3) and low < high:
                A[low] = T.float32(0)
                for i in range(high - low):
                    A[low + i] = A[low + i] + T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, b: T.Buffer((8, 2), "int64"), n: T.int64):
        k = T.int64()
        A = T.match_buffer(a, (k,))
        for j in range(T.min(n, T.int64(3))):
            low: T.let[T.int64] = b[j, 0]
            high: T.let[T.int64] = b[j, 1]
            if low < high:
                A[low] = T.float32(0.0)
                for i in range(high - low):
                    A[low + i] = A[low + i] + T.float32(1.0)
        for j_1 in range(T.min(n, T.int64(3)), n):
            low_1: T.let[T.int64] = b[j_1, 0]
            high_1: T.let[T.int64] = b[j_1, 1]
            if j_1 < T.int64(3) and low_1 < high_1:
                A[low_1] = T.float32(0.0)
                for i_1 in range(high_1 - low_1):
                    A[low_1 + i_1] = A[low_1 + i_1] + T.float32(1.0)
