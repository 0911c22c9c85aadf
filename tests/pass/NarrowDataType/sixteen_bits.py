# SPDX-License-Identifier: Apache-2.0
# passes: NarrowDataType{target_bits=16}
# Index arithmetic that provably fits 16 bits gets them; what does not fit stays.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(1000),), "float32"), C: T.Buffer((T.int64(100000),), "float32")):
        for i in range(T.int64(1000)):
            A[i] = T.float32(0)
        for j in range(T.int64(100000)):
            C[j] = T.float32(0)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(1000),), "float32"), C: T.Buffer((T.int64(100000),), "float32")):
        for i in range(T.int16(1000)):
            A[i] = T.float32(0.0)
        for j in range(T.int64(100000)):
            C[j] = T.float32(0.0)
