# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[cpu.Fallback], trace="-"}
# What the rule did goes to standard output; the result is that of the rule alone.
@I.ir_module
class Before:
    @T.prim_func
    def scale(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.sblock("B"):
                v = T.axis.spatial(64, i)
                b[v] = a[v] * T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def scale(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for i_0 in T.parallel(16):
            for i_1 in T.vectorized(4):
                with T.sblock("B"):
                    v = T.axis.spatial(64, i_0 * 4 + i_1)
                    T.reads(a[v])
                    T.writes(b[v])
                    b[v] = a[v] * T.float32(2.0)
