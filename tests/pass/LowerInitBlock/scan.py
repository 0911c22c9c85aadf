# SPDX-License-Identifier: Apache-2.0
# Iterators that scan take no part in the init: a sum within a serial loop begins anew in each of its iterations.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        for t, k in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("sum"):
                vt = T.axis.scan(T.int64(4), t)
                vk = T.axis.reduce(T.int64(8), k)
                T.reads(A[vt, vk])
                T.writes(C[vt])
                with T.init():
                    C[vt] = T.float32(0)
                C[vt] = C[vt] + A[vt, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for t, k in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("sum"):
                vt = T.axis.scan(T.int64(4), t)
                vk = T.axis.remap("R", [k])
                T.reads(A[vt, vk])
                T.writes(C[vt])
                if vk == T.int64(0):
                    C[vt] = T.float32(0.0)
                C[vt] = C[vt] + A[vt, vk]
