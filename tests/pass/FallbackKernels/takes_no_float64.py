# SPDX-License-Identifier: Apache-2.0
# What the target's code generator does not take is marked for another target, and not scheduled for this one;
# what was given away before stays there. (The target is that of tests/transform/external/testext.c.)
# target: testext
# passes: FallbackKernels{to="null"}
# config: tenon.fallback=true
@I.ir_module
class Before:
    @T.prim_func
    def wide(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float64(2)

    @T.prim_func
    def narrow(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @T.prim_func
    def given(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
        T.func_attr({"tenon.fallback": "null"})
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float64(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def given(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
        T.func_attr({"tenon.fallback": "null"})
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float64(2.0)

    @T.prim_func(s_tir=True)
    def narrow(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2.0)

    @T.prim_func(s_tir=True)
    def wide(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
        T.func_attr({"tenon.fallback": "null", "tirx.is_scheduled": True})
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float64(2.0)
