# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[GEMV]}
# target: opencl
# Vectors times matrices in loops that are bound to thread blocks: of an expert that a tensor names, within a block; of a part of the
# rows, without one, where blockIdx.x is taken.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def expert(x: T.Buffer((1, 64), "float32"), w: T.Buffer((8, 24, 64), "float32"), indptr: T.Buffer((2,), "int32"), o: T.Buffer((2, 24), "float32")):
        for e in T.thread_binding(2, thread="blockIdx.y"):
            with T.sblock("gemv_o"):
                ve = T.axis.spatial(2, e)
                vi_o = T.axis.spatial(1, 0)
                vj_o = T.axis.reduce(1, 0)
                T.reads(x[0, 0:64], w[indptr[ve], 0:24, 0:64], indptr[ve])
                T.writes(o[ve, 0:24])
                for i, j in T.grid(24, 64):
                    with T.sblock("gemv"):
                        vi = T.axis.spatial(24, vi_o * 24 + i)
                        vj = T.axis.reduce(64, vj_o * 64 + j)
                        T.reads(x[0, vj], w[indptr[ve], vi, vj], indptr[ve])
                        T.writes(o[ve, vi])
                        with T.init():
                            o[ve, vi] = T.float32(0)
                        o[ve, vi] = o[ve, vi] + x[0, vj] * w[indptr[ve], vi, vj]

    @T.prim_func(s_tir=True)
    def groups(x: T.Buffer((4, 64), "float32"), w: T.Buffer((4, 24, 64), "float32"), o: T.Buffer((4, 24), "float32")):
        for g in T.thread_binding(4, thread="blockIdx.x"):
            for i, j in T.grid(24, 64):
                with T.sblock("gemv"):
                    vg, vi, vj = T.axis.remap("SSR", [g, i, j])
                    with T.init():
                        o[vg, vi] = T.float32(0)
                    o[vg, vi] = o[vg, vi] + x[vg, vj] * w[vg, vi, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def expert(x: T.Buffer((1, 64), "float32"), w: T.Buffer((8, 24, 64), "float32"), indptr: T.Buffer((2,), "int32"), o: T.Buffer((2, 24), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for e in T.thread_binding(2, thread="blockIdx.y"):
            with T.sblock("gemv_o"):
                ve = T.axis.remap("S", [e])
                vi_o = T.axis.spatial(1, 0)
                vj_o = T.axis.reduce(1, 0)
                T.reads(x[0, 0:64], w[indptr[ve], 0:24, 0:64], indptr[ve])
                T.writes(o[ve, 0:24])
                o_local = T.sblock_alloc_buffer((24,), scope="shared")
                x_local = T.sblock_alloc_buffer((1, 64), scope="local")
                w_local = T.sblock_alloc_buffer((24, 64), scope="local")
                for ax0_0 in T.thread_binding(3, thread="blockIdx.x"):
                    for vi_i_0 in range(1):
                        for vi_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                            for vj_i_0_0 in range(1):
                                for vj_i_0_1 in T.thread_binding(32, thread="threadIdx.x"):
                                    for v0_i in range(1):
                                        for v1_i in T.vectorized(2):
                                            with T.sblock("x_local"):
                                                v0 = T.axis.remap("S", [v0_i])
                                                v1 = T.axis.spatial(64, vj_i_0_1 * 2 + v1_i)
                                                T.reads(x[v0, v1])
                                                T.writes(x_local[v0, v1])
                                                x_local[v0, v1] = x[v0, v1]
                                    for v0_i_1 in range(1):
                                        for v1_i_1 in T.vectorized(2):
                                            with T.sblock("w_local"):
                                                v0_1 = T.axis.spatial(24, vi_i_1 + ax0_0 * 8 + v0_i_1)
                                                v1_1 = T.axis.spatial(64, vj_i_0_1 * 2 + v1_i_1)
                                                T.reads(w[indptr[ve], v0_1, v1_1], indptr[ve])
                                                T.writes(w_local[v0_1, v1_1])
                                                w_local[v0_1, v1_1] = w[indptr[ve], v0_1, v1_1]
                                    for vj_i_1 in T.unroll(2):
                                        with T.sblock("gemv"):
                                            vi = T.axis.spatial(24, ax0_0 * 8 + (vi_i_0 * 8 + vi_i_1))
                                            vj = T.axis.reduce(64, (vj_i_0_0 * 32 + vj_i_0_1) * 2 + vj_i_1)
                                            T.reads(x_local[0, vj], w_local[vi, vj])
                                            T.writes(o_local[vi])
                                            with T.init():
                                                o_local[vi] = T.float32(0.0)
                                            o_local[vi] = o_local[vi] + x_local[0, vj] * w_local[vi, vj]
                    for ax0_1 in T.thread_binding(8, thread="threadIdx.y"):
                        for u_0 in range(T.int64(1)):
                            for u_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                with T.sblock("o_local"):
                                    v0_2 = T.axis.spatial(24, ax0_0 * 8 + ax0_1)
                                    T.where(u_0 * T.int64(32) + u_1 < T.int64(1))
                                    T.reads(o_local[v0_2])
                                    T.writes(o[ve, v0_2])
                                    o[ve, v0_2] = o_local[v0_2]

    @T.prim_func(s_tir=True)
    def groups(x: T.Buffer((4, 64), "float32"), w: T.Buffer((4, 24, 64), "float32"), o: T.Buffer((4, 24), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for g in T.thread_binding(4, thread="blockIdx.x"):
            with T.sblock("gemv_o"):
                v_g = T.axis.remap("S", [g])
                T.reads(x[v_g, 0:64], w[v_g, 0:24, 0:64])
                T.writes(o[v_g, 0:24])
                o_local = T.sblock_alloc_buffer((24,), scope="shared")
                x_local = T.sblock_alloc_buffer((64,), scope="local")
                w_local = T.sblock_alloc_buffer((24, 64), scope="local")
                for ax0_0 in T.thread_binding(3, thread="blockIdx.y"):
                    for vi_i_0 in range(1):
                        for vi_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                            for vj_i_0_0 in range(1):
                                for vj_i_0_1 in T.thread_binding(32, thread="threadIdx.x"):
                                    for v0_i in T.vectorized(2):
                                        with T.sblock("x_local"):
                                            v0 = T.axis.spatial(64, vj_i_0_1 * 2 + v0_i)
                                            T.reads(x[v_g, v0])
                                            T.writes(x_local[v0])
                                            x_local[v0] = x[v_g, v0]
                                    for v0_i_1 in range(1):
                                        for v1_i in T.vectorized(2):
                                            with T.sblock("w_local"):
                                                v0_1 = T.axis.spatial(24, vi_i_1 + ax0_0 * 8 + v0_i_1)
                                                v1 = T.axis.spatial(64, vj_i_0_1 * 2 + v1_i)
                                                T.reads(w[v_g, v0_1, v1])
                                                T.writes(w_local[v0_1, v1])
                                                w_local[v0_1, v1] = w[v_g, v0_1, v1]
                                    for vj_i_1 in T.unroll(2):
                                        with T.sblock("gemv"):
                                            vi = T.axis.spatial(24, ax0_0 * 8 + (vi_i_0 * 8 + vi_i_1))
                                            vj = T.axis.reduce(64, (vj_i_0_0 * 32 + vj_i_0_1) * 2 + vj_i_1)
                                            T.reads(x_local[vj], w_local[vi, vj])
                                            T.writes(o_local[vi])
                                            with T.init():
                                                o_local[vi] = T.float32(0.0)
                                            o_local[vi] = o_local[vi] + x_local[vj] * w_local[vi, vj]
                    for ax0_1 in T.thread_binding(8, thread="threadIdx.y"):
                        for u_0 in range(T.int64(1)):
                            for u_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                with T.sblock("o_local"):
                                    v0_2 = T.axis.spatial(24, ax0_0 * 8 + ax0_1)
                                    T.where(u_0 * T.int64(32) + u_1 < T.int64(1))
                                    T.reads(o_local[v0_2])
                                    T.writes(o[v_g, v0_2])
                                    o[v_g, v0_2] = o_local[v0_2]
