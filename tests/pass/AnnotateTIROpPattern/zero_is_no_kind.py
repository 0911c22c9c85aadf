# SPDX-License-Identifier: Apache-2.0
# A kind of 0 is found again; any other one stays.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def again(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(8, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vj, vi]

    @T.prim_func(s_tir=True)
    def stays(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        T.func_attr({"op_pattern": 1})
        for i, j in T.grid(8, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vj, vi]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def again(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        T.func_attr({"op_pattern": 2})
        # with T.sblock("root"):
        for i, j in T.grid(8, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vj, vi])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vj, vi]

    @T.prim_func(s_tir=True)
    def stays(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        T.func_attr({"op_pattern": 1})
        # with T.sblock("root"):
        for i, j in T.grid(8, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vj, vi])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vj, vi]
