# SPDX-License-Identifier: Apache-2.0
# What is loaded at checked indices is gathered one by one, and the rest is a vector. An index that is the same for all lanes is
# looked at once. Stores at such indices, 32 of them, bools and branches that are not taken stay loops.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), I: T.Buffer((T.int64(64),), "int64"), B: T.Buffer((T.int64(64),), "float32"), C: T.Buffer((T.int64(64),), "bool"), D: T.Buffer((T.int64(64),), "bool")):
        for i in T.vectorized(T.int64(2)):
            B[i] = T.exp(A[T.index_in(I[i], T.int64(64), 1, "take, axis 0")])
        for i in T.vectorized(T.int64(4)):
            B[i] = A[T.index_in(I[0], T.int64(16), 1, "take, axis 0") * T.int64(4) + i]
        for i in T.vectorized(T.int64(4)):
            B[T.index_in(I[i], T.int64(64), 0, "scatter, axis 0")] = A[i]
        for i in T.vectorized(T.int64(32)):
            B[i] = A[T.index_in(I[i], T.int64(64), 1, "take, axis 0")]
        for i in T.vectorized(T.int64(4)):
            D[i] = C[T.index_in(I[i], T.int64(64), 1, "take, axis 0")]
        for i in T.vectorized(T.int64(4)):
            B[i] = T.Select(A[i] < T.float32(0), A[T.index_in(I[i], T.int64(64), 1, "take, axis 0")], T.float32(0))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), I_: T.Buffer((T.int64(64),), "int64"), B: T.Buffer((T.int64(64),), "float32"), C: T.Buffer((T.int64(64),), "bool"), D: T.Buffer((T.int64(64),), "bool")):
        B[T.Ramp(T.int64(0), T.int64(1), 2)] = T.exp(T.Shuffle([A[T.index_in(I_[T.int64(0)], T.int64(64), 1, "take, axis 0")], A[T.index_in(I_[T.int64(1)], T.int64(64), 1, "take, axis 0")]], [0, 1]))
        B[T.Ramp(T.int64(0), T.int64(1), 4)] = A[T.Ramp(T.index_in(I_[0], T.int64(16), 1, "take, axis 0") * T.int64(4), T.int64(1), 4)]
        for i in range(T.int64(4)):
            B[T.index_in(I_[i], T.int64(64), 0, "scatter, axis 0")] = A[i]
        for i_1 in range(T.int64(32)):
            B[i_1] = A[T.index_in(I_[i_1], T.int64(64), 1, "take, axis 0")]
        for i_2 in range(T.int64(4)):
            D[i_2] = C[T.index_in(I_[i_2], T.int64(64), 1, "take, axis 0")]
        for i_3 in range(T.int64(4)):
            B[i_3] = T.Select(A[i_3] < T.float32(0.0), A[T.index_in(I_[i_3], T.int64(64), 1, "take, axis 0")], T.float32(0.0))
