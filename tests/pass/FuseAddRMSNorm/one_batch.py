# SPDX-License-Identifier: Apache-2.0
# A prompt of one batch.
# target: vulkan
# passes: FuseAddRMSNorm
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, "n", 64), "float16"), y: R.Tensor((1, "n", 64), "float16"), w: R.Tensor((64,), "float16")):
        cls = Before
        with R.dataflow():
            lv = R.add(x, y)
            lv1 = R.nn.rms_norm(lv, w, axes=[-1], epsilon=1e-5)
            gv = R.multiply(lv1, lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def fuse_add_norm_prefill(var_x: T.handle, var_y: T.handle, weight: T.Buffer((T.int64(64),), "float16"), var_T_rms_norm: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (T.int64(1), n, T.int64(64)), "float16")
        y = T.match_buffer(var_y, (T.int64(1), n, T.int64(64)), "float16")
        T_rms_norm = T.match_buffer(var_T_rms_norm, (T.int64(1), n, T.int64(64)), "float16")
        T_add = T.match_buffer(var_T_add, (T.int64(1), n, T.int64(64)), "float16")
        # with T.sblock("root"):
        square_sum = T.sblock_alloc_buffer((T.int64(1), n))
        for ax0, ax1, ax2 in T.grid(T.int64(1), n, T.int64(64)):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(x[v_ax0, v_ax1, v_ax2], y[v_ax0, v_ax1, v_ax2])
                T.writes(T_add[v_ax0, v_ax1, v_ax2])
                T_add[v_ax0, v_ax1, v_ax2] = x[v_ax0, v_ax1, v_ax2] + y[v_ax0, v_ax1, v_ax2]
        for ax0_1, ax1_1, k in T.grid(T.int64(1), n, T.int64(64)):
            with T.sblock("square_sum"):
                v_ax0_1, v_ax1_1, v_k = T.axis.remap("SSR", [ax0_1, ax1_1, k])
                T.reads(T_add[v_ax0_1, v_ax1_1, v_k])
                T.writes(square_sum[v_ax0_1, v_ax1_1])
                with T.init():
                    square_sum[v_ax0_1, v_ax1_1] = T.float32(0.0)
                square_sum[v_ax0_1, v_ax1_1] = square_sum[v_ax0_1, v_ax1_1] + T.Cast("float32", T_add[v_ax0_1, v_ax1_1, v_k]) * T.Cast("float32", T_add[v_ax0_1, v_ax1_1, v_k])
        for ax0_2, ax1_2, ax2_1 in T.grid(T.int64(1), n, T.int64(64)):
            with T.sblock("T_rms_norm"):
                v_ax0_2, v_ax1_2, v_ax2_1 = T.axis.remap("SSS", [ax0_2, ax1_2, ax2_1])
                T.reads(square_sum[v_ax0_2, v_ax1_2], T_add[v_ax0_2, v_ax1_2, v_ax2_1], weight[v_ax2_1])
                T.writes(T_rms_norm[v_ax0_2, v_ax1_2, v_ax2_1])
                T_rms_norm[v_ax0_2, v_ax1_2, v_ax2_1] = T.Cast("float16", T.rsqrt(square_sum[v_ax0_2, v_ax1_2] / T.float32(64.0) + T.float32(1e-05)) * T.Cast("float32", T_add[v_ax0_2, v_ax1_2, v_ax2_1]) * T.Cast("float32", weight[v_ax2_1]))

    @R.function
    def main(x: R.Tensor((1, "n", 64), dtype="float16"), y: R.Tensor((1, "n", 64), dtype="float16"), w: R.Tensor((64,), dtype="float16")) -> R.Tensor((1, "n", 64), dtype="float16"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.fuse_add_norm_prefill, (x, y, w), out_ty=[R.Tensor((1, n, 64), dtype="float16"), R.Tensor((1, n, 64), dtype="float16")])
            lv_1: R.Tensor((1, n, 64), dtype="float16") = lv[1]
            lv1: R.Tensor((1, n, 64), dtype="float16") = lv[0]
            gv: R.Tensor((1, n, 64), dtype="float16") = R.multiply(lv1, lv_1)
            R.output(gv)
        return gv
