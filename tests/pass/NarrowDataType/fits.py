# SPDX-License-Identifier: Apache-2.0
# The first loop and its index fit into 32 bits; of the second the index does not.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(8589934592),), "float32")):
        for i in range(T.int64(16)):
            A[i * T.int64(4)] = T.float32(0)
        for i in range(T.int64(16)):
            B[i * T.int64(500000000)] = T.float32(0)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(8589934592),), "float32")):
        for i in range(16):
            A[i * 4] = T.float32(0.0)
        for i_1 in range(16):
            B[T.Cast("int64", i_1) * T.int64(500000000)] = T.float32(0.0)
