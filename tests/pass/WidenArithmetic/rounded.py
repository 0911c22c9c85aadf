# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_float16": false}
# A Cast to float16 that is not stored rounds, and makes what is too large infinite; one that is stored is rounded there.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float16")):
        for i in range(8):
            B[i] = T.Cast("float32", T.Cast("float16", A[i]))
            C[i] = T.Cast("float16", A[i])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float16")):
        for i in range(8):
            half = T.uint32()
            half_1 = T.float32()
            B[i] = T.Let(T.reinterpret("float32", T.bitwise_or(T.Select(T.bitwise_and(half, T.uint32(32767)) >= T.uint32(31744), T.bitwise_or(T.shift_left(T.bitwise_and(half, T.uint32(32767)), T.uint32(13)), T.uint32(2139095040)), T.Select(T.bitwise_and(half, T.uint32(32767)) < T.uint32(1024), T.reinterpret("uint32", T.Cast("float32", T.bitwise_and(half, T.uint32(32767))) * T.float32(5.9604645e-08)), T.shift_left(T.bitwise_and(half, T.uint32(32767)), T.uint32(13)) + T.uint32(939524096))), T.shift_left(T.bitwise_and(half, T.uint32(32768)), T.uint32(16)))), where={half: T.Let(T.bitwise_or(T.Select(T.bitwise_and(T.reinterpret("uint32", half_1), T.uint32(2147483647)) >= T.uint32(1199566848), T.Select(T.bitwise_and(T.reinterpret("uint32", half_1), T.uint32(2147483647)) > T.uint32(2139095040), T.uint32(32256), T.uint32(31744)), T.Select(T.bitwise_and(T.reinterpret("uint32", half_1), T.uint32(2147483647)) < T.uint32(947912704), T.reinterpret("uint32", T.reinterpret("float32", T.bitwise_and(T.reinterpret("uint32", half_1), T.uint32(2147483647))) + T.float32(0.5)) - T.uint32(1056964608), T.shift_right(T.bitwise_and(T.reinterpret("uint32", half_1), T.uint32(2147483647)) + T.bitwise_and(T.shift_right(T.bitwise_and(T.reinterpret("uint32", half_1), T.uint32(2147483647)), T.uint32(13)), T.uint32(1)) + T.uint32(3355447295), T.uint32(13)))), T.bitwise_and(T.shift_right(T.reinterpret("uint32", half_1), T.uint32(16)), T.uint32(32768))), where={half_1: A[i]})})
            C[i] = T.Cast("float16", A[i])
