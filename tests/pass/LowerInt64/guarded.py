# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_int64": false}
# What a condition guards is guarded in front of the statement too; a bound of a loop that came as data is cut to int32.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "int64"), B: T.Buffer((16,), "int32"), i: T.int32):
        B[i] = T.if_then_else(i < 15 and A[i + 1] < A[i], T.Cast("int32", A[i + 1] + A[i]), 0)
        for k in range(A[0]):
            B[k] = 1
        while A[0] * A[0] < A[1]:
            A[0] = A[0] + T.int64(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((32,), "uint32"), B: T.Buffer((16,), "int32"), i: T.int32):
        word: T.let[T.int32] = i + 1
        guard: T.let[T.bool] = i < 15
        word_1: T.let[T.uint32] = T.if_then_else(guard, A[word * 2], T.uint32(0))
        word_2: T.let[T.uint32] = T.if_then_else(guard, A[word * 2 + 1], T.uint32(0))
        word_3: T.let[T.uint32] = T.if_then_else(guard, A[i * 2], T.uint32(0))
        word_4: T.let[T.uint32] = T.if_then_else(guard, A[i * 2 + 1], T.uint32(0))
        word_5: T.let[T.int32] = T.Cast("int32", word_2)
        word_6: T.let[T.int32] = T.Cast("int32", word_4)
        word_7: T.let[T.int32] = i + 1
        guard_1: T.let[T.bool] = i < 15 and (word_5 < word_6 or word_5 == word_6 and word_1 < word_3)
        word_8: T.let[T.uint32] = T.if_then_else(guard_1, A[word_7 * 2], T.uint32(0))
        word_9: T.let[T.uint32] = T.if_then_else(guard_1, A[word_7 * 2 + 1], T.uint32(0))
        word_10: T.let[T.uint32] = T.if_then_else(guard_1, A[i * 2], T.uint32(0))
        word_11: T.let[T.uint32] = T.if_then_else(guard_1, A[i * 2 + 1], T.uint32(0))
        word_12: T.let[T.uint32] = word_8 + word_10
        word_13: T.let[T.uint32] = word_9 + word_11 + T.Select(word_12 < word_8, T.uint32(1), T.uint32(0))
        B[i] = T.if_then_else(i < 15 and (word_5 < word_6 or word_5 == word_6 and word_1 < word_3), T.Cast("int32", word_12), 0)
        word_14: T.let[T.uint32] = A[0]
        word_15: T.let[T.uint32] = A[1]
        for k in range(T.Select(T.Cast("int32", word_15) == T.shift_right(T.Cast("int32", word_14), 31), T.Cast("int32", word_14), 2147483647)):
            B[k] = 1
        while True:
            word_16: T.let[T.uint32] = A[0]
            word_17: T.let[T.uint32] = A[1]
            word_18: T.let[T.uint32] = A[0]
            word_19: T.let[T.uint32] = A[1]
            word_20: T.let[T.uint32] = T.bitwise_and(word_16, T.uint32(65535))
            word_21: T.let[T.uint32] = T.shift_right(word_16, T.uint32(16))
            word_22: T.let[T.uint32] = T.bitwise_and(word_18, T.uint32(65535))
            word_23: T.let[T.uint32] = T.shift_right(word_18, T.uint32(16))
            word_24: T.let[T.uint32] = word_20 * word_23
            word_25: T.let[T.uint32] = word_21 * word_22
            word_26: T.let[T.uint32] = word_16 * word_18
            word_27: T.let[T.uint32] = word_21 * word_23 + T.shift_right(T.shift_right(word_20 * word_22, T.uint32(16)) + (T.bitwise_and(word_24, T.uint32(65535)) + T.bitwise_and(word_25, T.uint32(65535))), T.uint32(16)) + (T.shift_right(word_24, T.uint32(16)) + T.shift_right(word_25, T.uint32(16))) + (word_16 * word_19 + word_17 * word_18)
            word_28: T.let[T.uint32] = A[2]
            word_29: T.let[T.uint32] = A[3]
            word_30: T.let[T.int32] = T.Cast("int32", word_27)
            word_31: T.let[T.int32] = T.Cast("int32", word_29)
            if not (word_30 < word_31 or word_30 == word_31 and word_26 < word_28):
                break
            word_32: T.let[T.uint32] = A[0]
            word_33: T.let[T.uint32] = A[1]
            word_34: T.let[T.uint32] = word_32 + T.uint32(1)
            word_35: T.let[T.uint32] = word_33 + T.Select(word_34 < word_32, T.uint32(1), T.uint32(0))
            A[0] = word_34
            A[1] = word_35
