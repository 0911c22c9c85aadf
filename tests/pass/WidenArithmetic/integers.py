# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_int8": false, "supports_int16": false}
# Sums and products wrap around as in 8 bits, comparisons and maxima need no more, variables and choices become wide.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "int8"), B: T.Buffer((16,), "uint8"), C: T.Buffer((16,), "int16")):
        for i in range(16):
            x: T.let[T.int8] = A[i] * A[i] + T.int8(3)
            A[i] = T.Select(A[i] < T.int8(0), x, T.max(A[i], x))
            B[i] = T.if_then_else(i < 3, B[i] - T.uint8(1), T.Cast("uint8", C[i]))
            C[i] = T.shift_left(C[i], T.int16(2))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16,), "int8"), B: T.Buffer((16,), "uint8"), C: T.Buffer((16,), "int16")):
        for i in range(16):
            x: T.let[T.int32] = T.shift_right(T.shift_left(T.shift_right(T.shift_left(T.Cast("int32", A[i]) * T.Cast("int32", A[i]), 24), 24) + 3, 24), 24)
            A[i] = T.Cast("int8", T.Select(T.Cast("int32", A[i]) < 0, x, T.max(T.Cast("int32", A[i]), x)))
            B[i] = T.Cast("uint8", T.if_then_else(i < 3, T.bitwise_and(T.Cast("uint32", B[i]) - T.uint32(1), T.uint32(255)), T.bitwise_and(T.Cast("uint32", T.Cast("int32", C[i])), T.uint32(255))))
            C[i] = T.Cast("int16", T.shift_right(T.shift_left(T.shift_left(T.Cast("int32", C[i]), 2), 16), 16))
