# SPDX-License-Identifier: Apache-2.0
# A reduction variable inside an index: like a product, what follows elementwise can join.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 2):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(-1e30)
                C[vi] = T.max(C[vi], A[vi * 2 + vk])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 4})
        # with T.sblock("root"):
        for i, k in T.grid(8, 2):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi * 2 + vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(-1e+30)
                C[vi] = T.max(C[vi], A[vi * 2 + vk])
