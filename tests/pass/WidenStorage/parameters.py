# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_8bit_buffer": false}
# Elements of parameters are bits of words; a part of a word is replaced by atomic operations, a vector of whole words is stored as such.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((10,), "int8"), B: T.Buffer((16,), "uint8"), C: T.Buffer((10,), "bool")):
        for i in range(10):
            A[i] = T.Cast("int8", T.Cast("int32", A[9 - i]) + T.Cast("int32", B[i]))
            C[i] = C[9 - i]
        B[T.Ramp(4, 1, 4)] = T.Cast("uint8x4", T.Cast("int32x4", A[T.Ramp(0, 1, 4)]))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((3,), "uint32"), B: T.Buffer((4,), "uint32"), C: T.Buffer((3,), "uint32")):
        for i in range(10):
            bits: T.let[T.uint32] = T.shift_left(T.bitwise_and(T.Cast("uint32", T.shift_right(T.shift_left(T.Cast("int32", T.bitwise_and(T.shift_right(A[T.shift_right(9 - i, 2)], T.bitwise_and(T.Cast("uint32", 9 - i), T.uint32(3)) * T.uint32(8)), T.uint32(255))), 24), 24) + T.Cast("int32", T.bitwise_and(T.shift_right(B[T.shift_right(i, 2)], T.bitwise_and(T.Cast("uint32", i), T.uint32(3)) * T.uint32(8)), T.uint32(255)))), T.uint32(255)), T.bitwise_and(T.Cast("uint32", i), T.uint32(3)) * T.uint32(8))
            T.atomic_and(A[T.shift_right(i, 2)], T.bitwise_not(T.shift_left(T.uint32(255), T.bitwise_and(T.Cast("uint32", i), T.uint32(3)) * T.uint32(8))))
            T.atomic_or(A[T.shift_right(i, 2)], bits)
            bits_1: T.let[T.uint32] = T.shift_left(T.Select(T.bitwise_and(T.shift_right(C[T.shift_right(9 - i, 2)], T.bitwise_and(T.Cast("uint32", 9 - i), T.uint32(3)) * T.uint32(8)), T.uint32(255)) != T.uint32(0), T.uint32(1), T.uint32(0)), T.bitwise_and(T.Cast("uint32", i), T.uint32(3)) * T.uint32(8))
            T.atomic_and(C[T.shift_right(i, 2)], T.bitwise_not(T.shift_left(T.uint32(255), T.bitwise_and(T.Cast("uint32", i), T.uint32(3)) * T.uint32(8))))
            T.atomic_or(C[T.shift_right(i, 2)], bits_1)
        vector: T.let[T.int32x4] = T.Shuffle([T.shift_right(T.shift_left(T.Cast("int32", T.bitwise_and(A[0], T.uint32(255))), 24), 24), T.shift_right(T.shift_left(T.Cast("int32", T.bitwise_and(T.shift_right(A[0], T.uint32(8)), T.uint32(255))), 24), 24), T.shift_right(T.shift_left(T.Cast("int32", T.bitwise_and(T.shift_right(A[0], T.uint32(16)), T.uint32(255))), 24), 24), T.shift_right(T.shift_left(T.Cast("int32", T.bitwise_and(T.shift_right(A[0], T.uint32(24)), T.uint32(255))), 24), 24)], [0, 1, 2, 3])
        B[1] = T.bitwise_or(T.bitwise_or(T.bitwise_or(T.bitwise_and(T.Cast("uint32", T.Shuffle([vector], [0])), T.uint32(255)), T.shift_left(T.bitwise_and(T.Cast("uint32", T.Shuffle([vector], [1])), T.uint32(255)), T.uint32(8))), T.shift_left(T.bitwise_and(T.Cast("uint32", T.Shuffle([vector], [2])), T.uint32(255)), T.uint32(16))), T.shift_left(T.bitwise_and(T.Cast("uint32", T.Shuffle([vector], [3])), T.uint32(255)), T.uint32(24)))
