# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[GEMV]}
# target: opencl
# A matrix of many columns: a block has no more threads than the target allows, fewer than its rows have usually.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((512,), "float32"), B: T.Buffer((512, 32768), "float32"), C: T.Buffer((32768,), "float32")):
        for j, k in T.grid(32768, 512):
            with T.sblock("C"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vj] = T.float32(0)
                C[vj] = C[vj] + A[vk] * B[vk, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((512,), "float32"), B: T.Buffer((512, 32768), "float32"), C: T.Buffer((32768,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        C_local = T.sblock_alloc_buffer((32768,), scope="shared")
        C_local_rf = T.sblock_alloc_buffer((8, 32768), scope="local")
        B_local = T.sblock_alloc_buffer((512, 32768), scope="local")
        for ax0_0 in T.thread_binding(256, thread="blockIdx.x"):
            for vj_i_0 in T.thread_binding(32, thread="threadIdx.x"):
                for vk_1_i in T.thread_binding(8, thread="threadIdx.y"):
                    for vj_i_init in range(4):
                        with T.sblock("C_rf_init"):
                            vj_init = T.axis.spatial(32768, ax0_0 * 128 + vj_i_0 * 4 + vj_i_init)
                            vk_1_init = T.axis.remap("S", [vk_1_i])
                            T.reads()
                            T.writes(C_local_rf[vk_1_init, vj_init])
                            C_local_rf[vk_1_init, vj_init] = T.float32(0.0)
                    for vk_0_0_i in range(16):
                        for vk_0_1_i in T.unroll(4):
                            for v0_i in range(1):
                                for v1_i in T.vectorized(4):
                                    with T.sblock("B_local"):
                                        v0 = T.axis.spatial(512, vk_0_0_i * 32 + vk_1_i + vk_0_1_i * 8 + v0_i)
                                        v1 = T.axis.spatial(32768, vj_i_0 * 4 + ax0_0 * 128 + v1_i)
                                        T.reads(B[v0, v1])
                                        T.writes(B_local[v0, v1])
                                        B_local[v0, v1] = B[v0, v1]
                            for vj_i in T.unroll(4):
                                with T.sblock("C_rf_update"):
                                    vj = T.axis.spatial(32768, ax0_0 * 128 + vj_i_0 * 4 + vj_i)
                                    vk_0_0, vk_0_1, vk_1 = T.axis.remap("RRS", [vk_0_0_i, vk_0_1_i, vk_1_i])
                                    T.reads(C_local_rf[vk_1, vj], A[(vk_0_0 * 4 + vk_0_1) * 8 + vk_1], B_local[(vk_0_0 * 4 + vk_0_1) * 8 + vk_1, vj])
                                    T.writes(C_local_rf[vk_1, vj])
                                    C_local_rf[vk_1, vj] = C_local_rf[vk_1, vj] + A[(vk_0_0 * 4 + vk_0_1) * 8 + vk_1] * B_local[(vk_0_0 * 4 + vk_0_1) * 8 + vk_1, vj]
                for vj_i_1 in range(4):
                    for vk_1_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                        with T.sblock("C"):
                            vj_1 = T.axis.spatial(32768, ax0_0 * 128 + (vj_i_0 * 4 + vj_i_1))
                            vk_1_1 = T.axis.remap("R", [vk_1_i_1])
                            T.reads(C_local_rf[vk_1_1, vj_1])
                            T.writes(C_local[vj_1])
                            with T.init():
                                C_local[vj_1] = T.float32(0.0)
                            C_local[vj_1] = C_local[vj_1] + C_local_rf[vk_1_1, vj_1]
            for ax0_1_0 in T.thread_binding(32, thread="threadIdx.x"):
                for ax0_1_1 in T.unroll(4):
                    for u_0 in range(T.int64(1)):
                        for u_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                            with T.sblock("C_local"):
                                v0_1 = T.axis.spatial(32768, ax0_0 * 128 + (ax0_1_0 * 4 + ax0_1_1))
                                T.where(u_0 * T.int64(8) + u_1 < T.int64(1))
                                T.reads(C_local[v0_1])
                                T.writes(C[v0_1])
                                C[v0_1] = C_local[v0_1]
