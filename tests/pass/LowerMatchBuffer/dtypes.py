# SPDX-License-Identifier: Apache-2.0
# Strides and offsets of the match are 32-bit variables, the buffer's indices have 64 bits.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32"), C: T.Buffer((T.int64(2),), "int32")):
        with T.sblock("part"):
            T.reads()
            T.writes(A[T.int64(2):T.int64(6), T.int64(4):T.int64(8)], C[T.int64(0):T.int64(2)])
            s0 = T.int32()
            s1 = T.int32()
            o = T.int32()
            M = T.match_buffer(A[T.int64(2):T.int64(6), T.int64(4):T.int64(8)], (T.int64(4), T.int64(4)),
                               strides=(s0, s1), elem_offset=o)
            M[T.int64(1), T.int64(2)] = T.float32(1)
            C[T.int64(0)] = s0 + s1
            C[T.int64(1)] = o
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32"), C: T.Buffer((T.int64(2),), "int32")):
        with T.sblock("part"):
            T.reads()
            T.writes(A[T.int64(2):T.int64(6), T.int64(4):T.int64(8)], C[T.int64(0):T.int64(2)])
            A[T.int64(3), T.int64(6)] = T.float32(1.0)
            C[T.int64(0)] = T.Add(16, 1)
            C[T.int64(1)] = 36
