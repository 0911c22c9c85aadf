# SPDX-License-Identifier: Apache-2.0
# An axis that may be empty has no element to take instead: what is loaded is 0, and nothing is stored.
# target: {"kind": "cpu", "check_indices": "clamp"}
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
            B[i] = T.if_then_else(T.int64(0) < n, A[T.max(T.min(T.Select(J[i] < T.int64(0), J[i] + n, J[i]), n - T.int64(1)), T.int64(0))], T.Cast("float32", T.max(T.min(T.Select(J[i] < T.int64(0), J[i] + n, J[i]), n - T.int64(1)), T.int64(0))))
            if T.int64(0) < n:
                A[T.max(T.min(T.Select(J[i] < T.int64(0), J[i] + n, J[i]), n - T.int64(1)), T.int64(0))] = B[i]
            else:
                T.evaluate(T.max(T.min(T.Select(J[i] < T.int64(0), J[i] + n, J[i]), n - T.int64(1)), T.int64(0)))
