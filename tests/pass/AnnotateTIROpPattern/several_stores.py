# SPDX-License-Identifier: Apache-2.0
# Stores of one block at different places are opaque; at one place they are not.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def different(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi] = A[vi]
                D[vi, vj] = A[vi]

    @T.prim_func(s_tir=True)
    def same(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = T.exp(A[vi])
                D[vi] = T.log(A[vi])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def different(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8, 8), "float32")):
        T.func_attr({"op_pattern": 8})
        # with T.sblock("root"):
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi])
                T.writes(C[vi], D[vi, vj])
                C[vi] = A[vi]
                D[vi, vj] = A[vi]

    @T.prim_func(s_tir=True)
    def same(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i in range(8):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(C[vi], D[vi])
                C[vi] = T.exp(A[vi])
                D[vi] = T.log(A[vi])
