# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "cpu", "check_indices": "refuse"}
# Code generators note an index that is out of range. Along an axis that may have no elements nothing is loaded.
@I.ir_module
class Before:
    @T.prim_func
    def main(var_A: T.handle, I: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((T.int64(8),), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        n = T.int64()
        A = T.match_buffer(var_A, (n,), "float32")
        for i in range(T.int64(8)):
            B[i] = A[T.index_in(I[i], n, 1, "take, axis 0")]
            C[T.index_in(I[i], T.int64(4), 0, "scatter, axis 0")] = B[i]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(var_A: T.handle, I_: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((T.int64(8),), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        n = T.int64()
        A = T.match_buffer(var_A, (n,))
        for i in range(T.int64(8)):
            B[i] = T.if_then_else(T.int64(0) < n, A[T.index_in(I_[i], n, 1, "take, axis 0")], T.Cast("float32", T.index_in(I_[i], n, 1, "take, axis 0")))
            C[T.index_in(I_[i], T.int64(4), 0, "scatter, axis 0")] = B[i]
