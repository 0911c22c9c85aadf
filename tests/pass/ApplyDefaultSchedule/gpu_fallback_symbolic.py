# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: opencl
# Extents that are not known; a scalar.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(3)), "float16")
        B = T.match_buffer(b, (T.int64(3), n), "float16")
        for i, j in T.grid(T.int64(3), n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @T.prim_func(s_tir=True)
    def one(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
        with T.sblock("B"):
            vu = T.axis.spatial(1, 0)
            B[()] = A[()] + T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(3)), "float16")
        B = T.match_buffer(b, (T.int64(3), n), "float16")
        # with T.sblock("root"):
        for i_j_0 in T.thread_binding((n * T.int64(3) + T.int64(255)) // T.int64(256), thread="blockIdx.x"):
            for i_j_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("B"):
                    vi = T.axis.spatial(T.int64(3), (i_j_0 * T.int64(256) + i_j_1) // n)
                    vj = T.axis.spatial(n, (i_j_0 * T.int64(256) + i_j_1) % n)
                    T.where(i_j_0 * T.int64(256) + i_j_1 < n * T.int64(3))
                    T.reads(A[vj, vi])
                    T.writes(B[vi, vj])
                    B[vi, vj] = A[vj, vi]

    @T.prim_func(s_tir=True)
    def one(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for u in T.thread_binding(T.int64(1), thread="blockIdx.x"):
            for u_1 in T.thread_binding(T.int64(1), thread="threadIdx.x"):
                with T.sblock("B"):
                    vu = T.axis.spatial(1, 0)
                    T.reads(A[()])
                    T.writes(B[()])
                    B[()] = A[()] + T.float32(1.0)
