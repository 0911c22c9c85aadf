# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Matmul]}
# target: opencl
# Tiles through shared memory, with what is computed before and behind; extents that are not known are padded.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def fused(A: T.Buffer((128, 256), "float32"), B: T.Buffer((128, 256), "float32"), bias: T.Buffer((128,), "float32"), D: T.Buffer((128, 128), "float32")):
        B2 = T.sblock_alloc_buffer((128, 256))
        C = T.sblock_alloc_buffer((128, 128))
        for i, j in T.grid(128, 256):
            with T.sblock("B2"):
                vi, vj = T.axis.remap("SS", [i, j])
                B2[vi, vj] = B[vi, vj] * T.float32(2)
        for i, j, k in T.grid(128, 128, 256):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B2[vj, vk]
        for i, j in T.grid(128, 128):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + bias[vj]

    @T.prim_func(s_tir=True)
    def symbolic(a: T.handle, B: T.Buffer((T.int64(30), T.int64(50)), "float32"), c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(30)))
        C = T.match_buffer(c, (n, T.int64(50)))
        for i, j, k in T.grid(n, T.int64(50), T.int64(30)):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def gemv(A: T.Buffer((1, 16), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((1, 8), "float32")):
        for i, j, k in T.grid(1, 8, 16):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def fused(A: T.Buffer((128, 256), "float32"), B: T.Buffer((128, 256), "float32"), bias: T.Buffer((128,), "float32"), D: T.Buffer((128, 128), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        C = T.sblock_alloc_buffer((128, 128), scope="local")
        A_shared = T.sblock_alloc_buffer((128, 256), scope="shared")
        B2_shared = T.sblock_alloc_buffer((128, 256), scope="shared")
        for i_0_j_0 in T.thread_binding(4, thread="blockIdx.x"):
            for i_1_0 in T.thread_binding(16, thread="threadIdx.y"):
                for j_1_0 in T.thread_binding(16, thread="threadIdx.x"):
                    for vi_i_init in T.unroll(4):
                        for vj_i_init in T.unroll(4):
                            with T.sblock("C_init"):
                                vi_init = T.axis.spatial(128, i_1_0 * 4 + i_0_j_0 // 2 * 64 + vi_i_init)
                                vj_init = T.axis.spatial(128, i_0_j_0 % 2 * 64 + j_1_0 * 4 + vj_i_init)
                                T.reads()
                                T.writes(C[vi_init, vj_init])
                                C[vi_init, vj_init] = T.float32(0.0)
                    for vk_i_0 in range(16):
                        for v0_i_v1_i_0_0 in range(4):
                            for v0_i_v1_i_0_1 in T.thread_binding(16, thread="threadIdx.y"):
                                for v0_i_v1_i_1 in T.thread_binding(16, thread="threadIdx.x"):
                                    with T.sblock("A_shared"):
                                        v0 = T.axis.spatial(128, i_0_j_0 // 2 * 64 + ((v0_i_v1_i_0_0 * 16 + v0_i_v1_i_0_1) * 16 + v0_i_v1_i_1) // 16)
                                        v1 = T.axis.spatial(256, vk_i_0 * 16 + ((v0_i_v1_i_0_0 * 16 + v0_i_v1_i_0_1) * 16 + v0_i_v1_i_1) % 16)
                                        T.reads(A[v0, v1])
                                        T.writes(A_shared[v0, v1])
                                        T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 1]]})
                                        A_shared[v0, v1] = A[v0, v1]
                        for v0_i_v1_i_0_0_1 in range(4):
                            for v0_i_v1_i_0_1_1 in T.thread_binding(16, thread="threadIdx.y"):
                                for v0_i_v1_i_1_1 in T.thread_binding(16, thread="threadIdx.x"):
                                    with T.sblock("B2_shared"):
                                        v0_1 = T.axis.spatial(128, i_0_j_0 % 2 * 64 + ((v0_i_v1_i_0_0_1 * 16 + v0_i_v1_i_0_1_1) * 16 + v0_i_v1_i_1_1) // 16)
                                        v1_1 = T.axis.spatial(256, vk_i_0 * 16 + ((v0_i_v1_i_0_0_1 * 16 + v0_i_v1_i_0_1_1) * 16 + v0_i_v1_i_1_1) % 16)
                                        T.reads(B[v0_1, v1_1])
                                        T.writes(B2_shared[v0_1, v1_1])
                                        T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 1]]})
                                        B2_shared[v0_1, v1_1] = B[v0_1, v1_1] * T.float32(2.0)
                        for vk_i_1 in range(16):
                            for vi_i in T.unroll(4):
                                for vj_i in T.unroll(4):
                                    with T.sblock("C_update"):
                                        vi = T.axis.spatial(128, i_1_0 * 4 + i_0_j_0 // 2 * 64 + vi_i)
                                        vj = T.axis.spatial(128, i_0_j_0 % 2 * 64 + j_1_0 * 4 + vj_i)
                                        vk = T.axis.reduce(256, vk_i_0 * 16 + vk_i_1)
                                        T.reads(C[vi, vj], A_shared[vi, vk], B2_shared[vj, vk])
                                        T.writes(C[vi, vj])
                                        C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * B2_shared[vj, vk]
                    for i_1_1, j_1_1 in T.grid(4, 4):
                        with T.sblock("D"):
                            vi_1 = T.axis.spatial(128, i_0_j_0 // 2 * 64 + (i_1_0 * 4 + i_1_1))
                            vj_1 = T.axis.spatial(128, i_0_j_0 % 2 * 64 + (j_1_0 * 4 + j_1_1))
                            T.reads(C[vi_1, vj_1], bias[vj_1])
                            T.writes(D[vi_1, vj_1])
                            D[vi_1, vj_1] = C[vi_1, vj_1] + bias[vj_1]

    @T.prim_func(s_tir=True)
    def gemv(A: T.Buffer((1, 16), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((1, 8), "float32")):
        # with T.sblock("root"):
        for i, j, k in T.grid(1, 8, 16):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def symbolic(a: T.handle, B: T.Buffer((T.int64(30), T.int64(50)), "float32"), c: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(30)))
        C = T.match_buffer(c, (n, T.int64(50)))
        # with T.sblock("root"):
        C_pad = T.sblock_alloc_buffer(((n + T.int64(63)) // T.int64(64) * T.int64(64), T.int64(50)), scope="local")
        A_pad_shared = T.sblock_alloc_buffer(((n + T.int64(63)) // T.int64(64) * T.int64(64), T.int64(30)), scope="shared")
        B_shared = T.sblock_alloc_buffer((T.int64(30), T.int64(50)), scope="shared")
        for ax0_0_ax1_0 in T.thread_binding((n + T.int64(63)) // T.int64(64), thread="blockIdx.x"):
            for ax0_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                for ax1_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                    for vi_i_init in T.unroll(T.int64(4)):
                        for vj_i_init in T.unroll(T.int64(4)):
                            with T.sblock("C_init"):
                                vi_init = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_1_0 * T.int64(4) + ax0_0_ax1_0 * T.int64(64) + vi_i_init)
                                vj_init = T.axis.spatial(T.int64(50), ax1_1_0 * T.int64(4) + vj_i_init)
                                T.where(ax1_1_0 * T.int64(4) + vj_i_init < T.int64(50))
                                T.reads()
                                T.writes(C_pad[vi_init, vj_init])
                                C_pad[vi_init, vj_init] = T.float32(0.0)
                    for vk_i_0 in range(T.int64(2)):
                        for v0_i_v1_i_0_0 in range(T.int64(4)):
                            for v0_i_v1_i_0_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                for v0_i_v1_i_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                    with T.sblock("A_pad_shared"):
                                        v0 = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_0_ax1_0 * T.int64(64) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) // T.int64(16))
                                        v1 = T.axis.spatial(T.int64(30), vk_i_0 * T.int64(16) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) % T.int64(16))
                                        T.where(vk_i_0 * T.int64(16) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) % T.int64(16) < T.int64(30))
                                        T.reads(A[v0, v1])
                                        T.writes(A_pad_shared[v0, v1])
                                        T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 1]]})
                                        A_pad_shared[v0, v1] = T.if_then_else(v0 < n, A[v0, v1], T.float32(0.0))
                        for v0_i_v1_i_0_0_1 in range(T.int64(4)):
                            for v0_i_v1_i_0_1_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                for v0_i_v1_i_1_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                    with T.sblock("B_shared"):
                                        v0_1 = T.axis.spatial(T.int64(30), vk_i_0 * T.int64(16) + ((v0_i_v1_i_0_0_1 * T.int64(16) + v0_i_v1_i_0_1_1) * T.int64(16) + v0_i_v1_i_1_1) // T.int64(64))
                                        v1_1 = T.axis.spatial(T.int64(50), ((v0_i_v1_i_0_0_1 * T.int64(16) + v0_i_v1_i_0_1_1) * T.int64(16) + v0_i_v1_i_1_1) % T.int64(64))
                                        T.where(vk_i_0 * T.int64(16) + ((v0_i_v1_i_0_0_1 * T.int64(16) + v0_i_v1_i_0_1_1) * T.int64(16) + v0_i_v1_i_1_1) // T.int64(64) < T.int64(30) and ((v0_i_v1_i_0_0_1 * T.int64(16) + v0_i_v1_i_0_1_1) * T.int64(16) + v0_i_v1_i_1_1) % T.int64(64) < T.int64(50))
                                        T.reads(B[v0_1, v1_1])
                                        T.writes(B_shared[v0_1, v1_1])
                                        B_shared[v0_1, v1_1] = B[v0_1, v1_1]
                        for vk_i_1 in range(T.int64(16)):
                            for vi_i in T.unroll(T.int64(4)):
                                for vj_i in T.unroll(T.int64(4)):
                                    with T.sblock("C_update"):
                                        vi = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_1_0 * T.int64(4) + ax0_0_ax1_0 * T.int64(64) + vi_i)
                                        vj = T.axis.spatial(T.int64(50), ax1_1_0 * T.int64(4) + vj_i)
                                        vk = T.axis.reduce(T.int64(30), vk_i_0 * T.int64(16) + vk_i_1)
                                        T.where(ax1_1_0 * T.int64(4) + vj_i < T.int64(50) and vk_i_0 * T.int64(16) + vk_i_1 < T.int64(30))
                                        T.reads(C_pad[vi, vj], A_pad_shared[vi, vk], B_shared[vk, vj])
                                        T.writes(C_pad[vi, vj])
                                        C_pad[vi, vj] = C_pad[vi, vj] + A_pad_shared[vi, vk] * B_shared[vk, vj]
                    for ax0_1_1, ax1_1_1 in T.grid(T.int64(4), T.int64(4)):
                        with T.sblock("C_pad"):
                            v0_2 = T.axis.spatial(n, ax0_0_ax1_0 * T.int64(64) + (ax0_1_0 * T.int64(4) + ax0_1_1))
                            v1_2 = T.axis.spatial(T.int64(50), T.Mul(T.int64(0), T.int64(64)) + (ax1_1_0 * T.int64(4) + ax1_1_1))
                            T.where(ax0_0_ax1_0 * T.int64(64) + (ax0_1_0 * T.int64(4) + ax0_1_1) < n and T.Mul(T.int64(0), T.int64(64)) + (ax1_1_0 * T.int64(4) + ax1_1_1) < T.int64(50))
                            T.reads(C_pad[v0_2, v1_2])
                            T.writes(C[v0_2, v1_2])
                            C[v0_2, v1_2] = C_pad[v0_2, v1_2]
