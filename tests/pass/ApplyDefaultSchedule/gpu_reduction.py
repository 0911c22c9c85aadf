# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Reduction]}
# target: cuda
# Along memory a thread block shares a row; across memory 32 columns; short ones a thread does alone.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((10, 1000), "float32"), B: T.Buffer((10,), "float32")):
        y = T.sblock_alloc_buffer((10,))
        for i, k in T.grid(10, 1000):
            with T.sblock("y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] = y[vi] + A[vi, vk]
        for i in T.grid(10):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = T.sqrt(y[vi])

    @T.prim_func(s_tir=True)
    def columns(A: T.Buffer((1000, 100), "float32"), B: T.Buffer((100,), "float32")):
        for i, k in T.grid(100, 1000):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.min_value("float32")
                B[vi] = T.max(B[vi], A[vk, vi])

    @T.prim_func(s_tir=True)
    def short(A: T.Buffer((100, 3), "float32"), B: T.Buffer((100,), "float32")):
        for i, k in T.grid(100, 3):
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
    def columns(A: T.Buffer((1000, 100), "float32"), B: T.Buffer((100,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        B_local = T.sblock_alloc_buffer((100,), scope="shared")
        for ax0_0 in T.thread_binding(4, thread="blockIdx.x"):
            for vi_i_0 in range(1):
                for vi_i_1 in T.thread_binding(32, thread="threadIdx.x"):
                    for vk_i_0 in range(125):
                        for vk_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                            with T.sblock("B"):
                                vi = T.axis.spatial(100, ax0_0 * 32 + (vi_i_0 * 32 + vi_i_1))
                                vk = T.axis.reduce(1000, vk_i_0 * 8 + vk_i_1)
                                T.where(ax0_0 * 32 + (vi_i_0 * 32 + vi_i_1) < 100)
                                T.reads(A[vk, vi])
                                T.writes(B_local[vi])
                                with T.init():
                                    B_local[vi] = T.float32(-3.4028235e+38)
                                B_local[vi] = T.max(B_local[vi], A[vk, vi])
            for ax0_1 in T.thread_binding(32, thread="threadIdx.x"):
                for u_0 in range(T.int64(1)):
                    for u_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                        with T.sblock("B_local"):
                            v0 = T.axis.spatial(100, ax0_0 * 32 + ax0_1)
                            T.where(ax0_0 * 32 + ax0_1 < 100 and u_0 * T.int64(8) + u_1 < T.int64(1))
                            T.reads(B_local[v0])
                            T.writes(B[v0])
                            B[v0] = B_local[v0]

    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((10, 1000), "float32"), B: T.Buffer((10,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        y = T.sblock_alloc_buffer((10,), scope="shared")
        for i in T.thread_binding(10, thread="blockIdx.x"):
            for vi_i, vk_i_0 in T.grid(1, 4):
                for vk_i_1 in T.thread_binding(256, thread="threadIdx.x"):
                    with T.sblock("y"):
                        vi = T.axis.spatial(10, i + vi_i)
                        vk = T.axis.reduce(1000, vk_i_0 * 256 + vk_i_1)
                        T.where(vk_i_0 * 256 + vk_i_1 < 1000)
                        T.reads(A[vi, vk])
                        T.writes(y[vi])
                        with T.init():
                            y[vi] = T.float32(0.0)
                        y[vi] = y[vi] + A[vi, vk]
            for u_0 in range(T.int64(1)):
                for u_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi_1 = T.axis.remap("S", [i])
                        T.where(u_0 * T.int64(256) + u_1 < T.int64(1))
                        T.reads(y[vi_1])
                        T.writes(B[vi_1])
                        B[vi_1] = T.sqrt(y[vi_1])

    @T.prim_func(s_tir=True)
    def short(A: T.Buffer((100, 3), "float32"), B: T.Buffer((100,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        B_local = T.sblock_alloc_buffer((100,), scope="local")
        for ax0_0 in T.thread_binding(1, thread="blockIdx.x"):
            for ax0_1 in T.thread_binding(100, thread="threadIdx.x"):
                for vi_i in range(1):
                    with T.sblock("B_init"):
                        vi_init = T.axis.spatial(100, ax0_1 + vi_i)
                        T.reads()
                        T.writes(B_local[vi_init])
                        B_local[vi_init] = T.float32(0.0)
                    for vk_i in range(3):
                        with T.sblock("B_update"):
                            vi = T.axis.spatial(100, ax0_1 + vi_i)
                            vk = T.axis.remap("R", [vk_i])
                            T.reads(B_local[vi], A[vi, vk])
                            T.writes(B_local[vi])
                            B_local[vi] = B_local[vi] + A[vi, vk]
                with T.sblock("B_local"):
                    v0 = T.axis.spatial(100, ax0_0 * 100 + ax0_1)
                    T.reads(B_local[v0])
                    T.writes(B[v0])
                    B[v0] = B_local[v0]
