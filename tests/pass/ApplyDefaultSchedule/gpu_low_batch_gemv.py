# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[LowBatchGEMV]}
# target: opencl
# Four vectors at a time, of a number that is not known; the matrix either way.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def inner(x: T.handle, W: T.Buffer((T.int64(64), T.int64(512)), "float32"), c: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(512)))
        C = T.match_buffer(c, (n, T.int64(64)))
        for i, j, k in T.grid(n, T.int64(64), T.int64(512)):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + X[vi, vk] * W[vj, vk]

    @T.prim_func(s_tir=True)
    def outer(X: T.Buffer((3, 512), "float32"), W: T.Buffer((512, 64), "float32"), C: T.Buffer((3, 64), "float32")):
        for i, j, k in T.grid(3, 64, 512):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + X[vi, vk] * W[vk, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def inner(x: T.handle, W: T.Buffer((T.int64(64), T.int64(512)), "float32"), c: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(512)))
        C = T.match_buffer(c, (n, T.int64(64)))
        # with T.sblock("root"):
        X_pad = T.sblock_alloc_buffer(((n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(512)), scope="local")
        C_pad = T.sblock_alloc_buffer(((n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(64)), scope="shared")
        C_pad_rf = T.sblock_alloc_buffer((T.int64(32), (n + T.int64(3)) // T.int64(4) * T.int64(4), T.int64(64)), scope="local")
        W_local = T.sblock_alloc_buffer((T.int64(64), T.int64(512)), scope="local")
        for ax0_0_ax1_0 in T.thread_binding((n + T.int64(3)) // T.int64(4) * T.int64(8), thread="blockIdx.x"):
            for vj_i_0 in range(T.int64(1)):
                for vj_i_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                    for vk_0_1_i_0 in range(T.int64(1)):
                        for vk_0_1_i_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                            for vi_i_init in T.unroll(T.int64(4)):
                                for vj_i_init in range(T.int64(1)):
                                    with T.sblock("C_rf_init"):
                                        vi_init = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax0_0_ax1_0 // T.int64(8) * T.int64(4) + vi_i_init)
                                        vj_init = T.axis.spatial(T.int64(64), ax0_0_ax1_0 % T.int64(8) * T.int64(8) + vj_i_1 + vj_i_init)
                                        vk_0_1_init = T.axis.spatial(T.int64(32), vk_0_1_i_0 * T.int64(32) + vk_0_1_i_1)
                                        T.reads()
                                        T.writes(C_pad_rf[vk_0_1_init, vi_init, vj_init])
                                        C_pad_rf[vk_0_1_init, vi_init, vj_init] = T.float32(0.0)
                            for vk_0_0_i in range(T.int64(4)):
                                for v0_i in range(T.int64(1)):
                                    for v1_i in T.vectorized(T.int64(4)):
                                        with T.sblock("W_local"):
                                            v0 = T.axis.spatial(T.int64(64), vj_i_1 + ax0_0_ax1_0 % T.int64(8) * T.int64(8) + v0_i)
                                            v1 = T.axis.spatial(T.int64(512), vk_0_1_i_1 * T.int64(4) + vk_0_0_i * T.int64(128) + v1_i)
                                            T.reads(W[v0, v1])
                                            T.writes(W_local[v0, v1])
                                            W_local[v0, v1] = W[v0, v1]
                                for v0_i_1 in T.unroll(T.int64(4)):
                                    for v1_i_1 in T.vectorized(T.int64(4)):
                                        with T.sblock("X_pad"):
                                            v0_1 = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax0_0_ax1_0 // T.int64(8) * T.int64(4) + v0_i_1)
                                            v1_1 = T.axis.spatial(T.int64(512), vk_0_1_i_1 * T.int64(4) + vk_0_0_i * T.int64(128) + v1_i_1)
                                            T.reads(X[v0_1, v1_1])
                                            T.writes(X_pad[v0_1, v1_1])
                                            X_pad[v0_1, v1_1] = T.if_then_else(v0_1 < n, X[v0_1, v1_1], T.float32(0.0))
                                for vk_1_i in T.unroll(T.int64(4)):
                                    for vi_i in T.unroll(T.int64(4)):
                                        for vj_i in range(T.int64(1)):
                                            with T.sblock("C_rf_update"):
                                                vi = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax0_0_ax1_0 // T.int64(8) * T.int64(4) + vi_i)
                                                vj = T.axis.spatial(T.int64(64), ax0_0_ax1_0 % T.int64(8) * T.int64(8) + vj_i_1 + vj_i)
                                                vk_0_0 = T.axis.remap("R", [vk_0_0_i])
                                                vk_0_1 = T.axis.spatial(T.int64(32), vk_0_1_i_0 * T.int64(32) + vk_0_1_i_1)
                                                vk_1 = T.axis.remap("R", [vk_1_i])
                                                T.reads(C_pad_rf[vk_0_1, vi, vj], X_pad[vi, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1], W_local[vj, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1])
                                                T.writes(C_pad_rf[vk_0_1, vi, vj])
                                                C_pad_rf[vk_0_1, vi, vj] = C_pad_rf[vk_0_1, vi, vj] + X_pad[vi, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1] * W_local[vj, (vk_0_0 * T.int64(32) + vk_0_1) * T.int64(4) + vk_1]
                    for vi_i_1, vk_0_1_i_0_1 in T.grid(T.int64(4), T.int64(1)):
                        for vk_0_1_i_1_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                            with T.sblock("C"):
                                vi_1 = T.axis.spatial((n + T.int64(3)) // T.int64(4) * T.int64(4), ax0_0_ax1_0 // T.int64(8) * T.int64(4) + vi_i_1)
                                vj_1 = T.axis.spatial(T.int64(64), ax0_0_ax1_0 % T.int64(8) * T.int64(8) + (vj_i_0 * T.int64(8) + vj_i_1))
                                vk_0_1_1 = T.axis.reduce(T.int64(32), vk_0_1_i_0_1 * T.int64(32) + vk_0_1_i_1_1)
                                T.reads(C_pad_rf[vk_0_1_1, vi_1, vj_1])
                                T.writes(C_pad[vi_1, vj_1])
                                with T.init():
                                    C_pad[vi_1, vj_1] = T.float32(0.0)
                                C_pad[vi_1, vj_1] = C_pad[vi_1, vj_1] + C_pad_rf[vk_0_1_1, vi_1, vj_1]
            for ax1_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                for ax0_1, u_0 in T.grid(T.int64(4), T.int64(1)):
                    for u_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                        with T.sblock("C_pad"):
                            v0_2 = T.axis.spatial(n, ax0_0_ax1_0 // T.int64(8) * T.int64(4) + ax0_1)
                            v1_2 = T.axis.spatial(T.int64(64), ax0_0_ax1_0 % T.int64(8) * T.int64(8) + ax1_1)
                            T.where(ax0_0_ax1_0 // T.int64(8) * T.int64(4) + ax0_1 < n and u_0 * T.int64(32) + u_1 < T.int64(1))
                            T.reads(C_pad[v0_2, v1_2])
                            T.writes(C[v0_2, v1_2])
                            C[v0_2, v1_2] = C_pad[v0_2, v1_2]

    @T.prim_func(s_tir=True)
    def outer(X: T.Buffer((3, 512), "float32"), W: T.Buffer((512, 64), "float32"), C: T.Buffer((3, 64), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        C_pad = T.sblock_alloc_buffer((4, 64), scope="shared")
        C_pad_rf = T.sblock_alloc_buffer((8, 4, 64), scope="local")
        for ax0_0_ax1_0 in T.thread_binding(2, thread="blockIdx.x"):
            for vj_i_0 in range(1):
                for vj_i_1 in T.thread_binding(32, thread="threadIdx.x"):
                    for vk_0_1_i_0 in range(1):
                        for vk_0_1_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                            for vi_i_init in T.unroll(4):
                                for vj_i_init in range(1):
                                    with T.sblock("C_rf_init"):
                                        vi_init = T.axis.remap("S", [vi_i_init])
                                        vj_init = T.axis.spatial(64, ax0_0_ax1_0 * 32 + vj_i_1 + vj_i_init)
                                        vk_0_1_init = T.axis.spatial(8, vk_0_1_i_0 * 8 + vk_0_1_i_1)
                                        T.reads()
                                        T.writes(C_pad_rf[vk_0_1_init, vi_init, vj_init])
                                        C_pad_rf[vk_0_1_init, vi_init, vj_init] = T.float32(0.0)
                            for vk_0_0_i, vk_1_i in T.grid(64, 1):
                                for vi_i in T.unroll(4):
                                    for vj_i in range(1):
                                        with T.sblock("C_rf_update"):
                                            vi = T.axis.remap("S", [vi_i])
                                            vj = T.axis.spatial(64, ax0_0_ax1_0 * 32 + vj_i_1 + vj_i)
                                            vk_0_0 = T.axis.remap("R", [vk_0_0_i])
                                            vk_0_1 = T.axis.spatial(8, vk_0_1_i_0 * 8 + vk_0_1_i_1)
                                            vk_1 = T.axis.remap("R", [vk_1_i])
                                            T.reads(C_pad_rf[vk_0_1, vi, vj], X[vi, vk_0_0 * 8 + vk_0_1 + vk_1], W[vk_0_0 * 8 + vk_0_1 + vk_1, vj])
                                            T.writes(C_pad_rf[vk_0_1, vi, vj])
                                            C_pad_rf[vk_0_1, vi, vj] = C_pad_rf[vk_0_1, vi, vj] + T.if_then_else(vi < 3, X[vi, vk_0_0 * 8 + vk_0_1 + vk_1], T.float32(0.0)) * W[vk_0_0 * 8 + vk_0_1 + vk_1, vj]
                    for vi_i_1, vk_0_1_i_0_1 in T.grid(4, 1):
                        for vk_0_1_i_1_1 in T.thread_binding(8, thread="threadIdx.y"):
                            with T.sblock("C"):
                                vi_1 = T.axis.remap("S", [vi_i_1])
                                vj_1 = T.axis.spatial(64, ax0_0_ax1_0 * 32 + (vj_i_0 * 32 + vj_i_1))
                                vk_0_1_1 = T.axis.reduce(8, vk_0_1_i_0_1 * 8 + vk_0_1_i_1_1)
                                T.reads(C_pad_rf[vk_0_1_1, vi_1, vj_1])
                                T.writes(C_pad[vi_1, vj_1])
                                with T.init():
                                    C_pad[vi_1, vj_1] = T.float32(0.0)
                                C_pad[vi_1, vj_1] = C_pad[vi_1, vj_1] + C_pad_rf[vk_0_1_1, vi_1, vj_1]
            for ax1_1 in T.thread_binding(32, thread="threadIdx.x"):
                for ax0_1, u_0 in T.grid(4, T.int64(1)):
                    for u_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                        with T.sblock("C_pad"):
                            v0 = T.axis.spatial(3, ax0_0_ax1_0 // 2 * 4 + ax0_1)
                            v1 = T.axis.spatial(64, ax0_0_ax1_0 % 2 * 32 + ax1_1)
                            T.where(ax0_0_ax1_0 // 2 * 4 + ax0_1 < 3 and u_0 * T.int64(8) + u_1 < T.int64(1))
                            T.reads(C_pad[v0, v1])
                            T.writes(C[v0, v1])
                            C[v0, v1] = C_pad[v0, v1]
