# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_float16": false, "supports_int8": false, "supports_int16": false}
# Bits of a float32 stay those of a float32, whatever they are computed from.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((4,), "int8"), H: T.Buffer((1,), "float16"), C: T.Buffer((3,), "float32")):
        C[0] = T.reinterpret("float32", T.Cast("int32", A[0]) | T.shift_left(T.Cast("int32", A[1]), 8))
        C[1] = T.reinterpret("float32", T.Cast("int32", H[0]))
        C[2] = T.Cast("float32", T.reinterpret("float16", T.Cast("uint16", A[2])))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((4,), "int8"), H: T.Buffer((1,), "float16"), C: T.Buffer((3,), "float32")):
        C[0] = T.reinterpret("float32", T.bitwise_or(T.Cast("int32", A[0]), T.shift_left(T.Cast("int32", A[1]), 8)))
        C[1] = T.reinterpret("float32", T.Cast("int32", T.Cast("float32", H[0])))
        half = T.uint32()
        C[2] = T.Let(T.reinterpret("float32", T.bitwise_or(T.Select(T.bitwise_and(half, T.uint32(32767)) >= T.uint32(31744), T.bitwise_or(T.shift_left(T.bitwise_and(half, T.uint32(32767)), T.uint32(13)), T.uint32(2139095040)), T.Select(T.bitwise_and(half, T.uint32(32767)) < T.uint32(1024), T.reinterpret("uint32", T.Cast("float32", T.bitwise_and(half, T.uint32(32767))) * T.float32(5.9604645e-08)), T.shift_left(T.bitwise_and(half, T.uint32(32767)), T.uint32(13)) + T.uint32(939524096))), T.shift_left(T.bitwise_and(half, T.uint32(32768)), T.uint32(16)))), where={half: T.bitwise_and(T.bitwise_and(T.Cast("uint32", T.Cast("int32", A[2])), T.uint32(65535)), T.uint32(65535))})
