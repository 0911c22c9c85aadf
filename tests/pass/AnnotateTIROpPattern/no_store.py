# SPDX-License-Identifier: Apache-2.0
# A block that stores nothing is opaque; a program without blocks is elementwise.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def nothing(A: T.Buffer((8,), "float32")):
        T.evaluate(0)

    @T.prim_func(s_tir=True)
    def call(A: T.Buffer((8,), "float32")):
        with T.sblock("call"):
            T.reads()
            T.writes()
            T.evaluate(T.call_packed("outside", A.data))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def call(A: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 8})
        with T.sblock("call"):
            T.reads()
            T.writes()
            T.call_packed("outside", A.data)

    @T.prim_func(s_tir=True)
    def nothing(A: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 0})
        T.evaluate(0)
