# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_math": false}
# exp as a polynomial and a power of two; what each target has stays.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        B[0] = T.exp(A[0])
        B[1] = T.sqrt(A[1])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        x = T.float32()
        clamped = T.float32()
        n = T.float32()
        r = T.float32()
        B[0] = T.Let(T.Let(T.Let(T.Let((((((r * T.float32(0.01658062) + T.float32(0.08379272)) * r + T.float32(0.33335274)) * r + T.float32(0.99998325)) * r + T.float32(1.9999994)) * r + T.float32(2.0)) * T.reinterpret("float32", T.shift_left(T.Cast("int32", T.min(T.max(n, T.float32(-126.0)), T.float32(128.0))) + 126, 23)), where={r: clamped - n * T.float32(0.6933594) + n * T.float32(0.00021219444)}), where={n: T.nearbyint(clamped * T.float32(1.442695))}), where={clamped: T.min(T.max(x, T.float32(-87.33655)), T.float32(88.75))}), where={x: A[0]})
        B[1] = T.sqrt(A[1])
