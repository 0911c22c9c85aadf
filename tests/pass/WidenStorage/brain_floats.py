# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_16bit_buffer": false}
# Elements of bfloat16 are the upper halves of float32; a number is rounded as it is stored.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((6,), "bfloat16"), B: T.Buffer((6,), "bfloat16")):
        for i in range(6):
            B[i] = T.Cast("bfloat16", T.Cast("float32", A[i]) * T.float32(3))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((3,), "uint32"), B: T.Buffer((3,), "uint32")):
        for i in range(6):
            half = T.float32()
            bits: T.let[T.uint32] = T.shift_left(T.Let(T.Select(T.bitwise_and(T.reinterpret("uint32", half), T.uint32(2147483647)) > T.uint32(2139095040), T.bitwise_or(T.shift_right(T.reinterpret("uint32", half), T.uint32(16)), T.uint32(64)), T.shift_right(T.reinterpret("uint32", half) + T.bitwise_and(T.shift_right(T.reinterpret("uint32", half), T.uint32(16)), T.uint32(1)) + T.uint32(32767), T.uint32(16))), where={half: T.Cast("float32", T.Cast("bfloat16", T.reinterpret("float32", T.shift_left(T.bitwise_and(T.shift_right(A[T.shift_right(i, 1)], T.bitwise_and(T.Cast("uint32", i), T.uint32(1)) * T.uint32(16)), T.uint32(65535)), T.uint32(16))))) * T.float32(3.0)}), T.bitwise_and(T.Cast("uint32", i), T.uint32(1)) * T.uint32(16))
            T.atomic_and(B[T.shift_right(i, 1)], T.bitwise_not(T.shift_left(T.uint32(65535), T.bitwise_and(T.Cast("uint32", i), T.uint32(1)) * T.uint32(16))))
            T.atomic_or(B[T.shift_right(i, 1)], bits)
