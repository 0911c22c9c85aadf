# SPDX-License-Identifier: Apache-2.0
# Indices that are computed are injective; so is one literal index of a dimension that is no unit.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def slice(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj * 2 + 1]

    @T.prim_func(s_tir=True)
    def row(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8,), "float32")):
        for j in range(8):
            with T.sblock("C"):
                vj = T.axis.remap("S", [j])
                C[vj] = A[2, vj]

    @T.prim_func(s_tir=True)
    def reshape(A: T.Buffer((4, 8), "float32"), C: T.Buffer((32,), "float32")):
        for j in range(32):
            with T.sblock("C"):
                vj = T.axis.remap("S", [j])
                C[vj] = A[vj // 8, vj % 8]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def reshape(A: T.Buffer((4, 8), "float32"), C: T.Buffer((32,), "float32")):
        T.func_attr({"op_pattern": 2})
        # with T.sblock("root"):
        for j in range(32):
            with T.sblock("C"):
                vj = T.axis.remap("S", [j])
                T.reads(A[vj // 8, vj % 8])
                T.writes(C[vj])
                C[vj] = A[vj // 8, vj % 8]

    @T.prim_func(s_tir=True)
    def row(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 2})
        # with T.sblock("root"):
        for j in range(8):
            with T.sblock("C"):
                vj = T.axis.remap("S", [j])
                T.reads(A[2, vj])
                T.writes(C[vj])
                C[vj] = A[2, vj]

    @T.prim_func(s_tir=True)
    def slice(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"op_pattern": 2})
        # with T.sblock("root"):
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj * 2 + 1])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj * 2 + 1]
