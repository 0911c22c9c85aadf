# SPDX-License-Identifier: Apache-2.0
# The offset of a view becomes a part of its indices, and of its extent.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(16),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        V = T.decl_buffer((T.int64(2), T.int64(2)), data=A.data, elem_offset=T.int64(12))
        for i, j in T.grid(T.int64(2), T.int64(2)):
            B[i * T.int64(2) + j] = V[i, j]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(16),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        V = T.decl_buffer((T.int64(16),), data=A.data)
        for i, j in T.grid(T.int64(2), T.int64(2)):
            B[i * T.int64(2) + j] = V[T.int64(12) + i * T.int64(2) + j]
