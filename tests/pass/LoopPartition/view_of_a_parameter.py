# SPDX-License-Identifier: Apache-2.0
# The copy of a loop that declares a view has a view of the same memory.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(30),), "float32")):
        for i in range(T.int64(4)):
            B = T.decl_buffer((T.int64(30),), "int32", data=A.data)
            for j in T.vectorized(T.int64(8)):
                if i * T.int64(8) + j < T.int64(30):
                    B[i * T.int64(8) + j] = T.int32(0)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(30),), "float32")):
        for i in range(T.int64(3)):
            B = T.decl_buffer((T.int64(30),), "int32", data=A.data)
            for j in T.vectorized(T.int64(8)):
                B[i * T.int64(8) + j] = 0
        B_1 = T.decl_buffer((T.int64(30),), "int32", data=A.data)
        for j_1 in T.vectorized(T.int64(6)):
            B_1[j_1 + T.int64(24)] = 0
