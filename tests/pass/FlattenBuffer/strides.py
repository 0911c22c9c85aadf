# SPDX-License-Identifier: Apache-2.0
# Row-major and strided buffers; the extent n becomes a scalar parameter.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(16)), "float32")
        B = T.match_buffer(b, (T.int64(4), T.int64(16)), "float32", strides=[T.int64(32), T.int64(2)])
        for i, j in T.grid(n, T.int64(16)):
            A[i, j] = B[T.int64(3), j]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, B: T.Buffer((T.int64(127),), "float32"), n: T.int64):
        A = T.match_buffer(a, (n * T.int64(16),))
        for i, j in T.grid(n, T.int64(16)):
            A[i * T.int64(16) + j] = B[T.int64(96) + j * T.int64(2)]
