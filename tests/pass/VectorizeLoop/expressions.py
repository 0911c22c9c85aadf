# SPDX-License-Identifier: Apache-2.0
# Contiguous, strided and broadcast accesses; 6 is 4 and 2; a test on the variable has no vector form.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        for i in T.vectorized(T.int64(8)):
            B[i] = A[i * T.int64(2)] * A[T.int64(3)] + T.exp(A[i + T.int64(8)])
        for i in T.vectorized(T.int64(6)):
            B[i + T.int64(8)] = T.max(A[i], T.float32(0))
        for i in T.vectorized(T.int64(8)):
            if i < T.int64(5):
                B[i + T.int64(16)] = A[i]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        B[T.Ramp(T.int64(0), T.int64(1), 8)] = A[T.Ramp(T.int64(0), T.int64(2), 8)] * T.Broadcast(A[T.int64(3)], 8) + T.exp(A[T.Ramp(T.int64(8), T.int64(1), 8)])
        B[T.Ramp(T.int64(8), T.int64(1), 4)] = T.max(A[T.Ramp(T.int64(0), T.int64(1), 4)], T.Broadcast(T.float32(0.0), 4))
        B[T.Ramp(T.int64(12), T.int64(1), 2)] = T.max(A[T.Ramp(T.int64(4), T.int64(1), 2)], T.Broadcast(T.float32(0.0), 2))
        for i in range(T.int64(8)):
            if i < T.int64(5):
                B[i + T.int64(16)] = A[i]
