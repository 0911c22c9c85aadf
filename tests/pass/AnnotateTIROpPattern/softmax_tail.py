# SPDX-License-Identifier: Apache-2.0
# A reduction, then an elementwise block that writes the output: what follows elementwise can join.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        total = T.sblock_alloc_buffer((4,))
        for i, k in T.grid(4, 8):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + T.exp(A[vi, vk])
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.exp(A[vi, vj]) / total[vi]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"op_pattern": 4})
        # with T.sblock("root"):
        total = T.sblock_alloc_buffer((4,))
        for i, k in T.grid(4, 8):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(total[vi])
                with T.init():
                    total[vi] = T.float32(0.0)
                total[vi] = total[vi] + T.exp(A[vi, vk])
        for i_1, j in T.grid(4, 8):
            with T.sblock("C"):
                vi_1, vj = T.axis.remap("SS", [i_1, j])
                T.reads(A[vi_1, vj], total[vi_1])
                T.writes(C[vi_1, vj])
                C[vi_1, vj] = T.exp(A[vi_1, vj]) / total[vi_1]
