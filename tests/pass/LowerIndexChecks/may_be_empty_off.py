# SPDX-License-Identifier: Apache-2.0
# Nothing is looked at, whether an axis is empty or not.
# target: {"kind": "cpu", "check_indices": "off"}
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, J: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((T.int64(8),), "float32"), n: T.int64):
        A = T.match_buffer(a, (n,), "float32")
        for i in range(T.int64(8)):
            B[i] = A[T.index_in(J[i], n, 1, "take, axis 0")]
            A[T.index_in(J[i], n, 1, "scatter, axis 0")] = B[i]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, J: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((T.int64(8),), "float32"), n: T.int64):
        A = T.match_buffer(a, (n,))
        for i in range(T.int64(8)):
            B[i] = A[T.Select(J[i] < T.int64(0), J[i] + n, J[i])]
            A[T.Select(J[i] < T.int64(0), J[i] + n, J[i])] = B[i]
