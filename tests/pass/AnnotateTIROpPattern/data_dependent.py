# SPDX-License-Identifier: Apache-2.0
# A place that is read from another buffer is not an index computed of the own place alone.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def take(A: T.Buffer((16, 8), "float32"), I: T.Buffer((4,), "int32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[I[vi], vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def take(A: T.Buffer((16, 8), "float32"), I_: T.Buffer((4,), "int32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"op_pattern": 8})
        # with T.sblock("root"):
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[I_[vi], vj], I_[vi])
                T.writes(C[vi, vj])
                C[vi, vj] = A[I_[vi], vj]
