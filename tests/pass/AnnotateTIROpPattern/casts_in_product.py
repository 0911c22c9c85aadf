# SPDX-License-Identifier: Apache-2.0
# Casts within a product do not hide it.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float16"), D: T.Buffer((8, 5), "float16"), C: T.Buffer((4, 5), "float32")):
        for i, j, k in T.grid(4, 5, 8):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", D[vk, vj])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float16"), D: T.Buffer((8, 5), "float16"), C: T.Buffer((4, 5), "float32")):
        T.func_attr({"op_pattern": 4})
        # with T.sblock("root"):
        for i, j, k in T.grid(4, 5, 8):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], D[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", D[vk, vj])
