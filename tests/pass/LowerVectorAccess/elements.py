# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_pointers": false}
# Aligned vectors of one width make a buffer of vectors (A, R); others are accessed element by element, and a value that reads what is
# written is computed before.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32"), C: T.Buffer((T.int64(64),), "int32")):
        R = T.alloc_buffer((T.int64(4),), scope="local")
        for t in T.thread_binding(T.int64(4), thread="threadIdx.x"):
            R[T.Ramp(T.int64(0), T.int64(1), 4)] = A[T.Ramp(t * T.int64(4), T.int64(1), 4)]
            B[T.Ramp(t * T.int64(4), T.int64(1), 4)] = R[T.Ramp(T.int64(0), T.int64(1), 4)] * B[T.Ramp(t + T.int64(1), T.int64(2), 4)]
            B[T.Ramp(t, T.int64(4), 2)] = T.Broadcast(B[T.int64(0)], 2)
            C[T.Ramp(t, T.int64(1), 2)] = T.Broadcast(7, 2)
            C[T.int64(9)] = 7
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(16),), "float32x4"), B: T.Buffer((T.int64(64),), "float32"), C: T.Buffer((T.int64(64),), "int32")):
        R_ = T.alloc_buffer((T.int64(1),), "float32x4", scope="local")
        for t in T.thread_binding(T.int64(4), thread="threadIdx.x"):
            R_[T.int64(0)] = A[t]
            vector: T.let[T.float32x4] = R_[T.int64(0)] * T.Shuffle([B[t + T.int64(1)], B[t + T.int64(1) + T.int64(2)], B[t + T.int64(1) + T.int64(4)], B[t + T.int64(1) + T.int64(6)]], [0, 1, 2, 3])
            B[t * T.int64(4)] = T.Shuffle([vector], [0])
            B[t * T.int64(4) + T.int64(1)] = T.Shuffle([vector], [1])
            B[t * T.int64(4) + T.int64(2)] = T.Shuffle([vector], [2])
            B[t * T.int64(4) + T.int64(3)] = T.Shuffle([vector], [3])
            vector_1: T.let[T.float32] = B[T.int64(0)]
            B[t] = vector_1
            B[t + T.int64(4)] = vector_1
            C[t] = 7
            C[t + T.int64(1)] = 7
            C[T.int64(9)] = 7
