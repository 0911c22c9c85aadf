# SPDX-License-Identifier: Apache-2.0
# Of several blocks the largest kind counts.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        x = T.sblock_alloc_buffer((4, 8))
        for i, j in T.grid(4, 8):
            with T.sblock("x"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = T.exp(A[vi, vj])
        for i, j in T.grid(8, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = x[vj, vi]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        T.func_attr({"op_pattern": 2})
        # with T.sblock("root"):
        x = T.sblock_alloc_buffer((4, 8))
        for i, j in T.grid(4, 8):
            with T.sblock("x"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(x[vi, vj])
                x[vi, vj] = T.exp(A[vi, vj])
        for i_1, j_1 in T.grid(8, 4):
            with T.sblock("C"):
                vi_1, vj_1 = T.axis.remap("SS", [i_1, j_1])
                T.reads(x[vj_1, vi_1])
                T.writes(C[vi_1, vj_1])
                C[vi_1, vj_1] = x[vj_1, vi_1]
