# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: opencl
# In loops that are bound to thread blocks: a part of the rows; a block whose results each turn has for itself; what takes two
# launches, and hands on what each turn had for itself; blocks beside them; more thread blocks than blockIdx.y may have.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def part(A: T.Buffer((96, 40), "float32"), B: T.Buffer((96, 40), "float32"), C: T.Buffer((96, 40), "float32")):
        for b in T.thread_binding(6, thread="blockIdx.x"):
            for i, j in T.grid(16, 40):
                with T.sblock("B"):
                    vi = T.axis.spatial(96, b * 16 + i)
                    vj = T.axis.spatial(40, j)
                    B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(96, 40):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * T.float32(2)

    @T.prim_func(s_tir=True)
    def own(A: T.Buffer((8, 300, 7), "float32"), B: T.Buffer((8, 300), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.z"):
            with T.sblock("o"):
                vb = T.axis.spatial(8, b)
                S = T.sblock_alloc_buffer((300,))
                for i, k in T.grid(300, 7):
                    with T.sblock("S"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        with T.init():
                            S[vi] = T.float32(0)
                        S[vi] = S[vi] + A[vb, vi, vk]
                for i in range(300):
                    with T.sblock("B"):
                        vi = T.axis.spatial(300, i)
                        B[vb, vi] = S[vi] * T.float32(2)

    @T.prim_func(s_tir=True)
    def in_turn(A: T.Buffer((8, 300), "float32"), B: T.Buffer((8, 300), "float32"), C: T.Buffer((8, 300), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for i in range(300):
                with T.sblock("B"):
                    vb, vi = T.axis.remap("SS", [b, i])
                    B[vb, vi] = A[vb, vi] + T.float32(1)
            for i in range(300):
                with T.sblock("C"):
                    vb, vi = T.axis.remap("SS", [b, i])
                    C[vb, vi] = B[vb, 299 - vi]

    @T.prim_func(s_tir=True)
    def all_bound(A: T.Buffer((2, 3, 4, 300), "float32"), B: T.Buffer((2, 3, 4, 300), "float32")):
        for x in T.thread_binding(2, thread="blockIdx.x"):
            for y in T.thread_binding(3, thread="blockIdx.y"):
                for z in T.thread_binding(4, thread="blockIdx.z"):
                    for i in range(300):
                        with T.sblock("B"):
                            vx, vy, vz, vi = T.axis.remap("SSSS", [x, y, z, i])
                            B[vx, vy, vz, vi] = A[vx, vy, vz, vi] + T.float32(1)

    @T.prim_func(s_tir=True)
    def many(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (8, n), "float32")
        B = T.match_buffer(b, (8, n), "float32")
        for x in T.thread_binding(8, thread="blockIdx.x"):
            for i in range(n):
                with T.sblock("B"):
                    vx, vi = T.axis.remap("SS", [x, i])
                    B[vx, vi] = A[vx, vi] + T.float32(1)

    @T.prim_func(s_tir=True)
    def handed_on(A: T.Buffer((8, 300, 7), "float32"), B: T.Buffer((8, 300), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.z"):
            with T.sblock("o"):
                vb = T.axis.spatial(8, b)
                S = T.sblock_alloc_buffer((300,))
                for i, k in T.grid(300, 7):
                    with T.sblock("S"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        with T.init():
                            S[vi] = T.float32(0)
                        S[vi] = S[vi] + A[vb, vi, vk]
                for i in range(300):
                    with T.sblock("B"):
                        vi = T.axis.spatial(300, i)
                        B[vb, vi] = S[299 - vi]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def all_bound(A: T.Buffer((2, 3, 4, 300), "float32"), B: T.Buffer((2, 3, 4, 300), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for x in T.thread_binding(2, thread="blockIdx.x"):
            for y in T.thread_binding(3, thread="blockIdx.y"):
                for z in T.thread_binding(4, thread="blockIdx.z"):
                    with T.sblock("B_o"):
                        v_x, v_y, v_z = T.axis.remap("SSS", [x, y, z])
                        T.reads(A[v_x, v_y, v_z, 0:300])
                        T.writes(B[v_x, v_y, v_z, 0:300])
                        for i_0 in range(2):
                            for i_1 in T.thread_binding(256, thread="threadIdx.x"):
                                with T.sblock("B"):
                                    vi = T.axis.spatial(300, i_0 * 256 + i_1)
                                    T.where(i_0 * 256 + i_1 < 300)
                                    T.reads(A[v_x, v_y, v_z, vi])
                                    T.writes(B[v_x, v_y, v_z, vi])
                                    B[v_x, v_y, v_z, vi] = A[v_x, v_y, v_z, vi] + T.float32(1.0)

    @T.prim_func(s_tir=True)
    def handed_on(A: T.Buffer((8, 300, 7), "float32"), B: T.Buffer((8, 300), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        S = T.sblock_alloc_buffer((8, 300))
        for b in T.thread_binding(8, thread="blockIdx.z"):
            with T.sblock("o"):
                vb = T.axis.remap("S", [b])
                T.reads(A[vb, 0:300, 0:7])
                T.writes(S[vb, 0:300])
                S_local = T.sblock_alloc_buffer((300,), scope="local")
                for ax0_0 in T.thread_binding(2, thread="blockIdx.x"):
                    for ax0_1 in T.thread_binding(256, thread="threadIdx.x"):
                        for vi_i in range(1):
                            with T.sblock("S_init"):
                                vi_init = T.axis.spatial(300, ax0_0 * 256 + ax0_1 + vi_i)
                                T.where(ax0_0 * 256 + ax0_1 + vi_i < 300)
                                T.reads()
                                T.writes(S_local[vi_init])
                                S_local[vi_init] = T.float32(0.0)
                            for vk_i in range(7):
                                with T.sblock("S_update"):
                                    vi = T.axis.spatial(300, ax0_0 * 256 + ax0_1 + vi_i)
                                    vk = T.axis.remap("R", [vk_i])
                                    T.where(ax0_0 * 256 + ax0_1 + vi_i < 300)
                                    T.reads(S_local[vi], A[vb, vi, vk])
                                    T.writes(S_local[vi])
                                    S_local[vi] = S_local[vi] + A[vb, vi, vk]
                        with T.sblock("S_local"):
                            v0 = T.axis.spatial(300, ax0_0 * 256 + ax0_1)
                            T.where(ax0_0 * 256 + ax0_1 < 300)
                            T.reads(S_local[v0])
                            T.writes(S[vb, v0])
                            S[vb, v0] = S_local[v0]
        for b_1 in T.thread_binding(8, thread="blockIdx.z"):
            with T.sblock("o"):
                vb_1 = T.axis.remap("S", [b_1])
                T.reads(S[vb_1, 0:300])
                T.writes(B[vb_1, 0:300])
                for i_0 in T.thread_binding(2, thread="blockIdx.x"):
                    for i_1 in T.thread_binding(256, thread="threadIdx.x"):
                        with T.sblock("B"):
                            vi_1 = T.axis.spatial(300, i_0 * 256 + i_1)
                            T.where(i_0 * 256 + i_1 < 300)
                            T.reads(S[vb_1, 299 - vi_1])
                            T.writes(B[vb_1, vi_1])
                            B[vb_1, vi_1] = S[vb_1, 299 - vi_1]

    @T.prim_func(s_tir=True)
    def in_turn(A: T.Buffer((8, 300), "float32"), B: T.Buffer((8, 300), "float32"), C: T.Buffer((8, 300), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            with T.sblock("B_o"):
                v_b = T.axis.remap("S", [b])
                T.reads(A[v_b, 0:300])
                T.writes(B[v_b, 0:300])
                for i_0 in T.thread_binding(2, thread="blockIdx.y"):
                    for i_1 in T.thread_binding(256, thread="threadIdx.x"):
                        with T.sblock("B"):
                            vi = T.axis.spatial(300, i_0 * 256 + i_1)
                            T.where(i_0 * 256 + i_1 < 300)
                            T.reads(A[v_b, vi])
                            T.writes(B[v_b, vi])
                            B[v_b, vi] = A[v_b, vi] + T.float32(1.0)
        for b_1 in T.thread_binding(8, thread="blockIdx.x"):
            with T.sblock("B_o"):
                v_b_1 = T.axis.remap("S", [b_1])
                T.reads(B[v_b_1, 0:300])
                T.writes(C[v_b_1, 0:300])
                for i_0_1 in T.thread_binding(2, thread="blockIdx.y"):
                    for i_1_1 in T.thread_binding(256, thread="threadIdx.x"):
                        with T.sblock("C"):
                            vi_1 = T.axis.spatial(300, i_0_1 * 256 + i_1_1)
                            T.where(i_0_1 * 256 + i_1_1 < 300)
                            T.reads(B[v_b_1, 299 - vi_1])
                            T.writes(C[v_b_1, vi_1])
                            C[v_b_1, vi_1] = B[v_b_1, 299 - vi_1]

    @T.prim_func(s_tir=True)
    def many(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        A = T.match_buffer(a, (8, n))
        B = T.match_buffer(b, (8, n))
        # with T.sblock("root"):
        for x in T.thread_binding(8, thread="blockIdx.y"):
            with T.sblock("B_o"):
                v_x = T.axis.remap("S", [x])
                T.reads(A[v_x, T.int64(0):n])
                T.writes(B[v_x, T.int64(0):n])
                for i_0 in T.thread_binding((n + T.int64(255)) // T.int64(256), thread="blockIdx.x"):
                    for i_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                        with T.sblock("B"):
                            vi = T.axis.spatial(n, i_0 * T.int64(256) + i_1)
                            T.where(i_0 * T.int64(256) + i_1 < n)
                            T.reads(A[v_x, vi])
                            T.writes(B[v_x, vi])
                            B[v_x, vi] = A[v_x, vi] + T.float32(1.0)

    @T.prim_func(s_tir=True)
    def own(A: T.Buffer((8, 300, 7), "float32"), B: T.Buffer((8, 300), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for b in T.thread_binding(8, thread="blockIdx.z"):
            with T.sblock("o"):
                vb = T.axis.remap("S", [b])
                T.reads(A[vb, 0:300, 0:7])
                T.writes(B[vb, 0:300])
                S = T.sblock_alloc_buffer((300,), scope="local")
                for i_0 in T.thread_binding(2, thread="blockIdx.x"):
                    for i_1 in T.thread_binding(256, thread="threadIdx.x"):
                        for vi_i in range(1):
                            with T.sblock("S_init"):
                                vi_init = T.axis.spatial(300, i_0 * 256 + i_1 + vi_i)
                                T.where(i_0 * 256 + i_1 + vi_i < 300)
                                T.reads()
                                T.writes(S[vi_init])
                                S[vi_init] = T.float32(0.0)
                            for vk_i in range(7):
                                with T.sblock("S_update"):
                                    vi = T.axis.spatial(300, i_0 * 256 + i_1 + vi_i)
                                    vk = T.axis.remap("R", [vk_i])
                                    T.where(i_0 * 256 + i_1 + vi_i < 300)
                                    T.reads(S[vi], A[vb, vi, vk])
                                    T.writes(S[vi])
                                    S[vi] = S[vi] + A[vb, vi, vk]
                        with T.sblock("B"):
                            vi_1 = T.axis.spatial(300, i_0 * 256 + i_1)
                            T.where(i_0 * 256 + i_1 < 300)
                            T.reads(S[vi_1])
                            T.writes(B[vb, vi_1])
                            B[vb, vi_1] = S[vi_1] * T.float32(2.0)

    @T.prim_func(s_tir=True)
    def part(A: T.Buffer((96, 40), "float32"), B: T.Buffer((96, 40), "float32"), C: T.Buffer((96, 40), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for b in T.thread_binding(6, thread="blockIdx.x"):
            with T.sblock("B_o"):
                v_b = T.axis.remap("S", [b])
                T.reads(A[v_b * 16:v_b * 16 + 16, 0:40])
                T.writes(B[v_b * 16:v_b * 16 + 16, 0:40])
                for i_j_0 in T.thread_binding(3, thread="blockIdx.y"):
                    for i_j_1 in T.thread_binding(256, thread="threadIdx.x"):
                        with T.sblock("B"):
                            vi = T.axis.spatial(16, (i_j_0 * 256 + i_j_1) // 40)
                            vj = T.axis.spatial(40, (i_j_0 * 256 + i_j_1) % 40)
                            T.where(i_j_0 * 256 + i_j_1 < 640)
                            T.reads(A[v_b * 16 + vi, vj])
                            T.writes(B[v_b * 16 + vi, vj])
                            B[v_b * 16 + vi, vj] = A[v_b * 16 + vi, vj] + T.float32(1.0)
        for i_j_0_1 in T.thread_binding(15, thread="blockIdx.x"):
            for i_j_1_1 in T.thread_binding(256, thread="threadIdx.x"):
                with T.sblock("C"):
                    vi_1 = T.axis.spatial(96, (i_j_0_1 * 256 + i_j_1_1) // 40)
                    vj_1 = T.axis.spatial(40, (i_j_0_1 * 256 + i_j_1_1) % 40)
                    T.reads(B[vi_1, vj_1])
                    T.writes(C[vi_1, vj_1])
                    C[vi_1, vj_1] = B[vi_1, vj_1] * T.float32(2.0)
