# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: cpu
# A block that writes nothing has no element whose type could say how many lanes there are.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def idle(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("nothing"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.evaluate(A[vi, vj])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def idle(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for i, j in T.grid(4, 8):
            with T.sblock("nothing"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes()
                T.evaluate(A[vi, vj])
