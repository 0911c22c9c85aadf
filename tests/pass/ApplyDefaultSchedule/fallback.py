# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: cpu
# The rule inlines what is elementwise and runs the outer loop in parallel; a program that is scheduled stays.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        x = T.sblock_alloc_buffer((4, 8))
        for i, j in T.grid(4, 8):
            with T.sblock("x"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.exp(x[vi, vj])

    @T.prim_func(s_tir=True)
    def done(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = A[vi]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for i in T.parallel(4):
            for j in T.vectorized(8):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = T.exp(A[vi, vj] + T.float32(1.0))

    @T.prim_func(s_tir=True)
    def done(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(C[vi])
                C[vi] = A[vi]
