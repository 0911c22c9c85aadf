# SPDX-License-Identifier: Apache-2.0
# Values go in for iteration variables, the predicate becomes an if, the allocation a statement.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(30),), "float32"), C: T.Buffer((T.int64(30),), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes()
            B = T.sblock_alloc_buffer((T.int64(30),), "float32")
            for i0, i1 in T.grid(T.int64(4), T.int64(8)):
                with T.sblock("twice"):
                    vi = T.axis.spatial(T.int64(30), i0 * T.int64(8) + i1)
                    T.where(i0 * T.int64(8) + i1 < T.int64(30))
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi] * T.float32(2)
            for i in range(T.int64(30)):
                with T.sblock("more"):
                    vi = T.axis.spatial(T.int64(30), i)
                    T.reads(B[vi])
                    T.writes(C[vi])
                    C[vi] = B[vi] + T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(30),), "float32"), C: T.Buffer((T.int64(30),), "float32")):
        B = T.alloc_buffer((T.int64(30),))
        for i0, i1 in T.grid(T.int64(4), T.int64(8)):
            if i0 * T.int64(8) + i1 < T.int64(30):
                B[i0 * T.int64(8) + i1] = A[i0 * T.int64(8) + i1] * T.float32(2.0)
        for i in range(T.int64(30)):
            C[i] = B[i] + T.float32(1.0)
