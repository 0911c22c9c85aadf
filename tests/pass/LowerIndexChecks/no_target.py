# SPDX-License-Identifier: Apache-2.0
# Without a target indices are refused; two indices of one access are guarded each.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, J: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((T.int64(8),), "float32"), n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n, m + T.int64(1)), "float32")
        for i in range(T.int64(8)):
            B[i] = A[T.index_in(J[i], n, 1, "gather_nd, axis 0"), T.index_in(J[i], m + T.int64(1), 1, "gather_nd, axis 1")]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, J: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((T.int64(8),), "float32"), n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n, m + T.int64(1)))
        for i in range(T.int64(8)):
            B[i] = T.if_then_else(T.int64(0) < m + T.int64(1), T.if_then_else(T.int64(0) < n, A[T.index_in(J[i], n, 1, "gather_nd, axis 0"), T.index_in(J[i], m + T.int64(1), 1, "gather_nd, axis 1")], T.Cast("float32", T.index_in(J[i], n, 1, "gather_nd, axis 0"))), T.Cast("float32", T.index_in(J[i], m + T.int64(1), 1, "gather_nd, axis 1")))
