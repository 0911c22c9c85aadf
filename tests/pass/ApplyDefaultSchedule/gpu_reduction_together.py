# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Reduction]}
# target: cuda
# Results that belong together: along memory all threads share a row, across memory 32 rows stand beside each other.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def place(A: T.Buffer((10, 1000), "float32"), B: T.Buffer((10,), "int64")):
        v = T.sblock_alloc_buffer((10,))
        p = T.sblock_alloc_buffer((10,), "int64")
        for i, k in T.grid(10, 1000):
            with T.sblock("best"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    v[vi] = T.float32("-inf")
                    p[vi] = T.int64(9223372036854775807)
                x: T.let[T.float32] = T.Select(A[vi, vk] > v[vi] or A[vi, vk] == v[vi] and T.Cast("int64", vk) < p[vi], A[vi, vk], v[vi])
                y: T.let[T.int64] = T.Select(A[vi, vk] > v[vi] or A[vi, vk] == v[vi] and T.Cast("int64", vk) < p[vi], T.Cast("int64", vk), p[vi])
                v[vi] = x
                p[vi] = y
        for i in T.grid(10):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = p[vi]

    @T.prim_func(s_tir=True)
    def moments(A: T.Buffer((1000, 100), "float32"), S: T.Buffer((100,), "float32"), Q: T.Buffer((100,), "float32")):
        for i, k in T.grid(100, 1000):
            with T.sblock("moments"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                    Q[vi] = T.float32(0)
                s: T.let[T.float32] = S[vi] + A[vk, vi]
                q: T.let[T.float32] = Q[vi] + A[vk, vi] * A[vk, vi]
                S[vi] = s
                Q[vi] = q
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def moments(A: T.Buffer((1000, 100), "float32"), S: T.Buffer((100,), "float32"), Q: T.Buffer((100,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for i_0 in T.thread_binding(4, thread="blockIdx.x"):
            for i_1 in T.thread_binding(32, thread="threadIdx.x"):
                for k_0 in range(125):
                    for k_1 in T.thread_binding(8, thread="threadIdx.y"):
                        with T.sblock("moments"):
                            vi = T.axis.spatial(100, i_0 * 32 + i_1)
                            vk = T.axis.reduce(1000, k_0 * 8 + k_1)
                            T.where(i_0 * 32 + i_1 < 100)
                            T.reads(A[vk, vi])
                            T.writes(S[vi], Q[vi])
                            with T.init():
                                S[vi] = T.float32(0.0)
                                Q[vi] = T.float32(0.0)
                            s: T.let[T.float32] = S[vi] + A[vk, vi]
                            q: T.let[T.float32] = Q[vi] + A[vk, vi] * A[vk, vi]
                            S[vi] = s
                            Q[vi] = q

    @T.prim_func(s_tir=True)
    def place(A: T.Buffer((10, 1000), "float32"), B: T.Buffer((10,), "int64")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        v = T.sblock_alloc_buffer((10,), scope="shared")
        p = T.sblock_alloc_buffer((10,), "int64", scope="shared")
        for i in T.thread_binding(10, thread="blockIdx.x"):
            for k_0 in range(4):
                for k_1 in T.thread_binding(256, thread="threadIdx.x"):
                    with T.sblock("best"):
                        vi = T.axis.remap("S", [i])
                        vk = T.axis.reduce(1000, k_0 * 256 + k_1)
                        T.where(k_0 * 256 + k_1 < 1000)
                        T.reads(A[vi, vk])
                        T.writes(v[vi], p[vi])
                        with T.init():
                            v[vi] = T.float32("-inf")
                            p[vi] = T.int64(9223372036854775807)
                        x: T.let[T.float32] = T.Select(A[vi, vk] > v[vi] or A[vi, vk] == v[vi] and T.Cast("int64", vk) < p[vi], A[vi, vk], v[vi])
                        y: T.let[T.int64] = T.Select(A[vi, vk] > v[vi] or A[vi, vk] == v[vi] and T.Cast("int64", vk) < p[vi], T.Cast("int64", vk), p[vi])
                        v[vi] = x
                        p[vi] = y
            for vi_i_0 in range(1):
                for vi_i_1 in T.thread_binding(256, thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi_1 = T.axis.remap("S", [i])
                        T.where(vi_i_0 * 256 + vi_i_1 < 1)
                        T.reads(p[vi_1])
                        T.writes(B[vi_1])
                        B[vi_1] = p[vi_1]
