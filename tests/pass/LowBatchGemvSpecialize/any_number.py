# SPDX-License-Identifier: Apache-2.0
# Nothing bounds the rows: both schedules, chosen as the program runs.
# target: {"kind": "opencl", "keys": ["opencl", "gpu"], "max_threads_per_block": 256, "max_num_threads": 256, "thread_warp_size": 1, "max_shared_memory_per_block": 32768}
# passes: LowBatchGemvSpecialize
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def product(x_: T.handle, w: T.Buffer((T.int64(512), T.int64(256)), "float32"), y_: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_, (n, T.int64(1), T.int64(256)), "float32")
        y = T.match_buffer(y_, (n, T.int64(1), T.int64(512)), "float32")
        for i, u, j, k in T.grid(n, T.int64(1), T.int64(512), T.int64(256)):
            with T.sblock("y"):
                vi, vu, vj, vk = T.axis.remap("SSSR", [i, u, j, k])
                with T.init():
                    y[vi, vu, vj] = T.float32(0)
                y[vi, vu, vj] = y[vi, vu, vj] + x[vi, vu, vk] * w[vj, vk]

    @R.function
    def main(x: R.Tensor(("n", 1, 256), "float32"), w: R.Tensor((512, 256), "float32")):
        n = T.int64()
        cls = Before
        with R.dataflow():
            gv = R.call_tir(cls.product, (x, w), out_ty=R.Tensor((n, 1, 512), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def product(x_: T.handle, w: T.Buffer((T.int64(512), T.int64(256)), "float32"), y_: T.handle):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_, (n, T.int64(1), T.int64(256)))
        y = T.match_buffer(y_, (n, T.int64(1), T.int64(512)))
        # with T.sblock("root"):
        if n <= T.int64(8):
            with T.sblock("root"):
                T.reads()
                T.writes()
                x_pad = T.sblock_alloc_buffer(((n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(1), T.int64(256)), scope="local")
                y_pad = T.sblock_alloc_buffer(((n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(1), T.int64(512)), scope="shared")
                y_pad_rf = T.sblock_alloc_buffer((T.int64(32), (n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(1), T.int64(512)), scope="local")
                w_local = T.sblock_alloc_buffer((T.int64(512), T.int64(256)), scope="local")
                for ax1_ax0_0_ax2_0 in T.thread_binding((n + T.int64(3)) // T.int64(4) * T.int64(64), thread="blockIdx.x"):
                    for vj_i_0 in range(T.int64(1)):
                        for vj_i_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                            for vk_0_1_i_0 in range(T.int64(1)):
                                for vk_0_1_i_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                    for vi_i_init in T.unroll(T.int64(4)):
                                        for vu_i_init, vj_i_init in T.grid(T.int64(1), T.int64(1)):
                                            with T.sblock("y_rf_init"):
                                                vi_init = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax1_ax0_0_ax2_0 // T.int64(64) * T.int64(4) + vi_i_init)
                                                vu_init = T.axis.remap("S", [vu_i_init])
                                                vj_init = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0 % T.int64(64) * T.int64(8) + vj_i_1 + vj_i_init)
                                                vk_0_1_init = T.axis.spatial(T.int64(32), vk_0_1_i_0 * T.int64(32) + vk_0_1_i_1)
                                                T.reads()
                                                T.writes(y_pad_rf[vk_0_1_init, vi_init, vu_init, vj_init])
                                                y_pad_rf[vk_0_1_init, vi_init, vu_init, vj_init] = T.float32(0.0)
                                    for vk_0_0_i in range(T.int64(2)):
                                        for v0_i in range(T.int64(1)):
                                            for v1_i in T.vectorized(T.int64(4)):
                                                with T.sblock("w_local"):
                                                    v0 = T.axis.spatial(T.int64(512), vj_i_1 + ax1_ax0_0_ax2_0 % T.int64(64) * T.int64(8) + v0_i)
                                                    v1 = T.axis.spatial(T.int64(256), vk_0_1_i_1 * T.int64(4) + vk_0_0_i * T.int64(128) + v1_i)
                                                    T.reads(w[v0, v1])
                                                    T.writes(w_local[v0, v1])
                                                    w_local[v0, v1] = w[v0, v1]
                                        for v0_i_1 in T.unroll(T.int64(4)):
                                            for v1_i_1 in range(T.int64(1)):
                                                for v2_i in T.vectorized(T.int64(4)):
                                                    with T.sblock("x_pad"):
                                                        v0_1 = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax1_ax0_0_ax2_0 // T.int64(64) * T.int64(4) + v0_i_1)
                                                        v1_1 = T.axis.remap("S", [v1_i_1])
                                                        v2 = T.axis.spatial(T.int64(256), vk_0_1_i_1 * T.int64(4) + vk_0_0_i * T.int64(128) + v2_i)
                                                        T.reads(x[v0_1, v1_1, v2])
                                                        T.writes(x_pad[v0_1, v1_1, v2])
                                                        x_pad[v0_1, v1_1, v2] = T.if_then_else(v0_1 < n, x[v0_1, v1_1, v2], T.float32(0.0))
                                        for vk_1_i in T.unroll(T.int64(4)):
                                            for vi_i in T.unroll(T.int64(4)):
                                                for vu_i, vj_i in T.grid(T.int64(1), T.int64(1)):
                                                    with T.sblock("y_rf_update"):
                                                        vi = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax1_ax0_0_ax2_0 // T.int64(64) * T.int64(4) + vi_i)
                                                        vu = T.axis.remap("S", [vu_i])
                                                        vj = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0 % T.int64(64) * T.int64(8) + vj_i_1 + vj_i)
                                                        vk_0_0 = T.axis.remap("R", [vk_0_0_i])
                                                        vk_0_1 = T.axis.spatial(T.int64(32), vk_0_1_i_0 * T.int64(32) + vk_0_1_i_1)
                                                        vk_1 = T.axis.remap("R", [vk_1_i])
                                                        T.reads(y_pad_rf[vk_0_1, vi, vu, vj], x_pad[vi, vu, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1], w_local[vj, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1])
                                                        T.writes(y_pad_rf[vk_0_1, vi, vu, vj])
                                                        y_pad_rf[vk_0_1, vi, vu, vj] = y_pad_rf[vk_0_1, vi, vu, vj] + x_pad[vi, vu, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1] * w_local[vj, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1]
                            for vi_i_1, vu_i_1, vk_0_1_i_0_1 in T.grid(T.int64(4), T.int64(1), T.int64(1)):
                                for vk_0_1_i_1_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                    with T.sblock("y"):
                                        vi_1 = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax1_ax0_0_ax2_0 // T.int64(64) * T.int64(4) + vi_i_1)
                                        vu_1 = T.axis.remap("S", [vu_i_1])
                                        vj_1 = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0 % T.int64(64) * T.int64(8) + (vj_i_0 * T.int64(8) + vj_i_1))
                                        vk_0_1_1 = T.axis.reduce(T.int64(32), vk_0_1_i_0_1 * T.int64(32) + vk_0_1_i_1_1)
                                        T.reads(y_pad_rf[vk_0_1_1, vi_1, vu_1, vj_1])
                                        T.writes(y_pad[vi_1, vu_1, vj_1])
                                        with T.init():
                                            y_pad[vi_1, vu_1, vj_1] = T.float32(0.0)
                                        y_pad[vi_1, vu_1, vj_1] = y_pad[vi_1, vu_1, vj_1] + y_pad_rf[vk_0_1_1, vi_1, vu_1, vj_1]
                    for ax2_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                        for ax0_1, u_0 in T.grid(T.int64(4), T.int64(1)):
                            for u_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                with T.sblock("y_pad"):
                                    v0_2 = T.axis.spatial(n, ax1_ax0_0_ax2_0 // T.int64(64) * T.int64(4) + ax0_1)
                                    v1_2 = T.axis.spatial(T.int64(1), T.int64(0))
                                    v2_1 = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0 % T.int64(64) * T.int64(8) + ax2_1)
                                    T.where(ax1_ax0_0_ax2_0 // T.int64(64) * T.int64(4) + ax0_1 < n and u_0 * T.int64(32) + u_1 < T.int64(1))
                                    T.reads(y_pad[v0_2, v1_2, v2_1])
                                    T.writes(y[v0_2, v1_2, v2_1])
                                    y[v0_2, v1_2, v2_1] = y_pad[v0_2, v1_2, v2_1]
        else:
            with T.sblock("root"):
                T.reads()
                T.writes()
                y_pad_1 = T.sblock_alloc_buffer(((n + T.int64(63)) // T.int64(64) * T.int64(64), T.int64(1), T.int64(512)), scope="local")
                x_pad_shared = T.sblock_alloc_buffer(((n + T.int64(63)) // T.int64(64) * T.int64(64), T.int64(1), T.int64(256)), scope="shared")
                w_shared = T.sblock_alloc_buffer((T.int64(512), T.int64(256)), scope="shared")
                for ax1_ax0_0_ax2_0_1 in T.thread_binding((n + T.int64(63)) // T.int64(64) * T.int64(8), thread="blockIdx.x"):
                    for ax0_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                        for ax2_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                            for vi_i_init_1 in T.unroll(T.int64(4)):
                                for vu_i_init_1 in range(T.int64(1)):
                                    for vj_i_init_1 in T.unroll(T.int64(4)):
                                        with T.sblock("y_init"):
                                            vi_init_1 = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_1_0 * T.int64(4) + ax1_ax0_0_ax2_0_1 // T.int64(8) * T.int64(64) + vi_i_init_1)
                                            vu_init_1 = T.axis.remap("S", [vu_i_init_1])
                                            vj_init_1 = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0_1 % T.int64(8) * T.int64(64) + ax2_1_0 * T.int64(4) + vj_i_init_1)
                                            T.reads()
                                            T.writes(y_pad_1[vi_init_1, vu_init_1, vj_init_1])
                                            y_pad_1[vi_init_1, vu_init_1, vj_init_1] = T.float32(0.0)
                            for vk_i_0 in range(T.int64(16)):
                                for v1_i_2, v0_i_v2_i_0_0 in T.grid(T.int64(1), T.int64(4)):
                                    for v0_i_v2_i_0_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                        for v0_i_v2_i_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                            with T.sblock("x_pad_shared"):
                                                v0_3 = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax1_ax0_0_ax2_0_1 // T.int64(8) * T.int64(64) + ((v0_i_v2_i_0_0 * T.int64(16) + v0_i_v2_i_0_1) * T.int64(16) + v0_i_v2_i_1) // T.int64(16))
                                                v1_3 = T.axis.remap("S", [v1_i_2])
                                                v2_2 = T.axis.spatial(T.int64(256), vk_i_0 * T.int64(16) + ((v0_i_v2_i_0_0 * T.int64(16) + v0_i_v2_i_0_1) * T.int64(16) + v0_i_v2_i_1) % T.int64(16))
                                                T.reads(x[v0_3, v1_3, v2_2])
                                                T.writes(x_pad_shared[v0_3, v1_3, v2_2])
                                                T.sblock_attr({"buffer_dim_align": [[0, 1, 16, 1]]})
                                                x_pad_shared[v0_3, v1_3, v2_2] = T.if_then_else(v0_3 < n, x[v0_3, v1_3, v2_2], T.float32(0.0))
                                for v0_i_v1_i_0_0 in range(T.int64(4)):
                                    for v0_i_v1_i_0_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                        for v0_i_v1_i_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                            with T.sblock("w_shared"):
                                                v0_4 = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0_1 % T.int64(8) * T.int64(64) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) // T.int64(16))
                                                v1_4 = T.axis.spatial(T.int64(256), vk_i_0 * T.int64(16) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) % T.int64(16))
                                                T.reads(w[v0_4, v1_4])
                                                T.writes(w_shared[v0_4, v1_4])
                                                T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 1]]})
                                                w_shared[v0_4, v1_4] = w[v0_4, v1_4]
                                for vk_i_1 in range(T.int64(16)):
                                    for vi_i_2 in T.unroll(T.int64(4)):
                                        for vu_i_2 in range(T.int64(1)):
                                            for vj_i_2 in T.unroll(T.int64(4)):
                                                with T.sblock("y_update"):
                                                    vi_2 = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_1_0 * T.int64(4) + ax1_ax0_0_ax2_0_1 // T.int64(8) * T.int64(64) + vi_i_2)
                                                    vu_2 = T.axis.remap("S", [vu_i_2])
                                                    vj_2 = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0_1 % T.int64(8) * T.int64(64) + ax2_1_0 * T.int64(4) + vj_i_2)
                                                    vk = T.axis.reduce(T.int64(256), vk_i_0 * T.int64(16) + vk_i_1)
                                                    T.reads(y_pad_1[vi_2, vu_2, vj_2], x_pad_shared[vi_2, vu_2, vk], w_shared[vj_2, vk])
                                                    T.writes(y_pad_1[vi_2, vu_2, vj_2])
                                                    y_pad_1[vi_2, vu_2, vj_2] = y_pad_1[vi_2, vu_2, vj_2] + x_pad_shared[vi_2, vu_2, vk] * w_shared[vj_2, vk]
                            for ax0_1_1, ax2_1_1 in T.grid(T.int64(4), T.int64(4)):
                                with T.sblock("y_pad"):
                                    v0_5 = T.axis.spatial(n, ax1_ax0_0_ax2_0_1 // T.int64(8) * T.int64(64) + (ax0_1_0 * T.int64(4) + ax0_1_1))
                                    v1_5 = T.axis.spatial(T.int64(1), T.int64(0))
                                    v2_3 = T.axis.spatial(T.int64(512), ax1_ax0_0_ax2_0_1 % T.int64(8) * T.int64(64) + (ax2_1_0 * T.int64(4) + ax2_1_1))
                                    T.where(ax1_ax0_0_ax2_0_1 // T.int64(8) * T.int64(64) + (ax0_1_0 * T.int64(4) + ax0_1_1) < n)
                                    T.reads(y_pad_1[v0_5, v1_5, v2_3])
                                    T.writes(y[v0_5, v1_5, v2_3])
                                    y[v0_5, v1_5, v2_3] = y_pad_1[v0_5, v1_5, v2_3]

    @R.function
    def main(x: R.Tensor(("n", 1, 256), dtype="float32"), w: R.Tensor((512, 256), dtype="float32")) -> R.Tensor(("n", 1, 512), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.product, (x, w), out_ty=R.Tensor((n, 1, 512), dtype="float32"))
            R.output(gv)
        return gv
