# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[GEMV]}
# target: opencl
# A packed matrix: eight numbers of a word a thread; a matrix that lies the other way; a product of matrices is not taken.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def packed(W: T.Buffer((24, 64), "uint32"), X: T.Buffer((1, 512), "float32"), B: T.Buffer((1, 24), "float32")):
        D = T.sblock_alloc_buffer((24, 512))
        C = T.sblock_alloc_buffer((1, 24))
        for i, j in T.grid(24, 512):
            with T.sblock("decode"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.Cast("float32", T.bitwise_and(T.shift_right(W[vi, vj // 8], T.Cast("uint32", vj % 8) * T.uint32(4)), T.uint32(15)))
        for i, j, k in T.grid(1, 24, 512):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + X[vi, vk] * D[vj, vk]
        for i, j in T.grid(1, 24):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(C[vi, vj], T.float32(0))

    @T.prim_func(s_tir=True)
    def outer(W: T.Buffer((512, 24), "float32"), X: T.Buffer((1, 512), "float32"), C: T.Buffer((1, 24), "float32")):
        for i, j, k in T.grid(1, 24, 512):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + X[vi, vk] * W[vk, vj]

    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        for i, j, k in T.grid(8, 8, 16):
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
    def matmul(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        # with T.sblock("root"):
        for i, j, k in T.grid(8, 8, 16):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def outer(W: T.Buffer((512, 24), "float32"), X: T.Buffer((1, 512), "float32"), C: T.Buffer((1, 24), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        C_local = T.sblock_alloc_buffer((1, 24), scope="shared")
        for ax1_0 in T.thread_binding(1, thread="blockIdx.x"):
            for vi_i_vj_i_0 in range(1):
                for vi_i_vj_i_1 in T.thread_binding(32, thread="threadIdx.x"):
                    for vk_i_0 in range(64):
                        for vk_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                            with T.sblock("C"):
                                vi = T.axis.spatial(1, (vi_i_vj_i_0 * 32 + vi_i_vj_i_1) // 32)
                                vj = T.axis.spatial(24, (vi_i_vj_i_0 * 32 + vi_i_vj_i_1) % 32)
                                vk = T.axis.reduce(512, vk_i_0 * 8 + vk_i_1)
                                T.where((vi_i_vj_i_0 * 32 + vi_i_vj_i_1) % 32 < 24)
                                T.reads(X[vi, vk], W[vk, vj])
                                T.writes(C_local[vi, vj])
                                with T.init():
                                    C_local[vi, vj] = T.float32(0.0)
                                C_local[vi, vj] = C_local[vi, vj] + X[vi, vk] * W[vk, vj]
            for ax1_1 in T.thread_binding(32, thread="threadIdx.x"):
                for ax0_0 in range(1):
                    for ax0_1 in T.thread_binding(8, thread="threadIdx.y"):
                        with T.sblock("C_local"):
                            v0 = T.axis.spatial(1, ax0_0 * 8 + ax0_1)
                            v1 = T.axis.spatial(24, ax1_0 * 32 + ax1_1)
                            T.where(ax1_0 * 32 + ax1_1 < 24 and ax0_0 * 8 + ax0_1 < 1)
                            T.reads(C_local[v0, v1])
                            T.writes(C[v0, v1])
                            C[v0, v1] = C_local[v0, v1]

    @T.prim_func(s_tir=True)
    def packed(W: T.Buffer((24, 64), "uint32"), X: T.Buffer((1, 512), "float32"), B: T.Buffer((1, 24), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        C = T.sblock_alloc_buffer((1, 24), scope="shared")
        for j_0 in T.thread_binding(3, thread="blockIdx.x"):
            for vi_i_vj_i_0 in range(1):
                for vi_i_vj_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                    for vk_i_0_0 in range(2):
                        for vk_i_0_1 in T.thread_binding(32, thread="threadIdx.x"):
                            for vk_i_1 in T.unroll(8):
                                with T.sblock("C"):
                                    vi = T.axis.spatial(1, (vi_i_vj_i_0 * 8 + vi_i_vj_i_1) // 8)
                                    vj = T.axis.spatial(24, j_0 * 8 + (vi_i_vj_i_0 * 8 + vi_i_vj_i_1) % 8)
                                    vk = T.axis.reduce(512, (vk_i_0_0 * 32 + vk_i_0_1) * 8 + vk_i_1)
                                    T.reads(X[vi, vk], W[vj, vk // 8])
                                    T.writes(C[vi, vj])
                                    with T.init():
                                        C[vi, vj] = T.float32(0.0)
                                    C[vi, vj] = C[vi, vj] + X[vi, vk] * T.Cast("float32", T.bitwise_and(T.shift_right(W[vj, vk // 8], T.Cast("uint32", vk % 8) * T.uint32(4)), T.uint32(15)))
            for j_1 in T.thread_binding(8, thread="threadIdx.y"):
                for i_0 in range(1):
                    for i_1 in T.thread_binding(32, thread="threadIdx.x"):
                        with T.sblock("B"):
                            vi_1 = T.axis.spatial(1, i_0 * 32 + i_1)
                            vj_1 = T.axis.spatial(24, j_0 * 8 + j_1)
                            T.where(i_0 * 32 + i_1 < 1)
                            T.reads(C[vi_1, vj_1])
                            T.writes(B[vi_1, vj_1])
                            B[vi_1, vj_1] = T.max(C[vi_1, vj_1], T.float32(0.0))
