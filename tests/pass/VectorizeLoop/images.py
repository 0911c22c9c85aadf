# SPDX-License-Identifier: Apache-2.0
# The channels of an image become a vector, if they are neighbours at a known place; rows do not.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(4), T.int64(4), T.int64(4)), "float32", scope="global.texture"), B: T.Buffer((T.int64(16),), "float32")):
        for i in range(T.int64(4)):
            for k in T.vectorized(T.int64(4)):
                B[i * T.int64(4) + k] = A[i, i, k]
            for k in T.vectorized(T.int64(4)):
                B[i * T.int64(4) + k] = A[i, k, i]
            for k in T.vectorized(T.int64(4)):
                B[i * T.int64(4) + k] = A[i, i, T.int64(3) - k]
            for k in T.vectorized(T.int64(4)):
                A[i, i, k] = B[k]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(4), T.int64(4), T.int64(4)), "float32", scope="global.texture"), B: T.Buffer((T.int64(16),), "float32")):
        for i in range(T.int64(4)):
            B[T.Ramp(i * T.int64(4), T.int64(1), 4)] = A[i, i, T.Ramp(T.int64(0), T.int64(1), 4)]
            for k in range(T.int64(4)):
                B[i * T.int64(4) + k] = A[i, k, i]
            for k_1 in range(T.int64(4)):
                B[i * T.int64(4) + k_1] = A[i, i, T.int64(3) - k_1]
            A[i, i, T.Ramp(T.int64(0), T.int64(1), 4)] = B[T.Ramp(T.int64(0), T.int64(1), 4)]
