# SPDX-License-Identifier: Apache-2.0
# The turns of both loops overlap. What B is read at is not known, so that it stays outside: the turns of the first loop accumulate
# in it and become serial. D is stored only, twice the same value: the second loop stays parallel.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, c: T.handle, t: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        if n >= T.int64(4):
            B = T.alloc_buffer((T.int64(2), n), "float32")
            D = T.alloc_buffer((T.int64(2), n), "float32")
            for i in T.parallel((n + T.int64(3)) // T.int64(4)):
                for j in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = T.float32(0)
                for j in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = B[i // t, T.min(i * T.int64(4), n - T.int64(4)) + j] + A[T.min(i * T.int64(4), n - T.int64(4)) + j]
                for j in range(T.int64(4)):
                    C[T.min(i * T.int64(4), n - T.int64(4)) + j] = B[i // t, T.min(i * T.int64(4), n - T.int64(4)) + j]
            for i in T.parallel((n + T.int64(3)) // T.int64(4)):
                for j in range(T.int64(4)):
                    D[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = A[T.min(i * T.int64(4), n - T.int64(4)) + j]
                for j in range(T.int64(4)):
                    C[T.min(i * T.int64(4), n - T.int64(4)) + j] = D[i // t, T.min(i * T.int64(4), n - T.int64(4)) + j]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, c: T.handle, t: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        C = T.match_buffer(c, (n,))
        if n >= T.int64(4):
            B = T.alloc_buffer((T.int64(2), n))
            for i in range((n + T.int64(3)) // T.int64(4)):
                for j in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = T.float32(0.0)
                for j_1 in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j_1] = B[i // t, T.min(i * T.int64(4), n - T.int64(4)) + j_1] + A[T.min(i * T.int64(4), n - T.int64(4)) + j_1]
                for j_2 in range(T.int64(4)):
                    C[T.min(i * T.int64(4), n - T.int64(4)) + j_2] = B[i // t, T.min(i * T.int64(4), n - T.int64(4)) + j_2]
            D = T.alloc_buffer((T.int64(2), n))
            for i_1 in T.parallel((n + T.int64(3)) // T.int64(4)):
                for j_3 in range(T.int64(4)):
                    D[T.int64(0), T.min(i_1 * T.int64(4), n - T.int64(4)) + j_3] = A[T.min(i_1 * T.int64(4), n - T.int64(4)) + j_3]
                for j_4 in range(T.int64(4)):
                    C[T.min(i_1 * T.int64(4), n - T.int64(4)) + j_4] = D[i_1 // t, T.min(i_1 * T.int64(4), n - T.int64(4)) + j_4]
