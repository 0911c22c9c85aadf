# SPDX-License-Identifier: Apache-2.0
# A product whose factors have every variable of the output is a plain reduction.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk] * A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 3})
        # with T.sblock("root"):
        for i, k in T.grid(4, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0.0)
                C[vi] = C[vi] + A[vi, vk] * A[vi, vk]
