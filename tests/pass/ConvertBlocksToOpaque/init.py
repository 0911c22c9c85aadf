# SPDX-License-Identifier: Apache-2.0
# A block that still has its init would lose it.
# error: it has an init
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(8),), "float32"), B: T.Buffer((T.int64(1),), "float32")):
        for i in range(T.int64(8)):
            with T.sblock("sum"):
                vi = T.axis.reduce(T.int64(8), i)
                T.reads(A[vi])
                T.writes(B[T.int64(0)])
                with T.init():
                    B[T.int64(0)] = T.float32(0)
                B[T.int64(0)] = B[T.int64(0)] + A[vi]
