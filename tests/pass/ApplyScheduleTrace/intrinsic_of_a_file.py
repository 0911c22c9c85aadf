# SPDX-License-Identifier: Apache-2.0
# The pair twice_desc, twice_impl of the file is an intrinsic that the trace may use.
# passes: ApplyScheduleTrace{trace="@DIR@/twice.trace",intrinsics="@DIR@/twice.intrinsics"}
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
        for i_0 in range(16):
            with T.sblock("B_o"):
                v_o = T.axis.remap("S", [i_0])
                T.reads(a[v_o * 4:v_o * 4 + 4])
                T.writes(b[v_o * 4:v_o * 4 + 4])
                a_1 = T.match_buffer(a[v_o * 4:v_o * 4 + 4], (4,))
                b_1 = T.match_buffer(b[v_o * 4:v_o * 4 + 4], (4,))
                T.sblock_attr({"tensor_intrin": "twice"})
                b_1[T.Ramp(0, 1, 4)] = a_1[T.Ramp(0, 1, 4)] + a_1[T.Ramp(0, 1, 4)]
