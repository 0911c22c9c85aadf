# SPDX-License-Identifier: Apache-2.0
# The tiles of a parallel loop overlap: its turns must not share B. Nothing is known of what i // t // 2 can be, but B has no
# other place than 0 there, and that is written. The second dimension of S is not filled and its index not known: S stays.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, c: T.handle, t: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        if n >= T.int64(4):
            B = T.alloc_buffer((T.int64(1), n), "float32")
            S = T.alloc_buffer((T.int64(2), n), "float32")
            for i in T.parallel((n + T.int64(3)) // T.int64(4)):
                for j in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = T.float32(0)
                    S[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = T.float32(0)
                for j in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = B[i // t // T.int64(2), T.min(i * T.int64(4), n - T.int64(4)) + j] + A[T.min(i * T.int64(4), n - T.int64(4)) + j]
                for j in range(T.int64(4)):
                    C[T.min(i * T.int64(4), n - T.int64(4)) + j] = B[i // t // T.int64(2), T.min(i * T.int64(4), n - T.int64(4)) + j] + S[i // t // T.int64(2), T.min(i * T.int64(4), n - T.int64(4)) + j]
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
            S = T.alloc_buffer((T.int64(2), n))
            for i in T.parallel((n + T.int64(3)) // T.int64(4)):
                B = T.alloc_buffer((T.int64(1), n))
                for j in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = T.float32(0.0)
                    S[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j] = T.float32(0.0)
                for j_1 in range(T.int64(4)):
                    B[T.int64(0), T.min(i * T.int64(4), n - T.int64(4)) + j_1] = B[i // t // T.int64(2), T.min(i * T.int64(4), n - T.int64(4)) + j_1] + A[T.min(i * T.int64(4), n - T.int64(4)) + j_1]
                for j_2 in range(T.int64(4)):
                    C[T.min(i * T.int64(4), n - T.int64(4)) + j_2] = B[i // t // T.int64(2), T.min(i * T.int64(4), n - T.int64(4)) + j_2] + S[i // t // T.int64(2), T.min(i * T.int64(4), n - T.int64(4)) + j_2]
