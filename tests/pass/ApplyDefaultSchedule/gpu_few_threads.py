# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Matmul,Reduction]}
# target: {"kind": "opencl", "max_threads_per_block": 16, "max_shared_memory_per_block": 512}
# Threads and tiles within what a small device has.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((128, 256), "float32"), B: T.Buffer((256, 128), "float32"), C: T.Buffer((128, 128), "float32")):
        for i, j, k in T.grid(128, 128, 256):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((10, 1000), "float32"), B: T.Buffer((10,), "float32")):
        for i, k in T.grid(10, 1000):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((128, 256), "float32"), B: T.Buffer((256, 128), "float32"), C: T.Buffer((128, 128), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        C_local = T.sblock_alloc_buffer((128, 128), scope="local")
        A_shared = T.sblock_alloc_buffer((128, 256), scope="shared")
        B_shared = T.sblock_alloc_buffer((256, 128), scope="shared")
        for ax0_0_ax1_0 in T.thread_binding(64, thread="blockIdx.x"):
            for ax0_1_0 in T.thread_binding(4, thread="threadIdx.y"):
                for ax1_1_0 in T.thread_binding(4, thread="threadIdx.x"):
                    for vi_i_init in T.unroll(4):
                        for vj_i_init in T.unroll(4):
                            with T.sblock("C_init"):
                                vi_init = T.axis.spatial(128, ax0_1_0 * 4 + ax0_0_ax1_0 // 8 * 16 + vi_i_init)
                                vj_init = T.axis.spatial(128, ax0_0_ax1_0 % 8 * 16 + ax1_1_0 * 4 + vj_i_init)
                                T.reads()
                                T.writes(C_local[vi_init, vj_init])
                                C_local[vi_init, vj_init] = T.float32(0.0)
                    for vk_i_0 in range(128):
                        for v0_i_v1_i_0_0 in range(2):
                            for v0_i_v1_i_0_1 in T.thread_binding(4, thread="threadIdx.y"):
                                for v0_i_v1_i_1 in T.thread_binding(4, thread="threadIdx.x"):
                                    with T.sblock("A_shared"):
                                        v0 = T.axis.spatial(128, ax0_0_ax1_0 // 8 * 16 + ((v0_i_v1_i_0_0 * 4 + v0_i_v1_i_0_1) * 4 + v0_i_v1_i_1) // 2)
                                        v1 = T.axis.spatial(256, vk_i_0 * 2 + ((v0_i_v1_i_0_0 * 4 + v0_i_v1_i_0_1) * 4 + v0_i_v1_i_1) % 2)
                                        T.reads(A[v0, v1])
                                        T.writes(A_shared[v0, v1])
                                        T.sblock_attr({"buffer_dim_align": [[0, 0, 2, 1]]})
                                        A_shared[v0, v1] = A[v0, v1]
                        for v0_i_v1_i_0_0_0 in range(1):
                            for v0_i_v1_i_0_0_1 in T.thread_binding(4, thread="threadIdx.y"):
                                for v0_i_v1_i_0_1_1 in T.thread_binding(4, thread="threadIdx.x"):
                                    for v1_i_1 in T.vectorized(4):
                                        with T.sblock("B_shared"):
                                            v0_1 = T.axis.spatial(256, vk_i_0 * 2 + ((v0_i_v1_i_0_0_0 * 4 + v0_i_v1_i_0_0_1) * 4 + v0_i_v1_i_0_1_1) // 4)
                                            v1_1 = T.axis.spatial(128, ax0_0_ax1_0 % 8 * 16 + (((v0_i_v1_i_0_0_0 * 4 + v0_i_v1_i_0_0_1) * 4 + v0_i_v1_i_0_1_1) % 4 * 4 + v1_i_1))
                                            T.where(v0_i_v1_i_0_0_0 * 4 + v0_i_v1_i_0_0_1 < 2)
                                            T.reads(B[v0_1, v1_1])
                                            T.writes(B_shared[v0_1, v1_1])
                                            B_shared[v0_1, v1_1] = B[v0_1, v1_1]
                        for vk_i_1 in range(2):
                            for vi_i in T.unroll(4):
                                for vj_i in T.unroll(4):
                                    with T.sblock("C_update"):
                                        vi = T.axis.spatial(128, ax0_1_0 * 4 + ax0_0_ax1_0 // 8 * 16 + vi_i)
                                        vj = T.axis.spatial(128, ax0_0_ax1_0 % 8 * 16 + ax1_1_0 * 4 + vj_i)
                                        vk = T.axis.reduce(256, vk_i_0 * 2 + vk_i_1)
                                        T.reads(C_local[vi, vj], A_shared[vi, vk], B_shared[vk, vj])
                                        T.writes(C_local[vi, vj])
                                        C_local[vi, vj] = C_local[vi, vj] + A_shared[vi, vk] * B_shared[vk, vj]
                    for ax0_1_1, ax1_1_1 in T.grid(4, 4):
                        with T.sblock("C_local"):
                            v0_2 = T.axis.spatial(128, ax0_0_ax1_0 // 8 * 16 + (ax0_1_0 * 4 + ax0_1_1))
                            v1_2 = T.axis.spatial(128, ax0_0_ax1_0 % 8 * 16 + (ax1_1_0 * 4 + ax1_1_1))
                            T.reads(C_local[v0_2, v1_2])
                            T.writes(C[v0_2, v1_2])
                            C[v0_2, v1_2] = C_local[v0_2, v1_2]

    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((10, 1000), "float32"), B: T.Buffer((10,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        B_local = T.sblock_alloc_buffer((10,), scope="shared")
        for ax0 in T.thread_binding(10, thread="blockIdx.x"):
            for vi_i, vk_i_0 in T.grid(1, 63):
                for vk_i_1 in T.thread_binding(16, thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi = T.axis.spatial(10, ax0 + vi_i)
                        vk = T.axis.reduce(1000, vk_i_0 * 16 + vk_i_1)
                        T.where(vk_i_0 * 16 + vk_i_1 < 1000)
                        T.reads(A[vi, vk])
                        T.writes(B_local[vi])
                        with T.init():
                            B_local[vi] = T.float32(0.0)
                        B_local[vi] = B_local[vi] + A[vi, vk]
            for u_0 in range(T.int64(1)):
                for u_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                    with T.sblock("B_local"):
                        v0 = T.axis.remap("S", [ax0])
                        T.where(u_0 * T.int64(16) + u_1 < T.int64(1))
                        T.reads(B_local[v0])
                        T.writes(B[v0])
                        B[v0] = B_local[v0]
