# SPDX-License-Identifier: Apache-2.0
# An index over one element, or one that a product or a difference takes away, is looked at all the same.
@I.ir_module
class Before:
    @T.prim_func
    def main(I: T.Buffer((4,), "int64"), A: T.Buffer((1,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((8,), "int64")):
        for i in range(4):
            if T.index_in(I[i], T.int64(1), 1, "scatter, axis 0") == T.int64(0):
                B[i] = T.float32(1)
            if T.index_in(I[i], T.int64(4), 1, "scatter, axis 0") < T.int64(4):
                B[i] = T.float32(2)
            if i < 9:
                B[i] = A[T.index_in(I[i], T.int64(1), 1, "take, axis 0")]
            C[i] = T.index_in(I[i], T.int64(4), 1, "take, axis 0") // T.int64(4)
            C[i] = T.index_in(I[i], T.int64(4), 1, "take, axis 0") - T.index_in(I[i], T.int64(4), 1, "take, axis 0")
            C[i] = T.min(T.index_in(I[i], T.int64(4), 1, "take, axis 0"), T.int64(7))
            C[i] = T.index_in(I[i], T.int64(4), 1, "take, axis 0") * T.int64(0)
            C[T.index_in(I[i], T.int64(8), 1, "take, axis 0")] = C[T.index_in(I[i], T.int64(8), 1, "take, axis 0")]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(I_: T.Buffer((4,), "int64"), A: T.Buffer((1,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((8,), "int64")):
        for i in range(4):
            if T.index_in(I_[i], T.int64(1), 1, "scatter, axis 0") == T.int64(0):
                B[i] = T.float32(1.0)
            if T.index_in(I_[i], T.int64(4), 1, "scatter, axis 0") < T.int64(4):
                B[i] = T.float32(2.0)
            B[i] = A[T.index_in(I_[i], T.int64(1), 1, "take, axis 0")]
            C[i] = T.index_in(I_[i], T.int64(4), 1, "take, axis 0") // T.int64(4)
            C[i] = T.index_in(I_[i], T.int64(4), 1, "take, axis 0") - T.index_in(I_[i], T.int64(4), 1, "take, axis 0")
            C[i] = T.index_in(I_[i], T.int64(4), 1, "take, axis 0")
            C[i] = T.index_in(I_[i], T.int64(4), 1, "take, axis 0") * T.int64(0)
            C[T.index_in(I_[i], T.int64(8), 1, "take, axis 0")] = C[T.index_in(I_[i], T.int64(8), 1, "take, axis 0")]
