# SPDX-License-Identifier: Apache-2.0
# A padded convolution: a padding stage and one reduction block.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 5, 5), dtype="float32"), w: R.Tensor((3, 2, 3, 3), dtype="float32")) -> R.Tensor((1, 3, 5, 5), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 3, 5, 5), dtype="float32") = R.nn.conv2d(x, w, padding=(1, 1))
            R.output(gv)
        return gv


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def conv2d(A: T.Buffer((T.int64(1), T.int64(2), T.int64(5), T.int64(5)), "float32"), B: T.Buffer((T.int64(3), T.int64(2), T.int64(3), T.int64(3)), "float32"), conv2d: T.Buffer((T.int64(1), T.int64(3), T.int64(5), T.int64(5)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        pad_temp = T.sblock_alloc_buffer((T.int64(1), T.int64(2), T.int64(7), T.int64(7)))
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(2), T.int64(7), T.int64(7)):
            with T.sblock("pad_temp"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(A[v_ax0, v_ax1, v_ax2 - T.int64(1), v_ax3 - T.int64(1)])
                T.writes(pad_temp[v_ax0, v_ax1, v_ax2, v_ax3])
                pad_temp[v_ax0, v_ax1, v_ax2, v_ax3] = T.if_then_else(T.int64(1) <= v_ax2 and v_ax2 < T.int64(6) and T.int64(1) <= v_ax3 and v_ax3 < T.int64(6), A[v_ax0, v_ax1, v_ax2 - T.int64(1), v_ax3 - T.int64(1)], T.float32(0.0))
        for ax0_1, ax1_1, ax2_1, ax3_1, rc, ry, rx in T.grid(T.int64(1), T.int64(3), T.int64(5), T.int64(5), T.int64(2), T.int64(3), T.int64(3)):
            with T.sblock("conv2d"):
                v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1, v_rc, v_ry, v_rx = T.axis.remap("SSSSRRR", [ax0_1, ax1_1, ax2_1, ax3_1, rc, ry, rx])
                T.reads(pad_temp[v_ax0_1, v_rc, v_ax2_1 + v_ry, v_ax3_1 + v_rx], B[v_ax1_1, v_rc, v_ry, v_rx])
                T.writes(conv2d[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1])
                with T.init():
                    conv2d[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] = T.float32(0.0)
                conv2d[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] = conv2d[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] + pad_temp[v_ax0_1, v_rc, v_ax2_1 + v_ry, v_ax3_1 + v_rx] * B[v_ax1_1, v_rc, v_ry, v_rx]

    @R.function
    def main(x: R.Tensor((1, 2, 5, 5), dtype="float32"), w: R.Tensor((3, 2, 3, 3), dtype="float32")) -> R.Tensor((1, 3, 5, 5), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.conv2d, (x, w), out_ty=R.Tensor((1, 3, 5, 5), dtype="float32"))
            R.output(gv)
        return gv
