# SPDX-License-Identifier: Apache-2.0
# A convolution sums in the type that out_dtype gives; without it one of float16 sums in float32.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 5), dtype="float16"), w: R.Tensor((3, 2, 3), dtype="float16")) -> R.Tensor((1, 3, 1), dtype="float16"):
        with R.dataflow():
            lv: R.Tensor((1, 3, 3), dtype="float16") = R.nn.conv1d(x, w, out_dtype="float16")
            lv1: R.Tensor((1, 2, 3), dtype="float16") = R.strided_slice(lv, axes=[1], begin=[0], end=[2])
            gv: R.Tensor((1, 3, 1), dtype="float16") = R.nn.conv1d(lv1, w)
            R.output(gv)
        return gv


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def conv1d(A: T.Buffer((T.int64(1), T.int64(2), T.int64(5)), "float16"), B: T.Buffer((T.int64(3), T.int64(2), T.int64(3)), "float16"), conv1d: T.Buffer((T.int64(1), T.int64(3), T.int64(3)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, rc, rx in T.grid(T.int64(1), T.int64(3), T.int64(3), T.int64(2), T.int64(3)):
            with T.sblock("conv1d"):
                v_ax0, v_ax1, v_ax2, v_rc, v_rx = T.axis.remap("SSSRR", [ax0, ax1, ax2, rc, rx])
                T.reads(A[v_ax0, v_rc, v_ax2 + v_rx], B[v_ax1, v_rc, v_rx])
                T.writes(conv1d[v_ax0, v_ax1, v_ax2])
                with T.init():
                    conv1d[v_ax0, v_ax1, v_ax2] = T.float16(0.0)
                conv1d[v_ax0, v_ax1, v_ax2] = conv1d[v_ax0, v_ax1, v_ax2] + A[v_ax0, v_rc, v_ax2 + v_rx] * B[v_ax1, v_rc, v_rx]

    @T.prim_func(private=True, s_tir=True)
    def conv1d1(A: T.Buffer((T.int64(1), T.int64(2), T.int64(3)), "float16"), B: T.Buffer((T.int64(3), T.int64(2), T.int64(3)), "float16"), T_cast: T.Buffer((T.int64(1), T.int64(3), T.int64(1)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        conv1d = T.sblock_alloc_buffer((T.int64(1), T.int64(3), T.int64(1)))
        for ax0, ax1, ax2, rc, rx in T.grid(T.int64(1), T.int64(3), T.int64(1), T.int64(2), T.int64(3)):
            with T.sblock("conv1d"):
                v_ax0, v_ax1, v_ax2, v_rc, v_rx = T.axis.remap("SSSRR", [ax0, ax1, ax2, rc, rx])
                T.reads(A[v_ax0, v_rc, v_ax2 + v_rx], B[v_ax1, v_rc, v_rx])
                T.writes(conv1d[v_ax0, v_ax1, v_ax2])
                with T.init():
                    conv1d[v_ax0, v_ax1, v_ax2] = T.float32(0.0)
                conv1d[v_ax0, v_ax1, v_ax2] = conv1d[v_ax0, v_ax1, v_ax2] + T.Cast("float32", A[v_ax0, v_rc, v_ax2 + v_rx]) * T.Cast("float32", B[v_ax1, v_rc, v_rx])
        for ax0_1, ax1_1, ax2_1 in T.grid(T.int64(1), T.int64(3), T.int64(1)):
            with T.sblock("T_cast"):
                v_ax0_1, v_ax1_1, v_ax2_1 = T.axis.remap("SSS", [ax0_1, ax1_1, ax2_1])
                T.reads(conv1d[v_ax0_1, v_ax1_1, v_ax2_1])
                T.writes(T_cast[v_ax0_1, v_ax1_1, v_ax2_1])
                T_cast[v_ax0_1, v_ax1_1, v_ax2_1] = T.Cast("float16", conv1d[v_ax0_1, v_ax1_1, v_ax2_1])

    @T.prim_func(private=True, s_tir=True)
    def strided_slice(A: T.Buffer((T.int64(1), T.int64(3), T.int64(3)), "float16"), T_strided_slice: T.Buffer((T.int64(1), T.int64(2), T.int64(3)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(1), T.int64(2), T.int64(3)):
            with T.sblock("T_strided_slice"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2])
                T.writes(T_strided_slice[v_ax0, v_ax1, v_ax2])
                T_strided_slice[v_ax0, v_ax1, v_ax2] = A[v_ax0, v_ax1, v_ax2]

    @R.function
    def main(x: R.Tensor((1, 2, 5), dtype="float16"), w: R.Tensor((3, 2, 3), dtype="float16")) -> R.Tensor((1, 3, 1), dtype="float16"):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.conv1d, (x, w), out_ty=R.Tensor((1, 3, 3), dtype="float16"))
            lv1 = R.call_tir(cls.strided_slice, (lv,), out_ty=R.Tensor((1, 2, 3), dtype="float16"))
            gv = R.call_tir(cls.conv1d1, (lv1, w), out_ty=R.Tensor((1, 3, 1), dtype="float16"))
            R.output(gv)
        return gv
