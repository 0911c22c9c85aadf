# SPDX-License-Identifier: Apache-2.0
# Windows of symbolic size: the sizes are arguments of the program.
@I.ir_module
class Before:
    @R.function
    def main(k: R.Shape(["kh", "kw"]), x: R.Tensor((1, 2, "h", "w"), "float32")):
        kh, kw = T.int64(), T.int64()
        a = R.nn.max_pool2d(x, pool_size=[kh, kw], padding=[1, 1])
        b = R.nn.avg_pool2d(x, pool_size=[kh, kw], strides=[2, 2], padding=[1, 1])
        c = R.nn.adaptive_avg_pool2d(x, output_size=[kh, kw])
        return (a, b, c)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def adaptive_avg_pool2d(var_A: T.handle, var_adaptive_pool_avg: T.handle):
        T.func_attr({"tirx.noalias": True})
        h = T.int64()
        w = T.int64()
        A = T.match_buffer(var_A, (T.int64(1), T.int64(2), h, w))
        kh = T.int64()
        kw = T.int64()
        adaptive_pool_avg = T.match_buffer(var_adaptive_pool_avg, (T.int64(1), T.int64(2), kh, kw))
        # with T.sblock("root"):
        adaptive_pool_sum = T.sblock_alloc_buffer((T.int64(1), T.int64(2), kh, kw))
        for ax0, ax1, ax2, ax3, rv0, rv1 in T.grid(T.int64(1), T.int64(2), kh, kw, h // kh + T.int64(2), w // kw + T.int64(2)):
            with T.sblock("adaptive_pool_sum"):
                v_ax0, v_ax1, v_ax2, v_ax3, v_rv0, v_rv1 = T.axis.remap("SSSSRR", [ax0, ax1, ax2, ax3, rv0, rv1])
                T.reads(A[v_ax0, v_ax1, v_ax2 * h // kh + v_rv0, v_ax3 * w // kw + v_rv1])
                T.writes(adaptive_pool_sum[v_ax0, v_ax1, v_ax2, v_ax3])
                with T.init():
                    adaptive_pool_sum[v_ax0, v_ax1, v_ax2, v_ax3] = T.float32(0.0)
                adaptive_pool_sum[v_ax0, v_ax1, v_ax2, v_ax3] = adaptive_pool_sum[v_ax0, v_ax1, v_ax2, v_ax3] + T.if_then_else(v_ax2 * h // kh + v_rv0 < ((v_ax2 + T.int64(1)) * h + kh - T.int64(1)) // kh and v_ax3 * w // kw + v_rv1 < ((v_ax3 + T.int64(1)) * w + kw - T.int64(1)) // kw, A[v_ax0, v_ax1, v_ax2 * h // kh + v_rv0, v_ax3 * w // kw + v_rv1], T.float32(0.0))
        for ax0_1, ax1_1, ax2_1, ax3_1 in T.grid(T.int64(1), T.int64(2), kh, kw):
            with T.sblock("adaptive_pool_avg"):
                v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1 = T.axis.remap("SSSS", [ax0_1, ax1_1, ax2_1, ax3_1])
                T.reads(adaptive_pool_sum[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1])
                T.writes(adaptive_pool_avg[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1])
                adaptive_pool_avg[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] = adaptive_pool_sum[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] / T.Cast("float32", (((v_ax2_1 + T.int64(1)) * h + kh - T.int64(1)) // kh - v_ax2_1 * h // kh) * (((v_ax3_1 + T.int64(1)) * w + kw - T.int64(1)) // kw - v_ax3_1 * w // kw))

    @T.prim_func(private=True, s_tir=True)
    def avg_pool2d(var_A: T.handle, kh: T.int64, kw: T.int64, var_pool_avg: T.handle):
        T.func_attr({"tirx.noalias": True})
        h = T.int64()
        w = T.int64()
        A = T.match_buffer(var_A, (T.int64(1), T.int64(2), h, w))
        pool_avg = T.match_buffer(var_pool_avg, (T.int64(1), T.int64(2), (h - kh) // T.int64(2) + T.int64(2), (w - kw) // T.int64(2) + T.int64(2)))
        # with T.sblock("root"):
        pad_temp = T.sblock_alloc_buffer((T.int64(1), T.int64(2), h + T.int64(2), w + T.int64(2)))
        pool_sum = T.sblock_alloc_buffer((T.int64(1), T.int64(2), (h - kh) // T.int64(2) + T.int64(2), (w - kw) // T.int64(2) + T.int64(2)))
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(2), h + T.int64(2), w + T.int64(2)):
            with T.sblock("pad_temp"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(A[v_ax0, v_ax1, v_ax2 - T.int64(1), v_ax3 - T.int64(1)])
                T.writes(pad_temp[v_ax0, v_ax1, v_ax2, v_ax3])
                pad_temp[v_ax0, v_ax1, v_ax2, v_ax3] = T.if_then_else(T.int64(1) <= v_ax2 and v_ax2 < h + T.int64(1) and (T.int64(1) <= v_ax3 and v_ax3 < w + T.int64(1)), A[v_ax0, v_ax1, v_ax2 - T.int64(1), v_ax3 - T.int64(1)], T.float32(0.0))
        for ax0_1, ax1_1, ax2_1, ax3_1, rv0, rv1 in T.grid(T.int64(1), T.int64(2), (h - kh) // T.int64(2) + T.int64(2), (w - kw) // T.int64(2) + T.int64(2), kh, kw):
            with T.sblock("pool_sum"):
                v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1, v_rv0, v_rv1 = T.axis.remap("SSSSRR", [ax0_1, ax1_1, ax2_1, ax3_1, rv0, rv1])
                T.reads(pad_temp[v_ax0_1, v_ax1_1, v_ax2_1 * T.int64(2) + v_rv0, v_ax3_1 * T.int64(2) + v_rv1])
                T.writes(pool_sum[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1])
                with T.init():
                    pool_sum[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] = T.float32(0.0)
                pool_sum[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] = pool_sum[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] + pad_temp[v_ax0_1, v_ax1_1, v_ax2_1 * T.int64(2) + v_rv0, v_ax3_1 * T.int64(2) + v_rv1]
        for ax0_2, ax1_2, ax2_2, ax3_2 in T.grid(T.int64(1), T.int64(2), (h - kh) // T.int64(2) + T.int64(2), (w - kw) // T.int64(2) + T.int64(2)):
            with T.sblock("pool_avg"):
                v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2 = T.axis.remap("SSSS", [ax0_2, ax1_2, ax2_2, ax3_2])
                T.reads(pool_sum[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2])
                T.writes(pool_avg[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2])
                pool_avg[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2] = pool_sum[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2] / T.Cast("float32", T.max((kh - T.max(T.int64(0) - (v_ax2_2 * T.int64(2) - T.int64(1)), T.int64(0)) - T.max(v_ax2_2 * T.int64(2) - T.int64(1) + (kh - T.int64(1)) - (h - T.int64(1)), T.int64(0))) * (kw - T.max(T.int64(0) - (v_ax3_2 * T.int64(2) - T.int64(1)), T.int64(0)) - T.max(v_ax3_2 * T.int64(2) - T.int64(1) + (kw - T.int64(1)) - (w - T.int64(1)), T.int64(0))), T.int64(1)))

    @T.prim_func(private=True, s_tir=True)
    def max_pool2d(var_A: T.handle, kh: T.int64, kw: T.int64, var_pool_max: T.handle):
        T.func_attr({"tirx.noalias": True})
        h = T.int64()
        w = T.int64()
        A = T.match_buffer(var_A, (T.int64(1), T.int64(2), h, w))
        pool_max = T.match_buffer(var_pool_max, (T.int64(1), T.int64(2), h + T.int64(3) - kh, w + T.int64(3) - kw))
        # with T.sblock("root"):
        pad_temp = T.sblock_alloc_buffer((T.int64(1), T.int64(2), h + T.int64(2), w + T.int64(2)))
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(2), h + T.int64(2), w + T.int64(2)):
            with T.sblock("pad_temp"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(A[v_ax0, v_ax1, v_ax2 - T.int64(1), v_ax3 - T.int64(1)])
                T.writes(pad_temp[v_ax0, v_ax1, v_ax2, v_ax3])
                pad_temp[v_ax0, v_ax1, v_ax2, v_ax3] = T.if_then_else(T.int64(1) <= v_ax2 and v_ax2 < h + T.int64(1) and (T.int64(1) <= v_ax3 and v_ax3 < w + T.int64(1)), A[v_ax0, v_ax1, v_ax2 - T.int64(1), v_ax3 - T.int64(1)], T.float32("-inf"))
        for ax0_1, ax1_1, ax2_1, ax3_1, rv0, rv1 in T.grid(T.int64(1), T.int64(2), h + T.int64(3) - kh, w + T.int64(3) - kw, kh, kw):
            with T.sblock("pool_max"):
                v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1, v_rv0, v_rv1 = T.axis.remap("SSSSRR", [ax0_1, ax1_1, ax2_1, ax3_1, rv0, rv1])
                T.reads(pad_temp[v_ax0_1, v_ax1_1, v_ax2_1 + v_rv0, v_ax3_1 + v_rv1])
                T.writes(pool_max[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1])
                with T.init():
                    pool_max[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] = T.float32("-inf")
                pool_max[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1] = T.max(pool_max[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1], pad_temp[v_ax0_1, v_ax1_1, v_ax2_1 + v_rv0, v_ax3_1 + v_rv1])

    @R.function
    def main(k: R.Shape(["kh", "kw"]), x: R.Tensor((1, 2, "h", "w"), dtype="float32")) -> R.Tuple(R.Tensor((1, 2, "h + 3 - kh", "w + 3 - kw"), dtype="float32"), R.Tensor((1, 2, "(h - kh) // 2 + 2", "(w - kw) // 2 + 2"), dtype="float32"), R.Tensor((1, 2, "kh", "kw"), dtype="float32")):
        kh = T.int64()
        kw = T.int64()
        h = T.int64()
        w = T.int64()
        cls = Expected
        a = R.call_tir(cls.max_pool2d, (x, kh, kw), out_ty=R.Tensor((1, 2, h + 3 - kh, w + 3 - kw), dtype="float32"))
        b = R.call_tir(cls.avg_pool2d, (x, kh, kw), out_ty=R.Tensor((1, 2, (h - kh) // 2 + 2, (w - kw) // 2 + 2), dtype="float32"))
        c = R.call_tir(cls.adaptive_avg_pool2d, (x,), out_ty=R.Tensor((1, 2, kh, kw), dtype="float32"))
        return (a, b, c)
