# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: opencl
# A loop of one turn leaves nothing in the indices once it is fused, so that a thread's register is seen to be one element.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (T.int64(1), m, T.int64(32)))
        B = T.match_buffer(b, (T.int64(1), m))
        for i, j, k in T.grid(T.int64(1), m, T.int64(32)):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        m = T.int64()
        A = T.match_buffer(a, (T.int64(1), m, T.int64(32)))
        B = T.match_buffer(b, (T.int64(1), m))
        # with T.sblock("root"):
        B_local = T.sblock_alloc_buffer((T.int64(1), m), scope="local")
        for ax0_ax1_0 in T.thread_binding((m + T.int64(255)) // T.int64(256), thread="blockIdx.x"):
            for ax0_ax1_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                for vi_i, vj_i in T.grid(T.int64(1), T.int64(1)):
                    with T.sblock("B_init"):
                        vi_init = T.axis.remap("S", [vi_i])
                        vj_init = T.axis.spatial(m, ax0_ax1_0 * T.int64(256) + ax0_ax1_1 + vj_i)
                        T.where(ax0_ax1_0 * T.int64(256) + ax0_ax1_1 + vj_i < m)
                        T.reads()
                        T.writes(B_local[vi_init, vj_init])
                        B_local[vi_init, vj_init] = T.float32(0.0)
                    for vk_i in range(T.int64(32)):
                        with T.sblock("B_update"):
                            vi = T.axis.remap("S", [vi_i])
                            vj = T.axis.spatial(m, ax0_ax1_0 * T.int64(256) + ax0_ax1_1 + vj_i)
                            vk = T.axis.remap("R", [vk_i])
                            T.where(ax0_ax1_0 * T.int64(256) + ax0_ax1_1 + vj_i < m)
                            T.reads(B_local[vi, vj], A[vi, vj, vk])
                            T.writes(B_local[vi, vj])
                            B_local[vi, vj] = B_local[vi, vj] + A[vi, vj, vk]
                with T.sblock("B_local"):
                    v0 = T.axis.spatial(T.int64(1), T.int64(0))
                    v1 = T.axis.spatial(m, ax0_ax1_0 * T.int64(256) + ax0_ax1_1)
                    T.where(ax0_ax1_0 * T.int64(256) + ax0_ax1_1 < m)
                    T.reads(B_local[v0, v1])
                    T.writes(B[v0, v1])
                    B[v0, v1] = B_local[v0, v1]
