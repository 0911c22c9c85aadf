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
            word: T.let[T.uint32] = T.Select(T.Cast("int32", A[i * 2 + 1] + T.uint32(1) + T.Select(A[i * 2] + T.uint32(705032704) < A[i * 2], T.uint32(1), T.uint32(0))) < T.Cast("int32", T.Cast("uint32", T.shift_right(i, 31))) or T.Cast("int32", A[i * 2 + 1] + T.uint32(1) + T.Select(A[i * 2] + T.uint32(705032704) < A[i * 2], T.uint32(1), T.uint32(0))) == T.Cast("int32", T.Cast("uint32", T.shift_right(i, 31))) and A[i * 2] + T.uint32(705032704) < T.Cast("uint32", i), T.Cast("uint32", i), A[i * 2] + T.uint32(705032704))
            word_1: T.let[T.uint32] = T.Select(T.Cast("int32", A[i * 2 + 1] + T.uint32(1) + T.Select(A[i * 2] + T.uint32(705032704) < A[i * 2], T.uint32(1), T.uint32(0))) < T.Cast("int32", T.Cast("uint32", T.shift_right(i, 31))) or T.Cast("int32", A[i * 2 + 1] + T.uint32(1) + T.Select(A[i * 2] + T.uint32(705032704) < A[i * 2], T.uint32(1), T.uint32(0))) == T.Cast("int32", T.Cast("uint32", T.shift_right(i, 31))) and A[i * 2] + T.uint32(705032704) < T.Cast("uint32", i), T.Cast("uint32", T.shift_right(i, 31)), A[i * 2 + 1] + T.uint32(1) + T.Select(A[i * 2] + T.uint32(705032704) < A[i * 2], T.uint32(1), T.uint32(0)))
            A[i * 2] = word
            A[i * 2 + 1] = word_1
            B[i] = T.if_then_else(i * 2 < 16, B[T.Select(T.Cast("int32", A[i * 2 + 1]) == T.shift_right(T.Cast("int32", A[i * 2]), 31), T.Cast("int32", A[i * 2]), 2147483647)], T.Cast("float32", T.Cast("int32", A[i * 2 + 1])) * T.float32(4294967296.0) + T.Cast("float32", A[i * 2]))
