# SPDX-License-Identifier: Apache-2.0
# A store at a computed place is opaque.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(8):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                C[vi * 2] = A[vi]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((16,), "float32")):
        T.func_attr({"op_pattern": 8})
        # with T.sblock("root"):
        for i in range(8):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(C[vi * 2])
                C[vi * 2] = A[vi]
