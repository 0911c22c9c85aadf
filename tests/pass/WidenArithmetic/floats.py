# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_float16": false}
# Numbers of float16 have the digits of float32 between load and store, also in vectors.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "float16"), C: T.Buffer((4,), "float32")):
        B[0] = T.exp(A[0]) + T.float16(0.5)
        B[T.Ramp(4, 1, 4)] = A[T.Ramp(0, 1, 4)] * T.Broadcast(A[7], 4)
        C[0] = T.Cast("float32", A[3])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "float16"), C: T.Buffer((4,), "float32")):
        B[0] = T.Cast("float16", T.exp(T.Cast("float32", A[0])) + T.float32(0.5))
        B[T.Ramp(4, 1, 4)] = T.Cast("float16x4", T.Cast("float32x4", A[T.Ramp(0, 1, 4)]) * T.Broadcast(T.Cast("float32", A[7]), 4))
        C[0] = T.Cast("float32", A[3])
