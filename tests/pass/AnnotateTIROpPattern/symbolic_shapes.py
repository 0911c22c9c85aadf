# SPDX-License-Identifier: Apache-2.0
# Extents that are known as it runs change nothing.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, c: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (m,))
        C = T.match_buffer(c, (n, m))
        for i, j in T.grid(n, m):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, c: T.handle):
        T.func_attr({"op_pattern": 1})
        m = T.int64()
        A = T.match_buffer(a, (m,))
        n = T.int64()
        C = T.match_buffer(c, (n, m))
        # with T.sblock("root"):
        for i, j in T.grid(n, m):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vj]
