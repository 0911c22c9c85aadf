# SPDX-License-Identifier: Apache-2.0
# A condition that is the same in all turns may stand around the only write: S moves. Not around one of two, nor one that changes.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32"), n: T.int32):
        S = T.alloc_buffer((8, 16), "float32")
        for i in range(8):
            if n > 3:
                for j in range(16):
                    S[i, j] = A[i, j]
            for j in range(16):
                if n > 4:
                    B[i, j] = S[i, j]

    @T.prim_func
    def changes(A: T.Buffer((16,), "float32"), B: T.Buffer((8, 16), "float32"), n: T.int32):
        S = T.alloc_buffer((16,), "float32")
        for i in range(8):
            if i < n:
                for j in range(16):
                    S[j] = A[j] * T.float32(2)
            for j in range(16):
                if n > 0:
                    B[i, j] = S[j]

    @T.prim_func
    def two(A: T.Buffer((16,), "float32"), B: T.Buffer((8, 16), "float32"), n: T.int32):
        S = T.alloc_buffer((16,), "float32")
        for i in range(8):
            if n > 3:
                for j in range(16):
                    S[j] = A[j]
            for j in range(16):
                B[i, j] = S[j]
            for j in range(16):
                S[j] = A[j] + T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def changes(A: T.Buffer((16,), "float32"), B: T.Buffer((8, 16), "float32"), n: T.int32):
        S = T.alloc_buffer((16,))
        for i in range(8):
            if i < n:
                for j in range(16):
                    S[j] = A[j] * T.float32(2.0)
            for j_1 in range(16):
                if n > 0:
                    B[i, j_1] = S[j_1]

    @T.prim_func
    def two(A: T.Buffer((16,), "float32"), B: T.Buffer((8, 16), "float32"), n: T.int32):
        S = T.alloc_buffer((16,))
        for i in range(8):
            if n > 3:
                for j in range(16):
                    S[j] = A[j]
            for j_1 in range(16):
                B[i, j_1] = S[j_1]
            for j_2 in range(16):
                S[j_2] = A[j_2] + T.float32(1.0)

    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32"), n: T.int32):
        for i in range(8):
            S = T.alloc_buffer((8, 16))
            if n > 3:
                for j in range(16):
                    S[i, j] = A[i, j]
            for j_1 in range(16):
                if n > 4:
                    B[i, j_1] = S[i, j_1]
