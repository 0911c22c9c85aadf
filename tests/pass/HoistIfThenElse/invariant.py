# SPDX-License-Identifier: Apache-2.0
# The first test does not depend on the loop; the second does.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8),), "float32"), n: T.int64):
        for i in range(T.int64(8)):
            if n > T.int64(3):
                A[i] = T.float32(1)
        for i in range(T.int64(8)):
            if i < n:
                A[i] = T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8),), "float32"), n: T.int64):
        if n > T.int64(3):
            for i in range(T.int64(8)):
                A[i] = T.float32(1.0)
        for i_1 in range(T.int64(8)):
            if i_1 < n:
                A[i_1] = T.float32(2.0)
