# SPDX-License-Identifier: Apache-2.0
# Accesses of the matched part become accesses of the whole, moved by its start.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("fill"):
                vi = T.axis.spatial(T.int64(2), i)
                T.reads()
                T.writes(A[vi * T.int64(4):vi * T.int64(4) + T.int64(4), T.int64(3):T.int64(7)])
                M = T.match_buffer(A[vi * T.int64(4):vi * T.int64(4) + T.int64(4), T.int64(3):T.int64(7)], (T.int64(4), T.int64(4)), "float32", strides=[T.int64(16), T.int64(1)], offset_factor=1)
                for a, b in T.grid(T.int64(4), T.int64(4)):
                    M[a, b] = T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(2)):
            with T.sblock("fill"):
                vi = T.axis.remap("S", [i])
                T.reads()
                T.writes(A[vi * T.int64(4):vi * T.int64(4) + T.int64(4), T.int64(3):T.int64(7)])
                for a, b in T.grid(T.int64(4), T.int64(4)):
                    A[vi * T.int64(4) + a, T.int64(3) + b] = T.float32(1.0)
