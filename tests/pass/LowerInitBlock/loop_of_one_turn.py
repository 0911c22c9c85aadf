# SPDX-License-Identifier: Apache-2.0
# A loop of one turn around, bound to thread blocks or not, has its one value: a reduction that begins with it begins when the loops
# inside do.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, S: T.Buffer((), "float32"), C: T.Buffer((T.int64(40),), "float32")):
        m = T.int64()
        A = T.match_buffer(a, (T.int64(1), m))
        for i0 in T.thread_binding(T.int64(1), thread="blockIdx.y"):
            for tx in T.thread_binding(1, thread="threadIdx.x"):
                for i1, j in T.grid(T.int64(5), m):
                    with T.sblock("all"):
                        vi = T.axis.reduce(T.int64(1), i0 * T.int64(5) + i1)
                        vj = T.axis.reduce(m, j)
                        T.where(i0 * T.int64(5) + i1 < T.int64(1))
                        T.reads(A[vi, vj])
                        T.writes(S[()])
                        with T.init():
                            S[()] = T.float32(0)
                        S[()] = S[()] + A[vi, vj]
        for i0 in T.thread_binding(T.int64(2), thread="blockIdx.y"):
            for i1, j in T.grid(T.int64(5), m):
                with T.sblock("two"):
                    vi = T.axis.reduce(T.int64(10), i0 * T.int64(5) + i1)
                    vj = T.axis.reduce(m, j)
                    T.reads(A[0, vj])
                    T.writes(C[0])
                    with T.init():
                        C[0] = T.float32(0)
                    C[0] = C[0] + A[0, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, S: T.Buffer((), "float32"), C: T.Buffer((T.int64(40),), "float32")):
        m = T.int64()
        A = T.match_buffer(a, (T.int64(1), m))
        # with T.sblock("root"):
        for i0 in T.thread_binding(T.int64(1), thread="blockIdx.y"):
            for tx in T.thread_binding(1, thread="threadIdx.x"):
                with T.sblock("all_init"):
                    T.reads()
                    T.writes(S[()])
                    S[()] = T.float32(0.0)
                for i1, j in T.grid(T.int64(5), m):
                    with T.sblock("all"):
                        vi = T.axis.reduce(T.int64(1), i0 * T.int64(5) + i1)
                        vj = T.axis.remap("R", [j])
                        T.where(i0 * T.int64(5) + i1 < T.int64(1))
                        T.reads(A[vi, vj], S[()])
                        T.writes(S[()])
                        S[()] = S[()] + A[vi, vj]
        for i0_1 in T.thread_binding(T.int64(2), thread="blockIdx.y"):
            for i1_1, j_1 in T.grid(T.int64(5), m):
                with T.sblock("two"):
                    vi_1 = T.axis.reduce(T.int64(10), i0_1 * T.int64(5) + i1_1)
                    vj_1 = T.axis.remap("R", [j_1])
                    T.reads(A[0, vj_1])
                    T.writes(C[0])
                    if vi_1 == T.int64(0) and vj_1 == T.int64(0):
                        C[0] = T.float32(0.0)
                    C[0] = C[0] + A[0, vj_1]
