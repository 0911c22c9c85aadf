# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Matmul,LowBatchGEMV]}
# target: opencl
# At most 7 vectors, as the caller says: no work for Matmul's tiles. What is summed is padded, so that only stores are tested.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def matmul(x: T.handle, W: T.Buffer((T.int64(512), T.int64(256)), "float32"), c: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(512)))
        C = T.match_buffer(c, (n, T.int64(256)))
        for i, j, k in T.grid(n, T.int64(256), T.int64(512)):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + X[vi, vk] * W[vk, vj]

    @R.function
    def main(x: R.Tensor(("batch", 512), "float32"), w: R.Tensor((512, 256), "float32")):
        batch = T.int64()
        R.func_attr({"tir_var_upper_bound": {"batch": 7}})
        cls = Before
        with R.dataflow():
            y = R.call_tir(cls.matmul, (x, w), out_ty=R.Tensor((batch, 256), "float32"))
            R.output(y)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def matmul(x: T.handle, W: T.Buffer((T.int64(512), T.int64(256)), "float32"), c: T.handle):
        T.func_attr({"tir_var_upper_bound": {"n": 7}, "tirx.is_scheduled": True})
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(512)))
        C = T.match_buffer(c, (n, T.int64(256)))
        # with T.sblock("root"):
        C_pad = T.sblock_alloc_buffer(((n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(256)), scope="shared")
        C_pad_rf = T.sblock_alloc_buffer((T.int64(8), (n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(256)), scope="local")
        for ax0_0_ax1_0 in T.thread_binding((n + T.int64(3)) // T.int64(4) * T.int64(8), thread="blockIdx.x"):
            for vj_i_0 in range(T.int64(1)):
                for vj_i_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                    for vk_0_1_i_0 in range(T.int64(1)):
                        for vk_0_1_i_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                            for vi_i_init in T.unroll(T.int64(4)):
                                for vj_i_init in range(T.int64(1)):
                                    with T.sblock("C_rf_init"):
                                        vi_init = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax0_0_ax1_0 // T.int64(8) * T.int64(4) + vi_i_init)
                                        vj_init = T.axis.spatial(T.int64(256), ax0_0_ax1_0 % T.int64(8) * T.int64(32) + vj_i_1 + vj_i_init)
                                        vk_0_1_init = T.axis.spatial(T.int64(8), vk_0_1_i_0 * T.int64(8) + vk_0_1_i_1)
                                        T.reads()
                                        T.writes(C_pad_rf[vk_0_1_init, vi_init, vj_init])
                                        C_pad_rf[vk_0_1_init, vi_init, vj_init] = T.float32(0.0)
                            for vk_0_0_i, vk_1_i in T.grid(T.int64(64), T.int64(1)):
                                for vi_i in T.unroll(T.int64(4)):
                                    for vj_i in range(T.int64(1)):
                                        with T.sblock("C_rf_update"):
                                            vi = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax0_0_ax1_0 // T.int64(8) * T.int64(4) + vi_i)
                                            vj = T.axis.spatial(T.int64(256), ax0_0_ax1_0 % T.int64(8) * T.int64(32) + vj_i_1 + vj_i)
                                            vk_0_0 = T.axis.remap("R", [vk_0_0_i])
                                            vk_0_1 = T.axis.spatial(T.int64(8), vk_0_1_i_0 * T.int64(8) + vk_0_1_i_1)
                                            vk_1 = T.axis.remap("R", [vk_1_i])
                                            T.reads(C_pad_rf[vk_0_1, vi, vj], X[vi, vk_0_0 * T.int64(8) + vk_0_1 + vk_1], W[vk_0_0 * T.int64(8) + vk_0_1 + vk_1, vj])
                                            T.writes(C_pad_rf[vk_0_1, vi, vj])
                                            C_pad_rf[vk_0_1, vi, vj] = C_pad_rf[vk_0_1, vi, vj] + T.if_then_else(vi < n, X[vi, vk_0_0 * T.int64(8) + vk_0_1 + vk_1], T.float32(0.0)) * W[vk_0_0 * T.int64(8) + vk_0_1 + vk_1, vj]
                    for vi_i_1, vk_0_1_i_0_1 in T.grid(T.int64(4), T.int64(1)):
                        for vk_0_1_i_1_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                            with T.sblock("C"):
                                vi_1 = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax0_0_ax1_0 // T.int64(8) * T.int64(4) + vi_i_1)
                                vj_1 = T.axis.spatial(T.int64(256), ax0_0_ax1_0 % T.int64(8) * T.int64(32) + (vj_i_0 * T.int64(32) + vj_i_1))
                                vk_0_1_1 = T.axis.reduce(T.int64(8), vk_0_1_i_0_1 * T.int64(8) + vk_0_1_i_1_1)
                                T.reads(C_pad_rf[vk_0_1_1, vi_1, vj_1])
                                T.writes(C_pad[vi_1, vj_1])
                                with T.init():
                                    C_pad[vi_1, vj_1] = T.float32(0.0)
                                C_pad[vi_1, vj_1] = C_pad[vi_1, vj_1] + C_pad_rf[vk_0_1_1, vi_1, vj_1]
            for ax1_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                for ax0_1, u_0 in T.grid(T.int64(4), T.int64(1)):
                    for u_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                        with T.sblock("C_pad"):
                            v0 = T.axis.spatial(n, ax0_0_ax1_0 // T.int64(8) * T.int64(4) + ax0_1)
                            v1 = T.axis.spatial(T.int64(256), ax0_0_ax1_0 % T.int64(8) * T.int64(32) + ax1_1)
                            T.where(ax0_0_ax1_0 // T.int64(8) * T.int64(4) + ax0_1 < n and u_0 * T.int64(8) + u_1 < T.int64(1))
                            T.reads(C_pad[v0, v1])
                            T.writes(C[v0, v1])
                            C[v0, v1] = C_pad[v0, v1]

    @R.function
    def main(x: R.Tensor(("batch", 512), dtype="float32"), w: R.Tensor((512, 256), dtype="float32")) -> R.Tensor(("batch", 256), dtype="float32"):
        batch = T.int64()
        R.func_attr({"tir_var_upper_bound": {"batch": 7}})
        cls = Expected
        with R.dataflow():
            y = R.call_tir(cls.matmul, (x, w), out_ty=R.Tensor((batch, 256), dtype="float32"))
            R.output(y)
        return y
