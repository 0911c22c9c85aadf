# SPDX-License-Identifier: Apache-2.0
# What the range of a loop's variable says about the extents holds within the loop only.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, b: T.handle, n: T.int64, m: T.int64):
        k = T.int64()
        A = T.match_buffer(a, (k,), "float32")
        B = T.match_buffer(b, (4,), "float32")
        for i in range(m - n):
            A[i] = T.float32(1)
            if n < m:
                B[0] = T.float32(1)
        if n < m:
            B[1] = T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, B: T.Buffer((4,), "float32"), n: T.int64, m: T.int64):
        k = T.int64()
        A = T.match_buffer(a, (k,))
        for i in range(m - n):
            A[i] = T.float32(1.0)
            B[0] = T.float32(1.0)
        if n < m:
            B[1] = T.float32(2.0)
