# SPDX-License-Identifier: Apache-2.0
# A matched sub-region becomes accesses of its buffer.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("part"):
                vi = T.axis.spatial(T.int64(2), i)
                T.reads()
                T.writes(A[vi * T.int64(4):vi * T.int64(4) + T.int64(4), T.int64(4):T.int64(8)])
                M = T.match_buffer(A[vi * T.int64(4):vi * T.int64(4) + T.int64(4), T.int64(4):T.int64(8)],
                                   (T.int64(4), T.int64(4)))
                M[T.int64(1), T.int64(2)] = T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        for i in range(T.int64(2)):
            A[i * T.int64(4) + T.int64(1), T.int64(6)] = T.float32(1.0)
