# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[GeneralReduction]}
# target: opencl
# Softmax in one kernel, a thread block for each row.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def softmax(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(1000)))
        B = T.match_buffer(b, (n, T.int64(1000)))
        m = T.sblock_alloc_buffer((n,))
        e = T.sblock_alloc_buffer((n, T.int64(1000)))
        s = T.sblock_alloc_buffer((n,))
        for i, k in T.grid(n, T.int64(1000)):
            with T.sblock("m"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    m[vi] = T.min_value("float32")
                m[vi] = T.max(m[vi], A[vi, vk])
        for i, j in T.grid(n, T.int64(1000)):
            with T.sblock("e"):
                vi, vj = T.axis.remap("SS", [i, j])
                e[vi, vj] = T.exp(A[vi, vj] - m[vi])
        for i, k in T.grid(n, T.int64(1000)):
            with T.sblock("s"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    s[vi] = T.float32(0)
                s[vi] = s[vi] + e[vi, vk]
        for i, j in T.grid(n, T.int64(1000)):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = e[vi, vj] / s[vi]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def softmax(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(1000)))
        B = T.match_buffer(b, (n, T.int64(1000)))
        # with T.sblock("root"):
        m = T.sblock_alloc_buffer((n,), scope="shared")
        s = T.sblock_alloc_buffer((n,), scope="shared")
        for i in T.thread_binding(n, thread="blockIdx.x"):
            for vi_i, vk_i_0 in T.grid(T.int64(1), T.int64(4)):
                for vk_i_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    with T.sblock("m"):
                        vi = T.axis.spatial(n, i + vi_i)
                        vk = T.axis.reduce(T.int64(1000), vk_i_0 * T.int64(256) + vk_i_1)
                        T.where(vk_i_0 * T.int64(256) + vk_i_1 < T.int64(1000))
                        T.reads(A[vi, vk])
                        T.writes(m[vi])
                        with T.init():
                            m[vi] = T.float32(-3.4028235e+38)
                        m[vi] = T.max(m[vi], A[vi, vk])
            for vi_i_1, vk_i_0_1 in T.grid(T.int64(1), T.int64(4)):
                for vk_i_1_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    with T.sblock("s"):
                        vi_1 = T.axis.spatial(n, i + vi_i_1)
                        vk_1 = T.axis.reduce(T.int64(1000), vk_i_0_1 * T.int64(256) + vk_i_1_1)
                        T.where(vk_i_0_1 * T.int64(256) + vk_i_1_1 < T.int64(1000))
                        T.reads(A[vi_1, vk_1], m[vi_1])
                        T.writes(s[vi_1])
                        with T.init():
                            s[vi_1] = T.float32(0.0)
                        s[vi_1] = s[vi_1] + T.exp(A[vi_1, vk_1] - m[vi_1])
            for j_0 in range(T.int64(4)):
                for j_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi_2 = T.axis.remap("S", [i])
                        vj = T.axis.spatial(T.int64(1000), j_0 * T.int64(256) + j_1)
                        T.where(j_0 * T.int64(256) + j_1 < T.int64(1000))
                        T.reads(A[vi_2, vj], m[vi_2], s[vi_2])
                        T.writes(B[vi_2, vj])
                        B[vi_2, vj] = T.exp(A[vi_2, vj] - m[vi_2]) / s[vi_2]
