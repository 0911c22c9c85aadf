# SPDX-License-Identifier: Apache-2.0
# A use in front of the normalization keeps the sum of its own.
# target: opencl
# passes: FuseAddRMSNorm
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 1, 64), "float16"), y: R.Tensor(("n", 1, 64), "float16"), w: R.Tensor((64,), "float16")):
        cls = Before
        with R.dataflow():
            lv = R.add(x, y)
            lv1 = R.multiply(lv, x)
            lv2 = R.nn.rms_norm(lv, w, axes=[-1], epsilon=1e-5)
            lv3 = R.multiply(lv1, lv)
            gv = R.add(lv2, lv3)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def fuse_add_norm_decode(var_x: T.handle, var_y: T.handle, weight: T.Buffer((T.int64(64),), "float16"), var_T_rms_norm: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (n, T.int64(1), T.int64(64)), "float16")
        y = T.match_buffer(var_y, (n, T.int64(1), T.int64(64)), "float16")
        T_rms_norm = T.match_buffer(var_T_rms_norm, (n, T.int64(1), T.int64(64)), "float16")
        T_add = T.match_buffer(var_T_add, (n, T.int64(1), T.int64(64)), "float16")
        # with T.sblock("root"):
        square_sum = T.sblock_alloc_buffer((n, T.int64(1)))
        for ax0, ax1, ax2 in T.grid(n, T.int64(1), T.int64(64)):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(x[v_ax0, v_ax1, v_ax2], y[v_ax0, v_ax1, v_ax2])
                T.writes(T_add[v_ax0, v_ax1, v_ax2])
                T_add[v_ax0, v_ax1, v_ax2] = x[v_ax0, v_ax1, v_ax2] + y[v_ax0, v_ax1, v_ax2]
        for ax0_1, ax1_1, k in T.grid(n, T.int64(1), T.int64(64)):
            with T.sblock("square_sum"):
                v_ax0_1, v_ax1_1, v_k = T.axis.remap("SSR", [ax0_1, ax1_1, k])
                T.reads(T_add[v_ax0_1, v_ax1_1, v_k])
                T.writes(square_sum[v_ax0_1, v_ax1_1])
                with T.init():
                    square_sum[v_ax0_1, v_ax1_1] = T.float32(0.0)
                square_sum[v_ax0_1, v_ax1_1] = square_sum[v_ax0_1, v_ax1_1] + T.Cast("float32", T_add[v_ax0_1, v_ax1_1, v_k]) * T.Cast("float32", T_add[v_ax0_1, v_ax1_1, v_k])
        for ax0_2, ax1_2, ax2_1 in T.grid(n, T.int64(1), T.int64(64)):
            with T.sblock("T_rms_norm"):
                v_ax0_2, v_ax1_2, v_ax2_1 = T.axis.remap("SSS", [ax0_2, ax1_2, ax2_1])
                T.reads(square_sum[v_ax0_2, v_ax1_2], T_add[v_ax0_2, v_ax1_2, v_ax2_1], weight[v_ax2_1])
                T.writes(T_rms_norm[v_ax0_2, v_ax1_2, v_ax2_1])
                T_rms_norm[v_ax0_2, v_ax1_2, v_ax2_1] = T.Cast("float16", T.rsqrt(square_sum[v_ax0_2, v_ax1_2] / T.float32(64.0) + T.float32(1e-05)) * T.Cast("float32", T_add[v_ax0_2, v_ax1_2, v_ax2_1]) * T.Cast("float32", weight[v_ax2_1]))

    @R.function
    def main(x: R.Tensor(("n", 1, 64), dtype="float16"), y: R.Tensor(("n", 1, 64), dtype="float16"), w: R.Tensor((64,), dtype="float16")) -> R.Tensor(("n", 1, 64), dtype="float16"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((n, 1, 64), dtype="float16") = R.add(x, y)
            lv1: R.Tensor((n, 1, 64), dtype="float16") = R.multiply(lv, x)
            lv_1 = R.call_tir(cls.fuse_add_norm_decode, (x, y, w), out_ty=[R.Tensor((n, 1, 64), dtype="float16"), R.Tensor((n, 1, 64), dtype="float16")])
            lv_2: R.Tensor((n, 1, 64), dtype="float16") = lv_1[1]
            lv2: R.Tensor((n, 1, 64), dtype="float16") = lv_1[0]
            lv3: R.Tensor((n, 1, 64), dtype="float16") = R.multiply(lv1, lv_2)
            gv: R.Tensor((n, 1, 64), dtype="float16") = R.add(lv2, lv3)
            R.output(gv)
        return gv
