# SPDX-License-Identifier: Apache-2.0
# Two launches with a reduction without threads between them: the host allocates what they share.
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def f(a: T.handle, c: T.handle):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        with T.sblock("root"):
            B = T.alloc_buffer((n,), "float32")
            S = T.alloc_buffer((1,), "float32")
            for bx in T.thread_binding((n + 63) // 64, thread="blockIdx.x"):
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    with T.sblock("B"):
                        v = T.axis.spatial(n, bx * 64 + tx)
                        T.where(bx * 64 + tx < n)
                        B[v] = T.exp(A[v])
            for k in range(n):
                with T.sblock("S"):
                    vk = T.axis.reduce(n, k)
                    with T.init():
                        S[0] = T.float32(0)
                    S[0] = S[0] + B[vk]
            for bx in T.thread_binding((n + 63) // 64, thread="blockIdx.x"):
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    with T.sblock("C"):
                        v = T.axis.spatial(n, bx * 64 + tx)
                        T.where(bx * 64 + tx < n)
                        C[v] = B[v] / S[0]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def f(a: T.handle, c: T.handle):
        T.func_attr({"tirx.is_host_func": True, "tirx.is_scheduled": True, "tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,))
        C = T.match_buffer(c, (n,))
        B = T.alloc_buffer((n,))
        S = T.alloc_buffer((1,))
        T.call_extern("int32", Expected.f_kernel, A.data, B.data, n)
        T.call_extern("int32", Expected.f_kernel_1, B.data, S.data, n)
        T.call_extern("int32", Expected.f_kernel_2, B.data, S.data, C.data, n)

    @T.prim_func(private=True, s_tir=True)
    def f_kernel(A: T.handle, B: T.handle, n: T.int64):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        A_1 = T.match_buffer(A, (n,))
        B_1 = T.match_buffer(B, (n,))
        # with T.sblock("root"):
        for bx in T.thread_binding((n + T.int64(63)) // T.int64(64), thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("B"):
                    v = T.axis.spatial(n, bx * T.int64(64) + T.Cast("int64", tx))
                    T.where(bx * T.int64(64) + T.Cast("int64", tx) < n)
                    T.reads(A_1[v])
                    T.writes(B_1[v])
                    B_1[v] = T.exp(A_1[v])

    @T.prim_func(private=True, s_tir=True)
    def f_kernel_1(B: T.handle, S: T.Buffer((1,), "float32"), n: T.int64):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        B_1 = T.match_buffer(B, (n,))
        # with T.sblock("root"):
        for bx in T.thread_binding(1, thread="blockIdx.x"):
            for tx in T.thread_binding(1, thread="threadIdx.x"):
                for k in range(n):
                    with T.sblock("S"):
                        vk = T.axis.remap("R", [k])
                        T.reads(B_1[vk])
                        T.writes(S[0])
                        with T.init():
                            S[0] = T.float32(0.0)
                        S[0] = S[0] + B_1[vk]

    @T.prim_func(private=True, s_tir=True)
    def f_kernel_2(B: T.handle, S: T.Buffer((1,), "float32"), C: T.handle, n: T.int64):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        B_1 = T.match_buffer(B, (n,))
        C_1 = T.match_buffer(C, (n,))
        # with T.sblock("root"):
        for bx in T.thread_binding((n + T.int64(63)) // T.int64(64), thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("C"):
                    v = T.axis.spatial(n, bx * T.int64(64) + T.Cast("int64", tx))
                    T.where(bx * T.int64(64) + T.Cast("int64", tx) < n)
                    T.reads(B_1[v], S[0])
                    T.writes(C_1[v])
                    C_1[v] = B_1[v] / S[0]
