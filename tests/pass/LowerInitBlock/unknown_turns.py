# SPDX-License-Identifier: Apache-2.0
# A sum over an unknown number of elements is 0 over none: its init goes before the loops, split ones with a condition too. Loops
# that the result knows of, or that do not begin where the reduction does, keep it.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, S: T.Buffer((), "float32"), C: T.Buffer((T.int64(40),), "float32"), D: T.Buffer((T.int64(40),), "float32"), E: T.Buffer((T.int64(40),), "float32")):
        m = T.int64()
        A = T.match_buffer(a, (T.int64(40), m))
        for i, j in T.grid(T.int64(40), m):
            with T.sblock("all"):
                vi, vj = T.axis.remap("RR", [i, j])
                T.reads(A[vi, vj])
                T.writes(S[()])
                with T.init():
                    S[()] = T.float32(0)
                S[()] = S[()] + A[vi, vj]
        for i, j0, j1 in T.grid(T.int64(40), (m + T.int64(7)) // T.int64(8), T.int64(8)):
            with T.sblock("split"):
                vi = T.axis.spatial(T.int64(40), i)
                vj = T.axis.reduce(m, j0 * T.int64(8) + j1)
                T.where(j0 * T.int64(8) + j1 < m and i < T.int64(39))
                T.reads(A[vi, vj])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vj]
        for j0, i, j1 in T.grid(m, T.int64(40), m):
            with T.sblock("outer"):
                vi = T.axis.spatial(T.int64(40), i)
                vj = T.axis.reduce(m * m, j0 * m + j1)
                T.reads(A[vi, vj])
                T.writes(D[vi])
                with T.init():
                    D[vi] = T.float32(0)
                D[vi] = D[vi] + A[vi, vj]
        for j, i in T.grid(m, T.int64(40)):
            with T.sblock("inner"):
                vj, vi = T.axis.remap("RS", [j, i])
                T.reads(A[vi, vj])
                T.writes(E[vi])
                with T.init():
                    E[vi] = T.float32(0)
                E[vi] = E[vi] + A[vi, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, S: T.Buffer((), "float32"), C: T.Buffer((T.int64(40),), "float32"), D: T.Buffer((T.int64(40),), "float32"), E: T.Buffer((T.int64(40),), "float32")):
        m = T.int64()
        A = T.match_buffer(a, (T.int64(40), m))
        # with T.sblock("root"):
        with T.sblock("all_init"):
            T.reads()
            T.writes(S[()])
            S[()] = T.float32(0.0)
        for i, j in T.grid(T.int64(40), m):
            with T.sblock("all"):
                vi, vj = T.axis.remap("RR", [i, j])
                T.reads(A[vi, vj], S[()])
                T.writes(S[()])
                S[()] = S[()] + A[vi, vj]
        for i_1 in range(T.int64(40)):
            with T.sblock("split_init"):
                vi_init = T.axis.remap("S", [i_1])
                T.where(i_1 < T.int64(39))
                T.reads()
                T.writes(C[vi_init])
                C[vi_init] = T.float32(0.0)
            for j0, j1 in T.grid((m + T.int64(7)) // T.int64(8), T.int64(8)):
                with T.sblock("split"):
                    vi_1 = T.axis.remap("S", [i_1])
                    vj_1 = T.axis.reduce(m, j0 * T.int64(8) + j1)
                    T.where(j0 * T.int64(8) + j1 < m and i_1 < T.int64(39))
                    T.reads(A[vi_1, vj_1], C[vi_1])
                    T.writes(C[vi_1])
                    C[vi_1] = C[vi_1] + A[vi_1, vj_1]
        for j0_1, i_2, j1_1 in T.grid(m, T.int64(40), m):
            with T.sblock("outer"):
                vi_2 = T.axis.remap("S", [i_2])
                vj_2 = T.axis.reduce(m * m, j0_1 * m + j1_1)
                T.reads(A[vi_2, vj_2])
                T.writes(D[vi_2])
                if vj_2 == T.int64(0):
                    D[vi_2] = T.float32(0.0)
                D[vi_2] = D[vi_2] + A[vi_2, vj_2]
        for j_1, i_3 in T.grid(m, T.int64(40)):
            with T.sblock("inner"):
                vj_3, vi_3 = T.axis.remap("RS", [j_1, i_3])
                T.reads(A[vi_3, vj_3])
                T.writes(E[vi_3])
                if vj_3 == T.int64(0):
                    E[vi_3] = T.float32(0.0)
                E[vi_3] = E[vi_3] + A[vi_3, vj_3]
