# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_int64": false}
# Data has two words: sums carry, comparisons begin with the higher; loops and indices count in int32.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(16),), "int64"), B: T.Buffer((T.int64(16),), "float32")):
        for i in range(T.int64(16)):
            A[i] = T.max(A[i] + T.int64(5000000000), T.Cast("int64", i))
            B[i] = T.if_then_else(i * T.int64(2) < T.int64(16), B[A[i]], T.Cast("float32", A[i]))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(32),), "uint32"), B: T.Buffer((T.int64(16),), "float32")):
        for i in range(16):
            word: T.let[T.uint32] = A[i * 2]
            word_1: T.let[T.uint32] = A[i * 2 + 1]
            word_2: T.let[T.uint32] = word + T.uint32(705032704)
            word_3: T.let[T.uint32] = word_1 + T.uint32(1) + T.Select(word_2 < word, T.uint32(1), T.uint32(0))
            word_4: T.let[T.uint32] = T.Cast("uint32", i)
            word_5: T.let[T.uint32] = T.Cast("uint32", T.shift_right(i, 31))
            word_6: T.let[T.int32] = T.Cast("int32", word_3)
            word_7: T.let[T.int32] = T.Cast("int32", word_5)
            word_8: T.let[T.bool] = word_6 < word_7 or word_6 == word_7 and word_2 < word_4
            word_9: T.let[T.uint32] = T.Select(word_8, word_4, word_2)
            word_10: T.let[T.uint32] = T.Select(word_8, word_5, word_3)
            A[i * 2] = word_9
            A[i * 2 + 1] = word_10
            guard: T.let[T.bool] = i * 2 < 16
            word_11: T.let[T.uint32] = T.if_then_else(guard, A[i * 2], T.uint32(0))
            word_12: T.let[T.uint32] = T.if_then_else(guard, A[i * 2 + 1], T.uint32(0))
            guard_1: T.let[T.bool] = not i * 2 < 16
            word_13: T.let[T.uint32] = T.if_then_else(guard_1, A[i * 2], T.uint32(0))
            word_14: T.let[T.uint32] = T.if_then_else(guard_1, A[i * 2 + 1], T.uint32(0))
            word_15: T.let[T.bool] = T.Cast("int32", word_14) < 0
            word_16: T.let[T.uint32] = T.Select(word_15, T.uint32(0) - word_13, word_13)
            word_17: T.let[T.uint32] = T.Select(word_15, T.uint32(0) - word_14 - T.Select(T.uint32(0) < word_13, T.uint32(1), T.uint32(0)), word_14)
            word_18: T.let[T.bool] = word_17 == T.uint32(0)
            word_19: T.let[T.uint32] = T.Select(word_18, word_16, word_17)
            word_20: T.let[T.bool] = word_19 < T.uint32(65536)
            word_21: T.let[T.uint32] = T.Select(word_20, T.shift_left(word_19, T.uint32(16)), word_19)
            word_22: T.let[T.bool] = word_21 < T.uint32(16777216)
            word_23: T.let[T.uint32] = T.Select(word_22, T.shift_left(word_21, T.uint32(8)), word_21)
            word_24: T.let[T.bool] = word_23 < T.uint32(268435456)
            word_25: T.let[T.uint32] = T.Select(word_24, T.shift_left(word_23, T.uint32(4)), word_23)
            word_26: T.let[T.bool] = word_25 < T.uint32(1073741824)
            word_27: T.let[T.uint32] = T.Select(word_26, T.shift_left(word_25, T.uint32(2)), word_25)
            word_28: T.let[T.bool] = word_27 < T.uint32(2147483648)
            word_29: T.let[T.uint32] = T.Select(word_28, T.shift_left(word_27, T.uint32(1)), word_27)
            word_30: T.let[T.uint32] = T.Select(word_20, T.uint32(16), T.uint32(0)) + T.Select(word_22, T.uint32(8), T.uint32(0)) + T.Select(word_24, T.uint32(4), T.uint32(0)) + T.Select(word_26, T.uint32(2), T.uint32(0)) + T.Select(word_28, T.uint32(1), T.uint32(0))
            word_31: T.let[T.uint32] = T.bitwise_or(word_29, T.Select(word_18, T.uint32(0), T.shift_right(T.shift_right(word_16, T.uint32(1)), T.uint32(31) - word_30)))
            word_32: T.let[T.uint32] = T.shift_right(word_31, T.uint32(8))
            word_33: T.let[T.uint32] = T.bitwise_or(T.Select(T.bitwise_or(word_16, word_17) == T.uint32(0), T.uint32(0), T.shift_left(T.uint32(189) - (word_30 + T.Select(word_18, T.uint32(32), T.uint32(0))), T.uint32(23)) + (word_32 + T.bitwise_and(T.bitwise_and(T.shift_right(word_31, T.uint32(7)), T.bitwise_or(word_32, T.Select(T.bitwise_or(T.bitwise_and(word_31, T.uint32(127)), T.Select(word_18, T.uint32(0), T.shift_left(word_16, word_30))) == T.uint32(0), T.uint32(0), T.uint32(1)))), T.uint32(1)))), T.Select(word_15, T.uint32(2147483648), T.uint32(0)))
            B[i] = T.if_then_else(i * 2 < 16, B[T.Select(T.Cast("int32", word_12) == T.shift_right(T.Cast("int32", word_11), 31), T.Cast("int32", word_11), 2147483647)], T.reinterpret("float32", word_33))
