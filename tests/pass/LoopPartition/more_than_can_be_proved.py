# SPDX-License-Identifier: Apache-2.0
# What a cut is for holds in its piece, whether or not it can be proved there once more.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for j in range(T.int64(64)):
            for k in range((n + T.int64(15)) // T.int64(16)):
                if j % T.int64(8) * T.int64(2) + k * T.int64(16) < n and j < n:
                    B[j % T.int64(8) * T.int64(2) + k * T.int64(16)] = A[j]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for j in range(T.int64(64)):
            for k in range((n + T.int64(15) - j % T.int64(8) * T.int64(2)) // T.int64(16)):
                if j < n:
                    B[j % T.int64(8) * T.int64(2) + k * T.int64(16)] = A[j]
