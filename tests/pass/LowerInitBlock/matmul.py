# SPDX-License-Identifier: Apache-2.0
# The init becomes a guarded first statement; a block without one stays.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), C: T.Buffer((T.int64(4),), "float32"), D: T.Buffer((T.int64(4),), "float32")):
        for i, k in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
        for i in range(T.int64(4)):
            with T.sblock("twice"):
                vi = T.axis.spatial(T.int64(4), i)
                T.reads(C[vi])
                T.writes(D[vi])
                D[vi] = C[vi] * T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), C: T.Buffer((T.int64(4),), "float32"), D: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i, k in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                if vk == T.int64(0):
                    C[vi] = T.float32(0.0)
                C[vi] = C[vi] + A[vi, vk]
        for i_1 in range(T.int64(4)):
            with T.sblock("twice"):
                vi_1 = T.axis.remap("S", [i_1])
                T.reads(C[vi_1])
                T.writes(D[vi_1])
                D[vi_1] = C[vi_1] * T.float32(2.0)
